#include "hist_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"

enum { QUICK = 25 };   /* --quick: one call of so many */
enum { SKIPPED = 77 }; /* exit status without a GPU, as Meson reads it */

struct options {
    uint64_t seed, every;
    const char *method, *stage;
    int big;
};

static int parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0)
            o->every = QUICK;
        else if (strcmp(argv[i], "--big") == 0)
            o->big = 1;
        else if (strcmp(argv[i], "--seed") == 0 && value && ++i)
            o->seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--every") == 0 && value && ++i)
            o->every = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--method") == 0 && value && ++i)
            o->method = value;
        else if (strcmp(argv[i], "--stage") == 0 && value && ++i)
            o->stage = value;
        else
            return -1;
    }
    return o->every > 0 ? 0 : -1;
}

static int report(const struct hist_run *run)
{
    uint64_t passed = 0, failed = 0, skipped = 0;
    printf("%-20s %10s %10s %10s %10s\n", "method", "equal", "refused", "failed", "skipped");
    for (int m = 0; m < run->n_methods; m++) {
        const struct hist_tally *t = &run->tally[m];
        printf("%-20s %10llu %10llu %10llu %10llu\n", t->method->name,
               (unsigned long long)t->passed, (unsigned long long)t->refused,
               (unsigned long long)t->failed, (unsigned long long)t->skipped);
        passed += t->passed + t->refused;
        failed += t->failed;
        skipped += t->skipped;
    }
    if (run->dead)
        printf("the device failed: what came after is skipped; try other methods with --method\n");
    printf("%llu passed, %llu failed, %llu skipped\n", (unsigned long long)passed,
           (unsigned long long)failed, (unsigned long long)skipped);
    return failed > 0 || run->dead;
}

int hist_program(int argc, char **argv, const struct hist_stage *stages, int n_stages)
{
    struct options o = {.seed = 1, .every = 1};
    static struct hist_run run;
    struct rw_ctx *ctx;
    if (parse(argc, argv, &o) < 0) {
        fprintf(
            stderr,
            "usage: %s [--seed N] [--method NAME] [--stage NAME] [--quick] [--every N] [--big]\n",
            argv[0]);
        return 2;
    }
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    printf("seed %llu\n", (unsigned long long)o.seed);
    if (hist_run_init(&run, ctx, o.method, o.seed) < 0) {
        const struct rw_hist_method *method;
        printf("skip: %s\n0 passed, 0 failed, 1 skipped\n", rw_last_error(ctx));
        const int unknown = rw_hist_method_named(ctx, o.method, &method) < 0;
        rw_ctx_free(ctx);
        return unknown ? 2 : SKIPPED;
    }
    printf("%s\n", run.device->name);
    for (int s = 0; s < n_stages; s++) {
        if (o.stage ? strcmp(o.stage, stages[s].name) != 0 : stages[s].only_big && !o.big)
            continue;
        const double start = rw_clock_ms();
        run.every = o.every;
        run.stage = stages[s].name;
        stages[s].run(&run);
        printf("%-16s %8.1f s\n", stages[s].name, (rw_clock_ms() - start) / 1000);
        fflush(stdout);
    }
    const int bad = report(&run);
    hist_run_release(&run);
    rw_ctx_free(ctx);
    return bad;
}
