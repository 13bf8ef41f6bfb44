/* Binning: bin boundaries, thresholds and codes of features.
 *
 * The bins of a feature's values are its value bins; missing values can have an extra code. Each
 * category of a categorical feature is a value bin. The boundaries of any other feature follow from
 * its sampled values. Missing values are ignored; an absent value counts as 0 unless absent means
 * missing. If at most `bins` values are distinct, there is a boundary between any two neighbours.
 * Otherwise the n sampled values are sorted and numbered from 0. Each run of equal values that
 * holds one of the numbers (ranks) floor(k n / bins), for k = 1 .. bins-1, gets a boundary at its
 * lower end. If it holds two or more of these ranks, it also gets one at its upper end. There is no
 * boundary below the smallest value, and equal boundaries are merged.
 *
 * An exact pass over all values then finds each boundary's true neighbours a < b. The threshold (a
 * "cut" in the code) is the float strictly between them that is nearest their middle. Neighbours
 * without a float between them are never separated. The steps are described below. */
#pragma once

#include "base/machine.h"
#include "dataset/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* If all workers together have at most this many documents, ranks are computed from all of them.
 * Otherwise the sample has the documents whose hash of (query id, position in the query) is below a
 * limit, about this many. */
enum { RW_CUT_SAMPLE_DOCS = 262144 };
/* The limit in use: RW_CUT_SAMPLE_DOCS, but less in tests, which have no larger data sets. */
extern uint32_t rw_cut_sample_docs;

struct rw_cut_rule {
    int bins;              /* most value bins of a feature, 2 to RW_MAX_BINS */
    int absent_missing;    /* 1: an absent value is missing; 0: it is 0 */
    uint32_t min_docs;     /* ignore a feature that cannot have this many documents on both sides
                              of a split */
    const uint8_t *ignore; /* [RW_FEATURE_IDS] 1: ignore the feature; NULL: use all; borrowed */
    /* [RW_FEATURE_IDS] number of codes of a categorical feature, whose values are 0, 1, ...
     * (dataset/categories.h), each a separate bin; 0: its values are numbers. NULL: all are
     * numbers; borrowed. */
    const uint16_t *categories;
};

static inline uint32_t rw_cut_rule_categories(const struct rw_cut_rule *rule, uint32_t feature)
{
    return rule->categories ? rule->categories[feature] : 0;
}

/* Returns 1 if bins made by rule `has` can be used for rule `wanted`. This is so if both rules give
 * a feature the same thresholds, and if min_docs of `has` excludes no feature that min_docs of
 * `wanted` includes. `ignore` and `categories` are not compared. */
static inline int rw_cut_rule_serves(const struct rw_cut_rule *has,
                                     const struct rw_cut_rule *wanted)
{
    return has->bins == wanted->bins && has->absent_missing == wanted->absent_missing &&
           has->min_docs <= wanted->min_docs;
}

struct rw_cuts {
    struct rw_arena arena; /* owns all arrays */
    uint32_t n_features;   /* number of features that can be split; only these have codes */
    uint32_t *feature;     /* [n_features] feature ids, ascending */
    uint64_t *offset;      /* [n_features + 1] offset of a feature's value bins in `cut` */
    float *cut;            /* [offset[n_features]] threshold above each value bin; a feature's last
                              one is FLT_MAX */
    uint8_t *has_missing;  /* [n_features] 1: the training set has missing values of the feature */
    uint8_t *by_category;  /* [n_features] 1: categorical, each bin is a category; NULL: no
                              feature is */
    /* numbers of excluded features. n_constant: all documents have one code; n_few: excluded by
     * min_docs; n_ignored: by `ignore` */
    uint32_t n_constant, n_few, n_ignored;
};

int rw_cuts_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_cut_rule *rule, struct rw_cuts **out);
void rw_cuts_free(struct rw_cuts *cuts);
/* Returns 1 if a split of a feature with thresholds can have min_docs documents on both sides.
 * counts: [n_bins] documents of each value bin; n_missing: documents with a missing value, which
 * can be on either side. */
int rw_cuts_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                      uint32_t min_docs);
/* Returns 1 if a split of a categorical feature, whose bins are categories, may have min_docs
 * documents on both sides. Also returns 1 in some cases where no such split exists. */
int rw_categories_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                            uint32_t min_docs);
/* Returns the float strictly between a < b that is nearest their middle, or NaN if no float is
 * between. */
float rw_cut_between(float a, float b);

/* Limits per feature: RW_MAX_BOUNDS boundaries between value bins, and RW_MAX_CODES codes,
 * including the one for missing values. */
