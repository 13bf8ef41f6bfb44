/* Where values stand between boundaries: a feature's codes, or its intervals while cuts are being
 * found. One search for both, with AVX2 and AVX-512 where they are; every path gives the same. */
#ifndef RW_BINNING_CODE_SEARCH_H
#define RW_BINNING_CODE_SEARCH_H

#include "base/isa.h"
#include "binning/cuts.h"

enum { RW_SEARCH_ROOM = RW_MAX_BOUNDS + 1 };

/* A value's position is the number of boundaries that are not above it. */
struct rw_code_search {
    uint32_t n_levels; /* halvings; 5 at least */
    uint32_t missing;  /* the position of a missing value */
    uint32_t absent;   /* bits that stand for an absent value: of 0, or of a missing one */
    int32_t bound[RW_SEARCH_ROOM]; /* [2^n_levels] ordered; those not in use are out of reach */
};

/* An order-keeping key (base/sort.h) as a signed number, which AVX2 can compare. */
static inline int32_t rw_ordered_of_key(uint32_t key)
{
    return (int32_t)(key ^ 0x80000000u);
}

static inline uint32_t rw_key_of_ordered(int32_t ordered)
{
    return (uint32_t)ordered ^ 0x80000000u;
}

/* bound: [n_bounds] keys, ascending; at most RW_MAX_BOUNDS. */
void rw_code_search_init(struct rw_code_search *search, const uint32_t *bound, uint32_t n_bounds,
                         int absent_missing, uint32_t missing);
/* As rw_bin_of has it: boundaries are just above the cuts but the last. */
void rw_code_search_of_cuts(struct rw_code_search *search, const float *cut, uint32_t n_bins,
                            int absent_missing, uint32_t missing);
/* The position of one value. */
uint32_t rw_code_search_one(const struct rw_code_search *search, float value);

/* positions: [n] uint8_t or uint16_t by `bytes`, written. */
void rw_code_search_run(enum rw_isa isa, const struct rw_code_search *search, const float *value,
                        size_t n, size_t bytes, void *positions);
/* The same, and most: [n_bounds + 1] ordered, raised to the largest value of each position. */
void rw_code_search_most(enum rw_isa isa, const struct rw_code_search *search, const float *value,
                         size_t n, size_t bytes, void *positions, int32_t *most);
/* Adds to counts: [n_positions] how often each position occurs. */
void rw_code_count(const void *positions, size_t n, size_t bytes, uint32_t n_positions,
                   uint32_t *counts);

#endif
