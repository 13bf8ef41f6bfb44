#include <criterion/criterion.h>

#include "dataset/dataset.h"
#include "scratch_file.h"

TestSuite(pairs_file, .init = scratch_begin, .fini = scratch_end);

/* Three queries, "1" to "3", of 3, 1 and 2 documents. */
static struct rw_dataset *data(void)
{
    const float values[] = {1, 2, 3, 4, 5, 6}, labels[] = {0, 1, 0, 1, 0, 0};
    const uint32_t offsets[] = {0, 3, 4, 6};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 6, 1, 3, 1, &dataset),
                 RW_OK);
    return dataset;
}

static void expect_pair(const struct rw_dataset *dataset, size_t i, uint32_t better, uint32_t worse,
                        double weight)
{
    cr_expect_eq(dataset->pairs.item[i].better, better);
    cr_expect_eq(dataset->pairs.item[i].worse, worse);
    cr_expect_eq(dataset->pairs.item[i].weight, weight);
}

/* Queries come in any order; a query's pairs keep theirs. */
Test(pairs_file, pairs_stand_by_query)
{
    struct rw_dataset *dataset = data();
    const char *const third = rw_dataset_query_id(dataset, 2),
                      *first = rw_dataset_query_id(dataset, 0);
    char text[200];
    snprintf(text, sizeof(text), "# a comment\n%s 2 1\n\n%s\t3 1 0.5 \r\n%s 1 2 0\n%s 1 2 65536",
             third, first, first, third);
    scratch_text("p", text);
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "pairs-file", "p"), RW_OK);
    const size_t offsets[] = {0, 2, 2, 4};
    cr_assert_arr_eq(dataset->pairs.offset, offsets, sizeof(offsets));
    expect_pair(dataset, 0, 2, 0, 0.5);
    expect_pair(dataset, 1, 0, 1, 0);
    expect_pair(dataset, 2, 5, 4, 1);
    expect_pair(dataset, 3, 4, 5, 65536);
    rw_dataset_free(dataset);
}

Test(pairs_file, wrong_files)
{
    struct rw_dataset *dataset = data();
    const char *const id = rw_dataset_query_id(dataset, 0);
    static const struct {
        const char *rest, *error;
    } cases[] = {
        {"", ":1:1: expected 'QUERY BETTER WORSE' or 'QUERY BETTER WORSE WEIGHT', found 1 word"},
        {" 1", ":1:1: expected 'QUERY BETTER WORSE' or 'QUERY BETTER WORSE WEIGHT', found 2 words"},
        {" 1 2 1 1",
         ":1:1: expected 'QUERY BETTER WORSE' or 'QUERY BETTER WORSE WEIGHT', found 5 words"},
        {" 4 1", ": expected a document of the query, 1 to 3, found '4'"},
        {" 1 0", ": expected a document of the query, 1 to 3, found '0'"},
        {" 1 -2", ": expected a document of the query, 1 to 3, found '-2'"},
        {" 1 18446744073709551618", ": expected a document of the query, 1 to 3, found "},
        {" 2 2", ": expected a document that differs from the better one, found '2'"},
        {" 1 2 -1", ": expected a weight from 0 to 65536, found '-1'"},
        {" 1 2 nan", ": expected a weight from 0 to 65536, found 'nan'"},
        {" 1 2 65537", ": expected a weight from 0 to 65536, found '65537'"},
        {"x 1 2", ":1:1: a pair for a query that the data lacks"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[100];
        snprintf(text, sizeof(text), "%s%s\n", id, cases[i].rest);
        scratch_text("p", text);
        cr_assert_lt(rw_dataset_read_side_column(scratch_ctx, dataset, "pairs-file", "p"), 0, "%s",
                     text);
        cr_expect(strstr(rw_last_error(scratch_ctx), cases[i].error), "%s: %s", text,
                  rw_last_error(scratch_ctx));
        cr_expect_null(dataset->pairs.item);
    }
    scratch_text("p", "# nothing\n\n");
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "pairs-file", "p"), RW_ERR_DATA);
    cr_expect_str_eq(rw_last_error(scratch_ctx),
                     "p: no pairs: expected lines 'QUERY BETTER WORSE'");
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "pairs-file", "nowhere"),
                 RW_ERR_IO);
    rw_dataset_free(dataset);
}

Test(pairs_file, pairs_of_memory)
{
    struct rw_dataset *dataset = data();
    const struct rw_given_pair good[] = {{4, 5, 1.0}, {2, 0, 2.0}};
    const struct rw_given_pair wrong[] = {
        {0, 6, 1.0}, {0, 3, 1.0}, {1, 1, 1.0}, {0, 1, -1.0}, {0, 1, (double)NAN}};
    const struct rw_given_pair none[1] = {{0, 0, 0}};
    cr_assert_eq(rw_dataset_set_pairs(scratch_ctx, dataset, good, 2), RW_OK);
    for (int i = 0; i < 5; i++)
        cr_expect_eq(rw_dataset_set_pairs(scratch_ctx, dataset, &wrong[i], 1), RW_ERR_DATA);
    expect_pair(dataset, 0, 2, 0, 2.0); /* as they were */
    expect_pair(dataset, 1, 4, 5, 1.0);
    cr_assert_eq(rw_dataset_set_pairs(scratch_ctx, dataset, none, 0), RW_OK);
    cr_expect_eq(dataset->pairs.offset[3], 0);
    rw_dataset_free(dataset);
}
