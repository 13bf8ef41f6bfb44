/* Reads what to_pmml.c writes, so that --verify scores by the file itself. Whatever else PMML can
 * say is refused. Nothing of it is recursive, and no tree of elements is built: files have
 * millions. */
#include <expat.h>
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "convert/pmml_model.h"

enum element {
    E_NONE, /* outside */
    E_PMML,
    E_HEADER,
    E_APPLICATION,
    E_DICTIONARY,
    E_FIELD,
    E_MODEL,
    E_SCHEMA,
    E_MINED,
    E_SEGMENTS,
    E_SEGMENT,
    E_TREE,
    E_NODE,
    E_TRUE,
    E_PREDICATE
};

/* Where an element may stand. */
static const struct {
    const char *name;
    enum element is, in;
} places[] = {
    {"PMML", E_PMML, E_NONE},
    {"Header", E_HEADER, E_PMML},
    {"Application", E_APPLICATION, E_HEADER},
    {"DataDictionary", E_DICTIONARY, E_PMML},
    {"DataField", E_FIELD, E_DICTIONARY},
    {"MiningModel", E_MODEL, E_PMML},
    {"MiningSchema", E_SCHEMA, E_MODEL},
    {"MiningSchema", E_SCHEMA, E_TREE},
    {"MiningField", E_MINED, E_SCHEMA},
    {"Segmentation", E_SEGMENTS, E_MODEL},
    {"Segment", E_SEGMENT, E_SEGMENTS},
    {"True", E_TRUE, E_SEGMENT},
    {"TreeModel", E_TREE, E_SEGMENT},
    {"Node", E_NODE, E_TREE},
    {"Node", E_NODE, E_NODE},
    {"True", E_TRUE, E_NODE},
    {"SimplePredicate", E_PREDICATE, E_NODE},
};

/* Attributes that decide how a document is scored. */
static const struct {
    enum element of;
    const char *name, *value;
} fixed[] = {
    {E_PMML, "xmlns", RW_PMML_NAMESPACE},
    {E_PMML, "version", "4.4"},
    {E_FIELD, "optype", "continuous"},
    {E_MODEL, "functionName", "regression"},
    {E_SEGMENTS, "multipleModelMethod", "sum"},
    {E_TREE, "functionName", "regression"},
    {E_TREE, "missingValueStrategy", "defaultChild"},
};

/* A node that has not ended. */
struct open_node {
    int32_t at;       /* its place in the tree */
    int32_t id;       /* code_of its id */
    int32_t goes_to;  /* code_of its defaultChild; -1: a leaf */
    int32_t child[2]; /* code_of */
    int n_children, n_predicates;
};

struct reading {
    struct rw_ctx *ctx;
    const struct rw_source *source;
    XML_Parser parser;
    struct rw_ensemble *out;
    json_t *column; /* name -> place; of the fields so far, or of all that there were */
    uint32_t n_fields, n_targets;
    enum element in[8]; /* around the nodes */
    int32_t n_in;
    struct open_node *node; /* [n_nodes] from the root to the innermost; owned */
    size_t room;
    int32_t n_nodes;
    int is_leaf_of_xml; /* inside an element of the innermost node */
    int status;
};

static uint64_t line_of(const struct reading *r)
{
    return (uint64_t)XML_GetCurrentLineNumber(r->parser);
}

static int refuse(const struct reading *r, const char *what)
{
    return rw_refuse(r->ctx, r->source, "line %llu: %s", (unsigned long long)line_of(r), what);
}

static const char *attribute(const char **list, const char *name)
{
    for (; list[0]; list += 2) {
        if (strcmp(list[0], name) == 0)
            return list[1];
    }
    return NULL;
}

static int read_number(const struct reading *r, const char *text, double *out)
{
    int clamped = 0;
    const char *end = text + strlen(text);
    if (rw_number_parse_double(text, end, out, &clamped) != end || clamped)
        return rw_refuse(r->ctx, r->source, "line %llu: expected a number, found '%.40s'",
                         (unsigned long long)line_of(r), text);
    return RW_OK;
}

/* "n7" is 14, "l7" is 15; -1: neither. */
static int32_t code_of(const char *id)
{
    int32_t number = 0;
    if (!id || (*id != 'n' && *id != 'l') || id[1] == 0 || strlen(id) > 9)
        return -1;
    for (const char *c = id + 1; *c; c++) {
        if (*c < '0' || *c > '9')
            return -1;
        number = number * 10 + (*c - '0');
    }
    return number * 2 + (*id == 'l');
}

