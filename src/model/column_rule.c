/* What a model asks of columns without names, also of single rows, which librankwood-score has. */
#include "base/ctx.h"
#include "model/model_columns.h"

struct rw_column_rule rw_column_rule_of(const struct rw_model *model, uint32_t n_needed)
{
    struct rw_column_rule rule = {
        .of = "the model", .kind = model->columns, .width = model->width, .n_needed = n_needed};
    if (model->n_features)
        rule.n_ids = model->feature[model->n_features - 1] + 1;
    return rule;
}

struct rw_column_view rw_column_view_rows(uint32_t n_features, uint32_t first_feature)
{
    return (struct rw_column_view){.what = "the data",
                                   .width = first_feature ? 0 : n_features,
                                   .n_ids = first_feature ? first_feature + n_features : 0};
}

/* An array, for ids 1 to m: column 0 may be id 0 or id 1. */
static int check_array_for_ids(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                               const struct rw_column_view *view)
{
    if (rule->n_ids == 0 || view->width == rule->n_ids)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s has %u columns, numbered from 0; %s has features by id, up to %u, as LETOR "
                   "text has them\n"
                   "hint: of an array, say which feature the first column is: feature_base=1 for "
                   "columns that are features 1 to %u, feature_base=0 for 0 to %u; of a file, "
                   "write LETOR text with these ids, or train the model on such a file",
                   view->what, view->width, rule->of, rule->n_ids - 1, view->width,
                   view->width - 1);
}

static int check_array(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                       const struct rw_column_view *view)
{
    const int knows_width = rule->kind == RW_COLUMNS_NUMBERED || rule->kind == RW_COLUMNS_NAMED;
    if (rule->kind == RW_COLUMNS_LETOR)
        return check_array_for_ids(ctx, rule, view);
    if (knows_width ? view->width == rule->width : view->width >= rule->n_needed)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s has %u features; %s expects %s%u\n"
                   "hint: columns without names go by position, so there must be as many as in "
                   "training",
                   view->what, view->width, rule->of, knows_width ? "" : "at least ",
                   knows_width ? rule->width : rule->n_needed);
}

int rw_column_rule_check(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                         const struct rw_column_view *view)
{
    if (view->by_name)
        return RW_OK;
    if (view->width)
        return check_array(ctx, rule, view);
    if (rule->width == 0 || view->n_ids <= rule->width)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s has feature %u; %s has columns 0 to %u\n"
                   "hint: LETOR text counts features from 1, arrays and tables count columns from "
                   "0; a model of another program that was trained on such text is imported with "
                   "--feature-base 1",
                   view->what, view->n_ids - 1, rule->of, rule->width - 1);
}
