/* Tuning: a plain search, by trainings of public functions alone, finds the same trials, the same
 * choice, the same estimate and the same model. The plain search trains each trial once, for as
 * many rounds as a rung can have, and makes all decisions from its table of values. */
#include <math.h>

#include "dataset/dataset.h"
#include "each.h"
#include "evaluate/evaluate.h"
#include "params/params.h"
#include "scratch_file.h"
#include "train_fixture.h"

enum { N_QUERIES = 60, LENGTH = 9, N_FEATURES = 5, N_TRIALS = 14, ROUNDS = 60 };
enum { N_FOLDS = 3, BRACKET = 9 };
/* Where a search takes seconds, only seed 4, which ends trials early and trains some without a
 * split. */
enum { FIRST_SEED = SLOW_HERE ? 4 : 1, EVERY_SEED = SLOW_HERE ? 3 : 1 };
#define SPACE                                                                                   \
    "leaves 3 9 log\nrate 0.05 0.4 log # steps\n\nobjective lambdarank|xendcg\nmin-docs 1 20\n" \
    "truncation 3|9|none\n"

static struct rw_dataset *train, *valid;
static struct rw_params *params;
static struct rw_tune_options how;
static uint32_t half[N_QUERIES];
static int patience = 8;

static void set(struct rw_params *of, const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(scratch_ctx, of, name, value), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
}

static void setup(void)
{
    scratch_begin();
    train = fixture_data(scratch_ctx, 1, N_QUERIES, LENGTH, N_FEATURES);
    valid = fixture_data(scratch_ctx, 2, N_QUERIES, LENGTH, N_FEATURES);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    set(params, "rounds", "60");
    set(params, "early-stop", "8");
    set(params, "device", "cpu");
    set(params, "l2", "30");
    set(params, "split", "mart");
    set(params, "sample-features", "1");
    how = (struct rw_tune_options){.n_trials = N_TRIALS, .space = SPACE};
    cr_assert_eq(rw_folds(scratch_ctx, N_QUERIES, NULL, 2, 1, half), RW_OK);
}

static void teardown(void)
{
    rw_params_free(params);
    rw_dataset_free(train);
    rw_dataset_free(valid);
    scratch_end();
}

TestSuite(tune, .init = setup, .fini = teardown, .timeout = 120);

