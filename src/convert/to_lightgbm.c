/* LightGBM's text model (version 4; 2 and 3 are also read), and at the end of this file the JSON
 * that Vespa reads. The text has a header of key=value lines, a block per tree, and "end of trees".
 * Thresholds are doubles, and `value <= threshold` goes left. In decision_type, bit 0 means
 * categorical, and bit 1 means that missing values go left. Bits 2 and 3 define the missing
 * values: none (NaN is read as 0), zero and NaN, or NaN alone. A child c < 0 is leaf ~c. Leaves
 * include shrinkage. Before a row is scored, its values within 1e-35 of 0 are dropped, which makes
 * them 0.
 *
 * A categorical split's threshold is an index k. Its set is the elements of cat_threshold from
 * index cat_boundaries[k] up to, but without, cat_boundaries[k + 1]. Each has 32 bits, one bit per
 * category from 0 on. Categories with a set bit go left. All others go right, as do missing values.
 * The last line, pandas_categorical, has a list of words for each categorical column of a data
 * frame. Categories are indexes of this list, and an unknown word is missing. */

#include "convert/convert.h"

/* Bits of decision_type. */
enum { CATEGORICAL = 1, DEFAULT_LEFT = 2, MISSING_ZERO = 4, MISSING_NAN = 8 };

/* ---- writing ---- */

static void put_header(const struct rw_ensemble *e, const double *low, const double *high,
                       const size_t *tree_bytes, struct rw_put *put)
{
    rw_put_format(put,
                  "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
                  "max_feature_idx=%u\nobjective=lambdarank\nfeature_names=",
                  e->n_columns - 1);
    for (uint32_t i = 0; i < e->n_columns; i++) {
        rw_put_text(put, i ? " " : "");
        if (e->column_name)
            rw_put_text(put, e->column_name[i]);
        else
            rw_put_format(put, "Column_%u", i);
    }
    for (uint32_t i = 0; i < e->n_columns; i++) {
        rw_put_text(put, i ? " " : "\nfeature_infos=");
        /* The range of values in training is unknown, but it contains the thresholds. Categories
         * are listed. */
        const struct rw_ens_categories *of = rw_ens_categories_of(e, i);
        const int is_used = low[i] <= high[i];
        if (!e->column_had[i])
            rw_put_text(put, "none");
        else if (!of || of->n == 0)
            rw_put_format(put, "[%lf:%lf]", is_used ? low[i] : 0.0, is_used ? high[i] : 0.0);
        for (uint32_t k = 0; e->column_had[i] && of && k < of->n; k++)
            rw_put_format(put, "%s%u", k ? ":" : "", of->number[k]);
    }
    rw_put_text(put, "\ntree_sizes=");
    for (int32_t t = 0; t < e->n_trees; t++)
        rw_put_format(put, "%s%zu", t ? " " : "", tree_bytes[t]);
    rw_put_text(put, "\n\n");
}

/* Writes the documents of each node to count [n_nodes]. LightGBM's counts are integers. If a leaf's
 * count is fractional, or the root's exceeds MOST, all counts are scaled so that the root's becomes
 * MOST, because only their ratios matter. A leaf has at least 1, and a split the sum of its
 * leaves. */
static void count_docs(const struct rw_ens_tree *tree, int32_t *count)
{
    enum { MOST = INT32_MAX / 4 }; /* of the root, up to rounding */
    int is_whole = tree->node[0].docs <= MOST;
    for (int32_t i = 0; i < tree->n_nodes; i++)
        is_whole &= tree->node[i].left >= 0 || tree->node[i].docs == floor(tree->node[i].docs);
    const double scale = is_whole ? 1.0 : MOST / tree->node[0].docs;
    for (int32_t i = tree->n_nodes - 1; i >= 0; i--) {
        const struct rw_ens_node *node = &tree->node[i];
        const double docs = node->docs * scale;
        if (node->left >= 0)
            count[i] = count[node->left] + count[node->right];
        else
            count[i] = docs < 1.5 ? 1 : (int32_t)(docs + 0.5);
    }
}

