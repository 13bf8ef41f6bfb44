#include "hist_philox_check.h"

#include <stdio.h>
#include <string.h>

#include "gpu/device/cu_check.h"
#include "gpu/device/cu_philox.h"
#include "gpu/device/transfer.h"

enum { KNOWN = 3, DRAWS = 20000 };

/* kat_vectors of Random123, philox4x32 with 10 rounds. */
static const struct rw_philox_draw known_draw[KNOWN] = {
    {{{0, 0, 0, 0}}, {0, 0}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, {0xffffffff, 0xffffffff}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, {0xa4093822, 0x299f31d0}}};
static const struct rw_philox known_answer[KNOWN] = {
    {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

struct numbers { /* [n] each */
    struct rw_philox_draw draw[DRAWS];
    struct rw_philox host[DRAWS], own[DRAWS], other[DRAWS];
};

static void compare(struct hist_tally *tally, const char *what, uint32_t i,
                    const struct rw_philox *got, const struct rw_philox *expected)
{
    if (memcmp(got, expected, sizeof(*got)) == 0) {
        tally->passed++;
        return;
    }
    if (tally->failed++ < HIST_MOST_LISTED)
        printf("not ok philox: %s, draw %u: %08x %08x %08x %08x, expected %08x %08x %08x %08x\n",
               what, i, got->word[0], got->word[1], got->word[2], got->word[3], expected->word[0],
               expected->word[1], expected->word[2], expected->word[3]);
}

typedef int (*launch_fn)(const struct rw_philox_draw *, uint32_t, struct rw_philox *,
                         struct rw_philox *, void *);

/* numbers->own and ->other of n draws, from the device. */
static int draw_on_device(struct hist_run *run, launch_fn launch, struct numbers *numbers,
                          uint32_t n)
{
    struct hist_buffer d[3] = {{0}, {0}, {0}};
    int status = -1;
    if (hist_buffer_make(run, &d[0], n * sizeof(numbers->draw[0])) < 0 ||
        hist_buffer_make(run, &d[1], n * sizeof(numbers->own[0])) < 0 ||
        hist_buffer_make(run, &d[2], n * sizeof(numbers->other[0])) < 0)
        goto out;
    RW_TRY_OUT(rw_transfer_write(run->ctx, run->device, hist_buffer_at(&d[0]), numbers->draw,
                                 n * sizeof(numbers->draw[0])));
    const int launched = launch(hist_buffer_at(&d[0]), n, hist_buffer_at(&d[1]),
                                hist_buffer_at(&d[2]), run->device->stream);
    if (launched != cudaSuccess) {
        status = rw_cu_fail(run->ctx, (cudaError_t)launched, "philox", __FILE__, __LINE__);
        goto out;
    }
    RW_TRY_OUT(rw_transfer_read(run->ctx, run->device, numbers->own, hist_buffer_at(&d[1]),
                                n * sizeof(numbers->own[0])));
    RW_TRY_OUT(rw_transfer_read(run->ctx, run->device, numbers->other, hist_buffer_at(&d[2]),
                                n * sizeof(numbers->other[0])));
    status = 0;
out:
    for (int i = 0; i < 3; i++)
        rw_device_free(d[i].d);
    return status;
}

static void compare_all(struct hist_run *run, struct hist_tally *tally, launch_fn launch,
                        struct numbers *numbers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        memset(&numbers->own[i], 0, sizeof(numbers->own[i]));
        memset(&numbers->other[i], 0, sizeof(numbers->other[i]));
        numbers->host[i] = rw_philox4x32_10(numbers->draw[i].counter, numbers->draw[i].key[0],
                                            numbers->draw[i].key[1]);
    }
    if (draw_on_device(run, launch, numbers, n) < 0) {
        printf("not ok philox: %s\n", rw_last_error(run->ctx));
        tally->failed++;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        compare(tally, "the device's and the host's", i, &numbers->own[i], &numbers->host[i]);
        compare(tally, "cuRAND's and the host's", i, &numbers->other[i], &numbers->host[i]);
    }
}

void stage_philox(struct hist_run *run)
{
    static struct numbers numbers;
    struct hist_tally *tally = &run->tally[0];
    memcpy(numbers.draw, known_draw, sizeof(known_draw));
    compare_all(run, tally, rw_cuda_philox_draws, &numbers, KNOWN);
    for (uint32_t i = 0; i < KNOWN; i++) {
        compare(tally, "the host's and the published", i, &numbers.host[i], &known_answer[i]);
        compare(tally, "the device's and the published", i, &numbers.own[i], &known_answer[i]);
        compare(tally, "cuRAND's and the published", i, &numbers.other[i], &known_answer[i]);
    }
    for (uint32_t i = 0; i < DRAWS; i++) {
        const struct rw_philox key = rw_random4(run->seed, i, 1, RW_STREAM_SYNTH + 97);
        numbers.draw[i] =
            (struct rw_philox_draw){.counter = rw_random4(run->seed, i, 0, RW_STREAM_SYNTH + 97),
                                    .key = {key.word[0], key.word[1]}};
    }
    compare_all(run, tally, rw_cuda_philox_draws, &numbers, DRAWS);
    for (uint32_t i = 0; i < DRAWS; i++)
        numbers.draw[i].counter.word[1] &= 0x3fffffff; /* cuRAND counts words, four an item */
    compare_all(run, tally, rw_cuda_philox_states, &numbers, DRAWS);
}
