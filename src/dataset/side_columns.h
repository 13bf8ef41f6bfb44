/* Side columns: what a data set has beside its features and first labels, and what comes from files
 * or arrays of their own: weights, start scores, positions, further labels, pairs.
 *
 * To add one: its member in struct rw_dataset, a row in side_columns.c, and a row in params.def
 * with the name of its file. Reading (io/side_files.c), division among workers, selection of
 * queries, fingerprints, the checks of parameters and the program are loops over the table. */
#ifndef RW_DATASET_SIDE_COLUMNS_H
#define RW_DATASET_SIDE_COLUMNS_H

#include "dataset/dataset.h"

struct rw_side_column {
    const char *name;         /* of the parameter that names its file: "start-scores" */
    const char *one, *plural; /* what its numbers are, in messages: "start score" */
    double least, most;       /* of a number */
    int is_whole;             /* numbers are whole */
    int by_query;             /* a number per query; else one per document */
    int has_several;          /* several numbers per document */
    int is_pairs;             /* lines of pairs in place of numbers */
    const char *expected;     /* of a number in a file: "a weight from 0 to 65536" */
    /* values: [n][n_columns], in range and as many as there are documents or queries. */
    int (*set)(struct rw_ctx *ctx, struct rw_dataset *dataset, const double *values, size_t n,
               int n_columns);
    size_t member; /* of struct rw_dataset: its array, owned; NULL: the set has none */
    size_t size;   /* of a document's element that a selection of queries copies; 0: it does not */
    const char *print; /* the name of its part of a fingerprint; NULL: weights, or none */
    /* What a document adds to that part, where the set has the column. */
    uint64_t (*item)(const struct rw_dataset *dataset, uint32_t doc, uint64_t number);
};

/* Those from RW_SIDE_PRINTED on have parts of a fingerprint of their own. */
enum { RW_SIDE_PRINTED = 3, RW_SIDE_COLUMNS = 6 };
extern const struct rw_side_column rw_side_columns[RW_SIDE_COLUMNS];

/* NULL: there is no such column. */
const struct rw_side_column *rw_side_column_find(const char *name);
/* Its array; NULL: the set has none. */
const void *rw_side_column_of(const struct rw_side_column *column,
                              const struct rw_dataset *dataset);
void rw_side_columns_free(struct rw_dataset *dataset);
/* RW_ERR_DATA if n is not the number of documents or queries. file: of the numbers, or NULL. */
int rw_side_column_check(struct rw_ctx *ctx, const struct rw_side_column *column,
                         const struct rw_dataset *dataset, const char *file, size_t n);
/* Of the queries with `keep`, to a set that has these queries. Weights and labels it has already.
 */
int rw_side_columns_select(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const uint8_t *keep, struct rw_dataset *out);

#endif
