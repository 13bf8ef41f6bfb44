/* Made codes, lambdas, lists and nodes for check_hist and bench_hist. All numbers come from
 * (seed, item), so that a failure can be made again, and fast from many threads. */
#ifndef HIST_DATA_H
#define HIST_DATA_H

#include <stdint.h>

#include "gpu/hist.h"

enum hist_codes {
    CODES_UNIFORM,
    CODES_EQUAL,
    CODES_TWO,
    CODES_NORMAL_HALF, /* sigma in bins */
    CODES_NORMAL_1,
    CODES_NORMAL_10,
    CODES_NORMAL_100,
    CODES_ZEROS,     /* 80 % zeros, independent */
    CODES_CLUSTERED, /* 80 % zeros, in runs of documents */
    CODES_SORTED,
    CODES_HOT,      /* 99 % in one bin, the rest everywhere */
    CODES_DISTINCT, /* `distinct` codes, evenly apart, equally likely */
    CODES_MIXED,    /* feature by feature, one of those above */
    CODES_SYNTH,    /* columns of `synth --shape mslr30k` that have this width (hist_synth.c) */
    N_CODES
};
const char *hist_codes_name(enum hist_codes kind);
/* The first CODES_DISTINCT kinds are distributions without a parameter. */
enum { N_DISTRIBUTIONS = CODES_DISTINCT };

enum hist_lambdas { LAMBDAS_RANDOM, LAMBDAS_HIGH, LAMBDAS_LOW, LAMBDAS_ALTERNATING, N_LAMBDAS };
const char *hist_lambdas_name(enum hist_lambdas kind);

/* Memory of the checks: exits when there is none. n = 0 gives a valid pointer. */
void *hist_alloc(uint64_t n, size_t size);

struct hist_columns {
    uint32_t n_features, n_docs, n_bins;
    uint16_t *code;          /* [n_features][n_docs] */
    const uint16_t **column; /* [n_features] */
};
void hist_columns_init(struct hist_columns *out, uint32_t n_features, uint32_t n_docs,
                       uint32_t n_bins, enum hist_codes kind, uint32_t distinct, uint64_t seed);
/* The same with codes yet to be written. */
void hist_columns_alloc(struct hist_columns *out, uint32_t n_features, uint32_t n_docs,
                        uint32_t n_bins);
/* Features of made MSLR data whose codes take `bits` bits; features and documents as they come. */
int hist_synth_columns(struct rw_ctx *ctx, struct hist_columns *out, int bits, uint32_t n_bins,
                       uint32_t n_queries, uint64_t seed);
void hist_columns_release(struct hist_columns *columns);
/* frequent: [n_features] the most frequent code, the lowest of equals. */
void hist_frequent(const struct hist_columns *columns, uint16_t *frequent);

/* lambda: [n], |lambda| <= largest. */
void hist_lambdas(int32_t *lambda, uint64_t n, int32_t largest, enum hist_lambdas kind,
                  uint64_t seed);
/* weight: [n], 0 to largest; all at largest unless kind is random. */
void hist_weights(int32_t *weight, uint64_t n, int32_t largest, enum hist_lambdas kind,
                  uint64_t seed);
/* value: [n] of many sizes, either sign. */
void hist_floats(float *value, uint64_t n, uint64_t seed);

/* list: room for n_docs. Takes each document with the chance `share`, ascending; then, if asked,
 * shuffled. Returns how many. */
uint32_t hist_list(uint32_t *list, uint32_t n_docs, double share, int shuffled, uint64_t seed);

enum hist_nodes {
    NODES_ONE,
    NODES_NONE, /* no node at all */
    NODES_EMPTY,
    NODES_OFFSET, /* one, not from the start nor to the end */
    NODES_TWO,
    NODES_UNEVEN, /* 127, from half of the documents down to none; gaps between */
    NODES_EDGES,  /* sizes 0 1 31 32 33 255 256 257 ... 4095 4096 4097 ... as long as they fit */
    NODES_SMALL,  /* RW_HIST_MAX_NODES of 0 to 40 documents */
    N_NODES
};
const char *hist_nodes_name(enum hist_nodes kind);
/* node: room for RW_HIST_MAX_NODES. At most `most` of them over n places. Returns how many. */
uint32_t hist_nodes(struct rw_hist_node *node, uint64_t n, uint32_t most, enum hist_nodes kind,
                    uint64_t seed);

#endif
