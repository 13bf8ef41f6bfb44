/* Files written whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/out_file.h"

enum { PROBE = 1 << 16 };

static int cannot(struct rw_ctx *ctx, const char *what, const char *path)
{
    return rw_fail_io(ctx, errno, "cannot %s '%s'", what, path);
}

/* A link stays a link: what it points to is replaced. */
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

static int open_temporary(struct rw_ctx *ctx, struct rw_out_file *out, mode_t mode)
{
    const size_t room = strlen(out->path) + 32;
    RW_TRY(RW_NEW(ctx, out->temporary, room));
    int fd = -1;
    /* A name may be left over from a process of the same number, or in use by another thread. */
    for (int i = 0; i < 100; i++) {
        if (i == 0)
            snprintf(out->temporary, room, "%s.tmp-%ld", out->path, (long)getpid());
        else
            snprintf(out->temporary, room, "%s.tmp-%ld-%d", out->path, (long)getpid(), i);
        fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    if (fd >= 0) {
        if (mode && fchmod(fd, mode) != 0)
            errno = 0; /* as the umask says, then */
        out->file = fdopen(fd, "wb");
        if (out->file)
            return RW_OK;
        close(fd);
        unlink(out->temporary);
    }
    const int status = cannot(ctx, "write", out->path);
    rw_mem_free(out->temporary);
    out->temporary = NULL;
    return status;
}

int rw_out_file_open(struct rw_ctx *ctx, struct rw_out_file *out, const char *path)
{
    struct stat info;
    int status;
    memset(out, 0, sizeof(*out));
    if (strcmp(path, "-") == 0) {
        RW_TRY(rw_mem_copy_text(ctx, &out->path, "standard output"));
        out->file = stdout;
        return RW_OK;
    }
    RW_TRY_OUT(resolve(ctx, path, &out->path));
    const int exists = stat(out->path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        status = cannot(ctx, "write", path);
        goto out;
    }
    if (exists && !S_ISREG(info.st_mode)) { /* a device or a pipe is not to be replaced */
        out->file = fopen(out->path, "wbe");
        status = out->file ? RW_OK : cannot(ctx, "write", path);
    } else {
        if (exists && access(out->path, W_OK) != 0) {
            status = cannot(ctx, "write", path);
            goto out;
        }
        status = open_temporary(ctx, out, exists ? info.st_mode & 0777 : 0);
    }
out:
    if (status < 0)
        rw_out_file_abandon(out);
    return status;
}

int rw_out_file_commit(struct rw_ctx *ctx, struct rw_out_file *out)
{
    int status = RW_OK;
    errno = 0;
    if (fflush(out->file) != 0 || ferror(out->file)) {
        if (errno == 0) /* an earlier write failed; most likely it would fail again */
            errno =
                posix_fallocate(fileno(out->file), lseek(fileno(out->file), 0, SEEK_END), PROBE);
        errno = errno ? errno : EIO;
        status = cannot(ctx, "write", out->path);
    }
    if (out->temporary && status == RW_OK && fsync(fileno(out->file)) != 0)
        status = cannot(ctx, "write", out->path);
    if (out->file != stdout) {
        if (fclose(out->file) != 0 && status == RW_OK)
            status = cannot(ctx, "write", out->path);
    }
    out->file = NULL;
    if (out->temporary && status == RW_OK) {
        if (rename(out->temporary, out->path) != 0) {
            status = cannot(ctx, "write", out->path);
        } else {
            rw_mem_free(out->temporary);
            out->temporary = NULL;
        }
    }
    rw_out_file_abandon(out);
    return status;
}

void rw_out_file_abandon(struct rw_out_file *out)
{
    if (out->file && out->file != stdout)
        fclose(out->file);
    if (out->temporary)
        unlink(out->temporary);
    rw_mem_free(out->temporary);
    rw_mem_free(out->path);
    memset(out, 0, sizeof(*out));
}
