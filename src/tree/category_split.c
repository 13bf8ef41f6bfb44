#include "tree/category_split.h"

#include <string.h>

/* What is known while candidates are tried. */
struct search {
    const struct rw_split_rule *rule;
    const struct rw_cell *missing;
    struct rw_cell all; /* of the node */
    double parent_gain, penalty;
    struct rw_category_split *best;
};

/* What codes are ordered by: a lambda a document, or a hessian, drawn towards 0 by the prior. */
static double order_of(const struct rw_split_rule *rule, const struct rw_cell *cell)
{
    const double under =
        (rule->newton ? (double)cell->hess : (double)cell->n) + rule->category_prior;
    return under > 0.0 ? (double)cell->lambda / under : 0.0;
}

/* The codes that the node has, by ascending order_of, then code. Returns their number. */
static uint32_t sort_codes(const struct rw_split_rule *rule, const struct rw_cell *cell,
                           uint32_t n_codes, uint8_t *sorted)
{
    double key[RW_MAX_CATEGORIES + 1];
    uint32_t n = 0;
    for (uint32_t code = 0; code < n_codes; code++) {
        if (cell[code].n == 0)
            continue;
        const double own = order_of(rule, &cell[code]);
        uint32_t at = n++;
        for (; at > 0 && key[at - 1] > own; at--) {
            key[at] = key[at - 1];
            sorted[at] = sorted[at - 1];
        }
        key[at] = own;
        sorted[at] = (uint8_t)code;
    }
    return n;
}

/* Codes with these sums to the left, both ways for missing values, left first. The first of equal
 * candidates is kept. */
static int try_set(struct search *s, const struct rw_cell *left)
{
    int is_better = 0;
    for (int missing_left = s->missing->n > 0; missing_left >= 0; missing_left--) {
        struct rw_cell l = *left;
        if (missing_left)
            rw_cell_add(&l, s->missing);
        const struct rw_cell r = {s->all.n - l.n, s->all.hess - l.hess, s->all.lambda - l.lambda};
        if (l.n == 0 || r.n == 0)
            continue;
        const double gain =
            rw_net_gain(s->rule, rw_split_gain(s->rule, &l, &r, s->parent_gain), s->penalty);
        if (gain > s->best->gain) {
            s->best->gain = gain;
            s->best->missing_left = missing_left;
            s->best->n_left = l.n;
            is_better = 1;
        }
    }
    return is_better;
}

/* Codes that no document of the node has, and missing values where it has none, go with the larger
 * side, to the right if both are as large. */
static void place_unseen(const struct search *s, const struct rw_cell *cell, uint32_t n_codes)
{
    struct rw_category_split *best = s->best;
    const int larger_left = best->n_left > s->all.n - best->n_left;
    for (uint32_t code = 0; larger_left && code < n_codes; code++) {
        if (cell[code].n == 0)
            rw_set_add(&best->left, code);
    }
    if (s->missing->n == 0)
        best->missing_left = rw_set_has(&best->left, n_codes - 1);
}

void rw_category_split(const struct rw_split_rule *rule, double penalty, const struct rw_cell *cell,
                       uint32_t n_codes, const struct rw_cell *missing,
                       struct rw_category_split *out)
{
    struct search s = {
        .rule = rule, .missing = missing, .all = *missing, .penalty = penalty, .best = out};
    uint8_t sorted[RW_MAX_CATEGORIES + 1];
    uint32_t best_prefix = 0;
    int32_t best_code = -1;
    memset(out, 0, sizeof(*out));
    for (uint32_t code = 0; code < n_codes; code++)
        rw_cell_add(&s.all, &cell[code]);
    s.parent_gain = rw_side_gain(rule, &s.all);
    const uint32_t n = sort_codes(rule, cell, n_codes, sorted);
    struct rw_cell left = {0, 0, 0};
    if (missing->n > 0) /* these against all others */
        try_set(&s, &left);
    for (uint32_t code = 0; code < n_codes; code++) {
        if (cell[code].n > 0 && try_set(&s, &cell[code]))
            best_code = (int32_t)code;
    }
    for (uint32_t k = 0; k + 2 < n; k++) { /* of one code, and of all but one: tried already */
        rw_cell_add(&left, &cell[sorted[k]]);
        if (k > 0 && try_set(&s, &left))
            best_prefix = k + 1;
    }
    if (best_code >= 0 && best_prefix == 0)
        rw_set_add(&out->left, (uint32_t)best_code);
    for (uint32_t k = 0; k < best_prefix; k++)
        rw_set_add(&out->left, sorted[k]);
    if (out->gain > 0.0)
        place_unseen(&s, cell, n_codes);
}
