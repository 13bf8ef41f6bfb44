#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "dataset/dataset.h"
#include "base/mem.h"
#include "model/model.h"
#include "model/model_text.h"
#include "report/report.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *data;
static struct rw_model *model;

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

static void begin(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    data = fixture_data(ctx, 1, 50, 12, 5);
    set("rounds", "6");
    set("leaves", "12");
    const struct rw_dataset *valid[] = {data};
    cr_assert_eq(rw_train(ctx, params, data, valid, 1, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
}

static void end(void)
{
    rw_model_free(model);
    rw_dataset_free(data);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

TestSuite(report, .init = begin, .fini = end, .timeout = 60);

static const struct rw_report_options plain = {.n_trees = 3, .n_repeats = 2};

static struct rw_report gathered(const struct rw_dataset *of, const struct rw_report_options *how)
{
    struct rw_report report;
    cr_assert_eq(rw_report_gather(ctx, rw_params_eval(params), model, of, how, &report), RW_OK,
                 "%s", rw_last_error(ctx));
    return report;
}

static char *page(const struct rw_model *shown, const struct rw_dataset *of,
                  const struct rw_report_options *how)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    cr_assert_eq(rw_report(ctx, rw_params_eval(params), shown, of, how, out), RW_OK, "%s",
                 rw_last_error(ctx));
    fclose(out);
    cr_assert_eq(strlen(text), n);
    return text;
}

/* Queries of the sizes given, with labels i % n_labels and one feature that is the label plus a
 * little. */
static struct rw_dataset *sized(const uint32_t *sizes, uint32_t n_queries, int n_labels)
{
    uint32_t offsets[64] = {0};
    float values[1024], labels[1024];
    struct rw_dataset *made;
    for (uint32_t q = 0; q < n_queries; q++)
        offsets[q + 1] = offsets[q] + sizes[q];
    for (uint32_t d = 0; d < offsets[n_queries]; d++) {
        labels[d] = (float)(d % (uint32_t)n_labels);
        values[d] = labels[d] + (float)(d % 7) / 2;
    }
    cr_assert_eq(rw_dataset_from_memory(ctx, values, labels, offsets, offsets[n_queries], 1,
                                        n_queries, 1, &made),
                 RW_OK);
    return made;
}

static uint32_t size_of(const struct rw_dataset *of, uint32_t q)
{
    return of->query_offset[q + 1] - of->query_offset[q];
}

/* ------------------------------------------------------------------ figures */

Test(report, metrics_are_those_of_evaluate)
{
    double scores[600];
    struct rw_eval *eval;
    set("metric", "ndcg@5,map");
    struct rw_report report = gathered(data, &plain);
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), data, scores, &eval), RW_OK);
    cr_assert_eq(report.eval->n_metrics, 2);
    uint32_t counted = 0;
    for (int m = 0; m < 2; m++)
        cr_assert(report.eval->metrics[m].mean == eval->metrics[m].mean);
    for (int i = 0; i < RW_REPORT_VALUE_BINS; i++)
        counted += report.value_bin[i];
    cr_assert_eq(counted, eval->metrics[0].n_counted);
    cr_assert_eq(report.n_queries, RW_REPORT_QUERIES);
    double least = 2, most = -1;
    for (uint32_t q = 0; q < 50; q++) {
        const double value = eval->metrics[0].per_query[q];
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    cr_assert(report.worst[0].value == least && report.best[0].value == most);
    for (int i = 0; i < RW_REPORT_QUERIES; i++) {
        cr_assert(report.worst[i].value == eval->metrics[0].per_query[report.worst[i].query]);
        cr_assert(i == 0 || report.worst[i].value >= report.worst[i - 1].value);
        cr_assert(i == 0 || report.best[i].value <= report.best[i - 1].value);
        uint32_t relevant = 0;
        for (uint32_t d = 0; d < 12; d++)
            relevant += data->label[report.worst[i].query * 12 + d] > 0;
        cr_assert_eq(report.worst[i].n_relevant, relevant);
        cr_assert_eq(report.worst[i].n_docs, 12);
    }
    cr_assert_eq(report.n_sizes, 1); /* all are of 12 documents */
    cr_assert(report.size[0].mean == eval->metrics[0].mean);
    rw_free(eval);
    rw_report_release(&report);
}

