/* Scores data by our trees and by an ensemble read back from a file, under its consumer's rules. */

#include "convert/convert.h"

enum { BLOCK = 256 }; /* documents whose values are looked up together */

struct verifying {
    struct rw_ctx *ctx;
    const struct rw_model *model, *written; /* the same, but for parted trees */
    const struct rw_ensemble *theirs;
    const struct rw_rules *rules;
    int base;
    float absent; /* what they are given of a feature that a document does not mention */
    const struct rw_dataset *dataset;
    struct rw_verify_by *by;
    struct rw_recoded *coded; /* the data as our trees ask for them */
    float **given_as;  /* [n_used] NULL: no categories; else what they are given of [n_docs] */
    int32_t **leaf_of; /* [n_trees][n_nodes] the written leaf of their leaf */
    uint32_t n_used;
    uint32_t *used; /* [n_used] features that either side asks for */
    /* of all threads, each of which has a part of its own */
    float *block[2];        /* [n_threads][n_used][BLOCK] for us, and for them */
    float *ours, *given;    /* [n_threads][RW_FEATURE_IDS] a document for us, and for them */
    double *score[2];       /* [n_docs] ours, theirs */
    struct rw_arena *arena; /* of all arrays */
};

/* ------------------------------------------------------------------ the same leaf? */

struct pair {
    int32_t ours, theirs;
};

/* Do the children of their node stand the other way round than ours? */
static int is_turned(const struct verifying *v, const struct rw_tree *tree, int32_t ours,
                     const struct rw_ens_node *node)
{
    if (!rw_tree_by_set(tree, ours))
        return 0;
    const int lists_left = rw_lists_left(v->written, tree, ours);
    return node->by_category ? lists_left == v->rules->listed_right : lists_left;
}

/* Walks both trees side by side. */
static int match_tree(struct verifying *v, int32_t t, struct pair *stack)
{
    const struct rw_tree *tree = &v->written->tree[t];
    const struct rw_ens_tree *other = &v->theirs->tree[t];
    int32_t n = 1;
    stack[0] = (struct pair){tree->n_leaves == 1 ? ~0 : 0, 0};
    while (n > 0) {
        const struct pair at = stack[--n];
        const struct rw_ens_node *node = &other->node[at.theirs];
        if ((at.ours < 0) != (node->left < 0))
            return rw_fail(v->ctx, RW_ERR_FORMAT,
                           "tree %d: where the model has %s %d, the file has a %s", t + 1,
                           at.ours < 0 ? "leaf" : "node", at.ours < 0 ? ~at.ours : at.ours,
                           node->left < 0 ? "leaf" : "split");
        if (at.ours < 0) {
            v->leaf_of[t][at.theirs] = ~at.ours;
            continue;
        }
        const int turned = is_turned(v, tree, at.ours, node);
        stack[n++] = (struct pair){tree->left[at.ours], turned ? node->right : node->left};
        stack[n++] = (struct pair){tree->right[at.ours], turned ? node->left : node->right};
    }
    return RW_OK;
}

static int match_trees(struct verifying *v)
{
    if (v->theirs->n_trees != v->model->n_trees)
        return rw_fail(v->ctx, RW_ERR_FORMAT, "the file has %d trees, the model has %d",
                       v->theirs->n_trees, v->model->n_trees);
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->leaf_of, (size_t)v->model->n_trees));
    for (int32_t t = 0; t < v->model->n_trees; t++) {
        const size_t n = (size_t)v->theirs->tree[t].n_nodes;
        RW_FREED struct pair *stack = NULL;
        RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->leaf_of[t], n));
        RW_TRY(RW_NEW_RAW(v->ctx, stack, 2 * n + 2 * (size_t)v->written->tree[t].n_leaves));
        RW_TRY(match_tree(v, t, stack));
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ documents */

static int find_used(struct verifying *v)
{
    uint8_t *is_used;
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, is_used, RW_FEATURE_IDS));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->used, RW_FEATURE_IDS));
    for (int32_t t = 0; t < v->model->n_trees; t++) {
        const struct rw_ens_tree *other = &v->theirs->tree[t];
        for (int32_t i = 0; i < v->model->tree[t].n_leaves - 1; i++)
            is_used[v->model->tree[t].feature[i]] = 1;
        for (int32_t i = 0; i < other->n_nodes; i++) {
            const int64_t f = rw_column_feature(v->rules, v->base, other->node[i].column);
            if (other->node[i].left >= 0 && f >= 0)
                is_used[f] = 1;
        }
    }
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++) {
        if (is_used[f])
            v->used[v->n_used++] = f;
    }
    return RW_OK;
}

