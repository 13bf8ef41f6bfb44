#include <dirent.h>
#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/exact.h"
#include "each.h"
#include "model_bodies.h"

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(model_text, .init = setup, .fini = teardown);

/* A finite float of any bits but -0. */
static float any_float(uint64_t item)
{
    const float value = rw_float_of_bits(rw_random(11, item, 0, 1001));
    return isfinite(value) && value != 0.0f ? value : 0.0f;
}

static double any_double(uint64_t item)
{
    const uint64_t high = rw_random(12, item, 0, 1002), low = rw_random(12, item, 1, 1002);
    const double value = rw_double_of_bits(high << 32 | low);
    return isfinite(value) && value != 0.0 ? value : 0.0;
}

Test(model_text, every_float_and_double_reads_back)
{
    struct rw_model *model = fixture_random_model(ctx, 100, 101, 5, 1);
    uint64_t item = 0;
    for (int32_t i = 0; i < model->n_trees; i++) {
        for (int32_t node = 0; node < model->tree[i].n_leaves - 1; node++) {
            model->tree[i].cut[node] = any_float(item++);
            model->tree[i].gain[node] = any_double(item++);
            model->tree[i].leaf[node] = any_float(item++);
        }
    }
    static const float floats[] = {FLT_MAX, -FLT_MAX, FLT_MIN,     FLT_TRUE_MIN, -FLT_TRUE_MIN,
                                   0.1f,    1e10f,    16777216.0f, 0.3f,         FLT_EPSILON};
    static const double doubles[] = {DBL_MAX, -DBL_MAX, DBL_MIN, DBL_TRUE_MIN,       -DBL_TRUE_MIN,
                                     0.1,     1e22,     1e23,    9007199254740993.0, DBL_EPSILON};
    for (int i = 0; i < 10; i++) {
        model->tree[0].cut[i] = model->tree[0].leaf[i] = floats[i];
        model->tree[0].gain[i] = doubles[i];
    }
    round_trip(model);
    rw_model_free(model);
}

Test(model_text, everything_except_the_trees_reads_back)
{
    static const char *const texts[] = {
        "31",    "",   " blanks around ", "back\\slash \\x41", "a\tb\nc\x7f\x01", "\xc3\x80\xff",
        "= # =", "nan"};
    struct rw_model *model = fixture_random_model(ctx, 2, 3, 3, 1), *read;
    cr_assert_eq(RW_NEW(ctx, model->params.param, 8), RW_OK);
    cr_assert_eq(RW_NEW(ctx, model->name, 8), RW_OK);
    cr_assert_eq(RW_NEW(ctx, model->metric_name, 8), RW_OK);
    cr_assert_eq(RW_NEW(ctx, model->metric_value, 8 * 3), RW_OK);
    model->absent_missing = 1;
    model->best_round = 2;
    model->n_rounds_run = 3;
    model->params.n = model->n_names = model->n_metrics = 8;
    for (int i = 0; i < 8; i++) {
        const char name[] = {'p', '-', (char)('0' + i), 0};
        const char *text = i == 1 ? "x" : texts[i]; /* only a parameter's value may be empty */
        cr_assert_eq(rw_mem_copy_text(ctx, &model->params.param[i].name, name), RW_OK);
        cr_assert_eq(rw_mem_copy_text(ctx, &model->params.param[i].value, texts[i]), RW_OK);
        cr_assert_eq(rw_mem_copy_text(ctx, &model->name[i].name, i == 5 ? "\xc3\x80" : text),
                     RW_OK);
        cr_assert_eq(rw_mem_copy_text(ctx, &model->metric_name[i], text), RW_OK);
        model->name[i].feature = (uint32_t)i * 9362;
    }
    for (int i = 0; i < 24; i++)
        model->metric_value[i] = i == 3 ? NAN : i == 4 ? INFINITY : i == 5 ? -INFINITY : i / 7.0;
    round_trip(model);
    char *text;
    size_t n;
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_OK);
    cr_assert_eq(parse(text, n, &read), RW_OK);
    cr_assert(read->absent_missing == 1 && read->best_round == 2 && read->n_rounds_run == 3);
    cr_assert_eq(memcmp(read->feature, model->feature, 3 * sizeof(*model->feature)), 0);
    for (int i = 0; i < 8; i++) {
        cr_assert_str_eq(read->params.param[i].name, model->params.param[i].name);
        cr_assert_str_eq(read->params.param[i].value, model->params.param[i].value);
        cr_assert_str_eq(read->name[i].name, model->name[i].name);
        cr_assert_eq(read->name[i].feature, model->name[i].feature);
        cr_assert_str_eq(read->metric_name[i], model->metric_name[i]);
    }
    for (int i = 0; i < 24; i++)
        cr_assert(read->metric_value[i] == model->metric_value[i] || i == 3);
    cr_assert(isnan(read->metric_value[3]));
    rw_mem_free(text);
    rw_model_free(read);
    rw_model_free(model);
}

