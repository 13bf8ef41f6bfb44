#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "each.h"

#include "base/mem.h"
#include "base/rng.h"
#include "evaluate/evaluate.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

static struct rw_compared measure(const double *a, const double *b, uint32_t n, uint64_t seed)
{
    const struct rw_pairs pairs = {.n = n, .a = a, .b = b};
    struct rw_compared out;
    cr_assert_eq(rw_significance(ctx, &pairs, seed, &out), RW_OK);
    return out;
}

/* A number of about normal distribution, mean 0, deviation 1. */
static double noise(uint32_t item)
{
    double sum = -6;
    for (uint32_t k = 0; k < 12; k++)
        sum += (double)rw_random(77, item, k, 0x7E57u) * 0x1p-32;
    return sum;
}

Test(significance, few_queries_are_tried_whole, .init = setup, .fini = teardown)
{
    const double a[] = {0, 0, 0, .5, .5}, b[] = {.25, .5, .125, .5, .5};
    const struct rw_compared out = measure(a, b, 5, 1);
    cr_expect_eq(out.p, 2.0 / 8); /* all three up, or all three down */
    cr_expect(out.n_wins == 3 && out.n_ties == 2 && out.n_losses == 0);
    cr_expect_float_eq(out.mean_a, 0.2, 1e-15);
    cr_expect_float_eq(out.mean_b, 0.375, 1e-15);
    cr_expect_float_eq(out.difference, 0.175, 1e-15);
    cr_expect(out.low >= 0 && out.low < 0.175 && out.high > 0.175 && out.high <= 0.5);
    const double c[] = {0, 0, 0, 0}, d[] = {1, -1, 1, 1}; /* sums 4 2 2 2 2 0 0 ... */
    cr_expect_eq(measure(c, d, 4, 1).p, 10.0 / 16);
    cr_expect_eq(measure(c, c, 4, 1).p, 1.0);
    cr_expect(measure(c, c, 4, 1).low == 0 && measure(c, c, 4, 1).high == 0);
    cr_expect(isnan(measure(c, d, 1, 1).low) && measure(c, d, 1, 1).p == 1.0);
    cr_expect(isnan(measure(c, d, 0, 1).difference) && measure(c, d, 0, 1).p == 1.0);
}

/* Patterns of signs, of all that are drawn, whose sum is as far from 0 as the sum itself. */
static uint32_t count_hits(const double *difference, uint32_t n, uint64_t seed)
{
    double found = 0;
    uint32_t hits = 0;
    for (uint32_t i = 0; i < n; i++)
        found += difference[i];
    for (uint32_t pattern = 0; pattern < RW_RANDOM_SIGNS; pattern++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            const struct rw_philox r = rw_random4(seed, i / 128, pattern, RW_STREAM_SIGNS);
            sum += r.word[i % 128 / 32] >> i % 32 & 1 ? -difference[i] : difference[i];
        }
        hits += fabs(sum) >= fabs(found);
    }
    return hits;
}

