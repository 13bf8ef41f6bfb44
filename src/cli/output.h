/* Outputs of the program, and the signals that end it. */
#ifndef RW_CLI_OUTPUT_H
#define RW_CLI_OUTPUT_H

/* Opens /dev/null for standard input, output and error where they are closed, so that no file gets
 * their numbers. What is read or written there then fails, as it does on a closed descriptor. */
void rw_output_open_standard(void);
/* From now on a signal that ends the program removes its temporary files. */
void rw_output_catch_signals(void);
/* What the handler does. */
void rw_output_end_by(int signal_number);
/* Flushes standard output; `code`, or that of the failure, which is printed. */
int rw_output_end(int code);

/* A model that cannot be written to `output` goes where there is room, which is said: it is never
 * lost. Returns 1 if it does. */
struct rw_ctx;
struct rw_model;
int rw_output_save_elsewhere(struct rw_ctx *ctx, const struct rw_model *model, const char *output);

/* Ctrl-C and SIGTERM while a command works in rounds: it ends after the round that it is in. */

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
