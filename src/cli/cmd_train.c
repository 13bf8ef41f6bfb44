/* `rankwood train`: options, the --log file, progress and messages, workers, checkpoints, and the
 * writing of the model. The library trains: rw_train_on, or rw_refit with --refit. Of several
 * workers, worker 0 leads: it alone prints, and writes the log and the model. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *output, *log_path, *init_path, *refit_path, *checkpoint_path, *checkpoint_every,
    *resume_path, *effort;
static struct rw_record own, *manifest = &own; /* `manifest` may be that of 'verify' */
static struct rw_list valid_files;
/* Side columns of validation sets: --valid-weights and so on, with a file per set. */
enum { WEIGHTS, QUERY_WEIGHTS, START_SCORES, N_SIDES };
static const char *const sides[] = {"weights", "query-weights", "start-scores"};
static struct rw_list side_files[N_SIDES];
static int plan_only, config_only;
static struct rw_exchange made_for; /* --for and --featureset */
static unsigned long long n_workers = 1;
static const struct rw_option options[] = {
    {"valid", "DATA", "validation set: a file, or several as a.txt,b.txt (repeatable)",
     RW_OPTION_INPUT_SETS, .value = &valid_files},
    {"split-time", "COLUMN|FILE",
     "validate on the latest fifth of the queries, train on earlier ones; numbers or dates, a "
     "column of a table, or a file of lines 'QUERY TIME'",
     RW_OPTION_INPUT, .value = &rw_load_split_time},
    {RW_OPTION_FOLD_BY},
    {"output", "MODEL", "write the model to this file (required)", RW_OPTION_OUTPUT,
     .value = &output, .also = ".interrupted"},
    {"log", "FILE.jsonl", "write parameters, metrics and timings, one JSON object per line",
     RW_OPTION_OUTPUT, .value = &log_path, .idle_with = " plan print-config "},
    {"init", "MODEL", "continue training from this model, with up to --rounds more trees",
     RW_OPTION_INPUT, .value = &init_path, .idle_with = " plan ", .replaced_by = "output"},
    {"refit", "MODEL",
     "keep the trees of this model and fit their leaf values to DATA (see --refit-decay); "
     "parameters default to those of its training",
     RW_OPTION_INPUT, .value = &refit_path, .replaced_by = "output"},
    {"manifest", "FILE",
     "write version, parameters and checksums of data and model as JSON, for 'rankwood verify'",
     RW_OPTION_OUTPUT, .value = &own.path, .idle_with = " plan print-config refit "},
    {"for", "FORMAT", "refuse to train (exit 2) if 'export --to FORMAT' might refuse the model",
     RW_OPTION_TEXT, .value = &made_for.format},
    {"featureset", "FILE.json",
     "feature set for --for opensearch, elasticsearch or elasticsearch-ml (required there), or "
     "solr, as in 'export'",
     RW_OPTION_INPUT, .value = &made_for.featureset, .idle_without = " for "},
    {"checkpoint", "FILE", "write checkpoints to this file, at intervals and when training ends",
     RW_OPTION_OUTPUT, .value = &checkpoint_path, .idle_with = " plan print-config refit "},
    {"checkpoint-every", "N|TIME",
     "interval: N rounds, or a time such as 30s, 10m or 2h [default: 60s, or longer if writing is "
     "slow]",
     RW_OPTION_TEXT, .value = &checkpoint_every, .idle_without = " checkpoint "},
    {"resume", "FILE|auto",
     "resume from a checkpoint and reach the model of an uninterrupted training; auto: from the "
     "--checkpoint file, if it exists",
     RW_OPTION_INPUT, .value = &resume_path, .idle_with = " plan print-config refit ",
     .replaced_by = "checkpoint", .no_file = "auto"},
    {"valid-weights", "FILE",
     "document weights: one file per --valid, in the same order, or 'none' (repeatable)",
     RW_OPTION_INPUTS_OR_NONE, .value = &side_files[WEIGHTS], .idle_without = " valid "},
    {"valid-query-weights", "FILE",
     "query weights: one file per --valid, in the same order, or 'none' (repeatable)",
     RW_OPTION_INPUTS_OR_NONE, .value = &side_files[QUERY_WEIGHTS], .idle_without = " valid "},
    {"valid-start-scores", "FILE",
     "start scores: one file per --valid, in the same order, or 'none' (repeatable)",
     RW_OPTION_INPUTS_OR_NONE, .value = &side_files[START_SCORES], .idle_without = " valid "},
    {"workers", "N",
     "test distributed training on this machine, with N threads as workers; the model does not "
     "change; for GPUs, mpirun and srun see docs/how-to/several-gpus.md",
     RW_OPTION_NUMBER, .value = &n_workers, .range = {1, RW_WORKERS_MOST_THREADS},
     .former = "ranks"},
    {"effort", "fast|default|best",
     "search for parameters before training, as 'tune' does: with 10 (fast), 37 (default) or 100 "
     "(best) trials, on --valid or in 5 folds [default: no search]",
     RW_OPTION_TEXT, .value = &effort, .idle_with = " plan print-config "},
    {"plan", NULL,
     "print the expected time per tree, or per round of --bags, and memory (see --format), then "
     "exit",
     RW_OPTION_FLAG, .value = &plan_only, .idle_with = " refit "},
    {"print-config", NULL,
     "print a --config file that trains the same model, with values for 'auto', then exit",
     RW_OPTION_FLAG, .value = &config_only, .idle_with = " refit "},
    {0},
};

/* ---- the log ---- */

/* train --log writes one JSON object per line. Its "record" is its kind. "params" occurs once per
 * start of the training, with the values used and the values given. "metrics" and "timing" occur
 * each round, "timing" also each stage. With --debias, "positions" follows the last round. A
 * training that resumes appends "resume", with the round after which it continues, and "params"
 * again. Values that depend on the machine are in "timing" and "params" only, so the other lines
 * can be compared between machines.
 */