/* By hand: the queries of each group as a set of their own. */
static void sizes_are_right(const struct rw_dataset *of, const struct rw_report *report)
{
    uint32_t n = 0;
    for (int g = 0; g < report->n_sizes; g++) {
        const struct rw_report_group *group = &report->size[g];
        uint8_t keep[64] = {0};
        double scores[1024];
        struct rw_dataset *part;
        struct rw_eval *eval;
        cr_assert(g == 0 || group->least > report->size[g - 1].most);
        uint32_t n_kept = 0;
        for (uint32_t q = 0; q < of->n_queries; q++) {
            keep[q] = size_of(of, q) >= group->least && size_of(of, q) <= group->most;
            n_kept += keep[q];
        }
        cr_assert_eq(group->n, n_kept);
        n += n_kept;
        cr_assert_eq(rw_dataset_select(ctx, of, keep, &part), RW_OK);
        cr_assert_eq(rw_predict(ctx, model, part, 0, scores), RW_OK);
        cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), part, scores, &eval), RW_OK);
        cr_assert_eq(group->n_counted, eval->metrics[0].n_counted);
        cr_assert(group->n_counted == 0 ? isnan(group->mean) && isnan(group->at[2])
                                        : group->mean == eval->metrics[0].mean);
        for (int i = 1; i < 5 && group->n_counted; i++)
            cr_assert(group->at[i] >= group->at[i - 1]);
        rw_free(eval);
        rw_dataset_free(part);
    }
    cr_assert_eq(n, of->n_queries);
}

Test(report, sizes_one_by_one_and_in_groups)
{
    static const uint32_t few[] = {5, 1, 9, 1, 5, 5, 2};
    uint32_t many[40];
    struct rw_dataset *of = sized(few, 7, 3);
    struct rw_report report = gathered(of, &plain);
    cr_assert_eq(report.n_sizes, 4);
    cr_assert(report.size[0].least == 1 && report.size[0].most == 1 && report.size[3].most == 9);
    sizes_are_right(of, &report);
    rw_report_release(&report);
    rw_dataset_free(of);
    /* A group more or less is not guessed: for every number of queries they fit, and are even. */
    for (uint32_t n = 7; n <= 40; n++) {
        for (uint32_t q = 0; q < n; q++)
            many[q] = 1 + q * 41 % n;
        of = sized(many, n, 3);
        report = gathered(of, &(struct rw_report_options){0});
        cr_assert(report.n_sizes > 3 && report.n_sizes <= RW_REPORT_SIZES, "%u: %d", n,
                  report.n_sizes);
        sizes_are_right(of, &report);
        rw_report_release(&report);
        rw_dataset_free(of);
    }
}

Test(report, weights_count_in_every_mean)
{
    static const uint32_t sizes[] = {5, 1, 9, 1, 5, 3, 2};
    static const double weights[] = {1, 0.5, 7, 2, 0, 1, 3};
    struct rw_dataset *of = sized(sizes, 7, 3);
    struct rw_report report = gathered(of, &plain);
    const double unweighted = report.eval->metrics[0].mean;
    rw_report_release(&report);
    cr_assert_eq(rw_dataset_set_side_column(ctx, of, "query-weights", weights, 7, 1), RW_OK);
    report = gathered(of, &plain);
    cr_assert(report.eval->metrics[0].mean != unweighted);
    sizes_are_right(of, &report);
    rw_report_release(&report);
    rw_dataset_free(of);
}

