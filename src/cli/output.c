#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/talk.h"

/* ------------------------------------------------------------------ signals */

enum { MOST_GUARDED = 8, PATH_ROOM = 4352, N_NAMES = 100 };
/* What a signal that ends the program removes: any of the names that a temporary file can get, here
 * or in the library, but those that others had made before. Written before the handler is set. */
static struct guarded {
    char name[PATH_ROOM]; /* PATH.tmp-PID, and in the handler its suffix */
    size_t length;        /* without the suffix */
    unsigned char others[N_NAMES];
} guarded[MOST_GUARDED];
static volatile sig_atomic_t n_guarded;

/* PATH.tmp-PID for i = 0, then PATH.tmp-PID-i, as the library names them (io/format.h). Writes at
 * most 4 bytes, and calls nothing: for the handler. */
static void put_suffix(char *end, int i)
{
    if (i > 0)
        *end++ = '-';
    if (i >= 10)
        *end++ = (char)('0' + i / 10);
    if (i > 0)
        *end++ = (char)('0' + i % 10);
    *end = '\0';
}

void rw_output_end_by(int number)
{
    for (int g = 0; g < n_guarded; g++) {
        for (int i = 0; i < N_NAMES; i++) {
            put_suffix(guarded[g].name + guarded[g].length, i);
            if (!guarded[g].others[i])
                unlink(guarded[g].name);
        }
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* Before the first of the files is made; `base` is PATH.tmp-PID. */
static void guard(const char *base)
{
    struct stat about;
    const size_t length = strlen(base);
    for (int g = 0; g < n_guarded; g++) {
        if (guarded[g].length == length && memcmp(guarded[g].name, base, length) == 0)
            return;
    }
    if (n_guarded == MOST_GUARDED || length + 4 > PATH_ROOM)
        return;
    struct guarded *new = &guarded[n_guarded];
    memcpy(new->name, base, length);
    new->length = length;
    for (int i = 0; i < N_NAMES; i++) {
        put_suffix(new->name + length, i);
        new->others[i] = lstat(new->name, &about) == 0;
    }
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

/* The file that a link leads to, as the library has it: a rename would replace the link. NULL: no
 * memory. */
static char *resolve(const char *path)
{
    struct stat about;
    char *real = NULL;
    if (lstat(path, &about) == 0 && S_ISLNK(about.st_mode))
        real = realpath(path, NULL);
    return real ? real : strdup(path);
}

/* Makes and guards a temporary file beside `path`, which is resolved. Its descriptor and its name,
 * owned by the caller; -1 after saying why not, in the words of `said`. */
static int make_temporary(const char *path, const char *said, char **name)
{
    const size_t room = strlen(path) + 32;
    int file = -1;
    *name = malloc(room);
    if (!*name) {
        rw_talk_error("out of memory");
        return -1;
    }
    const int length = snprintf(*name, room, "%s.tmp-%ld", path, (long)getpid());
    guard(*name);
    /* A name may be left over from a process of the same number. */
    for (int i = 0; i < N_NAMES && (i == 0 || errno == EEXIST) && file < 0; i++) {
        put_suffix(*name + length, i);
        file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (file < 0) {
        failed("write", said);
        free(*name);
        *name = NULL;
    }
    return file;
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
    if (!output->path) {
        rw_talk_error("out of memory");
        return -1;
    }
    if (straight) {
        output->file = fopen(output->path, "wbe");
    } else {
        struct stat about;
        const int replaces = stat(output->path, &about) == 0;
        const int file = make_temporary(output->path, path, &output->temporary);
        if (file < 0) {
            rw_output_abandon(output);
            return -1;
        }
        if (replaces && fchmod(file, about.st_mode & 0777) != 0)
            errno = 0; /* then it is as the umask says */
        output->file = fdopen(file, "wb");
        if (!output->file)
            close(file);
    }
    if (!output->file) {
        failed("write", path);
        rw_output_abandon(output);
        return -1;
    }
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
    char *real = resolve(path), *temporary = NULL;
    if (!real) {
        rw_talk_error("out of memory");
        return -1;
    }
    const int file = make_temporary(real, path, &temporary);
    if (file >= 0) {
        close(file);
        unlink(temporary);
    }
    free(temporary);
    free(real);
    return file < 0 ? -1 : 0;
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
