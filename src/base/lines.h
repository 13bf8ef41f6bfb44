/* Lines of text that all threads make side by side, written in order. */
#ifndef RW_BASE_LINES_H
#define RW_BASE_LINES_H

#include <stdint.h>

#include "base/ctx.h"

/* Writes line i to `to`, with its newline; returns its bytes. */
typedef size_t rw_line_fn(const void *user, uint64_t i, char *to);
/* Lines [0, n), each of at most line_bytes. Memory does not grow with n. */
struct rw_out_file;
int rw_lines_write(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n, size_t line_bytes,
                   rw_line_fn *line, const void *user);

#endif
