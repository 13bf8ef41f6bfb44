/* Objectives: the losses that training minimises, in the form of a gradient and a hessian per
 * document. Here the gradient is the negative derivative of the loss by the document's score, the
 * direction in which the score should move. The gradient of a pair of documents, and the sum of a
 * document's pairs, is called a lambda. To add an objective:
 * (1) Write objective/<name>.c with its rw_objective_<name>.
 * (2) Add a row to objectives.def, which the build follows.
 * (3) Add new parameters to params/params.def, and name all parameters that the objective reads in
 * its `params`.
 * The engines, the checks of parameters and the messages read the table. A new way to weigh pairs
 * can be a new objective, too. params/aliases.c may list the names that other programs use for the
 * objective. tests/recipes adds an objective in this way.
 *
 * An objective that keeps state between rounds defines a struct rw_objective_state (below).
 * Training creates the state, saves it in checkpoints and releases it. debias.c is an example. */
#pragma once

#include "base/mem.h"
#include "objective/lambda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_OBJECTIVE_PARAMS = 8 };

/* One of several labels per document: the weight of its lambdas, and its largest gain on all
 * workers. */
struct rw_label_rule {
    double weight, max_gain;
};

/* The settings of an objective in one training. */
struct rw_objective_rule {
    struct rw_lambda_rule pair;        /* sigma, truncation and norm, for objectives with pairs */
    double value[RW_OBJECTIVE_PARAMS]; /* values of its parameters, in the order of `params`; the
                                          words none and off are 0 */
    uint64_t seed;
    double max_gain; /* the largest gain of all workers' training sets (rw_labels_rule); only the
                        host and RW_OBJECTIVE_NEIGHBOURS read it */
    /* Number of labels per document whose lambdas are summed; 0: one label. rw_gradients_run
     * combines them, and the objective's `query` gets one label at a time. */
    int n_labels;
    struct rw_label_rule label[RW_MAX_LABELS];
    /* 1: lambdas are summed in doubles, since integers in units of 2^-40 might exceed 2^62
     * (rw_objective_sum). */
    int in_doubles;
};

/* The inputs and outputs of the gradients of one query. */
struct rw_objective_query {
    /* n: number of documents; first_document: index of the first one among the documents of all
     * workers; tree: index of the tree, from 0 */
    uint32_t n, first_document, tree;
    enum rw_isa isa;
    struct rw_share
        *share; /* the loop over queries, which long queries poll for interruption; NULL: no loop */
    int fast;   /* 0: use the reference code, with identical results */
    const double
        *scores;         /* [n] in the order of the input, as all arrays except those by position */
    const float *labels; /* [n] NULL if an engine calls a ranking objective */
    const double *weights; /* [n] document weights; NULL: all 1. Objectives with `is_fixed` multiply
                              their results by them; others must not */
    /* ---- only for objectives that rank (`ranks`) ---- */

    const double *gains;     /* [n] */
    const double *discounts; /* [>= n] by position */
    double ideal;    /* ideal DCG of the top `truncation`; 0: the query contributes nothing */
    uint32_t *order; /* [n] positions to documents, scratch */
    /* ---- set if the host computes the gradients ---- */

    const double *positions;           /* [>= n] written by the callback `positions` */
    const struct rw_given_pair *pairs; /* [n_pairs] the query's given pairs, if the data has them */
    size_t n_pairs;
    uint32_t first_row; /* index of the query's first document in its data set, for `pairs` */
    double *scratch;    /* [n x the objective's `scratch`] */
    /* For objectives with state: the result of `open`, and the index of the calling thread. */
    void *state;
    int thread;

    int64_t *lambda, *hess;     /* [n] written if `is_fixed` */
    double *gradient, *hessian; /* [n] written otherwise, without the documents' weights */
};

/* Adds a pair of documents to the query's sums and returns its lambda. a and b may be swapped. A
 * pair of equal gains adds nothing and has lambda 0. scale: as in rw_lambda_of_pair. */
typedef int64_t rw_lambda_pair_fn(const struct rw_objective_query *query, uint32_t a, uint32_t b,
                                  double discount_diff, float sigma, int norm, float scale);
