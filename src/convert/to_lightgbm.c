/* LightGBM's text model (version 4; 2 and 3 are read too). A header of key=value lines, then a
 * block a tree, then "end of trees". Doubles, `value <= threshold` left; decision_type: bit 0
 * categorical, bit 1 missing goes left, bits 2 and 3 what is missing: nothing (NaN is read as 0),
 * zero, or NaN. Child c < 0 is leaf ~c. Leaves include shrinkage. Of a row, values within 1e-35 of
 * 0 are dropped before it is scored, which makes them 0. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"

enum { CATEGORICAL = 1, DEFAULT_LEFT = 2, MISSING_ZERO = 4, MISSING_NAN = 8 };

/* ------------------------------------------------------------------ out */

static void put_header(const struct rw_ensemble *e, const double *low, const double *high,
                       const struct rw_put *blocks, struct rw_put *put)
{
    rw_put_format(put,
                  "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
                  "max_feature_idx=%u\nobjective=lambdarank\nfeature_names=",
                  e->n_columns - 1);
    for (uint32_t i = 0; i < e->n_columns; i++) {
        if (e->column_name)
            rw_put_text(put, e->column_name[i]);
        else
            rw_put_format(put, "Column_%u", i);
        rw_put_text(put, i + 1 < e->n_columns ? " " : "\nfeature_infos=");
    }
    for (uint32_t i = 0; i < e->n_columns; i++) {
        /* the values in training are not known, but thresholds lie among them */
        const int is_used = low[i] <= high[i];
        if (e->column_had[i])
            rw_put_format(put, "[%lf:%lf]", is_used ? low[i] : 0.0, is_used ? high[i] : 0.0);
        else
            rw_put_text(put, "none");
        rw_put_text(put, i + 1 < e->n_columns ? " " : "\n");
    }
    rw_put_text(put, "tree_sizes=");
    for (int32_t t = 0; t < e->n_trees; t++)
        rw_put_format(put, "%s%zu", t ? " " : "", blocks[t].n);
    rw_put_text(put, "\n\n");
}

static void put_list(const struct rw_ens_tree *tree, const char *key, char kind, struct rw_put *put)
{
    const int32_t n_splits = rw_ens_n_splits(tree);
    const int32_t begin = kind == 'v' ? n_splits : 0;
    const int32_t end = kind == 'v' ? tree->n_nodes : n_splits;
    rw_put_text(put, key);
    for (int32_t i = begin; i < end; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        const int32_t child = kind == 'l' ? node->left : node->right;
        rw_put_text(put, i > begin ? " " : "");
        if (kind == 'f')
            rw_put_format(put, "%u", node->column);
        else if (kind == 'd')
            rw_put_format(put, "%d", MISSING_NAN | (node->nan == RW_NAN_LEFT ? DEFAULT_LEFT : 0));
        else if (kind == 'l' || kind == 'r')
            rw_put_format(put, "%d", child < n_splits ? child : ~(child - n_splits));
        else
            rw_put_format(put, "%lf",
                          kind == 'g'   ? node->gain
                          : kind == 't' ? node->threshold
                                        : node->value * tree->weight);
    }
    rw_put_text(put, "\n");
}

/* The lowering puts splits before leaves, which is LightGBM's order too. */
static void put_tree(const struct rw_ens_tree *tree, int32_t number, struct rw_put *put)
{
    rw_put_format(put, "Tree=%d\nnum_leaves=%d\nnum_cat=0\n", number, (tree->n_nodes + 1) / 2);
    if (tree->n_nodes > 1) {
        put_list(tree, "split_feature=", 'f', put);
        put_list(tree, "split_gain=", 'g', put);
        put_list(tree, "threshold=", 't', put);
        put_list(tree, "decision_type=", 'd', put);
        put_list(tree, "left_child=", 'l', put);
        put_list(tree, "right_child=", 'r', put);
    }
    put_list(tree, "leaf_value=", 'v', put);
    rw_put_text(put, "is_linear=0\nshrinkage=1\n\n\n");
}

