/* Lines in, columns out.
 *
 * The builders hold entries line by line. Their documents, in order, are the data set's; so a group
 * of builders owns a range of documents, and groups write into the columns side by side without
 * meeting. Which thread does which group cannot be seen in the result. */
#include <stdlib.h>

#include "base/mem.h"
#include "data/dataset.h"

enum { N_FEATURES = RW_MAX_FEATURE + 1 };

void rw_builder_release(struct rw_builder *builder)
{
    rw_mem_free(builder->label);
    rw_mem_free(builder->entry_offset);
    rw_mem_free(builder->entry_feature);
    rw_mem_free(builder->entry_value);
    rw_mem_free(builder->query_offset);
    rw_mem_free(builder->query_id_offset);
    rw_mem_free(builder->query_id_text);
    rw_mem_free(builder->comment_offset);
    rw_mem_free(builder->comment_text);
    rw_mem_free(builder->place);
    rw_mem_free(builder->file);
    memset(builder, 0, sizeof(*builder));
}

int rw_builder_line(struct rw_ctx *ctx, struct rw_builder *builder, uint64_t line)
{
    if (builder->n_places) {
        const struct rw_place *last = &builder->place[builder->n_places - 1];
        if (line == last->line + (builder->n_docs - last->doc))
            return RW_OK;
    }
    RW_TRY(RW_GROW(ctx, builder->place, builder->place_room, (size_t)builder->n_places + 1));
    builder->place[builder->n_places++] = (struct rw_place){.doc = builder->n_docs, .line = line};
    return RW_OK;
}

int rw_builder_query(struct rw_ctx *ctx, struct rw_builder *builder, const char *id,
                     size_t id_bytes)
{
    const size_t q = builder->n_queries;
    const uint64_t begin = builder->query_id_bytes;
    RW_TRY(RW_GROW(ctx, builder->query_offset, builder->query_offset_room, q + 2));
    RW_TRY(RW_GROW(ctx, builder->query_id_offset, builder->query_id_room, q + 2));
    RW_TRY(RW_GROW(ctx, builder->query_id_text, builder->query_id_text_room, begin + id_bytes + 1));
    memcpy(builder->query_id_text + begin, id, id_bytes);
    builder->query_id_text[begin + id_bytes] = 0;
    builder->query_id_bytes = begin + id_bytes + 1;
    builder->query_id_offset[q] = begin;
    builder->query_id_offset[q + 1] = builder->query_id_bytes;
    builder->query_offset[q] = builder->n_docs;
    builder->query_offset[q + 1] = builder->n_docs;
    builder->n_queries++;
    return RW_OK;
}

/* Comments begin to cost memory with the first one: the documents before it get "" then. */
static int add_comment(struct rw_ctx *ctx, struct rw_builder *builder, const char *comment,
                       size_t comment_bytes)
{
    const size_t i = builder->n_docs;
    const size_t n_before = builder->any_comment ? 0 : i;
    const uint64_t begin = builder->comment_bytes + n_before;
    RW_TRY(RW_GROW(ctx, builder->comment_offset, builder->comment_room, i + 2));
    RW_TRY(
        RW_GROW(ctx, builder->comment_text, builder->comment_text_room, begin + comment_bytes + 1));
    if (n_before) {
        memset(builder->comment_text, 0, n_before);
        for (size_t k = 0; k < n_before; k++)
            builder->comment_offset[k] = k;
    }
    if (comment_bytes)
        memcpy(builder->comment_text + begin, comment, comment_bytes);
    builder->comment_text[begin + comment_bytes] = 0;
    builder->comment_offset[i] = begin;
    builder->comment_bytes = begin + comment_bytes + 1;
    builder->comment_offset[i + 1] = builder->comment_bytes;
    builder->any_comment = 1;
    return RW_OK;
}

