/* Draws the charts of a report and writes escaped HTML. Charts are SVG, except trees, which are
 * HTML elements in a grid. report.h describes each chart. */
#include <limits.h>

#include "report/report.h"

/* The ticks of an axis, at the values (first + i) * step. */
struct ticks {
    double first, step;
    int n;
    int letters; /* length of the longest label */
};

/* A plot: data within axes. A drawing fills the width that the page gives it, so positions are in
 * percent of the plot. Sizes of text and lines are in pixels. */
struct plot {
    FILE *out;
    const struct rw_chart_words *words;
    double x0, x1, y0, y1; /* data at the left, right, bottom, top; equal ends: no axis */
    struct ticks x, y;
    int least_height; /* in pixels */
};

/* Return the position of a value in percent, from the left and from the top. */
static double at_x(const struct plot *plot, double x)
{
    return (x - plot->x0) / (plot->x1 - plot->x0) * 100;
}

static double at_y(const struct plot *plot, double y)
{
    return 100 - (y - plot->y0) / (plot->y1 - plot->y0) * 100;
}

static void close_plot(const struct plot *plot)
{
    rw_html(plot->out, "<p class=\"axis mid\">%s</p>\n</div>\n", plot->words->x);
}

/* SVG paths have no percentages. They are drawn in a box of 100 by 100 that is stretched. */
static const char open_paths[] = "<svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\">\n";

/* Returns a step of 1, 2 or 5 times a power of ten that divides the range into about `n` steps. */
static double nice_step(double range, int n)
{
    static const double steps[] = {1, 2, 5, 10};
    const double rough = range / n, ten = pow(10, floor(log10(rough)));
    int i = 0;
    while (i < 3 && rough > ten * steps[i])
        i++;
    return ten * steps[i];
}

static const char *tick_text(double value, double step, char buffer[RW_HTML_ROOM])
{
    const double shown = fabs(value) < step * 1e-6 ? 0.0 : value;
    const int decimals = (int)-floor(log10(step) + 1e-9);
    if (step < 1e-5 || fabs(value) >= 1e6)
        snprintf(buffer, RW_HTML_ROOM, "%.3g", shown);
    else
        snprintf(buffer, RW_HTML_ROOM, "%.*f", decimals > 0 ? decimals : 0, shown);
    return buffer;
}

/* Chooses about `about` ticks. whole: 1 for whole numbers only. */
static struct ticks ticks_of(double from, double to, int about, int whole)
{
    char text[RW_HTML_ROOM];
    double step = nice_step(to - from, about);
    if (whole && step < 1)
        step = 1;
    const double first = ceil(from / step - 1e-9), last = floor(to / step + 1e-9);
    struct ticks ticks = {.first = first, .step = step, .n = (int)(last - first) + 1};
    for (int i = 0; i < ticks.n; i++) {
        const int letters = (int)strlen(tick_text((first + i) * step, step, text));
        ticks.letters = letters > ticks.letters ? letters : ticks.letters;
    }
    return ticks;
}

/* Chooses about six ticks, or fewer if they would overlap in a narrow window. */
static struct ticks x_ticks_of(const struct plot *plot, int whole)
{
    enum { LETTERS = 38 };
    struct ticks ticks;
    int about = 6;
    do
        ticks = ticks_of(plot->x0, plot->x1, about, whole);
    while (ticks.n * (ticks.letters + 2) > LETTERS && --about > 0);
    return ticks;
}

/* Draws the axes of the plot and the ticks of y. whole_x, whole_y: 1 for ticks at whole numbers
 * only. The left margin fits the labels of y, the right margin half a label of x. */
