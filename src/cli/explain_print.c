#include "cli/explain_print.h"

#include <math.h>
#include <stdlib.h>

#include "cli/load.h"
#include "cli/messages.h"

/* ------------------------------------------------------------------ all documents */

static void print_feature(FILE *out, const struct rw_explained_feature *feature)
{
    fprintf(out, "  %7u  ", feature->feature);
    rw_msg_put(out, feature->name);
    fputc('\n', out);
}

static void print_rest(FILE *out, int shown, int n)
{
    if (shown < n)
        fprintf(out, "  ... and %d more: --top %d shows them\n", n - shown, n);
}

static void print_base(FILE *out, double base, int has_covers, const struct rw_dataset *dataset)
{
    char figure[RW_FIGURE_ROOM];
    fprintf(out, "base    %s, the mean score of ", rw_load_figure(base, figure));
    if (has_covers)
        fprintf(out, "the training documents\n");
    else
        fprintf(out, "%u documents\n", rw_dataset_n_docs(dataset));
    fprintf(out, "covers  %s\n", rw_explain_covers(has_covers));
}

void rw_explain_print_summary(FILE *out, const struct rw_explain_summary *summary, int top)
{
    char figure[RW_FIGURE_ROOM], deviation[RW_FIGURE_ROOM];
    const int shown = top < summary->n ? top : summary->n;
    double gain = 0.0;
    for (int i = 0; i < summary->n; i++)
        gain += summary->feature[i].gain;
    print_base(out, summary->base, summary->has_covers, summary->dataset);
    fprintf(out, "sums    base + SHAP values differ from scores by %.2g at most (bound: %.2g)\n",
            summary->most, summary->bound);
    if (summary->n_repeats > 0)
        fprintf(out, "%-7s %s; a feature's loss: the mean of %d permutation%s of its values\n",
                summary->metric, rw_load_figure(summary->value, figure), summary->n_repeats,
                summary->n_repeats == 1 ? "" : "s");
    fprintf(out, "\nfeatures by mean |SHAP|\n  %12s  %7s  %7s", "mean |SHAP|", "gain %", "splits");
    if (summary->n_repeats > 0)
        fprintf(out, "  %10s  %10s", "loss", "deviation");
    fprintf(out, "  %7s  %s\n", "feature", "name");
    for (int i = 0; i < shown; i++) {
        const struct rw_explained_feature *feature = &summary->feature[i];
        fprintf(out, "  %12.6f  %7.2f  %7llu", feature->mean,
                gain > 0 ? 100 * feature->gain / gain : 0.0, (unsigned long long)feature->n_splits);
        if (summary->n_repeats > 0)
            fprintf(out, "  %10s  %10s", rw_load_figure(feature->permuted.loss, figure),
                    rw_load_figure(feature->permuted.deviation, deviation));
        print_feature(out, feature);
    }
    print_rest(out, shown, summary->n);
    if (summary->n_repeats > 0)
        fprintf(out, "\n%s\n", summary->conventions);
}

void rw_explain_json_summary(FILE *out, const struct rw_explain_summary *summary)
{
    json_t *features = json_array();
    for (int i = 0; i < summary->n; i++) {
        const struct rw_explained_feature *feature = &summary->feature[i];
        json_t *row =
            json_pack("{s:I,s:o,s:f,s:f,s:I}", "feature", (json_int_t)feature->feature, "name",
                      rw_load_json_text(feature->name), "mean_abs_shap", feature->mean, "gain",
                      feature->gain, "splits", (json_int_t)feature->n_splits);
        if (summary->n_repeats > 0) {
            json_object_set_new(row, "loss", rw_load_json_number(feature->permuted.loss));
            json_object_set_new(row, "deviation", rw_load_json_number(feature->permuted.deviation));
        }
        json_array_append_new(features, row);
    }
    json_t *all = json_pack("{s:f,s:s,s:f,s:f,s:I,s:i,s:o}", "base", summary->base, "covers",
                            rw_explain_covers(summary->has_covers), "largest_difference",
                            summary->most, "bound", summary->bound, "documents",
                            (json_int_t)rw_dataset_n_docs(summary->dataset), "permutations",
                            summary->n_repeats, "features", features);
    if (summary->n_repeats > 0) {
        json_object_set_new(all, "metric", json_string(summary->metric));
        json_object_set_new(all, "value", rw_load_json_number(summary->value));
        json_object_set_new(all, "conventions", rw_load_json_text(summary->conventions));
    }
    rw_load_json_print(all, out);
}

/* ------------------------------------------------------------------ one document, or two */

/* What is shown in order of size: a feature or a tree. */
struct share {
    double by;
    int at;
};

static int by_size(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    if (fabs(x->by) != fabs(y->by))
        return fabs(x->by) > fabs(y->by) ? -1 : 1;
    return x->at - y->at;
}

