/* The formats of RankLib and QuickRank, which share the XML of trees: <ensemble><tree id
 * weight><split>... RankLib's format begins with lines that start with ##. Only the first line
 * is required: "## LambdaMART", or "## MART", which is read but not written. Elasticsearch and
 * OpenSearch LTR read RankLib's format as "model/ranklib". QuickRank's format is
 * <ranker><info>...</info><ensemble>...</ensemble></ranker>. Values are floats, `value <=
 * threshold` goes left, ids start from 1, and absent features are 0. RankLib reads missing values
 * as 0, and adds leaves in float. QuickRank sends missing values right, and adds in double. */

#include "convert/convert.h"

/* ---- writing ---- */

/* Returns the indentation, up to a limit, so that the lines of a chain do not grow with its
 * length. */
static const char *tabs(int32_t depth)
{
    static const char all[] = "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t"
                              "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t";
    const int32_t most = (int32_t)sizeof(all) - 1;
    return all + (depth < most ? most - depth : 0);
}

static void begin_split(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const char *indent = user, *outer = tabs(at->depth + 2), *inner = tabs(at->depth + 3);
    const char *pos = at->parent < 0                              ? ""
                      : at->tree->node[at->parent].left == at->at ? " pos=\"left\""
                                                                  : " pos=\"right\"";
    rw_put_format(put, "%s%s<split%s>\n", indent, outer, pos);
    if (at->node->left < 0)
        rw_put_format(put, "%s%s<output> %lf </output>\n%s%s</split>\n", indent, inner,
                      at->node->value, indent, outer);
    else
        rw_put_format(put, "%s%s<feature> %u </feature>\n%s%s<threshold> %f </threshold>\n", indent,
                      inner, at->node->column, indent, inner, at->node->threshold);
}

static void end_split(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    rw_put_format(put, "%s%s</split>\n", (const char *)user, tabs(at->depth + 2));
}

/* Writes the trees, with each element on a separate line. RankLib takes blanks between two elements
 * of a line for a child. */
static int put_forest(const struct rw_ensemble *ensemble, const char *indent, struct rw_put *put)
{
    static const struct rw_walk walk = {begin_split, "", "", .finish = end_split};
    rw_put_format(put, "%s<ensemble>\n", indent);
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        rw_put_format(put, "%s\t<tree id=\"%d\" weight=\"%lf\">\n", indent, t + 1,
                      ensemble->tree[t].weight);
        RW_TRY(rw_walk_tree(&walk, ensemble, t, indent, put));
        rw_put_format(put, "%s\t</tree>\n", indent);
    }
    rw_put_format(put, "%s</ensemble>\n", indent);
    return put->status;
}

static int32_t most_leaves(const struct rw_ensemble *ensemble)
{
    int32_t most = 1;
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        const int32_t n_leaves = (ensemble->tree[t].n_nodes + 1) / 2;
        most = n_leaves > most ? n_leaves : most;
    }
    return most;
}

static int write_ranklib(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    rw_put_format(put, "## LambdaMART\n## No. of trees = %d\n## No. of leaves = %d\n\n",
                  ensemble->n_trees, most_leaves(ensemble));
    return put_forest(ensemble, "", put);
}

static int write_quickrank(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    rw_put_format(put,
                  "<?xml version=\"1.0\"?>\n<ranker>\n\t<info>\n\t\t<type>LAMBDAMART</type>\n"
                  "\t\t<trees>%d</trees>\n\t\t<leaves>%d</leaves>\n\t\t<shrinkage>1</shrinkage>\n"
                  "\t\t<leafsupport>1</leafsupport>\n\t\t<discretization>0</discretization>\n"
                  "\t\t<estop>0</estop>\n\t</info>\n",
                  ensemble->n_trees, most_leaves(ensemble));
    put_forest(ensemble, "\t", put);
    rw_put_text(put, "</ranker>\n");
    return put->status;
}

/* ---- reading ---- */

static uint32_t read_column(struct rw_source *source, const struct rw_xml *element)
{
    const char *text = rw_xml_text(element);
    uint64_t number = 0;
    if (!*text)
        rw_refuse_line(source, element->line, "<feature> is empty");
    else if (strlen(text) > 9 || !rw_number_whole(text, 999999999, &number))
        rw_refuse_line(source, element->line, "<feature>: expected an id, found '%.40s'", text);
    return (uint32_t)number;
}

/* Returns the element *at and advances *at to the next sibling, if the element has this name and
 * side. side: its attribute `pos`; NULL to accept any. Otherwise returns NULL. */
static const struct rw_xml *take(const struct rw_xml **at, const char *name, const char *side)
{
    const struct rw_xml *found = *at;
    const char *pos = found ? rw_xml_attribute(found, "pos") : NULL;
    if (!found || strcmp(found->name, name) != 0 || (side && (!pos || strcmp(pos, side) != 0)))
        return NULL;
    *at = found->next;
    return found;
}

/* Reads a node. A leaf has an <output> only. The elements of a split must be in the order in which
 * RankLib expects them, because it finds them by position. */
