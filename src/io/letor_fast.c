/* The fast path through a line's entries, for x86-64 with AVX2.
 *
 * First the places of all ':' and ' ' of some 2 KiB of text are listed, 64 bytes at a time. Between
 * two places stands a feature or a value, and neither is looped over: a feature is told by
 * comparing its text with that of the line before, and a value of up to 16 bytes is loaded so that
 * its last digit is the vector's last byte, the point is shuffled away, and pairs of digits, of
 * pairs, of fours are summed by multiply-and-add. So no branch depends on how long anything is:
 * such branches cost more than all the rest, for lengths cannot be foreseen.
 *
 * The value is computed in double as in number.c and under the same bounds; what they do not decide
 * goes to rw_number_parse, as do exponents, signs other than '-' and long decimals. */
#include "io/letor.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#include "io/format.h"

#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))

enum { VALUE_BYTES = 16, FEATURE_BYTES = 7 };

/* 16 bytes from [n] on: the last n of a vector. */
static const uint8_t last_bytes[2 * VALUE_BYTES] = {
    0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* The order that takes byte i, the point, out and puts a 0 (128) first; 16: no point. */
static const uint8_t without_point[VALUE_BYTES + 1][VALUE_BYTES] = {
    {128, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15},
    {128, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
};

/* 10^-digits behind a point at byte i; none without a point (16). Rounded to nearest. */
static const double scale_of_point[VALUE_BYTES + 1] = {1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10,
                                                       1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,
                                                       1e-3,  1e-2,  1e-1,  1e0,   1e0};

/* Lists the bits of `mask` plus `at`; returns how many there are. to: 64 may be written. */
AVX2 static inline size_t list_bits(uint64_t mask, uint32_t at, uint32_t *to)
{
    const size_t n = (size_t)_mm_popcnt_u64(mask);
    for (size_t i = 0; i < 16; i++) {
        to[i] = at + (uint32_t)_tzcnt_u64(mask);
        mask = _blsr_u64(mask);
    }
    for (size_t k = 16; k < n; k += 8) {
        for (size_t i = 0; i < 8; i++) {
            to[k + i] = at + (uint32_t)_tzcnt_u64(mask);
            mask = _blsr_u64(mask);
        }
    }
    return n;
}

/* Places of ':' and ' ' in n_bytes of text (64 more are read); to: [n_bytes + 64]. */
AVX2 static size_t list_places(const char *text, size_t n_bytes, uint32_t *to)
{
    const __m256i colon = _mm256_set1_epi8(':'), blank = _mm256_set1_epi8(' ');
    size_t n = 0;
    for (size_t at = 0; at < n_bytes; at += 64) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(text + at));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(text + at + 32));
        const __m256i in_a =
            _mm256_or_si256(_mm256_cmpeq_epi8(a, colon), _mm256_cmpeq_epi8(a, blank));
        const __m256i in_b =
            _mm256_or_si256(_mm256_cmpeq_epi8(b, colon), _mm256_cmpeq_epi8(b, blank));
        uint64_t mask = (uint32_t)_mm256_movemask_epi8(in_a) |
                        (uint64_t)(uint32_t)_mm256_movemask_epi8(in_b) << 32;
        if (n_bytes - at < 64)
            mask = _bzhi_u64(mask, (unsigned)(n_bytes - at));
        n += list_bits(mask, (uint32_t)at, to + n);
    }
    return n;
}

/* The decimal of n bytes (1 to 16) that ends at `end`; 0 returned if it is for the careful path.
 * The 16 bytes before `end` are read. */
