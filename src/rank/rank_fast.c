/* rw_rank_query for queries of usual lengths: a document's place is the number of those before it,
 * counted by comparing it with all, many at a time. That takes n^2 steps, but no branch that could
 * be mispredicted. */
#include "base/isa.h"
#include "rank/lambda.h"
#include "rank/metric.h"
#include "rank/order.h"

enum { LANES = 16, LONGEST = 512 }; /* beyond, sorting is faster */
#define MOST_KEY 0x1p30             /* one more than a key must not overflow */
typedef int32_t ints __attribute__((vector_size(LANES * 4)));

/* Sixteen documents at once against each. key: [n], rising where scores fall, filled up to a
 * multiple of LANES. */
static inline __attribute__((always_inline)) void count_before(const int32_t *key, uint32_t n,
                                                               uint32_t *order)
{
    const ints lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (uint32_t first = 0; first < n; first += LANES) {
        const uint32_t end = n - first < LANES ? n : first + LANES;
        ints own, before = {0}; /* a comparison that holds is -1 */
        memcpy(&own, key + first, sizeof(own));
        for (uint32_t j = 0; j < first; j++) /* equal ones come first, too */
            before -= key[j] <= own;
        for (uint32_t j = first; j < end; j++)
            before -= key[j] < own - (lane > (int32_t)(j - first)); /* <= by own + 1 */
        for (uint32_t j = end; j < n; j++)
            before -= key[j] < own;
        int32_t place[LANES];
        memcpy(place, &before, sizeof(place));
        for (uint32_t i = 0; i < end - first; i++)
            order[place[i]] = first + i;
    }
}

typedef void count_fn(const int32_t *, uint32_t, uint32_t *);

static void count_plain(const int32_t *key, uint32_t n, uint32_t *order)
{
    count_before(key, n, order);
}

RW_AVX2 static void count_avx2(const int32_t *key, uint32_t n, uint32_t *order)
{
    count_before(key, n, order);
}

RW_AVX512 static void count_avx512(const int32_t *key, uint32_t n, uint32_t *order)
{
    count_before(key, n, order);
}

void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order)
{
    static count_fn *const paths[] = {count_plain, count_avx2, count_avx512};
    static const uint32_t longest[] = {64, 256, LONGEST};
    int32_t key[LONGEST + LANES];
    if (n > longest[isa]) {
        rw_rank_query(scores, n, 0, order);
        return;
    }
    if (n == 0)
        return;
    double low = scores[0], high = low, none = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        none += scores[i] * 0.0; /* 0, unless a score is infinite or no number */
        low = scores[i] < low ? scores[i] : low;
        high = scores[i] > high ? scores[i] : high;
    }
    const double range = high - low;
    if (none != 0.0 || !(range < 0x1p500)) {
        rw_rank_query(scores, n, 0, order);
        return;
    }
    /* keys rise, or stay, where scores fall: places are right but for those of other scores with
     * equal keys */
    const double scale = range > 0x1p-500 ? MOST_KEY / range : 0.0;
    for (uint32_t i = 0; i < n; i++)
        key[i] = (int32_t)((high - scores[i]) * scale);
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
