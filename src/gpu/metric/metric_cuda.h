/* Metrics of a set on the device: rw_metric_eval's, to the bit, from scores that stay there. One
 * query's value comes from the inline functions of metric/metric.h; values are rounded to
 * 2^-40, weighted by whole numbers, and summed in 128 bits. */
#pragma once

#include "gpu/device/device.h"
#include "metric/metric.h"

struct rw_cuda_metrics;

/* Nothing of the plan is kept. Copies go through the device's stream and are waited for. device
 * NULL: its bytes are only counted. */
int rw_cuda_metrics_new(struct rw_ctx *ctx, struct rw_device *device,
                        const struct rw_metric_plan *plan, struct rw_cuda_metrics **out);
void rw_cuda_metrics_free(struct rw_cuda_metrics *metrics); /* NULL is fine */
/* Bytes of device memory that it holds. */
uint64_t rw_cuda_metrics_bytes(const struct rw_cuda_metrics *metrics);

/* Enqueues all metrics of the plan on the cudaStream_t. d_scores: [n_docs], finite. Allocates
 * nothing, waits for nothing. One run at a time of an object. */
int rw_cuda_metrics_run(struct rw_cuda_metrics *metrics, const double *d_scores, void *stream);
/* Reads the sums after a run on the device's own stream: a few words per metric. It waits. out:
 * [n_metrics]. Returns 1. Returns 0 if a value is too large to be averaged; the host must then
 * measure, and reports it. */
int rw_cuda_metrics_read(struct rw_cuda_metrics *metrics, struct rw_metric_result *out);

/* Every query's documents in the order of their scores, on the device: rw_rank_query's order. */
#ifdef __cplusplus
extern "C" {
#endif

enum {
    RW_RANK_WARP_DOCS = 256,   /* queries up to here are sorted by a warp */
    RW_RANK_BLOCK_DOCS = 2048, /* up to here by a block; beyond, all together by the whole device */
};

/* Queries beyond a block's size. Their documents stand one after another in a list of their own,
 * query by query. All pointers are of the device, and the tables' owner's. */
struct rw_cuda_rank_large {
    uint32_t n;          /* queries */
    uint32_t n_docs;     /* of all of them */
    uint32_t *d_begin;   /* [n + 1] where each begins in the list */
    uint32_t *d_first;   /* [n] its first document in the set */
    uint64_t *d_key[2];  /* [n_docs] keys of scores */
    uint32_t *d_doc[2];  /* [n_docs] */
    uint32_t *d_part[2]; /* [n_docs] which query; NULL if there is one only */
    void *d_scratch;
    size_t scratch_bytes;
};

struct rw_cuda_rank {
    uint32_t n_docs, n_queries;
    uint32_t *d_offset;  /* [n_queries + 1] */
    uint32_t *d_by_size; /* [n_queries] all queries: the large ones, then by falling size */
    /* In it, those of 1 to RW_RANK_BLOCK_DOCS documents: n_block that a block sorts, then n_warp.
     */
    const uint32_t *d_query;
    uint32_t n_block, n_warp;
    uint32_t *d_order; /* [n_docs] the document of the set at each position, query by query */
    struct rw_cuda_rank_large large;
};

/* Its memory is the tables'. query_offset: [n_queries + 1], not kept. */
int rw_cuda_rank_init(struct rw_device_tables *tables, uint32_t n_docs, uint32_t n_queries,
                      const uint32_t *query_offset, struct rw_cuda_rank *rank);

/* Enqueues the ranking into rank->d_order. d_scores: [n_docs], finite. d_sampled: [n_docs], by
 * document, or NULL; queries whose first document has 0 may be left out. Allocates nothing, waits
 * for nothing. Returns a cudaError_t, as all launchers. */
int rw_cuda_rank_run(const struct rw_cuda_rank *rank, const double *d_scores,
                     const uint8_t *d_sampled, void *stream);

/* Scratch of the large queries' sorts. */
size_t rw_cuda_rank_scratch_bytes(uint32_t n_docs, uint32_t n_large);

/* What metric_cuda.c hands to the kernels of cu_metric.cu. Pointers are of the device. */
struct rw_cuda_metric {
    enum rw_metric_device kind;
    int by_document;
    struct rw_metric metric; /* its `kind` is NULL: a pointer of the host */
    const int64_t *d_weight; /* [n_queries] whole numbers; NULL: all 1 */
    double *d_scratch; /* [n_docs + n_queries], with ties averaged, where the metric needs it; else
                          NULL */
};

/* The result of a block, or of all of them. 128-bit sums as in struct rw_metric_sums. */
struct rw_cuda_metric_part {
    struct rw_metric_sums sums;
    uint32_t n_counted, n_empty;
    uint32_t too_large; /* not 0: the sums mean nothing */
    uint32_t unused;
};

struct rw_cuda_metric_args {
    uint32_t n_docs, n_queries, n_metrics, n_parts; /* n_parts: blocks of a metric */
    enum rw_empty empty;
    double max_gain;
    const uint32_t *d_offset, *d_order, *d_by_size;
    const struct rw_cuda_metric *d_metric; /* [n_metrics] */
    const double *d_discount;              /* [longest] */
    const double *d_ideal;                 /* [n_docs] gains of each query by falling size */
    /* By document, and what becomes of it in rank order; those that no metric needs are NULL. */
    const double *d_gain, *d_doc_weight;
    const float *d_label;
    double *d_ranked_gain, *d_ranked_weight, *d_ranked_score;
    float *d_ranked_label;
    uint32_t *d_tie_end;                  /* [n_docs]; NULL: ties by position */
    struct rw_cuda_metric_part *d_part;   /* [n_metrics][n_parts] */
    struct rw_cuda_metric_part *d_result; /* [n_metrics] */
    const double *d_scores;               /* of a run */
};

enum { RW_METRIC_QUERIES = 64 }; /* of a block */
/* After the ranking. Returns a cudaError_t. */
int rw_cuda_metric_launch(const struct rw_cuda_metric_args *args, void *stream);

#ifdef __cplusplus
}
#endif
