/* Feature sets in the format of the learning-to-rank plugin, and Elasticsearch's configurations. */
#include "convert/convert.h"
#include "model_fixture.h"
#include "scratch_file.h"

TestSuite(feature_set, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

Test(feature_set, every_form)
{
    const char *const forms[] = {"made", "source", "answer", "search"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char path[300];
        struct rw_feature_set set;
        snprintf(path, sizeof(path), RW_TESTS_DIR "/golden/featureset/%s.json", forms[i]);
        cr_assert_eq(rw_feature_set_read(scratch_ctx, path, &set), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert_eq(set.n, 3);
        cr_assert_str_eq(rw_feature_set_name(&set, 0), "title");
        cr_assert_str_eq(rw_feature_set_name(&set, 2), "body");
        cr_assert_str_eq(rw_feature_set_find(&set, "age of page"), "age of page");
        cr_assert_str_eq(rw_feature_set_find(&set, "age_of_page"), "age of page");
        cr_assert_null(rw_feature_set_find(&set, "shop"));
        rw_feature_set_release(&set);
    }
}

Test(feature_set, every_form_of_a_configuration)
{
#define CONFIG "{\"feature_extractors\":[{\"query_extractor\":{\"feature_name\":\"age of page\"}}]}"
    static const char *const forms[] = {
        CONFIG,
        "{\"learning_to_rank\":" CONFIG "}",
        "{\"inference_config\":{\"learning_to_rank\":" CONFIG "}}",
        "{\"trained_model_configs\":[{\"inference_config\":{\"learning_to_rank\":" CONFIG "}}]}",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct rw_feature_set set;
        scratch_text("x", forms[i]);
        cr_assert_eq(rw_feature_set_read(scratch_ctx, "x", &set), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert(set.is_config && set.n == 1);
        cr_assert_str_eq(rw_feature_set_find(&set, "age_of_page"), "age of page");
        rw_feature_set_release(&set);
    }
}

Test(feature_set, every_form_of_solr)
{
#define OF_SOLR "{\"name\":\"age of page\",\"class\":\"x\",\"store\":\"s\"}"
    static const char *const forms[] = {
        "[" OF_SOLR "]",
        "{\"features\":[" OF_SOLR "]}",
        "{\"responseHeader\":{\"status\":0},\"features\":[" OF_SOLR "]}",
        "[{\"name\":\"age of page\",\"class\":\"x\"}]",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct rw_feature_set set;
        scratch_text("x", forms[i]);
        cr_assert_eq(rw_feature_set_read(scratch_ctx, "x", &set), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert(set.is_solr && !set.is_config && set.n == 1);
        cr_assert(i == 3 ? !set.store : strcmp(set.store, "s") == 0);
        cr_assert_str_eq(rw_feature_set_find(&set, "age_of_page"), "age of page");
        rw_feature_set_release(&set);
    }
}

Test(feature_set, refused)
{
    static const char *const cases[][2] = {
        {"", "not JSON: line 1, column 0: '[' or '{' expected near end of file"},
        {"{\"features\":[", "not JSON: line 1, column 13: ']' expected near end of file"},
        {"[1]", "expected the feature set, an object"},
        {"{}", "missing 'features': expected an array"},
        {"{\"features\":{}}", "invalid 'features': expected an array"},
        {"{\"features\":[]}", "'features' has 0 elements; expected 1 to 65536"},
        {"{\"features\":[\"a\"]}", "feature 1 of the set lacks 'name': expected a string"},
        {"{\"features\":[{\"name\":\"a\"},{\"name\":7}]}",
         "feature 2 of the set lacks 'name': expected a string"},
        {"{\"features\":[{\"name\":\"\"}]}",
         "feature 1 of the set lacks 'name': expected a string"},
        {"{\"features\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]}",
         "two features have the name 'a'"},
        {"{\"features\":[{\"name\":\"a b\"},{\"name\":\"a_b\"}]}",
         "features 'a_b' and 'a b' both become 'a_b' in a model"},
        {"{\"_source\":[]}", "invalid '_source': expected an object"},
        {"{\"featureset\":3}", "invalid 'featureset': expected an object"},
        {"{\"hits\":3}", "missing 'hits': expected an array"},
        {"{\"hits\":{\"hits\":[]}}", "0 hits; expected one feature set"},
        {"{\"hits\":{\"hits\":[{},{}]}}", "2 hits; expected one feature set"},
        {"{\"trained_model_configs\":[]}", "0 models; expected one feature set"},
        {"{\"trained_model_configs\":3}", "invalid 'trained_model_configs': expected an array"},
        {"{\"learning_to_rank\":{}}", "missing 'features': expected an array"},
        {"{\"feature_extractors\":[]}", "'feature_extractors' has 0 elements; expected 1 to 65536"},
        {"{\"feature_extractors\":[{\"name\":\"a\"}]}",
         "feature 1 of the set lacks 'feature_name': expected a string"},
        {"[" OF_SOLR ",{\"name\":\"b\",\"class\":\"x\",\"store\":\"t\"}]",
         "features of the stores 's' and 't'; expected one store"},
        {"[" OF_SOLR ",{\"name\":\"b\",\"class\":\"x\"}]",
         "features of the stores 's' and '_DEFAULT_'; expected one store"},
        {"[" OF_SOLR ",{\"name\":\"b\",\"store\":\"s\"}]",
         "feature 2 lacks 'class': expected a string"},
        {"[" OF_SOLR ",7]", "feature 2 lacks 'class': expected a string"},
        {"[" OF_SOLR "," OF_SOLR "]", "two features have the name 'age of page'"},
        {"[{\"class\":\"x\"}]", "feature 1 of the set lacks 'name': expected a string"},
        {"[]", "expected the feature set, an object"},
        {"{\"found\":false}", "the answer has \"found\": false: the feature set does not exist"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_feature_set set;
        char message[200];
        scratch_text("x", cases[i][0]);
        cr_assert_eq(rw_feature_set_read(scratch_ctx, "x", &set), RW_ERR_FORMAT, "%s", cases[i][0]);
        snprintf(message, sizeof(message), "x: %s", cases[i][1]);
        cr_expect_str_eq(rw_last_error(scratch_ctx), message, "%s\n%s", rw_last_error(scratch_ctx),
                         message);
        cr_assert_null(set.body);
    }
    struct rw_feature_set set;
    cr_assert_eq(rw_feature_set_read(scratch_ctx, "nowhere", &set), RW_ERR_IO);
}
