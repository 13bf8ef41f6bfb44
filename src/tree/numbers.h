/* The arithmetic of trees: quantised lambdas, sums, gains and leaf values. Every engine and the
 * grower use these functions, on the host and in kernels, so that all compute identical results
 * (CONTRIBUTING.md, rule 1). docs/explanation/fixed-point.md explains the units with an example. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/exact.h"
#include "base/machine.h"
#include "dataset/categories.h"

/* Exact sums over documents of fixed-point lambdas and hessians. Values v have two sums: `_hi` of
 * v >> 32 and `_lo` of v & 0xffffffff, so that 2^31 documents fit. */
struct rw_sum {
    uint64_t n; /* documents */
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

/* The factor of a document's codes in checksums of the data. It is odd, so different codes have
 * different products. */
RW_HD uint64_t rw_code_weight(uint64_t doc)
{
    return rw_mix(doc) | 1;
}

/* Converts a pair of sums to a real number, from units of 2^-exponent. The upper bits of `lo` are
 * first carried into `hi`, so the rounding depends only on the total. */
RW_HD double rw_sum_real(int64_t hi, int64_t lo, int exponent)
{
    hi += lo >> 32;
    lo &= 0xffffffff;
    return ((double)hi * 4294967296.0 + (double)lo) * rw_pow2(-exponent);
}

/* Returns the exponent e for which largest x 2^e is in [2^60, 2^61), but at most 400. Returns
 * `none` if `largest` is 0. */
RW_HD int rw_fixed_exponent(double largest, int none)
{
    if (largest == 0.0)
        return none;
    const int e = (int)(rw_bits_of_double(largest) >> 52) - 1023;
    return 60 - e > 400 ? 400 : 60 - e;
}

/* Returns the smallest shift s with (largest >> s) <= 2^(bits-1) - 2. largest >= 0. */
RW_HD int rw_quantise_shift(int64_t largest, int bits)
{
    const int64_t most = ((int64_t)1 << (bits - 1)) - 2;
    int s = 0;
    while ((largest >> s) > most)
        s++;
    return s;
}

/* Quantises a value: (v + r) >> s. r is 2^(s-1) if `nearest`, else random in [0, 2^s). `random`
 * supplies the bits of r: its low s bits. For s > 32 its 32 bits become the top bits of r;
 * otherwise r would be under 2^32 and the rounding biased. */
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

/* Returns the largest magnitude that rw_quantise can return at `bits`. */
RW_HD int32_t rw_quantise_limit(int bits)
{
    return ((int32_t)1 << (bits - 1)) - 1;
}

/* The sums of quantised values of a histogram cell (the documents of a node with one code of a
 * feature), or of one side of a split. */
struct rw_cell {
    uint64_t n;   /* documents */
    int64_t hess; /* newton only, else 0 */
    int64_t lambda;
};

RW_HD void rw_cell_add(struct rw_cell *cell, const struct rw_cell *other)
{
    cell->n += other->n;
    cell->hess += other->hess;
    cell->lambda += other->lambda;
}

RW_HD struct rw_cell rw_cell_less(const struct rw_cell *whole, const struct rw_cell *part)
{
    const struct rw_cell rest = {whole->n - part->n, whole->hess - part->hess,
                                 whole->lambda - part->lambda};
    return rest;
}

/* The parameters of splits, in the units of the user. */
struct rw_split_params {
    double l2;                 /* in documents, or, newton, in hessians of an average document */
    double category_smoothing; /* in the unit of l2; for the order of categories */
    /* Cost per bit of naming a set of categories, in units of the average gain of a random
     * split. */
    double category_penalty;
    /* min_hessian: newton only: the smallest sum of hessians of a side of a split. min_gain: a
     * split's gain must be larger than this. */
    double min_hessian, min_gain;
    double gain_noise; /* --gain-noise: standard deviation, see rw_compare_gains; 0: none */
};

/* The rule by which a tree's splits are compared. It is made once per tree
 * (rw_engine_set_split_rule), since its units depend on the tree's shifts and quantised values. */
struct rw_split_rule {
    struct rw_split_params given; /* in the units of the user */
    int newton;                   /* 1: divide by hessians; 0: by numbers of documents */
    double l2;         /* --split-l2, in documents (mart) or in quantised hessian (newton) */
    double gain_scale; /* a power of two; makes gains comparable across trees */
    double hess_unit;  /* the real hessian that a quantised hessian of 1 represents */
    uint64_t min_docs;
    double category_prior; /* --category-smoothing, in the unit of l2 */
    double random_gain;    /* average gain of a random split */
    double category_cost;  /* --category-penalty, as gain per bit of naming a set */
};

/* Returns a side's share of the gain: lambda^2 / (documents or hessian + l2). */
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

/* Returns the gain of a split, or 0 if a side is not allowed or the gain is not over min_gain,
 * which is 0 or more. The split is then no candidate. parent_gain: rw_side_gain of the whole node.
 */
RW_HD double rw_split_gain(const struct rw_split_rule *rule, const struct rw_cell *left,
                           const struct rw_cell *right, double parent_gain)
{
    if (!rw_side_allowed(rule, left) || !rw_side_allowed(rule, right))
        return 0.0;
    const double gain =
        (rw_side_gain(rule, left) + rw_side_gain(rule, right) - parent_gain) * rule->gain_scale;
    return gain > rule->given.min_gain ? gain : 0.0;
}

/* Returns the value of an allowed side, up to a unit, from the side's sums alone. */
RW_HD double rw_side_value(const struct rw_split_rule *rule, const struct rw_cell *side)
{
    const double d = rule->newton ? (double)side->hess : (double)side->n;
    return (double)side->lambda / (d + rule->l2);
}

/* Returns rw_split_gain under a monotone constraint. direction 1: scores may only rise along the
 * feature; -1: they may only fall; 0: no constraint. A split is a candidate only if the values of
 * its sides are in that order. */
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

/* Returns the gain less the feature cost `penalty` (0 or more), or 0 if the difference is not over
 * min_gain. */
RW_HD double rw_net_gain(const struct rw_split_rule *rule, double gain, double penalty)
{
    const double net = gain - penalty;
    return net > rule->given.min_gain ? net : 0.0;
}

/* Compares the best splits of two features at a node. The result is above 0 if the first split is
 * better, below 0 if the second is, and 0 if they are equal. With --gain-noise, each feature has a
 * noise at each node, over 0, which is added to the square root of its gain. Without, all are 0.
 * Splits with the same noise, such as those by one feature, are compared by gain. */
RW_HD int rw_compare_gains(double gain_a, double noise_a, double gain_b, double noise_b)
{
    double a = gain_a, b = gain_b;
    if (noise_a != noise_b && a > 0.0 && b > 0.0) {
        a = sqrt(a) + noise_a;
        b = sqrt(b) + noise_b;
    }
    return (a > b) - (a < b);
}

/* ---- a split that all nodes of a level share (best_splits in tree/engine.h) ----
 *
 * Its gain is the sum of rw_level_gain over the nodes, in the order of their slots, times
 * gain_scale. */

/* Returns rw_side_gain of a node or side, or 0 if it is not allowed as a side. */
RW_HD double rw_level_share(const struct rw_split_rule *rule, const struct rw_cell *side)
{
    return rw_side_allowed(rule, side) ? rw_side_gain(rule, side) : 0.0;
}

/* Returns the term of one node in that sum. share: rw_level_share of the node. The result is
 * exactly 0 if all documents are on one side. */
RW_HD double rw_level_gain(const struct rw_split_rule *rule, const struct rw_cell *left,
                           const struct rw_cell *right, double share)
{
    return rw_level_share(rule, left) + rw_level_share(rule, right) - share;
}

/* Returns 1 if both sides have documents and their values break the monotone constraint, as in
 * rw_ordered_gain. No level is split in such a way. */
RW_HD int rw_level_breaks(const struct rw_split_rule *rule, int direction,
                          const struct rw_cell *left, const struct rw_cell *right)
{
    if (direction == 0 || left->n == 0 || right->n == 0)
        return 0;
    const double l = rw_side_value(rule, left), r = rw_side_value(rule, right);
    return direction > 0 ? l > r : l < r;
}

/* A margin for comparing the values of two sides in float, where each value has a relative error of
 * at most 2^-20. If the values differ by at least this share of the sum of their magnitudes, their
 * order is the one that rw_ordered_gain finds. Otherwise their order is uncertain. */
#define RW_ORDER_MARGIN 0x1p-18f

/* The rule for the values of a tree's leaves. l2: --l2, in hessians of an average document.
 * lambda_exponent, hess_exponent: as in struct rw_root. */
struct rw_leaf_rule {
    double rate, l2;
    double mean_hess; /* per sampled document of this tree */
    int lambda_exponent, hess_exponent;
};

/* Returns the value of a leaf: rate x lambda / (hessian + l2 x mean hessian). The denominator is at
 * least 2^-20 x documents of the leaf x mean hessian. Returns 0 if the hessian is not positive. */
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

/* Rounds a leaf's value to float; -0 becomes 0. */
RW_HD float rw_leaf_float(double real)
{
    const float value = (float)real;
    return value == 0.0f ? 0.0f : value;
}

RW_HD float rw_leaf_value(const struct rw_leaf_rule *rule, const struct rw_sum *sum)
{
    return rw_leaf_float(rw_leaf_real(rule, sum));
}

/* Returns the sum of hessians that is stored as a leaf's cover: at least 0 and at most the largest
 * float. */
RW_HD float rw_cover_hessian(const struct rw_sum *sum, int hess_exponent)
{
    const float largest = 0x1.fffffep127f;
    const double hess = rw_sum_real(sum->hess_hi, sum->hess_lo, hess_exponent);
    return !(hess > 0.0) ? 0.0f : hess < (double)largest ? (float)hess : largest;
}

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the start of a tree ----
 *
 * Each tree starts with every document's fixed-point lambda and hessian. rw_extent_add finds the
 * largest magnitudes and the sums. rw_quantise_docs rounds the values to quantised integers. These
 * two have one version per instruction set (enum rw_isa). The results of all versions
 * are identical to those of the functions above, applied document by document. */

/* The extent of the sampled documents. All zeros: no documents. */
struct rw_extent {
    int64_t lambda, hess; /* largest magnitudes of a document's lambda and hessian */
    struct rw_sum sum;    /* of all these documents */
};

/* Adds the sampled documents of [0, n) to the extent. All arrays: [n]. Magnitudes of lambda and
 * hessian are under 2^63. */
typedef void rw_extent_fn(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                          const int64_t *hessian, struct rw_extent *extent);
rw_extent_fn rw_extent_add_plain, rw_extent_add_avx2, rw_extent_add_avx512;
void rw_extent_add(enum rw_isa isa, uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                   const int64_t *hessian, struct rw_extent *extent);
void rw_extent_merge(struct rw_extent *extent, const struct rw_extent *other);

/* The arguments of rw_quantise for a tree's values. seed, tree, stream: for rw_random; unused if
 * `nearest`. */
struct rw_rounding {
    int shift, nearest; /* shift: 0 to 62 */
    uint64_t seed;
    uint32_t tree, stream;
};

/* Quantises documents [first, first + n). The arrays start at document `first`: [n]. For documents
 * outside the sample, `out` is unspecified. Returns the sum of `out` over the sampled documents. */
typedef int64_t rw_quantise_fn(const struct rw_rounding *rounding, uint32_t first, uint32_t n,
                               const uint8_t *sampled, const int64_t *value, int32_t *out);
rw_quantise_fn rw_quantise_docs_plain, rw_quantise_docs_avx2, rw_quantise_docs_avx512;
int64_t rw_quantise_docs(enum rw_isa isa, const struct rw_rounding *rounding, uint32_t first,
                         uint32_t n, const uint8_t *sampled, const int64_t *value, int32_t *out);

/* Returns the number that decides whether a query is in the sample of a tree: it is if the number
 * is under the threshold of sample-queries. random: its random number for the tree; random_of_bag:
 * that for the bag. If the query is not in the bag, the result is 2^32. */
RW_HD uint64_t rw_query_number(uint32_t random, uint32_t random_of_bag, uint64_t bag_threshold)
{
    return random_of_bag < bag_threshold ? random : (uint64_t)1 << 32;
}

/* The item of a query in RW_STREAM_BAG. Smaller items are the bags themselves. */
RW_HD uint64_t rw_bag_item(uint32_t bag, uint64_t query)
{
    return (uint64_t)(bag + 1) << 32 | query;
}

#ifdef __cplusplus
}
#endif
