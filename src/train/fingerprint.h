/* What tells the data of a training from other data: the same whichever way they were read, on
 * every device, for any number of threads. */
#ifndef RW_TRAIN_FINGERPRINT_H
#define RW_TRAIN_FINGERPRINT_H

#include "train/checkpoint_text.h"
#include "tree/engine.h"

/* Of a set that the engine has loaded. first_doc, first_query: how many others stand before these,
 * where the set is a share of one; the shares' parts, added, are those of all. */
int rw_fingerprint_make(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                        uint64_t first_doc, uint64_t first_query, struct rw_fingerprint *out);
/* The same of all workers' documents. All workers call it. */
int rw_fingerprint_of_all(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                          struct rw_fingerprint *out);
/* Are documents, labels, queries and values equal, whatever the side columns and query ids are? */
int rw_fingerprint_same_documents(const struct rw_fingerprint *a, const struct rw_fingerprint *b);
/* Of the boundaries of a training set's bins. */
uint64_t rw_fingerprint_boundaries(const struct rw_cuts *cuts);
/* Of as many sets. RW_ERR_DATA: they were others; the message names what differs in which. */
int rw_fingerprint_check(struct rw_ctx *ctx, const struct rw_checkpoint *was,
                         const struct rw_checkpoint *is, const char *path);

#endif
