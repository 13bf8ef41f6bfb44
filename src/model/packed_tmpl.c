/* Scores documents with a packed model (model/scorer.h), for one instruction set and one width
 * of codes. Meson compiles this file for each pair of them (base/machine.h). Operations on
 * vectors of values and codes, which differ between instruction sets, are first. Those of AVX-512
 * have comments that also hold for the others. Common code follows. */
#include "model/scorer.h"

#define FOR_BITS(name) RW_TMPL_JOIN(name, RW_TMPL_BITS)
#define FOR_MASK(name) RW_TMPL_JOIN(FOR_BITS(name), _mask)
#define INLINE         static inline __attribute__((always_inline))
typedef RW_TMPL_JOIN(FOR_BITS(uint), _t) code_type;

#ifdef RW_TMPL_AVX512

#include <immintrin.h>

/* A vector has VALUES floats. TOGETHER vectors are searched in turn, so that the loads of one
 * overlap with the work on others. */
enum { VALUES = 16, TOGETHER = 4 };
typedef __m512 values;
typedef __m512i ints;
typedef __m512i codes;

INLINE values load_values(const float *from)
{
    return _mm512_loadu_ps(from);
}

/* A binary search. For step, step / 2, and so on to 1, adds the step to an element of `at` if the
 * threshold at index at + step is below the value. The thresholds are in memory at `cut`. If cut is
 * NULL, there are 32 of them in low and high. */
INLINE void search(int step, __m512 low, __m512 high, const float *cut, const values *value,
                   ints *at)
{
    for (; step > 0; step /= 2) {
        _Pragma("GCC unroll 4") for (int v = 0; v < TOGETHER; v++)
        {
            const __m512i next = _mm512_or_si512(at[v], _mm512_set1_epi32(step));
            const __m512 c =
                cut ? _mm512_i32gather_ps(next, cut, 4) : _mm512_permutex2var_ps(low, next, high);
            at[v] = _mm512_mask_mov_epi32(at[v], _mm512_cmp_ps_mask(c, value[v], _CMP_LT_OQ), next);
        }
    }
}

/* Counts the thresholds of a column below each of TOGETHER vectors of values, 0 for NaN. Writes the
 * counts to `at`. pivot: the column's pivots, which stay in registers. If rest is above 0, its
 * 2^(RW_PACKED_TOP + rest) thresholds follow them. */
INLINE void rank_all(const float *pivot, uint32_t rest, const values *value, ints *at)
{
    const __m512 low = _mm512_loadu_ps(pivot), high = _mm512_loadu_ps(pivot + 16);
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm512_setzero_si512();
    search(RW_PACKED_PIVOTS / 2, low, high, NULL, value, at);
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm512_sll_epi32(at[v], _mm_cvtsi32_si128((int)rest));
    search((1 << rest) / 2, low, high, pivot + RW_PACKED_PIVOTS - 1, value, at);
}

/* Stores counts as codes, and the code `missing` for each value that is NaN. */
INLINE void store_codes(code_type *code, ints rank, values value, uint32_t missing)
{
    const __mmask16 is_missing = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i all = _mm512_mask_mov_epi32(rank, is_missing, _mm512_set1_epi32((int)missing));
#if RW_TMPL_BITS == 8
    _mm_store_si128((__m128i *)code, _mm512_cvtepi32_epi8(all));
#else
    _mm256_store_si256((__m256i *)code, _mm512_cvtepi32_epi16(all));
#endif
}

INLINE codes repeated(uint32_t word)
{
    return _mm512_set1_epi32((int)word);
}

/* Evaluates a node for a vector of documents: writes to `to` the leaf number from `left`, or, if
 * the code is above cut, the leaf number from `right` plus skip. */
INLINE void look_at_node(const void *code, const void *left, const void *right, codes cut,
                         codes skip, void *to)
{
    const __m512i below_left = _mm512_load_si512(left), below_right = _mm512_load_si512(right);
    const __m512i c = _mm512_load_si512(code);
    _mm512_store_si512(to, FOR_BITS(_mm512_mask_add_epi)(
                               below_left, FOR_MASK(_mm512_cmpgt_epu)(c, cut), below_right, skip));
}

