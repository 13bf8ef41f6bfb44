/* rankwood-lab <suite> [options]: measures histograms on the first GPU. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "lab/lab.h"

enum { MOST_SUITES = 16 };
#define MOST_SEED 9007199254740991u /* numbers in rows are exact up to here */

static void help(FILE *out)
{
    fputs(
        "Measures histogram methods on the first GPU: medians with their spread, beside the rate\n"
        "at which the same run reads the device's memory.\n"
        "\n"
        "usage: rankwood-lab SUITE [OPTION...]\n"
        "\n",
        out);
    for (int i = 0; rw_lab_suite_at(i); i++)
        fprintf(out, "  %-13s%s\n", rw_lab_suite_at(i)->name, rw_lab_suite_at(i)->about);
    fputs("\n"
          "  rankwood-lab SUITE --help lists what a suite takes.\n",
          out);
}

/* ------------------------------------------------------------------ a suite */

static const struct rw_lab_suite *suite;
static struct rw_lab_options asked;
static unsigned long long docs, features, bins, runs, seed = 1;
static int json;
static const struct rw_option options[] = {
    {"method", 0, "M", "this histogram method only", RW_OPTION_TEXT, .value = &asked.method},
    {"docs", 0, "N", "documents, where the suite does not vary them", RW_OPTION_NUMBER,
     .value = &docs, .least = 1, .most = 2147483647},
    {"features", 0, "N", "features, where the suite does not vary them", RW_OPTION_NUMBER,
     .value = &features, .least = 1, .most = 65536},
    {"bins", 0, "N", "bins: only the suite's rows with so many", RW_OPTION_NUMBER, .value = &bins,
     .least = 1, .most = 2147483647},
    {"runs", 0, "N", "timings of each row, 1 to 1000", RW_OPTION_NUMBER, .value = &runs, .least = 1,
     .most = 1000},
    {"seed", 0, "N", "seed of the made inputs [default 1]", RW_OPTION_NUMBER, .value = &seed,
     .least = 0, .most = MOST_SEED},
    {"quick", 0, NULL, "small inputs and few runs: to see that it works", RW_OPTION_FLAG,
     .value = &asked.quick},
    {0},
};

static int measure(struct rw_ctx *ctx, const char *bench, const struct rw_bench_options *unused,
                   rw_bench_row_fn row, void *user)
{
    (void)bench;
    (void)unused;
    return rw_lab_run(ctx, suite, &asked, row, user);
}

static int run_suite(struct rw_cli *cli)
{
    const struct rw_bench_options shown = {.suite = suite->name, .quick = asked.quick};
    asked.n_docs = (uint32_t)docs;
    asked.n_features = (uint32_t)features;
    asked.n_bins = (uint32_t)bins;
    asked.n_runs = (int)runs;
    asked.seed = seed;
    return rw_bench_rows(cli, "lab", measure, &shown);
}

/* ------------------------------------------------------------------ the program */

static int run(int argc, char **argv)
{
    const char *names[MOST_SUITES];
    int n = 0;
    if (argc < 2) {
        help(stderr);
        return RW_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("rankwood-lab " RW_VERSION);
        return RW_EXIT_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help(stdout);
        return RW_EXIT_OK;
    }
    for (; n < MOST_SUITES && rw_lab_suite_at(n); n++) {
        names[n] = rw_lab_suite_at(n)->name;
        if (strcmp(argv[1], names[n]) != 0)
            continue;
        suite = rw_lab_suite_at(n);
        const struct rw_command command = {.name = names[n],
                                           .about = suite->about,
                                           .has_results = 1,
                                           .options = options,
                                           .run = run_suite};
        return rw_command_run(&command, argc - 1, argv + 1);
    }
    const char *near = rw_word_nearest(argv[1], names, n);
    rw_msg_error(near ? "unknown suite '%s'; the nearest is '%s'" : "unknown suite '%s'", argv[1],
                 near);
    rw_msg_hint("'rankwood-lab --help' lists the suites");
    return RW_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    rw_msg_program = "rankwood-lab";
    rw_output_catch_signals();
    return rw_output_end(run(argc, argv));
}
