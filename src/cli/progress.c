#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24, LEAST_BAR = 5 };
static const double first_after = 1, between = 1.0 / 6; /* seconds */

static struct {
    int on, visible;
    double started, drawn;
} progress;

double rw_progress_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void rw_progress_start(void)
{
    progress.on = isatty(STDERR_FILENO);
    progress.visible = 0;
    progress.started = progress.drawn = rw_progress_clock();
}

void rw_progress_clear(void)
{
    if (progress.visible)
        fputs("\r\033[K", stderr);
    progress.visible = 0;
}

void rw_progress_end(void)
{
    rw_progress_clear();
    progress.on = 0;
}

static int columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

void rw_progress_show(int done, int total, uint32_t n_docs)
{
    if (!progress.on || done <= 0 || total <= 0)
        return;
    const double now = rw_progress_clock(), spent = now - progress.started;
    if (spent < first_after ||
        (progress.drawn > progress.started && now - progress.drawn < between))
        return;
    progress.drawn = now;

    char bar[BAR + 4] = "", text[160];
    const double rate = (double)n_docs * done / spent;
    const char *unit = rate >= 1e6 ? "M" : rate >= 1e3 ? "k" : "";
    const double shown = rate >= 1e6 ? rate / 1e6 : rate >= 1e3 ? rate / 1e3 : rate;
    const long left = (long)(spent / done * (total - done) + .5);
    /* Early stopping may end it sooner. A narrow terminal shows less of the bar, then less of the
     * text. */
    const int n = snprintf(text, sizeof(text), "%d/%d  at most %ld:%02ld:%02ld left  %.1f%s docs/s",
                           done, total, left / 3600, left / 60 % 60, left % 60, shown, unit);
    const int room = columns() - 1 - n - (int)strlen("[] "), width = room < BAR ? room : BAR;
    if (width >= LEAST_BAR) {
        const int full = (int)((int64_t)width * done / total);
        memset(bar, '.', (size_t)width + 1);
        memset(bar, '#', (size_t)full + 1);
        bar[0] = '[';
        memcpy(bar + 1 + width, "] ", sizeof("] "));
    }
    rw_progress_clear();
    fprintf(stderr, "\r%s%.*s", bar, columns() - 1 - (int)strlen(bar), text);
    fflush(stderr);
    progress.visible = 1;
}

/* What a call has done of its work, since it began. */
static int show_call(void *user, const struct rw_progress *call)
{
    static uint64_t last;
    static double began;
    (void)user;
    if (!progress.on || !call->stage || call->total == 0)
        return 0;
    const double now = rw_progress_clock();
    if (call->done < last || last == 0)
        began = now;
    last = call->done;
    const double spent = now - began, share = (double)call->done / (double)call->total;
    if (spent < first_after || share <= 0)
        return 0;
    char bar[BAR + 1];
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)(BAR * (share < 1 ? share : 1)));
    bar[BAR] = 0;
    const long left = (long)(spent / share * (1 - share) + .5);
    rw_progress_clear();
    fprintf(stderr, "\r[%s] %.0f %% of %s  %ld:%02ld:%02ld left", bar, 100 * share, call->stage,
            left / 3600, left / 60 % 60, left % 60);
    fflush(stderr);
    progress.visible = 1;
    return 0;
}

int rw_progress_follow(struct rw_ctx *ctx)
{
    rw_progress_start();
    return progress.on ? rw_ctx_set_poll(ctx, show_call, NULL) : RW_OK;
}
