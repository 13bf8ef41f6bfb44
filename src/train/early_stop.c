/* The rules `paired` and `smooth` of early stopping: which round a training keeps.
 *
 * The rule `smooth` averages the metric of each round with those of its neighbours, and keeps the
 * round with the best mean. It needs only the metrics of the rounds, so it works with any metric.
 *
 * The rule `paired` uses the values of queries. On few validation queries the metric of rounds
 * differs by chance, and the best round is often a lucky early one. Each round's values of all
 * queries are therefore compared with those of the best round: d = best - round, query by query, or
 * round - best if lower values are better. A round is not significantly worse if the mean of d is
 * at most 2 standard errors of that mean. The middle one of the rounds that are not significantly
 * worse is kept.
 *
 * Example: 30 queries, patience 3, NDCG .40 .45 .47 .46 .47 .48 .47 .46 .47. Round 6 is the best.
 * If rounds 3 to 9 are within 2 standard errors, round 6 is kept; if rounds 2 to 9 are, round 6
 * again, the fifth of eight. A note also reports 2 standard errors as a mean over all other rounds.
 *
 * Ties count as the mean over all orders, since after a few rounds many documents have equal
 * scores, and the order of the file would decide. All sums are in double, in the order of queries
 * of all workers, so the result does not depend on the device, on threads or on the number of
 * workers. */
#include "train/train.h"

enum {
    NEIGHBOURS = 20,   /* rounds on each side that `smooth` averages */
    LEAST_QUERIES = 2, /* fewer have no standard error */
    ERRORS = 2         /* standard errors that a round may be worse */
};

int rw_stop_rule_init(struct rw_eval_sets *eval)
{
    const int is_custom = eval->hooks && eval->hooks->metric;
    if (eval->n_sets == 1 || eval->params->early_stop == 0 ||
        eval->params->early_stop_rule != RW_STOP_PAIRED)
        return RW_OK;
    if (is_custom || eval->metric[0].kind->by_document)
        return rw_fail(
            eval->ctx, RW_ERR_ARGUMENT,
            "early-stop-rule 'paired' needs a metric with a value for each query; %s%s is "
            "a mean over %s\nhint: early-stop-rule best",
            is_custom ? "the custom metric" : "metric ", is_custom ? "" : eval->metric[0].name,
            is_custom ? "the whole set" : "documents");
    eval->stop.is_paired = 1;
    return RW_OK;
}

/* Gathers one number of each query that counts, from all workers in their order. In `own`, NaN
 * marks a query that does not count. *n: the number of queries in *out. The caller frees *out. */
static int gather(struct rw_eval_sets *eval, const double *own, double **out, uint32_t *n)
{
    size_t *begin RW_FREED = NULL;
    const size_t bytes = eval->set[eval->stop_set]->n_queries * sizeof(*own);
    void *all = NULL;
    RW_TRY(rw_comm_all_gatherv(eval->ctx, own, bytes, &all, &begin));
    const size_t n_all = begin[rw_n_workers(eval->ctx)] / sizeof(*own);
    *out = all;
    *n = 0;
    for (size_t q = 0; q < n_all; q++) {
        const double value = (*out)[q];
        if (value == value)
            (*out)[(*n)++] = value;
    }
    return RW_OK;
}

int rw_stop_rule_round(struct rw_eval_sets *eval, const double *scores, double *mean)
{
    struct rw_stopping *stop = &eval->stop;
    const struct rw_judgments *judgments = &eval->judgments[eval->stop_set];
    struct rw_metric_result result;
    double *own RW_FREED = NULL, *all RW_FREED = NULL;
    uint32_t n;
    RW_TRY(RW_NEW(eval->ctx, own, judgments->n_queries));
    RW_TRY(rw_metric_eval(eval->ctx, &eval->metric[0], judgments, scores,
                          (enum rw_empty)eval->params->empty, RW_TIES_MEAN, 0, own, &result));
    RW_TRY(gather(eval, own, &all, &n));
    for (uint32_t q = 0; q < judgments->n_queries && !stop->weight; q++)
        own[q] = own[q] != own[q] ? NAN : judgments->weight ? judgments->weight[q] : 1.0;
    if (!stop->weight) /* of the queries that count */
        RW_TRY(gather(eval, own, &stop->weight, &stop->n_queries));
    const size_t at = (size_t)stop->n_rounds * n;
    RW_TRY(RW_GROW(eval->ctx, stop->value, stop->room, at + n));
    for (uint32_t q = 0; q < n; q++)
        stop->value[at + q] = (float)all[q];
    RW_TRY(RW_GROW(eval->ctx, stop->level, stop->level_room, (size_t)stop->n_rounds + 1));
    stop->n_rounds++;
    *mean = result.mean;
    return RW_OK;
}

