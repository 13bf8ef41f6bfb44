/* rw_lambda_query, sixteen pairs at a time: the same operations on each pair, to the same bits. */
#include <string.h>

#include "objective/lambda_fast.h"

#if RW_HAS_X86
#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline)) RW_AVX512

enum { LANES = 16, BLOCK = RW_LAMBDA_BLOCK, LISTS = 8 };

/* The documents of a block whose gains are not `gain`: all that a row of that gain is paired with.
 * In the order of the ranking; lanes past the end have no difference. */
struct list {
    _Alignas(64) double score[BLOCK + LANES], discount[BLOCK + LANES];
    _Alignas(64) int64_t lambda[BLOCK + LANES], weight[BLOCK + LANES];
    _Alignas(64) float diff[BLOCK + LANES];  /* the list's gain less the document's */
    _Alignas(64) uint32_t at[BLOCK + LANES]; /* in the block; UINT32_MAX past the end */
    uint16_t kept[BLOCK / LANES]; /* a bit for each document of the block: is it listed? */
    uint32_t n, next;             /* next: all before are above any row to come; of LANES */
};

INLINE __m512 to_floats(__m512d low, __m512d high)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
}

/* (float)(a - b[lane]) */
INLINE __m512 differences(__m512d a, const double *b)
{
    return to_floats(_mm512_sub_pd(a, _mm512_load_pd(b)), _mm512_sub_pd(a, _mm512_load_pd(b + 8)));
}

/* a / b, correctly rounded; y: 1 / b, correctly rounded. gpu/objective/lambda_bounded.h has the
 * proof, for a from 2^-80 on; smaller ones are nothing in units, for b is not under 2^-60. */
INLINE __m512 quotient(__m512 a, __m512 b, __m512 y)
{
    const __m512 q = a * y;
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(b, q, a), y, q);
}

#define EXP_FN            INLINE
#define EXP_NAME          exp_part
#define EXP_V             __m512
#define EXP_LESS(c, a, b) _mm512_fnmadd_ps((a), _mm512_set1_ps(b), (c))
#include "base/exp_tmpl.h"

INLINE __m512 limited(__m512 x)
{
    return _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-87.0f)), _mm512_set1_ps(88.0f));
}

#define PAIR_FN    INLINE
#define PAIR_V     __m512
#define PAIR(name) sixteen_##name
#define PAIR_UNIT  const struct rw_lambda_row *
#define PAIR_OVER(a, row) \
    quotient((a), _mm512_set1_ps((row)->unit), _mm512_set1_ps((row)->reciprocal))
#define PAIR_NORMED(a, s, row)      ((a) / (0.01f + _mm512_abs_ps(s)))
#define PAIR_LIMITED                limited
#define PAIR_EXP                    exp_part
#define PAIR_SCALED(p, shifted)     _mm512_scalef_ps((p), (shifted)-12582912.0f)
#define PAIR_SIGMOID(p, shifted, e) (1.0f / (1.0f + (e)))
#include "objective/pair_tmpl.h"

/* Adds 16 integers to 16 of an array, or takes them away; both sums of eight and eight. */
INLINE void add_integers(__m512 real, int64_t *to, int negative, __m512i *sums)
{
    const __m512i low = _mm512_cvtps_epi64(_mm512_castps512_ps256(real));
    const __m512i high = _mm512_cvtps_epi64(_mm512_extractf32x8_ps(real, 1));
    const __m512i old_low = _mm512_load_si512(to), old_high = _mm512_load_si512(to + 8);
    *sums = _mm512_add_epi64(*sums, _mm512_add_epi64(low, high));
    _mm512_store_si512(to,
                       negative ? _mm512_sub_epi64(old_low, low) : _mm512_add_epi64(old_low, low));
    _mm512_store_si512(to + 8, negative ? _mm512_sub_epi64(old_high, high)
                                        : _mm512_add_epi64(old_high, high));
}

/* The row against listed documents from place `from` of the block on. A negative difference of
 * gains makes lambdas negative: those of pairs whose better document is not the row's. */
