/* Reads what to do from the environment (faults.h) when main() begins. What runs before is the
 * loader and, in a build with CUDA, the registering of kernels, which are not Rankwood's. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faults.h"

static const struct {
    const char *name;
    int error;
} errors[] = {
    {"ENOMEM", ENOMEM},      {"EAGAIN", EAGAIN},        {"EIO", EIO},
    {"ENOSPC", ENOSPC},      {"EINTR", EINTR},          {"EMFILE", EMFILE},
    {"EACCES", EACCES},      {"EROFS", EROFS},          {"EDQUOT", EDQUOT},
    {"short", FAULTS_SHORT}, {"killed", FAULTS_KILLED}, {"killed-after", FAULTS_KILLED_AFTER}};

static int find_error(const char *name, int *error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (strcmp(errors[i].name, name) == 0) {
            *error = errors[i].error;
            return 1;
        }
    }
    return 0;
}

static struct faults_report *shared_report(void)
{
    const char *path = getenv("RANKWOOD_FAULT_REPORT");
    const int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = fd < 0 ? MAP_FAILED
                       : mmap(NULL, sizeof(struct faults_report), PROT_READ | PROT_WRITE,
                              MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return map == MAP_FAILED ? NULL : map;
}

static void begin(void)
{
    const char *text = getenv("RANKWOOD_FAULT");
    struct faults_report *report = text ? shared_report() : NULL;
    char kind[32], number[32], fault[32];
    if (!report || sscanf(text, "%31s %31s %31s", kind, number, fault) != 3)
        return;
    const int is_of_cuda = faults_plan_cuda(kind, fault);
    struct faults_plan *plan = is_of_cuda                    ? &faults_cuda
                               : strcmp(kind, "memory") == 0 ? &faults_memory
                               : strcmp(kind, "thread") == 0 ? &faults_threads
                                                             : &faults_calls;
    if (!is_of_cuda && !find_error(fault, &plan->error))
        return;
    plan->report = report;
    faults_never_from("libstdc++");
    plan->goes_on = strchr(number, '+') != NULL;
    if (plan == &faults_calls && !faults_catch_calls(kind))
        return;
    atomic_store(&report->is_ready, 1);
    atomic_store(&plan->first, atol(number));
}

typedef int main_fn(int, char **, char **);
typedef int start_fn(main_fn *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                     void *);

static main_fn *main_of_program;

static int begin_and_run(int argc, char **argv, char **environment)
{
    begin();
    return main_of_program(argc, argv, environment);
}

/* glibc's, which calls main(). */
start_fn __libc_start_main;
int __libc_start_main(main_fn *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*loader_fini)(void), void *stack_end)
{
    start_fn *start;
    *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
    main_of_program = main;
    return start(begin_and_run, argc, argv, init, fini, loader_fini, stack_end);
}
