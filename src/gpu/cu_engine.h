/* What the kernels of engine `cuda` are given, and their launchers. A kernel family a file:
 * cu_quantise.cu (samples, quantised lambdas, root sums), cu_split.cu (best splits),
 * cu_partition.cu (documents of nodes), cu_scores.cu (a tree's leaves added to scores).
 *
 * Launchers enqueue on a cudaStream_t and return a cudaError_t; they neither allocate nor wait.
 * Pointers d_x are on the device; a document's place is its index in the list of documents, whose
 * nodes are ranges of places. */
#ifndef RW_GPU_CU_ENGINE_H
#define RW_GPU_CU_ENGINE_H

#include <stddef.h>

#include "base/hd.h"
#include "gpu/lambda_cuda.h"
#include "tree/engine_host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- codes of a set ---- */

/* Where one feature's codes stand among a set's tiles (gpu/hist.h). */
struct rw_cuda_column {
    const void *d_word;   /* elements of its tile */
    uint32_t lanes, lane; /* elements of a document, and the feature's */
    uint32_t bits, shift; /* of a code, and how far up its element it stands */
};

RW_HD uint32_t rw_cuda_code_of(const struct rw_cuda_column *column, uint32_t doc)
{
    const uint64_t at = (uint64_t)doc * column->lanes + column->lane;
    if (column->bits == 16)
        return ((const uint16_t *)column->d_word)[at];
    return ((const uint32_t *)column->d_word)[at] >> column->shift & ((1u << column->bits) - 1);
}

/* ---- the start of a tree: cu_quantise.cu ---- */

/* What the host must know of a tree's start. */
struct rw_cuda_begin {
    struct rw_sum sum; /* of the sampled documents */
    int64_t weight_q_sum;
    struct rw_cuda_lambda_info info;
};

struct rw_cuda_sample {
    uint64_t seed, threshold; /* a query is kept iff its random number is under it */
    uint32_t tree, n_queries, n_docs;
    const uint32_t *d_query_offset; /* [n_queries + 1] */
    uint8_t *d_kept;                /* [n_queries] scratch */
    unsigned long long *d_lowest;   /* [2] scratch: lowest (random, query), and how many are kept */
    uint8_t *d_sampled;             /* [n_docs] written: 1 in the sample */
};
int rw_cuda_sample_queries(const struct rw_cuda_sample *sample, void *stream);

/* d_list: the documents with d_sampled not 0, ascending; all n_docs if d_sampled is NULL. */
size_t rw_cuda_list_bytes(uint32_t n_docs); /* of scratch */
int rw_cuda_list_sampled(const uint8_t *d_sampled, uint32_t n_docs, uint32_t *d_list,
                         uint32_t *d_n_selected, void *d_scratch, size_t scratch_bytes,
                         void *stream);

struct rw_cuda_quantise {
    uint64_t seed;
    uint32_t tree, n_docs;
    int bits, nearest;
    const uint8_t *d_sampled;           /* [n_docs] NULL: all */
    const int64_t *d_lambda, *d_weight; /* [n_docs] */
    int32_t *d_lambda_q, *d_weight_q;   /* [n_docs] of sampled documents; weights: or NULL */
    struct rw_cuda_begin *d_begin;      /* its info is there; the rest is written */
};
int rw_cuda_quantise(const struct rw_cuda_quantise *quantise, void *stream);

/* ---- histograms and splits: cu_split.cu ---- */

/* Histograms of a group, a buffer a node; weights: newton only, else NULL. */
struct rw_cuda_cells {
    uint32_t *d_count; /* [n_buffers][n_features][n_bins] and so on */
    int64_t *d_lambda;
    int64_t *d_weight;
    uint32_t n_features, n_bins;
    const uint32_t *d_column; /* [n_features] the engine's feature, ascending */
};

struct rw_cuda_feature {
    uint32_t n_bins, has_missing; /* the missing values' code is n_bins */
    uint64_t first_cut;           /* in d_cut */
};

struct rw_cuda_found {
    double gain;
    int32_t column; /* -1: no split */
    uint32_t bin;
    int32_t missing_left;
    int32_t padding;
};

