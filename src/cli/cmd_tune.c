/* `rankwood tune` searches for parameters, and writes the model and a parameter file of the best
 * trial. The search is that of rw_tune. */
#include "cli/cli.h"

enum { MOST_SPACE = 65536 }; /* bytes of a space */

static struct {
    struct rw_dataset *valid;
    struct rw_tune_options how;
    struct rw_checkpoints checkpoints;
    struct rw_tuned *tuned;
    struct rw_out_file params; /* --params-out; the model is written to cli->out */
    const char *ignore;        /* parameter `ignore`, which reading a table empties */
} job;

static struct rw_list valid_files;
static const char *output, *params_path, *space_path, *time_text, *checkpoint_path, *resume_path;
static unsigned long long n_folds = 5, n_trials;
static const struct rw_option options[] = {
    {"valid", "DATA",
     "validation set: a file, or several as a.txt,b.txt; it stops training early and measures the "
     "trials",
     RW_OPTION_INPUTS, .value = &valid_files},
    {"folds", "K", "without --valid: cross-validate each trial in K folds by query [default: 5]",
     RW_OPTION_NUMBER, .value = &n_folds, .range = {2, 1000}, .idle_with = " valid "},
    {RW_OPTION_FOLD_BY},
    {"trials", "N",
     "number of trials; the first has the given parameters; --trials or --time is required",
     RW_OPTION_NUMBER, .value = &n_trials, .range = {1, 1000000}, .idle_with = " time "},
    {"time", "T",
     "search for at least this time, such as 30s, 10m or 2h, up to the end of a rung; prints the "
     "--trials that repeats the search",
     RW_OPTION_TEXT, .value = &time_text},
    {"space", "FILE",
     "parameters to search, instead of the default ones: lines such as 'leaves 8 255 log' or "
     "'objective lambdarank|yetirank'",
     RW_OPTION_INPUT, .value = &space_path},
    {"checkpoint", "FILE", "write the results of all trials so far to this file after each rung",
     RW_OPTION_OUTPUT, .value = &checkpoint_path},
    {"resume", "FILE|auto",
     "resume from a checkpoint and reach the result of an uninterrupted search; auto: from the "
     "--checkpoint file, if it exists",
     RW_OPTION_INPUT, .value = &resume_path, .replaced_by = "checkpoint", .no_file = "auto"},
    {"output", "MODEL", "train a model with the chosen parameters, and write it to this file",
     RW_OPTION_OUTPUT, .value = &output},
    {"params-out", "FILE", "write the chosen parameters to this file, for 'train --config FILE'",
     RW_OPTION_OUTPUT, .value = &params_path},
    {0},
};

/* Prints the result of a trial in a rung. */
static int print_trial(void *user, const struct rw_tune_trial *trial)
{
    const struct rw_cli *cli = user;
    if (trial->failure)
        rw_msg_line("trial %d failed: %s", trial->number, trial->failure);
    else
        rw_msg_line("trial %d: %d round%s, %s %s%s", trial->number, trial->rounds,
                    trial->rounds == 1 ? "" : "s", rw_params_get(cli->params, "metric"),
                    rw_figure(trial->mean), trial->is_whole ? "" : ", so far");
    return rw_interrupted() != 0;
}

/* ---- printing ---- */

static json_t *rows_json(const struct rw_tuned *tuned)
{
    json_t *rows = json_array();
    for (int i = 0; i < tuned->n_trials; i++) {
        const struct rw_tune_trial *trial = &tuned->trials[i];
        json_t *row = rw_result_add(rows, "trial:i seed:l", trial->number, trial->seed);
        for (int k = 0; k < tuned->n_names; k++)
            json_object_set_new(row, tuned->names[k],
                                rw_result_param(tuned->names[k], trial->values[k]));
        rw_result_set(
            row,
            "whole:b rounds:i total_leaves:n mean:n difference:n error:n level:b chosen:b "
            "failure:s",
            trial->is_whole, trial->rounds, trial->leaves, trial->mean, trial->difference,
            trial->error, trial->is_level, i == tuned->chosen, trial->failure);
    }
    return rows;
}

