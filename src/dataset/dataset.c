/* Access to the parts of a data set (dataset/dataset.h), pairs given by the user, and the other
 * side columns, such as weights and positions. */
#include "dataset/dataset.h"

#include <float.h>
#include <stdlib.h>

#include "base/exact.h"
#include "base/system.h"
#include "comm/comm.h"

void rw_dataset_drop_values(struct rw_dataset *dataset)
{
    for (uint32_t i = 0; dataset->column && !dataset->column_block.p && i < dataset->n_columns;
         i++) {
        struct rw_column *column = &dataset->column[i];
        if (dataset->cache.p) { /* rows and values are part of its mapping, next to arrays that are
                                   still needed */
            rw_system_forget(column->row, column->row ? column->n * sizeof(*column->row) : 0);
            rw_system_forget(column->value, column->n * sizeof(*column->value));
        } else {
            rw_mem_free(column->row);
            rw_mem_free(column->value);
        }
    }
    rw_mem_free_large(dataset->column_block.p, dataset->column_block.n_bytes);
    rw_mem_free_large(dataset->early_block.p, dataset->early_block.n_bytes);
    rw_mem_free(dataset->column);
    dataset->column_block.p = dataset->early_block.p = NULL;
    dataset->column = NULL;
    dataset->n_columns = 0;
}

static void **array_of(const struct rw_side_column *column, struct rw_dataset *dataset)
{
    return (void **)(void *)((char *)dataset + column->member);
}

static void free_side_columns(struct rw_dataset *dataset)
{
    for (int i = 0; i < RW_SIDE_COLUMNS; i++) {
        if (!rw_side_columns[i].by_query) /* a column by query uses the array of the documents'
                                             weights */
            rw_mem_free(*array_of(&rw_side_columns[i], dataset));
    }
    rw_mem_free(dataset->pairs.offset);
}

void rw_dataset_free(struct rw_dataset *dataset)
{
    if (!dataset)
        return;
    rw_dataset_drop_values(dataset);
    if (dataset->codes.bins)
        dataset->codes.free(dataset->codes.bins);
    if (dataset->cache.p) {
        munmap(dataset->cache.p, dataset->cache.n_bytes);
    } else {
        rw_mem_free(dataset->label);
        rw_mem_free(dataset->query_offset);
        rw_mem_free(dataset->query_id.offset);
        rw_mem_free(dataset->query_id.text);
        rw_mem_free(dataset->comment.offset);
        rw_mem_free(dataset->comment.text);
    }
    for (uint32_t i = 0; dataset->origin.file && i < dataset->origin.n_files; i++)
        rw_mem_free(dataset->origin.file[i]);
    rw_mem_free(dataset->origin.file);
    rw_mem_free(dataset->origin.location);
    free_side_columns(dataset);
    rw_names_free(dataset->name, dataset->n_names);
    rw_vocabulary_free(dataset->vocabulary);
    rw_mem_free(dataset);
}

void rw_dataset_where(const struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t doc,
                      char *buffer, size_t size)
{
    const uint32_t n = rw_records_under(dataset->origin.location, sizeof(*dataset->origin.location),
                                        dataset->origin.n_locations, (uint64_t)doc + 1);
    if (n == 0) {
        char shard[RW_SHARD_TEXT];
        snprintf(buffer, size, "document %llu%s",
                 (unsigned long long)(dataset->first_doc + doc + 1),
                 dataset->first_doc ? "" : rw_comm_shard(ctx, shard));
        return;
    }
    const struct rw_location *location = &dataset->origin.location[n - 1];
    snprintf(buffer, size, "%s:%llu:1", dataset->origin.file[location->file],
             (unsigned long long)(location->line + (doc - location->doc)));
}

uint32_t rw_dataset_n_docs(const struct rw_dataset *dataset)
{
    return dataset->n_docs;
}

uint32_t rw_dataset_n_queries(const struct rw_dataset *dataset)
{
    return dataset->n_queries;
}

uint32_t rw_dataset_n_features(const struct rw_dataset *dataset)
{
    return dataset->n_columns;
}

const float *rw_dataset_labels(const struct rw_dataset *dataset)
{
    return dataset->label;
}

const uint32_t *rw_dataset_query_offsets(const struct rw_dataset *dataset)
{
    return dataset->query_offset;
}

