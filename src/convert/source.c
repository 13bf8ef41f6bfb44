/* Functions that the parsers and writers of all formats share (convert.h): messages, trees, JSON,
 * UBJSON, XML, formatted output, and trees as nested text. */
#include <expat.h>
#include <pthread.h>

#include "convert/convert.h"

int rw_refuse_line(struct rw_source *source, uint64_t line, const char *format, ...)
{
    char text[1024], where[40] = "";
    RW_FORMAT_ARGS(text, format);
    for (char *c = text; *c; c++) {
        if (*c == '\n') /* newlines begin a hint */
            *c = '?';
    }
    if (line > 0)
        snprintf(where, sizeof(where), "line %llu: ", (unsigned long long)line);
    if (source->status == RW_OK)
        source->status = rw_fail(source->ctx, RW_ERR_FORMAT, "%s: %s%s", source->path, where, text);
    return source->status;
}

int rw_keep(struct rw_source *source, int status)
{
    if (source->status == RW_OK && status < 0)
        source->status = status;
    return source->status;
}

int rw_source_no_memory(struct rw_source *source)
{
    if (source->status == RW_OK)
        source->status =
            rw_fail(source->ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", source->path);
    return source->status;
}

int rw_is_number(const char *text, size_t n, double *out)
{
    int clamped = 0;
    *out = 0;
    return rw_number_parse_double(text, text + n, out, &clamped) == text + n && !clamped;
}

/* ---- trees ---- */

/* Turns the tree's nodes from index `first` on into leaves. */
static void make_leaves(struct rw_ens_tree *tree, int32_t first)
{
    for (int32_t i = first; i < tree->n_nodes; i++)
        tree->node[i] = (struct rw_ens_node){.left = -1, .right = -1};
}

struct rw_ens_tree *rw_add_tree(struct rw_source *source, int32_t n_nodes)
{
    struct rw_ensemble *to = source->out;
    struct rw_ens_tree tree = {.n_nodes = n_nodes, .room = (size_t)n_nodes, .weight = 1};
    if (to->n_trees == INT32_MAX)
        rw_keep(source, rw_fail(source->ctx, RW_ERR_FORMAT, "more than %d trees", INT32_MAX));
    if (source->status < 0 ||
        RW_READ_GROW(source, to->tree, to->room, (size_t)to->n_trees + 1) < 0 ||
        RW_READ_NEW(source, tree.node, (size_t)n_nodes) < 0)
        return NULL;
    make_leaves(&tree, 0);
    to->tree[to->n_trees] = tree;
    return &to->tree[to->n_trees++];
}

int rw_add_split(struct rw_source *source, struct rw_ens_tree *tree, int32_t at)
{
    const int32_t left = tree->n_nodes;
    if (left > INT32_MAX - 2)
        rw_keep(source,
                rw_fail(source->ctx, RW_ERR_FORMAT, "a tree of more than %d nodes", INT32_MAX));
    if (source->status < 0 || RW_READ_GROW(source, tree->node, tree->room, (size_t)left + 2) < 0)
        return source->status;
    tree->n_nodes += 2;
    make_leaves(tree, left);
    tree->node[at].left = left;
    tree->node[at].right = left + 1;
    return RW_OK;
}

int rw_set_columns(struct rw_source *source, uint64_t n)
{
    if (n > RW_MAX_FEATURE + 2)
        rw_refuse(source, "%llu features; expected at most %d", (unsigned long long)n,
                  RW_MAX_FEATURE + 2);
    if (source->status == RW_OK && RW_READ_NEW(source, source->out->column_name, n) == RW_OK &&
        RW_READ_NEW(source, source->out->column_had, n) == RW_OK)
        source->out->n_columns = (uint32_t)n;
    return source->status;
}

size_t rw_sort_unique(void *all, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    char *at = all;
    size_t kept = 0;
    rw_sort(all, n, size, compare);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || compare(at + (kept - 1) * size, at + i * size) != 0)
            memmove(at + kept++ * size, at + i * size, size);
    }
    return kept;
}

int rw_add_name(struct rw_source *source, uint32_t column, const char *name)
{
    struct rw_ensemble *to = source->out;
    if (source->status == RW_OK)
        source->status = rw_arena_text(source->ctx, &to->arena, &to->column_name[column], name);
    return source->status;
}

