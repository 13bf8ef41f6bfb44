/* The engine for processors (engine_cpu.h, which defines its terms): loading, the plan, the
 * documents of nodes, leaves and scores. The engine stores codes row by row, and packs a histogram
 * cell into one 64-bit word if the sums allow it. It gets the larger sibling's histogram by
 * subtraction if the parent's is kept. The documents of a node are stored together. Every integer
 * is identical to the reference engine's. */
#include "base/system.h"
#include "tree/cpu/engine_cpu.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

static void cpu_close(struct rw_engine *engine)
{
    rw_host_release(&rw_cpu_of(engine)->host);
    rw_mem_free(engine);
}

/* ---- loading ---- */

/* Requests large pages for the whole 2-MiB pages of an array, if it has any. Rows are read in
 * scattered order, and most of that time would be spent on finding their pages. */
void rw_cpu_large_pages(void *p, size_t bytes)
{
    const uintptr_t page = (uintptr_t)1 << 21;
    const uintptr_t from = ((uintptr_t)p + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)p + bytes) / page * page;
    if (end > from)
        rw_system_large_pages((void *)from, end - from);
}

/* Lists the sparse features (struct rw_cpu_sparse), if most features are sparse. Otherwise the list
 * is empty: a few sparse features are as fast in rows, with the other features, and need no stored
 * cells. */
static int list_sparse(struct rw_cpu *cpu)
{
    struct rw_cpu_sparse *sparse = &cpu->sparse;
    const struct rw_bins *bins = cpu->host.set[0].bins;
    uint64_t n_cells = 0;
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        sparse->n += bins->codes[f].row != NULL;
        n_cells += bins->codes[f].row ? bins->codes[f].n : 0;
    }
    if (2 * (uint64_t)sparse->n <= bins->cuts->n_features)
        sparse->n = 0;
    if (sparse->n == 0)
        return RW_OK;
    RW_TRY(RW_HOST_NEW(&cpu->host, sparse->column, sparse->n));
    cpu->host.memory.part = "rows";
    RW_TRY(RW_HOST_NEW(&cpu->host, sparse->offset, (size_t)bins->n_docs + 2));
    RW_TRY(RW_HOST_NEW_RAW(&cpu->host, sparse->cell, n_cells));
    for (uint32_t f = 0, n = 0; f < bins->cuts->n_features && !cpu->host.memory.plan; f++) {
        if (bins->codes[f].row)
            sparse->column[n++] = f;
    }
    return RW_OK;
}

/* Sorts the cells of the sparse features by document. */
static void load_sparse(struct rw_cpu *cpu)
{
    const struct rw_cpu_sparse *sparse = &cpu->sparse;
    const struct rw_bins *bins = cpu->host.set[0].bins;
    if (sparse->n == 0)
        return;
    /* the next cell of each document; equal to offset once all are in */
    uint64_t *begin = sparse->offset + 1;
    for (uint32_t c = 0; c < sparse->n; c++) {
        const struct rw_codes *codes = &bins->codes[sparse->column[c]];
        for (uint32_t i = 0; i < codes->n; i++)
            begin[codes->row[i] + 1]++;
    }
    for (uint32_t doc = 0; doc < bins->n_docs; doc++)
        begin[doc + 1] += begin[doc];
    for (uint32_t c = 0; c < sparse->n; c++) {
        const uint32_t f = sparse->column[c];
        const struct rw_codes *codes = &bins->codes[f];
        const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
        for (uint32_t i = 0; i < codes->n; i++)
            sparse->cell[begin[codes->row[i]]++] =
                (uint32_t)(cpu->cell_at[f] + rw_codes_get(codes->code, bytes, i));
    }
}

/* Documents of the smallest node whose cells are kept, so that the cells of its larger child can be
 * computed by subtraction. For smaller nodes, building both children costs less than the transfer
 * to memory and back. If sparse features are listed, or with many workers, the cells of all nodes
 * are kept. */
enum { LEAST_KEPT = 768 };

/* Idle documents have separate ranges if at least 1 / WORTH_SEPARATING of the sampled documents are
 * idle, and if may_separate allows it. */
enum { WORTH_SEPARATING = 16 };

/* Allocates the memory for growing trees. tree/engine_host.c allocates the rest: codes by column,
 * scores, and the arrays for the start of a tree. */
