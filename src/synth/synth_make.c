/* Made queries put together as a data set. Every query's place is known before any is made, so
 * threads write side by side. */
#include "base/fpenv.h"
#include "synth/synth.h"

#include <float.h>
#include <stdio.h>

#include "base/mem.h"

/* Where each query's documents begin, its id, and the labels' room. */
static int make_frame(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                      const struct rw_synth_options *options, struct rw_dataset *set)
{
    const uint32_t n = options->n_queries;
    RW_TRY(RW_NEW(ctx, set->query_offset, (size_t)n + 1));
    RW_TRY(RW_NEW(ctx, set->query_id_offset, (size_t)n + 1));
    RW_TRY(RW_NEW(ctx, set->query_id_text, (size_t)n * 12)); /* ids are under 10^9 + 1 */
    uint64_t n_docs = 0, bytes = 0;
    for (uint32_t q = 0; q < n; q++) {
        n_docs += rw_synth_query_docs(shape, options->seed, q);
        if (n_docs > RW_MAX_DOCS)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "%u queries of shape '%s' are more than %u documents", n, shape->name,
                           RW_MAX_DOCS);
        set->query_offset[q + 1] = (uint32_t)n_docs;
        bytes += 1 + (uint64_t)snprintf(set->query_id_text + bytes, 12, "%llu",
                                        (unsigned long long)rw_synth_query_id(options->seed, q));
        set->query_id_offset[q + 1] = bytes;
    }
    set->n_queries = n;
    set->n_docs = (uint32_t)n_docs;
    return RW_NEW_RAW(ctx, set->label, n_docs);
}

static int make_comments(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                         const struct rw_synth_options *options, struct rw_dataset *set)
{
    if (!shape->has_comments)
        return RW_OK;
    size_t room = 0, bytes = 0;
    RW_TRY(RW_NEW(ctx, set->comment_offset, (size_t)set->n_docs + 1));
    for (uint32_t q = 0; q < set->n_queries; q++) {
        for (uint32_t i = set->query_offset[q]; i < set->query_offset[q + 1]; i++) {
            RW_TRY(RW_GROW(ctx, set->comment_text, room, bytes + RW_SYNTH_COMMENT_BYTES));
            bytes += 1 + (size_t)rw_synth_comment(shape, options->seed, q, i - set->query_offset[q],
                                                  set->comment_text + bytes);
            set->comment_offset[i + 1] = bytes;
        }
    }
    return RW_OK;
}

struct dense_job {
    const struct rw_synth_shape *shape;
    uint64_t seed;
    struct rw_dataset *set;
    uint64_t n_clamped;
};

static int make_queries(void *user, struct rw_share *share)
{
    struct dense_job *job = user;
    const struct rw_synth_shape *shape = job->shape;
    struct rw_dataset *set = job->set;
    const size_t n_features = (size_t)shape->n_features;
    uint64_t n_clamped = 0;
    float *value; /* [docs of a query][n_features] */
    RW_TRY(RW_NEW_RAW(NULL, value, shape->max_docs * n_features));
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++) {
            const uint32_t begin = set->query_offset[q], n = set->query_offset[q + 1] - begin;
            rw_synth_query(shape, job->seed, (uint32_t)q, set->label + begin, value);
            for (size_t f = 0; f < n_features; f++) {
                float *to = set->column[f].value + begin;
                for (uint32_t i = 0; i < n; i++)
                    to[i] = value[i * n_features + f];
                for (uint32_t i = 0; shape->feature[f].unknown >= 0 && i < n; i++)
                    n_clamped += to[i] == FLT_MAX;
            }
        }
    }
    rw_mem_free(value);
    rw_share_lock(share);
    job->n_clamped += n_clamped;
    rw_share_unlock(share);
    return RW_OK;
}

/* Columns whose every value is stated. */
static int make_dense(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                      const struct rw_synth_options *options, struct rw_dataset *set)
{
    const size_t n_features = (size_t)shape->n_features;
    RW_TRY(RW_NEW(ctx, set->column, n_features));
    set->n_columns = (uint32_t)n_features;
    for (size_t f = 0; f < n_features; f++) {
        set->column[f].feature = shape->feature[f].id;
        set->column[f].n = set->n_docs;
        RW_TRY(RW_NEW_RAW(ctx, set->column[f].value, set->n_docs));
    }
    struct dense_job job = {shape, options->seed, set, 0};
    const int status = rw_parallel(ctx, ctx->n_threads, set->n_queries, 16, make_queries, &job);
    set->n_clamped = job.n_clamped;
    return status < 0 ? rw_fail(ctx, status, "no memory for made queries") : RW_OK;
}

