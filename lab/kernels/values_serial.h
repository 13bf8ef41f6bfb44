/* Listing 1 of "Parallelizing general histogram application for CUDA architectures" on the host:
 * what every method of values.h must equal, and the same on all cores. */
#pragma once

#include "lab/kernels/values.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As struct rw_values_call, all arrays on the host. The results are cleared first. */
struct rw_values_job {
    enum rw_values_type type;
    const void *value;
    uint64_t n;
    const void *edge;
    uint32_t n_bins;
    int last_closed;
    int has_range;
    union rw_values_number lo, hi;
    const uint8_t *mask;
    const int32_t *weight;
    uint64_t *count; /* [n_bins] */
    int64_t *sum;    /* [n_bins]; NULL without weights */
};
void rw_values_serial_run(const struct rw_values_job *job);
/* On n_threads threads (at least 1), each with a histogram of its own. */
int rw_values_cpu_run(struct rw_ctx *ctx, const struct rw_values_job *job, int n_threads);

#ifdef __cplusplus
}
#endif
