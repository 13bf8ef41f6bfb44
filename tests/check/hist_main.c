/* check_hist [--seed N] [--method NAME] [--stage NAME] [--quick] [--every N] [--big]
 *
 * Compares every histogram method with serial, by ==, in every case that it declares; it must
 * refuse all other cases. Needs a GPU. Only the seed changes the list. */
#include "base/rng.h"
#include "hist_philox_check.h"
#include "hist_boundaries_check.h"
#include "hist_program.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct width {
    int bits;
    uint32_t n_bins;
};
static const struct width all_widths[] = {
    {8, 1},   {4, 2},    {4, 3},    {4, 15},   {4, 16},   {8, 2},     {8, 15},
    {8, 16},  {8, 17},   {8, 64},   {8, 128},  {8, 255},  {8, 256},   {16, 2},
    {16, 16}, {16, 255}, {16, 256}, {16, 257}, {16, 512}, {16, 1023}, {16, 1025}};
static const struct width few_widths[] = {{4, 16}, {8, 64}, {8, 256}, {16, 512}, {16, 1024}};
static const uint32_t feature_counts[] = {1, 2, 31, 32, 33, 46, 128, 136, 137, 200, 700};
static const enum rw_hist_sums exact_sums[] = {RW_HIST_MART, RW_HIST_NEWTON, RW_HIST_COUNT};

static int32_t largest_of(int bits)
{
    return (1 << (bits - 1)) - 1;
}

/* ---- stages ---- */

/* Documents around every block's size, features, distributions and kinds of calls in rotation. */
static void stage_shapes(struct hist_run *run)
{
    static const uint32_t sizes[] = {
        0,    1,    2,     31,    32,    33,    63,    64,    65,    127,   128,   129,    255,
        256,  257,  511,   512,   513,   1023,  1024,  1025,  2047,  2048,  2049,  4079,   4080,
        4081, 4087, 4088,  4089,  4090,  4091,  4092,  4093,  4094,  4095,  4096,  4097,   8191,
        8192, 8193, 16384, 16385, 32767, 32768, 32769, 65535, 65536, 65537, 99999, 100000, 100003};
    static const enum rw_hist_sums sums[] = {RW_HIST_MART,   RW_HIST_NEWTON, RW_HIST_MART,
                                             RW_HIST_COUNT,  RW_HIST_FLOAT,  RW_HIST_MART,
                                             RW_HIST_NEWTON, RW_HIST_COUNT};
    enum { CALLS = 6 };
    uint32_t turn = 0;
    for (int s = 0; s < LENGTH(sizes); s++) {
        for (int w = 0; w < LENGTH(all_widths); w++, turn++) {
            uint32_t features = feature_counts[turn * 7 % (uint32_t)LENGTH(feature_counts)];
            if ((uint64_t)features * sizes[s] > 4000000)
                features = 31 + turn % 3;
            hist_run_matrix(run, &(struct hist_matrix_spec){
                                     all_widths[w].bits, all_widths[w].n_bins, features, sizes[s],
                                     turn % 2 ? RW_CODES_MIXED : turn / 2 % RW_N_DISTRIBUTIONS, 0});
            for (uint32_t c = turn * CALLS; c < turn * CALLS + CALLS; c++) {
                const struct hist_call_spec spec = {.sums = sums[c % 8],
                                                    .list = c / 8 % N_LISTS,
                                                    .nodes = c / 3 % RW_N_NODES,
                                                    .lambdas = c / 5 % RW_N_LAMBDAS,
                                                    .largest = largest_of(4 + (int)(c % 13)),
                                                    .zero_skip = c / 2 % 3 == 0};
                hist_run_call(run, &spec);
            }
        }
    }
}

static void stage_distributions(struct hist_run *run)
{
    for (int codes = 0; codes < RW_N_DISTRIBUTIONS; codes++) {
        for (int w = 0; w < LENGTH(all_widths); w++) {
            hist_run_matrix(run,
                            &(struct hist_matrix_spec){all_widths[w].bits, all_widths[w].n_bins, 46,
                                                       20011, (enum rw_made_codes)codes, 0});
            for (int i = 0; i < 8; i++)
                hist_run_call(run, &(struct hist_call_spec){
                                       .sums = i < 6 ? exact_sums[i % 3] : RW_HIST_FLOAT,
                                       .list = (codes + w + i) % 2 ? LIST_SHUFFLED : LIST_NONE,
                                       .nodes = RW_NODES_ONE,
                                       .lambdas = RW_LAMBDAS_RANDOM,
                                       .largest = 127,
                                       .zero_skip = i % 2});
        }
    }
}