/* Queries [begin, end) of a shape with absent values into a builder; 0, or negative. */
static int fill_builder(const struct rw_synth_shape *shape, const struct rw_synth_options *options,
                        const struct rw_dataset *frame, uint32_t begin, uint32_t end,
                        struct rw_builder *builder)
{
    const size_t n_features = (size_t)shape->n_features;
    float *value = NULL, *label = NULL, *entry = NULL;
    uint16_t *feature = NULL;
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW_RAW(NULL, value, shape->max_docs * n_features));
    RW_TRY_OUT(RW_NEW_RAW(NULL, label, shape->max_docs));
    RW_TRY_OUT(RW_NEW_RAW(NULL, entry, n_features));
    RW_TRY_OUT(RW_NEW_RAW(NULL, feature, n_features));
    for (uint32_t q = begin; q < end; q++) {
        const uint32_t n = frame->query_offset[q + 1] - frame->query_offset[q];
        const char *id = frame->query_id_text + frame->query_id_offset[q];
        rw_synth_query(shape, options->seed, q, label, value);
        RW_TRY_OUT(rw_builder_query(NULL, builder, id, strlen(id)));
        for (uint32_t i = 0; i < n; i++) {
            size_t n_entries = 0;
            for (size_t f = 0; f < n_features; f++) {
                if (value[i * n_features + f] == 0.0f)
                    continue;
                feature[n_entries] = shape->feature[f].id;
                entry[n_entries++] = value[i * n_features + f];
            }
            RW_TRY_OUT(rw_builder_doc(NULL, builder, label[i], feature, entry, n_entries, NULL, 0));
        }
    }
out:
    rw_mem_free(value);
    rw_mem_free(label);
    rw_mem_free(entry);
    rw_mem_free(feature);
    return status;
}

enum { QUERIES_A_PART = 256 };
struct sparse_job {
    const struct rw_synth_shape *shape;
    const struct rw_synth_options *options;
    const struct rw_dataset *frame;
    struct rw_builder *builders; /* one of each part */
};

static int make_parts(void *user, struct rw_share *share)
{
    const struct sparse_job *job = user;
    const uint32_t n = job->options->n_queries;
    for (uint64_t part, last; rw_share_next(share, &part, &last);) {
        const uint32_t begin = (uint32_t)part * QUERIES_A_PART;
        const uint32_t end = n - begin < QUERIES_A_PART ? n : begin + QUERIES_A_PART;
        RW_TRY(
            fill_builder(job->shape, job->options, job->frame, begin, end, &job->builders[part]));
    }
    return RW_OK;
}

static int make_sparse(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                       const struct rw_synth_options *options, const struct rw_dataset *frame,
                       struct rw_dataset **out)
{
    const uint32_t n = options->n_queries;
    const int n_parts = (int)((n + QUERIES_A_PART - 1) / QUERIES_A_PART);
    struct rw_builder *builders = NULL;
    RW_TRY(RW_NEW(ctx, builders, (size_t)n_parts));
    struct sparse_job job = {shape, options, frame, builders};
    int status = rw_parallel(ctx, ctx->n_threads, (uint64_t)n_parts, 1, make_parts, &job);
    if (status < 0)
        rw_fail(ctx, status, "no memory for made queries");
    else
        status = rw_builder_finish(ctx, builders, n_parts, out);
    for (int part = 0; part < n_parts; part++)
        rw_builder_release(&builders[part]);
    rw_mem_free(builders);
    return status;
}

int rw_synth(struct rw_ctx *ctx, const struct rw_synth_options *options, struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    struct rw_synth_shape *shape = NULL;
    struct rw_dataset *set = NULL;
    int status = RW_OK;
    *out = NULL;
    RW_TRY_OUT(rw_synth_check(ctx, options, &shape));
    RW_TRY_OUT(rw_dataset_new(ctx, &set));
    RW_TRY_OUT(make_frame(ctx, shape, options, set));
    if (shape->sparse) {
        RW_TRY_OUT(make_sparse(ctx, shape, options, set, out));
    } else {
        RW_TRY_OUT(make_comments(ctx, shape, options, set));
        RW_TRY_OUT(make_dense(ctx, shape, options, set));
        *out = set;
        set = NULL;
    }
out:
    rw_dataset_free(set);
    rw_mem_free(shape);
    return status;
}
