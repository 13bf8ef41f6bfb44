#include "dataset/dataset.h"

#include "base/mem.h"
#include "params/params.h"
#include "each.h"
#include "made_table.h"

TestSuite(table, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

/* Every type, layout, validity, list of documents, order and missing value, under and over the
 * number of sampled documents. */
Test(table, same)
{
    static const int bins[] = {2, 16, 255, 1000};
    static const uint32_t n_docs[] = {1, 63, LIMIT, 500, 5000};
    rw_cut_sample_docs = LIMIT;
    for (uint32_t seed = 0; seed < 140; seed += EACH(11)) {
        struct made m;
        const struct rw_cut_rule rule = {.bins = bins[seed / 5 % 4],
                                         .absent_missing = seed / 2 % 2,
                                         .min_docs = seed % 6 == 0 ? 30 : 1};
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1 + (int)(seed % 3) * 2), RW_OK);
        make_table(&m, seed, n_docs[seed % 5], 1 + seed * 7 % MOST_COLUMNS);
        compare(&m, &rule);
        release(&m);
    }
    cr_assert_str_eq(scratch_log, ""); /* there are flags instead */
}

/* The same by other instructions. */
Test(table, instructions)
{
    static const char *const isa[] = {"plain", "avx2", "avx512"};
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    struct made m;
    rw_cut_sample_docs = LIMIT;
    make_table(&m, 3, 3000, MOST_COLUMNS);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(setenv("RANKWOOD_ISA", isa[i], 1), 0);
        compare(&m, &rule);
    }
    release(&m);
}

/* More columns than are coded at a time, more documents than a thread takes, many ids. */
Test(table, large)
{
    enum { N_DOCS = 70000, N_COLUMNS = 300, N_QUERIES = N_DOCS / 10, ID_BYTES = 8 };
    static struct rw_array column[N_COLUMNS];
    static float values[16][N_DOCS];
    static uint32_t offset[N_QUERIES + 1];
    static uint64_t id[N_QUERIES];
    static char text[N_QUERIES][ID_BYTES];
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    struct rw_table table = {.n_docs = N_DOCS,
                             .n_columns = N_COLUMNS,
                             .column = column,
                             .missing = NAN,
                             .n_queries = N_QUERIES,
                             .query_offset = offset,
                             .query_id_text = &text[0][0],
                             .query_id_offset = id};
    rw_cut_sample_docs = 20000;
    for (uint32_t q = 0; q < N_QUERIES; q++) {
        offset[q + 1] = (q + 1) * 10;
        id[q] = q * ID_BYTES;
        snprintf(text[q], ID_BYTES, "%u", q * 7);
    }
    for (uint32_t k = 0; k < 16; k++) {
        for (uint32_t i = 0; i < N_DOCS; i++)
            values[k][i] = (float)(random_of(k, i, 8) % (k * k * 40 + 1));
        for (uint32_t i = 0; k % 4 == 1 && i < N_DOCS; i++) /* codes of these are listed */
            values[k][i] *= (float)(i % 16 == k);
        for (uint32_t i = 0; k % 3 == 1 && i < 50; i++) /* missing in one range only */
            values[k][k % 2 ? i : N_DOCS - 1 - i] = rw_float_of_bits(RW_MISSING_BITS);
    }
    for (uint32_t c = 0; c < N_COLUMNS; c++)
        column[c] = (struct rw_array){
            .data = &values[c % 16][0], .type = RW_VALUE_F32, .stride = sizeof(float)};
    for (int n_threads = 1; n_threads < 4; n_threads += 2) {
        struct rw_dataset *dataset;
        struct rw_bins *bins;
        struct rw_binned codes = {.documents = NULL};
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, n_threads), RW_OK);
        cr_assert_eq(rw_dataset_from_table(scratch_ctx, &table, &dataset), RW_OK);
        cr_assert_str_eq(rw_dataset_query_id(dataset, N_QUERIES - 1), text[N_QUERIES - 1]);
        for (uint32_t c = 0; c < N_COLUMNS; c++)
            cr_assert_eq(memcmp(dataset->column[c].value, values[c % 16], sizeof(values[0])), 0);
        cr_assert_eq(rw_bins_make_training(scratch_ctx, dataset, &rule, &bins), RW_OK);
        cr_assert_eq(rw_table_codes(scratch_ctx, &table, &rule, &codes), RW_OK);
        assert_same_binned(dataset, bins, &codes);
        cr_assert_not_null(bins->codes[rw_cuts_index(bins->cuts, 5)].row);
        rw_bins_free(bins);
        rw_binned_release(&codes);
        rw_dataset_free(dataset);
    }
    id[N_QUERIES - 1] = id[4321];
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &table, &dataset), RW_ERR_DATA);
    cr_assert_str_eq(
        rw_last_error(scratch_ctx),
        "query '30247' appears again after another query\nhint: its documents are 43210 to 43219 "
        "and from 69990 on (from 0); a query's documents must be consecutive");
}