enum { RW_MAX_BOUNDS = RW_MAX_BINS - 1, RW_MAX_CODES = RW_MAX_BINS + 1 };

/* Returns the index of a feature id, or n_features if it has no thresholds. */
static inline uint32_t rw_cuts_index(const struct rw_cuts *cuts, uint32_t feature)
{
    const uint32_t at = rw_numbers_under(cuts->feature, cuts->n_features, feature);
    return at < cuts->n_features && cuts->feature[at] == feature ? at : cuts->n_features;
}

static inline int rw_cuts_by_category(const struct rw_cuts *cuts, uint32_t f)
{
    return cuts->by_category && cuts->by_category[f];
}

/* Returns the number of a feature's value bins. */
static inline uint32_t rw_cuts_n_bins(const struct rw_cuts *cuts, uint32_t f)
{
    return (uint32_t)(cuts->offset[f + 1] - cuts->offset[f]);
}

/* Returns the first value bin whose threshold is not below `value`, or the last bin if all are
 * below. cut: [n_bins], ascending. */
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

/* A feature's code for missing values and its code for absent values. */
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

/* ---- the binned matrix ----
 *
 * It replaces each value by a small code per (document, feature). The code is the value's bin
 * index, that of the first bin with value <= cut[bin]; +infinity is in the last bin. A missing
 * value has the number of value bins as its code if the training set has missing values of this
 * feature. Otherwise it has the code of 0, or that of a categorical feature's last bin. An absent
 * value has the code of a missing value if absent means missing, otherwise that of 0. */

/* The codes of one feature. If at most one document in RW_SPARSE_SHARE has a code that differs from
 * the most frequent one, they are sparse: a list with an entry (document and code) for each such
 * document. Otherwise they are dense, with a code for every document. */
struct rw_codes {
    uint32_t n;    /* sparse: number of entries; dense: n_docs */
    uint32_t rest; /* sparse: the most frequent code, which all documents without an entry have */
    uint32_t *row; /* [n] documents, ascending; NULL: dense */
    void *code;    /* [n] uint8_t if rw_cuts_n_codes <= 256, else uint16_t */
};

struct rw_bins {
    struct rw_cut_rule rule; /* its `ignore` and `categories` are NULL */
    uint32_t n_docs;
    struct rw_cuts *cuts; /* owned, or borrowed from the training set's bins (owns_cuts 0) */
    int owns_cuts;
    struct rw_codes *codes; /* [n_features] owned; so are its arrays, unless codes_are_views */
    int codes_are_views; /* 1: the arrays in `codes` are views of a data set that exists longer */
};

/* A sparse feature has at most one entry per this many documents. */
enum { RW_SPARSE_SHARE = 8 };

/* Computes the codes of `dataset` with `cuts`. If owns_cuts is 1 and the call succeeds, the bins
 * own `cuts`. If owns_cuts is 0, `cuts` must outlive the bins. */
int rw_bins_make(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_cuts *cuts,
                 const struct rw_cut_rule *rule, int owns_cuts, struct rw_bins **out);
/* Computes the thresholds of a training set, as rw_cuts_make does, and its codes in one pass. The
 * bins own the thresholds. */
int rw_bins_make_training(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                          const struct rw_cut_rule *rule, struct rw_bins **out);
/* Joins the bins of a data set's chunks (parts of its documents, in order), all coded with `cuts`,
 * which must outlive the result. Frees each feature's codes in the chunks as soon as the result
 * holds them. chunk: [n_chunks] */
int rw_bins_join(struct rw_ctx *ctx, struct rw_bins **chunk, uint32_t n_chunks,
                 struct rw_cuts *cuts, const struct rw_cut_rule *rule, struct rw_bins **out);
/* Makes the bins of the queries with keep[q] 1, in order. from: the bins of `dataset`, whose
 * thresholds must outlive the result. keep: [n_queries] */
int rw_bins_select(struct rw_ctx *ctx, const struct rw_bins *from, const struct rw_dataset *dataset,
                   const uint8_t *keep, struct rw_bins **out);
void rw_bins_free(struct rw_bins *bins);
RW_SCOPED_BY(rw_bins_free)
RW_SCOPED_BY(rw_cuts_free)
/* Writes n: [cuts->n_features], the rw_codes.n of each feature that rw_bins_make would make: its
 * number of entries, or n_docs if its codes would be dense. */
void rw_bins_entries(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cuts *cuts, const struct rw_cut_rule *rule, uint32_t *n);

/* Returns the number of codes of a feature: its value bins, plus one for missing values if the
 * training set has any. */
