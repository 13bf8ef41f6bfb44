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

struct part {
    const struct made *made;
    struct rw_builder *builder;
};

static int add_doc(void *user, const struct rw_synth_doc *doc)
{
    const struct part *part = user;
    const struct rw_synth_shape *shape = part->made->shape;
    uint16_t feature[RW_SYNTH_MAX_FEATURES];
    char id[24];
    size_t n = 0;
    if (doc->doc == 0) {
        const uint64_t seed = part->made->options->seed;
        snprintf(id, sizeof(id), "%llu", (unsigned long long)rw_synth_query_id(seed, doc->query));
        RW_TRY(rw_builder_query(NULL, part->builder, id, strlen(id)));
    }
    for (int f = 0; f < shape->n_features; f++) {
        if (shape->traits->sparse && doc->value[f] == 0.0f)
            continue;
        part->builder->n_clamped += doc->value[f] == FLT_MAX;
        feature[n] = shape->feature[f].id;
        doc->value[n++] = doc->value[f];
    }
    return rw_builder_doc(NULL, part->builder, doc->label, feature, doc->value, n, doc->comment,
                          strlen(doc->comment));
}

static int make_parts(void *user, struct rw_share *share)
{
    const struct made *made = user;
    const uint32_t n = made->options->n_queries;
    for (uint64_t k, last; rw_share_next(share, &k, &last);) {
        const uint32_t begin = (uint32_t)k * QUERIES_A_PART;
        const uint32_t end = n - begin < QUERIES_A_PART ? n : begin + QUERIES_A_PART;
        struct part part = {made, &made->part[k]};
        RW_TRY(rw_synth_docs(made->shape, made->options->seed, begin, end, add_doc, &part));
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
                       options->n_queries, shape->traits->name, RW_MAX_DOCS);
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
