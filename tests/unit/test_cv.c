#include <math.h>
#include <string.h>

#include "model_looks.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "base/mem.h"
#include "params/params.h"
#include "model/model.h"
#include "scratch_file.h"
#include "train_fixture.h"

static struct rw_params *params;

static void setup(void)
{
    scratch_begin();
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    const char *const set[][2] = {{"rounds", "12"},         {"leaves", "5"},     {"min-docs", "2"},
                                  {"metric", "ndcg@5,map"}, {"early-stop", "3"}, {"device", "cpu"}};
    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
        cr_assert_eq(rw_params_set(scratch_ctx, params, set[i][0], set[i][1]), RW_OK);
}

static void teardown(void)
{
    rw_params_free(params);
    scratch_end();
}

TestSuite(cv, .init = setup, .fini = teardown);

static struct rw_cv *validate(const struct rw_dataset *dataset, int n_folds)
{
    struct rw_cv *cv;
    cr_assert_eq(rw_cross_validate(scratch_ctx, params, dataset, n_folds, &cv), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return cv;
}

static char *text_of(const struct rw_model *model, size_t *n_bytes)
{
    cr_assert_eq(rw_model_write(scratch_ctx, model, "m"), RW_OK);
    return scratch_read("m", n_bytes);
}

static int same_models(const struct rw_model *a, const struct rw_model *b)
{
    size_t n_a, n_b;
    char *text_a = text_of(a, &n_a), *text_b = text_of(b, &n_b);
    const int same = n_a == n_b && memcmp(text_a, text_b, n_a) == 0;
    free(text_a);
    free(text_b);
    return same;
}

Test(cv, folds_are_even_and_drawn_by_the_seed)
{
    uint32_t folds[103], again[103], other[103], count[4] = {0};
    cr_assert_eq(rw_folds(scratch_ctx, 103, NULL, 4, 1, folds), RW_OK);
    cr_assert_eq(rw_folds(scratch_ctx, 103, NULL, 4, 1, again), RW_OK);
    cr_assert_eq(rw_folds(scratch_ctx, 103, NULL, 4, 2, other), RW_OK);
    cr_expect_arr_eq(folds, again, sizeof(folds));
    cr_expect_arr_neq(folds, other, sizeof(folds));
    for (int q = 0; q < 103; q++)
        count[folds[q]]++;
    for (int f = 0; f < 4; f++)
        cr_expect_eq(count[f], f < 3 ? 26u : 25u);
    cr_expect_eq(rw_folds(scratch_ctx, 103, NULL, 1, 1, folds), RW_ERR_ARGUMENT);
    cr_expect_eq(rw_folds(scratch_ctx, 3, NULL, 4, 1, folds), RW_ERR_ARGUMENT);
}

/* Queries in the order of their numbers are dealt to the folds in turn. */
Test(cv, folds_by_hand)
{
    enum { QUERIES = 50, FOLDS = 7 };
    uint32_t folds[QUERIES];
    cr_assert_eq(rw_folds(scratch_ctx, QUERIES, NULL, FOLDS, 9, folds), RW_OK);
    for (uint32_t q = 0; q < QUERIES; q++) {
        const uint32_t number = rw_random(9, q, 0, RW_STREAM_FOLD);
        uint32_t n_lower = 0;
        for (uint32_t other = 0; other < QUERIES; other++)
            n_lower += rw_random(9, other, 0, RW_STREAM_FOLD) < number;
        cr_expect_eq(folds[q], n_lower % FOLDS, "query %u", q);
    }
}

/* Groups stay in one fold, whatever their numbers, and folds have nearly equal sizes. */
Test(cv, groups_are_not_divided)
{
    enum { QUERIES = 300, GROUPS = 40, FOLDS = 4 };
    uint32_t groups[QUERIES], folds[QUERIES], again[QUERIES], fold_of[GROUPS], n[FOLDS] = {0};
    for (uint32_t q = 0; q < QUERIES; q++)
        groups[q] = q % 7 % 3 ? q * 11 % GROUPS : q % 5; /* five large groups, many small ones */
    cr_assert_eq(rw_folds(scratch_ctx, QUERIES, groups, FOLDS, 1, folds), RW_OK);
    memset(fold_of, 0xff, sizeof(fold_of));
    for (uint32_t q = 0; q < QUERIES; q++) {
        uint32_t *fold = &fold_of[groups[q]];
        cr_expect(*fold == UINT32_MAX || *fold == folds[q]);
        *fold = folds[q];
        n[folds[q]]++;
    }
    for (int f = 0; f < FOLDS; f++)
        cr_expect(n[f] >= 70 && n[f] <= 80, "fold %d: %u", f, n[f]);
    cr_assert_eq(rw_folds(scratch_ctx, QUERIES, groups, FOLDS, 2, again), RW_OK);
    cr_expect_arr_neq(folds, again, sizeof(folds));
    for (uint32_t q = 0; q < QUERIES; q++)
        groups[q] = q;
    cr_assert_eq(rw_folds(scratch_ctx, QUERIES, groups, FOLDS, 1, folds), RW_OK);
    cr_assert_eq(rw_folds(scratch_ctx, QUERIES, NULL, FOLDS, 1, again), RW_OK);
    cr_expect_arr_eq(folds, again, sizeof(folds));
    for (uint32_t q = 0; q < QUERIES; q++)
        groups[q] = q % 3;
    cr_expect_eq(rw_folds(scratch_ctx, QUERIES, groups, FOLDS, 1, folds), RW_ERR_DATA);
    cr_expect_str_eq(rw_last_error(scratch_ctx),
                     "the queries form 3 groups; expected 4 or more, one for each fold");
    groups[9] = QUERIES;
    cr_expect_eq(rw_folds(scratch_ctx, QUERIES, groups, FOLDS, 1, folds), RW_ERR_ARGUMENT);
}

/* Folds that the caller gives: the drawn ones again, and others that leave queries out. */
Test(cv, given_parts)
{
    enum { QUERIES = 40, FOLDS = 4 };
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 3, QUERIES, 6, 4);
    struct rw_cv *drawn = validate(dataset, FOLDS), *given;
    uint8_t parts[FOLDS][QUERIES];
    struct rw_cv_options how = {.n_folds = FOLDS, .parts = parts[0]};
    for (int f = 0; f < FOLDS; f++) {
        for (int q = 0; q < QUERIES; q++) {
            const int step = ((int)drawn->fold_of[q] - f + FOLDS) % FOLDS;
            parts[f][q] = step == 0 ? RW_CV_TEST : step == 1 ? RW_CV_VALID : RW_CV_TRAIN;
        }
    }
    cr_assert_eq(rw_cross_validate_with(scratch_ctx, params, dataset, &how, &given), RW_OK);
    cr_expect_arr_eq(given->scores, drawn->scores, dataset->n_docs * sizeof(double));
    cr_expect_arr_eq(given->fold_of, drawn->fold_of, QUERIES * sizeof(*given->fold_of));
    for (int f = 0; f < FOLDS; f++)
        cr_expect(same_models(given->folds[f].model, drawn->folds[f].model));
    cr_expect_eq(given->pooled->metrics[0].mean, drawn->pooled->metrics[0].mean);
    rw_free(given);
    for (int q = 0; q < 10; q++) { /* no fold measures query q; two folds measure query 10 */
        for (int f = 0; f < FOLDS; f++)
            parts[f][q] = parts[f][q] == RW_CV_TEST ? RW_CV_UNUSED : parts[f][q];
    }
    parts[1][10] = parts[3][10] = RW_CV_TEST;
    cr_assert_eq(rw_cross_validate_with(scratch_ctx, params, dataset, &how, &given), RW_OK);
    cr_expect_eq(given->pooled->n_queries, 30u);
    cr_expect(isnan(given->scores[0]) && isnan(given->scores[59]) && !isnan(given->scores[60]));
    cr_expect(given->fold_of[9] == UINT32_MAX && given->fold_of[10] <= 1);
    rw_free(given);
    for (int q = 0; q < QUERIES; q++)
        parts[2][q] = parts[2][q] == RW_CV_VALID ? RW_CV_TRAIN : parts[2][q];
    cr_expect_eq(rw_cross_validate_with(scratch_ctx, params, dataset, &how, &given),
                 RW_ERR_ARGUMENT);
    cr_expect_str_eq(rw_last_error(scratch_ctx), "fold 3 has no queries to stop training early");
    rw_free(drawn);
    rw_dataset_free(dataset);
}

