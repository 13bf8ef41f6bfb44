/* Features by categories: words and codes, the model's text, and every way of scoring. */
#include "base/machine.h"
#include "base/mem.h"
#include "dataset/categories.h"
#include "dataset/names.h"
#include "model/scorer.h"
#include "model_bodies.h"
#include "train_fixture.h"

enum { N_QUERIES = 200, LENGTH = 10, N_DOCS = N_QUERIES * LENGTH, N_WORDS = 30, MANY_WORDS = 1023 };

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(categories, .init = setup, .fini = teardown, .timeout = 60);

/* Feature 1: a category, one of n_words, that the label follows; feature 2: the same with missing
 * ones; 3: a number. rows: [N_DOCS][3], written. */
static struct rw_dataset *made_many(uint64_t seed, uint32_t n_words, float *rows)
{
    float labels[N_DOCS];
    uint32_t offsets[N_QUERIES + 1];
    struct rw_dataset *dataset = NULL;
    for (uint32_t q = 0; q <= N_QUERIES; q++)
        offsets[q] = q * LENGTH;
    for (uint32_t i = 0; i < N_DOCS; i++) {
        const uint32_t category = (uint32_t)(fixture_unit(seed, i) * n_words);
        const double x = fixture_unit(seed, N_DOCS + i);
        rows[3 * i] = (float)category;
        rows[3 * i + 1] =
            i % 5 ? (float)(category * 7 % 11 + 100) : rw_float_of_bits(RW_MISSING_BITS);
        rows[3 * i + 2] = (float)x;
        labels[i] = (float)((category * 11 % n_words) * 3 / n_words + (x > 0.7));
    }
    cr_assert_eq(
        rw_dataset_from_memory(ctx, rows, labels, offsets, N_DOCS, 3, N_QUERIES, 1, &dataset),
        RW_OK);
    return dataset;
}

static struct rw_dataset *made_data(uint64_t seed, float *rows)
{
    return made_many(seed, N_WORDS, rows);
}

