/* Which features data and model have in common. */
#include "base/search.h"
#include "dataset/dataset.h"
#include "model/model.h"

int rw_dataset_has_feature(const struct rw_dataset *dataset, uint32_t feature)
{
    return rw_dataset_column(dataset, feature) != NULL;
}

void rw_dataset_note_features(const struct rw_dataset *dataset, unsigned char *seen)
{
    for (uint32_t i = 0; i < dataset->n_columns; i++)
        seen[dataset->column[i].feature] = 1;
}

int rw_model_had_feature(const struct rw_model *model, uint32_t feature)
{
    const uint32_t at = rw_numbers_under(model->feature, model->n_features, feature);
    return at < model->n_features && model->feature[at] == feature;
}

static void mark_used(const struct rw_model *model, uint8_t *used)
{
    memset(used, 0, RW_FEATURE_IDS);
    for (int32_t i = 0; i < model->n_trees; i++)
        for (int32_t node = 0; node < model->tree[i].n_leaves - 1; node++)
            used[model->tree[i].feature[node] & RW_MAX_FEATURE] = 1;
}

void rw_model_unmatched(const struct rw_model *model, const struct rw_dataset *dataset,
                        uint32_t *n_missing, uint32_t *n_unknown)
{
    uint8_t used[RW_FEATURE_IDS];
    *n_missing = 0;
    *n_unknown = 0;
    mark_used(model, used);
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        *n_missing += used[f] && !rw_dataset_has_feature(dataset, f);
    for (uint32_t i = 0; i < dataset->n_columns; i++)
        *n_unknown += !rw_model_had_feature(model, dataset->column[i].feature);
}
