/* Faults on demand, for tests: an allocation, a system call or a call of CUDA that fails at its
 * n-th call.
 *
 * Compiled into a library to be preloaded, it takes what to do from the environment, and counts
 * from main() on:
 *
 *   RANKWOOD_FAULT   "KIND N FAULT", such as "memory 17 ENOMEM" or "write 3 ENOSPC"; "N+" means the
 * N-th call and all after it. KIND is memory, thread, one of the system calls in calls.c, or
 * cuda-... (below); FAULT an errno's name, "short": half of what was asked for is read or written,
 * "killed" and "killed-after": SIGKILL in place of a system call, and once it is made, of a writing
 * one by half, or the name of CUDA's error. RANKWOOD_FAULT_REPORT a file of sizeof(struct
 * faults_report) bytes, in which the numbers are left
 *
 * A debugger finds who asked by a breakpoint at faults_happened. */
#pragma once

#include <stdatomic.h>

struct faults_report {
    _Atomic long n_calls;  /* of the kind, that could have failed */
    _Atomic long n_faults; /* of these, that did */
    _Atomic long is_ready; /* 1: the library was there, and could do what was asked */
    _Atomic long n_held;   /* of a GPU's, as faults_cuda_holds was told */
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
/* Only what the code of one loaded object asks for counts, by a part of its file's name, "" being
 * the program; NULL: all. 0: there is none. */
int faults_only_from(const char *object);
/* What its code asks for does not count: of C++'s library, which only the emulated GPU needs. */
int faults_never_from(const char *object);

/* Begins to catch the system calls of a kind; 0: there is no such kind, or it cannot be done here.
 */
int faults_catch_calls(const char *kind);

/* faults_cuda is of the calls of a kind from now on, such as cuda-copy, which tests/emulator names,
 * and the error named; 0: there is none such. */
int faults_plan_cuda(const char *kind, const char *name);
/* The emulated GPU's runtime asks: the error of CUDA that a call of the kind is to fail with, 0, or
 * FAULTS_LATER: it does nothing and succeeds, and calls after it fail. A lost GPU fails all but
 * cuda-find, what is known without it. */
enum { FAULTS_LATER = -1 };
int faults_of_cuda(const char *kind);
/* ... and tells: so many more allocations, streams, events and graphs are there, or fewer. */
void faults_cuda_holds(int change);
/* ... and that a launch begins where an error of another call is left, which would be blamed on it.
 */
void faults_cuda_blames(void);
/* Both, of a program that has it inside: what is held now, and blamed since the beginning. */
long faults_held_of_cuda(void), faults_blamed_by_cuda(void);
