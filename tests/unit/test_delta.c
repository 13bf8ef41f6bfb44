/* Deltas, and lambdarank's gradients by them, against the metrics' definitions: each pair of
 * documents is exchanged, and the metric measured again. */
#include <criterion/criterion.h>

#include "base/ctx.h"
#include "base/rng.h"
#include "naive_metrics.h"
#include "objective/objective.h"
#include "train_fixture.h"

enum { GIVEN = 25, MOST = 40, MOST_LABEL = 5, FIRST = 1000, TREE = 3 };

/* The deltas that a metric has. ndcg's ideal is of the whole list here. */
static const struct {
    const char *delta, *metric;
} pairs_of_words[] = {{"ndcg", "ndcg"}, {"dcg", "dcg"}, {"map", "map"},   {"mrr", "mrr"},
                      {"err", "err"},   {"p@1", "p@1"}, {"p@10", "p@10"}, {"p@50", "p@50"}};
enum { METRICS = sizeof(pairs_of_words) / sizeof(pairs_of_words[0]) };

/* A query, its documents in the order of its scores. */
struct query {
    int n;
    double label[MOST], gain[MOST], discount[MOST], prefix[2 * MOST], ideal;
    struct rw_given_pair pair[GIVEN]; /* of any two, whatever their labels */
};

static void make(struct query *q, uint64_t seed)
{
    double scratch[MOST];
    q->n = 2 + (int)(seed * 7 % (MOST - 1));
    for (int r = 0; r < q->n; r++) {
        /* few relevant ones, many, or those of the best label alone */
        const double u = fixture_unit(seed, (uint64_t)r);
        q->label[r] = seed % 3 == 0   ? floor(u * u * u * 5.0)
                      : seed % 3 == 1 ? floor(u * 5.0)
                                      : floor(3.0 + u * 3.0);
        q->gain[r] = pow(2.0, q->label[r]) - 1.0;
        q->discount[r] = rw_discount((uint32_t)r);
    }
    q->ideal = rw_ideal_dcg(q->gain, (uint32_t)q->n, 0, q->discount, scratch);
    for (uint32_t k = 0; k < GIVEN; k++) {
        const uint32_t n = (uint32_t)q->n, a = (uint32_t)(fixture_unit(seed, 100 + k) * n);
        q->pair[k] =
            (struct rw_given_pair){FIRST + a, FIRST + (a + 1 + k % (n - 1)) % n, k % 4 * 0.5};
    }
}

static struct rw_metric metric_of(const char *word, double relevant)
{
    struct rw_metric metric;
    cr_assert_eq(rw_metric_parse(NULL, word, relevant, &metric), RW_OK);
    return metric;
}

/* |the metric with two positions exchanged - the metric|; 0 where it has no value. */
static double exchanged(const struct rw_metric *metric, const struct query *q, int a, int b)
{
    static const double score[MOST] = {0};
    double label[MOST];
    memcpy(label, q->label, sizeof(label));
    const double before = naive_value(metric, label, score, q->n, MOST_LABEL);
    label[a] = q->label[b];
    label[b] = q->label[a];
    const double after = naive_value(metric, label, score, q->n, MOST_LABEL);
    return isnan(before) ? 0.0 : fabs(after - before);
}

Test(delta, equals_the_change_by_an_exchange)
{
    static struct query q;
    int n_compared[METRICS] = {0}, n_zero[METRICS] = {0};
    for (uint64_t seed = 0; seed < 60; seed++) {
        make(&q, seed);
        for (int m = 0; m < METRICS; m++) {
            const double relevant = 1.0 + (double)(seed % 4);
            const struct rw_metric metric = metric_of(pairs_of_words[m].metric, relevant);
            const double number = rw_delta_number(pairs_of_words[m].delta);
            double grade[MOST];
            struct rw_delta_query of = {.kind = rw_delta_kind(number),
                                        .n = (uint32_t)q.n,
                                        .cutoff = rw_delta_cutoff(number),
                                        .grade = grade,
                                        .discounts = q.discount,
                                        .ideal = q.ideal,
                                        .max_gain = pow(2.0, MOST_LABEL) - 1.0};
            cr_assert_eq(rw_delta_is_of_relevance(of.kind), metric.kind->uses_relevance);
            for (int r = 0; r < q.n; r++)
                grade[r] = metric.kind->uses_relevance ? q.label[r] >= relevant : q.gain[r];
            rw_delta_prepare(&of, q.prefix);
            for (int k = 0; k < q.n * q.n; k++) { /* in order, or not */
                const int at = seed % 2 ? k : k * 37 % (q.n * q.n);
                const int a = at / q.n, b = at % q.n;
                if (a >= b || grade[a] == grade[b])
                    continue;
                const double delta = rw_delta_of(&of, (uint32_t)a, (uint32_t)b);
                cr_assert_float_eq(delta, exchanged(&metric, &q, a, b),
                                   1e-13 * (of.kind == RW_DELTA_DCG ? 1000.0 : 1.0),
                                   "%s, seed %d: %d and %d of %d", pairs_of_words[m].delta,
                                   (int)seed, a, b, q.n);
                n_compared[m]++;
                n_zero[m] += delta == 0.0;
            }
        }
    }
    for (int m = 0; m < METRICS; m++) {
        cr_expect_gt(n_compared[m], 1000, "%s", pairs_of_words[m].delta);
        cr_expect(strcmp(pairs_of_words[m].delta, "p@50") == 0 /* past all lists */
                      ? n_zero[m] == n_compared[m]
                      : n_zero[m] < n_compared[m],
                  "%s", pairs_of_words[m].delta);
    }
}

