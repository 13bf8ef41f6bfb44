/* rankwood bench: measures this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench_rows.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"

/* Numbers in rows are exact up to here. */
static const unsigned long long most_seed = 9007199254740991u;

static const struct rw_bench_subject of_hist = {"hist", "bench hist", rw_bench_hist};
static const struct rw_bench_subject of_train = {"train", "bench train", rw_bench_train};
static const struct rw_bench_subject of_load = {"load", "bench load", rw_bench_load};
static const struct rw_bench_subject of_predict = {"predict", "bench predict", rw_bench_predict};

/* "lanes, contention": those that this program has. */
static void list_suites(const char *bench, char *list, size_t size)
{
    const char *name, *about;
    list[0] = 0;
    for (int i = 0; rw_bench_suite_at(bench, i, &name, &about); i++) {
        const size_t used = strlen(list);
        snprintf(list + used, size - used, "%s%s", i ? ", " : "", name);
    }
}

static int take_number(const struct rw_usage *usage, const char *name, const char *text,
                       unsigned long long least, unsigned long long most,
                       unsigned long long *number)
{
    return text ? rw_options_number(usage, name, text, least, most, number) : 0;
}

/* ------------------------------------------------------------------ histograms */

/* Options as they were given; NULL: not given. */
struct given_hist {
    const char *suite, *method, *docs, *features, *bins, *runs, *seed;
    int quick, json;
};

static int run_hist(const struct rw_usage *usage, const struct rw_said *said,
                    const struct given_hist *given)
{
    char suites[256];
    unsigned long long docs = 0, features = 0, bins = 0, runs = 0, seed = 1;
    list_suites("hist", suites, sizeof(suites));
    if (!given->suite)
        return rw_options_wrong(usage, "'bench hist' needs --suite%s%s", suites[0] ? ": " : " NAME",
                                suites);
    int code = take_number(usage, "--docs", given->docs, 1, 2147483647, &docs);
    if (code == 0)
        code = take_number(usage, "--features", given->features, 1, RW_FEATURE_IDS, &features);
    if (code == 0)
        code = take_number(usage, "--bins", given->bins, 1, 2147483647, &bins);
    if (code == 0)
        code = take_number(usage, "--runs", given->runs, 1, 1000, &runs);
    if (code == 0)
        code = take_number(usage, "--seed", given->seed, 0, most_seed, &seed);
    if (code != 0)
        return code;
    const struct rw_bench_options options = {.suite = given->suite,
                                             .method = given->method,
                                             .seed = seed,
                                             .n_docs = (uint32_t)docs,
                                             .n_features = (uint32_t)features,
                                             .n_bins = (uint32_t)bins,
                                             .n_runs = (int)runs,
                                             .quick = given->quick};
    return rw_bench_rows(said->ctx, &of_hist, &options, given->json);
}

static int bench_hist(int argc, char **argv)
{
    struct given_hist given = {0};
    char suite_help[512], suites[256];
    list_suites("hist", suites, sizeof(suites));
    snprintf(suite_help, sizeof(suite_help), "what to measure (needed): %s",
             suites[0] ? suites : "none, as this program is built without CUDA");
    const struct rw_option options[] = {
        {"suite", 0, "NAME", suite_help, RW_OPTION_TEXT, &given.suite},
        {"method", 0, "M", "this histogram method only", RW_OPTION_TEXT, &given.method},
        {"docs", 0, "N", "documents, where the suite does not vary them", RW_OPTION_TEXT,
         &given.docs},
        {"features", 0, "N", "features, where the suite does not vary them", RW_OPTION_TEXT,
         &given.features},
        {"bins", 0, "N", "bins: only the suite's rows with so many", RW_OPTION_TEXT, &given.bins},
        {"runs", 0, "N", "timings of each row, 1 to 1000", RW_OPTION_TEXT, &given.runs},
        {"seed", 0, "N", "seed of the made inputs [default 1]", RW_OPTION_TEXT, &given.seed},
        {"quick", 0, NULL, "small inputs and few runs: to see that it works", RW_OPTION_FLAG,
         &given.quick},
        {"json", 0, NULL, "one JSON document, with every digit", RW_OPTION_FLAG, &given.json},
        {0},
    };
    const struct rw_usage usage = {
        .command = of_hist.command,
        .operands = "--suite NAME",
        .about = "Measures histogram methods on the first GPU: medians with their spread, beside "
                 "the rate at which the same run reads the device's memory.",
        .most = 0,
        .options = options,
    };
    struct rw_said said;
    int code = rw_options_parse(&usage, argc, argv, &said);
    if (code < 0)
        code = run_hist(&usage, &said, &given);
    rw_options_release(&usage, &said);
    return code;
}