INLINE void add_listed(struct rw_lambda_row *row, struct list *list, uint32_t from, int norm,
                       int easy)
{
    const __m512d score = _mm512_set1_pd(row->score), discount = _mm512_set1_pd(row->discount);
    const __m512 sign = _mm512_set1_ps(-0.0f);
    const __m512i least = _mm512_set1_epi32((int)from);
    const float sigma = easy ? 1.0f : row->sigma; /* x 1: nothing */
    __m512i lambdas = _mm512_setzero_si512(), weights = lambdas;
    for (uint32_t i = list->next; i < list->n; i += LANES) {
        const __mmask16 below = _mm512_cmpge_epu32_mask(_mm512_load_si512(list->at + i), least);
        const __m512 g = _mm512_maskz_load_ps(below, list->diff + i);
        const __m512 d = differences(discount, list->discount + i);
        const __m512 toward = _mm512_and_ps(g, sign);
        const __m512 s = _mm512_xor_ps(differences(score, list->score + i), toward);
        const struct sixteen_real real =
            sixteen_real_of_pair(g, d, s, sigma, sigma, row, norm, !easy);
        add_integers(real.lambda, list->lambda + i, 1, &lambdas);
        add_integers(_mm512_abs_ps(real.weight), list->weight + i, 0, &weights);
    }
    row->lambda = _mm512_reduce_add_epi64(lambdas);
    row->weight = _mm512_reduce_add_epi64(weights);
}

INLINE void make_list(const struct rw_lambda_block *block, uint32_t n, double gain,
                      struct list *list)
{
    const __m512d own = _mm512_set1_pd(gain);
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i += LANES) {
        const __m512d low = _mm512_sub_pd(own, _mm512_loadu_pd(block->gain + i));
        const __m512d high = _mm512_sub_pd(own, _mm512_loadu_pd(block->gain + i + 8));
        const __mmask16 inside = (__mmask16)(n - i < LANES ? (1u << (n - i)) - 1 : 0xffff);
        const __mmask8 low_mask =
            _mm512_cmp_pd_mask(low, _mm512_setzero_pd(), _CMP_NEQ_OQ) & (__mmask8)inside;
        const __mmask8 high_mask =
            _mm512_cmp_pd_mask(high, _mm512_setzero_pd(), _CMP_NEQ_OQ) & (__mmask8)(inside >> 8);
        const __mmask16 mask = (__mmask16)(low_mask | high_mask << 8);
        const uint32_t middle = m + (uint32_t)__builtin_popcount(low_mask);
        _mm512_storeu_ps(list->diff + m, _mm512_maskz_compress_ps(mask, to_floats(low, high)));
        _mm512_storeu_si512(list->at + m, _mm512_maskz_compress_epi32(mask, at));
        _mm512_storeu_pd(list->score + m,
                         _mm512_maskz_compress_pd(low_mask, _mm512_loadu_pd(block->score + i)));
        _mm512_storeu_pd(
            list->score + middle,
            _mm512_maskz_compress_pd(high_mask, _mm512_loadu_pd(block->score + i + 8)));
        _mm512_storeu_pd(list->discount + m,
                         _mm512_maskz_compress_pd(low_mask, _mm512_loadu_pd(block->discount + i)));
        _mm512_storeu_pd(
            list->discount + middle,
            _mm512_maskz_compress_pd(high_mask, _mm512_loadu_pd(block->discount + i + 8)));
        list->kept[i / LANES] = mask;
        m += (uint32_t)__builtin_popcount(mask);
        at = _mm512_add_epi32(at, _mm512_set1_epi32(LANES));
    }
    /* past the end: a document's numbers, so that none is too large */
    _mm512_storeu_ps(list->diff + m, _mm512_setzero_ps());
    _mm512_storeu_si512(list->at + m, _mm512_set1_epi32(-1));
    for (uint32_t i = m; i < m + LANES; i += 8) {
        _mm512_storeu_pd(list->score + i, _mm512_set1_pd(block->score[0]));
        _mm512_storeu_pd(list->discount + i, _mm512_set1_pd(block->discount[0]));
    }
    for (uint32_t i = 0; i < m; i += 8) {
        _mm512_store_si512(list->lambda + i, _mm512_setzero_si512());
        _mm512_store_si512(list->weight + i, _mm512_setzero_si512());
    }
    list->n = m;
    list->next = 0;
}

/* Adds the list's sums to the block's. All of a document's pairs in a list have one sign: its sum's
 * magnitude is the sum of theirs. */
