/* Makes every allocation of library calls fail once, in one process. Each time the call must fail
 * with RW_ERR_MEMORY or work without the memory. The same calls with the same context must then
 * give the same result as before. AddressSanitizer must find no leak.
 *
 *   library_faults [--step N] [--device cuda] [SCENARIO]      every N-th allocation (1)
 *
 * On the emulated GPU (tests/emulator) every call of CUDA fails, too, and nothing of the GPU is
 * left.
 *
 * Prints a line per scenario: ok or not ok. allocations.c replaces malloc. */
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

static const struct fault {
    const char *kind, *error; /* of CUDA's calls; NULL: allocations */
    int goes_on, status, is_lost;
    const char *says;
} faults[] = {
    {.goes_on = 0, .status = RW_ERR_MEMORY, .says = "memory"},
    {.goes_on = 1, .status = RW_ERR_MEMORY, .says = "memory"},
    {"cuda-find", "Unknown", 0, RW_ERR_MACHINE, 0, "unknown error"},
    {"cuda-ask", "InvalidValue", 0, RW_ERR_MACHINE, 0, "invalid argument"},
    {"cuda-ask", "IllegalAddress", 0, RW_ERR_MACHINE, 1, "illegal memory access"},
    {"cuda-memory", "MemoryAllocation", 0, RW_ERR_MEMORY, 0, "out of"},
    {"cuda-memory", "MemoryAllocation", 1, RW_ERR_MEMORY, 0, "out of"},
    {"cuda-memory", "IllegalAddress", 0, RW_ERR_MACHINE, 1, "illegal memory access"},
    {"cuda-copy", "InvalidValue", 0, RW_ERR_MACHINE, 0, "invalid argument"},
    {"cuda-copy", "IllegalAddress", 0, RW_ERR_MACHINE, 1, "illegal memory access"},
    {"cuda-launch", "LaunchOutOfResources", 0, RW_ERR_MACHINE, 0, "too many resources"},
    {"cuda-launch", "IllegalAddress", 0, RW_ERR_MACHINE, 1, "illegal memory access"},
    {"cuda-wait", "Unknown", 0, RW_ERR_MACHINE, 0, "unknown error"},
    {"cuda-wait", "EccUncorrectable", 0, RW_ERR_MACHINE, 1, "uncorrectable ECC error"},
    {"cuda-order", "MemoryAllocation", 0, RW_ERR_MEMORY, 0, "out of device memory"},
    {"cuda-free", "InvalidValue", 0, RW_ERR_MACHINE, 0, "invalid argument"},
    {"cuda-free", "IllegalAddress", 0, RW_ERR_MACHINE, 1, "illegal memory access"},
};
enum { N_FAULTS = sizeof(faults) / sizeof(faults[0]) };

static int is_what_happened(const struct fault *fault, int status, const char *text)
{
    if (!fault->kind && status == RW_ERR_MACHINE)
        return strstr(text, "Cannot allocate memory") != NULL;
    if (fault->kind && status == RW_ERR_UNSUPPORTED) /* no GPU can be used: why */
        return strstr(text, fault->says) != NULL;
    return status == fault->status && strstr(text, fault->says) != NULL;
}

static int run(struct rw_ctx *ctx, const struct scenario *scenario)
{
    scenario_sum = 0;
    scenario_error[0] = 0;
    return scenario->run(ctx);
}

static void show(const struct fault *fault, long n, const char *when, int status, const char *why)
{
    printf("    %s %ld%s%s%s: status %d, %s\n", fault->kind ? fault->kind : "allocation", n,
           fault->goes_on ? " and on, " : ", ", fault->error ? fault->error : "none", when, status,
           status == RW_OK ? "another result" : why);
}

