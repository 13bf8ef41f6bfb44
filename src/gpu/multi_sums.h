/* Sums of lambdas and weights by key on the device: by leaf for the leaves' values, by query. */
#ifndef RW_GPU_MULTI_SUMS_H
#define RW_GPU_MULTI_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "tree/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Place p stands for document list[p], or p, whose key is key[p]. Keys in rows of equal ones are
 * faster, and any order gives the same sums. Lambdas and weights need no limits beyond those of
 * struct rw_sum. */
struct rw_sums_call {
    uint64_t n; /* places, at most 2^31 */
    uint32_t n_keys;
    const uint32_t *d_key;   /* [n]; a key of n_keys or more is passed over */
    const uint32_t *d_list;  /* [n] documents; NULL: place p is document p */
    const int64_t *d_lambda; /* [documents] fixed point */
    const int64_t *d_weight; /* the same; NULL: weight sums are 0 */
    struct rw_sum *d_sum;    /* [n_keys], written whole */
    int n_multiprocessors;   /* of the device */
    size_t shared_bytes;     /* that a block may take */
};
/* Enqueues on the cudaStream_t: nothing is allocated, no scratch, nothing waits. Returns a
 * cudaError_t. */
int rw_cuda_sums_by_key(const struct rw_sums_call *call, void *stream);

/* The reference: the same call with pointers to the host's arrays. */
void rw_sums_by_key_serial(const struct rw_sums_call *call);

#ifdef __cplusplus
}
#endif
#endif