int rw_add_categories(struct rw_source *source, uint32_t column, const uint32_t *number,
                      const char *const *word, size_t n)
{
    struct rw_ensemble *to = source->out;
    if (source->status < 0 ||
        (!to->categories && RW_READ_NEW(source, to->categories, to->n_columns) < 0))
        return source->status;
    struct rw_ens_categories *of = &to->categories[column - to->first_column];
    if (of->is_one || RW_READ_NEW(source, of->number, n) < 0 ||
        (word && RW_READ_NEW(source, of->word, n) < 0))
        return source->status;
    of->is_one = 1;
    for (; of->n < n && source->status == RW_OK; of->n++) {
        of->number[of->n] = word ? of->n : number[of->n];
        if (word)
            rw_keep(source, rw_arena_text(source->ctx, &to->arena, &of->word[of->n], word[of->n]));
    }
    return source->status;
}

int rw_add_list(struct rw_source *source, struct rw_ens_node *node, const uint32_t *category,
                size_t n)
{
    if (source->status < 0 || n == 0 || RW_READ_NEW(source, node->listed, n) < 0)
        return source->status;
    memcpy(node->listed, category, n * sizeof(*category));
    node->n_listed = (uint32_t)n;
    return RW_OK;
}

void rw_add_set(struct rw_source *source, struct rw_ens_node *node, const uint32_t *category,
                size_t n)
{
    node->by_category = 1;
    node->threshold = 0;
    rw_add_list(source, node, category, n);
    rw_add_categories(source, node->column, NULL, NULL, 0);
}

uint32_t rw_named_column(struct rw_source *source, const char *name)
{
    for (uint32_t i = 0; i < source->names->n_columns; i++) {
        const char *known = source->names->column_name[i];
        if (known && strcmp(known, name) == 0)
            return i + source->names->first_column;
    }
    rw_refuse(source, "unknown feature '%.60s'", name);
    return 0;
}

/* A node that rw_read_tree has yet to read. */
struct pending {
    const void *from; /* as in rw_read_node_fn */
    int32_t node;     /* its index in the tree */
};

struct rw_ens_tree *rw_read_tree(struct rw_source *source, const void *root, rw_read_node_fn read,
                                 void *user)
{
    struct rw_ens_tree *tree = rw_add_tree(source, 1);
    struct pending *stack = NULL;
    size_t room = 0, n = 0;
    if (!tree || rw_keep(source, RW_GROW(source->ctx, stack, room, 2)) < 0)
        return NULL;
    stack[n++] = (struct pending){root, 0};
    while (n > 0 && source->status == RW_OK) {
        const struct pending now = stack[--n];
        const void *child[2] = {NULL, NULL};
        read(source, now.from, &tree->node[now.node], child, user);
        if (source->status < 0 || !child[0] || rw_add_split(source, tree, now.node) < 0 ||
            rw_keep(source, RW_GROW(source->ctx, stack, room, n + 2)) < 0)
            continue;
        stack[n++] = (struct pending){child[1], tree->node[now.node].right};
        stack[n++] = (struct pending){child[0], tree->node[now.node].left};
    }
    rw_mem_free(stack);
    return source->status == RW_OK ? tree : NULL;
}

/* ---- failed allocations of jansson ---- */

/* jansson allocates through two functions that are set for the whole process. The function here
 * calls the previous one, and records failures of the current thread in has_failed. */
static json_malloc_t wrapped_alloc;
static _Thread_local int has_failed;

static void *alloc_and_watch(size_t n)
{
    void *made = wrapped_alloc(n);
    has_failed |= !made;
    return made;
}

static void wrap_alloc(void)
{
    json_free_t unchanged_free;
    json_get_alloc_funcs(&wrapped_alloc, &unchanged_free);
    json_set_alloc_funcs(alloc_and_watch, unchanged_free);
}

/* Starts to watch for failed allocations in this thread. After one, jansson reports invalid UTF-8
 * or an early end of the file, or its parser drops a byte and continues. Callers must therefore
 * check has_failed before they use jansson's result. */
static void watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, wrap_alloc);
    has_failed = 0;
}

/* ---- JSON ---- */

