/* Writes the model as C: one file without includes that defines double score(const float *x). It
 * consists of tables, because compilers accept them at any size, unlike nested ifs. Thresholds and
 * leaves are written as whole numbers times powers of two, which every C99 compiler reads exactly.
 * Categorical splits use a table of the categories that go left, which each split lists. If a
 * feature has words as categories, a second function, float category(unsigned feature, const char
 * *word), returns the value of x for a word, or -1 for an unknown word. */

#include "convert/convert.h"

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

/* Writes node `child` of tree t as an index of the table `node`, or as ~ an index of the table
 * `leaf`. splits_before: splits of earlier trees, each of which has one leaf more than splits. */
static void put_index(struct rw_put *put, const struct rw_ensemble *ensemble, int32_t t,
                      int32_t child, int32_t splits_before)
{
    const int32_t n_splits = rw_ens_n_splits(&ensemble->tree[t]);
    if (child < n_splits)
        rw_put_format(put, "%d", splits_before + child);
    else
        rw_put_format(put, "~%d", splits_before + t + child - n_splits);
}

/* Writes the elements of four tables: the splits and the leaves of all trees, the root of each
 * tree, and the categories that splits list. */
static void put_trees(const struct rw_ensemble *ensemble, struct rw_put *nodes,
                      struct rw_put *leaves, struct rw_put *roots, struct rw_put *listed)
{
    int32_t splits = 0;
    size_t n_listed = 0;
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &ensemble->tree[t];
        const int32_t n_splits = rw_ens_n_splits(tree);
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            const struct rw_ens_node *node = &tree->node[i];
            struct rw_put *put = i < n_splits ? nodes : leaves;
            rw_put_text(put, i < n_splits ? "    {" : "    ");
            put_exact(put, (float)(i < n_splits ? node->threshold : node->value));
            if (i < n_splits) {
                rw_put_format(put, ", %u, %d, ", node->column, node->nan == RW_NAN_LEFT);
                put_index(put, ensemble, t, node->left, splits);
                rw_put_text(put, ", ");
                put_index(put, ensemble, t, node->right, splits);
                if (ensemble->categories)
                    rw_put_format(put, ", %zu, %zu", n_listed, n_listed + node->n_listed);
                for (uint32_t k = 0; k < node->n_listed; k++)
                    rw_put_format(listed, "%s%u%s", k % 12 == 0 ? "    " : " ", node->listed[k],
                                  k % 12 == 11 || k + 1 == node->n_listed ? ",\n" : ",");
                n_listed += node->n_listed;
            }
            rw_put_text(put, i < n_splits ? "},\n" : ",\n");
        }
        rw_put_text(roots, "    ");
        put_index(roots, ensemble, t, 0, splits);
        rw_put_text(roots, ",\n");
        splits += n_splits;
    }
    if (n_listed > INT32_MAX)
        rw_put_refuse(nodes, "too many categories in splits: their number exceeds an int");
}

/* Writes a table unless it is empty, as C has no empty arrays. */
static void put_table(struct rw_put *put, const char *type, const char *name,
                      struct rw_put *elements)
{
    if (elements->n > 0) {
        rw_put_format(put, "static const %s%s[] = {\n", type, name);
        rw_put_bytes(put, elements->text, elements->n);
        rw_put_text(put, "};\n\n");
    }
    if (put->status == RW_OK)
        put->status = elements->status;
    rw_mem_free(elements->text);
}

/* Writes a word as a C string, with special characters in octal. */
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

static int has_words(const struct rw_ensemble *ensemble)
{
    int any = 0;
    for (uint32_t i = 0; i < ensemble->n_columns; i++) {
        const struct rw_ens_categories *of = rw_ens_categories_of(ensemble, i);
        any |= of && of->word;
    }
    return any;
}

static void put_words(struct rw_put *put, const struct rw_ensemble *ensemble)
{
    for (uint32_t i = 0; i < ensemble->n_columns; i++) {
        const struct rw_ens_categories *of = rw_ens_categories_of(ensemble, i);
        for (uint32_t k = 0; of && of->word && k < of->n; k++) {
            rw_put_format(put, k ? ",\n    " : "static const char *const words_%u[] = {\n    ", i);
            put_word(put, of->word[k]);
        }
        if (of && of->word)
            rw_put_text(put, "};\n\n");
    }
    rw_put_text(put, "float category(unsigned feature, const char *word)\n{\n"
                     "    const char *const *words = 0;\n"
                     "    int n = 0;\n");
    for (uint32_t i = 0; i < ensemble->n_columns; i++) {
        const struct rw_ens_categories *of = rw_ens_categories_of(ensemble, i);
        if (of && of->word)
            rw_put_format(put,
                          "    if (feature == %u) {\n"
                          "        words = words_%u;\n"
                          "        n = %u;\n"
                          "    }\n",
                          i, i, of->n);
    }
    rw_put_text(put, "    for (int i = 0; i < n; i++) {\n"
                     "        int k = 0;\n"
                     "        while (word[k] && word[k] == words[i][k])\n"
                     "            k++;\n"
                     "        if (word[k] == words[i][k])\n"
                     "            return (float)i;\n"
                     "    }\n"
                     "    return -1;\n"
                     "}\n\n");
}

