/* Cross-validation by query on one data set. The queries are divided into folds (rw_folds), or the
 * caller gives the use of each query in each fold (enum rw_cv_part). For each fold f a model is
 * trained without fold f, and fold f measures it. With early stopping, the model is also trained
 * without the next fold, f + 1 (fold 0 after the last one), which decides when training stops. The
 * measured queries do not influence the model, except that `auto` parameters follow from the size
 * of the whole set, and that bin boundaries can be those of the whole set. */
#include <stdatomic.h>
#include <stdlib.h>

#include "evaluate/evaluate.h"
#include "train/train.h"

/* ---- folds ---- */

int rw_by_key(const void *a, const void *b)
{
    const struct rw_keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

int rw_folds_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint32_t *fold_of,
                    uint32_t a, uint32_t b, int is_in, struct rw_dataset **out)
{
    RW_FREED uint8_t *keep = NULL;
    RW_TRY(RW_NEW(ctx, keep, dataset->n_queries));
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        keep[q] = (fold_of[q] == a || fold_of[q] == b) == is_in;
    return rw_dataset_select(ctx, dataset, keep, out);
}

int rw_halves(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint32_t *groups,
              uint64_t seed, const char *what, const char *does, struct rw_dataset *half[2])
{
    const uint32_t n = dataset->n_queries;
    RW_FREED uint32_t *fold = NULL;
    half[0] = half[1] = NULL;
    if (n < 2)
        return rw_fail(ctx, RW_ERR_DATA,
                       "the %s has one query, but needs two halves: one half of the queries %s",
                       what, does);
    RW_TRY(RW_NEW(ctx, fold, n));
    RW_TRY(rw_folds(ctx, n, groups, 2, seed, fold));
    for (uint32_t h = 0; h < 2; h++)
        RW_TRY(rw_folds_select(ctx, dataset, fold, h, h, 1, &half[h]));
    return RW_OK;
}

/* ---- one fold ---- */

/* A struct rw_cv and the working data of its computation, which are freed together. The arena of
 * the result owns all arrays. */
struct validation {
    struct rw_cv cv;
    struct rw_cv_fold *fold; /* [n_folds] */
    uint32_t *fold_of;       /* [n_queries] the first fold that measures the query */
    double *scores;          /* [n_docs] */
    const struct rw_dataset *dataset;
    const struct rw_cv_options *options;
    struct rw_params *own;     /* parameters of the folds' trainings, with auto resolved; owned */
    struct rw_params params;   /* a shallow copy of own: texts are borrowed */
    struct rw_eval_params how; /* evaluation parameters of params */
    int nested;                /* 1: the next fold stops training early */
    struct rw_bins *bins;      /* of the whole set; NULL: each training has its own; owned */
    struct rw_ctx *ctx;        /* the caller's, for polls and progress; borrowed */
};

/* Returns the use of a query in a fold. */
static enum rw_cv_part part_at(const struct validation *v, int fold, uint32_t query)
{
    const uint32_t n = v->dataset->n_queries, of = v->fold_of[query];
    if (v->options->parts)
        return (enum rw_cv_part)v->options->parts[(size_t)fold * n + query];
    if (of == (uint32_t)fold)
        return RW_CV_TEST;
    return v->nested && of == (uint32_t)((fold + 1) % v->cv.n_folds) ? RW_CV_VALID : RW_CV_TRAIN;
}

/* Marks the queries of one part, and returns their number. keep: [n_queries] */
static uint32_t mark(const struct validation *v, int fold, enum rw_cv_part part, uint8_t *keep)
{
    uint32_t n = 0;
    for (uint32_t q = 0; q < v->dataset->n_queries; q++)
        n += keep[q] = part_at(v, fold, q) == part;
    return n;
}

/* Selects the queries of one part of the data for the model of `fold`. */
static int part_of(const struct validation *v, int fold, enum rw_cv_part part, struct rw_ctx *ctx,
                   struct rw_dataset **out)
{
    RW_FREED uint8_t *keep = NULL;
    RW_TRY(RW_NEW_RAW(ctx, keep, v->dataset->n_queries));
    mark(v, fold, part, keep);
    return rw_dataset_select(ctx, v->dataset, keep, out);
}

/* Predicts the documents of the fold, measures them, and copies their scores to those of the whole
 * set. test: the data of the fold. */
