/* Lowers models: makes an ensemble, which has the model's trees in the terms of another program's
 * rules (convert.h). A property that the format cannot represent exactly is named and refused,
 * unless struct rw_lowering allows dropping it. The end of this file rewrites trees for programs
 * that treat missing values as unlisted categories. */
#include <float.h>

#include "convert/convert.h"

struct lowering {
    struct rw_ctx *ctx;
    const struct rw_model *model;
    const struct rw_model_format *format;
    const struct rw_rules *rules;
    int64_t base; /* the feature that gets the format's first id */
    const struct rw_lowering *how;
    struct rw_source to;  /* the ensemble that is being made */
    const char *lossy_by; /* the name of `how->lossy` in hints */
    uint8_t *had;         /* [RW_FEATURE_IDS] in the training set, or used by a split */
    uint8_t *is_used;     /* [RW_FEATURE_IDS] used by a split */
    uint64_t n_directions, n_thresholds, n_names; /* dropped or approximated, if `how` is lossy */
    int32_t n_without_covers;                     /* trees with splits but without covers */
};

/* ---- trees ---- */

static const char *feature_text(const struct lowering *l, uint32_t feature,
                                char text[RW_FEATURE_TEXT])
{
    return rw_feature_text(l->model->name, l->model->n_names, feature, text);
}

