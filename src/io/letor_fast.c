/* Fast paths for the entries (feature:value) of a line, for x86-64 with AVX2, or better with
 * AVX-512.
 *
 * They first list the positions of all ':' and ' ' in about 2 KiB of text, 64 bytes at a time.
 * Between two positions is a feature or a value, and neither usually needs a loop. A feature is
 * recognised by comparing its text with that of the same entry of the previous line. A value of up
 * to 16 bytes is loaded such that its last digit is the vector's last byte, and a shuffle removes
 * the decimal point. Then four values at a time are converted: multiply-add combines digits to
 * pairs, pairs to fours, and so on. No branch thus depends on a length. Lengths are unpredictable,
 * and such branches would cost more than all the rest. With AVX-512, eight features are compared
 * and eight values loaded at a time.
 *
 * A value is computed in double, as in base/number.c: if the double is far enough from the middle
 * of two floats, rounding it gives the right float. Values that are too close to a middle go to
 * rw_number_parse (careful_values), and so do exponents, '+' and values of more than 16 bytes. */
#include "io/text.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt,pclmul")))
#define AVX512                                                                     \
    __attribute__((target("avx2,bmi,bmi2,popcnt,pclmul,avx512f,avx512bw,avx512cd," \
                          "avx512dq,avx512vl,avx512vbmi2")))

enum {
    VALUE_BYTES = 16,
    FEATURE_BYTES = 7,
    MOST_POSITIONS = RW_LETOR_SPAN + 72, /* lists are written beyond the last position */
    MOST_VALUES = RW_LETOR_SPAN / 4 + 8
};

/* The data about a span of text. */
struct span {
    const char *begin;
    size_t n_positions;
    int odd;                           /* 1: the positions end where ':' and ' ' do not alternate */
    uint16_t position[MOST_POSITIONS]; /* alternating ':' and ' ', relative to `begin` */
    uint8_t digits[MOST_VALUES][VALUE_BYTES]; /* right-aligned; a byte above 9: not a decimal */
    uint32_t flags[MOST_VALUES];              /* NEGATIVE and NO_DIGITS, or 0 */
    double scale[MOST_VALUES];                /* power of ten by which to multiply the digits */
};
enum { NO_DIGITS = 1 }; /* the text is not a short decimal */
#define NEGATIVE 0x80000000u

/* 10^-i, rounded to nearest. */
static const double scale_of_digits[VALUE_BYTES] = {1e0,   1e-1,  1e-2,  1e-3, 1e-4,  1e-5,
                                                    1e-6,  1e-7,  1e-8,  1e-9, 1e-10, 1e-11,
                                                    1e-12, 1e-13, 1e-14, 1e-15};

/* Selects the positions of `in_colon` and `in_blank` that precede the first one out of turn. */
AVX2 static inline uint64_t in_turn(struct span *span, uint64_t in_colon, uint64_t in_blank)
{
    const uint64_t mask = in_colon | in_blank;
    /* bit i: whether the number of positions up to i is odd; if so, i must be ':' */
    const __m128i sums =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)mask), _mm_set1_epi8(-1), 0);
    const uint64_t before = 0 - (uint64_t)(span->n_positions & 1);
    const uint64_t is_odd = (uint64_t)_mm_cvtsi128_si64(sums) ^ before;
    const uint64_t wrong = (mask & is_odd) ^ in_colon;
    span->odd = wrong != 0;
    return wrong ? mask & (_blsi_u64(wrong) - 1) : mask;
}

/* Lists the bits of `mask` as positions from `at` on. */
AVX2 static inline void list_bits(struct span *span, uint64_t mask, size_t at)
{
    uint16_t *to = span->position + span->n_positions;
    const size_t n = (size_t)_mm_popcnt_u64(mask);
    for (size_t i = 0; i < 24; i++) { /* usually enough for all of them */
        to[i] = (uint16_t)(at + _tzcnt_u64(mask));
        mask = _blsr_u64(mask);
    }
    for (size_t i = 24; i < n; i++) {
        to[i] = (uint16_t)(at + _tzcnt_u64(mask));
        mask = _blsr_u64(mask);
    }
    span->n_positions += n;
}

