/* A document's quantised lambda and hessian in one word. It moves with the document along the list
 * of documents, so that the histograms of nodes read it in the order in which it stands, and
 * partitions copy no more bytes than there are. */
#ifndef RW_GPU_HIST_MOVED_H
#define RW_GPU_HIST_MOVED_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

/* What a word holds: the lambda in the low bits, with two's complement, the hessian above it. */
enum rw_moved {
    RW_MOVED_LAMBDA, /* a lambda of 16 bits */
    RW_MOVED_BYTES,  /* both, of 8 bits */
    RW_MOVED_HALVES  /* both, of 16 bits */
};

/* The least that holds numbers up to `largest`, which is 1 to 32767. */
RW_HD enum rw_moved rw_moved_of(int newton, int32_t largest)
{
    if (!newton)
        return RW_MOVED_LAMBDA;
    return largest <= INT8_MAX ? RW_MOVED_BYTES : RW_MOVED_HALVES;
}

RW_HD size_t rw_moved_bytes(enum rw_moved moved)
{
    return moved == RW_MOVED_HALVES ? sizeof(uint32_t) : sizeof(uint16_t);
}

RW_HD uint32_t rw_moved_word(enum rw_moved moved, int32_t lambda, int32_t hess)
{
    return moved == RW_MOVED_BYTES ? (uint32_t)hess << 8 | ((uint32_t)lambda & 0xffu)
                                   : (uint32_t)hess << 16 | ((uint32_t)lambda & 0xffffu);
}

RW_HD int32_t rw_moved_lambda(enum rw_moved moved, uint32_t word)
{
    return moved == RW_MOVED_BYTES ? (int8_t)word : (int16_t)word;
}

RW_HD int32_t rw_moved_hess(enum rw_moved moved, uint32_t word)
{
    return (int32_t)(moved == RW_MOVED_BYTES ? word >> 8 & 0xffu : word >> 16);
}

/* Word i of an array. */
RW_HD uint32_t rw_moved_at(enum rw_moved moved, const void *words, uint64_t i)
{
    return moved == RW_MOVED_HALVES ? ((const uint32_t *)words)[i] : ((const uint16_t *)words)[i];
}

RW_HD void rw_moved_set(enum rw_moved moved, void *words, uint64_t i, uint32_t word)
{
    if (moved == RW_MOVED_HALVES)
        ((uint32_t *)words)[i] = word;
    else
        ((uint16_t *)words)[i] = (uint16_t)word;
}

#endif
