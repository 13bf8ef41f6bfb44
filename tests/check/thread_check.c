/* Loops on threads of the library's own: every item once, whoever comes; nested, failing, after
 * fork. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ctx.h"

static int n_passed, n_failed;

/* Counted by one thread at a time. */
static int expect(int holds, const char *what)
{
    n_passed += holds != 0;
    n_failed += !holds;
    if (!holds)
        printf("not ok: %s\n", what);
    return holds;
}

static void need(int holds, const char *what)
{
    if (!expect(holds, what))
        exit(1);
}

static struct rw_ctx *ctx_of(int n_threads)
{
    struct rw_ctx *ctx;
    need(rw_ctx_new(&ctx) == RW_OK, "a context");
    need(rw_ctx_set_threads(ctx, n_threads) == RW_OK, "threads");
    return ctx;
}

struct count {
    uint32_t *times;          /* [n] of each item */
    uint64_t most;            /* items handed out at once */
    int n_bodies, n_bad;      /* bodies that ran; thread numbers out of range or in use */
    int n_empty;              /* calls that got no item */
    uint8_t in_use[64];       /* of each thread number */
    struct rw_ctx *inner_ctx; /* a nested loop's; NULL: none */
    uint64_t n_nested;
};

static int nested(void *job, struct rw_share *share)
{
    struct count *count = job;
    uint64_t begin, end;
    while (rw_share_next(share, &begin, &end))
        __atomic_fetch_add(&count->n_nested, end - begin, __ATOMIC_RELAXED);
    if (share->thread != 0)
        __atomic_fetch_add(&count->n_bad, 1, __ATOMIC_RELAXED);
    return RW_OK;
}

static int count_items(void *job, struct rw_share *share)
{
    struct count *count = job;
    uint64_t begin, end, most = 0;
    const int t = share->thread;
    const int is_bad = t < 0 || t >= share->n_threads || t >= 64 ||
                       __atomic_exchange_n(&count->in_use[t], 1, __ATOMIC_RELAXED);
    int n_empty = 0;
    while (rw_share_next(share, &begin, &end)) {
        n_empty += begin >= end;
        most = end - begin > most ? end - begin : most;
        for (uint64_t i = begin; i < end; i++)
            count->times[i]++;
        if (count->inner_ctx)
            rw_parallel(count->inner_ctx, 4, 10, 1, nested, count);
    }
    rw_share_lock(share);
    count->n_bodies++;
    count->n_bad += is_bad;
    count->n_empty += n_empty;
    count->most = most > count->most ? most : count->most;
    rw_share_unlock(share);
    return RW_OK;
}

/* Runs a loop and looks whether each item came once. */
static struct count run(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk)
{
    struct count count = {.times = calloc(n + 1, sizeof(uint32_t))};
    need(count.times != NULL, "memory");
    need(rw_parallel(ctx, n_threads, n, chunk, count_items, &count) == RW_OK, "a loop ends well");
    int once = 1;
    for (uint64_t i = 0; i < n; i++)
        once &= count.times[i] == 1;
    expect(once, "each item comes once");
    expect(count.n_bad == 0, "thread numbers are under n_threads, and no two threads have one");
    expect(count.n_empty == 0, "what is handed out has an item");
    expect(count.n_bodies >= 1 && count.n_bodies <= n_threads, "a body a thread");
    free(count.times);
    return count;
}

static void every_item_once(void)
{
    const uint64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, 100003}, chunks[] = {0, 1, 2, 64, 5000};
    const int threads[] = {1, 2, 3, 7, 16};
    for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++) {
        struct rw_ctx *ctx = ctx_of(threads[t]);
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            for (size_t c = 0; c < sizeof(chunks) / sizeof(*chunks); c++) {
                const struct count count = run(ctx, threads[t], sizes[s], chunks[c]);
                expect(chunks[c] == 0 || count.most <= chunks[c], "no more than a chunk");
            }
        }
        rw_ctx_free(ctx);
    }
}

