/* The program around checks of histograms: their options, and the table at the end. */
#pragma once

#include "hist_run.h"

struct hist_stage {
    const char *name;
    void (*run)(struct hist_run *run);
    int only_big; /* of --big, or when it is named */
};
/* Runs the stages that the options select; returns the exit status. */
int hist_program(int argc, char **argv, const struct hist_stage *stages, int n_stages);
