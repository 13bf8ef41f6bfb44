/* rankwood train. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static const char *output, *log_path, *init_path, *refit_path, *checkpoint_path, *checkpoint_every,
    *resume_path;
static struct rw_sets valid_files;
static struct rw_list valid_weights, valid_query_weights, valid_start_scores;
static int plan_only, config_only;
static struct rw_exchange made_for; /* --for */
static unsigned long long n_workers = 1;
static const struct rw_option options[] = {
    {"valid", 0, "DATA", "a validation set: files with commas between them (repeatable)",
     RW_OPTION_INPUT_SETS, .value = &valid_files},
    {"output", 'o', "MODEL", "where the model goes (needed)", RW_OPTION_OUTPUT, .value = &output,
     .also = ".interrupted"},
    {"log", 0, "FILE.jsonl", "write parameters, metrics and timings, a JSON object a line",
     RW_OPTION_OUTPUT, .value = &log_path, .idle_with = " plan print-config "},
    {"init", 0, "MODEL", "continue from this model: --rounds more trees after its own",
     RW_OPTION_INPUT, .value = &init_path, .idle_with = " plan ", .replaced_by = "output"},
    {"refit", 0, "MODEL",
     "give the leaves of this model's trees new values from DATA, by --refit-decay; what shapes "
     "leaves and is not given is as the model was trained",
     RW_OPTION_INPUT, .value = &refit_path, .replaced_by = "output"},
    {"for", 0, "FORMAT",
     "refuse to begin, with exit code 2, where the model may be one that 'export --to FORMAT' "
     "refuses",
     RW_OPTION_TEXT, .value = &made_for.format},
    {"featureset", 0, "FILE.json", "of --for opensearch, elasticsearch (needed): as export has it",
     RW_OPTION_INPUT, .value = &made_for.featureset},
    {"checkpoint", 0, "FILE",
     "write what training can be resumed from, at intervals and when it ends", RW_OPTION_OUTPUT,
     .value = &checkpoint_path, .idle_with = " plan print-config refit "},
    {"checkpoint-every", 0, "N|TIME",
     "after N rounds, or a time such as 30s, 10m or 2h; by default 60s, or longer if writing takes "
     "more than 1 % of the time",
     RW_OPTION_TEXT, .value = &checkpoint_every},
    {"resume", 0, "FILE|auto",
     "resume from this checkpoint, to the model of a training that never stopped; auto: from that "
     "of --checkpoint, if it is there",
     RW_OPTION_INPUT, .value = &resume_path, .idle_with = " plan print-config refit ",
     .replaced_by = "checkpoint", .no_file = "auto"},
    {"valid-weights", 0, "FILE",
     "a weight for each document of the validation set that has the same number, or 'none' "
     "(repeatable)",
     RW_OPTION_INPUTS_OR_NONE, .value = &valid_weights},
    {"valid-query-weights", 0, "FILE", "the same for each of its queries (repeatable)",
     RW_OPTION_INPUTS_OR_NONE, .value = &valid_query_weights},
    {"valid-start-scores", 0, "FILE", "start scores of its documents (repeatable)",
     RW_OPTION_INPUTS_OR_NONE, .value = &valid_start_scores},
    {"workers", 0, "N",
     "train with N workers, threads of this process with a shard of DATA each; the model is that "
     "of one worker",
     RW_OPTION_NUMBER, .value = &n_workers, .least = 1, .most = RW_WORKERS_MOST_THREADS,
     .former = "ranks"},
    {"plan", 0, NULL, "print the bytes of each part and the expected time of a tree, and stop",
     RW_OPTION_FLAG, .value = &plan_only, .idle_with = " refit "},
    {"print-config", 0, NULL,
     "print parameters for --config that train the same model, with numbers for 'auto', and stop",
     RW_OPTION_FLAG, .value = &config_only, .idle_with = " refit "},
    {0},
};

/* ------------------------------------------------------------------ the log */

/* train --log: one JSON object a line, whose "record" is its kind: "params" once (what was used,
 * and what was given), "metrics" and "timing" each round, "timing" each stage. A training that
 * resumes adds to the log: "resume", with the round that it goes on from, and "params" again. What
 * differs between machines stands in "timing" and "params" only, so "metrics" lines compare. */

/* Zero-initialise; every function does nothing on a log that is not open. */
struct train_log {
    FILE *file;
    const char *path; /* borrowed */
    char note[32];
    int resumes, is_waiting; /* waiting: for log_begin; nothing is written */
    int resumed_round;       /* 0: it began with this training */
    int error;               /* errno of the first write that failed; 0: none */
};

