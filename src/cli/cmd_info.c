/* rankwood info: what is in a model. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/talk.h"

enum { MOST_SHOWN = 20 };

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

static void print_uses(const char *title, const struct rw_feature_use *uses, int n,
                       const struct sums *sums, int all)
{
    const int shown = all || n <= MOST_SHOWN ? n : MOST_SHOWN;
    printf("\n%s\n  %7s %8s %10s %7s  %s\n", title, "gain %", "splits", "gain", "feature", "name");
    for (int i = 0; i < shown; i++)
        printf("  %7.2f %8llu %10.4g %7u  %s\n",
               sums->gain > 0 ? 100 * uses[i].gain / sums->gain : 0.0,
               (unsigned long long)uses[i].n_splits, uses[i].gain, uses[i].feature, uses[i].name);
    if (shown < n)
        printf("  ... and %d more: --all shows them\n", n - shown);
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
            printf("  %-16s %s%s\n", param.name, param.value,
                   param.is_auto ? "  (auto: chosen by size)" : "");
    }
}

static void print_text(const struct rw_model *model, struct rw_feature_use *uses, int n, int all)
{
    struct sums sums = {0, 0};
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
    print_runs(model);
    print_uses("features by gain", uses, n, &sums, all);
    if (n > 0)
        qsort(uses, (size_t)n, sizeof(*uses), more_used);
    print_uses("features by use", uses, n, &sums, all);
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

static int print_json(const struct rw_model *model, const struct rw_feature_use *uses, int n)
{
    json_t *features = json_array(), *leaves = json_array(), *runs = json_array();
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
    json_t *all =
        json_pack("{s:i,s:i,s:b,s:o,s:O,s:O,s:o,s:o}", "trees", rw_model_n_trees(model),
                  "best_round", rw_model_best_round(model), "finished", rw_model_is_finished(model),
                  "leaves", leaves, "params", json_object_get(last, "params"), "auto",
                  json_object_get(last, "auto"), "trainings", runs, "features", features);
    const int result = all ? json_dumpf(all, stdout, JSON_INDENT(1)) : -1;
    json_decref(all);
    putchar('\n');
    return result;
}

int rw_cmd_info(int argc, char **argv)
{
    int json = 0, all = 0;
    const struct rw_option options[] = {
        {"json", 0, NULL, "as JSON, with all features", RW_OPTION_FLAG, &json},
        {"all", 0, NULL, "all features, not the first 20", RW_OPTION_FLAG, &all},
        {0},
    };
    const struct rw_usage usage = {
        .command = "info",
        .operands = "MODEL",
        .about = "Prints what is in a model: trees, parameters, features by gain and by use.",
        .least = 1,
        .most = 1,
        .options = options,
    };
    struct rw_said said;
    struct rw_model *model = NULL;
    struct rw_feature_use *uses = NULL;
    int n, code = rw_options_parse(&usage, argc, argv, &said);
    if (code >= 0)
        goto out;
    if (json && all) {
        code = rw_options_wrong(&usage, "'--all' has no effect with '--json'");
        goto out;
    }
    const int status = rw_model_read(said.ctx, said.operands.text[0], &model);
    if (status < 0) {
        code = rw_talk_failed(said.ctx, status, "info");
        goto out;
    }
    code = RW_EXIT_FAILURE;
    n = rw_model_features(model, NULL, 0);
    uses = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*uses));
    if (!uses) {
        rw_talk_out_of_memory();
        goto out;
    }
    rw_model_features(model, uses, n);
    code = RW_EXIT_OK;
    if (!json)
        print_text(model, uses, n, all);
    else if (print_json(model, uses, n) < 0)
        code = RW_EXIT_FAILURE;
out:
    free(uses);
    rw_model_free(model);
    rw_options_release(&usage, &said);
    return code;
}
