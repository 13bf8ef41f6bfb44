/* Ctrl-C and SIGTERM while a command works in rounds: it ends after the round that it is in. */
#ifndef RW_CLI_INTERRUPTS_H
#define RW_CLI_INTERRUPTS_H

#include "rankwood.h"

/* From now on a signal is only noted, and said if `aloud`; a second Ctrl-C ends the program. */
void rw_interrupts_catch(int aloud);
/* From now on a call with this context ends soon after a signal, which is only noted: for work of
 * which there is nothing to keep. */
int rw_interrupts_stop_calls(struct rw_ctx *ctx);
/* A call failed: the exit code where a signal has ended it, after a warning; else `status`.
 * kept: a file that stays as it was; NULL: none is named. */
int rw_interrupts_end(int status, const char *kept);
/* The signal's number; 0: there was none. */
int rw_interrupted(void);

#endif
