#include "cli/load.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/progress.h"
#include "cli/talk.h"

static const double ties_matter = 0.001;

size_t rw_load_peak_bytes(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * 1024 : 0;
}

void rw_load_stage(const char *stage, double ms, size_t peak_bytes)
{
    if (rw_talk_is_verbose())
        rw_talk_line("stage %s: %.3f s, peak memory %.1f MB", stage, ms / 1e3,
                     (double)peak_bytes / 1e6);
}

static int say_read(const struct rw_list *files, double start)
{
    char stage[300];
    snprintf(stage, sizeof(stage), "read %.250s%s", files->text[0], files->n > 1 ? " ..." : "");
    rw_load_stage(stage, (rw_progress_clock() - start) * 1e3, rw_load_peak_bytes());
    return RW_OK;
}

int rw_load_dataset(struct rw_ctx *ctx, const struct rw_list *files, struct rw_dataset **out)
{
    const double start = rw_progress_clock();
    const int status = rw_dataset_read(ctx, files->text, files->n, out);
    return status < 0 ? status : say_read(files, start);
}

int rw_load_binned(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_list *files,
                   struct rw_binned **out)
{
    const double start = rw_progress_clock();
    const int status = rw_binned_read(ctx, params, files->text, files->n, out);
    return status < 0 ? status : say_read(files, start);
}

int rw_load_weighted(const struct rw_said *said, const struct rw_list *files,
                     struct rw_dataset **out)
{
    const char *weights = rw_params_get(said->params, "weights");
    const int status = rw_load_dataset(said->ctx, files, out);
    return status >= 0 && *weights ? rw_dataset_read_weights(said->ctx, *out, weights) : status;
}

int rw_load_model(struct rw_ctx *ctx, const char *path, struct rw_model **out)
{
    const int status = rw_model_read(ctx, path, out);
    if (status >= 0 && !rw_model_is_finished(*out))
        rw_talk_warn("%s: its training was interrupted; it is the best model until then", path);
    return status;
}

int rw_load_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                   double *scores)
{
    struct rw_run_match match;
    const int status = rw_dataset_read_scores(ctx, dataset, path, scores, &match);
    if (status >= 0 && match.n_unranked > 0)
        rw_talk_warn("%s: the run leaves out %u documents; they rank behind all others of their "
                     "queries, tied",
                     path, match.n_unranked);
    if (status >= 0 && match.n_unknown > 0)
        rw_talk_warn("%s: %u lines are of queries that the data has not", path, match.n_unknown);
    return status;
}

int rw_load_n_trees(const struct rw_usage *usage, const struct rw_model *model, const char *text,
                    int *n_trees)
{
    unsigned long long number = 0;
    *n_trees = rw_model_n_trees(model);
    if (!text)
        return 0;
    if (*n_trees == 0)
        return rw_options_wrong(usage, "'--trees' has no effect: the model has no trees");
    const int code =
        rw_options_number(usage, "--trees", text, 1, (unsigned long long)*n_trees, &number);
    if (code == 0)
        *n_trees = (int)number;
    return code;
}

const char *rw_load_figure(double value, char buffer[RW_FIGURE_ROOM])
{
    if (isnan(value))
        snprintf(buffer, RW_FIGURE_ROOM, "-");
    else if (fabs(value) < 1e9)
        snprintf(buffer, RW_FIGURE_ROOM, "%.6f", value);
    else
        snprintf(buffer, RW_FIGURE_ROOM, "%.9g", value);
    return buffer;
}

int rw_load_exact(double value, char buffer[RW_FIGURE_ROOM])
{
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(buffer, RW_FIGURE_ROOM, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return length;
}

json_t *rw_load_json_param(const char *name, const char *value)
{
    const struct rw_param_info *info;
    int i = 0;
    char *end;
    while ((info = rw_param_info(i)) != NULL && strcmp(info->name, name) != 0)
        i++;
    if (info && (info->type == RW_PARAM_INT || info->type == RW_PARAM_SEED)) {
        errno = 0;
        const long long number = strtoll(value, &end, 10);
        if (end > value && !*end && errno == 0)
            return json_integer(number);
    } else if (info && info->type == RW_PARAM_REAL) {
        const double number = strtod(value, &end);
        if (end > value && !*end && isfinite(number))
            return json_real(number);
    } else if (info && strcmp(info->range, "off|on") == 0) {
        return json_boolean(strcmp(value, "on") == 0);
    }
    return rw_load_json_text(value);
}

json_t *rw_load_json_text(const char *text)
{
    json_t *string = json_string(text);
    char *plain = string ? NULL : strdup(text);
    if (!plain)
        return string;
    for (char *c = plain; *c; c++) {
        if ((unsigned char)*c >= 128)
            *c = '?';
    }
    string = json_string(plain);
    free(plain);
    return string;
}

void rw_load_warn_ties(const struct rw_eval *eval, const char *set)
{
    for (int i = 0; i < eval->n_metrics; i++) {
        const struct rw_eval_metric *metric = &eval->metrics[i];
        if (fabs(metric->ties_moved) > ties_matter)
            rw_talk_warn("%s%s: with tied documents in the opposite order, %s would move by %+.6f; "
                         "'--ties mean' does not depend on the order",
                         set, *set ? "" : "scores", metric->name, metric->ties_moved);
    }
}

void rw_load_warn_unmatched(uint32_t n_missing, uint32_t n_unknown)
{
    if (n_missing > 0 || n_unknown > 0)
        rw_talk_warn("features: %u of the model are not in the data, %u of the data were not in "
                     "training; they count as absent",
                     n_missing, n_unknown);
}