static void threshold_ranges(const struct rw_ensemble *e, double *low, double *high)
{
    for (uint32_t i = 0; i < e->n_columns; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (int32_t t = 0; t < e->n_trees; t++) {
        for (int32_t i = 0; i < rw_ens_n_splits(&e->tree[t]); i++) {
            const struct rw_ens_node *node = &e->tree[t].node[i];
            low[node->column] = fmin(low[node->column], node->threshold);
            high[node->column] = fmax(high[node->column], node->threshold);
        }
    }
}

static int write_lightgbm(const struct rw_ensemble *e, struct rw_put *put)
{
    struct rw_put *block = NULL; /* [n_trees] their sizes stand before them */
    double *low = NULL, *high = NULL;
    int status = RW_OK;
    if (e->n_columns == 0)
        return rw_put_refuse(put, "a model without features has no 'lightgbm' form");
    RW_TRY_OUT(RW_NEW(put->ctx, block, (size_t)e->n_trees));
    RW_TRY_OUT(RW_NEW(put->ctx, low, e->n_columns));
    RW_TRY_OUT(RW_NEW(put->ctx, high, e->n_columns));
    threshold_ranges(e, low, high);
    for (int32_t t = 0; t < e->n_trees; t++) {
        block[t].ctx = put->ctx;
        put_tree(&e->tree[t], t, &block[t]);
        RW_TRY_OUT(block[t].status);
    }
    put_header(e, low, high, block, put);
    for (int32_t t = 0; t < e->n_trees; t++)
        rw_put_bytes(put, block[t].text, block[t].n);
    rw_put_text(put, "end of trees\n\n");
    status = put->status;
out:
    for (int32_t t = 0; block && t < e->n_trees; t++)
        rw_mem_free(block[t].text);
    rw_mem_free(block);
    rw_mem_free(low);
    rw_mem_free(high);
    return status;
}

/* ------------------------------------------------------------------ in */

struct slice {
    const char *text; /* NULL: not there */
    size_t n;
};
enum { MOST_KEYS = 10 };
struct reading {
    struct rw_source *source;
    const char *at, *end;
    int32_t number; /* of the tree, from 1; 0: the header */
    /* of the block at hand: keys, ended by NULL, and what of their values has not been read */
    const char *const *key;
    struct slice value[MOST_KEYS];
};

static int is_word(struct slice slice, const char *word)
{
    return slice.n == strlen(word) && memcmp(slice.text, word, slice.n) == 0;
}

static int begins(struct slice line, const char *with)
{
    return line.n >= strlen(with) && memcmp(line.text, with, strlen(with)) == 0;
}

static int next_line(struct reading *r, struct slice *line)
{
    if (r->at >= r->end)
        return 0;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    *line = (struct slice){r->at, (size_t)((stop ? stop : r->end) - r->at)};
    r->at = stop ? stop + 1 : r->end;
    while (line->n > 0 && (line->text[line->n - 1] == '\r' || line->text[line->n - 1] == ' '))
        line->n--;
    return 1;
}

/* Reads key=value lines up to one that begins a tree or ends them all, which is left. */
static int read_block(struct reading *r, const char *const *keys)
{
    struct slice line;
    r->key = keys;
    memset(r->value, 0, sizeof(r->value));
    for (const char *before = r->at; next_line(r, &line); before = r->at) {
        if (begins(line, "Tree=") || begins(line, "end of trees")) {
            r->at = before;
            return RW_OK;
        }
        if (begins(line, "average_output"))
            return rw_refuse(r->source, "'average_output': a random forest's mean of trees");
        const char *equals = memchr(line.text, '=', line.n);
        if (!equals)
            continue;
        const struct slice key = {line.text, (size_t)(equals - line.text)};
        for (int k = 0; keys[k]; k++) {
            if (!is_word(key, keys[k]))
                continue;
            if (r->value[k].text)
                return rw_refuse(r->source, "tree %d: '%s' appears twice", r->number, keys[k]);
            r->value[k] = (struct slice){equals + 1, line.n - key.n - 1};
        }
    }
    return rw_refuse(r->source, "no 'end of trees': the file is truncated");
}

/* The next blank-separated word; 0 at the end. */
static int next_word(struct slice *list, struct slice *word)
{
    while (list->n > 0 && *list->text == ' ') {
        list->text++;
        list->n--;
    }
    *word = (struct slice){NULL, 0};
    if (list->n == 0)
        return 0; /* list->text may be NULL */
    const char *stop = memchr(list->text, ' ', list->n);
    *word = (struct slice){list->text, stop ? (size_t)(stop - list->text) : list->n};
    list->text += word->n;
    list->n -= word->n;
    return 1;
}

static double next_number(struct reading *r, int k)
{
    struct slice word;
    double out = 0;
    if (!next_word(&r->value[k], &word))
        rw_refuse(r->source, "tree %d: '%s' has too few numbers", r->number, r->key[k]);
    else if (!rw_is_number(word.text, word.n, &out))
        rw_refuse(r->source, "tree %d: '%s': '%.*s' is not a finite number", r->number, r->key[k],
                  (int)(word.n < 40 ? word.n : 40), word.text);
    return out;
}

static int64_t next_whole(struct reading *r, int k, int64_t least, int64_t most)
{
    const double number = next_number(r, k);
    if (number >= (double)least && number <= (double)most && number == floor(number))
        return (int64_t)number;
    rw_refuse(r->source, "tree %d: '%s': expected whole numbers from %lld to %lld", r->number,
              r->key[k], (long long)least, (long long)most);
    return 0;
}

static void at_end(struct reading *r, int k)
{
    struct slice word;
    if (next_word(&r->value[k], &word))
        rw_refuse(r->source, "tree %d: '%s' has too many numbers", r->number, r->key[k]);
}

static int64_t one_whole(struct reading *r, int k, int64_t least, int64_t most)
{
    if (!r->value[k].text)
        rw_refuse(r->source, "%s%d: no '%s'", r->number ? "tree " : "header ", r->number,
                  r->key[k]);
    const int64_t number = next_whole(r, k, least, most);
    at_end(r, k);
    return number;
}

enum { N_CLASS, N_PER_ROUND, MAX_FEATURE, OBJECTIVE, NAMES, INFOS, VERSION };

/* Those whose prediction is the sum of the leaves. */
static int objective_fits(struct slice objective)
{
    static const char *const plain[] = {"lambdarank",    "rank_xendcg", "regression",
                                        "regression_l1", "huber",       "fair",
                                        "quantile",      "mape",        "custom"};
    struct slice word;
    if (!next_word(&objective, &word))
        return 1;
    int fits = 0;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        fits |= is_word(word, plain[i]);
    while (next_word(&objective, &word))
        fits &= !is_word(word, "sqrt");
    return fits;
}

static void read_columns(struct reading *r, int64_t n, struct rw_ensemble *out)
{
    struct slice names = r->value[NAMES], infos = r->value[INFOS], word;
    struct rw_source *source = r->source;
    if (rw_set_columns(source, out, (uint64_t)n) < 0)
        return;
    for (int64_t i = 0; i < n && source->status == RW_OK; i++) {
        char name[1024];
        if (!next_word(&names, &word))
            rw_refuse(source, "'feature_names' has %lld names; expected %lld", (long long)i,
                      (long long)n);
        if (word.n >= sizeof(name))
            rw_refuse(source, "a feature name of %zu bytes", word.n);
        snprintf(name, sizeof(name), "%.*s", (int)(word.n < sizeof(name) ? word.n : 0),
                 word.n ? word.text : "");
        if (strlen(name) != word.n)
            rw_refuse(source, "a feature name with a 0 byte");
        rw_keep(source, rw_ensemble_name(source->ctx, out, (uint32_t)i, name));
        if (!next_word(&infos, &word))
            rw_refuse(source, "'feature_infos' has %lld entries; expected %lld", (long long)i,
                      (long long)n);
        out->column_had[i] = !is_word(word, "none");
    }
    if (next_word(&names, &word) || next_word(&infos, &word))
        rw_refuse(source, "more feature names or infos than features (%lld)", (long long)n);
}

static void read_header(struct reading *r, struct rw_ensemble *out)
{
    static const char *const keys[] = {
        "num_class",     "num_tree_per_iteration", "max_feature_idx", "objective",
        "feature_names", "feature_infos",          "version",         NULL};
    struct slice line;
    if (!next_line(r, &line) || !is_word(line, "tree"))
        rw_refuse(r->source, "line 1: expected 'tree'");
    if (r->source->status < 0 || read_block(r, keys) < 0)
        return;
    const struct slice version = r->value[VERSION], objective = r->value[OBJECTIVE];
    if (!is_word(version, "v2") && !is_word(version, "v3") && !is_word(version, "v4"))
        rw_refuse(r->source, "expected version=v2, v3 or v4");
    const int64_t n_class = one_whole(r, N_CLASS, 0, INT32_MAX);
    if (n_class > 1)
        rw_refuse(r->source, "num_class=%lld: several classes", (long long)n_class);
    const int64_t n_outputs =
        r->value[N_PER_ROUND].text ? one_whole(r, N_PER_ROUND, 0, INT32_MAX) : 1;
    if (n_outputs != 1)
        rw_refuse(r->source, "num_tree_per_iteration=%lld: several outputs", (long long)n_outputs);
    if (!objective_fits(objective))
        rw_refuse(r->source, "objective '%.*s', whose prediction is not the sum of the leaves",
                  (int)(objective.n < 60 ? objective.n : 60), objective.text);
    read_columns(r, one_whole(r, MAX_FEATURE, 0, RW_MAX_FEATURE) + 1, out);
}

enum { LEAVES, CATEGORIES, FEATURE, THRESHOLD, DECISION, LEFT, RIGHT, VALUE, LINEAR, GAIN };

static uint8_t read_decision(struct reading *r, int k)
{
    const int64_t type = r->value[k].text ? next_whole(r, k, 0, 127) : 0;
    const int left = (type & DEFAULT_LEFT) != 0;
    if (type & CATEGORICAL)
        rw_refuse(r->source, "tree %d: a categorical split", r->number);
    if ((type & 12) == 12)
        rw_refuse(r->source, "tree %d: an unknown kind of missing (decision_type %d)", r->number,
                  (int)type);
    return (uint8_t)(type & MISSING_NAN    ? (left ? RW_NAN_LEFT : RW_NAN_RIGHT)
                     : type & MISSING_ZERO ? (left ? RW_NAN_ZERO_LEFT : RW_NAN_ZERO_RIGHT)
                                           : RW_NAN_ZERO);
}

static int32_t read_child(struct reading *r, int k, int64_t n_leaves)
{
    const int64_t child = next_whole(r, k, -n_leaves, n_leaves - 2);
    return (int32_t)(child >= 0 ? child : n_leaves - 1 + ~child);
}

static void read_nodes(struct reading *r, int64_t n_leaves, uint32_t n_columns,
                       struct rw_ens_tree *tree)
{
    for (int64_t i = 0; i < n_leaves - 1 && r->source->status == RW_OK; i++) {
        struct rw_ens_node *node = &tree->node[i];
        node->column = (uint32_t)next_whole(r, FEATURE, 0, (int64_t)n_columns - 1);
        node->threshold = next_number(r, THRESHOLD);
        node->nan = read_decision(r, DECISION);
        node->left = read_child(r, LEFT, n_leaves);
        node->right = read_child(r, RIGHT, n_leaves);
        if (r->value[GAIN].text)
            node->gain = next_number(r, GAIN);
    }
    for (int64_t i = 0; i < n_leaves && r->source->status == RW_OK; i++) {
        struct rw_ens_node *leaf = &tree->node[n_leaves - 1 + i];
        leaf->left = leaf->right = -1;
        leaf->value = next_number(r, VALUE);
    }
    for (int i = FEATURE; i <= GAIN; i++) {
        if (i != LINEAR && r->value[i].text && (n_leaves > 1 || i == VALUE))
            at_end(r, i);
    }
}

static void read_tree(struct reading *r, struct rw_ensemble *out)
{
    static const char *const keys[] = {
        "num_leaves", "num_cat",     "split_feature", "threshold", "decision_type",
        "left_child", "right_child", "leaf_value",    "is_linear", "split_gain",
        NULL};
    struct slice line;
    next_line(r, &line); /* Tree=... */
    if (read_block(r, keys) < 0)
        return;
    const int64_t n_leaves = one_whole(r, LEAVES, 1, INT32_MAX / 2);
    const int64_t n_categories = one_whole(r, CATEGORIES, 0, INT32_MAX);
    if (n_categories > 0)
        rw_refuse(r->source, "tree %d: %lld categorical splits", r->number,
                  (long long)n_categories);
    if (r->value[LINEAR].text && one_whole(r, LINEAR, 0, 1))
        rw_refuse(r->source, "tree %d: linear leaves", r->number);
    for (int i = FEATURE; i <= VALUE; i++) {
        if (!r->value[i].text && i != DECISION && (n_leaves > 1 || i == VALUE))
            rw_refuse(r->source, "tree %d: no '%s'", r->number, r->key[i]);
    }
    /* A leaf takes two bytes at least, so that a made-up count allocates nothing. */
    if ((uint64_t)n_leaves > r->value[VALUE].n / 2 + 1)
        rw_refuse(r->source, "tree %d: num_leaves=%lld, but fewer leaf values", r->number,
                  (long long)n_leaves);
    struct rw_ens_tree *tree = rw_add_tree(r->source, out, (int32_t)(2 * n_leaves - 1));
    if (tree)
        read_nodes(r, n_leaves, out->n_columns, tree);
}

static int parse_lightgbm(struct rw_source *source, struct rw_ensemble *out)
{
    struct reading r = {.source = source, .at = source->text, .end = source->text + source->n};
    read_header(&r, out);
    while (source->status == RW_OK && r.at < r.end && *r.at == 'T') {
        r.number++;
        read_tree(&r, out);
    }
    return source->status;
}

const struct rw_model_format rw_to_lightgbm = {
    .name = "lightgbm",
    .about = "LightGBM's text model, version 4",
    .consumer = {{.name = "LightGBM",
                  .rules = {.value = RW_F64,
                            .threshold = RW_F64,
                            .sum = RW_F64,
                            .nan_by_node = 1,
                            .absent = RW_ABSENT_AS_MODEL,
                            .band_is_zero = 1}}},
    .names = RW_NAMES_GIVEN,
    .name_prefix = "Column_",
    .name_forbids = " \",:[]{}",
    .imports = 1,
    .write = write_lightgbm,
    .parse = parse_lightgbm,
};