static int begin_field(struct reading *r, const char **list)
{
    const char *name = attribute(list, "name"), *type = attribute(list, "dataType");
    const int is_target = type && strcmp(type, "double") == 0;
    if (!name || !type || (!is_target && strcmp(type, "float") != 0))
        return refuse(r, "expected a <DataField> with a name, a float or (the score) a double");
    r->n_targets += (uint32_t)is_target;
    if (is_target)
        return RW_OK;
    if (r->source->names) {
        if (!json_object_get(r->column, name))
            return refuse(r, "a <DataField> that is no feature of the model");
        return RW_OK;
    }
    if (json_object_get(r->column, name))
        return refuse(r, "two <DataField> of the same name");
    if (json_object_set_new(r->column, name, json_integer(r->n_fields)) < 0)
        return rw_fail(r->ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", r->source->path);
    r->n_fields++;
    return RW_OK;
}

static struct rw_ens_tree *tree_of(const struct reading *r)
{
    return &r->out->tree[r->out->n_trees - 1];
}

static int begin_node(struct reading *r, const char **list)
{
    const char *score = attribute(list, "score"), *goes_to = attribute(list, "defaultChild");
    struct rw_ens_tree *tree = tree_of(r);
    struct open_node node = {.id = code_of(attribute(list, "id")), .goes_to = code_of(goes_to)};
    if (node.id < 0 || !score == !goes_to || (goes_to && node.goes_to < 0))
        return refuse(r, "expected a <Node> with an id, and a score or a defaultChild");
    if (r->n_nodes == 0 && tree->n_nodes > 0)
        return refuse(r, "a second root");
    if (r->n_nodes == 0) {
        RW_TRY(rw_ens_tree_add(r->ctx, tree, &node.at));
    } else {
        struct open_node *parent = &r->node[r->n_nodes - 1];
        if (parent->goes_to < 0 || parent->n_children == 2)
            return refuse(r, "expected no <Node> below a leaf, and two below another node");
        if (parent->n_children == 0)
            RW_TRY(rw_ens_tree_split(r->ctx, tree, parent->at));
        node.at =
            parent->n_children == 0 ? tree->node[parent->at].left : tree->node[parent->at].right;
        parent->child[parent->n_children++] = node.id;
    }
    if (score)
        RW_TRY(read_number(r, score, &tree->node[node.at].value));
    RW_TRY(RW_GROW(r->ctx, r->node, r->room, (size_t)r->n_nodes + 1));
    r->node[r->n_nodes++] = node;
    return RW_OK;
}

/* The first child's comparison is its parent's split; the second's must be the contrary. */
static int begin_predicate(struct reading *r, const char **list)
{
    struct open_node *node = &r->node[r->n_nodes - 1];
    const char *field = attribute(list, "field"), *value = attribute(list, "value");
    const char *comparison = attribute(list, "operator");
    double threshold;
    if (r->n_nodes == 1 || node->n_predicates++ > 0 || node->n_children > 0)
        return refuse(r, "expected one comparison in a <Node>, none in a root");
    if (!field || !value || !comparison)
        return refuse(r, "expected a <SimplePredicate> with a field, an operator and a value");
    RW_TRY(read_number(r, value, &threshold));
    const json_t *column = json_object_get(r->column, field);
    if (!column)
        return refuse(r, "a <SimplePredicate> on no <DataField>");
    const struct open_node *parent = &r->node[r->n_nodes - 2];
    struct rw_ens_node *split = &tree_of(r)->node[parent->at];
    const uint32_t place = (uint32_t)json_integer_value(column);
    if (parent->n_children == 1) {
        if (strcmp(comparison, "lessOrEqual") != 0)
            return refuse(r, "expected lessOrEqual in the first child");
        split->column = place;
        split->threshold = threshold;
    } else if (strcmp(comparison, "greaterThan") != 0 || split->column != place ||
               split->threshold != threshold) {
        return refuse(r, "expected greaterThan in the second child, the rest as in the first");
    }
    return RW_OK;
}

static int begin_true(struct reading *r)
{
    if (r->n_nodes > 0 && (r->n_nodes > 1 || r->node[0].n_predicates++ > 0))
        return refuse(r, "expected <True/> in a root, once");
    return RW_OK;
}

static int end_node(struct reading *r)
{
    const struct open_node *node = &r->node[--r->n_nodes];
    struct rw_ens_node *to = &tree_of(r)->node[node->at];
    if (node->n_predicates != 1)
        return refuse(r, "a <Node> without a comparison or <True/>");
    if (node->goes_to < 0)
        return RW_OK;
    if (node->n_children != 2 || node->child[0] == node->child[1] ||
        (node->goes_to != node->child[0] && node->goes_to != node->child[1]))
        return refuse(r, "expected a <Node> with two children, one of them its defaultChild");
    to->nan = node->goes_to == node->child[0] ? RW_NAN_LEFT : RW_NAN_RIGHT;
    return RW_OK;
}

static int check_fixed(const struct reading *r, enum element is, const char **list)
{
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        const char *value = fixed[i].of == is ? attribute(list, fixed[i].name) : "";
        if (fixed[i].of == is && (!value || strcmp(value, fixed[i].value) != 0))
            return rw_refuse(r->ctx, r->source, "line %llu: expected %s=\"%s\"",
                             (unsigned long long)line_of(r), fixed[i].name, fixed[i].value);
    }
    return RW_OK;
}