/* Evaluates a node of two leaves: writes 1 if the code is above cut, else 0. */
INLINE void look_at_last_node(const void *code, codes cut, void *to)
{
    const __m512i c = _mm512_load_si512(code);
    _mm512_store_si512(to, FOR_BITS(_mm512_maskz_set1_epi)(FOR_MASK(_mm512_cmpgt_epu)(c, cut), 1));
}

/* Returns the leaf values of a vector of documents. Trees of few leaves need no gather, because
 * their values are read by two or four loads. */
INLINE __m512 leaves_of(const float *leaf, uint32_t n_leaves, __m512i number)
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

/* Adds leaf values to the scores of a vector of documents. number: their leaf numbers. */
INLINE void add_leaves(double *score, const float *leaf, uint32_t n_leaves, const code_type *number)
{
#if RW_TMPL_BITS == 8
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_load_si128((const __m128i *)number));
#else
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i *)number));
#endif
    const __m512 value = leaves_of(leaf, n_leaves, wide);
    const __m512d first = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
    const __m512d second = _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1));
    _mm512_storeu_pd(score, _mm512_add_pd(_mm512_loadu_pd(score), first));
    _mm512_storeu_pd(score + 8, _mm512_add_pd(_mm512_loadu_pd(score + 8), second));
}

#elif defined(RW_TMPL_AVX2)

#include <immintrin.h>

enum { VALUES = 8, TOGETHER = 4 };
typedef __m256 values;
typedef __m256i ints;
typedef __m256i codes;

INLINE values load_values(const float *from)
{
    return _mm256_loadu_ps(from);
}

/* As for AVX-512, but if cut is NULL, there are eight thresholds in `top`. Without unrolling of the
 * outer loop, the code is a tenth faster. */
INLINE void search(int step, __m256 top, const float *cut, const values *value, ints *at)
{
    _Pragma("GCC unroll 1") for (; step > 0; step /= 2)
    {
        _Pragma("GCC unroll 4") for (int v = 0; v < TOGETHER; v++)
        {
            const __m256i next = _mm256_or_si256(at[v], _mm256_set1_epi32(step));
            const __m256 c =
                cut ? _mm256_i32gather_ps(cut, next, 4) : _mm256_permutevar8x32_ps(top, next);
            const __m256 is_below = _mm256_cmp_ps(c, value[v], _CMP_LT_OQ);
            at[v] = _mm256_castps_si256(
                _mm256_blendv_ps(_mm256_castsi256_ps(at[v]), _mm256_castsi256_ps(next), is_below));
        }
    }
}

/* As for AVX-512, but only every fourth pivot is in a register, for the first three steps. */
INLINE void rank_all(const float *pivot, uint32_t rest, const values *value, ints *at)
{
    const __m256 top =
        _mm256_i32gather_ps(pivot, _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28), 4);
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm256_setzero_si256();
    search(4, top, NULL, value, at);
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm256_slli_epi32(at[v], 2);
    search(2, top, pivot, value, at);
    for (int v = 0; v < TOGETHER; v++)
        at[v] = _mm256_sll_epi32(at[v], _mm_cvtsi32_si128((int)rest));
    search((1 << rest) / 2, top, pivot + RW_PACKED_PIVOTS - 1, value, at);
}

INLINE void store_codes(code_type *code, ints rank, values value, uint32_t missing)
{
    const __m256 is_missing = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    const __m256i all =
        _mm256_blendv_epi8(rank, _mm256_set1_epi32((int)missing), _mm256_castps_si256(is_missing));
    const __m256i packed = _mm256_packus_epi32(all, all);
    const __m128i words = _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
#if RW_TMPL_BITS == 8
    _mm_storel_epi64((__m128i *)code, _mm_packus_epi16(words, words));
#else
    _mm_store_si128((__m128i *)code, words);
#endif
}

