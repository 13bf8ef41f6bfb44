/* Which features data and model have in common, one at a time. */
#include "dataset/dataset.h"
#include "model/model.h"

int rw_dataset_has_feature(const struct rw_dataset *dataset, uint32_t feature)
{
    return rw_dataset_column(dataset, feature) != NULL;
}

int rw_model_had_feature(const struct rw_model *model, uint32_t feature)
{
    uint32_t low = 0, high = model->n_features; /* ids ascend */
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (model->feature[middle] < feature)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->n_features && model->feature[low] == feature;
}
