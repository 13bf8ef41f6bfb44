/* New values for the leaves of given trees: those of training itself on its own data, and on other
 * data those of a plain computation that shares no walk and no sum with the engines. */
#include <math.h>

#include "model_looks.h"
#include "base/mem.h"
#include "model/model.h"
#include "params/params.h"
#include "same_trees.h"
#include "scratch_file.h"
#include "train_fixture.h"
#include "tree/grower.h"

__extension__ typedef __int128 int128;

static struct rw_params *params;
static struct rw_dataset *train, *other;
static struct rw_model *model, *made;

static void setup(void)
{
    scratch_begin();
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    train = fixture_data(scratch_ctx, 1, 40, 9, 6);
    other = fixture_data(scratch_ctx, 2, 25, 11, 6);
}

static void teardown(void)
{
    rw_model_free(model);
    rw_model_free(made);
    rw_dataset_free(train);
    rw_dataset_free(other);
    rw_params_free(params);
    scratch_end();
}

TestSuite(refit, .init = setup, .fini = teardown, .timeout = 60);

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(scratch_ctx, params, name, value), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
}

/* Parameters from here on are those of a refit. */
static void refit_with(const char *decay)
{
    rw_params_free(params);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    set("refit-decay", decay);
}

static void give_weights(struct rw_dataset *data)
{
    double *weights = malloc(data->n_docs * sizeof(*weights)), *start = malloc(data->n_docs * 8);
    for (uint32_t i = 0; i < data->n_docs; i++) {
        weights[i] = fixture_unit(7, i) * 3.0;
        start[i] = fixture_unit(8, i) - 0.5;
    }
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, data, "weights", weights, data->n_docs, 1),
                 RW_OK);
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, data, "start-scores", start, data->n_docs, 1),
        RW_OK);
    free(weights);
    free(start);
}

