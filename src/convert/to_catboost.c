/* CatBoost's model, as save_model(format="json") writes it.
 *
 * A numerical feature is an entry of float_features with ascending borders. A categorical one is an
 * entry of categorical_features. The entry's `values` are those for which a test asks whether a
 * document has this one category. `ctrs` are statistics of categories, with borders. A test, which
 * several nodes may use, is identified by a number (split_index). Numbers count all borders of
 * numerical features, then all values, then all borders of statistics.
 *
 * A float goes right if it is greater than the border. NaN is minus infinity (AsFalse), infinity
 * (AsTrue), or compared, which is false (AsIs, and without has_nans). This is a direction of the
 * entry, not of the node. A feature whose nodes disagree about NaN therefore becomes two entries
 * with one feature_index. Trees are "oblivious_trees" (one split per level, with the root's last)
 * or "trees" (nested nodes). The former are written if all trees have this form, and CatBoost
 * scores them faster. Leaves are doubles. They are added in the order of the trees, the sum is
 * scaled, and the bias is added. For blocks of documents, four oblivious trees are added up first.
 *
 * A category is identified by the hash of its word; features_info.cat_features_hash has the words.
 * It goes right if it equals the value. A split that lists several categories would need a chain of
 * such tests, with a copy of the branch for each. It is written as one test of a statistic instead.
 * `Buckets` counts for each category its documents of each class. The written table has one class
 * for each listed set: 1 document if the set lists the category, else 0. The statistic (count + 0)
 * / (all counts + 1) is then above 0 for listed categories. It is 0 for others, and for categories
 * outside the table. The time to read a row of the table grows with the number of classes. A
 * categorical feature therefore becomes several entries with at most RW_CATBOOST_CLASSES sets each.
 * A missing value is the empty text. */

#include "convert/convert.h"

enum {
    MOST_LEVELS = 16,  /* of symmetric trees, as in CatBoost's training */
    MOST_LEFT = 65534, /* most nodes in a left branch: the offset to the right child has 16 bits */
    MOST_BUCKETS = 65536 /* most lists of borders or values that CatBoost can number */
};

/* A category that some test of its column lists. */
struct word {
    uint32_t column, hash;
    uint32_t category; /* as in nodes; or MISSING */
};
/* A test. */
struct split {
    const struct rw_ens_node *node; /* the first node with this test */
    uint32_t entry;    /* feature_index of its entry; numerical and categorical entries are counted
                          separately */
    uint32_t class_of; /* for a test of a set: its class in the entry's statistic */
};
struct writing {
    const struct rw_ensemble *ensemble;
    /* Each test once: comparisons of floats, tests for one category, tests for a set. Each kind is
     * sorted by column. The index is CatBoost's split_index. */
    struct split *split;
    size_t n_floats, n_singles, n_sets;
    uint32_t *column_of; /* [n_entries] of a categorical entry; a column may have several */
    uint32_t n_entries;
    struct word *word; /* [n_words] listed by tests, by column and hash */
    uint32_t n_words;
    struct rw_arena *arena; /* owns all arrays */
};

/* ---- categories ---- */

#define MISSING UINT32_MAX

static int lists_missing(const struct rw_ens_node *node)
{
    return node->nan == RW_NAN_RIGHT;
}

static const char *word_of(const struct rw_ens_categories *of, uint32_t category, char decimal[16])
{
    return category == MISSING ? "" : rw_ens_word(of, category, decimal);
}

static struct word word_in(const struct rw_ensemble *ensemble, uint32_t column, uint32_t category)
{
    char decimal[16];
    const struct rw_ens_categories *of = rw_ens_categories_of(ensemble, column);
    return (struct word){column, rw_catboost_hash(word_of(of, category, decimal)), category};
}

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static enum kind { FLOAT, ONE, SET } kind_of(const struct rw_ens_node *node)
{
    const uint32_t n = node->n_listed + (uint32_t)lists_missing(node);
    return !node->by_category ? FLOAT : n == 1 ? ONE : SET;
}

