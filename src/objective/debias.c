/* Training on clicks without the bias of displayed positions. Users click more often on
 * documents that are displayed higher. These variants of lambdarank estimate that effect
 * together with the trees and remove it from the gradients. The parameter `debias` chooses a
 * variant.
 *
 * additive: a document's score in training is the model's score plus the bias of its position, for
 * pairs, ranks and norm. After each tree's gradients, a Newton step with L2 updates the biases
 * (LightGBM's `position`).
 *
 * ipw: inverse propensity weights. Each position has two propensities, relative to those of the
 * first position: t+ for the better document of a pair (the clicked one), and t- for the other. A
 * pair has the weight 1 / (t+ of the better document's position x t- of the other document's
 * position), but at most RW_DEBIAS_MOST_WEIGHT. Unless the user gave
 * the propensities, t+ and t- are updated after each tree's gradients. t+ of a position becomes its
 * cost divided by the first position's cost, to the power 1 / (1 + position-norm). The cost is the
 * sum over all pairs whose better document is at the position. Each pair's cost is divided by t- of
 * the other document's position. t- is updated in the same way from the pairs whose other document
 * is at the position, each divided by t+ of the better document's position. See Hu, Wang, Peng and
 * Li, "Unbiased LambdaMART", 2019, eq. 30 and 31, and XGBoost's `lambdarank_unbiased`.
 *
 * Sums by position are integers, so they do not depend on the number of threads or workers. One
 * formula in double turns them into biases after each tree. The model does not contain the
 * biases, and validation does not use them. */
#include "objective/objective.h"

#include "comm/comm.h"
#include "dataset/dataset.h"
#include "metric/metric.h"

/* The words of the parameter `debias`. */
enum rw_debias_kind { RW_DEBIAS_OFF, RW_DEBIAS_ADDITIVE, RW_DEBIAS_IPW };

enum { RW_DEBIAS_LEAST_EXPONENT = -10 }; /* t+ and t- are limited to 2^-10 to 2^10 */
/* The largest weight of a pair. */
#define RW_DEBIAS_MOST_WEIGHT 1024.0

/* A sum: hi x 2^32 + lo. `add` keeps lo in [0, 2^32); sums of sums may exceed it. */
struct rw_wide_sum {
    int64_t hi, lo;
};
/* Sums over the documents at a position. For additive, of[0] is the sum of lambdas and of[1] that
 * of hessians, in units of 2^-40. For ipw, both are sums of costs in units of 2^-24. The better
 * document of each pair is at the position for of[0], and the other document for of[1]. */
struct rw_position_sums {
    struct rw_wide_sum of[2];
};
/* additive: of[0] is the bias, and of[1] is not used; ipw: t+ and t-. */
struct rw_position_bias {
    double of[2];
};

struct rw_debias {
    struct rw_arena arena; /* owns the arrays */
    struct rw_ctx *ctx;    /* borrowed */
    enum rw_debias_kind kind;
    double sigma;             /* from the rule */
    double l2, power;         /* l2, additive: per document; power, ipw: 1 / (1 + position-norm) */
    int is_given;             /* 1: the user gave the propensities, and they stay fixed */
    const uint16_t *position; /* [n_docs] borrowed */
    uint32_t n_positions;     /* one more than the largest position on all workers */
    uint32_t first;           /* the smallest position that has documents, where t+ and t- are 1 */
    uint64_t *n_docs;         /* [n_positions] on all workers */
    /* Both have [n_positions] elements. bias: for the gradients of the next tree; before: those
     * with which the gradients of the last tree were computed */
    struct rw_position_bias *bias, *before;
    int n_threads;
    struct rw_position_sums *sums; /* [n_threads][n_positions] */
};

/* Indices among the parameters of rw_objective_debias. */
enum { DEBIAS = 3, POSITION_L2 = 4, POSITION_NORM = 5 };
enum { COST_EXPONENT = 24 };
static const double ln2 = 0.6931471805599453;

