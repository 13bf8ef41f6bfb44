/* The engine for processors: row-major codes, histogram cells packed into one 64-bit word where the
 * sums allow, the larger sibling by subtraction, documents of a node kept together. Starts from
 * ref's table and overwrites what is worth it; every integer is the same. */
#include <omp.h>
#include <sys/mman.h>

#include "base/isa.h"
#include "base/mem.h"
#include "tree/engine_cpu.h"
#if RW_HAS_X86
#include <immintrin.h>
#endif

static void cpu_close(struct rw_engine *engine)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    for (int g = 0; g < 2; g++) {
        rw_mem_free(cpu->group[g].lane);
        rw_mem_free(cpu->group[g].row);
        rw_mem_free(cpu->group[g].active);
        rw_mem_free(cpu->group[g].bundled);
    }
    rw_mem_free(cpu->sparse.column);
    rw_mem_free(cpu->sparse.offset);
    rw_mem_free(cpu->sparse.cell);
    void *const owned[] = {
        cpu->doc,       cpu->doc_scratch, cpu->begin, cpu->n,        cpu->word,       cpu->pool,
        cpu->buffer_of, cpu->free_buffer, cpu->total, cpu->best,     cpu->chunk_left, cpu->cell_at,
        cpu->gathered,  cpu->built,       cpu->pass,  cpu->part_sum, cpu->job};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
    rw_ref_ops.close(engine);
}

/* ---- loading ---- */

/* Counted: the plan (engine_cpu_plan.c) says beforehand what comes together here. */
int rw_cpu_new(struct rw_cpu *cpu, void **out, size_t n, size_t size, int raw)
{
    cpu->ref.host.base.info.bytes += n * size;
    return raw ? rw_mem_new_raw(cpu->ref.host.base.ctx, out, n, size)
               : rw_mem_new(cpu->ref.host.base.ctx, out, n, size);
}

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
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    uint32_t n_sparse = 0;
    RW_TRY(RW_CPU_NEW(cpu, sparse->column, bins->cuts->n_features));
    RW_TRY(RW_CPU_NEW(cpu, sparse->offset, (size_t)bins->n_docs + 2));
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
    RW_TRY(RW_CPU_NEW_RAW(cpu, sparse->cell, begin[bins->n_docs]));
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
                    const double *gains)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    const size_t n_slots = engine->rules.max_slots, n_docs = dataset->n_docs;
    RW_TRY(rw_ref_ops.load(engine, set, dataset, gains));
    if (set > 0)
        return RW_OK;
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    RW_TRY(RW_CPU_NEW(cpu, cpu->cell_at, (size_t)cuts->n_features + 1));
    for (uint32_t f = 0; f < cuts->n_features; f++)
        cpu->cell_at[f + 1] = cpu->cell_at[f] + rw_cpu_n_cells(cuts, f);
    RW_TRY(load_sparse(cpu));
    RW_TRY(rw_cpu_load_lanes(cpu));
    RW_TRY(RW_CPU_NEW_RAW(cpu, cpu->doc, n_docs));
    RW_TRY(RW_CPU_NEW_RAW(cpu, cpu->doc_scratch, n_docs));
    RW_TRY(RW_CPU_NEW_RAW(cpu, cpu->word, n_docs * (engine->rules.newton ? 3 : 2)));
    rw_cpu_large_pages(cpu->word, n_docs * (engine->rules.newton ? 3 : 2) * sizeof(*cpu->word));
    RW_TRY(RW_CPU_NEW(cpu, cpu->begin, n_slots));
    RW_TRY(RW_CPU_NEW(cpu, cpu->n, n_slots));
    RW_TRY(RW_CPU_NEW(cpu, cpu->total, n_slots));
    RW_TRY(RW_CPU_NEW(cpu, cpu->buffer_of, n_slots));
    RW_TRY(RW_CPU_NEW(cpu, cpu->best, n_slots));
    RW_TRY(RW_CPU_NEW(cpu, cpu->chunk_left, (size_t)engine->n_threads));
    RW_TRY(RW_CPU_NEW_RAW(cpu, cpu->gathered,
                          (size_t)engine->n_threads * RW_CPU_PASSES * RW_CPU_GATHERED));
    RW_TRY(RW_CPU_NEW(cpu, cpu->part_sum, (size_t)engine->n_threads));
    cpu->built_words = engine->rules.newton ? 3 : 2;
    RW_TRY(RW_CPU_NEW_RAW(cpu, cpu->built,
                          (size_t)engine->n_threads * RW_CPU_BUILT * cpu->built_words));
    /* memory that is never touched costs nothing */
    const uint64_t n_buffers = rw_cpu_n_buffers(&engine->rules, n_docs, cpu->sparse.n);
    cpu->least_kept = rw_cpu_least_kept(cpu->sparse.n);
    RW_TRY(RW_CPU_NEW(cpu, cpu->job, n_slots));
    cpu->n_buffers = (int32_t)n_buffers;
    cpu->buffer_words = cpu->cell_at[cuts->n_features] * (engine->rules.newton ? 3 : 2);
    RW_TRY(RW_CPU_NEW(cpu, cpu->free_buffer, n_buffers));
    RW_TRY(RW_CPU_NEW_RAW(cpu, cpu->pool, n_buffers * cpu->buffer_words));
    rw_cpu_large_pages(cpu->pool, n_buffers * cpu->buffer_words * sizeof(*cpu->pool));
    rw_cpu_large_pages(cpu->built, (size_t)engine->n_threads * RW_CPU_BUILT * cpu->built_words *
                                       sizeof(*cpu->built));
    return RW_OK;
}

