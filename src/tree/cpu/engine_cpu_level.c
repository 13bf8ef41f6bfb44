/* Finds the split that all nodes of a level share (best_splits in tree/engine.h), for the engine
 * for processors. The histograms of all nodes are kept, so the search begins when all of them
 * exist. Threads take features. For each feature, a thread adds up the gains of all candidates node
 * by node, in the order of slots, so every sum is the reference engine's. With many workers, each
 * one searches the features whose cells it has. */
#include "tree/cpu/engine_cpu.h"

struct level {
    struct rw_level nodes;
    struct rw_cpu *cpu;
    struct rw_split best; /* of all features searched so far */
};

/* The candidates of a feature: the threshold above each bin, with missing values right ([0]) or
 * left ([1]). breaks: 1: a node would break the monotone constraint. */
struct candidates {
    uint64_t n_missing; /* documents with missing values, over all nodes */
    double gain[2][RW_MAX_CODES];
    uint8_t breaks[2][RW_MAX_CODES];
};

/* Returns the layout of a node's kept cells. */
static struct rw_cpu_words words_of(const struct rw_cpu *cpu, int32_t slot)
{
    struct rw_cpu_words words = cpu->words;
    if (rw_cpu_keeps_joint(cpu, slot))
        words.n_words = 1;
    return words;
}

/* A candidate's gain in one node, and whether it breaks the monotone constraint. */
struct own_gain {
    double gain;
    uint8_t breaks;
};

/* Returns the gain if `left` goes left. all: sums of the node; share: rw_level_share of them. */
static struct own_gain gain_of(const struct rw_split_rule *rule, int direction,
                               const struct rw_cell *left, const struct rw_cell *all, double share)
{
    const struct rw_cell right = rw_cell_less(all, left);
    return (struct own_gain){rw_level_gain(rule, left, &right, share),
                             (uint8_t)rw_level_breaks(rule, direction, left, &right)};
}

/* Adds a node's gains to those of the candidates. An empty bin divides the node as the bin before
 * it does. Without missing values, both sides for them are equal. */
static void add_node(const struct rw_cpu *cpu, int32_t slot, uint32_t f, struct candidates *c)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const struct rw_split_rule rule = cpu->host.base.split_rule;
    const struct rw_cpu_words words = words_of(cpu, slot);
    const int64_t *cells = rw_cpu_cells(cpu, slot, f);
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    const int direction = rw_host_direction(&cpu->host, f);
    const struct rw_cell all = cpu->total[slot];
    const double share = rw_level_share(&rule, &all);
    struct rw_cell missing = {0, 0, 0}, left = {0, 0, 0};
    struct own_gain own[2] = {{0.0, 0}, {0.0, 0}};
    if (cuts->has_missing[f])
        missing = rw_cpu_decode(&words, cells + n_bins * (size_t)words.n_words);
    c->n_missing += missing.n;
    for (uint32_t b = 0; b < n_bins; b++) {
        const struct rw_cell cell = rw_cpu_decode(&words, cells + b * (size_t)words.n_words);
        if (cell.n > 0 || b == 0) {
            rw_cell_add(&left, &cell);
            own[0] = own[1] = gain_of(&rule, direction, &left, &all, share);
            if (missing.n > 0) {
                struct rw_cell l = left;
                rw_cell_add(&l, &missing);
                own[1] = gain_of(&rule, direction, &l, &all, share);
            }
        }
        for (int missing_left = 0; missing_left < 2; missing_left++) {
            c->gain[missing_left][b] += own[missing_left].gain;
            c->breaks[missing_left][b] |= own[missing_left].breaks;
        }
    }
}

/* Decodes a node's cells (struct rw_level). */
static void read_cells(const struct rw_level *level, int i, uint32_t f, struct rw_cell *cell)
{
    const struct rw_cpu *cpu = (const struct rw_cpu *)level->host;
    const struct rw_cpu_words words = words_of(cpu, level->slots[i]);
    const int64_t *cells = rw_cpu_cells(cpu, level->slots[i], f);
    const uint32_t n_codes = rw_cuts_n_codes(cpu->host.set[0].bins->cuts, f);
    for (uint32_t code = 0; code < n_codes; code++)
        cell[code] = rw_cpu_decode(&words, cells + code * (size_t)words.n_words);
}

/* Searches a feature, and replaces *best by a better split. */
static void search_feature(const struct level *level, uint32_t f, struct candidates *c,
                           struct rw_split *best)
{
    const struct rw_cpu *cpu = level->cpu;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->host.base.split_rule;
    memset(c, 0, sizeof(*c));
    for (int i = 0; i < level->nodes.n; i++)
        add_node(cpu, level->nodes.slots[i], f, c);
    struct rw_split found = {.column = (int32_t)f,
                             .feature = cuts->feature[f],
                             .noise = rw_host_noise(&cpu->host, level->nodes.slots[0], f)};
    for (uint32_t b = 0; b < rw_cuts_n_bins(cuts, f); b++) {
        const float cut = cuts->cut[cuts->offset[f] + b];
        for (int missing_left = 1; missing_left >= 0; missing_left--) {
            if (c->breaks[missing_left][b] || (c->n_missing == 0 && missing_left != (0.0f <= cut)))
                continue;
            const double gain = rw_net_gain(rule, c->gain[missing_left][b] * rule->gain_scale,
                                            rw_host_penalty(&cpu->host, f));
            if (gain > found.gain) {
                found.gain = gain;
                found.bin = b;
                found.cut = cut;
                found.missing_left = missing_left;
            }
        }
    }
    if (found.gain > 0.0 && rw_split_is_better(&found, best))
        *best = found;
}

static int search_some(void *job, struct rw_share *share)
{
    struct level *level = job;
    const struct rw_host *host = &level->cpu->host;
    const struct rw_cpu_workers *workers = level->cpu->workers;
    const uint64_t first = workers ? workers->first[rw_worker(host->base.ctx)] : 0;
    struct rw_split best = {.column = -1};
    struct candidates candidates;
    RW_SHARE_EACH(share, k) {
        const uint32_t f = (uint32_t)(first + k);
        if (!host->feature_sampled[f] || !rw_host_allows(host, level->nodes.slots[0], f))
            continue;
        if (rw_cuts_by_category(host->base.cuts, f))
            rw_host_level_sets(&level->nodes, f, &best);
        else
            search_feature(level, f, &candidates, &best);
    }
    rw_share_lock(share);
    if (rw_split_is_better(&best, &level->best))
        level->best = best;
    rw_share_unlock(share);
    return RW_OK;
}

int rw_cpu_best_level(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    struct level level = {{&cpu->host, slots, n, read_cells}, cpu, {.column = -1}};
    uint64_t n_features = engine->info.n_features;
    if (cpu->workers) {
        const uint32_t *first = &cpu->workers->first[rw_worker(engine->ctx)];
        n_features = first[1] - first[0];
    }
    const uint64_t cells = (uint64_t)n * cpu->cell_at[engine->info.n_features];
    RW_TRY(rw_parallel(engine->ctx, cells >= PARALLEL_UPDATES ? engine->n_threads : 1, n_features,
                       1, search_some, &level));
    rw_host_level_splits(&level.nodes, &level.best, out);
    return RW_OK;
}
