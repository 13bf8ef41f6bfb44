/* Every CUDA call is checked here: its failure becomes an error of the context, and the sticky
 * error is cleared. */
#pragma once

#include <cuda_runtime_api.h>

#include "base/ctx.h"

/* The error's text, with what was being done, and how much memory is free if that ran out; returns
 * RW_ERR_MEMORY if memory ran out, RW_ERR_UNSUPPORTED if this GPU or driver never will, else
 * RW_ERR_MACHINE. */
int rw_cu_fail(struct rw_ctx *ctx, cudaError_t error, const char *what);

#define RW_CU(ctx, call)                                  \
    do {                                                  \
        const cudaError_t rw_cu_error = (call);           \
        if (rw_cu_error != cudaSuccess)                   \
            return rw_cu_fail((ctx), rw_cu_error, #call); \
    } while (0)

/* A call whose failure changes nothing. Its error is cleared: the next launch would be blamed. */
#define RW_CU_MAY_FAIL(call)          \
    do {                              \
        if ((call) != cudaSuccess)    \
            (void)cudaGetLastError(); \
    } while (0)