/* One matrix in C order, in Fortran order, upside down, and by rw_dataset_from_memory. */
Test(table, orders_of_arrays)
{
    enum { N_DOCS = 1000, N_COLUMNS = 37, WIDTH = 50 };
    static float by_row[N_DOCS][WIDTH], by_column[N_COLUMNS][N_DOCS], packed[N_DOCS][N_COLUMNS];
    static float labels[N_DOCS];
    const uint32_t offsets[] = {0, 300, N_DOCS};
    const uint64_t id[] = {0, 2};
    struct rw_array column[N_COLUMNS];
    uint32_t feature[N_COLUMNS];
    struct rw_dataset *expected, *dataset;
    for (uint32_t i = 0; i < N_DOCS; i++) {
        labels[i] = (float)(i % 3);
        for (uint32_t c = 0; c < N_COLUMNS; c++) {
            const uint32_t random = random_of(1, i, c);
            const float value = random % 9 == 0 ? NAN : random % 7 == 0 ? -0.0f : (float)random;
            packed[i][c] = by_column[c][i] = by_row[i][c] = value;
        }
    }
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, &packed[0][0], labels, offsets, N_DOCS,
                                        N_COLUMNS, 2, 5, &expected),
                 RW_OK);
    for (int layout = 0; layout < 3; layout++) {
        uint32_t order[N_DOCS];
        for (uint32_t c = 0; c < N_COLUMNS; c++) {
            feature[c] = 5 + c;
            column[c] = (struct rw_array){.type = RW_VALUE_F32};
            column[c].data = layout == 0   ? &by_row[0][c]
                             : layout == 1 ? &by_column[c][0]
                                           : &by_row[N_DOCS - 1][c];
            column[c].stride = layout == 0   ? (ptrdiff_t)sizeof(by_row[0])
                               : layout == 1 ? (ptrdiff_t)sizeof(float)
                                             : -(ptrdiff_t)sizeof(by_row[0]);
        }
        for (uint32_t i = 0; i < N_DOCS; i++)
            order[i] = N_DOCS - 1 - i;
        const struct rw_table table = {.n_docs = N_DOCS,
                                       .n_columns = N_COLUMNS,
                                       .column = column,
                                       .feature = feature,
                                       .missing = NAN,
                                       .label = labels,
                                       .n_queries = 2,
                                       .query_offset = offsets,
                                       .query_id_text = "1\0002",
                                       .query_id_offset = id,
                                       .order = layout == 2 ? order : NULL};
        cr_assert_eq(rw_dataset_from_table(scratch_ctx, &table, &dataset), RW_OK);
        assert_same_dataset(expected, dataset);
        rw_dataset_free(dataset);
    }
    rw_dataset_free(expected);
}

/* ---- training ---- */