static void stage_features(struct hist_run *run)
{
    for (int f = 0; f < LENGTH(feature_counts); f++) {
        for (int w = 0; w < LENGTH(few_widths); w++) {
            hist_run_matrix(run,
                            &(struct hist_matrix_spec){few_widths[w].bits, few_widths[w].n_bins,
                                                       feature_counts[f], 9001, RW_CODES_MIXED, 0});
            for (int i = 0; i < 12; i++)
                hist_run_call(
                    run, &(struct hist_call_spec){.sums = exact_sums[i % 3],
                                                  .list = i / 3 % 2 ? LIST_ASCENDING : LIST_NONE,
                                                  .nodes = i / 6 ? RW_NODES_TWO : RW_NODES_ONE,
                                                  .lambdas = RW_LAMBDAS_RANDOM,
                                                  .largest = 127,
                                                  .zero_skip = 0});
        }
    }
}

static void stage_nodes(struct hist_run *run)
{
    static const enum rw_made_codes kinds[] = {RW_CODES_MIXED, RW_CODES_EQUAL};
    for (int w = 0; w < LENGTH(few_widths) * LENGTH(kinds); w++) {
        hist_run_matrix(run,
                        &(struct hist_matrix_spec){few_widths[w / 2].bits, few_widths[w / 2].n_bins,
                                                   33, 100003, kinds[w % 2], 0});
        for (int list = 0; list < N_LISTS; list++) {
            for (int nodes = 0; nodes < RW_N_NODES; nodes++) {
                for (int i = 0; i < 6; i++)
                    hist_run_call(run, &(struct hist_call_spec){
                                           .sums = exact_sums[i % 3],
                                           .list = (enum hist_lists)list,
                                           .nodes = (enum rw_made_nodes)nodes,
                                           .lambdas = w % 2 ? RW_LAMBDAS_LOW : RW_LAMBDAS_RANDOM,
                                           .largest = i % 2 ? 32767 : 127,
                                           .zero_skip = i / 3});
            }
        }
    }
}

/* Lambdas of 4 to 16 bits. */
static void stage_bits(struct hist_run *run)
{
    static const enum rw_made_codes kinds[] = {RW_CODES_UNIFORM, RW_CODES_EQUAL, RW_CODES_HOT};
    for (int w = 0; w < LENGTH(few_widths) * LENGTH(kinds); w++) {
        hist_run_matrix(run,
                        &(struct hist_matrix_spec){few_widths[w / 3].bits, few_widths[w / 3].n_bins,
                                                   33, 12289, kinds[w % 3], 0});
        for (int bits = 4; bits <= 16; bits++) {
            for (int i = 0; i < 2 * RW_N_LAMBDAS; i++)
                hist_run_call(run,
                              &(struct hist_call_spec){.sums = exact_sums[i % 2],
                                                       .list = bits % 2 ? LIST_NONE : LIST_ALL,
                                                       .nodes = RW_NODES_ONE,
                                                       .lambdas = (enum rw_made_lambdas)(i / 2),
                                                       .largest = largest_of(bits),
                                                       .zero_skip = 0});
        }
    }
}

/* Counters at the edges of 8, 12, 16 bits and more: all documents in one bin, all lambdas at the
 * largest. */
static void stage_overflow(struct hist_run *run)
{
    static const uint32_t sizes[] = {255,  256,  257,   510,   511,   512,   4095,  4096,   4097,
                                     8190, 8191, 16384, 32768, 65535, 65536, 65537, 1048577};
    for (int s = 0; s < LENGTH(sizes); s++) {
        for (int w = 0; w < LENGTH(few_widths); w++) {
            hist_run_matrix(run,
                            &(struct hist_matrix_spec){few_widths[w].bits, few_widths[w].n_bins, 9,
                                                       sizes[s], RW_CODES_EQUAL, 0});
            for (int bits = 4; bits <= 16; bits++) {
                for (int i = 0; i < 4; i++)
                    hist_run_call(run, &(struct hist_call_spec){.sums = exact_sums[i % 2],
                                                                .list = LIST_NONE,
                                                                .nodes = RW_NODES_ONE,
                                                                .lambdas = i / 2 ? RW_LAMBDAS_LOW
                                                                                 : RW_LAMBDAS_HIGH,
                                                                .largest = largest_of(bits),
                                                                .zero_skip = 0});
            }
            hist_run_call(run, &(struct hist_call_spec){.sums = RW_HIST_COUNT,
                                                        .list = LIST_NONE,
                                                        .nodes = RW_NODES_ONE,
                                                        .largest = 127});
        }
    }
}

