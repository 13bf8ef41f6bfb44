/* CRC-32 by carry-less multiplication (the instruction PCLMULQDQ). A message may be replaced by any
 * shorter one that has the same remainder modulo the polynomial P. Each step folds 64 bytes into
 * the next 64. To do so, it multiplies each half of 16 bytes with x^n mod P, where n is the
 * distance in bits. The method is that of Gopal, Ozturk, Guilford et al., "Fast CRC computation for
 * generic polynomials using PCLMULQDQ", Intel 2009. Tables reduce the 16 bytes that are left, and
 * process the bytes after the last 64. Tables alone are used for short inputs, on processors
 * without the instruction, and with RANKWOOD_ISA=plain. */
#include "base/ctx.h"

#include <pthread.h>

#include "base/machine.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

enum { SLICES = 8 };
#define POLYNOMIAL 0xEDB88320u /* P, bits reversed, without x^32 */

/* slice[i][b] is the change to the checksum by a byte b that is followed by i more bytes of the
 * same step. */
static uint32_t slice[SLICES][256];

static void make_slices(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t r = b;
        for (int bit = 0; bit < 8; bit++)
            r = r >> 1 ^ (r & 1 ? POLYNOMIAL : 0);
        slice[0][b] = r;
    }
    for (uint32_t b = 0; b < 256; b++)
        for (int i = 1; i < SLICES; i++)
            slice[i][b] = slice[i - 1][b] >> 8 ^ slice[0][slice[i - 1][b] & 255];
}

/* Updates the checksum by tables, eight bytes per step. */
static uint32_t by_slices(uint32_t crc, const unsigned char *at, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_slices);
    crc = ~crc;
    for (; n >= SLICES; at += SLICES, n -= SLICES) {
        uint32_t next = 0;
        for (int i = 0; i < SLICES; i++)
            next ^= slice[SLICES - 1 - i][at[i] ^ (i < 4 ? crc >> 8 * i & 255 : 0)];
        crc = next;
    }
    while (n--)
        crc = crc >> 8 ^ slice[0][(crc ^ *at++) & 255];
    return ~crc;
}

#if RW_HAS_X86

#define RW_CLMUL __attribute__((target("pclmul,sse4.1")))

/* Returns x^n mod P with its bits reversed, as the multiplication expects it. It is shifted up by
 * one bit, since the product of two reversed numbers is shifted down by one. */
static int64_t power(int n)
{
    uint32_t r = 0x80000000u; /* 1 */
    for (int i = 0; i < n; i++)
        r = r >> 1 ^ (r & 1 ? POLYNOMIAL : 0);
    return (int64_t)((uint64_t)r << 1);
}

/* Multiplies the halves of `sum` by `keys`, which moves them by a fixed distance, and adds `next`.
 */
RW_CLMUL static inline __m128i fold(__m128i sum, __m128i keys, __m128i next)
{
    const __m128i low = _mm_clmulepi64_si128(sum, keys, 0x00);
    const __m128i high = _mm_clmulepi64_si128(sum, keys, 0x11);
    return _mm_xor_si128(next, _mm_xor_si128(low, high));
}

RW_CLMUL static inline __m128i fetch(const unsigned char *at)
{
    return _mm_loadu_si128((const __m128i *)at);
}

/* Returns the checksum of the first n / 64 * 64 bytes. n is at least 64. */
RW_CLMUL static uint32_t by_folding(uint32_t crc, const unsigned char *data, size_t n)
{
    const __m128i far = _mm_set_epi64x(power(512 - 32), power(512 + 32)),
                  near = _mm_set_epi64x(power(128 - 32), power(128 + 32));
    __m128i sum[4];
    unsigned char left[16];
    for (int i = 0; i < 4; i++)
        sum[i] = fetch(data + 16 * i);
    /* an initial register has the same effect as if it were xored into the first four bytes */
    sum[0] = _mm_xor_si128(sum[0], _mm_cvtsi32_si128((int)~crc));
    for (size_t at = 64; at + 64 <= n; at += 64) {
        for (int i = 0; i < 4; i++)
            sum[i] = fold(sum[i], far, fetch(data + at + 16 * (size_t)i));
    }
    __m128i all = sum[0];
    for (int i = 1; i < 4; i++)
        all = fold(all, near, sum[i]);
    _mm_storeu_si128((__m128i *)left, all);
    return by_slices(0xFFFFFFFFu, left, sizeof(left)); /* start from a register of 0 */
}

#endif

uint32_t rw_checksum(uint32_t crc, const void *data, size_t n_bytes)
{
    const unsigned char *at = data;
#if RW_HAS_X86
    if (n_bytes >= 1024 && rw_isa() != RW_ISA_PLAIN && __builtin_cpu_supports("pclmul")) {
        const size_t n = n_bytes / 64 * 64;
        crc = by_folding(crc, at, n);
        at += n;
        n_bytes -= n;
    }
#endif
    return by_slices(crc, at, n_bytes);
}