/* Checks that a document's final sum is at most 2^22 for queries of up to n_longest documents and
 * weights of up to max_weight. RW_ERR_DATA: it may be larger; the message says what to change. */
int rw_lambda_check(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                    double max_weight);

/* Turns the query's sums into its documents' final integers. */
static inline void rw_lambda_finish(const struct rw_objective_query *query, double factor)
{
    for (uint32_t i = 0; i < query->n; i++) {
        const double *weight = query->weights ? query->weights + i : NULL;
        query->lambda[i] = rw_lambda_final(query->lambda[i], factor, weight);
        query->hess[i] = rw_lambda_final(query->hess[i], factor, weight);
    }
}

/* Does the work of rw_lambda_query in units of 2^(e-40), with add_pair in place of NDCG's pairs. */
static inline void rw_lambda_query_by(const struct rw_lambda_rule *rule,
                                      const struct rw_objective_query *query, int e,
                                      rw_lambda_pair_fn *add_pair)
{
    const uint32_t n = query->n, *order = query->order;
    const double *scores = query->scores;
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->hess, 0, n * sizeof(*query->hess));
    if (!((float)query->ideal > 0.0f)) /* pairs are computed in float */
        return;
    const float scale = (float)rw_pow2(RW_LAMBDA_EXPONENT - e);
    const int norm = rule->norm && scores[order[0]] != scores[order[n - 1]];
    const uint32_t top = rule->truncation && rule->truncation < n ? rule->truncation : n;
    int64_t sum_hi = 0, sum_lo = 0;
    for (uint32_t r = 0; r < top; r++) {
        for (uint32_t t = r + 1; t < n; t++) {
            const int64_t lambda =
                add_pair(query, order[r], order[t], query->discounts[r] - query->discounts[t],
                         rule->sigma, norm, scale);
            sum_hi += lambda >> 32;
            sum_lo += lambda & 0xffffffff;
        }
        if (rw_share_poll(query->share, n - 1 - r))
            return;
        sum_hi += sum_lo >> 32; /* 2^31 low words would overflow */
        sum_lo &= 0xffffffff;
    }
    rw_lambda_finish(query, rw_lambda_factor(rule, sum_hi, sum_lo, e));
}

/* The gradients that a device can compute. */
enum rw_objective_device {
    RW_OBJECTIVE_HOST,      /* no gradients: the host computes them and copies them to the device */
    RW_OBJECTIVE_PAIRS,     /* for lambdarank with NDCG's deltas */
    RW_OBJECTIVE_RESIDUALS, /* for regression */
    /* The following are for objectives of these names. Engines without them use
     * RW_OBJECTIVE_HOST. */
    RW_OBJECTIVE_NEIGHBOURS, /* yetirank */
    RW_OBJECTIVE_LOGISTIC,
    RW_OBJECTIVE_QUERYRMSE,
    RW_OBJECTIVE_LISTNET,
    RW_OBJECTIVE_XENDCG,
    RW_OBJECTIVE_DELTAS, /* lambdarank by every delta except NDCG's, or with drawn pairs */
};

/* State that an objective keeps between trees in addition to the scores, such as the bias of
 * displayed positions. The objective must have RW_OBJECTIVE_HOST. In the functions, `state` is the
 * result of `open`. */
struct rw_objective_state {
    int version; /* of its text in a checkpoint (train/train.h), from 1 */
    /* Creates the state. The data set stays borrowed. *state: NULL at first; `close` is called
     * even on failure. All workers call it. */
    int (*open)(struct rw_ctx *ctx, const struct rw_objective_rule *rule,
                const struct rw_dataset *dataset, int n_threads, void **state);
    void (*close)(void *state); /* accepts NULL */
    void (*begin)(void *state); /* called before the gradients of a tree */
    int (*end)(
        void *state,
        double rate); /* called after them, by all workers; rate: learning rate of the tree */
    /* Returns the state as lines of text, owned by the caller (rw_mem_free). is_before: the
     * state before the gradients of the last tree. */
    int (*print)(struct rw_ctx *ctx, const void *state, int is_before, char **text);
    /* Restores a state exactly from such lines, [text, text + n). is_given: the lines are known
     * values from the user's file, and training keeps them fixed. name: of the text, for
     * messages. RW_ERR_PARSE: a malformed line; RW_ERR_DATA, RW_ERR_FORMAT: lines are missing;
     * RW_ERR_ARGUMENT: they contradict given values. */
    int (*read)(void *state, int is_given, const char *name, const char *text, size_t n);
    /* Calls the hook that reports the values learned in n_rounds rounds. */
    int (*report)(struct rw_ctx *ctx, const void *state, int is_before, int n_rounds,
                  const struct rw_train_hooks *hooks);
};

