/* Every call of comm/comm.h on one rank, in many sizes, against what the ranks' inputs, which all
 * of them can compute, make together. */
#pragma once

#include "comm/comm.h"

/* All ranks of the context's communicator call it. Returns how many of this rank's results are
 * wrong, with the first of them in `what`, [size]; below 0: a call failed. */
int comm_calls(struct rw_ctx *ctx, char *what, size_t size);