/* The lists of a tree, in order. A tree of a single leaf has the lists of leaves only. */
static const struct list {
    const char *key;
    enum { COLUMN, GAIN_OF, CUT, TYPE, LEFT_OF, RIGHT_OF, LEAF_OF, HESSIAN, COUNT } what;
    /* of_leaves: 1: an element per leaf, 0: per split. is_real: 1: reals, except that the CUT of a
     * categorical split is the number of its set. */
    int of_leaves, is_real;
} tree_lists[] = {
    {"split_feature=", COLUMN, 0, 0}, {"split_gain=", GAIN_OF, 0, 1},
    {"threshold=", CUT, 0, 1},        {"decision_type=", TYPE, 0, 0},
    {"left_child=", LEFT_OF, 0, 0},   {"right_child=", RIGHT_OF, 0, 0},
    {"leaf_value=", LEAF_OF, 1, 1},   {"leaf_weight=", HESSIAN, 1, 1},
    {"leaf_count=", COUNT, 1, 0},     {"internal_weight=", HESSIAN, 0, 1},
    {"internal_count=", COUNT, 0, 0},
};

static void put_list(const struct rw_ens_tree *tree, const int32_t *count, const struct list *list,
                     struct rw_put *put)
{
    const int32_t n_splits = rw_ens_n_splits(tree), begin = list->of_leaves ? n_splits : 0;
    const int32_t end = list->of_leaves ? tree->n_nodes : n_splits;
    int32_t n_sets = 0;
    rw_put_text(put, list->key);
    for (int32_t i = begin; i < end; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        const int32_t child = list->what == LEFT_OF ? node->left : node->right;
        const double value[] = {
            [COLUMN] = node->column,
            [GAIN_OF] = node->gain,
            [CUT] = node->by_category ? n_sets++ : node->threshold,
            [TYPE] = MISSING_NAN | (node->by_category          ? CATEGORICAL
                                    : node->nan == RW_NAN_LEFT ? DEFAULT_LEFT
                                                               : 0),
            [LEFT_OF] = child < n_splits ? child : ~(child - n_splits),
            [RIGHT_OF] = child < n_splits ? child : ~(child - n_splits),
            [LEAF_OF] = node->value * tree->weight,
            [HESSIAN] = node->hessian,
            [COUNT] = count[i],
        };
        rw_put_text(put, i > begin ? " " : "");
        if (list->is_real && !(list->what == CUT && node->by_category))
            rw_put_format(put, "%lf", value[list->what]);
        else
            rw_put_format(put, "%d", (int)value[list->what]);
    }
    rw_put_text(put, "\n");
}

/* Returns how many 32-bit numbers hold the set of a split; 0 for a numerical split. */
static uint32_t words_of(const struct rw_ens_node *node)
{
    return node->by_category ? node->listed[node->n_listed - 1] / 32 + 1 : 0;
}

static void put_sets(const struct rw_ens_tree *tree, struct rw_put *put)
{
    uint64_t n = 0;
    rw_put_text(put, "cat_boundaries=0");
    for (int32_t i = 0; i < rw_ens_n_splits(tree); i++) {
        n += words_of(&tree->node[i]);
        if (tree->node[i].by_category)
            rw_put_format(put, " %u", (uint32_t)n);
    }
    if (n > INT32_MAX)
        rw_put_refuse(put, "too many sets of categories for LightGBM to number");
    const char *before = "\ncat_threshold=";
    for (int32_t i = 0; i < rw_ens_n_splits(tree); i++) {
        const struct rw_ens_node *node = &tree->node[i];
        for (uint32_t w = 0, k = 0; w < words_of(node); w++) {
            uint32_t bits = 0;
            for (; k < node->n_listed && node->listed[k] / 32 == w; k++)
                bits |= (uint32_t)1 << node->listed[k] % 32;
            rw_put_format(put, "%s%u", before, bits);
            before = " ";
        }
    }
    rw_put_text(put, "\n");
}

/* Writes a tree. number: from 0. Lowered trees have splits before leaves, as in LightGBM. */
static int put_tree(const struct rw_ens_tree *tree, int32_t number, struct rw_put *put)
{
    int32_t n_sets = 0;
    RW_FREED int32_t *count = NULL; /* [n_nodes] */
    for (int32_t i = 0; i < rw_ens_n_splits(tree); i++)
        n_sets += tree->node[i].by_category;
    RW_TRY(RW_NEW(put->ctx, count, (size_t)tree->n_nodes));
    count_docs(tree, count);
    rw_put_format(put, "Tree=%d\nnum_leaves=%d\nnum_cat=%d\n", number, (tree->n_nodes + 1) / 2,
                  n_sets);
    for (size_t i = 0; i < sizeof(tree_lists) / sizeof(tree_lists[0]); i++) {
        if (tree->n_nodes > 1 || tree_lists[i].of_leaves)
            put_list(tree, count, &tree_lists[i], put);
    }
    if (n_sets > 0)
        put_sets(tree, put);
    rw_put_text(put, "is_linear=0\nshrinkage=1\n\n\n");
    return put->status;
}

