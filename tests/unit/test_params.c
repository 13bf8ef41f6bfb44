/* Parameters: the table, defaults, values as text, and which do not go together. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "params/params.h"

static struct rw_ctx *ctx;
static struct rw_params *params;

static void begin(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
}

static void end(void)
{
    rw_params_free(params);
    rw_ctx_free(ctx);
}

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

TestSuite(params, .init = begin, .fini = end);

Test(params, table_is_whole)
{
    int n = 0;
    for (const struct rw_param_info *info; (info = rw_param_info(n)) != NULL; n++) {
        cr_expect(info->name && *info->name && info->help && *info->help);
        cr_expect(info->argument && *info->argument && info->range && info->default_value);
        cr_expect_eq(rw_param_find(info->name), n, "'%s' stands twice", info->name);
        /* as written: values are compared with it */
        cr_expect_str_eq(rw_params_get(params, info->name), info->default_value);
    }
    cr_expect_eq(n, RW_N_PARAMS);
    cr_expect_null(rw_param_info(-1));
    cr_expect_null(rw_param_info(n));
}

Test(params, defaults_read_back_as_the_table_has_them)
{
    for (int i = 0; i < RW_N_PARAMS; i++) {
        const struct rw_param_info *info = rw_param_info(i);
        cr_expect_eq(rw_params_origin(params, info->name), RW_PARAM_DEFAULT);
        const char *value = rw_params_get(params, info->name);
        cr_assert_not_null(value);
        char copy[512];
        snprintf(copy, sizeof(copy), "%s", value);
        set(info->name, copy);
        cr_expect_str_eq(rw_params_get(params, info->name), copy);
        cr_expect_neq(rw_params_origin(params, info->name), RW_PARAM_DEFAULT);
    }
    cr_expect_null(rw_params_get(params, "nothing"));
    cr_expect_eq(rw_params_origin(params, "nothing"), RW_PARAM_DEFAULT);
}

Test(params, roles)
{
    for (int i = 0; i < RW_N_PARAMS; i++) {
        const struct rw_param_info *info = rw_param_info(i);
        cr_expect(info->roles > 0 && info->roles < 2 * RW_ROLE_MACHINE, "%s", info->name);
        /* what shapes trees or leaf values is in the model file, unless it is about the data */
        if (info->roles & RW_ROLE_LEAVES)
            cr_expect_neq(info->model, 0, "%s", info->name);
        if (info->roles & RW_ROLE_MACHINE)
            cr_expect_eq(info->model, 0, "%s", info->name);
        if (info->roles == RW_ROLE_TREES && strcmp(info->name, "features") != 0)
            cr_expect_neq(info->model, 0, "%s", info->name);
    }
}

Test(params, values_reach_their_fields)
{
    set("leaves", "63");
    set("rate", "0.05");
    set("grow", "levels");
    set("norm", "off");
    set("seed", "18446744073709551615");
    set("label-gain", "gains.txt");
    cr_expect_eq(params->leaves, 63);
    cr_expect_eq(params->rate, 0.05);
    cr_expect_eq(params->grow, RW_GROW_LEVELS);
    cr_expect_eq(params->norm, 0);
    cr_expect_eq(params->seed, UINT64_MAX);
    cr_expect_str_eq(params->label_gain, "gains.txt");
    cr_expect_str_eq(rw_params_get(params, "rate"), "0.05");
    cr_expect_str_eq(rw_params_get(params, "seed"), "18446744073709551615");
    cr_expect_str_eq(rw_params_get(params, "grow"), "levels");
}

/* Against the C library's powers, which are as exact as need be. */
/* What becomes of `auto`. */
static struct rw_params chosen(uint32_t n_docs, uint32_t n_features)
{
    struct rw_params copy = *params; /* texts are borrowed */
    rw_params_choose(&copy, n_docs, n_features);
    return copy;
}

