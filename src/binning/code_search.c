/* Finds the positions of values among ascending boundaries, by binary search, and counts positions.
 * The search has three paths with identical results: plain C, AVX2 and AVX-512. */
#include "binning/bins.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

enum { LEAST_LEVELS = 5 }; /* halvings whose 31 boundaries fit into two AVX-512 vectors */

void rw_code_search_init(struct rw_code_search *s, const uint32_t *bound, uint32_t n_bounds,
                         int absent_missing, uint32_t missing)
{
    s->n_levels = LEAST_LEVELS;
    while (((1u << s->n_levels) - 1) < n_bounds)
        s->n_levels++;
    for (uint32_t k = 0; k < 1u << s->n_levels; k++)
        s->bound[k] = k < n_bounds ? rw_ordered_of_key(bound[k]) : INT32_MAX;
    s->missing = missing;
    s->absent = absent_missing ? RW_MISSING_BITS : 0;
}

/* ---- plain ---- */

static inline int32_t ordered_of_bits(uint32_t bits)
{
    return (int32_t)(bits ^ ((uint32_t) - (int32_t)(bits >> 31) >> 1));
}

static inline int is_nan_bits(uint32_t bits)
{
    return (bits & 0x7fffffffu) > 0x7f800000u;
}

enum { LANES = 8 }; /* number of searches that run interleaved */

/* most: NULL, or the largest keys to update. `bytes` is a constant at each call. */
static inline __attribute__((always_inline)) void plain_lanes(const struct rw_code_search *s,
                                                              const float *value, size_t n,
                                                              size_t bytes, void *positions,
                                                              int32_t *most)
{
    uint32_t bits[LANES], at[LANES] = {0};
    int32_t key[LANES];
    for (size_t i = 0; i < LANES; i++) {
        bits[i] = i < n ? rw_bits_of_float(value[i]) : 0;
        bits[i] = bits[i] == RW_ABSENT_BITS ? s->absent : bits[i];
        key[i] = ordered_of_bits(bits[i]);
    }
    for (uint32_t step = 1u << (s->n_levels - 1); step; step >>= 1) {
        for (size_t i = 0; i < LANES; i++)
            at[i] += s->bound[at[i] + step - 1] <= key[i] ? step : 0;
    }
    for (size_t i = 0; i < LANES && i < n; i++) {
        const int is_nan = is_nan_bits(bits[i]);
        if (most && !is_nan && key[i] > most[at[i]])
            most[at[i]] = key[i];
        const uint32_t position = is_nan ? s->missing : at[i];
        rw_codes_put(positions, bytes, (uint32_t)i, position);
    }
}

static void run_plain(const struct rw_code_search *s, const float *value, size_t n, size_t bytes,
                      void *positions, int32_t *most)
{
    for (size_t i = 0; i < n; i += LANES) {
        const size_t now = n - i < LANES ? n - i : LANES;
        if (bytes == 1)
            plain_lanes(s, value + i, now, 1, (uint8_t *)positions + i, most);
        else
            plain_lanes(s, value + i, now, 2, (uint16_t *)positions + i, most);
    }
}

#if RW_HAS_X86

/* ---- AVX2 ---- */

/* The first three halvings read one vector, the others read memory. Several vectors are
 * interleaved, since each step of a search waits for the one before. */
enum { VECTORS = 4, LANES_AVX2 = 8 * VECTORS, LANES_AVX512 = 16 * VECTORS };

#define LOOKUP_AVX2 static inline __attribute__((always_inline)) RW_AVX2

/* Raises `most` to at least the keys of some lanes (elements of a vector): those whose bits are set
 * in `mask`. */
static inline void raise_most(unsigned mask, const int32_t *key, const int32_t *position,
                              int32_t *most)
{
    for (; mask; mask &= mask - 1) {
        const int i = __builtin_ctz(mask);
        if (key[i] > most[position[i]])
            most[position[i]] = key[i];
    }
}

LOOKUP_AVX2 void raise_avx2(int mask, __m256i key, __m256i at, int32_t *most)
{
    int32_t keys[8], positions[8];
    _mm256_storeu_si256((__m256i *)keys, key);
    _mm256_storeu_si256((__m256i *)positions, at);
    raise_most((unsigned)mask, keys, positions, most);
}

