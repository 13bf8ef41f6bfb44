/* CatBoost's JSON: borders by number, directions of NaN by entry, two kinds of trees. */
#include <jansson.h>

#include "convert/convert.h"
#include "convert_fixture.h"

static const char small_model[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 3\n0-2\n\nnames 1\n"
    "1 page \"age\"\n\nmetrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 4\n"
    "node 0 feature 1 <= 0.5 left leaf 0 right node 1 missing left gain 0 # page \"age\"\n"
    "node 1 feature 2 <= -3 left leaf 1 right node 2 missing left gain 0\n"
    "node 2 feature 2 <= 0.1 left leaf 2 right leaf 3 missing SIDE gain 0\n"
    "leaf 0 0.125\nleaf 1 -1e-07\nleaf 2 2\nleaf 3 3\n\ntree 2 leaves 1\nleaf 0 0.25\n\n";

static struct rw_model *small(struct rw_ctx *ctx, const char *side)
{
    char *text = fixture_replaced(small_model, "SIDE", side);
    struct rw_model *model = fixture_model(ctx, text);
    free(text);
    return model;
}

#define HEAD                                                                                 \
    "{\"model_info\":{},\n\"features_info\":{\"float_features\":[\n"                         \
    "{\"feature_index\":0,\"flat_feature_index\":0,\"feature_id\":\"0\",\"has_nans\":false," \
    "\"nan_value_treatment\":\"AsIs\",\"borders\":[]},\n"                                    \
    "{\"feature_index\":1,\"flat_feature_index\":1,\"feature_id\":\"page \\\"age\\\"\","     \
    "\"has_nans\":true,\"nan_value_treatment\":\"AsFalse\",\"borders\":[0.5]},\n"            \
    "{\"feature_index\":2,\"flat_feature_index\":2,\"feature_id\":\"2\",\"has_nans\":true,"  \
    "\"nan_value_treatment\":\"AsFalse\",\"borders\":[-3.0"
#define TREES                                                                                   \
    "\n]},\n\"trees\":[\n{\"split\":{\"border\":0.5,\"float_feature_index\":1,\"split_index\":" \
    "0,\"split_type\":\"FloatFeature\"},\"left\":{\"value\":0.125,\"weight\":1.0},\"right\":{"  \
    "\"split\":{\"border\":-3.0,\"float_feature_index\":2,\"split_index\":1,\"split_type\":"    \
    "\"FloatFeature\"},\"left\":{\"value\":-1.0000000116860974e-7,\"weight\":1.0},\"right\":{"  \
    "\"split\":{\"border\":0.10000000149011612,\"float_feature_index\":2,\"split_index\":2,"    \
    "\"split_type\":\"FloatFeature\"},\"left\":{\"value\":2.0,\"weight\":1.0},\"right\":{"      \
    "\"value\":3.0,\"weight\":1.0}}}},\n{\"value\":0.25,\"weight\":1.0}\n],\n"                  \
    "\"scale_and_bias\":[1,[0]]}\n"

Test(to_catboost, its_text)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = small(ctx, "left");
    size_t n;
    char *text = convert_write(ctx, model, convert_format("catboost"), -1, &n);
    cr_assert_str_eq(text, HEAD ",0.10000000149011612]}" TREES);
    convert_damaged("catboost", text, n);
    rw_mem_free(text);
    rw_model_free(model);
    /* Nodes that send missing values to different sides: the feature has two entries. */
    model = small(ctx, "right");
    text = convert_write(ctx, model, convert_format("catboost"), -1, &n);
    cr_assert_str_eq(text, HEAD "]},\n{\"feature_index\":2,\"flat_feature_index\":2,\"feature_id\":"
                                "\"2\",\"has_nans\":true,\"nan_value_treatment\":\"AsTrue\","
                                "\"borders\":[0.10000000149011612]}" TREES);
    rw_mem_free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* Trees with one test per level are written with the root's test last and the leaves from left to
 * right, so the second test decides the higher bit. One node with another side for missing values
 * makes all trees nested. */
Test(to_catboost, symmetric)
{
    static const char trees[] =
        "]},\n\"oblivious_trees\":[\n{\"splits\":[{\"border\":-3.0,\"float_feature_index\":2,"
        "\"split_index\":1,\"split_type\":\"FloatFeature\"},{\"border\":0.5,"
        "\"float_feature_index\":1,\"split_index\":0,\"split_type\":\"FloatFeature\"}],"
        "\"leaf_values\":[1.0,2.0,3.0,4.0],\"leaf_weights\":[1.0,1.0,1.0,1.0]},\n"
        "{\"splits\":[],\"leaf_values\":[0.25],\"leaf_weights\":[1.0]}\n],\n"
        "\"scale_and_bias\":[1,[0]]}\n";
    static const char nodes[] =
        "tree 1 leaves 4\nnode 0 feature 1 <= 0.5 left node 1 right node 2 missing left gain 0 "
        "# page \"age\"\n"
        "node 1 feature 2 <= -3 left leaf 0 right leaf 1 missing left gain 0\n"
        "node 2 feature 2 <= -3 left leaf 2 right leaf 3 missing SIDE gain 0\n"
        "leaf 0 1\nleaf 1 2\nleaf 2 3\nleaf 3 4\n\ntree 2 leaves 1\nleaf 0 0.25\n\n";
    struct rw_ctx *ctx = fixture_ctx();
    char *plain = fixture_replaced(small_model, strstr(small_model, "tree 1"), nodes);
    for (int is_left = 0; is_left <= 1; is_left++) {
        char *text = fixture_replaced(plain, "SIDE", is_left ? "left" : "right");
        struct rw_model *model = fixture_model(ctx, text), *back;
        free(text);
        size_t n;
        text = convert_write(ctx, model, convert_format("catboost"), -1, &n);
        const char *written = strstr(text, "]},\n\"oblivious_trees\"");
        cr_assert_eq(!written, !is_left);
        cr_assert_eq(!strstr(text, "\"trees\""), is_left);
        if (is_left) {
            cr_assert_str_eq(written, trees);
            cr_assert_eq(convert_read(ctx, text, n, convert_format("catboost"), -1, &back), RW_OK);
            convert_same_model(model, back, 0);
            convert_same_text(ctx, back, convert_format("catboost"), -1, text, n);
            rw_model_free(back);
            convert_damaged("catboost", text, n);
        }
        rw_mem_free(text);
        rw_model_free(model);
    }
    free(plain);
    rw_ctx_free(ctx);
}

Test(to_catboost, without_trees)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = small(ctx, "left");
    const struct rw_lowering how = {.base = -1, .lossy = 0};
    struct rw_ensemble ensemble;
    struct rw_put put = {.ctx = ctx};
    const int32_t n_trees = model->n_trees;
    model->n_trees = 0;
    cr_assert_eq(rw_lower(ctx, model, convert_format("catboost"), &how, &ensemble), RW_OK);
    cr_assert_eq(convert_format("catboost")->write(&ensemble, &put), RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(ctx),
                     "the model has no trees; CatBoost cannot represent such a model");
    rw_ensemble_release(&ensemble);
    rw_mem_free(put.text);
    model->n_trees = n_trees;
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_catboost, round_trip)
{
    convert_round_trip("catboost", 0);
}

