#include "dataset/dataset.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/system.h"
#include "comm/comm.h"
#include "dataset/lexicon.h"

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
    rw_mem_free(dataset->weight);
    rw_mem_free(dataset->start_score);
    rw_mem_free(dataset->position);
    rw_mem_free(dataset->more_label);
    rw_mem_free(dataset->pair);
    rw_mem_free(dataset->pair_offset);
    rw_names_free(dataset->name, dataset->n_names);
    rw_lexicon_free(dataset->lexicon);
    rw_mem_free(dataset);
}

void rw_dataset_where(const struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t doc,
                      char *buffer, size_t size)
{
    const uint32_t n = rw_records_under(dataset->location, sizeof(*dataset->location),
                                        dataset->n_locations, (uint64_t)doc + 1);
    if (n == 0) {
        char shard[RW_SHARD_TEXT];
        snprintf(buffer, size, "document %llu%s",
                 (unsigned long long)(dataset->first_doc + doc + 1),
                 dataset->first_doc ? "" : rw_comm_shard(ctx, shard));
        return;
    }
    const struct rw_location *location = &dataset->location[n - 1];
    snprintf(buffer, size, "%s:%llu:1", dataset->file[location->file],
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
             "%seach of the %u documents has a query id (qid) of its own%s; documents that are "
             "ranked together must share theirs",
             n_queries < n_docs ? "nearly " : "", n_docs, count);
    return 1;
}

int rw_dataset_same_judgments(const struct rw_dataset *a, const struct rw_dataset *b)
{
    const uint32_t n = a->n_queries;
    if (a == b || n != b->n_queries || a->n_docs != b->n_docs || n == 0)
        return a == b || (n == b->n_queries && a->n_docs == b->n_docs);
    return a->query_id_offset[n] == b->query_id_offset[n] &&
           memcmp(a->query_offset, b->query_offset, n * sizeof(*a->query_offset)) == 0 &&
           memcmp(a->query_id_text, b->query_id_text, a->query_id_offset[n]) == 0 &&
           memcmp(a->label, b->label, a->n_docs * sizeof(*a->label)) == 0;
}

const char *rw_dataset_query_id(const struct rw_dataset *dataset, uint32_t query)
{
    if (query >= dataset->n_queries)
        return "";
    return dataset->query_id_text + dataset->query_id_offset[query];
}

const char *rw_dataset_comment(const struct rw_dataset *dataset, uint32_t doc)
{
    if (!dataset->comment_offset || doc >= dataset->n_docs)
        return "";
    return dataset->comment_text + dataset->comment_offset[doc];
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Where "docid" is a word of its own, followed by '=' or ':'; NULL if nowhere. */
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
    if (!column->row) {
        for (uint32_t i = begin; i < end; i++) {
            const float value = column->value[i];
            values[i - begin] = rw_is_absent(value) ? absent : value;
        }
        return;
    }
    for (uint32_t i = begin; i < end; i++)
        values[i - begin] = absent;
    for (uint32_t k = rw_numbers_under(column->row, column->n, begin);
         k < column->n && column->row[k] < end; k++)
        values[column->row[k] - begin] = column->value[k];
}

const char *rw_dataset_feature_name(const struct rw_dataset *dataset, uint32_t feature)
{
    const uint32_t at = rw_records_under(dataset->name, sizeof(*dataset->name),
                                         (uint32_t)dataset->n_names, feature);
    return at < (uint32_t)dataset->n_names && dataset->name[at].feature == feature
               ? dataset->name[at].name
               : "";
}

void rw_dataset_feature(const struct rw_dataset *dataset, uint32_t feature, float absent,
                        float *values)
{
    RW_DEFAULT_FPENV;
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    if (column) {
        rw_column_values(column, 0, dataset->n_docs, absent, values);
        return;
    }
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        values[i] = absent;
}

