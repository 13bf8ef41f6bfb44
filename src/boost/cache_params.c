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
    struct rw_cuts *cuts = NULL;
    struct rw_bins *bins = NULL;
    int status;
    RW_TRY(rw_cuts_make(ctx, dataset, &rule, &cuts));
    RW_TRY_OUT(rw_bins_make(ctx, dataset, cuts, &rule, 0, &bins));
    status = rw_cache_write(ctx, dataset, bins, path);
out:
    rw_bins_free(bins);
    rw_cuts_free(cuts);
    return status;
}
