/* The interface to GPUs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "comm/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_tuning_row;

struct rw_device {
    struct rw_ctx *ctx; /* borrowed; failures are reported there */
    int number;         /* of the GPU among those that CUDA reports, from 0 */
    char name[128];
    const struct rw_tuning_row *tuning; /* a constant of device_tuning.c */
    /* The next three are as the GPU reports them, or less if RANKWOOD_TUNING forces a row. */
    int n_multiprocessors;
    int n_threads;         /* threads that a multiprocessor holds at once */
    size_t shared_bytes;   /* largest shared memory of a block */
    struct rw_arena arena; /* memory and streams that exist as long as the device */
    void *stream;          /* a cudaStream_t */
    struct rw_comm *comm;  /* the NCCL communicator of the workers, or NULL; borrowed */
};

/* Opens a device and makes it the thread's current one. Fails with RW_ERR_UNSUPPORTED if there is
 * no such device or it is too old, and as rw_tuning_find and rw_cu_fail. */
int rw_device_open(struct rw_ctx *ctx, int number, struct rw_device **out);
void rw_device_close(struct rw_device *device);

/* Sets a function that frees unused memory of a device, for any thread, and returns 1 if it has. */
void rw_device_set_evict(int (*function)(int device));
/* Allocates memory on the thread's current device. If there is too little, calls that function and
 * tries again. In this header, `close` and `free` ignore NULL. */
int rw_device_alloc(struct rw_ctx *ctx, void **out, size_t bytes);
void rw_device_free(void *p);
/* Allocate memory, or make a stream or an event, on the thread's current device. The arena frees
 * it. urgent: the stream has priority over others. timed: the event records the time. */
int rw_device_alloc_in(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t bytes);
int rw_device_stream(struct rw_ctx *ctx, struct rw_arena *arena, int urgent, void **out);
int rw_device_event(struct rw_ctx *ctx, struct rw_arena *arena, int timed, void **out);
uint64_t rw_device_free_bytes(int number); /* 0: unknown */
/* Measures the bytes per second of a copy from page-locked memory to the device. rw_device_link
 * opens the device for it. */
int rw_device_link_rate(const struct rw_device *device, double *rate);
int rw_device_link(struct rw_ctx *ctx, int number, double *rate);
/* Returns the bytes per second of the device's memory, from its clock and bus width. Returns
 * RW_TUNE_PLAN_BANDWIDTH if the device does not report them. */
double rw_device_bandwidth(const struct rw_device *device);
/* Measures the milliseconds that `run` takes on the stream. */
int rw_device_time_once(const struct rw_device *device, int (*run)(void *user), void *user,
                        double *ms);

/* Facts about CUDA and its driver, for people to read. No device is opened. */
struct rw_cuda_facts {
    int runtime;       /* that the program was built with, 13000 for 13.0; 0: built without CUDA */
    int oldest_driver; /* that supports that runtime, 580 for 580.x; 0: unknown */
    int driver;        /* newest runtime that the driver supports; 0: no driver */
    int n_devices;
    char why_not[256]; /* why no GPU can be used; "" if one can */
};
void rw_cuda_find(struct rw_cuda_facts *out);
/* Fails with RW_ERR_UNSUPPORTED if CUDA cannot be used or there is no GPU of this number. */
int rw_device_check_cuda(struct rw_ctx *ctx, int number);
int rw_cuda_runtime(void); /* facts.runtime, without calling the driver */

/* Facts about a GPU, for people to read. */
struct rw_device_facts {
    char name[128];
    int major, minor; /* compute capability */
    uint64_t memory_bytes;
    int n_multiprocessors;
    uint64_t shared_bytes;  /* largest shared memory of a block */
    const char *tuning;     /* its row in device_tuning.c; NULL: RANKWOOD_TUNING names no row */
    int is_tuning_measured; /* 1: the row was measured */
    int clock_mhz, memory_clock_mhz; /* highest clocks; 0: unknown */
    int is_mig;                      /* 1: a MIG instance: a part of a GPU that is a device */
};
/* Writes the facts of a device, without opening it. Returns 1, or 0 if there is no such device. */
int rw_device_find(int number, struct rw_device_facts *out);

