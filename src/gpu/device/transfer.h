/* Every copy between the host and the device, and every wait of the host for it, goes through here
 * and is counted.
 *
 * Plain copies go through the device's stream and wait. A pipe sends data in chunks over several
 * streams, each with a pinned buffer on the host and one on the device, so that one chunk travels
 * while the kernels of another run (Milic et al., "Parallelizing general histogram application for
 * CUDA architectures", section IV-G). */
#ifndef RW_GPU_TRANSFER_H
#define RW_GPU_TRANSFER_H

#include "gpu/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Since the device was opened. */
struct rw_transfer_counts {
    uint64_t copies; /* between host and device, either way */
    uint64_t bytes_to_device, bytes_to_host;
    uint64_t waits;    /* of the host for the device */
    uint64_t launches; /* that callers reported with rw_transfer_launched */
};
void rw_transfer_counts(const struct rw_device *device, struct rw_transfer_counts *out);
/* One thread at a time uses a device. */
void rw_transfer_launched(const struct rw_device *device, uint64_t n);

/* Copies through the device's stream, and waits for it; the host's memory may be any. 0 bytes: does
 * nothing. */
int rw_transfer_write(struct rw_ctx *ctx, const struct rw_device *device, void *d_to,
                      const void *from, size_t bytes);
int rw_transfer_read(struct rw_ctx *ctx, const struct rw_device *device, void *to,
                     const void *d_from, size_t bytes);
/* The same without waiting: through the device's stream; the host's memory is pinned, and is left
 * alone until rw_transfer_wait. */
int rw_transfer_write_pinned(struct rw_ctx *ctx, const struct rw_device *device, void *d_to,
                             const void *from, size_t bytes);
int rw_transfer_read_pinned(struct rw_ctx *ctx, const struct rw_device *device, void *to,
                            const void *d_from, size_t bytes);
/* Waits until everything on the device's stream is done; says what a kernel did wrong. */
int rw_transfer_wait(struct rw_ctx *ctx, const struct rw_device *device);

/* Waits until kernels have written `value` to each of n words of page-locked memory, the first of
 * `step` each, and `bytes` bytes in all: shorter than a copy and a wait for the stream.
 * What was enqueued before those kernels is done then, too. */
struct rw_transfer_reply {
    const uint32_t *word; /* [n * step] */
    size_t step, n, bytes;
    uint32_t value;
};
int rw_transfer_await(struct rw_ctx *ctx, const struct rw_device *device,
                      const struct rw_transfer_reply *reply);

/* Page-locked memory of the host, not zeroed; freed with rw_transfer_pinned_free (NULL is fine). */
int rw_transfer_pinned_alloc(struct rw_ctx *ctx, void **out, size_t bytes);
void rw_transfer_pinned_free(void *p);

/* memcpy on the context's threads: what fills a pinned buffer. */
void rw_transfer_copy_host(struct rw_ctx *ctx, void *to, const void *from, size_t bytes);

/* ---- Tables ---- */

enum { RW_DEVICE_MOST_TABLES = 32 };

/* Device memory of one owner, freed at once. Without a device nothing is allocated, only counted,
 * so that what allocates also says beforehand how much. */
struct rw_device_tables {
    struct rw_ctx *ctx;             /* borrowed */
    const struct rw_device *device; /* borrowed, or NULL */
    void *table[RW_DEVICE_MOST_TABLES];
    int n;
    uint64_t bytes;
};

/* d: the address of a pointer, which becomes that of `bytes` bytes on the device, filled from the
 * host (from NULL: not filled); without a device, not NULL and not to be followed. */
int rw_device_table(struct rw_device_tables *tables, void *d, const void *from, size_t bytes);
#define RW_DEVICE_TABLE(tables, d, from, n) \
    rw_device_table((tables), &(d), (from), (n) * sizeof(*(d)))
void rw_device_tables_free(struct rw_device_tables *tables);

/* ---- Pipes ---- */

enum { RW_TRANSFER_MOST_STREAMS = 8 };

/* A chunk that will have arrived when what is enqueued on `stream` runs. */
struct rw_transfer_chunk {
    const void *d_data; /* 256-byte aligned; another chunk's after this stream's next one */
    size_t bytes;
    uint64_t offset;  /* bytes that went through the pipe before, since its beginning */
    uint32_t place;   /* which of the pipe's streams: 0 to n_streams - 1, for scratch apart */
    void *stream;     /* a cudaStream_t */
    const void *note; /* what rw_transfer_pipe_send was given */
};
/* Enqueues what is to be done with the chunk on its stream. Chunks on other streams are worked on
 * at the same time. */
typedef int (*rw_transfer_use_fn)(void *user, const struct rw_transfer_chunk *chunk);

struct rw_transfer_pipe;

/* chunk_bytes: of a chunk, at least 1. n_streams: 2 or more overlap copies and kernels; 1 does not.
 * ctx and device are borrowed for the pipe's life. */
int rw_transfer_pipe_new(struct rw_ctx *ctx, const struct rw_device *device, size_t chunk_bytes,
                         uint32_t n_streams, struct rw_transfer_pipe **out);
/* Waits for what was sent. NULL is fine. */
void rw_transfer_pipe_free(struct rw_transfer_pipe *pipe);

/* What is sent from now on comes after everything on the device's stream so far; offsets begin at 0
 * again. */
int rw_transfer_pipe_begin(struct rw_transfer_pipe *pipe);
/* A pinned buffer of chunk_bytes to be filled; waits until its last copy is done. */
int rw_transfer_pipe_room(struct rw_transfer_pipe *pipe, void **chunk);
/* Sends a chunk, and enqueues what is done with it. from: page-locked; the buffer that
 * rw_transfer_pipe_room gave, or memory that is left alone until the pipe's work was waited for. */
int rw_transfer_pipe_send(struct rw_transfer_pipe *pipe, const void *from, size_t bytes,
                          rw_transfer_use_fn use, void *user, const void *note);
/* What comes on the device's stream from now on comes after everything that was sent. Does not
 * wait: rw_transfer_wait does. */
int rw_transfer_pipe_end(struct rw_transfer_pipe *pipe);

#ifdef __cplusplus
}
#endif
#endif
