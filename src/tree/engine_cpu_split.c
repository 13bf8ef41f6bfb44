/* The best cut of a feature in a node, for the engine for processors. Cuts are first told apart
 * roughly, in float, eight at a time; those that may be the best have their gains made by the
 * functions of tree/numbers.h from exact sums. So the choice is the plain one's, to the bit. */
#include <string.h>

#include "base/isa.h"
#include "tree/engine_cpu.h"

enum { LANES = RW_CPU_CELLS, MOST_CELLS = 1025 + RW_CPU_CELLS };
typedef float floats __attribute__((vector_size(LANES * 4)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));
typedef uint64_t longs __attribute__((vector_size(LANES * 8)));
#define INLINE static inline __attribute__((always_inline))

#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (longs){__VA_ARGS__})
#endif
#define LOAD(vector, from) memcpy(&(vector), (from), sizeof(vector))
#define STORE(to, vector)  memcpy((to), &(vector), sizeof(vector))
#define LOW_INTS(vector)   __builtin_convertvector((vector)&0xffffffff, ints)
#define HIGH_INTS(vector)  __builtin_convertvector((vector) >> 32, ints)
#define FLOATS(vector)     __builtin_convertvector(vector, floats)

/* A column of a node, packed. */
struct column {
    int64_t *cells;      /* [n], n a multiple of LANES */
    const int64_t *from; /* taken from them first; or NULL */
    uint32_t n;
    int64_t missing, all; /* the cell of missing values, as it will be; and the node */
    int32_t min_docs;
    float l2;
};

/* What a cut's sides add to its gain, roughly: seven roundings of at most 2^-24 each; -1 where the
 * split is not allowed. left: cells on the left, all: the node's, as packed words. */
#define ROUGH(score, left)                                                                    \
    do {                                                                                      \
        const longs right = all - (left);                                                     \
        const ints nl = LOW_INTS(left), nr = LOW_INTS(right);                                 \
        const floats ql = FLOATS(HIGH_INTS(left)), qr = FLOATS(HIGH_INTS(right));             \
        const floats dl = FLOATS(nl) + l2, dr = FLOATS(nr) + l2;                              \
        const ints allowed = (nl >= min_docs) & (nr >= min_docs);                             \
        const floats both = (ql * ql * dr + qr * qr * dl) / (dl * dr);                        \
        (score) = (floats)((allowed & (ints)both) | (~allowed & (ints)((floats){0} - 1.0f))); \
    } while (0)

/* Sums of the cells up to each bin, in `left`, [n]; rough scores of the cuts behind them, the
 * better of both places for missing values, in `score`, [n]. Returns the largest. */
INLINE float score_cells(const struct column *column, int64_t *left, float *score)
{
    const longs all = (longs){0} + (uint64_t)column->all;
    const uint64_t missing = (uint64_t)column->missing;
    const int32_t min_docs = column->min_docs;
    const float l2 = column->l2;
    const longs none = {0};
    longs before = {0};
    floats largest = (floats){0} - 1.0f;
    for (uint32_t b = 0; b < column->n; b += LANES) {
        longs cells;
        LOAD(cells, column->cells + b);
        if (column->from) {
            longs from;
            LOAD(from, column->from + b);
            cells -= from;
            STORE(column->cells + b, cells);
        }
        longs sums = cells; /* of a lane and those before it: one, two, four of them */
        sums += SHUFFLE(none, sums, 0, 8, 9, 10, 11, 12, 13, 14);
        sums += SHUFFLE(none, sums, 0, 1, 8, 9, 10, 11, 12, 13);
        sums += SHUFFLE(none, sums, 0, 1, 2, 3, 8, 9, 10, 11);
        const longs whole = SHUFFLE(sums, sums, 7, 7, 7, 7, 7, 7, 7, 7);
        sums += before;
        before += whole;
        STORE(left + b, sums);
        floats better;
        ROUGH(better, sums);
        if (missing) {
            floats other;
            ROUGH(other, sums + missing);
            const ints above = other > better;
            better = (floats)((above & (ints)other) | (~above & (ints)better));
        }
        STORE(score + b, better);
        const ints above = better > largest;
        largest = (floats)((above & (ints)better) | (~above & (ints)largest));
    }
    float lane[LANES], most = -1.0f;
    memcpy(lane, &largest, sizeof(lane));
    for (int i = 0; i < LANES; i++)
        most = lane[i] > most ? lane[i] : most;
    return most;
}

typedef float score_fn(const struct column *, int64_t *, float *);

static float score_plain(const struct column *column, int64_t *left, float *score)
{
    return score_cells(column, left, score);
}

RW_AVX2 static float score_avx2(const struct column *column, int64_t *left, float *score)
{
    return score_cells(column, left, score);
}

RW_AVX512 static float score_avx512(const struct column *column, int64_t *left, float *score)
{
    return score_cells(column, left, score);
}

/* The gain of the cut behind bin b, both ways for missing values. Returns 0 if all documents are on
 * its left, so that no cut behind it is any. */
