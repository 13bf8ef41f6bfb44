/* What tells the data of a training from other data: the same whichever way they were read, on
 * every device, for any number of threads. */
#ifndef RW_TRAIN_FINGERPRINT_H
#define RW_TRAIN_FINGERPRINT_H

#include "dataset/side_columns.h"
#include "tree/engine.h"

/* What tells sets apart: each part is a sum over documents or queries, modulo 2^64, so that those
 * of shares of a set can be added. */
enum rw_print {
    RW_PRINT_DOCUMENTS, /* their number; the same of queries */
    RW_PRINT_QUERIES,
    RW_PRINT_QUERY_IDS,
    RW_PRINT_LABELS,
    RW_PRINT_WEIGHTS,
    RW_PRINT_VALUES,
    RW_PRINT_SIDES, /* of side columns with parts of their own; 0: the set has none */
    RW_PRINTS = RW_PRINT_SIDES + RW_SIDE_COLUMNS - RW_SIDE_PRINTED
};
struct rw_fingerprint {
    uint64_t part[RW_PRINTS];
};
const char *rw_print_name(int part); /* "query-ids" */

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

#endif
