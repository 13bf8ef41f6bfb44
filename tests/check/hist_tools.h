/* Functions that the files of check_hist share: host memory, failures, calls captured into a
 * graph. */
#pragma once

#include <stdarg.h>

#include "hist_run.h"

/* Allocates zeroed host memory; the caller frees it. Exits when memory runs out. n = 0 gives a
 * valid pointer.
 */
void *hist_need(uint64_t n, size_t size);

/* Counts a failure of a tally. Of the first HIST_MOST_LISTED it begins the line, "not ok
 * STAGE/METHOD: ", and returns 1: the case is for the caller to print, and hist_failed_why ends the
 * line. */
int hist_failed(const struct hist_run *run, struct hist_tally *tally);
void hist_failed_why(const struct hist_tally *tally, const char *format, va_list list);

/* Runs a call, then captures it into a graph that is launched twice. The call may neither
 * allocate nor wait, and must clear its scratch memory. Waits; returns a status. */
int hist_captured(const struct hist_run *run, int (*call)(void *user), void *user);

/* n numbers of 32 bits become as many of 64. */
void hist_widen(int64_t *sum, uint64_t n);
