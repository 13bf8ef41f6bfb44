/* Lines in. Where lines have the features of the line before, their ids are held once. */
#include <sys/mman.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/system.h"
#include "dataset/dataset.h"
#include "dataset/names.h"

void rw_builder_release(struct rw_builder *builder)
{
    rw_mem_free(builder->label);
    rw_mem_free(builder->run);
    rw_mem_free(builder->entry_feature);
    rw_mem_free_large(builder->entry_value, builder->entry_value_room * sizeof(float));
    rw_mem_free(builder->query_offset);
    rw_mem_free(builder->query_id_offset);
    rw_mem_free(builder->query_id_text);
    rw_mem_free(builder->comment_offset);
    rw_mem_free(builder->comment_text);
    rw_mem_free(builder->location);
    rw_mem_free(builder->file);
    rw_mem_free(builder->weight);
    rw_mem_free(builder->more_label);
    rw_mem_free(builder->score);
    rw_names_free(builder->name, builder->n_names);
    rw_lexicon_free(builder->lexicon);
    memset(builder, 0, sizeof(*builder));
}

int rw_builder_line(struct rw_ctx *ctx, struct rw_builder *builder, uint64_t line)
{
    if (builder->n_locations) {
        const struct rw_location *last = &builder->location[builder->n_locations - 1];
        if (line == last->line + (builder->n_docs - last->doc))
            return RW_OK;
    }
    RW_TRY(
        RW_GROW(ctx, builder->location, builder->location_room, (size_t)builder->n_locations + 1));
    builder->location[builder->n_locations++] =
        (struct rw_location){.doc = builder->n_docs, .line = line};
    return RW_OK;
}

int rw_builder_weight(struct rw_ctx *ctx, struct rw_builder *builder, double weight)
{
    RW_TRY(RW_GROW(ctx, builder->weight, builder->weight_room, (size_t)builder->n_docs + 1));
    builder->weight[builder->n_docs] = weight == 0 ? 0.0 : weight; /* no -0 */
    builder->has_weight = 1;
    return RW_OK;
}