/* Lists the positions in n_bytes of text. Up to 63 more bytes are read. */
AVX2 static void list_avx2(struct span *span, const char *text, size_t n_bytes)
{
    const __m256i colon = _mm256_set1_epi8(':'), blank = _mm256_set1_epi8(' ');
    span->begin = text;
    span->n_positions = 0;
    span->odd = 0;
    for (size_t at = 0; at < n_bytes && !span->odd; at += 64) {
        const __m256i a = _mm256_loadu_si256((const __m256i *)(text + at));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(text + at + 32));
        const uint64_t colon_a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, colon));
        const uint64_t colon_b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, colon));
        const uint64_t blank_a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, blank));
        const uint64_t blank_b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, blank));
        const unsigned n = n_bytes - at < 64 ? (unsigned)(n_bytes - at) : 64;
        list_bits(span,
                  in_turn(span, _bzhi_u64(colon_a | colon_b << 32, n),
                          _bzhi_u64(blank_a | blank_b << 32, n)),
                  at);
    }
}

/* Does what list_avx2 does, and compresses the positions of 64 bytes at once. */
AVX512 static void list_avx512(struct span *span, const char *text, size_t n_bytes)
{
    static const uint8_t count[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i colon = _mm512_set1_epi8(':'), blank = _mm512_set1_epi8(' ');
    const __m512i all = _mm512_loadu_si512(count);
    span->begin = text;
    span->n_positions = 0;
    span->odd = 0;
    for (size_t at = 0; at < n_bytes && !span->odd; at += 64) {
        const __m512i bytes = _mm512_loadu_si512(text + at);
        const unsigned n = n_bytes - at < 64 ? (unsigned)(n_bytes - at) : 64;
        const uint64_t mask = in_turn(span, _bzhi_u64(_mm512_cmpeq_epi8_mask(bytes, colon), n),
                                      _bzhi_u64(_mm512_cmpeq_epi8_mask(bytes, blank), n));
        const __m512i positions = _mm512_maskz_compress_epi8(mask, all);
        const __m512i base = _mm512_set1_epi16((short)at);
        uint16_t *to = span->position + span->n_positions;
        _mm512_storeu_si512(
            to, _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(positions)), base));
        _mm512_storeu_si512(
            to + 32,
            _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(positions, 1)), base));
        span->n_positions += (size_t)_mm_popcnt_u64(mask);
    }
}

/* Loads the k-th value, n bytes that end at `end` (16 bytes before it are read), without sign and
 * decimal point. */
