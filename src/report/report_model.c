/* A report's figures of the model: its file's checksum, features, and the first trees with the
 * documents that reach their nodes. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "model/model_text.h"
#include "report/report.h"

static int keep_checksum(struct rw_ctx *ctx, struct rw_report *report)
{
    char *text;
    size_t n;
    RW_TRY(rw_model_print(ctx, report->model, &text, &n));
    /* "checksum ", 8 digits, the line's end */
    memcpy(report->checksum, text + n - RW_CHECKSUM_DIGITS - 1, RW_CHECKSUM_DIGITS);
    rw_mem_free(text);
    return RW_OK;
}

/* ------------------------------------------------------------------ features */

static int list_features(struct rw_ctx *ctx, struct rw_report *report)
{
    struct rw_feature_use *uses = NULL;
    int status = RW_OK;
    const int n = rw_model_features(report->model, NULL, 0);
    if (n < 0)
        return rw_fail(ctx, n, "out of memory: features in use");
    RW_TRY_OUT(RW_NEW(ctx, report->feature, (size_t)n));
    RW_TRY_OUT(RW_NEW(ctx, uses, (size_t)n));
    if (rw_model_features(report->model, uses, n) < 0) {
        status = rw_fail(ctx, RW_ERR_MEMORY, "out of memory: features in use");
        goto out;
    }
    report->n_features = n;
    for (int i = 0; i < n; i++) {
        report->feature[i].use = uses[i];
        report->gain += uses[i].gain;
        report->n_splits += uses[i].n_splits;
    }
    for (int32_t t = 0; t < report->model->n_trees; t++)
        report->n_leaves += (uint64_t)report->model->tree[t].n_leaves;
out:
    rw_mem_free(uses);
    return status;
}

static int permute(struct rw_ctx *ctx, const struct rw_eval_params *how, struct rw_report *report)
{
    const struct rw_permutation permutation = {.how = how,
                                               .model = report->model,
                                               .dataset = report->dataset,
                                               .n_repeats = report->options->n_repeats,
                                               .on_feature = report->options->on_feature,
                                               .user = report->options->user};
    struct rw_permuted *permuted = NULL;
    int *index = NULL; /* in `permuted`, by id */
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, permuted, (size_t)report->n_features));
    RW_TRY_OUT(RW_NEW(ctx, index, RW_FEATURE_IDS));
    RW_TRY_OUT(rw_permutation_run(ctx, &permutation, &report->permuted_value, permuted,
                                  report->n_features));
    for (int i = 0; i < report->n_features; i++)
        index[permuted[i].feature] = i;
    for (int i = 0; i < report->n_features; i++)
        report->feature[i].permuted = permuted[index[report->feature[i].use.feature]];
    status = rw_eval_conventions(ctx, how, report->permuted_by, sizeof(report->permuted_by));
out:
    rw_mem_free(permuted);
    rw_mem_free(index);
    return status;
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
    int32_t *leaves = NULL; /* [n_docs][n_trees] */
    int status = RW_OK;
    const int n =
        model->n_trees < report->options->n_trees ? model->n_trees : report->options->n_trees;
    if (n == 0)
        return RW_OK;
    RW_TRY_OUT(RW_NEW_RAW(ctx, leaves, (size_t)n_docs * (size_t)n));
    RW_TRY_OUT(RW_NEW(ctx, report->tree, (size_t)n));
    report->n_trees = n;
    RW_TRY_OUT(rw_predict_leaves(ctx, model, report->dataset, n, leaves));
    for (int t = 0; t < n; t++) {
        struct rw_report_tree *drawn = &report->tree[t];
        drawn->tree = &model->tree[t];
        const size_t n_leaves = (size_t)drawn->tree->n_leaves;
        RW_TRY_OUT(RW_NEW(ctx, drawn->leaf_docs, n_leaves));
        RW_TRY_OUT(RW_NEW(ctx, drawn->node_docs, n_leaves));
        RW_TRY_OUT(RW_NEW(ctx, drawn->node_leaves, n_leaves));
        for (size_t d = 0; d < n_docs; d++)
            drawn->leaf_docs[leaves[d * (size_t)n + (size_t)t]]++;
        RW_TRY_OUT(sum_nodes(ctx, drawn));
    }
out:
    rw_mem_free(leaves);
    return status;
}

int rw_report_model(struct rw_ctx *ctx, const struct rw_eval_params *how, struct rw_report *report)
{
    report->permuted_value = (double)NAN;
    RW_TRY(keep_checksum(ctx, report));
    RW_TRY(list_features(ctx, report));
    if (report->options->n_repeats > 0 && report->n_features > 0)
        RW_TRY(permute(ctx, how, report));
    return count_trees(ctx, report);
}

/* The top of a tree, from left to right: the upper branch is the one of "yes". Boxes are elements
 * of HTML in a grid, so that the browser makes them as wide as the names in them. */
enum { NAME = 80 }; /* letters; longer names are cut */

struct drawing {
    FILE *out;
    const struct rw_model *model;
    const struct rw_report_tree *drawn;
    int line; /* of the grid, at the middle of the last box without branches */
};

/* A box covers the row above and the row below its line. Columns of boxes and of branches take
 * turns. */
static void open_box(const struct drawing *d, const char *kind, int level, int line)
{
    fprintf(d->out, "<div class=\"%s\" style=\"grid-area:%d/%d/%d\" title=\"", kind, line - 1,
            2 * level + 1, line + 1);
}

