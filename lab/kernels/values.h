/* Histograms of raw values over bins of any width (Milic et al., "Parallelizing general histogram
 * application for CUDA architectures"): what a histogram is before values have become codes.
 *
 * Bin b holds edge[b] <= x < edge[b + 1]; the last bin holds its upper edge too if `last_closed`.
 * What is outside of all bins is ignored, and so is NaN; -0 equals +0; infinities are values like
 * any other (+inf is counted only in a closed last bin whose upper edge it is). Edges ascend;
 * equal ones make an empty bin; none is NaN.
 *
 * A range and a mask narrow what is looked at: only lo <= x < hi, and only x with mask 1.
 *
 * To add a method: (1) write its two functions and its entry in a file values_<method>.cu,
 * (2) declare it below, (3) give it a row in values.c's table. lab/tests reads the table.
 *
 * Rules common to all: launches go to the call's stream; nothing is allocated and nothing waits for
 * the device; scratch is the caller's, of the size that `scratch_bytes` says. Offsets have 64 bits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rw_values_type {
    RW_VALUES_U8,
    RW_VALUES_U16,
    RW_VALUES_I32,
    RW_VALUES_F32,
    RW_VALUES_F64,
    RW_VALUES_N_TYPES
};
const char *rw_values_type_name(enum rw_values_type type);
/* Bytes of a value; of an edge, which is int32_t for integers, else what the values are. */
size_t rw_values_bytes(enum rw_values_type type);
size_t rw_values_edge_bytes(enum rw_values_type type);

/* An edge: i for u8, u16 and i32. */
union rw_values_number {
    int32_t i;
    float f;
    double d;
};

/* How threads share the input ("Parallel computation patterns (histogram)"). Results are alike. */
enum rw_values_partition {
    RW_VALUES_INTERLEAVED, /* neighbouring threads read neighbouring values */
    RW_VALUES_SECTIONED    /* each thread has a section of its own: the document's bad example */
};

enum { RW_VALUES_MOST_BINS = 1 << 26 };

struct rw_values_call {
    enum rw_values_type type;
    enum rw_values_partition partition;
    const void *d_value; /* [n] aligned as its type */
    uint64_t n;
    const void *d_edge; /* [n_bins + 1] */
    uint32_t n_bins;
    int last_closed;
    int has_range;
    union rw_values_number lo, hi;
    const uint8_t *d_mask;   /* [n] 0: left out; NULL: none is */
    const int32_t *d_weight; /* [n]; NULL: counts only */
    int add; /* 1: adds to the result, in any order with others that do; 0: clears it first */
    uint64_t *d_count; /* [n_bins] */
    int64_t *d_sum;    /* [n_bins] sums of weights, exact; NULL without weights */
    void *d_scratch;   /* scratch_bytes(call) bytes, 256-byte aligned */
    int n_multiprocessors;
    size_t shared_bytes; /* that a block may ask for */
};

struct rw_values_method {
    const char *name;
    const char *from; /* which document */
    int sectioned;    /* takes RW_VALUES_SECTIONED */
    /* Scratch that a call needs; looks at sizes and at which pointers are NULL only. */
    size_t (*scratch_bytes)(const struct rw_values_call *call);
    /* Enqueues the work. `stream` is a cudaStream_t. Returns a cudaError_t. */
    int (*run)(const struct rw_values_call *call, void *stream);
};

extern const struct rw_values_method rw_values_privatized;
extern const struct rw_values_method rw_values_sort_search;

/* The table, by index; NULL past the end. */
const struct rw_values_method *rw_values_method_at(int i);
const struct rw_values_method *rw_values_method_find(const char *name);

/* Checks, then enqueues. RW_ERR_UNSUPPORTED for what the method does not take, RW_ERR_ARGUMENT for
 * a call that none could take. */
int rw_values_run(struct rw_ctx *ctx, const struct rw_values_method *method,
                  const struct rw_values_call *call, void *stream);
/* RW_ERR_ARGUMENT unless edges ([n_bins + 1], on the host) ascend and none is NaN. */
int rw_values_check_edges(struct rw_ctx *ctx, enum rw_values_type type, const void *edge,
                          uint32_t n_bins);

#ifdef __cplusplus
}
#endif