/* Finds the lowest and the highest threshold of each column. low, high: [n_columns], written; for a
 * column without thresholds, low is above high. */
static void threshold_ranges(const struct rw_ensemble *e, double *low, double *high)
{
    for (uint32_t i = 0; i < e->n_columns; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (int32_t t = 0; t < e->n_trees; t++) {
        for (int32_t i = 0; i < rw_ens_n_splits(&e->tree[t]); i++) {
            const struct rw_ens_node *node = &e->tree[t].node[i];
            if (node->by_category)
                continue;
            low[node->column] = fmin(low[node->column], node->threshold);
            high[node->column] = fmax(high[node->column], node->threshold);
        }
    }
}

/* Writes the line pandas_categorical: a list for each column of words. Without words it writes
 * null, as LightGBM does, because some readers (lleaves) expect the line. */
static void put_words(const struct rw_ensemble *e, struct rw_put *put)
{
    const char *before = "\npandas_categorical:[";
    for (uint32_t i = 0; i < e->n_columns; i++) {
        const struct rw_ens_categories *of = rw_ens_categories_of(e, i);
        if (!of || !of->word)
            continue;
        rw_put_text(put, before);
        for (uint32_t k = 0; k < of->n; k++)
            rw_put_format(put, "%s%1s", k ? ", " : "[", of->word[k]);
        rw_put_text(put, "]");
        before = ", ";
    }
    rw_put_text(put, *before == ',' ? "]\n" : "\npandas_categorical:null\n");
}

static int write_lightgbm(const struct rw_ensemble *e, struct rw_put *put)
{
    RW_RELEASED(rw_put_release)
    struct rw_put trees = {.ctx = put->ctx}; /* their sizes precede the trees */
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    size_t *tree_bytes;
    double *low, *high;
    if (e->n_columns == 0)
        return rw_put_refuse(put,
                             "the model has no features; 'lightgbm' cannot represent such a model");
    RW_TRY(RW_ARENA_NEW(put->ctx, &arena, tree_bytes, (size_t)e->n_trees));
    RW_TRY(RW_ARENA_NEW(put->ctx, &arena, low, e->n_columns));
    RW_TRY(RW_ARENA_NEW(put->ctx, &arena, high, e->n_columns));
    threshold_ranges(e, low, high);
    for (int32_t t = 0; t < e->n_trees; t++) {
        const size_t before = trees.n;
        RW_TRY(put_tree(&e->tree[t], t, &trees));
        tree_bytes[t] = trees.n - before;
    }
    put_header(e, low, high, tree_bytes, put);
    rw_put_bytes(put, trees.text, trees.n);
    rw_put_text(put, "end of trees\n\n");
    put_words(e, put);
    return put->status;
}

/* ---- reading ---- */

struct slice {
    const char *text; /* NULL: missing */
    size_t n;
};
enum { MOST_KEYS = 14 };
struct reading {
    struct rw_source *source;
    struct slice rest; /* the unread part of the file */
    int32_t number;    /* of the tree, from 1; 0 for the header */
    char place[24];    /* room for the result of place() */
    /* The keys of the current block, ended by NULL, and their values. */
    const char *const *key;
    struct slice value[MOST_KEYS];
    double *list[MOST_KEYS]; /* by key: the numbers that read_list has read; NULL: not read */
    struct rw_arena arena;   /* owns these lists */
    int64_t n_sets;          /* num_cat: sets of categories in the current tree */
    const json_t *words;     /* lists of pandas_categorical, or NULL */
};

static int begins(struct slice line, const char *with)
{
    return line.n >= strlen(with) && memcmp(line.text, with, strlen(with)) == 0;
}

/* Takes the part up to `end`, or all the rest. Returns 0 if nothing is left. */
static int next_part(struct slice *from, char end, struct slice *part)
{
    *part = (struct slice){NULL, 0};
    if (from->n == 0)
        return 0; /* from->text may be NULL */
    const char *stop = memchr(from->text, end, from->n);
    *part = (struct slice){from->text, stop ? (size_t)(stop - from->text) : from->n};
    from->text += part->n + (stop != NULL);
    from->n -= part->n + (stop != NULL);
    return 1;
}

static int next_line(struct reading *r, struct slice *line)
{
    const int is_one = next_part(&r->rest, '\n', line);
    while (line->n > 0 && (line->text[line->n - 1] == '\r' || line->text[line->n - 1] == ' '))
        line->n--;
    return is_one;
}

/* Takes the next word between blanks. Returns 0 at the end. */
static int next_word(struct slice *list, struct slice *word)
{
    int is_one;
    do
        is_one = next_part(list, ' ', word);
    while (is_one && word->n == 0);
    return is_one;
}

/* Returns the part of the file that messages name: the header or a tree. */
static const char *place(struct reading *r)
{
    if (r->number == 0)
        return "header";
    snprintf(r->place, sizeof(r->place), "tree %d", r->number);
    return r->place;
}

/* Reads key=value lines with these keys, and skips others, up to the line that begins a tree or
 * ends all trees. That line is not consumed. */
static int read_block(struct reading *r, const char *const *keys)
{
    struct slice line;
    r->key = keys;
    memset(r->value, 0, sizeof(r->value));
    memset(r->list, 0, sizeof(r->list));
    rw_arena_free(&r->arena);
    for (struct slice before = r->rest; next_line(r, &line); before = r->rest) {
        if (begins(line, "Tree=") || begins(line, "end of trees")) {
            r->rest = before;
            return RW_OK;
        }
        if (begins(line, "average_output"))
            return rw_refuse(r->source,
                             "unsupported 'average_output': a random forest averages its trees");
        const char *equals = memchr(line.text, '=', line.n);
        if (!equals)
            continue;
        const struct slice key = {line.text, (size_t)(equals - line.text)};
        for (int k = 0; keys[k]; k++) {
            if (!rw_is_among(key.text, key.n, keys[k]))
                continue;
            if (r->value[k].text)
                return rw_refuse(r->source, "%s: '%s' appears twice", place(r), keys[k]);
            r->value[k] = (struct slice){equals + 1, line.n - key.n - 1};
        }
    }
    return rw_refuse(r->source, "no 'end of trees': the file is truncated");
}

/* Reads the value of key k, n finite numbers, and also stores it in r->list. If least <= most, they
 * must be whole and in this range. Each number needs at least two bytes, so a forged count cannot
 * cause a large allocation. */
static const double *read_list(struct reading *r, int k, int64_t n, int64_t least, int64_t most)
{
    struct slice list = r->value[k], word = {NULL, 0};
    double *to = NULL;
    int is_short = (uint64_t)n > list.n / 2 + 1;
    if (!list.text)
        rw_refuse(r->source, "%s: missing '%s'", place(r), r->key[k]);
    else if (!is_short)
        rw_keep(r->source, RW_ARENA_NEW(r->source->ctx, &r->arena, to, (size_t)n));
    r->list[k] = to;
    for (int64_t i = 0; i < n && !is_short && r->source->status == RW_OK; i++) {
        is_short = !next_word(&list, &word);
        if (!is_short && !rw_is_number(word.text, word.n, &to[i]))
            rw_refuse(r->source, "%s: '%s': '%.*s' is not a finite number", place(r), r->key[k],
                      (int)(word.n < 40 ? word.n : 40), word.text);
        else if (least <= most &&
                 !(to[i] >= (double)least && to[i] <= (double)most && to[i] == floor(to[i])))
            rw_refuse(r->source, "%s: '%s': expected whole numbers from %lld to %lld", place(r),
                      r->key[k], (long long)least, (long long)most);
    }
    if (is_short || next_word(&list, &word))
        rw_refuse(r->source, "%s: '%s' has too %s numbers", place(r), r->key[k],
                  is_short ? "few" : "many");
    return to;
}

static int64_t one_whole(struct reading *r, int k, int64_t least, int64_t most)
{
    const double *list = read_list(r, k, 1, least, most);
    return r->source->status == RW_OK ? (int64_t)list[0] : 0;
}

enum { N_CLASS, N_PER_ROUND, MAX_FEATURE, OBJECTIVE, NAMES, INFOS, VERSION };

/* Returns 1 if the objective's prediction is the sum of the leaves. */
static int objective_fits(struct slice objective)
{
    static const char plain[] = "lambdarank rank_xendcg regression regression_l1 huber fair "
                                "quantile mape custom";
    struct slice word;
    if (!next_word(&objective, &word))
        return 1;
    int fits = rw_is_among(word.text, word.n, plain);
    while (next_word(&objective, &word))
        fits &= !rw_is_among(word.text, word.n, "sqrt");
    return fits;
}

/* Reads the words of a categorical column from list number `list`: texts, or whole numbers. */
static void read_words(struct reading *r, size_t list, uint32_t column)
{
    json_t *from = json_array_get(r->words, list);
    const size_t n = json_array_size(from);
    const char **word = NULL;
    if (!json_is_array(from) || n > UINT32_MAX)
        rw_refuse(r->source, "'pandas_categorical': expected a list of lists");
    rw_keep(r->source, RW_ARENA_NEW(r->source->ctx, &r->arena, word, n));
    for (size_t k = 0; k < n && r->source->status == RW_OK; k++) {
        const json_t *one = json_array_get(from, k);
        const long long number = json_integer_value(one);
        if (json_is_integer(one) && json_array_set_new(from, k, json_sprintf("%lld", number)) != 0)
            rw_source_no_memory(r->source);
        word[k] = rw_json_plain(json_array_get(from, k));
        if (!word[k])
            rw_refuse(r->source, "'pandas_categorical': expected strings and whole numbers");
    }
    rw_add_categories(r->source, column, NULL, word, n);
}

/* Adds the categories of categorical columns, and their words if the file has them. is_one:
 * [n_columns] 1: the column's info is a list of categories; the array is changed. */
static void read_categories(struct reading *r, unsigned char *is_one)
{
    /* Marks columns with a list of words. If the file has such lists, these are all categorical
     * columns of LightGBM, but only columns of words of an exported model, which is known here. */
    enum { BY_WORDS = 2 };
    const struct rw_ensemble *written = r->source->names;
    const uint32_t n_columns = r->source->out->n_columns;
    uint32_t n = 0;
    for (uint32_t i = 0; r->words && i < n_columns; i++) {
        const struct rw_ens_categories *of = written ? rw_ens_categories_of(written, i) : NULL;
        if (is_one[i] && (!of || of->word)) {
            is_one[i] = BY_WORDS;
            n++;
        }
    }
    if (n > 0 && json_array_size(r->words) != n)
        rw_refuse(r->source,
                  "'pandas_categorical' has %zu lists, but %u features are categorical, so lists "
                  "cannot be matched to features",
                  json_array_size(r->words), n);
    for (uint32_t i = 0, list = 0; i < n_columns && r->source->status == RW_OK; i++) {
        if (is_one[i] == BY_WORDS)
            read_words(r, list++, i);
        else if (is_one[i])
            rw_add_categories(r->source, i, NULL, NULL, 0);
    }
}

static void read_columns(struct reading *r, int64_t n)
{
    struct slice names = r->value[NAMES], infos = r->value[INFOS], word;
    struct rw_source *source = r->source;
    struct rw_ensemble *out = source->out;
    unsigned char *is_one = NULL; /* [n] 1: categorical */
    if (rw_set_columns(source, (uint64_t)n) < 0 ||
        rw_keep(source, RW_ARENA_NEW(source->ctx, &r->arena, is_one, (size_t)n)) < 0)
        return;
    for (int64_t i = 0; i < n && source->status == RW_OK; i++) {
        char name[1024];
        if (!next_word(&names, &word))
            rw_refuse(source, "'feature_names' has %lld names; expected %lld", (long long)i,
                      (long long)n);
        if (word.n >= sizeof(name))
            rw_refuse(source, "'feature_names': a name with %zu bytes is too long", word.n);
        snprintf(name, sizeof(name), "%.*s", (int)(word.n < sizeof(name) ? word.n : 0),
                 word.n ? word.text : "");
        if (strlen(name) != word.n)
            rw_refuse(source, "'feature_names': a name has a 0 byte");
        rw_add_name(source, (uint32_t)i, name);
        if (!next_word(&infos, &word))
            rw_refuse(source, "'feature_infos' has %lld entries; expected %lld", (long long)i,
                      (long long)n);
        out->column_had[i] = !rw_is_among(word.text, word.n, "none");
        is_one[i] = out->column_had[i] && !begins(word, "[");
    }
    if (next_word(&names, &word) || next_word(&infos, &word))
        rw_refuse(source, "'feature_names' or 'feature_infos' has more than %lld entries",
                  (long long)n);
    if (source->status == RW_OK)
        read_categories(r, is_one);
}

static void read_header(struct reading *r)
{
    static const char *const keys[] = {
        "num_class",     "num_tree_per_iteration", "max_feature_idx", "objective",
        "feature_names", "feature_infos",          "version",         NULL};
    struct slice line;
    if (!next_line(r, &line) || !rw_is_among(line.text, line.n, "tree"))
        rw_refuse(r->source, "line 1: expected 'tree'");
    if (r->source->status < 0 || read_block(r, keys) < 0)
        return;
    const struct slice version = r->value[VERSION], objective = r->value[OBJECTIVE];
    if (!rw_is_among(version.text, version.n, "v2 v3 v4"))
        rw_refuse(r->source, "expected version=v2, v3 or v4");
    const int64_t n_class = one_whole(r, N_CLASS, 0, INT32_MAX);
    if (n_class > 1)
        rw_refuse(r->source, "unsupported num_class=%lld: expected one class", (long long)n_class);
    const int64_t n_outputs =
        r->value[N_PER_ROUND].text ? one_whole(r, N_PER_ROUND, 0, INT32_MAX) : 1;
    if (n_outputs != 1)
        rw_refuse(r->source, "unsupported num_tree_per_iteration=%lld: expected one output",
                  (long long)n_outputs);
    if (!objective_fits(objective))
        rw_refuse(r->source,
                  "unsupported objective '%.*s': its prediction is not the sum of the leaves",
                  (int)(objective.n < 60 ? objective.n : 60), objective.text);
    read_columns(r, one_whole(r, MAX_FEATURE, 0, RW_MAX_FEATURE) + 1);
}

/* The keys of a tree, as indexes in `keys` of read_tree. */
enum { LEAVES, N_SETS, FEATURE, THRESHOLD, DECISION, LEFT, RIGHT, VALUE, LINEAR };
enum { GAIN = LINEAR + 1, BOUNDARIES, BITS, LEAF_WEIGHT, LEAF_COUNT };

/* Reads where sets begin, and their bits. */
static void read_sets(struct reading *r)
{
    const double *boundary = read_list(r, BOUNDARIES, r->n_sets + 1, 0, INT32_MAX);
    for (int64_t i = 0; i <= r->n_sets && r->source->status == RW_OK; i++) {
        if (boundary[i] < (i ? boundary[i - 1] : 0) || (i == 0 && boundary[i] > 0))
            rw_refuse(r->source, "%s: '%s': expected numbers that ascend from 0", place(r),
                      r->key[BOUNDARIES]);
    }
    if (r->source->status == RW_OK)
        read_list(r, BITS, (int64_t)boundary[r->n_sets], 0, UINT32_MAX);
}

/* Reads a node's set, whose number is the node's threshold. */
static void read_set(struct reading *r, struct rw_ens_node *node)
{
    uint32_t *category = NULL, n = 0;
    size_t room = 0;
    if (node->threshold < 0 || node->threshold >= (double)r->n_sets ||
        node->threshold != floor(node->threshold)) {
        rw_refuse(r->source, "tree %d: a categorical split by set %g, but num_cat is %lld",
                  r->number, node->threshold, (long long)r->n_sets);
        return;
    }
    const double *boundary = r->list[BOUNDARIES] + (size_t)node->threshold;
    const uint32_t begin = (uint32_t)boundary[0], n_bits = 32 * ((uint32_t)boundary[1] - begin);
    for (uint32_t k = 0; k < n_bits && r->source->status == RW_OK; k++) {
        if (!((uint32_t)r->list[BITS][begin + k / 32] >> k % 32 & 1) ||
            rw_keep(r->source,
                    RW_ARENA_GROW(r->source->ctx, &r->arena, category, room, (size_t)n + 1)) < 0)
            continue;
        category[n++] = k;
    }
    rw_add_set(r->source, node, category, n); /* also if the column's info is no list */
}

/* Returns the node index of a child, which is >= 0 for a split and < 0 for leaf ~child. Splits
 * precede leaves. */
static int32_t child_of(double child, int64_t n_leaves)
{
    return (int32_t)(child >= 0 ? child : (double)n_leaves - 2 - child);
}

static void read_split(struct reading *r, int64_t i, int64_t n_leaves, struct rw_ens_node *node)
{
    const int type = r->list[DECISION] ? (int)r->list[DECISION][i] : 0;
    const int left = (type & DEFAULT_LEFT) != 0;
    if ((type & 12) == 12)
        rw_refuse(r->source, "tree %d: an unknown type of missing values (decision_type %d)",
                  r->number, type);
    node->column = (uint32_t)r->list[FEATURE][i];
    node->threshold = r->list[THRESHOLD][i];
    node->nan = (uint8_t)(type & MISSING_NAN    ? (left ? RW_NAN_LEFT : RW_NAN_RIGHT)
                          : type & MISSING_ZERO ? (left ? RW_NAN_ZERO_LEFT : RW_NAN_ZERO_RIGHT)
                                                : RW_NAN_ZERO);
    node->left = child_of(r->list[LEFT][i], n_leaves);
    node->right = child_of(r->list[RIGHT][i], n_leaves);
    node->gain = r->list[GAIN] ? r->list[GAIN][i] : 0;
    if (type & CATEGORICAL && r->source->status == RW_OK)
        read_set(r, node);
}

static void read_tree(struct reading *r)
{
    static const char *const keys[] = {
        "num_leaves",     "num_cat",       "split_feature", "threshold",  "decision_type",
        "left_child",     "right_child",   "leaf_value",    "is_linear",  "split_gain",
        "cat_boundaries", "cat_threshold", "leaf_weight",   "leaf_count", NULL};
    struct slice line;
    next_line(r, &line); /* the line Tree=... */
    if (read_block(r, keys) < 0)
        return;
    const int64_t n_leaves = one_whole(r, LEAVES, 1, INT32_MAX / 2), n_splits = n_leaves - 1;
    const int64_t n_covers = r->value[LEAF_COUNT].text && n_splits > 0 ? n_leaves : 0;
    r->n_sets = one_whole(r, N_SETS, 0, INT32_MAX);
    if (r->value[LINEAR].text && one_whole(r, LINEAR, 0, 1))
        rw_refuse(r->source, "tree %d: unsupported linear leaves", r->number);
    const struct {
        int key, optional;
        int64_t n, least, most;
    } lists[] = {
        {VALUE, 0, n_leaves, 1, 0},
        {FEATURE, 0, n_splits, 0, (int64_t)r->source->out->n_columns - 1},
        {THRESHOLD, 0, n_splits, 1, 0},
        {DECISION, 1, n_splits, 0, 127},
        {LEFT, 0, n_splits, -n_leaves, n_leaves - 2},
        {RIGHT, 0, n_splits, -n_leaves, n_leaves - 2},
        {GAIN, 1, n_splits, 1, 0},
        {LEAF_COUNT, 1, n_covers, 1, 0},
        {LEAF_WEIGHT, 1, n_covers, 1, 0},
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && r->source->status == RW_OK; i++) {
        if (lists[i].n > 0 && (!lists[i].optional || r->value[lists[i].key].text))
            read_list(r, lists[i].key, lists[i].n, lists[i].least, lists[i].most);
    }
    if (r->n_sets > 0)
        read_sets(r);
    struct rw_ens_tree *tree = rw_add_tree(r->source, (int32_t)(2 * n_leaves - 1));
    for (int64_t i = 0; tree && i < n_splits && r->source->status == RW_OK; i++)
        read_split(r, i, n_leaves, &tree->node[i]);
    for (int64_t i = 0; tree && i < n_leaves; i++) {
        struct rw_ens_node *leaf = &tree->node[n_splits + i];
        leaf->value = r->list[VALUE][i];
        leaf->has_cover = n_covers > 0;
        leaf->docs = n_covers > 0 ? r->list[LEAF_COUNT][i] : 0;
        leaf->hessian = n_covers > 0 && r->list[LEAF_WEIGHT] ? r->list[LEAF_WEIGHT][i] : 0;
    }
}

/* Returns the array of lists in the last line pandas_categorical, which the caller owns. Returns
 * NULL if there is no such line or it has no list. */
static json_t *find_words(struct rw_source *source)
{
    static const char key[] = "\npandas_categorical:";
    const char *found = NULL;
    for (const char *at = source->text; (at = strstr(at, key)) != NULL; at++)
        found = at;
    if (!found)
        return NULL;
    found += sizeof(key) - 1;
    const char *stop = strchr(found, '\n');
    const size_t n = stop ? (size_t)(stop - found) : strlen(found);
    json_t *words = rw_json_load_part(source, found, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!json_is_array(words) && !json_is_null(words))
        rw_refuse(source, "'pandas_categorical': expected a list, or null");
    if (words && json_array_size(words) > 0)
        return words;
    json_decref(words);
    return NULL;
}

static int parse_lightgbm(struct rw_source *source)
{
    RW_SCOPED(json_decref) json_t *words = find_words(source);
    struct reading r = {.source = source, .rest = {source->text, source->n}, .words = words};
    read_header(&r);
    while (source->status == RW_OK && r.rest.n > 0 && *r.rest.text == 'T') {
        r.number++;
        read_tree(&r);
    }
    rw_arena_free(&r.arena);
    return source->status;
}

const struct rw_model_format rw_to_lightgbm = {
    .name = "lightgbm",
    .about = "LightGBM's text model, version 4",
    .consumer = {{.name = "LightGBM",
                  .rules = {RW_DOUBLE_RULES, .threshold = RW_F64, .absent = RW_ABSENT_AS_MODEL,
                            .band_is_zero = 1, .missing_unlisted = 1, .unknown_missing = 1}}},
    .names = RW_NAMES_GIVEN,
    .name_prefix = "Column_",
    .name_forbids = " \",:[]{}",
    .imports = 1,
    .covers = 1,
    .categories = RW_SAYS_WORDS,
    .most_category = 1048575, /* a set has a bit for each number up to its last */
    .write = write_lightgbm,
    .parse = parse_lightgbm,
};

/* ---- Vespa ---- */

/* LightGBM's dump_model JSON, for Vespa only. Vespa's importer reads a numerical split as `feature
 * < threshold`, or as `!(feature >= threshold)` if missing values go left, although LightGBM means
 * `<=`. Thresholds are therefore the next higher float. The importer requires
 * pandas_categorical. */
static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct rw_ens_node *node = at->node;
    (void)user;
    if (node->left < 0)
        rw_put_format(put, "{\"leaf_index\":%d,\"leaf_value\":%lf}", at->number, node->value);
    else
        rw_put_format(put,
                      "{\"split_index\":%d,\"split_feature\":%u,\"split_gain\":%lf,"
                      "\"threshold\":%lf,\"decision_type\":\"<=\",\"default_left\":%s,"
                      "\"missing_type\":\"NaN\",\"left_child\":",
                      at->number, node->column, node->gain, node->threshold,
                      node->nan == RW_NAN_LEFT ? "true" : "false");
}

