/* `collision` with its block's size and its unrolling stated, for Figure 8 of the first document;
 * `collision-reduced` with its block's size and its buffer, for Table 6. */
#pragma once

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_TUNING_WARPS = 6, RW_TUNING_UNROLLS = 4 };
extern const int rw_tuning_warps[RW_TUNING_WARPS];     /* 1 to 32 */
extern const int rw_tuning_unrolls[RW_TUNING_UNROLLS]; /* 1 to 8 words in flight */

/* As `run` of rw_hist_collision, for mart and float sums; warps, unroll: places in the lists above.
 * Returns a cudaError_t. */
int rw_cuda_tuned_collision(const struct rw_hist_call *call, int warps, int unroll, void *stream);
/* 1 if these are what the method itself takes. */
int rw_tuning_is_own(int warps, int unroll);

enum { RW_TUNING_REDUCED_WARPS = 6, RW_TUNING_BUFFERS = 6 };
extern const int rw_tuning_reduced_warps[RW_TUNING_REDUCED_WARPS]; /* 1 to 6 */
extern const int rw_tuning_buffers[RW_TUNING_BUFFERS];             /* 4 to 20 documents a thread */

/* As `run` of rw_hist_collision_reduced, for mart and float sums and at most 1024 bins; warps,
 * buffer: places in the lists above. Returns a cudaError_t. */
int rw_cuda_tuned_reduced(const struct rw_hist_call *call, int warps, int buffer, void *stream);
/* 1 if these are what the method itself takes for so many bins. */
int rw_tuning_reduced_is_own(uint32_t n_bins, int warps, int buffer);

#ifdef __cplusplus
}
#endif