static json_t *texts(const struct rw_list *list)
{
    json_t *array = json_array();
    for (int i = 0; i < list->n; i++)
        json_array_append_new(array, rw_result_text(list->text[i]));
    return array;
}

static json_t *values_json(struct rw_params *params)
{
    json_t *values = json_object();
    for (int i = 0; rw_param_info(i); i++) {
        const char *name = rw_param_info(i)->name;
        json_object_set_new(values, name, rw_result_param(name, rw_params_get(params, name)));
    }
    return values;
}

/* Returns the name of a set, as in the model file: "train" for set 0, "valid1" for set 1, ... */
static const char *log_set(int set, char buffer[32])
{
    if (set == 0)
        return "train";
    snprintf(buffer, 32, "valid%d", set);
    return buffer;
}

/* Adds an array of values: [n]; none if `values` is NULL. */
static void add_reals(json_t *record, const char *key, const double *values, int n)
{
    json_t *array = values ? json_array() : NULL;
    for (int i = 0; values && i < n; i++)
        json_array_append_new(array, json_real(values[i]));
    if (values)
        json_object_set_new(record, key, array);
}

/* ---- messages ---- */

/* Prints the propensities of the first displayed positions, with a line each. */
static void print_positions(const struct rw_positions *found)
{
    enum { MOST_LINES = 20 };
    for (int i = 0; i < found->n && i < MOST_LINES; i++)
        rw_msg_line("position %u: propensity %s (%s %s) %s, %llu documents", found->position[i],
                    rw_figure(found->propensity[i]), found->bias ? "bias" : "t-",
                    rw_figure(found->bias ? found->bias[i] : found->unclicked[i]),
                    found->is_given ? "given" : "found", (unsigned long long)found->n_docs[i]);
    if (found->n > MOST_LINES)
        rw_msg_line("and %d more positions (--log writes all)", found->n - MOST_LINES);
}

/* Adds a row of the plan. note: may be NULL. */
static void add_amount(json_t *rows, const char *what, json_t *amount, const char *unit,
                       const char *note)
{
    json_t *row = rw_result_add(rows, "what:s amount:o unit:s", what, amount, unit);
    if (note)
        json_object_set_new(row, "note", json_string(note));
}

static void print_plan(const struct rw_cli *cli, const struct rw_plan *plan)
{
    const struct {
        const char *what;
        uint64_t bytes;
        const char *note;
    } sums[] = {
        {"total", plan->bytes, plan->on_gpu ? "device memory" : "memory"},
        {"at most", plan->most_bytes, "while loading and choosing methods"},
        {"free", plan->free_bytes, NULL},
        {"codes in host memory", plan->far_bytes, "page-locked"},
        {"available", plan->host_free_bytes, "host memory"},
    };
    json_t *rows = json_array(), *parts = json_array(), *many = json_array();
    rw_result_line("device   %s\nthreads  %d", plan->device, plan->n_threads);
    for (int i = 0; i < plan->n_parts; i++) {
        const struct rw_plan_part *part = &plan->part[i];
        rw_result_add(parts, "name:s bytes:l", part->name, part->bytes);
        add_amount(rows, part->name, json_integer((json_int_t)part->bytes), "bytes", NULL);
    }
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        if (sums[i].bytes)
            add_amount(rows, sums[i].what, json_integer((json_int_t)sums[i].bytes), "bytes",
                       sums[i].note);
    }
    if (plan->far_bytes)
        add_amount(rows, "link", rw_result_real(plan->link_rate / 1e9), "GB/s",
                   "between host and device");
    const int has_bags = strcmp(rw_params_get(cli->params, "bags"), "1") != 0;
    add_amount(rows, has_bags ? "time per round" : "time per tree", rw_result_real(plan->tree_ms),
               "ms", "expected");
    for (int i = 0; i < 3 && plan->many[i].n_gpus; i++) { /* whether the GPUs are present or not */
        const struct rw_plan_many *of = &plan->many[i];
        add_amount(rows, rw_text("  on %d GPUs", of->n_gpus), rw_result_real(of->tree_ms), "ms",
                   rw_text("estimated, including %.3g ms of exchanges", of->exchange_ms));
        rw_result_add(many, "gpus:i tree_ms:n exchange_ms:n", of->n_gpus, of->tree_ms,
                      of->exchange_ms);
    }
    rw_result_rows(NULL, rows, "what=part;amount==%.3g;unit;note");
    rw_result_print(cli,
                    rw_result_row("device:s on_gpu:b threads:i parts:o bytes:l most_bytes:l "
                                  "free_bytes:l host_free_bytes:l far_bytes:l link_rate:n "
                                  "tree_ms:n many:o",
                                  plan->device, plan->on_gpu, plan->n_threads, parts, plan->bytes,
                                  plan->most_bytes, plan->free_bytes, plan->host_free_bytes,
                                  plan->far_bytes, plan->link_rate, plan->tree_ms, many));
}

/* ---- rounds ---- */

static struct {
    struct rw_checkpoints checkpoints;
    int rounds_run;
    int is_kept;  /* the model, a partial model or a checkpoint is written, so the log is kept */
    int by_folds; /* 1: --early-stop-rule folds chooses the number of rounds */
    int n_trials; /* of the search of --effort; 0: no search */
    struct rw_tuned *chosen; /* the choice of one of these two, or NULL */
    int disk_full;           /* the error status if disk space for one more tree is lacking, or 0 */
    uint64_t size[2];        /* documents and queries of the training set, on all workers */
} job;

/* Reserves disk space for the model with one more tree before it is needed, and half as much again
 * if there is room. */
