/* LightGBM's text model (version 4; 2 and 3 are read too). A header of key=value lines, then a
 * block a tree, then "end of trees". Doubles, `value <= threshold` left; decision_type: bit 0
 * categorical, bit 1 missing goes left, bits 2 and 3 what is missing: nothing (NaN is read as 0),
 * zero, or NaN. Child c < 0 is leaf ~c. Leaves include shrinkage. Of a row, values within 1e-35 of
 * 0 are dropped before it is scored, which makes them 0. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
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
        if (e->column_had[i]) { /* the values in training are not known, but cuts lie among them */
            rw_put_text(put, "[");
            rw_put_double(put, low[i] <= high[i] ? low[i] : 0.0);
            rw_put_text(put, ":");
            rw_put_double(put, low[i] <= high[i] ? high[i] : 0.0);
            rw_put_text(put, "]");
        } else {
            rw_put_text(put, "none");
        }
        rw_put_text(put, i + 1 < e->n_columns ? " " : "\n");
    }
    rw_put_text(put, "tree_sizes=");
    for (int32_t t = 0; t < e->n_trees; t++)
        rw_put_format(put, "%s%zu", t ? " " : "", blocks[t].n);
    rw_put_text(put, "\n\n");
}

static void put_list(const struct rw_ens_tree *tree, const char *key, char kind, struct rw_put *put)
{
    const int32_t n_splits = tree->n_nodes / 2;
    const int32_t begin = kind == 'v' ? n_splits : 0;
    const int32_t end = kind == 'v' ? tree->n_nodes : n_splits;
    rw_put_text(put, key);
    for (int32_t i = begin; i < end; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        if (i > begin)
            rw_put_text(put, " ");
        const int32_t child = kind == 'l' ? node->left : node->right;
        switch (kind) {
        case 'f':
            rw_put_format(put, "%u", node->column);
            break;
        case 'g':
            rw_put_double(put, node->gain);
            break;
        case 't':
            rw_put_double(put, node->threshold);
            break;
        case 'd':
            rw_put_format(put, "%d", MISSING_NAN | (node->nan == RW_NAN_LEFT ? DEFAULT_LEFT : 0));
            break;
        case 'v':
            rw_put_double(put, node->value * tree->weight);
            break;
        default:
            rw_put_format(put, "%d", child < n_splits ? child : ~(child - n_splits));
        }
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

static void cut_ranges(const struct rw_ensemble *e, double *low, double *high)
{
    for (uint32_t i = 0; i < e->n_columns; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (int32_t t = 0; t < e->n_trees; t++) {
        for (int32_t i = 0; i < e->tree[t].n_nodes / 2; i++) {
            const struct rw_ens_node *node = &e->tree[t].node[i];
            low[node->column] = fmin(low[node->column], node->threshold);
            high[node->column] = fmax(high[node->column], node->threshold);
        }
    }
}

static int write_lightgbm(struct rw_ctx *ctx, const struct rw_ensemble *e, struct rw_put *put)
{
    struct rw_put *block = NULL; /* [n_trees] their sizes stand before them */
    double *low = NULL, *high = NULL;
    int status = RW_OK;
    if (e->n_columns == 0)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "a model without features has no 'lightgbm' form");
    RW_TRY_OUT(RW_NEW(ctx, block, (size_t)e->n_trees));
    RW_TRY_OUT(RW_NEW(ctx, low, e->n_columns));
    RW_TRY_OUT(RW_NEW(ctx, high, e->n_columns));
    cut_ranges(e, low, high);
    for (int32_t t = 0; t < e->n_trees; t++) {
        block[t].ctx = ctx;
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
struct reading {
    struct rw_ctx *ctx;
    const struct rw_source *source;
    const char *at, *end;
    int32_t number; /* of the tree, from 1; 0: the header */
};
struct entry {
    const char *key;
    struct slice value;
};

static int next_line(struct reading *r, struct slice *line)
{
    if (r->at >= r->end)
        return 0;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    line->text = r->at;
    line->n = (size_t)((stop ? stop : r->end) - r->at);
    r->at = stop ? stop + 1 : r->end;
    while (line->n > 0 && (line->text[line->n - 1] == '\r' || line->text[line->n - 1] == ' '))
        line->n--;
    return 1;
}

static int begins(struct slice line, const char *with)
{
    return line.n >= strlen(with) && memcmp(line.text, with, strlen(with)) == 0;
}

/* Reads key=value lines up to one that begins a tree or ends them all, which is left. */
static int read_block(struct reading *r, struct entry *entries)
{
    struct slice line;
    for (const char *before = r->at; next_line(r, &line); before = r->at) {
        if (begins(line, "Tree=") || begins(line, "end of trees")) {
            r->at = before;
            return RW_OK;
        }
        if (begins(line, "average_output"))
            return rw_refuse(r->ctx, r->source,
                             "'average_output': a random forest's mean of trees");
        const char *equals = memchr(line.text, '=', line.n);
        for (struct entry *e = entries; equals && e->key; e++) {
            if (strlen(e->key) != (size_t)(equals - line.text) || !begins(line, e->key))
                continue;
            if (e->value.text)
                return rw_refuse(r->ctx, r->source, "tree %d: '%s' stands twice", r->number,
                                 e->key);
            e->value = (struct slice){equals + 1, line.n - (size_t)(equals - line.text) - 1};
        }
    }
    return rw_refuse(r->ctx, r->source, "no 'end of trees': the file is cut short");
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

static int next_number(struct reading *r, const char *key, struct slice *list, double *out)
{
    struct slice word;
    int clamped = 0;
    if (!next_word(list, &word))
        return rw_refuse(r->ctx, r->source, "tree %d: '%s' has too few numbers", r->number, key);
    const char *stop = rw_number_parse_double(word.text, word.text + word.n, out, &clamped);
    if (stop != word.text + word.n || clamped)
        return rw_refuse(r->ctx, r->source, "tree %d: '%s': '%.*s' is not a finite number",
                         r->number, key, (int)(word.n < 40 ? word.n : 40), word.text);
    return RW_OK;
}

static int next_whole(struct reading *r, const char *key, struct slice *list, int64_t least,
                      int64_t most, int64_t *out)
{
    double number;
    RW_TRY(next_number(r, key, list, &number));
    if (!(number >= (double)least && number <= (double)most) || number != floor(number))
        return rw_refuse(r->ctx, r->source,
                         "tree %d: '%s': expected whole numbers from %lld to %lld", r->number, key,
                         (long long)least, (long long)most);
    *out = (int64_t)number;
    return RW_OK;
}

static int at_end(struct reading *r, const char *key, struct slice list)
{
    struct slice word;
    return next_word(&list, &word)
               ? rw_refuse(r->ctx, r->source, "tree %d: '%s' has too many numbers", r->number, key)
               : RW_OK;
}

static int one_whole(struct reading *r, const struct entry *entry, int64_t least, int64_t most,
                     int64_t *out)
{
    struct slice list = entry->value;
    if (!list.text)
        return rw_refuse(r->ctx, r->source, "%s%d: no '%s'", r->number ? "tree " : "header ",
                         r->number, entry->key);
    RW_TRY(next_whole(r, entry->key, &list, least, most, out));
    return at_end(r, entry->key, list);
}

enum { N_CLASS, N_PER_ROUND, MAX_FEATURE, OBJECTIVE, NAMES, INFOS, VERSION };

/* Those whose prediction is the sum of the leaves. */
static int objective_fits(struct slice objective)
{
    static const char *const plain[] = {"lambdarank",    "rank_xendcg", "regression",
                                        "regression_l1", "huber",       "fair",
                                        "quantile",      "mape",        "custom"};
    struct slice word, next;
    if (!objective.text)
        return 1;
    if (!next_word(&objective, &word))
        return 1;
    int fits = 0;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        fits |= word.n == strlen(plain[i]) && memcmp(word.text, plain[i], word.n) == 0;
    while (next_word(&objective, &next))
        fits &= !(next.n == 4 && memcmp(next.text, "sqrt", 4) == 0);
    return fits;
}

static int read_columns(struct reading *r, const struct entry *h, int64_t n,
                        struct rw_ensemble *out)
{
    struct slice names = h[NAMES].value, infos = h[INFOS].value, word;
    RW_TRY(rw_ensemble_set_columns(r->ctx, out, (uint64_t)n));
    for (int64_t i = 0; i < n; i++) {
        char name[1024];
        if (!next_word(&names, &word))
            return rw_refuse(r->ctx, r->source, "'feature_names' has %lld names; expected %lld",
                             (long long)i, (long long)n);
        if (word.n >= sizeof(name))
            return rw_refuse(r->ctx, r->source, "a feature name of %zu bytes", word.n);
        memcpy(name, word.text, word.n);
        name[word.n] = 0;
        if (strlen(name) != word.n)
            return rw_refuse(r->ctx, r->source, "a feature name with a 0 byte");
        RW_TRY(rw_ensemble_name(r->ctx, out, (uint32_t)i, name));
        if (!next_word(&infos, &word))
            return rw_refuse(r->ctx, r->source, "'feature_infos' has %lld entries; expected %lld",
                             (long long)i, (long long)n);
        out->column_had[i] = !(word.n == 4 && memcmp(word.text, "none", 4) == 0);
    }
    if (next_word(&names, &word) || next_word(&infos, &word))
        return rw_refuse(r->ctx, r->source, "more feature names or infos than features (%lld)",
                         (long long)n);
    return RW_OK;
}

static int read_header(struct reading *r, struct rw_ensemble *out)
{
    struct entry h[] = {{"num_class", {0}},       {"num_tree_per_iteration", {0}},
                        {"max_feature_idx", {0}}, {"objective", {0}},
                        {"feature_names", {0}},   {"feature_infos", {0}},
                        {"version", {0}},         {0}};
    struct slice line;
    int64_t n, last;
    if (!next_line(r, &line) || line.n != 4 || memcmp(line.text, "tree", 4) != 0)
        return rw_refuse(r->ctx, r->source, "line 1: expected 'tree'");
    RW_TRY(read_block(r, h));
    const struct slice version = h[VERSION].value;
    if (!version.text || version.n != 2 || version.text[0] != 'v' || version.text[1] < '2' ||
        version.text[1] > '4')
        return rw_refuse(r->ctx, r->source, "expected version=v2, v3 or v4");
    RW_TRY(one_whole(r, &h[N_CLASS], 0, INT32_MAX, &n));
    if (n > 1)
        return rw_refuse(r->ctx, r->source, "num_class=%lld: several classes", (long long)n);
    if (h[N_PER_ROUND].value.text) {
        RW_TRY(one_whole(r, &h[N_PER_ROUND], 0, INT32_MAX, &n));
        if (n != 1)
            return rw_refuse(r->ctx, r->source, "num_tree_per_iteration=%lld: several outputs",
                             (long long)n);
    }
    if (!objective_fits(h[OBJECTIVE].value))
        return rw_refuse(
            r->ctx, r->source, "objective '%.*s', whose prediction is not the sum of the leaves",
            (int)(h[OBJECTIVE].value.n < 60 ? h[OBJECTIVE].value.n : 60), h[OBJECTIVE].value.text);
    RW_TRY(one_whole(r, &h[MAX_FEATURE], 0, RW_MAX_FEATURE, &last));
    return read_columns(r, h, last + 1, out);
}

enum { LEAVES, CATEGORIES, FEATURE, THRESHOLD, DECISION, LEFT, RIGHT, VALUE, LINEAR, GAIN };

static int read_decision(struct reading *r, int64_t type, struct rw_ens_node *node)
{
    const int left = (type & DEFAULT_LEFT) != 0;
    if (type & CATEGORICAL)
        return rw_refuse(r->ctx, r->source, "tree %d: a categorical split", r->number);
    if ((type & 12) == 12)
        return rw_refuse(r->ctx, r->source,
                         "tree %d: an unknown kind of missing (decision_type %d)", r->number,
                         (int)type);
    node->nan = (uint8_t)(type & MISSING_NAN    ? (left ? RW_NAN_LEFT : RW_NAN_RIGHT)
                          : type & MISSING_ZERO ? (left ? RW_NAN_ZERO_LEFT : RW_NAN_ZERO_RIGHT)
                                                : RW_NAN_ZERO);
    return RW_OK;
}

static int read_child(struct reading *r, const char *key, struct slice *list, int64_t n_leaves,
                      int32_t *out)
{
    int64_t child = 0;
    RW_TRY(next_whole(r, key, list, -n_leaves, n_leaves - 2, &child));
    *out = (int32_t)(child >= 0 ? child : n_leaves - 1 + ~child);
    return RW_OK;
}

static int read_nodes(struct reading *r, struct entry *e, int64_t n_leaves, uint32_t n_columns,
                      struct rw_ens_tree *tree)
{
    for (int64_t i = 0; i < n_leaves - 1; i++) {
        struct rw_ens_node *node = &tree->node[i];
        int64_t column = 0, type = 0;
        RW_TRY(
            next_whole(r, e[FEATURE].key, &e[FEATURE].value, 0, (int64_t)n_columns - 1, &column));
        node->column = (uint32_t)column;
        RW_TRY(next_number(r, e[THRESHOLD].key, &e[THRESHOLD].value, &node->threshold));
        if (e[DECISION].value.text)
            RW_TRY(next_whole(r, e[DECISION].key, &e[DECISION].value, 0, 127, &type));
        RW_TRY(read_decision(r, type, node));
        RW_TRY(read_child(r, e[LEFT].key, &e[LEFT].value, n_leaves, &node->left));
        RW_TRY(read_child(r, e[RIGHT].key, &e[RIGHT].value, n_leaves, &node->right));
        if (e[GAIN].value.text)
            RW_TRY(next_number(r, e[GAIN].key, &e[GAIN].value, &node->gain));
    }
    for (int64_t i = 0; i < n_leaves; i++) {
        struct rw_ens_node *leaf = &tree->node[n_leaves - 1 + i];
        leaf->left = leaf->right = -1;
        RW_TRY(next_number(r, e[VALUE].key, &e[VALUE].value, &leaf->value));
    }
    for (int i = FEATURE; i <= GAIN; i++) {
        if (i != LINEAR && e[i].value.text && (n_leaves > 1 || i == VALUE))
            RW_TRY(at_end(r, e[i].key, e[i].value));
    }
    return RW_OK;
}

static int read_tree(struct reading *r, struct rw_ensemble *out)
{
    struct entry e[] = {{"num_leaves", {0}},
                        {"num_cat", {0}},
                        {"split_feature", {0}},
                        {"threshold", {0}},
                        {"decision_type", {0}},
                        {"left_child", {0}},
                        {"right_child", {0}},
                        {"leaf_value", {0}},
                        {"is_linear", {0}},
                        {"split_gain", {0}},
                        {0}};
    struct slice line;
    struct rw_ens_tree *tree;
    int64_t n_leaves, n;
    next_line(r, &line); /* Tree=... */
    RW_TRY(read_block(r, e));
    RW_TRY(one_whole(r, &e[LEAVES], 1, INT32_MAX / 2, &n_leaves));
    RW_TRY(one_whole(r, &e[CATEGORIES], 0, INT32_MAX, &n));
    if (n > 0)
        return rw_refuse(r->ctx, r->source, "tree %d: %lld categorical splits", r->number,
                         (long long)n);
    if (e[LINEAR].value.text) {
        RW_TRY(one_whole(r, &e[LINEAR], 0, 1, &n));
        if (n)
            return rw_refuse(r->ctx, r->source, "tree %d: linear leaves", r->number);
    }
    for (int i = FEATURE; i <= VALUE; i++) {
        if (!e[i].value.text && i != DECISION && (n_leaves > 1 || i == VALUE))
            return rw_refuse(r->ctx, r->source, "tree %d: no '%s'", r->number, e[i].key);
    }
    /* A leaf takes two bytes at least, so that a made-up count allocates nothing. */
    if ((uint64_t)n_leaves > e[VALUE].value.n / 2 + 1)
        return rw_refuse(r->ctx, r->source, "tree %d: num_leaves=%lld, but fewer leaf values",
                         r->number, (long long)n_leaves);
    RW_TRY(rw_ensemble_add_tree(r->ctx, out, (int32_t)(2 * n_leaves - 1), &tree));
    return read_nodes(r, e, n_leaves, out->n_columns, tree);
}

static int parse_lightgbm(struct rw_ctx *ctx, const struct rw_source *source,
                          struct rw_ensemble *out)
{
    struct reading r = {ctx, source, source->text, source->text + source->n, 0};
    RW_TRY(read_header(&r, out));
    while (r.at < r.end && *r.at == 'T') {
        r.number++;
        RW_TRY(read_tree(&r, out));
    }
    return RW_OK;
}

static const struct rw_consumer consumers[] = {
    {.name = "LightGBM",
     .rules = {.value = RW_F64,
               .threshold = RW_F64,
               .sum = RW_F64,
               .nan_by_node = 1,
               .absent = RW_ABSENT_AS_MODEL,
               .band_is_zero = 1}},
    {0},
};

const struct rw_model_format rw_to_lightgbm = {
    .name = "lightgbm",
    .about = "LightGBM's text model, version 4",
    .consumer = consumers,
    .names = RW_NAMES_GIVEN,
    .name_prefix = "Column_",
    .name_forbids = " \",:[]{}",
    .imports = 1,
    .write = write_lightgbm,
    .parse = parse_lightgbm,
};
