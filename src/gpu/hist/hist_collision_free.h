/* `collision-free` with its unrolling stated, for the table of unrolling. */
#ifndef RW_GPU_HIST_COLLISION_FREE_H
#define RW_GPU_HIST_COLLISION_FREE_H

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the method's `run`, with `unroll` words of codes in flight a thread: 1, 2, 4, 8, 16 or 32. */
int rw_cuda_hist_collision_free(const struct rw_hist_call *call, int unroll, void *stream);
/* The unrolling that `run` takes for so many bins. */
int rw_hist_collision_free_unroll(uint32_t n_bins);

#ifdef __cplusplus
}
#endif
#endif