static void reserve(struct rw_cli *cli, const struct rw_round *round)
{
    struct rw_ctx *ctx = cli->ctx;
    struct rw_out_file *out = &cli->out;
    const uint64_t needed = round->next_model_bytes;
    if (needed <= out->n_reserved || job.disk_full || manifest->expected)
        return;
    if (rw_out_file_reserve(ctx, out, needed + needed / 2) < 0)
        job.disk_full = rw_out_file_reserve(ctx, out, needed);
    if (job.disk_full)
        rw_msg_error("no disk space for more trees: %s", rw_last_error(ctx));
}

/* Only the worker that writes the model detects a full disk. */
static int should_stop(void *user)
{
    return rw_interrupted() ||
           (rw_workers_leads(user) && (job.disk_full || manifest->code || manifest->difference));
}

/* Sets *code, on every worker, to the exit code of a training that ended early: because any worker
 * received Ctrl-C or SIGTERM, or because the leading worker's disk is full. Otherwise *code is 0.
 * Returns 0 or an error status. */
static int share_end(struct rw_cli *cli, int *code)
{
    enum { INTERRUPT, TERMINATE, DISK, ENDS };
    const int leads = rw_workers_leads(cli);
    uint64_t n[ENDS] = {rw_interrupted() == SIGINT, rw_interrupted() == SIGTERM,
                        leads && job.disk_full == RW_ERR_MACHINE};
    RW_STEP(rw_workers_sum(cli->ctx, n, ENDS));
    *code = n[INTERRUPT]   ? 128 + SIGINT
            : n[TERMINATE] ? 128 + SIGTERM
            : n[DISK]      ? RW_EXIT_MACHINE
                           : 0;
    return 0;
}

/* Returns the number of validation sets. */
static int n_valid(void)
{
    return rw_load_split_time ? 1 : valid_files.n;
}

/* Like log_set, for messages: the only validation set is "valid". */
static const char *set_name(int set, char buffer[32])
{
    return set == 1 && n_valid() == 1 ? "valid" : log_set(set, buffer);
}

static int on_round(void *user, const struct rw_round *round)
{
    const double gb = (double)round->far_hist_bytes / 1e9;
    char line[2048], key[128], set[32];
    json_t *values = rw_train_log_is_open() ? json_object() : NULL;
    int at = snprintf(line, sizeof(line), "round %d/%d  %.3f s", round->round, round->n_rounds,
                      round->ms / 1e3);
    job.rounds_run = round->round;
    for (int i = 0; i < round->n_metrics; i++) {
        const struct rw_metric_value *metric = &round->metrics[i];
        if (at < (int)sizeof(line) - 1)
            at += snprintf(line + at, sizeof(line) - (size_t)at, "  %s %s %s",
                           set_name(metric->set, set), metric->name, rw_figure(metric->value));
        snprintf(key, sizeof(key), "%s %s", log_set(metric->set, set), metric->name);
        if (values)
            json_object_set_new(values, key, rw_result_real(metric->value));
    }
    rw_msg_line("%s%s", line, round->best_round == round->round ? "  best" : "");
    if (rw_msg_is_verbose())
        rw_msg_line("  %d leaves; ms: lambdas %.2f, histograms %.2f, splits %.2f, partition %.2f, "
                    "scores %.2f, metrics %.2f",
                    round->n_leaves, round->ms_lambdas, round->ms_histograms, round->ms_splits,
                    round->ms_partition, round->ms_scores, round->ms_metrics);
    if (rw_msg_is_verbose() && round->far_bytes)
        rw_msg_line(
            "  host memory: %.2f GB read, %.2f GB of them by histograms in %.2f ms: %.1f GB/s",
            (double)round->far_bytes / 1e9, gb, round->far_hist_ms,
            round->far_hist_ms > 0.0 ? gb / (round->far_hist_ms / 1e3) : 0.0);
    if (rw_msg_is_verbose() && round->bytes_sent)
        rw_msg_line("  %.2f MB sent to other workers", (double)round->bytes_sent / 1e6);
    if (values) {
        rw_train_log_write(rw_result_row("record:s round:i leaves:i best_round:i values:o",
                                         "metrics", round->round, round->n_leaves,
                                         round->best_round, values));
        rw_train_log_write(rw_result_row("record:s round:i ms:n lambdas:n histograms:n splits:n "
                                         "partition:n scores:n metrics:n",
                                         "timing", round->round, round->ms, round->ms_lambdas,
                                         round->ms_histograms, round->ms_splits,
                                         round->ms_partition, round->ms_scores, round->ms_metrics));
    }
    reserve(user, round);
    rw_progress_show(round->round, round->n_rounds, round->n_docs);
    return 0;
}

/* The library calls it for each checkpoint. From the first one on, the log is kept even if training
 * fails, since a resumed training continues it. */
static const char *note(void *user)
{
    (void)user;
    job.is_kept = 1;
    return rw_train_log_note();
}

static void on_resume(void *user, const struct rw_resumed *resumed)
{
    (void)user;
    job.rounds_run = resumed->round;
    rw_msg_line("resume: round %d of '%s'", resumed->round, resumed->path);
    rw_train_log_begin(resumed->note, resumed->round);
}

/* used: the parameters in use; cli->params: as given, with `auto` unresolved. */
static void on_start(void *user, struct rw_params *used)
{
    const struct rw_cli *cli = user;
    rw_record_begin(cli, manifest, used);
    if (!rw_train_log_is_open())
        return;
    const int resumed_round = rw_train_log_start();
    if (resumed_round > 0)
        rw_train_log_write(rw_result_row("record:s round:i", "resume", resumed_round));
    rw_train_log_write(
        rw_result_row("record:s version:s params:o given:o train:o valid:o documents:l "
                      "queries:l features:u workers:i",
                      "params", RW_VERSION, values_json(used), values_json(cli->params),
                      texts(&cli->operands), texts(&valid_files), job.size[0], job.size[1],
                      rw_load_n_features(cli), rw_workers_count(cli->ctx)));
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    (void)user;
    rw_load_stage(stage, ms, peak_bytes);
    rw_train_log_write(rw_result_row("record:s stage:s ms:n peak_bytes:l", "timing", stage, ms,
                                     (uint64_t)peak_bytes));
}

