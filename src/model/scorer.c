/* Prepares a model for scoring (model/scorer.h): makes the flat form, lists of thresholds, and both
 * forms for one document at a time. Scores by struct rw_single (single_lanes_tmpl.c scores by
 * struct rw_lanes), and has the public functions of scorers of rows. */
#include "model/scorer.h"

#include <stdlib.h>

/* ---- the flat form ---- */

/* Assumed number of nodes above a leaf that a document reaches, as a multiple of log2 of the tree's
 * leaves. */
#define DEEPER 1.4

/* The numbering of slots. A feature has a slot for its value if any node compares it with a
 * threshold, and then a slot for each set of categories by which nodes split it. */
struct numbering {
    struct rw_arena *arena; /* owns all arrays */
    uint32_t *slot_of; /* [RW_FEATURE_IDS] slot of the value; before numbering, 1: it needs one */
    uint64_t n_by_set; /* nodes that split by sets */
    struct set_node {
        uint32_t feature;
        const struct rw_code_set *set;
        uint64_t node; /* index among the nodes of all trees */
    } * by_set;        /* [n_by_set] sorted by feature, then set */
};

static int by_feature_and_set(const void *a, const void *b)
{
    const struct set_node *x = a, *y = b;
    if (x->feature != y->feature)
        return x->feature > y->feature ? 1 : -1;
    return memcmp(x->set, y->set, sizeof(*x->set));
}

/* Returns 1 if element i of by_set has another set than the previous one. Nodes with equal feature
 * and set share a slot. */
static int is_new_set(const struct numbering *numbering, uint64_t i)
{
    return i == 0 || by_feature_and_set(&numbering->by_set[i - 1], &numbering->by_set[i]) != 0;
}

/* Marks features in slot_of, and lists the nodes with sets. */
static int list_sets(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_model *model,
                     struct numbering *numbering)
{
    size_t room = 0;
    RW_TRY(RW_ARENA_NEW(ctx, numbering->arena, numbering->slot_of, RW_FEATURE_IDS));
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            const uint32_t feature = tree->feature[node] & RW_MAX_FEATURE;
            if (!rw_tree_by_set(tree, node)) {
                numbering->slot_of[feature] = 1;
                continue;
            }
            RW_TRY(RW_ARENA_GROW(ctx, numbering->arena, numbering->by_set, room,
                                 numbering->n_by_set + 1));
            numbering->by_set[numbering->n_by_set++] =
                (struct set_node){feature, &tree->set[node], flat->first_node[i] + (uint64_t)node};
        }
    }
    if (numbering->n_by_set > 0)
        qsort(numbering->by_set, numbering->n_by_set, sizeof(*numbering->by_set),
              by_feature_and_set);
    return RW_OK;
}

/* Numbers the slots of a feature's sets, which begin at element i of by_set, from *slot on, and
 * stores them in the nodes. Returns the first element of the next feature. */
static uint64_t number_sets(struct rw_flat *flat, struct numbering *numbering, uint32_t feature,
                            uint64_t i, uint32_t *slot)
{
    for (; i < numbering->n_by_set && numbering->by_set[i].feature == feature; i++) {
        if (is_new_set(numbering, i)) {
            flat->feature[*slot] = feature;
            memcpy(flat->set_word + (size_t)flat->n_sets++ * flat->set_words,
                   numbering->by_set[i].set->word, flat->set_words * sizeof(*flat->set_word));
            flat->set_of[(*slot)++] = flat->n_sets;
        }
        flat->node[numbering->by_set[i].node].slot = *slot - 1;
    }
    return i;
}

/* Returns how many 32-bit words the widest set needs. Without a vocabulary, as when the caller
 * passes codes, a set may have any code. */
static uint32_t most_set_words(const struct rw_categories *categories,
                               const struct numbering *numbering)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < numbering->n_by_set; i++) {
        const struct rw_feature_categories *of =
            rw_categories_find(categories, numbering->by_set[i].feature);
        const uint32_t words = of ? rw_set_words(of->n + 1) : RW_SET_WORDS;
        most = words > most ? words : most;
    }
    return most;
}

/* Makes the slots. */
static int number_features(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                           struct numbering *numbering)
{
    uint32_t n_sets = 0, slot = 0;
    uint64_t next = 0;
    RW_TRY(list_sets(ctx, flat, model, numbering));
    for (uint64_t i = 0; i < numbering->n_by_set; i++)
        n_sets += (uint32_t)is_new_set(numbering, i);
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++)
        flat->n_used += numbering->slot_of[f];
    flat->n_used += n_sets;
    RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->feature, flat->n_used));
    if (n_sets) {
        RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->set_of, flat->n_used));
        RW_TRY(rw_categories_copy(ctx, &model->categories, &flat->categories));
        flat->set_words = most_set_words(&model->categories, numbering);
        RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->set_word, (size_t)n_sets * flat->set_words));
    }
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++) {
        if (numbering->slot_of[f]) {
            flat->feature[slot] = f;
            numbering->slot_of[f] = slot++;
        }
        next = number_sets(flat, numbering, f, next, &slot);
    }
    return RW_OK;
}