/* While it is written, for the system takes the lock from a process that ends, however it ends. */
static int lock(struct train_log *log)
{
    if (flock(fileno(log->file), LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK) {
        rw_msg_line("'%s' is not locked: its file system has no locks", log->path);
        return 0;
    }
    fclose(log->file); /* it is not ours, and stays */
    log->file = NULL;
    rw_msg_error("'%s' is the log of a training that is still running", log->path);
    rw_msg_hint("wait for it, end it, or give another '--log'");
    return RW_EXIT_FAILURE;
}

/* resumes: what is there stays until log_begin. 0, or the exit code of an error. */
static int log_open(struct train_log *log, const char *path, int resumes)
{
    struct stat about;
    log->path = path;
    log->resumes = log->is_waiting = resumes;
    if (strcmp(path, "-") == 0) {
        log->file = stdout;
        return 0;
    }
    /* What is there stays until the file is known to be ours alone. */
    const int is_pipe = stat(path, &about) == 0 && !S_ISREG(about.st_mode);
    const int fd = open(path, (is_pipe ? O_WRONLY : O_RDWR | O_CREAT) | O_CLOEXEC, 0666);
    log->file = fd < 0 ? NULL : fdopen(fd, is_pipe ? "w" : "r+");
    if (!log->file)
        return rw_msg_errno(errno, "cannot write '%s'", path);
    if (is_pipe)
        return 0;
    RW_STEP(lock(log));
    return resumes || ftruncate(fd, 0) == 0 ? 0 : rw_msg_errno(errno, "cannot write '%s'", path);
}

/* Is it a file that can be cut? */
static int is_regular(const struct train_log *log, struct stat *about)
{
    return log->file && log->file != stdout && fstat(fileno(log->file), about) == 0 &&
           S_ISREG(about->st_mode);
}

/* How much of it there is, "log 1234", for a checkpoint; "" if it is no file. Valid until the next
 * call. */
static const char *log_note(struct train_log *log)
{
    struct stat about;
    log->note[0] = 0;
    if (is_regular(log, &about))
        snprintf(log->note, sizeof(log->note), "log %lld", (long long)ftello(log->file));
    return log->note;
}

/* Of a training that resumes after `round`: goes on from there, dropping what was written later; if
 * the note is of no log, or of a longer one, from the beginning. */
static void log_begin(struct train_log *log, const char *note, int round)
{
    struct stat about = {.st_mode = S_IFREG};
    long long bytes = 0;
    log->resumed_round = round;
    log->is_waiting = 0;
    if (!is_regular(log, &about)) {
        if (S_ISREG(about.st_mode) && log->file && log->file != stdout) /* it could not be asked */
            log->error = errno;
        return;
    }
    if (sscanf(note, "log %lld", &bytes) != 1 || bytes < 0 || bytes > about.st_size) {
        rw_msg_warning("'%s' is not the log of what is resumed: it will begin with round %d",
                       log->path, round + 1);
        bytes = 0;
    }
    if (ftruncate(fileno(log->file), (off_t)bytes) != 0 ||
        fseeko(log->file, (off_t)bytes, SEEK_SET) != 0)
        log->error = errno;
}

/* Each line is complete when it is there, so that a run can be followed. */
static void write_line(struct train_log *log, json_t *record)
{
    if (record && !log->is_waiting) {
        errno = 0;
        json_dumpf(record, log->file, JSON_COMPACT);
        fputc('\n', log->file);
        if ((fflush(log->file) != 0 || ferror(log->file)) && !log->error)
            log->error = errno ? errno : EIO;
    }
    json_decref(record);
}

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

/* used: what training takes; cli->params: as given, before anything was chosen; size: documents and
 * queries, on all workers. */
static void log_params(struct train_log *log, struct rw_params *used, const struct rw_cli *cli,
                       const struct rw_list *valid, const uint64_t size[2])
{
    if (!log->file)
        return;
    log->is_waiting = 0;
    if (log->resumed_round > 0)
        write_line(log, rw_result_row("record:s round:i", "resume", log->resumed_round));
    write_line(log, rw_result_row("record:s version:s params:o given:o train:o valid:o documents:l "
                                  "queries:l features:u workers:i",
                                  "params", RW_VERSION, values_json(used), values_json(cli->params),
                                  texts(&cli->operands), texts(valid), size[0], size[1],
                                  rw_load_n_features(cli), rw_workers_count(cli->ctx)));
}

/* "train", "valid1", ...: the sets' names, as in the model file. */
static const char *log_set(int set, char buffer[32])
{
    if (set == 0)
        return "train";
    snprintf(buffer, 32, "valid%d", set);
    return buffer;
}

static void log_round(struct train_log *log, const struct rw_round *round)
{
    if (!log->file)
        return;
    char key[128], set[32];
    json_t *values = json_object();
    for (int i = 0; i < round->n_metrics; i++) {
        const struct rw_metric_value *metric = &round->metrics[i];
        snprintf(key, sizeof(key), "%s %s", log_set(metric->set, set), metric->name);
        json_object_set_new(values, key, rw_result_real(metric->value));
    }
    write_line(log, rw_result_row("record:s round:i leaves:i best_round:i values:o", "metrics",
                                  round->round, round->n_leaves, round->best_round, values));
    write_line(log,
               rw_result_row("record:s round:i ms:n lambdas:n histograms:n splits:n partition:n "
                             "scores:n metrics:n",
                             "timing", round->round, round->ms, round->ms_lambdas,
                             round->ms_histograms, round->ms_splits, round->ms_partition,
                             round->ms_scores, round->ms_metrics));
}

static json_t *reals(const double *values, int n)
{
    json_t *array = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(array, json_real(values[i]));
    return array;
}

/* "positions", after the last round of a training with --debias. */
static void log_positions(struct train_log *log, const struct rw_positions *found)
{
    if (!log->file)
        return;
    json_t *position = json_array(), *documents = json_array();
    for (int i = 0; i < found->n; i++) {
        json_array_append_new(position, json_integer(found->position[i]));
        json_array_append_new(documents, json_integer((json_int_t)found->n_docs[i]));
    }
    json_t *record = rw_result_row("record:s round:i given:b position:o documents:o", "positions",
                                   found->round, found->is_given, position, documents);
    if (found->bias)
        json_object_set_new(record, "bias", reals(found->bias, found->n));
    json_object_set_new(record, "propensity", reals(found->propensity, found->n));
    if (found->unclicked)
        json_object_set_new(record, "unclicked", reals(found->unclicked, found->n));
    write_line(log, record);
}

static void log_stage(struct train_log *log, const char *stage, double ms, size_t peak_bytes)
{
    if (log->file)
        write_line(log, rw_result_row("record:s stage:s ms:n peak_bytes:l", "timing", stage, ms,
                                      (uint64_t)peak_bytes));
}

/* 0, or the exit code of an error. The log of a run that failed is removed, unless it resumed. */
static int log_close(struct train_log *log, int run_failed)
{
    if (!log->file)
        return 0;
    struct stat about;
    const int regular = is_regular(log, &about);
    if (log->file != stdout && fclose(log->file) != 0 && !log->error)
        log->error = errno;
    log->file = NULL;
    if (run_failed && regular && !log->resumes)
        unlink(log->path);
    if (!log->error || run_failed)
        return 0;
    return rw_msg_errno(log->error, "cannot write '%s'", log->path);
}

/* ------------------------------------------------------------------ for people */

/* What a tree read of codes that are not on the GPU: a line for people. */
static void print_far(const struct rw_round *round)
{
    const double gb = (double)round->far_hist_bytes / 1e9;
    rw_msg_line("  read of the host's memory: %.2f GB, by histograms %.2f GB in %.2f ms: %.1f GB/s",
                (double)round->far_bytes / 1e9, gb, round->far_hist_ms,
                round->far_hist_ms > 0.0 ? gb / (round->far_hist_ms / 1e3) : 0.0);
}

/* What was found of the positions at which documents were shown: a line each, of the first ones. */
static void print_positions(const struct rw_positions *found)
{
    enum { MOST_LINES = 20 };
    const char *what = found->is_given ? "given" : "found";
    for (int i = 0; i < found->n && i < MOST_LINES; i++) {
        char documents[48], figure[2][RW_FIGURE_ROOM];
        snprintf(documents, sizeof(documents), "%llu documents",
                 (unsigned long long)found->n_docs[i]);
        rw_msg_line("position %u: propensity %s (%s %s) %s, %s", found->position[i],
                    rw_figure(found->propensity[i], figure[0]), found->bias ? "bias" : "t-",
                    rw_figure(found->bias ? found->bias[i] : found->unclicked[i], figure[1]), what,
                    documents);
    }
    if (found->n > MOST_LINES)
        rw_msg_line("and %d more positions, which a log has (--log)", found->n - MOST_LINES);
}

/* GPUs of one host, whether they are there or not. */
static json_t *plan_many(const struct rw_plan *plan, json_t *rows)
{
    json_t *many = json_array();
    for (int i = 0; i < 3 && plan->many[i].n_gpus; i++) {
        const struct rw_plan_many *of = &plan->many[i];
        char what[32], note[80];
        snprintf(what, sizeof(what), "  on %d GPUs", of->n_gpus);
        snprintf(note, sizeof(note), "by a model, %.3g of them for what they exchange",
                 of->exchange_ms);
        rw_result_add(rows, "what:s amount:n unit:s note:s", what, of->tree_ms, "ms", note);
        rw_result_add(many, "gpus:i tree_ms:n exchange_ms:n", of->n_gpus, of->tree_ms,
                      of->exchange_ms);
    }
    return many;
}

static json_t *plan_document(const struct rw_plan *plan, json_t *rows)
{
    json_t *parts = json_array();
    for (int i = 0; i < plan->n_parts; i++)
        rw_result_add(parts, "name:s bytes:l", plan->part[i].name, plan->part[i].bytes);
    return rw_result_row("device:s on_gpu:b threads:i parts:o bytes:l most_bytes:l free_bytes:l "
                         "host_free_bytes:l far_bytes:l link_rate:n tree_ms:n many:o",
                         plan->device, plan->on_gpu, plan->n_threads, parts, plan->bytes,
                         plan->most_bytes, plan->free_bytes, plan->host_free_bytes, plan->far_bytes,
                         plan->link_rate, plan->tree_ms, plan_many(plan, rows));
}

static void print_plan(const struct rw_cli *cli, const struct rw_plan *plan)
{
    const struct {
        const char *what;
        uint64_t bytes;
        const char *note;
    } sums[] = {
        {"in all", plan->bytes, plan->on_gpu ? "of device memory" : "of memory"},
        {"at most", plan->most_bytes, "while loading and choosing methods"},
        {"free", plan->free_bytes, NULL},
        {"other codes", plan->far_bytes, "of the host's memory, page-locked"},
        {"available", plan->host_free_bytes, "of the host's memory"},
    };
    struct rw_result result = {0};
    json_t *rows = json_array();
    rw_result_line(&result, "device   %s\nthreads  %d", plan->device, plan->n_threads);
    for (int i = 0; i < plan->n_parts; i++)
        rw_result_add(rows, "what:s amount:l unit:s", plan->part[i].name, plan->part[i].bytes,
                      "bytes");
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        if (sums[i].bytes)
            rw_result_add(rows,
                          sums[i].note ? "what:s amount:l unit:s note:s" : "what:s amount:l unit:s",
                          sums[i].what, sums[i].bytes, "bytes", sums[i].note);
    }
    if (plan->far_bytes)
        rw_result_add(rows, "what:s amount:n unit:s note:s", "link", plan->link_rate / 1e9, "GB/s",
                      "between them");
    rw_result_add(rows, "what:s amount:n unit:s note:s", "a tree", plan->tree_ms, "ms", "expected");
    result.document = plan_document(plan, rows);
    rw_result_rows(&result, NULL, rows, "what=part;amount==%.3g;unit;note");
    rw_result_print(cli, &result, stdout);
}

