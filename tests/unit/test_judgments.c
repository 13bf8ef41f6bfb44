#include <criterion/criterion.h>

#include "base/mem.h"
#include "naive_metrics.h"

static struct rw_ctx *ctx;
static struct rw_gain_rule gains;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_gain_rule_init(ctx, &gains, "exp"), RW_OK);
}

static void teardown(void)
{
    rw_gain_rule_release(&gains);
    rw_ctx_free(ctx);
}

static struct rw_dataset dataset_of(float *label, uint32_t *offset, uint32_t n_queries)
{
    struct rw_dataset dataset = {0};
    dataset.label = label;
    dataset.query_offset = offset;
    dataset.n_queries = n_queries;
    dataset.n_docs = offset[n_queries];
    return dataset;
}

static struct rw_metric_result eval(const char *text, const struct rw_dataset *dataset,
                                    const double *scores, enum rw_empty empty, enum rw_ties ties,
                                    int reversed, double *per_query)
{
    struct rw_metric metric;
    struct rw_judgments judgments;
    struct rw_metric_result result;
    cr_assert_eq(rw_metric_parse(ctx, text, 1, &metric), RW_OK);
    cr_assert_eq(rw_judgments_init(ctx, &judgments, dataset, &gains, metric.kind->uses_gain),
                 RW_OK);
    cr_assert_eq(
        rw_metric_eval(ctx, &metric, &judgments, scores, empty, ties, reversed, per_query, &result),
        RW_OK, "%s", rw_last_error(ctx));
    rw_judgments_release(&judgments);
    return result;
}

/* Constant scores, NDCG@3, on queries for which tools differ: LightGBM prints 1, .5, 1, 1;
 * XGBoost's ndcg@3- 1, .5, 0, 1; RankLib .5 and 0 for the second and third. */
static float peer_label[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 1};
static uint32_t peer_offset[] = {0, 3, 6, 9, 10};
static const double peer_score[10];

Test(judgments, constant_scores, .init = setup, .fini = teardown)
{
    const struct rw_dataset dataset = dataset_of(peer_label, peer_offset, 4);
    const struct {
        enum rw_empty empty;
        double third, mean;
        uint32_t n_counted;
    } cases[] = {
        {RW_EMPTY_ZERO, 0, 2.5 / 4, 4},
        {RW_EMPTY_ONE, 1, 3.5 / 4, 4},
        {RW_EMPTY_SKIP, (double)NAN, 2.5 / 3, 3},
    };
    for (int i = 0; i < 3; i++) {
        double value[4];
        const struct rw_metric_result result =
            eval("ndcg@3", &dataset, peer_score, cases[i].empty, RW_TIES_FILE, 0, value);
        cr_assert_eq(value[0], 1.0);
        cr_assert_eq(value[1], 0.5);
        if (isnan(cases[i].third))
            cr_assert(isnan(value[2]));
        else
            cr_assert_eq(value[2], cases[i].third);
        cr_assert_eq(value[3], 1.0);
        cr_assert_float_eq(result.mean, cases[i].mean, 1e-15);
        cr_assert_eq(result.n_counted, cases[i].n_counted);
        cr_assert_eq(result.n_empty, 1u);
    }
    double value[4];
    eval("ndcg@3", &dataset, peer_score, RW_EMPTY_ZERO, RW_TIES_FILE, 1, value);
    cr_assert_eq(value[0], 0.5); /* reversed */
    cr_assert_eq(value[1], 1.0);
    eval("ndcg@3", &dataset, peer_score, RW_EMPTY_ZERO, RW_TIES_MEAN, 1, value);
    cr_assert_float_eq(value[0], (1 + 1 / log2(3) + 0.5) / 3, 1e-12);
    cr_assert_eq(value[0], value[1]);
}

