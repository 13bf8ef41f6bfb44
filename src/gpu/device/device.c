#include "gpu/device/device.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "gpu/device/cu_check.h"
#include "gpu/device/device_facts.h"
#include "gpu/device/device_tuning.h"
#include "gpu/device/spare.h"
#include "gpu/device/transfer.h"
#include "gpu/device/tuning.h"

/* The oldest compute capability that the kernels are compiled for. */
enum { LEAST_MAJOR = 7, LEAST_MINOR = 5 };
/* What CUDA itself takes of a GPU for a process, about. */
#define CONTEXT_BYTES ((size_t)600000000)

/* This GPU or driver never will. */
static int is_unsupported(cudaError_t error)
{
    return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
           error == cudaErrorInvalidDevice || error == cudaErrorNoKernelImageForDevice ||
           error == cudaErrorUnsupportedPtxVersion || error == cudaErrorInvalidDeviceFunction ||
           error == cudaErrorCompatNotSupportedOnDevice || error == cudaErrorNotSupported;
}

#define FULL_HINT                                                                           \
    "\nhint: if other programs hold the rest, another GPU ('--device cuda:N') and the CPU " \
    "('--device cpu') give the same model"

/* needed: bytes that `what` asked for; 0: not known. is_open: the device is the thread's. */
static int fail_full(struct rw_ctx *ctx, int number, int is_open, size_t needed, const char *what)
{
    size_t free_bytes = 0, all_bytes = 0;
    char bytes[64] = "more memory", there[96] = "";
    if (needed)
        snprintf(bytes, sizeof(bytes), "%.1f MB", (double)needed / 1e6);
    if ((is_open && cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess) ||
        rw_device_memory(number, &free_bytes, &all_bytes))
        snprintf(there, sizeof(there), ", and %.1f of its %.1f MB are free",
                 (double)free_bytes / 1e6, (double)all_bytes / 1e6);
    (void)cudaGetLastError();
    return rw_fail(ctx, RW_ERR_MEMORY, "out of device memory: %s needs %s of cuda:%d%s" FULL_HINT,
                   what, bytes, number, there);
}

int rw_cu_fail(struct rw_ctx *ctx, cudaError_t error, const char *what)
{
    int number = 0;
    (void)cudaGetLastError(); /* clears it */
    if (error == cudaErrorMemoryAllocation && cudaGetDevice(&number) == cudaSuccess)
        return fail_full(ctx, number, 1, 0, what);
    const int status = error == cudaErrorMemoryAllocation ? RW_ERR_MEMORY
                       : is_unsupported(error)            ? RW_ERR_UNSUPPORTED
                                                          : RW_ERR_MACHINE;
    return rw_fail(ctx, status, "CUDA: %s (%s)", cudaGetErrorString(error), what);
}

/* Makes the device the thread's, which takes memory for what CUDA itself needs there. */
static int take_device(struct rw_ctx *ctx, int number)
{
    const cudaError_t error = cudaSetDevice(number);
    if (error == cudaSuccess)
        return RW_OK;
    (void)cudaGetLastError();
    return error == cudaErrorMemoryAllocation
               ? fail_full(ctx, number, 0, CONTEXT_BYTES, "CUDA itself")
               : rw_cu_fail(ctx, error, "cudaSetDevice");
}

