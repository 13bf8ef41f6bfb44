/* The objective lambdarank. The first part computes lambda.h's gradients of NDCG, by reference code
 * and faster with vector instructions. The second part computes gradients with other deltas and
 * other choices of pairs. Then the number of pairs and their duration follow, and the deltas. */
#include "objective/objective.h"

#if RW_HAS_X86
#include <emmintrin.h>
#endif

#include "base/rng.h"
#include "dataset/dataset.h"
#include "metric/metric.h"

int rw_lambda_check(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                    double max_weight)
{
    /* with the norm, a document's sum is at most log2(1 + S) / 2, and S is under 2^60 */
    const double sigma = (double)rule->pair.sigma;
    const double bound = (rule->pair.norm ? 30.0 : (double)n_longest) * sigma *
                         (sigma > 1.0 ? sigma : 1.0) * max_weight;
    if (bound <= 4194304.0)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "sigma %g, a query of %u documents and a weight of %g could overflow a lambda's "
                   "sum; expected a smaller --sigma, smaller weights%s",
                   sigma, n_longest, max_weight, rule->pair.norm ? "" : " or --norm on");
}

/* Adds a pair of documents, which may be swapped; a pair of equal gains adds nothing. */
static int64_t add_ndcg_pair(const struct rw_objective_query *query, uint32_t a, uint32_t b,
                             double discount_diff, float sigma, int norm, float scale)
{
    const int up = query->gains[a] > query->gains[b];
    const uint32_t hi = up ? a : b, lo = up ? b : a;
    if (query->gains[a] == query->gains[b])
        return 0;
    const struct rw_lambda_pair pair = rw_lambda_of_pair(
        (float)(query->gains[hi] - query->gains[lo]), (float)discount_diff,
        (float)(query->scores[hi] - query->scores[lo]), (float)query->ideal, sigma, norm, scale);
    query->lambda[hi] += pair.lambda;
    query->lambda[lo] -= pair.lambda;
    query->hess[hi] += pair.hessian;
    query->hess[lo] += pair.hessian;
    return pair.lambda;
}

void rw_lambda_query(const struct rw_lambda_rule *rule, const struct rw_objective_query *query)
{
    rw_lambda_query_by(rule, query, rw_lambda_shift(query->n, rule), add_ndcg_pair);
}

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    if (query->ideal > 0.0 && query->fast)
        rw_rank_query_fast(query->isa, query->scores, query->n, query->order);
    else if (query->ideal > 0.0)
        rw_rank_query(query->scores, query->n, 0, query->order);
    (query->fast ? rw_lambda_query_fast : rw_lambda_query)(&rule->pair, query);
}

/* ---- faster rw_lambda_query and rw_rank_query for most queries, with lambdarank_tmpl.c ---- */

/* Numbers below MOST_ROUND can be rounded by adding 1.5 x 2^52. Score differences below MOST_EASY
 * need no limits in exp. */
#define MOST_ROUND 0x1p50
#define MOST_EASY  80.0

struct range {
    double low, high;
    double none; /* 0, unless a value is infinite or NaN */
};

/* Returns the range of n >= 1 values. It reads four values at a time, because each step would
 * wait for the one before. */
static struct range range_of(const double *value, uint32_t n)
{
    struct range all = {value[0], value[0], 0.0};
    double low[4], high[4], none[4] = {0};
    for (int k = 0; k < 4; k++)
        low[k] = high[k] = value[0];
    for (uint32_t i = 0; i < n / 4 * 4; i += 4) {
        for (int k = 0; k < 4; k++) {
            low[k] = value[i + k] < low[k] ? value[i + k] : low[k];
            high[k] = value[i + k] > high[k] ? value[i + k] : high[k];
            none[k] += value[i + k] * 0.0;
        }
    }
    for (uint32_t i = n / 4 * 4; i < n; i++) {
        all.low = value[i] < all.low ? value[i] : all.low;
        all.high = value[i] > all.high ? value[i] : all.high;
        all.none += value[i] * 0.0;
    }
    for (int k = 0; k < 4; k++) {
        all.low = low[k] < all.low ? low[k] : all.low;
        all.high = high[k] > all.high ? high[k] : all.high;
        all.none += none[k];
    }
    return all;
}

/* Returns 1 if all pairs' numbers are small enough for the quick rounding, and if the unit may
 * be applied before or after the division. This is usually so: gains are below the ideal DCG,
 * since the ranking's best document is the first of the ideal ranking. */
