/* A report's figures: how a model ranks a data set, query by query, by size, by label. */
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/system.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "model/model_text.h"

static const double ties_matter = 0.001; /* as 'eval' has it */
static const double shares[5] = {0.05, 0.25, 0.5, 0.75, 0.95};

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ------------------------------------------------------------------ groups and bins */

/* Cuts [n] rising keys into groups, equal keys in one: each key its own if there are at most
 * `most`, else groups of about as many. Returns how many. */
static int cut_groups(const double *key, uint32_t n, int most, struct rw_report_group *group)
{
    uint32_t n_different = n > 0;
    int n_groups = 0;
    for (uint32_t i = 1; i < n; i++)
        n_different += key[i] != key[i - 1];
    for (uint32_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        if (n_different > (uint32_t)most) {
            /* Up to the next of `most` even shares: rounded up, so that no share begins twice. */
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

static int group_of(const struct rw_report_group *group, int n_groups, double key)
{
    int g = 0;
    while (g < n_groups - 1 && key > group[g].most)
        g++;
    return g;
}

/* values: [n], sorted by this. */
static void spread(double *values, uint32_t n, double at[5])
{
    if (n > 1)
        qsort(values, n, sizeof(*values), rising);
    for (int i = 0; i < 5; i++) {
        const double rank = ceil(shares[i] * n); /* of the quantile, from 1 */
        at[i] = n == 0 ? (double)NAN : values[rank < 1 ? 0 : (uint32_t)rank - 1];
    }
}

/* from < to. */
static int bin_of(double value, double from, double to, int n_bins)
{
    const int bin = (int)((value - from) / (to - from) * n_bins);
    return bin < 0 ? 0 : bin < n_bins ? bin : n_bins - 1;
}

/* A range of values that has a width. */
static void widen(double *from, double *to)
{
    if (*from < *to)
        return;
    const double by = fabs(*from) > 1 ? fabs(*from) / 2 : 0.5;
    *from -= by;
    *to += by;
}

/* ------------------------------------------------------------------ by query */

struct ranked {
    double key; /* the worse the smaller */
    uint32_t query;
};

static int by_rising_key(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->query < y->query ? -1 : x->query > y->query;
}

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

static int count_queries(struct rw_ctx *ctx, struct rw_report *report)
{
    const double *value = report->eval->metrics[0].per_query;
    const uint32_t n_all = report->eval->n_queries;
    RW_FREED struct ranked *ranked = NULL;
    uint32_t n = 0;
    RW_TRY(RW_NEW(ctx, ranked, n_all));
    double least = 0.0, most = 1.0;
    for (uint32_t q = 0; q < n_all; q++) {
        if (isnan(value[q]))
            continue;
        least = value[q] < least ? value[q] : least;
        most = value[q] > most ? value[q] : most;
        ranked[n++] = (struct ranked){report->lower_is_better ? -value[q] : value[q], q};
    }
    report->value_from = least;
    report->value_to = most;
    for (uint32_t i = 0; i < n; i++)
        report->value_bin[bin_of(value[ranked[i].query], least, most, RW_REPORT_VALUE_BINS)]++;
    if (n > 1)
        qsort(ranked, n, sizeof(*ranked), by_rising_key);
    report->n_queries = n < RW_REPORT_QUERIES ? (int)n : RW_REPORT_QUERIES;
    for (int i = 0; i < report->n_queries; i++) {
        report->worst[i] = name_query(report, ranked[i].query);
        report->best[i] = name_query(report, ranked[n - 1 - (uint32_t)i].query);
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

/* What eval says of the queries of one size alone. keep: [n_queries]; scores: scratch, [n_docs]. */
static int measure_size(struct rw_ctx *ctx, const struct rw_eval_params *how,
                        const struct rw_report *report, const uint8_t *keep, double *scores,
                        struct rw_report_group *group)
{
    struct rw_dataset bare = *report->dataset; /* features do not matter: all borrowed */
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
    qsort(value, n, sizeof(*value), rising);
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

/* ------------------------------------------------------------------ by label */

static int count_labels(struct rw_ctx *ctx, struct rw_report *report)
{
    const uint32_t n = report->dataset->n_docs;
    const float *label = report->dataset->label;
    RW_FREED double *value = NULL;
    RW_TRY(RW_NEW_RAW(ctx, value, n));
    for (uint32_t d = 0; d < n; d++)
        value[d] = (double)label[d];
    qsort(value, n, sizeof(*value), rising);
    report->n_labels = cut_groups(value, n, RW_REPORT_LABELS, report->label);
    report->score_from = report->score_to = report->scores[0];
    for (uint32_t d = 0; d < n; d++) {
        const double score = report->scores[d];
        report->score_from = score < report->score_from ? score : report->score_from;
        report->score_to = score > report->score_to ? score : report->score_to;
    }
    widen(&report->score_from, &report->score_to);
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

/* A report's figures of the model: its file's checksum, features, and the first trees with the
 * documents that reach their nodes. */
static int keep_checksum(struct rw_ctx *ctx, struct rw_report *report)
{
    RW_FREED char *text = NULL;
    size_t n;
    RW_TRY(rw_model_print(ctx, report->model, &text, &n));
    /* "checksum ", 8 digits, the line's end */
    memcpy(report->checksum, text + n - RW_CHECKSUM_DIGITS - 1, RW_CHECKSUM_DIGITS);
    return RW_OK;
}

/* ------------------------------------------------------------------ features */

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
    const struct rw_permutation permutation = {.how = how,
                                               .model = report->model,
                                               .dataset = report->dataset,
                                               .n_repeats = report->options->n_repeats};
    RW_FREED struct rw_permuted *permuted = NULL;
    RW_FREED int *index = NULL; /* in `permuted`, by id */
    RW_TRY(RW_NEW(ctx, permuted, (size_t)report->n_features));
    RW_TRY(RW_NEW(ctx, index, RW_FEATURE_IDS));
    RW_TRY(rw_permutation_run(ctx, &permutation, &report->permuted_value, permuted,
                              report->n_features));
    for (int i = 0; i < report->n_features; i++)
        index[permuted[i].feature] = i;
    for (int i = 0; i < report->n_features; i++)
        report->feature[i].permuted = permuted[index[report->feature[i].use.feature]];
    return rw_eval_conventions(ctx, how, report->permuted_by, sizeof(report->permuted_by));
}

/* ------------------------------------------------------------------ trees */

/* Sums up from the leaves: a node's documents and leaves are those of its children. */
static int sum_nodes(struct rw_ctx *ctx, struct rw_report_tree *drawn)
{
    const struct rw_tree *tree = drawn->tree;
    const int32_t n_nodes = tree->n_leaves - 1;
    int32_t *order; /* a node stands before its children */
    RW_TRY(RW_NEW(ctx, order, (size_t)n_nodes));
    int32_t n = n_nodes > 0; /* order[0]: the root */
    for (int32_t i = 0; i < n; i++) {
        const int32_t child[2] = {tree->left[order[i]], tree->right[order[i]]};
        for (int side = 0; side < 2; side++) {
            if (child[side] >= 0)
                order[n++] = child[side];
        }
    }
    for (int32_t i = n - 1; i >= 0; i--) {
        const int32_t node = order[i], child[2] = {tree->left[node], tree->right[node]};
        for (int side = 0; side < 2; side++) {
            const int is_leaf = child[side] < 0;
            drawn->node_docs[node] +=
                is_leaf ? drawn->leaf_docs[~child[side]] : drawn->node_docs[child[side]];
            drawn->node_leaves[node] += is_leaf ? 1 : drawn->node_leaves[child[side]];
        }
    }
    rw_mem_free(order);
    return RW_OK;
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
        RW_TRY(sum_nodes(ctx, drawn));
    }
    return RW_OK;
}

static int describe_model(struct rw_ctx *ctx, const struct rw_eval_params *how,
                          struct rw_report *report)
{
    report->permuted_value = (double)NAN;
    RW_TRY(keep_checksum(ctx, report));
    RW_TRY(list_features(ctx, report));
    if (report->options->n_repeats > 0 && report->n_features > 0)
        RW_TRY(permute(ctx, how, report));
    return count_trees(ctx, report);
}

/* ------------------------------------------------------------------ all of it */

static int check(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_report_options *options)
{
    if (options->n_trees < 0 || options->n_trees > 100)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d trees to draw; expected 0 to 100",
                       options->n_trees);
    if (options->n_repeats < 0 || options->n_repeats > 1000)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d repeats; expected 0 to 1000", options->n_repeats);
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
    *out = (struct rw_report){.model = model, .dataset = dataset, .options = options};
    RW_TRY(check(ctx, dataset, options));
    RW_TRY(rw_eval_metrics(ctx, how, metrics, &n_metrics));
    out->lower_is_better = metrics[0].kind->lower_is_better;
    RW_TRY(RW_ARENA_NEW(ctx, &out->arena, out->scores, dataset->n_docs));
    RW_TRY(rw_predict(ctx, model, dataset, 0, out->scores));
    RW_TRY(evaluate(ctx, how, out, dataset, out->scores, &out->eval));
    RW_TRY(count_queries(ctx, out));
    RW_TRY(count_sizes(ctx, how, out));
    RW_TRY(count_labels(ctx, out));
    return describe_model(ctx, how, out);
}

void rw_report_release(struct rw_report *report)
{
    rw_arena_free(&report->arena);
    rw_free(report->eval);
    *report = (struct rw_report){0};
}

static void warn_of_ties(struct rw_ctx *ctx, const struct rw_eval *eval)
{
    int i = 0;
    while (i < eval->n_metrics && !(fabs(eval->metrics[i].ties_moved) > ties_matter))
        i++;
    if (i < eval->n_metrics)
        rw_log(ctx, RW_LOG_WARNING,
               "with tied documents in the opposite order, %s would move by %+.6f",
               eval->metrics[i].name, eval->metrics[i].ties_moved);
}

int rw_report(struct rw_ctx *ctx, const struct rw_eval_params *how, const struct rw_model *model,
              const struct rw_dataset *dataset, const struct rw_report_options *options, FILE *out)
{
    RW_DEFAULT_FPENV;
    struct rw_report report = {0};
    int status = RW_OK;
    /* Of this thread only: a host program's locale may write 0,5. */
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: no room for a locale");
    const locale_t before = uselocale(plain);
    RW_TRY_OUT(rw_report_gather(ctx, how, model, dataset, options, &report));
    warn_of_ties(ctx, report.eval);
    errno = 0;
    rw_report_page(&report, out);
    if (fflush(out) != 0 || ferror(out))
        status = rw_fail_io(ctx, errno, "cannot write the page");
out:
    uselocale(before);
    freelocale(plain);
    rw_report_release(&report);
    return status;
}
