/* Builders (struct rw_builder): they collect documents line by line, and are then converted to the
 * columns of a data set. Lines with the same features as the line before share one copy of the
 * feature ids. The file also copies documents from a data set to a builder (rw_builder_copy,
 * rw_dataset_select).
 *
 * A data set is made of one or more builders, whose documents follow each other. A group is a range
 * of consecutive builders, and thus of documents, so threads fill the columns group by group
 * without synchronisation. The result does not depend on which thread processes which group.
 * Threads take groups in order, and each builder is released once it is copied. The columns fill as
 * the builders empty, so memory peaks at little more than the size of all builders or of all
 * columns, whichever is larger. */

#include "dataset/dataset.h"

enum {
    ALIGN = 64,             /* alignment of a column in bytes */
    CURSOR_BYTES = 8 << 20, /* most bytes of the cursors of all groups (struct group), which limits
                               the number of groups;
                               but there may always be as many groups as threads */
    TILE = 64,              /* number of documents that are copied together, feature by feature: the
                               L1 cache holds one cache line of each document until the features
                               whose values are in it are copied */
};

void rw_builder_release(struct rw_builder *builder)
{
    void *const owned[] = {builder->label,
                           builder->run,
                           builder->entry_feature,
                           builder->query_offset,
                           builder->query_id.offset,
                           builder->query_id.text,
                           builder->comment.offset,
                           builder->comment.text,
                           builder->location,
                           builder->file,
                           builder->weight,
                           builder->more_label,
                           builder->score};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
    rw_mem_free_large(builder->entry_value, builder->room.entry_value * sizeof(float));
    rw_names_free(builder->name, builder->n_names);
    rw_vocabulary_free(builder->vocabulary);
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
        RW_GROW(ctx, builder->location, builder->room.location, (size_t)builder->n_locations + 1));
    builder->location[builder->n_locations++] =
        (struct rw_location){.doc = builder->n_docs, .line = line};
    return RW_OK;
}

int rw_builder_weight(struct rw_ctx *ctx, struct rw_builder *builder, double weight)
{
    RW_TRY(RW_GROW(ctx, builder->weight, builder->room.weight, (size_t)builder->n_docs + 1));
    builder->weight[builder->n_docs] = weight == 0 ? 0.0 : weight; /* no -0 */
    builder->has_weight = 1;
    return RW_OK;
}

int rw_builder_more_labels(struct rw_ctx *ctx, struct rw_builder *builder, const float *labels,
                           int n)
{
    const size_t at = (size_t)builder->n_docs * (size_t)n;
    RW_TRY(RW_GROW(ctx, builder->more_label, builder->room.more_label, at + (size_t)n));
    for (int k = 0; k < n; k++)
        builder->more_label[at + (size_t)k] = labels[k] + 0.0f; /* no -0 */
    builder->n_more_labels = n;
    return RW_OK;
}

/* Appends a text of n_bytes bytes, the i-th, and its final 0. */
static int add_text(struct rw_ctx *ctx, struct rw_texts *texts, size_t i, const char *text,
                    size_t n_bytes)
{
    const uint64_t begin = texts->n_bytes;
    RW_TRY(RW_GROW(ctx, texts->offset, texts->offset_room, i + 2));
    RW_TRY(RW_GROW(ctx, texts->text, texts->text_room, begin + n_bytes + 1));
    if (n_bytes)
        memcpy(texts->text + begin, text, n_bytes);
    texts->text[begin + n_bytes] = 0;
    texts->n_bytes = begin + n_bytes + 1;
    texts->offset[i] = begin;
    texts->offset[i + 1] = texts->n_bytes;
    return RW_OK;
}

int rw_builder_query(struct rw_ctx *ctx, struct rw_builder *builder, const char *id, size_t n)
{
    const size_t q = builder->n_queries;
    RW_TRY(RW_GROW(ctx, builder->query_offset, builder->room.query_offset, q + 2));
    RW_TRY(add_text(ctx, &builder->query_id, q, id, n));
    builder->query_offset[q] = builder->query_offset[q + 1] = builder->n_docs;
    builder->n_queries++;
    return RW_OK;
}

/* Adds the comment of the next document. Before the first comment, none are stored; then all
 * earlier documents get "". */
