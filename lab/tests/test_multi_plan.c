/* The analytic model of Henriksen et al.: Table I from its device's figures, equation by equation.
 */
#include <criterion/criterion.h>

#include "lab/kernels/generalized_serial.h"
#include "lab/kernels/multi_plan.h"
#include "lab/kernels/lab_tuning.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
enum { KI = 1024 };

/* Section V: RTX 2080 Ti, L = 48 KiB, L2 = 5.5 MiB, T_hw = 69632; B = 1024 (III-C); 64-byte lines
 * (the notes on equation 4). 50 million elements. */
static const struct rw_multi_figures turing = {.shared_bytes = 48 * KI,
                                               .l2_bytes = 5632 * KI,
                                               .l2_line = 64,
                                               .n_threads = 69632,
                                               .block_threads = 1024,
                                               .n_multiprocessors = 68};

static struct rw_multi_work work_of(enum rw_multi_strategy strategy, uint64_t n_bins, double race)
{
    /* 32-bit sums; or a pair of ints and its lock, in two arrays */
    const int lock = strategy == RW_MULTI_LOCK;
    const struct rw_multi_work work = {.strategy = strategy,
                                       .cell_bytes = lock ? 12 : 4,
                                       .mean_bytes = lock ? 6 : 4,
                                       .n = 50000000,
                                       .n_bins = n_bins,
                                       .race = race};
    return work;
}

struct pair {
    uint64_t m, s;
};

/* Every entry of Table I is here. "2K" may be 2047 or 2048, which gives the same. */
Test(multi_plan, table_1_shared)
{
    static const uint64_t bins[] = {31, 127, 505, 2 * KI, 6 * KI, 12 * KI, 24 * KI, 48 * KI};
    static const struct pair printed[2][LENGTH(bins)] = {
        {{396, 1}, {96, 1}, {24, 1}, {6, 1}, {2, 1}, {1, 1}, {1, 2}, {1, 4}},
        {{132, 1}, {32, 1}, {8, 1}, {2, 1}, {1, 2}, {1, 3}, {1, 6}, {1, 12}}};
    static const enum rw_multi_strategy strategies[] = {RW_MULTI_HARDWARE, RW_MULTI_CAS,
                                                        RW_MULTI_LOCK};
    for (int w = 0; w < LENGTH(strategies); w++) {
        for (int i = 0; i < LENGTH(bins); i++) {
            const struct pair *want = &printed[w == 2][i];
            const struct rw_multi_work work = work_of(strategies[w], bins[i], 1);
            const struct rw_multi_choice got = rw_multi_shared(&turing, &work);
            cr_expect(got.m == want->m && got.s == want->s, "strategy %d, %lu bins: %lu, %lu", w,
                      bins[i], got.m, got.s);
            cr_expect_eq(got.c, (1024 + got.m - 1) / got.m);
            cr_expect_eq(got.n_bins, (bins[i] + got.s - 1) / got.s);
        }
    }
    const struct rw_multi_work odd = work_of(RW_MULTI_HARDWARE, 2047, 1);
    cr_expect_eq(rw_multi_shared(&turing, &odd).m, 6);
}

Test(multi_plan, table_1_global)
{
    static const uint64_t bins[] = {12 * KI,  24 * KI,  48 * KI,  192 * KI,
                                    384 * KI, 768 * KI, 1536 * KI};
    static const struct pair printed[RW_MULTI_STRATEGIES][2][LENGTH(bins)] = {
        {{{23, 1}, {11, 1}, {5, 1}, {1, 1}, {1, 1}, {1, 2}, {1, 3}},
         {{69, 1}, {34, 1}, {17, 1}, {4, 1}, {2, 1}, {1, 1}, {1, 1}}},
        {{{46, 1}, {23, 1}, {11, 1}, {2, 1}, {1, 1}, {1, 2}, {1, 3}},
         {{138, 1}, {69, 1}, {34, 1}, {8, 1}, {4, 1}, {2, 1}, {1, 1}}},
        {{{15, 1}, {7, 1}, {3, 1}, {1, 1}, {1, 2}, {1, 3}, {1, 5}},
         {{69, 1}, {34, 1}, {17, 1}, {4, 1}, {2, 1}, {1, 1}, {1, 1}}}};
    for (int w = 0; w < RW_MULTI_STRATEGIES; w++) {
        for (int r = 0; r < 2; r++) {
            for (int i = 0; i < LENGTH(bins); i++) {
                const struct rw_multi_work work =
                    work_of((enum rw_multi_strategy)w, bins[i], r ? 63 : 1);
                const struct rw_multi_choice got = rw_multi_global(&turing, &work);
                const struct pair *want = &printed[w][r][i];
                cr_expect(got.m == want->m && got.s == want->s,
                          "strategy %d, RF %d, %lu bins: %lu, %lu", w, r ? 63 : 1, bins[i], got.m,
                          got.s);
            }
        }
    }
}

