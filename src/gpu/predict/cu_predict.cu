/* Walks every document down every tree. gpu/predict/cu_predict.h has the work of threads.
 *
 * Decomposition: a block has a tile of documents. A thread has a document and every n-th tree of a
 * batch, n being the threads per document. The first tile_docs threads then add the leaf values of
 * one document each, in tree order, while the others fetch the next batch. look_up_kernel has a
 * thread per document; grid y is the slot, or the first of several. */
#include "gpu/device/kernel.cuh"
#include "gpu/predict/cu_predict.h"

template <bool VALUES_IN_SHARED>
static __global__ void __launch_bounds__(PREDICT_THREADS,
                                         RW_BLOCKS_HELD(PREDICT_THREADS, RW_TUNE_PREDICT_BLOCKS))
    predict_kernel(const struct rw_predict_args args)
{
    extern __shared__ __align__(16) unsigned char shared[];
    const struct predict_block b = predict_block_of(&args, shared, blockIdx.x);
    const uint32_t thread = threadIdx.x;
    double score = 0.0;
    if (VALUES_IN_SHARED)
        predict_load_values(&args, &b, thread);
    if (args.n_batches > 0) {
        const struct rw_predict_batch first = args.d_batch[0];
        predict_load_trees(&args, &b, &first, thread, PREDICT_THREADS);
    }
    __syncthreads();
    for (uint32_t i = 0; i < args.n_batches; i++) {
        const struct rw_predict_batch batch = args.d_batch[i];
        predict_find_batch(&args, &b, &batch, VALUES_IN_SHARED, thread);
        __syncthreads();
        if (thread < args.tile_docs) {
            score = predict_add(&args, &b, &batch, thread, score);
        } else if (i + 1 < args.n_batches) {
            const struct rw_predict_batch next = args.d_batch[i + 1];
            predict_load_trees(&args, &b, &next, thread - args.tile_docs,
                               PREDICT_THREADS - args.tile_docs);
        }
        __syncthreads();
    }
    if (thread < b.n_docs)
        args.d_score[b.begin + thread] = score;
}

enum { LOOK_UP_THREADS = 256, MOST_GRID_Y = 65535 };

static __global__ void __launch_bounds__(LOOK_UP_THREADS)
    look_up_kernel(const struct rw_predict_look_up look_up)
{
    const uint32_t doc = blockIdx.x * LOOK_UP_THREADS + threadIdx.x;
    for (uint32_t slot = blockIdx.y; doc < look_up.n_docs && slot < look_up.n_used;
         slot += gridDim.y)
        predict_look_up(&look_up, slot, doc);
}

extern "C" int rw_cuda_predict(const struct rw_predict_args *args,
                               const struct rw_predict_look_up *look_up, void *stream)
{
    const size_t bytes = rw_predict_shared_bytes(args);
    const unsigned blocks = blocks_for(args->n_docs, args->tile_docs);
    auto *const kernel = args->values_in_shared ? predict_kernel<true> : predict_kernel<false>;
    if (look_up) {
        const dim3 grid(blocks_for(look_up->n_docs, LOOK_UP_THREADS),
                        look_up->n_used < MOST_GRID_Y ? look_up->n_used : MOST_GRID_Y);
        TRY_CUDA(launch_grid(look_up_kernel, grid, LOOK_UP_THREADS, stream, *look_up));
    }
    TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    kernel<<<blocks, PREDICT_THREADS, bytes, (cudaStream_t)stream>>>(*args);
    return cudaGetLastError();
}
