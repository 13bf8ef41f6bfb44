/* Splits by categories in the formats that can say them. */
#include <unistd.h>

#include "category_fixture.h"
#include "convert_fixture.h"
#include "each.h"
#include "scratch_file.h"

TestSuite(convert_categories, .init = scratch_begin, .fini = scratch_end, .timeout = 100);

enum { N_DOCS = 400, N_VALUES = 12 };

/* Features 3 and 7 by numbers. */
static struct rw_model *by_numbers(uint64_t seed)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 4, (int32_t)(2 + seed), 6, seed);
    fixture_by_category(scratch_ctx, model, 3, category_numbers, N_CATEGORY_NUMBERS, 0, seed);
    fixture_by_category(scratch_ctx, model, 7, category_numbers, N_CATEGORY_NUMBERS, 0, seed + 50);
    cr_assert_eq(rw_model_check(scratch_ctx, model), RW_OK, "%s", rw_last_error(scratch_ctx));
    return model;
}

static float value_of(uint64_t seed, uint64_t doc, uint64_t feature)
{
    if (feature == 3 || feature == 7)
        return fixture_category(seed, doc * N_VALUES + feature);
    return (float)fixture_below(seed, doc * N_VALUES + feature, 9) * 0.5f - 2.0f;
}

/* Do both give each document the same double? */
static void same_scores(const struct rw_model *a, const struct rw_model *b, const char *why)
{
    float x[N_VALUES];
    for (uint64_t d = 0; d < N_DOCS; d++) {
        for (uint64_t i = 0; i < N_VALUES; i++)
            x[i] = value_of(4, d, i);
        const double ours = rw_predict_one(a, x, N_VALUES), theirs = rw_predict_one(b, x, N_VALUES);
        cr_assert(ours == theirs, "%s, document %d: %.17g, there %.17g", why, (int)d, ours, theirs);
    }
}

Test(convert_categories, out_and_in_again)
{
    static const char *const formats[] = {"lightgbm", "xgboost", "xgboost-ubj",
                                          "onnx",     "onnx5",   "catboost"};
    for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
        const struct rw_model_format *format = convert_format(formats[f]);
        for (uint64_t seed = 1; seed <= 20; seed += EACH(4)) {
            struct rw_model *model = by_numbers(seed), *back;
            size_t n;
            char *text = convert_write(scratch_ctx, model, format, 0, &n);
            cr_assert_eq(convert_read(scratch_ctx, text, n, format, 0, &back), RW_OK, "%s: %s",
                         formats[f], rw_last_error(scratch_ctx));
            same_scores(model, back, formats[f]);
            if (seed == 2)
                convert_damaged(formats[f], text, n);
            rw_mem_free(text);
            rw_model_free(back);
            rw_model_free(model);
        }
    }
}

/* A split of feature 3 by 1,023 categories, 1000 to 2022; every third one goes left. */
static struct rw_model *many_words(void)
{
    static char body[65536];
    size_t at = (size_t)snprintf(body, sizeof(body),
                                 "rankwood model 5\nabsent zero\nbest-round 0\nfinished yes\n"
                                 "empty-rounds 0\n\nparams 0\n\nearlier 0\n\nfeatures 2\n3-4\n\n"
                                 "names 0\n\ncategories 1\nfeature 3 words %d\n",
                                 RW_MAX_CATEGORIES);
    for (int i = 0; i < RW_MAX_CATEGORIES; i++)
        at += (size_t)snprintf(body + at, sizeof(body) - at, "category %d\n", 1000 + i);
    at += (size_t)snprintf(body + at, sizeof(body) - at,
                           "\nmetrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 2\n"
                           "node 0 feature 3 in 1");
    for (int i = 4; i < RW_MAX_CATEGORIES; i += 3)
        at += (size_t)snprintf(body + at, sizeof(body) - at, ",%d", i);
    snprintf(body + at, sizeof(body) - at,
             " left leaf 0 right leaf 1 missing right gain 1\nleaf 0 1\nleaf 1 2\n\n");
    return fixture_model(scratch_ctx, body);
}

