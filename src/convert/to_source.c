/* Writes the model as source code: one file without dependencies that defines a function of the
 * score. A file consists of tables, because compilers accept them at any size, unlike nested ifs.
 * One walk over the trees fills the tables. The rest of a file is a template, languages/NAME.txt.
 *
 * The first character of a template's line is not written. It is a condition (is_wanted); '@',
 * before the name of a table, whose rows are written; or 'f': this line and those after it that
 * also begin with 'f' are written for each feature with words. $t is the number of trees, $x of
 * columns. In lines with 'f', $f is the feature, $n the number of its words, and a line with $w is
 * written for each word.
 *
 * C reads floats, and its numbers are whole numbers times powers of two, which every C99 compiler
 * reads exactly. The other languages read doubles. They need no rounding to float, because their
 * thresholds are where the rounding changes (last_rounded). Their tables are strings that are
 * parsed when the file is loaded, because arrays of this size cost their compilers much time and
 * memory, and Java limits a method to 64 KB.
 *
 * Categorical splits use a table of the categories that go left, which each split lists. If a
 * feature has words as categories, a second function, category(feature, word), returns the value of
 * x for a word, or -1 for an unknown word. */
#include <float.h>

#include "convert/convert.h"

enum { NODES, LISTED, LEAVES, ROOTS, N_TABLES }; /* in the order of the file */

/* How a language writes the rows of tables. */
struct language {
    const char *text;               /* the template */
    int reads_float;                /* 1: x are floats; 0: doubles */
    const char *leaf;               /* before a leaf's index; NULL: -1 - index is written */
    const char *node, *row, *comma; /* before a split, before other rows, and between numbers */
    const char *node_end, *row_end; /* after a split, and after other rows */
    const char *chunk;              /* between chunks of rows; NULL: a table is one chunk */
};

/* A table that is being written. */
struct table {
    struct rw_put put;
    uint32_t n_rows;
};

enum {
    CHUNK = 256, /* rows of a Java string, whose limit is 65,535 bytes */
    /* Java's limit for the code that makes an array of strings is 64 KB. */
    MOST_CHUNKED = 8000 * CHUNK
};

/* A file that is being written. */
struct source {
    const struct language *language;
    const struct rw_ensemble *ensemble;
    struct rw_put *put;
    struct table table[N_TABLES];
    int64_t n_splits;
    int words; /* 1: some feature has words as categories */
};

/* Returns 1 if the file has lines that begin with this character. */
static int is_wanted(const struct source *s, char condition)
{
    const int lists = s->table[LISTED].put.n > 0, sets = s->ensemble->categories != NULL;
    return condition == 'l'   ? lists                     /* some split lists categories */
           : condition == 'u' ? s->n_splits > 0 && !lists /* no split of them does */
           : condition == 's' ? s->n_splits > 0
           : condition == '-' ? s->n_splits == 0
           : condition == 't' ? s->ensemble->n_trees > 0
           : condition == '0' ? s->ensemble->n_trees == 0
           : condition == 'c' ? sets /* rows of splits refer to categories */
           : condition == 'n' ? !sets
           : condition == 'w' ? s->words
                              : 1;
}

/* Returns the largest double that rounding to float brings to `cut` or below. */
static double last_rounded(float cut)
{
    const double next = cut < FLT_MAX ? (double)nextafterf(cut, INFINITY) : 0x1p128;
    const double middle = ((double)cut + next) / 2; /* exact; a tie rounds to the even float */
    return (float)middle <= cut ? middle : nextafter(middle, -INFINITY);
}

/* Writes a float as a whole number times a power of two. */
static void put_exact(struct rw_put *put, float value)
{
    int exponent;
    float mantissa = frexpf(fabsf(value), &exponent);
    uint32_t whole = (uint32_t)ldexpf(mantissa, 24);
    exponent -= 24;
    while (whole && whole % 16 == 0) {
        whole /= 16;
        exponent += 4;
    }
    rw_put_format(put, "%s0x%xp%df", signbit(value) ? "-" : "", whole, whole ? exponent : 0);
}

/* Writes the text before a row of a table. */
static void begin_row(const struct language *language, struct table *to, int is_node)
{
    if (language->chunk && to->n_rows == MOST_CHUNKED)
        rw_put_refuse(&to->put, "too many leaves for a Java class; 'c', 'go' and 'python' have no "
                                "limit");
    if (language->chunk && to->n_rows > 0 && to->n_rows % CHUNK == 0)
        rw_put_text(&to->put, language->chunk);
    to->n_rows++;
    rw_put_text(&to->put, is_node ? language->node : language->row);
}

/* Writes node `child` of tree t as the index of a split, or as ~ the index of a leaf.
 * splits_before: splits of earlier trees, each of which has one leaf more than splits. */
