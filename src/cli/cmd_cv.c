/* `rankwood cv` runs a cross-validation by query. In the folder of --output, it writes the model of
 * each fold to fold-N.txt, the documents' scores to scores.txt, the queries' folds to folds.tsv,
 * and the printed results to results.json. */
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

enum { MOST_FOLDS = 1000 };
/* The written files, in addition to the models. */
enum { SCORES, FOLDS, RESULTS, N_FILES };
static const char *const files[] = {"scores.txt", "folds.tsv", "results.json"};

static const char *folder;
static unsigned long long n_folds;
static struct rw_cv_options how;
static const struct rw_option options[] = {
    {"folds", "K", "number of folds: 3 or more, or 2 with --early-stop 0 (required)",
     RW_OPTION_NUMBER, .value = &n_folds, .range = {2, MOST_FOLDS}, .needed = 1},
    {RW_OPTION_FOLD_BY},
    {"output", "DIR", "write models, scores and results to this folder (required)", RW_OPTION_TEXT,
     .value = &folder, .needed = 1},
    {"shared-bins", NULL,
     "find bin boundaries once, from all of DATA: faster, but the values of documents that measure "
     "a fold then influence its model",
     RW_OPTION_FLAG, .value = &how.shares_bins},
    {0},
};

/* ---- printing ---- */

static json_t *results_json(const struct rw_cv *cv, struct rw_params *params)
{
    const struct rw_model *model = cv->folds[0].model; /* all folds have its parameters */
    const struct rw_run_view last = rw_model_run(model, rw_model_info(model).n_runs - 1);
    json_t *folds = json_array(), *used = json_object();
    for (int i = 0; i < last.n_params; i++)
        json_object_set_new(used, last.params[i].name,
                            rw_result_param(last.params[i].name, last.params[i].value));
    for (int f = 0; f < cv->n_folds; f++) {
        const struct rw_cv_fold *fold = &cv->folds[f];
        rw_result_add(
            folds,
            "fold:i train_queries:u valid_queries:u test_queries:u trees:i best_round:i metrics:o",
            f + 1, fold->n_train, fold->n_valid, fold->n_test, rw_model_n_trees(fold->model),
            rw_model_info(fold->model).best_round, rw_load_json_metrics(fold->eval));
    }
    return rw_result_row("params:o given:o shared_bins:b folds:o pooled:o conventions:s", used,
                         rw_result_params(params), how.shares_bins, folds,
                         rw_load_json_metrics(cv->pooled), cv->pooled->conventions);
}

/* Computes mean and standard deviation of the folds' values of a metric. Folds in which no query
 * counts have no value and are skipped. */
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

/* Prints a row per fold and a column per metric, then mean, deviation and pooled value. */
static void print_results(const struct rw_cli *cli, const struct rw_cv *cv, const json_t *document)
{
    static const char *const sums[] = {"mean", "deviation", "pooled"};
    const struct rw_eval *pooled = cv->pooled;
    const char *columns = "fold;train_queries=train;valid_queries=valid;test_queries=test;trees";
    json_t *rows = json_array();
    for (int f = 0; f < cv->n_folds; f++) {
        json_t *row = json_copy(json_array_get(json_object_get(document, "folds"), (size_t)f));
        json_object_set_new(row, "fold", json_string(rw_text("%d", f + 1)));
        json_array_append_new(rows, row);
    }
    for (int i = 0; i < 3; i++)
        rw_result_add(rows, "fold:s", sums[i]);
    for (int m = 0; m < pooled->n_metrics; m++) {
        const char *name = pooled->metrics[m].name;
        const size_t n = (size_t)cv->n_folds;
        double mean, deviation;
        columns = rw_text("%s;%s", columns, name);
        spread(cv, m, &mean, &deviation);
        const double last[] = {mean, deviation, pooled->metrics[m].mean};
        for (size_t f = 0; f < n + 3; f++)
            json_object_set_new(
                json_array_get(rows, f), name,
                rw_result_real(f < n ? cv->folds[f].eval->metrics[m].mean : last[f - n]));
    }
    rw_result_rows(NULL, rows, columns);
    rw_result_line(
        "train, valid, test: number of queries; pooled: all %u queries, each scored by the "
        "model that did not use it\n%s%s%s",
        pooled->n_queries,
        rw_load_fold_by
            ? rw_text("folds: queries with equal '%s' are in one fold\n", rw_load_fold_by)
            : "",
        how.shares_bins ? "shared bins: bin boundaries are those of all queries\n" : "",
        pooled->conventions);
    rw_result_print(cli, document);
}

/* ---- writing ---- */

static const char *path_in(const char *name)
{
    return rw_text("%s/%s", folder, name);
}

/* Returns the path of a fold's model. fold: from 1. */
static const char *path_of(int fold)
{
    return rw_text("%s/fold-%d.txt", folder, fold);
}