Test(convert_categories, many)
{
    enum { FIRST = 990, N = 1100 };
    static float values[N * 4], labels[N];
    static const uint32_t offsets[] = {0, N};
    struct rw_model *model = many_words();
    struct rw_model_format_info info;
    struct rw_dataset *data;
    for (int i = 0; i < N; i++)
        values[4 * i + 3] = i == 5 ? NAN : (float)(FIRST + i);
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, N, 4, 1, 0, &data),
                 RW_OK);
    for (int f = 0; rw_model_format_at(f, &info); f++) {
        const struct rw_model_format *format = convert_format(info.name);
        const struct rw_exchange how = {.format = info.name, .feature_base = 0};
        struct rw_verify out;
        struct rw_model *back;
        if (format->categories == RW_SAYS_NO_CATEGORIES)
            continue;
        cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s: %s", info.name,
                     rw_last_error(scratch_ctx));
        cr_assert_eq(rw_model_verify(scratch_ctx, model, &how, "out", data, &out), RW_OK, "%s: %s",
                     info.name, rw_last_error(scratch_ctx));
        for (int k = 0; k < out.n; k++)
            cr_assert_eq(out.by[k].n_differ, 0, "%s: %u differ", info.name, out.by[k].n_differ);
        if (rw_model_import(scratch_ctx, "out", &how, &back) != RW_OK) {
            cr_assert(!format->imports, "%s: %s", info.name, rw_last_error(scratch_ctx));
            continue;
        }
        for (int i = 0; i < N; i++)
            cr_assert_eq(rw_predict_one(back, values + 4 * i, 4),
                         i == 5 || i < 10 || (i - 10) % 3 != 1 || i - 10 >= RW_MAX_CATEGORIES ? 2
                                                                                              : 1,
                         "%s: %g", info.name, (double)values[4 * i + 3]);
        rw_model_free(back);
    }
    rw_dataset_free(data);
    rw_model_free(model);
}

static struct rw_dataset *documents(void)
{
    static float values[N_DOCS * N_VALUES], labels[N_DOCS];
    uint32_t offsets[N_DOCS / 10 + 1];
    struct rw_dataset *data;
    for (uint64_t i = 0; i < N_DOCS * N_VALUES; i++)
        values[i] = value_of(9, i / N_VALUES, i % N_VALUES);
    for (uint32_t q = 0; q <= N_DOCS / 10; q++)
        offsets[q] = q * 10;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, N_DOCS, N_VALUES,
                                        N_DOCS / 10, 0, &data),
                 RW_OK);
    return data;
}

/* Each consumer's rules send every document where our trees do, and not where others' would. */
Test(convert_categories, verified)
{
    struct rw_dataset *data = documents();
    struct rw_model_format_info info;
    int n = 0;
    for (int i = 0; rw_model_format_at(i, &info); i++) {
        if (convert_format(info.name)->categories == RW_SAYS_NO_CATEGORIES)
            continue;
        n++;
        for (uint64_t seed = 1; seed <= 12; seed += EACH(4)) {
            struct rw_model *model = by_numbers(seed);
            const struct rw_exchange how = {.format = info.name, .feature_base = 0};
            struct rw_verify out;
            cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s: %s",
                         info.name, rw_last_error(scratch_ctx));
            cr_assert_eq(rw_model_verify(scratch_ctx, model, &how, "out", data, &out), RW_OK,
                         "%s: %s", info.name, rw_last_error(scratch_ctx));
            for (int k = 0; k < out.n; k++)
                cr_assert_eq(out.by[k].n_differ, 0, "%s, seed %d: %u differ, tree %d, node %d",
                             info.name, (int)seed, out.by[k].n_differ, out.by[k].tree,
                             out.by[k].node);
            rw_model_free(model);
        }
    }
    cr_assert_geq(n, 8);
    rw_dataset_free(data);
}

