/* PMML 4.4: a regression MiningModel that sums TreeModels, for JPMML, PMML4S and whatever else
 * reads PMML. Fields are floats, and thresholds are written with the digits of a double: a reader
 * that compares floats and one that makes doubles of everything part values where we do. A missing
 * value goes to the node's defaultChild; each child states its own comparison, so the order of
 * children means nothing. Leaf values are doubles, summed in the order of the trees. Nodes are
 * called n0, n1, ... and leaves l0, l1, ... by their numbers in the model, which is what a reader's
 * entityId tells. A feature by categories is a field of texts, or of doubles, for PMML4S knows no
 * missing value of a field of integers; a node asks whether its value is in an array, and where a
 * missing value goes is no question of the array. --verify reads back
 * what was written; there is no import: PMML says far more than we take in. */
#include <string.h>

#include "base/mem.h"
#include "convert/pmml_read.h"

struct writing {
    const struct rw_ensemble *ensemble;
    struct rw_put *put;
    char **name;      /* [n_columns] as attributes have them; each owned, NULL: not a field */
    char target[32];  /* a name that no feature has */
    uint8_t *is_used; /* [n_columns] by the trees looked at; owned */
};

/* A name as it stands in an attribute. RW_ERR_UNSUPPORTED: characters that XML has not. */
static int escape(struct rw_put *to, const char *name, char **out)
{
    static const char special[] = "&<>\"";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    struct rw_put put = {.ctx = to->ctx};
    for (const char *c = name; *c; c++) {
        const char *found = strchr(special, *c);
        if (strncmp(c, "\xEF\xBF\xBE", 3) == 0 || strncmp(c, "\xEF\xBF\xBF", 3) == 0)
            rw_put_refuse(&put, "the name '%s' has a character that 'pmml' cannot carry", name);
        rw_put_bytes(&put, found ? entities[found - special] : c,
                     found ? strlen(entities[found - special]) : 1);
    }
    rw_put_bytes(&put, "", 1);
    *out = put.text;
    return to->status = put.status;
}

/* "score", or "score2", ...: n_columns + 1 names cannot all be taken. */
static void name_target(struct writing *w)
{
    uint32_t number = 1, i = 0;
    strcpy(w->target, "score");
    while (i < w->ensemble->n_columns) {
        if (!w->name[i] || strcmp(w->name[i], w->target) != 0) {
            i++;
            continue;
        }
        snprintf(w->target, sizeof(w->target), "score%u", ++number);
        i = 0;
    }
}

static int name_fields(struct writing *w)
{
    const struct rw_ensemble *e = w->ensemble;
    RW_TRY(RW_NEW(w->put->ctx, w->name, e->n_columns));
    RW_TRY(RW_NEW(w->put->ctx, w->is_used, e->n_columns));
    for (uint32_t i = 0; i < e->n_columns; i++) {
        if (e->column_had[i])
            RW_TRY(escape(w->put, e->column_name[i], &w->name[i]));
    }
    name_target(w);
    return RW_OK;
}

static void mark_used(struct writing *w, const struct rw_ens_tree *tree)
{
    for (int32_t i = 0; i < tree->n_nodes; i++) {
        if (tree->node[i].left >= 0)
            w->is_used[tree->node[i].column] = 1;
    }
}

/* The fields of the trees looked at, which then are forgotten. A MiningSchema has a field at least;
 * that of a tree that uses none has the target, too. The model's own says that NaN is missing,
 * where JPMML would refuse it. */
static void put_schema(struct writing *w, int is_model)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->ensemble->n_columns; i++)
        n += w->is_used[i];
    rw_put_text(w->put, "<MiningSchema>\n");
    if (is_model || n == 0)
        rw_put_format(w->put, "<MiningField name=\"%s\" usageType=\"target\"/>\n", w->target);
    for (uint32_t i = 0; i < w->ensemble->n_columns; i++) {
        if (w->is_used[i])
            rw_put_format(w->put, "<MiningField name=\"%s\"%s/>\n", w->name[i],
                          is_model ? " invalidValueTreatment=\"asMissing\"" : "");
    }
    rw_put_text(w->put, "</MiningSchema>\n");
    memset(w->is_used, 0, w->ensemble->n_columns);
}

static void put_dictionary(struct writing *w)
{
    rw_put_format(w->put,
                  "<DataDictionary>\n"
                  "<DataField name=\"%s\" optype=\"continuous\" dataType=\"double\"/>\n",
                  w->target);
    for (uint32_t i = 0; i < w->ensemble->n_columns; i++) {
        const struct rw_ens_categories *of = rw_ens_categories_of(w->ensemble, i);
        if (w->name[i])
            rw_put_format(w->put, "<DataField name=\"%s\" optype=\"%s\" dataType=\"%s\"/>\n",
                          w->name[i], of ? "categorical" : "continuous",
                          !of        ? "float"
                          : of->word ? "string"
                                     : "double");
    }
    rw_put_text(w->put, "</DataDictionary>\n");
}

static void put_id(struct rw_put *put, const struct rw_ens_tree *tree, int32_t node)
{
    const int32_t n_splits = rw_ens_n_splits(tree);
    if (node < n_splits)
        rw_put_format(put, "\"n%d\"", node);
    else
        rw_put_format(put, "\"l%d\"", node - n_splits);
}

/* A text of an array stands in quotes; readers differ about quotes and backslashes inside. */
static void put_word(struct rw_put *put, const char *field, const char *word)
{
    char *escaped = NULL;
    for (const char *c = word; *c; c++) {
        if ((unsigned char)*c < 32 || *c == 127 || *c == '\\' || *c == '"')
            rw_put_refuse(
                put,
                "feature '%.64s': the category '%.64s' has a character that 'pmml' cannot "
                "carry",
                field, word);
    }
    if (put->status == RW_OK && escape(put, word, &escaped) == RW_OK)
        rw_put_format(put, "\"%s\"", escaped);
    rw_mem_free(escaped);
}