/* ------------------------------------------------------------------ reading */

#define ENTRY(flat, nans, nan, borders)                                         \
    "{\"feature_index\":0,\"flat_feature_index\":" flat ",\"feature_id\":\"\"," \
    "\"has_nans\":" nans ",\"nan_value_treatment\":\"" nan "\",\"borders\":" borders "}"
#define INFO(entries) "\"features_info\":{\"float_features\":[" entries "]}"
#define FILE_OF(more) "{" INFO(ENTRY("3", "true", "AsTrue", "[-1,0.1,2]")) "," more "}"
#define SPLIT(i)      "{\"split_index\":" i "}"
#define NESTED(split) \
    "\"trees\":[{\"split\":" split ",\"left\":{\"value\":1},\"right\":{\"value\":2.5}}]"
#define OBLIVIOUS(splits, leaves) \
    "\"oblivious_trees\":[{\"splits\":" splits ",\"leaf_values\":" leaves "}]"

static struct rw_model *read_model(struct rw_ctx *ctx, const char *text)
{
    struct rw_model *model;
    cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format("catboost"), -1, &model),
                 RW_OK, "%s", rw_last_error(ctx));
    return model;
}

Test(to_catboost, nested)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = read_model(
        ctx, FILE_OF(NESTED("{\"split_index\":1,\"split_type\":\"FloatFeature\",\"border\":0.1,"
                            "\"float_feature_index\":0}")));
    cr_assert_eq(model->n_trees, 1);
    cr_assert_eq(model->tree[0].feature[0], 3);
    cr_assert_eq(model->tree[0].cut[0], 0.1f);
    cr_assert_eq(model->tree[0].missing_left[0], 0);
    cr_assert_eq(model->tree[0].leaf[0], 1.0f);
    cr_assert_eq(model->tree[0].leaf[1], 2.5f);
    cr_assert_eq(model->absent_missing, 0);
    cr_assert_eq(model->n_features, 1);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* A column's number is no name. */
