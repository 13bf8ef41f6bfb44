/* Parameters from text: bad values, files, names that other trainers use. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
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

TestSuite(params_set, .init = begin, .fini = end);

static void refused(const char *name, const char *value, const char *text)
{
    char before[512];
    const char *known = rw_params_get(params, name);
    snprintf(before, sizeof(before), "%s", known ? known : "");
    cr_expect_eq(rw_params_set(ctx, params, name, value), RW_ERR_ARGUMENT, "%s = '%s'", name,
                 value);
    cr_expect_str_eq(rw_last_error(ctx), text);
    if (known) {
        cr_expect_str_eq(rw_params_get(params, name), before);
        cr_expect_eq(rw_params_origin(params, name), RW_PARAM_DEFAULT);
    }
}

Test(params_set, bytes)
{
    static const struct {
        const char *text;
        int good;
        uint64_t bytes;
    } cases[] = {{"auto", 1, 0},
                 {"16G", 1, 16000000000},
                 {"800M", 1, 800000000},
                 {"3K", 1, 3000},
                 {"2T", 1, 2000000000000},
                 {"123", 1, 123},
                 {"18446744073709551615", 1, UINT64_MAX},
                 {"18446744073709551616", 0, 0},
                 {"18446744T", 1, 18446744000000000000u},
                 {"18446745T", 0, 0},
                 {"", 0, 0},
                 {"G", 0, 0},
                 {"-1", 0, 0},
                 {"1.5G", 0, 0},
                 {"16g", 0, 0},
                 {" 1", 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bytes;
        cr_expect_eq(rw_params_bytes(cases[i].text, &bytes), cases[i].good, "'%s'", cases[i].text);
        if (cases[i].good)
            cr_expect_eq(bytes, cases[i].bytes, "'%s': %llu", cases[i].text,
                         (unsigned long long)bytes);
    }
}

Test(params_set, bad_values)
{
    refused("leaves", "1",
            "parameter 'leaves': expected a whole number, 2 to 65536, or auto, found '1'");
    refused("leaves", "65537",
            "parameter 'leaves': expected a whole number, 2 to 65536, or auto, found '65537'");
    refused("leaves", "",
            "parameter 'leaves': expected a whole number, 2 to 65536, or auto, found ''");
    refused("hist", "", "parameter 'hist': expected auto or a method, found ''");
    refused("leaves", " 31",
            "parameter 'leaves': expected a whole number, 2 to 65536, or auto, found ' 31'");
    refused("leaves", "31x",
            "parameter 'leaves': expected a whole number, 2 to 65536, or auto, found '31x'");
    refused("leaves", "-31",
            "parameter 'leaves': expected a whole number, 2 to 65536, or auto, found '-31'");
    refused("leaves", "4294967327",
            "parameter 'leaves': expected a whole number, 2 to 65536, or auto, found '4294967327'");
    refused("gpu-memory", "16GB",
            "parameter 'gpu-memory': expected a size such as 16G or 800M, or auto, found '16GB'");
    refused("gpu-memory", "0",
            "parameter 'gpu-memory': expected a size such as 16G or 800M, or auto, found '0'");
    refused("gpu-memory", "20000000T",
            "parameter 'gpu-memory': expected a size such as 16G or 800M, or auto, found "
            "'20000000T'");
    refused("rate", "-0.1",
            "parameter 'rate': expected a number, 1e-6 to 1, or auto, found '-0.1'");
    refused("rate", "nan", "parameter 'rate': expected a number, 1e-6 to 1, or auto, found 'nan'");
    refused("rate", "inf", "parameter 'rate': expected a number, 1e-6 to 1, or auto, found 'inf'");
    refused("rate", "0,1",
            "parameter 'rate': expected A,B,...: rates from 1e-6 to 1, one per round, found '0,1'");
    refused("rate", "0.1,0.2,",
            "parameter 'rate': expected A,B,...: rates from 1e-6 to 1, one per round, found ''");
    refused(
        "rate", "0.1:0.01",
        "parameter 'rate': expected A:B:N, two rates from 1e-6 to 1 and a number of rounds from 1 "
        "to 1000000, found '0.1:0.01'");
    static const char *const schedules[] = {
        "0.1:0.01:0", "0.1:0.01:1000001", "0.1:0.01:1.5", "0.1:0.01:3:3", "0.1:0.01:", ":0.01:3",
        "0.1::3",     "0.1:1.5:3",        "0:0.01:3",     "auto:0.01:3",  "0.1:nan:3", ":"};
    for (size_t i = 0; i < sizeof(schedules) / sizeof(*schedules); i++) {
        char message[200];
        snprintf(
            message, sizeof(message),
            "parameter 'rate': expected A:B:N, two rates from 1e-6 to 1 and a number of rounds "
            "from 1 to 1000000, found '%s'",
            schedules[i]);
        refused("rate", schedules[i], message);
    }
    refused("l2", "1e999", "parameter 'l2': expected a number, 0 to 1e9, found '1e999'");
    refused("grow", "leaf",
            "parameter 'grow': expected leaves|levels|symmetric, found 'leaf'\n"
            "hint: 'leaf' is 'leaves' here");
    refused("norm", "true",
            "parameter 'norm': expected off|on, found 'true'\nhint: 'true' is 'on' here");
    refused("seed", "18446744073709551616",
            "parameter 'seed': expected a whole number below 2^64, found '18446744073709551616'");
    refused("truncation", "0",
            "parameter 'truncation': expected a whole number, 1 to 1000000000, "
            "or none, found '0'\nhint: '0' is 'none' here");
    refused("device", "gpu",
            "parameter 'device': expected auto, cpu, cuda, cuda:N or cuda:all, found 'gpu'\n"
            "hint: 'gpu' is 'cuda' here");
    refused("device", "cuda:",
            "parameter 'device': expected auto, cpu, cuda, cuda:N or cuda:all, found "
            "'cuda:'");
    refused("label-gain", "", "parameter 'label-gain': expected exp, linear or a file, found ''");
}

Test(params_set, values_of_other_trainers)
{
#define OBJECTIVE                      \
    "parameter 'objective': expected " \
    "lambdarank|regression|yetirank|queryrmse|listnet|xendcg|logistic, found "
    refused("objective", "rank:ndcg",
            OBJECTIVE "'rank:ndcg'\nhint: 'rank:ndcg' is 'lambdarank' here");
    refused("objective", "LambdaRank",
            OBJECTIVE "'LambdaRank'\nhint: 'LambdaRank' is 'lambdarank' here");
    refused("objective", "YetiRank:mode=DCG",
            OBJECTIVE "'YetiRank:mode=DCG'\nhint: 'YetiRank:mode=DCG' is 'yetirank' here");
    refused("objective", "rank:pairwise",
            OBJECTIVE
            "'rank:pairwise'\nhint: the nearest to 'rank:pairwise' is 'lambdarank': a pair "
            "is weighted by its change of NDCG; with 'delta' none, all pairs have equal weights");
    refused("delta", "rank:map",
            "parameter 'delta': expected ndcg, dcg, map, mrr, err, p@K or none, found "
            "'rank:map'\nhint: 'rank:map' is 'map' here");
    refused("pairs", "mean",
            "parameter 'pairs': expected topk, all, given or mean:N, N from 1 to 1000, found "
            "'mean'\nhint: the nearest to 'mean' is 'mean:1': N in mean:N is "
            "lambdarank_num_pair_per_sample");
    refused("objective", "binary:logistic",
            OBJECTIVE "'binary:logistic'\nhint: the nearest to 'binary:logistic' is 'logistic': "
                      "a label of at least 'relevant' is positive; a score is the log odds");
    refused("objective", "multi:softmax",
            OBJECTIVE "'multi:softmax'\nhint: no counterpart of 'multi:softmax': labels are "
                      "grades: use lambdarank to rank, logistic for relevant or not, regression "
                      "to fit them");
    refused("objective", "QuerySoftMax:beta=1",
            OBJECTIVE "'QuerySoftMax:beta=1'\nhint: the nearest to 'QuerySoftMax:beta=1' is "
                      "'listnet': targets are proportional to gains; with 'label-gain' linear, "
                      "to labels");
    refused("objective", "rank_xendcg",
            OBJECTIVE "'rank_xendcg'\nhint: 'rank_xendcg' is 'xendcg' here");
    refused("objective", "frobnicate", OBJECTIVE "'frobnicate'");
    refused("grow", "Lossguide",
            "parameter 'grow': expected leaves|levels|symmetric, found 'Lossguide'\n"
            "hint: 'Lossguide' is 'leaves' here");
    refused("depth", "-1",
            "parameter 'depth': expected a whole number, 0 to 64, or auto, found '-1'\n"
            "hint: '-1' is '0' here");
    refused("metric", "NDCG:top=10",
            "unknown metric 'NDCG:top=10'; did you mean 'ndcg@10'?\nhint: metrics are ndcg[@k] "
            "dcg[@k] map[@k] mrr[@k] err[@k] p@k recall@k rbp:P rmse logloss");
}

/* Every numeric parameter takes both ends of its range and nothing past them. */
Test(params_set, ranges_include_their_ends)
{
    for (int i = 0; i < RW_N_PARAMS; i++) {
        const struct rw_param_info *info = rw_param_info(i);
        if (info->type != RW_PARAM_INT && info->type != RW_PARAM_REAL)
            continue;
        char least[64];
        const char *to = strstr(info->range, " to ");
        cr_assert_not_null(to);
        snprintf(least, sizeof(least), "%.*s", (int)(to - info->range), info->range);
        cr_expect_eq(rw_params_set(ctx, params, info->name, least), RW_OK);
        cr_expect_eq(rw_params_set(ctx, params, info->name, to + 4), RW_OK);
        cr_expect_eq(rw_params_set(ctx, params, info->name, "-1"), RW_ERR_ARGUMENT);
        cr_expect_eq(rw_params_set(ctx, params, info->name, "1e31"), RW_ERR_ARGUMENT);
    }
}

