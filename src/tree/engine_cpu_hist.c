/* Histograms and splits of the engine for processors. */
#include "tree/engine_cpu.h"

/* Adds the documents' words to the cells of active columns [from, to) of one group. All that is
 * known when this is inlined (words, width, no feature left out) makes the loop a short one. */
static inline __attribute__((always_inline)) void
add_docs(const struct rw_cpu_group *group, uint32_t from, uint32_t to, const uint32_t *doc,
         uint32_t n, const int64_t *word, int64_t *cells, int n_words, int bytes, int all_active)
{
    const size_t stride = group->n;
    const uint64_t *base = group->base;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row8 = group->row + doc[i] * stride * (size_t)bytes;
        const uint16_t *row16 = (const uint16_t *)(const void *)row8;
        const int64_t *w = word + (size_t)doc[i] * (size_t)n_words;
        for (uint32_t a = from; a < to; a++) {
            const uint32_t at = all_active ? a : group->active[a];
            const uint32_t code = bytes == 1 ? row8[at] : row16[at];
            int64_t *cell = cells + (base[a] + code) * (uint64_t)n_words;
            for (int k = 0; k < n_words; k++)
                cell[k] += w[k];
        }
    }
}

static void add_group(const struct rw_cpu *cpu, const struct rw_cpu_group *group, uint32_t from,
                      uint32_t to, const uint32_t *doc, uint32_t n, int64_t *cells)
{
    const int all = group->n_active == group->n;
#define ADD(n_words, bytes, all_active) \
    add_docs(group, from, to, doc, n, cpu->word, cells, n_words, bytes, all_active)
#define ADD_WIDTH(n_words)          \
    do {                            \
        if (group->bytes == 1) {    \
            if (all)                \
                ADD(n_words, 1, 1); \
            else                    \
                ADD(n_words, 1, 0); \
        } else {                    \
            ADD(n_words, 2, 0);     \
        }                           \
    } while (0)
    if (cpu->words.n_words == 1)
        ADD_WIDTH(1);
    else if (cpu->words.n_words == 2)
        ADD_WIDTH(2);
    else
        ADD_WIDTH(3);
#undef ADD_WIDTH
#undef ADD
}

static struct rw_cell decode(const struct rw_cpu_words *words, const int64_t *w)
{
    struct rw_cell cell;
    if (words->packed) {
        cell.lambda = w[0] >> 32;
        cell.n = (uint32_t)w[0];
    } else {
        cell.lambda = w[0];
        cell.n = (uint64_t)w[1];
    }
    cell.weight = words->newton ? w[words->n_words - 1] : 0;
    return cell;
}

static int64_t *cells_of(const struct rw_cpu *cpu, int32_t slot)
{
    return cpu->pool + (uint64_t)cpu->buffer_of[slot] * cpu->buffer_words;
}

static inline __attribute__((always_inline)) void add_sparse_words(const struct rw_cpu *cpu,
                                                                   const uint32_t *doc, uint32_t n,
                                                                   int64_t *cells, int n_words)
{
    const struct rw_cpu_sparse *sparse = &cpu->sparse;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *w = cpu->word + (size_t)doc[i] * (size_t)n_words;
        for (uint64_t e = sparse->offset[doc[i]]; e < sparse->offset[doc[i] + 1]; e++) {
            int64_t *cell = cells + sparse->cell[e] * (uint64_t)n_words;
            for (int k = 0; k < n_words; k++)
                cell[k] += w[k];
        }
    }
}

static void add_sparse(const struct rw_cpu *cpu, const uint32_t *doc, uint32_t n, int64_t *cells)
{
    if (cpu->words.n_words == 1)
        add_sparse_words(cpu, doc, n, cells, 1);
    else if (cpu->words.n_words == 2)
        add_sparse_words(cpu, doc, n, cells, 2);
    else
        add_sparse_words(cpu, doc, n, cells, 3);
}

/* The cells that no document was added to: what is left of the node's words. */
static void derive_rest(const struct rw_cpu *cpu, const int64_t *sum, int64_t *cells)
{
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    const size_t n_words = (size_t)cpu->words.n_words;
    for (uint32_t c = 0; c < cpu->sparse.n; c++) {
        const uint32_t f = cpu->sparse.column[c];
        int64_t *cell = cells + cpu->ref.cell_offset[f] * n_words;
        int64_t *rest = cell + bins->codes[f].rest * n_words;
        const size_t n = rw_cuts_n_codes(bins->cuts, f) * n_words;
        int64_t others[3] = {0, 0, 0};
        for (size_t w = 0; w < n; w += n_words) {
            for (size_t k = 0; k < n_words; k++)
                others[k] += cell[w + k];
        }
        for (size_t k = 0; k < n_words; k++)
            rest[k] = sum[k] - others[k];
    }
}

static void build(struct rw_cpu *cpu, int32_t slot)
{
    const struct rw_engine *engine = &cpu->ref.host.base;
    const uint32_t n = cpu->n[slot], *doc = cpu->doc + cpu->begin[slot];
    int64_t *cells = cells_of(cpu, slot);
    const int n_words = cpu->words.n_words;
    const uint64_t updates =
        (uint64_t)n * (cpu->group[0].n_active + cpu->group[1].n_active + (cpu->sparse.n > 0));
    const int n_threads = updates >= PARALLEL_UPDATES ? engine->n_threads : 1;
    const uint32_t n_parts = (uint32_t)n_threads;
    memset(cells, 0,
           cpu->ref.cell_offset[engine->info.n_features] * (size_t)n_words * sizeof(*cells));
    /* part 0 is the sparse features', which do not divide; the dense ones are spread over the rest
     */
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
    for (uint32_t part = 0; part <= n_parts; part++) {
        if (part == 0) {
            add_sparse(cpu, doc, n, cells);
            continue;
        }
        for (int g = 0; g < 2; g++) {
            const struct rw_cpu_group *group = &cpu->group[g];
            const uint32_t from = (uint32_t)((uint64_t)group->n_active * (part - 1) / n_parts);
            const uint32_t to = (uint32_t)((uint64_t)group->n_active * part / n_parts);
            if (from < to)
                add_group(cpu, group, from, to, doc, n, cells);
        }
    }
    int64_t sum[3] = {0, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        for (int k = 0; k < n_words; k++)
            sum[k] += cpu->word[(size_t)doc[i] * (size_t)n_words + (size_t)k];
    }
    derive_rest(cpu, sum, cells);
    cpu->total[slot] = decode(&cpu->words, sum);
}