static void debias_close(void *state)
{
    struct rw_debias *debias = state;
    if (!debias)
        return;
    rw_arena_free(&debias->arena);
    rw_mem_free(debias);
}

static int debias_open(struct rw_ctx *ctx, const struct rw_objective_rule *rule,
                       const struct rw_dataset *dataset, int n_threads, void **out)
{
    struct rw_debias *debias;
    uint64_t most = 0;
    RW_TRY(RW_NEW(ctx, debias, 1));
    *out = debias;
    *debias = (struct rw_debias){.ctx = ctx,
                                 .kind = (enum rw_debias_kind)rule->value[DEBIAS],
                                 .sigma = (double)rule->pair.sigma,
                                 .l2 = rule->value[POSITION_L2],
                                 .power = 1.0 / (1.0 + rule->value[POSITION_NORM]),
                                 .position = dataset->position,
                                 .n_threads = n_threads};
    const double begin = debias->kind == RW_DEBIAS_IPW ? 1.0 : 0.0;
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        most = dataset->position[i] > most ? dataset->position[i] : most;
    RW_TRY(rw_comm_max(ctx, &most, 1));
    debias->n_positions = (uint32_t)most + 1;
    RW_TRY(RW_ARENA_NEW(ctx, &debias->arena, debias->n_docs, debias->n_positions));
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        debias->n_docs[dataset->position[i]]++;
    RW_TRY(rw_comm_sum(ctx, debias->n_docs, debias->n_positions));
    while (debias->first < most && debias->n_docs[debias->first] == 0)
        debias->first++;
    RW_TRY(RW_ARENA_NEW(ctx, &debias->arena, debias->bias, debias->n_positions));
    RW_TRY(RW_ARENA_NEW(ctx, &debias->arena, debias->before, debias->n_positions));
    RW_TRY(
        RW_ARENA_NEW(ctx, &debias->arena, debias->sums, (size_t)n_threads * debias->n_positions));
    for (uint32_t p = 0; p < debias->n_positions; p++)
        debias->bias[p] = debias->before[p] = (struct rw_position_bias){{begin, begin}};
    return RW_OK;
}

/* ---- a tree's gradients ---- */

static const uint16_t *positions_of(const struct rw_objective_query *query)
{
    const struct rw_debias *debias = query->state;
    return debias->position + query->first_row;
}

/* Returns the calling thread's sums by position. */
static struct rw_position_sums *sums_of(const struct rw_objective_query *query)
{
    const struct rw_debias *debias = query->state;
    return debias->sums + (size_t)query->thread * debias->n_positions;
}

static void add(struct rw_wide_sum *sum, int64_t amount)
{
    const int64_t lo = sum->lo + (amount & 0xffffffff);
    sum->hi += (amount >> 32) + (lo >> 32);
    sum->lo = lo & 0xffffffff;
}

static void query_additive(const struct rw_objective_rule *rule,
                           const struct rw_objective_query *query)
{
    const struct rw_debias *debias = query->state;
    const uint16_t *position = positions_of(query);
    struct rw_objective_query biased = *query;
    for (uint32_t i = 0; i < query->n; i++)
        query->scratch[i] = query->scores[i] + debias->bias[position[i]].of[0];
    biased.scores = query->scratch;
    rw_objective_lambdarank.query(rule, &biased);
    for (uint32_t i = 0; i < query->n; i++) {
        struct rw_position_sums *sums = &sums_of(query)[position[i]];
        add(&sums->of[0], query->lambda[i]);
        add(&sums->of[1], query->hess[i]);
    }
}

static double limited(double weight)
{
    return weight < RW_DEBIAS_MOST_WEIGHT ? weight : RW_DEBIAS_MOST_WEIGHT;
}

/* Returns the cost of a pair: the logistic loss of its scores, times the change of NDCG. lambda:
 * of the pair, before weight and rounding. */
static double cost_of(double lambda, float sigma, float score_diff)
{
    const double e = (double)rw_expf(sigma * score_diff);
    return lambda / (double)sigma * (1.0 + e) * (rw_log2((1.0 + e) / e) * ln2);
}