static int add_comment(struct rw_ctx *ctx, struct rw_builder *builder, const char *comment,
                       size_t n_bytes)
{
    for (size_t i = builder->any_comment ? builder->n_docs : 0; i < builder->n_docs; i++)
        RW_TRY(add_text(ctx, &builder->comment, i, "", 0));
    RW_TRY(add_text(ctx, &builder->comment, builder->n_docs, comment, n_bytes));
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
    RW_TRY(RW_GROW(ctx, builder->run, builder->room.run, (size_t)builder->n_runs + 1));
    RW_TRY(RW_GROW(ctx, builder->entry_feature, builder->room.entry_feature, begin + n));
    if (n)
        memcpy(builder->entry_feature + begin, features, n * sizeof(*features));
    builder->n_features = begin + n;
    if (n && features[n - 1] >= builder->n_ids)
        builder->n_ids = features[n - 1] + 1u;
    builder->run[builder->n_runs++] = (struct rw_run){
        .doc = builder->n_docs, .n = (uint32_t)n, .feature = begin, .value = builder->n_entries};
    return RW_OK;
}

static int grow_values(struct rw_ctx *ctx, struct rw_builder *builder, size_t n)
{
    const size_t half_more = builder->room.entry_value + builder->room.entry_value / 2;
    const size_t wanted = (half_more > n ? half_more : n) * sizeof(float);
    const size_t room = rw_mem_large_room(wanted);
    float *bigger;
    if (builder->entry_value && n <= builder->room.entry_value)
        return RW_OK;
    RW_TRY(rw_mem_new_large(ctx, (void **)&bigger, room, 0));
    if (builder->n_entries)
        memcpy(bigger, builder->entry_value, builder->n_entries * sizeof(float));
    rw_mem_free_large(builder->entry_value, builder->room.entry_value * sizeof(float));
    builder->entry_value = bigger;
    builder->room.entry_value = room / sizeof(float);
    return RW_OK;
}

int rw_builder_doc(struct rw_ctx *ctx, struct rw_builder *builder, float label,
                   const uint16_t *features, const float *values, size_t n, const char *comment,
                   size_t comment_bytes)
{
    const size_t i = builder->n_docs;
    const uint64_t begin = builder->n_entries;
    if (builder->n_queries == 0)
        return rw_fail(ctx, RW_ERR_INTERNAL, "a document precedes the first query");
    if (i >= RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_DATA, "too many documents: expected at most %u", RW_MAX_DOCS);
    RW_TRY(RW_GROW(ctx, builder->label, builder->room.label, i + 1));
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
    builder->n_runs = builder->n_ids = 0;
    builder->n_features = builder->n_entries = 0;
}

void rw_builder_empty(struct rw_builder *builder)
{
    rw_builder_drop_values(builder);
    builder->n_docs = builder->n_queries = builder->n_locations = 0;
    builder->query_id.n_bytes = builder->comment.n_bytes = 0;
    builder->any_comment = builder->has_weight = builder->n_more_labels = 0;
    builder->n_clamped = 0;
    builder->is_placed = 0;
}

/* Copies n elements of `size` bytes to a new array *to, and sets its capacity *room. */
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

#define COPY_PART(ctx, to, from, part, n) \
    copy_part((ctx), (void **)&(to)->part, &(to)->room.part, (from)->part, (n), sizeof(*(to)->part))

static int copy_texts(struct rw_ctx *ctx, struct rw_texts *to, const struct rw_texts *from,
                      size_t n)
{
    const size_t offsets = n ? n + 1 : 0, bytes = n ? from->n_bytes : 0;
    to->n_bytes = bytes;
    RW_TRY(copy_part(ctx, (void **)&to->offset, &to->offset_room, from->offset, offsets,
                     sizeof(*to->offset)));
    return copy_part(ctx, (void **)&to->text, &to->text_room, from->text, bytes, 1);
}

int rw_builder_split(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to)
{
    RW_TRY(rw_builder_query(ctx, to, "", 0));
    RW_TRY(COPY_PART(ctx, to, from, label, from->n_docs));
    to->n_docs = to->query_offset[1] = from->n_docs;
    to->n_runs = from->n_runs;
    to->n_ids = from->n_ids;
    to->n_features = from->n_features;
    to->n_entries = from->n_entries;
    to->run = from->run;
    to->entry_feature = from->entry_feature;
    to->entry_value = from->entry_value;
    to->room.run = from->room.run;
    to->room.entry_feature = from->room.entry_feature;
    to->room.entry_value = from->room.entry_value;
    from->run = NULL;
    from->entry_feature = NULL;
    from->entry_value = NULL;
    from->room.run = from->room.entry_feature = from->room.entry_value = 0;
    rw_builder_drop_values(from);
    to->width = from->width;
    to->by_name = from->by_name;
    to->vocabulary = RW_TAKE(from->vocabulary);
    return RW_OK;
}

