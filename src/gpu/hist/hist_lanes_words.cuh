/* A lane's words of codes, wherever they are: on the device, or in the host's memory. */
#ifndef RW_GPU_HIST_LANES_WORDS_CUH
#define RW_GPU_HIST_LANES_WORDS_CUH

#include <cuda_runtime.h>

#include "gpu/hist/hist_lanes_plan.cuh"

enum : uint32_t { NO_DOC = 0xffffffffu };

/* A lane's words: one code of 16 bits, or 32 bits of smaller ones. */
template <int BITS> struct lane_word {
    using type = uint32_t;
};
template <> struct lane_word<16> {
    using type = uint16_t;
};

/* Where a lane's words begin. The compiler is kept from taking the sum apart again. */
template <class S>
static __device__ __forceinline__ const char *lane_words(const struct plan_row &row, uint32_t slot)
{
    const char *at = (const char *)row.d_word + slot * sizeof(typename lane_word<S::BITS>::type);
    asm volatile("" : "+l"(at));
    return at;
}

/* Where the codes are: all on the device, */
struct all_here {
};
/* or those of the documents from n_here on in the host's memory, whence these kernels read them
 * themselves, a warp a row of 128 bytes. */
struct far_words {
    const char *far_word; /* struct far_row's */
    uint32_t n_here;
    unsigned long long *d_bytes; /* to which what was read is added; NULL: nowhere */
};

/* A lane's words of any document. */
template <class S, class WHERE> struct words;
template <class S> struct words<S, all_here> {
    using word_type = typename lane_word<S::BITS>::type;
    const char *first;

    __device__ __forceinline__ words(const struct plan_row &row, uint32_t slot, all_here)
        : first(lane_words<S>(row, slot))
    {
    }
    /* again: others may read the same soon */
    template <bool AGAIN>
    __device__ __forceinline__ word_type of(uint32_t doc, uint32_t doc_bytes) const
    {
        const word_type *at = (const word_type *)(first + (uint64_t)doc * doc_bytes);
        return AGAIN ? *at : __ldcs(at);
    }
};
template <class S> struct words<S, far_words> {
    using word_type = typename lane_word<S::BITS>::type;
    const char *first, *far;
    uint32_t n_here;

    __device__ __forceinline__ words(const struct plan_row &row, uint32_t slot,
                                     const struct far_words &where)
        : first(lane_words<S>(row, slot)), far(where.far_word + slot * sizeof(word_type)),
          n_here(where.n_here)
    {
    }
    template <bool> __device__ __forceinline__ word_type of(uint32_t doc, uint32_t doc_bytes) const
    {
        return *(const word_type *)((doc < n_here ? first : far) + (uint64_t)doc * doc_bytes);
    }
};

/* Where codes are, and what was read of the host's memory: a lane counts documents of its own. A
 * base of those that read, which takes no room in them where there is nothing to count. */
template <class WHERE> struct reads;
template <> struct reads<all_here> {
    __device__ __forceinline__ all_here place() const
    {
        return all_here{};
    }
    __device__ __forceinline__ void see(uint32_t)
    {
    }
    __device__ __forceinline__ void add_up(uint32_t) const
    {
    }
};
template <> struct reads<far_words> {
    struct far_words where;
    uint32_t n;

    __device__ __forceinline__ const struct far_words &place() const
    {
        return where;
    }
    __device__ __forceinline__ void see(uint32_t doc)
    {
        n += doc >= where.n_here && doc != NO_DOC;
    }
    __device__ __forceinline__ void add_up(uint32_t doc_bytes) const
    {
        const uint32_t all = __reduce_add_sync(0xffffffffu, n);
        if (where.d_bytes && threadIdx.x % WARP == 0 && all)
            atomicAdd(where.d_bytes, (unsigned long long)all * doc_bytes);
    }
};

#endif
