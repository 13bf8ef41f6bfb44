/* Made codes, lambdas, lists and nodes for benches and checks of histograms. All numbers come from
 * (seed, item), so that a failure can be made again, and fast from many threads. */
#pragma once

#include <stdint.h>

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rw_made_codes {
    RW_CODES_UNIFORM,
    RW_CODES_EQUAL,
    RW_CODES_TWO,
    RW_CODES_NORMAL_HALF, /* sigma in bins */
    RW_CODES_NORMAL_1,
    RW_CODES_NORMAL_10,
    RW_CODES_NORMAL_100,
    RW_CODES_ZEROS,     /* 80 % zeros, independent */
    RW_CODES_CLUSTERED, /* 80 % zeros, in runs of documents */
    RW_CODES_SORTED,
    RW_CODES_HOT,      /* 99 % in one bin, the rest everywhere */
    RW_CODES_DISTINCT, /* `distinct` codes, evenly spaced, equally likely */
    RW_CODES_NORMAL,   /* any sigma */
    RW_CODES_MIXED,    /* feature by feature, one of those above */
    RW_CODES_SYNTH,    /* columns of `synth --shape mslr30k` that have this width (made_synth.c) */
    RW_N_CODES
};
const char *rw_made_codes_name(enum rw_made_codes kind);
/* The first RW_CODES_DISTINCT kinds are distributions without a parameter. */
enum { RW_N_DISTRIBUTIONS = RW_CODES_DISTINCT };

enum rw_made_lambdas {
    RW_LAMBDAS_RANDOM,
    RW_LAMBDAS_HIGH,
    RW_LAMBDAS_LOW,
    RW_LAMBDAS_ALTERNATING,
    RW_N_LAMBDAS
};
const char *rw_made_lambdas_name(enum rw_made_lambdas kind);

enum { RW_MADE_MOST_BINS = 1024 };

struct rw_made_columns {
    uint32_t n_features, n_docs, n_bins;
    uint16_t *code;          /* [n_features][n_docs] owned */
    const uint16_t **column; /* [n_features] owned; into code */
};

struct rw_made_spec {
    uint32_t n_features, n_docs, n_bins; /* n_bins: 1 to RW_MADE_MOST_BINS */
    enum rw_made_codes codes;            /* not RW_CODES_SYNTH */
    uint32_t distinct;                   /* RW_CODES_DISTINCT: how many codes */
    double sigma;                        /* RW_CODES_NORMAL: in bins, above 0 */
};
int rw_made_columns_init(struct rw_ctx *ctx, struct rw_made_columns *out,
                         const struct rw_made_spec *spec, uint64_t seed);
/* The same with codes yet to be written. */
int rw_made_columns_alloc(struct rw_ctx *ctx, struct rw_made_columns *out, uint32_t n_features,
                          uint32_t n_docs, uint32_t n_bins);
/* Features of made MSLR data whose codes take `bits` bits; features and documents as they come. */
int rw_made_columns_synth(struct rw_ctx *ctx, struct rw_made_columns *out, int bits,
                          uint32_t n_bins, uint32_t n_queries, uint64_t seed);
/* The features that training puts into the group of `bits` bits; the last n_narrow have at most 16
 * codes; n_bins: the most codes that one of them has. */
struct rw_bins;
int rw_made_columns_of_bins(struct rw_ctx *ctx, const struct rw_bins *bins, int bits,
                            uint32_t *n_narrow, struct rw_made_columns *out);
void rw_made_columns_release(struct rw_made_columns *columns);
/* Puts the columns on the device, as training does with codes that are ready. */
int rw_made_matrix(struct rw_ctx *ctx, const struct rw_device *device,
                   const struct rw_hist_matrix_spec *spec, const struct rw_made_columns *columns,
                   struct rw_hist_matrix **out);

/* Made MSLR data, all its features, each with as many codes as it has. */
struct rw_made_set {
    struct rw_made_columns columns; /* n_bins: the requested maximum */
    uint32_t *n_codes;              /* [n_features] owned */
    uint32_t *feature;              /* [n_features] ids in the set; owned */
};
/* n_bins: value bins, 2 to 1024 (nothing is missing in this data). About 119.6 documents per query.
 */
int rw_made_set_init(struct rw_ctx *ctx, struct rw_made_set *out, int n_bins, uint32_t n_queries,
                     uint64_t seed);
void rw_made_set_release(struct rw_made_set *set);

/* frequent: [n_features] the most frequent code, the lowest of equals. */
void rw_made_frequent(struct rw_ctx *ctx, const struct rw_made_columns *columns,
                      uint16_t *frequent);

/* lambda: [n], |lambda| <= largest. */
void rw_make_lambdas(int32_t *lambda, uint64_t n, int32_t largest, enum rw_made_lambdas kind,
                     uint64_t seed);
/* weight: [n], 0 to largest; all at largest unless kind is random. */
void rw_make_weights(int32_t *weight, uint64_t n, int32_t largest, enum rw_made_lambdas kind,
                     uint64_t seed);
/* value: [n] of many sizes, either sign. */
void rw_make_floats(float *value, uint64_t n, uint64_t seed);

/* list: room for n_docs. Takes each document with the chance `share`, ascending; then, if asked,
 * shuffled. Returns how many. */
uint32_t rw_make_list(uint32_t *list, uint32_t n_docs, double share, int shuffled, uint64_t seed);

enum rw_made_nodes {
    RW_NODES_ONE,
    RW_NODES_NONE, /* no node at all */
    RW_NODES_EMPTY,
    RW_NODES_OFFSET, /* one, not from the start nor to the end */
    RW_NODES_TWO,
    RW_NODES_UNEVEN, /* 127, from half of the documents down to none; gaps between */
    RW_NODES_EDGES,  /* sizes 0 1 31 32 33 255 256 257 ... 4095 4096 4097 ... as long as they fit */
    RW_NODES_SMALL,  /* RW_HIST_MAX_NODES of 0 to 40 documents */
    RW_N_NODES
};
const char *rw_made_nodes_name(enum rw_made_nodes kind);
/* node: room for RW_HIST_MAX_NODES. At most `most` of them over n places. Returns how many. */
uint32_t rw_make_nodes(struct rw_hist_node *node, uint64_t n, uint32_t most,
                       enum rw_made_nodes kind, uint64_t seed);

#ifdef __cplusplus
}
#endif