/* Called after the last round of a training with --debias. */
static void on_positions(void *user, const struct rw_positions *found)
{
    json_t *position = json_array(), *documents = json_array();
    (void)user;
    print_positions(found);
    for (int i = 0; i < found->n; i++) {
        json_array_append_new(position, json_integer(found->position[i]));
        json_array_append_new(documents, json_integer((json_int_t)found->n_docs[i]));
    }
    json_t *record = rw_result_row("record:s round:i given:b position:o documents:o", "positions",
                                   found->round, found->is_given, position, documents);
    add_reals(record, "bias", found->bias, found->n);
    add_reals(record, "propensity", found->propensity, found->n);
    add_reals(record, "unclicked", found->unclicked, found->n);
    rw_train_log_write(record);
}

/* ---- checks ---- */

/* Returns the file of a validation set's side column, or NULL. set: from 0. */
static const char *side_file(int side, int set)
{
    const struct rw_list *files = &side_files[side];
    return set < files->n && strcmp(files->text[set], "none") != 0 ? files->text[set] : NULL;
}

static int check_side_files(struct rw_cli *cli)
{
    const int n = valid_files.n;
    for (int i = 0; i < N_SIDES; i++) {
        if (side_files[i].n > n)
            return rw_wrong(cli, "%d files of '--valid-%s' for %d of '--valid'", side_files[i].n,
                            sides[i], n);
    }
    for (int i = 0; i < n; i++) {
        if (side_file(WEIGHTS, i) && side_file(QUERY_WEIGHTS, i))
            return rw_wrong(cli,
                            "'--valid-weights' and '--valid-query-weights' both set weights of "
                            "'%s': pass 'none' for one of them",
                            valid_files.text[i]);
    }
    return 0;
}

static int check_checkpoints(struct rw_cli *cli)
{
    struct rw_checkpoints *checkpoints = &job.checkpoints;
    RW_STEP(rw_load_checkpoints(cli, checkpoint_path, resume_path, checkpoints));
    if (checkpoint_every)
        RW_STEP(rw_checkpoints_set_every(cli->ctx, checkpoints, checkpoint_every));
    checkpoints->note = note;
    checkpoints->on_resume = on_resume;
    return 0;
}

/* Implements --device cuda:all: starts a worker per GPU, unless a launcher has started the workers.
 * Without a GPU it starts one worker, which reports the missing GPU. */
static int take_all_gpus(struct rw_cli *cli)
{
    char device[16] = "cuda:0";
    int n = 0;
    if (strcmp(rw_params_get(cli->params, "device"), "cuda:all") != 0)
        return 0;
    if (n_workers > 1)
        return rw_wrong(cli, "'--workers' and '--device cuda:all' both set the number of workers");
    if (rw_workers_count(cli->ctx) == 1 && !plan_only && !config_only) {
        while (n < RW_WORKERS_MOST_THREADS && rw_device_check(cli->ctx, device) >= 0)
            snprintf(device, sizeof(device), "cuda:%d", ++n);
        n_workers = n > 1 ? (unsigned long long)n : 1;
    }
    return rw_params_set(cli->ctx, cli->params, "device", "cuda");
}

/* Checks --early-stop-rule folds, which has no use in a refit. */
static int check_folds(struct rw_cli *cli)
{
    const char *rule = rw_params_get(cli->params, "early-stop-rule");
    job.by_folds = strcmp(rule, "folds") == 0 && !refit_path &&
                   strcmp(rw_params_get(cli->params, "early-stop"), "0") != 0;
    const char *with = valid_files.n                                     ? "'--valid'"
                       : init_path                                       ? "'--init'"
                       : n_workers > 1 || rw_workers_count(cli->ctx) > 1 ? "several workers"
                                                                         : NULL;
    return job.by_folds && with
               ? rw_wrong(cli, "'--early-stop-rule folds' cannot be used with %s", with)
               : 0;
}

/* Checks --effort. */
static int check_effort(struct rw_cli *cli)
{
    static const struct {
        const char *name;
        int n_trials;
    } efforts[] = {{"fast", 10}, {"default", 37}, {"best", 100}};
    const char *with = refit_path                                        ? "'--refit'"
                       : init_path                                       ? "'--init'"
                       : made_for.format                                 ? "'--for'"
                       : checkpoint_path || resume_path                  ? "checkpoints"
                       : n_workers > 1 || rw_workers_count(cli->ctx) > 1 ? "several workers"
                       : valid_files.n > 1                               ? "several validation sets"
                                                                         : NULL;
    for (size_t i = 0; effort && i < sizeof(efforts) / sizeof(efforts[0]); i++) {
        if (strcmp(effort, efforts[i].name) == 0)
            job.n_trials = efforts[i].n_trials;
    }
    if (effort && !job.n_trials)
        return rw_wrong(cli, "invalid effort '%s': expected fast, default or best", effort);
    return effort && with ? rw_wrong(cli, "'--effort' cannot be used with %s", with) : 0;
}

/* Checks --split-time and --fold-by. */
static int check_splits(struct rw_cli *cli)
{
    const char *with = valid_files.n     ? "'--valid'"
                       : refit_path      ? "'--refit'"
                       : made_for.format ? "'--for'"
                       : job.by_folds    ? "'--early-stop-rule folds'"
                       : n_workers > 1 || rw_workers_count(cli->ctx) > 1 ? "several workers"
                                                                         : NULL;
    if (rw_load_split_time && with)
        return rw_wrong(cli, "'--split-time' cannot be used with %s", with);
    return rw_load_fold_by && !job.by_folds && (!job.n_trials || n_valid() > 0)
               ? rw_wrong(cli, "'--fold-by' has no effect without '--early-stop-rule folds'")
               : 0;
}

