/* Continued training on data with missing values. Host engines add a tree's leaves by the
 * documents' values. Removing the function that sets scores makes an engine that has codes only,
 * like a GPU's. */
#include <math.h>

#include "base/mem.h"
#include "train/train.h"
#include "same_trees.h"
#include "scratch_file.h"
#include "train_fixture.h"

static struct rw_params *params;
static struct rw_dataset *train, *valid;

static const char *const devices[] = {"ref", "cpu", "sim"};

static void setup(void)
{
    scratch_begin();
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
}

static void teardown(void)
{
    rw_dataset_free(train);
    rw_dataset_free(valid);
    rw_params_free(params);
    scratch_end();
}

TestSuite(continuation, .init = setup, .fini = teardown, .timeout = 60);

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(scratch_ctx, params, name, value), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
}

static struct rw_dataset *read_one(const char *path)
{
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return dataset;
}

static int run(const struct rw_model *init, const struct rw_train_hooks *hooks,
               struct rw_model **out)
{
    const struct rw_dataset *sets[] = {valid};
    return rw_train_on(
        scratch_ctx, params,
        &(struct rw_training){
            .train = train, .init = init, .valid = sets, .n_valid = 1, .hooks = hooks},
        out);
}

static struct rw_model *trained(const struct rw_model *init, const struct rw_train_hooks *hooks)
{
    struct rw_model *model;
    cr_assert_eq(run(init, hooks, &model), RW_OK, "%s", rw_last_error(scratch_ctx));
    return model;
}

static void assert_same_bytes(const struct rw_model *a, const struct rw_model *b, const char *what)
{
    size_t n_a, n_b;
    cr_assert_eq(rw_model_write(scratch_ctx, a, "a.model"), RW_OK);
    cr_assert_eq(rw_model_write(scratch_ctx, b, "b.model"), RW_OK);
    char *text_a = scratch_read("a.model", &n_a), *text_b = scratch_read("b.model", &n_b);
    cr_assert(n_a == n_b && memcmp(text_a, text_b, n_a) == 0, "%s: other models", what);
    free(text_a);
    free(text_b);
}

/* ---- scores ---- */

/* Adds the model's trees to the scores of a new engine, and compares them with predictions. */
static int replay(const struct rw_model *init, const char *device, uint32_t max_slots)
{
    const struct rw_dataset *const sets[] = {train, valid}, *const others[] = {valid};
    const struct rw_engine_rules rules = {
        .cut = {.bins = 64, .absent_missing = init->absent_missing, .min_docs = 2},
        .objective = &rw_objective_regression,
        .lambda = {.sigma = 1.0f},
        .min_docs = 2,
        .bits = 8,
        .query_threshold = (uint64_t)1 << 32,
        .feature_threshold = (uint64_t)1 << 32,
        .max_slots = max_slots};
    struct rw_engine *engine;
    struct rw_model *model;
    size_t room = 0;
    struct rw_sets in;
    struct rw_eval_sets eval_sets = {0};
    cr_assert_eq(rw_engine_open(scratch_ctx, device, &rules, &engine), RW_OK);
    for (int set = 0; set < 2; set++)
        cr_assert_eq(rw_engine_load(engine, set, sets[set], NULL, NULL), RW_OK);
    cr_assert_eq(rw_model_new(scratch_ctx, &model), RW_OK);
    cr_assert_eq(rw_eval_sets_init(&eval_sets, scratch_ctx, params, NULL, sets, 2, model), RW_OK);
    cr_assert_eq(rw_sets_init(&in, scratch_ctx, train, others, 1), RW_OK);
    params->absent = init->absent_missing;
    in.init = init;
    const int status = rw_continue(engine, &in, params, &eval_sets, model, &room);
    cr_assert(status < 0 || model->n_trees == init->n_trees + init->empty_rounds);
    for (int set = 0; set < 2 && status == RW_OK; set++) {
        const size_t n = sets[set]->n_docs;
        double *scores = malloc(2 * n * sizeof(*scores)), *expected = scores + n;
        cr_assert_eq(engine->ops->read_scores(engine, set, scores), RW_OK);
        cr_assert_eq(rw_predict(scratch_ctx, init, sets[set], 0, expected), RW_OK);
        cr_assert_arr_eq(scores, expected, n * sizeof(*scores), "%s, set %d", device, set);
        free(scores);
    }
    rw_model_free(model);
    rw_eval_sets_release(&eval_sets);
    rw_engine_close(engine);
    return status;
}

