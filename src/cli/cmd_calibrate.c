/* rankwood calibrate: a map of a model's scores to probabilities, kept in the model. */
#include <string.h>

#include "cli/load.h"

static const char *output;
static struct rw_calibrate how = RW_CALIBRATE_DEFAULTS;
static int json;
static const struct rw_option options[] = {
    {"method", 0, "METHOD",
     "isotonic: any map that never falls, as near to the labels as can be; logistic: "
     "1 / (1 + exp(-(a x score + b))), Platt's, for few documents [default: isotonic]",
     RW_OPTION_TEXT, .value = &how.method},
    {"json", 0, NULL, "print as JSON, every digit", RW_OPTION_FLAG, .value = &json},
    {"output", 'o', "MODEL", "where the model goes, with its map (needed)", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {0},
};

static void print_row(const char *what, const struct rw_calibration_figures *figures)
{
    char a[RW_FIGURE_ROOM], b[RW_FIGURE_ROOM], c[RW_FIGURE_ROOM];
    printf("%-33s  %10s  %10s  %10s\n", what, rw_load_figure(figures->log_loss, a),
           rw_load_figure(figures->brier, b), rw_load_figure(figures->error, c));
}

static void print_text(const struct rw_calibration *map, const struct rw_calibrated *figures)
{
    rw_load_print_calibration(map);
    printf("\n%-33s  %10s  %10s  %10s\n", "", "log loss", "Brier", "ECE");
    print_row("before, 1 / (1 + exp(-score))", &figures->before);
    print_row("map, documents it was fitted to", &figures->fitted);
    print_row("map, documents held out", &figures->held_out);
    printf("\n%u documents in %u queries, %u of a label of %g or more\n", figures->n_docs,
           figures->n_queries, figures->n_relevant, map->relevant);
    if (figures->n_folds > 0)
        printf("held out: by queries in %d parts, each measured with a map of the others\n",
               figures->n_folds);
    puts("log loss: mean of -log(p of what is so, at least 2^-50); Brier: mean of (p - y)^2, y 1 "
         "or 0\n"
         "ECE: expected calibration error, over 10 bins of p of equal width the sum of\n"
         "     |mean y - mean p| x the share of the documents; all of them by documents' weights");
}

static json_t *figures_json(const struct rw_calibration_figures *figures)
{
    return json_pack("{s:o,s:o,s:o}", "log_loss", rw_load_json_number(figures->log_loss), "brier",
                     rw_load_json_number(figures->brier), "error",
                     rw_load_json_number(figures->error));
}

static void print_json(const struct rw_calibration *map, const struct rw_calibrated *figures)
{
    rw_load_json_print(
        json_pack("{s:o,s:o,s:o,s:o,s:i,s:I,s:I,s:I}", "calibration", rw_load_json_calibration(map),
                  "before", figures_json(&figures->before), "fitted",
                  figures_json(&figures->fitted), "held_out", figures_json(&figures->held_out),
                  "folds", figures->n_folds, "documents", (json_int_t)figures->n_docs, "queries",
                  (json_int_t)figures->n_queries, "relevant", (json_int_t)figures->n_relevant),
        stdout);
}

static int check(struct rw_cli *cli)
{
    how.relevant = rw_params_eval(cli->params)->relevant;
    how.device = rw_params_get(cli->params, "device");
    if (strcmp(output, "-") == 0)
        return rw_wrong(cli, "the figures go to standard output: give '-o' a name");
    return rw_calibrate_check(cli->ctx, &how);
}

static int run(struct rw_cli *cli)
{
    static struct rw_model *calibrated;
    struct rw_calibrated figures;
    struct rw_calibration map;
    const struct rw_list data = {cli->operands.text + 1, cli->operands.n - 1};
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    RW_STEP(rw_load_weighted(cli, &data));
    rw_load_warn_lacking(cli);
    RW_STEP(rw_model_calibrate(cli->ctx, cli->model, cli->dataset, &how, &figures, &calibrated));
    RW_STEP(rw_model_write(cli->ctx, calibrated, output));
    rw_model_calibration(calibrated, &map);
    if (json)
        print_json(&map, &figures);
    else
        print_text(&map, &figures);
    rw_model_free(calibrated);
    return 0;
}

const struct rw_command rw_cmd_calibrate = {
    .name = "calibrate",
    .brief = "give a model probabilities: a map of its scores",
    .operands = "MODEL DATA... -o MODEL",
    .about = "Fits a map of the model's scores to the probability that a document's label is at "
             "least --relevant, and writes the model with it; 'predict --probability' prints its "
             "values. DATA should not be what the model was trained on. A pairwise objective "
             "(lambdarank) makes scores that compare the documents of one query; across queries "
             "the map is as good as the figures say.",
    .least = 2,
    .most = -1,
    .options = options,
    .roles = RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " relevant threads device ",
    .check = check,
    .run = run,
};
