#include "base/ctx.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

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
    free(ctx->watch);
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

/* Messages quote names and data as they are: bytes that are no printable UTF-8 become \xHH, but for
 * the newlines before hints. What does not fit is cut. */
static void put_readable(char *out, size_t size, const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t n = 0;
    while (*c && n + 5 < size) {
        const int length = rw_utf8_bytes(c);
        if (length && (*c == '\n' || !rw_utf8_is_control(c))) {
            memcpy(out + n, c, (size_t)length);
            n += (size_t)length;
            c += length;
        } else {
            n += (size_t)snprintf(out + n, size - n, "\\x%02x", *c++);
        }
    }
    out[n] = 0;
}

static void __attribute__((format(printf, 3, 0)))
put_message(char *out, size_t size, const char *format, va_list args)
{
    char raw[RW_MESSAGE_BYTES];
    vsnprintf(raw, sizeof(raw), format, args);
    put_readable(out, size, raw);
}

int rw_fail(struct rw_ctx *ctx, int status, const char *format, ...)
{
    if (ctx) {
        va_list args;
        va_start(args, format);
        put_message(ctx->error, sizeof(ctx->error), format, args);
        va_end(args);
    }
    return status;
}

int rw_fail_memory(struct rw_ctx *ctx, int status, const char *format, ...)
{
    if (ctx && status == RW_ERR_MEMORY) {
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
        put_message(ctx->error, sizeof(ctx->error), format, args);
        va_end(args);
        const size_t n = strlen(ctx->error);
        snprintf(ctx->error + n, sizeof(ctx->error) - n, ": %s", strerror(why));
    }
    return is_machines_fault(why) ? RW_ERR_MACHINE : RW_ERR_IO;
}

void rw_log(struct rw_ctx *ctx, enum rw_log_level level, const char *format, ...)
{
    if (!ctx || !ctx->log)
        return;
    char line[RW_MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    put_message(line, sizeof(line), format, args);
    va_end(args);
    ctx->log(ctx->log_user, level, line);
}
