/* Sequences of library calls. Each returns a checksum of its results. */
#include "scenarios.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_QUERIES = 8, LENGTH = 6, N_DOCS = N_QUERIES * LENGTH, N_FEATURES = 5 };

/* Goes to `out` at the first failure, with its status. */
#define DO(call)         \
    do {                 \
        status = (call); \
        if (status < 0)  \
            goto out;    \
    } while (0)

/* ------------------------------------------------------------------ data of the calls */

char scenario_folder[PATH_ROOM - 64];
static float values[N_DOCS * N_FEATURES], labels[N_DOCS];
static double scores[N_DOCS];
static uint32_t offsets[N_QUERIES + 1];
/* Made before anything fails. */
static struct rw_dataset *train, *valid;
static struct rw_model *model;

uint64_t scenario_sum;
char scenario_error[256];
const char *scenario_device = "cpu";

static void add(const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        scenario_sum = (scenario_sum ^ at[i]) * 1099511628211u;
}

static const char *path_of(const char *name, char path[PATH_ROOM])
{
    snprintf(path, PATH_ROOM, "%s/%s", scenario_folder, name);
    return path;
}

/* By calls that allocate nothing. */
static void add_file(const char *path)
{
    char bytes[4096];
    const int fd = open(path, O_RDONLY);
    for (ssize_t n; fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0;)
        add(bytes, (size_t)n);
    if (fd >= 0)
        close(fd);
}

static int add_model(struct rw_ctx *ctx, const struct rw_model *made)
{
    char *text = NULL;
    size_t n;
    const int status = rw_model_write_memory(ctx, made, &text, &n);
    if (status == RW_OK)
        add(text, n);
    rw_free(text);
    return status;
}

/* pairs: names and values of parameters, then NULL. */
static int make_params(struct rw_ctx *ctx, const char *const *pairs, struct rw_params **out)
{
    int status = RW_OK;
    DO(rw_params_new(ctx, out));
    DO(rw_params_set(ctx, *out, "rounds", "3"));
    DO(rw_params_set(ctx, *out, "leaves", "4"));
    DO(rw_params_set(ctx, *out, "min-docs", "2"));
    DO(rw_params_set(ctx, *out, "device", scenario_device));
    for (int i = 0; pairs && pairs[i]; i += 2)
        DO(rw_params_set(ctx, *out, pairs[i], pairs[i + 1]));
out:
    return status;
}

/* ------------------------------------------------------------------ scenarios */

static int contexts(struct rw_ctx *ctx)
{
    struct rw_ctx *own = NULL;
    int status;
    (void)ctx;
    DO(rw_ctx_new(&own));
    DO(rw_ctx_set_threads(own, 2));
    DO(rw_predict(own, model, valid, 0, scores));
    add(scores, sizeof(scores));
out:
    snprintf(scenario_error, sizeof(scenario_error), "%s", own ? rw_last_error(own) : "no memory");
    rw_ctx_free(own);
    return status;
}

static int trained(struct rw_ctx *ctx, const char *const *pairs)
{
    struct rw_params *params = NULL;
    struct rw_model *made = NULL, *again = NULL;
    char *text = NULL;
    size_t n;
    int status;
    DO(make_params(ctx, pairs, &params));
    DO(rw_train(ctx, params, train, NULL, 0, NULL, &made));
    DO(rw_predict(ctx, made, valid, 0, scores));
    add(scores, sizeof(scores));
    DO(rw_model_write_memory(ctx, made, &text, &n));
    add(text, n);
    DO(rw_model_read_memory(ctx, "memory", text, n, &again));
    DO(add_model(ctx, again));
out:
    rw_free(text);
    rw_model_free(again);
    rw_model_free(made);
    rw_params_free(params);
    return status;
}

