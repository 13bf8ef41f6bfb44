#include "io/columns.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dataset/lexicon.h"
#include "dataset/names.h"
#include "io/side_files.h"
#include "model/model.h"

static void texts_free(char **text, int n)
{
    for (int i = 0; text && i < n; i++)
        rw_mem_free(text[i]);
    rw_mem_free(text);
}

static void columns_free(struct rw_table_columns *columns)
{
    if (!columns)
        return;
    rw_mem_free(columns->label);
    rw_mem_free(columns->qid);
    rw_mem_free(columns->weight);
    texts_free(columns->ignore, columns->n_ignore);
    texts_free(columns->more_label, columns->n_more_labels);
    rw_names_free(columns->name, columns->n_names);
    rw_mem_free(columns->needed);
    rw_mem_free(columns->categorical);
    rw_names_free(columns->called, columns->n_called);
    rw_mem_free(columns->by_category);
    rw_lexicon_free(columns->lexicon);
    rw_mem_free(columns);
}

static int copy_of(struct rw_ctx *ctx, const char *text, char **out)
{
    return text ? rw_mem_copy_text(ctx, out, text) : RW_OK;
}

static int copy_texts(struct rw_ctx *ctx, const char *const *from, int n, char ***to, int *n_copied)
{
    if (n > 0)
        RW_TRY(RW_NEW(ctx, *to, (size_t)n));
    for (; *n_copied < n; ++*n_copied)
        RW_TRY(rw_mem_copy_text(ctx, &(*to)[*n_copied], from[*n_copied]));
    return RW_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rw_feature_name *)a)->name,
                  ((const struct rw_feature_name *)b)->name);
}

/* in_use: [RW_FEATURE_IDS] features that must be there; NULL: all. */
static int take_names(struct rw_ctx *ctx, struct rw_table_columns *columns,
                      const struct rw_feature_name *names, int32_t n, const uint8_t *in_use)
{
    RW_TRY(rw_names_copy(ctx, names, n, &columns->name));
    columns->n_names = n;
    RW_TRY(RW_NEW(ctx, columns->needed, (size_t)n));
    qsort(columns->name, (size_t)n, sizeof(*columns->name), by_name);
    for (int32_t i = 0; i < n; i++)
        columns->needed[i] = !in_use || in_use[columns->name[i].feature];
    return RW_OK;
}

/* The names of a model; none, if a feature that its trees ask for has none. */
static int take_model(struct rw_ctx *ctx, struct rw_table_columns *columns,
                      const struct rw_model *model)
{
    uint8_t *in_use;
    int has_all = model->n_names > 0, status = RW_OK;
    RW_TRY(RW_NEW(ctx, in_use, RW_FEATURE_IDS));
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t k = 0; k + 1 < model->tree[t].n_leaves; k++) {
            const uint32_t feature = model->tree[t].feature[k];
            has_all = has_all && *rw_model_feature_name(model, feature);
            in_use[feature] = 1;
        }
    }
    if (has_all)
        status = take_names(ctx, columns, model->name, model->n_names, in_use);
    rw_mem_free(in_use);
    return status;
}

/* Names that the caller gives, by id. */
static int take_given(struct rw_ctx *ctx, const struct rw_columns *from,
                      struct rw_table_columns *to)
{
    struct rw_feature_name *names;
    uint8_t *needed;
    int32_t n = 0;
    int status;
    if (from->n_features < 0 || from->n_features > RW_FEATURE_IDS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d names of features; expected 0 to %d",
                       from->n_features, RW_FEATURE_IDS);
    RW_TRY(RW_NEW(ctx, names, (size_t)from->n_features));
    RW_TRY_OUT(RW_NEW(ctx, needed, RW_FEATURE_IDS));
    for (int i = 0; i < from->n_features; i++) {
        if (from->feature[i][0])
            names[n++] = (struct rw_feature_name){(uint32_t)i, (char *)(uintptr_t)from->feature[i]};
        needed[i] = !from->needed || from->needed[i];
    }
    status = take_names(ctx, to, names, n, needed);
    rw_mem_free(needed);
out:
    rw_mem_free(names);
    return status;
}

/* Whose values are words: those of a list, and those of a model. */
static int take_categorical(struct rw_ctx *ctx, const struct rw_columns *from,
                            struct rw_table_columns *to)
{
    const struct rw_categories *categories = from->model ? &from->model->categories : NULL;
    if (from->categorical && from->categorical[0]) {
        RW_TRY(rw_mem_copy_text(ctx, &to->categorical, from->categorical));
        if (from->names && from->names[0])
            RW_TRY(rw_names_read(ctx, from->names, &to->called, &to->n_called));
    }
    if (categories && categories->n) {
        RW_TRY(RW_NEW(ctx, to->by_category, RW_FEATURE_IDS));
        for (uint32_t i = 0; i < categories->n; i++)
            to->by_category[categories->of[i].feature] = 1;
    }
    return to->categorical || to->by_category ? rw_lexicon_new(ctx, &to->lexicon) : RW_OK;
}

