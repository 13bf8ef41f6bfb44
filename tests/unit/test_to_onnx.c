/* ONNX's two tree ensembles. Their bytes are looked at by the onnx package
 * (tests/peers/formats.py); here they come back as they went. */
#include "convert/onnx_model.h"
#include "convert_fixture.h"

static const char small_model[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 1\n0-3\n\nnames 0\n\n"
    "metrics 0 rounds 0\n\ntrees 3\n\ntree 1 leaves 3\n"
    "node 0 feature 1 <= 0.5 left leaf 0 right node 1 missing left gain 0\n"
    "node 1 feature 3 <= -2 left leaf 1 right leaf 2 missing right gain 0\n"
    "leaf 0 0.125\nleaf 1 -1e-07\nleaf 2 2\n\ntree 2 leaves 1\nleaf 0 0.25\n\n"
    "tree 3 leaves 2\n"
    "node 0 feature 2 <= 1 left leaf 0 right leaf 1 missing left gain 0\nleaf 0 3\nleaf 1 4\n\n";

/* A good file with the one place where `from` stands made `to`, of the same length. */
static void changed(const char *format, const char *from, const char *to, size_t n_bytes,
                    const char *message)
{
    struct rw_ctx *ctx = fixture_ctx();
    char text[sizeof(small_model)];
    memcpy(text, small_model, sizeof(text));
    memcpy(strstr(text, "features 1"), "features 4", 10);
    struct rw_model *model = fixture_model(ctx, text), *back;
    size_t n;
    char *bytes = convert_write(ctx, model, convert_format(format), -1, &n);
    char *at = memmem(bytes, n, from, n_bytes);
    cr_assert_not_null(at, "%s", message);
    memcpy(at, to, n_bytes);
    cr_assert_eq(convert_read(ctx, bytes, n, convert_format(format), -1, &back), RW_ERR_FORMAT,
                 "expected: %s", message);
    cr_assert_str_eq(rw_last_error(ctx), message);
    rw_mem_free(bytes);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_onnx, damaged)
{
    struct rw_ctx *ctx = fixture_ctx();
    char text[sizeof(small_model)];
    memcpy(text, small_model, sizeof(text));
    memcpy(strstr(text, "features 1"), "features 4", 10);
    struct rw_model *model = fixture_model(ctx, text);
    for (int five = 0; five < 2; five++) {
        const char *format = five ? "onnx5" : "onnx";
        size_t n;
        char *bytes = convert_write(ctx, model, convert_format(format), -1, &n);
        convert_damaged(format, bytes, n);
        rw_mem_free(bytes);
    }
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_onnx, round_trip)
{
    convert_round_trip("onnx", 0);
    convert_round_trip("onnx5", 0);
}

Test(to_onnx, refused)
{
    convert_refused("onnx", "", "file: not ONNX: no graph with nodes");
    convert_refused("onnx", "\x08\x07", "file: not ONNX: no graph with nodes");
    convert_refused("onnx", "\x3a\x7f", "file: not protobuf: byte 2: the file is truncated");
    convert_refused("onnx", "\x0f", "file: not protobuf: byte 0: a field with an unknown type");
    convert_refused("onnx", "\x02", "file: not protobuf: byte 0: a field with an invalid number");
    convert_refused("onnx", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                    "file: not protobuf: byte 10: a number of more than 64 bits");
    convert_refused("onnx5", "\x38\x01", "file: not ONNX: field 7 is a number; expected a message");
    changed("onnx", "SUM", "MAX", 3,
            "file: unsupported 'aggregate_function': expected SUM, so that the score is the sum");
    changed("onnx", "NONE", "SOFT", 4,
            "file: unsupported 'post_transform': expected NONE, so that the score is the sum");
    changed("onnx", "BRANCH_LEQ", "BRANCH_NEQ", 10,
            "file: node 0: unsupported test for unequal values");
    changed("onnx", "BRANCH_LEQ", "BRANCH_ABC", 10, "file: node 0: unknown mode 'BRANCH_ABC'");
    changed("onnx", "BRANCH_LEQ", "LEAF\0\0\0\0\0\0", 10, "file: node 0: unknown mode 'LEAF'");
    changed("onnx", "Regressor", "Classifer", 9,
            "file: operator 'TreeEnsembleClassifer' of 'ai.onnx.ml'; expected "
            "TreeEnsembleRegressor alone");
    changed("onnx", "ai.onnx.ml", "ai.onnx.xl", 10,
            "file: operator 'TreeEnsembleRegressor' of 'ai.onnx.xl'; expected "
            "TreeEnsembleRegressor alone");
    changed("onnx", "nodes_modes", "nodes_moods", 11, "file: unknown attribute 'nodes_moods'");
    changed("onnx", "nodes_values", "nodes_treeid", 12, "file: unknown attribute 'nodes_treeid'");
    changed("onnx", "n_targets\x18\x01", "n_targets\x18\x02", 11, "file: 'n_targets' is not 1");
    changed("onnx", "target_ids\x42\x06\0", "target_ids\x42\x06\1", 13,
            "file: a leaf with a target that is not the first");
    changed("onnx",
            "\x0a\x08"
            "features",
            "\x0a\x08"
            "feathers",
            10, "file: the graph's input is not the tree ensemble's");
    changed("onnx5", "TreeEnsemble", "LinearForest", 12,
            "file: operator 'LinearForest' of 'ai.onnx.ml'; expected TreeEnsemble alone");
}

/* Attributes by what follows their names: a packed array of small numbers. */
#define BYTES(name, from, to) name from, name to, sizeof(name from) - 1

Test(to_onnx, invalid_trees)
{
    /* nodes: 5, 1 and 3; the second tree's is a leaf */
    changed("onnx", BYTES("nodes_truenodeids", "\x42\x09\x02\x03", "\x42\x09\x05\x03"),
            "file: tree 0 has no node 5");
    changed("onnx", BYTES("nodes_truenodeids", "\x42\x09\x02\x03", "\x42\x09\x00\x03"),
            "file: tree 0 has nodes that its root does not reach");
    changed("onnx", BYTES("nodes_truenodeids", "\x42\x09\x02\x03", "\x42\x09\x03\x03"),
            "file: tree 0 has 2 roots");
    changed("onnx", BYTES("nodes_nodeids", "\x42\x09\x00\x01\x02", "\x42\x09\x00\x01\x01"),
            "file: tree 0 has two nodes 1");
    changed("onnx", BYTES("nodes_featureids", "\x42\x09\x01", "\x42\x09\x04"),
            "file: node 0: feature 4; expected 0 to 3");
    changed("onnx", BYTES("target_nodeids", "\x42\x06\x02\x03", "\x42\x06\x02\x02"),
            "file: tree 0, node 2: several weights");
    changed("onnx", BYTES("target_nodeids", "\x42\x06\x02\x03", "\x42\x06\x02\x01"),
            "file: tree 0, node 1: a weight, but no leaf");
    changed("onnx", BYTES("target_nodeids", "\x42\x06\x02\x03", "\x42\x06\x02\x07"),
            "file: tree 0 has no node 7");
    /* TreeEnsemble: node 0 is the second tree, 1 and 2 the first, 3 the third */
    changed("onnx5", BYTES("tree_roots", "\x42\x03\x01\x00\x03", "\x42\x03\x01\x00\x04"),
            "file: root 4 does not exist");
    changed("onnx5", BYTES("tree_roots", "\x42\x03\x01\x00\x03", "\x42\x03\x01\x01\x03"),
            "file: node 1 has two parents or is above itself");
    changed("onnx5", BYTES("nodes_falsenodeids", "\x42\x04\x00\x02", "\x42\x04\x00\x01"),
            "file: root 1 has twice the child 1, which ONNX Runtime reads as a leaf");
    changed("onnx5", BYTES("nodes_falsenodeids", "\x42\x04\x00\x02", "\x42\x04\x00\x04"),
            "file: node 1: its child, node 4, does not exist");
    changed("onnx5", BYTES("nodes_falsenodeids", "\x42\x04\x00\x02\x03", "\x42\x04\x00\x02\x01"),
            "file: leaf 1 has two parents");
}

/* The root's children never have one number, which ONNX Runtime would take for a leaf; trees of one
 * leaf have it, and it is their node's. */
Test(to_onnx, roots_of_tree_ensembles)
{
    struct rw_ctx *ctx = fixture_ctx();
    size_t n_mixed = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rw_model *model = fixture_random_model(ctx, 6, (int32_t)(2 + seed % 7), 3, seed);
        size_t n;
        char *bytes = convert_write(ctx, model, convert_format("onnx5"), -1, &n);
        struct rw_onnx onnx = {0};
        struct rw_source source = {ctx, "file", bytes, n, NULL, RW_OK, NULL, NULL};
        cr_assert_eq(rw_onnx_read(&source, 1, &onnx), RW_OK);
        cr_assert_eq(onnx.list[ONNX_ROOT].n, 6);
        for (size_t t = 0; t < 6; t++) {
            const int64_t root = onnx.list[ONNX_ROOT].value[t];
            const int64_t yes = onnx.list[ONNX_TRUE].value[root];
            const int64_t no = onnx.list[ONNX_FALSE].value[root];
            if (model->tree[t].n_leaves == 1) {
                cr_assert(yes == root && no == root);
                continue;
            }
            cr_assert_neq(yes, no);
            n_mixed +=
                onnx.list[ONNX_TRUE_LEAF].value[root] != onnx.list[ONNX_FALSE_LEAF].value[root];
        }
        rw_arena_free(&onnx.arena);
        rw_mem_free(bytes);
        rw_model_free(model);
    }
    cr_assert_gt(n_mixed, 100);
    rw_ctx_free(ctx);
}