static int score_fold(const struct validation *v, int fold, struct rw_ctx *ctx,
                      const struct rw_model *model, const struct rw_dataset *test,
                      const struct rw_eval **out)
{
    RW_FREED double *scores = NULL;
    struct rw_eval *eval;
    uint32_t at = 0;
    RW_TRY(RW_NEW_RAW(ctx, scores, test->n_docs));
    RW_TRY(rw_predict(ctx, model, test, 0, scores));
    for (uint32_t i = 0; test->start_score && i < test->n_docs; i++)
        scores[i] += test->start_score[i];
    RW_TRY(rw_evaluate(ctx, &v->how, test, scores, &eval));
    *out = eval;
    for (uint32_t q = 0; q < v->dataset->n_queries; q++) {
        const uint32_t begin = v->dataset->query_offset[q];
        const uint32_t n = v->dataset->query_offset[q + 1] - begin;
        if (part_at(v, fold, q) != RW_CV_TEST)
            continue;
        if (v->fold_of[q] == (uint32_t)fold)
            memcpy(v->scores + begin, scores + at, n * sizeof(*scores));
        at += n;
    }
    return RW_OK;
}

/* The caller's hooks of one fold. The hooks below pass calls on to them, and count rounds for the
 * caller's progress. */
struct fold_hooks {
    const struct validation *v;
    struct rw_train_hooks given;
    int done; /* rounds */
};

static int on_round(void *user, const struct rw_round *round)
{
    struct fold_hooks *hooks = user;
    hooks->done = round->round;
    rw_stage_add(hooks->v->ctx, 1);
    return hooks->given.on_round ? hooks->given.on_round(hooks->given.user, round) : 0;
}

static int should_stop(void *user)
{
    const struct fold_hooks *hooks = user;
    return hooks->given.should_stop(hooks->given.user);
}

static int gradients(void *user, const struct rw_dataset *train, const double *scores,
                     double *gradient, double *hessian)
{
    const struct fold_hooks *hooks = user;
    return hooks->given.gradients(hooks->given.user, train, scores, gradient, hessian);
}

static int metric(void *user, const struct rw_dataset *dataset, const double *scores, double *value)
{
    const struct fold_hooks *hooks = user;
    return hooks->given.metric(hooks->given.user, dataset, scores, value);
}

/* Trains the model of a fold. sets: its data by enum rw_cv_part. */
static int train_fold(struct validation *v, struct rw_ctx *ctx, int fold,
                      const struct rw_binned *train, struct rw_dataset *const *sets)
{
    const struct rw_cv_options *o = v->options;
    struct fold_hooks own = {.v = v};
    if (o->on_fold && o->on_fold(o->user, fold, (const struct rw_dataset *const *)sets, &own.given))
        return rw_fail(ctx, RW_ERR_INTERRUPTED, "the caller ended the cross-validation");
    struct rw_train_hooks hooks = own.given;
    hooks.user = &own;
    hooks.on_round = on_round;
    hooks.should_stop = hooks.should_stop ? should_stop : NULL;
    hooks.gradients = hooks.gradients ? gradients : NULL;
    hooks.metric = hooks.metric ? metric : NULL;
    /* the test set is measured each round only for the caller; it never stops training */
    const int measures = o->on_fold != NULL;
    const struct rw_dataset *const both[] = {sets[RW_CV_VALID], sets[RW_CV_TEST]};
    const struct rw_training training = {.binned = train,
                                         .valid = both + !v->nested,
                                         .n_valid = v->nested + measures,
                                         .hooks = &hooks};
    struct rw_model **model = &v->fold[fold].model;
    RW_TRY(rw_train_on(ctx, &v->params, &training, model));
    if (!rw_model_info(*model).is_finished)
        return rw_fail(ctx, RW_ERR_INTERRUPTED, "the caller ended the cross-validation");
    rw_stage_add(v->ctx, (uint64_t)(v->params.rounds - own.done)); /* rounds that did not run */
    return RW_OK;
}

/* Selects the training set of a fold as codes, with the boundaries that all folds share. */
static int select_codes(const struct validation *v, struct rw_ctx *ctx, int fold,
                        struct rw_binned *train)
{
    const struct rw_dataset *all = v->dataset;
    struct rw_dataset bare = *all; /* borrows all, except for the values */
    RW_FREED uint8_t *keep = NULL;
    bare.column = NULL;
    bare.n_columns = 0;
    RW_TRY(RW_NEW(ctx, keep, all->n_queries));
    mark(v, fold, RW_CV_TRAIN, keep);
    RW_TRY(rw_dataset_select(ctx, &bare, keep, &train->documents));
    RW_TRY(rw_binned_take_features(ctx, all->column, all->n_columns, train));
    return rw_bins_select(ctx, v->bins, all, keep, &train->bins);
}

