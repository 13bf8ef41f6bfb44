/* Loops on threads of the library's own: every item once, whoever comes; nested, failing, after
 * fork. */
#include <criterion/criterion.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ctx.h"

static struct rw_ctx *ctx_of(int n_threads)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_ctx_set_threads(ctx, n_threads), RW_OK);
    return ctx;
}

struct count {
    uint32_t *times;          /* [n] of each item */
    uint64_t most;            /* items handed out at once */
    int n_bodies, n_bad;      /* bodies that ran; thread numbers out of range or in use */
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
    while (rw_share_next(share, &begin, &end)) {
        most = end - begin > most ? end - begin : most;
        for (uint64_t i = begin; i < end; i++)
            count->times[i]++;
        if (count->inner_ctx)
            cr_expect_eq(rw_parallel(count->inner_ctx, 4, 10, 1, nested, count), RW_OK);
    }
    rw_share_lock(share);
    count->n_bodies++;
    count->n_bad += is_bad;
    count->most = most > count->most ? most : count->most;
    rw_share_unlock(share);
    return RW_OK;
}

/* Runs a loop and looks whether each item came once. */
static struct count run(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk)
{
    struct count count = {.times = calloc(n + 1, sizeof(uint32_t))};
    cr_assert(count.times);
    cr_assert_eq(rw_parallel(ctx, n_threads, n, chunk, count_items, &count), RW_OK);
    for (uint64_t i = 0; i < n; i++)
        cr_assert_eq(count.times[i], 1, "item %llu of %llu came %u times", (unsigned long long)i,
                     (unsigned long long)n, count.times[i]);
    cr_expect_eq(count.n_bad, 0);
    cr_expect(count.n_bodies >= 1 && count.n_bodies <= n_threads);
    free(count.times);
    return count;
}

Test(thread, every_item_once)
{
    const uint64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, 100003}, chunks[] = {0, 1, 2, 64, 5000};
    const int threads[] = {1, 2, 3, 7, 16};
    for (size_t t = 0; t < sizeof(threads) / sizeof(*threads); t++) {
        struct rw_ctx *ctx = ctx_of(threads[t]);
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            for (size_t c = 0; c < sizeof(chunks) / sizeof(*chunks); c++) {
                const struct count count = run(ctx, threads[t], sizes[s], chunks[c]);
                cr_expect(chunks[c] == 0 || count.most <= chunks[c], "no more than a chunk");
            }
        }
        rw_ctx_free(ctx);
    }
}

/* Thousands of short loops: workers are at any stage of waiting when one begins. */
Test(thread, many_loops)
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

Test(thread, runs_are_equal_parts)
{
    struct rw_ctx *ctx = ctx_of(4);
    const struct count count = run(ctx, 4, 103, 0);
    cr_expect_eq(count.most, 26);
    rw_ctx_free(ctx);
}

Test(thread, without_a_context_it_is_the_callers)
{
    cr_expect_eq(run(NULL, 8, 1000, 16).n_bodies, 1);
}

Test(thread, inside_of_a_loop_it_is_the_threads_own)
{
    struct rw_ctx *ctx = ctx_of(4), *other = ctx_of(4);
    struct rw_ctx *both[] = {ctx, other};
    for (int k = 0; k < 2; k++) {
        struct count count = {.times = calloc(64, sizeof(uint32_t)), .inner_ctx = both[k]};
        cr_assert_eq(rw_parallel(ctx, 4, 64, 1, count_items, &count), RW_OK);
        cr_expect_eq(count.n_nested, 640);
        cr_expect_eq(count.n_bad, 0);
        free(count.times);
    }
    cr_expect_eq(run(ctx, 4, 1000, 1).n_bad, 0);
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

Test(thread, a_failure_is_returned)
{
    struct rw_ctx *ctx = ctx_of(3);
    for (uint64_t i = 0; i < 100; i += 9)
        cr_expect_eq(rw_parallel(ctx, 3, 100, 1, fail_some, &i), RW_ERR_DATA);
    const int status = rw_parallel(ctx, 3, 100, 1, fail_all, NULL);
    cr_expect(status == RW_ERR_IO || status == RW_ERR_FORMAT, "the lowest of those that came");
    cr_expect_eq(rw_parallel(NULL, 3, 100, 1, fail_all, NULL), RW_ERR_IO);
    run(ctx, 3, 1000, 1); /* and the next loop is as ever */
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
Test(thread, environment)
{
    struct rw_ctx *ctx = ctx_of(4);
    int n_bad = 0;
    fesetround(FE_UPWARD);
    cr_expect_eq(rw_parallel(ctx, 4, 64, 1, sum_of_rounds, &n_bad), RW_OK);
    fesetround(FE_TONEAREST);
    cr_expect_eq(n_bad, 0);
    rw_ctx_free(ctx);
}

/* A child has none of its parent's threads: it starts its own, and may free what it was given. */
Test(thread, after_fork, .timeout = 60)
{
    struct rw_ctx *ctx = ctx_of(4);
    run(ctx, 4, 1000, 1);
    for (int i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 50; k++)
                run(ctx, 4, 1000, (uint64_t)(k % 2));
            rw_ctx_free(ctx);
            _exit(0);
        }
        run(ctx, 4, 1000, 1); /* the parent's go on */
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    const pid_t child = fork(); /* freed without having been used */
    if (child == 0) {
        rw_ctx_free(ctx);
        _exit(0);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rw_ctx_free(ctx);
}

static void *loops_of_a_thread(void *arg)
{
    (void)arg;
    struct rw_ctx *ctx = ctx_of(3);
    for (int i = 0; i < 200; i++)
        run(ctx, 3, 500, (uint64_t)(i % 3));
    rw_ctx_free(ctx);
    return NULL;
}

Test(thread, contexts_of_several_threads)
{
    pthread_t id[4];
    for (int i = 0; i < 4; i++)
        cr_assert_eq(pthread_create(&id[i], NULL, loops_of_a_thread, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
}

Test(thread, processors)
{
    cr_expect(rw_processors() >= 1);
}
