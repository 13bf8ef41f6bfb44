#include "io/letor_write.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/number.h"

enum { GZIP_BYTES = 1 << 16, FULL_BYTES = 1 << 18, SLICE_DOCS = 4096 };

struct rw_letor_writer {
    struct rw_out_file file;
    gzFile gzip; /* of the same file; plain text passes it unchanged; owned */
    char *text;  /* not yet written: [n_bytes]; owned */
    size_t room, n_bytes;
};

static int cannot_write(struct rw_ctx *ctx, const struct rw_letor_writer *writer)
{
    return rw_fail_io(ctx, errno ? errno : EIO, "cannot write '%s'", writer->file.path);
}

static int flush(struct rw_ctx *ctx, struct rw_letor_writer *writer)
{
    errno = 0;
    if (gzfwrite(writer->text, 1, writer->n_bytes, writer->gzip) != writer->n_bytes)
        return cannot_write(ctx, writer);
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
    const int is_gzip = n > 3 && strcmp(path + n - 3, ".gz") == 0;
    RW_TRY_OUT(rw_out_file_open(ctx, &writer->file, path));
    const int fd = dup(fileno(writer->file.file));
    /* the same bytes everywhere: its header has no time and no name */
    writer->gzip = fd < 0 ? NULL : gzdopen(fd, is_gzip ? "wb6" : "wbT");
    if (!writer->gzip) {
        status = rw_fail(ctx, RW_ERR_MEMORY, "out of memory: '%s' cannot be written", path);
        if (fd >= 0)
            close(fd);
        goto out;
    }
    gzbuffer(writer->gzip, GZIP_BYTES);
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
        gzclose(writer->gzip);
    rw_out_file_abandon(&writer->file);
    rw_mem_free(writer->text);
    rw_mem_free(writer);
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
    RW_TRY(RW_GROW(ctx, writer->text, writer->room,
                   writer->n_bytes + LABEL_BYTES + id_bytes + comment_bytes + 16 +
                       run->n * ENTRY_BYTES));
    char *p = writer->text + writer->n_bytes;
    p += rw_number_write(docs->label[i], p);
    p = mempcpy(p, " qid:", 5);
    p = mempcpy(p, id, id_bytes);
    for (uint32_t k = 0; k < run->n; k++) {
        char digits[8];
        int n = 0;
        uint32_t feature = feature_of[k];
        do
            digits[n++] = (char)('0' + feature % 10);
        while (feature /= 10);
        *p++ = ' ';
        while (n)
            *p++ = digits[--n];
        *p++ = ':';
        p += rw_number_write(value[k], p);
    }
    if (comment_bytes) {
        p = mempcpy(p, " # ", 3);
        p = mempcpy(p, comment, comment_bytes);
    }
    *p++ = '\n';
    writer->n_bytes = (size_t)(p - writer->text);
    return writer->n_bytes >= FULL_BYTES ? flush(ctx, writer) : RW_OK;
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
    RW_TRY(flush(ctx, writer));
    const gzFile gzip = writer->gzip;
    writer->gzip = NULL;
    if (gzclose(gzip) != Z_OK)
        return cannot_write(ctx, writer);
    return rw_out_file_commit(ctx, &writer->file);
}