/* ---- as in one run ---- */

static double chance(uint64_t seed, uint32_t doc, uint32_t k)
{
    return fixture_unit(seed, 1000 + doc * 10 + k);
}

/* Queries of 10 documents. Feature 1 is always present. 3 is in one document of ten and 12 in
 * one of three, some with NaN (sparse columns). 5 is in two of three and 8 nearly always, with
 * NaN (dense columns). All depend on the label, and so do missing values. */
static void write_data(const char *name, uint64_t seed, uint32_t n_docs)
{
    FILE *file = fopen(name, "w");
    for (uint32_t i = 0; i < n_docs; i++) {
        const double u = fixture_unit(seed, i);
        const int label = u < 0.5 ? 0 : u < 0.8 ? 1 : 2;
        const int low = (int)(chance(seed, i, 0) * 3), high = (int)(chance(seed, i, 1) * 6);
        fprintf(file, "%d qid:%u 1:%d", label, i / 10, label + high);
        if (chance(seed, i, 2) < 0.05 + 0.1 * label)
            fprintf(file, " 3:%d", label - (low == 0) - 3);
        if (chance(seed, i, 3) < 0.8 - 0.2 * label)
            fprintf(file, " 5:%d", high - 2 - label);
        if (chance(seed, i, 4) < 0.1 * label)
            fprintf(file, " 8:nan");
        else if (chance(seed, i, 5) < 0.95)
            fprintf(file, " 8:%d", low - label);
        if (chance(seed, i, 6) < 0.25 * label)
            fprintf(file, " 12:nan");
        else if (chance(seed, i, 7) < 0.25)
            fprintf(file, " 12:%d", low + label - 2);
        fprintf(file, "\n");
    }
    fclose(file);
}

/* The engine passes its scores to a metric: they must be those of the model so far. */
struct watched {
    const struct rw_model *model;
    int n_calls;
};

static int scores_are_the_models(void *user, const struct rw_dataset *dataset, const double *scores,
                                 double *value)
{
    struct watched *watched = user;
    const int n_trees = ++watched->n_calls;
    double *expected = malloc(dataset->n_docs * sizeof(*expected));
    *value = n_trees;
    cr_assert_eq(rw_predict(scratch_ctx, watched->model, dataset, n_trees, expected), RW_OK);
    cr_assert_arr_eq(scores, expected, dataset->n_docs * sizeof(*expected), "%d trees", n_trees);
    free(expected);
    return 0;
}

/* Counts the nodes that send missing values and 0 to different sides. */
static int n_nodes_that_tell(const struct rw_model *model, uint32_t feature)
{
    int n = 0;
    for (int32_t t = 0; t < model->n_trees; t++) {
        const struct rw_tree *tree = &model->tree[t];
        for (int32_t k = 0; k + 1 < tree->n_leaves; k++)
            n += tree->feature[k] == feature && tree->missing_left[k] != (0.0f <= tree->cut[k]);
    }
    return n;
}

static void as_in_one_run(const char *absent)
{
    const int missing = strcmp(absent, "missing") == 0;
    write_data("train", 1, 400);
    write_data("valid", 2, 450);
    train = read_one("train");
    valid = read_one("valid");
    for (uint32_t c = 0; c < 5; c++)
        cr_assert_eq(train->column[c].row != NULL, c == 1 || c == 4);
    set("absent", absent);
    set("early-stop", "0");
    set("min-docs", "3");
    set("leaves", "10");
    for (int d = 0; d < 3; d++) {
        set("device", devices[d]);
        set("rounds", "5");
        struct rw_model *first = trained(NULL, NULL);
        set("rounds", "9");
        struct rw_model *whole = trained(NULL, NULL);
        cr_assert_eq(whole->n_trees, 9);
        cr_assert((n_nodes_that_tell(first, 3) > 0) == missing);
        cr_assert((n_nodes_that_tell(first, 5) > 0) == missing);
        cr_assert_gt(n_nodes_that_tell(first, 8), 0);
        cr_assert_gt(n_nodes_that_tell(first, 12), 0);
        for (int w = 0; w < 3; w++) { /* on any engine, from the model of any other */
            set("device", devices[w]);
            set("rounds", "4");
            struct rw_model *on = trained(first, NULL);
            assert_same_bytes(on, whole, devices[w]);
            rw_model_free(on);
            struct watched watched = {.model = whole};
            const struct rw_train_hooks hooks = {.user = &watched, .metric = scores_are_the_models};
            on = trained(first, &hooks);
            cr_assert_eq(watched.n_calls, 9);
            cr_assert(same_trees(on, whole));
            rw_model_free(on);
            cr_assert_eq(replay(first, devices[w], 19), RW_OK);
        }
        rw_model_free(first);
        rw_model_free(whole);
    }
}

