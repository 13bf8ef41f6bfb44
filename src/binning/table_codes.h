/* The codes of a table that stands in memory, of which nothing but labels and ids is copied.
 *
 * Few features have all documents in the order of their values' array, so dense columns are read a
 * group at a time: of the sampled documents all at once, which decides the boundaries, then of all
 * documents block by block, as their intervals are found. The codes are those that
 * rw_bins_make_training makes. */
#ifndef RW_BINNING_TABLE_CODES_H
#define RW_BINNING_TABLE_CODES_H

#include "binning/binned.h"

/* rule->ignore: NULL. *out is zeroed; after a failure it is to be released. Fails as
 * rw_dataset_from_table does. */
int rw_table_codes(struct rw_ctx *ctx, const struct rw_table *table, const struct rw_cut_rule *rule,
                   struct rw_binned *out);

#endif
