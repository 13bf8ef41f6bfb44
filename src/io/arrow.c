/* Record batches of another program as columns of a table. */
#include "io/arrow.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"

/* ---- types ---- */

const char *rw_arrow_kind(const struct ArrowSchema *schema)
{
    static const char *const kind[][2] = {
        {"n", "nulls"},       {"b", "booleans"},   {"c", "integers"},
        {"C", "integers"},    {"s", "integers"},   {"S", "integers"},
        {"i", "integers"},    {"I", "integers"},   {"l", "integers"},
        {"L", "integers"},    {"f", "floats"},     {"g", "floats"},
        {"e", "half floats"}, {"u", "strings"},    {"U", "strings"},
        {"vu", "strings"},    {"z", "bytes"},      {"Z", "bytes"},
        {"vz", "bytes"},      {"w:", "bytes"},     {"d:", "decimals"},
        {"td", "dates"},      {"tt", "times"},     {"ts", "timestamps"},
        {"tD", "durations"},  {"ti", "intervals"}, {"+s", "structs"},
        {"+m", "maps"},       {"+u", "unions"},    {"+r", "run-end-encoded values"},
        {"+", "lists"}};
    if (schema->dictionary)
        return "categories";
    for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
        const size_t n = strlen(kind[i][0]);
        const int whole = n == 1 && kind[i][0][0] != '+'; /* no parameters follow */
        if (whole ? strcmp(schema->format, kind[i][0]) == 0
                  : strncmp(schema->format, kind[i][0], n) == 0)
            return kind[i][1];
    }
    return "values of an unknown type";
}

/* 1 if values of the type are numbers; "n", of which there are none, too. */
static int number_type(const char *format, enum rw_value_type *type, ptrdiff_t *size)
{
    static const struct {
        char format;
        enum rw_value_type type;
        ptrdiff_t size;
    } known[] = {{'n', RW_VALUE_F32, 0}, {'b', RW_VALUE_BITS, 0}, {'f', RW_VALUE_F32, 4},
                 {'g', RW_VALUE_F64, 8}, {'c', RW_VALUE_I8, 1},   {'C', RW_VALUE_U8, 1},
                 {'s', RW_VALUE_I16, 2}, {'S', RW_VALUE_U16, 2},  {'i', RW_VALUE_I32, 4},
                 {'I', RW_VALUE_U32, 4}, {'l', RW_VALUE_I64, 8},  {'L', RW_VALUE_U64, 8},
                 {'e', RW_VALUE_F16, 2}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (format[0] == known[i].format && format[1] == 0) {
            *type = known[i].type;
            *size = known[i].size;
            return 1;
        }
    }
    return 0;
}

/* ---- reading a stream ---- */

static int stream_failed(struct rw_ctx *ctx, struct ArrowArrayStream *stream, int code)
{
    const char *text = stream->get_last_error ? stream->get_last_error(stream) : NULL;
    return rw_fail(ctx, code == ENOMEM ? RW_ERR_MEMORY : RW_ERR_DATA,
                   "the table's stream failed: %.400s", text && *text ? text : strerror(code));
}

static int check_schema(struct rw_ctx *ctx, const struct ArrowSchema *schema)
{
    if (!schema->release || !schema->format)
        return rw_fail(ctx, RW_ERR_DATA, "an Arrow stream without a schema");
    if (strcmp(schema->format, "+s") != 0 || schema->dictionary)
        return rw_fail(ctx, RW_ERR_DATA, "an Arrow stream of %s; expected a table's record batches",
                       rw_arrow_kind(schema));
    if (schema->n_children < 0 || schema->n_children > INT32_MAX ||
        (schema->n_children && !schema->children))
        return rw_fail(ctx, RW_ERR_DATA, "an Arrow schema of %lld columns",
                       (long long)schema->n_children);
    for (int64_t i = 0; i < schema->n_children; i++) {
        const struct ArrowSchema *child = schema->children[i];
        if (!child || !child->format || (child->dictionary && !child->dictionary->format))
            return rw_fail(ctx, RW_ERR_DATA, "column %lld (from 0) of an Arrow schema has no type",
                           (long long)i);
    }
    return RW_OK;
}

