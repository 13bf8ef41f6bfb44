#include <criterion/criterion.h>

#include "base/rng.h"
#include "tree/cpu/engine_cpu.h"

static void add(int64_t *joint, int64_t *want, int32_t lambda, int32_t weight)
{
    *joint += rw_joint_of(lambda, weight);
    want[0] += lambda * 4294967296 + 1;
    want[1] += weight;
}

/* As many documents as may be, all of the largest numbers, then all of the least: no part of the
 * sum reaches another. */
Test(joint_words, largest)
{
    for (int bits = 4; bits <= 16; bits++) {
        const int32_t limit = rw_quantise_limit(bits);
        const uint32_t most = rw_joint_most(limit);
        cr_assert(most >= 255 && most <= 65535, "%u documents at %d bits", most, bits);
        for (int sign = -1; sign <= 1; sign++) {
            for (int32_t weight = 0; weight <= limit; weight += limit) {
                int64_t joint = 0, want[2] = {0, 0};
                for (uint32_t i = 0; i < most; i++)
                    add(&joint, want, sign * limit, weight);
                cr_assert_eq(rw_joint_packed(joint), want[0], "%d bits, sign %d", bits, sign);
                cr_assert_eq(rw_joint_hessian(joint), want[1], "%d bits, sign %d", bits, sign);
                cr_assert_eq(rw_joint_from(want[0], want[1]), joint, "%d bits, sign %d", bits,
                             sign);
            }
        }
    }
}

Test(joint_words, any)
{
    for (int bits = 4; bits <= 16; bits++) {
        const int32_t limit = rw_quantise_limit(bits);
        const uint32_t most = rw_joint_most(limit);
        int64_t joint = 0, want[2] = {0, 0};
        for (uint32_t i = 0; i < most; i++) {
            const uint32_t r = rw_random((uint64_t)bits, i, 1, 99);
            add(&joint, want, (int32_t)(r % (2 * (uint32_t)limit + 1)) - limit,
                (int32_t)((r >> 16) % ((uint32_t)limit + 1)));
            cr_assert_eq(rw_joint_packed(joint), want[0]);
            cr_assert_eq(rw_joint_hessian(joint), want[1]);
            cr_assert_eq(rw_joint_from(want[0], want[1]), joint);
        }
    }
}