/* Earlier versions stored names in the encoding of a CSV file. */
Test(model_text, names_become_utf8)
{
    static const char *const names[][2] = {{"caf\xe9", "caf\xc3\xa9"},
                                           {"\x80\x8d\xff", "\xe2\x82\xac\xc2\x8d\xc3\xbf"},
                                           {"\xc3\xa9", "\xc3\xa9"}, /* UTF-8 */
                                           {"\xc3\xa9\xe9", "\xc3\x83\xc2\xa9\xc3\xa9"},
                                           {"\xe2\x82", "\xc3\xa2\xe2\x80\x9a"}}; /* truncated */
    enum { COUNT = sizeof(names) / sizeof(*names) };
    struct rw_model *model = fixture_random_model(ctx, 2, 3, 3, 1), *read;
    cr_assert_eq(RW_NEW(ctx, model->name, COUNT), RW_OK);
    model->n_names = COUNT;
    for (uint32_t i = 0; i < COUNT; i++) {
        model->name[i].feature = i + 100;
        cr_assert_eq(rw_mem_copy_text(ctx, &model->name[i].name, names[i][0]), RW_OK);
    }
    char *text;
    size_t n;
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_OK);
    cr_assert_eq(parse(text, n, &read), RW_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        cr_assert_str_eq(read->name[i].name, names[i][1]);
        cr_assert(rw_name_is(names[i][1], names[i][0], strlen(names[i][0])));
        cr_assert(!rw_name_is(names[i][1], names[i][0], strlen(names[i][0]) - 1));
    }
    rw_mem_free(text);
    rw_model_free(read);
    rw_model_free(model);
}

Test(model_text, minus_zero_is_written_as_zero)
{
    struct rw_model *model = fixture_model(ctx, body);
    model->tree[0].cut[0] = model->tree[0].leaf[0] = -0.0f;
    model->tree[0].gain[0] = -0.0;
    char *text;
    size_t n;
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_OK);
    cr_assert_null(memmem(text, n, "-0\n", 3));
    cr_assert_null(memmem(text, n, "-0 ", 3));
    rw_mem_free(text);
    rw_model_free(model);
}

Test(model_text, bytes)
{
    struct rw_model *model = fixture_model(ctx, body);
    char *text;
    size_t n;
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        setlocale(LC_ALL, "fr_FR.UTF-8"); /* where they are installed: no decimal comma */
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_OK);
    cr_assert_eq(n, strlen(body) + RW_CHECKSUM_LINE_BYTES);
    cr_assert_eq(memcmp(text, body, strlen(body)), 0);
    cr_assert_eq(memcmp(text + strlen(body), "checksum f1fc9f37\n", RW_CHECKSUM_LINE_BYTES), 0,
                 "%.18s", text + strlen(body));
    rw_mem_free(text);
    rw_model_free(model);
}

Test(model_text, a_model_that_could_not_be_read_is_not_written)
{
    struct rw_model *model = fixture_model(ctx, body);
    char *text;
    size_t n;
    model->tree[0].leaf[0] = NAN;
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_ERR_FORMAT);
    cr_assert_null(text);
    cr_assert_str_eq(rw_last_error(ctx), "tree 1: leaf 0: not a finite number");
    rw_model_free(model);
}

/* --- damage --- */

static void one_line(void)
{
    cr_assert_eq(strncmp(rw_last_error(ctx), "m:", 2), 0, "%s", rw_last_error(ctx));
    cr_assert_null(strchr(rw_last_error(ctx), '\n'));
}

