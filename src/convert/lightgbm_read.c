/* Reads LightGBM's text. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/json_in.h"
#include "convert/lightgbm_text.h"

struct slice {
    const char *text; /* NULL: not there */
    size_t n;
};
enum { MOST_KEYS = 14 };
struct reading {
    struct rw_source *source;
    const char *at, *end;
    int32_t number; /* of the tree, from 1; 0: the header */
    /* of the block at hand: keys, ended by NULL, and what of their values has not been read */
    const char *const *key;
    struct slice value[MOST_KEYS];
    /* of the tree at hand: its sets' bits; owned */
    uint32_t *bits, *boundary; /* [boundary[n_sets]], [n_sets + 1] */
    int64_t n_sets;
    const json_t *words; /* lists of pandas_categorical; NULL: there are none */
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

/* A word of a data frame's column: a text, or a whole number. */
static void read_word(struct reading *r, const json_t *from, char number[24], const char **word)
{
    *word = json_string_value(from);
    if (json_is_integer(from)) {
        snprintf(number, 24, "%lld", (long long)json_integer_value(from));
        *word = number;
    } else if (!*word || strlen(*word) != json_string_length(from)) {
        rw_refuse(r->source, "'pandas_categorical': expected texts and whole numbers");
    }
}

/* The words of the list-th categorical column. */
static void read_words(struct reading *r, size_t list, uint32_t column, struct rw_ensemble *out)
{
    const json_t *from = json_array_get(r->words, list);
    const size_t n = json_array_size(from);
    const char **word = NULL;
    char(*number)[24] = NULL;
    if (!json_is_array(from) || n > UINT32_MAX)
        rw_refuse(r->source, "'pandas_categorical': expected a list of lists");
    rw_keep(r->source, RW_NEW(r->source->ctx, word, n));
    rw_keep(r->source, RW_NEW(r->source->ctx, number, n));
    for (size_t k = 0; k < n && r->source->status == RW_OK; k++)
        read_word(r, json_array_get(from, k), number[k], &word[k]);
    if (r->source->status == RW_OK)
        rw_keep(r->source,
                rw_ensemble_categories(r->source->ctx, out, column, NULL, word, (uint32_t)n));
    rw_mem_free(word);
    rw_mem_free(number);
}

/* Has a categorical column a list? All have one, unless what was written says otherwise. */
static int has_list(const struct reading *r, uint32_t column)
{
    const struct rw_ensemble *written = r->source->names;
    const struct rw_ens_categories *of = written ? rw_ens_categories_of(written, column) : NULL;
    return r->words && (!of || of->word);
}

/* Columns whose info is a list of categories; with words where the file has them. */
static void read_categories(struct reading *r, const unsigned char *is_one, struct rw_ensemble *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < out->n_columns; i++)
        n += is_one[i] && has_list(r, i);
    if (n > 0 && r->words && json_array_size(r->words) != n)
        rw_refuse(r->source,
                  "'pandas_categorical' has %zu lists, but %u features are categorical: whose "
                  "words they are cannot be told",
                  json_array_size(r->words), n);
    for (uint32_t i = 0, list = 0; i < out->n_columns && r->source->status == RW_OK; i++) {
        if (is_one[i] && has_list(r, i))
            read_words(r, list++, i, out);
        else if (is_one[i])
            rw_keep(r->source,
                    rw_ensemble_categories(r->source->ctx, out, i, (const uint32_t[]){0}, NULL, 0));
    }
}

static void read_columns(struct reading *r, int64_t n, struct rw_ensemble *out)
{
    struct slice names = r->value[NAMES], infos = r->value[INFOS], word;
    struct rw_source *source = r->source;
    unsigned char *is_one = NULL; /* [n] categorical */
    if (rw_set_columns(source, out, (uint64_t)n) < 0 ||
        rw_keep(source, RW_NEW(source->ctx, is_one, (size_t)n)) < 0)
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
        is_one[i] = out->column_had[i] && !begins(word, "[");
    }
    if (next_word(&names, &word) || next_word(&infos, &word))
        rw_refuse(source, "more feature names or infos than features (%lld)", (long long)n);
    if (source->status == RW_OK)
        read_categories(r, is_one, out);
    rw_mem_free(is_one);
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

