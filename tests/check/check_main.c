/* check [--seed N] [--filter TEXT] [--engine NAME | --device NAME] [--random N] [--every N]
 *       [--long] [--list] [--far]
 *
 * --every takes every Nth case.
 * --far leaves a device so little memory that codes stay in the host's.
 *
 * --engine looks at one engine only. So does --device, which wants it: exit 77 if it does not open,
 * as on a machine without a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "check.h"

#define RW_ENGINE(name) #name,
static const char *const engine_name[] = {
#include "tree/engines.def"
};
static const char *const op_name[N_OPS] = {"load",        "set_gradients", "begin_tree",
                                           "best_splits", "partition",     "leaf_sums",
                                           "scores",      "grow"};
enum { N_ENGINES = sizeof(engine_name) / sizeof(engine_name[0]) };
enum { SKIPPED = 77 }; /* exit status, as Meson reads it */

struct options {
    uint64_t seed;
    const char *filter, *engine, *hist;
    int n_random, every, slow, list, verbose, wanted, far;
};

struct totals {
    int passed, failed, skipped, far;
};

static int usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--seed N] [--filter TEXT] [--engine ref|cpu|sim|cuda] [--device NAME] "
            "[--hist METHOD] [--random N] [--every N] [--long] [--list] [--verbose] [--far]\n",
            program);
    return 2;
}

static int parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--long") == 0)
            o->slow = 1;
        else if (strcmp(argv[i], "--list") == 0)
            o->list = 1;
        else if (strcmp(argv[i], "--far") == 0)
            o->far = 1;
        else if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = 1;
        else if (strcmp(argv[i], "--seed") == 0 && value && ++i)
            o->seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--filter") == 0 && value && ++i)
            o->filter = value;
        else if (strcmp(argv[i], "--engine") == 0 && value && ++i)
            o->engine = value;
        else if (strcmp(argv[i], "--device") == 0 && value && ++i)
            o->engine = value, o->wanted = 1;
        else if (strcmp(argv[i], "--hist") == 0 && value && ++i)
            o->hist = value;
        else if (strcmp(argv[i], "--random") == 0 && value && ++i)
            o->n_random = atoi(value);
        else if (strcmp(argv[i], "--every") == 0 && value && atoi(value) > 0 && ++i)
            o->every = atoi(value);
        else
            return -1;
    }
    return 0;
}

static void report(const struct check_run *run, const char *engine, struct totals *totals)
{
    for (int op = 0; op < N_OPS; op++) {
        if (!run->compared[op])
            continue;
        if (!run->failed[op]) {
            totals->passed++;
            continue;
        }
        totals->failed++;
        printf("not ok %s/%s/%s: %d of %d differ; first: %s\n", run->c->spec.name, engine,
               op_name[op], run->failed[op], run->compared[op], run->first_failure[op]);
    }
    fflush(stdout);
}

static int run_case(struct rw_ctx *ctx, const struct check_spec *spec, const struct options *o,
                    uint64_t seed, int *open, struct totals *totals)
{
    struct check_case c;
    if (check_case_init(ctx, spec, seed, &c) < 0) {
        printf("not ok %s: cannot make its data: %s\n", spec->name, rw_last_error(ctx));
        totals->failed++;
        return 0;
    }
    c.rules.hist = o->hist; /* of cuda; other engines have one method only */
    c.far = o->far;
    for (int e = 0; e < N_ENGINES; e++) {
        if (!open[e])
            continue;
        const double start = rw_clock_ms();
        struct check_run run;
        if (check_run_case(&c, engine_name[e], &run) == 0)
            report(&run, engine_name[e], totals);
        totals->far += run.was_far;
        if (o->verbose)
            printf("%-28s %-5s %8.1f ms\n", spec->name, engine_name[e], rw_clock_ms() - start);
    }
    check_case_release(&c);
    return 0;
}

/* An engine that does not open for the plainest rules is skipped, with its reason. */
static void find_engines(struct rw_ctx *ctx, const struct options *o, int *open,
                         struct totals *totals)
{
    const struct rw_engine_rules rules = {.cut = {.bins = 2},
                                          .objective = &rw_objective_lambdarank,
                                          .lambda = {.sigma = 1.0f},
                                          .bits = 8,
                                          .min_docs = 1,
                                          .max_slots = 1};
    for (int e = 0; e < N_ENGINES; e++) {
        open[e] = 0;
        if (o->engine && strcmp(o->engine, engine_name[e]) != 0)
            continue;
        struct rw_engine *engine;
        if (rw_engine_open(ctx, engine_name[e], &rules, &engine) < 0) {
            const char *why = rw_last_error(ctx); /* its first line; the rest is a hint */
            printf("skip %s: %.*s\n", engine_name[e], (int)strcspn(why, "\n"), why);
            totals->skipped++;
            continue;
        }
        open[e] = 1;
        rw_engine_close(engine);
    }
}

int main(int argc, char **argv)
{
    struct options o = {.seed = 1, .n_random = 25, .every = 1};
    struct totals totals = {0, 0, 0, 0};
    int open[N_ENGINES], any = 0;
    struct rw_ctx *ctx;
    if (parse(argc, argv, &o) < 0)
        return usage(argv[0]);
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    printf("seed %llu\n", (unsigned long long)o.seed);
    find_engines(ctx, &o, open, &totals);
    for (int e = 0; e < N_ENGINES; e++)
        any |= open[e];
    if (o.wanted && !any) {
        rw_ctx_free(ctx);
        printf("0 passed, 0 failed, %d skipped\n", totals.skipped);
        return SKIPPED;
    }
    struct check_spec spec;
    for (int i = 0; check_spec_at(i, o.n_random, o.seed, &spec); i++) {
        if ((o.filter && !strstr(spec.name, o.filter)) || i % o.every)
            continue;
        if (o.list)
            printf("%s%s\n", spec.name, spec.slow ? " (--long)" : "");
        else if (spec.slow && !o.slow)
            totals.skipped++;
        else
            run_case(ctx, &spec, &o, o.seed * 1000003u + (uint64_t)i, open, &totals);
    }
    rw_ctx_free(ctx);
    if (o.far)
        printf("%d cases with codes in the host's memory\n", totals.far);
    printf("%d passed, %d failed, %d skipped\n", totals.passed, totals.failed, totals.skipped);
    return totals.failed > 0;
}
