/* PMML 4.4, for JPMML, PMML4S and other readers: a regression MiningModel that sums TreeModels.
 *
 * Fields are floats. Thresholds are written with the digits of a double, so that readers which
 * compare floats and readers which convert all numbers to doubles split values alike. A missing
 * value goes to the node's defaultChild. Each child has a comparison, so the order of children does
 * not matter. Leaf values are doubles, summed in the order of the trees. Nodes are called n0,
 * n1, ... and leaves l0, l1, ... by their numbers in the model, which readers return as entityId.
 *
 * A categorical feature is a field of texts if its categories are words. If they are numbers, it is
 * a field of doubles, because PMML4S does not support missing values in fields of integers. A node
 * tests whether the value is in an array. The array does not affect missing values. Option --verify
 * reads the written file. There is no import, because PMML can represent far more than a model. */

#include "convert/convert.h"

#define PMML_NAMESPACE "http://www.dmg.org/PMML-4_4"

/* ---- writing ---- */

struct writing {
    const struct rw_ensemble *ensemble;
    struct rw_put *put;
    char target[32];  /* a name that differs from all features */
    uint8_t *is_used; /* [n_columns] used by the trees whose schema is written; owned */
};

/* Names the target "score", "score2" and so on. One of n_columns + 1 names is always free. */
static void name_target(struct writing *w)
{
    const struct rw_ensemble *e = w->ensemble;
    uint32_t number = 1, i = 0;
    strcpy(w->target, "score");
    while (i < e->n_columns) {
        if (!e->column_had[i] || strcmp(e->column_name[i], w->target) != 0) {
            i++;
            continue;
        }
        snprintf(w->target, sizeof(w->target), "score%u", ++number);
        i = 0;
    }
}

/* Writes the schema of tree t, or of the whole model (-1). A MiningSchema needs a field, so that of
 * a tree without splits has the target. The model's schema reads invalid values as missing, because
 * JPMML would otherwise refuse NaN. */
static void put_schema(struct writing *w, int32_t t)
{
    const struct rw_ensemble *e = w->ensemble;
    uint32_t n = 0;
    memset(w->is_used, 0, e->n_columns);
    for (int32_t k = t < 0 ? 0 : t; k < (t < 0 ? e->n_trees : t + 1); k++) {
        for (int32_t i = 0; i < rw_ens_n_splits(&e->tree[k]); i++, n++)
            w->is_used[e->tree[k].node[i].column] = 1;
    }
    rw_put_text(w->put, "<MiningSchema>\n");
    if (t < 0 || n == 0)
        rw_put_format(w->put, "<MiningField name=\"%s\" usageType=\"target\"/>\n", w->target);
    for (uint32_t i = 0; i < e->n_columns; i++) {
        if (w->is_used[i])
            rw_put_format(w->put, "<MiningField name=%-s%s/>\n", e->column_name[i],
                          t < 0 ? " invalidValueTreatment=\"asMissing\"" : "");
    }
    rw_put_text(w->put, "</MiningSchema>\n");
}

static void put_dictionary(struct writing *w)
{
    rw_put_format(w->put,
                  "<DataDictionary>\n"
                  "<DataField name=\"%s\" optype=\"continuous\" dataType=\"double\"/>\n",
                  w->target);
    for (uint32_t i = 0; i < w->ensemble->n_columns; i++) {
        const struct rw_ens_categories *of = rw_ens_categories_of(w->ensemble, i);
        if (w->ensemble->column_had[i])
            rw_put_format(w->put, "<DataField name=%-s optype=\"%s\" dataType=\"%s\"/>\n",
                          w->ensemble->column_name[i], of ? "categorical" : "continuous",
                          !of        ? "float"
                          : of->word ? "string"
                                     : "double");
    }
    rw_put_text(w->put, "</DataDictionary>\n");
}

static void put_id(struct rw_put *put, const struct rw_ens_tree *tree, int32_t node)
{
    const int32_t leaf = node - rw_ens_n_splits(tree);
    rw_put_format(put, "\"%c%d\"", leaf < 0 ? 'n' : 'l', leaf < 0 ? node : leaf);
}

/* Writes a text of an array in quotes. Readers differ in how they treat quotes and backslashes
 * inside it, so these are refused, as are control characters. field: for the message. */
static void put_word(struct rw_put *put, const char *field, const char *word)
{
    for (const char *c = word; *c; c++) {
        if ((unsigned char)*c < 32 || *c == 127 || *c == '\\' || *c == '"')
            rw_put_refuse(put,
                          "feature '%.64s': the category '%.64s' has a character that 'pmml' "
                          "cannot represent",
                          field, word);
    }
    rw_put_format(put, "%-s", word);
}

