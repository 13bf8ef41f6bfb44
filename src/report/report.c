/* Computes the figures of a report: how a model ranks a data set, by query, by query size and by
 * label, its features and its first trees. Then writes the page that shows them. */
#include "report/report.h"

#include <stdlib.h>

#include "base/system.h"
#include "check/drift.h"
#include "evaluate/evaluate.h"

static const double ties_matter = 0.001; /* as in 'eval' */
static const double shares[5] = {0.05, 0.25, 0.5, 0.75, 0.95};

/* ---- groups and bins ---- */

/* Divides ascending keys into groups and returns the number of groups. Equal keys share a group.
 * With at most `most` different keys each of them has a group. With more it makes up to `most`
 * groups of similar size. key: [n]. */
static int cut_groups(const double *key, uint32_t n, int most, struct rw_report_group *group)
{
    uint32_t n_different = n > 0;
    int n_groups = 0;
    for (uint32_t i = 1; i < n; i++)
        n_different += key[i] != key[i - 1];
    for (uint32_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        if (n_different > (uint32_t)most) {
            /* Extends the group to the next of `most` even shares. Rounding up keeps two groups
             * from beginning in one share. */
            const uint64_t share = (uint64_t)begin * (uint64_t)most / n + 1;
            end = (uint32_t)((share * n + (uint64_t)most - 1) / (uint64_t)most);
        }
        while (end < n && key[end] == key[end - 1])
            end++;
        group[n_groups++] = (struct rw_report_group){
            .least = key[begin], .most = key[end - 1], .n = end - begin, .mean = (double)NAN};
    }
    return n_groups;
}

/* Returns the group of a key. */
static int group_of(const struct rw_report_group *group, int n_groups, double key)
{
    int g = 0;
    while (g < n_groups - 1 && key > group[g].most)
        g++;
    return g;
}

/* Sorts the values and writes their quantiles at `shares`. values: [n]. */
static void spread(double *values, uint32_t n, double at[5])
{
    rw_sort_doubles(values, n);
    for (int i = 0; i < 5; i++) {
        const double rank = ceil(shares[i] * n); /* the quantile's rank, from 1 */
        at[i] = n == 0 ? (double)NAN : values[rank < 1 ? 0 : (uint32_t)rank - 1];
    }
}

/* Returns the bin of a value among n_bins of equal width; from < to. */
static int bin_of(double value, double from, double to, int n_bins)
{
    const int bin = (int)((value - from) / (to - from) * n_bins);
    return bin < 0 ? 0 : bin < n_bins ? bin : n_bins - 1;
}

/* ---- by query ---- */

static struct rw_report_query name_query(const struct rw_report *report, uint32_t q)
{
    const uint32_t *offset = report->dataset->query_offset + q;
    struct rw_report_query named = {.query = q,
                                    .n_docs = offset[1] - offset[0],
                                    .value = report->eval->metrics[0].per_query[q]};
    for (uint32_t d = offset[0]; d < offset[1]; d++)
        named.n_relevant += report->dataset->label[d] > 0;
    return named;
}

/* Computes the figures of queries by value of the first metric. */
static int count_queries(struct rw_ctx *ctx, int lower_is_better, struct rw_report *report)
{
    const double *value = report->eval->metrics[0].per_query;
    const uint32_t n_all = report->eval->n_queries;
    RW_FREED struct rw_keyed *ranked = NULL; /* the worst query first */
    uint32_t n = 0;
    RW_TRY(RW_NEW(ctx, ranked, n_all));
    double least = 0.0, most = 1.0;
    for (uint32_t q = 0; q < n_all; q++) {
        if (isnan(value[q]))
            continue;
        least = value[q] < least ? value[q] : least;
        most = value[q] > most ? value[q] : most;
        ranked[n++] = (struct rw_keyed){lower_is_better ? -value[q] : value[q], q};
    }
    report->value_from = least;
    report->value_to = most;
    for (uint32_t i = 0; i < n; i++)
        report->value_bin[bin_of(value[ranked[i].id], least, most, RW_REPORT_VALUE_BINS)]++;
    RW_SORT(ranked, n, rw_by_key);
    report->n_queries = n < RW_REPORT_QUERIES ? (int)n : RW_REPORT_QUERIES;
    for (int i = 0; i < report->n_queries; i++) {
        report->worst[i] = name_query(report, ranked[i].id);
        report->best[i] = name_query(report, ranked[n - 1 - (uint32_t)i].id);
    }
    return RW_OK;
}

static int evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_report *report, const struct rw_dataset *dataset,
                    const double *scores, struct rw_eval **out)
{
    struct rw_eval_params one = *how;
    one.like = report->options->like;
    return rw_evaluate(ctx, &one, dataset, scores, out);
}

/* Evaluates the queries of one group alone, as rw_evaluate would. keep: [n_queries] 1: the query is
 * in the group. scores: [n_docs] scratch. */
