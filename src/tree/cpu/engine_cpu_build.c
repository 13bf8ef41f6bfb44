/* Builds histogram cells on processors, where most of a tree's time is spent. A thread gathers the
 * codes of documents and adds the documents' words to its own cells. A pass has few bundles, so its
 * cells stay in the first-level cache. A processor stores about one word per cycle, so the number
 * of additions decides the speed. Therefore each document's contribution is one word, and a pass
 * can leave out the documents that have the frequent codes of all its bundles. engine_cpu.h
 * explains bundles, passes and words. */
#include "tree/cpu/engine_cpu.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* ---- a pass ---- */

/* Rows to prefetch, which will be gathered next. Now and then while other documents are added, the
 * cache lines of one row are prefetched. */
struct prefetching {
    const uint8_t *row; /* row of document 0, from the first code on */
    size_t stride;
    const uint32_t *doc;     /* [n] */
    uint32_t at, n, n_lines; /* next prefetch: n_lines cache lines of the row of doc[at] */
};

/* Documents to add to the cells of a pass. */
struct addition {
    const struct rw_cpu_pass *pass;
    /* [n] words of 8 codes of one byte each, the first in the lowest byte; not for codes of two
     * bytes. They are overwritten, and so are up to 8 words after them. */
    uint64_t *codes;
    const uint32_t *doc; /* [n] */
    uint32_t n;
    enum rw_isa isa;
    const int64_t *word; /* [n] */
    int64_t *cell;       /* [bundles][step] */
    struct prefetching *prefetching;
};

/* Prefetches the next row, if any. */
INLINE void prefetch_lines(struct prefetching *prefetching)
{
    enum { LINE = 64 };
    if (prefetching->at == prefetching->n)
        return;
    const uint8_t *row =
        prefetching->row + prefetching->doc[prefetching->at++] * prefetching->stride;
    for (uint32_t line = 0; line < prefetching->n_lines; line++)
        __builtin_prefetch(row + (size_t)line * LINE, 0, 2);
}

/* Adds n documents to bundles [first, first + n_bundles) of the pass. */
INLINE void add_bundles(const struct addition *add, const int64_t *word, uint32_t n, uint32_t first,
                        uint32_t n_bundles)
{
    enum { STEP = RW_CPU_NARROW };
    int64_t *const cell = add->cell + first * STEP;
    for (uint32_t i = 0; i < n; i++) {
        if (i % 8 == 0)
            prefetch_lines(add->prefetching);
        const uint64_t codes = add->codes[i] >> (8 * first);
        const int64_t own = word[i];
        for (uint32_t c = 0; c < n_bundles; c++)
            cell[(codes >> (8 * c) & 255) + c * STEP] += own;
    }
}

/* Moves the documents that differ from the frequent codes to the front of `codes`, and their words
 * to `kept`. Adds the other documents' words to *rest, which is 0 before. Returns how many
 * documents differ. */
static uint32_t keep_plain(const struct addition *add, int64_t *kept, int64_t *rest)
{
    const uint64_t frequent = add->pass->frequent;
    uint32_t left = 0;
    for (uint32_t i = 0; i < add->n; i++) {
        const uint64_t codes = add->codes[i];
        const int64_t is_rest = -(int64_t)(codes == frequent);
        add->codes[left] = codes;
        kept[left] = add->word[i];
        *rest += add->word[i] & is_rest;
        left += (uint32_t)(1 + is_rest);
    }
    return left;
}

#if RW_HAS_X86
/* Does the work of keep_plain for eight documents at once. It may store up to 8 words past the last
 * document, for which `codes` and `kept` have room, or where the input was already read. */
