#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "binning/bins.h"
#include "binning/chunks.h"
#include "train_fixture.h"

enum { N_FEATURES = 6 };

/* Documents as they would be read: dense, sparse, missing, hot, with many values. */
static struct rw_dataset *make(struct rw_ctx *ctx, uint64_t seed, uint32_t n_docs)
{
    struct rw_builder builder;
    struct rw_dataset *dataset;
    memset(&builder, 0, sizeof(builder));
    cr_assert_eq(rw_builder_query(ctx, &builder, "q", 1), RW_OK);
    for (uint32_t i = 0; i < n_docs; i++) {
        uint16_t features[N_FEATURES];
        float values[N_FEATURES];
        size_t n = 0;
        for (uint32_t f = 0; f < N_FEATURES; f++) {
            const double u = fixture_unit(seed, i * N_FEATURES + f);
            float value = (float)(u * 100.0);
            if (f == 1 && u < 0.95) /* seldom mentioned */
                continue;
            if (f == 2 && u < 0.3)
                value = rw_float_of_bits(RW_MISSING_BITS);
            if (f == 3)
                value = u < 0.97 ? 8.0f : value;
            if (f == 4 && u < 0.5) {
                if (u < 0.4)
                    continue;
                value = rw_float_of_bits(RW_MISSING_BITS);
            }
            if (f == 5)
                value = floorf(value) - 50.0f;
            features[n] = (uint16_t)(f * 3);
            values[n++] = value;
        }
        cr_assert_eq(rw_builder_doc(ctx, &builder, 0.0f, features, values, n, NULL, 0), RW_OK);
    }
    cr_assert_eq(rw_builder_finish(ctx, &builder, 1, &dataset), RW_OK);
    rw_builder_release(&builder);
    return dataset;
}

/* The rule of bins.h, by the document's value. */
static uint32_t expected_code(const struct rw_cuts *cuts, uint32_t f, float value)
{
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    if (value != value) {
        if (cuts->has_missing[f])
            return n_bins;
        value = 0.0f;
    }
    uint32_t b = 0;
    while (!(value <= cuts->cut[cuts->offset[f] + b]))
        b++;
    return b;
}

static void compare(const struct rw_bins *bins, const struct rw_dataset *dataset, float absent)
{
    float *values = malloc(dataset->n_docs * sizeof(*values));
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        uint32_t counts[1026], expected[1026] = {0};
        rw_dataset_feature(dataset, bins->cuts->feature[f], absent, values);
        for (uint32_t i = 0; i < dataset->n_docs; i++) {
            const uint32_t code = expected_code(bins->cuts, f, values[i]);
            cr_assert_eq(rw_bins_code(bins, f, i), code, "feature %u document %u",
                         bins->cuts->feature[f], i);
            expected[code]++;
        }
        rw_bins_count(bins, f, counts);
        for (uint32_t c = 0; c < rw_cuts_n_codes(bins->cuts, f); c++)
            cr_assert_eq(counts[c], expected[c]);
    }
    free(values);
}

static void check(int n_bins, int absent_missing, uint32_t n_docs)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *train = make(ctx, 1, n_docs), *other = make(ctx, 2, n_docs / 2 + 1);
    const struct rw_cut_rule rule = {
        .bins = n_bins, .absent_missing = absent_missing, .min_docs = 1};
    struct rw_cuts *cuts;
    struct rw_bins *bins, *other_bins;
    cr_assert_eq(rw_cuts_make(ctx, train, &rule, &cuts), RW_OK);
    cr_assert_eq(rw_bins_make(ctx, train, cuts, &rule, 1, &bins), RW_OK);
    cr_assert_eq(rw_bins_make(ctx, other, cuts, &rule, 0, &other_bins), RW_OK);
    compare(bins, train, absent_missing ? NAN : 0.0f);
    compare(other_bins, other, absent_missing ? NAN : 0.0f);
    int n_sparse = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        n_sparse += bins->codes[f].row != NULL;
        if (bins->codes[f].row)
            cr_assert_leq(bins->codes[f].n, n_docs / RW_SPARSE_SHARE);
    }
    if (n_docs > 200 && n_bins > 2) /* both forms occur; one worker sees no rare values */
        cr_assert(n_sparse >= 1 && n_sparse < (int)cuts->n_features, "%d", n_sparse);
    rw_bins_free(other_bins);
    rw_bins_free(bins);
    rw_dataset_free(train);
    rw_dataset_free(other);
    rw_ctx_free(ctx);
}

Test(bins, codes_follow_values)
{
    static const int bins[] = {2, 15, 16, 255, 256, 1024};
    static const uint32_t docs[] = {1, 2, 9, 1000, 5000};
    for (int b = 0; b < 6; b++) {
        for (int d = 0; d < 5; d++) {
            check(bins[b], 0, docs[d]);
            check(bins[b], 1, docs[d]);
        }
    }
}

/* Selected queries keep their codes, in dense and sparse features, and features change between both
 * forms. */