static struct rw_tuned *tuned_by(const struct rw_dataset *by)
{
    struct rw_tuned *tuned;
    cr_assert_eq(rw_tune(scratch_ctx, params, train, by, &how, &tuned), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return tuned;
}

/* ------------------------------------------------------------------ the plain search */

struct plain {
    float value[ROUNDS][N_QUERIES]; /* of a query after round + 1 */
    double rate, leaves;
    int is_alive, is_whole, rounds;
    double mean;
};
static struct plain plain[N_TRIALS];

/* Writes the metric of each query after each round. query: [n_queries of `by`] */
static void fill_values(struct plain *trial, struct rw_params *own, const struct rw_dataset *on,
                        const struct rw_dataset *by, const uint32_t *query)
{
    static double scores[N_QUERIES * LENGTH];
    struct rw_model *model;
    set(own, "early-stop", "0");
    set(own, "ties", "mean");
    cr_assert_eq(rw_train(scratch_ctx, own, on, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    const int n_trees = rw_model_n_trees(model), n_bags = atoi(rw_params_get(own, "bags"));
    for (int r = 0; r < ROUNDS; r++) {
        struct rw_eval *eval;
        const int n = (r + 1) * n_bags < n_trees ? (r + 1) * n_bags : n_trees;
        cr_assert_eq(rw_predict(scratch_ctx, model, by, n, scores), RW_OK);
        cr_assert_eq(rw_evaluate(scratch_ctx, rw_params_eval(own), by, scores, &eval), RW_OK);
        for (uint32_t q = 0; q < by->n_queries; q++)
            trial->value[r][query[q]] = (float)eval->metrics[0].per_query[q];
        rw_free(eval);
    }
    rw_model_free(model);
}

/* Trains a trial with the settings that the search reports. */
static void train_plain(struct plain *trial, const struct rw_tuned *tuned,
                        const struct rw_tune_trial *of, const uint32_t *fold_of)
{
    struct rw_params *own;
    uint32_t query[N_QUERIES];
    char seed[24];
    cr_assert_eq(rw_params_copy(scratch_ctx, params, &own), RW_OK);
    rw_params_on_no_effect(own, RW_NO_EFFECT_SILENT);
    sprintf(seed, "%llu", (unsigned long long)of->seed);
    set(own, "seed", seed);
    for (int i = 0; i < tuned->n_names; i++)
        set(own, tuned->names[i], of->values[i]);
    trial->rate = atof(rw_params_get(own, "rate"));
    trial->leaves = atof(rw_params_get(own, "leaves"));
    for (int f = 0; f < (fold_of ? N_FOLDS : 1); f++) {
        struct rw_dataset *on = train, *by = valid;
        uint8_t keep[2][N_QUERIES];
        uint32_t n = 0;
        for (uint32_t q = 0; q < N_QUERIES; q++) {
            keep[0][q] = fold_of && fold_of[q] != (uint32_t)f;
            keep[1][q] = !keep[0][q];
            if (keep[1][q])
                query[n++] = q;
        }
        if (fold_of) {
            cr_assert_eq(rw_dataset_select(scratch_ctx, train, keep[0], &on), RW_OK);
            cr_assert_eq(rw_dataset_select(scratch_ctx, train, keep[1], &by), RW_OK);
        }
        fill_values(trial, own, on, by, query);
        if (fold_of) {
            rw_dataset_free(on);
            rw_dataset_free(by);
        }
    }
    rw_params_free(own);
}

/* Returns 1 if the query is in the subset and counts. */
static int is_in(const struct plain *trial, int subset, uint32_t q)
{
    return trial->value[0][q] == trial->value[0][q] &&
           (subset == 0 || half[q] == (uint32_t)subset - 1);
}

static double mean_of(const struct plain *trial, int round, int subset)
{
    double sum = 0;
    int n = 0;
    /* in the order of the library: the first half, then the second */
    for (int h = 1; h <= 2; h++) {
        for (uint32_t q = 0; q < N_QUERIES; q++) {
            if (is_in(trial, subset, q) && is_in(trial, h, q)) {
                sum += (double)trial->value[round][q];
                n++;
            }
        }
    }
    return sum / n;
}

/* Returns by how many standard errors trial a after a round is better than trial b after one. */
static double errors_of(const struct plain *a, int round_a, const struct plain *b, int round_b,
                        int subset)
{
    double sum = 0, squares = 0;
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t q = 0; q < N_QUERIES; q++) {
            if (!is_in(a, subset, q))
                continue;
            const double d = (double)a->value[round_a][q] - (double)b->value[round_b][q];
            sum += pass == 0 ? d : 0;
            n += pass == 0;
            squares += pass == 1 ? (d - sum / n) * (d - sum / n) : 0;
        }
    }
    return sum == 0 ? 0 : sum / n / sqrt(squares / (n - 1.0) / n);
}

/* is_last: in the last rung, rounds are kept by the rule `paired`. */
static void stop_early(struct plain *trial, int subset, int limit, int is_last)
{
    int best = 0;
    for (int r = 1; r < limit; r++) {
        if (mean_of(trial, r, subset) > mean_of(trial, best, subset))
            best = r;
        if (r - best >= patience)
            break;
    }
    int level[ROUNDS], n_level = 0, kept = best;
    for (int r = 0; is_last && r <= best + patience && r < limit; r++) {
        if (errors_of(trial, best, trial, r, subset) <= 2)
            level[n_level++] = r;
    }
    kept = n_level ? level[n_level / 2] : kept;
    trial->rounds = kept + 1;
    trial->mean = mean_of(trial, kept, subset);
}

/* Keeps the best third, rounded up. */
static void keep_third(int first, int n)
{
    int order[BRACKET], n_alive = 0;
    for (int i = first; i < first + n; i++) {
        if (!plain[i].is_alive)
            continue;
        int at = n_alive++;
        for (; at > 0 && plain[order[at - 1]].mean < plain[i].mean; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = (n_alive + 2) / 3; i < n_alive; i++)
        plain[order[i]].is_alive = 0;
}

static double errors_between(int a, int b, int subset)
{
    return errors_of(&plain[a], plain[a].rounds - 1, &plain[b], plain[b].rounds - 1, subset);
}

/* Searches with the queries of a subset, and returns the chosen trial. */
static int search_plain(int subset, int n_trials)
{
    const double length[2] = {1.0 / 3.0, 1.0};
    stop_early(&plain[0], subset, ROUNDS, 1);
    plain[0].is_whole = 1;
    for (int first = 1; first < n_trials; first += BRACKET) {
        const int n = n_trials - first < BRACKET ? n_trials - first : BRACKET;
        for (int i = first; i < first + n; i++) {
            plain[i].is_alive = 1;
            plain[i].is_whole = 0;
        }
        for (int rung = 0; rung < 3; rung++) {
            for (int i = first; i < first + n; i++) {
                if (!plain[i].is_alive)
                    continue;
                double most = ROUNDS;
                if (rung < 2)
                    most = ceil(plain[0].rounds * plain[0].rate * length[rung] / plain[i].rate);
                most = most < 5 ? 5 : most > ROUNDS ? ROUNDS : most;
                stop_early(&plain[i], subset, (int)most, rung == 2);
                plain[i].is_whole = rung == 2;
            }
            if (rung < 2)
                keep_third(first, n);
        }
    }
    int best = 0, chosen = 0;
    for (int i = 1; i < n_trials; i++)
        best = plain[i].is_whole && plain[i].mean > plain[best].mean ? i : best;
    for (int i = 1; i < n_trials; i++) {
        if (!plain[i].is_whole || errors_between(best, i, subset) > 1 + 1e-9 ||
            errors_between(i, 0, subset) <= 2)
            continue;
        if (chosen == 0 ||
            plain[i].rounds * plain[i].leaves < plain[chosen].rounds * plain[chosen].leaves)
            chosen = i;
    }
    return chosen;
}

static void expect_same_model(const struct rw_model *a, const struct rw_model *b)
{
    char *text[2];
    size_t n[2];
    cr_assert_eq(rw_model_write_memory(scratch_ctx, a, &text[0], &n[0]), RW_OK);
    cr_assert_eq(rw_model_write_memory(scratch_ctx, b, &text[1], &n[1]), RW_OK);
    cr_assert(n[0] == n[1] && memcmp(text[0], text[1], n[0]) == 0);
    rw_free(text[0]);
    rw_free(text[1]);
}

static void expect_plain(const struct rw_tuned *tuned, const uint32_t *fold_of)
{
    double mean[2] = {0, 0};
    int n_whole = 0, n = 0;
    cr_assert_eq(tuned->n_trials, how.n_trials);
    for (int i = 0; i < tuned->n_trials; i++)
        train_plain(&plain[i], tuned, &tuned->trials[i], fold_of);
    cr_assert_eq(search_plain(0, tuned->n_trials), tuned->chosen);
    for (int i = 0; i < tuned->n_trials; i++) {
        const struct rw_tune_trial *trial = &tuned->trials[i];
        cr_assert_eq(trial->number, i);
        cr_assert_eq(trial->is_whole, plain[i].is_whole, "trial %d", i);
        cr_assert_eq(trial->rounds, plain[i].rounds, "trial %d: %d, not %d", i, trial->rounds,
                     plain[i].rounds);
        cr_assert_eq(trial->mean, plain[i].mean, "trial %d", i);
        cr_assert_eq(trial->leaves, plain[i].rounds * plain[i].leaves);
        cr_assert_null(trial->failure);
        n_whole += trial->is_whole;
    }
    cr_assert(n_whole > 1 && n_whole < tuned->n_trials);
    for (int s = 1; s <= 2; s++) {
        const int chosen = search_plain(s, tuned->n_trials);
        for (uint32_t q = 0; q < N_QUERIES; q++) {
            if (!is_in(&plain[0], 3 - s, q))
                continue;
            mean[0] += (double)plain[0].value[plain[0].rounds - 1][q];
            mean[1] += (double)plain[chosen].value[plain[chosen].rounds - 1][q];
            n++;
        }
    }
    cr_assert_eq(tuned->estimate.n_queries, (uint32_t)n);
    cr_assert_float_eq(tuned->estimate.mean_a, mean[0] / n, 1e-12);
    cr_assert_float_eq(tuned->estimate.mean_b, mean[1] / n, 1e-12);
}

/* Sets another seed and patience. */
static void vary(int seed)
{
    char text[2] = {(char)('0' + seed), 0};
    set(params, "seed", text);
    patience = seed == 1 ? 8 : 2;
    set(params, "early-stop", patience == 8 ? "8" : "2");
    cr_assert_eq(rw_folds(scratch_ctx, N_QUERIES, NULL, 2, (uint64_t)seed, half), RW_OK);
}

Test(tune, finds_what_a_plain_search_finds)
{
    const struct rw_dataset *const sets[] = {valid};
    for (int seed = FIRST_SEED; seed <= 4; seed += EVERY_SEED) {
        struct rw_model *model;
        vary(seed);
        struct rw_tuned *tuned = tuned_by(valid);
        expect_plain(tuned, NULL);
        cr_assert_eq(rw_train(scratch_ctx, tuned->params, train, sets, 1, NULL, &model), RW_OK);
        expect_same_model(model, tuned->model);
        cr_assert_eq(rw_model_n_trees(model), tuned->trials[tuned->chosen].rounds);
        rw_model_free(model);
        rw_free(tuned);
    }
}

Test(tune, finds_what_a_plain_search_by_folds_finds)
{
    static const char *const least_gain[] = {"0", "0", "0.4", "0.6"};
    uint32_t fold_of[N_QUERIES];
    how.n_folds = N_FOLDS;
    for (int seed = FIRST_SEED; seed <= 4; seed += EVERY_SEED) {
        struct rw_model *model;
        vary(seed);
        set(params, "min-gain", least_gain[seed - 1]);
        cr_assert_eq(rw_folds(scratch_ctx, N_QUERIES, NULL, N_FOLDS, (uint64_t)seed, fold_of),
                     RW_OK);
        struct rw_tuned *tuned = tuned_by(NULL);
        expect_plain(tuned, fold_of);
        cr_assert_eq(rw_train(scratch_ctx, tuned->params, train, NULL, 0, NULL, &model), RW_OK);
        expect_same_model(model, tuned->model);
        rw_model_free(model);
        rw_free(tuned);
    }
}

/* Trial 0 can hardly split, so that other trials are significantly better. */
Test(tune, replaces_parameters_that_are_worse)
{
    params->min_docs = 230; /* a field that is not marked as set, so it is searched */
    for (int seed = FIRST_SEED; seed <= 6; seed += EVERY_SEED) {
        vary(seed);
        struct rw_tuned *tuned = tuned_by(valid);
        expect_plain(tuned, NULL);
        cr_assert_gt(tuned->chosen, 0);
        cr_assert_gt(tuned->estimate.difference, 0);
        rw_free(tuned);
    }
}

/* Rungs continue the trainings of earlier ones, with the state of the objective and all bags. */
Test(tune, continues_trainings_with_biases_and_bags)
{
    how.space = "leaves 3 9 log\nrate 0.05 0.4 log\ntruncation 3|9|none\n";
    cr_assert_eq(
        rw_mem_new(scratch_ctx, (void **)&train->position, train->n_docs, sizeof(*train->position)),
        RW_OK);
    for (uint32_t i = 0; i < train->n_docs; i++)
        train->position[i] = (uint16_t)(i % LENGTH);
    set(params, "debias", "additive");
    how.n_trials = SLOW_HERE ? 1 + BRACKET : N_TRIALS;
    struct rw_tuned *tuned = tuned_by(valid);
    expect_plain(tuned, NULL);
    rw_free(tuned);
    set(params, "debias", "off");
    rw_mem_free(train->position);
    train->position = NULL;
    set(params, "bags", "2");
    set(params, "sample-queries", "0.5");
    tuned = tuned_by(valid);
    for (int i = 0; i < tuned->n_trials; i++)
        train_plain(&plain[i], tuned, &tuned->trials[i], NULL);
    cr_assert_eq(search_plain(0, tuned->n_trials), tuned->chosen);
    for (int i = 0; i < tuned->n_trials; i++)
        cr_assert_eq(tuned->trials[i].mean, plain[i].mean, "trial %d", i);
    rw_free(tuned);
}

static void expect_same(const struct rw_tuned *a, const struct rw_tuned *b)
{
    cr_assert_eq(a->n_trials, b->n_trials);
    cr_assert_eq(a->chosen, b->chosen);
    for (int i = 0; i < a->n_trials; i++) {
        const struct rw_tune_trial *x = &a->trials[i], *y = &b->trials[i];
        cr_assert(x->seed == y->seed && x->rounds == y->rounds && x->mean == y->mean &&
                  x->is_level == y->is_level);
        cr_assert(!x->is_whole || (x->difference == y->difference && x->error == y->error));
    }
    cr_assert(a->estimate.mean_b == b->estimate.mean_b && a->estimate.low == b->estimate.low);
    expect_same_model(a->model, b->model);
}

Test(tune, does_not_depend_on_threads_or_engine)
{
    how.n_trials = SLOW_HERE ? 1 + BRACKET : N_TRIALS;
    for (int folds = 0; folds <= N_FOLDS; folds += N_FOLDS) {
        const struct rw_dataset *by = folds ? NULL : valid;
        how.n_folds = folds;
        set(params, "threads", "1");
        struct rw_tuned *one = tuned_by(by);
        set(params, "threads", "3");
        struct rw_tuned *three = tuned_by(by);
        expect_same(one, three);
        if (!SLOW_HERE || !folds) {
            set(params, "device", "ref");
            struct rw_tuned *ref = tuned_by(by);
            set(params, "device", "cpu");
            expect_same(one, ref);
            rw_free(ref);
        }
        rw_free(one);
        rw_free(three);
    }
}

/* Fewer trials are the first ones. One trial has the given parameters. */
Test(tune, begins_with_the_same_trials)
{
    struct rw_tuned *all = tuned_by(valid);
    how.n_trials = 10;
    struct rw_tuned *some = tuned_by(valid);
    how.n_trials = 1;
    struct rw_tuned *one = tuned_by(valid);
    for (int i = 0; i < 10; i++) {
        cr_assert_eq(some->trials[i].rounds, all->trials[i].rounds);
        cr_assert_eq(some->trials[i].mean, all->trials[i].mean);
        cr_assert_eq(some->trials[i].seed, all->trials[i].seed);
    }
    cr_assert(one->n_trials == 1 && one->chosen == 0 && one->trials[0].seed == 1);
    cr_assert_eq(one->estimate.difference, 0.0);
    rw_free(all);
    rw_free(some);
    rw_free(one);
}

Test(tune, leaves_out_a_trial_that_fails)
{
    how.space = "leaves 3|4\nmin-docs 5|100000";
    struct rw_tuned *tuned = tuned_by(valid);
    int n_failed = 0;
    for (int i = 0; i < tuned->n_trials; i++) {
        const struct rw_tune_trial *trial = &tuned->trials[i];
        cr_assert_eq(trial->failure != NULL, strcmp(trial->values[1], "100000") == 0);
        n_failed += trial->failure != NULL;
        cr_assert(!trial->failure || (trial->rounds == 0 && isnan(trial->mean) &&
                                      !trial->is_whole && strstr(trial->failure, "min-docs")));
    }
    cr_assert(n_failed > 0 && n_failed < tuned->n_trials - 1);
    cr_assert_null(tuned->trials[tuned->chosen].failure);
    rw_free(tuned);
    set(params, "min-docs", "100000"); /* trial 0 may not fail */
    how.space = "leaves 3|4";
    cr_assert_eq(rw_tune(scratch_ctx, params, train, valid, &how, &tuned), RW_ERR_DATA);
    cr_assert(strstr(rw_last_error(scratch_ctx), "min-docs"));
}

/* ------------------------------------------------------------------ ends */

static int end_at(void *user, const struct rw_tune_trial *trial)
{
    return trial->number == *(const int *)user;
}

Test(tune, keeps_whole_brackets_if_it_is_interrupted)
{
    int last = 12;
    how.on_trial = end_at;
    how.user = &last;
    struct rw_tuned *ended = tuned_by(valid);
    cr_assert(ended->is_interrupted && !ended->model);
    how = (struct rw_tune_options){.n_trials = 10, .space = SPACE};
    struct rw_tuned *ten = tuned_by(valid);
    cr_assert_eq(ended->n_trials, 10);
    cr_assert_eq(ended->chosen, ten->chosen);
    cr_assert_eq(ended->estimate.high, ten->estimate.high);
    rw_free(ended);
    rw_free(ten);
}

Test(tune, ends_at_a_rung_after_its_time)
{
    how.n_trials = 0;
    how.seconds = 1e-6;
    struct rw_tuned *tuned = tuned_by(valid);
    cr_assert(tuned->n_trials == 1 && tuned->model && !tuned->is_interrupted);
    rw_free(tuned);
    how.seconds = 0.2;
    tuned = tuned_by(valid);
    cr_assert_eq(tuned->n_trials % BRACKET, 1);
    how = (struct rw_tune_options){.n_trials = tuned->n_trials, .space = SPACE};
    struct rw_tuned *again = tuned_by(valid);
    expect_same(tuned, again);
    rw_free(tuned);
    rw_free(again);
}

/* ------------------------------------------------------------------ checkpoints */

static void expect_error(int status, const struct rw_dataset *by, const char *message)
{
    struct rw_tuned *tuned;
    cr_assert_eq(rw_tune(scratch_ctx, params, train, by, &how, &tuned), status, "%s", message);
    cr_assert_null(tuned);
    cr_assert(strstr(rw_last_error(scratch_ctx), message), "%s", rw_last_error(scratch_ctx));
}

static struct rw_checkpoints checkpoints = {.path = "search"};

/* Searches up to the report of this trial, and leaves a checkpoint. */
static void interrupt_at(const struct rw_dataset *by, int trial)
{
    how.on_trial = end_at;
    how.user = &trial;
    how.checkpoints = &checkpoints;
    checkpoints.resume = NULL;
    struct rw_tuned *ended = tuned_by(by);
    cr_assert(ended->is_interrupted);
    rw_free(ended);
    how.on_trial = NULL;
    checkpoints.resume = "search";
}

/* A search that was interrupted in any rung has the result and the checkpoint of a whole one. */
Test(tune, resumes_from_its_checkpoint)
{
    for (int folds = SLOW_HERE ? N_FOLDS : 0; folds <= N_FOLDS; folds += N_FOLDS) {
        const struct rw_dataset *by = folds ? NULL : valid;
        char *whole, *resumed;
        size_t n_bytes;
        how = (struct rw_tune_options){.n_trials = N_TRIALS, .space = SPACE, .n_folds = folds};
        how.checkpoints = &checkpoints;
        checkpoints.resume = NULL;
        struct rw_tuned *all = tuned_by(by);
        whole = scratch_read("search", &n_bytes);
        for (int trial = SLOW_HERE ? 9 : 1; trial < N_TRIALS; trial += SLOW_HERE ? 8 : 4) {
            interrupt_at(by, trial);
            struct rw_tuned *rest = tuned_by(by);
            expect_same(all, rest);
            resumed = scratch_read("search", &n_bytes);
            cr_assert_str_eq(whole, resumed);
            free(resumed);
            rw_free(rest);
        }
        free(whole);
        rw_free(all);
    }
}

/* The trials of the last bracket have other rungs if the bracket becomes longer. */
Test(tune, resumes_with_more_trials)
{
    struct rw_tuned *all = tuned_by(valid);
    how.n_trials = 12;
    how.checkpoints = &checkpoints;
    checkpoints.resume = "search";
    checkpoints.or_start = 1;
    rw_free(tuned_by(valid));
    how.n_trials = N_TRIALS;
    set(params, "threads", "2");
    struct rw_tuned *more = tuned_by(valid);
    expect_same(all, more);
    rw_free(all);
    rw_free(more);
}

/* Replaces the first `old` after a text of the checkpoint, and corrects its checksum. */
static void edit(const char *after, const char *old, const char *new)
{
    size_t n_bytes;
    char *text = scratch_read("search", &n_bytes), *at = strstr(strstr(text, after), old);
    char sum[32];
    cr_assert(at && strlen(old) == strlen(new));
    memcpy(at, new, strlen(new));
    at = strstr(text, "checksum ");
    snprintf(sum, sizeof(sum), "checksum %08x\n", rw_checksum(0, text, (size_t)(at - text)));
    memcpy(at, sum, strlen(sum));
    scratch_text("search", text);
    free(text);
}

/* Results of the checkpoint are used, not trained again. */
Test(tune, takes_the_results_of_its_checkpoint)
{
    interrupt_at(valid, 9);
    edit("trial 0 rung 2", " mean 0.", " mean 9.");
    struct rw_tuned *tuned = tuned_by(valid);
    cr_assert_gt(tuned->trials[0].mean, 9);
    rw_free(tuned);
}

Test(tune, refuses_a_checkpoint_of_another_search)
{
    static const struct {
        const char *old, *new;
        int status;
        const char *message;
    } wrong[] = {
        {"program 0", "program 9", RW_ERR_FORMAT,
         "search:2:9: expected version " RW_VERSION " of the program"},
        {"alive 111 rounds", "alive 111 roundz", RW_ERR_FORMAT, "expected 'rounds'"},
        {"rankwood tuning 1", "rankwood tuning 2", RW_ERR_FORMAT, "search:1:17: expected 1"},
    };
    struct rw_tuned *tuned;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        interrupt_at(valid, 1);
        edit("", wrong[i].old, wrong[i].new);
        cr_assert_eq(rw_tune(scratch_ctx, params, train, valid, &how, &tuned), wrong[i].status);
        cr_assert(strstr(rw_last_error(scratch_ctx), wrong[i].message), "%s",
                  rw_last_error(scratch_ctx));
    }
    interrupt_at(valid, 1);
    how.space = "leaves 3 8";
    expect_error(RW_ERR_ARGUMENT, valid, "cannot resume from 'search': the space has changed");
    how.space = SPACE;
    for (int k = 0; k < 3; k++) {
        float *one = k == 0   ? &train->label[7]
                     : k == 1 ? &valid->label[7]
                              : &train->column[2].value[5];
        const float was = *one;
        *one += 1;
        expect_error(RW_ERR_DATA, valid, "cannot resume from 'search': the data has changed");
        *one = was;
    }
    set(params, "l2", "31");
    expect_error(RW_ERR_ARGUMENT, valid, "the parameters or the folds have changed");
    set(params, "l2", "30");
    checkpoints.path = NULL;
    rw_free(tuned_by(valid));
    cr_assert_eq(truncate("search", 300), 0);
    expect_error(RW_ERR_FORMAT, valid, "truncated or damaged");
}

/* ------------------------------------------------------------------ draws and spaces */

Test(tune, draws_within_the_space)
{
    int n_words[2] = {0, 0};
    double low = 1, high = 0;
    how.space = "rate 0.01 0.3 log\nleaves 3 5\nobjective lambdarank|xendcg";
    how.n_trials = 120;
    how.without_model = 1;
    set(params, "rounds", "5");
    struct rw_tuned *tuned = tuned_by(valid);
    int n_leaves[6] = {0}, n_low = 0;
    for (int i = 1; i < tuned->n_trials; i++) {
        const double rate = atof(tuned->trials[i].values[0]);
        const int leaves = atoi(tuned->trials[i].values[1]);
        cr_assert(rate >= 0.01 && rate <= 0.3 && leaves >= 3 && leaves <= 5);
        cr_assert_leq(strlen(tuned->trials[i].values[0]), 6); /* three digits */
        low = rate < low ? rate : low;
        high = rate > high ? rate : high;
        n_low += rate < sqrt(0.01 * 0.3);
        n_leaves[leaves]++;
        n_words[strcmp(tuned->trials[i].values[2], "xendcg") == 0]++;
    }
    cr_assert(low < 0.011 && high > 0.27 && n_low > 40 && n_low < 80);
    cr_assert(n_leaves[3] > 10 && n_leaves[4] > 30 && n_leaves[5] > 10);
    cr_assert(n_words[0] > 40 && n_words[1] > 40);
    cr_assert_null(tuned->model);
    rw_free(tuned);
}

/* The default space leaves out parameters that are set, and words that contradict them. */
Test(tune, searches_no_parameter_that_is_set)
{
    how.space = NULL;
    how.n_trials = 2;
    set(params, "decay", "0.5"); /* has no effect, and does not matter */
    set(params, "rate", "auto");
    struct rw_tuned *tuned = tuned_by(valid);
    cr_assert_eq(tuned->n_names, 6); /* l2, split and sample-features are set */
    rw_free(tuned);
    set(params, "delta", "map"); /* xendcg would ignore it */
    set(params, "leaves", "4");
    tuned = tuned_by(valid);
    cr_assert_eq(tuned->n_names, 5);
    cr_assert_str_eq(tuned->names[2], "objective");
    for (int i = 0; i < tuned->n_trials; i++)
        cr_assert(strcmp(tuned->trials[i].values[2], "xendcg") != 0);
    rw_free(tuned);
}

Test(tune, refuses_a_space_with_the_line)
{
    static const char *const wrong[][2] = {
        {"leafs 1 2", "space:1: unknown parameter 'leafs'; the nearest is 'leaves'"},
        {"\n# c\nmetric ndcg|map", "space:3: 'metric' cannot be searched"},
        {"seed 1 2", "space:1: 'seed' cannot be searched"},
        {"rounds 1 2", "space:1: 'rounds' cannot be searched"},
        {"leaves 9 9", "space:1: the range of 'leaves' is empty: 9 to 9"},
        {"leaves 9", "space:1: 'leaves' has one value"},
        {"leaves 1 9", "space:1: parameter 'leaves': expected a whole number, 2 to 65536"},
        {"leaves 3 auto", "space:1: 'leaves': expected a number, found 'auto'"},
        {"leaves 3 9 lg", "space:1: 'leaves': expected 'log' or no word, found 'lg'"},
        {"leaves 3 9 log 4", "space:1: expected 'NAME LEAST MOST'"},
        {"leaves", "space:1: expected 'NAME LEAST MOST'"},
        {"min-hessian 0 9 log", "space:1: 'min-hessian': a log range must begin above 0, not at 0"},
        {"threads 1 2", "space:1: 'threads' cannot be searched: expected a parameter of trees"},
        {"grow levels|symmetric\ndepth 2 65", "space:2: parameter 'depth'"},
        {"objective 1 2", "space:1: 'objective' is not a number"},
        {"objective xendcg|xendcg", "space:1: 'objective': the value 'xendcg' is repeated"},
        {"objective map|xendcg", "space:1: parameter 'objective'"},
        {"rate 0.1 0.2\nrate 0.1 0.3", "space:2: 'rate' is repeated"},
        {"l2 1 2", "space:1: 'l2' is both set to 30 and searched"},
        {"# nothing", "space: no parameter to search"},
    };
    struct rw_tuned *tuned;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        how.space = wrong[i][0];
        cr_assert_eq(rw_tune(scratch_ctx, params, train, valid, &how, &tuned), RW_ERR_ARGUMENT,
                     "%s", wrong[i][0]);
        cr_assert_eq(strncmp(rw_last_error(scratch_ctx), wrong[i][1], strlen(wrong[i][1])), 0,
                     "%s: %s", wrong[i][0], rw_last_error(scratch_ctx));
    }
}