static const char stump[] =
    "rankwood model 4\nabsent zero\nbest-round 0\nfinished yes\nempty-rounds 0\n\nparams 0\n\n"
    "earlier 0\n\nfeatures 2\n0-1\n\nnames 0\n\ncategories 1\nfeature 0 words 3\ncategory 1\n"
    "category 35\ncategory 4\n\nmetrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 2\n"
    "node 0 feature 0 in %s left leaf 0 right leaf 1 missing %s gain 1\nleaf 0 1\nleaf 1 2\n\n";

static char *stump_as(const char *format, const char *codes, const char *missing, size_t *n)
{
    char body[1000];
    snprintf(body, sizeof(body), stump, codes, missing);
    struct rw_model *model = fixture_model(scratch_ctx, body);
    char *text = convert_write(scratch_ctx, model, convert_format(format), 0, n);
    rw_model_free(model);
    return text;
}

static void has(const char *format, const char *codes, const char *missing, const char *part)
{
    size_t n;
    char *text = stump_as(format, codes, missing, &n);
    cr_assert_not_null(strstr(text, part), "%s, %s: expected %s in\n%s", format, codes, part, text);
    rw_mem_free(text);
}

/* The categories that go left are listed, so all others, and missing values, go right. */
Test(convert_categories, lightgbm_text)
{
    has("lightgbm", "1-2", "right",
        "num_leaves=2\nnum_cat=1\nsplit_feature=0\nsplit_gain=1.0\nthreshold=0\ndecision_type=9\n"
        "left_child=-1\nright_child=-2\nleaf_value=1.0 2.0\nleaf_weight=0.0 0.0\nleaf_count=1 1\n"
        "internal_weight=0.0\ninternal_count=2\ncat_boundaries=0 2\n"
        "cat_threshold=16 8\n");
    has("lightgbm", "1-2", "right", "feature_infos=1:4:35 [0.0:0.0]\n");
    /* The others go left in ours: they are the ones that are listed there. */
    has("lightgbm", "1-3", "left",
        "left_child=-2\nright_child=-1\nleaf_value=1.0 2.0\nleaf_weight=0.0 0.0\nleaf_count=1 1\n"
        "internal_weight=0.0\ninternal_count=2\ncat_boundaries=0 1\ncat_threshold=2\n");
    /* Missing values, and no others, go right. */
    has("lightgbm", "0-3", "right",
        "num_cat=0\nsplit_feature=0\nsplit_gain=1.0\nthreshold=2147483648.0\ndecision_type=8\n"
        "left_child=-1\nright_child=-2\n");
    /* Missing values go to the side of the listed categories: a separate split precedes. */
    has("lightgbm", "1-2", "left",
        "num_leaves=3\nnum_cat=1\nsplit_feature=0 0\nsplit_gain=0.0 1.0\nthreshold=2147483648.0 0\n"
        "decision_type=8 9\nleft_child=1 -1\nright_child=-3 -2\nleaf_value=1.0 2.0 1.0\n");
}

/* The categories that go right are listed. */
Test(convert_categories, xgboost_text)
{
    has("xgboost", "1-2", "left",
        "\"categories\":[4,35],\"categories_nodes\":[0],\"categories_segments\":[0],"
        "\"categories_sizes\":[2],\"default_left\":[0,0,0]");
    has("xgboost", "1-2", "left", "\"split_conditions\":[0.0,2.0,1.0]");
    has("xgboost", "1-3", "left", "\"categories\":[1],");
    has("xgboost", "1-3", "left", "\"default_left\":[1,0,0]");
    has("xgboost", "1-3", "left", "\"split_conditions\":[0.0,1.0,2.0]");
    has("xgboost", "1-3", "left", "\"split_type\":[1,0,0]");
    has("xgboost", "1-3", "left", "\"feature_types\":[\"c\",\"float\"]");
    has("xgboost", "none", "left", "\"categories\":[],");
}

