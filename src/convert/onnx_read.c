/* Reads ONNX-ML's tree ensembles. It reads the attributes of the graph's node into lists
 * (onnx_model.h), replaces the node ids of TreeEnsembleRegressor by indexes as TreeEnsemble has
 * them, and makes the trees. */

#include "convert/onnx_model.h"

/* ---- protobuf ---- */

/* The bytes of a message or a text. */
struct pb {
    const char *at, *end;
};
struct pb_field {
    uint32_t number;
    enum rw_pb_type type;
    uint64_t value;  /* a varint, or the bits of a fixed value */
    struct pb bytes; /* of PB_BYTES; points into the source */
};

static void wrong(struct rw_source *source, const char *at, const char *what)
{
    rw_refuse(source, "not protobuf: byte %llu: %s", (unsigned long long)(at - source->text), what);
}

static uint64_t read_number(struct rw_source *source, struct pb *from)
{
    uint64_t number = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (from->at == from->end) {
            wrong(source, from->at, "the file is truncated");
            return 0;
        }
        const unsigned char byte = (unsigned char)*from->at++;
        if (shift == 63 && byte > 1)
            break;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return number;
    }
    wrong(source, from->at - 1, "a number of more than 64 bits");
    return 0;
}

/* Reads the next field of a message. Returns 0 at its end and after a failure. */
static int next_field(struct rw_source *source, struct pb *from, struct pb_field *field)
{
    const char *begin = from->at;
    memset(field, 0, sizeof(*field));
    if (from->at == from->end || source->status < 0)
        return 0;
    const uint64_t tag = read_number(source, from);
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum rw_pb_type)(tag & 7);
    const int is_bytes = field->type == PB_BYTES;
    const size_t fixed = field->type == PB_FIXED32 ? 4 : field->type == PB_FIXED64 ? 8 : 0;
    if (tag < 8 || tag >> 3 > 536870911)
        wrong(source, begin, "a field with an invalid number");
    else if (!fixed && !is_bytes && field->type != PB_VARINT)
        wrong(source, begin, "a field with an unknown type");
    else if (!fixed)
        field->value = read_number(source, from);
    const size_t n = is_bytes ? (size_t)field->value : fixed;
    if (source->status == RW_OK && n > (size_t)(from->end - from->at))
        wrong(source, from->at, "the file is truncated");
    if (source->status < 0)
        return 0;
    if (fixed)
        field->value = rw_bits_at(from->at, fixed);
    if (is_bytes)
        field->bytes = (struct pb){from->at, from->at + n};
    if (n > 0)
        from->at += n;
    return 1;
}

/* Returns the field as a message or text, and refuses a number. */
static struct pb message_of(struct rw_source *source, const struct pb_field *field)
{
    if (field->type != PB_BYTES)
        rw_refuse(source, "not ONNX: field %u is a number; expected a message", field->number);
    return field->bytes;
}

/* Returns the last field with this number, or an empty PB_BYTES field if it is missing. */
static struct pb_field find_field(struct rw_source *source, struct pb message, uint32_t number)
{
    struct pb_field field, found = {.type = PB_BYTES};
    while (next_field(source, &message, &field)) {
        if (field.number == number)
            found = field;
    }
    return found;
}

static struct pb find_message(struct rw_source *source, struct pb message, uint32_t number)
{
    const struct pb_field found = find_field(source, message, number);
    return message_of(source, &found);
}

static uint64_t find_number(struct rw_source *source, struct pb message, uint32_t number)
{
    const struct pb_field found = find_field(source, message, number);
    return found.type == PB_VARINT ? found.value : 0;
}

static int is_word(struct pb text, const char *word)
{
    const size_t n = (size_t)(text.end - text.at);
    return n == strlen(word) && (n == 0 || memcmp(text.at, word, n) == 0);
}

/* The arguments of "%.*s" that show at most 60 bytes of a text. */
#define SHOWN(text) \
    ((text).end - (text).at < 60 ? (int)((text).end - (text).at) : 60), ((text).at ? (text).at : "")

/* ---- attributes ---- */

struct reading {
    struct rw_source *source;
    struct rw_onnx *out;
    int n_nodes, n_inputs;             /* of the graph, so far */
    struct pb node_input, graph_input; /* names of their first inputs */
};

