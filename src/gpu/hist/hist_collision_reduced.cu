/* `collision-reduced`: a small hash buffer a thread in front of the block's shared histogram.
 *
 * Why: weighted histogramming, section 4.4 and Algorithm 2: documents of one code are first added
 * up in the thread's own buffer, and neighbouring threads hold one code in different rows, so that
 * a warp that empties its buffers seldom meets in one cell. For clustered data and the documents'
 * floats. Algorithm 2 as printed loses lambdas (line 28 must add), shifts by the wrong amount (line
 * 24) and cuts the count; here it is as meant.
 *
 * Shapes: buffers [N_BUFFER][threads] of (code << 16 | count) and of each other sum, then the
 * histogram [sums][n_bins], all of 32 bits; result [n_nodes][n_features][n_bins].
 *
 * Decomposition: a block a (job, feature), so that a job's histogram is a sub-histogram of its
 * node's; these are added up in the result. A thread empties its buffers after N_BUFFER documents
 * of its own: so many always find a free place. No barrier is needed for that, as a buffer is one
 * thread's.
 *
 * The kernel, and N_buffer and N_warp by bins: hist_reduced.cuh. */
#include "gpu/hist/hist_reduced.cuh"

template <int SUMS> static int launch(const struct rw_hist_args *args, cudaStream_t stream)
{
    const unsigned grid = rw_hist_n_jobs(args) * args->n_features;
    const uint32_t n_bins = args->n_bins;
    const int n_warps = hist_reduced_warps(n_bins), n_buffer = hist_reduced_buffer(n_bins);
    const unsigned threads = 32 * (unsigned)n_warps;
    /* at most 3 * 4 * (16 * 192 + 1024) = 49,152 bytes: what a block has without asking */
    const size_t bytes =
        hist_reduced_bytes((unsigned)n_warps, (unsigned)n_buffer, n_bins, hist_words(SUMS));
    if (n_buffer == 5)
        hist_reduced_kernel<5, SUMS><<<grid, threads, bytes, stream>>>(*args);
    else if (n_buffer == 8)
        hist_reduced_kernel<8, SUMS><<<grid, threads, bytes, stream>>>(*args);
    else if (n_buffer == 16)
        hist_reduced_kernel<16, SUMS><<<grid, threads, bytes, stream>>>(*args);
    else
        hist_reduced_kernel<10, SUMS><<<grid, threads, bytes, stream>>>(*args);
    return cudaGetLastError();
}

static int run(const struct rw_hist_call *call, void *stream)
{
    static const rw_hist_launch_fn launches[] = RW_HIST_ALL_SUMS(launch);
    return rw_cuda_hist_in_place(call, launches, (cudaStream_t)stream);
}

const struct rw_hist_method rw_hist_collision_reduced = {
    "collision-reduced",
    "weighted histogramming 4.4, Algorithm 2 corrected",
    4 | 8 | 16,
    1024,
    1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON | 1u << RW_HIST_FLOAT,
    1,
    1,
    1,
    0,
    rw_hist_derive_bytes,
    run,
};