Test(report, labels)
{
    struct rw_report report = gathered(data, &plain);
    uint32_t n = 0;
    cr_assert_eq(report.n_labels, 4);
    for (int g = 0; g < 4; g++) {
        const struct rw_report_group *group = &report.label[g];
        uint32_t n_docs = 0, binned = 0;
        double sum = 0.0, below = 0.0;
        for (uint32_t d = 0; d < 600; d++) {
            if (data->label[d] != (float)g)
                continue;
            n_docs++;
            sum += report.scores[d];
            below += report.scores[d] <= group->at[2];
        }
        for (int i = 0; i < RW_REPORT_SCORE_BINS; i++)
            binned += report.score_bin[g][i];
        cr_assert(group->least == g && group->most == g);
        cr_assert(group->n == n_docs && binned == n_docs);
        cr_assert(group->mean == sum / n_docs);
        cr_assert(below >= n_docs * 0.5 && group->at[0] <= group->at[4]);
        cr_assert(g == 0 || group->mean > report.label[g - 1].mean);
        n += n_docs;
    }
    cr_assert_eq(n, 600);
    rw_report_release(&report);
    /* Many labels: groups, at most ten. */
    static const uint32_t sizes[] = {30, 30, 30, 30};
    struct rw_dataset *of = sized(sizes, 4, 29);
    report = gathered(of, &plain);
    cr_assert(report.n_labels > 5 && report.n_labels <= RW_REPORT_LABELS);
    cr_assert(report.label[0].least == 0 && report.label[report.n_labels - 1].most == 28);
    rw_report_release(&report);
    rw_dataset_free(of);
}

Test(report, features_are_those_of_the_model_and_of_permutation)
{
    struct rw_feature_use uses[8];
    struct rw_permuted permuted[8];
    double value;
    struct rw_report report = gathered(data, &plain);
    const int n = rw_model_features(model, uses, 8);
    cr_assert_eq(rw_permutation_importance(ctx, rw_params_eval(params), model, 0, data, 2, &value,
                                           permuted, 8),
                 n);
    cr_assert(report.n_features == n && n >= 3);
    cr_assert(report.permuted.value == value);
    for (int i = 0; i < n; i++) {
        cr_assert_eq(report.feature[i].use.feature, uses[i].feature);
        cr_assert(report.feature[i].use.gain == uses[i].gain);
        cr_assert_eq(report.feature[i].permuted.feature, uses[i].feature);
        for (int p = 0; p < n; p++)
            cr_assert(permuted[p].feature != uses[i].feature ||
                      (permuted[p].loss == report.feature[i].permuted.loss &&
                       permuted[p].deviation == report.feature[i].permuted.deviation));
    }
    rw_report_release(&report);
}

Test(report, documents_of_trees)
{
    struct rw_report report = gathered(data, &plain);
    cr_assert_eq(report.n_trees, 3);
    for (int t = 0; t < 3; t++) {
        const struct rw_report_tree *drawn = &report.tree[t];
        const struct rw_tree *tree = drawn->tree;
        cr_assert_eq(drawn->node_docs[0], 600);
        cr_assert_eq(drawn->node_leaves[0], tree->n_leaves);
        for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
            const int32_t l = tree->left[i], r = tree->right[i];
            cr_assert_eq(drawn->node_docs[i],
                         (l < 0 ? drawn->leaf_docs[~l] : drawn->node_docs[l]) +
                             (r < 0 ? drawn->leaf_docs[~r] : drawn->node_docs[r]));
        }
        uint32_t goes_left = 0;
        float *values = malloc(600 * sizeof(*values));
        rw_dataset_feature(data, tree->feature[0], 0.0f, values);
        for (uint32_t d = 0; d < 600; d++)
            goes_left += isnan(values[d]) ? tree->missing_left[0] : values[d] <= tree->cut[0];
        cr_assert_eq(tree->left[0] < 0 ? drawn->leaf_docs[~tree->left[0]]
                                       : drawn->node_docs[tree->left[0]],
                     goes_left);
        free(values);
    }
    rw_report_release(&report);
}

Test(report, sum_is_that_of_the_models_file)
{
    char *text;
    size_t n;
    struct rw_report report = gathered(data, &plain);
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_OK);
    cr_assert_eq(strlen(report.checksum), 8);
    cr_assert_eq(memcmp(text + n - 18, "checksum ", 9), 0);
    cr_assert_eq(memcmp(text + n - 9, report.checksum, 8), 0);
    rw_mem_free(text);
    rw_report_release(&report);
}

