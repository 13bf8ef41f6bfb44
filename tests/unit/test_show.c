#include <ctype.h>
#include <locale.h>
#include <stdio.h>

#include "model_looks.h"
#include "model_fixture.h"

static const char body[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 2\n3\n12\n\n"
    "names 1\n12 the \"best\" \\\\ field\\x09;}\n\nmetrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves "
    "3\n"
    "node 0 feature 12 <= 0.1 left node 1 right leaf 2 missing left gain 34.5"
    " # the \"best\" \\\\ field\\x09;}\n"
    "node 1 feature 3 <= -2 left leaf 0 right leaf 1 missing right gain 0.3333333333333333\n"
    "leaf 0 0.25\nleaf 1 -0.5\nleaf 2 0.001\n\ntree 2 leaves 1\nleaf 0 0.7\n\n";

static char *show(const struct rw_model *model, int tree, int dot)
{
    struct rw_ctx *ctx = fixture_ctx();
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    cr_assert_eq(rw_model_show(ctx, model, tree, dot, out), RW_OK, "%s", rw_last_error(ctx));
    fclose(out);
    rw_ctx_free(ctx);
    return text;
}

static void shows(const char *model_text, int tree, int dot, const char *expected)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, model_text);
    char *text = show(model, tree, dot);
    cr_assert_str_eq(text, expected);
    free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

static const char indented[] =
    "tree 1: 3 leaves\n"
    "node 0: feature 12 (the \"best\" \\ field?;}) <= 0.1, missing left, gain 34.5\n"
    "  left: node 1: feature 3 <= -2, missing right, gain 0.3333333333333333\n"
    "    left: leaf 0: 0.25\n"
    "    right: leaf 1: -0.5\n"
    "  right: leaf 2: 0.001\n";

Test(show, text)
{
    shows(body, 0, 0, indented);
    shows(body, 1, 0, "tree 2: 1 leaf\nleaf 0: 0.7\n");
}

Test(show, locale_does_not_matter)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        cr_skip_test("no locale with a decimal comma is installed");
    shows(body, 0, 0, indented);
}

Test(show, dot)
{
    shows(
        body, 0, 1,
        "digraph tree1 {\n"
        "    node [shape=box];\n"
        "    node0 [label=\"feature 12 (the \\\"best\\\" \\\\ field?;})\\n<= 0.1\\ngain 34.5\"];\n"
        "    node1 [label=\"feature 3\\n<= -2\\ngain 0.3333333333333333\"];\n"
        "    leaf0 [label=\"leaf 0\\n0.25\", shape=ellipse];\n"
        "    leaf1 [label=\"leaf 1\\n-0.5\", shape=ellipse];\n"
        "    leaf2 [label=\"leaf 2\\n0.001\", shape=ellipse];\n"
        "    node0 -> node1 [label=\"left, missing\"];\n"
        "    node0 -> leaf2 [label=\"right\"];\n"
        "    node1 -> leaf0 [label=\"left\"];\n"
        "    node1 -> leaf1 [label=\"right, missing\"];\n"
        "}\n");
    shows(body, 1, 1,
          "digraph tree2 {\n    node [shape=box];\n"
          "    leaf0 [label=\"leaf 0\\n0.7\", shape=ellipse];\n}\n");
}

/* --- the part of dot's grammar that is used: statements of identifiers, -> and [a=b, ...] --- */

static const char *blanks(const char *c)
{
    while (isspace((unsigned char)*c))
        c++;
    return c;
}

static const char *expect(const char *c, const char *text)
{
    c = blanks(c);
    cr_assert_eq(strncmp(c, text, strlen(text)), 0, "expected '%s' at '%.40s'", text, c);
    return c + strlen(text);
}

static const char *identifier(const char *c)
{
    c = blanks(c);
    if (*c == '"') {
        for (c++; *c != '"'; c++) {
            cr_assert(*c && *c != '\n', "a text without an end");
            if (*c == '\\')
                c++;
        }
        return c + 1;
    }
    cr_assert(isalpha((unsigned char)*c), "expected a name at '%.40s'", c);
    while (isalnum((unsigned char)*c) || *c == '_')
        c++;
    return c;
}

static int check_dot(const char *c)
{
    int n_edges = 0;
    c = expect(identifier(expect(c, "digraph ")), "{");
    while (*blanks(c) != '}') {
        c = blanks(identifier(c));
        if (*c == '-') {
            c = identifier(expect(c, "->"));
            n_edges++;
        }
        c = expect(c, "[");
        for (;;) {
            c = identifier(expect(identifier(c), "="));
            if (*blanks(c) != ',')
                break;
            c = expect(c, ",");
        }
        c = expect(expect(c, "]"), ";");
    }
    c = expect(c, "}");
    cr_assert_eq(*blanks(c), 0);
    return n_edges;
}

Test(show, dot_is_grammatical)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 10, 31, 10, 5);
    for (int i = 0; i < 10; i++) {
        char *text = show(model, i, 1);
        cr_assert_eq(check_dot(text), 2 * (n_leaves_of(model, i) - 1));
        free(text);
    }
    rw_model_free(model);
    model = fixture_model(ctx, body);
    char *text = show(model, 0, 1);
    cr_assert_eq(check_dot(text), 4);
    free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(show, a_chain_takes_room_in_proportion_to_its_leaves)
{
    enum { N_LEAVES = 20000 };
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 1, N_LEAVES, 1, 5);
    for (int32_t i = 0; i < N_LEAVES - 1; i++) {
        model->tree[0].left[i] = i < N_LEAVES - 2 ? i + 1 : ~(N_LEAVES - 1);
        model->tree[0].right[i] = ~i;
    }
    cr_assert_eq(rw_model_check(ctx, model), RW_OK);
    char *text = show(model, 0, 0);
    cr_assert_lt(strlen(text), (size_t)N_LEAVES * 400);
    free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(show, errors)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, body);
    cr_assert_eq(rw_model_show(ctx, model, 2, 0, stderr), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "tree is 2; expected 0 to 1");
    cr_assert_eq(rw_model_show(ctx, model, -1, 1, stderr), RW_ERR_ARGUMENT);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        cr_assert_eq(rw_model_show(ctx, model, 0, 0, full), RW_ERR_MACHINE);
        cr_assert_str_eq(rw_last_error(ctx), "cannot write tree 1: No space left on device");
        fclose(full);
    }
    rw_model_free(model);
    model = fixture_random_model(ctx, 0, 1, 1, 5);
    cr_assert_eq(rw_model_show(ctx, model, 0, 0, stderr), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "tree is 0; the model has no trees");
    rw_model_free(model);
    rw_ctx_free(ctx);
}
