#include <criterion/criterion.h>

#include "base/bits.h"

Test(search, numbers_under_a_limit)
{
    static const uint32_t number[] = {0, 3, 3, 3, 7, UINT32_MAX};
    for (uint32_t n = 0; n <= 6; n++) {
        static const uint64_t limits[] = {0, 1, 3, 4, 7, 8, UINT32_MAX, (uint64_t)UINT32_MAX + 1};
        for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
            uint32_t expected = 0;
            while (expected < n && number[expected] < limits[i])
                expected++;
            cr_assert_eq(rw_numbers_under(number, n, limits[i]), expected, "%u numbers, %llu", n,
                         (unsigned long long)limits[i]);
        }
    }
}

Test(search, records_begin_with_the_number)
{
    static const struct {
        uint32_t number;
        double other;
    } record[] = {{1, 9.0}, {4, 8.0}, {6, 7.0}};
    for (uint32_t limit = 0; limit <= 7; limit++)
        cr_assert_eq(rw_records_under(record, sizeof(record[0]), 3, limit),
                     (limit > 1) + (limit > 4) + (limit > 6));
}