static int check(struct rw_cli *cli)
{
    if (!output && !plan_only && !config_only && !manifest->expected)
        return rw_wrong(cli, "'train' needs -o MODEL");
    if (cli->format != RW_FORMAT_TEXT && !plan_only)
        return rw_wrong(cli, "'--format' and '--json' need '--plan', whose results they print");
    if (plan_only && config_only)
        return rw_wrong(cli, "'--plan' and '--print-config' both print and stop: pass one of them");
    if (n_workers > 1 && rw_workers_count(cli->ctx) > 1)
        return rw_wrong(cli,
                        "'--workers' cannot be used in a process that is one of several workers");
    if ((n_workers > 1 || rw_workers_count(cli->ctx) > 1) && (plan_only || config_only))
        return rw_wrong(cli, "'--%s' works with one worker only",
                        plan_only ? "plan" : "print-config");
    if (made_for.format) {
        struct rw_exchange how = made_for;
        how.name = how.featureset ? "model" : NULL; /* export needs a name */
        RW_STEP(rw_exchange_check(cli->ctx, &how, NULL, NULL, NULL));
    }
    if (refit_path && init_path)
        return rw_wrong(cli, "'--init' has no effect with '--refit': pass one of them");
    if (refit_path && made_for.format)
        return rw_wrong(cli, "'--for' has no effect with '--refit', which keeps the model's trees");
    RW_STEP(check_checkpoints(cli));
    RW_STEP(take_all_gpus(cli));
    RW_STEP(check_side_files(cli));
    RW_STEP(check_folds(cli));
    RW_STEP(check_effort(cli));
    RW_STEP(check_splits(cli));
    if (refit_path) /* the model's parameters are not known yet */
        return 0;
    return rw_params_check(cli->ctx, cli->params,
                           n_valid() > 0 || job.n_trials ? RW_PARAMS_TRAIN : RW_PARAMS_TRAIN_ALONE);
}

/* ---- data ---- */

int rw_train_read(struct rw_cli *cli)
{
    const struct rw_list *files = &cli->operands;
    RW_STEP(rw_load_columns(cli, NULL, cli->init, RW_LOAD_ALL));
    RW_STEP(rw_binned_read(cli->ctx, cli->params, cli->init, files->text, files->n, &cli->binned));
    cli->dataset = rw_binned_documents(cli->binned);
    rw_load_end_reading(files);
    return rw_load_side_columns(cli);
}

/* Reads DATA and divides it into the training set and the validation set of --split-time. */
static int read_split(struct rw_cli *cli)
{
    struct rw_dataset *part[2];
    char from[64];
    RW_STEP(rw_load_weighted(cli, &cli->operands));
    RW_STEP(rw_dataset_split_time(cli->ctx, cli->dataset, rw_load_split_time, part, from,
                                  sizeof(from)));
    rw_msg_line("split by '%s': queries before %s train, queries from %s on validate",
                rw_load_split_time, from, from);
    rw_dataset_free(cli->dataset);
    cli->dataset = part[0];
    cli->valid[0] = part[1];
    return 0;
}

static int read_sets(struct rw_cli *cli)
{
    const char *model = refit_path ? refit_path : init_path;
    cli->valid = rw_need((size_t)n_valid(), sizeof(struct rw_dataset *));
    if (model)
        RW_STEP(rw_workers_sync(cli, rw_model_read(cli->ctx, model, &cli->init)));
    if (refit_path)
        RW_STEP(rw_refit_params(cli->ctx, cli->params, cli->init));
    RW_STEP(rw_load_split_time           ? read_split(cli)
            : refit_path || job.n_trials ? rw_load_weighted(cli, &cli->operands)
                                         : rw_train_read(cli));
    /* With an initial model, validation sets are read as values, since it cannot score codes. A
     * search needs the values of both sets. */
    const int by_codes = !plan_only && cli->binned && !cli->init;
    for (int i = 0; i < valid_files.n; i++) {
        const struct rw_list files = rw_list_of(valid_files.text[i]);
        RW_STEP(rw_load_dataset(cli, &files, by_codes, &cli->valid[i]));
        for (int k = 0; k < N_SIDES; k++) {
            if (side_file(k, i))
                RW_STEP(rw_dataset_read_side_column(cli->ctx, cli->valid[i], sides[k],
                                                    side_file(k, i)));
        }
    }
    return job.n_trials ? rw_load_check_columns(cli) : 0;
}

static int read_data(struct rw_cli *cli)
{
    const int leads = rw_workers_leads(cli);
    char set[32];
    RW_STEP(read_sets(cli));
    RW_STEP(
        rw_load_report_size(cli, "train", &cli->operands, cli->dataset, leads ? job.size : NULL));
    if (leads && rw_workers_count(cli->ctx) > 1)
        rw_msg_line("workers: %d", rw_workers_count(cli->ctx));
    for (int i = 0; i < n_valid(); i++) {
        const struct rw_list files =
            rw_load_split_time ? cli->operands : rw_list_of(valid_files.text[i]);
        RW_STEP(rw_load_report_size(cli, set_name(i + 1, set), &files, cli->valid[i], NULL));
    }
    if (!made_for.format)
        return 0;
    /* Checks before the first round that the format of --for can represent the model. All workers
     * find the same result, and the leading worker prints it. */
    int code = rw_exchange_check(cli->ctx, &made_for, cli->params, cli->binned, cli->init);
    if (code == RW_ERR_UNSUPPORTED && leads) {
        rw_msg_failed(cli->ctx, code, NULL);
        code = RW_EXIT_USAGE;
    }
    return rw_workers_sync(cli, code);
}

/* Returns the training's inputs. */
static struct rw_training training_of(const struct rw_cli *cli)
{
    return (struct rw_training){.binned = cli->binned,
                                .train = cli->binned ? NULL : cli->dataset,
                                .init = cli->init,
                                .valid = (const struct rw_dataset *const *)cli->valid,
                                .n_valid = n_valid()};
}