Test(continuation, as_in_one_run_absent_missing)
{
    as_in_one_run("missing");
}

Test(continuation, as_in_one_run_absent_zero)
{
    as_in_one_run("zero");
}

/* ---- what codes know of missing values ---- */

/* Feature 7 of the training set, and whether it has missing values there. */
static const struct column_case {
    const char *name;
    uint32_t share;   /* of documents that state it: one of so many; 0: none */
    uint32_t nan_doc; /* the document that states NaN; over the last: none */
    int sparse;
} cases[] = {{"no column", 0, 99, 0},          {"sparse", 5, 99, 1},
             {"sparse with NaN", 5, 35, 1},    {"dense, not all", 2, 99, 0},
             {"dense with NaN", 2, 59, 0},     {"all", 1, 99, 0},
             {"all, one of them NaN", 1, 0, 0}};

static struct rw_dataset *data_of_case(const struct column_case *c)
{
    FILE *file = fopen("data", "w");
    for (uint32_t i = 0; i < 60; i++) {
        fprintf(file, "%u qid:%u 1:%u", i * 7 % 3, i / 10, i * 7 % 11);
        if (i == c->nan_doc)
            fprintf(file, " 7:nan");
        else if (c->share && i % c->share == 0)
            fprintf(file, " 7:%u", 1 + i / 5 % 3);
        fprintf(file, "\n");
    }
    fclose(file);
    struct rw_dataset *dataset = read_one("data");
    const struct rw_column *column = rw_dataset_column(dataset, 7);
    cr_assert_eq(column != NULL, c->share > 0);
    cr_assert(!column || (column->row != NULL) == c->sparse);
    return dataset;
}

/* One tree that splits by feature 7 twice. 0 goes left; missing values go left in the first node
 * if missing_left & 1, in the second if missing_left & 2. */
static struct rw_model *model_that_asks(int absent_missing, int missing_left)
{
    struct rw_model *model;
    cr_assert_eq(rw_model_new(scratch_ctx, &model), RW_OK);
    cr_assert_eq(RW_NEW(scratch_ctx, model->tree, 1), RW_OK);
    cr_assert_eq(rw_tree_init(scratch_ctx, model->tree, 3), RW_OK);
    model->n_trees = 1;
    model->absent_missing = absent_missing;
    struct rw_tree *tree = model->tree;
    tree->left[0] = 1;
    tree->right[0] = -3;
    tree->left[1] = -1;
    tree->right[1] = -2;
    tree->feature[0] = tree->feature[1] = 7;
    tree->cut[0] = 2.5f;
    tree->cut[1] = 1.5f;
    tree->missing_left[0] = missing_left & 1;
    tree->missing_left[1] = missing_left >> 1 & 1;
    for (int leaf = 0; leaf < 3; leaf++)
        tree->leaf[leaf] = (float)leaf - 1.25f;
    return model;
}

/* Whatever the training's codes know of missing values, scores are those of predictions. */
static void assert_missing(const struct column_case *c, int absent_missing, int missing_left)
{
    struct rw_model *init = model_that_asks(absent_missing, missing_left);
    for (int d = 0; d < 3; d++)
        cr_assert_eq(replay(init, devices[d], 5), RW_OK, "%s: %s", c->name,
                     rw_last_error(scratch_ctx));
    rw_model_free(init);
}

Test(continuation, missing_values_go_the_way_of_predictions)
{
    static const struct column_case some = {"dense with NaN", 2, 36, 0};
    valid = data_of_case(&some);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        train = data_of_case(&cases[i]);
        for (int k = 0; k < 8; k++)
            assert_missing(&cases[i], k / 4, k % 4);
        rw_dataset_free(train);
    }
    train = data_of_case(&cases[0]); /* more leaves than a tree of this training */
    struct rw_model *init = model_that_asks(0, 3);
    cr_assert_eq(replay(init, "ref", 2), RW_OK);
    rw_model_free(init);
}

