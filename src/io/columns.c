/* The settings for reading tables (io/data_format.h): which columns are labels, query ids, features
 * or categorical features, as chosen by the caller, by a model or by another data set. */
#include "io/data_format.h"

#include <stdlib.h>

#include "comm/comm.h"
#include "model/model.h"

static void drop_names(struct rw_table_columns *columns)
{
    rw_names_free(columns->name, columns->n_names);
    rw_mem_free(columns->needed);
    columns->name = NULL;
    columns->needed = NULL;
    columns->n_names = 0;
}

static void columns_free(struct rw_table_columns *columns)
{
    if (!columns)
        return;
    drop_names(columns);
    rw_names_free(columns->called, columns->n_called);
    rw_vocabulary_free(columns->vocabulary);
    rw_arena_free(&columns->arena);
    rw_mem_free(columns);
}
RW_SCOPED_BY(columns_free)

static int copy_list(struct rw_ctx *ctx, struct rw_arena *arena, const char *const **list, int n)
{
    const char **copy;
    if (n <= 0)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(ctx, arena, copy, (size_t)n));
    for (int i = 0; i < n; i++)
        RW_TRY(rw_arena_text(ctx, arena, &copy[i], (*list)[i]));
    *list = copy;
    return RW_OK;
}

/* Sets the feature names. in_use: [RW_FEATURE_IDS] 1: files must have the feature; NULL: files must
 * have all features. */
static int take_names(struct rw_ctx *ctx, struct rw_table_columns *columns,
                      const struct rw_feature_name *names, int32_t n, const uint8_t *in_use)
{
    RW_TRY(RW_NEW(ctx, columns->needed, (size_t)n));
    RW_TRY(rw_names_copy(ctx, names, n, &columns->name));
    columns->n_names = n;
    RW_SORT(columns->name, (size_t)n, rw_names_by_name);
    for (int32_t i = 0; i < n; i++)
        columns->needed[i] = !in_use || in_use[columns->name[i].feature];
    return RW_OK;
}

/* Takes the names from a model. If a feature used by its trees has no name, no names are set. */
static int take_model(struct rw_ctx *ctx, struct rw_table_columns *columns,
                      const struct rw_model *model)
{
    uint8_t *in_use RW_FREED = NULL;
    int has_all = model->n_names > 0;
    RW_TRY(RW_NEW(ctx, in_use, RW_FEATURE_IDS));
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t k = 0; k + 1 < model->tree[t].n_leaves; k++) {
            const uint32_t feature = model->tree[t].feature[k];
            has_all = has_all && *rw_model_feature_name(model, feature);
            in_use[feature] = 1;
        }
    }
    return has_all ? take_names(ctx, columns, model->name, model->n_names, in_use) : RW_OK;
}

/* Takes the names that the caller passed in from->feature. A feature without a name is skipped. */
static int take_given(struct rw_ctx *ctx, const struct rw_columns *from,
                      struct rw_table_columns *to)
{
    struct rw_feature_name *names RW_FREED = NULL;
    uint8_t *needed RW_FREED = NULL;
    int32_t n = 0;
    if (from->n_features < 0 || from->n_features > RW_FEATURE_IDS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d feature names; expected 0 to %d", from->n_features,
                       RW_FEATURE_IDS);
    RW_TRY(RW_NEW(ctx, names, (size_t)from->n_features));
    RW_TRY(RW_NEW(ctx, needed, RW_FEATURE_IDS));
    for (int i = 0; i < from->n_features; i++) {
        if (from->feature[i][0])
            names[n++] = (struct rw_feature_name){(uint32_t)i, (char *)(uintptr_t)from->feature[i]};
        needed[i] = !from->needed || from->needed[i];
    }
    return take_names(ctx, to, names, n, needed);
}

/* Sets the categorical features: those of a list, and those of a model. */
static int take_categorical(struct rw_ctx *ctx, const struct rw_columns *from,
                            struct rw_table_columns *to)
{
    const struct rw_categories *categories = from->model ? &from->model->categories : NULL;
    if (to->given.categorical && from->names && from->names[0])
        RW_TRY(rw_names_read(ctx, from->names, &to->called, &to->n_called));
    if (categories && categories->n) {
        RW_TRY(RW_ARENA_NEW(ctx, &to->arena, to->by_category, RW_FEATURE_IDS));
        for (uint32_t i = 0; i < categories->n; i++)
            to->by_category[categories->of[i].feature] = 1;
    }
    return to->given.categorical || to->by_category ? rw_vocabulary_new(ctx, &to->vocabulary)
                                                    : RW_OK;
}

