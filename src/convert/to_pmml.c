/* PMML 4.4: a regression MiningModel that sums TreeModels, for JPMML, PMML4S and whatever else
 * reads PMML. Fields are floats, and thresholds are written with the digits of a double: a reader
 * that compares floats and one that makes doubles of everything part values where we do. A missing
 * value goes to the node's defaultChild; each child states its own comparison, so the order of
 * children means nothing. Leaf values are doubles, summed in the order of the trees. Nodes are
 * called n0, n1,
 * ... and leaves l0, l1, ... by their numbers in the model, which is what a reader's entityId
 * tells. */
#include <string.h>

#include "base/mem.h"
#include "convert/pmml_model.h"

/* Levels below a tree's root. XML parsers count: Java's takes 200 elements inside one another
 * (since Java 24), libxml2 256, and a leaf's comparison is seven further in than its depth. */
enum { DEEPEST = 190 };

/* ------------------------------------------------------------------ out */

struct writing {
    struct rw_ctx *ctx;
    const struct rw_ensemble *ensemble;
    struct rw_put *put;
    char **name;      /* [n_columns] as attributes have them; each owned, NULL: not a field */
    char target[32];  /* a name that no feature has */
    uint8_t *is_used; /* [n_columns] by the trees looked at; owned */
};

/* A name as it stands in an attribute. RW_ERR_UNSUPPORTED: characters that XML has not. */
static int escape(struct rw_ctx *ctx, const char *name, char **out)
{
    struct rw_put put = {.ctx = ctx};
    for (const char *c = name; *c; c++) {
        if (strncmp(c, "\xEF\xBF\xBE", 3) == 0 || strncmp(c, "\xEF\xBF\xBF", 3) == 0) {
            rw_mem_free(put.text);
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "the name '%s' has a character that 'pmml' cannot carry", name);
        }
        if (*c == '&')
            rw_put_text(&put, "&amp;");
        else if (*c == '<')
            rw_put_text(&put, "&lt;");
        else if (*c == '>')
            rw_put_text(&put, "&gt;");
        else if (*c == '"')
            rw_put_text(&put, "&quot;");
        else
            rw_put_bytes(&put, c, 1);
    }
    rw_put_bytes(&put, "", 1);
    if (put.status < 0)
        rw_mem_free(put.text);
    else
        *out = put.text;
    return put.status;
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
    RW_TRY(RW_NEW(w->ctx, w->name, e->n_columns));
    RW_TRY(RW_NEW(w->ctx, w->is_used, e->n_columns));
    for (uint32_t i = 0; i < e->n_columns; i++) {
        if (e->column_had[i])
            RW_TRY(escape(w->ctx, e->column_name[i], &w->name[i]));
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
        if (!w->is_used[i])
            continue;
        rw_put_text(w->put, "<MiningField name=\"");
        rw_put_text(w->put, w->name[i]);
        rw_put_text(w->put, is_model ? "\" invalidValueTreatment=\"asMissing\"/>\n" : "\"/>\n");
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
        if (!w->name[i])
            continue;
        rw_put_text(w->put, "<DataField name=\"");
        rw_put_text(w->put, w->name[i]);
        rw_put_text(w->put, "\" optype=\"continuous\" dataType=\"float\"/>\n");
    }
    rw_put_text(w->put, "</DataDictionary>\n");
}

static void put_id(struct rw_put *put, const struct rw_ens_tree *tree, int32_t node)
{
    const int32_t n_splits = tree->n_nodes / 2; /* they come first in a lowered tree */
    if (node < n_splits)
        rw_put_format(put, "\"n%d\"", node);
    else
        rw_put_format(put, "\"l%d\"", node - n_splits);
}

/* What remains to be written of a tree. */
struct step {
    int32_t node; /* < 0: only an end */
    int32_t parent, depth;
};

