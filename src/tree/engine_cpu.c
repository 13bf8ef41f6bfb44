/* The engine for processors: row-major codes, histogram cells packed into one 64-bit word where the
 * sums allow, the larger sibling by subtraction, documents of a node kept together. Starts from
 * ref's table and overwrites what is worth it; every integer is the same. */
#include <omp.h>

#include "base/mem.h"
#include "tree/engine_ref.h"

/* Work (updates, cells, documents) under which a parallel region costs more than it gains. */
enum { PARALLEL_UPDATES = 65536, PARALLEL_CELLS = 8192, PARALLEL_DOCS = 16384 };

/* A histogram cell and a document's contribution are `n_words` 64-bit words, added word by word:
 *   packed: lambda * 2^32 + count [, weight]     while count and |lambda| sums stay under 2^31
 *   wide:   lambda, count [, weight]
 * weight for newton only. */
struct words {
    int n_words, packed, newton;
};

struct group { /* columns whose codes have one width */
    uint32_t n;       /* columns */
    uint32_t *column; /* [n] the engine's feature */
    uint8_t *row;     /* [n_docs][n] codes of `bytes` bytes */
    int bytes;        /* 1 or 2 */
    uint32_t n_active;
    uint32_t *active; /* [n_active] places in the row of this tree's sampled features */
    uint64_t *base;   /* [n_active] first cell of their histograms */
};

/* Sparse features: the cells that a document adds to, their rest left out. The cell of a feature's
 * frequent code is derived from the node's total (weighted histogramming, section 4.4.2). */
struct sparse {
    uint32_t n;       /* columns */
    uint32_t *column; /* [n] the engine's feature */
    uint64_t *offset; /* [n_docs + 1] into cell */
    uint32_t *cell;   /* [entries] a document's cells */
};

struct cpu {
    struct rw_ref ref;
    struct group group[2];
    struct sparse sparse;
    uint32_t *doc, *doc_scratch; /* [n_docs] documents by node */
    uint32_t *begin, *n;         /* [max_slots] each node's part of `doc` */
    int64_t *word;               /* [n_docs][n_words] contributions */
    struct words words;
    int64_t *pool;               /* [n_buffers][n_cells][3] histograms */
    uint64_t buffer_words;
    int32_t *buffer_of;          /* [max_slots] -1: none */
    int32_t *free_buffer;        /* [n_buffers] stack */
    int32_t n_free, n_buffers;
    struct rw_cell *total;       /* [max_slots] */
    struct rw_split *feature_best; /* [n_features] */
    uint32_t *chunk_left;        /* [n_threads] scratch of a parallel partition */
    struct rw_engine_ops ops;    /* ref's, and what is overwritten */
};

static struct cpu *cpu_of(struct rw_engine *engine)
{
    return (struct cpu *)engine;
}

static void cpu_close(struct rw_engine *engine)
{
    struct cpu *cpu = cpu_of(engine);
    for (int g = 0; g < 2; g++) {
        rw_mem_free(cpu->group[g].column);
        rw_mem_free(cpu->group[g].row);
        rw_mem_free(cpu->group[g].active);
        rw_mem_free(cpu->group[g].base);
    }
    rw_mem_free(cpu->sparse.column);
    rw_mem_free(cpu->sparse.offset);
    rw_mem_free(cpu->sparse.cell);
    void *const owned[] = {cpu->doc,         cpu->doc_scratch, cpu->begin,      cpu->n,
                           cpu->word,        cpu->pool,        cpu->buffer_of,  cpu->free_buffer,
                           cpu->total,       cpu->feature_best, cpu->chunk_left};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
    rw_ref_ops.close(engine);
}

/* ---- loading ---- */

