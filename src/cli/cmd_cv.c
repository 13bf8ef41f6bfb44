/* rankwood cv: cross-validation by query. Writes DIR/fold-N.txt (models), DIR/scores.txt,
 * DIR/folds.tsv and DIR/results.json. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/talk.h"

enum { MOST_FOLDS = 1000, PATH_ROOM = 4096 };

struct request {
    const char *folds, *folder;
    int n_folds;
    int made_folder; /* it was not there */
};

/* ------------------------------------------------------------------ what it says */

static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *metrics_json(const struct rw_eval *eval)
{
    json_t *metrics = json_array();
    for (int i = 0; i < eval->n_metrics; i++)
        json_array_append_new(metrics, json_pack("{s:s,s:o,s:I}", "metric", eval->metrics[i].name,
                                                 "mean", number(eval->metrics[i].mean), "queries",
                                                 (json_int_t)eval->metrics[i].n_counted));
    return metrics;
}

/* Did all folds train with the same value? Sizes differ, and so may what they choose. */
static int is_alike(const struct rw_cv *cv, const char *name)
{
    const char *value = rw_model_param(cv->folds[0].model, name);
    for (int f = 1; f < cv->n_folds; f++) {
        if (strcmp(rw_model_param(cv->folds[f].model, name), value) != 0)
            return 0;
    }
    return 1;
}

/* What a fold trained with, of that which is, or is not, alike in all. */
static json_t *used_json(const struct rw_cv *cv, int fold, int alike)
{
    json_t *used = json_object();
    const char *name, *value;
    for (int i = 0; (name = rw_model_param_at(cv->folds[fold].model, i, &value)) != NULL; i++) {
        if (is_alike(cv, name) == alike)
            json_object_set_new(used, name, rw_load_json_param(name, value));
    }
    return used;
}

static json_t *results_json(const struct rw_cv *cv, struct rw_params *params)
{
    json_t *folds = json_array();
    for (int f = 0; f < cv->n_folds; f++) {
        const struct rw_cv_fold *fold = &cv->folds[f];
        json_array_append_new(
            folds,
            json_pack("{s:i,s:I,s:I,s:I,s:i,s:i,s:o,s:o}", "fold", f + 1, "train_queries",
                      (json_int_t)fold->n_train, "valid_queries", (json_int_t)fold->n_valid,
                      "test_queries", (json_int_t)fold->n_test, "trees",
                      rw_model_n_trees(fold->model), "best_round", rw_model_best_round(fold->model),
                      "params", used_json(cv, f, 0), "metrics", metrics_json(fold->eval)));
    }
    json_t *given = json_object();
    for (int i = 0; rw_param_info(i); i++) {
        const char *name = rw_param_info(i)->name;
        if (rw_param_info(i)->model)
            json_object_set_new(given, name, rw_load_json_param(name, rw_params_get(params, name)));
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o}", "params", used_json(cv, 0, 1), "given", given,
                     "folds", folds, "pooled", metrics_json(cv->pooled), "conventions",
                     rw_load_json_text(cv->pooled->conventions));
}

/* Mean and deviation of the folds' means, of those that have one. */
static void spread(const struct rw_cv *cv, int metric, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    int n = 0;
    for (int f = 0; f < cv->n_folds; f++) {
        const double value = cv->folds[f].eval->metrics[metric].mean;
        sum += isnan(value) ? 0 : value;
        n += !isnan(value);
    }
    *mean = n > 0 ? sum / n : (double)NAN;
    for (int f = 0; f < cv->n_folds; f++) {
        const double value = cv->folds[f].eval->metrics[metric].mean;
        squares += isnan(value) ? 0 : (value - *mean) * (value - *mean);
    }
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : (double)NAN;
}

static void print_figure(double value, const char *name)
{
    char figure[RW_FIGURE_ROOM];
    const int width = (int)strlen(name) > 10 ? (int)strlen(name) : 10;
    printf("  %*s", width, rw_load_figure(value, figure));
}

