/* Stage of check_hist about random numbers (gpu/device/kernel.cuh). */
#pragma once

#include "hist_run.h"

/* The device's words are the host's: 20,000 draws of any seed, item, tree and stream. */
void stage_philox(struct hist_run *run);
