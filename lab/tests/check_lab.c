/* check_lab [--seed N] [--method NAME] [--stage NAME] [--quick] [--every N] [--big]
 *
 * The laboratory's own kernels against serial by ==: generalized histograms, counted under `multi`,
 * histograms of raw values, and the methods of lab_methods.h. One GPU. The list is fixed but for
 * the seed. */
#include "hist_multi_check.h"
#include "hist_values_check.h"
#include "lab/kernels/lab_methods.h"
#include "tests/check/hist_program.h"

/* All that the methods declare, and with it what the library's count. The last stage, since they
 * stay among the methods. */
static void stage_methods(struct hist_run *run)
{
    static const struct rw_hist_method *const own[] = {
        &rw_hist_collision_free, &rw_hist_collision_reduced, &rw_hist_packed_private};
    static const struct {
        int bits;
        uint32_t n_bins;
    } widths[] = {{8, 1},   {4, 2},   {8, 3},   {4, 15},  {8, 16},   {8, 17},   {16, 64},
                  {8, 128}, {8, 129}, {8, 255}, {8, 256}, {16, 257}, {16, 512}, {16, 1024}};
    static const enum rw_made_codes kinds[] = {RW_CODES_MIXED, RW_CODES_EQUAL};
    for (size_t m = 0; m < sizeof(own) / sizeof(own[0]); m++)
        run->tally[run->n_methods++].method = own[m];
    for (size_t b = 0; b < 2 * sizeof(widths) / sizeof(widths[0]); b++) {
        hist_run_matrix(run, &(struct hist_matrix_spec){widths[b / 2].bits, widths[b / 2].n_bins, 5,
                                                        100003, kinds[b % 2], 0});
        for (int i = 0; i < N_LISTS * RW_N_NODES * 2; i++)
            hist_run_call(
                run, &(struct hist_call_spec){.sums = (enum rw_hist_sums)((i / 2 + (int)b) % 4),
                                              .list = (enum hist_lists)(i / 2 % N_LISTS),
                                              .nodes = (enum rw_made_nodes)(i / 2 / N_LISTS),
                                              .lambdas = RW_LAMBDAS_RANDOM,
                                              .largest = b % 3 ? 127 : 32767,
                                              .zero_skip = i % 2});
    }
}

int main(int argc, char **argv)
{
    static const struct hist_stage stages[] = {{"values", stage_values, 0},
                                               {"values-big", stage_values_big, 1},
                                               {"multi", stage_multi, 0},
                                               {"methods", stage_methods, 0}};
    return hist_program(argc, argv, stages, (int)(sizeof(stages) / sizeof(stages[0])));
}