static int depth_drawn(const struct rw_tree *tree, int32_t child, int level)
{
    if (child < 0 || level == RW_CHART_TREE_LEVELS)
        return level;
    const int yes = depth_drawn(tree, tree->left[child], level + 1);
    const int no = depth_drawn(tree, tree->right[child], level + 1);
    return yes > no ? yes : no;
}

void rw_chart_condition(FILE *out, const struct rw_model *model, const struct rw_tree *tree,
                        int32_t node, const char *number)
{
    enum { MOST_BYTES = 400, MOST_LETTERS = 80 };
    char text[MOST_BYTES];
    if (!rw_tree_by_set(tree, node)) {
        fprintf(out, "\xe2\x89\xa4 %s", number);
        return;
    }
    rw_model_condition(model, (int)(tree - model->tree), node, text, sizeof(text));
    rw_html_name_cut(out, text, MOST_LETTERS);
}

static void draw_split(const struct drawing *d, int32_t node, int level, int line)
{
    const struct rw_tree *tree = d->drawn->tree;
    const char *name = rw_model_feature_name(d->model, tree->feature[node]);
    char number[RW_HTML_ROOM];
    open_box(d, "node", level, line);
    fprintf(d->out, "node %d: feature %u ", node, tree->feature[node]);
    rw_html_text(d->out, name);
    fputc(' ', d->out);
    rw_chart_condition(d->out, d->model, tree, node, rw_html_float(tree->cut[node], number));
    fprintf(d->out, ", missing to %s, gain %.17g, documents %u\"><b>",
            tree->missing_left[node] ? "yes" : "no", tree->gain[node], d->drawn->node_docs[node]);
    const int whole = *name && rw_html_name_cut(d->out, name, NAME);
    if (!*name)
        fprintf(d->out, "feature %u", tree->feature[node]);
    snprintf(number, sizeof(number), "%.4g", (double)tree->cut[node] + 0.0);
    fputs(" <span>", d->out);
    rw_chart_condition(d->out, d->model, tree, node, number);
    fputs("</span></b>", d->out);
    fputs("<small>", d->out);
    if (*name && !whole) /* names that differ only where they are cut */
        fprintf(d->out, "feature %u, ", tree->feature[node]);
    fprintf(d->out, "gain %.4g, %u doc%s</small></div>\n", tree->gain[node],
            d->drawn->node_docs[node], rw_html_plural(d->drawn->node_docs[node]));
}

static void draw_leaf(const struct drawing *d, int32_t leaf, int level, int line)
{
    const struct rw_tree *tree = d->drawn->tree;
    char value[RW_HTML_ROOM];
    open_box(d, "leaf", level, line);
    fprintf(d->out,
            "leaf %d: %s, documents %u\"><b>%+.5g</b><small>leaf %d, %u doc%s</small></div>\n",
            leaf, rw_html_float(tree->leaf[leaf], value), d->drawn->leaf_docs[leaf],
            (double)tree->leaf[leaf] + 0.0, leaf, d->drawn->leaf_docs[leaf],
            rw_html_plural(d->drawn->leaf_docs[leaf]));
}

static void draw_rest(const struct drawing *d, int32_t node, int level, int line)
{
    open_box(d, "rest", level, line);
    fprintf(d->out, "node %d, not drawn\"><b>%d more leaves</b><small>%u doc%s</small></div>\n",
            node, d->drawn->node_leaves[node], d->drawn->node_docs[node],
            rw_html_plural(d->drawn->node_docs[node]));
}

/* From the line of a split to that of its child. */
static void draw_branch(const struct drawing *d, int level, int from, int to, int missing)
{
    const int up = to < from;
    fprintf(d->out,
            "<div class=\"branch %s\" style=\"grid-area:%d/%d/%d\"><span>%s%s</span></div>\n",
            up ? "up" : "down", up ? to : from, 2 * level + 2, up ? from : to, up ? "yes" : "no",
            missing ? ", missing" : "");
}

/* Draws what is below and returns the child's line. At most RW_CHART_TREE_LEVELS deep. */
static int draw(struct drawing *d, int32_t child, int level)
{
    const struct rw_tree *tree = d->drawn->tree;
    if (child < 0 || level == RW_CHART_TREE_LEVELS) {
        d->line += 2;
        if (child < 0)
            draw_leaf(d, ~child, level, d->line);
        else
            draw_rest(d, child, level, d->line);
        return d->line;
    }
    const int yes = draw(d, tree->left[child], level + 1);
    const int no = draw(d, tree->right[child], level + 1);
    const int line = (yes + no) / 2;
    draw_branch(d, level, line, yes, tree->missing_left[child]);
    draw_branch(d, level, line, no, !tree->missing_left[child]);
    draw_split(d, child, level, line);
    return line;
}

void rw_chart_tree(FILE *out, const char *about, const struct rw_report *report,
                   const struct rw_report_tree *drawn)
{
    struct drawing d = {.out = out, .model = report->model, .drawn = drawn};
    const int32_t root = drawn->tree->n_leaves == 1 ? ~0 : 0;
    fprintf(out, "<div class=\"drawn\" style=\"--depth:%d\" role=\"img\" aria-label=\"",
            depth_drawn(drawn->tree, root, 0));
    rw_html_text(out, about);
    fputs("\">\n", out);
    draw(&d, root, 0);
    fputs("</div>\n", out);
}