/* Refuses a split. The message names the node, or the feature if `how` has of_features. */
static int refuse_split(const struct lowering *l, int32_t t, int32_t i, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int refuse_split(const struct lowering *l, int32_t t, int32_t i, const char *format, ...)
{
    char what[512];
    RW_FORMAT_ARGS(what, format);
    char text[RW_FEATURE_TEXT];
    return l->how->of_features
               ? rw_fail(l->ctx, RW_ERR_UNSUPPORTED, "%s: %s",
                         feature_text(l, l->model->tree[t].feature[i], text), what)
               : rw_fail(l->ctx, RW_ERR_UNSUPPORTED, "tree %d, node %d: %s", t + 1, i, what);
}

/* ---- categories ---- */

/* Above any category: every value that is not missing is at or below it. */
#define ABOVE_CATEGORIES 2147483648.0f

static const struct rw_feature_categories *categories_at(const struct rw_model *model,
                                                         const struct rw_tree *tree, int32_t node)
{
    return rw_categories_find(&model->categories, tree->feature[node]);
}

/* Returns 1 if the file lists the categories of the left child. */
static int lists_left(const struct rw_model *model, const struct rw_tree *tree, int32_t node)
{
    return !rw_set_has(&tree->set[node], categories_at(model, tree, node)->n);
}

int rw_is_swapped(const struct rw_model *model, const struct rw_tree *tree, int32_t node,
                  const struct rw_rules *rules, int by_category)
{
    if (!rw_tree_by_set(tree, node))
        return rules->less && tree->cut[node] == FLT_MAX;
    return lists_left(model, tree, node) == (!by_category || rules->listed_right);
}

/* Returns NULL if every word is a number that the format's readers accept, else such a word. */
static const char *word_not_number(const struct rw_model_format *format,
                                   const struct rw_feature_categories *of)
{
    if (of->n_numbers > 0 && of->number[of->n_numbers - 1].number > format->most_category)
        return of->word[of->number[of->n_numbers - 1].code];
    uint8_t is_number[RW_MAX_CATEGORIES] = {0};
    uint32_t code = 0;
    for (uint32_t n = 0; n < of->n_numbers; n++)
        is_number[of->number[n].code] = 1;
    while (code < of->n && is_number[code])
        code++;
    return code < of->n ? of->word[code] : NULL;
}

/* Returns 1 if the file stores the feature's categories as words: the format can, and not all words
 * are numbers that its readers accept. */
static int by_words(const struct rw_model_format *format, const struct rw_feature_categories *of)
{
    return format->categories == RW_SAYS_WORDS && word_not_number(format, of) != NULL;
}

/* Returns the beginning of a message about a split: the feature's name and `after`, or "" if
 * refuse_split puts the feature's name before the message. */
static const char *of_feature(const struct lowering *l, uint32_t feature, const char *after,
                              char text[RW_FEATURE_TEXT + 8])
{
    feature_text(l, feature, text);
    strcat(text, after);
    return l->how->of_features ? "" : text;
}

static int check_categories(const struct lowering *l, int32_t t, int32_t i)
{
    const struct rw_feature_categories *of = categories_at(l->model, &l->model->tree[t], i);
    const char *word = word_not_number(l->format, of);
    char text[RW_FEATURE_TEXT + 8];
    if (l->format->categories == RW_SAYS_NO_CATEGORIES)
        return refuse_split(l, t, i, "%scategorical; '%s' cannot represent categorical splits",
                            of_feature(l, of->feature, " is ", text), l->format->name);
    if (word && l->format->categories == RW_SAYS_NUMBERS)
        return refuse_split(l, t, i,
                            "%scategory '%.64s'; in '%s' categories are whole numbers up to %u",
                            of_feature(l, of->feature, ": ", text), word, l->format->name,
                            l->format->most_category);
    return RW_OK;
}

/* Writes to `listed` the categories of the child that does not get unknown categories, as the
 * format's numbers. Returns their number. */
static uint32_t list_categories(const struct lowering *l, const struct rw_tree *tree, int32_t i,
                                uint32_t listed[RW_MAX_CATEGORIES])
{
    const struct rw_feature_categories *of = categories_at(l->model, tree, i);
    const int left = lists_left(l->model, tree, i);
    const int words = by_words(l->format, of);
    uint32_t n = 0;
    for (uint32_t k = 0; k < of->n; k++) { /* without words n_numbers equals n */
        if (rw_set_has(&tree->set[i], words ? k : of->number[k].code) == left)
            listed[n++] = words ? k : of->number[k].number;
    }
    return n;
}

/* The format's readers may treat unseen words as missing values. Sets *differ to 1 if the model
 * sends the two to different children. Then refuses the split, or counts it if `how` is lossy. */
static int check_unknown(struct lowering *l, int32_t t, int32_t i, int *differ)
{
    const struct rw_tree *tree = &l->model->tree[t];
    const struct rw_feature_categories *of = categories_at(l->model, tree, i);
    char text[RW_FEATURE_TEXT + 8];
    *differ = l->rules->unknown_missing && by_words(l->format, of) &&
              tree->missing_left[i] == lists_left(l->model, tree, i);
    if (!*differ)
        return RW_OK;
    if (!l->how->lossy)
        return refuse_split(
            l, t, i,
            "%sa missing value %s to one child, an unseen category to the other; '%s' treats both "
            "as missing\nhint: %s sends both where unseen categories go",
            of_feature(l, of->feature, ": ", text), l->how->of_features ? "may go" : "goes",
            l->format->name, l->lossy_by);
    l->n_directions++;
    return RW_OK;
}

static void swap_children(struct rw_ens_node *node)
{
    const int32_t left = node->left;
    node->left = node->right;
    node->right = left;
}

static int lower_set(struct lowering *l, int32_t t, int32_t i, struct rw_ens_node *node)
{
    const struct rw_tree *tree = &l->model->tree[t];
    uint32_t listed[RW_MAX_CATEGORIES];
    int differ = 0;
    RW_TRY(check_categories(l, t, i));
    RW_TRY(check_unknown(l, t, i, &differ));
    const uint32_t n = list_categories(l, tree, i, listed);
    node->by_category = n > 0 || l->rules->lists_none;
    const int turned = rw_is_swapped(l->model, tree, i, l->rules, node->by_category);
    if (turned)
        swap_children(node);
    node->nan = (tree->missing_left[i] != differ) != turned ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (!node->by_category)
        rw_rules_threshold(l->rules, ABOVE_CATEGORIES, &node->threshold);
    return rw_add_list(&l->to, node, listed, n);
}

static int lower_split(struct lowering *l, int32_t t, int32_t i, struct rw_ens_node *node)
{
    const struct rw_tree *tree = &l->model->tree[t];
    const int32_t n_splits = tree->n_leaves - 1;
    const int64_t column = (int64_t)tree->feature[i] - l->base + l->rules->first_column;
    const char *format = l->format->name;
    char text[RW_FEATURE_TEXT];
    if ((int64_t)tree->feature[i] < l->base)
        return refuse_split(
            l, t, i, "%s has no id in '%s', whose ids begin at %u%s",
            feature_text(l, tree->feature[i], text), format, l->rules->first_column,
            l->rules->first_column == l->base
                ? "\nhint: --feature-base 0 shifts ids, so that feature 0 is the first"
                : "\nhint: --feature-base 1 leaves feature 0 out");
    node->left = tree->left[i] >= 0 ? tree->left[i] : n_splits + ~tree->left[i];
    node->right = tree->right[i] >= 0 ? tree->right[i] : n_splits + ~tree->right[i];
    node->column = (uint32_t)column;
    l->had[tree->feature[i]] = l->is_used[tree->feature[i]] = 1;
    node->less = (uint8_t)l->rules->less;
    node->gain = tree->gain[i];
    if (rw_tree_by_set(tree, i))
        return lower_set(l, t, i, node);
    const int turned = rw_is_swapped(l->model, tree, i, l->rules, 0);
    if (turned) {
        node->threshold = -(double)FLT_MAX;
        swap_children(node);
    } else if (!rw_rules_threshold(l->rules, tree->cut[i], &node->threshold)) {
        if (!l->how->lossy)
            return refuse_split(l, t, i,
                                "'%s' cannot represent the threshold %g\nhint: %s uses the nearest",
                                format, (double)tree->cut[i], l->lossy_by);
        l->n_thresholds++;
    }
    node->nan = tree->missing_left[i] != turned ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (l->rules->nan_by_node)
        return RW_OK;
    node->nan = (uint8_t)l->rules->nan;
    /* If training saw no missing value of the feature, the model sends missing values where 0 goes.
     * That direction means nothing, so a format that cannot represent it is not a loss. */
    const int carried = l->rules->nan == RW_NAN_FALSE && !tree->missing_left[i];
    if (!carried && tree->missing_left[i] != (0.0f <= tree->cut[i])) {
        if (!l->how->lossy)
            return refuse_split(l, t, i,
                                "a missing value %s %s, but 0 the other way; '%s' cannot represent "
                                "this\nhint: %s drops such directions",
                                l->how->of_features ? "may go" : "goes",
                                tree->missing_left[i] ? "left" : "right", format, l->lossy_by);
        l->n_directions++;
    }
    return RW_OK;
}

/* Sets the covers of nodes. Programs divide by a leaf's cover to compute SHAP values. Leaves
 * without documents therefore count as one document, as do all leaves of a tree without covers. */
static void lower_covers(struct lowering *l, const struct rw_tree *tree, struct rw_ens_tree *to)
{
    const int32_t n_splits = tree->n_leaves - 1;
    for (int32_t i = 0; i < tree->n_leaves; i++) {
        struct rw_ens_node *leaf = &to->node[n_splits + i];
        const int is_known = tree->hessian && tree->docs[i] > 0.0;
        leaf->docs = is_known ? tree->docs[i] : 1.0;
        leaf->hessian = is_known ? (double)tree->hessian[i] : 0.0;
        leaf->has_cover = tree->hessian != NULL;
    }
    for (int32_t i = n_splits - 1; i >= 0; i--) { /* children have larger numbers */
        struct rw_ens_node *node = &to->node[i];
        node->docs = to->node[node->left].docs + to->node[node->right].docs;
        node->hessian = to->node[node->left].hessian + to->node[node->right].hessian;
        node->has_cover = tree->hessian != NULL;
    }
    l->n_without_covers += !tree->hessian && n_splits > 0;
}

static int lower_tree(struct lowering *l, int32_t t)
{
    const struct rw_tree *tree = &l->model->tree[t];
    const int32_t n_splits = tree->n_leaves - 1;
    if (tree->n_leaves > INT32_MAX / 2)
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED, "tree %d: %d leaves", t + 1, tree->n_leaves);
    struct rw_ens_tree *to = rw_add_tree(&l->to, n_splits + tree->n_leaves);
    RW_TRY(l->to.status);
    for (int32_t i = 0; i < n_splits; i++)
        RW_TRY(lower_split(l, t, i, &to->node[i]));
    for (int32_t i = 0; i < tree->n_leaves; i++)
        to->node[n_splits + i].value = (double)tree->leaf[i];
    lower_covers(l, tree, to);
    return RW_OK;
}

