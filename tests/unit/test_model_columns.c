/* Which data fits a model: docs/reference/data.md has the same table. */
#include "dataset/dataset.h"
#include "model_fixture.h"

#define HEAD(kind) \
    "rankwood model 6\nabsent zero\n" kind "best-round 0\nfinished yes\nempty-rounds 0\n\n"
#define OLD_HEAD "rankwood model 2\nabsent zero\nbest-round 0\nfinished yes\nempty-rounds 0\n\n"
#define REST(features, names)                                                                \
    "params 0\n\nearlier 0\n\nfeatures 5\n" features "\n\n" names "\nmetrics 0 rounds 0\n\n" \
    "trees 1\n\ntree 1 leaves 2\n"
#define NODE(name)                                                                           \
    "node 0 feature 3 <= 0.5 left leaf 0 right leaf 1 missing left gain 1" name "\nleaf 0 1" \
    "\nleaf 1 2\n\n"

enum { NUMBERED, NAMED, LETOR, UNKNOWN, N_MODELS };
static const char *const body[N_MODELS] = {
    HEAD("columns numbered 5\n") REST("0-4", "names 0\n") NODE(""),
    HEAD("columns named 5\n") REST("0-4", "names 1\n3 d\n") NODE(" # d"),
    HEAD("columns letor\n") REST("1-5", "names 0\n") NODE(""),
    OLD_HEAD REST("0-4", "names 0\n") NODE("")};

enum { N_DOCS = 4, MOST = 8 };
static struct rw_ctx *ctx;
static struct rw_model *model[N_MODELS];
static const float values[N_DOCS * MOST];
static const float labels[N_DOCS] = {1, 0, 2, 0};
static const uint32_t offsets[] = {0, 2, N_DOCS};

static void setup(void)
{
    ctx = fixture_ctx();
    for (int m = 0; m < N_MODELS; m++)
        model[m] = fixture_model(ctx, body[m]);
}

static void teardown(void)
{
    for (int m = 0; m < N_MODELS; m++)
        rw_model_free(model[m]);
    rw_ctx_free(ctx);
}

TestSuite(model_columns, .init = setup, .fini = teardown, .timeout = 60);

/* first: the feature of column 0; -1: an array, by columns; by_name: ids are those of names. */
static struct rw_dataset *data_of(uint32_t n, int first, int by_name)
{
    struct rw_array column[MOST];
    uint32_t feature[MOST];
    struct rw_dataset *data;
    for (uint32_t f = 0; f < n; f++) {
        feature[f] = f + (first > 0 ? (uint32_t)first : 0);
        column[f] =
            (struct rw_array){.data = values, .type = RW_VALUE_F32, .stride = sizeof(float)};
    }
    const struct rw_table table = {.n_docs = N_DOCS,
                                   .n_columns = n,
                                   .column = column,
                                   .feature = first < 0 ? NULL : feature,
                                   .by_name = by_name,
                                   .missing = NAN,
                                   .label = labels,
                                   .n_queries = 2,
                                   .query_offset = offsets};
    cr_assert_eq(rw_dataset_from_table(ctx, &table, &data), RW_OK, "%s", rw_last_error(ctx));
    return data;
}

/* How a call ends, with the message's first line. */
static const char *outcome(int status)
{
    static char line[256];
    if (status == RW_OK)
        return "";
    cr_assert_eq(status, RW_ERR_DATA);
    snprintf(line, sizeof(line), "%s", rw_last_error(ctx));
    line[strcspn(line, "\n")] = 0;
    return line;
}

static void all_say(const struct rw_model *m, const struct rw_dataset *data, const char *expected)
{
    double scores[N_DOCS], value;
    int32_t leaves[N_DOCS];
    struct rw_explainer *explainer;
    struct rw_permuted permuted[MOST];
    struct rw_params *params;
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    cr_assert_str_eq(outcome(rw_model_check_data(ctx, m, data)), expected);
    cr_assert_str_eq(outcome(rw_predict(ctx, m, data, 0, scores)), expected);
    cr_assert_str_eq(outcome(fixture_predict_on(ctx, m, data, 0, "cpu", scores)), expected);
    cr_assert_str_eq(outcome(rw_predict_leaves(ctx, m, data, 0, leaves)), expected);
    int status = rw_explainer_new(ctx, m, 0, data, &explainer);
    cr_assert_str_eq(outcome(status), expected);
    if (status == RW_OK)
        rw_free(explainer);
    status = rw_permutation_importance(ctx, rw_params_eval(params), m, 0, data, 1, &value, permuted,
                                       MOST);
    cr_assert_str_eq(outcome(status < 0 ? status : RW_OK), expected);
    rw_params_free(params);
}

