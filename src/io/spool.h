/* Pipes that are read several times. What comes through a pipe is kept while the files of a call
 * are read: in memory if it is little, else in a temporary file, which has no name and goes with
 * the process. The disk is where there is room for more than memory has; TMPDIR names the folder.
 */
#ifndef RW_IO_SPOOL_H
#define RW_IO_SPOOL_H

#include "io/input.h"

struct rw_read_goal;

/* Opens the pipes among the paths, "-" too, and keeps what comes through those with LETOR text of
 * more than a few bytes, if goal->bins_text says that it is worth it. From now on rw_input_open
 * gives what was kept, as a file that can be read anywhere; or the pipe, once. Returns 1 if it has
 * done so; 0: there are no pipes, but those that are kept already. RW_ERR_IO, RW_ERR_MACHINE: one
 * cannot be read, or kept. */
int rw_spool_begin(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                   struct rw_read_goal *goal);
/* Forgets all of them, unless there is nothing of this call's: rw_spool_begin gave 0. */
void rw_spool_end(struct rw_ctx *ctx, int begun);

/* 1: the path is a pipe that is kept, of so many bytes. */
int rw_spool_size(const struct rw_ctx *ctx, const char *path, uint64_t *n_bytes);
/* 1: the path is a pipe that was opened, but not kept. */
int rw_spool_is_once(const struct rw_ctx *ctx, const char *path);
/* 1, or a status: *out is a kept pipe, opened; 0: the path is none. */
int rw_spool_open(struct rw_ctx *ctx, const char *path, struct rw_input **out);

#endif