int rw_columns_vocabulary(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                          struct rw_vocabulary **out)
{
    const struct rw_table_columns *columns = ctx->columns;
    struct rw_feature_name *in_file = NULL;
    uint8_t *marked RW_FREED = NULL;
    int status;
    *out = columns ? columns->vocabulary : NULL;
    if (!*out)
        return RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, marked, RW_FEATURE_IDS));
    if (names)
        RW_TRY_OUT(rw_names_for_model(ctx, names, n_names, &in_file));
    if (columns->given.categorical)
        RW_TRY_OUT(rw_list_parse(ctx, "categorical", columns->given.categorical,
                                 in_file ? in_file : columns->called,
                                 in_file ? n_names : columns->n_called, marked));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (marked[f] || (columns->by_category && columns->by_category[f]))
            rw_vocabulary_mark(*out, f);
    }
out:
    rw_names_free(in_file, n_names);
    return status;
}

int rw_columns_check_categorical(struct rw_ctx *ctx, const struct rw_dataset *dataset)
{
    const struct rw_table_columns *columns = ctx->columns;
    const char *list = columns && columns->given.categorical ? columns->given.categorical : "";
    struct rw_feature_name *names = NULL;
    int status = RW_OK;
    if (dataset->name)
        RW_TRY(rw_names_for_model(ctx, dataset->name, dataset->n_names, &names));
    while (*list) {
        const size_t length = strcspn(list, ",");
        int any = 0;
        long first, last;
        RW_TRY_OUT(rw_list_item(ctx, "categorical", list, length, names ? names : columns->called,
                                names ? dataset->n_names : columns->n_called, &first, &last));
        for (uint32_t c = 0; c < dataset->n_columns && !any; c++)
            any = dataset->column[c].feature >= first && dataset->column[c].feature <= last;
        if (!any) {
            status = rw_fail(ctx, RW_ERR_ARGUMENT, "categorical: the data has no feature '%.*s'",
                             (int)(length > 64 ? 64 : length), list);
            break;
        }
        RW_TRY_OUT(rw_list_next(ctx, "categorical", length, &list));
    }
out:
    rw_names_free(names, dataset->n_names);
    return status;
}

int rw_columns_check_ignored(struct rw_ctx *ctx)
{
    const struct rw_table_columns *columns = ctx->columns;
    for (int i = 0; columns && i < columns->given.n_ignore; i++) {
        if (!columns->found_ignored[i])
            return rw_fail(ctx, RW_ERR_DATA, "no file has a column '%.64s' to ignore",
                           columns->given.ignore[i]);
    }
    return RW_OK;
}

/* Copies the settings. Names come from `like` if it has names, otherwise from `feature` if it is
 * set, otherwise from `model`. */
static int fill(struct rw_ctx *ctx, const struct rw_columns *from, struct rw_table_columns *to)
{
    const struct rw_model *model = from->model;
    struct rw_columns *given = &to->given;
    const char **const text[] = {&given->label, &given->qid, &given->weight, &given->categorical,
                                 &given->query_text};
    *given = *from;
    to->first_other = -1;
    if (given->categorical && !given->categorical[0])
        given->categorical = NULL;
    for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
        if (*text[i])
            RW_TRY(rw_arena_text(ctx, &to->arena, text[i], *text[i]));
    }
    if (from->n_more_labels < 0 || from->n_more_labels >= RW_MAX_LABELS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d columns of further labels; expected 0 to %d",
                       from->n_more_labels, RW_MAX_LABELS - 1);
    RW_TRY(copy_list(ctx, &to->arena, &given->ignore, given->n_ignore));
    RW_TRY(RW_ARENA_NEW(ctx, &to->arena, to->found_ignored, (size_t)given->n_ignore));
    RW_TRY(copy_list(ctx, &to->arena, &given->more_label, given->n_more_labels));
    RW_TRY(take_categorical(ctx, from, to));
    if (from->like && from->like->name)
        return take_names(ctx, to, from->like->name, from->like->n_names, NULL);
    if (from->feature)
        return take_given(ctx, from, to);
    if (!model)
        return RW_OK;
    RW_TRY(take_model(ctx, to, model));
    if (from->keep_others) {
        to->first_other =
            model->n_features ? (int64_t)model->feature[model->n_features - 1] + 1 : 0;
        if (model->n_names && model->name[model->n_names - 1].feature >= to->first_other)
            to->first_other = (int64_t)model->name[model->n_names - 1].feature + 1;
    }
    return RW_OK;
}

