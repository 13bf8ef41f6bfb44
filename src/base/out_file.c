/* Writes files atomically: a file appears complete or not at all. The content is first written to a
 * temporary file in the same folder, which is then renamed. Standard output, devices and pipes are
 * written directly. The file also compares paths (rw_same_file, rw_check_not_input). */
#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/system.h"

/* PROBE: bytes that why_earlier writes. MOST_LIVE: size of the table of temporary files. NAME_ROOM:
 * room for a path. N_NAMES: number of names that open_temporary tries. */
enum { PROBE = 1 << 16, MOST_LIVE = 16, NAME_ROOM = 4352, N_NAMES = 100 };
/* The longest file name, and the longest suffix that open_temporary adds to it: ".tmp-4194304-99".
 */
enum { LONGEST_NAME = 255, LONGEST_MARK = 15 };

/* ---- temporary files that a signal removes ---- */

/* The temporary files being written. A signal does not remove files that do not fit into this
 * table. */
enum { FREE, CLAIMED, LIVE };
static struct {
    atomic_int state;
    char name[NAME_ROOM];
} live[MOST_LIVE];

static void keep_name(const char *name)
{
    for (int i = 0; i < MOST_LIVE && strlen(name) < NAME_ROOM; i++) {
        int expected = FREE;
        if (atomic_compare_exchange_strong(&live[i].state, &expected, CLAIMED)) {
            strcpy(live[i].name, name);
            atomic_store(&live[i].state, LIVE);
            return;
        }
    }
}

static void drop_name(const char *name)
{
    for (int i = 0; i < MOST_LIVE; i++) {
        if (atomic_load(&live[i].state) == LIVE && strcmp(live[i].name, name) == 0)
            atomic_store(&live[i].state, FREE);
    }
}

static void remove_all(void)
{
    for (int i = 0; i < MOST_LIVE; i++) {
        if (atomic_load(&live[i].state) == LIVE)
            unlink(live[i].name);
    }
}

/* ---- paths ---- */

static const char standard_output[] = "standard output"; /* written without quotes in messages */

static int cannot_write(struct rw_ctx *ctx, const char *path)
{
    const char *quote = strcmp(path, standard_output) == 0 ? "" : "'";
    return rw_fail_io(ctx, errno, "cannot write %s%s%s", quote, path, quote);
}

static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Copies the folder of a path. Returns 0 if it is too long. */
static int copy_folder(const char *path, char folder[NAME_ROOM])
{
    const size_t n = (size_t)(name_in(path) - path);
    if (n >= NAME_ROOM)
        return 0;
    memcpy(folder, path, n);
    strcpy(folder + n, n ? "" : ".");
    return 1;
}

/* Returns 1 if the folder of a path exists, with its status in *info. */
static int folder_of(const char *path, struct stat *info)
{
    char folder[NAME_ROOM];
    return copy_folder(path, folder) && stat(folder, info) == 0;
}

static int same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int rw_same_file(const char *a, const char *b)
{
    struct stat first, second;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
        return 0;
    const int n_there = (stat(a, &first) == 0) + (stat(b, &second) == 0);
    if (n_there == 2)
        return S_ISREG(first.st_mode) && same_inode(&first, &second);
    return n_there == 0 && folder_of(a, &first) && folder_of(b, &second) &&
           same_inode(&first, &second) && strcmp(name_in(a), name_in(b)) == 0;
}

int rw_check_not_input(struct rw_ctx *ctx, const char *written, const char *read)
{
    if (!written || !read || !rw_same_file(written, read))
        return RW_OK;
    return rw_fail(ctx, RW_ERR_ARGUMENT, "'%s' is an input, and cannot be the output too", written);
}

/* Resolves a symbolic link, which remains a link: its target is replaced. */
static int resolve(struct rw_ctx *ctx, const char *path, char **out)
{
    struct stat info;
    char *real = NULL;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        real = realpath(path, NULL);
    const int status = rw_mem_copy_text(ctx, out, real ? real : path);
    free(real);
    return status;
}

/* Returns how many bytes of a file's name (in a path or alone) to keep if `added` bytes follow: all
 * of them, or as many whole characters as leave room. */
static size_t kept_bytes(const char *name, size_t added)
{
    size_t n = strlen(name);
    if (n + added <= LONGEST_NAME)
        return n;
    n = LONGEST_NAME - added;
    while (n > 1 && ((unsigned char)name[n] & 0xc0) == 0x80) /* within a UTF-8 character */
        n--;
    return n;
}

/* Like kept_bytes, for a path: returns the bytes of its folder plus those to keep of its name. */
static int kept_of_path(const char *path, size_t added)
{
    const char *name = name_in(path);
    return (int)((size_t)(name - path) + kept_bytes(name, added));
}

/* ---- temporary files of processes that ended early ---- */

/* Locks a temporary file. A file is locked while it is written, so one without a lock is
 * abandoned and may be removed. Returns 1 if this process now has the lock and the file still
 * exists, 0 if another process has the lock or removed the file, and -1 if the file system has no
 * locks. */
