/* Selects a small feature set that loses at most a given amount of the metric. It trains on the n
 * most important features, by permutation importance, and searches for the smallest n. Features
 * that training may use are called candidates. The file also implements permutation importance. */
#include <stdlib.h>

#include "evaluate/evaluate.h"
#include "base/rng.h"
#include "model/scorer.h"
#include "train/train.h"

/* A struct rw_selected and its parts, which are freed together. Its arena owns everything except
 * `row`, `list` and selected.model. */
struct selected {
    struct rw_selected selected;
    struct rw_select_row *row; /* owned, as is list */
    size_t row_room;
    struct rw_compared test;
    struct rw_metric metric; /* stores the name */
    char *list;
    char conventions[256];
};

struct selecting {
    struct rw_ctx *ctx; /* borrowed, as are the next three */
    const struct rw_dataset *valid;
    const struct rw_select_options *options;
    const struct rw_binned *train;
    struct rw_params *params;    /* a copy of the caller's, with other `features`; owned */
    struct rw_eval_params how;   /* evaluation parameters of params; texts are borrowed */
    struct rw_resident resident; /* owned */
    /* The halves of the validation set: the first ranks features, the second measures losses.
     * Owned. */
    struct rw_dataset *half[2];
    struct selected *made; /* owned; its arena owns all arrays */
    /* Both score the documents of half[1]. whole: by the model with all features; scores: by the
     * model on trial */
    double *whole, *scores;
    double *test_whole;        /* [n_docs of test] scores of the model with all features */
    struct rw_permuted *ranks; /* [most] the first n are kept, most important first */
    struct rw_permuted *used;  /* [most] scratch */
    uint32_t n, n_used; /* number of kept features, and of those that the kept model's trees use */
    uint32_t most;      /* number of candidates */
    uint32_t trying;    /* number of features on trial */
    rw_log_fn log; /* the context's, off after the first training, whose messages would repeat */
};

/* Counts the rounds of a training as a stage of the context. */
static int on_round(void *user, const struct rw_round *round)
{
    const struct selecting *s = user;
    (void)round;
    rw_stage_add(s->ctx, 1);
    return 0;
}

/* ---- a trial ---- */

static int train(struct selecting *s, struct rw_model **out)
{
    const struct rw_train_hooks hooks = {.user = s, .on_round = on_round};
    const int counts = rw_stage_begin(s->ctx, "training", (uint64_t)s->params->rounds, 0);
    const int status = rw_resident_train(&s->resident, s->ctx, s->params, &hooks, NULL, out);
    rw_stage_end(s->ctx, counts);
    return status;
}

static int compare(struct selecting *s, const struct rw_dataset *dataset, const double *a,
                   const double *b, struct rw_compared *out)
{
    RW_SCOPED(rw_free) struct rw_comparison *comparison = NULL;
    struct selected *made = s->made;
    RW_TRY(rw_compare(s->ctx, &s->how, dataset, a, b, NULL, &comparison));
    *out = comparison->all;
    made->selected.n_samples = comparison->n_samples;
    made->selected.lower_is_better = comparison->lower_is_better;
    snprintf(made->conventions, sizeof(made->conventions), "%s", comparison->conventions);
    return RW_OK;
}

/* Adds a row of the table. model: NULL if these features gave no tree. */
static int add_row(struct selecting *s, const struct rw_model *model, const double *scores)
{
    struct selected *made = s->made;
    RW_TRY(RW_GROW(s->ctx, made->row, made->row_room, (size_t)made->selected.n_rows + 1));
    struct rw_select_row *row = &made->row[made->selected.n_rows];
    *row = (struct rw_select_row){.n_features = s->trying};
    if (model) {
        row->n_trees = model->n_trees;
        const struct rw_compared *to = &row->compared;
        const int is_sure = s->options->is_sure; /* the worse end of the interval decides */
        RW_TRY(compare(s, s->half[1], s->whole, scores, &row->compared));
        const double loss = made->selected.lower_is_better ? (is_sure ? to->high : to->difference)
                                                           : -(is_sure ? to->low : to->difference);
        row->is_within = loss <= s->options->most_loss; /* 0 if the loss is NaN */
    } else {
        struct rw_compared *compared = &row->compared;
        *compared = made->row[0].compared;
        compared->mean_b = compared->difference = compared->low = compared->high = (double)NAN;
    }
    made->selected.n_rows++;
    made->selected.rows = made->row;
    if (s->options->on_row && s->options->on_row(s->options->user, made->selected.n_rows - 1, row))
        return rw_fail(s->ctx, RW_ERR_INTERRUPTED, "feature selection was interrupted");
    return RW_OK;
}

