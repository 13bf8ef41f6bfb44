/* Which features data and model have in common, one at a time. */
#include "dataset/dataset.h"
#include "model/model.h"
#include "base/search.h"

int rw_dataset_has_feature(const struct rw_dataset *dataset, uint32_t feature)
{
    return rw_dataset_column(dataset, feature) != NULL;
}

int rw_model_had_feature(const struct rw_model *model, uint32_t feature)
{
    const uint32_t at = rw_numbers_under(model->feature, model->n_features, feature);
    return at < model->n_features && model->feature[at] == feature;
}