static void read_split(struct rw_source *source, const void *from, struct rw_ens_node *node,
                       const void *child[2], void *user)
{
    (void)user;
    const struct rw_xml *split = from, *at = split->child;
    const struct rw_xml *output = take(&at, "output", NULL);
    const struct rw_xml *feature = take(&at, "feature", NULL);
    const struct rw_xml *threshold = take(&at, "threshold", NULL);
    child[0] = take(&at, "split", "left");
    child[1] = take(&at, "split", "right");
    const int is_split = feature && threshold && child[0] && child[1] && !at;
    if (output ? output->next != NULL : !is_split) {
        rw_refuse_line(source, split->line,
                       "<split>: expected an <output>, or <feature>, <threshold> and two <split>, "
                       "pos left and right");
    } else if (output) {
        node->value = rw_xml_number(source, output, rw_xml_text(output));
    } else {
        node->column = read_column(source, feature);
        node->threshold = rw_xml_number(source, threshold, rw_xml_text(threshold));
    }
}

static void read_forest(struct rw_source *source, const struct rw_xml *forest)
{
    for (const struct rw_xml *at = forest->child; at && source->status == RW_OK; at = at->next) {
        const struct rw_xml *split = rw_xml_child(at, "split");
        const char *weight = rw_xml_attribute(at, "weight");
        if (strcmp(at->name, "tree") != 0)
            rw_refuse_line(source, at->line, "expected a <tree> in <ensemble>, found <%.40s>",
                           at->name);
        else if (!split || at->child != split || split->next)
            rw_refuse_line(source, at->line, "<tree>: expected one <split>");
        const double factor = weight ? rw_xml_number(source, at, weight) : 1;
        struct rw_ens_tree *tree =
            source->status == RW_OK ? rw_read_tree(source, split, read_split, NULL) : NULL;
        if (tree)
            tree->weight = factor;
    }
}

static int parse_ranklib(struct rw_source *source)
{
    const char *at = source->text, *const end = source->text + source->n;
    char first[41] = "";
    uint64_t line = 1;
    const char *stop = memchr(at, '\n', source->n);
    size_t n = stop ? (size_t)(stop - at) : source->n;
    while (n > 0 && (at[n - 1] == '\r' || at[n - 1] == ' '))
        n--;
    snprintf(first, sizeof(first), "%.*s", (int)(n < 40 ? n : 40), at);
    if (strlen(first) != n ||
        (strcmp(first, "## LambdaMART") != 0 && strcmp(first, "## MART") != 0))
        return rw_refuse(source, "line 1: expected '## LambdaMART' or '## MART', found '%s'",
                         first);
    for (; at < end && (*at == '#' || *at == '\n' || *at == '\r'); line++) {
        stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
    const struct rw_xml *root = rw_xml_parse(source, at, (size_t)(end - at), line);
    if (root && strcmp(root->name, "ensemble") != 0)
        rw_refuse(source, "expected <ensemble>, found <%.40s>", root->name);
    else if (root)
        read_forest(source, root);
    return source->status;
}

static int parse_quickrank(struct rw_source *source)
{
    const struct rw_xml *root = rw_xml_parse(source, source->text, source->n, 1);
    const struct rw_xml *forest = rw_xml_child(root, "ensemble");
    const struct rw_xml *type = rw_xml_child(rw_xml_child(root, "info"), "type");
    const char *text = type ? rw_xml_text(type) : "";
    if (root && strcmp(root->name, "ranker") != 0)
        rw_refuse(source, "expected <ranker>, found <%.40s>", root->name);
    else if (!*text)
        rw_refuse(source, "no <type> in <info>");
    else if (!strstr(text, "MART"))
        rw_refuse_line(source, type->line,
                       "unsupported <type> '%.40s': expected LAMBDAMART or MART", text);
    else if (strstr(text, "OBV"))
        rw_refuse_line(source, type->line, "unsupported oblivious trees ('%.40s')", text);
    else if (!forest)
        rw_refuse(source, "no <ensemble> in <ranker>");
    else
        read_forest(source, forest);
    return source->status;
}

const struct rw_model_format rw_to_ranklib = {
    .name = "ranklib",
    .about = "RankLib's LambdaMART; model/ranklib of OpenSearch and Elasticsearch LTR",
    .consumer = {{.name = "RankLib, Elasticsearch and OpenSearch LTR",
                  .rules = {.nan = RW_NAN_ZERO, .first_column = 1}}},
    .names = RW_NAMES_NONE,
    .imports = 1,
    .write = write_ranklib,
    .parse = parse_ranklib,
};

const struct rw_model_format rw_to_quickrank = {
    .name = "quickrank",
    .about = "QuickRank's XML",
    .consumer = {{.name = "QuickRank", .rules = {.sum = RW_F64, .first_column = 1}}},
    .names = RW_NAMES_NONE,
    .imports = 1,
    .write = write_quickrank,
    .parse = parse_quickrank,
};
