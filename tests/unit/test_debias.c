#include <math.h>
#include <string.h>

#include "objective/debias.c" /* whose static functions are tested, too */
#include "scratch_file.h"
#include "train_fixture.h"

/* Clicks at positions 2 to 7: enough documents for several threads. */
enum { QUERIES = 300, LENGTH = 9, DOCS = QUERIES * LENGTH, POSITIONS = 8, FIRST = 2, TREES = 4 };

static struct rw_dataset *clicks;
static double gains[DOCS], weights[DOCS];

static void setup(void)
{
    double positions[DOCS];
    scratch_begin();
    clicks = fixture_data(scratch_ctx, 3, QUERIES, LENGTH, 2);
    for (uint32_t i = 0; i < DOCS; i++) {
        clicks->label[i] = fixture_unit(5, i) < 0.3f;
        gains[i] = (double)clicks->label[i];
        weights[i] = 0.25 + fixture_unit(6, i / LENGTH);
        positions[i] = FIRST + (i % LENGTH) * 7 % 9 % 6 + (i % LENGTH > 7);
    }
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, clicks, "weights", weights, DOCS, 1),
                 RW_OK);
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, clicks, "positions", positions, DOCS, 1),
                 RW_OK);
}

static void teardown(void)
{
    rw_dataset_free(clicks);
    scratch_end();
}

/* Gives ipw's propensities of positions under n, as a user's file does. */
static int give(struct rw_gradients *gradients, const struct rw_position_bias *given, uint32_t n)
{
    char text[1000] = "";
    for (uint32_t k = FIRST; k < n; k++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u %.17g %.17g\n", k,
                 given[k].of[0], given[k].of[1]);
    return rw_gradients_read(gradients, 1, "given", text, strlen(text));
}

TestSuite(debias, .init = setup, .fini = teardown);

/* In the order of rw_objective_debias's parameters. */
static struct rw_debias *state_of(struct rw_gradients *gradients)
{
    return rw_gradients_state(gradients);
}

static struct rw_objective_rule rule_of(enum rw_debias_kind kind, int norm, double l2, double power)
{
    return (struct rw_objective_rule){
        .pair = {.sigma = 1.5f, .truncation = 4, .norm = norm},
        .value = {1.5, 4, norm, (double)kind, l2, power},
    };
}

static struct rw_gradients *made(struct rw_ctx *ctx, const struct rw_objective_rule *rule)
{
    struct rw_gradients *out;
    cr_assert_eq(rw_gradients_new(ctx, &rw_objective_debias, rule, clicks, 0, gains, NULL, &out),
                 RW_OK, "%s", rw_last_error(ctx));
    return out;
}

/* Scores as trees make them, with growing differences. */
static void scores_of(uint32_t tree, double *scores)
{
    for (uint32_t i = 0; i < DOCS; i++)
        scores[i] = (fixture_unit(40, i) - 0.5 + 0.3 * gains[i]) * tree;
}

/* ------------------------------------------------------------------ by the papers, pair by pair */

struct plain {
    int is_ipw, norm;
    double l2, power; /* of the ratios */
    double bias[POSITIONS], better[POSITIONS], other[POSITIONS];
    double lambda[DOCS], hessian[DOCS];
    double sum[POSITIONS], hessian_sum[POSITIONS], cost[2][POSITIONS];
    uint32_t n_docs[POSITIONS];
};

static void plain_init(struct plain *p)
{
    for (uint32_t k = 0; k < POSITIONS; k++)
        p->better[k] = p->other[k] = 1;
    for (uint32_t i = 0; i < DOCS; i++)
        p->n_docs[clicks->position[i]]++;
}