static double leaf_of(const struct rw_explain_pair *pair, int side, int tree)
{
    return (double)rw_model_leaf(pair->model, tree, pair->side[side].leaf[tree]);
}

static double feature_share(const struct rw_explain_pair *pair, int i)
{
    return pair->side[0].shap[i] - (pair->n_sides == 2 ? pair->side[1].shap[i] : 0.0);
}

/* Features without a share are left out. Returns how many are left. */
static int sort_features(const struct rw_explain_pair *pair, struct share *shares)
{
    int n = 0;
    for (int i = 0; i < pair->n; i++) {
        const struct share share = {feature_share(pair, i), i};
        const int some =
            pair->side[0].shap[i] != 0.0 || (pair->n_sides == 2 && pair->side[1].shap[i] != 0.0);
        if (some)
            shares[n++] = share;
    }
    qsort(shares, (size_t)n, sizeof(*shares), by_size);
    return n;
}

/* Trees in which two documents fall into different leaves; of one document, all trees. */
static int sort_trees(const struct rw_explain_pair *pair, struct share *shares)
{
    int n = 0;
    for (int t = 0; t < pair->n_trees; t++) {
        if (pair->n_sides == 1)
            shares[n++] = (struct share){leaf_of(pair, 0, t), t};
        else if (pair->side[0].leaf[t] != pair->side[1].leaf[t])
            shares[n++] = (struct share){leaf_of(pair, 0, t) - leaf_of(pair, 1, t), t};
    }
    qsort(shares, (size_t)n, sizeof(*shares), by_size);
    return n;
}

static const char *value_text(float value, char buffer[RW_FIGURE_ROOM])
{
    if (isnan(value))
        return "-";
    snprintf(buffer, RW_FIGURE_ROOM, "%.6g", (double)value + 0.0);
    return buffer;
}

static void print_head(FILE *out, const struct rw_explain_pair *pair)
{
    char figure[RW_FIGURE_ROOM];
    const float *labels = rw_dataset_labels(pair->dataset);
    const double margin = pair->side[0].score - pair->side[pair->n_sides - 1].score;
    fprintf(out, "query %s\n", rw_dataset_query_id(pair->dataset, pair->query));
    for (int s = 0; s < pair->n_sides; s++)
        fprintf(out, "%c       document %s, position %u, label %g, score %s\n", "AB"[s],
                pair -> side[s].id, pair->side[s].position, (double)labels[pair->side[s].doc],
                rw_load_figure(pair->side[s].score, figure));
    if (pair->n_sides == 2)
        fprintf(out, "A - B   %+.6f: A is %s B\n", margin,
                margin > 0   ? "above"
                : margin < 0 ? "below"
                             : "tied with");
    print_base(out, pair->base, pair->has_covers, pair->dataset);
}

static void print_features(FILE *out, const struct rw_explain_pair *pair,
                           const struct share *shares, int n, int top)
{
    char figure[RW_FIGURE_ROOM];
    const int two = pair->n_sides == 2;
    double sum = 0.0;
    fprintf(out, "\nby feature (SHAP values)\n  %10s", two ? "A - B" : "share");
    for (int s = 0; two && s < 2; s++)
        fprintf(out, "  %10c", "AB"[s]);
    for (int s = 0; s < pair->n_sides; s++)
        fprintf(out, "  %10s%s", "value", two ? s ? " B" : " A" : "");
    fprintf(out, "  %7s  %s\n", "feature", "name");
    for (int i = 0; i < n; i++)
        sum += shares[i].by;
    for (int i = 0; i < n && i < top; i++) {
        const int at = shares[i].at;
        fprintf(out, "  %+10.6f", shares[i].by);
        for (int s = 0; two && s < 2; s++)
            fprintf(out, "  %+10.6f", pair->side[s].shap[at]);
        for (int s = 0; s < pair->n_sides; s++)
            fprintf(out, "  %*s", two ? 12 : 10, value_text(pair->side[s].value[at], figure));
        print_feature(out, &pair->feature[at]);
    }
    print_rest(out, top < n ? top : n, n);
    fprintf(out, "  %+10.6f  in all\n", sum);
}

