/* rankwood bench: measures this machine. */
#include "cli/cli.h"

static struct rw_bench_options how = {.seed = 1};
static unsigned long long queries, ranks;
static const struct rw_option of_training[] = {
    {"suite", 0, "NAME", "what to measure [default: the first]", RW_OPTION_TEXT,
     .value = &how.suite},
    {"shape", 0, "S", "shape of all data, as of 'synth', in place of the suite's", RW_OPTION_TEXT,
     .value = &how.shape},
    {"queries", 0, "N", "queries of all data, in place of the suite's", RW_OPTION_NUMBER,
     .value = &queries, .least = 1, .most = 10000000},
    {"ranks", 0, "N", "suite 'ranks': by how many besides one [default 2]", RW_OPTION_NUMBER,
     .value = &ranks, .least = 1, .most = RW_RANKS_MOST_THREADS},
    {"quick", 0, NULL, "small data and few trees: to see that it works", RW_OPTION_FLAG,
     .value = &how.quick},
    {0},
};
static const struct rw_option of_others[] = {
    {"shape", 0, "S", "shape of the made data, as of 'synth' [default mslr30k]", RW_OPTION_TEXT,
     .value = &how.shape},
    {"queries", 0, "N", "queries of the made data", RW_OPTION_NUMBER, .value = &queries, .least = 1,
     .most = 10000000},
    {"quick", 0, NULL, "small data and few runs: to see that it works", RW_OPTION_FLAG,
     .value = &how.quick},
    {0},
};

static void list_suites(FILE *out)
{
    const char *name, *about;
    for (int i = 0; rw_bench_suite_at("train", i, &name, &about); i++)
        fprintf(out, "%s%s", i ? ", " : " Suites: ", name);
    fputc('.', out);
}

static int run(struct rw_cli *cli, const char *bench, rw_bench_fn measure)
{
    how.params = cli->params;
    how.n_queries = (uint32_t)queries;
    how.n_ranks = (uint32_t)ranks;
    return rw_bench_rows(cli, bench, measure, &how);
}

static int run_train(struct rw_cli *cli)
{
    return run(cli, "train", rw_bench_train);
}

static int run_load(struct rw_cli *cli)
{
    return run(cli, "load", rw_bench_load);
}

static int run_predict(struct rw_cli *cli)
{
    return run(cli, "predict", rw_bench_predict);
}

static const struct rw_command bench_train = {
    .name = "bench train",
    .about = "Measures training on made data, on the device that --device names. Parameters "
             "replace those of the suite; rows that are the same then are one.",
    .more = list_suites,
    .has_results = 1,
    .options = of_training,
    .roles = RW_ROLE_TREES | RW_ROLE_LEAVES | RW_ROLE_MACHINE,
    .params = " absent ",
    .run = run_train,
};
static const struct rw_command bench_load = {
    .name = "bench load",
    .about = "Measures loading made data on the CPU, from LETOR text (written to TMPDIR and "
             "removed) and from the cache of it: reading alone, and until training can begin; with "
             "one thread and with all.",
    .has_results = 1,
    .options = of_others,
    .params = " bins threads ",
    .run = run_load,
};
static const struct rw_command bench_predict = {
    .name = "bench predict",
    .about = "Measures scores of dense documents in memory, by models of trees of 31 and of 255 "
             "leaves, on the CPU: the plain walk and what 'predict' does, with one thread and with "
             "all, and one document at a time.",
    .has_results = 1,
    .options = of_others,
    .params = " threads ",
    .run = run_predict,
};
static const struct rw_command *const parts[] = {&bench_train, &bench_load, &bench_predict, NULL};

const struct rw_command rw_cmd_bench = {
    .name = "bench",
    .brief = "measure loading, training and scores",
    .operands = "train, load or predict",
    .parts = parts,
};