static int pack(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to)
{
    const size_t n_docs = from->n_docs, n_queries = from->n_queries;
    const size_t value_bytes = from->n_entries * sizeof(float);
    const size_t room = rw_mem_large_room(value_bytes);
    *to = (struct rw_builder){.n_docs = from->n_docs,
                              .n_queries = from->n_queries,
                              .n_runs = from->n_runs,
                              .n_ids = from->n_ids,
                              .n_features = from->n_features,
                              .n_locations = from->n_locations,
                              .any_comment = from->any_comment,
                              .has_weight = from->has_weight,
                              .n_more_labels = from->n_more_labels,
                              .n_clamped = from->n_clamped,
                              .score = from->score,
                              .is_placed = from->is_placed,
                              .placed = from->placed};
    from->score = NULL;
    RW_TRY(COPY_PART(ctx, to, from, label, n_docs));
    RW_TRY(COPY_PART(ctx, to, from, run, from->n_runs));
    RW_TRY(COPY_PART(ctx, to, from, entry_feature, from->n_features));
    RW_TRY(COPY_PART(ctx, to, from, query_offset, n_queries ? n_queries + 1 : 0));
    RW_TRY(COPY_PART(ctx, to, from, location, from->n_locations));
    RW_TRY(COPY_PART(ctx, to, from, weight, from->has_weight ? n_docs : 0));
    RW_TRY(COPY_PART(ctx, to, from, more_label, n_docs * (size_t)from->n_more_labels));
    RW_TRY(copy_texts(ctx, &to->query_id, &from->query_id, n_queries));
    RW_TRY(copy_texts(ctx, &to->comment, &from->comment, from->any_comment ? n_docs : 0));
    if (from->is_placed)
        return RW_OK;
    RW_TRY(rw_mem_new_large(ctx, (void **)&to->entry_value, room, room == value_bytes));
    to->room.entry_value = room / sizeof(float);
    to->n_entries = from->n_entries;
    if (value_bytes)
        memcpy(to->entry_value, from->entry_value, value_bytes);
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

/* ---- from builders to columns ---- */

/* The builders [first, end), which one thread converts to columns. */
struct group {
    int first, end;
    uint32_t *cursor; /* [n_ids] of each feature: while groups are counted, the number of the
                         group's entries; afterwards the index in the column of the group's next
                         entry; a view */
};

struct finish {
    struct rw_early *early; /* columns that were filled early, or NULL; borrowed */
    int keeps_early;        /* 1: the data set may use the early columns, which have room for all
                               documents */
    struct rw_builder *builders;
    int n_builders;
    uint32_t *first_doc;  /* [n_builders + 1] number of documents before each builder */
    uint64_t *comment_at; /* [n_builders + 1] offset in bytes of each builder's comments */
    struct group *group;  /* [n_groups] */
    uint32_t *cursors;    /* [n_groups][n_ids] */
    uint32_t *column_of;  /* [n_ids] index of each feature's column; UINT32_MAX: no column */
    uint32_t *n_of;       /* [n_ids] number of entries of each feature */
    int n_groups, n_threads;
    uint32_t n_ids;             /* largest feature id plus 1 */
    struct rw_arena arena;      /* owns the arrays from first_doc to n_of */
    struct rw_dataset *dataset; /* owned until it is complete */
};

static void finish_release(struct finish *finish)
{
    for (int b = 0; b < finish->n_builders; b++)
        rw_builder_release(&finish->builders[b]);
    rw_arena_free(&finish->arena);
    rw_dataset_free(finish->dataset);
}

/* Concatenates queries and their ids. Queries without documents are left out. If the last query of
 * a builder and the first one of the next have the same id, they become one query. */
static int join_queries(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t n_queries = 0, id_bytes = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        n_queries += finish->builders[b].n_queries;
        id_bytes += finish->builders[b].query_id.n_bytes;
    }
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_offset, n_queries + 1));
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_id.offset, n_queries + 1));
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_id.text, id_bytes));
    uint32_t n = 0;
    uint64_t bytes = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        for (uint32_t q = 0; q < builder->n_queries; q++) {
            const char *id = rw_builder_query_id(builder, q);
            const size_t length = strlen(id) + 1;
            if (builder->query_offset[q] == builder->query_offset[q + 1])
                continue;
            if (q == 0 && n > 0 &&
                strcmp(dataset->query_id.text + dataset->query_id.offset[n - 1], id) == 0)
                continue;
            memcpy(dataset->query_id.text + bytes, id, length);
            dataset->query_id.offset[n] = bytes;
            dataset->query_offset[n] = finish->first_doc[b] + builder->query_offset[q];
            bytes += length;
            n++;
        }
    }
    dataset->n_queries = n;
    dataset->query_offset[n] = dataset->n_docs;
    dataset->query_id.offset[n] = bytes;
    return RW_OK;
}

