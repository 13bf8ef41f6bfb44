/* The stage of check_hist for boundaries and codes that are made on the device. */
#pragma once

#include "hist_run.h"

/* Made MSLR data and columns made to be hard, against rw_cuts_make and rw_bins_make. Failures
 * are counted for the first method of the run. */
void stage_cuts(struct hist_run *run);
