/* Small functions on numbers and their bits, for the host and the device: the bits of floats,
 * mixing for fingerprints, and binary search. For the host only, a radix sort of floats by value.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* RW_HD marks an inline function that gcc, clang and nvcc all compile, so that arithmetic that
 * determines a model exists only once. On floating-point numbers, such functions use only + - * /,
 * sqrt, comparisons and conversions. */
#ifdef __CUDACC__
#define RW_HD __host__ __device__ static inline
#else
#define RW_HD static inline
#endif

__extension__ typedef __int128 rw_int128;
__extension__ typedef unsigned __int128 rw_uint128;

/* ---- the bits of floating-point numbers ---- */

RW_HD float rw_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

RW_HD uint32_t rw_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Converts the bits of a binary16 number. Multiplying by 2^112, the difference between the two
 * exponent biases, also handles subnormal numbers. */
RW_HD float rw_float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    if (rest >= 0x0f800000) /* infinite or NaN */
        return rw_float_of_bits(sign | 0x70000000 | rest);
    return rw_float_of_bits(sign | rw_bits_of_float(rw_float_of_bits(rest) * 0x1p112f));
}

/* Returns bit `at` of an array: bit at % 8 of byte at / 8, where bit 0 is the lowest. */
RW_HD int rw_bit_of(const uint8_t *bits, size_t at)
{
    return bits[at / 8] >> (at % 8) & 1;
}

RW_HD double rw_double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

RW_HD uint64_t rw_bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* Mixes a 64-bit number, for fingerprints: each bit of the result depends on all bits of the
 * argument. It is one step from state x of the generator of Steele, Lea and Flood ("Fast splittable
 * pseudorandom number generators", OOPSLA 2014). */
RW_HD uint64_t rw_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Returns the term of item `what` at position `index`. A fingerprint is the sum of such terms
 * modulo 2^64. */
RW_HD uint64_t rw_mix_item(uint64_t index, uint64_t what)
{
    return rw_mix(rw_mix(index) ^ what);
}

/* ---- binary search, on the host and on the device ---- */
/* Returns how many of n ascending numbers are below `limit`, which is also the index of the first
 * number that is not. To count the numbers up to x, pass x + 1. Each number is a uint32_t, the
 * first field of a record of `size` bytes. */
RW_HD uint32_t rw_records_under(const void *record, size_t size, uint32_t n, uint64_t limit)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (*(const uint32_t *)((const char *)record + middle * size) < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

RW_HD uint32_t rw_numbers_under(const uint32_t *number, uint32_t n, uint64_t limit)
{
    return rw_records_under(number, sizeof(*number), n, limit);
}

/* ---- sorting floats by value: least-significant-digit radix sort of order-preserving keys ---- */
/* Returns a key whose order as an integer is that of the float. The key of -0 is just below that of
 * +0. NaN must not occur. */
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

/* Sorts `keys` in ascending order, in place. `scratch` has room for n keys, too. */
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
