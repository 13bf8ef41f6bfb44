/* The reference engine, with which tests compare all others. Every operation has its simplest form
 * and one thread, except the steps that all host engines share. It is never optimised. */
#include "tree/engine_host.h"

static struct rw_ref *ref_of(struct rw_engine *engine)
{
    return (struct rw_ref *)engine;
}

static const struct rw_cuts *cuts_of(const struct rw_ref *ref)
{
    return ref->host.set[0].bins->cuts;
}

static void ref_close(struct rw_engine *engine)
{
    rw_host_release(&ref_of(engine)->host);
    rw_mem_free(engine);
}

int rw_ref_prepare(struct rw_engine *engine)
{
    struct rw_ref *ref = ref_of(engine);
    const struct rw_cuts *cuts = cuts_of(ref);
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->slot_of_doc, ref->host.set[0].bins->n_docs));
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->parent, engine->rules.max_slots));
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->leaf_of, engine->rules.max_slots));
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->is_kept, engine->rules.max_slots));
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->cell_offset, cuts->n_features + 1));
    ref->cell_offset[0] = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        ref->cell_offset[f + 1] = ref->cell_offset[f] + rw_cuts_n_codes(cuts, f);
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->node, engine->rules.max_slots));
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->left, engine->rules.max_slots));
    RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->all, engine->rules.max_slots));
    return RW_HOST_NEW(&ref->host, ref->cell, engine->rules.max_slots);
}

static int ref_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct rw_ref *ref = ref_of(engine);
    RW_TRY(rw_host_begin_tree(&ref->host, tree, out));
    for (uint32_t doc = 0; doc < engine->n_docs[0]; doc++)
        ref->slot_of_doc[doc] = ref->host.sampled[doc] ? 0 : -1;
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        ref->parent[s] = -1;
    memset(ref->is_kept, 0, engine->rules.max_slots);
    ref->n_kept = 0;
    return RW_OK;
}

/* Builds a slot's histogram, one feature at a time: algorithm 1 of Xu et al., "Efficient weighted
 * histogramming on GPUs with CUDA". Adds up the cells of all workers. */
static int build(struct rw_ref *ref, int32_t slot)
{
    const uint64_t n_cells = ref->cell_offset[cuts_of(ref)->n_features];
    if (!ref->cell[slot])
        RW_TRY(RW_HOST_NEW_RAW(&ref->host, ref->cell[slot], n_cells));
    struct rw_cell *cells = ref->cell[slot];
    for (uint64_t c = 0; c < n_cells; c++)
        cells[c] = (struct rw_cell){0, 0, 0};
    for (uint32_t f = 0; f < cuts_of(ref)->n_features; f++) {
        for (uint32_t doc = 0; doc < ref->host.base.n_docs[0]; doc++) {
            if (ref->slot_of_doc[doc] != slot)
                continue;
            const uint32_t code = rw_bins_code(ref->host.set[0].bins, f, doc);
            struct rw_cell *cell = &cells[ref->cell_offset[f] + code];
            cell->n += 1;
            cell->lambda += ref->host.lambda_q[doc];
            cell->hess += ref->host.hess_q ? ref->host.hess_q[doc] : 0;
        }
    }
    _Static_assert(sizeof(*cells) == 3 * sizeof(uint64_t), "a cell is three 64-bit words");
    return rw_comm_sum(ref->host.base.ctx, (uint64_t *)(void *)cells, 3 * n_cells);
}

/* Records whether a slot's histogram exists. Negative slots are ignored. */
static void keep(struct rw_ref *ref, int32_t slot, uint8_t is_kept)
{
    if (slot < 0 || ref->is_kept[slot] == is_kept)
        return;
    ref->is_kept[slot] = is_kept;
    ref->n_kept += is_kept ? 1 : UINT32_MAX;
}

/* Builds the children's histograms from their documents. Refuses requests that other engines could
 * not serve. */
static int ref_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    struct rw_ref *ref = ref_of(engine);
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *s = &siblings[i];
        if (s->parent >= 0 && !ref->is_kept[s->parent])
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "slot %d has no histogram", s->parent);
        RW_TRY(build(ref, s->smaller));
        if (s->larger >= 0)
            RW_TRY(build(ref, s->larger));
        keep(ref, s->parent, 0);
        keep(ref, s->smaller, 1);
        keep(ref, s->larger, 1);
    }
    if (ref->n_kept > rw_rules_histograms(&engine->rules))
        return rw_fail(engine->ctx, RW_ERR_INTERNAL, "%u histograms are kept at a time",
                       ref->n_kept);
    return RW_OK;
}

static int ref_release(struct rw_engine *engine, const int32_t *slots, int n)
{
    for (int i = 0; i < n; i++)
        keep(ref_of(engine), slots[i], 0);
    return RW_OK;
}

