/* Faults on demand, for tests: an allocation or a system call that fails at its n-th call.
 *
 * Compiled into a library to be preloaded, it takes what to do from the environment, and counts
 * from main() on:
 *
 *   RANKWOOD_FAULT   "KIND N FAULT", such as "memory 17 ENOMEM" or "write 3 ENOSPC"; "N+" means the
 * N-th call and all after it. KIND is memory, thread, or one of the system calls in calls.c; FAULT
 * an errno's name, or "short": half of what was asked for is read or written. RANKWOOD_FAULT_REPORT
 * a file of sizeof(struct faults_report) bytes, in which the numbers are left
 *
 * A debugger finds who asked by a breakpoint at faults_happened. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdatomic.h>

struct faults_report {
    _Atomic long n_calls;  /* of the kind, that could have failed */
    _Atomic long n_faults; /* of these, that did */
    _Atomic long is_ready; /* 1: the library was there, and could do what was asked */
};

struct faults_plan {
    _Atomic long first; /* 0: none fails */
    int goes_on;        /* all after it, too */
    int error;          /* an errno; 0: short */
    struct faults_report *report;
};

/* Of allocations; of system calls; of threads. */
extern struct faults_plan faults_memory, faults_calls, faults_threads;

/* Counts a call, and says whether it is to fail. */
int faults_strikes(struct faults_plan *plan);
/* Does nothing. */
void faults_happened(void);

/* For a program that has it inside: the n-th allocation from now on fails, and all after it if
 * goes_on; n = 0: none does. */
void faults_arm(long n, int goes_on);
/* How many allocations there were since then, and how many of them failed. */
long faults_allocations(void);
long faults_injected(void);
/* Only what the code of one loaded object asks for counts, by a part of its file's name, "" being
 * the program; NULL: all. 0: there is none. */
int faults_only_from(const char *object);

/* Begins to catch the system calls of a kind; 0: there is no such kind, or it cannot be done here.
 */
int faults_catch_calls(const char *kind);

#endif
