#include "dataset/dataset.h"
#include "scratch_file.h"

TestSuite(side_files, .init = scratch_begin, .fini = scratch_end);

/* Of n documents. */
static int read_scores(const char *path, uint32_t n, double *scores)
{
    const float zeros[4] = {0};
    const uint32_t offsets[] = {0, n};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, zeros, zeros, offsets, n, 1, 1, 1, &dataset),
                 RW_OK);
    const int status = rw_dataset_read_scores(scratch_ctx, dataset, path, scores, NULL);
    rw_dataset_free(dataset);
    return status;
}

Test(side_files, scores)
{
    double scores[4];
    scratch_text("s", "1.5\n-2e3\r\n  .5 \n0.1\n\n\n");
    cr_assert_eq(read_scores("s", 4, scores), RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(scores[0], 1.5);
    cr_assert_eq(scores[1], -2000);
    cr_assert_eq(scores[2], .5);
    cr_assert_eq(scores[3], 0.1);
    scratch_gzip("s.gz", "wb", "1\n2\n3\n4");
    cr_assert_eq(read_scores("s.gz", 4, scores), RW_OK);
    cr_assert_eq(scores[3], 4);
}

Test(side_files, bad_scores)
{
    const struct {
        const char *text, *error;
    } cases[] = {
        {"1\n2\n",
         "s:3:1: expected a score for each of the 3 documents, found the end of the file"},
        {"", "s:1:1: expected a score for each of the 3 documents, found the end of the file"},
        {"1\n2\n3\n4\n", "s:4:1: more scores than documents (3)"},
        {"1\nnan\n3\n", "s:2:1: expected a score (a finite number), found 'nan'"},
        {"1\n inf\n3\n", "s:2:2: expected a score (a finite number), found 'inf'"},
        {"1\n1e999\n3\n", "s:2:1: expected a score (a finite number), found '1e999'"},
        {"1\n2 3\n3\n", "s:2:1: expected a score (a finite number), found '2 3'"},
        {"1\n\n3\n4\n", "s:2:1: expected a score (a finite number), found an empty line"},
        {"score\n1\n2\n3\n", "s:1:1: expected a score (a finite number), found 'score'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double scores[3];
        scratch_text("s", cases[i].text);
        cr_assert_lt(read_scores("s", 3, scores), 0);
        cr_assert_str_eq(rw_last_error(scratch_ctx), cases[i].error);
    }
    double score;
    cr_assert_eq(read_scores("nowhere", 1, &score), RW_ERR_IO);
}

Test(side_files, weights)
{
    const float values[] = {1, 2, 3, 4}, labels[] = {0, 1, 0, 1};
    const uint32_t offsets[] = {0, 3, 4};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 4, 1, 2, 1, &dataset),
                 RW_OK);
    scratch_text("w", "0.5\n2\n");
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "query-weights", "w"), RW_OK);
    cr_assert_eq(dataset->weight_by_query, 1);
    double weight[4];
    cr_assert_eq(rw_dataset_side_column(dataset, "weights", weight), 1);
    cr_assert_arr_eq(weight, ((const double[]){0.5, 0.5, 0.5, 2}), sizeof(weight));
    cr_assert_eq(rw_dataset_side_column(dataset, "labels", weight), 0);
    cr_assert_eq(rw_dataset_side_column(dataset, "pairs-file", weight), 0);
    cr_assert_eq(rw_dataset_side_column(dataset, "nothing", weight), 0);
    const double more[] = {1, 5, 2, 6, 3, 7, 4, 8};
    double read[8];
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "labels", more, 4, 2), RW_OK);
    cr_assert_eq(rw_dataset_side_column(dataset, "labels", read), 2);
    cr_assert_arr_eq(read, more, sizeof(more));
    cr_assert_eq(dataset->weight[2], 0.5);
    cr_assert_eq(dataset->weight[3], 2);
    scratch_text("w", "1\n2\n3\n4\n");
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "weights", "w"), RW_OK);
    cr_assert_eq(dataset->weight_by_query, 0);
    cr_assert_eq(dataset->weight[2], 3);
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "query-weights", "w"),
                 RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "'w' has 4 weights; expected one per query, 2\n"
                     "hint: 'weights' and 'valid-weights' expect one per document (4)");
    const struct {
        const char *text, *error;
    } cases[] = {
        {"1\n2\n", "'w' has 2 weights; expected one per document, 4\n"
                   "hint: 'query-weights' and 'valid-query-weights' expect one per query (2)"},
        {"", "'w' has 0 weights; expected one per document, 4\n"
             "hint: 'query-weights' and 'valid-query-weights' expect one per query (2)"},
        {"1\n-2\n", "w:2:1: expected a weight from 0 to 65536, found '-2'"},
        {"1\nnan\n", "w:2:1: expected a weight from 0 to 65536, found 'nan'"},
        {"65537\n1\n", "w:1:1: expected a weight from 0 to 65536, found '65537'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scratch_text("w", cases[i].text);
        cr_assert_lt(rw_dataset_read_side_column(scratch_ctx, dataset, "weights", "w"), 0);
        cr_assert_str_eq(rw_last_error(scratch_ctx), cases[i].error);
    }
    rw_dataset_free(dataset);
}

