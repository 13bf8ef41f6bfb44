/* `privatized`: a histogram a block in shared memory, the bin found by binary search over the
 * edges.
 *
 * Why: Milic et al., "Parallelizing general histogram application for CUDA architectures", section
 * III-B and Listing 2: edges of any width, so the bin cannot be computed. Privatisation, range
 * tests where the private part is too small for all bins, and the two partitions of the input are
 * from "Parallel computation patterns (histogram)".
 *
 * Shapes: values [n]; edges [n_bins + 1]; shared: lower edges [pass_bins], counts [pass_bins], and
 * with weights the sums' low and high words [pass_bins]; result [n_bins] of 64 bits. Values of 8
 * bits are counted by value, 256 counters whatever the bins, and put into bins when a block is
 * done.
 *
 * Decomposition: grid (blocks, passes). A pass has its own bins and looks at all values, leaving
 * out those of other passes. Interleaved: a thread takes 16 bytes of values, then those one grid
 * further; sectioned: a thread takes one run of values, one by one. A block sees under 2^32 values,
 * so that its counts hold them; sums of weights carry into a high word, so that they hold
 * anything. */
#include <string.h>

#include "lab/kernels/lab_tuning.h"
#include "lab/kernels/values_block.cuh"

enum { MOST_THREADS = 1024, BYTE_VALUES = 256 };

/* Returns the first step of rw_edge_search over n edges: the largest power of 2 below n; 0 if n is
 * 1. */
__host__ __device__ __forceinline__ uint32_t rw_edge_top(uint32_t n)
{
    uint32_t top = 0;
    for (uint32_t step = 1; step < n; step *= 2)
        top = step;
    return top;
}

/* Returns the index of the last of n ascending edges that is at most x; edge[0] must be at most x.
 * top: rw_edge_top(n). Every thread takes the same number of steps, so the lanes of a warp do not
 * diverge. */
template <class E>
__device__ __forceinline__ uint32_t rw_edge_search(const E *edge, uint32_t n, uint32_t top, E x)
{
    uint32_t at = 0;
    for (uint32_t step = top; step > 0; step /= 2)
        if (at + step < n && edge[at + step] <= x)
            at += step;
    return at;
}

struct private_hist {
    uint32_t *count, *low, *high; /* the sum is high * 2^32 + low, modulo 2^64 */
};

__device__ __forceinline__ struct private_hist private_at(uint32_t *memory, uint32_t n)
{
    struct private_hist hist;
    hist.count = memory;
    hist.low = memory + n;
    hist.high = memory + 2 * n;
    return hist;
}

template <bool WEIGHTED>
__device__ __forceinline__ void private_clear(const struct private_hist &hist, uint32_t n)
{
    for (uint32_t b = threadIdx.x; b < n * (WEIGHTED ? 3 : 1); b += blockDim.x)
        hist.count[b] = 0;
}

/* Native 32-bit atomics; the high word is touched when the low one wraps. */
template <bool WEIGHTED>
__device__ __forceinline__ void private_add(const struct private_hist &hist, uint32_t b,
                                            int32_t weight)
{
    atomicAdd(hist.count + b, 1u);
    if (WEIGHTED) {
        const uint32_t w = (uint32_t)weight;
        const uint32_t before = atomicAdd(hist.low + b, w);
        const uint32_t carry = before + w < before ? 1u : 0u;
        const uint32_t high = (weight < 0 ? UINT32_MAX : 0u) + carry;
        if (high != 0)
            atomicAdd(hist.high + b, high);
    }
}

template <bool WEIGHTED>
__device__ __forceinline__ void private_drain(const struct private_hist &hist, uint32_t b,
                                              const struct values_args &a, uint32_t bin)
{
    if (hist.count[b] == 0)
        return;
    atomicAdd(a.d_count + bin, (unsigned long long)hist.count[b]);
    if (WEIGHTED)
        atomicAdd(a.d_sum + bin, ((unsigned long long)hist.high[b] << 32) + hist.low[b]);
}