static int objectives(struct rw_ctx *ctx)
{
    static const char *const names[] = {"lambdarank", "regression", "yetirank", "queryrmse",
                                        "listnet",    "xendcg",     "logistic"};
    int status = RW_OK;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        DO(trained(ctx, (const char *const[]){"objective", names[i], NULL}));
out:
    return status;
}

static int ways_to_grow(struct rw_ctx *ctx)
{
    int status;
    DO(trained(ctx,
               (const char *const[]){"grow", "levels", "depth", "2", "split", "newton", NULL}));
    DO(trained(ctx,
               (const char *const[]){"sample-queries", "0.6", "sample-features", "0.5", NULL}));
    DO(trained(ctx, (const char *const[]){"monotone", "1:+", "interactions", "1,2;3,4", NULL}));
    DO(trained(ctx, (const char *const[]){"categorical", "5", NULL}));
    DO(trained(ctx, (const char *const[]){"device", "ref", NULL}));
out:
    return status;
}

/* Grows bags with a validation set, resumes, refits, and scores each bag. */
static int bags(struct rw_ctx *ctx)
{
    static const char *const pairs[] = {"bags", "3", "bag-queries", "0.8", NULL};
    static double each[3 * N_DOCS];
    struct rw_params *params = NULL, *again = NULL;
    struct rw_model *made = NULL, *resumed = NULL, *refit = NULL;
    char path[PATH_ROOM];
    const struct rw_dataset *sets[] = {valid};
    struct rw_checkpoints checkpoints = {.path = path_of("ck", path), .every_rounds = 1};
    struct rw_train_hooks hooks = {.checkpoints = &checkpoints};
    int status;
    remove(path);
    DO(make_params(ctx, pairs, &params));
    DO(rw_train(ctx, params, train, sets, 1, &hooks, &made));
    DO(add_model(ctx, made));
    checkpoints.resume = path;
    checkpoints.or_start = 1;
    DO(rw_params_set(ctx, params, "rounds", "5"));
    DO(rw_train(ctx, params, train, sets, 1, &hooks, &resumed));
    DO(add_model(ctx, resumed));
    DO(rw_predict_bags(ctx, made, valid, each));
    add(each, sizeof(each));
    DO(rw_params_new(ctx, &again));
    DO(rw_params_set(ctx, again, "device", scenario_device));
    DO(rw_refit(ctx, again, made, train, NULL, 0, NULL, &refit));
    DO(add_model(ctx, refit));
out:
    rw_model_free(refit);
    rw_model_free(resumed);
    rw_model_free(made);
    rw_params_free(again);
    rw_params_free(params);
    return status;
}

static int go_on(struct rw_ctx *ctx)
{
    struct rw_params *params = NULL, *more = NULL, *plain = NULL;
    struct rw_model *made = NULL, *resumed = NULL, *from = NULL, *refit = NULL;
    char path[PATH_ROOM];
    const struct rw_dataset *sets[] = {valid};
    struct rw_checkpoints checkpoints = {.path = path_of("ck", path), .every_rounds = 1};
    struct rw_train_hooks hooks = {.checkpoints = &checkpoints};
    int status;
    remove(path);
    DO(make_params(ctx, (const char *const[]){"early-stop", "9", "metric", "ndcg@5,map", NULL},
                   &params));
    DO(rw_train(ctx, params, train, sets, 1, &hooks, &made));
    DO(make_params(
        ctx, (const char *const[]){"early-stop", "9", "metric", "ndcg@5,map", "rounds", "5", NULL},
        &more));
    checkpoints.resume = path;
    checkpoints.or_start = 1; /* one that could not be written is a warning */
    DO(rw_train(ctx, more, train, sets, 1, &hooks, &resumed));
    DO(add_model(ctx, made));
    DO(add_model(ctx, resumed));
    DO(make_params(ctx, NULL, &plain));
    DO(rw_train_on(ctx, plain, &(struct rw_training){.train = train, .init = model}, &from));
    DO(add_model(ctx, from));
    rw_params_free(plain);
    plain = NULL;
    DO(rw_params_new(ctx, &plain));
    DO(rw_refit(ctx, plain, model, valid, NULL, 0, NULL, &refit));
    DO(add_model(ctx, refit));
out:
    rw_model_free(refit);
    rw_model_free(from);
    rw_model_free(resumed);
    rw_model_free(made);
    rw_params_free(plain);
    rw_params_free(more);
    rw_params_free(params);
    return status;
}