/* ---- the start of a tree ---- */

static void make_words(struct rw_cpu *cpu)
{
    const struct rw_host *host = &cpu->ref.host;
    const struct rw_cpu_words words = cpu->words;
#pragma omp parallel for num_threads(host->base.n_threads) if (host->base.n_docs[0] >= \
                                                               PARALLEL_DOCS)
    for (uint32_t doc = 0; doc < host->base.n_docs[0]; doc++) {
        if (!host->sampled[doc])
            continue;
        if (words.most_joint) {
            cpu->word[doc] = rw_joint_of(host->lambda_q[doc], host->weight_q[doc]);
            continue;
        }
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

/* The documents of the sample, a part of them by each thread. Returns how many there are. */
static uint32_t list_docs(struct rw_cpu *cpu)
{
    const uint8_t *sampled = cpu->ref.host.sampled;
    const uint64_t n = cpu->ref.host.base.n_docs[0];
    uint32_t n_sampled = 0;
#pragma omp parallel num_threads(cpu->ref.host.base.n_threads) if (n >= PARALLEL_DOCS)
    {
        const uint64_t t = (uint64_t)omp_get_thread_num(), all = (uint64_t)omp_get_num_threads();
        const uint32_t from = (uint32_t)(n * t / all), end = (uint32_t)(n * (t + 1) / all);
        uint32_t at = 0;
        for (uint32_t doc = from; doc < end; doc++)
            at += sampled[doc];
        cpu->chunk_left[t] = at;
#pragma omp barrier
        at = 0;
        for (uint64_t before = 0; before < t; before++)
            at += cpu->chunk_left[before];
        for (uint32_t doc = from; doc < end; doc++) {
            if (sampled[doc])
                cpu->doc[at++] = doc;
        }
        if (t + 1 == all)
            n_sampled = at;
    }
    return n_sampled;
}

/* Weights can be negative only where a custom objective makes them so. */
static int is_joint(const struct rw_cpu *cpu)
{
    return cpu->words.packed && cpu->words.newton &&
           cpu->ref.host.base.rules.gradient != RW_GRADIENT_CUSTOM;
}

static int cpu_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    RW_TRY(rw_host_begin_tree(&cpu->ref.host, tree, out));
    const int32_t largest = rw_quantise_limit(engine->rules.bits);
    cpu->words.newton = engine->rules.newton;
    cpu->words.packed = out->sum.n * (uint64_t)largest < ((uint64_t)1 << 31);
    cpu->words.n_words = 2 - cpu->words.packed + cpu->words.newton;
    cpu->words.most_joint = is_joint(cpu) ? rw_joint_most(largest) : 0;
    rw_cpu_list_passes(cpu);
    make_words(cpu);
    const uint32_t n = list_docs(cpu);
    cpu->begin[0] = 0;
    cpu->n[0] = n;
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        cpu->buffer_of[s] = -1;
    cpu->n_free = cpu->n_buffers;
    for (int32_t b = 0; b < cpu->n_buffers; b++)
        cpu->free_buffer[b] = cpu->n_buffers - 1 - b;
    return RW_OK;
}