Test(model_columns, table)
{
    static const struct {
        uint32_t n;
        int first, by_name;
        const char *said[N_MODELS];
    } row[] = {{3,
                -1,
                0,
                {"the data has 3 features; the model expects 5",
                 "the data has 3 features; the model expects 5",
                 "the data has 3 columns, numbered from 0; the model has features by id, up to 5, "
                 "as LETOR "
                 "text has them",
                 "the data has 3 features; the model expects at least 4"}},
               {5,
                -1,
                0,
                {"", "",
                 "the data has 5 columns, numbered from 0; the model has features by id, up to 5, "
                 "as LETOR "
                 "text has them",
                 ""}},
               {6,
                -1,
                0,
                {"the data has 6 features; the model expects 5",
                 "the data has 6 features; the model expects 5", "", ""}},
               {7,
                -1,
                0,
                {"the data has 7 features; the model expects 5",
                 "the data has 7 features; the model expects 5",
                 "the data has 7 columns, numbered from 0; the model has features by id, up to 5, "
                 "as LETOR "
                 "text has them",
                 ""}},
               {5,
                1,
                0,
                {"the data has feature 5; the model has columns 0 to 4",
                 "the data has feature 5; the model has columns 0 to 4", "", ""}},
               {5, 0, 0, {"", "", "", ""}},
               {2, 1, 0, {"", "", "", ""}},
               {7, 0, 1, {"", "", "", ""}}};
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct rw_dataset *data = data_of(row[i].n, row[i].first, row[i].by_name);
        cr_assert_eq(rw_dataset_width(data), row[i].first < 0 ? row[i].n : 0);
        for (int m = 0; m < N_MODELS; m++)
            all_say(model[m], data, row[i].said[m]);
        rw_dataset_free(data);
    }
}

Test(model_columns, rows)
{
    static const struct {
        uint32_t n, first;
        int fits[N_MODELS];
    } row[] = {{5, 0, {1, 1, 0, 1}}, {4, 0, {0, 0, 0, 1}}, {3, 0, {0, 0, 0, 0}},
               {6, 0, {0, 0, 1, 1}}, {5, 1, {0, 0, 1, 1}}, {4, 1, {1, 1, 1, 1}}};
    double scores[N_DOCS];
    for (int m = 0; m < N_MODELS; m++) {
        struct rw_scorer *scorer, *opened;
        cr_assert_eq(rw_scorer_new(ctx, model[m], 0, &scorer), RW_OK);
        cr_assert_eq(rw_scorer_open(ctx, model[m], 0, "cpu", &opened), RW_OK);
        for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
            const int expected = row[i].fits[m] ? RW_OK : RW_ERR_DATA;
            const uint32_t n = row[i].n, first = row[i].first;
            cr_assert_eq(rw_model_check_rows(ctx, model[m], n, first), expected);
            cr_assert_eq(rw_scorer_rows(NULL, scorer, values, N_DOCS, n, first, scores), expected);
            cr_assert_eq(rw_scorer_rows(ctx, opened, values, N_DOCS, n, first, scores), expected);
        }
        rw_scorer_free(opened);
        rw_scorer_free(scorer);
    }
}

/* A model that is made of another one counts as that one did, and so does a copy of its data. */
Test(model_columns, copies)
{
    static const uint8_t all[] = {1, 1};
    for (int m = 0; m < N_MODELS; m++) {
        struct rw_model *copy;
        uint32_t width, copied;
        cr_assert_eq(rw_model_select(ctx, model[m], NULL, &copy), RW_OK);
        cr_assert_eq(rw_model_info(copy).columns, rw_model_info(model[m]).columns);
        copied = rw_model_info(copy).width;
        width = rw_model_info(model[m]).width;
        cr_assert_eq(copied, width);
        rw_model_free(copy);
    }
    struct rw_dataset *data = data_of(5, -1, 0), *part;
    cr_assert_eq(rw_dataset_select(ctx, data, all, &part), RW_OK);
    cr_assert_eq(rw_dataset_width(part), 5);
    rw_dataset_free(part);
    rw_dataset_free(data);
}

/* ---- training ---- */

