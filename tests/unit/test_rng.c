#include <criterion/criterion.h>

#include "base/rng.h"

/* The known answers published with Random123 (kat_vectors, philox4x32 10). */
Test(rng, known_answers)
{
    const struct {
        uint32_t counter[4], key[2], expected[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const uint32_t *counter = cases[i].counter, *key = cases[i].key;
        const struct rw_philox got =
            rw_random4((uint64_t)key[1] << 32 | key[0], (uint64_t)counter[1] << 32 | counter[0],
                       counter[2], counter[3]);
        for (int w = 0; w < 4; w++)
            cr_expect_eq(got.word[w], cases[i].expected[w], "case %zu word %d: %08x", i, w,
                         got.word[w]);
    }
}

/* Which part of (seed, item, tree, stream) goes where is part of every model. */
Test(rng, counter_layout)
{
    const uint64_t item = 0x85a308d3243f6a88u, seed = 0x299f31d0a4093822u;
    const struct rw_philox all = rw_random4(seed, item, 0x13198a2e, 0x03707344);
    cr_assert_eq(all.word[0], 0xd16cfe09u);
    cr_assert_eq(all.word[3], 0x24126ea1u);
    cr_assert_eq(rw_random(seed, item, 0x13198a2e, 0x03707344), 0xd16cfe09u);
}

/* The compiler refuses a number that two streams share, and warns of a stream that is not here. */
static int number_of(enum rw_stream stream)
{
    switch (stream) {
    case RW_STREAM_ROUND_LAMBDA:
        return 0;
    case RW_STREAM_ROUND_HESS:
        return 1;
    case RW_STREAM_SAMPLE_QUERY:
        return 2;
    case RW_STREAM_SAMPLE_FEATURE:
        return 3;
    case RW_STREAM_CUT_SAMPLE:
        return 4;
    case RW_STREAM_YETIRANK:
        return 5;
    case RW_STREAM_XENDCG:
        return 6;
    case RW_STREAM_PAIRS:
        return 7;
    case RW_STREAM_BOOTSTRAP:
        return 8;
    case RW_STREAM_SIGNS:
        return 9;
    case RW_STREAM_FOLD:
        return 10;
    case RW_STREAM_PERMUTE:
        return 11;
    case RW_STREAM_SAMPLE_DOC:
        return 12;
    case RW_STREAM_NODE:
        return 13;
    case RW_STREAM_SAMPLE_NODE:
        return 14;
    case RW_STREAM_BAG:
        return 15;
    case RW_STREAM_SYNTH: /* and all above it, below the next */
        return 16;
    case RW_STREAM_TUNE:
        return 1024;
    case RW_STREAM_GAIN_NOISE:
        return 1025;
    }
    return -1;
}

/* Every use has a stream of its own, and the same one for good: its number is part of every model
 * and of every figure that was ever printed. */
Test(rng, streams)
{
    int n = 0;
    for (int number = 0; number < 2048; number++) {
        const int of_name = number_of((enum rw_stream)number);
        cr_assert(of_name == -1 || of_name == number, "%d is %d", number, of_name);
        n += of_name == number;
    }
    cr_assert_eq(n, 19);
}

Test(rng, evenly_spread)
{
    enum { N = 1 << 20, BINS = 256 };
    static uint32_t count[4][BINS];
    for (uint32_t i = 0; i < N; i++) {
        const uint32_t word = rw_random(1, i, 7, RW_STREAM_ROUND_LAMBDA);
        for (int byte = 0; byte < 4; byte++)
            count[byte][word >> (8 * byte) & 255]++;
    }
    for (int byte = 0; byte < 4; byte++) {
        double chi = 0.0;
        for (int bin = 0; bin < BINS; bin++) {
            const double off = (double)count[byte][bin] - (double)N / BINS;
            chi += off * off * BINS / N;
        }
        /* 255 degrees of freedom: mean 255, standard deviation 22.6 */
        cr_assert(chi > 255 - 5 * 22.6 && chi < 255 + 5 * 22.6, "byte %d: chi-square %g", byte,
                  chi);
    }
}