int rw_builder_more_labels(struct rw_ctx *ctx, struct rw_builder *builder, const float *labels,
                           int n)
{
    const size_t at = (size_t)builder->n_docs * (size_t)n;
    RW_TRY(RW_GROW(ctx, builder->more_label, builder->more_label_room, at + (size_t)n));
    for (int k = 0; k < n; k++)
        builder->more_label[at + (size_t)k] = labels[k] + 0.0f; /* no -0 */
    builder->n_more_labels = n;
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

static int has_features_of_last(const struct rw_builder *builder, const uint16_t *features,
                                size_t n)
{
    if (builder->n_runs == 0)
        return 0;
    const struct rw_run *run = &builder->run[builder->n_runs - 1];
    return run->n == n && (n == 0 || memcmp(builder->entry_feature + run->feature, features,
                                            n * sizeof(*features)) == 0);
}

static int add_run(struct rw_ctx *ctx, struct rw_builder *builder, const uint16_t *features,
                   size_t n)
{
    const uint64_t begin = builder->n_features;
    RW_TRY(RW_GROW(ctx, builder->run, builder->run_room, (size_t)builder->n_runs + 1));
    RW_TRY(RW_GROW(ctx, builder->entry_feature, builder->entry_feature_room, begin + n));
    if (n)
        memcpy(builder->entry_feature + begin, features, n * sizeof(*features));
    builder->n_features = begin + n;
    builder->run[builder->n_runs++] = (struct rw_run){
        .doc = builder->n_docs, .n = (uint32_t)n, .feature = begin, .value = builder->n_entries};
    return RW_OK;
}

static int grow_values(struct rw_ctx *ctx, struct rw_builder *builder, size_t n)
{
    const size_t half_more = builder->entry_value_room + builder->entry_value_room / 2;
    const size_t wanted = (half_more > n ? half_more : n) * sizeof(float);
    const size_t room = rw_mem_large_room(wanted);
    float *bigger;
    if (builder->entry_value && n <= builder->entry_value_room)
        return RW_OK;
    RW_TRY(rw_mem_new_large(ctx, (void **)&bigger, room, 0));
    if (builder->n_entries)
        memcpy(bigger, builder->entry_value, builder->n_entries * sizeof(float));
    rw_mem_free_large(builder->entry_value, builder->entry_value_room * sizeof(float));
    builder->entry_value = bigger;
    builder->entry_value_room = room / sizeof(float);
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
    RW_TRY(grow_values(ctx, builder, begin + n));
    if (!has_features_of_last(builder, features, n))
        RW_TRY(add_run(ctx, builder, features, n));
    if (comment_bytes || builder->any_comment)
        RW_TRY(add_comment(ctx, builder, comment, comment_bytes));
    if (n)
        memcpy(builder->entry_value + begin, values, n * sizeof(*values));
    builder->label[i] = label;
    builder->n_entries = begin + n;
    builder->n_docs++;
    builder->query_offset[builder->n_queries] = builder->n_docs;
    return RW_OK;
}

uint32_t rw_builder_n_ids(const struct rw_builder *builder)
{
    uint32_t n_ids = 0;
    for (uint32_t r = 0; r < builder->n_runs; r++) {
        const struct rw_run *run = &builder->run[r];
        const uint32_t end = run->n ? builder->entry_feature[run->feature + run->n - 1] + 1u : 0;
        n_ids = end > n_ids ? end : n_ids;
    }
    return n_ids;
}

void rw_builder_count(const struct rw_builder *builder, uint32_t *counts)
{
    for (uint32_t r = 0; r < builder->n_runs; r++) {
        const struct rw_run *run = &builder->run[r];
        const uint32_t n_docs = rw_builder_run_docs(builder, r);
        for (uint32_t k = 0; k < run->n; k++)
            counts[builder->entry_feature[run->feature + k]] += n_docs;
    }
}

void rw_builder_drop_values(struct rw_builder *builder)
{
    builder->n_runs = 0;
    builder->n_features = builder->n_entries = 0;
}

void rw_builder_empty(struct rw_builder *builder)
{
    rw_builder_drop_values(builder);
    builder->n_docs = builder->n_queries = builder->n_locations = 0;
    builder->query_id_bytes = builder->comment_bytes = 0;
    builder->any_comment = builder->has_weight = builder->n_more_labels = 0;
    builder->n_clamped = 0;
    builder->is_placed = 0;
}

/* A copy of `n` objects. */
static int copy_part(struct rw_ctx *ctx, void **to, size_t *room, const void *from, size_t n,
                     size_t size)
{
    if (n == 0)
        return RW_OK;
    RW_TRY(rw_mem_new_raw(ctx, to, n, size));
    memcpy(*to, from, n * size);
    *room = n;
    return RW_OK;
}

#define COPY_PART(ctx, to, from, part, room, n) \
    copy_part((ctx), (void **)&(to)->part, &(to)->room, (from)->part, (n), sizeof(*(to)->part))

int rw_builder_split(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to)
{
    const size_t n_docs = from->n_docs;
    RW_TRY(rw_builder_query(ctx, to, "", 0));
    RW_TRY(COPY_PART(ctx, to, from, label, label_room, n_docs));
    to->n_docs = to->query_offset[1] = from->n_docs;
    to->run = from->run;
    to->run_room = from->run_room;
    to->n_runs = from->n_runs;
    to->entry_feature = from->entry_feature;
    to->entry_feature_room = from->entry_feature_room;
    to->n_features = from->n_features;
    to->entry_value = from->entry_value;
    to->entry_value_room = from->entry_value_room;
    to->n_entries = from->n_entries;
    from->run = NULL;
    from->entry_feature = NULL;
    from->entry_value = NULL;
    from->run_room = from->entry_feature_room = from->entry_value_room = 0;
    rw_builder_drop_values(from);
    to->width = from->width;
    to->by_name = from->by_name;
    to->lexicon = from->lexicon;
    from->lexicon = NULL;
    return RW_OK;
}

static int pack(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to)
{
    const size_t n_docs = from->n_docs, n_queries = from->n_queries;
    const size_t offsets = n_queries ? n_queries + 1 : 0;
    const size_t value_bytes = from->n_entries * sizeof(float);
    const size_t room = rw_mem_large_room(value_bytes);
    *to = (struct rw_builder){.n_docs = from->n_docs,
                              .n_queries = from->n_queries,
                              .n_runs = from->n_runs,
                              .n_features = from->n_features,
                              .query_id_bytes = from->query_id_bytes,
                              .n_locations = from->n_locations,
                              .any_comment = from->any_comment,
                              .has_weight = from->has_weight,
                              .n_more_labels = from->n_more_labels,
                              .n_clamped = from->n_clamped,
                              .score = from->score,
                              .is_placed = from->is_placed,
                              .placed = from->placed};
    from->score = NULL;
    RW_TRY(COPY_PART(ctx, to, from, label, label_room, n_docs));
    RW_TRY(COPY_PART(ctx, to, from, run, run_room, from->n_runs));
    RW_TRY(COPY_PART(ctx, to, from, entry_feature, entry_feature_room, from->n_features));
    RW_TRY(COPY_PART(ctx, to, from, query_offset, query_offset_room, offsets));
    RW_TRY(COPY_PART(ctx, to, from, query_id_offset, query_id_room, offsets));
    RW_TRY(COPY_PART(ctx, to, from, query_id_text, query_id_text_room, from->query_id_bytes));
    RW_TRY(COPY_PART(ctx, to, from, location, location_room, from->n_locations));
    if (from->has_weight)
        RW_TRY(COPY_PART(ctx, to, from, weight, weight_room, n_docs));
    RW_TRY(COPY_PART(ctx, to, from, more_label, more_label_room,
                     n_docs * (size_t)from->n_more_labels));
    if (from->any_comment) {
        RW_TRY(COPY_PART(ctx, to, from, comment_offset, comment_room, n_docs + 1));
        RW_TRY(COPY_PART(ctx, to, from, comment_text, comment_text_room, from->comment_bytes));
        to->comment_bytes = from->comment_bytes;
    }
    if (!from->is_placed) {
        RW_TRY(rw_mem_new_large(ctx, (void **)&to->entry_value, room, room == value_bytes));
        to->entry_value_room = room / sizeof(float);
        to->n_entries = from->n_entries;
        if (value_bytes)
            memcpy(to->entry_value, from->entry_value, value_bytes);
    }
    return RW_OK;
}

int rw_builder_pack(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to)
{
    const int status = pack(ctx, from, to);
    if (status < 0)
        rw_builder_release(to);
    rw_builder_empty(from);
    return status;
}

/* First entry of a column at or after document `doc`. */
static uint32_t first_entry(const struct rw_column *column, uint32_t doc)
{
    return column->row ? rw_numbers_under(column->row, column->n, doc) : doc;
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
            RW_TRY(grow_values(ctx, to, n));
        }
    }
    return RW_OK;
}

