/* rankwood compare: two rankings of the same data, models' or files'. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/talk.h"

enum { SHOWN_MOVED = 10 };

struct request {
    const char *side[2]; /* a, b: models or scores */
    const char *groups;
    int json;
    int n_metrics;
};

/* ------------------------------------------------------------------ printing */

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static const char *signed_figure(double value, char buffer[RW_FIGURE_ROOM])
{
    char plain[RW_FIGURE_ROOM];
    rw_load_figure(value, plain);
    snprintf(buffer, RW_FIGURE_ROOM, "%s%.30s", value >= 0 ? "+" : "", plain);
    return buffer;
}

static void print_row(const struct rw_compared *row, const char *name, int width)
{
    char a[RW_FIGURE_ROOM], b[RW_FIGURE_ROOM], difference[RW_FIGURE_ROOM], low[RW_FIGURE_ROOM],
        high[RW_FIGURE_ROOM];
    printf("%-*s  %8u  %10s  %10s  %10s  %10s  %10s  %7.4f  %6u %6u %6u\n", width, name,
           row->n_queries, rw_load_figure(row->mean_a, a), rw_load_figure(row->mean_b, b),
           signed_figure(row->difference, difference), signed_figure(row->low, low),
           signed_figure(row->high, high), row->p, row->n_wins, row->n_ties, row->n_losses);
}

static void print_table(const struct rw_comparison *comparison, const struct rw_dataset *dataset,
                        const struct request *request)
{
    int width = (int)strlen(comparison->metric);
    for (int i = 0; i < comparison->n_groups; i++) {
        const int n = (int)strlen(comparison->groups[i].name);
        width = n > width ? n : width;
    }
    printf("%-*s  %8s  %10s  %10s  %10s  %10s  %10s  %7s  %6s %6s %6s\n", width, "", "queries", "a",
           "b", "b - a", "2.5 %", "97.5 %", "p", "better", "equal", "worse");
    print_row(&comparison->all, comparison->metric, width);
    for (int i = 0; i < comparison->n_groups; i++)
        print_row(&comparison->groups[i], comparison->groups[i].name, width);
    const int n = comparison->n_moved < SHOWN_MOVED ? comparison->n_moved : SHOWN_MOVED;
    if (n > 0)
        printf("\nqueries that moved most\n%10s  %10s  %10s  query\n", "a", "b", "b - a");
    for (int i = 0; i < n; i++) {
        const struct rw_moved_query *moved = &comparison->moved[i];
        char a[RW_FIGURE_ROOM], b[RW_FIGURE_ROOM], difference[RW_FIGURE_ROOM];
        printf("%10s  %10s  %10s  %s\n", rw_load_figure(moved->a, a), rw_load_figure(moved->b, b),
               signed_figure(moved->b - moved->a, difference),
               rw_dataset_query_id(dataset, moved->query));
    }
    printf(
        "\n%s\ninterval: %d resamples of the queries; p: paired randomisation test, two-sided%s\n"
        "%s\n",
        comparison->lower_is_better ? "lower is better" : "higher is better", comparison->n_samples,
        comparison->n_groups > 1 && request->n_metrics > 1
            ? ", not corrected for the number of groups and metrics"
        : comparison->n_groups > 1 ? ", not corrected for the number of groups"
        : request->n_metrics > 1   ? ", not corrected for the number of metrics"
                                   : "",
        comparison->conventions);
}

static json_t *row_json(const struct rw_compared *row)
{
    return json_pack("{s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I}", "group",
                     *row->name ? rw_load_json_text(row->name) : json_null(), "queries",
                     (json_int_t)row->n_queries, "a", number(row->mean_a), "b", number(row->mean_b),
                     "difference", number(row->difference), "low", number(row->low), "high",
                     number(row->high), "p", number(row->p), "better", (json_int_t)row->n_wins,
                     "equal", (json_int_t)row->n_ties, "worse", (json_int_t)row->n_losses);
}