/* Thousands of short loops: workers are at any stage of waiting when one begins. */
static void many_loops(void)
{
    struct rw_ctx *ctx = ctx_of(4);
    for (int i = 0; i < 20000; i++)
        run(ctx, 2 + i % 3, (uint64_t)(i % 50), (uint64_t)(i % 4));
    for (int i = 0; i < 30; i++) {
        run(ctx, 4, 100, 1);
        usleep(500); /* long enough for all to sleep */
    }
    rw_ctx_free(ctx);
}

/* Of 4 runs, in chunks if there are 4 of each. */
static void runs_are_equal_parts(void)
{
    static const struct {
        uint64_t n, most;
    } loops[] = {{103, 7}, {17, 2}, {16, 1}, {15, 4}, {5, 2}, {4, 1}};
    struct rw_ctx *ctx = ctx_of(4);
    for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
        const struct count count = run(ctx, 4, loops[i].n, 0);
        expect(count.most == loops[i].most, "runs are equal but for one item, and so are chunks");
    }
    rw_ctx_free(ctx);
}

static void without_a_context_it_is_the_callers(void)
{
    expect(run(NULL, 8, 1000, 16).n_bodies == 1, "without a context a loop is the caller's");
}

static void inside_of_a_loop_it_is_the_threads_own(void)
{
    struct rw_ctx *ctx = ctx_of(4), *other = ctx_of(4);
    struct rw_ctx *both[] = {ctx, other};
    for (int k = 0; k < 2; k++) {
        struct count count = {.times = calloc(64, sizeof(uint32_t)), .inner_ctx = both[k]};
        need(count.times != NULL, "memory");
        expect(rw_parallel(ctx, 4, 64, 1, count_items, &count) == RW_OK, "a nested loop ends well");
        expect(count.n_nested == 640 && count.n_bad == 0, "a nested loop is the thread's own");
        free(count.times);
    }
    run(ctx, 4, 1000, 1);
    rw_ctx_free(ctx);
    rw_ctx_free(other);
}

static int fail_some(void *job, struct rw_share *share)
{
    uint64_t i, end;
    while (rw_share_next(share, &i, &end)) {
        if (i == *(uint64_t *)job)
            return RW_ERR_DATA;
    }
    return i == 0 ? RW_ERR_IO : RW_OK;
}

static int fail_all(void *job, struct rw_share *share)
{
    (void)job;
    return share->thread == 0 ? RW_ERR_IO : RW_ERR_FORMAT;
}

static void a_failure_is_returned(void)
{
    struct rw_ctx *ctx = ctx_of(3);
    for (uint64_t i = 0; i < 100; i += 9)
        expect(rw_parallel(ctx, 3, 100, 1, fail_some, &i) == RW_ERR_DATA, "one body's failure");
    const int status = rw_parallel(ctx, 3, 100, 1, fail_all, NULL);
    expect(status == RW_ERR_IO || status == RW_ERR_FORMAT, "the lowest status of those that came");
    expect(rw_parallel(NULL, 3, 100, 1, fail_all, NULL) == RW_ERR_IO, "the caller's failure");
    run(ctx, 3, 1000, 1); /* and the next loop works as usual */
    rw_ctx_free(ctx);
}

static int sum_of_rounds(void *job, struct rw_share *share)
{
    volatile double one = 1.0, tiny = 0x1p-80;
    sigset_t blocked;
    int *n_bad = job;
    uint64_t i, end;
    while (rw_share_next(share, &i, &end))
        usleep(100); /* let the others come */
    if (share->thread == 0)
        return RW_OK;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (one + tiny != one || !sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGALRM))
        __atomic_fetch_add(n_bad, 1, __ATOMIC_RELAXED);
    return RW_OK;
}

/* Threads that are started under another rounding mode take the default one all the same, and leave
 * signals to the caller. */
static void environment(void)
{
    struct rw_ctx *ctx = ctx_of(4);
    int n_bad = 0;
    fesetround(FE_UPWARD);
    expect(rw_parallel(ctx, 4, 64, 1, sum_of_rounds, &n_bad) == RW_OK, "a loop ends well");
    fesetround(FE_TONEAREST);
    expect(n_bad == 0, "threads round to nearest and take no signal");
    rw_ctx_free(ctx);
}

