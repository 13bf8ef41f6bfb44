/* A document's lambda and hessian, in one load. */
#ifndef RW_GPU_LOAD_GRADIENT_CUH
#define RW_GPU_LOAD_GRADIENT_CUH

#include <stdint.h>

#include "objective/lambda.h"

static __device__ __forceinline__ struct rw_lambda_pair pair_at(const struct rw_lambda_pair *d_pair,
                                                                uint64_t doc)
{
    const longlong2 both = *(const longlong2 *)(const void *)&d_pair[doc];
    return {both.x, both.y};
}

#endif
