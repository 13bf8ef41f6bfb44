/* Scores one document by evaluating all nodes (struct rw_lanes in model/scorer.h). This file is
 * compiled for AVX2 and for AVX-512 (base/machine.h). The functions that differ are first. Those of
 * AVX-512 have comments that also hold for AVX2. Common code follows. */
#include "model/scorer.h"

#if defined(RW_TMPL_AVX512) || defined(RW_TMPL_AVX2)

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

#ifdef RW_TMPL_AVX512 /* a group's trees are one vector */

/* A document's codes of all columns, in tables of TABLE columns each. */
enum { TABLE = 64, TABLES = RW_LANES_COLUMNS / TABLE };
struct codes {
    __m512i table[TABLES];
};

/* Returns the number of elements of a block, RW_LANES_PIVOTS floats, that are below the value. */
INLINE uint32_t count_below(const float *cut, float value)
{
    return (uint32_t)_mm_popcnt_u32(
        _mm512_cmp_ps_mask(_mm512_load_ps(cut), _mm512_set1_ps(value), _CMP_LT_OQ));
}

INLINE struct codes load_codes(const uint8_t *code, uint32_t n_columns)
{
    struct codes codes = {0};
    for (uint32_t t = 0; t * TABLE < n_columns; t++)
        codes.table[t] = _mm512_load_si512(code + TABLE * t);
    return codes;
}

/* Finds the leaves of a group's trees. leaf: [RW_LANES] leaf numbers, written. with_missing: 1 if
 * some value is missing. */
INLINE void evaluate_group(const struct rw_lanes *l, uint32_t group, const struct codes *codes,
                           uint32_t n_tables, int with_missing, uint8_t *leaf)
{
    const __m512i *table = codes->table, missing = _mm512_set1_epi8((char)RW_LANES_MISSING);
    const uint32_t end = l->first_node[group + 1];
    __m512i at = _mm512_setzero_si512();
    for (uint32_t i = l->first_node[group]; i < end; i++) {
        const struct rw_lanes_node *node = &l->node[i];
        const __m512i column = _mm512_load_si512(node->column);
        __m512i c = n_tables == 1 ? _mm512_permutexvar_epi8(column, table[0])
                                  : _mm512_permutex2var_epi8(table[0], column, table[1]);
        if (n_tables > 2)
            c = _mm512_mask_mov_epi8(c, _mm512_movepi8_mask(column),
                                     _mm512_permutex2var_epi8(table[2], column, table[3]));
        __mmask64 right = _mm512_cmpgt_epu8_mask(c, _mm512_load_si512(node->cut));
        if (with_missing)
            right &= ~(_mm512_cmpeq_epu8_mask(c, missing) & l->missing_left[i]);
        if (!l->symmetric)
            right = _mm512_mask_cmpeq_epu8_mask(right, at, _mm512_load_si512(node->start));
        at = _mm512_mask_add_epi8(at, right, at, _mm512_load_si512(node->skip));
    }
    _mm512_store_si512(leaf, at);
}

/* Returns the sum of the leaves, in any order. */
INLINE double add_leaves(const float *leaves, const uint32_t *first_leaf, const uint8_t *leaf)
{
    __m512d sum = _mm512_setzero_pd();
    for (int i = 0; i < RW_LANES; i += 16) {
        const __m512i number =
            _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm_load_si128((const __m128i *)(leaf + i))),
                             _mm512_load_si512(first_leaf + i));
        const __m512 value = _mm512_i32gather_ps(number, leaves, 4);
        sum = _mm512_add_pd(sum, _mm512_cvtps_pd(_mm512_castps512_ps256(value)));
        sum = _mm512_add_pd(sum, _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1)));
    }
    return _mm512_reduce_add_pd(sum);
}

#else /* a group's trees are two vectors */

/* The tables are stored as differences (exclusive or) of each table from the previous one. Each
 * HALF of the tables begins with a table itself. */
enum { TABLE = 16, TABLES = RW_LANES_COLUMNS / TABLE, HALF = TABLES / 2 };
struct codes {
    __m128i difference[TABLES];
};

INLINE uint32_t count_below(const float *cut, float value)
{
    const __m256 all = _mm256_set1_ps(value);
    const int low = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(cut), all, _CMP_LT_OQ));
    const int high = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_load_ps(cut + 8), all, _CMP_LT_OQ));
    return (uint32_t)_mm_popcnt_u32((uint32_t)(high << 8 | low));
}

INLINE struct codes load_codes(const uint8_t *code, uint32_t n_columns)
{
    struct codes codes = {0};
    __m128i last = _mm_setzero_si128();
    for (uint32_t t = 0; t * TABLE < n_columns; t++) {
        const __m128i table = _mm_load_si128((const __m128i *)code + t);
        codes.difference[t] = t % HALF ? _mm_xor_si128(table, last) : table;
        last = table;
    }
    return codes;
}

/* Expands each of 32 bits to a byte of equal bits. */
INLINE __m256i bytes_of(uint32_t bits)
{
    const __m256i which =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i spread = _mm256_shuffle_epi8(_mm256_set1_epi32((int)bits), which);
    return _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit);
}

/* Returns half h of a group's lanes after node i of each tree. at: the lanes before; c: codes of
 * the nodes' columns. */