static struct rw_dataset *random_data(uint32_t n, uint32_t first)
{
    enum { DOCS = 200 };
    static float value[DOCS * MOST], label[DOCS];
    static uint32_t offset[DOCS / 10 + 1];
    struct rw_dataset *data;
    for (uint32_t i = 0; i < DOCS; i++) {
        for (uint32_t f = 0; f < n; f++)
            value[i * n + f] =
                (float)(rw_random(1, i, f, RW_STREAM_CUT_SAMPLE) % 100) + (f == 1 ? label[i] : 0);
        label[i] = value[i * n + n - 1] > 50 ? 2 : 0;
    }
    for (uint32_t q = 0; q <= DOCS / 10; q++)
        offset[q] = 10 * q;
    cr_assert_eq(
        rw_dataset_from_memory(ctx, value, label, offset, DOCS, n, DOCS / 10, first, &data), RW_OK);
    return data;
}

static const char *train(const struct rw_model *init, const struct rw_dataset *data,
                         const struct rw_dataset *valid, struct rw_model **out)
{
    struct rw_params *params;
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "rounds", "2"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "leaves", "4"), RW_OK);
    const int status = rw_train_on(
        ctx, params,
        &(struct rw_training){
            .train = data, .init = init, .valid = valid ? &valid : NULL, .n_valid = valid != NULL},
        out);
    rw_params_free(params);
    return outcome(status);
}

Test(model_columns, training)
{
    struct rw_dataset *array5 = random_data(5, 0), *array4 = random_data(4, 0),
                      *array6 = random_data(6, 0), *ids5 = random_data(5, 1);
    struct rw_model *numbered, *letor, *on, *none;
    uint32_t width;
    cr_assert_str_eq(train(NULL, array5, array5, &numbered), "");
    cr_assert_eq(rw_model_info(numbered).columns, RW_COLUMNS_NUMBERED);
    width = rw_model_info(numbered).width;
    cr_assert_eq(width, 5);
    cr_assert_str_eq(train(NULL, ids5, ids5, &letor), "");
    cr_assert_eq(rw_model_info(letor).columns, RW_COLUMNS_LETOR);
    width = rw_model_info(letor).width;
    cr_assert_eq(width, 6);
    /* validation sets */
    cr_assert_str_eq(train(NULL, array5, array4, &none),
                     "validation set 1 has 4 features; the training set expects 5");
    cr_assert_str_eq(train(NULL, array5, array6, &none),
                     "validation set 1 has 6 features; the training set expects 5");
    cr_assert_str_eq(train(NULL, array5, ids5, &none),
                     "validation set 1 has feature 5; the training set has columns 0 to 4");
    cr_assert_str_eq(train(NULL, ids5, array5, &none),
                     "validation set 1 has 5 columns, numbered from 0; the training set has "
                     "features by id, up to 5, as LETOR text has them");
    cr_assert_str_eq(train(NULL, ids5, array6, &on), "");
    rw_model_free(on);
    /* a continued model, whose kind the new one inherits */
    cr_assert_str_eq(train(numbered, array4, NULL, &none),
                     "the training set has 4 features; the model expects 5");
    cr_assert_str_eq(train(letor, array5, NULL, &none),
                     "the training set has 5 columns, numbered from 0; the model has features by "
                     "id, up to 5, as LETOR text has them");
    cr_assert_str_eq(train(letor, array6, NULL, &on), "");
    cr_assert_eq(rw_model_info(on).columns, RW_COLUMNS_LETOR);
    width = rw_model_info(on).width;
    rw_model_free(on);
    cr_assert_str_eq(train(model[UNKNOWN], array5, NULL, &on), "");
    cr_assert_eq(rw_model_info(on).columns, RW_COLUMNS_NUMBERED);
    width = rw_model_info(on).width;
    rw_model_free(on);
    rw_model_free(letor);
    rw_model_free(numbered);
    rw_dataset_free(array4);
    rw_dataset_free(array5);
    rw_dataset_free(array6);
    rw_dataset_free(ids5);
}

/* ---- features that no document has ---- */

static char said[512];

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    if (level == RW_LOG_WARNING)
        snprintf(said, sizeof(said), "%s", line);
}

Test(model_columns, lacking)
{
    static unsigned char seen[RW_FEATURE_IDS];
    rw_ctx_set_log(ctx, on_log, NULL);
    rw_model_warn_lacking(ctx, model[NAMED], 999, seen);
    cr_assert_str_eq(said, "");
    rw_model_warn_lacking(ctx, model[NAMED], 1000, seen);
    cr_assert_str_eq(said, "no document has feature 'd', which makes 100 % of the model's gain");
    said[0] = 0;
    rw_model_warn_lacking(ctx, model[LETOR], 1000, seen);
    cr_assert_str_eq(said, "no document has feature 3, which makes 100 % of the model's gain");
    said[0] = 0;
    seen[3] = 1;
    rw_model_warn_lacking(ctx, model[LETOR], 1000, seen);
    cr_assert_str_eq(said, "");
}
