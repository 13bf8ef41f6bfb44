#include "train/no_split.h"

#include <stdio.h>

#include "comm/comm.h"

/* Is there a pair by gain, or, with `relevant`, of a relevant document and another? */
static int any_label_pair(const struct rw_dataset *train, const float *labels, const double *gain,
                          const double *relevant)
{
    for (uint32_t q = 0; q < train->n_queries; q++) {
        for (uint32_t i = train->query_offset[q] + 1; i < train->query_offset[q + 1]; i++) {
            const float *label = labels + i;
            if (relevant ? ((double)label[0] >= *relevant) != ((double)label[-1] >= *relevant)
                         : gain[i] != gain[i - 1])
                return 1;
        }
    }
    return 0;
}

/* By any of the labels that train. */
static int any_pair(const struct rw_params *params, const struct rw_dataset *train,
                    const double *gain, const double *relevant)
{
    const int n = params->label_weights[0] ? train->n_more_labels + 1 : 1;
    int any = 0;
    for (int k = 0; k < n && !any; k++)
        any = any_label_pair(train, rw_dataset_labels_of(train, k),
                             gain + (size_t)k * train->n_docs, relevant);
    return any;
}

static int any_weight(const struct rw_dataset *train)
{
    for (uint32_t i = 0; train->weight && i < train->n_docs; i++) {
        if (train->weight[i] > 0.0)
            return 1;
    }
    return train->weight == NULL;
}

int rw_explain_no_split(struct rw_ctx *ctx, const struct rw_params *params,
                        const struct rw_dataset *train, uint32_t all_docs, const double *gain,
                        const struct rw_engine_info *info, char *text, size_t size)
{
    enum { WEIGHT, PAIR, FACTS };
    const double *relevant = rw_params_trains_on_relevance(params) ? &params->relevant : NULL;
    uint64_t any[FACTS] = {[WEIGHT] = any_weight(train),
                           [PAIR] =
                               !gain || train->pair || any_pair(params, train, gain, relevant)};
    RW_TRY(rw_comm_max(ctx, any, FACTS));
    if (!any[WEIGHT])
        snprintf(text, size, "all weights are 0 (change --weights)");
    else if (!any[PAIR]) {
        const int has_own =
            train->n_docs == all_docs && rw_dataset_has_own_queries(train, text, size);
        if (!has_own && relevant)
            snprintf(text, size,
                     "no query has both a relevant document and another (check the labels, or "
                     "--relevant %g)",
                     *relevant);
        else if (!has_own)
            snprintf(
                text, size,
                "no query has two documents of different gain (check the labels, or --label-gain)");
    } else if (2 * (uint64_t)params->min_docs > all_docs)
        snprintf(text, size, "--min-docs %d is above half of the %u documents (lower --min-docs)",
                 params->min_docs, all_docs);
    else if (info->n_features == 0 && info->n_ignored && !info->n_few)
        snprintf(text, size, "every feature is ignored or constant (change --ignore)");
    else if (info->n_features == 0 && info->n_few)
        snprintf(text, size,
                 "no feature can leave --min-docs %d documents on both sides (lower --min-docs)",
                 params->min_docs);
    else if (info->n_features == 0)
        snprintf(text, size, "every feature is constant (check the data)");
    else if (params->monotone[0])
        snprintf(text, size,
                 "no split of %d documents or more on each side has a gain and keeps to --monotone "
                 "%.100s",
                 params->min_docs, params->monotone);
    else if (params->feature_penalty[0])
        snprintf(text, size,
                 "no split of %d documents or more on each side gains more than --feature-penalty "
                 "%.100s takes (lower it)",
                 params->min_docs, params->feature_penalty);
    else if (params->min_gain > 0.0 || params->min_hessian > 0.0)
        snprintf(text, size,
                 "no split gains more than --min-gain %g within --min-hessian %g (lower them)",
                 params->min_gain, params->min_hessian);
    else
        snprintf(text, size,
                 "no split of %d documents or more on each side has a gain (lower --min-docs)",
                 params->min_docs);
    return RW_OK;
}
