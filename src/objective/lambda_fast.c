/* rw_lambda_query, eight pairs at a time: the same operations on each pair, in the same order, so
 * the same bits. But the unit divides the ideal first, where it was to multiply results: a power of
 * two, and whatever comes too near to 0 for that to be the same is far under half a unit. Written
 * with the compilers' vectors, compiled for each path but AVX-512's (lambda_avx512.c). */
#include "objective/lambda_fast.h"

#include <string.h>
#if RW_HAS_X86
#include <emmintrin.h>
#endif

enum { LANES = 8, BLOCK = RW_LAMBDA_BLOCK };
typedef float floats __attribute__((vector_size(LANES * 4)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));
typedef double doubles __attribute__((vector_size(LANES * 8)));
typedef int64_t longs __attribute__((vector_size(LANES * 8)));

/* 1.5 x 2^52: added to a number under 2^51, it leaves the nearest integer, halves to even, in the
 * low bits. */
#define TO_INTEGER 6755399441055744.0
#define MOST_ROUND 0x1p50
#define SIGN       INT64_MIN
#define INLINE     static inline __attribute__((always_inline))

/* The documents of a block whose gains are not `gain`: all that a row of that gain is paired with.
 */
enum { GAINS = 6 };
struct others {
    double gain;
    uint32_t n, next; /* the first that may be below the row */
    uint16_t index[BLOCK];
    float diff[BLOCK + LANES];    /* of gains, its magnitude; 0 past the end */
    int32_t above[BLOCK + LANES]; /* the sign's bit, where the document's gain is the larger one */
    double score[BLOCK + LANES], discount[BLOCK + LANES];
    int64_t lambda[BLOCK + LANES], weight[BLOCK + LANES];
};

#define LOAD(vector, from)   memcpy(&(vector), (from), sizeof(vector))
#define STORE(to, vector)    memcpy((to), &(vector), sizeof(vector))
#define CHOOSE(mask, a, b)   (((mask) & (a)) | (~(mask) & (b)))
#define ALL_FLOATS(value)    ((floats){0} + (value))
#define WITH_SIGN(value, by) ((doubles)((longs)(value) ^ (by)))

INLINE floats limited(floats x)
{
    x = (floats)CHOOSE((x > -87.0f), (ints)x, (ints)ALL_FLOATS(-87.0f));
    return (floats)CHOOSE((x > 88.0f), (ints)ALL_FLOATS(88.0f), (ints)x);
}
#define MOST_EASY 80.0

#define EXP_FN            INLINE
#define EXP_NAME          exp_part
#define EXP_V             floats
#define EXP_LESS(c, a, b) ((c) - (a) * (b))
#include "base/exp_tmpl.h"

#define PAIR_FN                     INLINE
#define PAIR_V                      floats
#define PAIR(name)                  eight_##name
#define PAIR_UNIT                   float
#define PAIR_OVER(a, unit)          ((a) / (unit))
#define PAIR_NORMED(a, s, unit)     ((a) / (0.01f + (floats)((ints)(s)&INT32_MAX)))
#define PAIR_LIMITED                limited
#define PAIR_EXP                    exp_part
#define PAIR_SCALED(p, shifted)     ((p) * (floats)(((ints)(shifted) << 23) + (127 << 23)))
#define PAIR_SIGMOID(p, shifted, e) (1.0f / (1.0f + (e)))
#include "objective/pair_tmpl.h"

#ifdef __clang__
#define SHUFFLE(a, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
#else
#define SHUFFLE(a, ...) __builtin_shuffle(a, (longs){__VA_ARGS__})
#endif

INLINE int64_t sum_of(const longs *vector)
{
    longs sums = *vector;
    sums += SHUFFLE(sums, 4, 5, 6, 7, 0, 1, 2, 3);
    sums += SHUFFLE(sums, 2, 3, 0, 1, 6, 7, 4, 5);
    sums += SHUFFLE(sums, 1, 0, 3, 2, 5, 4, 7, 6);
    return sums[0];
}

