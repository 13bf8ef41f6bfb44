/* Made values, edges, masks and weights of one case of `check_hist --stage values`. */
#pragma once

#include "lab/kernels/values_serial.h"
#include "tests/check/hist_run.h"

enum values_filter { FILTER_NONE, FILTER_RANGE, FILTER_MASK, FILTER_BOTH, N_FILTERS };
enum values_weights {
    WEIGHTS_NONE,
    WEIGHTS_SMALL,
    WEIGHTS_ANY,
    WEIGHTS_LOW,
    WEIGHTS_HIGH,
    N_WEIGHTS
};
enum values_mix { MIX_ANY, MIX_SPECIAL, MIX_EQUAL, MIX_SORTED, N_MIXES };

struct values_spec {
    enum rw_values_type type;
    uint32_t n_bins;
    int uneven, last_closed;
    uint64_t n;
    uint32_t shift; /* values before the first one, so that it is not aligned to 16 bytes */
    enum values_filter filter;
    enum values_weights weights;
    enum values_mix mix;
    enum rw_values_partition partition;
    int add; /* the call is made twice, the second time adding to the first */
};

/* What a case is on the host and on the device. */
struct values_case {
    struct hist_run *run;
    struct values_spec spec;
    uint64_t turn;
    struct rw_values_job job;
    unsigned char *value; /* [shift + n] */
    unsigned char *edge;  /* [n_bins + 1] */
    uint8_t *mask;
    int32_t *weight;
    uint64_t *count;
    int64_t *sum;
    unsigned char *got;
    struct hist_buffer d_value, d_edge, d_mask, d_weight, d_count, d_sum, d_scratch;
};

/* A number of (seed, turn, i, what). */
uint64_t values_word(const struct values_case *c, uint64_t i, uint32_t what);
/* Edges, values, mask and weights of c->spec, and the job over them. */
void values_make_edges(struct values_case *c);
void values_make_inputs(struct values_case *c);
void values_make_job(struct values_case *c);