RW_AVX512 static uint32_t keep_avx512(const struct addition *add, int64_t *kept, int64_t *rest)
{
    const __m512i frequent = _mm512_set1_epi64((int64_t)add->pass->frequent);
    __m512i sum = _mm512_setzero_si512();
    uint32_t left = 0;
    for (uint32_t i = 0; i < add->n; i += 8) {
        const uint32_t n = add->n - i;
        const __mmask8 inside = n < 8 ? (__mmask8)((1u << n) - 1) : 0xff;
        const __m512i codes = _mm512_maskz_loadu_epi64(inside, add->codes + i);
        const __m512i word = _mm512_maskz_loadu_epi64(inside, add->word + i);
        const __mmask8 keep = _mm512_mask_cmpneq_epi64_mask(inside, codes, frequent);
        _mm512_storeu_si512(add->codes + left, _mm512_maskz_compress_epi64(keep, codes));
        _mm512_storeu_si512(kept + left, _mm512_maskz_compress_epi64(keep, word));
        sum = _mm512_mask_add_epi64(sum, (__mmask8)(inside & ~keep), sum, word);
        left += (uint32_t)_mm_popcnt_u32(keep);
    }
    *rest = _mm512_reduce_add_epi64(sum);
    return left;
}
#endif

/* Leaves out the documents with the frequent codes, and adds their sum to the cell of the frequent
 * code of each bundle. Returns how many documents remain. */
static uint32_t pass_over(const struct addition *add, int64_t *kept)
{
    const struct rw_cpu_pass *pass = add->pass;
    int64_t rest = 0;
    uint32_t left;
#if RW_HAS_X86
    if (add->isa == RW_ISA_AVX512)
        left = keep_avx512(add, kept, &rest);
    else
#endif
        left = keep_plain(add, kept, &rest);
    for (uint32_t c = 0; c < pass->n; c++)
        add->cell[(pass->frequent >> (8 * c) & 255) + c * RW_CPU_NARROW] += rest;
    return left;
}

/* Adds documents to the cells of a pass of one-byte codes. */
static void add_narrow(const struct addition *add)
{
    int64_t kept[RW_CPU_DOCS + 8]; /* vectors store past the last one */
    const int64_t *word = add->word;
    uint32_t n = add->n;
    if (add->pass->skips) {
        n = pass_over(add, kept);
        word = kept;
    }
    const uint32_t n_bundles = add->pass->n; /* 8, or fewer in the group's last pass */
    if (n_bundles & 8)
        add_bundles(add, word, n, 0, 8);
    if (n_bundles & 4)
        add_bundles(add, word, n, 0, 4);
    if (n_bundles & 2)
        add_bundles(add, word, n, n_bundles & 4, 2);
    if (n_bundles & 1)
        add_bundles(add, word, n, n_bundles & 6, 1);
}

/* Adds documents to the cells of a pass of two-byte codes, which are read from the rows. */
static void add_wide(const struct addition *add)
{
    enum { AHEAD = 8 };
    const struct rw_cpu_group *group = add->pass->group;
    const uint32_t *active = group->active + add->pass->first, n = add->pass->n;
    for (uint32_t i = 0; i < add->n; i++) {
        const uint16_t *row = (const void *)(group->row + add->doc[i] * group->stride);
        const uint16_t *next =
            (const void *)(group->row +
                           add->doc[i + AHEAD < add->n ? i + AHEAD : i] * group->stride);
        __builtin_prefetch(next + active[0]);
        __builtin_prefetch(next + active[n - 1]);
        for (uint32_t c = 0; c < n; c++)
            add->cell[row[active[c]] + c * RW_CPU_WIDE] += add->word[i];
    }
}

/* ---- a slice ---- */

/* Documents whose codes are gathered. */
struct gathering {
    struct rw_cpu_view view;
    const uint32_t *active;
    const uint32_t *doc; /* [n] */
    uint32_t n;
    uint32_t first, last; /* range of the active bundles of the passes, without `last` */
    size_t at, end;       /* range of bytes of a row that are read, without `end` */
    uint64_t *to;         /* [passes][RW_CPU_GATHERED] */
};

