/* Solr's trees: a slack of 1e-6 is added to every threshold, in float. */
#include "convert_fixture.h"

static const char small_model[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 3\n0-2\n\nnames 1\n"
    "1 page \"age\"\n\nmetrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 3\n"
    "node 0 feature 1 <= 0.5 left leaf 0 right node 1 missing left gain 0 # page \"age\"\n"
    "node 1 feature 2 <= -3 left leaf 1 right leaf 2 missing MISSING gain 0\n"
    "leaf 0 0.125\nleaf 1 -1e-07\nleaf 2 2\n\ntree 2 leaves 1\nleaf 0 0.25\n\n";

static struct rw_model *small(struct rw_ctx *ctx, const char *missing, const char *cut)
{
    char text[1000];
    const char *mark = strstr(small_model, "MISSING"), *at = strstr(small_model, "-3 left");
    snprintf(text, sizeof(text), "%.*s%s%.*s%s%s", (int)(at - small_model), small_model, cut,
             (int)(mark - at - 2), at + 2, missing, mark + 7);
    return fixture_model(ctx, text);
}

#define HEAD                                                                          \
    "{\"class\":\"org.apache.solr.ltr.model.MultipleAdditiveTreesModel\",\"name\":"   \
    "\"rankwood\",\n\"features\":[{\"name\":\"f0\"},{\"name\":\"page \\\"age\\\"\"}," \
    "{\"name\":\"f2\"}],\n\"params\":{"

Test(to_solr, its_text)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = small(ctx, "right", "-3");
    size_t n;
    char *text = convert_write(ctx, model, convert_format("solr"), -1, &n);
    /* 0.499999 + 1e-6 is 0.5 in float; at -3 the slack is 4 floats */
    cr_assert_str_eq(
        text, HEAD "\"trees\":[\n{\"weight\":\"1\",\"root\":{\"feature\":\"page \\\"age\\\"\","
                   "\"threshold\":\"0.499999\",\"left\":{\"value\":\"0.125\"},\"right\":"
                   "{\"feature\":\"f2\",\"threshold\":\"-3.000001\",\"left\":{\"value\":\"-1e-7\"},"
                   "\"right\":{\"value\":\"2.0\"}}}},\n"
                   "{\"weight\":\"1\",\"root\":{\"value\":\"0.25\"}}\n]}}\n");
    convert_damaged("solr", text, n);
    rw_mem_free(text);
    rw_model_free(model);
    /* A direction that 0 has not: then all are written. */
    model = small(ctx, "left", "-3");
    text = convert_write(ctx, model, convert_format("solr"), -1, &n);
    cr_assert_not_null(strstr(text, "\"params\":{\"isNullSameAsZero\":\"false\",\"trees\""));
    cr_assert_not_null(strstr(text, "\"threshold\":\"0.499999\",\"missing\":\"left\""));
    cr_assert_not_null(strstr(text, "\"threshold\":\"-3.000001\",\"missing\":\"left\""));
    rw_mem_free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* Random models, without the thresholds that the slack cannot represent: below a power of two
 * floats lie twice as close, and none of those above it comes to -1 when 1e-6 is added. */
Test(to_solr, round_trip)
{
    struct rw_ctx *ctx = fixture_ctx();
    const struct rw_model_format *format = convert_format("solr");
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rw_model *model = fixture_random_model(ctx, 5, (int32_t)(1 + seed), 6, seed), *back;
        size_t n;
        for (int32_t t = 0; t < model->n_trees; t++)
            for (int32_t i = 0; i < model->tree[t].n_leaves - 1; i++)
                model->tree[t].cut[i] *= model->tree[t].cut[i] < 0 ? 0.75f : 1.0f;
        if (seed % 2)
            convert_plain_directions(model);
        char *text = convert_write(ctx, model, format, -1, &n);
        cr_assert_eq(strstr(text, "isNullSameAsZero") == NULL, seed % 2 == 1);
        cr_assert_eq(convert_read(ctx, text, n, format, -1, &back), RW_OK, "%s",
                     rw_last_error(ctx));
        convert_same_model(model, back, 0);
        convert_same_text(ctx, back, format, -1, text, n);
        rw_mem_free(text);
        rw_model_free(model);
        rw_model_free(back);
    }
    rw_ctx_free(ctx);
}

/* If no float plus the slack gives the threshold, the error names the node. */
Test(to_solr, a_threshold_within_the_slack)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = small(ctx, "right", "1e-20");
    struct rw_lowering how = {.base = -1, .lossy = 0};
    struct rw_ensemble ensemble;
    cr_assert_eq(rw_lower(ctx, model, convert_format("solr"), &how, &ensemble), RW_ERR_UNSUPPORTED);
    rw_ensemble_release(&ensemble);
    cr_assert_str_eq(rw_last_error(ctx), "tree 1, node 1: 'solr' cannot represent the threshold "
                                         "1e-20\nhint: --lossy uses the nearest");
    how.lossy = 1;
    cr_assert_eq(rw_lower(ctx, model, convert_format("solr"), &how, &ensemble), RW_OK);
    rw_ensemble_release(&ensemble);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

