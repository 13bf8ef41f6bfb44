/* cuda_runtime_api.h and, for kernels, CUDA C's additions to C++: see the emulator's README.md. */
#pragma once

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

/* ---- the words of the language ---- */

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n)    __attribute__((aligned(n)))
#define __forceinline__ inline __attribute__((always_inline))
/* __shared__, __noinline__, <<< >>> and PTX are rewritten by the script `nvcc`. */

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z)
    {
    }
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) longlong2 {
    long long x, y;
};
struct alignas(16) double2 {
    double x, y;
};
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

/* ---- a thread and the others of its block and warp ---- */

extern thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated
{

enum { WARP = 32, MOST_THREADS = 1024, MOST_SHARED = 227 << 10 };
cudaError_t share(int bytes); /* may a block of the device? */

extern thread_local unsigned char *shared_memory; /* the block's dynamic part */

void barrier();
int barrier_or(int value);
/* What lanes of a warp do together: all of `mask` that have not returned give a word, and see all.
 */
enum what { SYNC, SHUFFLE, VOTE, REDUCE, MATCH };
struct meeting {
    enum what what;
    unsigned mask, there, left;
    bool is_held, is_complete;
    uint64_t word[WARP];
};
const struct meeting *meet(unsigned mask, enum what what, uint64_t word);
void leave(const struct meeting *meeting); /* has read the words */
unsigned lane();

struct config {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    config(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr)
        : grid(grid), block(block), shared(shared), stream(stream)
    {
    }
};
cudaError_t launch(const config &at, std::function<void()> kernel);
void run_grid(const config &at, const std::function<void()> &kernel); /* at once */

/* kernel<<<...>>>(...) becomes launching(calls the kernel, ...)(...). */
template <class KERNEL> struct launching : config {
    KERNEL kernel;
    template <class... CONFIG>
    launching(KERNEL kernel, CONFIG... at) : config(at...), kernel(kernel)
    {
    }
    template <class... TYPES> cudaError_t operator()(TYPES... arguments) const
    {
        const KERNEL &call = kernel;
        return launch(*this, [call, arguments...] { call(arguments...); });
    }
};

template <class T> uint64_t word_of(T value)
{
    static_assert(sizeof(T) <= 8, "a shuffled value is of one word");
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
}
template <class T> T shuffle(unsigned mask, T value, unsigned from)
{
    const struct meeting *all = meet(mask, SHUFFLE, word_of(value));
    if (from < WARP && all->there >> from & 1)
        std::memcpy(&value, &all->word[from], sizeof value);
    leave(all);
    return value;
}
template <class T, class OP> T reduce(unsigned mask, T value, OP op)
{
    const struct meeting *all = meet(mask, REDUCE, word_of(value));
    const unsigned own = lane();
    for (unsigned i = 0; i < WARP; i++)
        if (i != own && all->there >> i & 1) {
            T one;
            std::memcpy(&one, &all->word[i], sizeof one);
            value = op(value, one);
        }
    leave(all);
    return value;
}
unsigned vote(unsigned mask, bool is_true);
/* 32-bit addresses of dynamic shared memory. */
static inline size_t shared_address(const void *p)
{
    return (size_t)((const unsigned char *)p - shared_memory);
}
static inline void shared_add(uint32_t at, uint32_t value, int offset)
{
    *(uint32_t *)(shared_memory + at + offset) += value;
}

} // namespace emulated

static inline void __syncthreads()
{
    emulated::barrier();
}
static inline int __syncthreads_or(int value)
{
    return emulated::barrier_or(value);
}
static inline void __syncwarp(unsigned mask = ~0u)
{
    emulated::leave(emulated::meet(mask, emulated::SYNC, 0));
}
static inline void __threadfence()
{
}
static inline void __threadfence_system()
{
}
static inline void __trap()
{
    abort();
}