static int measure_size(struct rw_ctx *ctx, const struct rw_eval_params *how,
                        const struct rw_report *report, const uint8_t *keep, double *scores,
                        struct rw_report_group *group)
{
    struct rw_dataset bare = *report->dataset; /* without features; borrows everything else */
    RW_SCOPED(rw_dataset_free) struct rw_dataset *part = NULL;
    RW_SCOPED(rw_free) struct rw_eval *eval = NULL;
    uint32_t n = 0;
    bare.n_columns = 0;
    for (uint32_t q = 0; q < bare.n_queries; q++) {
        for (uint32_t d = bare.query_offset[q]; keep[q] && d < bare.query_offset[q + 1]; d++)
            scores[n++] = report->scores[d];
    }
    RW_TRY(rw_dataset_select(ctx, &bare, keep, &part));
    RW_TRY(evaluate(ctx, how, report, part, scores, &eval));
    group->mean = eval->metrics[0].mean;
    group->n_counted = eval->metrics[0].n_counted;
    return RW_OK;
}

static int count_sizes(struct rw_ctx *ctx, const struct rw_eval_params *how,
                       struct rw_report *report)
{
    const struct rw_dataset *dataset = report->dataset;
    const uint32_t n = dataset->n_queries;
    RW_FREED double *value = NULL, *scores = NULL;
    RW_FREED uint8_t *keep = NULL;
    RW_TRY(RW_NEW(ctx, value, n));
    RW_TRY(RW_NEW_RAW(ctx, scores, dataset->n_docs));
    RW_TRY(RW_NEW(ctx, keep, n));
    for (uint32_t q = 0; q < n; q++)
        value[q] = (double)(dataset->query_offset[q + 1] - dataset->query_offset[q]);
    rw_sort_doubles(value, n);
    report->n_sizes = cut_groups(value, n, RW_REPORT_SIZES, report->size);
    for (int g = 0; g < report->n_sizes; g++) {
        uint32_t n_values = 0;
        for (uint32_t q = 0; q < n; q++) {
            const double size = dataset->query_offset[q + 1] - dataset->query_offset[q];
            const double of_query = report->eval->metrics[0].per_query[q];
            keep[q] = group_of(report->size, report->n_sizes, size) == g;
            if (keep[q] && !isnan(of_query))
                value[n_values++] = of_query;
        }
        spread(value, n_values, report->size[g].at);
        RW_TRY(measure_size(ctx, how, report, keep, scores, &report->size[g]));
    }
    return RW_OK;
}

/* ---- by label ---- */

static int count_labels(struct rw_ctx *ctx, struct rw_report *report)
{
    const uint32_t n = report->dataset->n_docs;
    const float *label = report->dataset->label;
    RW_FREED double *value = NULL;
    RW_TRY(RW_NEW_RAW(ctx, value, n));
    for (uint32_t d = 0; d < n; d++)
        value[d] = (double)label[d];
    rw_sort_doubles(value, n);
    report->n_labels = cut_groups(value, n, RW_REPORT_LABELS, report->label);
    report->score_from = report->score_to = report->scores[0];
    for (uint32_t d = 0; d < n; d++) {
        const double score = report->scores[d];
        report->score_from = score < report->score_from ? score : report->score_from;
        report->score_to = score > report->score_to ? score : report->score_to;
    }
    if (!(report->score_from < report->score_to)) { /* a range needs a width */
        const double by = fmax(fabs(report->score_from) / 2, 0.5);
        report->score_from -= by;
        report->score_to += by;
    }
    for (int g = 0; g < report->n_labels; g++) {
        struct rw_report_group *group = &report->label[g];
        double sum = 0.0;
        group->n_counted = 0;
        for (uint32_t d = 0; d < n; d++) {
            if (group_of(report->label, report->n_labels, (double)label[d]) != g)
                continue;
            const double score = report->scores[d];
            sum += score;
            value[group->n_counted++] = score;
            report->score_bin[g][bin_of(score, report->score_from, report->score_to,
                                        RW_REPORT_SCORE_BINS)]++;
        }
        group->mean = sum / group->n_counted;
        spread(value, group->n_counted, group->at);
    }
    return RW_OK;
}

/* ---- the model's file ---- */

static int keep_checksum(struct rw_ctx *ctx, struct rw_report *report)
{
    RW_FREED char *text = NULL;
    size_t n;
    RW_TRY(rw_model_print(ctx, report->model, &text, &n));
    /* The last line: "checksum ", 8 digits, and the line's end. */
    memcpy(report->checksum, text + n - RW_CHECKSUM_DIGITS - 1, RW_CHECKSUM_DIGITS);
    return RW_OK;
}

/* ---- features ---- */

static int list_features(struct rw_ctx *ctx, struct rw_report *report)
{
    RW_FREED struct rw_feature_use *uses = NULL;
    const int n = rw_model_features(report->model, NULL, 0);
    if (n < 0)
        return rw_fail(ctx, n, "out of memory: features in use");
    RW_TRY(RW_ARENA_NEW(ctx, &report->arena, report->feature, (size_t)n));
    RW_TRY(RW_NEW(ctx, uses, (size_t)n));
    if (rw_model_features(report->model, uses, n) < 0)
        return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: features in use");
    report->n_features = n;
    for (int i = 0; i < n; i++) {
        report->feature[i].use = uses[i];
        report->gain += uses[i].gain;
        report->n_splits += uses[i].n_splits;
    }
    for (int32_t t = 0; t < report->model->n_trees; t++)
        report->n_leaves += (uint64_t)report->model->tree[t].n_leaves;
    return RW_OK;
}

