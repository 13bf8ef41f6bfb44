#include <criterion/criterion.h>

#include "naive_metrics.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

static double value_of(const char *text, double relevant, const double *label, int n)
{
    double score[NAIVE_MOST];
    for (int i = 0; i < n; i++)
        score[i] = -i;
    struct rw_metric metric;
    cr_assert_eq(rw_metric_parse(ctx, text, relevant, &metric), RW_OK);
    return library_value(ctx, &metric, label, score, n, 2.0, RW_TIES_FILE);
}

static const double list[] = {0, 1, 2, 0, 1}; /* relevant at ranks 2, 3 and 5 */
#define CLOSE(a, b) cr_assert_float_eq(a, b, 1e-11)

Test(classic, by_hand, .init = setup, .fini = teardown)
{
    CLOSE(value_of("map", 1, list, 5), (1.0 / 2 + 2.0 / 3 + 3.0 / 5) / 3);
    CLOSE(value_of("map@2", 1, list, 5), 1.0 / 2 / 2);
    CLOSE(value_of("mrr", 1, list, 5), 1.0 / 2);
    CLOSE(value_of("mrr@1", 1, list, 5), 0.0);
    CLOSE(value_of("p@3", 1, list, 5), 2.0 / 3);
    CLOSE(value_of("p@10", 1, list, 5), 3.0 / 10); /* over k, though only 5 are there */
    CLOSE(value_of("recall@3", 1, list, 5), 2.0 / 3);
    CLOSE(value_of("recall@10", 1, list, 5), 1.0);
    CLOSE(value_of("rbp:0.5", 1, list, 5), 0.5 * (0.5 + 0.25 + 0.0625));
    /* R = 0, 1/4, 3/4, 0, 1/4 */
    CLOSE(value_of("err", 1, list, 5), 1.0 / 4 / 2 + 3.0 / 4 * 3 / 4 / 3 + 3.0 / 4 / 4 * 1 / 4 / 5);
    CLOSE(value_of("err@2", 1, list, 5), 1.0 / 8);
}

Test(classic, relevant_moves_the_border, .init = setup, .fini = teardown)
{
    CLOSE(value_of("map", 2, list, 5), 1.0 / 3);
    CLOSE(value_of("mrr", 2, list, 5), 1.0 / 3);
    CLOSE(value_of("p@3", 2, list, 5), 1.0 / 3);
    CLOSE(value_of("recall@2", 2, list, 5), 0.0);
    CLOSE(value_of("rbp:0.5", 2, list, 5), 0.125);
    CLOSE(value_of("err@2", 2, list, 5), 1.0 / 8); /* has gains, not relevance */
    cr_assert(isnan(value_of("map", 3, list, 5)));
    cr_assert(isnan(value_of("p@3", 3, list, 5)));
    cr_assert(isnan(value_of("mrr", 3, list, 5)));
    cr_assert(isnan(value_of("recall@3", 3, list, 5)));
    cr_assert(isnan(value_of("rbp:0.9", 3, list, 5)));
}

/* Every metric of the table against the second implementation, without ties to average. */
Test(classic, second_implementation, .init = setup, .fini = teardown)
{
    uint64_t random = 1;
    for (int trial = 0; trial < 600; trial++) {
        const int n = 1 + (int)(next_random(&random) % 40);
        const int levels = 1 + (int)(next_random(&random) % 5);
        double label[NAIVE_MOST], score[NAIVE_MOST];
        for (int i = 0; i < n; i++) {
            label[i] = next_random(&random) % (uint32_t)levels;
            score[i] = (double)(next_random(&random) % 20) / 4 - 2;
        }
        for (int s = 0; s < N_SPELLINGS; s++) {
            struct rw_metric metric;
            cr_assert_eq(rw_metric_parse(ctx, spellings[s], 1 + trial % 2, &metric), RW_OK);
            const double got = library_value(ctx, &metric, label, score, n, 5.0, RW_TIES_FILE);
            double by_rank[NAIVE_MOST], falling[NAIVE_MOST];
            memcpy(by_rank, label, sizeof(by_rank));
            memcpy(falling, score, sizeof(falling));
            naive_rank(by_rank, falling, n);
            const double expected = naive_value(&metric, by_rank, falling, n, 5.0);
            if (isnan(expected))
                cr_assert(isnan(got), "%s", spellings[s]);
            else
                cr_assert_float_eq(got, expected, 1e-10, "%s: %.15g, expected %.15g", spellings[s],
                                   got, expected);
        }
    }
}

