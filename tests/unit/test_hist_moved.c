#include <criterion/criterion.h>
#include <string.h>

#include "gpu/hist/hist.h"

/* Every lambda with every hessian of 8 bits, and the ends of 16, are read back unchanged. */
static void there_and_back(enum rw_moved moved, int32_t lambda, int32_t hess)
{
    uint32_t words[3];
    memset(words, 0xa5, sizeof(words));
    rw_moved_set(moved, words, 1, rw_moved_word(moved, lambda, hess));
    const uint32_t word = rw_moved_at(moved, words, 1);
    const int is_bytes = moved == RW_MOVED_BYTES;
    cr_assert_eq(is_bytes ? (int8_t)word : (int16_t)word, lambda);
    if (moved != RW_MOVED_LAMBDA)
        cr_assert_eq(word >> (is_bytes ? 8 : 16), (uint32_t)hess);
    const unsigned char *bytes = (const unsigned char *)words;
    const size_t size = rw_moved_bytes(moved);
    cr_assert_eq(bytes[size - 1], 0xa5, "the word before");
    cr_assert_eq(bytes[2 * size], 0xa5, "the word after");
}

Test(hist_moved, there_and_back)
{
    for (int32_t lambda = -127; lambda <= 127; lambda++) {
        for (int32_t hess = 0; hess <= 127; hess++) {
            there_and_back(RW_MOVED_BYTES, lambda, hess);
            there_and_back(RW_MOVED_HALVES, 258 * lambda, 258 * hess);
        }
    }
    for (int32_t lambda = -32767; lambda <= 32767; lambda++)
        there_and_back(RW_MOVED_LAMBDA, lambda, 0);
    there_and_back(RW_MOVED_HALVES, -32767, 32767);
}

Test(hist_moved, the_least_that_holds_them)
{
    cr_expect_eq(rw_moved_of(0, 32767), RW_MOVED_LAMBDA);
    cr_expect_eq(rw_moved_of(1, 127), RW_MOVED_BYTES);
    cr_expect_eq(rw_moved_of(1, 128), RW_MOVED_HALVES);
    cr_expect_eq(rw_moved_bytes(RW_MOVED_LAMBDA), 2);
    cr_expect_eq(rw_moved_bytes(RW_MOVED_BYTES), 2);
    cr_expect_eq(rw_moved_bytes(RW_MOVED_HALVES), 4);
}