static int files(struct rw_ctx *ctx)
{
    struct rw_params *params = NULL;
    struct rw_dataset *text = NULL, *cache = NULL, *packed = NULL;
    struct rw_model *read = NULL;
    char a[PATH_ROOM], b[PATH_ROOM], c[PATH_ROOM], d[PATH_ROOM];
    int status;
    DO(make_params(ctx, NULL, &params));
    DO(rw_dataset_read(ctx, (const char *const[]){path_of("train.txt", a)}, 1, &text));
    DO(rw_dataset_write_cache(ctx, text, params, path_of("train.rwb", b)));
    DO(rw_dataset_read(ctx, (const char *const[]){b}, 1, &cache));
    DO(rw_dataset_cache_files(ctx, params, (const char *const[]){a}, 1, b));
    DO(rw_dataset_read(ctx, (const char *const[]){path_of("made.txt.gz", c)}, 1, &packed));
    DO(rw_predict(ctx, model, cache, 0, scores));
    add(scores, sizeof(scores));
    DO(rw_model_write(ctx, model, path_of("model", d)));
    DO(rw_model_read(ctx, d, &read));
    add_file(d);
out:
    rw_model_free(read);
    rw_dataset_free(packed);
    rw_dataset_free(cache);
    rw_dataset_free(text);
    rw_params_free(params);
    return status;
}

static int binned(struct rw_ctx *ctx)
{
    struct rw_params *params = NULL;
    struct rw_binned *set = NULL, *of_text = NULL;
    struct rw_dataset *other = NULL;
    struct rw_model *made = NULL;
    char a[PATH_ROOM], b[PATH_ROOM];
    int status;
    DO(make_params(ctx, NULL, &params));
    DO(rw_binned_read(ctx, params, NULL, (const char *const[]){path_of("fixed.rwb", a)}, 1, &set));
    DO(rw_binned_read(ctx, params, NULL, (const char *const[]){path_of("train.txt", b)}, 1,
                      &of_text));
    DO(rw_binned_read_valid(ctx, params, set, (const char *const[]){b}, 1, &other));
    DO(rw_train_on(ctx, params,
                   &(struct rw_training){.binned = set,
                                         .valid = (const struct rw_dataset *const[]){other},
                                         .n_valid = 1},
                   &made));
    DO(add_model(ctx, made));
out:
    rw_model_free(made);
    rw_dataset_free(other);
    rw_binned_free(of_text);
    rw_binned_free(set);
    rw_params_free(params);
    return status;
}

static int tables(struct rw_ctx *ctx)
{
    struct rw_array column[N_FEATURES] = {0};
    static const int32_t index[] = {0, 3, 9};
    struct rw_table table = {.n_docs = N_DOCS,
                             .n_columns = N_FEATURES,
                             .column = column,
                             .missing = NAN,
                             .label = labels,
                             .n_queries = N_QUERIES,
                             .query_offset = offsets};
    struct rw_params *params = NULL;
    struct rw_binned *set = NULL;
    struct rw_dataset *words = NULL;
    struct rw_model *made = NULL;
    char path[PATH_ROOM];
    int status;
    for (int f = 0; f < N_FEATURES; f++)
        column[f] = (struct rw_array){
            .data = values + f, .type = RW_VALUE_F32, .stride = N_FEATURES * sizeof(float)};
    column[1].index = index;
    column[1].n = 3;
    DO(make_params(ctx, NULL, &params));
    DO(rw_binned_from_table(ctx, params, &table, &set));
    DO(rw_train_on(ctx, params, &(struct rw_training){.binned = set}, &made));
    DO(add_model(ctx, made));
    rw_model_free(made);
    made = NULL;
    const struct rw_columns how = {.categorical = "shop"};
    DO(rw_ctx_set_columns(ctx, &how));
    DO(rw_dataset_read(ctx, (const char *const[]){path_of("words.csv", path)}, 1, &words));
    DO(rw_train(ctx, params, words, NULL, 0, NULL, &made));
    DO(add_model(ctx, made));
out:
    rw_ctx_set_columns(ctx, NULL);
    rw_model_free(made);
    rw_dataset_free(words);
    rw_binned_free(set);
    rw_params_free(params);
    return status;
}

