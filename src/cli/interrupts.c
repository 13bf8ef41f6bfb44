#include "cli/interrupts.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/output.h"

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