/* Section V-A as the document has it; and the passes that a plan takes on today's devices. */
Test(multi_plan, switch_rule)
{
    static const uint64_t most[RW_MULTI_STRATEGIES] = {3, 4, 6};
    for (int w = 0; w < RW_MULTI_STRATEGIES; w++) {
        cr_expect(rw_multi_prefers_shared((enum rw_multi_strategy)w, 1));
        cr_expect(rw_multi_prefers_shared((enum rw_multi_strategy)w, most[w]));
        cr_expect_not(rw_multi_prefers_shared((enum rw_multi_strategy)w, most[w] + 1));
        cr_expect_not(rw_multi_prefers_shared((enum rw_multi_strategy)w, 0));
    }
    static const uint64_t here[RW_MULTI_STRATEGIES] = {
        RW_TUNE_MULTI_PASSES_HARDWARE, RW_TUNE_MULTI_PASSES_CAS, RW_TUNE_MULTI_PASSES_LOCK};
    for (int w = 0; w < RW_MULTI_STRATEGIES; w++) {
        const uint64_t room = turing.shared_bytes / (w == RW_MULTI_LOCK ? 12 : 4);
        const struct rw_multi_work fits = work_of((enum rw_multi_strategy)w, here[w] * room, 1);
        const struct rw_multi_work above =
            work_of((enum rw_multi_strategy)w, here[w] * room + 1, 1);
        struct rw_multi_plan plan;
        cr_assert_eq(rw_multi_plan_make(&turing, &fits, 1, RW_MULTI_AUTO, 0, 0, &plan), 0);
        cr_expect(plan.memory == RW_MULTI_SHARED && plan.s == here[w]);
        cr_assert_eq(rw_multi_plan_make(&turing, &above, 1, RW_MULTI_AUTO, 0, 0, &plan), 0);
        cr_expect_eq(plan.memory, RW_MULTI_GLOBAL);
    }
}

static const struct rw_multi_figures hopper = {.shared_bytes = 227 * KI,
                                               .l2_bytes = 50 * KI * KI,
                                               .l2_line = 64,
                                               .n_threads = 132 * 2048,
                                               .block_threads = 1024,
                                               .n_multiprocessors = 132};

static struct rw_multi_plan plan_of(enum rw_multi_strategy strategy, enum rw_multi_memory memory,
                                    uint64_t n_bins, double race)
{
    const struct rw_multi_work work = work_of(strategy, n_bins, race);
    struct rw_multi_plan plan = {.memory = RW_MULTI_AUTO};
    cr_assert_eq(rw_multi_plan_make(&hopper, &work, 1, memory, 0, 0, &plan), 0);
    return plan;
}

/* What tuning.h says of each strategy, by hand: blocks of half the memory hold 28,928 words, blocks
 * of all of it 58,112; 50 million elements are 189,393 of each of 264 blocks, 378,787 of 132. */
