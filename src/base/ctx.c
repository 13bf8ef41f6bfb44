/* The context, its errors and its log (base/ctx.h). The file also has the threads of a context and
 * the loops that they share, the default number of threads, and progress and interruption by the
 * caller. The poll is "held" from rw_poll_hold to rw_poll_release. */
#include "base/ctx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>
#include "base/machine.h"

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
    free(ctx->data_record);
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

int rw_ctx_threads(const struct rw_ctx *ctx)
{
    return ctx->n_threads;
}

/* Copies a message and escapes bytes that are not printable UTF-8 as \xHH, except
 * newlines, which separate hints. Messages can thus quote names and data unchanged. A text that
 * does not fit into `size` bytes is truncated. */
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

int rw_fail(struct rw_ctx *ctx, int status, const char *format, ...)
{
    static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER; /* bags may fail at the same time */
    if (ctx) {
        char raw[RW_MESSAGE_BYTES];
        pthread_mutex_lock(&writing);
        RW_FORMAT_ARGS(raw, format);
        put_readable(ctx->error, sizeof(ctx->error), raw);
        pthread_mutex_unlock(&writing);
    }
    return status;
}

int rw_fail_memory(struct rw_ctx *ctx, int status, const char *format, ...)
{
    if (ctx && status == RW_ERR_MEMORY)
        RW_FORMAT_ARGS(ctx->error, format);
    return status;
}

/* why: an errno. Returns 1 if the cause is a full or failing disk, a lost device or file server, or
 * a temporary shortage of a resource. */
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
        char raw[RW_MESSAGE_BYTES];
        RW_FORMAT_ARGS(raw, format);
        put_readable(ctx->error, sizeof(ctx->error), raw);
        const size_t n = strlen(ctx->error);
        snprintf(ctx->error + n, sizeof(ctx->error) - n, ": %s", strerror(why));
    }
    return is_machines_fault(why) ? RW_ERR_MACHINE : RW_ERR_IO;
}

void rw_log(struct rw_ctx *ctx, enum rw_log_level level, const char *format, ...)
{
    if (!ctx || !ctx->log)
        return;
    char raw[RW_MESSAGE_BYTES], line[RW_MESSAGE_BYTES];
    RW_FORMAT_ARGS(raw, format);
    put_readable(line, sizeof(line), raw);
    ctx->log(ctx->log_user, level, line);
}

/* SPINS: how often a thread checks for work before it sleeps. This takes 50 to 150 microseconds,
 * longer than the pauses between the loops of a tree. LINE: bytes of a cache line. */
enum { SPINS = 3000, LINE = 64 };
/* With chunk 0, each thread's range is divided into this many chunks, taken one at a time, or is
 * one chunk if there are fewer than this many items per thread. A thread whose processor is busy
 * with other work thus leaves chunks to the other threads. */
enum { CHUNKS_PER_THREAD = 4 };

/* The state of a loop is one word. Its fields, from the lowest bit: the number of pool threads
 * inside, whether more may enter, the number of threads wanted (including the caller), and the
 * loop's number. A thread enters by adding one to a word that is open, so no thread can enter a
 * loop that has ended. While the word is closed and has no thread inside, the caller may write the
 * next loop's fields. */
enum { OPEN_BIT = 13, WANTED_BIT = 14, NUMBER_BIT = 27 };
#define INSIDE(state)  ((state) & (((uint64_t)1 << OPEN_BIT) - 1))
#define IS_OPEN(state) ((state) >> OPEN_BIT & 1)
#define WANTED(state) \
    ((int)((state) >> WANTED_BIT & (((uint64_t)1 << (NUMBER_BIT - WANTED_BIT)) - 1)))
#define NUMBER(state) ((state) >> NUMBER_BIT)