Test(params, rate_schedules)
{
    set("rate", "0.40:2.5e-2:6");
    cr_expect_str_eq(rw_params_get(params, "rate"), "0.4:0.025:6");
    cr_expect_eq(rw_params_rate_of_round(params, 0), 0.4);
    for (uint32_t round = 1; round < 6; round++) {
        const double expected = 0.4 * pow(0.025 / 0.4, round / 6.0);
        cr_expect_float_eq(rw_params_rate_of_round(params, round), expected, 1e-14 * expected);
    }
    for (uint32_t round = 6; round < 9; round++)
        cr_expect_eq(rw_params_rate_of_round(params, round), 0.025);
    cr_expect_eq(rw_params_rate_of_round(params, 1999999), 0.025);
    set("rate", "1e-06:1:1000000"); /* it may rise */
    cr_expect_eq(rw_params_rate_of_round(params, 0), 1e-6);
    cr_expect_float_eq(rw_params_rate_of_round(params, 500000), 1e-3, 1e-16);
    set("rate", "0.1234567890123456:0.0009876543210987653:1000000");
    cr_expect_str_eq(rw_params_get(params, "rate"),
                     "0.1234567890123456:0.0009876543210987653:1000000");
    cr_expect_eq(rw_params_origin(params, "rate"), RW_PARAM_CHANGED);
    set("rate", "0.3:0.3:5");
    for (uint32_t round = 0; round < 7; round++)
        cr_expect_eq(rw_params_rate_of_round(params, round), 0.3);
    /* A refused value changes nothing; a plain rate ends a schedule. */
    cr_expect_lt(rw_params_set(NULL, params, "rate", "0.1:0.2"), 0);
    cr_expect_lt(rw_params_set(NULL, params, "rate", "2"), 0);
    cr_expect_str_eq(rw_params_get(params, "rate"), "0.3:0.3:5");
    set("rate", "0.2");
    cr_expect_str_eq(rw_params_get(params, "rate"), "0.2");
    cr_expect_eq(rw_params_rate_of_round(params, 3), 0.2);
    set("rate", "0.3:0.1:5");
    set("rate", "auto");
    cr_expect_str_eq(rw_params_get(params, "rate"), "auto");
    /* Defaults that depend on the rate use the last one. */
    set("rate", "0.3:0.05:5");
    cr_expect_eq(chosen(20000, 200).sample_features, 0.25);
    set("rate", "0.05:0.3:5");
    cr_expect_eq(chosen(20000, 200).sample_features, 0.5);
}

