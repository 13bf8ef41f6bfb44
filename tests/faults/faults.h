/* Faults on demand, for tests: an allocation, a system call or a call of CUDA that fails at its
 * n-th call.
 *
 * As a preloaded library, it reads its task from the environment, and counts from main() on:
 *
 *   RANKWOOD_FAULT         "KIND N FAULT", such as "memory 17 ENOMEM" or "write 3 ENOSPC"
 *   RANKWOOD_FAULT_REPORT  a file of sizeof(struct faults_report) bytes, for the counts
 *
 * "N+" means the N-th call and all after it. KIND is memory, thread, a system call of calls.c, or a
 * kind of CUDA call such as cuda-copy. FAULT is the name of an errno or of a CUDA error, or one of
 * these:
 *
 *   short         reads or writes half of the bytes
 *   killed        SIGKILL instead of the system call
 *   killed-after  SIGKILL after the system call; a write writes half
 *
 * A breakpoint at faults_happened shows the call that failed. */
#pragma once

#include <stdatomic.h>

struct faults_report {
    _Atomic long n_calls;  /* calls of the kind that could have failed */
    _Atomic long n_faults; /* calls of the kind that failed */
    _Atomic long is_ready; /* 1: the library was loaded and could do its task */
    _Atomic long n_held;   /* GPU resources held, as reported to faults_cuda_holds */
    _Atomic long n_blamed; /* launches that found an error of another call */
};

/* In place of an errno. */
enum { FAULTS_SHORT = 0, FAULTS_KILLED = -1, FAULTS_KILLED_AFTER = -2 };

struct faults_plan {
    _Atomic long first; /* 0: none fails */
    int goes_on;        /* all after it, too */
    int error;          /* an errno, or one of those above */
    struct faults_report *report;
    struct faults_report own; /* for a program that has it inside */
};

/* Of allocations; of system calls; of threads; of calls of CUDA. */
extern struct faults_plan faults_memory, faults_calls, faults_threads, faults_cuda;

/* Counts a call, and says whether it is to fail. */
int faults_strikes(struct faults_plan *plan);
/* Does nothing. */
void faults_happened(void);

/* For a program that has it inside: the n-th call of the plan from now on fails, and all after it
 * if goes_on; n = 0: none does. A GPU that was lost is there again. */
void faults_arm(struct faults_plan *plan, long n, int goes_on);
/* How many of these failed since then. */
long faults_injected(const struct faults_plan *plan);
/* Counts only calls from one loaded object, named by a part of its file's name. "" is the
 * program; NULL: all objects. Returns 0 if there is no such object. */
int faults_only_from(const char *object);
/* What its code asks for does not count: of C++'s library, which only the emulated GPU needs. */
int faults_never_from(const char *object);

/* Begins to catch the system calls of a kind; 0: there is no such kind, or it cannot be done here.
 */
int faults_catch_calls(const char *kind);

/* From now on faults_cuda counts calls of the named kind, such as cuda-copy (tests/emulator
 * names them), and returns the named error. Returns 0 for an unknown name. */
int faults_plan_cuda(const char *kind, const char *name);
/* Called by the emulated GPU's runtime before a call. Returns 0, the CUDA error with which the
 * call must fail, or FAULTS_LATER: the call does nothing and succeeds, and later calls fail. On
 * a lost GPU, every kind fails except cuda-find, which needs no GPU. */
enum { FAULTS_LATER = -1 };
int faults_of_cuda(const char *kind);
/* ... and tells: so many more allocations, streams, events and graphs are there, or fewer. */
void faults_cuda_holds(int change);
/* ... and that a launch begins where an error of another call is left, which would be blamed on it.
 */
void faults_cuda_blames(void);
/* For a program linked with this code: the resources held now, and the launches blamed so far. */
long faults_held_of_cuda(void), faults_blamed_by_cuda(void);
