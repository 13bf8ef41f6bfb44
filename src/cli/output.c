#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

void rw_output_open_standard(void)
{
    static const int contrary[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        /* the lowest number that is free, thus this one */
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", contrary[fd]) != fd)
            _exit(RW_EXIT_FAILURE);
    }
}

void rw_output_end_by(int number)
{
    rw_out_file_remove_all();
    signal(number, SIG_DFL);
    raise(number);
}

void rw_output_catch_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        struct sigaction old, now = {.sa_handler = rw_output_end_by};
        sigemptyset(&now.sa_mask);
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ending[i], &now, NULL);
    }
    /* A file over the limit on its size (ulimit -f) is then an error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
}

int rw_output_end(int code)
{
    errno = 0;
    /* An earlier failure has been reported, and may be this one. */
    if ((code != RW_EXIT_OK && code != RW_EXIT_BELOW) || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    return rw_msg_errno(errno ? errno : EIO, "cannot write standard output");
}

int rw_output_save_elsewhere(struct rw_ctx *ctx, const struct rw_model *model, const char *output)
{
    const char *folder = getenv("TMPDIR"), *name = strrchr(output, '/');
    char path[4096];
    name = name ? name + 1 : output;
    const int n = snprintf(path, sizeof(path), "%s/%s-XXXXXX", folder && *folder ? folder : "/tmp",
                           *name && strcmp(name, "-") != 0 ? name : "model");
    const int fd = n < (int)sizeof(path) ? mkstemp(path) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    int failed = !file || rw_model_write_file(ctx, model, file, path) < 0 || fsync(fd) != 0;
    failed |= file && fclose(file) != 0;
    if (failed) {
        if (fd >= 0)
            unlink(path);
        return 0;
    }
    rw_msg_warning("the model is '%s' instead", path);
    return 1;
}

/* ------------------------------------------------------------------ work in rounds */

static volatile sig_atomic_t asked, n_ctrl_c; /* the first signal's number */
static int is_aloud;

/* SIGTERM comes more than once: timeout(1) sends it to the process and to its group, and
 * schedulers repeat it. Only a second Ctrl-C gives up the round. */
static void ask_to_stop(int number)
{
    static const char by_key[] =
        "\nrankwood: stopping after this round; Ctrl-C again stops at once\n",
                      by_signal[] = "\nrankwood: stopping after this round\n";
    const int saved = errno;
    if (number == SIGINT && ++n_ctrl_c == 2)
        rw_output_end_by(number);
    if (!asked && is_aloud) {
        const int by_user = number == SIGINT;
        const ssize_t n = write(STDERR_FILENO, by_user ? by_key : by_signal,
                                by_user ? sizeof(by_key) - 1 : sizeof(by_signal) - 1);
        (void)n; /* standard error is closed: stop anyway */
    }
    asked = asked ? asked : number;
    errno = saved;
}

void rw_interrupts_catch(int aloud)
{
    const int signals[] = {SIGINT, SIGTERM};
    is_aloud = aloud;
    for (int i = 0; i < 2; i++) {
        struct sigaction old, now = {.sa_handler = ask_to_stop};
        sigemptyset(&now.sa_mask);
        /* A program started with SIGINT ignored (nohup, &) keeps it so. */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &now, NULL);
    }
}

int rw_interrupted(void)
{
    return asked;
}

static int has_signal(void *user, const struct rw_progress *progress)
{
    (void)user;
    (void)progress;
    return asked;
}

int rw_interrupts_stop_calls(struct rw_ctx *ctx)
{
    rw_interrupts_catch(0);
    return rw_ctx_set_poll(ctx, has_signal, NULL);
}

int rw_interrupts_end(int status, const char *kept)
{
    if (status != RW_ERR_INTERRUPTED || !asked)
        return status;
    if (kept)
        rw_msg_warning("interrupted: '%s' is as it was", kept);
    else
        rw_msg_warning("interrupted: nothing was written");
    return 128 + asked;
}