/* The observed signs are one of the patterns, so p is (1 + hits) / (1 + patterns), and never 0. */
Test(significance, p_of_drawn_signs, .init = setup, .fini = teardown)
{
    enum { N = 200 };
    double zero[N] = {0}, b[N];
    for (uint32_t i = 0; i < N; i++)
        b[i] = 1;
    cr_assert_eq(measure(zero, b, RW_EXACT_SIGNS, 3).p, 2.0 / (1 << RW_EXACT_SIGNS)); /* all */
    cr_assert_eq(count_hits(b, 40, 3), 0u);
    cr_expect_eq(measure(zero, b, 40, 3).p, 1.0 / (1.0 + RW_RANDOM_SIGNS));
    for (uint32_t n = RW_EXACT_SIGNS + 1; n <= N; n += 61) { /* 139, 200: two blocks of numbers */
        for (uint32_t i = 0; i < n; i++)
            b[i] = i < n * 3 / 5 ? 1 : -1;
        const uint32_t hits = count_hits(b, n, n);
        cr_assert(hits > 0 && hits < RW_RANDOM_SIGNS);
        cr_expect_eq(measure(zero, b, n, n).p, (1.0 + hits) / (1.0 + RW_RANDOM_SIGNS), "%u", n);
    }
    /* queries without a difference draw no sign */
    const double few[] = {0, 1, 0, -1, 0, 0, 1};
    double some[7 * 20], others[3 * 20], none[7 * 20] = {0};
    for (uint32_t i = 0, k = 0; i < 140; i++) {
        some[i] = few[i % 7];
        if (some[i] != 0)
            others[k++] = some[i];
    }
    cr_expect_eq(measure(none, some, 140, 4).p,
                 (1.0 + count_hits(others, 60, 4)) / (1.0 + RW_RANDOM_SIGNS));
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* 2.5 % of the resamples' differences are at `low` or under it, and as many at `high` or over. */
Test(significance, interval_of_drawn_queries, .init = setup, .fini = teardown)
{
    enum { N = 30, TAIL = RW_BOOTSTRAP_SAMPLES / 40 };
    static double found[RW_BOOTSTRAP_SAMPLES];
    double a[N] = {0}, b[N];
    for (uint32_t i = 0; i < N; i++)
        b[i] = (double)i * i; /* sums of whole numbers are exact */
    for (uint32_t s = 0; s < RW_BOOTSTRAP_SAMPLES; s++) {
        double sum = 0;
        for (uint32_t i = 0; i < N; i++) {
            const struct rw_philox r = rw_random4(6, i / 4, s, RW_STREAM_BOOTSTRAP);
            sum += b[(uint64_t)r.word[i % 4] * N >> 32];
        }
        found[s] = sum / N;
    }
    qsort(found, RW_BOOTSTRAP_SAMPLES, sizeof(*found), ascending);
    const struct rw_compared out = measure(a, b, N, 6);
    cr_expect_eq(out.low, found[TAIL - 1]);
    cr_expect_eq(out.high, found[RW_BOOTSTRAP_SAMPLES - TAIL]);
}

/* The normal approximations that hold for many queries: difference +- 1.96 deviations, and p. */
Test(significance, many_queries, .init = setup, .fini = teardown)
{
    enum { N = 400 };
    static double a[N], b[N];
    double mean = 0, squares = 0;
    for (uint32_t i = 0; i < N; i++) {
        a[i] = noise(i);
        b[i] = a[i] + 0.1 + noise(1000 + i);
        mean += (b[i] - a[i]) / N;
    }
    for (uint32_t i = 0; i < N; i++)
        squares += (b[i] - a[i] - mean) * (b[i] - a[i] - mean);
    const double error = sqrt(squares / N / N);
    const struct rw_compared out = measure(a, b, N, 5);
    cr_expect_float_eq(out.difference, mean, 1e-12);
    cr_expect_float_eq(out.low, mean - 1.96 * error, 0.08 * error);
    cr_expect_float_eq(out.high, mean + 1.96 * error, 0.08 * error);
    const double z = mean / sqrt(error * error + mean * mean / N); /* about 0 under the coin */
    cr_expect_float_eq(out.p, erfc(z / sqrt(2)), 0.02, "%g %g", out.p, erfc(z / sqrt(2)));
    /* swapped: the mirror image */
    const struct rw_compared other = measure(b, a, N, 5);
    cr_expect(other.p == out.p && other.low == -out.high && other.high == -out.low);
    cr_expect_eq(other.n_wins, out.n_losses);
}

/* Under chance alone, 5 % of the tests are under 5 %, and 95 % of intervals hold 0. */
Test(significance, chance, .init = setup, .fini = teardown)
{
    enum { N = 30, TESTS = 300 };
    if (SLOW_HERE)
        cr_skip_test("takes long");
    int under = 0, outside = 0;
    for (uint32_t t = 0; t < TESTS; t++) {
        double a[N], b[N];
        for (uint32_t i = 0; i < N; i++) {
            a[i] = noise(t * 2 * N + i);
            b[i] = noise(t * 2 * N + N + i);
        }
        const struct rw_compared out = measure(a, b, N, t);
        under += out.p < 0.05;
        outside += out.low > 0 || out.high < 0;
    }
    cr_expect(under >= 6 && under <= 26, "%d", under);
    cr_expect(outside >= 8 && outside <= 38, "%d", outside);
}

Test(significance, repeatable_for_any_threads, .init = setup, .fini = teardown)
{
    enum { N = 333 };
    static double a[N], b[N], weight[N];
    for (uint32_t i = 0; i < N; i++) {
        a[i] = noise(i);
        b[i] = noise(1000 + i) + 0.05;
        weight[i] = i % 5;
    }
    const struct rw_pairs pairs = {.n = N, .a = a, .b = b, .weight = weight, .lower_is_better = 1};
    struct rw_compared first, again, seed;
    cr_assert_eq(rw_ctx_set_threads(ctx, 1), RW_OK);
    cr_assert_eq(rw_significance(ctx, &pairs, 9, &first), RW_OK);
    for (int threads = 2; threads <= 7; threads += 5) {
        cr_assert_eq(rw_ctx_set_threads(ctx, threads), RW_OK);
        cr_assert_eq(rw_significance(ctx, &pairs, 9, &again), RW_OK);
        cr_expect_arr_eq(&first, &again, sizeof(first));
    }
    cr_assert_eq(rw_significance(ctx, &pairs, 10, &seed), RW_OK);
    cr_expect(seed.low != first.low && seed.difference == first.difference);
}

Test(significance, weights_and_roots, .init = setup, .fini = teardown)
{
    const double a[] = {4, 16}, b[] = {1, 9}, weight[] = {1, 3};
    const struct rw_pairs pairs = {
        .n = 2, .a = a, .b = b, .weight = weight, .root = 1, .lower_is_better = 1};
    struct rw_compared out;
    cr_assert_eq(rw_significance(ctx, &pairs, 1, &out), RW_OK);
    cr_expect_float_eq(out.mean_a, sqrt(13), 1e-12);
    cr_expect_float_eq(out.mean_b, sqrt(7), 1e-12);
    cr_expect_eq(out.n_wins, 2u);
    cr_expect_eq(out.p, 0.5);
    cr_expect_float_eq(out.low, -1, 1e-12);
    cr_expect_float_eq(out.high, sqrt(7) - sqrt(13), 1e-12); /* one of each */
    /* weight 0 counts for nothing */
    const double zero[] = {1, 0};
    const struct rw_pairs one = {.n = 2, .a = a, .b = b, .weight = zero};
    cr_assert_eq(rw_significance(ctx, &one, 1, &out), RW_OK);
    cr_expect(out.difference == -3 && out.p == 1.0 && out.low == -3 && out.high == -3);
}

Test(significance, every_allocation_may_fail, .init = setup, .fini = teardown)
{
    const double a[] = {0, 0}, b[] = {1, 2};
    const struct rw_pairs pairs = {.n = 2, .a = a, .b = b};
    struct rw_compared out;
    for (long n = 1; n <= 2; n++) {
        rw_mem_fail_from(n);
        cr_expect_eq(rw_significance(ctx, &pairs, 1, &out), RW_ERR_MEMORY);
        rw_mem_fail_from(0);
    }
}

/* Holm 1979: the i-th least of n times n - i + 1, never under one before it, at most 1. */
Test(significance, holm_by_hand, .init = setup, .fini = teardown)
{
    double p[] = {0.03, 0.01, 0.6, 0.011, 0.3};
    const double corrected[] = {0.09, 0.05, 0.6, 0.05, 0.6};
    cr_assert_eq(rw_holm(ctx, p, 5), RW_OK);
    for (int i = 0; i < 5; i++)
        cr_expect_float_eq(p[i], corrected[i], 1e-15);
    double one = 0.04;
    cr_assert_eq(rw_holm(ctx, &one, 1), RW_OK);
    cr_expect_eq(one, 0.04);
    cr_assert_eq(rw_holm(ctx, NULL, 0), RW_OK);
}
