/* The context: last error, log callback, number of threads; errors and how they are forwarded; and
 * loops that several threads share. One thread at a time may use a context. */
#ifndef RW_BASE_CTX_H
#define RW_BASE_CTX_H

#include <stdint.h>

#include "rankwood.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_MESSAGE_BYTES = 4096 };
struct rw_ctx {
    char error[RW_MESSAGE_BYTES];
    rw_log_fn log;          /* NULL: notes and warnings are dropped */
    void *log_user;         /* borrowed for the life of the context */
    int n_threads;          /* >= 1, resolved */
    struct rw_watch *watch; /* NULL: nothing is asked while a call runs; owned */
    struct rw_pool *pool;   /* NULL: not used yet; owned */
    /* io/data_format.h: how tables are read. NULL: the defaults; owned, and freed by columns_free
     */
    struct rw_table_columns *columns;
    void (*columns_free)(struct rw_table_columns *columns);
    const char *idle_param; /* during a warning: the parameter that it is about, or NULL */
    int n_tables;           /* files of CSV and TSV that were opened */
    int stop_set;           /* which validation set stops the training that last began; 0: none */
    struct rw_spool *spool; /* io/input.h: pipes that are kept during a call; NULL: none */
    struct rw_comm *comm;   /* comm/comm.h; NULL: one rank; borrowed */
};

/* Sends one line (no newline at the end) to the log callback. */
void rw_log(struct rw_ctx *ctx, enum rw_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Error codes live in the public header; this adds how functions inside the library raise and
 * forward them. The text of an error lives in the context (rw_last_error). */

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
/* As fwrite to the file, but a failure is told at once. */
int rw_out_file_write(struct rw_ctx *ctx, struct rw_out_file *out, const void *bytes,
                      size_t n_bytes);

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

/* Loops that several threads share, on threads of the library's own.
 *
 * Why not OpenMP: how long its idle threads spin is settled from outside the process, before main,
 * and on a machine with other work that waiting costs more than the loops; and a child forked after
 * its first use can wait for threads that it does not have. Here a thread that runs out of work
 * spins for some microseconds and then sleeps; a loop never waits for a thread that has not woken
 * up, since those that are awake take its part; and a child starts threads anew.
 *
 * Each context has a pool, made with the first loop that more than one thread takes. Threads start
 * with all signals blocked and under the default floating-point environment. */
/* One thread's part in a loop. */
struct rw_share {
    int thread;    /* 0: the one that called rw_parallel; always under n_threads: for scratch */
    int n_threads; /* as given to rw_parallel: not all of them need have come */
    uint64_t n_taken, n, chunk; /* private to thread.c, like the pool */
    struct rw_pool *pool;       /* NULL: nobody else is there */
    struct rw_watch *watch;     /* NULL: nobody asks how far it is, or stops it */
    int may_stop;
};
/* Works while rw_share_next gives it something. A status below 0 ends this thread's part; the
 * others take what is left. */
typedef int rw_share_fn(void *job, struct rw_share *share);

/* Calls body(job, share) once on each thread that comes, at most n_threads (at least 1) and the
 * calling one among them, to share the items [0, n). chunk: how many are taken at a time, in order;
 * 0: the items are cut into n_threads equal runs, each taken in a few pieces, and thread t begins
 * with run t, so that loops over the same documents find them in the same caches. Returns once all
 * is done: 0, or the lowest status of any body. What happens in the loop happens before the return.
 *
 * Inside of a body, and with ctx NULL, the loop is the calling thread's alone. A body must not use
 * ctx->error (rw_fail) but under rw_share_lock. */
int rw_parallel(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk, rw_share_fn *body,
                void *job);
/* The same for a loop that may take long: it ends between two items, or where a body asks
 * rw_share_poll, if the caller of the library wants no more. What was not done is then undefined,
 * and the status, RW_ERR_INTERRUPTED, must not be ignored. Of rw_parallel all is done, and that
 * status comes afterwards. */
int rw_parallel_long(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk,
                     rw_share_fn *body, void *job);
/* Within long items: n_done more of a stage's work are done. 1: the loop ends, so the body should
 * return. share: NULL is fine. */
int rw_share_poll(struct rw_share *share, uint64_t n_done);
/* The next items, [*begin, *end), at least one; 0 if none are left. */
int rw_share_next(struct rw_share *share, uint64_t *begin, uint64_t *end);
/* One thread of the loop at a time: for merging results. */
void rw_share_lock(struct rw_share *share);
void rw_share_unlock(struct rw_share *share);

/* ---- how far a call is, and its end at the caller's wish (rw_ctx_set_poll) ---- */

/* Outside of loops: asks the caller, if it is time. RW_ERR_INTERRUPTED: the call shall end. */
int rw_poll(struct rw_ctx *ctx);
/* The same in a poll function of another context, which passes on what the caller says. 1: stop. */
int rw_poll_pass_on(struct rw_ctx *ctx);
/* A stage's work is counted from here on, up to rw_stage_end: by rw_share_poll (of_loops: 1), or by
 * rw_stage_add (0). Returns 0 if a stage has begun already, whose part this is: nothing is counted.
 */
int rw_stage_begin(struct rw_ctx *ctx, const char *stage, uint64_t total, int of_loops);
void rw_stage_end(struct rw_ctx *ctx, int has_begun);
/* Any thread may call it. */
void rw_stage_add(struct rw_ctx *ctx, uint64_t n_done);
/* From here to rw_poll_release, only loops that may take long end early, if the caller or `stop`
 * says so; all else is completed. */
int rw_poll_hold(struct rw_ctx *ctx, int (*stop)(void *user), void *user);
void rw_poll_release(struct rw_ctx *ctx);
/* Has the caller, or `stop`, said so? Any thread may ask. */
int rw_poll_is_stopped(const struct rw_ctx *ctx);

/* Between two looks at what another thread is about to write. */
static inline void rw_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Ends a context's threads; pool: NULL is fine. */
void rw_pool_free(struct rw_pool *pool);
/* Threads that this process should take unless it is told how many, at least 1 (base/machine.h). A
 * control group's quota is what it was when the process first asked. */
int rw_processors(void);

#ifdef __cplusplus
}
#endif

#endif
