/* CRC-32 as gzip and zlib have it, by carry-less multiplication where the processor can. */
#ifndef RW_BASE_CHECKSUM_H
#define RW_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc` (0 at first), as zlib's crc32 does. RANKWOOD_ISA=plain: by tables. */
uint32_t rw_checksum(uint32_t crc, const void *data, size_t n_bytes);

#endif