/* Counts of the hooks of the folds. */
struct seen {
    int n_folds, n_rounds, n_metrics, stops, ends;
};

static int count_round(void *user, const struct rw_round *round)
{
    struct seen *seen = user;
    seen->n_rounds++;
    seen->n_metrics = round->n_metrics;
    return seen->stops && round->round == 2;
}

static int should_stop(void *user)
{
    return ((const struct seen *)user)->ends;
}

static int on_fold(void *user, int fold, const struct rw_dataset *const *sets,
                   struct rw_train_hooks *hooks)
{
    struct seen *seen = user;
    cr_expect_eq(fold, seen->n_folds++);
    cr_expect(rw_dataset_n_queries(sets[RW_CV_TRAIN]) == 20 && !sets[RW_CV_UNUSED]);
    cr_expect_eq(rw_dataset_n_queries(sets[RW_CV_VALID]), 10u);
    hooks->user = seen;
    hooks->on_round = count_round;
    hooks->should_stop = should_stop;
    return 0;
}

Test(cv, hooks)
{
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 3, 40, 6, 4);
    struct seen seen = {.stops = 1};
    struct rw_cv_options how = {.n_folds = 4, .is_serial = 1, .user = &seen, .on_fold = on_fold};
    struct rw_cv *cv;
    cr_assert_eq(rw_cross_validate_with(scratch_ctx, params, dataset, &how, &cv), RW_OK);
    cr_expect(seen.n_folds == 4 && seen.n_rounds == 8, "%d folds, %d rounds", seen.n_folds,
              seen.n_rounds);
    cr_expect_eq(seen.n_metrics, 4, "two metrics of two sets");
    rw_free(cv);
    seen = (struct seen){.ends = 1};
    cr_expect_eq(rw_cross_validate_with(scratch_ctx, params, dataset, &how, &cv),
                 RW_ERR_INTERRUPTED);
    cr_expect_eq(seen.n_folds, 1);
    rw_dataset_free(dataset);
}

