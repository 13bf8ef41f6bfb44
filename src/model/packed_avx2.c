/* A packed model's documents by AVX2: a byte a document, 32 of them a vector. */
#include "model/packed.h"

#if RW_HAS_X86

#include <immintrin.h>

enum { TOGETHER = 4 }; /* vectors of values, so that one's loads are under way during another's */

/* Goes on by `step` to where the cut is below the value. */
RW_AVX2 static inline __m256i go_on(__m256i at, __m256i next, __m256 cut, __m256 value)
{
    const __m256 is_below = _mm256_cmp_ps(cut, value, _CMP_LT_OQ);
    return _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(at), _mm256_castsi256_ps(next), is_below));
}

/* Cuts below each of 8 values, of several vectors; 0 of a NaN. Every fourth pivot stays in a
 * register for the first three steps. */
RW_AVX2 static inline void rank_all(const float *pivot, uint32_t rest, const __m256 *value,
                                    __m256i *at)
{
    const __m256 top =
        _mm256_i32gather_ps(pivot, _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28), 4);
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm256_setzero_si256();
    for (int step = 4; step > 0; step /= 2) {
        _Pragma("GCC unroll 4") for (int v = 0; v < TOGETHER; v++)
        {
            const __m256i next = _mm256_or_si256(at[v], _mm256_set1_epi32(step));
            at[v] = go_on(at[v], next, _mm256_permutevar8x32_ps(top, next), value[v]);
        }
    }
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm256_slli_epi32(at[v], 2);
    for (int step = 2; step > 0; step /= 2) {
        _Pragma("GCC unroll 4") for (int v = 0; v < TOGETHER; v++)
        {
            const __m256i next = _mm256_or_si256(at[v], _mm256_set1_epi32(step));
            at[v] = go_on(at[v], next, _mm256_i32gather_ps(pivot, next, 4), value[v]);
        }
    }
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm256_sll_epi32(at[v], _mm_cvtsi32_si128((int)rest));
    for (int step = (1 << rest) / 2; step > 0; step /= 2) {
        _Pragma("GCC unroll 4") for (int v = 0; v < TOGETHER; v++)
        {
            const float *cut = pivot + RW_PACKED_PIVOTS - 1;
            const __m256i next = _mm256_or_si256(at[v], _mm256_set1_epi32(step));
            at[v] = go_on(at[v], next, _mm256_i32gather_ps(cut, next, 4), value[v]);
        }
    }
}

RW_AVX2 static inline void add_8(double *score, __m256 value)
{
    const __m256d first = _mm256_cvtps_pd(_mm256_castps256_ps128(value));
    const __m256d second = _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));
    _mm256_storeu_pd(score, _mm256_add_pd(_mm256_loadu_pd(score), first));
    _mm256_storeu_pd(score + 4, _mm256_add_pd(_mm256_loadu_pd(score + 4), second));
}

#define WIDEN_8(p)  _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p)))
#define WIDEN_16(p) _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i *)(p)))

/* Codes of 8 documents. */
RW_AVX2 static inline void narrow_16(uint16_t *code, __m256i rank)
{
    const __m256i packed = _mm256_packus_epi32(rank, rank);
    _mm_store_si128((__m128i *)code,
                    _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}

RW_AVX2 static inline void narrow_8(uint8_t *code, __m256i rank)
{
    const __m256i packed = _mm256_packus_epi32(rank, rank);
    const __m128i words = _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
    _mm_storel_epi64((__m128i *)code, _mm_packus_epi16(words, words));
}

#define DEFINE_AVX2(code_type, bits)                                                               \
    RW_AVX2 static void encode##bits(const struct rw_packed *packed,                               \
                                     const struct rw_packed_row *row, const float *values,         \
                                     void *codes)                                                  \
    {                                                                                              \
        const float *pivot = packed->cut + row->first_cut;                                         \
        const uint32_t rest = row->levels - RW_PACKED_TOP;                                         \
        const __m256i missing = _mm256_set1_epi32((int)row->missing);                              \
        code_type *code = codes;                                                                   \
        for (uint32_t i = 0; i < RW_PACKED_DOCS; i += 8 * TOGETHER) {                              \
            __m256 value[TOGETHER];                                                                \
            __m256i rank[TOGETHER];                                                                \
            for (int v = 0; v < TOGETHER; v++)                                                     \
                value[v] = _mm256_loadu_ps(values + i + 8 * v);                                    \
            rank_all(pivot, rest, value, rank);                                                    \
            for (int v = 0; v < TOGETHER; v++) {                                                   \
                const __m256 is_missing = _mm256_cmp_ps(value[v], value[v], _CMP_UNORD_Q);         \
                narrow_##bits(                                                                     \
                    code + i + 8 * v,                                                              \
                    _mm256_blendv_epi8(rank[v], missing, _mm256_castps_si256(is_missing)));        \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    RW_AVX2 static inline void look_at_nodes##bits(const struct rw_packed_node *node, uint32_t n,  \
                                                   const char *codes, char *places)                \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++, node++) {                                                 \
            const __m256i cut = _mm256_set1_epi32((int)node->cut);                                 \
            const __m256i skip = _mm256_set1_epi32((int)node->skip);                               \
            const char *code = codes + node->row;                                                  \
            const char *left = places + node->left, *right = places + node->right;                 \
            char *to = places + node->to;                                                          \
            _Pragma("GCC unroll 4") for (uint32_t v = 0; v < RW_PACKED_DOCS * bits / 8; v += 32)   \
            {                                                                                      \
                const __m256i below_left = _mm256_load_si256((const __m256i *)(left + v));         \
                const __m256i below_right =                                                        \
                    _mm256_add_epi##bits(_mm256_load_si256((const __m256i *)(right + v)), skip);   \
                const __m256i c = _mm256_load_si256((const __m256i *)(code + v));                  \
                const __m256i goes_left = _mm256_cmpeq_epi##bits(_mm256_min_epu##bits(c, cut), c); \
                _mm256_store_si256((__m256i *)(to + v),                                            \
                                   _mm256_blendv_epi8(below_right, below_left, goes_left));        \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    RW_AVX2 static void add##bits(const struct rw_packed *packed, int32_t first, int32_t end,      \
                                  const void *codes, void *places, double *score)                  \
    {                                                                                              \
        for (int32_t i = first; i < end; i++) {                                                    \
            const struct rw_packed_tree *tree = &packed->tree[i];                                  \
            if (tree->walked) {                                                                    \
                rw_packed_walk(packed, tree, codes, score);                                        \
                continue;                                                                          \
            }                                                                                      \
            const uint32_t n = tree->n_leaves - 1;                                                 \
            const code_type *number = (code_type *)places + (n > 0 ? RW_PACKED_DOCS : 0);          \
            const float *leaf = packed->leaf + tree->first_leaf;                                   \
            look_at_nodes##bits(packed->node + tree->first, n, codes, places);                     \
            for (uint32_t d = 0; d < RW_PACKED_DOCS; d += 8)                                       \
                add_8(score + d, _mm256_i32gather_ps(leaf, WIDEN_##bits(number + d), 4));          \
        }                                                                                          \
    }

DEFINE_AVX2(uint8_t, 8)
DEFINE_AVX2(uint16_t, 16)

static const struct rw_packed_ops ops = {.name = "avx2",
                                         .most = {256, 160},
                                         .row_ns = 2.2,
                                         .node_ns = 0.033,
                                         .encode = {encode8, encode16},
                                         .add = {add8, add16}};
const struct rw_packed_ops *const rw_packed_avx2 = &ops;

#else

const struct rw_packed_ops *const rw_packed_avx2 = NULL;

#endif