static int copy_more_labels(struct rw_ctx *ctx, struct rw_builder *builder,
                            const struct rw_dataset *dataset, uint32_t doc)
{
    float label[RW_MAX_LABELS];
    for (int k = 0; k < dataset->n_more_labels; k++)
        label[k] = rw_dataset_labels_of(dataset, k + 1)[doc];
    return rw_builder_more_labels(ctx, builder, label, dataset->n_more_labels);
}

int rw_builder_copy(struct rw_ctx *ctx, struct rw_builder *builder,
                    const struct rw_dataset *dataset, uint32_t begin, uint32_t end)
{
    struct rw_builder lines = {0}; /* only its entries are used */
    uint64_t *next = NULL;
    int status;
    builder->width = dataset->width;
    builder->by_name = dataset->by_name;
    if (!builder->lexicon)
        builder->lexicon = rw_lexicon_share(dataset->lexicon);
    RW_TRY_OUT(RW_NEW(ctx, next, (size_t)(end - begin) + 1));
    RW_TRY_OUT(copy_entries(ctx, &lines, dataset, begin, end, next));
    uint32_t q = /* the query that holds `begin` */
        rw_numbers_under(dataset->query_offset, dataset->n_queries, (uint64_t)begin + 1) - 1;
    uint64_t at = 0;
    for (uint32_t i = begin; i < end; i++) {
        if (i == begin || i == dataset->query_offset[q + 1]) {
            q += i != begin;
            const char *id = rw_dataset_query_id(dataset, q);
            RW_TRY_OUT(rw_builder_query(ctx, builder, id, strlen(id)));
        }
        const char *comment = rw_dataset_comment(dataset, i);
        const uint64_t line_end = next[i - begin]; /* placing moved it there */
        const int any = line_end > at;             /* else there may be no entries at all */
        if (dataset->weight)
            RW_TRY_OUT(rw_builder_weight(ctx, builder, dataset->weight[i]));
        if (dataset->n_more_labels)
            RW_TRY_OUT(copy_more_labels(ctx, builder, dataset, i));
        RW_TRY_OUT(rw_builder_doc(
            ctx, builder, dataset->label[i], any ? lines.entry_feature + at : NULL,
            any ? lines.entry_value + at : NULL, line_end - at, comment, strlen(comment)));
        at = line_end;
    }
    status = RW_OK;
out:
    rw_mem_free(next);
    rw_builder_release(&lines);
    return status;
}