static int permute(struct rw_ctx *ctx, const struct rw_eval_params *how, struct rw_report *report)
{
    RW_FREED struct rw_permuted *permuted = NULL;
    RW_FREED int *index = NULL; /* row of `permuted`, by feature id */
    RW_TRY(RW_NEW(ctx, permuted, (size_t)report->n_features));
    RW_TRY(RW_NEW(ctx, index, RW_FEATURE_IDS));
    RW_TRY(rw_permutation_importance(ctx, how, report->model, 0, report->dataset,
                                     report->options->n_repeats, &report->permuted.value, permuted,
                                     report->n_features));
    for (int i = 0; i < report->n_features; i++)
        index[permuted[i].feature] = i;
    for (int i = 0; i < report->n_features; i++)
        report->feature[i].permuted = permuted[index[report->feature[i].use.feature]];
    return rw_eval_conventions(ctx, how, report->permuted.by, sizeof(report->permuted.by));
}

/* ---- trees ---- */

/* Sums documents and leaves of all nodes from the leaves up. A node's children have larger numbers
 * than the node. */
static void sum_nodes(struct rw_report_tree *drawn)
{
    const struct rw_tree *tree = drawn->tree;
    for (int32_t node = tree->n_leaves - 2; node >= 0; node--) {
        const int32_t child[2] = {tree->left[node], tree->right[node]};
        for (int side = 0; side < 2; side++) {
            const int is_leaf = child[side] < 0;
            drawn->node_docs[node] +=
                is_leaf ? drawn->leaf_docs[~child[side]] : drawn->node_docs[child[side]];
            drawn->node_leaves[node] += is_leaf ? 1 : drawn->node_leaves[child[side]];
        }
    }
}

static int count_trees(struct rw_ctx *ctx, struct rw_report *report)
{
    const struct rw_model *model = report->model;
    const uint32_t n_docs = report->dataset->n_docs;
    RW_FREED int32_t *leaves = NULL; /* [n_docs][n_trees] */
    const int n =
        model->n_trees < report->options->n_trees ? model->n_trees : report->options->n_trees;
    if (n == 0)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, leaves, (size_t)n_docs * (size_t)n));
    RW_TRY(RW_ARENA_NEW(ctx, &report->arena, report->tree, (size_t)n));
    report->n_trees = n;
    RW_TRY(rw_predict_leaves(ctx, model, report->dataset, n, leaves));
    for (int t = 0; t < n; t++) {
        struct rw_report_tree *drawn = &report->tree[t];
        drawn->tree = &model->tree[t];
        const size_t n_leaves = (size_t)drawn->tree->n_leaves;
        RW_TRY(RW_ARENA_NEW(ctx, &report->arena, drawn->leaf_docs, n_leaves));
        RW_TRY(RW_ARENA_NEW(ctx, &report->arena, drawn->node_docs, n_leaves));
        RW_TRY(RW_ARENA_NEW(ctx, &report->arena, drawn->node_leaves, n_leaves));
        for (size_t d = 0; d < n_docs; d++)
            drawn->leaf_docs[leaves[d * (size_t)n + (size_t)t]]++;
        sum_nodes(drawn);
    }
    return RW_OK;
}

/* ---- all of it ---- */

static int check(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_report_options *options)
{
    if (options->n_trees < 0 || options->n_trees > 100)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d trees to draw; expected 0 to 100",
                       options->n_trees);
    if (options->n_repeats < 0 || options->n_repeats > 1000)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "repeats is %d; expected 0 to 1000",
                       options->n_repeats);
    if (dataset->n_docs == 0)
        return rw_fail(ctx, RW_ERR_DATA, "there is nothing to report on: no documents");
    return RW_OK;
}

int rw_report_gather(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_model *model, const struct rw_dataset *dataset,
                     const struct rw_report_options *options, struct rw_report *out)
{
    struct rw_metric metrics[RW_MAX_METRICS];
    int n_metrics;
    *out = (struct rw_report){
        .model = model, .dataset = dataset, .options = options, .permuted.value = (double)NAN};
    RW_TRY(check(ctx, dataset, options));
    RW_TRY(rw_eval_metrics(ctx, how, metrics, &n_metrics));
    RW_TRY(RW_ARENA_NEW(ctx, &out->arena, out->scores, dataset->n_docs));
    RW_TRY(rw_predict(ctx, model, dataset, 0, out->scores));
    RW_TRY(evaluate(ctx, how, out, dataset, out->scores, &out->eval));
    RW_TRY(count_queries(ctx, metrics[0].kind->lower_is_better, out));
    RW_TRY(count_sizes(ctx, how, out));
    RW_TRY(count_labels(ctx, out));
    RW_TRY(keep_checksum(ctx, out));
    RW_TRY(list_features(ctx, out));
    if (options->n_repeats > 0 && out->n_features > 0)
        RW_TRY(permute(ctx, how, out));
    if (options->against)
        RW_TRY(rw_drift_measure(ctx, &out->arena,
                                (const struct rw_dataset *const[2]){dataset, options->against},
                                model, &out->drift.row, &out->drift.n));
    return count_trees(ctx, out);
}

void rw_report_release(struct rw_report *report)
{
    rw_arena_free(&report->arena);
    rw_free(report->eval);
    *report = (struct rw_report){0};
}

/* ---- the page's parts ---- */

/* The page has no script and needs no other file. It consists of text, tables and drawings. Text
 * from the user, such as names, is written by rw_html's %s or %1s, which escape it. */
