/* The arithmetic of trees, once, for every engine and the grower: quantised lambdas, sums, gains
 * and leaf values (CONTRIBUTING.md, rule 1). */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/exact.h"
#include "base/machine.h"
#include "dataset/categories.h"

/* Exact sums over documents of fixed-point lambdas and hessians, each as two sums: of v >> 32 and
 * of v & 0xffffffff, so that 2^31 documents fit. */
struct rw_sum {
    uint64_t n;
    int64_t lambda_hi, lambda_lo, hess_hi, hess_lo;
};

RW_HD void rw_sum_add(struct rw_sum *sum, int64_t lambda, int64_t hess)
{
    sum->n += 1;
    sum->lambda_hi += lambda >> 32;
    sum->lambda_lo += lambda & 0xffffffff;
    sum->hess_hi += hess >> 32;
    sum->hess_lo += hess & 0xffffffff;
}

RW_HD void rw_sum_merge(struct rw_sum *sum, const struct rw_sum *other)
{
    sum->n += other->n;
    sum->lambda_hi += other->lambda_hi;
    sum->lambda_lo += other->lambda_lo;
    sum->hess_hi += other->hess_hi;
    sum->hess_lo += other->hess_lo;
}

/* By which a document's codes are multiplied in sums that tell data apart: odd, so that no other
 * code has the same product. */
RW_HD uint64_t rw_code_weight(uint64_t doc)
{
    return rw_mix(doc) | 1;
}

/* A pair of sums as a real number, units of 2^-exponent. The words are made canonical first, so
 * that the rounding depends on the total only. */
RW_HD double rw_sum_real(int64_t hi, int64_t lo, int exponent)
{
    hi += lo >> 32;
    lo &= 0xffffffff;
    return ((double)hi * 4294967296.0 + (double)lo) * rw_pow2(-exponent);
}

/* The exponent that brings a largest magnitude into [2^60, 2^61), 400 at most; `none` for 0. */
RW_HD int rw_fixed_exponent(double largest, int none)
{
    if (largest == 0.0)
        return none;
    const int e = (int)(rw_bits_of_double(largest) >> 52) - 1023;
    return 60 - e > 400 ? 400 : 60 - e;
}

/* Smallest s with (largest >> s) <= 2^(bits-1) - 2. largest >= 0. */
RW_HD int rw_quantise_shift(int64_t largest, int bits)
{
    const int64_t most = ((int64_t)1 << (bits - 1)) - 2;
    int s = 0;
    while ((largest >> s) > most)
        s++;
    return s;
}

/* (v + r mod 2^s) >> s with r random, or to nearest. `random` gives r's bits: its low s, or, for
 * s > 32, all 32 at the top of the s (else r would be under 2^32 and the rounding biased). */
RW_HD int32_t rw_quantise(int64_t v, int s, int nearest, uint32_t random)
{
    if (s == 0)
        return (int32_t)v;
    int64_t r;
    if (nearest)
        r = (int64_t)1 << (s - 1);
    else if (s > 32)
        r = (int64_t)random << (s - 32);
    else
        r = (int64_t)(random & (uint32_t)(((uint64_t)1 << s) - 1));
    return (int32_t)((v + r) >> s);
}

/* Largest magnitude that rw_quantise can give at `bits`. */
RW_HD int32_t rw_quantise_limit(int bits)
{
    return ((int32_t)1 << (bits - 1)) - 1;
}

/* Sums of a histogram cell, or of a side of a split. */
struct rw_cell {
    uint64_t n;
    int64_t hess; /* newton only, else 0 */
    int64_t lambda;
};

RW_HD void rw_cell_add(struct rw_cell *cell, const struct rw_cell *other)
{
    cell->n += other->n;
    cell->hess += other->hess;
    cell->lambda += other->lambda;
}

/* What parameters say of splits, in their units. */
struct rw_split_params {
    double l2;                 /* k, in average documents */
    double category_smoothing; /* the same, of the order of categories */
    double category_penalty;   /* what a bit of a set's choice costs, in gains by chance */
    double min_hessian, min_gain;
};