static int lock_temporary(int fd)
{
    struct stat info;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? 0 : -1;
    return fstat(fd, &info) != 0 || info.st_nlink > 0;
}

/* Skips a number from 1 to `most` without leading zeros. Returns 0 if there is no such number. */
static int skip_number(const char **text, uint64_t most)
{
    uint64_t number;
    const char *end = **text == '0' ? NULL : rw_number_digits(*text, most, &number);
    *text = end ? end : *text;
    return end != NULL;
}

/* Returns 1 for a name that open_temporary makes: that of the file, ".tmp-", a process id and
 * perhaps a number. */
static int is_temporary_of(const char *name, const char *file)
{
    static const char mark[] = ".tmp-";
    enum { MOST_PROCESSES = 1 << 22 }; /* Linux has no larger numbers */
    const size_t n = kept_bytes(file, LONGEST_MARK);
    if (strncmp(name, file, n) != 0 || strncmp(name + n, mark, sizeof(mark) - 1) != 0)
        return 0;
    const char *at = name + n + sizeof(mark) - 1;
    if (!skip_number(&at, MOST_PROCESSES))
        return 0;
    return *at == 0 || (*at++ == '-' && skip_number(&at, N_NAMES - 1) && *at == 0);
}

/* Removes a temporary file unless a process has locked it. Anything else with such a name, such as
 * a pipe, is left alone, and opening it must not wait. */
static void sweep_one(int folder, const char *name)
{
    struct stat info;
    const int fd = rw_system_above_standard(
        openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd < 0)
        return;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && lock_temporary(fd) == 1)
        unlinkat(folder, name, 0);
    close(fd);
}

/* Removes abandoned temporary files of `path`, which is not a symbolic link (see resolve). */
static void sweep_folder(const char *path)
{
    char text[NAME_ROOM];
    DIR *folder = copy_folder(path, text) ? opendir(text) : NULL;
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (is_temporary_of(entry->d_name, name_in(path)))
            sweep_one(dirfd(folder), entry->d_name);
    }
    if (folder)
        closedir(folder);
}

/* ---- opening ---- */

/* Gives the new file the permissions of the file that it replaces and, if this process may change
 * owners (as root), its owner and group; otherwise its group, if this process may do that. */
static void take_owner_and_mode(int fd, const struct stat *replaced)
{
    if ((replaced->st_uid != geteuid() || replaced->st_gid != getegid()) &&
        fchown(fd, replaced->st_uid, replaced->st_gid) != 0 &&
        fchown(fd, (uid_t)-1, replaced->st_gid) != 0)
        errno = 0; /* in that case owner and group are those of this process */
    if (fchmod(fd, replaced->st_mode & 0777) != 0)
        errno = 0; /* in that case the umask applies */
}

/* Creates and locks the temporary file of out->path, and opens it as out->file. path: as the caller
 * passed it, for messages. replaced: the existing file; NULL: there is no file
 * yet. */
static int open_temporary(struct rw_ctx *ctx, struct rw_out_file *out, const char *path,
                          const struct stat *replaced)
{
    const int kept = kept_of_path(out->path, LONGEST_MARK);
    const size_t room = strlen(out->path) + 32;
    struct stat info;
    int fd = -1;
    RW_TRY(RW_NEW(ctx, out->temporary, room));
    errno = EEXIST;
    /* a name may be left over from a process with the same id, or in use by another thread */
    for (int i = 0; i < N_NAMES && fd < 0 && errno == EEXIST; i++) {
        const int n =
            snprintf(out->temporary, room, "%.*s.tmp-%ld", kept, out->path, (long)getpid());
        if (i > 0)
            snprintf(out->temporary + n, room - (size_t)n, "-%d", i);
        if (lstat(out->temporary, &info) == 0) {
            errno = EEXIST;
            continue;
        }
        keep_name(out->temporary);
        fd = rw_system_open(out->temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd >= 0 && lock_temporary(fd) != 0)
            break;
        /* EEXIST, so that the next name is tried: another process took the file to be abandoned */
        const int why = fd < 0 ? errno : EEXIST;
        if (fd >= 0)
            close(fd);
        fd = -1;
        drop_name(out->temporary);
        errno = why;
    }
    if (fd >= 0) {
        if (replaced)
            take_owner_and_mode(fd, replaced);
        out->file = fdopen(fd, "wb");
        if (out->file)
            return RW_OK;
        close(fd);
        return cannot_write(ctx, path);
    }
    const int status = cannot_write(ctx, path);
    rw_mem_free(out->temporary);
    out->temporary = NULL;
    return status;
}

/* Checks that a file could be opened for writing, without changing it. */
static int check_open(struct rw_ctx *ctx, const char *path)
{
    struct rw_out_file out;
    struct stat info;
    /* opening a pipe would wait for its reader */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
        return access(path, W_OK) == 0 ? RW_OK : cannot_write(ctx, path);
    RW_TRY(rw_out_file_open(ctx, &out, path));
    rw_out_file_abandon(&out);
    return RW_OK;
}

