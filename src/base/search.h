/* Binary search, on the host and on the device. */
#ifndef RW_BASE_SEARCH_H
#define RW_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/hd.h"

/* How many of n ascending numbers are under `limit`: the index of the first that is not. To count
 * those not above x, pass x + 1. Each number begins a record of `size` bytes. */
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

#endif