/* Writes the test of a categorical split, as its left child has it, or, if is_left is 0, the
 * opposite test, which its right child has. A split without listed categories, at which missing
 * values go left, becomes a test for missing values. One at which they go right is refused. */
static void put_set(struct rw_put *put, const struct writing *w, const struct rw_ens_node *split,
                    int is_left)
{
    const struct rw_ens_categories *of = rw_ens_categories_of(w->ensemble, split->column);
    const char *name = w->ensemble->column_name[split->column];
    if (split->n_listed == 0 && split->nan == RW_NAN_RIGHT)
        rw_put_refuse(put, "a categorical split with an empty side, which 'pmml' cannot represent");
    if (split->n_listed == 0) {
        rw_put_format(put, "<SimplePredicate field=%-s operator=\"%s\"/>", name,
                      is_left ? "isMissing" : "isNotMissing");
        return;
    }
    rw_put_format(put,
                  "<SimpleSetPredicate field=%-s booleanOperator=\"%s\"><Array n=\"%u\" "
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
    const struct rw_ens_node *parent = at->parent < 0 ? NULL : &at->tree->node[at->parent];
    if (!parent)
        rw_put_text(put, "<True/>");
    else if (parent->by_category)
        put_set(put, w, parent, parent->left == at->at);
    else /* Java orders -0 before 0 */
        rw_put_format(put, "<SimplePredicate field=%-s operator=\"%s\" value=\"%lf\"/>",
                      w->ensemble->column_name[parent->column],
                      parent->left == at->at ? "lessOrEqual" : "greaterThan",
                      parent->threshold == 0 ? 0 : parent->threshold);
    rw_put_text(put, node->left < 0 ? "</Node>\n" : "\n");
}

static int write_pmml(const struct rw_ensemble *e, struct rw_put *put)
{
    /* XML parsers limit nested elements: Java's to 200 (since Java 24), libxml2's to 256. A leaf's
     * comparison is seven levels deeper than the leaf's depth. */
    static const struct rw_walk walk = {begin_node, "", "</Node>\n", .deepest = 190};
    struct writing w = {.ensemble = e, .put = put};
    if (e->n_trees == 0)
        return rw_put_refuse(put, "the model has no trees; PMML cannot represent such a model");
    RW_TRY(RW_NEW(put->ctx, w.is_used, e->n_columns));
    name_target(&w);
    rw_put_text(put, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<PMML xmlns=\"" PMML_NAMESPACE "\" version=\"4.4\">\n"
                     "<Header><Application name=\"Rankwood\"/></Header>\n");
    put_dictionary(&w);
    rw_put_text(put, "<MiningModel functionName=\"regression\">\n");
    put_schema(&w, -1);
    rw_put_text(put, "<Segmentation multipleModelMethod=\"sum\">\n");
    for (int32_t t = 0; t < e->n_trees && put->status == RW_OK; t++) {
        rw_put_format(
            put,
            "<Segment id=\"%d\"><True/>\n"
            "<TreeModel functionName=\"regression\" "
            "missingValueStrategy=\"defaultChild\" splitCharacteristic=\"binarySplit\">\n",
            t + 1);
        put_schema(&w, t);
        rw_walk_tree(&walk, e, t, &w, put);
        rw_put_text(put, "</TreeModel>\n</Segment>\n");
    }
    rw_put_text(put, "</Segmentation>\n</MiningModel>\n</PMML>\n");
    rw_mem_free(w.is_used);
    return put->status;
}

/* ---- reading ---- */

/* The elements that are allowed inside an element. The root is inside "". */
static const struct {
    const char *name, *inside;
} places[] = {
    {"Node", "Node SimplePredicate SimpleSetPredicate True"},
    {"SimpleSetPredicate", "Array"},
    {"", "PMML"},
    {"PMML", "Header DataDictionary MiningModel"},
    {"Header", "Application"},
    {"DataDictionary", "DataField"},
    {"MiningModel", "MiningSchema Segmentation"},
    {"MiningSchema", "MiningField"},
    {"Segmentation", "Segment"},
    {"Segment", "True TreeModel"},
    {"TreeModel", "MiningSchema Node"},
};
enum { N_PLACES = sizeof(places) / sizeof(places[0]) };

/* Attributes that affect scores, and the only value of each that is accepted. */
static const struct {
    const char *of, *name, *value;
} fixed[] = {
    {"PMML", "xmlns", PMML_NAMESPACE},
    {"PMML", "version", "4.4"},
    {"MiningModel", "functionName", "regression"},
    {"Segmentation", "multipleModelMethod", "sum"},
    {"TreeModel", "functionName", "regression"},
    {"TreeModel", "missingValueStrategy", "defaultChild"},
};

struct reading {
    struct rw_source *source;
    struct rw_query_ids column; /* names of the written model's columns, or of the fields so far */
    uint32_t n_targets;         /* fields for the score */
};

/* Returns 1 if a field has this name, and its categories in *of. name: may be NULL. */
static int find_column(const struct reading *r, const char *name, uint32_t *column,
                       const struct rw_ens_categories **of)
{
    size_t index = 0;
    const int found = name && rw_query_ids_find(&r->column, name, strlen(name), &index);
    *column = (uint32_t)index;
    *of = r->source->names && found ? rw_ens_categories_of(r->source->names, *column) : NULL;
    return found;
}

static int is(const struct rw_xml *element, const char *name)
{
    return element && strcmp(element->name, name) == 0;
}

static void add_column(struct reading *r, const char *name)
{
    size_t index;
    rw_keep(r->source, rw_query_ids_add(r->source->ctx, &r->column, name, &index));
}

static void read_field(struct reading *r, const struct rw_xml *at)
{
    const char *name = rw_xml_attribute(at, "name");
    const char *type = rw_xml_attribute(at, "dataType");
    const char *kind = rw_xml_attribute(at, "optype");
    const int is_double = type && strcmp(type, "double") == 0;
    const int by_words = type && strcmp(type, "string") == 0;
    const int by_category = by_words || (is_double && kind && strcmp(kind, "categorical") == 0);
    const int is_target = is_double && !by_category;
    const struct rw_ens_categories *of;
    uint32_t column;
    const int is_known = find_column(r, name, &column, &of);
    r->n_targets += (uint32_t)is_target;
    if (!name || !type || (!is_target && !by_category && strcmp(type, "float") != 0))
        rw_refuse_line(r->source, at->line,
                       "expected a <DataField> with a name, a float or (the score) a double");
    else if (!kind || strcmp(kind, by_category ? "categorical" : "continuous") != 0)
        rw_refuse_line(r->source, at->line, "expected optype=\"%s\"",
                       by_category ? "categorical" : "continuous");
    else if (by_category && (!of || (of->word == NULL) == by_words))
        rw_refuse_line(r->source, at->line,
                       "a <DataField> whose categories differ from those of the model's feature");
    else if (!is_target && r->source->names && !is_known)
        rw_refuse_line(r->source, at->line, "a <DataField> that is not a feature of the model");
    else if (!is_target && !r->source->names && is_known)
        rw_refuse_line(r->source, at->line, "two <DataField> with the same name");
    else if (!is_target && !is_known)
        add_column(r, name);
}

/* Returns 1 if the text is an id such as "n7" or "l7". id: may be NULL. */
static int is_id(const char *id)
{
    return id && (*id == 'n' || *id == 'l') && id[1] && id[1 + strspn(id + 1, "0123456789")] == 0;
}

/* Reads an array's next element into *out, as an index of the column's words or as a number, and
 * advances *at. Returns 0 at the end, or at an element that is not a category. */
static int next_category(const struct rw_ens_categories *of, const char **at, uint32_t *out)
{
    uint64_t number;
    char digits[16] = "";
    *at += strspn(*at, " ");
    const size_t n = **at == '"' ? strcspn(*at + 1, "\"") : strcspn(*at, " ");
    if (!**at || (of->word && **at != '"'))
        return 0;
    if (!of->word) {
        memcpy(digits, *at, n < sizeof(digits) ? n : 0);
        const int is_number = rw_number_whole(digits, RW_MAX_CATEGORY_ID, &number);
        *out = is_number ? (uint32_t)number : 0;
        *at += is_number ? n : 0;
        return is_number;
    }
    for (*out = 0; *out < of->n; ++*out) {
        if (strncmp(of->word[*out], *at + 1, n) == 0 && !of->word[*out][n])
            break;
    }
    const int is_word = *out < of->n;
    *at += is_word ? n + 1 + ((*at)[n + 1] == '"') : 0;
    return is_word;
}

/* Reads the categories of an array. Returns their number. */
static uint32_t read_array(const struct reading *r, const struct rw_xml *array,
                           const struct rw_ens_categories *of, uint32_t out[RW_MAX_CATEGORIES])
{
    const char *text = rw_xml_text(array);
    uint32_t n = 0;
    while (n < RW_MAX_CATEGORIES && next_category(of, &text, &out[n]))
        n++;
    if (text[strspn(text, " ")])
        rw_refuse_line(r->source, array->line, "an element that is not a category of the feature");
    return n;
}

/* Reads a child's predicate into `split`. The first child's is that of the split; the second's must
 * be its opposite. A split that lists no category has isMissing and isNotMissing. */
static void read_predicate(const struct reading *r, const struct rw_xml *child, int is_second,
                           struct rw_ens_node *split)
{
    static const char *const operators[][2] = {
        {"lessOrEqual", "greaterThan"}, {"isMissing", "isNotMissing"}, {"isIn", "isNotIn"}};
    const struct rw_xml *set = rw_xml_child(child, "SimpleSetPredicate");
    const struct rw_xml *at = set ? set : rw_xml_child(child, "SimplePredicate");
    if (!at) /* the child is refused as well */
        return;
    const char *field = rw_xml_attribute(at, "field");
    const char *value = rw_xml_attribute(at, "value");
    const char *asks = rw_xml_attribute(at, set ? "booleanOperator" : "operator");
    const struct rw_xml *array = rw_xml_child(at, "Array");
    const int kind = set ? 2 : asks && strstr(asks, "Missing") ? 1 : 0;
    if (!field || !asks || (kind == 0 && !value) || (set && !array)) {
        rw_refuse_line(r->source, at->line, "expected a <%s> with a field, an operator and %s",
                       at->name, set ? "an <Array>" : "a value");
        return;
    }
    const struct rw_ens_categories *of;
    uint32_t index;
    const int is_known = find_column(r, field, &index, &of);
    const double threshold = kind == 0 ? rw_xml_number(r->source, at, value) : 0;
    uint32_t category[RW_MAX_CATEGORIES];
    const uint32_t n = set && of ? read_array(r, array, of, category) : 0;
    if (!is_known || (set && !of))
        rw_refuse_line(r->source, at->line, "a <%s> without its <DataField>", at->name);
    else if (!is_second && strcmp(asks, operators[kind][0]) != 0)
        rw_refuse_line(r->source, at->line, "expected %s in the first child", operators[kind][0]);
    else if (is_second && (strcmp(asks, operators[kind][1]) != 0 || split->column != index ||
                           split->threshold != threshold || split->by_category != (kind > 0) ||
                           split->n_listed != n ||
                           (n > 0 && memcmp(category, split->listed, n * sizeof(n)) != 0)))
        rw_refuse_line(r->source, at->line,
                       "expected %s in the second child, the rest as in the first",
                       operators[kind][1]);
    split->column = index;
    split->threshold = threshold;
    split->by_category = kind > 0;
    if (!is_second)
        rw_add_list(r->source, split, category, n);
}

/* Checks the elements of a node: a comparison, or <True/> in a root, and then the two children of a
 * split, which it returns in `child`. Returns the number of children. */
static int read_children(const struct reading *r, const struct rw_xml *node, int is_leaf,
                         const void *child[2])
{
    const int is_root = is(node->parent, "TreeModel");
    int n_predicates = 0, n_children = 0;
    for (const struct rw_xml *at = node->child; at && r->source->status == RW_OK; at = at->next) {
        if (is(at, "True") && (!is_root || n_predicates++ > 0))
            rw_refuse_line(r->source, at->line, "expected one <True/> in a root");
        else if (strncmp(at->name, "Simple", 6) == 0 &&
                 (is_root || n_predicates++ > 0 || n_children > 0))
            rw_refuse_line(r->source, at->line,
                           "expected one comparison in a <Node>, and no comparison in a root");
        else if (is(at, "Node") && (is_leaf || n_children == 2))
            rw_refuse_line(r->source, at->line,
                           "expected no <Node> below a leaf, and two below another node");
        else if (is(at, "Node"))
            child[n_children++] = at;
    }
    if (n_predicates != 1)
        rw_refuse_line(r->source, node->line, "a <Node> without a comparison or <True/>");
    return n_children;
}

static void read_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                      const void *child[2], void *user)
{
    const struct reading *r = user;
    const struct rw_xml *at = from;
    const char *id = rw_xml_attribute(at, "id");
    const char *score = rw_xml_attribute(at, "score");
    const char *count = rw_xml_attribute(at, "recordCount");
    const char *goes_to = rw_xml_attribute(at, "defaultChild");
    if (!is_id(id) || !score == !goes_to || (goes_to && !is_id(goes_to))) {
        rw_refuse_line(source, at->line,
                       "expected a <Node> with an id, and a score or a defaultChild");
        return;
    }
    if (score)
        node->value = rw_xml_number(r->source, at, score);
    node->has_cover = count != NULL;
    if (count)
        node->docs = node->hessian = rw_xml_number(r->source, at, count);
    if (read_children(r, at, score != NULL, child) == 0 && score)
        return;
    const char *left = child[0] ? rw_xml_attribute(child[0], "id") : NULL;
    const char *right = child[1] ? rw_xml_attribute(child[1], "id") : NULL;
    const int is_left = left && goes_to && strcmp(goes_to, left) == 0;
    if (!left || !right || strcmp(left, right) == 0 || (!is_left && strcmp(goes_to, right) != 0)) {
        rw_refuse_line(source, at->line,
                       "expected a <Node> with two children, one of them its defaultChild");
        return;
    }
    read_predicate(r, child[0], 0, node);
    read_predicate(r, child[1], 1, node);
    node->nan = is_left ? RW_NAN_LEFT : RW_NAN_RIGHT;
}