int rw_out_file_open(struct rw_ctx *ctx, struct rw_out_file *out, const char *path)
{
    struct stat info;
    int status;
    if (!out)
        return check_open(ctx, path);
    memset(out, 0, sizeof(*out));
    if (strcmp(path, "-") == 0) {
        RW_TRY(rw_mem_copy_text(ctx, &out->path, standard_output));
        out->file = stdout;
        return RW_OK;
    }
    RW_TRY_OUT(resolve(ctx, path, &out->path));
    const int exists = stat(out->path, &info) == 0;
    if (exists && (S_ISDIR(info.st_mode) || access(out->path, W_OK) != 0)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : errno;
        status = cannot_write(ctx, path);
    } else if (exists && !S_ISREG(info.st_mode)) { /* a device or a pipe must not be replaced */
        out->file = rw_system_fopen(out->path, "wbe");
        status = out->file ? RW_OK : cannot_write(ctx, path);
    } else {
        sweep_folder(out->path);
        status = open_temporary(ctx, out, path, exists ? &info : NULL);
    }
out:
    if (status < 0)
        rw_out_file_abandon(out);
    return status;
}

/* ---- writing ---- */

int rw_out_file_reserve(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n_bytes)
{
    if (!out->temporary || n_bytes <= out->n_reserved)
        return RW_OK;
    errno = rw_system_reserve(fileno(out->file), 0, (off_t)n_bytes);
    if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) /* not supported by this file
                                                                      system */
        return RW_OK;
    if (errno)
        return cannot_write(ctx, out->path);
    out->n_reserved = n_bytes;
    return RW_OK;
}

int rw_out_file_rename(struct rw_ctx *ctx, struct rw_out_file *out, const char *suffix)
{
    const size_t room = strlen(out->path) + strlen(suffix) + 1;
    char *path;
    RW_TRY(RW_NEW(ctx, path, room));
    snprintf(path, room, "%.*s%s", kept_of_path(out->path, strlen(suffix)), out->path, suffix);
    rw_mem_free(out->path);
    out->path = path;
    return RW_OK;
}

/* Finds out why an earlier write failed; its errno is lost. Writes again, which most likely fails
 * in the same way. It does so only where this does no harm: to a temporary file, or to a device
 * that is not a terminal. */
static int why_earlier(const struct rw_out_file *out)
{
    static const char zeros[PROBE];
    const int fd = fileno(out->file);
    struct stat info;
    size_t left = sizeof(zeros);
    if (!out->temporary && (fstat(fd, &info) != 0 || !S_ISCHR(info.st_mode) || isatty(fd)))
        return EIO;
    while (left > 0) {
        const ssize_t n = write(fd, zeros, left);
        if (n < 0 && errno != EINTR)
            return errno;
        left -= n > 0 ? (size_t)n : 0;
    }
    return EIO;
}

/* Flushes the file's buffer. For a temporary file, also truncates reserved space beyond the end and
 * flushes the file to the disk. On failure errno is that of the failed call. */
static int flush_all(struct rw_out_file *out)
{
    const int fd = fileno(out->file), earlier = ferror(out->file);
    if (fflush(out->file) != 0)
        return -1;
    if (earlier) {
        errno = why_earlier(out);
        return -1;
    }
    if (!out->temporary)
        return 0;
    if (out->n_reserved) {
        const off_t end = ftello(out->file);
        if (end < 0 || ftruncate(fd, end) != 0)
            return -1;
    }
    return fsync(fd);
}

int rw_out_file_write(struct rw_ctx *ctx, struct rw_out_file *out, const void *bytes,
                      size_t n_bytes)
{
    return fwrite(bytes, 1, n_bytes, out->file) == n_bytes ? RW_OK : cannot_write(ctx, out->path);
}

int rw_out_file_commit(struct rw_ctx *ctx, struct rw_out_file *out)
{
    int status = flush_all(out) == 0 ? RW_OK : cannot_write(ctx, out->path);
    if (out->file != stdout && fclose(out->file) != 0 && status == RW_OK)
        status = cannot_write(ctx, out->path);
    out->file = NULL;
    if (out->temporary && status == RW_OK) {
        if (rename(out->temporary, out->path) != 0) {
            status = cannot_write(ctx, out->path);
        } else {
            drop_name(out->temporary);
            rw_mem_free(out->temporary);
            out->temporary = NULL;
        }
    }
    rw_out_file_abandon(out);
    return status;
}

void rw_out_file_abandon(struct rw_out_file *out)
{
    if (!out) {
        remove_all();
        return;
    }
    if (out->file && out->file != stdout)
        fclose(out->file);
    if (out->temporary) {
        unlink(out->temporary);
        drop_name(out->temporary);
    }
    rw_mem_free(out->temporary);
    rw_mem_free(out->path);
    memset(out, 0, sizeof(*out));
}
