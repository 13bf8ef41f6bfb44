/* Stage of check_lab about generalized histograms (lab/kernels/generalized.h) and the inspector of
 * the race factor. */
#ifndef HIST_MULTI_CHECK_H
#define HIST_MULTI_CHECK_H

#include "tests/check/hist_run.h"

/* Every operator and strategy over bins, elements, distributions, memories, forced and chosen M and
 * S, against serial, by ==. Counted under the method `multi`. */
void stage_multi(struct hist_run *run);

#endif