/* dataset: or NULL, and `binned`. */
static char *train(const struct rw_params *params, const struct rw_dataset *dataset,
                   const struct rw_binned *binned, size_t *n_bytes)
{
    struct rw_model *model;
    char *text;
    cr_assert_eq(
        binned ? rw_train_on(scratch_ctx, params, &(struct rw_training){.binned = binned}, &model)
               : rw_train(scratch_ctx, params, dataset, NULL, 0, NULL, &model),
        RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(rw_model_write_memory(scratch_ctx, model, &text, n_bytes), RW_OK);
    rw_model_free(model);
    return text;
}

static void write_letor(const struct made *m, const char *path)
{
    const struct rw_table *table = &m->table;
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (uint32_t q = 0; q < table->n_queries; q++) {
        char id[32];
        id_of(m, q, id);
        for (uint32_t i = table->query_offset[q]; i < table->query_offset[q + 1]; i++) {
            fprintf(file, "%g qid:%s", table->label ? (double)table->label[i] : 0, id);
            for (uint32_t c = 0; c < table->n_columns; c++) {
                float value;
                if (value_of(m, c, table->order ? table->order[i] : i, &value))
                    fprintf(file, " %u:%.9g", table->feature ? table->feature[c] : c,
                            (double)value);
            }
            fputc('\n', file);
        }
    }
    cr_assert_eq(fclose(file), 0);
}

/* Models are those of LETOR text with the same values, byte for byte. */
Test(table, training)
{
    static const char *const device[] = {"cpu", "ref", "sim"}, *const absent[] = {"zero",
                                                                                  "missing"};
    static const uint32_t seeds[] = {1, 5, 6, 13, 17, 22};
    const char *const paths[] = {"a.txt"};
    rw_cut_sample_docs = LIMIT;
    for (uint32_t i = 0; i < 6; i++) {
        struct made m;
        struct rw_params *params;
        struct rw_dataset *text, *values;
        struct rw_binned *codes;
        size_t n, n_values, n_codes;
        make_table(&m, seeds[i], 900, 24);
        write_letor(&m, "a.txt");
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1 + (int)i % 3), RW_OK);
        cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "device", device[i % 3]), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "absent", absent[i % 2]), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "4"), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "leaves", "12"), RW_OK);
        cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &text), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert_eq(rw_dataset_from_table(scratch_ctx, &m.table, &values), RW_OK);
        cr_assert_eq(rw_binned_from_table(scratch_ctx, params, &m.table, &codes), RW_OK);
        cr_assert_not_null(codes->bins);
        char *expected = train(params, text, NULL, &n);
        char *of_values = train(params, values, NULL, &n_values);
        char *of_codes = train(params, NULL, codes, &n_codes);
        cr_assert_gt(n, 2000, "trees");
        cr_assert(n == n_values && memcmp(expected, of_values, n) == 0);
        cr_assert(n == n_codes && memcmp(expected, of_codes, n) == 0);
        rw_free(expected);
        rw_free(of_values);
        rw_free(of_codes);
        rw_binned_free(codes);
        rw_dataset_free(values);
        rw_dataset_free(text);
        rw_params_free(params);
        release(&m);
    }
}

/* For a GPU, which makes codes itself, the values are kept. */
Test(table, values_kept)
{
    struct made m;
    struct rw_params *params;
    struct rw_dataset *values;
    struct rw_binned *kept;
    size_t n, n_kept;
    make_table(&m, 6, 500, 20);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "device", "cuda"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "3"), RW_OK);
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &m.table, &values), RW_OK);
    cr_assert_eq(rw_binned_from_table(scratch_ctx, params, &m.table, &kept), RW_OK);
    cr_assert_null(kept->bins);
    assert_same_dataset(values, rw_binned_documents(kept));
    cr_assert_eq(rw_binned_n_features(kept), values->n_columns);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "device", "cpu"), RW_OK);
    char *expected = train(params, values, NULL, &n), *text = train(params, NULL, kept, &n_kept);
    cr_assert(n == n_kept && memcmp(expected, text, n) == 0);
    rw_free(expected);
    rw_free(text);
    rw_binned_free(kept);
    rw_dataset_free(values);
    rw_params_free(params);
    release(&m);
}

