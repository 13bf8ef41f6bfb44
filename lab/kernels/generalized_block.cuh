/* What the kernels of generalized histograms share: a call as a kernel sees it, the walk over the
 * elements, the kernel that merges sub-histograms, and the choice of an operator's instance. */
#pragma once

#include "lab/kernels/generalized_ops.cuh"
#include "lab/kernels/lab_tuning.h"

/* Passed by value; a vector's bin is `width` bins here. */
struct gen_args {
    const uint32_t *d_index;
    const void *d_value;
    uint64_t n;               /* elements of a histogram */
    uint32_t n_bins, n_cells; /* n_cells = n_bins * width */
    uint32_t width;
    uint32_t m;          /* sub-histograms of a block (shared) or of the device (global) */
    uint32_t passes;     /* that run side by side (shared) */
    uint32_t pass_cells; /* of a pass */
    uint32_t first_cell; /* of this pass (global) */
    uint32_t groups;     /* blocks a histogram and pass */
    void *d_cell;        /* parts or the result */
    uint32_t *d_lock;    /* global memory, with locks: one a cell */
    /* Global memory: from a bin to the next and from a copy to the next, in cells. */
    uint32_t bin_step;
    uint64_t copy_step;
};

static inline struct gen_args gen_args_of(const struct rw_gen_call *call)
{
    struct gen_args a = {};
    a.d_index = call->d_index;
    a.d_value = call->d_value;
    a.n = call->n;
    a.n_bins = call->n_bins;
    a.n_cells = call->n_bins * call->width;
    a.width = call->width;
    a.m = (uint32_t)call->plan.m;
    a.passes = (uint32_t)call->plan.s;
    a.pass_cells = (uint32_t)call->plan.n_bins;
    a.groups = (uint32_t)call->plan.blocks;
    return a;
}

/* Where an element's value comes from. */
enum gen_source {
    GEN_ONES,   /* it is 1 */
    GEN_VALUES, /* an array */
    GEN_VECTORS /* an array of vectors: number j of element i is added to cell index * width + j */
};

/* KEEP: L2 should keep what is read, for the blocks of the other passes; else it should sooner keep
 * the cells. */
template <bool KEEP, class T> __device__ __forceinline__ T gen_load(const T *from)
{
    return KEEP ? __ldg(from) : __ldcs(from);
}

/* Four of T from `from` on, by 16 bytes at a time where it is aligned. */
template <class T> struct gen_four {
    T at[4];
};

template <bool KEEP, class T>
__device__ __forceinline__ struct gen_four<T> gen_load_four(const T *from, bool wide) {
    struct gen_four<T> four;
    if (wide && sizeof(T) == 4) {
        const uint4 word = gen_load<KEEP>((const uint4 *)from);
        four.at[0] = (T)word.x;
        four.at[1] = (T)word.y;
        four.at[2] = (T)word.z;
        four.at[3] = (T)word.w;
    } else if (wide) {
        const ulonglong2 low = gen_load<KEEP>((const ulonglong2 *)from);
        const ulonglong2 high = gen_load<KEEP>((const ulonglong2 *)from + 1);
        four.at[0] = (T)low.x;
        four.at[1] = (T)low.y;
        four.at[2] = (T)high.x;
        four.at[3] = (T)high.y;
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
            four.at[j] = gen_load<KEEP>(from + j);
    }
    return four;
}

/* add(index, value) for the elements of worker `worker` of n_workers: four in a row, UNROLL times
 * before any is added. What stands before the first aligned index, and the last few, go one by
 * one. */