struct rw_objective {
    const char *name;
    const char *chosen_by; /* for a variant in objectives.def: the parameter that chooses it; else
                              NULL */
    const char *one_label; /* why it accepts only one label per document: "debias, which ..."; NULL:
                              it accepts several */
    const char *params;    /* names of the parameters that it reads: "sigma decay" */
    int ranks;             /* 1: ranks a query's documents by gain; 0: fits labels */
    int draws;             /* 1: uses random numbers, which depend on the seed */
    int is_fixed; /* 1: integers in units of 2^-40; 0: doubles, scaled to fixed point for each tree
                   */
    /* With RW_OBJECTIVE_HOST the host computes the gradients for all engines. Otherwise each
     * engine computes them, by `query` or on its device. */
    enum rw_objective_device device;
    int scratch;        /* doubles per document for `query`, if the host computes the gradients */
    int uses_positions; /* reads the side column of displayed positions */
    const struct rw_objective_state *state; /* NULL: no state */
    /* Checks the range of numbers. RW_ERR_DATA: queries of up to n_longest documents and weights
     * of up to max_weight might exceed it. NULL: no limits. */
    int (*check)(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                 double max_weight);
    /* Fills a table by position, [n], once per training. NULL: it has no table. */
    void (*positions)(const struct rw_objective_rule *rule, double *position, uint32_t n);
    void (*query)(const struct rw_objective_rule *rule, const struct rw_objective_query *query);
    /* For a row of the table: returns the variant that replaces it under this rule, for settings
     * that the row cannot compute, or NULL if the row can. A variant has the row's name but no
     * row, and it may read different parameters. NULL: no variants. */
    const struct rw_objective *(*variant)(const struct rw_objective_rule *rule);
};

#define RW_OBJECTIVE(name) extern const struct rw_objective rw_objective_##name;
#define RW_VARIANT         RW_OBJECTIVE
#include "objective/objectives.def"
#undef RW_OBJECTIVE

/* Returns the objective at index i of the table; NULL past the end. */
const struct rw_objective *rw_objective_at(int i);
/* Returns the variant at index i of the table; NULL past the end. */
const struct rw_objective *rw_objective_variant_at(int i);
/* Returns the objective, or the variant that the rule selects. rule: values of the objective's
 * parameters. */
const struct rw_objective *rw_objective_for(const struct rw_objective *objective,
                                            const struct rw_objective_rule *rule);
/* "|lambdarank|regression|...": the words of the table. */
extern const char rw_objective_words[];
/* Returns the index of `name` among the objective's parameters; -1: it does not read it. */
int rw_objective_param(const struct rw_objective *objective, const char *name);
/* Fills the rule with the objective's parameters, each from value_of. */
void rw_objective_rule_init(struct rw_objective_rule *rule, const struct rw_objective *objective,
                            double (*value_of)(const void *user, const char *name),
                            const void *user);

/* Returns the objective that trains under the name of `row`, the row or a variant, and fills its
 * rule from value_of. Seed and labels are not set. */
const struct rw_objective *
rw_objective_choose(struct rw_objective_rule *rule, const struct rw_objective *row,
                    double (*value_of)(const void *user, const char *name), const void *user);

/* ---- the gradients of a training set, if the host computes them ---- */

struct rw_dataset;
struct rw_gradients;
/* Runs the objective's `check` for a training set whose weights are all multiplied by `by`.
 * objective: NULL: nothing is checked. */
