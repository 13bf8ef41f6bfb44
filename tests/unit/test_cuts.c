#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "binning/bins.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

#define CUTS_TEST(name) Test(cuts, name, .init = setup, .fini = teardown)

/* One query; values: [n_docs][n_features]; ids from 1. */
static struct rw_dataset *data_of(const float *values, uint32_t n_docs, uint32_t n_features)
{
    float *labels = calloc(n_docs, sizeof(*labels));
    const uint32_t offsets[] = {0, n_docs};
    struct rw_dataset *dataset;
    cr_assert_eq(
        rw_dataset_from_memory(ctx, values, labels, offsets, n_docs, n_features, 1, 1, &dataset),
        RW_OK, "%s", rw_last_error(ctx));
    free(labels);
    return dataset;
}

static struct rw_cuts *cuts_of(const struct rw_dataset *dataset, int bins, uint32_t min_docs)
{
    const struct rw_cut_rule rule = {.bins = bins, .min_docs = min_docs};
    struct rw_cuts *cuts;
    cr_assert_eq(rw_cuts_make(ctx, dataset, &rule, &cuts), RW_OK, "%s", rw_last_error(ctx));
    return cuts;
}

static float any_float(uint32_t i)
{
    const float value = rw_float_of_bits(rw_random(9, i, 0, FIXTURE_STREAM));
    return isfinite(value) && value != 0.0f ? value : 0.0f;
}

CUTS_TEST(a_boundary_is_nearest_the_middle)
{
    for (uint32_t i = 0; i < 200000; i++) {
        float a = any_float(2 * i), b = any_float(2 * i + 1);
        if (i % 3 == 1) /* close ones */
            b = rw_float_of_key(rw_key_of_float(a) + rw_random(1, i, 0, FIXTURE_STREAM) % 5);
        if (i % 3 == 2)
            a = (float)(i % 1000) * 0.25f, b = a + 4.5e-6f;
        if (!isfinite(b) || b == 0.0f)
            b = 0.0f;
        if (a > b) {
            const float swap = a;
            a = b;
            b = swap;
        }
        const float cut = rw_cut_between(a, b);
        const uint32_t gap = rw_key_of_float(b) - rw_key_of_float(a);
        if (a == b || nextafterf(a, b) == b) {
            cr_assert(isnan(cut), "%a %a", (double)a, (double)b);
            continue;
        }
        cr_assert(cut > a && cut < b, "%a %a: %a", (double)a, (double)b, (double)cut);
        cr_assert(cut != 0.0f || !signbit(cut));
        /* no other float is further from both by more than the rounding of a double */
        const double margin = fmin((double)cut - (double)a, (double)b - (double)cut);
        const float near[2] = {nextafterf(cut, -INFINITY), nextafterf(cut, INFINITY)};
        for (int k = 0; k < 2 && gap > 2; k++) {
            const double other = fmin((double)near[k] - (double)a, (double)b - (double)near[k]);
            cr_assert(other <= margin * (1 + 1e-15), "%a %a: %a", (double)a, (double)b,
                      (double)cut);
            if (other > 2e-6)
                cr_assert_gt(margin, 2e-6);
        }
    }
    cr_assert(isnan(rw_cut_between(0.0f, 1e-45f)));
    cr_assert(isnan(rw_cut_between(-1e-45f, 0.0f)));
    cr_assert_eq(rw_cut_between(-1e-45f, 1e-45f), 0.0f);
    cr_assert_eq(rw_cut_between(-FLT_MAX, FLT_MAX), 0.0f);
    cr_assert(isfinite(rw_cut_between(3e38f, FLT_MAX)));
}