static void train_model(void)
{
    set("leaves", "9");
    set("min-docs", "3");
    set("rounds", "8");
    cr_assert_eq(rw_train(scratch_ctx, params, train, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
}

static int refit(const struct rw_dataset *data)
{
    return rw_refit(scratch_ctx, params, model, data, NULL, 0, NULL, &made);
}

static void refit_on(const struct rw_dataset *data)
{
    cr_assert_eq(refit(data), RW_OK, "%s", rw_last_error(scratch_ctx));
}

/* ---- on its own data ---- */

static void as_trained(const char *objective, const char *absent, int weighted)
{
    if (weighted)
        give_weights(train);
    set("objective", objective);
    set("absent", absent);
    set("sample-features", "0.6");
    set("rate", "0.3:0.05:5");
    set("l2", "7");
    set("seed", "9");
    train_model();
    refit_with("0");
    refit_on(train);
    cr_assert(same_trees(model, made), "%s, absent %s, weighted %d", objective, absent, weighted);
    cr_assert_str_eq(param_of(made, "refit-decay"), "0");
    cr_assert_null(param_of(model, "refit-decay"));
    for (int i = 0; i < model->params.n; i++) {
        const struct rw_run_param *param = &model->params.param[i];
        cr_assert_str_eq(param_of(made, param->name), param->value, "%s", param->name);
    }
}

#define AS_TRAINED(objective)                      \
    Test(refit, as_trained_##objective)            \
    {                                              \
        as_trained(#objective, "zero", 0);         \
    }                                              \
    Test(refit, as_trained_##objective##_weighted) \
    {                                              \
        as_trained(#objective, "missing", 1);      \
    }
#define RW_OBJECTIVE(name) AS_TRAINED(name)
#include "objective/objectives.def"
#undef RW_OBJECTIVE

/* Whoever compares pairs otherwise, or keeps an order, does so in a refit, too. */
static void as_trained_by(const char *name, const char *value)
{
    set(name, value);
    set("rate", "0.3");
    train_model();
    refit_with("0");
    refit_on(train);
    cr_assert(same_trees(model, made), "%s %s", name, value);
    cr_assert_str_eq(param_of(made, name), value);
}

Test(refit, as_trained_by_map)
{
    as_trained_by("delta", "map");
}

Test(refit, as_trained_by_drawn_pairs)
{
    as_trained_by("pairs", "mean:2");
}

Test(refit, as_trained_in_order)
{
    as_trained_by("monotone", "1-2:+,4:-");
    int8_t direction[RW_FEATURE_IDS] = {0};
    struct rw_monotone *room = NULL;
    direction[1] = direction[2] = 1;
    direction[4] = -1;
    for (int k = 0; k < 3; k++) {
        static const char *const decays[] = {"0", "0.3", "0.9"};
        rw_model_free(made);
        refit_with(decays[k]);
        refit_on(other);
        for (int32_t t = 0; t < made->n_trees; t++) {
            cr_assert_eq(RW_NEW(scratch_ctx, room, 2 * (size_t)made->tree[t].n_leaves), RW_OK);
            cr_assert_eq(rw_monotone_broken(room, direction, &made->tree[t]), -1);
            rw_mem_free(room);
        }
    }
    refit_with("0.5");
    set("monotone", "1:-");
    rw_model_free(made);
    made = NULL;
    refit_on(other); /* with a warning: the model's order holds */
    cr_assert_str_eq(param_of(made, "monotone"), "1-2:+,4:-");
}

/* Trees of a training that went on from another have the rate and the objective of their own. */
Test(refit, two_trainings)
{
    struct rw_model *first;
    set("rate", "0.2");
    set("l2", "5");
    train_model();
    first = model;
    set("objective", "regression");
    set("rate", "0.07");
    set("rounds", "4");
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.train = train, .init = first}, &model),
                 RW_OK);
    rw_model_free(first);
    cr_assert_eq(model->n_earlier, 1);
    refit_with("0");
    refit_on(train);
    cr_assert(same_trees(model, made));
    cr_assert_eq(made->n_earlier, 1);
    cr_assert_eq(made->earlier[0].n_trees, 8);
    cr_assert_str_eq(rw_model_params_find(&made->earlier[0].params, "rate")->value, "0.2");
    cr_assert_str_eq(param_of(made, "rate"), "0.07");
}

/* ---- a plain computation ---- */

static float value_of(const struct rw_dataset *data, uint32_t feature, uint32_t doc)
{
    const struct rw_column *column = rw_dataset_column(data, feature);
    return column ? column->value[doc] : 0.0f; /* the fixture's are dense */
}

static int leaf_of(const struct rw_tree *tree, const struct rw_dataset *data, uint32_t doc)
{
    int node = 0;
    while (node >= 0) {
        const float value = value_of(data, tree->feature[node], doc);
        const int left = isnan(value) ? tree->missing_left[node] : value <= tree->cut[node];
        node = left ? tree->left[node] : tree->right[node];
    }
    return ~node;
}

/* Squared error's gradients in their own fixed point: 2^-exponent with the largest in [2^60, 2^61).
 */
static int exponent_of(const double *numbers, uint32_t n)
{
    double largest = 0.0;
    int exponent;
    for (uint32_t i = 0; i < n; i++)
        largest = fabs(numbers[i]) > largest ? fabs(numbers[i]) : largest;
    frexp(largest, &exponent);
    return 61 - exponent;
}

static double total(const double *numbers, const int *leaf, int wanted, uint32_t n, int exponent)
{
    int128 sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (wanted < 0 || leaf[i] == wanted)
            sum += llrint(ldexp(numbers[i], exponent));
    }
    const int64_t high = (int64_t)(sum >> 32), low = (int64_t)(sum & 0xffffffff);
    return ldexp((double)high * 4294967296.0 + (double)low, -exponent);
}

Test(refit, squared_error_by_hand)
{
    const double rate = 0.15, l2 = 3.0, decay = 0.25;
    const uint32_t n = other->n_docs;
    double *score = calloc(n, sizeof(*score)), *lambda = malloc(n * 8), *hess = malloc(n * 8);
    int *leaf = malloc(n * sizeof(*leaf)), n_kept = 0;
    give_weights(other);
    set("objective", "regression");
    set("absent", "missing");
    set("rate", "0.15");
    train_model();
    refit_with("0.25");
    set("l2", "3");
    refit_on(other);
    cr_assert_str_eq(param_of(made, "l2"), "3");
    cr_assert_str_eq(param_of(made, "rate"), "0.15");
    memcpy(score, other->start_score, n * sizeof(*score));
    for (int t = 0; t < model->n_trees; t++) {
        const struct rw_tree *old = &model->tree[t], *new = &made->tree[t];
        for (uint32_t i = 0; i < n; i++) {
            leaf[i] = leaf_of(old, other, i);
            lambda[i] = ((double)other->label[i] - score[i]) * other->weight[i];
            hess[i] = other->weight[i];
        }
        const int of_lambda = exponent_of(lambda, n), of_hess = exponent_of(hess, n);
        const double mean = total(hess, leaf, -1, n, of_hess) / n;
        for (int k = 0; k < old->n_leaves; k++) {
            uint32_t docs = 0;
            for (uint32_t i = 0; i < n; i++)
                docs += leaf[i] == k;
            const double under = total(hess, leaf, k, n, of_hess) + l2 * mean;
            const float now = (float)(rate * total(lambda, leaf, k, n, of_lambda) / under);
            const float expected =
                docs ? (float)(decay * old->leaf[k] + (1.0 - decay) * now) : old->leaf[k];
            n_kept += docs == 0;
            cr_assert_eq(new->leaf[k], expected, "tree %d, leaf %d of %u documents: %.9g, not %.9g",
                         t, k, docs, (double)new->leaf[k], (double)expected);
        }
        for (uint32_t i = 0; i < n; i++)
            score[i] += (double)new->leaf[leaf[i]];
    }
    cr_log_info("%d leaves without documents", n_kept);
    free(score);
    free(lambda);
    free(hess);
    free(leaf);
}

/* A leaf that no document reaches keeps its value; the trees stay as they are. */
Test(refit, empty_leaf)
{
    float values[] = {-1e6f, -1e6f, -1e6f, -1e6f, -1e6f, -1e6f,
                      -2e6f, 1.0f,  1.0f,  1.0f,  1.0f,  1.0f};
    const float labels[] = {0, 1};
    const uint32_t offsets[] = {0, 2};
    struct rw_dataset *pair;
    int n_kept = 0, n_changed = 0;
    train_model();
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 2, 6, 1, 1, &pair),
                 RW_OK);
    refit_with("0");
    refit_on(pair);
    for (int t = 0; t < model->n_trees; t++) {
        const struct rw_tree *old = &model->tree[t], *new = &made->tree[t];
        const int a = leaf_of(old, pair, 0), b = leaf_of(old, pair, 1);
        for (int k = 0; k < old->n_leaves; k++) {
            if (k != a && k != b) {
                cr_assert_eq(old->leaf[k], new->leaf[k]);
                n_kept++;
            } else {
                n_changed += old->leaf[k] != new->leaf[k];
            }
        }
        cr_assert_arr_eq(old->cut, new->cut, (size_t)(old->n_leaves - 1) * sizeof(*old->cut));
    }
    cr_assert(n_kept > 0 && n_changed > 0);
    rw_dataset_free(pair);
}

