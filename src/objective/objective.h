/* Objectives: what training optimises, as gradients by document. To add one: (1) write
 * objective/<name>.c with its rw_objective_<name>; (2) give it a row in objectives.def, which the
 * build follows; (3) give parameters of its own rows in params/params.def, and name all that it
 * reads in `params`. Training on every engine, the checks of parameters and the messages read the
 * table; another weight of pairs is another objective. params/aliases.c may name it for those who
 * come from other programs. tests/recipes adds one in this way.
 *
 * An objective that keeps state between rounds defines a struct rw_objective_state (below), which
 * training makes, saves in checkpoints and ends; debias.c is the example. */
#pragma once

#include "base/mem.h"
#include "objective/lambda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_OBJECTIVE_PARAMS = 8 };

/* Of several labels a document: what the lambdas of one of them are multiplied by, and its largest
 * gain, all workers'. */
struct rw_label_rule {
    double weight, max_gain;
};

/* What a training chose. */
struct rw_objective_rule {
    struct rw_lambda_rule pair;        /* sigma, truncation and norm, where it has them */
    double value[RW_OBJECTIVE_PARAMS]; /* of its parameters, in their order; the words none and off
                                          are 0 */
    uint64_t seed;
    double max_gain; /* the largest of the training set, all workers'; where gradients are handed
                        over, and for RW_OBJECTIVE_NEIGHBOURS */
    /* Several labels a document, whose lambdas are combined; 0: there is one. A run of gradients
     * has them, an objective's `query` sees one label at a time. */
    int n_labels;
    struct rw_label_rule label[RW_MAX_LABELS];
    /* Their sum is made of doubles, for integers of 2^-40 might pass 2^62 (rw_objective_sum). */
    int in_doubles;
};

/* One query of the training set. */
struct rw_objective_query {
    uint32_t n, first_document, tree;
    enum rw_isa isa;
    struct rw_share *share; /* of the loop over queries, which long ones poll; NULL: of none */
    int fast;               /* 0: the reference's plain path, to the same bits */
    const double *scores;   /* [n], in the order of the input, as all but the tables by position */
    const float *labels;    /* [n] NULL if an engine computes what ranks */
    const double *weights;  /* [n] the documents', NULL: all 1; for `is_fixed` */
    /* Set for ranking objectives only; else NULL and 0. */
    const double *gains;     /* [n] */
    const double *discounts; /* [>= n] by position */
    double ideal;            /* the ideal DCG of the top `truncation`; 0: contributes nothing */
    uint32_t *order;         /* [n] scratch */
    /* Set where gradients are handed over. */
    const double *positions;           /* [>= n] filled by the callback `positions` */
    const struct rw_given_pair *pairs; /* [n_pairs] the query's, if the data has any */
    size_t n_pairs;
    uint32_t first_row; /* the number of the query's first document in its data set, for `pairs` */
    double *scratch;    /* [n x `scratch`] */
    /* Of an objective with state: what its `open` made, and the number of the calling thread. */
    void *state;
    int thread;

    int64_t *lambda, *hess;     /* [n] written if `is_fixed` */
    double *gradient, *hessian; /* [n] written otherwise, without the documents' weights */
};

/* Adds a pair of documents to the query's sums and returns its lambda; the two may be swapped, and
 * a pair of equal gains adds nothing. scale: as in rw_lambda_of_pair. */
typedef int64_t rw_lambda_pair_fn(const struct rw_objective_query *query, uint32_t a, uint32_t b,
                                  double discount_diff, float sigma, int norm, float scale);
/* Is a document's final sum under 2^22 for queries up to n_longest documents and weights up to
 * max_weight? RW_ERR_DATA, with what to change, if not. */
int rw_lambda_check(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                    double max_weight);

/* The query's sums become its documents' final integers. */
static inline void rw_lambda_finish(const struct rw_objective_query *query, double factor)
{
    for (uint32_t i = 0; i < query->n; i++) {
        const double *weight = query->weights ? query->weights + i : NULL;
        query->lambda[i] = rw_lambda_final(query->lambda[i], factor, weight);
        query->hess[i] = rw_lambda_final(query->hess[i], factor, weight);
    }
}

/* rw_lambda_query in units of 2^-40+e, with pairs added by the function. */
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

