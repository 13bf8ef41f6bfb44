/* The binned matrix: one small code per (document, feature) in place of the value.
 * A code is the value's bin (value <= cut[bin]), or the number of value bins if it is missing and
 * the training set has missing values of this feature; else a missing value is coded as 0 is. */
#ifndef RW_DATA_BINS_H
#define RW_DATA_BINS_H

#include "data/cuts.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_bins {
    struct rw_cut_rule rule; /* its `ignore` is NULL here */
    uint32_t n_docs;
    struct rw_cuts *cuts; /* owned, or borrowed from the training set's bins (owns_cuts 0) */
    int owns_cuts;
    void **code;          /* [n_features] of [n_docs]: uint8_t if n_codes <= 256, else uint16_t; each
                             owned, unless codes_are_views */
    int codes_are_views;  /* of a mapped cache */
};

/* Codes of `dataset` under `cuts` (borrowed, must outlive the bins; or taken if owns_cuts). */
int rw_bins_make(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_cuts *cuts,
                 const struct rw_cut_rule *rule, int owns_cuts, struct rw_bins **out);
void rw_bins_free(struct rw_bins *bins);

/* Codes a feature can have: value bins, and one for missing if the training set has any. */
static inline uint32_t rw_cuts_n_codes(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_cuts_n_bins(cuts, f) + cuts->has_missing[f];
}

/* Bits that hold a feature's codes: 4, 8 or 16. */
static inline int rw_code_bits(uint32_t n_codes)
{
    return n_codes <= 16 ? 4 : n_codes <= 256 ? 8 : 16;
}

#ifdef __cplusplus
}
#endif
#endif