Test(convert_categories, pmml_text)
{
    has("pmml", "1-2", "left",
        "<DataField name=\"f0\" optype=\"categorical\" dataType=\"double\"/>\n");
    has("pmml", "1-2", "left",
        "<Node id=\"n0\" defaultChild=\"l0\"><True/>\n"
        "<Node id=\"l0\" score=\"1.0\"><SimpleSetPredicate field=\"f0\" booleanOperator=\"isIn\">"
        "<Array n=\"2\" type=\"int\">4 35</Array></SimpleSetPredicate></Node>\n"
        "<Node id=\"l1\" score=\"2.0\"><SimpleSetPredicate field=\"f0\" "
        "booleanOperator=\"isNotIn\"><Array n=\"2\" type=\"int\">4 35</Array>");
    has("pmml", "none", "left",
        "<SimplePredicate field=\"f0\" operator=\"isMissing\"/></Node>\n<Node id=\"l1\" "
        "score=\"2.0\"><SimplePredicate field=\"f0\" operator=\"isNotMissing\"/>");
}

/* A model of LightGBM's with one categorical split. */
#define HEAD(infos)                                                                               \
    "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n" \
    "objective=lambdarank\nfeature_names=Column_0 Column_1\nfeature_infos=" infos "\n"            \
    "tree_sizes=1\n\n"
#define TREE                                                                                   \
    "Tree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=0 1\nthreshold=0 0.5\ndecision_type=1 2\n" \
    "left_child=1 -1\nright_child=-2 -3\nleaf_value=1 2 3\ncat_boundaries=0 2\ncat_threshold=" \
    "5 1\n\n\nend of trees\n\n"

static struct rw_model *read_lightgbm(const char *text)
{
    struct rw_model *model;
    cr_assert_eq(
        convert_read(scratch_ctx, text, strlen(text), convert_format("lightgbm"), 0, &model), RW_OK,
        "%s", rw_last_error(scratch_ctx));
    return model;
}

Test(convert_categories, lightgbm_read)
{
    struct rw_model *model = read_lightgbm(HEAD("0:1:2:32 [0:1]") TREE);
    cr_assert_eq(model->categories.n, 1);
    cr_assert_eq(model->categories.of[0].n, 3);
    cr_assert_str_eq(model->categories.of[0].word[0], "0");
    cr_assert_str_eq(model->categories.of[0].word[2], "32");
    cr_assert_eq(model->tree[0].set[0].word[0], 7);
    cr_assert_eq(model->tree[0].missing_left[0], 0);
    rw_model_free(model);
    model = read_lightgbm(HEAD("0:1 [0:1]") TREE "\npandas_categorical:null\n");
    cr_assert_str_eq(model->categories.of[0].word[1], "2");
    rw_model_free(model);
}

/* All of a split's categories have a code, up to 1,023. */
Test(convert_categories, as_many_as_there_are_codes)
{
    for (int n = RW_MAX_CATEGORIES; n <= RW_MAX_CATEGORIES + 1; n++) {
        char text[4096];
        size_t at = (size_t)snprintf(text, sizeof(text), "%s", HEAD("0:1 [0:1]"));
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "Tree=0\nnum_leaves=2\nnum_cat=1\nsplit_feature=0\nthreshold=0\n"
                               "decision_type=1\nleft_child=-1\nright_child=-2\nleaf_value=1 2\n"
                               "cat_boundaries=0 32\ncat_threshold=");
        for (int word = 0; word < 31; word++)
            at += (size_t)snprintf(text + at, sizeof(text) - at, "4294967295 ");
        snprintf(text + at, sizeof(text) - at, "%s\n\n\nend of trees\n\n",
                 n == RW_MAX_CATEGORIES ? "2147483647" : "4294967295");
        if (n > RW_MAX_CATEGORIES) {
            convert_refused("lightgbm", text,
                            "file: categorical feature 0 has more than 1023 categories in its "
                            "splits, the limit of Rankwood");
            continue;
        }
        struct rw_model *model = read_lightgbm(text);
        cr_assert_eq(model->categories.of[0].n, 1023);
        const float last[] = {1022}, beyond[] = {1023};
        cr_assert(rw_predict_one(model, last, 1) == 1 && rw_predict_one(model, beyond, 1) == 2);
        rw_model_free(model);
    }
}

