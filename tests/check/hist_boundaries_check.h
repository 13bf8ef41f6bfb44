/* The stage of check_hist about cuts and codes that are made on the device. */
#pragma once

#include "hist_run.h"

/* Made MSLR data and columns made to be hard, against rw_cuts_make and rw_bins_make. Failures are
 * counted for `sort-search`, which is how cuts are found. */
void stage_cuts(struct hist_run *run);
