/* What the program prints on standard error, and the exit codes that go with it. */
#ifndef RW_CLI_MESSAGES_H
#define RW_CLI_MESSAGES_H

#include "rankwood.h"

/* MACHINE: the machine or a device failed, and trying again may help: memory, a full disk, a GPU.
 * BELOW: compare's --fail-below. */
enum rw_exit {
    RW_EXIT_OK = 0,
    RW_EXIT_FAILURE = 1,
    RW_EXIT_USAGE = 2,
    RW_EXIT_MACHINE = 3,
    RW_EXIT_BELOW = 4
};

/* Stands before each message: "rankwood". */
extern const char *rw_msg_program;

/* quiet: no notes; verbose: the library's debug lines too. */
void rw_msg_set(int quiet, int verbose);
/* Nothing is printed, but for the failures that only this rank can tell of. */
void rw_msg_silence(int is_silent);
int rw_msg_is_quiet(void);
int rw_msg_is_verbose(void);

/* A name or value that a file has: what would move the cursor, a line's end also, is '?'. */
void rw_msg_put(FILE *out, const char *text);

/* "rankwood: error: ..." and so on, one line each, in place of the progress bar. */
void rw_msg_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_msg_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_msg_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line without a prefix, dropped when quiet. */
void rw_msg_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints that memory has run out, and ends the program. */
void rw_no_memory(void) __attribute__((noreturn));
/* n elements and one more, zeroed; ends the program where there is no memory. */
void *rw_need(size_t n, size_t size);
/* The array of n elements with room for one more; ends the program where there is no memory. */
void *rw_grown(void *array, size_t n, size_t size);
/* A copy of a text, the same way. */
char *rw_copy(const char *text);

/* An error with the reason for `why`, an errno; the exit code. */
int rw_msg_errno(int why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a failed call's text; the exit code for its status. `command`: whose help is pointed to
 * after wrong usage. */
int rw_msg_failed(const struct rw_ctx *ctx, int status, const char *command);
/* Points to a command's help; returns RW_EXIT_USAGE. */
int rw_msg_usage(const char *command);
/* The library's log callback. */
void rw_msg_log(void *user, enum rw_log_level level, const char *line);

/* A progress bar on standard error: only on a terminal, after a second, at most 6 times a second.
 */
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

/* Outputs of the program, and the signals that end it. */
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