static inline int rw_split_params_are_good(const struct rw_split_params *params)
{
    return params->l2 >= 0.0 && params->min_gain >= 0.0 && params->min_hessian >= 0.0;
}

/* What decides a split; made once a tree (gain_scale and the rest depend on its shifts). */
struct rw_split_rule {
    struct rw_split_params given;
    int newton;
    double l2;         /* --split-l2, in documents (mart) or in quantised hessian (newton) */
    double gain_scale; /* a power of two: gains compare across trees */
    double hess_unit;  /* real hessian of a quantised hessian of 1 */
    uint64_t min_docs;
    double category_prior; /* --category-smoothing, in the unit of l2 */
    double category_cost;  /* --category-penalty, in gain: what a bit of a set's choice costs */
};

RW_HD double rw_side_gain(const struct rw_split_rule *rule, const struct rw_cell *side)
{
    const double q = (double)side->lambda;
    const double d = rule->newton ? (double)side->hess : (double)side->n;
    return q * q / (d + rule->l2);
}

RW_HD int rw_side_allowed(const struct rw_split_rule *rule, const struct rw_cell *side)
{
    if (side->n < rule->min_docs)
        return 0;
    return !rule->newton ||
           (side->hess > 0 && (double)side->hess * rule->hess_unit >= rule->given.min_hessian);
}

/* Gain of a split, or 0 if it is no candidate (a gain that counts is over min_gain >= 0).
 * parent_gain = rw_side_gain of the whole node. */
RW_HD double rw_split_gain(const struct rw_split_rule *rule, const struct rw_cell *left,
                           const struct rw_cell *right, double parent_gain)
{
    if (!rw_side_allowed(rule, left) || !rw_side_allowed(rule, right))
        return 0.0;
    const double gain =
        (rw_side_gain(rule, left) + rw_side_gain(rule, right) - parent_gain) * rule->gain_scale;
    return gain > rule->given.min_gain ? gain : 0.0;
}

/* What a side's sums alone say of its value, but for a unit; of an allowed side. */
RW_HD double rw_side_value(const struct rw_split_rule *rule, const struct rw_cell *side)
{
    const double d = rule->newton ? (double)side->hess : (double)side->n;
    return (double)side->lambda / (d + rule->l2);
}

/* The same for a feature along which scores may only rise (direction 1), or only fall (-1): a split
 * is a candidate if its sides' values are in that order. 0: any feature. */
RW_HD double rw_ordered_gain(const struct rw_split_rule *rule, int direction,
                             const struct rw_cell *left, const struct rw_cell *right,
                             double parent_gain)
{
    const double gain = rw_split_gain(rule, left, right, parent_gain);
    if (direction == 0 || !(gain > 0.0))
        return gain;
    const double l = rw_side_value(rule, left), r = rw_side_value(rule, right);
    return (direction > 0 ? l <= r : l >= r) ? gain : 0.0;
}

/* What a gain is worth when the split costs `penalty`, 0 or more: 0 if it is no candidate then. */
RW_HD double rw_net_gain(const struct rw_split_rule *rule, double gain, double penalty)
{
    const double net = gain - penalty;
    return net > rule->given.min_gain ? net : 0.0;
}

/* Values of a split's two sides made in float, each wrong by at most 2^-20 of itself, are in the
 * order that rw_ordered_gain finds if they are further apart than this share of their magnitudes'
 * sum; else they may be in either. */
#define RW_ORDER_MARGIN 0x1p-18f

/* How a tree's leaves get their values. */
struct rw_leaf_rule {
    double rate, l2;
    double mean_hess; /* of a training document of this tree */
    int lambda_exponent, hess_exponent;
};

/* rate x lambda / (hessian + l2 x mean hessian), the denominator at least 2^-20 n w; 0 without
 * hessian. */
RW_HD double rw_leaf_real(const struct rw_leaf_rule *rule, const struct rw_sum *sum)
{
    const double lambda = rw_sum_real(sum->lambda_hi, sum->lambda_lo, rule->lambda_exponent);
    const double hess = rw_sum_real(sum->hess_hi, sum->hess_lo, rule->hess_exponent);
    if (!(hess > 0.0))
        return 0.0;
    double under = hess + rule->l2 * rule->mean_hess;
    const double least = rw_pow2(-20) * (double)sum->n * rule->mean_hess;
    if (under < least)
        under = least;
    return rule->rate * lambda / under;
}

