/* PMML: a MiningModel that sums TreeModels. It is only written; the reader is --verify's. */
#include "convert_fixture.h"

static const char small_model[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 3\n1-3\n\nnames 2\n"
    "1 score\n2 <a> & \"b\"\n\nmetrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 3\n"
    "node 0 feature 1 <= 0.1 left leaf 0 right node 1 missing left gain 0 # score\n"
    "node 1 feature 2 <= -3 left leaf 1 right leaf 2 missing right gain 0 # <a> & \"b\"\n"
    "leaf 0 0.125\nleaf 1 -1e-07\nleaf 2 2\n\ntree 2 leaves 1\nleaf 0 0.25\n\n";

#define PMML(dictionary, rest)                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"                   \
    "<PMML xmlns=\"http://www.dmg.org/PMML-4_4\" version=\"4.4\">\n" \
    "<Header><Application name=\"Rankwood\"/></Header>\n"            \
    "<DataDictionary>\n" dictionary "</DataDictionary>\n" rest "</PMML>\n"
#define TARGET(name) "<DataField name=\"" name "\" optype=\"continuous\" dataType=\"double\"/>\n"
#define FIELD(name)  "<DataField name=\"" name "\" optype=\"continuous\" dataType=\"float\"/>\n"
#define VALUE(name)  "<MiningField name=\"" name "\" invalidValueTreatment=\"asMissing\"/>\n"
#define MINED(name)  "<MiningField name=\"" name "\"/>\n"
#define SUM(fields, segments)                                                \
    "<MiningModel functionName=\"regression\">\n<MiningSchema>\n" fields     \
    "</MiningSchema>\n<Segmentation multipleModelMethod=\"sum\">\n" segments \
    "</Segmentation>\n</MiningModel>\n"
#define TREE(id, fields, nodes)                                                    \
    "<Segment id=\"" id "\"><True/>\n<TreeModel functionName=\"regression\" "      \
    "missingValueStrategy=\"defaultChild\" splitCharacteristic=\"binarySplit\">\n" \
    "<MiningSchema>\n" fields "</MiningSchema>\n" nodes "</TreeModel>\n</Segment>\n"

/* 0.1 in float has the digits that a double needs. */
#define TENTH "0.10000000149011612"

Test(to_pmml, its_text)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, small_model);
    size_t n;
    char *text = convert_write(ctx, model, convert_format("pmml"), -1, &n);
    cr_assert_str_eq(
        text,
        PMML(TARGET("score2") FIELD("score") FIELD("&lt;a&gt; &amp; &quot;b&quot;") FIELD("f3"),
             SUM("<MiningField name=\"score2\" usageType=\"target\"/>\n" VALUE("score")
                     VALUE("&lt;a&gt; &amp; &quot;b&quot;"),
                 TREE("1", MINED("score") MINED("&lt;a&gt; &amp; &quot;b&quot;"),
                      "<Node id=\"n0\" defaultChild=\"l0\"><True/>\n"
                      "<Node id=\"l0\" score=\"0.125\"><SimplePredicate field=\"score\" "
                      "operator=\"lessOrEqual\" value=\"" TENTH "\"/></Node>\n"
                      "<Node id=\"n1\" defaultChild=\"l2\"><SimplePredicate field=\"score\" "
                      "operator=\"greaterThan\" value=\"" TENTH "\"/>\n"
                      "<Node id=\"l1\" score=\"-1.0000000116860974e-7\"><SimplePredicate "
                      "field=\"&lt;a&gt; &amp; &quot;b&quot;\" operator=\"lessOrEqual\" "
                      "value=\"-3.0\"/></Node>\n"
                      "<Node id=\"l2\" score=\"2.0\"><SimplePredicate "
                      "field=\"&lt;a&gt; &amp; &quot;b&quot;\" operator=\"greaterThan\" "
                      "value=\"-3.0\"/></Node>\n"
                      "</Node>\n</Node>\n")
                     TREE("2", "<MiningField name=\"score2\" usageType=\"target\"/>\n",
                          "<Node id=\"l0\" score=\"0.25\"><True/></Node>\n"))));
    convert_damaged("pmml", text, n);
    rw_mem_free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* Reads as --verify does: with the names of the written model. */
