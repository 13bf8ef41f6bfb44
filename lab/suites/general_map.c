#include "lab/suites/general_map.h"

#include <math.h>

enum { LAST_ROW = RW_MAP_ROWS - 1, LAST_COLUMN = RW_MAP_COLUMNS - 1 };
/* A cell is halved if at a corner of it two methods are that near to each other: the choice is to
 * be within 10 %, and a point's time and the guess between points are both off. */
static const double near_enough = 1.2;
/* It is halved again if at a corner of it the coarser grid was so far off. */
static const double far_off = 0.08;
/* Nor are there more points than that: if times are no more than noise, all grids are off. */
enum { MOST_POINTS = 1000 };
/* A method that is expected to take so many times the best one's time is not timed again. */
static const double hopeless = 2.0;

static const uint32_t bins[RW_MAP_BINS] = {16,    64,    256,    1024,   4096,   16384,
                                           32768, 65536, 131072, 262144, 524288, 1048576};

/* ---- where things lie ---- */

static uint64_t values_of(const struct rw_general_map *map, int row)
{
    const double span = map->log2_most - map->log2_least;
    return (uint64_t)llround(exp2(map->log2_least + span * row / LAST_ROW));
}

static uint32_t bins_of(int column)
{
    const int k = column / RW_MAP_STEP;
    if (k == RW_MAP_BINS - 1)
        return bins[k];
    const double part = (double)(column % RW_MAP_STEP) / RW_MAP_STEP;
    return (uint32_t)lround(bins[k] * pow((double)bins[k + 1] / bins[k], part));
}

uint64_t rw_general_map_size(const struct rw_general_map *map, int row)
{
    return values_of(map, row * RW_MAP_STEP);
}

uint32_t rw_general_map_bins(int column)
{
    return bins[column];
}

static double clamped(double x, double most)
{
    return !(x > 0) ? 0 : x < most ? x : most;
}

/* In rows and columns of the finest grid. */
static double row_at(const struct rw_general_map *map, uint64_t n)
{
    const double span = map->log2_most - map->log2_least;
    return clamped((log2((double)n) - map->log2_least) / span * LAST_ROW, LAST_ROW);
}

static double column_at(uint32_t n_bins)
{
    int k = 0;
    while (k < RW_MAP_BINS - 2 && bins[k + 1] <= n_bins)
        k++;
    const double part = log((double)n_bins / bins[k]) / log((double)bins[k + 1] / bins[k]);
    return clamped((k + part) * RW_MAP_STEP, LAST_COLUMN);
}

static int known(const struct rw_general_map *map, int row, int column)
{
    return !isnan(map->ms[row][column][0]);
}

/* A square of the grid; corner k lies at row + (k & 1) * step, column + (k >> 1) * step. */
struct cell {
    int row, column, step;
};

static const double *corner(const struct rw_general_map *map, const struct cell *c, int k)
{
    return map->ms[c->row + (k & 1) * c->step][c->column + (k >> 1) * c->step];
}

static int is_known(const struct rw_general_map *map, const struct cell *c)
{
    for (int k = 0; k < 4; k++)
        if (isnan(corner(map, c, k)[0]))
            return 0;
    return 1;
}

static int at_most(double x, int most)
{
    return (int)x < most ? (int)x : most;
}

/* The smallest one around a place whose corners are known: one of the first grid's at least. */
static struct cell cell_at(const struct rw_general_map *map, double row, double column)
{
    struct cell c;
    for (int step = 1;; step *= 2) {
        c.step = step;
        c.row = at_most(row / step, LAST_ROW / step - 1) * step;
        c.column = at_most(column / step, LAST_COLUMN / step - 1) * step;
        if (step == RW_MAP_STEP || is_known(map, &c))
            return c;
    }
}

/* ---- the choice ---- */

unsigned rw_general_map_methods(uint64_t n)
{
    const unsigned all = (1u << RW_GENERAL_METHODS) - 1;
    return n <= RW_MAP_MOST_SERIAL ? all : all & ~(1u << RW_GENERAL_SERIAL);
}

double rw_general_map_cpu(const double ms[RW_GENERAL_METHODS])
{
    return fmin(ms[RW_GENERAL_SERIAL], ms[RW_GENERAL_CPU]); /* a number, if one is */
}

int rw_general_map_best(const double ms[RW_GENERAL_METHODS], double *least)
{
    int best = RW_GENERAL_CPU;
    *least = rw_general_map_cpu(ms);
    for (int m = RW_GENERAL_CPU + 1; m < RW_GENERAL_METHODS; m++)
        if (ms[m] < *least || (isnan(*least) && !isnan(ms[m]))) {
            best = m;
            *least = ms[m];
        }
    return best;
}

void rw_general_map_guess(const struct rw_general_map *map, uint64_t n, uint32_t n_bins,
                          double ms[RW_GENERAL_METHODS])
{
    const double row = row_at(map, n), column = column_at(n_bins);
    const struct cell c = cell_at(map, row, column);
    const double x = (row - c.row) / c.step, y = (column - c.column) / c.step;
    for (int m = 0; m < RW_GENERAL_METHODS; m++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) {
            const double share = (k & 1 ? x : 1 - x) * (k & 2 ? y : 1 - y);
            if (share > 0)
                sum += share * log(corner(map, &c, k)[m]);
        }
        ms[m] = exp(sum);
    }
}

