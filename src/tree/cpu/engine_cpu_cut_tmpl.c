/* Sums a column's cells up to each bin, and scores the splits roughly, in float, eight at a time
 * (rw_cpu_score in engine_cpu.h). Cells are packed, pairs or joint (enum rw_cpu_cells).
 * This file is compiled once per instruction set (base/machine.h). Vectors are passed by address,
 * because not every instruction set can pass them as arguments. */

#include "tree/cpu/engine_cpu.h"

#if defined(RW_TMPL_AVX2) || defined(RW_TMPL_AVX512)
#include <immintrin.h>
#endif

enum { LANES = RW_CPU_CELLS };
typedef float floats __attribute__((vector_size(LANES * 4)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));
typedef uint64_t longs __attribute__((vector_size(LANES * 8)));
typedef int64_t signed_longs __attribute__((vector_size(LANES * 8)));
#define INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (longs){__VA_ARGS__})
#endif
#define LOW_INTS(vector)  __builtin_convertvector((vector)&0xffffffff, ints)
#define HIGH_INTS(vector) __builtin_convertvector((vector) >> 32, ints)
#define FLOATS(vector)    __builtin_convertvector(vector, floats)

/* Shift between the lambda of a joint word and that of a packed one, sign included. */
enum { JOINT_LAMBDA = RW_JOINT_COUNT + RW_JOINT_HESSIAN - 32 };
#define LAMBDA 0xffffffff00000000

INLINE longs load(const int64_t *from)
{
    longs words;
    memcpy(&words, from, sizeof(words));
    return words;
}

INLINE void store(int64_t *to, const longs *words)
{
    memcpy(to, words, sizeof(*words));
}

/* Loads the packed words and the hessians of LANES cells from b on. joint: 1: the cells are joint
 * words; 0: pairs of a packed word and a hessian. */
