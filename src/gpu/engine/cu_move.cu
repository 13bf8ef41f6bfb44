/* Why: a batch's histograms stand in buffers in a row, and most of those before them are of use.
 * When there is no such row at the end any more, the last ones move into the places of those that
 * are not.
 *
 * Shapes: cells [buffer][n_cells] of a group, moved as words of 32 bits.
 *
 * Decomposition: grid y = a move, whose words are dealt to BLOCKS blocks. */
#include <cuda_runtime.h>

#include "gpu/engine/cu_engine.h"
#include "gpu/hist/hist.h"
#include "gpu/device/tuning.h"

enum { THREADS = RW_TUNE_MOVE_THREADS, BLOCKS = RW_TUNE_MOVE_BLOCKS };

static __device__ void move_words(void *d_words, uint64_t n, uint32_t from, uint32_t to)
{
    const uint32_t *const d_from = (const uint32_t *)d_words + from * n;
    uint32_t *const d_to = (uint32_t *)d_words + to * n;
    for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < n; i += BLOCKS * THREADS)
        d_to[i] = d_from[i];
}

static __global__ void __launch_bounds__(THREADS)
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
    if (moves->n == 0 || cells->n_cells == 0)
        return cudaSuccess;
    move_kernel<<<dim3(BLOCKS, moves->n), THREADS, 0, (cudaStream_t)stream>>>(*cells, *moves,
                                                                              sum_words);
    return cudaGetLastError();
}