static void print_results(const struct rw_cv *cv)
{
    const struct rw_eval *pooled = cv->pooled;
    printf("%-9s  %7s  %7s  %7s  %6s", "fold", "train", "valid", "test", "trees");
    for (int m = 0; m < pooled->n_metrics; m++)
        printf("  %10s", pooled->metrics[m].name);
    putchar('\n');
    for (int f = 0; f < cv->n_folds; f++) {
        const struct rw_cv_fold *fold = &cv->folds[f];
        printf("%-9d  %7u  %7u  %7u  %6d", f + 1, fold->n_train, fold->n_valid, fold->n_test,
               rw_model_n_trees(fold->model));
        for (int m = 0; m < pooled->n_metrics; m++)
            print_figure(fold->eval->metrics[m].mean, pooled->metrics[m].name);
        putchar('\n');
    }
    for (int row = 0; row < 2; row++) {
        printf("%-44s", row ? "deviation" : "mean");
        for (int m = 0; m < pooled->n_metrics; m++) {
            double both[2];
            spread(cv, m, &both[0], &both[1]);
            print_figure(both[row], pooled->metrics[m].name);
        }
        putchar('\n');
    }
    printf("%-44s", "pooled");
    for (int m = 0; m < pooled->n_metrics; m++)
        print_figure(pooled->metrics[m].mean, pooled->metrics[m].name);
    printf(
        "\n\nqueries of each part; pooled: all %u queries, each scored by the model that never saw "
        "it\n%s\n",
        pooled->n_queries, pooled->conventions);
}

/* ------------------------------------------------------------------ what it writes */

static int path_in(const struct request *request, const char *name, char path[PATH_ROOM])
{
    if (snprintf(path, PATH_ROOM, "%s/%s", request->folder, name) < PATH_ROOM)
        return 0;
    rw_talk_error("the name of the folder is too long");
    return -1;
}

static int write_scores(const struct request *request, const struct rw_cv *cv, uint32_t n_docs)
{
    struct rw_output output;
    char path[PATH_ROOM], figure[RW_FIGURE_ROOM];
    if (path_in(request, "scores.txt", path) < 0 || rw_output_open(&output, path) < 0)
        return -1;
    for (uint32_t i = 0; i < n_docs; i++) {
        rw_load_exact(cv->scores[i], figure);
        fprintf(output.file, "%s\n", figure);
    }
    return rw_output_commit(&output);
}

static int write_folds(const struct request *request, const struct rw_cv *cv,
                       const struct rw_dataset *dataset)
{
    struct rw_output output;
    char path[PATH_ROOM];
    if (path_in(request, "folds.tsv", path) < 0 || rw_output_open(&output, path) < 0)
        return -1;
    for (uint32_t q = 0; q < rw_dataset_n_queries(dataset); q++)
        fprintf(output.file, "%s\t%u\n", rw_dataset_query_id(dataset, q), cv->fold_of[q] + 1);
    return rw_output_commit(&output);
}

static int write_results(const struct request *request, const struct rw_cv *cv,
                         struct rw_params *params)
{
    struct rw_output output;
    char path[PATH_ROOM];
    if (path_in(request, "results.json", path) < 0 || rw_output_open(&output, path) < 0)
        return -1;
    json_t *all = results_json(cv, params);
    const int result = all ? json_dumpf(all, output.file, JSON_INDENT(1)) : -1;
    json_decref(all);
    fputc('\n', output.file);
    if (result == 0)
        return rw_output_commit(&output);
    rw_talk_out_of_memory();
    rw_output_abandon(&output);
    return -1;
}

static int write_all(struct rw_said *said, const struct request *request, const struct rw_cv *cv,
                     const struct rw_dataset *dataset)
{
    for (int f = 0; f < cv->n_folds; f++) {
        char name[32], path[PATH_ROOM];
        snprintf(name, sizeof(name), "fold-%d.txt", f + 1);
        if (path_in(request, name, path) < 0)
            return RW_EXIT_FAILURE;
        struct rw_output output;
        if (rw_output_open(&output, path) < 0)
            return RW_EXIT_FAILURE;
        const int status =
            rw_model_write_file(said->ctx, cv->folds[f].model, output.file, output.path);
        if (status < 0) {
            rw_output_abandon(&output);
            return rw_talk_failed(said->ctx, status, "cv");
        }
        if (rw_output_commit(&output) < 0)
            return RW_EXIT_FAILURE;
    }
    return write_scores(request, cv, rw_dataset_n_docs(dataset)) < 0 ||
                   write_folds(request, cv, dataset) < 0 ||
                   write_results(request, cv, said->params) < 0
               ? RW_EXIT_FAILURE
               : RW_EXIT_OK;
}