static void put_node(struct writing *w, const struct rw_ens_tree *tree, const struct step *at)
{
    const struct rw_ens_node *node = &tree->node[at->node];
    struct rw_put *put = w->put;
    rw_put_text(put, "<Node id=");
    put_id(put, tree, at->node);
    if (node->left < 0) {
        rw_put_text(put, " score=\"");
        rw_put_double(put, node->value);
        rw_put_text(put, "\">");
    } else {
        rw_put_text(put, " defaultChild=");
        put_id(put, tree, node->nan == RW_NAN_LEFT ? node->left : node->right);
        rw_put_text(put, ">");
    }
    if (at->parent < 0) {
        rw_put_text(put, "<True/>");
    } else {
        const struct rw_ens_node *parent = &tree->node[at->parent];
        rw_put_text(put, "<SimplePredicate field=\"");
        rw_put_text(put, w->name[parent->column]);
        rw_put_text(put, parent->left == at->node ? "\" operator=\"lessOrEqual\" value=\""
                                                  : "\" operator=\"greaterThan\" value=\"");
        /* Java orders -0 before 0 */
        rw_put_double(put, parent->threshold == 0 ? 0 : parent->threshold);
        rw_put_text(put, "\"/>");
    }
    rw_put_text(put, node->left < 0 ? "</Node>\n" : "\n");
}

static int put_nodes(struct writing *w, int32_t t)
{
    const struct rw_ens_tree *tree = &w->ensemble->tree[t];
    struct step *stack;
    size_t n = 1;
    int status = RW_OK;
    RW_TRY(RW_NEW_RAW(w->ctx, stack, 2 * (size_t)tree->n_nodes + 2));
    stack[0] = (struct step){0, -1, 0};
    while (n > 0) {
        const struct step at = stack[--n];
        if (at.node < 0) {
            rw_put_text(w->put, "</Node>\n");
            continue;
        }
        if (at.depth > DEEPEST) {
            status = rw_fail(w->ctx, RW_ERR_UNSUPPORTED,
                             "tree %d: deeper than %d levels, which readers of PMML may not take",
                             t + 1, DEEPEST);
            break;
        }
        put_node(w, tree, &at);
        const struct rw_ens_node *node = &tree->node[at.node];
        if (node->left < 0)
            continue;
        stack[n++] = (struct step){-1, -1, 0};
        stack[n++] = (struct step){node->right, at.node, at.depth + 1};
        stack[n++] = (struct step){node->left, at.node, at.depth + 1};
    }
    rw_mem_free(stack);
    return status;
}

static int put_all(struct writing *w)
{
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
        RW_TRY(put_nodes(w, t));
        rw_put_text(w->put, "</TreeModel>\n</Segment>\n");
    }
    rw_put_text(w->put, "</Segmentation>\n</MiningModel>\n</PMML>\n");
    return w->put->status;
}

static int write_pmml(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    struct writing w = {.ctx = ctx, .ensemble = ensemble, .put = put};
    if (ensemble->n_trees == 0)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "a model without trees is none in PMML, which needs a segment at least");
    const int status = put_all(&w);
    for (uint32_t i = 0; w.name && i < ensemble->n_columns; i++)
        rw_mem_free(w.name[i]);
    rw_mem_free(w.name);
    rw_mem_free(w.is_used);
    return status;
}

/* --verify reads back what was written; there is no import: PMML says far more than we take in. */
#define RULES(width)                                                         \
    {                                                                        \
        .value = width, .threshold = width, .sum = RW_F64, .nan_by_node = 1, \
        .absent = RW_ABSENT_NAN                                              \
    }
static const struct rw_consumer consumers[] = {
    {.name = "PMML", .rules = RULES(RW_F32)},
    {.name = "PMML4S", .rules = RULES(RW_F64)}, /* no number is a float there */
    {0},
};

const struct rw_model_format rw_to_pmml = {
    .name = "pmml",
    .about = "PMML 4.4: a MiningModel that sums TreeModels",
    .consumer = consumers,
    .names = RW_NAMES_ALL,
    .name_prefix = "f",
    .name_forbids = "",
    .write = write_pmml,
    .parse = rw_pmml_parse,
};
