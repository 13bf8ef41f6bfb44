/* Makes the n-th call of CUDA fail. The runtime of the emulated GPU (tests/emulator) queries
 * this file before each call, and reports the resources that the process holds. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"

struct faults_plan faults_cuda;

/* CUDA's names and numbers of errors. After one that is sticky the process has lost the GPU. */
static const struct fault {
    const char *name;
    int number, is_sticky;
} faults[] = {
    {"InvalidValue", 1, 0},       {"MemoryAllocation", 2, 0}, {"InsufficientDriver", 35, 0},
    {"EccUncorrectable", 214, 1}, {"IllegalAddress", 700, 1}, {"LaunchOutOfResources", 701, 0},
    {"Unknown", 999, 0}};

static char struck_kind[32]; /* whose calls count */
static int is_sticky;
static _Atomic long n_held, n_blamed;

static int is_lost(void)
{
    return is_sticky && faults_cuda.report && atomic_load(&faults_cuda.report->n_faults) > 0;
}

int faults_of_cuda(const char *kind)
{
    if (is_lost())
        return strcmp(kind, "cuda-find") == 0 ? 0 : faults_cuda.error;
    if (strcmp(kind, struck_kind) != 0 || !faults_strikes(&faults_cuda))
        return 0;
    const int is_enqueued = strcmp(kind, "cuda-launch") == 0 || strcmp(kind, "cuda-copy") == 0;
    return is_sticky && is_enqueued ? FAULTS_LATER : faults_cuda.error;
}

void faults_cuda_holds(int change)
{
    const long now = atomic_fetch_add(&n_held, change) + change;
    if (faults_cuda.report)
        atomic_store(&faults_cuda.report->n_held, now);
}

void faults_cuda_blames(void)
{
    const long now = atomic_fetch_add(&n_blamed, 1) + 1;
    if (faults_cuda.report)
        atomic_store(&faults_cuda.report->n_blamed, now);
}

int faults_plan_cuda(const char *kind, const char *name)
{
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        if (strncmp(kind, "cuda-", 5) != 0 || strcmp(name, faults[i].name) != 0)
            continue;
        snprintf(struck_kind, sizeof(struck_kind), "%s", kind);
        faults_cuda.error = faults[i].number;
        is_sticky = faults[i].is_sticky;
        return 1;
    }
    return 0;
}

long faults_held_of_cuda(void)
{
    return atomic_load(&n_held);
}

long faults_blamed_by_cuda(void)
{
    return atomic_load(&n_blamed);
}
