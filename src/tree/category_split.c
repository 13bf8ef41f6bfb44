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

/* Sorts the codes of cells: [n_codes]. */
static void set_order(struct rw_category_order *order, const struct rw_split_rule *rule,
                      const struct rw_cell *cell, uint32_t n_codes, const struct rw_cell *missing)
{
    order->cell = cell;
    order->missing = *missing;
    order->n_codes = n_codes;
    order->n = sort_codes(rule, cell, n_codes, order->sorted);
    for (uint32_t k = 0; k < order->n; k++)
        order->place[order->sorted[k]] = (uint16_t)k;
}

/* Calls `try` for all candidates, in order, with the sums of the candidate's codes. cell: [n_codes]
 * of a node. */
static inline __attribute__((always_inline)) void
visit(const struct rw_category_order *order, const struct rw_cell *cell,
      void (*try)(void *user, uint32_t candidate, const struct rw_cell *left), void *user)
{
    struct rw_cell left = {0, 0, 0};
    if (order->missing.n > 0)
        try(user, RW_CANDIDATE_MISSING, &left);
    for (uint32_t code = 0; code < order->n_codes; code++) {
        if (order->cell[code].n > 0)
            try(user, RW_CANDIDATE_ONE + code, &cell[code]);
    }
    for (uint32_t k = 0; k < order->n; k++) {
        rw_cell_add(&left, &cell[order->sorted[k]]);
        if (k > 0 && k + 2 < order->n) /* sets of one code, all but one, or all divide as earlier */
            try(user, RW_CANDIDATE_FIRST + k, &left);
    }
}

/* Writes the best candidate, if there is one. n_all: documents of the node or level. */
static void write_split(const struct rw_category_order *order, const struct rw_category_found *best,
                        uint64_t n_all, struct rw_category_split *out)
{
    memset(out, 0, sizeof(*out));
    if (!(best->gain > 0.0))
        return;
    for (uint32_t code = 0; code < order->n_codes; code++) {
        if (rw_category_goes_left(best, n_all, code, order->cell[code].n > 0, order->place[code]))
            rw_set_add(&out->left, code);
    }
    out->gain = best->gain;
    out->n_left = best->n_left;
    out->missing_left =
        order->missing.n > 0 ? best->missing_left : rw_set_has(&out->left, order->n_codes - 1);
}

/* The search in one node. */
struct one {
    struct rw_category_node node;
    struct rw_category_found best;
};

static void try_one(void *user, uint32_t candidate, const struct rw_cell *left)
{
    struct one *one = user;
    rw_category_try(&one->node, candidate, left, &one->best);
}

void rw_category_split(const struct rw_split_rule *rule, double penalty, const struct rw_cell *cell,
                       uint32_t n_codes, const struct rw_cell *missing,
                       struct rw_category_split *out)
{
    struct rw_category_order order;
    struct one one = {
        .node = {.rule = rule, .all = *missing, .missing = *missing, .penalty = penalty}};
    for (uint32_t code = 0; code < n_codes; code++)
        rw_cell_add(&one.node.all, &cell[code]);
    one.node.parent_gain = rw_side_gain(rule, &one.node.all);
    set_order(&order, rule, cell, n_codes, missing);
    one.node.n_seen = order.n;
    visit(&order, cell, try_one, &one);
    write_split(&order, &one.best, one.node.all.n, out);
}

/* ---- a level ---- */

void rw_category_level_start(struct rw_category_level *level, const struct rw_split_rule *rule,
                             const struct rw_cell *cell, uint32_t n_codes,
                             const struct rw_cell *missing)
{
    memset(level->gain, 0, sizeof(level->gain));
    level->rule = rule;
    set_order(&level->order, rule, cell, n_codes, missing);
}

/* A node that is added to a level. */
struct added {
    struct rw_category_level *level;
    struct rw_cell all, missing;
    double share;
};

static void try_added(void *user, uint32_t candidate, const struct rw_cell *left)
{
    const struct added *node = user;
    for (int missing_left = node->level->order.missing.n > 0; missing_left >= 0; missing_left--) {
        struct rw_cell l = *left;
        if (missing_left)
            rw_cell_add(&l, &node->missing);
        const struct rw_cell r = rw_cell_less(&node->all, &l);
        node->level->gain[candidate][missing_left] +=
            rw_level_gain(node->level->rule, &l, &r, node->share);
    }
}

void rw_category_level_add(struct rw_category_level *level, const struct rw_cell *cell,
                           const struct rw_cell *missing)
{
    struct added node = {.level = level, .all = *missing, .missing = *missing};
    for (uint32_t code = 0; code < level->order.n_codes; code++)
        rw_cell_add(&node.all, &cell[code]);
    node.share = rw_level_share(level->rule, &node.all);
    visit(&level->order, cell, try_added, &node);
}

/* The end of a search: picks the best candidate. */
struct ended {
    const struct rw_category_level *level;
    double penalty;
    struct rw_category_found best;
};

static void try_ended(void *user, uint32_t candidate, const struct rw_cell *left)
{
    struct ended *end = user;
    const struct rw_category_level *level = end->level;
    const double cost =
        end->penalty + rw_category_cost(level->rule, level->order.n, rw_category_size(candidate));
    for (int missing_left = level->order.missing.n > 0; missing_left >= 0; missing_left--) {
        const double gain = rw_net_gain(
            level->rule, level->gain[candidate][missing_left] * level->rule->gain_scale, cost);
        if (gain > end->best.gain)
            end->best = (struct rw_category_found){
                .gain = gain,
                .candidate = candidate,
                .missing_left = missing_left,
                .n_left = left->n + (missing_left ? level->order.missing.n : 0)};
    }
}

void rw_category_level_end(const struct rw_category_level *level, double penalty,
                           struct rw_category_split *out)
{
    struct ended end = {.level = level, .penalty = penalty};
    uint64_t n_all = level->order.missing.n;
    for (uint32_t code = 0; code < level->order.n_codes; code++)
        n_all += level->order.cell[code].n;
    visit(&level->order, level->order.cell, try_ended, &end);
    write_split(&level->order, &end.best, n_all, out);
}