/* 0, or, after an error, an exit code: the host has too little memory for it. */
static int check_plan(const struct rw_plan *plan)
{
    const uint64_t needed = plan->on_gpu ? plan->far_bytes : plan->bytes;
    if (plan->host_free_bytes == 0 || needed <= plan->host_free_bytes)
        return 0;
    rw_msg_error("out of memory: training needs %.1f MB beside the data, and %.1f MB are available",
                 (double)needed / 1e6, (double)plan->host_free_bytes / 1e6);
    rw_msg_hint("'rankwood doctor' says what limits it");
    return RW_EXIT_MACHINE;
}

/* ------------------------------------------------------------------ rounds */

/* What a worker trains on. */
struct training {
    struct rw_cli *cli;        /* borrowed */
    struct rw_dataset **valid; /* [valid_files.given.n] owned */
    struct rw_model *init;     /* to continue from, or to refit; NULL: from nothing; owned */
};

static struct {
    struct rw_cli *cli; /* borrowed */
    struct train_log log;
    struct rw_checkpoints checkpoints;
    int rounds_run;
    int is_kept;   /* the model, what there is of it, or a checkpoint is written: the log is kept */
    int disk_full; /* a status: no space for one more tree */
    uint64_t size[2]; /* documents and queries of the training set, on all workers */
} job;