static inline uint32_t rw_cuts_n_codes(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_cuts_n_bins(cuts, f) + cuts->has_missing[f];
}

/* Returns the bytes per code if there are n_codes different codes (or bin indices). */
static inline size_t rw_bytes_of_codes(uint32_t n_codes)
{
    return n_codes > 256 ? 2 : 1;
}

static inline size_t rw_cuts_code_bytes(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_bytes_of_codes(rw_cuts_n_codes(cuts, f));
}

/* Returns the memory of a feature's codes in bytes. n: rw_codes.n, so n_docs if they are dense. */
static inline uint64_t rw_codes_bytes(const struct rw_cuts *cuts, uint32_t f, uint32_t n,
                                      uint32_t n_docs)
{
    return (uint64_t)n * (rw_cuts_code_bytes(cuts, f) + (n < n_docs ? sizeof(uint32_t) : 0));
}

/* Returns the i-th code of an array with 1 or 2 bytes per code. */
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

/* Returns the code of a document. */
static inline uint32_t rw_bins_code(const struct rw_bins *bins, uint32_t f, uint32_t doc)
{
    const struct rw_codes *codes = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    if (!codes->row)
        return rw_codes_get(codes->code, bytes, doc);
    const uint32_t entry = rw_numbers_under(codes->row, codes->n, doc);
    return entry < codes->n && codes->row[entry] == doc ? rw_codes_get(codes->code, bytes, entry)
                                                        : codes->rest;
}

/* Counts the documents with each code. counts: [n_codes], written. */
void rw_bins_count(const struct rw_bins *bins, uint32_t f, uint32_t *counts);

/* Returns the number of bits per code, if there are n_codes different codes: 4, 8 or 16. */
static inline int rw_code_bits(uint32_t n_codes)
{
    return n_codes <= 16 ? 4 : n_codes <= 256 ? 8 : 16;
}

/* The engine's data of a training set, cached for the next training on it. */
struct rw_engine_cache {
    void *data; /* freed by `free`; NULL: nothing cached */
    void (*free)(void **data);
};

struct rw_model;
/* A data set as training uses it: documents with values, or with thresholds and codes instead of
 * values. */
struct rw_binned {
    struct rw_dataset *documents; /* if bins is NULL, with values; otherwise training does not read
                                     values from it, and it may lack features; owned */
    struct rw_bins *bins;         /* NULL: training bins the values of `documents`; owned */
    uint32_t *feature; /* [n_features] ids of all features in the data, ascending; NULL if
                          only `documents` has them; owned */
    uint32_t n_features;
    struct rw_engine_cache *cache; /* NULL: only one training uses the data; owned */
    /* for documents without values, when training continues from a model: */
    const struct rw_model *scored; /* the model, or NULL; only its address is compared */
    double *scores;                /* [n_docs] its scores of the documents; owned */
};
/* Sets the feature ids to those of the n columns. */
int rw_binned_take_features(struct rw_ctx *ctx, const struct rw_column *column, uint32_t n,
                            struct rw_binned *binned);
/* Frees the members, but not the struct. */
void rw_binned_release(struct rw_binned *binned);

/* ---- the codes of a table in memory ----
 *
 * The values are not copied as a whole. In most tables a feature's values are not contiguous in
 * document order, so dense columns are read several at a time. A first pass over these columns
 * reads the sampled documents, which determine the boundaries. A second pass reads all documents in
 * blocks and finds their bin indices. Each sparse column is read once, as a whole. The codes are
 * those of rw_bins_make_training. */
/* Computes the codes, and copies labels, query offsets and query ids. rule->ignore must be NULL and
 * *out zeroed. Release *out even on failure. Errors are those of rw_dataset_from_table. */
int rw_table_codes(struct rw_ctx *ctx, const struct rw_table *table, const struct rw_cut_rule *rule,
                   struct rw_binned *out);

/* ---- finding thresholds ----
 *
 * The host and a device each pass over the values in their own way, and return the intervals of
 * each column. An interval is a range of values between two neighbouring boundaries, or below the
 * first or from the last one on. It becomes a bin, together with the next interval if no float
 * separates their values. The steps that do not need values are shared: they turn intervals into
 * thresholds (cuts.c). */

/* The documents whose values determine the ranks. */
struct rw_cut_sample {
    uint32_t n;          /* sampled documents of this worker */
    uint32_t *row;       /* [n] ascending; NULL: all documents; owned */
    uint8_t *in;         /* [n_docs] 1 if sampled; NULL: all; owned */
    uint32_t n_all;      /* sampled documents of all workers */
    uint32_t n_all_docs; /* documents of all workers */
};
/* Counts the documents of a data set on all workers. RW_ERR_DATA: too many. All workers
 * call it. */
