/* The device: picking one, its figures, streams and memory. */
#ifndef RW_GPU_DEVICE_H
#define RW_GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_transfer_counts;
struct rw_tuning_row;

struct rw_device {
    int number;
    char name[128];
    const struct rw_tuning_row *tuning; /* a constant: device_tuning.h */
    /* as many as it has, or less where a row is forced */
    int n_multiprocessors;
    int n_threads;                     /* that a multiprocessor holds at once */
    size_t shared_bytes;               /* that a block may ask for */
    void *stream;                      /* a cudaStream_t; owned */
    struct rw_transfer_counts *counts; /* owned; see transfer.h */
    /* Asked from time to time by waits, which end with its failure: of what may never be done, as
     * what waits for other ranks. NULL: nothing is. */
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

#ifdef __cplusplus
}
#endif
#endif
