#include <stdlib.h>

#include "data/bins.h"
#include "hist_data.h"

static uint32_t pick(const struct rw_cuts *cuts, int bits, uint32_t *feature)
{
    uint32_t n = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        if (rw_code_bits(rw_cuts_n_codes(cuts, f)) == bits)
            feature[n++] = f;
    return n;
}

int hist_synth_columns(struct rw_ctx *ctx, struct hist_columns *out, int bits, uint32_t n_bins,
                       uint32_t n_queries, uint64_t seed)
{
    const struct rw_synth_options options = {
        .shape = "mslr30k", .n_queries = n_queries, .seed = seed};
    const struct rw_cut_rule rule = {.bins = bits == 16 ? 1023 : 255, .min_docs = 1};
    struct rw_dataset *dataset = NULL;
    struct rw_cuts *cuts = NULL;
    struct rw_bins *bins = NULL;
    uint32_t *feature = NULL;
    int status;
    RW_TRY_OUT(rw_synth(ctx, &options, &dataset));
    RW_TRY_OUT(rw_cuts_make(ctx, dataset, &rule, &cuts));
    RW_TRY_OUT(rw_bins_make(ctx, dataset, cuts, &rule, 0, &bins));
    feature = hist_alloc(cuts->n_features, sizeof(*feature));
    hist_columns_alloc(out, pick(cuts, bits, feature), bins->n_docs, n_bins);
#pragma omp parallel for schedule(dynamic)
    for (uint32_t k = 0; k < out->n_features; k++) {
        uint16_t *codes = out->code + (uint64_t)k * out->n_docs;
        for (uint32_t i = 0; i < out->n_docs; i++)
            codes[i] = (uint16_t)rw_bins_code(bins, feature[k], i);
    }
out:
    free(feature);
    rw_bins_free(bins);
    rw_cuts_free(cuts);
    rw_dataset_free(dataset);
    return status;
}
