/* Why: a histogram too large for shared memory is updated in global memory, where L2 has it:
 * Henriksen et al., section III-D. M copies spread the updates of a bin; S passes, one launch after
 * another, keep the bins of one within L2.
 *
 * Shapes: index [n_out][n]; cells [n_out * n_bins][M], the copies of a bin side by side, so that
 * few active bins fill their lines; or, for the hardware's atomics, [M][n_out * n_bins]: those wait
 * for one another by the line, and copies in one line would be of no use. They are the result
 * itself if M is 1. A lock a cell, apart.
 *
 * Decomposition: grid (histogram, group of its K); thread t of the grid adds to copy t % M. Kernels
 * before and after clear the cells and merge the copies. */
#include "lab/kernels/generalized_block.cuh"

enum { GEN_CLEAR_THREADS = 256 };
/* A multiprocessor's 2,048 threads at once, as the plan counts them: with more than 32 registers
 * each (argmax took 36 and 40) the last blocks would run in a second wave. nvcc 13, sm_90: argmax
 * spills 16 bytes, 64-bit sums of values 68, 32-bit ones 12, all others none. */
enum { GEN_FULL_BLOCKS = 2048 / RW_TUNE_MULTI_GLOBAL_THREADS };

template <class OP>
__global__ void __launch_bounds__(GEN_CLEAR_THREADS)
    gen_clear_kernel(typename OP::value *d_cell, uint32_t *d_lock, uint64_t n)
{
    const uint64_t step = (uint64_t)gridDim.x * GEN_CLEAR_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * GEN_CLEAR_THREADS + threadIdx.x; i < n; i += step) {
        d_cell[i] = OP::neutral();
        if (OP::LOCKED)
            d_lock[i] = 0;
    }
}

template <class OP, int SOURCE>
__global__ void __launch_bounds__(RW_TUNE_MULTI_GLOBAL_THREADS, GEN_FULL_BLOCKS)
    gen_global_kernel(const __grid_constant__ struct gen_args a)
{
    const uint32_t group = blockIdx.x % a.groups, hist = blockIdx.x / a.groups;
    const uint32_t left = a.n_cells - a.first_cell;
    const uint32_t n_here = left < a.pass_cells ? left : a.pass_cells;
    const uint64_t row = (uint64_t)hist * a.n_cells;
    const uint64_t worker = (uint64_t)group * blockDim.x + threadIdx.x;
    const uint64_t n_workers = (uint64_t)a.groups * blockDim.x;
    const uint32_t copy = (uint32_t)(((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) % a.m);
    const uint64_t copy_first = copy * a.copy_step;
    typename OP::value *const d_cell = (typename OP::value *)a.d_cell;
    gen_visit<OP, SOURCE, RW_TUNE_MULTI_GLOBAL_UNROLL, false>(
        a, hist, worker, n_workers, [&](uint32_t at, typename OP::value v) {
            if (at - a.first_cell < n_here) { /* wraps below the pass */
                const uint64_t cell = (row + at) * a.bin_step + copy_first;
                OP::global_update(d_cell + cell, OP::LOCKED ? a.d_lock + cell : NULL, v);
            }
        });
}

template <class OP, int SOURCE>
static int launch(const struct rw_gen_call *call, cudaStream_t stream)
{
    typedef typename OP::value value;
    struct gen_args a = gen_args_of(call);
    const uint64_t n_cells = (uint64_t)call->n_out * a.n_cells, n = n_cells * a.m;
    const uint64_t blocks = (uint64_t)call->n_out * a.groups;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    const bool apart = call->strategy == RW_MULTI_HARDWARE;
    a.bin_step = apart ? 1 : a.m;
    a.copy_step = apart ? n_cells : 1;
    size_t used = 0;
    a.d_cell = call->d_out;
    if (a.m > 1) {
        a.d_cell = call->d_scratch;
        used = (n * sizeof(value) + 255) / 256 * 256;
    }
    if (OP::LOCKED)
        a.d_lock = (uint32_t *)((char *)call->d_scratch + used);
    const uint64_t clear = (n + GEN_CLEAR_THREADS - 1) / GEN_CLEAR_THREADS;
    gen_clear_kernel<OP>
        <<<(unsigned)(clear < 65536 ? clear : 65536), GEN_CLEAR_THREADS, 0, stream>>>(
            (value *)a.d_cell, a.d_lock, n);
    cudaError_t error = cudaGetLastError();
    for (uint32_t pass = 0; pass < a.passes && error == cudaSuccess; pass++) {
        a.first_cell = pass * a.pass_cells;
        gen_global_kernel<OP, SOURCE>
            <<<(unsigned)blocks, (unsigned)call->plan.threads, 0, stream>>>(a);
        error = cudaGetLastError();
    }
    if (error != cudaSuccess || a.m == 1)
        return error;
    if (apart) /* n_cells < 2^31 */
        return gen_merge<OP, false>(a.d_cell, call->d_out, n_cells, (uint32_t)n_cells, a.m, stream);
    return gen_merge<OP, true>(a.d_cell, call->d_out, n_cells, 1, a.m, stream);
}

extern "C" int rw_cuda_gen_global(const struct rw_gen_call *call, void *stream)
{
    return gen_dispatch(call, [&](auto of) {
        return launch<typename decltype(of)::OP, decltype(of)::SOURCE>(call, (cudaStream_t)stream);
    });
}