static int allocate(struct rw_cpu *cpu)
{
    struct rw_host *host = &cpu->host;
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_bins *bins = host->set[0].bins;
    const size_t n_slots = rules->max_slots, n_docs = bins->n_docs;
    const size_t n_threads = (size_t)host->base.n_threads;
    cpu->workers = rw_n_workers(host->base.ctx) > 1 ? &cpu->many : NULL;
    /* with many workers, a node's cells count the documents of all workers */
    const size_t all_docs = cpu->workers ? host->base.all_docs : n_docs;
    const int may_be_wide = !rw_cpu_is_packed(rules, all_docs), newton = rules->newton != 0;
    const size_t words = (size_t)(1 + newton + may_be_wide); /* of a kept cell, at most */
    cpu->host.memory.part = "tables";
    RW_TRY(list_sparse(cpu));
    RW_TRY(rw_cpu_allocate_rows(cpu));
    RW_TRY(RW_HOST_NEW(host, cpu->cell_at, (size_t)bins->cuts->n_features + 1));
    for (uint32_t f = 0; f < bins->cuts->n_features && !host->memory.plan; f++)
        cpu->cell_at[f + 1] = cpu->cell_at[f] + rw_cpu_n_cells(bins->cuts, f);
    cpu->kept.at = cpu->cell_at;
    /* sums over workers are never computed twice */
    cpu->kept.least = cpu->sparse.n || cpu->workers || rules->symmetric ? 0 : LEAST_KEPT;
    const uint32_t least = rules->min_docs > cpu->kept.least ? rules->min_docs : cpu->kept.least;
    cpu->kept.n_buffers = (int32_t)rw_rules_kept(rules, all_docs, least);
    for (uint32_t f = 0; f < bins->cuts->n_features; f++)
        cpu->kept.buffer_words += rw_cpu_n_cells(bins->cuts, f) * words;
    if (cpu->workers)
        RW_TRY(rw_cpu_allocate_workers(cpu, words));
    RW_TRY(RW_HOST_NEW(host, cpu->begin, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->n, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->idle_begin, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->n_idle, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->total, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->kept.buffer_of, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->best, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->job, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->first_task, n_slots + 1));
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->node, n_slots));
    RW_TRY(RW_HOST_NEW(host, cpu->kept.free_buffer, (size_t)cpu->kept.n_buffers));
    RW_TRY(RW_HOST_NEW(host, cpu->kept.cell_words, (size_t)cpu->kept.n_buffers));
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->run, 2 * n_slots));
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->part_left, 2 * n_slots + RW_CPU_PARTS * n_threads));
    RW_TRY(RW_HOST_NEW(host, cpu->own, n_threads));
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->gathered, n_threads * RW_CPU_PASSES * RW_CPU_GATHERED));
    cpu->built_words = words + (size_t)(newton || may_be_wide);
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->built, n_threads * RW_CPU_BUILT * cpu->built_words));
    host->memory.part = "lists";
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->doc, n_docs));
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->doc_scratch, n_docs));
    RW_TRY(RW_HOST_NEW_RAW(host, cpu->word, n_docs));
    host->memory.part = "histograms"; /* memory that is never touched costs nothing */
    return RW_HOST_NEW_RAW(host, cpu->kept.pool,
                           (size_t)cpu->kept.n_buffers * cpu->kept.buffer_words);
}

static int cpu_prepare(struct rw_engine *engine)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    RW_TRY(allocate(cpu));
    rw_cpu_large_pages(cpu->word, cpu->host.set[0].bins->n_docs * sizeof(*cpu->word));
    rw_cpu_large_pages(cpu->kept.pool, (size_t)cpu->kept.n_buffers * cpu->kept.buffer_words *
                                           sizeof(*cpu->kept.pool));
    rw_cpu_large_pages(cpu->built, (size_t)engine->n_threads * RW_CPU_BUILT * cpu->built_words *
                                       sizeof(*cpu->built));
    load_sparse(cpu);
    return rw_cpu_load_rows(cpu);
}

/* ---- the plan ---- */

/* Counts the bytes of a set's codes and scores in the plan. ready: the set's codes; those of
 * feature f have index code_of[f]. NULL: the set is not binned yet. n: [n_features], written: the
 * number of stored codes (`n` of struct rw_codes). */
static void plan_set(struct rw_host *host, const struct rw_dataset *dataset,
                     const struct rw_cuts *cuts, const struct rw_bins *ready,
                     const uint32_t *code_of, uint32_t *n)
{
    if (!ready)
        rw_bins_entries(host->base.ctx, dataset, cuts, &host->base.rules.cut, n);
    host->memory.part = "codes";
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (ready)
            n[f] = ready->codes[code_of[f]].n;
        rw_host_count(host, rw_codes_bytes(cuts, f, n[f], dataset->n_docs));
    }
    host->memory.part = "scores";
    rw_host_count(host, dataset->n_docs * sizeof(double));
}

