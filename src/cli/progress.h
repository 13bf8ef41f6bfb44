/* A progress bar on standard error: only on a terminal, after a second, at most 6 times a second.
 */
#ifndef RW_CLI_PROGRESS_H
#define RW_CLI_PROGRESS_H

#include "rankwood.h"

/* Seconds of a clock that only goes forward. */
double rw_progress_clock(void);
void rw_progress_start(void);
/* `done` of `total` rounds of `n_docs` documents each are behind us. */
void rw_progress_show(int done, int total, uint32_t n_docs);
/* From now on, up to rw_progress_end, calls with this context that count their work show it. */
int rw_progress_follow(struct rw_ctx *ctx);
/* Wipes the bar off the line, if one stands there; it comes back with the next show. */
void rw_progress_clear(void);
void rw_progress_end(void);

#endif