int rw_objective_check(struct rw_ctx *ctx, const struct rw_objective *objective,
                       const struct rw_objective_rule *rule, const struct rw_dataset *dataset,
                       double by);
/* Decides how the lambdas of several labels are summed, in integers or doubles. It runs the
 * objective's `check` for all workers' training sets, so that the choice does not depend on the
 * number of workers. All workers call it. */
int rw_objective_sum(struct rw_ctx *ctx, const struct rw_objective *objective,
                     struct rw_objective_rule *rule, const struct rw_dataset *dataset);
/* Reads the text of a file of propensities: lines "POSITION PROPENSITY" with an optional t-.
 * propensity: [RW_MAX_POSITION + 1], written: those of clicked documents, NaN for positions without
 * a line. name: of the file, for messages. RW_ERR_PARSE: a malformed line or a repeated position.
 */
int rw_propensities_parse(struct rw_ctx *ctx, const char *name, const char *text, size_t n,
                          double *propensity);
/* Checks that gradients are from -1e30 to 1e30, and hessians from 0 to 1e30. RW_ERR_DATA: a value
 * is not. objective: its name for the message; NULL: user gradients; first_doc: number of documents
 * on the workers before this one; gradients, hessians: [n_docs] */
int rw_gradients_check(struct rw_ctx *ctx, const char *objective, uint32_t first_doc,
                       uint32_t n_docs, const double *gradients, const double *hessians);
/* The result of rw_gradients_run, valid until the next run. All arrays have [n_docs] elements. */
struct rw_user_gradients {
    int64_t *lambda, *hess; /* in units of 2^-40, if `is_fixed` and not `in_doubles`; else NULL */
    double *gradient, *hessian; /* otherwise, without the documents' weights */
};
/* How an engine computes the gradients of its objective. */
struct rw_gradients_engine {
    enum rw_isa isa;
    int is_plain;                  /* 1: by the reference code, with identical results */
    const uint8_t *keep;           /* [n_queries] queries to compute, read in each run; borrowed */
    struct rw_user_gradients into; /* arrays that receive the result; borrowed */
};
/* Creates the gradients of an objective. gains: [n_docs], or [n_labels][n_docs] with several
 * labels, if the objective ranks; borrowed until rw_gradients_free, as is the data set. first_doc:
 * number of documents on the workers before this one. engine: NULL to compute all queries as fast
 * as possible, into arrays that *out owns. */
int rw_gradients_new(struct rw_ctx *ctx, const struct rw_objective *objective,
                     const struct rw_objective_rule *rule, const struct rw_dataset *dataset,
                     uint32_t first_doc, const double *gains,
                     const struct rw_gradients_engine *engine, struct rw_gradients **out);
/* Returns the bytes of the arrays that rw_gradients_new makes for an objective that ranks by one
 * label: discounts, ideal DCGs and orders. */
uint64_t rw_gradients_bytes(const struct rw_dataset *dataset, int n_threads);
/* Creates user gradients, which the hook `gradients` computes for this worker's documents. The
 * data set stays borrowed. */
int rw_gradients_by_caller(struct rw_ctx *ctx, const struct rw_train_hooks *hooks,
                           const struct rw_dataset *dataset, struct rw_gradients **out);
void rw_gradients_free(struct rw_gradients *gradients); /* accepts NULL */
RW_SCOPED_BY(rw_gradients_free)
/* Computes the gradients of a tree. scores: [n_docs]; rate: learning rate of the tree.
 * RW_ERR_INTERRUPTED: the caller interrupted the run, or the hook `gradients` failed; the result is
 * undefined. If `end` of the objective's state fails, its status is returned. All workers call
 * it. */
int rw_gradients_run(struct rw_gradients *gradients, uint32_t tree, double rate,
                     const double *scores, const struct rw_user_gradients **out);
/* rw_gradients_print prints the objective's state after n_trees trees: the number of trees for
 * which gradients were computed, or one less. rw_gradients_read restores it. Arguments: as in
 * struct rw_objective_state. For an objective without state both do nothing, and *text is NULL.
 * ctx: for failures. */
