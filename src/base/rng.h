/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC'11). A number depends on (seed, item, tree, stream) only, so it
 * is independent of the order of threads, blocks or machines. This is the host's implementation.
 * The GPU computes identical words with cuRAND (gpu/device/kernel.cuh). */
#pragma once

#include <stdint.h>

/* The stream of each use of random numbers. A draw yields four 32-bit words. An item written as
 * `document / 4` means that one draw serves four consecutive documents, a word each; permutations,
 * pairs, draws and feature ids that are divided by 4 likewise. Uses with different streams draw
 * independent numbers. Uses with one stream and seed draw the same numbers: RW_STREAM_FOLD divides
 * queries into folds for cross-validation and into halves for pruning and feature selection. The
 * timing run of rw_lambda_pair_seconds borrows RW_STREAM_PAIRS with seed 1. bench/suite_codes.c has
 * its own generator. */
enum rw_stream {
    RW_STREAM_ROUND_LAMBDA = 0,   /* stochastic rounding of lambdas; item = document */
    RW_STREAM_ROUND_HESS = 1,     /* stochastic rounding of hessians (newton); item = document */
    RW_STREAM_SAMPLE_QUERY = 2,   /* item = query */
    RW_STREAM_SAMPLE_FEATURE = 3, /* item = feature id */
    RW_STREAM_CUT_SAMPLE = 4,  /* seed = checksum of the query id, item = position in the query */
    RW_STREAM_YETIRANK = 5,    /* item = document + 2^32 * (permutation / 4); all four words */
    RW_STREAM_XENDCG = 6,      /* item = document */
    RW_STREAM_PAIRS = 7,       /* item = document + 2^32 * (pair / 4); all four words */
    RW_STREAM_BOOTSTRAP = 8,   /* item = draw / 4, tree = resample; all four words */
    RW_STREAM_SIGNS = 9,       /* item = query / 128, tree = pattern; one bit per query, all four
                                  words */
    RW_STREAM_FOLD = 10,       /* folds or halves of the queries; item = query */
    RW_STREAM_PERMUTE = 11,    /* item = document + 2^32 * repeat, tree = feature; two words */
    RW_STREAM_SAMPLE_DOC = 12, /* item = document / 4; all four words */
    RW_STREAM_NODE = 13,       /* item = parent's key + 2^32 * side; the result is the node's key */
    RW_STREAM_SAMPLE_NODE = 14, /* item = feature id / 4 + 2^32 * key of a node; all four words */
    RW_STREAM_BAG = 15,         /* item = bag; two words, which are the bag's seed */
    RW_STREAM_SYNTH = 16,       /* 16 and up: synthetic data, to 1023 */
    RW_STREAM_TUNE = 1024,      /* item = number of a trial, tree = line of a parameter in the space
                                   (the seed: UINT32_MAX) */
    RW_STREAM_GAIN_NOISE = 1025 /* item = feature id + 2^32 * key of a node; all four words */
};

struct rw_philox {
    uint32_t word[4];
};

/* Returns all four words for (seed, item, tree, stream). Philox's counter is the last three, and
 * its key is the seed. */
static inline struct rw_philox rw_random4(uint64_t seed, uint64_t item, uint32_t tree,
                                          uint32_t stream)
{
    struct rw_philox w = {{(uint32_t)item, (uint32_t)(item >> 32), tree, stream}};
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xD2511F53u * w.word[0];
        const uint64_t b = (uint64_t)0xCD9E8D57u * w.word[2];
        const struct rw_philox next = {{(uint32_t)(b >> 32) ^ w.word[1] ^ key0, (uint32_t)b,
                                        (uint32_t)(a >> 32) ^ w.word[3] ^ key1, (uint32_t)a}};
        w = next;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return w;
}

/* Returns the first word, for uses that need one word. */
static inline uint32_t rw_random(uint64_t seed, uint64_t item, uint32_t tree, uint32_t stream)
{
    return rw_random4(seed, item, tree, stream).word[0];
}
