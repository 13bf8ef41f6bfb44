/* Generalized histograms on the device: out[index[i]] = out[index[i]] + value[i] for any of the
 * operators below, over (index, value) pairs, one histogram or many side by side. Henriksen et al.,
 * "Compiling generalized histograms for GPU", section III. All numbers are integers, so every plan
 * and every strategy of updating gives the same cells; generalized_serial.h is the reference.
 *
 * To add an operator: (1) a line in rw_gen_op, (2) its row in generalized.c, (3) its struct in
 * generalized_ops.cuh and its line in gen_dispatch (generalized_block.cuh), (4) in
 * generalized_serial.c.
 *
 * Nothing is allocated and nothing waits for the device: scratch is the caller's. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/ctx.h"
#include "lab/kernels/multi_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* operator: value -> cell (neutral element) */
enum rw_gen_op {
    RW_GEN_ADD32,  /* uint32_t -> uint32_t (0), modulo 2^32 */
    RW_GEN_ADD64,  /* uint64_t or int64_t -> the same (0), modulo 2^64 */
    RW_GEN_SAT24,  /* uint32_t -> uint32_t (0): sums that stop at 2^24 - 1 */
    RW_GEN_MIN,    /* int32_t -> int32_t (INT32_MAX) */
    RW_GEN_MAX,    /* int32_t -> int32_t (INT32_MIN) */
    RW_GEN_ARGMAX, /* int32_t -> uint64_t, see rw_gen_pair (0: no element) */
    RW_GEN_OPS
};
enum { RW_GEN_SAT24_MOST = (1 << 24) - 1 };

/* The largest value and the place of the element that had it, the lowest place of equals, in a word
 * that is the larger the better. Places are below 2^32 - 1. */
RW_HD uint64_t rw_gen_pair(int32_t value, uint32_t place)
{
    return (uint64_t)((uint32_t)value ^ 0x80000000u) << 32 | (uint32_t)~place;
}
RW_HD int32_t rw_gen_pair_value(uint64_t pair)
{
    return (int32_t)((uint32_t)(pair >> 32) ^ 0x80000000u);
}
RW_HD uint32_t rw_gen_pair_place(uint64_t pair)
{
    return ~(uint32_t)pair;
}

struct rw_gen_call {
    enum rw_gen_op op;
    enum rw_multi_strategy strategy; /* one that the operator has; rw_gen_strategy(op): the best */
    uint64_t n;                      /* elements of a histogram; argmax: below 2^32 - 1 */
    uint32_t n_bins;                 /* n_out * n_bins * width below 2^31 */
    uint32_t n_out;                  /* histograms side by side, 1 or more */
    /* Vectors: a value and a cell are `width` numbers, combined one by one (section IV-D). 1 for
     * argmax. */
    uint32_t width;
    const uint32_t *d_index; /* [n_out][n]; an index of n_bins or more is passed over */
    const void *d_value;     /* [n_out][n][width] of the operator's value; NULL: sums of 1 */
    void *d_out;             /* [n_out][n_bins][width] cells; written whole */
    struct rw_multi_plan plan;
    void *d_scratch; /* rw_gen_scratch_bytes(call) bytes, 256-byte aligned */
};

/* The strategy that fits an operator best: the hardware's atomic where there is one, else compare
 * and swap where a cell has at most 64 bits, else a lock. */
enum rw_multi_strategy rw_gen_strategy(enum rw_gen_op op);
/* 1 if an operator can be updated so. Add, min, max: hardware; saturating add: CAS; argmax: CAS or
 * lock. */
int rw_gen_has_strategy(enum rw_gen_op op, enum rw_multi_strategy strategy);
size_t rw_gen_value_bytes(enum rw_gen_op op);
size_t rw_gen_cell_bytes(enum rw_gen_op op);
const char *rw_gen_op_name(enum rw_gen_op op);
const char *rw_gen_strategy_name(enum rw_multi_strategy strategy);
/* The call's operator, sizes and vectors as the model counts them; race: of the indexes, 1 if
 * unknown. */
struct rw_multi_work rw_gen_work(const struct rw_gen_call *call, double race);

struct rw_device;
/* What the model needs to know of a device. */
struct rw_multi_figures rw_gen_figures(const struct rw_device *device);

/* RW_ERR_ARGUMENT for a call that cannot be run, in one line. */
int rw_gen_check(struct rw_ctx *ctx, const struct rw_gen_call *call);
/* Scratch that a call with a plan needs. */
size_t rw_gen_scratch_bytes(const struct rw_gen_call *call);
/* Checks, then enqueues on the cudaStream_t. */
int rw_gen_run(struct rw_ctx *ctx, const struct rw_gen_call *call, void *stream);

/* The launchers behind it; each returns a cudaError_t. */
int rw_cuda_gen_shared(const struct rw_gen_call *call, void *stream);
int rw_cuda_gen_global(const struct rw_gen_call *call, void *stream);

/* The inspector of the race factor: *d_touched = the bins that each group of the sample touches,
 * added up. Scratch of rw_gen_race_bytes; indexes as in a call. rw_multi_race makes the factor.
 * Returns a cudaError_t. */
size_t rw_gen_race_bytes(const struct rw_multi_sample *sample, uint32_t n_bins);
int rw_cuda_gen_race(const uint32_t *d_index, uint32_t n_bins, const struct rw_multi_sample *sample,
                     uint64_t *d_touched, void *d_scratch, void *stream);

#ifdef __cplusplus
}
#endif
