/* CUDA's runtime interface: devices, memory, streams and graphs. Work completes before the call
 * that requests it returns. Calls fail on demand in a process with tests/faults. */
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <vector>

#include "cuda_runtime.h"

struct emulated_graph {
    std::vector<std::function<void()>> work;
};
struct emulated_stream {
    emulated_graph *capture = nullptr;
};
struct emulated_event {
    std::chrono::steady_clock::time_point at;
    emulated_graph *capture = nullptr;
};

namespace
{

struct machine {
    std::mutex lock;
    std::map<char *, std::pair<size_t, int>> memory; /* from an address: bytes, device */
    std::vector<size_t> used;
    size_t all, shared, capability, khz;
    machine()
        : used(number("EMULATED_GPUS", 1)), all(number("EMULATED_GPU_MIB", 4096) << 20),
          shared(number("EMULATED_GPU_SHARED_KIB", emulated::MOST_SHARED >> 10) << 10),
          capability(number("EMULATED_GPU_CAPABILITY", 90)),
          khz(number("EMULATED_GPU_KHZ", 1000000))
    {
    }
    /* That a multiprocessor of the capability holds. */
    int threads() const
    {
        return capability == 75 ? 1024 : capability / 10 == 12 || capability % 10 > 5 ? 1536 : 2048;
    }
    static size_t number(const char *name, size_t otherwise)
    {
        const char *text = std::getenv(name);
        return text ? std::strtoull(text, nullptr, 10) : otherwise;
    }
};

machine &the_machine()
{
    static machine one;
    return one;
}

thread_local cudaError_t last_error = cudaSuccess;
thread_local bool is_of_launch = false; /* it is */
thread_local int device = 0;

cudaError_t failed(cudaError_t error)
{
    last_error = error;
    is_of_launch = false;
    return error;
}

cudaError_t launch_failed(cudaError_t error)
{
    failed(error);
    is_of_launch = true;
    return error;
}

/* ---- faults on demand: tests/faults/faults.h ---- */

struct faults {
    int (*asked)(const char *kind);
    void (*holds)(int change);
    void (*blames)();
    faults()
    {
        *(void **)&asked = dlsym(RTLD_DEFAULT, "faults_of_cuda");
        *(void **)&holds = dlsym(RTLD_DEFAULT, "faults_cuda_holds");
        *(void **)&blames = dlsym(RTLD_DEFAULT, "faults_cuda_blames");
    }
};

const faults &the_faults()
{
    static const faults one;
    return one;
}

/* "": the error of a lost GPU, which no call clears. */
int asked(const char *kind)
{
    return the_faults().asked ? the_faults().asked(kind) : 0;
}

/* Below 0: success, and nothing is done. */
int fault_of(const char *kind)
{
    const int error = asked(kind);
    if (error > 0)
        failed((cudaError_t)error);
    return error;
}

#define MAY_FAIL(kind)                                           \
    do {                                                         \
        if (const int error = fault_of(kind))                    \
            return error < 0 ? cudaSuccess : (cudaError_t)error; \
    } while (0)

void hold(int change)
{
    if (the_faults().holds)
        the_faults().holds(change);
}

cudaError_t made()
{
    hold(1);
    return cudaSuccess;
}

/* Freed memory is gone, even if the call reports an earlier failure. */
cudaError_t given_back()
{
    hold(-1);
    return (cudaError_t)fault_of("cuda-free");
}

/* Now, or whenever the graph runs that is being captured. */
void in_order(cudaStream_t stream, std::function<void()> work)
{
    if (stream && stream->capture)
        stream->capture->work.push_back(std::move(work));
    else
        work();
}

/* Are these bytes a device's? Part of them is an error. */
bool is_of_device(const void *p, size_t bytes)
{
    machine &m = the_machine();
    std::lock_guard<std::mutex> guard(m.lock);
    auto after = m.memory.upper_bound((char *)p);
    if (after == m.memory.begin())
        return false;
    --after;
    return (char *)p + bytes <= after->first + after->second.first;
}

} // namespace

cudaError_t emulated::share(int bytes)
{
    MAY_FAIL("cuda-ask");
    return bytes >= 0 && (size_t)bytes <= the_machine().shared ? cudaSuccess
                                                               : failed(cudaErrorInvalidValue);
}

cudaError_t emulated::launch(const config &at, std::function<void()> kernel)
{
    const uint64_t threads = (uint64_t)at.block.x * at.block.y * at.block.z;
    if (threads < 1 || threads > MOST_THREADS || at.shared > the_machine().shared ||
        at.grid.x < 1 || at.grid.y < 1 || at.grid.z < 1 || at.grid.y > 65535 || at.grid.z > 65535)
        return launch_failed(cudaErrorInvalidConfiguration);
    const bool is_left = last_error != cudaSuccess && !is_of_launch;
    if (is_left && the_faults().blames && !asked(""))
        the_faults().blames();
    if (const int error = fault_of("cuda-launch"))
        return error < 0 ? cudaSuccess : launch_failed((cudaError_t)error);
    in_order(at.stream, [at, kernel] { run_grid(at, kernel); });
    return cudaSuccess;
}