AVX2 static inline void take_value(struct span *span, size_t k, const char *end, size_t n)
{
    const __m128i text = _mm_loadu_si128((const __m128i *)(end - VALUE_BYTES));
    const uint32_t negative = end[-(ptrdiff_t)n] == '-';
    n -= negative;
    const __m128i byte = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i inside = _mm_cmpgt_epi8(byte, _mm_set1_epi8((char)(VALUE_BYTES - 1 - n)));
    const __m128i points = _mm_and_si128(_mm_cmpeq_epi8(text, _mm_set1_epi8('.')), inside);
    const uint32_t point = _tzcnt_u32((uint32_t)_mm_movemask_epi8(points) | 1u << VALUE_BYTES);
    const int has_point = point < VALUE_BYTES;
    /* up to the decimal point, each byte takes the previous one; index 255 makes the first byte 0
     */
    const __m128i moves = _mm_cmpgt_epi8(_mm_set1_epi8(has_point ? (char)(point + 1) : 0), byte);
    const __m128i digits = _mm_shuffle_epi8(
        _mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')), inside), _mm_add_epi8(byte, moves));
    _mm_storeu_si128((__m128i *)span->digits[k], digits);
    span->flags[k] = negative << 31 | (n <= (size_t)has_point ? NO_DIGITS : 0);
    span->scale[k] = scale_of_digits[has_point ? VALUE_BYTES - 1 - point : 0];
}

/* Leaves a value to careful_values. */
static void leave_value(struct span *span, size_t k)
{
    memset(span->digits[k], 0, VALUE_BYTES);
    span->flags[k] = NO_DIGITS;
    span->scale[k] = 0;
}

/* Converts values k to k + 3. Returns a mask of all four if one of them needs careful_values. */
AVX2 static inline uint32_t make_values(const struct span *span, size_t k, float *value)
{
    const __m256i a = _mm256_loadu_si256((const __m256i *)span->digits[k]);
    const __m256i b = _mm256_loadu_si256((const __m256i *)span->digits[k + 2]);
    const __m256i nine = _mm256_set1_epi8(9);
    const __m256i beyond = _mm256_or_si256(_mm256_subs_epu8(a, nine), _mm256_subs_epu8(b, nine));
    const __m256i tens = _mm256_set1_epi16(1 << 8 | 10),
                  hundreds = _mm256_set1_epi32(1 << 16 | 100);
    const __m256i four_a = _mm256_madd_epi16(_mm256_maddubs_epi16(a, tens), hundreds);
    const __m256i four_b = _mm256_madd_epi16(_mm256_maddubs_epi16(b, tens), hundreds);
    const __m256i eight =
        _mm256_madd_epi16(_mm256_packus_epi32(four_a, four_b), _mm256_set1_epi32(1 << 16 | 10000));
    /* the upper eight digits of the four values, then the lower eight */
    const __m256i sorted =
        _mm256_permutevar8x32_epi32(eight, _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7));
    const __m256d upper = _mm256_cvtepi32_pd(_mm256_castsi256_si128(sorted));
    const __m256d lower = _mm256_cvtepi32_pd(_mm256_extracti128_si256(sorted, 1));
    const __m256d whole = _mm256_add_pd(_mm256_mul_pd(upper, _mm256_set1_pd(1e8)), lower);
    const __m256d x = _mm256_mul_pd(whole, _mm256_loadu_pd(span->scale + k));
    /* the bits that a float cannot represent, minus the middle and 8: up to 16 is too close to the
     * middle; the upper halves are made large */
    const __m256i rest =
        _mm256_sub_epi32(_mm256_and_si256(_mm256_castpd_si256(x), _mm256_set1_epi64x(0x1fffffff)),
                         _mm256_set1_epi64x((INT64_C(1) << 32) + 0x10000000 - 8));
    const __m256i near = _mm256_cmpeq_epi32(_mm256_min_epu32(rest, _mm256_set1_epi32(16)), rest);
    const __m128i flags = _mm_loadu_si128((const __m128i *)(span->flags + k));
    const __m128i none = _mm_and_si128(flags, _mm_set1_epi32(NO_DIGITS));
    const __m256i bad =
        _mm256_or_si256(_mm256_or_si256(beyond, near), _mm256_zextsi128_si256(none));
    const __m128 magnitude = _mm256_cvtpd_ps(x);
    const __m128 is_zero = _mm_cmpeq_ps(magnitude, _mm_setzero_ps());
    const __m128 sign = _mm_castsi128_ps(_mm_and_si128(flags, _mm_set1_epi32((int)NEGATIVE)));
    _mm_storeu_ps(value, _mm_or_ps(magnitude, _mm_andnot_ps(is_zero, sign)));
    return _mm256_testz_si256(bad, bad) ? 0 : 15;
}

/* Returns a feature's text as one number: at most 7 bytes, with their count above them. */
static inline uint64_t feature_text(const char *colon, size_t n)
{
    uint64_t text;
    memcpy(&text, colon - 8, sizeof(text));
    return text >> (64 - 8 * n) | (uint64_t)n << 56;
}

/* Parses a feature's text. Returns RW_FEATURE_IDS if it is invalid. */
static uint32_t feature_of(uint64_t text)
{
    uint32_t feature = 0;
    for (uint64_t n = text >> 56; n; n--, text >>= 8) {
        const uint32_t digit = (uint32_t)(text & 255) - '0';
        if (digit > 9)
            return RW_FEATURE_IDS;
        feature = feature * 10 + digit;
    }
    return feature > RW_MAX_FEATURE ? RW_FEATURE_IDS : feature;
}

/* Converts those of n values from the k-th on that have a bit in `bad`, with rw_number_parse.
 * Returns how many of the n values, from the first on, are valid. */