static void add(struct reading *r, enum rw_onnx_list to, uint64_t value)
{
    if (r->source->status == RW_OK)
        rw_keep(r->source, rw_onnx_add(r->source->ctx, r->out, to, (int64_t)value));
}

/* Adds a number by its bits. size: as for add_numbers. */
static void add_number(struct reading *r, uint64_t bits, size_t size, enum rw_onnx_list to)
{
    add(r, to, size == 4 ? rw_bits_of_double((double)rw_float_of_bits((uint32_t)bits)) : bits);
}

/* Adds a field of one number or of packed numbers to a list. size: 4 or 8 for reals of so many
 * bytes, 1 for raw bytes, 0 for varints. */
static void add_numbers(struct reading *r, const struct pb_field *field, size_t size,
                        enum rw_onnx_list to)
{
    const enum rw_pb_type alone = size == 4 ? PB_FIXED32 : size == 8 ? PB_FIXED64 : PB_VARINT;
    if (field->type == alone && size != 1) {
        add_number(r, field->value, size, to);
        return;
    }
    struct pb from = size > 1 ? field->bytes : message_of(r->source, field);
    if (size > 1 && (field->type != PB_BYTES || (size_t)(from.end - from.at) % size != 0))
        rw_refuse(r->source, "not ONNX: field %u is not an array of %d-byte numbers", field->number,
                  (int)size);
    while (from.at < from.end && r->source->status == RW_OK) {
        add_number(r, size ? rw_bits_at(from.at, size) : read_number(r->source, &from), size, to);
        from.at += size;
    }
}

/* Reads a tensor. Its elements are in the field of their type or in the raw field, perhaps before
 * the field that states the type. */
static void read_tensor(struct reading *r, const struct pb_field *from, struct pb name,
                        enum rw_onnx_list to)
{
    struct pb tensor = message_of(r->source, from);
    const uint64_t type = find_number(r->source, tensor, ONNX_TENSOR_TYPE);
    struct pb_field field;
    if (find_number(r->source, tensor, ONNX_TENSOR_ELSEWHERE))
        rw_refuse(r->source,
                  "'%.*s': the values are stored in a separate file, which is not supported",
                  SHOWN(name));
    if (type != ONNX_FLOAT32 && type != ONNX_FLOAT64 && type != ONNX_UINT8)
        rw_refuse(r->source, "'%.*s': elements of type %llu; expected float, double or uint8",
                  SHOWN(name), (unsigned long long)type);
    if ((type == ONNX_UINT8) != (to == ONNX_MODE) && to != ONNX_IGNORED)
        rw_refuse(r->source, "'%.*s': elements of type %llu, which the operator does not accept",
                  SHOWN(name), (unsigned long long)type);
    const uint32_t own = type == ONNX_FLOAT32   ? ONNX_TENSOR_FLOATS
                         : type == ONNX_FLOAT64 ? ONNX_TENSOR_DOUBLES
                                                : ONNX_TENSOR_INT32S;
    while (next_field(r->source, &tensor, &field)) {
        const int is_raw = field.number == ONNX_TENSOR_RAW;
        if (field.number == own || is_raw)
            add_numbers(r, &field,
                        type == ONNX_FLOAT32   ? 4
                        : type == ONNX_FLOAT64 ? 8
                        : is_raw               ? 1
                                               : 0,
                        to);
    }
}

/* Returns a mode's number. For the aggregate function and the post transform, returns 1 and 0 for
 * the only accepted word, and UINT64_MAX for other words. */
static uint64_t number_of_word(struct reading *r, const struct rw_onnx_attribute *row,
                               struct pb text)
{
    if (row->word) /* UINT64_MAX is -1, which is refused later */
        return !is_word(text, row->word) ? UINT64_MAX : row->list == ONNX_AGGREGATE;
    for (uint64_t k = 0; k <= ONNX_LEAF; k++) {
        if (rw_onnx_words[k] && is_word(text, rw_onnx_words[k]))
            return k;
    }
    rw_refuse(r->source, "node %zu: unknown mode '%.*s'", r->out->list[row->list].n, SHOWN(text));
    return 0;
}

