#include "gpu/device/device_facts.h"

#include <cuda_runtime_api.h>
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