int rw_workers_docs(struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t *all_docs);
/* Initialises *sample. Release it even on failure. All workers call it. */
int rw_cut_sample_init(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset);
void rw_cut_sample_release(struct rw_cut_sample *sample);

/* Statistics of a feature's values between its boundaries. Values are stored as keys (integers in
 * the same order, base/bits.h). Interval k holds the values from bound[k - 1] on that are below
 * bound[k]; there are n_bounds + 1 intervals. */
struct rw_cut_intervals {
    uint32_t n_bounds, n_missing;      /* number of boundaries, of documents with a missing value */
    int by_category;                   /* 1: each interval is a category, even without documents */
    uint32_t bound[RW_MAX_BOUNDS + 1]; /* [n_bounds] ascending keys */
    uint32_t below[RW_MAX_BOUNDS + 2]; /* largest key of each interval; that of the last one is
                                          needed only for codes (rw_codes_of_intervals) */
    /* documents in each interval, then (needed only for codes) those with a missing value. Absent
     * values that count as missing may be left out here; n_missing includes them. */
    uint32_t count[RW_MAX_BOUNDS + 3];
};

/* The result for one feature. */
enum rw_cut_reason { RW_CUT_IN_USE, RW_CUT_CONSTANT, RW_CUT_FEW, RW_CUT_IGNORED };
struct rw_feature_cuts {
    float *cut; /* [n_bins] thresholds, the last FLT_MAX; NULL unless the reason is RW_CUT_IN_USE;
                   owned */
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
    struct rw_feature_cuts *found; /* [n_columns] initially zeroed; it and its thresholds are
                                      owned */
};
/* Initialises *finder. Release it even on failure. All workers call it. */
int rw_cut_finder_init(struct rw_ctx *ctx, struct rw_cut_finder *finder,
                       const struct rw_dataset *dataset, const struct rw_cut_rule *rule);
void rw_cut_finder_release(struct rw_cut_finder *finder);

/* A function that fills finder->found: it calls rw_cuts_of_intervals, or rw_codes_of_intervals, for
 * each column except those that rw_cuts_decided excludes. */
typedef int rw_cuts_find_fn(void *user, struct rw_cut_finder *finder);
/* user: NULL, or a struct rw_codes [n_columns] that receives the codes of the columns in use. */
rw_cuts_find_fn rw_cuts_find_on_host;
/* Like rw_cuts_make, with the intervals that `find` computes. */
int rw_cuts_make_by(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                    const struct rw_cut_rule *rule, rw_cuts_find_fn *find, void *user,
                    struct rw_cuts **out);

/* Returns 1 if the feature is excluded whatever its values are, and sets out->reason. It reads only
 * the column's feature and n, and whether `row` is NULL. */
int rw_cuts_decided(const struct rw_column *column, const struct rw_cut_rule *rule,
                    struct rw_feature_cuts *out);
/* Turns intervals into thresholds. The intervals' counts become those of the bins. */
int rw_cuts_of_intervals(struct rw_ctx *ctx, struct rw_cut_intervals *intervals,
                         const struct rw_cut_rule *rule, struct rw_feature_cuts *out);
/* Computes thresholds and, unless found->reason excludes the feature, codes. index: [column->n]
 * interval indices with `width` bytes each; the function frees it or moves it to *out, also on
 * failure. If column->row is NULL, there is an index for each document. Otherwise there is one for
 * each entry, and other documents are in the interval of an absent value. If `intervals` covers all
 * workers, `own` has the documents in each interval on this worker, in the format of
 * intervals->count; otherwise it is NULL. Changes *intervals. */
int rw_codes_of_intervals(struct rw_cut_intervals *intervals, const uint32_t *own,
                          const struct rw_cut_rule *rule, const struct rw_column *column,
                          uint32_t n_docs, size_t width, void *index, struct rw_feature_cuts *found,
                          struct rw_codes *out);
/* Makes bins of the columns in use (reason RW_CUT_IN_USE): copies their thresholds from `found` and
 * moves their codes. found, codes: [dataset->n_columns]. */
int rw_bins_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_cut_rule *rule, const struct rw_feature_cuts *found,
                   struct rw_codes *codes, struct rw_bins **out);
