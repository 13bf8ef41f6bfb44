/* The operators of generalized histograms on the device: a cell in shared memory, a cell in global
 * memory, and how each is updated when many threads do it at once.
 *
 * In shared memory cell i of n lies in planes of words, so that neighbouring cells lie in
 * neighbouring banks whatever a cell holds. An update that would leave the cell as it is writes
 * nothing: cells of min, max, argmax and full saturated sums then take no atomic at all. */
#pragma once

#include <cuda_runtime.h>
#include <limits.h>
#include <stdint.h>

#include "lab/kernels/generalized.h"

/* What the operators of one word or double word have in common. OP gives neutral and combine. */
template <class OP, class VALUE> struct gen_cell {
    typedef VALUE value;
    enum { SHARED_BYTES = sizeof(VALUE), LOCKED = 0 };

    static __device__ __forceinline__ void shared_clear(void *memory, uint32_t n, uint32_t i)
    {
        (void)n;
        ((VALUE *)memory)[i] = OP::neutral();
    }
    static __device__ __forceinline__ VALUE shared_read(const void *memory, uint32_t n, uint32_t i)
    {
        (void)n;
        return ((const VALUE *)memory)[i];
    }
    static __device__ __forceinline__ void shared_update(void *memory, uint32_t n, uint32_t i,
                                                         VALUE v)
    {
        (void)n;
        OP::update((VALUE *)memory + i, v);
    }
    static __device__ __forceinline__ void global_update(VALUE *cell, uint32_t *lock, VALUE v)
    {
        (void)lock;
        OP::update(cell, v);
    }
};

/* Compare and swap until it holds, or until there is nothing to change. */
template <class OP, class VALUE> __device__ __forceinline__ void gen_swap(VALUE *cell, VALUE v)
{
    VALUE old = *(volatile VALUE *)cell;
    for (;;) {
        const VALUE next = OP::combine(old, v);
        if (next == old)
            return;
        const VALUE seen = atomicCAS(cell, old, next);
        if (seen == old)
            return;
        old = seen;
    }
}

/* A double word that lies in shared memory as two planes of words, the low ones first. */
static __device__ __forceinline__ unsigned long long gen_wide_read(const void *memory, uint32_t n,
                                                                   uint32_t i)
{
    const uint32_t *const word = (const uint32_t *)memory;
    return (unsigned long long)word[n + i] << 32 | word[i];
}

/* Sums, modulo 2^32 or 2^64. */
template <class OP, class VALUE> struct gen_sum : gen_cell<OP, VALUE> {
    typedef VALUE input;
    static __device__ __forceinline__ VALUE neutral()
    {
        return 0;
    }
    static __device__ __forceinline__ VALUE combine(VALUE a, VALUE b)
    {
        return a + b;
    }
    static __device__ __forceinline__ VALUE make(input v, uint64_t)
    {
        return v;
    }
    static __device__ __forceinline__ void update(VALUE *cell, VALUE v)
    {
        atomicAdd(cell, v);
    }
};

struct gen_add32 : gen_sum<gen_add32, uint32_t> {
};

/* Shared memory has native atomics of 32 bits only, so a cell is two words there: the low one is
 * added to with its old value seen, so that each of its overflows is carried once. */
struct gen_add64 : gen_sum<gen_add64, unsigned long long> {
    static __device__ __forceinline__ void shared_clear(void *memory, uint32_t n, uint32_t i)
    {
        ((uint32_t *)memory)[i] = 0;
        ((uint32_t *)memory)[n + i] = 0;
    }
    static __device__ __forceinline__ value shared_read(const void *memory, uint32_t n, uint32_t i)
    {
        return gen_wide_read(memory, n, i);
    }
    static __device__ __forceinline__ void shared_update(void *memory, uint32_t n, uint32_t i,
                                                         value v)
    {
        uint32_t *const word = (uint32_t *)memory;
        const uint32_t low = (uint32_t)v;
        const uint32_t old = atomicAdd(word + i, low);
        const uint32_t high = (uint32_t)(v >> 32) + (old + low < old);
        if (high != 0)
            atomicAdd(word + n + i, high);
    }
};

struct gen_sat24 : gen_cell<gen_sat24, uint32_t> {
    typedef uint32_t input;
    static __device__ __forceinline__ value neutral()
    {
        return 0;
    }
    static __device__ __forceinline__ value combine(value a, value b)
    {
        return min(a + b, (value)RW_GEN_SAT24_MOST); /* both are at most 2^24 - 1 */
    }
    static __device__ __forceinline__ value make(input v, uint64_t)
    {
        return min(v, (value)RW_GEN_SAT24_MOST);
    }
    static __device__ __forceinline__ void update(value *cell, value v)
    {
        gen_swap<gen_sat24>(cell, v);
    }
};

