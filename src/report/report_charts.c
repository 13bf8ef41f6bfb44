#include "report/report_charts.h"

#include <math.h>

#include "report/report_html.h"

/* Of the drawing, which is scaled to the page: about CSS pixels in a narrow window. */
static const double width = 480, height = 260;
static const double left = 74, right = 14, top = 14, bottom = 48;

/* Data within the axes. */
struct plot {
    FILE *out;
    double x0, x1, y0, y1; /* data at the left, right, bottom, top */
    double height;
};

static double at_x(const struct plot *plot, double x)
{
    return left + (x - plot->x0) / (plot->x1 - plot->x0) * (width - left - right);
}

static double at_y(const struct plot *plot, double y)
{
    return plot->height - bottom -
           (y - plot->y0) / (plot->y1 - plot->y0) * (plot->height - top - bottom);
}

void rw_chart_open(FILE *out, const struct rw_chart_words *words, double w, double h)
{
    fprintf(
        out,
        "<svg class=\"chart\" viewBox=\"0 0 %g %g\" role=\"img\" aria-labelledby=\"%s-title\">\n"
        "<title id=\"%s-title\">",
        w, h, words->id, words->id);
    rw_html_text(out, words->about);
    fputs("</title>\n", out);
}

/* 1, 2 or 5 times a power of ten: about `n` steps in the range. */
static double nice_step(double range, int n)
{
    const double rough = range / n;
    double step = pow(10, floor(log10(rough)));
    if (rough > step * 5)
        step *= 10;
    else if (rough > step * 2)
        step *= 5;
    else if (rough > step)
        step *= 2;
    return step;
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

/* Values at which an axis is marked: (first + i) * step. */
struct marks {
    double first, step;
    int n;
};

/* about: how many. whole: only at whole numbers; so with the axes. */
static struct marks marks_of(double from, double to, int about, int whole)
{
    double step = nice_step(to - from, about);
    if (whole && step < 1)
        step = 1;
    const double first = ceil(from / step - 1e-9), last = floor(to / step + 1e-9);
    return (struct marks){first, step, (int)(last - first) + 1};
}

static void y_axis(const struct plot *plot, const char *label, int whole)
{
    char text[RW_HTML_ROOM];
    const struct marks marks = marks_of(plot->y0, plot->y1, 5, whole);
    for (int i = 0; i < marks.n; i++) {
        const double value = (marks.first + i) * marks.step, y = at_y(plot, value);
        fprintf(plot->out,
                "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"tick end\" x=\"%g\" y=\"%.1f\">%s</text>\n",
                left, width - right, y, y, left - 6, y + 4, tick_text(value, marks.step, text));
    }
    fprintf(plot->out, "<text class=\"axis mid\" transform=\"translate(14 %.1f) rotate(-90)\">",
            (top + plot->height - bottom) / 2);
    rw_html_cut(plot->out, label, 34);
    fputs("</text>\n", plot->out);
}

static void x_label(const struct plot *plot, const char *label)
{
    fprintf(plot->out,
            "<line class=\"base\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"axis mid\" x=\"%.1f\" y=\"%.1f\">",
            left, width - right, plot->height - bottom, plot->height - bottom,
            (left + width - right) / 2, plot->height - 4);
    rw_html_cut(plot->out, label, 60);
    fputs("</text>\n", plot->out);
}

/* line: 0, or 1 for what would run into its neighbours. */
static void x_tick(const struct plot *plot, double x, int line, const char *text)
{
    fprintf(plot->out, "<text class=\"tick mid\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x,
            plot->height - bottom + 18 + 13 * line, text);
}

static void x_axis(const struct plot *plot, const char *label, int whole)
{
    char text[RW_HTML_ROOM];
    const struct marks marks = marks_of(plot->x0, plot->x1, 6, whole);
    for (int i = 0; i < marks.n; i++) {
        const double value = (marks.first + i) * marks.step;
        x_tick(plot, at_x(plot, value), 0, tick_text(value, marks.step, text));
    }
    x_label(plot, label);
}

/* ------------------------------------------------------------------ curves */

static double metric_at(const struct rw_curves *curves, int i, int32_t round)
{
    const struct rw_model *model = curves->model;
    return model
        ->metric_value[(size_t)round * (size_t)model->n_metrics + (size_t)curves->column[i]];
}

/* A model's file may have any numbers: those whose differences may be none are left out. */
static int is_drawn(double value)
{
    return fabs(value) <= 1e300;
}

/* A range of the values drawn with a little air; 0: there is none. A range so small that its steps
 * would be 0 is none. */
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

/* Rounds without a value are gaps. Of very many rounds not all are drawn: nobody could see them. */
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
            fprintf(plot->out, "%s%.1f %.1f", pen ? "L" : "M", at_x(plot, r + 1),
                    at_y(plot, value));
            if (!pen) /* seen even if it stands alone */
                fputs("h0.1", plot->out);
            pen = 1;
        }
    }
    fputs("\"/>\n", plot->out);
}

