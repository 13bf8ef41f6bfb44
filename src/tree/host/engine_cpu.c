/* The engine for processors: row-major codes, histogram cells packed into one 64-bit word where the
 * sums allow, the larger sibling by subtraction, documents of a node kept together. Every
 * integer is ref's. */
#include <sys/mman.h>

#include "base/isa.h"
#include "base/mem.h"
#include "base/search.h"
#include "tree/host/engine_cpu.h"

static void cpu_close(struct rw_engine *engine)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    for (int g = 0; g < 2; g++) {
        rw_mem_free(cpu->group[g].bundle);
        rw_mem_free(cpu->group[g].row);
        rw_mem_free(cpu->group[g].active);
        rw_mem_free(cpu->group[g].shared_code);
    }
    rw_mem_free(cpu->sparse.column);
    rw_mem_free(cpu->sparse.offset);
    rw_mem_free(cpu->sparse.cell);
    void *const owned[] = {
        cpu->doc,       cpu->doc_scratch, cpu->begin, cpu->n,        cpu->word,       cpu->pool,
        cpu->buffer_of, cpu->free_buffer, cpu->total, cpu->best,     cpu->chunk_left, cpu->cell_at,
        cpu->gathered,  cpu->built,       cpu->pass,  cpu->part_sum, cpu->job,        cpu->node};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
    rw_host_release(&cpu->host);
    rw_mem_free(cpu);
}

/* ---- loading ---- */

/* Asks for large pages where there is room for some: rows are read here and there, and most of that
 * time would go to finding their pages. */
void rw_cpu_large_pages(void *p, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)1 << 21;
    const uintptr_t from = ((uintptr_t)p + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)p + bytes) / page * page;
    if (end > from)
        (void)madvise((void *)from, end - from, MADV_HUGEPAGE); /* as good without */
#else
    (void)p, (void)bytes;
#endif
}

static int load_sparse(struct rw_cpu *cpu)
{
    struct rw_cpu_sparse *sparse = &cpu->sparse;
    const struct rw_bins *bins = cpu->host.set[0].bins;
    uint32_t n_sparse = 0;
    RW_TRY(RW_HOST_NEW(&cpu->host, sparse->column, bins->cuts->n_features));
    RW_TRY(RW_HOST_NEW(&cpu->host, sparse->offset, (size_t)bins->n_docs + 2));
    for (uint32_t f = 0; f < bins->cuts->n_features; f++)
        n_sparse += bins->codes[f].row != NULL;
    if (!rw_cpu_has_sparse(n_sparse, bins->cuts->n_features))
        return RW_OK;
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        if (bins->codes[f].row)
            sparse->column[sparse->n++] = f;
    }
    uint64_t *begin =
        sparse->offset + 1; /* where the next cell goes: the offset, when all are in */
    for (uint32_t c = 0; c < sparse->n; c++) {
        const struct rw_codes *codes = &bins->codes[sparse->column[c]];
        for (uint32_t i = 0; i < codes->n; i++)
            begin[codes->row[i] + 1]++;
    }
    for (uint32_t doc = 0; doc < bins->n_docs; doc++)
        begin[doc + 1] += begin[doc];
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, sparse->cell, begin[bins->n_docs]));
    for (uint32_t c = 0; c < sparse->n; c++) {
        const uint32_t f = sparse->column[c];
        const struct rw_codes *codes = &bins->codes[f];
        const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
        for (uint32_t i = 0; i < codes->n; i++)
            sparse->cell[begin[codes->row[i]]++] =
                (uint32_t)(cpu->cell_at[f] + rw_codes_entry(codes, bytes, i));
    }
    return RW_OK;
}