static void add_cost(const struct rw_objective_query *query, uint32_t document, int which,
                     double cost)
{
    const double weight = query->weights ? query->weights[document] : 1.0;
    add(&sums_of(query)[positions_of(query)[document]].of[which],
        rw_round_int64(cost * weight * rw_pow2(COST_EXPONENT)));
}

/* Implements rw_lambda_pair_fn for ipw: weighs the pair, and sums the costs unless the propensities
 * are given. */
static int64_t add_weighed_pair(const struct rw_objective_query *query, uint32_t a, uint32_t b,
                                double discount_diff, float sigma, int norm, float scale)
{
    const int up = query->gains[a] > query->gains[b];
    const uint32_t hi = up ? a : b, lo = up ? b : a;
    if (query->gains[a] == query->gains[b])
        return 0;
    const struct rw_debias *debias = query->state;
    const uint16_t *position = positions_of(query);
    const double better = 1.0 / debias->bias[position[hi]].of[0];
    const double other = 1.0 / debias->bias[position[lo]].of[1];
    const float score_diff = (float)(query->scores[hi] - query->scores[lo]);
    const struct rw_lambda_real real =
        rw_lambda_real_of_pair((float)(query->gains[hi] - query->gains[lo]), (float)discount_diff,
                               score_diff, sigma, sigma, (float)query->ideal, norm, 1);
    const double by = limited(better * other) * (double)scale;
    const int64_t lambda = rw_round_int64((double)real.lambda * by);
    const int64_t hessian = rw_round_int64((double)real.hessian * by);
    query->lambda[hi] += lambda;
    query->lambda[lo] -= lambda;
    query->hess[hi] += hessian;
    query->hess[lo] += hessian;
    if (debias->is_given)
        return lambda;
    const double cost = cost_of((double)real.lambda, sigma, score_diff);
    add_cost(query, hi, 0, cost * other);
    add_cost(query, lo, 1, cost * better);
    return lambda;
}

/* Returns the exponent of the query's unit. The weight of a pair raises sums as additional
 * documents would. */
static int shift_of(const struct rw_objective_query *query, const struct rw_lambda_rule *rule)
{
    const struct rw_debias *debias = query->state;
    double better = 0.0, other = 0.0;
    for (uint32_t i = 0; i < query->n; i++) {
        const struct rw_position_bias *bias = &debias->bias[positions_of(query)[i]];
        better = 1.0 / bias->of[0] > better ? 1.0 / bias->of[0] : better;
        other = 1.0 / bias->of[1] > other ? 1.0 / bias->of[1] : other;
    }
    int e = rw_lambda_shift(query->n, rule);
    for (double most = limited(better * other); most > 1.0; most *= 0.5)
        e++;
    return e;
}

static void query_ipw(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    rw_rank_query_fast(query->isa, query->scores, query->n, query->order);
    rw_lambda_query_by(&rule->pair, query, shift_of(query, &rule->pair), add_weighed_pair);
}

static void debias_query(const struct rw_objective_rule *rule,
                         const struct rw_objective_query *query)
{
    const struct rw_debias *debias = query->state;
    (debias->kind == RW_DEBIAS_ADDITIVE ? query_additive : query_ipw)(rule, query);
}

/* ---- the biases ---- */

static void debias_begin(void *state)
{
    struct rw_debias *debias = state;
    memset(debias->sums, 0,
           (size_t)debias->n_threads * debias->n_positions * sizeof(*debias->sums));
}

static double total(const struct rw_wide_sum *sum, int exponent)
{
    const int64_t hi = sum->hi + (sum->lo >> 32), lo = sum->lo & 0xffffffff;
    return ((double)hi * 4294967296.0 + (double)lo) * rw_pow2(-exponent);
}