/* ---- measuring ---- */

void rw_general_map_init(struct rw_general_map *map, uint32_t log2_least, uint32_t log2_most)
{
    map->log2_least = log2_least;
    map->log2_most = log2_most;
    map->n_points = 0;
    for (int i = 0; i < RW_MAP_ROWS; i++)
        for (int b = 0; b < RW_MAP_COLUMNS; b++)
            for (int m = 0; m < RW_GENERAL_METHODS; m++)
                map->ms[i][b][m] = map->off[i][b] = NAN;
}

struct measuring {
    struct rw_general_map *map;
    rw_map_time_fn time;
    void *user;
    int level;
};

/* Of the methods that were timed; 0 if that is only one. */
static double off_by(const double ms[RW_GENERAL_METHODS], const double guess[RW_GENERAL_METHODS])
{
    double lowest = INFINITY, highest = -INFINITY;
    for (int m = 0; m < RW_GENERAL_METHODS; m++) {
        const double error = log(ms[m] / guess[m]);
        lowest = error < lowest ? error : lowest;
        highest = error > highest ? error : highest;
    }
    return highest > lowest ? highest - lowest : 0;
}

static int time_point(const struct measuring *x, int row, int column)
{
    double ms[RW_GENERAL_METHODS], guess[RW_GENERAL_METHODS] = {0}, least;
    struct rw_map_ask ask = {values_of(x->map, row), bins_of(column), 0, x->level};
    const unsigned candidates = rw_general_map_methods(ask.n);
    if (known(x->map, row, column))
        return RW_OK;
    ask.methods = candidates;
    if (x->level > 0) {
        rw_general_map_guess(x->map, ask.n, ask.n_bins, guess);
        (void)rw_general_map_best(guess, &least);
        for (int m = 0; m < RW_GENERAL_METHODS; m++)
            if (guess[m] > hopeless * least)
                ask.methods &= ~(1u << m);
    }
    for (int m = 0; m < RW_GENERAL_METHODS; m++)
        ms[m] = NAN;
    RW_TRY(x->time(x->user, &ask, ms));
    for (int m = 0; m < RW_GENERAL_METHODS; m++)
        x->map->ms[row][column][m] = ask.methods >> m & 1  ? ms[m]
                                     : candidates >> m & 1 ? guess[m]
                                                           : INFINITY;
    x->map->off[row][column] = x->level > 0 ? off_by(ms, guess) : 0;
    x->map->n_points++;
    return RW_OK;
}

/* Is the choice in the cell a close one: two methods near each other, or not one the best? */
static int is_close(const struct rw_general_map *map, const struct cell *c)
{
    int first = -1;
    for (int k = 0; k < 4; k++) {
        double others[RW_GENERAL_METHODS], least, next;
        const int best = rw_general_map_best(corner(map, c, k), &least);
        for (int m = 0; m < RW_GENERAL_METHODS; m++)
            others[m] = corner(map, c, k)[m];
        others[best] = INFINITY;
        if (best == RW_GENERAL_CPU)
            others[RW_GENERAL_SERIAL] = INFINITY;
        (void)rw_general_map_best(others, &next);
        first = first < 0 ? best : first;
        if (best != first || next < near_enough * least)
            return 1;
    }
    return 0;
}

static int is_off(const struct rw_general_map *map, const struct cell *c)
{
    for (int k = 0; k < 4; k++)
        if (map->off[c->row + (k & 1) * c->step][c->column + (k >> 1) * c->step] > far_off)
            return 1;
    return 0;
}

/* The nine points of a cell that is halved; its corners are known. */
static int halve(const struct measuring *x, const struct cell *c)
{
    for (int k = 0; k < 9; k++)
        RW_TRY(time_point(x, c->row + k % 3 * (c->step / 2), c->column + k / 3 * (c->step / 2)));
    return RW_OK;
}

int rw_general_map_make(struct rw_general_map *map, rw_map_time_fn time, void *user)
{
    struct measuring x = {map, time, user, 0};
    for (int i = 0; i < RW_MAP_ROWS; i += RW_MAP_STEP)
        for (int b = 0; b < RW_MAP_COLUMNS; b += RW_MAP_STEP)
            RW_TRY(time_point(&x, i, b));
    for (int step = RW_MAP_STEP; step > 1; step /= 2) {
        x.level++;
        for (int i = 0; i < LAST_ROW; i += step)
            for (int b = 0; b < LAST_COLUMN; b += step) {
                const struct cell c = {i, b, step};
                if (map->n_points < MOST_POINTS && is_known(map, &c) && is_close(map, &c) &&
                    (x.level == 1 || is_off(map, &c)))
                    RW_TRY(halve(&x, &c));
            }
    }
    return RW_OK;
}