Test(model_text, every_flipped_bit_is_refused)
{
    size_t n;
    struct rw_model *model;
    for (int version = 0; version < N_BODIES; version++) {
        char *text = fixture_sum(bodies[version], strlen(bodies[version]), &n);
        for (size_t bit = 0; bit < 8 * n; bit += EACH(7)) {
            text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
            cr_assert_eq(parse(text, n, &model), RW_ERR_FORMAT, "bit %zu", bit);
            one_line();
            text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
        }
        cr_assert_eq(parse(text, n, &model), RW_OK);
        rw_model_free(model);
        free(text);
    }
}

/* The same with a valid checksum: an accepted text is still a valid model. */
Test(model_text, every_flipped_bit_behind_a_valid_checksum)
{
    for (int version = 0; version < N_BODIES; version++) {
        char *damaged = strdup(bodies[version]);
        for (size_t bit = 0; bit < 8 * strlen(bodies[version]); bit += EACH(7)) {
            size_t n;
            struct rw_model *model;
            damaged[bit / 8] = (char)(damaged[bit / 8] ^ (1 << bit % 8));
            char *text = fixture_sum(damaged, strlen(bodies[version]), &n);
            const int status = parse(text, n, &model);
            if (status == RW_OK) {
                cr_assert_eq(rw_model_check(ctx, model), RW_OK, "bit %zu", bit);
                round_trip(model);
            } else {
                cr_assert_eq(status, RW_ERR_FORMAT);
                one_line();
            }
            rw_model_free(model);
            free(text);
            damaged[bit / 8] = (char)(damaged[bit / 8] ^ (1 << bit % 8));
        }
        free(damaged);
    }
}

Test(model_text, every_truncation_is_refused)
{
    size_t n;
    struct rw_model *model;
    char *text = fixture_sum(body, strlen(body), &n);
    for (size_t length = 0; length < n; length += EACH(5)) {
        cr_assert_eq(parse(text, length, &model), RW_ERR_FORMAT, "%zu bytes", length);
        one_line();
    }
    free(text);
    for (size_t length = 0; length < strlen(body);
         length += EACH(5)) { /* with a checksum of its own */
        text = fixture_sum(body, length, &n);
        cr_assert_eq(parse(text, n, &model), RW_ERR_FORMAT, "%zu bytes", length);
        one_line();
        free(text);
    }
}

Test(model_text, something_after_the_end)
{
    size_t n;
    char *text = fixture_sum(body, strlen(body), &n);
    text = realloc(text, n + 2);
    text[n] = '\n';
    refused_as_it_is(text, n + 1,
                     "m:40: expected 'checksum' and 8 hex digits as the last line; "
                     "the file is truncated or damaged");
    free(text);
}

Test(model_text, other_files)
{
    refused_as_it_is("", 0, "m:1:1: expected 'rankwood model 6', found the end of the file");
    refused_as_it_is("2 qid:1 1:0.5\n", 14,
                     "'m' looks like LETOR text; expected a Rankwood model\n"
                     "hint: MODEL comes before DATA");
    refused_as_it_is("rankwood model 7\n", 17,
                     "m:1: a model of version 7; expected version 1 to 6");
    refused_as_it_is("rankwood model 10\n", 18,
                     "m:1: a model of version 10; expected version 1 to 6");
    refused_as_it_is("rankwood model x\n", 17, "m:1:16: expected a version, found 'x'");
    refused_as_it_is("rankwood model 1\r\n", 18,
                     "m:1:17: expected the end of the line, found '\\x0d'");
    refused_as_it_is("\x1f\x8b\x08\x00 ab", 7,
                     "'m' looks like a gzip file; expected a Rankwood model");
}

/* --- hostile files with a valid checksum --- */

