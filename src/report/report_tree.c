/* The top of a tree, drawn from left to right: the upper branch is the one of "yes". */
#include "report/report_charts.h"
#include "report/report_html.h"

static const double box_width = 176, box_height = 40, column = 250, row = 50, margin = 8;

enum { LINE = 22 }; /* letters within a box */

struct drawing {
    FILE *out;
    const struct rw_model *model;
    const struct rw_report_tree *drawn;
    int rows; /* taken so far */
};

static int drawn_rows(const struct rw_tree *tree, int32_t child, int level)
{
    if (child < 0 || level == RW_CHART_TREE_LEVELS)
        return 1;
    return drawn_rows(tree, tree->left[child], level + 1) +
           drawn_rows(tree, tree->right[child], level + 1);
}

static void text_at(FILE *out, const char *kind, double x, double y)
{
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", kind, x, y);
}

static void draw_split(const struct drawing *d, int32_t node, double x, double y)
{
    const struct rw_tree *tree = d->drawn->tree;
    const char *name = rw_model_feature_name(d->model, tree->feature[node]);
    char cut[RW_HTML_ROOM], number[RW_HTML_ROOM];
    rw_html_float(tree->cut[node], cut);
    fprintf(d->out, "<g><title>node %d: feature %u ", node, tree->feature[node]);
    rw_html_text(d->out, name);
    fprintf(d->out, " \xe2\x89\xa4 %s, missing %s, gain %.17g, documents %u</title>\n", cut,
            tree->missing_left[node] ? "yes" : "no", tree->gain[node], d->drawn->node_docs[node]);
    fprintf(d->out,
            "<rect class=\"node\" x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" rx=\"5\"/>", x,
            y - box_height / 2, box_width, box_height);
    text_at(d->out, "test", x + 8, y - 4);
    snprintf(number, sizeof(number), "feature %u", tree->feature[node]);
    const int n = snprintf(cut, sizeof(cut), " \xe2\x89\xa4 %.4g", (double)tree->cut[node] + 0.0);
    rw_html_cut(d->out, *name ? name : number, LINE - (n - 2)); /* one sign has three bytes */
    fprintf(d->out, "%s</text>\n", cut);
    text_at(d->out, "small", x + 8, y + 12);
    fprintf(d->out, "gain %.4g, %u docs</text></g>\n", tree->gain[node], d->drawn->node_docs[node]);
}

static void draw_leaf(const struct drawing *d, int32_t leaf, double x, double y)
{
    const struct rw_tree *tree = d->drawn->tree;
    char value[RW_HTML_ROOM];
    fprintf(d->out,
            "<g><title>leaf %d: %s, documents %u</title>\n"
            "<rect class=\"leaf\" x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" rx=\"19\"/>",
            leaf, rw_html_float(tree->leaf[leaf], value), d->drawn->leaf_docs[leaf], x,
            y - box_height / 2 + 1, box_width, box_height - 2);
    text_at(d->out, "test mid", x + box_width / 2, y - 4);
    fprintf(d->out, "%+.5g</text>\n", (double)tree->leaf[leaf] + 0.0);
    text_at(d->out, "small mid", x + box_width / 2, y + 12);
    fprintf(d->out, "leaf %d, %u docs</text></g>\n", leaf, d->drawn->leaf_docs[leaf]);
}

static void draw_rest(const struct drawing *d, int32_t node, double x, double y)
{
    fprintf(d->out,
            "<g><rect class=\"rest\" x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" rx=\"5\"/>",
            x, y - box_height / 2 + 1, box_width, box_height - 2);
    text_at(d->out, "test mid", x + box_width / 2, y - 4);
    fprintf(d->out, "%d more leaves</text>\n", d->drawn->node_leaves[node]);
    text_at(d->out, "small mid", x + box_width / 2, y + 12);
    fprintf(d->out, "%u docs</text></g>\n", d->drawn->node_docs[node]);
}

static void draw_edge(const struct drawing *d, double x, double y, double to_y, const char *answer,
                      int missing)
{
    const double from_x = x + box_width, to_x = x + column, mid = (from_x + to_x) / 2;
    fprintf(d->out, "<path class=\"edge\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\"/>", from_x,
            y, mid, y, mid, to_y, to_x, to_y);
    text_at(d->out, "small end", to_x - 4, to_y + (to_y < y ? -4 : 12));
    fprintf(d->out, "%s%s</text>\n", answer, missing ? ", missing" : "");
}

/* Draws what hangs below and returns where the child stands. At most RW_CHART_TREE_LEVELS deep. */
static double draw(struct drawing *d, int32_t child, int level)
{
    const struct rw_tree *tree = d->drawn->tree;
    const double x = margin + level * column;
    double y;
    if (child < 0 || level == RW_CHART_TREE_LEVELS) {
        y = margin + (d->rows++ + 0.5) * row;
        if (child < 0)
            draw_leaf(d, ~child, x, y);
        else
            draw_rest(d, child, x, y);
        return y;
    }
    const double yes = draw(d, tree->left[child], level + 1);
    const double no = draw(d, tree->right[child], level + 1);
    y = (yes + no) / 2;
    draw_edge(d, x, y, yes, "yes", tree->missing_left[child]);
    draw_edge(d, x, y, no, "no", !tree->missing_left[child]);
    draw_split(d, child, x, y);
    return y;
}

void rw_chart_tree(FILE *out, const struct rw_chart_words *words, const struct rw_report *report,
                   const struct rw_report_tree *drawn)
{
    struct drawing d = {.out = out, .model = report->model, .drawn = drawn};
    const int32_t root = drawn->tree->n_leaves == 1 ? ~0 : 0;
    rw_chart_open(out, words, 2 * margin + RW_CHART_TREE_LEVELS * column + box_width,
                  2 * margin + row * drawn_rows(drawn->tree, root, 0));
    draw(&d, root, 0);
    fputs("</svg>\n", out);
}
