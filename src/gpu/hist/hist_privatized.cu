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

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_privatized_kernel);
    return hist_shared_launch(args, kernel[hist_width(call)][call->sums],
                              hist_words(call->sums) + 1);
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_whole(call, launch_of, stream);
}

const struct rw_hist_method rw_hist_privatized = {
    .name = "privatized",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = RW_HIST_ANY_SUMS,
    .zero_skip = 1,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
    .subtracts = 1,
};