extern const char rw_report_css[]; /* report.css, embedded by embed_text */

enum { FEATURES_SHOWN = 20, ROUNDS_SHOWN = 50 };

static const char *metric_name(const struct rw_report *report)
{
    return report->eval->metrics[0].name;
}

/* Opens a table in a scrollable box. label: its name for screen readers. caption: HTML. names:
 * column names, separated by bars; '*' marks a column of text, and "-" is a column without a name.
 * more: [n_more] further columns of numbers. */
static void open_table(FILE *out, const char *label, const char *caption, const char *names,
                       const char *const *more, int n_more)
{
    char name[64];
    rw_html(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\"><table>\n"
            "%-s<thead><tr>",
            label, caption);
    for (size_t n; *names; names += n + strspn(names + n, "|")) {
        n = strcspn(names, "|");
        snprintf(name, sizeof(name), "%.*s", (int)n, names);
        if (*name == '-')
            fputs("<td></td>", out);
        else
            rw_html(out, "<th scope=\"col\"%-s>%s</th>", *name == '*' ? " class=\"text\"" : "",
                    name + (*name == '*'));
    }
    for (int i = 0; i < n_more; i++)
        rw_html(out, "<th scope=\"col\">%s</th>", more[i]);
    fputs("</tr></thead>\n<tbody>\n", out);
}