static void print(struct rw_cli *cli, const struct rw_tuned *tuned)
{
    const struct rw_compared *to = &tuned->estimate;
    const struct rw_tune_trial *chosen = &tuned->trials[tuned->chosen];
    json_t *rows = rows_json(tuned);
    const char *columns = "", *settings = "";
    for (int k = 0; k < tuned->n_names; k++) {
        columns = rw_text("%s;%s==%s", columns, tuned->names[k], "%g");
        if (*chosen->values[k])
            settings = rw_text("%s --%s %s", settings, tuned->names[k], chosen->values[k]);
    }
    rw_result_rows(
        NULL, rows,
        rw_text("trial;-seed;whole;rounds;total_leaves=all leaves=%%.0f;mean=%s;difference==+;"
                "error;-level;chosen%s;-failure",
                tuned->metric, columns));
    for (int i = 0; i < tuned->n_trials; i++) {
        if (tuned->trials[i].failure)
            rw_result_line("trial %d failed: %s", i, tuned->trials[i].failure);
    }
    rw_result_line("chosen: trial %d, %d round%s:%s --seed %llu", chosen->number, chosen->rounds,
                   chosen->rounds == 1 ? "" : "s", settings, (unsigned long long)chosen->seed);
    rw_result_line(
        "estimate: %s %.6f with tuned parameters, %.6f with the given ones: %+.6f (%+.6f to "
        "%+.6f), %u queries\n"
        "estimate: %seach half of the queries is measured with the setting that the other half "
        "chose; interval: %d resamples of the queries",
        tuned->metric, to->mean_b, to->mean_a, to->difference, to->low, to->high, to->n_queries,
        tuned->chosen > 0 ? "" : "trial 0 is kept, so this is what such a search gains: ",
        tuned->n_samples);
    if (tuned->chosen > 0 && to->difference <= 0)
        rw_result_line("estimate: no gain on queries that did not choose the setting; the given "
                       "parameters may be as good");
    rw_result_line(
        "whole: trained until early stopping, other trials were dropped before; all leaves: of "
        "all trees together\n"
        "difference: from the best whole trial; error: its standard error, paired by query\n"
        "chosen: of the trials that are better than trial 0 by more than two errors and within one "
        "error of the best, the one with the fewest leaves; without such a trial, trial 0\n"
        "figures of the table are optimistic, because they chose the setting; the estimate is "
        "not\n%s",
        tuned->conventions);
    if (time_text)
        rw_result_line("'--trials %d' repeats this search", tuned->n_trials);
    rw_result_print(
        cli,
        rw_result_row(
            "metric:s trials:i folds:i conventions:s rows:O chosen:i params:o "
            "estimate:o",
            tuned->metric, tuned->n_trials, job.how.n_folds, tuned->conventions, rows,
            chosen->number, rw_result_params(tuned->params),
            rw_result_row("mean_given:n mean:n difference:n low:n high:n p:n queries:u samples:i",
                          to->mean_a, to->mean_b, to->difference, to->low, to->high, to->p,
                          to->n_queries, tuned->n_samples)));
}

/* ---- writing ---- */

static int write_all(struct rw_cli *cli, const struct rw_tuned *tuned)
{
    const struct rw_compared *to = &tuned->estimate;
    if (output && tuned->model) {
        RW_STEP(rw_model_write_file(cli->ctx, tuned->model, cli->out.file, output));
        RW_STEP(rw_out_file_commit(cli->ctx, &cli->out));
    }
    rw_out_file_abandon(&cli->out); /* the results are for standard output */
    if (!params_path)
        return 0;
    if (*job.ignore)
        RW_STEP(rw_params_set(cli->ctx, tuned->params, "ignore", job.ignore));
    if (tuned->chosen == 0)
        fprintf(job.params.file, "# trial 0 of %d, kept by rankwood tune: the given parameters\n",
                tuned->n_trials);
    else
        fprintf(job.params.file,
                "# trial %d of %d, chosen by rankwood tune: estimated %s %s, %s from the given "
                "parameters\n",
                tuned->chosen, tuned->n_trials, tuned->metric, rw_figure(to->mean_b),
                rw_figure_signed(to->difference));
    fputs("# for rankwood train DATA --config THIS\n", job.params.file);
    RW_STEP(rw_params_write(cli->ctx, tuned->params, job.params.file));
    return rw_out_file_commit(cli->ctx, &job.params);
}