static void load_values(const struct rw_dataset *dataset, uint32_t feature, uint32_t begin,
                        uint32_t end, float absent, float *values)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    if (column)
        rw_column_values(column, begin, end, absent, values);
    for (uint32_t d = 0; !column && d < end - begin; d++)
        values[d] = absent;
}

static void load_block(struct verifying *v, uint32_t begin, uint32_t end)
{
    for (uint32_t i = 0; i < v->n_used; i++) {
        float *ours = v->block[0] + (size_t)i * BLOCK, *given = v->block[1] + (size_t)i * BLOCK;
        load_values(&v->coded->dataset, v->used[i], begin, end, rw_model_absent(v->model), ours);
        if (v->given_as[i])
            memcpy(given, v->given_as[i] + begin, (end - begin) * sizeof(*given));
        else
            load_values(v->dataset, v->used[i], begin, end, v->absent, given);
    }
}

/* A category as they are given it: an index of the column's words, or a number. NaN: missing; -1:
 * none that the file could list. */
static float given_category(const struct verifying *v, const struct rw_ens_categories *of,
                            struct rw_vocabulary *vocabulary, float value)
{
    char decimal[16];
    const char *word = decimal;
    uint64_t number;
    if (isnan(value) || (!vocabulary && !of->word))
        return value;
    if (vocabulary)
        word = rw_vocabulary_word(vocabulary, (uint32_t)value);
    else
        snprintf(decimal, sizeof(decimal), "%.0f", (double)value);
    for (uint32_t i = 0; of->word && i < of->n; i++) {
        if (strcmp(of->word[i], word) == 0)
            return (float)i;
    }
    if (of->word)
        return v->rules->unknown_missing ? NAN : -1.0f;
    const int is_number =
        rw_number_whole(word, RW_MAX_CATEGORY_ID, &number) && (word[0] != '0' || !word[1]);
    return is_number ? (float)number : -1.0f;
}

/* What they are given of the features by categories; and the data with our codes. */
static int give_categories(struct verifying *v)
{
    const uint32_t n = v->dataset->n_docs;
    RW_TRY(rw_categories_recode(v->ctx, &v->model->categories, v->dataset, v->model->absent_missing,
                                v->coded));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->given_as, v->n_used));
    for (uint32_t i = 0; i < v->n_used; i++) {
        const int64_t shift = v->base < 0 ? 0 : (int64_t)v->rules->first_column - v->base;
        const int64_t column = (int64_t)v->used[i] + shift;
        const struct rw_ens_categories *of =
            column < 0 ? NULL : rw_ens_categories_of(v->theirs, (uint32_t)column);
        if (!of)
            continue;
        struct rw_vocabulary *vocabulary =
            rw_vocabulary_has(v->dataset->vocabulary, v->used[i]) ? v->dataset->vocabulary : NULL;
        RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->given_as[i], n));
        load_values(v->dataset, v->used[i], 0, n, rw_float_of_bits(RW_ABSENT_BITS), v->given_as[i]);
        for (uint32_t d = 0; d < n; d++) {
            const int is_absent = rw_is_absent(v->given_as[i][d]);
            const float value = is_absent ? v->absent : v->given_as[i][d];
            v->given_as[i][d] = given_category(v, of, is_absent ? NULL : vocabulary, value);
        }
    }
    return RW_OK;
}

/* Does the document at hand go left there? */
static int their_left(const struct verifying *v, const struct rw_ens_node *node)
{
    const int64_t f = rw_column_feature(v->rules, v->base, node->column);
    return rw_rules_left(v->rules, node, f < 0 ? NAN : v->given[f]);
}

/* The node of ours that a node of the written tree stands for: the first on the document's way that
 * asks for the same feature. */
static int32_t node_of_ours(const struct verifying *v, int32_t t, int32_t written)
{
    const struct rw_tree *tree = &v->model->tree[t];
    const uint32_t feature = v->written->tree[t].feature[written];
    int32_t at = 0;
    if (v->written == v->model)
        return written;
    while (at >= 0 && tree->feature[at] != feature)
        at = rw_tree_goes_left(tree, at, v->ours[tree->feature[at]]) ? tree->left[at]
                                                                     : tree->right[at];
    return at < 0 ? 0 : at;
}

