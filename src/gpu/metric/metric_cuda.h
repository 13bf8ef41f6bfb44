/* Metrics of a set on the device, from scores in device memory, identical to those of
 * rw_metric_eval; and the ranking of documents by score, which lambdas use, too. */
#pragma once

#include "gpu/device/device.h"
#include "metric/metric.h"

struct rw_cuda_metrics;

/* Makes the tables of a plan, all of whose metrics the device can compute. Does not keep the plan.
 * device NULL: only counts the bytes of the tables. */
int rw_cuda_metrics_new(struct rw_ctx *ctx, struct rw_device *device,
                        const struct rw_metric_plan *plan, struct rw_cuda_metrics **out);
void rw_cuda_metrics_free(struct rw_cuda_metrics *metrics); /* accepts NULL */
RW_SCOPED_BY(rw_cuda_metrics_free)
uint64_t rw_cuda_metrics_bytes(const struct rw_cuda_metrics *metrics);

/* Enqueues all metrics of the plan on `stream`, a cudaStream_t. d_scores: [n_docs], finite. It
 * neither allocates nor waits. Read the results of a run before the next one of the object. */
int rw_cuda_metrics_run(struct rw_cuda_metrics *metrics, const double *d_scores, void *stream);
/* Waits for a run on the device's stream. out: [n_metrics]. Returns 1, 0 if a value is too large
 * for a mean, or a negative status. After 0, the host must compute the metrics, and it reports the
 * error. */
int rw_cuda_metrics_read(struct rw_cuda_metrics *metrics, struct rw_metric_result *out);
/* Reads the values of queries of the first metric, after that, of a plan with by_query. per_query:
 * [n_queries], as of rw_metric_eval. */
int rw_cuda_metrics_read_queries(const struct rw_cuda_metrics *metrics, double *per_query);

/* The documents of a query: n of them, from `first` on. */
struct rw_query_range {
    uint32_t first, n;
};
RW_HD struct rw_query_range rw_query_range(const uint32_t *query_offset, uint32_t q)
{
    const struct rw_query_range range = {query_offset[q], query_offset[q + 1] - query_offset[q]};
    return range;
}

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RW_RANK_WARP_DOCS = 256,   /* a warp sorts a query of up to this number of documents */
    RW_RANK_BLOCK_DOCS = 2048, /* a block sorts a larger one of up to this number */
};

/* The large queries, which have more: the whole device sorts them together. Their documents form a
 * list, query after query. The tables of rw_cuda_rank_init own all memory. */
struct rw_cuda_rank_large {
    uint32_t n;          /* number of these queries */
    uint32_t n_docs;     /* number of their documents */
    uint32_t *d_begin;   /* [n + 1] the first item of each query in the list */
    uint64_t *d_key[2];  /* [n_docs] keys of scores */
    uint32_t *d_doc[2];  /* [n_docs] documents, as indices in the list */
    uint32_t *d_part[2]; /* [n_docs] query of each document, 0 to n - 1; NULL for a single query */
    void *d_scratch;
    size_t scratch_bytes;
};

struct rw_cuda_rank {
    uint32_t n_docs, n_queries;
    uint32_t *d_offset;       /* [n_queries + 1] */
    uint32_t *d_by_size;      /* [n_queries] the large queries, then the others by falling size */
    uint32_t n_block, n_warp; /* of the others: those for blocks, then those for warps */
    uint32_t *d_order;        /* [n_docs] query by query, the documents of the set in rank order */
    struct rw_cuda_rank_large large;
};

/* Prepares *rank for rw_cuda_rank_run. query_offset: [n_queries + 1], not kept. */
int rw_cuda_rank_init(struct rw_device_tables *tables, uint32_t n_docs, uint32_t n_queries,
                      const uint32_t *query_offset, struct rw_cuda_rank *rank);
/* Returns the bytes of scratch for sorting the large queries. n_docs: their documents. */
size_t rw_cuda_rank_scratch_bytes(uint32_t n_docs, uint32_t n_large);

/* Enqueues the ranking: writes to rank->d_order the order that rw_rank_query finds for each query.
 * d_scores: [n_docs], finite. d_sampled: [n_docs]; queries whose first document has 0 may be
 * skipped; NULL: none is. It neither allocates nor waits. Returns a cudaError_t. */
int rw_cuda_rank_run(const struct rw_cuda_rank *rank, const double *d_scores,
                     const uint8_t *d_sampled, void *stream);

struct rw_cuda_metric {
    enum rw_metric_device kind;
    int by_document;         /* 1: its mean is over documents; 0: over queries */
    struct rw_metric metric; /* its `kind` points to host memory */
    const int64_t *d_weight; /* [n_queries] whole numbers; NULL: all are 1 */
    double *d_scratch; /* [n_docs + n_queries] for some metrics with averaged ties; else NULL */
};

/* The sums of a query, of a block or of all blocks. */
struct rw_cuda_metric_part {
    struct rw_metric_sums sums;
    uint32_t too_large; /* not 0: the sums are not valid */
};

struct rw_cuda_metric_args {
    struct rw_cuda_rank rank;
    uint32_t n_metrics, n_parts; /* n_parts: blocks per metric */
    enum rw_empty empty;
    double max_gain;
    const struct rw_cuda_metric *d_metric; /* [n_metrics] */
    const double *d_discount;              /* [documents of the largest query] by rank */
    const double *d_ideal;                 /* [n_docs] each query's gains in falling order */
    /* By document, and in rank order. Arrays that no metric needs are NULL. */
    const double *d_gain, *d_doc_weight;
    const float *d_label;
    double *d_ranked_gain, *d_ranked_weight, *d_ranked_score;
    float *d_ranked_label;
    uint32_t *d_tie_end;                  /* [n_docs] end of each tie; NULL: ties in input order */
    struct rw_cuda_metric_part *d_part;   /* [n_metrics][n_parts] */
    struct rw_cuda_metric_part *d_result; /* [n_metrics] */
    double *d_per_query;                  /* [n_queries] values of metric 0; NULL: not wanted */
    const double *d_scores;               /* [n_docs] of the current run */
};

enum { RW_METRIC_QUERIES = 64 }; /* queries per block */
/* Enqueues the ranking and the metrics. Returns a cudaError_t. */
int rw_cuda_metric_launch(const struct rw_cuda_metric_args *args, void *stream);

#ifdef __cplusplus
}
#endif