static int begin_element(struct reading *r, const char *name, const char **list)
{
    const size_t n_places = sizeof(places) / sizeof(places[0]);
    const enum element in = r->is_leaf_of_xml ? E_TRUE
                            : r->n_nodes > 0  ? E_NODE
                            : r->n_in > 0     ? r->in[r->n_in - 1]
                                              : E_NONE;
    struct rw_ens_tree *tree;
    size_t i = 0;
    while (i < n_places && (places[i].in != in || strcmp(places[i].name, name) != 0))
        i++;
    if (i == n_places)
        return rw_refuse(r->ctx, r->source, "line %llu: did not expect <%.40s> here",
                         (unsigned long long)line_of(r), name);
    const enum element is = places[i].is;
    RW_TRY(check_fixed(r, is, list));
    if (is == E_NODE)
        return begin_node(r, list);
    if (in == E_NODE) {
        r->is_leaf_of_xml = 1;
        return is == E_TRUE ? begin_true(r) : begin_predicate(r, list);
    }
    r->in[r->n_in++] = is; /* places has no longer chain than `in` has room */
    if (is == E_FIELD)
        return begin_field(r, list);
    if (is == E_TREE)
        return rw_ensemble_add_tree(r->ctx, r->out, 0, &tree);
    return RW_OK;
}

static void stop(struct reading *r, int status)
{
    r->status = status;
    XML_StopParser(r->parser, XML_FALSE);
}

static void XMLCALL on_begin(void *user, const char *name, const char **list)
{
    struct reading *r = user;
    const int status = r->status < 0 ? r->status : begin_element(r, name, list);
    if (status < 0)
        stop(r, status);
}

static void XMLCALL on_end(void *user, const char *name)
{
    struct reading *r = user;
    (void)name;
    if (r->status < 0)
        return;
    if (r->is_leaf_of_xml) {
        r->is_leaf_of_xml = 0;
    } else if (r->n_nodes > 0) {
        const int status = end_node(r);
        if (status < 0)
            stop(r, status);
    } else {
        r->n_in--;
    }
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system_id,
                               const char *public_id, int has_subset)
{
    struct reading *r = user;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    if (r->status == RW_OK)
        stop(r, refuse(r, "a DOCTYPE, which no model has"));
}

static int run(struct reading *r)
{
    enum { PIECE = 1 << 20 };
    enum XML_Status told = XML_STATUS_OK;
    const size_t n = r->source->n;
    for (size_t at = 0; told == XML_STATUS_OK;) {
        const size_t piece = n - at < PIECE ? n - at : PIECE;
        told = XML_Parse(r->parser, r->source->text + at, (int)piece, at + piece == n);
        at += piece;
        if (at == n)
            break;
    }
    if (r->status < 0)
        return r->status;
    if (told != XML_STATUS_OK && XML_GetErrorCode(r->parser) == XML_ERROR_NO_MEMORY)
        return rw_fail(r->ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", r->source->path);
    if (told != XML_STATUS_OK)
        return rw_refuse(r->ctx, r->source, "not XML: line %llu, column %llu: %s",
                         (unsigned long long)line_of(r),
                         (unsigned long long)XML_GetCurrentColumnNumber(r->parser) + 1,
                         XML_ErrorString(XML_GetErrorCode(r->parser)));
    if (r->n_targets != 1)
        return rw_refuse(r->ctx, r->source, "%u <DataField> for the score; expected 1",
                         r->n_targets);
    return RW_OK;
}

/* Places by name: those of what the file was made of; without it they are counted as they come. */
static int known_columns(struct reading *r)
{
    const struct rw_ensemble *names = r->source->names;
    for (uint32_t i = 0; names && i < names->n_columns; i++) {
        if (json_object_set_new(r->column, names->column_name[i], json_integer(i)) < 0)
            return rw_fail(r->ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", r->source->path);
    }
    return RW_OK;
}

int rw_pmml_parse(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    struct reading r = {.ctx = ctx, .source = source, .out = out};
    int status;
    r.parser = XML_ParserCreate(NULL);
    r.column = json_object();
    if (!r.parser || !r.column) {
        status = rw_fail(ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", source->path);
        goto out;
    }
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_begin, on_end);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    RW_TRY_OUT(known_columns(&r));
    RW_TRY_OUT(run(&r));
out:
    if (r.parser)
        XML_ParserFree(r.parser);
    json_decref(r.column);
    rw_mem_free(r.node);
    return status;
}