static int load_group(struct cpu *cpu, struct group *group, int bytes)
{
    struct rw_ctx *ctx = cpu->ref.host.base.ctx;
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    const uint32_t n_features = bins->cuts->n_features;
    group->bytes = bytes;
    RW_TRY(RW_NEW(ctx, group->column, n_features));
    for (uint32_t f = 0; f < n_features; f++) {
        if (!bins->codes[f].row && rw_cuts_code_bytes(bins->cuts, f) == (size_t)bytes)
            group->column[group->n++] = f;
    }
    RW_TRY(RW_NEW(ctx, group->active, group->n));
    RW_TRY(RW_NEW(ctx, group->base, group->n));
    const size_t stride = (size_t)group->n * (size_t)bytes;
    RW_TRY(rw_mem_new_raw(ctx, (void **)&group->row, bins->n_docs, stride));
    /* a block of documents at a time, so that the rows written stay in the cache */
    enum { BLOCK = 256 };
#pragma omp parallel for num_threads(ctx->n_threads) schedule(static)
    for (uint32_t block = 0; block < (bins->n_docs + BLOCK - 1) / BLOCK; block++) {
        const uint32_t first = block * BLOCK;
        const uint32_t last = bins->n_docs - first < BLOCK ? bins->n_docs : first + BLOCK;
        for (uint32_t c = 0; c < group->n; c++) {
            for (uint32_t doc = first; doc < last; doc++) {
                const uint32_t code = rw_bins_code(bins, group->column[c], doc);
                if (bytes == 1)
                    group->row[doc * stride + c] = (uint8_t)code;
                else
                    ((uint16_t *)group->row)[(size_t)doc * group->n + c] = (uint16_t)code;
            }
        }
    }
    return RW_OK;
}

static int load_sparse(struct cpu *cpu)
{
    struct rw_ctx *ctx = cpu->ref.host.base.ctx;
    struct sparse *sparse = &cpu->sparse;
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    RW_TRY(RW_NEW(ctx, sparse->column, bins->cuts->n_features));
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        if (bins->codes[f].row)
            sparse->column[sparse->n++] = f;
    }
    RW_TRY(RW_NEW(ctx, sparse->offset, (size_t)bins->n_docs + 2));
    uint64_t *begin = sparse->offset + 1; /* where the next cell goes: the offset, when all are in */
    for (uint32_t c = 0; c < sparse->n; c++) {
        const struct rw_codes *codes = &bins->codes[sparse->column[c]];
        for (uint32_t i = 0; i < codes->n; i++)
            begin[codes->row[i] + 1]++;
    }
    for (uint32_t doc = 0; doc < bins->n_docs; doc++)
        begin[doc + 1] += begin[doc];
    RW_TRY(RW_NEW_RAW(ctx, sparse->cell, begin[bins->n_docs]));
    for (uint32_t c = 0; c < sparse->n; c++) {
        const uint32_t f = sparse->column[c];
        const struct rw_codes *codes = &bins->codes[f];
        const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
        for (uint32_t i = 0; i < codes->n; i++)
            sparse->cell[begin[codes->row[i]]++] =
                (uint32_t)(cpu->ref.cell_offset[f] + rw_codes_entry(codes, bytes, i));
    }
    return RW_OK;
}

static int cpu_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                    const double *gains)
{
    struct cpu *cpu = cpu_of(engine);
    struct rw_ctx *ctx = engine->ctx;
    const size_t n_slots = engine->rules.max_slots, n_docs = dataset->n_docs;
    RW_TRY(rw_ref_ops.load(engine, set, dataset, gains));
    if (set > 0)
        return RW_OK;
    RW_TRY(load_group(cpu, &cpu->group[0], 1));
    RW_TRY(load_group(cpu, &cpu->group[1], 2));
    RW_TRY(load_sparse(cpu));
    RW_TRY(RW_NEW_RAW(ctx, cpu->doc, n_docs));
    RW_TRY(RW_NEW_RAW(ctx, cpu->doc_scratch, n_docs));
    RW_TRY(RW_NEW_RAW(ctx, cpu->word, n_docs * (engine->rules.newton ? 3 : 2)));
    RW_TRY(RW_NEW(ctx, cpu->begin, n_slots));
    RW_TRY(RW_NEW(ctx, cpu->n, n_slots));
    RW_TRY(RW_NEW(ctx, cpu->total, n_slots));
    RW_TRY(RW_NEW(ctx, cpu->buffer_of, n_slots));
    RW_TRY(RW_NEW(ctx, cpu->feature_best, engine->info.n_features));
    RW_TRY(RW_NEW(ctx, cpu->chunk_left, (size_t)ctx->n_threads));
    /* Histograms live at no more nodes than there are leaves, and a node that may be searched has
     * 2 x min_docs documents. Memory that is never touched costs nothing. */
    uint64_t n_buffers = (n_slots + 1) / 2;
    const uint64_t most = n_docs / engine->rules.min_docs + 2;
    n_buffers = n_buffers < most ? n_buffers : most;
    cpu->n_buffers = (int32_t)n_buffers;
    cpu->buffer_words =
        cpu->ref.cell_offset[engine->info.n_features] * (engine->rules.newton ? 3 : 2);
    RW_TRY(RW_NEW(ctx, cpu->free_buffer, n_buffers));
    return RW_NEW_RAW(ctx, cpu->pool, n_buffers * cpu->buffer_words);
}

