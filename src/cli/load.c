/* Code that several commands share: reading models and data, warnings about them, and the workers
 * that run a command together. */
#include "cli/cli.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const double ties_matter = 0.001; /* larger changes of a metric cause a warning */

void rw_load_stage(const char *stage, double ms, size_t peak_bytes)
{
    if (rw_msg_is_verbose())
        rw_msg_line("stage %s: %.3f s, peak memory %.1f MB", stage, ms / 1e3,
                    (double)peak_bytes / 1e6);
}

static _Thread_local double last_stage; /* time at which the last stage ended */

void rw_load_stage_end(const char *stage)
{
    const double now = rw_progress_clock();
    struct rusage usage = {.ru_maxrss = 0};
    getrusage(RUSAGE_SELF, &usage);
    if (*stage)
        rw_load_stage(stage, (now - last_stage) * 1e3, (size_t)usage.ru_maxrss * 1024);
    last_stage = now;
}

int rw_load_checkpoints(struct rw_cli *cli, const char *path, const char *resume,
                        struct rw_checkpoints *out)
{
    const int is_auto = resume && strcmp(resume, "auto") == 0;
    const char *from = is_auto ? path : resume;
    if (path && strcmp(path, "-") == 0)
        return rw_wrong(cli, "'--checkpoint' needs a file, not standard output");
    if (is_auto && !path)
        return rw_wrong(cli, "'--resume auto' needs '--checkpoint FILE' to resume from");
    *out = (struct rw_checkpoints){.path = path, .resume = from, .or_start = is_auto};
    /* only the leading worker checks now; a file that another worker lacks is an error later, when
     * all workers read it */
    if (from && rw_workers_leads(cli) && access(from, R_OK) != 0 && (!is_auto || errno != ENOENT))
        return rw_msg_errno(errno, "cannot open '%s'", from);
    return 0;
}

void rw_load_warn_checkpoint(const struct rw_checkpoints *how)
{
    struct stat about;
    if (how->path && !how->resume && stat(how->path, &about) == 0 && S_ISREG(about.st_mode))
        rw_msg_warning(
            "checkpoint '%s' exists and will be replaced; '--resume auto' would continue from it",
            how->path);
}

void rw_load_end_reading(const struct rw_list *files)
{
    rw_load_stage_end(rw_text("read %.250s%s", files->text[0], files->n > 1 ? " ..." : ""));
}

/* Splits a list parameter into `list`. Later calls return the first value, as reading a table
 * changes the parameter. */
static const struct rw_list *list_of(const struct rw_cli *cli, const char *param,
                                     struct rw_list *list)
{
    if (list->n == 0)
        *list = rw_list_of(rw_params_get(cli->params, param));
    return list;
}

static const char *given(const struct rw_cli *cli, const char *param)
{
    const char *value = rw_params_get(cli->params, param);
    return *value ? value : NULL;
}

int rw_load_columns(struct rw_cli *cli, const struct rw_dataset *like, const struct rw_model *model,
                    enum rw_load_kind kind)
{
    const struct rw_list *ignore = list_of(cli, "ignore", &cli->ignore);
    const struct rw_list *labels = list_of(cli, "label-columns", &cli->labels);
    const struct rw_columns columns = {
        .label = labels->n ? labels->text[0] : given(cli, "label-column"),
        .more_label = labels->n ? labels->text + 1 : NULL,
        .n_more_labels = labels->n ? labels->n - 1 : 0,
        .qid = given(cli, "qid-column"),
        .weight = given(cli, "weight-column"),
        .ignore = ignore->text,
        .n_ignore = ignore->n,
        .no_label = kind != RW_LOAD_ALL,
        .no_qid = kind == RW_LOAD_SCORES,
        .model = model,
        .keep_others = model && model != cli->model, /* cli->model only scores */
        .like = like,
        .categorical = given(cli, "categorical"),
        .names = given(cli, "names"),
        .query_text = rw_load_fold_by ? rw_load_fold_by : rw_load_split_time};
    return rw_ctx_set_columns(cli->ctx, &columns);
}