/* Makes a plan by a dry run of loading. */
static int cpu_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    const uint32_t n_docs = data->set[0]->n_docs;
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    RW_FREED uint32_t *code_of = NULL, *n = NULL;
    RW_SCOPED(rw_engine_close) struct rw_cpu *dry = NULL;
    RW_TRY(RW_NEW(engine->ctx, dry, 1));
    struct rw_host *host = &dry->host;
    host->base = *engine;
    host->memory.plan = out;
    RW_TRY(rw_host_plan_cuts(host, data->set[0], data->bins, &cuts, &code_of));
    rw_host_count_features(host, cuts);
    RW_TRY(rw_host_bins_of_cuts(host, cuts, 0, n_docs, &host->set[0].bins));
    RW_TRY(RW_NEW(engine->ctx, n, cuts->n_features));
    /* the training set is last, so n has its numbers of codes */
    for (int set = data->n_sets - 1; set >= 0; set--)
        plan_set(host, data->set[set], cuts, set == 0 ? data->bins : NULL, code_of, n);
    struct rw_bins *bins = host->set[0].bins;
    bins->codes_are_views = 1;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        bins->codes[f] = (struct rw_codes){.n = n[f], .row = n[f] < n_docs ? n : NULL};
    RW_TRY(rw_host_allocate(host, data->set[0]));
    return allocate(dry);
}

static double cpu_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work)
{
    return rw_plan_cpu_ms(work, engine->n_threads);
}

/* ---- the documents of nodes ----
 *
 * One array holds all documents. Each node has a range of it, and if many documents are idle, a
 * second range with its idle documents. A split divides each range in two. The codes of a sparse
 * column are a list of entries, each with a document and its code (struct rw_codes). */

/* Decides on which side of a split each document goes. */
struct router {
    const uint32_t *row; /* of a sparse column: the documents of its entries, [n]; else NULL */
    const uint8_t *code; /* of each document; if `row` is set, of each entry */
    size_t bytes, stride;
    struct rw_coded_node node;
    uint8_t left[RW_MAX_CODES]; /* 1: the code goes left */
    /* For listing all documents; else both NULL. sampled: sampled documents go left. word:
     * documents that are not idle go left. */
    const uint8_t *sampled; /* [n_docs] */
    const int64_t *word;    /* [n_docs] */
};

/* Sets where a sparse column's codes are in the rows, where it is a bundle by itself. Used if no
 * sparse features are listed (list_sparse), since listed ones are not in the rows. */
static void find_in_rows(const struct rw_cpu *cpu, uint32_t column, struct router *router)
{
    for (int g = 0; g < 2; g++) {
        const struct rw_cpu_group *group = &cpu->group[g];
        for (uint32_t c = 0; c < group->n; c++) {
            if (group->bundle[c].feature[0] != column)
                continue;
            router->row = NULL;
            router->code = group->row + c * (size_t)group->bytes;
            router->stride = group->stride;
            return;
        }
    }
}

/* Sets where a column's codes are read. */
static void set_column(const struct rw_cpu *cpu, uint32_t column, struct router *router)
{
    const struct rw_bins *bins = cpu->host.set[0].bins;
    const struct rw_codes *codes = &bins->codes[column];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, column);
    *router =
        (struct router){.row = codes->row, .code = codes->code, .bytes = bytes, .stride = bytes};
    if (codes->row && !cpu->sparse.n)
        find_in_rows(cpu, column, router);
}

static void set_router(const struct rw_cpu *cpu, const struct rw_split *split,
                       struct router *router)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const uint32_t column = (uint32_t)split->column;
    const struct rw_coded_node node = rw_coded_split(cuts, split);
    set_column(cpu, column, router);
    router->node = node;
    for (uint32_t code = 0; code < rw_cuts_n_codes(cuts, column); code++)
        router->left[code] = (uint8_t)rw_coded_goes_left(&node, code);
}

/* Returns the code of a document in a column that has a code for each document (`row` is NULL). */
static inline uint32_t code_of(const struct router *router, size_t bytes, size_t stride,
                               uint32_t doc)
{
    uint16_t code = router->code[doc * stride];
    if (bytes == 2)
        memcpy(&code, router->code + doc * stride, sizeof(code));
    return code;
}

/* How a router divides documents. DENSE: by the code of each document. SPARSE: by the codes of
 * entries. LISTED: by `sampled` or `word` of the router. */
enum how { DENSE, SPARSE, LISTED };

/* Divides documents doc: [n], a range of cpu->doc, and keeps their order. LISTED: ignores the
 * contents of the range, and divides the documents whose numbers are the indices of the range in
 * cpu->doc. Writes those that go left to `left`, which may be `doc` itself, and the others to
 * `right`. Returns how many go left. */