/* Chooses the number of rounds by cross-validation, which is trial 0 of a tuning with folds, or
 * with --effort all parameters. */
static int choose(struct rw_cli *cli)
{
    enum { N_FOLDS = 5 };
    const struct rw_dataset *valid = job.n_trials && n_valid() > 0 ? cli->valid[0] : NULL;
    struct rw_tune_options how = {.n_trials = job.n_trials ? job.n_trials : 1,
                                  .n_folds = valid ? 0 : N_FOLDS,
                                  .without_model = 1};
    if (!valid)
        RW_STEP(rw_load_groups(cli, cli->dataset, &how.groups));
    if (job.n_trials)
        rw_msg_line("effort %s: %d trials%s", effort, job.n_trials,
                    valid ? "" : rw_text(" in %d folds", N_FOLDS));
    RW_STEP(rw_interrupts_stop_calls(cli->ctx));
    RW_STEP(rw_interrupts_end(
        rw_tune(cli->ctx, cli->params, cli->dataset, valid, &how, &job.chosen), NULL));
    RW_STEP(rw_ctx_set_poll(cli->ctx, NULL, NULL));
    rw_load_stage_end(job.n_trials ? "tune" : "folds");
    const struct rw_tuned *chosen = job.chosen;
    const struct rw_tune_trial *trial = &chosen->trials[chosen->chosen];
    if (chosen->is_interrupted) {
        rw_msg_warning("interrupted: no model was written");
        return 128 + rw_interrupted();
    }
    rw_msg_line("metric %s: %s", chosen->metric, chosen->conventions);
    const char *rounds = trial->rounds == 1 ? "round" : "rounds";
    const unsigned n_queries = chosen->estimate.n_queries;
    if (!job.n_trials) {
        rw_msg_line("%d folds choose %d %s: estimated %s %s (%u queries)", N_FOLDS, trial->rounds,
                    rounds, chosen->metric, rw_figure(chosen->estimate.mean_a), n_queries);
        return 0;
    }
    const char *settings = "";
    for (int k = 0; k < chosen->n_names; k++) {
        if (chosen->chosen > 0 && *trial->values[k])
            settings = rw_text("%s --%s %s", settings, chosen->names[k], trial->values[k]);
    }
    rw_msg_line("%d trials choose %s%s, %d %s: estimated %s %s, %s from the given parameters (%u "
                "queries)",
                chosen->n_trials, chosen->chosen > 0 ? "" : "the given parameters",
                *settings ? settings + 1 : "", trial->rounds, rounds, chosen->metric,
                rw_figure(chosen->estimate.mean_b), rw_figure_signed(chosen->estimate.difference),
                n_queries);
    return 0;
}

/* Adds the choice of a search to the parameters of the manifest, which repeats the training alone.
 */
static int record_choice(struct rw_cli *cli, struct rw_params *given)
{
    const struct rw_tuned *chosen = job.chosen;
    static const char *const more[] = {"seed", "rounds", "early-stop"};
    const int n_names = chosen->chosen > 0 ? chosen->n_names : 0;
    for (int k = 0; k < n_names + 3; k++) {
        const char *name = k < n_names ? chosen->names[k] : more[k - n_names];
        const char *value = rw_copy(rw_params_get(chosen->params, name));
        if (strcmp(value, rw_params_get(given, name)) != 0)
            RW_STEP(rw_params_set(cli->ctx, given, name, value));
    }
    return 0;
}

/* ---- results ---- */

/* Prints the validation figures of the kept model, as 'eval' does. */
static void report(const struct rw_model *model)
{
    const char *name;
    double value;
    for (int i = 0; (name = rw_model_metric_at(model, i, &value)) != NULL; i++) {
        const char *metric = strchr(name, ' ');
        const int n = n_valid() == 1 ? 5 : (int)(metric - name); /* "valid", or "valid2" */
        if (strncmp(name, "valid", 5) == 0)
            rw_msg_line("%.*s%s %s", n, name, metric, rw_figure(value));
    }
}

static int write_model(struct rw_cli *cli, const char *path)
{
    RW_STEP(rw_model_write_file(cli->ctx, cli->model, cli->out.file, path));
    return rw_out_file_commit(cli->ctx, &cli->out);
}

/* Writes the model to TMPDIR, so that it is not lost, after writing it to its own file has failed
 * with `status`. Prints the path. Returns the exit code of `status`. */
static int write_elsewhere(struct rw_cli *cli, int status)
{
    const char *folder = getenv("TMPDIR"), *name = strrchr(output, '/');
    const int code = rw_msg_failed(cli->ctx, status, "train");
    name = name ? name + 1 : output;
    char *path = rw_text("%s/%s-XXXXXX", folder && *folder ? folder : "/tmp",
                         *name && strcmp(name, "-") != 0 ? name : "model");
    const int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    int failed =
        !file || rw_model_write_file(cli->ctx, cli->model, file, path) < 0 || fsync(fd) != 0;
    failed |= file && fclose(file) != 0;
    if (failed && fd >= 0)
        unlink(path);
    if (!failed)
        rw_msg_warning("wrote the model to '%s' instead", path);
    job.is_kept |= !failed;
    return code;
}

/* Writes the best model so far to MODEL.interrupted, after a signal or a full disk has ended
 * training. MODEL itself stays unchanged, because a job may wait for the finished model. */
static void keep_interrupted(struct rw_cli *cli)
{
    struct rw_out_file *out = &cli->out;
    if (!out->temporary) {
        rw_msg_warning("interrupted: '%s' is not a regular file, so the trees so far are lost",
                       output);
        return;
    }
    int status = rw_out_file_rename(cli->ctx, out, ".interrupted");
    const char *path = rw_copy(out->path);
    if (status >= 0)
        status = write_model(cli, path);
    if (status < 0) {
        write_elsewhere(cli, status);
        return;
    }
    rw_msg_warning("interrupted: wrote the best model so far to '%s'; '%s' is unchanged", path,
                   output);
    if (checkpoint_path)
        rw_msg_hint("'--resume auto' continues from '%s'", checkpoint_path);
    job.is_kept = 1;
}

