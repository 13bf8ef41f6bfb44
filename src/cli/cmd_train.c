/* rankwood train. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/talk.h"
#include "cli/train_log.h"

/* ------------------------------------------------------------------ Ctrl-C */

static volatile sig_atomic_t stop_asked; /* the signal's number */

/* The first signal ends training after the round; the second ends the program. */
static void ask_to_stop(int number)
{
    static const char text[] = "\nrankwood: stopping after this round; once more stops at once\n";
    const int saved = errno;
    if (stop_asked)
        rw_output_end_by(number);
    stop_asked = number;
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        stop_asked = number; /* nobody listens: stop all the same */
    errno = saved;
}

static void catch_signals(void)
{
    const int signals[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        struct sigaction old, now = {.sa_handler = ask_to_stop};
        sigemptyset(&now.sa_mask);
        /* A program started with SIGINT ignored (nohup, &) keeps it so. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &now, NULL);
    }
}

/* ------------------------------------------------------------------ the job */

struct job {
    struct rw_said said;
    const char *output, *log_path, *init_path;
    struct rw_output file;      /* where the model is written to, from before the data is read */
    struct rw_list valid_files; /* "a.txt,b.txt" each */
    struct rw_list valid_weights;
    struct rw_binned *binned; /* the training set, owned; NULL with --init */
    struct rw_dataset *train; /* its documents; with --init the set itself, owned */
    uint32_t n_features;
    struct rw_dataset **valid; /* [valid_files.n] owned */
    struct rw_list *files;     /* [valid_files.n] cut at the commas; owned */
    char **copy;               /* [valid_files.n] the cut texts; owned */
    struct rw_model *init;     /* to go on from; NULL: from nothing; owned */
    struct rw_model *model;    /* owned */
    struct rw_train_log log;
    int rounds_run;
    int is_kept; /* the model, or what there is of it, is written: the log tells how */
    int plan_only;
    int disk_full; /* no space for one more tree: an errno */
};

/* Space for the model with one more tree is taken in time, more than that if there is enough. */
static void reserve(struct job *job, const struct rw_round *round)
{
    const uint64_t needed = round->next_model_bytes;
    if (needed <= job->file.n_reserved || job->disk_full)
        return;
    if (rw_output_reserve(&job->file, needed + needed / 2) != 0)
        job->disk_full = rw_output_reserve(&job->file, needed);
}

static int should_stop(void *user)
{
    const struct job *job = user;
    return stop_asked || job->disk_full;
}

/* Sets' names for people: "valid" when there is only one. */
static const char *set_name(const struct job *job, int set, char buffer[32])
{
    return set == 1 && job->valid_files.n == 1 ? "valid" : rw_train_log_set(set, buffer);
}

static int on_round(void *user, const struct rw_round *round)
{
    struct job *job = user;
    job->rounds_run = round->round;
    char line[2048], figure[RW_FIGURE_ROOM], set[32];
    int at = snprintf(line, sizeof(line), "round %d/%d  %.3f s", round->round, round->n_rounds,
                      round->ms / 1e3);
    for (int i = 0; i < round->n_metrics && at < (int)sizeof(line) - 1; i++)
        at += snprintf(line + at, sizeof(line) - (size_t)at, "  %s %s %s",
                       set_name(job, round->metrics[i].set, set), round->metrics[i].name,
                       rw_load_figure(round->metrics[i].value, figure));
    rw_talk_line("%s%s", line, round->best_round == round->round ? "  best" : "");
    if (rw_talk_is_verbose())
        rw_talk_line("  %d leaves; ms: lambdas %.2f, histograms %.2f, splits %.2f, partition %.2f, "
                     "scores %.2f, metrics %.2f",
                     round->n_leaves, round->ms_lambdas, round->ms_histograms, round->ms_splits,
                     round->ms_partition, round->ms_scores, round->ms_metrics);
    rw_train_log_round(&job->log, round);
    reserve(job, round);
    if (!rw_talk_is_quiet())
        rw_progress_show(round->round, round->n_rounds, round->n_docs);
    return 0;
}

static void on_start(void *user, struct rw_params *used)
{
    struct job *job = user;
    rw_train_log_params(&job->log, used, job->said.params, job->train, job->n_features,
                        &job->said.operands, &job->valid_files);
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    struct job *job = user;
    rw_load_stage(stage, ms, peak_bytes);
    rw_train_log_stage(&job->log, stage, ms, peak_bytes);
}

/* ------------------------------------------------------------------ before */

/* What has no effect without data to measure on, unless it changes nothing. */
static int check_unmeasured(const struct rw_usage *usage, struct job *job)
{
    static const char *const measuring[] = {"metric", "empty", "ties", "relevant"};
    struct rw_params *params = job->said.params;
    if (job->valid_files.n > 0)
        return -1;
    if (rw_params_must_matter(params, "early-stop") &&
        strcmp(rw_params_get(params, "early-stop"), "0") != 0)
        return rw_options_wrong(usage, "'--early-stop' has no effect without '--valid'");
    if (strcmp(rw_params_get(params, "train-metric"), "on") == 0)
        return -1;
    for (size_t i = 0; i < sizeof(measuring) / sizeof(measuring[0]); i++) {
        if (rw_params_must_matter(params, measuring[i]))
            return rw_options_wrong(usage,
                                    "'--%s' has no effect without '--valid' or '--train-metric on'",
                                    measuring[i]);
    }
    if (rw_params_must_matter(params, "label-gain") &&
        strcmp(rw_params_get(params, "objective"), "regression") == 0)
        return rw_options_wrong(usage, "'--label-gain' has no effect with regression and nothing "
                                       "to measure on");
    return -1;
}

/* No file is read twice from standard input, none is written over what is read. */
static int check_files(const struct rw_usage *usage, struct job *job)
{
    struct rw_params *params = job->said.params;
    const char *side[3], *sides[] = {"weights", "names", "label-gain"};
    struct rw_list weights = {calloc((size_t)job->valid_weights.n + 1, sizeof(char *)), 0};
    for (int i = 0; i < 3; i++)
        side[i] = rw_params_get(params, sides[i]);
    const int n_lists = job->valid_files.n + 3;
    struct rw_list *lists = calloc((size_t)n_lists, sizeof(*lists));
    if (!lists || !weights.text) {
        rw_talk_out_of_memory();
        free(lists);
        free(weights.text);
        return RW_EXIT_FAILURE;
    }
    for (int i = 0; i < job->valid_weights.n; i++) {
        if (strcmp(job->valid_weights.text[i], "none") != 0)
            weights.text[weights.n++] = job->valid_weights.text[i];
    }
    lists[0] = job->said.operands;
    lists[1] = (struct rw_list){side, 3};
    lists[2] = weights;
    for (int i = 0; i < job->valid_files.n; i++)
        lists[i + 3] = job->files[i];
    int code = rw_options_check_files(usage, lists, n_lists, job->output);
    if (code == 0)
        code = rw_options_check_files(usage, lists, n_lists, job->log_path);
    free(lists);
    free(weights.text);
    if (code == 0 && job->log_path && rw_output_clash(job->log_path, job->output))
        code = rw_options_wrong(usage, "'-o' and '--log' name the same file");
    return code == 0 ? -1 : code;
}

/* The model's file, with a first block of the disk: a full one is found before the work. */
static int open_model(struct job *job)
{
    enum { BLOCK = 4096 };
    if (rw_output_open(&job->file, job->output) < 0)
        return -1;
    const int why = rw_output_reserve(&job->file, BLOCK);
    if (why != 0)
        rw_talk_refused(why, "cannot write '%s'", job->output);
    return why == 0 ? 0 : -1;
}

static int check(const struct rw_usage *usage, struct job *job)
{
    const size_t n = (size_t)job->valid_files.n;
    if (!job->output && !job->plan_only)
        return rw_options_wrong(usage, "'train' needs -o MODEL");
    if (job->log_path && job->plan_only)
        return rw_options_wrong(usage, "'--log' has no effect with '--plan'");
    if (job->init_path && job->plan_only)
        return rw_options_wrong(usage, "'--init' has no effect with '--plan'");
    if (job->valid_weights.n > job->valid_files.n)
        return rw_options_wrong(usage, "%d files of '--valid-weights' for %d of '--valid'",
                                job->valid_weights.n, job->valid_files.n);
    const int status = rw_params_check(job->said.ctx, job->said.params);
    if (status < 0)
        return rw_talk_failed(job->said.ctx, status, "train");
    int code = check_unmeasured(usage, job);
    if (code >= 0)
        return code;
    job->valid = calloc(n + 1, sizeof(*job->valid));
    job->files = calloc(n + 1, sizeof(*job->files));
    job->copy = calloc(n + 1, sizeof(*job->copy));
    if (!job->valid || !job->files || !job->copy) {
        rw_talk_out_of_memory();
        return RW_EXIT_FAILURE;
    }
    for (size_t i = 0; i < n; i++) {
        code = rw_options_split(usage, job->valid_files.text[i], &job->copy[i], &job->files[i]);
        if (code != 0)
            return code;
    }
    code = check_files(usage, job);
    if (code >= 0)
        return code;
    if ((job->log_path && rw_output_check(job->log_path) < 0) ||
        (!job->plan_only && open_model(job) < 0) ||
        (job->plan_only && job->output && rw_output_check(job->output) < 0))
        return RW_EXIT_FAILURE;
    return -1;
}

static int read_data(struct job *job)
{
    struct rw_ctx *ctx = job->said.ctx;
    int status = job->init_path ? rw_model_read(ctx, job->init_path, &job->init) : RW_OK;
    if (status >= 0 && job->init_path) { /* the model's scores are of values */
        status = rw_load_dataset(ctx, &job->said.operands, &job->train);
        job->n_features = status < 0 ? 0 : rw_dataset_n_features(job->train);
    } else if (status >= 0) {
        status = rw_load_binned(ctx, job->said.params, &job->said.operands, &job->binned);
        job->train = status < 0 ? NULL : rw_binned_documents(job->binned);
        job->n_features = status < 0 ? 0 : rw_binned_n_features(job->binned);
    }
    const char *weights = rw_params_get(job->said.params, "weights");
    if (status >= 0 && *weights)
        status = rw_dataset_read_weights(ctx, job->train, weights);
    for (int i = 0; i < job->valid_files.n && status >= 0; i++) {
        const char *file = i < job->valid_weights.n ? job->valid_weights.text[i] : "none";
        status = rw_load_dataset(ctx, &job->files[i], &job->valid[i]);
        if (status >= 0 && strcmp(file, "none") != 0)
            status = rw_dataset_read_weights(ctx, job->valid[i], file);
    }
    if (status >= 0) {
        rw_talk_line("train: %u documents in %u queries, %u features",
                     rw_dataset_n_docs(job->train), rw_dataset_n_queries(job->train),
                     job->n_features);
        for (int i = 0; i < job->valid_files.n; i++) {
            char set[32];
            rw_talk_line("%s: %u documents in %u queries", set_name(job, i + 1, set),
                         rw_dataset_n_docs(job->valid[i]), rw_dataset_n_queries(job->valid[i]));
        }
    }
    return status;
}

/* ------------------------------------------------------------------ after */

/* The validation figures of the model that was kept, as 'eval' gives them. */
static int report(struct job *job)
{
    struct rw_ctx *ctx = job->said.ctx;
    int status = RW_OK;
    for (int i = 0; i < job->valid_files.n && status >= 0; i++) {
        struct rw_eval *eval = NULL;
        char figure[RW_FIGURE_ROOM], set[32];
        double *scores = calloc((size_t)rw_dataset_n_docs(job->valid[i]) + 1, sizeof(*scores));
        if (!scores)
            return RW_OK; /* the model is made; it can be measured with eval */
        status = rw_predict(ctx, job->model, job->valid[i], 0, scores);
        if (status >= 0)
            status =
                rw_evaluate(ctx, rw_params_eval(job->said.params), job->valid[i], scores, &eval);
        for (int m = 0; status >= 0 && m < eval->n_metrics; m++)
            rw_talk_line("%s %s %s", set_name(job, i + 1, set), eval->metrics[m].name,
                         rw_load_figure(eval->metrics[m].mean, figure));
        if (status >= 0)
            rw_load_warn_ties(eval, set_name(job, i + 1, set));
        rw_eval_free(eval);
        free(scores);
    }
    return status;
}

/* The best until a signal or a full disk ended training goes beside MODEL, which a job that waits
 * for a finished model must not find changed. Returns the exit code. */
static int keep_interrupted(struct job *job)
{
    const int code = stop_asked ? 128 + stop_asked : RW_EXIT_FAILURE;
    if (job->disk_full)
        rw_talk_refused(job->disk_full, "training ends: no space for more trees in '%s'",
                        job->output);
    if (!job->file.temporary) {
        rw_talk_warn("interrupted: '%s' is no file, so the trees until now are not kept",
                     job->output);
        return code;
    }
    if (rw_output_rename(&job->file, ".interrupted") < 0)
        return code;
    char *path = strdup(job->file.path);
    const int status =
        rw_model_write_file(job->said.ctx, job->model, job->file.file, job->file.path);
    if (status < 0)
        rw_talk_failed(job->said.ctx, status, "train");
    else if (rw_output_commit(&job->file) == 0)
        rw_talk_warn("interrupted: the best model until now is '%s'; '%s' is as it was",
                     path ? path : "MODEL.interrupted", job->output);
    free(path);
    job->is_kept = 1;
    return code;
}

/* Returns the exit code, or a status below 0. */
static int write_finished(struct job *job)
{
    const int status = rw_model_write_file(job->said.ctx, job->model, job->file.file, job->output);
    if (status < 0)
        return status;
    job->is_kept = rw_output_commit(&job->file) == 0;
    return job->is_kept ? RW_EXIT_OK : RW_EXIT_FAILURE;
}

static int train(struct job *job)
{
    struct rw_ctx *ctx = job->said.ctx;
    char conventions[512];
    const int measured = job->valid_files.n > 0 ||
                         strcmp(rw_params_get(job->said.params, "train-metric"), "on") == 0;
    int status = read_data(job);
    if (status >= 0)
        status = rw_eval_conventions(ctx, rw_params_eval(job->said.params), conventions,
                                     sizeof(conventions));
    if (status < 0)
        return status;
    if (measured)
        rw_talk_line("metric %s: %s", rw_params_get(job->said.params, "metric"), conventions);
    if (job->log_path && rw_train_log_open(&job->log, job->log_path) < 0)
        return RW_EXIT_FAILURE;

    const struct rw_train_hooks hooks = {.user = job,
                                         .on_start = on_start,
                                         .on_round = on_round,
                                         .on_stage = on_stage,
                                         .should_stop = should_stop};
    const double start = rw_progress_clock();
    catch_signals();
    rw_progress_start();
    const struct rw_dataset *const *valid = (const struct rw_dataset *const *)job->valid;
    status = job->binned ? rw_train_binned(ctx, job->said.params, job->binned, valid,
                                           job->valid_files.n, &hooks, &job->model)
                         : rw_train_from(ctx, job->said.params, job->init, job->train, valid,
                                         job->valid_files.n, &hooks, &job->model);
    rw_progress_end();
    if (status < 0 && stop_asked) {
        rw_talk_failed(ctx, status, "train");
        return 128 + stop_asked;
    }
    if (status < 0)
        return status;
    const int n_trees = rw_model_n_trees(job->model);
    char kept[64] = "";
    if (rw_model_best_round(job->model) > 0)
        snprintf(kept, sizeof(kept), ": the best of %d round%s", job->rounds_run,
                 job->rounds_run == 1 ? "" : "s");
    rw_talk_line("%d %s in %.1f s%s", n_trees, n_trees == 1 ? "tree" : "trees",
                 rw_progress_clock() - start, kept);
    const int is_finished = rw_model_is_finished(job->model);
    const int code = is_finished ? write_finished(job) : keep_interrupted(job);
    if (is_finished && code != RW_EXIT_OK)
        return code;
    status = report(job);
    return status < 0 ? status : code;
}

static void print_plan(const struct rw_plan *plan)
{
    printf("device          %s\n", plan->device);
    for (int i = 0; i < plan->n_parts; i++)
        printf("%-15s %15llu bytes\n", plan->part[i].name, (unsigned long long)plan->part[i].bytes);
    printf("%-15s %15llu bytes of %s\n", "in all", (unsigned long long)plan->bytes,
           plan->on_gpu ? "device memory" : "memory");
    if (plan->on_gpu)
        printf("%-15s %15llu bytes, while loading and choosing methods\n"
               "%-15s %15llu bytes\n",
               "at most", (unsigned long long)plan->most_bytes, "free",
               (unsigned long long)plan->free_bytes);
    printf("%-15s %15.3g ms expected\n", "a tree", plan->tree_ms);
}

static int plan(struct job *job)
{
    struct rw_plan plan;
    int status = read_data(job);
    if (status < 0)
        return status;
    const struct rw_dataset *const *valid = (const struct rw_dataset *const *)job->valid;
    status = job->binned ? rw_train_plan_binned(job->said.ctx, job->said.params, job->binned, valid,
                                                job->valid_files.n, &plan)
                         : rw_train_plan(job->said.ctx, job->said.params, job->train, valid,
                                         job->valid_files.n, &plan);
    if (plan.n_parts > 0)
        print_plan(&plan);
    return status;
}

static void release(struct job *job)
{
    for (int i = 0; i < job->valid_files.n; i++) {
        if (job->valid)
            rw_dataset_free(job->valid[i]);
        if (job->files)
            free(job->files[i].text);
        if (job->copy)
            free(job->copy[i]);
    }
    free(job->valid);
    free(job->files);
    free(job->copy);
    rw_output_abandon(&job->file);
    if (!job->binned)
        rw_dataset_free(job->train);
    rw_binned_free(job->binned);
    rw_model_free(job->init);
    rw_model_free(job->model);
}

int rw_cmd_train(int argc, char **argv)
{
    struct job job = {0};
    const struct rw_option options[] = {
        {"valid", 0, "DATA", "a validation set: files with commas between them (repeatable)",
         RW_OPTION_LIST, &job.valid_files},
        {"output", 'o', "MODEL", "where the model goes (needed)", RW_OPTION_TEXT, &job.output},
        {"log", 0, "FILE.jsonl", "write parameters, metrics and timings, a JSON object a line",
         RW_OPTION_TEXT, &job.log_path},
        {"init", 0, "MODEL", "go on from this model: --rounds more trees behind its own",
         RW_OPTION_TEXT, &job.init_path},
        {"valid-weights", 0, "FILE",
         "weights of the validation set in the same place, or 'none' (repeatable)", RW_OPTION_LIST,
         &job.valid_weights},
        {"plan", 0, NULL,
         "print the bytes that each part takes and the time that a tree should, and do nothing",
         RW_OPTION_FLAG, &job.plan_only},
        {0},
    };
    const struct rw_usage usage = {
        .command = "train",
        .operands = "DATA... [--valid DATA]... -o MODEL",
        .about = "Trains a model. The first metric on the first validation set stops training "
                 "(--early-stop), and the model ends at its best round. Ctrl-C and SIGTERM end "
                 "after the round: the best model so far goes to MODEL.interrupted, MODEL stays "
                 "as it was, and the exit code is 130 or 143.",
        .least = 1,
        .most = -1,
        .options = options,
        .params = "*",
    };
    int code = rw_options_parse(&usage, argc, argv, &job.said);
    if (code < 0)
        code = check(&usage, &job);
    if (code < 0) {
        const int status = job.plan_only ? plan(&job) : train(&job);
        if (status < 0)
            code = rw_talk_failed(job.said.ctx, status, "train");
        else
            code = status;
        if (rw_train_log_close(&job.log, !job.is_kept) < 0)
            code = RW_EXIT_FAILURE;
    }
    release(&job);
    rw_options_release(&usage, &job.said);
    return code;
}
