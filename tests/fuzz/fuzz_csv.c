/* The reader of CSV and TSV: any bytes give a data set that keeps its promises, or an error. Chunks
 * of every size say the same, error included. The first byte chooses how columns are given. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "fuzz_input.h"
#include "io/text.h"

static void set_columns(struct rw_ctx *ctx, unsigned kind)
{
    static const char *const ignore[] = {"t", "5-6"};
    const struct rw_columns columns = {.label = kind & 1 ? "1" : NULL,
                                       .qid = kind & 2 ? "2" : NULL,
                                       .weight = kind & 4 ? "w" : NULL,
                                       .ignore = ignore,
                                       .n_ignore = kind >> 3 & 1,
                                       .no_label = kind >> 4 & 1,
                                       .no_qid = kind >> 5 & 1};
    fuzz_check(rw_ctx_set_columns(ctx, &columns) == RW_OK);
}

static void use(const struct rw_dataset *dataset)
{
    const uint32_t n_docs = dataset->n_docs, n_queries = dataset->n_queries;
    float *values = malloc(n_docs * sizeof(float));
    char where[64];
    fuzz_check(values && n_docs > 0 && n_queries > 0 && n_queries <= n_docs &&
               dataset->n_columns > 0);
    fuzz_check(dataset->query_offset[0] == 0 && dataset->query_offset[n_queries] == n_docs);
    for (uint32_t q = 0; q < n_queries; q++) {
        fuzz_check(dataset->query_offset[q] < dataset->query_offset[q + 1]);
        fuzz_check(rw_dataset_query_id(dataset, q)[0] != 0);
        fuzz_check(!strpbrk(rw_dataset_query_id(dataset, q), "\t\r\n"));
    }
    for (uint32_t i = 0; i < n_docs; i++) {
        fuzz_check(isfinite(dataset->label[i]) && dataset->label[i] >= 0);
        fuzz_check(!dataset->weight ||
                   (dataset->weight[i] >= 0 && dataset->weight[i] <= RW_MAX_WEIGHT));
        rw_dataset_where(NULL, dataset, i, where, sizeof(where));
        fuzz_check(strncmp(where, "input:", 6) == 0);
    }
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        fuzz_check(dataset->column[c].n == n_docs);
        fuzz_check(!dataset->name || rw_dataset_feature_name(dataset, c)[0] != 0);
        rw_dataset_feature(dataset, c, 0.0F, values);
        for (uint32_t i = 0; i < n_docs; i++)
            fuzz_check(!isinf(values[i]));
    }
    free(values);
}

static int read_chunks(struct rw_ctx *ctx, const uint8_t *data, size_t size, size_t chunk_bytes,
                       struct rw_dataset **out)
{
    struct rw_builder_list list = {0};
    struct rw_input *input = NULL;
    struct rw_seen *seen = NULL;
    struct rw_text *csv = NULL;
    int status, more = 1;
    *out = NULL;
    RW_TRY_OUT(rw_seen_new(ctx, &seen));
    RW_TRY_OUT(rw_input_open_memory(ctx, "input", data, size, &input));
    RW_TRY_OUT(rw_text_open(ctx, &rw_csv_text, input, NULL, seen, chunk_bytes, &csv));
    while (more)
        RW_TRY_OUT(rw_text_next(ctx, csv, &list, &more));
    RW_TRY_OUT(rw_builder_finish(ctx, list.builder, (int)list.n, out));
out:
    rw_text_close(csv);
    rw_input_close(input);
    rw_seen_free(seen);
    rw_builder_list_release(&list);
    return status;
}

const char *const fuzz_words[] = {
    "label",    "qid",    "w",          "x",        "t",    "\"a,b\"", "\"\"", "\"a \"\"b\"\"\"",
    "\"\"\"\"", "\"\n\"", "NA",         "nan",      "NaN",  "null",    "inf",  "-inf",
    "1e39",     "-0",     "1e-46",      "+3",       "0x10", "65536",   "1",    "2",
    "0.5",      "-1",     "\t",         "\r\n",     " ",    "﻿",     "\"",   "'",
    ",,",       ";",      "2147483648", "16777217", NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct rw_dataset *one, *other;
    if (size == 0)
        return 0;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_check(rw_ctx_set_threads(ctx, 1) == RW_OK);
    set_columns(ctx, *data++);
    size--;
    const int status = read_chunks(ctx, data, size, 4096, &one);
    char error[sizeof(ctx->error)];
    memcpy(error, ctx->error, sizeof(error));
    fuzz_check(status == read_chunks(ctx, data, size, 1 + size % 37 + size / 32, &other));
    if (status == RW_OK) {
        use(one);
        fuzz_check(one->n_docs == other->n_docs && one->n_queries == other->n_queries);
        fuzz_check(memcmp(one->label, other->label, one->n_docs * sizeof(float)) == 0);
        for (uint32_t c = 0; c < one->n_columns; c++)
            fuzz_check(memcmp(one->column[c].value, other->column[c].value,
                              one->n_docs * sizeof(float)) == 0);
    } else {
        fuzz_check(!one && !other && strstr(error, "input") != NULL);
        fuzz_check(strcmp(error, ctx->error) == 0);
    }
    rw_dataset_free(one);
    rw_dataset_free(other);
    rw_ctx_free(ctx);
    return status == RW_OK;
}
