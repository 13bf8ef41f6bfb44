/* `rankwood info` describes a model. */
#include "cli/cli.h"

enum { MOST_SHOWN = 20 };

static int all;
static const struct rw_option options[] = {
    {"all", NULL, "list all features instead of the first 20", RW_OPTION_FLAG, .value = &all},
    {0},
};

static void add_features(const char *title, json_t *features)
{
    rw_result_rows(title, features, "+gain=gain %=%;splits;gain==%.4g;feature;name");
    rw_result_most(all ? 0 : MOST_SHOWN, "--all");
}

/* Returns the parameters of a training, and adds a line for each. run: index of the training. A
 * model has several trainings if later ones continued the first (--init). */
static json_t *run_json(const struct rw_model *model, int run)
{
    const int n_runs = rw_model_info(model).n_runs;
    const struct rw_run_view training = rw_model_run(model, run);
    json_t *params = json_object(), *chosen = json_array();
    if (n_runs == 1)
        rw_result_line("\nparameters");
    else
        rw_result_line("\nparameters of training %d of %d, which added %d trees", run + 1, n_runs,
                       training.n_trees);
    for (int i = 0; i < training.n_params; i++) {
        const struct rw_run_param *param = &training.params[i];
        rw_result_line("  %-16s %s%s", param->name, param->value,
                       param->is_auto ? "  (auto: chosen by size)" : "");
        json_object_set_new(params, param->name, rw_result_param(param->name, param->value));
        if (param->is_auto)
            json_array_append_new(chosen, json_string(param->name));
    }
    return rw_result_row("trees:i params:o auto:o", training.n_trees, params, chosen);
}

static void print(const struct rw_cli *cli, const struct rw_feature_use *uses, int n)
{
    const struct rw_model *model = cli->model;
    const struct rw_model_info info = rw_model_info(model);
    const int n_trees = rw_model_n_trees(model);
    struct rw_calibration map;
    json_t *leaves = json_array(), *runs = json_array(), *features = json_array();
    long long n_leaves = 0, n_splits = 0;
    for (int t = 0; t < n_trees; t++) {
        const int n_of_tree = rw_model_tree(model, t).n_leaves;
        json_array_append_new(leaves, json_integer(n_of_tree));
        n_leaves += n_of_tree;
    }
    for (int i = 0; i < n; i++) {
        n_splits += (long long)uses[i].n_splits;
        rw_result_add(features, "feature:u name:s splits:l gain:n", uses[i].feature, uses[i].name,
                      (uint64_t)uses[i].n_splits, uses[i].gain);
    }
    rw_result_line("trees       %d\nleaves      %lld\nsplits      %lld\nfeatures    %d in use",
                   n_trees, n_leaves, n_splits, n);
    if (rw_model_n_bags(model) > 1)
        rw_result_line("bags        %d, trees per round", rw_model_n_bags(model));
    if (info.best_round > 0)
        rw_result_line("kept round  %d", info.best_round);
    rw_result_line("finished    %s", info.is_finished ? "yes" : "no");
    json_t *calibration =
        rw_model_calibration(model, &map) ? rw_load_calibration(&map) : json_null();
    for (int run = 0; run < info.n_runs; run++)
        json_array_append_new(runs, run_json(model, run));
    const json_t *last = json_array_get(runs, json_array_size(runs) - 1);
    json_t *by_use = json_copy(features);
    rw_result_sort(by_use, "splits", "feature");
    add_features("features by gain", features);
    add_features("features by number of splits", by_use);
    rw_result_print(cli, rw_result_row("trees:i best_round:i finished:b leaves:o calibration:o "
                                       "params:O auto:O trainings:o features:O",
                                       n_trees, info.best_round, info.is_finished, leaves,
                                       calibration, json_object_get(last, "params"),
                                       json_object_get(last, "auto"), runs, features));
}

static int check(struct rw_cli *cli)
{
    return all && rw_prints_all(cli)
               ? rw_wrong(cli, "'--all' has no effect with '%s'", rw_prints_all(cli))
               : 0;
}

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_model_read(cli->ctx, cli->operands.text[0], &cli->model));
    const int n = rw_model_features(cli->model, NULL, 0);
    struct rw_feature_use *uses = rw_need(n > 0 ? (size_t)n : 0, sizeof(*uses));
    if (n < 0 || rw_model_features(cli->model, uses, n) < 0)
        rw_no_memory();
    print(cli, uses, n);
    return 0;
}

const struct rw_command rw_cmd_info = {
    .name = "info",
    .brief = "summarise a model: trees, parameters, features",
    .operands = "MODEL",
    .about = "Summarises a model: its trees, its parameters, and its features by gain and number "
             "of splits.",
    .has_results = 1,
    .options = options,
    .check = check,
    .run = run,
};
