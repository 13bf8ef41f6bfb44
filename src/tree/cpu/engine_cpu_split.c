/* Finds the best split of a feature in a node, for the engine for processors. Splits are first
 * scored roughly, in float (engine_cpu_cut_tmpl.c). The gains of those that may be the best are
 * then computed by tree/numbers.h from exact sums. So the choice is identical to that of
 * the reference engine. Without rough scores (rw_cpu_searches_packed), all gains are computed.
 * Categorical features are searched by tree/category_split.h. */

#include "tree/cpu/engine_cpu.h"

/* Returns 1 if a split is better than *best, by rw_compare_gains. Among equal ones, the lower
 * feature is better, then the lower threshold, then missing values to the left. The order must be
 * checked, because columns and postponed splits are not tried in order. */
static int is_better(const struct rw_split *best, double gain, double noise, int32_t column,
                     uint32_t bin, int missing_left)
{
    const int order = rw_compare_gains(gain, noise, best->gain, best->noise);
    if (order || !(gain > 0.0))
        return order > 0;
    if (column != best->column)
        return column < best->column;
    return bin != best->bin ? bin < best->bin : missing_left > best->missing_left;
}

/* Idle documents of a node, counted by a column. */
struct idle {
    uint64_t all, left, missing; /* left: of a threshold, without missing values */
};

/* Tries the threshold above bin b with missing values on either side; if the node has no missing
 * values, they go where 0 goes. idle: documents that are neither in the cells nor in the split's
 * n_left. Returns 0 if all documents of the cells are on the left, so that higher thresholds need
 * not be tried. */
static int try_cut(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f, uint32_t b,
                   const struct rw_cell *left, const struct rw_cell *missing,
                   const struct idle *idle)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->host.base.split_rule;
    const struct rw_cell *all = &search->all;
    const struct rw_cell others = rw_cell_less(all, left); /* includes missing values */
    const int direction = rw_host_direction(&cpu->host, f);
    const float cut = cuts->cut[cuts->offset[f] + b];
    const int zero_left = 0.0f <= cut;
    const double noise = rw_host_noise(&cpu->host, search->best.slot, f);
    for (int missing_left = 1; missing_left >= 0; missing_left--) {
        struct rw_cell l = *left, r = others;
        if (missing->n + idle->missing == 0 && missing_left != zero_left)
            continue;
        if (missing_left) {
            rw_cell_add(&l, missing);
            r = rw_cell_less(&r, missing);
        }
        const uint64_t n_left = l.n, idle_left = idle->left + (missing_left ? idle->missing : 0);
        l.n += idle_left;
        r.n += idle->all - idle_left;
        if (l.n == 0 || r.n == 0)
            continue;
        const double gain =
            rw_net_gain(rule, rw_ordered_gain(rule, direction, &l, &r, search->parent_gain),
                        rw_host_penalty(&cpu->host, f));
        if (is_better(&search->best, gain, noise, (int32_t)f, b, missing_left))
            search->best = (struct rw_split){.slot = search->best.slot,
                                             .column = (int32_t)f,
                                             .feature = cuts->feature[f],
                                             .bin = b,
                                             .cut = cut,
                                             .missing_left = missing_left,
                                             .gain = gain,
                                             .noise = noise,
                                             .n_left = (uint32_t)n_left};
    }
    return others.n > 0;
}

/* Computes the gain of every threshold, without rough scores. A threshold above an empty bin
 * separates the same documents as the one before, and ties go to the lower one, so empty bins are
 * skipped. If the node has missing values, the first bin is not skipped, because its threshold with
 * missing values left separates them from all others. */
static void try_all(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                    const int64_t *cells)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const size_t n_words = (size_t)cpu->words.n_words;
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    const struct idle none = {0, 0, 0};
    struct rw_cell missing = {0, 0, 0}, left = {0, 0, 0};
    if (cuts->has_missing[f])
        missing = rw_cpu_decode(&cpu->words, cells + n_bins * n_words);
    for (uint32_t b = 0; b < n_bins; b++) {
        const struct rw_cell cell = rw_cpu_decode(&cpu->words, cells + b * n_words);
        if (cell.n == 0 && (b > 0 || missing.n == 0))
            continue;
        rw_cell_add(&left, &cell);
        if (!try_cut(cpu, search, f, b, &left, &missing, &none))
            break;
    }
}

