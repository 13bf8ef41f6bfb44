/* Stages of check_lab about raw values (lab/kernels/values.h) and about the pipes that bring them.
 */
#pragma once

#include "tests/check/hist_run.h"

/* Every type, method, partition, filter and kind of weights against serial, by ==. */
void stage_values(struct hist_run *run);
/* More than 2^32 values; 5 GB on the host, 20 GB on the device. */
void stage_values_big(struct hist_run *run);
