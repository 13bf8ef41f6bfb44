/* `sort-search` over codes: sorts them, then searches the sorted codes for the boundaries of cells.
 *
 * See Milic et al., "Parallelizing general histogram application for CUDA architectures", section
 * III-C and Listing 3. It has no atomics, so its speed does not depend on the distribution. For
 * values of any width see lab/kernels/values_sort_search.cu.
 *
 * Shapes: columns [n_features][column_words]; keys [features of the group][documents of all nodes].
 * The key of a document is the index of its cell among [n_nodes][features of the group][n_bins].
 * Each key has an item: the numbers of its document, which the sort moves with the key. Boundaries
 * are [cells of the group + 1], prefix sums are [keys], and the result is [n_nodes][n_cells].
 *
 * Decomposition: a group of features at a time, as many as RW_TUNE_SORT_SEARCH_DOCS allows, but at
 * least one. A block per job makes keys, CUB sorts and scans, a thread per cell searches, and a
 * thread per cell computes the differences. */
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/hist/hist_block.cuh"

/* The numbers that move with a key. */
template <int SUMS> struct code_item {
    int32_t number[hist_numbers(SUMS) ? hist_numbers(SUMS) : 1];
};

struct code_group {
    uint32_t first, n; /* features */
    uint64_t n_docs;   /* of all nodes */
};

/* Makes the keys of a block's documents, for each feature of the group. Within a feature, they
 * follow those of earlier nodes, and of earlier jobs of the node. */
template <int SUMS>
__global__ void __launch_bounds__(SORT_SEARCH_THREADS)
    codes_key_kernel(const __grid_constant__ struct rw_hist_args a, struct code_group group,
                     uint32_t *d_key, struct code_item<SUMS> *d_item)
{
    using reduce = cub::BlockReduce<unsigned long long, SORT_SEARCH_THREADS>;
    __shared__ typename reduce::TempStorage shared;
    __shared__ unsigned long long before_node;
    const struct hist_work work = hist_work_of(a, blockIdx.x, 1);
    unsigned long long before = 0;
    for (uint32_t i = threadIdx.x; i < work.node; i += SORT_SEARCH_THREADS)
        before += a.d_node[i].n;
    before = reduce(shared).Sum(before);
    if (threadIdx.x == 0)
        before_node = before;
    __syncthreads();
    const uint64_t at = before_node + (work.lo - a.d_node[work.node].first);
    for (uint64_t p = work.lo + threadIdx.x; p < work.hi; p += SORT_SEARCH_THREADS) {
        const uint64_t doc = a.d_list ? a.d_list[p] : p;
        const struct hist_item item = hist_item_at<SUMS>(a, doc);
        for (uint32_t f = 0; f < group.n; f++) {
            const uint32_t *const column = a.d_column + (group.first + f) * a.column_words;
            const uint32_t code = a.bits == 4   ? hist_code_at<4>(column, doc)
                                  : a.bits == 8 ? hist_code_at<8>(column, doc)
                                                : hist_code_at<16>(column, doc);
            const uint64_t to = f * group.n_docs + at + (p - work.lo);
            d_key[to] = (work.node * group.n + f) * a.n_bins + code;
            if constexpr (SUMS == RW_HIST_MART)
                d_item[to] = {item.number[0]};
            if constexpr (SUMS == RW_HIST_NEWTON)
                d_item[to] = {item.number[0], item.number[1]};
        }
    }
}