static int cpu_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                    const struct rw_bins *bins, const double *gains)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    const size_t n_slots = engine->rules.max_slots, n_docs = dataset->n_docs;
    RW_TRY(rw_host_load(&cpu->host, set, dataset, bins, gains));
    if (set > 0)
        return RW_OK;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->cell_at, (size_t)cuts->n_features + 1));
    for (uint32_t f = 0; f < cuts->n_features; f++)
        cpu->cell_at[f + 1] = cpu->cell_at[f] + rw_cpu_n_cells(cuts, f);
    RW_TRY(load_sparse(cpu));
    RW_TRY(rw_cpu_load_rows(cpu));
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, cpu->doc, n_docs));
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, cpu->doc_scratch, n_docs));
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, cpu->word, n_docs * (engine->rules.newton ? 3 : 2)));
    rw_cpu_large_pages(cpu->word, n_docs * (engine->rules.newton ? 3 : 2) * sizeof(*cpu->word));
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->begin, n_slots));
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->n, n_slots));
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->total, n_slots));
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->buffer_of, n_slots));
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->best, n_slots));
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, cpu->node, n_slots));
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->chunk_left, (size_t)engine->n_threads));
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, cpu->gathered,
                           (size_t)engine->n_threads * RW_CPU_PASSES * RW_CPU_GATHERED));
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->part_sum, (size_t)engine->n_threads));
    cpu->built_words = engine->rules.newton ? 3 : 2;
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, cpu->built,
                           (size_t)engine->n_threads * RW_CPU_BUILT * cpu->built_words));
    /* memory that is never touched costs nothing */
    const uint64_t n_buffers = rw_cpu_n_buffers(&engine->rules, n_docs, cpu->sparse.n);
    cpu->least_kept = rw_cpu_least_kept(cpu->sparse.n);
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->job, n_slots));
    cpu->n_buffers = (int32_t)n_buffers;
    cpu->buffer_words = cpu->cell_at[cuts->n_features] * (engine->rules.newton ? 3 : 2);
    RW_TRY(RW_HOST_NEW(&cpu->host, cpu->free_buffer, n_buffers));
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, cpu->pool, n_buffers * cpu->buffer_words));
    rw_cpu_large_pages(cpu->pool, n_buffers * cpu->buffer_words * sizeof(*cpu->pool));
    rw_cpu_large_pages(cpu->built, (size_t)engine->n_threads * RW_CPU_BUILT * cpu->built_words *
                                       sizeof(*cpu->built));
    return RW_OK;
}

/* ---- the start of a tree ---- */

static int make_words(void *job, struct rw_share *share)
{
    struct rw_cpu *cpu = job;
    const struct rw_host *host = &cpu->host;
    const struct rw_cpu_words words = cpu->words;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++) {
            if (!host->sampled[doc])
                continue;
            if (words.most_joint) {
                cpu->word[doc] = rw_joint_of(host->lambda_q[doc], host->hess_q[doc]);
                continue;
            }
            int64_t *word = cpu->word + (size_t)doc * (size_t)words.n_words;
            word[0] = host->lambda_q[doc];
            if (words.packed)
                word[0] = word[0] * 4294967296 + 1;
            else
                word[1] = 1;
            if (words.newton)
                word[words.n_words - 1] = host->hess_q[doc];
        }
    }
    return RW_OK;
}

/* Weights can be negative only where a custom objective makes them so. */
static int is_joint(const struct rw_cpu *cpu)
{
    return cpu->words.packed && cpu->words.newton && cpu->host.base.rules.objective;
}

static int cpu_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    RW_TRY(rw_host_begin_tree(&cpu->host, tree, out));
    const int32_t largest = rw_quantise_limit(engine->rules.bits);
    cpu->words.newton = engine->rules.newton;
    cpu->words.packed = out->sum.n * (uint64_t)largest < ((uint64_t)1 << 31);
    cpu->words.n_words = 2 - cpu->words.packed + cpu->words.newton;
    cpu->words.most_joint = is_joint(cpu) ? rw_joint_most(largest) : 0;
    rw_cpu_list_passes(cpu);
    rw_parallel(engine->ctx, rw_cpu_threads(cpu, engine->n_docs[0]), engine->n_docs[0], 0,
                make_words, cpu);
    const uint32_t n = rw_cpu_list_docs(cpu);
    cpu->begin[0] = 0;
    cpu->n[0] = n;
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        cpu->buffer_of[s] = -1;
    cpu->n_free = cpu->n_buffers;
    for (int32_t b = 0; b < cpu->n_buffers; b++)
        cpu->free_buffer[b] = cpu->n_buffers - 1 - b;
    return RW_OK;
}

/* ---- leaves ---- */

struct leaf_sums {
    const struct rw_cpu *cpu;
    const int32_t *leaf_slot; /* [n] */
    int n;
    uint32_t n_parts;
    struct rw_sum *sum; /* [n] */
};

/* Large leaves by all parts; of the others each part has some. */
static int sum_leaves(void *job, struct rw_share *share)
{
    const struct leaf_sums *l = job;
    const struct rw_host *host = &l->cpu->host;
    const uint64_t all = l->n_parts;
    uint64_t part, last;
    while (rw_share_next(share, &part, &last)) {
        for (int leaf = 0; leaf < l->n; leaf++) {
            const uint64_t n_docs = l->cpu->n[l->leaf_slot[leaf]];
            const int is_shared = n_docs >= PARALLEL_DOCS;
            if (!is_shared && (uint32_t)leaf % all != part)
                continue;
            const uint32_t from = is_shared ? (uint32_t)(n_docs * part / all) : 0;
            const uint32_t end =
                is_shared ? (uint32_t)(n_docs * (part + 1) / all) : (uint32_t)n_docs;
            const uint32_t *doc = l->cpu->doc + l->cpu->begin[l->leaf_slot[leaf]];
            struct rw_sum sum = {0};
            for (uint32_t i = from; i < end; i++)
                rw_sum_add(&sum, host->lambda[doc[i]], host->weight[doc[i]]);
            rw_share_lock(share);
            rw_sum_merge(&l->sum[leaf], &sum);
            rw_share_unlock(share);
        }
    }
    return RW_OK;
}