static size_t careful_values(struct rw_letor_entries *entries, const struct span *span, size_t k,
                             size_t n, uint32_t bad, float *value)
{
    for (bad &= (1u << n) - 1; bad; bad &= bad - 1) {
        const size_t i = (size_t)__builtin_ctz(bad);
        const char *begin = span->begin + span->position[2 * (k + i)] + 1;
        const char *end = span->begin + span->position[2 * (k + i) + 1];
        int clamped;
        if (rw_number_parse(begin, end, &value[i], &clamped) != end)
            return i;
        entries->n_clamped += (uint64_t)clamped;
    }
    return n;
}

/* Parses features and digits of values between the listed positions. Returns the number of entries
 * that pass the checks of this step. */
AVX2 static size_t take_entries(const struct rw_letor_entries *entries, struct span *span)
{
    uint16_t *const feature = entries->feature + entries->n;
    uint64_t *const text = entries->text + entries->n;
    const size_t n = span->n_positions / 2;
    const char *p = span->begin;
    int32_t last = entries->last;
    size_t k = 0;
    for (; k < n; k++) {
        const char *colon = span->begin + span->position[2 * k];
        const char *blank = span->begin + span->position[2 * k + 1];
        const size_t feature_bytes = (size_t)(colon - p), value_bytes = (size_t)(blank - colon) - 1;
        if (feature_bytes - 1 >= FEATURE_BYTES || value_bytes == 0)
            break;
        const uint64_t this_text = feature_text(colon, feature_bytes);
        if (this_text != text[k]) {
            const uint32_t this_feature = feature_of(this_text);
            if (this_feature > RW_MAX_FEATURE)
                break;
            feature[k] = (uint16_t)this_feature;
            text[k] = this_text;
        }
        if (feature[k] <= last)
            break;
        last = feature[k];
        if (value_bytes <= VALUE_BYTES)
            take_value(span, k, blank, value_bytes);
        else
            leave_value(span, k);
        p = blank + 1;
    }
    span->odd |= k < n;
    return k;
}

/* Appends the entries of a span and returns their number. */
AVX2 static size_t span_avx2(struct rw_letor_entries *entries, struct span *span)
{
    const size_t n = take_entries(entries, span);
    float *const value = entries->value + entries->n;
    size_t k = 0;
    for (size_t i = n; i < n + 3; i++) { /* pads to a multiple of four */
        leave_value(span, i);
        span->flags[i] = 0;
    }
    while (k < n) {
        const size_t n_wanted = n - k < 4 ? n - k : 4;
        const uint32_t bad = make_values(span, k, value + k);
        const size_t n_good =
            bad ? careful_values(entries, span, k, n_wanted, bad, value + k) : n_wanted;
        k += n_good;
        if (n_good < n_wanted)
            break;
    }
    span->odd |= k < n;
    if (k)
        entries->last = entries->feature[entries->n + k - 1];
    entries->n += k;
    return k;
}

/* ---- AVX-512: eight entries at a time ---- */

/* Eight values as they are read: digits, right-aligned, the last eight of each and the eight
 * before. */
struct eight {
    __m512i low, high; /* high: used only if a value is that long */
    __m512d scale;
    __mmask8 negative, bad;
};

/* Keeps the last n of 8 bytes in each element, and sets the others to 0. */
AVX512 static inline __m512i keep_last(__m512i bytes, __m512i n)
{
    const __m512i bits = _mm512_slli_epi64(_mm512_sub_epi64(_mm512_set1_epi64(8), n), 3);
    return _mm512_and_si512(bytes, _mm512_sllv_epi64(_mm512_set1_epi64(-1), bits));
}

/* Returns 255 in each byte that is a decimal point. */
AVX512 static inline __m512i points_of(__m512i digits)
{
    return _mm512_movm_epi8(_mm512_cmpeq_epi8_mask(digits, _mm512_set1_epi8('.' - '0')));
}

/* Removes the first decimal point: the bytes before it move up by one, and `before` enters first.
 */