static int is_bounded(const struct rw_lambda_rule *rule, const struct rw_objective_query *query,
                      double scale)
{
    const struct range of = range_of(query->gains, query->n);
    const double range = of.high - of.low;
    const double sigma = (double)rule->sigma;
    const double most = range * query->discounts[0] / query->ideal * (rule->norm ? 100.0 : 1.0) *
                        sigma * (sigma > 1.0 ? sigma : 1.0) * scale;
    return most < MOST_ROUND / 4.0 /* a quarter covers rounding errors */
           && query->ideal > 0x1p-20 && query->ideal < 0x1p60 && range < query->ideal * 0x1p20;
}

/* Rounds as rw_round_int64 does, with the processor's instruction if it has one. */
static int64_t round_double(double value)
{
#if RW_HAS_X86
    return _mm_cvtsd_si64(_mm_set_sd(value));
#else
    return rw_round_int64(value);
#endif
}

/* Returns the number of pairs of a block's documents with the top documents above them. */
static uint64_t pairs_of(uint32_t first, uint32_t n, uint32_t top)
{
    uint64_t pairs = 0;
    for (uint32_t t = first; t < first + n; t++)
        pairs += t < top ? t : top;
    return pairs;
}

void rw_lambda_query_fast(const struct rw_lambda_rule *rule, const struct rw_objective_query *query)
{
    static rw_lambda_block_fn *const paths[] = RW_ISA_PATHS(rw_lambda_block);
    const uint32_t n = query->n, *order = query->order;
    const int e = rw_lambda_shift(n, rule);
    const double scale = rw_pow2(RW_LAMBDA_EXPONENT - e);
    if (!((float)query->ideal > 0.0f) || !is_bounded(rule, query, scale)) {
        rw_lambda_query(rule, query);
        return;
    }
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->hess, 0, n * sizeof(*query->hess));
    const uint32_t top = rule->truncation && rule->truncation < n ? rule->truncation : n;
    const float unit = (float)query->ideal / (float)scale;
    const double spread = query->scores[order[0]] - query->scores[order[n - 1]];
    struct rw_lambda_row row = {.unit = unit,
                                .reciprocal = 1.0f / unit,
                                .sigma = rule->sigma,
                                .norm = rule->norm && spread != 0.0,
                                .easy = rule->sigma == 1.0f && spread < MOST_EASY};
    struct rw_lambda_block block;
    for (uint32_t first = 0; first < n; first += RW_LAMBDA_BLOCK) {
        const uint32_t in_block = n - first < RW_LAMBDA_BLOCK ? n - first : RW_LAMBDA_BLOCK;
        for (uint32_t i = 0; i < in_block; i++) {
            block.gain[i] = query->gains[order[first + i]];
            block.score[i] = query->scores[order[first + i]];
            block.discount[i] = query->discounts[first + i];
            block.lambda[i] = block.hessian[i] = 0;
        }
        for (uint32_t i = in_block; i < in_block + RW_LAMBDA_ROOM; i++)
            block.gain[i] = block.score[i] = block.discount[i] = 0.0;
        if (rw_share_poll(query->share, pairs_of(first, in_block, top)))
            return;
        paths[query->isa](&row, &block, first, in_block, top, query);
        for (uint32_t i = 0; i < in_block; i++) {
            query->lambda[order[first + i]] += block.lambda[i];
            query->hess[order[first + i]] += block.hessian[i];
        }
    }
    const double factor = rw_lambda_factor(rule, row.sum_hi, row.sum_lo, e);
    for (uint32_t i = 0; i < n; i++) {
        const double by = query->weights ? factor * query->weights[i] : factor;
        query->lambda[i] = round_double((double)query->lambda[i] * by);
        query->hess[i] = round_double((double)query->hess[i] * by);
    }
}