/* Collects thresholds. found: [dataset->n_columns], whose thresholds the caller still owns. */
int rw_cuts_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_feature_cuts *found, struct rw_cuts **out);
/* Frees the codes of n features, and the array `codes` itself. */
void rw_codes_free(struct rw_codes *codes, uint32_t n);

/* ---- boundaries from the ranks of sampled values (cuts.c) ----
 *
 * They are found without sorting all values. If at most RW_MAX_BINS nonzero values are distinct,
 * each is counted. Otherwise all values are counted in buckets, and only buckets that may hold a
 * boundary are sorted. */

/* Scratch memory of one thread. `key` has the keys of the sampled nonzero values, and `picked`
 * those in the buckets that will be sorted. Both have room for the sample and one vector. */
struct rw_rank_scratch {
    struct rw_arena arena;           /* owns all arrays below */
    uint32_t *key, *picked;          /* [n_all + one vector] */
    uint32_t *count;                 /* number of values in each bucket */
    uint16_t *mark;                  /* 1: the bucket will be sorted */
    struct rw_rank_counter *counter; /* counts the distinct values, if they are few */
};
/* Initialises *scratch. Free its arena even on failure. */
int rw_rank_scratch_init(struct rw_ctx *ctx, struct rw_rank_scratch *scratch,
                         const struct rw_cut_sample *sample);

/* A feature's values, of the whole data set or of some documents of the sample. */
struct rw_cut_part {
    struct rw_column column;
    uint32_t n_zeros; /* documents with value 0 that are not in the column */
};
/* Finds the boundaries of one feature: writes by_category, n_bounds and bound. A boundary is the
 * smallest value on its right. The parts together are the whole sample, but if sample->in is not
 * NULL, there is one part with all documents. The caller may keep the parts' values in
 * scratch->picked, which is overwritten only after they are read. parts: [n_parts] */
void rw_cut_bounds(enum rw_isa isa, const struct rw_cut_part *parts, uint32_t n_parts,
                   const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                   struct rw_rank_scratch *scratch, struct rw_cut_intervals *intervals);

/* Processes one column whose values are in memory: writes finder->found[c] and, unless codes is
 * NULL, its codes in *codes. scratch: made for finder->sample; may be NULL for a categorical
 * feature. Never uses the context. */
int rw_cuts_find_column(struct rw_cut_finder *finder, enum rw_isa isa,
                        const struct rw_column *column, uint32_t c, struct rw_rank_scratch *scratch,
                        struct rw_codes *codes);

/* ---- searching the boundaries ----
 *
 * One search finds a value's position among boundaries: its code, or its interval while thresholds
 * are being found. It uses AVX2 or AVX-512 if available. All paths give the same result. */
enum { RW_SEARCH_ROOM = RW_MAX_BOUNDS + 1 };

/* The position of a value is the number of boundaries that are not above it. */
struct rw_code_search {
    uint32_t n_levels;             /* number of halvings, at least 5 */
    uint32_t missing;              /* position of a missing value */
    uint32_t absent;               /* bits of an absent value: those of 0 or of a missing value */
    int32_t bound[RW_SEARCH_ROOM]; /* [2^n_levels] ordered; padding is above any value */
};

/* Converts an order-preserving key (base/bits.h) to a signed number, which AVX2 can compare. */
static inline int32_t rw_ordered_of_key(uint32_t key)
{
    return (int32_t)(key ^ 0x80000000u);
}

static inline uint32_t rw_key_of_ordered(int32_t ordered)
{
    return (uint32_t)ordered ^ 0x80000000u;
}

/* Returns the interval of 0. */
static inline uint32_t rw_zero_at(const uint32_t *bound, uint32_t n_bounds)
{
    return rw_numbers_under(bound, n_bounds, (uint64_t)RW_KEY_OF_ZERO + 1);
}

/* bound: [n_bounds] keys, ascending; at most RW_MAX_BOUNDS. */
void rw_code_search_init(struct rw_code_search *search, const uint32_t *bound, uint32_t n_bounds,
                         int absent_missing, uint32_t missing);

/* Writes the positions of n values. positions: [n] uint8_t if `bytes` is 1, uint16_t if it is 2;
 * most: NULL, or [n_bounds + 1] numbers (rw_ordered_of_key), each raised to the largest value at
 * that position. */
void rw_code_search_run(enum rw_isa isa, const struct rw_code_search *search, const float *value,
                        size_t n, size_t bytes, void *positions, int32_t *most);
/* Adds the number of occurrences of each position to counts: [n_positions]. */
void rw_code_count(const void *positions, size_t n, size_t bytes, uint32_t n_positions,
                   uint32_t *counts);

#ifdef __cplusplus
}
#endif