/* Finds the best set of codes of a categorical column. */
static void try_sets(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                     const int64_t *cells)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const size_t n_words = (size_t)cpu->words.n_words;
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    struct rw_cell missing = {0, 0, 0}, cell[RW_MAX_CATEGORY_CODES];
    struct rw_category_split found;
    for (uint32_t b = 0; b < n_bins; b++)
        cell[b] = rw_cpu_decode(&cpu->words, cells + b * n_words);
    if (cuts->has_missing[f])
        missing = rw_cpu_decode(&cpu->words, cells + n_bins * n_words);
    rw_category_split(&cpu->host.base.split_rule, rw_host_penalty(&cpu->host, f), cell, n_bins,
                      &missing, &found);
    const struct rw_split split = rw_host_set_split(&cpu->host, search->best.slot, f, &found);
    if (found.gain > 0.0 && rw_split_is_better(&split, &search->best))
        search->best = split;
}

/* Returns the lowest rough score that can still have the largest gain, or an equal one. A score has
 * a relative error of at most 2^-20, and an absolute error from values too small for float. */
static float least_score(float largest)
{
    const float least = largest * (1.0f - 0x1p-16f) - 0x1p-100f;
    return least > 0.0f ? least : 0.0f;
}

/* Returns least_score with feature costs, and updates search->rough. That is then the largest rough
 * score less its cost, made slightly too low. A split's score is compared with `rough` plus the
 * cost of its own feature. penalty: this cost, in the unit of scores. sure: the largest score of
 * the column's certain splits; -1: no such split. Negative values have no gain, so limiting a cost
 * to the range of float changes nothing. */
static float least_net_score(struct rw_cpu_search *search, double penalty, float sure)
{
    const float most = 0x1p100f, margin = 0x1p-16f;
    const float cost = penalty < (double)most ? (float)penalty : most;
    const float net = sure * (1.0f - margin) - cost * (1.0f + margin);
    if (sure >= 0.0f && net > search->rough)
        search->rough = net;
    return least_score(search->rough + cost * (1.0f - margin));
}

/* Converts a search's word, and for pairs its hessian, to a cell. */
static struct rw_cell cell_of(enum rw_cpu_cells kind, int64_t word, int64_t hessian)
{
    const struct rw_cpu_words words = {
        .n_words = kind == RW_CELL_PAIRS ? 2 : 1, .packed = 1, .newton = kind != RW_CELL_COUNTS};
    return rw_cpu_decode(&words, (const int64_t[]){word, hessian});
}

/* Adds a cell to the words `out` of a search if `sign` is 1, or subtracts it if `sign` is -1.
 * joint: for RW_CELL_PAIRS: 1: the cells are joint. */
static void add_cell(const int64_t *cells, enum rw_cpu_cells kind, int joint, uint32_t cell,
                     int sign, int64_t *out)
{
    if (kind != RW_CELL_PAIRS) {
        out[0] += sign * cells[cell];
        return;
    }
    out[0] += sign * (joint ? rw_joint_packed(cells[cell]) : cells[2 * (size_t)cell]);
    out[1] += sign * (joint ? rw_joint_hessian(cells[cell]) : cells[2 * (size_t)cell + 1]);
}

/* Returns 1 if a split that may be the best depends on idle documents. That is so if a side has too
 * few documents that are not idle, or if missing values may belong to idle documents only. left,
 * missing: sums without idle documents. */
static int depends_on_idle(const struct rw_cpu *cpu, const struct rw_cpu_search *search, uint32_t f,
                           const struct rw_cell *left, const struct rw_cell *missing)
{
    const uint64_t min_docs = cpu->host.base.split_rule.min_docs;
    return cpu->n_idle[search->best.slot] &&
           (left->n < min_docs || search->all.n - left->n - missing->n < min_docs ||
            (missing->n == 0 && cpu->host.set[0].bins->cuts->has_missing[f]));
}