/* ---- partition ---- */

/* Where documents of a split's node go. */
struct turn {
    const uint32_t *row; /* sparse columns: their entries' documents, [n]; else NULL */
    const uint8_t *code; /* of each document, or entry */
    size_t bytes, stride;
    uint32_t n, column;
    uint32_t bin, missing_code;
    int missing_left;
    uint8_t left[1026]; /* of each code */
};

/* A column of listed entries stands in the rows, too, unless the engine lists it. */
static void find_in_rows(const struct rw_cpu *cpu, uint32_t column, struct turn *turn)
{
    for (int g = 0; g < 2; g++) {
        const struct rw_cpu_group *group = &cpu->group[g];
        for (uint32_t c = 0; c < group->n; c++) {
            if (group->lane[c].feature[0] != column)
                continue;
            turn->row = NULL;
            turn->code = group->row + c * (size_t)group->bytes;
            turn->stride = group->stride;
            return;
        }
    }
}

static void set_turn(const struct rw_cpu *cpu, const struct rw_split *split, struct turn *turn)
{
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    const uint32_t column = (uint32_t)split->column;
    const struct rw_codes *codes = &bins->codes[column];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, column);
    const struct rw_coded_node node = {.bin = split->bin,
                                       .missing_code = rw_cuts_n_bins(bins->cuts, column),
                                       .missing_left = split->missing_left};
    *turn = (struct turn){.row = codes->row,
                          .code = codes->code,
                          .bytes = bytes,
                          .stride = bytes,
                          .n = codes->n,
                          .column = column,
                          .bin = node.bin,
                          .missing_code = node.missing_code,
                          .missing_left = node.missing_left};
    if (codes->row && !cpu->sparse.n)
        find_in_rows(cpu, column, turn);
    for (uint32_t code = 0; code < rw_cuts_n_codes(bins->cuts, column); code++)
        turn->left[code] = (uint8_t)rw_coded_goes_left(&node, code);
}

/* Documents [n], in order, those that go left to the front of `left`, which may be `doc` itself,
 * the others to `right`. Returns how many go left. */
static inline __attribute__((always_inline)) uint32_t part_dense(const struct turn *turn,
                                                                 size_t bytes, size_t stride,
                                                                 const uint32_t *doc, uint32_t n,
                                                                 uint32_t *left, uint32_t *right)
{
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        enum { AHEAD = 32 };
        const uint32_t one = doc[i], next = doc[i + AHEAD < n ? i + AHEAD : i];
        __builtin_prefetch(turn->code + next * stride);
        uint16_t code = turn->code[one * stride];
        if (bytes == 2)
            memcpy(&code, turn->code + one * stride, sizeof(code));
        const uint32_t goes = turn->left[code];
        left[n_left] = one;
        right[i - n_left] = one;
        n_left += goes;
    }
    return n_left;
}

#if RW_HAS_X86
/* The same of columns of bytes, sixteen documents at a time. Four bytes are read for each, of which
 * the document's is the last: so none is read past the column's end, and the first three documents
 * go another way. What is stored past the last one of either side has been read before, or will be
 * written again. */