static void open_plot(struct plot *plot, int whole_x, int whole_y)
{
    static const double letter = 7.7; /* pixels per digit in the widest common font */
    FILE *out = plot->out;
    char text[RW_HTML_ROOM];
    if (plot->x0 < plot->x1)
        plot->x = x_ticks_of(plot, whole_x);
    if (plot->y0 < plot->y1)
        plot->y = ticks_of(plot->y0, plot->y1, 5, whole_y);
    fprintf(out, "<div class=\"plot\" style=\"padding:0 %.0fpx 0 %.0fpx\">\n",
            fmax(8, plot->x.letters * letter / 2 + 2), fmax(plot->y.letters, 2) * letter + 8);
    if (*plot->words->y)
        rw_html(out, "<p class=\"axis\">%s</p>\n", plot->words->y);
    rw_html(out,
            "<svg class=\"chart\" style=\"min-height:%dpx\" role=\"img\" "
            "aria-labelledby=\"%-s-title\">\n<title id=\"%-s-title\">%s</title>\n"
            "<line class=\"base\" x1=\"0\" x2=\"100%%\" y1=\"100%%\" y2=\"100%%\"/>\n",
            plot->least_height, plot->words->id, plot->words->id, plot->words->about);
    for (int i = 0; i < plot->y.n; i++) {
        const double value = (plot->y.first + i) * plot->y.step, y = at_y(plot, value);
        fprintf(out,
                "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>"
                "<text class=\"tick end\" x=\"-6\" y=\"%.2f%%\" dy=\"4\">%s</text>\n",
                y, y, y, tick_text(value, plot->y.step, text));
    }
}

static void draw_x_ticks(const struct plot *plot)
{
    char text[RW_HTML_ROOM];
    for (int i = 0; i < plot->x.n; i++) {
        const double value = (plot->x.first + i) * plot->x.step;
        fprintf(plot->out,
                "<text class=\"tick mid\" x=\"%.2f%%\" y=\"100%%\" dy=\"18\">%s</text>\n",
                at_x(plot, value), tick_text(value, plot->x.step, text));
    }
}

/* Draws a vertical line at x percent. Its label is dy pixels below y percent. */
static void draw_mark(FILE *out, double x, int y, int dy, const char *text)
{
    fprintf(out,
            "<line class=\"mark\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"100%%\"/>"
            "<text class=\"note %s\" x=\"%.2f%%\" dx=\"%d\" y=\"%d%%\" dy=\"%d\">%s</text>\n",
            x, x, x > 50 ? "end" : "start", x, x > 50 ? -5 : 5, y, dy, text);
}

/* ---- curves ---- */

static double metric_at(const struct rw_curves *curves, int i, int32_t round)
{
    const struct rw_model *model = curves->model;
    return model
        ->metric_value[(size_t)round * (size_t)model->n_metrics + (size_t)curves->column[i]];
}

/* Returns 1 if a value can be drawn. A model file may contain any numbers; differences of larger
 * ones might overflow. */
static int is_drawn(double value)
{
    return fabs(value) <= 1e300;
}

/* Finds the range of the drawn values and widens it a little, more where it is too narrow for
 * steps. Returns 0 if there is no value to draw. */
static int value_range(const struct rw_curves *curves, double *from, double *to)
{
    int any = 0;
    for (int i = 0; i < curves->n; i++) {
        for (int32_t r = 0; r < curves->model->n_rounds_run; r++) {
            const double value = metric_at(curves, i, r);
            if (!is_drawn(value))
                continue;
            *from = any && *from < value ? *from : value;
            *to = any && *to > value ? *to : value;
            any = 1;
        }
    }
    const double range = any ? *to - *from : 0.0;
    const double air = range > 1e-300                ? range * 0.06
                       : any && fabs(*from) > 1e-290 ? fabs(*from) * 0.1
                                                     : 0.5;
    *from -= air;
    *to += air;
    return any;
}

/* Draws a line of up to about 800 rounds, as more are not visible. Rounds without a value are
 * gaps. */
static void draw_line(const struct plot *plot, const struct rw_curves *curves, int i)
{
    const int32_t n = curves->model->n_rounds_run, every = (n + 799) / 800;
    int pen = 0;
    fprintf(plot->out, "<path class=\"line s%d\" d=\"", i % RW_CHART_STYLES);
    for (int32_t r = 0; r < n; r++) {
        const double value = metric_at(curves, i, r);
        if (!is_drawn(value))
            pen = 0;
        else if (r % every == 0 || r == n - 1) {
            fprintf(plot->out, "%s%.2f %.2f", pen ? "L" : "M", at_x(plot, r + 1),
                    at_y(plot, value));
            if (!pen) /* makes a single point visible */
                fputs("h0.01", plot->out);
            pen = 1;
        }
    }
    fputs("\"/>\n", plot->out);
}

