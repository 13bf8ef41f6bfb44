/* The file of 'train --log': opened and locked before training, truncated when a training resumes,
 * and removed after a training that failed. cmd_train.c says what its lines are. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static struct {
    const char *path;
    FILE *file;
    /* resumes: 1 if the log may continue that of an earlier process. is_waiting: 1 while lines
     * are dropped, until rw_train_log_begin or rw_train_log_start. */
    int resumes, is_waiting;
    int resumed_round; /* 0: the log began with this training */
    int error;         /* errno of the first failed write, or 0 */
} train_log;

/* Locks the log, so that a second training cannot write it too. The system releases the lock when
 * the process ends, however it ends. Returns 0, also if the file system lacks locks, or the exit
 * code after an error message. */
static int lock(void)
{
    if (flock(fileno(train_log.file), LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno != EWOULDBLOCK) {
        rw_msg_line("cannot lock '%s': its file system does not support locks", train_log.path);
        return 0;
    }
    fclose(train_log.file); /* the file of the other training is left as it is */
    train_log.file = NULL;
    rw_msg_error("another training is still writing the log '%s'", train_log.path);
    rw_msg_hint("wait for that training, end it, or pass a different '--log'");
    return RW_EXIT_FAILURE;
}

int rw_train_log_open(const char *path, int resumes)
{
    struct stat about;
    train_log.path = path;
    train_log.resumes = train_log.is_waiting = resumes;
    if (strcmp(train_log.path, "-") == 0) {
        train_log.file = stdout;
        return 0;
    }
    /* The content is kept until the file is locked. */
    const int is_pipe = stat(train_log.path, &about) == 0 && !S_ISREG(about.st_mode);
    const int fd = open(train_log.path, (is_pipe ? O_WRONLY : O_RDWR | O_CREAT) | O_CLOEXEC, 0666);
    train_log.file = fd < 0 ? NULL : fdopen(fd, is_pipe ? "w" : "r+");
    if (train_log.file && is_pipe)
        return 0;
    if (train_log.file)
        RW_STEP(lock());
    return train_log.file && (resumes || ftruncate(fd, 0) == 0)
               ? 0
               : rw_msg_errno(errno, "cannot write '%s'", train_log.path);
}

/* Returns 1 if the log is a regular file, which can be truncated. *about: receives its status. */
static int is_regular(struct stat *about)
{
    return train_log.file && train_log.file != stdout &&
           fstat(fileno(train_log.file), about) == 0 && S_ISREG(about->st_mode);
}

void rw_train_log_begin(const char *note, int round)
{
    struct stat about = {.st_mode = S_IFREG};
    long long bytes = 0;
    train_log.resumed_round = round;
    train_log.is_waiting = 0;
    if (!is_regular(&about)) {
        if (S_ISREG(about.st_mode) && train_log.file && train_log.file != stdout)
            train_log.error = errno; /* fstat failed */
        return;
    }
    if (sscanf(note, "log %lld", &bytes) != 1 || bytes < 0 || bytes > about.st_size) {
        rw_msg_warning(
            "'%s' is not the log of the resumed training; the new log begins with round %d",
            train_log.path, round + 1);
        bytes = 0;
    }
    if (ftruncate(fileno(train_log.file), (off_t)bytes) != 0 ||
        fseeko(train_log.file, (off_t)bytes, SEEK_SET) != 0)
        train_log.error = errno;
}

void rw_train_log_write(json_t *record)
{
    if (train_log.file && !train_log.is_waiting) {
        errno = 0;
        json_dumpf(record, train_log.file, JSON_COMPACT);
        fputc('\n', train_log.file);
        if ((fflush(train_log.file) != 0 || ferror(train_log.file)) && !train_log.error)
            train_log.error = errno ? errno : EIO;
    }
    json_decref(record);
}

const char *rw_train_log_note(void)
{
    static char text[32];
    struct stat about;
    text[0] = 0;
    if (is_regular(&about))
        snprintf(text, sizeof(text), "log %lld", (long long)ftello(train_log.file));
    return text;
}

int rw_train_log_start(void)
{
    train_log.is_waiting = 0;
    return train_log.resumed_round;
}

int rw_train_log_is_open(void)
{
    return train_log.file != NULL;
}

int rw_train_log_close(int run_failed)
{
    struct stat about;
    const int regular = is_regular(&about);
    if (!train_log.file)
        return 0;
    if (train_log.file != stdout && fclose(train_log.file) != 0 && !train_log.error)
        train_log.error = errno;
    train_log.file = NULL;
    if (run_failed && regular && !train_log.resumes)
        unlink(train_log.path);
    if (!train_log.error || run_failed)
        return 0;
    return rw_msg_errno(train_log.error, "cannot write '%s'", train_log.path);
}