/* ------------------------------------------------------------------ trainings */

struct given_train {
    const char *suite, *shape, *queries;
    int quick, json;
};

enum { SCRATCH_ROOM = 4096 };

/* A name in TMPDIR, for suite 'text' and for 'load', that nobody can foresee, and of the form that
 * a signal that ends the program removes, with the temporary file beside it. 0, or -1 after saying
 * why not. */
static int name_scratch(char path[SCRATCH_ROOM])
{
    const char *folder = getenv("TMPDIR");
    struct timespec now;
    unsigned long long word = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    if (getentropy(&word, sizeof(word)) != 0)
        word = (unsigned long long)now.tv_nsec;
    const int n = snprintf(path, SCRATCH_ROOM, "%s/rankwood-bench-%016llx",
                           folder && *folder ? folder : "/tmp", word);
    if (n < 0 || n > SCRATCH_ROOM - 32) {
        rw_talk_error("the name of TMPDIR is too long");
        return -1;
    }
    if (rw_output_check(path) < 0)
        return -1;
    snprintf(path + n, (size_t)(SCRATCH_ROOM - n), ".tmp-%ld", (long)getpid());
    return rw_output_check(path);
}

/* Of trainings, loading and scores. */
static int run_made(const struct rw_usage *usage, const struct rw_said *said,
                    const struct rw_bench_subject *subject, const struct given_train *given)
{
    const int is_text = given->suite && strcmp(given->suite, "text") == 0;
    char scratch[SCRATCH_ROOM] = "";
    unsigned long long queries = 0;
    int code = take_number(usage, "--queries", given->queries, 1, 10000000, &queries);
    if (code == 0 && (is_text || subject == &of_load) && name_scratch(scratch) < 0)
        code = RW_EXIT_FAILURE;
    if (code != 0)
        return code;
    const struct rw_bench_options options = {.suite = given->suite,
                                             .seed = 1,
                                             .quick = given->quick,
                                             .shape = given->shape,
                                             .n_queries = (uint32_t)queries,
                                             .params = said->params,
                                             .scratch = scratch[0] ? scratch : NULL};
    return rw_bench_rows(said->ctx, subject, &options, given->json);
}

/* Reads the line and runs what it asks for. */
static int run_line(const struct rw_bench_subject *subject, const struct rw_usage *usage,
                    const struct given_train *given, int argc, char **argv)
{
    struct rw_said said;
    int code = rw_options_parse(usage, argc, argv, &said);
    if (code < 0)
        code = run_made(usage, &said, subject, given);
    rw_options_release(usage, &said);
    return code;
}

static int bench_train(int argc, char **argv)
{
    struct given_train given = {0};
    char suite_help[512], suites[256];
    list_suites("train", suites, sizeof(suites));
    snprintf(suite_help, sizeof(suite_help), "what to measure: %s [default: the first]", suites);
    const struct rw_option options[] = {
        {"suite", 0, "NAME", suite_help, RW_OPTION_TEXT, &given.suite},
        {"shape", 0, "S", "shape of all data, as of 'synth', in place of the suite's",
         RW_OPTION_TEXT, &given.shape},
        {"queries", 0, "N", "queries of all data, in place of the suite's", RW_OPTION_TEXT,
         &given.queries},
        {"quick", 0, NULL, "small data and few trees: to see that it works", RW_OPTION_FLAG,
         &given.quick},
        {"json", 0, NULL, "one JSON document, with every digit", RW_OPTION_FLAG, &given.json},
        {0},
    };
    const struct rw_usage usage = {
        .command = of_train.command,
        .about = "Measures training on made data, on the device that --device names. Parameters "
                 "replace those of the suite; rows that are the same then are one.",
        .most = 0,
        .options = options,
        .params = " objective rounds rate leaves depth grow split l2 split-l2 min-docs min-hessian "
                  "min-gain bins bits rounding truncation sigma norm label-gain absent "
                  "sample-queries sample-features seed threads device hist batch ",
    };
    return run_line(&of_train, &usage, &given, argc, argv);
}