static void plain_query(struct plain *p, const double *scores, uint32_t first)
{
    const uint16_t *at = clicks->position + first;
    const double sigma = 1.5;
    double score[LENGTH], ideal = 0, sum = 0, least = INFINITY, most = -INFINITY;
    uint32_t rank[LENGTH], n_clicked = 0;
    for (uint32_t i = 0; i < LENGTH; i++) {
        score[i] = scores[first + i] + p->bias[at[i]];
        least = fmin(least, score[i]);
        most = fmax(most, score[i]);
        n_clicked += gains[first + i] > 0;
    }
    for (uint32_t i = 0; i < LENGTH; i++) {
        rank[i] = 0;
        for (uint32_t j = 0; j < LENGTH; j++)
            rank[i] += score[j] > score[i] || (score[j] == score[i] && j < i);
    }
    for (uint32_t r = 0; r < n_clicked && r < 4; r++)
        ideal += 1 / log2(2.0 + r);
    for (uint32_t i = 0; i < LENGTH; i++) {
        for (uint32_t j = 0; j < LENGTH; j++) {
            if (!(gains[first + i] > gains[first + j]) || (rank[i] >= 4 && rank[j] >= 4))
                continue;
            const double apart = score[i] - score[j], rho = 1 / (1 + exp(sigma * apart));
            double delta = fabs(1 / log2(2.0 + rank[i]) - 1 / log2(2.0 + rank[j])) / ideal;
            if (p->norm && least < most)
                delta /= 0.01 + fabs(apart);
            const double by = p->is_ipw ? 1 / (p->better[at[i]] * p->other[at[j]]) : 1;
            const double lambda = sigma * rho * delta * by;
            p->lambda[first + i] += lambda;
            p->lambda[first + j] -= lambda;
            p->hessian[first + i] += lambda * sigma * (1 - rho);
            p->hessian[first + j] += lambda * sigma * (1 - rho);
            sum += 2 * lambda;
            const double cost = delta * log1p(exp(-sigma * apart));
            p->cost[0][at[i]] += cost / p->other[at[j]] * weights[first + i];
            p->cost[1][at[j]] += cost / p->better[at[i]] * weights[first + j];
        }
    }
    for (uint32_t i = first; i < first + LENGTH; i++) {
        const double by = (p->norm && sum > 0 ? log2(1 + sum) / sum : 1) * weights[i];
        p->lambda[i] *= by;
        p->hessian[i] *= by;
        p->sum[clicks->position[i]] += p->lambda[i];
        p->hessian_sum[clicks->position[i]] += p->hessian[i];
    }
}

static void plain_tree(struct plain *p, const double *scores, double rate)
{
    memset(p->lambda, 0, sizeof(p->lambda));
    memset(p->hessian, 0, sizeof(p->hessian));
    memset(p->sum, 0, sizeof(p->sum));
    memset(p->hessian_sum, 0, sizeof(p->hessian_sum));
    memset(p->cost, 0, sizeof(p->cost));
    for (uint32_t q = 0; q < QUERIES; q++)
        plain_query(p, scores, q * LENGTH);
    for (uint32_t k = FIRST; k < POSITIONS; k++) {
        const double l2 = p->l2 * p->n_docs[k];
        if (!p->is_ipw)
            p->bias[k] += rate * (p->sum[k] - p->bias[k] * l2) / (p->hessian_sum[k] + l2 + 0.001);
        else {
            p->better[k] = pow(p->cost[0][k] / p->cost[0][FIRST], p->power);
            p->other[k] = pow(p->cost[1][k] / p->cost[1][FIRST], p->power);
        }
    }
}