static json_t *comparison_json(const struct rw_comparison *comparison,
                               const struct rw_dataset *dataset)
{
    json_t *groups = json_array(), *moved = json_array();
    for (int i = 0; i < comparison->n_groups; i++)
        json_array_append_new(groups, row_json(&comparison->groups[i]));
    for (int i = 0; i < comparison->n_moved; i++)
        json_array_append_new(
            moved,
            json_pack("{s:o,s:f,s:f}", "query",
                      rw_load_json_text(rw_dataset_query_id(dataset, comparison->moved[i].query)),
                      "a", comparison->moved[i].a, "b", comparison->moved[i].b));
    return json_pack("{s:s,s:b,s:o,s:o,s:o,s:i,s:o}", "metric", comparison->metric,
                     "lower_is_better", comparison->lower_is_better, "all",
                     row_json(&comparison->all), "groups", groups, "moved", moved, "samples",
                     comparison->n_samples, "conventions",
                     rw_load_json_text(comparison->conventions));
}

/* One metric's object, or an array of several. */
static int print_json(struct rw_comparison *const *comparison, const struct rw_dataset *dataset,
                      int n)
{
    json_t *all = n == 1 ? comparison_json(comparison[0], dataset) : json_array();
    int result = all ? 0 : -1;
    for (int i = 0; n > 1 && i < n && result == 0; i++)
        result = json_array_append_new(all, comparison_json(comparison[i], dataset));
    if (result == 0)
        result = json_dumpf(all, stdout, JSON_INDENT(1));
    json_decref(all);
    putchar('\n');
    return result;
}

/* ------------------------------------------------------------------ the work */

/* A model says so in its first line; anything else is taken for scores. */
static int is_model(const char *path)
{
    static const char begins[] = "rankwood model";
    char head[sizeof(begins)] = "";
    FILE *file = strcmp(path, "-") == 0 ? NULL : fopen(path, "rb");
    if (file) {
        head[fread(head, 1, sizeof(begins) - 1, file)] = 0;
        fclose(file);
    }
    return strcmp(head, begins) == 0;
}

/* One side's scores, [n_docs]; a status. */
static int score(struct rw_said *said, const struct rw_dataset *dataset, const char *path,
                 double *scores)
{
    if (!is_model(path))
        return rw_load_scores(said->ctx, dataset, path, scores);
    struct rw_model *model = NULL;
    int status = rw_load_model(said->ctx, path, &model);
    if (status >= 0)
        status = rw_predict_on(said->ctx, model, dataset, 0, rw_params_get(said->params, "device"),
                               scores);
    if (status >= 0) {
        uint32_t n_missing, n_unknown;
        rw_model_unmatched(model, dataset, &n_missing, &n_unknown);
        rw_load_warn_unmatched(n_missing, n_unknown);
    }
    rw_model_free(model);
    return status;
}

static void warn_ties(const struct rw_comparison *comparison)
{
    const double moved[] = {comparison->ties_moved_a, comparison->ties_moved_b};
    for (int i = 0; i < 2; i++) {
        if (fabs(moved[i]) > 0.001)
            rw_talk_warn("%c: with tied documents in the opposite order, %s would move by %+.6f; "
                         "'--ties mean' does not depend on the order",
                         "ab"[i], comparison -> metric, moved[i]);
    }
}

/* Compares by each metric alone, with the same seed: a metric's figures do not depend on which
 * others there are. metrics: with commas between them; cut. comparison: [n_metrics]. A status. */
static int compare_metrics(struct rw_said *said, char *metrics, const char *groups,
                           const struct rw_dataset *dataset, double *const scores[2],
                           struct rw_comparison **comparison)
{
    char *rest = NULL;
    int status = RW_OK;
    for (char *metric = strtok_r(metrics, ",", &rest); metric && status >= 0;
         metric = strtok_r(NULL, ",", &rest)) {
        status = rw_params_set(said->ctx, said->params, "metric", metric);
        if (status >= 0)
            status = rw_compare(said->ctx, rw_params_eval(said->params), dataset, scores[0],
                                scores[1], groups, comparison++);
    }
    return status;
}

static int print(const struct request *request, struct rw_comparison *const *comparison,
                 const struct rw_dataset *dataset)
{
    for (int i = 0; i < request->n_metrics; i++)
        warn_ties(comparison[i]);
    if (request->json)
        return print_json(comparison, dataset, request->n_metrics);
    printf("a  %s\nb  %s\n", request->side[0], request->side[1]);
    for (int i = 0; i < request->n_metrics; i++) {
        putchar('\n');
        print_table(comparison[i], dataset, request);
    }
    return 0;
}