/* The models are those that rw_train makes of the parts. */
Test(cv, the_same_as_by_hand)
{
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 3, 40, 6, 4);
    double weights[40];
    for (int q = 0; q < 40; q++)
        weights[q] = 1 + q % 3;
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "query-weights", weights, 40, 1),
                 RW_OK);
    struct rw_cv *cv = validate(dataset, 4);
    cr_expect_eq(cv->pooled->n_queries, 40u);
    for (int f = 0; f < 4; f++) {
        struct rw_dataset *part[3];
        for (int p = 0; p < 3; p++) {
            uint8_t keep[40];
            for (int q = 0; q < 40; q++) {
                const int step = ((int)cv->fold_of[q] - f + 4) % 4;
                keep[q] = p < 2 ? step == p : step > 1;
            }
            cr_assert_eq(rw_dataset_select(scratch_ctx, dataset, keep, &part[p]), RW_OK);
        }
        const struct rw_cv_fold *fold = &cv->folds[f];
        cr_expect(fold->n_test == 10 && fold->n_valid == 10 && fold->n_train == 20);
        struct rw_model *model;
        struct rw_eval *eval;
        double scores[60];
        const struct rw_dataset *valid[] = {part[1]};
        cr_assert_eq(rw_train(scratch_ctx, params, part[2], valid, 1, NULL, &model), RW_OK);
        cr_expect(same_models(model, fold->model));
        cr_assert_eq(rw_predict(scratch_ctx, model, part[0], 0, scores), RW_OK);
        cr_assert_eq(rw_evaluate(scratch_ctx, rw_params_eval(params), part[0], scores, &eval),
                     RW_OK);
        for (int m = 0; m < 2; m++)
            cr_expect_eq(eval->metrics[m].mean, fold->eval->metrics[m].mean);
        for (uint32_t q = 0, at = 0; q < 40; q++) {
            if (cv->fold_of[q] == (uint32_t)f) {
                cr_expect_arr_eq(cv->scores + q * 6, scores + at, 6 * sizeof(double));
                at += 6;
            }
        }
        rw_free(eval);
        rw_model_free(model);
        for (int p = 0; p < 3; p++)
            rw_dataset_free(part[p]);
    }
    rw_free(cv);
    rw_free(NULL);
    rw_dataset_free(dataset);
}

