/* The algorithms of CUB that Rankwood calls, in the plainest way. A block's and a warp's give their
 * results to the threads that CUB gives them to, and to no other. */
#ifndef EMULATED_CUB_CUH
#define EMULATED_CUB_CUH

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cuda_runtime.h"

namespace cub
{

/* ---- blocks and warps ---- */

template <class T, int THREADS> class BlockReduce
{
  public:
    struct TempStorage {
        T value[THREADS];
    };
    explicit BlockReduce(TempStorage &temp) : temp(temp)
    {
    }
    T Sum(T value)
    {
        temp.value[threadIdx.x] = value;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int i = 1; i < THREADS; i++)
                value = value + temp.value[i];
        return value;
    }

  private:
    TempStorage &temp;
};

template <class T, int THREADS> class BlockScan
{
  public:
    struct TempStorage {
        T value[THREADS];
    };
    explicit BlockScan(TempStorage &temp) : temp(temp)
    {
    }
    template <class OP> void ExclusiveScan(T value, T &out, T first, OP op)
    {
        temp.value[threadIdx.x] = value;
        __syncthreads();
        out = first;
        for (unsigned i = 0; i < threadIdx.x; i++)
            out = op(out, temp.value[i]);
    }
    void ExclusiveSum(T value, T &out, T &all)
    {
        ExclusiveScan(value, out, T(), [](T a, T b) { return (T)(a + b); });
        all = out;
        for (unsigned i = threadIdx.x; i < THREADS; i++)
            all = (T)(all + temp.value[i]);
    }

  private:
    TempStorage &temp;
};

/* Thread t has items t * ITEMS on. */
template <class KEY, class VALUE, int N> struct emulated_sort {
    struct item {
        KEY key;
        VALUE value;
    } item[N];
    template <int ITEMS, class LESS>
    void run(unsigned thread, KEY (&key)[ITEMS], VALUE (&value)[ITEMS], LESS less, void (*wait)())
    {
        for (int k = 0; k < ITEMS; k++)
            item[thread * ITEMS + k] = {key[k], value[k]};
        wait();
        if (thread == 0)
            std::stable_sort(item, item + N, [less](const struct item &a, const struct item &b) {
                return less(a.key, b.key);
            });
        wait();
        for (int k = 0; k < ITEMS; k++) {
            key[k] = item[thread * ITEMS + k].key;
            value[k] = item[thread * ITEMS + k].value;
        }
    }
};

template <class KEY, int ITEMS, int LANES, class VALUE> class WarpMergeSort
{
  public:
    using TempStorage = emulated_sort<KEY, VALUE, ITEMS * LANES>;
    explicit WarpMergeSort(TempStorage &temp) : temp(temp)
    {
    }
    template <class LESS> void StableSort(KEY (&key)[ITEMS], VALUE (&value)[ITEMS], LESS less)
    {
        temp.run(threadIdx.x % LANES, key, value, less, [] { __syncwarp(); });
    }

  private:
    TempStorage &temp;
};

template <class KEY, int THREADS, int ITEMS, class VALUE> class BlockMergeSort
{
  public:
    using TempStorage = emulated_sort<KEY, VALUE, ITEMS * THREADS>;
    explicit BlockMergeSort(TempStorage &temp) : temp(temp)
    {
    }
    template <class LESS> void StableSort(KEY (&key)[ITEMS], VALUE (&value)[ITEMS], LESS less)
    {
        temp.run(threadIdx.x, key, value, less, [] { __syncthreads(); });
    }

  private:
    TempStorage &temp;
};

/* ---- devices: with no room given they say how much they want ---- */

template <class T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector = 0;
    DoubleBuffer() : d_buffers{nullptr, nullptr}
    {
    }
    DoubleBuffer(T *current, T *other) : d_buffers{current, other}
    {
    }
    T *Current() const
    {
        return d_buffers[selector];
    }
    T *Alternate() const
    {
        return d_buffers[selector ^ 1];
    }
};

enum { EMULATED_TEMP = 256 };

