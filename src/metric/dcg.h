/* Gains, discounts and the ideal DCG: tables made once, on the host. */
#pragma once

#include <stdint.h>

#include "base/ctx.h"
#include "base/exact.h"

#ifdef __cplusplus
extern "C" {
#endif

/* D(r) = 1 / log2(2 + r), r from 0 (Burges 2010, section 1). */
RW_HD double rw_discount(uint32_t r)
{
    return 1.0 / rw_log2(2.0 + (double)r);
}

/* How a label becomes a gain. */
struct rw_gain_rule {
    enum { RW_GAIN_EXP, RW_GAIN_LINEAR, RW_GAIN_TABLE } kind;
    double *table; /* [n_table] gain of label 0, 1, ..., for RW_GAIN_TABLE; owned */
    uint32_t n_table;
    char text[64]; /* "2^l - 1", "l", "from FILE": for the conventions line */
};

/* spec: "exp", "linear", or a file with one gain of 0 to 2^31 a line, for labels 0, 1, 2, ...; or
 * "table 0 1 3", the gains of such a file, as a model has them. RW_ERR_IO, RW_ERR_PARSE
 * (file:line:column). The rule is released after a failure. */
int rw_gain_rule_init(struct rw_ctx *ctx, struct rw_gain_rule *rule, const char *spec);
/* `spec`, but of a file "table 0 1 3": so it stands in a model, since a path is no part of one.
 * *out is the caller's. */
int rw_gain_rule_spec(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const char *spec,
                      char **out);
void rw_gain_rule_release(struct rw_gain_rule *rule);

struct rw_dataset;
/* Gains of a data set's labels: [n_docs], written. A label that the rule cannot take (over 31 with
 * exp; not whole or past the table's end) is RW_ERR_DATA and names where it stands. */
int rw_gains(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const struct rw_dataset *dataset,
             double *gains);

/* values: [n], sorted in place by falling value; no NaN. */
void rw_sort_falling(double *values, uint32_t n);

/* ---- tables of queries, for metrics and objectives ---- */

uint32_t rw_longest_query(const uint32_t *query_offset, uint32_t n_queries);
void rw_discounts(double *discounts, uint32_t n); /* rw_discount of 0 to n - 1 */

/* Best DCG of the top `truncation` (0: all) of a query. gains: [n]; discounts: [>= n];
 * scratch: [n] doubles. Terms are added in falling order of gain. */
double rw_ideal_dcg(const double *gains, uint32_t n, uint32_t truncation, const double *discounts,
                    double *scratch);
/* rw_ideal_dcg of each query. gains: by document; ideal: [n_queries], written. */
int rw_ideal_dcgs(struct rw_ctx *ctx, const double *gains, const uint32_t *query_offset,
                  uint32_t n_queries, uint32_t truncation, const double *discounts, double *ideal);

#ifdef __cplusplus
}
#endif

/* The order of documents in a ranking: by falling score, then as in the input. */
/* Unsigned integers that rise where scores fall: -0 as +0, and an order even for NaN, so that no
 * input can run a sort out of its array. */
RW_HD uint64_t rw_falling_key(double score)
{
    const uint64_t bits = rw_bits_of_double(score + 0.0);
    return bits >> 63 ? bits : ~(bits | 0x8000000000000000ull);
}

/* Position after the last score equal to the one at a position; end: [n]; score: [n], falling. */
RW_HD void rw_tie_ends(const double *score, uint32_t n, uint32_t *end)
{
    for (uint32_t r = n; r-- > 0;)
        end[r] = r + 1 < n && score[r] == score[r + 1] ? end[r + 1] : r + 1;
}
