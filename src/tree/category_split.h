/* Finds the best split of a node by a categorical feature: a set of codes that go left. A candidate
 * is one of the sets that are tried. A cell has the sums of a node's documents with one code.
 * Engines differ in how they make cells and which thread tries which candidate. This file has the
 * common part, for the host and for devices: the candidates, their order and gains. The threads of
 * a GPU try candidates in gpu/split/category_block.h. docs/explanation/categories.md states the
 * rule in words, and tests/oracle/categories.py follows that page. */
#pragma once

#include "tree/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_category_split {
    struct rw_code_set left; /* codes that go left, without missing values */
    /* 1: missing values go left. In a node without any, they follow the last code. */
    int missing_left;
    double gain;     /* 0: no candidate */
    uint64_t n_left; /* documents that go left */
};

/* Finds the best split and writes *out. penalty: the feature cost, subtracted from gains; 0: none.
 * cell: [n_codes] sums of the node's documents with each code. The last code is shared by all
 * categories without a code. missing: the sums of documents without a value. */
void rw_category_split(const struct rw_split_rule *rule, double penalty, const struct rw_cell *cell,
                       uint32_t n_codes, const struct rw_cell *missing,
                       struct rw_category_split *out);

/* ---- the parts of rw_category_split ---- */

/* The largest number of codes of a feature. There is one candidate RW_CANDIDATE_MISSING, and at
 * most this number of each other kind. */
enum { RW_MAX_CATEGORY_CODES = RW_MAX_CATEGORIES + 1 };

/* The numbers of candidates; among candidates of equal gain, the one with the lowest number is
 * chosen. RW_CANDIDATE_MISSING: only missing values go left. RW_CANDIDATE_ONE + code: that code
 * goes left. RW_CANDIDATE_FIRST + k: the first k + 1 of the codes for which the node has documents
 * go left, in the order of rw_category_key, then code. In the last two kinds, missing values go to
 * the side where the gain is higher, or left if both gains are equal. */
enum {
    RW_CANDIDATE_MISSING = 0,
    RW_CANDIDATE_ONE = 1,
    RW_CANDIDATE_FIRST = RW_CANDIDATE_ONE + RW_MAX_CATEGORY_CODES
};

/* The codes of a node, or of all nodes of a level together. */
struct rw_category_order {
    const struct rw_cell *cell; /* [n_codes] sums of the documents with each code; borrowed */
    struct rw_cell missing;     /* sums of documents without a value */
    uint32_t n_codes, n;        /* n: number of codes that have documents */
    /* sorted: [n] these codes in the order of rw_category_key, then code. place: [n_codes] the
     * index of each code in `sorted`, if it is there. */
    uint16_t sorted[RW_MAX_CATEGORY_CODES], place[RW_MAX_CATEGORY_CODES];
};

/* ---- a split that all nodes of a level share ----
 *
 * The candidates, their order and cost are those of the level's documents together. A gain is the
 * sum of rw_level_gain over the nodes. */
struct rw_category_level {
    const struct rw_split_rule *rule; /* borrowed */
    struct rw_category_order order;
    /* The gain of each candidate, with missing values right ([0]) or left ([1]). */
    double gain[RW_CANDIDATE_FIRST + RW_MAX_CATEGORY_CODES][2];
};
/* Starts a search. cell, missing: sums over all nodes, as in rw_category_split. cell is borrowed
 * until the search ends. */
void rw_category_level_start(struct rw_category_level *level, const struct rw_split_rule *rule,
                             const struct rw_cell *cell, uint32_t n_codes,
                             const struct rw_cell *missing);
/* Adds a node. Call it in the order of slots. */
void rw_category_level_add(struct rw_category_level *level, const struct rw_cell *cell,
                           const struct rw_cell *missing);
/* Ends the search, as rw_category_split does. out->n_left counts the documents of all nodes. */
void rw_category_level_end(const struct rw_category_level *level, double penalty,
                           struct rw_category_split *out);

/* The data that all candidates of a node share. */
struct rw_category_node {
    const struct rw_split_rule *rule;
    struct rw_cell all, missing; /* all: including missing values */
    double parent_gain, penalty;
    uint32_t n_seen; /* number of codes for which the node has documents */
};

struct rw_category_found {
    double gain; /* 0: no candidate */
    uint64_t n_left;
    uint32_t candidate;
    int missing_left;
};

/* Returns the key by which codes are ordered: lambda per document, or per hessian (newton), shrunk
 * towards 0 by category_prior. */
RW_HD double rw_category_key(const struct rw_split_rule *rule, const struct rw_cell *cell)
{
    const double under =
        (rule->newton ? (double)cell->hess : (double)cell->n) + rule->category_prior;
    return under > 0.0 ? (double)cell->lambda / under : 0.0;
}

/* Returns the number of codes that go left in a candidate. */
RW_HD uint32_t rw_category_size(uint32_t candidate)
{
    if (candidate >= RW_CANDIDATE_FIRST)
        return candidate - RW_CANDIDATE_FIRST + 1;
    return candidate >= RW_CANDIDATE_ONE;
}

/* Returns the cost of a set of `size` of n_seen codes, which is subtracted from its gain. Among
 * many sets, the best one gains by chance. If the set has the share p of the codes, naming it takes
 * the entropy of p, in bits, per code. (4 p (1 - p))^(3/4) approximates the entropy within 0.01 and
 * uses only correctly rounded operations. Two of the codes are free, since two can be split in one
 * way only. */
RW_HD double rw_category_cost(const struct rw_split_rule *rule, uint32_t n_seen, uint32_t size)
{
    if (n_seen <= 2)
        return 0.0;
    const double all = (double)n_seen, left = (double)size;
    const double even = 4.0 * left * (all - left) / (all * all);
    return rule->category_cost * ((all - 2.0) * sqrt(even * sqrt(even)));
}

/* Tries a candidate and replaces *best if its gain is higher. left: the sums of the candidate's
 * codes. Tries missing values on the left first, then on the right. Call it in the order of
 * candidates, so that the lowest of equal ones is kept. */
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

/* Returns 1 if `a` is better than `b`: a higher gain, then a lower candidate. For candidates that
 * different threads have found. */
RW_HD int rw_category_beats(const struct rw_category_found *a, const struct rw_category_found *b)
{
    return a->gain != b->gain ? a->gain > b->gain : a->candidate < b->candidate;
}

/* Returns 1 if a code goes left. n_all: documents of the node. is_seen: the node has documents with
 * this code. place: if is_seen, the code's index in the order of rw_category_key, then code. A code
 * without documents goes to the side with more documents, or to the right if both are equal. */
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
