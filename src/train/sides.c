#include "train/sides.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dataset/side_columns.h"
#include "metric/dcg.h"
#include "params/params.h"

/* An error where the objective needs positions, a warning where positions have no use, unless there
 * was a warning about parameter `positions`. */
static int check_positions(struct rw_ctx *ctx, const struct rw_params *params,
                           const struct rw_objective *objective, const struct rw_dataset *train)
{
    const int has = train->position != NULL, used = objective && objective->uses_positions;
    if (used && !has)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'debias' is set, but the training set has no positions\n"
                       "hint: --positions FILE has the position at which each document was shown "
                       "(rw_dataset_set_side_column)");
    if (has && !used && !params->is_idle[RW_AT_PARAM_positions])
        rw_log(ctx, RW_LOG_WARNING,
               "the training set's positions are not used: parameter 'debias' is off");
    return RW_OK;
}

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
            "(rw_dataset_set_side_column)",
            n, train->n_more_labels + 1, train->n_more_labels ? "s" : "");
    if (!n && train->n_more_labels && !params->is_idle[RW_AT_PARAM_labels])
        rw_log(ctx, RW_LOG_WARNING,
               "the training set's further labels are not used: parameter 'label-weights' is not "
               "set");
    return RW_OK;
}

int rw_train_check_files(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *train)
{
    struct rw_params shallow = *params; /* texts are borrowed */
    for (int i = 0; i < RW_SIDE_COLUMNS; i++) {
        const struct rw_side_column *column = &rw_side_columns[i];
        const int at = rw_param_find(column->name);
        if (rw_params_file(&shallow, at) && !params->is_idle[at] && train->n_docs > 0 &&
            !rw_side_column_of(column, train))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "parameter '%s' is set, but the training set has no %s: "
                           "rw_dataset_read_side_column reads them",
                           column->name, column->plural);
    }
    return RW_OK;
}

int rw_train_check_sides(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_objective *objective, const struct rw_dataset *train)
{
    RW_TRY(check_positions(ctx, params, objective, train));
    RW_TRY(rw_labels_check(ctx, params, objective, train));
    RW_TRY(rw_train_check_files(ctx, params, train));
    if (strcmp(params->pairs, "given") == 0 && !train->pair)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "parameter 'pairs' is given, but the training set has none: they are set with "
            "rw_dataset_set_pairs, and read from '--pairs-file'");
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
