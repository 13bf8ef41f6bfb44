/* The map of the suite `general`, with times that are made: what no GPU is needed for. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "lab/suites/general_map.h"

enum { LEAST = 10, MOST = 26, FRESH = 4000 };

struct made {
    int n_calls, n_timed[RW_MAP_HALVINGS + 1];
    double noise; /* of a time: a share of it, either way */
    int stop_at;
};

/* After the shape of what one H200 and 16 cores took, in ms. One core: a branch predictor that
 * knows up to 2,000 values by heart. privatized: blocks of 8,192 values, or of 3 a bin; passes of
 * 29,056 bins. */
static double truth(int method, double n, double bins)
{
    const double blocks = floor(n / fmax(8192, 3 * fmin(bins, 29056))) + 1;
    const double passes = ceil(bins / 29056);
    const double new_values = n / (1 + pow(2000 / n, 3));
    const double there_and_back = 0.021 + n * 8e-8 + bins * 2.3e-7;
    switch (method) {
    case RW_GENERAL_SERIAL:
        return 0.002 + bins * 3e-7 + n * 2e-6 * log2(bins) / 4 + new_values * 7e-6 * log2(bins) / 4;
    case RW_GENERAL_CPU:
        return 0.06 + bins * 1e-6 + n * 1.2e-7 * log2(bins);
    case RW_GENERAL_PRIVATIZED:
        return there_and_back + fmin(n, n / blocks) * 1.2e-6 * sqrt(passes) + bins * 3e-7 +
               n * 4e-10 * log2(bins);
    default:
        return there_and_back + 0.013 + n * 1.3e-8;
    }
}

static double noisy(const struct made *made, int method, uint64_t n, uint32_t bins, uint64_t when)
{
    const double r = rw_random(when, n * 4 + (uint64_t)method, bins, RW_STREAM_SYNTH) * 0x1p-31 - 1;
    return truth(method, (double)n, bins) * (1 + made->noise * r);
}

static int timed(void *user, const struct rw_map_ask *ask, double ms[RW_GENERAL_METHODS])
{
    struct made *made = user;
    cr_assert(ask->methods != 0 && (ask->methods & ~rw_general_map_methods(ask->n)) == 0);
    cr_assert(ask->level == 0 || made->n_timed[0] == RW_MAP_SIZES * RW_MAP_BINS);
    for (int m = 0; m < RW_GENERAL_METHODS; m++) {
        cr_assert(isnan(ms[m]));
        if (ask->methods >> m & 1)
            ms[m] = noisy(made, m, ask->n, ask->n_bins, 1);
    }
    made->n_timed[ask->level]++;
    return ++made->n_calls == made->stop_at ? RW_ERR_INTERRUPTED : RW_OK;
}

/* The worst choice on fresh points, over the best. */
static double worst_of(const struct rw_general_map *map, const struct made *made)
{
    double worst = 0;
    for (uint64_t k = 0; k < FRESH; k++) {
        const struct rw_philox r = rw_random4(5, k, 0, RW_STREAM_SYNTH);
        const uint64_t n = (uint64_t)exp2(LEAST + r.word[0] * 0x1p-32 * (MOST - LEAST));
        const uint32_t bins = (uint32_t)exp2(4 + r.word[1] * 0x1p-32 * 16);
        double guess[RW_GENERAL_METHODS], ms[RW_GENERAL_METHODS], least;
        rw_general_map_guess(map, n, bins, guess);
        const int chosen = rw_general_map_best(guess, &least);
        for (int m = 0; m < RW_GENERAL_METHODS; m++)
            ms[m] = rw_general_map_methods(n) >> m & 1 ? noisy(made, m, n, bins, 2) : NAN;
        (void)rw_general_map_best(ms, &least);
        const double took = chosen == RW_GENERAL_CPU ? rw_general_map_cpu(ms) : ms[chosen];
        worst = fmax(worst, took / least);
    }
    return worst;
}

static struct rw_general_map *new_map(void)
{
    struct rw_general_map *map = malloc(sizeof(*map));
    cr_assert(map);
    rw_general_map_init(map, LEAST, MOST);
    return map;
}

