/* `rankwood doctor`: what this machine has, and whether its engines agree. doctor.c asks, and sends
 * a table for each subject; doctor_check.c trains. To add a fact: a field in its table in doctor.c,
 * and its name in rankwood.h. */
#ifndef RW_BENCH_DOCTOR_H
#define RW_BENCH_DOCTOR_H

#include "bench/bench.h"

/* Rows of "check", by the context of `bench`, which has one rank. n_wrong: of those that differ or
 * failed. */
int rw_doctor_check(struct rw_bench *bench, int n_gpus, int *n_wrong);

enum { RW_DOCTOR_TEXT = 256 };
/* What of `given` is not as in `expected`: the first line that differs, cut to fit. */
void rw_doctor_difference(const char *expected, size_t n_expected, const char *given,
                          size_t n_given, char text[RW_DOCTOR_TEXT]);
#endif
