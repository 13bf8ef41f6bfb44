#include "cli/train_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* While it is written, for the system takes the lock from a process that ends, however it ends. */
static int lock(struct rw_train_log *log)
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

int rw_train_log_open(struct rw_train_log *log, const char *path, int resumes)
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
static int is_regular(const struct rw_train_log *log, struct stat *about)
{
    return log->file && log->file != stdout && fstat(fileno(log->file), about) == 0 &&
           S_ISREG(about->st_mode);
}

const char *rw_train_log_note(struct rw_train_log *log)
{
    struct stat about;
    log->note[0] = 0;
    if (is_regular(log, &about))
        snprintf(log->note, sizeof(log->note), "log %lld", (long long)ftello(log->file));
    return log->note;
}

void rw_train_log_begin(struct rw_train_log *log, const char *note, int round)
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
static void write_line(struct rw_train_log *log, json_t *record)
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

void rw_train_log_params(struct rw_train_log *log, struct rw_params *used, const struct rw_cli *cli,
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
                                  rw_load_n_features(cli), rw_ranks_count(cli->ctx)));
}

const char *rw_train_log_set(int set, char buffer[32])
{
    if (set == 0)
        return "train";
    snprintf(buffer, 32, "valid%d", set);
    return buffer;
}

void rw_train_log_round(struct rw_train_log *log, const struct rw_round *round)
{
    if (!log->file)
        return;
    char key[128], set[32];
    json_t *values = json_object();
    for (int i = 0; i < round->n_metrics; i++) {
        const struct rw_metric_value *metric = &round->metrics[i];
        snprintf(key, sizeof(key), "%s %s", rw_train_log_set(metric->set, set), metric->name);
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

void rw_train_log_positions(struct rw_train_log *log, const struct rw_positions *found)
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

void rw_train_log_stage(struct rw_train_log *log, const char *stage, double ms, size_t peak_bytes)
{
    if (log->file)
        write_line(log, rw_result_row("record:s stage:s ms:n peak_bytes:l", "timing", stage, ms,
                                      (uint64_t)peak_bytes));
}

int rw_train_log_close(struct rw_train_log *log, int run_failed)
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

/* values: [n_metrics]; NULL: those of the metrics. */
static void take(struct rw_train_value *to, const struct rw_metric_value *metrics,
                 const double *values, int n_metrics)
{
    for (int i = 0; i < n_metrics; i++) {
        to[i].set = metrics[i].set;
        to[i].value = values ? values[i] : metrics[i].value;
        snprintf(to[i].name, sizeof(to[i].name), "%s", metrics[i].name);
    }
}

static void make(struct rw_train_values *values, int n)
{
    if (values->last)
        return;
    values->n = n;
    values->last = rw_need((size_t)n, sizeof(*values->last));
    values->best = rw_need((size_t)n, sizeof(*values->best));
}

void rw_train_values_round(struct rw_train_values *values, const struct rw_round *round)
{
    make(values, round->n_metrics);
    take(values->last, round->metrics, NULL, round->n_metrics);
    if (round->best_round == round->round)
        take(values->best, round->metrics, NULL, round->n_metrics);
}

void rw_train_values_resume(struct rw_train_values *values, const struct rw_resumed *resumed)
{
    const int n = resumed->n_metrics;
    make(values, n);
    if (resumed->round > 0)
        take(values->last, resumed->metrics,
             resumed->values + (size_t)n * (size_t)(resumed->round - 1), n);
    if (resumed->best_round > 0)
        take(values->best, resumed->metrics,
             resumed->values + (size_t)n * (size_t)(resumed->best_round - 1), n);
}

void rw_train_values_print(const struct rw_train_values *values, const struct rw_model *model,
                           const char *(*set_name)(int set, char buffer[32]))
{
    const struct rw_train_value *value =
        rw_model_info(model).best_round > 0 ? values->best : values->last;
    char figure[RW_FIGURE_ROOM], set[32];
    for (int i = 0; i < values->n; i++) {
        if (value[i].set > 0)
            rw_msg_line("%s %s %s", set_name(value[i].set, set), value[i].name,
                        rw_figure(value[i].value, figure));
    }
}

void rw_train_far_print(const struct rw_round *round)
{
    const double gb = (double)round->far_hist_bytes / 1e9;
    rw_msg_line("  read of the host's memory: %.2f GB, by histograms %.2f GB in %.2f ms: %.1f GB/s",
                (double)round->far_bytes / 1e9, gb, round->far_hist_ms,
                round->far_hist_ms > 0.0 ? gb / (round->far_hist_ms / 1e3) : 0.0);
}

void rw_train_positions_print(const struct rw_positions *found)
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

void rw_train_plan_print(const struct rw_cli *cli, const struct rw_plan *plan)
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

int rw_train_plan_fits(const struct rw_plan *plan)
{
    const uint64_t needed = plan->on_gpu ? plan->far_bytes : plan->bytes;
    if (plan->host_free_bytes == 0 || needed <= plan->host_free_bytes)
        return 0;
    rw_msg_error("out of memory: training needs %.1f MB beside the data, and %.1f MB are available",
                 (double)needed / 1e6, (double)plan->host_free_bytes / 1e6);
    rw_msg_hint("'rankwood doctor' says what limits it");
    return RW_EXIT_MACHINE;
}
