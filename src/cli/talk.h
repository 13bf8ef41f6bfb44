/* What the program prints on standard error, and the exit codes that go with it. */
#ifndef RW_CLI_TALK_H
#define RW_CLI_TALK_H

#include "rankwood.h"

/* MACHINE: the machine or a device failed, and trying again may help: memory, a full disk, a GPU.
 */
enum rw_exit { RW_EXIT_OK = 0, RW_EXIT_FAILURE = 1, RW_EXIT_USAGE = 2, RW_EXIT_MACHINE = 3 };

/* Which program speaks: "rankwood". */
extern const char *rw_talk_program;

/* quiet: no notes; verbose: the library's debug lines too. */
void rw_talk_set(int quiet, int verbose);
int rw_talk_is_quiet(void);
int rw_talk_is_verbose(void);

/* "rankwood: error: ..." and so on, one line each, in place of the progress bar. */
void rw_talk_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_talk_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_talk_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line without a prefix, dropped when quiet. */
void rw_talk_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says that there is no memory, and ends the program. */
void rw_no_memory(void) __attribute__((noreturn));
/* n elements and one more, zeroed; ends the program where there is no memory. */
void *rw_need(size_t n, size_t size);

/* Says what the operating system refused, with the reason for `why`, an errno; the exit code. */
int rw_talk_refused(int why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says a failed call's text and gives the exit code for its status. `command` names the help that
 * wrong usage is pointed to. */
int rw_talk_failed(const struct rw_ctx *ctx, int status, const char *command);
/* Points to a command's help; returns RW_EXIT_USAGE. */
int rw_talk_usage(const char *command);
/* The library's log callback. */
void rw_talk_log(void *user, enum rw_log_level level, const char *line);

#endif