/* Allocates labels and, if any builder has them, comments and weights. Computes each builder's
 * offset in the comments. */
static int make_docs(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    uint64_t bytes = 0;
    int any_comment = 0, any_weight = 0;
    RW_TRY(RW_ARENA_NEW(ctx, &finish->arena, finish->comment_at, (size_t)finish->n_builders + 1));
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        any_comment |= builder->any_comment;
        any_weight |= builder->n_docs && builder->has_weight;
        finish->comment_at[b] = bytes;
        bytes += builder->any_comment ? builder->comment.n_bytes : builder->n_docs;
        dataset->n_clamped += builder->n_clamped;
    }
    RW_TRY(RW_NEW_RAW(ctx, dataset->label, dataset->n_docs));
    if (any_weight)
        RW_TRY(RW_NEW_RAW(ctx, dataset->weight, dataset->n_docs));
    if (any_comment) {
        RW_TRY(RW_NEW_RAW(ctx, dataset->comment.offset, (size_t)dataset->n_docs + 1));
        RW_TRY(RW_NEW_RAW(ctx, dataset->comment.text, bytes));
        dataset->comment.offset[dataset->n_docs] = bytes;
    }
    return RW_OK;
}

static const char *name_of(const struct rw_builder *builder)
{
    return builder->file ? builder->file : "a table";
}

/* Describes how a builder's features are numbered, for a message. */
static const char *width_text(const struct rw_builder *builder, char text[24])
{
    if (!builder->width)
        return "ids, as in LETOR text";
    snprintf(text, 24, "%u columns", builder->width);
    return text;
}

/* Checks that builder `b` fits into one data set with the builders before it. They must have the
 * same number of labels, the same columns, and categories of one vocabulary: a word's number has no
 * meaning in another vocabulary or among plain numbers. `a` is the last of them with documents, or
 * NULL. `named` is the first of them with feature names, or NULL. */
static int check_alike(struct rw_ctx *ctx, const struct rw_builder *a,
                       const struct rw_builder *named, const struct rw_builder *b)
{
    char a_text[24], b_text[24];
    if (a && b->n_docs && a->n_more_labels != b->n_more_labels)
        return rw_fail(ctx, RW_ERR_DATA,
                       "%.400s and %.400s: documents have %d label%s in one, %d in the other",
                       name_of(a), name_of(b), a->n_more_labels + 1, a->n_more_labels ? "s" : "",
                       b->n_more_labels + 1);
    if (named && b->name && !rw_names_are_same(named->name, named->n_names, b->name, b->n_names))
        return rw_fail(ctx, RW_ERR_DATA,
                       "'%s': its columns differ from those of the files before it\nhint: all "
                       "files of a data set must have the same columns in the same order",
                       name_of(b));
    if (a && b->n_docs && a->width != b->width)
        return rw_fail(ctx, RW_ERR_DATA,
                       "'%.400s' has %s, '%.400s' has %s\nhint: all files of a data set must have "
                       "the same columns in the same order",
                       name_of(a), width_text(a, a_text), name_of(b), width_text(b, b_text));
    if (a && b->n_docs && a->vocabulary != b->vocabulary)
        return rw_fail(ctx, RW_ERR_DATA,
                       "%.400s and %.400s: a feature has categories in one, numbers or different "
                       "categories in the other\nhint: name exactly the categorical features in "
                       "the parameter 'categorical'",
                       name_of(a), name_of(b));
    return RW_OK;
}

/* Checks that the builders fit into one data set, sets the properties that they share, and
 * allocates further labels. */