Test(general_map, chooses_well_where_it_was_not_measured)
{
    struct rw_general_map *map = new_map();
    struct made made = {.noise = 0.01};
    cr_assert_eq(rw_general_map_make(map, timed, &made), RW_OK);
    cr_assert_eq(made.n_timed[0], RW_MAP_SIZES * RW_MAP_BINS);
    cr_assert_eq(made.n_calls, (int)map->n_points);
    cr_assert_gt(made.n_timed[RW_MAP_HALVINGS], 0);
    cr_assert_lt(made.n_calls, 600); /* a twelfth of the finest grid; a minute of a GPU's time */
    const double worst = worst_of(map, &made);
    cr_assert_leq(worst, 1.1, "%.3f", worst);
    free(map);
}

/* If it were, the halvings would be of no use, or these times too easy. */
Test(general_map, the_first_grid_alone_is_not_enough)
{
    struct rw_general_map *map = new_map();
    struct made made = {.noise = 0.01};
    cr_assert_eq(rw_general_map_make(map, timed, &made), RW_OK);
    for (int i = 0; i < RW_MAP_ROWS; i++)
        for (int b = 0; b < RW_MAP_COLUMNS; b++)
            for (int m = 0; m < RW_GENERAL_METHODS && (i % RW_MAP_STEP || b % RW_MAP_STEP); m++)
                map->ms[i][b][m] = NAN;
    const double worst = worst_of(map, &made);
    cr_assert_gt(worst, 1.1, "%.3f", worst);
    free(map);
}

Test(general_map, a_point_of_the_grid_is_guessed_as_it_was_timed)
{
    struct rw_general_map *map = new_map();
    struct made made = {.noise = 0};
    cr_assert_eq(rw_general_map_make(map, timed, &made), RW_OK);
    for (int i = 0; i < RW_MAP_SIZES; i++)
        for (int b = 0; b < RW_MAP_BINS; b++) {
            const uint64_t n = rw_general_map_size(map, i);
            const uint32_t bins = rw_general_map_bins(b);
            double guess[RW_GENERAL_METHODS];
            rw_general_map_guess(map, n, bins, guess);
            cr_assert_eq(n, (uint64_t)1 << (LEAST + 2 * i));
            for (int m = 0; m < RW_GENERAL_METHODS; m++) {
                const double want = truth(m, (double)n, bins);
                if (rw_general_map_methods(n) >> m & 1)
                    cr_assert_float_eq(guess[m], want, 1e-6 * want);
                else
                    cr_assert(isinf(guess[m]));
            }
        }
    free(map);
}

Test(general_map, stops_when_it_is_stopped)
{
    struct rw_general_map *map = new_map();
    struct made made = {.stop_at = 130}; /* in the first halving */
    cr_assert_eq(rw_general_map_make(map, timed, &made), RW_ERR_INTERRUPTED);
    cr_assert_eq(made.n_calls, 130);
    free(map);
}

Test(general_map, the_best_is_of_what_is_known)
{
    double least;
    cr_assert_eq(rw_general_map_best((double[]){1, 2, 3, 4}, &least), RW_GENERAL_CPU);
    cr_assert_eq(least, 1);
    cr_assert_eq(rw_general_map_best((double[]){NAN, 2, 1.5, 4}, &least), RW_GENERAL_PRIVATIZED);
    cr_assert_eq(least, 1.5);
    cr_assert_eq(rw_general_map_best((double[]){NAN, NAN, NAN, 4}, &least), RW_GENERAL_SORT);
    cr_assert_eq(rw_general_map_best((double[]){3, NAN, 5, 4}, &least), RW_GENERAL_CPU);
    cr_assert_eq(least, 3);
}

Test(general_map, noise_is_not_looked_into_for_ever)
{
    struct rw_general_map *map = new_map();
    struct made made = {.noise = 0.2};
    cr_assert_eq(rw_general_map_make(map, timed, &made), RW_OK);
    cr_assert_leq(made.n_calls, 1005); /* a cell's points are all timed */
    free(map);
}
