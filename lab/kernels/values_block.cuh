/* What the methods for raw values share on the device. */
#pragma once

#include <cuda_runtime.h>

#include "gpu/hist/hist.h"
#include "lab/kernels/values.h"

/* What a value is compared as. */
template <class T> struct values_edge_of {
    using type = int32_t;
};
template <> struct values_edge_of<float> {
    using type = float;
};
template <> struct values_edge_of<double> {
    using type = double;
};
template <class T> using values_edge = typename values_edge_of<T>::type;

__host__ __device__ __forceinline__ void values_number(const union rw_values_number &n,
                                                       int32_t *out)
{
    *out = n.i;
}
__host__ __device__ __forceinline__ void values_number(const union rw_values_number &n, float *out)
{
    *out = n.f;
}
__host__ __device__ __forceinline__ void values_number(const union rw_values_number &n, double *out)
{
    *out = n.d;
}

/* A call as a kernel sees it, passed by value. */
struct values_args {
    const void *d_value;
    uint64_t n;
    const void *d_edge;
    uint32_t n_bins;
    int last_closed, has_range, sectioned;
    union rw_values_number lo, hi;
    const uint8_t *d_mask;
    const int32_t *d_weight;
    unsigned long long *d_count, *d_sum;
    uint32_t pass_bins; /* bins of a pass */
    uint32_t head;      /* values before the first boundary of 16 bytes */
};

static inline struct values_args values_args_of(const struct rw_values_call *call)
{
    struct values_args a = {};
    const size_t bytes = rw_values_bytes(call->type);
    a.d_value = call->d_value;
    a.n = call->n;
    a.d_edge = call->d_edge;
    a.n_bins = call->n_bins;
    a.last_closed = call->last_closed;
    a.has_range = call->has_range;
    a.sectioned = call->partition == RW_VALUES_SECTIONED;
    a.lo = call->lo;
    a.hi = call->hi;
    a.d_mask = call->d_mask;
    a.d_weight = call->d_weight;
    a.d_count = (unsigned long long *)call->d_count;
    a.d_sum = (unsigned long long *)call->d_sum;
    const uint64_t head = (16 - (uintptr_t)call->d_value % 16) % 16 / bytes;
    a.head = (uint32_t)(head < call->n ? head : call->n);
    return a;
}

/* Zeros in the result, unless the call adds to it. */
static inline int values_clear(const struct rw_values_call *call, cudaStream_t stream)
{
    if (call->add)
        return cudaSuccess;
    cudaError_t error =
        cudaMemsetAsync(call->d_count, 0, call->n_bins * sizeof *call->d_count, stream);
    if (error == cudaSuccess && call->d_weight)
        error = cudaMemsetAsync(call->d_sum, 0, call->n_bins * sizeof *call->d_sum, stream);
    return error;
}