/* Modes that differ from <=, and double thresholds: bytes made by hand. */
struct hand {
    const char *mode;
    double threshold;
    int missing_true, as_tensor;
    float cut;
    int left_is_true, missing_left;
};

static void put_ints(struct rw_put *node, const char *name, const char *values, size_t n)
{
    struct rw_put a = {.ctx = node->ctx};
    rw_pb_put_text(&a, ONNX_ATTRIBUTE_NAME, name);
    for (size_t i = 0; i < n; i++) /* not packed: another way to say it */
        rw_pb_put_varint(&a, ONNX_ATTRIBUTE_INTS, (uint64_t)values[i]);
    rw_pb_put_bytes(node, ONNX_NODE_ATTRIBUTE, a.text, a.n);
    rw_mem_free(a.text);
}

static void put_doubles(struct rw_put *node, const char *name, const double *values, int n,
                        int as_tensor)
{
    struct rw_put a = {.ctx = node->ctx}, tensor = {.ctx = node->ctx};
    rw_pb_put_text(&a, ONNX_ATTRIBUTE_NAME, name);
    for (int i = 0; i < n; i++) {
        const float single = (float)values[i];
        uint32_t bits;
        memcpy(&bits, &single, 4);
        if (as_tensor) {
            rw_pb_put_number(&tensor, ONNX_TENSOR_DOUBLES << 3 | PB_FIXED64);
            rw_put_bytes(&tensor, &values[i], 8);
        } else {
            rw_pb_put_number(&a, ONNX_ATTRIBUTE_FLOATS << 3 | PB_FIXED32);
            rw_pb_put_fixed32(&a, bits);
        }
    }
    rw_pb_put_varint(&tensor, ONNX_TENSOR_TYPE, ONNX_FLOAT64);
    if (as_tensor)
        rw_pb_put_bytes(&a, ONNX_ATTRIBUTE_T, tensor.text, tensor.n);
    rw_pb_put_bytes(node, ONNX_NODE_ATTRIBUTE, a.text, a.n);
    rw_mem_free(a.text);
    rw_mem_free(tensor.text);
}

