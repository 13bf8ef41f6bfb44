#include "train/train_rules.h"

#include <string.h>

#include "base/exact.h"

void rw_train_grow_rules(const struct rw_params *params, uint32_t n_docs,
                         struct rw_grow_rules *rules)
{
    *rules = (struct rw_grow_rules){.levels = params->grow == RW_GROW_LEVELS,
                                    .leaves = rw_params_leaves(params, n_docs),
                                    .depth = params->depth,
                                    .batch = params->batch,
                                    .min_docs = (uint32_t)params->min_docs,
                                    .rate = params->rate,
                                    .l2 = params->l2};
}

void rw_train_engine_rules(const struct rw_params *p, const struct rw_grow_rules *grow,
                           const struct rw_objective *objective, const uint8_t *ignore,
                           struct rw_engine_rules *rules)
{
    struct rw_objective_rule rule;
    rw_params_objective_rule(p, &rule);
    *rules = (struct rw_engine_rules){
        .cut = rw_params_cut_rule(p),
        .objective = objective,
        .lambda = rule.pair,
        .newton = p->split == RW_SPLIT_NEWTON,
        .split_l2 = p->split_l2,
        .category_smoothing = p->category_smoothing,
        .category_penalty = p->category_penalty,
        .min_docs = (uint32_t)p->min_docs,
        .min_hessian = p->min_hessian,
        .min_gain = p->min_gain,
        .bits = p->bits,
        .nearest = p->rounding == RW_ROUND_NEAREST,
        .seed = p->seed,
        .query_threshold = (uint64_t)rw_round_int64(p->sample_queries * 4294967296.0),
        .feature_threshold = (uint64_t)rw_round_int64(p->sample_features * 4294967296.0),
        .doc_threshold = (uint64_t)rw_round_int64(p->sample_docs * 4294967296.0),
        .node_threshold = (uint64_t)rw_round_int64(p->sample_features_node * 4294967296.0),
        .max_slots = rw_grow_max_slots(grow),
        .max_histograms = rw_grow_max_histograms(grow),
        .leaves = grow->levels ? 1u << grow->depth : (uint32_t)grow->leaves,
        .hist = strcmp(p->hist, "auto") == 0 ? NULL : p->hist};
    rules->cut.ignore = ignore;
    rw_params_bytes(p->gpu_memory, &rules->device_bytes);
}