#define SOLR(features, more, trees)                                                               \
    "{\"class\":\"org.apache.solr.ltr.model.MultipleAdditiveTreesModel\",\"features\":[" features \
    "],\"params\":{" more "\"trees\":[" trees "]}}"
#define A          "{\"name\":\"a\"}"
#define TREE(root) "{\"weight\":\"2f\",\"root\":" root "}"
#define SPLIT(feature, threshold, more)                               \
    TREE("{\"feature\":\"" feature "\",\"threshold\":" threshold more \
         ",\"left\":{\"value\":\"1\"},\"right\":{\"value\":-0.5}}")

static void reads(const char *text, float cut, int missing_left)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format("solr"), -1, &model), RW_OK,
                 "%s", rw_last_error(ctx));
    cr_assert_eq(model->tree[0].cut[0], cut, "%.9g", (double)model->tree[0].cut[0]);
    cr_assert_eq(model->tree[0].missing_left[0], missing_left);
    cr_assert_eq(model->tree[0].leaf[0], 2.0f);
    cr_assert_eq(model->tree[0].leaf[1], -1.0f);
    cr_assert_eq(model->absent_missing, 1);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_solr, read)
{
    reads(SOLR(A, "", SPLIT("a", "\"0.5\"", "")), 0.5f + 1e-6f, 1);
    reads(SOLR(A, "", SPLIT("a", "0.5", ",\"missing\":\"right\"")), 0.5f + 1e-6f, 1);
    reads(SOLR(A, "", SPLIT("a", "\"-1e-6f\"", "")), 0.0f, 1);
    reads(SOLR(A, "", SPLIT("a", "\"-0.5\"", "")), -0.5f + 1e-6f, 0);
    reads(SOLR(A, "\"isNullSameAsZero\":false,", SPLIT("a", "\"64\"", ",\"missing\":\"left\"")), 64,
          1);
    reads(
        SOLR(A, "\"isNullSameAsZero\":\"false\",", SPLIT("a", "\"64\"", ",\"missing\":\"right\"")),
        64, 0);
    reads(SOLR("{\"name\":\"a\",\"norm\":{\"class\":"
               "\"org.apache.solr.ltr.norm.IdentityNormalizer\"}}",
               "\"isNullSameAsZero\":true,", SPLIT("a", "\"64\"", "")),
          64, 1);
}

Test(to_solr, refused)
{
    convert_refused("solr", "[]", "file: missing 'class': expected a string");
    convert_refused("solr", "{\"class\":\"org.apache.solr.ltr.model.LinearModel\"}",
                    "file: unsupported class 'org.apache.solr.ltr.model.LinearModel': expected "
                    "org.apache.solr.ltr.model.MultipleAdditiveTreesModel");
    convert_refused("solr", SOLR(A "," A, "", ""), "file: feature 'a' appears twice");
    convert_refused("solr", SOLR("{\"name\":\"a\",\"norm\":{\"class\":\"MinMax\"}}", "", ""),
                    "file: feature 'a' has an unsupported normalizer, 'MinMax'");
    convert_refused("solr", SOLR(A, "", SPLIT("b", "\"1\"", "")),
                    "file: feature 'b' is missing in 'features': Solr would end the tree there");
    convert_refused("solr", SOLR(A, "", SPLIT("a", "\"NaN\"", "")),
                    "file: 'threshold': expected a number, found 'NaN'");
    convert_refused("solr", SOLR(A, "", SPLIT("a", "\"1e99\"", "")),
                    "file: 'threshold': expected a number, found '1e99'");
    convert_refused("solr", SOLR(A, "", SPLIT("a", "[]", "")),
                    "file: invalid 'threshold': expected a number");
    convert_refused("solr", SOLR(A, "\"isNullSameAsZero\":0,", ""),
                    "file: 'isNullSameAsZero': expected true or false");
    convert_refused("solr", SOLR(A, "\"isNullSameAsZero\":false,", SPLIT("a", "\"1\"", "")),
                    "file: missing 'missing': expected a string");
    convert_refused(
        "solr", SOLR(A, "\"isNullSameAsZero\":false,", SPLIT("a", "\"1\"", ",\"missing\":\"up\"")),
        "file: 'missing' is 'up'; expected left or right");
    convert_refused("solr", SOLR(A, "", TREE("{\"value\":\"1\",\"left\":{}}")),
                    "file: a node with children, but without 'feature'");
    convert_refused("solr", SOLR(A, "", "{\"root\":{\"value\":\"1\"}}"),
                    "file: missing 'weight': expected a number");
    convert_refused("solr", SOLR(A, "", TREE("{}")), "file: missing 'value': expected a number");
}
