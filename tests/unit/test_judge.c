#include <math.h>

#include "rankwood.h"
#include "scratch_file.h"

static struct rw_judge how;
static struct rw_judged *made;

static void setup(void)
{
    scratch_begin();
    how = (struct rw_judge)RW_JUDGE_DEFAULTS;
    how.min_impressions = 1;
    made = NULL;
}

static void teardown(void)
{
    rw_free(made);
    scratch_end();
}

TestSuite(judge, .init = setup, .fini = teardown);

static int judge(const char *log)
{
    scratch_text("log", log);
    rw_free(made);
    return rw_judge_new(scratch_ctx, &how, (const char *const[]){"log"}, 1, &made);
}

static void expect_failure(int status, const char *text)
{
    const int found = judge("s,q,A,1,1\ns,q,B,2,0\nt,q,A,2,1\nt,q,B,1,0\n");
    cr_expect_eq(found, status, "%d", found);
    cr_expect_null(made);
    cr_expect_not_null(strstr(rw_last_error(scratch_ctx), text), "%s", rw_last_error(scratch_ctx));
}

Test(judge, arguments_are_checked_before_the_log_is_read)
{
    how.model = "none";
    expect_failure(RW_ERR_ARGUMENT, "expected pbm, dbn or ctr, found 'none'");
    how.model = NULL;
    expect_failure(RW_ERR_ARGUMENT, "expected pbm, dbn or ctr, found ''");
    how = (struct rw_judge)RW_JUDGE_DEFAULTS;
    how.columns = NULL;
    expect_failure(RW_ERR_ARGUMENT, "expected four or five names or numbers");
    how.columns = "a,b,c,d,e,f";
    expect_failure(RW_ERR_ARGUMENT, "found 6");
    how = (struct rw_judge)RW_JUDGE_DEFAULTS;
    how.min_impressions = 0;
    expect_failure(RW_ERR_ARGUMENT, "min_impressions");
    how.min_impressions = 1;
    how.prior = (double)NAN;
    expect_failure(RW_ERR_ARGUMENT, "prior");
    how.prior = 0;
    how.use_satisfaction = 1;
    expect_failure(RW_ERR_ARGUMENT, "satisfaction needs the model dbn");
    how.use_satisfaction = 0;
    how.thresholds = ".1,.1";
    expect_failure(RW_ERR_ARGUMENT, "rising rates");
}

/* A and B have as many clicks in 4 impressions at position 1 as in 8 at position 2, so the
 * propensity of position 2 is 1/2. */
Test(judge, propensities_and_rates_of_a_log_solved_by_hand)
{
    char log[4096] = "", *end = log;
    const int click[2][2] = {{2, 2}, {1, 1}}; /* [document][position] */
    for (int d = 0; d < 2; d++)
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 4 * (k + 1); i++)
                end += sprintf(end, "q,%c,%d,%d\n", 'A' + d, k + 1, i < click[d][k]);
    how.thresholds = "0.3,0.6";
    how.prior = 0;
    cr_assert_eq(judge(log), RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(made->n_positions, 2);
    cr_expect_float_eq(made->position[1].propensity, 0.5, 1e-12);
    cr_expect(made->position[1].low < 0.5 && made->position[1].high > 0.5);
    cr_assert_eq(made->n_labels, 2);
    cr_expect_float_eq(made->label[0].n_examined, 8, 1e-9);
    cr_expect_float_eq(made->label[0].rate, 0.5, 1e-12);
    cr_expect_float_eq(made->label[1].rate, 0.25, 1e-12);
    cr_expect_eq(made->label[0].grade, 1);
    cr_expect_eq(made->label[1].grade, 0);
    cr_expect_eq(made->n_sessions, 0);
    cr_expect_eq(made->n_impressions, 24);
    cr_expect_eq(made->n_clicks, 6);
}

/* 256 positions are the most. Documents alternate between neighbours, which connects all. */
Test(judge, number_of_positions)
{
    static char log[1 << 20];
    for (int n = RW_JUDGE_MAX_POSITIONS; n <= RW_JUDGE_MAX_POSITIONS + 1; n++) {
        char *end = log;
        for (int k = 1; k < n; k++)
            for (int i = 0; i < 4; i++)
                end += sprintf(end, "q,d%d,%d,%d\n", k, k + i % 2, i / 2);
        how.thresholds = "0.5";
        const int status = judge(log);
        if (n == RW_JUDGE_MAX_POSITIONS) {
            cr_assert_eq(status, RW_OK, "%s", rw_last_error(scratch_ctx));
            cr_expect_float_eq(made->position[n - 1].propensity, 1.0, 1e-6);
        } else {
            cr_expect_eq(status, RW_ERR_DATA);
            cr_expect_not_null(strstr(rw_last_error(scratch_ctx), "more than 256"));
        }
    }
}

/* Labels that are written are read as the same texts, also by another log. */
Test(judge, texts_are_written_as_they_are_read)
{
    struct rw_out_file out = {0};
    size_t n;
    how.thresholds = "0.5";
    how.model = "ctr";
    cr_assert_eq(judge("session\tquery\tdocument\tposition\tclick\textra\n"
                       "s\t\"\"\"a\"\" b, c\"\t\"A\"\t1\t1\t\"x\ty\nz\"\n"
                       "t\t\"\"\"a\"\" b, c\"\t B\"\t2\t0\t\r\n"),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(made->n_labels, 2);
    cr_expect_str_eq(made->label[0].query, "\"a\" b, c");
    cr_expect_str_eq(made->label[0].document, " B\"");
    cr_expect_str_eq(made->label[1].document, "A");
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "labels"), RW_OK);
    cr_assert_eq(rw_judged_write_labels(scratch_ctx, made, &out), RW_OK);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    char *labels = scratch_read("labels", &n);
    cr_expect_not_null(strstr(labels, "\n\"\"\"a\"\" b, c\"\t B\"\t0\t"), "%s", labels);
    how.columns = "query,document,impressions,grade"; /* position 1; grades 0 and 1 are clicks */
    cr_assert_eq(judge(labels), RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_expect_str_eq(made->label[0].query, "\"a\" b, c");
    free(labels);
}