Test(report, as_another_program_measures)
{
    static const uint32_t sizes[] = {5, 1, 9, 1, 5, 3, 2};
    const struct rw_report_options like = {.like = "lightgbm"};
    struct rw_dataset *of = sized(sizes, 7, 9);
    double scores[64];
    struct rw_eval *eval;
    struct rw_report report = gathered(of, &like);
    cr_assert_eq(rw_predict(ctx, model, of, 0, scores), RW_OK);
    struct rw_eval_params how = *rw_params_eval(params);
    how.like = "lightgbm";
    cr_assert_eq(rw_evaluate(ctx, &how, of, scores, &eval), RW_OK);
    cr_assert(report.eval->metrics[0].mean == eval->metrics[0].mean);
    char *text = page(model, of, &like);
    cr_assert(strstr(text, "LightGBM") != NULL);
    cr_assert_null(strstr(text, "shuffled")); /* not asked for */
    free(text);
    rw_free(eval);
    rw_report_release(&report);
    rw_dataset_free(of);
}

/* ------------------------------------------------------------------ odd inputs */

static struct rw_model *no_trees(void)
{
    struct rw_model *made;
    cr_assert_eq(rw_model_new(ctx, &made), RW_OK);
    return made;
}

Test(report, without_trees_all_scores_are_the_same)
{
    struct rw_model *none = no_trees(), *kept = model;
    model = none;
    struct rw_report report = gathered(data, &plain);
    cr_assert(report.n_features == 0 && report.n_trees == 0);
    cr_assert(report.score_from < 0 && report.score_to > 0); /* a range around 0 */
    cr_assert(report.label[0].mean == 0 && report.label[0].at[4] == 0);
    rw_report_release(&report);
    char *text = page(none, data, &plain);
    cr_assert(strstr(text, "The model has no trees") != NULL);
    cr_assert(strstr(text, "no metrics by round") != NULL);
    cr_assert(strstr(text, "nan") == NULL && strstr(text, "inf") == NULL);
    free(text);
    model = kept;
    rw_model_free(none);
}

Test(report, where_no_query_counts)
{
    static const uint32_t sizes[] = {3, 1, 2};
    struct rw_dataset *of = sized(sizes, 3, 1); /* labels 0 */
    struct rw_report report = gathered(of, &plain);
    cr_assert_eq(report.n_queries, 0);
    cr_assert_eq(report.eval->n_empty, 3);
    cr_assert(isnan(report.eval->metrics[0].mean));
    sizes_are_right(of, &report);
    rw_report_release(&report);
    char *text = page(model, of, &plain);
    cr_assert(strstr(text, "No query has a relevant document") != NULL);
    cr_assert(strstr(text, "nan") == NULL);
    free(text);
    rw_dataset_free(of);
}

Test(report, one_document)
{
    static const uint32_t sizes[] = {1};
    struct rw_dataset *of = sized(sizes, 1, 1);
    of->label[0] = 2;
    struct rw_report report = gathered(of, &plain);
    cr_assert(report.n_queries == 1 && report.n_sizes == 1 && report.n_labels == 1);
    cr_assert(report.best[0].value == 1.0);
    cr_assert_eq(report.value_bin[RW_REPORT_VALUE_BINS - 1], 1); /* 1 is in the last bin */
    rw_report_release(&report);
    char *text = page(model, of, &plain);
    cr_assert(strstr(text, "nan") == NULL);
    free(text);
    rw_dataset_free(of);
}

Test(report, metric_that_should_be_low)
{
    set("metric", "rmse");
    struct rw_report report = gathered(data, &plain);
    cr_assert(report.worst[0].value > report.best[0].value);
    cr_assert(report.value_to >= report.worst[0].value);
    rw_report_release(&report);
    free(page(model, data, &plain));
}

