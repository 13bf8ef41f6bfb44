/* Models of fewer trees: each row has the metric of its own model, and the removed trees are
 * those that a plain search finds. */
#include <math.h>

#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "base/mem.h"
#include "each.h"
#include "model/model.h"
#include "scratch_file.h"
#include "train_fixture.h"

enum { N_TREES = 15 };

static struct rw_dataset *data;
static struct rw_model *model;
static struct rw_eval_params how = RW_EVAL_DEFAULTS;

static void setup(void)
{
    struct rw_params *params;
    scratch_begin();
    data = fixture_data(scratch_ctx, 1, 30, 9, 5);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "15"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "leaves", "6"), RW_OK);
    cr_assert_eq(rw_train(scratch_ctx, params, data, NULL, 0, NULL, &model), RW_OK);
    rw_params_free(params);
}

static void teardown(void)
{
    rw_model_free(model);
    rw_dataset_free(data);
    scratch_end();
}

TestSuite(prune, .init = setup, .fini = teardown, .timeout = 60);

static double measured(const struct rw_model *one)
{
    struct rw_eval *eval;
    double *scores = malloc(data->n_docs * sizeof(*scores));
    cr_assert_eq(rw_predict(scratch_ctx, one, data, 0, scores), RW_OK);
    cr_assert_eq(rw_evaluate(scratch_ctx, &how, data, scores, &eval), RW_OK);
    const double mean = eval->metrics[0].mean;
    rw_free(eval);
    free(scores);
    return mean;
}

static double measured_of(const uint8_t *keep)
{
    struct rw_model *some;
    cr_assert_eq(rw_model_select(scratch_ctx, model, keep, &some), RW_OK);
    const double mean = measured(some);
    rw_model_free(some);
    return mean;
}

static void keeps_covers(const struct rw_tree *some, const struct rw_tree *of)
{
    const size_t n = (size_t)of->n_leaves;
    if (of->n_leaves == 1)
        return;
    cr_assert(some->docs && some->hessian && of->docs && of->hessian);
    cr_assert_arr_eq(some->docs, of->docs, n * sizeof(*of->docs));
    cr_assert_arr_eq(some->hessian, of->hessian, n * sizeof(*of->hessian));
}

/* Is it a beginning of the whole model, or some of its trees in their order? */
static int is_part(const struct rw_model *some, int beginning)
{
    int32_t t = 0;
    for (int32_t k = 0; k < some->n_trees; k++, t++) {
        while (t < model->n_trees && (some->tree[k].n_leaves != model->tree[t].n_leaves ||
                                      memcmp(some->tree[k].leaf, model->tree[t].leaf,
                                             (size_t)model->tree[t].n_leaves * sizeof(float))))
            t++;
        if (t == model->n_trees || (beginning && t != k))
            return 0;
        keeps_covers(&some->tree[k], &model->tree[t]);
    }
    return 1;
}

static void check_rows(const struct rw_pruned *pruned, double loss, int chooses)
{
    const double whole = measured(model), left = measured(pruned->model);
    const struct rw_prune_row *chosen = &pruned->rows[pruned->chosen];
    size_t n_bytes;
    char *text;
    cr_assert_eq(pruned->rows[0].n_trees, model->n_trees);
    cr_assert_eq(pruned->rows[0].compared.difference, 0.0);
    cr_assert_eq(chosen->n_trees, pruned->model->n_trees);
    cr_assert_eq(chosen->compared.mean_b, left);
    cr_assert_eq(chosen->compared.mean_a, whole);
    const double lost = pruned->lower_is_better ? left - whole : whole - left;
    cr_assert_leq(lost, loss);
    const double held_out = pruned->lower_is_better ? chosen->held_out : -chosen->held_out;
    cr_assert(!chooses || held_out <= loss);
    cr_assert_eq(rw_model_write_memory(scratch_ctx, pruned->model, &text, &n_bytes), RW_OK);
    cr_assert_eq(chosen->n_bytes, n_bytes);
    rw_free(text);
    for (int i = 1; i < pruned->n_rows; i++) {
        const struct rw_prune_row *row = &pruned->rows[i];
        cr_assert_lt(row->n_trees, pruned->rows[i - 1].n_trees);
        cr_assert(row->compared.low <= row->compared.high);
        cr_assert_eq(isnan(row->held_out), !chooses);
    }
}

static void prune_by(const char *metric, double loss, enum rw_prune_order order)
{
    struct rw_pruned *pruned;
    how.metric = metric;
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, loss, order, &pruned), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    check_rows(pruned, loss, order == RW_PRUNE_ANY);
    cr_assert(is_part(pruned->model, order == RW_PRUNE_LAST));
    rw_free(pruned);
}