template <class OP, int SOURCE, int UNROLL, bool KEEP, class Add>
__device__ __forceinline__ void gen_visit_fours(const uint32_t *index,
                                                const typename OP::input *value, uint64_t n,
                                                uint64_t worker, uint64_t n_workers, Add add)
{
    typedef typename OP::input input;
    const uint64_t before = (16 - ((uintptr_t)index & 15)) % 16 / 4;
    const uint64_t head = before < n ? before : n;
    const uint64_t n_fours = (n - head) / 4, tail = head + 4 * n_fours;
    const bool wide = SOURCE == GEN_ONES || ((uintptr_t)(value + head) & 15) == 0;
    uint64_t q = worker;
    for (; q + (UNROLL - 1) * n_workers < n_fours; q += UNROLL * n_workers) {
        struct gen_four<uint32_t> at[UNROLL];
        struct gen_four<input> v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const uint64_t place = head + 4 * (q + u * n_workers);
            at[u] = gen_load_four<KEEP>(index + place, true);
            if (SOURCE != GEN_ONES)
                v[u] = gen_load_four<KEEP>(value + place, wide);
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const uint64_t place = head + 4 * (q + u * n_workers);
#pragma unroll
            for (int j = 0; j < 4; j++)
                add(at[u].at[j], OP::make(SOURCE == GEN_ONES ? (input)1 : v[u].at[j], place + j));
        }
    }
    for (; q < n_fours; q += n_workers) {
        const uint64_t place = head + 4 * q;
        const struct gen_four<uint32_t> at = gen_load_four<KEEP>(index + place, true);
#pragma unroll
        for (int j = 0; j < 4; j++)
            add(at.at[j], OP::make(SOURCE == GEN_ONES ? (input)1 : value[place + j], place + j));
    }
    for (uint64_t e = worker; e < head + (n - tail); e += n_workers) {
        const uint64_t place = e < head ? e : tail + (e - head);
        add(index[place], OP::make(SOURCE == GEN_ONES ? (input)1 : value[place], place));
    }
}

/* Vectors: neighbouring workers take neighbouring numbers. */
template <class OP, class Add>
__device__ __forceinline__ void gen_visit_vectors(const struct gen_args &a, const uint32_t *index,
                                                  const typename OP::input *value, uint64_t worker,
                                                  uint64_t n_workers, Add add)
{
    const uint64_t n = a.n * a.width;
    for (uint64_t e = worker; e < n; e += n_workers) {
        const uint64_t i = e / a.width;
        const uint32_t at = __ldg(index + i);
        if (at < a.n_bins)
            add(at * a.width + (uint32_t)(e - i * a.width),
                OP::make(value ? __ldcs(value + e) : (typename OP::input)1, i));
    }
}

template <class OP, int SOURCE, int UNROLL, bool KEEP, class Add>
__device__ __forceinline__ void gen_visit(const struct gen_args &a, uint32_t hist, uint64_t worker,
                                          uint64_t n_workers, Add add)
{
    typedef typename OP::input input;
    const uint32_t *const index = a.d_index + hist * a.n;
    const input *const value =
        a.d_value ? (const input *)a.d_value + hist * a.n * a.width : (const input *)NULL;
    if (SOURCE == GEN_VECTORS)
        gen_visit_vectors<OP>(a, index, value, worker, n_workers, add);
    else
        gen_visit_fours<OP, SOURCE, UNROLL, KEEP>(index, value, a.n, worker, n_workers, add);
}

/* ---- Merging ---- */

enum { GEN_MERGE_THREADS = 256, GEN_MERGE_MOST_LANES = 32 };

/* Cell c of the result is made of n_parts cells; part p lies at
 * c / n_row * n_parts * n_row + c % n_row + p * n_row (parts of blocks: a row is a histogram), or,
 * copies, at c * n_parts + p. */
