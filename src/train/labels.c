#include "train/labels.h"

#include <stdio.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "metric/dcg.h"

int rw_labels_check(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_objective *objective, const struct rw_dataset *train)
{
    double weight[RW_MAX_LABELS];
    const int n = params->label_weights[0] ? rw_label_weights(params->label_weights, weight) : 0;
    if (n && !objective)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'label-weights' has no effect with a custom objective");
    if (n && train->n_docs && train->n_more_labels + 1 != n)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "parameter 'label-weights' has %d weights, but the training set has %d label%s "
            "a document\n"
            "hint: --labels FILE has the further ones, those of CSV and TSV are in "
            "--label-columns, those of a cache are what it was made with "
            "(rw_dataset_set_more_labels)",
            n, train->n_more_labels + 1, train->n_more_labels ? "s" : "");
    if (!n && train->n_more_labels && !params->is_idle[RW_AT_PARAM_labels])
        rw_log(ctx, RW_LOG_WARNING,
               "the training set's further labels are not used: parameter 'label-weights' is not "
               "set");
    return RW_OK;
}

static int n_labels_of(const struct rw_params *params)
{
    double weight[RW_MAX_LABELS];
    return params->label_weights[0] ? rw_label_weights(params->label_weights, weight) : 1;
}

int rw_labels_gains(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_gain_rule *gains, const struct rw_dataset *train, double **out)
{
    const int n = n_labels_of(params);
    RW_TRY(RW_NEW_RAW(ctx, *out, (size_t)n * train->n_docs));
    for (int k = 0; k < n && train->n_docs; k++) {
        struct rw_dataset by_label = *train; /* borrows all */
        by_label.label = (float *)(uintptr_t)rw_dataset_labels_of(train, k);
        const int status = rw_gains(ctx, gains, &by_label, *out + (size_t)k * train->n_docs);
        char why[1024];
        if (status < 0 && k > 0) {
            snprintf(why, sizeof(why), "%s", ctx ? rw_last_error(ctx) : "");
            return rw_fail(ctx, status, "label %d of each document: %s", k + 1, why);
        }
        RW_TRY(status);
    }
    return RW_OK;
}

int rw_labels_rule(struct rw_ctx *ctx, const struct rw_objective *objective,
                   struct rw_objective_rule *rule, const double *gains,
                   const struct rw_dataset *train)
{
    double most[RW_MAX_LABELS] = {0};
    const int n = rule->n_labels ? rule->n_labels : 1;
    for (int k = 0; gains && k < n; k++) {
        for (uint32_t i = 0; i < train->n_docs; i++) {
            const double gain = gains[(size_t)k * train->n_docs + i];
            most[k] = gain > most[k] ? gain : most[k];
        }
    }
    RW_TRY(rw_comm_max_doubles(ctx, most, (size_t)n));
    rule->max_gain = most[0];
    for (int k = 0; k < rule->n_labels; k++)
        rule->label[k].max_gain = most[k];
    return rw_objective_sum(ctx, objective, rule, train);
}