int rw_dataset_has_own_queries(const struct rw_dataset *dataset, char *text, size_t size)
{
    const uint32_t n_docs = dataset->n_docs, n_queries = dataset->n_queries;
    char count[32] = "";
    if (n_docs < 2 || (uint64_t)n_queries * 10 < (uint64_t)n_docs * 9)
        return 0;
    if (n_queries < n_docs)
        snprintf(count, sizeof(count), " (%u queries)", n_queries);
    snprintf(text, size,
             "%s%u documents have different query ids (qid)%s; documents that are ranked together "
             "must have the same id",
             n_queries < n_docs ? "nearly all of the " : "all ", n_docs, count);
    return 1;
}

int rw_dataset_same_judgments(const struct rw_dataset *a, const struct rw_dataset *b)
{
    const uint32_t n = a->n_queries;
    if (a == b || n != b->n_queries || a->n_docs != b->n_docs || n == 0)
        return a == b || (n == b->n_queries && a->n_docs == b->n_docs);
    return a->query_id.offset[n] == b->query_id.offset[n] &&
           memcmp(a->query_offset, b->query_offset, n * sizeof(*a->query_offset)) == 0 &&
           memcmp(a->query_id.text, b->query_id.text, a->query_id.offset[n]) == 0 &&
           memcmp(a->label, b->label, a->n_docs * sizeof(*a->label)) == 0;
}

const char *rw_dataset_query_id(const struct rw_dataset *dataset, uint32_t query)
{
    if (query >= dataset->n_queries)
        return "";
    return dataset->query_id.text + dataset->query_id.offset[query];
}

int rw_dataset_query_ids(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                         struct rw_query_ids *ids)
{
    size_t index;
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        RW_TRY(rw_query_ids_add(ctx, ids, rw_dataset_query_id(dataset, q), &index));
    return RW_OK;
}