Test(table, model_in_memory)
{
    struct made m;
    struct rw_params *params;
    struct rw_dataset *dataset;
    struct rw_model *model, *read;
    char *text, *again;
    size_t n, n_again, n_file;
    make_table(&m, 1, 400, 20);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "device", "cpu"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "3"), RW_OK);
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &m.table, &dataset), RW_OK);
    cr_assert_eq(rw_train(scratch_ctx, params, dataset, NULL, 0, NULL, &model), RW_OK);
    cr_assert_eq(rw_model_write(scratch_ctx, model, "model"), RW_OK);
    cr_assert_eq(rw_model_write_memory(scratch_ctx, model, &text, &n), RW_OK);
    char *file = scratch_read("model", &n_file);
    cr_assert(n == n_file && memcmp(text, file, n) == 0);
    cr_assert_eq(rw_model_read_memory(scratch_ctx, "m", text, n, &read), RW_OK);
    cr_assert_eq(rw_model_write_memory(scratch_ctx, read, &again, &n_again), RW_OK);
    cr_assert(n == n_again && memcmp(text, again, n) == 0);
    rw_model_free(read);
    text[n / 2] ^= 1;
    cr_assert_eq(rw_model_read_memory(scratch_ctx, "pickled", text, n, &read), RW_ERR_FORMAT);
    cr_assert_null(read);
    cr_assert_eq(strncmp(rw_last_error(scratch_ctx), "pickled:", 8), 0);
    cr_assert_eq(rw_model_read_memory(scratch_ctx, "pickled", text, 0, &read), RW_ERR_FORMAT);
    rw_free(text);
    rw_free(again);
    rw_free(NULL);
    free(file);
    rw_model_free(model);
    rw_dataset_free(dataset);
    rw_params_free(params);
    release(&m);
}

/* ---- refused tables ---- */

