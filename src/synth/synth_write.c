/* Made data straight to a file. Text is made in parts of a fixed number of queries, each formatted
 * (and, for gzip, compressed as a member of its own) by one thread, and written in order: the bytes
 * do not depend on threads, and memory does not grow with the set. */
#include "synth/synth.h"

#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/number.h"
#include "binning/bins.h"
#include "io/cache/cache.h"

enum {
    QUERIES_A_PART = 16,
    NUMBER_BYTES = 32, /* ' ' id ':' value, and room for what rw_number_write asks */
    GZIP_LEVEL = 6
};

struct part {
    const struct text_job *job;
    uint32_t begin, end;   /* queries */
    char *text;            /* owned */
    unsigned char *packed; /* owned */
    size_t text_room, text_bytes, packed_room, packed_bytes;
};

struct text_job {
    const struct rw_synth_shape *shape;
    uint64_t seed;
    int gzip;
    struct part *parts; /* [n_parts] owned */
};

static int write_line(void *user, const struct rw_synth_doc *doc)
{
    struct part *part = user;
    const struct rw_synth_shape *shape = part->job->shape;
    const size_t room = 64 + RW_SYNTH_COMMENT_BYTES + NUMBER_BYTES * (size_t)shape->n_features;
    RW_TRY(RW_GROW(NULL, part->text, part->text_room, part->text_bytes + room));
    char *to = part->text + part->text_bytes;
    to += snprintf(to, 64, "%d qid:%llu", (int)doc->label,
                   (unsigned long long)rw_synth_query_id(part->job->seed, doc->query));
    for (int f = 0; f < shape->n_features; f++) {
        if (shape->traits->sparse && doc->value[f] == 0.0f)
            continue;
        *to++ = ' ';
        to += rw_number_write(shape->feature[f].id, to);
        *to++ = ':';
        if (doc->value[f] == FLT_MAX) /* as Istella writes what is not known */
            to += snprintf(to, NUMBER_BYTES, "1.79769313486e+308");
        else
            to += rw_number_write(doc->value[f], to);
    }
    if (shape->traits->as_letor)
        to += snprintf(to, RW_SYNTH_COMMENT_BYTES + 2, " #%s", doc->comment);
    *to++ = '\n';
    part->text_bytes = (size_t)(to - part->text);
    return RW_OK;
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
    z.next_in = (Bytef *)part->text;
    z.avail_in = (uInt)part->text_bytes; /* 16 queries of 1,251 documents are under 4 GB */
    z.next_out = part->packed;
    z.avail_out = (uInt)bound;
    const int end = deflate(&z, Z_FINISH);
    part->packed_bytes = bound - z.avail_out;
    deflateEnd(&z);
    return end == Z_STREAM_END ? RW_OK : RW_ERR_INTERNAL;
}

static int make_parts(void *user, struct rw_share *share)
{
    const struct text_job *job = user;
    for (uint64_t k, last; rw_share_next(share, &k, &last);) {
        struct part *part = &job->parts[k];
        part->text_bytes = 0;
        RW_TRY(rw_synth_docs(job->shape, job->seed, part->begin, part->end, write_line, part));
        if (job->gzip)
            RW_TRY(pack(part));
    }
    return RW_OK;
}

static int write_text(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                      const struct rw_synth_options *options, const char *path, int gzip)
{
    const int n_parts = 2 * ctx->n_threads;
    struct text_job job = {.shape = shape, .seed = options->seed, .gzip = gzip};
    struct rw_out_file file = {0};
    int status;
    RW_TRY(rw_out_file_open(ctx, &file, path));
    RW_TRY_OUT(RW_NEW(ctx, job.parts, (size_t)n_parts));
    for (uint32_t q = 0; q < options->n_queries;) {
        int n = 0;
        for (; n < n_parts && q < options->n_queries; n++) {
            const uint32_t left = options->n_queries - q;
            job.parts[n].job = &job;
            job.parts[n].begin = q;
            q += left < QUERIES_A_PART ? left : QUERIES_A_PART;
            job.parts[n].end = q;
        }
        status = rw_parallel(ctx, ctx->n_threads, (uint64_t)n, 1, make_parts, &job);
        if (status < 0) {
            rw_fail(ctx, status, "no memory for made queries");
            goto out;
        }
        for (int k = 0; k < n; k++) {
            const struct part *part = &job.parts[k];
            const size_t bytes = gzip ? part->packed_bytes : part->text_bytes;
            const void *from = gzip ? (const void *)part->packed : part->text;
            if (fwrite(from, 1, bytes, file.file) != bytes) {
                status = rw_fail_io(ctx, errno, "cannot write '%s'", path);
                goto out;
            }
        }
    }
    status = rw_out_file_commit(ctx, &file);
out:
    for (int k = 0; job.parts && k < n_parts; k++) {
        rw_mem_free(job.parts[k].text);
        rw_mem_free(job.parts[k].packed);
    }
    rw_mem_free(job.parts);
    rw_out_file_abandon(&file);
    return status;
}

static int write_cache(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path)
{
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    RW_SCOPED(rw_bins_free) struct rw_bins *bins = NULL;
    RW_TRY(rw_synth(ctx, options, NULL, &dataset));
    RW_TRY(rw_bins_make_training(ctx, dataset, &rule, &bins));
    return rw_cache_write(ctx, dataset, bins, path);
}

static int ends_with(const char *path, const char *end)
{
    const size_t n = strlen(path), n_end = strlen(end);
    return n >= n_end && strcmp(path + n - n_end, end) == 0;
}

int rw_synth_write(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path)
{
    struct rw_synth_shape *shape = NULL;
    RW_TRY(rw_synth_check(ctx, options, &shape));
    const int status = ends_with(path, ".rwb")
                           ? write_cache(ctx, options, path)
                           : write_text(ctx, shape, options, path, ends_with(path, ".gz"));
    rw_mem_free(shape);
    return status;
}
