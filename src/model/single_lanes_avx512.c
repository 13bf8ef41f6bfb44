/* One document by AVX-512: a group's trees are one vector. */
#include "model/single_lanes.h"

#if RW_HAS_X86

#include <immintrin.h>

#define AVX512_VBMI \
    __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))

/* code: [RW_LANES_COLUMNS]. Returns whether a value is missing. */
AVX512_VBMI static inline int encode(const struct rw_lanes *l, const float *values, size_t n_values,
                                     uint32_t first, uint8_t *code)
{
    int is_any_missing = 0;
    for (uint32_t i = 0; i < l->n_columns; i++) {
        const uint32_t f = l->feature[i] - first; /* before it: very large */
        const float v = f < n_values ? values[f] : l->absent;
        const __m512 value = _mm512_set1_ps(v);
        const __m512 pivot = _mm512_load_ps(l->pivot + (size_t)i * RW_LANES_PIVOTS);
        const uint32_t block =
            (uint32_t)_mm_popcnt_u32(_mm512_cmp_ps_mask(pivot, value, _CMP_LT_OQ)) *
            RW_LANES_PIVOTS;
        const __m512 cut = _mm512_load_ps(l->cut + l->first_cut[i] + block);
        const uint32_t rank =
            block + (uint32_t)_mm_popcnt_u32(_mm512_cmp_ps_mask(cut, value, _CMP_LT_OQ));
        const int is_missing = v != v;
        code[i] = (uint8_t)(is_missing ? RW_LANES_MISSING : rank);
        is_any_missing |= is_missing;
    }
    return is_any_missing;
}

/* n_tables: of 64 columns. Adds the leaves of all trees. */
AVX512_VBMI static inline double look(const struct rw_lanes *l, const uint8_t *code, int n_tables,
                                      int with_missing)
{
    const __m512i code0 = _mm512_load_si512(code), code1 = _mm512_load_si512(code + 64);
    const __m512i code2 = _mm512_load_si512(code + 128), code3 = _mm512_load_si512(code + 192);
    const __m512i missing = _mm512_set1_epi8((char)RW_LANES_MISSING);
    __m512d sum0 = _mm512_setzero_pd(), sum1 = sum0;
    double score = 0.0;
    for (uint32_t group = 0; group < l->n_groups; group++) {
        __m512i at = _mm512_setzero_si512();
        const uint32_t end = l->first_node[group + 1];
        for (uint32_t i = l->first_node[group]; i < end; i++) {
            const struct rw_lanes_node *node = &l->node[i];
            const __m512i column = _mm512_load_si512(node->column);
            __m512i c = n_tables == 1 ? _mm512_permutexvar_epi8(column, code0)
                                      : _mm512_permutex2var_epi8(code0, column, code1);
            if (n_tables > 2)
                c = _mm512_mask_mov_epi8(c, _mm512_movepi8_mask(column),
                                         _mm512_permutex2var_epi8(code2, column, code3));
            __mmask64 right = _mm512_cmpgt_epu8_mask(c, _mm512_load_si512(node->cut));
            if (with_missing)
                right &= ~(_mm512_cmpeq_epu8_mask(c, missing) & l->missing_left[i]);
            right = _mm512_mask_cmpeq_epu8_mask(right, at, _mm512_load_si512(node->start));
            at = _mm512_mask_mov_epi8(at, right, _mm512_load_si512(node->right));
        }
        const uint32_t *first_leaf = l->first_leaf + (size_t)group * RW_LANES;
        if (!l->any_order) {
            uint8_t leaf[RW_LANES] __attribute__((aligned(64)));
            _mm512_store_si512(leaf, at);
            const uint32_t rest = (uint32_t)l->n_trees - group * RW_LANES;
            const uint32_t n = rest < RW_LANES ? rest : RW_LANES;
            for (uint32_t lane = 0; lane < n; lane++)
                score += (double)l->leaf[first_leaf[lane] + leaf[lane]];
            continue;
        }
        _Pragma("GCC unroll 4") for (int part = 0; part < 4; part++)
        {
            const __m512i number =
                _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(at)),
                                 _mm512_load_si512(first_leaf + 16 * part));
            const __m512 value = _mm512_i32gather_ps(number, l->leaf, 4);
            sum0 = _mm512_add_pd(sum0, _mm512_cvtps_pd(_mm512_castps512_ps256(value)));
            sum1 = _mm512_add_pd(sum1, _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1)));
            at = _mm512_alignr_epi64(at, at, 2);
        }
    }
    return l->any_order ? _mm512_reduce_add_pd(_mm512_add_pd(sum0, sum1)) : score;
}

AVX512_VBMI static double score_avx512(const struct rw_lanes *l, const float *values,
                                       size_t n_values, uint32_t first)
{
    uint8_t code[RW_LANES_COLUMNS] __attribute__((aligned(64)));
    const int missing = encode(l, values, n_values, first, code);
    if (l->n_columns <= 64)
        return missing ? look(l, code, 1, 1) : look(l, code, 1, 0);
    if (l->n_columns <= 128)
        return missing ? look(l, code, 2, 1) : look(l, code, 2, 0);
    return missing ? look(l, code, 4, 1) : look(l, code, 4, 0);
}

const rw_lanes_fn rw_lanes_score_avx512 = score_avx512;

#else
const rw_lanes_fn rw_lanes_score_avx512 = NULL;
#endif
