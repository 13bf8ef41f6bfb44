/* rankwood info: what is in a model. */
#include <jansson.h>
#include <stdlib.h>

#include "cli/load.h"
#include "cli/messages.h"

enum { MOST_SHOWN = 20 };

static int json, all;
static const struct rw_option options[] = {
    {"json", 0, NULL, "as JSON, with all features", RW_OPTION_FLAG, .value = &json},
    {"all", 0, NULL, "all features, not the first 20", RW_OPTION_FLAG, .value = &all},
    {0},
};

static int more_used(const void *a, const void *b)
{
    const struct rw_feature_use *x = a, *y = b;
    if (x->n_splits != y->n_splits)
        return x->n_splits < y->n_splits ? 1 : -1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

struct sums {
    double gain;
    uint64_t splits;
};

static void print_use(const struct rw_feature_use *use, const struct sums *sums)
{
    printf("  %7.2f %8llu %10.4g %7u  ", sums->gain > 0 ? 100 * use->gain / sums->gain : 0.0,
           (unsigned long long)use->n_splits, use->gain, use->feature);
    rw_msg_put(stdout, use->name);
    putchar('\n');
}

static void print_uses(const char *title, const struct rw_feature_use *uses, int n,
                       const struct sums *sums)
{
    const int shown = all || n <= MOST_SHOWN ? n : MOST_SHOWN;
    printf("\n%s\n  %7s %8s %10s %7s  %s\n", title, "gain %", "splits", "gain", "feature", "name");
    for (int i = 0; i < shown; i++)
        print_use(&uses[i], sums);
    if (shown < n)
        printf("  ... and %d more: --all shows them\n", n - shown);
}

static void print_param(const struct rw_run_param *param)
{
    printf("  %-16s ", param->name);
    rw_msg_put(stdout, param->value);
    puts(param->is_auto ? "  (auto: chosen by size)" : "");
}

/* The parameters of each training. */
static void print_runs(const struct rw_model *model)
{
    const int n_runs = rw_model_n_runs(model);
    for (int run = 0; run < n_runs; run++) {
        struct rw_run_param param;
        if (n_runs == 1)
            printf("\nparameters\n");
        else
            printf("\nparameters of training %d of %d, which added %d trees\n", run + 1, n_runs,
                   rw_model_run_trees(model, run));
        for (int i = 0; rw_model_run_param(model, run, i, &param); i++)
            print_param(&param);
    }
}

static void print_text(const struct rw_model *model, struct rw_feature_use *uses, int n)
{
    struct sums sums = {0, 0};
    struct rw_calibration map;
    for (int i = 0; i < n; i++) {
        sums.gain += uses[i].gain;
        sums.splits += uses[i].n_splits;
    }
    const int n_trees = rw_model_n_trees(model);
    long long leaves = 0;
    for (int t = 0; t < n_trees; t++)
        leaves += rw_model_n_leaves(model, t);
    printf("trees       %d\nleaves      %lld\nsplits      %llu\nfeatures    %d in use\n", n_trees,
           leaves, (unsigned long long)sums.splits, n);
    if (rw_model_best_round(model) > 0)
        printf("best round  %d\n", rw_model_best_round(model));
    printf("finished    %s\n", rw_model_is_finished(model) ? "yes" : "no");
    if (rw_model_calibration(model, &map))
        rw_load_print_calibration(&map);
    print_runs(model);
    print_uses("features by gain", uses, n, &sums);
    if (n > 0)
        qsort(uses, (size_t)n, sizeof(*uses), more_used);
    print_uses("features by use", uses, n, &sums);
}

static json_t *run_json(const struct rw_model *model, int run)
{
    json_t *params = json_object(), *chosen = json_array();
    struct rw_run_param param;
    for (int i = 0; rw_model_run_param(model, run, i, &param); i++) {
        json_object_set_new(params, param.name, rw_load_json_param(param.name, param.value));
        if (param.is_auto)
            json_array_append_new(chosen, json_string(param.name));
    }
    return json_pack("{s:i,s:o,s:o}", "trees", rw_model_run_trees(model, run), "params", params,
                     "auto", chosen);
}

static void print_json(const struct rw_model *model, const struct rw_feature_use *uses, int n)
{
    json_t *features = json_array(), *leaves = json_array(), *runs = json_array();
    struct rw_calibration map;
    const int is_calibrated = rw_model_calibration(model, &map);
    for (int run = 0; run < rw_model_n_runs(model); run++)
        json_array_append_new(runs, run_json(model, run));
    for (int t = 0; t < rw_model_n_trees(model); t++)
        json_array_append_new(leaves, json_integer(rw_model_n_leaves(model, t)));
    for (int i = 0; i < n; i++)
        json_array_append_new(features,
                              json_pack("{s:I,s:o,s:I,s:f}", "feature", (json_int_t)uses[i].feature,
                                        "name", rw_load_json_text(uses[i].name), "splits",
                                        (json_int_t)uses[i].n_splits, "gain", uses[i].gain));
    const json_t *last = json_array_get(runs, json_array_size(runs) - 1);
    rw_load_json_print(
        json_pack("{s:i,s:i,s:b,s:o,s:o,s:O,s:O,s:o,s:o}", "trees", rw_model_n_trees(model),
                  "best_round", rw_model_best_round(model), "finished", rw_model_is_finished(model),
                  "leaves", leaves, "calibration",
                  is_calibrated ? rw_load_json_calibration(&map) : json_null(), "params",
                  json_object_get(last, "params"), "auto", json_object_get(last, "auto"),
                  "trainings", runs, "features", features),
        stdout);
}

static int check(struct rw_cli *cli)
{
    return json && all ? rw_wrong(cli, "'--all' has no effect with '--json'") : 0;
}

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_model_read(cli->ctx, cli->operands.text[0], &cli->model));
    const int n = rw_model_features(cli->model, NULL, 0);
    if (n < 0)
        rw_no_memory();
    struct rw_feature_use *uses = rw_need((size_t)n, sizeof(*uses));
    if (rw_model_features(cli->model, uses, n) < 0)
        rw_no_memory();
    if (json)
        print_json(cli->model, uses, n);
    else
        print_text(cli->model, uses, n);
    free(uses);
    return 0;
}

const struct rw_command rw_cmd_info = {
    .name = "info",
    .brief = "what is in a model: trees, parameters, features",
    .operands = "MODEL",
    .about = "Prints what is in a model: trees, parameters, features by gain and by use.",
    .least = 1,
    .most = 1,
    .options = options,
    .check = check,
    .run = run,
};