/* ---- the start of a tree ---- */

static void list_active(struct cpu *cpu)
{
    for (int g = 0; g < 2; g++) {
        struct group *group = &cpu->group[g];
        group->n_active = 0;
        for (uint32_t c = 0; c < group->n; c++) {
            if (!cpu->ref.host.feature_sampled[group->column[c]])
                continue;
            group->active[group->n_active] = c;
            group->base[group->n_active++] = cpu->ref.cell_offset[group->column[c]];
        }
    }
}

static void make_words(struct cpu *cpu)
{
    const struct rw_host *host = &cpu->ref.host;
    const struct words words = cpu->words;
#pragma omp parallel for num_threads(host->base.ctx->n_threads) \
    if (host->base.n_docs[0] >= PARALLEL_DOCS)
    for (uint32_t doc = 0; doc < host->base.n_docs[0]; doc++) {
        if (!host->sampled[doc])
            continue;
        int64_t *word = cpu->word + (size_t)doc * (size_t)words.n_words;
        word[0] = host->lambda_q[doc];
        if (words.packed)
            word[0] = word[0] * 4294967296 + 1;
        else
            word[1] = 1;
        if (words.newton)
            word[words.n_words - 1] = host->weight_q[doc];
    }
}

static int cpu_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct cpu *cpu = cpu_of(engine);
    RW_TRY(rw_host_begin_tree(&cpu->ref.host, tree, out));
    const int32_t largest = rw_quantise_limit(engine->rules.bits);
    cpu->words.newton = engine->rules.newton;
    cpu->words.packed = out->sum.n * (uint64_t)largest < ((uint64_t)1 << 31);
    cpu->words.n_words = 2 - cpu->words.packed + cpu->words.newton;
    list_active(cpu);
    make_words(cpu);
    uint32_t n = 0;
    for (uint32_t doc = 0; doc < engine->n_docs[0]; doc++) {
        cpu->doc[n] = doc;
        n += cpu->ref.host.sampled[doc];
    }
    cpu->begin[0] = 0;
    cpu->n[0] = n;
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        cpu->buffer_of[s] = -1;
    cpu->n_free = cpu->n_buffers;
    for (int32_t b = 0; b < cpu->n_buffers; b++)
        cpu->free_buffer[b] = cpu->n_buffers - 1 - b;
    return RW_OK;
}

/* ---- histograms ---- */

/* Adds the documents' words to the cells of active columns [from, to) of one group. All that is
 * known when this is inlined (words, width, no feature left out) makes the loop a short one. */
static inline __attribute__((always_inline)) void
add_docs(const struct group *group, uint32_t from, uint32_t to, const uint32_t *doc, uint32_t n,
         const int64_t *word, int64_t *cells, int n_words, int bytes, int all_active)
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