RW_AVX512 static uint32_t part_avx512(const struct turn *turn, const uint32_t *doc, uint32_t n,
                                      uint32_t *left, uint32_t *right)
{
    enum { LANES = 16, ALONE = 3 };
    const __m512i bin = _mm512_set1_epi32((int)turn->bin);
    const __m512i missing = _mm512_set1_epi32((int)turn->missing_code);
    const __m512i back = _mm512_set1_epi32(-ALONE);
    const __mmask16 missing_left = turn->missing_left ? 0xffff : 0;
    uint32_t i = 0, n_left = 0;
    for (; i < n && doc[i] < ALONE; i++) {
        const uint32_t one = doc[i];
        left[n_left] = one;
        right[i - n_left] = one;
        n_left += turn->left[turn->code[one]];
    }
    for (; i + LANES <= n; i += LANES) {
        const __m512i docs = _mm512_loadu_si512(doc + i);
        const __m512i at = _mm512_add_epi32(docs, back); /* under 2^31 */
        const __m512i code = _mm512_srli_epi32(_mm512_i32gather_epi32(at, turn->code, 1), 24);
        const __mmask16 goes = _mm512_cmple_epu32_mask(code, bin) |
                               (_mm512_cmpeq_epi32_mask(code, missing) & missing_left);
        _mm512_storeu_si512(left + n_left, _mm512_maskz_compress_epi32(goes, docs));
        _mm512_storeu_si512(right + (i - n_left),
                            _mm512_maskz_compress_epi32((__mmask16)~goes, docs));
        n_left += (uint32_t)_mm_popcnt_u32(goes);
    }
    for (; i < n; i++) {
        const uint32_t one = doc[i];
        left[n_left] = one;
        right[i - n_left] = one;
        n_left += turn->left[turn->code[one]];
    }
    return n_left;
}
#endif

/* The same from a list of entries. */
static uint32_t part_sparse(const struct rw_cpu *cpu, const struct turn *turn, const uint32_t *doc,
                            uint32_t n, uint32_t *left, uint32_t *right)
{
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t one = doc[i];
        const uint32_t goes = turn->left[rw_bins_code(bins, turn->column, one)];
        left[n_left] = one;
        right[i - n_left] = one;
        n_left += goes;
    }
    return n_left;
}

static uint32_t part(const struct rw_cpu *cpu, const struct turn *turn, uint32_t *doc, uint32_t n,
                     uint32_t *right)
{
    if (turn->row)
        return part_sparse(cpu, turn, doc, n, doc, right);
#if RW_HAS_X86
    if (cpu->ref.host.isa == RW_ISA_AVX512 && turn->stride == 1 && turn->bytes == 1 &&
        cpu->ref.host.base.n_docs[0] < (uint32_t)1 << 31)
        return part_avx512(turn, doc, n, doc, right);
#endif
    if (turn->bytes == 2)
        return part_dense(turn, 2, turn->stride, doc, n, doc, right);
    return turn->stride == 1 ? part_dense(turn, 1, 1, doc, n, doc, right)
                             : part_dense(turn, 1, turn->stride, doc, n, doc, right);
}

/* Says where the children's documents are. */
static int set_children(struct rw_cpu *cpu, const struct rw_split *split, uint32_t n_left)
{
    const uint32_t first = cpu->begin[split->slot], n = cpu->n[split->slot];
    cpu->begin[split->left] = first;
    cpu->n[split->left] = n_left;
    cpu->begin[split->right] = first + n_left;
    cpu->n[split->right] = n - n_left;
    return rw_host_check_left(&cpu->ref.host, split, n_left);
}