static int write_vespa(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Jackson allows 1,000 levels, and trees start at the fourth. */
    static const struct rw_walk walk = {begin_node, ",\"right_child\":", "}", .deepest = 980};
    if (ensemble->n_trees == 0)
        return rw_put_refuse(put, "the model has no trees; Vespa cannot represent such a model");
    rw_put_format(put,
                  "{\"name\":\"tree\",\"version\":\"v4\",\"num_class\":1,"
                  "\"num_tree_per_iteration\":1,\"label_index\":0,\"max_feature_idx\":%d,"
                  "\"objective\":\"lambdarank\",\"average_output\":false,\"feature_names\":[",
                  (int)ensemble->n_columns - 1);
    rw_put_names(put, ensemble, "", "");
    rw_put_text(put, "],\"monotone_constraints\":[],\"feature_infos\":{},\"tree_info\":[\n");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        rw_put_format(put,
                      "{\"tree_index\":%d,\"num_leaves\":%d,\"num_cat\":0,\"shrinkage\":1,"
                      "\"tree_structure\":",
                      t, (ensemble->tree[t].n_nodes + 1) / 2);
        RW_TRY(rw_walk_tree(&walk, ensemble, t, NULL, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? "},\n" : "}\n");
    }
    rw_put_text(put, "],\"pandas_categorical\":[]}\n");
    return put->status;
}

