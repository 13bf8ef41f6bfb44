/* Adds documents to histogram cells: what most of a tree's time goes to. A processor stores to one
 * place a cycle, so the number of additions decides: documents that have the frequent codes of all
 * bundles are left out, and a cell's words are added at once. A pass adds to a few bundles only,
 * whose cells then stay in the nearest cache. */
#include "base/isa.h"
#include "tree/host/engine_cpu.h"
#if RW_HAS_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
typedef int64_t pair __attribute__((vector_size(16)));

INLINE void add_cell(int64_t *cell, const int64_t *word, size_t n_words)
{
    if (n_words == 1) {
        cell[0] += word[0];
    } else {
        pair sum, by;
        memcpy(&sum, cell, sizeof(sum));
        memcpy(&by, word, sizeof(by));
        sum += by;
        memcpy(cell, &sum, sizeof(sum));
        if (n_words == 3)
            cell[2] += word[2];
    }
}

/* All bundles of n documents, codes [n]. */
INLINE void add_bundles(const struct rw_cpu_add *add, const int64_t *word, uint32_t n,
                        size_t n_words, uint32_t n_bundles)
{
    enum { STEP = RW_CPU_NARROW };
    int64_t *const cell = add->cell;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t codes = add->codes[i];
        int64_t own[3];
        for (size_t k = 0; k < n_words; k++)
            own[k] = word[i * n_words + k];
        for (uint32_t c = 0; c < n_bundles; c++)
            add_cell(cell + ((codes >> (8 * c) & 255) + c * STEP) * n_words, own, n_words);
    }
}

/* The documents with other codes than the frequent ones move to the front of `codes`, their words
 * to `kept`; rest: what the others' words add up to. Returns how many are left. */
INLINE uint32_t keep_plain(const struct rw_cpu_add *add, size_t n_words, int64_t *kept,
                           int64_t *rest)
{
    const uint64_t frequent = add->pass->frequent;
    uint32_t left = 0;
    for (uint32_t i = 0; i < add->n; i++) {
        const uint64_t codes = add->codes[i];
        const int64_t is_rest = -(int64_t)(codes == frequent);
        add->codes[left] = codes;
        for (size_t k = 0; k < n_words; k++) {
            const int64_t word = add->word[i * n_words + k];
            kept[left * n_words + k] = word;
            rest[k] += word & is_rest;
        }
        left += (uint32_t)(1 + is_rest);
    }
    return left;
}

#if RW_HAS_X86
/* Eight documents at once. What is stored past the last of them has been read before. */
RW_AVX512 static uint32_t keep_avx512(const struct rw_cpu_add *add, int n_words, int64_t *kept,
                                      int64_t *rest)
{
    const __m512i frequent = _mm512_set1_epi64((int64_t)add->pass->frequent);
    __m512i rest_low = _mm512_setzero_si512(), rest_high = rest_low;
    uint32_t left = 0;
    for (uint32_t i = 0; i < add->n; i += 8) {
        const uint32_t n = add->n - i;
        const __mmask8 inside = n < 8 ? (__mmask8)((1u << n) - 1) : 0xff;
        const __m512i codes = _mm512_maskz_loadu_epi64(inside, add->codes + i);
        const __mmask8 keep = _mm512_mask_cmpneq_epi64_mask(inside, codes, frequent);
        const __mmask8 away = (__mmask8)(inside & ~keep);
        _mm512_storeu_si512(add->codes + left, _mm512_maskz_compress_epi64(keep, codes));
        if (n_words == 1) {
            const __m512i word = _mm512_maskz_loadu_epi64(inside, add->word + i);
            rest_low = _mm512_mask_add_epi64(rest_low, away, rest_low, word);
            _mm512_storeu_si512(kept + left, _mm512_maskz_compress_epi64(keep, word));
        } else { /* two words each: four documents, then four */
            const __mmask16 own = (__mmask16)(_pdep_u32(inside, 0x5555) * 3);
            const __mmask16 kept_own = (__mmask16)(_pdep_u32(keep, 0x5555) * 3);
            const __mmask16 gone = (__mmask16)(own & ~kept_own);
            const __m512i low = _mm512_maskz_loadu_epi64((__mmask8)own, add->word + 2 * i);
            const __m512i high =
                _mm512_maskz_loadu_epi64((__mmask8)(own >> 8), add->word + 2 * i + 8);
            rest_low = _mm512_mask_add_epi64(rest_low, (__mmask8)gone, rest_low, low);
            rest_high = _mm512_mask_add_epi64(rest_high, (__mmask8)(gone >> 8), rest_high, high);
            int64_t *to = kept + 2 * left;
            _mm512_storeu_si512(to, _mm512_maskz_compress_epi64((__mmask8)kept_own, low));
            to += 2 * _mm_popcnt_u32(keep & 15);
            _mm512_storeu_si512(to, _mm512_maskz_compress_epi64((__mmask8)(kept_own >> 8), high));
        }
        left += (uint32_t)_mm_popcnt_u32(keep);
    }
    int64_t sum[8];
    _mm512_storeu_si512(sum, _mm512_add_epi64(rest_low, rest_high));
    for (int i = 0; i < 8; i++)
        rest[n_words == 1 ? 0 : i % 2] += sum[i];
    return left;
}
#endif

