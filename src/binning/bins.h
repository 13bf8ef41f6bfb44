/* Bin boundaries: where a feature's values may be separated.
 *
 * Over the sampled values of a feature (missing ones left out; an absent one counts as 0 unless
 * absent means missing): if at most `bins` are distinct, one boundary between each two neighbours;
 * else at the values of rank floor(k n / bins), k = 1 .. bins-1, both ends of a run of equal values
 * that holds two ranks or more, ties collapsed. An exact pass over all values finds the boundary's
 * true neighbours a < b, and the cut is a float strictly between them, the one nearest the middle.
 * Neighbours with no float between them are never separated. The steps are further down. */
#pragma once

#include "base/machine.h"
#include "dataset/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Up to this many documents all are used to find ranks; above it, those whose hash of (query id,
 * position in the query) is under a threshold, about this many. */
enum { RW_CUT_SAMPLE_DOCS = 262144 };
/* That number; tests, which have no larger sets, lower it. */
extern uint32_t rw_cut_sample_docs;

struct rw_cut_rule {
    int bins;              /* value bins, 2 to RW_MAX_BINS */
    int absent_missing;    /* 1: an absent feature is missing; 0: it is 0 */
    uint32_t min_docs;     /* a feature that cannot leave this many on both sides is left out */
    const uint8_t *ignore; /* [RW_FEATURE_IDS] 1: leave the feature out; NULL: none; borrowed */
    /* [RW_FEATURE_IDS] codes of a feature by categories, whose values are 0, 1, ... (dataset/
     * categories.h): each is a bin; 0: its values are numbers; NULL: those of all are; borrowed */
    const uint16_t *categories;
};

static inline uint32_t rw_cut_rule_categories(const struct rw_cut_rule *rule, uint32_t feature)
{
    return rule->categories ? rule->categories[feature] : 0;
}

/* Do the cuts of rule `has` include those of `wanted`? min_docs and `ignore` only leave features
 * out. */
static inline int rw_cut_rule_serves(const struct rw_cut_rule *has,
                                     const struct rw_cut_rule *wanted)
{
    return has->bins == wanted->bins && has->absent_missing == wanted->absent_missing &&
           has->min_docs <= wanted->min_docs;
}

struct rw_cuts {
    struct rw_arena arena; /* of all arrays */
    uint32_t n_features;   /* columns of codes: features that can be split */
    uint32_t *feature;     /* [n_features] ascending ids */
    uint64_t *offset;      /* [n_features + 1] into cut; a feature's value bins */
    float *cut;            /* upper edge of each value bin; a feature's last one is FLT_MAX */
    uint8_t *has_missing;  /* [n_features] the training set has a missing value */
    uint8_t *by_category;  /* [n_features] 1: its bins are categories; NULL: no feature's */
    /* features left out: with one value only, by min_docs, by `ignore` */
    uint32_t n_constant, n_few, n_ignored;
};

int rw_cuts_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_cut_rule *rule, struct rw_cuts **out);
void rw_cuts_free(struct rw_cuts *cuts);
/* Can documents be split with min_docs on both sides? counts: [n_bins] of each value bin. */
int rw_cuts_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                      uint32_t min_docs);
/* The same where each bin is a category; 1 also where some sums cannot be. */
int rw_categories_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                            uint32_t min_docs);
/* The float strictly between a < b nearest their middle; NaN if there is none. */
float rw_cut_between(float a, float b);

/* Of a feature: boundaries between its bins, and codes, one of which is for missing values. */
enum { RW_MAX_BOUNDS = RW_MAX_BINS - 1, RW_MAX_CODES = RW_MAX_BINS + 1 };

/* The index of a feature by its id; n_features if it has no cuts. */
static inline uint32_t rw_cuts_index(const struct rw_cuts *cuts, uint32_t feature)
{
    const uint32_t at = rw_numbers_under(cuts->feature, cuts->n_features, feature);
    return at < cuts->n_features && cuts->feature[at] == feature ? at : cuts->n_features;
}

static inline int rw_cuts_by_category(const struct rw_cuts *cuts, uint32_t f)
{
    return cuts->by_category && cuts->by_category[f];
}