static void put_search(struct rw_put *put)
{
    rw_put_text(put, "static int is_listed(float v, int from, int to)\n{\n"
                     "    const int end = to;\n"
                     "    while (from < to) {\n"
                     "        const int middle = from + (to - from) / 2;\n"
                     "        if ((float)listed[middle] < v)\n"
                     "            from = middle + 1;\n"
                     "        else\n"
                     "            to = middle;\n"
                     "    }\n"
                     "    return from < end && (float)listed[from] == v;\n"
                     "}\n\n");
}

static void put_function(struct rw_put *put, const struct rw_ensemble *ensemble, int64_t n_splits,
                         int lists)
{
    rw_put_text(put, "double score(const float *x)\n{\n");
    if (ensemble->n_trees == 0) {
        rw_put_text(put, "    (void)x;\n    return 0;\n}\n");
        return;
    }
    if (n_splits == 0)
        rw_put_text(put, "    (void)x;\n");
    rw_put_format(put,
                  "    double sum = 0;\n"
                  "    for (int t = 0; t < %d; t++) {\n"
                  "        int at = root[t];\n",
                  ensemble->n_trees);
    if (n_splits > 0)
        rw_put_format(put,
                      "        while (at >= 0) {\n"
                      "            const float v = x[node[at].feature];\n"
                      "            %sint left = node[at].missing_left ? !(v > node[at].cut) : "
                      "v <= node[at].cut;\n",
                      lists ? "" : "const ");
    if (lists)
        rw_put_text(put, "            if (node[at].from < node[at].to && v == v)\n"
                         "                left = is_listed(v, node[at].from, node[at].to);\n"
                         "            else if (node[at].from < node[at].to)\n"
                         "                left = node[at].missing_left;\n");
    if (n_splits > 0)
        rw_put_text(put, "            at = left ? node[at].left : node[at].right;\n"
                         "        }\n");
    rw_put_text(put, "        sum += (double)leaf[~at];\n"
                     "    }\n"
                     "    return sum;\n"
                     "}\n");
}

static int write_c(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    struct rw_put nodes = {.ctx = put->ctx}, leaves = nodes, roots = nodes, listed = nodes;
    int64_t n_splits = 0;
    for (int32_t t = 0; t < ensemble->n_trees; t++)
        n_splits += rw_ens_n_splits(&ensemble->tree[t]);
    const int64_t n_leaves = n_splits + ensemble->n_trees;
    if (n_leaves > INT32_MAX)
        return rw_put_refuse(put, "too many leaves: %lld exceeds an int", (long long)n_leaves);
    rw_put_format(
        put,
        "/* A model of rankwood: %d trees. x: %u features, x[i] the one with the id i (less "
        "the base given\n"
        " * to export), NaN where it is missing. Documents of a query rank by falling "
        "score. */\n"
        "double score(const float *x);\n\n",
        ensemble->n_trees, ensemble->n_columns);
    if (has_words(ensemble))
        rw_put_text(put, "/* The x[feature] of a word, where categories are words. */\n"
                         "float category(unsigned feature, const char *word);\n\n");
    put_trees(ensemble, &nodes, &leaves, &roots, &listed);
    if (put->status == RW_OK)
        put->status = listed.status; /* its status matters only if it has elements */
    const int lists = listed.n > 0;
    put_table(
        put,
        "struct {\n"
        "    float cut;\n"
        "    unsigned short feature;\n"
        "    unsigned char missing_left;\n"
        "    int left, right; /* ~i: leaf i */\n",
        ensemble->categories
            ? "    int from, to; /* in listed: categories that go left; none: by cut */\n} node"
            : "} node",
        &nodes);
    if (lists) {
        put_table(put, "int ", "listed", &listed);
        put_search(put);
    }
    if (has_words(ensemble))
        put_words(put, ensemble);
    put_table(put, "float ", "leaf", &leaves);
    put_table(put, "int ", "root", &roots);
    put_function(put, ensemble, n_splits, lists);
    return put->status;
}

/* C is not parsed, so `parse` is NULL. Tests compile the file. */
const struct rw_model_format rw_to_c = {
    .name = "c",
    .about = "C: one file, double score(const float *x)",
    .consumer = {{.name = "C",
                  .rules = {.sum = RW_F64, .nan_by_node = 1, .absent = RW_ABSENT_AS_MODEL}}},
    .names = RW_NAMES_NONE,
    .categories = RW_SAYS_WORDS,
    .most_category = 16777215, /* exact in float */
    .write = write_c,
};