/* Space for the model with one more tree is taken in time, more than that if there is enough. */
static void reserve(const struct rw_round *round)
{
    struct rw_ctx *ctx = job.cli->ctx;
    struct rw_out_file *out = &job.cli->out;
    const uint64_t needed = round->next_model_bytes;
    if (needed <= out->n_reserved || job.disk_full)
        return;
    if (rw_out_file_reserve(ctx, out, needed + needed / 2) < 0)
        job.disk_full = rw_out_file_reserve(ctx, out, needed);
    if (job.disk_full)
        rw_msg_error("no space for more trees: %s", rw_last_error(ctx));
}

static int should_stop(void *user)
{
    (void)user;
    return rw_interrupted() || job.disk_full;
}

/* Of the workers that do not write. */
static int was_interrupted(void *user)
{
    (void)user;
    return rw_interrupted();
}

/* What ended training early, on whatever worker: the exit code, 0 for nothing. */
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

/* Sets' names for people: "valid" when there is only one. */
static const char *set_name(int set, char buffer[32])
{
    return set == 1 && valid_files.given.n == 1 ? "valid" : log_set(set, buffer);
}

static int on_round(void *user, const struct rw_round *round)
{
    (void)user;
    job.rounds_run = round->round;
    char line[2048], figure[RW_FIGURE_ROOM], set[32];
    int at = snprintf(line, sizeof(line), "round %d/%d  %.3f s", round->round, round->n_rounds,
                      round->ms / 1e3);
    for (int i = 0; i < round->n_metrics && at < (int)sizeof(line) - 1; i++)
        at += snprintf(line + at, sizeof(line) - (size_t)at, "  %s %s %s",
                       set_name(round->metrics[i].set, set), round->metrics[i].name,
                       rw_figure(round->metrics[i].value, figure));
    rw_msg_line("%s%s", line, round->best_round == round->round ? "  best" : "");
    if (rw_msg_is_verbose())
        rw_msg_line("  %d leaves; ms: lambdas %.2f, histograms %.2f, splits %.2f, partition %.2f, "
                    "scores %.2f, metrics %.2f",
                    round->n_leaves, round->ms_lambdas, round->ms_histograms, round->ms_splits,
                    round->ms_partition, round->ms_scores, round->ms_metrics);
    if (rw_msg_is_verbose() && round->far_bytes)
        print_far(round);
    if (rw_msg_is_verbose() && round->bytes_sent)
        rw_msg_line("  %.2f MB sent to other workers by this one", (double)round->bytes_sent / 1e6);
    log_round(&job.log, round);
    reserve(round);
    rw_progress_show(round->round, round->n_rounds, round->n_docs);
    return 0;
}