/* ---- splits, of single nodes and of whole levels ---- */

/* Returns a node's cells of the feature. */
static const struct rw_cell *cells_of(const struct rw_level *level, int i, uint32_t f)
{
    const struct rw_ref *ref = (const struct rw_ref *)level->host;
    return ref->cell[level->slots[i]] + ref->cell_offset[f];
}

/* Returns a node's documents without a value of the feature. */
static struct rw_cell missing_of(const struct rw_level *level, int i, uint32_t f)
{
    const struct rw_cuts *cuts = level->host->set[0].bins->cuts;
    return cuts->has_missing[f] ? cells_of(level, i, f)[rw_cuts_n_bins(cuts, f)]
                                : (struct rw_cell){0, 0, 0};
}

static void read_cells(const struct rw_level *level, int i, uint32_t f, struct rw_cell *cell)
{
    const struct rw_cuts *cuts = level->host->set[0].bins->cuts;
    memcpy(cell, cells_of(level, i, f), rw_cuts_n_codes(cuts, f) * sizeof(*cell));
}

/* Returns the gain of the threshold below which ref->left has the sums of each node, or 0 if there
 * is no such candidate. A node that does not share its split has its own rule. */
static double gain_of(const struct rw_level *level, uint32_t f, int missing_left)
{
    const struct rw_ref *ref = (const struct rw_ref *)level->host;
    const struct rw_split_rule *rule = &ref->host.base.split_rule;
    const int direction = rw_host_direction(&ref->host, f);
    double gain = 0.0;
    for (int i = 0; i < level->n; i++) {
        const struct rw_cell missing = missing_of(level, i, f), all = ref->all[i];
        struct rw_cell l = ref->left[i];
        if (missing_left)
            rw_cell_add(&l, &missing);
        const struct rw_cell r = rw_cell_less(&all, &l);
        if (!ref->host.base.rules.symmetric)
            return l.n == 0 || r.n == 0
                       ? 0.0
                       : rw_ordered_gain(rule, direction, &l, &r, rw_side_gain(rule, &all));
        if (rw_level_breaks(rule, direction, &l, &r))
            return 0.0;
        gain += rw_level_gain(rule, &l, &r, rw_level_share(rule, &all));
    }
    return gain * rule->gain_scale;
}

/* Tries the threshold above bin b. Missing values go left first, then right. Nodes without missing
 * values send them where 0 goes. */
static void try_cut(const struct rw_level *level, uint32_t f, uint32_t b, int has_missing,
                    struct rw_split *best)
{
    const struct rw_host *host = level->host;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    const float cut = cuts->cut[cuts->offset[f] + b];
    const int zero_goes_left = 0.0f <= cut;
    for (int missing_left = 1; missing_left >= 0; missing_left--) {
        if (!has_missing && missing_left != zero_goes_left)
            continue;
        const double gain = rw_net_gain(&host->base.split_rule, gain_of(level, f, missing_left),
                                        rw_host_penalty(host, f));
        const double noise = rw_host_noise(host, level->slots[0], f);
        if (rw_compare_gains(gain, noise, best->gain, best->noise) > 0)
            *best = (struct rw_split){.column = (int32_t)f,
                                      .feature = cuts->feature[f],
                                      .bin = b,
                                      .cut = cut,
                                      .missing_left = missing_left,
                                      .gain = gain,
                                      .noise = noise};
    }
}

/* Tries all thresholds of a feature. */
static void try_cuts(const struct rw_level *level, uint32_t f, struct rw_split *best)
{
    const struct rw_ref *ref = (const struct rw_ref *)level->host;
    const uint32_t n_bins = rw_cuts_n_bins(cuts_of(ref), f);
    uint64_t n_missing = 0;
    for (int i = 0; i < level->n; i++) {
        ref->left[i] = (struct rw_cell){0, 0, 0};
        ref->all[i] = missing_of(level, i, f);
        n_missing += ref->all[i].n;
        for (uint32_t b = 0; b < n_bins; b++)
            rw_cell_add(&ref->all[i], &cells_of(level, i, f)[b]);
    }
    for (uint32_t b = 0; b < n_bins; b++) {
        for (int i = 0; i < level->n; i++)
            rw_cell_add(&ref->left[i], &cells_of(level, i, f)[b]);
        try_cut(level, f, b, n_missing > 0, best);
    }
}

/* Tries the sets of categories of a categorical feature in one node. */
static void try_sets(const struct rw_level *level, uint32_t f, struct rw_split *best)
{
    const struct rw_host *host = level->host;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    const struct rw_cell missing = missing_of(level, 0, f);
    struct rw_category_split found;
    rw_category_split(&host->base.split_rule, rw_host_penalty(host, f), cells_of(level, 0, f),
                      rw_cuts_n_bins(cuts, f), &missing, &found);
    const struct rw_split split = rw_host_set_split(host, level->slots[0], f, &found);
    if (rw_compare_gains(split.gain, split.noise, best->gain, best->noise) > 0)
        *best = split;
}

