/* Runs every call of comm/comm.h on one worker, in many sizes. Every worker can compute all
 * inputs, and compares the result with that of the inputs. */
#pragma once

#include "comm/comm.h"

/* All workers of the context's communicator call it. Returns how many of this worker's results are
 * wrong, with the first of them in `what`, [size]; below 0: a call failed. */
int comm_calls(struct rw_ctx *ctx, char *what, size_t size);