static int side_data(struct rw_ctx *ctx)
{
    struct rw_dataset *set = NULL;
    struct rw_params *params = NULL;
    struct rw_model *made = NULL;
    double each[N_DOCS];
    int status;
    for (int i = 0; i < N_DOCS; i++)
        each[i] = i % 3;
    DO(rw_dataset_from_memory(ctx, values, labels, offsets, N_DOCS, N_FEATURES, N_QUERIES, 1,
                              &set));
    DO(rw_dataset_set_side_column(ctx, set, "weights", each, N_DOCS, 1));
    DO(rw_dataset_set_side_column(ctx, set, "start-scores", each, N_DOCS, 1));
    DO(rw_dataset_set_side_column(ctx, set, "labels", each, N_DOCS, 1));
    DO(make_params(ctx, (const char *const[]){"label-weights", "1,2", NULL}, &params));
    DO(rw_train(ctx, params, set, NULL, 0, NULL, &made));
    DO(add_model(ctx, made));
out:
    rw_model_free(made);
    rw_params_free(params);
    rw_dataset_free(set);
    return status;
}

static int measures(struct rw_ctx *ctx)
{
    const struct rw_eval_params how = {
        "ndcg@5,map,mrr,err,rmse", RW_EMPTY_SKIP, RW_TIES_FILE, NULL, 1, 1, NULL};
    const struct rw_eval_params one = RW_EVAL_DEFAULTS;
    struct rw_eval *eval = NULL, *like = NULL;
    struct rw_audit *audit = NULL;
    struct rw_comparison *comparison = NULL;
    struct rw_check *check = NULL;
    struct rw_qrels *read = NULL;
    struct rw_judge judge = RW_JUDGE_DEFAULTS;
    struct rw_judged *judged = NULL;
    double of[N_DOCS];
    char path[PATH_ROOM], run[PATH_ROOM];
    int status;
    DO(rw_predict(ctx, model, valid, 0, of));
    DO(rw_evaluate(ctx, &how, valid, of, &eval));
    for (int i = 0; i < eval->n_metrics; i++)
        add(&eval->metrics[i].mean, sizeof(double));
    struct rw_eval_params theirs = one;
    theirs.like = "lightgbm";
    DO(rw_evaluate(ctx, &theirs, valid, of, &like));
    add(&like->metrics[0].mean, sizeof(double));
    DO(rw_audit_new(ctx, &one, valid, of, &audit));
    add(&audit->rows[0].mean, sizeof(double));
    memset(scores, 0, sizeof(scores));
    DO(rw_compare(ctx, &one, valid, of, scores, NULL, &comparison));
    add(&comparison->all.p, sizeof(double));
    DO(rw_check_new(ctx, (const char *const[]){path_of("train.txt", path)}, 1,
                    (const char *const[]){path}, 1, NULL, &check));
    add(&check->n_shared_docs, sizeof(check->n_shared_docs));
    DO(rw_qrels_read(ctx, path_of("qrels", path), (const char *const[]){path_of("run", run)}, 1,
                     &read));
    add(&read->n_judged, sizeof(read->n_judged));
    DO(rw_judge_new(ctx, &judge, (const char *const[]){path_of("log.csv", path)}, 1, &judged));
    add(&judged->label[0].rate, sizeof(double));
out:
    rw_free(judged);
    rw_free(read);
    rw_free(check);
    rw_free(comparison);
    rw_free(audit);
    rw_free(like);
    rw_free(eval);
    return status;
}