Test(model_text, hostile_counts)
{
    refused(HEAD "params 99999999999999999999\n",
            "m:5:8: expected the number of parameters, 0 to 5, found '99999999999999999999'");
    refused(HEAD "params 4294967297\na = b\n",
            "m:5:8: expected the number of parameters, 0 to 4, found '4294967297'");
    refused(HEAD "params -1\n", "m:5:8: expected the number of parameters, 0 to 0, found '-1'");
    refused(HEAD "params 01\nleaves = 3\n\n",
            "m:5:8: expected the number of parameters, 0 to 3, found '01'");
    refused(HEAD PARAMS "features 65537\n",
            "m:8:10: expected the number of features, 0 to 65536, found '65537'");
    refused(HEAD PARAMS FEATURES "names 65536\n",
            "m:12:7: expected the number of names, 0 to 1, found '65536'");
    refused(HEAD PARAMS FEATURES NAMES "metrics 1 rounds 4000000000\nmetric x\n1 0\n\n",
            "m:15:18: expected the number of rounds, 0 to 6, found '4000000000'");
    refused(HEAD PARAMS FEATURES NAMES METRICS "trees 2147483648\n\n",
            "m:20:7: expected the number of trees, 0 to 0, found '2147483648'");
    refused(HEAD PARAMS FEATURES NAMES METRICS TREES
            "tree 1 leaves 2147483647\n" NODE0 NODE1 LEAVES,
            "m:22:15: expected the number of leaves, 0 to 21, found '2147483647'");
    refused(HEAD PARAMS FEATURES NAMES METRICS TREES "tree 1 leaves 0\n" NODE0 NODE1 LEAVES,
            "m:22:15: expected 1 leaf or more, found '0'");
    refused(
        "rankwood model 1\nabsent zero\nbest-round 2\n\n" PARAMS FEATURES NAMES METRICS TREES TREE,
        "m:3:12: expected a round that is not past the last tree, found '2'");
}

#define TREE_OF(node0, node1, leaves) \
    HEAD PARAMS FEATURES NAMES METRICS TREES "tree 1 leaves 3\n" node0 node1 leaves
#define NODE(n, left, right) \
    "node " n " feature 9 <= 0.1 left " left " right " right " missing right gain 0.5\n"

Test(model_text, hostile_trees)
{
    refused(TREE_OF(NODE0, NODE("1", "node 0", "leaf 1"), LEAVES),
            "m:22: tree 1: node 1: its left child is node 0; expected a larger number");
    refused(TREE_OF(NODE0, NODE("1", "node 1", "leaf 1"), LEAVES),
            "m:22: tree 1: node 1: its left child is node 1; expected a larger number");
    refused(TREE_OF(NODE("0", "node 1", "node 1"), NODE1, LEAVES),
            "m:22: tree 1: node 0: its right child is node 1, which has a parent already");
    refused(TREE_OF(NODE0, NODE("1", "leaf 0", "leaf 2"), LEAVES),
            "m:22: tree 1: node 1: its right child is leaf 2, which has a parent already");
    refused(TREE_OF(NODE("0", "leaf 0", "leaf 1"), NODE1, LEAVES),
            "m:22: tree 1: node 1: no earlier node has it as a child");
    refused(TREE_OF(NODE0, NODE("1", "node 2", "leaf 1"), LEAVES),
            "m:24:35: expected a node, 0 to 1, found '2'");
    refused(TREE_OF(NODE0, NODE("1", "leaf 3", "leaf 1"), LEAVES),
            "m:24:35: expected a leaf, 0 to 2, found '3'");
    refused(TREE_OF(NODE0, NODE("1", "leaf -1", "leaf 1"), LEAVES),
            "m:24:35: expected a leaf, 0 to 2, found '-1'");
    refused(TREE_OF(NODE0, NODE("0", "leaf 0", "leaf 1"), LEAVES), "m:24:6: expected 1, found '0'");
    refused(TREE_OF(NODE0, NODE1, "leaf 0 1\nleaf 0 1\nleaf 2 1\n\n"),
            "m:26:6: expected 1, found '0'");
    refused(TREE_OF(NODE0, NODE1, "leaf 0 1\nleaf 1 1\n\n"),
            "m:27:1: expected 'leaf', found the end of the line");
    refused(TREE_OF(NODE0, NODE1, "leaf 0 1\nleaf 1 1\nleaf 2 1\nleaf 3 1\n\n"),
            "m:28:1: expected the end of the line, found 'leaf'");
    refused(HEAD PARAMS FEATURES NAMES METRICS
            "trees 1\n\ntree 1 leaves 2\n" NODE("0", "node 1", "leaf 1") "leaf 0 1\nleaf 1 1\n\n",
            "m:23:35: expected a leaf, found '1'");
    refused(HEAD PARAMS FEATURES NAMES METRICS "trees 1\n\ntree 2 leaves 3\n" NODE0 NODE1 LEAVES,
            "m:22:6: expected 1, found '2'");
    refused(HEAD PARAMS FEATURES NAMES METRICS TREES TREE "tree 2 leaves 1\nleaf 0 1\n\n",
            "m:29:1: expected the checksum, found 'tree'");
}

