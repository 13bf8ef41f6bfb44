/* The launch of methods that have one histogram a block, in shared memory. */
#ifndef RW_GPU_HIST_SHARED_LAUNCH_CUH
#define RW_GPU_HIST_SHARED_LAUNCH_CUH

#include "gpu/hist_block.cuh"
#include "gpu/tuning.h"

typedef void (*hist_kernel_fn)(const struct rw_hist_args a);

/* A block a (job, feature), with bin_words words of shared memory a bin; under 48 KiB. kernel: for
 * codes of 4, 8 and 16 bits. */
static inline int hist_shared_launch(const struct rw_hist_args *args,
                                     const hist_kernel_fn (&kernel)[3], uint32_t bin_words,
                                     cudaStream_t stream)
{
    const unsigned grid = rw_hist_n_jobs(args) * args->n_features;
    const size_t bytes = args->n_bins * sizeof(uint32_t) * bin_words;
    const hist_kernel_fn of_bits = kernel[args->bits == 4 ? 0 : args->bits == 8 ? 1 : 2];
    of_bits<<<grid, RW_TUNE_COLLISION_THREADS, bytes, stream>>>(*args);
    return cudaGetLastError();
}

#endif
