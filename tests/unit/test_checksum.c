#include <stdlib.h>
#include <zlib.h>

#include "base/ctx.h"
#include "train_fixture.h"

/* Against zlib, at every length and place; whole and in two parts. */
Test(checksum, as_zlib_has_it)
{
    enum { N = 5000 };
    static unsigned char data[N + 64];
    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(rw_random(3, i, 0, FIXTURE_STREAM) >> 24);
    cr_assert_eq(rw_checksum(0, "123456789", 9), 0xCBF43926u); /* the known check value */
    for (uint32_t n = 0; n < N; n += n < 1200 ? 1 : 37) {
        const unsigned char *at = data + n % 64;
        const uint32_t want = (uint32_t)crc32(0, at, n);
        cr_assert_eq(rw_checksum(0, at, n), want, "%u bytes", n);
        const uint32_t first = n / 3;
        cr_assert_eq(rw_checksum(rw_checksum(0, at, first), at + first, n - first), want);
    }
}

Test(checksum, many_bytes)
{
    const size_t n = ((size_t)9 << 20) + 77;
    unsigned char *data = malloc(n);
    cr_assert(data);
    for (size_t i = 0; i < n; i++)
        data[i] = (unsigned char)(i * i >> 5);
    const uint32_t want = (uint32_t)crc32(7, data, (uInt)n);
    cr_assert_eq(rw_checksum(7, data, n), want);
    setenv("RANKWOOD_ISA", "plain", 1);
    cr_assert_eq(rw_checksum(7, data, n), want);
    data[n / 2] ^= 1;
    unsetenv("RANKWOOD_ISA");
    cr_assert_neq(rw_checksum(7, data, n), want);
    free(data);
}
