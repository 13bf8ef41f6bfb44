/* Every path against tree/numbers.h, document by document. */
#include <string.h>

#include "train_fixture.h"
#include "tree/numbers.h"

enum { N = 150, FENCE = 0x5A5A5A5A };

static int64_t value_of(uint64_t seed, uint32_t item)
{
    const struct rw_philox r = rw_random4(seed, item, 0, FIXTURE_STREAM);
    const int64_t v = (int64_t)((uint64_t)r.word[0] << 32 | r.word[1]);
    return r.word[3] % 16 == 0 ? 0 : v >> (2 + r.word[2] % 61);
}

/* None, all, half of the documents, or runs of them, as a sample of queries has. */
static void draw(uint8_t *sampled, uint64_t seed)
{
    for (uint32_t i = 0; i < N; i++) {
        const double unit = fixture_unit(seed, seed % 5 == 4 ? i / 20 : i);
        sampled[i] = seed % 5 == 0 ? 1 : seed % 5 == 1 ? 0 : unit < 0.5;
    }
}

Test(quantise, every_path_rounds_alike)
{
    static const int shifts[] = {0, 1, 2, 16, 31, 32, 33, 40, 54, 62};
    static int64_t value[N];
    static int32_t out[N];
    static uint8_t sampled[N];
    for (uint64_t seed = 0; seed < 1200; seed++) {
        const struct rw_rounding r = {.shift = shifts[seed % 10],
                                      .nearest = seed % 7 == 3,
                                      .seed = seed * 0x123456789abcdefull,
                                      .tree = (uint32_t)seed * 0x9E3779B9u,
                                      .stream = (uint32_t)(seed / 2 % 2)};
        const uint32_t first = (uint32_t)(seed % 13), end = first + (uint32_t)(seed * 7 % 130);
        draw(sampled, seed);
        for (uint32_t i = 0; i < N; i++)
            value[i] = value_of(seed, i) >> (r.shift < 31 ? 31 - r.shift : 0);
        for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
            for (uint32_t i = 0; i < N; i++)
                out[i] = FENCE;
            int64_t want_sum = 0;
            const int64_t sum = rw_quantise_docs((enum rw_isa)isa, &r, first, end - first,
                                                 sampled + first, value + first, out + first);
            for (uint32_t i = 0; i < N; i++) {
                const int32_t want = i < first || i >= end
                                         ? FENCE
                                         : rw_quantise(value[i], r.shift, r.nearest,
                                                       rw_random(r.seed, i, r.tree, r.stream));
                if (i >= first && i < end && !sampled[i])
                    continue;
                cr_assert_eq(out[i], want, "%s, seed %d, document %u: %d, not %d",
                             rw_isa_name((enum rw_isa)isa), (int)seed, i, out[i], want);
                want_sum += i >= first && i < end ? want : 0;
            }
            cr_assert_eq(sum, want_sum, "%s, seed %d", rw_isa_name((enum rw_isa)isa), (int)seed);
        }
    }
}

/* Items beyond 2^31: a document's number is all of its 32 bits. */
Test(quantise, distant_documents_have_separate_draws)
{
    const uint32_t far = UINT32_MAX - N; /* the last one is 2^32 - 2 */
    static int64_t value[N];
    static int32_t out[N];
    static uint8_t sampled[N];
    const struct rw_rounding r = {.shift = 36, .seed = 5, .tree = 2};
    for (uint32_t i = 0; i < N; i++)
        value[i] = value_of(1, i) >> 3;
    memset(sampled, 1, N);
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        rw_quantise_docs((enum rw_isa)isa, &r, far, N, sampled, value, out);
        for (uint32_t i = 0; i < N; i++)
            cr_assert_eq(out[i], rw_quantise(value[i], 36, 0, rw_random(5, far + i, 2, 0)));
    }
}

Test(quantise, every_path_has_the_same_extent)
{
    static int64_t lambda[N], hessian[N];
    static uint8_t sampled[N];
    for (uint64_t seed = 0; seed < 600; seed++) {
        const uint32_t n = (uint32_t)(seed * 7 % (N + 1));
        draw(sampled, seed);
        struct rw_extent want = {0};
        for (uint32_t i = 0; i < N; i++) {
            lambda[i] = value_of(seed, i);
            hessian[i] = llabs(value_of(seed, N + i));
            if (i >= n || !sampled[i])
                continue;
            want.lambda = llabs(lambda[i]) > want.lambda ? llabs(lambda[i]) : want.lambda;
            want.hess = hessian[i] > want.hess ? hessian[i] : want.hess;
            rw_sum_add(&want.sum, lambda[i], hessian[i]);
        }
        for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
            struct rw_extent extent = {0}, second = {0}; /* in two parts */
            const uint32_t part = n / 3;
            rw_extent_add((enum rw_isa)isa, part, sampled, lambda, hessian, &extent);
            rw_extent_add((enum rw_isa)isa, n / 2 - part, sampled + part, lambda + part,
                          hessian + part, &extent);
            rw_extent_add((enum rw_isa)isa, n - n / 2, sampled + n / 2, lambda + n / 2,
                          hessian + n / 2, &second);
            rw_extent_merge(&extent, &second);
            cr_assert(memcmp(&extent, &want, sizeof(want)) == 0, "%s, seed %d",
                      rw_isa_name((enum rw_isa)isa), (int)seed);
        }
    }
}