static int run_fold(void *validation, struct rw_ctx *ctx, int fold)
{
    struct validation *v = validation;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *test = NULL;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *valid = NULL;
    RW_RELEASED(rw_binned_release) struct rw_binned train = {.documents = NULL};
    struct rw_cv_fold *out = &v->fold[fold];
    RW_TRY(part_of(v, fold, RW_CV_TEST, ctx, &test));
    if (v->nested)
        RW_TRY(part_of(v, fold, RW_CV_VALID, ctx, &valid));
    RW_TRY(v->bins ? select_codes(v, ctx, fold, &train)
                   : part_of(v, fold, RW_CV_TRAIN, ctx, &train.documents));
    struct rw_dataset *const sets[] = {
        [RW_CV_TRAIN] = train.documents, [RW_CV_VALID] = valid, [RW_CV_TEST] = test};
    RW_TRY(train_fold(v, ctx, fold, &train, sets));
    out->n_test = test->n_queries;
    out->n_valid = v->nested ? valid->n_queries : 0;
    out->n_train = train.documents->n_queries;
    return score_fold(v, fold, ctx, out->model, test, &out->eval);
}

/* ---- all folds ---- */

int rw_search_check(struct rw_ctx *ctx, const char *what, const struct rw_dataset *valid)
{
    if (rw_workers_count(ctx) > 1)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "%s works with one worker only, not with %d", what,
                       rw_workers_count(ctx));
    if (valid && valid->codes.bins)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "%s needs validation sets with values (rw_dataset_read)", what);
    return RW_OK;
}

int rw_trainings_judge(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                       uint32_t n_columns)
{
    struct rw_params *copy RW_SCOPED(rw_params_free) = NULL;
    const rw_log_fn log = ctx->log;
    RW_TRY(rw_params_copy(ctx, params, &copy));
    ctx->log = NULL;
    const int status = rw_params_resolve(ctx, copy, n_docs, n_columns, 1);
    ctx->log = log;
    RW_TRY(status);
    RW_TRY(rw_params_drop_idle(ctx, copy, &RW_FACTS_MEASURED(RW_FACT_UNKNOWN)));
    rw_params_on_no_effect(params, RW_NO_EFFECT_SILENT);
    return RW_OK;
}

struct jobs {
    struct rw_ctx *ctx; /* the caller's; borrowed */
    int n_jobs;
    rw_job_fn run;
    void *user;
    atomic_int next;           /* the first job that no worker has begun */
    atomic_int is_interrupted; /* 1: the caller has interrupted a job, and so all of them */
};

/* A poll for the context of a parallel job. user: the jobs, whose context was polled. */
static int has_stopped(void *user, const struct rw_progress *progress)
{
    const struct jobs *jobs = user;
    (void)progress;
    return jobs->is_interrupted || rw_poll_is_stopped(jobs->ctx);
}

/* Runs the next job until all have begun. Jobs are independent, so their workers do not
 * communicate. */
static int run_some(void *user, struct rw_ctx *ctx, int worker)
{
    struct jobs *jobs = user;
    RW_TRY(rw_ctx_set_comm(ctx, NULL));
    if (worker > 0)
        RW_TRY(rw_ctx_set_poll(ctx, has_stopped, jobs));
    for (int i; (i = atomic_fetch_add(&jobs->next, 1)) < jobs->n_jobs;) {
        const int status = jobs->run(jobs->user, ctx, i);
        if (status == RW_ERR_INTERRUPTED)
            jobs->is_interrupted = 1;
        RW_TRY(status);
    }
    return RW_OK;
}

int rw_jobs_run(struct rw_ctx *ctx, int at_once, int n_jobs, rw_job_fn run, void *user)
{
    const int most = at_once < n_jobs ? at_once : n_jobs;
    struct jobs jobs = {.ctx = ctx, .n_jobs = n_jobs, .run = run, .user = user};
    const rw_log_fn log = ctx->log;
    if (most > 1) {
        ctx->log = NULL;
        const int status = rw_workers_run(ctx, most, run_some, &jobs);
        ctx->log = log;
        return status;
    }
    for (int i = 0; i < n_jobs; i++)
        RW_TRY(run(user, ctx, i));
    return RW_OK;
}

/* Returns 1 if folds run in parallel. A GPU runs one fold at a time. The device `auto` is resolved
 * once, by the first fold; parallel folds always use the CPU. */
