#include <float.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "same_dataset.h"
#include "scratch_file.h"

TestSuite(dataset, .init = scratch_begin, .fini = scratch_end);

static struct rw_dataset *from_memory(void)
{
    const float values[] = {1, NAN, -0.0f, 4, 5, 6, 7, 8, 9, 10, NAN, 12};
    const float labels[] = {0, 1, 2.5f, -0.0f};
    const uint32_t offsets[] = {0, 1, 4};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 4, 3, 2, 7, &dataset),
                 RW_OK);
    return dataset;
}

Test(dataset, from_memory)
{
    struct rw_dataset *dataset = from_memory();
    float column[4];
    cr_assert_eq(rw_dataset_n_docs(dataset), 4);
    cr_assert_eq(rw_dataset_n_queries(dataset), 2);
    cr_assert_eq(rw_dataset_n_features(dataset), 3);
    cr_assert_eq(rw_dataset_labels(dataset)[2], 2.5f);
    cr_assert_eq(rw_bits_of_float(rw_dataset_labels(dataset)[3]), 0, "-0 becomes +0");
    cr_assert_eq(rw_dataset_query_offsets(dataset)[1], 1);
    cr_assert_str_eq(rw_dataset_query_id(dataset, 1), "2");
    cr_assert_str_eq(rw_dataset_query_id(dataset, 2), "");
    cr_assert_str_eq(rw_dataset_comment(dataset, 0), "");
    rw_dataset_feature(dataset, 8, 0, column);
    cr_assert(isnan(column[0]));
    cr_assert_eq(rw_bits_of_float(column[0]), RW_MISSING_BITS);
    cr_assert_eq(column[1], 5);
    rw_dataset_feature(dataset, 9, 0, column);
    cr_assert_eq(rw_bits_of_float(column[0]), 0, "-0 becomes +0");
    rw_dataset_feature(dataset, 6, -3, column);
    cr_assert_eq(column[3], -3, "a feature that never appears is absent");
    rw_dataset_free(dataset);
}

