/* The matrix of a run's spec: codes, rows, both layouts on the device. */
#pragma once

#include "hist_run.h"

/* 0, or -1 with a text in the context. */
int hist_matrix_make(struct hist_run *run);