const char *rw_dataset_comment(const struct rw_dataset *dataset, uint32_t doc)
{
    if (!dataset->comment.offset || doc >= dataset->n_docs)
        return "";
    return dataset->comment.text + dataset->comment.offset[doc];
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Finds the first "docid" that is at the start or after a blank, ',' or ';', and that '=' or ':'
 * follows, with or without blanks. Returns the text after that character and blanks, or NULL. */
static const char *doc_id_in(const char *comment)
{
    for (const char *p = comment; (p = strstr(p, "docid")) != NULL; p++) {
        if (p > comment && !is_blank(p[-1]) && p[-1] != ',' && p[-1] != ';')
            continue;
        const char *q = p + 5;
        while (is_blank(*q))
            q++;
        if (*q != '=' && *q != ':')
            continue;
        q++;
        while (is_blank(*q))
            q++;
        return q;
    }
    return NULL;
}

void rw_dataset_doc_id(const struct rw_dataset *dataset, uint32_t doc, char *buffer, size_t size)
{
    if (size == 0)
        return;
    const char *id = doc_id_in(rw_dataset_comment(dataset, doc));
    size_t n = 0;
    while (id && n + 1 < size && id[n] && !is_blank(id[n])) {
        buffer[n] = id[n];
        n++;
    }
    buffer[n] = 0;
}

const struct rw_column *rw_dataset_column(const struct rw_dataset *dataset, uint32_t feature)
{
    const uint32_t c =
        rw_records_under(dataset->column, sizeof(*dataset->column), dataset->n_columns, feature);
    return c < dataset->n_columns && dataset->column[c].feature == feature ? &dataset->column[c]
                                                                           : NULL;
}

void rw_column_values(const struct rw_column *column, uint32_t begin, uint32_t end, float absent,
                      float *values)
{
    if (column && !column->row) {
        for (uint32_t i = begin; i < end; i++) {
            const float value = column->value[i];
            values[i - begin] = rw_is_absent(value) ? absent : value;
        }
        return;
    }
    for (uint32_t i = begin; i < end; i++)
        values[i - begin] = absent;
    for (uint32_t k = column ? rw_numbers_under(column->row, column->n, begin) : 0;
         column && k < column->n && column->row[k] < end; k++)
        values[column->row[k] - begin] = column->value[k];
}

const char *rw_dataset_feature_name(const struct rw_dataset *dataset, uint32_t feature)
{
    return rw_name_of(dataset->name, dataset->n_names, feature);
}

int rw_dataset_set_names(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *const *names,
                         uint32_t n)
{
    RW_FREED struct rw_feature_name *given = NULL;
    struct rw_feature_name *made = NULL;
    if (n > RW_FEATURE_IDS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u feature names; expected at most %d", n,
                       RW_FEATURE_IDS);
    RW_TRY(RW_NEW_RAW(ctx, given, n));
    for (uint32_t i = 0; i < n; i++)
        given[i] = (struct rw_feature_name){i, (char *)(uintptr_t)names[i]};
    RW_TRY(rw_names_copy(ctx, given, (int32_t)n, &made));
    rw_names_free(dataset->name, dataset->n_names);
    dataset->name = made;
    dataset->n_names = (int32_t)n;
    return RW_OK;
}

void rw_dataset_feature(const struct rw_dataset *dataset, uint32_t feature, float absent,
                        float *values)
{
    RW_DEFAULT_FPENV;
    rw_column_values(rw_dataset_column(dataset, feature), 0, dataset->n_docs, absent, values);
}

/* ---- pairs given by the user ---- */

static uint32_t query_of(const struct rw_dataset *dataset, uint32_t doc)
{
    return rw_numbers_under(dataset->query_offset, dataset->n_queries, (uint64_t)doc + 1) - 1;
}

static int check_pair(struct rw_ctx *ctx, const struct rw_dataset *dataset, size_t i,
                      const struct rw_given_pair *pair)
{
    const uint32_t most = pair->better > pair->worse ? pair->better : pair->worse;
    if (most >= dataset->n_docs)
        return rw_fail(ctx, RW_ERR_DATA, "pair %zu has document %u; expected 0 to %u", i, most,
                       dataset->n_docs - 1);
    if (pair->better == pair->worse ||
        query_of(dataset, pair->better) != query_of(dataset, pair->worse))
        return rw_fail(ctx, RW_ERR_DATA,
                       "pair %zu has documents %u and %u; expected two documents of one query", i,
                       pair->better, pair->worse);
    if (!(pair->weight >= 0.0 && pair->weight <= RW_MAX_WEIGHT))
        return rw_fail(ctx, RW_ERR_DATA, "pair %zu has the weight %g; expected 0 to %g", i,
                       pair->weight, (double)RW_MAX_WEIGHT);
    return RW_OK;
}

int rw_dataset_set_pairs(struct rw_ctx *ctx, struct rw_dataset *dataset,
                         const struct rw_given_pair *pairs, size_t n)
{
    RW_DEFAULT_FPENV;
    RW_FREED struct rw_given_pair *sorted = NULL;
    RW_FREED size_t *offset = NULL;
    for (size_t i = 0; i < n; i++)
        RW_TRY(check_pair(ctx, dataset, i, &pairs[i]));
    RW_TRY(RW_NEW_RAW(ctx, sorted, n));
    RW_TRY(RW_NEW(ctx, offset, (size_t)dataset->n_queries + 2));
    for (size_t i = 0; i < n; i++)
        offset[query_of(dataset, pairs[i].better) + 2]++;
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        offset[q + 2] += offset[q + 1];
    for (size_t i = 0; i < n; i++) /* afterwards each query's begin has advanced to its end */
        sorted[offset[query_of(dataset, pairs[i].better) + 1]++] = pairs[i];
    rw_mem_free(dataset->pairs.item);
    rw_mem_free(dataset->pairs.offset);
    dataset->pairs.item = sorted;
    dataset->pairs.offset = offset;
    sorted = NULL;
    offset = NULL;
    return RW_OK;
}

/* Copies the pairs of selected queries, with new document numbers. */
static int select_pairs(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                        struct rw_dataset *out)
{
    RW_FREED struct rw_given_pair *pairs = NULL;
    size_t n = 0;
    uint32_t at = 0;
    RW_TRY(RW_NEW_RAW(ctx, pairs, dataset->pairs.offset[dataset->n_queries]));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q];
        for (size_t k = dataset->pairs.offset[q]; keep[q] && k < dataset->pairs.offset[q + 1];
             k++) {
            pairs[n] = dataset->pairs.item[k];
            pairs[n].better += at - begin;
            pairs[n++].worse += at - begin;
        }
        at += keep[q] ? dataset->query_offset[q + 1] - begin : 0;
    }
    return rw_dataset_set_pairs(ctx, out, pairs, n);
}

/* ---- the table of side columns ---- */

#define WEIGHTS                                                                            \
    .one = "weight", .plural = "weights", .least = 0, .most = RW_MAX_WEIGHT,               \
    .member = offsetof(struct rw_dataset, weight), .size = sizeof(double), .neutral = 1.0, \
    .expected = "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT)
