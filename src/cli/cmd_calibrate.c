/* `rankwood calibrate` fits a calibration, a map of scores to probabilities, and stores it in
 * the model. */
#include "cli/cli.h"

static const char *output;
static struct rw_calibrate how = RW_CALIBRATE_DEFAULTS;
static const struct rw_option options[] = {
    {"method", "METHOD",
     "isotonic: the best non-decreasing fit; logistic: Platt scaling, 1 / (1 + exp(-(a * "
     "score + b))), for few documents [default: isotonic]",
     RW_OPTION_TEXT, .value = &how.method},
    {"output", "MODEL", "write the model with its calibration to this file (required)",
     RW_OPTION_OUTPUT, .value = &output, .needed = 1},
    {0},
};

static void print(const struct rw_cli *cli, const struct rw_calibration *map,
                  const struct rw_calibrated *figures)
{
    static const char *const keys[] = {"before", "fitted", "held_out"};
    static const char *const names[] = {"uncalibrated, 1 / (1 + exp(-score))",
                                        "calibrated, documents it was fitted to",
                                        "calibrated, documents held out"};
    const struct rw_calibration_figures *const of[] = {&figures->before, &figures->fitted,
                                                       &figures->held_out};
    json_t *document = rw_result_row("calibration:o", rw_load_calibration(map)),
           *rows = json_array();
    for (int i = 0; i < 3; i++) {
        json_t *row = rw_result_row("log_loss:n brier:n error:n", of[i]->log_loss, of[i]->brier,
                                    of[i]->error);
        json_object_set_new(document, keys[i], row);
        json_object_update(rw_result_add(rows, "probabilities:s", names[i]), row);
    }
    rw_result_set(document, "folds:i documents:u queries:u relevant:u", figures->n_folds,
                  figures->n_docs, figures->n_queries, figures->n_relevant);
    rw_result_rows(NULL, rows, "probabilities;log_loss=log loss;brier=Brier;error=ECE");
    rw_result_line("%u documents in %u queries, %u with a label of at least %g", figures->n_docs,
                   figures->n_queries, figures->n_relevant, map->relevant);
    if (figures->n_folds > 0)
        rw_result_line(
            "held out: %d folds of queries; each is measured with a calibration fitted to "
            "the others",
            figures->n_folds);
    rw_result_line(
        "log loss: mean of -log(p of the true outcome, at least 2^-50); Brier: mean of "
        "(p - y)^2, where y is 1 or 0\n"
        "ECE (expected calibration error): sum over 10 equal-width bins of p of\n"
        "     |mean y - mean p| times the bin's fraction of the documents; all figures use "
        "document weights");
    rw_result_print(cli, document);
}

static int check(struct rw_cli *cli)
{
    how.relevant = rw_params_eval(cli->params)->relevant;
    how.device = rw_params_get(cli->params, "device");
    if (strcmp(output, "-") == 0)
        return rw_wrong(cli,
                        "the results are written to standard output: pass a file name to '-o'");
    return rw_calibrate_check(cli->ctx, &how);
}

static int run(struct rw_cli *cli)
{
    static struct rw_model *calibrated;
    struct rw_calibrated figures;
    struct rw_calibration map;
    RW_STEP(rw_load_model_and_data(cli, NULL));
    RW_STEP(rw_model_calibrate(cli->ctx, cli->model, cli->dataset, &how, &figures, &calibrated));
    RW_STEP(rw_model_write(cli->ctx, calibrated, output));
    rw_model_calibration(calibrated, &map);
    print(cli, &map, &figures);
    return 0;
}

const struct rw_command rw_cmd_calibrate = {
    .name = "calibrate",
    .brief = "map the scores of a model to probabilities",
    .operands = "MODEL DATA... -o MODEL",
    .about = "Adds a calibration to a model: a map from its scores to the probability that a label "
             "is at least --relevant. 'predict --probability' prints these probabilities. Use data "
             "that the model was not trained on. Pairwise objectives such as lambdarank "
             "train scores that are comparable only within a query. Check the printed calibration "
             "errors before you compare documents of different queries.",
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " relevant threads device ",
    .check = check,
    .run = run,
};