#define LIST3  "\"c\",7,\"\xc3\xa9\""
#define LIST11 LIST3 ",3,4,5,6,8,9,10,11"
#define LIST33                   \
    LIST11 "," /* and 22 more */ \
           "12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,\"a\""

Test(convert_categories, words_of_pandas)
{
    struct rw_model *model =
        read_lightgbm(HEAD("0:1:2 [0:1]") TREE "\npandas_categorical:[[" LIST33 "]]\n");
    cr_assert_eq(model->categories.of[0].n, 3);
    cr_assert_str_eq(model->categories.of[0].word[0], "a");
    cr_assert_str_eq(model->categories.of[0].word[1], "c");
    cr_assert_str_eq(model->categories.of[0].word[2], "\xc3\xa9");
    rw_model_free(model);
}

static void wrong(const char *old, const char *new, const char *message)
{
    char *text = fixture_replaced(HEAD("0:1 [0:1]") TREE "\npandas_categorical:[]\n", old, new);
    convert_refused("lightgbm", text, message);
    free(text);
}

Test(convert_categories, lightgbm_refused)
{
    wrong("threshold=0", "threshold=1",
          "file: tree 1: a categorical split by set 1, but num_cat is 1");
    wrong("threshold=0", "threshold=-1",
          "file: tree 1: a categorical split by set -1, but num_cat is 1");
    wrong("cat_boundaries=0 2\n", "", "file: tree 1: missing 'cat_boundaries'");
    wrong("cat_threshold=5 1\n", "", "file: tree 1: missing 'cat_threshold'");
    wrong("num_cat=1", "num_cat=1000000000", "file: tree 1: 'cat_boundaries' has too few numbers");
    wrong("cat_boundaries=0 2", "cat_boundaries=0 3",
          "file: tree 1: 'cat_threshold' has too few numbers");
    wrong("5 1\n", "555\n", "file: tree 1: 'cat_threshold' has too few numbers");
    wrong("cat_boundaries=0 2", "cat_boundaries=0 1",
          "file: tree 1: 'cat_threshold' has too many numbers");
    wrong("cat_boundaries=0 2", "cat_boundaries=1 2",
          "file: tree 1: 'cat_boundaries': expected numbers that ascend from 0");
    wrong("5 1\n", "-5 1\n",
          "file: tree 1: 'cat_threshold': expected whole numbers from 0 to "
          "4294967295");
    wrong("split_feature=0 1", "split_feature=0 0",
          "file: categorical feature 0 is also compared with a threshold");
    wrong("categorical:[]", "categorical:[[1],[2]]",
          "file: 'pandas_categorical' has 2 lists, but 1 features are categorical, so lists cannot "
          "be matched to features");
    wrong("categorical:[]", "categorical:[[1.5]]",
          "file: 'pandas_categorical': expected strings and whole numbers");
    wrong("categorical:[]", "categorical:[7]",
          "file: 'pandas_categorical': expected a list of lists");
    wrong("categorical:[]", "categorical:7",
          "file: 'pandas_categorical': expected a list, or null");
    wrong("categorical:[]", "categorical:[[\"a\"]]",
          "file: tree 1, node 0: category 2 of a feature with 1 categories");
}

/* A node that no split leads to has its categories in the model's list, too. */
Test(convert_categories, lightgbm_outside_the_trees)
{
    static const char text[] =
        HEAD("0:1 [0:1]") "Tree=0\nnum_leaves=3\nnum_cat=1\nsplit_feature=1 0\nthreshold=0.5 0\n"
                          "decision_type=2 1\nleft_child=-1 -1\nright_child=-2 -3\n"
                          "leaf_value=1 2 3\ncat_boundaries=0 2\ncat_threshold=5 1\n\n\n"
                          "end of trees\n\npandas_categorical:[[\"a\"]]\n";
    convert_refused("lightgbm", text,
                    "file: tree 1, node 1: category 2 of a feature with 1 categories");
}