/* ---- tuning constants ----
 *
 * The table in device_tuning.c has the launch constants that depend on the GPU; tuning.h has the
 * others. Each row serves the compute capabilities from its own up to, but without, that of the
 * next row. No row changes a result. After measuring on a GPU, change its row or add one, with
 * is_measured 1 and the measurements in the comment there. docs/reference/devices.md lists the
 * rows, and tests/same_bytes_cuda.sh forces each of them. */
/* The environment variable that forces a row: the row that it names is used on any GPU. */
#define RW_TUNING_VARIABLE "RANKWOOD_TUNING"

struct rw_tuning_row {
    const char *name; /* its lowest compute capability, "9.0"; or "newer" */
    int from;         /* that capability as 10 * major + minor */
    int is_measured;  /* 0: derived, as device_tuning.c explains */
    /* A GPU of the row, in three numbers. If the row is forced on a larger GPU, only this much of
     * that GPU is used. 0: no limit. */
    int n_multiprocessors;
    int n_threads;       /* threads that a multiprocessor holds at once */
    size_t shared_bytes; /* largest shared memory of a block */
    int growth_batch;    /* largest number of nodes that the grower requests at once */
    /* Blocks per multiprocessor: of 256 threads that quantise, and, at most, of a search. */
    int quantise_blocks, split_blocks;
};

/* Returns a row by index; NULL after the last. */
const struct rw_tuning_row *rw_tuning_row_at(int i);

/* Properties of a GPU. */
struct rw_tuning_facts {
    int capability; /* 10 * major + minor */
    int n_multiprocessors, n_threads;
    size_t shared_bytes;
};
/* Finds the row of facts->capability. If RANKWOOD_TUNING is set and not empty, finds the row that
 * it names and reduces *facts to those of the row. Fails with RW_ERR_ARGUMENT if no row has that
 * name. */
int rw_tuning_find(struct rw_ctx *ctx, struct rw_tuning_facts *facts,
                   const struct rw_tuning_row **row);

/* Returns 1 if archs, such as "sm_80 sm_90 compute_90", include machine code for GPUs of this
 * capability. If they do not, the driver compiles kernels at their first use. */
int rw_has_gpu_code(const char *archs, int major, int minor);

/* ---- transfers ----
 *
 * Functions that copy between host and device, and wait for the device. All copies use them, except
 * small tables of gpu/hist. */
/* Copy through the device's stream, and wait, unless there are 0 bytes. */
int rw_transfer_write(const struct rw_device *device, void *d_to, const void *from, size_t bytes);
int rw_transfer_read(const struct rw_device *device, void *to, const void *d_from, size_t bytes);
/* Copies through the device's stream without waiting. The host's memory must be pinned, and not
 * change until rw_transfer_wait returns. */
int rw_transfer_write_pinned(const struct rw_device *device, void *d_to, const void *from,
                             size_t bytes);
/* Waits until all work on the device's stream is complete. Fails if a kernel or rw_nccl_watch
 * failed. */
int rw_transfer_wait(const struct rw_device *device);

/* Waits until kernels have written `value` to each of n words of page-locked memory, at a distance
 * of `step` words. That takes less time than a copy and a wait for the stream. The work that was
 * enqueued on the device's stream before those kernels is then complete, too. */
int rw_transfer_await(const struct rw_device *device, const uint32_t *word, size_t step, size_t n,
                      uint32_t value);

/* Allocate page-locked host memory, not zeroed. _in: the arena frees it. out: the address of a
 * pointer. */
int rw_transfer_pinned_alloc(struct rw_ctx *ctx, void **out, size_t bytes);
void rw_transfer_pinned_free(void *p);
int rw_transfer_pinned_in(struct rw_ctx *ctx, struct rw_arena *arena, void *out, size_t bytes);

/* Copies from host memory to host memory with the context's threads. Used to fill pinned
 * buffers. */
void rw_transfer_copy_host(struct rw_ctx *ctx, void *to, const void *from, size_t bytes);

/* ---- Tables ---- */

/* The tables of one object: arrays in device memory, freed with the arena. Without a device, their
 * bytes are counted, but nothing is allocated: a plan. */
struct rw_device_tables {
    struct rw_ctx *ctx;             /* borrowed */
    const struct rw_device *device; /* borrowed, or NULL */
    struct rw_arena arena;
    uint64_t bytes; /* of all tables so far */
};

