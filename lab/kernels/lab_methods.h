/* The laboratory's own histogram methods, with the interface of those that train (gpu/hist/hist.h).
 * `collision-free` and `collision-reduced` are methods of weighted histogramming that lose to
 * `lanes` on every shape of data; `packed-private` only counts. */
#pragma once

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct rw_hist_method rw_hist_collision_free, rw_hist_collision_reduced,
    rw_hist_packed_private;

/* The `run` of `collision-free` with `unroll` words of codes in flight per thread: 1, 2, 4, 8, 16
 * or 32. The second function returns the number that the method itself uses for n_bins. */
int rw_cuda_hist_collision_free(const struct rw_hist_call *call, int unroll, void *stream);
int rw_hist_collision_free_unroll(uint32_t n_bins);

#ifdef __cplusplus
}
#endif