static const char *note(void *user)
{
    (void)user;
    job.is_kept = 1;
    return log_note(&job.log);
}

static void on_resume(void *user, const struct rw_resumed *resumed)
{
    (void)user;
    job.rounds_run = resumed->round;
    rw_msg_line("resume: round %d of '%s'", resumed->round, resumed->path);
    log_begin(&job.log, resumed->note, resumed->round);
}

static void on_start(void *user, struct rw_params *used)
{
    const struct rw_cli *cli = user;
    log_params(&job.log, used, cli, &valid_files.given, job.size);
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    (void)user;
    rw_load_stage(stage, ms, peak_bytes);
    log_stage(&job.log, stage, ms, peak_bytes);
}

static void on_positions(void *user, const struct rw_positions *found)
{
    (void)user;
    print_positions(found);
    log_positions(&job.log, found);
}

/* ------------------------------------------------------------------ before */

static int check_valid_files(struct rw_cli *cli, const char *option, const struct rw_list *files)
{
    if (files->n && !valid_files.given.n)
        return rw_wrong(cli, "'--%s' has no effect without '--valid'", option);
    if (files->n > valid_files.given.n)
        return rw_wrong(cli, "%d files of '--%s' for %d of '--valid'", files->n, option,
                        valid_files.given.n);
    return 0;
}

/* The file of a validation set, from 0; NULL: none. */
static const char *valid_file(const struct rw_list *files, int set)
{
    return set < files->n && strcmp(files->text[set], "none") != 0 ? files->text[set] : NULL;
}

static int resumes_auto(void)
{
    return resume_path && strcmp(resume_path, "auto") == 0;
}

static int check_checkpoints(struct rw_cli *cli)
{
    struct rw_checkpoints *checkpoints = &job.checkpoints;
    if (checkpoint_path && strcmp(checkpoint_path, "-") == 0)
        return rw_wrong(cli, "'--checkpoint' needs a file, not standard output");
    if (checkpoint_every && !checkpoint_path)
        return rw_wrong(cli, "'--checkpoint-every' has no effect without '--checkpoint'");
    if (resumes_auto() && !checkpoint_path)
        return rw_wrong(cli, "'--resume auto' needs '--checkpoint FILE', which it resumes from");
    if (checkpoint_every)
        RW_STEP(rw_checkpoints_set_every(cli->ctx, checkpoints, checkpoint_every));
    *checkpoints = (struct rw_checkpoints){.path = checkpoint_path,
                                           .every_rounds = checkpoints->every_rounds,
                                           .every_seconds = checkpoints->every_seconds,
                                           .resume = resumes_auto() ? checkpoint_path : resume_path,
                                           .or_start = resumes_auto(),
                                           .note = note,
                                           .on_resume = on_resume};
    const char *from = checkpoints->resume;
    /* other workers say what they miss when all of them read it */
    if (from && rw_workers_leads(cli) && access(from, R_OK) != 0 &&
        (!resumes_auto() || errno != ENOENT))
        return rw_msg_errno(errno, "cannot open '%s'", from);
    return 0;
}

/* At least 1, which is for the missing one to be an error. */
static unsigned long long count_gpus(struct rw_ctx *ctx)
{
    char device[16] = "cuda:0";
    int n = 0;
    while (n < RW_WORKERS_MOST_THREADS && rw_device_check(ctx, device) >= 0)
        snprintf(device, sizeof(device), "cuda:%d", ++n);
    return n > 1 ? (unsigned long long)n : 1;
}

/* --device cuda:all: a worker for each GPU, unless somebody else has started the workers. */
static int take_all_gpus(struct rw_cli *cli)
{
    if (strcmp(rw_params_get(cli->params, "device"), "cuda:all") != 0)
        return 0;
    if (n_workers > 1)
        return rw_wrong(cli,
                        "'--workers' and '--device cuda:all' both say how many workers there are");
    if (rw_workers_count(cli->ctx) == 1 && !plan_only && !config_only)
        n_workers = count_gpus(cli->ctx);
    return rw_params_set(cli->ctx, cli->params, "device", "cuda");
}