static inline __attribute__((always_inline)) uint32_t
part_by(enum how how, const struct rw_cpu *cpu, const struct router *router, size_t bytes,
        size_t stride, const uint32_t *doc, uint32_t n, uint32_t *left, uint32_t *right)
{
    const uint32_t first = (uint32_t)(doc - cpu->doc);
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        enum { AHEAD = 32 };
        const uint32_t one = how == LISTED ? first + i : doc[i];
        uint32_t goes;
        if (how == DENSE) {
            __builtin_prefetch(router->code + doc[i + AHEAD < n ? i + AHEAD : i] * stride);
            goes = router->left[code_of(router, bytes, stride, one)];
        } else if (how == SPARSE) {
            goes = router->left[rw_bins_code(cpu->host.set[0].bins, router->node.column, one)];
        } else {
            goes = router->word ? router->word[one] != RW_CPU_IDLE : router->sampled[one];
        }
        left[n_left] = one;
        right[i - n_left] = one;
        n_left += goes;
    }
    return n_left;
}

#if RW_HAS_X86
/* Documents of a vector, and documents at the start of a column that goes_left cannot read. */
enum { LANES = 16, ALONE = 3 };
/* Returns which of LANES documents go left. It reads four bytes for each, and the document's byte
 * is the last. So it never reads past the column's end, but documents 0 to ALONE - 1 must be read
 * one by one. */
RW_AVX512 static inline __mmask16 goes_left(const struct router *router, __m512i docs)
{
    const __m512i at = _mm512_sub_epi32(docs, _mm512_set1_epi32(ALONE));
    const __m512i code = _mm512_srli_epi32(_mm512_i32gather_epi32(at, router->code, 1), 24);
    const __m512i bin = _mm512_set1_epi32((int)router->node.bin);
    const __m512i missing = _mm512_set1_epi32((int)router->node.missing_code);
    const __mmask16 missing_left = router->node.missing_left ? 0xffff : 0;
    return _mm512_cmple_epu32_mask(code, bin) |
           (_mm512_cmpeq_epi32_mask(code, missing) & missing_left);
}

/* Divides documents, in ascending order, by a column of bytes, sixteen at a time. Document numbers
 * are under 2^31. It may store past the last document of either side, but only where the input was
 * already read or where later stores follow. */
RW_AVX512 static uint32_t part_avx512(const struct rw_cpu *cpu, const struct router *router,
                                      const uint32_t *doc, uint32_t n, uint32_t *left,
                                      uint32_t *right)
{
    uint32_t i = 0;
    while (i < n && doc[i] < ALONE)
        i++;
    uint32_t n_left = part_by(DENSE, cpu, router, 1, 1, doc, i, left, right);
    for (; i + LANES <= n; i += LANES) {
        const __m512i docs = _mm512_loadu_si512(doc + i);
        const __mmask16 goes = goes_left(router, docs);
        _mm512_storeu_si512(left + n_left, _mm512_maskz_compress_epi32(goes, docs));
        _mm512_storeu_si512(right + (i - n_left),
                            _mm512_maskz_compress_epi32((__mmask16)~goes, docs));
        n_left += (uint32_t)_mm_popcnt_u32(goes);
    }
    return n_left +
           part_by(DENSE, cpu, router, 1, 1, doc + i, n - i, left + n_left, right + (i - n_left));
}
#endif

/* Divides documents as part_by does, in the fastest way for the router. */
static uint32_t part(const struct rw_cpu *cpu, const struct router *router, const uint32_t *doc,
                     uint32_t n, uint32_t *left, uint32_t *right)
{
    if (router->sampled || router->word)
        return part_by(LISTED, cpu, router, 0, 0, doc, n, left, right);
    if (router->row)
        return part_by(SPARSE, cpu, router, 0, 0, doc, n, left, right);
#if RW_HAS_X86
    if (cpu->host.isa == RW_ISA_AVX512 && !router->node.set && router->stride == 1 &&
        router->bytes == 1 && cpu->host.base.n_docs[0] < (uint32_t)1 << 31)
        return part_avx512(cpu, router, doc, n, left, right);
#endif
    if (router->bytes == 2)
        return part_by(DENSE, cpu, router, 2, router->stride, doc, n, left, right);
    return router->stride == 1
               ? part_by(DENSE, cpu, router, 1, 1, doc, n, left, right)
               : part_by(DENSE, cpu, router, 1, router->stride, doc, n, left, right);
}

/* ---- runs: ranges of documents that are divided ---- */

/* A call that divides the ranges of documents in cpu->run. The ranges are cut into parts, which
 * threads take one by one. A range that is one part is divided in place. For other ranges, both
 * sides of each part are stored in scratch memory until the sizes of all parts are known. */
