/* The C interface: the input says which calls are made, in which order, with which of the objects
 * that earlier ones have made, and with which numbers, most of them fit and some not. A call that
 * fails says why and makes nothing; what succeeds keeps its promises. */
#include "fuzz_calls.h"

static void keep_model(struct machine *m, int status, struct rw_model *model)
{
    if (!made(m, status, &model))
        return;
    struct rw_model **slot = &m->model[below(m, SLOTS)];
    rw_model_free(*slot);
    *slot = model;
    m->n_trained++;
}

/* ---- training ---- */

static int stop_soon(void *user, const struct rw_round *round)
{
    (void)user;
    return round->round >= ROUNDS;
}

/* Gradients of the input's numbers. */
static int own_gradients(void *user, const struct rw_dataset *train, const double *scores,
                         double *gradients, double *hessians)
{
    struct machine *m = user;
    for (uint32_t i = 0; i < rw_dataset_n_docs(train); i++) {
        fuzz_check(isfinite(scores[i]));
        gradients[i] = a_number(m) - 2.0;
        hessians[i] = a_number(m);
    }
    return is_odd(m);
}

static int own_metric(void *user, const struct rw_dataset *dataset, const double *scores,
                      double *value)
{
    struct machine *m = user;
    (void)dataset;
    (void)scores;
    *value = a_number(m);
    return is_odd(m);
}

static struct rw_train_hooks make_hooks(struct machine *m)
{
    struct rw_train_hooks hooks = {.user = m, .on_round = stop_soon};
    if (below(m, 8) == 7)
        hooks.gradients = own_gradients;
    if (below(m, 8) == 7) {
        hooks.metric = own_metric;
        hooks.metric_name = "own";
        hooks.metric_lower_is_better = (int)below(m, 2);
    }
    return hooks;
}

static void train(struct machine *m)
{
    const struct rw_dataset *set = a_dataset(m), *valid = a_dataset(m);
    const struct rw_train_hooks hooks = make_hooks(m);
    const struct rw_model *init = a_model(m);
    struct rw_model *model = NULL;
    const int n_valid = valid && below(m, 2);
    int status = RW_OK;
    if (!m->params || !set)
        return;
    switch (below(m, 5)) {
    case 0:
        if (!init)
            return;
        status = rw_train_on(
            m->ctx, m->params,
            &(struct rw_training){
                .train = set, .init = init, .valid = &valid, .n_valid = n_valid, .hooks = &hooks},
            &model);
        break;
    case 1:
        if (!init)
            return;
        status = rw_refit(m->ctx, m->params, init, set, &valid, n_valid, &hooks, &model);
        break;
    case 2:
        if (!m->binned)
            return;
        status = rw_train_on(
            m->ctx, m->params,
            &(struct rw_training){
                .binned = m->binned, .valid = &valid, .n_valid = n_valid, .hooks = &hooks},
            &model);
        break;
    default:
        status = rw_train(m->ctx, m->params, set, &valid, n_valid, &hooks, &model);
    }
    keep_model(m, status, model);
}

static void train_plan(struct machine *m)
{
    const struct rw_dataset *set = a_dataset(m);
    struct rw_plan plan;
    if (m->params && set)
        done(m, rw_train_plan(m->ctx, m->params, &(struct rw_training){.train = set}, &plan));
}

static void cross_validate(struct machine *m)
{
    const struct rw_dataset *set = a_dataset(m);
    struct rw_cv *cv = NULL;
    char rounds[8];
    if (!m->params || !set)
        return;
    snprintf(rounds, sizeof(rounds), "%u", 1 + below(m, ROUNDS));
    fuzz_check(rw_params_set(m->ctx, m->params, "rounds", rounds) == RW_OK);
    const int n = is_odd(m) ? -1 : (int)below(m, 5);
    uint32_t groups[2] = {below(m, 3), below(m, 3)};
    const struct rw_cv_options how = {.n_folds = n,
                                      .shares_bins = n == 4,
                                      .groups = rw_dataset_n_queries(set) == 2 && is_odd(m) ? groups
                                                                                            : NULL};
    made(m, rw_cross_validate_with(m->ctx, m->params, set, &how, &cv), &cv);
    rw_free(cv);
}

/* ---- models ---- */

static void write_and_read(struct machine *m)
{
    const struct rw_model *model = a_model(m);
    struct rw_model *again = NULL;
    char *text = NULL, *second = NULL;
    size_t n = 0, n_second = 0;
    if (!model)
        return;
    fuzz_check(rw_model_write_memory(m->ctx, model, &text, &n) == RW_OK);
    fuzz_check(rw_model_read_memory(m->ctx, "memory", text, n, &again) == RW_OK);
    fuzz_check(rw_model_write_memory(m->ctx, again, &second, &n_second) == RW_OK);
    fuzz_check(n == n_second && memcmp(text, second, n) == 0);
    rw_free(text);
    rw_free(second);
    keep_model(m, RW_OK, again);
}