static int try_cut(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f, uint32_t b,
                   const struct rw_cell *left, const struct rw_cell *missing)
{
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const struct rw_cell *all = &search->all;
    const struct rw_cell right = {all->n - left->n - missing->n,
                                  all->weight - left->weight - missing->weight,
                                  all->lambda - left->lambda - missing->lambda};
    const float cut = cuts->cut[cuts->offset[f] + b];
    const int zero_left = 0.0f <= cut;
    for (int missing_left = 1; missing_left >= 0; missing_left--) {
        struct rw_cell l = *left, r = right;
        if (missing->n == 0 && missing_left != zero_left)
            continue;
        rw_cell_add(missing_left ? &l : &r, missing);
        if (l.n == 0 || r.n == 0)
            continue;
        const double gain =
            rw_split_gain(&cpu->ref.host.base.split_rule, &l, &r, search->parent_gain);
        /* of equal ones the lower feature's: groups of columns are not in their order */
        if (gain > search->best.gain ||
            (gain > 0.0 && gain == search->best.gain && (int32_t)f < search->best.column))
            search->best = (struct rw_split){.slot = search->best.slot,
                                             .column = (int32_t)f,
                                             .feature = cuts->feature[f],
                                             .bin = b,
                                             .cut = cut,
                                             .missing_left = missing_left,
                                             .gain = gain,
                                             .n_left = (uint32_t)l.n};
    }
    return right.n + missing->n > 0;
}

/* Every cut's gain. A cut at an empty bin separates as the cut before it does, and ties go to the
 * lower cut: empty bins are passed over. Not so the first: with missing values left, it parts these
 * from all others. */
static void try_all(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                    const int64_t *cells)
{
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const size_t n_words = (size_t)cpu->words.n_words;
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    struct rw_cell missing = {0, 0, 0}, left = {0, 0, 0};
    if (cuts->has_missing[f])
        missing = rw_cpu_decode(&cpu->words, cells + n_bins * n_words);
    for (uint32_t b = 0; b < n_bins; b++) {
        const struct rw_cell cell = rw_cpu_decode(&cpu->words, cells + b * n_words);
        if (cell.n == 0 && (b > 0 || missing.n == 0))
            continue;
        rw_cell_add(&left, &cell);
        if (!try_cut(cpu, search, f, b, &left, &missing))
            break;
    }
}

/* Under the largest rough score by so much, a cut cannot have the largest gain, nor an equal one:
 * a score is wrong by at most 2^-20 of itself, and by what float cannot hold. */
static float least_score(float largest)
{
    const float least = largest * (1.0f - 0x1p-16f) - 0x1p-100f;
    return least > 0.0f ? least : 0.0f;
}

static struct rw_cell unpacked(int64_t word)
{
    return (struct rw_cell){.n = (uint32_t)word, .weight = 0, .lambda = word >> 32};
}

static void search_packed(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          int64_t *cells, const int64_t *from)
{
    static score_fn *const paths[] = {score_plain, score_avx2, score_avx512};
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->ref.host.base.split_rule;
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    int64_t left[MOST_CELLS];
    float score[MOST_CELLS];
    int64_t missing = 0;
    if (cuts->has_missing[f])
        missing = cells[n_bins] - (from ? from[n_bins] : 0);
    const struct column column = {.cells = cells,
                                  .from = from,
                                  .n = (uint32_t)rw_cpu_n_cells(cuts, f),
                                  .missing = missing,
                                  .all = search->all.lambda * 4294967296 + (int64_t)search->all.n,
                                  .min_docs = (int32_t)rule->min_docs,
                                  .l2 = (float)rule->l2};
    const float largest = paths[cpu->ref.host.isa](&column, left, score);
    if (largest > search->rough)
        search->rough = largest;
    const float least = least_score(search->rough);
    if (!(largest >= least))
        return;
    const struct rw_cell away = unpacked(missing);
    for (uint32_t b = 0; b < n_bins; b++) {
        /* of equal cuts the first counts */
        if (!(score[b] >= least) || (b > 0 && left[b] == left[b - 1]))
            continue;
        const struct rw_cell sum = unpacked(left[b]);
        try_cut(cpu, search, f, b, &sum, &away);
    }
}

static void take(int64_t *cells, const int64_t *from, uint64_t n)
{
    for (uint64_t w = 0; w < n; w++)
        cells[w] -= from[w];
}

void rw_cpu_search_start(const struct rw_cpu *cpu, int32_t slot, const struct rw_cell *all,
                         struct rw_cpu_search *search)
{
    *search =
        (struct rw_cpu_search){.all = *all,
                               .parent_gain = rw_side_gain(&cpu->ref.host.base.split_rule, all),
                               .rough = -1.0f,
                               .best = {.slot = slot, .column = -1}};
}

void rw_cpu_search_column(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          int64_t *cells, const int64_t *from)
{
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->ref.host.base.split_rule;
    const int worth = search->all.n >= 2 * rule->min_docs;
    /* scores must not pass what float holds, nor gains what double does */
    if (worth && cpu->words.packed && !cpu->words.newton && rule->l2 < 0x1p60) {
        search_packed(cpu, search, f, cells, from);
        return;
    }
    if (from)
        take(cells, from, rw_cpu_n_cells(cuts, f) * (uint64_t)cpu->words.n_words);
    if (worth)
        try_all(cpu, search, f, cells);
}
