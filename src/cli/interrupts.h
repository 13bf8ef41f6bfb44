/* Ctrl-C and SIGTERM while a command works in rounds: it ends after the round that it is in. */
#ifndef RW_CLI_INTERRUPTS_H
#define RW_CLI_INTERRUPTS_H

/* From now on a signal is only noted, and said if `aloud`; a second Ctrl-C ends the program. */
void rw_interrupts_catch(int aloud);
/* The signal's number; 0: there was none. */
int rw_interrupted(void);

#endif