int rw_dataset_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                      struct rw_dataset **out)
{
    struct rw_builder builder = {0};
    int status = RW_OK;
    uint32_t n = 0;
    *out = NULL;
    /* Queries that stand together are copied together. */
    for (uint32_t q = 0, end; q < dataset->n_queries; q = end) {
        end = q + 1;
        if (!keep[q])
            continue;
        while (end < dataset->n_queries && keep[end])
            end++;
        n += end - q;
        RW_TRY_OUT(rw_builder_copy(ctx, &builder, dataset, dataset->query_offset[q],
                                   dataset->query_offset[end]));
    }
    if (n == 0) {
        status = rw_fail(ctx, RW_ERR_DATA, "no query is left");
        goto out;
    }
    RW_TRY_OUT(rw_builder_finish(ctx, &builder, 1, out));
    RW_TRY_OUT(rw_side_columns_select(ctx, dataset, keep, *out));
    RW_TRY_OUT(rw_names_copy(ctx, dataset->name, dataset->n_names, &(*out)->name));
    (*out)->n_names = dataset->n_names;
out:
    rw_builder_release(&builder);
    if (status < 0) {
        rw_dataset_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- the data set ---- */

int rw_dataset_new(struct rw_ctx *ctx, struct rw_dataset **out)
{
    return RW_NEW(ctx, *out, 1);
}

/* The values stand in the map of a cache, beside what is needed. */
static void forget_mapped(struct rw_dataset *dataset)
{
    for (uint32_t i = 0; i < dataset->n_columns; i++) {
        struct rw_column *column = &dataset->column[i];
        rw_system_forget(column->row, column->row ? column->n * sizeof(*column->row) : 0);
        rw_system_forget(column->value, column->n * sizeof(*column->value));
    }
}

void rw_dataset_drop_values(struct rw_dataset *dataset)
{
    if (dataset->cache && dataset->column && !dataset->column_block)
        forget_mapped(dataset);
    for (uint32_t i = 0;
         !dataset->cache && dataset->column && !dataset->column_block && i < dataset->n_columns;
         i++) {
        rw_mem_free(dataset->column[i].row);
        rw_mem_free(dataset->column[i].value);
    }
    rw_mem_free_large(dataset->column_block, dataset->column_block_bytes);
    rw_mem_free_large(dataset->early_block, dataset->early_block_bytes);
    rw_mem_free(dataset->column);
    dataset->column_block = dataset->early_block = NULL;
    dataset->column = NULL;
    dataset->n_columns = 0;
}

void rw_dataset_free(struct rw_dataset *dataset)
{
    if (!dataset)
        return;
    rw_dataset_drop_values(dataset);
    if (dataset->codes)
        dataset->codes_free(dataset->codes);
    if (dataset->cache) {
        munmap(dataset->cache, dataset->cache_bytes);
    } else {
        rw_mem_free(dataset->label);
        rw_mem_free(dataset->query_offset);
        rw_mem_free(dataset->query_id_offset);
        rw_mem_free(dataset->query_id_text);
        rw_mem_free(dataset->comment_offset);
        rw_mem_free(dataset->comment_text);
    }
    for (uint32_t i = 0; dataset->file && i < dataset->n_files; i++)
        rw_mem_free(dataset->file[i]);
    rw_mem_free(dataset->file);
    rw_mem_free(dataset->location);
    rw_side_columns_free(dataset);
    rw_names_free(dataset->name, dataset->n_names);
    rw_lexicon_free(dataset->lexicon);
    rw_mem_free(dataset);
}