struct gen_min : gen_cell<gen_min, int32_t> {
    typedef int32_t input;
    static __device__ __forceinline__ value neutral()
    {
        return INT_MAX;
    }
    static __device__ __forceinline__ value combine(value a, value b)
    {
        return min(a, b);
    }
    static __device__ __forceinline__ value make(input v, uint64_t)
    {
        return v;
    }
    static __device__ __forceinline__ void update(value *cell, value v)
    {
        if (v < *(volatile value *)cell)
            atomicMin(cell, v);
    }
};

struct gen_max : gen_cell<gen_max, int32_t> {
    typedef int32_t input;
    static __device__ __forceinline__ value neutral()
    {
        return INT_MIN;
    }
    static __device__ __forceinline__ value combine(value a, value b)
    {
        return max(a, b);
    }
    static __device__ __forceinline__ value make(input v, uint64_t)
    {
        return v;
    }
    static __device__ __forceinline__ void update(value *cell, value v)
    {
        if (v > *(volatile value *)cell)
            atomicMax(cell, v);
    }
};

/* Pairs as rw_gen_pair packs them: the larger is the better. */
template <class OP> struct gen_argmax : gen_cell<OP, unsigned long long> {
    typedef int32_t input;
    static __device__ __forceinline__ unsigned long long neutral()
    {
        return 0;
    }
    static __device__ __forceinline__ unsigned long long combine(unsigned long long a,
                                                                 unsigned long long b)
    {
        return max(a, b);
    }
    static __device__ __forceinline__ unsigned long long make(input v, uint64_t place)
    {
        return rw_gen_pair(v, (uint32_t)place);
    }
};

struct gen_argmax_cas : gen_argmax<gen_argmax_cas> {
    static __device__ __forceinline__ void update(value *cell, value v)
    {
        gen_swap<gen_argmax_cas>(cell, v);
    }
};

/* The same, as an operator whose cell no atomic could hold would be updated: its two words are read
 * and written under a lock of the cell. */
struct gen_argmax_lock : gen_argmax<gen_argmax_lock> {
    enum { SHARED_BYTES = sizeof(value) + sizeof(uint32_t), LOCKED = 1 };

    static __device__ __forceinline__ void shared_clear(void *memory, uint32_t n, uint32_t i)
    {
        for (uint32_t plane = 0; plane < 3; plane++)
            ((uint32_t *)memory)[plane * n + i] = 0; /* low, high, lock */
    }
    static __device__ __forceinline__ value shared_read(const void *memory, uint32_t n, uint32_t i)
    {
        return gen_wide_read(memory, n, i);
    }
    static __device__ __forceinline__ void shared_update(void *memory, uint32_t n, uint32_t i,
                                                         value v)
    {
        uint32_t *const word = (uint32_t *)memory;
        update<false>(word + i, word + n + i, word + 2 * n + i, v);
    }
    static __device__ __forceinline__ void global_update(value *cell, uint32_t *lock, value v)
    {
        uint32_t *const word = (uint32_t *)cell; /* the low word first */
        update<true>(word, word + 1, lock, v);
    }

  private:
    /* Lanes of a warp that want the same lock take it one after another: each pass of the loop one
     * of them is done, and its branch ends before the others try again. */
    template <bool GLOBAL>
    static __device__ __forceinline__ void update(uint32_t *low, uint32_t *high, uint32_t *lock,
                                                  value v)
    {
        /* High words only grow, so that what is below one now stays below; whoever finds the lock
         * taken looks again, since its owner may be raising the word. */
        const uint32_t top = (uint32_t)(v >> 32);
        for (bool done = top < *(volatile uint32_t *)high; !done;) {
            if (atomicExch(lock, 1u) == 0) {
                fence<GLOBAL>(); /* what the last owner wrote is seen */
                const value old =
                    (value)(*(volatile uint32_t *)high) << 32 | *(volatile uint32_t *)low;
                const value next = combine(old, v);
                if (next != old) {
                    *(volatile uint32_t *)low = (uint32_t)next;
                    *(volatile uint32_t *)high = (uint32_t)(next >> 32);
                }
                fence<GLOBAL>(); /* written before the lock is given back */
                atomicExch(lock, 0u);
                done = true;
            } else {
                done = top < *(volatile uint32_t *)high;
            }
        }
    }
    template <bool GLOBAL> static __device__ __forceinline__ void fence()
    {
        if (GLOBAL)
            __threadfence();
        else
            __threadfence_block();
    }
};