/* ---- columns and names ---- */

void rw_made_up_name(const struct rw_model_format *format, uint32_t column, char *name, size_t size)
{
    snprintf(name, size, "%s%u", format->name_prefix ? format->name_prefix : "f", column);
}

static int name_fits(const struct rw_model_format *format, const char *name)
{
    const unsigned char *c = (const unsigned char *)name;
    for (int n; *c; c += n) {
        n = rw_utf8_bytes(c); /* 0: invalid UTF-8, which all readers refuse */
        if (n == 0 || *c < 32 || *c == 127 ||
            (format->name_forbids && strchr(format->name_forbids, *c)))
            return 0;
    }
    return 1;
}

/* Finds a column that trees use in the feature set, and its name there: by the feature's name if
 * the model has names, else by position. */
static int find_in_set(const struct lowering *l, uint32_t column, const char **found)
{
    const struct rw_feature_set *set = l->how->set;
    const uint32_t feature = (uint32_t)((int64_t)column + l->base);
    const char *name = rw_model_feature_name(l->model, feature);
    *found = NULL;
    if (l->model->n_names == 0 && column >= set->n)
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                       "feature %u is not in the feature set '%s', which has features %lld to %lld",
                       feature, set->path, (long long)l->base, (long long)l->base + set->n - 1);
    if (l->model->n_names == 0)
        *found = rw_feature_set_name(set, column);
    else if (!*name)
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                       "feature %u has no name; in a model with names, features are found in the "
                       "feature set '%s' by name",
                       feature, set->path);
    else if (!(*found = rw_feature_set_find(set, name)))
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                       "feature %u, '%s', is not in the feature set '%s'", feature, name,
                       set->path);
    return RW_OK;
}

