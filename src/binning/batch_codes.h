/* The codes of a table whose values come in batches, and are never in memory as a whole.
 *
 * Batches may be of any size, so documents are put together again in pieces (binning/pieces.h) of
 * one size, as many at a time as there are threads: first the sampled ones, which decide the
 * boundaries, then, in a second pass, the others. If all are sampled there is one pass. The codes
 * are those that rw_table_codes makes of the whole table. */
#ifndef RW_BINNING_BATCH_CODES_H
#define RW_BINNING_BATCH_CODES_H

#include "binning/binned.h"

enum { RW_BATCH_PIECE_DOCS = 1 << 14 };

/* rule->ignore: NULL. *out is zeroed; after a failure it is to be released. Fails as
 * rw_dataset_from_batches does. */
int rw_batch_codes(struct rw_ctx *ctx, const struct rw_table *table,
                   const struct rw_batches *batches, const struct rw_cut_rule *rule,
                   uint32_t piece_docs, struct rw_binned *out);

#endif