/* The last node that a document passes on both sides. */
static int32_t last_common_node(const struct verifying *v, int32_t t)
{
    const struct rw_tree *tree = &v->written->tree[t];
    const struct rw_ens_tree *other = &v->theirs->tree[t];
    int32_t ours = 0, theirs = 0;
    while (ours >= 0 && other->node[theirs].left >= 0) {
        const struct rw_ens_node *node = &other->node[theirs];
        const int left = rw_tree_goes_left(tree, ours, v->ours[tree->feature[ours]]);
        const int expected = left != is_turned(v, tree, ours, node);
        if (expected != their_left(v, node))
            return node_of_ours(v, t, ours);
        ours = left ? tree->left[ours] : tree->right[ours];
        theirs = expected ? node->left : node->right;
    }
    return 0;
}

static void score_doc(struct verifying *v, uint32_t doc)
{
    const int in_float = v->rules->sum == RW_F32;
    double ours = 0, magnitude = 0;
    double theirs = v->rules->base_ignored ? 0 : v->theirs->base;
    float theirs_float = (float)theirs;
    int32_t differs = -1;
    for (int32_t t = 0; t < v->model->n_trees; t++) {
        const struct rw_ens_tree *other = &v->theirs->tree[t];
        const int32_t leaf = rw_tree_leaf(&v->model->tree[t], v->ours, RW_FEATURE_IDS, 0.0f);
        const int32_t written = v->written == v->model ? leaf
                                                       : rw_tree_leaf(&v->written->tree[t], v->ours,
                                                                      RW_FEATURE_IDS, 0.0f);
        int32_t at = 0; /* their leaf, in the end */
        while (other->node[at].left >= 0)
            at = their_left(v, &other->node[at]) ? other->node[at].left : other->node[at].right;
        const double value = other->weight * other->node[at].value;
        if (differs < 0 && v->leaf_of[t][at] != written)
            differs = t;
        ours += (double)v->model->tree[t].leaf[leaf];
        magnitude += fabs((double)v->model->tree[t].leaf[leaf]);
        theirs_float += (float)value;
        theirs += value;
    }
    if (in_float)
        theirs = (double)theirs_float;
    const double bound = v->model->n_trees * ldexp(magnitude, in_float ? -24 : -53);
    const double apart = fabs(theirs - ours);
    if (apart > v->by->most)
        v->by->most = apart;
    v->score[0][doc] = ours;
    v->score[1][doc] = theirs;
    if (differs < 0 && apart <= bound)
        return;
    if (v->by->n_differ++ == 0) {
        v->by->doc = doc;
        v->by->tree = differs + 1;
        v->by->node = differs >= 0 ? last_common_node(v, differs) : 0;
    }
}

/* ------------------------------------------------------------------ pairs that change order */

struct two {
    double ours, theirs;
};

/* What ties for us falls by theirs, so that no pair of it rises. */
static int by_ours_then_falling(const void *a, const void *b)
{
    const struct two *x = a, *y = b;
    if (x->ours != y->ours)
        return x->ours < y->ours ? -1 : 1;
    return x->theirs > y->theirs ? -1 : x->theirs < y->theirs;
}

/* Sorts by theirs; how many pairs rose strictly before. */
static uint64_t rising(struct two *all, struct two *scratch, size_t n)
{
    if (n < 2)
        return 0;
    const size_t half = n / 2;
    uint64_t count = rising(all, scratch, half) + rising(all + half, scratch, n - half);
    for (size_t i = 0, j = half, k = 0; k < n; k++) {
        if (i < half && (j == n || all[i].theirs < all[j].theirs)) {
            scratch[k] = all[i++];
        } else {
            count += i;
            scratch[k] = all[j++];
        }
    }
    memcpy(all, scratch, n * sizeof(*all));
    return count;
}

static uint64_t pairs_of(uint64_t n)
{
    return n * (n - 1) / 2;
}

/* Pairs ordered one way by one side and not so by the other: inverted, or a tie on one side only.
 * The others rise by both sides, or are ties of both. */
static uint64_t moved(struct two *all, struct two *scratch, size_t n)
{
    uint64_t ties = 0;
    qsort(all, n, sizeof(*all), by_ours_then_falling);
    for (size_t i = 0, same = 1; i < n; i++, same++) {
        if (i + 1 == n || by_ours_then_falling(&all[i], &all[i + 1]) != 0) {
            ties += pairs_of(same);
            same = 0;
        }
    }
    return pairs_of(n) - rising(all, scratch, n) - ties;
}