static int explanations(struct rw_ctx *ctx)
{
    const struct rw_eval_params how = RW_EVAL_DEFAULTS;
    const struct rw_report_options options = {.n_trees = 2, .n_repeats = 1};
    struct rw_explainer *explainer = NULL;
    struct rw_permuted lost[N_FEATURES + 1];
    char path[PATH_ROOM];
    double value, each[N_DOCS * N_FEATURES];
    struct rw_out_file file = {0};
    int status;
    DO(rw_explainer_new(ctx, model, 0, train, &explainer));
    DO(rw_explainer_run(ctx, explainer, valid, 0, N_DOCS, each, NULL));
    add(each, sizeof(double) * N_DOCS * explainer->n_features);
    DO(rw_permutation_importance(ctx, &how, model, 0, valid, 1, &value, lost, N_FEATURES + 1));
    add(&value, sizeof(value));
    DO(rw_out_file_open(ctx, &file, path_of("report.html", path)));
    DO(rw_report(ctx, &how, model, valid, &options, file.file));
    DO(rw_out_file_commit(ctx, &file));
    add_file(path);
out:
    rw_out_file_abandon(&file);
    rw_free(explainer);
    return status;
}

static int made_of_models(struct rw_ctx *ctx)
{
    const struct rw_eval_params how = RW_EVAL_DEFAULTS;
    const struct rw_calibrate calibrate = RW_CALIBRATE_DEFAULTS;
    const struct rw_select_options options = {.most_loss = 1, .n_repeats = 1};
    struct rw_calibrated figures;
    struct rw_model *mapped = NULL;
    struct rw_pruned *pruned = NULL;
    struct rw_params *params = NULL;
    struct rw_binned *set = NULL;
    struct rw_selected *selected = NULL;
    struct rw_cv *cv = NULL;
    char path[PATH_ROOM];
    int status;
    DO(rw_model_calibrate(ctx, model, valid, &calibrate, &figures, &mapped));
    DO(add_model(ctx, mapped));
    DO(rw_prune(ctx, &how, model, valid, 0.1, RW_PRUNE_ANY, &pruned));
    DO(add_model(ctx, pruned->model));
    DO(make_params(ctx, (const char *const[]){"early-stop", "0", NULL}, &params));
    DO(rw_cross_validate(ctx, params, train, 2, &cv));
    add(cv->scores, sizeof(double) * N_DOCS);
    rw_free(cv);
    cv = NULL;
    DO(rw_cross_validate_with(ctx, params, train,
                              &(struct rw_cv_options){.n_folds = 2, .shares_bins = 1}, &cv));
    add(cv->scores, sizeof(double) * N_DOCS);
    DO(rw_binned_read(ctx, params, NULL, (const char *const[]){path_of("fixed.rwb", path)}, 1,
                      &set));
    DO(rw_select(ctx, params, set, valid, &options, &selected));
    DO(add_model(ctx, selected->model));
out:
    rw_free(selected);
    rw_binned_free(set);
    rw_free(cv);
    rw_params_free(params);
    rw_free(pruned);
    rw_model_free(mapped);
    return status;
}

