/* What methods read codes of the host's memory with. */
#include <string.h>

#include "gpu/device/cu_check.h"
#include "gpu/device/transfer.h"
#include "gpu/hist/hist.h"

enum { MOST_EVENTS = 6 };

static uint32_t windows_of(uint32_t n_docs, int log_window)
{
    const uint64_t docs = (uint64_t)1 << log_window;
    return (uint32_t)((n_docs + docs - 1) >> log_window);
}

/* Three words for each node of each window and of what is on the device, five more for each node:
 * hist_lanes_order.cu. */
static uint64_t table_words(uint32_t n_windows)
{
    return (3 * ((uint64_t)n_windows + 1) + 5) * RW_HIST_MAX_NODES + 1;
}

uint64_t rw_hist_far_bytes(uint64_t piece_bytes, uint32_t n_docs, int log_window)
{
    return 2 * rw_hist_round_up(piece_bytes) +
           rw_hist_round_up((uint64_t)n_docs * sizeof(uint32_t)) +
           rw_hist_round_up(table_words(windows_of(n_docs, log_window)) * sizeof(uint32_t));
}

static void events_of(struct rw_hist_far *far, void **event[MOST_EVENTS])
{
    void **const all[MOST_EVENTS] = {&far->begun,       &far->ordered,  &far->gathered[0],
                                     &far->gathered[1], &far->added[0], &far->added[1]};
    memcpy(event, all, sizeof(all));
}

static int open_events(struct rw_ctx *ctx, struct rw_hist_far *far)
{
    void **all[MOST_EVENTS];
    events_of(far, all);
    for (int i = 0; i < MOST_EVENTS; i++) {
        cudaEvent_t event;
        RW_CU(ctx, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        *all[i] = event;
    }
    return RW_OK;
}

/* The stream comes before others: what it fills is waited for. */
int rw_hist_far_open(struct rw_ctx *ctx, void *d_memory, uint64_t piece_bytes, uint32_t n_docs,
                     int log_window, uint64_t *bytes, struct rw_hist_far *out)
{
    int least, most;
    cudaStream_t stream;
    void *table;
    char *d = d_memory;
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 2; i++) {
        out->d_piece[i] = d;
        d += rw_hist_round_up(piece_bytes);
    }
    out->piece_bytes = piece_bytes;
    out->bytes = bytes;
    out->log_window = log_window;
    out->n_windows = windows_of(n_docs, log_window);
    out->d_order = (uint32_t *)(void *)d;
    out->d_table = (uint32_t *)(void *)(d + rw_hist_round_up((uint64_t)n_docs * sizeof(uint32_t)));
    out->table_words = table_words(out->n_windows);
    RW_TRY(rw_transfer_pinned_alloc(ctx, &table, out->table_words * sizeof(uint32_t)));
    out->table = table;
    RW_CU(ctx, cudaDeviceGetStreamPriorityRange(&least, &most));
    RW_CU(ctx, cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most));
    out->stream = stream;
    return open_events(ctx, out);
}

void rw_hist_far_close(struct rw_hist_far *far)
{
    void **event[MOST_EVENTS];
    events_of(far, event);
    if (far->stream) {
        RW_CU_MAY_FAIL(cudaStreamSynchronize((cudaStream_t)far->stream));
        RW_CU_MAY_FAIL(cudaStreamDestroy((cudaStream_t)far->stream));
    }
    for (int i = 0; i < MOST_EVENTS; i++) {
        if (*event[i])
            RW_CU_MAY_FAIL(cudaEventDestroy((cudaEvent_t)*event[i]));
    }
    rw_transfer_pinned_free(far->table);
    memset(far, 0, sizeof(*far));
}