/* Every way to score gives the same doubles. */
static void score(struct machine *m)
{
    const struct rw_model *model = a_model(m);
    struct rows rows;
    struct rw_scorer *scorer = NULL, *opened = NULL;
    double scores[DOCS], others[DOCS];
    if (!model)
        return;
    make_rows(m, &rows);
    for (int i = 0; i < DOCS * FEATURES; i++)
        rows.value[i] = isinf(rows.value[i]) ? 1.0F : rows.value[i];
    const int n_trees = is_odd(m) ? (int)below(m, 9) - 2 : 0;
    const uint32_t first = below(m, 2);
    if (!made(m, rw_scorer_new(m->ctx, model, n_trees, &scorer), &scorer))
        return;
    if (made(m, rw_scorer_open(m->ctx, model, n_trees, "cpu", &opened), &opened)) {
        /* RW_ERR_DATA: not as many columns as the model counts */
        const int status =
            rw_scorer_rows(m->ctx, scorer, rows.value, rows.n_docs, rows.n_features, first, scores);
        fuzz_check(status == RW_OK || status == RW_ERR_DATA);
        fuzz_check(rw_scorer_rows(m->ctx, opened, rows.value, rows.n_docs, rows.n_features, first,
                                  others) == status);
        fuzz_check(status < 0 || memcmp(scores, others, rows.n_docs * sizeof(*scores)) == 0);
        for (uint32_t i = 0; status == RW_OK && i < rows.n_docs; i++) {
            const double one =
                rw_scorer_one(scorer, rows.value + i * rows.n_features, rows.n_features, first);
            fuzz_check(memcmp(&one, &scores[i], sizeof(one)) == 0);
        }
    }
    rw_scorer_free(opened);
    rw_scorer_free(scorer);
}

static void look_at_model(struct machine *m)
{
    const struct rw_model *model = a_model(m);
    struct rw_feature_use uses[2];
    struct rw_calibration map;
    char *text = NULL;
    size_t n = 0;
    if (!model)
        return;
    FILE *out = open_memstream(&text, &n);
    fuzz_check(out != NULL);
    fuzz_check(rw_model_features(model, uses, 2) >= 0);
    rw_model_calibration(model, &map);
    for (int t = 0; t < rw_model_n_trees(model); t++) {
        const struct rw_tree_view tree = rw_model_tree(model, t);
        for (int node = 0; node < tree.n_leaves - 1; node++) {
            char condition[16];
            fuzz_check(tree.feature[node] <= RW_MAX_FEATURE);
            rw_model_condition(model, t, node, condition, sizeof(condition));
        }
        for (int leaf = 0; leaf < tree.n_leaves; leaf++)
            fuzz_check(isfinite(tree.leaf[leaf]));
        done(m, rw_model_show(m->ctx, model, t, (int)below(m, 2), out));
    }
    fclose(out);
    free(text);
}

static struct rw_eval_params make_how(struct machine *m)
{
    static const char *const metrics[] = {"ndcg@10", "map,mrr",  "err@3",  "p@2,recall", "rmse",
                                          "rbp:0.5", "nonsense", "ndcg@0", "dcg"};
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    how.metric = metrics[below(m, sizeof(metrics) / sizeof(metrics[0]))];
    how.empty = (enum rw_empty)below(m, 3);
    how.ties = (enum rw_ties)below(m, 2);
    how.relevant = a_number(m);
    return how;
}

static void measure(struct machine *m)
{
    const struct rw_dataset *dataset = a_dataset(m);
    const struct rw_eval_params how = make_how(m);
    struct rw_eval *eval = NULL;
    struct rw_audit *audit = NULL;
    struct rw_comparison *comparison = NULL;
    double scores[DOCS], others[DOCS];
    if (!dataset)
        return;
    for (int i = 0; i < DOCS; i++) {
        scores[i] = below(m, 4);
        others[i] = below(m, 4);
    }
    made(m, rw_evaluate(m->ctx, &how, dataset, scores, &eval), &eval);
    rw_free(eval);
    eval = NULL;
    static const char *const programs[] = {"lightgbm", "xgboost",   "xgboost-", "catboost",
                                           "ranklib",  "quickrank", "none"};
    if (below(m, 6) < 5) {
        struct rw_eval_params theirs = how;
        theirs.like = programs[below(m, 7)];
        made(m, rw_evaluate(m->ctx, &theirs, dataset, scores, &eval), &eval);
        rw_free(eval);
    }
    made(m, rw_audit_new(m->ctx, &how, dataset, scores, &audit), &audit);
    rw_free(audit);
    made(m, rw_compare(m->ctx, &how, dataset, scores, others, NULL, &comparison), &comparison);
    rw_free(comparison);
}

static void explain(struct machine *m)
{
    const struct rw_model *model = a_model(m);
    const struct rw_dataset *dataset = a_dataset(m);
    struct rw_explainer *explainer = NULL;
    double values[DOCS * (FEATURES + 4)], scores[DOCS];
    if (!model || !dataset ||
        !made(m, rw_explainer_new(m->ctx, model, 0, dataset, &explainer), &explainer))
        return;
    const uint32_t n = explainer->n_features, n_docs = rw_dataset_n_docs(dataset);
    fuzz_check(n <= FEATURES + 4);
    if (done(m, rw_predict(m->ctx, model, dataset, 0, scores)) &&
        done(m, rw_explainer_run(m->ctx, explainer, dataset, 0, n_docs, values, NULL))) {
        for (uint32_t i = 0; i < n_docs; i++) {
            double sum = explainer->base;
            for (uint32_t f = 0; f < n; f++)
                sum += values[i * n + f];
            fuzz_check(fabs(sum - scores[i]) <= explainer->bound);
        }
    }
    rw_free(explainer);
}