static int write_all(struct rw_cli *cli, const struct rw_cv *cv, const json_t *results)
{
    const struct rw_dataset *data = cli->dataset;
    struct rw_out_file *out = &cli->out;
    for (int f = 0; f < cv->n_folds; f++) {
        RW_STEP(rw_out_file_open(cli->ctx, out, path_of(f + 1)));
        RW_STEP(rw_model_write_file(cli->ctx, cv->folds[f].model, out->file, out->path));
        RW_STEP(rw_out_file_commit(cli->ctx, out));
    }
    for (int i = 0; i < N_FILES; i++) {
        RW_STEP(rw_out_file_open(cli->ctx, out, path_in(files[i])));
        for (uint32_t doc = 0; i == SCORES && doc < rw_dataset_n_docs(data); doc++)
            fprintf(out->file, "%s\n", rw_exact(cv->scores[doc]));
        for (uint32_t q = 0; i == FOLDS && q < rw_dataset_n_queries(data); q++)
            fprintf(out->file, "%s\t%u\n", rw_dataset_query_id(data, q), cv->fold_of[q] + 1);
        if (i == RESULTS) {
            json_dumpf(results, out->file, JSON_INDENT(1));
            fputc('\n', out->file);
        }
        RW_STEP(rw_out_file_commit(cli->ctx, out));
    }
    /* Removes models of an earlier cross-validation with more folds. Its other files are
     * replaced. */
    for (int f = (int)n_folds + 1; f <= MOST_FOLDS; f++) {
        if (unlink(path_of(f)) != 0)
            return errno == ENOENT ? 0 : rw_msg_errno(errno, "cannot remove '%s'", path_of(f));
    }
    return 0;
}

/* ---- the work ---- */

static int validate(struct rw_cli *cli)
{
    static struct rw_cv *cv;
    static json_t *results;
    RW_STEP(rw_load_weighted(cli, &cli->operands));
    rw_msg_line("%u documents in %u queries, %u features, %d folds",
                rw_dataset_n_docs(cli->dataset), rw_dataset_n_queries(cli->dataset),
                rw_dataset_n_features(cli->dataset), (int)n_folds);
    RW_STEP(rw_load_groups(cli, cli->dataset, &how.groups));
    how.n_folds = (int)n_folds;
    RW_STEP(rw_progress_follow(cli->ctx));
    RW_STEP(rw_cross_validate_with(cli->ctx, cli->params, cli->dataset, &how, &cv));
    rw_load_stage_end("cv");
    rw_load_warn_ties(cv->pooled, "scores", RW_TIES_ADVICE);
    results = results_json(cv, cli->params);
    if (rw_load_fold_by)
        json_object_set_new(results, "fold_by", rw_result_text(rw_load_fold_by));
    RW_STEP(write_all(cli, cv, results));
    print_results(cli, cv, results);
    return 0;
}

static int check(struct rw_cli *cli)
{
    if (n_folds < 3 && strcmp(rw_params_get(cli->params, "early-stop"), "0") != 0)
        return rw_wrong(cli,
                        "'--folds 2' needs '--early-stop 0'; early stopping needs a third fold");
    /* a file that is read must not be written or removed in the folder */
    for (int i = 0; i < N_FILES; i++)
        RW_STEP(rw_options_check_written(cli, path_in(files[i])));
    for (int f = 1; f <= MOST_FOLDS; f++) {
        if (f > (int)n_folds && access(path_of(f), F_OK) != 0)
            break;
        RW_STEP(rw_options_check_written(cli, path_of(f)));
    }
    return 0;
}

static int run(struct rw_cli *cli)
{
    struct stat about;
    const int made_folder = mkdir(folder, 0777) == 0, why = errno;
    const int is_there = why == EEXIST && stat(folder, &about) == 0 && S_ISDIR(about.st_mode);
    if (!made_folder && !is_there)
        return rw_msg_errno(why, "cannot make the folder '%s'", folder);
    const int code = validate(cli);
    if (code != 0 && made_folder) {
        rw_out_file_abandon(&cli->out);
        (void)rmdir(folder); /* removes the folder if it is empty */
    }
    return code;
}

const struct rw_command rw_cmd_cv = {
    .name = "cv",
    .brief = "cross-validate by query",
    .operands = "DATA... --folds K -o DIR",
    .about =
        "Cross-validates by query: measures each fold with a model trained on the other "
        "folds. With early stopping, the next fold is the validation set, and only the rest "
        "is trained on. Folds depend only on the queries, --folds, --fold-by and --seed: runs that "
        "share these have the same folds. 'auto' values are chosen once for all of DATA.",
    .has_results = 1,
    .options = options,
    .params = "*",
    .check = check,
    .run = run,
};