/* A node's split, and the sums of the documents that it sends left. */
struct rw_cuda_split {
    struct rw_cuda_found found;
    struct rw_sum left;
};

struct rw_cuda_search {
    struct rw_split_rule rule;
    const struct rw_cuda_feature *d_feature; /* [n_features] */
    const float *d_cut;
    const uint8_t *d_feature_sampled; /* [n_features] */
    const uint32_t *d_buffer;         /* [n] of each node searched */
    struct rw_cuda_found *d_best;     /* [n][n_features] scratch */
    struct rw_cuda_split *d_split;    /* [n] written; sums 0 */
    uint32_t n, n_features;           /* n: at most 65535 */
};
/* Fills d_best for the features of one group; then, when all groups are done, d_split. */
int rw_cuda_search_group(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells,
                         void *stream);
int rw_cuda_search_finish(const struct rw_cuda_search *search, void *stream);

/* ---- documents of nodes: cu_partition.cu ---- */

/* Documents that a block takes: places are cut into chunks of so many, node by node. */
enum { RW_CUDA_CHUNK = 2048 };

struct rw_cuda_range {    /* one node's */
    uint64_t from, n;     /* its first place, and its documents */
    uint32_t first_chunk; /* chunks of the nodes before it */
    uint32_t padding;
};

struct rw_cuda_look {
    const struct rw_cuda_range *d_range; /* [n_nodes] */
    uint32_t n_nodes, n_chunks;
    const struct rw_cuda_feature *d_feature;
    const struct rw_cuda_column *d_column;
    const uint32_t *d_list;             /* [.. places] */
    const int64_t *d_lambda, *d_weight; /* [n_docs] */
    uint8_t *d_left;                    /* [n_docs] written for the nodes' documents: 1 goes left */
    struct rw_cuda_split *d_split;      /* [n_nodes] column -1: left alone; sums are added to */
};
/* Where each node's split sends its documents. */
int rw_cuda_look(const struct rw_cuda_look *look, void *stream);

struct rw_cuda_part {  /* one node's */
    uint64_t from, to; /* its first place; that of its left child, whose documents come first */
    uint64_t n, n_left;
    uint32_t first_chunk, padding;
};

struct rw_cuda_partition {
    const struct rw_cuda_part *d_part; /* [n_parts] */
    uint32_t n_parts, n_chunks;
    const uint8_t *d_left;  /* [n_docs] what rw_cuda_look said */
    uint32_t *d_list;       /* [.. places] */
    uint32_t *d_flag;       /* [n_chunks][RW_CUDA_CHUNK / 32] scratch: who goes left, a bit each */
    uint32_t *d_chunk_left; /* [n_chunks] scratch */
};
/* Stable: the documents of both children keep their order. Nodes' places do not overlap, nor do
 * those that are read and those that are written. */
int rw_cuda_partition(const struct rw_cuda_partition *partition, void *stream);

/* ---- scores: cu_scores.cu ---- */

struct rw_cuda_leaf {
    uint64_t from, n; /* its places */
    uint32_t first_chunk;
    float value;
};
/* score += the leaf's value, for each document of each leaf. */
int rw_cuda_add_leaves(const struct rw_cuda_leaf *d_leaf, uint32_t n_leaves, uint32_t n_chunks,
                       const uint32_t *d_list, double *d_score, void *stream);

struct rw_cuda_walk {
    const struct rw_coded_node *d_node; /* [n_leaves - 1] */
    const float *d_leaf;                /* [n_leaves] */
    uint32_t n_leaves, n_docs;
    const struct rw_cuda_column *d_column; /* of the set */
    const uint8_t *d_skip;                 /* [n_docs] not 0: left as they are; NULL: none */
    double *d_score;                       /* [n_docs] */
};
/* The same by the documents' codes. */
int rw_cuda_add_walk(const struct rw_cuda_walk *walk, void *stream);

/* Chunks of so many documents. */
static inline uint32_t rw_cuda_chunks(uint64_t n)
{
    return (uint32_t)((n + RW_CUDA_CHUNK - 1) / RW_CUDA_CHUNK);
}

#ifdef __cplusplus
}
#endif
#endif