/* 0 itself is at the threshold, and so goes left. */
Test(continuation, zero_at_the_threshold)
{
    static const char *const of_doc_7[] = {"-1", "nan"};
    struct rw_dataset *sets[2];
    for (int set = 0; set < 2; set++) {
        FILE *file = fopen("data", "w");
        for (uint32_t i = 0; i < 60; i++)
            fprintf(file, "%u qid:%u 7:%s\n", i % 3, i / 10,
                    i == 7  ? of_doc_7[set]
                    : i % 2 ? "-1"
                            : "1");
        fclose(file);
        sets[set] = read_one("data");
    }
    train = sets[0];
    valid = sets[1]; /* only this one has a missing value */
    struct rw_model *init = model_that_asks(0, 1);
    init->tree->n_leaves = 2;
    init->tree->left[0] = -1;
    init->tree->right[0] = -2;
    init->tree->cut[0] = 0;
    cr_assert_eq(replay(init, "ref", 5), RW_OK, "%s", rw_last_error(scratch_ctx));
    init->tree->missing_left[0] = 0;
    cr_assert_eq(replay(init, "ref", 5), RW_OK, "%s", rw_last_error(scratch_ctx));
    rw_model_free(init);
}

/* ---- the model's record of its data ---- */

static void assert_features(const struct rw_model *model, const uint32_t *feature, uint32_t n)
{
    cr_assert_eq(model->n_features, n);
    cr_assert_arr_eq(model->feature, feature, n * sizeof(*feature));
    cr_assert_eq(rw_model_check(scratch_ctx, model), RW_OK);
}

Test(continuation, features_and_names_of_both)
{
    static const uint32_t both[] = {1, 3, 5, 8, 12};
    scratch_text("names", "3 three\n8 eight\n");
    scratch_text("others", "1 one\n");
    write_data("train", 1, 400);
    write_data("valid", 2, 450);
    train = read_one("train");
    valid = read_one("valid");
    set("rounds", "1");
    set("names", "names");
    /* of the first training 1, 5 and 8, of the second 3, 5 and 12 */
    static const int kept[2][3] = {{0, 2, 3}, {1, 2, 4}};
    struct rw_column column[5], *own = train->column;
    memcpy(column, own, sizeof(column));
    train->n_columns = 3;
    for (int c = 0; c < 3; c++)
        own[c] = column[kept[0][c]];
    struct rw_model *first = trained(NULL, NULL);
    assert_features(first, (const uint32_t[]){1, 5, 8}, 3);
    for (int c = 0; c < 3; c++)
        own[c] = column[kept[1][c]];
    set("names", "");
    struct rw_model *on = trained(first, NULL);
    assert_features(on, both, 5);
    cr_assert_eq(on->n_names, 2);
    cr_assert_str_eq(rw_model_feature_name(on, 3), "three");
    cr_assert_str_eq(rw_model_feature_name(on, 8), "eight");
    rw_model_free(on);
    set("names", "others");
    on = trained(first, NULL);
    cr_assert_eq(on->n_names, 1);
    cr_assert_str_eq(rw_model_feature_name(on, 1), "one");
    rw_model_free(on);
    rw_model_free(first);
    train->n_columns = 5;
    memcpy(own, column, sizeof(column));
}

/* ---- the size that rounds report ---- */

static int keep_size(void *user, const struct rw_round *round)
{
    *(uint64_t *)user = round->model_bytes;
    return 0;
}

/* Each training's parameters are in the file: of twenty with a long table of gains, too. */
Test(continuation, size_of_many_trainings)
{
    uint64_t most = 0;
    size_t n;
    const struct rw_train_hooks hooks = {.user = &most, .on_round = keep_size};
    struct rw_model *model = NULL;
    FILE *file = fopen("gains", "w");
    for (int i = 0; i < 300; i++)
        fprintf(file, "%d.123456\n", i);
    fclose(file);
    train = fixture_data(scratch_ctx, 1, 20, 10, 6);
    valid = fixture_data(scratch_ctx, 2, 10, 10, 6);
    set("rounds", "1");
    set("leaves", "2");
    set("label-gain", "gains");
    for (int i = 0; i < 20; i++) {
        struct rw_model *next = trained(model, &hooks);
        rw_model_free(model);
        model = next;
        cr_assert_eq(rw_model_write(scratch_ctx, model, "model"), RW_OK);
        free(scratch_read("model", &n));
        cr_assert_leq(n, most, "%d trainings", i + 1);
    }
    rw_model_free(model);
}
