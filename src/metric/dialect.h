/* Metrics as other programs print them. Each program is a row of dialect.c's table: how it reads
 * scores, which labels it takes, and for each of its metrics what ties, gains, cutoffs, weights
 * and queries without a relevant document do there. To add a program: a row in dialect.c, a
 * function in tests/peers/dialect_peers.py that asks the program itself, and the name in
 * docs/rankwood.1.in. */
#ifndef RW_METRIC_DIALECT_H
#define RW_METRIC_DIALECT_H

#include "metric/metric.h"

/* Where a program puts documents of equal scores. */
enum rw_dialect_ties {
    RW_PUT_FILE,      /* in the order of the input */
    RW_PUT_MEAN,      /* the mean over all orders */
    RW_PUT_BY_ID,     /* by falling document id, as text (trec_eval's rule) */
    RW_PUT_LOW_FIRST, /* lower labels first */
    RW_PUT_HIGH_FIRST /* higher labels first */
};
enum rw_dialect_cut { RW_CUT_MAY, RW_CUT_MUST, RW_CUT_NEVER };
/* What weights of queries do. */
enum rw_dialect_weights { RW_WEIGHED_NOT, RW_WEIGHED, RW_WEIGHED_BUT_EMPTY /* those add 1 each */ };

/* A program's metric. What a row leaves out is 0. */
struct rw_dialect_metric {
    const char *name;   /* ours: "ndcg" */
    const char *theirs; /* "NDCG:top=", the cutoff follows; NULL: the same as ours */
    enum rw_dialect_cut cut;
    uint32_t whole_at; /* what the metric without a cutoff is cut at; 0: not at all */
    enum rw_empty empty;
    enum rw_dialect_ties ties;
    enum rw_dialect_weights weights;
    const char *gain;   /* "exp", "linear"; NULL: none */
    double err_ceiling; /* err: what gains are divided by; 0: the data's largest and 1 */
    double relevant;    /* label from which a document is relevant; 0: 1 */
    double most_label;  /* largest label that it takes; 0: any */
    /* NULL: as the metric's own row in metrics.def */
    double (*query)(const struct rw_metric *metric, const struct rw_ranked_query *query);
    const char *query_says; /* what that function does otherwise; NULL with it */
};

struct rw_dialect {
    const char *name;    /* "lightgbm" */
    const char *program; /* "LightGBM" */
    int float_scores;    /* scores are rounded to float before they are compared */
    int whole_labels;    /* other labels are refused */
    int gain_choice;     /* its user may choose the gain: 1 exp or linear, 2 a table too */
    const struct rw_dialect_metric *metric; /* [n_metrics] */
    int n_metrics;
};

/* The table, by index; NULL past the end. */
const struct rw_dialect *rw_dialect_at(int i);
/* By name, else RW_ERR_ARGUMENT, which names the nearest. */
int rw_dialect_find(struct rw_ctx *ctx, const char *name, const struct rw_dialect **out);
/* The program's own row for a metric of ours, or RW_ERR_ARGUMENT: it has none, or none with (or
 * without) a cutoff. */
int rw_dialect_metric_find(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                           const struct rw_metric *metric, const struct rw_dialect_metric **out);

struct rw_dataset;
struct rw_dialect_value {
    struct rw_metric_result result;
    double ties_moved; /* mean with the input's order reversed minus the mean; 0 where that has no
                          say */
};
/* The mean that the program prints. label_gain: NULL, or what its user chose instead of its own
 * default (RW_ERR_ARGUMENT if there is no choice). scores: [n_docs], finite. per_query: [n_queries]
 * or NULL, as rw_metric_eval has it. A label that the program refuses is RW_ERR_DATA. */
int rw_dialect_eval(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                    const struct rw_metric *metric, const char *label_gain,
                    const struct rw_dataset *dataset, const double *scores, double *per_query,
                    struct rw_dialect_value *out);
/* What it counts, in one line. */
void rw_dialect_conventions(const struct rw_dialect *dialect, const struct rw_dialect_metric *row,
                            const char *label_gain, uint32_t at, const struct rw_dataset *dataset,
                            char *buffer, size_t size);

/* A document's id as predict --trec writes it: what its comment says, else the query's id, '-', and
 * its number in the query from 1. index: in the query, from 0. */
void rw_dialect_doc_id(const struct rw_dataset *dataset, uint32_t query, uint32_t index,
                       char *buffer, size_t size);
#endif
