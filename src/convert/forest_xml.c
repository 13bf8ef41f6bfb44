#include "convert/forest_xml.h"

#include <string.h>

#include "base/mem.h"

/* ------------------------------------------------------------------ out */

/* What remains to be written of a tree. */
struct step {
    int32_t node; /* < 0: only the end of a split */
    int32_t depth;
    const char *pos; /* NULL: the root */
};

static void put_line(struct rw_put *put, const char *indent, int32_t depth, const char *text)
{
    enum { MOST = 40 }; /* a chain's lines would otherwise grow with its length */
    rw_put_text(put, indent);
    for (int32_t i = 0; i < depth && i < MOST; i++)
        rw_put_text(put, "\t");
    rw_put_text(put, text);
}

static void put_node(struct rw_put *put, const char *indent, const struct rw_ens_node *node,
                     const struct step *at)
{
    put_line(put, indent, at->depth, "<split");
    if (at->pos)
        rw_put_format(put, " pos=\"%s\"", at->pos);
    rw_put_text(put, ">\n");
    if (node->left < 0) {
        put_line(put, indent, at->depth + 1, "<output> ");
        rw_put_double(put, node->value);
        rw_put_text(put, " </output>\n");
        return;
    }
    put_line(put, indent, at->depth + 1, "<feature> ");
    rw_put_format(put, "%u </feature>\n", node->column);
    put_line(put, indent, at->depth + 1, "<threshold> ");
    rw_put_float(put, (float)node->threshold);
    rw_put_text(put, " </threshold>\n");
}

static int put_tree(struct rw_ctx *ctx, const struct rw_ens_tree *tree, const char *indent,
                    struct rw_put *put)
{
    struct step *stack;
    size_t n = 1;
    RW_TRY(RW_NEW_RAW(ctx, stack, 2 * (size_t)tree->n_nodes + 2));
    stack[0] = (struct step){0, 2, NULL};
    while (n > 0) {
        const struct step at = stack[--n];
        const struct rw_ens_node *node = at.node < 0 ? NULL : &tree->node[at.node];
        if (node)
            put_node(put, indent, node, &at);
        if (!node || node->left < 0) {
            put_line(put, indent, at.depth, "</split>\n");
            continue;
        }
        stack[n++] = (struct step){-1, at.depth, NULL};
        stack[n++] = (struct step){node->right, at.depth + 1, "right"};
        stack[n++] = (struct step){node->left, at.depth + 1, "left"};
    }
    rw_mem_free(stack);
    return RW_OK;
}

int rw_forest_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, const char *indent,
                    struct rw_put *put)
{
    put_line(put, indent, 0, "<ensemble>\n");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        put_line(put, indent, 1, "<tree id=\"");
        rw_put_format(put, "%d\" weight=\"", t + 1);
        rw_put_double(put, ensemble->tree[t].weight);
        rw_put_text(put, "\">\n");
        RW_TRY(put_tree(ctx, &ensemble->tree[t], indent, put));
        put_line(put, indent, 1, "</tree>\n");
    }
    put_line(put, indent, 0, "</ensemble>\n");
    return put->status;
}

/* ------------------------------------------------------------------ in */

static int parse_whole(struct rw_ctx *ctx, const struct rw_source *source,
                       const struct rw_xml_element *element, uint32_t *out)
{
    const char *text = element->text ? element->text : "";
    uint64_t number = 0;
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9' || n > 9)
            return rw_refuse(ctx, source, "line %llu: <feature>: expected an id, found '%.40s'",
                             (unsigned long long)element->line, text);
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    if (n == 0)
        return rw_refuse(ctx, source, "line %llu: <feature> is empty",
                         (unsigned long long)element->line);
    *out = (uint32_t)number;
    return RW_OK;
}

struct pending {
    int32_t element, node;
};

static int wrong_split(struct rw_ctx *ctx, const struct rw_source *source,
                       const struct rw_xml_element *split)
{
    return rw_refuse(ctx, source,
                     "line %llu: <split>: expected an <output>, or <feature>, <threshold> and two "
                     "<split>, pos left and right",
                     (unsigned long long)split->line);
}

