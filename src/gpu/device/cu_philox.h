/* Random numbers of the device, for tests: the project's own generator (base/rng.h) as nvcc
 * compiles it, and cuRAND's of the same name. */
#ifndef RW_GPU_CU_PHILOX_H
#define RW_GPU_CU_PHILOX_H

#include "base/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One draw: counter and key as rw_philox4x32_10 takes them. */
struct rw_philox_draw {
    struct rw_philox counter;
    uint32_t key[2];
};

/* Device pointers. d_own, d_other: [n], written: the project's four words of each draw, and those
 * of cuRAND's curand_Philox4x32_10. */
int rw_cuda_philox_draws(const struct rw_philox_draw *d_draw, uint32_t n, struct rw_philox *d_own,
                         struct rw_philox *d_other, void *stream);
/* The same through what programs call: d_own[i] is rw_random4(seed, item, tree, stream) with item =
 * counter words 0 and 1 (under 2^62), tree = word 2, stream = word 3, and the key the seed; d_other
 * is curand4 of a state that curand_init made of the same. */
int rw_cuda_philox_states(const struct rw_philox_draw *d_draw, uint32_t n, struct rw_philox *d_own,
                          struct rw_philox *d_other, void *stream);

#ifdef __cplusplus
}
#endif
#endif