static int join_columns(struct rw_ctx *ctx, const struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    struct rw_builder *named = NULL;
    const struct rw_builder *last = NULL;
    for (int b = 0; b < finish->n_builders; b++) {
        struct rw_builder *builder = &finish->builders[b];
        RW_TRY(check_alike(ctx, last, named, builder));
        named = !named && builder->name ? builder : named;
        last = builder->n_docs ? builder : last;
    }
    if (named) {
        dataset->name = named->name;
        dataset->n_names = named->n_names;
        named->name = NULL;
        named->n_names = 0;
    }
    if (last) {
        dataset->width = last->width;
        dataset->by_name = last->by_name;
        dataset->vocabulary = rw_vocabulary_share(last->vocabulary);
        dataset->n_more_labels = last->n_more_labels;
    }
    const size_t n_labels = (size_t)dataset->n_more_labels;
    return n_labels ? RW_NEW_RAW(ctx, dataset->more_label, n_labels * dataset->n_docs) : RW_OK;
}

/* Copies labels, further labels, weights and comments of the b-th builder's documents. */
static void fill_docs(const struct finish *finish, int b)
{
    struct rw_dataset *dataset = finish->dataset;
    const struct rw_builder *builder = &finish->builders[b];
    const uint32_t first = finish->first_doc[b];
    const uint64_t at = finish->comment_at[b];
    const size_t n_labels = (size_t)dataset->n_more_labels;
    if (builder->n_docs)
        memcpy(dataset->label + first, builder->label, builder->n_docs * sizeof(float));
    for (uint32_t i = 0; dataset->weight && i < builder->n_docs; i++)
        dataset->weight[first + i] = builder->has_weight ? builder->weight[i] : 1.0;
    for (size_t i = 0; i < builder->n_docs * n_labels; i++)
        dataset->more_label[i % n_labels * dataset->n_docs + first + i / n_labels] =
            builder->more_label[i];
    if (!dataset->comment.offset)
        return;
    for (uint32_t i = 0; i < builder->n_docs; i++)
        dataset->comment.offset[first + i] =
            at + (builder->any_comment ? builder->comment.offset[i] : i);
    if (builder->any_comment)
        memcpy(dataset->comment.text + at, builder->comment.text, builder->comment.n_bytes);
    else
        memset(dataset->comment.text + at, 0, builder->n_docs);
}

/* Makes as many groups as CURSOR_BYTES allows, or one per thread if that is more, but at most one
 * per builder. In small groups, all threads work on builders that are close to each other, and thus
 * release them in order. */
static int make_groups(struct rw_ctx *ctx, struct finish *finish)
{
    const size_t cursor_bytes = ((size_t)finish->n_ids + 1) * sizeof(uint32_t);
    size_t most = CURSOR_BYTES / cursor_bytes;
    if (most < (size_t)finish->n_threads)
        most = (size_t)finish->n_threads;
    finish->n_groups = (size_t)finish->n_builders < most ? finish->n_builders : (int)most;
    if (finish->n_groups < 1)
        finish->n_groups = 1;
    RW_TRY(RW_ARENA_NEW(ctx, &finish->arena, finish->group, (size_t)finish->n_groups));
    RW_TRY(RW_ARENA_NEW(ctx, &finish->arena, finish->cursors,
                        (size_t)finish->n_groups * finish->n_ids));
    RW_TRY(RW_ARENA_NEW(ctx, &finish->arena, finish->column_of, finish->n_ids));
    RW_TRY(RW_ARENA_NEW(ctx, &finish->arena, finish->n_of, finish->n_ids));
    for (int g = 0; g < finish->n_groups; g++) {
        struct group *group = &finish->group[g];
        group->first = (int)((int64_t)finish->n_builders * g / finish->n_groups);
        group->end = (int)((int64_t)finish->n_builders * (g + 1) / finish->n_groups);
        group->cursor = finish->cursors + (size_t)g * finish->n_ids;
    }
    return RW_OK;
}