static struct rw_model *trained_by(const struct rw_dataset *data, const char *bins)
{
    static const char *const given[][2] = {{"categorical", "1-2"}, {"rounds", "12"},
                                           {"leaves", "8"},        {"min-docs", "2"},
                                           {"early-stop", "0"},    {"device", "cpu"}};
    struct rw_params *params;
    struct rw_model *model;
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++)
        cr_assert_eq(rw_params_set(ctx, params, given[i][0], given[i][1]), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "bins", bins), RW_OK);
    cr_assert_eq(rw_train(ctx, params, data, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    rw_params_free(params);
    return model;
}

static struct rw_model *trained(const struct rw_dataset *data)
{
    return trained_by(data, "255");
}

/* By codes and plain trees. */
static void plain_scores(const struct rw_model *model, const struct rw_dataset *data, double *out)
{
    struct rw_arena arena = {NULL};
    struct rw_dataset coded;
    float values[4];
    cr_assert_eq(rw_categories_recode(ctx, &arena, &model->categories, data, 0, &coded), RW_OK);
    for (uint32_t i = 0; i < N_DOCS; i++) {
        for (uint32_t f = 1; f <= 3; f++)
            rw_column_values(rw_dataset_column(&coded, f), i, i + 1, 0.0f, &values[f]);
        values[0] = 0.0f;
        out[i] = 0;
        for (int32_t t = 0; t < model->n_trees; t++)
            out[i] += (double)model->tree[t].leaf[rw_tree_leaf(&model->tree[t], values, 4, 0.0f)];
    }
    rw_arena_free(&arena);
}

static void expect_equal(const double *scores, const double *expected, const char *what)
{
    for (uint32_t i = 0; i < N_DOCS; i++)
        cr_assert_eq(scores[i], expected[i], "%s: document %u: %.17g, expected %.17g", what, i,
                     scores[i], expected[i]);
}

static void check_scores(uint32_t n_words)
{
    static float rows[3 * N_DOCS], again[3 * N_DOCS];
    static double expected[N_DOCS], scores[N_DOCS];
    static int32_t leaves[N_DOCS * 12];
    struct rw_dataset *train = made_many(1, n_words, rows), *data = made_many(2, n_words, again);
    struct rw_model *model = trained_by(train, "1023");
    const struct rw_rows by_rows = {again, N_DOCS, 3, 1};
    struct rw_flat flat;
    struct rw_scorer *scorer;
    uint32_t n_sets = 0;
    for (int32_t t = 0; t < model->n_trees; t++)
        for (int32_t k = 0; k < model->tree[t].n_leaves - 1; k++)
            n_sets += (uint32_t)rw_tree_by_set(&model->tree[t], k);
    cr_assert_gt(n_sets, 10);
    plain_scores(model, data, expected);
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    expect_equal(scores, expected, "rw_predict");
    cr_assert_eq(rw_flat_init(ctx, &flat, model, 0), RW_OK);
    cr_assert_leq(flat.n_sets, n_sets);
    cr_assert_eq(rw_flat_walk(ctx, &flat, data, scores, NULL, NULL), RW_OK);
    expect_equal(scores, expected, "walked");
    for (int isa = 0; isa <= (int)rw_isa(); isa++) {
        struct rw_packed *packed;
        cr_assert_eq(rw_packed_new(ctx, &flat, rw_packed_ops((enum rw_isa)isa), &packed), RW_OK);
        if (!packed)
            continue;
        cr_assert_eq(rw_packed_scores(ctx, packed, data, scores), RW_OK);
        expect_equal(scores, expected, "packed");
        cr_assert_eq(rw_packed_rows(ctx, packed, &by_rows, scores), RW_OK);
        expect_equal(scores, expected, "packed, of rows");
        rw_result_free(packed);
    }
    rw_flat_release(&flat);
    cr_assert_eq(rw_scorer_new(ctx, model, 0, &scorer), RW_OK);
    cr_assert_eq(rw_scorer_rows(ctx, scorer, again, N_DOCS, 3, 1, scores), RW_OK);
    expect_equal(scores, expected, "a scorer's rows");
    for (uint32_t i = 0; i < N_DOCS; i++) {
        const float values[4] = {0.0f, again[3 * i], again[3 * i + 1], again[3 * i + 2]};
        scores[i] = rw_scorer_one(scorer, values, 4, 0);
        cr_assert_eq(scores[i], rw_predict_one(model, values, 4));
    }
    expect_equal(scores, expected, "one at a time");
    rw_scorer_free(scorer);
    cr_assert_eq(rw_predict_leaves(ctx, model, data, 0, leaves), RW_OK);
    for (uint32_t i = 0; i < N_DOCS; i++) {
        scores[i] = 0.0;
        for (int32_t t = 0; t < model->n_trees; t++)
            scores[i] +=
                (double)model->tree[t].leaf[leaves[i * (uint32_t)model->n_trees + (uint32_t)t]];
    }
    expect_equal(scores, expected, "leaves");
    rw_model_free(model);
    rw_dataset_free(train);
    rw_dataset_free(data);
}

Test(categories, every_way_of_scoring_gives_the_same_bits)
{
    check_scores(N_WORDS);
    check_scores(MANY_WORDS);
}

/* `bins` words have codes, up to 1023, the most frequent ones. */
Test(categories, as_many_words_as_bins)
{
    static const struct {
        const char *bins;
        uint32_t n;
    } row[] = {{"255", 255}, {"256", 256}, {"1023", 1023}, {"1024", 1023}};
    static float rows[3 * N_DOCS];
    struct rw_dataset *data = made_data(1, rows);
    for (uint32_t d = 0; d < N_DOCS; d++) /* 1,500 words, of which 300 are twice */
        data->column[0].value[d] = (float)(d < 1500 ? d : (d - 1500) % 300 + 1000);
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct rw_model *model = trained_by(data, row[i].bins);
        const struct rw_feature_categories *of = rw_categories_find(&model->categories, 1);
        cr_assert_eq(of->n, row[i].n, "%s: %u words", row[i].bins, of->n);
        for (uint32_t word = 1000; word < 1255; word++)
            cr_assert_lt(rw_category_of_number(of, (float)word), of->n, "%u", word);
        round_trip(model);
        rw_model_free(model);
    }
    rw_dataset_free(data);
}

