/* Inputs and calls of histogram methods, for the suites. */
#pragma once

#include "lab/lab.h"
#include "tests/check/made_codes.h"
#include "gpu/device/device.h"
#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Documents of the shape of MSLR-WEB30K, which is what suites take unless told otherwise. */
enum { RW_LAB_DOCS = 3770000, RW_LAB_QUICK_DOCS = 100000 };

/* What is known of documents but their codes: weights, and a gathered quarter of them. Zeroed to
 * begin with; released in any state. */
struct rw_lab_docs {
    uint32_t n_docs, n_gathered;
    int32_t *lambda;                   /* [n_docs] within 127; owned */
    float *value;                      /* [n_docs] owned */
    void *d_lambda, *d_hess, *d_float; /* [n_docs] owned */
    void *d_moved[2];                  /* [n_docs] of lambdas, and of both; owned */
    void *d_list;                      /* [n_gathered] ascending; owned */
};
int rw_lab_docs_init(struct rw_lab *lab, struct rw_lab_docs *docs, uint32_t n_docs);
/* As many as the options say, else RW_LAB_DOCS. */
int rw_lab_docs_asked(struct rw_lab *lab, struct rw_lab_docs *docs);
void rw_lab_docs_release(struct rw_lab_docs *docs);

/* Codes on the device, with room for the results of one node. As above. */
struct rw_lab_matrix {
    struct rw_hist_matrix *matrix;                           /* owned */
    void *d_frequent;                                        /* [n_features] owned */
    void *d_count, *d_lambda_sum, *d_hess_sum, *d_float_sum; /* owned */
};
/* layouts: RW_HIST_TILES | RW_HIST_COLUMNS. */
int rw_lab_matrix_init(struct rw_lab *lab, struct rw_lab_matrix *m, int bits, int layouts,
                       const struct rw_made_columns *columns);
void rw_lab_matrix_release(struct rw_lab_matrix *m);

struct rw_lab_ask {
    const struct rw_hist_method *method;
    enum rw_hist_sums sums;
    int gathered, zero_skip;
    int by_position;                    /* gathered: lambdas and weights in the order of the list */
    int unroll;                         /* of collision-free, for its table; 0: the method's own */
    uint32_t n_docs;                    /* the first so many, not gathered; 0: all */
    uint32_t first_feature, n_features; /* of the matrix's columns; n_features 0: all, tiles too */
};
const char *rw_lab_sums_name(enum rw_hist_sums sums);

/* A call that can be timed. Zeroed but for `lab` to begin with; may be set again; stays where it
 * is while it is set. */
struct rw_lab_call {
    struct rw_lab *lab;
    struct rw_lab_ask ask;
    struct rw_hist_call call;
    struct rw_hist_node node;
    struct rw_hist_matrix part; /* of the matrix, if it is not all */
    void *d_node, *d_scratch;   /* owned */
    size_t scratch_room;
};
/* 0 if it can be run now; 1 if the method does not declare such a call. `docs` and `m` are borrowed
 * until it is set again or released. */
int rw_lab_call_set(struct rw_lab_call *c, const struct rw_lab_docs *docs,
                    const struct rw_lab_matrix *m, const struct rw_lab_ask *ask);
/* Makes its scratch large enough for rw_hist_choose among these. */
int rw_lab_call_choosing(struct rw_lab_call *c, const struct rw_hist_candidates *candidates);
/* Enqueues it; `user` is a struct rw_lab_call. */
int rw_lab_call_run(void *user);
int rw_lab_call_time(struct rw_lab_call *c, struct rw_bench_times *times);
void rw_lab_call_release(struct rw_lab_call *c);

/* Made codes on the device and a call over them. Released in any state after its init. */
struct rw_lab_made {
    struct rw_lab_matrix m;
    struct rw_lab_call call;
};
int rw_lab_made_init(struct rw_lab *lab, struct rw_lab_made *made, const struct rw_made_spec *spec,
                     int bits, int layouts);
void rw_lab_made_release(struct rw_lab_made *made);

/* What a call reaches under conditions that should not matter to it, 10^9 updates a second: the
 * first one's rate, and the lowest of all beside it. NaN: not measured. */
struct rw_lab_level {
    double first, lowest;
};
void rw_lab_level_init(struct rw_lab_level *level, int n);
/* Times the call under one more condition, and adds to the row the times, g_updates_s and relative,
 * which is its rate beside the first one's. */
int rw_lab_level_time(struct rw_lab_level *level, struct rw_lab_call *c,
                      struct rw_bench_line *line);

uint64_t rw_lab_call_docs(const struct rw_lab_call *c);
/* What it has to read and write at least: codes of its documents, weights, list, results. */
double rw_lab_call_bytes(const struct rw_lab_call *c);
/* Codes alone, as the first document counts its data throughput: lambdas are not in it. */
double rw_lab_call_code_bytes(const struct rw_lab_call *c);
/* 10^9 (document, feature) pairs a second. */
double rw_lab_call_rate(const struct rw_lab_call *c, double ms);

#ifdef __cplusplus
}
#endif
