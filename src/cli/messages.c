#include "cli/messages.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"

const char *rw_msg_program = "rankwood";
static struct {
    int quiet, verbose, silent;
} verbosity;

void rw_msg_set(int quiet, int verbose)
{
    verbosity.quiet = quiet;
    verbosity.verbose = verbose;
}

void rw_msg_silence(int is_silent)
{
    verbosity.silent = is_silent;
}

int rw_msg_is_quiet(void)
{
    return verbosity.quiet;
}

int rw_msg_is_verbose(void)
{
    return verbosity.verbose;
}

static int moves_the_cursor(char c)
{
    return (unsigned char)c < 32 || c == 127;
}

void rw_msg_put(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(moves_the_cursor(*text) ? '?' : *text, out);
}

/* Names and values come from the user: bytes that would move the cursor are shown as '?'. A text of
 * several lines keeps its newlines. */
static void print(const char *kind, const char *format, va_list args)
{
    char text[4096];
    if (verbosity.silent)
        return;
    vsnprintf(text, sizeof(text), format, args);
    for (char *c = text; *c; c++) {
        if (moves_the_cursor(*c) && *c != '\n' && *c != '\t')
            *c = '?';
    }
    rw_progress_clear();
    if (kind)
        fprintf(stderr, "%s: %s: ", rw_msg_program, kind);
    fprintf(stderr, "%s\n", text);
}

#define PRINT(kind)                \
    do {                           \
        va_list args;              \
        va_start(args, format);    \
        print(kind, format, args); \
        va_end(args);              \
    } while (0)

void rw_msg_error(const char *format, ...)
{
    PRINT("error");
}

void rw_msg_hint(const char *format, ...)
{
    PRINT("hint");
}

void rw_msg_warning(const char *format, ...)
{
    PRINT("warning");
}

void rw_msg_line(const char *format, ...)
{
    if (!verbosity.quiet)
        PRINT(NULL);
}

void rw_no_memory(void)
{
    rw_msg_error("out of memory");
    rw_out_file_remove_all();
    exit(RW_EXIT_MACHINE);
}

void *rw_need(size_t n, size_t size)
{
    void *made = calloc(n + 1, size);
    if (!made)
        rw_no_memory();
    return made;
}

void *rw_grown(void *array, size_t n, size_t size)
{
    void *grown = realloc(array, (n + 1) * size);
    if (!grown)
        rw_no_memory();
    return grown;
}

char *rw_copy(const char *text)
{
    return strcpy(rw_need(strlen(text), 1), text);
}

int rw_msg_errno(int why, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rw_msg_error("%s: %s", text, strerror(why));
    return why == ENOSPC || why == EDQUOT || why == EIO || why == EMFILE || why == ENFILE ||
                   why == ENOMEM || why == EAGAIN
               ? RW_EXIT_MACHINE
               : RW_EXIT_FAILURE;
}

int rw_msg_usage(const char *command)
{
    if (command)
        rw_msg_hint("'%s %s --help' lists what it takes", rw_msg_program, command);
    else
        rw_msg_hint("'%s --help' lists the commands", rw_msg_program);
    return RW_EXIT_USAGE;
}

int rw_msg_failed(const struct rw_ctx *ctx, int status, const char *command)
{
    char text[4096], *line = text;
    int hinted = 0;
    verbosity.silent = !rw_ranks_tells(ctx);
    snprintf(text, sizeof(text), "%s", rw_last_error(ctx));
    /* The library sets its hints on lines of their own, after the error's. */
    for (char *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (line == text)
            rw_msg_error("%s", line);
        else
            rw_msg_hint("%s", strncmp(line, "hint: ", 6) == 0 ? line + 6 : line);
        hinted = line != text;
    }
    if (status == RW_ERR_MEMORY || status == RW_ERR_MACHINE)
        return RW_EXIT_MACHINE;
    if (status != RW_ERR_ARGUMENT)
        return RW_EXIT_FAILURE;
    return hinted ? RW_EXIT_USAGE : rw_msg_usage(command);
}

void rw_msg_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    if (level == RW_LOG_WARNING)
        rw_msg_warning("%s", line);
    else if (level == RW_LOG_NOTE)
        rw_msg_line("rankwood: note: %s", line);
    else if (verbosity.verbose)
        rw_msg_line("%s", line);
}