Test(bins, selected_queries_keep_their_codes)
{
    enum { N_DOCS = 600, N_QUERIES = 60 };
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *dataset = make(ctx, 5, N_DOCS);
    uint32_t offset[N_QUERIES + 1], row[N_DOCS];
    uint8_t keep[N_QUERIES];
    struct rw_dataset divided = *dataset; /* borrows all */
    struct rw_bins *all, *some;
    int n_sparse = 0;
    for (uint32_t q = 0; q <= N_QUERIES; q++)
        offset[q] = q * (N_DOCS / N_QUERIES);
    divided.query_offset = offset;
    divided.n_queries = N_QUERIES;
    const struct rw_cut_rule rule = {.bins = 16, .min_docs = 1};
    cr_assert_eq(rw_bins_make_training(ctx, dataset, &rule, &all), RW_OK);
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint32_t n = 0;
        for (uint32_t q = 0; q < N_QUERIES; q++) {
            keep[q] = fixture_unit(seed, q) < (double)(seed + 1) / 50;
            for (uint32_t doc = offset[q]; keep[q] && doc < offset[q + 1]; doc++)
                row[n++] = doc;
        }
        cr_assert_eq(rw_bins_select(ctx, all, &divided, keep, &some), RW_OK);
        cr_assert_eq(some->n_docs, n);
        for (uint32_t f = 0; f < all->cuts->n_features; f++) {
            n_sparse += some->codes[f].row != NULL;
            for (uint32_t i = 0; i < n; i++)
                cr_assert_eq(rw_bins_code(some, f, i), rw_bins_code(all, f, row[i]));
        }
        rw_bins_free(some);
    }
    cr_expect_gt(n_sparse, 50);
    rw_bins_free(all);
    rw_dataset_free(dataset);
    rw_ctx_free(ctx);
}

Test(bins, bits_of_codes)
{
    cr_assert_eq(rw_code_bits(2), 4);
    cr_assert_eq(rw_code_bits(16), 4);
    cr_assert_eq(rw_code_bits(17), 8);
    cr_assert_eq(rw_code_bits(256), 8);
    cr_assert_eq(rw_code_bits(257), 16);
}

Test(bins, a_failure_leaves_the_boundaries_to_the_caller)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    rw_ctx_set_threads(ctx, 1);
    struct rw_dataset *train = make(ctx, 1, 300);
    const struct rw_cut_rule rule = {.bins = 16, .min_docs = 1};
    struct rw_cuts *cuts;
    struct rw_bins *bins = NULL;
    cr_assert_eq(rw_cuts_make(ctx, train, &rule, &cuts), RW_OK);
    int status = RW_ERR_MEMORY;
    long n = 0;
    while (status != RW_OK) {
        rw_mem_fail_from(++n);
        status = rw_bins_make(ctx, train, cuts, &rule, 1, &bins);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK ? bins != NULL : status == RW_ERR_MEMORY && bins == NULL);
    }
    cr_assert_gt(n, 6);
    rw_bins_free(bins); /* and the boundaries with it */
    rw_dataset_free(train);
    rw_ctx_free(ctx);
}

/* ---- values of chunks, without what most of them are ---- */

static void check_packed(enum rw_isa isa, uint32_t n, uint32_t rest)
{
    enum { MOST = 80 };
    float value[MOST], packed[MOST + RW_PACK_PAD] = {0}, again[MOST];
    uint8_t bits[MOST / 8];
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < MOST; i++) {
        value[i] = i < n && rw_random(5, i, n, 1) % 3 ? rw_float_of_bits(rest) : (float)i + 1.0f;
        n_kept += i < n && rw_bits_of_float(value[i]) != rest;
        again[i] = 0.5f;
    }
    memset(bits, 0xff, sizeof(bits));
    cr_assert_eq(rw_chunk_pack(isa, value, n, rest, bits, packed), n_kept, "%d %u", (int)isa, n);
    for (uint32_t i = 0, at = 0; i < (n + 7) / 8 * 8; i++) {
        const int keep = i < n && rw_bits_of_float(value[i]) != rest;
        cr_assert_eq(bits[i / 8] >> i % 8 & 1, keep, "%d %u: %u", (int)isa, n, i);
        cr_assert(!keep || packed[at] == value[i], "%d %u: %u", (int)isa, n, i);
        at += (uint32_t)keep;
    }
    rw_chunk_unpack(isa, packed, bits, n, rest, again);
    cr_assert_arr_eq(again, value, n * sizeof(*value));
    for (uint32_t i = n; i < MOST; i++)
        cr_assert_eq(again[i], 0.5f, "%d %u: %u", (int)isa, n, i);
}

Test(bins, values_packed)
{
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        for (uint32_t n = 0; n <= 70; n++) {
            check_packed((enum rw_isa)isa, n, 0);
            check_packed((enum rw_isa)isa, n, RW_ABSENT_BITS);
        }
    }
}