/* Counts the thresholds of all folds' models, and those among them that are boundaries of the whole
 * set. */
static void count_thresholds(const struct rw_cv *cv, const struct rw_cuts *cuts, int *all, int *in)
{
    *all = *in = 0;
    for (int f = 0; f < cv->n_folds; f++) {
        const struct rw_model *model = cv->folds[f].model;
        for (int t = 0; t < model->n_trees; t++) {
            const struct rw_tree *tree = &model->tree[t];
            for (int node = 0; node < tree->n_leaves - 1; node++, ++*all) {
                uint32_t at = 0, found = 0;
                while (cuts->feature[at] != tree->feature[node])
                    at++;
                for (uint32_t k = cuts->offset[at]; k < cuts->offset[at + 1]; k++)
                    found |= cuts->cut[k] == tree->cut[node];
                *in += (int)found;
            }
        }
    }
}

Test(cv, shared_bins_are_those_of_the_whole_set)
{
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 3, 40, 6, 4);
    struct rw_cuts *cuts;
    struct rw_cv *shared, *own;
    int all, in;
    cr_assert_eq(rw_params_set(scratch_ctx, params, "bins", "8"), RW_OK);
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    cr_assert_eq(rw_cuts_make(scratch_ctx, dataset, &rule, &cuts), RW_OK);
    const struct rw_cv_options how = {.n_folds = 4, .shares_bins = 1};
    cr_assert_eq(rw_cross_validate_with(scratch_ctx, params, dataset, &how, &shared), RW_OK);
    own = validate(dataset, 4);
    count_thresholds(shared, cuts, &all, &in);
    cr_expect(all > 50 && in == all, "%d of %d", in, all);
    count_thresholds(own, cuts, &all, &in);
    cr_expect_lt(in, all);
    for (int f = 0; f < 4; f++) { /* by hand, from the values of the parts */
        struct rw_binned train = {.documents = NULL};
        struct rw_dataset *valid;
        struct rw_model *model;
        const uint32_t test = (uint32_t)f, stop = (test + 1) % 4;
        cr_assert_eq(
            rw_folds_select(scratch_ctx, dataset, shared->fold_of, test, stop, 0, &train.documents),
            RW_OK);
        cr_assert_eq(rw_folds_select(scratch_ctx, dataset, shared->fold_of, stop, stop, 1, &valid),
                     RW_OK);
        cr_assert_eq(rw_bins_make(scratch_ctx, train.documents, cuts, &rule, 0, &train.bins),
                     RW_OK);
        const struct rw_dataset *const sets[] = {valid};
        const struct rw_training training = {.binned = &train, .valid = sets, .n_valid = 1};
        cr_assert_eq(rw_train_on(scratch_ctx, params, &training, &model), RW_OK);
        cr_expect(same_models(model, shared->folds[f].model));
        rw_model_free(model);
        rw_dataset_free(valid);
        rw_binned_release(&train);
    }
    rw_free(shared);
    rw_free(own);
    rw_cuts_free(cuts);
    rw_dataset_free(dataset);
}

/* `auto` depends on the whole set: 16 of the 24 queries of 600 documents are fewer than
 * 10,800 documents, all 24 are more. */
Test(cv, auto_is_of_the_whole_set)
{
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 6, 24, 600, 4);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "leaves", "auto"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "2"), RW_OK);
    struct rw_cv *cv = validate(dataset, 6);
    for (int f = 0; f < 6; f++) {
        const struct rw_model *model = cv->folds[f].model;
        cr_expect(cv->folds[f].n_train * 600 < 10800);
        cr_expect_str_eq(param_of(model, "leaves"), "12");
        cr_expect_str_eq(param_of(model, "split"), "newton");
        cr_expect(rw_model_params_find(&model->params, "leaves")->is_auto);
        cr_expect_not(rw_model_params_find(&model->params, "rounds")->is_auto);
    }
    cr_expect_str_eq(rw_params_get(params, "leaves"), "auto");
    rw_free(cv);
    rw_dataset_free(dataset);
}