Test(multi_plan, rules_of_shared_memory)
{
    static const struct {
        enum rw_multi_strategy strategy;
        double race;
        uint64_t n_bins, m, blocks;
    } want[] = {
        {RW_MULTI_HARDWARE, 1, 31, 32, 264},
        {RW_MULTI_HARDWARE, 1, 505, 8, 264}, /* 11 */
        {RW_MULTI_HARDWARE, 1, 2047, 2, 264},
        {RW_MULTI_HARDWARE, 1, 6144, 1, 264},
        {RW_MULTI_HARDWARE, 1, 12288, 1, 132}, /* 16 elements a bin: 196,608 */
        {RW_MULTI_CAS, 1, 31, 1024, 132},
        {RW_MULTI_CAS, 15, 31, 1024, 132},
        {RW_MULTI_CAS, 31, 31, 512, 264}, /* one bin in use */
        {RW_MULTI_CAS, 1, 27, 1024, 264}, /* its own copies */
        {RW_MULTI_CAS, 1, 127, 224, 264},
        {RW_MULTI_CAS, 1, 505, 57, 264},
        {RW_MULTI_CAS, 63, 505, 57, 264},
        {RW_MULTI_CAS, 1, 2047, 14, 264},
        {RW_MULTI_CAS, 1, 24576, 1, 264},
        {RW_MULTI_CAS, 1, 49152, 1, 132},
        {RW_MULTI_LOCK, 1, 31, 288, 264},   /* 311 */
        {RW_MULTI_LOCK, 1, 127, 64, 264},   /* 75 */
        {RW_MULTI_LOCK, 9.3, 505, 16, 264}, /* 19 of 54.3 cells in use: a block's threads; */
        {RW_MULTI_LOCK, 9.4, 505, 1, 264},  /* 19 of 53.7: fewer */
        {RW_MULTI_LOCK, 63, 505, 1, 264},
        {RW_MULTI_LOCK, 1, 6144, 1, 264},
        {RW_MULTI_LOCK, 1, 9642, 1, 264},
        {RW_MULTI_LOCK, 1, 9643, 2, 132}, /* more than half the memory */
        {RW_MULTI_LOCK, 63, 9643, 1, 132},
    };
    for (int i = 0; i < LENGTH(want); i++) {
        const struct rw_multi_plan plan =
            plan_of(want[i].strategy, RW_MULTI_SHARED, want[i].n_bins, want[i].race);
        cr_expect(plan.m == want[i].m && plan.s == 1 && plan.blocks == want[i].blocks,
                  "strategy %d, %lu bins: M %lu, S %lu, %lu blocks", want[i].strategy,
                  want[i].n_bins, plan.m, plan.s, plan.blocks);
    }
}

/* 270,336 threads: 16,896 lines of 32 cells for hardware, 67,584 cells for locks; k_RF 4 for CAS,
 * which is four times the cells that L2 has room for at RF 16. */
Test(multi_plan, rules_of_global_memory)
{
    static const struct {
        enum rw_multi_strategy strategy;
        double race;
        uint64_t n_bins, m;
    } want[] = {
        {RW_MULTI_HARDWARE, 1, 12288, 44},  {RW_MULTI_HARDWARE, 32, 12288, 44},
        {RW_MULTI_HARDWARE, 63, 12288, 87}, {RW_MULTI_HARDWARE, 1, 196608, 3},
        {RW_MULTI_HARDWARE, 1, 1572864, 1}, {RW_MULTI_HARDWARE, 63, 786432, 2},
        {RW_MULTI_LOCK, 1, 12288, 6}, /* 5.5 */
        {RW_MULTI_LOCK, 1, 24576, 3},       {RW_MULTI_LOCK, 1, 1572864, 1},
        {RW_MULTI_LOCK, 4, 12288, 22},   /* a sector is shared by bins in use; */
        {RW_MULTI_LOCK, 4.1, 12288, 2},  /* here each has its own */
        {RW_MULTI_LOCK, 64, 1572864, 2}, /* 2.75 */
        {RW_MULTI_LOCK, 5, 196608, 2},   /* 1.7 */
        {RW_MULTI_LOCK, 5, 393216, 1},      {RW_MULTI_LOCK, 1e9, 12288, 2},
        {RW_MULTI_CAS, 1, 12288, 426},      {RW_MULTI_CAS, 64, 12288, 6826}, /* 16 x as many */
        {RW_MULTI_CAS, 1e9, 12288, 8138}, /* two cells an element */
    };
    for (int i = 0; i < LENGTH(want); i++) {
        const struct rw_multi_plan plan =
            plan_of(want[i].strategy, RW_MULTI_GLOBAL, want[i].n_bins, want[i].race);
        cr_expect(plan.m == want[i].m && plan.s == 1, "strategy %d, RF %g, %lu bins: M %lu, S %lu",
                  want[i].strategy, want[i].race, want[i].n_bins, plan.m, plan.s);
    }
}

