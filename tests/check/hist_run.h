/* One call of every method, compared with serial. Results and scratch are poisoned and fenced. */
#pragma once

#include "gpu/device/device.h"
#include "gpu/hist/hist.h"
#include "made_codes.h"

enum { HIST_MOST_METHODS = 32, HIST_MOST_LISTED = 20, HIST_RESULTS = 4, HIST_POOLS = 3 };

/* A matrix; made when the first call over it is. */
struct hist_matrix_spec {
    int bits;
    uint32_t n_bins, n_features, n_docs;
    enum rw_made_codes codes;
    uint32_t distinct; /* codes; of RW_CODES_SYNTH: queries, and features and documents come out */
};

enum hist_lists { LIST_NONE, LIST_ASCENDING, LIST_SHUFFLED, LIST_ALL, N_LISTS };

struct hist_call_spec {
    enum rw_hist_sums sums;
    enum hist_lists list;
    enum rw_made_nodes nodes;
    enum rw_made_lambdas lambdas;
    int32_t largest;
    int zero_skip;
};

struct hist_tally {
    const struct rw_hist_method *method;
    uint64_t passed, refused, failed, skipped; /* refused: undeclared use, as it should be */
};

/* Device memory that grows; fenced on both sides. */
struct hist_buffer {
    unsigned char *d; /* the allocation: fence, content, fence */
    size_t room, bytes;
};

struct hist_run {
    struct rw_ctx *ctx;
    struct rw_device *device;
    uint64_t seed;
    uint64_t every;   /* only one call of so many, chosen by seed */
    uint64_t n_calls; /* asked for so far */
    int dead;         /* the device failed: no further checks */
    int capture;      /* calls are captured into a graph, which is run twice */
    const char *stage;
    struct hist_tally tally[HIST_MOST_METHODS];
    int n_methods;

    struct hist_matrix_spec spec;
    int have_matrix;
    struct rw_made_columns columns;
    struct rw_hist_matrix *matrix;
    uint16_t *frequent;
    uint32_t *row; /* [n_features + 1] where each feature's cells begin */
    struct hist_buffer d_row, d_frequent, d_list, d_node, d_lambda, d_hess, d_moved, d_float,
        d_scratch, d_pieces;
    struct hist_buffer d_result[HIST_RESULTS]; /* count, lambda, weight, float */
    struct hist_buffer d_parent, d_pool[HIST_POOLS];
    /* Of the call at hand. */
    struct rw_hist_call call;
    struct rw_hist_node node[RW_HIST_MAX_NODES];
    uint32_t *list; /* [n_list] */
    uint64_t n_list;
    int32_t *lambda, *weight;
    float *value;
    uint64_t n_cells;
    void *expected[HIST_RESULTS]; /* serial's */
    float *magnitude;             /* sums of |float weight| */
    unsigned char *got;           /* a result with its fences */
};

/* method: NULL for all. Returns 0, or -1 with a text in the context. */
int hist_run_init(struct hist_run *run, struct rw_ctx *ctx, const char *method, uint64_t seed);
void hist_run_release(struct hist_run *run);

/* From now on calls are over this matrix. */
void hist_run_matrix(struct hist_run *run, const struct hist_matrix_spec *spec);
/* Runs every method, or sees it refuse. */
void hist_run_call(struct hist_run *run, const struct hist_call_spec *spec);
/* Makes matrix and inputs of the call at hand, without running a method; 0 or -1. */
int hist_run_prepare(struct hist_run *run, const struct hist_call_spec *spec);
/* Does the method declare what the call at hand asks? Runs it, or sees it refuse. */
int hist_run_may(const struct hist_run *run, const struct rw_hist_method *method);
void hist_run_one(struct hist_run *run, struct hist_tally *tally,
                  const struct hist_call_spec *spec);
/* Records a failure of a method, with the case. */
void hist_run_failed(struct hist_run *run, struct hist_tally *tally,
                     const struct hist_call_spec *spec, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Content of a buffer on the device; the room grows; content and fences are poisoned. 0 or -1. */
int hist_buffer_make(struct hist_run *run, struct hist_buffer *buffer, size_t bytes);
/* Content copied; 0 or -1. */
int hist_buffer_fill(struct hist_run *run, struct hist_buffer *buffer, const void *from,
                     size_t bytes);
void *hist_buffer_at(const struct hist_buffer *buffer);
