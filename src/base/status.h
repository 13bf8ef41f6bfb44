/* Error codes live in the public header; this adds how functions inside the library raise and
 * forward them. The text of an error lives in the context (rw_last_error). */
#ifndef RW_BASE_STATUS_H
#define RW_BASE_STATUS_H

#include "rankwood.h"

/* A limit as it stands in a message. */
#define RW_TEXT(limit)          RW_TEXT_OF_VALUE(limit)
#define RW_TEXT_OF_VALUE(value) #value

#ifdef __cplusplus
extern "C" {
#endif

/* Records the text of an error and returns `status`, for `return rw_fail(ctx, RW_ERR_IO, ...)`.
 * The first text of a failing call is kept by forwarding the code with RW_TRY. ctx may be NULL. */
int rw_fail(struct rw_ctx *ctx, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The text for a status that is RW_ERR_MEMORY: what there was no memory for. Of other failures the
 * text stays. Returns `status`. */
int rw_fail_memory(struct rw_ctx *ctx, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A refusal of the operating system: adds ": " and the reason for `why`, an errno. Returns
 * RW_ERR_IO, or RW_ERR_MACHINE where the machine is at fault and not what was asked of it. */
int rw_fail_io(struct rw_ctx *ctx, int why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* RW_ERR_ARGUMENT if `written` is the file `read`, or would be: "... is read, so it cannot be
 * written". NULL: not given. */
int rw_check_apart(struct rw_ctx *ctx, const char *written, const char *read);

/* Forwards a failure. Functions that own something use `RW_TRY_OUT` and clean up at `out:`. */
#define RW_TRY(call)                \
    do {                            \
        int rw_try_status = (call); \
        if (rw_try_status < 0)      \
            return rw_try_status;   \
    } while (0)

#define RW_TRY_OUT(call) \
    do {                 \
        status = (call); \
        if (status < 0)  \
            goto out;    \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
