/* Why: more codes than the device has memory for. The kernel of hist_lanes.cu, whose warps read a
 * document's codes of a tile, 128 bytes, from page-locked memory of the host where they are not on
 * the device. Nothing is copied beforehand, so only what a node needs crosses the link: a gather of
 * such rows by an ascending list ran at 51 GB/s on an H200, with all rows as with 1.5 % of them; a
 * plain copy at 54.8. Newton reads the rows of 256 bins twice, half of the codes each time, in
 * blocks that run side by side: the second reading may be met by the L2 cache.
 *
 * Shapes and decomposition: hist_lanes.cu's. */
#include <cuda_runtime.h>

#include "gpu/hist/hist_lanes_far.cuh"
#include "gpu/hist/hist_lanes_kernel.cuh"

cudaError_t rw_cuda_lanes_far(const struct rw_hist_call *call, const struct layout &layout,
                              const struct far_plan &far, cudaStream_t stream)
{
    return launch_bits(call, layout, far, stream);
}