Test(judgments, nothing_counts, .init = setup, .fini = teardown)
{
    float label[] = {0, 0, 0};
    uint32_t offset[] = {0, 2, 3};
    const struct rw_dataset dataset = dataset_of(label, offset, 2);
    const struct rw_metric_result result =
        eval("map", &dataset, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL);
    cr_assert(isnan(result.mean));
    cr_assert_eq(result.n_counted, 0u);
    cr_assert_eq(result.n_empty, 2u);
    cr_assert_eq(eval("map", &dataset, peer_score, RW_EMPTY_ONE, RW_TIES_FILE, 0, NULL).mean, 1.0);
    uint32_t none[] = {0};
    const struct rw_dataset empty = dataset_of(label, none, 0);
    cr_assert(isnan(eval("ndcg", &empty, peer_score, RW_EMPTY_ONE, RW_TIES_FILE, 0, NULL).mean));
}

Test(judgments, weights, .init = setup, .fini = teardown)
{
    struct rw_dataset dataset = dataset_of(peer_label, peer_offset, 4);
    double by_query[] = {1, 1, 1, 4, 4, 4, 7, 7, 7, 3};
    dataset.weight = by_query;
    dataset.weight_by_query = 1;
    /* NDCG@3 1, .5, -, 1 */
    cr_assert_float_eq(
        eval("ndcg@3", &dataset, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean, 6.0 / 8,
        1e-12);
    cr_assert_float_eq(
        eval("ndcg@3", &dataset, peer_score, RW_EMPTY_ONE, RW_TIES_FILE, 0, NULL).mean, 13.0 / 15,
        1e-12);
    /* squares of errors: 1, 1, 0, 1 of 3, 3, 3, 1 documents */
    cr_assert_float_eq(
        eval("rmse", &dataset, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean,
        sqrt((1 + 4 + 3) / (3.0 + 12 + 21 + 3)), 1e-11);
    /* one a document: a query counts by their mean, a document by its own */
    double by_doc[] = {3, 0, 0, 0, 12, 0, 7, 7, 7, 3};
    dataset.weight = by_doc;
    dataset.weight_by_query = 0;
    cr_assert_float_eq(
        eval("ndcg@3", &dataset, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean, 6.0 / 8,
        1e-12);
    cr_assert_float_eq(
        eval("rmse", &dataset, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean,
        sqrt((3 + 0 + 0 + 3) / (3.0 + 12 + 21 + 3)), 1e-11);
    /* scaling all weights changes nothing but rounding; tiny and huge ones lose nothing */
    const double scales[] = {1e-280, 1e-9, 1.0 / 3, 65536};
    for (int i = 0; i < 4; i++) {
        double scaled[10];
        for (int d = 0; d < 10; d++)
            scaled[d] = by_query[d] * scales[i];
        dataset.weight = scaled;
        dataset.weight_by_query = 1;
        cr_assert_float_eq(
            eval("ndcg@3", &dataset, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean,
            6.0 / 8, 1e-11);
    }
    /* nor does a query without documents */
    uint32_t with_none[] = {0, 3, 3, 6, 9, 10};
    struct rw_dataset holed = dataset_of(peer_label, with_none, 5);
    holed.weight = by_query;
    holed.weight_by_query = 1;
    cr_assert_float_eq(
        eval("ndcg@3", &holed, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean, 6.0 / 8,
        1e-12);
    double zero[10] = {0};
    dataset.weight = zero;
    cr_assert(
        isnan(eval("ndcg@3", &dataset, peer_score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean));
}

/* A set of made queries with ties; sizes 1 to 60, some empty of relevant documents. */
enum { N_QUERIES = 100, MOST_DOCS = N_QUERIES * 60 };
static float label[MOST_DOCS];
static double score[MOST_DOCS], weight[MOST_DOCS];
static uint32_t offset[N_QUERIES + 1];

static struct rw_dataset make_set(void)
{
    uint64_t random = 7;
    for (int q = 0; q < N_QUERIES; q++) {
        const uint32_t n = 1 + next_random(&random) % 60, levels = 1 + next_random(&random) % 5;
        offset[q + 1] = offset[q] + n;
        const double own = (next_random(&random) % 1000) / 7.0;
        for (uint32_t i = offset[q]; i < offset[q + 1]; i++) {
            label[i] = (float)(next_random(&random) % levels);
            score[i] = (double)(next_random(&random) % 40) / 8 - 2;
            weight[i] = own;
        }
    }
    return dataset_of(label, offset, N_QUERIES);
}

Test(judgments, any_number_of_threads, .init = setup, .fini = teardown)
{
    struct rw_dataset dataset = make_set();
    for (int weighted = 0; weighted < 2; weighted++) {
        dataset.weight = weighted ? weight : NULL;
        dataset.weight_by_query = weighted;
        for (int s = 0; s < N_SPELLINGS; s++) {
            for (int ties = 0; ties < 2; ties++) {
                static double first[N_QUERIES], other[N_QUERIES];
                ctx->n_threads = 1;
                const struct rw_metric_result one = eval(
                    spellings[s], &dataset, score, RW_EMPTY_SKIP, (enum rw_ties)ties, 0, first);
                ctx->n_threads = 7;
                const struct rw_metric_result seven = eval(
                    spellings[s], &dataset, score, RW_EMPTY_SKIP, (enum rw_ties)ties, 0, other);
                cr_assert_eq(one.mean, seven.mean);
                cr_assert_eq(one.n_counted, seven.n_counted);
                cr_assert_eq(memcmp(first, other, sizeof(first)), 0);
            }
        }
    }
}

/* The mean is the same, to the last bit, whatever the order of queries. */
Test(judgments, order_of_queries, .init = setup, .fini = teardown)
{
    struct rw_dataset dataset = make_set();
    static float moved_label[MOST_DOCS];
    static double moved_score[MOST_DOCS], moved_weight[MOST_DOCS];
    static uint32_t moved_offset[N_QUERIES + 1];
    for (int q = 0; q < N_QUERIES; q++) {
        const uint32_t from = (uint32_t)(q * 7 + 3) % N_QUERIES; /* 7 and 100: all of them */
        const uint32_t n = offset[from + 1] - offset[from];
        moved_offset[q + 1] = moved_offset[q] + n;
        memcpy(moved_label + moved_offset[q], label + offset[from], n * sizeof(*label));
        memcpy(moved_score + moved_offset[q], score + offset[from], n * sizeof(*score));
        memcpy(moved_weight + moved_offset[q], weight + offset[from], n * sizeof(*weight));
    }
    struct rw_dataset moved = dataset_of(moved_label, moved_offset, N_QUERIES);
    for (int weighted = 0; weighted < 3; weighted++) {
        dataset.weight = weighted ? weight : NULL;
        moved.weight = weighted ? moved_weight : NULL;
        dataset.weight_by_query = moved.weight_by_query = weighted == 1;
        for (int s = 0; s < N_SPELLINGS; s++)
            for (int empty = 0; empty < 3; empty++)
                for (int ties = 0; ties < 2; ties++)
                    cr_assert_eq(eval(spellings[s], &dataset, score, (enum rw_empty)empty,
                                      (enum rw_ties)ties, 0, NULL)
                                     .mean,
                                 eval(spellings[s], &moved, moved_score, (enum rw_empty)empty,
                                      (enum rw_ties)ties, 0, NULL)
                                     .mean,
                                 "%s", spellings[s]);
    }
}

/* Over the whole table: a value of [0, 1] unless it is dcg or a loss, and nothing beats the order
 * by falling label, which has 1 where the metric is normalised. */
Test(judgments, ranges_and_best_order, .init = setup, .fini = teardown)
{
    const struct rw_dataset dataset = make_set();
    int covered = 0;
    static const char *const names[] = {
#define RW_METRIC(name, ...) #name,
#include "metric/metrics.def"
#undef RW_METRIC
    };
    for (size_t kind = 0; kind < sizeof(names) / sizeof(names[0]); kind++) {
        const char *name = names[kind];
        int any = 0;
        for (int s = 0; s < N_SPELLINGS; s++) {
            struct rw_metric metric;
            cr_assert_eq(rw_metric_parse(ctx, spellings[s], 1, &metric), RW_OK);
            if (strcmp(metric.kind->name, name) != 0)
                continue;
            any = 1;
            static double perfect[MOST_DOCS], best[N_QUERIES], got[N_QUERIES];
            for (uint32_t i = 0; i < dataset.n_docs; i++)
                perfect[i] = (double)label[i];
            eval(spellings[s], &dataset, perfect, RW_EMPTY_SKIP, RW_TIES_FILE, 0, best);
            for (int ties = 0; ties < 2; ties++) {
                eval(spellings[s], &dataset, score, RW_EMPTY_SKIP, (enum rw_ties)ties, 0, got);
                for (int q = 0; q < N_QUERIES; q++) {
                    cr_assert_eq(isnan(got[q]), isnan(best[q]));
                    if (isnan(got[q]) || metric.kind->by_document)
                        continue;
                    cr_assert(got[q] >= 0.0 && got[q] <= best[q], "%s: %.17g over %.17g",
                              spellings[s], got[q], best[q]);
                    if (strcmp(name, "dcg") != 0)
                        cr_assert_leq(best[q], 1.0);
                    if (!strcmp(name, "ndcg") || !strcmp(name, "map") || !strcmp(name, "mrr"))
                        cr_assert_eq(best[q], 1.0);
                }
            }
            if (metric.kind->root)
                cr_assert_eq(
                    eval("rmse", &dataset, perfect, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean,
                    0.0);
        }
        cr_assert(any, "no test spelling for %s", name);
        covered++;
    }
    cr_assert_geq(covered, 10);
}

/* The mean of documents' losses, whatever the queries are. */
Test(judgments, losses_are_means_over_documents, .init = setup, .fini = teardown)
{
    const struct rw_dataset dataset = make_set();
    long double squares = 0, losses = 0;
    for (uint32_t i = 0; i < dataset.n_docs; i++) {
        squares += powl((long double)score[i] - (long double)label[i], 2);
        losses += log1pl(expl(label[i] >= 1 ? -(long double)score[i] : (long double)score[i]));
    }
    cr_assert_float_eq(eval("rmse", &dataset, score, RW_EMPTY_ZERO, RW_TIES_FILE, 0, NULL).mean,
                       (double)sqrtl(squares / dataset.n_docs), 1e-11);
    const struct rw_metric_result result =
        eval("logloss", &dataset, score, RW_EMPTY_ZERO, RW_TIES_FILE, 0, NULL);
    cr_assert_float_eq(result.mean, (double)(losses / dataset.n_docs), 1e-11);
    cr_assert_eq(result.n_counted, (uint32_t)N_QUERIES);
    cr_assert_eq(result.n_empty, 0u);
}

Test(judgments, values_are_rounded_to_2_to_the_minus_40, .init = setup, .fini = teardown)
{
    const struct rw_dataset dataset = make_set();
    static double value[N_QUERIES];
    const struct rw_metric_result result =
        eval("ndcg@10", &dataset, score, RW_EMPTY_SKIP, RW_TIES_FILE, 0, value);
    long long sum = 0;
    for (int q = 0; q < N_QUERIES; q++) {
        if (isnan(value[q]))
            continue;
        cr_assert_eq(ldexp(value[q], 40), floor(ldexp(value[q], 40)));
        sum += (long long)ldexp(value[q], 40);
    }
    cr_assert_eq(result.mean, ldexp((double)sum / (double)result.n_counted, -40));
}

Test(judgments, too_large_to_average, .init = setup, .fini = teardown)
{
    const struct rw_dataset dataset = dataset_of(peer_label, peer_offset, 4);
    double huge[10] = {0};
    const struct {
        const char *text;
        double score;
        int status;
    } cases[] = {
        {"rmse", 1e6, RW_OK},        {"rmse", 1e200, RW_ERR_DATA},
        {"rmse", 1e13, RW_ERR_DATA}, {"logloss", 1e300, RW_ERR_DATA},
        {"ndcg", 1e300, RW_OK},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_metric metric;
        struct rw_judgments judgments;
        struct rw_metric_result result;
        huge[5] = cases[i].score;
        huge[4] = cases[i].score;
        cr_assert_eq(rw_metric_parse(ctx, cases[i].text, 1, &metric), RW_OK);
        cr_assert_eq(rw_judgments_init(ctx, &judgments, &dataset, &gains, 1), RW_OK);
        cr_assert_eq(rw_metric_eval(ctx, &metric, &judgments, huge, RW_EMPTY_SKIP, RW_TIES_FILE, 0,
                                    NULL, &result),
                     cases[i].status, "%s", cases[i].text);
        if (cases[i].status < 0)
            cr_assert_not_null(strstr(rw_last_error(ctx), "of query 2 is too large to average"));
        rw_judgments_release(&judgments);
    }
}

Test(judgments, gains_are_asked_for_only_where_used, .init = setup, .fini = teardown)
{
    float wild[] = {100, 0};
    uint32_t one[] = {0, 2};
    const double scores[] = {1, 0};
    const struct rw_dataset dataset = dataset_of(wild, one, 1);
    struct rw_judgments judgments;
    cr_assert_eq(rw_judgments_init(ctx, &judgments, &dataset, &gains, 1), RW_ERR_DATA);
    cr_assert_not_null(strstr(rw_last_error(ctx), "document 1: label 100 is above 31"));
    rw_judgments_release(&judgments);
    cr_assert_eq(eval("map", &dataset, scores, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).mean, 1.0);
    cr_assert_eq(eval("rmse", &dataset, scores, RW_EMPTY_SKIP, RW_TIES_FILE, 0, NULL).n_counted,
                 1u);
}

Test(judgments, every_allocation_may_fail, .init = setup, .fini = teardown)
{
    struct rw_dataset dataset = dataset_of(peer_label, peer_offset, 4);
    double one[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    dataset.weight = one;
    struct rw_metric metric;
    cr_assert_eq(rw_metric_parse(ctx, "ndcg@3", 1, &metric), RW_OK);
    int failures = 0;
    for (long n = 1;; n++) {
        struct rw_judgments judgments;
        struct rw_metric_result result;
        rw_mem_fail_from(n);
        int status = rw_judgments_init(ctx, &judgments, &dataset, &gains, 1);
        if (status == RW_OK)
            status = rw_metric_eval(ctx, &metric, &judgments, peer_score, RW_EMPTY_SKIP,
                                    RW_TIES_FILE, 0, NULL, &result);
        rw_judgments_release(&judgments);
        rw_mem_fail_from(0);
        if (status == RW_OK)
            break;
        cr_assert_eq(status, RW_ERR_MEMORY);
        failures++;
    }
    cr_assert_geq(failures, 6);
}

Test(judgments, conventions, .init = setup, .fini = teardown)
{
    char line[256];
    const struct {
        const char *text;
        enum rw_empty empty;
        enum rw_ties ties;
        const char *line;
    } cases[] = {
        {"dcg", RW_EMPTY_SKIP, RW_TIES_FILE,
         "gain 2^l - 1, discount 1/log2(1 + rank), queries without a relevant document left out, "
         "ties in input order"},
        {"ndcg@10", RW_EMPTY_ONE, RW_TIES_MEAN,
         "gain 2^l - 1, discount 1/log2(1 + rank), queries without a relevant document count 1, "
         "mean over orders of ties"},
        {"p@5", RW_EMPTY_ZERO, RW_TIES_FILE,
         "relevant from label 2.5, queries without a relevant document count 0, ties in input "
         "order"},
        {"err", RW_EMPTY_SKIP, RW_TIES_FILE,
         "gain 2^l - 1, err's greatest gain is the data's, queries without a relevant document "
         "left out, ties in input order"},
        {"rmse", RW_EMPTY_SKIP, RW_TIES_FILE, "mean over documents"},
        {"logloss", RW_EMPTY_SKIP, RW_TIES_FILE, "relevant from label 2.5, mean over documents"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_metric metric;
        cr_assert_eq(rw_metric_parse(ctx, cases[i].text, 2.5, &metric), RW_OK);
        rw_metrics_conventions(&metric, 1, &gains, cases[i].empty, cases[i].ties, 0, line,
                               sizeof(line));
        cr_expect_str_eq(line, cases[i].line);
    }
    char tiny[8];
    struct rw_metric metric;
    cr_assert_eq(rw_metric_parse(ctx, "dcg", 1, &metric), RW_OK);
    rw_metrics_conventions(&metric, 1, &gains, RW_EMPTY_SKIP, RW_TIES_FILE, 0, tiny, sizeof(tiny));
    cr_expect_str_eq(tiny, "gain 2^");
}
