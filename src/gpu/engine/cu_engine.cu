/* The small kernels of the engine. */
#include <string.h>

#include "gpu/device/kernel.cuh"
#include "gpu/engine/cu_engine.h"

/* ---- small data, and answers ----
 *
 * A kernel that has small data among its arguments takes less time than a copy, which work before
 * and after it in the stream cannot overlap. A kernel that writes a few words to page-locked memory
 * of the host takes less time than a copy and a wait for the stream. Both have one block. */
enum { ANSWER_THREADS = 256, SMALL_WORDS = RW_CUDA_SMALL_BYTES / sizeof(uint32_t) };

struct small {
    uint32_t word[SMALL_WORDS];
};
static_assert(sizeof(struct small) + sizeof(uint32_t) + sizeof(char *) <= 4096,
              "the arguments of a launch");

static __global__ void __launch_bounds__(ANSWER_THREADS)
    small_kernel(const __grid_constant__ struct small data, uint32_t n_bytes, char *d_to)
{
    wait_for_launch_before();
    let_next_launch_begin();
    for (uint32_t i = threadIdx.x; i < n_bytes / sizeof(uint32_t); i += ANSWER_THREADS)
        ((uint32_t *)(void *)d_to)[i] = data.word[i];
    if (threadIdx.x == 0) { /* the bytes of the last word */
        for (uint32_t i = n_bytes / 4 * 4; i < n_bytes; i++)
            d_to[i] = (char)(data.word[i / 4] >> i % 4 * 8);
    }
}

extern "C" int rw_cuda_send_small(void *d_to, const void *from, size_t n_bytes, void *stream)
{
    for (size_t at = 0, some; at < n_bytes; at += some) {
        struct small data;
        some = n_bytes - at < sizeof(data) ? n_bytes - at : sizeof(data);
        memcpy(data.word, (const char *)from + at, some);
        TRY_CUDA(launch_after(small_kernel, 1, ANSWER_THREADS, 0, (cudaStream_t)stream, data,
                              (uint32_t)some, (char *)d_to + at));
    }
    return cudaSuccess;
}

static __global__ void __launch_bounds__(ANSWER_THREADS)
    answer_kernel(uint32_t *d_from, uint32_t n, int clear, volatile uint32_t *to,
                  volatile uint32_t *word, uint32_t value)
{
    wait_for_launch_before();
    for (uint32_t i = threadIdx.x; i < n; i += ANSWER_THREADS) {
        to[i] = d_from[i];
        if (clear)
            d_from[i] = 0;
    }
    __threadfence_system(); /* a reader who sees the word sees all earlier writes */
    __syncthreads();
    if (threadIdx.x == 0)
        *word = value;
}

extern "C" int rw_cuda_copy_answer(void *d_from, uint32_t n, int clear, uint32_t *to,
                                   uint32_t *word, uint32_t value, void *stream)
{
    return launch_after(answer_kernel, 1, ANSWER_THREADS, 0, (cudaStream_t)stream,
                        (uint32_t *)d_from, n, clear, to, word, value);
}

/* ---- columns ----
 *
 * A partition of many documents by one feature reads 32 bytes per document from tiles, but only one
 * or two from a column. So features that split large nodes repeatedly are worth a copy of their
 * column (copy_kernel). sum_kernel computes checksums.
 *
 * Decomposition: in copy_kernel a block takes DOCS documents, a thread every COLUMNS_THREADS-th of
 * them. In sum_kernel SUM_BLOCKS blocks share a column. */
enum {
    COLUMNS_THREADS = RW_TUNE_COLUMNS_THREADS,
    UNROLL = 8,
    DOCS = COLUMNS_THREADS * UNROLL,
    SUM_BLOCKS = 64
};