int rw_builder_doc(struct rw_ctx *ctx, struct rw_builder *builder, float label,
                   const uint16_t *features, const float *values, size_t n, const char *comment,
                   size_t comment_bytes)
{
    const size_t i = builder->n_docs;
    const uint64_t begin = builder->n_entries;
    if (builder->n_queries == 0)
        return rw_fail(ctx, RW_ERR_INTERNAL, "a document before the first query");
    if (i >= RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_DATA, "more than %u documents", RW_MAX_DOCS);
    RW_TRY(RW_GROW(ctx, builder->label, builder->label_room, i + 1));
    RW_TRY(RW_GROW(ctx, builder->entry_offset, builder->entry_offset_room, i + 2));
    RW_TRY(RW_GROW(ctx, builder->entry_feature, builder->entry_feature_room, begin + n));
    RW_TRY(RW_GROW(ctx, builder->entry_value, builder->entry_value_room, begin + n));
    if (comment_bytes || builder->any_comment)
        RW_TRY(add_comment(ctx, builder, comment, comment_bytes));
    if (n) {
        memcpy(builder->entry_feature + begin, features, n * sizeof(*features));
        memcpy(builder->entry_value + begin, values, n * sizeof(*values));
    }
    builder->label[i] = label;
    builder->entry_offset[i] = begin;
    builder->entry_offset[i + 1] = begin + n;
    builder->n_entries = begin + n;
    builder->n_docs++;
    builder->query_offset[builder->n_queries] = builder->n_docs;
    return RW_OK;
}

/* First entry of a column at or after document `doc`. */
static uint32_t first_entry(const struct rw_column *column, uint32_t doc)
{
    uint32_t low = 0, high = column->n;
    if (!column->row)
        return doc;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (column->row[middle] < doc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Columns to lines: counts each line's entries, then places them; columns ascend, so ids do too.
 * next: [end - begin + 1], zeroed; then first entry of each line. */
static int copy_entries(struct rw_ctx *ctx, struct rw_builder *to, const struct rw_dataset *dataset,
                        uint32_t begin, uint32_t end, uint64_t *next)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t c = 0; c < dataset->n_columns; c++) {
            const struct rw_column *column = &dataset->column[c];
            for (uint32_t k = first_entry(column, begin); k < column->n; k++) {
                const uint32_t row = column->row ? column->row[k] : k;
                if (row >= end)
                    break;
                if (!column->row && rw_is_absent(column->value[k]))
                    continue;
                if (pass == 0) {
                    next[row - begin + 1]++;
                    continue;
                }
                const uint64_t at = next[row - begin]++;
                to->entry_feature[at] = (uint16_t)column->feature;
                memcpy(&to->entry_value[at], &column->value[k], sizeof(float));
            }
        }
        if (pass == 0) {
            for (uint32_t i = 0; i < end - begin; i++)
                next[i + 1] += next[i];
            const uint64_t n = next[end - begin];
            RW_TRY(RW_GROW(ctx, to->entry_feature, to->entry_feature_room, n));
            RW_TRY(RW_GROW(ctx, to->entry_value, to->entry_value_room, n));
        }
    }
    return RW_OK;
}

int rw_builder_copy(struct rw_ctx *ctx, struct rw_builder *builder,
                    const struct rw_dataset *dataset, uint32_t begin, uint32_t end)
{
    struct rw_builder lines = {0}; /* only its entries are used */
    uint64_t *next = NULL;
    int status;
    RW_TRY_OUT(RW_NEW(ctx, next, (size_t)(end - begin) + 1));
    RW_TRY_OUT(copy_entries(ctx, &lines, dataset, begin, end, next));
    uint32_t q = 0, high = dataset->n_queries;
    while (q + 1 < high) { /* the query that holds `begin` */
        const uint32_t middle = q + (high - q) / 2;
        if (dataset->query_offset[middle] <= begin)
            q = middle;
        else
            high = middle;
    }
    uint64_t at = 0;
    for (uint32_t i = begin; i < end; i++) {
        if (i == begin || i == dataset->query_offset[q + 1]) {
            q += i != begin;
            const char *id = rw_dataset_query_id(dataset, q);
            RW_TRY_OUT(rw_builder_query(ctx, builder, id, strlen(id)));
        }
        const char *comment = rw_dataset_comment(dataset, i);
        const uint64_t line_end = next[i - begin]; /* placing moved it there */
        RW_TRY_OUT(rw_builder_doc(ctx, builder, dataset->label[i], lines.entry_feature + at,
                                  lines.entry_value + at, line_end - at, comment, strlen(comment)));
        at = line_end;
    }
    status = RW_OK;
out:
    rw_mem_free(next);
    rw_builder_release(&lines);
    return status;
}