AVX512 static inline __m512i close_up(__m512i digits, __m512i points, __m512i before)
{
    const __m512i one = _mm512_set1_epi64(1);
    const __m512i first = _mm512_andnot_si512(_mm512_sub_epi64(points, one), points);
    const __m512i under = _mm512_sub_epi64(first, one);
    const __m512i upper =
        _mm512_andnot_si512(_mm512_sub_epi64(_mm512_slli_epi64(first, 8), one), digits);
    const __m512i moved = _mm512_slli_epi64(_mm512_and_si512(digits, under), 8);
    return _mm512_or_si512(_mm512_or_si512(upper, moved), before);
}

/* Reads values of n bytes (for the elements in `of`) that end at end + at. is_long: some have more
 * than 8 bytes. Those with more than 16 are marked bad. */
AVX512 __attribute__((always_inline)) static inline void
read_values(struct eight *v, const char *end, __m512i at, __m512i n, __mmask8 of, int is_long)
{
    const __m512i eight = _mm512_set1_epi64(8), one = _mm512_set1_epi64(1);
    const __m512i zero = _mm512_setzero_si512(), ascii = _mm512_set1_epi8('0');
    const __mmask8 more = is_long ? _mm512_mask_cmpgt_epu64_mask(of, n, eight) : 0;
    const __mmask8 too_long =
        is_long ? _mm512_cmpgt_epu64_mask(n, _mm512_set1_epi64(VALUE_BYTES)) : 0;
    const __m512i text = _mm512_mask_i64gather_epi64(zero, of, at, end - 8, 1);
    const __m512i text2 = is_long ? _mm512_mask_i64gather_epi64(zero, more, at, end - 16, 1) : zero;
    const __m512i n_first = _mm512_mask_sub_epi64(n, more, n, eight);
    const __m512i first =
        _mm512_and_si512(_mm512_srlv_epi64(_mm512_mask_mov_epi64(text, more, text2),
                                           _mm512_slli_epi64(_mm512_sub_epi64(eight, n_first), 3)),
                         _mm512_set1_epi64(255));
    v->negative = _mm512_mask_cmpeq_epi64_mask(of, first, _mm512_set1_epi64('-'));
    n = _mm512_mask_sub_epi64(n, v->negative, n, one);
    const __m512i n_low = is_long ? _mm512_min_epu64(n, eight) : n;
    const __m512i low = keep_last(_mm512_sub_epi8(text, ascii), n_low);
    const __m512i points = points_of(low);
    const __mmask8 has = _mm512_test_epi64_mask(points, points);
    __m512i n_decimals = _mm512_maskz_srli_epi64(has, _mm512_lzcnt_epi64(points), 3);
    if (!is_long) {
        v->low = _mm512_mask_mov_epi64(low, has, close_up(low, points, zero));
        v->scale = _mm512_permutexvar_pd(n_decimals, _mm512_loadu_pd(scale_of_digits));
        v->bad = _mm512_cmple_epu64_mask(n, _mm512_maskz_mov_epi64(has, one));
        return;
    }
    const __m512i high = keep_last(_mm512_sub_epi8(text2, ascii), _mm512_sub_epi64(n, n_low));
    const __m512i points2 = points_of(high);
    const __mmask8 has2 = _mm512_mask_test_epi64_mask((__mmask8)~has, points2, points2);
    n_decimals = _mm512_mask_add_epi64(n_decimals, has2,
                                       _mm512_srli_epi64(_mm512_lzcnt_epi64(points2), 3), eight);
    v->low = _mm512_mask_mov_epi64(low, has, close_up(low, points, _mm512_srli_epi64(high, 56)));
    v->high = _mm512_mask_slli_epi64(high, has, high, 8);
    v->high = _mm512_mask_mov_epi64(v->high, has2, close_up(high, points2, zero));
    v->scale = _mm512_permutex2var_pd(_mm512_loadu_pd(scale_of_digits), n_decimals,
                                      _mm512_loadu_pd(scale_of_digits + 8));
    const __m512i nine = _mm512_set1_epi8(9), beyond = _mm512_subs_epu8(v->high, nine);
    v->bad = too_long | _mm512_test_epi64_mask(beyond, beyond) |
             _mm512_cmple_epu64_mask(n, _mm512_maskz_mov_epi64((__mmask8)(has | has2), one));
}

