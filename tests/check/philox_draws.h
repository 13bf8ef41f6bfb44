/* Draws of the device's generator. */
#pragma once

#include "base/rng.h"

struct philox_draw {
    uint64_t seed, item;
    uint32_t tree, stream;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Device pointers, n > 0. d_word: [n], written: rw_cuda_random4 of each draw. A cudaError_t. */
int philox_draws(const struct philox_draw *d_draw, uint32_t n, struct rw_philox *d_word,
                 void *stream);

#ifdef __cplusplus
}
#endif