Test(params, words_match_the_enums)
{
    static const struct {
        const char *name, *word;
        int value;
    } words[] = {
        {"objective", "lambdarank", 0},
        {"objective", "regression", 1},
        {"objective", "yetirank", 2},
        {"objective", "queryrmse", 3},
        {"objective", "listnet", 4},
        {"objective", "xendcg", 5},
        {"objective", "logistic", 6},
        {"grow", "leaves", RW_GROW_LEAVES},
        {"split", "auto", RW_SPLIT_AUTO},
        {"split", "mart", RW_SPLIT_MART},
        {"split", "newton", RW_SPLIT_NEWTON},
        {"rounding", "stochastic", RW_ROUND_STOCHASTIC},
        {"rounding", "nearest", RW_ROUND_NEAREST},
        {"empty", "0", RW_EMPTY_ZERO},
        {"empty", "1", RW_EMPTY_ONE},
        {"empty", "skip", RW_EMPTY_SKIP},
        {"ties", "file", RW_TIES_FILE},
        {"ties", "mean", RW_TIES_MEAN},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        cr_expect_eq(
            rw_param_word(rw_param_info(rw_param_find(words[i].name))->range, words[i].word),
            words[i].value, "%s", words[i].word);
    cr_expect_eq(rw_param_word("a|bc", "b"), -1);
    cr_expect_eq(rw_param_word("a|bc", ""), -1);
}

Test(params, by_the_size_of_the_training_set)
{
    cr_expect_eq(rw_params_leaves(params, 1), 8);
    cr_expect_eq(rw_params_leaves(params, 36000), 30);
    cr_expect_eq(rw_params_leaves(params, 1000000), 255);
    cr_expect_eq(chosen(10799, 100).split, RW_SPLIT_MART);
    cr_expect_eq(chosen(10800, 100).split, RW_SPLIT_NEWTON);
    set("objective", "yetirank");
    cr_expect_eq(chosen(10800, 100).split, RW_SPLIT_NEWTON);
    set("objective", "regression");
    cr_expect_eq(chosen(10800, 100).split, RW_SPLIT_MART);
    cr_expect_eq(chosen(10800, 32).sample_features, 1.0);
    cr_expect_eq(chosen(10799, 32).sample_features, 1.0);
    set("objective", "lambdarank");
    cr_expect_eq(chosen(10799, 31).sample_features, 0.5);
    cr_expect_eq(chosen(1, 1).sample_features, 0.5);
    cr_expect_eq(chosen(10800, 31).sample_features, 1.0);
    cr_expect_eq(chosen(10800, 32).sample_features, 0.5);
    cr_expect_eq(chosen(10800, 99).sample_features, 0.5);
    cr_expect_eq(chosen(10800, 100).sample_features, 0.25);
    cr_expect_eq(chosen(10799, 100).gain_noise, 4.0);
    cr_expect_eq(chosen(10800, 100).gain_noise, 0.0);
    cr_expect_eq(chosen(10799, 100).rate, 0.1);
    cr_expect_eq(chosen(10800, 100).rate, 0.05);
    set("objective", "regression");
    cr_expect_eq(chosen(10799, 100).gain_noise, 0.0);
    cr_expect_eq(chosen(10800, 100).rate, 0.1);
    set("objective", "lambdarank");
    cr_expect_eq(chosen(10800, 99).rate, 0.1);
    set("rate", "0.1");
    cr_expect_eq(chosen(10800, 100).rate, 0.1);
    cr_expect_eq(chosen(1000000, 500).sample_features, 0.5);
    set("rate", "0.02");
    cr_expect_eq(chosen(1000000, 500).sample_features, 0.25);
    cr_expect_eq(chosen(10799, 100).sample_features, 0.5);
    set("sample-features", "0.7");
    cr_expect_eq(chosen(1, 1).sample_features, 0.7);
    set("gain-noise", "1.5");
    cr_expect_eq(chosen(10799, 100).gain_noise, 1.5);
    cr_expect_eq(chosen(10800, 100).gain_noise, 1.5);
    set("gain-noise", "0");
    cr_expect_eq(chosen(10799, 100).gain_noise, 0.0);
    set("split", "newton");
    set("leaves", "31");
    cr_expect_eq(chosen(1, 100).split, RW_SPLIT_NEWTON);
    cr_expect_eq(rw_params_leaves(params, 1), 31);
    set("split", "mart");
    cr_expect_eq(chosen(1000000, 100).split, RW_SPLIT_MART);
}

Test(params, rule_of_the_objective)
{
    struct rw_objective_rule rule;
    set("truncation", "7");
    set("sigma", "2.5");
    set("seed", "12345678901234567890");
    rw_params_objective_rule(params, &rule);
    cr_expect_eq(rule.pair.truncation, 7);
    cr_expect_eq(rule.pair.sigma, 2.5f);
    cr_expect_eq(rule.pair.norm, 1);
    cr_expect_eq(rule.seed, 12345678901234567890u);
    set("truncation", "none");
    cr_expect_str_eq(rw_params_get(params, "truncation"), "none");
    set("norm", "off");
    rw_params_objective_rule(params, &rule);
    cr_expect_eq(rule.pair.truncation, 0);
    cr_expect_eq(rule.pair.norm, 0);
    set("objective", "yetirank"); /* which has no norm */
    set("norm", "on");
    set("decay", "0.25");
    rw_params_objective_rule(params, &rule);
    cr_expect_eq(rule.pair.norm, 0);
    cr_expect_eq(rule.value[rw_objective_param(&rw_objective_yetirank, "permutations")], 10.0);
    cr_expect_eq(rule.value[rw_objective_param(&rw_objective_yetirank, "decay")], 0.25);
    set("objective", "regression"); /* which has no sigma */
    rw_params_objective_rule(params, &rule);
    cr_expect_eq(rule.pair.sigma, 1.0f);
}

/* Trainings named lambdarank use the engines' objective, or another objective with its
 * parameters. */
Test(params, variants_of_lambdarank)
{
    struct rw_objective_rule rule;
    cr_expect_eq(rw_params_objective(params), &rw_objective_lambdarank);
    set("pairs", "all");
    const struct rw_objective *objective = rw_params_objective(params);
    rw_params_objective_rule(params, &rule);
    cr_expect_eq(objective->device, RW_OBJECTIVE_PAIRS);
    cr_expect_eq(rule.pair.truncation, 0);
    set("delta", "map");
    set("pairs", "topk");
    set("relevant", "3");
    objective = rw_params_objective(params);
    rw_params_objective_rule(params, &rule);
    cr_expect_eq(objective->device, RW_OBJECTIVE_DELTAS);
    cr_expect_eq(objective->draws, 0);
    cr_expect_eq(rule.pair.truncation, 30);
    cr_expect_eq(rule.value[rw_objective_param(objective, "relevant")], 3.0);
    cr_expect(rw_params_trains_on_relevance(params));
    set("delta", "p@12");
    set("pairs", "mean:4");
    objective = rw_params_objective(params);
    rw_params_objective_rule(params, &rule);
    cr_expect_eq(objective->draws, 1);
    cr_expect_eq(rule.pair.truncation, 0);
    cr_expect_eq(rule.value[rw_objective_param(objective, "pairs")], 4.0);
    set("delta", "ndcg");
    cr_expect_not(rw_params_trains_on_relevance(params));
    set("pairs", "topk");
    cr_expect_eq(rw_params_objective(params), &rw_objective_lambdarank);
}

/* One word for all that is chosen, in and out, from the command line and from a file; where a 0 is
 * no value of its own, the hint says the word. */
Test(params, auto_is_the_chosen_value)
{
    static const struct {
        const char *name, *number;
        int zero_is_one;  /* 0 is a number there */
        int zero_is_auto; /* a hint says that 0 is auto here */
    } items[] = {{"rounds", "7", 0, 0}, {"rate", "0.5", 0, 0},          {"leaves", "7", 0, 1},
                 {"depth", "7", 1, 0},  {"sample-features", "1", 0, 0}, {"threads", "2", 0, 1},
                 {"batch", "2", 0, 1},  {"gain-noise", "2.5", 1, 0}};
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
        const char *name = items[i].name;
        cr_expect_str_eq(rw_param_info(rw_param_find(name))->default_value, "auto");
        cr_expect_str_eq(rw_params_get(params, name), "auto");
        set(name, items[i].number);
        cr_expect_str_eq(rw_params_get(params, name), items[i].number);
        cr_expect_eq(rw_params_set(ctx, params, name, "0"),
                     items[i].zero_is_one ? RW_OK : RW_ERR_ARGUMENT, "%s", name);
        if (!items[i].zero_is_one)
            cr_expect_eq(strstr(rw_last_error(ctx), "'0' is 'auto'") != NULL, items[i].zero_is_auto,
                         "%s", rw_last_error(ctx));
        cr_expect_str_eq(rw_params_get(params, name), items[i].zero_is_one ? "0" : items[i].number);
        set(name, "auto");
        cr_expect_str_eq(rw_params_get(params, name), "auto");
        cr_expect_neq(rw_params_origin(params, name), RW_PARAM_CHANGED, "%s", name);
    }
}