/* Categories of the left child, or all others: those of the right one. */
static void put_set(struct rw_put *put, const struct writing *w, const struct rw_ens_node *split,
                    int is_left)
{
    const struct rw_ens_categories *of = rw_ens_categories_of(w->ensemble, split->column);
    const char *name = w->name[split->column];
    if (split->n_listed == 0 && split->nan == RW_NAN_RIGHT)
        rw_put_refuse(put, "a split by categories that parts nothing, which 'pmml' cannot say");
    if (split->n_listed == 0) {
        rw_put_format(put, "<SimplePredicate field=\"%s\" operator=\"%s\"/>", name,
                      is_left ? "isMissing" : "isNotMissing");
        return;
    }
    rw_put_format(put,
                  "<SimpleSetPredicate field=\"%s\" booleanOperator=\"%s\"><Array n=\"%u\" "
                  "type=\"%s\">",
                  name, is_left ? "isIn" : "isNotIn", split->n_listed, of->word ? "string" : "int");
    for (uint32_t k = 0; k < split->n_listed; k++) {
        rw_put_text(put, k ? " " : "");
        if (of->word)
            put_word(put, name, of->word[split->listed[k]]);
        else
            rw_put_format(put, "%u", split->listed[k]);
    }
    rw_put_text(put, "</Array></SimpleSetPredicate>");
}

static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct writing *w = user;
    const struct rw_ens_node *node = at->node;
    rw_put_text(put, "<Node id=");
    put_id(put, at->tree, at->at);
    if (node->has_cover)
        rw_put_format(put, " recordCount=\"%lf\"", node->docs);
    if (node->left < 0) {
        rw_put_format(put, " score=\"%lf\">", node->value);
    } else {
        rw_put_text(put, " defaultChild=");
        put_id(put, at->tree, node->nan == RW_NAN_LEFT ? node->left : node->right);
        rw_put_text(put, ">");
    }
    if (at->parent < 0) {
        rw_put_text(put, "<True/>");
    } else {
        const struct rw_ens_node *parent = &at->tree->node[at->parent];
        if (parent->by_category)
            put_set(put, w, parent, parent->left == at->at);
        else /* Java orders -0 before 0 */
            rw_put_format(put, "<SimplePredicate field=\"%s\" operator=\"%s\" value=\"%lf\"/>",
                          w->name[parent->column],
                          parent->left == at->at ? "lessOrEqual" : "greaterThan",
                          parent->threshold == 0 ? 0 : parent->threshold);
    }
    rw_put_text(put, node->left < 0 ? "</Node>\n" : "\n");
}

static int put_all(struct writing *w)
{
    /* XML parsers count levels: Java's takes 200 elements inside one another (since Java 24),
     * libxml2 256, and a leaf's comparison is seven further in than its depth. */
    static const struct rw_walk walk = {begin_node, "", "</Node>\n", .deepest = 190};
    const struct rw_ensemble *e = w->ensemble;
    RW_TRY(name_fields(w));
    rw_put_text(w->put, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<PMML xmlns=\"" RW_PMML_NAMESPACE "\" version=\"4.4\">\n"
                        "<Header><Application name=\"Rankwood\"/></Header>\n");
    put_dictionary(w);
    rw_put_text(w->put, "<MiningModel functionName=\"regression\">\n");
    for (int32_t t = 0; t < e->n_trees; t++)
        mark_used(w, &e->tree[t]);
    put_schema(w, 1);
    rw_put_text(w->put, "<Segmentation multipleModelMethod=\"sum\">\n");
    for (int32_t t = 0; t < e->n_trees; t++) {
        rw_put_format(
            w->put,
            "<Segment id=\"%d\"><True/>\n"
            "<TreeModel functionName=\"regression\" "
            "missingValueStrategy=\"defaultChild\" splitCharacteristic=\"binarySplit\">\n",
            t + 1);
        mark_used(w, &e->tree[t]);
        put_schema(w, 0);
        RW_TRY(rw_walk_tree(&walk, e, t, w, w->put));
        rw_put_text(w->put, "</TreeModel>\n</Segment>\n");
    }
    rw_put_text(w->put, "</Segmentation>\n</MiningModel>\n</PMML>\n");
    return w->put->status;
}

static int write_pmml(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    struct writing w = {.ensemble = ensemble, .put = put};
    if (ensemble->n_trees == 0)
        return rw_put_refuse(
            put, "a model without trees is none in PMML, which needs a segment at least");
    const int status = put_all(&w);
    for (uint32_t i = 0; w.name && i < ensemble->n_columns; i++)
        rw_mem_free(w.name[i]);
    rw_mem_free(w.name);
    rw_mem_free(w.is_used);
    return status;
}

const struct rw_model_format rw_to_pmml = {
    .name = "pmml",
    .about = "PMML 4.4: a MiningModel that sums TreeModels",
    .consumer =
        {{.name = "PMML",
          .rules = {.sum = RW_F64, .nan_by_node = 1, .lists_none = 1, .absent = RW_ABSENT_NAN}},
         /* no number is a float there */
         {.name = "PMML4S",
          .rules = {.value = RW_F64,
                    .threshold = RW_F64,
                    .sum = RW_F64,
                    .nan_by_node = 1,
                    .lists_none = 1,
                    .absent = RW_ABSENT_NAN}}},
    .names = RW_NAMES_ALL,
    .categories = RW_SAYS_WORDS,
    .most_category = RW_MAX_CATEGORY_ID,
    .write = write_pmml,
    .parse = rw_pmml_parse,
};
