/* XGBoost's JSON and UBJSON, what Elasticsearch LTR takes of it, the dump, and Vespa's LightGBM
 * JSON. */
#include "convert/convert.h"
#include "convert_fixture.h"

#define TREE                                                                                    \
    "{\"id\":0,\"tree_param\":{\"num_nodes\":\"3\",\"num_feature\":\"2\",\"size_leaf_vector\":" \
    "\"1\"},"                                                                                   \
    "\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],\"parents\":[2147483647,0,0],"    \
    "\"split_indices\":[1,0,0],\"split_conditions\":[0.5,-1.25,2.5],\"default_left\":[1,0,0],"  \
    "\"base_weights\":[0.0,-1.25,2.5],\"loss_changes\":[1.0,0.0,0.0],\"split_type\":[0,0,0]}"
#define MODEL                                                                                     \
    "{\"learner\":{\"objective\":{\"name\":\"rank:ndcg\"},\"learner_model_param\":"               \
    "{\"base_score\":\"[5E-1]\",\"num_class\":\"0\",\"num_feature\":\"2\",\"num_target\":\"1\"}," \
    "\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"tree_info\":[0],\"trees\":[" TREE     \
    "]}}}}"

static void refused(const char *old, const char *new, const char *message)
{
    char *text = fixture_replaced(MODEL, old, new);
    convert_refused("xgboost", text, message);
    free(text);
}

Test(to_xgboost, round_trip)
{
    convert_round_trip("xgboost", 1);
    convert_round_trip("xgboost-ubj", 1);
}

Test(to_xgboost, read)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    cr_assert_eq(convert_read(ctx, MODEL, strlen(MODEL), convert_format("xgboost"), -1, &model),
                 RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(model->n_trees, 2);
    cr_assert_eq(model->tree[0].leaf[0], 0.5f);
    cr_assert_eq(model->tree[1].cut[0], nextafterf(0.5f, 0.0f));
    cr_assert_eq(model->tree[1].missing_left[0], 1);
    cr_assert_eq(model->tree[1].leaf[1], 2.5f);
    cr_assert_eq(model->tree[1].feature[0], 1);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_xgboost, damaged)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 2, 3, 2, 2);
    size_t n;
    convert_damaged("xgboost", MODEL, strlen(MODEL));
    char *bytes = convert_write(ctx, model, convert_format("xgboost-ubj"), -1, &n);
    convert_damaged("xgboost-ubj", bytes, n);
    rw_mem_free(bytes);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_xgboost, refused_models)
{
    convert_refused("xgboost", "",
                    "file: not JSON: line 1, column 0: '[' or '{' expected near end of file");
    convert_refused("xgboost", "[]", "file: missing 'learner': expected an object");
    refused("rank:ndcg", "binary:logistic",
            "file: unsupported objective 'binary:logistic': its prediction is not the sum of the "
            "leaves");
    refused("\"num_class\":\"0\"", "\"num_class\":\"3\"",
            "file: invalid 'num_class' 3: expected 0 to 1");
    refused("\"num_target\":\"1\"", "\"num_target\":\"2\"",
            "file: invalid 'num_target' 2: expected 0 to 1");
    refused("[5E-1]", "[5E-1,1E0]",
            "file: unsupported 'base_score' with several outputs: [5E-1,1E0]");
    refused("[5E-1]", "half", "file: 'base_score': expected a number, found 'half'");
    refused("[5E-1]", "1E40", "file: the base score is not a number");
    refused("gbtree", "gblinear", "file: unsupported booster 'gblinear': expected 'gbtree'");
    refused("\"name\":\"gbtree\"", "\"weight_drop\":[0.5],\"name\":\"dart\"",
            "file: missing 'gbtree': expected an object");
    refused("\"tree_info\":[0]", "\"tree_info\":[1]",
            "file: tree 1 belongs to output 1: several outputs are not supported");
    refused("\"tree_info\":[0]", "\"tree_info\":[]",
            "file: 'tree_info' has 0 elements; expected 1");
    refused("\"num_feature\":\"2\",\"num_target\"", "\"num_feature\":\"99999\",\"num_target\"",
            "file: invalid 'num_feature' 99999: expected 0 to 65536");
}