struct rw_pool {
    _Alignas(LINE) _Atomic uint64_t state;
    _Alignas(LINE) _Atomic uint64_t next; /* first item not taken yet, or more; if chunk > 0 */
    _Alignas(LINE) atomic_ushort taken[RW_MAX_THREADS]; /* chunks taken of each thread's range, used
                                                           if chunk is 0; may exceed their number */
    /* the current loop */
    _Alignas(LINE) rw_share_fn *body;
    void *job;
    struct rw_share share; /* the caller's state in the loop */
    atomic_int status;     /* lowest status of any body */
    pthread_mutex_t merging;
    /* Sleeping threads. A thread announces that it will sleep, then checks once more for work. */
    atomic_int spins; /* SPINS, or 0 if threads sleep at once */
    pthread_mutex_t mutex;
    pthread_cond_t work, done; /* work: a loop is open, or the pool ends; done: the last thread has
                                  left a closed loop */
    /* n_asleep: number of pool threads that wait for `work`; caller_sleeps: 1 while the caller
     * waits for `done`; is_ending: 1 once the pool is being freed */
    atomic_int n_asleep, caller_sleeps, is_ending;
    /* the pool's threads */
    unsigned n_forks; /* number of forks when the pool was made */
    int n_started;
    atomic_int n_numbered; /* threads that have their index in the pool */
    pthread_t *id;         /* [n_started] */
};

/* 1 inside a loop's body and during a poll: loops started there run on the calling thread alone. */
static _Thread_local int in_loop;

/* ---- processes and processors ---- */

static atomic_uint n_forks;

/* Runs in the child after a fork. There only the forking thread exists, so existing pools have no
 * threads. */
