#include "model/model_columns.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "dataset/dataset.h"

enum { FEW_DOCS = 1000 };           /* in fewer documents a feature may well be absent */
static const double matters = 0.01; /* of the gain of all trees */

enum rw_columns_kind rw_model_columns(const struct rw_model *model, uint32_t *width)
{
    *width = model->width;
    if (model->columns == RW_COLUMNS_LETOR && model->n_features)
        *width = model->feature[model->n_features - 1] + 1;
    return model->columns;
}

uint32_t rw_dataset_width(const struct rw_dataset *dataset)
{
    return dataset->width;
}

void rw_dataset_set_by_name(struct rw_dataset *dataset)
{
    dataset->width = 0;
    dataset->by_name = 1;
}

/* ------------------------------------------------------------------ the rule */

static uint32_t n_needed(const struct rw_model *model)
{
    uint32_t n = 0;
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t node = 0; node < model->tree[t].n_leaves - 1; node++) {
            if (model->tree[t].feature[node] >= n)
                n = model->tree[t].feature[node] + 1;
        }
    }
    return n;
}

struct rw_column_view rw_column_view_of(const struct rw_dataset *dataset)
{
    struct rw_column_view view = {.what = "the data",
                                  .width = dataset->width,
                                  .by_name = dataset->by_name,
                                  .n_ids = dataset->n_ids};
    if (dataset->n_columns)
        view.n_ids = dataset->column[dataset->n_columns - 1].feature + 1;
    return view;
}

int rw_column_names_check(struct rw_ctx *ctx, const struct rw_model *model, const char *what,
                          const struct rw_dataset *dataset)
{
    if (!dataset->n_names || !model->n_names)
        return RW_OK;
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t node = 0; node < model->tree[t].n_leaves - 1; node++) {
            const uint32_t feature = model->tree[t].feature[node];
            const char *ours = rw_model_feature_name(model, feature);
            const char *theirs = rw_dataset_feature_name(dataset, feature);
            char *held;
            if (!*ours || !*theirs || strcmp(ours, theirs) == 0)
                continue;
            RW_TRY(rw_name_for_model(ctx, theirs, &held));
            const int is_same = strcmp(ours, held) == 0;
            rw_mem_free(held);
            if (!is_same)
                return rw_fail(ctx, RW_ERR_DATA,
                               "feature %u is '%.64s' in %s and '%.64s' in the model\n"
                               "hint: columns are found by name where the data is read for the "
                               "model",
                               feature, theirs, what, ours);
        }
    }
    return RW_OK;
}

int rw_model_check_view(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_column_view *view)
{
    const struct rw_column_rule rule = rw_column_rule_of(model, n_needed(model));
    return rw_column_rule_check(ctx, &rule, view);
}

int rw_model_check_data(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_dataset *dataset)
{
    const struct rw_column_view view = rw_column_view_of(dataset);
    RW_TRY(rw_column_names_check(ctx, model, view.what, dataset));
    return rw_model_check_view(ctx, model, &view);
}

int rw_model_check_rows(struct rw_ctx *ctx, const struct rw_model *model, uint32_t n_features,
                        uint32_t first_feature)
{
    const struct rw_column_view view = rw_column_view_rows(n_features, first_feature);
    return rw_model_check_view(ctx, model, &view);
}

/* ------------------------------------------------------------------ features that no document has
 */

/* gain: [RW_FEATURE_IDS] zeroed; written, or, of trees without gains, the number of splits. The
 * sum. */
static double add_gains(const struct rw_model *model, int by_splits, double *gain)
{
    double all = 0;
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t node = 0; node < model->tree[t].n_leaves - 1; node++) {
            const double one = by_splits ? 1 : model->tree[t].gain[node];
            gain[model->tree[t].feature[node] & RW_MAX_FEATURE] += one;
            all += one;
        }
    }
    return all;
}

/* Returns the features' names, as many as there is room for. */
static void add_name(const struct rw_model *model, uint32_t feature, char *text, size_t size)
{
    const size_t n = strlen(text);
    const char *name = rw_model_feature_name(model, feature), *before = n ? ", " : "";
    if (n + 90 > size)
        return;
    if (*name)
        snprintf(text + n, size - n, "%s'%.64s'", before, name);
    else
        snprintf(text + n, size - n, "%s%u", before, feature);
}

void rw_model_warn_lacking(struct rw_ctx *ctx, const struct rw_model *model, uint64_t n_docs,
                           const unsigned char *seen)
{
    double *gain, all, lacking = 0;
    char names[600] = "";
    uint32_t n = 0;
    if (n_docs < FEW_DOCS || RW_NEW(NULL, gain, RW_FEATURE_IDS) < 0)
        return;
    all = add_gains(model, 0, gain);
    if (!(all > 0))
        all = add_gains(model, 1, gain);
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (seen[f] || !(gain[f] >= matters * all) || !(gain[f] > 0))
            continue;
        n++;
        lacking += gain[f];
        add_name(model, f, names, sizeof(names));
    }
    rw_mem_free(gain);
    if (n > 0)
        rw_log(ctx, RW_LOG_WARNING,
               "no document has feature%s %s, which make%s %.0f %% of the model's gain",
               n > 1 ? "s" : "", names, n > 1 ? "" : "s", 100 * lacking / all);
}
