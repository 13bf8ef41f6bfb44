/* The top of a tree, from left to right: the upper branch is the one of "yes". Boxes are elements
 * of HTML in a grid, so that the browser makes them as wide as the names in them. */
#include "report/report_charts.h"
#include "report/report_html.h"

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