Test(side_files, positions)
{
    const float values[] = {1, 2, 3, 4}, labels[] = {0, 1, 0, 1};
    const uint32_t offsets[] = {0, 3, 4};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 4, 1, 2, 1, &dataset),
                 RW_OK);
    scratch_text("p", "1\n65535\n 3 \r\n0\n\n");
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "positions", "p"), RW_OK);
    const uint16_t expected[] = {1, 65535, 3, 0};
    cr_assert_arr_eq(dataset->position, expected, sizeof(expected));
    const struct {
        const char *text, *error;
    } cases[] = {
        {"1\n2\n", "'p' has 2 positions; expected one per document, 4"},
        {"1\n2\n3\n4\n5\n", "'p' has 5 positions; expected one per document, 4"},
        {"1\n2\n1.5\n4\n",
         "p:3:1: expected a position (a whole number from 0 to 65535), found '1.5'"},
        {"1\n-1\n", "p:2:1: expected a position (a whole number from 0 to 65535), found '-1'"},
        {"65536\n", "p:1:1: expected a position (a whole number from 0 to 65535), found '65536'"},
        {"nan\n", "p:1:1: expected a position (a whole number from 0 to 65535), found 'nan'"},
        {"top\n", "p:1:1: expected a position (a whole number from 0 to 65535), found 'top'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scratch_text("p", cases[i].text);
        cr_assert_lt(rw_dataset_read_side_column(scratch_ctx, dataset, "positions", "p"), 0);
        cr_assert_str_eq(rw_last_error(scratch_ctx), cases[i].error);
    }
    const double bad[] = {NAN, INFINITY, -1, 65536, 0.5, -1e300};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const double positions[] = {1, bad[i], 3, 4};
        cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "positions", positions, 4, 1),
                     RW_ERR_DATA);
        cr_assert(strncmp(rw_last_error(scratch_ctx), "position 2 is ", 14) == 0);
    }
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "positions", bad, 3, 1),
                 RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "3 positions; expected one per document, 4");
    cr_assert_arr_eq(dataset->position, expected, sizeof(expected));
    rw_dataset_free(dataset);
}

Test(side_files, start_scores)
{
    const float values[] = {1, 2, 3, 4}, labels[] = {0, 1, 0, 1};
    const uint32_t offsets[] = {0, 3, 4};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 4, 1, 2, 1, &dataset),
                 RW_OK);
    scratch_text("s", "0.1\n-2e3\n -1e30 \n-0\n\n");
    cr_assert_eq(rw_dataset_read_side_column(scratch_ctx, dataset, "start-scores", "s"), RW_OK);
    cr_assert_eq(dataset->start_score[0], 0.1);
    cr_assert_eq(dataset->start_score[1], -2000);
    cr_assert_eq(dataset->start_score[2], -1e30);
    cr_assert(!signbit(dataset->start_score[3]));
    cr_assert_null(dataset->weight);
    const struct {
        const char *text, *error;
    } cases[] = {
        {"1\n2\n", "'s' has 2 start scores; expected one per document, 4"},
        {"1\n2\n3\n4\n5\n", "'s' has 5 start scores; expected one per document, 4"},
        {"", "'s' has 0 start scores; expected one per document, 4"},
        {"1\nnan\n", "s:2:1: expected a score (a number from -1e30 to 1e30), found 'nan'"},
        {"1\n2\n3\n-1.1e30\n",
         "s:4:1: expected a score (a number from -1e30 to 1e30), found '-1.1e30'"},
        {"1e999\n", "s:1:1: expected a score (a number from -1e30 to 1e30), found '1e999'"},
        {"1\n\n3\n4\n",
         "s:2:1: expected a score (a number from -1e30 to 1e30), found an empty line"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scratch_text("s", cases[i].text);
        cr_assert_lt(rw_dataset_read_side_column(scratch_ctx, dataset, "start-scores", "s"), 0);
        cr_assert_str_eq(rw_last_error(scratch_ctx), cases[i].error);
    }
    const double bad[] = {NAN, INFINITY, -1.1e30};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const double scores[] = {1, bad[i], 3, 4};
        cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "start-scores", scores, 4, 1),
                     RW_ERR_DATA);
        cr_assert(strncmp(rw_last_error(scratch_ctx), "start score 2 is ", 17) == 0);
    }
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "start-scores", bad, 3, 1),
                 RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "3 start scores; expected one per document, 4");
    cr_assert_eq(dataset->start_score[1], -2000, "what was there stays after an error");
    rw_dataset_free(dataset);
}