/* What a device computes by itself. */
enum rw_objective_device {
    RW_OBJECTIVE_HOST, /* nothing: the host computes the gradients and hands them over */
    RW_OBJECTIVE_PAIRS,
    RW_OBJECTIVE_RESIDUALS,
    RW_OBJECTIVE_NEIGHBOURS, /* yetirank's; RW_OBJECTIVE_HOST to engines that lack it */
};

/* What an objective carries from tree to tree beside the scores, such as the bias of displayed
 * positions; it needs RW_OBJECTIVE_HOST. `state` is what `open` made. */
struct rw_objective_state {
    int version; /* of its form in a checkpoint (train/train.h), from 1 */
    /* All workers call it. The data set stays borrowed. *state: NULL at first; closed also after a
     * failure. */
    int (*open)(struct rw_ctx *ctx, const struct rw_objective_rule *rule,
                const struct rw_dataset *dataset, int n_threads, void **state);
    void (*close)(void *state);           /* NULL is fine */
    void (*begin)(void *state);           /* before the gradients of a tree */
    int (*end)(void *state, double rate); /* after them, by all workers; rate: the tree's */
    /* As lines of text, the caller's (rw_mem_free): the present state, or the one before the last
     * tree's gradients. */
    int (*print)(struct rw_ctx *ctx, const void *state, int is_before, char **text);
    /* Takes such lines, to the bit; or, with is_given, those of the user's file of known values,
     * which stay. The text is [text, text + n). name: the text's, for messages. RW_ERR_PARSE: a
     * malformed line; RW_ERR_DATA, RW_ERR_FORMAT: some are missing; RW_ERR_ARGUMENT: they
     * contradict what was given. */
    int (*read)(void *state, int is_given, const char *name, const char *text, size_t n);
    /* Calls the hook for what was learned in n_rounds rounds. */
    int (*report)(struct rw_ctx *ctx, const void *state, int is_before, int n_rounds,
                  const struct rw_train_hooks *hooks);
};

struct rw_objective {
    const char *name;
    const char *chosen_by; /* of a variant: the parameter; else NULL */
    const char
        *one_label;     /* why it takes one label a document: "debias, which ..."; NULL: several */
    const char *params; /* "sigma decay": the parameters that it reads */
    int ranks;          /* ranks a query's documents by their gains; else it fits labels */
    int draws;          /* random numbers, by the seed */
    int is_fixed; /* in units of 2^-40; else doubles, scaled to fixed point anew for each tree */
    /* With RW_OBJECTIVE_HOST engines are handed the gradients, made on the host; otherwise each
     * engine computes them, by `query` or on its device. */
    enum rw_objective_device device;
    int scratch;        /* doubles per document, where gradients are handed over */
    int uses_positions; /* reads the side column of displayed positions */
    const struct rw_objective_state *state; /* NULL: no state */
    /* RW_ERR_DATA if queries up to n_longest documents and weights up to max_weight would be too
     * much for its numbers. NULL: nothing is. */
    int (*check)(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                 double max_weight);
    /* Fills a table by position, [n], made once. NULL: it needs none. */
    void (*positions)(const struct rw_objective_rule *rule, double *position, uint32_t n);
    void (*query)(const struct rw_objective_rule *rule, const struct rw_objective_query *query);
    /* Of a row of the table: the objective that takes its place for a rule that asks for what this
     * one does not compute; it has the row's name, no row, and parameters of its own. Returns NULL
     * where the row serves; NULL: for every rule. */
    const struct rw_objective *(*variant)(const struct rw_objective_rule *rule);
};

#define RW_OBJECTIVE(name) extern const struct rw_objective rw_objective_##name;
#define RW_VARIANT         RW_OBJECTIVE
#include "objective/objectives.def"
#undef RW_OBJECTIVE

/* Table, by index; NULL past the end. */
const struct rw_objective *rw_objective_at(int i);
/* The variants of the table, in the same way. */
const struct rw_objective *rw_objective_variant_at(int i);
/* What trains by the rule, which is of the objective's parameters: the objective or its variant. */
const struct rw_objective *rw_objective_for(const struct rw_objective *objective,
                                            const struct rw_objective_rule *rule);
/* "|lambdarank|regression|...": the words of the table. */
extern const char rw_objective_words[];
/* Where `name` stands among the objective's parameters; -1: it does not read it. */
int rw_objective_param(const struct rw_objective *objective, const char *name);
/* Asks for each of the objective's parameters. */
void rw_objective_rule_init(struct rw_objective_rule *rule, const struct rw_objective *objective,
                            double (*value_of)(const void *user, const char *name),
                            const void *user);