/* Other labels in a fold change the models that saw it, and not the one that is measured on it. */
Test(cv, metrics_do_not_change_the_models)
{
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 4, 30, 6, 4);
    struct rw_cv *before = validate(dataset, 3);
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        if (before->fold_of[i / 6] == 1)
            dataset->label[i] = (float)((i * 7) % 4);
    }
    struct rw_cv *after = validate(dataset, 3);
    cr_expect(same_models(before->folds[1].model, after->folds[1].model));
    cr_expect_not(same_models(before->folds[2].model, after->folds[2].model));
    cr_expect_neq(before->folds[1].eval->metrics[0].mean, after->folds[1].eval->metrics[0].mean);
    rw_free(before);
    rw_free(after);
    rw_dataset_free(dataset);
}

Test(cv, threads_do_not_matter)
{
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 5, 30, 6, 4);
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1), RW_OK);
    struct rw_cv *one = validate(dataset, 5);
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 3), RW_OK);
    struct rw_cv *three = validate(dataset, 5);
    cr_expect_arr_eq(one->scores, three->scores, dataset->n_docs * sizeof(double));
    for (int f = 0; f < 5; f++)
        cr_expect(same_models(one->folds[f].model, three->folds[f].model));
    rw_free(one);
    rw_free(three);
    rw_dataset_free(dataset);
}

Test(cv, without_early_stopping)
{
    struct rw_dataset *dataset = fixture_data(scratch_ctx, 5, 10, 6, 4);
    struct rw_cv *cv;
    cr_expect_eq(rw_cross_validate(scratch_ctx, params, dataset, 2, &cv), RW_ERR_ARGUMENT);
    cr_assert_null(cv);
    cr_expect_eq(rw_cross_validate(scratch_ctx, params, dataset, 11, &cv), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "early-stop", "0"), RW_OK);
    cv = validate(dataset, 2);
    for (int f = 0; f < 2; f++) {
        cr_expect(cv->folds[f].n_train == 5 && cv->folds[f].n_valid == 0);
        cr_expect_eq(rw_model_n_trees(cv->folds[f].model), 12);
    }
    rw_free(cv);
    rw_dataset_free(dataset);
}

Test(cv, select)
{
    struct rw_dataset *dataset, *part;
    const char *paths[] = {"d"};
    scratch_text("d",
                 "1 qid:a 1:1 3:2 # x\n0 qid:a 2:5\n2 qid:b 1:3 # docid = y\n0 qid:c 3:4 # z\n");
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &dataset), RW_OK);
    const double weights[] = {1, 2, 3, 4};
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "weights", weights, 4, 1), RW_OK);
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "start-scores", weights, 4, 1),
                 RW_OK);
    const uint8_t keep[] = {0, 1, 1}, none[] = {0, 0, 0};
    cr_assert_eq(rw_dataset_select(scratch_ctx, dataset, keep, &part), RW_OK);
    cr_expect(part->n_docs == 2 && part->n_queries == 2 && part->n_columns == 2);
    cr_expect_str_eq(rw_dataset_query_id(part, 1), "c");
    cr_expect_str_eq(rw_dataset_comment(part, 0), "docid = y");
    float values[2];
    rw_dataset_feature(part, 3, 0, values);
    cr_expect(values[0] == 0 && values[1] == 4 && part->label[0] == 2);
    cr_expect(part->weight[0] == 3 && part->weight[1] == 4 && !part->weight_by_query);
    cr_expect(part->start_score[0] == 3 && part->start_score[1] == 4);
    rw_dataset_free(part);
    cr_expect_eq(rw_dataset_select(scratch_ctx, dataset, none, &part), RW_ERR_DATA);
    cr_assert_null(part);
    rw_dataset_free(dataset);
}