/* The points that rules of global memory were mended by, as rankwood-lab has them on an H200: its
 * own L2, the race factor as sampled, and the fixed M that were within 5 % of the fastest. */
Test(multi_plan, measured_points)
{
    static const struct {
        enum rw_multi_strategy strategy;
        uint64_t n_bins;
        double race;
        uint64_t least, most;
    } want[] = {
        {RW_MULTI_CAS, 12288, 63.02, 4032, 8070}, {RW_MULTI_CAS, 24576, 63.02, 4032, 4040},
        {RW_MULTI_CAS, 49152, 63.02, 2016, 2020}, {RW_MULTI_CAS, 196608, 63.02, 252, 505},
        {RW_MULTI_CAS, 393216, 63.01, 252, 253},  {RW_MULTI_CAS, 786432, 63, 126, 127},
        {RW_MULTI_CAS, 1572864, 63, 31, 63},      {RW_MULTI_CAS, 12288, 1.583, 256, 1024},
        {RW_MULTI_CAS, 1572864, 1.581, 2, 8},     {RW_MULTI_LOCK, 12288, 63.02, 2, 2},
        {RW_MULTI_LOCK, 24576, 63.02, 1, 2},      {RW_MULTI_LOCK, 49152, 63.02, 1, 4},
        {RW_MULTI_LOCK, 196608, 63.02, 2, 4},     {RW_MULTI_LOCK, 393216, 63.01, 1, 4},
        {RW_MULTI_LOCK, 1572864, 63, 1, 4},       {RW_MULTI_LOCK, 12288, 1.583, 2, 32},
        {RW_MULTI_LOCK, 24576, 1.58, 1, 16},      {RW_MULTI_LOCK, 49152, 1.582, 1, 8},
        {RW_MULTI_LOCK, 196608, 1.581, 1, 2},
    };
    struct rw_multi_figures device = hopper;
    device.l2_bytes = 62914560;
    for (int i = 0; i < LENGTH(want); i++) {
        const struct rw_multi_work work = work_of(want[i].strategy, want[i].n_bins, want[i].race);
        struct rw_multi_plan plan;
        cr_assert_eq(rw_multi_plan_make(&device, &work, 1, RW_MULTI_GLOBAL, 0, 0, &plan), 0);
        cr_expect(plan.m >= want[i].least && plan.m <= want[i].most && plan.s == 1 &&
                      plan.blocks == 1056,
                  "strategy %d, RF %g, %lu bins: M %lu, S %lu, %lu blocks", want[i].strategy,
                  want[i].race, want[i].n_bins, plan.m, plan.s, plan.blocks);
    }
}

/* Section IV-C; tpacf's K of section V-D is of 100 batched pairs of histograms. */
Test(multi_plan, blocks_of_batches)
{
    const uint64_t n = 1000000;
    cr_expect_eq(rw_multi_blocks(68, 1024, n, 1), 68);
    cr_expect_eq(rw_multi_blocks(68, 1024, n, 2), 34);
    cr_expect_eq(rw_multi_blocks(68, 1024, n, 3), 23);
    cr_expect_eq(rw_multi_blocks(68, 1024, n, 68), 1);
    cr_expect_eq(rw_multi_blocks(68, 1024, n, 1000), 1);
    cr_expect_eq(rw_multi_blocks(68, 1024, 0, 5), 1);
    cr_expect_eq(rw_multi_blocks(68, 1024, 1025, 1), 2); /* T = min(T_hw, N) */
    cr_expect_eq(rw_multi_blocks(68, 1024, UINT64_MAX / 2, 1u << 20), 1);
}