const struct rw_side_column rw_side_columns[RW_SIDE_COLUMNS] = {
    {.name = "weights", WEIGHTS},
    {.name = "query-weights", WEIGHTS, .by_query = 1},
    {.name = "pairs-file",
     .plural = "pairs",
     .is_pairs = 1,
     .member = offsetof(struct rw_dataset, pairs.item)},
    {.name = "start-scores",
     .one = "start score",
     .plural = "start scores",
     .least = -RW_MAX_START_SCORE,
     .most = RW_MAX_START_SCORE,
     .expected = "a score (a number from -" RW_TEXT(RW_MAX_START_SCORE) " to " RW_TEXT(
         RW_MAX_START_SCORE) ")",
     .member = offsetof(struct rw_dataset, start_score),
     .size = sizeof(double),
     .print = "start-scores"},
    {.name = "positions",
     .one = "position",
     .plural = "positions",
     .most = RW_MAX_POSITION,
     .is_whole = 1,
     .expected = "a position (a whole number from 0 to " RW_TEXT(RW_MAX_POSITION) ")",
     .member = offsetof(struct rw_dataset, position),
     .size = sizeof(uint16_t),
     .print = "positions"},
    {.name = "labels",
     .one = "further label",
     .plural = "lines of labels",
     .most = (double)FLT_MAX,
     .has_several = 1,
     .expected = "a label (a number, 0 or more)",
     .member = offsetof(struct rw_dataset, more_label),
     .size = sizeof(float),
     .print = "more-labels"},
};

const char *rw_side_column_name(int i)
{
    return i >= 0 && i < RW_SIDE_COLUMNS ? rw_side_columns[i].name : NULL;
}

const struct rw_side_column *rw_side_column_find(const char *name)
{
    for (int i = 0; i < RW_SIDE_COLUMNS; i++) {
        if (strcmp(rw_side_columns[i].name, name) == 0)
            return &rw_side_columns[i];
    }
    return NULL;
}

const void *rw_side_column_of(const struct rw_side_column *column, const struct rw_dataset *dataset)
{
    return *(const void *const *)(const void *)((const char *)dataset + column->member);
}

/* Stores n_columns numbers per document, or per query if column->by_query is 1, as double, float or
 * uint16_t according to the column's size. The numbers must be in range. -0 becomes 0. */
static int set_numbers(struct rw_ctx *ctx, const struct rw_side_column *column,
                       struct rw_dataset *dataset, const double *values, size_t n_columns)
{
    const size_t n_docs = dataset->n_docs;
    void *made;
    RW_TRY(rw_mem_new_raw(ctx, &made, n_docs * n_columns, column->size));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        for (uint32_t doc = dataset->query_offset[q]; doc < dataset->query_offset[q + 1]; doc++) {
            for (size_t k = 0; k < n_columns; k++) {
                const double value = values[(column->by_query ? q : doc) * n_columns + k] + 0.0;
                const size_t at = k * n_docs + doc;
                if (column->size == sizeof(double))
                    ((double *)made)[at] = value;
                else if (column->size == sizeof(float))
                    ((float *)made)[at] = (float)value;
                else
                    ((uint16_t *)made)[at] = (uint16_t)value;
            }
        }
    }
    rw_mem_free(*array_of(column, dataset));
    *array_of(column, dataset) = made;
    if (column->member == offsetof(struct rw_dataset, weight))
        dataset->weight_by_query = column->by_query;
    if (column->has_several)
        dataset->n_more_labels = (int)n_columns;
    return RW_OK;
}

int rw_dataset_side_column(const struct rw_dataset *dataset, const char *name, double *values)
{
    const struct rw_side_column *column = rw_side_column_find(name);
    const void *array = column && !column->is_pairs ? rw_side_column_of(column, dataset) : NULL;
    const size_t n = !array ? 0 : column->has_several ? (size_t)dataset->n_more_labels : 1;
    for (size_t i = 0; values && i < n * dataset->n_docs; i++) {
        const size_t at = i % n * dataset->n_docs + i / n;
        values[i] = column->size == sizeof(double)  ? ((const double *)array)[at]
                    : column->size == sizeof(float) ? (double)((const float *)array)[at]
                                                    : (double)((const uint16_t *)array)[at];
    }
    return (int)n;
}

uint64_t rw_side_column_item(const struct rw_side_column *column, const struct rw_dataset *dataset,
                             uint32_t doc, uint64_t number)
{
    const void *array = rw_side_column_of(column, dataset);
    if (column->size == sizeof(double)) {
        const double value = ((const double *)array)[doc];
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        bits += array == dataset->weight && dataset->weight_by_query;
        return value == column->neutral ? 0 : rw_mix_item(number, bits);
    }
    if (!column->has_several)
        return rw_mix_item(number, ((const uint16_t *)array)[doc]);
    for (int k = 1; k <= dataset->n_more_labels; k++)
        number = rw_mix_item(number, rw_bits_of_float(rw_dataset_labels_of(dataset, k)[doc]));
    return number;
}