/* Returns 1 if all leaves below node `at` are `levels` below it, and the nodes of each level have
 * the split of `like` or of the level's first node below `like`. */
static int is_symmetric(const struct rw_walk_node *nodes, int32_t at, int32_t like, int levels)
{
    if (at < 0 || levels == 0)
        return at < 0 && levels == 0;
    return nodes[at].slot == nodes[like].slot && nodes[at].cut == nodes[like].cut &&
           is_symmetric(nodes, nodes[at].left, nodes[like].left, levels - 1) &&
           is_symmetric(nodes, nodes[at].right, nodes[like].left, levels - 1);
}

static void copy_tree(struct rw_flat *flat, const struct rw_tree *tree, int32_t i,
                      const struct numbering *numbering)
{
    struct rw_walk_node *nodes = flat->node + flat->first_node[i];
    for (int32_t at = 0; at < tree->n_leaves - 1; at++) {
        const int by_set = rw_tree_by_set(tree, at);
        const uint32_t slot =
            by_set ? nodes[at].slot : numbering->slot_of[tree->feature[at] & RW_MAX_FEATURE];
        nodes[at] = (struct rw_walk_node){.cut = by_set ? 0.5f : tree->cut[at],
                                          .slot = 2 * slot + (tree->missing_left[at] != 0),
                                          .left = tree->left[at],
                                          .right = tree->right[at]};
    }
    memcpy(flat->leaf + flat->first_leaf[i], tree->leaf,
           (size_t)tree->n_leaves * sizeof(*tree->leaf));
    const int levels = __builtin_ctz((unsigned)tree->n_leaves), root = rw_flat_root(flat, i);
    if (is_symmetric(nodes, root, root, levels))
        flat->levels[i] = (uint8_t)levels;
    else
        flat->all_symmetric = 0;
}

float rw_flat_of_row(const struct rw_flat *flat, uint32_t slot, float value)
{
    if (!flat->set_of || !flat->set_of[slot] || value != value)
        return value;
    const struct rw_feature_categories *of =
        rw_categories_find(&flat->categories, flat->feature[slot]);
    return rw_flat_of_code(flat, slot, (float)rw_category_of_number(of, value));
}

int rw_flat_init(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                 int n_trees)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct numbering numbering = {.arena = &arena};
    memset(flat, 0, sizeof(*flat));
    if (n_trees < 0 || n_trees > model->n_trees)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d trees requested; the model has %d", n_trees,
                       model->n_trees);
    flat->n_trees = n_trees ? n_trees : model->n_trees;
    flat->absent = rw_model_absent(model);
    const size_t n = (size_t)flat->n_trees;
    RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->first_node, n + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->first_leaf, n + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->levels, n));
    for (size_t i = 0; i < n; i++) {
        const uint32_t n_leaves = (uint32_t)model->tree[i].n_leaves;
        flat->first_node[i + 1] = flat->first_node[i] + n_leaves - 1;
        flat->first_leaf[i + 1] = flat->first_leaf[i] + n_leaves;
        flat->most_leaves = n_leaves > flat->most_leaves ? n_leaves : flat->most_leaves;
    }
    RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->node, flat->first_node[n]));
    RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->leaf, flat->first_leaf[n]));
    RW_TRY(number_features(ctx, flat, model, &numbering));
    flat->columns =
        rw_column_rule_of(model, flat->n_used ? flat->feature[flat->n_used - 1] + 1 : 0);
    flat->all_symmetric = 1;
    for (int32_t i = 0; i < flat->n_trees; i++)
        copy_tree(flat, &model->tree[i], i, &numbering);
    return RW_OK;
}

int rw_flat_init_scores(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                        int n_trees)
{
    RW_TRY(rw_flat_init(ctx, flat, model, n_trees));
    if (n_trees == 0 || rw_model_round_end(model, n_trees - 1) == n_trees)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "%d trees are not whole rounds: this round ends at %d trees, since the model "
                   "averages bags",
                   n_trees, rw_model_round_end(model, n_trees - 1));
}

void rw_flat_release(struct rw_flat *flat)
{
    rw_categories_release(&flat->categories);
    rw_arena_free(&flat->arena);
    memset(flat, 0, sizeof(*flat));
}