static void read_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                      const void *child[2], void *user)
{
    (void)user;
    if (!json_object_get(from, "left_child")) {
        node->value = rw_json_number(source, from, "leaf_value");
        return;
    }
    node->column = (uint32_t)rw_json_integer(source, from, "split_feature", 0, RW_MAX_FEATURE);
    const char *decision = rw_json_text(source, from, "decision_type");
    if (strcmp(decision, "<=") != 0)
        rw_refuse(source, "unsupported decision_type '%.20s': a categorical split", decision);
    node->threshold = rw_json_number(source, from, "threshold");
    node->nan = rw_json_integer(source, from, "default_left", 0, 1) ? RW_NAN_LEFT : RW_NAN_RIGHT;
    node->less = 1;
    child[0] = rw_json_object(source, from, "left_child");
    child[1] = rw_json_object(source, from, "right_child");
}

static int parse_vespa(struct rw_source *source)
{
    RW_SCOPED(json_decref) json_t *root = rw_json_load(source, 0);
    const json_t *trees = rw_json_array(source, root, "tree_info", -1);
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(trees); i++) {
        const json_t *tree = rw_json_object(source, json_array_get(trees, i), "tree_structure");
        rw_read_tree(source, tree, read_node, NULL);
    }
    return source->status;
}

const struct rw_model_format rw_to_vespa = {
    .name = "vespa",
    .about = "LightGBM's JSON as Vespa's importer reads it; for Vespa only",
    .consumer = {{.name = "Vespa",
                  .rules = {RW_DOUBLE_RULES, .threshold = RW_F64, .less = 1,
                            .absent = RW_ABSENT_NAN}}},
    .names = RW_NAMES_ALL,
    .write = write_vespa,
    .parse = parse_vespa,
};
