#include "io/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/system.h"
#include "binning/cuts.h"
#include "comm/comm.h"
#include "io/data_format.h"

enum { COPIED = 1 << 20 }; /* bytes at a time */

/* Bytes that cannot be more documents than are sampled. */
static size_t little_bytes(void)
{
    enum { LEAST_LINE = 8 };
    return (size_t)LEAST_LINE * rw_cut_sample_docs;
}

/* A pipe. */
struct rw_spool {
    struct rw_spool *next; /* owned */
    char *path, *name;     /* as given, and for messages; owned */
    unsigned char *little; /* [n_bytes] all of it, if `fd` is -1; owned */
    int fd;                /* a temporary file with all of it; -1: none */
    uint64_t n_bytes;
    struct rw_input *input; /* NULL, or the pipe, to be read once; owned */
};

static void spool_free(struct rw_spool *spool)
{
    rw_input_close(spool->input);
    if (spool->fd >= 0)
        close(spool->fd);
    rw_mem_free(spool->little);
    rw_mem_free(spool->path);
    rw_mem_free(spool->name);
    rw_mem_free(spool);
}

void rw_spool_end(struct rw_ctx *ctx, int begun)
{
    while (begun && ctx->spool) {
        struct rw_spool *spool = ctx->spool;
        ctx->spool = spool->next;
        spool_free(spool);
    }
}

static struct rw_spool *find(const struct rw_ctx *ctx, const char *path)
{
    struct rw_spool *spool = ctx ? ctx->spool : NULL;
    while (spool && strcmp(spool->path, path) != 0)
        spool = spool->next;
    return spool;
}

static int is_pipe(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 || (stat(path, &info) == 0 && S_ISFIFO(info.st_mode));
}

/* ---- a temporary file ---- */

static int open_temporary(char *path, size_t size)
{
    const char *folder = getenv("TMPDIR");
    const int n = snprintf(path, size, "%s/rankwood-XXXXXX", folder && *folder ? folder : "/tmp");
    const int fd = n > 0 && (size_t)n < size ? rw_system_above_standard(mkstemp(path)) : -1;
    if (fd < 0)
        return -1;
    unlink(path);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static int write_all(int fd, const unsigned char *from, size_t n)
{
    while (n) {
        const ssize_t done = write(fd, from, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? errno : EIO;
        from += done;
        n -= (size_t)done;
    }
    return 0;
}

/* What is in memory, and all that is left of the pipe, to the file. */
static int fill_temporary(struct rw_ctx *ctx, struct rw_spool *spool, const char *path)
{
    unsigned char *buffer;
    size_t got = 1;
    int why = write_all(spool->fd, spool->little, spool->n_bytes), status = RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, buffer, COPIED));
    while (!why && got) {
        RW_TRY_OUT(rw_input_read_raw(ctx, spool->input, buffer, COPIED, &got));
        why = write_all(spool->fd, buffer, got);
        spool->n_bytes += got;
    }
    if (why)
        status = rw_fail_io(ctx, why,
                            "cannot keep '%s' in the temporary file '%s', which training from "
                            "a pipe needs (TMPDIR names the folder)",
                            spool->name, path);
out:
    rw_mem_free(buffer);
    return status;
}

/* ---- a pipe ---- */

/* Up to little_bytes(), to memory; *is_all: there are no more. */
static int read_little(struct rw_ctx *ctx, struct rw_spool *spool, int *is_all)
{
    const size_t most = little_bytes();
    size_t got = 1;
    RW_TRY(RW_NEW_RAW(ctx, spool->little, most));
    while (got && spool->n_bytes < most) {
        RW_TRY(rw_input_read_raw(ctx, spool->input, spool->little + spool->n_bytes,
                                 most - (size_t)spool->n_bytes, &got));
        spool->n_bytes += got;
    }
    *is_all = got == 0;
    return RW_OK;
}

