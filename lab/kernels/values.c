/* The table of methods for raw values, and what a call may ask of one. */
#include "lab/kernels/values.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "gpu/device/cu_check.h"

static const struct rw_values_method *const methods[] = {&rw_values_privatized,
                                                         &rw_values_sort_search};
static const struct {
    const char *name;
    size_t bytes, edge_bytes;
} types[RW_VALUES_N_TYPES] = {
    {"u8", 1, 4}, {"u16", 2, 4}, {"i32", 4, 4}, {"f32", 4, 4}, {"f64", 8, 8}};

const char *rw_values_type_name(enum rw_values_type type)
{
    return types[type].name;
}

size_t rw_values_bytes(enum rw_values_type type)
{
    return types[type].bytes;
}

size_t rw_values_edge_bytes(enum rw_values_type type)
{
    return types[type].edge_bytes;
}

const struct rw_values_method *rw_values_method_at(int i)
{
    const int n = (int)(sizeof(methods) / sizeof(methods[0]));
    return i >= 0 && i < n ? methods[i] : NULL;
}

const struct rw_values_method *rw_values_method_find(const char *name)
{
    for (int i = 0; rw_values_method_at(i); i++) {
        if (strcmp(methods[i]->name, name) == 0)
            return methods[i];
    }
    return NULL;
}

static const char *misuse(const struct rw_values_call *call)
{
    if ((unsigned)call->type >= RW_VALUES_N_TYPES)
        return "unknown type";
    if (call->partition != RW_VALUES_INTERLEAVED && call->partition != RW_VALUES_SECTIONED)
        return "unknown partition";
    if (call->n_bins < 1 || call->n_bins > RW_VALUES_MOST_BINS)
        return "1 to 67108864 bins are expected";
    if (call->n > (uint64_t)1 << 40)
        return "at most 2^40 values are expected";
    if (!call->d_edge || (call->n > 0 && !call->d_value))
        return "values or edges are missing";
    if ((uintptr_t)call->d_value % types[call->type].bytes != 0)
        return "values are not aligned";
    if (!call->d_count || (call->d_weight && !call->d_sum))
        return "counts or sums are missing";
    return NULL;
}

int rw_values_run(struct rw_ctx *ctx, const struct rw_values_method *method,
                  const struct rw_values_call *call, void *stream)
{
    const char *const wrong = misuse(call);
    if (wrong)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "histogram of values: %s", wrong);
    if (call->partition == RW_VALUES_SECTIONED && !method->sectioned)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "histogram method '%s' does not divide its input among threads",
                       method->name);
    if (!call->d_scratch && method->scratch_bytes(call) > 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "histogram of values: scratch is missing");
    RW_CU(ctx, (cudaError_t)method->run(call, stream));
    return RW_OK;
}

static double edge_at(enum rw_values_type type, const void *edge, uint32_t i)
{
    if (type == RW_VALUES_F32)
        return (double)((const float *)edge)[i];
    return type == RW_VALUES_F64 ? ((const double *)edge)[i] : (double)((const int32_t *)edge)[i];
}

int rw_values_check_edges(struct rw_ctx *ctx, enum rw_values_type type, const void *edge,
                          uint32_t n_bins)
{
    for (uint32_t i = 0; i <= n_bins; i++) {
        const double here = edge_at(type, edge, i), before = edge_at(type, edge, i > 0 ? i - 1 : 0);
        if (!(before <= here))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "edge %u is %.17g after %.17g; edges are expected to ascend", i, here,
                           before);
    }
    return RW_OK;
}