int rw_dataset_check_weights(struct rw_ctx *ctx, const struct rw_dataset *dataset, int by_query,
                             const char *file, size_t n)
{
    const uint32_t expected = by_query ? dataset->n_queries : dataset->n_docs;
    char found[4200];
    if (n == expected)
        return RW_OK;
    snprintf(found, sizeof(found), file ? "'%s' holds %zu weights" : "%s%zu weights",
             file ? file : "", n);
    return rw_fail(ctx, RW_ERR_DATA,
                   by_query ? "%s; expected one a query, %u\nhint: one a document (%u) is what "
                              "'weights' and 'valid-weights' take"
                            : "%s; expected one a document, %u\nhint: one a query (%u) is what "
                              "'query-weights' and 'valid-query-weights' take",
                   found, expected, by_query ? dataset->n_docs : dataset->n_queries);
}

static int set_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, int by_query,
                       const double *weights, size_t n)
{
    RW_TRY(rw_dataset_check_weights(ctx, dataset, by_query, NULL, n));
    for (size_t i = 0; i < n; i++) {
        if (!(weights[i] >= 0 && weights[i] <= RW_MAX_WEIGHT))
            return rw_fail(ctx, RW_ERR_DATA, "weight %zu is %g; expected 0 to %d", i + 1,
                           weights[i], RW_MAX_WEIGHT);
    }
    double *of_doc;
    RW_TRY(RW_NEW_RAW(ctx, of_doc, dataset->n_docs));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        for (uint32_t i = dataset->query_offset[q]; i < dataset->query_offset[q + 1]; i++) {
            const double weight = weights[by_query ? q : i];
            of_doc[i] = weight == 0 ? 0.0 : weight; /* no -0 */
        }
    }
    rw_mem_free(dataset->weight);
    dataset->weight = of_doc;
    dataset->weight_by_query = by_query;
    return RW_OK;
}

int rw_dataset_set_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, const double *weights,
                           size_t n)
{
    RW_DEFAULT_FPENV;
    return set_weights(ctx, dataset, 0, weights, n);
}

int rw_dataset_set_query_weights(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                 const double *weights, size_t n)
{
    RW_DEFAULT_FPENV;
    return set_weights(ctx, dataset, 1, weights, n);
}

/* n numbers of a kind, one a document? */
static int check_one_a_document(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                const char *file, size_t n, const char *kind)
{
    if (n == dataset->n_docs)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA, "%s%s%s%zu %s; expected one a document, %u", file ? "'" : "",
                   file ? file : "", file ? "' holds " : "", n, kind, dataset->n_docs);
}

int rw_dataset_check_start_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                  const char *file, size_t n)
{
    return check_one_a_document(ctx, dataset, file, n, "start scores");
}

int rw_dataset_check_positions(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                               const char *file, size_t n)
{
    return check_one_a_document(ctx, dataset, file, n, "positions");
}

int rw_dataset_check_more_labels(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                 const char *file, size_t n)
{
    return check_one_a_document(ctx, dataset, file, n, "lines of labels");
}

int rw_dataset_set_more_labels(struct rw_ctx *ctx, struct rw_dataset *dataset, const double *labels,
                               size_t n, int n_labels)
{
    RW_DEFAULT_FPENV;
    float *more;
    char shard[RW_SHARD_TEXT];
    if (n_labels < 1 || n_labels >= RW_MAX_LABELS)
        return rw_fail(ctx, RW_ERR_DATA, "%d further labels a document; expected 1 to %d", n_labels,
                       RW_MAX_LABELS - 1);
    RW_TRY(rw_dataset_check_more_labels(ctx, dataset, NULL, n));
    for (size_t i = 0; i < n * (size_t)n_labels; i++) {
        if (!(labels[i] >= 0.0 && labels[i] <= (double)FLT_MAX))
            return rw_fail(
                ctx, RW_ERR_DATA,
                "further label %zu of document %zu%s is %g; expected a number, 0 or more",
                i % (size_t)n_labels + 1, i / (size_t)n_labels + 1, rw_comm_shard(ctx, shard),
                labels[i]);
    }
    RW_TRY(RW_NEW_RAW(ctx, more, n * (size_t)n_labels));
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < n_labels; k++)
            more[(size_t)k * n + i] = (float)labels[i * (size_t)n_labels + (size_t)k] + 0.0f;
    }
    rw_mem_free(dataset->more_label);
    dataset->more_label = more;
    dataset->n_more_labels = n_labels;
    return RW_OK;
}