/* Finds the positions of VECTORS vectors of 8 values. */
LOOKUP_AVX2 void search_avx2(const struct rw_code_search *s, __m256i top, const float *value,
                             __m256i *at, int32_t *most)
{
    const __m256i absent = _mm256_set1_epi32((int)RW_ABSENT_BITS),
                  as = _mm256_set1_epi32((int)s->absent);
    const uint32_t below_top = s->n_levels - 3;
    __m256i key[VECTORS], is_nan[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        __m256i bits = _mm256_loadu_si256((const __m256i *)(value + 8 * v));
        bits = _mm256_blendv_epi8(bits, as, _mm256_cmpeq_epi32(bits, absent));
        is_nan[v] = _mm256_cmpgt_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)),
                                       _mm256_set1_epi32(0x7f800000));
        key[v] = _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
        at[v] = _mm256_setzero_si256();
    }
    for (int step = 4; step; step >>= 1) {
        for (int v = 0; v < VECTORS; v++) {
            const __m256i bound = _mm256_permutevar8x32_epi32(
                top, _mm256_add_epi32(at[v], _mm256_set1_epi32(step - 1)));
            at[v] = _mm256_add_epi32(at[v], _mm256_andnot_si256(_mm256_cmpgt_epi32(bound, key[v]),
                                                                _mm256_set1_epi32(step)));
        }
    }
    for (int v = 0; v < VECTORS; v++)
        at[v] = _mm256_sll_epi32(at[v], _mm_cvtsi32_si128((int)below_top));
    for (int step = 1 << (below_top - 1); step; step >>= 1) {
        for (int v = 0; v < VECTORS; v++) {
            const __m256i bound = _mm256_i32gather_epi32(s->bound + (step - 1), at[v], 4);
            at[v] = _mm256_add_epi32(at[v], _mm256_andnot_si256(_mm256_cmpgt_epi32(bound, key[v]),
                                                                _mm256_set1_epi32(step)));
        }
    }
    for (int v = 0; v < VECTORS; v++) {
        if (most) {
            const __m256i larger =
                _mm256_cmpgt_epi32(key[v], _mm256_i32gather_epi32(most, at[v], 4));
            const int mask =
                _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_andnot_si256(is_nan[v], larger)));
            if (mask)
                raise_avx2(mask, key[v], at[v], most);
        }
        at[v] = _mm256_blendv_epi8(at[v], _mm256_set1_epi32((int)s->missing), is_nan[v]);
    }
}

RW_AVX2 static size_t run_avx2(const struct rw_code_search *s, const float *value, size_t n,
                               size_t bytes, void *positions, int32_t *most)
{
    int32_t tops[8];
    const uint32_t below_top = s->n_levels - 3;
    for (uint32_t k = 0; k < 8; k++)
        tops[k] = s->bound[((k + 1) << below_top) - 1];
    const __m256i top = _mm256_loadu_si256((const __m256i *)tops);
    /* packing works within halves, so this restores the order of the 32 bytes */
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    size_t i = 0;
    for (; i + LANES_AVX2 <= n; i += LANES_AVX2) {
        __m256i at[VECTORS];
        if (most)
            search_avx2(s, top, value + i, at, most);
        else
            search_avx2(s, top, value + i, at, NULL);
        const __m256i a = _mm256_packus_epi32(at[0], at[1]), b = _mm256_packus_epi32(at[2], at[3]);
        if (bytes == 1) {
            const __m256i c = _mm256_packus_epi16(a, b);
            _mm256_storeu_si256((__m256i *)((uint8_t *)positions + i),
                                _mm256_permutevar8x32_epi32(c, order));
        } else {
            uint16_t *to = (uint16_t *)positions + i;
            _mm256_storeu_si256((__m256i *)to, _mm256_permute4x64_epi64(a, 0xd8));
            _mm256_storeu_si256((__m256i *)(to + 16), _mm256_permute4x64_epi64(b, 0xd8));
        }
    }
    return i;
}

/* ---- AVX-512 ---- */

#define LOOKUP_AVX512 static inline __attribute__((always_inline)) RW_AVX512

LOOKUP_AVX512 void raise_avx512(unsigned mask, __m512i key, __m512i at, int32_t *most)
{
    int32_t keys[16], positions[16];
    _mm512_storeu_si512(keys, key);
    _mm512_storeu_si512(positions, at);
    raise_most(mask, keys, positions, most);
}