/* Converts eight digits, the first in the lowest byte, to a number. */
AVX512 static inline __m512d number_of(__m512i digits)
{
    const __m512i two = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(1 << 8 | 10));
    const __m512i four = _mm512_madd_epi16(two, _mm512_set1_epi32(1 << 16 | 100));
    return _mm512_cvtepi64_pd(_mm512_add_epi64(_mm512_mul_epu32(four, _mm512_set1_epi64(10000)),
                                               _mm512_srli_epi64(four, 32)));
}

/* Converts the values. Those marked bad afterwards need careful_values. */
AVX512 static inline void make_eight(struct eight *v, int is_long, float *value)
{
    const __m512i beyond = _mm512_subs_epu8(v->low, _mm512_set1_epi8(9));
    __m512d whole = number_of(v->low);
    if (is_long)
        whole = _mm512_add_pd(_mm512_mul_pd(number_of(v->high), _mm512_set1_pd(1e8)), whole);
    const __m512d x = _mm512_mul_pd(whole, v->scale);
    const __m512i rest =
        _mm512_sub_epi64(_mm512_and_si512(_mm512_castpd_si512(x), _mm512_set1_epi64(0x1fffffff)),
                         _mm512_set1_epi64(0x10000000 - 8)); /* as in make_values */
    v->bad |= _mm512_test_epi64_mask(beyond, beyond) |
              _mm512_cmple_epu64_mask(rest, _mm512_set1_epi64(16));
    const __m256i bits = _mm256_castps_si256(_mm512_cvtpd_ps(x));
    const __mmask8 minus = v->negative & _mm256_test_epi32_mask(bits, bits);
    _mm256_storeu_epi32(value,
                        _mm256_mask_or_epi32(bits, minus, bits, _mm256_set1_epi32((int)NEGATIVE)));
}

/* Parses those of eight features, `others`, whose text differs from that of the previous line.
 * good, others: one bit per feature. Returns `good` without the first invalid feature and those
 * after it. */
static uint32_t take_features(uint32_t good, uint32_t others, const uint64_t *this_text,
                              uint16_t *feature, uint64_t *text)
{
    for (; others; others &= others - 1) {
        const int i = __builtin_ctz(others);
        const uint32_t this_feature = feature_of(this_text[i]);
        if (this_feature > RW_MAX_FEATURE)
            return good & ((1u << i) - 1);
        feature[i] = (uint16_t)this_feature;
        text[i] = this_text[i];
    }
    return good;
}

