/* The best split of a node by a feature whose values are categories: a set of codes that go left.
 * Engines differ in how they count cells; what is made of them is here, once. docs/categories.md
 * has the rule in words, tests/oracle/categories.py follows that page. */
#ifndef RW_TREE_CATEGORY_SPLIT_H
#define RW_TREE_CATEGORY_SPLIT_H

#include "dataset/code_set.h"
#include "tree/numbers.h"

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

#endif