INLINE codes repeated(uint32_t word)
{
    return _mm256_set1_epi32((int)word);
}

INLINE void look_at_node(const void *code, const void *left, const void *right, codes cut,
                         codes skip, void *to)
{
    const __m256i below_left = _mm256_load_si256(left), c = _mm256_load_si256(code);
    const __m256i below_right = FOR_BITS(_mm256_add_epi)(_mm256_load_si256(right), skip);
    const __m256i goes_left = FOR_BITS(_mm256_cmpeq_epi)(FOR_BITS(_mm256_min_epu)(c, cut), c);
    _mm256_store_si256(to, _mm256_blendv_epi8(below_right, below_left, goes_left));
}

INLINE void look_at_last_node(const void *code, codes cut, void *to)
{
    const __m256i c = _mm256_load_si256(code);
    const __m256i goes_left = FOR_BITS(_mm256_cmpeq_epi)(FOR_BITS(_mm256_min_epu)(c, cut), c);
    _mm256_store_si256(to, _mm256_andnot_si256(goes_left, FOR_BITS(_mm256_set1_epi)(1)));
}

INLINE void add_leaves(double *score, const float *leaf, uint32_t n_leaves, const code_type *number)
{
    (void)n_leaves;
#if RW_TMPL_BITS == 8
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)number));
#else
    const __m256i wide = _mm256_cvtepu16_epi32(_mm_load_si128((const __m128i *)number));
#endif
    const __m256 value = _mm256_i32gather_ps(leaf, wide, 4);
    const __m256d first = _mm256_cvtps_pd(_mm256_castps256_ps128(value));
    const __m256d second = _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));
    _mm256_storeu_pd(score, _mm256_add_pd(_mm256_loadu_pd(score), first));
    _mm256_storeu_pd(score + 4, _mm256_add_pd(_mm256_loadu_pd(score + 4), second));
}

#else /* plain: the compiler's vector types */

enum { VALUES = 1, TOGETHER = 1 };
typedef float values;
typedef uint32_t ints;
typedef code_type codes __attribute__((vector_size(16), may_alias));

INLINE values load_values(const float *from)
{
    return *from;
}

INLINE void rank_all(const float *pivot, uint32_t rest, const values *value, ints *at)
{
    const float *cut = pivot + RW_PACKED_PIVOTS;
    uint32_t rank = 0;
    for (uint32_t step = RW_PACKED_PIVOTS / 2; step > 0; step /= 2)
        rank += pivot[rank + step] < *value ? step : 0;
    rank <<= rest;
    for (uint32_t step = (1u << rest) / 2; step > 0; step /= 2)
        rank += cut[rank + step - 1] < *value ? step : 0;
    *at = rank;
}

INLINE void store_codes(code_type *code, ints rank, values value, uint32_t missing)
{
    *code = (code_type)(value != value ? missing : rank);
}

INLINE codes repeated(uint32_t word)
{
    return (codes){0} + (code_type)word;
}

INLINE void look_at_node(const void *code, const void *left, const void *right, codes cut,
                         codes skip, void *to)
{
    const codes goes_left = (codes)(*(const codes *)code <= cut);
    *(codes *)to =
        (*(const codes *)left & goes_left) | ((*(const codes *)right + skip) & ~goes_left);
}

INLINE void look_at_last_node(const void *code, codes cut, void *to)
{
    *(codes *)to = (codes)(*(const codes *)code > cut) & 1;
}

INLINE void add_leaves(double *score, const float *leaf, uint32_t n_leaves, const code_type *number)
{
    (void)n_leaves;
    *score += (double)leaf[*number];
}

/* Walks down a tree. All instruction sets use this function, because vectors are of no use where
 * each step depends on the one before. */