static size_t column_bytes(uint32_t n)
{
    return ((size_t)n * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

/* Returns the early column of feature f if the data set can use it as it is, or NULL. */
static float *early_of(const struct finish *finish, uint32_t f)
{
    return finish->keeps_early && rw_column_is_dense(finish->n_of[f], finish->dataset->n_docs)
               ? rw_early_values(finish->early, f)
               : NULL;
}

/* Creates the columns for the total numbers of entries, and turns each group's counts into the
 * index of its first entry in each column. */
static int make_columns(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t bytes = 0;
    for (int g = 0; g < finish->n_groups; g++) {
        uint32_t *cursor = finish->group[g].cursor;
        for (uint32_t f = 0; f < finish->n_ids; f++) {
            const uint32_t of_group = cursor[f];
            cursor[f] = finish->n_of[f];
            finish->n_of[f] += of_group;
        }
    }
    for (uint32_t f = 0; f < finish->n_ids; f++) {
        const uint32_t n = finish->n_of[f];
        dataset->n_columns += n > 0;
        if (n && !early_of(finish, f))
            bytes += rw_column_is_dense(n, dataset->n_docs) ? column_bytes(dataset->n_docs)
                                                            : 2 * column_bytes(n);
    }
    RW_TRY(RW_NEW(ctx, dataset->column, dataset->n_columns));
    /* Huge pages are not used: one page per column would be touched early, while builders are full,
     * and reading 4 GB took three times as long (2 threads, a virtual machine, 2 MiB by madvise).
     */
    RW_TRY(rw_mem_new_large(ctx, &dataset->column_block.p, bytes, 0));
    dataset->column_block.n_bytes = bytes;
    char *at = dataset->column_block.p;
    uint32_t c = 0;
    for (uint32_t f = 0; f < finish->n_ids; f++) {
        const uint32_t n = finish->n_of[f];
        finish->column_of[f] = UINT32_MAX;
        if (n == 0)
            continue;
        finish->column_of[f] = c;
        struct rw_column *column = &dataset->column[c++];
        column->feature = f;
        column->n = rw_column_is_dense(n, dataset->n_docs) ? dataset->n_docs : n;
        column->value = early_of(finish, f);
        if (column->value)
            continue;
        column->value = (void *)at;
        at += column_bytes(column->n);
        if (rw_column_is_dense(n, dataset->n_docs))
            continue;
        column->row = (void *)at;
        at += column_bytes(n);
    }
    return RW_OK;
}

/* Marks all values of the b-th builder's documents in dense columns as absent, except where the
 * early column already has them. */
static void fill_absent(const struct finish *finish, int b)
{
    const struct rw_dataset *dataset = finish->dataset;
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    const uint32_t n_docs = finish->builders[b].n_docs;
    const int is_placed = finish->builders[b].is_placed;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (dataset->column[c].row || (is_placed && early_of(finish, dataset->column[c].feature)))
            continue;
        float *value = dataset->column[c].value + finish->first_doc[b];
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&value[i], &absent, sizeof(absent)); /* copies the bits, whatever the FPU does
                                                           with NaN */
    }
}

/* Returns where to store a feature's values of n_docs documents from `first` on. All of them must
 * have the feature. If the column is sparse, also writes their rows and advances the cursor. */
static float *place(const struct finish *finish, uint32_t *cursor, uint16_t feature, uint32_t first,
                    uint32_t n_docs)
{
    struct rw_column *column = &finish->dataset->column[finish->column_of[feature]];
    if (!column->row)
        return column->value + first;
    const uint32_t at = cursor[feature];
    cursor[feature] = at + n_docs;
    for (uint32_t i = 0; i < n_docs; i++)
        column->row[at + i] = first + i;
    return column->value + at;
}

/* Copies the values of the b-th builder's run r to the columns. */
static void fill_run(const struct finish *finish, uint32_t *cursor, int b, uint32_t r)
{
    const struct rw_builder *builder = &finish->builders[b];
    const struct rw_run *run = &builder->run[r];
    const uint32_t n_docs = run->n ? rw_builder_run_docs(builder, r) : 0, n = run->n;
    for (uint32_t doc = 0; doc < n_docs; doc += TILE) {
        const uint32_t first = finish->first_doc[b] + run->doc + doc;
        const uint32_t now = n_docs - doc < TILE ? n_docs - doc : TILE;
        const float *from = builder->entry_value + run->value + (size_t)doc * n;
        for (uint32_t k = 0; k < n; k++) {
            float *to = place(finish, cursor, builder->entry_feature[run->feature + k], first, now);
            for (uint32_t i = 0; i < now; i++)
                memcpy(&to[i], &from[i * n + k], sizeof(float));
        }
    }
}

/* Copies the b-th builder's values from early columns to the columns of the data set. Most of these
 * are the early columns, so nothing is copied. */
static void fill_placed(const struct finish *finish, uint32_t *cursor, int b)
{
    const struct rw_builder *builder = &finish->builders[b];
    for (uint32_t k = 0; k < builder->run[0].n; k++) {
        const uint16_t f = builder->entry_feature[k];
        const float *from = rw_early_values(finish->early, f) + builder->placed;
        float *to = place(finish, cursor, f, finish->first_doc[b], builder->n_docs);
        if (to != from)
            memcpy(to, from, builder->n_docs * sizeof(float));
    }
}

