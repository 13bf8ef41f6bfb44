/* `privatized`: a histogram a block in shared memory, the bin found by binary search over the
 * edges.
 *
 * Why: Milic et al., "Parallelizing general histogram application for CUDA architectures", section
 * III-B and Listing 2: edges of any width, so the bin cannot be computed. Privatisation is from
 * "Parallel computation patterns (histogram)".
 *
 * Shapes: columns; shared [sums][n_bins] and the edges [n_bins]; result
 * [n_nodes][n_features][n_bins].
 *
 * Decomposition: a block a (job, feature), as in hist_block.cuh; it finds a code among the edges
 * 0 .. n_bins - 1 as if it were any value. */
#include "gpu/hist/edge_search.cuh"
#include "gpu/hist/hist_shared_job.cuh"

template <int BITS, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_HIST_WHOLE_THREADS)
    hist_privatized_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t words[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const struct hist_shared hist = hist_shared_at(words, a.n_bins);
    uint32_t *const edge = words + hist_words(SUMS) * a.n_bins;
    const uint32_t top = rw_edge_top(a.n_bins);
    for (uint32_t b = threadIdx.x; b < a.n_bins; b += blockDim.x)
        edge[b] = b;
    hist_shared_job<BITS, SUMS>(
        a, work, hist, [&](uint32_t code) { return rw_edge_search(edge, a.n_bins, top, code); });
}

template <int SUMS> static int launch(const struct rw_hist_args *args, cudaStream_t stream)
{
    static const hist_kernel_fn kernel[] = {hist_privatized_kernel<4, SUMS>,
                                            hist_privatized_kernel<8, SUMS>,
                                            hist_privatized_kernel<16, SUMS>};
    return hist_shared_launch(args, kernel, hist_words(SUMS) + 1, stream);
}

static int run(const struct rw_hist_call *call, void *stream)
{
    static const rw_hist_launch_fn launches[] = RW_HIST_ALL_SUMS(launch);
    return rw_cuda_hist_whole(call, launches, (cudaStream_t)stream);
}

const struct rw_hist_method rw_hist_privatized = {
    "privatized",
    "general histogram III-B; parallel patterns, privatisation",
    4 | 8 | 16,
    RW_HIST_MOST_BINS,
    1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON | 1u << RW_HIST_FLOAT,
    1,
    1,
    1,
    0,
    rw_hist_derive_bytes,
    run,
    /* by_place */ 0,
    /* subtracts */ 1,
};