/* Returns the gathering of passes [from, end), all of one-byte codes. */
static struct gathering gathering_of(const struct rw_cpu *cpu, uint32_t from, uint32_t end,
                                     uint64_t *to)
{
    const struct rw_cpu_group *group = &cpu->group[0];
    struct gathering g = {.view = group->view,
                          .active = group->active,
                          .first = cpu->pass[from].first,
                          .last = cpu->pass[end - 1].first + cpu->pass[end - 1].n,
                          .to = to};
    g.at = g.view.in_order ? g.first : g.active[g.first];
    g.end = (g.view.in_order ? g.last - 1 : g.active[g.last - 1]) + 1;
    return g;
}

/* Prefetches the row of the document that is AHEAD after document i in the list. */
INLINE void prefetch_row(const struct gathering *g, uint32_t i)
{
    enum { AHEAD = 12, LINE = 64 };
    const uint8_t *row = g->view.row + g->doc[i + AHEAD < g->n ? i + AHEAD : i] * g->view.stride;
    for (size_t at = g->at; at < g->end; at += LINE)
        __builtin_prefetch(row + at);
    __builtin_prefetch(row + g->end - 1);
}

/* Gathers the codes of the list's documents from index `from` on, 8 codes per word, pass by pass.
 * Each row is prefetched and read once. The codes that a pass reads are then contiguous. */
static void gather_plain(const struct gathering *g, uint32_t from)
{
    for (uint32_t i = from; i < g->n; i++) {
        const uint8_t *row = g->view.row + g->doc[i] * g->view.stride;
        prefetch_row(g, i);
        uint64_t *to = g->to + i;
        uint32_t c = g->first;
        for (; g->view.in_order && c + RW_CPU_PASS_BUNDLES <= g->last;
             c += RW_CPU_PASS_BUNDLES, to += RW_CPU_GATHERED)
            memcpy(to, row + c, RW_CPU_PASS_BUNDLES);
        for (; c < g->last; c += RW_CPU_PASS_BUNDLES, to += RW_CPU_GATHERED) {
            uint64_t codes = 0;
            for (uint32_t k = 0; k < RW_CPU_PASS_BUNDLES && c + k < g->last; k++)
                codes |= (uint64_t)row[g->view.in_order ? c + k : g->active[c + k]] << (8 * k);
            *to = codes;
        }
    }
}

#if RW_HAS_X86
/* Transposes an 8 x 8 matrix of words. */
RW_AVX512 static inline void transpose(__m512i *a)
{
    __m512i b[8];
    for (int i = 0; i < 8; i += 2) {
        b[i] = _mm512_unpacklo_epi64(a[i], a[i + 1]); /* words 0, 2, 4, 6 */
        b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 1]);
    }
    for (int odd = 0; odd < 2; odd++) {
        const __m512i low = _mm512_shuffle_i64x2(b[odd], b[2 + odd], 0x88); /* words 0, 4 */
        const __m512i low2 = _mm512_shuffle_i64x2(b[odd], b[2 + odd], 0xdd);
        const __m512i high = _mm512_shuffle_i64x2(b[4 + odd], b[6 + odd], 0x88);
        const __m512i high2 = _mm512_shuffle_i64x2(b[4 + odd], b[6 + odd], 0xdd);
        a[odd] = _mm512_shuffle_i64x2(low, high, 0x88);
        a[4 + odd] = _mm512_shuffle_i64x2(low, high, 0xdd);
        a[2 + odd] = _mm512_shuffle_i64x2(low2, high2, 0x88);
        a[6 + odd] = _mm512_shuffle_i64x2(low2, high2, 0xdd);
    }
}

/* Gathers n words of codes, from word w of the gathered range on, of eight documents of the list,
 * from index i on. */
RW_AVX512 INLINE void gather_words(const struct gathering *g, uint32_t i, uint32_t w, uint32_t n)
{
    const uint8_t *row = g->view.row + g->first + 8 * (size_t)w;
    uint64_t *to = g->to + (size_t)w * RW_CPU_GATHERED + i;
    __m512i a[8];
    for (uint32_t k = 0; k < 8; k++)
        a[k] = _mm512_maskz_loadu_epi64((__mmask8)(0xff >> (8 - n)),
                                        row + g->doc[i + k] * g->view.stride);
    transpose(a);
    for (uint32_t k = 0; k < 8; k++) {
        if (k < n)
            _mm512_storeu_si512(to + k * RW_CPU_GATHERED, a[k]);
    }
}