/* Adds the files of a set to those of the manifest. */
static void add_files(json_t *files, int number, const struct rw_list *data)
{
    char set[32];
    json_t *row = rw_result_row("data:o", texts(data));
    for (int k = 0; number > 0 && k < N_SIDES; k++) {
        if (side_file(k, number - 1))
            json_object_set_new(row, sides[k], rw_result_text(side_file(k, number - 1)));
    }
    json_object_set_new(files, log_set(number, set), row);
}

static int write_manifest(struct rw_cli *cli)
{
    if (!manifest->path)
        return rw_record_end(cli, manifest, NULL);
    json_t *files = json_object();
    add_files(files, 0, &cli->operands);
    for (int i = 0; i < valid_files.n; i++) {
        const struct rw_list list = rw_list_of(valid_files.text[i]);
        add_files(files, i + 1, &list);
    }
    const struct {
        const char *name, *value;
    } more[] = {
        {"init", init_path}, {"split-time", rw_load_split_time}, {"fold-by", rw_load_fold_by}};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
        if (more[i].value)
            json_object_set_new(files, more[i].name, rw_result_text(more[i].value));
    }
    const int code = rw_record_end(cli, manifest, files);
    json_decref(files);
    return code;
}

/* Returns " (60 rounds of 4 bags; kept round: 60 of 90)" with the parts that a model has, or "". */
static const char *rounds_text(const struct rw_model *model)
{
    const struct rw_model_info info = rw_model_info(model);
    const int n_bags = rw_model_n_bags(model);
    const int n = rw_model_run(model, info.n_runs - 1).n_trees / n_bags;
    const char *bags =
        n_bags > 1 ? rw_text("%d %s of %d bags", n, n == 1 ? "round" : "rounds", n_bags) : "";
    const char *best =
        info.best_round > 0 ? rw_text("kept round: %d of %d", info.best_round, job.rounds_run) : "";
    return *bags || *best ? rw_text(" (%s%s%s)", bags, *bags && *best ? "; " : "", best) : "";
}

/* Writes the model and prints the results, on the worker that leads. end: from share_end. */
static int finish(struct rw_cli *cli, double start, int end)
{
    const int n_trees = rw_model_n_trees(cli->model);
    const struct rw_model_info info = rw_model_info(cli->model);
    rw_msg_line("%d %s in %.1f s%s", n_trees, n_trees == 1 ? "tree" : "trees",
                rw_progress_clock() - start, rounds_text(cli->model));
    if (manifest->expected)
        return info.is_finished ? write_manifest(cli) : end ? end : RW_EXIT_FAILURE;
    if (info.is_finished) {
        const int status = write_model(cli, output);
        if (status < 0)
            return write_elsewhere(cli, status);
        job.is_kept = 1;
        RW_STEP(write_manifest(cli));
    } else {
        keep_interrupted(cli);
    }
    report(cli->model);
    return info.is_finished ? 0 : end ? end : RW_EXIT_FAILURE;
}

/* Prints how metrics are measured and opens the log, before training, on the worker that leads. */
static int begin(struct rw_cli *cli)
{
    char conventions[512];
    RW_STEP(rw_eval_conventions(cli->ctx, rw_params_eval(cli->params), conventions,
                                sizeof(conventions)));
    if (n_valid() > 0 || strcmp(rw_params_get(cli->params, "train-metric"), "on") == 0)
        rw_msg_line("metric %s: %s", rw_params_get(cli->params, "metric"), conventions);
    const char *const from = job.checkpoints.resume;
    const int resumes = from && access(from, F_OK) == 0;
    rw_load_warn_checkpoint(&job.checkpoints);
    return log_path ? rw_train_log_open(log_path, resumes) : 0;
}

/* Trains in one worker, alone or as one of several. Only the leading worker prints. */
static int train(struct rw_cli *cli)
{
    const int leads = rw_workers_leads(cli);
    if (leads) /* reading data changes the parameters */
        RW_STEP(rw_params_copy(cli->ctx, cli->params, &manifest->given));
    RW_STEP(read_data(cli));
    RW_STEP(rw_workers_sync(cli, leads ? begin(cli) : 0));
    if (job.by_folds || job.n_trials)
        RW_STEP(choose(cli));
    if (job.n_trials)
        RW_STEP(record_choice(cli, manifest->given));
    rw_ctx_record_data(cli->ctx, manifest->path || manifest->expected);
    struct rw_params *params = job.chosen ? job.chosen->params : cli->params;
    struct rw_checkpoints checkpoints = job.checkpoints;
    struct rw_train_hooks hooks = {.user = cli, .should_stop = should_stop};
    if (checkpoint_path || checkpoints.resume)
        hooks.checkpoints = &checkpoints;
    if (leads) {
        hooks.on_start = on_start;
        hooks.on_round = on_round;
        hooks.on_stage = on_stage;
        hooks.on_positions = on_positions;
    } else {
        checkpoints.note = NULL;
        checkpoints.on_resume = NULL;
    }
    const double start = rw_progress_clock();
    if (leads || cli->comm)
        rw_interrupts_catch(leads);
    if (leads)
        RW_STEP(rw_progress_follow(cli->ctx));
    struct rw_training training = training_of(cli);
    training.hooks = &hooks;
    const int status = refit_path ? rw_refit(cli->ctx, cli->params, cli->init, cli->dataset,
                                             training.valid, training.n_valid, &hooks, &cli->model)
                                  : rw_train_on(cli->ctx, params, &training, &cli->model);
    if (leads)
        rw_progress_end();
    if (leads && (manifest->code || manifest->difference))
        return manifest->code;
    if (status < 0 && rw_interrupted()) {
        rw_msg_failed(cli->ctx, status, "train");
        return 128 + rw_interrupted();
    }
    RW_STEP(status);
    int end = 0;
    RW_STEP(share_end(cli, &end));
    if (leads)
        return finish(cli, start, end);
    return rw_model_info(cli->model).is_finished ? 0 : end ? end : RW_EXIT_FAILURE;
}