static int formats(struct rw_ctx *ctx)
{
    struct rw_model_format_info info;
    struct rw_verify verify;
    struct rw_model *read = NULL;
    char path[PATH_ROOM], set[PATH_ROOM];
    int status = RW_OK;
    path_of("featureset.json", set);
    for (int i = 0; rw_model_format_at(i, &info); i++) {
        const struct rw_exchange how = {.format = info.name,
                                        .feature_base = -1,
                                        .featureset = info.by_set ? set : NULL,
                                        .name = info.by_set ? "m" : NULL};
        DO(rw_model_export(ctx, model, &how, path_of("exported", path)));
        add_file(path);
        if (info.imports)
            DO(rw_model_import(ctx, path, &how, &read));
        if (read)
            DO(add_model(ctx, read));
        if (info.imports)
            DO(rw_model_verify(ctx, model, &how, path, valid, &verify));
        rw_model_free(read);
        read = NULL;
    }
out:
    rw_model_free(read);
    return status;
}

static int add_scores(void *user, const struct rw_dataset *chunk, const double *chunk_scores)
{
    (void)user;
    add(chunk_scores, sizeof(double) * rw_dataset_n_docs(chunk));
    return RW_OK;
}

static int scoring(struct rw_ctx *ctx)
{
    struct rw_scorer *scorer = NULL;
    struct rw_scorer *opened = NULL;
    static unsigned char seen[RW_FEATURE_IDS];
    int32_t leaves[N_DOCS * 16];
    char path[PATH_ROOM];
    int status;
    DO(rw_scorer_new(ctx, model, 0, &scorer));
    DO(rw_scorer_rows(ctx, scorer, values, N_DOCS, N_FEATURES, 1, scores));
    add(scores, sizeof(scores));
    DO(rw_scorer_open(ctx, model, 0, scenario_device, &opened));
    DO(rw_scorer_run(ctx, opened, valid, scores));
    DO(rw_dataset_read_each(ctx, (const char *const[]){path_of("train.txt", path)}, 1, opened, seen,
                            add_scores, NULL));
    DO(rw_predict_leaves(ctx, model, valid, 0, leaves));
    add(leaves, sizeof(leaves[0]) * N_DOCS);
out:
    rw_scorer_free(opened);
    rw_scorer_free(scorer);
    return status;
}

static int train_worker(void *user, struct rw_ctx *ctx, int rank)
{
    struct rw_params *params = NULL;
    struct rw_dataset *part = NULL;
    struct rw_model *made = NULL;
    char path[PATH_ROOM];
    int status;
    (void)user;
    status = make_params(ctx, NULL, &params);
    DO(rw_workers_agree(ctx, status));
    DO(rw_dataset_read(ctx, (const char *const[]){path_of("train.txt", path)}, 1, &part));
    DO(rw_train(ctx, params, part, NULL, 0, NULL, &made));
    status = rank == 0 ? add_model(ctx, made) : RW_OK;
out:
    rw_model_free(made);
    rw_dataset_free(part);
    rw_params_free(params);
    return status;
}

static int ranks(struct rw_ctx *ctx)
{
    return rw_workers_run(ctx, 2, train_worker, NULL);
}

static int made_data(struct rw_ctx *ctx)
{
    const struct rw_synth_options options = {"letor", 3, 7};
    static const char *const names[] = {"synth.txt", "synth.txt.gz", "synth.rwb"};
    char path[PATH_ROOM];
    int status = RW_OK;
    for (int i = 0; i < 3; i++) {
        DO(rw_synth(ctx, &options, path_of(names[i], path), NULL));
        add_file(path);
    }
out:
    return status;
}

const struct scenario scenarios[] = {
    {"contexts", contexts},
    {"objectives", objectives},
    {"ways to grow", ways_to_grow},
    {"bags", bags},
    {"going on", go_on},
    {"files", files},
    {"binned sets", binned},
    {"tables", tables},
    {"side data", side_data},
    {"measures", measures},
    {"explanations", explanations},
    {"models made of models", made_of_models},
    {"formats", formats},
    {"scoring", scoring},
    {"ranks", ranks},
    {"made data", made_data},
    {NULL, NULL},
};

/* ------------------------------------------------------------------ fixtures */