/* ------------------------------------------------------------------ the work */

static int validate(struct rw_said *said, const struct request *request)
{
    struct rw_dataset *dataset = NULL;
    struct rw_cv *cv = NULL;
    int code = RW_EXIT_FAILURE;
    int status = rw_load_weighted(said, &said->operands, &dataset);
    if (status >= 0) {
        rw_talk_line("%u documents in %u queries, %u features, %d folds",
                     rw_dataset_n_docs(dataset), rw_dataset_n_queries(dataset),
                     rw_dataset_n_features(dataset), request->n_folds);
        const double start = rw_progress_clock();
        status = rw_cross_validate(said->ctx, said->params, dataset, request->n_folds, &cv);
        rw_load_stage("cv", (rw_progress_clock() - start) * 1e3, rw_load_peak_bytes());
    }
    if (status < 0) {
        code = rw_talk_failed(said->ctx, status, "cv");
        goto out;
    }
    rw_load_warn_ties(cv->pooled, "");
    code = write_all(said, request, cv, dataset);
    if (code == RW_EXIT_OK)
        print_results(cv);
out:
    rw_cv_free(cv);
    rw_dataset_free(dataset);
    return code;
}

/* A folder that is there, or can be made. */
static int make_folder(struct request *request)
{
    struct stat about;
    request->made_folder = mkdir(request->folder, 0777) == 0;
    if (request->made_folder)
        return 0;
    const int why = errno;
    if (why == EEXIST && stat(request->folder, &about) == 0 && S_ISDIR(about.st_mode))
        return 0;
    rw_talk_refused(why, "cannot make the folder '%s'", request->folder);
    return -1;
}

static int check(const struct rw_usage *usage, struct rw_said *said, struct request *request)
{
    unsigned long long n = 0;
    if (!request->folds)
        return rw_options_wrong(usage, "'cv' needs --folds K");
    if (!request->folder)
        return rw_options_wrong(usage, "'cv' needs -o DIR");
    int code = rw_options_number(usage, "--folds", request->folds, 2, MOST_FOLDS, &n);
    if (code != 0)
        return code;
    request->n_folds = (int)n;
    if (n < 3 && strcmp(rw_params_get(said->params, "early-stop"), "0") != 0)
        return rw_options_wrong(usage,
                                "'--folds 2' needs '--early-stop 0': of 3 and more folds one is "
                                "measured, and the next one stops training");
    const char *others[] = {rw_params_get(said->params, "weights"),
                            rw_params_get(said->params, "names"),
                            rw_params_get(said->params, "label-gain")};
    const struct rw_list lists[] = {said->operands, {others, 3}};
    code = rw_options_check_files(usage, lists, 2, NULL);
    if (code != 0)
        return code;
    const int status = rw_params_check(said->ctx, said->params);
    if (status < 0)
        return rw_talk_failed(said->ctx, status, "cv");
    return make_folder(request) < 0 ? RW_EXIT_FAILURE : -1;
}

int rw_cmd_cv(int argc, char **argv)
{
    struct request request = {0};
    const struct rw_option options[] = {
        {"folds", 0, "K", "how many parts the queries are dealt into (needed)", RW_OPTION_TEXT,
         &request.folds},
        {"output", 'o', "DIR", "where models, scores and results go (needed)", RW_OPTION_TEXT,
         &request.folder},
        {0},
    };
    const struct rw_usage usage = {
        .command = "cv",
        .operands = "DATA... --folds K -o DIR",
        .about = "Cross-validation by query: a model for each fold, measured on it, trained on "
                 "the others; under early stopping the next fold is left out of these and stops "
                 "training, so that what is measured decides nothing.",
        .least = 1,
        .most = -1,
        .options = options,
        .params = "*",
    };
    struct rw_said said;
    int code = rw_options_parse(&usage, argc, argv, &said);
    if (code < 0)
        code = check(&usage, &said, &request);
    if (code < 0)
        code = validate(&said, &request);
    if (code != RW_EXIT_OK && request.made_folder)
        (void)rmdir(request.folder); /* it goes if it is still empty */
    rw_options_release(&usage, &said);
    return code;
}