void rw_chart_curves(FILE *out, const struct rw_chart_words *words, const struct rw_curves *curves)
{
    char text[RW_HTML_ROOM];
    struct plot plot = {.out = out, .words = words, .x0 = 1, .x1 = curves->model->n_rounds_run};
    if (!value_range(curves, &plot.y0, &plot.y1)) {
        fputs("<p>No round has a value, because no query has a relevant document.</p>\n", out);
        return;
    }
    if (plot.x1 <= plot.x0) {
        plot.x0 -= 0.5;
        plot.x1 += 0.5;
    }
    open_plot(&plot, 1, 0);
    draw_x_ticks(&plot);
    fputs(open_paths, out);
    for (int i = 0; i < curves->n; i++)
        draw_line(&plot, curves, i);
    fputs("</svg>\n", out);
    const int32_t best = curves->model->best_round;
    if (best > 0 && best <= curves->model->n_rounds_run) {
        snprintf(text, sizeof(text), "best: round %d", best);
        draw_mark(out, at_x(&plot, best), 100, -6, text);
    }
    fputs("</svg>\n", out);
    close_plot(&plot);
}

/* ---- values by query ---- */

void rw_chart_values(FILE *out, const struct rw_chart_words *words, const struct rw_report *report)
{
    char figure[RW_HTML_ROOM], text[RW_HTML_ROOM + 8];
    struct plot plot = {
        .out = out, .words = words, .x0 = report->value_from, .x1 = report->value_to, .y1 = 1};
    const double bin = (plot.x1 - plot.x0) / RW_REPORT_VALUE_BINS;
    const double mean = report->eval->metrics[0].mean;
    for (int i = 0; i < RW_REPORT_VALUE_BINS; i++)
        plot.y1 = report->value_bin[i] > plot.y1 ? report->value_bin[i] : plot.y1;
    plot.y1 *= 1.15;
    open_plot(&plot, 0, 1);
    for (int i = 0; i < RW_REPORT_VALUE_BINS; i++) {
        const double top = at_y(&plot, report->value_bin[i]), wide = 100.0 / RW_REPORT_VALUE_BINS;
        fprintf(out,
                "<rect class=\"bar\" x=\"%.2f%%\" y=\"%.2f%%\" width=\"%.2f%%\" height=\"%.2f%%\">"
                "<title>%g to %g: %u</title></rect>\n",
                i * wide + 0.2, top, wide - 0.4, 100 - top, plot.x0 + i * bin,
                plot.x0 + (i + 1) * bin, report->value_bin[i]);
    }
    draw_x_ticks(&plot);
    if (mean >= plot.x0 && mean <= plot.x1) {
        snprintf(text, sizeof(text), "mean %s", rw_html_figure(mean, figure));
        draw_mark(out, at_x(&plot, mean), 0, 10, text);
    }
    fputs("</svg>\n", out);
    close_plot(&plot);
}

/* ---- values by size ---- */

static void draw_box(const struct plot *plot, const struct rw_report_group *group, double x,
                     double wide)
{
    const double y[5] = {at_y(plot, group->at[0]), at_y(plot, group->at[1]),
                         at_y(plot, group->at[2]), at_y(plot, group->at[3]),
                         at_y(plot, group->at[4])};
    fprintf(plot->out,
            "<line class=\"whisker\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>"
            "<rect class=\"box\" x=\"%.2f%%\" y=\"%.2f%%\" width=\"%.2f%%\" height=\"%.2f%%\"/>"
            "<line class=\"median\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>",
            x, x, y[0], y[4], x - wide / 2, y[3], wide, y[1] - y[3] + 0.2, x - wide / 2,
            x + wide / 2, y[2], y[2]);
    fprintf(plot->out, "<circle class=\"mean\" cx=\"%.2f%%\" cy=\"%.2f%%\" r=\"4.5\"/>\n", x,
            at_y(plot, group->mean));
}