/* A partitioned node's part of `doc` is that of the nodes below it. */
static int cpu_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                         struct rw_sum *sums)
{
    const struct rw_cpu *cpu = rw_cpu_of(engine);
    const int n_threads = rw_cpu_threads(cpu, engine->n_docs[0]);
    struct leaf_sums job = {cpu, leaf_slot, n, (uint32_t)n_threads, sums};
    memset(sums, 0, (size_t)n * sizeof(*sums));
    return rw_parallel(engine->ctx, n_threads, job.n_parts, 1, sum_leaves, &job);
}

/* ---- scores ---- */

struct added_tree {
    const struct rw_cpu *cpu;
    const struct rw_tree *tree;
    const int32_t *leaf_slot; /* [n_leaves] NULL: not grown here */
    int set;
    double *score; /* of the set */
};

/* Of every leaf the documents of a part of the scores: no two parts write to one cache line. */
static int add_leaves(void *job, struct rw_share *share)
{
    enum { LINE_SCORES = 8 };
    const struct added_tree *a = job;
    const uint32_t n_docs = a->cpu->host.base.n_docs[0];
    uint64_t first, last;
    while (rw_share_next(share, &first, &last)) {
        const uint64_t least = first / LINE_SCORES * LINE_SCORES;
        const uint64_t most = last / LINE_SCORES * LINE_SCORES;
        for (int leaf = 0; leaf < a->tree->n_leaves; leaf++) {
            const uint32_t *doc = a->cpu->doc + a->cpu->begin[a->leaf_slot[leaf]];
            const uint32_t n = a->cpu->n[a->leaf_slot[leaf]];
            const uint32_t from = rw_numbers_under(doc, n, least);
            const uint32_t end = last == n_docs ? n : rw_numbers_under(doc, n, most);
            for (uint32_t i = from; i < end; i++)
                a->score[doc[i]] += (double)a->tree->leaf[leaf];
        }
    }
    return RW_OK;
}

/* By walking the tree. */
static int add_walked(void *job, struct rw_share *share)
{
    const struct added_tree *a = job;
    const struct rw_host *host = &a->cpu->host;
    const struct rw_coded_node *nodes = a->cpu->node;
    const struct rw_bins *bins = host->set[a->set].bins;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++) {
            if (a->leaf_slot && host->sampled[doc])
                continue;
            const int32_t leaf =
                a->tree->n_leaves == 1 ? 0 : rw_coded_leaf(nodes, bins, (uint32_t)doc);
            a->score[doc] += (double)a->tree->leaf[leaf];
        }
    }
    return RW_OK;
}

static int cpu_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                        const int32_t *leaf_slot)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    const struct rw_host *host = &cpu->host;
    const uint32_t n_docs = engine->n_docs[set];
    struct added_tree job = {cpu, tree, set == 0 ? leaf_slot : NULL, set, host->set[set].score};
    if (job.leaf_slot)
        rw_parallel(engine->ctx, rw_cpu_threads(cpu, n_docs), n_docs, 0, add_leaves, &job);
    if (job.leaf_slot && cpu->n[0] == n_docs)
        return RW_OK;
    RW_TRY(rw_host_code_tree(host, tree, cpu->node));
    return rw_parallel(engine->ctx, n_docs >= WALKED_DOCS ? engine->n_threads : 1, n_docs, 0,
                       add_walked, &job);
}

static const struct rw_engine_ops cpu_ops = {
    .name = "cpu",
    .batch = 8, /* work for many threads; of one-at-a-time growth 1 in 100 is built in vain */
    .close = cpu_close,
    .load = cpu_load,
    .set_gradients = rw_host_set_gradients,
    .begin_tree = cpu_begin_tree,
    .histograms = rw_cpu_histograms,
    .best_splits = rw_cpu_best_splits,
    .partition = rw_cpu_partition,
    .leaf_sums = cpu_leaf_sums,
    .add_tree = cpu_add_tree,
    .read_scores = rw_host_read_scores,
    .set_scores = rw_host_set_scores,
    .read_integers = rw_host_read_integers,
    .plan = rw_cpu_plan,
    .tree_ms = rw_cpu_tree_ms,
};

int rw_engine_open_cpu(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    (void)device;
    RW_TRY(rw_host_open(ctx, &cpu_ops, sizeof(struct rw_cpu), out));
    struct rw_host *host = &rw_cpu_of(*out)->host;
    host->fast = 1;
    host->isa = rw_isa();
    return RW_OK;
}