static void calibrate(struct machine *m)
{
    static const char *const methods[] = {"isotonic", "logistic", "none"};
    const struct rw_model *model = a_model(m);
    const struct rw_dataset *dataset = a_dataset(m);
    struct rw_calibrate how = RW_CALIBRATE_DEFAULTS;
    struct rw_calibrated figures;
    struct rw_model *mapped = NULL;
    double p[] = {-1e300, -1.0, 0.0, 1e300};
    if (!model || !dataset)
        return;
    how.method = methods[below(m, 3)];
    how.relevant = a_number(m);
    const int status = rw_model_calibrate(m->ctx, model, dataset, &how, &figures, &mapped);
    if (mapped) {
        fuzz_check(rw_model_probabilities(m->ctx, mapped, p, 4, p) == RW_OK);
        for (int i = 0; i < 4; i++)
            fuzz_check(p[i] >= 0.0 && p[i] <= 1.0);
    }
    keep_model(m, status, mapped);
}

static void prune(struct machine *m)
{
    const struct rw_model *model = a_model(m);
    const struct rw_dataset *dataset = a_dataset(m);
    const struct rw_eval_params how = make_how(m);
    struct rw_pruned *pruned = NULL;
    if (!model || !dataset)
        return;
    const double most_loss = a_number(m);
    const enum rw_prune_order order = (enum rw_prune_order)below(m, 2);
    made(m, rw_prune(m->ctx, &how, model, dataset, most_loss, order, &pruned), &pruned);
    rw_free(pruned);
}

static void permute(struct machine *m)
{
    const struct rw_model *model = a_model(m);
    const struct rw_dataset *dataset = a_dataset(m);
    const struct rw_eval_params how = make_how(m);
    struct rw_permuted out[2];
    double value;
    if (model && dataset) {
        const int status = rw_permutation_importance(
            m->ctx, &how, model, 0, dataset, is_odd(m) ? 0 : 1 + (int)below(m, 2), &value, out, 2);
        done(m, status > 0 ? RW_OK : status);
    }
}

static void report(struct machine *m)
{
    const struct rw_model *model = a_model(m);
    const struct rw_dataset *dataset = a_dataset(m);
    const struct rw_eval_params how = make_how(m);
    const struct rw_report_options options = {
        .title = "</title>", .n_trees = 1, .n_repeats = (int)below(m, 2)};
    char *text = NULL;
    size_t n = 0;
    if (!model || !dataset)
        return;
    FILE *out = open_memstream(&text, &n);
    fuzz_check(out != NULL);
    done(m, rw_report(m->ctx, &how, model, dataset, &options, out));
    fclose(out);
    free(text);
}

static void free_something(struct machine *m)
{
    struct rw_dataset **dataset = &m->dataset[below(m, SLOTS)];
    struct rw_model **model = &m->model[below(m, SLOTS)];
    if (below(m, 2)) {
        rw_dataset_free(*dataset);
        *dataset = NULL;
    } else {
        rw_model_free(*model);
        *model = NULL;
    }
}

static void set_threads(struct machine *m)
{
    done(m, rw_ctx_set_threads(m->ctx, is_odd(m) ? -1 : 1 + (int)below(m, 2)));
}

/* ---- the calls ---- */

static call_fn *const calls[] = {dataset_from_memory,
                                 dataset_from_text,
                                 dataset_from_table,
                                 side_data,
                                 categories,
                                 look_at_data,
                                 new_params,
                                 set_param,
                                 set_param,
                                 look_at_params,
                                 train,
                                 train,
                                 train_plan,
                                 cross_validate,
                                 write_and_read,
                                 score,
                                 look_at_model,
                                 measure,
                                 explain,
                                 calibrate,
                                 prune,
                                 permute,
                                 report,
                                 free_something,
                                 set_threads,
                                 train};

const char *const fuzz_words[] = {NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct machine m = {.bytes = {data, data + size}};
    fuzz_check(rw_ctx_new(&m.ctx) == RW_OK);
    fuzz_check(rw_ctx_set_threads(m.ctx, 1) == RW_OK);
    new_params(&m);
    dataset_from_text(&m);
    for (int i = 0; i < CALLS && m.bytes.at < m.bytes.end; i++)
        calls[below(&m, sizeof(calls) / sizeof(calls[0]))](&m);
    for (int i = 0; i < SLOTS; i++) {
        rw_dataset_free(m.dataset[i]);
        rw_model_free(m.model[i]);
    }
    rw_binned_free(m.binned);
    rw_params_free(m.params);
    rw_ctx_free(m.ctx);
    return m.n_trained > 0;
}