struct dividing {
    struct rw_cpu *cpu;
    int counts;                   /* 1: only counts n_left, without moving documents */
    const struct rw_split *split; /* splits of the ranges; NULL: `router` decides */
    const struct router *router;
    int n_runs;
    uint32_t n_parts; /* of all ranges */
};

/* Returns the index in cpu->doc at which a range's part begins. part: from 0 in the range. */
static uint32_t part_begin(const struct rw_cpu_run *run, uint32_t part)
{
    return run->first + (uint32_t)((uint64_t)run->n * part / run->parts);
}

/* Returns the range that contains a part of the call. It is the last range whose first part is this
 * part or an earlier one. A range without documents has no parts. */
static const struct rw_cpu_run *run_of(const struct dividing *d, uint64_t part)
{
    const struct rw_cpu_run *run = d->cpu->run;
    return run + rw_records_under(run, sizeof(*run), (uint32_t)d->n_runs, part + 1) - 1;
}

static int divide_parts(void *job, struct rw_share *share)
{
    const struct dividing *d = job;
    struct rw_cpu *cpu = d->cpu;
    struct router router;
    int split = -1;
    for (uint64_t part_at, end; rw_share_next(share, &part_at, &end);) {
        const struct rw_cpu_run *run = run_of(d, part_at);
        const uint32_t k = (uint32_t)part_at - run->part, from = part_begin(run, k);
        const uint32_t n = part_begin(run, k + 1) - from;
        uint32_t *doc = cpu->doc + from, *scratch = cpu->doc_scratch + from;
        if (d->split && run->split != split) {
            split = run->split;
            set_router(cpu, &d->split[split], &router);
        }
        const uint32_t n_left =
            part(cpu, d->split ? &router : d->router, doc, n, d->counts ? scratch : doc, scratch);
        if (run->parts == 1 && !d->counts)
            memcpy(doc + n_left, scratch, (n - n_left) * sizeof(*doc));
        else if (!d->counts)
            memcpy(scratch + n - n_left, doc, n_left * sizeof(*doc));
        cpu->part_left[part_at] = n_left;
    }
    return RW_OK;
}

/* Moves both sides of each part from scratch memory to their places in cpu->doc. */
static int join_parts(void *job, struct rw_share *share)
{
    const struct dividing *d = job;
    struct rw_cpu *cpu = d->cpu;
    for (uint64_t part_at, end; rw_share_next(share, &part_at, &end);) {
        const struct rw_cpu_run *run = run_of(d, part_at);
        const uint32_t k = (uint32_t)part_at - run->part, from = part_begin(run, k);
        const uint32_t n = part_begin(run, k + 1) - from, n_left = cpu->part_left[part_at];
        const uint32_t *scratch = cpu->doc_scratch + from;
        uint32_t before = 0;
        if (run->parts == 1)
            continue;
        for (uint32_t c = 0; c < k; c++)
            before += cpu->part_left[run->part + c];
        memcpy(cpu->doc + run->first + before, scratch + n - n_left, n_left * sizeof(*scratch));
        memcpy(cpu->doc + run->first + run->n_left + (from - run->first - before), scratch,
               (n - n_left) * sizeof(*scratch));
    }
    return RW_OK;
}

/* Divides the first d.n_runs ranges of cpu->run. */
static void divide_runs(struct dividing d)
{
    struct rw_cpu *cpu = d.cpu;
    struct rw_ctx *ctx = cpu->host.base.ctx;
    uint64_t docs = 0;
    for (int i = 0; i < d.n_runs; i++)
        docs += cpu->run[i].n;
    const int n_threads = rw_cpu_threads(cpu, docs);
    const uint64_t least = n_threads == 1 ? docs : docs / (RW_CPU_PARTS * (uint64_t)n_threads) + 1;
    for (int i = 0; i < d.n_runs; i++) {
        struct rw_cpu_run *run = &cpu->run[i];
        run->part = d.n_parts;
        run->parts = run->n == 0 ? 0 : (uint32_t)(run->n / least + (run->n < least));
        d.n_parts += run->parts;
    }
    rw_parallel(ctx, n_threads, d.n_parts, 1, divide_parts, &d);
    int joins = 0;
    for (int i = 0; i < d.n_runs; i++) {
        struct rw_cpu_run *run = &cpu->run[i];
        run->n_left = 0;
        for (uint32_t k = 0; k < run->parts; k++)
            run->n_left += cpu->part_left[run->part + k];
        joins |= run->parts > 1 && !d.counts;
    }
    if (joins)
        rw_parallel(ctx, n_threads, d.n_parts, 1, join_parts, &d);
}