/* Finds the name of a column for the file. *out: NULL for unused columns with a feature set, and
 * for column 0 of LETOR text in a format of such sets. made: room for a generated name. */
static int name_column(struct lowering *l, uint32_t i, char made[64], const char **out)
{
    const uint32_t feature = (uint32_t)((int64_t)i + l->base);
    const int by_set = l->format->names == RW_NAMES_SET;
    *out = NULL;
    if (by_set && l->how->set)
        return l->is_used[feature] ? find_in_set(l, i, out) : RW_OK;
    if (by_set && feature == 0 && !l->had[0] && l->model->columns == RW_COLUMNS_LETOR)
        return RW_OK; /* its ids begin with 1, so no store has a feature 0 */
    rw_made_up_name(l->format, i + l->rules->first_column, made, 64);
    *out = rw_model_feature_name(l->model, feature);
    if (**out && !name_fits(l->format, *out)) {
        if (!l->how->lossy)
            return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                           "the name of feature %u, '%s', has a character that '%s' cannot "
                           "represent\nhint: %s drops such names",
                           feature, *out, l->format->name, l->lossy_by);
        l->n_names++;
        *out = "";
    }
    *out = **out ? *out : made;
    return RW_OK;
}

static int lower_names(struct lowering *l)
{
    struct rw_ensemble *out = l->to.out;
    const enum rw_names names = l->format->names;
    if (names == RW_NAMES_NONE || (names == RW_NAMES_GIVEN && l->model->n_names == 0)) {
        out->column_name = NULL;
        return RW_OK;
    }
    RW_RELEASED(rw_query_ids_release) struct rw_query_ids seen = {0};
    for (uint32_t i = 0; i < out->n_columns; i++) {
        const char *name;
        char made[64];
        size_t first;
        RW_TRY(name_column(l, i, made, &name));
        if (!name)
            continue;
        RW_TRY(rw_add_name(&l->to, i, name));
        const int is_known = rw_query_ids_add(l->ctx, &seen, out->column_name[i], &first);
        RW_TRY(is_known);
        if (is_known)
            return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                           "two features have the name '%s'; '%s' needs unique names", name,
                           l->format->name);
        if (l->format->has_queries && l->how->set)
            RW_TRY(rw_feature_set_extract(l->ctx, l->how->set, name, &out->config));
    }
    return RW_OK;
}