Test(model_text, hostile_numbers)
{
    static const struct {
        const char *bad, *found;
    } numbers[] = {{"nan", "nan"},     {"inf", "inf"},  {"-inf", "-inf"}, {"1e39", "1e39"},
                   {"-1e39", "-1e39"}, {"0x1p3", NULL}, {"NULL", "NULL"}, {"1,5", NULL},
                   {"1e", NULL},       {"", NULL}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        char text[1024], expected[128];
        size_t n;
        struct rw_model *model;
        snprintf(text, sizeof(text),
                 HEAD PARAMS FEATURES NAMES METRICS TREES
                 "tree 1 leaves 3\n" NODE0
                 "node 1 feature 9 <= %s left leaf 0 right leaf 1 missing right gain 1\n" LEAVES,
                 numbers[i].bad);
        if (numbers[i].found) {
            snprintf(expected, sizeof(expected),
                     "m:24:21: expected a threshold, a finite float, found '%s'", numbers[i].found);
            refused(text, expected);
        }
        char *all = fixture_sum(text, strlen(text), &n);
        cr_assert_eq(parse(all, n, &model), RW_ERR_FORMAT, "'%s' was accepted", numbers[i].bad);
        free(all);
        snprintf(text, sizeof(text),
                 HEAD PARAMS FEATURES NAMES METRICS TREES "tree 1 leaves 1\nleaf 0 %s\n\n",
                 numbers[i].bad);
        all = fixture_sum(text, strlen(text), &n);
        cr_assert_eq(parse(all, n, &model), RW_ERR_FORMAT, "'%s' was accepted", numbers[i].bad);
        free(all);
    }
    refused(TREE_OF(NODE0,
                    "node 1 feature 9 <= 1 left leaf 0 right leaf 1 missing right gain nan\n",
                    LEAVES),
            "m:24:67: expected a gain, a finite number, found 'nan'");
    refused(TREE_OF(NODE0,
                    "node 1 feature 9 <= 1 left leaf 0 right leaf 1 missing right gain 1e999\n",
                    LEAVES),
            "m:24:67: expected a gain, a finite number, found '1e999'");
    refused(TREE_OF(NODE0, NODE1, "leaf 0 nan\nleaf 1 1\nleaf 2 1\n\n"),
            "m:25:8: expected a leaf's value, a finite float, found 'nan'");
}

#define LATER          "; a newer version of rankwood may have written this model"
#define COVERS(leaves) HEAD_OF_TREES NODE0 NODE1 leaves

Test(model_text, hostile_covers)
{
    refused(COVERS("leaf 0 1 docs 1\nleaf 1 1\nleaf 2 1\n\n"),
            "m:34:16: expected 'hessian', found the end of the line");
    refused(COVERS("leaf 0 1 docs 1 hessian 1\nleaf 1 1\nleaf 2 1\n\n"),
            "m:35:9: expected 'docs', found the end of the line");
    refused(COVERS("leaf 0 1\nleaf 1 1 docs 1 hessian 1\nleaf 2 1\n\n"),
            "m:35:10: unknown word 'docs'" LATER);
    refused(COVERS("leaf 0 1 docs -1 hessian 1\nleaf 1 1 docs 1 hessian 1\nleaf 2 1 docs 1 "
                   "hessian 1\n\n"),
            "m:31: tree 1: leaf 0: its documents are not a number from 0 to 2^53");
    refused(COVERS("leaf 0 1 docs 1 hessian 1\nleaf 1 1 docs 1 hessian -1\nleaf 2 1 docs 1 "
                   "hessian 1\n\n"),
            "m:31: tree 1: leaf 1: its hessian is not a finite number, 0 or more");
    refused(COVERS("leaf 0 1 docs nan hessian 1\n"),
            "m:34:15: expected a number of documents, found 'nan'");
    refused(COVERS("leaf 0 1 docs 1e999 hessian 1\n"),
            "m:34:15: expected a number of documents, found '1e999'");
    refused(COVERS("leaf 0 1 docs 1 hessian 1e39\n"),
            "m:34:25: expected a sum of hessians, a finite float, found '1e39'");
    /* Version 2 knows no covers. */
    refused(TREE_OF(NODE0, NODE1, COVERED), "m:25:9: expected the end of the line, found ' docs'");
}