static int by_question(const void *a, const void *b)
{
    const struct rw_ens_node *x = ((const struct split *)a)->node;
    const struct rw_ens_node *y = ((const struct split *)b)->node;
    const float at[2] = {(float)x->threshold, (float)y->threshold};
    int order = (int)kind_of(x) - (int)kind_of(y);
    order = order ? order : compare(x->column, y->column);
    order = order ? order : lists_missing(x) - lists_missing(y); /* of a float: NaN goes right */
    if (order == 0 && !x->by_category)
        return (at[0] > at[1]) - (at[0] < at[1]);
    order = order ? order : compare(x->n_listed, y->n_listed);
    for (uint32_t i = 0; order == 0 && i < x->n_listed; i++)
        order = compare(x->listed[i], y->listed[i]);
    return order;
}

static int by_word(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    int order = compare(x->column, y->column);
    order = order ? order : compare(x->hash, y->hash);
    return order ? order : compare(x->category, y->category);
}

static int gather_splits(struct rw_ctx *ctx, struct writing *w)
{
    size_t room = 0, n = 0;
    for (int32_t t = 0; t < w->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &w->ensemble->tree[t];
        const int32_t n_splits = rw_ens_n_splits(tree);
        RW_TRY(RW_ARENA_GROW(ctx, w->arena, w->split, room, n + (size_t)n_splits + 1));
        for (int32_t i = 0; i < n_splits; i++)
            w->split[n++] = (struct split){.node = &tree->node[i]};
    }
    n = rw_sort_unique(w->split, n, sizeof(*w->split), by_question);
    for (size_t i = 0; i < n; i++) {
        const enum kind kind = kind_of(w->split[i].node);
        *(kind == FLOAT ? &w->n_floats : kind == ONE ? &w->n_singles : &w->n_sets) += 1;
    }
    return RW_OK;
}

/* Collects the categories that tests list, by column. Each column with a categorical test also gets
 * MISSING. */
static int gather_words(struct rw_ctx *ctx, struct writing *w)
{
    const size_t end = w->n_floats + w->n_singles + w->n_sets;
    size_t room = 0, n = 0;
    for (size_t i = w->n_floats; i < end; i++) {
        const struct rw_ens_node *node = w->split[i].node;
        RW_TRY(RW_ARENA_GROW(ctx, w->arena, w->word, room, n + node->n_listed + 1));
        w->word[n++] = word_in(w->ensemble, node->column, MISSING);
        for (uint32_t k = 0; k < node->n_listed; k++)
            w->word[n++] = word_in(w->ensemble, node->column, node->listed[k]);
    }
    n = rw_sort_unique(w->word, n, sizeof(*w->word), by_word);
    w->n_words = (uint32_t)n;
    for (size_t i = 1; i < n; i++) {
        const struct word *last = &w->word[i - 1];
        const struct rw_ens_categories *of = rw_ens_categories_of(w->ensemble, last->column);
        char text[2][16];
        if (last->column == w->word[i].column && last->hash == w->word[i].hash)
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "feature %u: categories '%.64s' and '%.64s' have the same 32-bit hash, "
                           "by which CatBoost stores them",
                           last->column, word_of(of, last->category, text[0]),
                           word_of(of, w->word[i].category, text[1]));
    }
    return RW_OK;
}

/* Sets the entry of each test: a number per numerical column, even if it becomes two entries, and a
 * number for each RW_CATBOOST_CLASSES sets of a categorical column, at least one. */
static int number_entries(struct rw_ctx *ctx, struct writing *w)
{
    const size_t n = w->n_floats + w->n_singles + w->n_sets;
    /* first: [n_columns] the number of the first entry; n_sets: [n_columns] */
    uint32_t *first, *n_sets, n_float_entries = 0;
    size_t room = 0;
    RW_TRY(RW_ARENA_NEW(ctx, w->arena, first, w->ensemble->n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, w->arena, n_sets, w->ensemble->n_columns));
    for (size_t i = n - w->n_sets; i < n; i++) {
        const uint32_t number = n_sets[w->split[i].node->column]++;
        w->split[i].entry = number / RW_CATBOOST_CLASSES;
        w->split[i].class_of = number % RW_CATBOOST_CLASSES;
    }
    for (uint32_t c = 0; c < w->ensemble->n_columns; c++) {
        const int by_category = rw_ens_categories_of(w->ensemble, c) != NULL;
        first[c] = by_category ? w->n_entries : n_float_entries++;
        for (uint32_t i = 0; by_category && (i == 0 || i < n_sets[c]); i += RW_CATBOOST_CLASSES) {
            RW_TRY(RW_ARENA_GROW(ctx, w->arena, w->column_of, room, (size_t)w->n_entries + 1));
            w->column_of[w->n_entries++] = c;
        }
    }
    for (size_t i = 0; i < n; i++)
        w->split[i].entry += first[w->split[i].node->column];
    return RW_OK;
}

