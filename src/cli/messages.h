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

#endif
