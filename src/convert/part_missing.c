/* Trees for programs in which, at a split by categories, missing values go where the categories go
 * that are not listed. Where ours go the other way, a split of its own parts missing values from
 * all others before: behind it, the branch of those others may send missing values anywhere, and in
 * the branch of missing values the feature's splits are decided, so it keeps one side of each. A
 * feature is parted once on a path at most. */
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"

/* What documents of a copied branch count as: so few that they hardly move the shares of others,
 * and enough for theirs to be right where LightGBM rounds them to whole numbers. */
#define COPY_SHARE 0x1p-13

enum { MOST_LEAVES = 1 << 20 }; /* of a tree that is parted: each feature may double a branch */

/* What is known of a document in a branch. */
struct fact {
    uint32_t feature;
    int is_missing;
    int32_t before; /* the fact above it; -1: none */
};
/* A branch of ours that is to be the child of a new node. */
struct todo {
    int32_t from, parent, fact;
    int is_right;
};
/* A new node: ours, or (-1) one that parts missing values of `feature`. */
struct made {
    int32_t node, left, right;
    uint32_t feature;
    int missing_left;
};

struct parting {
    struct rw_ctx *ctx;
    const struct rw_model *model;
    const struct rw_model_format *format;
    const struct rw_tree *tree; /* at hand */
    struct fact *fact;          /* all arrays owned */
    struct todo *todo;
    struct made *made;
    /* Ours, of each new leaf; ~ of it in a branch of missing values, which is a copy. */
    int32_t *leaf;
    size_t n_facts, facts_room, n_todo, todo_room, n_made, made_room, n_leaves, leaves_room;
};

static int lists_any(const struct rw_feature_categories *of, const struct rw_code_set *set)
{
    int any = 0;
    for (uint32_t code = 0; code < of->n; code++)
        any |= rw_set_has(set, code) != rw_set_has(set, of->n);
    return any;
}

/* Do missing values go another way than unlisted categories, which are some? */
static int conflicts(const struct parting *p, const struct rw_tree *tree, int32_t node)
{
    if (!rw_tree_by_set(tree, node))
        return 0;
    const struct rw_feature_categories *of =
        rw_categories_find(&p->model->categories, tree->feature[node]);
    return tree->missing_left[node] != rw_set_has(&tree->set[node], of->n) &&
           !rw_by_words(p->format, of) && lists_any(of, &tree->set[node]);
}

static const struct fact *find_fact(const struct parting *p, int32_t fact, uint32_t feature)
{
    while (fact >= 0 && p->fact[fact].feature != feature)
        fact = p->fact[fact].before;
    return fact >= 0 ? &p->fact[fact] : NULL;
}

static int add_fact(struct parting *p, uint32_t feature, int is_missing, int32_t before)
{
    RW_TRY(RW_GROW(p->ctx, p->fact, p->facts_room, p->n_facts + 1));
    p->fact[p->n_facts++] = (struct fact){feature, is_missing, before};
    return RW_OK;
}

static int is_copy(const struct parting *p, int32_t fact)
{
    while (fact >= 0 && !p->fact[fact].is_missing)
        fact = p->fact[fact].before;
    return fact >= 0;
}

/* Children of the node made last. */
static int add_children(struct parting *p, int32_t left, int32_t left_fact, int32_t right,
                        int32_t right_fact)
{
    const int32_t parent = (int32_t)p->n_made - 1;
    RW_TRY(RW_GROW(p->ctx, p->todo, p->todo_room, p->n_todo + 2));
    p->todo[p->n_todo++] = (struct todo){right, parent, right_fact, 1};
    p->todo[p->n_todo++] = (struct todo){left, parent, left_fact, 0};
    return RW_OK;
}

static int add_node(struct parting *p, int32_t at, int32_t fact)
{
    const struct rw_tree *tree = p->tree;
    const uint32_t feature = tree->feature[at];
    const struct fact *known = find_fact(p, fact, feature);
    const int32_t missing = tree->missing_left[at] ? tree->left[at] : tree->right[at];
    struct made made = {at, 0, 0, feature, tree->missing_left[at]};
    RW_TRY(RW_GROW(p->ctx, p->made, p->made_room, p->n_made + 1));
    if (!conflicts(p, tree, at) || known) {
        if (conflicts(p, tree, at))
            made.missing_left = !made.missing_left; /* there are none */
        p->made[p->n_made++] = made;
        return add_children(p, tree->left[at], fact, tree->right[at], fact);
    }
    made.node = -1;
    p->made[p->n_made++] = made;
    RW_TRY(add_fact(p, feature, 0, fact));
    RW_TRY(add_fact(p, feature, 1, fact));
    const int32_t last = (int32_t)p->n_facts - 1;
    return add_children(p, at, last - 1, missing, last);
}