static void close_table(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

/* Writes each line of a text as a paragraph. */
static void paragraphs(FILE *out, const char *text)
{
    char line[512];
    while (*text) {
        const size_t n = strcspn(text, "\n"), kept = n < sizeof(line) ? n : sizeof(line) - 1;
        memcpy(line, text, kept);
        line[kept] = 0;
        rw_html(out, "<p class=\"lead\">%s</p>\n", line);
        text += text[n] ? n + 1 : n;
    }
}

static void metrics(const struct rw_report *report, FILE *out)
{
    const struct rw_eval *eval = report->eval;
    if (report->options->like)
        rw_html(out, "<p>Measured as <b>%s</b> does:</p>\n", report->options->like);
    paragraphs(out, eval->conventions);
    open_table(out, "Metrics", "",
               "*metric|mean|queries counted|change with ties in the opposite order", NULL, 0);
    for (int i = 0; i < eval->n_metrics; i++)
        rw_html(out, "<tr><th scope=\"row\">%s</th><td>%f</td><td>%u</td><td>%+.6f</td></tr>\n",
                eval->metrics[i].name, eval->metrics[i].mean, eval->metrics[i].n_counted,
                eval->metrics[i].ties_moved);
    close_table(out);
    fprintf(out,
            "<p>%u document%s in %u quer%s: %u without a relevant document, "
            "%u with one document.</p>\n",
            eval->n_docs, rw_html_plural(eval->n_docs), eval->n_queries,
            eval->n_queries == 1 ? "y" : "ies", eval->n_empty, eval->n_single);
}

/* ---- learning curves ---- */

/* Returns the metric's part of "valid1 ndcg@10". */
static const char *curve_metric(const struct rw_model *model, int column)
{
    const char *blank = strchr(model->metric_name[column], ' ');
    return blank ? blank + 1 : model->metric_name[column];
}

static void curve_legend(const struct rw_curves *curves, FILE *out)
{
    char set[61];
    fputs("<ul class=\"legend\">", out);
    for (int i = 0; i < curves->n; i++) {
        fprintf(out,
                "<li><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path class=\"line s%d\" "
                "d=\"M1 5H27\"/></svg>",
                i % RW_CHART_STYLES);
        const char *name = curves->model->metric_name[curves->column[i]];
        const char *blank = strchr(name, ' '); /* after the set's name; without one: all */
        snprintf(set, sizeof(set), "%.*s", blank ? (int)(blank - name) : 3, blank ? name : "all");
        rw_html(out, "%s</li>", set);
    }
    fputs("</ul>\n", out);
}

/* Writes a table of all metrics for rounds at even steps, and for the first, last and best
 * round. */
static void curve_table(const struct rw_report *report, FILE *out)
{
    const struct rw_model *model = report->model;
    const int32_t n = model->n_rounds_run, every = (n + ROUNDS_SHOWN - 1) / ROUNDS_SHOWN;
    fprintf(out, "<details><summary>Table of %s%d of %d rounds</summary>",
            every > 1 ? "about " : "", every > 1 ? n / every : n, n);
    open_table(out, "Metrics by round", "", "*round", (const char *const *)model->metric_name,
               model->n_metrics);
    for (int32_t r = 0; r < n; r++) {
        if ((r + 1) % every != 0 && r != 0 && r != n - 1 && r + 1 != model->best_round)
            continue;
        fprintf(out, "<tr><th scope=\"row\">%d%s</th>", r + 1,
                r + 1 == model->best_round ? " (best)" : "");
        for (int m = 0; m < model->n_metrics; m++)
            rw_html(out, "<td>%f</td>",
                    model->metric_value[(size_t)r * (size_t)model->n_metrics + (size_t)m]);
        fputs("</tr>\n", out);
    }
    close_table(out);
    fputs("</details>\n", out);
}

static void learning_curves(const struct rw_report *report, FILE *out)
{
    const struct rw_model *model = report->model;
    if (model->n_metrics == 0 || model->n_rounds_run == 0) {
        fputs("<p>The model file has no metrics by round: it was trained without a validation set, "
              "or by another program.</p>\n",
              out);
        return;
    }
    fprintf(out, "<p class=\"lead\">Metrics after each round, from the model file.");
    if (model->best_round > 0)
        fprintf(out, " Training ran %d rounds, and the model keeps the trees up to round %d.",
                model->n_rounds_run, model->best_round);
    fputs("</p>\n<div class=\"pair\">\n", out);
    for (int i = 0, n_charts = 0; i < model->n_metrics; i++) {
        struct rw_curves curves;
        char id[32], about[256];
        int first = 0;
        while (strcmp(curve_metric(model, first), curve_metric(model, i)) != 0)
            first++;
        if (first < i) /* drawn already */
            continue;
        /* the sets that have the metric, at most as many as the chart can draw */
        curves = (struct rw_curves){.model = model};
        for (int k = i; k < model->n_metrics && curves.n < RW_REPORT_LABELS; k++) {
            if (strcmp(curve_metric(model, k), curve_metric(model, i)) == 0)
                curves.column[curves.n++] = k;
        }
        snprintf(id, sizeof(id), "curve%d", ++n_charts);
        snprintf(about, sizeof(about), "%.100s by round of training, 1 to %d",
                 curve_metric(model, i), model->n_rounds_run);
        const struct rw_chart_words words = {id, about, "round", ""};
        rw_html(out, "<figure>\n<figcaption>%s</figcaption>\n", curve_metric(model, i));
        curve_legend(&curves, out);
        rw_chart_curves(out, &words, &curves);
        fputs("</figure>\n", out);
    }
    fputs("</div>\n", out);
    curve_table(report, out);
}

/* ---- by query ---- */

static void query_table(const struct rw_report *report, const struct rw_report_query *query,
                        const char *which, FILE *out)
{
    char label[32], caption[64];
    snprintf(label, sizeof(label), "%s queries", which);
    snprintf(caption, sizeof(caption), "<caption>The %d %s</caption>\n", report->n_queries, which);
    const char *const metric = metric_name(report);
    open_table(out, label, caption, "*query|docs|label > 0", &metric, 1);
    for (int i = 0; i < report->n_queries; i++)
        rw_html(
            out,
            "<tr><th scope=\"row\" class=\"text\">%1s</th><td>%u</td><td>%u</td><td>%f</td></tr>\n",
            rw_dataset_query_id(report->dataset, query[i].query), query[i].n_docs,
            query[i].n_relevant, query[i].value);
    close_table(out);
}

static void value_table(const struct rw_report *report, FILE *out)
{
    const double bin = (report->value_to - report->value_from) / RW_REPORT_VALUE_BINS;
    fputs("<details><summary>Table of the chart</summary>", out);
    open_table(out, "Queries by value", "", "from|to|queries", NULL, 0);
    for (int i = 0; i < RW_REPORT_VALUE_BINS; i++)
        fprintf(out, "<tr><td>%.4g</td><td>%.4g</td><td>%u</td></tr>\n",
                report->value_from + i * bin, report->value_from + (i + 1) * bin,
                report->value_bin[i]);
    close_table(out);
    fputs("</details>\n", out);
}

static void queries(const struct rw_report *report, FILE *out)
{
    char about[192], figure[RW_HTML_ROOM];
    const struct rw_eval_metric *metric = &report->eval->metrics[0];
    snprintf(about, sizeof(about), "Number of queries by %s; the mean is %s", metric_name(report),
             rw_html_figure(metric->mean, figure));
    const struct rw_chart_words words = {"values", about, metric_name(report), "queries"};
    if (report->n_queries == 0) {
        fputs("<p>No query has a relevant document.</p>\n", out);
        return;
    }
    fprintf(out,
            "<p class=\"lead\">The mean is over %u of %u queries.</p>\n<div "
            "class=\"beside\">\n<figure>\n",
            metric->n_counted, report->eval->n_queries);
    rw_chart_values(out, &words, report);
    value_table(report, out);
    fputs("</figure>\n<div class=\"pair\">\n", out);
    query_table(report, report->worst, "worst", out);
    query_table(report, report->best, "best", out);
    fputs("</div>\n</div>\n", out);
}

/* Writes a group's row: its range, counts, mean and quantiles. */
static void group_row(const struct rw_report_group *group, int with_counted, FILE *out)
{
    char text[RW_HTML_ROOM];
    rw_html(out, "<tr><th scope=\"row\">%s</th><td>%u</td>",
            rw_html_range(group->least, group->most, text), group->n);
    if (with_counted)
        rw_html(out, "<td>%u</td>", group->n_counted);
    rw_html(out, "<td>%f</td>", group->mean);
    for (int i = 0; i < 5; i++) {
        if (isnan(group->at[i]))
            fputs("<td>-</td>", out);
        else
            fprintf(out, "<td>%.4g</td>", group->at[i] + 0.0);
    }
    fputs("</tr>\n", out);
}

static void group_table(FILE *out, const char *label, const char *names,
                        const struct rw_report_group *group, int n, int with_counted)
{
    fputs("</figure>\n", out);
    open_table(out, label, "", names, NULL, 0);
    for (int g = 0; g < n; g++)
        group_row(&group[g], with_counted, out);
    close_table(out);
    fputs("</div>\n", out);
}

static void sizes(const struct rw_report *report, FILE *out)
{
    char about[192];
    snprintf(about, sizeof(about), "%s of queries by their number of documents, in %d group%s",
             metric_name(report), report->n_sizes, rw_html_plural((uint64_t)report->n_sizes));
    const struct rw_chart_words words = {"by-size", about, "documents of the query",
                                         metric_name(report)};
    fputs("<p class=\"lead\">Queries are grouped by their number of documents. Dot: mean of the "
          "group. "
          "Box: middle half of its queries, with the median. Line: 5th to 95th percentile."
          "</p>\n<div class=\"beside\">\n<figure>\n",
          out);
    if (report->n_queries > 0)
        rw_chart_sizes(out, &words, report);
    group_table(out, "By query size", "*documents|queries|counted|mean|5%|25%|50%|75%|95%",
                report->size, report->n_sizes, 1);
}

static void scores(const struct rw_report *report, FILE *out)
{
    const struct rw_chart_words words = {
        "by-label", "Distribution of scores for each label, the highest label on top", "score",
        "label"};
    fputs("<p class=\"lead\">Each row is scaled to the same height. Dot: mean. Thick line: middle "
          "half of the documents.</p>\n<div class=\"beside\">\n<figure>\n",
          out);
    rw_chart_scores(out, &words, report);
    group_table(out, "Scores by label", "*label|documents|mean|5%|25%|50%|75%|95%", report->label,
                report->n_labels, 0);
}

/* ---- features ---- */

/* Writes a cell with a bar. share: its length as a fraction of the cell; negative: for a loss below
 * 0, with the same length as for -share. */
static void bar_cell(FILE *out, double share)
{
    fputs("<td class=\"bar-cell\">", out);
    if (share != 0.0)
        fprintf(out, "<span%s style=\"width:%.2f%%\"></span>", share < 0 ? " class=\"less\"" : "",
                100 * (fabs(share) < 1 ? fabs(share) : 1));
    fputs("</td>", out);
}

static void feature_rows(const struct rw_report *report, int begin, int end, FILE *out)
{
    const int permuted = report->options->n_repeats > 0;
    double most = 0.0;
    for (int i = 0; i < report->n_features; i++)
        most = report->feature[i].permuted.loss > most ? report->feature[i].permuted.loss : most;
    open_table(out, "Features", "",
               !permuted                        ? "*feature|*name|splits|gain %|-"
               : report->options->n_repeats > 1 ? "*feature|*name|splits|gain %|-|loss|deviation|-"
                                                : "*feature|*name|splits|gain %|-|loss|-",
               NULL, 0);
    for (int i = begin; i < end; i++) {
        const struct rw_report_feature *feature = &report->feature[i];
        const double share = report->gain > 0 ? feature->use.gain / report->gain : 0.0;
        const double top =
            report->gain > 0 && report->feature[0].use.gain > 0 ? report->feature[0].use.gain : 1.0;
        rw_html(out,
                "<tr><th scope=\"row\">%u</th><td class=\"text\">%1s</td><td>%lu</td><td>%.2f</td>",
                feature->use.feature, feature->use.name, feature->use.n_splits, 100 * share);
        bar_cell(out, feature->use.gain / top);
        if (permuted) {
            rw_html(out, "<td>%f</td>", feature->permuted.loss);
            if (report->options->n_repeats > 1)
                rw_html(out, "<td>%f</td>", feature->permuted.deviation);
            bar_cell(out, most > 0 && !isnan(feature->permuted.loss) ? feature->permuted.loss / most
                                                                     : 0.0);
        }
        fputs("</tr>\n", out);
    }
    close_table(out);
}

static void features(const struct rw_report *report, FILE *out)
{
    const int n = report->n_features, shown = n < FEATURES_SHOWN ? n : FEATURES_SHOWN;
    if (n == 0) {
        fputs("<p>The model has no splits, so it uses no features.</p>\n", out);
        return;
    }
    fputs(
        "<p class=\"lead\">Gain: the feature's share of the total gain of all splits in training.",
        out);
    if (report->options->n_repeats > 0)
        rw_html(out,
                " Loss: how much worse %s (%f here) gets when the feature's values are shuffled "
                "among all documents, mean of %d permutation%s; %s.",
                metric_name(report), report->permuted.value, report->options->n_repeats,
                rw_html_plural((uint64_t)report->options->n_repeats), report->permuted.by);
    fputs("</p>\n", out);
    feature_rows(report, 0, shown, out);
    if (shown < n) {
        fprintf(out, "<details><summary>%d more feature%s</summary>", n - shown,
                rw_html_plural((uint64_t)(n - shown)));
        feature_rows(report, shown, n, out);
        fputs("</details>\n", out);
    }
}

/* ---- drift ---- */

static void drift(const struct rw_report *report, FILE *out)
{
    rw_html(out,
            "<p class=\"lead\">Distributions in this data, compared with the reference <b>%1s</b>. "
            "PSI: population stability index, large above 0.25. KS: Kolmogorov-Smirnov distance, "
            "large above 0.2, unless chance explains it.</p>\n",
            report->options->against_name ? report->options->against_name : "");
    open_table(out, "Drift", "", "*of|*feature|PSI|KS|*large", NULL, 0);
    for (uint32_t i = 0; i < report->drift.n && i < 3 + FEATURES_SHOWN; i++) {
        const struct rw_drift *row = &report->drift.row[i];
        rw_html(out,
                "<tr><th scope=\"row\">%s</th><td class=\"text\">%1s</td><td>%f</td><td>%f</td>"
                "<td class=\"text\">%s</td></tr>\n",
                row->of, row->name ? row->name : "", row->psi, row->ks, row->is_large ? "yes" : "");
    }
    close_table(out);
}

/* ---- trees and model ---- */

static void tree_rows(const struct rw_report *report, const struct rw_report_tree *drawn,
                      int32_t child, int level, FILE *out)
{
    const struct rw_tree *tree = drawn->tree;
    char text[RW_HTML_ROOM];
    if (child < 0) {
        rw_html(out,
                "<tr><td>%d</td><th scope=\"row\">leaf %d</th><td class=\"value\">%s</td><td></td>"
                "<td>%u</td></tr>\n",
                level, ~child, rw_html_float(tree->leaf[~child], text), drawn->leaf_docs[~child]);
        return;
    }
    fprintf(out, "<tr><td>%d</td><th scope=\"row\">node %d</th><td class=\"value\">", level, child);
    if (level == RW_CHART_TREE_LEVELS) {
        fprintf(out, "%d leaves, not drawn</td><td></td>", drawn->node_leaves[child]);
    } else {
        rw_html(out, "feature %u %1s ", tree->feature[child],
                rw_model_feature_name(report->model, tree->feature[child]));
        rw_chart_condition(out, report->model, tree, child, rw_html_float(tree->cut[child], text));
        fprintf(out, ", missing to %s</td><td>%.6g</td>", tree->missing_left[child] ? "yes" : "no",
                tree->gain[child]);
    }
    fprintf(out, "<td>%u</td></tr>\n", drawn->node_docs[child]);
    if (level < RW_CHART_TREE_LEVELS) {
        tree_rows(report, drawn, tree->left[child], level + 1, out);
        tree_rows(report, drawn, tree->right[child], level + 1, out);
    }
}

static void trees(const struct rw_report *report, FILE *out)
{
    if (report->n_trees == 0)
        fputs(report->model->n_trees ? "<p>No tree was requested.</p>\n"
                                     : "<p>The model has no trees: all scores are 0.</p>\n",
              out);
    else
        fprintf(out,
                "<p class=\"lead\">The top levels of the first %d of %d trees. Upper branch: the "
                "condition holds. \"Missing\": the branch of missing values. The numbers of "
                "documents are those of this data.</p>\n<div class=\"trees\">\n",
                report->n_trees, report->model->n_trees);
    for (int t = 0; t < report->n_trees; t++) {
        const struct rw_report_tree *drawn = &report->tree[t];
        char about[96];
        snprintf(about, sizeof(about), "Top levels of tree %d of %d, which has %d lea%s", t + 1,
                 report->model->n_trees, drawn->tree->n_leaves,
                 drawn->tree->n_leaves == 1 ? "f" : "ves");
        fprintf(out,
                "<div>\n<h3>Tree %d: %d lea%s</h3>\n<figure class=\"tree scroll\" tabindex=\"0\" "
                "role=\"region\" aria-label=\"Tree %d\">\n",
                t + 1, drawn->tree->n_leaves, drawn->tree->n_leaves == 1 ? "f" : "ves", t + 1);
        rw_chart_tree(out, about, report, drawn);
        fputs("</figure>\n<details><summary>Table of the drawing</summary>", out);
        open_table(out, "Nodes", "", "depth|*node|*split or value|gain|documents", NULL, 0);
        tree_rows(report, drawn, drawn->tree->n_leaves == 1 ? ~0 : 0, 0, out);
        close_table(out);
        fputs("</details>\n</div>\n", out);
    }
    fputs(report->n_trees ? "</div>\n" : "", out);
}

/* HTML of a table row with a name and a value. The value is written by the conversion `format`,
 * which is %1s for text. */
#define VALUE_ROW(format) "<tr><th scope=\"row\">%s</th><td class=\"value\">" format "</td></tr>\n"

static void model(const struct rw_report *report, FILE *out)
{
    const struct rw_model *model = report->model;
    fputs("<div class=\"beside\">\n<table>\n<caption>The model</caption>\n<tbody>\n", out);
    rw_html(out, VALUE_ROW("<bdi>%d</bdi>"), "trees", model->n_trees);
    rw_html(out, VALUE_ROW("<bdi>%lu</bdi>"), "leaves", report->n_leaves);
    rw_html(out, VALUE_ROW("<bdi>%lu</bdi>"), "splits", report->n_splits);
    rw_html(out, VALUE_ROW("<bdi>%d in use, %u in the training set</bdi>"), "features",
            report->n_features, model->n_features);
    if (model->best_round > 0)
        rw_html(out, VALUE_ROW("<bdi>%d</bdi>"), "kept round", model->best_round);
    else
        rw_html(out, VALUE_ROW("%1s"), "kept round", "none: early stopping was off");
    rw_html(out, VALUE_ROW("%1s"), "value of absent features",
            model->absent_missing ? "missing" : "0");
    rw_html(out, VALUE_ROW("%1s"), "rankwood", RW_VERSION);
    rw_html(out, VALUE_ROW("<code>%s</code>") "</tbody></table>\n", "checksum", report->checksum);
    if (model->params.n > 0) {
        fputs("<table class=\"params\">\n<caption>Training parameters</caption>\n<tbody>\n", out);
        for (int32_t i = 0; i < model->params.n; i++) {
            const struct rw_run_param *param = &model->params.param[i];
            char chosen[64];
            snprintf(chosen, sizeof(chosen), "%.40s (auto)", param->value);
            rw_html(out, VALUE_ROW("%1s"), param->name, param->is_auto ? chosen : param->value);
        }
        fputs("</tbody></table>\n", out);
    } else {
        fputs("<p>The model file has no training parameters.</p>\n", out);
    }
    fputs("</div>\n", out);
}

/* ---- the page ---- */

/* A section of the page. id: its name in links. title: its heading, where %s is replaced by the
 * first metric. link: its text in the list of sections. write: writes everything below the heading.
 */
static const struct section {
    const char *id, *title, *link;
    void (*write)(const struct rw_report *report, FILE *out);
} sections[] = {
    {"metrics", "Metrics", "Metrics", metrics},
    {"curves", "Learning curves", "Learning curves", learning_curves},
    {"queries", "%s by query", "By query", queries},
    {"sizes", "%s by query size", "By query size", sizes},
    {"scores", "Scores by label", "Scores by label", scores},
    {"features", "Features", "Features", features},
    {"trees", "Trees", "Trees", trees},
    {"model", "Model and parameters", "Model", model},
    {"drift", "Drift from the reference", "Drift", drift},
};
/* Returns the number of sections. The last one, drift, needs a reference. */
static int n_sections(const struct rw_report *report)
{
    return (int)(sizeof(sections) / sizeof(sections[0])) - (report->drift.n == 0);
}

static void head(const struct rw_report *report, FILE *out)
{
    const struct rw_report_options *options = report->options;
    const char *title = options->title ? options->title : "Ranking report";
    rw_html(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'\">\n"
            "<meta name=\"generator\" content=\"rankwood " RW_VERSION "\">\n<title>%s</title>\n"
            "<style>\n%-s</style>\n</head>\n<body>\n<header>\n<h1>%s</h1>\n<p class=\"lead\">",
            title, rw_report_css, title);
    if (options->model_name)
        rw_html(out, "Model <b>%1s</b>", options->model_name);
    if (options->data_name)
        rw_html(out, "%seasured on <b>%1s</b>", options->model_name ? ", m" : "M",
                options->data_name);
    fputs("</p>\n<dl class=\"tiles\">\n", out);
    for (int i = 0; i < report->eval->n_metrics && i < 2; i++)
        rw_html(out, "<div><dt>%s</dt><dd>%f</dd></div>\n", report->eval->metrics[i].name,
                report->eval->metrics[i].mean);
    fprintf(out,
            "<div><dt>queries</dt><dd>%u</dd></div>\n<div><dt>documents</dt><dd>%u</dd></div>\n"
            "<div><dt>trees</dt><dd>%d</dd></div>\n<div><dt>features in use</dt><dd>%d</dd></div>\n"
            "</dl>\n<nav aria-label=\"Sections\"><ul>\n",
            report->eval->n_queries, report->eval->n_docs, report->model->n_trees,
            report->n_features);
    for (int i = 0; i < n_sections(report); i++)
        fprintf(out, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].link);
    fputs("</ul></nav>\n</header>\n<main>\n", out);
}