/* Are the lengths of a batch, and those of its columns, such as can be? */
static int check_batch(struct rw_ctx *ctx, const struct rw_arrow *arrow,
                       const struct ArrowArray *batch)
{
    const int64_t n_columns = arrow->schema.n_children;
    if (batch->length < 0 || batch->offset < 0 || batch->offset > RW_ARROW_MOST - batch->length)
        return rw_fail(ctx, RW_ERR_DATA, "an Arrow batch of %lld documents from %lld on",
                       (long long)batch->length, (long long)batch->offset);
    if (batch->n_children != n_columns || (n_columns && !batch->children))
        return rw_fail(ctx, RW_ERR_DATA, "an Arrow batch has %lld columns; its schema has %lld",
                       (long long)batch->n_children, (long long)n_columns);
    if (batch->null_count != 0 && batch->n_buffers > 0 && batch->buffers && batch->buffers[0]) {
        for (int64_t i = 0; i < batch->length; i++) {
            if (!rw_arrow_bit(batch->buffers[0], batch->offset + i))
                return rw_fail(ctx, RW_ERR_DATA,
                               "row %lld (from 0) of an Arrow batch is null as a whole",
                               (long long)i);
        }
    }
    for (int64_t c = 0; c < n_columns; c++) {
        const struct ArrowArray *child = batch->children[c];
        if (!child || child->offset < 0 || child->length < batch->offset + batch->length ||
            child->offset > RW_ARROW_MOST - child->length)
            return rw_fail(ctx, RW_ERR_DATA,
                           "column %lld (from 0) of an Arrow batch is shorter than the batch",
                           (long long)c);
    }
    return RW_OK;
}

/* Takes the batch: it is released, or arrow's. */
static int take_batch(struct rw_ctx *ctx, struct rw_arrow *arrow, struct ArrowArray *batch)
{
    const uint32_t n_docs = rw_arrow_n_docs(arrow);
    int status;
    RW_TRY_OUT(check_batch(ctx, arrow, batch));
    if (batch->length == 0)
        goto out;
    if (batch->length > (int64_t)(RW_MAX_DOCS - n_docs)) {
        status = rw_fail(ctx, RW_ERR_DATA, "%lld documents; at most %u are possible",
                         (long long)batch->length + n_docs, RW_MAX_DOCS);
        goto out;
    }
    RW_TRY_OUT(RW_GROW(ctx, arrow->batch, arrow->room, arrow->n_batches + 1));
    RW_TRY_OUT(RW_GROW(ctx, arrow->chunk_offset, arrow->offset_room, arrow->n_batches + 2));
    arrow->batch[arrow->n_batches++] = *batch;
    arrow->chunk_offset[arrow->n_batches] = n_docs + (uint32_t)batch->length;
    return RW_OK;
out:
    batch->release(batch);
    return status;
}

/* The schema is there. */
static int begin_batches(struct rw_ctx *ctx, struct rw_arrow *arrow)
{
    RW_TRY(check_schema(ctx, &arrow->schema));
    RW_TRY(RW_GROW(ctx, arrow->chunk_offset, arrow->offset_room, 1));
    arrow->chunk_offset[0] = 0;
    return RW_OK;
}

static int read_stream(struct rw_ctx *ctx, struct ArrowArrayStream *stream, struct rw_arrow *arrow)
{
    int code = stream->get_schema(stream, &arrow->schema);
    if (code != 0) {
        arrow->schema.release = NULL; /* what a failure leaves there is not ours */
        return stream_failed(ctx, stream, code);
    }
    RW_TRY(begin_batches(ctx, arrow));
    for (;;) {
        struct ArrowArray batch = {.release = NULL};
        code = stream->get_next(stream, &batch);
        if (code != 0)
            return stream_failed(ctx, stream, code);
        if (!batch.release)
            return RW_OK;
        RW_TRY(take_batch(ctx, arrow, &batch));
    }
}