static void write_text(const char *name, const char *text)
{
    char path[PATH_ROOM];
    FILE *file = fopen(path_of(name, path), "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        exit(2);
}

static void write_files(void)
{
    static char text[1 << 16], words[1 << 14] = "label,qid,shop,x\n", qrels[1 << 13], run[1 << 13];
    static char clicks[1 << 13] = RW_JUDGE_COLUMNS "\n";
    size_t n = 0, n_words = strlen(words), n_qrels = 0, n_run = 0, n_clicks = strlen(clicks);
    for (int i = 0; i < N_DOCS; i++) {
        n += (size_t)sprintf(text + n, "%g qid:%d", (double)labels[i], i / LENGTH);
        for (int f = 0; f < N_FEATURES; f++)
            n += (size_t)sprintf(text + n, " %d:%g", f + 1, (double)values[i * N_FEATURES + f]);
        n += (size_t)sprintf(text + n, " # docid = d%d\n", i);
        n_words += (size_t)sprintf(words + n_words, "%g,%d,shop %d,%d\n", (double)labels[i],
                                   i / LENGTH, i * 7 % 9, i % 4);
        n_qrels += (size_t)sprintf(qrels + n_qrels, "%d 0 d%d %d\n", i / LENGTH, i, i % 3);
        n_run += (size_t)sprintf(run + n_run, "%d Q0 d%d 1 %d t\n", i / LENGTH, i, i * 5 % 7);
    }
    for (int i = 0; i < 60; i++)
        n_clicks +=
            (size_t)sprintf(clicks + n_clicks, "%d,\"q \"\"%d\"\"\",d%d,%d,%d\n", i / 2, i / 2 % 2,
                            (i / 4 + i) % 2, i % 2 + 1, i * 3 % 7 < 2 + (i / 4 + i) % 2 * 2);
    write_text("log.csv", clicks);
    write_text("train.txt", text);
    write_text("words.csv", words);
    write_text("qrels", qrels);
    write_text("run", run);
    n = (size_t)sprintf(text, "{\"_source\":{\"featureset\":{\"name\":\"s\",\"features\":[");
    for (int f = 0; f < N_FEATURES; f++)
        n += (size_t)sprintf(text + n,
                             "%s{\"name\":\"f%d\",\"params\":[],\"template\":{\"match_all\":{}}}",
                             f ? "," : "", f);
    sprintf(text + n, "]}}}");
    write_text("featureset.json", text);
}

int scenarios_begin(struct rw_ctx *ctx)
{
    const struct rw_synth_options options = {"letor", 2, 7};
    struct rw_params *params = NULL;
    char path[PATH_ROOM];
    int status;
    for (int i = 0; i < N_DOCS; i++) {
        labels[i] = (float)(i * 7 % 11 % 4);
        for (int f = 0; f < N_FEATURES; f++)
            values[i * N_FEATURES + f] =
                f == 4 ? (float)(i % 5)
                       : labels[i] + (float)((i * 13 + f * 5) % 17) * (float)(f + 1) / 16;
    }
    for (uint32_t q = 0; q <= N_QUERIES; q++)
        offsets[q] = q * LENGTH;
    write_files();
    DO(rw_synth(ctx, &options, path_of("made.txt.gz", path), NULL));
    DO(rw_dataset_from_memory(ctx, values, labels, offsets, N_DOCS, N_FEATURES, N_QUERIES, 1,
                              &train));
    DO(rw_dataset_read(ctx, (const char *const[]){path_of("train.txt", path)}, 1, &valid));
    DO(make_params(ctx, NULL, &params));
    DO(rw_dataset_write_cache(ctx, train, params, path_of("fixed.rwb", path)));
    DO(rw_train(ctx, params, train, NULL, 0, NULL, &model));
out:
    rw_params_free(params);
    if (status < 0)
        printf("not ok library: fixtures: %s\n", rw_last_error(ctx));
    return status;
}

void scenarios_end(void)
{
    rw_model_free(model);
    rw_dataset_free(valid);
    rw_dataset_free(train);
}
