#include "cli/compare_many.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"

const char *rw_compare_signed(double value, char *buffer)
{
    char plain[RW_FIGURE_ROOM];
    rw_load_figure(value, plain);
    snprintf(buffer, RW_FIGURE_ROOM, "%s%.30s", value >= 0 ? "+" : "", plain);
    return buffer;
}

/* What is printed, with the tests' p, [n_metrics][n - 1]. */
struct table {
    const struct rw_compare_many *many;
    const struct rw_list *system;
    int n; /* tests of a metric */
    double *p;
};

static const struct rw_comparison *comparison_of(const struct table *table, int metric, int system)
{
    return table->many->comparison[metric * table->n + system - 1];
}

static double p_of(const struct table *table, int metric, int system)
{
    return table->p[metric * table->n + system - 1];
}

/* ------------------------------------------------------------------ text */

static void print_metric(const struct table *table, int metric, int width)
{
    const struct rw_comparison *first = comparison_of(table, metric, 1);
    const int holm = table->many->holm;
    char mean[RW_FIGURE_ROOM], difference[RW_FIGURE_ROOM], low[RW_FIGURE_ROOM],
        high[RW_FIGURE_ROOM];
    printf("\n%s: %u queries, %s is better\n", first->metric, first->all.n_queries,
           first->lower_is_better ? "lower" : "higher");
    printf("%-*s  %10s  %10s  %10s  %10s  %7s%s  %6s %6s %6s\n", width, "", "mean", "difference",
           "2.5 %", "97.5 %", "p", holm ? "   p Holm" : "", "better", "equal", "worse");
    printf("%-*s  %10s\n", width, table->system->text[0], rw_load_figure(first->all.mean_a, mean));
    for (int s = 1; s < table->system->n; s++) {
        const struct rw_compared *row = &comparison_of(table, metric, s)->all;
        char corrected[16] = "";
        if (holm)
            snprintf(corrected, sizeof(corrected), "  %7.4f", p_of(table, metric, s));
        printf("%-*s  %10s  %10s  %10s  %10s  %7.4f%s  %6u %6u %6u\n", width,
               table->system->text[s], rw_load_figure(row->mean_b, mean),
               rw_compare_signed(row->difference, difference), rw_compare_signed(row->low, low),
               rw_compare_signed(row->high, high), row->p, corrected, row->n_wins, row->n_ties,
               row->n_losses);
    }
    printf("%s\n", first->conventions);
}

static void print_text(const struct table *table)
{
    int width = 8;
    for (int s = 0; s < table->system->n; s++) {
        const int n = (int)strlen(table->system->text[s]);
        width = n > width ? n : width;
    }
    printf("baseline  %s\n", table->system->text[0]);
    for (int m = 0; m < table->many->n_metrics; m++)
        print_metric(table, m, width);
    printf("\ndifference: from the baseline; interval: %d resamples of the queries; p: paired "
           "randomisation test, two-sided",
           comparison_of(table, 0, 1)->n_samples);
    if (table->many->holm)
        printf("; p Holm: by Holm's step-down, tests: %d\n", table->n * table->many->n_metrics);
    else
        printf(", not corrected for the number of tests\n");
}

/* ------------------------------------------------------------------ CSV, LaTeX and JSON */

/* RFC 4180: in quotes where it must be. */
static void put_csv(const char *text)
{
    const int quoted = text[strcspn(text, "\",\r\n")] != 0;
    fputs(quoted ? "\"" : "", stdout);
    for (; *text; text++)
        printf(*text == '"' ? "%c\"" : "%c", *text);
    fputs(quoted ? "\"" : "", stdout);
}

/* Nothing where there is no number. */
static void put_exact(double value)
{
    char figure[RW_FIGURE_ROOM] = "";
    if (!isnan(value))
        rw_exact_text(value, figure);
    printf(",%s", figure);
}

static void print_csv(const struct table *table)
{
    puts("metric,system,queries,mean,difference,low,high,p,p_corrected,better,equal,worse");
    for (int m = 0; m < table->many->n_metrics; m++) {
        for (int s = 0; s < table->system->n; s++) {
            const struct rw_comparison *comparison = comparison_of(table, m, s > 0 ? s : 1);
            const struct rw_compared *row = &comparison->all;
            put_csv(comparison->metric);
            putchar(',');
            put_csv(table->system->text[s]);
            printf(",%u", row->n_queries);
            put_exact(s == 0 ? row->mean_a : row->mean_b);
            if (s == 0) {
                puts(",,,,,,,,");
                continue;
            }
            const double values[] = {row->difference, row->low, row->high, row->p,
                                     p_of(table, m, s)};
            for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
                put_exact(values[i]);
            printf(",%u,%u,%u\n", row->n_wins, row->n_ties, row->n_losses);
        }
    }
}

static void put_latex(const char *text)
{
    for (; *text; text++) {
        if (strchr("&%$#_{}", *text))
            printf("\\%c", *text);
        else if (*text == '\\')
            fputs("\\textbackslash{}", stdout);
        else if (*text == '~' || *text == '^')
            printf("\\%c{}", *text);
        else
            putchar(*text);
    }
}