/* Values that contradict the given parameters are refused at the start. Those that contradict each
 * other make a failed trial, and it is an error if all trials fail. */
Test(tune, refuses_values_that_contradict)
{
    static const struct {
        const char *grow, *space, *message;
    } wrong[] = {
        {"symmetric", "depth 2 13", "space:1: depth is 13; expected 1 to 12 for symmetric trees"},
        {"leaves", "features prise|prize", "all trials except trial 0 failed; trial 1: features: "},
    };
    struct rw_tuned *tuned;
    int n_failed = 0;
    how.space = "depth 2 40\ngrow leaves|symmetric";
    how.n_trials = 10;
    tuned = tuned_by(valid);
    for (int i = 0; i < tuned->n_trials; i++)
        n_failed += tuned->trials[i].failure && strstr(tuned->trials[i].failure, "depth is ");
    cr_assert(n_failed > 0 && n_failed < 9);
    rw_free(tuned);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        set(params, "grow", wrong[i].grow);
        how.space = wrong[i].space;
        cr_assert_eq(rw_tune(scratch_ctx, params, train, valid, &how, &tuned), RW_ERR_ARGUMENT);
        cr_assert_eq(
            strncmp(rw_last_error(scratch_ctx), wrong[i].message, strlen(wrong[i].message)), 0,
            "%s", rw_last_error(scratch_ctx));
    }
}

