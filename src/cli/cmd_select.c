/* `rankwood select` searches for a small feature set with which a metric drops by at most --loss.
 * "Within the loss" says that of a set. */
#include "cli/cli.h"

static struct {
    struct rw_dataset *valid, *test;
    struct rw_select_options how;
    struct rw_selected *selected;
    struct rw_out_file list; /* --output; the model is written to cli->out */
} job = {.how = {.most_loss = 0.002}};

static struct rw_list valid_files, test_files;
static const char *output, *model_path;
static unsigned long long repeats = 5;
#define OPERANDS "DATA... --valid DATA"
static const struct rw_option options[] = {
    {"valid", "DATA",
     "validation set: a file, or several as a.txt,b.txt (required); half of its queries rank "
     "features, the other half measures the metric",
     RW_OPTION_INPUTS, .value = &valid_files, .needed = 1},
    {"test", "DATA", "data to measure once, with all features and with the selected ones",
     RW_OPTION_INPUTS, .value = &test_files},
    {RW_OPTION_FOLD_BY},
    {"loss", "X",
     "largest allowed drop of the metric (rise of rmse or logloss), 0 or more [default: 0.002]",
     RW_OPTION_LOSS, .value = &job.how.most_loss},
    {"sure", NULL, "require the whole 95 % interval, not only the mean, to stay within --loss",
     RW_OPTION_FLAG, .value = &job.how.is_sure},
    {"repeats", "N", "permutations per feature, 1 to 1000 [default: 5]", RW_OPTION_NUMBER,
     .value = &repeats, .range = {1, 1000}},
    {"output", "FILE",
     "write the list of selected features to this file, for 'train --config FILE'",
     RW_OPTION_OUTPUT, .value = &output},
    {"model", "MODEL", "write the model of the selected features to this file", RW_OPTION_OUTPUT,
     .value = &model_path},
    {0},
};

/* ---- progress ---- */

/* Prints the result of one feature set. at: 0 for the set of all features. */
static int print_row(void *user, int at, const struct rw_select_row *row)
{
    const struct rw_cli *cli = user;
    const char *number = rw_text("%u feature%s", row->n_features, row->n_features == 1 ? "" : "s");
    const char *found =
        rw_text("%d trees, %s %s", row->n_trees, rw_params_get(cli->params, "metric"),
                rw_figure(row->compared.mean_b));
    if (row->n_trees == 0)
        rw_msg_line("%s: no tree could be grown", number);
    else if (at == 0)
        rw_msg_line("%s: %s", number, found);
    else
        rw_msg_line("%s: %s, %s: %s", number, found, rw_figure_signed(row->compared.difference),
                    row->is_within ? "within the loss" : "the loss is too large");
    return 0;
}

/* ---- printing ---- */

static json_t *compared_json(const struct rw_compared *compared)
{
    return rw_result_row("mean_all:n mean:n difference:n low:n high:n queries:u", compared->mean_a,
                         compared->mean_b, compared->difference, compared->low, compared->high,
                         compared->n_queries);
}

static void print(const struct rw_cli *cli, const struct rw_selected *selected)
{
    const struct rw_compared *test = selected->test;
    json_t *rows = json_array(), *features = json_array();
    for (int i = 0; i < selected->n_rows; i++) {
        const struct rw_select_row *row = &selected->rows[i];
        json_t *json = compared_json(&row->compared);
        rw_result_set(json, "features:u trees:i within:b chosen:b", row->n_features, row->n_trees,
                      row->is_within, i == selected->chosen);
        json_array_append_new(rows, json);
    }
    for (uint32_t i = 0; i < selected->n_features; i++) {
        const struct rw_permuted *one = &selected->features[i];
        const char *name = rw_model_feature_name(selected->model, one->feature);
        name = *name ? name : rw_dataset_feature_name(cli->dataset, one->feature);
        rw_result_add(features, "feature:u name:s shuffled_loss:n deviation:n", one->feature, name,
                      one->loss, one->deviation);
    }
    rw_result_rows(NULL, rows,
                   rw_text("features;trees;-mean_all;mean=%s;difference==+;low=2.5 %%=+;"
                           "high=97.5 %%=+;-queries;within=within the loss;chosen",
                           selected->metric));
    rw_result_rows(NULL, features, "feature;shuffled_loss=loss if shuffled;deviation;name");
    if (test)
        rw_result_line(
            "test: %s %.6f with all features, %.6f with the selected ones: %+.6f (%+.6f to "
            "%+.6f), %u queries",
            selected->metric, test->mean_a, test->mean_b, test->difference, test->low, test->high,
            test->n_queries);
    rw_result_line(
        "difference: from the model of all features, on half of the validation set (%s is better); "
        "interval: %d resamples of its %u queries that count\n"
        "loss if shuffled: loss of the metric on the other half if the feature's values are "
        "shuffled, mean of %d permutations\n"
        "figures on the validation set are optimistic, because it chose the features%s\n%s",
        selected->lower_is_better ? "lower" : "higher", selected->n_samples,
        selected->rows[0].compared.n_queries, job.how.n_repeats,
        test ? "; figures on the test set are not" : "; '--test' measures on other data",
        selected->conventions);
    rw_result_print(cli,
                    rw_result_row("metric:s lower_is_better:b loss:n samples:i conventions:s "
                                  "rows:O features:O list:s test:o",
                                  selected->metric, selected->lower_is_better, job.how.most_loss,
                                  selected->n_samples, selected->conventions, rows, features,
                                  selected->list, test ? compared_json(test) : json_null()));
}