static inline bool emulated_asks(void *temp, size_t &bytes)
{
    if (!temp)
        bytes = EMULATED_TEMP;
    return !temp;
}
/* A part of the room is written, as CUB would. */
static inline cudaError_t emulated_run(void *temp, size_t bytes, cudaStream_t stream,
                                       std::function<void()> work)
{
    if (bytes < EMULATED_TEMP)
        return cudaErrorInvalidValue;
    return emulated::launch({1, 1, 0, stream}, [=] {
        std::memset(temp, 0x5A, EMULATED_TEMP);
        work();
    });
}

template <class KEY> KEY emulated_bits(KEY key, int begin, int end)
{
    const int width = end - begin;
    return width >= (int)sizeof(KEY) * 8 ? key : (KEY)(key >> begin & (((KEY)1 << width) - 1));
}

struct DeviceRadixSort {
    template <class KEY>
    static cudaError_t SortKeys(void *temp, size_t &bytes, const KEY *from, KEY *to, int n,
                                int begin = 0, int end = sizeof(KEY) * 8,
                                cudaStream_t stream = nullptr)
    {
        if (emulated_asks(temp, bytes))
            return cudaSuccess;
        return emulated_run(temp, bytes, stream, [=] {
            std::vector<KEY> all(from, from + n);
            std::stable_sort(all.begin(), all.end(), [=](KEY a, KEY b) {
                return emulated_bits(a, begin, end) < emulated_bits(b, begin, end);
            });
            std::copy(all.begin(), all.end(), to);
        });
    }
    template <class KEY, class VALUE>
    static cudaError_t SortPairs(void *temp, size_t &bytes, const KEY *from, KEY *to,
                                 const VALUE *values, VALUE *values_to, int n, int begin = 0,
                                 int end = sizeof(KEY) * 8, cudaStream_t stream = nullptr)
    {
        if (emulated_asks(temp, bytes))
            return cudaSuccess;
        return emulated_run(temp, bytes, stream, [=] {
            std::vector<std::pair<KEY, VALUE>> all((size_t)n);
            for (int i = 0; i < n; i++)
                all[(size_t)i] = {from[i], values[i]};
            std::stable_sort(all.begin(), all.end(), [=](const auto &a, const auto &b) {
                return emulated_bits(a.first, begin, end) < emulated_bits(b.first, begin, end);
            });
            for (int i = 0; i < n; i++) {
                to[i] = all[(size_t)i].first;
                values_to[i] = all[(size_t)i].second;
            }
        });
    }
    /* Which of the two holds the result is CUB's to say. */
    template <class KEY, class VALUE>
    static cudaError_t SortPairs(void *temp, size_t &bytes, DoubleBuffer<KEY> &keys,
                                 DoubleBuffer<VALUE> &values, int n, int begin = 0,
                                 int end = sizeof(KEY) * 8, cudaStream_t stream = nullptr)
    {
        if (emulated_asks(temp, bytes))
            return cudaSuccess;
        const cudaError_t error =
            SortPairs(temp, bytes, (const KEY *)keys.Current(), keys.Alternate(),
                      (const VALUE *)values.Current(), values.Alternate(), n, begin, end, stream);
        keys.selector ^= 1;
        values.selector ^= 1;
        return error;
    }
};

struct DeviceSelect {
    template <class FROM, class FLAG, class TO>
    static cudaError_t Flagged(void *temp, size_t &bytes, FROM from, const FLAG *flags, TO *to,
                               uint32_t *n_to, int n, cudaStream_t stream = nullptr)
    {
        if (emulated_asks(temp, bytes))
            return cudaSuccess;
        return emulated_run(temp, bytes, stream, [=] {
            *n_to = 0;
            for (int i = 0; i < n; i++)
                if (flags[i])
                    to[(*n_to)++] = from[i];
        });
    }
    template <class T>
    static cudaError_t Unique(void *temp, size_t &bytes, const T *from, T *to, uint32_t *n_to,
                              int n, cudaStream_t stream = nullptr)
    {
        if (emulated_asks(temp, bytes))
            return cudaSuccess;
        return emulated_run(temp, bytes, stream, [=] {
            *n_to = 0;
            for (int i = 0; i < n; i++)
                if (i == 0 || from[i] != from[i - 1])
                    to[(*n_to)++] = from[i];
        });
    }
};

} // namespace cub

#endif