/* The row against documents [from, end) of the block. Pairs of equal gains, and lanes past the end,
 * come out as zeros. */
INLINE void add_row(struct rw_lambda_row *row, struct rw_lambda_block *block, uint32_t from,
                    uint32_t end, int norm)
{
    const longs lane = {0, 1, 2, 3, 4, 5, 6, 7};
    const longs integer = (longs)((doubles){0} + TO_INTEGER);
    longs lambdas = {0}, weights = {0}, sum_hi = {0}, sum_lo = {0};
    for (uint32_t i = from; i < end; i += LANES) {
        doubles gain, score, discount;
        LOAD(gain, block->gain + i);
        LOAD(score, block->score + i);
        LOAD(discount, block->discount + i);
        const doubles gain_diff = row->gain - gain;
        const longs sign = (longs)gain_diff & SIGN; /* set: the row's has the smaller gain */
        const longs inside = lane < (int64_t)(end - i);
        const floats g =
            __builtin_convertvector((doubles)((longs)WITH_SIGN(gain_diff, sign) & inside), floats);
        const floats d = __builtin_convertvector(row->discount - discount, floats);
        const floats s = __builtin_convertvector(WITH_SIGN(row->score - score, sign), floats);
        const struct eight_real real =
            eight_real_of_pair(g, d, s, row->sigma, row->sigma, row->unit, norm, 1);
        const longs by =
            (longs)(__builtin_convertvector(real.lambda, doubles) + TO_INTEGER) - integer;
        const longs heavy =
            (longs)(__builtin_convertvector(real.weight, doubles) + TO_INTEGER) - integer;
        const longs below = sign < 0, with_sign = (by ^ below) - below;
        longs lambda, weight;
        LOAD(lambda, block->lambda + i);
        LOAD(weight, block->weight + i);
        lambda -= with_sign;
        weight += heavy;
        STORE(block->lambda + i, lambda);
        STORE(block->weight + i, weight);
        lambdas += with_sign;
        weights += heavy;
        sum_hi += by >> 32;
        sum_lo += by & 0xffffffff;
    }
    row->lambda = sum_of(&lambdas);
    row->weight = sum_of(&weights);
    row->sum_hi += sum_of(&sum_hi);
    row->sum_lo += sum_of(&sum_lo);
}

/* The row against listed documents, from `from` on. */
INLINE void add_listed(struct rw_lambda_row *row, struct others *docs, uint32_t from, int norm,
                       int easy)
{
    const longs integer = (longs)((doubles){0} + TO_INTEGER);
    const float sigma = easy ? 1.0f : row->sigma;
    longs lambdas = {0}, weights = {0};
    for (uint32_t i = from; i < docs->n; i += LANES) {
        doubles score, discount;
        floats g;
        ints above;
        LOAD(score, docs->score + i);
        LOAD(discount, docs->discount + i);
        LOAD(g, docs->diff + i);
        LOAD(above, docs->above + i);
        const floats d = __builtin_convertvector(row->discount - discount, floats);
        const floats s =
            (floats)((ints) __builtin_convertvector(row->score - score, floats) ^ above);
        const struct eight_real real =
            eight_real_of_pair(g, d, s, sigma, sigma, row->unit, norm, !easy);
        const floats with_sign = (floats)((ints)real.lambda ^ above);
        const longs by =
            (longs)(__builtin_convertvector(with_sign, doubles) + TO_INTEGER) - integer;
        const longs heavy =
            (longs)(__builtin_convertvector(real.weight, doubles) + TO_INTEGER) - integer;
        longs lambda, weight;
        LOAD(lambda, docs->lambda + i);
        LOAD(weight, docs->weight + i);
        lambda -= by;
        weight += heavy;
        STORE(docs->lambda + i, lambda);
        STORE(docs->weight + i, weight);
        lambdas += by;
        weights += heavy;
    }
    row->lambda = sum_of(&lambdas);
    row->weight = sum_of(&weights);
}