/* Additions of a later version: a line of the head, a word of a tree or a leaf. */
Test(model_text, words_of_later_versions)
{
    refused("rankwood model 6\nabsent zero\ncolumns letor\nbest-round 1\nfinished no\nempty-rounds "
            "3\nbags 2\n\n",
            "m:7:1: unknown word 'bags'" LATER);
    refused(HEAD6 PARAMS2 EARLIER FEATURES NAMES METRICS TREES
            "tree 1 leaves 3 symmetric\n" NODE0 NODE1,
            "m:31:17: unknown word 'symmetric'" LATER);
    refused(COVERS("leaf 0 1 docs 1 hessian 1 bag 3\n"), "m:34:27: unknown word 'bag'" LATER);
    refused(HEAD2 PARAMS2 EARLIER FEATURES NAMES METRICS TREES
            "tree 1 leaves 3 symmetric\n" NODE0 NODE1,
            "m:30:16: expected the end of the line, found ' symmetric'");
}

Test(model_text, hostile_features_and_names)
{
    refused(TREE_OF(NODE0,
                    "node 1 feature 65536 <= 1 left leaf 0 right leaf 1 missing left gain 1\n",
                    LEAVES),
            "m:24:16: expected a feature id, 0 to 65535, found '65536'");
    refused(HEAD PARAMS "features 2\n7\n7\n\n",
            "m:10:1: expected ids that ascend, as many as were announced, found '7'");
    refused(HEAD PARAMS "features 2\n9-7\n\n",
            "m:9:1: expected ids that ascend, as many as were announced, found '9-7'");
    refused(HEAD PARAMS "features 2\n0-65535\n\n",
            "m:9:1: expected ids that ascend, as many as were announced, found '0-65535'");
    refused(HEAD PARAMS "features 2\n1\n2\n\n",
            "m:10:1: expected ids that ascend, as many as were announced, found '2'");
    refused(HEAD PARAMS "features 1\n65536\n\n",
            "m:9:1: expected a feature id, 0 to 65535, found '65536'");
    refused(HEAD PARAMS "features 1\n1\n2\n\n", "m:10:1: expected the end of the line, found '2'");
    refused(HEAD PARAMS FEATURES "names 2\n3 a\n3 b\n\n",
            "m:14:1: expected ids that ascend, found '3'");
    refused(HEAD PARAMS FEATURES "names 1\n3 \n\n",
            "m:13:3: expected a name, found the end of the line");
    refused(HEAD PARAMS FEATURES "names 1\n3 a\tb\n\n",
            "m:13:4: expected a printable character, found '\\x09b'");
    refused(HEAD PARAMS FEATURES "names 1\n3 a\x7f\n\n",
            "m:13:4: expected a printable character, found '\\x7f'");
    refused(HEAD PARAMS FEATURES "names 1\n3 a\\x41\n\n",
            "m:13:4: expected '\\\\' or '\\x' and two hex digits of a control character, "
            "found '\\x41'");
    refused(HEAD PARAMS FEATURES "names 1\n3 a\\x00\n\n",
            "m:13:4: expected '\\\\' or '\\x' and two hex digits of a control character, "
            "found '\\x00'");
    refused(HEAD "params 2\na = 1\na = 2\n\n", "m:7:1: expected a new parameter, found 'a'");
    refused(HEAD "params 1\nA = 1\n\n", "m:6:1: expected a parameter's name, found 'A'");
    refused(HEAD "params 1\na = \n\n", "m:6:5: expected a value, found the end of the line");
    refused(TREE_OF("node 0 feature 1 <= 2 left node 1 right leaf 2 missing left gain 7\n", NODE1,
                    LEAVES),
            "m:23:67: expected '#', found the end of the line");
    refused(TREE_OF("node 0 feature 1 <= 2 left node 1 right leaf 2 missing left gain 7 # last\n",
                    NODE1, LEAVES),
            "m:23:70: expected the feature's name, found 'last'");
    refused("rankwood model 1\nabsent never\n", "m:2:8: expected 'zero', found 'never'");
    static const char begin[] = "rankwood model 2\nabsent zero\nbest-round 0\n";
    char text2[512];
    snprintf(text2, sizeof(text2), "%sfinished maybe\n", begin);
    refused(text2, "m:4:10: expected 'yes', found 'maybe'");
    snprintf(text2, sizeof(text2), "%sfinished yes\nempty-rounds x\n", begin);
    refused(text2, "m:5:14: expected a number of rounds, 0 to 2147483647, found 'x'");
    snprintf(text2, sizeof(text2), "%s\nparams 0\n\n", begin);
    refused(text2, "m:4:1: expected 'finished', found the end of the line");
    refused(HEAD2 "params 1\nrate = auto \n\n",
            "m:8:13: expected a value, found the end of the line");
    refused(HEAD2 PARAMS2 "features 0\n", "m:11:1: expected 'earlier', found 'features'");
    refused(HEAD2 PARAMS2 "earlier 9\nrun 1 trees 0 params 0\n\n",
            "m:11:9: expected the number of trainings before the last, 0 to 1, found '9'");
    refused(HEAD2 PARAMS2 "earlier 1\nrun 2 trees 0 params 0\n\n", "m:12:5: expected 1, found '2'");
    refused(
        HEAD2 PARAMS2 "earlier 1\nrun 1 trees 2 params 0\n\n" FEATURES NAMES METRICS TREES TREE,
        "m:11:1: expected earlier trainings with no more trees than the model, found 'earlier'");
    refused(HEAD2 PARAMS2 "earlier 1\nrun 1 trees 1 params 2\na = 1\na = 2\n\n",
            "m:14:1: expected a new parameter, found 'a'");
    refused("rankwood model 7\nabsent zero\n",
            "m:1: a model of version 7; expected version 1 to 6");
    refused("rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 0\n\nnames 0\n\n"
            "metrics 0 rounds 1\n2\n\ntrees 0\n\n",
            "m:12:1: expected 1, found '2'");
}

