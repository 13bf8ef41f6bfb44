/* Metrics of a set on the device: rw_metric_eval's, to the bit, from scores that stay there. One
 * query's value comes from the inline functions of metric/metric.h; values are rounded to
 * 2^-40, weighted by whole numbers, and summed in 128 bits. */
#ifndef RW_GPU_METRIC_CUDA_H
#define RW_GPU_METRIC_CUDA_H

#include "gpu/device/device.h"
#include "metric/metric.h"

struct rw_cuda_metrics;

/* Nothing of the plan is kept. Copies go through the device's stream and are waited for. */
int rw_cuda_metrics_new(struct rw_ctx *ctx, struct rw_device *device,
                        const struct rw_metric_plan *plan, struct rw_cuda_metrics **out);
void rw_cuda_metrics_free(struct rw_cuda_metrics *metrics); /* NULL is fine */
/* Bytes of device memory that it holds. */
uint64_t rw_cuda_metrics_bytes(const struct rw_cuda_metrics *metrics);
/* Those that it would hold, before there is one. */
int rw_cuda_metrics_plan_bytes(struct rw_ctx *ctx, const struct rw_metric_plan *plan,
                               uint64_t *bytes);

/* Enqueues all metrics of the plan on the cudaStream_t. d_scores: [n_docs], finite. Allocates
 * nothing, waits for nothing. One run at a time of an object. */
int rw_cuda_metrics_run(struct rw_cuda_metrics *metrics, const double *d_scores, void *stream);
/* After a run on the device's own stream: brings the sums, a few words a metric, and waits. out:
 * [n_metrics]. Returns 1; or 0: a value is too large to be averaged, and the host, which says so,
 * has to measure. */
int rw_cuda_metrics_read(struct rw_cuda_metrics *metrics, struct rw_metric_result *out);
/* Kernels that a run enqueues; a sort of the whole device counts one. */
uint32_t rw_cuda_metrics_launches(const struct rw_cuda_metrics *metrics);
#endif