/* What trains where `row` is asked for, the row or a variant, and its rule, without a seed and
 * labels; value_of is asked for the parameters. */
const struct rw_objective *
rw_objective_choose(struct rw_objective_rule *rule, const struct rw_objective *row,
                    double (*value_of)(const void *user, const char *name), const void *user);

/* The gradients of a training set, for an objective that is handed over. */
struct rw_dataset;
struct rw_gradients;
/* The objective's `check` of a training set whose weights are all multiplied by `by`; of NULL
 * nothing is checked. */
int rw_objective_check(struct rw_ctx *ctx, const struct rw_objective *objective,
                       const struct rw_objective_rule *rule, const struct rw_dataset *dataset,
                       double by);
/* How the lambdas of several labels are summed: by the objective's `check` of all workers' training
 * sets, so that every number of workers chooses alike. All workers call it. */
int rw_objective_sum(struct rw_ctx *ctx, const struct rw_objective *objective,
                     struct rw_objective_rule *rule, const struct rw_dataset *dataset);
/* Are gradients, [n_docs], what they must be? first_doc: documents of other workers before these.
 * objective: whose they are, for the message; NULL: the caller's own. RW_ERR_DATA: not. */
int rw_gradients_check(struct rw_ctx *ctx, const char *objective, uint32_t first_doc,
                       uint32_t n_docs, const double *gradients, const double *hessians);
/* gains: [n_docs], of several labels [n_labels][n_docs], if the objective ranks; kept, borrowed, as
 * the dataset's offsets and labels. first_doc: documents of other workers before these. */
int rw_gradients_new(struct rw_ctx *ctx, const struct rw_objective *objective,
                     const struct rw_objective_rule *rule, const struct rw_dataset *dataset,
                     uint32_t first_doc, const double *gains, struct rw_gradients **out);
/* Those that the hook `gradients` makes, of documents of this worker; the data set stays borrowed.
 */
int rw_gradients_by_caller(struct rw_ctx *ctx, const struct rw_train_hooks *hooks,
                           const struct rw_dataset *dataset, struct rw_gradients **out);
void rw_gradients_free(struct rw_gradients *gradients); /* NULL is fine */
RW_SCOPED_BY(rw_gradients_free)
/* What a run made, until the next one; [n_docs] each. */
struct rw_user_gradients {
    int64_t *lambda, *hess;     /* `is_fixed`, and not `in_doubles`: in units of 2^-40; else NULL */
    double *gradient, *hessian; /* otherwise, without the documents' weights */
};
/* scores: [n_docs]; rate: the tree's. All workers call it. RW_ERR_INTERRUPTED: the caller wants no
 * more, and what was made is undefined. Objectives that keep state fail as their `end` does. */
int rw_gradients_run(struct rw_gradients *gradients, uint32_t tree, double rate,
                     const double *scores, const struct rw_user_gradients **out);
/* The objective's state after n_trees trees: all that were run, or one less; and reads one, as
 * struct rw_objective_state says. Nothing happens for objectives without state; *text is NULL. ctx:
 * for failures. */
int rw_gradients_print(struct rw_ctx *ctx, const struct rw_gradients *gradients, uint32_t n_trees,
                       char **text);
int rw_gradients_read(struct rw_gradients *gradients, int is_given, const char *name,
                      const char *text, size_t n);
/* gradients, hooks: may be NULL. */
int rw_gradients_report(struct rw_ctx *ctx, const struct rw_gradients *gradients, int n_rounds,
                        const struct rw_train_hooks *hooks);
void *rw_gradients_state(struct rw_gradients *gradients); /* NULL: no state */

/* lambdarank with other deltas and other pairs than engines compute: made on the host. */
/* Which pairs count, a value of the parameter `pairs`, as one number: one of these, or the N of
 * mean:N. */
enum { RW_PAIRS_WRONG = -3, RW_PAIRS_GIVEN, RW_PAIRS_ALL, RW_PAIRS_TOPK };
/* RW_PAIRS_WRONG: the text is none. */
double rw_pairs_number(const char *text);

/* The pairs of a round, by the objective's parameters and the queries' sizes alone: 0 for
 * objectives without pairs, and for drawn or given ones. *longest: the documents of the longest
 * query; *most: its pairs. */
