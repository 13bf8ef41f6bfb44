#include <criterion/criterion.h>

#include "base/ctx.h"
#include "gpu/device/tuning.h"
#include "gpu/hist/hist.h"

/* Methods by name alone: nothing of them is run. */
static const struct rw_hist_method favourite = {.name = "favourite"}, other = {.name = "other"},
                                   third = {.name = "third"};

/* A profiler makes every launch slow: that of the method with the fewest launches the least. */
Test(hist_trial, times_that_cannot_be)
{
    const struct rw_hist_timing timing[] = {{&favourite, 0, 70}, {&other, 0, 9}, {&third, 0, 20}};
    cr_expect_eq(rw_hist_pick(timing, 3, &favourite, 1.0), &timing[0]);
    cr_expect_eq(rw_hist_pick(timing, 3, &favourite, 70 / RW_TUNE_HYBRID_BELIEVED), &timing[1],
                 "just believed");
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
}
