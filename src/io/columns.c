#include "io/data_format.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dataset/names.h"
#include "io/csv.h"
#include "io/side_files.h"
#include "model/model.h"

static void columns_free(struct rw_table_columns *columns)
{
    if (!columns)
        return;
    rw_names_free(columns->called, columns->n_called);
    rw_vocabulary_free(columns->vocabulary);
    rw_arena_free(&columns->names);
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

static int copy_names(struct rw_ctx *ctx, struct rw_arena *arena,
                      const struct rw_feature_name *from, int32_t n, struct rw_feature_name **to)
{
    RW_TRY(RW_ARENA_NEW(ctx, arena, *to, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        const char *name;
        RW_TRY(rw_arena_text(ctx, arena, &name, from[i].name));
        (*to)[i] = (struct rw_feature_name){from[i].feature, (char *)(uintptr_t)name};
    }
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
    RW_TRY(copy_names(ctx, &columns->names, names, n, &columns->name));
    RW_TRY(RW_ARENA_NEW(ctx, &columns->names, columns->needed, (size_t)n));
    columns->n_names = n;
    qsort(columns->name, (size_t)n, sizeof(*columns->name), by_name);
    for (int32_t i = 0; i < n; i++)
        columns->needed[i] = !in_use || in_use[columns->name[i].feature];
    return RW_OK;
}

/* The names of a model; none, if a feature that its trees ask for has none. */
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

/* Names that the caller gives, by id. */
static int take_given(struct rw_ctx *ctx, const struct rw_columns *from,
                      struct rw_table_columns *to)
{
    struct rw_feature_name *names RW_FREED = NULL;
    uint8_t *needed RW_FREED = NULL;
    int32_t n = 0;
    if (from->n_features < 0 || from->n_features > RW_FEATURE_IDS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d names of features; expected 0 to %d",
                       from->n_features, RW_FEATURE_IDS);
    RW_TRY(RW_NEW(ctx, names, (size_t)from->n_features));
    RW_TRY(RW_NEW(ctx, needed, RW_FEATURE_IDS));
    for (int i = 0; i < from->n_features; i++) {
        if (from->feature[i][0])
            names[n++] = (struct rw_feature_name){(uint32_t)i, (char *)(uintptr_t)from->feature[i]};
        needed[i] = !from->needed || from->needed[i];
    }
    return take_names(ctx, to, names, n, needed);
}

/* Whose values are words: those of a list, and those of a model. */
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
    struct rw_columns *given = &to->given;
    const char **const text[] = {&given->label, &given->qid, &given->weight, &given->categorical};
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
    if (!ctx->columns)
        RW_TRY(rw_ctx_set_columns(ctx, &none));
    rw_arena_free(&ctx->columns->names);
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
                           "'%s': '%.64s' is feature %u, where feature %u is wanted by that name\n"
                           "hint: a cache's columns stay where they are; those of CSV and TSV are "
                           "found by name",
                           file, mine->name, mine->feature, columns->name[index].feature);
    }
    return RW_OK;
}

/* The first record of CSV or TSV: what each column is. */
/* The first record's fields, and whose they are. */
struct header {
    struct rw_ctx *ctx;
    const char *name;                 /* of the file; borrowed */
    struct rw_table_columns *columns; /* borrowed, or the defaults */
    struct rw_csv_layout *layout;
    struct rw_arena arena;      /* of what follows */
    struct rw_csv_field *field; /* [layout->n_columns] */
    size_t field_room;
    const char *text;
    uint8_t *ignored; /* [n_columns] */
    int64_t *id;      /* [n_columns] of features; -1: none */
};

void rw_csv_layout_release(struct rw_csv_layout *layout)
{
    rw_arena_free(&layout->arena);
    memset(layout, 0, sizeof(*layout));
}