Test(to_catboost, names)
{
    static const struct {
        const char *id, *name;
    } cases[] = {{"\"page \\\"age\\\"\"", "page \"age\""},
                 {"\"3\"", ""},
                 {"\"4\"", "4"},
                 {"\"\"", ""},
                 {"null", ""}};
    struct rw_ctx *ctx = fixture_ctx();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000];
        snprintf(text, sizeof(text),
                 "{" INFO("{\"feature_index\":3,\"flat_feature_index\":3,\"feature_id\":%s,"
                          "\"has_nans\":false,\"nan_value_treatment\":\"AsIs\"}") ",\"trees\":[]}",
                 cases[i].id);
        struct rw_model *model = read_model(ctx, text);
        cr_assert_str_eq(rw_model_feature_name(model, 3), cases[i].name);
        rw_model_free(model);
    }
    convert_refused("catboost",
                    "{" INFO("{\"feature_index\":3,\"flat_feature_index\":3,\"feature_id\":7,"
                             "\"has_nans\":false,\"nan_value_treatment\":\"AsIs\"}") "}",
                    "file: feature 3: invalid 'feature_id': expected a string");
    rw_ctx_free(ctx);
}

/* Where NaN goes: only AsTrue with has_nans sends it right. */
Test(to_catboost, directions)
{
    static const struct {
        const char *entry;
        int left;
    } cases[] = {{ENTRY("0", "true", "AsTrue", "[1]"), 0},
                 {ENTRY("0", "true", "AsFalse", "[1]"), 1},
                 {ENTRY("0", "true", "AsIs", "[1]"), 1},
                 {ENTRY("0", "false", "AsTrue", "[1]"), 1}};
    struct rw_ctx *ctx = fixture_ctx();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1000];
        snprintf(text, sizeof(text), "{" INFO("%s") "," NESTED(SPLIT("0")) "}", cases[i].entry);
        struct rw_model *model = read_model(ctx, text);
        cr_assert_eq(model->tree[0].missing_left[0], cases[i].left, "case %zu", i);
        rw_model_free(model);
    }
    rw_ctx_free(ctx);
}

/* Bit k of a leaf's number says whether the value is above the k-th split's border. */
Test(to_catboost, oblivious)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = read_model(
        ctx,
        "{" INFO(
            ENTRY("0", "false", "AsIs", "[1]") "," ENTRY("1", "false", "AsIs", "[2]") "," ENTRY(
                "2", "false", "AsIs",
                "[3,4]")) ",\"oblivious_trees\":[{\"splits\":"
                          "[" SPLIT("3") "," SPLIT("0") "," SPLIT(
                              "1") "],\"leaf_values\":"
                                   "[0,1,2,3,4,5,6,7]},{\"splits\":null,\"leaf_values\":[100]}],"
                                   "\"scale_and_bias\":[2,[0.5]]}");
    cr_assert_eq(model->n_trees, 3); /* the bias is the first */
    cr_assert_eq(model->tree[1].feature[0], 1);
    for (int leaf = 0; leaf < 8; leaf++) {
        const float values[3] = {leaf & 2 ? 1.5f : 1.0f, leaf & 4 ? 2.5f : 2.0f,
                                 leaf & 1 ? 4.5f : 4.0f};
        cr_assert_eq(rw_predict_one(model, values, 3), 0.5 + 2.0 * leaf + 200.0, "leaf %d", leaf);
    }
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_catboost, read)
{
    static const char *const good[] = {
        FILE_OF("\"oblivious_trees\":null"),
        FILE_OF("\"trees\":[]"),
        FILE_OF("\"trees\":[],\"model_info\":{\"params\":{\"a\":18446744073709551615}}"),
        FILE_OF("\"trees\":[{\"value\":1}],\"scale_and_bias\":[1,0]"),
        FILE_OF("\"trees\":[{\"value\":1}],\"scale_and_bias\":[1,null]"),
        FILE_OF("\"trees\":[{\"value\":1}],\"scale_and_bias\":[1,[]]"),
        FILE_OF(
            "\"trees\":[],\"model_info\":{\"params\":{\"loss_function\":{\"type\":\"YetiRank\"}}}"),
        "{\"features_info\":{\"categorical_features\":[],\"ctrs\":null},\"trees\":[]}",
        "{" INFO(ENTRY("3", "true", "AsIs", "null")) ",\"trees\":[]}",
    };
    struct rw_ctx *ctx = fixture_ctx();
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        rw_model_free(read_model(ctx, good[i]));
    rw_ctx_free(ctx);
}