/* first: the thread's first document. ELEMENT: of a tile. */
template <class ELEMENT, class CODE>
RW_DEVICE void copy_block(const struct rw_cuda_column &from, uint32_t n_docs, uint64_t first,
                          CODE *d_to)
{
    ELEMENT element[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        const uint64_t doc = first + i * COLUMNS_THREADS;
        element[i] = doc < n_docs
                         ? ((const ELEMENT *)from.d_word)[rw_cuda_element_of(&from, (uint32_t)doc)]
                         : 0;
    }
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        const uint64_t doc = first + i * COLUMNS_THREADS;
        if (doc < n_docs)
            d_to[doc] = (CODE)rw_cuda_code_in(&from, element[i], (uint32_t)doc);
    }
}

static __global__ void __launch_bounds__(COLUMNS_THREADS)
    copy_kernel(const struct rw_cuda_column from, uint32_t n_docs, void *d_to)
{
    const uint64_t first = blockIdx.x * (uint64_t)DOCS + threadIdx.x;
    if (from.bits == 16)
        copy_block<uint16_t>(from, n_docs, first, (uint16_t *)d_to);
    else
        copy_block<uint32_t>(from, n_docs, first, (uint8_t *)d_to);
}

extern "C" int rw_cuda_copy_column(const struct rw_cuda_column *from, uint32_t n_docs, void *d_to,
                                   void *stream)
{
    return launch_grid(copy_kernel, n_docs / DOCS + 1, COLUMNS_THREADS, stream, *from, n_docs,
                       d_to);
}

static __global__ void __launch_bounds__(COLUMNS_THREADS)
    sum_kernel(const struct rw_cuda_column *d_column, uint32_t n_docs, uint64_t first_doc,
               unsigned long long *d_sum)
{
    const struct rw_cuda_column column = d_column[blockIdx.x];
    unsigned long long sum = 0;
    for (uint64_t doc = blockIdx.y * (uint64_t)COLUMNS_THREADS + threadIdx.x; doc < n_docs;
         doc += (uint64_t)SUM_BLOCKS * COLUMNS_THREADS)
        sum += rw_code_weight(first_doc + doc) * rw_cuda_code_of(&column, (uint32_t)doc);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&d_sum[blockIdx.x], sum);
}

extern "C" int rw_cuda_sum_columns(const struct rw_cuda_column *d_column, uint32_t n_features,
                                   uint32_t n_docs, uint64_t first_doc, unsigned long long *d_sum,
                                   void *stream)
{
    return launch_grid(sum_kernel, dim3(n_features, SUM_BLOCKS), COLUMNS_THREADS, stream, d_column,
                       n_docs, first_doc, d_sum);
}

/* ---- moving histograms ----
 *
 * The histograms of a batch need consecutive buffers. When too few are free at the end of the pool,
 * the last histograms that are still useful move into buffers that are not.
 *
 * Decomposition: grid y is a move, whose words of 32 bits are divided among MOVE_BLOCKS blocks. */
enum { MOVE_THREADS = RW_TUNE_MOVE_THREADS, MOVE_BLOCKS = RW_TUNE_MOVE_BLOCKS };

RW_DEVICE void move_words(void *d_words, uint64_t n, uint32_t from, uint32_t to)
{
    const uint32_t *const d_from = (const uint32_t *)d_words + from * n;
    uint32_t *const d_to = (uint32_t *)d_words + to * n;
    for (uint64_t i = blockIdx.x * (uint64_t)MOVE_THREADS + threadIdx.x; i < n;
         i += MOVE_BLOCKS * MOVE_THREADS)
        d_to[i] = d_from[i];
}

static __global__ void __launch_bounds__(MOVE_THREADS)
    move_kernel(const __grid_constant__ struct rw_cuda_cells cells,
                const __grid_constant__ struct rw_cuda_moves moves, uint64_t sum_words)
{
    const uint32_t from = moves.from[blockIdx.y], to = moves.to[blockIdx.y];
    move_words(cells.d_count, cells.n_cells, from, to);
    move_words(cells.d_lambda, sum_words, from, to);
    if (cells.d_hess)
        move_words(cells.d_hess, sum_words, from, to);
}

