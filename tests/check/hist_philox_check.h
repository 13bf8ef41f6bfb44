/* Stage of check_hist about random numbers (gpu/device/cu_philox.h). */
#ifndef HIST_PHILOX_CHECK_H
#define HIST_PHILOX_CHECK_H

#include "hist_run.h"

/* The project's Philox on the host and on the device, and cuRAND's, against the known answers
 * published with Random123 and against one another over random draws. Counted under the first
 * method. */
void stage_philox(struct hist_run *run);

#endif