static int fail_empty(struct selecting *s)
{
    return rw_fail(s->ctx, RW_ERR_DATA, "in one half of the validation set no query counts for %s",
                   s->made->metric.name);
}

/* Sorts by falling loss, then by id. */
static int by_loss(const void *a, const void *b)
{
    const struct rw_permuted *x = a, *y = b;
    if (x->loss != y->loss)
        return x->loss > y->loss ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

/* Ranks the first n features, on which the model was trained: first those that its trees use, by
 * falling loss, then the others. */
static int rank(struct selecting *s, const struct rw_model *model, uint32_t n)
{
    double value;
    s->n = n;
    const int n_used =
        rw_permutation_importance(s->ctx, &s->how, model, 0, s->half[0], s->options->n_repeats,
                                  &value, s->used, (int)s->most);
    RW_TRY(n_used);
    if (isnan(value))
        return fail_empty(s);
    s->n_used = (uint32_t)n_used;
    /* Both lists are sorted by id, so one pass separates the used features from the others. */
    RW_SORT(s->ranks, n, rw_by_u32);
    uint32_t at = s->n_used, next = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (next < s->n_used && s->used[next].feature == s->ranks[i].feature)
            next++;
        else
            s->used[at++] =
                (struct rw_permuted){.feature = s->ranks[i].feature,
                                     .deviation = s->options->n_repeats > 1 ? 0.0 : (double)NAN};
    }
    memcpy(s->ranks, s->used, n * sizeof(*s->ranks));
    RW_SORT(s->ranks, s->n_used, by_loss);
    return RW_OK;
}

/* Makes the model of a successful trial the kept one, and ranks its features. n: their number. */
static int keep(struct selecting *s, struct rw_model *model, uint32_t n)
{
    struct rw_selected *selected = &s->made->selected;
    rw_model_free(selected->model);
    selected->model = model;
    selected->chosen = selected->n_rows - 1;
    return rank(s, model, n);
}

/* Writes the first n ranked features as ids and ranges, in the syntax of the parameter `features`.
 */
static int list_ids(struct selecting *s, uint32_t n, char **out)
{
    RW_FREED uint8_t *mark = NULL;
    RW_TRY(RW_NEW(s->ctx, mark, RW_FEATURE_IDS));
    for (uint32_t i = 0; i < n; i++)
        mark[s->ranks[i].feature] = 1;
    return rw_ignore_text(s->ctx, mark, out);
}

/* Trains on the first n features, and keeps the model if its loss is small enough. */
static int try_first(struct selecting *s, uint32_t n, int *is_within)
{
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_FREED char *list = NULL;
    s->trying = n;
    RW_TRY(list_ids(s, n, &list));
    RW_TRY(rw_params_set(s->ctx, s->params, "features", list));
    const int status = train(s, &model);
    if (status != RW_ERR_DATA) /* RW_ERR_DATA: these features give no tree; all features did */
        RW_TRY(status);
    if (model)
        RW_TRY(rw_predict(s->ctx, model, s->half[1], 0, s->scores));
    RW_TRY(add_row(s, model, s->scores));
    *is_within = s->made->row[s->made->selected.n_rows - 1].is_within;
    return *is_within ? keep(s, RW_TAKE(model), n) : RW_OK;
}

/* ---- all features ---- */

/* Collects the candidates: the features of the model's training data, except ignored ones. */
static int take_candidates(struct selecting *s, const struct rw_model *model)
{
    const struct rw_run_param *ignored = rw_model_params_find(&model->params, "ignore");
    struct rw_arena *arena = rw_result_arena(s->made);
    uint8_t *ignore;
    RW_TRY(RW_ARENA_NEW(s->ctx, arena, ignore, RW_FEATURE_IDS));
    RW_TRY(RW_ARENA_NEW(s->ctx, arena, s->ranks, model->n_features));
    RW_TRY(RW_ARENA_NEW(s->ctx, arena, s->used, model->n_features));
    RW_TRY(rw_list_parse(s->ctx, "ignore", ignored ? ignored->value : "", NULL, 0, ignore));
    for (uint32_t f = 0; f < model->n_features; f++) {
        if (!ignore[model->feature[f]])
            s->ranks[s->most++].feature = model->feature[f];
    }
    s->trying = s->most;
    return RW_OK;
}

