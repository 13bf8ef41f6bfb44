/* The pairs of rw_lambda_query, many at a time, with the same operations per pair in the same
 * order, so that results are identical. The only difference is the unit, which divides the ideal
 * DCG first and does not multiply the results. The unit is a power of two, and values so small
 * that this matters are far below half a unit. This file also finds the positions of a ranking,
 * by comparing each document with all. It is compiled for each instruction set (base/machine.h).
 * The parts that differ are first. */

#include "objective/objective.h"

#define INLINE static inline __attribute__((always_inline))

enum { BLOCK = RW_LAMBDA_BLOCK, LISTS = 8 };
#ifdef RW_TMPL_AVX512
enum { LANES = 16, LONGS = 8 };
#elif defined(RW_TMPL_AVX2)
enum { LANES = 8, LONGS = 8 };
#else
enum { LANES = 4, LONGS = 4 };
#endif
typedef float floats __attribute__((vector_size(LANES * 4)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));
typedef int32_t ints_at __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int64_t longs __attribute__((vector_size(LONGS * 8)));
typedef int64_t longs_at __attribute__((vector_size(LONGS * 8), aligned(8), may_alias));

/* The documents of a block whose gains differ from `gain`, in ranked order: the partners of a
 * row with that gain. Entries past the end have no difference. */
struct list {
    double score[BLOCK + LANES], discount[BLOCK + LANES];
    /* lambda, hessian: sums to subtract from and to add to those of the block's documents */
    int64_t lambda[BLOCK + LANES], hessian[BLOCK + LANES];
    float diff[BLOCK + LANES];  /* gain minus the document's gain */
    uint32_t at[BLOCK + LANES]; /* index in the block */
    uint8_t kept[BLOCK / 8];    /* avx512: one bit per document of the block, 1: listed */
    uint32_t n, next;           /* next: entries before it are above all further rows */
};

/* Adds to an array and to *sums. */
INLINE void add_longs(longs by, int64_t *to, longs *sums)
{
    *(longs_at *)to += by;
    *sums += by;
}

#ifdef RW_TMPL_AVX512
#include <immintrin.h>

/* Returns (float)(a - b[lane]) for each lane. */
INLINE floats differences(double a, const double *b)
{
    const __m512d own = _mm512_set1_pd(a);
    const __m256 high = _mm512_cvtpd_ps(_mm512_sub_pd(own, _mm512_loadu_pd(b + 8)));
    return _mm512_insertf32x8(
        _mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_sub_pd(own, _mm512_loadu_pd(b)))), high, 1);
}

/* Rounds to the nearest integers and adds them to LANES elements of an array and to *sums. */
INLINE void add(floats real, int64_t *to, longs *sums)
{
    add_longs((longs)_mm512_cvtps_epi64(_mm512_castps512_ps256(real)), to, sums);
    add_longs((longs)_mm512_cvtps_epi64(_mm512_extractf32x8_ps(real, 1)), to + 8, sums);
}

/* Returns a / b, correctly rounded. y: 1 / b, correctly rounded. gpu/objective/lambda_bounded.h
 * shows why, for a >= 2^-80. Smaller quotients round to 0 units, since b is at least 2^-60. */
INLINE floats quotient(floats a, floats b, floats y)
{
    const floats q = a * y;
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(b, q, a), y, q);
}

INLINE floats limited(floats x)
{
    return _mm512_min_ps(_mm512_max_ps(x, _mm512_set1_ps(-87.0f)), _mm512_set1_ps(88.0f));
}

/* Lists those of the block's n documents whose gain differs from the list's: fills n, `diff` and
 * the other arrays. */