static void fill_group(const struct finish *finish, const struct group *group)
{
    for (int b = group->first; b < group->end; b++) {
        struct rw_builder *builder = &finish->builders[b];
        fill_docs(finish, b);
        if (builder->n_runs != 1 || builder->run[0].n != finish->dataset->n_columns)
            fill_absent(finish, b);
        if (builder->is_placed)
            fill_placed(finish, group->cursor, b);
        for (uint32_t r = 0; r < builder->n_runs && !builder->is_placed; r++)
            fill_run(finish, group->cursor, b, r);
        /* released at once, so all entries and all columns are never in memory together */
        rw_builder_release(builder);
    }
}

/* Concatenates the builders' locations and file names, if all builders with documents have
 * locations. A location that only continues the previous one is left out. */
static int join_locations(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t n = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        if (finish->builders[b].n_docs && !finish->builders[b].n_locations)
            return RW_OK;
        n += finish->builders[b].n_locations;
    }
    RW_TRY(RW_NEW(ctx, dataset->origin.location, n));
    RW_TRY(RW_NEW(ctx, dataset->origin.file, (size_t)finish->n_builders));
    for (int b = 0; b < finish->n_builders; b++) {
        struct rw_builder *builder = &finish->builders[b];
        if (!builder->n_docs)
            continue;
        if (!dataset->origin.n_files ||
            strcmp(dataset->origin.file[dataset->origin.n_files - 1], builder->file) != 0) {
            dataset->origin.file[dataset->origin.n_files++] = RW_TAKE(builder->file);
        }
        for (uint32_t i = 0; i < builder->n_locations; i++) {
            const struct rw_location location = {.doc = finish->first_doc[b] +
                                                        builder->location[i].doc,
                                                 .file = dataset->origin.n_files - 1,
                                                 .line = builder->location[i].line};
            const struct rw_location *last =
                dataset->origin.n_locations
                    ? &dataset->origin.location[dataset->origin.n_locations - 1]
                    : NULL;
            if (!last || last->file != location.file ||
                location.line != last->line + (location.doc - last->doc))
                dataset->origin.location[dataset->origin.n_locations++] = location;
        }
    }
    return RW_OK;
}

static int count_groups(void *job, struct rw_share *share)
{
    const struct finish *finish = job;
    for (uint64_t g, end; rw_share_next(share, &g, &end);)
        for (int b = finish->group[g].first; b < finish->group[g].end; b++)
            rw_builder_count(&finish->builders[b], finish->group[g].cursor);
    return RW_OK;
}

static int fill_groups(void *job, struct rw_share *share)
{
    struct finish *finish = job;
    for (uint64_t g, end; rw_share_next(share, &g, &end);)
        fill_group(finish, &finish->group[g]);
    return RW_OK;
}

int rw_early_finish(struct rw_ctx *ctx, struct rw_early *early, struct rw_builder *builders,
                    int n_builders, struct rw_dataset **out)
{
    *out = NULL;
    RW_RELEASED(finish_release)
    struct finish finish = {.early = early,
                            .builders = builders,
                            .n_builders = n_builders,
                            .n_threads = ctx && ctx->n_threads > 1 ? ctx->n_threads : 1};
    if (finish.n_threads > n_builders)
        finish.n_threads = n_builders > 1 ? n_builders : 1;
    uint64_t n_docs = 0;
    RW_TRY(RW_ARENA_NEW(ctx, &finish.arena, finish.first_doc, (size_t)n_builders + 1));
    for (int b = 0; b < n_builders; b++) {
        finish.first_doc[b] = (uint32_t)n_docs;
        n_docs += builders[b].n_docs;
        finish.n_ids = builders[b].n_ids > finish.n_ids ? builders[b].n_ids : finish.n_ids;
        if (n_docs > RW_MAX_DOCS)
            return rw_fail(ctx, RW_ERR_DATA, "too many documents: expected at most %u",
                           RW_MAX_DOCS);
    }
    RW_TRY(RW_NEW(ctx, finish.dataset, 1));
    finish.dataset->n_docs = (uint32_t)n_docs;
    finish.first_doc[n_builders] = (uint32_t)n_docs;
    finish.keeps_early = rw_early_has_room(early, n_docs);
    RW_TRY(join_queries(ctx, &finish));
    RW_TRY(make_docs(ctx, &finish));
    RW_TRY(join_columns(ctx, &finish));
    RW_TRY(join_locations(ctx, &finish));
    RW_TRY(make_groups(ctx, &finish));
    rw_parallel(ctx, finish.n_threads, (uint64_t)finish.n_groups, 1, count_groups, &finish);
    RW_TRY(make_columns(ctx, &finish));
    rw_parallel(ctx, finish.n_threads, (uint64_t)finish.n_groups, 1, fill_groups, &finish);
    if (finish.keeps_early)
        finish.dataset->early_block.p = rw_early_take(early, &finish.dataset->early_block.n_bytes);
    *out = RW_TAKE(finish.dataset);
    return RW_OK;
}