/* Returns the bias after LightGBM's Newton step, which includes its constant 0.001. */
static double moved(double bias, const struct rw_position_sums *sums, double l2, double rate)
{
    const double lambda = total(&sums->of[0], RW_LAMBDA_EXPONENT) - bias * l2;
    const double hessian = total(&sums->of[1], RW_LAMBDA_EXPONENT) + l2;
    return bias + rate * lambda / (hessian + 0.001);
}

/* Returns 2^exponent, limited to the range of t+ and t-. */
static double limited_power(double exponent)
{
    const double least = RW_DEBIAS_LEAST_EXPONENT;
    return rw_exp2(exponent < least ? least : exponent > -least ? -least : exponent);
}

/* Returns the probability of a click at a position as a multiple of the first position's,
 * limited to the range of t+. bias: debias->bias or debias->before. */
static double propensity_of(const struct rw_debias *debias, const struct rw_position_bias *bias,
                            uint32_t position)
{
    const double own = bias[position].of[0];
    return debias->kind == RW_DEBIAS_IPW
               ? own
               : limited_power(debias->sigma * (own - bias[debias->first].of[0]) / ln2);
}

/* Returns (cost / first's cost)^power, limited; without a cost, the old value. */
static double ratio_of(double old, const struct rw_wide_sum *cost, const struct rw_wide_sum *first,
                       double power)
{
    const double own = total(cost, COST_EXPONENT), one = total(first, COST_EXPONENT);
    if (!(own > 0.0) || !(one > 0.0))
        return old;
    return limited_power(power * (rw_log2(own) - rw_log2(one)));
}

static int debias_end(void *state, double rate)
{
    struct rw_debias *debias = state;
    struct rw_position_sums *sums = debias->sums;
    const struct rw_position_sums *first = &sums[debias->first];
    for (int t = 1; t < debias->n_threads; t++) {
        const struct rw_position_sums *own = sums + (size_t)t * debias->n_positions;
        for (uint32_t p = 0; p < debias->n_positions; p++) {
            for (int k = 0; k < 2; k++) {
                sums[p].of[k].hi += own[p].of[k].hi;
                sums[p].of[k].lo += own[p].of[k].lo;
            }
        }
    }
    RW_TRY(rw_comm_sum(debias->ctx, (uint64_t *)(void *)sums,
                       debias->n_positions * sizeof(*sums) / sizeof(uint64_t)));
    memcpy(debias->before, debias->bias, debias->n_positions * sizeof(*debias->bias));
    for (uint32_t p = 0; p < debias->n_positions && !debias->is_given; p++) {
        double *of = debias->bias[p].of;
        const double l2 = debias->l2 * (double)debias->n_docs[p];
        if (debias->n_docs[p] == 0)
            continue;
        if (debias->kind == RW_DEBIAS_ADDITIVE) {
            of[0] = moved(of[0], &sums[p], l2, rate);
            continue;
        }
        for (int k = 0; k < 2; k++)
            of[k] = ratio_of(of[k], &sums[p].of[k], &first->of[k], debias->power);
    }
    return RW_OK;
}

/* ---- as text ---- */

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

static const char *parse_number(const char *p, const char *end, double least, double most,
                                double *value)
{
    int clamped;
    p = p ? rw_number_parse_double(skip_blanks(p, end), end, value, &clamped) : NULL;
    return p && !clamped && *value >= least && *value <= most ? skip_blanks(p, end) : NULL;
}

/* Parses a line [text, end): a position and its bias, as in "3 0.25", or a position with t+ and
 * t-, as in "3 0.25 1". Without t-, it is 1. Returns 0 for a malformed line. */
static int parse_line(enum rw_debias_kind kind, const char *text, const char *end,
                      uint32_t *position, struct rw_position_bias *bias)
{
    const double most = rw_pow2(-RW_DEBIAS_LEAST_EXPONENT);
    double number = 0.0;
    const char *p = parse_number(text, end, 0.0, RW_MAX_POSITION, &number);
    *position = p ? (uint32_t)number : 0;
    *bias = (struct rw_position_bias){{0.0, 0.0}};
    if (kind == RW_DEBIAS_ADDITIVE) {
        p = parse_number(p, end, -1e300, 1e300, &bias->of[0]);
    } else {
        bias->of[1] = 1.0;
        p = parse_number(p, end, 1.0 / most, most, &bias->of[0]);
        if (p && p < end)
            p = parse_number(p, end, 1.0 / most, most, &bias->of[1]);
    }
    return p == end && (double)*position == number;
}