/* Standard input that is a file, from its beginning on, need not be copied. */
static int is_file(const char *path, uint64_t *n_bytes)
{
    struct stat info;
    if (strcmp(path, "-") != 0 || fstat(STDIN_FILENO, &info) != 0 || !S_ISREG(info.st_mode) ||
        lseek(STDIN_FILENO, 0, SEEK_CUR) != 0 || info.st_size <= 0)
        return 0;
    *n_bytes = (uint64_t)info.st_size;
    return 1;
}

/* Keeps it, or leaves it as it is. */
static int keep(struct rw_ctx *ctx, struct rw_spool *spool, struct rw_read_goal *goal)
{
    char path[4096] = "";
    int is_all;
    if (rw_data_format_of(ctx, spool->input) != &rw_data_format_letor)
        return RW_OK;
    RW_TRY(read_little(ctx, spool, &is_all));
    if (!is_all) {
        spool->fd = goal->bins_text(ctx, goal) ? open_temporary(path, sizeof(path)) : -1;
        if (spool->fd < 0) { /* then once will do */
            unsigned char *little = spool->little;
            spool->little = NULL;
            return rw_input_unread(ctx, spool->input, little, (size_t)spool->n_bytes);
        }
        RW_TRY(fill_temporary(ctx, spool, path));
        rw_mem_free(spool->little);
        spool->little = NULL;
    }
    rw_input_close(spool->input);
    spool->input = NULL;
    return RW_OK;
}

static int add(struct rw_ctx *ctx, const char *path, struct rw_read_goal *goal)
{
    struct rw_spool *spool;
    RW_TRY(RW_NEW(ctx, spool, 1));
    spool->fd = -1;
    int status = rw_mem_copy_text(ctx, &spool->path, path);
    status = status < 0 ? status
                        : rw_mem_copy_text(ctx, &spool->name,
                                           strcmp(path, "-") == 0 ? "standard input" : path);
    if (status >= 0 && is_file(path, &spool->n_bytes)) {
        spool->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        status = spool->fd < 0 ? rw_fail_io(ctx, errno, "cannot read standard input") : status;
    } else if (status >= 0) {
        status = rw_input_open(ctx, path, &spool->input);
        status = status < 0 ? status : keep(ctx, spool, goal);
    }
    if (status < 0) {
        spool_free(spool);
        return status;
    }
    spool->next = ctx->spool;
    ctx->spool = spool;
    return RW_OK;
}

int rw_spool_begin(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                   struct rw_read_goal *goal)
{
    int begun = 0;
    for (int i = 0; goal->bins_text && rw_n_ranks(ctx) == 1 && i < n_paths; i++) {
        if (!is_pipe(paths[i]) || find(ctx, paths[i]))
            continue;
        const int status = add(ctx, paths[i], goal);
        if (status < 0) {
            rw_spool_end(ctx, begun);
            return status;
        }
        begun = 1;
    }
    return begun;
}

/* ---- what was kept ---- */

int rw_spool_size(const struct rw_ctx *ctx, const char *path, uint64_t *n_bytes)
{
    const struct rw_spool *spool = find(ctx, path);
    if (!spool || (spool->fd < 0 && !spool->little))
        return 0;
    *n_bytes = spool->n_bytes;
    return 1;
}

int rw_spool_is_once(const struct rw_ctx *ctx, const char *path)
{
    const struct rw_spool *spool = find(ctx, path);
    return spool && spool->fd < 0 && !spool->little;
}

int rw_spool_open(struct rw_ctx *ctx, const char *path, struct rw_input **out)
{
    struct rw_spool *spool = find(ctx, path);
    if (!spool)
        return 0;
    if (spool->input) {
        *out = spool->input;
        spool->input = NULL;
        return 1;
    }
    if (spool->little)
        RW_TRY(rw_input_open_memory(ctx, spool->name, spool->little, (size_t)spool->n_bytes, out));
    else
        RW_TRY(rw_input_open_again(ctx, spool->name, spool->fd, out));
    return 1;
}
