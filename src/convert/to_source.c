/* Writes the model as source code: one file without dependencies that defines a function of the
 * score. A file consists of tables, because compilers accept them at any size, unlike nested ifs.
 * Each language is a row of texts (struct language); one walk over the trees fills the tables.
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

/* A language. The texts of rows are plain. In all other texts, each line begins with the character
 * of a condition (is_wanted), and $t, $x, $f and $n are replaced (put_lines). */
struct language {
    int reads_float;                /* 1: x are floats; 0: doubles */
    const char *leaf;               /* before a leaf's index; NULL: -1 - index is written */
    const char *node, *row, *comma; /* before a split, before other rows, and between numbers */
    const char *node_end, *row_end; /* after a split, and after other rows */
    const char *chunk;              /* between chunks of rows; NULL: a table is one chunk */
    const char *open[N_TABLES];     /* before each table */
    const char *close[N_TABLES];    /* after each table */
    int has_empty;                  /* 1: empty tables are written; 0: they are left out */
    const char *word, *words, *words_end;        /* between words; around the words of a feature */
    const char *head, *score;                    /* begin and end of the file */
    const char *category, *which, *category_end; /* the second function; `which`: per feature */
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

/* Writes the wanted lines of a text, each without its first character. $t: the number of trees, $x:
 * of columns, $f: feature, $n: n. */
static void put_lines(const struct source *s, const char *text, uint32_t feature, uint32_t n)
{
    const uint32_t value[] = {(uint32_t)s->ensemble->n_trees, s->ensemble->n_columns, feature, n};
    while (*text) {
        const int wanted = is_wanted(s, *text++);
        const char *end = strchr(text, '\n');
        end = end ? end + 1 : text + strlen(text);
        while (text < end) {
            const size_t plain = strcspn(text, "$\n");
            const size_t size = plain + (text[plain] == '\n');
            if (wanted)
                rw_put_bytes(s->put, text, size);
            text += size;
            if (text < end && wanted)
                rw_put_format(s->put, "%u", value[strchr("txfn", text[1]) - "txfn"]);
            text += text < end ? 2 : 0;
        }
    }
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

/* Writes a table. C has no empty arrays. */
static void put_table(const struct source *s, int i)
{
    const struct rw_put *elements = &s->table[i].put;
    if (elements->n == 0 && !s->language->has_empty)
        return;
    put_lines(s, s->language->open[i], 0, 0);
    rw_put_bytes(s->put, elements->text, elements->n);
    put_lines(s, s->language->close[i], 0, 0);
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

static void put_words(const struct source *s)
{
    const struct language *language = s->language;
    const uint32_t n_columns = s->ensemble->n_columns;
    for (uint32_t i = 0; i < n_columns; i++) {
        const struct rw_ens_categories *of = words_of(s, i);
        for (uint32_t k = 0; of && k < of->n; k++) {
            put_lines(s, k ? language->word : language->words, i, of->n);
            put_word(s->put, of->word[k]);
        }
        if (of)
            put_lines(s, language->words_end, i, of->n);
    }
    put_lines(s, language->category, 0, 0);
    for (uint32_t i = 0; i < n_columns; i++) {
        if (words_of(s, i))
            put_lines(s, language->which, i, words_of(s, i)->n);
    }
    put_lines(s, language->category_end, 0, 0);
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
    put_lines(&s, language->head, 0, 0);
    put_trees(&s);
    for (int i = 0; i < N_TABLES; i++) {
        if (put->status == RW_OK)
            put->status = s.table[i].put.status;
        put_table(&s, i);
        if (i == LISTED && s.words)
            put_words(&s);
    }
    put_lines(&s, language->score, 0, 0);
    for (int i = 0; i < N_TABLES; i++)
        rw_put_release(&s.table[i].put);
    return put->status;
}

static const struct language c_texts = {
    .reads_float = 1,
    .leaf = "~",
    .node = "    {",
    .row = "    ",
    .comma = ", ",
    .node_end = "},\n",
    .row_end = ",\n",
    .open[NODES] = " static const struct {\n"
                   "     float cut;\n"
                   "     unsigned short feature;\n"
                   "     unsigned char missing_left;\n"
                   "     int left, right; /* ~i: leaf i */\n"
                   "c    int from, to; /* in listed: categories that go left; none: by cut */\n"
                   " } node[] = {\n",
    .close[NODES] = " };\n"
                    " \n",
    .open[LISTED] = " static const int listed[] = {\n",
    .close[LISTED] = " };\n"
                     " \n"
                     " static int is_listed(float v, int from, int to)\n"
                     " {\n"
                     "     const int end = to;\n"
                     "     while (from < to) {\n"
                     "         const int middle = from + (to - from) / 2;\n"
                     "         if ((float)listed[middle] < v)\n"
                     "             from = middle + 1;\n"
                     "         else\n"
                     "             to = middle;\n"
                     "     }\n"
                     "     return from < end && (float)listed[from] == v;\n"
                     " }\n"
                     " \n",
    .open[LEAVES] = " static const float leaf[] = {\n",
    .close[LEAVES] = " };\n"
                     " \n",
    .open[ROOTS] = " static const int root[] = {\n",
    .close[ROOTS] = " };\n"
                    " \n",
    .words = " static const char *const words_$f[] = {\n"
             "     ",
    .word = " ,\n"
            "     ",
    .words_end = " };\n"
                 " \n",
    .category = " float category(unsigned feature, const char *word)\n"
                " {\n"
                "     const char *const *words = 0;\n"
                "     int n = 0;\n",
    .which = "     if (feature == $f) {\n"
             "         words = words_$f;\n"
             "         n = $n;\n"
             "     }\n",
    .category_end = "     for (int i = 0; i < n; i++) {\n"
                    "         int k = 0;\n"
                    "         while (word[k] && word[k] == words[i][k])\n"
                    "             k++;\n"
                    "         if (word[k] == words[i][k])\n"
                    "             return (float)i;\n"
                    "     }\n"
                    "     return -1;\n"
                    " }\n"
                    " \n",
    .head =
        " /* A model of rankwood: $t trees. x: $x features, x[i] the one with the id i (less the "
        "base given\n"
        "  * to export), NaN where it is missing. Documents of a query rank by falling score. */\n"
        " double score(const float *x);\n"
        " \n"
        "w/* The x[feature] of a word, where categories are words. */\n"
        "wfloat category(unsigned feature, const char *word);\n"
        "w\n",
    .score =
        " double score(const float *x)\n"
        " {\n"
        "-    (void)x;\n"
        "0    return 0;\n"
        "t    double sum = 0;\n"
        "t    for (int t = 0; t < $t; t++) {\n"
        "t        int at = root[t];\n"
        "s        while (at >= 0) {\n"
        "s            const float v = x[node[at].feature];\n"
        "u            const int left = node[at].missing_left ? !(v > node[at].cut) : v <= "
        "node[at].cut;\n"
        "l            int left = node[at].missing_left ? !(v > node[at].cut) : v <= node[at].cut;\n"
        "l            if (node[at].from < node[at].to && v == v)\n"
        "l                left = is_listed(v, node[at].from, node[at].to);\n"
        "l            else if (node[at].from < node[at].to)\n"
        "l                left = node[at].missing_left;\n"
        "s            at = left ? node[at].left : node[at].right;\n"
        "s        }\n"
        "t        sum += (double)leaf[~at];\n"
        "t    }\n"
        "t    return sum;\n"
        " }\n",
};

static const struct language java_texts = {
    .has_empty = 1,
    .node = "            + \"",
    .row = "            + \"",
    .comma = " ",
    .node_end = " \"\n",
    .row_end = " \"\n",
    .chunk = "            , \"\"\n",
    .open[NODES] = "     private static final class Nodes {\n"
                   "         static final String[] TEXT = {\n"
                   "             \"\"\n",
    .close[NODES] = "         };\n"
                    "     }\n"
                    " \n",
    .open[LISTED] = "c    private static final class Listed {\n"
                    "c        static final String[] TEXT = {\n"
                    "c            \"\"\n",
    .close[LISTED] = "c        };\n"
                     "c    }\n"
                     "c\n",
    .open[LEAVES] = "     private static final class Leaves {\n"
                    "         static final String[] TEXT = {\n"
                    "             \"\"\n",
    .close[LEAVES] = "         };\n"
                     "     }\n"
                     " \n",
    .open[ROOTS] = "     private static final class Roots {\n"
                   "         static final String[] TEXT = {\n"
                   "             \"\"\n",
    .close[ROOTS] = "         };\n"
                    "     }\n"
                    " \n",
    .words = "     private static final class Words$f {\n"
             "         static final String[] WORD = {\n"
             "             ",
    .word = " ,\n"
            "             ",
    .words_end = " \n"
                 "         };\n"
                 "     }\n"
                 " \n",
    .category = "     /**\n"
                "      * Returns x[feature] for a word, in features whose categories are words; -1 "
                "if it is unknown.\n"
                "      *\n"
                "      * @throws IllegalArgumentException if the feature has no words\n"
                "      */\n"
                "     public static double category(int feature, String word) {\n"
                "         String[] words;\n"
                "         switch (feature) {\n",
    .which = "             case $f:\n"
             "                 words = Words$f.WORD;\n"
             "                 break;\n",
    .category_end = "             default:\n"
                    "                 throw new IllegalArgumentException(\"feature \" + feature + "
                    "\" has no words\");\n"
                    "         }\n"
                    "         String bytes = new String(word.getBytes(StandardCharsets.UTF_8), "
                    "StandardCharsets.ISO_8859_1);\n"
                    "         return Arrays.asList(words).indexOf(bytes);\n"
                    "     }\n"
                    " \n",
    .head = " import java.nio.charset.StandardCharsets;\n"
            " import java.util.Arrays;\n"
            " \n"
            " /**\n"
            "  * A model of rankwood: $t trees. x[i] is the feature with the id i (less the base "
            "given to export),\n"
            "  * NaN where it is missing. Documents of a query rank by falling score.\n"
            "  */\n"
            " public final class Model {\n"
            "     /** The length of x. */\n"
            "     public static final int N_FEATURES = $x;\n"
            " \n"
            "     private Model() {}\n"
            " \n"
            "     // Splits: threshold, feature, flags, left, right. Flag 1: missing values go "
            "left. ~i: leaf i.\n"
            "c    // Flag 2: the categories of Listed between two further numbers go left.\n",
    .score = "n    private static final int WIDTH = 5;\n"
             "c    private static final int WIDTH = 7;\n"
             "     private static final double[] CUT = column(numbers(Nodes.TEXT), WIDTH);\n"
             "     private static final int[] NODE = whole(numbers(Nodes.TEXT));\n"
             "     private static final double[] LEAF = numbers(Leaves.TEXT);\n"
             "     private static final int[] ROOT = whole(numbers(Roots.TEXT));\n"
             "c    private static final int[] LISTED = whole(numbers(Listed.TEXT));\n"
             " \n"
             "     private static double[] numbers(String[] text) {\n"
             "         return Arrays.stream(text)\n"
             "                 .flatMap(chunk -> Arrays.stream(chunk.split(\" \")))\n"
             "                 .filter(number -> !number.isEmpty())\n"
             "                 .mapToDouble(Double::parseDouble)\n"
             "                 .toArray();\n"
             "     }\n"
             " \n"
             "     private static int[] whole(double[] numbers) {\n"
             "         return Arrays.stream(numbers).mapToInt(number -> (int) number).toArray();\n"
             "     }\n"
             " \n"
             "     private static double[] column(double[] rows, int width) {\n"
             "         double[] first = new double[rows.length / width];\n"
             "         for (int i = 0; i < first.length; i++) {\n"
             "             first[i] = rows[i * width];\n"
             "         }\n"
             "         return first;\n"
             "     }\n"
             " \n"
             "c    private static boolean isListed(double v, int from, int to) {\n"
             "c        float category = (float) v;\n"
             "c        return category == (int) category && Arrays.binarySearch(LISTED, from, to, "
             "(int) category) >= 0;\n"
             "c    }\n"
             "c\n"
             "     /**\n"
             "      * Returns the score of a document. Any number of threads may call it.\n"
             "      *\n"
             "      * @throws IllegalArgumentException if the length of x is not N_FEATURES\n"
             "      */\n"
             "     public static double score(double[] x) {\n"
             "         if (x.length != N_FEATURES) {\n"
             "             throw new IllegalArgumentException(\n"
             "                     \"x has \" + x.length + \" values; expected \" + N_FEATURES);\n"
             "         }\n"
             "         double sum = 0;\n"
             "         for (int root : ROOT) {\n"
             "             int at = root;\n"
             "             while (at >= 0) {\n"
             "                 int node = at * WIDTH;\n"
             "                 double v = x[NODE[node + 1]];\n"
             "                 boolean left = v <= CUT[at];\n"
             "                 if (v != v) {\n"
             "                     left = (NODE[node + 2] & 1) != 0;\n"
             "c                } else if ((NODE[node + 2] & 2) != 0) {\n"
             "c                    left = isListed(v, NODE[node + 5], NODE[node + 6]);\n"
             "                 }\n"
             "                 at = NODE[left ? node + 3 : node + 4];\n"
             "             }\n"
             "             sum += LEAF[~at];\n"
             "         }\n"
             "         return sum;\n"
             "     }\n"
             " \n"
             "     /** Returns the scores of documents, each as by score. */\n"
             "     public static double[] scores(double[][] rows) {\n"
             "         return Arrays.stream(rows).mapToDouble(Model::score).toArray();\n"
             "     }\n"
             " }\n",
};

static const struct language go_texts = {
    .has_empty = 1,
    .node = "",
    .row = "",
    .comma = " ",
    .node_end = "\n",
    .row_end = "\n",
    .open[NODES] = " const nodeText = `\n",
    .close[NODES] = " `\n"
                    " \n",
    .open[LISTED] = "cconst listedText = `\n",
    .close[LISTED] = "c`\n"
                     "c\n",
    .open[LEAVES] = " const leafText = `\n",
    .close[LEAVES] = " `\n"
                     " \n",
    .open[ROOTS] = " const rootText = `\n",
    .close[ROOTS] = " `\n"
                    " \n",
    .words = " var words$f = []string{\n"
             " \t",
    .word = " ,\n"
            " \t",
    .words_end = " ,\n"
                 " }\n"
                 " \n",
    .category = " // Category returns x[feature] for a word, in features whose categories are "
                "words; -1 if it is\n"
                " // unknown. It panics if the feature has no words.\n"
                " func Category(feature int, word string) float64 {\n"
                " \tvar words []string\n"
                " \tswitch feature {\n",
    .which = " \tcase $f:\n"
             " \t\twords = words$f\n",
    .category_end = " \tdefault:\n"
                    " \t\tpanic(\"feature \" + strconv.Itoa(feature) + \" has no words\")\n"
                    " \t}\n"
                    " \tfor i, known := range words {\n"
                    " \t\tif known == word {\n"
                    " \t\t\treturn float64(i)\n"
                    " \t\t}\n"
                    " \t}\n"
                    " \treturn -1\n"
                    " }\n"
                    " \n",
    .head = " // Package model is a model of rankwood: $t trees. x[i] is the feature with the id i "
            "(less the base\n"
            " // given to export), NaN where it is missing. Documents of a query rank by falling "
            "score.\n"
            " package model\n"
            " \n"
            " import (\n"
            " \t\"strconv\"\n"
            " \t\"strings\"\n"
            " )\n"
            " \n"
            " // NFeatures is the length of x.\n"
            " const NFeatures = $x\n"
            " \n"
            " // Splits: threshold, feature, flags, left, right. Flag 1: missing values go left. "
            "~i: leaf i.\n"
            "c// Flag 2: the categories of listedText between two further numbers go left.\n",
    .score = " var (\n"
             " \tnodes  = splits()\n"
             " \tleaves = numbers(leafText)\n"
             " \troots  = numbers(rootText)\n"
             "c\tlisted = numbers(listedText)\n"
             " )\n"
             " \n"
             " type split struct {\n"
             " \tcut            float64\n"
             " \tfeature, flags int32\n"
             " \tleft, right    int32\n"
             "c\tfrom, to       int32\n"
             " }\n"
             " \n"
             " func numbers(text string) []float64 {\n"
             " \twords := strings.Fields(text)\n"
             " \tmade := make([]float64, len(words))\n"
             " \tfor i, word := range words {\n"
             " \t\tvalue, err := strconv.ParseFloat(word, 64)\n"
             " \t\tif err != nil {\n"
             " \t\t\tpanic(err)\n"
             " \t\t}\n"
             " \t\tmade[i] = value\n"
             " \t}\n"
             " \treturn made\n"
             " }\n"
             " \n"
             " func splits() []split {\n"
             "n\tconst width = 5\n"
             "c\tconst width = 7\n"
             " \trows := numbers(nodeText)\n"
             " \tmade := make([]split, len(rows)/width)\n"
             " \tfor i := range made {\n"
             " \t\tr := rows[i*width:]\n"
             "n\t\tmade[i] = split{r[0], int32(r[1]), int32(r[2]), int32(r[3]), int32(r[4])}\n"
             "c\t\tmade[i] = split{r[0], int32(r[1]), int32(r[2]), int32(r[3]), int32(r[4]), "
             "int32(r[5]), int32(r[6])}\n"
             " \t}\n"
             " \treturn made\n"
             " }\n"
             " \n"
             "cfunc isListed(v float64, from, to int32) bool {\n"
             "c\tcategory := float64(float32(v))\n"
             "c\tend := to\n"
             "c\tfor from < to {\n"
             "c\t\tmiddle := from + (to-from)/2\n"
             "c\t\tif listed[middle] < category {\n"
             "c\t\t\tfrom = middle + 1\n"
             "c\t\t} else {\n"
             "c\t\t\tto = middle\n"
             "c\t\t}\n"
             "c\t}\n"
             "c\treturn from < end && listed[from] == category\n"
             "c}\n"
             "c\n"
             " // Score returns the score of a document. It panics if the length of x is not "
             "NFeatures. Any number\n"
             " // of goroutines may call it.\n"
             " func Score(x []float64) float64 {\n"
             " \tif len(x) != NFeatures {\n"
             " \t\tpanic(\"x has \" + strconv.Itoa(len(x)) + \" values; expected \" + "
             "strconv.Itoa(NFeatures))\n"
             " \t}\n"
             " \tsum := 0.0\n"
             " \tfor _, root := range roots {\n"
             " \t\tat := int32(root)\n"
             " \t\tfor at >= 0 {\n"
             " \t\t\tnode := &nodes[at]\n"
             " \t\t\tv := x[node.feature]\n"
             " \t\t\tleft := v <= node.cut\n"
             " \t\t\tif v != v {\n"
             " \t\t\t\tleft = node.flags&1 != 0\n"
             "c\t\t\t} else if node.flags&2 != 0 {\n"
             "c\t\t\t\tleft = isListed(v, node.from, node.to)\n"
             " \t\t\t}\n"
             " \t\t\tif left {\n"
             " \t\t\t\tat = node.left\n"
             " \t\t\t} else {\n"
             " \t\t\t\tat = node.right\n"
             " \t\t\t}\n"
             " \t\t}\n"
             " \t\tsum += leaves[^at]\n"
             " \t}\n"
             " \treturn sum\n"
             " }\n"
             " \n"
             " // Scores returns the scores of documents, each as by Score.\n"
             " func Scores(rows [][]float64) []float64 {\n"
             " \tmade := make([]float64, len(rows))\n"
             " \tfor i, x := range rows {\n"
             " \t\tmade[i] = Score(x)\n"
             " \t}\n"
             " \treturn made\n"
             " }\n",
};

static const struct language python_texts = {
    .has_empty = 1,
    .node = "",
    .row = "",
    .comma = " ",
    .node_end = "\n",
    .row_end = "\n",
    .open[NODES] = " _NODES = \"\"\"\n",
    .close[NODES] = " \"\"\"\n"
                    " \n",
    .open[LISTED] = "c_LISTED = \"\"\"\n",
    .close[LISTED] = "c\"\"\"\n"
                     "c\n",
    .open[LEAVES] = " _LEAVES = \"\"\"\n",
    .close[LEAVES] = " \"\"\"\n"
                     " \n",
    .open[ROOTS] = " _ROOTS = \"\"\"\n",
    .close[ROOTS] = " \"\"\"\n"
                    " \n",
    .words = " _WORDS_$f = [\n"
             "     b",
    .word = " ,\n"
            "     b",
    .words_end = " ,\n"
                 " ]\n"
                 " \n",
    .category = " \n"
                " def category(feature, word):\n"
                "     \"\"\"Return x[feature] for a word, in features whose categories are words; "
                "-1.0 if it is unknown.\n"
                " \n"
                "     Raises KeyError if the feature has no words.\n"
                "     \"\"\"\n"
                "     words = {\n",
    .which = "         $f: _WORDS_$f,\n",
    .category_end = "     }[feature]\n"
                    "     key = word.encode()\n"
                    "     return float(words.index(key)) if key in words else -1.0\n"
                    " \n"
                    " \n",
    .head = " \"\"\"A model of rankwood: $t trees.\n"
            " \n"
            " x[i] is the feature with the id i (less the base given to export), NaN where it is "
            "missing.\n"
            " Documents of a query rank by falling score.\n"
            " \"\"\"\n"
            "c\n"
            "cfrom bisect import bisect_left\n"
            "cfrom struct import pack, unpack\n"
            " \n"
            " N_FEATURES = $x  # the length of x\n"
            " \n"
            " # Splits: threshold, feature, flags, left, right. Flag 1: missing values go left. "
            "~i: leaf i.\n"
            "c# Flag 2: the categories of _LISTED between two further numbers go left.\n",
    .score = " _NODE = [\n"
             "     (float(cut), *map(int, others))\n"
             "     for cut, *others in map(str.split, _NODES.strip().splitlines())\n"
             " ]\n"
             " _LEAF = [float(value) for value in _LEAVES.split()]\n"
             " _ROOT = [int(at) for at in _ROOTS.split()]\n"
             "c_CATEGORY = [int(category) for category in _LISTED.split()]\n"
             " \n"
             " \n"
             "cdef _is_listed(v, begin, end):\n"
             "c    if not -1 < v < 2**24:\n"
             "c        return False\n"
             "c    (v,) = unpack(\"f\", pack(\"f\", v))\n"
             "c    at = bisect_left(_CATEGORY, v, begin, end)\n"
             "c    return at < end and _CATEGORY[at] == v\n"
             "c\n"
             "c\n"
             " def score(x):\n"
             "     \"\"\"Return the score of a document. x: N_FEATURES numbers; another length "
             "raises ValueError.\"\"\"\n"
             "     x = [float(v) for v in x]\n"
             "     if len(x) != N_FEATURES:\n"
             "         raise ValueError(f\"x has {len(x)} values; expected {N_FEATURES}\")\n"
             "     total = 0.0\n"
             "     for at in _ROOT:\n"
             "         while at >= 0:\n"
             "n            cut, feature, flags, left, right = _NODE[at]\n"
             "c            cut, feature, flags, left, right, begin, end = _NODE[at]\n"
             "             v = x[feature]\n"
             "             is_left = v <= cut\n"
             "             if v != v:\n"
             "                 is_left = flags & 1\n"
             "c            elif flags & 2:\n"
             "c                is_left = _is_listed(v, begin, end)\n"
             "             at = left if is_left else right\n"
             "         total += _LEAF[~at]\n"
             "     return total\n"
             " \n"
             " \n"
             " def scores(rows):\n"
             "     \"\"\"Return the scores of documents, each as by score.\"\"\"\n"
             "     return [score(x) for x in rows]\n",
};

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