/* Tries later: [n], postponed splits of one column, with its idle documents counted. */
static void try_counted(const struct rw_cpu *cpu, struct rw_cpu_search *search,
                        const struct rw_cpu_later *later, uint32_t n)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const int32_t slot = search->best.slot;
    const uint32_t f = later->column, n_bins = rw_cuts_n_bins(cuts, f);
    uint32_t count[RW_MAX_CODES], b = 0;
    memset(count, 0, rw_cuts_n_codes(cuts, f) * sizeof(*count));
    rw_cpu_count_idle(cpu, slot, f, count);
    struct idle idle = {cpu->n_idle[slot], 0, cuts->has_missing[f] ? count[n_bins] : 0};
    for (uint32_t i = 0; i < n; i++) {
        while (b <= later[i].bin)
            idle.left += count[b++];
        try_cut(cpu, search, f, later[i].bin, &later[i].left, &later[i].missing, &idle);
    }
}

void rw_cpu_search_end(const struct rw_cpu *cpu, struct rw_cpu_search *search)
{
    /* Feature costs are subtracted from `rough` but not from these scores, so all are tried. */
    const float least = cpu->host.penalty ? -1.0f : least_score(search->rough);
    for (uint32_t from = 0, end; from < search->n_later; from = end) {
        int may_be_best = 0;
        for (end = from;
             end < search->n_later && search->later[end].column == search->later[from].column;
             end++)
            may_be_best |= search->later[end].score >= least;
        if (may_be_best)
            try_counted(cpu, search, search->later + from, end - from);
    }
    search->n_later = 0;
}

/* Tries the splits whose rough scores are `least` or more. It postpones those that depend on idle
 * documents; if RW_CPU_LATER splits are postponed already, it tries these first. If a split has the
 * same sums as the threshold before, only idle documents can be between the two, so its gain is
 * equal. The lower threshold is better, so the split is not tried. */
static void try_best(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                     const struct rw_cpu_scores *sums, enum rw_cpu_cells kind, float least,
                     const struct rw_cell *missing)
{
    const struct idle none = {0, 0, 0};
    const uint32_t n_bins = rw_cuts_n_bins(cpu->host.set[0].bins->cuts, f);
    for (uint32_t b = 0; b < n_bins; b++) {
        if (!(sums->score[b] >= least))
            continue;
        const struct rw_cell left =
            cell_of(kind, sums->left[b], kind == RW_CELL_PAIRS ? sums->hessian[b] : 0);
        if (depends_on_idle(cpu, search, f, &left, missing)) {
            if (search->n_later == RW_CPU_LATER)
                rw_cpu_search_end(cpu, search);
            search->later[search->n_later++] =
                (struct rw_cpu_later){f, b, sums->score[b], left, *missing};
        } else if (b == 0 || sums->left[b] != sums->left[b - 1])
            try_cut(cpu, search, f, b, &left, missing, &none);
    }
}

/* Searches a column by rough scores. Arguments: as in rw_cpu_search_column. */
static void search_packed(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          const int64_t *cells, const int64_t *from, int64_t *to)
{
    static rw_cpu_score_fn *const score[] = RW_ISA_PATHS(rw_cpu_score);
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->host.base.split_rule;
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    const int all_joint =
        search->joint && (!from || search->from_joint) && (!to || search->to_joint);
    const enum rw_cpu_cells kind = all_joint           ? RW_CELL_JOINT
                                   : cpu->words.newton ? RW_CELL_PAIRS
                                                       : RW_CELL_COUNTS;
    const int64_t packed = search->all.lambda * 4294967296 + (int64_t)search->all.n;
    _Alignas(64) struct rw_cpu_scores sums;
    struct rw_cpu_column column = {
        .cells = cells,
        .from = from,
        .to = to,
        .joint = search->joint,
        .from_joint = search->from_joint,
        .to_joint = search->to_joint,
        .n = (uint32_t)rw_cpu_n_cells(cuts, f),
        .n_cuts = n_bins,
        .all = {all_joint ? rw_joint_from(packed, search->all.hess) : packed, search->all.hess},
        .min_docs = (int32_t)rule->min_docs,
        .n_idle = (int32_t)cpu->n_idle[search->best.slot],
        .min_hessian = search->min_hessian,
        .l2 = (float)rule->l2,
        .direction = (float)rw_host_direction(&cpu->host, f)};
    if (cuts->has_missing[f]) {
        add_cell(cells, kind, search->joint, n_bins, 1, column.missing);
        if (from)
            add_cell(from, kind, search->from_joint, n_bins, -1, column.missing);
    }
    const float largest = score[cpu->host.isa](&column, &sums, kind);
    const float sure = column.direction != 0.0f || column.n_idle ? sums.sure : largest;
    if (sure > search->rough && !cpu->host.penalty)
        search->rough = sure;
    const float least =
        cpu->host.penalty
            ? least_net_score(search, rw_host_penalty(&cpu->host, f) / rule->gain_scale, sure)
            : least_score(search->rough);
    if (!(largest >= least))
        return;
    const struct rw_cell missing = cell_of(kind, column.missing[0], column.missing[1]);
    try_best(cpu, search, f, &sums, kind, least, &missing);
}

