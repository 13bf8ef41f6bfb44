/* Texts of models, and checks of every text: for the tests of the format. */
#pragma once

#include "model_fixture.h"

static struct rw_ctx *ctx; /* of the test that runs */

/* Most errors are the same in all versions. */
#define HEAD  "rankwood model 1\nabsent zero\nbest-round 1\n\n"
#define HEAD2 "rankwood model 2\nabsent zero\nbest-round 1\nfinished no\nempty-rounds 3\n\n"
#define HEAD6                                                                                   \
    "rankwood model 6\nabsent zero\ncolumns named 10\nbest-round 1\nfinished no\nempty-rounds " \
    "3\n\n"
#define PARAMS   "params 1\nleaves = 3\n\n"
#define PARAMS2  "params 2\nrate = auto 0.1\nleaves = 3\n\n"
#define EARLIER  "earlier 2\nrun 1 trees 1 params 1\nrate = 0.5\nrun 2 trees 0 params 0\n\n"
#define FEATURES "features 3\n0-1\n9\n\n"
#define NAMES    "names 1\n1 first\n\n"
#define METRICS  "metrics 1 rounds 2\nmetric valid1 ndcg@10\n1 0.5\n2 0.25\n\n"
#define TREES    "trees 1\n\n"
#define NODE0    "node 0 feature 1 <= 2 left node 1 right leaf 2 missing left gain 7 # first\n"
#define NODE1    "node 1 feature 9 <= 0.1 left leaf 0 right leaf 1 missing right gain 0.5\n"
#define LEAVES   "leaf 0 1\nleaf 1 -1\nleaf 2 0.001\n\n"
#define TREE     "tree 1 leaves 3\n" NODE0 NODE1 LEAVES
#define COVERED                                                                                \
    "leaf 0 1 docs 12 hessian 0.5\nleaf 1 -1 docs 0 hessian 0\nleaf 2 0.001 docs 2.5 hessian " \
    "3\n\n"
#define HEAD_OF_TREES HEAD6 PARAMS2 EARLIER FEATURES NAMES METRICS TREES "tree 1 leaves 3\n"

static const char old_body[] = HEAD PARAMS FEATURES NAMES METRICS TREES TREE;
static const char body_2[] = HEAD2 PARAMS2 EARLIER FEATURES NAMES METRICS TREES TREE;
static const char body[] = HEAD_OF_TREES NODE0 NODE1 COVERED;
#define WITH_MAP(lines)                                                                            \
    "rankwood model 3\nabsent zero\nbest-round 1\nfinished no\nempty-rounds 3\n\n" PARAMS2 EARLIER \
        FEATURES NAMES METRICS TREES TREE lines
#define KNOTS "knot -0.5 0\nknot 0.25 0.125\nknot 2 0.125\n\n"
static const char isotonic_body[] = WITH_MAP("calibration isotonic relevant 1 knots 3\n" KNOTS);
static const char logistic_body[] =
    WITH_MAP("calibration logistic relevant 2 slope 0.5 intercept -3\n\n");
static const char *const bodies[] = {old_body, body_2, body, isotonic_body, logistic_body};
enum { N_BODIES = 5 };

static int parse(const char *text, size_t n, struct rw_model **out)
{
    char *copy = malloc(n ? n : 1); /* so that a sanitizer sees a byte read past the end */
    memcpy(copy, text, n);
    const int status = rw_model_parse(ctx, "m", copy, n, out);
    free(copy);
    return status;
}

static inline void refused_as_it_is(const char *text, size_t n, const char *expected)
{
    struct rw_model *model;
    cr_assert_eq(parse(text, n, &model), RW_ERR_FORMAT, "accepted; expected: %s", expected);
    cr_assert_null(model);
    cr_assert_str_eq(rw_last_error(ctx), expected);
}

/* The body is given a valid checksum: the grammar alone must refuse it. */
static inline void refused(const char *hostile, const char *expected)
{
    size_t n;
    char *text = fixture_sum(hostile, strlen(hostile), &n);
    refused_as_it_is(text, n, expected);
    free(text);
}

/* --- round trips --- */

static inline void round_trip(const struct rw_model *model)
{
    char *first, *second;
    size_t n_first, n_second;
    struct rw_model *read;
    cr_assert_eq(rw_model_print(ctx, model, &first, &n_first), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(parse(first, n_first, &read), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_model_check(ctx, read), RW_OK);
    cr_assert_eq(rw_model_print(ctx, read, &second, &n_second), RW_OK);
    cr_assert_eq(n_first, n_second);
    cr_assert_eq(memcmp(first, second, n_first), 0);
    cr_assert_eq(read->n_trees, model->n_trees);
    for (int32_t i = 0; i < model->n_trees; i++) {
        const struct rw_tree *a = &model->tree[i], *b = &read->tree[i];
        const size_t n = (size_t)a->n_leaves;
        cr_assert_eq(a->n_leaves, b->n_leaves);
        cr_assert(memcmp(a->left, b->left, (n - 1) * sizeof(*a->left)) == 0 &&
                  memcmp(a->right, b->right, (n - 1) * sizeof(*a->right)) == 0 &&
                  memcmp(a->feature, b->feature, (n - 1) * sizeof(*a->feature)) == 0 &&
                  memcmp(a->cut, b->cut, (n - 1) * sizeof(*a->cut)) == 0 &&
                  memcmp(a->missing_left, b->missing_left, n - 1) == 0 &&
                  memcmp(a->gain, b->gain, (n - 1) * sizeof(*a->gain)) == 0 &&
                  memcmp(a->leaf, b->leaf, n * sizeof(*a->leaf)) == 0);
        cr_assert((a->docs != NULL) == (b->docs != NULL));
        cr_assert(!a->docs || (memcmp(a->docs, b->docs, n * sizeof(*a->docs)) == 0 &&
                               memcmp(a->hessian, b->hessian, n * sizeof(*a->hessian)) == 0));
    }
    rw_model_free(read);
    rw_mem_free(first);
    rw_mem_free(second);
}