/* Divides the documents at [first, first + n) of cpu->doc by a router. Returns how many go left. */
static uint32_t divide_listed(struct rw_cpu *cpu, const struct router *router, uint32_t first,
                              uint32_t n)
{
    cpu->run[0] = (struct rw_cpu_run){.first = first, .n = n};
    divide_runs((struct dividing){.cpu = cpu, .router = router, .n_runs = 1});
    return cpu->run[0].n_left;
}

/* Lists the documents at the root: sampled ones, then those outside the sample, then sampled idle
 * ones if n_idle > 0. */
static void list_docs(struct rw_cpu *cpu, uint32_t n_sampled, uint32_t n_idle)
{
    const uint32_t n_docs = cpu->host.base.n_docs[0];
    struct router router = {0};
    if (n_idle)
        router.word = cpu->word;
    else
        router.sampled = cpu->host.sampled;
    cpu->begin[0] = 0;
    cpu->n[0] = divide_listed(cpu, &router, 0, n_docs);
    cpu->idle_begin[0] = n_docs - n_idle;
    cpu->n_idle[0] = n_idle;
    if (n_idle == 0 || n_sampled == n_docs)
        return;
    /* treats `sampled` as a column whose code 0 goes left */
    router = (struct router){.code = cpu->host.sampled, .bytes = 1, .stride = 1, .left = {1}};
    divide_listed(cpu, &router, cpu->n[0], n_docs - cpu->n[0]);
}

/* ---- nodes ---- */

/* Sets the ranges of a split's children. n[split->left] is known. */
static void set_places(const struct rw_split *split, uint32_t *begin, uint32_t *n)
{
    begin[split->left] = begin[split->slot];
    begin[split->right] = begin[split->slot] + n[split->left];
    n[split->right] = n[split->slot] - n[split->left];
}

static int cpu_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    for (int i = 0; i < n; i++) {
        const int32_t slot = splits[i].slot;
        cpu->run[2 * i] =
            (struct rw_cpu_run){.first = cpu->begin[slot], .n = cpu->n[slot], .split = i};
        cpu->run[2 * i + 1] =
            (struct rw_cpu_run){.first = cpu->idle_begin[slot], .n = cpu->n_idle[slot], .split = i};
    }
    divide_runs((struct dividing){.cpu = cpu, .split = splits, .n_runs = 2 * n});
    for (int i = 0; i < n; i++) {
        cpu->n[splits[i].left] = cpu->run[2 * i].n_left;
        cpu->n_idle[splits[i].left] = cpu->run[2 * i + 1].n_left;
        set_places(&splits[i], cpu->begin, cpu->n);
        set_places(&splits[i], cpu->idle_begin, cpu->n_idle);
        RW_TRY(rw_host_check_left(&cpu->host, &splits[i],
                                  (uint64_t)cpu->run[2 * i].n_left + cpu->run[2 * i + 1].n_left));
    }
    for (int i = 0; i < n && cpu->workers; i++) {
        uint32_t *all_n = cpu->workers->all_n;
        all_n[splits[i].left] = splits[i].n_left;
        all_n[splits[i].right] = all_n[splits[i].slot] - splits[i].n_left;
    }
    return RW_OK;
}

/* ---- idle documents ---- */

/* Returns the splits that were found when the histograms were made. Adds to n_left of each split
 * the idle documents that go left. */
static int cpu_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                           struct rw_split *out)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    if (engine->rules.symmetric)
        return rw_cpu_best_level(engine, slots, n, out);
    for (int i = 0; i < n; i++) {
        out[i] = cpu->best[slots[i]];
        cpu->run[i] = (struct rw_cpu_run){.first = cpu->idle_begin[slots[i]],
                                          .n = out[i].column >= 0 ? cpu->n_idle[slots[i]] : 0,
                                          .split = i};
    }
    divide_runs((struct dividing){.cpu = cpu, .counts = 1, .split = out, .n_runs = n});
    for (int i = 0; i < n; i++)
        out[i].n_left += cpu->run[i].n_left;
    return RW_OK;
}

void rw_cpu_count_idle(const struct rw_cpu *cpu, int32_t slot, uint32_t f, uint32_t *count)
{
    const struct rw_bins *bins = cpu->host.set[0].bins;
    const uint32_t *doc = cpu->doc + cpu->idle_begin[slot];
    struct router router;
    set_column(cpu, f, &router);
    for (uint32_t i = 0; i < cpu->n_idle[slot]; i++)
        count[router.row ? rw_bins_code(bins, f, doc[i])
                         : code_of(&router, router.bytes, router.stride, doc[i])]++;
}

/* ---- the start of a tree ---- */

struct words_job {
    struct rw_cpu *cpu;
    uint64_t n_idle; /* sampled idle documents */
};

/* Writes the word of each document, and counts idle ones. Documents outside the sample get the word
 * of an idle document. */