Test(params_set, unknown_names_say_the_nearest)
{
    refused("num_leaves", "31", "unknown parameter 'num_leaves'; the nearest is 'leaves'");
    refused("xyzzy", "1", "unknown parameter 'xyzzy'");
    refused("lambda_l2", "1",
            "unknown parameter 'lambda_l2'; the nearest is 'l2'\nhint: its unit is the "
            "average document's hessian, so values of other programs do not carry over");
    refused(
        "boosting", "dart",
        "unknown parameter 'boosting'; there is no such parameter here\nhint: boosting is always "
        "gbdt (gbtree, Plain); dart, rf and gblinear are not supported");
    refused("Bagging_Freq", "1",
            "unknown parameter 'Bagging_Freq'; there is no such parameter here\nhint: "
            "each tree gets a new sample ('sample-queries', 'sample-docs')");
    refused("valid_data", "v.txt",
            "unknown parameter 'valid_data'\nhint: it is not a parameter, but the option '--valid' "
            "of the program");
    refused("valid", "v.txt",
            "unknown parameter 'valid'\nhint: it is not a parameter, but the option '--valid' of "
            "the program");
    refused("", "1", "unknown parameter ''");
    static const char *const pairs[][2] = {
        {"num_leaves", "leaves"},
        {"--num-leaves", "leaves"},
        {"max_leaves", "leaves"},
        {"eta", "rate"},
        {"learning_rate", "rate"},
        {"n_estimators", "rounds"},
        {"num_boost_round", "rounds"},
        {"iterations", "rounds"},
        {"min_data_in_leaf", "min-docs"},
        {"min_child_weight", "min-hessian"},
        {"lambda_l2", "l2"},
        {"reg_lambda", "l2"},
        {"l2_leaf_reg", "l2"},
        {"lambdarank_truncation_level", "truncation"},
        {"lambdarank_norm", "norm"},
        {"label_gain", "label-gain"},
        {"max_bin", "bins"},
        {"border_count", "bins"},
        {"early_stopping_rounds", "early-stop"},
        {"od_wait", "early-stop"},
        {"eval_metric", "metric"},
        {"ndcg_eval_at", "metric"},
        {"random_state", "seed"},
        {"feature_fraction", "sample-features"},
        {"colsample_bytree", "sample-features"},
        {"subsample", "sample-docs"},
        {"bagging_by_query", "sample-queries"},
        {"colsample_bynode", "sample-features-node"},
        {"random_strength", "gain-noise"},
        {"interaction_constraints", "interactions"},
        {"nthread", "threads"},
        {"grow_policy", "grow"},
        {"max_depth", "depth"},
        {"task_type", "device"},
        {"is_provide_training_metric", "train-metric"},
        {"laeves", "leaves"},
        {"Leaves", "leaves"},
        {"lr", "rate"},
        {"rat", "rate"},
        {"trunc", "truncation"},
        {"min-doc", "min-docs"},
        {"earlystop", "early-stop"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const char *near = rw_params_nearest(pairs[i][0]);
        cr_expect(near && strcmp(near, pairs[i][1]) == 0, "'%s' gives '%s'", pairs[i][0],
                  near ? near : "nothing");
    }
    static const char *const far[] = {"",
                                      "-",
                                      "q",
                                      "xyzzy",
                                      "frobnicate",
                                      "boosting",
                                      "bagging_freq", /* 'bagging' is no help */
                                      "max_delta_step",
                                      "linear_tree",
                                      "a name that is far longer than any parameter's name could "
                                      "possibly be, to see that it does not overflow"};
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
        cr_expect_null(rw_params_nearest(far[i]), "'%s' gives '%s'", far[i],
                       rw_params_nearest(far[i]));
}

/* Reads a file of these bytes; the error's text with the file's name cut off. */
static int read_text(const char *bytes, size_t n, const char **error)
{
    char path[] = "/tmp/rw-params-XXXXXX";
    const int file = mkstemp(path);
    cr_assert(file >= 0 && write(file, bytes, n) == (ssize_t)n);
    close(file);
    const int status = rw_params_read(ctx, params, path);
    unlink(path);
    *error = "";
    if (status < 0) {
        cr_expect_eq(strncmp(rw_last_error(ctx), path, strlen(path)), 0, "%s", rw_last_error(ctx));
        *error = rw_last_error(ctx) + strlen(path);
    }
    return status;
}

Test(params_set, files)
{
    const char text[] = "# a comment\n\n  leaves = 63 # more\r\nrate=0.05\nlabel-gain = a#b\n"
                        "metric = ndcg@5\nmetric = map , \n";
    const char *error;
    cr_expect_eq(read_text(text, strlen(text) - 3, &error), RW_OK, "%s", error);
    cr_expect_eq(params->leaves, 63);
    cr_expect_eq(params->rate, 0.05);
    cr_expect_str_eq(params->label_gain, "a#b");
    cr_expect_str_eq(params->metric, "ndcg@5,map");
    cr_expect_neq(rw_params_origin(params, "rate"), RW_PARAM_DEFAULT);
    cr_expect_eq(rw_params_origin(params, "rounds"), RW_PARAM_DEFAULT);
    cr_expect_eq(read_text("", 0, &error), RW_OK);
    cr_expect_eq(read_text("bins = 7", 8, &error), RW_OK, "the last newline may be missing");
    cr_expect_eq(params->bins, 7);
}

Test(params_set, bad_files)
{
    static const struct {
        const char *text, *error;
        size_t n;
    } bad[] = {
        {"leaves 31\n", ":1: expected 'name = value', found 'leaves 31'", 0},
        {"\nleaves = x\n",
         ":2: parameter 'leaves': expected a whole number, 2 to 65536, or auto, found 'x'", 0},
        {"num_leaves = 31\n", ":1: unknown parameter 'num_leaves'; the nearest is 'leaves'", 0},
        {"leaves = 3\nleaves = 4\n", ":2: parameter 'leaves' is set a second time", 0},
        {" = 4\n", ":1: unknown parameter ''", 0},
        {"leaves =\n",
         ":1: parameter 'leaves': expected a whole number, 2 to 65536, or auto, found ''", 0},
        {"leaves = 3\0 1\n", ":1: expected text, found a zero byte", 14},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *error;
        cr_expect_lt(read_text(bad[i].text, bad[i].n ? bad[i].n : strlen(bad[i].text), &error), 0);
        cr_expect_str_eq(error, bad[i].error);
    }
    cr_expect_eq(rw_params_read(ctx, params, "/nowhere/c"), RW_ERR_IO);
    cr_expect_str_eq(rw_last_error(ctx), "cannot open '/nowhere/c': No such file or directory");
    cr_expect_eq(rw_params_read(ctx, params, "/tmp"), RW_ERR_IO);
}

/* A list of features is as many as it names, whatever else the data has. */
Test(params_set, auto_by_listed_features)
{
    static const struct {
        const char *features, *rate, *sample;
    } cases[] = {{"", "0.05", "0.25"},
                 {"0-135", "0.05", "0.25"},
                 {"0-200", "0.05", "0.25"},
                 {"3,5-9", "0.1", "1"},
                 {"1-40", "0.1", "0.5"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rw_params_free(params);
        cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
        cr_assert_eq(rw_params_set(ctx, params, "features", cases[i].features), RW_OK);
        cr_assert_eq(rw_params_resolve(ctx, params, 20000, 136, 1), RW_OK);
        cr_expect_str_eq(rw_params_get(params, "rate"), cases[i].rate);
        cr_expect_str_eq(rw_params_get(params, "sample-features"), cases[i].sample);
    }
}

/* Returns the early-stop-rule for a first validation set of this size. */
static const char *stop_rule(uint64_t n_queries)
{
    struct rw_params *copy;
    static char rule[16];
    cr_assert_eq(rw_params_copy(ctx, params, &copy), RW_OK);
    cr_assert_eq(rw_params_resolve_valid(ctx, copy, 20000, 136, 1, n_queries), RW_OK);
    snprintf(rule, sizeof(rule), "%s%s",
             copy->is_chosen[RW_AT_PARAM_early_stop_rule] ? "auto " : "",
             rw_params_get(copy, "early-stop-rule"));
    rw_params_free(copy);
    return rule;
}

Test(params_set, few_validation_queries_choose_the_rule_paired)
{
    cr_expect_str_eq(stop_rule(0), "auto");
    cr_expect_str_eq(stop_rule(1000), "auto paired");
    cr_expect_str_eq(stop_rule(1001), "auto best");
    cr_assert_eq(rw_params_set(ctx, params, "metric", "rmse,ndcg"), RW_OK);
    cr_expect_str_eq(stop_rule(1000), "auto best");
    cr_assert_eq(rw_params_set(ctx, params, "metric", "ndcg,rmse"), RW_OK);
    cr_expect_str_eq(stop_rule(1000), "auto paired");
    const struct rw_data_size custom = {20000, 136, 1, 1, 10};
    struct rw_params *copy;
    cr_assert_eq(rw_params_copy(ctx, params, &copy), RW_OK);
    cr_assert_eq(rw_params_resolve_size(ctx, copy, &custom), RW_OK);
    cr_expect_str_eq(rw_params_get(copy, "early-stop-rule"), "best");
    rw_params_free(copy);
    cr_assert_eq(rw_params_set(ctx, params, "early-stop-rule", "paired"), RW_OK);
    cr_expect_str_eq(stop_rule(1001), "paired");
    cr_assert_eq(rw_params_set(ctx, params, "early-stop-rule", "auto"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "early-stop", "0"), RW_OK);
    cr_expect_str_eq(stop_rule(10), "auto");
}

/* Written parameters are read back, and written the same. */
Test(params_set, written_and_read)
{
    char *text, *again;
    const char *error;
    size_t n;
    cr_assert_eq(rw_params_set(ctx, params, "metric", "map,ndcg@5"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "names", "a name#1"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "leaves", "12"), RW_OK);
    cr_assert_eq(rw_params_resolve(ctx, params, 20000, 40, 1), RW_OK);
    for (int pass = 0; pass < 2; pass++) {
        FILE *out = open_memstream(pass ? &again : &text, &n);
        cr_assert_eq(rw_params_write(ctx, params, out), RW_OK);
        fclose(out);
        rw_params_free(params);
        cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
        cr_assert_eq(read_text(pass ? again : text, n, &error), RW_OK, "%s", error);
    }
    cr_expect_str_eq(text, again);
    static const char *const lines[] = {"rounds = 2000\n",
                                        "rate = auto 0.1\n",
                                        "leaves = 12\n",
                                        "split = auto newton\n",
                                        "sample-features = auto 0.5\n",
                                        "depth = 0\n",
                                        "metric = map,ndcg@5\n",
                                        "names = a name#1\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        cr_expect(strstr(text, lines[i]), "%s", lines[i]);
    cr_expect_null(strstr(text, "device"));
    cr_expect_null(strstr(text, "weights"));
    /* setting a value clears is_chosen */
    cr_expect_eq(params->is_chosen[rw_param_find("rate")], 1);
    cr_assert_eq(rw_params_set(ctx, params, "rate", "0.1"), RW_OK);
    cr_expect_eq(params->is_chosen[rw_param_find("rate")], 0);
    free(text);
    free(again);
}

Test(params_set, values_that_a_file_cannot_hold)
{
    static const char *const names[] = {"a #b", " a", "a ", "#a", "a\nb"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        FILE *out = tmpfile();
        cr_assert_eq(rw_params_set(ctx, params, "names", names[i]), RW_OK);
        cr_expect_eq(rw_params_write(ctx, params, out), RW_ERR_ARGUMENT);
        cr_expect_eq(ftell(out), 0, "'%s'", names[i]);
        fclose(out);
    }
    FILE *full = fopen("/dev/full", "w");
    cr_assert_eq(rw_params_set(ctx, params, "names", ""), RW_OK);
    cr_expect_eq(rw_params_write(ctx, params, full), RW_ERR_MACHINE);
    fclose(full);
}

Test(params_set, failed_allocations_leave_the_old_value)
{
    cr_assert_eq(rw_params_set(ctx, params, "metric", "map"), RW_OK);
    rw_mem_fail_from(1);
    cr_expect_eq(rw_params_set(ctx, params, "metric", "mrr"), RW_ERR_MEMORY);
    rw_mem_fail_from(0);
    cr_expect_str_eq(params->metric, "map");
    for (long n = 1; n < 60; n++) {
        struct rw_params *other;
        int n_made = 0;
        for (int copies = 0; copies < 2; copies++) { /* sanitizers detect a leaked copy */
            rw_mem_fail_from(n);
            const int status =
                copies ? rw_params_copy(ctx, params, &other) : rw_params_new(ctx, &other);
            rw_mem_fail_from(0);
            cr_expect(status == RW_OK || status == RW_ERR_MEMORY);
            cr_expect_eq(other != NULL, status == RW_OK);
            n_made += status == RW_OK;
            rw_params_free(other);
        }
        if (n_made == 2)
            return;
    }
    cr_expect(0, "parameters need 60 allocations?");
}