static void add_group(const struct cpu *cpu, const struct group *group, uint32_t from, uint32_t to,
                      const uint32_t *doc, uint32_t n, int64_t *cells)
{
    const int all = group->n_active == group->n;
#define ADD(n_words, bytes, all_active) \
    add_docs(group, from, to, doc, n, cpu->word, cells, n_words, bytes, all_active)
#define ADD_WIDTH(n_words)        \
    do {                          \
        if (group->bytes == 1) {  \
            if (all)              \
                ADD(n_words, 1, 1); \
            else                  \
                ADD(n_words, 1, 0); \
        } else {                  \
            ADD(n_words, 2, 0);   \
        }                         \
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

static struct rw_cell decode(const struct words *words, const int64_t *w)
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

static int64_t *cells_of(const struct cpu *cpu, int32_t slot)
{
    return cpu->pool + (uint64_t)cpu->buffer_of[slot] * cpu->buffer_words;
}

static inline __attribute__((always_inline)) void
add_sparse_words(const struct cpu *cpu, const uint32_t *doc, uint32_t n, int64_t *cells,
                 int n_words)
{
    const struct sparse *sparse = &cpu->sparse;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *w = cpu->word + (size_t)doc[i] * (size_t)n_words;
        for (uint64_t e = sparse->offset[doc[i]]; e < sparse->offset[doc[i] + 1]; e++) {
            int64_t *cell = cells + sparse->cell[e] * (uint64_t)n_words;
            for (int k = 0; k < n_words; k++)
                cell[k] += w[k];
        }
    }
}

static void add_sparse(const struct cpu *cpu, const uint32_t *doc, uint32_t n, int64_t *cells)
{
    if (cpu->words.n_words == 1)
        add_sparse_words(cpu, doc, n, cells, 1);
    else if (cpu->words.n_words == 2)
        add_sparse_words(cpu, doc, n, cells, 2);
    else
        add_sparse_words(cpu, doc, n, cells, 3);
}

/* The cells that no document was added to: what is left of the node's words. */
static void derive_rest(const struct cpu *cpu, const int64_t *sum, int64_t *cells)
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

static void build(struct cpu *cpu, int32_t slot)
{
    const struct rw_engine *engine = &cpu->ref.host.base;
    const uint32_t n = cpu->n[slot], *doc = cpu->doc + cpu->begin[slot];
    int64_t *cells = cells_of(cpu, slot);
    const int n_words = cpu->words.n_words;
    const uint64_t updates = (uint64_t)n * (cpu->group[0].n_active + cpu->group[1].n_active +
                                            (cpu->sparse.n > 0));
    const int n_threads = updates >= PARALLEL_UPDATES ? engine->ctx->n_threads : 1;
    const uint32_t n_parts = (uint32_t)n_threads;
    memset(cells, 0,
           cpu->ref.cell_offset[engine->info.n_features] * (size_t)n_words * sizeof(*cells));
    /* part 0 is the sparse features', which do not divide; the dense ones are spread over the rest */
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1) if (n_threads > 1)
    for (uint32_t part = 0; part <= n_parts; part++) {
        if (part == 0) {
            add_sparse(cpu, doc, n, cells);
            continue;
        }
        for (int g = 0; g < 2; g++) {
            const struct group *group = &cpu->group[g];
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

static void take_buffer(struct cpu *cpu, int32_t slot)
{
    cpu->buffer_of[slot] = cpu->free_buffer[--cpu->n_free];
}

static void drop_buffer(struct cpu *cpu, int32_t slot)
{
    cpu->free_buffer[cpu->n_free++] = cpu->buffer_of[slot];
    cpu->buffer_of[slot] = -1;
}

static int cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    struct cpu *cpu = cpu_of(engine);
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
#pragma omp parallel for num_threads(engine->ctx->n_threads) if (n_words > PARALLEL_UPDATES)
        for (uint64_t w = 0; w < n_words; w++)
            larger[w] -= smaller[w];
        const struct rw_cell *whole = &cpu->total[s->parent], *part = &cpu->total[s->smaller];
        cpu->total[s->larger] = (struct rw_cell){whole->n - part->n, whole->weight - part->weight,
                                                 whole->lambda - part->lambda};
    }
    return RW_OK;
}

/* ---- splits ---- */

/* The best split of one feature. A cut at an empty bin separates as the cut before it does, and ties
 * go to the lower cut: empty bins are passed over. Not so the first: with missing values left, it
 * parts these from all others. */
static void scan_feature(const struct cpu *cpu, const int64_t *cells, uint32_t f,
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
            }
        }
    }
}