Test(params, metrics)
{
    struct rw_metric metrics[RW_MAX_METRICS];
    int n;
    set("metric", "ndcg@5,map,rbp:0.8");
    cr_assert_eq(rw_metrics_parse(ctx, params->metric, params->relevant, metrics, &n), RW_OK);
    cr_expect_eq(n, 3);
    cr_expect_str_eq(metrics[0].name, "ndcg@5");
    cr_expect_eq(metrics[0].at, 5);
    cr_expect_str_eq(metrics[2].name, "rbp:0.8");
    static const char *const bad[] = {"",
                                      "ndcg@5,",
                                      "ndcg@5,ndcg@5",
                                      "nodcg",
                                      ",map",
                                      "p@1,p@2,p@3,p@4,p@5,p@6,p@7,p@8,p@9,p@10,p@11,p@12,p@13,"
                                      "p@14,p@15,p@16,p@17"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(rw_params_set(ctx, params, "metric", bad[i]), RW_ERR_ARGUMENT, "'%s'", bad[i]);
        cr_expect_str_eq(params->metric, "ndcg@5,map,rbp:0.8");
    }
}

/* The defaults of the struct are those of the table; a gain that was not set is left open. */
Test(params, parameters_of_metrics)
{
    const struct rw_eval_params usual = RW_EVAL_DEFAULTS, *how = rw_params_eval(params);
    cr_expect_str_eq(how->metric, usual.metric);
    cr_expect(how->empty == usual.empty && how->ties == usual.ties && !how->label_gain);
    cr_expect(how->relevant == usual.relevant && how->seed == usual.seed);
    set("metric", "map,ndcg@3");
    set("empty", "1");
    set("ties", "mean");
    set("label-gain", "exp");
    set("relevant", "0");
    set("seed", "9");
    how = rw_params_eval(params);
    cr_expect_str_eq(how->metric, "map,ndcg@3");
    cr_expect(how->empty == RW_EMPTY_ONE && how->ties == RW_TIES_MEAN && how->relevant == 0);
    cr_expect_str_eq(how->label_gain, "exp");
    cr_expect_eq(how->seed, 9);
}