CUTS_TEST(few_values_are_all_distinguished)
{
    float values[90];
    for (int i = 0; i < 90; i++)
        values[i] = (float)(i % 9) - 4.0f; /* 9 values */
    struct rw_dataset *dataset = data_of(values, 90, 1);
    struct rw_cuts *cuts = cuts_of(dataset, 9, 1);
    cr_assert_eq(cuts->n_features, 1);
    cr_assert_eq(rw_cuts_n_bins(cuts, 0), 9);
    for (int b = 0; b < 8; b++)
        cr_assert_eq(cuts->cut[b], (float)b - 3.5f);
    cr_assert_eq(cuts->cut[8], FLT_MAX);
    rw_cuts_free(cuts);
    cuts = cuts_of(dataset, 3, 1); /* 90 values: ranks 30 and 60 are the values -1 and 2 */
    cr_assert_eq(rw_cuts_n_bins(cuts, 0), 3);
    cr_assert_eq(cuts->cut[0], -1.5f);
    cr_assert_eq(cuts->cut[1], 1.5f);
    rw_cuts_free(cuts);
    rw_dataset_free(dataset);
}

/* The rule again, in its plainest form: the boundaries are values; [bins - 1] at most. */
static size_t naive_bounds(const float *sorted, uint32_t n, uint32_t bins, float *bound)
{
    uint32_t distinct = 1;
    size_t n_bounds = 0;
    for (uint32_t i = 1; i < n; i++)
        distinct += sorted[i] != sorted[i - 1];
    for (uint32_t i = 1; i < n; i++) {
        if (sorted[i] == sorted[i - 1])
            continue;
        /* a boundary between i - 1 and i: ranks in the runs on its left and its right */
        uint32_t left = 0, right = 0;
        for (uint32_t k = 1; k < bins; k++) {
            const float value = sorted[(uint64_t)k * n / bins];
            left += value == sorted[i - 1];
            right += value == sorted[i];
        }
        if (distinct <= bins || right >= 1 || left >= 2)
            bound[n_bounds++] = sorted[i];
    }
    return n_bounds;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

CUTS_TEST(ranks_against_the_plain_rule)
{
    static const int bin_counts[] = {2, 3, 7, 16, 64, 255};
    for (uint32_t seed = 0; seed < 60; seed++) {
        float values[700], sorted[700], bound[300];
        const uint32_t n = 300 + seed * 5;
        for (uint32_t i = 0; i < n; i++) {
            const double u = fixture_unit(seed, i);
            values[i] = seed % 3 == 0   ? (float)u
                        : seed % 3 == 1 ? floorf((float)(u * u * 40.0))
                                        : (u < 0.6 ? 1.0f : (float)u * 4.0f);
        }
        for (uint32_t i = 0; i < n; i++)
            sorted[i] = values[i];
        qsort(sorted, n, sizeof(*sorted), by_value);
        const int bins = bin_counts[seed % 6];
        struct rw_dataset *dataset = data_of(values, n, 1);
        struct rw_cuts *cuts = cuts_of(dataset, bins, 1);
        const size_t expected = naive_bounds(sorted, n, (uint32_t)bins, bound);
        cr_assert_eq(rw_cuts_n_bins(cuts, 0), expected + 1, "seed %u: %u bins, expected %zu", seed,
                     rw_cuts_n_bins(cuts, 0), expected + 1);
        for (size_t k = 0; k < expected; k++) {
            /* strictly between the boundary and the value before it */
            float below = sorted[0];
            for (uint32_t i = 0; i < n && sorted[i] < bound[k]; i++)
                below = sorted[i];
            cr_assert_eq(cuts->cut[k], rw_cut_between(below, bound[k]));
        }
        rw_cuts_free(cuts);
        rw_dataset_free(dataset);
    }
}

CUTS_TEST(features_without_a_column)
{
    /* constant; all missing; one odd document; constant with missing values; plain */
    float values[100][5];
    const float missing = rw_float_of_bits(RW_MISSING_BITS);
    for (int i = 0; i < 100; i++) {
        values[i][0] = 4.0f;
        values[i][1] = missing;
        values[i][2] = i == 7 ? 1.0f : 0.0f;
        values[i][3] = i % 2 ? missing : 3.0f;
        values[i][4] = (float)i;
    }
    struct rw_dataset *dataset = data_of(&values[0][0], 100, 5);
    uint8_t ignore[RW_FEATURE_IDS] = {[4] = 1, [5] = 1};
    const struct rw_cut_rule without = {.bins = 16, .min_docs = 2, .ignore = ignore};
    struct rw_cuts *cuts;
    cr_assert_eq(rw_cuts_make(ctx, dataset, &without, &cuts), RW_OK);
    cr_assert_eq(cuts->n_features, 0);
    cr_assert_eq(cuts->n_ignored, 2);
    cr_assert_eq(cuts->n_constant, 2);
    rw_cuts_free(cuts);
    cuts = cuts_of(dataset, 16, 2);
    cr_assert_eq(cuts->n_features, 2);
    cr_assert_eq(cuts->n_ignored, 0);
    cr_assert_eq(cuts->n_constant, 2);
    cr_assert_eq(cuts->n_few, 1);
    cr_assert_eq(cuts->feature[0], 4);
    cr_assert_eq(rw_cuts_n_bins(cuts, 0), 1);
    cr_assert_eq(cuts->has_missing[0], 1);
    cr_assert_eq(cuts->feature[1], 5);
    cr_assert_eq(cuts->has_missing[1], 0);
    rw_cuts_free(cuts);
    cuts = cuts_of(dataset, 16, 1);
    cr_assert_eq(cuts->n_features, 3);
    rw_cuts_free(cuts);
    cuts = cuts_of(dataset, 16, 51);
    cr_assert_eq(cuts->n_features, 0);
    rw_cuts_free(cuts);
    rw_dataset_free(dataset);
}

CUTS_TEST(can_split)
{
    const uint32_t counts[] = {3, 0, 4, 1};
    cr_assert(rw_cuts_can_split(counts, 4, 0, 3));
    cr_assert(!rw_cuts_can_split(counts, 4, 0, 4)); /* 3|5, 7|1 */
    cr_assert(rw_cuts_can_split(counts, 4, 1, 4));  /* 3 + 1 | 5 */
    cr_assert(!rw_cuts_can_split(counts, 1, 0, 1));
    cr_assert(rw_cuts_can_split(counts, 1, 2, 2)); /* missing | 3 */
    cr_assert(!rw_cuts_can_split(counts, 1, 2, 3));
}

/* Feature f is stated, in a sparse column, by f documents of 40: min_docs of them are enough. */
CUTS_TEST(features_of_few_documents)
{
    struct rw_builder builder = {0};
    struct rw_dataset *dataset;
    struct rw_cuts *cuts;
    for (int absent_missing = 0; absent_missing < 2; absent_missing++) {
        cr_assert_eq(rw_builder_query(ctx, &builder, "q", 1), RW_OK);
        for (uint32_t doc = 0; doc < 40; doc++) {
            uint16_t feature[9];
            float value[9];
            size_t n = 0;
            for (uint16_t f = 1; f <= 9; f++) {
                if (doc >= 3 && doc < 3u + f) {
                    feature[n] = f;
                    value[n++] = 5;
                }
            }
            cr_assert_eq(rw_builder_doc(ctx, &builder, 0, feature, value, n, NULL, 0), RW_OK);
        }
        cr_assert_eq(rw_builder_finish(ctx, &builder, 1, &dataset), RW_OK);
        cr_assert(dataset->n_columns == 9 && dataset->column[8].row && dataset->column[8].n == 9);
        const struct rw_cut_rule rule = {
            .bins = 16, .absent_missing = absent_missing, .min_docs = 7};
        cr_assert_eq(rw_cuts_make(ctx, dataset, &rule, &cuts), RW_OK);
        cr_assert_eq(cuts->n_features, 3);
        for (uint32_t f = 0; f < 3; f++)
            cr_assert_eq(cuts->feature[f], 7 + f);
        cr_assert_eq(cuts->n_few, 6);
        rw_cuts_free(cuts);
        rw_dataset_free(dataset);
        rw_builder_release(&builder);
        memset(&builder, 0, sizeof(builder));
    }
}

/* CRC-32 of a query's id, bit by bit. */
static uint32_t checksum_of(const char *id)
{
    uint32_t crc = UINT32_MAX;
    for (; *id; id++) {
        crc ^= (uint8_t)*id;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

/* A document is in the sample by its query's id and its position there, wherever the query is. */
CUTS_TEST(documents_of_the_sample)
{
    enum { QUERIES = 60, LENGTH = 12, N = QUERIES * LENGTH, LIMIT = 200 };
    struct rw_dataset *dataset = fixture_data(ctx, 1, QUERIES, LENGTH, 1);
    struct rw_cut_sample sample;
    rw_cut_sample_docs = LIMIT;
    cr_assert_eq(rw_cut_sample_init(ctx, &sample, dataset), RW_OK);
    const uint32_t threshold = (uint32_t)(((uint64_t)LIMIT << 32) / N);
    uint32_t n = 0;
    for (uint32_t doc = 0; doc < N; doc++) {
        const char *id = dataset->query_id.text + dataset->query_id.offset[doc / LENGTH];
        const uint32_t number = rw_random(checksum_of(id), doc % LENGTH, 0, RW_STREAM_CUT_SAMPLE);
        cr_assert_eq(sample.in[doc], number < threshold, "document %u", doc);
        if (sample.in[doc])
            cr_assert_eq(sample.row[n++], doc);
    }
    cr_assert_eq(sample.n, n);
    cr_assert(n > LIMIT * 8 / 10 && n < LIMIT * 12 / 10, "%u", n);
    rw_cut_sample_release(&sample);
    rw_cut_sample_docs = N; /* no more than these: all */
    cr_assert_eq(rw_cut_sample_init(ctx, &sample, dataset), RW_OK);
    cr_assert(sample.n == N && !sample.row && !sample.in);
    rw_cut_sample_release(&sample);
    rw_cut_sample_docs = N - 1;
    cr_assert_eq(rw_cut_sample_init(ctx, &sample, dataset), RW_OK);
    cr_assert(sample.row && sample.in);
    rw_cut_sample_release(&sample);
    rw_cut_sample_docs = RW_CUT_SAMPLE_DOCS;
    rw_dataset_free(dataset);
}

CUTS_TEST(a_sample_decides_ranks_but_boundaries_are_exact)
{
    enum { N = 300000 };
    float *values = malloc(N * sizeof(*values));
    cr_assert(values != NULL);
    for (uint32_t i = 0; i < N; i++)
        values[i] = (float)fixture_unit(3, i);
    struct rw_dataset *dataset = data_of(values, N, 1);
    struct rw_cuts *cuts = cuts_of(dataset, 64, 20);
    cr_assert_eq(rw_cuts_n_bins(cuts, 0), 64);
    uint32_t counts[64] = {0};
    for (uint32_t b = 0; b < 63; b++) {
        float below = -1.0f, above = 2.0f;
        for (uint32_t i = 0; i < N; i++) {
            if (values[i] <= cuts->cut[b])
                below = fmaxf(below, values[i]);
            else
                above = fminf(above, values[i]);
        }
        cr_assert_eq(cuts->cut[b], rw_cut_between(below, above)); /* of all values */
    }
    for (uint32_t i = 0; i < N; i++)
        counts[rw_bin_of(cuts->cut, 64, values[i])]++;
    for (int b = 0; b < 64; b++)
        cr_assert(counts[b] > N / 64 * 0.9 && counts[b] < N / 64 * 1.1, "%u", counts[b]);
    rw_ctx_set_threads(ctx, 5);
    struct rw_cuts *again = cuts_of(dataset, 64, 20);
    for (int b = 0; b < 64; b++)
        cr_assert_eq(again->cut[b], cuts->cut[b]);
    rw_cuts_free(again);
    rw_cuts_free(cuts);
    rw_dataset_free(dataset);
    free(values);
}