/* --ties mean is the mean over every order of the ties, between worst and best. */
Test(classic, mean_over_all_orders, .init = setup, .fini = teardown)
{
    uint64_t random = 2;
    for (int trial = 0; trial < 250; trial++) {
        const int n = 1 + (int)(next_random(&random) % 7);
        const int n_scores = 1 + (int)(next_random(&random) % 3);
        double label[NAIVE_MOST], score[NAIVE_MOST];
        for (int i = 0; i < n; i++) {
            label[i] = next_random(&random) % 4;
            score[i] = next_random(&random) % (uint32_t)n_scores;
        }
        for (int s = 0; s < N_SPELLINGS; s++) {
            struct rw_metric metric;
            cr_assert_eq(rw_metric_parse(ctx, spellings[s], 1 + trial % 3, &metric), RW_OK);
            const double got = library_value(ctx, &metric, label, score, n, 3.0, RW_TIES_MEAN);
            double by_rank[NAIVE_MOST], falling[NAIVE_MOST];
            memcpy(by_rank, label, sizeof(by_rank));
            memcpy(falling, score, sizeof(falling));
            naive_rank(by_rank, falling, n);
            struct naive_orders orders = {0};
            naive_orders_from(&metric, by_rank, falling, n, 0, 3.0, &orders);
            if (isnan(orders.sum)) {
                cr_assert(isnan(got), "%s", spellings[s]);
                continue;
            }
            const double mean = orders.sum / (double)orders.n;
            cr_assert_float_eq(got, mean, 1e-10, "%s: %.15g, expected %.15g over %ld orders",
                               spellings[s], got, mean, orders.n);
            cr_assert(got >= orders.least - 1e-10 && got <= orders.most + 1e-10, "%s",
                      spellings[s]);
        }
    }
}

/* Long ties: no overflow, no loss. 20,000 tied documents, half of them relevant. */
Test(classic, a_long_tie, .init = setup, .fini = teardown)
{
    enum { N = 20000 };
    static float label[N];
    static double score[N];
    for (int i = 0; i < N; i++)
        label[i] = (float)(i & 1);
    uint32_t offset[] = {0, N};
    struct rw_dataset dataset = {0};
    dataset.n_docs = N;
    dataset.n_queries = 1;
    dataset.label = label;
    dataset.query_offset = offset;
    struct rw_gain_rule gains;
    struct rw_judgments judgments;
    cr_assert_eq(rw_gain_rule_init(ctx, &gains, "exp"), RW_OK);
    cr_assert_eq(rw_judgments_init(ctx, &judgments, &dataset, &gains, 1), RW_OK);
    const struct {
        const char *text;
        double low, high;
    } cases[] = {
        {"p@100", 0.4999999, 0.5000001},
        {"recall@10000", 0.4999999, 0.5000001},
        {"mrr", 0.693, 0.6932}, /* a fair coin: log 2 */
        {"map", 0.5, 0.501},
        {"err@20", 0.4619, 0.4621}, /* sum of 1/4 (3/4)^r / (r + 1), whose limit is log(4) / 3 */
        {"ndcg", 0.918, 0.919},     /* half the discounts of 20,000 over those of 10,000 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_metric metric;
        struct rw_metric_result result;
        cr_assert_eq(rw_metric_parse(ctx, cases[i].text, 1, &metric), RW_OK);
        cr_assert_eq(rw_metric_eval(ctx, &metric, &judgments, score, RW_EMPTY_SKIP, RW_TIES_MEAN, 0,
                                    NULL, &result),
                     RW_OK);
        cr_expect(result.mean >= cases[i].low && result.mean <= cases[i].high, "%s: %.12g",
                  cases[i].text, result.mean);
    }
    rw_judgments_release(&judgments);
}