double rw_flat_score(const struct rw_flat *flat, const float *values, size_t n_values,
                     uint32_t first)
{
    double score = 0.0;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const struct rw_walk_node *nodes = flat->node + flat->first_node[i];
        int32_t at = rw_flat_root(flat, i);
        while (at >= 0) {
            const struct rw_walk_node node = nodes[at];
            const uint32_t f = flat->feature[node.slot >> 1] -
                               first; /* features before `first` give a very large number */
            const float v =
                rw_flat_of_row(flat, node.slot >> 1, f < n_values ? values[f] : flat->absent);
            const int go_left = v != v ? (int)(node.slot & 1) : v <= node.cut;
            at = go_left ? node.left : node.right;
        }
        score += (double)flat->leaf[flat->first_leaf[i] + (uint32_t)~at];
    }
    return score;
}

double rw_flat_tree_steps(double n_leaves)
{
    return 1.0 + DEEPER * log2(n_leaves);
}

double rw_flat_steps(const struct rw_flat *flat)
{
    double steps = 0.0;
    for (int32_t i = 0; i < flat->n_trees; i++)
        steps += rw_flat_tree_steps((double)(flat->first_leaf[i + 1] - flat->first_leaf[i]));
    return steps;
}

int rw_flat_threads(const struct rw_ctx *ctx, const struct rw_flat *flat)
{
    enum { FEW = 1 << 14 }; /* in leaves: a millisecond or two of work */
    return ctx && flat->first_leaf[flat->n_trees] > FEW ? ctx->n_threads : 1;
}

/* ---- thresholds ---- */

/* Sorts the keys, moves the distinct ones to the front and returns their number. scratch: [n]; may
 * be NULL if n is at most FEW. */
static uint32_t sort_keys(uint32_t *key, uint32_t *scratch, size_t n)
{
    enum { FEW = 128 };
    uint32_t n_kept = 0;
    if (n > FEW)
        rw_sort_keys(key, scratch, n);
    for (size_t i = 1; n <= FEW && i < n; i++) {
        const uint32_t k = key[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--)
            key[j] = key[j - 1];
        key[j] = k;
    }
    for (size_t i = 0; i < n; i++) {
        if (n_kept == 0 || key[i] != key[n_kept - 1])
            key[n_kept++] = key[i];
    }
    return n_kept;
}

int rw_thresholds_init(struct rw_ctx *ctx, struct rw_arena *arena, struct rw_thresholds *t,
                       const struct rw_flat *flat, int shift)
{
    const uint64_t n_nodes = flat->first_node[flat->n_trees];
    uint32_t *scratch;
    *t = (struct rw_thresholds){.n_columns = 2 * flat->n_used >> shift, .shift = shift};
    RW_TRY(RW_ARENA_NEW(ctx, arena, t->first, (size_t)t->n_columns + 1));
    RW_TRY(RW_ARENA_NEW(ctx, arena, t->n, t->n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, arena, t->key, n_nodes));
    RW_TRY(RW_ARENA_NEW(ctx, arena, scratch, n_nodes));
    for (uint64_t i = 0; i < n_nodes; i++)
        t->first[(flat->node[i].slot >> shift) + 1]++;
    for (uint32_t c = 0; c < t->n_columns; c++)
        t->first[c + 1] += t->first[c];
    for (uint64_t i = 0; i < n_nodes; i++) {
        const uint32_t c = flat->node[i].slot >> shift;
        t->key[t->first[c] + t->n[c]++] = rw_threshold_key(flat->node[i].cut);
    }
    for (uint32_t c = 0; c < t->n_columns; c++)
        t->n[c] = sort_keys(t->key + t->first[c], scratch, t->n[c]);
    return RW_OK;
}

/* ---- a scorer ---- */

/* The time for half a block as a share of that for a whole one. Much of a node's work does not
 * depend on the number of documents. */
#define HALF_BLOCK 0.6

/* Returns how many documents, counted from the first, are scored in packed form. The others are
 * scored one at a time. If the scorer has `packed` and `single`, all whole blocks are packed. The
 * rest is scored one at a time, or half a block or a whole block of it is packed, whichever should
 * be fastest. */
static uint32_t packed_docs(const struct rw_scorer *scorer, uint32_t n_docs)
{
    const uint32_t rest = n_docs % RW_PACKED_DOCS;
    const uint32_t half = rest < RW_PACKED_HALF ? rest : RW_PACKED_HALF;
    if (!scorer->packed || !scorer->single)
        return scorer->packed ? n_docs : 0;
    const double one_ns = scorer->single->doc_ns;
    const double block_ns = scorer->packed->doc_ns * RW_PACKED_DOCS;
    const double none_ns = rest * one_ns;
    const double half_ns = HALF_BLOCK * block_ns + (rest - half) * one_ns;
    if (block_ns < none_ns && block_ns < half_ns)
        return n_docs;
    return n_docs - rest + (half_ns < none_ns ? half : 0);
}

struct rows_job {
    const struct rw_scorer *scorer;
    const struct rw_rows *rows;
    double *scores;
};

static double score_one(const struct rw_scorer *scorer, const float *values, size_t n_values,
                        uint32_t first)
{
    return scorer->single ? rw_single_score(scorer->single, values, n_values, first)
                          : rw_flat_score(&scorer->flat, values, n_values, first);
}

