/* `sort-search` over raw values: sort, then search for the bins' bounds among what is sorted.
 *
 * Why: Milic et al., "Parallelizing general histogram application for CUDA architectures", section
 * III-C and Listing 3: no atomics, so no distribution is bad; any number of bins; no shared memory.
 * Weights travel with their values; the sums are differences of their prefix sums.
 *
 * Shapes: sorted keys [n]; bounds [n_bins + 1]: how many come before each edge; with weights their
 * prefix sums [n]; result [n_bins] of 64 bits.
 *
 * Decomposition: CUB's radix sort and scan; then a thread an edge, then a thread a bin. A masked
 * input is copied first, what is left out made the largest key and its weight 0; as many of the
 * largest keys are then no values. */
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda/std/limits>
#include <thrust/iterator/transform_iterator.h>

#include "lab/kernels/values_block.cuh"

enum { SORT_SEARCH_THREADS = 256 };
enum { BLOCKS = 16 }; /* a multiprocessor, of the kernels around the sort; a first guess */

static unsigned blocks_for(uint64_t n, const int n_multiprocessors)
{
    const uint64_t most = (uint64_t)n_multiprocessors * BLOCKS;
    const uint64_t blocks = (n + SORT_SEARCH_THREADS - 1) / SORT_SEARCH_THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

struct widen {
    __host__ __device__ __forceinline__ long long operator()(int32_t weight) const
    {
        return weight;
    }
};

/* Inclusive sums of 32-bit weights; `bytes` is asked for when d_temp is NULL. */
static cudaError_t scan(void *d_temp, size_t &bytes, const int32_t *d_weight, long long *d_prefix,
                        uint64_t n, cudaStream_t stream)
{
    const auto wide = thrust::make_transform_iterator(d_weight, widen());
    return cub::DeviceScan::InclusiveSum(d_temp, bytes, wide, d_prefix, n, stream);
}

/* An order in which comparisons of keys are comparisons of values: -0 is +0; NaNs, which no edge
 * is, come before -infinity or after +infinity. */
__device__ __forceinline__ int32_t ordered(int32_t x)
{
    return x;
}
__device__ __forceinline__ int32_t ordered(float x)
{
    const int32_t bits = __float_as_int(x == 0.0f ? 0.0f : x);
    return bits < 0 ? bits ^ INT32_MAX : bits;
}
__device__ __forceinline__ long long ordered(double x)
{
    const long long bits = __double_as_longlong(x == 0.0 ? 0.0 : x);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* What sorts after everything. */
template <class T> __device__ __forceinline__ T largest_key(void)
{
    return cuda::std::numeric_limits<T>::max();
}
template <> __device__ __forceinline__ float largest_key<float>(void)
{
    return __int_as_float(INT32_MAX);
}
template <> __device__ __forceinline__ double largest_key<double>(void)
{
    return __longlong_as_double(INT64_MAX);
}

template <class T>
__global__ void __launch_bounds__(SORT_SEARCH_THREADS)
    values_mask_kernel(const __grid_constant__ struct values_args a, T *d_key, int32_t *d_weight,
                       unsigned long long *d_n_left)
{
    using reduce = cub::BlockReduce<unsigned long long, SORT_SEARCH_THREADS>;
    __shared__ typename reduce::TempStorage shared;
    const uint64_t step = (uint64_t)gridDim.x * SORT_SEARCH_THREADS;
    unsigned long long n_left = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * SORT_SEARCH_THREADS + threadIdx.x; i < a.n;
         i += step) {
        const bool in = a.d_mask[i] != 0;
        d_key[i] = in ? ((const T *)a.d_value)[i] : largest_key<T>();
        if (d_weight)
            d_weight[i] = in ? a.d_weight[i] : 0;
        n_left += in ? 1 : 0;
    }
    n_left = reduce(shared).Sum(n_left);
    if (threadIdx.x == 0 && n_left > 0)
        atomicAdd(d_n_left, n_left);
}

/* How many of the sorted keys come before the edge; with `through`, before or at it. */
template <class T, class E>
__device__ __forceinline__ uint64_t bound_of(const T *d_key, uint64_t n, E edge, bool through)
{
    const auto wanted = ordered(edge);
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const auto key = ordered((E)d_key[middle]);
        if (key < wanted || (through && key == wanted))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A range moves an edge outside of it to its end, so that bins keep what is in both. */
template <class T>
__global__ void __launch_bounds__(SORT_SEARCH_THREADS)
    values_bounds_kernel(const __grid_constant__ struct values_args a, const T *d_key,
                         uint64_t *d_bound)
{
    using E = values_edge<T>;
    E lo, hi;
    values_number(a.lo, &lo);
    values_number(a.hi, &hi);
    const uint64_t step = (uint64_t)gridDim.x * SORT_SEARCH_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * SORT_SEARCH_THREADS + threadIdx.x; i <= a.n_bins;
         i += step) {
        E edge = ((const E *)a.d_edge)[i];
        bool through = a.last_closed && i == a.n_bins;
        if (a.has_range && lo < hi) {
            through = through && edge >= lo && edge < hi;
            edge = edge < lo ? lo : edge < hi ? edge : hi;
        } else if (a.has_range) {
            through = false; /* nothing is in the range: all bounds are one */
            edge = ((const E *)a.d_edge)[0];
        }
        d_bound[i] = bound_of(d_key, a.n, edge, through);
    }
}

/* Places from *d_n_left on count as none; the weights of what was left out are 0 wherever it lies.
 */
__global__ void __launch_bounds__(SORT_SEARCH_THREADS)
    values_difference_kernel(const __grid_constant__ struct values_args a, const uint64_t *d_bound,
                             const unsigned long long *d_n_left, const long long *d_prefix)
{
    const uint64_t n = d_n_left ? *d_n_left : a.n;
    const uint64_t step = (uint64_t)gridDim.x * SORT_SEARCH_THREADS;
    for (uint64_t b = (uint64_t)blockIdx.x * SORT_SEARCH_THREADS + threadIdx.x; b < a.n_bins;
         b += step) {
        const uint64_t from = d_bound[b], to = d_bound[b + 1];
        const uint64_t end = to < n ? to : n;
        if (from >= end)
            continue;
        /* atomic: another call may be adding to the same result */
        atomicAdd(a.d_count + b, (unsigned long long)(end - from));
        if (d_prefix) {
            const long long sum = d_prefix[to - 1] - (from > 0 ? d_prefix[from - 1] : 0);
            atomicAdd(a.d_sum + b, (unsigned long long)sum);
        }
    }
}

/* Consecutive parts of a scratch memory. base NULL: only computes the size. */
struct sort_search_layout {
    char *base;
    size_t bytes; /* taken so far */
};

/* Returns the address of the next n elements; NULL if the layout has no base. */
template <class P> static P *sort_search_take(struct sort_search_layout *at, uint64_t n)
{
    char *const p = at->base ? at->base + at->bytes : NULL;
    at->bytes += rw_hist_round_up(n * sizeof(P));
    return (P *)p;
}

template <class T> struct value_parts {
    T *d_sorted, *d_masked;
    int32_t *d_weight, *d_masked_weight;
    long long *d_prefix;
    uint64_t *d_bound;
    unsigned long long *d_n_left;
    void *d_temp;
    size_t temp_bytes, bytes;
};

template <class T>
static struct value_parts<T> parts_of(const struct rw_values_call *call, void *d_scratch) {
    struct value_parts<T> p = {
    };
    struct sort_search_layout at = {(char *)d_scratch, 0};
    const uint64_t n = call->n;
    const bool weighted = call->d_weight != NULL, masked = call->d_mask != NULL;
    p.d_bound = sort_search_take<uint64_t>(&at, (uint64_t)call->n_bins + 1);
    p.d_n_left = sort_search_take<unsigned long long>(&at, 1);
    p.d_sorted = sort_search_take<T>(&at, n);
    if (masked)
        p.d_masked = sort_search_take<T>(&at, n);
    if (weighted) {
        p.d_weight = sort_search_take<int32_t>(&at, n);
        p.d_prefix = sort_search_take<long long>(&at, n);
        if (masked)
            p.d_masked_weight = sort_search_take<int32_t>(&at, n);
        size_t scan_bytes = 0;
        (void)cub::DeviceRadixSort::SortPairs(NULL, p.temp_bytes, (const T *)NULL, (T *)NULL,
                                              (const int32_t *)NULL, (int32_t *)NULL, n);
        (void)scan(NULL, scan_bytes, NULL, NULL, n, NULL);
        p.temp_bytes = p.temp_bytes < scan_bytes ? scan_bytes : p.temp_bytes;
    } else {
        (void)cub::DeviceRadixSort::SortKeys(NULL, p.temp_bytes, (const T *)NULL, (T *)NULL, n);
    }
    p.d_temp = sort_search_take<char>(&at, p.temp_bytes);
    p.bytes = at.bytes;
    return p;
}

template <class T>
static cudaError_t sort_values(const struct rw_values_call *call, struct value_parts<T> *p,
                               cudaStream_t stream)
{
    const T *d_key = p->d_masked ? p->d_masked : (const T *)call->d_value;
    const int32_t *d_weight = p->d_masked_weight ? p->d_masked_weight : call->d_weight;
    if (!call->d_weight)
        return cub::DeviceRadixSort::SortKeys(p->d_temp, p->temp_bytes, d_key, p->d_sorted, call->n,
                                              0, (int)sizeof(T) * 8, stream);
    const cudaError_t error =
        cub::DeviceRadixSort::SortPairs(p->d_temp, p->temp_bytes, d_key, p->d_sorted, d_weight,
                                        p->d_weight, call->n, 0, (int)sizeof(T) * 8, stream);
    if (error != cudaSuccess)
        return error;
    return scan(p->d_temp, p->temp_bytes, p->d_weight, p->d_prefix, call->n, stream);
}

template <class T> static int run_type(const struct rw_values_call *call, cudaStream_t stream)
{
    struct value_parts<T> p = parts_of<T>(call, call->d_scratch);
    const struct values_args a = values_args_of(call);
    cudaError_t error;
    if (call->d_mask) {
        error = cudaMemsetAsync(p.d_n_left, 0, sizeof *p.d_n_left, stream);
        if (error != cudaSuccess)
            return error;
        values_mask_kernel<T>
            <<<blocks_for(call->n, call->n_multiprocessors), SORT_SEARCH_THREADS, 0, stream>>>(
                a, p.d_masked, p.d_masked_weight, p.d_n_left);
        error = cudaGetLastError();
        if (error != cudaSuccess)
            return error;
    }
    error = sort_values<T>(call, &p, stream);
    if (error != cudaSuccess)
        return error;
    const unsigned blocks = blocks_for((uint64_t)call->n_bins + 1, call->n_multiprocessors);
    values_bounds_kernel<T><<<blocks, SORT_SEARCH_THREADS, 0, stream>>>(a, p.d_sorted, p.d_bound);
    error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    values_difference_kernel<<<blocks, SORT_SEARCH_THREADS, 0, stream>>>(
        a, p.d_bound, call->d_mask ? p.d_n_left : NULL, call->d_weight ? p.d_prefix : NULL);
    return cudaGetLastError();
}

static size_t values_bytes(const struct rw_values_call *call)
{
    switch (call->type) {
    case RW_VALUES_U8:
        return parts_of<uint8_t>(call, NULL).bytes;
    case RW_VALUES_U16:
        return parts_of<uint16_t>(call, NULL).bytes;
    case RW_VALUES_I32:
        return parts_of<int32_t>(call, NULL).bytes;
    case RW_VALUES_F32:
        return parts_of<float>(call, NULL).bytes;
    case RW_VALUES_F64:
        return parts_of<double>(call, NULL).bytes;
    default:
        return 0;
    }
}

static int run_values(const struct rw_values_call *call, void *stream)
{
    cudaStream_t const on = (cudaStream_t)stream;
    const int status = values_clear(call, on);
    if (status != cudaSuccess || call->n == 0)
        return status;
    switch (call->type) {
    case RW_VALUES_U8:
        return run_type<uint8_t>(call, on);
    case RW_VALUES_U16:
        return run_type<uint16_t>(call, on);
    case RW_VALUES_I32:
        return run_type<int32_t>(call, on);
    case RW_VALUES_F32:
        return run_type<float>(call, on);
    case RW_VALUES_F64:
        return run_type<double>(call, on);
    default:
        return cudaErrorInvalidValue;
    }
}

const struct rw_values_method rw_values_sort_search = {
    "sort-search", "general histogram III-C", 0, values_bytes, run_values,
};