static int runs_side_by_side(struct rw_ctx *ctx, struct validation *v)
{
    static char cpu[] = "cpu";
    RW_SCOPED(rw_dataset_free) struct rw_dataset *valid = NULL;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *train = NULL;
    struct rw_plan plan;
    if (v->dataset->n_docs > RW_MOST_DOCS_SIDE_BY_SIDE || ctx->n_threads == 1 ||
        v->options->is_serial || strncmp(v->params.device, "cuda", 4) == 0)
        return 0;
    if (strcmp(v->params.device, "auto") == 0) {
        if (v->nested)
            RW_TRY(part_of(v, 0, RW_CV_VALID, ctx, &valid));
        RW_TRY(part_of(v, 0, RW_CV_TRAIN, ctx, &train));
        const struct rw_dataset *const sets[] = {valid};
        const struct rw_training training = {.train = train, .valid = sets, .n_valid = v->nested};
        RW_TRY(rw_train_plan(ctx, &v->params, &training, &plan));
        if (plan.on_gpu)
            return 0;
        v->params.device = cpu;
    }
    return 1;
}

/* Takes the folds that the caller gave, or draws them. */
static int make_folds(struct rw_ctx *ctx, uint64_t seed, struct validation *v)
{
    const struct rw_cv_options *o = v->options;
    const uint32_t n = v->dataset->n_queries;
    if (!o->parts && v->nested && o->n_folds < 3)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "folds is %d; expected 3 or more, because early stopping needs a "
                       "separate fold\nhint: early-stop 0 trains all rounds",
                       o->n_folds);
    if (!o->parts)
        return rw_folds(ctx, n, o->groups, o->n_folds, seed, v->fold_of);
    if (o->n_folds < 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "folds is %d; expected 1 or more", o->n_folds);
    for (uint32_t q = 0; q < n; q++) {
        int f = 0;
        while (f < o->n_folds && part_at(v, f, q) != RW_CV_TEST)
            f++;
        v->fold_of[q] = f < o->n_folds ? (uint32_t)f : UINT32_MAX;
        for (uint32_t i = v->dataset->query_offset[q];
             f == o->n_folds && i < v->dataset->query_offset[q + 1]; i++)
            v->scores[i] = (double)NAN;
    }
    return RW_OK;
}

/* Checks that each fold has the parts that it needs. *most: the size of the largest validation
 * part. */
static int check_parts(struct rw_ctx *ctx, const struct validation *v, uint32_t *most)
{
    static const char *const does[] = {[RW_CV_TRAIN] = "train on",
                                       [RW_CV_VALID] = "stop training early",
                                       [RW_CV_TEST] = "measure its model"};
    RW_FREED uint8_t *keep = NULL;
    RW_TRY(RW_NEW_RAW(ctx, keep, v->dataset->n_queries));
    *most = 0;
    for (int f = 0; f < v->cv.n_folds; f++) {
        for (enum rw_cv_part part = RW_CV_TRAIN; part <= RW_CV_TEST; part++) {
            const uint32_t n = mark(v, f, part, keep);
            *most = part == RW_CV_VALID && n > *most ? n : *most;
            if (n == 0 && (part != RW_CV_VALID || v->nested))
                return rw_fail(ctx, RW_ERR_ARGUMENT, "fold %d has no queries to %s", f + 1,
                               does[part]);
        }
    }
    return RW_OK;
}

static int prepare(struct rw_ctx *ctx, const struct rw_params *params, struct validation *v)
{
    const struct rw_dataset *dataset = v->dataset;
    const int n_folds = v->options->n_folds;
    struct rw_arena *arena = rw_result_arena(v);
    uint32_t fold_queries;
    v->ctx = ctx;
    v->nested = params->early_stop > 0;
    RW_TRY(RW_ARENA_NEW(ctx, arena, v->fold_of, dataset->n_queries));
    RW_TRY(RW_ARENA_NEW(ctx, arena, v->scores, dataset->n_docs));
    RW_TRY(make_folds(ctx, params->seed, v));
    RW_TRY(RW_ARENA_NEW(ctx, arena, v->fold, (size_t)n_folds));
    v->cv = (struct rw_cv){
        .n_folds = n_folds, .folds = v->fold, .fold_of = v->fold_of, .scores = v->scores};
    RW_TRY(check_parts(ctx, v, &fold_queries));
    RW_TRY(rw_params_copy(ctx, params, &v->own));
    /* `auto` is resolved once for all folds, from the whole set, so that folds validate the
     * parameters that a training on the whole set would use. */
    const struct rw_data_size size = {.n_docs = dataset->n_docs,
                                      .n_features = dataset->n_columns,
                                      .n_valid = v->nested,
                                      .n_valid_queries = fold_queries,
                                      .has_custom_metric = v->options->has_metric};
    RW_TRY(rw_params_resolve_size(ctx, v->own, &size));
    RW_TRY(rw_params_drop_idle(ctx, v->own, &RW_FACTS_MEASURED(RW_FACT_UNKNOWN)));
    v->params = *v->own;
    rw_params_on_no_effect(&v->params, RW_NO_EFFECT_SILENT); /* fold warnings would repeat */
    v->how = *rw_params_eval(&v->params);
    if (params->threads)
        RW_TRY(rw_ctx_set_threads(ctx, params->threads));
    v->params.is_set[RW_AT_PARAM_threads] = 0; /* the workers share the threads */
    v->params.threads = 0;
    return RW_OK;
}

