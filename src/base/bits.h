/* The bits of floating-point numbers. */
#ifndef RW_BASE_BITS_H
#define RW_BASE_BITS_H

#include <stdint.h>
#include <string.h>

#include "base/hd.h"

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

/* Of a binary16's bits. 2^112 between the two exponents' biases makes numbers of subnormals, too.
 */
RW_HD float rw_float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    if (rest >= 0x0f800000) /* infinite or NaN */
        return rw_float_of_bits(sign | 0x70000000 | rest);
    return rw_float_of_bits(sign | rw_bits_of_float(rw_float_of_bits(rest) * 0x1p112f));
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

#endif