static int score_one_by_one(void *user, struct rw_share *share)
{
    const struct rows_job *job = user;
    const struct rw_rows *rows = job->rows;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++)
            job->scores[doc] = score_one(job->scorer, rows->value + doc * rows->n_features,
                                         rows->n_features, rows->first);
    }
    return RW_OK;
}

int rw_scorer_make(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                   struct rw_scorer **out)
{
    RW_SCOPED(rw_scorer_free) struct rw_scorer *scorer = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, scorer, 1));
    RW_TRY(rw_flat_init_scores(ctx, &scorer->flat, model, n_trees));
    RW_TRY(rw_single_new(ctx, &scorer->flat, rw_isa(), &scorer->single));
    if (n_trees == 0 || n_trees == model->n_trees)
        RW_TRY(rw_score_map_copy(ctx, &model->map, &scorer->map));
    *out = RW_TAKE(scorer);
    return RW_OK;
}

int rw_scorer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                  struct rw_scorer **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_packed_ops *ops = rw_packed_ops(rw_isa());
    RW_SCOPED(rw_scorer_free) struct rw_scorer *scorer = NULL;
    *out = NULL;
    RW_TRY(rw_scorer_make(ctx, model, n_trees, &scorer));
    scorer->settled = 1;
    if (!scorer->single || rw_packed_doc_ns(&scorer->flat, ops) < scorer->single->doc_ns)
        RW_TRY(rw_packed_new(ctx, &scorer->flat, ops, &scorer->packed));
    *out = RW_TAKE(scorer);
    return RW_OK;
}

void rw_scorer_free(struct rw_scorer *scorer)
{
    if (!scorer)
        return;
    if (scorer->device)
        scorer->device->ops->close(scorer->device);
    rw_result_free(scorer->packed);
    rw_result_free(scorer->single);
    rw_flat_release(&scorer->flat);
    rw_score_map_release(&scorer->map);
    rw_mem_free(scorer);
}

/* Fails with RW_ERR_DATA if no category of a feature is a number. */
static int check_categories(struct rw_ctx *ctx, const struct rw_categories *categories)
{
    for (uint32_t i = 0; i < categories->n; i++) {
        const struct rw_feature_categories *of = &categories->of[i];
        if (of->n > 0 && of->n_numbers == 0)
            return rw_fail(ctx, RW_ERR_DATA,
                           "feature %u: its categories are words, such as '%.60s'; rows have "
                           "numbers only",
                           of->feature, of->word[0]);
    }
    return RW_OK;
}

int rw_scorer_rows(struct rw_ctx *ctx, const struct rw_scorer *scorer, const float *values,
                   uint32_t n_docs, uint32_t n_features, uint32_t first_feature, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_rows part = {values, n_docs, n_features, first_feature};
    if (first_feature > RW_MAX_FEATURE || n_features > RW_FEATURE_IDS - first_feature)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u features from %u on; expected ids of at most %d",
                       n_features, first_feature, RW_MAX_FEATURE);
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u documents; expected at most %u", n_docs,
                       RW_MAX_DOCS);
    const struct rw_column_view view = rw_column_view_rows(n_features, first_feature);
    RW_TRY(rw_column_rule_check(ctx, &scorer->flat.columns, &view));
    RW_TRY(check_categories(ctx, &scorer->flat.categories));
    part.n_docs = packed_docs(scorer, n_docs);
    if (part.n_docs > 0)
        RW_TRY(rw_packed_rows(ctx, scorer->packed, &part, scores));
    part.value += (size_t)part.n_docs * n_features;
    scores += part.n_docs;
    part.n_docs = n_docs - part.n_docs;
    struct rows_job job = {scorer, &part, scores};
    return rw_parallel(ctx, ctx ? ctx->n_threads : 1, part.n_docs, 0, score_one_by_one, &job);
}

double rw_scorer_one(const struct rw_scorer *scorer, const float *values, size_t n_values,
                     uint32_t first_feature)
{
    RW_DEFAULT_FPENV;
    return score_one(scorer, values, n_values, first_feature);
}

double rw_scorer_probability(const struct rw_scorer *scorer, double score)
{
    RW_DEFAULT_FPENV;
    return rw_score_map_of(&scorer->map, score);
}

/* ---- struct rw_lanes ---- */

/* Nanoseconds of one thread of a server of 2024. */
#define NODE_NS            2.5 /* per node of a group */
#define NODE_TABLE_NS_AVX2 0.7 /* with AVX2, per node of a group and each 16 columns */
#define COLUMN_NS          1.5 /* per column */
#define LEAF_NS            0.5 /* per symmetric tree, to add its leaf; of others, nodes decide */

enum { MOST_NODES = 1 << 20 }; /* nodes of all groups: 256 MiB; leaves then have 32-bit numbers */