static void read_tree(struct reading *r, const struct rw_xml *at)
{
    const struct rw_xml *root = rw_xml_child(at, "Node");
    for (const struct rw_xml *next = root ? root->next : NULL; next; next = next->next) {
        if (is(next, "Node"))
            rw_refuse_line(r->source, next->line, "a second root");
    }
    if (root)
        rw_read_tree(r->source, root, read_node, r);
    else
        rw_add_tree(r->source, 0); /* rw_ensemble_check refuses the empty tree */
}

/* Checks that the element is allowed at its place and has the expected attributes. */
static void check_element(struct reading *r, const struct rw_xml *at)
{
    const char *in = at->parent ? at->parent->name : "";
    size_t i = 0;
    while (i < N_PLACES && strcmp(in, places[i].name) != 0)
        i++;
    if (i == N_PLACES || !rw_is_among(at->name, strlen(at->name), places[i].inside))
        rw_refuse_line(r->source, at->line, "unexpected <%.40s>", at->name);
    for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        const char *value =
            is(at, fixed[i].of) ? rw_xml_attribute(at, fixed[i].name) : fixed[i].value;
        if (!value || strcmp(value, fixed[i].value) != 0)
            rw_refuse_line(r->source, at->line, "expected %s=\"%s\"", fixed[i].name,
                           fixed[i].value);
    }
}