json_t *rw_json_load_part(struct rw_source *source, const char *text, size_t n, size_t flags,
                          json_error_t *error)
{
    watch();
    json_t *root = json_loadb(text, n, flags, error);
    if (!has_failed)
        return root;
    rw_source_no_memory(source);
    json_decref(root);
    return NULL;
}

json_t *rw_json_load(struct rw_source *source, size_t flags)
{
    json_error_t error;
    json_t *root =
        rw_json_load_part(source, source->text, source->n, JSON_REJECT_DUPLICATES | flags, &error);
    if (!root && source->status == RW_OK)
        rw_refuse(source, "not JSON: line %d, column %d: %s", error.line, error.column, error.text);
    return root;
}

/* Refuses a member that is missing or has the wrong type. */
static void absent(struct rw_source *source, const json_t *object, const char *name,
                   const char *expected)
{
    rw_refuse(source, "%s '%s': expected %s", json_object_get(object, name) ? "invalid" : "missing",
              name, expected);
}

json_t *rw_json_object(struct rw_source *source, const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (!json_is_object(value))
        absent(source, object, name, "an object");
    return value;
}

json_t *rw_json_array(struct rw_source *source, const json_t *object, const char *name, int64_t n)
{
    json_t *value = json_object_get(object, name);
    if (!json_is_array(value))
        absent(source, object, name, "an array");
    else if (n >= 0 && (int64_t)json_array_size(value) != n)
        rw_refuse(source, "'%s' has %zu elements; expected %lld", name, json_array_size(value),
                  (long long)n);
    return value;
}

const char *rw_json_text(struct rw_source *source, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text)
        absent(source, object, name, "a string");
    return text ? text : "";
}

