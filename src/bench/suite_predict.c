/* `rankwood bench predict`: times the scoring of dense documents in memory by each method, and
 * reports whether all scores equal those of rw_predict_one, bit for bit. rw_predict_one follows
 * each tree of the model from its root. In the table, the method "walk" is rw_flat_walk if
 * documents are scored in one call, and rw_predict_one if they are scored one at a time. */

#include "bench/bench.h"
#include "model/scorer.h"

enum {
    DOCS = 100000,
    QUICK_DOCS = 2000,
    TRAIN_QUERIES = 300,
    QUICK_TRAIN_QUERIES = 20,
    ONE_DOCS = 2000, /* documents scored one at a time */
    RUNS = 5
};

/* Target: microseconds per document, with 500 trees of 31 leaves. */
static const double must_one_us = 5.0;

struct scoring {
    struct rw_bench *bench;
    int n_runs, n_threads;    /* n_threads: all threads of the context */
    struct rw_dataset *train; /* owned */
    uint32_t n_docs, n_ids;   /* n_ids: the greatest feature id plus 1 */
    struct rw_arena arena;    /* owns the arrays below */
    float *value;             /* [n_docs][n_ids] */
    double *scores, *plain;   /* [n_docs] plain: scores by rw_predict_one */
    /* The members below describe the current model. */
    char name[64]; /* "500 trees, 31 leaves" */
    double mean_leaves;
    struct rw_model *model;   /* owned */
    struct rw_scorer *scorer; /* owned */
    double walk_ns; /* ns per document of rw_flat_walk, with the current number of threads */
    /* microseconds per document of rw_scorer_one, for the first model, of 31 leaves per tree; NaN:
     * not measured yet */
    double one_us;
};

/* ---- data ---- */

static int make_rows(struct scoring *s)
{
    const struct rw_dataset *d = s->bench->made.dataset;
    RW_SCOPED(rw_mem_free) float *column = NULL;
    s->n_docs = d->n_docs;
    for (uint32_t i = 0; i < d->n_columns; i++)
        s->n_ids = d->column[i].feature + 1 > s->n_ids ? d->column[i].feature + 1 : s->n_ids;
    RW_TRY(RW_ARENA_NEW(s->bench->ctx, &s->arena, s->value, (size_t)s->n_docs * s->n_ids));
    RW_TRY(RW_ARENA_NEW(s->bench->ctx, &s->arena, s->scores, s->n_docs));
    RW_TRY(RW_ARENA_NEW(s->bench->ctx, &s->arena, s->plain, s->n_docs));
    RW_TRY(RW_NEW_RAW(s->bench->ctx, column, s->n_docs));
    for (uint32_t i = 0; i < d->n_columns; i++) {
        const uint32_t id = d->column[i].feature;
        rw_dataset_feature(d, id, 0.0f, column);
        for (uint32_t doc = 0; doc < s->n_docs; doc++)
            s->value[(size_t)doc * s->n_ids + id] = column[doc];
    }
    return RW_OK;
}

static int make_data(struct scoring *s)
{
    const struct rw_bench_options *o = s->bench->options;
    uint32_t n_queries = o->n_queries;
    const struct rw_synth_options train = {.shape = s->bench->shape,
                                           .n_queries =
                                               o->quick ? QUICK_TRAIN_QUERIES : TRAIN_QUERIES,
                                           .seed = o->seed + 1};
    if (!n_queries)
        RW_TRY(rw_bench_queries_of(s->bench, s->bench->shape, o->quick ? QUICK_DOCS : DOCS,
                                   &n_queries));
    RW_TRY(rw_synth(s->bench->ctx, &train, NULL, &s->train));
    RW_TRY(rw_bench_data_make(s->bench, s->bench->shape, n_queries));
    return make_rows(s);
}

/* ---- a model ---- */

static void drop_model(struct scoring *s)
{
    rw_scorer_free(s->scorer);
    s->scorer = NULL;
    rw_model_free(s->model);
    s->model = NULL;
}

static int score_one_by_one(void *user, struct rw_share *share)
{
    const struct scoring *s = user;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++)
            s->plain[doc] = rw_predict_one(s->model, s->value + doc * s->n_ids, s->n_ids);
    }
    return RW_OK;
}

/* leaves: of a tree that grows by gain; NULL: symmetric trees of six levels. */
static int make_model(struct scoring *s, const char *leaves)
{
    struct rw_ctx *ctx = s->bench->ctx;
    const char *rounds = s->bench->options->quick ? "10" : "500";
    const struct rw_bench_setting setting[] = {
        {"device", "cpu"},
        {"rounds", rounds},
        {leaves ? "leaves" : "grow", leaves ? leaves : "symmetric"}};
    struct rw_params *params;
    double n_leaves = 0.0;
    drop_model(s);
    rw_log(ctx, RW_LOG_NOTE, "training %s trees of %s leaves", rounds, leaves ? leaves : "64");
    RW_TRY(rw_bench_params_new(s->bench, setting, 3, 1, &params));
    RW_TRY(rw_train(ctx, params, s->train, NULL, 0, NULL, &s->model));
    RW_TRY(rw_scorer_new(ctx, s->model, 0, &s->scorer));
    for (int i = 0; i < rw_model_n_trees(s->model); i++)
        n_leaves += rw_model_tree(s->model, i).n_leaves;
    s->mean_leaves = n_leaves / rw_model_n_trees(s->model);
    snprintf(s->name, sizeof(s->name), leaves ? "%s trees, %s leaves" : "%s trees, symmetric",
             rounds, leaves);
    return rw_parallel(ctx, ctx->n_threads, s->n_docs, 0, score_one_by_one, s);
}

