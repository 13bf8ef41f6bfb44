#include "base/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ctx.h"
#include "base/fpenv.h"
#include "base/limits.h"

/* How often a thread looks before it sleeps: some 50 to 150 microseconds, longer than the pauses
 * between the loops of a tree. */
enum { SPINS = 3000, LINE = 64 };
/* Pieces of a run, which are taken one at a time: a thread whose processor does something else
 * besides leaves some of its own to the others. */
enum { PIECES = 4 };

/* A loop's state in one word, from the lowest bit: how many threads of the pool are inside, whether
 * more may come, up to which thread they are wanted, the loop's number. A thread enters by adding
 * one to a word that says open. So nobody enters a loop that has ended, and while the word says
 * closed and empty the caller may write what the next loop is. */
enum { OPEN_BIT = 13, WANTED_BIT = 14, NUMBER_BIT = 27 };
#define INSIDE(state)  ((state) & (((uint64_t)1 << OPEN_BIT) - 1))
#define IS_OPEN(state) ((state) >> OPEN_BIT & 1)
#define WANTED(state) \
    ((int)((state) >> WANTED_BIT & (((uint64_t)1 << (NUMBER_BIT - WANTED_BIT)) - 1)))
#define NUMBER(state) ((state) >> NUMBER_BIT)

struct rw_pool {
    _Alignas(LINE) _Atomic uint64_t state;
    _Alignas(LINE) _Atomic uint64_t next;               /* items handed out; with chunks */
    _Alignas(LINE) atomic_ushort taken[RW_MAX_THREADS]; /* pieces of each run, or more; without */
    /* the loop */
    _Alignas(LINE) rw_share_fn *body;
    void *job;
    struct rw_share share; /* of the caller */
    atomic_int status;     /* the lowest */
    pthread_mutex_t merging;
    /* who waits: each says so and looks once more before it sleeps */
    atomic_int spins;
    pthread_mutex_t mutex;
    pthread_cond_t work, done;
    atomic_int n_asleep, caller_sleeps, is_ending;
    /* the threads */
    unsigned n_forks; /* as many as there had been when the pool was made */
    int n_started;
    pthread_t *id; /* [n_started] */
};

/* Nested loops are the thread's alone. */
static _Thread_local int in_loop;

/* ------------------------------------------------------------------ processes and processors */

static atomic_uint n_forks;

/* In the child only the thread that forked goes on: what pools there are have no threads. */
static void count_fork(void)
{
    atomic_fetch_add(&n_forks, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* Files are read once: a server may have a context for each request. */
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
    rw_cpu_limits_again(&limits);
    return limits.threads < RW_MAX_THREADS ? limits.threads : RW_MAX_THREADS;
}

/* ------------------------------------------------------------------ sharing */

static unsigned n_pieces(const struct rw_share *share)
{
    return share->n >= PIECES * (uint64_t)share->n_threads ? PIECES : 1;
}

/* Runs in the order t, t + 1, ..., so that each thread begins with its own. */
static int next_piece(struct rw_share *share, uint64_t *run, unsigned *piece)
{
    const uint64_t all = (uint64_t)share->n_threads;
    for (; share->n_taken < all; share->n_taken++) {
        *run = ((uint64_t)share->thread + share->n_taken) % all;
        atomic_ushort *taken = &share->pool->taken[*run];
        if (atomic_load_explicit(taken, memory_order_relaxed) < n_pieces(share) &&
            (*piece = atomic_fetch_add(taken, 1)) < n_pieces(share))
            return 1;
    }
    return 0;
}

static int next_of_runs(struct rw_share *share, uint64_t *begin, uint64_t *end)
{
    uint64_t run;
    unsigned piece;
    if (!share->pool) { /* alone: all of them */
        *begin = 0;
        *end = share->n;
        return share->n_taken++ == 0 && share->n > 0;
    }
    if (!next_piece(share, &run, &piece))
        return 0;
    const uint64_t first = share->n * run / (uint64_t)share->n_threads;
    const uint64_t n = share->n * (run + 1) / (uint64_t)share->n_threads - first;
    *begin = first + n * piece / n_pieces(share);
    *end = first + n * (piece + 1) / n_pieces(share);
    return 1;
}

int rw_share_next(struct rw_share *share, uint64_t *begin, uint64_t *end)
{
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

static void run_body(struct rw_pool *pool, int thread)
{
    struct rw_share share = pool->share;
    share.thread = thread;
    const int status = pool->body(pool->job, &share);
    int lowest = atomic_load(&pool->status);
    while (status < lowest && !atomic_compare_exchange_weak(&pool->status, &lowest, status)) {
    }
}

/* ------------------------------------------------------------------ the pool's threads */

struct start {
    struct rw_pool *pool;
    int thread;
};

/* Is a loop open that this thread has not seen yet? Before the first one the state is 0: none is.
 */
static int is_new(uint64_t state, uint64_t last)
{
    return IS_OPEN(state) && NUMBER(state) != last;
}

/* Waits for a new loop: its state, which is not 0; or 0, the pool ends. */
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
    const struct start start = *(struct start *)arg;
    struct rw_pool *pool = start.pool;
    uint64_t state, last = 0; /* loops are numbered from 1 */
    free(arg);
    rw_fpenv_enter();
    in_loop = 1;
    while ((state = wait_for_loop(pool, last)) != 0) {
        last = NUMBER(state);
        if (!enter(pool, state, start.thread))
            continue;
        run_body(pool, start.thread);
        leave(pool);
    }
    return NULL;
}

/* Starts threads until there are n beside the caller, as far as that goes: loops do without. */
static void start_threads(struct rw_pool *pool, int n)
{
    sigset_t all, old;
    pthread_t *id = realloc(pool->id, (size_t)n * sizeof(*id));
    if (!id)
        return;
    pool->id = id;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) /* signals are the caller's affair */
        return;
    while (pool->n_started < n) {
        struct start *start = malloc(sizeof(*start));
        if (!start)
            break;
        *start = (struct start){pool, pool->n_started + 1};
        if (pthread_create(&pool->id[pool->n_started], NULL, work, start) != 0) {
            free(start);
            break;
        }
        pool->n_started++;
    }
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
    if (pool->n_forks == atomic_load(&n_forks)) { /* else they were the parent's */
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

/* The context's pool with n_threads - 1 threads, or as many as could be started. */
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

/* ------------------------------------------------------------------ a loop */

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

/* Nobody comes any more; waits for those who are inside. */
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
    while (INSIDE(atomic_load(&pool->state)))
        pthread_cond_wait(&pool->done, &pool->mutex);
    atomic_store(&pool->caller_sleeps, 0);
    pthread_mutex_unlock(&pool->mutex);
}

int rw_parallel(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk, rw_share_fn *body,
                void *job)
{
    const uint64_t n_parts = chunk ? n / chunk + (n % chunk > 0) : n;
    if ((uint64_t)n_threads > n_parts)
        n_threads = n_parts ? (int)n_parts : 1;
    const struct rw_share share = {.n_threads = n_threads, .n = n, .chunk = chunk};
    struct rw_pool *pool = n_threads > 1 && ctx && !in_loop ? pool_of(ctx, n_threads) : NULL;
    if (!pool) {
        struct rw_share alone = share;
        return body(job, &alone);
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
    return atomic_load(&pool->status);
}