static int bad(const struct header *h, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int bad(const struct header *h, uint32_t column, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return rw_fail(
        h->ctx, RW_ERR_PARSE, "%s:1:%zu: %s", h->name,
        (size_t)(h->field[column].begin - h->text) - (h->field[column].is_quoted != 0) + 1, text);
}

/* ---- fields ---- */

static int split(struct header *h, const char *text, const char *end)
{
    struct rw_csv_layout *layout = h->layout;
    const char *p = text;
    do {
        RW_TRY(RW_ARENA_GROW(h->ctx, &h->arena, h->field, h->field_room,
                             (size_t)layout->n_columns + 1));
        struct rw_csv_field *field = &h->field[layout->n_columns++];
        *field = rw_csv_field_at(p, end, layout->separator);
        if (field->wrong)
            return rw_fail(h->ctx, RW_ERR_PARSE, "%s:1:%zu: expected %s", h->name,
                           (size_t)(field->wrong - text) + 1, field->expected);
        p = field->next + 1;
    } while (p <= end && p[-1] == layout->separator);
    RW_TRY(RW_ARENA_NEW(h->ctx, &layout->arena, layout->column, layout->n_columns));
    RW_TRY(RW_ARENA_NEW(h->ctx, &h->arena, h->ignored, layout->n_columns));
    return RW_ARENA_NEW(h->ctx, &h->arena, h->id, layout->n_columns);
}

static int read_titles(struct header *h)
{
    struct rw_csv_layout *layout = h->layout;
    RW_TRY(RW_ARENA_NEW(h->ctx, &layout->arena, layout->title, layout->n_columns));
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        const struct rw_csv_field *field = &h->field[c];
        RW_TRY(RW_ARENA_NEW(h->ctx, &layout->arena, layout->title[c],
                            (size_t)(field->end - field->begin) + 1));
        const size_t n = rw_csv_field_text(field, layout->title[c]);
        if (strlen(layout->title[c]) != n)
            return bad(h, c, "expected a name, found a byte 0");
    }
    return RW_OK;
}

/* "3", or "3-7": 1, and numbers from 1. */
static int parse_range(const char *text, unsigned long *first, unsigned long *last)
{
    char *end;
    if ((unsigned char)(*text - '0') > 9)
        return 0;
    *first = *last = strtoul(text, &end, 10);
    if (*end == '-' && (unsigned char)(end[1] - '0') <= 9)
        *last = strtoul(end + 1, &end, 10);
    return *end == 0;
}

static int is_number(const char *text)
{
    unsigned long first, last;
    return !text || parse_range(text, &first, &last);
}

/* By the caller's columns, all of which are numbers, and the fields: names are no numbers. */
static int find_header(struct header *h)
{
    const struct rw_table_columns *columns = h->columns;
    struct rw_csv_layout *layout = h->layout;
    int by_number = rw_columns_are_given(columns) && is_number(columns->given.label) &&
                    is_number(columns->given.qid) && is_number(columns->given.weight);
    for (int i = 0; i < columns->given.n_ignore; i++)
        by_number &= is_number(columns->given.ignore[i]);
    for (int i = 0; i < columns->given.n_more_labels; i++)
        by_number &= is_number(columns->given.more_label[i]);
    layout->has_header = 1;
    for (uint32_t c = 0; by_number && c < layout->n_columns; c++)
        layout->has_header &= !rw_csv_is_number(&h->field[c]);
    return layout->has_header ? read_titles(h) : RW_OK;
}

/* Names that look like a document's fields. */
static int is_no_header(const struct header *h)
{
    int any_number = 0;
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        any_number |= rw_csv_is_number(&h->field[c]);
        if (!rw_csv_is_number(&h->field[c]) && !rw_csv_is_missing(&h->field[c]))
            return 0;
    }
    return any_number;
}

/* ---- roles ---- */

/* A few of the names, for a message. */
static const char *some_names(const struct header *h, char *text, size_t size)
{
    size_t n = 0;
    text[0] = 0;
    for (uint32_t c = 0; h->layout->title && c < h->layout->n_columns && c < 8; c++)
        n += (size_t)snprintf(text + n, size - n, "%s'%.40s'", c ? ", " : "", h->layout->title[c]);
    snprintf(text + n, size - n, "%s", h->layout->n_columns > 8 ? ", ..." : "");
    return text;
}

/* By its name, else by its number. -1: there is none. */
static int64_t find_column(struct header *h, const char *text)
{
    const struct rw_csv_layout *layout = h->layout;
    unsigned long first, last;
    for (uint32_t c = 0; layout->title && c < layout->n_columns; c++) {
        if (strcmp(layout->title[c], text) == 0)
            return c;
    }
    if (parse_range(text, &first, &last) && first == last && first >= 1 &&
        first <= layout->n_columns)
        return (int64_t)first - 1;
    return -1;
}

static int no_column(const struct header *h, const char *text, const char *what)
{
    char names[512];
    if (h->layout->title)
        return bad(h, 0, "no column '%.64s'%s; there are %s", text, what,
                   some_names(h, names, sizeof(names)));
    return bad(h, 0, "no column '%.64s'%s; expected a number from 1 to %u\nhint: %s", text, what,
               h->layout->n_columns, "the first line is taken for a document, as it has numbers");
}