Test(table, refused)
{
    static const float x[] = {1, 2, 3, 4, 5}, y[] = {1, -INFINITY, 3, INFINITY, 5};
    static const double z[] = {1, 2, 1e39, 4, 5}, tiny[] = {1e-300, -1e-300, 1, 2, 3};
    static const int32_t index[] = {1, 4}, falling[] = {4, 1}, twice[] = {1, 1}, far[] = {1, 5},
                         below[] = {-1, 2};
    static const uint8_t valid[] = {0x15};
    const uint32_t offset[] = {0, 2, 3, 5}, short_of[] = {0, 2, 3, 4}, empty[] = {0, 2, 2, 5};
    const uint32_t feature[] = {3, 9}, equal[] = {3, 3}, large[] = {3, 65536};
    const float negative[] = {0, 1, -1, 0, 0}, nan_label[] = {0, NAN, 0, 0, 0};
    const uint64_t id[] = {0, 3, 6}, again[] = {0, 3, 0}, neighbour[] = {0, 3, 3};
    const uint32_t order[] = {3, 2, 4, 0, 1}, doubled[] = {3, 2, 4, 3, 1},
                   beyond[] = {3, 2, 4, 5, 1};
    struct rw_array a[] = {{.data = x, .type = RW_VALUE_F32, .stride = sizeof(float)},
                           {.data = x, .type = RW_VALUE_F32, .stride = sizeof(float)}};
    const struct rw_table good = {.n_docs = 5,
                                  .n_columns = 2,
                                  .column = a,
                                  .feature = feature,
                                  .missing = NAN,
                                  .n_queries = 3,
                                  .query_offset = offset,
                                  .query_id_text = "ab\0cd\0ef",
                                  .query_id_offset = id};
    struct rw_table t = good;
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &t, &dataset), RW_OK);
    cr_assert_str_eq(rw_dataset_query_id(dataset, 1), "cd");
    rw_dataset_free(dataset);
    t.n_docs = 0;
    assert_refused(&t, RW_ERR_DATA, "the data set has no documents");
    t.n_docs = 3000000000u;
    assert_refused(&t, RW_ERR_DATA, "too many documents: 3000000000; expected at most 2147483647");
    t = good;
    t.query_offset = NULL;
    assert_refused(&t, RW_ERR_ARGUMENT, "the table lacks query offsets");
    t = good;
    t.column = NULL;
    assert_refused(&t, RW_ERR_ARGUMENT, "the table has no columns");
    t = good;
    t.query_id_text = NULL;
    assert_refused(&t, RW_ERR_ARGUMENT, "the table lacks the text of query ids");
    t = good;
    t.query_offset = short_of;
    assert_refused(&t, RW_ERR_DATA, "query offsets go from 0 to 4; expected 0 to 5");
    t.query_offset = empty;
    assert_refused(&t, RW_ERR_DATA, "query 1 (from 0) has no documents");
    t = good;
    t.feature = equal;
    assert_refused(&t, RW_ERR_DATA,
                   "column 1 (from 0) is feature 3, after feature 3; expected ascending ids");
    t.feature = large;
    assert_refused(&t, RW_ERR_DATA, "column 1 (from 0) is feature 65536; expected ids 0 to 65535");
    t = good;
    t.label = negative;
    assert_refused(&t, RW_ERR_DATA, "label of document 2 (from 0) is -1; expected 0 or more");
    t.label = nan_label;
    assert_refused(&t, RW_ERR_DATA, "label of document 1 (from 0) is nan; expected 0 or more");
    t = good;
    t.query_id_offset = again;
    assert_refused(&t, RW_ERR_DATA,
                   "query 'ab' appears again after another query\nhint: its documents are 0 to 1 "
                   "and from 3 on (from 0); a query's documents must be consecutive");
    t.query_id_offset = neighbour;
    assert_refused(&t, RW_ERR_DATA,
                   "query 'cd' appears again after another query\nhint: its documents are 2 to 2 "
                   "and from 3 on (from 0); a query's documents must be consecutive");
    t = good;
    t.order = doubled;
    assert_refused(&t, RW_ERR_DATA,
                   "order has document 3 at 3 (from 0); expected each document from 0 to 4 once");
    t.order = beyond;
    assert_refused(&t, RW_ERR_DATA,
                   "order has document 5 at 3 (from 0); expected each document from 0 to 4 once");
    t = good;
    a[1] = (struct rw_array){.type = RW_VALUE_F32, .stride = 4};
    assert_refused(&t, RW_ERR_ARGUMENT, "column of feature 9 has no data");
    a[1].data = x;
    a[1].type = (enum rw_value_type)12;
    assert_refused(&t, RW_ERR_ARGUMENT, "column of feature 9 has values of type 12");
    a[1].type = RW_VALUE_F32;
    a[1].n = 2;
    const int32_t *const wrong[] = {falling, twice, far, below};
    for (int i = 0; i < 4; i++) {
        a[1].index = wrong[i];
        assert_refused(&t, RW_ERR_DATA, "indices of feature 9 must ascend, from 0 to at most 4");
    }
    a[0] = (struct rw_array){.data = y, .type = RW_VALUE_F32, .stride = sizeof(float)};
    a[1] = (struct rw_array){.data = z, .type = RW_VALUE_F64, .stride = sizeof(double)};
    assert_refused(&t, RW_ERR_DATA,
                   "value of document 1 (from 0), feature 3 is infinite; expected a number, or NaN "
                   "for missing");
    /* of several infinite values the first document's, whatever the order */
    for (int ordered = 0; ordered < 2; ordered++) {
        t.order = ordered ? order : NULL;
        a[0] = (struct rw_array){.data = z, .type = RW_VALUE_F64, .stride = sizeof(double)};
        a[1] = (struct rw_array){.data = y, .type = RW_VALUE_F32, .stride = sizeof(float)};
        assert_refused(&t, RW_ERR_DATA,
                       "value of document 1 (from 0), feature 9 is infinite; expected a number, or "
                       "NaN for missing");
        a[1].valid = valid; /* invalid elements may have any contents */
        assert_refused(&t, RW_ERR_DATA,
                       "value of document 2 (from 0), feature 3 is infinite, or too large for "
                       "float32; expected a number, or NaN for missing");
        a[0].data = tiny;
        cr_assert_eq(rw_dataset_from_table(scratch_ctx, &t, &dataset), RW_OK);
        cr_assert_eq(rw_bits_of_float(dataset->column[0].value[ordered ? 4 : 1]), 0);
        rw_dataset_free(dataset);
        a[1] = (struct rw_array){
            .data = y, .type = RW_VALUE_F32, .stride = sizeof(float), .index = index, .n = 2};
        assert_refused(&t, RW_ERR_DATA,
                       "value of document 4 (from 0), feature 9 is infinite; expected a number, or "
                       "NaN for missing");
    }
    t.missing = -INFINITY;
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &t, &dataset), RW_OK);
    rw_dataset_free(dataset);
}

