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

/* Where they read and write: set before scenarios_begin. */
extern char scenario_folder[PATH_ROOM - 64];
/* What one computed: the same each time, begun with 0. */
extern uint64_t scenario_sum;
/* Why a context of its own failed; "": it had none. */
extern char scenario_error[256];

/* Where they train and score; "cpu" at first. Ranks are for processors alone. */
extern const char *scenario_device;

/* What they share, made before anything fails. */
int scenarios_begin(struct rw_ctx *ctx);
void scenarios_end(void);