#if !defined(__SANITIZE_THREAD__)
static void ends_well(pid_t child)
{
    int status;
    expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0,
           "a child ends well");
}

/* A child process has no threads of its parent: it starts its own, and may free the inherited
 * context. */
static void after_fork(void)
{
    struct rw_ctx *ctx = ctx_of(4);
    run(ctx, 4, 1000, 1);
    for (int i = 0; i < 20; i++) {
        const int before = n_failed;
        const pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 50; k++)
                run(ctx, 4, 1000, (uint64_t)(k % 2));
            rw_ctx_free(ctx);
            _exit(n_failed > before);
        }
        run(ctx, 4, 1000, 1); /* the parent's threads continue */
        ends_well(child);
    }
    const pid_t child = fork(); /* freed without having been used */
    if (child == 0) {
        rw_ctx_free(ctx);
        _exit(0);
    }
    ends_well(child);
    rw_ctx_free(ctx);
}
#endif

/* Stays until all have come, or ten seconds. */
static int meet(void *job, struct rw_share *share)
{
    int *n_here = job;
    __atomic_fetch_add(n_here, 1, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 10000 && __atomic_load_n(n_here, __ATOMIC_SEQ_CST) < share->n_threads; i++)
        usleep(1000);
    return RW_OK;
}

/* A loop does without those that come late, so that only this shows it where some never do. */
static void all_threads_come(void)
{
    enum { THREADS = 24 };
    for (int i = 0; i < 20; i++) {
        struct rw_ctx *ctx = ctx_of(THREADS);
        int n_here[3] = {0, 0, 0};
        rw_parallel(ctx, THREADS / 4, THREADS, 1, meet, &n_here[0]); /* the others start later */
        rw_parallel(ctx, THREADS, THREADS, 1, meet, &n_here[1]);
        usleep(2000); /* they sleep */
        rw_parallel(ctx, THREADS, THREADS, 0, meet, &n_here[2]);
        rw_ctx_free(ctx);
        if (!expect(n_here[0] == THREADS / 4 && n_here[1] == THREADS && n_here[2] == THREADS,
                    "all threads come")) {
            printf("    %d, %d and %d of %d, %d and %d\n", n_here[0], n_here[1], n_here[2],
                   THREADS / 4, THREADS, THREADS);
            return; /* each waits for ten seconds */
        }
    }
}

static int add_one(void *job, struct rw_share *share)
{
    uint64_t begin, end;
    while (rw_share_next(share, &begin, &end))
        __atomic_fetch_add((uint64_t *)job, end - begin, __ATOMIC_RELAXED);
    return RW_OK;
}

static void *loops_of_a_thread(void *n_items)
{
    struct rw_ctx *ctx;
    if (rw_ctx_new(&ctx) < 0)
        return NULL;
    for (int i = 0; i < 200; i++)
        rw_parallel(ctx, 3, 500, (uint64_t)(i % 3), add_one, n_items);
    rw_ctx_free(ctx);
    return n_items;
}

static void contexts_of_several_threads(void)
{
    enum { THREADS = 4 };
    pthread_t id[THREADS];
    uint64_t n_items = 0;
    for (int i = 0; i < THREADS; i++)
        need(pthread_create(&id[i], NULL, loops_of_a_thread, &n_items) == 0, "a thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    expect(n_items == THREADS * 200 * 500, "several threads with a context each");
}

int main(void)
{
    every_item_once();
    many_loops();
    runs_are_equal_parts();
    without_a_context_it_is_the_callers();
    inside_of_a_loop_it_is_the_threads_own();
    a_failure_is_returned();
    environment();
    all_threads_come();
    contexts_of_several_threads();
#if !defined(__SANITIZE_THREAD__) /* which takes no new threads in a child */
    after_fork();
#endif
    expect(rw_processors() >= 1, "processors are counted");
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed > 0;
}