Test(prune, rows)
{
    static const char *const metrics[] = {"ndcg@10", "rmse"};
    static const double losses[] = {0.0, 0.02};
    for (int m = 0; m < 2; m++) {
        for (int k = SLOW_HERE; k < 2; k++) {
            prune_by(metrics[m], losses[k], RW_PRUNE_ANY);
            prune_by(metrics[m], losses[k], RW_PRUNE_LAST);
        }
    }
}

/* No shorter beginning is within the loss. */
Test(prune, last_ones)
{
    struct rw_pruned *pruned;
    uint8_t keep[N_TREES] = {0};
    const double whole = measured(model), loss = 0.01;
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, loss, RW_PRUNE_LAST, &pruned), RW_OK);
    int n = 0;
    do
        keep[n++] = 1;
    while (whole - measured_of(keep) > loss);
    cr_assert_eq(pruned->model->n_trees, n);
    cr_assert(n > 1 && n < N_TREES);
    rw_free(pruned);
}

/* The first trees that go, by a search of its own: a quarter of those left, in each round. */
Test(prune, missed_least)
{
    struct rw_pruned *pruned;
    uint8_t keep[N_TREES];
    double without[N_TREES];
    memset(keep, 1, sizeof(keep));
    for (int t = 0; t < N_TREES; t++) {
        keep[t] = 0;
        without[t] = measured_of(keep);
        keep[t] = 1;
    }
    int n_dropped = 0;
    for (; n_dropped < 3; n_dropped++) { /* 15 / 4: the first three are of one round */
        int best = -1;
        for (int t = 0; t < N_TREES; t++)
            best = keep[t] && (best < 0 || without[t] >= without[best]) ? t : best;
        keep[best] = 0;
    }
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, 1000, RW_PRUNE_ANY, &pruned), RW_OK);
    cr_assert_eq(pruned->model->n_trees, 1);
    int row = 0;
    while (pruned->rows[row].n_trees > N_TREES - n_dropped)
        row++;
    cr_assert_eq(pruned->rows[row].n_trees, N_TREES - n_dropped);
    cr_assert_eq(pruned->rows[row].compared.mean_b, measured_of(keep));
    rw_free(pruned);
}

static int tells_of(const struct rw_dataset *chooses, const struct rw_dataset *measures,
                    double *difference)
{
    struct rw_pruned *pruned;
    const struct rw_dataset *whole = data;
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, chooses, 1000, RW_PRUNE_ANY, &pruned), RW_OK);
    data = (struct rw_dataset *)measures;
    *difference += (measured(pruned->model) - measured(model)) / 2.0;
    data = (struct rw_dataset *)whole;
    const int n_trees = pruned->model->n_trees;
    rw_free(pruned);
    return n_trees;
}

/* Each half of the queries measures the loss of the other's choice: here of the one tree that
 * remains at the end. */
Test(prune, held_out)
{
    struct rw_pruned *pruned;
    struct rw_dataset *half[2];
    uint32_t fold[30];
    uint8_t keep[30];
    double difference = 0.0;
    cr_assert_eq(rw_folds(scratch_ctx, 30, NULL, 2, how.seed, fold), RW_OK);
    for (uint32_t h = 0; h < 2; h++) {
        for (int q = 0; q < 30; q++)
            keep[q] = fold[q] == h;
        cr_assert_eq(rw_dataset_select(scratch_ctx, data, keep, &half[h]), RW_OK);
    }
    for (int h = 0; h < 2; h++)
        cr_assert_eq(tells_of(half[h], half[!h], &difference), 1);
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, 1000, RW_PRUNE_ANY, &pruned), RW_OK);
    const struct rw_prune_row *last = &pruned->rows[pruned->n_rows - 1];
    cr_assert_eq(last->n_trees, 1);
    cr_assert_float_eq(last->held_out, difference, 1e-12);
    rw_free(pruned);
    rw_dataset_free(half[0]);
    rw_dataset_free(half[1]);
}

Test(prune, same_for_any_threads)
{
    char *text[2];
    size_t n_bytes[2];
    for (int k = 0; k < 2; k++) {
        struct rw_pruned *pruned;
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, k ? 3 : 1), RW_OK);
        cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, 0.004, RW_PRUNE_ANY, &pruned), RW_OK);
        cr_assert_eq(rw_model_write_memory(scratch_ctx, pruned->model, &text[k], &n_bytes[k]),
                     RW_OK);
        rw_free(pruned);
    }
    cr_assert(n_bytes[0] == n_bytes[1] && memcmp(text[0], text[1], n_bytes[0]) == 0);
    rw_free(text[0]);
    rw_free(text[1]);
}