Test(refit, nothing_changes_with_decay_1)
{
    train_model();
    refit_with("1");
    refit_on(other);
    cr_assert(same_trees(model, made));
    rw_model_free(made);
    refit_with("auto");
    refit_on(other);
    cr_assert(!same_trees(model, made));
    cr_assert_str_eq(param_of(made, "refit-decay"), "0.9");
}

/* A file of gains is in the model by its numbers. */
Test(refit, gains_of_a_table)
{
    scratch_text("gains", "0\n0.5\n4\n5\n");
    set("label-gain", "gains");
    train_model();
    cr_assert_eq(unlink("gains"), 0);
    refit_with("0");
    refit_on(train);
    cr_assert(same_trees(model, made));
    cr_assert_str_eq(param_of(made, "label-gain"), "table 0 0.5 4 5");
}

static int towards_labels(void *user, const struct rw_dataset *data, const double *scores,
                          double *gradients, double *hessians)
{
    (void)user;
    for (uint32_t i = 0; i < data->n_docs; i++) {
        gradients[i] = (double)data->label[i] - scores[i];
        hessians[i] = 1.0;
    }
    return 0;
}

/* A user objective is called custom, and all other parameters are unchanged. */
Test(refit, custom_objective)
{
    const struct rw_train_hooks hooks = {.gradients = towards_labels};
    set("rounds", "5");
    set("l2", "3");
    cr_assert_eq(rw_train(scratch_ctx, params, train, NULL, 0, &hooks, &model), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    refit_with("0");
    cr_assert_eq(rw_refit(scratch_ctx, params, model, train, NULL, 0, &hooks, &made), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert(same_trees(model, made));
    cr_assert_eq(model->params.n + 1, made->params.n); /* refit-decay */
    for (int32_t i = 0; i < model->params.n; i++) {
        const char *name = model->params.param[i].name;
        cr_assert_str_eq(param_of(made, name), param_of(model, name), "%s", name);
    }
}

/* ---- refusals ---- */

#define ASSERT_REFUSED(data, status, text)                    \
    do {                                                      \
        cr_assert_eq(refit(data), (status));                  \
        cr_assert_str_eq(rw_last_error(scratch_ctx), (text)); \
        cr_assert_null(made);                                 \
    } while (0)

Test(refit, no_effect)
{
    static const char *const idle[][3] = {
        {"leaves", "31", "in a refit, which keeps the model's trees"},
        {"monotone", "3:+", "in a refit, which keeps the model's trees"},
        {"seed", "3", "where nothing is drawn at random"},
        {"permutations", "3", "with objective lambdarank"},
        {"early-stop", "5", "in a refit, which keeps the model's trees"},
        {"metric", "map", "without a validation set or train-metric on"},
    };
    train_model();
    refit_with("0.5");
    cr_assert_eq(refit(train), RW_OK);
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        char text[128];
        struct rw_model *plain = made;
        made = NULL;
        refit_with("0.5");
        set(idle[i][0], idle[i][1]);
        cr_assert_eq(refit(train), RW_OK, "%s", rw_last_error(scratch_ctx));
        cr_expect(same_trees(plain, made));
        for (int32_t k = 0; k < plain->params.n; k++) {
            const char *name = plain->params.param[k].name;
            cr_expect_str_eq(param_of(made, name), param_of(plain, name), "%s", name);
        }
        rw_model_free(made);
        made = NULL;
        rw_params_on_no_effect(params, RW_NO_EFFECT_ERROR);
        snprintf(text, sizeof(text), "'%s' has no effect %s", idle[i][0], idle[i][2]);
        ASSERT_REFUSED(train, RW_ERR_ARGUMENT, text);
        made = plain;
    }
    rw_model_free(made);
    made = NULL;
    refit_with("0.5");
    set("absent", "missing");
    ASSERT_REFUSED(train, RW_ERR_ARGUMENT,
                   "the model to refit reads an absent feature as 0: set 'absent' to zero");
    refit_with("0.5");
    rw_params_on_no_effect(params, RW_NO_EFFECT_ERROR);
    cr_assert_eq(rw_train(scratch_ctx, params, train, NULL, 0, NULL, &made), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "'refit-decay' has no effect without a model to refit");
    cr_assert_eq(rw_params_set(scratch_ctx, params, "refit-decay", "1.5"), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "refit-decay", "-0.1"), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "refit-decay", "nan"), RW_ERR_ARGUMENT);
}