/* Returns 1 if both nodes use the borders, or both use the values, of one entry. */
static int same_bucket_list(const struct rw_ens_node *a, const struct rw_ens_node *b)
{
    return a->by_category == b->by_category && a->column == b->column &&
           (a->by_category || a->nan == b->nan);
}

/* Refuses a model with too many tests. CatBoost divides the borders, or the values, of an entry
 * into buckets of at most RW_CATBOOST_A_BUCKET, and the test of a set takes a bucket of its own. */
static int check_buckets(const struct writing *w, struct rw_put *put)
{
    size_t n = w->n_sets, in_list = 0;
    for (size_t i = 0; i < w->n_floats + w->n_singles; i++) {
        in_list =
            i > 0 && same_bucket_list(w->split[i - 1].node, w->split[i].node) ? in_list + 1 : 0;
        n += in_list % RW_CATBOOST_A_BUCKET == 0;
    }
    if (n > MOST_BUCKETS)
        rw_put_refuse(put,
                      "the splits need %zu buckets, each of up to %d thresholds or categories of "
                      "a feature, or of one set of categories; CatBoost accepts at most %d",
                      n, RW_CATBOOST_A_BUCKET, MOST_BUCKETS);
    return put->status;
}

/* Returns the hash of the single category that a test lists, as an int, as CatBoost writes it. */
static int value_of(const struct writing *w, const struct rw_ens_node *node)
{
    const uint32_t category = lists_missing(node) ? MISSING : node->listed[0];
    return (int)word_in(w->ensemble, node->column, category).hash;
}

static const char *name_of(const struct writing *w, uint32_t column)
{
    return w->ensemble->column_name ? w->ensemble->column_name[column] : "";
}

static void put_entries(const struct writing *w, struct rw_put *put)
{
    const size_t end = w->n_floats + w->n_singles;
    for (uint32_t e = 0, i = (uint32_t)w->n_floats; e < w->n_entries; e++) {
        const uint32_t first = i;
        rw_put_format(put, "%s{\"feature_index\":%u,\"flat_feature_index\":%u,\"feature_id\":%1s",
                      e > 0 ? ",\n" : "\n", e, w->column_of[e], name_of(w, w->column_of[e]));
        for (; i < end && w->split[i].entry == e; i++)
            rw_put_format(put, "%s%d", i > first ? "," : ",\"values\":[",
                          value_of(w, w->split[i].node));
        rw_put_text(put, i > first ? "]}" : "}");
    }
}

void rw_catboost_identifier(int64_t entry, char text[128])
{
    snprintf(text, 128,
             "{\"identifier\":[{\"cat_feature_index\":%lld,\"combination_element\":"
             "\"cat_feature_value\"}],\"type\":\"Buckets\"}",
             (long long)entry);
}

static void put_words(const struct writing *w, struct rw_put *put)
{
    int any = 0;
    rw_put_text(put, ",\n\"cat_features_hash\":[");
    for (uint32_t i = 0; i < w->n_words; i++) {
        const struct word *word = &w->word[i];
        char decimal[16];
        if (word->category == MISSING)
            continue;
        rw_put_format(
            put, "%s{\"hash\":%u,\"value\":%1s}", any++ ? ",\n" : "\n", word->hash,
            word_of(rw_ens_categories_of(w->ensemble, word->column), word->category, decimal));
    }
    rw_put_text(put, "\n]");
}

static void put_tests(const struct writing *w, struct rw_put *put)
{
    const struct split *set = &w->split[w->n_floats + w->n_singles];
    if (w->n_entries == 0)
        return;
    rw_put_text(put, ",\n\"categorical_features\":[");
    put_entries(w, put);
    rw_put_text(put, w->n_sets > 0 ? "\n],\n\"ctrs\":[" : "\n]");
    for (size_t i = 0; i < w->n_sets; i++) {
        char identifier[128];
        rw_catboost_identifier(set[i].entry, identifier);
        rw_put_format(put,
                      "%s{\"identifier\":%1s,\"elements\":[{\"cat_feature_index\":%u,"
                      "\"combination_element\":\"cat_feature_value\"}],\"ctr_type\":\"Buckets\","
                      "\"target_border_idx\":%u,\"prior_numerator\":0,\"prior_denomerator\":1,"
                      "\"shift\":0,\"scale\":1,\"borders\":[0]}",
                      i > 0 ? ",\n" : "\n", identifier, set[i].entry, set[i].class_of);
    }
    rw_put_text(put, w->n_sets > 0 ? "\n]" : "");
    put_words(w, put);
}

