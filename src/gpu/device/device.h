/* The device: picking one, its figures, streams and memory. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "comm/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_transfer_counts;
struct rw_tuning_row;

struct rw_device {
    int number;
    char name[128];
    const struct rw_tuning_row *tuning; /* a constant of device_tuning.c */
    /* as many as it has, or less where a row is forced */
    int n_multiprocessors;
    int n_threads;         /* that a multiprocessor holds at once */
    size_t shared_bytes;   /* that a block may ask for */
    struct rw_arena arena; /* of what is below */
    void *stream;          /* a cudaStream_t */
    struct rw_transfer_counts *counts;
    /* Asked from time to time by waits, which end with its failure: of what may never be done, as
     * what waits for other workers. NULL: nothing is. */
    int (*watch)(void *user, struct rw_ctx *ctx, double waited_s);
    void *watch_user;
};

/* RW_ERR_UNSUPPORTED if there is no such device, or one too old for the kernels; RW_ERR_ARGUMENT
 * where RANKWOOD_TUNING names no row. */
int rw_device_open(struct rw_ctx *ctx, int number, struct rw_device **out);
void rw_device_close(struct rw_device *device);

/* Device memory; the failure says what is needed and what is free. Freed with rw_device_free (NULL
 * is fine). */
int rw_device_alloc(struct rw_ctx *ctx, void **out, size_t bytes);
void rw_device_free(void *p);
/* A stream (urgent: it comes before others) and an event (timed: it takes the time), which go with
 * the arena, as does memory. */
int rw_device_stream(struct rw_ctx *ctx, struct rw_arena *arena, int urgent, void **out);
int rw_device_event(struct rw_ctx *ctx, struct rw_arena *arena, int timed, void **out);
int rw_device_alloc_in(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t bytes);
/* Free memory of a device; 0 where it is not known, and without CUDA. */
uint64_t rw_device_free_bytes(int number);
/* Bytes a second that a plain copy of page-locked memory to the device takes, measured. */
int rw_device_link_rate(struct rw_ctx *ctx, const struct rw_device *device, double *rate);
/* Opens the device and measures that, and the rate at which a kernel reads rows of 128 bytes of
 * such memory, at a fixed distance from each other. */
int rw_device_link(struct rw_ctx *ctx, int number, double *copied, double *gathered);
/* Bytes a second that its memory moves, by its clock and wires; RW_TUNE_PLAN_BANDWIDTH where it
 * does not say. */
double rw_device_bandwidth(const struct rw_device *device);
/* Milliseconds that `run` takes on the stream, by events: the median of n_runs after one warm-up.
 */
int rw_device_time(struct rw_ctx *ctx, const struct rw_device *device, int n_runs,
                   int (*run)(void *user), void *user, double *median_ms, double *least_ms,
                   double *most_ms);
/* Of one run, without a warm-up. */
int rw_device_time_once(struct rw_ctx *ctx, const struct rw_device *device, int (*run)(void *user),
                        void *user, double *ms);

/* What is known of CUDA, its driver and each GPU, without opening one: for people. */
struct rw_cuda_facts {
    int runtime;       /* that the program was built with, 13000 for 13.0; 0: built without */
    int oldest_driver; /* that serves it, 580 for 580.x; 0: not known */
    int driver;        /* the newest runtime that the driver serves; 0: there is none */
    int n_devices;
    char why_not[256]; /* there is no GPU that can be used; "" */
};
void rw_cuda_find(struct rw_cuda_facts *out);
/* Is there a GPU of this number? What is wrong is said as doctor says it. */
int rw_device_check_cuda(struct rw_ctx *ctx, int number);
/* A GPU's memory, which NVIDIA's library reports where CUDA cannot begin on it; 0: not known. */
int rw_device_memory(int number, size_t *free_bytes, size_t *all_bytes);
int rw_cuda_runtime(void); /* facts.runtime, without asking the driver */

struct rw_device_facts {
    char name[128];
    int major, minor; /* compute capability */
    uint64_t memory_bytes;
    int n_multiprocessors;
    uint64_t shared_bytes;  /* that a block may ask for */
    const char *tuning;     /* the row of device_tuning.c; NULL: RANKWOOD_TUNING names none */
    int is_tuning_measured; /* on such a GPU */
    int clock_mhz, memory_clock_mhz; /* at most; 0: not known */
    int is_mig;                      /* a part of a GPU, a device by itself */
};
/* 0: there is no such device. */
int rw_device_find(int number, struct rw_device_facts *out);

/* What of the launch constants depends on the GPU; tuning.h has those that do not. A table of rows
 * by compute capability, and one for those that are newer than all of them. How much there is of a
 * GPU's multiprocessors, of a block's shared memory and of memory is asked of the device, whatever
 * its row. No row changes a result.
 *
 * To measure a row on a GPU that has it: a line of it in device_tuning.c's table, with is_measured
 * 1, and its numbers in the comment there. docs/reference/devices.md lists the rows, and
 * tests/gpu.sh forces each. */
#define RW_TUNING_VARIABLE "RANKWOOD_TUNING" /* the name of a row: it is taken on any GPU */

struct rw_tuning_row {
    const char *name; /* its first compute capability; or "newer" */
    int from;         /* the same as 10 * major + minor; a row ends where the next one begins */
    int is_measured;  /* else derived, as device_tuning.c says */
    /* What a GPU of the row has, at the least that is common: where the row is forced, as much is
     * used of one that has more. 0: all. */
    int n_multiprocessors;
    int n_threads;       /* that a multiprocessor holds at once */
    size_t shared_bytes; /* that a block may ask for */
    /* Nodes that the engine is asked for at once, at most. */
    int growth_batch;
    /* Blocks a multiprocessor: of 256 threads that quantise; and of a search's warps, past which
     * features share fewer. */
    int quantise_blocks, split_blocks;
};

