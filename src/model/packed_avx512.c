/* A packed model's documents by AVX-512: a byte a document, 64 of them a vector. */
#include "model/packed.h"

#if RW_HAS_X86

#include <immintrin.h>

enum { TOGETHER = 4 }; /* vectors of values, so that one's loads are under way during another's */

/* Cuts below each of 16 values, of several vectors; 0 of a NaN. The pivots stay in registers. */
RW_AVX512 static inline void rank_all(const float *pivot, uint32_t rest, const __m512 *value,
                                      __m512i *at)
{
    const float *cut = pivot + RW_PACKED_PIVOTS - 1;
    const __m512 low = _mm512_loadu_ps(pivot), high = _mm512_loadu_ps(pivot + 16);
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm512_setzero_si512();
    for (int step = RW_PACKED_PIVOTS / 2; step > 0; step /= 2) {
        _Pragma("GCC unroll 4") for (int v = 0; v < TOGETHER; v++)
        {
            const __m512i next = _mm512_or_si512(at[v], _mm512_set1_epi32(step));
            const __m512 c = _mm512_permutex2var_ps(low, next, high);
            at[v] = _mm512_mask_mov_epi32(at[v], _mm512_cmp_ps_mask(c, value[v], _CMP_LT_OQ), next);
        }
    }
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm512_sll_epi32(at[v], _mm_cvtsi32_si128((int)rest));
    for (int step = (1 << rest) / 2; step > 0; step /= 2) {
        _Pragma("GCC unroll 4") for (int v = 0; v < TOGETHER; v++)
        {
            const __m512i next = _mm512_or_si512(at[v], _mm512_set1_epi32(step));
            const __m512 c = _mm512_i32gather_ps(next, cut, 4);
            at[v] = _mm512_mask_mov_epi32(at[v], _mm512_cmp_ps_mask(c, value[v], _CMP_LT_OQ), next);
        }
    }
}

/* Leaves' values of 16 documents. */
RW_AVX512 static inline __m512 leaves_of(const float *leaf, uint32_t n_leaves, __m512i number)
{
    if (n_leaves > 2 * RW_PACKED_SMALL)
        return _mm512_i32gather_ps(number, leaf, 4);
    const __m512 low =
        _mm512_permutex2var_ps(_mm512_loadu_ps(leaf), number, _mm512_loadu_ps(leaf + 16));
    if (n_leaves <= RW_PACKED_SMALL)
        return low;
    const __mmask16 is_high = _mm512_test_epi32_mask(number, _mm512_set1_epi32(RW_PACKED_SMALL));
    const __m512 high =
        _mm512_permutex2var_ps(_mm512_loadu_ps(leaf + 32), number, _mm512_loadu_ps(leaf + 48));
    return _mm512_mask_mov_ps(low, is_high, high);
}

RW_AVX512 static inline void add_16(double *score, __m512 value)
{
    const __m512d first = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
    const __m512d second = _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1));
    _mm512_storeu_pd(score, _mm512_add_pd(_mm512_loadu_pd(score), first));
    _mm512_storeu_pd(score + 8, _mm512_add_pd(_mm512_loadu_pd(score + 8), second));
}

#define WIDEN_8(p)      _mm512_cvtepu8_epi32(_mm_load_si128((const __m128i *)(p)))
#define WIDEN_16(p)     _mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i *)(p)))
#define NARROW_8(p, v)  _mm_store_si128((__m128i *)(p), _mm512_cvtepi32_epi8(v))
#define NARROW_16(p, v) _mm256_store_si256((__m256i *)(p), _mm512_cvtepi32_epi16(v))

#define DEFINE_AVX512(code_type, bits)                                                             \
    RW_AVX512 static void encode##bits(const struct rw_packed *packed,                             \
                                       const struct rw_packed_row *row, const float *values,       \
                                       void *codes)                                                \
    {                                                                                              \
        const float *pivot = packed->cut + row->first_cut;                                         \
        const uint32_t rest = row->levels - RW_PACKED_TOP;                                         \
        const __m512i missing = _mm512_set1_epi32((int)row->missing);                              \
        code_type *code = codes;                                                                   \
        for (uint32_t i = 0; i < RW_PACKED_DOCS; i += 16 * TOGETHER) {                             \
            __m512 value[TOGETHER];                                                                \
            __m512i rank[TOGETHER];                                                                \
            for (int v = 0; v < TOGETHER; v++)                                                     \
                value[v] = _mm512_loadu_ps(values + i + 16 * v);                                   \
            rank_all(pivot, rest, value, rank);                                                    \
            for (int v = 0; v < TOGETHER; v++) {                                                   \
                const __mmask16 is_missing = _mm512_cmp_ps_mask(value[v], value[v], _CMP_UNORD_Q); \
                NARROW_##bits(code + i + 16 * v,                                                   \
                              _mm512_mask_mov_epi32(rank[v], is_missing, missing));                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    RW_AVX512 static inline void look_at_nodes##bits(const struct rw_packed_node *node,            \
                                                     uint32_t n, const char *codes, char *places)  \
    {                                                                                              \
        for (uint32_t i = 0; i < n; i++, node++) {                                                 \
            const __m512i cut = _mm512_set1_epi32((int)node->cut);                                 \
            const __m512i skip = _mm512_set1_epi32((int)node->skip);                               \
            const char *code = codes + node->row;                                                  \
            const char *left = places + node->left, *right = places + node->right;                 \
            char *to = places + node->to;                                                          \
            _Pragma("GCC unroll 4") for (uint32_t v = 0; v < RW_PACKED_DOCS * bits / 8; v += 64)   \
            {                                                                                      \
                const __m512i below_left = _mm512_load_si512(left + v);                            \
                const __m512i below_right = _mm512_load_si512(right + v);                          \
                const __m512i c = _mm512_load_si512(code + v);                                     \
                _mm512_store_si512(to + v, _mm512_mask_add_epi##bits(                              \
                                               below_left, _mm512_cmpgt_epu##bits##_mask(c, cut),  \
                                               below_right, skip));                                \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    RW_AVX512 static void add##bits(const struct rw_packed *packed, int32_t first, int32_t end,    \
                                    const void *codes, void *places, double *score)                \
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
            for (uint32_t d = 0; d < RW_PACKED_DOCS; d += 16)                                      \
                add_16(score + d, leaves_of(leaf, tree->n_leaves, WIDEN_##bits(number + d)));      \
        }                                                                                          \
    }

DEFINE_AVX512(uint8_t, 8)
DEFINE_AVX512(uint16_t, 16)

static const struct rw_packed_ops ops = {.name = "avx512",
                                         .most = {256, 320},
                                         .row_ns = 0.9,
                                         .node_ns = 0.0175,
                                         .encode = {encode8, encode16},
                                         .add = {add8, add16}};
const struct rw_packed_ops *const rw_packed_avx512 = &ops;

#else

const struct rw_packed_ops *const rw_packed_avx512 = NULL;

#endif