/* Adds the categories of the features that trees use, which check_categories has checked. Formats
 * with words also get those of other features, because LightGBM matches its lists of words to all
 * categorical features in order. */
static int lower_categories(struct lowering *l)
{
    for (uint32_t i = 0; i < l->model->categories.n; i++) {
        const struct rw_feature_categories *of = &l->model->categories.of[i];
        const uint32_t column = (uint32_t)((int64_t)of->feature - l->base) + l->rules->first_column;
        uint32_t number[RW_MAX_CATEGORIES];
        if (!l->is_used[of->feature] &&
            (l->format->categories != RW_SAYS_WORDS || (int64_t)of->feature < l->base ||
             column - l->rules->first_column >= l->to.out->n_columns))
            continue;
        for (uint32_t k = 0; k < of->n_numbers; k++)
            number[k] = of->number[k].number;
        const int words = by_words(l->format, of);
        RW_TRY(rw_add_categories(&l->to, column, words ? NULL : number,
                                 words ? (const char *const *)of->word : NULL, of->n));
    }
    return RW_OK;
}

static void warn(const struct lowering *l, uint64_t n, const char *what, const char *of)
{
    if (n > 0)
        rw_log(l->ctx, RW_LOG_WARNING, "%s %llu %s%s", what, (unsigned long long)n, of,
               n == 1 ? "" : "s");
}

int rw_lower(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_model_format *format,
             const struct rw_lowering *how, struct rw_ensemble *out)
{
    const struct rw_rules *rules = &format->consumer[0].rules;
    struct lowering l = {.ctx = ctx,
                         .format = format,
                         .rules = rules,
                         .how = how,
                         .to = {.ctx = ctx, .out = out},
                         .base = how->base < 0 ? (int64_t)rules->first_column : how->base,
                         .lossy_by = how->lossy_by ? how->lossy_by : "--lossy"};
    int64_t last = RW_MAX_FEATURE;
    RW_SCOPED(rw_model_free) struct rw_model *parted = NULL;
    *out = (struct rw_ensemble){
        .first_column = rules->first_column, .model_name = how->model_name, .format = format};
    RW_TRY(rw_model_check(ctx, model));
    if (how->set)
        RW_TRY(rw_feature_set_check_form(ctx, how->set, format));
    RW_TRY(rw_part_missing(ctx, model, format, &parted));
    l.model = parted ? parted : model;
    RW_TRY(RW_ARENA_NEW(ctx, &out->arena, l.had, RW_FEATURE_IDS));
    RW_TRY(RW_ARENA_NEW(ctx, &out->arena, l.is_used, RW_FEATURE_IDS));
    for (int32_t t = 0; t < l.model->n_trees; t++)
        RW_TRY(lower_tree(&l, t));
    for (uint32_t i = 0; i < l.model->n_features; i++)
        l.had[l.model->feature[i]] = 1;
    while (last >= l.base && !l.had[last])
        last--;
    RW_TRY(rw_set_columns(&l.to, (uint64_t)(last - l.base + 1)));
    memcpy(out->column_had, l.had + l.base, out->n_columns);
    RW_TRY(lower_categories(&l));
    RW_TRY(lower_names(&l));
    if (how->set && how->set->store)
        RW_TRY(rw_arena_text(ctx, &out->arena, &out->store, how->set->store));
    warn(&l, l.n_directions, "lost the direction of missing values at", "node");
    warn(&l, l.n_thresholds, "used the nearest threshold that the format can represent at",
         "split");
    warn(&l, l.n_names, "dropped", "feature name");
    if (format->covers && l.n_without_covers > 0)
        rw_log(ctx, RW_LOG_NOTE,
               "%d of %d trees have no document counts; SHAP values computed from the '%s' file "
               "count each of their leaves as one document",
               l.n_without_covers, l.model->n_trees, format->name);
    return RW_OK;
}