static void read_value(struct reading *r, const struct pb_field *field, struct pb name,
                       const struct rw_onnx_attribute *row)
{
    static const uint32_t expected[] = {
        [ONNX_INT] = ONNX_ATTRIBUTE_I,     [ONNX_STRING] = ONNX_ATTRIBUTE_S,
        [ONNX_TENSOR] = ONNX_ATTRIBUTE_T,  [ONNX_FLOATS] = ONNX_ATTRIBUTE_FLOATS,
        [ONNX_INTS] = ONNX_ATTRIBUTE_INTS, [ONNX_STRINGS] = ONNX_ATTRIBUTE_STRINGS,
    };
    if (field->number != expected[row->type])
        rw_refuse(r->source, "attribute '%.*s' has the wrong type", SHOWN(name));
    else if (row->type == ONNX_TENSOR)
        read_tensor(r, field, name, row->list);
    else if (row->type == ONNX_STRING || row->type == ONNX_STRINGS)
        add(r, row->list, number_of_word(r, row, message_of(r->source, field)));
    else
        add_numbers(r, field, row->type == ONNX_FLOATS ? 4 : 0, row->list);
}

static void read_attribute(struct reading *r, const struct pb_field *from)
{
    struct pb message = message_of(r->source, from);
    const struct pb name = find_message(r->source, message, ONNX_ATTRIBUTE_NAME);
    const struct rw_onnx_attribute *row = rw_onnx_attributes(r->out->five);
    struct pb_field field;
    while (row->name && !is_word(name, row->name))
        row++;
    if (!row->name)
        rw_refuse(r->source, "unknown attribute '%.*s'", SHOWN(name));
    while (next_field(r->source, &message, &field)) {
        if (field.number != ONNX_ATTRIBUTE_NAME && field.number != ONNX_ATTRIBUTE_TYPE &&
            field.number != ONNX_ATTRIBUTE_DOC)
            read_value(r, &field, name, row);
    }
}

/* ---- the graph ---- */

static void read_node(struct reading *r, struct pb message)
{
    const char *expected = r->out->five ? "TreeEnsemble" : "TreeEnsembleRegressor";
    const struct pb op = find_message(r->source, message, ONNX_NODE_OP);
    const struct pb domain = find_message(r->source, message, ONNX_NODE_DOMAIN);
    struct pb_field field;
    if (!is_word(op, expected) || !is_word(domain, ONNX_DOMAIN))
        rw_refuse(r->source, "operator '%.*s' of '%.*s'; expected %s alone", SHOWN(op),
                  SHOWN(domain), expected);
    if (r->n_nodes++ > 0)
        rw_refuse(r->source, "found several tree ensembles; expected one");
    while (next_field(r->source, &message, &field)) {
        if (field.number == ONNX_NODE_ATTRIBUTE)
            read_attribute(r, &field);
        else if (field.number == ONNX_NODE_INPUT && !r->node_input.at) /* the first one */
            r->node_input = message_of(r->source, &field);
    }
}

/* Returns the number of columns: the last dimension of the type's shape, if it has two. */
static int64_t read_shape(struct rw_source *source, struct pb type)
{
    const struct pb tensor = find_message(source, type, ONNX_TYPE_TENSOR);
    struct pb shape = find_message(source, tensor, ONNX_TENSOR_TYPE_SHAPE);
    struct pb_field field;
    int n_dims = 0;
    int64_t last = 0;
    while (next_field(source, &shape, &field)) {
        if (field.number != ONNX_SHAPE_DIM)
            continue;
        last = (int64_t)find_number(source, message_of(source, &field), ONNX_DIM_VALUE);
        n_dims++;
    }
    return n_dims == 2 && last > 0 ? last : 0;
}

static void read_graph(struct reading *r, struct pb message)
{
    struct pb_field field;
    while (next_field(r->source, &message, &field)) {
        if (field.number == ONNX_GRAPH_NODE) {
            read_node(r, message_of(r->source, &field));
        } else if (field.number == ONNX_GRAPH_INPUT) {
            const struct pb input = message_of(r->source, &field);
            if (r->n_inputs++ > 0)
                rw_refuse(r->source, "found several graph inputs; expected one");
            r->graph_input = find_message(r->source, input, ONNX_VALUE_NAME);
            r->out->n_columns =
                read_shape(r->source, find_message(r->source, input, ONNX_VALUE_TYPE));
        }
    }
}

