/* Checks CUDA calls. A failure becomes an error of the context. The error that CUDA stores for
 * cudaGetLastError is cleared. */
#pragma once

#include <cuda_runtime_api.h>

#include "base/ctx.h"

/* Reports a CUDA error. what: the operation that failed, for the message. If device memory ran out,
 * the message also states the free memory, if it is known. Returns RW_ERR_MEMORY if memory ran out,
 * RW_ERR_UNSUPPORTED if this GPU or driver will always report the error, else RW_ERR_MACHINE. */
int rw_cu_fail(struct rw_ctx *ctx, cudaError_t error, const char *what);

/* Makes a call in a function that returns a status. If the call fails, reports it and returns. */
#define RW_CU(ctx, call)                                     \
    do {                                                     \
        const cudaError_t rw_cu_error = (cudaError_t)(call); \
        if (rw_cu_error != cudaSuccess)                      \
            return rw_cu_fail((ctx), rw_cu_error, #call);    \
    } while (0)

/* Makes a call whose failure is ignored. Clears its error, which the check of the next launch would
 * report otherwise. */
#define RW_CU_MAY_FAIL(call)          \
    do {                              \
        if ((call) != cudaSuccess)    \
            (void)cudaGetLastError(); \
    } while (0)
