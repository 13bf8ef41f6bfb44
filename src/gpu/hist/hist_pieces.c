/* What methods read codes of the host's memory with. */
#include <string.h>

#include "gpu/device/cu_check.h"
#include "gpu/hist/hist.h"

static int open_events(struct rw_ctx *ctx, struct rw_hist_far *far)
{
    void **const all[] = {&far->begun, &far->gathered[0], &far->gathered[1], &far->added[0],
                          &far->added[1]};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        cudaEvent_t event;
        RW_CU(ctx, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        *all[i] = event;
    }
    return RW_OK;
}

/* The stream comes before others: what it fills is waited for. */
int rw_hist_far_open(struct rw_ctx *ctx, void *d_pieces, uint64_t piece_bytes,
                     struct rw_hist_far *out)
{
    int least, most;
    cudaStream_t stream;
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 2; i++)
        out->d_piece[i] = (char *)d_pieces + (uint64_t)i * piece_bytes;
    out->piece_bytes = piece_bytes;
    RW_CU(ctx, cudaDeviceGetStreamPriorityRange(&least, &most));
    RW_CU(ctx, cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most));
    out->stream = stream;
    return open_events(ctx, out);
}

void rw_hist_far_close(struct rw_hist_far *far)
{
    void *const event[] = {far->begun, far->gathered[0], far->gathered[1], far->added[0],
                           far->added[1]};
    if (far->stream) {
        (void)cudaStreamSynchronize((cudaStream_t)far->stream);
        (void)cudaStreamDestroy((cudaStream_t)far->stream);
    }
    for (size_t i = 0; i < sizeof(event) / sizeof(event[0]); i++) {
        if (event[i])
            (void)cudaEventDestroy((cudaEvent_t)event[i]);
    }
    memset(far, 0, sizeof(*far));
}