Test(to_catboost, refused_features)
{
    convert_refused("catboost", "[]", "file: missing 'features_info': expected an object");
    convert_refused("catboost", "{\"features_info\":{\"categorical_features\":[{}]}}",
                    "file: missing 'flat_feature_index': expected a whole number");
    convert_refused("catboost", "{\"features_info\":{\"ctrs\":[{},{}]}}",
                    "file: missing 'ctr_type': expected a string");
    convert_refused("catboost", "{\"features_info\":{\"text_features\":[1]}}",
                    "file: 'text_features' has 1 features: only numerical and categorical features "
                    "can be imported, not text");
    convert_refused("catboost", "{\"features_info\":{\"embedding_features\":7}}",
                    "file: invalid 'embedding_features': expected an array");
    convert_refused("catboost",
                    "{\"model_info\":{\"params\":{\"loss_function\":{\"type\":\"MultiClass\"}}}}",
                    "file: unsupported loss function 'MultiClass': its prediction is not the sum "
                    "of the leaves");
    convert_refused("catboost", "{" INFO(ENTRY("65536", "true", "AsIs", "[]")) "}",
                    "file: 'flat_feature_index': expected a whole number from 0 to 65535");
    convert_refused("catboost", "{" INFO(ENTRY("-1", "true", "AsIs", "[]")) "}",
                    "file: 'flat_feature_index': expected a whole number from 0 to 65535");
    convert_refused("catboost", "{" INFO(ENTRY("0", "2", "AsIs", "[]")) "}",
                    "file: 'has_nans': expected a whole number from 0 to 1");
    convert_refused("catboost", "{" INFO(ENTRY("0", "true", "Forbidden", "[]")) "}",
                    "file: 'nan_value_treatment' is 'Forbidden'; expected AsIs, AsFalse or AsTrue");
    convert_refused("catboost", "{" INFO(ENTRY("0", "true", "AsIs", "[1,0.5]")) "}",
                    "file: feature 0: border 1 is below the previous one");
    convert_refused("catboost", "{" INFO(ENTRY("0", "true", "AsIs", "[1e39]")) "}",
                    "file: feature 0: border 0 is 1e+39, which does not fit a float");
    convert_refused("catboost", "{" INFO(ENTRY("0", "true", "AsIs", "[\"1\"]")) "}",
                    "file: 'borders', element 0: expected a number");
    convert_refused("catboost", "{" INFO(ENTRY("0", "true", "AsIs", "[NaN]")) "}",
                    "file: not JSON: line 1, column 153: invalid token near 'NaN'");
    convert_refused("catboost", "{" INFO(ENTRY("0", "true", "AsIs", "[1e999]")) "}",
                    "file: not JSON: line 1, column 155: real number overflow near '1e999'");
}

Test(to_catboost, refused_splits)
{
    convert_refused("catboost", FILE_OF(NESTED(SPLIT("3"))),
                    "file: 'split_index' is 3, but there are 3 borders and categories");
    convert_refused("catboost", FILE_OF(NESTED(SPLIT("-1"))),
                    "file: 'split_index': expected a whole number from 0 to 2147483647");
    convert_refused("catboost",
                    FILE_OF(NESTED("{\"split_index\":0,\"split_type\":\"OneHotFeature\"}")),
                    "file: a split of type 'OneHotFeature'; expected 'FloatFeature'");
    convert_refused("catboost", FILE_OF(NESTED("{\"split_index\":0,\"split_type\":7}")),
                    "file: a split of type '?'; expected 'FloatFeature'");
    convert_refused("catboost", FILE_OF(NESTED("{\"split_index\":1,\"border\":0.2}")),
                    "file: 'split_index' 1 has the border 0.1, not 0.2");
    convert_refused("catboost", FILE_OF(NESTED("{\"split_index\":1,\"float_feature_index\":1}")),
                    "file: 'split_index' 1 belongs to feature 0, not 1");
    convert_refused("catboost", FILE_OF(NESTED("7")), "file: invalid 'split': expected an object");
}

