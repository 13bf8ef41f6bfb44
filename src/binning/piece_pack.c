/* Values with the most frequent one left out. */
#include "binning/pieces.h"
#if RW_HAS_X86
#include <immintrin.h>
#endif

#if RW_HAS_X86
/* From the front; returns how many were taken, and in *n_out how many of them are kept. */
RW_AVX512 static uint32_t pack_avx512(const float *value, uint32_t n, uint32_t rest, uint8_t *bits,
                                      float *out, uint32_t *n_out)
{
    const __m512i most = _mm512_set1_epi32((int)rest);
    uint32_t i = 0, at = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i one = _mm512_loadu_si512(value + i);
        const __mmask16 keep = _mm512_cmpneq_epi32_mask(one, most);
        const uint16_t mask = (uint16_t)keep;
        memcpy(bits + i / 8, &mask, sizeof(mask));
        _mm512_storeu_si512(out + at, _mm512_maskz_compress_epi32(keep, one));
        at += (uint32_t)__builtin_popcount(mask);
    }
    *n_out = at;
    return i;
}

RW_AVX512 static uint32_t unpack_avx512(const float *packed, const uint8_t *bits, uint32_t n,
                                        uint32_t rest, float *out, uint32_t *n_in)
{
    const __m512i most = _mm512_set1_epi32((int)rest);
    uint32_t i = 0, at = 0;
    for (; i + 16 <= n; i += 16) {
        uint16_t mask;
        memcpy(&mask, bits + i / 8, sizeof(mask));
        const __m512i some = _mm512_loadu_si512(packed + at); /* RW_PACK_PAD may be read, too */
        _mm512_storeu_si512(out + i, _mm512_mask_expand_epi32(most, mask, some));
        at += (uint32_t)__builtin_popcount(mask);
    }
    *n_in = at;
    return i;
}
#endif

uint32_t rw_piece_pack(enum rw_isa isa, const float *value, uint32_t n, uint32_t rest,
                       uint8_t *bits, float *out)
{
    uint32_t i = 0, at = 0;
#if RW_HAS_X86
    if (isa == RW_ISA_AVX512)
        i = pack_avx512(value, n, rest, bits, out, &at);
#else
    (void)isa;
#endif
    for (; i < n; i += 8) {
        const uint32_t end = n - i < 8 ? n - i : 8;
        uint32_t byte = 0;
        for (uint32_t k = 0; k < end; k++) {
            const uint32_t one = rw_bits_of_float(value[i + k]), keep = one != rest;
            memcpy(&out[at], &one, sizeof(one));
            at += keep;
            byte |= keep << k;
        }
        bits[i / 8] = (uint8_t)byte;
    }
    return at;
}

void rw_piece_unpack(enum rw_isa isa, const float *packed, const uint8_t *bits, uint32_t n,
                     uint32_t rest, float *restrict out)
{
    uint32_t i = 0, at = 0;
#if RW_HAS_X86
    if (isa == RW_ISA_AVX512)
        i = unpack_avx512(packed, bits, n, rest, out, &at);
#else
    (void)isa;
#endif
    for (; i < n; i++) {
        const uint32_t bit = bits[i / 8] >> (i % 8) & 1;
        const uint32_t some = rw_bits_of_float(packed[at]); /* RW_PACK_PAD may be read, too */
        const uint32_t one = bit ? some : rest;
        memcpy(&out[i], &one, sizeof(one));
        at += bit;
    }
}