INLINE void list_others(const struct rw_lambda_block *block, uint32_t n, double gain,
                        struct others *others)
{
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double diff = gain - block->gain[i];
        others->index[m] = (uint16_t)i;
        int64_t bits; /* of the sign: no branch, which would often be mispredicted */
        memcpy(&bits, &diff, sizeof(bits));
        const int32_t above = (int32_t)(bits >> 32) & INT32_MIN;
        const float size = (float)diff;
        int32_t float_bits;
        memcpy(&float_bits, &size, sizeof(float_bits));
        float_bits &= INT32_MAX;
        memcpy(&others->diff[m], &float_bits, sizeof(float_bits));
        others->above[m] = above;
        others->score[m] = block->score[i];
        others->discount[m] = block->discount[i];
        m += diff != 0.0;
    }
    for (uint32_t i = m; i < m + LANES; i++) { /* a document's numbers, so that none is too large */
        others->diff[i] = 0.0f;
        others->above[i] = 0;
        others->score[i] = block->score[0];
        others->discount[i] = block->discount[0];
    }
    memset(others->lambda, 0, (m + LANES) * sizeof(*others->lambda));
    memset(others->weight, 0, (m + LANES) * sizeof(*others->weight));
    others->gain = gain;
    others->n = m;
    others->next = 0;
}

/* Those of a gain, from the lists, which grow; NULL: there are too many gains. */
INLINE struct others *others_of(const struct rw_lambda_block *block, uint32_t n, double gain,
                                struct others *lists, uint32_t *n_lists)
{
    for (uint32_t i = 0; i < *n_lists; i++) {
        if (lists[i].gain == gain)
            return &lists[i];
    }
    if (*n_lists == GAINS)
        return NULL;
    list_others(block, n, gain, &lists[*n_lists]);
    return &lists[(*n_lists)++];
}

/* All pairs of the first `top` documents with those of the block, which begins at rank `first`. */
INLINE void add_block(struct rw_lambda_row *row, struct rw_lambda_block *block, uint32_t first,
                      uint32_t n, uint32_t top, const struct rw_lambda_query_of *query)
{
    struct others lists[GAINS];
    uint32_t n_lists = 0;
    for (uint32_t r = 0; r < top && r + 1 < first + n; r++) {
        const uint32_t doc = query->order[r];
        const uint32_t from = r < first ? 0 : r + 1 - first;
        row->gain = query->gains[doc];
        row->score = query->scores[doc];
        row->discount = query->discounts[r];
        struct others *others = others_of(block, n, row->gain, lists, &n_lists);
        while (others && others->next < others->n && others->index[others->next] < from)
            others->next++;
        if (others && row->norm && row->easy)
            add_listed(row, others, others->next, 1, 1);
        else if (others && row->easy)
            add_listed(row, others, others->next, 0, 1);
        else if (others)
            add_listed(row, others, others->next, row->norm, 0);
        else
            add_row(row, block, from, n, row->norm);
        query->lambda[doc] += row->lambda;
        query->weight[doc] += row->weight;
        row->sum_hi += row->sum_lo >> 32;
        row->sum_lo &= 0xffffffff;
    }
    for (uint32_t l = 0; l < n_lists; l++) {
        for (uint32_t i = 0; i < lists[l].n; i++) {
            /* all of a document's pairs in a list have one sign */
            const int64_t lambda = lists[l].lambda[i], size = lambda < 0 ? -lambda : lambda;
            block->lambda[lists[l].index[i]] += lambda;
            block->weight[lists[l].index[i]] += lists[l].weight[i];
            row->sum_hi += size >> 32;
            row->sum_lo += size & 0xffffffff;
        }
    }
}

typedef void add_block_fn(struct rw_lambda_row *, struct rw_lambda_block *, uint32_t, uint32_t,
                          uint32_t, const struct rw_lambda_query_of *);

static void add_block_plain(struct rw_lambda_row *row, struct rw_lambda_block *block,
                            uint32_t first, uint32_t n, uint32_t top,
                            const struct rw_lambda_query_of *query)
{
    add_block(row, block, first, n, top, query);
}