static void put_index(const struct source *s, struct rw_put *put, int32_t t, int32_t child,
                      int32_t splits_before)
{
    const int32_t n_splits = rw_ens_n_splits(&s->ensemble->tree[t]);
    if (child < n_splits)
        rw_put_format(put, "%d", splits_before + child);
    else if (s->language->leaf)
        rw_put_format(put, "%s%d", s->language->leaf, splits_before + t + child - n_splits);
    else
        rw_put_format(put, "%d", ~(splits_before + t + child - n_splits));
}

/* Writes a split. splits_before: as in put_index. n_listed: number of categories that earlier
 * splits list. */
static void put_split(struct source *s, int32_t t, const struct rw_ens_node *node,
                      int32_t splits_before, size_t n_listed)
{
    const struct language *language = s->language;
    const char *comma = language->comma;
    struct rw_put *put = &s->table[NODES].put;
    begin_row(language, &s->table[NODES], 1);
    if (language->reads_float)
        put_exact(put, (float)node->threshold);
    else
        rw_put_format(put, "%lf", node->by_category ? 0.0 : last_rounded((float)node->threshold));
    rw_put_format(
        put, "%s%u%s%d%s", comma, node->column, comma,
        (node->nan == RW_NAN_LEFT) + (!language->reads_float && node->by_category ? 2 : 0), comma);
    put_index(s, put, t, node->left, splits_before);
    rw_put_text(put, comma);
    put_index(s, put, t, node->right, splits_before);
    if (s->ensemble->categories)
        rw_put_format(put, "%s%zu%s%zu", comma, n_listed, comma, n_listed + node->n_listed);
    rw_put_text(put, language->node_end);
    put = &s->table[LISTED].put;
    for (uint32_t k = 0; k < node->n_listed; k++) {
        if (k % 12 == 0)
            begin_row(language, &s->table[LISTED], 0);
        rw_put_format(put, "%u%s", node->listed[k],
                      k % 12 == 11 || k + 1 == node->n_listed ? language->row_end : comma);
    }
}

/* Writes the elements of all tables: the splits and the leaves of all trees, the root of each tree,
 * and the categories that splits list. */
static void put_trees(struct source *s)
{
    const struct language *language = s->language;
    int32_t splits = 0;
    size_t n_listed = 0;
    for (int32_t t = 0; t < s->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &s->ensemble->tree[t];
        const int32_t n_splits = rw_ens_n_splits(tree);
        for (int32_t i = 0; i < n_splits; i++) {
            put_split(s, t, &tree->node[i], splits, n_listed);
            n_listed += tree->node[i].n_listed;
        }
        struct rw_put *put = &s->table[LEAVES].put;
        for (int32_t i = n_splits; i < tree->n_nodes; i++) {
            begin_row(language, &s->table[LEAVES], 0);
            if (language->reads_float)
                put_exact(put, (float)tree->node[i].value);
            else
                rw_put_format(put, "%lf", (double)(float)tree->node[i].value);
            rw_put_text(put, language->row_end);
        }
        begin_row(language, &s->table[ROOTS], 0);
        put_index(s, &s->table[ROOTS].put, t, 0, splits);
        rw_put_text(&s->table[ROOTS].put, language->row_end);
        splits += n_splits;
    }
    if (n_listed > INT32_MAX)
        rw_put_refuse(s->put, "too many categories in splits: their number exceeds an int");
}

/* Writes a word as a string of bytes, with special characters in octal. */
static void put_word(struct rw_put *put, const char *word)
{
    rw_put_text(put, "\"");
    for (const char *c = word; *c; c++) {
        const unsigned char byte = (unsigned char)*c;
        char octal[5];
        snprintf(octal, sizeof(octal), "\\%03o", byte);
        if (byte < 32 || byte > 126 || byte == '"' || byte == '\\' || byte == '?')
            rw_put_text(put, octal);
        else
            rw_put_bytes(put, c, 1);
    }
    rw_put_text(put, "\"");
}

/* Returns the categories of a column of words, or NULL. */
static const struct rw_ens_categories *words_of(const struct source *s, uint32_t column)
{
    const struct rw_ens_categories *of = rw_ens_categories_of(s->ensemble, column);
    return of && of->word ? of : NULL;
}

/* Writes the line [at, end) of a template. feature, of, word: for $f, $n and $w. */
static void put_line(const struct source *s, const char *at, const char *end, uint32_t feature,
                     const struct rw_ens_categories *of, uint32_t word)
{
    for (const char *dollar; (dollar = memchr(at, '$', (size_t)(end - at))); at = dollar + 2) {
        rw_put_bytes(s->put, at, (size_t)(dollar - at));
        if (dollar[1] == 'w')
            put_word(s->put, of->word[word]);
        else
            rw_put_format(s->put, "%u",
                          dollar[1] == 't'   ? (uint32_t)s->ensemble->n_trees
                          : dollar[1] == 'x' ? s->ensemble->n_columns
                          : dollar[1] == 'f' ? feature
                                             : of->n);
    }
    rw_put_bytes(s->put, at, (size_t)(end - at));
}

static const char *line_after(const char *line)
{
    return strchr(line, '\n') + 1;
}