/* Writes the page. Errors stay in the stream's state. The caller has set the "C" locale. */
static void write_page(const struct rw_report *report, FILE *out)
{
    head(report, out);
    for (int i = 0; i < n_sections(report); i++) {
        const struct section *at = &sections[i];
        rw_html(out, "<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h2 id=\"%s-h\">", at->id,
                at->id, at->id);
        rw_html(out, at->title, metric_name(report));
        fputs("</h2>\n", out);
        at->write(report, out);
        fputs("</section>\n", out);
    }
    fputs("</main>\n<footer><p>Made by rankwood " RW_VERSION
          ". The checksum is the last line of the "
          "model's file.</p></footer>\n</body>\n"
          "</html>\n",
          out);
}

int rw_report(struct rw_ctx *ctx, const struct rw_eval_params *how, const struct rw_model *model,
              const struct rw_dataset *dataset, const struct rw_report_options *options, FILE *out)
{
    RW_DEFAULT_FPENV;
    struct rw_report report = {0};
    int status = RW_OK, tied = 0;
    /* Sets the locale of this thread only: the host program's may write 0,5. */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: no room for a locale");
    const locale_t before = uselocale(plain);
    RW_TRY_OUT(rw_report_gather(ctx, how, model, dataset, options, &report));
    while (tied < report.eval->n_metrics &&
           !(fabs(report.eval->metrics[tied].ties_moved) > ties_matter))
        tied++;
    if (tied < report.eval->n_metrics)
        rw_log(ctx, RW_LOG_WARNING,
               "with tied documents in the opposite order, %s would change by %+.6f",
               report.eval->metrics[tied].name, report.eval->metrics[tied].ties_moved);
    errno = 0;
    write_page(&report, out);
    if (fflush(out) != 0 || ferror(out))
        status = rw_fail_io(ctx, errno, "cannot write the page");
out:
    uselocale(before);
    freelocale(plain);
    rw_report_release(&report);
    return status;
}