/* Finds the positions of VECTORS vectors of 16 values. The first five halvings read two vectors. */
LOOKUP_AVX512 void search_avx512(const struct rw_code_search *s, __m512i top, __m512i top2,
                                 const float *value, __m512i *at, int32_t *most)
{
    const uint32_t below_top = s->n_levels - 5;
    __m512i key[VECTORS];
    __mmask16 is_nan[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        __m512i bits = _mm512_loadu_si512(value + 16 * v);
        bits = _mm512_mask_set1_epi32(
            bits, _mm512_cmpeq_epi32_mask(bits, _mm512_set1_epi32((int)RW_ABSENT_BITS)),
            (int)s->absent);
        is_nan[v] = _mm512_cmpgt_epi32_mask(_mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff)),
                                            _mm512_set1_epi32(0x7f800000));
        key[v] = _mm512_xor_si512(bits, _mm512_srli_epi32(_mm512_srai_epi32(bits, 31), 1));
        at[v] = _mm512_setzero_si512();
    }
    for (int step = 16; step; step >>= 1) {
        for (int v = 0; v < VECTORS; v++) {
            const __m512i bound = _mm512_permutex2var_epi32(
                top, _mm512_add_epi32(at[v], _mm512_set1_epi32(step - 1)), top2);
            at[v] = _mm512_mask_add_epi32(at[v], _mm512_cmple_epi32_mask(bound, key[v]), at[v],
                                          _mm512_set1_epi32(step));
        }
    }
    for (int v = 0; v < VECTORS; v++)
        at[v] = _mm512_sll_epi32(at[v], _mm_cvtsi32_si128((int)below_top));
    for (int step = below_top ? 1 << (below_top - 1) : 0; step; step >>= 1) {
        for (int v = 0; v < VECTORS; v++) {
            const __m512i bound = _mm512_i32gather_epi32(at[v], s->bound + (step - 1), 4);
            at[v] = _mm512_mask_add_epi32(at[v], _mm512_cmple_epi32_mask(bound, key[v]), at[v],
                                          _mm512_set1_epi32(step));
        }
    }
    for (int v = 0; v < VECTORS; v++) {
        if (most) {
            const unsigned mask = _mm512_mask_cmpgt_epi32_mask(
                (__mmask16)~is_nan[v], key[v], _mm512_i32gather_epi32(at[v], most, 4));
            if (mask)
                raise_avx512(mask, key[v], at[v], most);
        }
        at[v] = _mm512_mask_set1_epi32(at[v], is_nan[v], (int)s->missing);
    }
}

RW_AVX512 static size_t run_avx512(const struct rw_code_search *s, const float *value, size_t n,
                                   size_t bytes, void *positions, int32_t *most)
{
    int32_t tops[32];
    const uint32_t below_top = s->n_levels - 5;
    for (uint32_t k = 0; k < 32; k++)
        tops[k] = s->bound[((k + 1) << below_top) - 1];
    const __m512i top = _mm512_loadu_si512(tops), top2 = _mm512_loadu_si512(tops + 16);
    size_t i = 0;
    for (; i + LANES_AVX512 <= n; i += LANES_AVX512) {
        __m512i at[VECTORS];
        if (most)
            search_avx512(s, top, top2, value + i, at, most);
        else
            search_avx512(s, top, top2, value + i, at, NULL);
        for (size_t v = 0; v < VECTORS; v++) {
            if (bytes == 1)
                _mm_storeu_si128((__m128i *)((uint8_t *)positions + i + 16 * v),
                                 _mm512_cvtepi32_epi8(at[v]));
            else
                _mm256_storeu_si256((__m256i *)((uint16_t *)positions + i + 16 * v),
                                    _mm512_cvtepi32_epi16(at[v]));
        }
    }
    return i;
}

#endif

/* ---- all paths ---- */

void rw_code_search_run(enum rw_isa isa, const struct rw_code_search *s, const float *value,
                        size_t n, size_t bytes, void *positions, int32_t *most)
{
    size_t done = 0;
#if RW_HAS_X86
    if (isa == RW_ISA_AVX512)
        done = run_avx512(s, value, n, bytes, positions, most);
    else if (isa == RW_ISA_AVX2)
        done = run_avx2(s, value, n, bytes, positions, most);
#endif
    (void)isa;
    if (done < n) /* the arrays may be NULL if n is 0 */
        run_plain(s, value + done, n - done, bytes, (uint8_t *)positions + done * bytes, most);
}

void rw_code_count(const void *positions, size_t n, size_t bytes, uint32_t n_positions,
                   uint32_t *counts)
{
    enum { TABLES = 4, FEW = 256 };
    if (bytes == 2) {
        for (size_t i = 0; i < n; i++)
            counts[((const uint16_t *)positions)[i]]++;
        return;
    }
    /* several tables, so that adjacent equal positions do not wait for each other */
    uint32_t part[TABLES][FEW] = {0};
    const uint8_t *position = positions;
    size_t i = 0;
    for (; i + TABLES <= n; i += TABLES) {
        for (size_t t = 0; t < TABLES; t++)
            part[t][position[i + t]]++;
    }
    for (; i < n; i++)
        part[0][position[i]]++;
    for (uint32_t c = 0; c < n_positions && c < FEW; c++)
        counts[c] += part[0][c] + part[1][c] + part[2][c] + part[3][c];
}
