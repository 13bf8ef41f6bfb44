/* The binned matrix: one small code per (document, feature) in place of the value.
 * A code is the value's bin (value <= cut[bin]), or the number of value bins if it is missing and
 * the training set has missing values of this feature; else a missing value gets the code of 0. */
#pragma once

#include "base/bits.h"
#include "base/mem.h"
#include "base/mem.h"
#include "binning/cuts.h"

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

static inline size_t rw_cuts_code_bytes(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_cuts_n_codes(cuts, f) > 256 ? 2 : 1;
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

/* What training sees of its data: documents, with cuts and codes in place of values. */
/* What an engine made of a training set and left here for the next one that trains on it. */
struct rw_keep {
    void *made; /* owned, by way of `drop`; NULL: nothing */
    void (*drop)(void **made);
};

struct rw_model;
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
