/* The trees of a model's text: most of it, and so read by several threads. */
#include "io/model_text.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "dataset/dataset.h"
#include "io/model_words.h"

static int child_of(struct rw_words *w, const char *side, int32_t n_leaves, int32_t *child)
{
    int is_leaf = *child < 0;
    int32_t number = is_leaf ? ~*child : *child;
    RW_TRY(rw_words_choice(w, side, "leaf ", "node ", &is_leaf));
    if (!is_leaf && n_leaves < 3) /* node 0 is nobody's child */
        return rw_words_fail(w, "a leaf");
    RW_TRY(rw_words_count(w, "", is_leaf ? "a leaf" : "a node", n_leaves - (is_leaf ? 1 : 2),
                          &number));
    if (!w->is_writing)
        *child = is_leaf ? ~number : number;
    return RW_OK;
}

/* What the node asks of the feature: a threshold, or codes. */
static int condition(struct rw_words *w, const struct rw_model *model, uint32_t feature,
                     struct rw_tree *tree, int32_t node)
{
    const struct rw_feature_categories *of = rw_categories_find(&model->categories, feature);
    if (!of)
        return rw_words_float(w, " <= ", "a threshold, a finite float", &tree->cut[node]);
    if (!w->is_writing) {
        RW_TRY(rw_tree_add_sets(w->ctx, tree));
        tree->by_set[node] = 1;
    }
    return rw_code_set_grammar(w, of->n + 1, &tree->set[node]);
}

static int node_line(struct rw_words *w, const struct rw_model *model, struct rw_tree *tree,
                     int32_t node)
{
    int32_t feature = (int32_t)tree->feature[node];
    int missing_left = tree->missing_left[node];
    RW_TRY(rw_words_number(w, "node ", node));
    RW_TRY(rw_words_count(w, " feature ", "a feature id", RW_MAX_FEATURE, &feature));
    RW_TRY(condition(w, model, (uint32_t)feature, tree, node));
    RW_TRY(child_of(w, " left ", tree->n_leaves, &tree->left[node]));
    RW_TRY(child_of(w, " right ", tree->n_leaves, &tree->right[node]));
    RW_TRY(rw_words_choice(w, " missing ", "left", "right", &missing_left));
    RW_TRY(rw_words_real(w, " gain ", "a gain, a finite number", &tree->gain[node]));
    if (!w->is_writing) {
        tree->feature[node] = (uint32_t)feature;
        tree->missing_left[node] = (uint8_t)missing_left;
    }
    const char *name = rw_model_feature_name(model, tree->feature[node]);
    if (*name) {
        RW_TRY(rw_words_text_is(w, " # ", "the feature's name", name));
    }
    return rw_words_newline(w);
}

/* The covers stand in all leaves of a tree or in none; the first one says which. */
static int leaf_line(struct rw_words *w, struct rw_tree *tree, int32_t leaf)
{
    int has_covers = tree->hessian != NULL;
    RW_TRY(rw_words_number(w, "leaf ", leaf));
    RW_TRY(rw_words_float(w, " ", "a leaf's value, a finite float", &tree->leaf[leaf]));
    if (leaf == 0 && tree->n_leaves > 1 && w->version >= RW_MODEL_VERSION) {
        RW_TRY(rw_words_option(w, " docs ", &has_covers));
        if (has_covers && !w->is_writing)
            RW_TRY(rw_tree_add_covers(w->ctx, tree));
    } else if (has_covers) {
        RW_TRY(rw_words_take(w, " docs "));
    }
    if (has_covers) {
        RW_TRY(rw_words_real(w, "", "a number of documents", &tree->docs[leaf]));
        RW_TRY(rw_words_float(w, " hessian ", "a sum of hessians, a finite float",
                              &tree->hessian[leaf]));
    }
    return rw_words_newline(w);
}

