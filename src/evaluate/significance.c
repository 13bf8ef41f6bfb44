#include "evaluate/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "metric/dcg.h"

__extension__ typedef __int128 int128;

/* ------------------------------------------------------------------ the difference */

struct sums {
    double a, b, weight;
};

static void add(const struct rw_pairs *pairs, uint32_t i, struct sums *sums)
{
    const double weight = pairs->weight ? pairs->weight[i] : 1.0;
    sums->a += weight * pairs->a[i];
    sums->b += weight * pairs->b[i];
    sums->weight += weight;
}

static double mean_of(const struct rw_pairs *pairs, double sum, double weight)
{
    return pairs->root ? sqrt(sum / weight) : sum / weight;
}

static double difference_of(const struct rw_pairs *pairs, const struct sums *sums)
{
    return mean_of(pairs, sums->b, sums->weight) - mean_of(pairs, sums->a, sums->weight);
}

/* ------------------------------------------------------------------ the interval */

/* The i-th draw of a resample: four to a Philox block. A draw is the high word of random x n, whose
 * bias, n / 2^32, is far below what the number of resamples can show. */
static struct sums resample(const struct rw_pairs *pairs, uint64_t seed, uint32_t sample)
{
    struct sums sums = {0};
    for (uint32_t i = 0; i < pairs->n; i += 4) {
        const struct rw_philox random = rw_random4(seed, i / 4, sample, RW_STREAM_BOOTSTRAP);
        for (uint32_t k = 0; k < 4 && i + k < pairs->n; k++)
            add(pairs, (uint32_t)((uint64_t)random.word[k] * pairs->n >> 32), &sums);
    }
    return sums;
}

struct resample_job {
    const struct rw_pairs *pairs;
    uint64_t seed;
    double *differences; /* [RW_BOOTSTRAP_SAMPLES] */
};

static int resample_some(void *user, struct rw_share *share)
{
    const struct resample_job *job = user;
    for (uint64_t s, end; rw_share_next(share, &s, &end);) {
        for (; s < end; s++) {
            const struct sums sums = resample(job->pairs, job->seed, (uint32_t)s);
            job->differences[s] =
                sums.weight > 0.0 ? difference_of(job->pairs, &sums) : (double)NAN;
        }
    }
    return RW_OK;
}

static int bootstrap(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                     struct rw_compared *out)
{
    double *differences = NULL;
    uint32_t n = 0;
    out->low = out->high = (double)NAN;
    if (pairs->n < 2)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, differences, RW_BOOTSTRAP_SAMPLES));
    struct resample_job job = {pairs, seed, differences};
    const int status =
        rw_parallel_long(ctx, ctx->n_threads, RW_BOOTSTRAP_SAMPLES, 64, resample_some, &job);
    for (uint32_t s = 0; status >= 0 && s < RW_BOOTSTRAP_SAMPLES; s++) {
        if (differences[s] == differences[s])
            differences[n++] = differences[s];
    }
    const uint32_t tail = n / 40; /* 2.5 % */
    if (tail > 0) {
        rw_sort_falling(differences, n);
        out->high = differences[tail - 1];
        out->low = differences[n - tail];
    }
    rw_mem_free(differences);
    return status;
}

/* ------------------------------------------------------------------ the test */

/* Differences as whole numbers, the largest under 2^61: sums of signs are exact, so that a pattern
 * which gives the same difference again is seen to. Zeros are left out. Returns how many. */
static uint32_t whole_differences(const struct rw_pairs *pairs, int64_t *whole)
{
    double most = 0.0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pairs->n; i++) {
        const double weight = pairs->weight ? pairs->weight[i] : 1.0;
        const double size = fabs(weight * (pairs->b[i] - pairs->a[i]));
        most = size > most ? size : most;
    }
    if (!(most > 0.0))
        return 0;
    int exponent;
    frexp(most, &exponent);
    for (uint32_t i = 0; i < pairs->n; i++) {
        const double weight = pairs->weight ? pairs->weight[i] : 1.0;
        const double scaled = ldexp(weight * (pairs->b[i] - pairs->a[i]), 60 - exponent);
        whole[n] = (int64_t)rint(scaled);
        n += whole[n] != 0;
    }
    return n;
}

static int at_least(int128 sum, int128 found)
{
    return (sum < 0 ? -sum : sum) >= (found < 0 ? -found : found);
}

