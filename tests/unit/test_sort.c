#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/rng.h"
#include "train_fixture.h"

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float any_float(uint32_t i)
{
    float value = rw_float_of_bits(rw_random(5, i, 0, FIXTURE_STREAM));
    if (!isfinite(value) || value == 0.0f)
        value = i % 2 ? 0.0f : FLT_MAX;
    return i % 5 == 0 ? (float)(i % 7) - 3.0f : value;
}

Test(sort, keys_order_as_floats_do)
{
    static const float rising[] = {-FLT_MAX, -1.0f,   -FLT_MIN, -1e-45f, 0.0f,
                                   1e-45f,   FLT_MIN, 1.0f,     1.5f,    FLT_MAX};
    const size_t n = sizeof(rising) / sizeof(rising[0]);
    for (size_t i = 0; i + 1 < n; i++)
        cr_assert_lt(rw_key_of_float(rising[i]), rw_key_of_float(rising[i + 1]));
    for (uint32_t i = 0; i < 10000; i++) {
        const float a = any_float(i), b = any_float(i + 1);
        cr_assert_eq(rw_float_of_key(rw_key_of_float(a)), a);
        if (a != b)
            cr_assert_eq(rw_key_of_float(a) < rw_key_of_float(b), a < b);
    }
}

Test(sort, as_qsort_sorts)
{
    static const size_t sizes[] = {0, 1, 2, 3, 255, 256, 2047, 2048, 2049, 50000};
    for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
        const size_t n = sizes[k];
        uint32_t *keys = malloc((n + 1) * sizeof(*keys)),
                 *scratch = malloc((n + 1) * sizeof(*keys));
        float *expected = malloc((n + 1) * sizeof(*expected));
        cr_assert(keys && scratch && expected);
        for (uint32_t i = 0; i < n; i++) {
            expected[i] = any_float(i + (uint32_t)k);
            keys[i] = rw_key_of_float(expected[i]);
        }
        keys[n] = scratch[n] = 0xFEDCBA98u;
        rw_sort_keys(keys, scratch, n);
        qsort(expected, n, sizeof(*expected), by_value);
        for (size_t i = 0; i < n; i++)
            cr_assert_eq(rw_float_of_key(keys[i]), expected[i], "%zu of %zu", i, n);
        cr_assert(keys[n] == 0xFEDCBA98u && scratch[n] == 0xFEDCBA98u);
        free(keys);
        free(scratch);
        free(expected);
    }
}
