/* Sorting floats by value: least-significant-digit radix sort of order-keeping keys. */
#ifndef RW_BASE_SORT_H
#define RW_BASE_SORT_H

#include <stddef.h>

#include "base/bits.h"

/* A key that orders as the float does; NaN must not occur. */
RW_HD uint32_t rw_key_of_float(float value)
{
    const uint32_t bits = rw_bits_of_float(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

RW_HD float rw_float_of_key(uint32_t key)
{
    return rw_float_of_bits(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

#define RW_KEY_OF_ZERO 0x80000000u

/* Sorts keys ascending; keys, scratch: [n]. The result is in keys. */
static inline void rw_sort_keys(uint32_t *keys, uint32_t *scratch, size_t n)
{
    size_t start[3][2048];
    memset(start, 0, sizeof(start));
    for (size_t i = 0; i < n; i++) {
        start[0][keys[i] & 2047]++;
        start[1][keys[i] >> 11 & 2047]++;
        start[2][keys[i] >> 22]++;
    }
    uint32_t *from = keys, *to = scratch;
    for (int pass = 0; pass < 3; pass++) {
        size_t sum = 0;
        for (int digit = 0; digit < 2048; digit++) {
            const size_t count = start[pass][digit];
            start[pass][digit] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[start[pass][from[i] >> (11 * pass) & 2047]++] = from[i];
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    memcpy(keys, scratch, n * sizeof(*keys));
}

#endif