static int check_params(struct rw_cli *cli)
{
    if (refit_path) /* what that takes of its model is not known yet */
        return 0;
    return rw_params_check(cli->ctx, cli->params,
                           valid_files.given.n > 0 ? RW_PARAMS_TRAIN : RW_PARAMS_TRAIN_ALONE);
}

/* Is there the format of --for, and its feature set? */
static int take_format(struct rw_cli *cli)
{
    struct rw_exchange how = made_for;
    if (!how.format && how.featureset)
        return rw_wrong(cli, "'--featureset' has no effect without '--for'");
    how.name = how.featureset ? "model" : NULL; /* export asks for one */
    return how.format ? rw_exchange_check(cli->ctx, &how, NULL, NULL, NULL) : 0;
}

static int check(struct rw_cli *cli)
{
    if (!output && !plan_only && !config_only)
        return rw_wrong(cli, "'train' needs -o MODEL");
    if (cli->format != RW_FORMAT_TEXT && !plan_only)
        return rw_wrong(cli, "'--format' and '--json' print '--plan': give that, too");
    if (plan_only && config_only)
        return rw_wrong(cli, "'--plan' and '--print-config' both print and stop: expected one");
    if (n_workers > 1 && rw_workers_count(cli->ctx) > 1)
        return rw_wrong(cli, "'--workers' in a process that is one of many workers already");
    if ((n_workers > 1 || rw_workers_count(cli->ctx) > 1) && (plan_only || config_only))
        return rw_wrong(cli, "'--%s' is for one process with all the data, not for many workers",
                        plan_only ? "plan" : "print-config");
    RW_STEP(take_format(cli));
    if (refit_path && init_path)
        return rw_wrong(
            cli, "'--init' has no effect with '--refit': a model is refitted, or trained on");
    if (refit_path && made_for.format)
        return rw_wrong(cli, "'--for' has no effect with '--refit': the trees are the model's, "
                             "which 'export' takes or refuses");
    RW_STEP(check_checkpoints(cli));
    RW_STEP(take_all_gpus(cli));
    RW_STEP(check_valid_files(cli, "valid-weights", &valid_weights));
    RW_STEP(check_valid_files(cli, "valid-query-weights", &valid_query_weights));
    RW_STEP(check_valid_files(cli, "valid-start-scores", &valid_start_scores));
    for (int i = 0; i < valid_files.given.n; i++) {
        if (valid_file(&valid_weights, i) && valid_file(&valid_query_weights, i))
            return rw_wrong(cli,
                            "'--valid-weights' and '--valid-query-weights' both weigh '%s': give "
                            "one of them, and 'none' in its place",
                            valid_files.given.text[i]);
    }
    return check_params(cli);
}

static int read_sets(struct training *t)
{
    struct rw_cli *cli = t->cli;
    struct rw_ctx *ctx = cli->ctx;
    const int n_valid = valid_files.given.n;
    t->valid = rw_need((size_t)n_valid, sizeof(struct rw_dataset *));
    if (init_path || refit_path) {
        RW_STEP(rw_workers_meet(cli,
                                rw_model_read(ctx, refit_path ? refit_path : init_path, &t->init)));
        cli->init = t->init;
    }
    if (refit_path)
        RW_STEP(rw_refit_params(ctx, cli->params, t->init));
    RW_STEP(refit_path ? rw_load_weighted(cli, &cli->operands)
                       : rw_load_training(cli, &cli->operands));
    for (int i = 0; i < n_valid; i++) {
        const char *of_docs = valid_file(&valid_weights, i);
        const char *of_queries = valid_file(&valid_query_weights, i);
        const char *start = valid_file(&valid_start_scores, i);
        RW_STEP(plan_only ? rw_load_dataset(cli, &valid_files.files[i], &t->valid[i])
                          : rw_load_valid(cli, &valid_files.files[i], &t->valid[i]));
        if (of_docs)
            RW_STEP(rw_dataset_read_side_column(ctx, t->valid[i], "weights", of_docs));
        if (of_queries)
            RW_STEP(rw_dataset_read_side_column(ctx, t->valid[i], "query-weights", of_queries));
        if (start)
            RW_STEP(rw_dataset_read_side_column(ctx, t->valid[i], "start-scores", start));
    }
    return 0;
}

/* Would the format of --for refuse the model? Before the first round. The worker that leads prints;
 * the others, which found the same, only say that they did. */
static int check_format(struct rw_cli *cli, const struct rw_model *init)
{
    if (!made_for.format)
        return 0;
    int code = rw_exchange_check(cli->ctx, &made_for, cli->params, cli->binned, init);
    if (code == RW_ERR_UNSUPPORTED && rw_workers_leads(cli)) {
        rw_msg_failed(cli->ctx, code, NULL);
        code = RW_EXIT_USAGE;
    }
    return rw_workers_meet(cli, code);
}