Test(tune, refuses_wrong_options)
{
    uint8_t keep[N_QUERIES] = {1};
    struct rw_dataset *one;
    how.n_trials = 0;
    expect_error(RW_ERR_ARGUMENT, valid, "expected 1 trial or more, or a time above 0");
    how.n_trials = 3;
    how.seconds = 1;
    expect_error(RW_ERR_ARGUMENT, valid, "both trials and a time are set");
    how.seconds = 0;
    how.n_folds = 3;
    expect_error(RW_ERR_ARGUMENT, valid, "both folds and a validation set are set");
    how.n_folds = 1;
    expect_error(RW_ERR_ARGUMENT, NULL, "folds is 1: expected 2 to 1000");
    how.n_folds = 61;
    expect_error(RW_ERR_DATA, NULL, "tuning needs at least 61 queries for 61 folds; found 60");
    how.n_folds = 0;
    set(params, "early-stop-rule", "smooth");
    expect_error(RW_ERR_ARGUMENT, valid, "'smooth' is not available for tuning");
    set(params, "early-stop-rule", "auto");
    set(params, "metric", "ndcg,map");
    expect_error(RW_ERR_ARGUMENT, valid, "tune by");
    set(params, "metric", "rmse");
    expect_error(RW_ERR_ARGUMENT, valid, "rmse is a mean over documents");
    set(params, "metric", "ndcg");
    expect_error(RW_ERR_DATA, train, "the validation set is the training set");
    cr_assert_eq(rw_dataset_select(scratch_ctx, valid, keep, &one), RW_OK);
    expect_error(RW_ERR_DATA, one, "has one query, but tuning needs two halves");
    rw_dataset_free(one);
}