/* ------------------------------------------------------------------ loading, scores */

static int bench_made(const struct rw_bench_subject *subject, const char *about, const char *params,
                      int argc, char **argv)
{
    struct given_train given = {0};
    const struct rw_option options[] = {
        {"shape", 0, "S", "shape of the made data, as of 'synth' [default mslr30k]", RW_OPTION_TEXT,
         &given.shape},
        {"queries", 0, "N", "queries of the made data", RW_OPTION_TEXT, &given.queries},
        {"quick", 0, NULL, "small data and few runs: to see that it works", RW_OPTION_FLAG,
         &given.quick},
        {"json", 0, NULL, "one JSON document, with every digit", RW_OPTION_FLAG, &given.json},
        {0},
    };
    const struct rw_usage usage = {.command = subject->command,
                                   .about = about,
                                   .most = 0,
                                   .options = options,
                                   .params = params};
    return run_line(subject, &usage, &given, argc, argv);
}

static int bench_load(int argc, char **argv)
{
    return bench_made(&of_load,
                      "Measures loading made data on the CPU, from LETOR text (written to TMPDIR "
                      "and removed) and from the cache of it: reading alone, and until training "
                      "can begin; with one thread and with all.",
                      " bins threads ", argc, argv);
}

static int bench_predict(int argc, char **argv)
{
    return bench_made(&of_predict,
                      "Measures scores of dense documents in memory, by models of trees of 31 and "
                      "of 255 leaves, on the CPU: the plain walk and what 'predict' does, with one "
                      "thread and with all, and one document at a time.",
                      " threads ", argc, argv);
}

/* ------------------------------------------------------------------ the command */

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subjects[] = {
    {"hist", bench_hist}, {"train", bench_train}, {"load", bench_load}, {"predict", bench_predict}};
enum { N_SUBJECTS = sizeof(subjects) / sizeof(subjects[0]) };

static int is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Where the subject stands: the first word that is one, else the first word; 0: nowhere. */
static int find_subject(int argc, char **argv)
{
    int first = 0;
    for (int i = 1; i < argc; i++) {
        for (int k = 0; k < N_SUBJECTS; k++) {
            if (strcmp(argv[i], subjects[k].name) == 0)
                return i;
        }
        if (!first && argv[i][0] != '-')
            first = i;
    }
    return first;
}

/* Help on all, one after the other. */
static int help_all(void)
{
    char name[] = "bench", option[] = "--help";
    char *line[] = {name, option, NULL};
    int code = RW_EXIT_OK;
    for (int k = 0; k < N_SUBJECTS && code == RW_EXIT_OK; k++) {
        if (k > 0)
            putchar('\n');
        code = subjects[k].run(2, line);
    }
    return code;
}

int rw_cmd_bench(int argc, char **argv)
{
    static const struct rw_usage usage = {.command = "bench"};
    const int at = find_subject(argc, argv);
    const char *names[N_SUBJECTS];
    if (at == 0) {
        for (int i = 1; i < argc; i++) {
            if (is_help(argv[i]))
                return help_all();
        }
        return rw_options_wrong(&usage, "'bench' needs hist, train, load or predict");
    }
    for (int k = 0; k < N_SUBJECTS; k++) {
        names[k] = subjects[k].name;
        if (strcmp(argv[at], names[k]) != 0)
            continue;
        memmove(&argv[at], &argv[at + 1], (size_t)(argc - at) * sizeof(*argv));
        return subjects[k].run(argc - 1, argv);
    }
    const char *near = rw_options_nearest(argv[at], names, N_SUBJECTS);
    return rw_options_wrong(&usage,
                            near ? "unknown bench '%s'; the nearest is '%s'"
                                 : "unknown bench '%s'; there are hist, train, load and predict",
                            argv[at], near);
}