/* Writes the lines of a template that begin with 'f', for each feature with words. Returns the line
 * after them. */
static const char *put_features(const struct source *s, const char *begin)
{
    const char *line = begin;
    for (uint32_t i = 0; i < s->ensemble->n_columns; i++) {
        const struct rw_ens_categories *of = words_of(s, i);
        for (line = begin; of && *line == 'f'; line = line_after(line)) {
            const char *end = line_after(line);
            const int by_word = memmem(line, (size_t)(end - line), "$w", 2) != NULL;
            for (uint32_t k = 0; k < (by_word ? of->n : 1); k++)
                put_line(s, line + 1, end, i, of, k);
        }
    }
    for (line = begin; *line == 'f';)
        line = line_after(line);
    return line;
}

static void put_template(const struct source *s)
{
    static const char *const name[] = {"nodes\n", "listed\n", "leaves\n", "roots\n"};
    for (const char *line = s->language->text, *next; *line; line = next) {
        next = line_after(line);
        if (*line == 'f')
            next = put_features(s, line);
        else if (*line != '@' && is_wanted(s, *line))
            put_line(s, line + 1, next, 0, NULL, 0);
        for (int i = 0; i < N_TABLES && *line == '@'; i++) {
            if (strncmp(line + 1, name[i], strlen(name[i])) == 0)
                rw_put_bytes(s->put, s->table[i].put.text, s->table[i].put.n);
        }
    }
}

static int write_source(const struct rw_ensemble *ensemble, struct rw_put *put,
                        const struct language *language)
{
    struct source s = {.language = language, .ensemble = ensemble, .put = put};
    for (int32_t t = 0; t < ensemble->n_trees; t++)
        s.n_splits += rw_ens_n_splits(&ensemble->tree[t]);
    const int64_t n_leaves = s.n_splits + ensemble->n_trees;
    if (n_leaves > INT32_MAX)
        return rw_put_refuse(put, "too many leaves: %lld exceeds an int", (long long)n_leaves);
    for (uint32_t i = 0; i < ensemble->n_columns; i++)
        s.words |= words_of(&s, i) != NULL;
    for (int i = 0; i < N_TABLES; i++)
        s.table[i].put.ctx = put->ctx;
    put_trees(&s);
    for (int i = 0; i < N_TABLES; i++) {
        if (put->status == RW_OK)
            put->status = s.table[i].put.status;
    }
    put_template(&s);
    for (int i = 0; i < N_TABLES; i++)
        rw_put_release(&s.table[i].put);
    return put->status;
}

extern const char rw_language_c[], rw_language_java[], rw_language_go[], rw_language_python[];
static const struct language c_texts = {.text = rw_language_c,
                                        .reads_float = 1,
                                        .leaf = "~",
                                        .node = "    {",
                                        .row = "    ",
                                        .comma = ", ",
                                        .node_end = "},\n",
                                        .row_end = ",\n"};
static const struct language java_texts = {.text = rw_language_java,
                                           .node = "            + \"",
                                           .row = "            + \"",
                                           .comma = " ",
                                           .node_end = " \"\n",
                                           .row_end = " \"\n",
                                           .chunk = "            , \"\"\n"};
/* Go and Python: rows of numbers. */
#define PLAIN_ROWS .node = "", .row = "", .comma = " ", .node_end = "\n", .row_end = "\n"
static const struct language go_texts = {.text = rw_language_go, PLAIN_ROWS};
static const struct language python_texts = {.text = rw_language_python, PLAIN_ROWS};

/* Source code is not parsed, so `parse` is NULL. Tests compile and run the files. */
#define FORMAT(id, language, about_text, ...)                                     \
    static int write_##id(const struct rw_ensemble *ensemble, struct rw_put *put) \
    {                                                                             \
        return write_source(ensemble, put, &id##_texts);                          \
    }                                                                             \
    const struct rw_model_format rw_to_##id = {                                   \
        .name = #id,                                                              \
        .about = about_text,                                                      \
        .consumer = {{.name = language,                                           \
                      .rules = {.sum = RW_F64,                                    \
                                .nan_by_node = 1,                                 \
                                .absent = RW_ABSENT_AS_MODEL,                     \
                                __VA_ARGS__}}},                                   \
        .names = RW_NAMES_NONE,                                                   \
        .categories = RW_SAYS_WORDS,                                              \
        .most_category = 16777215, /* exact in float */                           \
        .write = write_##id,                                                      \
    };
#define READS_DOUBLE .value = RW_F64, .threshold = RW_F64, .lists_none = 1
FORMAT(c, "C", "C: one file, double score(const float *x)", .value = RW_F32)
FORMAT(java, "Java", "Java: one file, class Model with double score(double[] x)", READS_DOUBLE)
FORMAT(go, "Go", "Go: one file, package model with Score(x []float64) float64", READS_DOUBLE)
FORMAT(python, "Python", "Python: one file, standard library only, score(x)", READS_DOUBLE)
