/* Scores from a file that is open. */
#ifndef RW_IO_SIDE_FILES_H
#define RW_IO_SIDE_FILES_H

#include "dataset/names.h"
#include "io/input.h"

/* rw_scores_read of an input, which is taken. */
int rw_scores_read_input(struct rw_ctx *ctx, struct rw_input *input, uint32_t n, double *scores);

/* Files of feature names. */
/* Lines "ID NAME", '#' comments; by ascending id in *out, owned by the caller (rw_names_free). */
int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n);

#endif
