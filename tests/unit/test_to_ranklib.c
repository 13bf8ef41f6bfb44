/* RankLib's and QuickRank's XML. */
#include "convert_fixture.h"

static const char small_model[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 1\n1-3\n\nnames 0\n\n"
    "metrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 3\n"
    "node 0 feature 1 <= 0.1 left leaf 0 right node 1 missing left gain 1\n"
    "node 1 feature 3 <= -2 left leaf 1 right leaf 2 missing right gain 1\n"
    "leaf 0 0.1\nleaf 1 -1e-07\nleaf 2 2\n\ntree 2 leaves 1\nleaf 0 0.25\n\n";

static struct rw_model *small(struct rw_ctx *ctx)
{
    char text[sizeof(small_model)];
    memcpy(text, small_model, sizeof(text));
    memcpy(strstr(text, "features 1"), "features 3", 10);
    return fixture_model(ctx, text);
}

#define FOREST(indent)                                                                             \
    indent                                                                                         \
        "<ensemble>\n" indent "\t<tree id=\"1\" weight=\"1.0\">\n" indent "\t\t<split>\n" indent   \
        "\t\t\t<feature> 1 </feature>\n" indent "\t\t\t<threshold> 0.1 </threshold>\n" indent      \
        "\t\t\t<split pos=\"left\">\n" indent                                                      \
        "\t\t\t\t<output> 0.10000000149011612 </output>\n" indent "\t\t\t</split>\n" indent        \
        "\t\t\t<split pos=\"right\">\n" indent "\t\t\t\t<feature> 3 </feature>\n" indent           \
        "\t\t\t\t<threshold> -2.0 </threshold>\n" indent "\t\t\t\t<split pos=\"left\">\n" indent   \
        "\t\t\t\t\t<output> -1.0000000116860974e-7 </output>\n" indent "\t\t\t\t</split>\n" indent \
        "\t\t\t\t<split pos=\"right\">\n" indent "\t\t\t\t\t<output> 2.0 </output>\n" indent       \
        "\t\t\t\t</split>\n" indent "\t\t\t</split>\n" indent "\t\t</split>\n" indent              \
        "\t</tree>\n" indent "\t<tree id=\"2\" weight=\"1.0\">\n" indent "\t\t<split>\n" indent    \
        "\t\t\t<output> 0.25 </output>\n" indent "\t\t</split>\n" indent "\t</tree>\n" indent      \
        "</ensemble>\n"

Test(to_ranklib, its_text)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = small(ctx);
    size_t n;
    char *text = convert_write(ctx, model, convert_format("ranklib"), -1, &n);
    cr_assert_str_eq(text,
                     "## LambdaMART\n## No. of trees = 2\n## No. of leaves = 3\n\n" FOREST(""));
    convert_damaged("ranklib", text, n);
    rw_mem_free(text);
    text = convert_write(ctx, model, convert_format("quickrank"), -1, &n);
    const char *forest = strstr(text, "\t<ensemble>");
    cr_assert_not_null(forest);
    cr_assert_str_eq(forest, FOREST("\t") "</ranker>\n");
    convert_damaged("quickrank", text, n);
    rw_mem_free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_ranklib, round_trip)
{
    convert_round_trip("ranklib", 0);
    convert_round_trip("quickrank", 0);
}

#define HEAD         "## LambdaMART\n"
#define TREE(inside) HEAD "<ensemble><tree id=\"1\" weight=\"1\">" inside "</tree></ensemble>"
#define SPLIT(feature, threshold)                                               \
    "<split><feature>" feature "</feature><threshold>" threshold "</threshold>" \
    "<split pos=\"left\"><output>1</output></split>"                            \
    "<split pos=\"right\"><output>2</output></split></split>"

