#include "gpu/device/device_facts.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "gpu/device/device_tuning.h"

/* The oldest driver for all of a major version's programs, as NVIDIA's "CUDA Compatibility" has it.
 * A GPU newer than all that were compiled for needs one as new as the build's CUDA, to compile the
 * kernels. */
static int oldest_driver(int runtime)
{
    static const struct {
        int major, driver;
    } rows[] = {{11, 450}, {12, 525}, {13, 580}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].major == runtime / 1000)
            return rows[i].driver;
    }
    return 0;
}

int rw_cuda_runtime(void)
{
    return CUDART_VERSION;
}

void rw_cuda_find(struct rw_cuda_facts *out)
{
    memset(out, 0, sizeof(*out));
    if (cudaRuntimeGetVersion(&out->runtime) != cudaSuccess)
        out->runtime = CUDART_VERSION;
    if (cudaDriverGetVersion(&out->driver) != cudaSuccess)
        out->driver = 0;
    out->oldest_driver = oldest_driver(out->runtime);
    const cudaError_t error = cudaGetDeviceCount(&out->n_devices);
    (void)cudaGetLastError();
    if (error != cudaSuccess)
        out->n_devices = 0;
    if (out->n_devices > 0)
        return;
    if (out->driver == 0)
        snprintf(out->why_not, sizeof(out->why_not), "there is no NVIDIA driver");
    else if (out->driver / 1000 < out->runtime / 1000)
        snprintf(out->why_not, sizeof(out->why_not), "the driver is too old for this program");
    else
        snprintf(out->why_not, sizeof(out->why_not), "%s",
                 error != cudaSuccess ? cudaGetErrorString(error) : "the driver shows none");
}

int rw_device_check_cuda(struct rw_ctx *ctx, int number)
{
    struct rw_cuda_facts facts;
    char there[64] = "cuda:0 alone";
    rw_cuda_find(&facts);
    if (facts.n_devices == 0)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "no GPU can be used: %s\nhint: device cpu gives the same model; "
                       "'rankwood doctor' has what is installed",
                       facts.why_not);
    if (number < facts.n_devices)
        return RW_OK;
    if (facts.n_devices > 1)
        snprintf(there, sizeof(there), "cuda:0 %s cuda:%d", facts.n_devices == 2 ? "and" : "to",
                 facts.n_devices - 1);
    return rw_fail(ctx, RW_ERR_UNSUPPORTED, "no device cuda:%d; this machine has %s", number,
                   there);
}

int rw_device_memory(int number, size_t *free_bytes, size_t *all_bytes)
{
    struct {
        unsigned long long total, free, used;
    } memory = {0};
    char bus[32];
    void *device = NULL, *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*begin)(void) = NULL, (*end)(void) = NULL, (*find)(const char *, void **) = NULL,
        (*ask)(void *, void *) = NULL;
    const struct {
        const char *name;
        void *to; /* of a function pointer */
    } symbols[] = {{"nvmlInit_v2", &begin},
                   {"nvmlShutdown", &end},
                   {"nvmlDeviceGetHandleByPciBusId_v2", &find},
                   {"nvmlDeviceGetMemoryInfo", &ask}};
    size_t n_found = 0;
    for (; library && n_found < 4; n_found++) {
        void *symbol = dlsym(library, symbols[n_found].name);
        if (!symbol)
            break;
        memcpy(symbols[n_found].to, &symbol, sizeof(symbol));
    }
    if (n_found == 4 && cudaDeviceGetPCIBusId(bus, sizeof(bus), number) == cudaSuccess &&
        begin() == 0) {
        if (find(bus, &device) != 0 || ask(device, &memory) != 0)
            memory.total = 0;
        end();
    }
    (void)cudaGetLastError();
    if (library)
        dlclose(library);
    *free_bytes = memory.free;
    *all_bytes = memory.total;
    return memory.total > 0;
}

static int attribute(enum cudaDeviceAttr which, int number)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, number) == cudaSuccess)
        return value;
    (void)cudaGetLastError();
    return 0;
}

int rw_device_find(int number, struct rw_device_facts *out)
{
    struct cudaDeviceProp properties;
    memset(out, 0, sizeof(*out));
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    snprintf(out->name, sizeof(out->name), "%.*s", (int)sizeof(out->name) - 1, properties.name);
    out->major = properties.major;
    out->minor = properties.minor;
    out->memory_bytes = properties.totalGlobalMem;
    out->n_multiprocessors = properties.multiProcessorCount;
    out->shared_bytes = properties.sharedMemPerBlockOptin;
    struct rw_tuning_facts asked = {.capability = 10 * out->major + out->minor,
                                    .n_multiprocessors = out->n_multiprocessors,
                                    .n_threads = properties.maxThreadsPerMultiProcessor,
                                    .shared_bytes = (size_t)out->shared_bytes};
    const struct rw_tuning_row *row;
    if (rw_tuning_find(NULL, &asked, &row) >= 0) {
        out->tuning = row->name;
        out->is_tuning_measured = row->is_measured;
    }
    out->clock_mhz = attribute(cudaDevAttrClockRate, number) / 1000;
    out->memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, number) / 1000;
    out->is_mig = strstr(out->name, " MIG ") != NULL; /* so the driver names them */
    return 1;
}