int rw_columns_lexicon(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                       struct rw_lexicon **out)
{
    const struct rw_table_columns *columns = ctx->columns;
    struct rw_feature_name *in_file = NULL;
    uint8_t *marked = NULL;
    int status;
    *out = columns ? columns->lexicon : NULL;
    if (!*out)
        return RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, marked, RW_FEATURE_IDS));
    if (names)
        RW_TRY_OUT(rw_names_for_model(ctx, names, n_names, &in_file));
    if (columns->categorical)
        RW_TRY_OUT(rw_list_parse(ctx, "categorical", columns->categorical,
                                 in_file ? in_file : columns->called,
                                 in_file ? n_names : columns->n_called, marked));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (marked[f] || (columns->by_category && columns->by_category[f]))
            rw_lexicon_mark(*out, f);
    }
out:
    rw_names_free(in_file, n_names);
    rw_mem_free(marked);
    return status;
}

int rw_columns_check_categorical(struct rw_ctx *ctx, const struct rw_dataset *dataset)
{
    const struct rw_table_columns *columns = ctx->columns;
    const char *list = columns && columns->categorical ? columns->categorical : "";
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
            status = rw_fail(ctx, RW_ERR_ARGUMENT,
                             "categorical: expected features that the data has, found '%.*s'",
                             (int)(length > 64 ? 64 : length), list);
            break;
        }
        RW_TRY_OUT(rw_list_next(ctx, "categorical", length, &list));
    }
out:
    rw_names_free(names, dataset->n_names);
    return status;
}

static int fill(struct rw_ctx *ctx, const struct rw_columns *from, struct rw_table_columns *to)
{
    const struct rw_model *model = from->model;
    RW_TRY(copy_of(ctx, from->label, &to->label));
    RW_TRY(copy_of(ctx, from->qid, &to->qid));
    RW_TRY(copy_of(ctx, from->weight, &to->weight));
    to->no_label = from->no_label;
    to->no_qid = from->no_qid;
    to->first_other = -1;
    RW_TRY(copy_texts(ctx, from->ignore, from->n_ignore, &to->ignore, &to->n_ignore));
    if (from->n_more_labels < 0 || from->n_more_labels >= RW_MAX_LABELS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d columns of further labels; expected 0 to %d",
                       from->n_more_labels, RW_MAX_LABELS - 1);
    RW_TRY(copy_texts(ctx, from->more_label, from->n_more_labels, &to->more_label,
                      &to->n_more_labels));
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
    struct rw_table_columns *made = NULL;
    int status;
    if (columns) {
        RW_TRY_OUT(RW_NEW(ctx, made, 1));
        RW_TRY_OUT(fill(ctx, columns, made));
    }
    columns_free(ctx->columns);
    ctx->columns = made;
    ctx->columns_free = columns_free;
    return RW_OK;
out:
    columns_free(made);
    return status;
}

int rw_ctx_n_tables(const struct rw_ctx *ctx)
{
    return ctx->n_tables;
}

int rw_columns_are_given(const struct rw_table_columns *columns)
{
    return columns->label || columns->qid || columns->weight || columns->n_ignore ||
           columns->n_more_labels;
}

int rw_columns_like(struct rw_ctx *ctx, const struct rw_dataset *like)
{
    static const struct rw_columns none;
    if (!ctx->columns)
        RW_TRY(rw_ctx_set_columns(ctx, &none));
    rw_names_free(ctx->columns->name, ctx->columns->n_names);
    rw_mem_free(ctx->columns->needed);
    ctx->columns->name = NULL;
    ctx->columns->needed = NULL;
    ctx->columns->n_names = 0;
    ctx->columns->has_noted_extra = 0;
    ctx->columns->first_other = -1;
    return like && like->name ? take_names(ctx, ctx->columns, like->name, like->n_names, NULL)
                              : RW_OK;
}

static int32_t find(const struct rw_table_columns *columns, const char *name)
{
    if (columns->n_names == 0)
        return -1;
    const struct rw_feature_name key = {.name = (char *)(uintptr_t)name};
    const struct rw_feature_name *found =
        bsearch(&key, columns->name, (size_t)columns->n_names, sizeof(key), by_name);
    return found ? (int32_t)(found - columns->name) : -1;
}

int rw_columns_find(struct rw_ctx *ctx, const struct rw_table_columns *columns, const char *name,
                    int32_t *index)
{
    char *in_file;
    *index = find(columns, name);
    if (*index >= 0)
        return RW_OK;
    RW_TRY(rw_name_for_model(ctx, name, &in_file));
    *index = find(columns, in_file);
    rw_mem_free(in_file);
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
                           "'%s': '%.64s' is feature %u, where feature %u is wanted by that name\n"
                           "hint: a cache's columns stay where they are; those of CSV and TSV are "
                           "found by name",
                           file, mine->name, mine->feature, columns->name[index].feature);
    }
    return RW_OK;
}