/* With one trial, folds choose the number of rounds for `early-stop-rule folds`. */
Test(tune, serves_the_rule_folds)
{
    struct rw_model *model;
    how = (struct rw_tune_options){.n_trials = 1, .n_folds = N_FOLDS};
    set(params, "early-stop-rule", "best");
    struct rw_tuned *plain_one = tuned_by(NULL);
    set(params, "early-stop-rule", "folds");
    struct rw_tuned *tuned = tuned_by(NULL);
    cr_expect_eq(tuned->trials[0].rounds, plain_one->trials[0].rounds);
    expect_same_model(tuned->model, plain_one->model);
    cr_expect_eq(rw_train(scratch_ctx, params, train, NULL, 0, NULL, &model), RW_ERR_ARGUMENT);
    cr_expect(strstr(rw_last_error(scratch_ctx), "and for rw_tune"));
    expect_error(RW_ERR_ARGUMENT, valid, "works without a validation set");
    how.n_folds = 0;
    expect_error(RW_ERR_ARGUMENT, valid, "early-stop-rule 'folds' works without a validation set");
    how.n_folds = N_FOLDS;
    set(params, "metric", "ndcg,map"); /* the first one decides, as in other trainings */
    struct rw_tuned *several = tuned_by(NULL);
    cr_expect_str_eq(several->metric, "ndcg");
    set(params, "early-stop", "0"); /* the rule then has no effect, and rw_train trains */
    cr_expect_eq(rw_train(scratch_ctx, params, train, NULL, 0, NULL, &model), RW_OK);
    rw_model_free(model);
    rw_free(several);
    rw_free(tuned);
    rw_free(plain_one);
}
