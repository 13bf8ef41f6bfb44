/* check_lab [--seed N] [--method NAME] [--stage NAME] [--quick] [--every N] [--big]
 *
 * The laboratory's own kernels against serial by ==: generalized histograms, counted under `multi`,
 * and histograms of raw values. One GPU. The list is fixed but for the seed. */
#include "hist_multi_check.h"
#include "hist_values_check.h"
#include "tests/check/hist_program.h"

int main(int argc, char **argv)
{
    static const struct hist_stage stages[] = {{"values", stage_values, 0},
                                               {"values-big", stage_values_big, 1},
                                               {"multi", stage_multi, 0}};
    return hist_program(argc, argv, stages, (int)(sizeof(stages) / sizeof(stages[0])));
}