INLINE void keep_others(const struct rw_lambda_block *block, uint32_t n, double gain,
                        struct list *list)
{
    const __m512d own = _mm512_set1_pd(gain);
    __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i += 8) {
        const __m512d diff = _mm512_sub_pd(own, _mm512_loadu_pd(block->gain + i));
        const __mmask8 inside = (__mmask8)(n - i < 8 ? (1u << (n - i)) - 1 : 0xff);
        const __mmask8 kept =
            _mm512_mask_cmp_pd_mask(inside, diff, _mm512_setzero_pd(), _CMP_NEQ_UQ);
        _mm256_storeu_ps(list->diff + m, _mm256_maskz_compress_ps(kept, _mm512_cvtpd_ps(diff)));
        _mm256_storeu_si256((void *)(list->at + m), _mm256_maskz_compress_epi32(kept, at));
        _mm512_storeu_pd(list->score + m,
                         _mm512_maskz_compress_pd(kept, _mm512_loadu_pd(block->score + i)));
        _mm512_storeu_pd(list->discount + m,
                         _mm512_maskz_compress_pd(kept, _mm512_loadu_pd(block->discount + i)));
        _mm512_storeu_si512(list->lambda + m, _mm512_setzero_si512());
        _mm512_storeu_si512(list->hessian + m, _mm512_setzero_si512());
        list->kept[i / 8] = kept;
        m += (uint32_t)__builtin_popcount(kept);
        at = _mm256_add_epi32(at, _mm256_set1_epi32(8));
    }
    list->n = m;
}

/* Applies the sums of listed documents to the block's n documents. */
INLINE void add_list_sums(const struct list *list, uint32_t n, struct rw_lambda_block *block)
{
    const int64_t *lambda = list->lambda, *hessian = list->hessian;
    for (uint32_t i = 0; i < n; i += 8) {
        const __mmask8 kept = list->kept[i / 8];
        *(longs_at *)(block->lambda + i) -=
            (longs)_mm512_maskz_expand_epi64(kept, _mm512_loadu_si512(lambda));
        *(longs_at *)(block->hessian + i) +=
            (longs)_mm512_maskz_expand_epi64(kept, _mm512_loadu_si512(hessian));
        lambda += __builtin_popcount(kept);
        hessian += __builtin_popcount(kept);
    }
}

INLINE int64_t total(longs sums)
{
    return _mm512_reduce_add_epi64((__m512i)sums);
}

#define LESS(c, a, b)      _mm512_fnmadd_ps((a), _mm512_set1_ps(b), (c))
#define OVER(a, row)       quotient((a), _mm512_set1_ps((row)->unit), _mm512_set1_ps((row)->reciprocal))
#define SCALED(p, shifted) _mm512_scalef_ps((p), (shifted)-12582912.0f)
#define COUNT(a, b, n)                                                                           \
    (ints)                                                                                       \
        _mm512_mask_add_epi32((__m512i)(n), _mm512_cmplt_epi32_mask((__m512i)(a), (__m512i)(b)), \
                              (__m512i)(n), _mm512_set1_epi32(1))
#else
typedef double doubles __attribute__((vector_size(LANES * 8)));
typedef double doubles_at __attribute__((vector_size(LANES * 8), aligned(8), may_alias));

INLINE floats differences(double a, const double *b)
{
    return __builtin_convertvector(a - *(const doubles_at *)b, floats);
}

/* 1.5 x 2^52. After adding it to a number under 2^51, the low bits are the nearest integer, with
 * halves rounded to even. */
#define TO_INTEGER 6755399441055744.0

INLINE void add(floats real, int64_t *to, longs *sums)
{
    const longs integer = (longs)((doubles){0} + TO_INTEGER);
    add_longs((longs)(__builtin_convertvector(real, doubles) + TO_INTEGER) - integer, to, sums);
}

#define CHOOSE(mask, a, b) (floats)(((mask) & (ints)(a)) | (~(mask) & (ints)(b)))

INLINE floats limited(floats x)
{
    const floats least = (floats){0} - 87.0f, most = (floats){0} + 88.0f;
    x = CHOOSE(x > least, x, least);
    return CHOOSE(x > most, most, x);
}