int rw_ctx_set_columns(struct rw_ctx *ctx, const struct rw_columns *columns)
{
    RW_SCOPED(columns_free) struct rw_table_columns *made = NULL;
    if (columns) {
        RW_TRY(RW_NEW(ctx, made, 1));
        RW_TRY(fill(ctx, columns, made));
    }
    columns_free(ctx->columns);
    ctx->columns = made;
    made = NULL;
    ctx->columns_free = columns_free;
    return RW_OK;
}

int rw_ctx_n_tables(const struct rw_ctx *ctx)
{
    return ctx->n_tables;
}

int rw_columns_are_given(const struct rw_table_columns *columns)
{
    const struct rw_columns *given = &columns->given;
    return given->label || given->qid || given->weight || given->n_ignore || given->n_more_labels;
}

int rw_columns_like(struct rw_ctx *ctx, const struct rw_dataset *like)
{
    static const struct rw_columns none;
    struct rw_table_columns *columns;
    if (!ctx->columns)
        RW_TRY(rw_ctx_set_columns(ctx, &none));
    columns = ctx->columns;
    drop_names(columns);
    columns->has_noted_extra = 0;
    columns->first_other = -1;
    if (!like || !like->name)
        return RW_OK;
    RW_TRY(take_names(ctx, columns, like->name, like->n_names, NULL));
    memset(columns->needed, 0, (size_t)like->n_names);
    columns->first_other = like->name[like->n_names - 1].feature + INT64_C(1);
    return RW_OK;
}

/* Returns the index of a name in columns->name, or -1. */
static int32_t find(const struct rw_table_columns *columns, const char *name)
{
    if (columns->n_names == 0)
        return -1;
    const struct rw_feature_name key = {.name = (char *)(uintptr_t)name};
    const struct rw_feature_name *found =
        bsearch(&key, columns->name, (size_t)columns->n_names, sizeof(key), rw_names_by_name);
    return found ? (int32_t)(found - columns->name) : -1;
}

int rw_columns_title(struct rw_ctx *ctx, const char *file, struct rw_arena *arena, char *title,
                     uint32_t *is_noted, char **out)
{
    const int is_latin1 = rw_name_to_utf8(ctx, &title);
    if (is_latin1 > 0 && !*is_noted)
        rw_log(ctx, RW_LOG_NOTE,
               "%s: column names that are not UTF-8, such as '%.64s', are read as Latin-1 "
               "(Windows-1252)",
               file, title);
    *is_noted |= is_latin1 > 0;
    *out = title;
    RW_TRY(rw_arena_own(ctx, arena, title, rw_mem_free));
    return is_latin1;
}

int rw_columns_find(struct rw_ctx *ctx, const struct rw_table_columns *columns, const char *name,
                    int32_t *index)
{
    RW_FREED char *in_file = NULL;
    *index = find(columns, name);
    if (*index >= 0)
        return RW_OK;
    RW_TRY(rw_name_for_model(ctx, name, &in_file));
    *index = find(columns, in_file);
    return RW_OK;
}

int rw_columns_agree(struct rw_ctx *ctx, const char *file, const struct rw_dataset *dataset)
{
    const struct rw_table_columns *columns = ctx->columns;
    for (int32_t i = 0; columns && i < dataset->n_names; i++) {
        const struct rw_feature_name *mine = &dataset->name[i];
        int32_t index;
        RW_TRY(rw_columns_find(ctx, columns, mine->name, &index));
        if (index >= 0 && columns->name[index].feature != mine->feature)
            return rw_fail(ctx, RW_ERR_DATA,
                           "'%s': '%.64s' is feature %u, but the model or training set has that "
                           "name for feature %u\nhint: columns of CSV and TSV are found by name, "
                           "those of a cache are not",
                           file, mine->name, mine->feature, columns->name[index].feature);
    }
    return RW_OK;
}