/* Writes the table of an entry's statistic: for each category, its key and a count per set. set:
 * [n] the entry's tests of sets. */
static void put_table(const struct writing *w, const struct split *set, size_t n,
                      struct rw_put *put)
{
    const uint32_t column = set->node->column;
    const uint32_t begin = rw_records_under(w->word, sizeof(*w->word), w->n_words, column);
    char identifier[128];
    rw_catboost_identifier(set->entry, identifier);
    rw_put_format(put, "%1s:{\"hash_map\":[", identifier);
    for (uint32_t k = begin; k < w->n_words && w->word[k].column == column; k++) {
        char key[24];
        snprintf(key, sizeof(key), "%llu", (unsigned long long)rw_catboost_key(w->word[k].hash));
        rw_put_format(put, "%s\"%s\"", k > begin ? ",\n" : "\n", key);
        for (size_t i = 0; i < n; i++) {
            const uint32_t category = w->word[k].category;
            const int is_listed = category == MISSING ? lists_missing(set[i].node)
                                                      : rw_ens_lists(set[i].node, category);
            rw_put_text(put, is_listed ? ",1" : ",0");
        }
    }
    rw_put_format(put, "\n],\"hash_stride\":%zu,\"counter_denominator\":0}", n + 1);
}

static void put_tables(const struct writing *w, struct rw_put *put)
{
    const struct split *set = &w->split[w->n_floats + w->n_singles];
    rw_put_text(put, w->n_sets > 0 ? "\"ctr_data\":{" : "");
    for (size_t i = 0, n; i < w->n_sets; i += n) {
        for (n = 1; i + n < w->n_sets && set[i + n].entry == set[i].entry;)
            n++;
        rw_put_text(put, i > 0 ? ",\n" : "\n");
        put_table(w, &set[i], n, put);
    }
    rw_put_text(put, w->n_sets > 0 ? "\n},\n" : "");
}

/* ---- floats ---- */

/* Writes an entry of a column, with those borders of the column from w->split[begin] on that agree
 * about NaN. Returns the index after the last of them. */
static size_t put_float(const struct writing *w, uint32_t column, uint32_t entry, size_t begin,
                        struct rw_put *put)
{
    const struct rw_ens_node *first = begin < w->n_floats ? w->split[begin].node : NULL;
    const int is_used = first && first->column == column;
    size_t i = begin;
    rw_put_format(put,
                  "{\"feature_index\":%u,\"flat_feature_index\":%u,\"feature_id\":%1s,"
                  "\"has_nans\":%s,\"nan_value_treatment\":\"%s\",\"borders\":[",
                  entry, column, name_of(w, column), is_used ? "true" : "false",
                  !is_used                     ? "AsIs"
                  : first->nan == RW_NAN_RIGHT ? "AsTrue"
                                               : "AsFalse");
    for (; is_used && i < w->n_floats && same_bucket_list(w->split[i].node, first); i++)
        rw_put_format(put, "%s%lf", i > begin ? "," : "",
                      (double)(float)w->split[i].node->threshold);
    rw_put_text(put, "]}");
    return i;
}

static void put_features(const struct writing *w, struct rw_put *put)
{
    uint32_t entry = 0;
    size_t at = 0;
    rw_put_text(put, "\"features_info\":{\"float_features\":[");
    for (uint32_t column = 0; column < w->ensemble->n_columns; column++) {
        if (rw_ens_categories_of(w->ensemble, column))
            continue;
        do {
            rw_put_text(put, entry > 0 || at > 0 ? ",\n" : "\n");
            at = put_float(w, column, entry, at, put);
        } while (at < w->n_floats && w->split[at].node->column == column);
        entry++;
    }
    rw_put_text(put, "\n]");
    put_tests(w, put);
    rw_put_text(put, "},\n");
}