/* By index; NULL past the end. */
const struct rw_tuning_row *rw_tuning_row_at(int i);

/* What is found of a GPU; then, what is used of it. */
struct rw_tuning_facts {
    int capability; /* 10 * major + minor */
    int n_multiprocessors, n_threads;
    size_t shared_bytes;
};
/* The row of the capability, or the one that the variable names, which lowers *facts. row: a
 * constant. RW_ERR_ARGUMENT: it names none. */
int rw_tuning_find(struct rw_ctx *ctx, struct rw_tuning_facts *facts,
                   const struct rw_tuning_row **row);

/* Do names like "sm_80 sm_90 compute_90" include machine code for GPUs of this capability? If not,
 * the driver compiles kernels when they are first used. */
int rw_has_gpu_code(const char *archs, int major, int minor);

/* Device memory that stays in case that it is of use again. What nobody uses goes as soon as an
 * allocation finds too little (rw_device_alloc). Any thread may call these. */
/* Extended by embedding it first. Its contents never change while it is known here. */
struct rw_device_cache {
    struct rw_device_cache *next;
    void **owner; /* holds the only pointer to it; NULL is written there when it goes */
    int device, n_users;
    void (*free)(struct rw_device_cache *spare);
};

/* Puts back what was taken; or hands it over to the owner, who must live longer: it goes if the
 * owner has another. */
void rw_device_cache_leave(struct rw_device_cache *spare, void **owner);
/* The owner's, if it serves, which then stays until it is put back; else NULL, and if nobody uses
 * it, it goes. */
struct rw_device_cache *rw_device_cache_take(void **owner,
                                             int (*serves)(const struct rw_device_cache *spare,
                                                           const void *user),
                                             const void *user);
void rw_device_cache_drop(void **owner);
/* What nobody uses on this device goes. Returns 1 if anything did. */
int rw_device_cache_drop_unused(int device);

/* Launchers of cu_link.cu. */
enum { RW_LINK_ROW_BYTES = 128, RW_LINK_STEP = 4 };

/* Of d_to. */
size_t rw_cuda_link_bytes(int n_multiprocessors);
/* Reads n_rows rows, one in RW_LINK_STEP. from: page-locked. A cudaError_t. */
int rw_cuda_link_gather(const void *from, uint64_t n_rows, int n_multiprocessors, void *d_to,
                        void *stream);

/* Every copy between the host and the device, and every wait of the host for it, goes through here.
 * Copies are counted.
 *
 * Plain copies go through the device's stream and wait. A pipe sends data in chunks over several
 * streams, each with a pinned buffer on the host and one on the device, so that one chunk travels
 * while the kernels of another run (Milic et al., "Parallelizing general histogram application for
 * CUDA architectures", section IV-G). */
/* Since the device was opened; one thread at a time uses a device. */
struct rw_transfer_counts {
    uint64_t copies; /* between host and device, either way */
    uint64_t bytes_to_device, bytes_to_host;
};

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
/* Such memory that goes with the arena; out: the address of a pointer. */
int rw_transfer_pinned_in(struct rw_ctx *ctx, struct rw_arena *arena, void *out, size_t bytes);

/* memcpy on the context's threads: what fills a pinned buffer. */
void rw_transfer_copy_host(struct rw_ctx *ctx, void *to, const void *from, size_t bytes);

/* ---- Tables ---- */

/* Device memory of one owner, freed with the arena. Without a device nothing is allocated, only
 * counted, so that what allocates also says beforehand how much. */
struct rw_device_tables {
    struct rw_ctx *ctx;             /* borrowed */
    const struct rw_device *device; /* borrowed, or NULL */
    struct rw_arena arena;
    uint64_t bytes;
};

/* d: the address of a pointer, which becomes that of `bytes` bytes on the device, filled from the
 * host (from NULL: not filled); without a device, not NULL and not to be followed. */
int rw_device_table(struct rw_device_tables *tables, void *d, const void *from, size_t bytes);
#define RW_DEVICE_TABLE(tables, d, from, n) \
    rw_device_table((tables), &(d), (from), (n) * sizeof(*(d)))

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

/* Workers that each have a GPU of their own, through NCCL: a communicator of the device. The
 * library is opened when it is wanted, so that nothing here is linked to it; what is known of it
 * stands in its documentation (docs.nvidia.com/deeplearning/nccl), "API" and "types".
 *
 * NCCL waits for workers that are gone. So all waits are bounded: the beginning by a time, and what
 * is enqueued by rw_nccl_watch, which whoever waits for the device asks from time to time. */
/* All workers of the context's communicator call it, each with its device, on the thread that uses
 * the device. RW_ERR_UNSUPPORTED, on all of them: a worker has no NCCL, or two have one GPU. NVLink
 * multicast stays off unless NCCL_NVLS_ENABLE is set. RANKWOOD_NCCL=FILE: the library. */
int rw_nccl_open(struct rw_ctx *ctx, const struct rw_device *device, struct rw_comm **out);

/* For a wait that has taken so long: RW_OK, or, once a worker is known to have failed, or too much
 * time has passed, RW_ERR_MACHINE, after which nothing that was enqueued is waited for any more. */
int rw_nccl_watch(struct rw_ctx *ctx, struct rw_comm *comm, double waited_s);

/* Is there an NCCL? text: the file that it was read from, or why there is none. */
int rw_nccl_find(char *text, size_t size);

RW_SCOPED_BY(rw_device_free)
RW_SCOPED_BY(rw_transfer_pinned_free)
RW_SCOPED_BY(rw_transfer_pipe_free)

#ifdef __cplusplus
}
#endif
