/* What of the launch constants depends on the GPU; tuning.h has those that do not. A table of rows
 * by compute capability, and one for those that are newer than all of them. How much there is of a
 * GPU's multiprocessors, of a block's shared memory and of memory is asked of the device, whatever
 * its row. No row changes a result.
 *
 * To measure a row on a GPU that has it: a line of it in device_tuning.c's table, with is_measured
 * 1, and its numbers in the comment there. docs/devices.md lists the rows, and tests/gpu.sh forces
 * each. */
#ifndef RW_GPU_DEVICE_TUNING_H
#define RW_GPU_DEVICE_TUNING_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RW_TUNING_VARIABLE "RANKWOOD_TUNING" /* the name of a row: it is taken on any GPU */

struct rw_tuning_row {
    const char *name; /* its first compute capability; or "newer" */
    int from;         /* the same as 10 * major + minor; a row ends where the next one begins */
    int is_measured;  /* else derived, as device_tuning.c says */
    /* What a GPU of the row has, at the least that is common: where the row is forced, as much is
     * used of one that has more. 0: all. */
    int n_multiprocessors;
    int n_threads;       /* that a multiprocessor holds at once */
    size_t shared_bytes; /* that a block may ask for */
    /* Nodes that the engine is asked for at once, at most. */
    int growth_batch;
    /* Blocks a multiprocessor: of 256 threads that quantise; and of a search's warps, past which
     * features share fewer. */
    int quantise_blocks, split_blocks;
};

/* By index; NULL past the end. */
const struct rw_tuning_row *rw_tuning_row_at(int i);

/* What is found of a GPU; then, what is used of it. */
struct rw_tuning_facts {
    int capability; /* 10 * major + minor */
    int n_multiprocessors, n_threads;
    size_t shared_bytes;
};
/* The row of the capability, or the one that the variable names, which lowers *facts. row: a
 * constant. RW_ERR_ARGUMENT: it names none. */
int rw_tuning_find(struct rw_ctx *ctx, struct rw_tuning_facts *facts,
                   const struct rw_tuning_row **row);

/* Do names like "sm_80 sm_90 compute_90" include machine code for GPUs of this capability? If not,
 * the driver compiles kernels when they are first used. */
int rw_has_gpu_code(const char *archs, int major, int minor);

#ifdef __cplusplus
}
#endif
#endif