/* Builders that one thread turns into columns: [first, end). */
struct group {
    int first, end;
    uint32_t
        *cursor; /* [N_FEATURES] entries of each feature; then where its next entry goes; owned */
};

struct finish {
    struct rw_builder *builders;
    int n_builders;
    uint32_t *first_doc; /* [n_builders + 1]; owned */
    struct group *group; /* [n_groups]; owned */
    int n_groups;
    uint32_t *column_of;        /* [N_FEATURES] UINT32_MAX: no column; owned */
    struct rw_dataset *dataset; /* owned until done */
};

static void finish_release(struct finish *finish)
{
    for (int g = 0; finish->group && g < finish->n_groups; g++)
        rw_mem_free(finish->group[g].cursor);
    rw_mem_free(finish->group);
    rw_mem_free(finish->first_doc);
    rw_mem_free(finish->column_of);
    rw_dataset_free(finish->dataset);
}

static const char *query_id(const struct rw_builder *builder, uint32_t query)
{
    return builder->query_id_text + builder->query_id_offset[query];
}

static int query_is_empty(const struct rw_builder *builder, uint32_t query)
{
    return builder->query_offset[query] == builder->query_offset[query + 1];
}

/* Labels, queries, ids and comments: end to end. */
static int join_queries(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t n_queries = 0, id_bytes = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        n_queries += finish->builders[b].n_queries;
        id_bytes += finish->builders[b].query_id_bytes;
    }
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_offset, n_queries + 1));
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_id_offset, n_queries + 1));
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_id_text, id_bytes));
    uint32_t n = 0;
    uint64_t bytes = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        for (uint32_t q = 0; q < builder->n_queries; q++) {
            const char *id = query_id(builder, q);
            const size_t length = strlen(id) + 1;
            if (query_is_empty(builder, q))
                continue;
            if (q == 0 && n > 0 &&
                strcmp(dataset->query_id_text + dataset->query_id_offset[n - 1], id) == 0)
                continue;
            memcpy(dataset->query_id_text + bytes, id, length);
            dataset->query_id_offset[n] = bytes;
            dataset->query_offset[n] = finish->first_doc[b] + builder->query_offset[q];
            bytes += length;
            n++;
        }
    }
    dataset->n_queries = n;
    dataset->query_offset[n] = dataset->n_docs;
    dataset->query_id_offset[n] = bytes;
    return RW_OK;
}

static int join_docs(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t comment_bytes = 0;
    int any_comment = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        any_comment |= builder->any_comment;
        comment_bytes += builder->any_comment ? builder->comment_bytes : builder->n_docs;
        dataset->n_clamped += builder->n_clamped;
    }
    RW_TRY(RW_NEW_RAW(ctx, dataset->label, dataset->n_docs));
    if (any_comment) {
        RW_TRY(RW_NEW_RAW(ctx, dataset->comment_offset, (size_t)dataset->n_docs + 1));
        RW_TRY(RW_NEW_RAW(ctx, dataset->comment_text, comment_bytes));
    }
    uint64_t at = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        const uint32_t first = finish->first_doc[b];
        if (builder->n_docs)
            memcpy(dataset->label + first, builder->label, builder->n_docs * sizeof(float));
        if (!any_comment)
            continue;
        for (uint32_t i = 0; i < builder->n_docs; i++)
            dataset->comment_offset[first + i] =
                at + (builder->any_comment ? builder->comment_offset[i] : i);
        const uint64_t bytes = builder->any_comment ? builder->comment_bytes : builder->n_docs;
        if (builder->any_comment)
            memcpy(dataset->comment_text + at, builder->comment_text, bytes);
        else
            memset(dataset->comment_text + at, 0, bytes);
        at += bytes;
    }
    if (any_comment)
        dataset->comment_offset[dataset->n_docs] = at;
    return RW_OK;
}