Test(model_text, columns)
{
    static const char *const refused_lines[][2] = {
        {"numbered", "m:3:9: expected 'unknown', 'numbered', 'named' or 'letor', found 'numbered'"},
        {"numbered 0", "m:3:18: expected 1 column or more, found '0'"},
        {"numbered 65537", "m:3:18: expected the number of columns, 0 to 65536, found '65537'"},
        {"letor 10", "m:3:15: expected the end of the line, found '10'"},
        {"named 9", "m:19: feature 9; expected features 0 to 8"},
        {"other", "m:3:9: expected 'unknown', 'numbered', 'named' or 'letor', found 'other'"}};
    static const struct {
        const char *line;
        enum rw_columns_kind kind;
        uint32_t width, said;
    } read[] = {{"unknown", RW_COLUMNS_UNKNOWN, 0, 0},
                {"numbered 10", RW_COLUMNS_NUMBERED, 10, 10},
                {"named 12", RW_COLUMNS_NAMED, 12, 12},
                {"letor", RW_COLUMNS_LETOR, 0, 10}};
    static const char after[] = "\nbest-round 1\nfinished no\nempty-rounds 3\n\n" PARAMS2 EARLIER
        FEATURES NAMES METRICS TREES "tree 1 leaves 3\n" NODE0 NODE1 COVERED;
    char text[1024];
    for (size_t i = 0; i < sizeof(refused_lines) / sizeof(refused_lines[0]); i++) {
        snprintf(text, sizeof(text), "rankwood model 6\nabsent zero\ncolumns %s%s",
                 refused_lines[i][0], after);
        refused(text, refused_lines[i][1]);
    }
    for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
        snprintf(text, sizeof(text), "rankwood model 6\nabsent zero\ncolumns %s%s", read[i].line,
                 after);
        struct rw_model *model = fixture_model(ctx, text);
        uint32_t width;
        cr_assert_eq(rw_model_info(model).columns, read[i].kind);
        width = rw_model_info(model).width;
        cr_assert_eq(width, read[i].said);
        cr_assert_eq(model->width, read[i].width);
        round_trip(model);
        rw_model_free(model);
    }
    struct rw_model *old = fixture_model(ctx, body_2);
    cr_assert_eq(rw_model_info(old).columns, RW_COLUMNS_UNKNOWN);
    rw_model_free(old);
}

