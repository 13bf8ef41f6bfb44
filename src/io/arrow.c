/* Record batches of another program as columns of a table. */
#include "io/arrow.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"

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