/* ---- the work ---- */

static int read_space(void)
{
    static char text[MOST_SPACE];
    FILE *file = fopen(space_path, "rb");
    if (!file)
        return rw_msg_errno(errno, "cannot open '%s'", space_path);
    const size_t n = fread(text, 1, sizeof(text), file);
    const int why = ferror(file) ? errno : 0;
    fclose(file);
    if (why)
        return rw_msg_errno(why, "cannot read '%s'", space_path);
    if (n == sizeof(text) || memchr(text, 0, n)) {
        rw_msg_error("'%s' is not a space: expected less than %d bytes of text", space_path,
                     MOST_SPACE);
        return RW_EXIT_FAILURE;
    }
    job.how.space = text;
    job.how.space_name = space_path;
    return 0;
}

static int run(struct rw_cli *cli)
{
    if (output)
        RW_STEP(rw_out_file_open(cli->ctx, &cli->out, output));
    if (params_path)
        RW_STEP(rw_out_file_open(cli->ctx, &job.params, params_path));
    if (space_path)
        RW_STEP(read_space());
    job.ignore = rw_copy(rw_params_get(cli->params, "ignore"));
    RW_STEP(rw_load_weighted(cli, &cli->operands));
    if (valid_files.n)
        RW_STEP(rw_load_dataset(cli, &valid_files, 0, &job.valid));
    RW_STEP(rw_load_check_columns(cli));
    RW_STEP(rw_load_report_size(cli, "train", &cli->operands, cli->dataset, NULL));
    if (job.valid)
        RW_STEP(rw_load_report_size(cli, "valid", &valid_files, job.valid, NULL));
    RW_STEP(rw_load_groups(cli, job.valid ? job.valid : cli->dataset, &job.how.groups));
    job.how.n_trials = (int)n_trials;
    job.how.n_folds = job.valid ? 0 : (int)n_folds;
    job.how.without_model = !output;
    job.how.user = cli;
    job.how.on_trial = print_trial;
    if (checkpoint_path || resume_path)
        job.how.checkpoints = &job.checkpoints;
    rw_load_warn_checkpoint(&job.checkpoints);
    RW_STEP(rw_interrupts_stop_calls(cli->ctx));
    RW_STEP(rw_interrupts_end(
        rw_tune(cli->ctx, cli->params, cli->dataset, job.valid, &job.how, &job.tuned), NULL));
    rw_load_stage_end("tune");
    RW_STEP(write_all(cli, job.tuned));
    print(cli, job.tuned);
    if (!job.tuned->is_interrupted)
        return 0;
    rw_msg_warning("interrupted: the result is that of '--trials %d'%s", job.tuned->n_trials,
                   output ? "; no model was written" : "");
    if (checkpoint_path)
        rw_msg_hint("'--resume auto' continues from '%s'", checkpoint_path);
    return 128 + rw_interrupted();
}

static int check(struct rw_cli *cli)
{
    struct rw_checkpoints parsed = {0};
    if (!time_text && !n_trials)
        return rw_wrong(cli, "expected '--trials N' or '--time T'");
    RW_STEP(rw_load_checkpoints(cli, checkpoint_path, resume_path, &job.checkpoints));
    if (!time_text)
        return 0;
    if (rw_checkpoints_set_every(cli->ctx, &parsed, time_text) < 0 || !(parsed.every_seconds > 0.0))
        return rw_wrong(
            cli, "invalid time '%s': expected a whole number above 0 with a unit: 30s, 10m or 2h",
            time_text);
    job.how.seconds = parsed.every_seconds;
    return 0;
}

const struct rw_command rw_cmd_tune = {
    .name = "tune",
    .brief = "search for parameters that improve a metric",
    .operands = "DATA...",
    .about = "Searches for parameters, and compares them with the given ones. Parameters that are "
             "given are not searched. Trials train for few rounds first, and only the best third "
             "trains for longer. Results depend on the data, --seed, --space and --trials, not on "
             "the machine. Prints the trials, the chosen one, and what to expect from it on other "
             "queries.",
    .has_results = 1,
    .options = options,
    .params = "*",
    .check = check,
    .run = run,
};
