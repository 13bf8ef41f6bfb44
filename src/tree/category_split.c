/* Finds the best set of categories on the host (tree/category_split.h): sorts the codes of a node
 * by key and tries the candidates in order of their numbers. */
#include "tree/category_split.h"

/* Merges two sorted runs of codes, [0, middle) and [middle, n) of `from`, into `to`. key: [codes].
 * Among equal keys, codes of the first run come first. */
static void merge(const double *key, const uint16_t *from, uint32_t middle, uint32_t n,
                  uint16_t *to)
{
    for (uint32_t i = 0, a = 0, b = middle; i < n; i++)
        to[i] = b == n || (a < middle && key[from[a]] <= key[from[b]]) ? from[a++] : from[b++];
}

/* Sorts the codes for which the node has documents by ascending key, then by code. Returns their
 * number. */
static uint32_t sort_codes(const struct rw_split_rule *rule, const struct rw_cell *cell,
                           uint32_t n_codes, uint16_t *sorted)
{
    double key[RW_MAX_CATEGORY_CODES];
    uint16_t scratch[RW_MAX_CATEGORY_CODES], *from = sorted, *to = scratch;
    uint32_t n = 0;
    for (uint32_t code = 0; code < n_codes; code++) {
        if (cell[code].n == 0)
            continue;
        key[code] = rw_category_key(rule, &cell[code]);
        sorted[n++] = (uint16_t)code;
    }
    for (uint32_t run = 1; run < n; run *= 2) {
        for (uint32_t at = 0; at < n; at += 2 * run)
            merge(key, from + at, run < n - at ? run : n - at, 2 * run < n - at ? 2 * run : n - at,
                  to + at);
        uint16_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != sorted)
        memcpy(sorted, from, n * sizeof(*sorted));
    return n;
}

void rw_category_split(const struct rw_split_rule *rule, double penalty, const struct rw_cell *cell,
                       uint32_t n_codes, const struct rw_cell *missing,
                       struct rw_category_split *out)
{
    struct rw_category_node node = {
        .rule = rule, .all = *missing, .missing = *missing, .penalty = penalty};
    struct rw_category_found best = {.gain = 0.0};
    uint16_t sorted[RW_MAX_CATEGORY_CODES], place[RW_MAX_CATEGORY_CODES] = {0};
    memset(out, 0, sizeof(*out));
    for (uint32_t code = 0; code < n_codes; code++)
        rw_cell_add(&node.all, &cell[code]);
    node.parent_gain = rw_side_gain(rule, &node.all);
    const uint32_t n = sort_codes(rule, cell, n_codes, sorted);
    node.n_seen = n;
    struct rw_cell left = {0, 0, 0};
    if (missing->n > 0)
        rw_category_try(&node, RW_CANDIDATE_MISSING, &left, &best);
    for (uint32_t code = 0; code < n_codes; code++) {
        if (cell[code].n > 0)
            rw_category_try(&node, RW_CANDIDATE_ONE + code, &cell[code], &best);
    }
    for (uint32_t k = 0; k < n; k++) {
        place[sorted[k]] = (uint16_t)k;
        rw_cell_add(&left, &cell[sorted[k]]);
        if (k > 0 && k + 2 < n) /* sets of one code, all but one, or all divide as earlier ones */
            rw_category_try(&node, RW_CANDIDATE_FIRST + k, &left, &best);
    }
    if (!(best.gain > 0.0))
        return;
    for (uint32_t code = 0; code < n_codes; code++) {
        if (rw_category_goes_left(&best, node.all.n, code, cell[code].n > 0, place[code]))
            rw_set_add(&out->left, code);
    }
    out->gain = best.gain;
    out->n_left = best.n_left;
    out->missing_left = missing->n > 0 ? best.missing_left : rw_set_has(&out->left, n_codes - 1);
}
