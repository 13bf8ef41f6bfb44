/* Training on clicks: what the position at which a document was shown did to whether it was clicked
 * is estimated beside the trees, and taken out of the gradients. Two ways of lambdarank:
 *
 *   additive  A document's score in training is its own and the bias of its position: pairs, ranks
 *             and norm alike. After each tree's gradients a Newton step moves the biases, with L2
 *             (LightGBM's `position`).
 *   ipw       A pair weighs 1 / (t+ of the better document's position x t- of the other's). After
 *             each tree's gradients, a position's t+ is the cost of pairs whose better document
 *             stood there, each divided by the other's t-, over that of the first position, to the
 *             power 1 / (1 + norm); t- likewise of the other documents (Hu, Wang, Peng and Li,
 *             "Unbiased LambdaMART", 2019, eq. 30 and 31; XGBoost's `lambdarank_unbiased`).
 *
 * What is summed by position is integers: neither the order of threads nor ranks can matter, and
 * one formula in double makes a tree's biases of them. A model does not have them; validation does
 * not use them. */
#ifndef RW_OBJECTIVE_DEBIAS_H
#define RW_OBJECTIVE_DEBIAS_H

#include "base/mem.h"
#include "objective/objective.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The words of the parameter `debias`. */
enum rw_debias_kind { RW_DEBIAS_OFF, RW_DEBIAS_ADDITIVE, RW_DEBIAS_IPW };

enum { RW_DEBIAS_LEAST_EXPONENT = -10 }; /* t+ and t- are from 2^-10 to 2^10 */
/* A pair weighs at most so much. */
#define RW_DEBIAS_MOST_WEIGHT 1024.0

/* A sum as hi x 2^32 + lo, lo in [0, 2^32). */
struct rw_wide_sum {
    int64_t hi, lo;
};
/* Of the documents at a position. additive: of lambdas and hessians in units of 2^-40; ipw: of the
 * costs of pairs in which they are the better one, or the other, in units of 2^-24. */
struct rw_position_sums {
    struct rw_wide_sum of[2];
};
/* additive: the bias; ipw: t+ and t-. */
struct rw_position_bias {
    double of[2];
};

struct rw_debias {
    struct rw_arena arena; /* has the arrays */
    struct rw_ctx *ctx;    /* borrowed */
    enum rw_debias_kind kind;
    double sigma;             /* of the rule */
    double l2, power;         /* additive: of a document; ipw: 1 / (1 + norm) */
    int is_given;             /* the propensities are: they stay as they are */
    const uint16_t *position; /* [n_docs] borrowed */
    uint32_t n_positions;     /* one more than the greatest, on all ranks */
    uint32_t first;           /* the least one that has documents: where t+ and t- are 1 */
    uint64_t *n_docs;         /* [n_positions] of all ranks */
    /* [n_positions] those of the next tree's gradients, and those of the last tree's */
    struct rw_position_bias *bias, *before;
    int n_threads;
    struct rw_position_sums *sums; /* [n_threads][n_positions] */
};

/* How likely a click is at a position, as a multiple of the first one's, within the limits of t+.
 * bias: [n_positions], as of `debias`. */
double rw_debias_propensity(const struct rw_debias *debias, const struct rw_position_bias *bias,
                            uint32_t position);
/* "3 0.25": a position and its bias, or "3 0.25 1", and its t+ and t-; without a t- it is 1. The
 * line is [text, end). Returns 0 for a malformed line. */
int rw_debias_parse_line(enum rw_debias_kind kind, const char *text, const char *end,
                         uint32_t *position, struct rw_position_bias *bias);

/* lambdarank without the bias of positions; its state is a struct rw_debias. */
extern const struct rw_objective rw_objective_debiased;

#ifdef __cplusplus
}
#endif
#endif