/* ---- trees ---- */

static void put_split(const struct writing *w, const struct rw_ens_node *node, struct rw_put *put)
{
    const size_t n_splits = w->n_floats + w->n_singles + w->n_sets;
    const struct split key = {.node = node};
    const struct split *split = bsearch(&key, w->split, n_splits, sizeof(key), by_question);
    const enum kind kind = kind_of(node);
    if (kind == FLOAT)
        rw_put_format(put, "{\"border\":%lf,\"float_feature_index\":%u",
                      (double)(float)node->threshold, split->entry);
    else if (kind == ONE)
        rw_put_format(put, "{\"cat_feature_index\":%u,\"value\":%d", split->entry,
                      value_of(w, node));
    else
        rw_put_format(put, "{\"ctr_target_border_idx\":%u,\"border\":0.0", split->class_of);
    rw_put_format(put, ",\"split_index\":%zu,\"split_type\":\"%s\"}", (size_t)(split - w->split),
                  kind == FLOAT ? "FloatFeature"
                  : kind == ONE ? "OneHotFeature"
                                : "OnlineCtr");
}

static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    if (at->node->left < 0) {
        rw_put_text(put, "{\"value\":");
        rw_catboost_put_double(put, at->node->value);
        rw_put_text(put, ",\"weight\":");
        rw_catboost_put_double(put, at->node->docs);
        rw_put_text(put, "}");
        return;
    }
    rw_put_text(put, "{\"split\":");
    put_split(user, at->node, put);
    rw_put_text(put, ",\"left\":");
}

/* Returns node `number` of a level, counted from the left, or the leaf above it. */
static const struct rw_ens_node *node_at(const struct rw_ens_tree *tree, int level, int32_t number)
{
    const struct rw_ens_node *node = tree->node;
    while (level-- > 0 && node->left >= 0)
        node = &tree->node[number >> level & 1 ? node->right : node->left];
    return node;
}

/* Returns the number of levels if all nodes of a level have one test and all leaves are below the
 * last level; else -1. */
static int symmetric_levels(const struct rw_ens_tree *tree)
{
    int levels = 0;
    while (levels <= MOST_LEVELS && node_at(tree, levels, 0)->left >= 0)
        levels++;
    if (levels > MOST_LEVELS || tree->n_nodes != (2 << levels) - 1)
        return -1;
    for (int level = 0; level < levels; level++) {
        const struct split first = {.node = node_at(tree, level, 0)};
        for (int32_t i = 1; i < 1 << level; i++) {
            const struct split other = {.node = node_at(tree, level, i)};
            if (other.node->left < 0 || by_question(&first, &other) != 0)
                return -1;
        }
    }
    return levels;
}

static int all_symmetric(const struct rw_ensemble *ensemble)
{
    int32_t t = 0;
    while (t < ensemble->n_trees && symmetric_levels(&ensemble->tree[t]) >= 0)
        t++;
    return t == ensemble->n_trees;
}

/* Writes the tests of the levels, with the root's last, and the leaves from left to right. */
static void put_symmetric(const struct writing *w, const struct rw_ens_tree *tree,
                          struct rw_put *put)
{
    const int levels = symmetric_levels(tree);
    rw_put_text(put, "{\"splits\":[");
    for (int level = levels - 1; level >= 0; level--) {
        put_split(w, node_at(tree, level, 0), put);
        rw_put_text(put, level > 0 ? "," : "");
    }
    for (int weights = 0; weights <= 1; weights++) {
        rw_put_text(put, weights ? "],\"leaf_weights\":[" : "],\"leaf_values\":[");
        for (int32_t i = 0; i < 1 << levels; i++) {
            const struct rw_ens_node *leaf = node_at(tree, levels, i);
            rw_put_text(put, i > 0 ? "," : "");
            rw_catboost_put_double(put, weights ? leaf->docs : leaf->value);
        }
    }
    rw_put_text(put, "]}");
}