INLINE __m256i resume(const struct rw_lanes *l, uint32_t i, int h, __m256i at, __m256i c,
                      int with_missing)
{
    const struct rw_lanes_node *node = &l->node[i];
    const __m256i cut = _mm256_load_si256((const __m256i *)node->cut + h);
    const __m256i start = _mm256_load_si256((const __m256i *)node->start + h);
    const __m256i skip = _mm256_load_si256((const __m256i *)node->skip + h);
    __m256i stays = _mm256_cmpeq_epi8(_mm256_min_epu8(c, cut), c);
    if (with_missing)
        stays = _mm256_or_si256(
            stays, _mm256_and_si256(_mm256_cmpeq_epi8(c, _mm256_set1_epi8((char)RW_LANES_MISSING)),
                                    bytes_of((uint32_t)(l->missing_left[i] >> 32 * h))));
    const __m256i on_path =
        l->symmetric ? skip : _mm256_and_si256(skip, _mm256_cmpeq_epi8(at, start));
    return _mm256_add_epi8(at, _mm256_andnot_si256(stays, on_path));
}

/* Combines c by exclusive or with the differences of all tables up to that of the column, which
 * gives the column's code. x: the column minus the first column of the current table. Once x is
 * negative, a table changes nothing. */
INLINE void look_up(const __m128i *difference, uint32_t n_tables, __m256i *x, __m256i *c)
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

/* Looks up the codes c of the nodes' columns. Bytes are signed, so the tables of columns from 128
 * on are searched separately. */
INLINE void codes_of(const struct rw_lanes_node *node, const __m128i *difference, uint32_t n_tables,
                     __m256i *c)
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

INLINE void evaluate_group(const struct rw_lanes *l, uint32_t group, const struct codes *codes,
                           uint32_t n_tables, int with_missing, uint8_t *leaf)
{
    __m256i at0 = _mm256_setzero_si256(), at1 = at0;
    const uint32_t end = l->first_node[group + 1];
    for (uint32_t i = l->first_node[group]; i < end; i++) {
        __m256i c[2];
        codes_of(&l->node[i], codes->difference, n_tables, c);
        at0 = resume(l, i, 0, at0, c[0], with_missing);
        at1 = resume(l, i, 1, at1, c[1], with_missing);
    }
    _mm256_store_si256((__m256i *)leaf, at0);
    _mm256_store_si256((__m256i *)leaf + 1, at1);
}

INLINE double add_leaves(const float *leaves, const uint32_t *first_leaf, const uint8_t *leaf)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (uint32_t lane = 0; lane < RW_LANES; lane++)
        sum[lane % 4] += (double)leaves[first_leaf[lane] + leaf[lane]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

#endif

/* Encodes a document. code: [RW_LANES_COLUMNS]; the first n_columns are written. Returns 1
 * if a value is missing. */
INLINE int encode(const struct rw_lanes *l, const float *values, size_t n_values, uint32_t first,
                  uint8_t *code)
{
    int is_any_missing = 0;
    for (uint32_t i = 0; i < l->n_columns; i++) {
        const uint32_t f =
            l->feature[i] - first; /* features before `first` give a very large number */
        const float v = f < n_values ? values[f] : l->absent;
        const uint32_t block =
            RW_LANES_PIVOTS * count_below(l->pivot + (size_t)i * RW_LANES_PIVOTS, v);
        const uint32_t rank = block + count_below(l->cut + l->first_cut[i] + block, v);
        const int is_missing = v != v;
        code[i] = (uint8_t)(is_missing ? RW_LANES_MISSING : rank);
        is_any_missing |= is_missing;
    }
    return is_any_missing;
}

/* Adds up the leaves of all trees. */
INLINE double look(const struct rw_lanes *l, const struct codes *codes, uint32_t n_tables,
                   int with_missing)
{
    double score = 0.0;
    for (uint32_t group = 0; group < l->n_groups; group++) {
        uint8_t leaf[RW_LANES] __attribute__((aligned(64)));
        const uint32_t *first_leaf = l->first_leaf + (size_t)group * RW_LANES;
        const uint32_t rest = (uint32_t)l->n_trees - group * RW_LANES;
        const uint32_t n = rest < RW_LANES ? rest : RW_LANES;
        evaluate_group(l, group, codes, n_tables, with_missing, leaf);
        if (l->any_order)
            score += add_leaves(l->leaf, first_leaf, leaf);
        for (uint32_t lane = 0; !l->any_order && lane < n; lane++)
            score += (double)l->leaf[first_leaf[lane] + leaf[lane]];
    }
    return score;
}

/* Scores a document by its codes. A constant number of tables makes the compiler emit separate
 * loops for one and two tables. */
INLINE double score_by_tables(const struct rw_lanes *l, const struct codes *codes, int with_missing)
{
    const uint32_t n_tables = (l->n_columns + TABLE - 1) / TABLE;
    if (n_tables == 1)
        return look(l, codes, 1, with_missing);
    return n_tables == 2 ? look(l, codes, 2, with_missing) : look(l, codes, n_tables, with_missing);
}

double RW_TMPL_NAME(rw_lanes_score)(const struct rw_lanes *l, const float *values, size_t n_values,
                                    uint32_t first)
{
    uint8_t code[RW_LANES_COLUMNS] __attribute__((aligned(64)));
    const int with_missing = encode(l, values, n_values, first, code);
    const struct codes codes = load_codes(code, l->n_columns);
    return with_missing ? score_by_tables(l, &codes, 1) : score_by_tables(l, &codes, 0);
}

#endif