static int count_pairs(struct verifying *v)
{
    struct two *all, *scratch;
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, all, v->dataset->n_docs));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, scratch, v->dataset->n_docs));
    for (uint32_t q = 0; q < v->dataset->n_queries; q++) {
        const uint32_t begin = v->dataset->query_offset[q], end = v->dataset->query_offset[q + 1];
        for (uint32_t d = begin; d < end; d++)
            all[d - begin] = (struct two){v->score[0][d], v->score[1][d]};
        v->by->n_pairs += pairs_of(end - begin);
        v->by->n_pairs_moved += moved(all, scratch, end - begin);
    }
    return RW_OK;
}

static int score_blocks(void *job, struct rw_share *share)
{
    const struct verifying *all = job;
    const size_t thread = (size_t)share->thread;
    const uint32_t n = all->dataset->n_docs;
    struct rw_verify_by part = {0};
    struct verifying v = *all;
    v.by = &part;
    v.block[0] += thread * v.n_used * BLOCK;
    v.block[1] += thread * v.n_used * BLOCK;
    v.ours += thread * RW_FEATURE_IDS;
    v.given += thread * RW_FEATURE_IDS;
    for (uint64_t block, end; rw_share_next(share, &block, &end);) {
        const uint32_t begin = (uint32_t)block * BLOCK;
        const uint32_t stop = n - begin < BLOCK ? n : begin + BLOCK;
        load_block(&v, begin, stop);
        for (uint32_t doc = begin; doc < stop; doc++) {
            for (uint32_t i = 0; i < v.n_used; i++) {
                v.ours[v.used[i]] = v.block[0][(size_t)i * BLOCK + doc - begin];
                v.given[v.used[i]] = v.block[1][(size_t)i * BLOCK + doc - begin];
            }
            score_doc(&v, doc);
        }
    }
    rw_share_lock(share);
    struct rw_verify_by *into = all->by;
    if (part.n_differ > 0 && (into->n_differ == 0 || part.doc < into->doc)) {
        into->doc = part.doc;
        into->tree = part.tree;
        into->node = part.node;
    }
    into->n_differ += part.n_differ;
    into->most = part.most > into->most ? part.most : into->most;
    rw_share_unlock(share);
    return RW_OK;
}

/* What is found does not depend on how many threads there are. */
static int score_docs(struct verifying *v)
{
    const uint32_t n_blocks = (v->dataset->n_docs + BLOCK - 1) / BLOCK;
    const uint32_t most = (uint32_t)v->ctx->n_threads;
    const size_t n_threads = n_blocks < most ? n_blocks : most;
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->block[0], n_threads * v->n_used * BLOCK));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->block[1], n_threads * v->n_used * BLOCK));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->ours, n_threads * RW_FEATURE_IDS));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->given, n_threads * RW_FEATURE_IDS));
    return rw_parallel(v->ctx, (int)n_threads, n_blocks, 1, score_blocks, v);
}

int rw_verify_ensemble(struct rw_ctx *ctx, const struct rw_model *model,
                       const struct rw_model *written, const struct rw_ensemble *ensemble,
                       const struct rw_consumer *consumer, int base,
                       const struct rw_dataset *dataset, struct rw_verify_by *into)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    RW_RELEASED(rw_recoded_release) struct rw_recoded coded = {0};
    const enum rw_absent_rule absent = consumer->rules.absent;
    struct verifying v = {.ctx = ctx,
                          .arena = &arena,
                          .coded = &coded,
                          .model = model,
                          .written = written,
                          .theirs = ensemble,
                          .rules = &consumer->rules,
                          .base = base,
                          .absent = absent == RW_ABSENT_NAN    ? NAN
                                    : absent == RW_ABSENT_ZERO ? 0.0f
                                                               : rw_model_absent(model),
                          .dataset = dataset,
                          .by = into};
    const uint32_t n = dataset->n_docs;
    memset(into, 0, sizeof(*into));
    into->consumer = consumer->name;
    into->earlier = consumer->earlier;
    into->n_docs = n;
    rw_rules_text(&consumer->rules, into->rules, sizeof(into->rules));
    RW_TRY(match_trees(&v));
    RW_TRY(find_used(&v));
    RW_TRY(give_categories(&v));
    RW_TRY(RW_ARENA_NEW(ctx, v.arena, v.score[0], n));
    RW_TRY(RW_ARENA_NEW(ctx, v.arena, v.score[1], n));
    RW_TRY(score_docs(&v));
    return count_pairs(&v);
}
