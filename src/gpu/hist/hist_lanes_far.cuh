/* The launch of hist_lanes.cu for codes that are not all on the device: hist_lanes_far.cu. */
#ifndef RW_GPU_HIST_LANES_FAR_CUH
#define RW_GPU_HIST_LANES_FAR_CUH

#include "gpu/hist/hist_lanes_plan.cuh"

cudaError_t rw_cuda_lanes_far(const struct rw_hist_call *call, const struct layout &layout,
                              const struct far_plan &far, cudaStream_t stream);
#endif