static int make_words(void *user, struct rw_share *share)
{
    struct words_job *job = user;
    struct rw_cpu *cpu = job->cpu;
    const struct rw_host *host = &cpu->host;
    const struct rw_cpu_words words = cpu->words;
    uint64_t n_idle = 0;
    RW_SHARE_EACH(share, doc) {
        cpu->word[doc] = RW_CPU_IDLE;
        if (!host->sampled[doc])
            continue;
        cpu->word[doc] = words.newton ? rw_joint_of(host->lambda_q[doc], host->hess_q[doc])
                                      : host->lambda_q[doc] * (int64_t)4294967296 + 1;
        n_idle += cpu->word[doc] == RW_CPU_IDLE;
    }
    rw_share_add(share, &job->n_idle, n_idle);
    return RW_OK;
}

/* Returns 1 if idle documents may be left out of histograms. Gains must not depend on numbers of
 * documents (newton), which then only decide whether a side of a split has enough of them. Splits
 * must be scored roughly, and there must be no other workers, listed sparse features or categorical
 * features. Symmetric trees need cells with all documents. */
static int may_separate(const struct rw_cpu *cpu)
{
    return cpu->words.newton && cpu->words.packed && !cpu->workers && !cpu->sparse.n &&
           !cpu->host.base.rules.symmetric && !cpu->host.base.cuts->by_category &&
           rw_cpu_searches_packed(cpu);
}

static int cpu_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    RW_TRY(rw_host_begin_tree(&cpu->host, tree, out));
    const int32_t largest = rw_quantise_limit(engine->rules.bits);
    cpu->words.newton = engine->rules.newton;
    cpu->words.packed = rw_cpu_is_packed(&engine->rules, out->sum.n);
    cpu->words.n_words = 2 - cpu->words.packed + cpu->words.newton;
    cpu->words.most_docs =
        cpu->words.newton ? rw_joint_most(largest) : (uint32_t)(INT32_MAX / largest);
    cpu->kept.joint = cpu->words.newton && cpu->words.packed && !cpu->workers && !cpu->sparse.n;
    rw_cpu_list_passes(cpu);
    if (cpu->workers)
        rw_cpu_divide_features(cpu, out);
    struct words_job words = {cpu, 0};
    rw_parallel(engine->ctx, rw_cpu_threads(cpu, engine->n_docs[0]), engine->n_docs[0], 0,
                make_words, &words);
    const int separate = may_separate(cpu) && words.n_idle * WORTH_SEPARATING >= out->sum.n;
    list_docs(cpu, (uint32_t)out->sum.n, separate ? (uint32_t)words.n_idle : 0);
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        cpu->kept.buffer_of[s] = -1;
    cpu->kept.n_free = cpu->kept.n_buffers;
    for (int32_t b = 0; b < cpu->kept.n_buffers; b++)
        cpu->kept.free_buffer[b] = cpu->kept.n_buffers - 1 - b;
    return RW_OK;
}

/* ---- leaves ---- */

struct leaf_sums {
    const struct rw_cpu *cpu;
    const int32_t *leaf_slot; /* [n] */
    int n;
    struct rw_sum *sum; /* [n] */
};

/* Adds to *sum the documents of cpu->doc whose indices are in both [begin, begin + n) and [first,
 * last). Returns 1 if there are any. */
static int sum_run(const struct rw_cpu *cpu, uint64_t begin, uint64_t n, uint64_t first,
                   uint64_t last, struct rw_sum *sum)
{
    const struct rw_host *host = &cpu->host;
    const uint64_t from = begin > first ? begin : first, to = begin + n < last ? begin + n : last;
    for (uint64_t i = from; i < to; i++)
        rw_sum_add(sum, host->lambda[cpu->doc[i]], host->hess[cpu->doc[i]]);
    return from < to;
}

/* Adds up each leaf's documents, for some indices of cpu->doc. A leaf that was partitioned still
 * has its range, with the documents of the nodes below it. */
static int sum_leaves(void *job, struct rw_share *share)
{
    const struct leaf_sums *l = job;
    const struct rw_cpu *cpu = l->cpu;
    for (uint64_t first, last; rw_share_next(share, &first, &last);) {
        for (int leaf = 0; leaf < l->n; leaf++) {
            const int32_t slot = l->leaf_slot[leaf];
            struct rw_sum sum = {0};
            if (!(sum_run(cpu, cpu->begin[slot], cpu->n[slot], first, last, &sum) |
                  sum_run(cpu, cpu->idle_begin[slot], cpu->n_idle[slot], first, last, &sum)))
                continue;
            rw_share_lock(share);
            rw_sum_merge(&l->sum[leaf], &sum);
            rw_share_unlock(share);
        }
    }
    return RW_OK;
}