/* Gathers eight documents at a time, as long as eight are left. in_order of the view must be 1.
 * Returns how many documents it gathered. */
RW_AVX512 static uint32_t gather_avx512(const struct gathering *g)
{
    const uint32_t n_words = (g->last - g->first + 7) / 8, rest = (g->last - g->first) % 8;
    const __m512i last_codes = _mm512_set1_epi64(((int64_t)1 << (8 * rest)) - 1);
    uint64_t *const last = g->to + (size_t)(n_words - 1) * RW_CPU_GATHERED;
    uint32_t i = 0;
    for (; i + 8 <= g->n; i += 8) {
        for (uint32_t k = 0; k < 8; k++)
            prefetch_row(g, i + k);
        uint32_t w = 0;
        for (; w + 8 <= n_words; w += 8)
            gather_words(g, i, w, 8);
        if (w < n_words)
            gather_words(g, i, w, n_words - w);
        if (rest) /* clears later bytes, which would hide the frequent codes */
            _mm512_storeu_si512(last + i,
                                _mm512_and_si512(_mm512_loadu_si512(last + i), last_codes));
    }
    return i;
}
#endif

uint32_t rw_cpu_slice_end(const struct rw_cpu *cpu, uint32_t from, uint32_t end)
{
    uint32_t cells = 0, at = from;
    while (at < end && at - from < RW_CPU_PASSES &&
           cells + cpu->pass[at].step * RW_CPU_PASS_BUNDLES <= RW_CPU_BUILT)
        cells += cpu->pass[at++].step * RW_CPU_PASS_BUNDLES;
    return at;
}

/* Clears the cells, of n_words words each, of passes [from, end). */
static void clear_cells(const struct rw_cpu *cpu, uint32_t from, uint32_t end, size_t n_words,
                        int64_t *cell)
{
    for (uint32_t p = from; p < end; p++) {
        const struct rw_cpu_pass *pass = &cpu->pass[p];
        for (uint32_t c = 0; c < pass->n; c++)
            memset(cell + c * pass->step * n_words, 0,
                   rw_cpu_filled_up(rw_cpu_bundle_of(pass, c)->n_codes) * n_words *
                       sizeof(int64_t));
        cell += RW_CPU_PASS_BUNDLES * pass->step * n_words;
    }
}

/* Adds documents' words to b->narrow. Returns the sum of all words. */
static int64_t add_docs(const struct rw_cpu *cpu, const struct rw_cpu_building *b,
                        const uint32_t *doc, uint32_t n)
{
    enum { AHEAD = 24 };
    const uint32_t from = b->from, end = b->end;
    uint64_t *gathered = cpu->gathered + (size_t)b->thread * RW_CPU_PASSES * RW_CPU_GATHERED;
    int64_t word[RW_CPU_DOCS], sum = 0;
    struct prefetching prefetching = {0};
    struct addition add = {.isa = cpu->host.isa, .word = word, .prefetching = &prefetching};
    struct gathering g;
    uint32_t narrow = from;
    for (uint32_t p = from; p < end; p++)
        narrow += cpu->pass[p].group->bytes == 1;
    if (narrow > from) {
        g = gathering_of(cpu, from, narrow, gathered);
        prefetching.row = g.view.row + g.at;
        prefetching.n_lines = (uint32_t)((g.end - g.at + 63) / 64);
        prefetching.stride = g.view.stride;
    }
    for (uint32_t first = 0; first < n; first += RW_CPU_DOCS) {
        add.n = n - first < RW_CPU_DOCS ? n - first : RW_CPU_DOCS;
        add.doc = doc + first;
        for (uint32_t i = 0; i < add.n; i++) {
            __builtin_prefetch(cpu->word + add.doc[i + AHEAD < add.n ? i + AHEAD : i]);
            word[i] = cpu->word[add.doc[i]];
            sum += word[i];
        }
        if (narrow > from) {
            uint32_t done = 0;
            g.doc = add.doc;
            g.n = add.n;
#if RW_HAS_X86
            if (add.isa == RW_ISA_AVX512 && g.view.in_order)
                done = gather_avx512(&g);
#endif
            gather_plain(&g, done);
            const uint32_t next = n - first - add.n;
            prefetching.doc = add.doc + add.n;
            prefetching.at = 0;
            prefetching.n = next < RW_CPU_DOCS ? next : RW_CPU_DOCS;
        }
        add.cell = b->narrow;
        for (uint32_t p = from; p < end; p++) {
            add.pass = &cpu->pass[p];
            add.codes = gathered + (size_t)(p - from) * RW_CPU_GATHERED;
            (add.pass->group->bytes == 2 ? add_wide : add_narrow)(&add);
            add.cell += RW_CPU_PASS_BUNDLES * add.pass->step;
        }
    }
    return sum;
}