const char *rw_load_fold_by, *rw_load_split_time;

int rw_load_groups(struct rw_cli *cli, const struct rw_dataset *data, const uint32_t **groups)
{
    uint32_t n_groups;
    *groups = NULL;
    if (!rw_load_fold_by && data == cli->dataset && given(cli, "positions"))
        rw_msg_line("click data: sessions of one search text may be in several folds; '--fold-by' "
                    "keeps them together");
    if (!rw_load_fold_by)
        return 0;
    uint32_t *made = rw_need(rw_dataset_n_queries(data), sizeof(*made));
    RW_STEP(rw_dataset_query_groups(cli->ctx, data, rw_load_fold_by, made, &n_groups));
    rw_msg_line("folds by '%s': %u groups of %u queries", rw_load_fold_by, n_groups,
                rw_dataset_n_queries(data));
    *groups = made;
    return 0;
}

int rw_load_check_columns(struct rw_cli *cli)
{
    return rw_ctx_n_tables(cli->ctx) > 0
               ? RW_OK
               : rw_params_check(cli->ctx, cli->params, RW_PARAMS_NO_TABLE);
}

int rw_load_dataset(struct rw_cli *cli, const struct rw_list *files, int by_codes,
                    struct rw_dataset **out)
{
    RW_STEP(rw_load_columns(cli, cli->dataset, cli->init ? cli->init : cli->model, RW_LOAD_ALL));
    RW_STEP(by_codes ? rw_binned_read_valid(cli->ctx, cli->params, cli->binned, files->text,
                                            files->n, out)
                     : rw_dataset_read(cli->ctx, files->text, files->n, out));
    rw_load_end_reading(files);
    return 0;
}

int rw_load_side_columns(struct rw_cli *cli)
{
    const char *name;
    if (rw_ctx_n_tables(cli->ctx) > 0) /* ignored columns are left out already */
        RW_STEP(rw_params_set(cli->ctx, cli->params, "ignore", ""));
    for (int i = 0; (name = rw_side_column_name(i)) != NULL; i++) {
        const char *path = given(cli, name);
        if (path)
            RW_STEP(rw_dataset_read_side_column(cli->ctx, cli->dataset, name, path));
    }
    return 0;
}

int rw_load_weighted(struct rw_cli *cli, const struct rw_list *files)
{
    RW_STEP(rw_load_dataset(cli, files, 0, &cli->dataset));
    if (strcmp(cli->command->params, "*") != 0) /* trainings check them later */
        RW_STEP(rw_load_check_columns(cli));
    return rw_load_side_columns(cli);
}

/* Returns "a.txt, b.txt", or the first few names and the number of the rest. */
static const char *names_of(const struct rw_list *files)
{
    enum { MOST = 4 };
    const char *names = files->text[0];
    for (int i = 1; i < files->n && i < MOST; i++)
        names = rw_text("%s, %s", names, files->text[i]);
    return files->n > MOST ? rw_text("%s and %d more", names, files->n - MOST) : names;
}

int rw_load_report_size(struct rw_cli *cli, const char *set, const struct rw_list *files,
                        const struct rw_dataset *data, uint64_t size[2])
{
    uint64_t n[2] = {rw_dataset_n_docs(data), rw_dataset_n_queries(data)};
    const int trains = data == cli->dataset;
    RW_STEP(rw_workers_sum(cli->ctx, n, 2));
    if (size)
        memcpy(size, n, sizeof(n));
    if (rw_workers_leads(cli))
        rw_msg_line("%s: %llu documents in %llu queries%s, from %s", set, (unsigned long long)n[0],
                    (unsigned long long)n[1],
                    trains ? rw_text(", %u features", rw_load_n_features(cli)) : "",
                    names_of(files));
    return 0;
}

