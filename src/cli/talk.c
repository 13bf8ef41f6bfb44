#include "cli/talk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/progress.h"

const char *rw_talk_program = "rankwood";
static struct {
    int quiet, verbose;
} talk;

void rw_talk_set(int quiet, int verbose)
{
    talk.quiet = quiet;
    talk.verbose = verbose;
}

int rw_talk_is_quiet(void)
{
    return talk.quiet;
}

int rw_talk_is_verbose(void)
{
    return talk.verbose;
}

/* Names and values come from the user: bytes that would move the cursor are shown as '?'. A text of
 * several lines keeps its newlines. */
static void say(const char *kind, const char *format, va_list args)
{
    char text[4096];
    vsnprintf(text, sizeof(text), format, args);
    for (char *c = text; *c; c++) {
        if (((unsigned char)*c < 32 && *c != '\n' && *c != '\t') || *c == 127)
            *c = '?';
    }
    rw_progress_clear();
    if (kind)
        fprintf(stderr, "%s: %s: ", rw_talk_program, kind);
    fprintf(stderr, "%s\n", text);
}

#define SAY(kind)                \
    do {                         \
        va_list args;            \
        va_start(args, format);  \
        say(kind, format, args); \
        va_end(args);            \
    } while (0)

void rw_talk_error(const char *format, ...)
{
    SAY("error");
}

void rw_talk_hint(const char *format, ...)
{
    SAY("hint");
}

void rw_talk_warn(const char *format, ...)
{
    SAY("warning");
}

void rw_talk_line(const char *format, ...)
{
    if (!talk.quiet)
        SAY(NULL);
}

void rw_no_memory(void)
{
    rw_talk_error("out of memory");
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

int rw_talk_refused(int why, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rw_talk_error("%s: %s", text, strerror(why));
    return why == ENOSPC || why == EDQUOT || why == EIO || why == EMFILE || why == ENFILE
               ? RW_EXIT_MACHINE
               : RW_EXIT_FAILURE;
}

int rw_talk_usage(const char *command)
{
    if (command)
        rw_talk_hint("'%s %s --help' lists what it takes", rw_talk_program, command);
    else
        rw_talk_hint("'%s --help' lists the commands", rw_talk_program);
    return RW_EXIT_USAGE;
}

int rw_talk_failed(const struct rw_ctx *ctx, int status, const char *command)
{
    char text[4096], *line = text;
    int hinted = 0;
    snprintf(text, sizeof(text), "%s", rw_last_error(ctx));
    /* The library sets its hints on lines of their own, after the error's. */
    for (char *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (line == text)
            rw_talk_error("%s", line);
        else
            rw_talk_hint("%s", strncmp(line, "hint: ", 6) == 0 ? line + 6 : line);
        hinted = line != text;
    }
    if (status == RW_ERR_MEMORY || status == RW_ERR_MACHINE)
        return RW_EXIT_MACHINE;
    if (status != RW_ERR_ARGUMENT)
        return RW_EXIT_FAILURE;
    return hinted ? RW_EXIT_USAGE : rw_talk_usage(command);
}

void rw_talk_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    if (level == RW_LOG_WARNING)
        rw_talk_warn("%s", line);
    else if (level == RW_LOG_NOTE)
        rw_talk_line("rankwood: note: %s", line);
    else if (talk.verbose)
        rw_talk_line("%s", line);
}