/* Refuses a tree if a left child has more nodes below it than the offset can skip. */
static int check_left(const struct rw_ens_tree *tree, int32_t t, struct rw_put *put)
{
    int32_t *size = NULL; /* [n_nodes] nodes of each subtree; parents precede children */
    if (tree->n_nodes <= MOST_LEFT)
        return RW_OK;
    put->status = RW_NEW(put->ctx, size, (size_t)tree->n_nodes);
    for (int32_t i = tree->n_nodes - 1; i >= 0 && put->status == RW_OK; i--) {
        const struct rw_ens_node *node = &tree->node[i];
        size[i] = node->left < 0 ? 1 : 1 + size[node->left] + size[node->right];
        if (node->left >= 0 && size[node->left] > MOST_LEFT)
            rw_put_refuse(put,
                          "tree %d, node %d: %d nodes on its left; CatBoost accepts at most %d",
                          t + 1, i, size[node->left], MOST_LEFT);
    }
    rw_mem_free(size);
    return put->status;
}

static int put_trees(const struct writing *w, struct rw_put *put)
{
    /* CatBoost's reader recurses; jansson allows 2,048 levels. */
    static const struct rw_walk walk = {begin_node, ",\"right\":", "}", .deepest = 1000};
    const int symmetric = all_symmetric(w->ensemble);
    rw_put_text(put, symmetric ? "\"oblivious_trees\":[" : "\"trees\":[");
    for (int32_t t = 0; t < w->ensemble->n_trees; t++) {
        rw_put_text(put, t > 0 ? ",\n" : "\n");
        if (symmetric) {
            put_symmetric(w, &w->ensemble->tree[t], put);
            continue;
        }
        RW_TRY(check_left(&w->ensemble->tree[t], t, put));
        RW_TRY(rw_walk_tree(&walk, w->ensemble, t, w, put));
    }
    rw_put_text(put, "\n],\n");
    return put->status;
}

static int write_catboost(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct writing w = {.ensemble = ensemble, .arena = &arena};
    if (ensemble->n_trees == 0) /* CatBoost loads it, but cannot score: "Empty tree range [0, 0)" */
        return rw_put_refuse(put, "the model has no trees; CatBoost cannot represent such a model");
    RW_TRY(gather_splits(put->ctx, &w));
    RW_TRY(gather_words(put->ctx, &w));
    RW_TRY(number_entries(put->ctx, &w));
    RW_TRY(check_buckets(&w, put));
    rw_put_text(put, "{\"model_info\":{},\n");
    put_features(&w, put);
    RW_TRY(put_trees(&w, put));
    put_tables(&w, put);
    rw_put_text(put, "\"scale_and_bias\":[1,[0]]}\n");
    return put->status;
}

/* CatBoost's trees read floats and add leaves in double. Its callers pass a value for every
 * column. */
const struct rw_model_format rw_to_catboost = {
    .name = "catboost",
    .about = "CatBoost's saved model, JSON",
    .consumer = {{.name = "CatBoost",
                  .rules = {.sum = RW_F64,
                            .nan_by_node = 1,
                            .absent = RW_ABSENT_AS_MODEL,
                            .listed_right = 1,
                            .lists_none = 1}}},
    .names = RW_NAMES_GIVEN,
    .name_prefix = "", /* a feature without a name is called by its number */
    .imports = 1,
    .covers = 1,
    .categories = RW_SAYS_WORDS,
    .most_category = RW_MAX_CATEGORY_ID,
    .write = write_catboost,
    .parse = rw_catboost_parse,
};

/* The rest of this file writes numbers: hashes of words, and decimals that CatBoost's reader parses
 * exactly. */

/* ---- hashes ---- */

/* Constants of the hash function, in its authors' order. */
#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)
#define K3 UINT64_C(0xc949d7c7509e6557)

static uint64_t at8(const char *at)
{
    return rw_bits_at(at, 8);
}

/* Rotates a number. by: 1 to 63. */
static uint64_t rotate(uint64_t value, int by)
{
    return value >> by | value << (64 - by);
}

static uint64_t fold(uint64_t value)
{
    return value ^ value >> 47;
}

static uint64_t join(uint64_t low, uint64_t high)
{
    const uint64_t factor = UINT64_C(0x9ddfea08eb382d69);
    const uint64_t first = fold((low ^ high) * factor);
    return fold((high ^ first) * factor) * factor;
}