void FOR_BITS(rw_packed_walk_)(const struct rw_packed *packed, const struct rw_packed_tree *tree,
                               const void *block, double *score, uint32_t n_docs)
{
    enum { CHAINS = 8 }; /* documents that go down a tree in parallel */
    const struct rw_packed_step *step = packed->step + tree->first;
    const float *leaf = packed->leaf + tree->first_leaf;
    for (uint32_t d = 0; d < RW_PACKED_DOCS && d < n_docs; d += CHAINS) {
        uint32_t at[CHAINS] = {0}, moved;
        do {
            moved = 0;
            for (uint32_t c = 0; c < CHAINS; c++) {
                const struct rw_packed_step *s = &step[at[c]];
                const code_type *code = (const void *)((const char *)block + s->column);
                const uint32_t next = s->left + (code[d + c] > s->cut);
                moved |= next ^ at[c];
                at[c] = next;
            }
        } while (moved);
        for (uint32_t c = 0; c < CHAINS; c++)
            score[d + c] += (double)leaf[step[at[c]].leaf];
    }
}

#endif

static void encode(const struct rw_packed *packed, const struct rw_packed_column *column,
                   const float *values_of_column, void *codes_of_column)
{
    const float *pivot = packed->cut + column->first_cut;
    const uint32_t rest = column->levels - RW_PACKED_TOP;
    code_type *code = codes_of_column;
    for (uint32_t i = 0; i < RW_PACKED_DOCS; i += VALUES * TOGETHER) {
        values value[TOGETHER];
        ints rank[TOGETHER];
        for (int v = 0; v < TOGETHER; v++)
            value[v] = load_values(values_of_column + i + VALUES * v);
        rank_all(pivot, rest, value, rank);
        for (int v = 0; v < TOGETHER; v++)
            store_codes(code + i + VALUES * v, rank[v], value[v], column->missing);
    }
}

/* Evaluates all n nodes of a tree. The first n_last have two leaves. block: the codes.
 * docs: the number of documents, from the first of the block, a compile-time constant. */
INLINE void evaluate_nodes(const struct rw_packed_node *node, uint32_t n_last, uint32_t n,
                           const char *block, char *buffers, uint32_t docs)
{
    for (uint32_t i = 0; i < n_last; i++, node++) {
        const codes cut = repeated(node->cut);
        const char *code = block + node->column;
        char *to = buffers + node->to;
        _Pragma("GCC unroll 4") for (size_t v = 0; v < docs * sizeof(code_type); v += sizeof(codes))
            look_at_last_node(code + v, cut, to + v);
    }
    for (uint32_t i = n_last; i < n; i++, node++) {
        const codes cut = repeated(node->cut), skip = repeated(node->skip);
        const char *code = block + node->column;
        const char *left = buffers + node->left, *right = buffers + node->right;
        char *to = buffers + node->to;
        _Pragma("GCC unroll 4") for (size_t v = 0; v < docs * sizeof(code_type); v += sizeof(codes))
            look_at_node(code + v, left + v, right + v, cut, skip, to + v);
    }
}

static void add(const struct rw_packed *packed, int32_t first, int32_t end, const void *block,
                void *buffers, double *score, uint32_t n_docs)
{
    const uint32_t docs = n_docs > RW_PACKED_HALF ? RW_PACKED_DOCS : RW_PACKED_HALF;
    for (int32_t i = first; i < end; i++) {
        const struct rw_packed_tree *tree = &packed->tree[i];
        if (tree->walked) {
            FOR_BITS(rw_packed_walk_)(packed, tree, block, score, n_docs);
            continue;
        }
        const uint32_t n = tree->n_nodes;
        const code_type *number = (code_type *)buffers + (n > 0 ? RW_PACKED_DOCS : 0);
        const float *leaf = packed->leaf + tree->first_leaf;
        if (docs == RW_PACKED_DOCS)
            evaluate_nodes(packed->node + tree->first, tree->n_last, n, block, buffers,
                           RW_PACKED_DOCS);
        else
            evaluate_nodes(packed->node + tree->first, tree->n_last, n, block, buffers,
                           RW_PACKED_HALF);
        for (uint32_t d = 0; d < docs; d += VALUES)
            add_leaves(score + d, leaf, tree->n_leaves, number + d);
    }
}

const struct rw_packed_width RW_TMPL_NAME(rw_packed) = {encode, add};
