/* Algorithm 1 of weighted histogramming on the host: what every method on the device must equal. */
#ifndef RW_GPU_HIST_SERIAL_H
#define RW_GPU_HIST_SERIAL_H

#include "gpu/hist/hist.h"

/* All arrays are on the host. codes: [n_features] of [n_docs]; list: documents, NULL: ranges; node:
 * [n_nodes]. Results of the shapes in hist.h, cleared first; those that are NULL are left out.
 * Floats are summed in double, in the order of the documents, and rounded once. */
struct rw_hist_serial {
    uint32_t n_features, n_bins;
    const uint16_t *const *codes;
    const uint32_t *list;
    const struct rw_hist_node *node;
    uint32_t n_nodes;
    const int32_t *lambda, *hess;
    const float *value;
    uint32_t *count;
    int64_t *lambda_sum, *hess_sum;
    float *float_sum;
};
void rw_hist_serial_run(const struct rw_hist_serial *job);
#endif
