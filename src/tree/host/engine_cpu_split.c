/* The best cut of a feature in a node, for the engine for processors. Cuts are first told apart
 * roughly, in float, eight at a time; those that may be the best have their gains made by the
 * functions of tree/numbers.h from exact sums. So the choice is the plain one's, to the bit. */
#include <string.h>

#include "base/isa.h"
#include "tree/host/engine_cpu.h"

enum { LANES = RW_CPU_CELLS, MOST_CELLS = RW_MAX_CODES + RW_CPU_CELLS };
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
#define LOAD(vector, from) memcpy(&(vector), (from), sizeof(vector))
#define STORE(to, vector)  memcpy((to), &(vector), sizeof(vector))
#define LOW_INTS(vector)   __builtin_convertvector((vector)&0xffffffff, ints)
#define HIGH_INTS(vector)  __builtin_convertvector((vector) >> 32, ints)
#define FLOATS(vector)     __builtin_convertvector(vector, floats)

/* A column of a node, packed. */
struct column {
    const int64_t *cells; /* [n][1 + newton], or joint [n]; n a multiple of LANES */
    const int64_t *from;  /* taken from them first, which are not joint then; or NULL */
    int64_t *to;          /* where the result goes, never joint; or NULL */
    uint32_t n;
    int64_t missing[2], all[2]; /* the cell of missing values, as it will be; and the node */
    int32_t min_docs, min_weight;
    float l2;
};

/* Sums of cells up to each bin, and scores of the cuts behind them. */
struct scores {
    int64_t left[MOST_CELLS], weight[MOST_CELLS];
    float score[MOST_CELLS];
};

/* What a cut's sides add to its gain, roughly: seven roundings of at most 2^-24 each; -1 where the
 * split is not allowed. left, heavy: cells and weights on the left; all: the node's, as packed
 * words. */
#define ROUGH(score, left, heavy, newton)                                                     \
    do {                                                                                      \
        const longs right = all - (left);                                                     \
        const ints nl = LOW_INTS(left), nr = LOW_INTS(right);                                 \
        const floats ql = FLOATS(HIGH_INTS(left)), qr = FLOATS(HIGH_INTS(right));             \
        ints allowed = (nl >= min_docs) & (nr >= min_docs), wl = nl, wr = nr;                 \
        if (newton) {                                                                         \
            wl = LOW_INTS(heavy);                                                             \
            wr = LOW_INTS(all_weight - (heavy));                                              \
            allowed &= (wl >= min_weight) & (wr >= min_weight);                               \
        }                                                                                     \
        const floats dl = FLOATS(wl) + l2, dr = FLOATS(wr) + l2;                              \
        const floats both = (ql * ql * dr + qr * qr * dl) / (dl * dr);                        \
        (score) = (floats)((allowed & (ints)both) | (~allowed & (ints)((floats){0} - 1.0f))); \
    } while (0)

/* Of a lane and those before it: one, two, four of them; and of all before, to which these are
 * added. */
#define SUMS_UP_TO(sums, before)                                             \
    do {                                                                     \
        const longs none = {0};                                              \
        (sums) += SHUFFLE(none, (sums), 0, 8, 9, 10, 11, 12, 13, 14);        \
        (sums) += SHUFFLE(none, (sums), 0, 1, 8, 9, 10, 11, 12, 13);         \
        (sums) += SHUFFLE(none, (sums), 0, 1, 2, 3, 8, 9, 10, 11);           \
        const longs whole = SHUFFLE((sums), (sums), 7, 7, 7, 7, 7, 7, 7, 7); \
        (sums) += (before);                                                  \
        (before) += whole;                                                   \
    } while (0)

/* A joint word's lambda is a packed one's so many bits further on, with its sign. */
enum { JOINT_LAMBDA = RW_JOINT_COUNT + RW_JOINT_WEIGHT - 32 };
#define LAMBDA 0xffffffff00000000

/* How a column's cells, or those taken from them, are given. */
enum kind { COUNTS, WEIGHTS, JOINT };

/* The cells from b on, less those of `from`, and kept. */
#define TAKE(words, b)                      \
    do {                                    \
        LOAD(words, column->cells + (b));   \
        if (column->from) {                 \
            longs less;                     \
            LOAD(less, column->from + (b)); \
            (words) -= less;                \
        }                                   \
        if (column->to)                     \
            STORE(column->to + (b), words); \
    } while (0)

/* Packed words and weights of eight cells: from pairs, or joint words; and back. */
#define LOAD_PAIRS(words, weights, from)                           \
    do {                                                           \
        longs low, high;                                           \
        LOAD(low, (from));                                         \
        LOAD(high, (from) + LANES);                                \
        (words) = SHUFFLE(low, high, 0, 2, 4, 6, 8, 10, 12, 14);   \
        (weights) = SHUFFLE(low, high, 1, 3, 5, 7, 9, 11, 13, 15); \
    } while (0)