int rw_onnx_read(struct rw_source *source, int five, struct rw_onnx *out)
{
    struct reading r = {.source = source, .out = out};
    struct pb message = {source->text, source->text + source->n};
    struct pb_field field;
    out->five = five;
    while (next_field(source, &message, &field)) {
        if (field.number == ONNX_MODEL_GRAPH)
            read_graph(&r, message_of(source, &field));
    }
    const size_t n = (size_t)(r.graph_input.end - r.graph_input.at);
    if (r.n_nodes == 0)
        rw_refuse(source, "not ONNX: no graph with nodes");
    if (r.n_inputs == 0 || n != (size_t)(r.node_input.end - r.node_input.at) ||
        (n > 0 && memcmp(r.graph_input.at, r.node_input.at, n) != 0))
        rw_refuse(source, "the graph's input is not the tree ensemble's");
    return source->status;
}

/* ---- checks ---- */

enum { NONE = -1 }; /* in `position`: the item is in no tree yet; in `next`: no further test */

/* The state of making trees. The nodes and leaves of all trees are called items. They are numbered:
 * first all nodes, then the leaves of TreeEnsemble. The leaves of TreeEnsembleRegressor are
 * nodes. */
struct making {
    struct rw_source *source;
    struct rw_onnx *onnx;
    size_t n_nodes, n_items;
    struct links {
        int32_t child[2]; /* items; set once a tree has the node */
        int32_t next;     /* the node that tests the split's next category, or NONE */
        size_t members;   /* TreeEnsemble: where its set begins in ONNX_MEMBERS */
    } * node;             /* [n_nodes] */
    uint32_t *category;   /* [n_categories] of the current split */
    /* n_folded: nodes of the current tree that became part of an earlier node's split. */
    size_t n_categories, room, n_folded;
    int32_t *position; /* [n_items] node index in its tree; NONE: in no tree yet */
    uint32_t *item;    /* [n_of_tree] items of the current tree: the root, then ascending */
    size_t n_of_tree;
};

static size_t n_of(const struct making *m, enum rw_onnx_list list)
{
    return m->onnx->list[list].n;
}

static int64_t int_at(const struct making *m, enum rw_onnx_list list, size_t i)
{
    return m->onnx->list[list].value[i];
}

static double real_at(const struct making *m, enum rw_onnx_list list, size_t i)
{
    return rw_double_of_bits((uint64_t)int_at(m, list, i));
}

/* Checks that a list is empty or contains only `number`. name, word: of the attribute and of the
 * number, for the message. */
static void check_word(struct making *m, enum rw_onnx_list list, const char *name, const char *word,
                       int64_t number)
{
    if (n_of(m, list) > 1 || (n_of(m, list) == 1 && int_at(m, list, 0) != number))
        rw_refuse(m->source, "unsupported '%s': expected %s, so that the score is the sum", name,
                  word);
}

static void check_all(struct making *m)
{
    const size_t n_leaves = n_of(m, ONNX_LEAF_TARGET), n_base = n_of(m, ONNX_BASE);
    check_word(m, ONNX_AGGREGATE, "aggregate_function", "SUM", 1);
    check_word(m, ONNX_POST, "post_transform", "NONE", 0);
    if (n_of(m, ONNX_N_TARGETS) != 1 || int_at(m, ONNX_N_TARGETS, 0) != 1)
        rw_refuse(m->source, "'n_targets' is not 1");
    if (n_base > 1)
        rw_refuse(m->source, "'base_values' has %zu elements; expected 1", n_base);
    m->source->out->base = n_base ? real_at(m, ONNX_BASE, 0) : 0;
    for (const struct rw_onnx_attribute *row = rw_onnx_attributes(m->onnx->five); row->name;
         row++) {
        const size_t expected = row->list < ONNX_LEAF_TREE ? m->n_nodes : n_leaves;
        const size_t found = n_of(m, row->list);
        if (row->list >= ONNX_TREE && row->list < ONNX_IGNORED && found != expected &&
            (row->list != ONNX_MISSING_TRUE || found > 0))
            rw_refuse(m->source, "'%s' has %zu elements; expected %zu", row->name, found, expected);
    }
    for (size_t i = 0; i < n_leaves; i++) {
        if (int_at(m, ONNX_LEAF_TARGET, i) != 0)
            rw_refuse(m->source, "a leaf with a target that is not the first");
    }
    for (size_t i = 0; i < n_of(m, ONNX_MODE); i++) {
        const int64_t mode = int_at(m, ONNX_MODE, i);
        if (mode < 0 || mode >= ONNX_LEAF + !m->onnx->five)
            rw_refuse(m->source, "node %zu: unknown mode %lld", i, (long long)mode);
    }
    m->n_items = m->n_nodes + n_leaves;
    if (m->n_items > INT32_MAX)
        rw_refuse(m->source, "%zu nodes and %zu leaves", m->n_nodes, n_leaves);
}