static int begin(struct selecting *s)
{
    const struct rw_dataset *test = s->options->test;
    struct rw_arena *arena = rw_result_arena(s->made);
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_TRY(RW_ARENA_NEW(s->ctx, arena, s->whole, s->valid->n_docs));
    RW_TRY(RW_ARENA_NEW(s->ctx, arena, s->scores, s->valid->n_docs));
    if (test)
        RW_TRY(RW_ARENA_NEW(s->ctx, arena, s->test_whole, test->n_docs));
    /* Features seem more useful on the queries that ranked them than on new queries. The other half
     * of the queries therefore measures the loss. */
    RW_TRY(rw_halves(s->ctx, s->valid, s->options->groups, s->how.seed, "validation set",
                     "ranks features, the other one measures", s->half));
    RW_TRY(rw_resident_init(&s->resident, s->ctx, s->params, s->train, s->valid));
    RW_TRY(train(s, &model));
    RW_TRY(take_candidates(s, model));
    RW_TRY(rw_predict(s->ctx, model, s->half[1], 0, s->whole));
    if (test)
        RW_TRY(rw_predict(s->ctx, model, test, 0, s->test_whole));
    RW_TRY(add_row(s, model, s->whole));
    if (isnan(s->made->row[0].compared.mean_a))
        RW_TRY(fail_empty(s));
    s->ctx->log = NULL;
    return keep(s, RW_TAKE(model), s->most);
}

/* Halves the number of features while the loss stays within the limit. Then bisects between the
 * last number within it and the first one beyond. Features that no tree uses are dropped at
 * once. */
static int search(struct selecting *s)
{
    uint32_t too_few = 0;
    while (s->n - too_few > 1) {
        uint32_t n = too_few + (s->n - too_few) / 2;
        int is_within;
        if (s->n_used > too_few && s->n_used < n)
            n = s->n_used;
        RW_TRY(try_first(s, n, &is_within));
        if (!is_within)
            too_few = n;
    }
    return RW_OK;
}

/* ---- results ---- */

static int measure_test(struct selecting *s)
{
    const struct rw_dataset *test = s->options->test;
    struct selected *made = s->made;
    double *scores;
    if (!test)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(s->ctx, rw_result_arena(made), scores, test->n_docs));
    RW_TRY(rw_predict(s->ctx, made->selected.model, test, 0, scores));
    RW_TRY(compare(s, test, s->test_whole, scores, &made->test));
    made->selected.test = &made->test;
    return RW_OK;
}

/* Lists the kept features by name where the data has names, because their columns may differ in
 * other tables. A name that begins with '#' is listed by id: a parameter file would read it as a
 * comment. */
static int list_kept(struct selecting *s, struct selected *made)
{
    const struct rw_dataset *data = rw_binned_documents((struct rw_binned *)s->train);
    const struct rw_model *model = made->selected.model;
    size_t room = 0, n = 0;
    if (data->n_names == 0 || rw_params_get(s->params, "names")[0])
        return list_ids(s, s->n, &made->list);
    memcpy(s->used, s->ranks, s->n * sizeof(*s->used));
    RW_SORT(s->used, s->n, rw_by_u32);
    for (uint32_t i = 0; i < s->n; i++) {
        const char *name = rw_model_feature_name(model, s->used[i].feature);
        const size_t length = strlen(name);
        RW_TRY(RW_GROW(s->ctx, made->list, room, n + length + 16));
        const char *comma = i ? "," : "";
        n += (size_t)(length > 0 && name[0] != '#'
                          ? snprintf(made->list + n, length + 16, "%s%s", comma, name)
                          : snprintf(made->list + n, 16, "%s%u", comma, s->used[i].feature));
    }
    return RW_OK;
}

static int finish(struct selecting *s)
{
    struct selected *made = s->made;
    RW_TRY(measure_test(s));
    RW_TRY(list_kept(s, made));
    made->selected.features = s->ranks;
    made->selected.n_features = s->n;
    made->selected.list = made->list;
    made->selected.conventions = made->conventions;
    return RW_OK;
}

