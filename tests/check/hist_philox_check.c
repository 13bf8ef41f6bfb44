#include "hist_philox_check.h"

#include <stdio.h>
#include <string.h>

#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"
#include "philox_draws.h"

enum { DRAWS = 20000 };

struct numbers { /* [DRAWS] each */
    struct philox_draw draw[DRAWS];
    struct rw_philox device[DRAWS];
};

static int draw_on_device(struct hist_run *run, struct numbers *numbers)
{
    struct hist_buffer draw = {0}, word = {0};
    int status = -1;
    if (hist_buffer_make(run, &draw, sizeof(numbers->draw)) < 0 ||
        hist_buffer_make(run, &word, sizeof(numbers->device)) < 0)
        goto out;
    RW_TRY_OUT(rw_transfer_write(run->device, hist_buffer_at(&draw), numbers->draw,
                                 sizeof(numbers->draw)));
    const int launched =
        philox_draws(hist_buffer_at(&draw), DRAWS, hist_buffer_at(&word), run->device->stream);
    if (launched != cudaSuccess) {
        status = rw_cu_fail(run->ctx, (cudaError_t)launched, "philox");
        goto out;
    }
    RW_TRY_OUT(rw_transfer_read(run->device, numbers->device, hist_buffer_at(&word),
                                sizeof(numbers->device)));
    status = 0;
out:
    rw_device_free(draw.d);
    rw_device_free(word.d);
    return status;
}

static uint64_t long_of(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* The device's words are the host's; tests/unit/test_rng.c compares those with the published ones.
 */
void stage_philox(struct hist_run *run)
{
    static struct numbers numbers;
    struct hist_tally *tally = &run->tally[0];
    for (uint32_t i = 0; i < DRAWS; i++) {
        const struct rw_philox a = rw_random4(run->seed, i, 0, RW_STREAM_SYNTH + 97);
        const struct rw_philox b = rw_random4(run->seed, i, 1, RW_STREAM_SYNTH + 97);
        numbers.draw[i] = (struct philox_draw){.seed = long_of(a.word[0], a.word[1]),
                                               .item = long_of(a.word[2], a.word[3]),
                                               .tree = b.word[0],
                                               .stream = b.word[1]};
    }
    memset(numbers.device, 0, sizeof(numbers.device));
    if (draw_on_device(run, &numbers) < 0) {
        printf("not ok philox: %s\n", rw_last_error(run->ctx));
        tally->failed++;
        return;
    }
    for (uint32_t i = 0; i < DRAWS; i++) {
        const struct philox_draw *draw = &numbers.draw[i];
        const struct rw_philox *got = &numbers.device[i];
        const struct rw_philox host = rw_random4(draw->seed, draw->item, draw->tree, draw->stream);
        if (memcmp(got, &host, sizeof(host)) == 0)
            tally->passed++;
        else if (tally->failed++ < HIST_MOST_LISTED)
            printf("not ok philox: draw %u: %08x %08x %08x %08x, on the host %08x %08x %08x %08x\n",
                   i, got->word[0], got->word[1], got->word[2], got->word[3], host.word[0],
                   host.word[1], host.word[2], host.word[3]);
    }
}