/* Returns the element that begins next in the file, or NULL after the last. */
static const struct rw_xml *following(const struct rw_xml *at)
{
    if (at->child)
        return at->child;
    while (at && !at->next)
        at = at->parent;
    return at ? at->next : NULL;
}

/* Reads a file of write_pmml, and refuses all other PMML. */
static int parse_pmml(struct rw_source *source)
{
    const struct rw_ensemble *names = source->names;
    struct rw_ensemble *out = source->out;
    struct reading r = {.source = source};
    /* Columns are found by name: those of the written model, else in the order of the fields. */
    for (uint32_t i = 0; names && i < names->n_columns && source->status == RW_OK; i++)
        add_column(&r, names->column_name[i]);
    const struct rw_xml *root = rw_xml_parse(source, source->text, source->n, 1);
    for (const struct rw_xml *at = root; at && source->status == RW_OK; at = following(at)) {
        check_element(&r, at);
        if (is(at, "DataField"))
            read_field(&r, at);
    }
    for (const struct rw_xml *at = root; at && source->status == RW_OK; at = following(at)) {
        if (is(at, "TreeModel"))
            read_tree(&r, at);
    }
    if (names && names->categories) { /* borrowed; the fields were compared with them */
        out->n_columns = names->n_columns;
        out->categories = names->categories;
    }
    if (r.n_targets != 1)
        rw_refuse(source, "%u <DataField> for the score; expected 1", r.n_targets);
    rw_query_ids_release(&r.column);
    return source->status;
}

const struct rw_model_format rw_to_pmml = {
    .name = "pmml",
    .about = "PMML 4.4: a MiningModel that sums TreeModels",
    .consumer =
        {{.name = "PMML",
          .rules = {.sum = RW_F64, .nan_by_node = 1, .lists_none = 1, .absent = RW_ABSENT_NAN}},
         /* PMML4S has doubles only */
         {.name = "PMML4S",
          .rules = {RW_DOUBLE_RULES, .threshold = RW_F64, .lists_none = 1,
                    .absent = RW_ABSENT_NAN}}},
    .names = RW_NAMES_ALL,
    .categories = RW_SAYS_WORDS,
    .most_category = RW_MAX_CATEGORY_ID,
    .write = write_pmml,
    .parse = parse_pmml,
};