/* Categories 4 and 35 of feature 0 go right in XGBoost; `cats` has their values. */
static char *xgboost_with(const char *cats)
{
    static const char before[] = "\"gbtree_model_param\"";
    char with[1000];
    size_t n;
    char *text = stump_as("xgboost", "1-2", "left", &n);
    snprintf(with, sizeof(with), "\"cats\":%s,%s", cats, before);
    char *out = fixture_replaced(text, before, with);
    rw_mem_free(text);
    return out;
}

#define NUMBERS36                                                                              \
    "-3,1,2,3,77,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31," \
    "32,33,34,70000000000"
#define NONE "{\"offsets\":[],\"values\":[]}"

Test(convert_categories, words_of_xgboost)
{
    struct rw_model *model;
    char *text = xgboost_with("{\"enc\":[{\"type\":15,\"values\":[" NUMBERS36 "]}," NONE "]}");
    cr_assert_eq(
        convert_read(scratch_ctx, text, strlen(text), convert_format("xgboost"), 0, &model), RW_OK,
        "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(model->categories.n, 1);
    cr_assert_eq(model->categories.of[0].n, 2);
    cr_assert_str_eq(model->categories.of[0].word[0], "70000000000");
    cr_assert_str_eq(model->categories.of[0].word[1], "77");
    rw_model_free(model);
    free(text);
    text = xgboost_with("{\"enc\":[]}"); /* of no data frame */
    cr_assert_eq(
        convert_read(scratch_ctx, text, strlen(text), convert_format("xgboost"), 0, &model), RW_OK);
    cr_assert_str_eq(model->categories.of[0].word[0], "35");
    rw_model_free(model);
    free(text);
}

static void wrong_cats(const char *enc, const char *message)
{
    char cats[800];
    snprintf(cats, sizeof(cats), "{\"enc\":[%s]}", enc);
    char *text = xgboost_with(cats);
    convert_refused("xgboost", text, message);
    free(text);
}

Test(convert_categories, words_of_xgboost_refused)
{
    wrong_cats(NONE, "file: 'cats' has the categories of 1 features; expected 2");
    wrong_cats("{\"offsets\":[0,2],\"values\":[97,-61]}," NONE,
               "file: 'cats': feature 0 has a category with non-ASCII characters, which XGBoost "
               "truncates");
    wrong_cats("{\"offsets\":[0,1,2],\"values\":[97,98]}," NONE,
               "file: tree 1, node 0: category 4 of a feature with 2 categories");
    wrong_cats("{\"offsets\":[0,3],\"values\":[97,98]}," NONE,
               "file: 'offsets': expected a whole number from 0 to 2");
    wrong_cats("{\"offsets\":[1,2],\"values\":[97,98]}," NONE,
               "file: 'offsets': expected a whole number from 0 to 0");
    wrong_cats("{\"offsets\":[0,2,1],\"values\":[97,98]}," NONE,
               "file: 'offsets': expected a whole number from 2 to 2");
    wrong_cats("{\"values\":[\"a\"]}," NONE,
               "file: 'values': expected a whole number from -9223372036854775808 to "
               "9223372036854775807");
    wrong_cats("{\"values\":[1.5]}," NONE,
               "file: 'values': expected a whole number from -9223372036854775808 to "
               "9223372036854775807");
    wrong_cats("{\"type\":15}," NONE, "file: missing 'values': expected an array");
    wrong_cats("7," NONE, "file: missing 'values': expected an array");
}

/* Features by words: 3. */
static struct rw_model *by_words(int plain)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 12, 12, 6, 8);
    fixture_by_category(scratch_ctx, model, 3, category_words, N_CATEGORY_WORDS, plain, 8);
    return model;
}