/* Documents by words are those by numbers, however the words are numbered. */
Test(categories, words_count_and_not_their_numbers)
{
    static float rows[3 * N_DOCS], turned[3 * N_DOCS];
    static double expected[N_DOCS], scores[N_DOCS];
    char text[N_WORDS + 1][8];
    const char *words[N_WORDS + 1];
    struct rw_dataset *plain = made_data(3, rows), *data = made_data(3, turned);
    struct rw_model *model = trained(plain);
    for (uint32_t i = 0; i < N_WORDS; i++) {
        snprintf(text[i], sizeof(text[i]), "%u", (i * 7 + 3) % N_WORDS); /* category of code i */
        words[i] = text[i];
    }
    words[N_WORDS] = "not in the data";
    struct rw_column *column = &data->column[0];
    for (uint32_t d = 0; d < N_DOCS; d++) {
        const uint32_t category = (uint32_t)column->value[d];
        for (uint32_t i = 0; i < N_WORDS; i++)
            if ((i * 7 + 3) % N_WORDS == category)
                column->value[d] = (float)i;
    }
    cr_assert_eq(rw_dataset_set_categories(ctx, data, 1, words, N_WORDS + 1), RW_OK);
    cr_assert_eq(rw_dataset_set_categories(ctx, data, 1, words, N_WORDS), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_predict(ctx, model, plain, 0, expected), RW_OK);
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    expect_equal(scores, expected, "by words");
    struct rw_model *of_words = trained(data);
    char *a, *b;
    size_t n_a, n_b;
    cr_assert_eq(rw_model_print(ctx, model, &a, &n_a), RW_OK);
    cr_assert_eq(rw_model_print(ctx, of_words, &b, &n_b), RW_OK);
    cr_assert(n_a == n_b && memcmp(a, b, n_a) == 0, "the models differ");
    round_trip(model);
    rw_mem_free(a);
    rw_mem_free(b);
    cr_assert_eq(rw_dataset_set_categories(ctx, plain, 3, words, N_WORDS), RW_ERR_DATA);
    cr_assert(strstr(rw_last_error(ctx), "expected a category in feature 3"));
    cr_assert_eq(rw_dataset_set_categories(ctx, plain, 1, words, 3), RW_ERR_DATA);
    rw_model_free(model);
    rw_model_free(of_words);
    rw_dataset_free(plain);
    rw_dataset_free(data);
}

/* ---- the model's text ---- */

#define HEAD4  "rankwood model 4\nabsent zero\nbest-round 0\nfinished yes\nempty-rounds 0\n\n"
#define BEGIN4 HEAD4 "params 0\n\nearlier 0\n\nfeatures 2\n1-2\n\nnames 0\n\n"
#define BEGIN5                                                                                  \
    "rankwood model 5\nabsent zero\nbest-round 0\nfinished yes\nempty-rounds 0\n\nparams 0\n\n" \
    "earlier 0\n\nfeatures 2\n1-2\n\nnames 0\n\n"
#define CATEGORIES4 \
    "categories 1\nfeature 1 words 3\ncategory a\ncategory b b\ncategory \xc3\xa9\n\n"
#define TREE4(codes)                                                            \
    "metrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 2\nnode 0 feature 1 " codes \
    " left leaf 0 right leaf 1 missing left gain 1\nleaf 0 1\nleaf 1 -1\n\n"

Test(categories, sets_read_back)
{
    static const char *const good[] = {"in none", "in 0",     "in 3",  "in 0-3",
                                       "in 0,2",  "in 0,2-3", "in 1-2"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        char text[2048], node[64];
        struct rw_model *model;
        char *out;
        size_t n;
        snprintf(text, sizeof(text), BEGIN4 CATEGORIES4 TREE4("%s"), good[i]);
        snprintf(node, sizeof(node), "node 0 feature 1 %s left leaf 0", good[i]);
        char *whole = fixture_sum(text, strlen(text), &n);
        cr_assert_eq(parse(whole, n, &model), RW_OK, "%s", rw_last_error(ctx));
        cr_assert_eq(rw_model_print(ctx, model, &out, &n), RW_OK);
        cr_assert(memmem(out, n, CATEGORIES4, strlen(CATEGORIES4)), "%s", good[i]);
        cr_assert(memmem(out, n, node, strlen(node)), "%s", good[i]);
        round_trip(model);
        rw_mem_free(out);
        free(whole);
        rw_model_free(model);
    }
}

/* A feature with so many words, and a split by the last code, as a text of that version. */
static int parse_many(int version, uint32_t n_words, struct rw_model **model)
{
    static char text[65536];
    size_t n, at;
    at = (size_t)snprintf(text, sizeof(text), BEGIN5 "categories 1\nfeature 1 words %u\n", n_words);
    text[strlen("rankwood model ")] = (char)('0' + version);
    for (uint32_t i = 0; i < n_words; i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "category w%04u\n", i);
    snprintf(text + at, sizeof(text) - at, "\n" TREE4("in 0,%u"), n_words);
    char *whole = fixture_sum(text, strlen(text), &n);
    const int status = parse(whole, n, model);
    if (status == RW_OK)
        round_trip(*model);
    free(whole);
    return status;
}