/* A base score stays: without it scores would have another level. */
Test(prune, base_score)
{
    struct rw_pruned *pruned;
    struct rw_tree *tree = &model->tree[4];
    rw_tree_release(tree);
    cr_assert_eq(rw_tree_init(scratch_ctx, tree, 1), RW_OK);
    tree->leaf[0] = 0.5f;
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, 1000, RW_PRUNE_ANY, &pruned), RW_OK);
    cr_assert_eq(pruned->model->n_trees, 2);
    int n_base = 0;
    for (int t = 0; t < 2; t++)
        n_base += pruned->model->tree[t].n_leaves == 1 && pruned->model->tree[t].leaf[0] == 0.5f;
    cr_assert_eq(n_base, 1);
    rw_free(pruned);
}

Test(prune, refused)
{
    struct rw_pruned *pruned;
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, -0.1, RW_PRUNE_ANY, &pruned),
                 RW_ERR_ARGUMENT);
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, (double)NAN, RW_PRUNE_ANY, &pruned),
                 RW_ERR_ARGUMENT);
    how.metric = "ndcg@5,map";
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, 0.1, RW_PRUNE_ANY, &pruned),
                 RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "'metric': expected one metric to prune by, found 2");
    how.metric = "map";
    how.like = "lightgbm";
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, 0.1, RW_PRUNE_ANY, &pruned),
                 RW_ERR_ARGUMENT);
    how.like = NULL;
    how.relevant = 100;
    cr_assert_eq(rw_prune(scratch_ctx, &how, model, data, 0.1, RW_PRUNE_ANY, &pruned), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "no query of the data counts for map");
    cr_assert_null(pruned);
}

/* ---- how far it is ---- */

struct told {
    uint64_t done, total;
    int n, ends;
};

static int note(void *user, const struct rw_progress *progress)
{
    struct told *told = user;
    if (!progress->stage)
        return 0;
    cr_assert_str_eq(progress->stage, "pruning");
    cr_assert(progress->done >= told->done && progress->done <= progress->total);
    cr_assert(told->n == 0 || progress->total == told->total);
    *told = (struct told){progress->done, progress->total, told->n + 1, told->ends};
    return told->ends;
}

/* The callback is called every millisecond, so several times. A round removes a quarter of the
 * trees if there are 8 or more, else one: progress counts the documents that trees score. */
Test(prune, progress)
{
    static const struct {
        int n_trees, n_weighed;
    } cases[] = {
        {7, 7 + 6 + 5 + 4 + 3 + 2}, {8, 8 + 6 + 5 + 4 + 3 + 2}, {9, 9 + 7 + 6 + 5 + 4 + 3 + 2}};
    struct rw_dataset *large = fixture_data(scratch_ctx, 2, 300, 9, 5);
    rw_poll_ms = 1;
    how.metric = "ndcg@10";
    for (int i = SLOW_HERE; i < 3; i += SLOW_HERE ? 2 : 1) {
        uint8_t keep[N_TREES];
        struct rw_model *some;
        struct rw_pruned *pruned;
        struct told told = {0};
        for (int t = 0; t < N_TREES; t++)
            keep[t] = t < cases[i].n_trees;
        cr_assert_eq(rw_model_select(scratch_ctx, model, keep, &some), RW_OK);
        cr_assert_eq(rw_ctx_set_poll(scratch_ctx, note, &told), RW_OK);
        cr_assert_eq(rw_prune(scratch_ctx, &how, some, large, 0.01, RW_PRUNE_ANY, &pruned), RW_OK);
        const int n_dropped = cases[i].n_trees - 1, n_scored = cases[i].n_weighed + n_dropped;
        cr_assert_gt(told.n, 0);
        cr_assert_eq(told.total, (uint64_t)(2 * n_scored + n_dropped) * large->n_docs,
                     "%d trees: %llu", cases[i].n_trees, (unsigned long long)told.total);
        rw_free(pruned);
        told = (struct told){.ends = 1};
        cr_assert_eq(rw_ctx_set_poll(scratch_ctx, note, &told), RW_OK);
        cr_assert_eq(rw_prune(scratch_ctx, &how, some, large, 0.01, RW_PRUNE_ANY, &pruned),
                     RW_ERR_INTERRUPTED);
        cr_assert_eq(told.n, 1);
        cr_assert_null(pruned);
        cr_assert_eq(rw_ctx_set_poll(scratch_ctx, NULL, NULL), RW_OK);
        rw_model_free(some);
    }
    rw_dataset_free(large);
}