AVX2 static inline int short_decimal(const char *end, size_t n, float *value)
{
    const __m128i text = _mm_loadu_si128((const __m128i *)(end - VALUE_BYTES));
    const size_t negative = end[-(ptrdiff_t)n] == '-';
    n -= negative;
    const __m128i inside = _mm_loadu_si128((const __m128i *)(last_bytes + n));
    const __m128i points = _mm_and_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('.')), inside);
    const uint32_t point = _tzcnt_u32((uint32_t)_mm_movemask_epi8(points) | 1u << VALUE_BYTES);
    const __m128i order = _mm_loadu_si128((const __m128i *)without_point[point]);
    const __m128i digits =
        _mm_shuffle_epi8(_mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')), inside), order);
    const __m128i beyond = _mm_subs_epu8(digits, _mm_set1_epi8(9));
    if (!_mm_testz_si128(beyond, beyond) || n <= (point < VALUE_BYTES))
        return 0;
    const __m128i two = _mm_maddubs_epi16(
        digits, _mm_setr_epi8(10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1, 10, 1));
    const __m128i four = _mm_madd_epi16(two, _mm_setr_epi16(100, 1, 100, 1, 100, 1, 100, 1));
    const __m128i eight = _mm_madd_epi16(_mm_packus_epi32(four, four),
                                         _mm_setr_epi16(10000, 1, 10000, 1, 10000, 1, 10000, 1));
    const uint64_t halves = (uint64_t)_mm_cvtsi128_si64(eight);
    const uint64_t whole = (halves & 0xffffffffu) * 100000000u + (halves >> 32);
    const double x = (double)(int64_t)whole * scale_of_point[point];
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if ((uint32_t)(bits & 0x1fffffff) - (0x10000000u - 8) <= 16)
        return 0; /* too near to the middle of two floats */
    const float magnitude = (float)x;
    *value =
        rw_float_of_bits(rw_bits_of_float(magnitude) | (uint32_t)(negative & (whole != 0)) << 31);
    return 1;
}

/* A feature's text as one number: its bytes, at most 7, and their count above them. */
static inline uint64_t feature_text(const char *colon, size_t n)
{
    uint64_t text;
    memcpy(&text, colon - 8, sizeof(text));
    return text >> (64 - 8 * n) | (uint64_t)n << 56;
}

/* The feature that a text says; RW_MAX_FEATURE + 1: none. */
static uint32_t feature_of(uint64_t text)
{
    uint32_t feature = 0;
    for (uint64_t n = text >> 56; n; n--, text >>= 8) {
        const uint32_t digit = (uint32_t)(text & 255) - '0';
        if (digit > 9)
            return RW_MAX_FEATURE + 1;
        feature = feature * 10 + digit;
    }
    return feature > RW_MAX_FEATURE ? RW_MAX_FEATURE + 1 : feature;
}

/* Entries between the places listed; stops at the first that is odd, *odd set, or at the last.
 * Returns where it stopped. */
AVX2 static const char *take_entries(struct rw_letor_entries *entries, const char *base,
                                     const char *end, const uint32_t *place, size_t n_places,
                                     int *odd)
{
    size_t n = entries->n;
    int32_t last = entries->last;
    const char *p = base;
    *odd = 1;
    size_t i = 0;
    for (; i + 1 < n_places; i += 2) {
        const char *colon = base + place[i], *blank = base + place[i + 1];
        const size_t feature_bytes = (size_t)(colon - p), value_bytes = (size_t)(blank - colon) - 1;
        if (*colon != ':' || (*blank != ' ' && blank != end) || feature_bytes - 1 >= FEATURE_BYTES)
            break;
        const uint64_t text = feature_text(colon, feature_bytes);
        if (text != entries->text[n]) {
            const uint32_t feature = feature_of(text);
            if (feature > RW_MAX_FEATURE)
                break;
            entries->feature[n] = (uint16_t)feature;
            entries->text[n] = text;
        }
        if (entries->feature[n] <= last)
            break;
        if (value_bytes - 1 >= VALUE_BYTES ||
            !short_decimal(blank, value_bytes, &entries->value[n])) {
            int clamped;
            if (rw_number_parse(colon + 1, blank, &entries->value[n], &clamped) != blank)
                break;
            entries->n_clamped += (uint64_t)clamped;
        }
        last = entries->feature[n++];
        p = blank + 1;
    }
    if (i + 1 >= n_places)
        *odd = 0;
    entries->n = n;
    entries->last = last;
    return p < end ? p : end;
}

AVX2 static const char *fast_avx2(struct rw_letor_entries *entries, const char *p, const char *end)
{
    uint32_t place[RW_LETOR_SPAN + 72];
    while (p < end && entries->room - entries->n >= RW_LETOR_SPAN_ENTRIES) {
        const size_t left = (size_t)(end - p);
        const size_t span = left < RW_LETOR_SPAN ? left : RW_LETOR_SPAN;
        size_t n_places = list_places(p, span, place);
        if (span == left)
            place[n_places++] = (uint32_t)span; /* the last value ends at the line's end */
        int odd;
        const char *stop = take_entries(entries, p, end, place, n_places, &odd);
        if (odd || stop == p)
            return stop;
        p = stop;
        if (span == left)
            return p;
    }
    return p;
}

rw_letor_fast_fn rw_letor_fast(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                   __builtin_cpu_supports("bmi2")
               ? fast_avx2
               : NULL;
}

#else

rw_letor_fast_fn rw_letor_fast(void)
{
    return NULL;
}

#endif
