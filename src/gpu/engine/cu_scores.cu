/* Why: a finished tree's values added to scores: for the documents it was grown on by the leaves
 * that the sums of leaves have noted, for all others by walking down with their codes.
 *
 * Shapes: scores [n_docs] in double; a document gets one addition a tree, so the order of threads
 * cannot matter.
 *
 * Decomposition: values_kernel: a thread two documents; walk_kernel: a thread a document. */
#include <cuda_runtime.h>

#include "gpu/engine/cu_engine.h"
#include "gpu/device/tuning.h"

enum { THREADS = RW_TUNE_SCORES_THREADS };

/* Two documents are one word of leaves and 16 bytes of scores. */
static __global__ void __launch_bounds__(THREADS)
    values_kernel(const uint16_t *d_leaf_of, const float *d_value, const uint8_t *d_sampled,
                  uint32_t n_docs, double *d_score)
{
    const uint64_t doc = (blockIdx.x * (uint64_t)THREADS + threadIdx.x) * 2;
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
    const uint64_t blocks = ((uint64_t)n_docs + 2 * THREADS - 1) / (2 * THREADS);
    if (blocks == 0)
        return cudaSuccess;
    values_kernel<<<(unsigned)blocks, THREADS, 0, (cudaStream_t)stream>>>(
        d_leaf_of, d_value, d_sampled, n_docs, d_score);
    return cudaGetLastError();
}

/* BY_SET: some nodes may have sets. */
template <int BY_SET>
static __global__ void __launch_bounds__(THREADS) walk_kernel(const struct rw_cuda_walk a)
{
    for (uint64_t i = blockIdx.x * (uint64_t)THREADS + threadIdx.x; i < a.n_docs;
         i += (uint64_t)gridDim.x * THREADS) {
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
    const uint64_t chunks = ((uint64_t)walk->n_docs + THREADS - 1) / THREADS;
    const unsigned blocks = (unsigned)(chunks > 65535 ? 65535 : chunks);
    if (blocks == 0)
        return cudaSuccess;
    if (walk->by_set)
        walk_kernel<1><<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*walk);
    else
        walk_kernel<0><<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*walk);
    return cudaGetLastError();
}