static void put_hand(struct rw_put *out, const struct hand *h)
{
    struct rw_put node = {.ctx = out->ctx}, graph = node, input = node, modes = node;
    const char missing[3] = {(char)h->missing_true, 0, 0};
    const double values[3] = {h->threshold, 0, 0}, weights[2] = {1, 2}, base = 0.5;
    const char *const words[3] = {h->mode, "LEAF", "LEAF"};
    rw_pb_put_text(&node, ONNX_NODE_OP, "TreeEnsembleRegressor");
    rw_pb_put_text(&node, ONNX_NODE_DOMAIN, ONNX_DOMAIN);
    rw_pb_put_text(&node, ONNX_NODE_INPUT, "x");
    put_ints(&node, "nodes_treeids", "\7\7\7", 3);
    put_ints(&node, "nodes_nodeids", "\5\3\4", 3); /* the root is not the least */
    put_ints(&node, "nodes_truenodeids", "\3\0\0", 3);
    put_ints(&node, "nodes_falsenodeids", "\4\0\0", 3);
    put_ints(&node, "nodes_featureids", "\2\0\0", 3);
    put_ints(&node, "nodes_missing_value_tracks_true", missing, 3);
    put_ints(&node, "target_ids", "\0\0", 2);
    put_ints(&node, "target_treeids", "\7\7", 2);
    put_ints(&node, "target_nodeids", "\3\4", 2);
    put_doubles(&node, h->as_tensor ? "nodes_values_as_tensor" : "nodes_values", values, 3,
                h->as_tensor);
    put_doubles(&node, h->as_tensor ? "target_weights_as_tensor" : "target_weights", weights, 2,
                h->as_tensor);
    put_doubles(&node, "base_values", &base, 1, 0);
    rw_pb_put_text(&modes, ONNX_ATTRIBUTE_NAME, "nodes_modes");
    for (int i = 0; i < 3; i++)
        rw_pb_put_text(&modes, ONNX_ATTRIBUTE_STRINGS, words[i]);
    rw_pb_put_bytes(&node, ONNX_NODE_ATTRIBUTE, modes.text, modes.n);
    modes.n = 0;
    rw_pb_put_text(&modes, ONNX_ATTRIBUTE_NAME, "n_targets");
    rw_pb_put_varint(&modes, ONNX_ATTRIBUTE_I, 1);
    rw_pb_put_bytes(&node, ONNX_NODE_ATTRIBUTE, modes.text, modes.n);
    rw_pb_put_text(&input, ONNX_VALUE_NAME, "x");
    rw_pb_put_bytes(&graph, ONNX_GRAPH_INPUT, input.text, input.n);
    rw_pb_put_bytes(&graph, ONNX_GRAPH_NODE, node.text, node.n);
    rw_pb_put_bytes(out, ONNX_MODEL_GRAPH, graph.text, graph.n);
    rw_mem_free(node.text);
    rw_mem_free(graph.text);
    rw_mem_free(input.text);
    rw_mem_free(modes.text);
}