Test(dataset, from_memory_refuses)
{
    const float good[] = {1, 2}, infinite[] = {1, INFINITY};
    const float labels[] = {0, 1}, below[] = {0, -1}, nan_label[] = {NAN, 0};
    const uint32_t offsets[] = {0, 2}, short_of[] = {0, 1}, empty[] = {0, 0, 2};
    const struct {
        const float *values, *labels;
        const uint32_t *offsets;
        uint32_t n_docs, n_features, n_queries, first;
        const char *error;
    } cases[] = {
        {infinite, labels, offsets, 2, 1, 1, 3, "value of document 1 (from 0), feature 3"},
        {good, below, offsets, 2, 1, 1, 0, "label of document 1 (from 0) is -1"},
        {good, nan_label, offsets, 2, 1, 1, 0, "label of document 0"},
        {good, labels, short_of, 2, 1, 1, 0, "query offsets go from 0 to 1; expected 0 to 2"},
        {good, labels, empty, 2, 1, 2, 0, "query 0 (from 0) has no documents"},
        {good, labels, offsets, 2, 1, 1, 65536, "expected ids 0 to 65535"},
        {good, labels, offsets, 2, 2, 1, 65535, "expected ids 0 to 65535"},
        {good, labels, offsets, 0, 1, 0, 0, "no documents"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rw_dataset *dataset;
        cr_assert_eq(rw_dataset_from_memory(scratch_ctx, cases[i].values, cases[i].labels,
                                            cases[i].offsets, cases[i].n_docs, cases[i].n_features,
                                            cases[i].n_queries, cases[i].first, &dataset),
                     RW_ERR_DATA);
        cr_assert_null(dataset);
        cr_assert_not_null(strstr(rw_last_error(scratch_ctx), cases[i].error), "%s: %s",
                           cases[i].error, rw_last_error(scratch_ctx));
    }
}

/* Query q of documents 0 .. 9: document i has feature 2 always, 5 if i % 4 == 0, 65535 in
 * document 7. */
static void build(struct rw_builder *builders, int n_builders)
{
    for (uint32_t i = 0; i < 10; i++) {
        struct rw_builder *builder = &builders[(int)i * n_builders / 10];
        const char *const id = i < 6 ? "first" : "second";
        const int begins = builder->n_docs == 0 || i == 6;
        if (begins)
            cr_assert_eq(rw_builder_query(scratch_ctx, builder, id, strlen(id)), RW_OK);
        uint16_t features[3] = {2};
        float values[3] = {(float)i};
        size_t n = 1;
        if (i % 4 == 0) {
            features[n] = 5;
            values[n++] = (float)i / 2;
        }
        if (i == 7) {
            features[n] = 65535;
            values[n++] = -1;
        }
        const char *comment = i == 5 ? "docid = D5 x" : "";
        cr_assert_eq(rw_builder_doc(scratch_ctx, builder, (float)(i % 3), features, values, n,
                                    comment, strlen(comment)),
                     RW_OK);
    }
}

Test(dataset, columns_are_sparse_when_that_is_smaller)
{
    struct rw_builder builder = {0};
    struct rw_dataset *dataset;
    build(&builder, 1);
    cr_assert_eq(rw_builder_finish(scratch_ctx, &builder, 1, &dataset), RW_OK);
    cr_assert_eq(dataset->n_columns, 3);
    const struct rw_column *five = rw_dataset_column(dataset, 5);
    cr_assert_null(rw_dataset_column(dataset, 2)->row);
    cr_assert_eq(five->n, 3);
    cr_assert_eq(five->row[2], 8);
    cr_assert_null(rw_dataset_column(dataset, 3));
    float values[10];
    rw_column_values(five, 3, 9, NAN, values);
    cr_assert(isnan(values[0]));
    cr_assert_eq(values[1], 2);
    cr_assert_eq(values[5], 4);
    rw_dataset_feature(dataset, 65535, 0, values);
    cr_assert_eq(values[7], -1);
    cr_assert_eq(values[8], 0);
    rw_dataset_free(dataset);
}

Test(dataset, any_builders_and_threads_give_the_same)
{
    struct rw_builder one = {0};
    struct rw_dataset *expected;
    build(&one, 1);
    cr_assert_eq(rw_builder_finish(scratch_ctx, &one, 1, &expected), RW_OK);
    cr_assert_eq(expected->n_queries, 2);
    for (int n = 1; n <= 10; n++) {
        for (int n_threads = 1; n_threads <= 7; n_threads += 3) {
            struct rw_builder builders[10] = {{0}};
            struct rw_dataset *dataset;
            rw_ctx_set_threads(scratch_ctx, n_threads);
            build(builders, n);
            cr_assert_eq(rw_builder_finish(scratch_ctx, builders, n, &dataset), RW_OK);
            assert_same_dataset(expected, dataset);
            rw_dataset_free(dataset);
        }
    }
    rw_dataset_free(expected);
}

/* Packed builders give the same; the one packed from is as new, and gives it again. */
Test(dataset, packed_builders)
{
    struct rw_builder once = {0}, from = {0}, packed[2] = {{0}};
    struct rw_dataset *expected, *dataset;
    build(&once, 1);
    cr_assert_eq(rw_builder_finish(scratch_ctx, &once, 1, &expected), RW_OK);
    for (int i = 0; i < 2; i++) {
        build(&from, 1);
        cr_assert_eq(rw_builder_pack(scratch_ctx, &from, &packed[i]), RW_OK);
        cr_assert_eq(from.n_docs, 0);
        cr_assert_eq(packed[i].room.label, packed[i].n_docs, "just its size");
    }
    rw_builder_release(&from);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(rw_builder_finish(scratch_ctx, &packed[i], 1, &dataset), RW_OK);
        assert_same_dataset(expected, dataset);
        rw_dataset_free(dataset);
    }
    for (long n = 1;; n++) {
        build(&from, 1);
        rw_mem_fail_from(n);
        const int status = rw_builder_pack(scratch_ctx, &from, &packed[0]);
        rw_mem_fail_from(0);
        rw_builder_release(&packed[0]);
        rw_builder_release(&from);
        if (status == RW_OK)
            break;
        cr_assert_eq(status, RW_ERR_MEMORY);
    }
    rw_dataset_free(expected);
}