/* A node by one thread. Returns the documents that go left. */
static uint32_t split_small(struct rw_cpu *cpu, const struct rw_split *split)
{
    const uint32_t first = cpu->begin[split->slot], n = cpu->n[split->slot];
    struct turn turn;
    set_turn(cpu, split, &turn);
    const uint32_t n_left = part(cpu, &turn, cpu->doc + first, n, cpu->doc_scratch + first);
    memcpy(cpu->doc + first + n_left, cpu->doc_scratch + first, (n - n_left) * sizeof(*cpu->doc));
    return n_left;
}

/* A node by all threads, a part of its documents each: both sides wait in the scratch memory, until
 * all parts' sizes are known. */
static uint32_t split_large(struct rw_cpu *cpu, const struct rw_split *split)
{
    const uint32_t first = cpu->begin[split->slot], n = cpu->n[split->slot];
    uint32_t *doc = cpu->doc + first, *scratch = cpu->doc_scratch + first, all_left = 0;
    struct turn turn;
    set_turn(cpu, split, &turn);
#pragma omp parallel num_threads(cpu->ref.host.base.n_threads)
    {
        const uint64_t t = (uint64_t)omp_get_thread_num(), all = (uint64_t)omp_get_num_threads();
        const uint32_t from = (uint32_t)(n * t / all), end = (uint32_t)(n * (t + 1) / all);
        const uint32_t n_left = part(cpu, &turn, doc + from, end - from, scratch + from);
        const uint32_t n_right = end - from - n_left;
        memcpy(scratch + from + n_right, doc + from, n_left * sizeof(*doc));
        cpu->chunk_left[t] = n_left;
#pragma omp barrier
        uint32_t before = 0, total = 0;
        for (uint64_t c = 0; c < all; c++) {
            before += c < t ? cpu->chunk_left[c] : 0;
            total += cpu->chunk_left[c];
        }
        memcpy(doc + before, scratch + from + n_right, n_left * sizeof(*doc));
        memcpy(doc + total + from - before, scratch + from, n_right * sizeof(*doc));
        if (t == 0)
            all_left = total;
    }
    return all_left;
}

static int is_large(const struct rw_cpu *cpu, const struct rw_split *split)
{
    return cpu->ref.host.base.n_threads > 1 && cpu->n[split->slot] >= PARALLEL_DOCS;
}

/* Large nodes one by one, then small ones, a thread each. */
static int cpu_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    uint64_t docs = 0;
    for (int i = 0; i < n; i++) {
        if (is_large(cpu, &splits[i]))
            RW_TRY(set_children(cpu, &splits[i], split_large(cpu, &splits[i])));
        else
            docs += cpu->n[splits[i].slot];
    }
#pragma omp parallel for num_threads(engine->n_threads) \
    schedule(dynamic, 1) if (engine->n_threads > 1 && n > 1 && docs >= PARALLEL_DOCS)
    for (int i = 0; i < n; i++) {
        if (!is_large(cpu, &splits[i]))
            cpu->n[splits[i].left] = split_small(cpu, &splits[i]);
    }
    for (int i = 0; i < n; i++) {
        if (!is_large(cpu, &splits[i]))
            RW_TRY(set_children(cpu, &splits[i], cpu->n[splits[i].left]));
    }
    return RW_OK;
}

/* A partitioned node's part of `doc` is that of the nodes below it. */
static int cpu_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                         struct rw_sum *sums)
{
    const struct rw_cpu *cpu = rw_cpu_of(engine);
    const struct rw_host *host = &cpu->ref.host;
    const int together = engine->n_docs[0] >= PARALLEL_DOCS;
    memset(sums, 0, (size_t)n * sizeof(*sums));
#pragma omp parallel num_threads(engine->n_threads) if (together)
    {
        const uint32_t t = (uint32_t)omp_get_thread_num(), all = (uint32_t)omp_get_num_threads();
        for (int leaf = 0; leaf < n; leaf++) {
            /* large leaves by all threads, of the others every thread takes some */
            const uint64_t n_docs = cpu->n[leaf_slot[leaf]];
            const int is_shared = n_docs >= PARALLEL_DOCS;
            if (!is_shared && (uint32_t)leaf % all != t)
                continue;
            const uint32_t from = is_shared ? (uint32_t)(n_docs * t / all) : 0;
            const uint32_t end = is_shared ? (uint32_t)(n_docs * (t + 1) / all) : (uint32_t)n_docs;
            const uint32_t *doc = cpu->doc + cpu->begin[leaf_slot[leaf]];
            struct rw_sum sum = {0};
            for (uint32_t i = from; i < end; i++)
                rw_sum_add(&sum, host->lambda[doc[i]], host->weight[doc[i]]);
            if (is_shared) {
#pragma omp critical
                rw_sum_merge(&sums[leaf], &sum);
            } else
                sums[leaf] = sum;
        }
    }
    return RW_OK;
}