Test(to_onnx, modes_and_widths)
{
    const float below = nextafterf(0.5f, 0), tenth = nextafterf(0.1f, 0);
    const struct hand cases[] = {
        {"BRANCH_LEQ", 0.5, 0, 0, 0.5f, 1, 0},  {"BRANCH_LEQ", 0.5, 1, 0, 0.5f, 1, 1},
        {"BRANCH_LT", 0.5, 0, 0, below, 1, 0},  {"BRANCH_LT", 0.5, 1, 0, below, 1, 1},
        {"BRANCH_GTE", 0.5, 0, 0, below, 0, 1}, {"BRANCH_GTE", 0.5, 1, 0, below, 0, 0},
        {"BRANCH_GT", 0.5, 0, 0, 0.5f, 0, 1},   {"BRANCH_GT", 0.5, 1, 0, 0.5f, 0, 0},
        {"BRANCH_LEQ", 0.1, 0, 1, tenth, 1, 0}, {"BRANCH_LT", 0.1, 0, 1, tenth, 1, 0},
        {"BRANCH_LT", 0.5, 0, 1, below, 1, 0},  {"BRANCH_GT", 1e300, 0, 1, 3.4028235e38f, 0, 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct hand *h = &cases[i];
        struct rw_ctx *ctx = fixture_ctx();
        struct rw_put put = {.ctx = ctx};
        struct rw_model *model;
        put_hand(&put, h);
        cr_assert_eq(convert_read(ctx, put.text, put.n, convert_format("onnx"), -1, &model), RW_OK,
                     "%s", rw_last_error(ctx));
        const struct rw_tree *tree = &model->tree[1];
        cr_assert_eq(model->tree[0].leaf[0], 0.5f); /* the base */
        cr_assert_eq(tree->feature[0], 2);
        cr_assert_eq(tree->cut[0], h->cut, "case %zu: %.9g", i, (double)tree->cut[0]);
        cr_assert_eq(tree->missing_left[0], h->missing_left, "case %zu", i);
        cr_assert_eq(tree->leaf[~tree->left[0]], h->left_is_true ? 1.0f : 2.0f, "case %zu", i);
        rw_mem_free(put.text);
        rw_model_free(model);
        rw_ctx_free(ctx);
    }
}
