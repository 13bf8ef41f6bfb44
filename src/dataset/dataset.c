#include "dataset/dataset.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/search.h"
#include "comm/comm.h"
#include "dataset/query_ids.h"

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