/* Builders that come in any order, and more documents than there is room for. */
Test(dataset, builders_packed_into_early_columns)
{
    enum { BUILDERS = 7 };
    static const uint64_t rooms[] = {1, 20, 69, 70, 1000};
    static const uint64_t orders[][BUILDERS] = {
        {0, 1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1, 0}, {1, 0, 3, 2, 4, 6, 5}};
    for (size_t at = 0; at < 15; at++) {
        const uint64_t *order = orders[at % 3];
        struct rw_builder plain[BUILDERS] = {{0}}, packed[BUILDERS] = {{0}};
        struct rw_dataset *expected, *dataset;
        struct rw_early *early;
        cr_assert_eq(rw_early_new(scratch_ctx, BUILDERS, rooms[at / 3], &early), RW_OK);
        for (uint32_t b = 0; b < BUILDERS; b++) {
            struct rw_builder lines = {0};
            for (int copy = 0; copy < 2; copy++) {
                struct rw_builder *to = copy ? &lines : &plain[order[b]];
                cr_assert_eq(rw_builder_query(scratch_ctx, to, "q", 1), RW_OK);
                for (uint32_t i = 0; i < 10; i++) {
                    const uint16_t features[] = {3, 5, 6, 9, 11};
                    const float k = (float)(order[b] * 10 + i);
                    const float values[] = {k, -k, k * k, 7, k / 3};
                    cr_assert_eq(rw_builder_doc(scratch_ctx, to, k, features, values, 5, NULL, 0),
                                 RW_OK);
                }
            }
            cr_assert_eq(rw_early_pack(early, order[b], &lines, &packed[order[b]]), RW_OK);
            rw_builder_release(&lines);
        }
        int n_placed = 0;
        for (uint32_t b = 0; b < BUILDERS; b++)
            n_placed += packed[b].is_placed;
        if (rooms[at / 3] >= 70)
            cr_assert_eq(n_placed, BUILDERS);
        cr_assert_eq(rw_builder_finish(scratch_ctx, plain, BUILDERS, &expected), RW_OK);
        cr_assert_eq(rw_early_finish(scratch_ctx, early, packed, BUILDERS, &dataset), RW_OK);
        assert_same_dataset(expected, dataset);
        rw_dataset_free(expected);
        rw_dataset_free(dataset);
        rw_early_free(early);
    }
}

Test(dataset, documents_copied_to_a_builder)
{
    struct rw_builder one = {0};
    struct rw_dataset *whole;
    build(&one, 1);
    cr_assert_eq(rw_builder_finish(scratch_ctx, &one, 1, &whole), RW_OK);
    for (uint32_t step = 1; step <= 10; step++) {
        struct rw_builder builders[10] = {{0}};
        struct rw_dataset *joined;
        int n = 0;
        for (uint32_t begin = 0; begin < 10; begin += step, n++) {
            const uint32_t end = begin + step < 10 ? begin + step : 10;
            cr_assert_eq(rw_builder_copy(scratch_ctx, &builders[n], whole, begin, end), RW_OK);
        }
        cr_assert_eq(rw_builder_finish(scratch_ctx, builders, n, &joined), RW_OK);
        assert_same_dataset(whole, joined);
        rw_dataset_free(joined);
    }
    rw_dataset_free(whole);
}

