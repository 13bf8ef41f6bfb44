/* What library.c calls, with and without faults. To add one: a function and a row in scenarios.c.
 */
#pragma once

#include <stdint.h>

#include "rankwood.h"

enum { PATH_ROOM = 4096 };

struct scenario {
    const char *name; /* NULL: the end */
    int (*run)(struct rw_ctx *ctx);
};
extern const struct scenario scenarios[];

/* Folder of their files: set before scenarios_begin. */
extern char scenario_folder[PATH_ROOM - 64];
/* Checksum of a scenario's results, the same in each run; starts with 0. */
extern uint64_t scenario_sum;
/* The error of a scenario's separate context; "": it has no such context. */
extern char scenario_error[256];

/* Device of training and scoring; "cpu" at first. Several workers use CPUs only. */
extern const char *scenario_device;

/* Makes the data that scenarios share, before any fault. */
int scenarios_begin(struct rw_ctx *ctx);
void scenarios_end(void);