/* given: NULL: the column is called `name`. may_lack: it is no error if there is none. */
static int take_role(struct header *h, const char *given, const char *name, enum rw_csv_role role,
                     int may_lack)
{
    char what[64], names[512];
    const int64_t found = find_column(h, given ? given : name);
    snprintf(what, sizeof(what), " for %s",
             role == RW_CSV_LABEL        ? "labels"
             : role == RW_CSV_MORE_LABEL ? "further labels"
             : role == RW_CSV_QUERY      ? "query ids"
                                         : "weights");
    if (found < 0 && may_lack)
        return RW_OK;
    if (found < 0 && given)
        return no_column(h, given, what);
    if (found < 0)
        return bad(h, 0,
                   "no column '%s'; there are %s\nhint: the parameter '%s-column' says which "
                   "column has the %s",
                   name, some_names(h, names, sizeof(names)), name, what + 5);
    struct rw_csv_column *column = &h->layout->column[found];
    if (column->role != RW_CSV_IGNORED)
        return bad(h, (uint32_t)found, "the column is given twice, also%s", what);
    column->role = role;
    return RW_OK;
}

/* Nothing but what has a name is read, and numbers are another file's. */
static int reads_names_only(const struct header *h)
{
    return h->columns->n_names && h->columns->first_other < 0;
}

/* They are a training set's. */
static int take_more_labels(struct header *h)
{
    const struct rw_table_columns *columns = h->columns;
    for (int i = 0; i < columns->given.n_more_labels && !columns->given.no_label; i++) {
        const int64_t found = find_column(h, columns->given.more_label[i]);
        if (reads_names_only(h)) {
            if (found >= 0)
                h->ignored[found] = 1;
            continue;
        }
        RW_TRY(take_role(h, columns->given.more_label[i], "", RW_CSV_MORE_LABEL, 0));
        h->layout->column[found].slot = (uint32_t)i;
        h->layout->n_more_labels = i + 1;
    }
    return RW_OK;
}

static int take_ignored(struct header *h)
{
    const struct rw_table_columns *columns = h->columns;
    if (reads_names_only(h))
        return RW_OK;
    for (int i = 0; i < columns->given.n_ignore; i++) {
        const char *text = columns->given.ignore[i];
        const int64_t found = find_column(h, text);
        unsigned long first, last;
        if (found >= 0) {
            h->ignored[found] = 1;
        } else if (parse_range(text, &first, &last) && first >= 1 && first < last &&
                   last <= h->layout->n_columns) {
            memset(h->ignored + first - 1, 1, last - first + 1);
        } else {
            return no_column(h, text, " to leave out");
        }
    }
    return RW_OK;
}

/* A column of the name that query ids have is never a feature, of whatever the training reads. */
static int check_no_second_qid(struct header *h)
{
    const int64_t found = find_column(h, "qid");
    if (!h->columns->given.qid || h->columns->n_names || found < 0 || h->ignored[found] ||
        h->layout->column[found].role != RW_CSV_IGNORED)
        return RW_OK;
    return bad(h, (uint32_t)found,
               "the column 'qid' would be a feature: the query ids are in column '%.64s'\n"
               "hint: leave out 'qid-column' to take them from 'qid', or leave the column out "
               "('ignore')",
               h->columns->given.qid);
}

static int take_roles(struct header *h)
{
    const struct rw_table_columns *columns = h->columns;
    RW_TRY(take_role(h, columns->given.label, "label", RW_CSV_LABEL, columns->given.no_label));
    RW_TRY(take_role(h, columns->given.qid, "qid", RW_CSV_QUERY, columns->given.no_qid));
    if (columns->given.weight)
        RW_TRY(take_role(h, columns->given.weight, "", RW_CSV_WEIGHT, columns->given.no_label));
    RW_TRY(take_more_labels(h));
    RW_TRY(take_ignored(h));
    return check_no_second_qid(h);
}

/* ---- features ---- */