/* Without flags, a warning; 2^24 and its multiples are float32 numbers. */
Test(table, inexact)
{
    static const int64_t x[] = {16777216, -16777218, INT64_MIN, 1, 16777217};
    static const uint64_t y[] = {16777216, UINT64_MAX, 0, 0, 0};
    const uint32_t offset[] = {0, 5};
    struct rw_array a[] = {{.data = x, .type = RW_VALUE_I64, .stride = 8},
                           {.data = y, .type = RW_VALUE_U64, .stride = 8}};
    struct rw_table t = {.n_docs = 5,
                         .n_columns = 2,
                         .column = a,
                         .missing = NAN,
                         .n_queries = 1,
                         .query_offset = offset};
    const uint8_t valid = 0x0f;
    struct rw_dataset *dataset;
    for (int i = 0; i < 4; i++) {
        scratch_log[0] = 0;
        a[0].valid = i & 1 ? &valid : NULL;
        t.n_columns = i & 2 ? 2 : 1;
        cr_assert_eq(rw_dataset_from_table(scratch_ctx, &t, &dataset), RW_OK);
        cr_assert_eq(dataset->column[0].value[1], -16777218.0f);
        rw_dataset_free(dataset);
        cr_assert_str_eq(scratch_log,
                         i == 0   ? "whole numbers of feature 0 exceed 2^24 and were rounded to "
                                    "float32; different numbers may have become equal\n"
                         : i == 1 ? ""
                         : i == 2
                             ? "whole numbers of feature 0 (and of 1 more) exceed 2^24 and were "
                               "rounded to float32; different numbers may have become equal\n"
                             : "whole numbers of feature 1 exceed 2^24 and were rounded to "
                               "float32; different numbers may have become equal\n");
    }
}

Test(table, memory)
{
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    struct made m;
    rw_cut_sample_docs = LIMIT;
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 2), RW_OK);
    make_table(&m, 13, 700, 30); /* with an order, sparse columns and ids */
    cr_assert(m.table.order && m.table.query_id_text);
    for (int is_codes = 0; is_codes < 2; is_codes++) {
        int status = RW_ERR_MEMORY;
        long n = 1;
        for (; status != RW_OK && n < 10000; n++) {
            struct rw_dataset *dataset = NULL;
            struct rw_binned codes = {.documents = NULL};
            rw_mem_fail_from(n);
            status = is_codes ? rw_table_codes(scratch_ctx, &m.table, &rule, &codes)
                              : rw_dataset_from_table(scratch_ctx, &m.table, &dataset);
            rw_mem_fail_from(0);
            cr_assert(status == RW_OK || status == RW_ERR_MEMORY, "allocation %ld: %d", n, status);
            cr_assert_eq(status == RW_OK, is_codes ? codes.bins != NULL : dataset != NULL);
            rw_binned_release(&codes);
            rw_dataset_free(dataset);
        }
        cr_assert_eq(status, RW_OK);
        cr_assert_gt(n, is_codes ? 60 : 10);
    }
    release(&m);
}