/* The chance to get past many documents of the best label is 0 in double, which nothing is divided
 * by. */
Test(delta, err_of_a_long_list)
{
    enum { LONG = 3000 };
    static double grade[LONG], prefix[2 * LONG];
    for (int r = 0; r < LONG; r++)
        grade[r] = r % 100 == 99 ? 0.0 : 31.0;
    struct rw_delta_query of = {.kind = RW_DELTA_ERR, .n = LONG, .grade = grade, .max_gain = 31.0};
    rw_delta_prepare(&of, prefix);
    for (uint32_t a = 0; a < LONG; a += 100) {
        for (uint32_t b = a + 99; b < LONG; b += 100) {
            const double delta = rw_delta_of(&of, a, b);
            cr_assert(delta >= 0.0 && delta <= 1.0, "%u and %u: %g", a, b, delta);
            cr_assert(a > 0 || delta > 0.0);
        }
    }
}

Test(delta, words)
{
    cr_expect_eq(rw_delta_number("ndcg"), 0.0);
    cr_expect_eq(rw_delta_kind(rw_delta_number("none")), RW_DELTA_NONE);
    cr_expect_eq(rw_delta_kind(rw_delta_number("p@1000000000")), RW_DELTA_P);
    cr_expect_eq(rw_delta_cutoff(rw_delta_number("p@1000000000")), 1000000000);
    cr_expect_eq(rw_delta_cutoff(rw_delta_number("p@7")), 7);
    const char *const wrong[] = {"",        "p",
                                 "p@",      "p@0",
                                 "p@-1",    "p@1000000001",
                                 "ndcg@10", "NDCG",
                                 "p@1x",    "p@99999999999999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        cr_expect_eq(rw_delta_number(wrong[i]), -1.0, "%s", wrong[i]);
    cr_expect_eq(rw_pairs_number("topk"), RW_PAIRS_TOPK);
    cr_expect_eq(rw_pairs_number("all"), RW_PAIRS_ALL);
    cr_expect_eq(rw_pairs_number("given"), RW_PAIRS_GIVEN);
    cr_expect_eq(rw_pairs_number("mean:1000"), 1000.0);
    const char *const none[] = {"", "mean", "mean:", "mean:0", "mean:1001", "mean:1.5", "top", "1"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        cr_expect_eq(rw_pairs_number(none[i]), RW_PAIRS_WRONG, "%s", none[i]);
}

/* ---- gradients ---- */

/* A rule of lambdarank, and what trains by it. */
static const struct rw_objective *objective_of(const char *delta, const char *pairs,
                                               struct rw_objective_rule *rule)
{
    double *value = rule->value;
    value[rw_objective_param(&rw_objective_lambdarank, "delta")] = rw_delta_number(delta);
    value[rw_objective_param(&rw_objective_lambdarank, "pairs")] = rw_pairs_number(pairs);
    const struct rw_objective *objective = rw_objective_for(&rw_objective_lambdarank, rule);
    cr_assert_eq(objective->device,
                 strcmp(pairs, "given") ? RW_OBJECTIVE_DELTAS : RW_OBJECTIVE_HOST);
    cr_assert_str_eq(objective->name, "lambdarank");
    const int relevant = rw_objective_param(objective, "relevant");
    cr_assert_eq(relevant >= 0, rw_delta_is_of_relevance(rw_delta_kind(rw_delta_number(delta))));
    cr_assert_eq(rw_objective_param(objective, "truncation") >= 0, strcmp(pairs, "topk") == 0);
    cr_assert_eq(objective->draws, strncmp(pairs, "mean", 4) == 0);
    if (relevant >= 0)
        value[relevant] = 2.0;
    return objective;
}

struct sums {
    double gradient[MOST], hessian[MOST], sum;
};

/* Burges's formula, by the C library. */
static void add_plain(const struct query *q, const struct rw_metric *metric, const double *score,
                      const struct rw_objective_rule *rule, int hi, int lo, double weight,
                      struct sums *sums)
{
    const double sigma = (double)rule->pair.sigma;
    double delta = weight * (metric ? exchanged(metric, q, hi, lo) : 1.0);
    if (rule->pair.norm && score[0] != score[q->n - 1])
        delta /= 0.01 + fabs(score[hi] - score[lo]);
    const double rho = 1.0 / (1.0 + exp(sigma * (score[hi] - score[lo])));
    sums->gradient[hi] += sigma * delta * rho;
    sums->gradient[lo] -= sigma * delta * rho;
    sums->hessian[hi] += sigma * sigma * delta * rho * (1.0 - rho);
    sums->hessian[lo] += sigma * sigma * delta * rho * (1.0 - rho);
    sums->sum += 2.0 * sigma * delta * rho;
}

static void add_by_grade(const struct query *q, const struct rw_metric *metric, const double *score,
                         const double *grade, const struct rw_objective_rule *rule, int a, int b,
                         struct sums *sums)
{
    if (grade[a] != grade[b])
        add_plain(q, metric, score, rule, grade[a] > grade[b] ? a : b, grade[a] > grade[b] ? b : a,
                  1.0, sums);
}

/* Which number is whose is part of every model: documents by falling grade, those of the own one
 * left out, are counted from 0. */
static int drawn_partner(const struct query *q, const double *grade, uint64_t seed, int i, int k)
{
    int others[MOST], n = 0;
    for (double next = INFINITY; n < q->n;) {
        double most = -1.0;
        for (int j = 0; j < q->n; j++)
            most = grade[j] < next && grade[j] > most ? grade[j] : most;
        if (most < 0.0)
            break;
        next = most;
        for (int j = 0; j < q->n; j++) {
            if (grade[j] == most && most != grade[i])
                others[n++] = j;
        }
    }
    if (n == 0)
        return i;
    const struct rw_philox four =
        rw_random4(seed, (uint64_t)(k / 4) << 32 | (uint32_t)(FIRST + i), TREE, RW_STREAM_PAIRS);
    return others[(uint64_t)four.word[k % 4] * (uint64_t)n >> 32];
}

/* Documents are in the order of their scores, so that an index is a position. */
static void plain(const struct query *q, const char *word, const char *pairs, const double *score,
                  const double *grade, const struct rw_objective_rule *rule, struct sums *sums)
{
    const struct rw_metric metric = metric_of(strcmp(word, "none") == 0 ? "ndcg" : word, 2.0);
    const struct rw_metric *measured = strcmp(word, "none") == 0 ? NULL : &metric;
    const int is_given = strcmp(pairs, "given") == 0;
    const int n_drawn = strncmp(pairs, "mean:", 5) == 0 ? atoi(pairs + 5) : 0;
    const int top = rule->pair.truncation ? (int)rule->pair.truncation : q->n;
    *sums = (struct sums){.sum = 0.0};
    for (int i = 0; i < q->n; i++) {
        for (int k = 0; k < n_drawn; k++)
            add_by_grade(q, measured, score, grade, rule, i,
                         drawn_partner(q, grade, rule->seed, i, k), sums);
        for (int j = i + 1; j < q->n && i < top && n_drawn == 0 && !is_given; j++)
            add_by_grade(q, measured, score, grade, rule, i, j, sums);
    }
    for (int k = 0; k < GIVEN && is_given; k++) {
        const struct rw_given_pair *pair = &q->pair[k];
        add_plain(q, measured, score, rule, (int)(pair->better - FIRST), (int)(pair->worse - FIRST),
                  pair->weight, sums);
    }
    const double by = rule->pair.norm && sums->sum > 0.0 ? log2(1.0 + sums->sum) / sums->sum : 1.0;
    for (int i = 0; i < q->n; i++) {
        sums->gradient[i] *= by;
        sums->hessian[i] *= by;
    }
}

static void check_gradients(const char *delta, const char *pairs, uint64_t seed)
{
    static struct query q;
    static struct sums sums;
    double score[MOST], grade[MOST], gradient[MOST], hessian[MOST], scratch[8 * MOST];
    float label[MOST];
    uint32_t order[MOST];
    struct rw_objective_rule rule = {
        .pair = {.sigma = seed % 2 ? 1.0f : 1.5f, .norm = seed % 3 != 0},
        .seed = seed,
        .max_gain = pow(2.0, MOST_LABEL) - 1.0};
    const struct rw_objective *objective = objective_of(delta, pairs, &rule);
    if (strcmp(pairs, "topk") == 0)
        rule.pair.truncation = 1 + (uint32_t)(seed % 5);
    make(&q, seed);
    for (int i = 0; i < q.n; i++) {
        score[i] = seed % 10 == 9 ? 0.25 : 3.0 - floor(i * 0.7) * 0.25; /* some or all equal */
        label[i] = (float)q.label[i];
        grade[i] = rw_objective_param(objective, "relevant") >= 0 ? q.label[i] >= 2.0 : q.gain[i];
    }
    const struct rw_objective_query of = {.n = (uint32_t)q.n,
                                          .first_document = FIRST,
                                          .tree = TREE,
                                          .isa = rw_isa(),
                                          .fast = 1,
                                          .scores = score,
                                          .labels = label,
                                          .gains = q.gain,
                                          .discounts = q.discount,
                                          .ideal = q.ideal,
                                          .pairs = q.pair,
                                          .n_pairs = GIVEN,
                                          .first_row = FIRST,
                                          .order = order,
                                          .scratch = scratch,
                                          .gradient = gradient,
                                          .hessian = hessian};
    cr_assert(objective->scratch <= 8);
    objective->query(&rule, &of);
    plain(&q, delta, pairs, score, grade, &rule, &sums);
    for (int i = 0; i < q.n; i++) {
        const double room = 1e-6 * (1.0 + sums.sum);
        cr_assert_float_eq(gradient[i], sums.gradient[i], room, "%s %s, seed %d: %d", delta, pairs,
                           (int)seed, i);
        cr_assert_float_eq(hessian[i], sums.hessian[i], room, "%s %s, seed %d: %d", delta, pairs,
                           (int)seed, i);
    }
}

Test(delta, gradients_of_all_pairs_and_rules)
{
    static const char *const pairs[] = {"topk", "all", "mean:1", "mean:6", "given"};
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (int p = 0; p < 5; p++) {
            for (int m = p < 2; m < METRICS; m++) /* ndcg's topk and all are the engines' */
                check_gradients(pairs_of_words[m].delta, pairs[p], seed);
            check_gradients("none", pairs[p], seed);
        }
    }
}

/* ---- a training set ---- */

enum { QUERIES = 600, LENGTH = 9, DOCS = QUERIES * LENGTH };

static void gradients_of(struct rw_ctx *ctx, const char *delta, const char *pairs,
                         const struct rw_dataset *data, uint32_t first_doc, const double *gains,
                         const double *scores, double *gradient)
{
    struct rw_objective_rule rule = {
        .pair = {.sigma = 1.0f, .norm = 1}, .seed = 5, .max_gain = 31.0};
    const struct rw_objective *objective = objective_of(delta, pairs, &rule);
    struct rw_gradients *made;
    cr_assert_eq(rw_gradients_new(ctx, objective, &rule, data, first_doc, gains, NULL, &made),
                 RW_OK);
    const struct rw_user_gradients *handed;
    cr_assert_eq(rw_gradients_run(made, TREE, 0.1, scores, &handed), RW_OK);
    memcpy(gradient, handed->gradient, data->n_docs * sizeof(*gradient));
    rw_gradients_free(made);
}

/* Neither threads nor which rank has a query change a bit. */
Test(delta, threads_and_workers)
{
    static double gains[DOCS], scores[DOCS], one[DOCS], other[DOCS];
    static const char *const rules[][2] = {{"map", "topk"}, {"err", "mean:3"}, {"none", "all"}};
    const uint32_t half = QUERIES / 2 * LENGTH;
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *data = fixture_data(ctx, 2, QUERIES, LENGTH, 2);
    for (uint32_t i = 0; i < DOCS; i++) {
        gains[i] = exp2((double)data->label[i]) - 1.0;
        scores[i] = floor(fixture_unit(4, i) * 20.0) * 0.1;
    }
    for (int k = 0; k < 3; k++) {
        cr_assert_eq(rw_ctx_set_threads(ctx, 1), RW_OK);
        gradients_of(ctx, rules[k][0], rules[k][1], data, 0, gains, scores, one);
        cr_assert_eq(rw_ctx_set_threads(ctx, 4), RW_OK);
        gradients_of(ctx, rules[k][0], rules[k][1], data, 0, gains, scores, other);
        cr_assert_arr_eq(one, other, sizeof(one));
        struct rw_dataset part = {
            .n_docs = DOCS - half, .n_queries = QUERIES - QUERIES / 2, .label = data->label + half};
        uint32_t offset[QUERIES - QUERIES / 2 + 1];
        for (uint32_t q = 0; q <= part.n_queries; q++)
            offset[q] = q * LENGTH;
        part.query_offset = offset;
        gradients_of(ctx, rules[k][0], rules[k][1], &part, half, gains + half, scores + half,
                     other);
        cr_assert_arr_eq(one + half, other, (DOCS - half) * sizeof(*other));
    }
    rw_dataset_free(data);
    rw_ctx_free(ctx);
}
