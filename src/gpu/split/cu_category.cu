/* Finds the best splits by categorical features. They are few, and each split sorts its codes, so
 * they have a separate kernel.
 *
 * Shapes: cells as in cu_split.cu; the best split of each (node, block); a set of codes for each
 * (node, categorical feature).
 *
 * Decomposition: a block per feature, grid y is the node; a thread per code. category_block.h has
 * the work of threads between barriers. Blocks have CATEGORY_FEW_THREADS threads if that is enough
 * for all features of a launch, else CATEGORY_THREADS. The kernel is launched after the searches of
 * all other features, and waits for them. So the last block of a node to finish is one of this
 * kernel's, and no other kernel handles sets. */
#include "gpu/split/category_block.h"
#include "gpu/split/search_end.cuh"

static_assert(CATEGORY_FEW_THREADS % WARP == 0 && CATEGORY_THREADS % WARP == 0, "whole warps");
static_assert((int)CATEGORY_THREADS == 1024, "threads of a block, a power of four");
static_assert(sizeof(struct rw_category_found) == sizeof(struct rw_cell), "one for the other");
static_assert(CATEGORY_BYTES(CATEGORY_FEW_THREADS) <= 46 * 1024, "memory that needs no asking");
static_assert(CATEGORY_BYTES(CATEGORY_THREADS) <= 62 * 1024, "what capability 7.5 has");

template <int THREADS>
RW_DEVICE struct rw_category_split
search_codes(const struct rw_cuda_search &a, const struct rw_cuda_cells &cells,
             const struct rw_cuda_category &category, const struct category_block *b)
{
    const uint32_t thread = threadIdx.x, n_codes = category.n_codes;
    const uint64_t first =
        (uint64_t)a.buffer[blockIdx.y] * cells.n_cells +
        (cells.d_row ? cells.d_row[category.feature] : category.feature * cells.n_bins);
    const double penalty = a.d_penalty ? a.d_penalty[category.column] : 0.0;
    const struct rw_split_rule rule = a.rule;
    const struct rw_cell none = {0, 0, 0};
    const struct rw_cell cell = thread < n_codes ? cell_at(cells, first + thread) : none;
    const struct rw_cell missing =
        thread == 0 && category.has_missing ? cell_at(cells, first + n_codes) : none;
    int from = 0;
    category_load(b, &rule, &cell, &missing, thread);
    __syncthreads();
    category_place(b, n_codes, thread);
    __syncthreads();
    for (uint32_t step = 1; step < THREADS; step *= 2, from = !from) {
        category_add_up(b, from, step, thread);
        __syncthreads();
    }
    category_try(b, &rule, penalty, &cell, from, thread);
    __syncthreads();
    for (uint32_t step = THREADS / 2; step > 0; step /= 2) {
        category_pick(b, step, thread);
        __syncthreads();
    }
    category_mark(b, n_codes, from, thread);
    __syncthreads();
    return category_result(b, n_codes);
}

/* Copies a set, several words at a time, so that the reads overlap. */
RW_DEVICE void copy_set(const volatile struct rw_code_set *from, volatile struct rw_code_set *to)
{
    enum { SOME = 8 };
    for (int first = 0; first < RW_SET_WORDS; first += SOME) {
        uint32_t word[SOME];
#pragma unroll
        for (int w = 0; w < SOME; w++)
            word[w] = from->word[first + w];
#pragma unroll
        for (int w = 0; w < SOME; w++)
            to->word[first + w] = word[w];
    }
}

template <int THREADS>
static __global__ void __launch_bounds__(THREADS)
    category_kernel(const __grid_constant__ struct rw_cuda_search a,
                    const __grid_constant__ struct rw_cuda_cells cells,
                    const __grid_constant__ struct rw_cuda_categories of, uint32_t first_block)
{
    enum { WARPS = THREADS / WARP };
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ struct rw_cuda_found of_warp[WARPS];
    const struct category_block b = category_block_of(shared, THREADS);
    const struct rw_cuda_category category = of.d_category[blockIdx.x];
    const uint32_t number = of.first + blockIdx.x;
    struct rw_code_set *const d_set = a.d_set + (uint64_t)blockIdx.y * a.n_sets;
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    wait_for_launch_before(); /* for its cells, and the other blocks' results */
    if (cells.d_sampled[category.feature] && allows(a, category.column)) {
        const struct rw_category_split split = search_codes<THREADS>(a, cells, category, &b);
        best = rw_cuda_found{split.gain, (int32_t)category.column, RW_CUDA_BY_SET | number,
                             split.missing_left, (uint32_t)split.n_left};
        if (threadIdx.x == 0)
            copy_set(&b.alone->left, &d_set[number]);
    }
    if (!is_last_of_node(a, best, first_block + blockIdx.x))
        return;
    best = best_of_node<WARPS>(a, of_warp, noise_of(a));
    if (threadIdx.x > 0)
        return;
    if (best.gain > 0.0 && best.bin & RW_CUDA_BY_SET)
        copy_set(&d_set[best.bin & ~RW_CUDA_BY_SET], &a.reply_set[blockIdx.y]);
    reply(a, best);
}

extern "C" int rw_cuda_search_categories(const struct rw_cuda_search *search,
                                         const struct rw_cuda_cells *cells,
                                         const struct rw_cuda_categories *categories,
                                         uint32_t first_block, void *stream)
{
    const bool few = categories->most_codes <= CATEGORY_FEW_THREADS;
    const unsigned threads = few ? CATEGORY_FEW_THREADS : CATEGORY_THREADS;
    const size_t bytes = CATEGORY_BYTES(threads);
    auto *const kernel =
        few ? category_kernel<CATEGORY_FEW_THREADS> : category_kernel<CATEGORY_THREADS>;
    if (search->n == 0 || categories->n == 0)
        return cudaSuccess;
    if (!few)
        TRY_CUDA(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    return launch_after(kernel, dim3(categories->n, search->n), threads, bytes,
                        (cudaStream_t)stream, *search, *cells, *categories, first_block);
}