void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order)
{
    enum { LONGEST = 1024 };
    static rw_rank_count_fn *const paths[] = RW_ISA_PATHS(rw_rank_count);
    static const uint32_t longest[] = {256, 768,
                                       LONGEST}; /* sorting is faster for longer queries */
    const double most_key = 0x1p30;              /* so that adding one does not overflow */
    int32_t key[LONGEST + RW_LAMBDA_ROOM];
    if (n == 0)
        return;
    const struct range of = n <= longest[isa] ? range_of(scores, n) : (struct range){0, 0, 1};
    const double range = of.high - of.low;
    if (of.none != 0.0 || !(range < 0x1p500)) {
        rw_rank_query(scores, n, 0, order);
        return;
    }
    /* Keys rise, or stay equal, as scores fall. Positions are right except for different scores
     * with equal keys. */
    const double scale = range > 0x1p-500 ? most_key / range : 0.0;
    for (uint32_t i = 0; i < n; i++)
        key[i] = (int32_t)((of.high - scores[i]) * scale);
    memset(key + n, 0, RW_LAMBDA_ROOM * sizeof(*key));
    paths[isa](key, n, order);
    for (uint32_t r = 1; r < n; r++) {
        const uint32_t doc = order[r];
        uint32_t at = r;
        for (; at > 0 && scores[order[at - 1]] < scores[doc]; at--)
            order[at] = order[at - 1];
        order[at] = doc;
    }
}

/* ---- other deltas and other pairs ---- */

/* Lambdarank's gradients with any delta (lambda.h). A query's pairs are one of these choices:
 *   topk     pairs with a document in the top `truncation`, as in lambdarank;
 *   all      all pairs;
 *   mean:N   each document with N others of different grade, drawn with replacement for each tree:
 *            XGBoost's lambdarank_pair_method=mean;
 *   given    the pairs of the data set, each with weight x delta; the data set says which document
 *            is better. Pairs of equal grade count only with delta none, which is CatBoost's
 *            PairLogit.
 * A pair's lambda is that of lambda.h with the same norm, in float. One thread sums a query in
 * double, in the order of positions, of grades for drawn pairs, or of the data for given pairs. So
 * the result does not depend on the number of threads.
 * Engines scale the sums to fixed point by the largest of each tree, so dcg's deltas, which
 * reach 2^31, and drawn pairs need no separate unit. A document's |lambda| and hessian are at
 * most pairs x delta x sigma^2 x 100, 2^42 x 2^31 x 2^14 x 2^7 = 2^94. This is under 1e30, the
 * limit of the engines. */

/* Indices among its parameters. */
enum { DELTA = 2, PAIRS, RELEVANT };
enum { MOST_DRAWN = 1000 };

double rw_pairs_number(const char *text)
{
    static const char *const words[] = {"given", "all", "topk"}; /* from RW_PAIRS_GIVEN on */
    uint64_t n;
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, words[i]) == 0)
            return RW_PAIRS_GIVEN + i;
    }
    if (strncmp(text, "mean:", 5) == 0 && rw_number_whole(text + 5, MOST_DRAWN, &n) && n > 0)
        return (double)n;
    return RW_PAIRS_WRONG;
}

/* A query's documents by position, with their sums. */
struct ranked {
    struct rw_delta_query delta;
    const uint32_t *order;
    const double *scores;       /* by document, as the next two fields */
    double *gradient, *hessian; /* the arrays of the query, which get the result */
    float sigma;
    int norm;
    double sum; /* of the pairs' lambdas */
};

/* Adds a pair with weight `delta`. better, worse: positions. */
static void add_weighed(struct ranked *ranked, uint32_t better, uint32_t worse, float delta)
{
    const uint32_t hi = ranked->order[better], lo = ranked->order[worse];
    if (!(delta > 0.0f))
        return;
    const struct rw_lambda_real real = rw_lambda_weighed(
        delta, (float)(ranked->scores[hi] - ranked->scores[lo]), ranked->sigma, ranked->norm);
    ranked->gradient[hi] += (double)real.lambda;
    ranked->gradient[lo] -= (double)real.lambda;
    ranked->hessian[hi] += (double)real.hessian;
    ranked->hessian[lo] += (double)real.hessian;
    ranked->sum += (double)real.lambda;
}

/* Adds the pair of the row's position and `below`; the grades decide which document is better. */
static void add_pair(struct ranked *ranked, struct rw_delta_row *row, uint32_t below)
{
    const double *grade = ranked->delta.grade;
    if (grade[row->above] == grade[below])
        return;
    const int is_above = grade[row->above] > grade[below];
    add_weighed(ranked, is_above ? row->above : below, is_above ? below : row->above,
                (float)rw_delta_next(&ranked->delta, row, below));
}

static void add_pairs_of_top(struct ranked *ranked, uint32_t truncation, struct rw_share *share)
{
    const uint32_t n = ranked->delta.n;
    const uint32_t top = truncation && truncation < n ? truncation : n;
    for (uint32_t above = 0; above < top; above++) {
        struct rw_delta_row row = rw_delta_row(&ranked->delta, above);
        for (uint32_t below = above + 1; below < n; below++)
            add_pair(ranked, &row, below);
        if (rw_share_poll(share, n - 1 - above))
            return;
    }
}