/* Where nothing is trained, the objective (whose default uses gains) says nothing. */
Test(params, measuring_alone)
{
    set("metric", "map");
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_MEASURE), RW_OK);
    set("label-gain", "linear");
    rw_params_on_no_effect(params, RW_NO_EFFECT_ERROR);
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN), RW_OK);
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_MEASURE), RW_ERR_ARGUMENT);
    cr_expect_str_eq(rw_last_error(ctx), "'label-gain' has no effect without an objective "
                                         "or metric that uses gains");
    set("metric", "ndcg");
    set("sigma", "2"); /* of training */
    set("objective", "regression");
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_MEASURE), RW_OK);
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN), RW_ERR_ARGUMENT);
    set("relevant", "2");
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_MEASURE), RW_ERR_ARGUMENT);
}

static void read_text(const char *text)
{
    char path[] = "/tmp/rw-params-XXXXXX";
    const int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    const int status = rw_params_read(ctx, params, path);
    unlink(path);
    cr_assert_eq(status, RW_OK, "%s", rw_last_error(ctx));
}

static void set_all(const char *settings)
{
    char copy[256], *rest = copy, *pair;
    snprintf(copy, sizeof(copy), "%s", settings);
    while ((pair = strsep(&rest, " ")) != NULL) {
        char *equals = strchr(pair, '=');
        *equals = 0;
        set(pair, equals + 1);
    }
}

/* A training by the host, with a validation set. */
static const struct rw_facts training = {.grows = 1, .trains = 1, .n_valid = 1};

/* settings: "name=value name=value". idle: the one without effect; NULL: all have an effect. */
static void check(const char *settings, const char *idle)
{
    end();
    begin();
    set_all(settings);
    rw_params_on_no_effect(params, RW_NO_EFFECT_ERROR);
    const int status = rw_params_judge(ctx, params, &training);
    if (!idle) {
        cr_expect_eq(status, RW_OK, "%s: %s", settings, rw_last_error(ctx));
        return;
    }
    char expected[64];
    snprintf(expected, sizeof(expected), "'%s' has no effect ", idle);
    cr_expect_eq(status, RW_ERR_ARGUMENT, "%s", settings);
    cr_expect_eq(strncmp(rw_last_error(ctx), expected, strlen(expected)), 0, "%s: %s", settings,
                 rw_last_error(ctx));
}

/* Parameters that cannot be used together. */
static void contradict(const char *settings)
{
    end();
    begin();
    set_all(settings);
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN), RW_ERR_ARGUMENT, "%s", settings);
}