static void print_trees(FILE *out, const struct rw_explain_pair *pair, const struct share *shares,
                        int n, int top)
{
    const int two = pair->n_sides == 2;
    double sum = 0.0;
    fprintf(out, "\nby tree (leaves)\n  %10s", two ? "A - B" : "value");
    for (int s = 0; two && s < 2; s++)
        fprintf(out, "  %10c", "AB"[s]);
    for (int s = 0; s < pair->n_sides; s++)
        fprintf(out, "  %7s%s", "leaf", two ? s ? " B" : " A" : "");
    fprintf(out, "  %5s\n", "tree");
    for (int i = 0; i < n; i++)
        sum += shares[i].by;
    for (int i = 0; i < n && i < top; i++) {
        const int t = shares[i].at;
        fprintf(out, "  %+10.6f", shares[i].by);
        for (int s = 0; two && s < 2; s++)
            fprintf(out, "  %+10.6f", leaf_of(pair, s, t));
        for (int s = 0; s < pair->n_sides; s++)
            fprintf(out, "  %*d", two ? 9 : 7, pair->side[s].leaf[t]);
        fprintf(out, "  %5d\n", t + 1);
    }
    print_rest(out, top < n ? top : n, n);
    fprintf(out, "  %+10.6f  in all\n", sum);
    if (two)
        fprintf(out, "\nin %d of %d trees A and B fall into one leaf\n", pair->n_trees - n,
                pair->n_trees);
}

/* Room for all features, and for all trees. */
static struct share *new_shares(const struct rw_explain_pair *pair)
{
    return rw_need((size_t)(pair->n > pair->n_trees ? pair->n : pair->n_trees),
                   sizeof(struct share));
}

void rw_explain_print_pair(FILE *out, const struct rw_explain_pair *pair, int top)
{
    struct share *shares = new_shares(pair);
    print_head(out, pair);
    print_features(out, pair, shares, sort_features(pair, shares), top);
    print_trees(out, pair, shares, sort_trees(pair, shares), top);
    free(shares);
}

/* "a", and of two documents "b". */
static void set_sides(json_t *row, int n_sides, const char *prefix, json_t *const values[2])
{
    char name[16];
    for (int s = 0; s < n_sides; s++) {
        snprintf(name, sizeof(name), "%s%c", prefix, "ab"[s]);
        json_object_set_new(row, name, values[s]);
    }
}

static json_t *feature_row(const struct rw_explain_pair *pair, const struct share *share)
{
    const struct rw_explained_feature *feature = &pair->feature[share->at];
    json_t *row = json_pack("{s:I,s:o,s:f}", "feature", (json_int_t)feature->feature, "name",
                            rw_load_json_text(feature->name), "share", share->by);
    json_t *shap[2], *value[2];
    for (int s = 0; s < pair->n_sides; s++) {
        shap[s] = json_real(pair->side[s].shap[share->at]);
        value[s] = rw_load_json_number((double)pair->side[s].value[share->at]);
    }
    set_sides(row, pair->n_sides, "", shap);
    set_sides(row, pair->n_sides, "value_", value);
    return row;
}

static json_t *tree_row(const struct rw_explain_pair *pair, const struct share *share)
{
    json_t *row = json_pack("{s:i,s:f}", "tree", share->at + 1, "share", share->by);
    json_t *value[2], *leaf[2];
    for (int s = 0; s < pair->n_sides; s++) {
        value[s] = json_real(leaf_of(pair, s, share->at));
        leaf[s] = json_integer(pair->side[s].leaf[share->at]);
    }
    set_sides(row, pair->n_sides, "", value);
    set_sides(row, pair->n_sides, "leaf_", leaf);
    return row;
}

void rw_explain_json_pair(FILE *out, const struct rw_explain_pair *pair)
{
    const float *labels = rw_dataset_labels(pair->dataset);
    struct share *shares = new_shares(pair);
    json_t *documents = json_array(), *features = json_array(), *trees = json_array();
    for (int s = 0; s < pair->n_sides; s++)
        json_array_append_new(
            documents, json_pack("{s:o,s:I,s:f,s:f}", "id", rw_load_json_text(pair->side[s].id),
                                 "position", (json_int_t)pair->side[s].position, "label",
                                 (double)labels[pair->side[s].doc], "score", pair->side[s].score));
    const int n_features = sort_features(pair, shares);
    for (int i = 0; i < n_features; i++)
        json_array_append_new(features, feature_row(pair, &shares[i]));
    const int n_trees = sort_trees(pair, shares);
    for (int i = 0; i < n_trees; i++)
        json_array_append_new(trees, tree_row(pair, &shares[i]));
    free(shares);
    rw_load_json_print(
        json_pack("{s:o,s:o,s:f,s:f,s:s,s:f,s:o,s:i,s:o}", "query",
                  rw_load_json_text(rw_dataset_query_id(pair->dataset, pair->query)), "documents",
                  documents, "margin",
                  pair->side[0].score - (pair->n_sides == 2 ? pair->side[1].score : pair->base),
                  "base", pair->base, "covers", rw_explain_covers(pair->has_covers), "bound",
                  pair->bound, "features", features, "trees_of_one_leaf",
                  pair->n_sides == 2 ? pair->n_trees - n_trees : 0, "trees", trees),
        out);
}