static struct rw_model *through(struct rw_ctx *ctx, const struct rw_model *model, int base,
                                char **text, size_t *n)
{
    const struct rw_model_format *format = convert_format("pmml");
    const struct rw_lowering how = {.base = base, .lossy = 0};
    struct rw_ensemble made, back = {0};
    struct rw_put put = {.ctx = ctx};
    struct rw_model *out;
    cr_assert_eq(rw_lower(ctx, model, format, &how, &made), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(format->write(&made, &put), RW_OK, "%s", rw_last_error(ctx));
    rw_put_bytes(&put, "", 1);
    struct rw_source source = {ctx, "file", put.text, put.n - 1, &made, RW_OK, NULL, &back};
    cr_assert_eq(format->parse(&source), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_ensemble_check(ctx, &back, "file"), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_raise(ctx, &back, format, base, "file", &out), RW_OK, "%s", rw_last_error(ctx));
    rw_ensemble_release(&made);
    rw_ensemble_release(&back);
    *text = put.text;
    *n = put.n - 1;
    return out;
}

Test(to_pmml, round_trip)
{
    struct rw_ctx *ctx = fixture_ctx();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const int32_t n_leaves = seed == 9 ? 300 : (int32_t)(1 + seed);
        struct rw_model *model =
            fixture_random_model(ctx, (int32_t)(1 + seed % 7), n_leaves, 6, seed);
        char *text, *again;
        size_t n, n_again;
        struct rw_model *back = through(ctx, model, seed % 2 ? 1 : -1, &text, &n);
        convert_same_model(model, back, 0);
        /* The nodes come back in the order of a walk: once more, and nothing moves. */
        struct rw_model *twice = through(ctx, back, seed % 2 ? 1 : -1, &again, &n_again);
        convert_same_model(model, twice, 0);
        rw_mem_free(text);
        rw_mem_free(again);
        rw_model_free(twice);
        rw_model_free(back);
        rw_model_free(model);
    }
    rw_ctx_free(ctx);
}

/* Comparing as doubles splits floats like comparing as floats: the digits are exact in both,
 * also at the ends of a float's range. */
Test(to_pmml, thresholds_in_both_widths)
{
    static const float cuts[] = {0.1f,  -0.3f,  1e-45f,     -1e-45f,  1.17549435e-38f,
                                 -0.0f, 1e-35f, 3.4028e38f, -3.4e38f, 16777216.0f};
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, small_model);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        size_t n;
        model->tree[0].cut[0] = cuts[i];
        char *text = convert_write(ctx, model, convert_format("pmml"), -1, &n);
        const char *value = strstr(text, "value=\"");
        cr_assert_not_null(value);
        cr_assert_eq(strtod(value + 7, NULL), (double)cuts[i]);
        cr_assert_eq(strtof(value + 7, NULL), cuts[i]);
        cr_assert_neq(value[8], cuts[i] == 0 ? '-' : 0); /* Java orders -0 before 0 */
        cr_assert_neq(value[7], cuts[i] == 0 ? '-' : 0);
        rw_mem_free(text);
    }
    rw_model_free(model);
    rw_ctx_free(ctx);
}

static void not_written(const struct rw_model *model, struct rw_ctx *ctx, const char *message)
{
    const struct rw_model_format *format = convert_format("pmml");
    const struct rw_lowering how = {.base = -1, .lossy = 0};
    struct rw_ensemble ensemble;
    struct rw_put put = {.ctx = ctx};
    int status = rw_lower(ctx, model, format, &how, &ensemble);
    if (status == RW_OK)
        status = format->write(&ensemble, &put);
    cr_assert_eq(status, RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(ctx), message);
    rw_mem_free(put.text);
    rw_ensemble_release(&ensemble);
}

/* A tree of `depth` levels below its root. */
static void make_chain(struct rw_ctx *ctx, struct rw_tree *tree, int32_t depth)
{
    rw_tree_release(tree);
    cr_assert_eq(rw_tree_init(ctx, tree, depth + 1), RW_OK);
    for (int32_t i = 0; i < depth; i++) {
        tree->feature[i] = 1;
        tree->cut[i] = (float)i;
        tree->left[i] = ~i;
        tree->right[i] = i + 1 < depth ? i + 1 : ~depth;
    }
}

