#include "cli/train_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/load.h"
#include "cli/messages.h"

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
