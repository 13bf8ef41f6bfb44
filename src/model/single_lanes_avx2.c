/* One document by AVX2: a group's trees are two vectors. */
#include "model/single_lanes.h"

#if RW_HAS_X86

#include <immintrin.h>

enum { TABLE = 16, TABLES = RW_LANES_COLUMNS / TABLE, HALF = TABLES / 2 }; /* columns; tables */

/* Cuts of a block below the value. */
RW_AVX2 static inline uint32_t count_below(const float *cut, __m256 value)
{
    const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(cut), value, _CMP_LT_OQ));
    const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(cut + 8), value, _CMP_LT_OQ));
    return (uint32_t)_mm_popcnt_u32((uint32_t)(high << 8 | low));
}

/* code: [RW_LANES_COLUMNS]. Returns whether a value is missing. */
RW_AVX2 static inline int encode(const struct rw_lanes *l, const float *values, size_t n_values,
                                 uint32_t first, uint8_t *code)
{
    int is_any_missing = 0;
    for (uint32_t i = 0; i < l->n_columns; i++) {
        const uint32_t f = l->feature[i] - first; /* before it: very large */
        const float v = f < n_values ? values[f] : l->absent;
        const __m256 value = _mm256_set1_ps(v);
        const uint32_t block =
            RW_LANES_PIVOTS * count_below(l->pivot + (size_t)i * RW_LANES_PIVOTS, value);
        const uint32_t rank = block + count_below(l->cut + l->first_cut[i] + block, value);
        const int is_missing = v != v;
        code[i] = (uint8_t)(is_missing ? RW_LANES_MISSING : rank);
        is_any_missing |= is_missing;
    }
    return is_any_missing;
}

/* All bits of a byte for each of 32 bits. */
RW_AVX2 static inline __m256i bytes_of(uint32_t bits)
{
    const __m256i which =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), which);
    return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
}

/* A half of a group's lanes, h, after one node of each. c: codes of the nodes' columns. */
RW_AVX2 static inline __m256i resume(const struct rw_lanes *l, uint32_t i, int h, __m256i at,
                                     __m256i c, int with_missing)
{
    const struct rw_lanes_node *node = &l->node[i];
    const __m256i cut = _mm256_load_si256((const __m256i *)node->cut + h);
    const __m256i start = _mm256_load_si256((const __m256i *)node->start + h);
    const __m256i right = _mm256_load_si256((const __m256i *)node->right + h);
    __m256i stays = _mm256_cmpeq_epi8(_mm256_min_epu8(c, cut), c);
    if (with_missing)
        stays = _mm256_or_si256(
            stays, _mm256_and_si256(_mm256_cmpeq_epi8(c, _mm256_set1_epi8((char)RW_LANES_MISSING)),
                                    bytes_of((uint32_t)(l->missing_left[i] >> 32 * h))));
    const __m256i goes = _mm256_andnot_si256(stays, _mm256_cmpeq_epi8(at, start));
    return _mm256_blendv_epi8(at, right, goes);
}

/* Adds to c, by exclusive or, the differences of all tables up to the column's: x is the column
 * less the first table's first one; once that is negative, a table adds nothing. */
RW_AVX2 static inline void look_up(const __m128i *difference, uint32_t n_tables, __m256i *x,
                                   __m256i *c)
{
    const __m256i step = _mm256_set1_epi8(TABLE);
    _Pragma("GCC unroll 2") for (uint32_t t = 0; t < n_tables; t++)
    {
        const __m256i table = _mm256_broadcastsi128_si256(_mm_load_si128(difference + t));
        for (int h = 0; h < 2; h++) {
            c[h] = _mm256_xor_si256(c[h], _mm256_shuffle_epi8(table, x[h]));
            x[h] = _mm256_subs_epi8(x[h], step);
        }
    }
}

/* Codes of a node's columns. A byte has a sign, so columns from 128 on have tables of their own. */
RW_AVX2 static inline void codes_of(const struct rw_lanes_node *node, const __m128i *difference,
                                    uint32_t n_tables, __m256i *c)
{
    const __m256i *column = (const __m256i *)node->column;
    __m256i x[2] = {_mm256_load_si256(column), _mm256_load_si256(column + 1)};
    const __m256i half = _mm256_set1_epi8((char)128);
    c[0] = c[1] = _mm256_setzero_si256();
    if (n_tables <= HALF) {
        look_up(difference, n_tables, x, c);
        return;
    }
    __m256i y[2] = {_mm256_xor_si256(x[0], half), _mm256_xor_si256(x[1], half)};
    look_up(difference, HALF, x, c);
    look_up(difference + HALF, n_tables - HALF, y, c);
}

/* Adds the leaves of all trees. */
RW_AVX2 static inline double look(const struct rw_lanes *l, const __m128i *difference,
                                  int with_missing)
{
    const uint32_t n_tables = (l->n_columns + TABLE - 1) / TABLE;
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (uint32_t group = 0; group < l->n_groups; group++) {
        uint8_t leaf[RW_LANES] __attribute__((aligned(64)));
        __m256i at0 = _mm256_setzero_si256(), at1 = at0;
        const uint32_t end = l->first_node[group + 1];
        for (uint32_t i = l->first_node[group]; i < end; i++) {
            __m256i c[2];
            codes_of(&l->node[i], difference, n_tables, c);
            at0 = resume(l, i, 0, at0, c[0], with_missing);
            at1 = resume(l, i, 1, at1, c[1], with_missing);
        }
        _mm256_store_si256((__m256i *)leaf, at0);
        _mm256_store_si256((__m256i *)leaf + 1, at1);
        const uint32_t *first_leaf = l->first_leaf + (size_t)group * RW_LANES;
        const uint32_t rest = (uint32_t)l->n_trees - group * RW_LANES;
        const uint32_t n = rest < RW_LANES ? rest : RW_LANES;
        for (uint32_t lane = 0; l->any_order && lane < RW_LANES; lane++)
            sum[lane % 4] += (double)l->leaf[first_leaf[lane] + leaf[lane]];
        for (uint32_t lane = 0; !l->any_order && lane < n; lane++)
            sum[0] += (double)l->leaf[first_leaf[lane] + leaf[lane]];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

RW_AVX2 static double score_avx2(const struct rw_lanes *l, const float *values, size_t n_values,
                                 uint32_t first)
{
    uint8_t code[RW_LANES_COLUMNS] __attribute__((aligned(64)));
    __m128i difference[TABLES], last = _mm_setzero_si128();
    const int missing = encode(l, values, n_values, first, code);
    for (uint32_t t = 0; t * TABLE < l->n_columns; t++) {
        const __m128i table = _mm_load_si128((const __m128i *)code + t);
        difference[t] = t % HALF ? _mm_xor_si128(table, last) : table;
        last = table;
    }
    return missing ? look(l, difference, 1) : look(l, difference, 0);
}

const rw_lanes_fn rw_lanes_score_avx2 = score_avx2;

#else
const rw_lanes_fn rw_lanes_score_avx2 = NULL;
#endif
