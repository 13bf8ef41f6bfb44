/* The reference of all histogram methods: algorithm 1 of Xu et al. on the host. */
#pragma once

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments, all on the host. codes: [n_features] of [n_docs]. list: documents; NULL: nodes are
 * ranges. node: [n_nodes]. Results have the layouts of struct rw_hist_call and are cleared first;
 * NULL results are left out. Floats are summed in double, in the order of the documents, and
 * rounded once. */
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

#ifdef __cplusplus
}
#endif