int rw_gradients_print(struct rw_ctx *ctx, const struct rw_gradients *gradients, uint32_t n_trees,
                       char **text);
int rw_gradients_read(struct rw_gradients *gradients, int is_given, const char *name,
                      const char *text, size_t n);
/* Calls the hook that reports the state's values, such as biases, if the objective has a state.
 * gradients, hooks: may be NULL. */
int rw_gradients_report(struct rw_ctx *ctx, const struct rw_gradients *gradients, int n_rounds,
                        const struct rw_train_hooks *hooks);
void *rw_gradients_state(struct rw_gradients *gradients); /* NULL: no state */

/* ---- lambdarank: its parameter `pairs`, the number of pairs, and vector code ---- */

/* The parameter `pairs` as one number: one of these, or N for mean:N. */
enum { RW_PAIRS_WRONG = -3, RW_PAIRS_GIVEN, RW_PAIRS_ALL, RW_PAIRS_TOPK };
/* Returns the number for a value of `pairs`; RW_PAIRS_WRONG: invalid text. */
double rw_pairs_number(const char *text);

/* Counts the pairs of a round of lambdarank from its parameters and the sizes of the queries, as if
 * all gains differed. It returns 0 for other objectives, for `debias`, and for random or given
 * pairs; *longest and *most are then 0. *longest: documents of the longest query; *most: pairs of
 * the query that has the most. */
uint64_t rw_lambda_count_pairs(const struct rw_objective *objective,
                               const struct rw_objective_rule *rule, const uint32_t *query_offset,
                               uint32_t n_queries, uint32_t *longest, uint64_t *most);
/* Measures the seconds per pair and thread on this machine, with a generated query. Returns 0 if
 * that fails. */
double rw_lambda_pair_seconds(struct rw_ctx *ctx, const struct rw_objective *objective,
                              const struct rw_objective_rule *rule);

/* Types that lambdarank.c shares with the code compiled from lambdarank_tmpl.c. A block is a
 * range of a query's documents in ranked order. Each document of the top `truncation`, a "row", is
 * paired with the documents of a block that are ranked below it. */
enum { RW_LAMBDA_BLOCK = 256, RW_LAMBDA_ROOM = 16 /* for vector lanes past the last document */ };