#define LOAD_JOINT(words, weights, from)                                    \
    do {                                                                    \
        longs joint;                                                        \
        LOAD(joint, (from));                                                \
        (weights) = joint >> RW_JOINT_COUNT & ((1 << RW_JOINT_WEIGHT) - 1); \
        (words) = ((longs)((signed_longs)joint >> JOINT_LAMBDA) & LAMBDA) + \
                  (joint & ((1 << RW_JOINT_COUNT) - 1));                    \
    } while (0)
#define STORE_PAIRS(to, words, weights)                                             \
    do {                                                                            \
        const longs low = SHUFFLE((words), (weights), 0, 8, 1, 9, 2, 10, 3, 11);    \
        const longs high = SHUFFLE((words), (weights), 4, 12, 5, 13, 6, 14, 7, 15); \
        STORE((to), low);                                                           \
        STORE((to) + LANES, high);                                                  \
    } while (0)

/* The same with weights. */
#define TAKE_PAIRS(words, weights, b, kind)                        \
    do {                                                           \
        longs less, lighter;                                       \
        if ((kind) == JOINT && !column->from)                      \
            LOAD_JOINT(words, weights, column->cells + (b));       \
        else                                                       \
            LOAD_PAIRS(words, weights, column->cells + 2 * (b));   \
        if (column->from) {                                        \
            if ((kind) == JOINT)                                   \
                LOAD_JOINT(less, lighter, column->from + (b));     \
            else                                                   \
                LOAD_PAIRS(less, lighter, column->from + 2 * (b)); \
            (words) -= less;                                       \
            (weights) -= lighter;                                  \
        }                                                          \
        if (column->to)                                            \
            STORE_PAIRS(column->to + 2 * (b), words, weights);     \
    } while (0)

/* Sums of the cells up to each bin, and rough scores of the cuts behind them, the better of both
 * places for missing values. Returns the largest. */
INLINE float score_cells(const struct column *column, struct scores *out, enum kind kind)
{
    const int newton = kind != COUNTS;
    const longs all = (longs){0} + (uint64_t)column->all[0];
    const longs all_weight = (longs){0} + (uint64_t)column->all[1];
    const uint64_t missing = (uint64_t)column->missing[0];
    const uint64_t missing_weight = (uint64_t)column->missing[1];
    const int32_t min_docs = column->min_docs, min_weight = column->min_weight;
    const float l2 = column->l2;
    longs before = {0}, weight_before = {0};
    floats largest = (floats){0} - 1.0f;
    for (uint32_t b = 0; b < column->n; b += LANES) {
        longs sums, heavy = {0};
        if (newton) {
            TAKE_PAIRS(sums, heavy, b, kind);
            SUMS_UP_TO(heavy, weight_before);
            STORE(out->weight + b, heavy);
        } else {
            TAKE(sums, b);
        }
        SUMS_UP_TO(sums, before);
        STORE(out->left + b, sums);
        floats better;
        ROUGH(better, sums, heavy, newton);
        if (missing) {
            floats other;
            ROUGH(other, sums + missing, heavy + missing_weight, newton);
            const ints above = other > better;
            better = (floats)((above & (ints)other) | (~above & (ints)better));
        }
        STORE(out->score + b, better);
        const ints above = better > largest;
        largest = (floats)((above & (ints)better) | (~above & (ints)largest));
    }
    float lane[LANES], most = -1.0f;
    memcpy(lane, &largest, sizeof(lane));
    for (int i = 0; i < LANES; i++)
        most = lane[i] > most ? lane[i] : most;
    return most;
}

INLINE float score_kind(const struct column *column, struct scores *out, enum kind kind)
{
    if (kind == COUNTS)
        return score_cells(column, out, COUNTS);
    return kind == JOINT ? score_cells(column, out, JOINT) : score_cells(column, out, WEIGHTS);
}

typedef float score_fn(const struct column *, struct scores *, enum kind);

static float score_plain(const struct column *column, struct scores *out, enum kind kind)
{
    return score_kind(column, out, kind);
}

RW_AVX2 static float score_avx2(const struct column *column, struct scores *out, enum kind kind)
{
    return score_kind(column, out, kind);
}

