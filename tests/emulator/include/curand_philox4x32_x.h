/* Philox4x32-10 (Salmon and others 2011), under cuRAND's name. */
#pragma once

#include "cuda_runtime.h"

static inline uint4 curand_Philox4x32_10(uint4 c, uint2 k)
{
    for (int round = 0; round < 10; round++) {
        const uint64_t a = 0xD2511F53ull * c.x, b = 0xCD9E8D57ull * c.z;
        c = {(unsigned)(b >> 32) ^ c.y ^ k.x, (unsigned)b, (unsigned)(a >> 32) ^ c.w ^ k.y,
             (unsigned)a};
        k = {k.x + 0x9E3779B9u, k.y + 0xBB67AE85u};
    }
    return c;
}