static int parse_leaf(struct rw_ctx *ctx, const struct rw_source *source, const struct rw_xml *xml,
                      int32_t element, int32_t output, double *value)
{
    if (xml->element[output].next >= 0 || xml->element[element].child != output)
        return wrong_split(ctx, source, &xml->element[element]);
    return rw_xml_number(ctx, source, &xml->element[output], xml->element[output].text, value);
}

/* The children stand in a fixed order: RankLib takes them by place. */
static int parse_split(struct rw_ctx *ctx, const struct rw_source *source, const struct rw_xml *xml,
                       int32_t element, struct rw_ens_node *node, int32_t child[2])
{
    static const char *const names[] = {"feature", "threshold", "split", "split"};
    static const char *const places[] = {NULL, NULL, "left", "right"};
    int32_t part[4], at = xml->element[element].child;
    for (int i = 0; i < 4; i++, at = xml->element[at].next) {
        if (at < 0 || strcmp(xml->element[at].name, names[i]) != 0 ||
            (places[i] && (!xml->element[at].pos || strcmp(xml->element[at].pos, places[i]) != 0)))
            return wrong_split(ctx, source, &xml->element[element]);
        part[i] = at;
    }
    if (at >= 0)
        return wrong_split(ctx, source, &xml->element[element]);
    RW_TRY(parse_whole(ctx, source, &xml->element[part[0]], &node->column));
    RW_TRY(rw_xml_number(ctx, source, &xml->element[part[1]], xml->element[part[1]].text,
                         &node->threshold));
    child[0] = part[2];
    child[1] = part[3];
    return RW_OK;
}

static int parse_tree(struct rw_ctx *ctx, const struct rw_source *source, const struct rw_xml *xml,
                      int32_t root, struct rw_ens_tree *tree)
{
    struct pending *stack = NULL;
    size_t room = 0, n = 0;
    int32_t at;
    int status;
    RW_TRY_OUT(rw_ens_tree_add(ctx, tree, &at));
    RW_TRY_OUT(RW_GROW(ctx, stack, room, 2));
    stack[n++] = (struct pending){root, at};
    while (n > 0) {
        const struct pending now = stack[--n];
        const int32_t output = rw_xml_child(xml, now.element, "output");
        struct rw_ens_node *node = &tree->node[now.node];
        int32_t child[2] = {0, 0};
        if (output >= 0) {
            RW_TRY_OUT(parse_leaf(ctx, source, xml, now.element, output, &node->value));
            continue;
        }
        RW_TRY_OUT(parse_split(ctx, source, xml, now.element, node, child));
        RW_TRY_OUT(rw_ens_tree_split(ctx, tree, now.node));
        RW_TRY_OUT(RW_GROW(ctx, stack, room, n + 2));
        stack[n++] = (struct pending){child[1], tree->node[now.node].right};
        stack[n++] = (struct pending){child[0], tree->node[now.node].left};
    }
out:
    rw_mem_free(stack);
    return status;
}

int rw_forest_parse(struct rw_ctx *ctx, const struct rw_source *source, const struct rw_xml *xml,
                    int32_t ensemble_element, struct rw_ensemble *out)
{
    int32_t at = xml->element[ensemble_element].child;
    for (; at >= 0; at = xml->element[at].next) {
        const struct rw_xml_element *element = &xml->element[at];
        struct rw_ens_tree *tree;
        if (strcmp(element->name, "tree") != 0)
            return rw_refuse(ctx, source, "line %llu: <%.40s> in <ensemble>; expected a <tree>",
                             (unsigned long long)element->line, element->name);
        const int32_t split = rw_xml_child(xml, at, "split");
        if (split < 0 || element->child != split || xml->element[split].next >= 0)
            return rw_refuse(ctx, source, "line %llu: <tree>: expected one <split>",
                             (unsigned long long)element->line);
        RW_TRY(rw_ensemble_add_tree(ctx, out, 0, &tree));
        if (element->weight)
            RW_TRY(rw_xml_number(ctx, source, element, element->weight, &tree->weight));
        RW_TRY(parse_tree(ctx, source, xml, split, tree));
    }
    return RW_OK;
}