int rw_arrow_read(struct rw_ctx *ctx, struct ArrowArrayStream *stream, struct rw_arrow **out)
{
    struct ArrowArrayStream mine = *stream;
    struct rw_arrow *arrow = NULL;
    int status;
    *out = NULL;
    stream->release = NULL; /* moved, as the interface has it */
    if (!mine.release)
        return rw_fail(ctx, RW_ERR_DATA, "the Arrow stream was read before: it is released");
    RW_TRY_OUT(RW_NEW(ctx, arrow, 1));
    RW_TRY_OUT(read_stream(ctx, &mine, arrow));
    *out = arrow;
    arrow = NULL;
out:
    mine.release(&mine);
    rw_arrow_free(arrow);
    return status;
}

int rw_arrow_read_batch(struct rw_ctx *ctx, struct ArrowSchema *schema, struct ArrowArray *batch,
                        struct rw_arrow **out)
{
    struct ArrowSchema my_schema = *schema;
    struct ArrowArray mine = *batch;
    struct rw_arrow *arrow = NULL;
    int status;
    *out = NULL;
    schema->release = NULL; /* moved, both */
    batch->release = NULL;
    if (!my_schema.release || !mine.release) {
        status = rw_fail(ctx, RW_ERR_DATA, "the Arrow batch was read before: it is released");
        goto out;
    }
    RW_TRY_OUT(RW_NEW(ctx, arrow, 1));
    arrow->schema = my_schema;
    my_schema.release = NULL;
    RW_TRY_OUT(begin_batches(ctx, arrow));
    status = take_batch(ctx, arrow, &mine);
    mine.release = NULL; /* taken, or released */
    if (status < 0)
        goto out;
    *out = arrow;
    arrow = NULL;
out:
    if (my_schema.release)
        my_schema.release(&my_schema);
    if (mine.release)
        mine.release(&mine);
    rw_arrow_free(arrow);
    return status;
}

void rw_arrow_free(struct rw_arrow *arrow)
{
    if (!arrow)
        return;
    for (size_t k = 0; k < arrow->n_batches; k++)
        arrow->batch[k].release(&arrow->batch[k]);
    if (arrow->schema.release)
        arrow->schema.release(&arrow->schema);
    rw_mem_free(arrow->batch);
    rw_mem_free(arrow->chunk_offset);
    rw_mem_free(arrow);
}

/* ---- what was read ---- */

uint32_t rw_arrow_n_docs(const struct rw_arrow *arrow)
{
    return arrow->chunk_offset[arrow->n_batches];
}

uint32_t rw_arrow_n_columns(const struct rw_arrow *arrow)
{
    return (uint32_t)arrow->schema.n_children;
}

const char *rw_arrow_name(const struct rw_arrow *arrow, uint32_t column)
{
    const char *name = arrow->schema.children[column]->name;
    return name ? name : "";
}

uint32_t rw_arrow_n_chunks(const struct rw_arrow *arrow)
{
    return (uint32_t)arrow->n_batches;
}

const uint32_t *rw_arrow_chunk_offset(const struct rw_arrow *arrow)
{
    return arrow->chunk_offset;
}

int rw_arrow_part(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column, size_t batch,
                  int n_buffers, struct rw_arrow_part *out)
{
    const struct ArrowArray *parent = &arrow->batch[batch], *array = parent->children[column];
    *out = (struct rw_arrow_part){
        .array = array, .first = array->offset + parent->offset, .n = (uint32_t)parent->length};
    if (n_buffers < 0)
        return RW_OK;
    if (array->n_buffers < n_buffers || !array->buffers)
        return rw_fail(ctx, RW_ERR_DATA, "column '%.200s' has %lld buffers; expected %d",
                       rw_arrow_name(arrow, column), (long long)array->n_buffers, n_buffers);
    if (array->null_count == 0)
        return RW_OK;
    out->valid = array->buffers[0];
    if (!out->valid && array->null_count > 0)
        return rw_fail(ctx, RW_ERR_DATA, "column '%.200s' has %lld nulls, but no validity bits",
                       rw_arrow_name(arrow, column), (long long)array->null_count);
    return RW_OK;
}