/* Groups of about equally many documents; fewer than threads when there are few builders. */
static int make_groups(struct rw_ctx *ctx, struct finish *finish)
{
    const int most = ctx && ctx->n_threads > 1 ? ctx->n_threads : 1;
    finish->n_groups = finish->n_builders < most ? finish->n_builders : most;
    if (finish->n_groups < 1)
        finish->n_groups = 1;
    RW_TRY(RW_NEW(ctx, finish->group, (size_t)finish->n_groups));
    for (int g = 0; g < finish->n_groups; g++) {
        struct group *group = &finish->group[g];
        group->first = (int)((int64_t)finish->n_builders * g / finish->n_groups);
        group->end = (int)((int64_t)finish->n_builders * (g + 1) / finish->n_groups);
        RW_TRY(RW_NEW(ctx, group->cursor, N_FEATURES));
    }
    return RW_OK;
}

static void count_entries(const struct finish *finish, struct group *group)
{
    for (int b = group->first; b < group->end; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        for (uint64_t k = 0; k < builder->n_entries; k++)
            group->cursor[builder->entry_feature[k]]++;
    }
}

/* Decides columns from the counts, and turns the counts into each group's first place. */
static int make_columns(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    uint32_t n_columns = 0;
    for (uint32_t f = 0; f < N_FEATURES; f++) {
        uint32_t n = 0;
        for (int g = 0; g < finish->n_groups; g++) {
            const uint32_t of_group = finish->group[g].cursor[f];
            finish->group[g].cursor[f] = n;
            n += of_group;
        }
        finish->column_of[f] = n; /* the count, until columns are numbered below */
        n_columns += n > 0;
    }
    RW_TRY(RW_NEW(ctx, dataset->column, n_columns));
    dataset->n_columns = n_columns;
    uint32_t c = 0;
    for (uint32_t f = 0; f < N_FEATURES; f++) {
        const uint32_t n = finish->column_of[f];
        finish->column_of[f] = UINT32_MAX;
        if (n == 0)
            continue;
        finish->column_of[f] = c;
        struct rw_column *column = &dataset->column[c++];
        column->feature = f;
        const int dense = (uint64_t)n * 2 >= dataset->n_docs;
        column->n = dense ? dataset->n_docs : n;
        RW_TRY(RW_NEW_RAW(ctx, column->value, column->n));
        if (!dense)
            RW_TRY(RW_NEW_RAW(ctx, column->row, column->n));
    }
    return RW_OK;
}

static void fill_columns(const struct finish *finish, const struct group *group)
{
    struct rw_dataset *dataset = finish->dataset;
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    for (int b = group->first; b < group->end; b++) {
        struct rw_builder *builder = &finish->builders[b];
        const uint32_t first = finish->first_doc[b];
        for (uint32_t c = 0; c < dataset->n_columns; c++) {
            if (dataset->column[c].row)
                continue;
            float *value = dataset->column[c].value + first;
            for (uint32_t i = 0; i < builder->n_docs; i++)
                memcpy(&value[i], &absent, sizeof(absent)); /* its bits, whatever the FPU does */
        }
        for (uint32_t i = 0; i < builder->n_docs; i++) {
            for (uint64_t k = builder->entry_offset[i]; k < builder->entry_offset[i + 1]; k++) {
                const uint32_t f = builder->entry_feature[k];
                struct rw_column *column = &dataset->column[finish->column_of[f]];
                uint32_t at = first + i;
                if (column->row) {
                    at = group->cursor[f]++;
                    column->row[at] = first + i;
                }
                memcpy(&column->value[at], &builder->entry_value[k], sizeof(float));
            }
        }
        rw_builder_release(builder); /* so that entries and columns never stand in memory whole */
    }
}

