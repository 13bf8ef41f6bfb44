/* Which of several methods is the fastest, on a GPU that others may use at the same time, or under
 * a profiler: they run in turns, the least time of each counts, and none replaces the favourite by
 * times that cannot be. */
#ifndef RW_GPU_HIST_TRIAL_H
#define RW_GPU_HIST_TRIAL_H

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_hist_timing {
    const struct rw_hist_method *method;
    int zero_skip;
    double ms; /* the least of its runs */
};

/* Milliseconds of one run. */
typedef int rw_hist_time(void *user, const struct rw_hist_timing *contestant, double *ms);

/* Fills the times of n contestants, RW_TUNE_HYBRID_TURNS runs of each in turns. One that is
 * hopeless after two turns, by the best so far, runs no more; the favourite (NULL: none) always
 * does. */
int rw_hist_time_in_turns(struct rw_hist_timing *timing, int n,
                          const struct rw_hist_method *favourite, rw_hist_time *time, void *user);

/* What the call takes at least, in ms, if reading the device's memory is all that counts: bandwidth
 * in bytes a second. 0: not known, since codes are in the host's memory. */
double rw_hist_expected_ms(const struct rw_hist_call *call, double bandwidth);

/* The timing to go by, the first of equals; n: at least 1. The favourite's, unless another takes
 * less than RW_TUNE_HYBRID_FAVOUR of its time; and the favourite's in any case where it took more
 * than RW_TUNE_HYBRID_BELIEVED times what is expected, for then the times say nothing of methods.
 * expected_ms 0: all are believed. */
const struct rw_hist_timing *rw_hist_pick(const struct rw_hist_timing *timing, int n,
                                          const struct rw_hist_method *favourite,
                                          double expected_ms);

#ifdef __cplusplus
}
#endif
#endif