/* Frees the members that the result's arena does not own. */
static void release(void *validation)
{
    struct validation *v = validation;
    for (int f = 0; v->fold && f < v->cv.n_folds; f++) {
        rw_model_free(v->fold[f].model);
        rw_free((void *)v->fold[f].eval);
    }
    rw_params_free(v->own);
    rw_bins_free(v->bins);
}

/* Bins the whole set, for all folds. */
static int share_bins(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct validation *v)
{
    if (v->params.categorical[0] || dataset->vocabulary)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "shared-bins cannot be combined with categorical features, whose codes each "
                       "training makes");
    const struct rw_cut_rule rule = rw_params_cut_rule(&v->params);
    return rw_bins_make_training(ctx, dataset, &rule, &v->bins);
}

/* Measures the scores of all queries that a fold measures. */
static int measure_pooled(struct rw_ctx *ctx, struct validation *v)
{
    const struct rw_dataset *all = v->dataset;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *some = NULL;
    RW_FREED uint8_t *keep = NULL;
    RW_FREED double *scores = NULL;
    uint32_t n = 0, n_docs = 0;
    RW_TRY(RW_NEW_RAW(ctx, keep, all->n_queries));
    RW_TRY(RW_NEW_RAW(ctx, scores, all->n_docs));
    for (uint32_t q = 0; q < all->n_queries; q++)
        n += keep[q] = v->fold_of[q] != UINT32_MAX;
    for (uint32_t i = 0; i < all->n_docs; i++) {
        if (v->scores[i] == v->scores[i])
            scores[n_docs++] = v->scores[i];
    }
    if (n < all->n_queries)
        RW_TRY(rw_dataset_select(ctx, all, keep, &some));
    return rw_evaluate_into(ctx, &v->how, some ? some : all, scores, rw_result_arena(v),
                            &v->cv.pooled);
}

static int validate(struct rw_ctx *ctx, const struct rw_params *params, struct validation *v)
{
    const int n_folds = v->options->n_folds;
    RW_TRY(prepare(ctx, params, v));
    if (v->options->shares_bins)
        RW_TRY(share_bins(ctx, v->dataset, v));
    const int side_by_side = runs_side_by_side(ctx, v);
    RW_TRY(side_by_side);
    /* now that the device is known */
    RW_TRY(rw_params_judge(ctx, v->own, &RW_FACTS_MEASURED(side_by_side ? 0 : RW_FACT_UNKNOWN)));
    const int counts =
        rw_stage_begin(ctx, "cross-validation", (uint64_t)n_folds * (uint64_t)v->params.rounds, 0);
    const int status = rw_jobs_run(ctx, side_by_side ? ctx->n_threads : 1, n_folds, run_fold, v);
    rw_stage_end(ctx, counts);
    RW_TRY(status);
    return measure_pooled(ctx, v);
}

int rw_cross_validate_with(struct rw_ctx *ctx, const struct rw_params *params,
                           const struct rw_dataset *dataset, const struct rw_cv_options *options,
                           struct rw_cv **out)
{
    RW_DEFAULT_FPENV;
    RW_SCOPED(rw_free) struct validation *v = NULL;
    *out = NULL;
    RW_TRY(rw_search_check(ctx, "cross-validation", NULL));
    RW_TRY(rw_result_new(ctx, (void **)&v, sizeof(*v)));
    v->dataset = dataset;
    v->options = options;
    RW_TRY(rw_arena_own(ctx, rw_result_arena(v), v, release));
    RW_TRY(validate(ctx, params, v));
    *out = &RW_TAKE(v)->cv;
    return RW_OK;
}

int rw_cross_validate(struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_dataset *dataset, int n_folds, struct rw_cv **out)
{
    const struct rw_cv_options options = {.n_folds = n_folds};
    return rw_cross_validate_with(ctx, params, dataset, &options, out);
}
