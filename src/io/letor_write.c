#include "io/letor_write.h"

#include <errno.h>
#include <stdio.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/number.h"

enum { PACKED_BYTES = 1 << 16, FULL_BYTES = 1 << 18, SLICE_DOCS = 4096 };

struct rw_letor_writer {
    struct rw_out_file file;
    char *text; /* not yet written: [n_bytes]; owned */
    size_t room, n_bytes;
    int gzip;
    z_stream stream;       /* the same bytes everywhere: no time, no name in its header */
    unsigned char *packed; /* [PACKED_BYTES]; owned */
};

static int cannot_write(struct rw_ctx *ctx, const struct rw_letor_writer *writer)
{
    return rw_fail_io(ctx, errno ? errno : EIO, "cannot write '%s'", writer->file.path);
}

static int flush(struct rw_ctx *ctx, struct rw_letor_writer *writer, int end)
{
    errno = 0;
    if (!writer->gzip) {
        if (fwrite(writer->text, 1, writer->n_bytes, writer->file.file) != writer->n_bytes)
            return cannot_write(ctx, writer);
        writer->n_bytes = 0;
        return RW_OK;
    }
    size_t at = 0;
    int z = Z_OK;
    do {
        const size_t take = writer->n_bytes - at < (1u << 30) ? writer->n_bytes - at : 1u << 30;
        const int last = end && at + take == writer->n_bytes;
        writer->stream.next_in = (unsigned char *)writer->text + at;
        writer->stream.avail_in = (uInt)take;
        do {
            writer->stream.next_out = writer->packed;
            writer->stream.avail_out = PACKED_BYTES;
            z = deflate(&writer->stream, last ? Z_FINISH : Z_NO_FLUSH);
            const size_t n = PACKED_BYTES - writer->stream.avail_out;
            if (fwrite(writer->packed, 1, n, writer->file.file) != n)
                return cannot_write(ctx, writer);
        } while (writer->stream.avail_out == 0 || (last && z == Z_OK));
        at += take;
    } while (at < writer->n_bytes);
    writer->n_bytes = 0;
    return RW_OK;
}

int rw_letor_writer_open(struct rw_ctx *ctx, const char *path, struct rw_letor_writer **out)
{
    struct rw_letor_writer *writer;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, writer, 1));
    const size_t n = strlen(path);
    RW_TRY_OUT(rw_out_file_open(ctx, &writer->file, path));
    if (n > 3 && strcmp(path + n - 3, ".gz") == 0) {
        RW_TRY_OUT(RW_NEW_RAW(ctx, writer->packed, PACKED_BYTES));
        if (deflateInit2(&writer->stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
            status = rw_fail(ctx, RW_ERR_MEMORY, "out of memory: gzip cannot begin");
            goto out;
        }
        writer->gzip = 1;
    }
    *out = writer;
    return RW_OK;
out:
    rw_letor_writer_close(writer);
    return status;
}

void rw_letor_writer_close(struct rw_letor_writer *writer)
{
    if (!writer)
        return;
    if (writer->gzip)
        deflateEnd(&writer->stream);
    rw_out_file_abandon(&writer->file);
    rw_mem_free(writer->packed);
    rw_mem_free(writer->text);
    rw_mem_free(writer);
}

static int make_room(struct rw_ctx *ctx, struct rw_letor_writer *writer, size_t n)
{
    return RW_GROW(ctx, writer->text, writer->room, writer->n_bytes + n);
}

static void put_text(struct rw_letor_writer *writer, const char *text, size_t n)
{
    memcpy(writer->text + writer->n_bytes, text, n);
    writer->n_bytes += n;
}

/* run: the one that document i belongs to. */
static int write_line(struct rw_ctx *ctx, struct rw_letor_writer *writer,
                      const struct rw_builder *docs, const struct rw_run *run, uint32_t i,
                      const char *id)
{
    enum { LABEL_BYTES = 16, ENTRY_BYTES = 24 }; /* " 65535:-1.23456789e-38" */
    const uint16_t *feature_of = docs->entry_feature + run->feature;
    const float *value = docs->entry_value + run->value + (uint64_t)(i - run->doc) * run->n;
    const char *comment = docs->any_comment ? docs->comment_text + docs->comment_offset[i] : "";
    const size_t id_bytes = strlen(id), comment_bytes = strlen(comment);
    RW_TRY(
        make_room(ctx, writer, LABEL_BYTES + id_bytes + comment_bytes + 16 + run->n * ENTRY_BYTES));
    char *text = writer->text;
    writer->n_bytes += (size_t)rw_number_write(docs->label[i], text + writer->n_bytes);
    put_text(writer, " qid:", 5);
    put_text(writer, id, id_bytes);
    for (uint32_t k = 0; k < run->n; k++) {
        char digits[8];
        int n = 0;
        uint32_t feature = feature_of[k];
        do {
            digits[n++] = (char)('0' + feature % 10);
            feature /= 10;
        } while (feature);
        text[writer->n_bytes++] = ' ';
        while (n)
            text[writer->n_bytes++] = digits[--n];
        text[writer->n_bytes++] = ':';
        writer->n_bytes += (size_t)rw_number_write(value[k], text + writer->n_bytes);
    }
    if (comment_bytes) {
        put_text(writer, " # ", 3);
        put_text(writer, comment, comment_bytes);
    }
    put_text(writer, "\n", 1);
    return writer->n_bytes >= FULL_BYTES ? flush(ctx, writer, 0) : RW_OK;
}

int rw_letor_writer_add(struct rw_ctx *ctx, struct rw_letor_writer *writer,
                        const struct rw_dataset *dataset)
{
    struct rw_builder docs = {0};
    int status = RW_OK;
    uint32_t query = 0;
    for (uint32_t begin = 0; begin < dataset->n_docs; begin += SLICE_DOCS) {
        const uint32_t left = dataset->n_docs - begin;
        const uint32_t n = left < SLICE_DOCS ? left : SLICE_DOCS;
        RW_TRY_OUT(rw_builder_copy(ctx, &docs, dataset, begin, begin + n));
        for (uint32_t i = 0, run = 0; i < n; i++) {
            run += run + 1 < docs.n_runs && docs.run[run + 1].doc == i;
            while (dataset->query_offset[query + 1] <= begin + i)
                query++;
            RW_TRY_OUT(write_line(ctx, writer, &docs, &docs.run[run], i,
                                  rw_dataset_query_id(dataset, query)));
        }
        rw_builder_release(&docs);
    }
out:
    rw_builder_release(&docs);
    return status;
}

int rw_letor_writer_commit(struct rw_ctx *ctx, struct rw_letor_writer *writer)
{
    RW_TRY(flush(ctx, writer, 1));
    return rw_out_file_commit(ctx, &writer->file);
}