/* ---- splits ---- */

static int64_t mode_of(const struct making *m, size_t node)
{
    return int_at(m, ONNX_MODE, node);
}

static int tracks_true(const struct making *m, size_t node)
{
    return n_of(m, ONNX_MISSING_TRUE) > 0 && int_at(m, ONNX_MISSING_TRUE, node) != 0;
}

static void add_category(struct making *m, size_t node, double value)
{
    if (!(value >= 0 && value <= (double)RW_MAX_CATEGORY_ID && value == floor(value)))
        rw_refuse(m->source, "node %zu: invalid category %g: expected a whole number, 0 or more",
                  node, value);
    else if (RW_READ_GROW(m->source, m->category, m->room, m->n_categories + 1) == RW_OK)
        m->category[m->n_categories++] = (uint32_t)value;
}

/* Makes a categorical split. Its categories are a set of TreeEnsemble, or the values of one or
 * several tests in a row. */
static void make_set(struct making *m, size_t at, struct rw_ens_node *node)
{
    const size_t n_members = n_of(m, ONNX_MEMBERS);
    int nan_true = tracks_true(m, at);
    m->n_categories = 0;
    if (mode_of(m, at) == ONNX_MEMBER) {
        for (size_t k = m->node[at].members; k < n_members && !isnan(real_at(m, ONNX_MEMBERS, k));
             k++)
            add_category(m, at, real_at(m, ONNX_MEMBERS, k));
    } else {
        for (int32_t test = (int32_t)at; test != NONE && m->source->status == RW_OK;
             test = m->node[test].next) {
            add_category(m, (size_t)test, real_at(m, ONNX_VALUE, (size_t)test));
            nan_true |= tracks_true(m, (size_t)test);
        }
    }
    node->nan = nan_true ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (m->onnx->n_columns == 0)
        rw_refuse(m->source, "node %zu: a categorical split, but the width of the input is unknown",
                  at);
    RW_SORT(m->category, m->n_categories, rw_by_u32);
    rw_add_set(m->source, node, m->category, m->n_categories);
}

/* Makes a numerical split. x >= t and x > t become x < t and x <= t with the children swapped. NaN
 * goes where a false comparison goes, unless the node sends it where true goes. A threshold that is
 * not a float becomes `<=` the next lower float. */
static void make_split(struct making *m, size_t at, struct rw_ens_node *node)
{
    const int64_t mode = mode_of(m, at), column = int_at(m, ONNX_FEATURE, at);
    const double t = real_at(m, ONNX_VALUE, at);
    const int turned = mode == ONNX_GTE || mode == ONNX_GT;
    const int64_t most = m->onnx->n_columns > 0 ? m->onnx->n_columns - 1 : RW_MAX_FEATURE;
    if (mode == ONNX_NEQ)
        rw_refuse(m->source, "node %zu: unsupported test for unequal values", at);
    if (column < 0 || column > most)
        rw_refuse(m->source, "node %zu: feature %lld; expected 0 to %lld", at, (long long)column,
                  (long long)most);
    node->left = m->position[m->node[at].child[turned]];
    node->right = m->position[m->node[at].child[!turned]];
    node->column = (uint32_t)column;
    node->less = mode == ONNX_LT || mode == ONNX_GTE;
    node->nan = tracks_true(m, at) != turned ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (mode == ONNX_EQ || mode == ONNX_MEMBER) {
        make_set(m, at, node);
        return;
    }
    node->threshold = t;
    if (isnan(t) || (double)(float)t == t)
        return;
    node->threshold = (double)rw_float_below(t, 0);
    node->less = 0;
}