static uint64_t up_to_16(const char *text, size_t n)
{
    if (n > 8) {
        const uint64_t last = at8(text + n - 8);
        return join(at8(text), rotate(last + n, (int)n)) ^ last;
    }
    if (n >= 4)
        return join(n + (rw_bits_at(text, 4) << 3), rw_bits_at(text + n - 4, 4));
    if (n == 0)
        return K2;
    const uint64_t low = rw_bits_at(text, 1) + (rw_bits_at(text + n / 2, 1) << 8);
    const uint64_t high = n + (rw_bits_at(text + n - 1, 1) << 2);
    return fold(low * K2 ^ high * K3) * K2;
}

static uint64_t up_to_32(const char *text, size_t n)
{
    const uint64_t a = at8(text) * K1, b = at8(text + 8);
    const uint64_t c = at8(text + n - 8) * K2, d = at8(text + n - 16) * K0;
    return join(rotate(a - b, 43) + rotate(c, 30) + d, a + rotate(b ^ K3, 20) - c + n);
}

struct pair {
    uint64_t low, high;
};

/* Mixes 32 bytes and two numbers. */
static struct pair mix_32(const char *text, uint64_t a, uint64_t b)
{
    const uint64_t first = a + at8(text), last = at8(text + 24);
    const uint64_t most = first + at8(text + 8) + at8(text + 16);
    return (struct pair){most + last, rotate(b + first + last, 21) + rotate(most, 44) + first};
}

static struct pair mix_end(uint64_t a, uint64_t second, uint64_t third, uint64_t fourth)
{
    const uint64_t most = a + second + third;
    return (struct pair){most + fourth, rotate(a + fourth, 52) + rotate(most, 31) + rotate(a, 37) +
                                            rotate(a + second, 7)};
}

static uint64_t up_to_64(const char *text, size_t n)
{
    const char *end = text + n;
    const struct pair v = mix_end(at8(text) + (n + at8(end - 16)) * K0, at8(text + 8),
                                  at8(text + 16), at8(text + 24));
    const struct pair w =
        mix_end(at8(text + 16) + at8(end - 32), at8(end - 24), at8(end - 16), at8(end - 8));
    return fold(fold((v.low + w.high) * K2 + (w.low + v.high) * K0) * K0 + v.high) * K2;
}

static uint64_t over_64(const char *text, size_t n)
{
    const char *end = text + n;
    uint64_t x = at8(text), y = at8(end - 16) ^ K1, z = at8(end - 56) ^ K0;
    struct pair v = mix_32(end - 64, n, y), w = mix_32(end - 32, n * K1, K0);
    z += fold(v.high) * K1;
    x = rotate(z + x, 39) * K1;
    y = rotate(y, 33) * K1;
    for (const char *at = text; at < text + (n - 1) / 64 * 64; at += 64) {
        const uint64_t was_z = z;
        x = (rotate(x + y + v.low + at8(at + 16), 37) * K1) ^ w.high;
        y = (rotate(y + v.high + at8(at + 48), 42) * K1) ^ v.low;
        z = x;
        x = rotate(was_z ^ w.low, 33);
        v = mix_32(at, v.high * K1, z + w.low);
        w = mix_32(at + 32, x + w.high, y);
    }
    return join(join(v.low, w.low) + fold(y) * K1 + z, join(v.high, w.high) + x);
}

/* CityHash64, version 1.0 (Pike and Alakuijala, 2011). */
uint32_t rw_catboost_hash(const char *word)
{
    const size_t n = strlen(word);
    return (uint32_t)(n <= 16   ? up_to_16(word, n)
                      : n <= 32 ? up_to_32(word, n)
                      : n <= 64 ? up_to_64(word, n)
                                : over_64(word, n));
}

/* Returns the factor by which CatBoost multiplies a hash, read as an int, to make a key in the
 * table of a statistic of one feature. */
static uint64_t key_factor(void)
{
    const uint64_t once = UINT64_C(0x4906ba494954cb65);
    return once * once;
}

uint64_t rw_catboost_key(uint32_t hash)
{
    return key_factor() * (uint64_t)(int64_t)(int32_t)hash;
}

/* The factor is odd, so it has an inverse modulo 2^64. Each step doubles the number of correct
 * bits. */
int rw_catboost_hash_of_key(uint64_t key, uint32_t *hash)
{
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - key_factor() * inverse;
    *hash = (uint32_t)(key * inverse);
    return rw_catboost_key(*hash) == key;
}

/* ---- decimals ---- */

