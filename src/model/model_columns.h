/* Which data fits a model, or a training set. One rule for all who ask: rw_model_check_data
 * (rankwood.h) lists what it refuses. Columns of an array mean something by their position, columns
 * with names by their name, and features of LETOR text by their id. */
#ifndef RW_MODEL_MODEL_COLUMNS_H
#define RW_MODEL_MODEL_COLUMNS_H

#include "model/model.h"

/* What data has to fit. */
struct rw_column_rule {
    const char *of; /* for messages: "the model" */
    enum rw_columns_kind kind;
    uint32_t width;
    uint32_t n_ids;    /* one more than the greatest id that its training set had */
    uint32_t n_needed; /* one more than the greatest id that a tree asks for */
};
/* What the rule sees of data. */
struct rw_column_view {
    const char *what; /* for messages: "the data" */
    uint32_t width;   /* as of struct rw_dataset, as is */
    int by_name;
    uint32_t n_ids; /* one more than its greatest id */
};

struct rw_column_rule rw_column_rule_of(const struct rw_model *model, uint32_t n_needed);
struct rw_column_view rw_column_view_of(const struct rw_dataset *dataset);
int rw_column_rule_check(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                         const struct rw_column_view *view);
/* The same of a model. */
int rw_model_check_view(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_column_view *view);
/* The features of dense rows: columns if they begin with feature 0, else ids. */
struct rw_column_view rw_column_view_rows(uint32_t n_features, uint32_t first_feature);
/* RW_ERR_DATA: a feature that a tree asks for has a name in the data other than the model's. */
int rw_column_names_check(struct rw_ctx *ctx, const struct rw_model *model, const char *what,
                          const struct rw_dataset *dataset);

#endif