/* add(x, weight) for every value that range and mask let through. No barrier inside. */
template <class T, bool WEIGHTED, class Add>
__device__ __forceinline__ void values_visit(const struct values_args &a, Add add)
{
    using E = values_edge<T>;
    constexpr int K = 16 / (int)sizeof(T), UNROLL = RW_TUNE_VALUES_UNROLL;
    const T *const value = (const T *)a.d_value;
    const uint64_t thread = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t n_threads = (uint64_t)gridDim.x * blockDim.x;
    E lo, hi;
    values_number(a.lo, &lo);
    values_number(a.hi, &hi);
    const auto one = [&](uint64_t i, T v) {
        const E x = (E)v;
        if (a.d_mask && !__ldg(a.d_mask + i))
            return;
        if (a.has_range && !(x >= lo && x < hi))
            return;
        add(x, WEIGHTED ? __ldg(a.d_weight + i) : 0);
    };
    if (a.sectioned) {
        const uint64_t section = (a.n + n_threads - 1) / n_threads;
        const uint64_t begin = thread * section;
        const uint64_t end = begin + section < a.n ? begin + section : a.n;
        for (uint64_t i = begin; i < end; i++)
            one(i, value[i]);
        return;
    }
    const uint4 *const word = (const uint4 *)(value + a.head);
    const uint64_t n_words = (a.n - a.head) / K;
    uint64_t w = thread;
    for (; w + (UNROLL - 1) * n_threads < n_words; w += UNROLL * n_threads) {
        T part[UNROLL][K];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const uint4 loaded = __ldg(word + w + u * n_threads);
            memcpy(part[u], &loaded, sizeof loaded);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int k = 0; k < K; k++)
                one(a.head + (w + u * n_threads) * K + k, part[u][k]);
    }
    for (; w < n_words; w += n_threads) {
        T part[K];
        const uint4 loaded = __ldg(word + w);
        memcpy(part, &loaded, sizeof loaded);
#pragma unroll
        for (int k = 0; k < K; k++)
            one(a.head + w * K + k, part[k]);
    }
    /* Fewer than K at either end, and a block has more threads. */
    if (thread < a.head)
        one(thread, value[thread]);
    const uint64_t last = a.head + n_words * K + thread;
    if (last < a.n)
        one(last, value[last]);
}

template <class T, bool WEIGHTED>
__global__ void __launch_bounds__(MOST_THREADS)
    values_privatized_kernel(const __grid_constant__ struct values_args a)
{
    using E = values_edge<T>;
    extern __shared__ __align__(16) unsigned char memory[];
    const uint32_t first = blockIdx.y * a.pass_bins;
    const uint32_t n = a.n_bins - first < a.pass_bins ? a.n_bins - first : a.pass_bins;
    const uint32_t top = rw_edge_top(n);
    const E *const d_edge = (const E *)a.d_edge + first;
    E *const edge = (E *)memory;
    const struct private_hist hist = private_at((uint32_t *)(edge + a.pass_bins), a.pass_bins);
    for (uint32_t b = threadIdx.x; b < n; b += blockDim.x)
        edge[b] = d_edge[b];
    private_clear<WEIGHTED>(hist, a.pass_bins);
    __syncthreads();
    const E begin = d_edge[0], end = d_edge[n];
    const bool closed = a.last_closed && first + n == a.n_bins;
    values_visit<T, WEIGHTED>(a, [&](E x, int32_t weight) {
        if (x >= begin && (x < end || (closed && x == end)))
            private_add<WEIGHTED>(hist, rw_edge_search(edge, n, top, x), weight);
    });
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < n; b += blockDim.x)
        private_drain<WEIGHTED>(hist, b, a, first + b);
}

template <bool WEIGHTED>
__global__ void __launch_bounds__(MOST_THREADS)
    values_bytes_kernel(const __grid_constant__ struct values_args a)
{
    __shared__ uint32_t memory[BYTE_VALUES * (WEIGHTED ? 3 : 1)];
    const struct private_hist hist = private_at(memory, BYTE_VALUES);
    const int32_t *const d_edge = (const int32_t *)a.d_edge;
    private_clear<WEIGHTED>(hist, BYTE_VALUES);
    __syncthreads();
    values_visit<uint8_t, WEIGHTED>(
        a, [&](int32_t x, int32_t weight) { private_add<WEIGHTED>(hist, (uint32_t)x, weight); });
    __syncthreads();
    const int32_t begin = d_edge[0], end = d_edge[a.n_bins];
    for (int32_t x = (int32_t)threadIdx.x; x < BYTE_VALUES; x += (int32_t)blockDim.x)
        if (x >= begin && (x < end || (a.last_closed && x == end)))
            private_drain<WEIGHTED>(hist, (uint32_t)x, a,
                                    rw_edge_search(d_edge, a.n_bins, rw_edge_top(a.n_bins), x));
}

