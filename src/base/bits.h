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