int rw_arrow_column(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column,
                    struct rw_array *array, size_t stride)
{
    static const float missing = NAN;
    const struct ArrowSchema *schema = arrow->schema.children[column];
    enum rw_value_type type;
    ptrdiff_t size;
    if (schema->dictionary || !number_type(schema->format, &type, &size))
        return rw_fail(ctx, RW_ERR_DATA, "column '%.200s' has %s; expected numbers%s",
                       rw_arrow_name(arrow, column), rw_arrow_kind(schema),
                       schema->format[0] == 'd' && !schema->dictionary
                           ? "\nhint: cast them to integers or floats, which they are not"
                           : "");
    const int is_null = schema->format[0] == 'n';
    for (size_t k = 0; k < arrow->n_batches; k++) {
        struct rw_arrow_part part;
        RW_TRY(rw_arrow_part(ctx, arrow, column, k, is_null ? -1 : 2, &part));
        struct rw_array one = {.data = &missing,
                               .type = type}; /* of a null column, again and again */
        if (!is_null) {
            const char *data = part.array->buffers[1];
            if (!data)
                return rw_fail(ctx, RW_ERR_DATA, "column '%.200s' has no data",
                               rw_arrow_name(arrow, column));
            one.stride = size;
            one.data = data + part.first * size;
            one.bit = type == RW_VALUE_BITS ? (size_t)part.first : 0;
            one.valid = part.valid;
            one.valid_bit = part.valid ? (size_t)part.first : 0;
        }
        array[k * stride] = one;
    }
    return RW_OK;
}

/* Query ids of a column of integers or strings. */
enum id_type { ID_NONE, ID_INTEGER, ID_STRING, ID_LARGE_STRING, ID_STRING_VIEW };

struct id {
    const char *text; /* [n] or NULL: a number */
    size_t n;
    uint64_t number; /* of 64-bit two's complement, if the type has a sign */
};

/* Values of one array. */
struct values {
    const struct ArrowArray *array;
    const uint8_t *valid; /* NULL: all are */
    int64_t n;            /* elements, with the offset */
    enum id_type type;
    char integer; /* ID_INTEGER: its format */
};

static enum id_type id_type_of(const char *format)
{
    if (strlen(format) == 1 && strchr("cCsSiIlL", format[0]))
        return ID_INTEGER;
    return strcmp(format, "u") == 0    ? ID_STRING
           : strcmp(format, "U") == 0  ? ID_LARGE_STRING
           : strcmp(format, "vu") == 0 ? ID_STRING_VIEW
                                       : ID_NONE;
}

static int n_buffers_of(enum id_type type)
{
    return type == ID_INTEGER ? 2 : 3;
}

#define INTEGER(which, type)                                                      \
    case which: {                                                                 \
        type one;                                                                 \
        memcpy(&one, (const char *)data + i * (int64_t)sizeof(one), sizeof(one)); \
        return (uint64_t)one;                                                     \
    }

static uint64_t integer_at(char format, const void *data, int64_t i)
{
    switch (format) {
        INTEGER('c', int8_t)
        INTEGER('C', uint8_t)
        INTEGER('s', int16_t)
        INTEGER('S', uint16_t)
        INTEGER('i', int32_t)
        INTEGER('I', uint32_t)
        INTEGER('l', int64_t)
    default:
        INTEGER('L', uint64_t)
    }
}

/* A string between two offsets; 0: they are none that can be. */
static int string_at(const struct values *v, int64_t i, struct id *out)
{
    const void *offsets = v->array->buffers[1];
    int64_t begin, end;
    if (v->type == ID_STRING) {
        begin = (int64_t)integer_at('i', offsets, i);
        end = (int64_t)integer_at('i', offsets, i + 1);
    } else {
        begin = (int64_t)integer_at('l', offsets, i);
        end = (int64_t)integer_at('l', offsets, i + 1);
    }
    if (begin < 0 || end < begin || (end > begin && !v->array->buffers[2]))
        return 0;
    out->text = end > begin ? (const char *)v->array->buffers[2] + begin : "";
    out->n = (size_t)(end - begin);
    return 1;
}

