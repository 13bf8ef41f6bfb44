#include <math.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "metric/metric.h"
#include "scratch_file.h"

static struct rw_qrels *made;

static void setup(void)
{
    scratch_begin();
    made = NULL;
}

static void teardown(void)
{
    rw_free(made);
    scratch_end();
}

TestSuite(qrels, .init = setup, .fini = teardown);

/* Of the files "q", "a" and, if there are two runs, "b". */
static int read_files(const char *judgments, const char *a, const char *b)
{
    const char *runs[] = {"a", "b"};
    scratch_text("q", judgments);
    scratch_text("a", a);
    if (b)
        scratch_text("b", b);
    return rw_qrels_read(scratch_ctx, "q", runs, b ? 2 : 1, &made);
}

static double measure(const char *metric, const char *like, int run)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_eval *eval;
    how.metric = metric;
    how.empty = RW_EMPTY_ZERO;
    const double *scores = made->runs[run].scores;
    how.like = like;
    const int status = rw_evaluate(scratch_ctx, &how, made->dataset, scores, &eval);
    cr_assert_eq(status, RW_OK, "%s", rw_last_error(scratch_ctx));
    const double mean = eval->metrics[0].mean;
    rw_free(eval);
    return mean;
}

static void expect_doc(uint32_t doc, const char *id, float label, double a, double b)
{
    char found[64];
    rw_dataset_doc_id(made->dataset, doc, found, sizeof(found));
    cr_expect_str_eq(found, id);
    cr_expect_eq(made->dataset->label[doc], label, "%s", id);
    cr_expect_eq(made->runs[0].scores[doc], a, "%s", id);
    cr_expect_eq(made->runs[1].scores[doc], b, "%s", id);
}

