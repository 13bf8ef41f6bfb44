/* The optimal map of the suite `general` (Figure 11 of the fifth document): the time of each method
 * by values and bins, and which is the best between the points that were timed.
 *
 * The grid is halved where the choice is close, and again where the halving found that times do not
 * lie where the coarser grid had them. Times of a method are not smooth enough to be read
 * off a grid with a factor of 4 between its lines: the host's branch predictor learns a few
 * thousand values by heart, and `privatized` gains a block, or a pass, at once. Far from a border
 * that does not matter; near one it decides.
 *
 * Each method's time is interpolated by itself, linear in the logarithms; `serial` and `cpu` too,
 * though the map knows the better of both only: it has a kink where they cross. */
#pragma once

#include "lab/suites/general_case.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RW_MAP_SIZES = 9,
    RW_MAP_BINS = 12,
    RW_MAP_HALVINGS = 3,
    RW_MAP_STEP = 1 << RW_MAP_HALVINGS, /* of the finest grid, between the first one's lines */
    RW_MAP_ROWS = (RW_MAP_SIZES - 1) * RW_MAP_STEP + 1,
    RW_MAP_COLUMNS = (RW_MAP_BINS - 1) * RW_MAP_STEP + 1
};
/* `serial` is a candidate up to so many values: beyond, one core is not the better one. */
#define RW_MAP_MOST_SERIAL ((uint64_t)1 << 18)

struct rw_general_map {
    uint32_t log2_least, log2_most; /* values of the first row and the last */
    uint32_t n_points;              /* that were timed */
    /* NaN: not known; infinite: not a candidate. Where a method is hopeless, and was not timed,
     * what the coarser grid says. */
    double ms[RW_MAP_ROWS][RW_MAP_COLUMNS][RW_GENERAL_METHODS];
    /* How far the coarser grid was off there, in the times of two methods over each other: |log|.
     */
    double off[RW_MAP_ROWS][RW_MAP_COLUMNS];
};

/* Times the methods 1 << method of `methods`: ms[method], NaN for all others beforehand. level: 0
 * for the first grid, k for what its k-th halving adds. Returns 0, or a status after rw_fail. */
struct rw_map_ask {
    uint64_t n;
    uint32_t n_bins;
    unsigned methods;
    int level;
};
typedef int (*rw_map_time_fn)(void *user, const struct rw_map_ask *ask,
                              double ms[RW_GENERAL_METHODS]);

/* Nothing is known. log2_most - log2_least is a multiple of RW_MAP_SIZES - 1. */
void rw_general_map_init(struct rw_general_map *map, uint32_t log2_least, uint32_t log2_most);
/* The first grid, row by row, then its halvings. */
int rw_general_map_make(struct rw_general_map *map, rw_map_time_fn time, void *user);
/* What the methods are expected to take. */
void rw_general_map_guess(const struct rw_general_map *map, uint64_t n, uint32_t n_bins,
                          double ms[RW_GENERAL_METHODS]);
/* The candidates at so many values. */
unsigned rw_general_map_methods(uint64_t n);
/* The method of the least time, `cpu` for `serial`; NaNs are left out. least: its time. */
int rw_general_map_best(const double ms[RW_GENERAL_METHODS], double *least);
/* The time of the map's `cpu`: the better of one core and all; NaN if neither is known. */
double rw_general_map_cpu(const double ms[RW_GENERAL_METHODS]);
/* A row, column of the first grid: 0 to RW_MAP_SIZES - 1, RW_MAP_BINS - 1. */
uint64_t rw_general_map_size(const struct rw_general_map *map, int row);
uint32_t rw_general_map_bins(int column);

#ifdef __cplusplus
}
#endif
