/* Calls over codes that are not all on the device. */
#pragma once

#include "hist_run.h"

/* The call at hand again with a part of the codes in the host's memory, which is read once, or, by
 * methods that take some of the codes at a time, more often; or the method's refusal. */
void hist_far_run(struct hist_run *run, struct hist_tally *tally,
                  const struct hist_call_spec *spec);