/* A row a system, a column a metric. */
static void print_latex(const struct table *table)
{
    const int n_metrics = table->many->n_metrics;
    fputs("\\begin{tabular}{l", stdout);
    for (int m = 0; m < n_metrics; m++)
        putchar('r');
    puts("}\n\\hline");
    for (int m = 0; m < n_metrics; m++) {
        fputs(" & ", stdout);
        put_latex(comparison_of(table, m, 1)->metric);
    }
    puts(" \\\\\n\\hline");
    for (int s = 0; s < table->system->n; s++) {
        put_latex(table->system->text[s]);
        for (int m = 0; m < n_metrics; m++) {
            const struct rw_compared *row = &comparison_of(table, m, s > 0 ? s : 1)->all;
            const double p = s > 0 ? p_of(table, m, s) : 1.0;
            const double mean = s > 0 ? row->mean_b : row->mean_a;
            fputs(" & ", stdout);
            if (isnan(mean))
                putchar('-');
            else
                printf("%.4f%s", mean, p < .01 ? "$^{**}$" : p < .05 ? "$^{*}$" : "");
        }
        puts(" \\\\");
    }
    printf("\\hline\n\\end{tabular}\n%% * p < .05, ** p < .01 against the first row: paired "
           "randomisation test over %u queries, two-sided, ",
           comparison_of(table, 0, 1)->all.n_queries);
    if (table->many->holm)
        printf("Holm's step-down, tests: %d\n", table->n * n_metrics);
    else
        printf("not corrected for the number of tests\n");
}

static json_t *system_json(const struct table *table, int metric, int system)
{
    const struct rw_compared *row = &comparison_of(table, metric, system)->all;
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I}", "system",
        rw_load_json_text(table->system->text[system]), "mean", rw_load_json_number(row->mean_b),
        "difference", rw_load_json_number(row->difference), "low", rw_load_json_number(row->low),
        "high", rw_load_json_number(row->high), "p", rw_load_json_number(row->p), "p_corrected",
        rw_load_json_number(p_of(table, metric, system)), "better", (json_int_t)row->n_wins,
        "equal", (json_int_t)row->n_ties, "worse", (json_int_t)row->n_losses);
}

static void print_json(const struct table *table)
{
    json_t *metrics = json_array();
    for (int m = 0; m < table->many->n_metrics; m++) {
        const struct rw_comparison *first = comparison_of(table, m, 1);
        json_t *systems = json_array();
        for (int s = 1; s < table->system->n; s++)
            json_array_append_new(systems, system_json(table, m, s));
        json_array_append_new(metrics,
                              json_pack("{s:s,s:b,s:I,s:o,s:o,s:o}", "metric", first->metric,
                                        "lower_is_better", first->lower_is_better, "queries",
                                        (json_int_t)first->all.n_queries, "baseline",
                                        rw_load_json_number(first->all.mean_a), "systems", systems,
                                        "conventions", rw_load_json_text(first->conventions)));
    }
    rw_load_json_print(json_pack("{s:o,s:s,s:i,s:i,s:o}", "baseline",
                                 rw_load_json_text(table->system->text[0]), "correct",
                                 table->many->holm ? "holm" : "none", "tests",
                                 table->n * table->many->n_metrics, "samples",
                                 comparison_of(table, 0, 1)->n_samples, "metrics", metrics),
                       stdout);
}

/* ------------------------------------------------------------------ all of it */

int rw_compare_many_print(struct rw_cli *cli, const struct rw_compare_many *many)
{
    static void (*const print[])(const struct table *) = {
        [RW_COMPARE_TEXT] = print_text,
        [RW_COMPARE_CSV] = print_csv,
        [RW_COMPARE_LATEX] = print_latex,
        [RW_COMPARE_JSON] = print_json,
    };
    struct table table = {many, many->system, many->system->n - 1, NULL};
    const int n_tests = table.n * many->n_metrics;
    table.p = rw_need((size_t)n_tests, sizeof(*table.p));
    for (int i = 0; i < n_tests; i++)
        table.p[i] = many->comparison[i]->all.p;
    const int status = many->holm ? rw_holm(cli->ctx, table.p, n_tests) : RW_OK;
    if (status == RW_OK)
        print[many->format](&table);
    free(table.p);
    return status;
}

int rw_compare_many_gate(const struct rw_compare_many *many, double least)
{
    const int n = many->system->n - 1;
    int code = RW_EXIT_OK;
    for (int i = 0; i < n * many->n_metrics; i++) {
        const struct rw_comparison *comparison = many->comparison[i];
        const double worst =
            comparison->lower_is_better ? -comparison->all.high : comparison->all.low;
        char figure[RW_FIGURE_ROOM], limit[RW_FIGURE_ROOM];
        if (worst >= least)
            continue;
        code = RW_EXIT_BELOW;
        rw_exact_text(least, limit);
        if (isnan(worst))
            rw_msg_error("%s: %s: under 2 queries count, which show no improvement of at least %s",
                         many->system->text[1 + i % n], comparison->metric, limit);
        else
            rw_msg_error("%s: %s: the interval of its improvement begins at %s, below %s",
                         many->system->text[1 + i % n], comparison->metric,
                         rw_compare_signed(worst, figure), limit);
    }
    if (code == RW_EXIT_BELOW)
        rw_msg_hint("an improvement is the difference, or where lower is better the opposite; more "
                    "queries narrow its 95 %% interval");
    return code;
}
