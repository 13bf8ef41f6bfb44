/* A cache of a data set, for the settings that decide cuts and codes. */
#include "boost/params.h"
#include "data/bins.h"
#include "io/format.h"

int rw_dataset_write_cache(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const struct rw_params *params, const char *path)
{
    const struct rw_cut_rule rule = {.bins = params->bins,
                                     .absent_missing = params->absent == 1,
                                     .min_docs = 1}; /* so that the codes serve any --min-docs */
    struct rw_bins *bins;
    RW_TRY(rw_bins_make_training(ctx, dataset, &rule, &bins));
    const int status = rw_cache_write(ctx, dataset, bins, path);
    rw_bins_free(bins);
    return status;
}
