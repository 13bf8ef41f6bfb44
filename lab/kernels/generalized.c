/* What a call of a generalized histogram may ask for, what it needs, and where it is sent. */
#include "lab/kernels/generalized.h"

#include <cuda_runtime_api.h>

#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"

struct op_row {
    const char *name;
    uint8_t value_bytes, cell_bytes;
    enum rw_multi_strategy strategy;
    unsigned strategies; /* 1 << strategy | ... */
    int is_sum;          /* values may be ones */
};

static const struct op_row ops[RW_GEN_OPS] = {
    [RW_GEN_ADD32] = {"add32", 4, 4, RW_MULTI_HARDWARE, 1u << RW_MULTI_HARDWARE, 1},
    [RW_GEN_ADD64] = {"add64", 8, 8, RW_MULTI_HARDWARE, 1u << RW_MULTI_HARDWARE, 1},
    [RW_GEN_SAT24] = {"sat24", 4, 4, RW_MULTI_CAS, 1u << RW_MULTI_CAS, 1},
    [RW_GEN_MIN] = {"min", 4, 4, RW_MULTI_HARDWARE, 1u << RW_MULTI_HARDWARE, 0},
    [RW_GEN_MAX] = {"max", 4, 4, RW_MULTI_HARDWARE, 1u << RW_MULTI_HARDWARE, 0},
    [RW_GEN_ARGMAX] = {"argmax", 4, 8, RW_MULTI_CAS, 1u << RW_MULTI_CAS | 1u << RW_MULTI_LOCK, 0},
};

static int known(enum rw_gen_op op)
{
    return (int)op >= 0 && op < RW_GEN_OPS;
}

enum rw_multi_strategy rw_gen_strategy(enum rw_gen_op op)
{
    return known(op) ? ops[op].strategy : RW_MULTI_LOCK;
}

int rw_gen_has_strategy(enum rw_gen_op op, enum rw_multi_strategy strategy)
{
    return known(op) && (int)strategy >= 0 && (int)strategy < RW_MULTI_STRATEGIES &&
           (ops[op].strategies >> strategy & 1u);
}

size_t rw_gen_value_bytes(enum rw_gen_op op)
{
    return known(op) ? ops[op].value_bytes : 0;
}

size_t rw_gen_cell_bytes(enum rw_gen_op op)
{
    return known(op) ? ops[op].cell_bytes : 0;
}

const char *rw_gen_op_name(enum rw_gen_op op)
{
    return known(op) ? ops[op].name : "?";
}

const char *rw_gen_strategy_name(enum rw_multi_strategy strategy)
{
    static const char *const name[RW_MULTI_STRATEGIES] = {"hardware", "cas", "lock"};
    return (int)strategy >= 0 && (int)strategy < RW_MULTI_STRATEGIES ? name[strategy] : "?";
}

struct rw_multi_figures rw_gen_figures(const struct rw_device *device)
{
    struct cudaDeviceProp properties = {0};
    size_t line_bytes = 0; /* 0: unknown */
    (void)cudaGetDeviceProperties(&properties, device->number);
    (void)cudaDeviceGetLimit(&line_bytes, cudaLimitMaxL2FetchGranularity);
    const uint64_t n = (uint64_t)device->n_multiprocessors;
    const struct rw_multi_figures figures = {
        .shared_bytes = device->shared_bytes,
        .l2_bytes = (uint64_t)properties.l2CacheSize,
        .l2_line = line_bytes ? line_bytes : 64,
        .n_threads = n * (uint64_t)properties.maxThreadsPerMultiProcessor,
        .block_threads = (uint64_t)properties.maxThreadsPerBlock,
        .n_multiprocessors = n};
    return figures;
}

