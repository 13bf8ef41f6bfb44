#include <criterion/criterion.h>
#include <string.h>

#include "base/ctx.h"
#include "gpu/device/tuning.h"
#include "gpu/hist/hist.h"

/* Methods by name alone: nothing of them is run. */
static const struct rw_hist_method favourite = {.name = "favourite"}, other = {.name = "other"},
                                   third = {.name = "third"};

enum { N = 3, MOST_TURNS = 8 };

/* The time of each method, turn by turn. */
struct clock {
    double ms[N][MOST_TURNS];
    int n_runs[N];
    int order[N * MOST_TURNS], n;
};

static int read_clock(void *user, const struct rw_hist_timing *contestant, double *ms)
{
    struct clock *clock = user;
    const int i = contestant->method == &favourite ? 0 : contestant->method == &other ? 1 : 2;
    cr_assert_lt(clock->n_runs[i], MOST_TURNS);
    *ms = clock->ms[i][clock->n_runs[i]++];
    clock->order[clock->n++] = i;
    return RW_OK;
}

static const struct rw_hist_timing *run(struct clock *clock, struct rw_hist_timing timing[N],
                                        double expected_ms)
{
    const struct rw_hist_method *method[N] = {&favourite, &other, &third};
    for (int i = 0; i < N; i++)
        timing[i] = (struct rw_hist_timing){.method = method[i]};
    cr_assert_eq(rw_hist_time_in_turns(timing, N, read_clock, clock), RW_OK);
    return rw_hist_pick(timing, N, &favourite, expected_ms);
}

Test(hist_trial, in_turns_and_the_least_counts)
{
    struct clock clock = {.ms = {{9, 1.5, 1.0}, {3, 0.6, 0.7}, {0.9, 1.3, 1.1}}};
    struct rw_hist_timing timing[N];
    const struct rw_hist_timing *pick = run(&clock, timing, 1.0);
    static const int turns[] = {0, 1, 2};
    cr_assert_eq(clock.n, N * RW_TUNE_HYBRID_TURNS);
    for (int i = 0; i < clock.n; i++)
        cr_expect_eq(clock.order[i], turns[i % N]);
    cr_expect_eq(timing[0].ms, 1.0);
    cr_expect_eq(timing[1].ms, 0.6);
    cr_expect_eq(timing[2].ms, 0.9);
    cr_expect_eq(pick, &timing[1]);
}

/* A profiler makes every launch slow: that of the method with the fewest launches the least. */
Test(hist_trial, times_that_cannot_be)
{
    struct clock clock = {.ms = {{70, 70, 70}, {9, 9, 9}, {20, 20, 20}}};
    struct rw_hist_timing timing[N];
    cr_expect_eq(run(&clock, timing, 1.0), &timing[0]);
    memset(&clock.n_runs, 0, sizeof(clock.n_runs));
    clock.n = 0;
    cr_expect_eq(run(&clock, timing, 0.0), &timing[1], "nothing is expected");
    memset(&clock.n_runs, 0, sizeof(clock.n_runs));
    clock.n = 0;
    cr_expect_eq(run(&clock, timing, 70 / RW_TUNE_HYBRID_BELIEVED), &timing[1], "just believed");
}

static int fails(void *user, const struct rw_hist_timing *contestant, double *ms)
{
    (void)contestant;
    *ms = 1.0;
    return --*(int *)user < 0 ? RW_ERR_MACHINE : RW_OK;
}

Test(hist_trial, a_run_that_fails)
{
    int left = 2;
    struct rw_hist_timing timing[] = {{&favourite, 0, 0.0}, {&other, 0, 0.0}};
    cr_expect_eq(rw_hist_time_in_turns(timing, 2, fails, &left), RW_ERR_MACHINE);
}

Test(hist_trial, pick)
{
    const struct rw_hist_timing timing[] = {
        {&third, 0, 0.75}, {&favourite, 0, 1.0}, {&other, 1, 0.72}, {&other, 0, 0.72}};
    const struct rw_hist_timing fast[] = {{&favourite, 0, 1.0}, {&other, 1, 0.6}};
    cr_expect_eq(rw_hist_pick(timing, 4, NULL, 1.0), &timing[2]);
    cr_expect_eq(rw_hist_pick(timing, 4, &favourite, 1.0), &timing[1]);
    cr_expect_eq(rw_hist_pick(timing, 1, &favourite, 1.0), &timing[0], "not among them");
    cr_expect_eq(rw_hist_pick(fast, 2, &favourite, 1.0), &fast[1]);
}

/* 8 bytes of lambda and hessian a document, or 2 that moved with it, 3 of codes, 4 of its place in
 * the list. */
Test(hist_trial, expected_choice)
{
    const struct rw_hist_matrix matrix = {.bits = 8, .n_features = 3, .n_bins = 100};
    const struct rw_hist_node node[] = {{0, 600000000}, {0, 400000000}};
    struct rw_hist_call call = {.matrix = &matrix,
                                .sums = RW_HIST_NEWTON,
                                .node = node,
                                .n_nodes = 2,
                                .d_list = (const uint32_t *)&matrix};
    const double cells_ms = 300 * 2 * 20 / 1e9;
    cr_expect_float_eq(rw_hist_expected_ms(&call, 1e12), 15.0 + cells_ms + RW_TUNE_HYBRID_LAUNCH_MS,
                       1e-9);
    call.by_position = 1;
    call.largest = 127;
    cr_expect_float_eq(rw_hist_expected_ms(&call, 2e12),
                       4.5 + cells_ms / 2 + RW_TUNE_HYBRID_LAUNCH_MS, 1e-9);
    call.far = (const struct rw_hist_far *)(const void *)&matrix;
    cr_expect_eq(rw_hist_expected_ms(&call, 1e12), 0.0);
}