static int describe(struct rw_ctx *ctx, const struct cudaDeviceProp *properties, int number,
                    struct rw_device *device)
{
    struct rw_tuning_facts facts = {.capability = 10 * properties->major + properties->minor,
                                    .n_multiprocessors = properties->multiProcessorCount,
                                    .n_threads = properties->maxThreadsPerMultiProcessor,
                                    .shared_bytes = properties->sharedMemPerBlockOptin};
    cudaStream_t stream;
    RW_TRY(rw_tuning_find(ctx, &facts, &device->tuning));
    RW_TRY(RW_NEW(ctx, device->counts, 1));
    device->number = number;
    snprintf(device->name, sizeof(device->name), "%.*s", (int)sizeof(device->name) - 1,
             properties->name);
    device->n_multiprocessors = facts.n_multiprocessors;
    device->n_threads = facts.n_threads;
    device->shared_bytes = facts.shared_bytes;
    RW_CU(ctx, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    device->stream = stream;
    return RW_OK;
}

int rw_gpu_count(void)
{
    int n_devices = 0;
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return n_devices;
}

/* The first kernel waits for the driver's compiler, unless its cache has the kernels: once a
 * process, the user is told why. */
static void announce_compilation(struct rw_ctx *ctx, const struct cudaDeviceProp *properties)
{
    static atomic_flag is_announced = ATOMIC_FLAG_INIT;
    const int major = properties->major, minor = properties->minor;
    if (!rw_has_gpu_code(RW_GPU_ARCHS, major, minor) && !atomic_flag_test_and_set(&is_announced))
        rw_log(ctx, RW_LOG_NOTE,
               "the driver compiles the kernels for this GPU (%d.%d) on first use, up to a minute, "
               "and keeps them: this build is for %s; one with -Dgpu_arch=sm_%d%d need not",
               major, minor, RW_GPU_ARCHS, major, minor);
}

int rw_device_open(struct rw_ctx *ctx, int number, struct rw_device **out)
{
    struct rw_device *device;
    struct cudaDeviceProp properties;
    *out = NULL;
    RW_TRY(rw_device_check_cuda(ctx, number));
    RW_CU(ctx, cudaGetDeviceProperties(&properties, number));
    if (10 * properties.major + properties.minor < 10 * LEAST_MAJOR + LEAST_MINOR)
        return rw_fail(
            ctx, RW_ERR_UNSUPPORTED,
            "GPU '%s' is too old: its compute capability is %d.%d; expected %d.%d or newer",
            properties.name, properties.major, properties.minor, LEAST_MAJOR, LEAST_MINOR);
    announce_compilation(ctx, &properties);
    RW_TRY(take_device(ctx, number));
    RW_TRY(RW_NEW(ctx, device, 1));
    const int status = describe(ctx, &properties, number, device);
    if (status < 0) {
        rw_device_close(device);
        return status;
    }
    *out = device;
    return RW_OK;
}

void rw_device_close(struct rw_device *device)
{
    if (!device)
        return;
    if (device->stream)
        RW_CU_MAY_FAIL(cudaStreamDestroy((cudaStream_t)device->stream));
    rw_mem_free(device->counts);
    rw_mem_free(device);
}

int rw_device_alloc(struct rw_ctx *ctx, void **out, size_t bytes)
{
    int number;
    cudaError_t error;
    do {
        *out = NULL;
        error = cudaMalloc(out, bytes ? bytes : 1);
        if (error == cudaSuccess)
            return RW_OK;
        *out = NULL;
        if (error != cudaErrorMemoryAllocation) /* a GPU that is lost, for one */
            return rw_cu_fail(ctx, error, "cudaMalloc");
        (void)cudaGetLastError();
        number = -1;
        RW_CU_MAY_FAIL(cudaGetDevice(&number));
    } while (rw_device_spare_drop_unused(number));
    return fail_full(ctx, number < 0 ? 0 : number, 1, bytes, "an array");
}

void rw_device_free(void *p)
{
    if (p)
        RW_CU_MAY_FAIL(cudaFree(p));
}

uint64_t rw_device_free_bytes(int number)
{
    size_t free_bytes = 0, all_bytes = 0;
    int before;
    if (cudaGetDevice(&before) == cudaSuccess && cudaSetDevice(number) == cudaSuccess) {
        RW_CU_MAY_FAIL(cudaMemGetInfo(&free_bytes, &all_bytes));
        RW_CU_MAY_FAIL(cudaSetDevice(before));
    } else {
        (void)cudaGetLastError();
    }
    return free_bytes;
}

static int by_size(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int time_run(struct rw_ctx *ctx, const struct rw_device *device, int (*run)(void *user),
                    void *user, cudaEvent_t begin, cudaEvent_t end, float *ms)
{
    cudaStream_t stream = (cudaStream_t)device->stream;
    RW_CU(ctx, cudaEventRecord(begin, stream));
    RW_TRY(run(user));
    RW_CU(ctx, cudaEventRecord(end, stream));
    RW_CU(ctx, cudaEventSynchronize(end));
    RW_CU(ctx, cudaEventElapsedTime(ms, begin, end));
    return RW_OK;
}

static int time_runs(struct rw_ctx *ctx, const struct rw_device *device, int n_runs,
                     int (*run)(void *user), void *user, float *ms)
{
    cudaEvent_t begin, end;
    int status = RW_OK;
    RW_CU(ctx, cudaEventCreate(&begin));
    const cudaError_t error = cudaEventCreate(&end);
    if (error != cudaSuccess) {
        status = rw_cu_fail(ctx, error, "cudaEventCreate");
        RW_CU_MAY_FAIL(cudaEventDestroy(begin));
        return status;
    }
    for (int i = 0; i < n_runs && status >= 0; i++)
        status = time_run(ctx, device, run, user, begin, end, &ms[i]);
    RW_CU_MAY_FAIL(cudaEventDestroy(begin));
    RW_CU_MAY_FAIL(cudaEventDestroy(end));
    return status;
}

int rw_device_time(struct rw_ctx *ctx, const struct rw_device *device, int n_runs,
                   int (*run)(void *user), void *user, double *median_ms, double *least_ms,
                   double *most_ms)
{
    enum { MOST_RUNS = 1000 };
    float all[1 + MOST_RUNS], *ms = all + 1; /* the first is the warm-up */
    if (n_runs < 1 || n_runs > MOST_RUNS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d runs; expected 1 to %d", n_runs, MOST_RUNS);
    RW_TRY(time_runs(ctx, device, 1 + n_runs, run, user, all));
    qsort(ms, (size_t)n_runs, sizeof(ms[0]), by_size);
    *median_ms = (double)ms[n_runs / 2];
    *least_ms = (double)ms[0];
    *most_ms = (double)ms[n_runs - 1];
    return RW_OK;
}

int rw_device_time_once(struct rw_ctx *ctx, const struct rw_device *device, int (*run)(void *user),
                        void *user, double *ms)
{
    float one;
    RW_TRY(time_runs(ctx, device, 1, run, user, &one));
    *ms = (double)one;
    return RW_OK;
}

double rw_device_bandwidth(const struct rw_device *device)
{
    int clock_khz = 0, bus_bits = 0; /* two transfers a clock and wire */
    if (cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device->number) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device->number) !=
            cudaSuccess)
        (void)cudaGetLastError();
    const double bandwidth = 2e3 * clock_khz * bus_bits / 8;
    return bandwidth > 0.0 ? bandwidth : RW_TUNE_PLAN_BANDWIDTH;
}