INLINE void keep_others(const struct rw_lambda_block *block, uint32_t n, double gain,
                        struct list *list)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) { /* without a branch, which would often be mispredicted */
        const double diff = gain - block->gain[i];
        list->at[m] = i;
        list->diff[m] = (float)diff;
        list->score[m] = block->score[i];
        list->discount[m] = block->discount[i];
        list->lambda[m] = list->hessian[m] = 0;
        m += diff != 0.0;
    }
    list->n = m;
}

INLINE void add_list_sums(const struct list *list, uint32_t n, struct rw_lambda_block *block)
{
    (void)n;
    for (uint32_t i = 0; i < list->n; i++) {
        block->lambda[list->at[i]] -= list->lambda[i];
        block->hessian[list->at[i]] += list->hessian[i];
    }
}

INLINE int64_t total(longs sums)
{
    int64_t each[LONGS], sum = 0;
    *(longs_at *)each = sums;
    for (int i = 0; i < LONGS; i++)
        sum += each[i];
    return sum;
}

#define LESS(c, a, b)      ((c) - (a) * (b))
#define OVER(a, row)       ((a) / (row)->unit)
#define SCALED(p, shifted) ((p) * (floats)(((ints)(shifted) << 23) + (127 << 23)))
#define COUNT(a, b, n)     ((n) - ((a) < (b)))
#endif

/* ---- pairs, for all instruction sets ---- */

INLINE floats magnitude(floats x)
{
    return (floats)((ints)x & INT32_MAX);
}

#define EXP_FN   INLINE
#define EXP_NAME exp_part
#define EXP_V    floats
#define EXP_LESS LESS
#include "base/exp_tmpl.h"

#define PAIR_FN                     INLINE
#define PAIR_V                      floats
#define PAIR(name)                  many_##name
#define PAIR_UNIT                   const struct rw_lambda_row *
#define PAIR_OVER                   OVER
#define PAIR_NORMED(a, s, row)      ((a) / (0.01f + magnitude(s)))
#define PAIR_LIMITED                limited
#define PAIR_EXP                    exp_part
#define PAIR_SCALED                 SCALED
#define PAIR_SIGMOID(p, shifted, e) (1.0f / (1.0f + (e)))
#include "objective/pair_tmpl.h"

/* Adds the pairs of the row with listed documents, from list->next on. A negative gain
 * difference gives a negative lambda: the row is not the better document of the pair. mixed: a
 * document's lambdas can have both signs in the course of the rows. */
INLINE void add_row(struct rw_lambda_row *row, struct list *list, int norm, int easy, int mixed)
{
    const float sigma = easy ? 1.0f : row->sigma; /* multiplying by 1 changes nothing */
    longs lambdas = {0}, hessians = {0}, sizes = {0};
    for (uint32_t i = list->next; i < list->n; i += LANES) {
        const ints g = *(const ints_at *)(list->diff + i);
        const floats d = differences(row->discount, list->discount + i);
        const floats s = (floats)((ints)differences(row->score, list->score + i) ^ (g & INT32_MIN));
        const struct many_real real =
            many_real_of_pair((floats)g, d, s, sigma, sigma, row, norm, !easy);
        add(real.lambda, list->lambda + i, &lambdas);
        add(magnitude(real.hessian), list->hessian + i, &hessians);
        if (mixed) {
            int64_t none[LANES];
            add(magnitude(real.lambda), none, &sizes);
        }
    }
    row->lambda = total(lambdas);
    row->hessian = total(hessians);
    row->sum_hi += total(sizes) >> 32;
    row->sum_lo += total(sizes) & 0xffffffff;
}

static void make_list(const struct rw_lambda_block *block, uint32_t n, double gain,
                      struct list *list)
{
    list->next = 0;
    keep_others(block, n, gain, list);
    for (uint32_t i = list->n; i < list->n + LANES; i++) {
        list->diff[i] = 0.0f;
        list->at[i] = UINT32_MAX;
        list->score[i] =
            block->score[0]; /* repeats a real document, so that no number is too large */
        list->discount[i] = block->discount[0];
        list->lambda[i] = list->hessian[i] = 0;
    }
}

