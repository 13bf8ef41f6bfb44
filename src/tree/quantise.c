#include "tree/quantise.h"

#include "base/rng.h"
#if RW_HAS_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* ---- extents ---- */

/* Without a branch on the sample, for compilers to do many documents at once. */
INLINE void add_docs(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                     const int64_t *weight, struct rw_extent *extent)
{
    struct rw_extent all = *extent;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t keep = -(int64_t)(sampled[i] != 0);
        const int64_t l = lambda[i] & keep, w = weight[i] & keep;
        const int64_t size_l = l < 0 ? -l : l, size_w = w < 0 ? -w : w;
        all.lambda = size_l > all.lambda ? size_l : all.lambda;
        all.weight = size_w > all.weight ? size_w : all.weight;
        all.sum.n -= (uint64_t)keep;
        all.sum.lambda_hi += l >> 32;
        all.sum.lambda_lo += l & 0xffffffff;
        all.sum.weight_hi += w >> 32;
        all.sum.weight_lo += w & 0xffffffff;
    }
    *extent = all;
}

typedef void add_docs_fn(uint32_t, const uint8_t *, const int64_t *, const int64_t *,
                         struct rw_extent *);

static void add_docs_plain(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                           const int64_t *weight, struct rw_extent *extent)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!sampled[i])
            continue;
        const int64_t l = lambda[i] < 0 ? -lambda[i] : lambda[i];
        const int64_t w = weight[i] < 0 ? -weight[i] : weight[i];
        extent->lambda = l > extent->lambda ? l : extent->lambda;
        extent->weight = w > extent->weight ? w : extent->weight;
        rw_sum_add(&extent->sum, lambda[i], weight[i]);
    }
}

RW_AVX2 static void add_docs_avx2(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                                  const int64_t *weight, struct rw_extent *extent)
{
    add_docs(n, sampled, lambda, weight, extent);
}

RW_AVX512 static void add_docs_avx512(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                                      const int64_t *weight, struct rw_extent *extent)
{
    add_docs(n, sampled, lambda, weight, extent);
}

void rw_extent_add(enum rw_isa isa, uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                   const int64_t *weight, struct rw_extent *extent)
{
    static add_docs_fn *const paths[] = {add_docs_plain, add_docs_avx2, add_docs_avx512};
    paths[isa](n, sampled, lambda, weight, extent);
}

void rw_extent_merge(struct rw_extent *extent, const struct rw_extent *other)
{
    extent->lambda = other->lambda > extent->lambda ? other->lambda : extent->lambda;
    extent->weight = other->weight > extent->weight ? other->weight : extent->weight;
    rw_sum_merge(&extent->sum, &other->sum);
}

/* ---- quantised integers ---- */

static int64_t quantise_plain(const struct rw_rounding *rounding, uint32_t first, uint32_t n,
                              const uint8_t *sampled, const int64_t *value, int32_t *out)
{
    const struct rw_rounding r = *rounding;
    int64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!sampled[i])
            continue;
        out[i] = rw_quantise(value[i], r.shift, r.nearest,
                             r.nearest ? 0 : rw_random(r.seed, first + i, r.tree, r.stream));
        sum += out[i];
    }
    return sum;
}

#if RW_HAS_X86
/* Four documents at a time, each in a lane of 64 bits, of which Philox uses the low 32 only:
 * _mm256_mul_epu32 ignores the rest. */
enum { LANES = 4 };
typedef uint64_t longs __attribute__((vector_size(LANES * 8)));
typedef int64_t signed_longs __attribute__((vector_size(LANES * 8)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));

struct keys {
    longs round[10][2];
};

RW_AVX2 INLINE void make_keys(uint64_t seed, struct keys *keys)
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int k = 0; k < 10; k++) {
        keys->round[k][0] = (longs){0} + key0;
        keys->round[k][1] = (longs){0} + key1;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

/* rw_random of documents `item`. */
RW_AVX2 INLINE longs randoms(const struct keys *keys, longs item, longs tree, longs stream)
{
    const longs by_a = (longs){0} + 0xD2511F53u, by_b = (longs){0} + 0xCD9E8D57u;
    longs word0 = item, word1 = {0}, word2 = tree, word3 = stream;
    for (int k = 0; k < 10; k++) {
        const longs a = (longs)_mm256_mul_epu32((__m256i)by_a, (__m256i)word0);
        const longs b = (longs)_mm256_mul_epu32((__m256i)by_b, (__m256i)word2);
        word0 = (b >> 32) ^ word1 ^ keys->round[k][0];
        word1 = b;
        word2 = (a >> 32) ^ word3 ^ keys->round[k][1];
        word3 = a;
    }
    return word0;
}

RW_AVX2 INLINE int64_t quantise(const struct rw_rounding *r, uint32_t first, uint32_t n,
                                const uint8_t *sampled, const int64_t *value, int32_t *out)
{
    const int s = r->shift, up = s > 32 ? s - 32 : 0, is_random = s > 0 && !r->nearest;
    const uint64_t mask = s < 32 ? ((uint64_t)1 << s) - 1 : 0xffffffff;
    const uint64_t half = s > 0 ? (uint64_t)1 << (s - 1) : 0;
    const longs tree = (longs){0} + r->tree, stream = (longs){0} + r->stream;
    struct keys keys;
    make_keys(r->seed, &keys);
    longs item = (longs){0, 1, 2, 3} + first;
    signed_longs sums = {0};
    uint32_t i = 0;
    for (; n - i >= LANES; i += LANES, item += LANES) {
        longs v, add = (longs){0} + half;
        int32_t kept;
        memcpy(&v, value + i, sizeof(v));
        memcpy(&kept, sampled + i, sizeof(kept));
        if (kept == 0)
            continue;
        if (is_random)
            add = (randoms(&keys, item, tree, stream) & mask) << up;
        const ints q = __builtin_convertvector((signed_longs)(v + add) >> s, ints);
        memcpy(out + i, &q, sizeof(q));
        const ints keep = (ints)_mm_cvtepi8_epi32(_mm_cvtsi32_si128(kept)) != 0;
        sums += (signed_longs)_mm256_cvtepi32_epi64((__m128i)(q & keep));
    }
    return sums[0] + sums[1] + sums[2] + sums[3] +
           quantise_plain(r, first + i, n - i, sampled + i, value + i, out + i);
}

RW_AVX2 static int64_t quantise_avx2(const struct rw_rounding *rounding, uint32_t first, uint32_t n,
                                     const uint8_t *sampled, const int64_t *value, int32_t *out)
{
    return quantise(rounding, first, n, sampled, value, out);
}

RW_AVX512 static int64_t quantise_avx512(const struct rw_rounding *rounding, uint32_t first,
                                         uint32_t n, const uint8_t *sampled, const int64_t *value,
                                         int32_t *out)
{
    return quantise(rounding, first, n, sampled, value, out);
}
#else
#define quantise_avx2   quantise_plain
#define quantise_avx512 quantise_plain
#endif

typedef int64_t quantise_fn(const struct rw_rounding *, uint32_t, uint32_t, const uint8_t *,
                            const int64_t *, int32_t *);

int64_t rw_quantise_docs(enum rw_isa isa, const struct rw_rounding *rounding, uint32_t first,
                         uint32_t n, const uint8_t *sampled, const int64_t *value, int32_t *out)
{
    static quantise_fn *const paths[] = {quantise_plain, quantise_avx2, quantise_avx512};
    return paths[isa](rounding, first, n, sampled, value, out);
}