Test(dataset, doc_ids_of_comments)
{
    const struct {
        const char *comment, *id;
    } cases[] = {{"docid = GX270-64-1238496 inc = 1 prob = 0.19", "GX270-64-1238496"},
                 {"docid:7", "7"},
                 {"x docid=7", "7"},
                 {"inc,docid=7", "7"},
                 {"inc;docid=7", "7"},
                 {"xdocid = 7", ""},
                 {"docid 7", ""},
                 {"docid docid: b", "b"},
                 {"docid =", ""},
                 {"docid = 0123456789abcdefghij", "0123456789abcdef"}, /* cut to fit */
                 {"", ""}};
    const uint16_t feature = 1;
    const float value = 1;
    struct rw_builder builder = {0};
    struct rw_dataset *dataset;
    const uint32_t n = sizeof(cases) / sizeof(*cases);
    rw_builder_query(scratch_ctx, &builder, "q", 1);
    for (uint32_t i = 0; i < n; i++)
        rw_builder_doc(scratch_ctx, &builder, 0, &feature, &value, 1, cases[i].comment,
                       strlen(cases[i].comment));
    cr_assert_eq(rw_builder_finish(scratch_ctx, &builder, 1, &dataset), RW_OK);
    for (uint32_t i = 0; i < n; i++) {
        char id[17];
        rw_dataset_doc_id(dataset, i, id, sizeof(id));
        cr_assert_str_eq(id, cases[i].id);
    }
    rw_dataset_free(dataset);
}

Test(dataset, weights)
{
    struct rw_dataset *dataset = from_memory();
    const double by_query[] = {0.5, 2}, by_doc[] = {1, 2, 3, -0.0};
    const double bad[][2] = {{-1, 1}, {NAN, 1}, {1, 65537}, {INFINITY, 1}};
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "query-weights", by_query, 2, 1),
                 RW_OK);
    cr_assert_eq(dataset->weight_by_query, 1);
    cr_assert_eq(dataset->weight[0], 0.5);
    cr_assert_eq(dataset->weight[3], 2);
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "weights", by_doc, 4, 1), RW_OK);
    cr_assert_eq(dataset->weight_by_query, 0);
    cr_assert_eq(dataset->weight[2], 3);
    cr_assert(!signbit(dataset->weight[3]));
    for (int i = 0; i < 4; i++)
        cr_assert_eq(
            rw_dataset_set_side_column(scratch_ctx, dataset, "query-weights", bad[i], 2, 1),
            RW_ERR_DATA);
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "weights", by_doc, 3, 1),
                 RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "3 weights; expected one per document, 4\n"
                     "hint: 'query-weights' and 'valid-query-weights' expect one per query (2)");
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "weights", by_query, 2, 1),
                 RW_ERR_DATA, "as many as queries are no documents' weights");
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "query-weights", by_doc, 4, 1),
                 RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "4 weights; expected one per query, 2\n"
                     "hint: 'weights' and 'valid-weights' expect one per document (4)");
    cr_assert_eq(dataset->weight[2], 3, "what was there stays after an error");
    rw_dataset_free(dataset);
}

Test(dataset, every_allocation_may_fail)
{
    rw_ctx_set_threads(scratch_ctx, 1);
    for (long n = 1; n < 200; n++) {
        const float values[] = {1, 2, 3, 4};
        const float labels[] = {0, 1};
        const uint32_t offsets[] = {0, 2};
        struct rw_dataset *dataset;
        rw_mem_fail_from(n);
        const int status =
            rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 2, 2, 1, 0, &dataset);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            rw_dataset_free(dataset);
            cr_assert_gt(n, 10);
            return;
        }
        cr_assert_eq(status, RW_ERR_MEMORY);
        cr_assert_null(dataset);
    }
    cr_assert_fail("it never succeeded");
}

/* A model's names are words of a line, not numbers or ranges of them. */
Test(dataset, names_for_models)
{
    static const char *const cases[][2] = {
        {"price", "price"}, {"a b", "a_b"},  {"a\tb,c", "a_b_c"}, {"!\xc3\xa9", "!\xc3\xa9"},
        {"12", "_12"},      {"1-2", "_1-2"}, {"1-b", "1-b"},      {"", "_"}};
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *name;
        cr_assert_eq(rw_name_for_model(ctx, cases[i][0], &name), RW_OK);
        cr_assert_str_eq(name, cases[i][1]);
        rw_mem_free(name);
    }
    rw_ctx_free(ctx);
}
