/* Small random data sets, for tests of what trains on them. */
#pragma once

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/rng.h"
#include "dataset/dataset.h"

#define FIXTURE_STREAM 0x7E57u

static inline double fixture_unit(uint64_t seed, uint32_t item)
{
    return (double)rw_random(seed, item, 0, FIXTURE_STREAM) * 0x1p-32;
}

/* Queries of `length` documents, labels 0 to 3; feature f follows the label the less the higher it
 * is; every 7th value of feature 1 is missing. */
static inline struct rw_dataset *fixture_data(struct rw_ctx *ctx, uint64_t seed, uint32_t n_queries,
                                              uint32_t length, uint32_t n_features)
{
    const uint32_t n = n_queries * length;
    float *values = malloc((size_t)n * n_features * sizeof(*values));
    float *labels = malloc(n * sizeof(*labels));
    uint32_t *offsets = malloc((n_queries + 1) * sizeof(*offsets));
    struct rw_dataset *dataset = NULL;
    cr_assert(values && labels && offsets);
    for (uint32_t q = 0; q <= n_queries; q++)
        offsets[q] = q * length;
    for (uint32_t i = 0; i < n; i++) {
        const double u = fixture_unit(seed, i);
        labels[i] = (float)(u < 0.5 ? 0 : u < 0.75 ? 1 : u < 0.9 ? 2 : 3);
        for (uint32_t f = 0; f < n_features; f++) {
            const double noise = fixture_unit(seed, (f + 1) * n + i);
            float value = labels[i] + (float)(noise * 2.0 * (f + 1));
            if (f == 1 && i % 7 == 3)
                value = rw_float_of_bits(RW_MISSING_BITS);
            values[(size_t)i * n_features + f] = value;
        }
    }
    cr_assert_eq(
        rw_dataset_from_memory(ctx, values, labels, offsets, n, n_features, n_queries, 1, &dataset),
        RW_OK, "%s", rw_last_error(ctx));
    free(values);
    free(labels);
    free(offsets);
    return dataset;
}