static int compare(struct rw_said *said, const struct request *request)
{
    struct rw_ctx *ctx = said->ctx;
    struct rw_dataset *dataset = NULL;
    struct rw_comparison **comparison = NULL; /* [n_metrics] */
    char *metrics = NULL;
    double *scores[2] = {NULL, NULL};
    int status = rw_load_weighted(said, &said->operands, &dataset), code = RW_EXIT_FAILURE;
    for (int i = 0; i < 2 && status >= 0; i++) {
        scores[i] = calloc((size_t)rw_dataset_n_docs(dataset) + 1, sizeof(*scores[i]));
        if (!scores[i]) {
            rw_talk_out_of_memory();
            goto out;
        }
        status = score(said, dataset, request->side[i], scores[i]);
    }
    comparison = calloc((size_t)request->n_metrics, sizeof(struct rw_comparison *));
    metrics = strdup(rw_params_get(said->params, "metric"));
    if (!comparison || !metrics) {
        rw_talk_out_of_memory();
        goto out;
    }
    if (status >= 0)
        status = compare_metrics(said, metrics, request->groups, dataset, scores, comparison);
    if (status < 0)
        code = rw_talk_failed(ctx, status, "compare");
    else if (print(request, comparison, dataset) >= 0)
        code = RW_EXIT_OK;
out:
    for (int i = 0; comparison && i < request->n_metrics; i++)
        rw_comparison_free(comparison[i]);
    free(comparison);
    free(metrics);
    free(scores[0]);
    free(scores[1]);
    rw_dataset_free(dataset);
    return code;
}

static int count_metrics(struct rw_params *params)
{
    int n = 1;
    for (const char *c = rw_params_get(params, "metric"); *c; c++)
        n += *c == ',';
    return n;
}

static int check(const struct rw_usage *usage, struct rw_said *said, struct request *request)
{
    if (!request->side[0] || !request->side[1])
        return rw_options_wrong(usage, "'compare' needs --a and --b: models, or files of scores");
    if (rw_params_must_matter(said->params, "device") && !is_model(request->side[0]) &&
        !is_model(request->side[1]))
        return rw_options_wrong(usage, "'--device' has no effect without a model");
    const char *others[] = {request->side[0], request->side[1], request->groups,
                            rw_params_get(said->params, "weights")};
    const struct rw_list lists[] = {said->operands, {others, 4}};
    const int code = rw_options_check_files(usage, lists, 2, NULL);
    if (code != 0)
        return code;
    const int status = rw_params_check_eval(said->ctx, said->params);
    request->n_metrics = count_metrics(said->params);
    return status < 0 ? rw_talk_failed(said->ctx, status, "compare") : -1;
}

int rw_cmd_compare(int argc, char **argv)
{
    struct request request = {0};
    const struct rw_option options[] = {
        {"a", 0, "MODEL|SCORES", "a model, a file of scores, or a TREC run (needed)",
         RW_OPTION_TEXT, &request.side[0]},
        {"b", 0, "MODEL|SCORES", "the one that is compared with it (needed)", RW_OPTION_TEXT,
         &request.side[1]},
        {"groups", 0, "FILE", "compare by groups of queries, too: QUERY GROUP lines",
         RW_OPTION_TEXT, &request.groups},
        {"json", 0, NULL, "print as JSON, every digit", RW_OPTION_FLAG, &request.json},
        {0},
    };
    const struct rw_usage usage = {
        .command = "compare",
        .operands = "DATA... --a MODEL|SCORES --b MODEL|SCORES",
        .about = "Compares two rankings of the same queries: the difference of each metric with a "
                 "95 % bootstrap interval, a paired randomisation test, the queries that moved "
                 "most.",
        .least = 1,
        .most = -1,
        .options = options,
        .params = " metric empty ties label-gain relevant weights seed threads device ",
    };
    struct rw_said said;
    int code = rw_options_parse(&usage, argc, argv, &said);
    if (code < 0)
        code = check(&usage, &said, &request);
    if (code < 0)
        code = compare(&said, &request);
    rw_options_release(&usage, &said);
    return code;
}
