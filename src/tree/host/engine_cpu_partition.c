/* Which documents each node of the growing tree holds, for the engine for processors: one array of
 * documents, of which a node has a run; a split divides its node's run in two. */
#include "base/isa.h"
#include "tree/host/engine_cpu.h"
#if RW_HAS_X86
#include <immintrin.h>
#endif

/* Documents in as many parts as threads may come, each of which one thread takes. */
struct parts {
    struct rw_cpu *cpu;
    uint32_t n_docs, n;
};

static uint32_t part_begin(const struct parts *parts, uint64_t part)
{
    return (uint32_t)(parts->n_docs * part / parts->n);
}

static int count_sampled(void *job, struct rw_share *share)
{
    const struct parts *parts = job;
    const uint8_t *sampled = parts->cpu->host.sampled;
    for (uint64_t part, end; rw_share_next(share, &part, &end);) {
        for (; part < end; part++) {
            uint32_t n = 0;
            for (uint32_t d = part_begin(parts, part); d < part_begin(parts, part + 1); d++)
                n += sampled[d];
            parts->cpu->chunk_left[part] = n;
        }
    }
    return RW_OK;
}

static int list_sampled(void *job, struct rw_share *share)
{
    const struct parts *parts = job;
    const uint8_t *sampled = parts->cpu->host.sampled;
    for (uint64_t part, end; rw_share_next(share, &part, &end);) {
        for (; part < end; part++) {
            uint32_t at = 0;
            for (uint64_t before = 0; before < part; before++)
                at += parts->cpu->chunk_left[before];
            for (uint32_t d = part_begin(parts, part); d < part_begin(parts, part + 1); d++) {
                if (sampled[d])
                    parts->cpu->doc[at++] = d;
            }
        }
    }
    return RW_OK;
}

uint32_t rw_cpu_list_docs(struct rw_cpu *cpu)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    const uint32_t n_docs = cpu->host.base.n_docs[0];
    struct parts parts = {cpu, n_docs, (uint32_t)rw_cpu_threads(cpu, n_docs)};
    uint32_t n_sampled = 0;
    rw_parallel(ctx, (int)parts.n, parts.n, 0, count_sampled, &parts);
    rw_parallel(ctx, (int)parts.n, parts.n, 0, list_sampled, &parts);
    for (uint32_t part = 0; part < parts.n; part++)
        n_sampled += cpu->chunk_left[part];
    return n_sampled;
}

/* ---- partition ---- */

/* Where documents of a split's node go. */
struct turn {
    const uint32_t *row; /* sparse columns: their entries' documents, [n]; else NULL */
    const uint8_t *code; /* of each document, or entry */
    size_t bytes, stride;
    uint32_t n;
    struct rw_coded_node node;
    uint8_t left[RW_MAX_CODES]; /* of each code */
};

/* A column of listed entries stands in the rows, too, unless the engine lists it. */
static void find_in_rows(const struct rw_cpu *cpu, uint32_t column, struct turn *turn)
{
    for (int g = 0; g < 2; g++) {
        const struct rw_cpu_group *group = &cpu->group[g];
        for (uint32_t c = 0; c < group->n; c++) {
            if (group->bundle[c].feature[0] != column)
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
    const struct rw_bins *bins = cpu->host.set[0].bins;
    const uint32_t column = (uint32_t)split->column;
    const struct rw_codes *codes = &bins->codes[column];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, column);
    const struct rw_coded_node node = rw_coded_split(bins->cuts, split);
    *turn = (struct turn){.row = codes->row,
                          .code = codes->code,
                          .bytes = bytes,
                          .stride = bytes,
                          .n = codes->n,
                          .node = node};
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
    const __m512i bin = _mm512_set1_epi32((int)turn->node.bin);
    const __m512i missing = _mm512_set1_epi32((int)turn->node.missing_code);
    const __m512i back = _mm512_set1_epi32(-ALONE);
    const __mmask16 missing_left = turn->node.missing_left ? 0xffff : 0;
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
    const struct rw_bins *bins = cpu->host.set[0].bins;
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t one = doc[i];
        const uint32_t goes = turn->left[rw_bins_code(bins, turn->node.column, one)];
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
    if (cpu->host.isa == RW_ISA_AVX512 && turn->stride == 1 && turn->bytes == 1 &&
        cpu->host.base.n_docs[0] < (uint32_t)1 << 31)
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
    return rw_host_check_left(&cpu->host, split, n_left);
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
struct large_split {
    struct parts parts; /* first: the parts are of the node's documents */
    struct turn turn;
    uint32_t *doc, *scratch;
    uint32_t n_left; /* of all parts */
};

static int split_parts(void *job, struct rw_share *share)
{
    const struct large_split *l = job;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        for (; k < end; k++) {
            const uint32_t from = part_begin(&l->parts, k);
            const uint32_t n = part_begin(&l->parts, k + 1) - from;
            const uint32_t n_left =
                part(l->parts.cpu, &l->turn, l->doc + from, n, l->scratch + from);
            memcpy(l->scratch + from + n - n_left, l->doc + from, n_left * sizeof(*l->doc));
            l->parts.cpu->chunk_left[k] = n_left;
        }
    }
    return RW_OK;
}

static int join_parts(void *job, struct rw_share *share)
{
    const struct large_split *l = job;
    const uint32_t *chunk_left = l->parts.cpu->chunk_left;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        for (; k < end; k++) {
            const uint32_t from = part_begin(&l->parts, k);
            const uint32_t n_right = part_begin(&l->parts, k + 1) - from - chunk_left[k];
            uint32_t before = 0;
            for (uint64_t c = 0; c < k; c++)
                before += chunk_left[c];
            memcpy(l->doc + before, l->scratch + from + n_right, chunk_left[k] * sizeof(*l->doc));
            memcpy(l->doc + l->n_left + from - before, l->scratch + from,
                   n_right * sizeof(*l->doc));
        }
    }
    return RW_OK;
}

static uint32_t split_large(struct rw_cpu *cpu, const struct rw_split *split)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    const int n_threads = cpu->host.base.n_threads;
    const uint32_t first = cpu->begin[split->slot];
    struct large_split l = {.parts = {cpu, cpu->n[split->slot], (uint32_t)n_threads},
                            .doc = cpu->doc + first,
                            .scratch = cpu->doc_scratch + first};
    set_turn(cpu, split, &l.turn);
    rw_parallel(ctx, n_threads, l.parts.n, 0, split_parts, &l);
    for (uint32_t k = 0; k < l.parts.n; k++)
        l.n_left += cpu->chunk_left[k];
    rw_parallel(ctx, n_threads, l.parts.n, 0, join_parts, &l);
    return l.n_left;
}

static int is_large(const struct rw_cpu *cpu, const struct rw_split *split)
{
    return cpu->host.base.n_threads > 1 && cpu->n[split->slot] >= PARALLEL_DOCS;
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
            if (!is_large(s->cpu, &s->split[i]))
                s->cpu->n[s->split[i].left] = split_small(s->cpu, &s->split[i]);
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
        if (is_large(cpu, &splits[i]))
            RW_TRY(set_children(cpu, &splits[i], split_large(cpu, &splits[i])));
        else
            docs += cpu->n[splits[i].slot];
    }
    struct small_splits small = {cpu, splits};
    rw_parallel(engine->ctx, rw_cpu_threads(cpu, docs), (uint64_t)n, 1, split_some, &small);
    for (int i = 0; i < n; i++) {
        if (!is_large(cpu, &splits[i]))
            RW_TRY(set_children(cpu, &splits[i], cpu->n[splits[i].left]));
    }
    return RW_OK;
}