/* ---- writing ---- */

/* Writes the model of --model and the list of features, which is a parameter file for --config.
 * Comments above the list describe the selection. */
static int write_all(struct rw_cli *cli, const struct rw_selected *selected)
{
    const struct rw_compared *chosen = &selected->rows[selected->chosen].compared;
    if (model_path) {
        RW_STEP(rw_model_write_file(cli->ctx, selected->model, cli->out.file, model_path));
        RW_STEP(rw_out_file_commit(cli->ctx, &cli->out));
    }
    if (!output)
        return 0;
    fprintf(job.list.file,
            "# %u of %u features, chosen by rankwood select: %s %s on half of the validation set, "
            "%s from all features\n# for rankwood train DATA --valid DATA --config THIS\n"
            "features = %s\n",
            selected->n_features, selected->rows[0].n_features, selected->metric,
            rw_figure(chosen->mean_b), rw_figure_signed(chosen->difference), selected->list);
    return rw_out_file_commit(cli->ctx, &job.list);
}

static int run(struct rw_cli *cli)
{
    if (model_path)
        RW_STEP(rw_out_file_open(cli->ctx, &cli->out, model_path));
    if (output)
        RW_STEP(rw_out_file_open(cli->ctx, &job.list, output));
    RW_STEP(rw_train_read(cli));
    RW_STEP(rw_load_dataset(cli, &valid_files, 0, &job.valid));
    RW_STEP(rw_load_groups(cli, job.valid, &job.how.groups));
    if (test_files.n)
        RW_STEP(rw_load_dataset(cli, &test_files, 0, &job.test));
    RW_STEP(rw_load_check_columns(cli));
    RW_STEP(rw_load_report_size(cli, "train", &cli->operands, cli->dataset, NULL));
    RW_STEP(rw_load_report_size(cli, "valid", &valid_files, job.valid, NULL));
    if (job.test)
        RW_STEP(rw_load_report_size(cli, "test", &test_files, job.test, NULL));
    job.how.n_repeats = (int)repeats;
    job.how.test = job.test;
    job.how.user = cli;
    job.how.on_row = print_row;
    RW_STEP(rw_interrupts_stop_calls(cli->ctx));
    RW_STEP(rw_interrupts_end(
        rw_select(cli->ctx, cli->params, cli->binned, job.valid, &job.how, &job.selected), NULL));
    rw_load_stage_end("select");
    RW_STEP(write_all(cli, job.selected));
    print(cli, job.selected);
    return 0;
}

const struct rw_command rw_cmd_select = {
    .name = "select",
    .brief = "select a small feature set within a metric tolerance",
    .operands = OPERANDS,
    .about = "Searches for a small feature set with which the metric on --valid drops by at most "
             "--loss, compared with all features. It trains on the half of the features with the "
             "highest permutation importance, and halves again until the metric drops too much. "
             "Then it tries numbers of features in between. DATA is read and binned once. Prints "
             "how much the metric drops with each set, and the selected features.",
    .has_results = 1,
    .options = options,
    .params = "*",
    .run = run,
};
