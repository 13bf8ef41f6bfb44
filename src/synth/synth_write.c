/* Made data straight to a file. Text is made in parts of a fixed number of queries, each formatted
 * (and, for gzip, compressed as a member of its own) by one thread, and written in order: the bytes
 * do not depend on threads, and memory does not grow with the set. */
#include "base/fpenv.h"
#include "synth/synth.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/number.h"
#include "binning/bins.h"
#include "io/cache.h"

enum {
    QUERIES_A_PART = 16,
    NUMBER_BYTES = 32, /* ' ' id ':' value, and room for what rw_number_write asks */
    GZIP_LEVEL = 6
};

struct part {
    uint32_t begin, end; /* queries */
    unsigned char *text, *packed;
    size_t text_room, text_bytes, packed_room, packed_bytes;
    float *label, *value; /* of one query */
    int status;
};

static void part_release(struct part *part)
{
    rw_mem_free(part->text);
    rw_mem_free(part->packed);
    rw_mem_free(part->label);
    rw_mem_free(part->value);
}

static size_t write_digits(unsigned char *to, uint64_t number)
{
    unsigned char digits[20];
    size_t n = 0;
    do
        digits[n++] = (unsigned char)('0' + number % 10);
    while (number /= 10);
    for (size_t k = 0; k < n; k++)
        to[k] = digits[n - 1 - k];
    return n;
}

static size_t write_word(unsigned char *to, const char *word)
{
    const size_t n = strlen(word);
    memcpy(to, word, n);
    return n;
}

/* One line; the room is there. Returns its length. */
static size_t write_line(const struct rw_synth_shape *shape, uint64_t seed, uint32_t query,
                         uint32_t doc, float label, const float *value, unsigned char *to)
{
    const unsigned char *begin = to;
    to += write_digits(to, (uint64_t)label);
    to += write_word(to, " qid:");
    to += write_digits(to, rw_synth_query_id(seed, query));
    for (int f = 0; f < shape->n_features; f++) {
        if (shape->sparse && value[f] == 0.0f)
            continue;
        *to++ = ' ';
        to += write_digits(to, shape->feature[f].id);
        *to++ = ':';
        if (value[f] == FLT_MAX) /* as Istella writes what is not known */
            to += write_word(to, "1.79769313486e+308");
        else if (value[f] >= 0.0f && value[f] < 1e6f && value[f] == (float)(uint32_t)value[f])
            to += write_digits(to, (uint32_t)value[f]);
        else
            to += rw_number_write(value[f], (char *)to);
    }
    if (shape->has_comments) {
        to += write_word(to, " #");
        to += rw_synth_comment(shape, seed, query, doc, (char *)to);
    }
    *to++ = '\n';
    return (size_t)(to - begin);
}

static int pack(struct part *part)
{
    z_stream z = {0};
    if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return RW_ERR_MEMORY;
    const size_t bound = deflateBound(&z, (uLong)part->text_bytes);
    if (RW_GROW(NULL, part->packed, part->packed_room, bound) < 0) {
        deflateEnd(&z);
        return RW_ERR_MEMORY;
    }
    z.next_in = part->text;
    z.avail_in = (uInt)part->text_bytes; /* 16 queries of 1,251 documents are under 4 GB */
    z.next_out = part->packed;
    z.avail_out = (uInt)bound;
    const int end = deflate(&z, Z_FINISH);
    part->packed_bytes = bound - z.avail_out;
    deflateEnd(&z);
    return end == Z_STREAM_END ? RW_OK : RW_ERR_INTERNAL;
}