Test(model_text, many_parameters_take_no_time)
{
    enum { N = 50000 };
    char *text = malloc(16 * N + 100), *at = text;
    at += sprintf(at, HEAD "params %d\n", N);
    for (int i = 0; i < N; i++)
        at += sprintf(at, "p%d = 1\n", i);
    refused(text, "m:5: expected at most 1000 parameters, found 50000");
    free(text);
}

/* --- memory --- */

Test(model_text, failed_allocations_leave_nothing)
{
    size_t n;
    char *text = fixture_sum(body, strlen(body), &n);
    struct rw_model *model = NULL;
    int status = RW_ERR_MEMORY;
    for (int i = 1; status != RW_OK; i++) {
        cr_assert_lt(i, 100);
        rw_mem_fail_from(i);
        status = rw_model_parse(ctx, "m", text, n, &model);
        cr_assert(status == RW_OK || (status == RW_ERR_MEMORY && !model), "%s", rw_last_error(ctx));
    }
    free(text);
    status = RW_ERR_MEMORY;
    for (int i = 1; status != RW_OK; i++) {
        cr_assert_lt(i, 100);
        rw_mem_fail_from(i);
        status = rw_model_print(ctx, model, &text, &n);
        cr_assert(status == RW_OK || (status == RW_ERR_MEMORY && !text));
    }
    rw_mem_fail_from(0);
    rw_mem_free(text);
    rw_model_free(model);
}

/* --- files --- */

static char folder[] = "/tmp/rankwood-model-XXXXXX";

static void in_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static int count_files(void)
{
    int n = 0;
    DIR *dir = opendir(".");
    cr_assert_not_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

Test(model_text, files)
{
    in_folder();
    struct rw_model *model = fixture_random_model(ctx, 50, 100, 5, 1), *read;
    char *text, *bytes;
    size_t n;
    cr_assert_eq(rw_model_write(ctx, model, "a.model"), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(count_files(), 1);
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_OK);
    bytes = malloc(n + 1);
    FILE *file = fopen("a.model", "rb");
    cr_assert_eq(fread(bytes, 1, n + 1, file), n);
    fclose(file);
    cr_assert_eq(memcmp(bytes, text, n), 0);
    cr_assert_eq(rw_model_read(ctx, "a.model", &read), RW_OK, "%s", rw_last_error(ctx));
    round_trip(read);
    free(bytes);
    rw_mem_free(text);
    rw_model_free(read);
    rw_model_free(model);
    unlink("a.model");
    rmdir(folder);
}

Test(model_text, files_that_cannot_be)
{
    in_folder();
    struct rw_model *model = fixture_model(ctx, body), *read;
    cr_assert_eq(rw_model_read(ctx, "none.model", &read), RW_ERR_IO);
    cr_assert_null(read);
    cr_assert_str_eq(rw_last_error(ctx), "cannot open 'none.model': No such file or directory");
    cr_assert_eq(rw_model_read(ctx, ".", &read), RW_ERR_IO);
    cr_assert_null(read);
    cr_assert_str_eq(rw_last_error(ctx), "cannot read '.': it is a directory; expected a model");
    cr_assert_eq(rw_model_write(ctx, model, "."), RW_ERR_IO);
    cr_assert_eq(rw_model_write(ctx, model, "none/a.model"), RW_ERR_IO);
    model->tree[0].leaf[0] = NAN;
    cr_assert_eq(rw_model_write(ctx, model, "a.model"), RW_ERR_FORMAT);
    cr_assert_eq(count_files(), 0, "something was left behind");
    /* Endless, but its first bytes are no model's. */
    cr_assert_eq(rw_model_read(ctx, "/dev/zero", &read), RW_ERR_FORMAT);
    rw_model_free(model);
    rmdir(folder);
}