Test(to_pmml, models_that_pmml_cannot_represent)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, small_model);
    char *text;
    size_t n;
    make_chain(ctx, &model->tree[1], 190);
    text = convert_write(ctx, model, convert_format("pmml"), -1, &n);
    rw_mem_free(text);
    make_chain(ctx, &model->tree[1], 191);
    not_written(model, ctx, "tree 2: more than 190 levels deep, the limit of the format's readers");
    model->n_trees = 0;
    not_written(model, ctx, "the model has no trees; PMML cannot represent such a model");
    model->n_trees = 2;
    rw_mem_free(model->name[0].name);
    cr_assert_eq(rw_mem_copy_text(ctx, &model->name[0].name, "f\xEF\xBF\xBE"), RW_OK);
    not_written(model, ctx,
                "the name 'f\xEF\xBF\xBE' has a character that 'pmml' cannot represent");
    rw_mem_free(model->name[0].name);
    cr_assert_eq(rw_mem_copy_text(ctx, &model->name[0].name, "f3"), RW_OK);
    not_written(model, ctx, "two features have the name 'f3'; 'pmml' needs unique names");
    rw_model_free(model);
    rw_ctx_free(ctx);
}

#define LEAF "<Node id=\"l0\" score=\"1\"><True/></Node>\n"
#define HALF(id, operator, more)                                               \
    "<Node id=\"" id "\" score=\"1\"><SimplePredicate field=\"a\" operator=\"" \
    operator"\"" more "/></Node>\n"
#define SPLIT(goes_to, left, right) \
    "<Node id=\"n0\" defaultChild=\"" goes_to "\"><True/>\n" left right "</Node>\n"
#define LEFT  HALF("l0", "lessOrEqual", " value=\"0.5\"")
#define RIGHT HALF("l1", "greaterThan", " value=\"0.5\"")
#define ONE(nodes) \
    PMML(TARGET("score") FIELD("a") FIELD("b"), SUM(MINED("a"), TREE("1", MINED("a"), nodes)))

static void refused(const char *text, const char *message)
{
    convert_refused("pmml", text, message);
}

Test(to_pmml, read)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    for (int right = 0; right < 2; right++) {
        const char *text = right ? ONE(SPLIT("l1", LEFT, RIGHT)) : ONE(SPLIT("l0", LEFT, RIGHT));
        cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format("pmml"), -1, &model),
                     RW_OK, "%s", rw_last_error(ctx));
        cr_assert_eq(model->tree[0].cut[0], 0.5f);
        cr_assert_eq(model->tree[0].missing_left[0], !right);
        cr_assert_eq(model->absent_missing, 1);
        rw_model_free(model);
    }
    rw_ctx_free(ctx);
}

Test(to_pmml, refused)
{
    const char *text = ONE(LEAF);
    char copy[2000];
    refused("", "file: not XML: line 1, column 1: no element found");
    refused("<PMML version=\"4.4\"/>",
            "file: line 1: expected xmlns=\"http://www.dmg.org/PMML-4_4\"");
    refused("<!DOCTYPE PMML><PMML/>", "file: line 1: a DOCTYPE, which models do not have");
    refused("<RMML/>", "file: line 1: unexpected <RMML>");
    refused(PMML(FIELD("a"), ""), "file: 0 <DataField> for the score; expected 1");
    refused(PMML(TARGET("a") TARGET("b"), ""), "file: 2 <DataField> for the score; expected 1");
    refused(PMML(FIELD("a") FIELD("a"), ""), "file: line 6: two <DataField> with the same name");
    refused(PMML(TARGET("a"), SUM("", TREE("1", "", ""))), "file: tree 1 has no nodes");
    snprintf(copy, sizeof(copy), "%s", text);
    memcpy(strstr(copy, "\"sum\""), "\"max\"", 5);
    refused(copy, "file: line 13: expected multipleModelMethod=\"sum\"");
    snprintf(copy, sizeof(copy), "%s", text);
    memcpy(strstr(copy, "\"defaultChild\""), "\"last_child__\"", 14);
    refused(copy, "file: line 15: expected missingValueStrategy=\"defaultChild\"");
    snprintf(copy, sizeof(copy), "%s", text);
    memcpy(strstr(copy, "\"float\""), "\"int32\"", 7);
    refused(copy, "file: line 6: expected a <DataField> with a name, a float or (the score) a "
                  "double");
}