static int cpu_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                           struct rw_split *out)
{
    struct cpu *cpu = cpu_of(engine);
    const uint32_t n_features = engine->info.n_features;
    for (int i = 0; i < n; i++) {
        const int64_t *cells = cells_of(cpu, slots[i]);
        const struct rw_cell *all = &cpu->total[slots[i]];
        const double parent_gain = rw_side_gain(&engine->split_rule, all);
        struct rw_split *best = cpu->feature_best;
#pragma omp parallel for num_threads(engine->ctx->n_threads) schedule(dynamic, 4) \
    if (engine->info.n_bins >= PARALLEL_CELLS)
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

/* ---- partition ---- */

static uint32_t column_code(const struct cpu *cpu, uint32_t column, uint32_t doc)
{
    return rw_bins_code(cpu->ref.host.set[0].bins, column, doc);
}

/* Chunks of the node's documents are counted, then moved to their places, in order: a stable
 * partition whatever the number of threads. */
static void split_node(struct cpu *cpu, const struct rw_split *split, struct rw_sum *sums)
{
    const struct rw_host *host = &cpu->ref.host;
    const uint32_t first = cpu->begin[split->slot], n = cpu->n[split->slot];
    const uint32_t column = (uint32_t)split->column;
    const struct rw_coded_node node = {.bin = split->bin,
                                       .missing_code = rw_cuts_n_bins(host->set[0].bins->cuts, column),
                                       .missing_left = split->missing_left};
    const uint32_t *doc = cpu->doc + first;
    uint32_t *to = cpu->doc_scratch + first;
    const int n_threads = n >= PARALLEL_DOCS ? host->base.ctx->n_threads : 1;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        const uint64_t t = (uint64_t)omp_get_thread_num(), all = (uint64_t)omp_get_num_threads();
        const uint32_t from = (uint32_t)(n * t / all), end = (uint32_t)(n * (t + 1) / all);
        struct rw_sum sum[2] = {{0}, {0}};
        for (uint32_t i = from; i < end; i++) {
            const int right = !rw_coded_goes_left(&node, column_code(cpu, column, doc[i]));
            rw_sum_add(&sum[right], host->lambda[doc[i]], host->weight[doc[i]]);
        }
        cpu->chunk_left[t] = (uint32_t)sum[0].n;
#pragma omp critical
        {
            rw_sum_merge(&sums[0], &sum[0]);
            rw_sum_merge(&sums[1], &sum[1]);
        }
#pragma omp barrier
        uint32_t left = 0;
        for (uint64_t before = 0; before < t; before++)
            left += cpu->chunk_left[before];
        uint32_t right = (uint32_t)sums[0].n + (from - left);
        for (uint32_t i = from; i < end; i++) {
            if (rw_coded_goes_left(&node, column_code(cpu, column, doc[i])))
                to[left++] = doc[i];
            else
                to[right++] = doc[i];
        }
#pragma omp barrier
        memcpy(cpu->doc + first + from, to + from, (end - from) * sizeof(*to));
    }
    const uint32_t n_left = (uint32_t)sums[0].n;
    cpu->begin[split->left] = first;
    cpu->n[split->left] = n_left;
    cpu->begin[split->right] = first + n_left;
    cpu->n[split->right] = n - n_left;
}

static int cpu_partition(struct rw_engine *engine, const struct rw_split *splits, int n,
                         struct rw_sum *sums)
{
    memset(sums, 0, 2 * (size_t)n * sizeof(*sums));
    for (int i = 0; i < n; i++)
        split_node(cpu_of(engine), &splits[i], &sums[2 * i]);
    return RW_OK;
}

/* ---- scores ---- */

static int cpu_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                        const int32_t *leaf_slot)
{
    struct cpu *cpu = cpu_of(engine);
    const struct rw_host *host = &cpu->ref.host;
    double *score = host->set[set].score;
    const int grown_here = set == 0 && leaf_slot != NULL;
    for (int32_t leaf = 0; grown_here && leaf < tree->n_leaves; leaf++) {
        const uint32_t *doc = cpu->doc + cpu->begin[leaf_slot[leaf]];
        for (uint32_t i = 0; i < cpu->n[leaf_slot[leaf]]; i++)
            score[doc[i]] += (double)tree->leaf[leaf];
    }
    if (grown_here && cpu->n[0] == engine->n_docs[0])
        return RW_OK;
    struct rw_coded_node *nodes = cpu->ref.node;
    RW_TRY(rw_host_code_tree(host, tree, nodes));
#pragma omp parallel for num_threads(engine->ctx->n_threads) if (engine->n_docs[set] >= 4096)
    for (uint32_t doc = 0; doc < engine->n_docs[set]; doc++) {
        if (grown_here && host->sampled[doc])
            continue;
        int32_t at = tree->n_leaves == 1 ? -1 : 0;
        while (at >= 0) {
            const uint32_t code = rw_bins_code(host->set[set].bins, nodes[at].column, doc);
            at = rw_coded_goes_left(&nodes[at], code) ? nodes[at].left : nodes[at].right;
        }
        score[doc] += (double)tree->leaf[~at];
    }
    return RW_OK;
}

int rw_engine_open_cpu(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    (void)device;
    RW_TRY(rw_ref_new(ctx, &rw_ref_ops, sizeof(struct cpu), out));
    struct rw_engine_ops *ops = &cpu_of(*out)->ops;
    *ops = rw_ref_ops;
    ops->name = "cpu";
    ops->close = cpu_close;
    ops->load = cpu_load;
    ops->begin_tree = cpu_begin_tree;
    ops->histograms = cpu_histograms;
    ops->best_splits = cpu_best_splits;
    ops->partition = cpu_partition;
    ops->add_tree = cpu_add_tree;
    (*out)->ops = ops;
    return RW_OK;
}