/* ---- trees ---- */

static int is_leaf(const struct making *m, int32_t item)
{
    return (size_t)item >= m->n_nodes || mode_of(m, (size_t)item) == ONNX_LEAF;
}

/* Records that the current tree has an item, and refuses an item that a tree has already. */
static void take(struct making *m, int32_t item)
{
    const int32_t n = (int32_t)m->n_nodes;
    if (m->position[item] != NONE)
        rw_refuse(m->source,
                  item < n ? "node %d has two parents or is above itself"
                           : "leaf %d has two parents",
                  item < n ? item : item - n);
    m->position[item] = 0;
}

static void add_item(struct making *m, int32_t item)
{
    take(m, item);
    if (m->source->status == RW_OK)
        m->item[m->n_of_tree++] = (uint32_t)item;
}

static void find_children(struct making *m, int32_t node)
{
    for (int side = 0; side < 2; side++) {
        const int64_t to = int_at(m, ONNX_TRUE + side, (size_t)node);
        const int leaf = m->onnx->five && int_at(m, ONNX_TRUE_LEAF + side, (size_t)node) != 0;
        if (to < 0 || to >= (int64_t)(leaf ? m->n_items - m->n_nodes : m->n_nodes))
            rw_refuse(m->source, "node %d: its child, %s %lld, does not exist", node,
                      leaf ? "leaf" : "node", (long long)to);
        else
            m->node[node].child[side] = (int32_t)to + (leaf ? (int32_t)m->n_nodes : 0);
    }
}

/* Merges nodes of TreeEnsembleRegressor into the split of `node`: those below its false child, in a
 * row, that test the same feature for equality and have the same true child. */
static void fold(struct making *m, int32_t node)
{
    for (int32_t last = node, at; m->source->status == RW_OK; last = at) {
        at = m->node[node].child[1];
        if (is_leaf(m, at) || mode_of(m, (size_t)node) != ONNX_EQ ||
            mode_of(m, (size_t)at) != ONNX_EQ ||
            int_at(m, ONNX_FEATURE, (size_t)node) != int_at(m, ONNX_FEATURE, (size_t)at))
            return;
        find_children(m, at);
        if (m->source->status < 0 || m->node[at].child[0] != m->node[node].child[0])
            return;
        take(m, at);
        m->node[last].next = at;
        m->n_folded++;
        m->node[node].child[1] = m->node[at].child[1];
    }
}

/* Makes a tree with nodes in the order of their numbers, so that an exported model keeps its
 * order. */
static void make_tree(struct making *m, int32_t root)
{
    m->n_of_tree = m->n_folded = 0;
    add_item(m, root);
    for (size_t i = 0; i < m->n_of_tree && m->source->status == RW_OK; i++) {
        const int32_t item = (int32_t)m->item[i];
        if (is_leaf(m, item))
            continue;
        find_children(m, item);
        if (!m->onnx->five)
            fold(m, item);
        for (int side = 0; side < 2 && m->source->status == RW_OK; side++)
            add_item(m, m->node[item].child[side]);
    }
    struct rw_ens_tree *tree = rw_add_tree(m->source, (int32_t)m->n_of_tree);
    if (!tree)
        return;
    RW_SORT(m->item + 1, m->n_of_tree - 1, rw_by_u32);
    for (size_t i = 0; i < m->n_of_tree; i++)
        m->position[m->item[i]] = (int32_t)i;
    for (size_t i = 0; i < m->n_of_tree; i++) {
        const size_t at = m->item[i];
        if (!is_leaf(m, (int32_t)at))
            make_split(m, at, &tree->node[i]);
        else
            tree->node[i].value =
                real_at(m, ONNX_LEAF_WEIGHT, at < m->n_nodes ? at : at - m->n_nodes);
    }
    for (size_t i = 0; i < m->n_of_tree; i++) { /* trees may share leaves of TreeEnsemble */
        if (m->item[i] >= m->n_nodes)
            m->position[m->item[i]] = NONE;
    }
}