Test(to_xgboost, refused_trees)
{
    refused("\"num_nodes\":\"3\"", "\"num_nodes\":\"2000000000\"",
            "file: 'default_left' has 3 elements; expected 2000000000");
    refused("\"size_leaf_vector\":\"1\"", "\"size_leaf_vector\":\"3\"",
            "file: tree 1: unsupported leaves with several values");
    refused("[1,-1,-1]", "[0,-1,-1]",
            "file: tree 1, node 0: child 0 has two parents or is above the node");
    refused("[1,-1,-1]", "[2,-1,-1]",
            "file: tree 1, node 0: child 2 has two parents or is above the node");
    refused("[1,-1,-1]", "[-1,-1,-1]", "file: tree 1, node 0: only one child");
    refused("[1,-1,-1]", "[3,-1,-1]",
            "file: 'left_children': expected a whole number from -1 to 2");
    refused("[1,-1,-1]", "[1,-1]", "file: 'left_children' has 2 elements; expected 3");
    refused("\"left_children\"", "\"left\"", "file: missing 'left_children': expected an array");
    refused("\"split_type\":[0", "\"split_type\":[1",
            "file: tree 1, node 0: a categorical split without categories");
    refused("\"split_indices\":[1", "\"split_indices\":[2",
            "file: 'split_indices': expected a whole number from 0 to 1");
    refused("[0.5,-1.25,2.5]", "[null,-1.25,2.5]",
            "file: 'split_conditions', element 0: expected a number");
    refused("[0.5,-1.25,2.5]", "[NaN,-1.25,2.5]",
            "file: not JSON: line 1, column 419: invalid token near 'NaN'");
    refused("[0.5,-1.25,2.5]", "[0.5,-1e40,2.5]",
            "file: tree 1, node 1: the leaf value does not fit a float");
    refused("\"default_left\":[1", "\"default_left\":[7",
            "file: 'default_left': expected a whole number from 0 to 1");
    refused("\"split_type\":[0,0,0]", "\"sum_hessian\":[3,2]",
            "file: 'sum_hessian' has 2 elements; expected 3");
    refused("\"split_type\":[0,0,0]", "\"sum_hessian\":[3,null,1]",
            "file: 'sum_hessian', element 1: expected a number");
}

/* XGBoost shares by sums of hessians, and so does a tree that was its own. */
Test(to_xgboost, covers)
{
    static const struct {
        const char *sums;
        int are_taken;
    } cases[] = {{"[7.25,0.25,7]", 1}, {"[7.25,-0.25,7]", 0}, {"[0,0,0]", 0}, {"[1,1,1e300]", 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_ctx *ctx = fixture_ctx();
        struct rw_model *model;
        char with[100];
        snprintf(with, sizeof(with), "\"sum_hessian\":%s", cases[i].sums);
        char *text = fixture_replaced(MODEL, "\"split_type\":[0,0,0]", with);
        cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format("xgboost"), -1, &model),
                     RW_OK, "%s", rw_last_error(ctx));
        const struct rw_tree *tree = &model->tree[1]; /* after the base score */
        cr_assert_eq(tree->docs != NULL, cases[i].are_taken, "%s", cases[i].sums);
        if (tree->docs)
            cr_assert(tree->docs[0] == 0.25 && tree->docs[1] == 7 && tree->hessian[0] == 0.25f);
        rw_model_free(model);
        free(text);
        rw_ctx_free(ctx);
    }
}

/* A decimal whose double lies just between two floats names the one it was written from. */
Test(to_xgboost, floats_of_json)
{
    for (uint64_t i = 0; i < 200000; i++) {
        const float value = rw_float_of_bits(rw_random(7, i, 0, 0));
        char text[32];
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof(text), "%.9g", (double)value);
        cr_assert_eq(rw_bits_of_float(rw_json_float(strtod(text, NULL))), rw_bits_of_float(value));
    }
    const double between = ((double)1.0f + (double)nextafterf(1.0f, 2.0f)) / 2;
    cr_assert_eq(rw_json_float(between), 1.0f);
    cr_assert_eq(rw_json_float(0.1), 0.1f);
    cr_assert_eq(rw_json_float(-0.1), -0.1f);
}

static void wrong_bytes(const char *bytes, size_t n, const char *message)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_source source = {ctx, "file", bytes, n, NULL, RW_OK, NULL, NULL};
    cr_assert_null(rw_ubjson_load(&source));
    cr_assert_eq(source.status, RW_ERR_FORMAT, "expected: %s", message);
    cr_assert_str_eq(rw_last_error(ctx), message);
    rw_ctx_free(ctx);
}
#define WRONG(bytes, message) \
    wrong_bytes(bytes, sizeof(bytes) - 1, "file: not UBJSON: byte " message)