enum { LINE = 96 };

/* Writes the line that parse_line reads, as in "3 0.25 1\n". Returns its length. */
static size_t write_line(const struct rw_debias *debias, const struct rw_position_bias *bias,
                         uint32_t position, char text[LINE])
{
    char number[2][32] = {"", ""};
    for (int k = 0; k < (debias->kind == RW_DEBIAS_IPW ? 2 : 1); k++)
        rw_number_write_double(bias[position].of[k], number[k]);
    return (size_t)snprintf(text, LINE, "%u %s%s%s\n", position, number[0], *number[1] ? " " : "",
                            number[1]);
}

static const struct rw_position_bias *bias_of(const struct rw_debias *debias, int is_before)
{
    return is_before ? debias->before : debias->bias;
}

static int debias_print(struct rw_ctx *ctx, const void *state, int is_before, char **text)
{
    const struct rw_debias *debias = state;
    size_t n = 0;
    RW_TRY(RW_NEW(ctx, *text, (size_t)debias->n_positions * LINE));
    for (uint32_t p = 0; p < debias->n_positions; p++) {
        if (debias->n_docs[p] > 0)
            n += write_line(debias, bias_of(debias, is_before), p, *text + n);
    }
    return RW_OK;
}

/* Reads the lines of [text, stop). found: [RW_MAX_POSITION + 1], written; of[0] is NaN for
 * positions without a line. */
static int read_lines(struct rw_ctx *ctx, enum rw_debias_kind kind, const char *name,
                      const char *text, const char *stop, struct rw_position_bias *found)
{
    for (uint32_t p = 0; p <= RW_MAX_POSITION; p++)
        found[p].of[0] = (double)NAN;
    for (unsigned number = 1; text < stop; number++) {
        const char *end = memchr(text, '\n', (size_t)(stop - text));
        end = end ? end : stop;
        struct rw_position_bias bias;
        uint32_t position;
        if (end > text && !(end == text + 1 && *text == '\r')) {
            if (!parse_line(kind, text, end, &position, &bias))
                return rw_fail(ctx, RW_ERR_PARSE,
                               "%s:%u: expected 'POSITION PROPENSITY': a whole number from 0 to %d "
                               "and a number from 1/1024 to 1024, and perhaps one more for t-",
                               name, number, RW_MAX_POSITION);
            if (!isnan(found[position].of[0]))
                return rw_fail(ctx, RW_ERR_PARSE, "%s:%u: position %u is repeated", name, number,
                               position);
            found[position] = bias;
        }
        text = end + 1;
    }
    return RW_OK;
}

/* Checks that each position with documents has a line in `found`, and that propensities that were
 * given before have not changed. */
static int check_found(const struct rw_debias *debias, int is_given,
                       const struct rw_position_bias *found)
{
    for (uint32_t p = 0; p < debias->n_positions; p++) {
        char line[LINE];
        if (debias->n_docs[p] == 0)
            continue;
        if (isnan(found[p].of[0]))
            return rw_fail(debias->ctx, is_given ? RW_ERR_DATA : RW_ERR_FORMAT,
                           "no propensity for position %u, at which %llu documents were displayed",
                           p, (unsigned long long)debias->n_docs[p]);
        if (debias->is_given && memcmp(&found[p], &debias->bias[p], sizeof(found[p])) != 0)
            return rw_fail(debias->ctx, RW_ERR_ARGUMENT,
                           "its propensities differ: position %u had '%.*s'", p,
                           (int)write_line(debias, found, p, line) - 1, line);
    }
    return RW_OK;
}

