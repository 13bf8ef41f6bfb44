/* rankwood prune: a model of fewer trees. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_many.h"
#include "cli/interrupts.h"
#include "cli/load.h"
#include "cli/messages.h"
#include "cli/progress.h"

static const char *output, *loss = "0.001", *order = "any";
static double most_loss;
static int json;
#define OPERANDS "MODEL DATA... -o MODEL"
static const struct rw_option options[] = {
    {"output", 'o', "MODEL", "where the smaller model goes (needed)", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {"loss", 0, "X", "the most that the metric may lose, 0 or more [default: 0.001]",
     RW_OPTION_TEXT, .value = &loss},
    {"order", 0, "any|last",
     "which trees go: those that are missed least, or the last ones [default: any]", RW_OPTION_TEXT,
     .value = &order},
    {"json", 0, NULL, "print as JSON, every digit", RW_OPTION_FLAG, .value = &json},
    {0},
};

static void print_table(const struct rw_pruned *pruned)
{
    char mean[RW_FIGURE_ROOM], difference[RW_FIGURE_ROOM], low[RW_FIGURE_ROOM],
        high[RW_FIGURE_ROOM], held_out[RW_FIGURE_ROOM];
    printf("%8s  %10s  %12s  %10s  %10s  %10s  %10s  %10s\n", "trees", "leaves", "bytes",
           pruned->metric, "difference", "2.5 %", "97.5 %", "held out");
    for (int i = 0; i < pruned->n_rows; i++) {
        const struct rw_prune_row *row = &pruned->rows[i];
        printf("%8d  %10llu  %12llu  %10s  %10s  %10s  %10s  %10s%s\n", row->n_trees,
               (unsigned long long)row->n_leaves, (unsigned long long)row->n_bytes,
               rw_load_figure(row->compared.mean_b, mean),
               rw_compare_signed(row->compared.difference, difference),
               rw_compare_signed(row->compared.low, low),
               rw_compare_signed(row->compared.high, high),
               isnan(row->held_out) ? "-" : rw_compare_signed(row->held_out, held_out),
               i == pruned->chosen ? "  written" : "");
    }
    printf("\ndifference: from the whole model, %s is better; interval: %d resamples of the %u "
           "queries that count%s\n%s\n",
           pruned->lower_is_better ? "lower" : "higher", pruned->n_samples,
           pruned->rows[0].compared.n_queries,
           isnan(pruned->rows[0].held_out)
               ? ""
               : "\nheld out: the difference in half of the queries, by trees that the other half "
                 "chose",
           pruned->conventions);
}

static void print_json(const struct rw_pruned *pruned)
{
    json_t *rows = json_array();
    for (int i = 0; i < pruned->n_rows; i++) {
        const struct rw_prune_row *row = &pruned->rows[i];
        json_array_append_new(
            rows, json_pack("{s:i,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:b}", "trees", row->n_trees,
                            "leaves", (json_int_t)row->n_leaves, "bytes", (json_int_t)row->n_bytes,
                            "mean", rw_load_json_number(row->compared.mean_b), "difference",
                            rw_load_json_number(row->compared.difference), "low",
                            rw_load_json_number(row->compared.low), "high",
                            rw_load_json_number(row->compared.high), "held_out",
                            rw_load_json_number(row->held_out), "written", i == pruned->chosen));
    }
    rw_load_json_print(json_pack("{s:s,s:b,s:f,s:I,s:i,s:o,s:o}", "metric", pruned->metric,
                                 "lower_is_better", pruned->lower_is_better, "loss", most_loss,
                                 "queries", (json_int_t)pruned->rows[0].compared.n_queries,
                                 "samples", pruned->n_samples, "conventions",
                                 rw_load_json_text(pruned->conventions), "rows", rows),
                       stdout);
}

static int check(struct rw_cli *cli)
{
    RW_STEP(rw_load_loss(cli, loss, &most_loss));
    if (strcmp(order, "any") != 0 && strcmp(order, "last") != 0)
        return rw_wrong(cli, "option '--order': expected any or last, found '%s'", order);
    return rw_params_check_eval(cli->ctx, cli->params);
}

/* In halves of scorings of the data. */
static int on_step(void *user, int done, int total)
{
    const struct rw_cli *cli = user;
    if (!rw_msg_is_quiet())
        rw_progress_show(done, total, rw_dataset_n_docs(cli->dataset) / 2);
    return 0;
}

static int prune(struct rw_cli *cli, struct rw_pruned **pruned)
{
    const struct rw_prune_hooks hooks = {cli, on_step};
    RW_STEP(rw_interrupts_stop_calls(cli->ctx));
    rw_progress_start();
    const int status =
        rw_prune(cli->ctx, rw_params_eval(cli->params), cli->model, cli->dataset, most_loss,
                 strcmp(order, "last") == 0 ? RW_PRUNE_LAST : RW_PRUNE_ANY, &hooks, pruned);
    rw_progress_end();
    return rw_interrupts_end(status, output);
}

static int run(struct rw_cli *cli)
{
    static struct rw_pruned *pruned;
    const struct rw_list data = {cli->operands.text + 1, cli->operands.n - 1};
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    RW_STEP(rw_out_file_check(cli->ctx, output));
    RW_STEP(rw_load_weighted(cli, &data));
    rw_load_warn_lacking(cli);
    RW_STEP(prune(cli, &pruned));
    int status = rw_model_write(cli->ctx, pruned->model, output);
    if (status == 0 && json)
        print_json(pruned);
    else if (status == 0)
        print_table(pruned);
    rw_pruned_free(pruned);
    return status;
}

const struct rw_command rw_cmd_prune = {
    .name = "prune",
    .brief = "drop trees that a metric does not miss",
    .operands = OPERANDS,
    .about = "Writes the smallest model, of some of MODEL's trees, whose metric on DATA is within "
             "--loss of the whole model's, and prints what other numbers of trees would lose. The "
             "data decide which trees go: take none that were trained on, and measure what is "
             "written on a third set.",
    .least = 2,
    .replaced_by = "output",
    .most = -1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads ",
    .check = check,
    .run = run,
};
