/* Bodies of _createmodel and of _ml/trained_models: the names of a set, and invalid names. */
#include "convert_fixture.h"
#include "scratch_file.h"

TestSuite(to_ltr, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

#define TREES_NAMED(of_3, of_2)                                                       \
    "metrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 3\n"                              \
    "node 0 feature 3 <= 0.5 left leaf 0 right node 1 missing right gain 2" of_3 "\n" \
    "node 1 feature 2 <= 2 left leaf 1 right leaf 2 missing left gain 1" of_2 "\n"    \
    "leaf 0 -0.5\nleaf 1 0.25\nleaf 2 1\n\ntree 2 leaves 1\nleaf 0 0.25\n\n"
#define TREES TREES_NAMED("", "")
#define HEAD  "rankwood model 1\nabsent missing\nbest-round 0\n\nparams 0\n\nfeatures 4\n1-4\n\n"

static const struct rw_exchange how = {
    .format = "opensearch",
    .feature_base = -1,
    .featureset = RW_TESTS_DIR "/golden/featureset/answer.json",
    .name = "shop \"best\"",
};

/* The bytes of golden/featureset/NAME, which another program wrote from the same trees. */
static void gives(const char *body, const struct rw_exchange *exchange, const char *name)
{
    char path[300];
    size_t n, n_expected;
    struct rw_model *model = fixture_model(scratch_ctx, body);
    cr_assert_eq(rw_model_export(scratch_ctx, model, exchange, "out"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    snprintf(path, sizeof(path), RW_TESTS_DIR "/golden/featureset/%s", name);
    char *text = scratch_read("out", &n), *expected = scratch_read(path, &n_expected);
    cr_assert_eq(n, n_expected);
    cr_assert_arr_eq(text, expected, n);
    free(text);
    free(expected);
    rw_model_free(model);
}

Test(to_ltr, by_place)
{
    struct rw_exchange other = how;
    gives(HEAD "names 0\n\n" TREES, &how, "by_place.body");
    other.format = "elasticsearch";
    gives(HEAD "names 0\n\n" TREES, &other, "by_place.body");
    other.feature_base = 1;
    gives(HEAD "names 0\n\n" TREES, &other, "by_place.body");
    other.feature_base = RW_FEATURE_BASE_AUTO;
    gives(HEAD "names 0\n\n" TREES, &other, "by_place.body");
}

/* In whatever order the set has them; feature 4, which no tree asks for, need not be there. */
Test(to_ltr, by_name)
{
    struct rw_exchange other = how;
    const char *model = HEAD
        "names 3\n2 age_of_page\n3 title\n4 price\n\n" TREES_NAMED(" # title", " # age_of_page");
    gives(model, &how, "by_name.body");
    other.feature_base = RW_FEATURE_BASE_AUTO;
    gives(model, &other, "by_name.body");
}

static void refused(const char *body, const struct rw_exchange *exchange, int status,
                    const char *message)
{
    struct rw_model *model = fixture_model(scratch_ctx, body);
    cr_assert_eq(rw_model_export(scratch_ctx, model, exchange, "out"), status);
    cr_expect_str_eq(rw_last_error(scratch_ctx), message, "%s", rw_last_error(scratch_ctx));
    cr_assert_neq(access("out", F_OK), 0);
    rw_model_free(model);
}

Test(to_ltr, features_that_the_set_lacks)
{
    struct rw_exchange other = how;
    scratch_text("set", "{\"features\":[{\"name\":\"title\"},{\"name\":\"age\"}]}");
    other.featureset = "set";
    refused(HEAD "names 0\n\n" TREES, &other, RW_ERR_UNSUPPORTED,
            "feature 3 is not in the feature set 'set', which has features 1 to 2");
    refused(HEAD "names 2\n2 age_of_page\n3 title\n\n" TREES_NAMED(" # title", " # age_of_page"),
            &other, RW_ERR_UNSUPPORTED,
            "feature 2, 'age_of_page', is not in the feature set 'set'");
    refused(HEAD "names 1\n3 title\n\n" TREES_NAMED(" # title", ""), &other, RW_ERR_UNSUPPORTED,
            "feature 2 has no name; in a model with names, features are found in the feature set "
            "'set' by name");
    refused(HEAD "names 2\n2 title\n3 title\n\n" TREES_NAMED(" # title", " # title"), &other,
            RW_ERR_UNSUPPORTED,
            "two features have the name 'title'; 'opensearch' needs unique names");
    other.feature_base = 1;
    refused(HEAD "names 2\n2 age\n3 title\n\n" TREES_NAMED(" # title", " # age"), &other,
            RW_ERR_ARGUMENT,
            "'--feature-base' has no effect: the model has feature names, and the feature set is "
            "searched by name");
    other.feature_base = -1;
    refused(HEAD "names 0\n\nmetrics 0 rounds 0\n\ntrees 0\n\n", &other, RW_ERR_UNSUPPORTED,
            "the model has no trees; readers reject an empty dump");
}

/* The file is read back: a name of the set in another's place sends documents elsewhere. */
Test(to_ltr, verify_reads_the_file)
{
    static const float values[] = {0, 1, 1, 0, 3, 1, 0, 1, 0, 0, 3, 0};
    static const float labels[] = {0, 1, 2, 1};
    static const uint32_t offsets[] = {0, 4};
    struct rw_model *model = fixture_model(scratch_ctx, HEAD "names 0\n\n" TREES);
    struct rw_dataset *data;
    struct rw_verify found;
    size_t n;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 4, 3, 1, 1, &data),
                 RW_OK);
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK);
    cr_assert_eq(rw_model_verify(scratch_ctx, model, &how, "out", data, &found), RW_OK);
    cr_assert(found.read_back && found.n == 2 && found.by[0].n_differ == 0);
    char *text = scratch_read("out", &n), *at = strstr(text, "age of page");
    memcpy(at, "title      ", 11);
    scratch_write("out", text, n);
    cr_assert_eq(rw_model_verify(scratch_ctx, model, &how, "out", data, &found), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "out: unknown feature 'title      '");
    free(text);
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(to_ltr, refused_bodies)
{
    convert_refused("opensearch", "{}", "file: missing 'model': expected an object");
    convert_refused("opensearch", "{\"model\":{\"name\":\"a\"}}",
                    "file: missing 'model': expected an object");
    convert_refused("opensearch",
                    "{\"model\":{\"name\":\"a\",\"model\":{\"type\":\"model/linear\","
                    "\"definition\":\"{}\"}}}",
                    "file: unsupported 'type' 'model/linear': expected model/xgboost+json");
    convert_refused("opensearch",
                    "{\"model\":{\"name\":\"a\",\"model\":{\"type\":\"model/xgboost+json\","
                    "\"definition\":\"{}\"}}}",
                    "file: expected an array of trees");
}

/* ---- Elasticsearch's own models ---- */

#define EXTRACTOR(name, more) \
    "{\"query_extractor\":{\"feature_name\":\"" name "\",\"query\":{\"match_all\":{}}" more "}}"
#define CONFIG_OF(features, more) "{\"feature_extractors\":[" features "]" more "}"
#define AGE                       EXTRACTOR("age", ",\"default_score\":0.5")
#define TITLE                     EXTRACTOR("title", "")
#define NAMED                     HEAD "names 3\n2 age\n3 title\n4 price\n\n" TREES_NAMED(" # title", " # age")

static struct rw_exchange ml(const char *set)
{
    scratch_text("set", set);
    return (struct rw_exchange){
        .format = "elasticsearch-ml", .feature_base = -1, .featureset = "set", .name = "shop-1"};
}

static int has(const char *body, const struct rw_exchange *exchange, const char *text)
{
    size_t n;
    struct rw_model *model = fixture_model(scratch_ctx, body);
    cr_assert_eq(rw_model_export(scratch_ctx, model, exchange, "out"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_model_free(model);
    char *file = scratch_read("out", &n);
    const int found = strstr(file, text) != NULL;
    free(file);
    return found;
}

/* The file has the features that trees use, in the order of the model, and the defaults. */
Test(to_ltr, extractors)
{
    const struct rw_exchange plain = ml(CONFIG_OF(TITLE "," EXTRACTOR("price", "") "," AGE, ""));
    cr_assert(has(NAMED, &plain,
                  "{\"learning_to_rank\":" CONFIG_OF(AGE "," TITLE, "") "},\n\"definition\""));
    cr_assert(has(NAMED, &plain, "\"feature_names\":[\"age\",\"title\"]"));
    const char *const defaults = ",\"default_params\":{\"words\":\"shoes\"}";
    char set[400];
    snprintf(set, sizeof(set), CONFIG_OF(TITLE "," AGE, "%s"), defaults);
    const struct rw_exchange more = ml(set);
    cr_assert(has(NAMED, &more, "\"default_params\":{\"words\":\"shoes\"}}}"));
    const struct rw_exchange plugin =
        ml("{\"features\":[{\"name\":\"title\",\"params\":[],\"template\":{\"match_all\":{}}},"
           "{\"name\":\"age\",\"template\":{\"match_all\":{}}}]}");
    cr_assert(has(NAMED, &plugin, TITLE));
}

/* The server's comparison has -0 below 0. */
Test(to_ltr, no_threshold_of_minus_zero)
{
    const struct rw_exchange how_ml = ml(CONFIG_OF(TITLE, ""));
    const char *model = HEAD "names 1\n3 title\n\nmetrics 0 rounds 0\n\ntrees 1\n\n"
                             "tree 1 leaves 2\nnode 0 feature 3 <= -0 left leaf 0 right leaf 1 "
                             "missing left gain 1 # title\nleaf 0 -1\nleaf 1 1\n\n";
    cr_assert(has(model, &how_ml, "\"threshold\":0.0,"));
}

Test(to_ltr, features_without_a_query)
{
    static const char *const cases[][2] = {
        {CONFIG_OF(AGE ",{\"query_extractor\":{\"feature_name\":\"title\"}}", ""),
         "set: feature 'title' has no query: expected an object in 'query'"},
        {CONFIG_OF(AGE ",{\"query_extractor\":{\"feature_name\":\"title\",\"query\":{}}}", ""),
         "set: feature 'title' has no query: expected an object in 'query'"},
        {CONFIG_OF(AGE "," EXTRACTOR("title", ",\"default_score\":-1"), ""),
         "set: feature 'title' has an invalid 'default_score': expected a number, 0 or more"},
        {CONFIG_OF(AGE "," EXTRACTOR("title", ",\"default_score\":\"a\""), ""),
         "set: feature 'title' has an invalid 'default_score': expected a number, 0 or more"},
        {"{\"features\":[{\"name\":\"title\"},{\"name\":\"age\",\"template\":{\"a\":{}}}]}",
         "set: feature 'title' has no query: expected an object in 'template'"},
        {"{\"features\":[{\"name\":\"age\",\"template_language\":\"derived_expression\","
         "\"template\":\"title * 2\"},{\"name\":\"title\"}]}",
         "set: feature 'age' has the language 'derived_expression'; Elasticsearch needs a query"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rw_exchange how_ml = ml(cases[i][0]);
        refused(NAMED, &how_ml, RW_ERR_FORMAT, cases[i][1]);
    }
    struct rw_exchange other = ml(CONFIG_OF(AGE, ""));
    refused(NAMED, &other, RW_ERR_UNSUPPORTED,
            "feature 3, 'title', is not in the feature set 'set'");
    other.format = "elasticsearch";
    refused(NAMED, &other, RW_ERR_FORMAT,
            "set: 'feature_extractors' are for 'elasticsearch-ml'; 'elasticsearch' needs a feature "
            "set of the plugin, with 'features'");
}

Test(to_ltr, ids_of_models)
{
    static const char *const wrong[] = {"Shop", "a b", "-a", "a.", "\xc3\xa9"};
    char long_one[66] = "";
    struct rw_exchange how_ml = ml(CONFIG_OF(AGE "," TITLE, ""));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char message[200];
        how_ml.name = wrong[i];
        snprintf(message, sizeof(message),
                 "invalid name '%s': expected 1 to 64 of a-z, 0-9, '_', '-' and '.', with a letter "
                 "or digit at both ends",
                 wrong[i]);
        refused(NAMED, &how_ml, RW_ERR_ARGUMENT, message);
    }
    memset(long_one, 'a', 64);
    how_ml.name = long_one;
    cr_assert(has(NAMED, &how_ml, "aaaa"));
    unlink("out");
    long_one[64] = 'a';
    struct rw_model *model = fixture_model(scratch_ctx, NAMED);
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how_ml, "out"), RW_ERR_ARGUMENT);
    rw_model_free(model);
    refused(HEAD "names 0\n\nmetrics 0 rounds 0\n\ntrees 0\n\n", &how_ml, RW_ERR_UNSUPPORTED,
            "the model has no trees; Elasticsearch rejects such a model");
}

Test(to_ltr, refused_trained_models)
{
#define ROOT(features, tree)                                                              \
    "{\"model_id\":\"a\",\"inference_config\":{\"learning_to_rank\":" features            \
    "},\"definition\":{"                                                                  \
    "\"trained_model\":{\"ensemble\":{\"trained_models\":[{\"tree\":{\"feature_names\":[" \
    "\"title\"],"                                                                         \
    "\"tree_structure\":[" tree "]}}]}}}}"
#define SPLIT(type)                                                                           \
    "{\"decision_type\":\"" type "\",\"left_child\":0,\"right_child\":0,\"split_feature\":0," \
    "\"threshold\":1.0,\"default_left\":true}"
    convert_refused("elasticsearch-ml", "{}", "file: missing 'model_id': expected a string");
    convert_refused("elasticsearch-ml", ROOT("{}", ""), "file: 'tree_structure' has 0 nodes");
    convert_refused("elasticsearch-ml", ROOT("{}", SPLIT("gt")),
                    "file: unsupported 'decision_type' 'gt': expected lte");
    convert_refused("elasticsearch-ml", ROOT("{}", SPLIT("lte")),
                    "file: no 'query_extractor' for feature 'title'");
    convert_refused("elasticsearch-ml", ROOT("{}", "{}"),
                    "file: missing 'split_feature': expected a whole number");
}