static int debias_read(void *state, int is_given, const char *name, const char *text, size_t n)
{
    struct rw_debias *debias = state;
    struct rw_position_bias *found RW_FREED = NULL;
    RW_TRY(RW_NEW_RAW(debias->ctx, found, RW_MAX_POSITION + 1));
    RW_TRY(read_lines(debias->ctx, debias->kind, name, text, text + n, found));
    RW_TRY(check_found(debias, is_given, found));
    for (uint32_t p = 0; p < debias->n_positions; p++) {
        if (debias->n_docs[p] > 0)
            debias->bias[p] = debias->before[p] = found[p];
    }
    debias->is_given |= is_given;
    return RW_OK;
}

int rw_propensities_parse(struct rw_ctx *ctx, const char *name, const char *text, size_t n,
                          double *propensity)
{
    struct rw_position_bias *found RW_FREED = NULL;
    RW_TRY(RW_NEW_RAW(ctx, found, RW_MAX_POSITION + 1));
    RW_TRY(read_lines(ctx, RW_DEBIAS_IPW, name, text, text + n, found));
    for (uint32_t p = 0; p <= RW_MAX_POSITION; p++)
        propensity[p] = found[p].of[0];
    return RW_OK;
}

/* ---- reporting the biases ---- */

static int debias_report(struct rw_ctx *ctx, const void *state, int is_before, int n_rounds,
                         const struct rw_train_hooks *hooks)
{
    const struct rw_debias *debias = state;
    const struct rw_position_bias *bias = bias_of(debias, is_before);
    const int additive = debias->kind == RW_DEBIAS_ADDITIVE;
    struct rw_positions found_positions = {.round = n_rounds, .is_given = debias->is_given};
    struct rw_arena arena RW_RELEASED(rw_arena_free) = {NULL};
    uint32_t *position;
    uint64_t *n_docs;
    double *found; /* of[0], then propensities and of[1] of those positions */
    if (!hooks->on_positions)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(ctx, &arena, position, debias->n_positions));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, n_docs, debias->n_positions));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, found, 3 * (size_t)debias->n_positions));
    double *propensity = found + debias->n_positions, *other = propensity + debias->n_positions;
    for (uint32_t p = 0; p < debias->n_positions; p++) {
        if (debias->n_docs[p] == 0)
            continue;
        position[found_positions.n] = p;
        n_docs[found_positions.n] = debias->n_docs[p];
        found[found_positions.n] = bias[p].of[0];
        propensity[found_positions.n] = propensity_of(debias, bias, p);
        other[found_positions.n++] = bias[p].of[1];
    }
    found_positions.position = position;
    found_positions.n_docs = n_docs;
    found_positions.bias = additive ? found : NULL;
    found_positions.propensity = propensity;
    found_positions.unclicked = additive ? NULL : other;
    hooks->on_positions(hooks->user, &found_positions);
    return RW_OK;
}

/* ---- the objective ---- */

/* Runs rw_lambda_check. Without the norm, a pair's weight raises the sums, so document weights are
 * multiplied by the largest weight of a pair. */
static int check(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                 double max_weight)
{
    return rw_lambda_check(ctx, rule, n_longest,
                           rule->pair.norm ? max_weight : RW_DEBIAS_MOST_WEIGHT * max_weight);
}

static const struct rw_objective_state debias_state = {.version = 1,
                                                       .open = debias_open,
                                                       .close = debias_close,
                                                       .begin = debias_begin,
                                                       .end = debias_end,
                                                       .print = debias_print,
                                                       .read = debias_read,
                                                       .report = debias_report};

const struct rw_objective rw_objective_debias = {
    .name = "lambdarank",
    .chosen_by = "debias",
    .one_label = "debias, which learns the bias of one label's clicks",
    .params = "sigma truncation norm debias position-l2 position-norm",
    .ranks = 1,
    .is_fixed = 1,
    .scratch = 1,
    .uses_positions = 1,
    .device = RW_OBJECTIVE_HOST,
    .state = &debias_state,
    .check = check,
    .query = debias_query};
