#include "base/mem.h"
#include "dataset/dataset.h"
#include "scratch_file.h"

TestSuite(run_scores, .init = scratch_begin, .fini = scratch_end);

static struct rw_dataset *read_data(const char *text)
{
    const char *paths[] = {"d"};
    struct rw_dataset *dataset;
    scratch_text("d", text);
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return dataset;
}

static const char data[] = "1 qid:7 1:0 # docid = x\n0 qid:7 1:1 # docid = y\n"
                           "0 qid:07 1:1\n2 qid:07 1:1\n0 qid:07 1:1\n";

Test(run_scores, matched_by_ids)
{
    struct rw_dataset *dataset = read_data(data);
    double scores[5];
    struct rw_run_match match;
    scratch_text("r", "07 Q0 07-3 1 9 t\n7 Q0 y 5 -1.5 t\n\n07\tQ0\t07-1 2 8e-1 a tag\r\n"
                      "8 Q0 x 1 3 t\n7 Q0 x 6 -2 t\n07 Q0 07-2 3 0.5 t");
    cr_assert_eq(rw_dataset_read_scores(scratch_ctx, dataset, "r", scores, &match), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    const double expected[] = {-2, -1.5, .8, .5, 9};
    for (int i = 0; i < 5; i++)
        cr_expect_eq(scores[i], expected[i], "%d: %g", i, scores[i]);
    cr_expect(match.is_run && match.n_unranked == 0 && match.n_unknown == 1);
    scratch_text("r", "7 Q0 y 1 4 t\n07 Q0 07-3 1 9 t\n");
    cr_assert_eq(rw_dataset_read_scores(scratch_ctx, dataset, "r", scores, &match), RW_OK);
    cr_expect_eq(match.n_unranked, 3u);
    cr_expect(scores[0] < -1e308 && scores[2] == scores[0] && scores[3] == scores[0]);
    rw_dataset_free(dataset);
}

Test(run_scores, numbers)
{
    struct rw_dataset *dataset = read_data(data);
    double scores[5];
    struct rw_run_match match;
    scratch_gzip("s.gz", "wb", "1\n2\n 3 \n4\n5");
    cr_assert_eq(rw_dataset_read_scores(scratch_ctx, dataset, "s.gz", scores, &match), RW_OK);
    cr_expect(!match.is_run && scores[2] == 3 && scores[4] == 5);
    scratch_text("s", "1\n2\n3 4\n4\n5\n");
    cr_expect_eq(rw_dataset_read_scores(scratch_ctx, dataset, "s", scores, NULL), RW_ERR_PARSE);
    cr_expect_str_eq(rw_last_error(scratch_ctx),
                     "s:3:1: expected a score (a finite number), found '3 4'");
    scratch_text("s", "");
    cr_expect_eq(rw_dataset_read_scores(scratch_ctx, dataset, "s", scores, NULL), RW_ERR_DATA);
    rw_dataset_free(dataset);
}

Test(run_scores, refused)
{
    struct rw_dataset *dataset = read_data(data);
    const struct {
        const char *text, *says;
    } cases[] = {
        {"7 Q0 x 1 2\n", "r:1:1: expected 'query Q0 document rank score tag', found 5 words"},
        {"7 Q0 x 1 nan t\n", "r:1:10: expected a score (a finite number), found 'nan'"},
        {"7 Q0 x 1 1e999 t\n", "found '1e999'"},
        {"7 Q0 z 1 2 t\n", "r:1:6: query '7' of the data has no document 'z'\nhint: "},
        {"7 Q0 7-1 1 2 t\n", "has no document '7-1'"},
        {"7 Q0 x 1 2 t\n7 Q0 x 2 1 t\n", "r:2:6: document 'x' of query '7' is repeated"},
        {"7 Q0 x 1 2 t\n7 Q0 y 2 1 t\n", "r: query '07' of the data is not in the run"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double scores[5];
        scratch_text("r", cases[i].text);
        cr_expect_lt(rw_dataset_read_scores(scratch_ctx, dataset, "r", scores, NULL), 0, "%zu", i);
        cr_expect(strstr(rw_last_error(scratch_ctx), cases[i].says), "%zu: %s", i,
                  rw_last_error(scratch_ctx));
    }
    rw_dataset_free(dataset);
    dataset = read_data("1 qid:7 1:0 # docid = x\n0 qid:7 1:1 # docid = x\n");
    double scores[2];
    scratch_text("r", "7 Q0 x 1 2 t\n");
    cr_expect_eq(rw_dataset_read_scores(scratch_ctx, dataset, "r", scores, NULL), RW_ERR_DATA);
    cr_expect(strstr(rw_last_error(scratch_ctx), "two documents 'x'"));
    rw_dataset_free(dataset);
}

Test(run_scores, every_allocation_may_fail)
{
    struct rw_dataset *dataset = read_data(data);
    double scores[5];
    scratch_text("r", "7 Q0 y 1 4 t\n07 Q0 07-3 1 9 t\n");
    for (long n = 1;; n++) {
        rw_mem_fail_from(n);
        const int status = rw_dataset_read_scores(scratch_ctx, dataset, "r", scores, NULL);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            cr_assert_gt(n, 8);
            break;
        }
        cr_assert_eq(status, RW_ERR_MEMORY);
    }
    rw_dataset_free(dataset);
}