/* Decimals for CatBoost's JSON reader, rapidjson without full precision. It reads the digits as one
 * double and multiplies or divides it by a power of ten. These two roundings change one in eight of
 * the shortest decimals by a unit in the last place. Other decimals of the same double may be read
 * exactly: those with 17 to 19 digits within half a unit, or with zeros after them, which use other
 * powers. About one float in 15,000 has no such decimal. */
enum {
    MOST_DIGITS = 17, /* most digits that the reader accepts in a decimal with a point */
    MOST_ZEROS = 24   /* most zeros that the search appends */
};

static double right_reader(const char *text)
{
    double value;
    return rw_is_number(text, strlen(text), &value) ? value : NAN;
}

/* Returns digits x 10^exponent, computed as by that reader. */
static double scaled(double digits, int exponent)
{
    char power[16];
    if (exponent < -308) { /* denormal numbers need two steps */
        digits /= 1e308;
        exponent += 308;
    }
    snprintf(power, sizeof(power), "1e%d", abs(exponent));
    return exponent < 0 ? digits / right_reader(power) : digits * right_reader(power);
}

/* Returns the double that CatBoost's reader makes of a decimal, NaN for more digits than it
 * accepts. Digits form a whole number up to a limit (64 bits with the sign, 2^53 after the point).
 * Further digits form a double, with a rounding for each. */
static double their_reader(const char *text, int is_negative)
{
    uint64_t whole = 0, limit = is_negative ? INT64_MAX / 10 : UINT64_MAX / 10;
    double digits = 0;
    int n = 0, n_after = 0, is_after = 0, is_double = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '.') {
            limit = UINT64_C(1) << 53;
            is_after = 1;
            continue;
        }
        n += n > 0 || *text != '0';
        n_after += is_after;
        is_double |= whole >= limit;
        if (is_double)
            digits = digits * 10 + (double)(*text - '0');
        else
            digits = (double)(whole = whole * 10 + (uint64_t)(*text - '0'));
    }
    if (is_after && n > MOST_DIGITS)
        return NAN;
    return scaled(digits, (*text ? (int)strtol(text + 1, NULL, 10) : 0) - n_after);
}

/* Searches for a decimal of n digits and n_zeros zeros, without a point, that both readers parse as
 * `value`. It tries numbers of n digits around the nearest one. Returns 1 if it found one. */
static int find_digits(double value, int is_negative, int n, int n_zeros, char text[64])
{
    char near[48]; /* d.ddde-xx */
    snprintf(near, sizeof(near), "%.*e", n - 1, value);
    near[1] = near[0]; /* overwrites the point */
    const uint64_t digits = strtoull(near + 1, NULL, 10);
    const int exponent = (int)strtol(strchr(near, 'e') + 1, NULL, 10) - (n - 1);
    const uint64_t step = n == 17 ? 1 : n == 18 ? 8 : 64;
    for (uint64_t i = 0; i < 48; i++) {
        const uint64_t away = (i + 1) / 2 * step;
        const uint64_t candidate = i % 2 ? digits - away : digits + away;
        const int length = snprintf(text, 32, "%llu", (unsigned long long)candidate);
        memset(text + length, '0', (size_t)n_zeros);
        snprintf(text + length + n_zeros, 16, "e%d", exponent - n_zeros);
        if (their_reader(text, is_negative) == value && right_reader(text) == value)
            return 1;
    }
    return 0;
}

void rw_catboost_put_double(struct rw_put *put, double value)
{
    char shortest[48], text[64];
    const double magnitude = fabs(value);
    const int is_negative = signbit(value) != 0;
    const int n = rw_number_write_double(magnitude, shortest);
    shortest[n] = 0;
    if (!strpbrk(shortest, ".e"))
        memcpy(shortest + n, ".0", 3);
    int is_found = 0;
    rw_put_text(put, is_negative ? "-" : "");
    if (their_reader(shortest, is_negative) == magnitude) {
        rw_put_text(put, shortest);
        return;
    }
    for (int digits = 17; digits <= 19 && !is_found; digits++)
        is_found = find_digits(magnitude, is_negative, digits, 0, text);
    for (int n_zeros = 1; n_zeros <= MOST_ZEROS && !is_found; n_zeros++)
        is_found = find_digits(magnitude, is_negative, 19, n_zeros, text);
    rw_put_text(put, is_found ? text : shortest);
}