int rw_dataset_set_positions(struct rw_ctx *ctx, struct rw_dataset *dataset,
                             const double *positions, size_t n)
{
    RW_DEFAULT_FPENV;
    uint16_t *position;
    RW_TRY(rw_dataset_check_positions(ctx, dataset, NULL, n));
    for (size_t i = 0; i < n; i++) {
        if (!(positions[i] >= 0.0 && positions[i] <= RW_MAX_POSITION) ||
            positions[i] != (double)(uint16_t)positions[i])
            return rw_fail(ctx, RW_ERR_DATA, "position %zu is %g; expected a whole number, 0 to %d",
                           i + 1, positions[i], RW_MAX_POSITION);
    }
    RW_TRY(RW_NEW_RAW(ctx, position, n));
    for (size_t i = 0; i < n; i++)
        position[i] = (uint16_t)positions[i];
    rw_mem_free(dataset->position);
    dataset->position = position;
    return RW_OK;
}

int rw_dataset_set_start_scores(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                const double *scores, size_t n)
{
    RW_DEFAULT_FPENV;
    double *start;
    RW_TRY(rw_dataset_check_start_scores(ctx, dataset, NULL, n));
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(scores[i]) <= RW_MAX_START_SCORE))
            return rw_fail(ctx, RW_ERR_DATA, "start score %zu is %g; expected -%g to %g", i + 1,
                           scores[i], RW_MAX_START_SCORE, RW_MAX_START_SCORE);
    }
    RW_TRY(RW_NEW_RAW(ctx, start, n));
    for (size_t i = 0; i < n; i++)
        start[i] = scores[i] == 0 ? 0.0 : scores[i]; /* no -0 */
    rw_mem_free(dataset->start_score);
    dataset->start_score = start;
    return RW_OK;
}

/* ---- given pairs ---- */

static uint32_t query_of(const struct rw_dataset *dataset, uint32_t doc)
{
    uint32_t low = 0, high = dataset->n_queries - 1;
    while (low < high) {
        const uint32_t middle = high - (high - low) / 2;
        if (dataset->query_offset[middle] <= doc)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static int check_pair(struct rw_ctx *ctx, const struct rw_dataset *dataset, size_t i,
                      const struct rw_given_pair *pair)
{
    const uint32_t most = pair->better > pair->worse ? pair->better : pair->worse;
    if (most >= dataset->n_docs)
        return rw_fail(ctx, RW_ERR_DATA, "pair %zu is of document %u; expected 0 to %u", i, most,
                       dataset->n_docs - 1);
    if (pair->better == pair->worse ||
        query_of(dataset, pair->better) != query_of(dataset, pair->worse))
        return rw_fail(ctx, RW_ERR_DATA,
                       "pair %zu is of documents %u and %u; expected two of one query", i,
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
    int status = RW_OK;
    struct rw_given_pair *sorted = NULL;
    size_t *offset = NULL;
    for (size_t i = 0; i < n; i++)
        RW_TRY(check_pair(ctx, dataset, i, &pairs[i]));
    RW_TRY_OUT(RW_NEW_RAW(ctx, sorted, n));
    RW_TRY_OUT(RW_NEW(ctx, offset, (size_t)dataset->n_queries + 2));
    for (size_t i = 0; i < n; i++)
        offset[query_of(dataset, pairs[i].better) + 2]++;
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        offset[q + 2] += offset[q + 1];
    for (size_t i = 0; i < n; i++) /* afterwards each query's begin stands where its end would */
        sorted[offset[query_of(dataset, pairs[i].better) + 1]++] = pairs[i];
    rw_mem_free(dataset->pair);
    rw_mem_free(dataset->pair_offset);
    dataset->pair = sorted;
    dataset->pair_offset = offset;
    return RW_OK;
out:
    rw_mem_free(sorted);
    rw_mem_free(offset);
    return status;
}
