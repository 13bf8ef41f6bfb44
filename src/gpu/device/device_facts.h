/* What is known of CUDA, its driver and each GPU, without opening one: for people. */
#ifndef RW_GPU_DEVICE_FACTS_H
#define RW_GPU_DEVICE_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    const char *tuning;     /* the row of device_tuning.h; NULL: RANKWOOD_TUNING names none */
    int is_tuning_measured; /* on such a GPU */
    int clock_mhz, memory_clock_mhz; /* at most; 0: not known */
    int is_mig;                      /* a part of a GPU, a device by itself */
};
/* 0: there is no such device. */
int rw_device_find(int number, struct rw_device_facts *out);

#ifdef __cplusplus
}
#endif
#endif