static void count_fork(void)
{
    atomic_fetch_add(&n_forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* The files with the limits are read once, since a server may make a context for each request.
 * rw_processors updates the other limits. */
static struct rw_cpu_limits first_limits;

static void find_limits(void)
{
    rw_cpu_limits_find("", &first_limits);
}

int rw_processors(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_limits);
    struct rw_cpu_limits limits = first_limits;
    rw_cpu_limits_update(&limits);
    return limits.threads < RW_MAX_THREADS ? limits.threads : RW_MAX_THREADS;
}

/* ---- progress and interruption ---- */

int rw_poll_ms = 100;

struct rw_watch {
    rw_poll_fn poll;
    void *user;
    int (*stop)(void *user); /* from rw_poll_hold; NULL: not called */
    void *stop_user;
    int is_held;       /* 1: from rw_poll_hold to rw_poll_release */
    const char *stage; /* NULL: no stage is counted */
    uint64_t total;
    int of_loops; /* 1: rw_share_poll counts the work; 0: rw_stage_add does */
    _Atomic uint64_t done;
    atomic_int is_stopped;
    double polled_ms; /* time of the last poll in milliseconds */
};

static int watch_of(struct rw_ctx *ctx, struct rw_watch **out)
{
    if (!ctx->watch)
        ctx->watch = calloc(1, sizeof(*ctx->watch));
    *out = ctx->watch;
    if (!*out)
        return rw_fail(ctx, RW_ERR_MEMORY, "out of memory");
    (*out)->polled_ms = rw_clock_ms();
    return RW_OK;
}

int rw_ctx_set_poll(struct rw_ctx *ctx, rw_poll_fn poll, void *user)
{
    struct rw_watch *watch;
    RW_TRY(watch_of(ctx, &watch));
    watch->poll = poll;
    watch->user = user;
    atomic_store(&watch->is_stopped, 0);
    return RW_OK;
}

/* Calls `poll` and `stop`, unless one of them has stopped the call already, or the last poll was
 * less than rw_poll_ms ago. Only the calling thread may poll. If `poll` calls the library, the
 * loops of that call run on this thread alone. */
static void poll_caller(struct rw_watch *watch)
{
    if ((!watch->poll && !watch->stop) || atomic_load(&watch->is_stopped))
        return;
    const double now = rw_clock_ms();
    if (now - watch->polled_ms < rw_poll_ms)
        return;
    const struct rw_progress progress = {watch->stage, atomic_load(&watch->done), watch->total};
    const int was_in_loop = in_loop;
    in_loop = 1;
    if ((watch->poll && watch->poll(watch->user, &progress)) ||
        (watch->stop && watch->stop(watch->stop_user)))
        atomic_store(&watch->is_stopped, 1);
    in_loop = was_in_loop;
    watch->polled_ms = rw_clock_ms();
}

int rw_poll_is_stopped(const struct rw_ctx *ctx)
{
    return ctx->watch && atomic_load(&ctx->watch->is_stopped);
}

/* Returns RW_ERR_INTERRUPTED if the call was interrupted; otherwise, or if `status` is a lower
 * code, returns `status`. Between rw_poll_hold and rw_poll_release, an interruption counts only for
 * loops with may_stop. */
static int status_after(struct rw_ctx *ctx, int status, int may_stop)
{
    if (!rw_poll_is_stopped(ctx) || (ctx->watch->is_held && !may_stop) ||
        status <= RW_ERR_INTERRUPTED)
        return status;
    return rw_fail(ctx, RW_ERR_INTERRUPTED, "interrupted");
}

int rw_poll(struct rw_ctx *ctx)
{
    if (!ctx->watch || in_loop)
        return RW_OK;
    poll_caller(ctx->watch);
    return status_after(ctx, RW_OK, 0);
}

int rw_stage_begin(struct rw_ctx *ctx, const char *stage, uint64_t total, int of_loops)
{
    if (!ctx->watch || ctx->watch->stage || in_loop)
        return 0;
    ctx->watch->stage = stage;
    ctx->watch->total = total;
    ctx->watch->of_loops = of_loops;
    atomic_store(&ctx->watch->done, 0);
    return 1;
}

void rw_stage_end(struct rw_ctx *ctx, int has_begun)
{
    if (has_begun)
        ctx->watch->stage = NULL;
}

void rw_stage_add(struct rw_ctx *ctx, uint64_t n_done)
{
    if (ctx->watch)
        atomic_fetch_add(&ctx->watch->done, n_done);
}

int rw_poll_hold(struct rw_ctx *ctx, int (*stop)(void *user), void *user)
{
    struct rw_watch *watch;
    RW_TRY(watch_of(ctx, &watch));
    watch->stop = stop;
    watch->stop_user = user;
    watch->is_held = 1;
    return RW_OK;
}

void rw_poll_release(struct rw_ctx *ctx)
{
    struct rw_watch *watch = ctx->watch;
    if (!watch || !watch->is_held)
        return;
    watch->stop = NULL;
    watch->is_held = 0;
    atomic_store(&watch->is_stopped, 0);
}

int rw_share_poll(struct rw_share *share, uint64_t n_done)
{
    struct rw_watch *watch = share ? share->watch : NULL;
    if (!watch)
        return 0;
    if (n_done && watch->of_loops)
        atomic_fetch_add(&watch->done, n_done);
    if (share->thread == 0)
        poll_caller(watch);
    return share->may_stop && atomic_load_explicit(&watch->is_stopped, memory_order_relaxed);
}

/* ---- dividing the items among threads ---- */

static unsigned n_chunks(const struct rw_share *share)
{
    return share->n >= CHUNKS_PER_THREAD * (uint64_t)share->n_threads ? CHUNKS_PER_THREAD : 1;
}

/* Takes the next chunk, number *chunk of range *run. Returns 0 when all are taken. Thread t tries
 * the ranges in the order t, t + 1, ... and then 0, 1, ..., so each thread begins with its own
 * range. */
static int next_chunk(struct rw_share *share, uint64_t *run, unsigned *chunk)
{
    const uint64_t all = (uint64_t)share->n_threads;
    for (; share->n_taken < all; share->n_taken++) {
        *run = ((uint64_t)share->thread + share->n_taken) % all;
        atomic_ushort *taken = &share->pool->taken[*run];
        if (atomic_load_explicit(taken, memory_order_relaxed) < n_chunks(share) &&
            (*chunk = atomic_fetch_add(taken, 1)) < n_chunks(share))
            return 1;
    }
    return 0;
}

/* Takes items with chunk 0: a chunk of a thread's range. */
static int next_of_runs(struct rw_share *share, uint64_t *begin, uint64_t *end)
{
    uint64_t run;
    unsigned chunk;
    if (!share->pool) { /* a single thread takes all items */
        *begin = 0;
        *end = share->n;
        return share->n_taken++ == 0 && share->n > 0;
    }
    if (!next_chunk(share, &run, &chunk))
        return 0;
    const uint64_t first = share->n * run / (uint64_t)share->n_threads;
    const uint64_t n = share->n * (run + 1) / (uint64_t)share->n_threads - first;
    *begin = first + n * chunk / n_chunks(share);
    *end = first + n * (chunk + 1) / n_chunks(share);
    return 1;
}

int rw_share_next(struct rw_share *share, uint64_t *begin, uint64_t *end)
{
    if (rw_share_poll(share, 0))
        return 0;
    if (share->chunk == 0)
        return next_of_runs(share, begin, end);
    if (share->pool) {
        *begin = atomic_fetch_add(&share->pool->next, share->chunk);
    } else {
        *begin = share->n_taken;
        share->n_taken += share->chunk;
    }
    if (*begin >= share->n)
        return 0;
    *end = share->n - *begin < share->chunk ? share->n : *begin + share->chunk;
    return 1;
}

void rw_share_lock(struct rw_share *share)
{
    if (share->pool)
        pthread_mutex_lock(&share->pool->merging);
}

void rw_share_unlock(struct rw_share *share)
{
    if (share->pool)
        pthread_mutex_unlock(&share->pool->merging);
}

void rw_share_add(struct rw_share *share, uint64_t *sum, uint64_t more)
{
    rw_share_lock(share);
    *sum += more;
    rw_share_unlock(share);
}

static void run_body(struct rw_pool *pool, int thread)
{
    struct rw_share share = pool->share;
    share.thread = thread;
    const int status = pool->body(pool->job, &share);
    int lowest = atomic_load(&pool->status);
    while (status < lowest && !atomic_compare_exchange_weak(&pool->status, &lowest, status)) {
    }
}

/* ---- the pool's threads ---- */

/* Returns 1 if a loop is open that this thread has not seen yet. Before the first loop the state is
 * 0, which is closed. */
static int is_new(uint64_t state, uint64_t last)
{
    return IS_OPEN(state) && NUMBER(state) != last;
}

/* Waits for a new loop and returns its state, which is not 0. Returns 0 when the pool ends. */
static uint64_t wait_for_loop(struct rw_pool *pool, uint64_t last)
{
    const int n_spins = atomic_load(&pool->spins);
    uint64_t state = 0;
    for (int i = 0; i < n_spins && !atomic_load(&pool->is_ending); i++) {
        state = atomic_load(&pool->state);
        if (is_new(state, last))
            return state;
        rw_pause();
    }
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->n_asleep, 1);
    while (!atomic_load(&pool->is_ending) && !is_new(state = atomic_load(&pool->state), last))
        pthread_cond_wait(&pool->work, &pool->mutex);
    if (atomic_load(&pool->is_ending))
        state = 0;
    atomic_fetch_sub(&pool->n_asleep, 1);
    pthread_mutex_unlock(&pool->mutex);
    return state;
}

