/* Made queries put together as a data set. */
#include "synth/synth.h"

#include <float.h>
#include <stdio.h>

#include "base/fpenv.h"
#include "base/mem.h"

enum { QUERIES_A_PART = 64 };

struct made {
    const struct rw_synth_shape *shape;
    const struct rw_synth_options *options;
    struct rw_builder *part; /* [n_parts] owned */
};

static int add_doc(const struct rw_synth_shape *shape, float label, float *value,
                   const char *comment, struct rw_builder *builder)
{
    uint16_t feature[RW_SYNTH_MAX_FEATURES];
    size_t n = 0;
    for (int f = 0; f < shape->n_features; f++) {
        if (shape->sparse && value[f] == 0.0f)
            continue;
        builder->n_clamped += value[f] == FLT_MAX;
        feature[n] = shape->feature[f].id;
        value[n++] = value[f];
    }
    return rw_builder_doc(NULL, builder, label, feature, value, n, comment, strlen(comment));
}

/* Queries [begin, end). */
static int make_part(const struct made *made, uint32_t begin, uint32_t end,
                     struct rw_builder *builder)
{
    const struct rw_synth_shape *shape = made->shape;
    const uint64_t seed = made->options->seed;
    const size_t n_features = (size_t)shape->n_features;
    float *value = NULL, *label = NULL;
    char id[24], comment[RW_SYNTH_COMMENT_BYTES];
    int status;
    RW_TRY_OUT(RW_NEW_RAW(NULL, value, shape->max_docs * n_features));
    RW_TRY_OUT(RW_NEW_RAW(NULL, label, shape->max_docs));
    for (uint32_t q = begin; q < end; q++) {
        const uint32_t n = rw_synth_query_docs(shape, seed, q);
        snprintf(id, sizeof(id), "%llu", (unsigned long long)rw_synth_query_id(seed, q));
        rw_synth_query(shape, seed, q, label, value);
        RW_TRY_OUT(rw_builder_query(NULL, builder, id, strlen(id)));
        for (uint32_t i = 0; i < n; i++) {
            rw_synth_comment(shape, seed, q, i, comment);
            RW_TRY_OUT(add_doc(shape, label[i], value + i * n_features, comment, builder));
        }
    }
out:
    rw_mem_free(value);
    rw_mem_free(label);
    return status;
}

static int make_parts(void *user, struct rw_share *share)
{
    const struct made *made = user;
    const uint32_t n = made->options->n_queries;
    for (uint64_t part, last; rw_share_next(share, &part, &last);) {
        const uint32_t begin = (uint32_t)part * QUERIES_A_PART;
        const uint32_t end = n - begin < QUERIES_A_PART ? n : begin + QUERIES_A_PART;
        RW_TRY(make_part(made, begin, end, &made->part[part]));
    }
    return RW_OK;
}

static int check_size(struct rw_ctx *ctx, const struct rw_synth_shape *shape,
                      const struct rw_synth_options *options)
{
    uint64_t n_docs = 0;
    for (uint32_t q = 0; q < options->n_queries; q++)
        n_docs += rw_synth_query_docs(shape, options->seed, q);
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u queries of shape '%s' are more than %u documents",
                       options->n_queries, shape->name, RW_MAX_DOCS);
    return RW_OK;
}

int rw_synth(struct rw_ctx *ctx, const struct rw_synth_options *options, struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    struct rw_synth_shape *shape = NULL;
    struct made made = {.options = options};
    int status, n_parts = 0;
    *out = NULL;
    RW_TRY_OUT(rw_synth_check(ctx, options, &shape));
    RW_TRY_OUT(check_size(ctx, shape, options));
    made.shape = shape;
    n_parts = (int)((options->n_queries + QUERIES_A_PART - 1) / QUERIES_A_PART);
    RW_TRY_OUT(RW_NEW(ctx, made.part, (size_t)n_parts));
    status = rw_parallel(ctx, ctx->n_threads, (uint64_t)n_parts, 1, make_parts, &made);
    if (status < 0)
        rw_fail(ctx, status, "no memory for made queries");
    else
        status = rw_builder_finish(ctx, made.part, n_parts, out);
out:
    for (int part = 0; made.part && part < n_parts; part++)
        rw_builder_release(&made.part[part]);
    rw_mem_free(made.part);
    rw_mem_free(shape);
    return status;
}
