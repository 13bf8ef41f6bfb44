#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/talk.h"

/* ------------------------------------------------------------------ signals */

enum { MOST_GUARDED = 8, PATH_ROOM = 4352 };
/* Temporary files to remove when a signal ends the program; written before the handler is set. */
static char guarded[MOST_GUARDED][PATH_ROOM];
static volatile sig_atomic_t n_guarded;

void rw_output_end_by(int number)
{
    for (int i = 0; i < n_guarded; i++)
        unlink(guarded[i]);
    signal(number, SIG_DFL);
    raise(number);
}

static void guard(const char *temporary)
{
    if (n_guarded == MOST_GUARDED || strlen(temporary) >= PATH_ROOM)
        return;
    memcpy(guarded[n_guarded], temporary, strlen(temporary) + 1);
    n_guarded++;
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction old, now = {.sa_handler = rw_output_end_by};
        sigemptyset(&now.sa_mask);
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(signals[i], &now, NULL);
    }
}

/* ------------------------------------------------------------------ files */

static int failed(const char *what, const char *path)
{
    rw_talk_error("cannot %s '%s': %s", what, path, strerror(errno));
    return -1;
}

/* Where the bytes go: 1 straight into `path` (no regular file stands there, but something does),
 * 0 through a temporary file beside it, -1 after saying why not. */
static int written_straight(const char *path)
{
    struct stat about;
    if (!*path) {
        rw_talk_error("the name of an output file is empty");
        return -1;
    }
    if (stat(path, &about) < 0)
        return 0;
    if (S_ISDIR(about.st_mode)) {
        errno = EISDIR;
        return failed("write", path);
    }
    if (access(path, W_OK) != 0)
        return failed("write", path);
    return !S_ISREG(about.st_mode);
}

/* The file that `path` leads to, through links: a rename would replace the link. NULL: no memory.
 */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : strdup(path);
}

static char *temporary_name(const char *path)
{
    char *name = NULL;
    return asprintf(&name, "%s.tmp-%ld", path, (long)getpid()) < 0 ? NULL : name;
}

int rw_output_open(struct rw_output *output, const char *path)
{
    memset(output, 0, sizeof(*output));
    if (strcmp(path, "-") == 0) {
        output->file = stdout;
        return 0;
    }
    const int straight = written_straight(path);
    if (straight < 0)
        return -1;
    output->path = resolve(path);
    if (!straight && output->path)
        output->temporary = temporary_name(output->path);
    if (!output->path || (!straight && !output->temporary)) {
        rw_talk_error("out of memory");
        rw_output_abandon(output);
        return -1;
    }
    struct stat about;
    const int replaces = !straight && stat(output->path, &about) == 0;
    if (!straight)
        guard(output->temporary);
    output->file = fopen(straight ? output->path : output->temporary, "wb");
    if (!output->file) {
        failed("write", path);
        free(output->temporary);
        output->temporary = NULL;
        rw_output_abandon(output);
        return -1;
    }
    if (replaces && fchmod(fileno(output->file), about.st_mode & 0777) != 0)
        errno = 0; /* then it is as the umask says */
    return 0;
}

int rw_output_commit(struct rw_output *output)
{
    int result = 0;
    if (output->file == stdout) {
        output->file = NULL;
        return rw_output_flush();
    }
    errno = 0;
    const int earlier = ferror(output->file);
    if (fflush(output->file) != 0 || earlier ||
        (output->temporary && fsync(fileno(output->file)) != 0)) {
        errno = errno ? errno : EIO;
        result = failed("write", output->path);
    }
    if (fclose(output->file) != 0 && result == 0)
        result = failed("write", output->path);
    output->file = NULL;
    if (result == 0 && output->temporary) {
        if (rename(output->temporary, output->path) == 0) {
            free(output->temporary);
            output->temporary = NULL;
        } else {
            result = failed("write", output->path);
        }
    }
    rw_output_abandon(output);
    return result;
}

void rw_output_abandon(struct rw_output *output)
{
    if (output->file && output->file != stdout)
        fclose(output->file);
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    memset(output, 0, sizeof(*output));
}

int rw_output_check(const char *path)
{
    if (strcmp(path, "-") == 0)
        return 0;
    const int straight = written_straight(path);
    if (straight < 0)
        return -1;
    if (straight)
        return 0;
    char *temporary = temporary_name(path);
    int result = -1;
    if (!temporary) {
        rw_talk_error("out of memory");
    } else {
        guard(temporary);
        const int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
        result = file < 0 ? failed("write", path) : 0;
        if (file >= 0) {
            close(file);
            unlink(temporary);
        }
    }
    free(temporary);
    return result;
}

int rw_output_same(const char *a, const char *b)
{
    struct stat first, second;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
        return 0;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

int rw_output_clash(const char *a, const char *b)
{
    struct stat about;
    if (strcmp(a, b) != 0)
        return rw_output_same(a, b);
    return stat(a, &about) < 0 || S_ISREG(about.st_mode) || strcmp(a, "-") == 0;
}

int rw_output_flush(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    errno = errno ? errno : EIO;
    rw_talk_error("cannot write standard output: %s", strerror(errno));
    return -1;
}