/* ---- methods ---- */

/* WALK is rw_flat_walk, WALK_ONE is rw_predict_one. */
enum method { WALK, PREDICT, ROWS, WALK_ONE, ONE };
static const char *const names[] = {"walk", "rw_predict", "rw_scorer_rows", "walk",
                                    "rw_scorer_one"};

/* Scores all documents in one call or, with WALK_ONE and ONE, the first n one at a time. */
static int score(struct scoring *s, enum method method, uint32_t n)
{
    struct rw_ctx *ctx = s->bench->ctx;
    if (method == WALK)
        return rw_flat_walk(ctx, &s->scorer->flat, s->bench->made.dataset, s->scores, NULL, NULL);
    if (method == PREDICT)
        return rw_predict(ctx, s->model, s->bench->made.dataset, 0, s->scores);
    if (method == ROWS)
        return rw_scorer_rows(ctx, s->scorer, s->value, s->n_docs, s->n_ids, 0, s->scores);
    for (uint32_t doc = 0; doc < n; doc++) {
        const float *row = s->value + (size_t)doc * s->n_ids;
        s->scores[doc] = method == ONE ? rw_scorer_one(s->scorer, row, s->n_ids, 0)
                                       : rw_predict_one(s->model, row, s->n_ids);
    }
    return RW_OK;
}

/* Measures nanoseconds per document, after a warm-up run. *equal: 1 if in all runs the scores of
 * the timed documents equal s->plain, bit for bit; else 0. */
static int time_method(struct scoring *s, enum method method, struct rw_bench_times *ns, int *equal)
{
    const uint32_t n = method < WALK_ONE || s->n_docs < ONE_DOCS ? s->n_docs : ONE_DOCS;
    double all[RUNS];
    *equal = 1;
    for (int i = -1; i < s->n_runs; i++) {
        memset(s->scores, 0xff, s->n_docs * sizeof(*s->scores)); /* NaN */
        const double start = rw_clock_ms();
        RW_TRY(score(s, method, n));
        if (i >= 0)
            all[i] = (rw_clock_ms() - start) * 1e6 / n;
        *equal &= memcmp(s->scores, s->plain, n * sizeof(*s->scores)) == 0;
    }
    rw_bench_spread(all, s->n_runs, ns); /* the fields are nanoseconds here */
    return RW_OK;
}

static int send_many(struct scoring *s, enum method method)
{
    const double n_trees = rw_model_n_trees(s->model);
    const int is_plain = method == WALK || !s->scorer->packed;
    struct rw_bench_times ns;
    int equal;
    RW_TRY(time_method(s, method, &ns, &equal));
    if (method == WALK)
        s->walk_ns = ns.median_ms;
    return rw_bench_send_row(
        s->bench, "document and tree",
        "model:s mean_leaves:1 method:s instructions:s threads:i runs:i "
        "median_ns:3 least_ns:3 most_ns:3 walk_ratio:2 equal:b",
        s->name, s->mean_leaves, names[method], rw_isa_name(is_plain ? RW_ISA_PLAIN : rw_isa()),
        s->bench->ctx->n_threads, s->n_runs, ns.median_ms / n_trees, ns.least_ms / n_trees,
        ns.most_ms / n_trees, s->walk_ns / ns.median_ms, equal);
}

static int time_many(struct scoring *s, int n_threads)
{
    RW_TRY(rw_ctx_set_threads(s->bench->ctx, n_threads));
    for (enum method method = WALK; method <= ROWS; method++)
        RW_TRY(send_many(s, method));
    return RW_OK;
}

static int send_one(struct scoring *s, enum method method)
{
    struct rw_bench_times ns;
    int equal;
    RW_TRY(time_method(s, method, &ns, &equal));
    const double us = ns.median_ms / 1e3;
    if (method == ONE && isnan(s->one_us))
        s->one_us = us;
    return rw_bench_send_row(
        s->bench, "one at a time",
        "model:s mean_leaves:1 method:s runs:i median_us:3 least_us:3 most_us:3 equal:b", s->name,
        s->mean_leaves, names[method], s->n_runs, us, ns.least_ms / 1e3, ns.most_ms / 1e3, equal);
}

static int measure(struct scoring *s, const char *leaves)
{
    RW_TRY(make_model(s, leaves));
    if (s->n_threads > 1)
        RW_TRY(time_many(s, 1));
    RW_TRY(time_many(s, s->n_threads));
    RW_TRY(send_one(s, WALK_ONE));
    return send_one(s, ONE);
}

static void release(struct scoring *s)
{
    drop_model(s);
    rw_dataset_free(s->train);
    rw_arena_free(&s->arena);
}

int rw_bench_predicting(struct rw_bench *bench)
{
    RW_RELEASED(release)
    struct scoring s = {.bench = bench,
                        .n_runs = bench->options->quick ? RW_BENCH_QUICK_RUNS : RUNS,
                        .n_threads = bench->ctx->n_threads,
                        .one_us = NAN};
    RW_TRY(make_data(&s));
    RW_TRY(rw_bench_send_row(bench, "data",
                             "shape:s queries:u documents:u features:u trained_on_documents:u",
                             bench->shape, bench->made.n_queries, s.n_docs,
                             bench->made.dataset->n_columns, s.train->n_docs));
    RW_TRY(measure(&s, "31"));
    RW_TRY(measure(&s, "255"));
    RW_TRY(measure(&s, NULL));
    if (!bench->has_default_data)
        return RW_OK;
    return rw_bench_bar(bench,
                        &(struct rw_bench_bar){"one document, 500 trees of 31 leaves: microseconds",
                                               s.one_us, must_one_us, NAN, 1});
}