struct rw_lambda_block {
    double gain[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM], score[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    double discount[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    int64_t lambda[RW_LAMBDA_BLOCK], hessian[RW_LAMBDA_BLOCK]; /* sums of the block's documents */
};

/* The document that is paired with a block, and constants of the query. */
struct rw_lambda_row {
    double score, discount;
    float unit, reciprocal; /* the ideal DCG in units, ideal / 2^(40-e), exact; and 1 / unit */
    float sigma;
    int norm;
    int easy; /* sigma is 1, and all score differences are small enough for exp without limits */
    int64_t lambda, hessian; /* sums of the row's pairs with the block */
    int64_t sum_hi, sum_lo;  /* sum of the lambdas of the query's pairs, sum_hi * 2^32 + sum_lo */
};

/* Adds all pairs of the first `top` documents of the ranking with the n documents of the block that
 * are ranked below them. first: position of the block's first document, from 0. */
typedef void rw_lambda_block_fn(struct rw_lambda_row *row, struct rw_lambda_block *block,
                                uint32_t first, uint32_t n, uint32_t top,
                                const struct rw_objective_query *query);
/* Writes to `order` the documents by rising key; equal keys keep the order of the input. key:
 * [n] from 0 to 2^30, then RW_LAMBDA_ROOM zeros. It takes n^2 steps, but has no branches that could
 * be mispredicted. */
typedef void rw_rank_count_fn(const int32_t *key, uint32_t n, uint32_t *order);
rw_lambda_block_fn rw_lambda_block_plain, rw_lambda_block_avx2, rw_lambda_block_avx512;
rw_rank_count_fn rw_rank_count_plain, rw_rank_count_avx2, rw_rank_count_avx512;

/* ---- formulas that the host and devices share ---- */

struct rw_gradient {
    double gradient, hessian;
};

/* logistic: score is the log of the odds of being relevant. */
RW_HD struct rw_gradient rw_logistic_gradient(double score, int is_relevant)
{
    const double x = (score < 0.0 ? score : -score) * 1.4426950408889634;
    const double odds = rw_exp2(x > -900.0 ? x : -900.0); /* of the less likely outcome */
    const double likely = 1.0 / (1.0 + odds), unlikely = odds / (1.0 + odds);
    const double lacks = is_relevant == (score < 0.0) ? likely : unlikely;
    const struct rw_gradient result = {is_relevant ? lacks : -lacks, likely * unlikely};
    return result;
}

/* queryrmse: returns a document's residual minus `first`, that of the query's first document. If
 * all residuals are equal, the differences are exactly 0, whatever the rounding. */
RW_HD double rw_residual_from(double first, float label, double score)
{
    return (double)label - score - first;
}

/* queryrmse: returns the mean of a query from the sums of weights and of weighted residuals. */
RW_HD double rw_residual_mean(double sum, double weights)
{
    return weights > 0.0 ? sum / weights : 0.0;
}

/* xendcg: returns 2^label - gamma, with gamma from a random word. 2^label is gain + 1. */
RW_HD double rw_xendcg_target(double gain, uint32_t word)
{
    const double gamma = ((double)word + 0.5) * 0x1p-32;
    return gain + 1.0 - gamma;
}

/* ---- softmax and cross entropy, for listnet and xendcg; yetirank uses the softmax ---- */

/* Returns exp(score - the query's best score), but at least 2^-900, so that no score overflows
 * or underflows. */
RW_HD double rw_softmax_power(double score, double best)
{
    const double x = (score - best) * 1.4426950408889634;
    return rw_exp2(x > -900.0 ? x : -900.0);
}

/* Writes rw_softmax_power of each score. n > 0; scores, power: [n] */
static inline void rw_softmax_powers(const double *scores, uint32_t n, double *power)
{
    double most = scores[0];
    for (uint32_t i = 1; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < n; i++)
        power[i] = rw_softmax_power(scores[i], most);
}

/* Returns 1 if some order of the query's documents is better than another. */
static inline int rw_softmax_can_rank(const struct rw_objective_query *query)
{
    for (uint32_t i = 1; i < query->n; i++) {
        if (query->gains[i] != query->gains[0])
            return 1;
    }
    return 0;
}

/* Returns the gradient of the cross entropy -sum t_i log p_i. Here p_i = exp(s_i) / sum exp(s_j)
 * is the softmax of the scores, and the target t_i is a document's share of the sum of amounts. The
 * derivative by s_i is p_i - t_i, and its negative is the gradient. The second derivative is
 * p_i (1 - p_i). can_rank: 0: no order of the query is better than another, so both are 0, as in
 * lambdarank. */
RW_HD struct rw_gradient rw_softmax_gradient(double power, double power_sum, double amount,
                                             double amount_sum, int can_rank)
{
    const double p = power / power_sum;
    const struct rw_gradient result = {can_rank ? amount / amount_sum - p : 0.0,
                                       can_rank ? p * (1.0 - p) : 0.0};
    return result;
}

/* Writes rw_softmax_gradient of each document of the query. Sums are taken in the order of the
 * documents. amounts: [n], not negative, and not all 0 unless all gains are equal; power: [n]
 * scratch. */
static inline void rw_softmax_gradients(const struct rw_objective_query *query,
                                        const double *amounts, double *power)
{
    const int can_rank = rw_softmax_can_rank(query);
    double amount_sum = 0.0, power_sum = 0.0;
    rw_softmax_powers(query->scores, query->n, power);
    for (uint32_t i = 0; i < query->n; i++) {
        amount_sum += amounts[i];
        power_sum += power[i];
    }
    for (uint32_t i = 0; i < query->n; i++) {
        const struct rw_gradient of_one =
            rw_softmax_gradient(power[i], power_sum, amounts[i], amount_sum, can_rank);
        query->gradient[i] = of_one.gradient;
        query->hessian[i] = of_one.hessian;
    }
}

#ifdef __cplusplus
}
#endif