uint32_t rw_load_n_features(const struct rw_cli *cli)
{
    return cli->binned ? rw_binned_n_features(cli->binned) : rw_dataset_n_features(cli->dataset);
}

int rw_load_model(struct rw_cli *cli, const char *path, struct rw_model **out)
{
    RW_STEP(rw_model_read(cli->ctx, path, out));
    if (!rw_model_info(*out).is_finished)
        rw_msg_warning("%s: training was interrupted; this is the best model up to that round",
                       path);
    return 0;
}

int rw_load_model_and_data(struct rw_cli *cli, const struct rw_list *files)
{
    const struct rw_list rest = {cli->operands.text + 1, cli->operands.n - 1};
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    RW_STEP(rw_load_weighted(cli, files ? files : &rest));
    rw_load_warn_lacking(cli);
    return 0;
}

int rw_load_scores(struct rw_cli *cli, const char *path, double *scores)
{
    struct rw_run_match match;
    RW_STEP(rw_dataset_read_scores(cli->ctx, cli->dataset, path, scores, &match));
    if (match.n_unranked > 0)
        rw_msg_warning(
            "%s: the run lacks %u documents; they rank after all others of their queries, tied",
            path, match.n_unranked);
    if (match.n_unknown > 0)
        rw_msg_warning("%s: %u lines are for queries that the data lacks", path, match.n_unknown);
    return 0;
}

int rw_load_n_trees(struct rw_cli *cli, const char *text, int *n_trees)
{
    unsigned long long number = 0;
    *n_trees = rw_model_n_trees(cli->model);
    if (!text)
        return 0;
    if (*n_trees == 0)
        return rw_wrong(cli, "'--trees' has no effect: the model has no trees");
    RW_STEP(rw_options_number(cli, "trees", text, 1, (unsigned long long)*n_trees, &number));
    *n_trees = (int)number;
    return 0;
}

static int check_conventions(const struct rw_cli *cli, const char *why)
{
    static const char *const ours[] = {"empty", "ties", "relevant"};
    for (int i = 0; i < 3; i++) {
        if (rw_params_origin(cli->params, ours[i]) >= RW_PARAM_SET)
            return rw_wrong(cli, "'--%s' has no effect%s", ours[i], why);
    }
    return 0;
}

int rw_load_check_like(const struct rw_cli *cli, const char *like)
{
    struct rw_eval_params how = *rw_params_eval(cli->params);
    char conventions[512];
    how.like = like;
    RW_STEP(check_conventions(cli, " with '--like': the program's conventions decide"));
    /* Reports the library's error before the data is read. */
    return rw_eval_conventions(cli->ctx, &how, conventions, sizeof(conventions));
}

json_t *rw_load_calibration(const struct rw_calibration *map)
{
    const char *relevant = rw_text("for labels of %g or more", map->relevant);
    json_t *json = rw_result_row("method:s relevant:n", map->method, map->relevant),
           *knots = json_array();
    if (map->n_knots > 0) {
        rw_result_line("calibration %s, %s, %d knots", map->method, relevant, map->n_knots);
    } else {
        rw_result_line("calibration %s, %s, slope %s, intercept %s", map->method, relevant,
                       rw_exact(map->slope), rw_exact(map->intercept));
        rw_result_set(json, "slope:n intercept:n", map->slope, map->intercept);
    }
    for (int i = 0; i < map->n_knots; i++)
        json_array_append_new(knots, json_pack("[f,f]", map->score[i], map->probability[i]));
    json_object_set_new(json, "knots", knots);
    return json;
}

json_t *rw_load_json_metrics(const struct rw_eval *eval)
{
    json_t *metrics = json_array();
    for (int i = 0; i < eval->n_metrics; i++)
        rw_result_add(metrics, "metric:s mean:n queries:u", eval->metrics[i].name,
                      eval->metrics[i].mean, eval->metrics[i].n_counted);
    return metrics;
}

