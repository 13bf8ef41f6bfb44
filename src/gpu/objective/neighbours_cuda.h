/* YetiRank's gradients on the device, of any delta (objective/neighbours.h): for each ranking with
 * noise, keys, the order of each query's documents by them (metric/rank_cuda.h), and pairs of
 * neighbours. A part of struct rw_cuda_lambda, whose tables its memory is. */
#ifndef RW_GPU_NEIGHBOURS_CUDA_H
#define RW_GPU_NEIGHBOURS_CUDA_H

#include "gpu/objective/cu_neighbours.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cuda_neighbours {
    struct rw_cuda_rank rank;
    struct rw_neighbours_args args; /* but what is of a run */
};

/* rules->rule is read. gains: [n_docs]. Nothing is kept of the dataset. */
int rw_cuda_neighbours_init(struct rw_device_tables *tables, const struct rw_engine_rules *rules,
                            const struct rw_dataset *dataset, const double *gains,
                            struct rw_cuda_neighbours *neighbours);
uint64_t rw_cuda_neighbours_plan_bytes(const struct rw_dataset *dataset);
/* args: neighbours->args with those of a run. As rw_cuda_lambdas_run. */
int rw_cuda_neighbours_run(struct rw_ctx *ctx, const struct rw_cuda_neighbours *neighbours,
                           const struct rw_neighbours_args *args, int n_multiprocessors,
                           void *stream);
uint32_t rw_cuda_neighbours_launches(const struct rw_cuda_neighbours *neighbours);

#ifdef __cplusplus
}
#endif
#endif