template <class OP, bool COPIES>
__global__ void __launch_bounds__(GEN_MERGE_THREADS)
    gen_merge_kernel(const typename OP::value *d_part, typename OP::value *d_out, uint64_t n_cells,
                     uint32_t n_row, uint32_t n_parts, uint32_t n_lanes)
{
    typedef typename OP::value value;
    __shared__ value shared[GEN_MERGE_THREADS];
    const uint32_t cells = GEN_MERGE_THREADS / n_lanes; /* of a block */
    /* Neighbouring threads read neighbouring words: cells of a row, or the copies of a cell. */
    const uint32_t lane = COPIES ? threadIdx.x % n_lanes : threadIdx.x / cells;
    const uint32_t local = COPIES ? threadIdx.x / n_lanes : threadIdx.x % cells;
    const uint64_t cell = (uint64_t)blockIdx.x * cells + local;
    value sum = OP::neutral();
    if (cell < n_cells) {
        const uint64_t from =
            COPIES ? cell * n_parts : cell / n_row * n_parts * n_row + cell % n_row;
        const uint64_t step = COPIES ? 1 : n_row;
#pragma unroll 8
        for (uint32_t p = lane; p < n_parts; p += n_lanes)
            sum = OP::combine(sum, d_part[from + p * step]);
    }
    shared[lane * cells + local] = sum;
    __syncthreads();
    for (uint32_t half = n_lanes / 2; half > 0; half /= 2) {
        if (lane < half)
            shared[lane * cells + local] =
                OP::combine(shared[lane * cells + local], shared[(lane + half) * cells + local]);
        __syncthreads();
    }
    if (lane == 0 && cell < n_cells)
        d_out[cell] = shared[local];
}

template <class OP, bool COPIES>
static int gen_merge(const void *d_part, void *d_out, uint64_t n_cells, uint32_t n_row,
                     uint32_t n_parts, cudaStream_t stream)
{
    typedef typename OP::value value;
    uint32_t n_lanes = 1; /* a power of 2: the lanes fold in halves */
    /* Many cells fill the device without lanes, and then whole rows are read at once. */
    while (n_lanes < GEN_MERGE_MOST_LANES && n_lanes * 4 <= n_parts &&
           (COPIES || n_cells * n_lanes < RW_TUNE_MULTI_MERGE_THREADS))
        n_lanes *= 2;
    const uint32_t cells = GEN_MERGE_THREADS / n_lanes;
    const uint64_t blocks = (n_cells + cells - 1) / cells;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    gen_merge_kernel<OP, COPIES><<<(unsigned)blocks, GEN_MERGE_THREADS, 0, stream>>>(
        (const value *)d_part, (value *)d_out, n_cells, n_row, n_parts, n_lanes);
    return cudaGetLastError();
}

/* ---- Operators ---- */

template <class OP_, int SOURCE_> struct gen_instance {
    typedef OP_ OP;
    enum { SOURCE = SOURCE_ };
};

template <class OP, class Launch>
static int gen_with_values(const struct rw_gen_call *call, Launch launch)
{
    return call->width > 1 ? launch(gen_instance<OP, GEN_VECTORS>())
                           : launch(gen_instance<OP, GEN_VALUES>());
}

/* Sums may be of ones. */
template <class OP, class Launch>
static int gen_with_sums(const struct rw_gen_call *call, Launch launch)
{
    return call->width == 1 && !call->d_value ? launch(gen_instance<OP, GEN_ONES>())
                                              : gen_with_values<OP>(call, launch);
}

/* launch(gen_instance<OP, SOURCE>()) of the operator and the source of values that a call has. */
template <class Launch> static int gen_dispatch(const struct rw_gen_call *call, Launch launch)
{
    switch (call->op) {
    case RW_GEN_ADD32:
        return gen_with_sums<gen_add32>(call, launch);
    case RW_GEN_ADD64:
        return gen_with_sums<gen_add64>(call, launch);
    case RW_GEN_SAT24:
        return gen_with_sums<gen_sat24>(call, launch);
    case RW_GEN_MIN:
        return gen_with_values<gen_min>(call, launch);
    case RW_GEN_MAX:
        return gen_with_values<gen_max>(call, launch);
    case RW_GEN_ARGMAX:
        return call->strategy == RW_MULTI_LOCK ? launch(gen_instance<gen_argmax_lock, GEN_VALUES>())
                                               : launch(gen_instance<gen_argmax_cas, GEN_VALUES>());
    default:
        return cudaErrorInvalidValue;
    }
}