Test(report, refuses)
{
    struct rw_report report;
    FILE *null = fopen("/dev/null", "w");
    struct rw_report_options wrong = {.n_trees = 101};
    cr_assert_eq(rw_report(ctx, rw_params_eval(params), model, data, &wrong, null),
                 RW_ERR_ARGUMENT);
    wrong = (struct rw_report_options){.n_trees = -1};
    cr_assert_eq(rw_report(ctx, rw_params_eval(params), model, data, &wrong, null),
                 RW_ERR_ARGUMENT);
    wrong = (struct rw_report_options){.n_repeats = 1001};
    cr_assert_eq(rw_report(ctx, rw_params_eval(params), model, data, &wrong, null),
                 RW_ERR_ARGUMENT);
    wrong = (struct rw_report_options){.like = "nobody"};
    cr_assert_eq(rw_report(ctx, rw_params_eval(params), model, data, &wrong, null),
                 RW_ERR_ARGUMENT);
    fclose(null);
    long n = 0;
    int status = RW_ERR_MEMORY;
    rw_ctx_set_threads(ctx, 1);
    while (status < 0 && ++n < 2000) {
        rw_mem_fail_from(n);
        status = rw_report_gather(ctx, rw_params_eval(params), model, data, &plain, &report);
        rw_mem_fail_from(0);
        cr_assert(status >= 0 || status == RW_ERR_MEMORY, "%s", rw_last_error(ctx));
        rw_report_release(&report);
    }
    cr_assert(n > 20 && status >= 0);
}

Test(report, a_full_disk_is_an_error)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        cr_skip_test("there is no /dev/full");
    cr_assert_eq(rw_report(ctx, rw_params_eval(params), model, data, &plain, full), RW_ERR_MACHINE);
    fclose(full);
}

/* In the midst of the permutations. */
static int give_up(void *user, const struct rw_progress *progress)
{
    int *n_stages = user;
    *n_stages += progress->stage && strcmp(progress->stage, "permutations") == 0;
    return *n_stages > 0 && progress->done > 0;
}

Test(report, can_be_stopped)
{
    int n_stages = 0;
    FILE *null = fopen("/dev/null", "w");
    const struct rw_report_options how = {.n_repeats = 1000};
    cr_assert_eq(rw_ctx_set_poll(ctx, give_up, &n_stages), RW_OK);
    cr_assert_eq(rw_report(ctx, rw_params_eval(params), model, data, &how, null),
                 RW_ERR_INTERRUPTED);
    cr_assert_gt(n_stages, 0);
    fclose(null);
}

/* ------------------------------------------------------------------ the page */

Test(report, the_same_bytes_for_any_threads)
{
    rw_ctx_set_threads(ctx, 1);
    char *one = page(model, data, &plain);
    rw_ctx_set_threads(ctx, 4);
    char *four = page(model, data, &plain);
    cr_assert_str_eq(one, four);
    free(one);
    free(four);
}

Test(report, the_page_has_the_figures)
{
    char figure[RW_HTML_ROOM], *text = page(model, data, &plain);
    struct rw_report report = gathered(data, &plain);
    cr_assert(strstr(text, rw_html_figure(report.eval->metrics[0].mean, figure)) != NULL);
    cr_assert(strstr(text, rw_html_figure(report.size[0].mean, figure)) != NULL);
    cr_assert(strstr(text, rw_html_figure(report.label[3].mean, figure)) != NULL);
    cr_assert(strstr(text, rw_html_figure(report.feature[0].permuted.loss, figure)) != NULL);
    cr_assert(strstr(text, rw_html_figure(model->metric_value[0], figure)) != NULL);
    cr_assert(strstr(text, report.eval->conventions) != NULL);
    cr_assert(strstr(text, report.checksum) != NULL);
    cr_assert(strstr(text, RW_VERSION) != NULL);
    rw_report_release(&report);
    free(text);
}

static const char hostile[] = "</script><script>alert(1)</script>\"'><img src=//x onerror=y>&";

