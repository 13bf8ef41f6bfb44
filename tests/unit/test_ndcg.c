#include <criterion/criterion.h>

#include "naive_metrics.h"

static double value_of(const char *text, const double *label, const double *score, int n,
                       enum rw_ties ties)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_metric metric;
    cr_assert_eq(rw_metric_parse(ctx, text, 1.0, &metric), RW_OK);
    const double value = library_value(ctx, &metric, label, score, n, 4.0, ties);
    rw_ctx_free(ctx);
    return value;
}

/* Jarvelin and Kekalainen's kind of list, by hand: labels 3 2 3 0 1 2 in rank order;
 * DCG = 7 + 3/log2 3 + 7/2 + 0 + 1/log2 6 + 3/log2 7. */
Test(ndcg, by_hand)
{
    const double label[] = {3, 2, 3, 0, 1, 2}, score[] = {6, 5, 4, 3, 2, 1};
    const double dcg = 7 + 3 / log2(3) + 3.5 + 1 / log2(6) + 3 / log2(7);
    const double best = 7 + 7 / log2(3) + 3.0 / 2 + 3 / log2(5) + 1 / log2(6);
    cr_assert_float_eq(value_of("dcg", label, score, 6, RW_TIES_FILE), dcg, 1e-11);
    cr_assert_float_eq(value_of("ndcg", label, score, 6, RW_TIES_FILE), dcg / best, 1e-11);
    cr_assert_float_eq(value_of("dcg", label, score, 6, RW_TIES_FILE), 13.848263629272981, 1e-11);
    /* the ideal is cut where the list is */
    cr_assert_float_eq(value_of("ndcg@2", label, score, 6, RW_TIES_FILE),
                       (7 + 3 / log2(3)) / (7 + 7 / log2(3)), 1e-11);
    cr_assert_float_eq(value_of("ndcg@100", label, score, 6, RW_TIES_FILE), dcg / best, 1e-11);
}

Test(ndcg, ranks_by_score_then_input_order)
{
    const double label[] = {0, 1, 2}, score[] = {1, 1, 1};
    const double file = (1 / log2(3) + 1.5) / (3 + 1 / log2(3));
    cr_assert_float_eq(value_of("ndcg", label, score, 3, RW_TIES_FILE), file, 1e-11);
    const double zeros[] = {0.0, -0.0, 0.0}; /* tied too */
    cr_assert_float_eq(value_of("ndcg", label, zeros, 3, RW_TIES_FILE), file, 1e-11);
    const double mean = 4.0 / 3 * (1 + 1 / log2(3) + 0.5) / (3 + 1 / log2(3));
    cr_assert_float_eq(value_of("ndcg", label, score, 3, RW_TIES_MEAN), mean, 1e-11);
    cr_assert_float_eq(value_of("ndcg", label, zeros, 3, RW_TIES_MEAN), mean, 1e-11);
}

Test(ndcg, a_tie_across_the_truncation_shares_its_ranks)
{
    const double label[] = {0, 2, 0, 0}, score[] = {9, 5, 5, 5};
    /* place 2 of the three tied ones is inside the cutoff: gain 3/3 there */
    cr_assert_float_eq(value_of("dcg@2", label, score, 4, RW_TIES_MEAN), 1 / log2(3), 1e-11);
}