INLINE void load_pairs(const int64_t *cells, uint32_t b, int joint, longs *words, longs *hessians)
{
    if (joint) {
        const longs both = load(cells + b);
        *hessians = both >> RW_JOINT_COUNT & ((1 << RW_JOINT_HESSIAN) - 1);
        *words = ((longs)((signed_longs)both >> JOINT_LAMBDA) & LAMBDA) +
                 (both & ((1 << RW_JOINT_COUNT) - 1));
    } else {
        const longs low = load(cells + 2 * b), high = load(cells + 2 * b + LANES);
        *words = SHUFFLE(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
        *hessians = SHUFFLE(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
    }
}

/* Stores what load_pairs loads. */
INLINE void store_pairs(int64_t *cells, uint32_t b, int joint, const longs *words,
                        const longs *hessians)
{
    if (joint) {
        const longs both = ((*words & LAMBDA) << JOINT_LAMBDA) + (*hessians << RW_JOINT_COUNT) +
                           (*words & ~LAMBDA);
        store(cells + b, &both);
        return;
    }
    const longs low = SHUFFLE(*words, *hessians, 0, 8, 1, 9, 2, 10, 3, 11);
    const longs high = SHUFFLE(*words, *hessians, 4, 12, 5, 13, 6, 14, 7, 15);
    store(cells + 2 * b, &low);
    store(cells + 2 * b + LANES, &high);
}

/* Loads the cells from b on, subtracts those of column->from, and stores the result in column->to.
 * hessians: written for RW_CELL_PAIRS only. */
INLINE void take_cells(const struct rw_cpu_column *column, uint32_t b, enum rw_cpu_cells kind,
                       longs *words, longs *hessians)
{
    if (kind != RW_CELL_PAIRS) {
        *words = load(column->cells + b);
        if (column->from)
            *words -= load(column->from + b);
        if (column->to)
            store(column->to + b, words);
        return;
    }
    load_pairs(column->cells, b, column->joint, words, hessians);
    if (column->from) {
        longs less, less_hessian;
        load_pairs(column->from, b, column->from_joint, &less, &less_hessian);
        *words -= less;
        *hessians -= less_hessian;
    }
    if (column->to)
        store_pairs(column->to, b, column->to_joint, words, hessians);
}

/* Makes prefix sums over the cells of a vector, by steps of one, two and four cells. Adds to each
 * the sum of all earlier cells, *before, and adds this vector's cells to *before. */
INLINE void add_up(longs *sums, longs *before)
{
    const longs none = {0};
    *sums += SHUFFLE(none, *sums, 0, 8, 9, 10, 11, 12, 13, 14);
    *sums += SHUFFLE(none, *sums, 0, 1, 8, 9, 10, 11, 12, 13);
    *sums += SHUFFLE(none, *sums, 0, 1, 2, 3, 8, 9, 10, 11);
    const longs whole = SHUFFLE(*sums, *sums, 7, 7, 7, 7, 7, 7, 7, 7);
    *sums += *before;
    *before += whole;
}

/* Which splits are uncertain. ALL_SURE: no split. IDLE: splits where idle documents may decide
 * whether a side has enough documents. ORDERED: also splits that may break the column's monotone
 * constraint. */
enum uncertain { ALL_SURE, IDLE, ORDERED };

/* Checks the monotone constraint of allowed splits. Keeps in `allowed` those that may satisfy it,
 * and in `sure` those that certainly do. l, r: values of the sides, times both denominators. */
INLINE void keep_ordered(const struct rw_cpu_column *column, const floats *l, const floats *r,
                         ints *allowed, ints *sure)
{
    const floats above = (*r - *l) * column->direction;
    const ints sign = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX,
                       INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
    const floats margin = ((floats)((ints)*l & sign) + (floats)((ints)*r & sign)) * RW_ORDER_MARGIN;
    *sure &= above >= margin;
    *allowed &= above >= -margin;
}

/* Extracts counts, lambdas and hessians from words in the layout `kind`. heavy: the hessians of
 * RW_CELL_PAIRS. For RW_CELL_COUNTS, the hessians are the counts. */
INLINE void split_words(enum rw_cpu_cells kind, const longs *words, const longs *heavy, ints *n,
                        ints *lambda, ints *hessian)
{
    *n = LOW_INTS(*words);
    *lambda = HIGH_INTS(*words);
    *hessian = kind == RW_CELL_PAIRS ? LOW_INTS(*heavy) : *n;
    if (kind == RW_CELL_JOINT) {
        *hessian = LOW_INTS(*words >> RW_JOINT_COUNT) & ((1 << RW_JOINT_HESSIAN) - 1);
        *n &= (1 << RW_JOINT_COUNT) - 1;
        *lambda >>= JOINT_LAMBDA;
    }
}

/* Computes the rough gain of splits, without the parent's share. Its relative error is under 2^-20,
 * as fewer than 16 roundings of at most 2^-24 each add up. The score is -1 if the split is not
 * allowed. left, heavy: words and, for RW_CELL_PAIRS, hessians on the left. If `uncertain` is not
 * ALL_SURE, `score` is for splits that are possible, and `sure` has the scores of those that are
 * certain, or -1. */
INLINE void score_cuts(const struct rw_cpu_column *column, const longs *left, const longs *heavy,
                       enum rw_cpu_cells kind, enum uncertain uncertain, floats *score,
                       floats *sure)
{
    const int32_t least = column->min_docs - (uncertain == ALL_SURE ? 0 : column->n_idle);
    const longs right = (uint64_t)column->all[0] - *left;
    const longs right_heavy = (uint64_t)column->all[1] - *heavy;
    ints nl, nr, l, r, wl, wr;
    split_words(kind, left, heavy, &nl, &l, &wl);
    split_words(kind, &right, &right_heavy, &nr, &r, &wr);
    const floats ql = FLOATS(l), qr = FLOATS(r);
    ints allowed = (nl >= least) & (nr >= least);
    if (kind != RW_CELL_COUNTS)
        allowed &= (wl >= column->min_hessian) & (wr >= column->min_hessian);
    const floats dl = FLOATS(wl) + column->l2, dr = FLOATS(wr) + column->l2;
    const floats both = (ql * ql * dr + qr * qr * dl) / (dl * dr);
    if (uncertain != ALL_SURE) {
        const floats value_l = ql * dr, value_r = qr * dl;
        ints surely = allowed & (nl >= column->min_docs) & (nr >= column->min_docs);
        if (uncertain == ORDERED)
            keep_ordered(column, &value_l, &value_r, &allowed, &surely);
        *sure = (floats)((surely & (ints)both) | (~surely & (ints)((floats){0} - 1.0f)));
    }
    *score = (floats)((allowed & (ints)both) | (~allowed & (ints)((floats){0} - 1.0f)));
}

/* Replaces each value of *largest by that of *other if the latter is larger. */
INLINE void keep_larger(floats *largest, const floats *other)
{
#if defined(RW_TMPL_AVX2) || defined(RW_TMPL_AVX512)
    *largest = (floats)_mm256_max_ps((__m256)*other, (__m256)*largest);
#else
    const ints above = *other > *largest;
    *largest = (floats)((above & (ints)*other) | (~above & (ints)*largest));
#endif
}

/* Sets scores after the last threshold to -1. Sums there already include the missing values. b: the
 * bin of the first score. */
INLINE void keep_cuts(const struct rw_cpu_column *column, uint32_t b, floats *score)
{
    const ints inside = (ints){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)column->n_cuts - (int32_t)b;
    *score = (floats)((inside & (ints)*score) | (~inside & (ints)((floats){0} - 1.0f)));
}

INLINE float largest_of(const floats *values)
{
    float most = -1.0f;
    for (int i = 0; i < LANES; i++)
        most = (*values)[i] > most ? (*values)[i] : most;
    return most;
}

INLINE float score_cells(const struct rw_cpu_column *given, struct rw_cpu_scores *out,
                         enum rw_cpu_cells kind, enum uncertain uncertain)
{
    const struct rw_cpu_column own = *given, *column = &own; /* a copy that no store changes */
    longs before = {0}, hessian_before = {0};
    floats largest = (floats){0} - 1.0f, sure = largest;
    for (uint32_t b = 0; b < column->n; b += LANES) {
        longs sums, heavy = {0};
        floats better, surely;
        take_cells(column, b, kind, &sums, &heavy);
        if (kind == RW_CELL_PAIRS) {
            add_up(&heavy, &hessian_before);
            store(out->hessian + b, &heavy);
        }
        add_up(&sums, &before);
        store(out->left + b, &sums);
        score_cuts(column, &sums, &heavy, kind, uncertain, &better, &surely);
        if (uncertain != ALL_SURE)
            keep_larger(&sure, &surely);
        if (column->missing[0]) {
            const longs with = sums + (uint64_t)column->missing[0];
            const longs heavier = heavy + (uint64_t)column->missing[1];
            floats other;
            score_cuts(column, &with, &heavier, kind, uncertain, &other, &surely);
            keep_cuts(column, b, &other);
            keep_larger(&better, &other);
            if (uncertain != ALL_SURE) {
                keep_cuts(column, b, &surely);
                keep_larger(&sure, &surely);
            }
        }
        memcpy(out->score + b, &better, sizeof(better));
        keep_larger(&largest, &better);
    }
    if (uncertain != ALL_SURE)
        out->sure = largest_of(&sure);
    return largest_of(&largest);
}

INLINE float score_by_kind(const struct rw_cpu_column *column, struct rw_cpu_scores *out,
                           enum rw_cpu_cells kind, enum uncertain uncertain)
{
    return kind == RW_CELL_COUNTS  ? score_cells(column, out, RW_CELL_COUNTS, uncertain)
           : kind == RW_CELL_JOINT ? score_cells(column, out, RW_CELL_JOINT, uncertain)
                                   : score_cells(column, out, RW_CELL_PAIRS, uncertain);
}

float RW_TMPL_NAME(rw_cpu_score)(const struct rw_cpu_column *column, struct rw_cpu_scores *out,
                                 enum rw_cpu_cells kind)
{
    if (column->direction != 0.0f)
        return score_by_kind(column, out, kind, ORDERED);
    return column->n_idle ? score_by_kind(column, out, kind, IDLE)
                          : score_by_kind(column, out, kind, ALL_SURE);
}
