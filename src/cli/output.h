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

#endif
