/* lambdarank with other deltas and other pairs than engines compute: made on the host. */
#ifndef RW_OBJECTIVE_LAMBDARANK_PAIRS_H
#define RW_OBJECTIVE_LAMBDARANK_PAIRS_H

#include "objective/delta.h"
#include "objective/objective.h"

/* Which pairs count, a value of the parameter `pairs`, as one number: one of these, or the N of
 * mean:N. */
enum { RW_PAIRS_WRONG = -3, RW_PAIRS_GIVEN, RW_PAIRS_ALL, RW_PAIRS_TOPK };
/* RW_PAIRS_WRONG: the text is none. */
double rw_pairs_number(const char *text);

/* Among the parameters of lambdarank and its variants. */
enum { RW_LAMBDARANK_DELTA = 2, RW_LAMBDARANK_PAIRS = 3 };
/* What takes lambdarank's place for these. */
const struct rw_objective *rw_lambdarank_variant(double delta, double pairs);

/* The pairs of a round, by the objective's parameters and the queries' sizes alone: 0 for
 * objectives without pairs, and for drawn or given ones. *longest: the documents of the longest
 * query; *most: its pairs. */
uint64_t rw_lambda_count_pairs(const struct rw_objective *objective,
                               const struct rw_objective_rule *rule, const uint32_t *query_offset,
                               uint32_t n_queries, uint32_t *longest, uint64_t *most);
/* Seconds that a pair takes here, measured on a made query. */
double rw_lambda_pair_seconds(const struct rw_objective *objective,
                              const struct rw_objective_rule *rule);

#endif