extern "C" {

cudaError_t cudaGetLastError(void)
{
    const int lost = asked("");
    const cudaError_t error = lost ? (cudaError_t)lost : last_error;
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
        return "invalid device ordinal";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorEccUncorrectable:
        return "uncorrectable ECC error encountered";
    case cudaErrorIllegalAddress:
        return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources:
        return "too many resources requested for launch";
    default:
        return "unknown error";
    }
}

cudaError_t cudaGetDeviceCount(int *n)
{
    MAY_FAIL("cuda-find");
    *n = (int)the_machine().used.size();
    return *n > 0 ? cudaSuccess : failed(cudaErrorNoDevice);
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) /* all memory is the process's */
{
    MAY_FAIL("cuda-find");
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *out)
{
    MAY_FAIL("cuda-find");
    *out = device;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int number)
{
    MAY_FAIL("cuda-ask");
    if (number < 0 || number >= (int)the_machine().used.size())
        return failed(cudaErrorInvalidDevice);
    device = number;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int number)
{
    MAY_FAIL("cuda-find");
    if (number < 0 || number >= (int)the_machine().used.size())
        return failed(cudaErrorInvalidDevice);
    const machine &m = the_machine();
    *out = {"emulated GPU",
            {{(char)number}},
            m.all,
            m.shared,
            (int)m.capability / 10,
            (int)m.capability % 10,
            4 /* multiprocessors */,
            m.threads(),
            1 << 20,
            emulated::WARP};
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int)
{
    MAY_FAIL("cuda-find");
    switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
        *value = (int)the_machine().capability / 10;
        break;
    case cudaDevAttrGlobalMemoryBusWidth:
        *value = 256;
        break;
    default: /* kHz */
        *value = (int)the_machine().khz;
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    MAY_FAIL("cuda-ask");
    *least = *greatest = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    MAY_FAIL("cuda-wait");
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    MAY_FAIL("cuda-find");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    MAY_FAIL("cuda-find");
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    MAY_FAIL("cuda-memory");
    machine &m = the_machine();
    std::lock_guard<std::mutex> guard(m.lock);
    if (bytes == 0 || bytes > m.all - m.used[(size_t)device])
        return failed(bytes ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
    if (posix_memalign(out, 256, bytes) != 0)
        return failed(cudaErrorMemoryAllocation);
    std::memset(*out, 0xA5, bytes);
    m.memory[(char *)*out] = {bytes, device};
    m.used[(size_t)device] += bytes;
    return made();
}

cudaError_t cudaFree(void *p)
{
    machine &m = the_machine();
    std::lock_guard<std::mutex> guard(m.lock);
    const auto found = m.memory.find((char *)p);
    if (!p)
        return cudaSuccess;
    if (found == m.memory.end())
        return failed(cudaErrorInvalidValue);
    m.used[(size_t)found->second.second] -= found->second.first;
    m.memory.erase(found);
    std::free(p);
    return given_back();
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned)
{
    MAY_FAIL("cuda-memory");
    return posix_memalign(out, 256, bytes) == 0 ? made() : failed(cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *p)
{
    std::free(p);
    return p ? given_back() : cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes)
{
    MAY_FAIL("cuda-ask");
    machine &m = the_machine();
    std::lock_guard<std::mutex> guard(m.lock);
    *all_bytes = m.all;
    *free_bytes = m.all - m.used[(size_t)device];
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    MAY_FAIL("cuda-copy");
    if (!is_of_device(to, bytes))
        return failed(cudaErrorInvalidValue);
    in_order(stream, [=] { std::memset(to, value, bytes); });
    return cudaSuccess;
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    return cudaMemsetAsync(to, value, bytes, nullptr);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    MAY_FAIL("cuda-copy");
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind != cudaMemcpyDefault &&
        (is_of_device(to, bytes) != to_device || is_of_device(from, bytes) != from_device))
        return failed(cudaErrorInvalidValue);
    in_order(stream, [=] { std::memmove(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned)
{
    MAY_FAIL("cuda-order");
    *out = new emulated_stream;
    return made();
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(out, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return given_back();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    MAY_FAIL("cuda-wait");
    return stream && stream->capture ? failed(cudaErrorNotSupported) : cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return cudaStreamSynchronize(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    MAY_FAIL("cuda-order");
    if (event->capture)
        stream->capture = event->capture;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode)
{
    MAY_FAIL("cuda-order");
    stream->capture = new emulated_graph;
    return made();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    MAY_FAIL("cuda-order");
    *out = stream->capture;
    stream->capture = nullptr;
    return *out ? cudaSuccess : failed(cudaErrorInvalidValue);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
    MAY_FAIL("cuda-ask");
    *status =
        stream && stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    MAY_FAIL("cuda-order");
    *out = new emulated_event;
    return made();
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned)
{
    return cudaEventCreate(out);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return given_back();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    MAY_FAIL("cuda-order");
    event->capture = stream ? stream->capture : nullptr;
    event->at = std::chrono::steady_clock::now();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    MAY_FAIL("cuda-wait");
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    MAY_FAIL("cuda-order");
    *ms = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    MAY_FAIL("cuda-order");
    *out = new emulated_graph(*graph);
    return made();
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t)
{
    MAY_FAIL("cuda-launch");
    for (const std::function<void()> &work : graph->work)
        work();
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    delete graph;
    return given_back();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return given_back();
}

} /* extern "C" */