/* Lanes are numbered within groups of `width`. */
template <class T> T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    const unsigned own = emulated::lane(), first = own / width * width;
    return emulated::shuffle(mask, value, first + (unsigned)from % width);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const unsigned own = emulated::lane();
    return emulated::shuffle(mask, value, own % width >= by ? own - by : own);
}
template <class T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    const unsigned own = emulated::lane();
    return emulated::shuffle(mask, value, own % width + by < (unsigned)width ? own + by : own);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32)
{
    const unsigned own = emulated::lane(), from = own ^ (unsigned)bits;
    return emulated::shuffle(mask, value, from / width <= own / width ? from : own);
}
static inline unsigned __ballot_sync(unsigned mask, int is_true)
{
    return emulated::vote(mask, is_true);
}
static inline int __any_sync(unsigned mask, int is_true)
{
    return emulated::vote(mask, is_true) != 0;
}
static inline int __all_sync(unsigned mask, int is_true)
{
    return emulated::vote(mask, !is_true) == 0;
}
template <class T> unsigned __match_any_sync(unsigned mask, T value)
{
    const uint64_t own = emulated::word_of(value);
    const struct emulated::meeting *all = emulated::meet(mask, emulated::MATCH, own);
    unsigned same = 0;
    for (unsigned i = 0; i < 32; i++)
        same |= (unsigned)(all->there >> i & 1 && all->word[i] == own) << i;
    emulated::leave(all);
    return same;
}
template <class T> T __reduce_add_sync(unsigned mask, T value)
{
    return emulated::reduce(mask, value, [](T a, T b) { return (T)(a + b); });
}
template <class T> T __reduce_max_sync(unsigned mask, T value)
{
    return emulated::reduce(mask, value, [](T a, T b) { return a > b ? a : b; });
}
template <class T> T __reduce_min_sync(unsigned mask, T value)
{
    return emulated::reduce(mask, value, [](T a, T b) { return a < b ? a : b; });
}

/* A device's blocks and threads take turns, between which nothing is half done. */
namespace emulated
{
template <class T, class Next> T atomically(T *at, Next next)
{
    const T before = *at;
    *at = next(before);
    return before;
}
} // namespace emulated
template <class T> T atomicAdd(T *at, std::common_type_t<T> value)
{
    return emulated::atomically(at, [=](T before) { return before + value; });
}
template <class T> T atomicMax(T *at, std::common_type_t<T> value)
{
    return emulated::atomically(at, [=](T before) { return value > before ? value : before; });
}
template <class T> T atomicMin(T *at, std::common_type_t<T> value)
{
    return emulated::atomically(at, [=](T before) { return value < before ? value : before; });
}
template <class T> T atomicOr(T *at, std::common_type_t<T> value)
{
    return emulated::atomically(at, [=](T before) { return before | value; });
}

/* ---- arithmetic ---- */

template <class T> T __ldg(const T *p)
{
    return *p;
}
template <class T> T __ldcs(const T *p)
{
    return *p;
}
template <class T> T __ldcg(const T *p)
{
    return *p;
}
template <class T> static inline T rebits_of(uint32_t bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
static inline float __int_as_float(int bits)
{
    return rebits_of<float>((uint32_t)bits);
}
static inline float __uint_as_float(unsigned bits)
{
    return rebits_of<float>(bits);
}
static inline unsigned __float_as_uint(float value)
{
    return (unsigned)emulated::word_of(value);
}
static inline int __float_as_int(float value)
{
    return (int)__float_as_uint(value);
}
static inline int __popc(unsigned value)
{
    return __builtin_popcount(value);
}
static inline int __ffs(int value)
{
    return __builtin_ffs(value);
}
static inline int __clz(int value)
{
    return value ? __builtin_clz((unsigned)value) : 32;
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return std::fma(a, b, c);
}
static inline float __fdiv_rn(float a, float b)
{
    return a / b;
}
static inline float __fdividef(float a, float b)
{
    return a / b;
}
static inline unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    for (int i = 0; i < 32; i += 8)
        c += (a >> i & 255) * (b >> i & 255);
    return c;
}
template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return (T)b < (T)a ? (T)b : (T)a;
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b)
{
    using T = std::common_type_t<A, B>;
    return (T)a < (T)b ? (T)b : (T)a;
}

/* ---- the interface's C++ part ---- */

enum { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
    int id;
    struct {
        int programmaticStreamSerializationAllowed;
    } val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
template <class KERNEL, class... TYPES>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *at, KERNEL kernel, TYPES... arguments)
{
    return emulated::launching(kernel, at->gridDim, at->blockDim, at->dynamicSmemBytes,
                               at->stream)(arguments...);
}
template <class KERNEL>
cudaError_t cudaFuncSetAttribute(KERNEL *, enum cudaFuncAttribute, int value)
{
    return emulated::share(value);
}
template <class KERNEL> cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, KERNEL *)
{
    const cudaError_t error =
        cudaDeviceGetAttribute(&out->ptxVersion, cudaDevAttrComputeCapabilityMajor, 0);
    out->ptxVersion *= 10;
    return error;
}
template <class T> cudaError_t cudaMalloc(T **out, size_t bytes)
{
    return cudaMalloc((void **)out, bytes);
}
#endif /* __cplusplus */