/* Allocates a table. d: the address of a pointer, which is set to it. from: its contents on the
 * host; NULL: not filled. Without a device the pointer is not NULL and must not be followed. */
int rw_device_table(struct rw_device_tables *tables, void *d, const void *from, size_t bytes);
#define RW_DEVICE_TABLE(tables, d, from, n) \
    rw_device_table((tables), &(d), (from), (n) * sizeof(*(d)))

/* ---- Pipes ----
 *
 * A pipe sends data in chunks over several streams, each with a pinned buffer on the host and a
 * buffer on the device. So one chunk is copied while kernels process another (Milic et al.,
 * "Parallelizing general histogram application for CUDA architectures", section IV-G). */

enum { RW_TRANSFER_MOST_STREAMS = 8 };

/* A chunk on the device. */
struct rw_transfer_chunk {
    const void *d_data; /* aligned to 256 bytes; valid until this stream's next chunk */
    size_t bytes;
    uint32_t place; /* index of the pipe's stream, 0 to n_streams - 1; for separate scratch */
    void *stream;   /* a cudaStream_t, on which the caller enqueues the work on the chunk */
};

struct rw_transfer_pipe;

/* Makes a pipe. chunk_bytes: largest size of a chunk, at least 1. n_streams: 1 to
 * RW_TRANSFER_MOST_STREAMS. The device is borrowed while the pipe exists. */
int rw_transfer_pipe_new(const struct rw_device *device, size_t chunk_bytes, uint32_t n_streams,
                         struct rw_transfer_pipe **out);
void rw_transfer_pipe_free(struct rw_transfer_pipe *pipe); /* waits for all chunks */

/* Begin and end a transfer, without waiting: its chunks follow the work on the device's stream so
 * far, and later work there follows all chunks. */
int rw_transfer_pipe_begin(struct rw_transfer_pipe *pipe);
int rw_transfer_pipe_end(struct rw_transfer_pipe *pipe);
/* Returns a pinned buffer of chunk_bytes for the next chunk, after its last copy is complete. */
int rw_transfer_pipe_room(struct rw_transfer_pipe *pipe, void **chunk);
/* Sends a chunk of at most chunk_bytes. from: the buffer of rw_transfer_pipe_room, or page-locked
 * memory that does not change until the pipe's work is complete. */
int rw_transfer_pipe_send(struct rw_transfer_pipe *pipe, const void *from, size_t bytes,
                          struct rw_transfer_chunk *out);

/* ---- workers through NCCL ----
 *
 * A communicator of the device for workers that each have their own GPU. NCCL
 * (docs.nvidia.com/deeplearning/nccl) would wait for ever for a worker that has ended. So the start
 * has a time limit, and each wait for the device calls rw_nccl_watch from time to time. */
/* Connects the GPUs. All workers of the context's communicator call it, each with its device, on
 * the thread that uses the device. Fails with RW_ERR_UNSUPPORTED on all of them if a worker has no
 * NCCL or two share a GPU, and with RW_ERR_MACHINE if NCCL fails or does not start in time. NVLink
 * multicast stays off unless NCCL_NVLS_ENABLE is set. RANKWOOD_NCCL=FILE names the library, and has
 * threads of one process use NCCL, too. */
int rw_nccl_open(struct rw_ctx *ctx, const struct rw_device *device, struct rw_comm **out);

/* Checks a wait that has taken waited_s seconds. Fails with RW_ERR_MACHINE if NCCL reports an
 * error, a worker is known to have failed, or too much time has passed. It then also aborts NCCL's
 * communicator, so that enqueued work of NCCL ends. */
int rw_nccl_watch(struct rw_ctx *ctx, struct rw_comm *comm, double waited_s);

/* Replaces each of n numbers on the device, at most 4, by the largest of all workers' numbers, by
 * NCCL if device->comm is set, else through the hosts. */
int rw_device_max(const struct rw_device *device, uint64_t *d_numbers, uint32_t n);

/* Returns 1 if NCCL is available. text: the file that it was loaded from, or the reason why it is
 * missing. */
int rw_nccl_find(char *text, size_t size);

RW_SCOPED_BY(rw_device_close)
RW_SCOPED_BY(rw_device_free)
RW_SCOPED_BY(rw_transfer_pinned_free)
RW_SCOPED_BY(rw_transfer_pipe_free)

#ifdef __cplusplus
}
#endif