static int tree_section(struct rw_words *w, struct rw_model *model, int32_t number)
{
    struct rw_tree *tree = &model->tree[number];
    const uint32_t line = w->line;
    int32_t n_leaves = tree->n_leaves;
    RW_TRY(rw_words_number(w, "tree ", number + 1));
    RW_TRY(rw_words_count_of(w, " leaves ", "the number of leaves", 9, &n_leaves));
    if (n_leaves == 0) {
        w->at--; /* before the 0 */
        return rw_words_fail(w, "1 leaf or more");
    }
    RW_TRY(rw_words_newline(w));
    if (!w->is_writing)
        RW_TRY(rw_tree_init(w->ctx, tree, n_leaves));
    for (int32_t i = 0; i < n_leaves - 1; i++)
        RW_TRY(node_line(w, model, tree, i));
    for (int32_t i = 0; i < n_leaves; i++)
        RW_TRY(leaf_line(w, tree, i));
    if (!w->is_writing) {
        char where[1024];
        snprintf(where, sizeof(where), "%.900s:%u: tree %d: ", w->path, line, number + 1);
        RW_TRY(rw_tree_check_at(w->ctx, tree, where));
    }
    return rw_words_newline(w);
}

/* ------------------------------------------------------------------ by several threads */

enum { PART_BYTES = 1 << 16, MOST_PARTS = 256 };

/* Trees [first, first of the next part) begin at `begin`. */
struct part {
    struct rw_words words;
    const char *begin;
    int32_t first;
};

struct parts {
    struct rw_model *model;
    struct part part[MOST_PARTS + 1]; /* one behind the last, for its `first` */
    int n;
};

/* Cuts the text into parts of about as many bytes. Only the first line of a part is looked at. */
static void find_parts(const struct rw_words *w, struct parts *parts)
{
    static const char begin[] = "\ntree ";
    const int32_t n_trees = parts->model->n_trees;
    const size_t n_bytes = (size_t)(w->end - w->at);
    const size_t n = n_bytes / PART_BYTES < MOST_PARTS ? n_bytes / PART_BYTES : MOST_PARTS;
    parts->part[parts->n++] = (struct part){*w, w->at, 0};
    for (size_t i = 1; i < n; i++) {
        const char *from = w->at + n_bytes / n * i;
        struct rw_words at = *w;
        int32_t number = 0;
        at.at = memmem(from, (size_t)(w->end - from), begin, sizeof(begin) - 1);
        const char *first = at.at ? at.at + 1 : NULL;
        if (!first || rw_words_count(&at, begin, "", n_trees, &number) < 0)
            break;
        at.at = at.line_begin = first;
        if (number - 1 > parts->part[parts->n - 1].first)
            parts->part[parts->n++] = (struct part){at, first, number - 1};
    }
    parts->part[parts->n].first = n_trees;
}

static int read_parts(void *user, struct rw_share *share)
{
    struct parts *parts = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        struct part *part = &parts->part[i];
        for (int32_t tree = part->first; tree < part[1].first; tree++)
            RW_TRY(tree_section(&part->words, parts->model, tree));
    }
    return RW_OK;
}

/* 1: done. 0: the text is short, or not as it should be; then there are no trees, and whoever reads
 * them one after the other says what is wrong. */
static int read_by_threads(struct rw_words *w, struct rw_model *model)
{
    struct parts parts = {.model = model};
    struct rw_words silent = *w;
    silent.ctx = NULL;
    if (!w->ctx || w->ctx->n_threads < 2)
        return 0;
    find_parts(&silent, &parts);
    if (parts.n < 2)
        return 0;
    int is_good =
        rw_parallel(w->ctx, w->ctx->n_threads, (uint64_t)parts.n, 1, read_parts, &parts) >= 0;
    uint32_t n_lines = 0;
    for (int i = 0; i < parts.n; i++) {
        const struct rw_words *after = &parts.part[i].words;
        is_good &= i + 1 == parts.n || after->at == parts.part[i + 1].begin;
        n_lines += after->line - w->line; /* all began with this one's number */
    }
    for (int32_t i = 0; !is_good && i < model->n_trees; i++)
        rw_tree_release(&model->tree[i]);
    if (!is_good)
        return 0;
    w->at = parts.part[parts.n - 1].words.at;
    w->line_begin = parts.part[parts.n - 1].words.line_begin;
    w->line += n_lines;
    return 1;
}

int rw_trees_grammar(struct rw_words *w, struct rw_model *model)
{
    if (!w->is_writing && read_by_threads(w, model))
        return RW_OK;
    for (int32_t i = 0; i < model->n_trees; i++)
        RW_TRY(tree_section(w, model, i));
    return RW_OK;
}