/* ---- checks ---- */

static int refuse_start(struct rw_ctx *ctx, const char *what, const struct rw_dataset *dataset)
{
    const struct rw_side_column *start = rw_side_column_find("start-scores");
    if (!dataset || !rw_side_column_of(start, dataset))
        return RW_OK;
    return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                   "the %s set has %s, which feature selection does not support", what,
                   start->plural);
}

static int check(struct selecting *s, const struct rw_params *params)
{
    const struct rw_select_options *options = s->options;
    if (!(options->most_loss >= 0.0) || isinf(options->most_loss))
        return rw_fail(s->ctx, RW_ERR_ARGUMENT, "loss is %g; expected 0 or more",
                       options->most_loss);
    if (options->n_repeats < 1 || options->n_repeats > 1000)
        return rw_fail(s->ctx, RW_ERR_ARGUMENT, "repeats is %d; expected 1 to 1000",
                       options->n_repeats);
    RW_TRY(rw_search_check(s->ctx, "feature selection", s->valid));
    RW_TRY(rw_params_check(s->ctx, params, RW_PARAMS_TRAIN));
    const struct rw_dataset *documents = rw_binned_documents((struct rw_binned *)s->train);
    RW_TRY(rw_trainings_judge(s->ctx, s->params, documents->n_docs, s->trying));
    RW_TRY(rw_eval_one_metric(s->ctx, &s->how, "select features by", &s->made->metric));
    RW_TRY(refuse_start(s->ctx, "training", documents));
    RW_TRY(refuse_start(s->ctx, "validation", s->valid));
    return refuse_start(s->ctx, "test", options->test);
}

/* Frees the members that the result's arena does not own. */
static void free_selected(void *selected)
{
    struct selected *made = selected;
    rw_model_free(made->selected.model);
    rw_mem_free(made->row);
    rw_mem_free(made->list);
}

static int select_features(struct selecting *s, const struct rw_params *params)
{
    RW_TRY(rw_arena_own(s->ctx, rw_result_arena(s->made), s->made, free_selected));
    RW_TRY(rw_params_copy(s->ctx, params, &s->params));
    s->how = *rw_params_eval(s->params);
    s->trying = rw_binned_n_features(s->train);
    RW_TRY(check(s, params));
    s->made->selected.metric = s->made->metric.name;
    RW_TRY(begin(s));
    RW_TRY(search(s));
    return finish(s);
}

static void release(struct selecting *s)
{
    s->ctx->log = s->log;
    rw_params_free(s->params);
    rw_resident_release(&s->resident);
    rw_dataset_free(s->half[0]);
    rw_dataset_free(s->half[1]);
    rw_free(s->made);
}

int rw_select(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_binned *train,
              const struct rw_dataset *valid, const struct rw_select_options *options,
              struct rw_selected **out)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(release)
    struct selecting s = {
        .ctx = ctx, .train = train, .valid = valid, .options = options, .log = ctx->log};
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&s.made, sizeof(*s.made)));
    RW_TRY(select_features(&s, params));
    *out = &RW_TAKE(s.made)->selected;
    return RW_OK;
}

/* ---- importance by permutation: a model's metric with one feature's values shuffled (Breiman,
 * "Random forests", 2001, section 10) ---- */

enum { MOST_REPEATS = 1000 };

struct measuring {
    struct rw_measure measure;
    struct rw_scorer *scorer; /* owned */
    double *scores;           /* [n_docs] owned */
};

static void measuring_release(struct measuring *m)
{
    rw_scorer_free(m->scorer);
    rw_judgments_release(&m->measure.judgments);
    rw_mem_free(m->scores);
}

/* Swaps each document's value with that of a partner, a draw of Fisher and Yates. The high word of
 * 64 random bits times k + 1 has a bias below k / 2^64. */
static void shuffle(float *values, uint32_t n, uint64_t seed, uint32_t repeat, uint32_t feature)
{
    for (uint32_t k = n; k-- > 1;) {
        const uint64_t item = (uint64_t)repeat << 32 | k;
        const struct rw_philox random = rw_random4(seed, item, feature, RW_STREAM_PERMUTE);
        const uint64_t word = (uint64_t)random.word[0] << 32 | random.word[1];
        const uint32_t other = (uint32_t)((rw_uint128)word * ((uint64_t)k + 1) >> 64);
        const float value = values[k];
        values[k] = values[other];
        values[other] = value;
    }
}