/* Returns the weight of the pair of two positions. It is 0 for equal grades, unless all pairs have
 * equal weight (RW_DELTA_NONE). */
static double delta_of(const struct ranked *ranked, uint32_t a, uint32_t b)
{
    if (ranked->delta.grade[a] == ranked->delta.grade[b] && ranked->delta.kind != RW_DELTA_NONE)
        return 0.0;
    return rw_delta_of(&ranked->delta, a < b ? a : b, a < b ? b : a);
}

/* Adds the given pairs. position: [n] by document, scratch. */
static void add_given_pairs(const struct rw_objective_query *query, struct ranked *ranked,
                            uint32_t *position)
{
    for (uint32_t r = 0; r < query->n; r++)
        position[query->order[r]] = r;
    for (size_t k = 0; k < query->n_pairs; k++) {
        const struct rw_given_pair *pair = &query->pairs[k];
        const uint32_t better = position[pair->better - query->first_row];
        const uint32_t worse = position[pair->worse - query->first_row];
        add_weighed(ranked, better, worse, (float)(pair->weight * delta_of(ranked, better, worse)));
    }
}

/* ---- drawn pairs ---- */

/* Documents by falling grade; [begin, end) are those of one grade. */
struct drawn {
    const uint32_t *by_grade, *position;
    uint32_t begin, end;
};

/* Draws the partners of a document from the n - (end - begin) documents of other grades. All are
 * equally likely up to the rounding of a fraction of 2^32. */
static void add_drawn_pairs_of(const struct rw_objective_rule *rule,
                               const struct rw_objective_query *query, struct ranked *ranked,
                               const struct drawn *drawn, uint32_t i)
{
    const uint32_t n_same = drawn->end - drawn->begin, n_others = query->n - n_same;
    struct rw_philox four = {{0}};
    for (uint32_t k = 0; k < (uint32_t)rule->value[PAIRS]; k++) {
        if (k % 4 == 0)
            four = rw_random4(rule->seed, (uint64_t)(k / 4) << 32 | (query->first_document + i),
                              query->tree, RW_STREAM_PAIRS);
        const uint32_t other = (uint32_t)((uint64_t)four.word[k % 4] * n_others >> 32);
        const uint32_t partner = drawn->by_grade[other < drawn->begin ? other : other + n_same];
        const uint32_t a = drawn->position[i], b = drawn->position[partner];
        struct rw_delta_row row = rw_delta_row(&ranked->delta, a < b ? a : b);
        add_pair(ranked, &row, a < b ? b : a);
    }
}

/* Adds drawn pairs. grade: [n] by document; by_grade, position: [n] scratch. */
static void add_drawn_pairs(const struct rw_objective_rule *rule,
                            const struct rw_objective_query *query, struct ranked *ranked,
                            const double *grade, uint32_t *by_grade, uint32_t *position)
{
    struct drawn drawn = {by_grade, position, 0, 0};
    rw_rank_query_fast(query->isa, grade, query->n, by_grade);
    for (uint32_t r = 0; r < query->n; r++)
        position[query->order[r]] = r;
    for (; drawn.end < query->n; drawn.begin = drawn.end) {
        while (drawn.end < query->n && grade[by_grade[drawn.end]] == grade[by_grade[drawn.begin]])
            drawn.end++;
        if (drawn.end - drawn.begin == query->n) /* no document has another grade */
            return;
        for (uint32_t at = drawn.begin; at < drawn.end; at++)
            add_drawn_pairs_of(rule, query, ranked, &drawn, by_grade[at]);
    }
}

/* ---- a query ---- */

/* Doubles per document: grades by position and by document, two prefixes, and two lists of
 * indices. */
enum { SCRATCH = 5 };