/* Number of a feature's value bins. */
static inline uint32_t rw_cuts_n_bins(const struct rw_cuts *cuts, uint32_t f)
{
    return (uint32_t)(cuts->offset[f + 1] - cuts->offset[f]);
}

/* The first value bin whose upper edge is not under `value`. cut: [n_bins], ascending. */
RW_HD uint32_t rw_bin_of(const float *cut, uint32_t n_bins, float value)
{
    uint32_t low = 0, high = n_bins - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (value <= cut[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* A feature's codes that are not looked up. */
struct rw_special_codes {
    uint32_t missing, absent;
};
static inline struct rw_special_codes rw_cuts_special(const struct rw_cuts *cuts, uint32_t f,
                                                      int absent_missing)
{
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    const uint32_t zero = rw_bin_of(cuts->cut + cuts->offset[f], n_bins, 0.0f);
    const uint32_t other = rw_cuts_by_category(cuts, f) ? n_bins - 1 : zero;
    const uint32_t missing = cuts->has_missing[f] ? n_bins : other;
    const struct rw_special_codes special = {missing, absent_missing ? missing : zero};
    return special;
}

/* ---- bins ---- */

/* The binned matrix: one small code per (document, feature) in place of the value.
 * A code is the value's bin (value <= cut[bin]), or the number of value bins if it is missing and
 * the training set has missing values of this feature; else a missing value gets the code of 0. */

/* One feature's codes. Where one code is so frequent that listing the others takes less memory,
 * only those are listed. */
struct rw_codes {
    uint32_t n;    /* entries: n_docs when dense */
    uint32_t rest; /* sparse: the code of every document that has no entry */
    uint32_t *row; /* [n] ascending documents; NULL: dense */
    void *code;    /* [n] uint8_t if rw_cuts_n_codes <= 256, else uint16_t */
};

struct rw_bins {
    struct rw_cut_rule rule; /* its `ignore` is NULL here */
    uint32_t n_docs;
    struct rw_cuts *cuts; /* owned, or borrowed from the training set's bins (owns_cuts 0) */
    int owns_cuts;
    struct rw_codes *codes; /* [n_features] owned; so are its arrays, unless codes_are_views */
    int codes_are_views;    /* of a data set that lives longer */
};

/* A sparse feature has at most one entry for so many documents. */
enum { RW_SPARSE_SHARE = 8 };

/* Codes of `dataset` under `cuts` (borrowed, must outlive the bins; or taken if owns_cuts). */
int rw_bins_make(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_cuts *cuts,
                 const struct rw_cut_rule *rule, int owns_cuts, struct rw_bins **out);
/* The same with the dataset's own cuts (rw_cuts_make), which the bins own: in one go. */
int rw_bins_make_training(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                          const struct rw_cut_rule *rule, struct rw_bins **out);
/* Of parts of a data set, coded by `cuts`, the bins of all of it. The parts are emptied, feature by
 * feature, while the bins fill. */
int rw_bins_join(struct rw_ctx *ctx, struct rw_bins **part, uint32_t n_parts, struct rw_cuts *cuts,
                 const struct rw_cut_rule *rule, struct rw_bins **out);
void rw_bins_free(struct rw_bins *bins);
RW_SCOPED_BY(rw_bins_free)
RW_SCOPED_BY(rw_cuts_free)
/* n: [cuts->n_features], written: the entries that rw_bins_make would list of each feature; n_docs:
 * dense. */
void rw_bins_entries(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cuts *cuts, const struct rw_cut_rule *rule, uint32_t *n);

/* Codes a feature can have: value bins, and one for missing if the training set has any. */
static inline uint32_t rw_cuts_n_codes(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_cuts_n_bins(cuts, f) + cuts->has_missing[f];
}

/* Bytes of each of so many codes, or intervals. */
static inline size_t rw_bytes_of_codes(uint32_t n_codes)
{
    return n_codes > 256 ? 2 : 1;
}

static inline size_t rw_cuts_code_bytes(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_bytes_of_codes(rw_cuts_n_codes(cuts, f));
}

/* Bytes of a feature's codes with n entries. */
static inline uint64_t rw_codes_bytes(const struct rw_cuts *cuts, uint32_t f, uint32_t n,
                                      uint32_t n_docs)
{
    return (uint64_t)n * (rw_cuts_code_bytes(cuts, f) + (n < n_docs ? sizeof(uint32_t) : 0));
}

/* The i-th of codes that take 1 or 2 bytes each. */
static inline uint32_t rw_codes_get(const void *codes, size_t bytes, uint32_t i)
{
    return bytes == 1 ? ((const uint8_t *)codes)[i] : ((const uint16_t *)codes)[i];
}

static inline void rw_codes_put(void *codes, size_t bytes, uint32_t i, uint32_t code)
{
    if (bytes == 1)
        ((uint8_t *)codes)[i] = (uint8_t)code;
    else
        ((uint16_t *)codes)[i] = (uint16_t)code;
}

/* The i-th entry of a feature's codes. */
static inline uint32_t rw_codes_entry(const struct rw_codes *codes, size_t bytes, uint32_t i)
{
    return rw_codes_get(codes->code, bytes, i);
}

/* The code of a document. */
static inline uint32_t rw_bins_code(const struct rw_bins *bins, uint32_t f, uint32_t doc)
{
    const struct rw_codes *codes = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    if (!codes->row)
        return rw_codes_entry(codes, bytes, doc);
    const uint32_t entry = rw_numbers_under(codes->row, codes->n, doc);
    return entry < codes->n && codes->row[entry] == doc ? rw_codes_entry(codes, bytes, entry)
                                                        : codes->rest;
}

/* How many documents have each code; counts: [n_codes], written. */
void rw_bins_count(const struct rw_bins *bins, uint32_t f, uint32_t *counts);

/* Bits that hold a feature's codes: 4, 8 or 16. */
static inline int rw_code_bits(uint32_t n_codes)
{
    return n_codes <= 16 ? 4 : n_codes <= 256 ? 8 : 16;
}

/* What an engine made of a training set and left here for the next one that trains on it. */
struct rw_keep {
    void *made; /* owned, by way of `drop`; NULL: nothing */
    void (*drop)(void **made);
};

struct rw_model;
/* What training sees of its data: documents, with cuts and codes in place of values. */
struct rw_binned {
    struct rw_dataset *documents; /* with values if bins is NULL, else without features; owned */
    struct rw_bins *bins;         /* NULL: the values were kept, and training bins them; owned */
    uint32_t *feature;            /* of bins: [n_features] ids in the data, ascending; owned */
    uint32_t n_features;
    struct rw_keep *keep; /* NULL: nobody will train on it twice; owned */
    /* Of documents without values, for training that goes on from a model: */
    const struct rw_model *scored; /* NULL, or the model; only compared */
    double *scores;                /* [n_docs] what it gives them; owned */
};
/* Its features are those of the n columns. */
int rw_binned_take_features(struct rw_ctx *ctx, const struct rw_column *column, uint32_t n,
                            struct rw_binned *binned);
/* Frees what it holds, not the struct. */
void rw_binned_release(struct rw_binned *binned);

/* The codes of a table that stands in memory, of which nothing but labels and ids is copied.
 *
 * Few features have all documents in the order of their values' array, so dense columns are read a
 * group at a time: of the sampled documents all at once, which decides the boundaries, then of all
 * documents block by block, as their intervals are found. The codes are those that
 * rw_bins_make_training makes. */
/* rule->ignore: NULL. *out is zeroed; after a failure it is to be released. Fails as
 * rw_dataset_from_table does. */
int rw_table_codes(struct rw_ctx *ctx, const struct rw_table *table, const struct rw_cut_rule *rule,
                   struct rw_binned *out);

/* ---- how cuts are found ---- */

/* How cuts are found. The host and a device each go through the values in their own manner, and
 * give back the intervals of each column; what is decided without the values, what intervals mean
 * and what becomes of the cuts stands here once (cuts.c). */

/* The documents whose values decide ranks. */
struct rw_cut_sample {
    uint32_t n;
    uint32_t *row;       /* [n] ascending; NULL: all documents; owned */
    uint8_t *in;         /* [n_docs] 1 if sampled; NULL: all; owned */
    uint32_t n_all;      /* of all workers */
    uint32_t n_all_docs; /* documents of all workers */
};
/* Released also after a failure. All workers call it. */
int rw_cut_sample_init(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset);
void rw_cut_sample_release(struct rw_cut_sample *sample);

/* A feature's values between its boundaries, as keys (base/bits.h). Interval k holds the values
 * from bound[k - 1] on that are under bound[k]. */
struct rw_cut_intervals {
    uint32_t n_bounds, n_missing;
    int by_category; /* each interval is a category, whether documents have it or not */
    uint32_t bound[RW_MAX_BOUNDS + 1];
    uint32_t below[RW_MAX_BOUNDS + 2]; /* largest key of each interval; the last need not be set */
    uint32_t count[RW_MAX_BOUNDS + 3]; /* documents of each interval, and with a missing value */
    uint32_t n_ranked;                 /* values that the boundaries were found from */
};

/* What is found of one feature. */
enum rw_cut_reason { RW_CUT_IN_USE, RW_CUT_CONSTANT, RW_CUT_FEW, RW_CUT_IGNORED };
struct rw_feature_cuts {
    float *cut; /* [n_bins], the last FLT_MAX; owned */
    uint32_t n_bins;
    uint8_t has_missing;
    uint8_t by_category;
    uint8_t reason; /* enum rw_cut_reason */
};

struct rw_cut_finder {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_dataset *dataset; /* borrowed */
    const struct rw_cut_rule *rule;   /* borrowed */
    struct rw_cut_sample sample;
    struct rw_feature_cuts *found; /* [n_columns] zeroed; owned, and so are its cuts */
};
/* Released also after a failure. */
int rw_cut_finder_init(struct rw_ctx *ctx, struct rw_cut_finder *finder,
                       const struct rw_dataset *dataset, const struct rw_cut_rule *rule);
void rw_cut_finder_release(struct rw_cut_finder *finder);

/* Calls rw_cuts_of_intervals for each column but those that rw_cuts_decided leaves out. */
typedef int rw_cuts_find_fn(void *user, struct rw_cut_finder *finder);
/* user: NULL, or a struct rw_codes [n_columns] that gets the codes of the columns in use. */
rw_cuts_find_fn rw_cuts_find_on_host;
/* rw_cuts_make with the intervals that `find` finds. */
int rw_cuts_make_by(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                    const struct rw_cut_rule *rule, rw_cuts_find_fn *find, void *user,
                    struct rw_cuts **out);

/* 1 if the values need not be looked at: out->reason says why. */
int rw_cuts_decided(const struct rw_column *column, const struct rw_cut_rule *rule,
                    struct rw_feature_cuts *out);
/* Cuts from intervals, whose counts are changed: counts of the bins. */
int rw_cuts_of_intervals(struct rw_ctx *ctx, struct rw_cut_intervals *intervals,
                         const struct rw_cut_rule *rule, struct rw_feature_cuts *out);
/* Cuts and, unless found->reason says that there are none, codes: `index` (of `width` bytes each;
 * taken) has the interval of each document if column->row is NULL, else of column->n entries, while
 * the others are in the interval of an absent value. own: NULL, or where `intervals` are those of
 * all workers, the documents of each interval on this one, as intervals->count has them. Changes
 * *intervals. */
int rw_codes_of_intervals(struct rw_cut_intervals *intervals, const uint32_t *own,
                          const struct rw_cut_rule *rule, const struct rw_column *column,
                          uint32_t n_docs, size_t width, void *index, struct rw_feature_cuts *found,
                          struct rw_codes *out);
/* found, codes: [dataset->n_columns]; codes of columns in use are moved into the bins. */
int rw_bins_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_cut_rule *rule, const struct rw_feature_cuts *found,
                   struct rw_codes *codes, struct rw_bins **out);
/* found: [dataset->n_columns]; its cuts stay the caller's. */
int rw_cuts_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_feature_cuts *found, struct rw_cuts **out);
/* Of n features, and the array itself. */
void rw_codes_free(struct rw_codes *codes, uint32_t n);

/* ---- Boundaries from the sampled values' ranks (cuts.c) ----
 *
 * Without sorting all values: few distinct ones are counted; else all are counted in buckets, and
 * only buckets that hold a rank are sorted. */

/* One thread's memory. */
struct rw_rank_scratch {
    struct rw_arena arena;  /* of all below */
    uint32_t *key, *picked; /* [n_sample + a vector] */
    uint32_t *count;        /* of each bucket */
    uint16_t *mark;         /* of each bucket: it holds a rank */
    struct rw_rank_counter *counter;
};
/* Its arena is freed also after a failure. */
int rw_rank_scratch_init(struct rw_ctx *ctx, struct rw_rank_scratch *scratch,
                         const struct rw_cut_sample *sample);

/* A feature's values of the data set, or of a part of the sample's documents. */
struct rw_cut_part {
    struct rw_column column;
    uint32_t n_zeros; /* documents with 0 that the column leaves out */
};
/* Boundaries of one feature: writes by_category, n_ranked, n_bounds and, of the sampled values and
 * the absent ones, bound, below and count; of a feature by categories by_category, n_bounds and
 * bound alone. A boundary is the smallest value on its right. parts: [n_parts]
 * that are all of the sample; one if sample->in is not NULL. Their values may stand in
 * scratch->picked. */
void rw_cut_bounds(enum rw_isa isa, const struct rw_cut_part *parts, uint32_t n_parts,
                   const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                   struct rw_rank_scratch *scratch, struct rw_cut_intervals *intervals);

/* Finds out about one column, whose values are in memory: finder->found[c] and, unless codes is
 * NULL, its codes. scratch: made for finder->sample; of a feature by categories it may be NULL.
 * Never touches the context. */
int rw_cuts_find_column(struct rw_cut_finder *finder, enum rw_isa isa,
                        const struct rw_column *column, uint32_t c, struct rw_rank_scratch *scratch,
                        struct rw_codes *codes);

/* Where values stand between boundaries: a feature's codes, or its intervals while cuts are being
 * found. One search for both, with AVX2 and AVX-512 where they are; every path gives the same. */
enum { RW_SEARCH_ROOM = RW_MAX_BOUNDS + 1 };

/* A value's position is the number of boundaries that are not above it. */
struct rw_code_search {
    uint32_t n_levels; /* halvings; 5 at least */
    uint32_t missing;  /* the position of a missing value */
    uint32_t absent;   /* bits that stand for an absent value: of 0, or of a missing one */
    int32_t bound[RW_SEARCH_ROOM]; /* [2^n_levels] ordered; those not in use are out of reach */
};

/* An order-keeping key (base/bits.h) as a signed number, which AVX2 can compare. */
static inline int32_t rw_ordered_of_key(uint32_t key)
{
    return (int32_t)(key ^ 0x80000000u);
}

static inline uint32_t rw_key_of_ordered(int32_t ordered)
{
    return (uint32_t)ordered ^ 0x80000000u;
}

/* The interval of 0 between boundaries. */
static inline uint32_t rw_zero_at(const uint32_t *bound, uint32_t n_bounds)
{
    return rw_numbers_under(bound, n_bounds, (uint64_t)RW_KEY_OF_ZERO + 1);
}

/* bound: [n_bounds] keys, ascending; at most RW_MAX_BOUNDS. */
void rw_code_search_init(struct rw_code_search *search, const uint32_t *bound, uint32_t n_bounds,
                         int absent_missing, uint32_t missing);

/* positions: [n] uint8_t or uint16_t by `bytes`, written. most: NULL, or [n_bounds + 1] ordered,
 * raised to the largest value of each position. */
void rw_code_search_run(enum rw_isa isa, const struct rw_code_search *search, const float *value,
                        size_t n, size_t bytes, void *positions, int32_t *most);
/* Adds to counts: [n_positions] how often each position occurs. */
void rw_code_count(const void *positions, size_t n, size_t bytes, uint32_t n_positions,
                   uint32_t *counts);

#ifdef __cplusplus
}
#endif