int rw_load_check_qrels(const struct rw_cli *cli, const char **like)
{
    const struct rw_param_info *info;
    for (int i = 0; (info = rw_param_info(i)) != NULL; i++) {
        if ((info->roles & (RW_ROLE_WEIGHTS | RW_ROLE_TABLE)) &&
            rw_params_origin(cli->params, info->name) == RW_PARAM_CHANGED)
            return rw_wrong(cli, "'--%s' has no effect with '--qrels'", info->name);
    }
    RW_STEP(rw_params_no_effect(cli->ctx, cli->params, "device", "with '--qrels'"));
    if (cli->operands.n > 0)
        return rw_wrong(cli, "'%s' has no effect with '--qrels', which replaces DATA",
                        cli->operands.text[0]);
    if (*like && strcmp(*like, "rankwood") == 0) {
        *like = NULL;
        return 0;
    }
    if (*like)
        return rw_load_check_like(cli, *like);
    *like = "trec";
    return check_conventions(cli, ": '--qrels' measures as trec_eval does, unless '--like "
                                  "rankwood' is given");
}

int rw_load_qrels(const struct rw_cli *cli, const char *qrels, const struct rw_list *runs,
                  struct rw_qrels **out)
{
    RW_STEP(rw_qrels_read(cli->ctx, qrels, runs->text, runs->n, out));
    rw_load_stage_end("read judgments and runs");
    for (int i = 0; i < runs->n; i++) {
        const struct rw_qrels_run *run = &(*out)->runs[i];
        if (run->n_unanswered > 0)
            rw_msg_warning("%s: %u judged queries are missing in the run; they count as queries "
                           "without results",
                           runs->text[i], run->n_unanswered);
        if (run->n_unknown > 0)
            rw_msg_warning("%s: %llu lines are for queries without judgments", runs->text[i],
                           (unsigned long long)run->n_unknown);
    }
    return 0;
}

void rw_load_warn_moved(const char *set, const char *metric, double moved, const char *advice)
{
    static int is_said;
    if (is_said || !(fabs(moved) > ties_matter))
        return;
    is_said = 1;
    rw_msg_warning("%s: with tied documents in the opposite order, %s would change by %+.6f%s", set,
                   metric, moved, advice);
}

void rw_load_warn_ties(const struct rw_eval *eval, const char *set, const char *advice)
{
    for (int i = 0; i < eval->n_metrics; i++)
        rw_load_warn_moved(set, eval->metrics[i].name, eval->metrics[i].ties_moved, advice);
}

void rw_load_warn_lacking(const struct rw_cli *cli)
{
    static unsigned char seen[RW_FEATURE_IDS];
    if (rw_dataset_width(cli->dataset))
        return;
    memset(seen, 0, sizeof(seen));
    rw_dataset_note_features(cli->dataset, seen);
    rw_model_warn_lacking(cli->ctx, cli->model, rw_dataset_n_docs(cli->dataset), seen);
}

int rw_workers_join(struct rw_cli *cli)
{
    if (!cli->command->has_workers)
        return 0;
    RW_STEP(rw_comm_open(cli->ctx, NULL, &cli->comm));
    RW_STEP(rw_ctx_set_comm(cli->ctx, cli->comm));
    rw_msg_silence(!rw_workers_leads(cli));
    return 0;
}

int rw_workers_sync(struct rw_cli *cli, int code)
{
    /* An exit code means that a message was already printed. */
    const int status = rw_workers_agree(cli->ctx, code > 0 ? RW_ERR_ARGUMENT : code);
    return code > 0 ? code : status;
}

void rw_workers_leave(struct rw_cli *cli, int code)
{
    if (cli->comm && code != RW_EXIT_OK && code < 128)
        rw_workers_end(cli->ctx);
    rw_ctx_set_comm(cli->ctx, NULL);
    rw_comm_free(cli->comm);
    cli->comm = NULL;
}

int rw_workers_leads(const struct rw_cli *cli)
{
    return rw_workers_number(cli->ctx) == 0;
}