/* A string of up to 12 bytes in its view, or a piece of one of several buffers. */
static int view_at(const struct values *v, int64_t i, struct id *out)
{
    enum { VIEW = 16, SHORT = 12 };
    const char *view = (const char *)v->array->buffers[1] + i * VIEW;
    const int64_t n_pieces = v->array->n_buffers - 3;
    const int64_t *sizes = v->array->buffers[v->array->n_buffers - 1];
    int32_t n, piece, begin;
    memcpy(&n, view, sizeof(n));
    if (n < 0)
        return 0;
    out->n = (size_t)n;
    out->text = view + 4;
    if (n <= SHORT)
        return 1;
    memcpy(&piece, view + 8, sizeof(piece));
    memcpy(&begin, view + 12, sizeof(begin));
    if (piece < 0 || piece >= n_pieces || begin < 0 || !sizes || !v->array->buffers[2 + piece] ||
        (int64_t)begin + n > sizes[piece])
        return 0;
    out->text = (const char *)v->array->buffers[2 + piece] + begin;
    return 1;
}

/* Element i, counted with the offset. 1; 0: it is null; negative: it is none that can be. */
static int value_at(const struct values *v, int64_t i, struct id *out)
{
    if (v->valid && !rw_arrow_bit(v->valid, i))
        return 0;
    if (v->type == ID_INTEGER) {
        *out = (struct id){.number = integer_at(v->integer, v->array->buffers[1], i)};
        return 1;
    }
    return (v->type == ID_STRING_VIEW ? view_at(v, i, out) : string_at(v, i, out)) ? 1 : -1;
}

/* One batch of a column: values, or indices into a dictionary of them. */
struct ids {
    struct values own, listed; /* listed.array NULL: there is no dictionary */
};

static int id_at(const struct ids *ids, int64_t i, struct id *out)
{
    const int status = value_at(&ids->own, i, out);
    if (status <= 0 || !ids->listed.array)
        return status;
    if (out->number >= (uint64_t)(ids->listed.n - ids->listed.array->offset))
        return -1; /* of an index below 0, too */
    return value_at(&ids->listed, ids->listed.array->offset + (int64_t)out->number, out);
}

static int open_values(struct rw_ctx *ctx, const char *name, const struct ArrowSchema *schema,
                       const struct ArrowArray *array, struct values *out)
{
    *out = (struct values){
        .array = array, .type = id_type_of(schema->format), .integer = schema->format[0]};
    if (out->type == ID_NONE)
        return rw_fail(ctx, RW_ERR_DATA, "column '%.200s' has %s; expected integers or strings",
                       name, rw_arrow_kind(schema));
    const int n_buffers = n_buffers_of(out->type);
    if (!array || !array->buffers || array->n_buffers < n_buffers || array->offset < 0 ||
        array->length < 0 || array->offset > RW_ARROW_MOST - array->length ||
        (array->length && !array->buffers[1]) || (array->null_count > 0 && !array->buffers[0]))
        return rw_fail(ctx, RW_ERR_DATA, "column '%.200s' is damaged: a buffer is missing", name);
    out->n = array->offset + array->length;
    out->valid = array->null_count == 0 ? NULL : array->buffers[0];
    return RW_OK;
}

static int open_ids(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column,
                    const struct ArrowArray *array, struct ids *out)
{
    const struct ArrowSchema *schema = arrow->schema.children[column];
    const char *name = rw_arrow_name(arrow, column);
    out->listed.array = NULL;
    if (schema->dictionary) {
        RW_TRY(open_values(ctx, name, schema->dictionary, array ? array->dictionary : NULL,
                           &out->listed));
        if (id_type_of(schema->format) != ID_INTEGER || schema->dictionary->dictionary)
            return rw_fail(ctx, RW_ERR_DATA,
                           "column '%.200s' is damaged: its indices are not integers", name);
    }
    return open_values(ctx, name, schema, array, &out->own);
}

/* ---- runs ---- */