/* And features have, as a model has them. */
static int check_names_in_model(const struct header *h)
{
    const struct rw_csv_layout *layout = h->layout;
    struct rw_feature_name *names, *in_model = NULL;
    int32_t n = 0;
    RW_TRY(RW_NEW(h->ctx, names, layout->n_columns));
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        if (layout->column[c].role == RW_CSV_IGNORED && !h->ignored[c])
            names[n++] = (struct rw_feature_name){c, layout->title[c]};
    }
    const int status = rw_names_for_model(h->ctx, names, n, &in_model);
    rw_names_free(in_model, n);
    rw_mem_free(names);
    if (status != RW_ERR_DATA)
        return status;
    char why[512];
    snprintf(why, sizeof(why), "%s", rw_last_error(h->ctx));
    return rw_fail(h->ctx, RW_ERR_DATA, "%s:1: %s", h->name, why);
}

/* Columns have different names. */
static int check_titles(const struct header *h)
{
    struct rw_query_ids seen RW_RELEASED(rw_query_ids_release) = {0}; /* a set of texts */
    uint32_t *column RW_FREED = NULL;
    size_t index;
    RW_TRY(RW_NEW(h->ctx, column, h->layout->n_columns));
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        const size_t n = seen.n;
        if (h->ignored[c] || !h->layout->title[c][0])
            continue;
        const int is_known = rw_query_ids_add(h->ctx, &seen, h->layout->title[c], &index);
        RW_TRY(is_known);
        if (is_known)
            return bad(h, c, "column %u has the name of column %u, '%.64s'", c + 1,
                       column[index] + 1, h->layout->title[c]);
        column[n] = c;
    }
    return reads_names_only(h) ? RW_OK : check_names_in_model(h);
}

static int no_name(const struct header *h, uint32_t column)
{
    return bad(h, column,
               "column %u has no name\nhint: if it numbers the lines, 'ignore' leaves it out",
               column + 1);
}

/* A column that the caller has ignored, by name or number, or whose name is of labels or query ids.
 */
static int is_known(const struct header *h, uint32_t column)
{
    const char *title = h->layout->title[column];
    unsigned long first, last;
    int is_ignored = 0;
    for (int i = 0; i < h->columns->given.n_ignore && !is_ignored; i++)
        is_ignored = strcmp(h->columns->given.ignore[i], title) == 0 ||
                     (parse_range(h->columns->given.ignore[i], &first, &last) &&
                      column + 1 >= first && column + 1 <= last);
    return is_ignored || !*title || strcmp(title, "label") == 0 || strcmp(title, "qid") == 0;
}

/* Once for each data set: columns that are not read, for they have no feature's name. */
static void note_extra(const struct header *h)
{
    enum { FEW = 3 };
    char names[FEW * 48] = "";
    size_t at = 0;
    uint32_t n = 0;
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        if (h->layout->column[c].role != RW_CSV_IGNORED || h->ignored[c] || h->id[c] >= 0 ||
            is_known(h, c))
            continue;
        if (n++ < FEW)
            at += (size_t)snprintf(names + at, sizeof(names) - at, "%s'%.40s'", n > 1 ? ", " : "",
                                   h->layout->title[c]);
    }
    if (n == 0 || h->columns->has_noted_extra || rw_worker(h->ctx) != 0)
        return;
    h->columns->has_noted_extra = 1;
    rw_log(h->ctx, RW_LOG_NOTE, "%s: %u column%s not among the features, and %s not used: %s%s",
           h->name, n, n > 1 ? "s are" : " is", n > 1 ? "are" : "is", names,
           n > FEW ? ", ..." : "");
}

/* Ids of the columns that the names of a model, or of another data set, have. */
static int find_by_name(struct header *h)
{
    const struct rw_table_columns *columns = h->columns;
    const struct rw_csv_layout *layout = h->layout;
    int64_t other = columns->first_other;
    uint32_t *found, n_lacking = 0, first = 0;
    RW_TRY(RW_ARENA_NEW(h->ctx, &h->arena, found, (size_t)columns->n_names));
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        int32_t index;
        if (layout->column[c].role != RW_CSV_IGNORED || h->ignored[c])
            continue;
        RW_TRY(rw_columns_find(h->ctx, columns, layout->title[c], &index));
        if (index >= 0 && found[index])
            return bad(h, c, "columns %u and %u are both feature '%.64s'", found[index], c + 1,
                       columns->name[index].name);
        if (index < 0 && other >= 0 && !layout->title[c][0])
            return no_name(h, c);
        if (index >= 0)
            found[index] = c + 1;
        if (index >= 0 || other >= 0)
            h->id[c] = index >= 0 ? (int64_t)columns->name[index].feature : other++;
    }
    for (int32_t i = columns->n_names - 1; i >= 0; i--) {
        if (columns->needed[i] && !found[i]) {
            n_lacking++;
            first = (uint32_t)i;
        }
    }
    if (n_lacking) {
        char names[512];
        return rw_fail(h->ctx, RW_ERR_DATA,
                       "'%s' lacks %u of the features, such as '%.64s'; its columns are %s",
                       h->name, n_lacking, columns->name[first].name,
                       some_names(h, names, sizeof(names)));
    }
    if (other < 0)
        note_extra(h);
    return RW_OK;
}

