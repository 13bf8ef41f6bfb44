/* The order of documents in a ranking: by falling score, then as in the input. */
#ifndef RW_METRIC_ORDER_H
#define RW_METRIC_ORDER_H

#include <stdint.h>

#include "base/exact.h"

/* Unsigned integers that rise where scores fall: -0 as +0, and an order even for NaN, so that no
 * input can run a sort out of its array. */
RW_HD uint64_t rw_falling_key(double score)
{
    const uint64_t bits = rw_bits_of_double(score + 0.0);
    return bits >> 63 ? bits : ~(bits | 0x8000000000000000ull);
}

/* Position after the last score equal to the one at a position; end: [n]; score: [n], falling. */
RW_HD void rw_tie_ends(const double *score, uint32_t n, uint32_t *end)
{
    for (uint32_t r = n; r-- > 0;)
        end[r] = r + 1 < n && score[r] == score[r + 1] ? end[r + 1] : r + 1;
}

#endif
