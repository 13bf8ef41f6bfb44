/* Cache files that were changed by a hand that also mended the checksum. */
#pragma once

#include "base/ctx.h"
#include "each.h"
#include "io/cache/cache.h"
#include "scratch_file.h"

/* Writes bad.rwb with the right checksum, and reads it. */
static inline int cache_read_sealed(char *bytes, size_t n)
{
    const char *path = "bad.rwb";
    struct rw_dataset *dataset;
    const uint32_t crc = rw_checksum(0, bytes, n - sizeof(crc));
    memcpy(bytes + n - sizeof(crc), &crc, sizeof(crc));
    scratch_write(path, bytes, n);
    const int status = rw_dataset_read(scratch_ctx, &path, 1, &dataset);
    rw_dataset_free(dataset);
    return status;
}

/* Each byte of the counts of names, words and labels and of their sections becomes others, one at a
 * time: the file is read or refused. */
static inline void cache_change_bytes(char *bytes, size_t n)
{
    static const unsigned char changes[] = {0, 1, 2, 3, 0x20, 0x61, 0x7f, 0x80, 0xff};
    struct rw_cache_layout layout;
    struct rw_cache_header header;
    memcpy(&header, bytes, sizeof(header));
    cr_assert_eq(rw_cache_layout(&header, n, &layout), RW_OK);
    for (size_t at = offsetof(struct rw_cache_header, n_names); at + 4 < n; at++) {
        if (at == sizeof(header))
            at = layout.offset[RW_CACHE_NAME_FEATURE];
        const char was = bytes[at];
        for (size_t k = at % EACH(4); k < sizeof(changes); k += EACH(4)) {
            bytes[at] = (char)changes[k];
            const int status = cache_read_sealed(bytes, n);
            cr_assert(status == RW_OK || status == RW_ERR_FORMAT, "byte %zu: %d", at, status);
        }
        bytes[at] = was;
    }
}