/* Returns the index of the first of n sorted keys that is at least `cell`; n if all are less. */
__device__ __forceinline__ uint64_t first_not_under(const uint32_t *d_key, uint64_t n,
                                                    uint32_t cell)
{
    uint64_t low = 0, high = n;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (d_key[middle] < cell)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the first key of each cell of the group, and the end of the last cell. */
__global__ void __launch_bounds__(SORT_SEARCH_THREADS)
    codes_bounds_kernel(const uint32_t *d_key, uint64_t n, uint32_t n_cells, uint64_t *d_bound)
{
    const uint64_t i = grid_first<SORT_SEARCH_THREADS>();
    if (i <= n_cells)
        d_bound[i] = i == n_cells ? n : first_not_under(d_key, n, (uint32_t)i);
}

/* Computes the counts (d_sum NULL) or one of the sums from the positions d_bound. Writes every cell
 * of the group. */
__global__ void __launch_bounds__(SORT_SEARCH_THREADS)
    codes_difference_kernel(const __grid_constant__ struct rw_hist_args a, struct code_group group,
                            const uint64_t *d_bound, const long long *d_prefix, void *d_sum)
{
    const uint32_t n_cells = a.jobs.n_nodes * group.n * a.n_bins;
    const uint64_t i = grid_first<SORT_SEARCH_THREADS>();
    if (i >= n_cells)
        return;
    const uint32_t cell = (uint32_t)i, row = cell / a.n_bins, bin = cell % a.n_bins;
    const uint32_t feature = group.first + row % group.n;
    if (bin >= hist_length(a, feature))
        return;
    const size_t out = (size_t)(row / group.n) * a.n_cells + hist_first(a, feature) + bin;
    const uint64_t from = d_bound[i], to = d_bound[i + 1];
    if (!d_sum)
        a.d_count[out] = (uint32_t)(to - from);
    else
        hist_set_sum(d_sum, out, a.narrow,
                     from < to ? d_prefix[to - 1] - (from > 0 ? d_prefix[from - 1] : 0) : 0);
}

template <int SUMS> struct number_of {
    int k;
    __host__ __device__ __forceinline__ long long
    operator()(const struct code_item<SUMS> &item) const
    {
        return item.number[k];
    }
};

/* Computes inclusive sums of the items' k-th number. If d_temp is NULL, it only returns the needed
 * `bytes`. */
template <int SUMS>
static cudaError_t scan_numbers(void *d_temp, size_t &bytes, const void *d_item, int k,
                                long long *d_prefix, uint64_t n, cudaStream_t stream)
{
    const auto number =
        thrust::make_transform_iterator((const struct code_item<SUMS> *)d_item, number_of<SUMS>{k});
    return cub::DeviceScan::InclusiveSum(d_temp, bytes, number, d_prefix, n, stream);
}

/* The scratch of a call, and the sizes of its parts. */
struct code_parts {
    uint32_t group; /* features per group */
    uint64_t n_docs;
    uint64_t *d_bound;
    uint32_t *d_key, *d_sorted;
    void *d_item, *d_sorted_item;
    long long *d_prefix;
    void *d_temp;
    size_t temp_bytes, bytes;
};

template <int SUMS>
static cudaError_t sort_codes(struct code_parts *p, uint64_t n, int bits, cudaStream_t stream)
{
    using V = struct code_item<SUMS>;
    if constexpr (SUMS == RW_HIST_COUNT)
        return cub::DeviceRadixSort::SortKeys(p->d_temp, p->temp_bytes, p->d_key, p->d_sorted, n, 0,
                                              bits, stream);
    else
        return cub::DeviceRadixSort::SortPairs(p->d_temp, p->temp_bytes, p->d_key, p->d_sorted,
                                               (const V *)p->d_item, (V *)p->d_sorted_item, n, 0,
                                               bits, stream);
}

template <int SUMS>
static struct code_parts code_parts_of(const struct rw_hist_call *call, void *d_scratch)
{
    using V = struct code_item<SUMS>;
    struct code_parts p = {};
    struct sort_search_layout at = {(char *)d_scratch, 0};
    const uint64_t most_cells = (uint64_t)1 << 31;
    p.n_docs = rw_hist_docs(call);
    const uint64_t cells = (uint64_t)call->n_nodes * call->matrix->n_bins;
    uint64_t group = p.n_docs ? RW_TUNE_SORT_SEARCH_DOCS / p.n_docs : call->matrix->n_features;
    if (cells && group > most_cells / cells)
        group = most_cells / cells;
    if (group > call->matrix->n_features)
        group = call->matrix->n_features;
    p.group = group < 1 ? 1 : (uint32_t)group;
    const uint64_t n = p.n_docs * p.group;
    p.d_bound = sort_search_take<uint64_t>(&at, cells * p.group + 1);
    p.d_key = sort_search_take<uint32_t>(&at, n);
    p.d_sorted = sort_search_take<uint32_t>(&at, n);
    size_t scan_bytes = 0;
    if (SUMS != RW_HIST_COUNT) {
        p.d_item = sort_search_take<V>(&at, n);
        p.d_sorted_item = sort_search_take<V>(&at, n);
        p.d_prefix = sort_search_take<long long>(&at, n);
        (void)scan_numbers<SUMS>(NULL, scan_bytes, NULL, 0, NULL, n, NULL);
    }
    struct code_parts sizes = {}; /* d_temp NULL: only returns the size */
    (void)sort_codes<SUMS>(&sizes, n, 32, NULL);
    p.temp_bytes = sizes.temp_bytes < scan_bytes ? scan_bytes : sizes.temp_bytes;
    p.d_temp = sort_search_take<char>(&at, p.temp_bytes);
    p.bytes = at.bytes;
    return p;
}

/* Launches one thread per cell. d_sum NULL: computes counts. */
static int differences(const struct rw_hist_args *args, const struct code_group *group,
                       const struct code_parts *p, void *d_sum, cudaStream_t stream)
{
    const uint32_t n_cells = args->jobs.n_nodes * group->n * args->n_bins;
    return launch_grid(codes_difference_kernel, blocks_for(n_cells, SORT_SEARCH_THREADS),
                       SORT_SEARCH_THREADS, stream, *args, *group, p->d_bound, p->d_prefix, d_sum);
}

template <int SUMS>
static int run_group(const struct rw_hist_args *args, const struct code_group *group,
                     struct code_parts *p, cudaStream_t stream)
{
    const uint64_t n = group->n_docs * group->n;
    const uint32_t n_cells = args->jobs.n_nodes * group->n * args->n_bins;
    const int bits = n_cells > 2 ? (int)rw_hist_bits_of(n_cells - 1) : 1;
    TRY_CUDA(launch_grid(codes_key_kernel<SUMS>, rw_hist_n_jobs(args), SORT_SEARCH_THREADS, stream,
                         *args, *group, p->d_key, (struct code_item<SUMS> *)p->d_item));
    TRY_CUDA(sort_codes<SUMS>(p, n, bits, stream));
    TRY_CUDA(launch_grid(codes_bounds_kernel, n_cells / SORT_SEARCH_THREADS + 1,
                         SORT_SEARCH_THREADS, stream, p->d_sorted, n, n_cells, p->d_bound));
    TRY_CUDA(differences(args, group, p, NULL, stream));
    for (int k = 0; k < hist_numbers(SUMS); k++) {
        TRY_CUDA(scan_numbers<SUMS>(p->d_temp, p->temp_bytes, p->d_sorted_item, k, p->d_prefix, n,
                                    stream));
        TRY_CUDA(differences(args, group, p, args->d_sum[k], stream));
    }
    return cudaSuccess;
}

template <int SUMS> static int run_sums(const struct rw_hist_call *call, cudaStream_t stream)
{
    struct rw_hist_args args;
    struct code_parts p = code_parts_of<SUMS>(call, call->d_scratch);
    TRY_CUDA(rw_hist_args_init(call, 1, (uint64_t)call->n_multiprocessors * RW_TUNE_HIST_BLOCKS,
                               RW_TUNE_SORT_SEARCH_SEGMENT, RW_TUNE_HIST_MOST_SEGMENT, &args));
    if (p.n_docs == 0)
        return rw_cuda_hist_clear(call, stream);
    if ((uint64_t)call->n_nodes * p.group * args.n_bins > (uint64_t)1 << 31)
        return cudaErrorInvalidConfiguration;
    for (uint32_t f = 0; f < args.n_features; f += p.group) {
        const uint32_t left = args.n_features - f;
        const struct code_group group = {f, left < p.group ? left : p.group, p.n_docs};
        TRY_CUDA(run_group<SUMS>(&args, &group, &p, stream));
    }
    return cudaSuccess;
}

static size_t codes_bytes(const struct rw_hist_call *call)
{
    static struct code_parts (*const parts_of[])(const struct rw_hist_call *, void *) = {
        code_parts_of<RW_HIST_COUNT>, code_parts_of<RW_HIST_MART>, code_parts_of<RW_HIST_NEWTON>};
    /* this may be called before the checks of rw_hist_run */
    if (rw_hist_n_cells(call) == 0 || call->sums == RW_HIST_FLOAT)
        return 0;
    return parts_of[call->sums](call, NULL).bytes;
}

static int run_codes(const struct rw_hist_call *call, void *stream)
{
    static int (*const run_of[])(const struct rw_hist_call *, cudaStream_t) = {
        run_sums<RW_HIST_COUNT>, run_sums<RW_HIST_MART>, run_sums<RW_HIST_NEWTON>};
    return rw_hist_n_cells(call) == 0 ? cudaSuccess
                                      : run_of[call->sums](call, (cudaStream_t)stream);
}

const struct rw_hist_method rw_hist_sort_search = {
    .name = "sort-search",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = 1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON,
    .scratch_bytes = codes_bytes,
    .run = run_codes,
};
