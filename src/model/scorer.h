/* Scores of rows in memory on the CPU, by whichever of a model's forms is expected to be quickest. */
#ifndef RW_MODEL_SCORER_H
#define RW_MODEL_SCORER_H

#include "model/flat.h"

struct rw_packed;
struct rw_single;

/* Forms of one model; borrowed. */
struct rw_forms {
    const struct rw_flat *flat;
    const struct rw_single *single; /* NULL: there is none */
    const struct rw_packed *packed; /* NULL: there is none */
};
/* scores: [n_docs], written. ctx NULL: by the calling thread. RW_ERR_ARGUMENT: features or documents
 * beyond what ids and data sets have. By any number of threads at once, each with its own ctx. */
int rw_forms_rows(struct rw_ctx *ctx, const struct rw_forms *forms, const struct rw_rows *rows,
                  double *scores);

#endif