static int cpu_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                         struct rw_sum *sums)
{
    const struct rw_cpu *cpu = rw_cpu_of(engine);
    struct leaf_sums job = {cpu, leaf_slot, n, sums};
    memset(sums, 0, (size_t)n * sizeof(*sums));
    const uint32_t n_docs = engine->n_docs[0];
    return rw_parallel(engine->ctx, rw_cpu_threads(cpu, n_docs), n_docs, 0, sum_leaves, &job);
}

/* ---- scores ---- */

struct added_tree {
    const struct rw_cpu *cpu;
    const struct rw_tree *tree;
    const int32_t *leaf_slot; /* [n_leaves]; NULL: the tree was not grown here */
    int set;
    double *score; /* scores of the set */
};

/* Adds `value` to the scores of the documents in [least, most). doc: [n], ascending. */
static void add_value(const struct added_tree *a, const uint32_t *doc, uint32_t n, uint64_t least,
                      uint64_t most, double value)
{
    const uint32_t from = rw_numbers_under(doc, n, least), end = rw_numbers_under(doc, n, most);
    for (uint32_t i = from; i < end; i++)
        a->score[doc[i]] += value;
}

/* Adds every leaf's value to the scores of the leaf's documents, for some ranges of document
 * numbers. No two threads write to one cache line. */
static int add_leaves(void *job, struct rw_share *share)
{
    enum { LINE_SCORES = 8 };
    const struct added_tree *a = job;
    const struct rw_cpu *cpu = a->cpu;
    const uint32_t n_docs = cpu->host.base.n_docs[0];
    uint64_t first, last;
    while (rw_share_next(share, &first, &last)) {
        const uint64_t least = first / LINE_SCORES * LINE_SCORES;
        const uint64_t most = last == n_docs ? last : last / LINE_SCORES * LINE_SCORES;
        for (int leaf = 0; leaf < a->tree->n_leaves; leaf++) {
            const int32_t slot = a->leaf_slot[leaf];
            const double value = (double)a->tree->leaf[leaf];
            add_value(a, cpu->doc + cpu->begin[slot], cpu->n[slot], least, most, value);
            add_value(a, cpu->doc + cpu->idle_begin[slot], cpu->n_idle[slot], least, most, value);
        }
    }
    return RW_OK;
}

/* Adds the tree's values by walking the tree for each document, except those that add_leaves has
 * served: the sampled documents, if leaf_slot is set. */
static int add_walked(void *job, struct rw_share *share)
{
    const struct added_tree *a = job;
    const struct rw_host *host = &a->cpu->host;
    const struct rw_coded_node *nodes = a->cpu->node;
    const struct rw_bins *bins = host->set[a->set].bins;
    RW_SHARE_EACH(share, doc) {
        if (a->leaf_slot && host->sampled[doc])
            continue;
        const int32_t leaf = a->tree->n_leaves == 1 ? 0 : rw_coded_leaf(nodes, bins, (uint32_t)doc);
        a->score[doc] += (double)a->tree->leaf[leaf];
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
    if (job.leaf_slot && cpu->n[0] + cpu->n_idle[0] == n_docs)
        return RW_OK;
    RW_TRY(rw_host_code_tree(host, tree, cpu->node));
    return rw_parallel(engine->ctx, n_docs >= WALKED_DOCS ? engine->n_threads : 1, n_docs, 0,
                       add_walked, &job);
}

static const struct rw_engine_ops cpu_ops = {
    .name = "cpu",
    /* Batches give many threads enough work: each call waits for the slowest of them. */
    .batch = 24,
    .close = cpu_close,
    .load = rw_host_load,
    .set_gradients = rw_host_set_gradients,
    .set_lambdas = rw_host_set_lambdas,
    .begin_tree = cpu_begin_tree,
    .allow = rw_host_allow,
    .histograms = rw_cpu_histograms,
    .release = rw_cpu_release,
    .best_splits = cpu_best_splits,
    .partition = cpu_partition,
    .leaf_sums = cpu_leaf_sums,
    .add_tree = cpu_add_tree,
    .read_scores = rw_host_read_scores,
    .set_scores = rw_host_set_scores,
    .code_sums = rw_host_code_sums,
    .read_integers = rw_host_read_integers,
    .plan = {cpu_plan, cpu_tree_ms},
};

int rw_engine_open_cpu(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    (void)device;
    RW_TRY(rw_host_open(ctx, &cpu_ops, cpu_prepare, sizeof(struct rw_cpu), out));
    struct rw_host *host = &rw_cpu_of(*out)->host;
    host->fast = 1;
    host->isa = rw_isa();
    return RW_OK;
}
