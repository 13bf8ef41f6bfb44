/* Messages on standard error, memory that is kept until the program ends, the progress bar, outputs
 * and signals. */
#include "cli/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static struct {
    int quiet, verbose, silent;
} verbosity;

static void clear_bar(void);

void rw_msg_set(int quiet, int verbose)
{
    verbosity.quiet = quiet;
    verbosity.verbose = verbose;
}

void rw_msg_silence(int is_silent)
{
    verbosity.silent = is_silent;
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

/* Prints a message. Names and values in it come from the user, so bytes that would move the cursor
 * become '?'. Newlines and tabs are kept. */
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
    clear_bar();
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
    rw_out_file_abandon(NULL);
    exit(RW_EXIT_MACHINE);
}

/* A block of rw_need. The list keeps blocks reachable for leak checkers. */
struct kept {
    struct kept *before;
    max_align_t bytes[];
};
static struct kept *_Atomic newest;

void *rw_need(size_t n, size_t size)
{
    struct kept *made = calloc(1, sizeof(*made) + (n + 1) * size);
    if (!made)
        rw_no_memory();
    made->before = atomic_load(&newest);
    while (!atomic_compare_exchange_weak(&newest, &made->before, made)) {
    }
    return made->bytes;
}

void *rw_grown(void *array, size_t n, size_t size)
{
    if (n & (n - 1))
        return array;
    void *grown = rw_need(2 * n, size);
    return n ? memcpy(grown, array, n * size) : grown;
}

char *rw_copy(const char *text)
{
    return strcpy(rw_need(strlen(text), 1), text);
}

char *rw_text_of(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = rw_need(n > 0 ? (size_t)n : 0, 1);
    if (n > 0)
        vsnprintf(text, (size_t)n + 1, format, args);
    return text;
}

char *rw_text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = rw_text_of(format, args);
    va_end(args);
    return text;
}

int rw_msg_errno(int why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rw_msg_error("%s: %s", rw_text_of(format, args), strerror(why));
    va_end(args);
    return why == ENOSPC || why == EDQUOT || why == EIO || why == EMFILE || why == ENFILE ||
                   why == ENOMEM || why == EAGAIN
               ? RW_EXIT_MACHINE
               : RW_EXIT_FAILURE;
}

int rw_msg_usage(const char *command)
{
    if (command)
        rw_msg_hint("'%s %s --help' lists its arguments", rw_msg_program, command);
    else
        rw_msg_hint("'%s --help' lists the commands", rw_msg_program);
    return RW_EXIT_USAGE;
}