/* What the documents with the frequent codes add goes to each bundle's cell of them. */
INLINE uint32_t pass_over(const struct rw_cpu_add *add, size_t n_words, int64_t *kept)
{
    const struct rw_cpu_pass *pass = add->pass;
    int64_t rest[3] = {0, 0, 0};
    uint32_t left;
#if RW_HAS_X86
    if (add->isa == RW_ISA_AVX512 && n_words < 3)
        left = keep_avx512(add, (int)n_words, kept, rest);
    else
#endif
        left = keep_plain(add, n_words, kept, rest);
    for (uint32_t c = 0; c < pass->n; c++)
        add_cell(add->cell + ((pass->frequent >> (8 * c) & 255) + c * RW_CPU_NARROW) * n_words,
                 rest, n_words);
    return left;
}

INLINE void add_narrow(const struct rw_cpu_add *add, size_t n_words)
{
    int64_t kept[RW_CPU_DOCS * 3 + 8]; /* vectors reach past the last one */
    const int64_t *word = add->word;
    uint32_t n = add->n;
    if (add->pass->skips) {
        n = pass_over(add, n_words, kept);
        word = kept;
    }
    switch (add->pass->n) {
    case 1:
        add_bundles(add, word, n, n_words, 1);
        break;
    case 2:
        add_bundles(add, word, n, n_words, 2);
        break;
    case 3:
        add_bundles(add, word, n, n_words, 3);
        break;
    case 4:
        add_bundles(add, word, n, n_words, 4);
        break;
    case 5:
        add_bundles(add, word, n, n_words, 5);
        break;
    case 6:
        add_bundles(add, word, n, n_words, 6);
        break;
    case 7:
        add_bundles(add, word, n, n_words, 7);
        break;
    default:
        add_bundles(add, word, n, n_words, 8);
    }
}

INLINE void add_wide(const struct rw_cpu_add *add, size_t n_words)
{
    const struct rw_cpu_group *group = add->pass->group;
    const uint32_t *place = group->active + add->pass->first;
    const uint32_t n_bundles = add->pass->n;
    for (uint32_t i = 0; i < add->n; i++) {
        const uint16_t *row = (const void *)(group->row + add->doc[i] * group->stride);
        for (uint32_t c = 0; c < n_bundles; c++)
            add_cell(add->cell + (row[place[c]] + c * RW_CPU_WIDE) * n_words,
                     add->word + i * n_words, n_words);
    }
}

INLINE void add_words(const struct rw_cpu_add *add, size_t n_words)
{
    if (add->pass->group->bytes == 2)
        add_wide(add, n_words);
    else
        add_narrow(add, n_words);
}

void rw_cpu_add_docs(const struct rw_cpu_add *add)
{
    if (add->n_words == 1)
        add_words(add, 1);
    else if (add->n_words == 2)
        add_words(add, 2);
    else
        add_words(add, 3);
}