/* Returns the smallest quantised hessian of a side that rw_side_allowed accepts. */
static int32_t least_hessian(const struct rw_split_rule *rule)
{
    int32_t low = 1, high = INT32_MAX;
    if (!rule->newton)
        return 0;
    while (low < high) { /* the product rises with the hessian */
        const int32_t middle = low + (high - low) / 2;
        if ((double)middle * rule->hess_unit >= rule->given.min_hessian)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void rw_cpu_search_start(const struct rw_cpu *cpu, int32_t slot, const struct rw_cell *all,
                         struct rw_cpu_search *search)
{
    *search = (struct rw_cpu_search){.all = *all,
                                     .parent_gain = rw_side_gain(&cpu->host.base.split_rule, all),
                                     .rough = -1.0f,
                                     .min_hessian = least_hessian(&cpu->host.base.split_rule),
                                     .best = {.slot = slot, .column = -1}};
}

/* Writes to `out` the n cells, in the layout cpu->words, less those of `from`. Both inputs may be
 * joint. */
static void take_wide(const struct rw_cpu *cpu, const struct rw_cpu_search *search, uint64_t n,
                      const int64_t *cells, const int64_t *from, int64_t *out)
{
    int64_t less[RW_CPU_MOST_CELLS * 3];
    const size_t bytes = n * (size_t)cpu->words.n_words * sizeof(*out);
    memset(out, 0, bytes);
    if (search->joint)
        rw_cpu_widen(&cpu->words, cells, n, out);
    else
        memcpy(out, cells, bytes);
    if (from && search->from_joint) {
        memset(less, 0, bytes);
        rw_cpu_widen(&cpu->words, from, n, less);
        from = less;
    }
    for (uint64_t w = 0; from && w < n * (size_t)cpu->words.n_words; w++)
        out[w] -= from[w];
}

void rw_cpu_search_column(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          const int64_t *cells, const int64_t *from, int64_t *to)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->host.base.split_rule;
    const int worth = !cpu->host.base.rules.symmetric &&
                      search->all.n + cpu->n_idle[search->best.slot] >= 2 * rule->min_docs &&
                      rw_host_allows(&cpu->host, search->best.slot, f);
    const int by_category = rw_cuts_by_category(cuts, f);
    if (worth && !by_category && rw_cpu_searches_packed(cpu)) {
        search_packed(cpu, search, f, cells, from, to);
        return;
    }
    if (!worth && !to)
        return;
    const uint64_t n = rw_cpu_n_cells(cuts, f);
    int64_t wide[RW_CPU_MOST_CELLS * 3];
    take_wide(cpu, search, n, cells, from, wide);
    if (worth && by_category)
        try_sets(cpu, search, f, wide);
    else if (worth)
        try_all(cpu, search, f, wide);
    for (uint64_t i = 0; to && search->to_joint && i < n; i++)
        to[i] = rw_joint_from(wide[2 * i], wide[2 * i + 1]);
    if (to && !search->to_joint)
        memcpy(to, wide, n * (size_t)cpu->words.n_words * sizeof(*to));
}