void rw_paired_difference(const float *a, const float *b, const double *weight, uint32_t n,
                          double *mean, double *error)
{
    double sum = 0.0, all = 0.0, squares = 0.0;
    for (uint32_t q = 0; q < n; q++) {
        sum += weight[q] * ((double)a[q] - (double)b[q]);
        all += weight[q];
    }
    *mean = sum / all;
    for (uint32_t q = 0; q < n; q++) {
        const double off = weight[q] * ((double)a[q] - (double)b[q] - *mean);
        squares += off * off;
    }
    *error = sqrt(squares * (double)n / (double)(n - 1)) / all;
}

int rw_stop_is_level(const float *best, const float *round, const double *weight, uint32_t n,
                     double sign, double *noise)
{
    double mean, error;
    rw_paired_difference(best, round, weight, n, &mean, &error);
    *noise = ERRORS * error;
    return sign * mean <= *noise;
}

/* Returns the mean of the stopping metric over the rounds first to last that have a value; NaN if
 * none has one. */
static double mean_of_rounds(const struct rw_eval_sets *eval, int first, int last)
{
    double sum = 0.0;
    int n = 0;
    for (int r = first; r <= last; r++) {
        const double value = rw_eval_sets_value(eval, r);
        sum += value == value ? value : 0.0;
        n += value == value;
    }
    return n ? sum / n : (double)NAN;
}

/* The rule `smooth`, for rounds from `least` on. */
static int smooth(const struct rw_eval_sets *eval, int least)
{
    const int most = eval->model->n_rounds_run;
    const double sign = eval->lower_is_better ? -1.0 : 1.0;
    double highest = 0.0;
    int kept = eval->best_round, first = 0, last = 0;
    for (int r = least; r <= most; r++) {
        const int from = r - NEIGHBOURS > least ? r - NEIGHBOURS : least;
        const int to = r + NEIGHBOURS < most ? r + NEIGHBOURS : most;
        const double mean = sign * mean_of_rounds(eval, from, to);
        if (mean != mean || (first && mean <= highest))
            continue;
        highest = mean;
        kept = r;
        first = from;
        last = to;
    }
    rw_log(eval->ctx, RW_LOG_NOTE,
           "early stopping keeps round %d, since the mean %s of rounds %d to %d is the best; round "
           "%d is the best alone",
           kept, eval->value[eval->stop_value].name, first, last, eval->best_round);
    return kept;
}

int rw_stop_rule_kept(const struct rw_eval_sets *eval, int least)
{
    const struct rw_stopping *stop = &eval->stop;
    const size_t n = stop->n_queries;
    if (eval->best_round > 0 && eval->params->early_stop_rule == RW_STOP_SMOOTH)
        return smooth(eval, least);
    if (!stop->is_paired || eval->best_round == 0 || n < LEAST_QUERIES)
        return eval->best_round;
    const float *best = stop->value + (size_t)(eval->best_round - least) * n;
    const double sign = eval->lower_is_better ? -1.0 : 1.0;
    int n_level = 0;
    double noise, sum = 0.0;
    for (int r = 0; r < stop->n_rounds; r++, sum += noise) {
        if (rw_stop_is_level(best, stop->value + (size_t)r * n, stop->weight, stop->n_queries, sign,
                             &noise))
            stop->level[n_level++] = least + r;
    }
    const int kept = n_level ? stop->level[n_level / 2] : eval->best_round;
    if (stop->n_rounds == 1)
        return kept;
    char why[192];
    if (n_level == 1)
        snprintf(why, sizeof(why), "whose %s is significantly better than in all others",
                 eval->metric[0].name);
    else
        snprintf(
            why, sizeof(why),
            "the middle one of %d rounds whose %s is not significantly worse than in round %d, "
            "the best",
            n_level, eval->metric[0].name, eval->best_round);
    rw_log(eval->ctx, RW_LOG_NOTE,
           "early stopping keeps round %d, %s (%u queries: differences under %.2g are noise)", kept,
           why, stop->n_queries, sum / (stop->n_rounds - 1));
    return kept;
}

void rw_stop_rule_release(struct rw_stopping *stop)
{
    rw_mem_free(stop->value);
    rw_mem_free(stop->level);
    rw_mem_free(stop->weight);
}
