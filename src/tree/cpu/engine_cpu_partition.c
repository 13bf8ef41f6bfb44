/* Which documents each node of the growing tree holds, for the engine for processors: one array of
 * documents, of which a node has a run; a split divides its node's run in two. */
#include "base/bits.h"
#include "base/machine.h"
#include "tree/cpu/engine_cpu.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

/* Where documents of a split's node go. */
struct router {
    const uint32_t *row; /* sparse columns: their entries' documents, [n]; else NULL */
    const uint8_t *code; /* of each document, or entry */
    size_t bytes, stride;
    struct rw_coded_node node;
    uint8_t left[RW_MAX_CODES]; /* of each code */
    /* all documents are listed, split by their sample, or by whether they are idle; else NULL */
    const uint8_t *sampled; /* [n_docs] */
    const int64_t *word;    /* [n_docs] */
};

/* A column of listed entries stands in the rows, too, unless the engine lists it. */
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

/* Where a column's codes are read. */
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

/* The code of a document in a column that is not listed. */
static inline uint32_t code_of(const struct router *router, size_t bytes, size_t stride,
                               uint32_t doc)
{
    uint16_t code = router->code[doc * stride];
    if (bytes == 2)
        memcpy(&code, router->code + doc * stride, sizeof(code));
    return code;
}

/* Documents [n], in order, those that go left to the front of `left`, which may be `doc` itself,
 * the others to `right`. Returns how many go left. */
static inline __attribute__((always_inline)) uint32_t part_dense(const struct router *router,
                                                                 size_t bytes, size_t stride,
                                                                 const uint32_t *doc, uint32_t n,
                                                                 uint32_t *left, uint32_t *right)
{
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        enum { AHEAD = 32 };
        const uint32_t one = doc[i], next = doc[i + AHEAD < n ? i + AHEAD : i];
        __builtin_prefetch(router->code + next * stride);
        const uint32_t goes = router->left[code_of(router, bytes, stride, one)];
        left[n_left] = one;
        right[i - n_left] = one;
        n_left += goes;
    }
    return n_left;
}

#if RW_HAS_X86
/* What vectors of documents take: columns of bytes, documents of under 2^31. */
static int has_vectors(const struct rw_cpu *cpu, const struct router *router)
{
    return cpu->host.isa == RW_ISA_AVX512 && !router->node.set && router->stride == 1 &&
           router->bytes == 1 && cpu->host.base.n_docs[0] < (uint32_t)1 << 31;
}

/* Which of sixteen documents go left. Four bytes are read for each, of which the document's is the
 * last: so none is read past the column's end, and the first ALONE documents are read one by one.
 */
enum { LANES = 16, ALONE = 3 };
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

/* The same of columns of bytes, sixteen documents at a time. What is stored past the last one of
 * either side has been read before, or will be written again. */
RW_AVX512 static uint32_t part_avx512(const struct router *router, const uint32_t *doc, uint32_t n,
                                      uint32_t *left, uint32_t *right)
{
    uint32_t i = 0;
    while (i < n && doc[i] < ALONE)
        i++;
    uint32_t n_left = part_dense(router, 1, 1, doc, i, left, right);
    for (; i + LANES <= n; i += LANES) {
        const __m512i docs = _mm512_loadu_si512(doc + i);
        const __mmask16 goes = goes_left(router, docs);
        _mm512_storeu_si512(left + n_left, _mm512_maskz_compress_epi32(goes, docs));
        _mm512_storeu_si512(right + (i - n_left),
                            _mm512_maskz_compress_epi32((__mmask16)~goes, docs));
        n_left += (uint32_t)_mm_popcnt_u32(goes);
    }
    return n_left + part_dense(router, 1, 1, doc + i, n - i, left + n_left, right + (i - n_left));
}
#endif