/* Does what span_avx2 does, eight entries at a time. */
AVX512 static size_t span_avx512(struct rw_letor_entries *entries, struct span *span)
{
    const size_t n = span->n_positions / 2;
    uint16_t *const feature = entries->feature + entries->n;
    uint64_t *const text = entries->text + entries->n;
    float *const value = entries->value + entries->n;
    const __m256i one = _mm256_set1_epi32(1), none = _mm256_setzero_si256();
    const __m512i zero = _mm512_setzero_si512();
    __m256i blank_before = _mm256_set1_epi32(-1), id_before = _mm256_set1_epi32(entries->last);
    size_t k = 0;
    while (k < n) {
        const __mmask8 of = n - k < 8 ? (__mmask8)((1u << (n - k)) - 1) : 0xff;
        const __m256i positions = _mm256_maskz_loadu_epi32(of, span->position + 2 * k);
        const __m256i colon = _mm256_and_si256(positions, _mm256_set1_epi32(0xffff));
        const __m256i blank = _mm256_srli_epi32(positions, 16);
        const __m256i ended = _mm256_alignr_epi32(blank, blank_before, 7);
        const __m256i n_text = _mm256_sub_epi32(_mm256_sub_epi32(colon, ended), one);
        const __m256i n_value = _mm256_sub_epi32(_mm256_sub_epi32(blank, colon), one);
        uint32_t good = _mm256_mask_cmplt_epu32_mask(of, _mm256_sub_epi32(n_text, one),
                                                     _mm256_set1_epi32(FEATURE_BYTES)) &
                        _mm256_cmpgt_epi32_mask(n_value, none);
        const __m512i n_text64 = _mm512_cvtepu32_epi64(n_text);
        const __m512i unused =
            _mm512_slli_epi64(_mm512_sub_epi64(_mm512_set1_epi64(8), n_text64), 3);
        const __m512i this_text =
            _mm512_or_si512(_mm512_srlv_epi64(_mm512_mask_i64gather_epi64(
                                                  zero, (__mmask8)good,
                                                  _mm512_cvtepu32_epi64(colon), span->begin - 8, 1),
                                              unused),
                            _mm512_slli_epi64(n_text64, 56));
        const __mmask8 others = _mm512_mask_cmpneq_epi64_mask(
            (__mmask8)good, this_text, _mm512_maskz_loadu_epi64(of, text + k));
        if (others) {
            uint64_t texts[8];
            _mm512_storeu_si512(texts, this_text);
            good = take_features(good, others, texts, feature + k, text + k);
        }
        const __m256i id = _mm256_cvtepu16_epi32(_mm_maskz_loadu_epi16(of, feature + k));
        good &= _mm256_cmpgt_epi32_mask(id, _mm256_alignr_epi32(id, id_before, 7));
        const __mmask8 some = _mm256_mask_cmpgt_epi32_mask(of, n_value, none);
        const __m512i at = _mm512_cvtepu32_epi64(blank), length = _mm512_cvtepu32_epi64(n_value);
        const int is_long = _mm256_mask_cmpgt_epu32_mask(of, n_value, _mm256_set1_epi32(8)) != 0;
        struct eight v;
        if (is_long)
            read_values(&v, span->begin, at, length, some, 1);
        else
            read_values(&v, span->begin, at, length, some, 0);
        make_eight(&v, is_long, value + k);
        /* this is not an addition of the number found, so the next eight need not wait for it */
        if (good == 0xff && v.bad == 0) {
            k += 8;
        } else {
            const size_t n_good = (size_t)__builtin_ctz(~good);
            const size_t n_taken = careful_values(entries, span, k, n_good, v.bad, value + k);
            k += n_taken;
            if (n_taken < 8)
                break;
        }
        blank_before = blank;
        id_before = id;
    }
    span->odd |= k < n;
    if (k)
        entries->last = feature[k - 1];
    entries->n += k;
    return k;
}

typedef void (*list_fn)(struct span *span, const char *text, size_t n_bytes);
typedef size_t (*span_fn)(struct rw_letor_entries *entries, struct span *span);

/* Parses entries span by span (rw_letor_fast_fn). */
static inline const char *take_line(struct rw_letor_entries *entries, const char *p,
                                    const char *end, list_fn list, span_fn take_span)
{
    struct span span;
    while (p < end && entries->room - entries->n >= RW_LETOR_SPAN_ENTRIES) {
        const size_t left = (size_t)(end - p);
        const size_t n_bytes = left < RW_LETOR_SPAN ? left : RW_LETOR_SPAN;
        list(&span, p, n_bytes);
        if (n_bytes == left && !span.odd)
            span.position[span.n_positions++] =
                (uint16_t)left; /* the last value ends with the line */
        const size_t n = take_span(entries, &span);
        if (n == 0)
            return p;
        p += span.position[2 * n - 1] + 1;
        if (span.odd || n_bytes == left)
            return p < end ? p : end;
    }
    return p;
}

static const char *fast_avx2(struct rw_letor_entries *entries, const char *p, const char *end)
{
    return take_line(entries, p, end, list_avx2, span_avx2);
}

static const char *fast_avx512(struct rw_letor_entries *entries, const char *p, const char *end)
{
    return take_line(entries, p, end, list_avx512, span_avx512);
}

rw_letor_fast_fn rw_letor_fast(int i)
{
    static const rw_letor_fast_fn path[] = {fast_avx512, fast_avx2, NULL};
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("pclmul") || !__builtin_cpu_supports("popcnt"))
        return NULL;
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512cd") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512vbmi2"))
        i++;
    return i < 2 ? path[i] : NULL;
}

#else

rw_letor_fast_fn rw_letor_fast(int i)
{
    (void)i;
    return NULL;
}

#endif
