/* Why: a histogram that fits shared memory, M times over if it can, is updated there: Henriksen et
 * al., Figure 4 and section III-C. More bins than fit take S passes over the elements.
 *
 * Shapes: index [n_out][n]; shared [bins of a pass][M] cells: the copies of a bin lie side by side,
 * so that with M a multiple of 32 every lane of a warp keeps to its own bank, and with a smaller
 * power of two to its own 32 / M ... ones; the document's order, [M][bins], leaves that to chance.
 * Parts in scratch [n_out][K][n_bins], or the result itself if K is 1.
 *
 * Decomposition: grid (histogram, group of its K, pass), the pass running fastest: the S blocks of
 * a group read the same elements at about the same time, so that S - 1 of them find these in L2.
 * Thread t adds to copy t % M. A second kernel merges the parts of the K groups. */
#include "lab/kernels/generalized_block.cuh"

enum { GEN_PLAIN_BYTES = 48 * 1024 }; /* of shared memory that need not be asked for */

template <class OP>
__device__ __forceinline__ void gen_fold(const void *memory, uint32_t n, uint32_t m,
                                         uint32_t n_here, typename OP::value *d_to)
{
    enum { LANES = 32 };
    typedef typename OP::value value;
    /* As many lanes a bin as there are threads and copies for, a power of two: few bins take whole
     * warps, and many take no shuffles. The lanes begin at copies apart, in different banks. */
    uint32_t lanes = LANES;
    while (lanes > 1 && (lanes > m || lanes * n_here > blockDim.x))
        lanes /= 2;
    const uint32_t lane = threadIdx.x % lanes, step = blockDim.x / lanes;
    /* all lanes of a warp go round together */
    const uint32_t bins_of_warp = LANES / lanes, n_up = (n_here + bins_of_warp - 1) / bins_of_warp;
    for (uint32_t b = threadIdx.x / lanes; b < n_up * bins_of_warp; b += step) {
        value sum = OP::neutral();
        if (b < n_here) {
            const uint32_t first = b * lanes % m;
#pragma unroll 4
            for (uint32_t j = lane; j < m; j += lanes) {
                const uint32_t c = first + j < m ? first + j : first + j - m;
                sum = OP::combine(sum, OP::shared_read(memory, n, b * m + c));
            }
        }
        for (uint32_t half = lanes / 2; half > 0; half /= 2)
            sum = OP::combine(sum, __shfl_xor_sync(0xffffffffu, sum, half));
        if (lane == 0 && b < n_here)
            d_to[b] = sum;
    }
}

template <class OP, int SOURCE>
__global__ void __launch_bounds__(RW_TUNE_MULTI_THREADS)
    gen_shared_kernel(const __grid_constant__ struct gen_args a)
{
    extern __shared__ uint4 memory[];
    const uint32_t pass = blockIdx.x % a.passes;
    const uint32_t group = blockIdx.x / a.passes % a.groups;
    const uint32_t hist = blockIdx.x / a.passes / a.groups;
    const uint32_t first = pass * a.pass_cells;
    const uint32_t left = a.n_cells - first;
    const uint32_t n_here = left < a.pass_cells ? left : a.pass_cells;
    const uint32_t n = a.pass_cells * a.m; /* cells of shared memory */
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
        OP::shared_clear(memory, n, i);
    __syncthreads();
    const uint32_t copy = threadIdx.x % a.m, m = a.m;
    const uint64_t worker = (uint64_t)group * blockDim.x + threadIdx.x;
    const uint64_t n_workers = (uint64_t)a.groups * blockDim.x;
    constexpr int UNROLL = SOURCE == GEN_ONES                ? RW_TUNE_MULTI_UNROLL
                           : sizeof(typename OP::input) == 4 ? RW_TUNE_MULTI_VALUES_UNROLL
                                                             : RW_TUNE_MULTI_VALUES_UNROLL / 2;
    gen_visit<OP, SOURCE, UNROLL, true>(a, hist, worker, n_workers,
                                        [&](uint32_t at, typename OP::value v) {
                                            const uint32_t b = at - first; /* wraps below `first` */
                                            if (b < n_here)
                                                OP::shared_update(memory, n, b * m + copy, v);
                                        });
    __syncthreads();
    typename OP::value *const d_to =
        (typename OP::value *)a.d_cell + ((uint64_t)hist * a.groups + group) * a.n_cells + first;
    gen_fold<OP>(memory, n, m, n_here, d_to);
}

template <class OP, int SOURCE>
static int launch(const struct rw_gen_call *call, cudaStream_t stream)
{
    struct gen_args a = gen_args_of(call);
    const size_t bytes = (size_t)a.pass_cells * a.m * OP::SHARED_BYTES;
    const uint64_t blocks = (uint64_t)call->n_out * a.groups * a.passes;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    a.d_cell = a.groups > 1 ? call->d_scratch : call->d_out;
    cudaError_t error = cudaSuccess;
    if (bytes > GEN_PLAIN_BYTES)
        error = cudaFuncSetAttribute(gen_shared_kernel<OP, SOURCE>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return error;
    gen_shared_kernel<OP, SOURCE>
        <<<(unsigned)blocks, (unsigned)call->plan.threads, bytes, stream>>>(a);
    error = cudaGetLastError();
    if (error != cudaSuccess || a.groups == 1)
        return error;
    return gen_merge<OP, false>(call->d_scratch, call->d_out, (uint64_t)call->n_out * a.n_cells,
                                a.n_cells, a.groups, stream);
}

extern "C" int rw_cuda_gen_shared(const struct rw_gen_call *call, void *stream)
{
    return gen_dispatch(call, [&](auto of) {
        return launch<typename decltype(of)::OP, decltype(of)::SOURCE>(call, (cudaStream_t)stream);
    });
}