static int enter(struct rw_pool *pool, uint64_t state, int thread)
{
    const uint64_t number = NUMBER(state);
    while (IS_OPEN(state) && NUMBER(state) == number && thread < WANTED(state)) {
        if (atomic_compare_exchange_weak(&pool->state, &state, state + 1))
            return 1;
    }
    return 0;
}

static void leave(struct rw_pool *pool)
{
    const uint64_t was = atomic_fetch_sub(&pool->state, 1);
    if (INSIDE(was) > 1 || IS_OPEN(was) || !atomic_load(&pool->caller_sleeps))
        return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *arg)
{
    struct rw_pool *pool = arg;
    const int thread = atomic_fetch_add(&pool->n_numbered, 1) + 1; /* the caller is thread 0 */
    uint64_t state, last = 0;                                      /* loops are numbered from 1 */
    rw_fpenv_enter();
    in_loop = 1;
    while ((state = wait_for_loop(pool, last)) != 0) {
        last = NUMBER(state);
        if (!enter(pool, state, thread))
            continue;
        run_body(pool, thread);
        leave(pool);
    }
    return NULL;
}

/* Starts threads until the pool has n in addition to the caller. If the system refuses some, loops
 * run on fewer threads. */
static void start_threads(struct rw_pool *pool, int n)
{
    sigset_t all, old;
    pthread_t *id = realloc(pool->id, (size_t)n * sizeof(*id));
    if (!id)
        return;
    pool->id = id;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) /* the application handles signals */
        return;
    while (pool->n_started < n && pthread_create(&pool->id[pool->n_started], NULL, work, pool) == 0)
        pool->n_started++;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static struct rw_pool *pool_new(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    struct rw_pool *pool = aligned_alloc(LINE, sizeof(*pool));
    if (!pool)
        return NULL;
    memset(pool, 0, sizeof(*pool));
    pool->n_forks = atomic_load(&n_forks);
    pthread_mutex_init(&pool->merging, NULL);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    return pool;
}

void rw_pool_free(struct rw_pool *pool)
{
    if (!pool)
        return;
    if (pool->n_forks == atomic_load(&n_forks)) { /* otherwise only the parent has the threads */
        pthread_mutex_lock(&pool->mutex);
        atomic_store(&pool->is_ending, 1);
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->mutex);
        for (int i = 0; i < pool->n_started; i++)
            pthread_join(pool->id[i], NULL);
        pthread_mutex_destroy(&pool->merging);
        pthread_mutex_destroy(&pool->mutex);
        pthread_cond_destroy(&pool->work);
        pthread_cond_destroy(&pool->done);
    }
    free(pool->id);
    free(pool);
}