Test(multi_plan, copies_suit_banks)
{
    cr_expect_eq(rw_multi_copies(RW_MULTI_CAS, 1), 1);
    cr_expect_eq(rw_multi_copies(RW_MULTI_CAS, 3), 3);  /* 2 would give up a third, */
    cr_expect_eq(rw_multi_copies(RW_MULTI_LOCK, 9), 8); /* an eighth is not much */
    cr_expect_eq(rw_multi_copies(RW_MULTI_CAS, 31), 31);
    cr_expect_eq(rw_multi_copies(RW_MULTI_CAS, 57), 57);
    cr_expect_eq(rw_multi_copies(RW_MULTI_HARDWARE, 3), 2);
    cr_expect_eq(rw_multi_copies(RW_MULTI_HARDWARE, 31), 16);
    cr_expect_eq(rw_multi_copies(RW_MULTI_CAS, 33), 32);
    cr_expect_eq(rw_multi_copies(RW_MULTI_LOCK, 1024), 1024);
    cr_expect_eq(rw_multi_copies(RW_MULTI_HARDWARE, 1024), RW_TUNE_MULTI_MOST_COPIES);
}

/* Whatever is asked: cells fit, passes cover the bins, none is without. */
Test(multi_plan, plans_hold)
{
    static const uint64_t bins[] = {0, 1, 2, 31, 505, 12287, 12288, 12289, 58112, 196608, 1572864};
    static const uint64_t elements[] = {0, 1, 1023, 1025, 100003, 50000000};
    static const uint64_t forced[] = {0, 1, 2, 3, 33, 297, 1024};
    uint64_t refused = 0, shared = 0, global = 0;
    for (int i = 0; i < RW_MULTI_STRATEGIES * LENGTH(bins) * LENGTH(elements) * LENGTH(forced) * 3;
         i++) {
        const int w = i % RW_MULTI_STRATEGIES, b = i / RW_MULTI_STRATEGIES % LENGTH(bins);
        const int e = i / RW_MULTI_STRATEGIES / LENGTH(bins) % LENGTH(elements);
        const int rest = i / RW_MULTI_STRATEGIES / LENGTH(bins) / LENGTH(elements);
        const uint64_t m = forced[rest % LENGTH(forced)], n_out = e % 2 ? 1 : 7;
        const enum rw_multi_memory memory = (enum rw_multi_memory)(rest / LENGTH(forced));
        struct rw_multi_work work = work_of((enum rw_multi_strategy)w, bins[b], i % 2 ? 63 : 1);
        struct rw_multi_plan plan;
        work.n = elements[e];
        if (rw_multi_plan_make(i % 4 < 2 ? &turing : &hopper, &work, n_out, memory, m,
                               i % 5 / 4 * 3, &plan) != 0) {
            refused++;
            continue;
        }
        const uint64_t room = (i % 4 < 2 ? turing : hopper).shared_bytes;
        cr_assert(plan.m >= 1 && plan.s >= 1 && plan.blocks >= 1);
        cr_assert(plan.n_bins * plan.s >= bins[b]);
        cr_assert(bins[b] == 0 || plan.n_bins * (plan.s - 1) < bins[b]);
        cr_assert(plan.memory == RW_MULTI_GLOBAL || plan.m * plan.n_bins * work.cell_bytes <= room);
        cr_assert(m == 0 || plan.m == m);
        cr_assert(memory == RW_MULTI_AUTO || plan.memory == memory);
        shared += plan.memory == RW_MULTI_SHARED;
        global += plan.memory == RW_MULTI_GLOBAL;
    }
    cr_expect_eq(refused, 0); /* 1024 cells of 12 bytes fit */
    cr_expect(shared > 1000 && global > 1000);
    struct rw_multi_plan plan;
    const struct rw_multi_work work = work_of(RW_MULTI_LOCK, 31, 1);
    cr_expect_eq(rw_multi_plan_make(&turing, &work, 1, RW_MULTI_SHARED, 5000, 0, &plan), -1);
}

