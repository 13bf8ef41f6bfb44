/* Every allocation that calls of the library make fails once, in one process: each time the call
 * fails with RW_ERR_MEMORY or does without, and the same calls with the same context then give what
 * they gave before. Under AddressSanitizer nothing is left that nobody points to.
 *
 *   library_faults [--step N] [SCENARIO]      every N-th allocation (1)
 *
 * Prints a line a scenario: ok or not ok. What allocates is allocations.c, which stands before
 * malloc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "scenarios.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define LEAKS() __lsan_do_recoverable_leak_check()
#else
#define LEAKS() 0
#endif

/* ------------------------------------------------------------------ faults */

static int is_about_memory(int status, const char *text)
{
    return (status == RW_ERR_MEMORY && strstr(text, "memory")) ||
           (status == RW_ERR_MACHINE && strstr(text, "Cannot allocate memory"));
}

/* One fault, and the same calls once more without. Prints what is wrong. */
static int strike(struct rw_ctx *ctx, const struct scenario *scenario, long n, int goes_on,
                  uint64_t whole, long *injected)
{
    scenario_sum = 0;
    faults_arm(n, goes_on);
    scenario_error[0] = 0;
    const int status = scenario->run(ctx);
    *injected = faults_injected();
    faults_arm(0, 0);
    const char *why = scenario_error[0] ? scenario_error : rw_last_error(ctx);
    int is_wrong = 0;
    if (status == RW_OK ? scenario_sum != whole : !is_about_memory(status, why)) {
        printf("    allocation %ld%s: status %d, %s\n", n, goes_on ? " and on" : "", status,
               status == RW_OK ? "another result" : why);
        is_wrong = 1;
    }
    scenario_sum = 0;
    const int after = scenario->run(ctx);
    if (after != RW_OK || scenario_sum != whole) {
        printf("    after allocation %ld%s: status %d, %s\n", n, goes_on ? " and on" : "", after,
               after == RW_OK ? "another result" : rw_last_error(ctx));
        is_wrong = 1;
    }
    return is_wrong;
}

static int try_scenario(struct rw_ctx *ctx, const struct scenario *scenario, long step)
{
    long n_faults = 0, injected, n;
    int n_wrong = 0;
    scenario_sum = 0;
    if (scenario->run(ctx) != RW_OK) {
        printf("not ok library: %s: %s\n", scenario->name, rw_last_error(ctx));
        return 1;
    }
    const uint64_t whole = scenario_sum;
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        injected = 1;
        for (n = 1; injected > 0 && n_wrong < 20; n += step) {
            n_wrong += strike(ctx, scenario, n, goes_on, whole, &injected);
            n_faults += injected > 0;
        }
    }
    if (LEAKS()) {
        printf("    something is lost\n");
        n_wrong++;
    }
    printf("%s library: %s: %ld allocations fail, %d wrong\n", n_wrong ? "not ok" : "ok",
           scenario->name, n_faults, n_wrong);
    fflush(stdout);
    return n_wrong;
}

int main(int argc, char **argv)
{
    long step = 1;
    int n_wrong = 0, at = 1;
    struct rw_ctx *ctx = NULL;
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    if (argc > at + 1 && strcmp(argv[at], "--step") == 0) {
        step = atol(argv[at + 1]);
        at += 2;
    }
    snprintf(scenario_folder, sizeof(scenario_folder), "%s/library-XXXXXX",
             where && *where ? where : "/tmp");
#if defined(__SANITIZE_ADDRESS__) /* which ends where its own beginning of a thread gets no memory \
                                   */
    faults_only_from("");
#endif
    if (!mkdtemp(scenario_folder) || rw_ctx_new(&ctx) != RW_OK ||
        rw_ctx_set_threads(ctx, 1) != RW_OK || scenarios_begin(ctx) != RW_OK)
        return 2;
    for (int i = 0; scenarios[i].name; i++) {
        if (at >= argc || strcmp(argv[at], scenarios[i].name) == 0)
            n_wrong += try_scenario(ctx, &scenarios[i], step);
    }
    scenarios_end();
    rw_ctx_free(ctx);
    char line[PATH_ROOM + 16];
    snprintf(line, sizeof(line), "rm -rf '%s'", scenario_folder);
    return system(line) != 0 || n_wrong > 0;
}
