/* rw_rank_query for queries of usual lengths: a document's place is the number of those before it,
 * counted by comparing it with all, many at a time. That takes n^2 steps, but no branch that could
 * be mispredicted. */
#include <string.h>

#include "objective/lambda_fast.h"
#include "metric/metric.h"
#include "metric/order.h"
#if RW_HAS_X86
#include <immintrin.h>
#endif

enum { LANES = 16, LONGEST = 1024 };
#define MOST_KEY 0x1p30 /* one more than a key must not overflow */

static void put(const int32_t *place, uint32_t first, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++)
        order[place[i]] = first + i;
}

/* key: [n], rising where scores fall, filled up to a multiple of LANES. Of equal keys those before
 * count, those after don't: they are compared with one more, or with the key itself. */
static void count_plain(const int32_t *key, uint32_t n, uint32_t *order)
{
    for (uint32_t i = 0; i < n; i++) {
        int32_t place = 0;
        for (uint32_t j = 0; j < i; j++)
            place += key[j] < key[i] + 1;
        for (uint32_t j = i + 1; j < n; j++)
            place += key[j] < key[i];
        order[place] = i;
    }
}

#if RW_HAS_X86
/* Many documents at once against each: those before, their own, those after. */
RW_AVX2 static void count_avx2(const int32_t *key, uint32_t n, uint32_t *order)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (uint32_t first = 0; first < n; first += 8) {
        const uint32_t end = n - first < 8 ? n : first + 8;
        const __m256i own = _mm256_loadu_si256((const __m256i *)(key + first));
        const __m256i more = _mm256_add_epi32(own, _mm256_set1_epi32(1));
        __m256i place = _mm256_setzero_si256();
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < first; j++) place =
            _mm256_sub_epi32(place, _mm256_cmpgt_epi32(more, _mm256_set1_epi32(key[j])));
        for (uint32_t j = first; j < end; j++) {
            const __m256i after = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32((int)(j - first)));
            place = _mm256_sub_epi32(
                place, _mm256_cmpgt_epi32(_mm256_sub_epi32(own, after), _mm256_set1_epi32(key[j])));
        }
        _Pragma("GCC unroll 4") for (uint32_t j = end; j < n; j++) place =
            _mm256_sub_epi32(place, _mm256_cmpgt_epi32(own, _mm256_set1_epi32(key[j])));
        int32_t places[8];
        _mm256_storeu_si256((__m256i *)places, place);
        put(places, first, end - first, order);
    }
}

RW_AVX512 static void count_avx512(const int32_t *key, uint32_t n, uint32_t *order)
{
    const __m512i one = _mm512_set1_epi32(1);
    for (uint32_t first = 0; first < n; first += LANES) {
        const uint32_t end = n - first < LANES ? n : first + LANES;
        const __m512i own = _mm512_loadu_si512(key + first), more = _mm512_add_epi32(own, one);
        __m512i place = _mm512_setzero_si512();
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < first; j++) place = _mm512_mask_add_epi32(
            place, _mm512_cmpgt_epi32_mask(more, _mm512_set1_epi32(key[j])), place, one);
        for (uint32_t j = first; j < end; j++) {
            const __mmask16 after = (__mmask16)(0xfffe << (j - first));
            const __m512i least = _mm512_mask_mov_epi32(own, after, more);
            place = _mm512_mask_add_epi32(
                place, _mm512_cmpgt_epi32_mask(least, _mm512_set1_epi32(key[j])), place, one);
        }
        _Pragma("GCC unroll 4") for (uint32_t j = end; j < n; j++) place = _mm512_mask_add_epi32(
            place, _mm512_cmpgt_epi32_mask(own, _mm512_set1_epi32(key[j])), place, one);
        int32_t places[LANES];
        _mm512_storeu_si512(places, place);
        put(places, first, end - first, order);
    }
}
#else
#define count_avx2   count_plain
#define count_avx512 count_plain
#endif

typedef void count_fn(const int32_t *, uint32_t, uint32_t *);

void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order)
{
    static count_fn *const paths[] = {count_plain, count_avx2, count_avx512};
    static const uint32_t longest[] = {256, 768, LONGEST}; /* beyond, sorting is faster */
    int32_t key[LONGEST + LANES];
    if (n > longest[isa]) {
        rw_rank_query(scores, n, 0, order);
        return;
    }
    if (n == 0)
        return;
    const struct rw_range of = rw_range_of(scores, n);
    const double range = of.high - of.low;
    if (of.none != 0.0 || !(range < 0x1p500)) {
        rw_rank_query(scores, n, 0, order);
        return;
    }
    /* keys rise, or stay, where scores fall: places are right but for those of other scores with
     * equal keys */
    const double scale = range > 0x1p-500 ? MOST_KEY / range : 0.0;
    for (uint32_t i = 0; i < n; i++)
        key[i] = (int32_t)((of.high - scores[i]) * scale);
    for (uint32_t i = n; i < n + LANES; i++)
        key[i] = 0;
    paths[isa](key, n, order);
    for (uint32_t r = 1; r < n; r++) {
        const uint32_t doc = order[r];
        uint32_t at = r;
        for (; at > 0 && scores[order[at - 1]] < scores[doc]; at--)
            order[at] = order[at - 1];
        order[at] = doc;
    }
}