static int read_data(struct training *t)
{
    char set[32], features[48];
    uint64_t train[2], valid[2];
    RW_STEP(read_sets(t));
    snprintf(features, sizeof(features), ", %u features", rw_load_n_features(t->cli));
    RW_STEP(rw_load_say_size(t->cli, "train", &t->cli->operands, t->cli->dataset, features, train));
    if (rw_workers_leads(t->cli))
        memcpy(job.size, train, sizeof(train));
    if (rw_workers_leads(t->cli) && rw_workers_count(t->cli->ctx) > 1)
        rw_msg_line("workers: %d", rw_workers_count(t->cli->ctx));
    for (int i = 0; i < valid_files.given.n; i++)
        RW_STEP(rw_load_say_size(t->cli, set_name(i + 1, set), &valid_files.files[i], t->valid[i],
                                 "", valid));
    return check_format(t->cli, t->init);
}

static void training_release(struct training *t)
{
    for (int i = 0; t->valid && i < valid_files.given.n; i++)
        rw_dataset_free(t->valid[i]);
    rw_model_free(t->init);
}

/* ------------------------------------------------------------------ after */

/* The validation figures of the model that was kept, as 'eval' gives them. */
static void report(const struct rw_model *model)
{
    const char *name;
    double value;
    char figure[RW_FIGURE_ROOM];
    for (int i = 0; (name = rw_model_metric_at(model, i, &value)) != NULL; i++) {
        const char *metric = strchr(name, ' ');
        const int n =
            valid_files.given.n == 1 ? 5 : (int)(metric - name); /* "valid", or "valid2" */
        if (strncmp(name, "valid", 5) == 0)
            rw_msg_line("%.*s%s %s", n, name, metric, rw_figure(value, figure));
    }
}

/* The best until a signal or a full disk ended training goes beside MODEL, which a job that waits
 * for a finished model must not find changed. Returns `code`, the exit code. */
static int keep_interrupted(struct rw_cli *cli, int code)
{
    struct rw_out_file *out = &cli->out;
    char path[4096];
    if (!out->temporary) {
        rw_msg_warning("interrupted: '%s' is no file, so the trees until now are not kept", output);
        return code;
    }
    int status = rw_out_file_rename(cli->ctx, out, ".interrupted");
    snprintf(path, sizeof(path), "%s", out->path);
    if (status >= 0)
        status = rw_model_write_file(cli->ctx, cli->model, out->file, path);
    if (status >= 0)
        status = rw_out_file_commit(cli->ctx, out);
    if (status < 0) {
        rw_msg_failed(cli->ctx, status, "train");
        job.is_kept |= rw_output_save_elsewhere(cli->ctx, cli->model, output);
        return code;
    }
    rw_msg_warning("interrupted: the best model until now is '%s'; '%s' is as it was", path,
                   output);
    if (checkpoint_path)
        rw_msg_hint("'--resume auto' goes on from '%s'", checkpoint_path);
    job.is_kept = 1;
    return code;
}

static int write_finished(struct rw_cli *cli)
{
    int status = rw_model_write_file(cli->ctx, cli->model, cli->out.file, output);
    if (status >= 0)
        status = rw_out_file_commit(cli->ctx, &cli->out);
    if (status < 0) {
        const int code = rw_msg_failed(cli->ctx, status, "train");
        job.is_kept |= rw_output_save_elsewhere(cli->ctx, cli->model, output);
        return code;
    }
    job.is_kept = 1;
    return 0;
}

/* What comes of a training, on the worker that prints and writes. */
static int finish(struct rw_cli *cli, double start, int end)
{
    char kept[64] = "";
    const int n_trees = rw_model_n_trees(cli->model);
    if (rw_model_info(cli->model).best_round > 0)
        snprintf(kept, sizeof(kept), ": the best of %d round%s", job.rounds_run,
                 job.rounds_run == 1 ? "" : "s");
    rw_msg_line("%d %s in %.1f s%s", n_trees, n_trees == 1 ? "tree" : "trees",
                rw_progress_clock() - start, kept);
    int code = 0;
    if (rw_model_info(cli->model).is_finished)
        RW_STEP(write_finished(cli));
    else
        code = keep_interrupted(cli, end ? end : RW_EXIT_FAILURE);
    report(cli->model);
    return code;
}

/* Before training, where something is printed or written. */
static int begin(struct rw_cli *cli)
{
    char conventions[512];
    RW_STEP(rw_eval_conventions(cli->ctx, rw_params_eval(cli->params), conventions,
                                sizeof(conventions)));
    if (valid_files.given.n > 0 || strcmp(rw_params_get(cli->params, "train-metric"), "on") == 0)
        rw_msg_line("metric %s: %s", rw_params_get(cli->params, "metric"), conventions);
    const char *const from = job.checkpoints.resume;
    const int resumes = from && access(from, F_OK) == 0;
    struct stat about;
    if (checkpoint_path && !from && stat(checkpoint_path, &about) == 0 && S_ISREG(about.st_mode))
        rw_msg_warning("'%s' is there, and will be replaced; '--resume auto' would go on from it",
                       checkpoint_path);
    return log_path ? log_open(&job.log, log_path, resumes) : 0;
}

