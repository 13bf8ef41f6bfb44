/* Reads files by workers that are threads, and compares their shards with the data of one
 * worker. */
#pragma once

#include "params/params.h"
#include "comm/comm.h"
#include "dataset/dataset.h"
#include "scratch_file.h"

enum { MOST_PARTS = 512 };

struct parts {
    const char *const *paths;
    int n_paths, n_workers;
    const char *weight_column;           /* NULL: none */
    const char *weights, *query_weights; /* NULL: none */
    struct rw_dataset *part[MOST_PARTS]; /* owned */
    int n_tables[MOST_PARTS];            /* that the rank knows to have been read */
};

__attribute__((unused)) static void parts_release(struct parts *parts)
{
    for (int r = 0; r < parts->n_workers; r++) {
        rw_dataset_free(parts->part[r]);
        parts->part[r] = NULL;
    }
}

/* Asserts nothing: it runs in threads that Criterion does not know. */
static int parts_read_one(void *user, struct rw_ctx *ctx, int rank)
{
    struct parts *parts = user;
    const struct rw_columns columns = {.weight = parts->weight_column};
    if (parts->weight_column)
        RW_TRY(rw_ctx_set_columns(ctx, &columns));
    RW_TRY(rw_dataset_read(ctx, parts->paths, parts->n_paths, &parts->part[rank]));
    if (parts->weights)
        RW_TRY(rw_dataset_read_side_column(ctx, parts->part[rank], "weights", parts->weights));
    if (parts->query_weights)
        RW_TRY(rw_dataset_read_side_column(ctx, parts->part[rank], "query-weights",
                                           parts->query_weights));
    parts->n_tables[rank] = rw_ctx_n_tables(ctx);
    return RW_OK;
}

__attribute__((unused)) static int parts_read(struct parts *parts)
{
    return rw_workers_run(scratch_ctx, parts->n_workers, parts_read_one, parts);
}

static float parts_value(const struct rw_dataset *dataset, uint32_t feature, uint32_t doc)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    float value = rw_float_of_bits(RW_ABSENT_BITS);
    if (column && !column->row)
        value = column->value[doc];
    for (uint32_t k = 0; column && column->row && k < column->n; k++) {
        if (column->row[k] == doc)
            value = column->value[k];
    }
    return value;
}

/* All but the values. */
static void assert_same_lines(const struct rw_dataset *whole, uint32_t first,
                              const struct rw_dataset *part, const char *what)
{
    char here[256], there[256];
    for (uint32_t i = 0; i < part->n_docs; i++) {
        cr_assert_eq(whole->label[first + i], part->label[i], "%s", what);
        cr_assert_str_eq(rw_dataset_comment(whole, first + i), rw_dataset_comment(part, i));
        cr_assert_eq(whole->weight == NULL, part->weight == NULL);
        if (part->weight)
            cr_assert_eq(whole->weight[first + i], part->weight[i]);
        if (part->origin.n_locations && whole->origin.n_locations) { /* of a cache none are known */
            rw_dataset_where(NULL, whole, first + i, here, sizeof(here));
            rw_dataset_where(NULL, part, i, there, sizeof(there));
            cr_assert_str_eq(here, there, "%s", what);
        }
    }
}

static void assert_same_documents(const struct rw_dataset *whole, uint32_t first,
                                  const struct rw_dataset *part, const char *what)
{
    assert_same_lines(whole, first, part, what);
    for (uint32_t i = 0; i < part->n_docs; i++) {
        for (uint32_t c = 0; c < whole->n_columns; c++) {
            const uint32_t feature = whole->column[c].feature;
            cr_assert_eq(rw_bits_of_float(parts_value(whole, feature, first + i)),
                         rw_bits_of_float(parts_value(part, feature, i)), "%s: %u", what, feature);
        }
    }
    for (uint32_t c = 0; c < part->n_columns; c++)
        cr_assert_not_null(rw_dataset_column(whole, part->column[c].feature));
}

/* Asserts that the parts, in order, are the whole, and that no query is in two of them. */
__attribute__((unused)) static void assert_parts_are(const struct rw_dataset *whole,
                                                     const struct parts *parts, const char *what)
{
    uint32_t doc = 0, query = 0;
    for (int r = 0; r < parts->n_workers; r++) {
        const struct rw_dataset *part = parts->part[r];
        cr_assert_leq(doc + part->n_docs, whole->n_docs, "%s", what);
        cr_assert_leq(query + part->n_queries, whole->n_queries, "%s", what);
        cr_assert_eq(whole->query_offset[query], doc, "%s: rank %d", what, r);
        for (uint32_t q = 0; q < part->n_queries; q++) {
            cr_assert_eq(whole->query_offset[query + q], doc + part->query_offset[q]);
            cr_assert_str_eq(rw_dataset_query_id(whole, query + q), rw_dataset_query_id(part, q));
        }
        cr_assert_eq(part->query_offset[part->n_queries], part->n_docs);
        assert_same_documents(whole, doc, part, what);
        doc += part->n_docs;
        query += part->n_queries;
    }
    cr_assert_eq(doc, whole->n_docs, "%s", what);
    cr_assert_eq(query, whole->n_queries, "%s", what);
}

/* Reads the files by n_workers and compares; the parts are released. */
__attribute__((unused)) static void check_parts(struct parts *parts, const char *what)
{
    const struct rw_columns columns = {.weight = parts->weight_column};
    struct rw_dataset *whole = NULL;
    if (parts->weight_column)
        cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, parts->paths, parts->n_paths, &whole), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    if (parts->weights)
        cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, whole, "weights", parts->weights),
                     RW_OK);
    if (parts->query_weights)
        cr_assert_eq(
            rw_dataset_read_side_column(scratch_ctx, whole, "query-weights", parts->query_weights),
            RW_OK);
    cr_assert_eq(parts_read(parts), RW_OK, "%s: %d ranks: %s", what, parts->n_workers,
                 rw_last_error(scratch_ctx));
    assert_parts_are(whole, parts, what);
    parts_release(parts);
    rw_dataset_free(whole);
}