/* Blocks of a multiprocessor, as many as its shared memory holds; fewer of them are wider. A block
 * takes so many values that clearing and draining its n_cells is little beside them. */
static void shape(const struct rw_values_call *call, size_t block_bytes, uint32_t n_cells,
                  unsigned *grid, unsigned *threads)
{
    const size_t reserved = 1024; /* that the system takes of a block's shared memory */
    const size_t most = (call->shared_bytes + reserved) / (block_bytes + reserved);
    const unsigned blocks = most > 8 ? 8 : most < 1 ? 1 : (unsigned)most;
    *threads = blocks <= 2 ? 1024 : blocks <= 4 ? 512 : 256;
    const uint64_t wanted = (uint64_t)blocks * (unsigned)call->n_multiprocessors;
    const uint64_t a_cell = (uint64_t)RW_TUNE_VALUES_A_CELL * n_cells;
    const uint64_t a_block = a_cell > RW_TUNE_VALUES_LEAST ? a_cell : RW_TUNE_VALUES_LEAST;
    const uint64_t useful = call->n / a_block + 1;
    const uint64_t least = (call->n >> 31) + 1; /* counts of a block have 32 bits */
    uint64_t n = wanted < useful ? wanted : useful;
    n = n < least ? least : n;
    *grid = (unsigned)n;
}

template <class T, bool WEIGHTED>
static int launch_passes(const struct rw_values_call *call, struct values_args *a,
                         cudaStream_t stream)
{
    const size_t bin_bytes = sizeof(values_edge<T>) + (WEIGHTED ? 3 : 1) * sizeof(uint32_t);
    const size_t room = call->shared_bytes / bin_bytes;
    if (room < 1)
        return cudaErrorInvalidValue;
    const uint64_t n_passes = (call->n_bins + room - 1) / room;
    a->pass_bins = (uint32_t)((call->n_bins + n_passes - 1) / n_passes);
    const unsigned passes = (call->n_bins + a->pass_bins - 1) / a->pass_bins;
    const size_t bytes = a->pass_bins * bin_bytes;
    unsigned grid, threads;
    shape(call, bytes, a->pass_bins, &grid, &threads);
    const cudaError_t error =
        cudaFuncSetAttribute(values_privatized_kernel<T, WEIGHTED>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess)
        return error;
    if (passes > 65535)
        return cudaErrorInvalidConfiguration;
    values_privatized_kernel<T, WEIGHTED><<<dim3(grid, passes), threads, bytes, stream>>>(*a);
    return cudaGetLastError();
}

template <bool WEIGHTED>
static int launch_values(const struct rw_values_call *call, struct values_args *a,
                         cudaStream_t stream)
{
    unsigned grid, threads;
    switch (call->type) {
    case RW_VALUES_U8:
        shape(call, BYTE_VALUES * sizeof(uint32_t) * 3, BYTE_VALUES, &grid, &threads);
        values_bytes_kernel<WEIGHTED><<<grid, threads, 0, stream>>>(*a);
        return cudaGetLastError();
    case RW_VALUES_U16:
        return launch_passes<uint16_t, WEIGHTED>(call, a, stream);
    case RW_VALUES_I32:
        return launch_passes<int32_t, WEIGHTED>(call, a, stream);
    case RW_VALUES_F32:
        return launch_passes<float, WEIGHTED>(call, a, stream);
    case RW_VALUES_F64:
        return launch_passes<double, WEIGHTED>(call, a, stream);
    default:
        return cudaErrorInvalidValue;
    }
}

static size_t no_scratch(const struct rw_values_call *)
{
    return 0;
}

static int run_values(const struct rw_values_call *call, void *stream)
{
    const int status = values_clear(call, (cudaStream_t)stream);
    if (status != cudaSuccess || call->n == 0)
        return status;
    struct values_args a = values_args_of(call);
    return call->d_weight ? launch_values<true>(call, &a, (cudaStream_t)stream)
                          : launch_values<false>(call, &a, (cudaStream_t)stream);
}

const struct rw_values_method rw_values_privatized = {
    "privatized", "general histogram III-B; parallel patterns, privatisation", 1, no_scratch,
    run_values,
};