void rw_chart_sizes(FILE *out, const struct rw_chart_words *words, const struct rw_report *report)
{
    char text[RW_HTML_ROOM], figure[RW_HTML_ROOM];
    const double slot = 100.0 / report->n_sizes;
    const double air = (report->value_to - report->value_from) * 0.02;
    struct plot plot = {
        .out = out, .words = words, .y0 = report->value_from - air, .y1 = report->value_to + air};
    open_plot(&plot, 0, 0);
    for (int g = 0; g < report->n_sizes; g++) {
        const struct rw_report_group *group = &report->size[g];
        if (isnan(group->mean) || isnan(group->at[0]))
            continue;
        fprintf(out, "<g><title>%s documents: mean %s</title>\n",
                rw_html_range(group->least, group->most, text),
                rw_html_figure(group->mean, figure));
        draw_box(&plot, group, (g + 0.5) * slot, slot < 24 ? slot / 2 : 12);
        fputs("</g>\n", out);
    }
    fputs("</svg>\n<div class=\"slots\">", out);
    for (int g = 0; g < report->n_sizes; g++)
        fprintf(out, "<span>%s</span>",
                rw_html_range(report->size[g].least, report->size[g].most, text));
    fputs("</div>\n", out);
    close_plot(&plot);
}

/* ---- scores by label ---- */

/* Formats a label's range, shortened to the room for it. */
static const char *short_range(const struct rw_report_group *group, char text[RW_HTML_ROOM])
{
    if (group->least == group->most)
        snprintf(text, RW_HTML_ROOM, "%.5g", group->least);
    else
        snprintf(text, RW_HTML_ROOM, "%.3g\xe2\x80\x93%.3g", group->least, group->most);
    return text;
}

void rw_chart_scores(FILE *out, const struct rw_chart_words *words, const struct rw_report *report)
{
    enum { ROW = 48 };
    char text[RW_HTML_ROOM];
    struct plot plot = {.out = out,
                        .words = words,
                        .x0 = report->score_from,
                        .x1 = report->score_to,
                        .least_height = ROW * report->n_labels};
    const double row = 100.0 / report->n_labels, bin = 100.0 / RW_REPORT_SCORE_BINS;
    for (int g = 0; g < report->n_labels; g++)
        plot.y.letters =
            (int)fmax(plot.y.letters, (double)strlen(short_range(&report->label[g], text)));
    open_plot(&plot, 0, 0);
    fputs(open_paths, out);
    for (int g = 0; g < report->n_labels; g++) { /* the best label on top */
        const double base = 100 - g * row;
        uint32_t most = 1;
        for (int i = 0; i < RW_REPORT_SCORE_BINS; i++)
            most = report->score_bin[g][i] > most ? report->score_bin[g][i] : most;
        fprintf(out, "<path class=\"hill\" d=\"M0 %.2f", base);
        for (int i = 0; i < RW_REPORT_SCORE_BINS; i++)
            fprintf(out, "V%.2fH%.1f", base - row * 0.8 * report->score_bin[g][i] / most,
                    (i + 1) * bin);
        fprintf(out, "V%.2fZ\"/>\n", base);
    }
    fputs("</svg>\n", out);
    for (int g = 0; g < report->n_labels; g++) {
        const struct rw_report_group *group = &report->label[g];
        const double base = 100 - g * row;
        fprintf(out,
                "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>"
                "<text class=\"tick end\" x=\"-6\" y=\"%.2f%%\" dy=\"-6\">%s</text>\n",
                base, base, base, short_range(group, text));
        fprintf(out,
                "<line class=\"span\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.2f%%\" y2=\"%.2f%%\"/>"
                "<circle class=\"mean\" cx=\"%.2f%%\" cy=\"%.2f%%\" r=\"4.5\"/>\n",
                at_x(&plot, group->at[1]), at_x(&plot, group->at[3]), base, base,
                at_x(&plot, group->mean), base);
    }
    draw_x_ticks(&plot);
    fputs("</svg>\n", out);
    close_plot(&plot);
}