static int make_part(const struct rw_synth_shape *shape, uint64_t seed, int gzip, struct part *part)
{
    const size_t n_features = (size_t)shape->n_features;
    const size_t line = 64 + RW_SYNTH_COMMENT_BYTES + NUMBER_BYTES * n_features;
    part->text_bytes = 0;
    if (!part->label) {
        RW_TRY(RW_NEW_RAW(NULL, part->label, shape->max_docs));
        RW_TRY(RW_NEW_RAW(NULL, part->value, shape->max_docs * n_features));
    }
    for (uint32_t q = part->begin; q < part->end; q++) {
        const uint32_t n = rw_synth_query_docs(shape, seed, q);
        rw_synth_query(shape, seed, q, part->label, part->value);
        for (uint32_t i = 0; i < n; i++) {
            RW_TRY(RW_GROW(NULL, part->text, part->text_room, part->text_bytes + line));
            part->text_bytes +=
                write_line(shape, seed, q, i, part->label[i], part->value + i * n_features,
                           part->text + part->text_bytes);
        }
    }
    return gzip ? pack(part) : RW_OK;
}

struct parts_job {
    const struct rw_synth_shape *shape;
    uint64_t seed;
    int gzip;
    struct part *parts;
};

static int make_parts(void *user, struct rw_share *share)
{
    const struct parts_job *job = user;
    for (uint64_t k, end; rw_share_next(share, &k, &end);)
        RW_TRY(make_part(job->shape, job->seed, job->gzip, &job->parts[k]));
    return RW_OK;
}

static int write_text(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                      const struct rw_synth_options *options, const char *path, int gzip)
{
    const int n_parts = 2 * ctx->n_threads;
    struct rw_out_file file = {0};
    struct part *parts = NULL;
    int status = RW_OK;
    RW_TRY(rw_out_file_open(ctx, &file, path));
    RW_TRY_OUT(RW_NEW(ctx, parts, (size_t)n_parts));
    for (uint32_t q = 0; q < options->n_queries;) {
        int n = 0;
        for (; n < n_parts && q < options->n_queries; n++) {
            const uint32_t left = options->n_queries - q;
            parts[n].begin = q;
            q += left < QUERIES_A_PART ? left : QUERIES_A_PART;
            parts[n].end = q;
        }
        struct parts_job job = {shape, options->seed, gzip, parts};
        status = rw_parallel(ctx, ctx->n_threads, (uint64_t)n, 1, make_parts, &job);
        if (status < 0) {
            rw_fail(ctx, status, "no memory for made queries");
            goto out;
        }
        for (int k = 0; k < n; k++) {
            const size_t bytes = gzip ? parts[k].packed_bytes : parts[k].text_bytes;
            if (fwrite(gzip ? parts[k].packed : parts[k].text, 1, bytes, file.file) != bytes) {
                status = rw_fail_io(ctx, errno, "cannot write '%s'", path);
                goto out;
            }
        }
    }
    status = rw_out_file_commit(ctx, &file);
out:
    for (int k = 0; parts && k < n_parts; k++)
        part_release(&parts[k]);
    rw_mem_free(parts);
    rw_out_file_abandon(&file);
    return status;
}

static int write_cache(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path)
{
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    struct rw_dataset *dataset = NULL;
    struct rw_bins *bins = NULL;
    int status = RW_OK;
    RW_TRY_OUT(rw_synth(ctx, options, &dataset));
    RW_TRY_OUT(rw_bins_make_training(ctx, dataset, &rule, &bins));
    status = rw_cache_write(ctx, dataset, bins, path);
out:
    rw_bins_free(bins);
    rw_dataset_free(dataset);
    return status;
}

static int ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), n_end = strlen(end);
    return n >= n_end && strcmp(path + n - n_end, end) == 0;
}

int rw_synth_write(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path)
{
    RW_DEFAULT_FPENV;
    struct rw_synth_shape *shape = NULL;
    RW_TRY(rw_synth_check(ctx, options, &shape));
    const int status = ends_with(path, ".rwb")
                           ? write_cache(ctx, options, path)
                           : write_text(ctx, shape, options, path, ends_with(path, ".gz"));
    rw_mem_free(shape);
    return status;
}
