/* The best split of a node by a feature whose values are categories: a set of codes that go left.
 * Engines differ in how they count cells and in who tries which candidate; what candidates are and
 * what is made of them is here, once, for the host and for devices (a GPU's
 * threads try them in gpu/split/category_block.h). docs/explanation/categories.md has
 * the rule in words, tests/oracle/categories.py follows that page. */
#pragma once

#include "tree/numbers.h"

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
        const struct rw_cell r = rw_cell_less(&node->all, &l);
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

#ifdef __cplusplus
}
#endif