Test(refit, other_features)
{
    const float values[] = {1, 2};
    const float labels[] = {0, 1};
    const uint32_t offsets[] = {0, 2};
    struct rw_dataset *strange;
    train_model();
    cr_assert_eq(
        rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 2, 1, 1, 90, &strange), RW_OK);
    refit_with("0.5");
    cr_assert_eq(refit(strange), RW_ERR_DATA);
    cr_assert_not_null(strstr(rw_last_error(scratch_ctx), "the data lacks all "));
    rw_dataset_free(strange);
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 2, 1, 1, 1, &strange),
                 RW_OK);
    refit_on(strange); /* absent in every document, but too few documents for a warning */
    cr_assert_null(strstr(scratch_log, "no document has"));
    rw_dataset_free(strange);
}

static int stop_after_3(void *user, const struct rw_round *round)
{
    (void)user;
    return round->round == 3;
}

Test(refit, ended)
{
    const struct rw_train_hooks hooks = {.on_round = stop_after_3};
    train_model();
    refit_with("0.5");
    cr_assert_eq(rw_refit(scratch_ctx, params, model, train, NULL, 0, &hooks, &made),
                 RW_ERR_INTERRUPTED);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "the refit was interrupted after 3 of 8 trees; it makes no model");
    cr_assert_null(made);
}

/* Metrics by round are those of the trees so far; none is dropped. */
Test(refit, measured)
{
    const struct rw_dataset *sets[] = {other};
    train_model();
    refit_with("0.5");
    set("metric", "ndcg@5,rmse");
    set("train-metric", "on");
    cr_assert_eq(rw_refit(scratch_ctx, params, model, train, sets, 1, NULL, &made), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert(made->n_trees == 8 && made->n_rounds_run == 8 && made->n_metrics == 4);
    cr_assert_eq(made->best_round, 0);
    double *scores = malloc((other->n_docs + train->n_docs) * sizeof(*scores));
    for (int t = 0; t < 8; t++) {
        struct rw_eval *eval;
        const struct rw_dataset *of[] = {other, train};
        for (int s = 0; s < 2; s++) {
            cr_assert_eq(rw_predict(scratch_ctx, made, of[s], t + 1, scores), RW_OK);
            cr_assert_eq(rw_evaluate(scratch_ctx, rw_params_eval(params), of[s], scores, &eval),
                         RW_OK);
            for (int m = 0; m < 2; m++)
                cr_assert_eq(made->metric_value[t * 4 + s * 2 + m], eval->metrics[m].mean);
            rw_free(eval);
        }
    }
    free(scores);
}
