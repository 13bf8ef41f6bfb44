/* Splits by categories in CatBoost's JSON: values to be compared with, and statistics. */
#include "category_fixture.h"
#include "convert/convert.h"
#include "convert_fixture.h"

/* Of "a", "ab", "abc", ... to 200 letters, as CatBoost 1.2.10 has them (cat_features_hash). */
Test(catboost_sets, hashes)
{
    static const struct {
        size_t length;
        uint32_t hash;
    } cases[] = {
        {1, 3489901818u},   {2, 4090249022u},   {3, 978243121u},   {4, 345588365u},
        {7, 163411706u},    {8, 4270775063u},   {9, 3019552977u},  {12, 2045114484u},
        {16, 2150978241u},  {17, 322581478u},   {24, 1718090373u}, {32, 3415322058u},
        {33, 2090669265u},  {48, 2482416860u},  {64, 2864932259u}, {65, 960544654u},
        {100, 3644361809u}, {128, 4152557638u}, {129, 428109503u}, {192, 2791253231u},
        {193, 4145740527u}, {200, 95613283u},   {0, 797982799u},
    };
    char text[201];
    for (size_t i = 0; i < 200; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char word[201];
        snprintf(word, sizeof(word), "%.*s", (int)cases[i].length, text);
        cr_assert_eq(rw_catboost_hash(word), cases[i].hash, "%s: %u", word, rw_catboost_hash(word));
    }
}

Test(catboost_sets, keys)
{
    for (uint64_t i = 0; i < 1000; i++) {
        const uint32_t hash = (uint32_t)(i * 0x9e3779b97f4a7c15u >> 32);
        uint32_t back;
        cr_assert_eq(rw_catboost_hash_of_key(rw_catboost_key(hash), &back), 1);
        cr_assert_eq(back, hash);
        cr_assert_eq(rw_catboost_hash_of_key(rw_catboost_key(hash) + 1, &back), 0);
    }
}

static const char stump[] =
    "rankwood model 4\nabsent zero\nbest-round 0\nfinished yes\nempty-rounds 0\n\nparams 0\n\n"
    "earlier 0\n\nfeatures 3\n0-2\n\nnames 0\n\ncategories 1\nfeature 1 words 3\n%s\n"
    "metrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 3\n"
    "node 0 feature 2 <= 0.5 left leaf 0 right node 1 missing left gain 0\n"
    "node 1 feature 1 in %s left leaf 1 right leaf 2 missing %s gain 1\nleaf 0 1\nleaf 1 2\n"
    "leaf 2 4\n\n";
#define NUMBERS "category 1\ncategory 35\ncategory 4\n"

static struct rw_model *model_of(struct rw_ctx *ctx, const char *words, const char *codes,
                                 const char *missing)
{
    char body[1000];
    snprintf(body, sizeof(body), stump, words, codes, missing);
    return fixture_model(ctx, body);
}

static void has(const char *codes, const char *missing, const char *part)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = model_of(ctx, NUMBERS, codes, missing);
    size_t n;
    char *text = convert_write(ctx, model, convert_format("catboost"), 0, &n);
    cr_assert_not_null(strstr(text, part), "%s, %s: expected %s in\n%s", codes, missing, part,
                       text);
    rw_mem_free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* The set lists the categories that go right; codes 0 to 2 are "1", "35", "4", and 3 means all
 * others. */