static void assert_as_plain(const struct rw_objective_rule *rule, struct plain *p)
{
    double scores[DOCS];
    const struct rw_user_gradients *handed;
    struct rw_gradients *gradients = made(scratch_ctx, rule);
    const struct rw_debias *debias = state_of(gradients);
    plain_init(p);
    cr_assert_eq(debias->first, FIRST);
    cr_assert_eq(debias->n_positions, POSITIONS);
    for (uint32_t tree = 0; tree < TREES; tree++) {
        scores_of(tree, scores);
        plain_tree(p, scores, 0.3);
        cr_assert_eq(rw_gradients_run(gradients, tree, 0.3, scores, &handed), RW_OK);
        for (uint32_t i = 0; i < DOCS; i++) {
            cr_assert_float_eq((double)handed->lambda[i] * 0x1p-40, p->lambda[i], 1e-4,
                               "tree %u, document %u", tree, i);
            cr_assert_float_eq((double)handed->hess[i] * 0x1p-40, p->hessian[i], 1e-4);
        }
        for (uint32_t k = 0; k < POSITIONS; k++) {
            cr_assert_eq(debias->n_docs[k], p->n_docs[k]);
            cr_assert_float_eq(debias->bias[k].of[0], p->is_ipw ? p->better[k] : p->bias[k], 1e-5,
                               "tree %u, position %u: %g", tree, k, debias->bias[k].of[0]);
            if (p->is_ipw)
                cr_assert_float_eq(debias->bias[k].of[1], p->other[k], 1e-5);
            if (k >= FIRST)
                cr_assert_float_eq(
                    propensity_of(debias, debias->bias, k),
                    p->is_ipw ? p->better[k] : exp(1.5 * (p->bias[k] - p->bias[FIRST])), 1e-4);
        }
    }
    rw_gradients_free(gradients);
}

Test(debias, additive_as_the_plain_procedure)
{
    for (int norm = 0; norm < 2; norm++) {
        const struct rw_objective_rule rule = rule_of(RW_DEBIAS_ADDITIVE, norm, 0.02, 1);
        static struct plain plain;
        plain = (struct plain){.norm = norm, .l2 = 0.02};
        assert_as_plain(&rule, &plain);
        cr_expect_gt(fabs(plain.bias[FIRST]), 1e-3);
    }
}

Test(debias, ipw_as_the_plain_procedure)
{
    for (int norm = 0; norm < 2; norm++) {
        const struct rw_objective_rule rule = rule_of(RW_DEBIAS_IPW, norm, 0, norm ? 1 : 0);
        static struct plain plain;
        plain = (struct plain){.is_ipw = 1, .norm = norm, .power = norm ? 0.5 : 1};
        assert_as_plain(&rule, &plain);
        cr_expect_gt(fabs(plain.better[FIRST + 1] - 1), 1e-3);
    }
}

/* ------------------------------------------------------------------ exactly */

/* The step of additive from the engine's integers, whose sums fit a __int128. */
Test(debias, additive_is_one_step_from_exact_sums)
{
    double scores[DOCS], expected[POSITIONS] = {0};
    const struct rw_user_gradients *handed;
    const struct rw_objective_rule rule = rule_of(RW_DEBIAS_ADDITIVE, 1, 0.5, 1);
    struct rw_gradients *gradients = made(scratch_ctx, &rule);
    const struct rw_debias *debias = state_of(gradients);
    for (uint32_t tree = 0; tree < TREES; tree++) {
        __extension__ __int128 lambda[POSITIONS] = {0}, hessian[POSITIONS] = {0};
        scores_of(tree, scores);
        cr_assert_eq(rw_gradients_run(gradients, tree, 0.1, scores, &handed), RW_OK);
        for (uint32_t i = 0; i < DOCS; i++) {
            lambda[clicks->position[i]] += handed->lambda[i];
            hessian[clicks->position[i]] += handed->hess[i];
        }
        for (uint32_t k = FIRST; k < POSITIONS; k++) {
            const double l2 = 0.5 * (double)debias->n_docs[k];
            const double up = (double)lambda[k] * 0x1p-40 - expected[k] * l2;
            expected[k] = expected[k] + 0.1 * up / ((double)hessian[k] * 0x1p-40 + l2 + 0.001);
            cr_assert_eq(debias->bias[k].of[0], expected[k], "tree %u, position %u", tree, k);
        }
    }
    rw_gradients_free(gradients);
}

