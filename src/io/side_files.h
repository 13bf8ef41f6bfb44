/* Scores from a file that is open. */
#ifndef RW_IO_SIDE_FILES_H
#define RW_IO_SIDE_FILES_H

#include "io/input.h"

/* rw_scores_read of an input, which is taken. */
int rw_scores_read_input(struct rw_ctx *ctx, struct rw_input *input, uint32_t n, double *scores);

#endif