/* Lines of queries in any order, blanks and tabs, labels below 0, documents that only a run has. */
Test(qrels, documents_of_all_files)
{
    cr_assert_eq(read_files("t2 0 B 1\r\nt1\t0\tA   2\n\nt2 0 A -1\nt1 0 C 0.5\n",
                            "t1 Q0 Z 9 -3.5 tag\nt2 Q0 B 1 1e3 tag\nt9 Q0 B 1 1 tag more\n",
                            "t1 Q0 A 1 2 x\nt1 Q0 Z 1 1 x\n"),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    const struct rw_dataset *dataset = made->dataset;
    cr_assert_eq(dataset->n_queries, 2u);
    cr_assert_eq(dataset->n_docs, 5u);
    cr_expect_str_eq(rw_dataset_query_id(dataset, 0), "t2");
    cr_expect_str_eq(rw_dataset_query_id(dataset, 1), "t1");
    cr_expect_eq(dataset->query_offset[1], 2u);
    expect_doc(0, "B", 1, 1000, RW_UNRANKED);
    expect_doc(1, "A", 0, RW_UNRANKED, RW_UNRANKED);
    expect_doc(2, "Z", 0, -3.5, 1);
    expect_doc(3, "C", 0.5F, RW_UNRANKED, RW_UNRANKED);
    expect_doc(4, "A", 2, RW_UNRANKED, 2);
    cr_expect_eq(made->n_judged, 4u);
    cr_expect_eq(made->runs[0].n_ranked, 2u);
    cr_expect_eq(made->runs[0].n_unjudged, 1u);
    cr_expect_eq(made->runs[0].n_unknown, 1u);
    cr_expect_eq(made->runs[0].n_unanswered, 0u);
    cr_expect_eq(made->runs[1].n_unanswered, 1u);
}

/* Four relevant documents; the run has the last one, after an unjudged document. */
static const char one_query[] = "1 0 A 3\n1 0 B 2\n1 0 C 1\n1 0 D 1\n1 0 E 0\n";
static const char one_run[] = "1 Q0 X 1 2 t\n1 Q0 D 2 1 t\n";

Test(qrels, ideals_are_of_all_judged_documents)
{
    const double second = 1 / log2(3), third = 1 / log2(4), fourth = 1 / log2(5);
    cr_assert_eq(read_files(one_query, one_run, NULL), RW_OK);
    cr_expect_float_eq(measure("ndcg", "trec", 0), second / (3 + 2 * second + third + fourth),
                       1e-11);
    cr_expect_float_eq(measure("ndcg@3", "trec", 0), second / (3 + 2 * second + third), 1e-11);
    cr_expect_float_eq(measure("ndcg@3", NULL, 0), second / (7 + 3 * second + third), 1e-11);
    cr_expect_float_eq(measure("map", "trec", 0), 0.5 / 4, 1e-11);
    cr_expect_float_eq(measure("map@2", "trec", 0), 0.5 / 4, 1e-11);
    cr_expect_float_eq(measure("map@2", NULL, 0), 0.5 / 2, 1e-11);
    cr_expect_float_eq(measure("map", NULL, 0), 0.5 / 4, 1e-11);
    cr_expect_float_eq(measure("map@2", "quickrank", 0), 0.5, 1e-11);
    cr_expect_float_eq(measure("mrr", "trec", 0), 0.5, 1e-11);
    cr_expect_float_eq(measure("mrr@1", NULL, 0), 0, 1e-11);
    cr_expect_float_eq(measure("p@5", "trec", 0), 0.2, 1e-11);
    cr_expect_float_eq(measure("p@5", "ranklib", 0), 0.5, 1e-11);
    cr_expect_float_eq(measure("recall@5", "trec", 0), 0.25, 1e-11);
    cr_expect_float_eq(measure("rbp:0.5", NULL, 0), 0.25, 1e-11);
    cr_expect_float_eq(measure("err", NULL, 0), 0.5 / 8, 1e-11);
    cr_expect_float_eq(measure("dcg", NULL, 0), second, 1e-11);
}

/* Nothing retrieved: 0, in every metric of every program, unless nothing is relevant. */
Test(qrels, queries_that_a_run_leaves_out)
{
    static const char *const metrics[] = {"ndcg", "ndcg@2", "dcg",      "map",     "map@2", "mrr@2",
                                          "err",  "p@2",    "recall@2", "rbp:0.5", "mrr"};
    cr_assert_eq(read_files("1 0 A 1\n2 0 A 1\n2 0 B 1\n", "1 Q0 A 1 1 t\n", NULL), RW_OK);
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        struct rw_eval_params how = RW_EVAL_DEFAULTS;
        how.metric = metrics[i];
        for (int like = -1; like < 0 || rw_dialect_at(like); like++) {
            struct rw_eval *eval;
            how.like = like < 0 ? NULL : rw_dialect_at(like)->name;
            const int status =
                rw_evaluate(scratch_ctx, &how, made->dataset, made->runs[0].scores, &eval);
            if (status == RW_ERR_ARGUMENT)
                continue;
            cr_assert_eq(status, RW_OK, "%s", rw_last_error(scratch_ctx));
            cr_expect_gt(eval->metrics[0].per_query[0], 0, "%s", metrics[i]);
            cr_expect_eq(eval->metrics[0].per_query[1], 0, "%s %d", metrics[i], like);
            cr_expect_eq(eval->metrics[0].n_counted, 2u);
            rw_free(eval);
        }
    }
}

/* By falling id, also for two scores that are equal as floats. */
Test(qrels, ties_are_by_falling_id)
{
    cr_assert_eq(read_files("1 0 A 1\n1 0 B 0\n1 0 b 0\n",
                            "1 Q0 A 1 5 t\n1 Q0 b 2 5 t\n1 Q0 B 3 5 t\n",
                            "1 Q0 B 1 0.1 t\n1 Q0 A 2 0.1000000001 t\n"),
                 RW_OK);
    cr_expect_float_eq(measure("mrr", "trec", 0), 1.0 / 3, 1e-11);
    cr_expect_float_eq(measure("mrr", NULL, 0), 1.0 / 3, 1e-11);
    cr_expect_float_eq(measure("mrr", "trec", 1), 0.5, 1e-11);
    cr_expect_float_eq(measure("mrr", NULL, 1), 1, 1e-11);
}

