/* What check_predict makes and compares with: models, data, a plain walk. */
#pragma once

#include "dataset/dataset.h"
#include "model/model.h"

enum { FENCE = 16 };

struct spec {
    const char *name;
    uint32_t n_docs, n_features;
    int n_trees, use;  /* use: the first so many; 0: all */
    int32_t leaves[4]; /* trees take them in turn, up to a 0 */
    /* 0: random trees; 1: as deep as they can be; 2: symmetric, of powers of two leaves; 3: most of
     * them symmetric */
    int form;
    uint32_t gap;         /* feature ids: 1, 1 + gap, ... */
    int absent_missing;   /* what absent is */
    int lacking, unknown; /* 1: the data lacks every third feature; has features of its own */
    uint32_t distinct;    /* thresholds of a feature, each in some node; 0: a small set of odd
                           * ones, and leaves so different that another order gives another sum */
    uint32_t sets; /* different sets of categories of every other feature; 0: all are numbers */
};

struct random {
    uint64_t seed, next;
};

struct totals {
    int passed, failed;
};

int make_model(struct rw_ctx *ctx, const struct spec *spec, struct random *random,
               struct rw_model **out);
/* Columns dense and sparse by turns. */
int make_data(struct rw_ctx *ctx, const struct spec *spec, struct random *random,
              struct rw_dataset **out);
/* Every other feature gets categories, whose sets trees ask for, and the data numbers of them. A
 * row's values become codes. */
int make_sets(struct rw_ctx *ctx, const struct spec *spec, struct random *random,
              struct rw_model *model, struct rw_dataset *data);
void codes_of_row(const struct rw_model *model, float *values);
/* A document's score. values: [n_values] by feature id, absent is resolved. */
typedef double (*one_fn)(const void *user, const float *values, size_t n_values);
/* Document by document. */
int score_one_by_one(struct rw_ctx *ctx, const struct rw_model *model,
                     const struct rw_dataset *data, one_fn one, const void *user, double *scores);
/* Tree by tree, down the model's own trees. */
int score_plainly(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_dataset *data,
                  int n_trees, double *scores);

/* got: [n + FENCE], the last ones poisoned. */
void compare(struct totals *totals, const struct spec *spec, const char *what, const double *want,
             const double *got, uint32_t n);
void poison(double *scores, uint32_t n);
void fail(struct totals *totals, const struct spec *spec, const char *what, const char *text);

/* Packed models: every instruction set that this processor has, trees looked at whole and walked.
 */
void check_packed(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                  const struct rw_dataset *data, const double *want, double *got,
                  struct totals *totals);
/* Models for one document at a time: every instruction set, all nodes looked at and walked. */
void check_single(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                  const struct rw_dataset *data, const double *want, double *got,
                  struct totals *totals);