/* ---- scores ---- */

/* The first of ascending documents [n] that is `least` or more; n: none is. */
static uint32_t first_from(const uint32_t *doc, uint32_t n, uint64_t least)
{
    uint32_t from = 0, end = n;
    while (from < end) {
        const uint32_t middle = from + (end - from) / 2;
        if (doc[middle] < least)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* Of every leaf a thread takes the documents of its part of the scores: no two write to one line.
 */
static void add_leaves(const struct rw_cpu *cpu, const struct rw_tree *tree,
                       const int32_t *leaf_slot, double *score)
{
    const uint64_t n_docs = cpu->ref.host.base.n_docs[0];
#pragma omp parallel num_threads(cpu->ref.host.base.n_threads) if (n_docs >= PARALLEL_DOCS)
    {
        const uint64_t t = (uint64_t)omp_get_thread_num(), all = (uint64_t)omp_get_num_threads();
        for (int leaf = 0; leaf < tree->n_leaves; leaf++) {
            const uint32_t *doc = cpu->doc + cpu->begin[leaf_slot[leaf]];
            const uint32_t n = cpu->n[leaf_slot[leaf]];
            const uint32_t from = first_from(doc, n, n_docs * t / all / 8 * 8);
            const uint32_t end =
                t + 1 == all ? n : first_from(doc, n, n_docs * (t + 1) / all / 8 * 8);
            for (uint32_t i = from; i < end; i++)
                score[doc[i]] += (double)tree->leaf[leaf];
        }
    }
}

static int cpu_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                        const int32_t *leaf_slot)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    const struct rw_host *host = &cpu->ref.host;
    double *score = host->set[set].score;
    const int grown_here = set == 0 && leaf_slot != NULL;
    if (grown_here)
        add_leaves(cpu, tree, leaf_slot, score);
    if (grown_here && cpu->n[0] == engine->n_docs[0])
        return RW_OK;
    struct rw_coded_node *nodes = cpu->ref.node;
    RW_TRY(rw_host_code_tree(host, tree, nodes));
#pragma omp parallel for num_threads(engine->n_threads) if (engine->n_docs[set] >= 4096)
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
    RW_TRY(rw_ref_new(ctx, &rw_ref_ops, sizeof(struct rw_cpu), out));
    struct rw_engine_ops *ops = &rw_cpu_of(*out)->ops;
    struct rw_host *host = &rw_cpu_of(*out)->ref.host;
    host->fast = 1;
    host->isa = rw_isa();
    *ops = rw_ref_ops;
    ops->name = "cpu";
    ops->batch = 8; /* work for many threads; of one-at-a-time growth 1 in 100 is built in vain */
    ops->close = cpu_close;
    ops->load = cpu_load;
    ops->begin_tree = cpu_begin_tree;
    ops->histograms = rw_cpu_histograms;
    ops->best_splits = rw_cpu_best_splits;
    ops->partition = cpu_partition;
    ops->leaf_sums = cpu_leaf_sums;
    ops->add_tree = cpu_add_tree;
    ops->plan = rw_cpu_plan;
    ops->tree_ms = rw_cpu_tree_ms;
    (*out)->ops = ops;
    return RW_OK;
}