extern "C" int rw_cuda_move(const struct rw_cuda_cells *cells, const struct rw_cuda_moves *moves,
                            void *stream)
{
    const uint64_t sum_words =
        (uint64_t)cells->n_cells * rw_hist_sum_bytes(cells->narrow) / sizeof(uint32_t);
    return launch_grid(move_kernel, dim3(cells->n_cells ? MOVE_BLOCKS : 0, moves->n), MOVE_THREADS,
                       stream, *cells, *moves, sum_words);
}

/* ---- scores ----
 *
 * Both add a finished tree's values to scores: values_kernel those of the leaves that
 * rw_cuda_leaf_sums recorded, for the documents that the tree was grown on; walk_kernel, for all
 * others, by codes.
 *
 * Shapes: scores [n_docs] in double. Decomposition: in values_kernel a thread has two documents, in
 * walk_kernel threads stride over documents. */
enum { SCORES_THREADS = RW_TUNE_SCORES_THREADS };

/* Two documents have one word of leaves and 16 bytes of scores. */
static __global__ void __launch_bounds__(SCORES_THREADS)
    values_kernel(const uint16_t *d_leaf_of, const float *d_value, const uint8_t *d_sampled,
                  uint32_t n_docs, double *d_score)
{
    const uint64_t doc = (blockIdx.x * (uint64_t)SCORES_THREADS + threadIdx.x) * 2;
    if (doc + 1 < n_docs && !d_sampled) {
        const uint32_t leaves = *(const uint32_t *)(const void *)&d_leaf_of[doc];
        double2 *const d_both = (double2 *)(void *)&d_score[doc];
        double2 both = *d_both;
        both.x += (double)d_value[leaves & 0xffff];
        both.y += (double)d_value[leaves >> 16];
        *d_both = both;
        return;
    }
    for (uint64_t one = doc; one < n_docs && one < doc + 2; one++) {
        if (!d_sampled || d_sampled[one])
            d_score[one] += (double)d_value[d_leaf_of[one]];
    }
}

extern "C" int rw_cuda_add_values(const uint16_t *d_leaf_of, const float *d_value,
                                  const uint8_t *d_sampled, uint32_t n_docs, double *d_score,
                                  void *stream)
{
    return launch_grid(values_kernel, blocks_for(n_docs, 2 * SCORES_THREADS), SCORES_THREADS,
                       stream, d_leaf_of, d_value, d_sampled, n_docs, d_score);
}

template <int BY_SET>
static __global__ void __launch_bounds__(SCORES_THREADS) walk_kernel(const struct rw_cuda_walk a)
{
    for (uint64_t i = grid_first<SCORES_THREADS>(); i < a.n_docs;
         i += grid_step<SCORES_THREADS>()) {
        const uint32_t doc = (uint32_t)i;
        if (a.d_skip && a.d_skip[doc])
            continue;
        int32_t at = a.n_leaves == 1 ? -1 : 0;
        while (at >= 0) {
            const struct rw_coded_node node = a.d_node[at];
            const uint32_t code = rw_cuda_code_of(&a.d_column[node.column], doc);
            const int left = BY_SET                      ? rw_coded_goes_left(&node, code)
                             : code == node.missing_code ? node.missing_left
                                                         : code <= node.bin;
            at = left ? node.left : node.right;
        }
        a.d_score[doc] += (double)a.d_leaf[~at];
    }
}

extern "C" int rw_cuda_add_walk(const struct rw_cuda_walk *walk, void *stream)
{
    return launch_grid(walk->by_set ? walk_kernel<1> : walk_kernel<0>,
                       blocks_up_to(65535, walk->n_docs, SCORES_THREADS), SCORES_THREADS, stream,
                       *walk);
}
