#include "base/mem.h"
#include "gpu/binning/device_cuts.h"
#include "made_codes.h"

int rw_made_matrix(struct rw_ctx *ctx, const struct rw_device *device,
                   const struct rw_hist_matrix_spec *spec, const struct rw_made_columns *columns,
                   struct rw_hist_matrix **out)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {NULL};
    const uint32_t n = spec->n_features;
    struct rw_cuts cuts = {.n_features = n};
    struct rw_bins bins = {.n_docs = spec->n_docs, .cuts = &cuts};
    uint32_t *feature;
    RW_TRY(RW_ARENA_NEW(ctx, &arena, feature, n));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, cuts.offset, (size_t)n + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, cuts.has_missing, n));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, bins.codes, n));
    for (uint32_t f = 0; f < n; f++) {
        feature[f] = f;
        cuts.offset[f + 1] = cuts.offset[f] + RW_MADE_MOST_BINS; /* so many have codes of 2 bytes */
        bins.codes[f] =
            (struct rw_codes){.n = spec->n_docs, .code = (void *)(uintptr_t)columns->column[f]};
    }
    const struct rw_cuda_coding coding = {
        .cuts = &cuts, .matrix = *spec, .feature = feature, .codes = &bins, .code_of = feature};
    return rw_cuda_bins_make(device, &coding, NULL, out);
}