Test(to_catboost, refused_trees)
{
    convert_refused("catboost", FILE_OF("\"a\":1"),
                    "file: expected either 'oblivious_trees' or 'trees'");
    convert_refused("catboost", FILE_OF("\"trees\":[],\"oblivious_trees\":[]"),
                    "file: expected either 'oblivious_trees' or 'trees'");
    convert_refused("catboost", FILE_OF("\"trees\":[{\"value\":[1,2]}]"),
                    "file: unsupported leaves with several values");
    convert_refused("catboost", FILE_OF("\"trees\":[{\"value\":1,\"split\":{}}]"),
                    "file: a node with both 'value' and 'split'");
    convert_refused("catboost",
                    FILE_OF("\"trees\":[{\"split\":" SPLIT("0") ",\"left\":{\"value\":1}}]"),
                    "file: missing 'right': expected an object");
    convert_refused("catboost", FILE_OF("\"trees\":[7]"),
                    "file: missing 'split': expected an object");
    convert_refused("catboost", FILE_OF("\"trees\":[{\"value\":1,\"weight\":\"2\"}]"),
                    "file: invalid 'weight': expected a number");
    convert_refused("catboost", FILE_OF("\"trees\":[{\"value\":1e300}]"),
                    "file: tree 1, node 0: the leaf value does not fit a float");
    convert_refused("catboost", FILE_OF(OBLIVIOUS("[" SPLIT("0") "]", "[1]")),
                    "file: tree 1: 1 'leaf_values' for 1 splits; expected 2");
    convert_refused("catboost", FILE_OF(OBLIVIOUS("[" SPLIT("0") "]", "[1,2,3]")),
                    "file: tree 1: 3 'leaf_values' for 1 splits; expected 2");
    convert_refused("catboost", FILE_OF(OBLIVIOUS("[" SPLIT("0") "]", "[1,2,3,4,5,6]")),
                    "file: tree 1: unsupported leaves with 3 values");
    convert_refused("catboost", FILE_OF(OBLIVIOUS("null", "[]")),
                    "file: tree 1: 0 'leaf_values' for 0 splits; expected 1");
    convert_refused("catboost", FILE_OF(OBLIVIOUS("[" SPLIT("0") ",{}]", "[1,2,3,4]")),
                    "file: missing 'split_index': expected a whole number");
    convert_refused("catboost",
                    FILE_OF(OBLIVIOUS("[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]", "[]")),
                    "file: tree 1: 25 levels; expected at most 24");
    convert_refused("catboost", FILE_OF("\"trees\":[],\"scale_and_bias\":[1,[0,0]]"),
                    "file: unsupported 'scale_and_bias' with 2 outputs");
    convert_refused("catboost", FILE_OF("\"trees\":[],\"scale_and_bias\":[1]"),
                    "file: 'scale_and_bias' has 1 elements; expected 2");
    convert_refused("catboost", FILE_OF("\"trees\":[],\"scale_and_bias\":[1,\"0\"]"),
                    "file: 'scale_and_bias', element 1: expected a number");
}

/* ------------------------------------------------------------------ numbers */

static const char *put_number(struct rw_put *put, double value)
{
    put->n = 0;
    rw_catboost_put_double(put, value);
    rw_put_bytes(put, "", 1);
    cr_assert_eq(put->status, RW_OK);
    return put->text;
}

/* CatBoost 1.2.10 takes each of these for the right double, but not the shortest decimals of the
 * last six (which are a unit in the last place away there). */
Test(to_catboost, numbers_for_its_reader)
{
    static const char *const texts[] = {"0.0",
                                        "-0.25",
                                        "2.0",
                                        "0.10000000149011612",
                                        "1e30",
                                        "-15119993686676026e-17",
                                        "461550444364547729e-18",
                                        "2099509531072046853e-31",
                                        "12688088427137422e-28",
                                        "-4949524104595184326000e-22",
                                        "-1449621748179197311000e-23"};
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_put put = {.ctx = ctx};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        cr_assert_str_eq(put_number(&put, strtod(texts[i], NULL)), texts[i]);
    /* Others read the same numbers, the smallest and the largest too. */
    const float ends[] = {1e-45f, 1.1754944e-38f, 3.4028235e38f, 9.9e-41f};
    for (uint32_t i = 0; i < 20000; i++) {
        const float value = rw_float_of_bits(rw_random(1, i, 0, 0));
        const double number = i < 4 ? (double)ends[i] : isfinite(value) ? (double)value : 1.5;
        const char *text = put_number(&put, number);
        cr_assert_eq(strtod(text, NULL), number, "%s", text);
        cr_assert_lt(strlen(text), 64);
    }
    rw_mem_free(put.text);
    rw_ctx_free(ctx);
}