/* Returns the context's pool with at least n_threads - 1 threads, or as many as could be started.
 * NULL: out of memory. */
static struct rw_pool *pool_of(struct rw_ctx *ctx, int n_threads)
{
    if (ctx->pool && ctx->pool->n_forks != atomic_load(&n_forks)) {
        rw_pool_free(ctx->pool);
        ctx->pool = NULL;
    }
    if (!ctx->pool)
        ctx->pool = pool_new();
    if (ctx->pool && ctx->pool->n_started < n_threads - 1) {
        start_threads(ctx->pool, n_threads - 1);
        atomic_store(&ctx->pool->spins, ctx->pool->n_started < rw_processors() ? SPINS : 0);
    }
    return ctx->pool;
}

/* ---- running a loop ---- */

static void open_loop(struct rw_pool *pool, int n_threads)
{
    const uint64_t number = NUMBER(atomic_load(&pool->state)) + 1;
    atomic_store(&pool->state, number << NUMBER_BIT | (uint64_t)n_threads << WANTED_BIT |
                                   (uint64_t)1 << OPEN_BIT);
    if (atomic_load(&pool->n_asleep) == 0)
        return;
    pthread_mutex_lock(&pool->mutex);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
}

/* Closes the loop to new threads and waits for those inside. */
static void close_loop(struct rw_pool *pool)
{
    const int n_spins = atomic_load(&pool->spins);
    atomic_fetch_and(&pool->state, ~((uint64_t)1 << OPEN_BIT));
    for (int i = 0; i < n_spins && INSIDE(atomic_load(&pool->state)); i++)
        rw_pause();
    if (!INSIDE(atomic_load(&pool->state)))
        return;
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->caller_sleeps, 1);
    while (INSIDE(atomic_load(&pool->state))) {
        if (!pool->share.watch) {
            pthread_cond_wait(&pool->done, &pool->mutex);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += rw_poll_ms * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&pool->done, &pool->mutex, &until);
        pthread_mutex_unlock(&pool->mutex);
        poll_caller(pool->share.watch);
        pthread_mutex_lock(&pool->mutex);
    }
    atomic_store(&pool->caller_sleeps, 0);
    pthread_mutex_unlock(&pool->mutex);
}

static int run_loop(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk,
                    rw_share_fn *body, void *job, int may_stop)
{
    const uint64_t n_parts = chunk ? n / chunk + (n % chunk > 0) : n;
    if ((uint64_t)n_threads > n_parts)
        n_threads = n_parts ? (int)n_parts : 1;
    struct rw_watch *watch = ctx && !in_loop ? ctx->watch : NULL;
    if (watch && !may_stop && !watch->poll)
        watch = NULL;
    if (watch && watch->is_held && !watch->stop)
        may_stop = 0;
    const struct rw_share share = {
        .n_threads = n_threads, .n = n, .chunk = chunk, .watch = watch, .may_stop = may_stop};
    struct rw_pool *pool = n_threads > 1 && ctx && !in_loop ? pool_of(ctx, n_threads) : NULL;
    if (!pool) {
        struct rw_share alone = share;
        const int status = body(job, &alone);
        return watch ? status_after(ctx, status, may_stop) : status;
    }
    pool->body = body;
    pool->job = job;
    pool->share = share;
    pool->share.pool = pool;
    atomic_store(&pool->status, RW_OK);
    atomic_store(&pool->next, 0);
    for (int t = 0; chunk == 0 && t < n_threads; t++)
        atomic_store_explicit(&pool->taken[t], 0, memory_order_relaxed);
    open_loop(pool, n_threads);
    in_loop = 1;
    run_body(pool, 0);
    in_loop = 0;
    close_loop(pool);
    const int status = atomic_load(&pool->status);
    return watch ? status_after(ctx, status, may_stop) : status;
}

int rw_parallel(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk, rw_share_fn *body,
                void *job)
{
    return run_loop(ctx, n_threads, n, chunk, body, job, 0);
}

int rw_parallel_long(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk,
                     rw_share_fn *body, void *job)
{
    return run_loop(ctx, n_threads, n, chunk, body, job, 1);
}