Test(to_pmml, nodes_refused)
{
    static const char *const node = "file: line 19: expected a <Node> with an id, and a score or a "
                                    "defaultChild";
    static const char *const children = "file: line 19: expected a <Node> with two children, one "
                                        "of them its defaultChild";
    refused(ONE("<Node id=\"l0\"><True/></Node>"), node);
    refused(ONE("<Node id=\"l\" score=\"1\"><True/></Node>"), node);
    refused(ONE("<Node id=\"l0\" score=\"1\" defaultChild=\"l0\"><True/></Node>"), node);
    refused(ONE("<Node id=\"n0\" defaultChild=\"left\"><True/></Node>"), node);
    refused(ONE("<Node id=\"l0\" score=\"one\"><True/></Node>"),
            "file: line 19: <Node>: expected a number, found 'one'");
    refused(ONE("<Node id=\"l0\" score=\"1e999\"><True/></Node>"),
            "file: line 19: <Node>: expected a number, found '1e999'");
    refused(ONE("<Node id=\"l0\" score=\"1\"></Node>"),
            "file: line 19: a <Node> without a comparison or <True/>");
    refused(ONE(LEAF LEAF), "file: line 20: a second root");
    refused(ONE("<Node id=\"l0\" score=\"1\"><True/>" LEAF "</Node>"),
            "file: line 19: expected no <Node> below a leaf, and two below another node");
    refused(ONE(SPLIT("l0", LEFT, RIGHT LEFT)),
            "file: line 22: expected no <Node> below a leaf, and two below another node");
    refused(ONE(SPLIT("l2", LEFT, RIGHT)), children);
    refused(ONE(SPLIT("l0", LEFT, HALF("l0", "greaterThan", " value=\"0.5\""))), children);
    refused(ONE(SPLIT("l0", LEFT, "\n")), children);
    refused(ONE(SPLIT("l0", RIGHT, LEFT)),
            "file: line 20: expected lessOrEqual in the first child");
    refused(ONE(SPLIT("l0", LEFT, HALF("l1", "greaterThan", " value=\"0.25\""))),
            "file: line 21: expected greaterThan in the second child, the rest as in the first");
    refused(ONE(SPLIT("l0", LEFT, HALF("l1", "greaterOrEqual", " value=\"0.5\""))),
            "file: line 21: expected greaterThan in the second child, the rest as in the first");
    refused(ONE(SPLIT("l0", LEFT, HALF("l1", "greaterThan", ""))),
            "file: line 21: expected a <SimplePredicate> with a field, an operator and a value");
    refused(ONE(SPLIT("l0", LEFT, "<Node id=\"l1\" score=\"1\"><True/></Node>\n")),
            "file: line 21: expected one <True/> in a root");
    refused(ONE("<Node id=\"l0\" score=\"1\"><SimplePredicate field=\"a\"/></Node>"),
            "file: line 19: expected one comparison in a <Node>, and no comparison in a root");
    refused(ONE("<Node id=\"l0\" score=\"1\"><True><True/></True></Node>"),
            "file: line 19: unexpected <True>");
}

/* A field that the model has not, and one that a comparison has not. */
Test(to_pmml, fields_by_name)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, small_model);
    const struct rw_model_format *format = convert_format("pmml");
    const struct rw_lowering how = {.base = -1, .lossy = 0};
    struct rw_ensemble made, back = {0};
    const char *text = ONE(SPLIT("l0", LEFT, RIGHT));
    cr_assert_eq(rw_lower(ctx, model, format, &how, &made), RW_OK);
    struct rw_source source = {ctx, "file", text, strlen(text), &made, RW_OK, NULL, &back};
    cr_assert_eq(format->parse(&source), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(ctx),
                     "file: line 6: a <DataField> that is not a feature of the model");
    rw_ensemble_release(&back);
    rw_ensemble_release(&made);
    refused(PMML(TARGET("score") FIELD("b"), SUM("", TREE("1", "", SPLIT("l0", LEFT, RIGHT)))),
            "file: line 17: a <SimplePredicate> without its <DataField>");
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_pmml, every_allocation_may_fail)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, small_model);
    const struct rw_model_format *format = convert_format("pmml");
    const struct rw_lowering how = {.base = -1, .lossy = 0};
    struct rw_ensemble made;
    cr_assert_eq(rw_lower(ctx, model, format, &how, &made), RW_OK);
    for (long n = 1;; n++) {
        struct rw_ensemble back = {0};
        struct rw_put put = {.ctx = ctx};
        rw_mem_fail_from(n);
        int status = format->write(&made, &put);
        if (status == RW_OK) {
            struct rw_source source = {ctx, "file", put.text, put.n, &made, RW_OK, NULL, &back};
            status = format->parse(&source);
        }
        rw_mem_fail_from(0);
        rw_mem_free(put.text);
        rw_ensemble_release(&back);
        if (status == RW_OK) {
            cr_assert_gt(n, 12);
            break;
        }
        cr_assert_eq(status, RW_ERR_MEMORY, "%ld: %s", n, rw_last_error(ctx));
    }
    rw_ensemble_release(&made);
    rw_model_free(model);
    rw_ctx_free(ctx);
}