uint64_t rw_lambda_count_pairs(const struct rw_objective *objective,
                               const struct rw_objective_rule *rule, const uint32_t *query_offset,
                               uint32_t n_queries, uint32_t *longest, uint64_t *most);
/* Seconds that a pair takes here, measured on a made query. */
double rw_lambda_pair_seconds(struct rw_ctx *ctx, const struct rw_objective *objective,
                              const struct rw_objective_rule *rule);

/* What lambdarank.c and the paths that are compiled of lambdarank_tmpl.c share. A query's
 * documents stand in the order of the ranking, a block of them at a time; each row of the top meets
 * all of a block. */
enum { RW_LAMBDA_BLOCK = 256, RW_LAMBDA_ROOM = 16 /* for lanes past the last document */ };

struct rw_lambda_block {
    double gain[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM], score[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    double discount[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    int64_t lambda[RW_LAMBDA_BLOCK], hessian[RW_LAMBDA_BLOCK]; /* of the block's documents */
};

/* The document that is paired with a block's, and what does not change in a query. */
struct rw_lambda_row {
    double score, discount;
    float unit, reciprocal; /* the ideal in units: ideal / 2^(40-e), exact; 1 / unit */
    float sigma;
    int norm;
    int easy; /* sigma is 1, and no score difference beyond what exp takes without limits */
    int64_t lambda, hessian;
    int64_t sum_hi, sum_lo; /* of the pairs' lambdas */
};

/* All pairs of the first `top` documents with the n of the block, which begins at rank `first`. */
typedef void rw_lambda_block_fn(struct rw_lambda_row *row, struct rw_lambda_block *block,
                                uint32_t first, uint32_t n, uint32_t top,
                                const struct rw_objective_query *query);
/* order: documents by rising key, equal ones in the order of the input. key: [n], filled up by
 * RW_LAMBDA_ROOM; under 2^30. n^2 steps, but no branch that could be mispredicted. */
typedef void rw_rank_count_fn(const int32_t *key, uint32_t n, uint32_t *order);
rw_lambda_block_fn rw_lambda_block_plain, rw_lambda_block_avx2, rw_lambda_block_avx512;
rw_rank_count_fn rw_rank_count_plain, rw_rank_count_avx2, rw_rank_count_avx512;

/* The softmax of a query's scores, and the cross entropy that listwise objectives have with it:
 * that of a target t and p_i = exp(s_i) / sum exp(s_j) is -sum t_i log p_i; its gradient by a score
 * is p_i - t_i, its second derivative p_i (1 - p_i). Sums are taken in the order of the documents.
 */
/* exp(score - the query's best), not under 2^-900: no score is too large or too small. */
RW_HD double rw_softmax_power(double score, double best)
{
    const double x = (score - best) * 1.4426950408889634;
    return rw_exp2(x > -900.0 ? x : -900.0);
}

static inline void rw_softmax_powers(const double *scores, uint32_t n, double *power)
{
    double most = scores[0];
    for (uint32_t i = 1; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < n; i++)
        power[i] = rw_softmax_power(scores[i], most);
}

/* Whether some order of the query's documents is better than another. */
static inline int rw_softmax_can_rank(const struct rw_objective_query *query)
{
    for (uint32_t i = 1; i < query->n; i++) {
        if (query->gains[i] != query->gains[0])
            return 1;
    }
    return 0;
}

/* The gradients of a query whose target is the share of each document's amount in their sum. If no
 * order is better than another, the query contributes nothing, as in lambdarank.
 * amounts: [n], none negative, not all 0; power: [n] scratch. */
static inline void rw_softmax_gradients(const struct rw_objective_query *query,
                                        const double *amounts, double *power)
{
    const int counts = rw_softmax_can_rank(query);
    double amount_sum = 0.0, power_sum = 0.0;
    rw_softmax_powers(query->scores, query->n, power);
    for (uint32_t i = 0; i < query->n; i++) {
        amount_sum += amounts[i];
        power_sum += power[i];
    }
    for (uint32_t i = 0; i < query->n; i++) {
        const double p = power[i] / power_sum;
        query->gradient[i] = counts ? amounts[i] / amount_sum - p : 0.0;
        query->hessian[i] = counts ? p * (1.0 - p) : 0.0;
    }
}

#ifdef __cplusplus
}
#endif
