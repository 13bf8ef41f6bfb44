/* check_lab [--seed N] [--method NAME] [--stage NAME] [--quick] [--every N] [--big]
 *
 * The laboratory's own kernels against serial by ==: generalized histograms, counted under `multi`,
 * histograms of raw values, and `packed-private`. One GPU. The list is fixed but for the seed. */
#include "hist_multi_check.h"
#include "hist_values_check.h"
#include "lab/kernels/packed_private.h"
#include "tests/check/hist_program.h"

/* All that it declares, and with it what the library's methods count. The last stage, since it
 * stays among the methods. */
static void stage_packed(struct hist_run *run)
{
    static const uint32_t bins[] = {1, 2, 3, 15, 16, 17, 64, 128, 255, 256};
    static const enum rw_made_codes kinds[] = {RW_CODES_MIXED, RW_CODES_EQUAL};
    run->tally[run->n_methods++].method = &rw_hist_packed_private;
    for (size_t b = 0; b < 2 * sizeof(bins) / sizeof(bins[0]); b++) {
        hist_run_matrix(run,
                        &(struct hist_matrix_spec){8, bins[b / 2], 5, 100003, kinds[b % 2], 0});
        for (int i = 0; i < N_LISTS * RW_N_NODES * 2; i++)
            hist_run_call(run,
                          &(struct hist_call_spec){.sums = RW_HIST_COUNT,
                                                   .list = (enum hist_lists)(i / 2 % N_LISTS),
                                                   .nodes = (enum rw_made_nodes)(i / 2 / N_LISTS),
                                                   .lambdas = RW_LAMBDAS_RANDOM,
                                                   .largest = 127,
                                                   .zero_skip = i % 2});
    }
}

int main(int argc, char **argv)
{
    static const struct hist_stage stages[] = {{"values", stage_values, 0},
                                               {"values-big", stage_values_big, 1},
                                               {"multi", stage_multi, 0},
                                               {"packed", stage_packed, 0}};
    return hist_program(argc, argv, stages, (int)(sizeof(stages) / sizeof(stages[0])));
}