int rw_side_column_check(struct rw_ctx *ctx, const struct rw_side_column *column,
                         const struct rw_dataset *dataset, const char *file, size_t n)
{
    static const char *const unit[] = {"document", "query"}, *const prefix[] = {"", "query-"};
    const uint32_t count[] = {dataset->n_docs, dataset->n_queries};
    const int by = column->by_query, other = !by;
    char found[4200], hint[160] = "";
    if (n == count[by])
        return RW_OK;
    snprintf(found, sizeof(found), file ? "'%s' has %zu %s" : "%s%zu %s", file ? file : "", n,
             column->plural);
    if (column->member == offsetof(struct rw_dataset, weight))
        snprintf(hint, sizeof(hint),
                 "\nhint: '%sweights' and 'valid-%sweights' expect one per %s (%u)", prefix[other],
                 prefix[other], unit[other], count[other]);
    return rw_fail(ctx, RW_ERR_DATA, "%s; expected one per %s, %u%s", found, unit[by], count[by],
                   hint);
}

/* Fails with RW_ERR_DATA if one of the numbers is out of range. values: [n][n_columns]. Each line
 * of a file with numbers has been checked before. */
static int check_range(struct rw_ctx *ctx, const struct rw_side_column *column,
                       const double *values, size_t n, int n_columns)
{
    char shard[RW_SHARD_TEXT], row[RW_SHARD_TEXT + 40] = "";
    for (size_t i = 0; i < n * (size_t)n_columns; i++) {
        const double value = values[i];
        if (value >= column->least && value <= column->most &&
            (!column->is_whole || value == floor(value)))
            continue;
        if (column->has_several)
            snprintf(row, sizeof(row), " of document %zu%s", i / (size_t)n_columns + 1,
                     rw_comm_shard(ctx, shard));
        return rw_fail(ctx, RW_ERR_DATA, "%s %zu%s is %g; expected %s", column->one,
                       column->has_several ? i % (size_t)n_columns + 1 : i + 1, row, value,
                       column->expected);
    }
    return RW_OK;
}

int rw_dataset_set_side_column(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *name,
                               const double *values, size_t n, int n_columns)
{
    RW_DEFAULT_FPENV;
    const struct rw_side_column *column = rw_side_column_find(name);
    if (!column || column->is_pairs)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "no side column of numbers has the name '%s'", name);
    const int most = column->has_several ? RW_MAX_LABELS - 1 : 1;
    if (n_columns < 1 || n_columns > most)
        return rw_fail(ctx, RW_ERR_DATA, "'%s' has %d numbers per document; expected %s%d", name,
                       n_columns, most > 1 ? "1 to " : "", most);
    RW_TRY(rw_side_column_check(ctx, column, dataset, NULL, n));
    RW_TRY(check_range(ctx, column, values, n, n_columns));
    return set_numbers(ctx, column, dataset, values, (size_t)n_columns);
}

/* Copies the numbers of the documents whose query q has keep[q] = 1. */
static int select_rows(struct rw_ctx *ctx, const struct rw_side_column *column,
                       const struct rw_dataset *dataset, const uint8_t *keep,
                       struct rw_dataset *out)
{
    const char *from = rw_side_column_of(column, dataset);
    const size_t size = column->size;
    char *to;
    RW_TRY(RW_NEW_RAW(ctx, to, out->n_docs * size));
    *array_of(column, out) = to;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q];
        const size_t bytes = keep[q] ? (dataset->query_offset[q + 1] - begin) * size : 0;
        memcpy(to, from + begin * size, bytes);
        to += bytes;
    }
    return RW_OK;
}

int rw_side_columns_select(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const uint8_t *keep, struct rw_dataset *out)
{
    out->weight_by_query = dataset->weight_by_query;
    for (int i = 0; i < RW_SIDE_COLUMNS; i++) {
        const struct rw_side_column *column = &rw_side_columns[i];
        if (column->size && rw_side_column_of(column, dataset) && !rw_side_column_of(column, out))
            RW_TRY(select_rows(ctx, column, dataset, keep, out));
    }
    return dataset->pairs.item ? select_pairs(ctx, dataset, keep, out) : RW_OK;
}