Test(categories, versions_of_many_words)
{
    struct rw_model *model;
    cr_assert_eq(parse_many(4, 255, &model), RW_OK, "%s", rw_last_error(ctx));
    rw_model_free(model);
    cr_assert_eq(parse_many(5, 256, &model), RW_OK, "%s", rw_last_error(ctx));
    rw_model_free(model);
    cr_assert_eq(parse_many(5, 1023, &model), RW_OK, "%s", rw_last_error(ctx));
    cr_assert(rw_set_has(&model->tree[0].set[0], 1023));
    rw_model_free(model);
    cr_assert_eq(parse_many(4, 256, &model), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(ctx), "m:17: expected at most 255 words, found 256");
    cr_assert_eq(parse_many(5, 1024, &model), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(ctx), "m:17: expected at most 1023 words, found 1024");
}

/* Numbers would all be categories that training never saw. */
Test(categories, rows_have_no_words)
{
    const float values[3] = {0};
    struct rw_model *model;
    struct rw_scorer *scorer;
    double score;
    cr_assert_eq(parse_many(5, 3, &model), RW_OK);
    cr_assert_eq(rw_scorer_new(ctx, model, 0, &scorer), RW_OK);
    cr_assert_eq(rw_scorer_rows(ctx, scorer, values, 1, 3, 0, &score), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(ctx), "feature 1: its categories are words, such as 'w0000'; "
                                         "rows have numbers only");
    cr_assert_eq(rw_scorer_rows(NULL, scorer, values, 1, 3, 0, &score), RW_ERR_DATA);
    rw_scorer_free(scorer);
    rw_model_free(model);
}

Test(categories, hostile_sets_and_words)
{
    static const char *const bad[][2] = {
        {BEGIN4 CATEGORIES4 TREE4("<= 1"), "expected 'in'"},
        {BEGIN4 CATEGORIES4 TREE4("in "), "expected a code"},
        {BEGIN4 CATEGORIES4 TREE4("in 4"), "expected codes of the feature that ascend"},
        {BEGIN4 CATEGORIES4 TREE4("in 0-1024"), "expected a code"},
        {BEGIN4 CATEGORIES4 TREE4("in 0,1"), "expected codes of the feature that ascend"},
        {BEGIN4 CATEGORIES4 TREE4("in 2-2"), "expected codes of the feature that ascend"},
        {BEGIN4 CATEGORIES4 TREE4("in 2,0"), "expected codes of the feature that ascend"},
        {BEGIN4 CATEGORIES4 TREE4("in 0,"), "expected a code"},
        {BEGIN4 "categories 0\n\n" TREE4("in 0"), "expected '<='"},
        {BEGIN4 "categories 1\nfeature 1 words 2\ncategory b\ncategory a\n\n", "words that ascend"},
        {BEGIN4 "categories 1\nfeature 1 words 1\ncategory \n\n", "expected a word"},
        {BEGIN4 "categories 1\nfeature 1 words 256\n\n", "expected"},
        {BEGIN4 "categories 2\nfeature 1 words 0\nfeature 1 words 0\n\n", "ids that ascend"},
        {BEGIN4 "categories 1\nfeature 65536 words 0\n\n", "expected a feature id"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rw_model *model;
        size_t n;
        char *whole = fixture_sum(bad[i][0], strlen(bad[i][0]), &n);
        cr_assert_eq(parse(whole, n, &model), RW_ERR_FORMAT, "%zu", i);
        cr_assert(strstr(rw_last_error(ctx), bad[i][1]), "%zu: '%s' is not '%s'", i,
                  rw_last_error(ctx), bad[i][1]);
        free(whole);
    }
}

/* Copies made before memory ran out are freed: the sanitizers detect leaks. */
Test(categories, copies_that_lack_memory)
{
    char first[] = "7", second[] = "shoes";
    char *words[] = {first, second};
    struct rw_feature_categories of[] = {{.feature = 1, .n = 2, .word = words},
                                         {.feature = 4, .n = 1, .word = words}};
    const struct rw_categories from = {2, of};
    int status = RW_ERR_MEMORY;
    for (long n = 1; status != RW_OK; n++) {
        struct rw_categories to;
        rw_mem_fail_once(n);
        status = rw_categories_copy(ctx, &from, &to);
        rw_mem_fail_once(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY);
        cr_assert_eq(status == RW_OK, n == 9, "%ld", n);
        rw_categories_release(&to);
    }
}