Test(to_xgboost, ubjson_refused)
{
    char deep[2000];
    WRONG("", "0: the file is truncated");
    WRONG("[", "1: expected an object");
    WRONG("{", "1: the file is truncated");
    WRONG("{}x", "2: bytes after the end");
    WRONG("{i\1aq}", "5: an unknown type");
    WRONG("{i\x7f"
          "a",
          "3: a length beyond the end of the file");
    WRONG("{L\xff\xff\xff\xff\xff\xff\xff\xff"
          "a",
          "10: a length beyond the end of the file");
    WRONG("{i\1a[$d#l\x7f\xff\xff\xff", "13: a length beyond the end of the file");
    WRONG("{i\1a[$Z#l\x7f\xff\xff\xff", "7: a container of an unknown type");
    WRONG("{i\1a[$d", "7: expected a count");
    WRONG("{i\1ad\x7f\x80\0\0}", "9: NaN or an infinity");
    WRONG("{i\1aZi\1aZ}", "9: a repeated key, or a key with a 0 byte");
    WRONG("{i\1\xffZ}", "3: a string that is not UTF-8");
    WRONG("{i\1ad\x3f", "5: the file is truncated");
    memset(deep, '[', sizeof(deep));
    memcpy(deep, "{i\1a", 4);
    wrong_bytes(deep, sizeof(deep), "file: not UBJSON: byte 260: nested too deeply");
}

Test(to_xgboost, ubjson_read)
{
    struct rw_ctx *ctx = fixture_ctx();
    static const char bytes[] = "{i\1a[#U\3i\xffI\xff\xfel\xff\xff\xff\xfdi\1bd\x3f\x80\0\0i\1cT"
                                "i\1dSi\2xyi\1e[$U#i\2\7\xffi\1f[TF]}";
    struct rw_source source = {ctx, "file", bytes, sizeof(bytes) - 1, NULL, RW_OK, NULL, NULL};
    json_t *root = rw_ubjson_load(&source);
    cr_assert_not_null(root, "%s", rw_last_error(ctx));
    char *text = json_dumps(root, JSON_COMPACT);
    cr_assert_str_eq(text, "{\"a\":[-1,-2,-3],\"b\":1.0,\"c\":true,\"d\":\"xy\",\"e\":[7,255],"
                           "\"f\":[true,false]}");
    free(text);
    json_decref(root);
    rw_ctx_free(ctx);
}

static const char one_split[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 1\n1\n\nnames 1\n1 "
    "a\"b\n\n"
    "metrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 2\n"
    "node 0 feature 1 <= 0.1 left leaf 0 right leaf 1 missing left gain 1 # a\"b\n"
    "leaf 0 0.1\nleaf 1 -2\n\n";

Test(to_xgboost, nested_texts)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, one_split);
    size_t n;
    char *text = convert_write(ctx, model, convert_format("xgboost-dump"), -1, &n);
    cr_assert_str_eq(
        text, "[\n{\"nodeid\":0,\"depth\":0,\"split\":\"a\\\"b\",\"split_condition\":0.10000001,"
              "\"yes\":1,\"no\":2,\"missing\":1,\"children\":[{\"nodeid\":1,\"leaf\":"
              "0.10000000149011612},{\"nodeid\":2,\"leaf\":-2.0}]}\n]\n");
    rw_mem_free(text);
    text = convert_write(ctx, model, convert_format("vespa"), -1, &n);
    cr_assert_not_null(strstr(
        text,
        "\"feature_names\":[\"f0\",\"a\\\"b\"],\"monotone_constraints\":[],\"feature_infos\":{},"
        "\"tree_info\":[\n{\"tree_index\":0,\"num_leaves\":2,\"num_cat\":0,\"shrinkage\":1,"
        "\"tree_structure\":{\"split_index\":0,\"split_feature\":1,\"split_gain\":1.0,"
        "\"threshold\":0.10000000894069672,\"decision_type\":\"<=\",\"default_left\":true,"
        "\"missing_type\":\"NaN\",\"left_child\":{\"leaf_index\":1,\"leaf_value\":"
        "0.10000000149011612},\"right_child\":{\"leaf_index\":2,\"leaf_value\":-2.0}}}\n],"
        "\"pandas_categorical\":[]}"));
    rw_mem_free(text);
    text = convert_write(ctx, model, convert_format("eslr-raw"), -1, &n);
    cr_assert_not_null(strstr(text,
                              "\"feature_names\":[\"f0\",\"a\\\"b\"],\"feature_types\":[\"float\","
                              "\"float\"]"));
    cr_assert_not_null(strstr(text, "\"base_weights\":[0.0,0.1,-2.0]"));
    cr_assert_not_null(strstr(text, "\"split_conditions\":[0.10000001,0.1,-2.0]"));
    rw_mem_free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}