Test(report, nothing_of_files_is_read_as_html)
{
    const struct rw_report_options how = {
        .title = hostile, .model_name = hostile, .data_name = hostile, .n_trees = 3};
    cr_assert_eq(RW_NEW(ctx, model->name, 5), RW_OK);
    for (uint32_t i = 0; i < 5; i++) {
        model->name[i].feature = i + 1;
        cr_assert_eq(rw_mem_copy_text(ctx, &model->name[i].name, hostile), RW_OK);
    }
    model->n_names = 5;
    rw_mem_free(model->metric_name[0]);
    cr_assert_eq(rw_mem_copy_text(ctx, &model->metric_name[0], hostile), RW_OK);
    rw_mem_free(model->params.param[0].value);
    cr_assert_eq(rw_mem_copy_text(ctx, &model->params.param[0].value, hostile), RW_OK);
    uint32_t offsets[] = {0, 600};
    uint64_t ids[] = {0, sizeof(hostile)};
    struct rw_dataset named = *data;
    named.n_queries = 1;
    named.query_offset = offsets;
    named.query_id.offset = ids;
    named.query_id.text = (char *)hostile;
    char *text = page(model, &named, &how);
    cr_assert_null(strstr(text, "<script"));
    cr_assert_null(strstr(text, "</script"));
    cr_assert_null(strstr(text, "<img"));
    cr_assert_null(strstr(text, "\"'>"));
    cr_assert(strstr(text, "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;"
                           "&lt;img src=//x onerror=y&gt;&amp;") != NULL);
    free(text);
}

/* The chart, from its opening to its end. */
static char *first_curve(const char *text)
{
    const char *begin = strstr(text, "aria-labelledby=\"curve1-title");
    const char *end = begin ? strstr(begin, "</svg>") : NULL;
    cr_assert_not_null(end);
    return strndup(begin, (size_t)(end - begin));
}

Test(report, curves_of_any_numbers)
{
    static const double values[][2] = {{1e308, -1e308},  {5e-324, 0},     {0, 1e-310},
                                       {5e-324, 5e-324}, {1e300, -1e300}, {0.5, 0.25}};
    const struct rw_report_options how = {.n_trees = 0};
    cr_assert_eq(model->n_metrics, 1);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        for (int32_t r = 0; r < model->n_rounds_run; r++)
            model->metric_value[r] = values[i][r % 2];
        char *text = page(model, data, &how);
        if (i == 0) {
            cr_assert(strstr(text, "No round has a value") != NULL);
        } else {
            char *chart = first_curve(text);
            cr_assert(!strstr(chart, "nan") && !strstr(chart, "inf"), "pair %zu: %s", i, chart);
            /* an axis of values */
            cr_assert(strstr(chart, "tick end") != NULL, "pair %zu: %s", i, chart);
            free(chart);
        }
        free(text);
    }
}

/* Every node drawn shows what `format` makes of its feature's id. */
static void nodes_show(const char *name_format, const char *format)
{
    char name[160], expected[256], *text;
    int n = 0;
    for (uint32_t i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), name_format, i + 1);
        rw_mem_free(model->name[i].name);
        cr_assert_eq(rw_mem_copy_text(ctx, &model->name[i].name, name), RW_OK);
    }
    text = page(model, data, &plain);
    for (const char *node = text; (node = strstr(node, "<div class=\"node\"")) != NULL; n++) {
        unsigned feature = 0;
        const char *shown_name = strstr(node, "<b>");
        cr_assert_eq(sscanf(strstr(node, "title="), "title=\"node %*d: feature %u ", &feature), 1);
        snprintf(expected, sizeof(expected), format, feature);
        cr_assert_eq(strncmp(shown_name, expected, strlen(expected)), 0, "%.120s", shown_name);
        node = shown_name;
    }
    cr_assert_geq(n, 3);
    free(text);
}

#define CUT     "\xe2\x80\xa6"
#define TEN     "1234567890"
#define SEVENTY TEN TEN TEN TEN TEN TEN TEN
Test(report, nodes_have_whole_names)
{
    cr_assert_eq(RW_NEW(ctx, model->name, 5), RW_OK);
    for (uint32_t i = 0; i < 5; i++)
        model->name[i].feature = i + 1;
    model->n_names = 5;
    nodes_show("body_bm25_%u", "<b><bdi>body_<wbr>bm25_<wbr>%u</bdi> <span>");
    nodes_show(SEVENTY "123456789%u", "<b><bdi>" SEVENTY "123456789%u</bdi> <span>");
    nodes_show("x" SEVENTY "123456789%u",
               "<b><bdi>x" TEN TEN TEN "123456789" CUT "234567890" TEN TEN "123456789%u</bdi> "
               "<span>");
}
