/* Which documents each node of the growing tree holds, for the engine for processors: one array of
 * documents, of which a node has a run; a split divides its node's run in two. */
#include "base/isa.h"
#include "tree/host/engine_cpu.h"
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

/* ---- a node ---- */

/* Says where the children's documents are. How many go left is known. */
static void set_runs(const struct rw_split *split, uint32_t *begin, uint32_t *n)
{
    begin[split->left] = begin[split->slot];
    begin[split->right] = begin[split->slot] + n[split->left];
    n[split->right] = n[split->slot] - n[split->left];
}

static int set_children(struct rw_cpu *cpu, const struct rw_split *split)
{
    set_runs(split, cpu->begin, cpu->n);
    set_runs(split, cpu->idle_begin, cpu->n_idle);
    return rw_host_check_left(&cpu->host, split,
                              (uint64_t)cpu->n[split->left] + cpu->n_idle[split->left]);
}

/* A run of documents by one thread. Returns those that go left. */
static uint32_t split_small(struct rw_cpu *cpu, const struct router *router, uint32_t first,
                            uint32_t n)
{
    const uint32_t n_left = part(cpu, router, cpu->doc + first, n, cpu->doc_scratch + first);
    memcpy(cpu->doc + first + n_left, cpu->doc_scratch + first, (n - n_left) * sizeof(*cpu->doc));
    return n_left;
}

/* By all threads, a part each: both sides wait in the scratch memory until all parts' sizes are
 * known. */
struct large_split {
    struct rw_cpu *cpu;
    const struct router *router;
    uint32_t *doc, *scratch;
    uint64_t n_docs, n_parts;
    uint32_t n_left; /* of all parts */
};

static uint32_t part_begin(const struct large_split *l, uint64_t part)
{
    return (uint32_t)(l->n_docs * part / l->n_parts);
}

static int split_parts(void *job, struct rw_share *share)
{
    const struct large_split *l = job;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        for (; k < end; k++) {
            const uint32_t from = part_begin(l, k), n = part_begin(l, k + 1) - from;
            const uint32_t n_left = part(l->cpu, l->router, l->doc + from, n, l->scratch + from);
            memcpy(l->scratch + from + n - n_left, l->doc + from, n_left * sizeof(*l->doc));
            l->cpu->part_left[k] = n_left;
        }
    }
    return RW_OK;
}

static int join_parts(void *job, struct rw_share *share)
{
    const struct large_split *l = job;
    const uint32_t *part_left = l->cpu->part_left;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        for (; k < end; k++) {
            const uint32_t from = part_begin(l, k);
            const uint32_t n_right = part_begin(l, k + 1) - from - part_left[k];
            uint32_t before = 0;
            for (uint64_t c = 0; c < k; c++)
                before += part_left[c];
            memcpy(l->doc + before, l->scratch + from + n_right, part_left[k] * sizeof(*l->doc));
            memcpy(l->doc + l->n_left + from - before, l->scratch + from,
                   n_right * sizeof(*l->doc));
        }
    }
    return RW_OK;
}

static int is_large(const struct rw_cpu *cpu, uint32_t n_docs)
{
    return cpu->host.base.n_threads > 1 && n_docs >= PARALLEL_DOCS;
}

static uint32_t split_run(struct rw_cpu *cpu, const struct router *router, uint32_t first,
                          uint32_t n)
{
    const int n_threads = cpu->host.base.n_threads;
    struct large_split l = {.cpu = cpu,
                            .router = router,
                            .doc = cpu->doc + first,
                            .scratch = cpu->doc_scratch + first,
                            .n_docs = n,
                            .n_parts = (uint64_t)n_threads};
    if (!is_large(cpu, n))
        return split_small(cpu, router, first, n);
    rw_parallel(cpu->host.base.ctx, n_threads, l.n_parts, 0, split_parts, &l);
    for (uint64_t k = 0; k < l.n_parts; k++)
        l.n_left += cpu->part_left[k];
    rw_parallel(cpu->host.base.ctx, n_threads, l.n_parts, 0, join_parts, &l);
    return l.n_left;
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
    cpu->n[0] = split_run(cpu, &router, 0, n_docs);
    cpu->idle_begin[0] = n_docs - n_idle;
    cpu->n_idle[0] = n_idle;
    if (n_idle == 0 || n_sampled == n_docs)
        return;
    /* as if it were a column, whose code 0 goes left */
    router = (struct router){.code = cpu->host.sampled, .bytes = 1, .stride = 1, .left = {1}};
    split_run(cpu, &router, cpu->n[0], n_docs - cpu->n[0]);
}

/* ---- nodes ---- */

static void split_node(struct rw_cpu *cpu, const struct rw_split *split)
{
    const int32_t slot = split->slot;
    struct router router;
    set_router(cpu, split, &router);
    cpu->n[split->left] = split_run(cpu, &router, cpu->begin[slot], cpu->n[slot]);
    cpu->n_idle[split->left] = split_run(cpu, &router, cpu->idle_begin[slot], cpu->n_idle[slot]);
}

static uint32_t docs_of(const struct rw_cpu *cpu, int32_t slot)
{
    return cpu->n[slot] + cpu->n_idle[slot];
}

struct small_splits {
    struct rw_cpu *cpu;
    const struct rw_split *split;
};

static int split_some(void *job, struct rw_share *share)
{
    const struct small_splits *s = job;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        for (; i < end; i++) {
            if (!is_large(s->cpu, docs_of(s->cpu, s->split[i].slot)))
                split_node(s->cpu, &s->split[i]);
        }
    }
    return RW_OK;
}

/* Large nodes one by one, then small ones, a thread each. */
int rw_cpu_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    uint64_t docs = 0;
    for (int i = 0; i < n; i++) {
        const uint32_t n_docs = docs_of(cpu, splits[i].slot);
        if (is_large(cpu, n_docs))
            split_node(cpu, &splits[i]);
        else
            docs += n_docs;
    }
    struct small_splits small = {cpu, splits};
    rw_parallel(engine->ctx, rw_cpu_threads(cpu, docs), (uint64_t)n, 1, split_some, &small);
    for (int i = 0; i < n; i++)
        RW_TRY(set_children(cpu, &splits[i]));
    if (cpu->ranks)
        rw_cpu_ranks_partition(cpu, splits, n);
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

uint32_t rw_cpu_idle_left(const struct rw_cpu *cpu, const struct rw_split *split)
{
    const uint32_t *doc = cpu->doc + cpu->idle_begin[split->slot], n = cpu->n_idle[split->slot];
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