/* ------------------------------------------------------------------ what CatBoost has no room for
 */

/* A tree whose root has 2n + 1 nodes on its left. */
static void left_heavy(struct rw_ctx *ctx, struct rw_ensemble *ensemble, int32_t n)
{
    struct rw_source source = {.ctx = ctx, .out = ensemble};
    cr_assert_eq(rw_set_columns(&source, 1), RW_OK);
    ensemble->column_name = NULL;
    struct rw_ens_tree *tree = rw_add_tree(&source, 1);
    cr_assert_eq(rw_add_split(&source, tree, 0), RW_OK);
    int32_t *open = malloc((2 * (size_t)n + 4) * sizeof(*open)), first = 0, last = 1;
    open[0] = tree->node[0].left;
    for (; n > 0; n--) {
        const int32_t at = open[first++];
        cr_assert_eq(rw_add_split(&source, tree, at), RW_OK);
        open[last++] = tree->node[at].left;
        open[last++] = tree->node[at].right;
    }
    free(open);
}

Test(to_catboost, steps_of_16_bits)
{
    struct rw_ctx *ctx = fixture_ctx();
    for (int32_t n = 32766; n <= 32767; n++) {
        struct rw_ensemble ensemble = {0};
        struct rw_put put = {.ctx = ctx};
        left_heavy(ctx, &ensemble, n);
        const int status = convert_format("catboost")->write(&ensemble, &put);
        cr_assert_eq(status, n == 32766 ? RW_OK : RW_ERR_UNSUPPORTED);
        if (status < 0)
            cr_assert_str_eq(
                rw_last_error(ctx),
                "tree 1, node 0: 65535 nodes on its left; CatBoost accepts at most 65534");
        rw_mem_free(put.text);
        rw_ensemble_release(&ensemble);
    }
    rw_ctx_free(ctx);
}

static void add_split(struct rw_ctx *ctx, struct rw_ensemble *ensemble, int32_t column, int32_t cut)
{
    struct rw_source source = {.ctx = ctx, .out = ensemble};
    struct rw_ens_tree *tree = rw_add_tree(&source, 3);
    cr_assert_eq(source.status, RW_OK);
    tree->node[0] = (struct rw_ens_node){
        .left = 1, .right = 2, .column = (uint32_t)column, .threshold = (double)cut};
    tree->node[1].left = tree->node[2].left = -1;
}

/* The first feature's borders: each of n thresholds once, ascending. */
static void assert_borders(const char *text, size_t n)
{
    json_t *root = json_loads(text, 0, NULL), *features, *borders;
    features = json_object_get(json_object_get(root, "features_info"), "float_features");
    borders = json_object_get(json_array_get(features, 0), "borders");
    cr_assert_eq(json_array_size(borders), n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(json_number_value(json_array_get(borders, i)), (double)i);
    json_decref(root);
}

/* 65,536 columns with a threshold each have as many buckets; one more needs a 255th threshold of
 * one column. */
Test(to_catboost, buckets_of_16_bits)
{
    struct rw_ctx *ctx = fixture_ctx();
    for (int32_t n_cuts = 254; n_cuts <= 255; n_cuts++) {
        struct rw_ensemble ensemble = {0};
        struct rw_put put = {.ctx = ctx};
        cr_assert_eq(rw_set_columns(&(struct rw_source){.ctx = ctx, .out = &ensemble}, 65536),
                     RW_OK);
        ensemble.column_name = NULL;
        for (int32_t i = 65535; i > 0; i--)
            add_split(ctx, &ensemble, i, 0);
        for (int32_t i = 0; i < 2 * n_cuts; i++)
            add_split(ctx, &ensemble, 0, i % n_cuts);
        const int status = convert_format("catboost")->write(&ensemble, &put);
        cr_assert_eq(status, n_cuts == 254 ? RW_OK : RW_ERR_UNSUPPORTED);
        if (status < 0) {
            cr_assert_str_eq(rw_last_error(ctx),
                             "the splits need 65537 buckets, each of up to 254 thresholds or "
                             "categories of a feature, or of one set of categories; CatBoost "
                             "accepts at most 65536");
        } else {
            rw_put_bytes(&put, "", 1);
            assert_borders(put.text, (size_t)n_cuts);
        }
        rw_mem_free(put.text);
        rw_ensemble_release(&ensemble);
    }
    rw_ctx_free(ctx);
}