enum {
    LEAVES,
    N_SETS,
    FEATURE,
    THRESHOLD,
    DECISION,
    LEFT,
    RIGHT,
    VALUE,
    LINEAR,
    GAIN,
    BOUNDARIES,
    BITS,
    LEAF_WEIGHT,
    LEAF_COUNT
};

/* Bits of sets; a number takes two bytes at least, so that a made-up count allocates nothing. */
static void read_sets(struct reading *r)
{
    struct rw_ctx *ctx = r->source->ctx;
    if (r->n_sets == 0)
        return;
    for (int k = BOUNDARIES; k <= BITS; k++) {
        if (!r->value[k].text)
            rw_refuse(r->source, "tree %d: no '%s'", r->number, r->key[k]);
    }
    if ((uint64_t)r->n_sets > r->value[BOUNDARIES].n / 2)
        rw_refuse(r->source, "tree %d: num_cat=%lld, but fewer cat_boundaries", r->number,
                  (long long)r->n_sets);
    if (r->source->status < 0 ||
        rw_keep(r->source, RW_NEW(ctx, r->boundary, (size_t)r->n_sets + 1)) < 0)
        return;
    for (int64_t i = 0; i <= r->n_sets; i++)
        r->boundary[i] = (uint32_t)next_whole(r, BOUNDARIES, i ? r->boundary[i - 1] : 0,
                                              i ? (int64_t)(r->value[BITS].n / 2 + 1) : 0);
    at_end(r, BOUNDARIES);
    const uint32_t n = r->boundary[r->n_sets];
    if (r->source->status < 0 || rw_keep(r->source, RW_NEW(ctx, r->bits, n)) < 0)
        return;
    for (uint32_t i = 0; i < n && r->source->status == RW_OK; i++)
        r->bits[i] = (uint32_t)next_whole(r, BITS, 0, UINT32_MAX);
    at_end(r, BITS);
}

/* The node's threshold is the number of its set. */
static void read_set(struct reading *r, struct rw_ens_node *node, struct rw_ensemble *out)
{
    uint32_t *category = NULL, n = 0;
    size_t room = 0;
    if (node->threshold < 0 || node->threshold >= (double)r->n_sets ||
        node->threshold != floor(node->threshold)) {
        rw_refuse(r->source, "tree %d: a categorical split of set %g; num_cat is %lld", r->number,
                  node->threshold, (long long)r->n_sets);
        return;
    }
    const size_t set = (size_t)node->threshold;
    const uint32_t begin = r->boundary[set], n_bits = 32 * (r->boundary[set + 1] - begin);
    for (uint32_t k = 0; k < n_bits && r->source->status == RW_OK; k++) {
        if (!(r->bits[begin + k / 32] >> k % 32 & 1) ||
            rw_keep(r->source, RW_GROW(r->source->ctx, category, room, (size_t)n + 1)) < 0)
            continue;
        category[n++] = k;
    }
    rw_read_set(r->source, out, node, category, n); /* its info may not say that it is one */
    rw_mem_free(category);
}

static uint8_t read_decision(struct reading *r, int k, int *is_categorical)
{
    const int64_t type = r->value[k].text ? next_whole(r, k, 0, 127) : 0;
    const int left = (type & RW_LGB_DEFAULT_LEFT) != 0;
    *is_categorical = (type & RW_LGB_CATEGORICAL) != 0;
    if ((type & 12) == 12)
        rw_refuse(r->source, "tree %d: an unknown kind of missing (decision_type %d)", r->number,
                  (int)type);
    return (uint8_t)(type & RW_LGB_MISSING_NAN    ? (left ? RW_NAN_LEFT : RW_NAN_RIGHT)
                     : type & RW_LGB_MISSING_ZERO ? (left ? RW_NAN_ZERO_LEFT : RW_NAN_ZERO_RIGHT)
                                                  : RW_NAN_ZERO);
}