void rw_chart_curves(FILE *out, const struct rw_chart_words *words, const struct rw_curves *curves)
{
    struct plot plot = {.out = out, .height = height, .x0 = 1, .x1 = curves->model->n_rounds_run};
    if (!value_range(curves, &plot.y0, &plot.y1)) {
        fputs("<p>No round has a value: no query counts.</p>\n", out);
        return;
    }
    if (plot.x1 <= plot.x0) {
        plot.x0 -= 0.5;
        plot.x1 += 0.5;
    }
    rw_chart_open(out, words, width, height);
    y_axis(&plot, words->y, 0);
    x_axis(&plot, words->x, 1);
    const int32_t best = curves->model->best_round;
    if (best > 0 && best <= curves->model->n_rounds_run) {
        const double x = at_x(&plot, best);
        fprintf(out,
                "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>"
                "<text class=\"note %s\" x=\"%.1f\" y=\"%g\">best: round %d</text>\n",
                x, x, top, height - bottom, x > width / 2 ? "end" : "start",
                x > width / 2 ? x - 5 : x + 5, height - bottom - 6, best);
    }
    for (int i = 0; i < curves->n; i++)
        draw_line(&plot, curves, i);
    fputs("</svg>\n", out);
}

/* ------------------------------------------------------------------ values by query */

void rw_chart_values(FILE *out, const struct rw_chart_words *words, const struct rw_report *report)
{
    char figure[RW_HTML_ROOM];
    struct plot plot = {
        .out = out, .height = height, .x0 = report->value_from, .x1 = report->value_to, .y1 = 1};
    const double bin = (plot.x1 - plot.x0) / RW_REPORT_VALUE_BINS;
    const double mean = report->eval->metrics[0].mean;
    for (int i = 0; i < RW_REPORT_VALUE_BINS; i++)
        plot.y1 = report->value_bin[i] > plot.y1 ? report->value_bin[i] : plot.y1;
    plot.y1 *= 1.15;
    rw_chart_open(out, words, width, height);
    y_axis(&plot, words->y, 1);
    for (int i = 0; i < RW_REPORT_VALUE_BINS; i++) {
        const double from = at_x(&plot, plot.x0 + i * bin),
                     to = at_x(&plot, plot.x0 + (i + 1) * bin);
        const double y = at_y(&plot, report->value_bin[i]);
        fprintf(out,
                "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">"
                "<title>%g to %g: %u</title></rect>\n",
                from + 0.75, y, to - from - 1.5, at_y(&plot, 0) - y, plot.x0 + i * bin,
                plot.x0 + (i + 1) * bin, report->value_bin[i]);
    }
    x_axis(&plot, words->x, 0);
    if (mean >= plot.x0 && mean <= plot.x1) {
        const double x = at_x(&plot, mean);
        fprintf(out,
                "<line class=\"mark\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>"
                "<text class=\"note %s\" x=\"%.1f\" y=\"%g\">mean %s</text>\n",
                x, x, top, height - bottom, x > width / 2 ? "end" : "start",
                x > width / 2 ? x - 5 : x + 5, top + 10, rw_html_figure(mean, figure));
    }
    fputs("</svg>\n", out);
}

/* ------------------------------------------------------------------ values by size */