Test(catboost_sets, values)
{
    static const char entry[] =
        "\"categorical_features\":[\n{\"feature_index\":0,\"flat_feature_index\":1,"
        "\"feature_id\":\"\",\"values\":[%s]}\n],\n\"cat_features_hash\":[";
    static const struct {
        const char *codes, *missing, *value, *first;
    } cases[] = {{"0", "right", "1121341681", "4.0"},
                 {"1-3", "right", "1121341681", "2.0"},
                 {"2", "right", "-78686594", "4.0"},
                 {"none", "left", "797982799", "4.0"},
                 {"0-3", "right", "797982799", "2.0"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char part[300];
        const char *missing = i == 1 ? "left" : cases[i].missing;
        snprintf(part, sizeof(part), entry, cases[i].value);
        has(cases[i].codes, missing, part);
        snprintf(part, sizeof(part),
                 "\"right\":{\"split\":{\"cat_feature_index\":0,\"value\":%s,\"split_index\":1,"
                 "\"split_type\":\"OneHotFeature\"},\"left\":{\"value\":%s,\"weight\":1.0}",
                 cases[i].value, cases[i].first);
        has(cases[i].codes, missing, part);
        has(cases[i].codes, missing, "\"feature_index\":1,\"flat_feature_index\":2,");
        has(cases[i].codes, missing, "\"float_feature_index\":1,\"split_index\":0,");
    }
}

#define TABLE                                                                                  \
    "\"ctr_data\":{\n\"{\\\"identifier\\\":[{\\\"cat_feature_index\\\":0,"                     \
    "\\\"combination_element\\\":\\\"cat_feature_value\\\"}],\\\"type\\\":\\\"Buckets\\\"}\":" \
    "{\"hash_map\":[\n"

Test(catboost_sets, statistics)
{
    static const char one[] = "\"10650234391120027977\"", four[] = "\"15097791572046390990\"",
                      missing[] = "\"2815038065025727991\"";
    char part[500];
    snprintf(part, sizeof(part), TABLE "%s,0,\n%s,1,\n%s,1\n],\"hash_stride\":2,", missing, one,
             four);
    has("0,2", "right", part);
    snprintf(part, sizeof(part), TABLE "%s,1,\n%s,1\n],", missing, one);
    has("0", "left", part);
    has("1-3", "right", part);
    snprintf(part, sizeof(part), TABLE "%s,0\n],", missing); /* all go left */
    has("none", "right", part);
    has("0", "left",
        "\"split\":{\"ctr_target_border_idx\":0,\"border\":0.0,\"split_index\":1,\"split_type\":"
        "\"OnlineCtr\"}");
    has("0", "left", "\"value\":\"1\"}\n]},\n\"trees\":"); /* of missing values there is no word */
}

/* Many sets of a feature: several tables, whose classes come back where they were. */
Test(catboost_sets, many_tables)
{
    struct rw_ctx *ctx = fixture_ctx();
    const struct rw_model_format *format = convert_format("catboost");
    struct rw_model *model = fixture_random_model(ctx, 60, 16, 3, 7), *back;
    size_t n;
    fixture_by_category(ctx, model, 1, category_numbers, N_CATEGORY_NUMBERS, 0, 7);
    fixture_by_category(ctx, model, 3, category_words, N_CATEGORY_WORDS, 0, 8);
    char *text = convert_write(ctx, model, format, 0, &n);
    cr_assert_not_null(strstr(text, "\\\"cat_feature_index\\\":3,"), "too few sets");
    cr_assert_eq(convert_read(ctx, text, n, format, 0, &back), RW_OK, "%s", rw_last_error(ctx));
    convert_same_text(ctx, back, format, 0, text, n);
    rw_mem_free(text);
    rw_model_free(model);
    rw_model_free(back);
    rw_ctx_free(ctx);
}

/* Two words, and one that CatBoost cannot tell from another. */
Test(catboost_sets, same_hash)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model =
        model_of(ctx, "category w11080\ncategory w5\ncategory w68636\n", "0,2", "right");
    const struct rw_exchange how = {.format = "catboost", .feature_base = 0};
    cr_assert_eq(rw_model_export(ctx, model, &how, "/dev/null"), RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(ctx), "feature 1: categories 'w11080' and 'w68636' have the "
                                         "same 32-bit hash, by which CatBoost stores them");
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* ------------------------------------------------------------------ reading */

#define ONE_WORD "{\"hash\":1121341681,\"value\":\"1\"}"
#define KEY      "10650234391120027977"
#define CATEGORICAL(values)                                                                      \
    "\"categorical_features\":[{\"feature_index\":4,\"flat_feature_index\":2,\"values\":" values \
    "}]"
#define IDENTIFIER                                                                   \
    "{\\\"identifier\\\":[{\\\"cat_feature_index\\\":4,\\\"combination_element\\\":" \
    "\\\"cat_feature_value\\\"}],\\\"type\\\":\\\"Buckets\\\"}"
static const char whole[] = "{\"features_info\":{" CATEGORICAL(
    "[797982799]") ",\"cat_features_hash\":[" ONE_WORD "],\"ctrs\":["
                   "{\"identifier\":\"" IDENTIFIER "\",\"elements\":[{\"cat_feature_index\":4,"
                   "\"combination_element\":\"cat_feature_value\"}],\"ctr_type\":\"Buckets\","
                   "\"target_border_idx\":1,\"prior_numerator\":0,\"prior_denomerator\":1,"
                   "\"shift\":0,"
                   "\"scale\":1,\"borders\":[0]}]},\"ctr_data\":{\"" IDENTIFIER "\":{\"hash_map\":"
                   "[\"" KEY
                   "\",0,3],\"hash_stride\":3}},\"trees\":[{\"split\":{\"split_index\":1},"
                   "\"left\":{\"value\":1},\"right\":{\"value\":2}},{\"split\":{\"split_index\":0,"
                   "\"split_type\":\"OneHotFeature\",\"value\":797982799},\"left\":{\"value\":8},"
                   "\"right\":{\"value\":16}}]}";

Test(catboost_sets, read)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    cr_assert_eq(convert_read(ctx, whole, strlen(whole), convert_format("catboost"), 0, &model),
                 RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(model->categories.n, 1);
    cr_assert_eq(model->categories.of[0].feature, 2);
    cr_assert_eq(model->categories.of[0].n, 1);
    cr_assert_str_eq(model->categories.of[0].word[0], "1");
    cr_assert_eq(rw_predict_one(model, (const float[]){0, 0, 1}, 3), 2 + 8);
    cr_assert_eq(rw_predict_one(model, (const float[]){0, 0, 2}, 3), 1 + 8);
    cr_assert_eq(rw_predict_one(model, (const float[]){0, 0, NAN}, 3), 1 + 16);
    rw_model_free(model);
    rw_ctx_free(ctx);
    convert_damaged("catboost", whole, strlen(whole));
}

static void wrong(const char *old, const char *new, const char *message)
{
    char *text = fixture_replaced(whole, old, new);
    convert_refused("catboost", text, message);
    free(text);
}

#define EXPECTED "; expected 'Buckets' of one feature, above 0 where a category belongs to a class"

Test(catboost_sets, refused)
{
    wrong("[797982799]", "[5]",
          "file: feature 2: 'cat_features_hash' has no category with the hash 5; pass the pool to "
          "CatBoost's save_model, so that it writes the categories");
    wrong("[797982799]", "[1e12]",
          "file: 'values': expected a whole number from -2147483648 to 2147483647");
    wrong("\"flat_feature_index\":2", "\"flat_feature_index\":65536",
          "file: 'flat_feature_index': expected a whole number from 0 to 65535");
    wrong("\"value\":\"1\"", "\"value\":\"2\"",
          "file: 'cat_features_hash' has '2' as 1121341681; its hash is 3010176887");
    wrong(ONE_WORD,
          "{\"hash\":4073170217,\"value\":\"w11080\"},{\"hash\":4073170217,\"value\":"
          "\"w68636\"}",
          "file: feature 2: 'cat_features_hash' has no category with the hash 1121341681; pass the "
          "pool to CatBoost's save_model, so that it writes the categories");
    wrong("\"ctr_type\":\"Buckets\"", "\"ctr_type\":\"Borders\"",
          "file: a statistic (ctr) of type 'Borders'" EXPECTED);
    wrong("\"prior_numerator\":0", "\"prior_numerator\":0.5",
          "file: a statistic (ctr) of type 'Buckets'" EXPECTED);
    wrong("\"borders\":[0]", "\"borders\":[0,1]",
          "file: a statistic (ctr) of type 'Buckets'" EXPECTED);
    wrong("[{\"cat_feature_index\":4,", "[{\"cat_feature_index\":3,",
          "file: a statistic of unknown categorical feature 3");
    wrong("{\"identifier\":\"{", "{\"identifier\":\"",
          "file: a statistic's 'identifier' is '\"identifier\":[{\"cat_feature_index\":4,"
          "\"combination_element\":\"cat_feature_value\"}],\"type\":\"Buckets\"}'; expected "
          "'{\"identifier\":[{\"cat_feature_index\":4,\"combination_element\":"
          "\"cat_feature_value\"}],\"type\":\"Buckets\"}'");
    wrong("\"ctr_data\"", "\"ctr\"", "file: missing 'ctr_data': expected an object");
    wrong("\"hash_stride\":3", "\"hash_stride\":2",
          "file: 'hash_map' has 3 elements, not a multiple of 2");
    wrong("\"target_border_idx\":1", "\"target_border_idx\":2",
          "file: 'target_border_idx': expected a whole number from 0 to 1");
    wrong("[\"" KEY, "[\"7", "file: 'hash_map', element 0: expected the key of a category");
    wrong("0,3]", "0,-3]", "file: 'hash_map': expected a whole number from 0 to 2147483647");
    wrong("\"split_index\":1", "\"split_index\":2",
          "file: 'split_index' is 2, but there are 2 borders and categories");
    wrong("\"value\":797982799", "\"value\":5",
          "file: 'split_index' 0 has the value 797982799, not 5");
    wrong("OneHotFeature", "OnlineCtr",
          "file: a split of type 'OnlineCtr'; expected 'OneHotFeature'");
}
