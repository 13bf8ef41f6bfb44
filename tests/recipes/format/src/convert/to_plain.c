/* A made format, to test the recipe of convert.h: a word or a number after the other.
 *
 *   plain columns 3 trees 1
 *   tree 3
 *   split 1 2 0 left 0.5      children, column, where a missing value goes, threshold
 *   leaf -1.0
 *   leaf 2.0 */
#include <math.h>
#include <string.h>

#include "convert/convert.h"

static int write_plain(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    rw_put_format(put, "plain columns %u trees %d\n", ensemble->n_columns, ensemble->n_trees);
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &ensemble->tree[t];
        rw_put_format(put, "tree %d\n", tree->n_nodes);
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            const struct rw_ens_node *node = &tree->node[i];
            if (node->left < 0)
                rw_put_format(put, "leaf %lf\n", node->value);
            else
                rw_put_format(put, "split %d %d %u %s %lf\n", node->left, node->right, node->column,
                              node->nan == RW_NAN_LEFT ? "left" : "right", node->threshold);
        }
    }
    return put->status;
}

struct reading {
    struct rw_source *source;
    const char *at;
};

/* The next word, at the end "". */
static const char *next_word(struct reading *r, char word[64])
{
    r->at += strspn(r->at, " \n");
    const size_t n = strcspn(r->at, " \n");
    if (n > 63)
        rw_refuse(r->source, "a word of %zu bytes", n);
    snprintf(word, 64, "%.*s", (int)(n < 64 ? n : 63), r->at);
    r->at += n;
    return word;
}

static int next_is(struct reading *r, const char *expected, const char *other)
{
    char word[64];
    next_word(r, word);
    const int is_it = strcmp(word, expected) == 0;
    if (!is_it && (!other || strcmp(word, other) != 0))
        rw_refuse(r->source, "expected '%s', found '%.40s'", expected, word);
    return is_it;
}

static double next_number(struct reading *r)
{
    char word[64];
    double out;
    next_word(r, word);
    if (!rw_is_number(word, strlen(word), &out))
        rw_refuse(r->source, "expected a number, found '%.40s'", word);
    return out;
}

static int64_t next_whole(struct reading *r, int64_t most)
{
    const double number = next_number(r);
    if (number >= 0 && number <= (double)most && number == floor(number))
        return (int64_t)number;
    rw_refuse(r->source, "expected a whole number from 0 to %lld", (long long)most);
    return 0;
}

static void read_tree(struct reading *r)
{
    next_is(r, "tree", NULL);
    const int64_t n = next_whole(r, INT32_MAX);
    if ((uint64_t)n > r->source->n) /* a node takes more than a byte */
        rw_refuse(r->source, "%lld nodes in so short a file", (long long)n);
    struct rw_ens_tree *tree = rw_add_tree(r->source, (int32_t)n);
    for (int64_t i = 0; tree && i < n && r->source->status == RW_OK; i++) {
        struct rw_ens_node *node = &tree->node[i];
        node->left = node->right = -1;
        if (next_is(r, "leaf", "split")) {
            node->value = next_number(r);
            continue;
        }
        node->left = (int32_t)next_whole(r, INT32_MAX);
        node->right = (int32_t)next_whole(r, INT32_MAX);
        node->column = (uint32_t)next_whole(r, RW_MAX_FEATURE);
        node->nan = next_is(r, "left", "right") ? RW_NAN_LEFT : RW_NAN_RIGHT;
        node->threshold = next_number(r);
    }
}

static int parse_plain(struct rw_source *source)
{
    struct reading r = {source, source->text};
    next_is(&r, "plain", NULL);
    next_is(&r, "columns", NULL);
    const int64_t n_columns = next_whole(&r, RW_FEATURE_IDS);
    next_is(&r, "trees", NULL);
    const int64_t n_trees = next_whole(&r, INT32_MAX);
    if (rw_set_columns(source, (uint64_t)n_columns) < 0)
        return source->status;
    memset(source->out->column_had, 1, source->out->n_columns);
    for (int64_t t = 0; t < n_trees && source->status == RW_OK; t++)
        read_tree(&r);
    return source->status;
}

const struct rw_model_format rw_to_plain = {
    .name = "plain",
    .about = "words and numbers",
    .consumer = {{.name = "plain",
                  .rules = {.value = RW_F64,
                            .threshold = RW_F64,
                            .sum = RW_F64,
                            .nan_by_node = 1,
                            .absent = RW_ABSENT_AS_MODEL}}},
    .names = RW_NAMES_NONE,
    .imports = 1,
    .write = write_plain,
    .parse = parse_plain,
};