Test(to_ranklib, read)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    const struct rw_model_format *format = convert_format("ranklib");
    const char *good[] = {TREE(SPLIT("1", "0.5")), TREE(SPLIT(" 7 ", "\n -1e3 ")),
                          "## MART\r\n## x\r\n\r\n<ensemble/>",
                          TREE("<split><output>1</output></split>"),
                          TREE("<!-- a --><split><output>&#49;</output></split>")};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_assert_eq(convert_read(ctx, good[i], strlen(good[i]), format, -1, &model), RW_OK,
                     "%zu: %s", i, rw_last_error(ctx));
        rw_model_free(model);
    }
    cr_assert_eq(convert_read(ctx, good[0], strlen(good[0]), format, 0, &model), RW_OK);
    cr_assert_eq(model->tree[0].feature[0], 0);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_ranklib, refused)
{
    convert_refused("ranklib", "", "file: line 1: expected '## LambdaMART' or '## MART', found ''");
    convert_refused(
        "ranklib", "## Random Forests\n",
        "file: line 1: expected '## LambdaMART' or '## MART', found '## Random Forests'");
    convert_refused("ranklib", HEAD, "file: not XML: line 2, column 1: no element found");
    convert_refused("ranklib", HEAD "<ensemble>\n<tree>",
                    "file: not XML: line 3, column 7: no element found");
    convert_refused("ranklib", HEAD "<!DOCTYPE ensemble [<!ENTITY a \"b\">]><ensemble/>",
                    "file: line 2: a DOCTYPE, which models do not have");
    convert_refused("ranklib", HEAD "<forest/>", "file: expected <ensemble>, found <forest>");
    convert_refused("ranklib", HEAD "<ensemble><bush/></ensemble>",
                    "file: line 2: expected a <tree> in <ensemble>, found <bush>");
    convert_refused("ranklib", TREE(""), "file: line 2: <tree>: expected one <split>");
    convert_refused(
        "ranklib", TREE("<split/>"),
        "file: line 2: <split>: expected an <output>, or <feature>, <threshold> and two "
        "<split>, pos left and right");
    convert_refused(
        "ranklib", TREE("<split><output>1</output><output>1</output></split>"),
        "file: line 2: <split>: expected an <output>, or <feature>, <threshold> and two "
        "<split>, pos left and right");
    convert_refused("ranklib", TREE("<split><output>one</output></split>"),
                    "file: line 2: <output>: expected a number, found 'one'");
    convert_refused("ranklib", TREE(SPLIT("1", "NaN")),
                    "file: line 2: <threshold>: expected a number, found 'NaN'");
    convert_refused("ranklib", TREE(SPLIT("1", "1e999")),
                    "file: line 2: <threshold>: expected a number, found '1e999'");
    convert_refused("ranklib", TREE(SPLIT("-1", "1")),
                    "file: line 2: <feature>: expected an id, found '-1'");
    convert_refused("ranklib", TREE(SPLIT("", "1")), "file: line 2: <feature> is empty");
    convert_refused("ranklib", TREE(SPLIT("0", "1")),
                    "file: tree 1, node 0: feature 0; expected 1 to 65535");
    convert_refused("ranklib", TREE(SPLIT("99999", "1")),
                    "file: tree 1, node 0: feature 99999; expected 1 to 65535");
}

Test(to_ranklib, quickrank_refused)
{
    convert_refused("quickrank", "<x/>", "file: expected <ranker>, found <x>");
    convert_refused("quickrank", "<ranker/>", "file: no <type> in <info>");
    convert_refused("quickrank", "<ranker><info><type>LINESEARCH</type></info></ranker>",
                    "file: line 1: unsupported <type> 'LINESEARCH': expected LAMBDAMART or MART");
    convert_refused("quickrank", "<ranker><info><type>OBVMART</type></info></ranker>",
                    "file: line 1: unsupported oblivious trees ('OBVMART')");
    convert_refused("quickrank", "<ranker><info><type>MART</type></info></ranker>",
                    "file: no <ensemble> in <ranker>");
}

/* A chain as long as a tree may be: nothing recurses. */
Test(to_ranklib, a_deep_chain)
{
    struct rw_ctx *ctx = fixture_ctx();
    enum { N = 20000 };
    struct rw_model *model, *back;
    size_t n;
    cr_assert_eq(rw_model_new(ctx, &model), RW_OK);
    cr_assert_eq(RW_NEW(ctx, model->tree, 1), RW_OK);
    model->n_trees = 1;
    cr_assert_eq(rw_tree_init(ctx, &model->tree[0], N), RW_OK);
    for (int32_t i = 0; i < N - 1; i++) {
        model->tree[0].left[i] = ~i;
        model->tree[0].right[i] = i + 2 < N ? i + 1 : ~(N - 1);
        model->tree[0].feature[i] = 1;
        model->tree[0].cut[i] = (float)i;
        model->tree[0].missing_left[i] = 1;
    }
    char *text = convert_write(ctx, model, convert_format("ranklib"), -1, &n);
    cr_assert_lt(n, (size_t)N * 600);
    cr_assert_eq(convert_read(ctx, text, n, convert_format("ranklib"), -1, &back), RW_OK);
    cr_assert_eq(back->tree[0].n_leaves, N);
    rw_mem_free(text);
    rw_model_free(back);
    text = convert_write(ctx, model, convert_format("xgboost"), -1, &n);
    rw_mem_free(text);
    const struct rw_lowering how = {.base = -1, .lossy = 0};
    struct rw_ensemble e;
    struct rw_put put = {.ctx = ctx};
    const struct rw_model_format *dump = convert_format("xgboost-dump");
    cr_assert_eq(rw_lower(ctx, model, dump, &how, &e), RW_OK);
    cr_assert_eq(dump->write(&e, &put), RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(ctx),
                     "tree 1: more than 480 levels deep, the limit of the format's readers");
    rw_mem_free(put.text);
    rw_ensemble_release(&e);
    rw_model_free(model);
    rw_ctx_free(ctx);
}