int rw_builder_finish(struct rw_ctx *ctx, struct rw_builder *builders, int n_builders,
                      struct rw_dataset **out)
{
    return rw_early_finish(ctx, NULL, builders, n_builders, out);
}

/* ---- from columns to lines ---- */

/* Returns the index of the first entry of a column at or after document `doc`. */
static uint32_t first_entry(const struct rw_column *column, uint32_t doc)
{
    return column->row ? rw_numbers_under(column->row, column->n, doc) : doc;
}

/* Copies the values of documents [begin, end) from columns to lines: `to` gets the entries of one
 * document after the other. The first pass counts the entries of each line, the second places them.
 * Columns ascend by feature, so the ids of a line do, too. next: [end - begin + 1], zeroed;
 * afterwards next[i] is the end of the entries of line i, for i < end - begin. */
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
            RW_TRY(RW_GROW(ctx, to->entry_feature, to->room.entry_feature, n));
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
    RW_RELEASED(rw_builder_release) struct rw_builder lines = {0}; /* only its entries are used */
    RW_FREED uint64_t *next = NULL;
    builder->width = dataset->width;
    builder->by_name = dataset->by_name;
    if (!builder->vocabulary)
        builder->vocabulary = rw_vocabulary_share(dataset->vocabulary);
    RW_TRY(RW_NEW(ctx, next, (size_t)(end - begin) + 1));
    RW_TRY(copy_entries(ctx, &lines, dataset, begin, end, next));
    uint32_t q = /* the query that holds `begin` */
        rw_numbers_under(dataset->query_offset, dataset->n_queries, (uint64_t)begin + 1) - 1;
    uint64_t at = 0;
    for (uint32_t i = begin; i < end; i++) {
        if (i == begin || i == dataset->query_offset[q + 1]) {
            q += i != begin;
            const char *id = rw_dataset_query_id(dataset, q);
            RW_TRY(rw_builder_query(ctx, builder, id, strlen(id)));
        }
        const char *comment = rw_dataset_comment(dataset, i);
        const uint64_t line_end = next[i - begin]; /* placing has advanced it to the line's end */
        const int any = line_end > at;             /* otherwise the arrays may be NULL */
        if (dataset->weight)
            RW_TRY(rw_builder_weight(ctx, builder, dataset->weight[i]));
        if (dataset->n_more_labels)
            RW_TRY(copy_more_labels(ctx, builder, dataset, i));
        RW_TRY(rw_builder_doc(
            ctx, builder, dataset->label[i], any ? lines.entry_feature + at : NULL,
            any ? lines.entry_value + at : NULL, line_end - at, comment, strlen(comment)));
        at = line_end;
    }
    return RW_OK;
}

int rw_dataset_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                      struct rw_dataset **out)
{
    RW_RELEASED(rw_builder_release) struct rw_builder builder = {0};
    RW_SCOPED(rw_dataset_free) struct rw_dataset *made = NULL;
    uint32_t n = 0;
    *out = NULL;
    /* adjacent queries are copied together */
    for (uint32_t q = 0, end; q < dataset->n_queries; q = end) {
        end = q + 1;
        if (!keep[q])
            continue;
        while (end < dataset->n_queries && keep[end])
            end++;
        n += end - q;
        RW_TRY(rw_builder_copy(ctx, &builder, dataset, dataset->query_offset[q],
                               dataset->query_offset[end]));
    }
    if (n == 0)
        return rw_fail(ctx, RW_ERR_DATA, "no queries are left");
    RW_TRY(rw_builder_finish(ctx, &builder, 1, &made));
    RW_TRY(rw_side_columns_select(ctx, dataset, keep, made));
    RW_TRY(rw_names_copy(ctx, dataset->name, dataset->n_names, &made->name));
    made->n_names = dataset->n_names;
    *out = RW_TAKE(made);
    return RW_OK;
}