/* The same integers and biases by any number of threads, by either way. */
Test(debias, threads)
{
    double scores[DOCS];
    const struct rw_user_gradients *handed[2];
    for (int kind = RW_DEBIAS_ADDITIVE; kind <= RW_DEBIAS_IPW; kind++) {
        const struct rw_objective_rule rule = rule_of((enum rw_debias_kind)kind, 1, 0.1, 1);
        struct rw_gradients *gradients[2];
        for (int k = 0; k < 2; k++) {
            cr_assert_eq(rw_ctx_set_threads(scratch_ctx, k ? 5 : 1), RW_OK);
            gradients[k] = made(scratch_ctx, &rule);
        }
        for (uint32_t tree = 0; tree < TREES; tree++) {
            scores_of(tree, scores);
            for (int k = 0; k < 2; k++)
                cr_assert_eq(rw_gradients_run(gradients[k], tree, 0.1, scores, &handed[k]), RW_OK);
            cr_assert_arr_eq(handed[0]->lambda, handed[1]->lambda, sizeof(int64_t) * DOCS);
            cr_assert_arr_eq(handed[0]->hess, handed[1]->hess, sizeof(int64_t) * DOCS);
            cr_assert_arr_eq(state_of(gradients[0])->bias, state_of(gradients[1])->bias,
                             sizeof(struct rw_position_bias) * POSITIONS);
        }
        rw_gradients_free(gradients[0]);
        rw_gradients_free(gradients[1]);
    }
}

/* ------------------------------------------------------------------ given, kept, read again */

Test(debias, given_propensities_stay)
{
    double scores[DOCS];
    const struct rw_user_gradients *handed;
    struct rw_position_bias given[POSITIONS] = {{{0, 0}}};
    const struct rw_objective_rule rule = rule_of(RW_DEBIAS_IPW, 0, 0, 1);
    struct rw_gradients *gradients = made(scratch_ctx, &rule);
    struct rw_debias *debias = state_of(gradients);
    static struct plain plain;
    plain = (struct plain){.is_ipw = 1};
    plain_init(&plain);
    for (uint32_t k = FIRST; k < POSITIONS; k++) {
        given[k] = (struct rw_position_bias){{1.0 / k, 1.0 - 0.05 * k}};
        plain.better[k] = given[k].of[0];
        plain.other[k] = given[k].of[1];
    }
    cr_assert_eq(give(gradients, given, POSITIONS - 1), RW_ERR_DATA);
    cr_assert(strncmp(rw_last_error(scratch_ctx), "no propensity for position 7, ", 30) ==
              0);
    cr_assert_eq(give(gradients, given, POSITIONS), RW_OK);
    for (uint32_t tree = 0; tree < 2; tree++) {
        scores_of(tree + 1, scores);
        cr_assert_eq(rw_gradients_run(gradients, tree, 0.1, scores, &handed), RW_OK);
        cr_assert_arr_eq(debias->bias + FIRST, given + FIRST,
                         sizeof(given) - FIRST * sizeof(*given));
    }
    memset(plain.lambda, 0, sizeof(plain.lambda));
    memset(plain.hessian, 0, sizeof(plain.hessian));
    for (uint32_t q = 0; q < QUERIES; q++)
        plain_query(&plain, scores, q * LENGTH);
    for (uint32_t i = 0; i < DOCS; i++)
        cr_assert_float_eq((double)handed->lambda[i] * 0x1p-40, plain.lambda[i], 1e-4);
    rw_gradients_free(gradients);
}