static int32_t child_of(const struct parting *p, struct todo *todo)
{
    const struct rw_tree *tree = p->tree;
    while (todo->from >= 0 && rw_tree_by_set(tree, todo->from)) {
        const struct fact *known = find_fact(p, todo->fact, tree->feature[todo->from]);
        if (!known || !known->is_missing)
            break;
        todo->from =
            tree->missing_left[todo->from] ? tree->left[todo->from] : tree->right[todo->from];
    }
    return todo->from < 0 ? ~(int32_t)p->n_leaves : (int32_t)p->n_made;
}

/* The new tree's nodes and leaves. */
static int part_tree(struct parting *p, int32_t number)
{
    p->n_facts = p->n_todo = p->n_made = p->n_leaves = 0;
    RW_TRY(add_node(p, 0, -1));
    while (p->n_todo > 0) {
        struct todo todo = p->todo[--p->n_todo];
        const int32_t child = child_of(p, &todo);
        *(todo.is_right ? &p->made[todo.parent].right : &p->made[todo.parent].left) = child;
        if (todo.from >= 0) {
            RW_TRY(add_node(p, todo.from, todo.fact));
            continue;
        }
        if (p->n_leaves == MOST_LEAVES)
            return rw_fail(p->ctx, RW_ERR_UNSUPPORTED,
                           "tree %d: over %d leaves once missing categories are parted from others",
                           number, MOST_LEAVES);
        RW_TRY(RW_GROW(p->ctx, p->leaf, p->leaves_room, p->n_leaves + 1));
        p->leaf[p->n_leaves++] = is_copy(p, todo.fact) ? todo.from : ~todo.from;
    }
    return RW_OK;
}

static int finish_tree(struct parting *p, struct rw_tree *to)
{
    const struct rw_tree *from = p->tree;
    RW_TRY(rw_tree_init(p->ctx, to, (int32_t)p->n_leaves));
    RW_TRY(rw_tree_add_sets(p->ctx, to));
    for (size_t i = 0; i < p->n_made; i++) {
        const struct made *made = &p->made[i];
        to->left[i] = made->left;
        to->right[i] = made->right;
        to->feature[i] = made->feature;
        if (made->node >= 0) {
            to->cut[i] = from->cut[made->node];
            to->missing_left[i] = (uint8_t)made->missing_left;
            to->gain[i] = from->gain[made->node];
            to->by_set[i] = from->by_set[made->node];
            to->set[i] = from->set[made->node];
            continue;
        }
        const struct rw_feature_categories *of =
            rw_categories_find(&p->model->categories, made->feature);
        to->by_set[i] = 1;
        for (uint32_t code = 0; code <= of->n; code++)
            rw_set_add(&to->set[i], code);
    }
    if (from->hessian)
        RW_TRY(rw_tree_add_covers(p->ctx, to));
    for (size_t i = 0; i < p->n_leaves; i++) {
        const int32_t leaf = p->leaf[i] < 0 ? ~p->leaf[i] : p->leaf[i];
        to->leaf[i] = from->leaf[leaf];
        if (!from->hessian)
            continue;
        /* How many values were missing is not known. */
        to->docs[i] = p->leaf[i] < 0 ? from->docs[leaf] * COPY_SHARE : from->docs[leaf];
        to->hessian[i] = p->leaf[i] < 0 ? 0.0f : from->hessian[leaf];
    }
    return RW_OK;
}

static int tree_conflicts(const struct parting *p, const struct rw_tree *tree)
{
    int any = 0;
    for (int32_t i = 0; i < tree->n_leaves - 1; i++)
        any |= conflicts(p, tree, i);
    return any;
}

int rw_part_missing(struct rw_ctx *ctx, const struct rw_model *model,
                    const struct rw_model_format *format, struct rw_model **out)
{
    struct parting p = {.ctx = ctx, .model = model, .format = format};
    int status = RW_OK, any = 0;
    *out = NULL;
    if (!format->consumer[0].rules.missing_unlisted || model->categories.n == 0)
        return RW_OK;
    for (int32_t t = 0; t < model->n_trees; t++)
        any |= tree_conflicts(&p, &model->tree[t]);
    if (!any)
        return RW_OK;
    RW_TRY(rw_model_select(ctx, model, NULL, out));
    for (int32_t t = 0; t < model->n_trees; t++) {
        p.tree = &model->tree[t];
        if (!tree_conflicts(&p, p.tree))
            continue;
        rw_tree_release(&(*out)->tree[t]);
        RW_TRY_OUT(part_tree(&p, t + 1));
        RW_TRY_OUT(finish_tree(&p, &(*out)->tree[t]));
    }
out:
    rw_mem_free(p.fact);
    rw_mem_free(p.todo);
    rw_mem_free(p.made);
    rw_mem_free(p.leaf);
    if (status < 0) {
        rw_model_free(*out);
        *out = NULL;
    }
    return status;
}