/* A leaf's value as trees have it: no -0. */
RW_HD float rw_leaf_float(double real)
{
    const float value = (float)real;
    return value == 0.0f ? 0.0f : value;
}

RW_HD float rw_leaf_value(const struct rw_leaf_rule *rule, const struct rw_sum *sum)
{
    return rw_leaf_float(rw_leaf_real(rule, sum));
}

/* The sum of hessians that a leaf's cover has. */
RW_HD float rw_cover_hessian(const struct rw_sum *sum, int hess_exponent)
{
    const float largest = 0x1.fffffep127f;
    const double hess = rw_sum_real(sum->hess_hi, sum->hess_lo, hess_exponent);
    return !(hess > 0.0) ? 0.0f : hess < (double)largest ? (float)hess : largest;
}

/* The best split of a node by a feature whose values are categories: a set of codes that go left.
 * Engines differ in how they count cells and in who tries which candidate; what candidates are and
 * what is made of them is here, once, for the host and for devices. docs/categories.md has the rule
 * in words, tests/oracle/categories.py follows that page. */
#ifdef __cplusplus
extern "C" {
#endif

struct rw_category_split {
    struct rw_code_set left;
    int missing_left;
    double gain; /* 0: there is no candidate */
    uint64_t n_left;
};

/* penalty: what a split by the feature costs, taken from gains; 0: nothing. cell: [n_codes] sums of
 * the node's documents with each code, the last one that of all categories without a code of their
 * own; missing: of documents without a value. Writes *out. */
void rw_category_split(const struct rw_split_rule *rule, double penalty, const struct rw_cell *cell,
                       uint32_t n_codes, const struct rw_cell *missing,
                       struct rw_category_split *out);

/* ---- its parts ---- */

/* Codes of a feature, at most; so many candidates are of each kind but the first. */
enum { RW_MAX_CATEGORY_CODES = RW_MAX_CATEGORIES + 1 };

/* What goes left, by numbers in the order in which the first of equal candidates counts: missing
 * values alone; RW_CANDIDATE_ONE + code: that category; RW_CANDIDATE_FIRST + k: the first k + 1 of
 * the categories that the node has, by rw_category_key, then code. */
enum {
    RW_CANDIDATE_MISSING = 0,
    RW_CANDIDATE_ONE = 1,
    RW_CANDIDATE_FIRST = RW_CANDIDATE_ONE + RW_MAX_CATEGORY_CODES
};

/* What all candidates are tried with. */
struct rw_category_node {
    const struct rw_split_rule *rule;
    struct rw_cell all, missing; /* all: missing ones, too */
    double parent_gain, penalty;
    uint32_t n_seen; /* categories that the node has */
};

struct rw_category_found {
    double gain; /* 0: there is no candidate */
    uint64_t n_left;
    uint32_t candidate;
    int missing_left;
};

/* What codes are ordered by: a lambda a document, or a hessian, drawn towards 0 by the prior. */
RW_HD double rw_category_key(const struct rw_split_rule *rule, const struct rw_cell *cell)
{
    const double under =
        (rule->newton ? (double)cell->hess : (double)cell->n) + rule->category_prior;
    return under > 0.0 ? (double)cell->lambda / under : 0.0;
}

/* Categories that a candidate has. */
RW_HD uint32_t rw_category_size(uint32_t candidate)
{
    if (candidate >= RW_CANDIDATE_FIRST)
        return candidate - RW_CANDIDATE_FIRST + 1;
    return candidate >= RW_CANDIDATE_ONE;
}

/* What a set of `size` of n_seen categories costs, for there are many and chance has its best. A
 * set of the share p is named by the entropy of p in bits for each category; (4 p (1 - p))^(3/4) is
 * that to 0.01, of correctly rounded operations. Two categories are free: those of a node that has
 * no more can be split in one way. */
RW_HD double rw_category_cost(const struct rw_split_rule *rule, uint32_t n_seen, uint32_t size)
{
    if (n_seen <= 2)
        return 0.0;
    const double all = (double)n_seen, left = (double)size;
    const double even = 4.0 * left * (all - left) / (all * all);
    return rule->category_cost * ((all - 2.0) * sqrt(even * sqrt(even)));
}

/* Tries a candidate, whose categories have the sums `left`, both ways for missing values, left
 * first, against what comes before it. */
RW_HD void rw_category_try(const struct rw_category_node *node, uint32_t candidate,
                           const struct rw_cell *left, struct rw_category_found *best)
{
    const double penalty =
        node->penalty + rw_category_cost(node->rule, node->n_seen, rw_category_size(candidate));
    for (int missing_left = node->missing.n > 0; missing_left >= 0; missing_left--) {
        struct rw_cell l = *left;
        if (missing_left)
            rw_cell_add(&l, &node->missing);
        const struct rw_cell r = {node->all.n - l.n, node->all.hess - l.hess,
                                  node->all.lambda - l.lambda};
        if (l.n == 0 || r.n == 0)
            continue;
        const double gain =
            rw_net_gain(node->rule, rw_split_gain(node->rule, &l, &r, node->parent_gain), penalty);
        if (gain > best->gain) {
            best->gain = gain;
            best->n_left = l.n;
            best->candidate = candidate;
            best->missing_left = missing_left;
        }
    }
}

/* Of two that were found apart: the higher gain, then the first candidate. */
RW_HD int rw_category_beats(const struct rw_category_found *a, const struct rw_category_found *b)
{
    return a->gain != b->gain ? a->gain > b->gain : a->candidate < b->candidate;
}

/* Does a code of the node's go left? n_all: documents of the node; is_seen: some of them have it;
 * place: where it stands in the order then. A code that none of them has goes with the larger side,
 * to the right if both are as large. */
RW_HD int rw_category_goes_left(const struct rw_category_found *best, uint64_t n_all, uint32_t code,
                                int is_seen, uint32_t place)
{
    if (!is_seen)
        return best->n_left > n_all - best->n_left;
    if (best->candidate >= RW_CANDIDATE_FIRST)
        return place <= best->candidate - RW_CANDIDATE_FIRST;
    return best->candidate == RW_CANDIDATE_ONE + code;
}

/* What the start of a tree does with every document's fixed-point lambda and hessian: the largest
 * magnitudes and the sums, and the rounding to quantised integers. Every path gives the bits of
 * tree/numbers.h's arithmetic, document by document. */
/* Of sampled documents. All zeros is the extent of none. */
struct rw_extent {
    int64_t lambda, hess; /* largest magnitudes */
    struct rw_sum sum;
};

/* Adds documents [0, n) that are sampled. Magnitudes under 2^63. */
typedef void rw_extent_fn(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                          const int64_t *hessian, struct rw_extent *extent);
rw_extent_fn rw_extent_add_plain, rw_extent_add_avx2, rw_extent_add_avx512;
void rw_extent_add(enum rw_isa isa, uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                   const int64_t *hessian, struct rw_extent *extent);
void rw_extent_merge(struct rw_extent *extent, const struct rw_extent *other);

/* rw_quantise of a tree's values. seed, tree, stream: for rw_random, unless `nearest`. */
struct rw_rounding {
    int shift, nearest; /* shift: 0 to 62 */
    uint64_t seed;
    uint32_t tree, stream;
};

/* Documents [first, first + n), of which the arrays are: [n]. out of documents outside the sample
 * may be written, with anything. Returns the sum of the sampled ones' out. */
typedef int64_t rw_quantise_fn(const struct rw_rounding *rounding, uint32_t first, uint32_t n,
                               const uint8_t *sampled, const int64_t *value, int32_t *out);
rw_quantise_fn rw_quantise_docs_plain, rw_quantise_docs_avx2, rw_quantise_docs_avx512;
int64_t rw_quantise_docs(enum rw_isa isa, const struct rw_rounding *rounding, uint32_t first,
                         uint32_t n, const uint8_t *sampled, const int64_t *value, int32_t *out);

#ifdef __cplusplus
}
#endif