/* Returns 1 if sums of documents' words already have the layout `words`, for any number of
 * documents: they are packed words of mart. */
static int are_kept(const struct rw_cpu_words *words)
{
    return words->packed && !words->newton;
}

void rw_cpu_build_start(const struct rw_cpu *cpu, int thread, uint32_t from, uint32_t end,
                        struct rw_cpu_building *b)
{
    int64_t *wide = cpu->built + (size_t)thread * RW_CPU_BUILT * cpu->built_words, *narrow = wide;
    if (!are_kept(&cpu->words))
        narrow += (size_t)RW_CPU_BUILT * (size_t)cpu->words.n_words;
    *b = (struct rw_cpu_building){
        .thread = thread, .from = from, .end = end, .narrow = narrow, .wide = wide};
    clear_cells(cpu, from, end, 1, b->narrow);
}

/* Adds the sums of narrow cells to the wide ones. */
static void widen_cells(const struct rw_cpu *cpu, struct rw_cpu_building *b)
{
    const size_t n_words = (size_t)cpu->words.n_words;
    const int64_t *sum = b->narrow;
    int64_t *cells = b->wide;
    if (!b->is_wide)
        clear_cells(cpu, b->from, b->end, n_words, b->wide);
    for (uint32_t p = b->from; p < b->end; p++) {
        const struct rw_cpu_pass *pass = &cpu->pass[p];
        for (uint32_t c = 0; c < pass->n; c++) {
            const size_t at = c * (size_t)pass->step;
            rw_cpu_widen(&cpu->words, sum + at,
                         rw_cpu_filled_up(rw_cpu_bundle_of(pass, c)->n_codes),
                         cells + n_words * at);
        }
        sum += RW_CPU_PASS_BUNDLES * (size_t)pass->step;
        cells += RW_CPU_PASS_BUNDLES * (size_t)pass->step * n_words;
    }
    b->is_wide = 1;
    b->n_narrow = 0;
}

void rw_cpu_build_add(const struct rw_cpu *cpu, struct rw_cpu_building *b, const uint32_t *doc,
                      uint32_t n)
{
    const struct rw_cpu_words *words = &cpu->words;
    for (uint32_t i = 0, more; i < n; i += more) {
        more = n - i;
        if (!are_kept(words)) {
            if (b->n_narrow == words->most_docs) {
                widen_cells(cpu, b);
                clear_cells(cpu, b->from, b->end, 1, b->narrow);
            }
            const uint32_t room = words->most_docs - b->n_narrow;
            more = more < room ? more : room;
        }
        const int64_t all = add_docs(cpu, b, doc + i, more);
        rw_cpu_widen(words, &all, 1, b->sum);
        b->n_narrow += more;
    }
}

const int64_t *rw_cpu_build_end(const struct rw_cpu *cpu, struct rw_cpu_building *b, int narrow)
{
    if ((narrow && !b->is_wide) || are_kept(&cpu->words))
        return b->narrow;
    widen_cells(cpu, b);
    return b->wide;
}