/* ---- workers that are threads of this process ---- */

struct threads {
    struct rw_cli *cli;  /* worker 0's */
    struct rw_cli *copy; /* [n_workers] by worker; worker 0's is not used */
    int code;            /* exit code or status of worker 0 */
};

static int run_worker(void *user, struct rw_ctx *ctx, int worker)
{
    struct threads *t = user;
    struct rw_cli *cli = worker == 0 ? t->cli : &t->copy[worker];
    cli->ctx = ctx;
    rw_load_stage_end("");
    const int code = train(cli);
    if (worker == 0)
        t->code = code;
    /* An exit code below 128 is a failure that this worker has reported: the status makes
     * rw_workers_run end the workers that wait for this one. From 128 on, a signal ended all. */
    return code > 0 && code < 128 ? RW_ERR_INTERRUPTED : code < 0 ? code : 0;
}

/* Trains in n_workers workers, which share the requested threads (0: auto). Worker 0 runs on the
 * calling thread with `cli` itself. Returns its exit code or status, or the status of another
 * worker that failed. */
static int train_in_threads(struct rw_cli *cli)
{
    const int n = (int)n_workers, given = atoi(rw_params_get(cli->params, "threads"));
    struct threads threads = {.cli = cli, .copy = rw_need((size_t)n, sizeof(*threads.copy))};
    if (given > 0 && rw_params_origin(cli->params, "threads") != RW_PARAM_DEFAULT)
        RW_STEP(rw_params_set(cli->ctx, cli->params, "threads",
                              rw_text("%d", given > n ? given / n : 1)));
    for (int r = 1; r < n; r++) {
        threads.copy[r] = *cli;
        RW_STEP(rw_params_copy(cli->ctx, cli->params, &threads.copy[r].params));
    }
    const int status = rw_workers_run(cli->ctx, n, run_worker, &threads);
    return threads.code > 0 ? threads.code : status;
}

static int plan(struct rw_cli *cli)
{
    struct rw_plan plan = {.n_parts = 0};
    RW_STEP(read_data(cli));
    const struct rw_training training = training_of(cli);
    const int status = rw_train_plan(cli->ctx, cli->params, &training, &plan);
    if (plan.n_parts > 0)
        print_plan(cli, &plan);
    const uint64_t needed = plan.on_gpu ? plan.far_bytes : plan.bytes;
    if (status != 0 || plan.host_free_bytes == 0 || needed <= plan.host_free_bytes)
        return status;
    rw_msg_error(
        "out of memory: training needs %.1f MB in addition to the data, but %.1f MB are available",
        (double)needed / 1e6, (double)plan.host_free_bytes / 1e6);
    rw_msg_hint("'rankwood doctor' shows what limits the memory");
    return RW_EXIT_MACHINE;
}

static int print_config(struct rw_cli *cli)
{
    const char *ignore = rw_copy(rw_params_get(cli->params, "ignore"));
    RW_STEP(read_data(cli));
    /* Reading a table clears the parameter, so it is set again. */
    RW_STEP(rw_params_set(cli->ctx, cli->params, "ignore", ignore));
    RW_STEP(rw_params_resolve_valid(cli->ctx, cli->params, rw_dataset_n_docs(cli->dataset),
                                    rw_load_n_features(cli), n_valid(),
                                    n_valid() ? rw_dataset_n_queries(cli->valid[0]) : 0));
    return rw_params_write(cli->ctx, cli->params, stdout);
}

static int run(struct rw_cli *cli)
{
    enum { BLOCK = 4096 };
    if (plan_only)
        return plan(cli);
    if (config_only)
        return print_config(cli);
    /* Opens the model's file and reserves its first disk block, so that a full disk is reported
     * before the training. */
    const int writes = rw_workers_leads(cli) && !manifest->expected;
    int code = writes ? rw_out_file_open(cli->ctx, &cli->out, output) : 0;
    if (code == 0 && writes)
        code = rw_out_file_reserve(cli->ctx, &cli->out, BLOCK);
    if (code == 0 && writes && manifest->path)
        code = rw_out_file_open(cli->ctx, &manifest->out, manifest->path);
    code = rw_workers_sync(cli, code);
    if (code == 0)
        code = n_workers > 1 ? train_in_threads(cli) : train(cli);
    if (code < 0)
        code = rw_msg_failed(cli->ctx, code, "train");
    rw_out_file_abandon(&manifest->out);
    const int log_code = rw_train_log_close(!job.is_kept);
    return log_code ? log_code : code;
}

const struct rw_command rw_cmd_train = {
    .name = "train",
    .brief = "train a model",
    .operands = "DATA... [--valid DATA]... -o MODEL",
    .about =
        "Trains a model. Training stops when the first metric no longer improves on the first "
        "validation set that is not the training data (--early-stop), and the model keeps the "
        "round that --early-stop-rule chooses. If --valid names the training data, its metrics are "
        "only printed. After "
        "Ctrl-C or SIGTERM, training ends with the current round: the best model so far is "
        "written to MODEL.interrupted, MODEL does not change, and the exit code is 130 or 143.",
    .has_results = 1,
    .options = options,
    .params = "*",
    .has_workers = 1,
    .check = check,
    .run = run,
};

int rw_train_again(int argc, char **argv, struct rw_record *of_verify)
{
    manifest = of_verify;
    return rw_command_run(&rw_cmd_train, argc, argv);
}