Test(multi_plan, race_of_samples)
{
    enum { N = 4000, BINS = 126 };
    static uint32_t index[N];
    static unsigned char mark[BINS];
    struct rw_multi_sample sample = rw_multi_sample_of(N, BINS);
    cr_expect_eq(sample.length, BINS);
    cr_expect_eq(sample.n_groups, N / BINS);
    cr_expect_leq((sample.n_groups - 1) * sample.step + sample.length, N);
    for (int i = 0; i < N; i++)
        index[i] = (uint32_t)(i % 2 * 63); /* two bins of 126 */
    uint64_t touched = rw_gen_serial_touched(index, BINS, &sample, mark);
    cr_expect_eq(touched, 2 * sample.n_groups);
    cr_expect_eq(rw_multi_race(&sample, touched), 63.0);
    for (int i = 0; i < N; i++)
        index[i] = (uint32_t)(i % BINS);
    touched = rw_gen_serial_touched(index, BINS, &sample, mark);
    cr_expect_eq(rw_multi_race(&sample, touched), 1.0);
    for (int i = 0; i < N; i++)
        index[i] = BINS; /* out of range */
    cr_expect_eq(rw_gen_serial_touched(index, BINS, &sample, mark), 0);
    cr_expect_eq(rw_multi_race(&sample, 0), 1.0);
    sample = rw_multi_sample_of(0, BINS);
    cr_expect_eq(sample.n_groups, 0);
    sample = rw_multi_sample_of(N, 0);
    cr_expect_eq(sample.n_groups, 0);
    sample = rw_multi_sample_of(50000000, 1572864);
    cr_expect(sample.n_groups >= 1 && sample.n_groups * sample.length <= 2 * 1572864);
}

/* The reference by hand. */
Test(multi_plan, serial_operators)
{
    static const uint32_t index[] = {0, 2, 0, 3, 2, UINT32_MAX, 0};
    static const int32_t value[] = {5, -7, 9, 100, -7, 50, 9};
    static const uint32_t large[] = {1u << 23, 1, 1u << 23, 7, 1, 9, 1};
    struct rw_gen_serial job = {.op = RW_GEN_ARGMAX,
                                .n = 7,
                                .n_bins = 3,
                                .n_out = 1,
                                .width = 1,
                                .index = index,
                                .value = value};
    uint64_t best[3];
    job.out = best;
    rw_gen_serial_run(&job);
    cr_expect(rw_gen_pair_value(best[0]) == 9 && rw_gen_pair_place(best[0]) == 2);
    cr_expect_eq(best[1], 0);
    cr_expect(rw_gen_pair_value(best[2]) == -7 && rw_gen_pair_place(best[2]) == 1);
    int32_t number[3];
    job.out = number;
    job.op = RW_GEN_MIN;
    rw_gen_serial_run(&job);
    cr_expect(number[0] == 5 && number[1] == INT32_MAX && number[2] == -7);
    job.op = RW_GEN_MAX;
    rw_gen_serial_run(&job);
    cr_expect(number[0] == 9 && number[1] == INT32_MIN && number[2] == -7);
    uint32_t sum[6];
    job.out = sum;
    job.op = RW_GEN_SAT24;
    job.value = large;
    rw_gen_serial_run(&job);
    cr_expect(sum[0] == RW_GEN_SAT24_MOST && sum[1] == 0 && sum[2] == 2);
    job.op = RW_GEN_ADD32;
    job.value = NULL;
    rw_gen_serial_run(&job);
    cr_expect(sum[0] == 3 && sum[1] == 0 && sum[2] == 2);
    job.n = 3; /* vectors of two */
    job.width = 2;
    job.value = large;
    rw_gen_serial_run(&job);
    cr_expect(sum[0] == (1u << 23) + 1 && sum[1] == 1 + 9 && sum[4] == 1u << 23 && sum[5] == 7);
}