static void refused(const struct rw_model *model, const char *format, int lossy,
                    const char *message)
{
    struct rw_exchange how = convert_exchange(format, lossy);
    how.feature_base = 0;
    if (how.featureset)
        how.feature_base = RW_FEATURE_BASE_AUTO;
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_ERR_UNSUPPORTED, "%s",
                 format);
    const char *error = rw_last_error(scratch_ctx), *after = strstr(error, "feature 3");
    cr_assert_not_null(after, "%s: %s", format, error);
    cr_assert_str_eq(after, message, "%s: %s", format, error);
    cr_assert_neq(access("out", F_OK), 0);
}

Test(convert_categories, refused_by_name)
{
    struct rw_model *words = by_words(1), *apart = by_words(0);
    static const char *const none[] = {"ranklib",    "quickrank",       "xgboost-dump",
                                       "opensearch", "elasticsearch",   "eslr-raw",
                                       "solr",       "elasticsearch-ml"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        char message[200];
        snprintf(message, sizeof(message),
                 "feature 3 is categorical; '%s' cannot represent categorical splits", none[i]);
        refused(words, none[i], 0, message);
    }
    static const char *const by_number[] = {"xgboost", "xgboost-ubj", "onnx", "onnx5"};
    for (size_t i = 0; i < sizeof(by_number) / sizeof(by_number[0]); i++) {
        char message[200];
        snprintf(
            message, sizeof(message),
            "feature 3: category 'a \"quoted\" one'; in '%s' categories are whole numbers up to "
            "16777215",
            by_number[i]);
        refused(words, by_number[i], 0, message);
    }
    refused(
        apart, "lightgbm", 0,
        "feature 3: a missing value goes to one child, an unseen category to the other; 'lightgbm' "
        "treats both as missing\nhint: --lossy sends both where unseen categories go");
    const struct rw_exchange how = {.format = "lightgbm", .feature_base = 0, .lossy = 1};
    cr_assert_eq(rw_model_export(scratch_ctx, apart, &how, "out"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_model_free(words);
    rw_model_free(apart);
}

static void not_in_pmml(struct rw_model *model, const char *message)
{
    const struct rw_exchange how = {.format = "pmml", .feature_base = 0};
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(scratch_ctx), message);
    cr_assert_neq(access("out", F_OK), 0);
    rw_model_free(model);
}

Test(convert_categories, pmml_refused)
{
    char body[1000];
    not_in_pmml(by_words(0), "feature 'f3': the category 'a \"quoted\" one' has a character that "
                             "'pmml' cannot represent");
    snprintf(body, sizeof(body), stump, "none", "right");
    not_in_pmml(fixture_model(scratch_ctx, body),
                "a categorical split with an empty side, which 'pmml' cannot represent");
}

/* A missing category is found, at a node of Rankwood's tree, though the written tree has
 * different nodes. */
Test(convert_categories, lossy_differs)
{
    struct rw_dataset *data = documents();
    for (uint64_t seed = 1; seed <= 40; seed += EACH(4)) {
        struct rw_model *model = fixture_random_model(scratch_ctx, 12, 12, 6, seed);
        fixture_by_category(scratch_ctx, model, 3, category_words, N_CATEGORY_WORDS, 0, seed);
        fixture_by_category(scratch_ctx, model, 7, category_numbers, N_CATEGORY_NUMBERS, 0, seed);
        const struct rw_exchange how = {.format = "lightgbm", .feature_base = 0, .lossy = 1};
        struct rw_verify out;
        cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert_eq(rw_model_verify(scratch_ctx, model, &how, "out", data, &out), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert_gt(out.by[0].n_differ, 0);
        const struct rw_tree *tree = &model->tree[out.by[0].tree - 1];
        cr_assert_lt(out.by[0].node, tree->n_leaves - 1);
        cr_assert_eq(tree->feature[out.by[0].node], 3, "seed %d, tree %d, node %d: feature %u",
                     (int)seed, out.by[0].tree, out.by[0].node, tree->feature[out.by[0].node]);
        rw_model_free(model);
    }
    rw_dataset_free(data);
}