Test(params, parameters_that_may_have_no_effect)
{
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN), RW_OK);
    check("min-hessian=1", NULL); /* auto may be newton */
    check("min-hessian=1 split=mart", "min-hessian");
    check("min-hessian=1 split=newton", NULL);
    check("leaves=8 grow=levels", "leaves");
    check("depth=4 grow=levels", NULL);
    check("depth=0", NULL);
    check("depth=4", NULL);
    check("truncation=5 objective=regression", "truncation");
    check("sigma=2 objective=regression", "sigma");
    check("label-gain=linear objective=regression metric=rmse", "label-gain");
    check("label-gain=linear objective=regression metric=map", "label-gain");
    check("label-gain=linear objective=regression metric=ndcg", NULL);
    check("label-gain=linear metric=rmse", NULL);
    check("relevant=2", "relevant");
    check("relevant=2 metric=ndcg,map", NULL);
    check("relevant=2 objective=logistic", NULL);
    check("relevant=2 objective=queryrmse", "relevant");
    check("truncation=5 objective=listnet", "truncation");
    check("label-gain=linear objective=listnet metric=rmse", NULL);
    check("label-gain=linear objective=queryrmse metric=rmse", "label-gain");
    check("seed=3 rounding=nearest sample-features=1 objective=xendcg gain-noise=0", NULL);
    check("seed=3 rounding=nearest sample-features=1 objective=listnet gain-noise=0", "seed");
    check("empty=1 metric=rmse", "empty");
    check("ties=mean metric=rmse", "ties");
    check("ties=mean empty=0 metric=rmse,mrr", NULL);
    check("seed=3 rounding=nearest sample-features=1 gain-noise=0", "seed");
    check("seed=3 rounding=nearest sample-features=1 gain-noise=0.5", NULL);
    check("seed=3 rounding=nearest sample-features=1", NULL); /* auto may be noise */
    check("seed=3 rounding=nearest sample-features=1 objective=regression", "seed");
    check("seed=3 rounding=nearest sample-features=0.5 gain-noise=0", NULL);
    check("seed=3 rounding=nearest sample-queries=0.5 gain-noise=0", NULL);
    check("rounding=nearest", NULL);
    check("hist=lanes device=cpu", "hist");
    check("gpu-memory=8G", "gpu-memory");
    check("permutations=5", "permutations");
    check("decay=0.5", "decay");
    check("pairs=all truncation=5", "truncation");
    check("objective=yetirank truncation=5 pairs=all", "pairs");
    check("objective=listnet pairs-file=x", "pairs-file");
    check("debias=ipw delta=map positions=x", "delta");
    check("debias=ipw position-l2=2 positions=x", "position-l2");
    check("debias=ipw position-norm=2 propensities=x", "position-norm");
    check("objective=yetirank delta=map decay=0.5", "decay");
    check("early-stop=0 early-stop-delta=0.1", "early-stop-delta");
    check("early-stop-delta=0.1", NULL);
    check("refit-decay=0.5", "refit-decay");
    check("category-smoothing=2", "category-smoothing");
    check("category-smoothing=2 categorical=3", NULL);
    check("labels=x", "labels");
    check("label-column=x", "label-column");
    check("leaves=64 depth=6 grow=levels", "leaves");
    check("norm=off objective=regression", "norm");
}

Test(params, defaults_are_not_reported)
{
    check("min-hessian=0", NULL);
    check("leaves=auto grow=levels", NULL);
    check("truncation=30 objective=regression", NULL);
    check("sigma=1.0 objective=regression", NULL);
    check("permutations=10 decay=0.85", NULL);
    check("label-gain=exp objective=regression metric=rmse", NULL);
    check("relevant=1", NULL);
    check("empty=skip ties=file metric=rmse", NULL);
    check("seed=1 rounding=nearest sample-features=1 gain-noise=0", NULL);
    check("hist=auto device=cpu", NULL);
}

Test(params, parameters_of_a_file_may_have_no_effect)
{
    rw_params_on_no_effect(params, RW_NO_EFFECT_ERROR);
    cr_expect_eq(rw_params_origin(params, "sigma"), RW_PARAM_DEFAULT);
    cr_expect_eq(rw_params_origin(params, "nothing"), RW_PARAM_DEFAULT);
    read_text("sigma = 2\nobjective = regression\nties = mean\nmetric = rmse\nhist = lanes\n"
              "leaves = 7\ngrow = levels\ndepth = 0\n");
    cr_expect_eq(rw_params_judge(ctx, params, &training), RW_OK, "%s", rw_last_error(ctx));
    cr_expect_eq(rw_params_origin(params, "sigma"), RW_PARAM_READ);
    set("sigma", "1"); /* the default */
    cr_expect_eq(rw_params_origin(params, "sigma"), RW_PARAM_SET);
    set("sigma", "2"); /* now it is meant */
    cr_expect_eq(rw_params_origin(params, "sigma"), RW_PARAM_CHANGED);
    cr_expect_eq(rw_params_judge(ctx, params, &training), RW_ERR_ARGUMENT);
    cr_expect_str_eq(rw_last_error(ctx), "'sigma' has no effect with objective regression");
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN),
                 RW_ERR_ARGUMENT); /* known before data is read */
    rw_params_on_no_effect(params, RW_NO_EFFECT_WARN);
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN), RW_OK, "%s", rw_last_error(ctx));
    set("depth", "0"); /* asks for no limit, which is not so */
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN), RW_ERR_ARGUMENT);
    read_text("metric = map\nmetric = mrr\n");
    cr_expect_eq(rw_params_origin(params, "metric"), RW_PARAM_READ);
}

