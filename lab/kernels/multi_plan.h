/* How many sub-histograms, passes and blocks a generalized histogram takes: the analytic model of
 * Henriksen et al., "Compiling generalized histograms for GPU", sections III-C, III-D, IV-C and
 * V-A. Host arithmetic only. Names in brackets are the document's. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a cell is updated (section III-B). */
enum rw_multi_strategy {
    RW_MULTI_HARDWARE, /* HDW: one atomic of the hardware */
    RW_MULTI_CAS,      /* compare and swap of 32 or 64 bits */
    RW_MULTI_LOCK      /* XCG: a lock a cell, taken by exchange */
};
enum { RW_MULTI_STRATEGIES = 3 };

enum rw_multi_memory { RW_MULTI_AUTO, RW_MULTI_SHARED, RW_MULTI_GLOBAL };

/* A device; all figures at least 1. */
struct rw_multi_figures {
    uint64_t shared_bytes;  /* of one block, on its multiprocessor alone [L] */
    uint64_t l2_bytes;      /* [L2] */
    uint64_t l2_line;       /* bytes that L2 fetches at once [L2 line] */
    uint64_t n_threads;     /* that run at once [T_hw] */
    uint64_t block_threads; /* of the largest block [B] */
    uint64_t n_multiprocessors;
};

/* A histogram to be made. */
struct rw_multi_work {
    enum rw_multi_strategy strategy;
    uint64_t cell_bytes; /* of a bin, its lock included [el_size] */
    double mean_bytes;   /* of each array that holds a part of the bin [el_size avg] */
    uint64_t n;          /* elements [N] */
    uint64_t n_bins;     /* [H] */
    double race;         /* of H elements in a row, H / race bins are touched [RF]; >= 1 */
};

struct rw_multi_choice {
    uint64_t m;      /* sub-histograms: a block's (shared) or the device's (global) [M] */
    uint64_t c;      /* threads that share one, rounded up [C] */
    uint64_t s;      /* passes [S] */
    uint64_t n_bins; /* of a pass [H_chk] */
};

/* Equations 1 to 3; T counts the threads of one largest block a multiprocessor. A cell that does
 * not fit shared memory gives s = 0. */
struct rw_multi_choice rw_multi_shared(const struct rw_multi_figures *device,
                                       const struct rw_multi_work *work);
/* Equations 4 to 6; equation 4 divides by max(1, L2 line / el_size avg) where the print has min:
 * only so does a line that holds many cells shrink the room that sparse bins leave. */
struct rw_multi_choice rw_multi_global(const struct rw_multi_figures *device,
                                       const struct rw_multi_work *work);
/* Section V-A, the document's devices: shared memory up to 3, 4 and 6 passes for hardware, CAS and
 * lock. */
int rw_multi_prefers_shared(enum rw_multi_strategy strategy, uint64_t s);
/* Blocks for each of n_out histograms of n elements, section IV-C: ceil((T / B) / N_out), where
 * T / B is blocks of `threads` threads and `slots` of them run at once. */
uint64_t rw_multi_blocks(uint64_t slots, uint64_t threads, uint64_t n, uint64_t n_out);

/* What is launched. */
struct rw_multi_plan {
    enum rw_multi_memory memory; /* shared or global */
    uint64_t m, s, n_bins;       /* as in the choice, rounded to what the kernels run well with */
    uint64_t threads;            /* of a block */
    uint64_t blocks;             /* of one histogram and one pass [K] */
};

/* The choice for today's devices, or what is forced: memory AUTO, m and s 0 are chosen. The
 * equations say how many copies there is room for; how many of those are of use, how many blocks
 * run at once and how many passes are worth it has moved since, and is in tuning.h. A forced m that
 * does not fit one pass gets as many as it needs; an s above is kept. 0, or -1: shared memory was
 * forced and cannot hold m cells. */
int rw_multi_plan_make(const struct rw_multi_figures *device, const struct rw_multi_work *work,
                       uint64_t n_out, enum rw_multi_memory memory, uint64_t m, uint64_t s,
                       struct rw_multi_plan *plan);

/* The sub-histograms that the kernels use in shared memory of the m that there is room for. Copies
 * of a bin lie side by side, so that with multiples of 32 (and powers of two below) the lanes of a
 * warp keep to their banks. Loops and locks take such a number where it gives up at most a quarter:
 * fewer copies cost them more than banks do. The hardware's own atomics gain nothing from more
 * copies than a warp has lanes. */
uint64_t rw_multi_copies(enum rw_multi_strategy strategy, uint64_t m);

/* Groups that the inspector looks at for the race factor: group i is the elements
 * [i * step, i * step + length). */
struct rw_multi_sample {
    uint64_t n_groups, length, step;
};
struct rw_multi_sample rw_multi_sample_of(uint64_t n, uint64_t n_bins);
/* The race factor of a sample that touched `touched` bins, each group's counted by itself; 1 where
 * nothing was. */
double rw_multi_race(const struct rw_multi_sample *sample, uint64_t touched);

#ifdef __cplusplus
}
#endif