/* The search for the split of a level, or of a single node. Goes through the features in order.
 * Tests compare every split search with it. */
static int ref_best_level(struct rw_engine *engine, const int32_t *slots, int n,
                          struct rw_split *out)
{
    const struct rw_host *host = &ref_of(engine)->host;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    const struct rw_level level = {host, slots, n, read_cells};
    struct rw_split best = {.column = -1};
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (!host->feature_sampled[f] || !rw_host_allows(host, slots[0], f))
            continue;
        if (!rw_cuts_by_category(cuts, f))
            try_cuts(&level, f, &best);
        else if (engine->rules.symmetric)
            rw_host_level_sets(&level, f, &best);
        else
            try_sets(&level, f, &best);
    }
    rw_host_level_splits(&level, &best, out);
    return RW_OK;
}

static int ref_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                           struct rw_split *out)
{
    if (engine->rules.symmetric)
        return ref_best_level(engine, slots, n, out);
    for (int i = 0; i < n; i++)
        RW_TRY(ref_best_level(engine, &slots[i], 1, &out[i]));
    return RW_OK;
}

static int ref_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_ref *ref = ref_of(engine);
    for (int i = 0; i < n; i++) {
        const struct rw_split *split = &splits[i];
        const struct rw_coded_node node = rw_coded_split(cuts_of(ref), split);
        uint32_t n_left = 0;
        ref->parent[split->left] = ref->parent[split->right] = split->slot;
        for (uint32_t doc = 0; doc < engine->n_docs[0]; doc++) {
            if (ref->slot_of_doc[doc] != split->slot)
                continue;
            const uint32_t code = rw_bins_code(ref->host.set[0].bins, node.column, doc);
            const int left = rw_coded_goes_left(&node, code);
            ref->slot_of_doc[doc] = left ? split->left : split->right;
            n_left += (uint32_t)left;
        }
        RW_TRY(rw_host_check_left(&ref->host, split, n_left));
    }
    return RW_OK;
}

static int ref_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                         struct rw_sum *sums)
{
    struct rw_ref *ref = ref_of(engine);
    memset(sums, 0, (size_t)n * sizeof(*sums));
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        ref->leaf_of[s] = -1;
    for (int i = 0; i < n; i++)
        ref->leaf_of[leaf_slot[i]] = i;
    for (uint32_t doc = 0; doc < engine->n_docs[0]; doc++) {
        int32_t slot = ref->slot_of_doc[doc];
        while (slot >= 0 && ref->leaf_of[slot] < 0)
            slot = ref->parent[slot];
        if (slot >= 0)
            rw_sum_add(&sums[ref->leaf_of[slot]], ref->host.lambda[doc], ref->host.hess[doc]);
    }
    return RW_OK;
}

static int ref_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                        const int32_t *leaf_slot)
{
    struct rw_ref *ref = ref_of(engine);
    (void)leaf_slot;
    RW_TRY(rw_host_code_tree(&ref->host, tree, ref->node));
    for (uint32_t doc = 0; doc < engine->n_docs[set]; doc++) {
        const int32_t leaf =
            tree->n_leaves == 1 ? 0 : rw_coded_leaf(ref->node, ref->host.set[set].bins, doc);
        ref->host.set[set].score[doc] += (double)tree->leaf[leaf];
    }
    return RW_OK;
}

static int ref_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    const struct rw_bins *bins = ref_of(engine)->host.set[set].bins;
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        sums[f] = 0;
        for (uint32_t doc = 0; doc < engine->n_docs[set]; doc++)
            sums[f] += rw_code_weight(first_doc + doc) * rw_bins_code(bins, f, doc);
    }
    return RW_OK;
}

const struct rw_engine_ops rw_ref_ops = {
    .name = "ref",
    .close = ref_close,
    .load = rw_host_load,
    .set_gradients = rw_host_set_gradients,
    .set_lambdas = rw_host_set_lambdas,
    .begin_tree = ref_begin_tree,
    .allow = rw_host_allow,
    .histograms = ref_histograms,
    .release = ref_release,
    .best_splits = ref_best_splits,
    .partition = ref_partition,
    .leaf_sums = ref_leaf_sums,
    .add_tree = ref_add_tree,
    .read_scores = rw_host_read_scores,
    .set_scores = rw_host_set_scores,
    .code_sums = ref_code_sums,
    .read_integers = rw_host_read_integers,
};

int rw_engine_open_ref(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    (void)device;
    return rw_host_open(ctx, &rw_ref_ops, rw_ref_prepare, sizeof(struct rw_ref), out);
}