static void put_character(FILE *out, const unsigned char *c, int n)
{
    static const char special[] = "&<>\"'";
    static const char *const written[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    const char *found = n == 1 ? strchr(special, *c) : NULL;
    if (n == 0 || rw_utf8_is_control(c))
        fputs("\xef\xbf\xbd", out);
    else if (found)
        fputs(written[found - special], out);
    else
        fwrite(c, 1, (size_t)n, out);
}

/* Reads one UTF-8 character. Returns the number of bytes to advance. *n_bytes: 0 for an invalid
 * one. *n_letters: 2 for wide characters, taken as those from U+3000 on. */
static int next_character(const unsigned char *c, int *n_bytes, int *n_letters)
{
    *n_bytes = rw_utf8_bytes(c);
    *n_letters = *n_bytes >= 3 && *c >= 0xe3 ? 2 : 1;
    return *n_bytes ? *n_bytes : 1;
}

/* Writes a text; of one with more than n letters (wide ones count twice), only both ends, with an
 * ellipsis between them. Returns 1 if all of it was written. breaks: 1 lets lines end after '_'. */
static int put_text(FILE *out, const char *text, int n, int breaks)
{
    const unsigned char *c = (const unsigned char *)text;
    int n_bytes, n_letters, n_all = 0, at = 0, n_cut = 0;
    for (; *c && n < INT_MAX; n_all += n_letters)
        c += next_character(c, &n_bytes, &n_letters);
    const int first = n_all <= n ? INT_MAX : n / 2, last = n_all - (n - 1 - n / 2);
    c = (const unsigned char *)text;
    for (int step; *c; c += step, at += n_letters) {
        step = next_character(c, &n_bytes, &n_letters);
        if (n_letters <= first - at || at >= last) {
            put_character(out, c, n_bytes);
            if (breaks && *c == '_')
                fputs("<wbr>", out);
        } else if (n_cut++ == 0) {
            fputs("\xe2\x80\xa6", out);
        }
    }
    return n_cut == 0;
}

int rw_html_name_cut(FILE *out, const char *text, int n)
{
    fputs("<bdi>", out);
    const int whole = put_text(out, text, n, 1);
    fputs("</bdi>", out);
    return whole;
}

void rw_html(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        const size_t plain = strcspn(at, "%");
        fwrite(at, 1, plain, out);
        at += plain;
        if (!*at)
            break;
        char one[16], figure[RW_HTML_ROOM]; /* one: the conversion alone */
        const size_t length = 1 + strcspn(at + 1, "sfgdu%") + 1;
        snprintf(one, sizeof(one), "%.*s", (int)length, at);
        const char kind = one[length - 1];
        at += length;
        if (kind == '%')
            fputc('%', out);
        else if (kind == 'd')
            fprintf(out, one, va_arg(args, int));
        else if (kind == 'u' && strchr(one, 'l'))
            fprintf(out, one, va_arg(args, uint64_t));
        else if (kind == 'u')
            fprintf(out, one, va_arg(args, unsigned));
        else if (strcmp(one, "%f") == 0)
            fputs(rw_html_figure(va_arg(args, double), figure), out);
        else if (kind != 's')
            fprintf(out, one, va_arg(args, double));
        else if (strcmp(one, "%-s") == 0)
            fputs(va_arg(args, const char *), out);
        else if (strcmp(one, "%1s") == 0)
            rw_html_name_cut(out, va_arg(args, const char *), INT_MAX);
        else
            put_text(out, va_arg(args, const char *), INT_MAX, 0);
    }
    va_end(args);
}

const char *rw_html_figure(double value, char buffer[RW_HTML_ROOM])
{
    if (isnan(value))
        snprintf(buffer, RW_HTML_ROOM, "-");
    else
        snprintf(buffer, RW_HTML_ROOM, fabs(value) < 1e9 ? "%.6f" : "%.9g", value);
    return buffer;
}

