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

static const struct rw_bench_subject of_train = {"train", "bench train", rw_bench_train};
static const struct rw_bench_subject of_load = {"load", "bench load", rw_bench_load};
static const struct rw_bench_subject of_predict = {"predict", "bench predict", rw_bench_predict};

/* "trees, grow". */
static void list_suites(const char *bench, char *list, size_t size)
{
    const char *name, *about;
    list[0] = 0;
    for (int i = 0; rw_bench_suite_at(bench, i, &name, &about); i++) {
        const size_t used = strlen(list);
        snprintf(list + used, size - used, "%s%s", i ? ", " : "", name);
    }
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
    int code = given->queries
                   ? rw_options_number(usage, "--queries", given->queries, 1, 10000000, &queries)
                   : 0;
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
} subjects[] = {{"train", bench_train}, {"load", bench_load}, {"predict", bench_predict}};
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
        return rw_options_wrong(&usage, "'bench' needs train, load or predict");
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
                                 : "unknown bench '%s'; there are train, load and predict",
                            argv[at], near);
}
