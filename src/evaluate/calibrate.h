/* Fitting maps of scores to probabilities (model/calibration.h). Sums are whole numbers of 2^-40.
 */
#ifndef RW_EVALUATE_CALIBRATE_H
#define RW_EVALUATE_CALIBRATE_H

#include "base/exact.h"
#include "model/calibration.h"

__extension__ typedef __int128 rw_int128;
__extension__ typedef unsigned __int128 rw_uint128;

#define RW_UNITS_OF_1 0x1p40

/* The nearest whole number of units; |value| < 2^86. */
static inline rw_int128 rw_units(double value)
{
    const double units = value * RW_UNITS_OF_1;
    const double rounds = 0x1p62; /* from 2^53 on all doubles are whole */
    return units < rounds && units > -rounds ? rw_round_int64(units) : (rw_int128)units;
}

static inline double rw_of_units(rw_int128 units)
{
    return (double)units / RW_UNITS_OF_1;
}

/* Documents of one score, pooled: their weights, and those of the relevant ones, in units. */
struct rw_score_group {
    double score;
    rw_uint128 weight, relevant; /* weight > 0 */
};

/* group: [n] by ascending score, n > 0. Both set all of *out but `relevant`; it is zeroed before,
 * and released by the caller, also after a failure. */

/* The map that never falls and has the least sum of weighted squared errors: pool adjacent
 * violators (Ayer et al. 1955), all comparisons exact. Each block of equal probability has a knot
 * at either end. */
int rw_isotonic_fit(struct rw_ctx *ctx, const struct rw_score_group *group, size_t n,
                    struct rw_score_map *out);
/* Platt's: a logistic function, fitted to the targets (N+ + 1) / (N+ + 2) of relevant documents and
 * 1 / (N- + 2) of others, N+ and N- their weights ("Probabilistic outputs for support vector
 * machines", 1999, section 2.2). A slope below 0 becomes 0. */
void rw_platt_fit(const struct rw_score_group *group, size_t n, struct rw_score_map *out);

#endif