static void draw_box(const struct plot *plot, const struct rw_report_group *group, double x,
                     double wide)
{
    const double y[5] = {at_y(plot, group->at[0]), at_y(plot, group->at[1]),
                         at_y(plot, group->at[2]), at_y(plot, group->at[3]),
                         at_y(plot, group->at[4])};
    fprintf(plot->out,
            "<line class=\"whisker\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
            "<line class=\"median\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
            x, x, y[0], y[4], x - wide / 2, y[3], wide, y[1] - y[3] + 0.5, x - wide / 2,
            x + wide / 2, y[2], y[2]);
    fprintf(plot->out, "<circle class=\"mean\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n", x,
            at_y(plot, group->mean));
}

void rw_chart_sizes(FILE *out, const struct rw_chart_words *words, const struct rw_report *report)
{
    char text[RW_HTML_ROOM], figure[RW_HTML_ROOM];
    const double slot = (width - left - right) / report->n_sizes;
    const double air = (report->value_to - report->value_from) * 0.02;
    const struct plot plot = {.out = out,
                              .height = height,
                              .x1 = 1,
                              .y0 = report->value_from - air,
                              .y1 = report->value_to + air};
    rw_chart_open(out, words, width, height);
    y_axis(&plot, words->y, 0);
    for (int g = 0; g < report->n_sizes; g++) {
        const struct rw_report_group *group = &report->size[g];
        const double x = left + (g + 0.5) * slot;
        rw_html_range(group->least, group->most, text);
        x_tick(&plot, x, g % 2 && report->size[report->n_sizes - 1].most >= 10000, text);
        if (isnan(group->mean) || isnan(group->at[0]))
            continue;
        fprintf(out, "<g><title>%s documents: mean %s</title>\n", text,
                rw_html_figure(group->mean, figure));
        draw_box(&plot, group, x, slot < 90 ? slot * 0.5 : 45);
        fputs("</g>\n", out);
    }
    x_label(&plot, words->x);
    fputs("</svg>\n", out);
}

/* ------------------------------------------------------------------ scores by label */

/* As much of a label as there is room for. */
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
    static const double row = 48;
    char text[RW_HTML_ROOM];
    const double high = top + bottom + row * report->n_labels;
    const struct plot plot = {
        .out = out, .height = high, .x0 = report->score_from, .x1 = report->score_to, .y1 = 1};
    const double bin = (plot.x1 - plot.x0) / RW_REPORT_SCORE_BINS;
    rw_chart_open(out, words, width, high);
    for (int g = 0; g < report->n_labels; g++) { /* the best label on top */
        const struct rw_report_group *group = &report->label[g];
        const double base = high - bottom - g * row;
        uint32_t most = 1;
        for (int i = 0; i < RW_REPORT_SCORE_BINS; i++)
            most = report->score_bin[g][i] > most ? report->score_bin[g][i] : most;
        fprintf(out, "<path class=\"hill\" d=\"M%.1f %.1f", at_x(&plot, plot.x0), base);
        for (int i = 0; i < RW_REPORT_SCORE_BINS; i++)
            fprintf(out, "V%.1fH%.1f", base - (row - 10) * report->score_bin[g][i] / most,
                    at_x(&plot, plot.x0 + (i + 1) * bin));
        fprintf(out, "V%.1fZ\"/>\n", base);
        fprintf(out,
                "<line class=\"grid\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text class=\"tick end\" x=\"%g\" y=\"%.1f\">%s</text>\n",
                left, width - right, base, base, left - 6, base - 6, short_range(group, text));
        fprintf(out,
                "<line class=\"span\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<circle class=\"mean\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n",
                at_x(&plot, group->at[1]), at_x(&plot, group->at[3]), base - 1, base - 1,
                at_x(&plot, group->mean), base - 1);
    }
    fprintf(out, "<text class=\"axis mid\" transform=\"translate(14 %.1f) rotate(-90)\">",
            (top + high - bottom) / 2);
    rw_html_text(out, words->y);
    fputs("</text>\n", out);
    x_axis(&plot, words->x, 0);
    fputs("</svg>\n", out);
}