static int measure(struct measuring *m, const struct rw_dataset *dataset, double *value)
{
    RW_TRY(rw_scorer_run(m->measure.ctx, m->scorer, dataset, m->scores));
    return rw_measure_scores(&m->measure, m->scores, value);
}

/* Shuffles the column `n_repeats` times and measures the metric each time. Writes the mean loss and
 * its standard deviation to *out. The column has its old values afterwards. value: the metric
 * without shuffling. */
static int permute(struct measuring *m, const struct rw_dataset *dataset, struct rw_column *column,
                   int n_repeats, double value, struct rw_permuted *out)
{
    const struct rw_column own = *column;
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    RW_FREED float *values = NULL;
    double loss[MOST_REPEATS], mean = 0.0, square = 0.0;
    int status = RW_OK;
    struct rw_ctx *ctx = m->measure.ctx;
    RW_TRY(RW_NEW_RAW(ctx, values, dataset->n_docs));
    *column = (struct rw_column){.feature = own.feature, .n = dataset->n_docs, .value = values};
    for (int r = 0; r < n_repeats; r++) {
        rw_column_values(&own, 0, dataset->n_docs, absent, values);
        shuffle(values, dataset->n_docs, m->measure.how->seed, (uint32_t)r, own.feature);
        RW_TRY_OUT(measure(m, dataset, &loss[r]));
        loss[r] = rw_measure_loss(&m->measure, value, loss[r]);
        mean += loss[r] / n_repeats;
        rw_stage_add(ctx, 1);
        RW_TRY_OUT(rw_poll(ctx));
    }
    for (int r = 0; r < n_repeats; r++)
        square += (loss[r] - mean) * (loss[r] - mean);
    out->loss = mean;
    out->deviation = n_repeats > 1 ? sqrt(square / (n_repeats - 1)) : (double)NAN;
out:
    *column = own;
    return status;
}

int rw_permutation_importance(struct rw_ctx *ctx, const struct rw_eval_params *how,
                              const struct rw_model *model, int n_trees,
                              const struct rw_dataset *dataset, int n_repeats, double *value,
                              struct rw_permuted *out, int room)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    RW_RELEASED(measuring_release) struct measuring m = {0};
    struct rw_dataset changed = *dataset; /* borrows all members but the columns */
    RW_FREED struct rw_column *columns = NULL;
    *value = (double)NAN;
    if (n_repeats < 1 || n_repeats > MOST_REPEATS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "repeats is %d; expected 1 to %d", n_repeats,
                       MOST_REPEATS);
    RW_TRY(rw_measure_init(ctx, how, dataset, NULL, &m.measure));
    RW_TRY(rw_scorer_open(ctx, model, n_trees, "cpu", &m.scorer));
    RW_TRY(RW_NEW_RAW(ctx, m.scores, dataset->n_docs));
    RW_TRY(RW_NEW_RAW(ctx, columns, dataset->n_columns));
    changed.column = columns;
    if (dataset->n_columns)
        memcpy(changed.column, dataset->column, dataset->n_columns * sizeof(*changed.column));
    RW_TRY(measure(&m, dataset, value));
    const struct rw_flat *flat = &m.scorer->flat;
    int n = 0, n_features = 0;
    for (uint32_t slot = 0; slot < flat->n_used; slot++)
        n_features += rw_flat_is_next_feature(flat, slot);
    const int counts =
        rw_stage_begin(ctx, "permutations", (uint64_t)n_features * (uint64_t)n_repeats, 0);
    for (uint32_t slot = 0; slot < flat->n_used && n < room; slot++) {
        if (!rw_flat_is_next_feature(flat, slot))
            continue;
        const struct rw_column *column = rw_dataset_column(&changed, flat->feature[slot]);
        out[n] = (struct rw_permuted){.feature = flat->feature[slot],
                                      .deviation = n_repeats > 1 ? 0.0 : (double)NAN};
        if (column) /* without a column there is nothing to shuffle */
            RW_TRY_OUT(permute(&m, &changed, changed.column + (column - changed.column), n_repeats,
                               *value, &out[n]));
        n++;
    }
    status = n_features;
out:
    rw_stage_end(ctx, counts);
    return status;
}
