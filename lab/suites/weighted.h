/* The parts of the suite `weighted`: the first document's tables and figures on this machine. */
#pragma once

#include "lab/suites/lab_call.h"
#include "lab/kernels/lab_methods.h"
#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the bars are about; NaN: not measured. */
struct rw_weighted_figures {
    double hybrid_float, hybrid_exact; /* the document's three: best single's time / hybrid's */
    double lanes_lowest; /* with lanes and all others: the same, the lowest row; exact sums */
    double
        reduced_equal; /* collision's time / collision-reduced's, equal float values, 1024 bins */
};

struct rw_weighted {
    struct rw_lab *lab;
    struct rw_weighted_figures figures;
};

/* Figures 4 to 9, Tables 5 and 7: made codes, 1000 features of 100,000 documents. */
int rw_weighted_made(struct rw_weighted *w);
/* Figures 10 and 11, Table 6: each feature of made MSLR data by itself, and all of them, many bins;
 * the configurations of the two methods. */
int rw_weighted_real(struct rw_weighted *w, const struct rw_made_set *set,
                     const struct rw_lab_docs *docs);
/* Table 7 and section 6.3, Table 4: the same data in as many bins as each feature has; the hybrids;
 * the CPU. */
int rw_weighted_mixed(struct rw_weighted *w, const struct rw_made_set *set,
                      const struct rw_lab_docs *docs);

/* A row of the table "tuning", Figure 8: `collision` with the warps a block and the unrolling at
 * these places of weighted_tuning.h's lists. c: set. */
int rw_weighted_tuned_row(struct rw_lab *lab, const struct rw_lab_call *c, int warps, int unroll);
/* Table 6 for the bins of this call, which is set to `collision` or `collision-reduced`: rows of
 * "configurations", and for each of the two one of "best configuration". */
int rw_weighted_configurations(struct rw_lab *lab, const struct rw_lab_call *c);

/* The document sums counts and floats; training sums exact integers. */
enum { RW_WEIGHTED_SUMS = 2 };
extern const enum rw_hist_sums rw_weighted_sums[RW_WEIGHTED_SUMS];
/* collision-free, collision, collision-reduced. */
void rw_weighted_three(struct rw_hist_candidates *out);
/* Every method but global-atomic, which the suite `contention` has. */
void rw_weighted_all(struct rw_hist_candidates *out);
/* As rw_hist_choose, with the document's rule: if collision-free is the first candidate, a call of
 * few bins takes it without timing. */
int rw_weighted_choose(const struct rw_lab_call *c, const struct rw_hist_candidates *candidates,
                       struct rw_hist_choice *out);

/* sums, bins, bits, docs, features, method, zero_skip. */
void rw_weighted_add_call(struct rw_bench_line *line, const struct rw_lab_call *c);
/* The times; code_gb_s, which is the document's "data throughput" (codes alone); gdoc_s. */
void rw_weighted_add_rates(const struct rw_lab *lab, struct rw_bench_line *line,
                           const struct rw_lab_call *c, const struct rw_bench_times *times);

/* ---- groups ---- */

/* Features that have one width and number of bins, and a call over them. */
struct rw_weighted_group {
    struct rw_made_columns columns; /* views of the set's codes, unless they were shifted */
    int bits;
    struct rw_lab_matrix m;
    struct rw_lab_call call;
};
/* The features `index` of the set, codes shifted right by `shift`. Zeroed to begin with. */
struct rw_weighted_cut {
    const uint32_t *index; /* [n] */
    uint32_t n, n_bins, shift;
    int bits, layouts;
};
int rw_weighted_group_init(struct rw_lab *lab, struct rw_weighted_group *group,
                           const struct rw_made_columns *from, const struct rw_weighted_cut *cut);
void rw_weighted_group_release(struct rw_weighted_group *group);

/* Groups that are run one after the other as one thing. */
enum { RW_WEIGHTED_MOST_GROUPS = 96 };
struct rw_weighted_plan {
    struct rw_weighted_group *group[RW_WEIGHTED_MOST_GROUPS];
    int n;
    double choosing_ms; /* 0: nothing was chosen */
};
/* Adds a group, borrowed; RW_ERR_INTERNAL if there are too many. */
int rw_weighted_plan_add(struct rw_lab *lab, struct rw_weighted_plan *plan,
                         struct rw_weighted_group *group);
/* Times the calls that the groups have. */
int rw_weighted_plan_time(struct rw_lab *lab, struct rw_weighted_plan *plan,
                          struct rw_bench_times *times);
/* A row of the tables "real" and "mixed": bins, share, sums, docs, features, method, zero_skip,
 * chosen, the times, code_gb_s, gdoc_s, relative, choosing_ms. */
struct rw_weighted_row {
    const char *table;
    uint32_t n_bins;    /* 0: groups of several */
    double share;       /* of the set's features */
    const char *hybrid; /* what it chose from; NULL: one method for all */
    double relative;    /* the best single method's time / this one's; NaN: none */
};
int rw_weighted_plan_row(struct rw_lab *lab, const struct rw_weighted_plan *plan,
                         const struct rw_weighted_row *row, const struct rw_bench_times *times);

/* The document's hybrid: each feature of `from` takes the candidate that the rule or its own timing
 * says; features of one choice become a group, which is added to the plan and owned by it. */
struct rw_weighted_choosing {
    const struct rw_hist_candidates *candidates;
    enum rw_hist_sums sums;
    int zero_skip; /* 1: try it too; 0: never */
};
int rw_weighted_plan_by_feature(struct rw_lab *lab, struct rw_weighted_plan *plan,
                                const struct rw_weighted_group *from,
                                const struct rw_lab_docs *docs,
                                const struct rw_weighted_choosing *how);
/* Of a plan made by rw_weighted_plan_by_feature. */
void rw_weighted_plan_release(struct rw_weighted_plan *plan);
#ifdef __cplusplus
}
#endif