static void query_by_delta(const struct rw_objective_rule *rule,
                           const struct rw_objective_query *query)
{
    const uint32_t n = query->n;
    const double *scores = query->scores;
    double *by_position = query->scratch, *by_document = by_position + n;
    double *prefix = by_document + n;
    uint32_t *indices = (uint32_t *)(prefix + 2 * (size_t)n);
    struct ranked ranked = {.delta = {.kind = rw_delta_kind(rule->value[DELTA]),
                                      .n = n,
                                      .cutoff = rw_delta_cutoff(rule->value[DELTA]),
                                      .grade = by_position,
                                      .discounts = query->discounts,
                                      .ideal = query->ideal,
                                      .max_gain = rule->max_gain},
                            .order = query->order,
                            .scores = scores,
                            .gradient = query->gradient,
                            .hessian = query->hessian,
                            .sigma = rule->pair.sigma};
    if (n == 0)
        return;
    memset(query->gradient, 0, n * sizeof(*query->gradient));
    memset(query->hessian, 0, n * sizeof(*query->hessian));
    rw_rank_query_fast(query->isa, scores, n, query->order);
    rw_delta_grades(ranked.delta.kind, rule->value[RELEVANT], query->gains, query->labels, n,
                    by_document);
    for (uint32_t r = 0; r < n; r++)
        by_position[r] = by_document[query->order[r]];
    ranked.norm = rule->pair.norm && scores[query->order[0]] != scores[query->order[n - 1]];
    rw_delta_prepare(&ranked.delta, prefix);
    if (rule->value[PAIRS] == RW_PAIRS_GIVEN)
        add_given_pairs(query, &ranked, indices);
    else if (rule->value[PAIRS] > 0.0)
        add_drawn_pairs(rule, query, &ranked, by_document, indices, indices + n);
    else
        add_pairs_of_top(&ranked, rule->pair.truncation, query->share);
    const double factor = rule->pair.norm ? rw_norm_of_sum(2.0 * ranked.sum) : 1.0;
    for (uint32_t i = 0; i < n; i++) {
        query->gradient[i] *= factor;
        query->hessian[i] *= factor;
    }
}

/* ---- the variants ---- */

/* A variant does not read parameters that its delta and pairs do not use, so each of them that is
 * set is reported as a parameter without effect. */
#define VARIANT(draws_pairs, on, words)                                          \
    {                                                                            \
        .name = "lambdarank", .params = words, .ranks = 1, .draws = draws_pairs, \
        .scratch = SCRATCH, .device = RW_OBJECTIVE_##on, .query = query_by_delta \
    }

#define ROW(words, by)                                                                           \
    {                                                                                            \
        .name = "lambdarank", .params = words, .ranks = 1, .is_fixed = 1,                        \
        .device = RW_OBJECTIVE_PAIRS, .check = rw_lambda_check, .query = query_of, .variant = by \
    }

static const struct rw_objective *variant_of(const struct rw_objective_rule *rule)
{
    enum { TOPK, ALL, DRAWN, GIVEN };
    /* All pairs with NDCG's delta are lambdarank without truncation. */
    static const struct rw_objective of_all_pairs = ROW("sigma norm delta pairs", NULL);
    static const struct rw_objective variants[2][4] = {
        {VARIANT(0, DELTAS, "sigma norm delta pairs truncation"),
         VARIANT(0, DELTAS, "sigma norm delta pairs"), VARIANT(1, DELTAS, "sigma norm delta pairs"),
         VARIANT(0, HOST, "sigma norm delta pairs")},
        {VARIANT(0, DELTAS, "sigma norm delta pairs relevant truncation"),
         VARIANT(0, DELTAS, "sigma norm delta pairs relevant"),
         VARIANT(1, DELTAS, "sigma norm delta pairs relevant"),
         VARIANT(0, HOST, "sigma norm delta pairs relevant")}};
    const double delta = rule->value[DELTA], pairs = rule->value[PAIRS];
    if (delta == RW_DELTA_NDCG && pairs == RW_PAIRS_TOPK)
        return NULL;
    if (delta == RW_DELTA_NDCG && pairs == RW_PAIRS_ALL)
        return &of_all_pairs;
    const int which = pairs == RW_PAIRS_TOPK  ? TOPK
                      : pairs == RW_PAIRS_ALL ? ALL
                      : pairs > 0.0           ? DRAWN
                                              : GIVEN;
    return &variants[rw_delta_is_of_relevance(rw_delta_kind(delta))][which];
}

const struct rw_objective rw_objective_lambdarank =
    ROW("sigma norm delta pairs truncation", variant_of);

/* ---- number and duration of pairs ---- */