/* ---- TreeEnsembleRegressor ---- */

/* A node by tree and id, as children and leaves refer to it. */
struct key {
    int64_t tree, id;
    size_t at; /* index in the file's lists */
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts the lists of nodes by tree and id. key: [n_nodes] the sorted keys, written. */
static void sort_nodes(struct making *m, struct key *key)
{
    const size_t n = m->n_nodes;
    int64_t *sorted;
    for (size_t i = 0; i < n; i++)
        key[i] = (struct key){int_at(m, ONNX_TREE, i), int_at(m, ONNX_ID, i), i};
    RW_SORT(key, n, by_key);
    for (size_t i = 1; i < n; i++) {
        if (by_key(&key[i - 1], &key[i]) == 0)
            rw_refuse(m->source, "tree %lld has two nodes %lld", (long long)key[i].tree,
                      (long long)key[i].id);
    }
    for (enum rw_onnx_list list = ONNX_TREE; list < ONNX_LEAF_TREE; list++) {
        if (m->source->status < 0 || n_of(m, list) != n || RW_READ_NEW(m->source, sorted, n) < 0)
            continue;
        for (size_t i = 0; i < n; i++)
            sorted[i] = int_at(m, list, key[i].at);
        m->onnx->list[list].value = sorted;
    }
}

static size_t find(struct making *m, const struct key *key, int64_t tree, int64_t id)
{
    const struct key wanted = {tree, id, 0};
    const struct key *found =
        m->n_nodes ? bsearch(&wanted, key, m->n_nodes, sizeof(wanted), by_key) : NULL;
    if (!found)
        rw_refuse(m->source, "tree %lld has no node %lld", (long long)tree, (long long)id);
    return found ? (size_t)(found - key) : 0;
}

/* Replaces the leaf weights by a list with an element per node, and checks that exactly the leaves
 * have a weight. */
static void sort_weights(struct making *m, const struct key *key)
{
    unsigned char *has;
    int64_t *weight;
    if (RW_READ_NEW(m->source, has, m->n_nodes) < 0 ||
        RW_READ_NEW(m->source, weight, m->n_nodes) < 0)
        return;
    for (size_t i = 0; i < n_of(m, ONNX_LEAF_WEIGHT) && m->source->status == RW_OK; i++) {
        const int64_t tree = int_at(m, ONNX_LEAF_TREE, i), id = int_at(m, ONNX_LEAF_NODE, i);
        const size_t k = find(m, key, tree, id);
        if (m->source->status < 0)
            return;
        if (mode_of(m, k) != ONNX_LEAF || has[k])
            rw_refuse(m->source, "tree %lld, node %lld: %s", (long long)tree, (long long)id,
                      has[k] ? "several weights" : "a weight, but no leaf");
        weight[k] = int_at(m, ONNX_LEAF_WEIGHT, i);
        has[k] = 1;
    }
    for (size_t k = 0; k < m->n_nodes; k++) {
        if (mode_of(m, k) == ONNX_LEAF && !has[k])
            rw_refuse(m->source, "tree %lld, node %lld: a leaf without a weight",
                      (long long)key[k].tree, (long long)key[k].id);
    }
    m->onnx->list[ONNX_LEAF_WEIGHT].value = weight;
}

/* Makes the tree of nodes begin to end - 1, whose children are indexes of nodes already. */
static void link_tree(struct making *m, const struct key *key, size_t begin, size_t end,
                      const unsigned char *has_parent)
{
    const long long number = key[begin].tree;
    size_t n_roots = 0, root = begin;
    for (size_t k = begin; k < end; k++) {
        root = has_parent[k] ? root : k;
        n_roots += !has_parent[k];
    }
    if (n_roots != 1)
        rw_refuse(m->source, "tree %lld has %zu roots", number, n_roots);
    if (m->source->status < 0)
        return;
    make_tree(m, (int32_t)root);
    if (m->n_of_tree + m->n_folded != end - begin) /* some of them form a cycle */
        rw_refuse(m->source, "tree %lld has nodes that its root does not reach", number);
}

/* Sorts the nodes by tree and id, replaces children by indexes of nodes, and makes the trees. */
static void make_regressor(struct making *m)
{
    const size_t n = m->n_nodes;
    unsigned char *has_parent;
    struct key *key;
    if (RW_READ_NEW(m->source, key, n) < 0 || RW_READ_NEW(m->source, has_parent, n) < 0)
        return;
    sort_nodes(m, key);
    if (m->source->status == RW_OK)
        sort_weights(m, key);
    for (int side = 0; side < 2; side++) {
        int64_t *child = m->onnx->list[ONNX_TRUE + side].value;
        for (size_t k = 0; k < n && m->source->status == RW_OK; k++) {
            if (mode_of(m, k) == ONNX_LEAF)
                continue;
            child[k] = (int64_t)find(m, key, key[k].tree, child[k]);
            has_parent[child[k]] = 1;
        }
    }
    for (size_t begin = 0, end; begin < n && m->source->status == RW_OK; begin = end) {
        for (end = begin + 1; end < n && key[end].tree == key[begin].tree;)
            end++;
        link_tree(m, key, begin, end, has_parent);
    }
}

/* ---- TreeEnsemble ---- */

/* Makes a tree. A root whose two children have one number means a single leaf. ONNX Runtime reads
 * such a root differently if leaf and node numbers differ, so that case is ambiguous and
 * refused. */
static void make_root(struct making *m, int64_t number)
{
    const int32_t root = (int32_t)number, n = (int32_t)m->n_nodes;
    if (number < 0 || number >= n) {
        rw_refuse(m->source, "root %lld does not exist", (long long)number);
        return;
    }
    find_children(m, root);
    const int32_t left = m->node[root].child[0], right = m->node[root].child[1];
    const int32_t left_number = left < n ? left : left - n;
    if (m->source->status < 0 || left_number != (right < n ? right : right - n)) {
        make_tree(m, root);
        return;
    }
    if (left < n || right < n || left_number != root)
        rw_refuse(m->source, "root %d has twice the child %d, which ONNX Runtime reads as a leaf",
                  root, left_number);
    take(m, root);
    make_tree(m, left);
}

/* Finds where the set of each node begins. Sets are in the order of their nodes, and NaN separates
 * them. */
static void find_members(struct making *m)
{
    const size_t n_members = n_of(m, ONNX_MEMBERS);
    size_t at = 0;
    for (size_t i = 0; i < m->n_nodes && m->source->status == RW_OK; i++) {
        if (mode_of(m, i) != ONNX_MEMBER)
            continue;
        if (at >= n_members)
            rw_refuse(m->source, "node %zu: 'membership_values' has no set for this node", i);
        m->node[i].members = at;
        while (at < n_members && !isnan(real_at(m, ONNX_MEMBERS, at)))
            at++;
        at++;
    }
}

/* ---- the parser ---- */

static void make(struct making *m)
{
    const uint64_t n_columns = (uint64_t)m->onnx->n_columns;
    m->n_nodes = n_of(m, ONNX_FEATURE);
    check_all(m);
    if (n_columns > 0 && rw_set_columns(m->source, n_columns) == RW_OK) {
        memset(m->source->out->column_had, 1, m->source->out->n_columns);
        m->source->out->column_name = NULL;
    }
    if (m->source->status < 0 || RW_READ_NEW(m->source, m->node, m->n_nodes) < 0 ||
        RW_READ_NEW(m->source, m->position, m->n_items) < 0 ||
        RW_READ_NEW(m->source, m->item, m->n_items) < 0)
        return;
    for (size_t i = 0; i < m->n_items; i++)
        m->position[i] = NONE;
    for (size_t i = 0; i < m->n_nodes; i++)
        m->node[i].next = NONE;
    if (!m->onnx->five)
        make_regressor(m);
    else
        find_members(m);
    for (size_t i = 0; m->onnx->five && i < n_of(m, ONNX_ROOT) && m->source->status == RW_OK; i++)
        make_root(m, int_at(m, ONNX_ROOT, i));
}

int rw_onnx_parse(struct rw_source *source)
{
    struct rw_onnx onnx = {0};
    struct making m = {.source = source, .onnx = &onnx};
    if (rw_onnx_read(source, source->format == &rw_to_onnx5, &onnx) == RW_OK)
        make(&m);
    rw_arena_free(&onnx.arena);
    return source->status;
}