static uint32_t leaves_of(const struct rw_flat *flat, int32_t tree)
{
    return (uint32_t)(flat->first_leaf[tree + 1] - flat->first_leaf[tree]);
}

/* ---- expected time ---- */

/* Returns the function for an instruction set, or NULL if it has no function. *table_ns:
 * nanoseconds per node and each 16 columns. */
static rw_lanes_fn function_of(enum rw_isa isa, double *table_ns)
{
    *table_ns = 0.0;
#if RW_HAS_X86
    if (isa >= RW_ISA_AVX512 && __builtin_cpu_supports("avx512vbmi"))
        return rw_lanes_score_avx512;
    *table_ns = NODE_TABLE_NS_AVX2;
    if (isa >= RW_ISA_AVX2)
        return rw_lanes_score_avx2;
#endif
    (void)isa;
    return NULL;
}

/* Returns the number of a tree's nodes that are evaluated. */
static uint32_t nodes_of(const struct rw_flat *flat, int32_t tree)
{
    return flat->all_symmetric ? flat->levels[tree] : leaves_of(flat, tree) - 1;
}

/* Returns the number of struct rw_lanes_node of all groups. A group has as many as its largest tree
 * has nodes. Returns 0 if a tree is too large or no tree has a node. */
static uint64_t count_nodes(const struct rw_flat *flat)
{
    uint64_t n = 0;
    uint32_t most = 0;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const uint32_t n_nodes = nodes_of(flat, i);
        if (leaves_of(flat, i) > RW_LANES_LEAVES)
            return 0;
        most = n_nodes > most ? n_nodes : most;
        if (i % RW_LANES == RW_LANES - 1 || i == flat->n_trees - 1) {
            n += most;
            most = 0;
        }
    }
    return n;
}

/* Returns the expected nanoseconds per document; infinity if the model cannot have this form. */
static double lanes_doc_ns(const struct rw_flat *flat, enum rw_isa isa)
{
    double table_ns;
    const rw_lanes_fn score = function_of(isa, &table_ns);
    const double node_ns = NODE_NS + table_ns * ceil(flat->n_used / 16.0);
    const uint64_t n_nodes = count_nodes(flat);
    const double leaf_ns = flat->all_symmetric ? LEAF_NS * flat->n_trees : 0.0;
    return score && n_nodes > 0 ? node_ns * (double)n_nodes + leaf_ns + COLUMN_NS * flat->n_used
                                : INFINITY;
}

/* ---- columns ---- */

/* State while the form is made. */
struct maker {
    const struct rw_flat *flat;
    struct rw_lanes *lanes;
    struct rw_thresholds thresholds; /* by slot */
    uint32_t *first_column;          /* [n_used] first column of a slot */
};

RW_SCOPED_BY(rw_result_free)

/* Counts the columns. Returns 0 if there are too many. */
static int count_columns(struct maker *m)
{
    uint64_t n = 0;
    for (uint32_t s = 0; s < m->flat->n_used; s++) {
        m->first_column[s] = (uint32_t)n;
        n += (m->thresholds.n[s] + RW_LANES_CUTS - 1) / RW_LANES_CUTS;
        if (n > RW_LANES_COLUMNS)
            return 0;
    }
    m->lanes->n_columns = (uint32_t)n;
    return 1;
}

/* Makes the pivots and the blocks of thresholds of all columns. A pivot is the last threshold of
 * its block. A search continues in the block after the last pivot below the value, so there is a
 * block after each pivot. */
static int make_columns(struct rw_ctx *ctx, struct maker *m)
{
    struct rw_lanes *l = m->lanes;
    uint32_t column = 0, at = 0;
    uint64_t room = 0;
    for (uint32_t s = 0; s < m->flat->n_used; s++)
        room += m->thresholds.n[s] + 2 * RW_LANES_PIVOTS * (m->thresholds.n[s] / RW_LANES_CUTS + 1);
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->feature, l->n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->pivot, (size_t)l->n_columns * RW_LANES_PIVOTS));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->first_cut, l->n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->cut, room));
    for (uint32_t s = 0; s < m->flat->n_used; s++) {
        for (uint32_t done = 0; done < m->thresholds.n[s]; done += RW_LANES_CUTS, column++) {
            const uint32_t rest = m->thresholds.n[s] - done;
            const uint32_t n = rest < RW_LANES_CUTS ? rest : RW_LANES_CUTS;
            const uint32_t n_blocks = n / RW_LANES_PIVOTS + 1;
            l->feature[column] = m->flat->feature[s];
            l->first_cut[column] = at;
            for (uint32_t i = 0; i < n_blocks * RW_LANES_PIVOTS; i++)
                l->cut[at + i] = i < n ? rw_threshold(&m->thresholds, s, done + i) : INFINITY;
            for (uint32_t i = 0; i < RW_LANES_PIVOTS; i++) {
                const uint32_t last = i * RW_LANES_PIVOTS + RW_LANES_PIVOTS - 1;
                l->pivot[column * RW_LANES_PIVOTS + i] = last < n ? l->cut[at + last] : INFINITY;
            }
            at += n_blocks * RW_LANES_PIVOTS;
        }
    }
    return RW_OK;
}