struct rw_multi_work rw_gen_work(const struct rw_gen_call *call, double race)
{
    enum { LOCK_BYTES = 4 };
    struct rw_multi_work work;
    work.strategy = call->strategy;
    work.cell_bytes = rw_gen_cell_bytes(call->op);
    work.mean_bytes = (double)work.cell_bytes;
    if (call->strategy ==
        RW_MULTI_LOCK) { /* locks lie in an array of their own: layout 2 of III-D */
        work.cell_bytes += LOCK_BYTES;
        work.mean_bytes = (double)work.cell_bytes / 2;
    }
    work.n = call->n * call->width;
    work.n_bins = (uint64_t)call->n_bins * call->width;
    work.race = race;
    return work;
}

static uint64_t n_cells(const struct rw_gen_call *call)
{
    return (uint64_t)call->n_out * call->n_bins * call->width;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

size_t rw_gen_scratch_bytes(const struct rw_gen_call *call)
{
    const struct rw_multi_plan *plan = &call->plan;
    const size_t cells = n_cells(call), bytes = rw_gen_cell_bytes(call->op);
    if (plan->memory == RW_MULTI_SHARED)
        return plan->blocks > 1 ? cells * plan->blocks * bytes : 0;
    const size_t copies = plan->m > 1 ? round_up(cells * plan->m * bytes) : 0;
    return copies + (call->strategy == RW_MULTI_LOCK ? cells * plan->m * sizeof(uint32_t) : 0);
}

static const char *misuse(const struct rw_gen_call *call)
{
    const struct rw_multi_plan *plan = &call->plan;
    if (!known(call->op))
        return "unknown operator";
    if (!rw_gen_has_strategy(call->op, call->strategy))
        return "the operator cannot be updated so";
    if (call->width < 1 || call->n_out < 1 || n_cells(call) > INT32_MAX ||
        (uint64_t)call->n_bins * call->width > INT32_MAX)
        return "at most 2^31 - 1 cells are expected, of at least one histogram";
    if (call->op == RW_GEN_ARGMAX && (call->width > 1 || call->n >= UINT32_MAX))
        return "argmax takes single values of fewer than 2^32 - 1 elements";
    if (call->n > UINT64_MAX / 64 / call->n_out / call->width)
        return "too many elements";
    if (call->n > 0 && (!call->d_index || (!call->d_value && !ops[call->op].is_sum)))
        return "indexes or values are missing";
    if (n_cells(call) > 0 && !call->d_out)
        return "the result is missing";
    if ((plan->memory != RW_MULTI_SHARED && plan->memory != RW_MULTI_GLOBAL) || plan->m < 1 ||
        plan->m > INT32_MAX || plan->s < 1 || plan->s > INT32_MAX || plan->blocks < 1 ||
        plan->blocks > INT32_MAX || plan->threads < 32 || plan->threads > 1024 ||
        plan->threads % 32 != 0)
        return "the plan is out of range";
    /* Each pass has bins, and all together have all of them. */
    const uint64_t bins = (uint64_t)call->n_bins * call->width;
    if (bins > 0 &&
        (plan->n_bins < 1 || plan->n_bins * plan->s < bins || plan->n_bins * (plan->s - 1) >= bins))
        return "the plan's passes do not fit the bins";
    if (rw_gen_scratch_bytes(call) > 0 && !call->d_scratch)
        return "scratch is missing";
    return NULL;
}

int rw_gen_check(struct rw_ctx *ctx, const struct rw_gen_call *call)
{
    const char *wrong = misuse(call);
    return wrong ? rw_fail(ctx, RW_ERR_ARGUMENT, "generalized histogram: %s", wrong) : RW_OK;
}

int rw_gen_run(struct rw_ctx *ctx, const struct rw_gen_call *call, void *stream)
{
    RW_TRY(rw_gen_check(ctx, call));
    if (n_cells(call) == 0)
        return RW_OK;
    RW_CU(ctx,
          (cudaError_t)(call->plan.memory == RW_MULTI_SHARED ? rw_cuda_gen_shared(call, stream)
                                                             : rw_cuda_gen_global(call, stream)));
    return RW_OK;
}
