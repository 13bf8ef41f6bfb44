/* `global-atomic`: every document adds to the result in global memory.
 *
 * Why: the straightforward mapping that the documents start from (weighted histogramming, section
 * 4.1; the naive code of privatized histograms): the baseline of the contention table, never a
 * choice. Documents of one code queue at one address of the L2 cache.
 *
 * Shapes: columns [n_features][column_words]; result [n_nodes][n_features][n_bins].
 *
 * Decomposition: a block a (job, feature), see hist_block.cuh; threads over words of codes, or over
 * places of the list. */
#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

template <int BITS, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_GLOBAL_ATOMIC_THREADS)
    hist_global_kernel(const __grid_constant__ struct rw_hist_args a)
{
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const size_t row = hist_row(a, work);
    hist_visit<BITS, SUMS, 1>(a, work, work.lo, work.hi, [&](uint32_t code, struct hist_item item) {
        atomicAdd(a.d_count + row + code, 1u);
        if (hist_has_lambda(SUMS))
            hist_add_wide(a.d_lambda_sum + row + code, item.lambda);
        if (SUMS == RW_HIST_NEWTON)
            hist_add_wide(a.d_weight_sum + row + code, item.weight);
        if (SUMS == RW_HIST_FLOAT)
            atomicAdd(a.d_float_sum + row + code, item.value);
    });
}

template <int SUMS> static int launch(const struct rw_hist_args *args, cudaStream_t stream)
{
    const unsigned grid = rw_hist_n_jobs(args) * args->n_features;
    const unsigned threads = RW_TUNE_GLOBAL_ATOMIC_THREADS;
    if (args->bits == 4)
        hist_global_kernel<4, SUMS><<<grid, threads, 0, stream>>>(*args);
    else if (args->bits == 8)
        hist_global_kernel<8, SUMS><<<grid, threads, 0, stream>>>(*args);
    else
        hist_global_kernel<16, SUMS><<<grid, threads, 0, stream>>>(*args);
    return cudaGetLastError();
}

static int run(const struct rw_hist_call *call, void *stream)
{
    static const rw_hist_launch_fn launches[] = RW_HIST_ALL_SUMS(launch);
    return rw_cuda_hist_in_place(call, launches, (cudaStream_t)stream);
}

const struct rw_hist_method rw_hist_global_atomic = {
    "global-atomic",
    "weighted histogramming 4.1; privatized histograms, naive code",
    4 | 8 | 16,
    1024,
    1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON | 1u << RW_HIST_FLOAT,
    1,
    1,
    1,
    0,
    rw_hist_derive_bytes,
    run,
    /* by_place */ 0,
    /* subtracts */ 0,
    /* leaves_clean */ 0,
    /* is_baseline */ 1,
};