/* ---- trees ---- */

/* Writes a tree's nodes to the tree's lane, each before the nodes below it, and its left side
 * before its right side. Writes the leaves from left to right. */
static void put_tree(const struct maker *m, int32_t tree, struct rw_lanes_node *to,
                     uint64_t *missing_left, float *leaf)
{
    const struct rw_flat *flat = m->flat;
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    const float *values = flat->leaf + flat->first_leaf[tree];
    const uint32_t lane = (uint32_t)tree % RW_LANES;
    struct {
        int32_t at;
        int32_t parent; /* the node whose right side this is; or -1 */
    } stack[RW_LANES_LEAVES];
    const int32_t end = (int32_t)nodes_of(flat, tree); /* later nodes repeat their level's split */
    uint32_t n = 1, n_leaves = 0;
    int32_t n_nodes = 0;
    stack[0].at = rw_flat_root(flat, tree);
    stack[0].parent = -1;
    while (n > 0) {
        int32_t at = stack[--n].at;
        const int32_t parent = stack[n].parent;
        if (parent >= 0 && parent < end)
            to[parent].skip[lane] = (uint8_t)(n_leaves - to[parent].start[lane]);
        for (; at >= 0; at = nodes[at].left) {
            stack[n].at = nodes[at].right;
            stack[n++].parent = n_nodes++;
            if (n_nodes > end)
                continue;
            struct rw_lanes_node *node = &to[n_nodes - 1];
            const uint32_t slot = nodes[at].slot;
            const uint32_t number = rw_threshold_of(&m->thresholds, &nodes[at]);
            node->column[lane] = (uint8_t)(m->first_column[slot >> 1] + number / RW_LANES_CUTS);
            node->cut[lane] = (uint8_t)(number % RW_LANES_CUTS);
            node->start[lane] = (uint8_t)n_leaves;
            missing_left[n_nodes - 1] |= (uint64_t)(slot & 1) << lane;
        }
        leaf[n_leaves++] = values[~at];
    }
}

static int put_groups(void *user, struct rw_share *share)
{
    const struct maker *m = user;
    const struct rw_lanes *l = m->lanes;
    for (uint64_t group, end; rw_share_next(share, &group, &end);) {
        const uint32_t first = l->first_node[group];
        for (int32_t lane = 0; lane < RW_LANES; lane++) {
            const int32_t tree = (int32_t)group * RW_LANES + lane;
            if (tree < l->n_trees)
                put_tree(m, tree, l->node + first, l->missing_left + first,
                         l->leaf + l->first_leaf[tree]);
        }
    }
    return RW_OK;
}

static int make_trees(struct rw_ctx *ctx, struct maker *m, uint64_t n_nodes)
{
    const struct rw_flat *flat = m->flat;
    struct rw_lanes *l = m->lanes;
    const uint32_t n_leaves = (uint32_t)flat->first_leaf[flat->n_trees];
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->node, n_nodes));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->missing_left, n_nodes));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->first_node, l->n_groups + 1));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->first_leaf, (size_t)l->n_groups * RW_LANES));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(l), l->leaf,
                        (size_t)n_leaves + 1)); /* the last one is for lanes without a tree */
    for (uint32_t group = 0; group < l->n_groups; group++) {
        uint32_t most = 0;
        for (uint32_t lane = 0; lane < RW_LANES; lane++) {
            const int32_t tree = (int32_t)(group * RW_LANES + lane);
            const uint32_t n = tree < l->n_trees ? nodes_of(flat, tree) : 0;
            most = n > most ? n : most;
            l->first_leaf[tree] = tree < l->n_trees ? (uint32_t)flat->first_leaf[tree] : n_leaves;
        }
        l->first_node[group + 1] = l->first_node[group] + most;
    }
    (void)rw_parallel(ctx, rw_flat_threads(ctx, flat), l->n_groups, 1, put_groups, m);
    return RW_OK;
}

/* Returns 1 if every sum of some trees' leaves is exact in double, so that any order gives the
 * same sum. This is so if all leaves are multiples of one power of two, and 2^52 times it
 * exceeds the largest sum. */
static int is_any_order(const struct rw_flat *flat)
{
    double sum = 0.0;
    int unit = 128; /* its exponent, initially above that of any leaf */
    for (int32_t i = 0; i < flat->n_trees; i++) {
        float most = 0.0f;
        for (uint64_t j = flat->first_leaf[i]; j < flat->first_leaf[i + 1]; j++) {
            const float size = fabsf(flat->leaf[j]);
            const uint64_t bits = rw_bits_of_double((double)size); /* never subnormal */
            if (size == 0.0f)
                continue;
            most = size > most ? size : most;
            const int lowest = (int)(bits >> 52) - 1075 + __builtin_ctzll(bits | 1ull << 52);
            unit = lowest < unit ? lowest : unit;
        }
        sum += (double)most;
    }
    return sum < ldexp(1.0, unit + 52);
}

