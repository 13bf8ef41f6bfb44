/* What metric_cuda.c hands to the kernels of cu_metric.cu. Pointers are of the device. */
#ifndef RW_GPU_CU_METRIC_H
#define RW_GPU_CU_METRIC_H

#include "gpu/metric/rank_cuda.h"
#include "metric/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cuda_metric {
    enum rw_metric_device kind;
    int by_document;
    struct rw_metric metric; /* its `kind` is NULL: a pointer of the host */
    const int64_t *d_weight; /* [n_queries] whole numbers; NULL: all 1 */
    double *d_scratch; /* [n_docs + n_queries], with ties averaged, where the metric needs it; else
                          NULL */
};

/* What a block, or all of them, found. 128-bit sums as in struct rw_metric_sums. */
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

uint32_t rw_cuda_metric_parts(uint32_t n_queries);
/* After the ranking. Returns a cudaError_t. */
int rw_cuda_metric_launch(const struct rw_cuda_metric_args *args, void *stream);

#ifdef __cplusplus
}
#endif
#endif