/* Places of all builders, if all have them; those that go on from one to the next are one. */
static int join_places(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t n = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        if (finish->builders[b].n_docs && !finish->builders[b].file)
            return RW_OK;
        n += finish->builders[b].n_places;
    }
    RW_TRY(RW_NEW(ctx, dataset->place, n));
    RW_TRY(RW_NEW(ctx, dataset->file, (size_t)finish->n_builders));
    for (int b = 0; b < finish->n_builders; b++) {
        struct rw_builder *builder = &finish->builders[b];
        if (!builder->n_docs)
            continue;
        if (!dataset->n_files || strcmp(dataset->file[dataset->n_files - 1], builder->file) != 0) {
            dataset->file[dataset->n_files++] = builder->file;
            builder->file = NULL;
        }
        for (uint32_t i = 0; i < builder->n_places; i++) {
            const struct rw_place place = {.doc = finish->first_doc[b] + builder->place[i].doc,
                                           .file = dataset->n_files - 1,
                                           .line = builder->place[i].line};
            const struct rw_place *last =
                dataset->n_places ? &dataset->place[dataset->n_places - 1] : NULL;
            if (!last || last->file != place.file ||
                place.line != last->line + (place.doc - last->doc))
                dataset->place[dataset->n_places++] = place;
        }
    }
    return RW_OK;
}

int rw_builder_finish(struct rw_ctx *ctx, struct rw_builder *builders, int n_builders,
                      struct rw_dataset **out)
{
    *out = NULL;
    struct finish finish = {.builders = builders, .n_builders = n_builders};
    int status;
    uint64_t n_docs = 0;
    RW_TRY_OUT(RW_NEW(ctx, finish.first_doc, (size_t)n_builders + 1));
    for (int b = 0; b < n_builders; b++) {
        finish.first_doc[b] = (uint32_t)n_docs;
        n_docs += builders[b].n_docs;
        if (n_docs > RW_MAX_DOCS) {
            status = rw_fail(ctx, RW_ERR_DATA, "more than %u documents", RW_MAX_DOCS);
            goto out;
        }
    }
    RW_TRY_OUT(rw_dataset_new(ctx, &finish.dataset));
    finish.dataset->n_docs = (uint32_t)n_docs;
    finish.first_doc[n_builders] = (uint32_t)n_docs;
    RW_TRY_OUT(join_queries(ctx, &finish));
    RW_TRY_OUT(join_docs(ctx, &finish));
    RW_TRY_OUT(join_places(ctx, &finish));
    RW_TRY_OUT(make_groups(ctx, &finish));
    RW_TRY_OUT(RW_NEW(ctx, finish.column_of, N_FEATURES));
#pragma omp parallel for schedule(static, 1) num_threads(finish.n_groups)
    for (int g = 0; g < finish.n_groups; g++)
        count_entries(&finish, &finish.group[g]);
    RW_TRY_OUT(make_columns(ctx, &finish));
#pragma omp parallel for schedule(static, 1) num_threads(finish.n_groups)
    for (int g = 0; g < finish.n_groups; g++)
        fill_columns(&finish, &finish.group[g]);
    *out = finish.dataset;
    finish.dataset = NULL;
out:
    for (int b = 0; b < n_builders; b++)
        rw_builder_release(&builders[b]);
    finish_release(&finish);
    return status;
}