/* Scores beyond a float are ranked all the same. */
Test(qrels, scores_of_any_size)
{
    cr_assert_eq(read_files("1 0 A 1\n1 0 B 1\n1 0 C 1\n",
                            "1 Q0 A 1 -1e300 t\n1 Q0 B 2 1e300 t\n1 Q0 X 3 -1e200 t\n", NULL),
                 RW_OK);
    cr_expect_float_eq(measure("recall@5", "trec", 0), 2.0 / 3, 1e-11);
    cr_expect_float_eq(measure("map", "trec", 0), (1 + 2.0 / 3) / 3, 1e-11);
}

Test(qrels, metrics_of_scores_are_refused)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_eval *eval;
    cr_assert_eq(read_files(one_query, one_run, NULL), RW_OK);
    how.metric = "ndcg,rmse";
    cr_expect_eq(rw_evaluate(scratch_ctx, &how, made->dataset, made->runs[0].scores, &eval),
                 RW_ERR_ARGUMENT);
    cr_expect_not_null(strstr(rw_last_error(scratch_ctx), "'rmse'"));
    scratch_text("gains", "1\n2\n3\n4\n");
    how.metric = "ndcg";
    how.label_gain = "gains";
    cr_expect_eq(rw_evaluate(scratch_ctx, &how, made->dataset, made->runs[0].scores, &eval),
                 RW_ERR_DATA);
    cr_expect_str_eq(rw_last_error(scratch_ctx),
                     "label-gain: the gain of label 0 is 1; expected 0, because documents without "
                     "judgments have label 0");
}

Test(qrels, a_label_that_a_program_refuses_has_its_line)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_eval *eval;
    cr_assert_eq(read_files("1 0 A 1\n2 0 A 1\n1 0 C 0.5\n", "1 Q0 B 1 1 t\n1 Q0 C 1 1 t\n", NULL),
                 RW_OK);
    how.like = "trec";
    cr_expect_eq(rw_evaluate(scratch_ctx, &how, made->dataset, made->runs[0].scores, &eval),
                 RW_ERR_DATA);
    cr_expect_eq(strncmp(rw_last_error(scratch_ctx), "q:3:1: label 0.5:", 17), 0, "%s",
                 rw_last_error(scratch_ctx));
}

