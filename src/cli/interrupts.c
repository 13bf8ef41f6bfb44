#include "cli/interrupts.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/output.h"

static volatile sig_atomic_t asked; /* the signal's number */
static int is_aloud;

static void ask_to_stop(int number)
{
    static const char text[] = "\nrankwood: stopping after this round; once more stops at once\n";
    const int saved = errno;
    if (asked)
        rw_output_end_by(number);
    asked = number;
    if (is_aloud && write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
        asked = number; /* standard error is closed: stop anyway */
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