/* Makes struct rw_lanes. Returns 1 if it is done; 0: the model cannot have this form. */
static int make_lanes(struct rw_ctx *ctx, struct rw_lanes *l, const struct rw_flat *flat,
                      uint64_t n_nodes)
{
    RW_RELEASED(rw_arena_free) struct rw_arena scratch = {0};
    struct maker m = {.flat = flat, .lanes = l};
    l->absent = flat->absent;
    l->n_trees = flat->n_trees;
    l->n_groups = ((uint32_t)flat->n_trees + RW_LANES - 1) / RW_LANES;
    l->symmetric = flat->all_symmetric;
    l->any_order = is_any_order(flat);
    RW_TRY(rw_thresholds_init(ctx, &scratch, &m.thresholds, flat, 1));
    RW_TRY(RW_ARENA_NEW(ctx, &scratch, m.first_column, flat->n_used));
    if (!count_columns(&m))
        return 0;
    RW_TRY(make_columns(ctx, &m));
    RW_TRY(make_trees(ctx, &m, n_nodes));
    return 1;
}

int rw_lanes_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                 struct rw_lanes **out)
{
    double table_ns;
    const rw_lanes_fn score = function_of(isa, &table_ns);
    const uint64_t n_nodes = count_nodes(flat);
    RW_SCOPED(rw_result_free) struct rw_lanes *lanes = NULL;
    *out = NULL;
    if (!score || n_nodes == 0 || n_nodes > MOST_NODES || flat->n_used > RW_LANES_COLUMNS)
        return RW_OK;
    RW_TRY(rw_result_new(ctx, (void **)&lanes, sizeof(*lanes)));
    lanes->score = score;
    const int is_made = make_lanes(ctx, lanes, flat, n_nodes);
    RW_TRY(is_made);
    *out = is_made ? RW_TAKE(lanes) : NULL;
    return RW_OK;
}

/* ---- struct rw_single without lanes ---- */

/* Nanoseconds of one thread of a server of 2024 for a document to pass a node, in a model that
 * fits the caches. */
#define STEP_NS 1.0

enum {
    MOST_DEPTH = 255,
    LOOK = 3 /* steps between checks whether all walks have reached leaves; the best of 2, 3, 4 and
                6 */
};

/* ---- making ---- */

/* Writes a tree's nodes and leaves to `to`, by levels. queue, level: [2 * leaves - 1] scratch.
 * Returns the depth, or -1 if a child is too far away from its parent. */
static int32_t order_tree(const struct rw_flat *flat, int32_t tree, struct rw_single_node *to,
                          int32_t *queue, int32_t *level)
{
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    const float *values = flat->leaf + flat->first_leaf[tree];
    uint32_t n = 0;
    queue[n] = rw_flat_root(flat, tree);
    level[n++] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t at = queue[i];
        if (at < 0) {
            to[i] = (struct rw_single_node){values[~at], (uint16_t)(2 * flat->n_used), 0};
            continue;
        }
        if (n - i > UINT16_MAX)
            return -1;
        to[i] = (struct rw_single_node){nodes[at].cut, (uint16_t)nodes[at].slot, (uint16_t)(n - i)};
        queue[n] = nodes[at].left;
        queue[n + 1] = nodes[at].right;
        level[n] = level[n + 1] = level[i] + 1;
        n += 2;
    }
    return level[n - 1];
}

/* Makes the arrays of struct rw_single. Returns 1 if it is done; 0: the model cannot have this
 * form. */
