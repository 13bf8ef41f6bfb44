#include "convert/nested_json.h"

#include "base/mem.h"

struct step {
    int32_t node; /* -1: middle, -2: end */
    int32_t number, depth;
};

enum { MIDDLE = -1, END = -2 };

int rw_nested_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, int32_t tree,
                    const struct rw_nested *how, struct rw_put *put)
{
    const struct rw_ens_tree *from = &ensemble->tree[tree];
    struct step *stack;
    size_t n = 1;
    int status = RW_OK;
    int32_t next = 1; /* the next free number */
    RW_TRY(RW_NEW_RAW(ctx, stack, 2 * (size_t)from->n_nodes + 4));
    stack[0] = (struct step){0, 0, 0};
    while (n > 0) {
        const struct step at = stack[--n];
        if (at.node < 0) {
            (at.node == MIDDLE ? how->middle : how->end)(put);
            continue;
        }
        const struct rw_ens_node *node = &from->node[at.node];
        const int32_t child[2] = {next, next + 1};
        if (at.depth > how->deepest) {
            status =
                rw_fail(ctx, RW_ERR_UNSUPPORTED,
                        "tree %d: deeper than %d levels, which the format's readers do not take",
                        tree + 1, how->deepest);
            break;
        }
        how->begin(put, ensemble, node, at.number, at.depth, child);
        if (node->left < 0)
            continue;
        next += 2;
        stack[n++] = (struct step){END, 0, 0};
        stack[n++] = (struct step){node->right, child[1], at.depth + 1};
        stack[n++] = (struct step){MIDDLE, 0, 0};
        stack[n++] = (struct step){node->left, child[0], at.depth + 1};
    }
    rw_mem_free(stack);
    return status;
}

struct pending {
    const json_t *from;
    int32_t node;
};

int rw_nested_parse(struct rw_ctx *ctx, const struct rw_source *source, const json_t *root,
                    rw_nested_node_fn read, struct rw_ensemble *out)
{
    struct pending *stack = NULL;
    struct rw_ens_tree *tree;
    size_t room = 0, n = 0;
    int32_t at;
    int status;
    RW_TRY_OUT(rw_ensemble_add_tree(ctx, out, 0, &tree));
    RW_TRY_OUT(rw_ens_tree_add(ctx, tree, &at));
    RW_TRY_OUT(RW_GROW(ctx, stack, room, 2));
    stack[n++] = (struct pending){root, at};
    while (n > 0) {
        const struct pending now = stack[--n];
        const json_t *child[2] = {NULL, NULL};
        RW_TRY_OUT(read(ctx, source, now.from, &tree->node[now.node], child));
        if (!child[0])
            continue;
        RW_TRY_OUT(rw_ens_tree_split(ctx, tree, now.node));
        RW_TRY_OUT(RW_GROW(ctx, stack, room, n + 2));
        stack[n++] = (struct pending){child[1], tree->node[now.node].right};
        stack[n++] = (struct pending){child[0], tree->node[now.node].left};
    }
out:
    rw_mem_free(stack);
    return status;
}