struct growth {
    size_t n_runs, offset_room, text_room, at_room, n_bytes;
};

static int begin_run(struct rw_ctx *ctx, struct rw_arrow_ids *out, struct growth *h, uint32_t doc,
                     const struct id *id, int has_sign)
{
    char number[24], shard[RW_SHARD_TEXT];
    const char *text = id->text;
    size_t n = id->n;
    if (!text) {
        n = (size_t)(has_sign ? snprintf(number, sizeof(number), "%" PRId64, (int64_t)id->number)
                              : snprintf(number, sizeof(number), "%" PRIu64, id->number));
        text = number;
    }
    if (memchr(text, 0, n))
        return rw_fail(ctx, RW_ERR_DATA, "qid of document %u (from 0)%s holds a character 0", doc,
                       rw_comm_shard(ctx, shard));
    RW_TRY(RW_GROW(ctx, out->offset, h->offset_room, h->n_runs + 2));
    RW_TRY(RW_GROW(ctx, out->text_offset, h->at_room, h->n_runs + 1));
    RW_TRY(RW_GROW(ctx, out->text, h->text_room, h->n_bytes + n + 1));
    out->offset[h->n_runs] = doc;
    out->text_offset[h->n_runs++] = h->n_bytes;
    memcpy(out->text + h->n_bytes, text, n);
    h->n_bytes += n;
    out->text[h->n_bytes++] = 0;
    return RW_OK;
}

static int same(const struct id *a, const struct id *b)
{
    return a->text ? a->n == b->n && memcmp(a->text, b->text, a->n) == 0 : a->number == b->number;
}

static int find_runs(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column,
                     struct rw_arrow_ids *out)
{
    const struct ArrowSchema *schema = arrow->schema.children[column];
    const struct ArrowSchema *values = schema->dictionary ? schema->dictionary : schema;
    const int has_sign = strchr("csil", values->format[0]) != NULL;
    struct growth hidden = {.n_runs = 0};
    struct id id = {.text = NULL}, last = {.text = NULL};
    uint32_t doc = 0;
    char shard[RW_SHARD_TEXT];
    for (size_t k = 0; k < arrow->n_batches; k++) {
        struct rw_arrow_part part;
        struct ids ids;
        RW_TRY(rw_arrow_part(ctx, arrow, column, k, -1, &part));
        RW_TRY(open_ids(ctx, arrow, column, part.array, &ids));
        for (uint32_t i = 0; i < part.n; i++, doc++) {
            const int status = id_at(&ids, part.first + i, &id);
            if (status == 0)
                return rw_fail(
                    ctx, RW_ERR_DATA,
                    "qid of document %u (from 0)%s, column '%.200s', is null; expected an "
                    "integer or a string",
                    doc, rw_comm_shard(ctx, shard), rw_arrow_name(arrow, column));
            if (status < 0)
                return rw_fail(ctx, RW_ERR_DATA,
                               "column '%.200s' is damaged: offsets of document %u (from 0)%s are "
                               "outside its buffers",
                               rw_arrow_name(arrow, column), doc, rw_comm_shard(ctx, shard));
            if (doc == 0 || !same(&id, &last))
                RW_TRY(begin_run(ctx, out, &hidden, doc, &id, has_sign));
            last = id;
        }
    }
    if (doc == 0)
        return rw_fail(ctx, RW_ERR_DATA, "no documents: the data set is empty");
    out->n = (uint32_t)hidden.n_runs;
    out->offset[out->n] = doc;
    return RW_OK;
}

int rw_arrow_ids_read(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column,
                      struct rw_arrow_ids *out)
{
    *out = (struct rw_arrow_ids){.n = 0};
    const int status = find_runs(ctx, arrow, column, out);
    if (status < 0)
        rw_arrow_ids_release(out);
    return status;
}

void rw_arrow_ids_release(struct rw_arrow_ids *ids)
{
    rw_mem_free(ids->offset);
    rw_mem_free(ids->text);
    rw_mem_free(ids->text_offset);
    *ids = (struct rw_arrow_ids){.n = 0};
}