RW_AVX2 static void add_block_avx2(struct rw_lambda_row *row, struct rw_lambda_block *block,
                                   uint32_t first, uint32_t n, uint32_t top,
                                   const struct rw_lambda_query_of *query)
{
    add_block(row, block, first, n, top, query);
}

/* Are all pairs' numbers small enough for the quick rounding, and the unit's place of no
 * consequence? Gains lie under the ideal, the ranking's best document being the ideal's first: as a
 * rule they are. */
static int is_bounded(const struct rw_lambda_rule *rule, const struct rw_lambda_query_of *query,
                      double scale)
{
    const struct rw_range of = rw_range_of(query->gains, query->n);
    const double range = of.high - of.low;
    const double sigma = (double)rule->sigma;
    const double most = range * query->discounts[0] / query->ideal * (rule->norm ? 100.0 : 1.0) *
                        sigma * (sigma > 1.0 ? sigma : 1.0) * scale;
    return most < MOST_ROUND / 4.0 /* roundings are far less than the 4 */
           && query->ideal > 0x1p-20 && query->ideal < 0x1p60 && range < query->ideal * 0x1p20;
}

/* rw_round_int64, by the processor's own where there is one. */
static int64_t round_double(double value)
{
#if RW_HAS_X86
    return _mm_cvtsd_si64(_mm_set_sd(value));
#else
    return rw_round_int64(value);
#endif
}

void rw_lambda_query_fast(enum rw_isa isa, const struct rw_lambda_rule *rule,
                          const struct rw_lambda_query_of *query)
{
    static add_block_fn *const paths[] = {add_block_plain, add_block_avx2, rw_lambda_block_avx512};
    const uint32_t n = query->n, *order = query->order;
    const int e = rw_lambda_shift(n, rule);
    const double scale = rw_pow2(RW_LAMBDA_EXPONENT - e);
    if (!((float)query->ideal > 0.0f) || !is_bounded(rule, query, scale)) {
        rw_lambda_query(rule, n, query->scores, query->gains, query->weights, order,
                        query->discounts, query->ideal, query->lambda, query->weight);
        return;
    }
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->weight, 0, n * sizeof(*query->weight));
    const uint32_t top = rule->truncation && rule->truncation < n ? rule->truncation : n;
    const float unit = (float)query->ideal / (float)scale;
    struct rw_lambda_row row = {
        .unit = unit,
        .reciprocal = 1.0f / unit,
        .sigma = rule->sigma,
        .norm = rule->norm && query->scores[order[0]] != query->scores[order[n - 1]],
        .easy = rule->sigma == 1.0f &&
                query->scores[order[0]] - query->scores[order[n - 1]] < MOST_EASY};
    struct rw_lambda_block block;
    for (uint32_t first = 0; first < n; first += BLOCK) {
        const uint32_t in_block = n - first < BLOCK ? n - first : BLOCK;
        for (uint32_t i = 0; i < in_block; i++) {
            block.gain[i] = query->gains[order[first + i]];
            block.score[i] = query->scores[order[first + i]];
            block.discount[i] = query->discounts[first + i];
            block.lambda[i] = block.weight[i] = 0;
        }
        for (uint32_t i = in_block; i < in_block + RW_LAMBDA_ROOM; i++) {
            block.gain[i] = block.score[i] = block.discount[i] = 0.0;
            block.lambda[i] = block.weight[i] = 0;
        }
        paths[isa](&row, &block, first, in_block, top, query);
        for (uint32_t i = 0; i < in_block; i++) {
            query->lambda[order[first + i]] += block.lambda[i];
            query->weight[order[first + i]] += block.weight[i];
        }
    }
    const double factor = rw_lambda_factor(rule, row.sum_hi, row.sum_lo, e);
    if (isa == RW_ISA_AVX512) {
        rw_lambda_finals_avx512(query, factor);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double *own = query->weights ? query->weights + i : NULL;
        const double by = own ? factor * *own : factor;
        query->lambda[i] = round_double((double)query->lambda[i] * by);
        query->weight[i] = round_double((double)query->weight[i] * by);
    }
}