const char *rw_html_float(float value, char buffer[RW_HTML_ROOM])
{
    buffer[rw_number_write(value == 0.0f ? 0.0f : value, buffer)] = 0;
    return buffer;
}

/* Formats a size, or a label, which is a float. */
static void write_number(double value, char buffer[RW_HTML_ROOM])
{
    if (value == floor(value))
        snprintf(buffer, RW_HTML_ROOM, "%.10g", value);
    else
        rw_html_float((float)value, buffer);
}

const char *rw_html_range(double least, double most, char buffer[RW_HTML_ROOM])
{
    char end[RW_HTML_ROOM];
    write_number(least, buffer);
    write_number(most, end);
    if (least != most)
        snprintf(buffer + strlen(buffer), 20, "\xe2\x80\x93%.16s", end);
    return buffer;
}

const char *rw_html_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- trees ----
 *
 * The top of a tree is drawn from left to right; "yes" is the upper branch. Boxes are HTML elements
 * in a grid, so that the browser fits them to the names inside. */

enum { NAME = 80 }; /* letters of a name that are shown */

struct drawing {
    FILE *out;
    const struct rw_model *model;
    const struct rw_report_tree *drawn;
    int line; /* grid line at the middle of the last box without branches */
};

/* Opens a box, which covers the row above and the row below its line. Columns of boxes alternate
 * with columns of branches. */
static void open_box(const struct drawing *d, const char *kind, int level, int line)
{
    fprintf(d->out, "<div class=\"%s\" style=\"grid-area:%d/%d/%d\" title=\"", kind, line - 1,
            2 * level + 1, line + 1);
}

/* Returns the deepest level that is drawn below a child at `level`. */
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
    rw_html(d->out, "node %d: feature %u %s ", node, tree->feature[node], name);
    rw_chart_condition(d->out, d->model, tree, node, rw_html_float(tree->cut[node], number));
    fprintf(d->out, ", missing to %s, gain %.17g, documents %u\"><b>",
            tree->missing_left[node] ? "yes" : "no", tree->gain[node], d->drawn->node_docs[node]);
    const int whole = *name && rw_html_name_cut(d->out, name, NAME);
    if (!*name)
        fprintf(d->out, "feature %u", tree->feature[node]);
    snprintf(number, sizeof(number), "%.4g", (double)tree->cut[node] + 0.0);
    fputs(" <span>", d->out);
    rw_chart_condition(d->out, d->model, tree, node, number);
    fputs("</span></b><small>", d->out);
    if (*name && !whole) /* the shortened name may be ambiguous */
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

/* Draws a box in place of a subtree that is too deep to be drawn. */
static void draw_rest(const struct drawing *d, int32_t node, int level, int line)
{
    open_box(d, "rest", level, line);
    fprintf(d->out, "node %d, not drawn\"><b>%d more leaves</b><small>%u doc%s</small></div>\n",
            node, d->drawn->node_leaves[node], d->drawn->node_docs[node],
            rw_html_plural(d->drawn->node_docs[node]));
}

/* Draws a branch from a split's line to its child's line. missing: 1: missing values take it. */
static void draw_branch(const struct drawing *d, int level, int from, int to, int missing)
{
    const int up = to < from;
    fprintf(d->out,
            "<div class=\"branch %s\" style=\"grid-area:%d/%d/%d\"><span>%s%s</span></div>\n",
            up ? "up" : "down", up ? to : from, 2 * level + 2, up ? from : to, up ? "yes" : "no",
            missing ? ", missing" : "");
}

/* Draws the subtree of a child, down to RW_CHART_TREE_LEVELS. Returns the child's line. */
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
    rw_html(out, "<div class=\"drawn\" style=\"--depth:%d\" role=\"img\" aria-label=\"%s\">\n",
            depth_drawn(drawn->tree, root, 0), about);
    draw(&d, root, 0);
    fputs("</div>\n", out);
}
