/* SHA-256 (FIPS 180-4), as sha256sum prints it: says which file somebody speaks of. */
#ifndef RW_BASE_SHA256_H
#define RW_BASE_SHA256_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_SHA256_HEX = 65 };
/* hex: 64 digits and a 0. */
void rw_sha256(const void *data, size_t n_bytes, char hex[RW_SHA256_HEX]);

#ifdef __cplusplus
}
#endif
#endif
