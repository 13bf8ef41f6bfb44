/* rankwood-lab <suite> [options]: measures histograms on the first GPU. */
#include <stdio.h>
#include <string.h>

#include "cli/bench_rows.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "lab/lab.h"

enum { MOST_SUITES = 16 };
/* Numbers in rows are exact up to here. */
static const unsigned long long most_seed = 9007199254740991u;

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

/* What the run below is asked for; rw_bench_rows hands on its own options only. */
static struct {
    const struct rw_lab_suite *suite;
    struct rw_lab_options options;
} asked;

static int run_asked(struct rw_ctx *ctx, const struct rw_bench_options *options,
                     rw_bench_row_fn row, void *user)
{
    (void)options;
    return rw_lab_run(ctx, asked.suite, &asked.options, row, user);
}

/* A number as it was given, NULL: not given, and what it may be. */
struct number {
    const char *option, *text;
    unsigned long long least, most, value;
};

static int run_suite(const struct rw_usage *usage, const struct rw_said *said,
                     struct number number[5], int json)
{
    const char *suite = asked.suite->name;
    const struct rw_bench_subject subject = {"lab", suite, run_asked};
    for (int i = 0; i < 5; i++) {
        struct number *n = &number[i];
        const int code =
            n->text ? rw_options_number(usage, n->option, n->text, n->least, n->most, &n->value)
                    : 0;
        if (code != 0)
            return code;
    }
    asked.options.n_docs = (uint32_t)number[0].value;
    asked.options.n_features = (uint32_t)number[1].value;
    asked.options.n_bins = (uint32_t)number[2].value;
    asked.options.n_runs = (int)number[3].value;
    asked.options.seed = number[4].value;
    const struct rw_bench_options shown = {.suite = suite, .quick = asked.options.quick};
    return rw_bench_rows(said->ctx, &subject, &shown, json);
}

static int parse_suite(const struct rw_lab_suite *suite, int argc, char **argv)
{
    int json = 0;
    struct number number[5] = {{"--docs", NULL, 1, 2147483647, 0},
                               {"--features", NULL, 1, 65536, 0},
                               {"--bins", NULL, 1, 2147483647, 0},
                               {"--runs", NULL, 1, 1000, 0},
                               {"--seed", NULL, 0, most_seed, 1}};
    asked.suite = suite;
    const struct rw_option options[] = {
        {"method", 0, "M", "this histogram method only", RW_OPTION_TEXT, &asked.options.method},
        {"docs", 0, "N", "documents, where the suite does not vary them", RW_OPTION_TEXT,
         &number[0].text},
        {"features", 0, "N", "features, where the suite does not vary them", RW_OPTION_TEXT,
         &number[1].text},
        {"bins", 0, "N", "bins: only the suite's rows with so many", RW_OPTION_TEXT,
         &number[2].text},
        {"runs", 0, "N", "timings of each row, 1 to 1000", RW_OPTION_TEXT, &number[3].text},
        {"seed", 0, "N", "seed of the made inputs [default 1]", RW_OPTION_TEXT, &number[4].text},
        {"quick", 0, NULL, "small inputs and few runs: to see that it works", RW_OPTION_FLAG,
         &asked.options.quick},
        {"json", 0, NULL, "one JSON document, with every digit", RW_OPTION_FLAG, &json},
        {0},
    };
    const struct rw_usage usage = {
        .command = suite->name, .about = suite->about, .most = 0, .options = options};
    struct rw_said said;
    int code = rw_options_parse(&usage, argc, argv, &said);
    if (code < 0)
        code = run_suite(&usage, &said, number, json);
    rw_options_release(&usage, &said);
    return code;
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
        if (strcmp(argv[1], names[n]) == 0)
            return parse_suite(rw_lab_suite_at(n), argc - 1, argv + 1);
    }
    const char *near = rw_options_nearest(argv[1], names, n);
    rw_talk_error(near ? "unknown suite '%s'; the nearest is '%s'" : "unknown suite '%s'", argv[1],
                  near);
    rw_talk_hint("'rankwood-lab --help' lists the suites");
    return RW_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    rw_talk_program = "rankwood-lab";
    int code = run(argc, argv);
    if (code == RW_EXIT_OK && rw_output_flush() < 0)
        code = RW_EXIT_FAILURE;
    return rw_talk_exit(code);
}