Test(qrels, errors_name_their_line)
{
    static const char good[] = "1 0 A 1\n";
    static const struct {
        const char *judgments, *run;
        int status;
        const char *says;
    } cases[] = {
        {"1 0 A\n", "", RW_ERR_PARSE,
         "q:1:1: expected 'query iteration document label', found 3 words"},
        {"1 0 A 1 1\n", "", RW_ERR_PARSE,
         "q:1:1: expected 'query iteration document label', found 5 words"},
        {"\n1 0  A one\n", "", RW_ERR_PARSE,
         "q:2:8: expected a label (a number up to 2147483648), found 'one'"},
        {"1 0 A nan\n", "", RW_ERR_PARSE,
         "q:1:7: expected a label (a number up to 2147483648), found 'nan'"},
        {"1 0 A 1\n2 0 A 1\n1 0 A 1\n", "1 Q0 B 1 1 t\n", RW_ERR_DATA,
         "q:3:1: document 'A' of query '1' is repeated"},
        {"\n", "", RW_ERR_DATA, "q: no judgments: expected 'query iteration document label'"},
        {good, "1 Q0 A 1 1\n", RW_ERR_PARSE,
         "a:1:1: expected 'query Q0 document rank score tag', found 5 words"},
        {good, "1 Q0 A 1 inf t\n", RW_ERR_PARSE,
         "a:1:10: expected a score (a finite number), found 'inf'"},
        {good, "1 Q0 A 1 1 t\n1 Q0 B 1 1 t\n1 Q0 A 1 2 t", RW_ERR_DATA,
         "a:3:1: document 'A' of query '1' is repeated"},
        {good, "2 Q0 A 1 1 t\n", RW_ERR_DATA, "a: the run has no query that 'q' judges"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(read_files(cases[i].judgments, cases[i].run, NULL), cases[i].status);
        cr_expect_str_eq(rw_last_error(scratch_ctx), cases[i].says);
        cr_expect_null(made);
    }
}

Test(qrels, an_id_has_an_end)
{
    char text[600];
    snprintf(text, sizeof(text), "1 0 %0512d 1\n", 7);
    cr_expect_eq(read_files(text, "", NULL), RW_ERR_PARSE);
    snprintf(text, sizeof(text), "1 0 %0511d 1\n", 7);
    cr_assert_eq(read_files(text, "1 Q0 A 1 1 t\n", NULL), RW_OK);
    cr_expect_float_eq(measure("recall@5", "trec", 0), 0, 1e-11);
}

Test(qrels, runs_are_compared)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_comparison *comparison;
    cr_assert_eq(read_files("1 0 A 1\n2 0 A 1\n", "1 Q0 A 1 1 t\n", "1 Q0 B 1 1 t\n2 Q0 A 1 1 t\n"),
                 RW_OK);
    how.like = "trec";
    cr_assert_eq(rw_compare(scratch_ctx, &how, made->dataset, made->runs[0].scores,
                            made->runs[1].scores, NULL, &comparison),
                 RW_OK);
    cr_expect_eq(comparison->all.mean_a, 0.5);
    cr_expect_eq(comparison->all.mean_b, 0.5);
    cr_expect_eq(comparison->all.n_queries, 2u);
    cr_expect_eq(comparison->all.n_wins, 1u);
    cr_expect_eq(comparison->all.n_losses, 1u);
    cr_expect_eq(strncmp(comparison->conventions, "trec_eval ", 10), 0);
    cr_expect(comparison->changed_first == 1 && comparison->changed_ten == 1 &&
              comparison->overlap_ten == 0);
    rw_free(comparison);
}

/* Ties are by falling id, and lists have documents of their run only: C, B, A and E, D, C, F. */
Test(qrels, churn_counts_only_documents_of_the_runs)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_comparison *comparison;
    cr_assert_eq(read_files("1 0 A 1\n1 0 X 0\n2 0 A 1\n",
                            "1 Q0 A 1 1 t\n1 Q0 B 1 1 t\n1 Q0 C 1 1 t\n",
                            "1 Q0 C 1 1 t\n1 Q0 D 1 1 t\n1 Q0 E 1 1 t\n1 Q0 F 1 0 t\n"),
                 RW_OK);
    cr_assert_eq(rw_compare(scratch_ctx, &how, made->dataset, made->runs[0].scores,
                            made->runs[1].scores, NULL, &comparison),
                 RW_OK);
    /* query 2 has no documents in either run */
    cr_expect(comparison->changed_first == .5 && comparison->changed_ten == .5);
    cr_expect_float_eq(comparison->overlap_ten, (1. / 4 + 1) / 2, 1e-12);
    rw_free(comparison);
}

Test(qrels, every_allocation_may_fail)
{
    int status = RW_ERR_MEMORY;
    for (long n = 1; status == RW_ERR_MEMORY && n < 1000; n++) {
        scratch_text("q", one_query);
        scratch_text("a", one_run);
        const char *runs[] = {"a"};
        rw_mem_fail_from(n);
        status = rw_qrels_read(scratch_ctx, "q", runs, 1, &made);
        rw_mem_fail_from(0);
        cr_expect(status == RW_OK || !made);
    }
    cr_expect_eq(status, RW_OK);
}
