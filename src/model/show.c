/* A tree for people: indented text, or the dot language. */
#include <errno.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "model/model.h"

enum {
    /* Deeper nodes are not moved further right: the text of a tree that is a chain would grow with
     * the square of its leaves. */
    MAX_INDENT = 40
};

static const char *float_text(float value, char *buffer)
{
    buffer[rw_number_write(value, buffer)] = 0;
    return buffer;
}

static const char *double_text(double value, char *buffer)
{
    buffer[rw_number_write_double(value, buffer)] = 0;
    return buffer;
}

/* A name without what would break a line or, in dot, the label's quotes. */
static void print_name(FILE *out, const char *name, int dot)
{
    for (; *name; name++) {
        const unsigned char c = (unsigned char)*name;
        if (dot && (c == '"' || c == '\\'))
            fputc('\\', out);
        fputc(c < 32 || c == 127 ? '?' : c, out);
    }
}

static void print_feature(FILE *out, const struct rw_model *model, uint32_t feature, int dot)
{
    const char *name = rw_model_feature_name(model, feature);
    fprintf(out, "feature %u", feature);
    if (*name) {
        fputs(" (", out);
        print_name(out, name, dot);
        fputc(')', out);
    }
}

/* number: of the tree, from 0. */
static void print_condition(FILE *out, const struct rw_model *model, int number, int32_t node,
                            char *text, size_t size, int dot)
{
    rw_model_condition(model, number, node, text, size);
    print_name(out, text, dot);
}

struct pending {
    int32_t child; /* as in rw_tree */
    int32_t depth;
    const char *side;
};

static void show_text(const struct rw_model *model, int number, struct pending *stack, char *text,
                      size_t size, FILE *out)
{
    const struct rw_tree *tree = &model->tree[number];
    char cut[32], gain[40];
    size_t n = 0;
    stack[n++] = (struct pending){tree->n_leaves == 1 ? ~0 : 0, 0, ""};
    while (n > 0) {
        const struct pending at = stack[--n];
        fprintf(out, "%*s%s", 2 * (at.depth < MAX_INDENT ? at.depth : MAX_INDENT), "", at.side);
        if (at.child < 0) {
            fprintf(out, "leaf %d: %s\n", ~at.child, float_text(tree->leaf[~at.child], cut));
            continue;
        }
        const int32_t i = at.child;
        fprintf(out, "node %d: ", i);
        print_feature(out, model, tree->feature[i], 0);
        fputc(' ', out);
        print_condition(out, model, number, i, text, size, 0);
        fprintf(out, ", missing %s, gain %s\n", tree->missing_left[i] ? "left" : "right",
                double_text(tree->gain[i], gain));
        stack[n++] = (struct pending){tree->right[i], at.depth + 1, "right: "};
        stack[n++] = (struct pending){tree->left[i], at.depth + 1, "left: "};
    }
}

static void dot_edge(FILE *out, int32_t node, int32_t child, const char *side, int missing)
{
    fprintf(out, "    node%d -> %s%d [label=\"%s%s\"];\n", node, child < 0 ? "leaf" : "node",
            child < 0 ? ~child : child, side, missing ? ", missing" : "");
}

static void show_dot(const struct rw_model *model, int number, char *text, size_t size, FILE *out)
{
    const struct rw_tree *tree = &model->tree[number];
    char cut[32], gain[40];
    fprintf(out, "digraph tree%d {\n    node [shape=box];\n", number + 1);
    for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
        fprintf(out, "    node%d [label=\"", i);
        print_feature(out, model, tree->feature[i], 1);
        fputs("\\n", out);
        print_condition(out, model, number, i, text, size, 1);
        fprintf(out, "\\ngain %s\"];\n", double_text(tree->gain[i], gain));
    }
    for (int32_t i = 0; i < tree->n_leaves; i++)
        fprintf(out, "    leaf%d [label=\"leaf %d\\n%s\", shape=ellipse];\n", i, i,
                float_text(tree->leaf[i], cut));
    for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
        dot_edge(out, i, tree->left[i], "left", tree->missing_left[i]);
        dot_edge(out, i, tree->right[i], "right", !tree->missing_left[i]);
    }
    fputs("}\n", out);
}

int rw_model_show(struct rw_ctx *ctx, const struct rw_model *model, int tree, int dot, FILE *out)
{
    RW_DEFAULT_FPENV;
    if (model->n_trees == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "tree is %d; the model has none", tree);
    if (tree < 0 || tree >= model->n_trees)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "tree is %d; expected 0 to %d", tree,
                       model->n_trees - 1);
    const struct rw_tree *shown = &model->tree[tree];
    struct pending *stack; /* one entry a level and one more: never above the number of leaves */
    char *text = NULL;     /* of the longest condition */
    size_t size = 0;
    RW_TRY(RW_NEW(ctx, stack, (size_t)shown->n_leaves + 1));
    for (int32_t i = 0; i < shown->n_leaves - 1; i++) {
        const size_t n = rw_model_condition(model, tree, i, NULL, 0) + 1;
        size = n > size ? n : size;
    }
    const int status = RW_NEW(ctx, text, size);
    if (status < 0) {
        rw_mem_free(stack);
        return status;
    }
    errno = 0;
    if (dot) {
        show_dot(model, tree, text, size, out);
    } else {
        fprintf(out, "tree %d: %d %s\n", tree + 1, shown->n_leaves,
                shown->n_leaves == 1 ? "leaf" : "leaves");
        show_text(model, tree, stack, text, size, out);
    }
    const int failed = fflush(out) != 0 || ferror(out);
    const int reason = errno;
    rw_mem_free(stack);
    rw_mem_free(text);
    return failed ? rw_fail_io(ctx, reason, "cannot write tree %d", tree + 1) : RW_OK;
}