/* The same in a tile of whole warps; each call comes with many multiprocessors and with few. */
static void stage_wide(struct hist_run *run)
{
    hist_run_matrix(run, &(struct hist_matrix_spec){8, 256, 128, 20011, RW_CODES_EQUAL, 0});
    for (int i = 0; i < 4 * RW_N_LAMBDAS; i++)
        hist_run_call(run, &(struct hist_call_spec){.sums = RW_HIST_NEWTON,
                                                    .list = i / 2 % 2 ? LIST_SHUFFLED : LIST_NONE,
                                                    .nodes = RW_NODES_ONE,
                                                    .lambdas = (enum rw_made_lambdas)(i / 4),
                                                    .largest = 127,
                                                    .zero_skip = 0});
}

/* Columns of made MSLR data: many values and few, many zeros, correlated within a query. */
static void stage_synth(struct hist_run *run)
{
    static const struct width widths[] = {{4, 16}, {8, 256}, {16, 1024}};
    for (int w = 0; w < LENGTH(widths); w++) {
        hist_run_matrix(run, &(struct hist_matrix_spec){widths[w].bits, widths[w].n_bins, 0, 0,
                                                        RW_CODES_SYNTH, 400});
        for (int i = 0; i < 3 * 2 * N_LISTS; i++)
            hist_run_call(
                run, &(struct hist_call_spec){.sums = exact_sums[i % 3],
                                              .list = (enum hist_lists)(i / 6),
                                              .nodes = i / 6 % 2 ? RW_NODES_UNEVEN : RW_NODES_ONE,
                                              .lambdas = RW_LAMBDAS_RANDOM,
                                              .largest = 127,
                                              .zero_skip = i / 3 % 2});
    }
}

static const struct hist_call_spec large_calls[] = {
    {RW_HIST_MART, LIST_NONE, RW_NODES_ONE, RW_LAMBDAS_RANDOM, 127, 0},
    {RW_HIST_MART, LIST_NONE, RW_NODES_ONE, RW_LAMBDAS_HIGH, 32767, 0},
    {RW_HIST_NEWTON, LIST_NONE, RW_NODES_ONE, RW_LAMBDAS_LOW, 127, 0},
    {RW_HIST_COUNT, LIST_NONE, RW_NODES_ONE, RW_LAMBDAS_RANDOM, 127, 0},
    {RW_HIST_FLOAT, LIST_NONE, RW_NODES_ONE, RW_LAMBDAS_RANDOM, 127, 0},
    {RW_HIST_MART, LIST_SHUFFLED, RW_NODES_UNEVEN, RW_LAMBDAS_LOW, 127, 0},
    {RW_HIST_MART, LIST_NONE, RW_NODES_ONE, RW_LAMBDAS_RANDOM, 127, 1}};

static void stage_large(struct hist_run *run)
{
    static const enum rw_made_codes kinds[] = {RW_CODES_UNIFORM, RW_CODES_EQUAL};
    static const struct width widths[] = {{4, 16}, {8, 256}, {16, 1024}};
    for (int w = 0; w < LENGTH(widths) * 2; w++) {
        hist_run_matrix(run, &(struct hist_matrix_spec){widths[w / 2].bits, widths[w / 2].n_bins,
                                                        33, 4194304, kinds[w % 2], 0});
        for (int c = 0; c < LENGTH(large_calls); c++)
            hist_run_call(run, &large_calls[c]);
    }
}

/* More than 2^32 codes: 136 features of 33.5 million documents. */
static void stage_big(struct hist_run *run)
{
    run->every = 1;
    hist_run_matrix(run, &(struct hist_matrix_spec){8, 256, 136, 33554467, RW_CODES_HOT, 0});
    for (int c = 0; c < 3; c++)
        hist_run_call(run, &large_calls[c]);
    hist_run_call(run, &(struct hist_call_spec){RW_HIST_MART, LIST_ASCENDING, RW_NODES_UNEVEN,
                                                RW_LAMBDAS_HIGH, 127, 0});
}

/* No documents, no features, no nodes. */
static void stage_empty(struct hist_run *run)
{
    static const uint32_t n_features[] = {0, 0, 5}, n_docs[] = {0, 100, 0};
    for (int w = 0; w < LENGTH(few_widths) * LENGTH(n_docs); w++) {
        hist_run_matrix(run, &(struct hist_matrix_spec){few_widths[w / 3].bits,
                                                        few_widths[w / 3].n_bins, n_features[w % 3],
                                                        n_docs[w % 3], RW_CODES_UNIFORM, 0});
        for (int i = 0; i < RW_N_NODES * 3; i++)
            hist_run_call(run, &(struct hist_call_spec){.sums = exact_sums[i % 3],
                                                        .list = i % 2 ? LIST_ASCENDING : LIST_NONE,
                                                        .nodes = (enum rw_made_nodes)(i / 3),
                                                        .lambdas = RW_LAMBDAS_RANDOM,
                                                        .largest = 127,
                                                        .zero_skip = i / 5 % 2});
    }
}