RW_AVX512 static float score_avx512(const struct column *column, struct scores *out, enum kind kind)
{
    return score_kind(column, out, kind);
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

static struct rw_cell unpacked(int64_t word, int64_t weight)
{
    return (struct rw_cell){.n = (uint32_t)word, .weight = weight, .lambda = word >> 32};
}

/* Words of a cell, of which more are to be taken from it. */
static void take_cell(const struct column *column, enum kind kind, uint32_t cell, int64_t *out)
{
    const int64_t *at = column->cells + (kind == COUNTS ? cell : 2 * (size_t)cell);
    out[0] = out[1] = 0;
    if (kind == JOINT && !column->from) {
        out[0] = rw_joint_packed(column->cells[cell]);
        out[1] = rw_joint_weight(column->cells[cell]);
        return;
    }
    out[0] = at[0];
    if (kind != COUNTS)
        out[1] = at[1];
    if (!column->from)
        return;
    if (kind == JOINT) {
        out[0] -= rw_joint_packed(column->from[cell]);
        out[1] -= rw_joint_weight(column->from[cell]);
    } else {
        out[0] -= column->from[kind == COUNTS ? cell : 2 * (size_t)cell];
        out[1] -= kind == COUNTS ? 0 : column->from[2 * (size_t)cell + 1];
    }
}

static void search_packed(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          const int64_t *cells, const int64_t *from, int64_t *to)
{
    static score_fn *const paths[] = {score_plain, score_avx2, score_avx512};
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->ref.host.base.split_rule;
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    const enum kind kind = search->joint ? JOINT : cpu->words.newton ? WEIGHTS : COUNTS;
    struct scores sums;
    struct column column = {
        .cells = cells,
        .from = from,
        .to = to,
        .n = (uint32_t)rw_cpu_n_cells(cuts, f),
        .all = {search->all.lambda * 4294967296 + (int64_t)search->all.n, search->all.weight},
        .min_docs = (int32_t)rule->min_docs,
        .min_weight = search->min_weight,
        .l2 = (float)rule->l2};
    if (cuts->has_missing[f])
        take_cell(&column, kind, n_bins, column.missing);
    const float largest = paths[cpu->ref.host.isa](&column, &sums, kind);
    if (largest > search->rough)
        search->rough = largest;
    const float least = least_score(search->rough);
    if (!(largest >= least))
        return;
    const struct rw_cell away = unpacked(column.missing[0], column.missing[1]);
    for (uint32_t b = 0; b < n_bins; b++) {
        /* of equal cuts the first counts */
        if (!(sums.score[b] >= least) || (b > 0 && sums.left[b] == sums.left[b - 1]))
            continue;
        const struct rw_cell sum = unpacked(sums.left[b], kind == COUNTS ? 0 : sums.weight[b]);
        try_cut(cpu, search, f, b, &sum, &away);
    }
}

/* Least quantised weight of a side: what rw_side_allowed asks for. */
static int32_t least_weight(const struct rw_split_rule *rule)
{
    int32_t low = 1, high = INT32_MAX;
    if (!rule->newton)
        return 0;
    while (low < high) { /* the product rises with the weight */
        const int32_t middle = low + (high - low) / 2;
        if ((double)middle * rule->weight_unit >= rule->min_weight)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void rw_cpu_search_start(const struct rw_cpu *cpu, int32_t slot, const struct rw_cell *all,
                         struct rw_cpu_search *search)
{
    *search =
        (struct rw_cpu_search){.all = *all,
                               .parent_gain = rw_side_gain(&cpu->ref.host.base.split_rule, all),
                               .rough = -1.0f,
                               .min_weight = least_weight(&cpu->ref.host.base.split_rule),
                               .best = {.slot = slot, .column = -1}};
}

/* Joint cells as others, [n][2]. */
static const int64_t *unjoined(const int64_t *cells, uint64_t n, int64_t *out)
{
    for (uint64_t i = 0; i < n; i++) {
        out[2 * i] = rw_joint_packed(cells[i]);
        out[2 * i + 1] = rw_joint_weight(cells[i]);
    }
    return out;
}

/* What the vectors' integers and floats hold. Weights can be negative only where a custom objective
 * makes them so. */
static int may_be_packed(const struct rw_cpu *cpu)
{
    const struct rw_engine *base = &cpu->ref.host.base;
    if (!cpu->words.packed || base->split_rule.l2 >= 0x1p60)
        return 0;
    return !cpu->words.newton || base->rules.gradient != RW_GRADIENT_CUSTOM;
}

void rw_cpu_search_column(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          const int64_t *cells, const int64_t *from, int64_t *to)
{
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const struct rw_split_rule *rule = &cpu->ref.host.base.split_rule;
    const int worth = search->all.n >= 2 * rule->min_docs;
    /* scores must not pass what float holds, nor gains what double does */
    if (worth && may_be_packed(cpu)) {
        search_packed(cpu, search, f, cells, from, to);
        return;
    }
    const uint64_t n = rw_cpu_n_cells(cuts, f) * (uint64_t)cpu->words.n_words;
    int64_t result[MOST_CELLS * 3], apart[MOST_CELLS * 2];
    if (search->joint && from)
        from = unjoined(from, rw_cpu_n_cells(cuts, f), apart);
    else if (search->joint)
        cells = unjoined(cells, rw_cpu_n_cells(cuts, f), apart);
    if (from) {
        int64_t *less = to ? to : result;
        for (uint64_t w = 0; w < n; w++)
            less[w] = cells[w] - from[w];
        cells = less;
    } else if (to) {
        memcpy(to, cells, n * sizeof(*to));
    }
    if (worth)
        try_all(cpu, search, f, cells);
}