static int number_features(struct header *h)
{
    const struct rw_csv_layout *layout = h->layout;
    int64_t id = 0;
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        if (layout->column[c].role != RW_CSV_IGNORED || h->ignored[c])
            continue;
        if (layout->title && !layout->title[c][0])
            return no_name(h, c);
        h->id[c] = id++;
    }
    return RW_OK;
}

struct feature {
    int64_t id;
    uint32_t column;
};

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const struct feature *)a)->id, y = ((const struct feature *)b)->id;
    return (x > y) - (x < y);
}

/* Slots by ascending id. */
static int make_slots(struct header *h)
{
    struct rw_csv_layout *layout = h->layout;
    struct feature *feature;
    uint32_t n = 0;
    RW_TRY(RW_ARENA_NEW(h->ctx, &h->arena, feature, layout->n_columns));
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        if (h->id[c] >= 0)
            feature[n++] = (struct feature){h->id[c], c};
    }
    qsort(feature, n, sizeof(*feature), by_id);
    if (n == 0)
        return bad(h, 0, "no column is a feature");
    if (feature[n - 1].id > RW_MAX_FEATURE)
        return bad(h, 0, "%u features; at most %d are possible", n, RW_FEATURE_IDS);
    RW_TRY(RW_ARENA_NEW(h->ctx, &layout->arena, layout->feature, n));
    if (layout->title)
        RW_TRY(RW_ARENA_NEW(h->ctx, &layout->arena, layout->name, n));
    layout->n_slots = n;
    layout->n_names = layout->title ? (int32_t)n : 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t c = feature[i].column, id = (uint32_t)feature[i].id;
        layout->column[c] = (struct rw_csv_column){RW_CSV_FEATURE, i, 0};
        layout->feature[i] = (uint16_t)id;
        if (layout->title)
            layout->name[i] = (struct rw_feature_name){id, layout->title[c]};
    }
    return RW_OK;
}

static int make_layout(struct header *h)
{
    struct rw_csv_layout *layout = h->layout;
    if (layout->n_columns == 1 &&
        memchr(h->field[0].begin, ';', (size_t)(h->field[0].end - h->field[0].begin)))
        return bad(h, 0,
                   "expected columns between commas or tabs, found semicolons\n"
                   "hint: decimals have a point, then, not a comma");
    RW_TRY(find_header(h));
    if (layout->title && !rw_columns_are_given(h->columns) && is_no_header(h))
        return bad(h, 0,
                   "expected the columns' names, found numbers\n"
                   "hint: without a header, columns are given by number, from 1 ('label-column')");
    RW_TRY(take_roles(h));
    if (layout->title)
        RW_TRY(check_titles(h));
    for (uint32_t c = 0; c < layout->n_columns; c++)
        h->id[c] = -1;
    layout->by_name = layout->title && h->columns->n_names;
    RW_TRY(layout->by_name ? find_by_name(h) : number_features(h));
    RW_TRY(make_slots(h));
    layout->width = layout->by_name ? 0 : layout->n_slots;
    RW_TRY(rw_columns_vocabulary(h->ctx, layout->name, layout->n_names, &layout->vocabulary));
    for (uint32_t c = 0; c < layout->n_columns; c++)
        layout->column[c].is_word =
            h->id[c] >= 0 && rw_vocabulary_has(layout->vocabulary, (uint32_t)h->id[c]);
    return RW_OK;
}

int rw_csv_layout_make(struct rw_ctx *ctx, const char *name, const char *text, const char *end,
                       struct rw_csv_layout *layout)
{
    struct rw_table_columns none = {.first_other = -1};
    struct header h = {.ctx = ctx,
                       .name = name,
                       .columns = ctx->columns ? ctx->columns : &none,
                       .layout = layout,
                       .text = text};
    memset(layout, 0, sizeof(*layout));
    layout->separator = rw_csv_separator(text, end);
    int status = split(&h, text, end);
    if (status >= 0)
        status = make_layout(&h);
    rw_arena_free(&h.arena);
    if (status < 0)
        rw_csv_layout_release(layout);
    return status;
}