int rw_msg_failed(const struct rw_ctx *ctx, int status, const char *command)
{
    char text[4096], *rest = text, *line;
    verbosity.silent = !rw_workers_should_print(ctx);
    snprintf(text, sizeof(text), "%s", rw_last_error(ctx));
    rw_msg_error("%s", strsep(&rest, "\n"));
    /* The library puts hints on lines after the error's. */
    const int hinted = rest != NULL;
    while ((line = strsep(&rest, "\n")) != NULL)
        rw_msg_hint("%s", strncmp(line, "hint: ", 6) == 0 ? line + 6 : line);
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

enum { BAR = 24, LEAST_BAR = 5 };
/* seconds before a bar is drawn first, and between drawings */
static const double first_after = 1, between = 1.0 / 6;

static struct {
    int on, visible;
    double started, drawn;
} line;

double rw_progress_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void clear_bar(void)
{
    if (line.visible)
        fputs("\r\033[K", stderr);
    line.visible = 0;
}

void rw_progress_start(void)
{
    clear_bar();
    line.on = !verbosity.quiet && isatty(STDERR_FILENO);
    line.started = line.drawn = rw_progress_clock();
}

void rw_progress_end(void)
{
    clear_bar();
    line.on = 0;
}

static int columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* Draws "[####....] what 1:02:03 left after". share: the finished fraction of the work, which took
 * `spent` seconds. The time left assumes the pace so far. It draws at most 6 times per second, and
 * not in the first second. limit: a text before the time, such as "at most ". A narrow terminal
 * gets a shorter bar, then a shorter text. */
static void draw(double share, double spent, const char *what, const char *limit, const char *after)
{
    const double now = rw_progress_clock();
    char bar[BAR + 4] = "", text[200];
    if (share <= 0 || spent < first_after ||
        (line.drawn > line.started && now - line.drawn < between))
        return;
    const long left = (long)(spent / share * (1 - share) + .5);
    line.drawn = now;
    snprintf(text, sizeof(text), "%s  %s%ld:%02ld:%02ld left%s", what, limit, left / 3600,
             left / 60 % 60, left % 60, after);
    const int room = columns() - 1 - (int)strlen(text) - (int)strlen("[] ");
    const int width = room < BAR ? room : BAR;
    if (width >= LEAST_BAR) {
        memset(bar, '.', (size_t)width + 1);
        memset(bar, '#', (size_t)(width * (share < 1 ? share : 1)) + 1);
        bar[0] = '[';
        memcpy(bar + 1 + width, "] ", sizeof("] "));
    }
    clear_bar();
    fprintf(stderr, "\r%s%.*s", bar, columns() - 1 - (int)strlen(bar), text);
    fflush(stderr);
    line.visible = 1;
}

void rw_progress_show(int done, int total, uint32_t n_docs)
{
    const double spent = rw_progress_clock() - line.started;
    char what[32], after[32];
    if (!line.on || done <= 0 || total <= 0)
        return;
    const double rate = (double)n_docs * done / spent;
    const char *unit = rate >= 1e6 ? "M" : rate >= 1e3 ? "k" : "";
    const double shown = rate >= 1e6 ? rate / 1e6 : rate >= 1e3 ? rate / 1e3 : rate;
    snprintf(what, sizeof(what), "%d/%d", done, total);
    snprintf(after, sizeof(after), "  %.1f%s docs/s", shown, unit);
    /* early stopping may end it earlier */
    draw((double)done / (double)total, spent, what, "at most ", after);
}

/* Shows the progress of a library call in its current stage. */
static void show_call(const struct rw_progress *call)
{
    static uint64_t last;
    static double began;
    char what[128];
    if (!line.on || !call->stage || call->total == 0)
        return;
    if (call->done < last || last == 0)
        began = rw_progress_clock();
    last = call->done;
    const double share = (double)call->done / (double)call->total;
    snprintf(what, sizeof(what), "%.0f %% of %s", 100 * share, call->stage);
    draw(share, rw_progress_clock() - began, what, "", "");
}

/* signal_ends: not NULL if a signal ends the call. */
static int on_poll(void *signal_ends, const struct rw_progress *call)
{
    show_call(call);
    return signal_ends ? rw_interrupted() : 0;
}

int rw_progress_follow(struct rw_ctx *ctx)
{
    rw_progress_start();
    return line.on ? rw_ctx_set_poll(ctx, on_poll, NULL) : RW_OK;
}

void rw_output_open_standard(void)
{
    static const int contrary[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* open returns the lowest free number, which is fd */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", contrary[fd]) != fd)
            _exit(RW_EXIT_FAILURE);
    }
}

static void end_by(int number)
{
    rw_out_file_abandon(NULL);
    signal(number, SIG_DFL);
    raise(number);
}

/* Handles the first n signals that end a program, except those that were ignored at its start
 * (nohup, &). */
static void catch_signals(int n, void (*handler)(int number))
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (int i = 0; i < n; i++) {
        struct sigaction old, now = {.sa_handler = handler};
        sigemptyset(&now.sa_mask);
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &now, NULL);
    }
}

void rw_output_catch_signals(void)
{
    catch_signals(4, end_by);
    /* A file over the size limit (ulimit -f) is then an error, as a full disk is. */
    signal(SIGXFSZ, SIG_IGN);
}

int rw_output_end(int code)
{
    rw_progress_end();
    errno = 0;
    /* An earlier failure has been reported, and may have caused this one. */
    if ((code != RW_EXIT_OK && code != RW_EXIT_GATE) || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    return rw_msg_errno(errno ? errno : EIO, "cannot write standard output");
}

/* ---- work in rounds ---- */

static volatile sig_atomic_t first_signal, n_ctrl_c; /* first_signal: number of the first signal */
static int is_aloud;

/* Handles a signal. SIGTERM may arrive several times: timeout(1) sends it to the process and to its
 * group, and schedulers repeat it. Only a second Ctrl-C abandons the round. */
static void on_signal(int number)
{
    static const char by_key[] =
        "\nrankwood: stopping after this round; Ctrl-C again stops at once\n",
                      by_signal[] = "\nrankwood: stopping after this round\n";
    const int saved = errno;
    if (number == SIGINT && ++n_ctrl_c == 2)
        end_by(number);
    if (!first_signal && is_aloud) {
        const int by_user = number == SIGINT;
        const ssize_t n = write(STDERR_FILENO, by_user ? by_key : by_signal,
                                by_user ? sizeof(by_key) - 1 : sizeof(by_signal) - 1);
        (void)n; /* standard error may be closed */
    }
    first_signal = first_signal ? first_signal : number;
    errno = saved;
}

void rw_interrupts_catch(int aloud)
{
    is_aloud = aloud;
    catch_signals(2, on_signal);
}

int rw_interrupted(void)
{
    return first_signal;
}

int rw_interrupts_stop_calls(struct rw_ctx *ctx)
{
    rw_interrupts_catch(0);
    rw_progress_start();
    return rw_ctx_set_poll(ctx, on_poll, &line);
}

int rw_interrupts_end(int status, const char *kept)
{
    if (status != RW_ERR_INTERRUPTED || !first_signal)
        return status;
    if (kept)
        rw_msg_warning("interrupted: '%s' is unchanged", kept);
    else
        rw_msg_warning("interrupted: no file was written");
    return 128 + first_signal;
}
