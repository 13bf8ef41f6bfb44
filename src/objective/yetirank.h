/* YetiRank's gradients (Gulin, Kuralenok and Pavlov, "Winning the transfer learning track of
 * Yahoo!'s learning to rank challenge with YetiRank", 2011, section 4), in fixed point.
 *
 * For a tree, each query is ranked several times by its scores with noise: score + log(u / (1 -
 * u)), u uniform in (0, 1). Documents that stand next to each other in such a ranking, at positions
 * r and r + 1 from 0, and whose gains differ, are a pair of weight decay^r |g_i - g_j| / IDCG, and
 * a pair's gradient is that of the logistic loss of their scores without noise: what lambda.h has,
 * summed over the rankings and divided by their number. The paper's weights of positions are 1 / (r
 * + 1); decay^r is what CatBoost has, with the same numbers.
 *
 * A number of noise depends on (seed, tree, document, ranking) only, and contributions are rounded
 * to multiples of 2^-40 before they are summed: any number of threads gives the same gradients.
 * They are computed on the host for every engine, which takes them as it takes a custom
 * objective's. */
#ifndef RW_RANK_YETIRANK_H
#define RW_RANK_YETIRANK_H

#include "objective/lambda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_yetirank_rule {
    float sigma;
    uint32_t truncation;   /* pairs count if the upper one is in the top so many; 0: all */
    uint32_t permutations; /* rankings of a query a tree; 1 or more */
    uint64_t seed;
};

/* u / (1 - u) of a document (its number in the training set) in a ranking. */
double rw_yetirank_odds(uint64_t seed, uint32_t tree, uint32_t document, uint32_t permutation);
/* exp(score - the query's best), not under 2^-900: power x odds ranks as score + log(odds) does,
 * for one logarithm less a ranking. scores, power: [n] */
void rw_yetirank_powers(const double *scores, uint32_t n, double *power);

/* One query. */
struct rw_yetirank_query_of {
    uint32_t n, first_document, tree;
    const double *scores, *gains; /* [n] */
    const double *position;       /* [>= n] decay^r */
    double ideal;                 /* its ideal DCG; 0: contributes nothing */
    double *scratch;              /* [5 n] */
    uint32_t *order;              /* [n] scratch */
    int64_t *lambda, *weight;     /* [n] written, in units of 2^-40; under 2^22 */
};
void rw_yetirank_query(enum rw_isa isa, const struct rw_yetirank_rule *rule,
                       const struct rw_yetirank_query_of *query);

#ifdef __cplusplus
}
#endif
#endif