/* A worker of a training: the only one, or one of many. */
static int train_worker(struct rw_cli *cli, struct training *t)
{
    const int leads = rw_workers_leads(cli);
    RW_STEP(read_data(t));
    RW_STEP(rw_workers_meet(cli, leads ? begin(cli) : 0));
    const struct rw_checkpoints *checkpoints =
        checkpoint_path || job.checkpoints.resume ? &job.checkpoints : NULL;
    struct rw_checkpoints other = job.checkpoints; /* of a worker that tells nobody */
    other.note = NULL;
    other.on_resume = NULL;
    const struct rw_train_hooks quiet = {
        .user = cli, .should_stop = was_interrupted, .checkpoints = checkpoints ? &other : NULL};
    const struct rw_train_hooks hooks = {.user = cli,
                                         .on_start = on_start,
                                         .on_round = on_round,
                                         .on_stage = on_stage,
                                         .should_stop = should_stop,
                                         .checkpoints = checkpoints,
                                         .on_positions = on_positions};
    const double start = rw_progress_clock();
    if (leads || cli->comm)
        rw_interrupts_catch(leads);
    if (leads)
        RW_STEP(rw_progress_follow(cli->ctx));
    const struct rw_dataset *const *valid = (const struct rw_dataset *const *)t->valid;
    const int n_valid = valid_files.given.n;
    const int status = refit_path
                           ? rw_refit(cli->ctx, cli->params, t->init, cli->dataset, valid, n_valid,
                                      leads ? &hooks : &quiet, &cli->model)
                           : rw_train_on(cli->ctx, cli->params,
                                         &(struct rw_training){.binned = cli->binned,
                                                               .init = t->init,
                                                               .valid = valid,
                                                               .n_valid = n_valid,
                                                               .hooks = leads ? &hooks : &quiet},
                                         &cli->model);
    if (leads)
        rw_progress_end();
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

static int train(struct rw_cli *cli)
{
    struct training t = {.cli = cli};
    const int code = train_worker(cli, &t);
    training_release(&t);
    return code;
}

static int plan(struct rw_cli *cli)
{
    struct rw_plan plan = {.n_parts = 0};
    struct training t = {.cli = cli};
    int status = read_data(&t);
    if (status == 0)
        status =
            rw_train_plan(cli->ctx, cli->params,
                          &(struct rw_training){.binned = cli->binned,
                                                .valid = (const struct rw_dataset *const *)t.valid,
                                                .n_valid = valid_files.given.n},
                          &plan);
    if (plan.n_parts > 0)
        print_plan(cli, &plan);
    training_release(&t);
    return status ? status : check_plan(&plan);
}

static int print_config(struct rw_cli *cli)
{
    const char *given = rw_params_get(cli->params, "ignore");
    char *ignore = rw_copy(given);
    struct training t = {.cli = cli};
    int status = read_data(&t);
    if (status == 0) /* once a table is read, its columns to ignore are forgotten */
        status = rw_params_set(cli->ctx, cli->params, "ignore", ignore);
    training_release(&t);
    RW_STEP(status);
    RW_STEP(rw_params_resolve(cli->ctx, cli->params, rw_dataset_n_docs(cli->dataset),
                              rw_load_n_features(cli), valid_files.given.n));
    return rw_params_write(cli->ctx, cli->params, stdout);
}

static int run(struct rw_cli *cli)
{
    enum { BLOCK = 4096 };
    job.cli = cli;
    if (plan_only)
        return plan(cli);
    if (config_only)
        return print_config(cli);
    /* The model's file, with a first block of the disk: a full one is found before the work. */
    int code = rw_workers_leads(cli) ? rw_out_file_open(cli->ctx, &cli->out, output) : 0;
    if (code == 0 && rw_workers_leads(cli))
        code = rw_out_file_reserve(cli->ctx, &cli->out, BLOCK);
    code = rw_workers_meet(cli, code);
    if (code == 0)
        code = n_workers > 1 ? rw_workers_in_threads(cli, (int)n_workers, train) : train(cli);
    if (code < 0)
        code = rw_msg_failed(cli->ctx, code, "train");
    const int log_code = log_close(&job.log, !job.is_kept);
    return log_code ? log_code : code;
}

const struct rw_command rw_cmd_train = {
    .name = "train",
    .brief = "train a model",
    .operands = "DATA... [--valid DATA]... -o MODEL",
    .about = "Trains a model. The first metric on the first validation set that is not DATA stops "
             "training (--early-stop), and the model ends at its best round. Ctrl-C and SIGTERM "
             "end after "
             "the round: the best model so far goes to MODEL.interrupted, MODEL stays as it was, "
             "and the exit code is 130 or 143.",
    .least = 1,
    .most = -1,
    .has_results = 1,
    .options = options,
    .params = "*",
    .has_workers = 1,
    .check = check,
    .run = run,
};