/* Runs the calls with one fault, then without. Prints errors. */
static int strike(struct rw_ctx *ctx, const struct scenario *scenario, const struct fault *fault,
                  long n, uint64_t whole, long *injected)
{
    struct faults_plan *plan = fault->kind ? &faults_cuda : &faults_memory;
    int n_wrong = 0;
    faults_arm(plan, n, fault->goes_on);
    int status = run(ctx, scenario);
    *injected = faults_injected(plan);
    if (!fault->is_lost)
        faults_arm(plan, 0, 0);
    const char *why = scenario_error[0] ? scenario_error : rw_last_error(ctx);
    if (status == RW_OK ? scenario_sum != whole : !is_what_happened(fault, status, why)) {
        show(fault, n, "", status, why);
        n_wrong++;
    }
    if (fault->is_lost && *injected) { /* the GPU stays lost: each call returns its error */
        status = run(ctx, scenario);
        if (status == RW_OK ? scenario_sum != whole
                            : !is_what_happened(fault, status, rw_last_error(ctx))) {
            show(fault, n, ", again", status, rw_last_error(ctx));
            n_wrong++;
        }
    }
    faults_arm(plan, 0, 0);
    status = run(ctx, scenario);
    if (status != RW_OK || scenario_sum != whole) {
        show(fault, n, ", afterwards", status, rw_last_error(ctx));
        n_wrong++;
    }
    return n_wrong;
}

static int try_scenario(struct rw_ctx *ctx, const struct scenario *scenario, long step, int n_kinds)
{
    long n_faults = 0, injected, n;
    int n_wrong = 0;
    if (run(ctx, scenario) != RW_OK) {
        printf("not ok library: %s: %s\n", scenario->name, rw_last_error(ctx));
        return 1;
    }
    const uint64_t whole = scenario_sum;
    for (int i = 0; i < n_kinds; i++) {
        if (faults[i].kind && !faults_plan_cuda(faults[i].kind, faults[i].error))
            return 1;
        injected = 1;
        for (n = 1; injected > 0 && n_wrong < 20; n += step) {
            n_wrong += strike(ctx, scenario, &faults[i], n, whole, &injected);
            n_faults += injected > 0;
        }
    }
    if (LEAKS()) {
        printf("    something is lost\n");
        n_wrong++;
    }
    printf("%s library: %s: %ld %s fail, %d wrong\n", n_wrong ? "not ok" : "ok", scenario->name,
           n_faults, n_kinds == N_FAULTS ? "allocations and calls of CUDA" : "allocations",
           n_wrong);
    fflush(stdout);
    return n_wrong;
}

/* Once all is freed. */
static int check_gpu(void)
{
    if (faults_held_of_cuda() == 0 && faults_blamed_by_cuda() == 0)
        return 0;
    printf("not ok library: of the GPU %ld things are left; %ld launches would be blamed for the "
           "error "
           "of another call\n",
           faults_held_of_cuda(), faults_blamed_by_cuda());
    return 1;
}

int main(int argc, char **argv)
{
    long step = 1;
    int n_wrong = 0, at = 1, n_kinds = 2;
    struct rw_ctx *ctx = NULL;
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    if (argc > at + 1 && strcmp(argv[at], "--step") == 0) {
        step = atol(argv[at + 1]);
        at += 2;
    }
    if (argc > at + 1 && strcmp(argv[at], "--device") == 0) {
        scenario_device = argv[at + 1];
        n_kinds = N_FAULTS;
        at += 2;
    }
    faults_never_from("libstdc++");
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
        const int is_asked = at >= argc || strcmp(argv[at], scenarios[i].name) == 0;
        if (is_asked && !(n_kinds == N_FAULTS && strcmp(scenarios[i].name, "ranks") == 0))
            n_wrong += try_scenario(ctx, &scenarios[i], step, n_kinds);
    }
    scenarios_end();
    rw_ctx_free(ctx);
    n_wrong += check_gpu();
    char line[PATH_ROOM + 16];
    snprintf(line, sizeof(line), "rm -rf '%s'", scenario_folder);
    return system(line) != 0 || n_wrong > 0;
}
