/* rankwood report: a model and its ranking of data, as one web page. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/talk.h"

enum { TREES = 3, REPEATS = 1 };

struct job {
    struct rw_said said;
    const char *valid, *output, *like, *title, *trees, *repeats;
    /* resolved */
    struct rw_list files; /* of the data: views of `copy` */
    char *copy;           /* the rest: owned */
    struct rw_model *model;
    struct rw_dataset *dataset;
    struct rw_output out;
};

/* Bars are of features; each has been scored once a permutation. */
static int on_feature(void *user, int done, int total)
{
    const struct job *job = user;
    rw_progress_show(done, total, rw_dataset_n_docs(job->dataset));
    return 0;
}

static int check_like(const struct rw_usage *usage, const struct job *job)
{
    static const char *const ours[] = {"empty", "ties", "relevant"};
    for (int i = 0; i < 3; i++) {
        if (rw_params_origin(job->said.params, ours[i]) == RW_PARAM_SET)
            return rw_options_wrong(
                usage, "'--%s' has no effect with '--like': the program's conventions decide",
                ours[i]);
    }
    for (int i = 0;; i++) {
        const char *name = rw_like_at(i);
        if (name && strcmp(name, job->like) == 0)
            return -1;
        if (!name) { /* the library's own words, before the data is read */
            struct rw_eval *none;
            return rw_talk_failed(job->said.ctx,
                                  rw_evaluate_like(job->said.ctx, rw_params_eval(job->said.params),
                                                   NULL, NULL, job->like, &none),
                                  "report");
        }
    }
}

/* The inputs are not written to, and standard input is read once. */
static int check_files(const struct rw_usage *usage, struct job *job)
{
    const char *weights = rw_params_get(job->said.params, "weights");
    const char *others[] = {job->said.operands.text[0], weights};
    int code = rw_options_split(usage, job->valid, &job->copy, &job->files);
    if (code != 0)
        return code;
    const struct rw_list lists[] = {{others, 2}, job->files};
    code = rw_options_check_files(usage, lists, 2, job->output);
    return code == 0 ? -1 : code;
}

static int check(const struct rw_usage *usage, struct job *job, struct rw_report_options *how)
{
    unsigned long long trees = TREES, repeats = REPEATS;
    if (!job->valid)
        return rw_options_wrong(usage, "'report' needs --valid DATA");
    if (!job->output)
        return rw_options_wrong(usage, "'report' needs -o FILE");
    int code = job->trees ? rw_options_number(usage, "--trees", job->trees, 0, 100, &trees) : 0;
    if (code == 0 && job->repeats)
        code = rw_options_number(usage, "--repeats", job->repeats, 0, 1000, &repeats);
    if (code != 0)
        return code;
    if (repeats == 0 && rw_params_must_matter(job->said.params, "seed"))
        return rw_options_wrong(usage, "'--seed' has no effect where nothing is permuted");
    code = job->like ? check_like(usage, job) : -1;
    if (code < 0)
        code = check_files(usage, job);
    if (code >= 0)
        return code;
    const int status = rw_params_check_eval(job->said.ctx, job->said.params);
    if (status < 0)
        return rw_talk_failed(job->said.ctx, status, "report");
    how->n_trees = (int)trees;
    how->n_repeats = (int)repeats;
    return rw_output_check(job->output) < 0 ? RW_EXIT_FAILURE : -1;
}

static int read_inputs(struct job *job)
{
    struct rw_ctx *ctx = job->said.ctx;
    uint32_t n_missing, n_unknown;
    int status = rw_load_model(ctx, job->said.operands.text[0], &job->model);
    if (status >= 0)
        status = rw_load_weighted(&job->said, &job->files, &job->dataset);
    if (status < 0)
        return rw_talk_failed(ctx, status, "report");
    rw_model_unmatched(job->model, job->dataset, &n_missing, &n_unknown);
    rw_load_warn_unmatched(n_missing, n_unknown);
    return -1;
}

static int run(struct job *job, const struct rw_report_options *how)
{
    int code = read_inputs(job);
    if (code >= 0)
        return code;
    if (rw_output_open(&job->out, job->output) < 0)
        return RW_EXIT_FAILURE;
    const double start = rw_progress_clock();
    rw_progress_start();
    const int status = rw_report(job->said.ctx, rw_params_eval(job->said.params), job->model,
                                 job->dataset, how, job->out.file);
    rw_progress_end();
    rw_load_stage("report", (rw_progress_clock() - start) * 1e3, rw_load_peak_bytes());
    code = RW_EXIT_OK;
    if (status < 0)
        code = rw_talk_failed(job->said.ctx, status, "report");
    else if (rw_output_commit(&job->out) < 0)
        code = RW_EXIT_FAILURE;
    rw_output_abandon(&job->out);
    return code;
}

int rw_cmd_report(int argc, char **argv)
{
    struct job job = {0};
    const struct rw_option options[] = {
        {"valid", 0, "DATA", "what is ranked and measured (needed): files with commas between them",
         RW_OPTION_TEXT, &job.valid},
        {"output", 'o', "FILE", "where the page goes (needed)", RW_OPTION_TEXT, &job.output},
        {"title", 0, "TEXT", "the page's title [default: Ranking report]", RW_OPTION_TEXT,
         &job.title},
        {"trees", 0, "N", "draw the top of the first N trees, 0 to 100 [default: 3]",
         RW_OPTION_TEXT, &job.trees},
        {"repeats", 0, "N", "permutations of each feature; 0: none [default: 1]", RW_OPTION_TEXT,
         &job.repeats},
        {"like", 0, "PROGRAM",
         "measure as lightgbm, xgboost, xgboost-, catboost, ranklib, quickrank, ydf, trec, gdeval "
         "or ranx do (permutations: by the parameters)",
         RW_OPTION_TEXT, &job.like},
        {0},
    };
    const struct rw_usage usage = {
        .command = "report",
        .operands = "MODEL --valid DATA -o FILE.html",
        .about = "Writes one web page, which needs no network and no other file: learning curves, "
                 "the first metric by query and by query size, scores by label, features by gain "
                 "and by permutation, the first trees, and the parameters.",
        .least = 1,
        .most = 1,
        .options = options,
        .params = " metric empty ties label-gain relevant weights seed threads ",
    };
    int code = rw_options_parse(&usage, argc, argv, &job.said);
    struct rw_report_options how = {
        .title = job.title, .like = job.like, .on_feature = on_feature, .user = &job};
    if (code < 0)
        code = check(&usage, &job, &how);
    if (code < 0) {
        how.model_name = job.said.operands.text[0];
        how.data_name = job.valid;
        code = run(&job, &how);
    }
    rw_dataset_free(job.dataset);
    rw_model_free(job.model);
    free(job.files.text);
    free(job.copy);
    rw_options_release(&usage, &job.said);
    return code;
}
