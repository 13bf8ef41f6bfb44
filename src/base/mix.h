/* Mixing of 64-bit numbers, for fingerprints: each bit of the result depends on all bits of the
 * argument (the generator of Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014, one step from state x). */
#ifndef RW_BASE_MIX_H
#define RW_BASE_MIX_H

#include <stdint.h>

#include "base/hd.h"

RW_HD uint64_t rw_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* An item of a fingerprint that is the sum of its items, modulo 2^64: `what` stands at `index`. */
RW_HD uint64_t rw_mix_item(uint64_t index, uint64_t what)
{
    return rw_mix(rw_mix(index) ^ what);
}

#endif