/* A pair weighs at most 1,024 times, and its query's unit has room for that. */
Test(debias, weights_of_pairs_are_limited)
{
    double scores[DOCS];
    const struct rw_user_gradients *handed;
    int64_t limited[DOCS];
    const struct rw_objective_rule rule = rule_of(RW_DEBIAS_IPW, 0, 0, 1);
    for (int most = 0; most < 2; most++) {
        struct rw_position_bias given[POSITIONS];
        struct rw_gradients *gradients = made(scratch_ctx, &rule);
        for (uint32_t k = 0; k < POSITIONS; k++)
            given[k] = (struct rw_position_bias){{0x1p-6, most ? 0x1p-10 : 0x1p-4}};
        cr_assert_eq(give(gradients, given, POSITIONS), RW_OK);
        scores_of(1, scores);
        cr_assert_eq(rw_gradients_run(gradients, 0, 0.1, scores, &handed), RW_OK);
        if (most == 0)
            memcpy(limited, handed->lambda, sizeof(limited));
        else
            cr_assert_arr_eq(handed->lambda, limited, sizeof(limited));
        rw_gradients_free(gradients);
    }
}

/* The state written after all trees, or before the last one, is read back exactly. */
Test(debias, state)
{
    double scores[DOCS];
    const struct rw_user_gradients *handed;
    struct rw_position_bias saved[TREES][POSITIONS];
    for (int kind = RW_DEBIAS_ADDITIVE; kind <= RW_DEBIAS_IPW; kind++) {
        const struct rw_objective_rule rule = rule_of((enum rw_debias_kind)kind, 1, 0.1, 1);
        struct rw_gradients *whole = made(scratch_ctx, &rule);
        for (uint32_t tree = 0; tree < TREES; tree++) {
            char *text;
            memcpy(saved[tree], state_of(whole)->bias, sizeof(saved[tree]));
            scores_of(tree, scores);
            for (uint32_t behind = 0; behind < 2 && tree > 0; behind++) {
                struct rw_gradients *again = made(scratch_ctx, &rule);
                cr_assert_eq(rw_gradients_print(scratch_ctx, whole, tree - behind, &text), RW_OK);
                cr_assert_eq(rw_gradients_read(again, 0, "s", text, strlen(text)), RW_OK);
                cr_assert_eq(rw_gradients_read(again, 0, "s", text, strcspn(text, "\n")),
                             RW_ERR_FORMAT);
                cr_assert_arr_eq(state_of(again)->bias + FIRST, saved[tree - behind] + FIRST,
                                 sizeof(saved[0]) - FIRST * sizeof(saved[0][0]));
                rw_mem_free(text);
                rw_gradients_free(again);
            }
            cr_assert_eq(rw_gradients_run(whole, tree, 0.1, scores, &handed), RW_OK);
        }
        rw_gradients_free(whole);
    }
}

Test(debias, lines)
{
    const struct {
        const char *text;
        int kind, is_line;
        double of[2];
    } cases[] = {{"3 -0.25", RW_DEBIAS_ADDITIVE, 1, {-0.25, 0}},
                 {"3 0.25", RW_DEBIAS_IPW, 1, {0.25, 1}},
                 {" 3\t0.25  2 \r", RW_DEBIAS_IPW, 1, {0.25, 2}},
                 {"3 -0.25 1", RW_DEBIAS_ADDITIVE, 0, {0, 0}},
                 {"3 0", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"3 nan", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"3 inf", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"3 1025", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"3 0.5 0", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"3 0.5 1 1", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"2.5 0.5", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"-1 0.5", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"65536 0.5", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"3", RW_DEBIAS_IPW, 0, {0, 0}},
                 {"", RW_DEBIAS_IPW, 0, {0, 0}}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rw_position_bias bias;
        uint32_t position;
        const char *text = cases[i].text;
        cr_assert_eq(parse_line((enum rw_debias_kind)cases[i].kind, text, text + strlen(text),
                                &position, &bias),
                     cases[i].is_line, "'%s'", text);
        if (cases[i].is_line)
            cr_assert(position == 3 && bias.of[0] == cases[i].of[0] &&
                      bias.of[1] == cases[i].of[1]);
    }
}