/* The same from a list of entries. */
static uint32_t part_sparse(const struct rw_cpu *cpu, const struct router *router,
                            const uint32_t *doc, uint32_t n, uint32_t *left, uint32_t *right)
{
    const struct rw_bins *bins = cpu->host.set[0].bins;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t one = doc[i];
        const uint32_t goes = router->left[rw_bins_code(bins, router->node.column, one)];
        left[n_left] = one;
        right[i - n_left] = one;
        n_left += goes;
    }
    return n_left;
}

/* The same of documents [first, first + n), of which those that are sampled, or not idle, go left.
 */
static uint32_t part_listed(const struct router *router, uint32_t first, uint32_t n, uint32_t *left,
                            uint32_t *right)
{
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        left[n_left] = first + i;
        right[i - n_left] = first + i;
        n_left +=
            router->word ? router->word[first + i] != RW_CPU_IDLE : router->sampled[first + i];
    }
    return n_left;
}

static uint32_t part(const struct rw_cpu *cpu, const struct router *router, uint32_t *doc,
                     uint32_t n, uint32_t *right)
{
    if (router->sampled || router->word)
        return part_listed(router, (uint32_t)(doc - cpu->doc), n, doc, right);
    if (router->row)
        return part_sparse(cpu, router, doc, n, doc, right);
#if RW_HAS_X86
    if (has_vectors(cpu, router))
        return part_avx512(router, doc, n, doc, right);
#endif
    if (router->bytes == 2)
        return part_dense(router, 2, router->stride, doc, n, doc, right);
    return router->stride == 1 ? part_dense(router, 1, 1, doc, n, doc, right)
                               : part_dense(router, 1, router->stride, doc, n, doc, right);
}

/* ---- runs ---- */

/* The runs of a call, cpu->run, are cut into parts, which threads take one by one. A run that is
 * one part is divided where it is. Of others both sides of each part wait in the scratch memory
 * until all parts' sizes are known. */
struct dividing {
    struct rw_cpu *cpu;
    const struct rw_split *split; /* of the runs; NULL: as `router` says */
    const struct router *router;
    int n_runs;
    uint32_t n_parts; /* of all runs */
};

static uint32_t part_begin(const struct rw_cpu_run *run, uint32_t part)
{
    return run->first + (uint32_t)((uint64_t)run->n * part / run->parts);
}

/* The run that a part is of: the last that begins with it or before, since runs without documents
 * have no parts. */
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
        const uint32_t n_left = part(cpu, d->split ? &router : d->router, doc, n, scratch);
        if (run->parts == 1)
            memcpy(doc + n_left, scratch, (n - n_left) * sizeof(*doc));
        else
            memcpy(scratch + n - n_left, doc, n_left * sizeof(*doc));
        cpu->part_left[part_at] = n_left;
    }
    return RW_OK;
}

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

/* Divides the first n_runs of cpu->run. */
static void divide_runs(struct rw_cpu *cpu, const struct rw_split *split,
                        const struct router *router, int n_runs)
{
    struct dividing d = {.cpu = cpu, .split = split, .router = router, .n_runs = n_runs};
    struct rw_ctx *ctx = cpu->host.base.ctx;
    uint64_t docs = 0;
    for (int i = 0; i < n_runs; i++)
        docs += cpu->run[i].n;
    const int n_threads = rw_cpu_threads(cpu, docs);
    const uint64_t least = n_threads == 1 ? docs : docs / (RW_CPU_PARTS * (uint64_t)n_threads) + 1;
    for (int i = 0; i < n_runs; i++) {
        struct rw_cpu_run *run = &cpu->run[i];
        run->part = d.n_parts;
        run->parts = run->n == 0 ? 0 : (uint32_t)(run->n / least + (run->n < least));
        d.n_parts += run->parts;
    }
    rw_parallel(ctx, n_threads, d.n_parts, 1, divide_parts, &d);
    int joins = 0;
    for (int i = 0; i < n_runs; i++) {
        struct rw_cpu_run *run = &cpu->run[i];
        run->n_left = 0;
        for (uint32_t k = 0; k < run->parts; k++)
            run->n_left += cpu->part_left[run->part + k];
        joins |= run->parts > 1;
    }
    if (joins)
        rw_parallel(ctx, n_threads, d.n_parts, 1, join_parts, &d);
}

