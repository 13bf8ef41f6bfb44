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
        "Measures histogram methods on the first GPU: medians with their spread, and the rate\n"
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
static const struct rw_option options[] = {
    {"method", "M", "this histogram method only", RW_OPTION_TEXT, .value = &asked.method},
    {"docs", "N", "documents, where the suite does not vary them", RW_OPTION_NUMBER, .value = &docs,
     .range = {1, 2147483647}},
    {"features", "N", "features, where the suite does not vary them", RW_OPTION_NUMBER,
     .value = &features, .range = {1, 65536}},
    {"bins", "N", "bins: only the suite's rows with so many", RW_OPTION_NUMBER, .value = &bins,
     .range = {1, 2147483647}},
    {"runs", "N", "timings of each row, 1 to 1000", RW_OPTION_NUMBER, .value = &runs,
     .range = {1, 1000}},
    {"seed", "N", "seed of the made inputs [default 1]", RW_OPTION_NUMBER, .value = &seed,
     .range = {0, MOST_SEED}},
    {"quick", NULL, "small inputs and few runs: to see that it works", RW_OPTION_FLAG,
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

const char *const rw_msg_program = "rankwood-lab";

const struct rw_command *rw_command_find(int *argc, char ***argv, int *code)
{
    static struct rw_command command = {.has_results = 1, .options = options, .run = run_suite};
    const char *names[MOST_SUITES], *word = *argc > 1 ? (*argv)[1] : "";
    int n = 0;
    *code = RW_EXIT_OK;
    if (strcmp(word, "--version") == 0) {
        puts("rankwood-lab " RW_VERSION);
        return NULL;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help(stdout);
        return NULL;
    }
    *code = RW_EXIT_USAGE;
    if (*argc < 2) {
        help(stderr);
        return NULL;
    }
    for (; n < MOST_SUITES && rw_lab_suite_at(n); n++) {
        names[n] = rw_lab_suite_at(n)->name;
        if (strcmp(word, names[n]) != 0)
            continue;
        suite = rw_lab_suite_at(n);
        command.name = names[n];
        command.about = suite->about;
        --*argc;
        ++*argv;
        return &command;
    }
    const char *near = rw_word_nearest(word, names, n);
    rw_msg_error(near ? "unknown suite '%s'; the nearest is '%s'" : "unknown suite '%s'", word,
                 near);
    rw_msg_hint("'rankwood-lab --help' lists the suites");
    return NULL;
}