uint64_t rw_lambda_count_pairs(const struct rw_objective *objective,
                               const struct rw_objective_rule *rule, const uint32_t *query_offset,
                               uint32_t n_queries, uint32_t *longest, uint64_t *most)
{
    const int pairs_at = rw_objective_param(objective, "pairs");
    const double pairs = pairs_at < 0 ? RW_PAIRS_GIVEN : rule->value[pairs_at];
    uint64_t all = 0;
    *longest = 0;
    *most = 0;
    if (strcmp(objective->name, "lambdarank") != 0 ||
        (pairs != RW_PAIRS_ALL && pairs != RW_PAIRS_TOPK))
        return 0;
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = query_offset[q + 1] - query_offset[q];
        const uint64_t top =
            pairs == RW_PAIRS_TOPK && rule->pair.truncation && rule->pair.truncation < n
                ? rule->pair.truncation
                : n;
        const uint64_t own = top * (top - 1) / 2 + (n - top) * top;
        *longest = n > *longest ? n : *longest;
        *most = own > *most ? own : *most;
        all += own;
    }
    return all;
}

double rw_lambda_pair_seconds(struct rw_ctx *ctx, const struct rw_objective *objective,
                              const struct rw_objective_rule *rule)
{
    enum { DOCS = 1500, TIMES = 2 };
    static const uint64_t n_pairs = (uint64_t)DOCS * (DOCS - 1) / 2;
    uint32_t query[] = {0, DOCS};
    float label[DOCS];
    double gain[DOCS], score[DOCS], least = 0.0;
    const struct rw_dataset made = {
        .n_docs = DOCS, .n_queries = 1, .query_offset = query, .label = label};
    const struct rw_user_gradients *result;
    RW_SCOPED(rw_gradients_free) struct rw_gradients *gradients = NULL;
    struct rw_objective_rule of_all = *rule;
    of_all.pair.truncation = 0;
    of_all.max_gain = 15.0;
    of_all.n_labels = 0;
    for (uint32_t i = 0; i < DOCS; i++) {
        score[i] = (double)(rw_random(1, i, 0, RW_STREAM_PAIRS) >> 8) * 0x1p-24;
        label[i] = (float)(i % 5);
        gain[i] = (double)((1u << i % 5) - 1);
    }
    if (rw_gradients_new(ctx, objective, &of_all, &made, 0, gain, NULL, &gradients) < 0)
        return 0.0;
    for (uint32_t time = 0; time < TIMES; time++) {
        const double start = rw_clock_ms();
        if (rw_gradients_run(gradients, time, 1.0, score, &result) < 0)
            return 0.0;
        const double took = (rw_clock_ms() - start) * 1e-3 / (double)n_pairs;
        least = time == 0 || took < least ? took : least;
    }
    return least;
}

/* The number of a delta is its kind plus KINDS times the cutoff. */
enum { KINDS = 16, MOST_CUTOFF = 1000000000 };

double rw_delta_number(const char *text)
{
    static const char *const words[] = {"ndcg", "dcg", "map", "mrr", "err", "none"};
    uint64_t k;
    for (int i = 0; i < RW_DELTA_P; i++) {
        if (strcmp(text, words[i]) == 0)
            return (double)i;
    }
    if (strncmp(text, "p@", 2) == 0 && rw_number_whole(text + 2, MOST_CUTOFF, &k) && k > 0)
        return (double)(RW_DELTA_P + KINDS * k);
    return -1.0;
}

enum rw_delta_kind rw_delta_kind(double number)
{
    return (enum rw_delta_kind)((uint64_t)number % KINDS);
}

uint32_t rw_delta_cutoff(double number)
{
    return (uint32_t)((uint64_t)number / KINDS);
}

void rw_delta_grades(enum rw_delta_kind kind, double relevant, const double *gains,
                     const float *labels, uint32_t n, double *grade)
{
    const int of_relevance = rw_delta_is_of_relevance(kind);
    for (uint32_t i = 0; i < n; i++)
        grade[i] = of_relevance ? (double)labels[i] >= relevant : gains[i];
}

void rw_delta_prepare(struct rw_delta_query *query, double *prefix)
{
    double count = 0.0, sum = 0.0, arrives = 1.0;
    uint32_t n_found = 0;
    double *second = prefix + query->n;
    query->prefix[0] = prefix;
    query->prefix[1] = second;
    query->relevant[0] = query->relevant[1] = query->n;
    for (uint32_t r = 0; r < query->n; r++) {
        if (query->kind == RW_DELTA_ERR) {
            prefix[r] = arrives;
            arrives = arrives * (1.0 - rw_delta_stop(query->grade[r], query->max_gain));
            continue;
        }
        prefix[r] = count;
        second[r] = sum;
        if (query->grade[r] > 0.0) {
            count += 1.0;
            sum += 1.0 / (double)(r + 1);
            if (n_found < 2)
                query->relevant[n_found++] = r;
        }
    }
    query->n_relevant = count;
}