INLINE void drop_list(struct rw_lambda_row *row, const struct list *list, uint32_t n,
                      struct rw_lambda_block *block)
{
    __m512i high = _mm512_setzero_si512(), low = high;
    const int64_t *lambda = list->lambda, *weight = list->weight;
    for (uint32_t i = 0; i < n; i += 8) {
        const __mmask8 mask = (__mmask8)(list->kept[i / LANES] >> (i % LANES));
        const __m512i l = _mm512_maskz_expand_epi64(mask, _mm512_loadu_si512(lambda));
        const __m512i w = _mm512_maskz_expand_epi64(mask, _mm512_loadu_si512(weight));
        const __m512i size = _mm512_abs_epi64(l);
        _mm512_storeu_si512(block->lambda + i,
                            _mm512_add_epi64(_mm512_loadu_si512(block->lambda + i), l));
        _mm512_storeu_si512(block->weight + i,
                            _mm512_add_epi64(_mm512_loadu_si512(block->weight + i), w));
        high = _mm512_add_epi64(high, _mm512_srli_epi64(size, 32));
        low = _mm512_add_epi64(low, _mm512_and_si512(size, _mm512_set1_epi64(0xffffffff)));
        lambda += __builtin_popcount(mask);
        weight += __builtin_popcount(mask);
    }
    row->sum_hi += _mm512_reduce_add_epi64(high);
    row->sum_lo += _mm512_reduce_add_epi64(low);
    row->sum_hi += row->sum_lo >> 32;
    row->sum_lo &= 0xffffffff;
}

RW_AVX512 void rw_lambda_block_avx512(struct rw_lambda_row *row, struct rw_lambda_block *block,
                                      uint32_t first, uint32_t n, uint32_t top,
                                      const struct rw_lambda_query_of *query)
{
    struct list lists[LISTS];
    double gains[LISTS]; /* of the lists */
    uint32_t n_made = 0; /* ever: with more gains than lists, one takes the oldest's place */
    for (uint32_t r = 0; r < top && r + 1 < first + n; r++) {
        const uint32_t doc = query->order[r];
        const uint32_t from = r < first ? 0 : r + 1 - first;
        row->gain = query->gains[doc];
        row->score = query->scores[doc];
        row->discount = query->discounts[r];
        const __mmask8 made = (__mmask8)(n_made < LISTS ? (1u << n_made) - 1 : 0xff);
        const __mmask8 found = _mm512_mask_cmp_pd_mask(made, _mm512_loadu_pd(gains),
                                                       _mm512_set1_pd(row->gain), _CMP_EQ_OQ);
        uint32_t l = (uint32_t)__builtin_ctz((unsigned)found | 1u << LISTS);
        if (!found) {
            l = n_made % LISTS;
            if (n_made >= LISTS)
                drop_list(row, &lists[l], n, block);
            make_list(block, n, row->gain, &lists[l]);
            gains[l] = row->gain;
            n_made++;
        }
        struct list *list = &lists[l];
        while (list->next < list->n && list->at[list->next + LANES - 1] < from)
            list->next += LANES;
        if (row->norm && row->easy)
            add_listed(row, list, from, 1, 1);
        else if (row->easy)
            add_listed(row, list, from, 0, 1);
        else
            add_listed(row, list, from, row->norm, 0);
        query->lambda[doc] += row->lambda;
        query->weight[doc] += row->weight;
    }
    for (uint32_t l = 0; l < n_made && l < LISTS; l++)
        drop_list(row, &lists[l], n, block);
}

RW_AVX512 void rw_lambda_finals_avx512(const struct rw_lambda_query_of *query, double factor)
{
    for (uint32_t i = 0; i < query->n; i += 8) {
        const __mmask8 inside = (__mmask8)(query->n - i < 8 ? (1u << (query->n - i)) - 1 : 0xff);
        __m512d by = _mm512_set1_pd(factor);
        if (query->weights)
            by = by * _mm512_maskz_loadu_pd(inside, query->weights + i);
        const __m512i l = _mm512_maskz_loadu_epi64(inside, query->lambda + i);
        const __m512i w = _mm512_maskz_loadu_epi64(inside, query->weight + i);
        _mm512_mask_storeu_epi64(query->lambda + i, inside,
                                 _mm512_cvtpd_epi64(_mm512_cvtepi64_pd(l) * by));
        _mm512_mask_storeu_epi64(query->weight + i, inside,
                                 _mm512_cvtpd_epi64(_mm512_cvtepi64_pd(w) * by));
    }
}
#else
void rw_lambda_block_avx512(struct rw_lambda_row *row, struct rw_lambda_block *block,
                            uint32_t first, uint32_t n, uint32_t top,
                            const struct rw_lambda_query_of *query)
{
    (void)row, (void)block, (void)first, (void)n, (void)top, (void)query;
}

void rw_lambda_finals_avx512(const struct rw_lambda_query_of *query, double factor)
{
    (void)query, (void)factor;
}
#endif
