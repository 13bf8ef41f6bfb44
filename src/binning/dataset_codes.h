/* The codes of a data set whose values are in memory, by way of pieces (binning/pieces.h): what
 * many ranks take, so that only pieces know of others. The codes are those of
 * rw_bins_make_training. */
#ifndef RW_BINNING_DATASET_CODES_H
#define RW_BINNING_DATASET_CODES_H

#include "binning/binned.h"

/* out->bins and the features of all ranks; out->documents is not touched. *out is zeroed; after a
 * failure it is to be released. All ranks call it. */
int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out);

#endif
