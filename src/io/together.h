/* What ranks have read, taken together. */
#ifndef RW_IO_TOGETHER_H
#define RW_IO_TOGETHER_H

#include "io/own_part.h"

/* Checks that the ranks' documents are one data set: parts of these files that follow each other,
 * no query in two of them, features of the same names, as many labels a document. Each rank's
 * documents get what only other ranks know: numbers of lines that count from the beginning of a
 * file, names of features, weights of 1 where other documents have some. notice: a query that comes
 * back, in any rank's part, is an error. All ranks call it together, and fail together. */
int rw_together_check(struct rw_ctx *ctx, const char *const *paths, const struct rw_own_part *part,
                      int notice, struct rw_dataset *documents);
/* rw_data_format_note_clamped of all ranks' numbers, by rank 0. */
int rw_together_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);

#endif
