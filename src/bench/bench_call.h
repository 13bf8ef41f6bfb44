/* Inputs and calls of histogram methods, for the suites. */
#ifndef RW_BENCH_BENCH_CALL_H
#define RW_BENCH_BENCH_CALL_H

#include "bench/bench.h"
#include "bench/made_codes.h"
#include "gpu/hist/hist.h"
#include "gpu/hist/hist_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Documents of the shape of MSLR-WEB30K, which is what suites take unless told otherwise. */
enum { RW_BENCH_DOCS = 3770000, RW_BENCH_QUICK_DOCS = 100000 };

/* What is known of documents but their codes: weights, and a gathered quarter of them. Zeroed to
 * begin with; released in any state. */
struct rw_bench_docs {
    uint32_t n_docs, n_gathered;
    int32_t *lambda;                     /* [n_docs] within 127; owned */
    float *value;                        /* [n_docs] owned */
    void *d_lambda, *d_weight, *d_float; /* [n_docs] owned */
    void *d_list;                        /* [n_gathered] ascending; owned */
};
int rw_bench_docs_init(struct rw_bench *bench, struct rw_bench_docs *docs, uint32_t n_docs);
/* As many as the options say, else RW_BENCH_DOCS. */
int rw_bench_docs_asked(struct rw_bench *bench, struct rw_bench_docs *docs);
void rw_bench_docs_release(struct rw_bench_docs *docs);

/* Codes on the device, with room for the results of one node. As above. */
struct rw_bench_matrix {
    struct rw_hist_matrix *matrix;                             /* owned */
    void *d_frequent;                                          /* [n_features] owned */
    void *d_count, *d_lambda_sum, *d_weight_sum, *d_float_sum; /* owned */
};
/* layouts: RW_HIST_TILES | RW_HIST_COLUMNS. */
int rw_bench_matrix_init(struct rw_bench *bench, struct rw_bench_matrix *m, int bits, int layouts,
                         const struct rw_made_columns *columns);
void rw_bench_matrix_release(struct rw_bench_matrix *m);

struct rw_bench_ask {
    const struct rw_hist_method *method;
    enum rw_hist_sums sums;
    int gathered, zero_skip;
    int by_place;                       /* gathered: lambdas and weights in the order of the list */
    int unroll;                         /* of collision-free, for its table; 0: the method's own */
    uint32_t n_docs;                    /* the first so many, not gathered; 0: all */
    uint32_t first_feature, n_features; /* of the matrix's columns; n_features 0: all, tiles too */
};
const char *rw_bench_sums_name(enum rw_hist_sums sums);

/* A call that can be timed. Zeroed but for `bench` to begin with; may be set again; stays where it
 * is while it is set. */
struct rw_bench_call {
    struct rw_bench *bench;
    struct rw_bench_ask ask;
    struct rw_hist_call call;
    struct rw_hist_node node;
    struct rw_hist_matrix part; /* of the matrix, if it is not all */
    void *d_node, *d_scratch;   /* owned */
    size_t scratch_room;
};
/* 0 if it can be run now; 1 if the method does not declare such a call. `docs` and `m` are borrowed
 * until it is set again or released. */
int rw_bench_call_set(struct rw_bench_call *c, const struct rw_bench_docs *docs,
                      const struct rw_bench_matrix *m, const struct rw_bench_ask *ask);
/* Makes its scratch at least so large. */
int rw_bench_call_room(struct rw_bench_call *c, size_t bytes);
/* Enqueues it; `user` is a struct rw_bench_call. */
int rw_bench_call_run(void *user);
int rw_bench_call_time(struct rw_bench_call *c, struct rw_bench_times *times);
void rw_bench_call_release(struct rw_bench_call *c);

/* Made codes on the device and a call over them. Released in any state after its init. */
struct rw_bench_made {
    struct rw_bench_matrix m;
    struct rw_bench_call call;
};
int rw_bench_made_init(struct rw_bench *bench, struct rw_bench_made *made,
                       const struct rw_made_spec *spec, int bits, int layouts);
void rw_bench_made_release(struct rw_bench_made *made);

/* What a call reaches under conditions that should not matter to it, 10^9 updates a second: the
 * first one's rate, and the lowest of all beside it. NaN: not measured. */
struct rw_bench_level {
    double first, lowest;
};
void rw_bench_level_init(struct rw_bench_level *level, int n);
/* Times the call under one more condition, and adds to the row the times, g_updates_s and relative,
 * which is its rate beside the first one's. */
int rw_bench_level_time(struct rw_bench_level *level, struct rw_bench_call *c,
                        struct rw_bench_line *line);

uint64_t rw_bench_call_docs(const struct rw_bench_call *c);
/* What it has to read and write at least: codes of its documents, weights, list, results. */
double rw_bench_call_bytes(const struct rw_bench_call *c);
/* Codes alone, as the first document counts its data throughput: lambdas are not in it. */
double rw_bench_call_code_bytes(const struct rw_bench_call *c);
/* 10^9 (document, feature) pairs a second. */
double rw_bench_call_rate(const struct rw_bench_call *c, double ms);

#ifdef __cplusplus
}
#endif
#endif