/* One thing wrong with a call that a method takes. Several do not make it right. */
enum { N_SPOILS = 7 };
static void spoil(struct rw_hist_call *call, struct rw_hist_matrix *matrix,
                  struct rw_hist_node *node, int i)
{
    switch (i) {
    case 0:
        matrix->bits = 7;
        break;
    case 1:
        matrix->n_bins = 0;
        break;
    case 2:
        matrix->n_bins = 257;
        break;
    case 3:
        call->n_nodes = RW_HIST_MAX_NODES + 1;
        break;
    case 4:
        node->n = matrix->n_docs + 1u;
        break;
    case 5:
        node->first = UINT64_MAX;
        node->n = 2;
        break;
    default:
        node->first = (uint64_t)matrix->n_docs + 1;
        node->n = 0;
        break;
    }
}

static void spoiled(struct hist_run *run, struct hist_tally *tally,
                    const struct hist_call_spec *spec, const int *what, int n)
{
    struct rw_hist_matrix matrix = *run->matrix;
    struct rw_hist_node node = run->node[0];
    struct rw_hist_call call = run->call;
    call.matrix = &matrix;
    call.node = &node;
    for (int i = 0; i < n; i++)
        spoil(&call, &matrix, &node, what[i]);
    const int status = rw_hist_run(run->ctx, tally->method, &call, run->device->stream);
    if (status < 0 && rw_last_error(run->ctx)[0])
        tally->refused++;
    else
        hist_run_failed(run, tally, spec, "wrong arguments were accepted: %d, %d of them", what[0],
                        n);
}

/* Wrong arguments give an error: each alone, then several at random. */
static void stage_arguments(struct hist_run *run)
{
    const struct hist_call_spec spec = {RW_HIST_MART,      LIST_NONE, RW_NODES_ONE,
                                        RW_LAMBDAS_RANDOM, 127,       0};
    hist_run_matrix(run, &(struct hist_matrix_spec){8, 256, 5, 1000, RW_CODES_UNIFORM, 0});
    if (run->dead || hist_run_prepare(run, &spec) < 0) {
        for (int m = 0; m < run->n_methods; m++)
            run->tally[m].skipped++;
        return;
    }
    for (int m = 0; m < run->n_methods; m++) {
        for (int i = 0; i < N_SPOILS; i++)
            spoiled(run, &run->tally[m], &spec, &i, 1);
        for (uint32_t i = 0; i < 300; i++) {
            const struct rw_philox random = rw_random4(run->seed, i, 0, RW_STREAM_SYNTH + 96);
            const int what[3] = {(int)(random.word[0] % N_SPOILS), (int)(random.word[1] % N_SPOILS),
                                 (int)(random.word[2] % N_SPOILS)};
            spoiled(run, &run->tally[m], &spec, what, 2 + (int)(random.word[3] % 2));
        }
    }
}

/* Nothing inside allocates or waits, and a second run finds the results of the first. */
static void stage_capture(struct hist_run *run)
{
    run->capture = 1;
    for (int w = 0; w < LENGTH(few_widths); w++) {
        hist_run_matrix(run, &(struct hist_matrix_spec){few_widths[w].bits, few_widths[w].n_bins,
                                                        137, 10007, RW_CODES_MIXED, 0});
        for (int i = 0; i < 12; i++)
            hist_run_call(run,
                          &(struct hist_call_spec){.sums = exact_sums[i % 3],
                                                   .list = i / 3 % 2 ? LIST_SHUFFLED : LIST_NONE,
                                                   .nodes = i / 6 ? RW_NODES_UNEVEN : RW_NODES_ONE,
                                                   .lambdas = RW_LAMBDAS_RANDOM,
                                                   .largest = 127,
                                                   .zero_skip = i % 2});
    }
    run->capture = 0;
}

int main(int argc, char **argv)
{
    static const struct hist_stage stages[] = {{"arguments", stage_arguments, 0},
                                               {"empty", stage_empty, 0},
                                               {"shapes", stage_shapes, 0},
                                               {"distributions", stage_distributions, 0},
                                               {"features", stage_features, 0},
                                               {"nodes", stage_nodes, 0},
                                               {"bits", stage_bits, 0},
                                               {"overflow", stage_overflow, 0},
                                               {"wide", stage_wide, 0},
                                               {"synth", stage_synth, 0},
                                               {"capture", stage_capture, 0},
                                               {"large", stage_large, 0},
                                               {"big", stage_big, 1},
                                               {"cuts", stage_cuts, 0},
                                               {"philox", stage_philox, 0}};
    return hist_program(argc, argv, stages, LENGTH(stages));
}
