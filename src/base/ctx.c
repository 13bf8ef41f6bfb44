#include "base/ctx.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rw_ctx_new(struct rw_ctx **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return RW_ERR_MEMORY;
    return rw_ctx_set_threads(*out, 0);
}

void rw_ctx_free(struct rw_ctx *ctx)
{
    if (!ctx)
        return;
    if (ctx->columns)
        ctx->columns_free(ctx->columns);
    rw_pool_free(ctx->pool);
    free(ctx);
}

const char *rw_last_error(const struct rw_ctx *ctx)
{
    return ctx ? ctx->error : "no context";
}

void rw_ctx_set_log(struct rw_ctx *ctx, rw_log_fn log, void *user)
{
    ctx->log = log;
    ctx->log_user = user;
}

int rw_ctx_set_threads(struct rw_ctx *ctx, int n_threads)
{
    if (n_threads < 0 || n_threads > RW_MAX_THREADS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "threads is %d; expected 0 (all) to %d", n_threads,
                       RW_MAX_THREADS);
    ctx->n_threads = n_threads ? n_threads : rw_processors();
    return RW_OK;
}

int rw_fail(struct rw_ctx *ctx, int status, const char *format, ...)
{
    if (ctx) {
        va_list args;
        va_start(args, format);
        vsnprintf(ctx->error, sizeof(ctx->error), format, args);
        va_end(args);
    }
    return status;
}

/* Full disks, failing ones, and what there is too little of for the moment. */
static int is_machines_fault(int why)
{
    static const int faults[] = {ENOSPC, EDQUOT, EIO,    ENOMEM,    EMFILE,
                                 ENFILE, EAGAIN, ENODEV, ETIMEDOUT, ESTALE};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (why == faults[i])
            return 1;
    }
    return 0;
}

int rw_fail_io(struct rw_ctx *ctx, int why, const char *format, ...)
{
    if (ctx) {
        va_list args;
        va_start(args, format);
        const int n = vsnprintf(ctx->error, sizeof(ctx->error), format, args);
        va_end(args);
        if (n >= 0 && (size_t)n < sizeof(ctx->error))
            snprintf(ctx->error + n, sizeof(ctx->error) - (size_t)n, ": %s", strerror(why));
    }
    return is_machines_fault(why) ? RW_ERR_MACHINE : RW_ERR_IO;
}

void rw_log(struct rw_ctx *ctx, enum rw_log_level level, const char *format, ...)
{
    if (!ctx || !ctx->log)
        return;
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    ctx->log(ctx->log_user, level, line);
}