/* ---- trees for programs that send missing values where unlisted categories go ---- */
/* Some programs send missing values at a categorical split to the side of unlisted categories. If a
 * tree sends them to the other side, an added split first separates the missing values of the
 * feature. The feature has a value in the left branch of the added split, so splits on the feature
 * there may send missing values anywhere. It is missing in the right branch, where each categorical
 * split on it is replaced by the child that missing values reach. A path has at most one added
 * split per feature.
 *
 * The right branch is a copy, whose documents are multiplied by COPY_SHARE. This factor is small,
 * so that other branches keep their shares of the documents. It is not so small that the counts of
 * the copy are lost when to_lightgbm.c scales the tree's count to 2^29 and rounds. */
#define COPY_SHARE 0x1p-13

enum { MOST_LEAVES = 1 << 20 }; /* limit of a rewritten tree; each feature may double a branch */

/* A branch of the original tree that becomes a child of a new node. */
struct todo {
    /* from: the branch's root in the original tree, a node or ~ a leaf. above: index in `made` of
     * its parent in the new tree; -1: none. */
    int32_t from, above;
    int is_right; /* 1: it becomes the right child */
};
/* A node of the new tree. */
struct made {
    /* node: the original node. left, right: children in the new tree, as in struct rw_tree. */
    int32_t node, left, right;
    /* 0: a copy of `node`; 1: an added split, which sends its feature's missing values right and
     * all other values left */
    int parts;
    struct todo at; /* its place in the new tree */
};

struct parting {
    struct rw_ctx *ctx;
    const struct rw_model *model;
    const struct rw_model_format *format;
    const struct rw_tree *tree; /* the current tree */
    struct todo *todo;
    struct made *made;
    /* [n_leaves] the original leaf of each new leaf; ~ that leaf in the right branch of an added
     * split */
    int32_t *leaf;
    size_t n_todo, todo_room, n_made, made_room, n_leaves, leaves_room;
    struct rw_arena *arena; /* owns all arrays */
};

/* Returns 1 if the format's readers would send missing values to the wrong child: the split lists
 * categories as numbers, and the model sends missing values and unlisted categories to different
 * children. */
static int conflicts(const struct parting *p, const struct rw_tree *tree, int32_t node)
{
    if (!rw_tree_by_set(tree, node))
        return 0;
    const struct rw_feature_categories *of = categories_at(p->model, tree, node);
    const int unlisted_left = rw_set_has(&tree->set[node], of->n);
    int lists_any = 0;
    for (uint32_t code = 0; code < of->n; code++)
        lists_any |= rw_set_has(&tree->set[node], code) != unlisted_left;
    return lists_any && tree->missing_left[node] != unlisted_left && !by_words(p->format, of);
}

/* Returns whether a feature has a value at this place of the new tree, as far as the added splits
 * on the path tell. feature: -1: returns ABSENT if the path takes the right branch of any added
 * split. */
enum known { UNKNOWN, PRESENT, ABSENT };
static enum known known_of(const struct parting *p, struct todo at, int64_t feature)
{
    for (; at.above >= 0; at = p->made[at.above].at) {
        const struct made *above = &p->made[at.above];
        if (above->parts && (feature < 0 ? at.is_right : p->tree->feature[above->node] == feature))
            return at.is_right ? ABSENT : PRESENT;
    }
    return UNKNOWN;
}

static int32_t missing_child(const struct rw_tree *tree, int32_t node)
{
    return tree->missing_left[node] ? tree->left[node] : tree->right[node];
}

static int add_node(struct parting *p, struct todo at)
{
    const struct rw_tree *tree = p->tree;
    const int parts =
        conflicts(p, tree, at.from) && known_of(p, at, tree->feature[at.from]) == UNKNOWN;
    const int32_t above = (int32_t)p->n_made, left = parts ? at.from : tree->left[at.from];
    const int32_t right = parts ? missing_child(tree, at.from) : tree->right[at.from];
    RW_TRY(RW_ARENA_GROW(p->ctx, p->arena, p->made, p->made_room, p->n_made + 1));
    RW_TRY(RW_ARENA_GROW(p->ctx, p->arena, p->todo, p->todo_room, p->n_todo + 2));
    p->made[p->n_made++] = (struct made){at.from, 0, 0, parts, at};
    p->todo[p->n_todo++] = (struct todo){right, above, 1};
    p->todo[p->n_todo++] = (struct todo){left, above, 0};
    return RW_OK;
}

