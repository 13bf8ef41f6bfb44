/* rw_rank_query for queries of usual lengths: a document's place is the number of those before it,
 * counted by comparing it with all, many at a time. That takes n^2 steps, but no branch that could
 * be mispredicted. */
#include "base/isa.h"
#include "rank/lambda.h"
#include "rank/metric.h"
#include "rank/order.h"

enum { LANES = 8, LONGEST = 512 }; /* beyond, sorting is faster */
typedef int64_t longs __attribute__((vector_size(LANES * 8)));

/* Eight documents at once against each. key: [n], rising where scores fall, filled up to a multiple
 * of LANES. */
static inline __attribute__((always_inline)) void count_before(const int64_t *key, uint32_t n,
                                                               uint32_t *order)
{
    const longs lane = {0, 1, 2, 3, 4, 5, 6, 7};
    for (uint32_t first = 0; first < n; first += LANES) {
        const uint32_t end = n - first < LANES ? n : first + LANES;
        longs own, before = {0}; /* a comparison that holds is -1 */
        memcpy(&own, key + first, sizeof(own));
        for (uint32_t j = 0; j < first; j++) /* equal ones come first, too */
            before -= key[j] <= own;
        for (uint32_t j = first; j < end; j++)
            before -= key[j] < own - (lane > (int64_t)(j - first)); /* <= by own + 1 */
        for (uint32_t j = end; j < n; j++)
            before -= key[j] < own;
        int64_t place[LANES];
        memcpy(place, &before, sizeof(place));
        for (uint32_t i = 0; i < end - first; i++)
            order[place[i]] = first + i;
    }
}

typedef void count_fn(const int64_t *, uint32_t, uint32_t *);

static void count_plain(const int64_t *key, uint32_t n, uint32_t *order)
{
    count_before(key, n, order);
}

RW_AVX2 static void count_avx2(const int64_t *key, uint32_t n, uint32_t *order)
{
    count_before(key, n, order);
}

RW_AVX512 static void count_avx512(const int64_t *key, uint32_t n, uint32_t *order)
{
    count_before(key, n, order);
}

void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order)
{
    static count_fn *const paths[] = {count_plain, count_avx2, count_avx512};
    static const uint32_t longest[] = {64, 256, LONGEST};
    int64_t key[LONGEST + LANES];
    if (n > longest[isa]) {
        rw_rank_query(scores, n, 0, order);
        return;
    }
    for (uint32_t i = 0; i < n; i++) { /* the order of unsigned keys in signed ones */
        key[i] = (int64_t)(rw_falling_key(scores[i]) ^ 0x8000000000000000u);
        key[i] -= key[i] == INT64_MAX; /* no number's; one more must not overflow */
    }
    for (uint32_t i = n; i < n + LANES; i++)
        key[i] = 0;
    paths[isa](key, n, order);
}
