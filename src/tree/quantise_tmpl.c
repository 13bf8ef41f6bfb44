/* The start of a tree (tree/numbers.h): the extent of the documents' values, and their quantisation
 * for several documents at a time. This file is compiled once per instruction set
 * (base/machine.h). */
#include "base/rng.h"
#include "tree/numbers.h"

#if defined(RW_TMPL_AVX2) || defined(RW_TMPL_AVX512)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* The loop has no branch on `sampled`, so that compilers can vectorise it. */
void RW_TMPL_NAME(rw_extent_add)(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                                 const int64_t *hessian, struct rw_extent *extent)
{
    struct rw_extent all = *extent;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t keep = -(int64_t)(sampled[i] != 0);
        const int64_t l = lambda[i] & keep, h = hessian[i] & keep;
        const int64_t size_l = l < 0 ? -l : l, size_h = h < 0 ? -h : h;
        all.lambda = size_l > all.lambda ? size_l : all.lambda;
        all.hess = size_h > all.hess ? size_h : all.hess;
        all.sum.n -= (uint64_t)keep;
        all.sum.lambda_hi += l >> 32;
        all.sum.lambda_lo += l & 0xffffffff;
        all.sum.hess_hi += h >> 32;
        all.sum.hess_lo += h & 0xffffffff;
    }
    *extent = all;
}

#if defined(RW_TMPL_AVX2) || defined(RW_TMPL_AVX512)
/* Four documents at a time, each in 64 bits. Philox, the random number generator of base/rng.h,
 * uses only the low 32 bits; _mm256_mul_epu32 ignores the high ones. */
enum { LANES = 4 };
typedef uint64_t longs __attribute__((vector_size(LANES * 8)));
typedef int64_t signed_longs __attribute__((vector_size(LANES * 8)));
typedef int32_t ints __attribute__((vector_size(LANES * 4)));

/* Returns rw_random of the documents `item`. key: the Philox keys of each round. */
INLINE longs randoms(const struct rw_rounding *r, longs (*key)[2], longs item)
{
    const longs by_a = (longs){0} + 0xD2511F53u, by_b = (longs){0} + 0xCD9E8D57u;
    longs word0 = item, word1 = {0}, word2 = word1 + r->tree, word3 = word1 + r->stream;
    for (int k = 0; k < 10; k++) {
        const longs a = (longs)_mm256_mul_epu32((__m256i)by_a, (__m256i)word0);
        const longs b = (longs)_mm256_mul_epu32((__m256i)by_b, (__m256i)word2);
        word0 = (b >> 32) ^ word1 ^ key[k][0];
        word1 = b;
        word2 = (a >> 32) ^ word3 ^ key[k][1];
        word3 = a;
    }
    return word0;
}

/* Quantises the documents that fill whole vectors, and adds the sampled ones' results to *sum.
 * Returns the number of these documents. */
INLINE uint32_t quantise_vectors(const struct rw_rounding *r, uint32_t first, uint32_t n,
                                 const uint8_t *sampled, const int64_t *value, int32_t *out,
                                 int64_t *sum)
{
    const int s = r->shift, up = s > 32 ? s - 32 : 0, is_random = s > 0 && !r->nearest;
    const uint64_t mask = s < 32 ? ((uint64_t)1 << s) - 1 : 0xffffffff;
    const uint64_t half = s > 0 ? (uint64_t)1 << (s - 1) : 0;
    longs key[10][2], item = (longs){0, 1, 2, 3} + first;
    signed_longs sums = {0};
    uint32_t i = 0;
    for (uint32_t k = 0; k < 10; k++) {
        key[k][0] = (longs){0} + (uint32_t)((uint32_t)r->seed + k * 0x9E3779B9u);
        key[k][1] = (longs){0} + (uint32_t)((uint32_t)(r->seed >> 32) + k * 0xBB67AE85u);
    }
    for (; n - i >= LANES; i += LANES, item += LANES) {
        longs v, add = (longs){0} + half;
        uint32_t kept;
        memcpy(&v, value + i, sizeof(v));
        memcpy(&kept, sampled + i, sizeof(kept));
        if (kept == 0)
            continue;
        if (is_random)
            add = (randoms(r, key, item) & mask) << up;
        const signed_longs q = (signed_longs)(v + add) >> s;
        const ints narrow = __builtin_convertvector(q, ints);
        memcpy(out + i, &narrow, sizeof(narrow));
        sums += q & ((((longs){0} + kept) >> (longs){0, 8, 16, 24} & 255) != 0);
    }
    *sum += sums[0] + sums[1] + sums[2] + sums[3];
    return i;
}
#endif

int64_t RW_TMPL_NAME(rw_quantise_docs)(const struct rw_rounding *rounding, uint32_t first,
                                       uint32_t n, const uint8_t *sampled, const int64_t *value,
                                       int32_t *out)
{
    const struct rw_rounding r = *rounding;
    int64_t sum = 0;
    uint32_t i = 0;
#if defined(RW_TMPL_AVX2) || defined(RW_TMPL_AVX512)
    i = quantise_vectors(&r, first, n, sampled, value, out, &sum);
#endif
    for (; i < n; i++) {
        if (!sampled[i])
            continue;
        out[i] = rw_quantise(value[i], r.shift, r.nearest,
                             r.nearest ? 0 : rw_random(r.seed, first + i, r.tree, r.stream));
        sum += out[i];
    }
    return sum;
}