/* Makes the new tree's nodes and leaves. */
static int part_tree(struct parting *p, int32_t number)
{
    const struct rw_tree *tree = p->tree;
    struct todo at = {0, -1, 0};
    p->n_todo = p->n_made = p->n_leaves = 0;
    RW_TRY(add_node(p, at));
    while (p->n_todo > 0) {
        at = p->todo[--p->n_todo];
        while (at.from >= 0 && rw_tree_by_set(tree, at.from) &&
               known_of(p, at, tree->feature[at.from]) == ABSENT)
            at.from = missing_child(tree, at.from);
        *(at.is_right ? &p->made[at.above].right : &p->made[at.above].left) =
            at.from < 0 ? ~(int32_t)p->n_leaves : (int32_t)p->n_made;
        if (at.from >= 0) {
            RW_TRY(add_node(p, at));
            continue;
        }
        if (p->n_leaves == MOST_LEAVES)
            return rw_fail(
                p->ctx, RW_ERR_UNSUPPORTED,
                "tree %d: more than %d leaves once missing values are split from categories",
                number, MOST_LEAVES);
        RW_TRY(RW_ARENA_GROW(p->ctx, p->arena, p->leaf, p->leaves_room, p->n_leaves + 1));
        p->leaf[p->n_leaves++] = known_of(p, at, -1) == ABSENT ? at.from : ~at.from;
    }
    return RW_OK;
}

static int finish_tree(struct parting *p, struct rw_tree *to)
{
    const struct rw_tree *from = p->tree;
    RW_TRY(rw_tree_init(p->ctx, to, (int32_t)p->n_leaves));
    RW_TRY(rw_tree_add_sets(p->ctx, to));
    for (size_t i = 0; i < p->n_made; i++) {
        const int32_t node = p->made[i].node;
        to->left[i] = p->made[i].left;
        to->right[i] = p->made[i].right;
        to->feature[i] = from->feature[node];
        if (!p->made[i].parts) {
            to->cut[i] = from->cut[node];
            /* Missing values never reach a conflicting node, so their direction is free. */
            to->missing_left[i] = from->missing_left[node] != conflicts(p, from, node);
            to->gain[i] = from->gain[node];
            to->by_set[i] = from->by_set[node];
            to->set[i] = from->set[node];
            continue;
        }
        to->by_set[i] = 1;
        for (uint32_t code = 0; code <= categories_at(p->model, from, node)->n; code++)
            rw_set_add(&to->set[i], code);
    }
    if (from->hessian)
        RW_TRY(rw_tree_add_covers(p->ctx, to));
    for (size_t i = 0; i < p->n_leaves; i++) {
        const int is_copy = p->leaf[i] < 0;
        const int32_t leaf = is_copy ? ~p->leaf[i] : p->leaf[i];
        to->leaf[i] = from->leaf[leaf];
        if (!from->hessian)
            continue;
        /* The model does not know how many of the leaf's documents had missing values. */
        to->docs[i] = is_copy ? from->docs[leaf] * COPY_SHARE : from->docs[leaf];
        to->hessian[i] = is_copy ? 0.0f : from->hessian[leaf];
    }
    return RW_OK;
}

int rw_part_missing(struct rw_ctx *ctx, const struct rw_model *model,
                    const struct rw_model_format *format, struct rw_model **out)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    RW_SCOPED(rw_model_free) struct rw_model *made = NULL;
    struct parting p = {.ctx = ctx, .model = model, .format = format, .arena = &arena};
    *out = NULL;
    if (!format->consumer[0].rules.missing_unlisted || model->categories.n == 0)
        return RW_OK;
    for (int32_t t = 0; t < model->n_trees; t++) {
        int any = 0;
        p.tree = &model->tree[t];
        for (int32_t i = 0; i < p.tree->n_leaves - 1; i++)
            any |= conflicts(&p, p.tree, i);
        if (!any)
            continue;
        if (!made)
            RW_TRY(rw_model_select(ctx, model, NULL, &made));
        rw_tree_release(&made->tree[t]);
        RW_TRY(part_tree(&p, t + 1));
        RW_TRY(finish_tree(&p, &made->tree[t]));
    }
    *out = RW_TAKE(made);
    return RW_OK;
}