static int make(struct rw_ctx *ctx, struct rw_single *s, const struct rw_flat *flat)
{
    const size_t n_trees = (size_t)flat->n_trees;
    const uint64_t n_leaves = flat->first_leaf[n_trees];
    const size_t most = flat->most_leaves;
    RW_FREED int32_t *queue = NULL;
    if (2 * (uint64_t)flat->n_used >= RW_SINGLE_VALUES || n_leaves > 1u << 29)
        return 0;
    const size_t n_groups = (n_trees + RW_SINGLE_TOGETHER - 1) / RW_SINGLE_TOGETHER;
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(s), s->node, 2 * n_leaves));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(s), s->root, n_groups * RW_SINGLE_TOGETHER));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(s), s->tree_at, n_groups * RW_SINGLE_TOGETHER));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(s), s->steps, n_groups));
    RW_TRY(RW_NEW_RAW(ctx, queue, 4 * most));
    for (int32_t first = 0; first < flat->n_trees; first += RW_SINGLE_TREES) {
        /* depth * RW_SINGLE_TREES + tree, to sort by depth: trees of similar depth are walked
         * together */
        uint32_t start[RW_SINGLE_TREES];
        const int32_t rest = flat->n_trees - first;
        const int32_t n = rest < RW_SINGLE_TREES ? rest : RW_SINGLE_TREES;
        for (int32_t i = 0; i < n; i++) {
            const uint64_t root = 2 * flat->first_leaf[first + i];
            const int32_t depth =
                order_tree(flat, first + i, s->node + root, queue, queue + 2 * most);
            if (depth < 0 || depth > MOST_DEPTH)
                return 0;
            start[i] = (uint32_t)(depth * RW_SINGLE_TREES + i);
        }
        sort_keys(start, NULL, (size_t)n);
        for (int32_t i = 0; i < n; i++) {
            const int32_t tree = (int32_t)start[i] % RW_SINGLE_TREES, at = first + i;
            s->root[at] = (uint32_t)(2 * flat->first_leaf[first + tree]);
            s->tree_at[at] = (uint8_t)tree;
            s->steps[at / RW_SINGLE_TOGETHER] = (uint8_t)(start[i] / RW_SINGLE_TREES); /* ascends */
        }
    }
    return 1;
}

int rw_single_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                  struct rw_single **out)
{
    RW_SCOPED(rw_result_free) struct rw_single *single = NULL;
    *out = NULL;
    if (flat->set_of)
        return RW_OK;
    RW_TRY(rw_result_new(ctx, (void **)&single, sizeof(*single)));
    single->flat = flat;
    const double lanes_ns = lanes_doc_ns(flat, isa), walk_ns = STEP_NS * rw_flat_steps(flat);
    if (lanes_ns < walk_ns) {
        RW_TRY(rw_lanes_new(ctx, flat, isa, &single->lanes));
        RW_TRY(rw_arena_own(ctx, rw_result_arena(single), single->lanes, rw_result_free));
    }
    single->doc_ns = single->lanes ? lanes_ns : walk_ns;
    const int is_made = single->lanes ? 1 : make(ctx, single, flat);
    RW_TRY(is_made);
    *out = is_made ? RW_TAKE(single) : NULL;
    return RW_OK;
}

/* ---- scoring ---- */

/* Walks down RW_SINGLE_TOGETHER trees. found: [RW_SINGLE_TOGETHER] leaf values, written. */
static void walk_together(const struct rw_single *s, const uint32_t *root, uint32_t steps,
                          const float *value, float *found)
{
    const struct rw_single_node *at[RW_SINGLE_TOGETHER];
    for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
        at[c] = s->node + root[c];
    for (uint32_t i = 0; i < steps;) {
        const uint32_t end = i + LOOK < steps ? i + LOOK : steps;
        uint32_t goes_on = 0;
        for (; i < end; i++) {
            for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
                at[c] += at[c]->skip + (value[at[c]->value] > at[c]->cut);
        }
        for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
            goes_on |= at[c]->skip;
        if (!goes_on)
            break;
    }
    for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
        found[c] = at[c]->cut;
}

static double score_by_walk(const struct rw_single *s, const float *values, size_t n_values,
                            uint32_t first_feature)
{
    const struct rw_flat *flat = s->flat;
    float value[RW_SINGLE_VALUES];
    double score = 0.0;
    for (uint32_t i = 0; i < flat->n_used; i++) {
        const uint32_t f =
            flat->feature[i] -
            first_feature; /* features before `first_feature` give a very large number */
        const float v = f < n_values ? values[f] : flat->absent;
        value[2 * i] = v != v ? INFINITY : v;
        value[2 * i + 1] = v != v ? -INFINITY : v;
    }
    value[2 * flat->n_used] = -INFINITY;
    for (int32_t first = 0; first < flat->n_trees; first += RW_SINGLE_TREES) {
        const int32_t rest = flat->n_trees - first;
        const int32_t n = rest < RW_SINGLE_TREES ? rest : RW_SINGLE_TREES;
        float found[RW_SINGLE_TOGETHER], leaf[RW_SINGLE_TREES];
        for (int32_t i = 0; i < n; i += RW_SINGLE_TOGETHER) {
            const int32_t at = first + i;
            walk_together(s, s->root + at, s->steps[at / RW_SINGLE_TOGETHER], value, found);
            for (int32_t c = 0; c < RW_SINGLE_TOGETHER && i + c < n; c++)
                leaf[s->tree_at[at + c]] = found[c];
        }
        for (int32_t i = 0; i < n; i++)
            score += (double)leaf[i];
    }
    return score;
}

double rw_single_score(const struct rw_single *single, const float *values, size_t n_values,
                       uint32_t first)
{
    return single->lanes ? single->lanes->score(single->lanes, values, n_values, first)
                         : score_by_walk(single, values, n_values, first);
}
