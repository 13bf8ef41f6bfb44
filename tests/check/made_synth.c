#include "base/mem.h"
#include "made_codes.h"
#include "binning/bins.h"

/* A made set, binned. All owned. */
struct binned {
    struct rw_dataset *dataset;
    struct rw_cuts *cuts;
    struct rw_bins *bins;
};

static void binned_release(struct binned *b)
{
    rw_bins_free(b->bins);
    rw_cuts_free(b->cuts);
    rw_dataset_free(b->dataset);
}

static int binned_init(struct rw_ctx *ctx, struct binned *b, int n_bins, uint32_t n_queries,
                       uint64_t seed)
{
    const struct rw_synth_options options = {
        .shape = "mslr30k", .n_queries = n_queries, .seed = seed};
    const struct rw_cut_rule rule = {.bins = n_bins, .min_docs = 1};
    RW_TRY(rw_synth(ctx, &options, NULL, &b->dataset));
    RW_TRY(rw_cuts_make(ctx, b->dataset, &rule, &b->cuts));
    return rw_bins_make(ctx, b->dataset, b->cuts, &rule, 0, &b->bins);
}

/* codes: [n_docs], written. */
static void expand(const struct rw_bins *bins, uint32_t f, uint16_t *codes)
{
    const struct rw_codes *from = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    for (uint32_t i = 0; from->row && i < bins->n_docs; i++)
        codes[i] = (uint16_t)from->rest;
    for (uint32_t i = 0; i < from->n; i++)
        codes[from->row ? from->row[i] : i] = (uint16_t)rw_codes_get(from->code, bytes, i);
}

/* bits: 0 for all widths. feature: [n_features], room. */
static uint32_t pick(const struct rw_cuts *cuts, int bits, uint32_t *feature)
{
    uint32_t n = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        if (bits == 0 || rw_code_bits(rw_cuts_n_codes(cuts, f)) == bits)
            feature[n++] = f;
    return n;
}

struct expand_job {
    const struct rw_bins *bins;
    const uint32_t *feature; /* [n_features] */
    const struct rw_made_columns *out;
};

static int expand_some(void *user, struct rw_share *share)
{
    const struct expand_job *job = user;
    for (uint64_t k, end; rw_share_next(share, &k, &end);)
        expand(job->bins, job->feature[k], job->out->code + k * job->out->n_docs);
    return RW_OK;
}

static int take_columns(struct rw_ctx *ctx, const struct rw_bins *bins, const uint32_t *feature,
                        uint32_t n_features, uint32_t n_bins, struct rw_made_columns *out)
{
    RW_TRY(rw_made_columns_alloc(ctx, out, n_features, bins->n_docs, n_bins));
    struct expand_job job = {bins, feature, out};
    return rw_parallel(ctx, ctx->n_threads, n_features, 1, expand_some, &job);
}

int rw_made_columns_of_bins(struct rw_ctx *ctx, const struct rw_bins *bins, int bits,
                            uint32_t *n_narrow, struct rw_made_columns *out)
{
    const struct rw_cuts *cuts = bins->cuts;
    uint32_t *feature = NULL, n_bins = 1;
    int status;
    *out = (struct rw_made_columns){0};
    *n_narrow = 0;
    RW_TRY_OUT(RW_NEW(ctx, feature, cuts->n_features));
    const uint32_t n_wide = pick(cuts, 8, feature);
    uint32_t n_features = pick(cuts, bits, feature);
    if (bits == 4 && n_wide > 0)
        n_features = 0;
    if (bits == 8 && n_wide > 0)
        *n_narrow = pick(cuts, 4, feature + n_features);
    n_features += *n_narrow;
    for (uint32_t k = 0; k < n_features; k++) {
        const uint32_t n_codes = rw_cuts_n_codes(cuts, feature[k]);
        n_bins = n_codes > n_bins ? n_codes : n_bins;
    }
    RW_TRY_OUT(take_columns(ctx, bins, feature, n_features, n_bins, out));
out:
    rw_mem_free(feature);
    return status;
}

int rw_made_columns_synth(struct rw_ctx *ctx, struct rw_made_columns *out, int bits,
                          uint32_t n_bins, uint32_t n_queries, uint64_t seed)
{
    struct binned b = {0};
    uint32_t *feature = NULL;
    int status;
    *out = (struct rw_made_columns){0};
    RW_TRY_OUT(binned_init(ctx, &b, bits == 16 ? 1023 : 255, n_queries, seed));
    RW_TRY_OUT(RW_NEW(ctx, feature, b.cuts->n_features));
    RW_TRY_OUT(take_columns(ctx, b.bins, feature, pick(b.cuts, bits, feature), n_bins, out));
out:
    rw_mem_free(feature);
    binned_release(&b);
    return status;
}

int rw_made_set_init(struct rw_ctx *ctx, struct rw_made_set *out, int n_bins, uint32_t n_queries,
                     uint64_t seed)
{
    struct binned b = {0};
    uint32_t *feature = NULL;
    int status;
    *out = (struct rw_made_set){0};
    RW_TRY_OUT(binned_init(ctx, &b, n_bins, n_queries, seed));
    RW_TRY_OUT(RW_NEW(ctx, feature, b.cuts->n_features));
    RW_TRY_OUT(RW_NEW(ctx, out->n_codes, b.cuts->n_features));
    RW_TRY_OUT(RW_NEW(ctx, out->feature, b.cuts->n_features));
    RW_TRY_OUT(take_columns(ctx, b.bins, feature, pick(b.cuts, 0, feature), (uint32_t)n_bins,
                            &out->columns));
    for (uint32_t f = 0; f < b.cuts->n_features; f++) {
        out->n_codes[f] = rw_cuts_n_codes(b.cuts, f);
        out->feature[f] = b.cuts->feature[f];
    }
out:
    rw_mem_free(feature);
    binned_release(&b);
    if (status < 0)
        rw_made_set_release(out);
    return status;
}

void rw_made_set_release(struct rw_made_set *set)
{
    rw_made_columns_release(&set->columns);
    rw_mem_free(set->n_codes);
    rw_mem_free(set->feature);
    *set = (struct rw_made_set){0};
}