static int32_t read_child(struct reading *r, int k, int64_t n_leaves)
{
    const int64_t child = next_whole(r, k, -n_leaves, n_leaves - 2);
    return (int32_t)(child >= 0 ? child : n_leaves - 1 + ~child);
}

static void read_nodes(struct reading *r, int64_t n_leaves, struct rw_ensemble *out,
                       struct rw_ens_tree *tree)
{
    const uint8_t has_covers = r->value[LEAF_COUNT].text != NULL && n_leaves > 1;
    int is_categorical;
    for (int64_t i = 0; i < n_leaves - 1 && r->source->status == RW_OK; i++) {
        struct rw_ens_node *node = &tree->node[i];
        node->column = (uint32_t)next_whole(r, FEATURE, 0, (int64_t)out->n_columns - 1);
        node->threshold = next_number(r, THRESHOLD);
        node->nan = read_decision(r, DECISION, &is_categorical);
        node->left = read_child(r, LEFT, n_leaves);
        node->right = read_child(r, RIGHT, n_leaves);
        if (r->value[GAIN].text)
            node->gain = next_number(r, GAIN);
        if (is_categorical && r->source->status == RW_OK)
            read_set(r, node, out);
    }
    for (int64_t i = 0; i < n_leaves && r->source->status == RW_OK; i++) {
        struct rw_ens_node *leaf = &tree->node[n_leaves - 1 + i];
        leaf->left = leaf->right = -1;
        leaf->value = next_number(r, VALUE);
        leaf->has_cover = has_covers;
        leaf->docs = has_covers ? next_number(r, LEAF_COUNT) : 0;
        leaf->hessian = has_covers && r->value[LEAF_WEIGHT].text ? next_number(r, LEAF_WEIGHT) : 0;
    }
    for (int i = LEAF_WEIGHT; i <= LEAF_COUNT && has_covers; i++) {
        if (r->value[i].text)
            at_end(r, i);
    }
    for (int i = FEATURE; i <= GAIN; i++) {
        if (i != LINEAR && r->value[i].text && (n_leaves > 1 || i == VALUE))
            at_end(r, i);
    }
}

static void read_tree(struct reading *r, struct rw_ensemble *out)
{
    static const char *const keys[] = {
        "num_leaves",     "num_cat",       "split_feature", "threshold",  "decision_type",
        "left_child",     "right_child",   "leaf_value",    "is_linear",  "split_gain",
        "cat_boundaries", "cat_threshold", "leaf_weight",   "leaf_count", NULL};
    struct slice line;
    next_line(r, &line); /* Tree=... */
    if (read_block(r, keys) < 0)
        return;
    const int64_t n_leaves = one_whole(r, LEAVES, 1, INT32_MAX / 2);
    r->n_sets = one_whole(r, N_SETS, 0, INT32_MAX);
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
    read_sets(r);
    struct rw_ens_tree *tree = rw_add_tree(r->source, out, (int32_t)(2 * n_leaves - 1));
    if (tree)
        read_nodes(r, n_leaves, out, tree);
    rw_mem_free(r->bits);
    rw_mem_free(r->boundary);
    r->bits = r->boundary = NULL;
}

/* The lists of words, which stand at the end. */
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
    rw_json_watch();
    json_t *words = json_loadb(found, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (rw_json_lacked_memory())
        rw_source_no_memory(source);
    else if (!words || (!json_is_array(words) && !json_is_null(words)))
        rw_refuse(source, "'pandas_categorical': expected a list, or null");
    if (words && json_array_size(words) > 0)
        return words;
    json_decref(words);
    return NULL;
}

int rw_lightgbm_parse(struct rw_source *source, struct rw_ensemble *out)
{
    struct reading r = {.source = source, .at = source->text, .end = source->text + source->n};
    json_t *words = find_words(source);
    r.words = words;
    read_header(&r, out);
    while (source->status == RW_OK && r.at < r.end && *r.at == 'T') {
        r.number++;
        read_tree(&r, out);
    }
    json_decref(words);
    return source->status;
}
