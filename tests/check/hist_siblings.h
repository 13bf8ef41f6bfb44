#pragma once

#include "hist_run.h"

/* Gives the call at hand parents, where they are not too large; 0 or -1. */
int hist_siblings_make(struct hist_run *run);
/* Are they what is left? Else records the failure. */
int hist_siblings_same(struct hist_run *run, struct hist_tally *tally,
                       const struct hist_call_spec *spec);
