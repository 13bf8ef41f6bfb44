/* Writing files whole or not at all. */
#ifndef RW_BASE_OUT_FILE_H
#define RW_BASE_OUT_FILE_H

#include <stdio.h>

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_out_file {
    FILE *file;             /* to write to */
    char *path, *temporary; /* owned */
};
/* Opens PATH.tmp-PID beside `path`; "-" is standard output, written straight. A directory, a
 * missing folder etc. is RW_ERR_IO now, before work is done. */
int rw_out_file_open(struct rw_ctx *ctx, struct rw_out_file *out, const char *path);
/* Flushes, syncs, renames; any failure (full disk) removes the temporary file. */
int rw_out_file_commit(struct rw_ctx *ctx, struct rw_out_file *out);
/* Removes what was written; fine after commit and on a zeroed struct. */
void rw_out_file_abandon(struct rw_out_file *out);

#ifdef __cplusplus
}
#endif
#endif