/* Adds the list's sums to the block's, and the magnitudes to the row's sums unless `mixed`. */
static void drop_list(struct rw_lambda_row *row, const struct list *list, uint32_t n, int mixed,
                      struct rw_lambda_block *block)
{
    int64_t hi = 0, lo = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        /* if not mixed, a document's lambdas have one sign, so the sum has their magnitude */
        const int64_t size = list->lambda[i] < 0 ? -list->lambda[i] : list->lambda[i];
        hi += size >> 32;
        lo += size & 0xffffffff;
    }
    row->sum_hi += mixed ? 0 : hi;
    row->sum_lo += mixed ? 0 : lo;
    add_list_sums(list, n, block);
}

void RW_TMPL_NAME(rw_lambda_block)(struct rw_lambda_row *row, struct rw_lambda_block *block,
                                   uint32_t first, uint32_t n, uint32_t top,
                                   const struct rw_objective_query *query)
{
    struct list lists[LISTS + 1]; /* by gain; the last has all documents, for further gains */
    double gains[LISTS + 1];
    uint32_t n_lists = 0;
    for (uint32_t i = 0; i < LISTS; i++)
        gains[i] = (double)NAN;
    for (uint32_t r = 0; r < top && r + 1 < first + n; r++) {
        const uint32_t doc = query->order[r];
        const uint32_t from = r < first ? 0 : r + 1 - first;
        const double gain = query->gains[doc];
        uint32_t found = 1u << (n_lists < LISTS ? n_lists : LISTS);
        for (uint32_t i = 0; i < LISTS;
             i++) /* without a branch, which would often be mispredicted */
            found |= (uint32_t)(gains[i] == gain) << i;
        const uint32_t l = (uint32_t)__builtin_ctz(found);
        struct list *list = &lists[l];
        if (l == n_lists) {
            gains[l] = l < LISTS ? gain : (double)NAN;
            make_list(block, n, gains[l], list);
            n_lists++;
        }
        for (uint32_t i = 0; l == LISTS && i < n; i++)
            list->diff[i] = (float)(gain - block->gain[i]);
        while (list->at[list->next] < from)
            list->next++;
        row->score = query->scores[doc];
        row->discount = query->discounts[r];
        if (l == LISTS)
            add_row(row, list, row->norm, 0, 1);
        else if (row->norm && row->easy)
            add_row(row, list, 1, 1, 0);
        else if (row->easy)
            add_row(row, list, 0, 1, 0);
        else
            add_row(row, list, row->norm, 0, 0);
        query->lambda[doc] += row->lambda;
        query->hess[doc] += row->hessian;
        row->sum_hi += row->sum_lo >> 32;
        row->sum_lo &= 0xffffffff;
    }
    for (uint32_t l = 0; l < n_lists; l++)
        drop_list(row, &lists[l], n, l == LISTS, block);
}

/* ---- rankings ---- */

/* Counts the smaller keys for each document. Equal keys before the document count and those
 * after it do not: the first are compared with the key plus one, the others with the key. */
void RW_TMPL_NAME(rw_rank_count)(const int32_t *key, uint32_t n, uint32_t *order)
{
    ints lane;
    for (int i = 0; i < LANES; i++)
        lane[i] = i;
    for (uint32_t first = 0; first < n; first += LANES) {
        const uint32_t end = n - first < LANES ? n : first + LANES;
        const ints own = *(const ints_at *)(key + first);
        ints before = {0};
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < first; j++) before =
            COUNT((ints){0} + key[j], own + 1, before);
        for (uint32_t j = first; j < end; j++)
            before = COUNT((ints){0} + key[j], own - (lane > (int32_t)(j - first)), before);
        _Pragma("GCC unroll 4") for (uint32_t j = end; j < n; j++) before =
            COUNT((ints){0} + key[j], own, before);
        int32_t position[LANES];
        *(ints_at *)position = before;
        for (uint32_t i = 0; i < end - first; i++)
            order[position[i]] = first + i;
    }
}