/* By what a router says, documents [first, first + n). Returns how many go left. */
static uint32_t divide_listed(struct rw_cpu *cpu, const struct router *router, uint32_t first,
                              uint32_t n)
{
    cpu->run[0] = (struct rw_cpu_run){.first = first, .n = n};
    divide_runs(cpu, NULL, router, 1);
    return cpu->run[0].n_left;
}

/* Those that are set apart stand last, behind those that are not sampled. */
void rw_cpu_list_docs(struct rw_cpu *cpu, uint32_t n_sampled, uint32_t n_idle)
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
    /* as if it were a column, whose code 0 goes left */
    router = (struct router){.code = cpu->host.sampled, .bytes = 1, .stride = 1, .left = {1}};
    divide_listed(cpu, &router, cpu->n[0], n_docs - cpu->n[0]);
}

/* ---- nodes ---- */

/* Says where the children's documents are. How many go left is known. */
static void set_places(const struct rw_split *split, uint32_t *begin, uint32_t *n)
{
    begin[split->left] = begin[split->slot];
    begin[split->right] = begin[split->slot] + n[split->left];
    n[split->right] = n[split->slot] - n[split->left];
}

static int set_children(struct rw_cpu *cpu, const struct rw_split *split)
{
    set_places(split, cpu->begin, cpu->n);
    set_places(split, cpu->idle_begin, cpu->n_idle);
    return rw_host_check_left(&cpu->host, split,
                              (uint64_t)cpu->n[split->left] + cpu->n_idle[split->left]);
}

int rw_cpu_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    for (int i = 0; i < n; i++) {
        const int32_t slot = splits[i].slot;
        cpu->run[2 * i] =
            (struct rw_cpu_run){.first = cpu->begin[slot], .n = cpu->n[slot], .split = i};
        cpu->run[2 * i + 1] =
            (struct rw_cpu_run){.first = cpu->idle_begin[slot], .n = cpu->n_idle[slot], .split = i};
    }
    divide_runs(cpu, splits, NULL, 2 * n);
    for (int i = 0; i < n; i++) {
        cpu->n[splits[i].left] = cpu->run[2 * i].n_left;
        cpu->n_idle[splits[i].left] = cpu->run[2 * i + 1].n_left;
        RW_TRY(set_children(cpu, &splits[i]));
    }
    if (cpu->workers)
        rw_cpu_workers_partition(cpu, splits, n);
    return RW_OK;
}

/* ---- idle documents ---- */

static uint32_t n_left_plain(const struct rw_cpu *cpu, const struct router *router,
                             const uint32_t *doc, uint32_t n)
{
    const struct rw_bins *bins = cpu->host.set[0].bins;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++)
        n_left +=
            router->left[router->row ? rw_bins_code(bins, router->node.column, doc[i])
                                     : code_of(router, router->bytes, router->stride, doc[i])];
    return n_left;
}

#if RW_HAS_X86
RW_AVX512 static uint32_t n_left_avx512(const struct rw_cpu *cpu, const struct router *router,
                                        const uint32_t *doc, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && doc[i] < ALONE)
        i++;
    uint32_t n_left = n_left_plain(cpu, router, doc, i);
    for (; i + LANES <= n; i += LANES)
        n_left += (uint32_t)_mm_popcnt_u32(goes_left(router, _mm512_loadu_si512(doc + i)));
    return n_left + n_left_plain(cpu, router, doc + i, n - i);
}
#endif

uint32_t rw_cpu_idle_left(const struct rw_cpu *cpu, const struct rw_split *split, uint32_t first,
                          uint32_t end)
{
    const uint32_t *doc = cpu->doc + cpu->idle_begin[split->slot] + first, n = end - first;
    struct router router;
    set_router(cpu, split, &router);
#if RW_HAS_X86
    if (!router.row && has_vectors(cpu, &router))
        return n_left_avx512(cpu, &router, doc, n);
#endif
    return n_left_plain(cpu, &router, doc, n);
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
