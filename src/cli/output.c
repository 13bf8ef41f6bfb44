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

enum { MOST_GUARDED = 8, PATH_ROOM = 4352, N_NAMES = 100, PROBE = 1 << 16 };
/* What a signal that ends the program removes: any of the names that a temporary file can get, here
 * or in the library, but those that others had made before. Changed while signals are blocked. */
static struct guarded {
    char name[PATH_ROOM]; /* PATH.tmp-PID, and in the handler its suffix */
    size_t length;        /* without the suffix; 0: not in use */
    unsigned char others[N_NAMES];
} guarded[MOST_GUARDED];

/* PATH.tmp-PID for i = 0, then PATH.tmp-PID-i, as the library names them (base/out_file.h). Writes
 * at most 4 bytes, and calls nothing: for the handler. */
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
    for (int g = 0; g < MOST_GUARDED; g++) {
        for (int i = 0; guarded[g].length > 0 && i < N_NAMES; i++) {
            put_suffix(guarded[g].name + guarded[g].length, i);
            if (!guarded[g].others[i])
                unlink(guarded[g].name);
        }
    }
    signal(number, SIG_DFL);
    raise(number);
}

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { N_SIGNALS = sizeof(ending_signals) / sizeof(ending_signals[0]) };

/* The slot of a name, or a free one (length 0); NULL: there is none. */
static struct guarded *slot_of(const char *base, size_t length)
{
    struct guarded *unused = NULL;
    for (int g = 0; g < MOST_GUARDED; g++) {
        struct guarded *slot = &guarded[g];
        if (slot->length == length && memcmp(slot->name, base, length) == 0)
            return slot;
        unused = slot->length == 0 && !unused ? slot : unused;
    }
    return unused;
}

static void block_signals(sigset_t *was)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int i = 0; i < N_SIGNALS; i++)
        sigaddset(&blocked, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &blocked, was);
}

/* Before the first of the files is made; `base` is PATH.tmp-PID. */
static void guard(const char *base)
{
    struct stat about;
    sigset_t was;
    const size_t length = strlen(base);
    struct guarded *slot = slot_of(base, length);
    if (!slot || slot->length > 0 || length + 4 > PATH_ROOM)
        return;
    block_signals(&was);
    memcpy(slot->name, base, length);
    for (int i = 0; i < N_NAMES; i++) {
        put_suffix(slot->name + length, i);
        slot->others[i] = lstat(slot->name, &about) == 0;
    }
    slot->length = length;
    for (int i = 0; i < N_SIGNALS; i++) {
        struct sigaction old, now = {.sa_handler = rw_output_end_by};
        sigemptyset(&now.sa_mask);
        if (sigaction(ending_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ending_signals[i], &now, NULL);
    }
    sigprocmask(SIG_SETMASK, &was, NULL);
}

/* A file that has its place, or is gone, needs no guard: `name` is PATH.tmp-PID with its suffix. */
static void unguard(const char *name)
{
    sigset_t was;
    const char *end = strstr(name, ".tmp-");
    for (const char *next = end; next; next = strstr(next + 1, ".tmp-"))
        end = next;
    const size_t length = end ? (size_t)(end - name) + 5 + strspn(end + 5, "0123456789") : 0;
    struct guarded *slot = length ? slot_of(name, length) : NULL;
    if (!slot)
        return;
    block_signals(&was);
    slot->length = 0;
    sigprocmask(SIG_SETMASK, &was, NULL);
}

/* ------------------------------------------------------------------ files */

static int failed(const char *what, const char *path)
{
    rw_talk_refused(errno, "cannot %s '%s'", what, path);
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
        rw_talk_out_of_memory();
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
        rw_talk_out_of_memory();
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

int rw_output_reserve(struct rw_output *output, unsigned long long n_bytes)
{
    if (!output->temporary || n_bytes <= output->n_reserved)
        return 0;
    const int why = posix_fallocate(fileno(output->file), 0, (off_t)n_bytes);
    if (why == EOPNOTSUPP || why == ENOSYS || why == EINVAL) /* not to be had here */
        return 0;
    if (why == 0)
        output->n_reserved = n_bytes;
    return why;
}

/* Everything is on the disk, and nothing of what was reserved beyond. */
static int flush_all(struct rw_output *output)
{
    const int earlier = ferror(output->file), file = fileno(output->file);
    errno = 0;
    if (fflush(output->file) != 0 || earlier) {
        if (errno == 0 && output->temporary) /* most likely it would fail again */
            errno = posix_fallocate(file, lseek(file, 0, SEEK_END), PROBE);
        errno = errno ? errno : EIO;
        return -1;
    }
    if (!output->temporary)
        return 0;
    return (output->n_reserved && ftruncate(file, ftello(output->file)) != 0) || fsync(file) != 0
               ? -1
               : 0;
}

int rw_output_commit(struct rw_output *output)
{
    int result = 0;
    if (output->file == stdout) {
        output->file = NULL;
        return rw_output_flush();
    }
    if (flush_all(output) < 0)
        result = failed("write", output->path);
    if (fclose(output->file) != 0 && result == 0)
        result = failed("write", output->path);
    output->file = NULL;
    if (result == 0 && output->temporary) {
        if (rename(output->temporary, output->path) == 0) {
            unguard(output->temporary);
            free(output->temporary);
            output->temporary = NULL;
        } else {
            result = failed("write", output->path);
        }
    }
    rw_output_abandon(output);
    return result;
}

int rw_output_rename(struct rw_output *output, const char *suffix)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s", output->path, suffix) < 0) {
        rw_talk_out_of_memory();
        return -1;
    }
    free(output->path);
    output->path = path;
    return 0;
}

void rw_output_abandon(struct rw_output *output)
{
    if (output->file && output->file != stdout)
        fclose(output->file);
    if (output->temporary) {
        unlink(output->temporary);
        unguard(output->temporary);
    }
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
        rw_talk_out_of_memory();
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
    rw_talk_refused(errno, "cannot write standard output");
    return -1;
}
