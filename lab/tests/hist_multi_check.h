/* Stage of check_lab about generalized histograms (lab/kernels/generalized.h) and the inspector of
 * the race factor. */
#pragma once

#include "tests/check/hist_run.h"

/* Every operator and strategy over bins, elements, distributions, memories, forced and chosen M and
 * S, against serial, by ==. Counted under the method `multi`. */
void stage_multi(struct hist_run *run);