const char *rw_json_plain(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

int64_t rw_json_whole(struct rw_source *source, const json_t *value, const char *name,
                      int64_t least, int64_t most)
{
    int64_t number = json_is_integer(value) ? json_integer_value(value) : json_is_true(value);
    int is_one = json_is_integer(value) || json_is_boolean(value);
    if (json_is_real(value)) {
        const double real = json_real_value(value);
        is_one = real >= -1e15 && real <= 1e15 && real == (double)(int64_t)real;
        number = is_one ? (int64_t)real : 0;
    }
    if (is_one && number >= least && number <= most)
        return number;
    rw_refuse(source, "'%s': expected a whole number from %lld to %lld", name, (long long)least,
              (long long)most);
    return 0;
}

int64_t rw_json_integer(struct rw_source *source, const json_t *object, const char *name,
                        int64_t least, int64_t most)
{
    const json_t *value = json_object_get(object, name);
    if (!value)
        absent(source, object, name, "a whole number");
    return rw_json_whole(source, value, name, least, most);
}

double rw_json_number(struct rw_source *source, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        absent(source, object, name, "a number");
    return json_number_value(value);
}

double rw_json_number_at(struct rw_source *source, const json_t *array, const char *name, size_t i)
{
    const json_t *value = json_array_get(array, i);
    if (!json_is_number(value))
        rw_refuse(source, "'%s', element %zu: expected a number", name, i);
    return json_number_value(value);
}

int rw_is_among(const char *text, size_t n, const char *words)
{
    for (size_t length; *words; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        if (length == n && memcmp(text, words, n) == 0)
            return 1;
    }
    return 0;
}

/* Returns 1 if the float's shortest decimal reads as this double. */
static int is_written_as(float candidate, double value)
{
    char text[32];
    double read = 0;
    return rw_is_number(text, (size_t)rw_number_write(candidate, text), &read) && read == value;
}

float rw_json_float(double value)
{
    const float near = (float)value;
    const float other = nextafterf(near, value > (double)near ? INFINITY : -INFINITY);
    const int between = fabs(value - (double)near) == fabs((double)other - value);
    return (double)near != value && between && isfinite(other) && !is_written_as(near, value) &&
                   is_written_as(other, value)
               ? other
               : near;
}

/* ---- UBJSON ---- */

enum { MOST_DEPTH = 256 }; /* of nested arrays and objects */

struct reading {
    struct rw_source *source;
    const unsigned char *at, *end; /* the unread part of the file */
    int depth;                     /* of nested arrays and objects */
};

static json_t *ubjson_value(struct reading *r, int type);

/* Refuses the file. Returns NULL, which callers return as the value. */
static json_t *ubjson_wrong(struct reading *r, const char *what)
{
    rw_refuse(r->source, "not UBJSON: byte %zu: %s", r->source->n - (size_t)(r->end - r->at), what);
    return NULL;
}

/* Skips a byte if it is the expected one. Returns 1 if it did. */
static int ubjson_skip(struct reading *r, int expected)
{
    const int is_next = r->at < r->end && *r->at == expected;
    r->at += is_next;
    return is_next;
}

/* Reads the next n bytes as a number, the highest byte first. */
static uint64_t ubjson_bytes(struct reading *r, size_t n)
{
    uint64_t bits = 0;
    if ((size_t)(r->end - r->at) < n)
        ubjson_wrong(r, "the file is truncated");
    for (; n > 0 && r->source->status == RW_OK; n--)
        bits = bits << 8 | *r->at++;
    return bits;
}

/* Returns the bytes of a number of this type; 0 if the type is not one of numbers. */
static size_t ubjson_size_of(int type)
{
    return type == 'i' || type == 'U'   ? 1
           : type == 'I'                ? 2
           : type == 'l' || type == 'd' ? 4
           : type == 'L' || type == 'D' ? 8
                                        : 0;
}

static int64_t ubjson_integer(struct reading *r, int type)
{
    const size_t size = type == 'd' || type == 'D' ? 0 : ubjson_size_of(type);
    if (size == 0)
        ubjson_wrong(r, "expected a whole number");
    const uint64_t bits = ubjson_bytes(r, size);
    return type == 'i'   ? (int64_t)(int8_t)bits
           : type == 'I' ? (int64_t)(int16_t)bits
           : type == 'l' ? (int64_t)(int32_t)bits
                         : (int64_t)bits;
}

/* Reads a length or a count, which cannot exceed the remaining bytes. */
static size_t ubjson_length(struct reading *r)
{
    const int64_t n = ubjson_integer(r, (int)ubjson_bytes(r, 1));
    if (n >= 0 && (uint64_t)n <= (uint64_t)(r->end - r->at))
        return (size_t)n;
    ubjson_wrong(r, "a length beyond the end of the file");
    return 0;
}

static json_t *ubjson_text(struct reading *r)
{
    const size_t n = ubjson_length(r);
    watch();
    json_t *out = json_stringn((const char *)r->at, n);
    if (has_failed)
        rw_source_no_memory(r->source);
    if (!out)
        return ubjson_wrong(r, "a string that is not UTF-8");
    r->at += n;
    return out;
}

/* Reads the elements of an array or the members of an object into `into`. "# count" or "$ type #
 * count" may come first. Without a type, each element begins with its type. Without a count, ']' or
 * '}' ends the elements. */
static void ubjson_elements(struct reading *r, json_t *into)
{
    const int is_object = json_is_object(into), has_type = ubjson_skip(r, '$');
    const int type = has_type ? (int)ubjson_bytes(r, 1) : 0;
    /* Elements of a type such as null take no bytes, so the file's size would not limit their
     * number. */
    if (has_type && ubjson_size_of(type) == 0 && type != 'S')
        ubjson_wrong(r, "a container of an unknown type");
    const int counted = ubjson_skip(r, '#');
    if (type && !counted)
        ubjson_wrong(r, "expected a count");
    const size_t n = counted ? ubjson_length(r) : 0;
    for (size_t i = 0; r->source->status == RW_OK && (!counted || i < n); i++) {
        if (!counted && ubjson_skip(r, is_object ? '}' : ']'))
            break;
        json_t *key = is_object ? ubjson_text(r) : NULL;
        const int mark = type ? type : (int)ubjson_bytes(r, 1);
        if (key && (!rw_json_plain(key) || json_object_get(into, json_string_value(key))))
            ubjson_wrong(r, "a repeated key, or a key with a 0 byte");
        json_t *element = ubjson_value(r, mark);
        if ((is_object ? json_object_set_new(into, json_string_value(key), element)
                       : json_array_append_new(into, element)) != 0)
            rw_source_no_memory(r->source);
        json_decref(key);
    }
}

/* Reads a value of this type. Returns NULL after a failure. */
static json_t *ubjson_value(struct reading *r, int type)
{
    json_t *out = NULL;
    if (r->source->status < 0)
        return NULL;
    if (type == 'd' || type == 'D') {
        const uint64_t bits = ubjson_bytes(r, ubjson_size_of(type));
        const double real =
            type == 'd' ? (double)rw_float_of_bits((uint32_t)bits) : rw_double_of_bits(bits);
        out = isfinite(real) ? json_real(real) : ubjson_wrong(r, "NaN or an infinity");
    } else if (ubjson_size_of(type)) {
        out = json_integer(ubjson_integer(r, type));
    } else if (type == 'S') {
        out = ubjson_text(r);
    } else if (type == 'T' || type == 'F') {
        out = json_boolean(type == 'T');
    } else if (type == 'Z') {
        out = json_null();
    } else if (type != '[' && type != '{') {
        ubjson_wrong(r, "an unknown type");
    } else if (r->depth == MOST_DEPTH) {
        ubjson_wrong(r, "nested too deeply");
    } else {
        r->depth++;
        out = type == '[' ? json_array() : json_object();
        ubjson_elements(r, out);
        r->depth--;
    }
    if (!out)
        rw_source_no_memory(r->source);
    if (r->source->status == RW_OK)
        return out;
    json_decref(out);
    return NULL;
}

json_t *rw_ubjson_load(struct rw_source *source)
{
    const unsigned char *begin = (const unsigned char *)source->text;
    struct reading r = {source, begin, begin + source->n, 0};
    const int type = (int)ubjson_bytes(&r, 1);
    if (type != '{')
        ubjson_wrong(&r, "expected an object");
    json_t *out = ubjson_value(&r, type);
    if (r.at != r.end)
        ubjson_wrong(&r, "bytes after the end");
    if (source->status == RW_OK)
        return out;
    json_decref(out);
    return NULL;
}

/* ---- XML ---- */

struct parsing {
    struct rw_source *source;
    XML_Parser parser;
    uint64_t line;              /* the file's line at which the parsed text begins */
    struct rw_xml *root, *open; /* open: the innermost open element */
};

static uint64_t line_of(const struct parsing *p)
{
    return p->line - 1 + (uint64_t)XML_GetCurrentLineNumber(p->parser);
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void XMLCALL on_begin(void *user, const char *name, const char **attribute)
{
    struct parsing *p = user;
    struct rw_xml *parent = p->open, *made = NULL;
    size_t n = strlen(name) + 2; /* of the name, each attribute and its value, and "" */
    for (const char **at = attribute; *at; at++)
        n += strlen(*at) + 1;
    if (p->source->status < 0 || RW_READ_NEW(p->source, made, 1) < 0 ||
        RW_READ_NEW(p->source, made->name, n) < 0) {
        XML_StopParser(p->parser, XML_FALSE);
        return;
    }
    char *to = made->name;
    for (const char *text = name; text; text = *attribute++)
        to = stpcpy(to, text) + 1;
    made->parent = parent;
    made->line = line_of(p);
    if (!parent)
        p->root = made;
    else if (!parent->child)
        parent->child = made;
    else
        parent->last->next = made;
    if (parent)
        parent->last = made;
    p->open = made;
}

static void XMLCALL on_end(void *user, const char *name)
{
    struct parsing *p = user;
    struct rw_xml *e = p->open;
    (void)name;
    if (p->source->status < 0)
        return;
    while (e->n_text > 0 && is_blank(e->text[e->n_text - 1]))
        e->n_text--;
    if (e->text)
        e->text[e->n_text] = 0;
    p->open = e->parent;
}

static void XMLCALL on_text(void *user, const char *text, int n)
{
    struct parsing *p = user;
    struct rw_xml *e = p->open;
    if (p->source->status < 0 || !e || e->child)
        return;
    for (; e->n_text == 0 && n > 0 && is_blank(*text); text++)
        n--;
    if (n <= 0 || RW_READ_GROW(p->source, e->text, e->room, e->n_text + (size_t)n + 1) < 0)
        return;
    memcpy(e->text + e->n_text, text, (size_t)n);
    e->n_text += (size_t)n;
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system_id,
                               const char *public_id, int has_subset)
{
    struct parsing *p = user;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    rw_refuse_line(p->source, line_of(p), "a DOCTYPE, which models do not have");
    XML_StopParser(p->parser, XML_FALSE);
}

struct rw_xml *rw_xml_parse(struct rw_source *source, const char *text, size_t n, uint64_t line)
{
    enum { PIECE = 1 << 20 };
    struct parsing p = {.source = source, .line = line};
    enum XML_Status status = XML_STATUS_OK;
    if (source->status < 0)
        return NULL;
    p.parser = XML_ParserCreate(NULL);
    if (!p.parser) {
        rw_source_no_memory(source);
        return NULL;
    }
    XML_SetUserData(p.parser, &p);
    XML_SetElementHandler(p.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(p.parser, on_text);
    XML_SetStartDoctypeDeclHandler(p.parser, on_doctype);
    for (size_t at = 0, is_last = 0; status == XML_STATUS_OK && !is_last; at += PIECE) {
        is_last = n - at <= PIECE;
        status = XML_Parse(p.parser, text + at, is_last ? (int)(n - at) : PIECE, (int)is_last);
    }
    if (status != XML_STATUS_OK && XML_GetErrorCode(p.parser) == XML_ERROR_NO_MEMORY)
        rw_source_no_memory(source);
    else if (status != XML_STATUS_OK)
        rw_refuse(source, "not XML: line %llu, column %llu: %s", (unsigned long long)line_of(&p),
                  (unsigned long long)XML_GetCurrentColumnNumber(p.parser) + 1,
                  XML_ErrorString(XML_GetErrorCode(p.parser)));
    XML_ParserFree(p.parser);
    return source->status == RW_OK ? p.root : NULL;
}

const char *rw_xml_text(const struct rw_xml *element)
{
    return element->text && !element->child ? element->text : "";
}

const char *rw_xml_attribute(const struct rw_xml *element, const char *name)
{
    for (const char *at = element->name + strlen(element->name) + 1; *at; at += strlen(at) + 1) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            return value;
        at = value;
    }
    return NULL;
}

double rw_xml_number(struct rw_source *source, const struct rw_xml *element, const char *text)
{
    double out;
    if (!rw_is_number(text, strlen(text), &out))
        rw_refuse_line(source, element->line, "<%s>: expected a number, found '%.40s'",
                       element->name, text);
    return out;
}

struct rw_xml *rw_xml_child(const struct rw_xml *element, const char *name)
{
    struct rw_xml *at = element ? element->child : NULL;
    while (at && strcmp(at->name, name) != 0)
        at = at->next;
    return at;
}

/* ---- formatted output ---- */

void rw_put_bytes(struct rw_put *put, const void *bytes, size_t n)
{
    if (put->status == RW_OK)
        put->status = RW_GROW(put->ctx, put->text, put->room, put->n + n);
    if (put->status != RW_OK || n == 0)
        return;
    memcpy(put->text + put->n, bytes, n);
    put->n += n;
}

void rw_put_release(struct rw_put *put)
{
    rw_mem_free(put->text);
}

void rw_put_text(struct rw_put *put, const char *text)
{
    rw_put_bytes(put, text, strlen(text));
}

static void put_real(struct rw_put *put, double value, int is_double)
{
    char number[48];
    const int n =
        is_double ? rw_number_write_double(value, number) : rw_number_write((float)value, number);
    rw_put_bytes(put, number, (size_t)n);
    if (!memchr(number, '.', (size_t)n) && !memchr(number, 'e', (size_t)n))
        rw_put_text(put, ".0");
}

static void put_json_text(struct rw_put *put, const char *text)
{
    watch();
    json_t *string = json_string(text);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (quoted)
        rw_put_text(put, quoted);
    else if (!has_failed)
        rw_put_refuse(put, "a name that is not UTF-8: '%s'", text);
    else if (put->status == RW_OK)
        put->status = rw_fail(put->ctx, RW_ERR_MEMORY, "out of memory: a name between quotes");
    free(quoted);
    json_decref(string);
}

static void put_xml_text(struct rw_put *put, const char *text)
{
    static const char special[] = "&<>\"";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    rw_put_text(put, "\"");
    for (const char *c = text; *c; c++) {
        const char *found = strchr(special, *c);
        if (strncmp(c, "\xEF\xBF\xBE", 3) == 0 || strncmp(c, "\xEF\xBF\xBF", 3) == 0)
            rw_put_refuse(put, "the name '%s' has a character that 'pmml' cannot represent", text);
        rw_put_bytes(put, found ? entities[found - special] : c,
                     found ? strlen(entities[found - special]) : 1);
    }
    rw_put_text(put, "\"");
}

void rw_put_format(struct rw_put *put, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        const size_t plain = strcspn(at, "%");
        rw_put_bytes(put, at, plain);
        at += plain;
        if (!*at)
            break;
        char text[32] = "";
        const char size = strchr("lz1-", at[1]) ? at[1] : 0, kind = at[1 + (size != 0)];
        if (size == '1')
            put_json_text(put, va_arg(args, const char *));
        else if (size == '-')
            put_xml_text(put, va_arg(args, const char *));
        else if (kind == 's')
            rw_put_text(put, va_arg(args, const char *));
        else if (kind == 'f')
            put_real(put, va_arg(args, double), size == 'l');
        else if (size == 'z')
            snprintf(text, sizeof(text), "%zu", va_arg(args, size_t));
        else if (kind == 'd')
            snprintf(text, sizeof(text), "%d", va_arg(args, int));
        else if (kind == 'c')
            snprintf(text, sizeof(text), "%c", va_arg(args, int));
        else
            snprintf(text, sizeof(text), kind == 'x' ? "%x" : "%u", va_arg(args, unsigned));
        rw_put_text(put, text);
        at += 2 + (size != 0);
    }
    va_end(args);
}

void rw_put_names(struct rw_put *put, const struct rw_ensemble *ensemble, const char *before,
                  const char *after)
{
    int n = 0;
    for (uint32_t i = 0; ensemble->column_name && i < ensemble->n_columns; i++) {
        const char *name = ensemble->column_name[i];
        if (name)
            rw_put_format(put, "%s%s%1s%s", n++ ? "," : "", before, name, after);
    }
}

int rw_put_refuse(struct rw_put *put, const char *format, ...)
{
    char text[1024];
    RW_FORMAT_ARGS(text, format);
    if (put->status == RW_OK)
        put->status = rw_fail(put->ctx, RW_ERR_UNSUPPORTED, "%s", text);
    return put->status;
}

/* ---- trees as nested text ---- */

/* A step of a walk: the beginning of a node, the text between its children, or its end. */
struct step {
    int32_t node, parent, depth, number; /* as in struct rw_visit, in which `node` is `at` */
    enum { BEGIN, MIDDLE, END } part;
};

int rw_walk_tree(const struct rw_walk *walk, const struct rw_ensemble *ensemble, int32_t tree,
                 const void *user, struct rw_put *put)
{
    const struct rw_ens_tree *from = &ensemble->tree[tree];
    struct step *stack;
    size_t n = 1;
    int32_t next = 1; /* the next unused number */
    if (put->status == RW_OK)
        put->status = RW_NEW_RAW(put->ctx, stack, 2 * (size_t)from->n_nodes + 4);
    RW_TRY(put->status);
    stack[0] = (struct step){0, -1, 0, 0, BEGIN};
    while (n > 0 && put->status == RW_OK) {
        const struct step at = stack[--n];
        const struct rw_ens_node *node = &from->node[at.node];
        const struct rw_visit visit = {ensemble,  from,     node,      at.node,
                                       at.parent, at.depth, at.number, {next, next + 1}};
        if (at.part == BEGIN && walk->deepest > 0 && at.depth > walk->deepest)
            rw_put_refuse(put,
                          "tree %d: more than %d levels deep, the limit of the format's readers",
                          tree + 1, walk->deepest);
        else if (at.part == BEGIN)
            walk->begin(put, &visit, user);
        else if (at.part == END && walk->finish)
            walk->finish(put, &visit, user);
        else
            rw_put_text(put, at.part == MIDDLE ? walk->middle : walk->end);
        if (at.part != BEGIN || node->left < 0)
            continue;
        stack[n++] = (struct step){at.node, at.parent, at.depth, at.number, END};
        stack[n++] = (struct step){node->right, at.node, at.depth + 1, next + 1, BEGIN};
        stack[n++] = (struct step){at.node, at.parent, at.depth, at.number, MIDDLE};
        stack[n++] = (struct step){node->left, at.node, at.depth + 1, next, BEGIN};
        next += 2;
    }
    rw_mem_free(stack);
    return put->status;
}