Test(params, contradictions)
{
    contradict("depth=0 grow=levels");
    contradict("objective=yetirank delta=p@31");
    contradict("objective=yetirank delta=p@6 truncation=5");
    contradict("label-weights=1,2 pairs=given");
    contradict("label-weights=1,2 debias=ipw");
    contradict("label-columns=a,b label-column=a");
    contradict("label-columns=a,b labels=x");
    contradict("label-columns=a,b");
}

Test(params, early_stopping_needs_a_validation_set)
{
    set("early-stop", "5");
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN), RW_OK);
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN_ALONE), RW_ERR_ARGUMENT);
    set("early-stop", "0");
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN_ALONE), RW_OK);
    set("early-stop", "100");
    cr_expect_eq(rw_params_check(ctx, params, RW_PARAMS_TRAIN_ALONE), RW_OK);
}

/* ---- warnings ---- */

static char warned[512];

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    const size_t n = strlen(warned);
    if (level == RW_LOG_WARNING && rw_log_parameter(ctx))
        snprintf(warned + n, sizeof(warned) - n, "%s: %s\n", rw_log_parameter(ctx), line);
}

static void judge(const char *expected)
{
    warned[0] = 0;
    cr_expect_eq(rw_params_judge(ctx, params, &training), RW_OK, "%s", rw_last_error(ctx));
    cr_expect_str_eq(warned, expected);
    cr_expect_null(rw_log_parameter(ctx));
}

Test(params, one_warning_per_parameter_and_process)
{
    set_all("pairs=all truncation=5 sigma=2");
    rw_params_on_no_effect(params, RW_NO_EFFECT_SILENT);
    rw_ctx_set_log(ctx, on_log, NULL);
    judge("");
    rw_params_on_no_effect(params, RW_NO_EFFECT_WARN);
    rw_ctx_set_log(ctx, NULL, NULL); /* a warning that nothing shows is given later */
    judge("");
    rw_ctx_set_log(ctx, on_log, NULL);
    judge("truncation: 'truncation' has no effect with pairs all\n");
    judge("");
    set("truncation", "6");
    judge("");
    set("min-hessian", "6");
    judge("");
    set("split", "mart");
    judge("min-hessian: 'min-hessian' has no effect with split mart\n");
    rw_no_effect_reset();
    set("truncation", "30");
    judge("min-hessian: 'min-hessian' has no effect with split mart\n");
    cr_expect_eq(rw_params_no_effect(ctx, params, "sigma", "here"), RW_OK);
    cr_expect_str_eq(strchr(warned, '\n') + 1, "sigma: 'sigma' has no effect here\n");
}

/* A parameter without effect is at its default afterwards, so that equal trees are equal files. */
Test(params, parameters_without_effect_are_at_their_default)
{
    set_all("objective=listnet pairs=all delta=map truncation=5 pairs-file=x leaves=9");
    cr_expect_eq(rw_params_drop_idle(ctx, params, &training), RW_OK);
    for (int i = 0; rw_param_info(i); i++) {
        const struct rw_param_info *info = rw_param_info(i);
        if (strcmp(info->name, "objective") != 0 && strcmp(info->name, "leaves") != 0)
            cr_expect_str_eq(rw_params_get(params, info->name), info->default_value, "%s",
                             info->name);
    }
    cr_expect_str_eq(rw_params_get(params, "leaves"), "9");
    /* on a refit the values that are not set are the model's */
    const struct rw_facts refit = {.trains = 1};
    set("leaves", "9");
    set("monotone", "3:+");
    params->is_set[RW_AT_PARAM_monotone] = 0;
    cr_expect_eq(rw_params_drop_idle(ctx, params, &refit), RW_OK);
    cr_expect_str_eq(rw_params_get(params, "leaves"), "auto");
    cr_expect_str_eq(rw_params_get(params, "monotone"), "3:+");
}