static void take_buffer(struct rw_cpu *cpu, int32_t slot)
{
    cpu->buffer_of[slot] = cpu->free_buffer[--cpu->n_free];
}

static void drop_buffer(struct rw_cpu *cpu, int32_t slot)
{
    cpu->free_buffer[cpu->n_free++] = cpu->buffer_of[slot];
    cpu->buffer_of[slot] = -1;
}

int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    const uint64_t n_words =
        cpu->ref.cell_offset[engine->info.n_features] * (uint64_t)cpu->words.n_words;
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *s = &siblings[i];
        if (s->parent >= 0 && s->larger < 0)
            drop_buffer(cpu, s->parent);
        if (cpu->n_free == 0)
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "no histogram buffer is free");
        take_buffer(cpu, s->smaller);
        build(cpu, s->smaller);
        if (s->larger < 0)
            continue;
        cpu->buffer_of[s->larger] = cpu->buffer_of[s->parent];
        cpu->buffer_of[s->parent] = -1;
        int64_t *larger = cells_of(cpu, s->larger);
        const int64_t *smaller = cells_of(cpu, s->smaller);
#pragma omp parallel for num_threads(engine->n_threads) if (n_words > PARALLEL_UPDATES)
        for (uint64_t w = 0; w < n_words; w++)
            larger[w] -= smaller[w];
        const struct rw_cell *whole = &cpu->total[s->parent], *part = &cpu->total[s->smaller];
        cpu->total[s->larger] = (struct rw_cell){whole->n - part->n, whole->weight - part->weight,
                                                 whole->lambda - part->lambda};
    }
    return RW_OK;
}

/* ---- splits ---- */

/* The best split of one feature. A cut at an empty bin separates as the cut before it does, and
 * ties go to the lower cut: empty bins are passed over. Not so the first: with missing values left,
 * it parts these from all others. */
static void scan_feature(const struct rw_cpu *cpu, const int64_t *cells, uint32_t f,
                         const struct rw_cell *all, double parent_gain, struct rw_split *best)
{
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->ref.host.base.split_rule;
    const int n_words = cpu->words.n_words;
    const int64_t *word = cells + cpu->ref.cell_offset[f] * (uint64_t)n_words;
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    struct rw_cell missing = {0, 0, 0}, left = {0, 0, 0};
    if (cuts->has_missing[f])
        missing = decode(&cpu->words, word + (size_t)n_bins * (size_t)n_words);
    for (uint32_t b = 0; b < n_bins; b++) {
        const struct rw_cell cell = decode(&cpu->words, word + (size_t)b * (size_t)n_words);
        if (cell.n == 0 && (b > 0 || missing.n == 0))
            continue;
        rw_cell_add(&left, &cell);
        const struct rw_cell right = {all->n - left.n - missing.n,
                                      all->weight - left.weight - missing.weight,
                                      all->lambda - left.lambda - missing.lambda};
        if (right.n + missing.n == 0)
            break;
        const float cut = cuts->cut[cuts->offset[f] + b];
        const int zero_left = 0.0f <= cut;
        for (int missing_left = 1; missing_left >= 0; missing_left--) {
            struct rw_cell l = left, r = right;
            if (missing.n == 0 && missing_left != zero_left)
                continue;
            rw_cell_add(missing_left ? &l : &r, &missing);
            if (r.n == 0)
                continue;
            const double gain = rw_split_gain(rule, &l, &r, parent_gain);
            if (gain > best->gain) {
                best->gain = gain;
                best->column = (int32_t)f;
                best->feature = cuts->feature[f];
                best->bin = b;
                best->cut = cut;
                best->missing_left = missing_left;
                best->n_left = (uint32_t)l.n;
            }
        }
    }
}

int rw_cpu_best_splits(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    const uint32_t n_features = engine->info.n_features;
    for (int i = 0; i < n; i++) {
        const int64_t *cells = cells_of(cpu, slots[i]);
        const struct rw_cell *all = &cpu->total[slots[i]];
        const double parent_gain = rw_side_gain(&engine->split_rule, all);
        struct rw_split *best = cpu->feature_best;
#pragma omp parallel for num_threads(engine->n_threads) \
    schedule(dynamic, 4) if (engine->info.n_bins >= PARALLEL_CELLS)
        for (uint32_t f = 0; f < n_features; f++) {
            best[f] = (struct rw_split){.slot = slots[i], .column = -1, .gain = 0.0};
            if (cpu->ref.host.feature_sampled[f])
                scan_feature(cpu, cells, f, all, parent_gain, &best[f]);
        }
        out[i] = (struct rw_split){.slot = slots[i], .column = -1, .gain = 0.0};
        for (uint32_t f = 0; f < n_features; f++) {
            if (best[f].gain > out[i].gain)
                out[i] = best[f];
        }
    }
    return RW_OK;
}