static double exact_p(const int64_t *whole, uint32_t n, int128 found)
{
    uint32_t hits = 0;
    for (uint32_t signs = 0; signs < 1u << n; signs++) {
        int128 sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += signs >> i & 1 ? -(int128)whole[i] : whole[i];
        hits += (uint32_t)at_least(sum, found);
    }
    return (double)hits / (double)(1u << n);
}

static int128 random_sum(const int64_t *whole, uint32_t n, uint64_t seed, uint32_t pattern)
{
    int128 sum = 0;
    for (uint32_t i = 0; i < n; i += 128) {
        const struct rw_philox random = rw_random4(seed, i / 128, pattern, RW_STREAM_SIGNS);
        for (uint32_t k = i; k < n && k < i + 128; k++)
            sum += random.word[(k - i) / 32] >> (k % 32) & 1 ? -(int128)whole[k] : whole[k];
    }
    return sum;
}

struct signs_job {
    const int64_t *whole; /* [n] */
    uint32_t n;
    uint64_t seed;
    int128 found;
    uint32_t hits; /* patterns whose sum is as far from 0, or further */
};

static int count_hits(void *user, struct rw_share *share)
{
    struct signs_job *job = user;
    uint32_t hits = 0;
    for (uint64_t r, end; rw_share_next(share, &r, &end);) {
        for (; r < end; r++)
            hits += (uint32_t)at_least(random_sum(job->whole, job->n, job->seed, (uint32_t)r),
                                       job->found);
    }
    rw_share_lock(share);
    job->hits += hits;
    rw_share_unlock(share);
    return RW_OK;
}

static int randomise(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed, double *p)
{
    int64_t *whole = NULL;
    int128 found = 0;
    int status = RW_OK;
    *p = 1.0;
    RW_TRY(RW_NEW(ctx, whole, (size_t)pairs->n + 1));
    const uint32_t n = whole_differences(pairs, whole);
    for (uint32_t i = 0; i < n; i++)
        found += whole[i];
    if (n > RW_EXACT_SIGNS) {
        struct signs_job job = {whole, n, seed, found, 0};
        status = rw_parallel_long(ctx, ctx->n_threads, RW_RANDOM_SIGNS, 64, count_hits, &job);
        /* What was found is one of the patterns (Davison and Hinkley 1997, section 4.2). */
        *p = (1.0 + job.hits) / (1.0 + RW_RANDOM_SIGNS);
    } else if (n > 0) {
        *p = exact_p(whole, n, found);
    }
    rw_mem_free(whole);
    return status;
}

int rw_significance(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                    struct rw_compared *out)
{
    struct sums sums = {0};
    *out = (struct rw_compared){.n_queries = pairs->n};
    for (uint32_t i = 0; i < pairs->n; i++) {
        add(pairs, i, &sums);
        const int better =
            pairs->lower_is_better ? pairs->b[i] < pairs->a[i] : pairs->b[i] > pairs->a[i];
        out->n_ties += pairs->a[i] == pairs->b[i];
        out->n_wins += (uint32_t)better;
    }
    out->n_losses = pairs->n - out->n_ties - out->n_wins;
    out->mean_a = out->mean_b = out->difference = (double)NAN;
    if (sums.weight > 0.0) {
        out->mean_a = mean_of(pairs, sums.a, sums.weight);
        out->mean_b = mean_of(pairs, sums.b, sums.weight);
        out->difference = out->mean_b - out->mean_a;
    }
    RW_TRY(bootstrap(ctx, pairs, seed, out));
    return randomise(ctx, pairs, seed, &out->p);
}

/* ------------------------------------------------------------------ several tests */

static int by_p(const void *a, const void *b)
{
    const double x = **(double *const *)a, y = **(double *const *)b;
    return (x > y) - (x < y);
}

int rw_holm(struct rw_ctx *ctx, double *p, int n)
{
    double **sorted = NULL, most = 0.0;
    RW_TRY(RW_NEW(ctx, sorted, (size_t)n + 1));
    for (int i = 0; i < n; i++)
        sorted[i] = &p[i];
    if (n > 1)
        qsort(sorted, (size_t)n, sizeof(*sorted), by_p);
    for (int i = 0; i < n; i++) {
        const double times = *sorted[i] * (double)(n - i);
        const double corrected = times < 1.0 ? times : 1.0;
        most = corrected > most ? corrected : most;
        *sorted[i] = most;
    }
    rw_mem_free(sorted);
    return RW_OK;
}
