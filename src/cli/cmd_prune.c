/* `rankwood prune` removes trees that hardly change a metric. */
#include "cli/cli.h"

static const char *output;
static int order = RW_PRUNE_ANY;
static double most_loss = 0.001;
#define OPERANDS "MODEL DATA... -o MODEL"
static const struct rw_option options[] = {
    {"output", "MODEL", "write the smaller model to this file (required)", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {"loss", "X",
     "largest allowed drop of the metric (rise of rmse or logloss), 0 or more [default: 0.001]",
     RW_OPTION_LOSS, .value = &most_loss},
    {"order", "any|last",
     "any: remove the least important trees; last: remove trees from the end only [default: any]",
     RW_OPTION_CHOICE, .value = &order},
    {0},
};

static void print(const struct rw_cli *cli, const struct rw_pruned *pruned)
{
    const unsigned n_queries = pruned->rows[0].compared.n_queries;
    json_t *rows = json_array();
    for (int i = 0; i < pruned->n_rows; i++) {
        const struct rw_prune_row *row = &pruned->rows[i];
        rw_result_add(
            rows, "trees:i leaves:l bytes:l mean:n difference:n low:n high:n held_out:n written:b",
            row->n_trees, (uint64_t)row->n_leaves, (uint64_t)row->n_bytes, row->compared.mean_b,
            row->compared.difference, row->compared.low, row->compared.high, row->held_out,
            i == pruned->chosen);
    }
    rw_result_rows(NULL, rows,
                   rw_text("trees;leaves;bytes;mean=%s;difference==+;low=2.5 %%=+;high=97.5 %%=+;"
                           "held_out=held out=+;written",
                           pruned->metric));
    rw_result_line("difference: from the whole model (%s is better); interval: %d resamples of the "
                   "%u queries that count",
                   pruned->lower_is_better ? "lower" : "higher", pruned->n_samples, n_queries);
    if (!isnan(pruned->rows[0].held_out))
        rw_result_line(
            "held out: difference on each half of the queries with the trees chosen on the "
            "other half, averaged");
    rw_result_line("%s", pruned->conventions);
    rw_result_print(cli, rw_result_row("metric:s lower_is_better:b loss:n queries:u samples:i "
                                       "conventions:s rows:O",
                                       pruned->metric, pruned->lower_is_better, most_loss,
                                       n_queries, pruned->n_samples, pruned->conventions, rows));
}

static int run(struct rw_cli *cli)
{
    static struct rw_pruned *pruned;
    RW_STEP(rw_load_model_and_data(cli, NULL));
    RW_STEP(rw_interrupts_stop_calls(cli->ctx));
    RW_STEP(rw_interrupts_end(rw_prune(cli->ctx, rw_params_eval(cli->params), cli->model,
                                       cli->dataset, most_loss, order, &pruned),
                              output));
    RW_STEP(rw_model_write(cli->ctx, pruned->model, output));
    print(cli, pruned);
    return 0;
}

const struct rw_command rw_cmd_prune = {
    .name = "prune",
    .brief = "remove trees that hardly change a metric",
    .operands = OPERANDS,
    .about =
        "Removes as many trees as possible, least important first, while the metric on DATA stays "
        "within --loss of that of the whole model. Also prints the drop with other numbers of "
        "trees. DATA should not be the training set, since it decides which trees remain. Measure "
        "the result on a third set.",
    .replaced_by = "output",
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads ",
    .run = run,
};