/* Each row's conditions are ones that can be judged. */
Test(params, needs_are_known)
{
    static const struct rw_facts no = {.n_valid = 0};
    const struct rw_facts unknown = RW_FACTS_UNKNOWN;
    cr_expect_eq(rw_params_judge(ctx, params, &no), RW_OK, "%s", rw_last_error(ctx));
    cr_expect_eq(rw_params_judge(ctx, params, &unknown), RW_OK, "%s", rw_last_error(ctx));
}

/* Each parameter's default, set explicitly, is distinguished from any other value. */
Test(params, defaults_need_not_matter)
{
    static const char *const others[] = {
        "2",  "0.5", "7",    "63",  "regression", "levels", "newton", "nearest", "off", "missing",
        "on", "0",   "mean", "map", "cpu",        "all",    "x",      "ipw",     "1,1", "paired"};
    for (int i = 0; i < RW_N_PARAMS; i++) {
        const struct rw_param_info *info = rw_param_info(i);
        set(info->name, info->default_value);
        cr_expect_neq(rw_params_origin(params, info->name), RW_PARAM_CHANGED, "%s", info->name);
        int changed = 0;
        for (size_t k = 0; k < sizeof(others) / sizeof(others[0]) && !changed; k++) {
            changed = rw_params_set(ctx, params, info->name, others[k]) == RW_OK &&
                      strcmp(others[k], info->default_value) != 0;
        }
        cr_assert(changed, "%s", info->name);
        cr_expect_eq(rw_params_origin(params, info->name), RW_PARAM_CHANGED, "%s", info->name);
    }
    cr_expect_neq(rw_params_origin(params, "nothing"), RW_PARAM_CHANGED);
}

Test(params, conventions_name_the_queries_that_count)
{
    char line[256];
    cr_assert_eq(rw_eval_conventions(ctx, rw_params_eval(params), line, sizeof(line)), RW_OK);
    cr_expect_not_null(strstr(line, "2^l - 1"), "%s", line);
    set("label-gain", "linear");
    char other[256];
    cr_assert_eq(rw_eval_conventions(ctx, rw_params_eval(params), other, sizeof(other)), RW_OK);
    cr_expect_str_neq(line, other);
    set("label-gain", "/nowhere/gains");
    cr_expect_lt(rw_eval_conventions(ctx, rw_params_eval(params), other, sizeof(other)), 0);
    set("metric", "map"); /* no gains needed, so no file is required */
    cr_expect_eq(rw_eval_conventions(ctx, rw_params_eval(params), other, sizeof(other)), RW_OK);
}

/* A value that names a file is one that commands read; the words of --label-gain are not. */
Test(params, files_that_values_name)
{
    static const char *const files[] = {"pairs-file",    "labels",       "weights",
                                        "query-weights", "start-scores", "positions",
                                        "propensities",  "names",        "label-gain"};
    int n_files = 0;
    for (int i = 0; rw_param_info(i); i++)
        cr_expect_null(rw_params_file(params, i), "%s", rw_param_info(i)->name);
    for (size_t k = 0; k < sizeof(files) / sizeof(files[0]); k++)
        cr_assert_eq(rw_params_set(ctx, params, files[k], "FILE"), RW_OK);
    for (int i = 0; rw_param_info(i); i++) {
        const char *file = rw_params_file(params, i);
        n_files += file != NULL;
        cr_expect(!file || strcmp(file, "FILE") == 0, "%s", rw_param_info(i)->name);
    }
    cr_expect_eq(n_files, (int)(sizeof(files) / sizeof(files[0])));
    cr_assert_eq(rw_params_set(ctx, params, "label-gain", "linear"), RW_OK);
    for (int i = 0; rw_param_info(i); i++)
        n_files -= rw_params_file(params, i) != NULL;
    cr_expect_eq(n_files, 1);
    cr_expect_null(rw_params_file(params, -1));
    cr_expect_null(rw_params_file(params, 1000));
}
