/* Stage of check_hist about generalized histograms (gpu/generalized.h), the inspector of the race
 * factor and sums by key (gpu/multi_sums.h). */
#ifndef HIST_MULTI_CHECK_H
#define HIST_MULTI_CHECK_H

#include "hist_run.h"

/* Every operator and way over bins, elements, distributions, memories, forced and chosen M and S,
 * against serial, by ==. Counted under the method `multi`. */
void stage_multi(struct hist_run *run);
/* The part of it that is about sums by key. */
void hist_multi_sums(struct hist_run *run, struct hist_tally *tally);

#endif
