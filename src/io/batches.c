/* Tables that are given in batches of documents. Arrow record batches of another program become
 * columns of a table in memory (rw_arrow_read), without copies of their numbers. Batches of a
 * caller (rw_table.batches) are read again in each pass (rw_stream_codes). Also has
 * rw_dataset_from_table, which reads all tables with their values. */
#include "io/arrow.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

#include "comm/comm.h"
#include "io/source.h"

#define MOST (INT64_MAX / 64) /* most elements of an array, so its size in bits fits into int64 */

struct arrow {
    struct rw_arrow columns;   /* must be first: rw_arrow_free receives its address */
    struct ArrowSchema schema; /* owned */
    struct rw_arena arena;     /* owns batch, chunk_offset, name and the arrays of ids */
    struct ArrowArray *batch;  /* [n_chunks] batches with documents; each is released at the end */
    uint32_t *chunk_offset;    /* [n_chunks + 1] number of documents before each batch */
    const char **name;         /* [n_columns] */
    struct rw_arrow_ids ids;   /* ids of the column last passed to rw_arrow_ids_read */
    size_t batch_room, offset_room, run_room, text_offset_room, text_room;
};

/* ---- types ---- */

enum id_type { ID_NONE, ID_INTEGER, ID_STRING, ID_LARGE_STRING, ID_STRING_VIEW };

/* A type of elements, recognised by Arrow's format string or the beginning of it. */
struct kind {
    const char *format, *name; /* name: for messages */
    enum id_type id;
    int is_number;
    enum rw_value_type type; /* type of a number */
    int bytes;               /* bytes per number; 0: bits, nulls ("n"), or not a number */
};

static const struct kind *kind_of(const struct ArrowSchema *schema)
{
    static const struct kind categories = {"", "categories", ID_NONE, 0, 0, 0};
    static const struct kind kinds[] = {{"n", "nulls", ID_NONE, 1, RW_VALUE_F32, 0},
                                        {"b", "booleans", ID_NONE, 1, RW_VALUE_BITS, 0},
                                        {"c", "integers", ID_INTEGER, 1, RW_VALUE_I8, 1},
                                        {"C", "integers", ID_INTEGER, 1, RW_VALUE_U8, 1},
                                        {"s", "integers", ID_INTEGER, 1, RW_VALUE_I16, 2},
                                        {"S", "integers", ID_INTEGER, 1, RW_VALUE_U16, 2},
                                        {"i", "integers", ID_INTEGER, 1, RW_VALUE_I32, 4},
                                        {"I", "integers", ID_INTEGER, 1, RW_VALUE_U32, 4},
                                        {"l", "integers", ID_INTEGER, 1, RW_VALUE_I64, 8},
                                        {"L", "integers", ID_INTEGER, 1, RW_VALUE_U64, 8},
                                        {"e", "half floats", ID_NONE, 1, RW_VALUE_F16, 2},
                                        {"f", "floats", ID_NONE, 1, RW_VALUE_F32, 4},
                                        {"g", "floats", ID_NONE, 1, RW_VALUE_F64, 8},
                                        {"u", "strings", ID_STRING, 0, 0, 0},
                                        {"U", "strings", ID_LARGE_STRING, 0, 0, 0},
                                        {"vu", "strings", ID_STRING_VIEW, 0, 0, 0},
                                        {"z", "bytes", ID_NONE, 0, 0, 0},
                                        {"Z", "bytes", ID_NONE, 0, 0, 0},
                                        {"vz", "bytes", ID_NONE, 0, 0, 0},
                                        {"w:", "bytes", ID_NONE, 0, 0, 0},
                                        {"d:", "decimals", ID_NONE, 0, 0, 0},
                                        {"td", "dates", ID_NONE, 0, 0, 0},
                                        {"tt", "times", ID_NONE, 0, 0, 0},
                                        {"ts", "timestamps", ID_NONE, 0, 0, 0},
                                        {"tD", "durations", ID_NONE, 0, 0, 0},
                                        {"ti", "intervals", ID_NONE, 0, 0, 0},
                                        {"+s", "structs", ID_NONE, 0, 0, 0},
                                        {"+m", "maps", ID_NONE, 0, 0, 0},
                                        {"+u", "unions", ID_NONE, 0, 0, 0},
                                        {"+r", "run-end-encoded values", ID_NONE, 0, 0, 0},
                                        {"+", "lists", ID_NONE, 0, 0, 0},
                                        {"", "values of an unknown type", ID_NONE, 0, 0, 0}};
    const struct kind *kind = kinds;
    if (schema->dictionary)
        return &categories;
    for (;; kind++) {
        const size_t n = strlen(kind->format);
        const int whole = n == 1 && kind->format[0] != '+'; /* the format has no parameters */
        if (whole ? strcmp(schema->format, kind->format) == 0
                  : strncmp(schema->format, kind->format, n) == 0)
            return kind;
    }
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
                       kind_of(schema)->name);
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

/* Checks the lengths of a batch and of its columns, and that no row is null. */
static int check_batch(struct rw_ctx *ctx, const struct arrow *arrow,
                       const struct ArrowArray *batch)
{
    const int64_t n_columns = arrow->schema.n_children;
    if (batch->length < 0 || batch->offset < 0 || batch->offset > MOST - batch->length)
        return rw_fail(ctx, RW_ERR_DATA, "an invalid Arrow batch: %lld documents from %lld on",
                       (long long)batch->length, (long long)batch->offset);
    if (batch->n_children != n_columns || (n_columns && !batch->children))
        return rw_fail(ctx, RW_ERR_DATA, "an Arrow batch has %lld columns; its schema has %lld",
                       (long long)batch->n_children, (long long)n_columns);
    if (batch->null_count != 0 && batch->n_buffers > 0 && batch->buffers && batch->buffers[0]) {
        for (int64_t i = 0; i < batch->length; i++) {
            if (!rw_bit_of(batch->buffers[0], (size_t)(batch->offset + i)))
                return rw_fail(ctx, RW_ERR_DATA, "row %lld (from 0) of an Arrow batch is null",
                               (long long)i);
        }
    }
    for (int64_t c = 0; c < n_columns; c++) {
        const struct ArrowArray *child = batch->children[c];
        if (!child || child->offset < 0 || child->length < batch->offset + batch->length ||
            child->offset > MOST - child->length)
            return rw_fail(ctx, RW_ERR_DATA,
                           "column %lld (from 0) of an Arrow batch is shorter than the batch",
                           (long long)c);
    }
    return RW_OK;
}

/* Takes ownership of the batch. It is released after a failure, or if it has no documents. */
static int take_batch(struct rw_ctx *ctx, struct arrow *arrow, struct ArrowArray *batch)
{
    struct rw_arrow *columns = &arrow->columns;
    const size_t n = columns->n_chunks;
    int status;
    RW_TRY_OUT(check_batch(ctx, arrow, batch));
    if (batch->length == 0)
        goto out;
    if (batch->length > (int64_t)(RW_MAX_DOCS - columns->n_docs))
        RW_TRY_OUT(rw_fail(ctx, RW_ERR_DATA, "too many documents: %lld; expected at most %u",
                           (long long)batch->length + columns->n_docs, RW_MAX_DOCS));
    RW_TRY_OUT(RW_ARENA_GROW(ctx, &arrow->arena, arrow->batch, arrow->batch_room, n + 1));
    RW_TRY_OUT(RW_ARENA_GROW(ctx, &arrow->arena, arrow->chunk_offset, arrow->offset_room, n + 2));
    arrow->batch[columns->n_chunks++] = *batch;
    batch->release = NULL;
    columns->n_docs += (uint32_t)batch->length;
    columns->chunk_offset = arrow->chunk_offset;
    arrow->chunk_offset[n + 1] = columns->n_docs;
    return RW_OK;
out:
    batch->release(batch);
    batch->release = NULL;
    return status;
}

/* Reads all batches of the stream. stream NULL: takes `batch`; arrow->schema is already set. */
static int read_batches(struct rw_ctx *ctx, struct ArrowArrayStream *stream,
                        struct ArrowArray *batch, struct arrow *arrow)
{
    struct rw_arrow *columns = &arrow->columns;
    int code = stream ? stream->get_schema(stream, &arrow->schema) : 0;
    if (code != 0) {
        arrow->schema.release = NULL; /* after a failure the content is not ours */
        return stream_failed(ctx, stream, code);
    }
    RW_TRY(check_schema(ctx, &arrow->schema));
    RW_TRY(RW_ARENA_GROW(ctx, &arrow->arena, arrow->chunk_offset, arrow->offset_room, 1));
    arrow->chunk_offset[0] = 0;
    columns->chunk_offset = arrow->chunk_offset;
    columns->n_columns = (uint32_t)arrow->schema.n_children;
    RW_TRY(RW_ARENA_NEW(ctx, &arrow->arena, arrow->name, columns->n_columns));
    columns->name = arrow->name;
    for (uint32_t c = 0; c < columns->n_columns; c++)
        arrow->name[c] = arrow->schema.children[c]->name ? arrow->schema.children[c]->name : "";
    for (;;) {
        code = stream ? stream->get_next(stream, batch) : 0;
        if (code != 0) {
            batch->release = NULL;
            return stream_failed(ctx, stream, code);
        }
        if (!batch->release)
            return RW_OK;
        RW_TRY(take_batch(ctx, arrow, batch));
    }
}

int rw_arrow_read(struct rw_ctx *ctx, struct ArrowArrayStream *stream, struct ArrowSchema *schema,
                  struct ArrowArray *batch, struct rw_arrow **out)
{
    struct ArrowArrayStream my_stream = {.release = NULL};
    struct ArrowSchema my_schema = {.release = NULL};
    struct ArrowArray mine = {.release = NULL};
    struct arrow *arrow = NULL;
    int status;
    *out = NULL;
    if (stream) { /* all are moved, as the interface requires */
        my_stream = *stream;
        stream->release = NULL;
    } else {
        my_schema = *schema;
        mine = *batch;
        schema->release = NULL;
        batch->release = NULL;
    }
    if (!my_stream.release && (!my_schema.release || !mine.release)) {
        status = rw_fail(ctx, RW_ERR_DATA, "the Arrow %s was already read and released",
                         stream ? "stream" : "batch");
        goto out;
    }
    RW_TRY_OUT(RW_NEW(ctx, arrow, 1));
    arrow->schema = my_schema;
    my_schema.release = NULL;
    status = read_batches(ctx, stream ? &my_stream : NULL, &mine, arrow);
    if (status >= 0)
        *out = &arrow->columns;
out:
    if (my_stream.release)
        my_stream.release(&my_stream);
    if (my_schema.release)
        my_schema.release(&my_schema);
    if (mine.release)
        mine.release(&mine);
    if (!*out && arrow)
        rw_arrow_free(&arrow->columns);
    return status;
}

void rw_arrow_free(struct rw_arrow *columns)
{
    struct arrow *arrow = (struct arrow *)columns;
    if (!arrow)
        return;
    for (uint32_t k = 0; k < columns->n_chunks; k++)
        arrow->batch[k].release(&arrow->batch[k]);
    if (arrow->schema.release)
        arrow->schema.release(&arrow->schema);
    rw_arena_free(&arrow->arena);
    rw_mem_free(arrow);
}

/* ---- values of an array ---- */

/* The elements of one array. */
struct values {
    const struct ArrowArray *array;
    const uint8_t *valid; /* NULL: all are valid */
    const struct kind *kind;
};

/* Opens an array's elements. name: name of the column, for messages. */
static int open_values(struct rw_ctx *ctx, const char *name, const struct kind *kind,
                       const struct ArrowArray *array, struct values *out)
{
    const int n_buffers = kind->is_number ? 2 : 3;
    *out = (struct values){.array = array, .kind = kind};
    if (!array || !array->buffers || array->n_buffers < n_buffers || array->offset < 0 ||
        array->length < 0 || array->offset > MOST - array->length ||
        (array->length && !array->buffers[1]) || (array->null_count > 0 && !array->buffers[0]))
        return rw_fail(ctx, RW_ERR_DATA, "column '%.200s' is damaged: a buffer is missing", name);
    out->valid = array->null_count == 0 ? NULL : array->buffers[0];
    return RW_OK;
}

int rw_arrow_column(struct rw_ctx *ctx, const struct rw_arrow *columns, uint32_t column,
                    struct rw_array *array, size_t stride)
{
    static const float missing = NAN;
    const struct arrow *arrow = (const struct arrow *)columns;
    const struct ArrowSchema *schema = arrow->schema.children[column];
    const struct kind *kind = kind_of(schema);
    if (!kind->is_number)
        return rw_fail(
            ctx, RW_ERR_DATA, "column '%.200s' has %s; expected numbers%s", columns->name[column],
            kind->name,
            strcmp(kind->format, "d:") == 0 ? "\nhint: cast the column to integers or floats" : "");
    for (uint32_t k = 0; k < columns->n_chunks; k++) {
        const struct ArrowArray *batch = &arrow->batch[k], *of = batch->children[column];
        struct rw_array *to = &array[k * stride];
        struct values values;
        *to = (struct rw_array){.data = &missing,
                                .type = kind->type}; /* one element, repeated for a null column */
        if (kind->format[0] == 'n')
            continue;
        RW_TRY(open_values(ctx, columns->name[column], kind, of, &values));
        const size_t first = (size_t)(of->offset + batch->offset);
        to->stride = kind->bytes;
        to->data = (const char *)of->buffers[1] + first * (size_t)kind->bytes;
        to->bit = kind->type == RW_VALUE_BITS ? first : 0;
        to->valid = values.valid;
        to->valid_bit = values.valid ? first : 0;
    }
    return RW_OK;
}

/* ---- query ids ---- */

struct id {
    const char *text; /* [n] bytes, or NULL: a number */
    size_t n;
    uint64_t number; /* 64-bit two's complement, if the type is signed */
};

/* Reads the i-th integer of `bytes` bytes. */
static uint64_t integer_at(const void *data, int64_t i, int bytes, int has_sign)
{
    const int unused = 64 - 8 * bytes;
    uint64_t number = 0;
    memcpy(&number, (const char *)data + i * bytes, (size_t)bytes);
    return has_sign ? (uint64_t)((int64_t)(number << unused) >> unused) : number;
}

static int has_sign(const struct kind *kind)
{
    return islower((unsigned char)kind->format[0]) != 0;
}

/* Reads string i, which is between two offsets. Returns 0 if they are invalid, otherwise 1. */
static int string_at(const struct values *v, int64_t i, struct id *out)
{
    const int bytes = v->kind->id == ID_STRING ? 4 : 8;
    const int64_t begin = (int64_t)integer_at(v->array->buffers[1], i, bytes, 1);
    const int64_t end = (int64_t)integer_at(v->array->buffers[1], i + 1, bytes, 1);
    if (begin < 0 || end < begin || (end > begin && !v->array->buffers[2]))
        return 0;
    out->text = end > begin ? (const char *)v->array->buffers[2] + begin : "";
    out->n = (size_t)(end - begin);
    return 1;
}

/* Reads string i: up to 12 bytes from its view, a longer one from one of several buffers. Returns 0
 * if the view is invalid, otherwise 1. */
static int view_at(const struct values *v, int64_t i, struct id *out)
{
    enum { VIEW = 16, SHORT = 12 };
    const char *view = (const char *)v->array->buffers[1] + i * VIEW;
    const int64_t *sizes = v->array->buffers[v->array->n_buffers - 1];
    struct {
        int32_t n, begins_with, buffer, begin;
    } is;
    memcpy(&is, view, sizeof(is));
    if (is.n < 0)
        return 0;
    out->n = (size_t)is.n;
    out->text = view + sizeof(is.n);
    if (is.n <= SHORT)
        return 1;
    if (is.buffer < 0 || is.buffer >= v->array->n_buffers - 3 || is.begin < 0 || !sizes ||
        !v->array->buffers[2 + is.buffer] || (int64_t)is.begin + is.n > sizes[is.buffer])
        return 0;
    out->text = (const char *)v->array->buffers[2 + is.buffer] + is.begin;
    return 1;
}

/* Reads element i, counted from the start of the buffers, so with the array's offset. Returns 1, or
 * 0 if it is null, or -1 if it is invalid. */
static int value_at(const struct values *v, int64_t i, struct id *out)
{
    if (v->valid && !rw_bit_of(v->valid, (size_t)i))
        return 0;
    if (v->kind->id == ID_INTEGER) {
        *out = (struct id){
            .number = integer_at(v->array->buffers[1], i, v->kind->bytes, has_sign(v->kind))};
        return 1;
    }
    return (v->kind->id == ID_STRING_VIEW ? view_at(v, i, out) : string_at(v, i, out)) ? 1 : -1;
}

/* The query ids in one batch of a column. */
struct ids {
    struct values own, listed; /* own: the ids or, with a dictionary, indices of ids; listed: the
                                  dictionary's ids; listed.array NULL: there is no dictionary */
};

/* Reads the id of element i, from the dictionary if there is one. Returns like value_at. */
static int id_at(const struct ids *ids, int64_t i, struct id *out)
{
    const int status = value_at(&ids->own, i, out);
    if (status <= 0 || !ids->listed.array)
        return status;
    if (out->number >= (uint64_t)ids->listed.array->length)
        return -1; /* also for a negative index */
    return value_at(&ids->listed, ids->listed.array->offset + (int64_t)out->number, out);
}

static int open_ids(struct rw_ctx *ctx, const char *name, const struct ArrowSchema *schema,
                    const struct ArrowArray *array, struct ids *out)
{
    /* with a dictionary, the column's own values are indices */
    const struct ArrowSchema values = {.format = schema->format};
    const struct ArrowSchema *of = schema->dictionary ? schema->dictionary : schema;
    const struct kind *own = kind_of(&values), *listed = kind_of(of);
    out->listed.array = NULL;
    if (listed->id == ID_NONE)
        return rw_fail(ctx, RW_ERR_DATA,
                       schema->dictionary && of->dictionary
                           ? "column '%.200s' is damaged: its indices are not integers"
                           : "column '%.200s' has %s; expected integers or strings",
                       name, listed->name);
    if (schema->dictionary) {
        RW_TRY(open_values(ctx, name, listed, array ? array->dictionary : NULL, &out->listed));
        if (own->id != ID_INTEGER)
            return rw_fail(ctx, RW_ERR_DATA,
                           "column '%.200s' is damaged: its indices are not integers", name);
    }
    return open_values(ctx, name, own, array, &out->own);
}

/* Records that the documents from `doc` on have this id. */
static int begin_run(struct rw_ctx *ctx, struct arrow *arrow, uint32_t doc, const struct id *id,
                     const struct kind *kind)
{
    struct rw_arrow_ids *ids = &arrow->ids;
    char number[24], shard[RW_SHARD_TEXT];
    const char *text = id->text;
    size_t n = id->n;
    if (!text) {
        n = (size_t)snprintf(number, sizeof(number), has_sign(kind) ? "%" PRId64 : "%" PRIu64,
                             id->number);
        text = number;
    }
    if (memchr(text, 0, n))
        return rw_fail(ctx, RW_ERR_DATA, "qid of document %u (from 0)%s contains a zero byte", doc,
                       rw_comm_shard(ctx, shard));
    const uint64_t at =
        ids->n ? ids->text_offset[ids->n - 1] + strlen(ids->text + ids->text_offset[ids->n - 1]) + 1
               : 0;
    struct rw_arena *arena = &arrow->arena;
    RW_TRY(RW_ARENA_GROW(ctx, arena, ids->offset, arrow->run_room, (size_t)ids->n + 2));
    RW_TRY(
        RW_ARENA_GROW(ctx, arena, ids->text_offset, arrow->text_offset_room, (size_t)ids->n + 1));
    RW_TRY(RW_ARENA_GROW(ctx, arena, ids->text, arrow->text_room, at + n + 1));
    ids->offset[ids->n] = doc;
    ids->text_offset[ids->n++] = at;
    memcpy(ids->text + at, text, n);
    ids->text[at + n] = 0;
    return RW_OK;
}

static int same(const struct id *a, const struct id *b)
{
    return a->text ? a->n == b->n && memcmp(a->text, b->text, a->n) == 0 : a->number == b->number;
}

int rw_arrow_ids_read(struct rw_ctx *ctx, struct rw_arrow *columns, uint32_t column,
                      struct rw_arrow_ids *out)
{
    struct arrow *arrow = (struct arrow *)columns;
    const struct ArrowSchema *schema = arrow->schema.children[column];
    const char *name = columns->name[column];
    struct id id = {.text = NULL}, last = {.text = NULL};
    uint32_t doc = 0;
    char shard[RW_SHARD_TEXT];
    arrow->ids.n = 0;
    for (uint32_t k = 0; k < columns->n_chunks; k++) {
        const struct ArrowArray *batch = &arrow->batch[k], *array = batch->children[column];
        struct ids ids;
        RW_TRY(open_ids(ctx, name, schema, array, &ids));
        for (; doc < columns->chunk_offset[k + 1]; doc++) {
            const int64_t i = doc - columns->chunk_offset[k];
            const int status = id_at(&ids, array->offset + batch->offset + i, &id);
            if (status == 0)
                return rw_fail(
                    ctx, RW_ERR_DATA,
                    "qid of document %u (from 0)%s, column '%.200s', is null; expected an "
                    "integer or a string",
                    doc, rw_comm_shard(ctx, shard), name);
            if (status < 0)
                return rw_fail(ctx, RW_ERR_DATA,
                               "column '%.200s' is damaged: the id of document %u (from 0)%s is "
                               "outside its buffers",
                               name, doc, rw_comm_shard(ctx, shard));
            if (doc == 0 || !same(&id, &last))
                RW_TRY(begin_run(ctx, arrow, doc, &id,
                                 ids.listed.array ? ids.listed.kind : ids.own.kind));
            last = id;
        }
    }
    if (doc == 0)
        return rw_fail(ctx, RW_ERR_DATA, "the data set has no documents");
    arrow->ids.offset[arrow->ids.n] = doc;
    *out = arrow->ids;
    return RW_OK;
}

/* ---- tables whose values arrive in batches, again in each pass ---- */

int rw_table_is_streamed(const struct rw_table *table)
{
    return table->batches != NULL;
}

static int next_batch(struct rw_ctx *ctx, const struct rw_table *table, uint32_t done,
                      struct rw_array *array, uint32_t *n)
{
    const struct rw_batches *batches = table->batches;
    const uint32_t n_docs = table->n_docs;
    *n = 0;
    if (done == 0 && batches->rewind(batches->user))
        return rw_fail(ctx, RW_ERR_INTERRUPTED, "cannot begin a pass over the batches");
    if (batches->next(batches->user, array, n))
        return rw_fail(ctx, RW_ERR_INTERRUPTED, "the batch that begins with document %u is missing",
                       done);
    if (*n > n_docs - done)
        return rw_fail(ctx, RW_ERR_DATA,
                       "a pass over the batches has more than %u documents; expected the same "
                       "documents in every pass",
                       n_docs);
    if (*n == 0 && done < n_docs)
        return rw_fail(ctx, RW_ERR_DATA,
                       "a pass over the batches has %u documents of %u; expected the same "
                       "documents in every pass",
                       done, n_docs);
    return RW_OK;
}

static int open_table(struct rw_ctx *ctx, struct rw_table_reader *reader,
                      const struct rw_table *table)
{
    RW_TRY(rw_table_open(ctx, reader, table, table->batches ? next_batch : NULL));
    if (table->batches && table->order)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "documents in batches cannot be reordered");
    return RW_OK;
}

int rw_dataset_from_table(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(rw_table_close) struct rw_table_reader reader = {.table = table};
    *out = NULL;
    RW_TRY(open_table(ctx, &reader, table));
    return rw_table_read(ctx, &reader, out);
}

/* ---- codes of tables whose values arrive in batches ----
 *
 * The values are never in memory as a whole. Batches may have any size, so their documents are
 * combined into chunks of one size. A chunk is current while its documents are being collected, in
 * the scratch memory of one thread, the chunk's slot. At most as many chunks as there are threads
 * are current. If all documents are sampled, there is one pass. */
#define MOST_STAGED \
    ((size_t)128 << 20) /* most bytes of values of all current chunks, if more than one */

/* The wanted documents of the current batch that belong to one chunk. */
struct segment {
    uint32_t slot;     /* slot of the chunk */
    uint32_t first, n; /* range in struct streamed's `row` */
    uint32_t at;       /* position in the chunk, after documents of earlier batches */
};

struct streamed {
    struct rw_source source;
    struct rw_arena arena;        /* owns feature, staged, segment and row */
    const struct rw_table *table; /* borrowed */
    struct rw_table_reader reader;
    uint32_t *feature; /* [n_columns] feature ids */
    uint32_t n_columns, chunk_docs;
    struct rw_binned *out; /* borrowed */
    /* the current chunks: slot k has chunk `chunk` + k; room: most slots */
    uint32_t chunk, n_slots, room;
    uint32_t *staged;        /* [room] number of documents of each current chunk stored so far */
    struct segment *segment; /* [n_segments] documents of the current batch, at most one per slot */
    uint32_t n_segments;
    uint32_t *row; /* [chunk_docs * room] wanted rows of the current batch, segment by segment */
};

/* ---- from documents to chunks ---- */

/* Makes the chunks from `chunk` on the current ones. */
static int begin_chunks(struct streamed *b, uint32_t chunk)
{
    b->chunk = chunk;
    b->n_slots = b->source.n_chunks - chunk < b->room ? b->source.n_chunks - chunk : b->room;
    for (uint32_t k = 0; k < b->n_slots; k++) {
        b->staged[k] = 0;
        if (rw_chunks_stage(&b->source.chunks, (int)k, b->feature, b->n_columns,
                            rw_source_n_wanted(&b->source, chunk + k)) < 0)
            return rw_fail(b->source.ctx, RW_ERR_MEMORY, "out of memory while reading batches");
    }
    return RW_OK;
}

static int end_some(void *user, struct rw_share *share)
{
    struct streamed *b = user;
    for (uint64_t k, end; rw_share_next(share, &k, &end);)
        RW_TRY(rw_source_take(&b->source, b->chunk + (uint32_t)k, (int)k, NULL, NULL));
    return RW_OK;
}

/* Processes the current chunks once all their wanted documents are stored. */
static int end_chunks(struct streamed *b)
{
    const int status =
        rw_parallel(b->source.ctx, b->source.ctx->n_threads, b->n_slots, 1, end_some, b);
    return status < 0 ? rw_fail_memory(b->source.ctx, status, "out of memory while reading batches")
                      : status;
}

/* Stores values: each step takes at most RW_TABLE_COLUMNS columns of a segment. */
static int stage_some(void *user, struct rw_share *share)
{
    struct streamed *b = user;
    const uint32_t n_groups = (b->n_columns + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    for (uint64_t item, end; rw_share_next(share, &item, &end);) {
        const struct segment *one = &b->segment[item / n_groups];
        const uint32_t first = (uint32_t)(item % n_groups) * RW_TABLE_COLUMNS;
        const uint32_t left = b->n_columns - first;
        const uint32_t stride = rw_source_n_wanted(&b->source, b->chunk + one->slot);
        float *value = b->source.chunks.scratch[one->slot].value;
        rw_table_values(&b->reader, b->reader.dense + first,
                        left < RW_TABLE_COLUMNS ? left : RW_TABLE_COLUMNS, b->row + one->first, 0,
                        one->n, value + (size_t)first * stride + one->at, stride);
    }
    return RW_OK;
}

/* Stores the wanted ones of documents [first, end) of the batch, which belong to the current
 * chunks. The batch begins with document `batch`. */
static void stage_batch(struct streamed *b, uint32_t batch, uint32_t first, uint32_t end)
{
    uint32_t n = 0;
    b->n_segments = 0;
    for (uint32_t doc = first; doc < end;) {
        const uint32_t chunk = doc / b->chunk_docs, slot = chunk - b->chunk;
        const uint32_t chunk_end =
            b->source.first_doc[chunk + 1] < end ? b->source.first_doc[chunk + 1] : end;
        struct segment one = {.slot = slot, .first = n, .at = b->staged[slot]};
        uint32_t *row = b->source.chunks.scratch[slot].row;
        for (; doc < chunk_end; doc++) {
            if (!rw_source_wants(&b->source, doc))
                continue;
            row[b->staged[slot]++] = doc - b->source.first_doc[chunk];
            b->row[n++] = doc - batch;
        }
        one.n = n - one.first;
        if (one.n)
            b->segment[b->n_segments++] = one;
    }
    const uint32_t n_groups = (b->n_columns + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    enum { FEW = 1 << 12 }; /* fewer values are not worth waking threads */
    const int n_threads = (uint64_t)n * b->n_columns < FEW ? 1 : b->source.ctx->n_threads;
    rw_parallel(b->source.ctx, n_threads, (uint64_t)b->n_segments * n_groups, 1, stage_some, b);
}

static int read_stream(struct rw_source *source)
{
    struct streamed *b = source->self;
    const uint32_t n_docs = source->documents->n_docs;
    uint32_t done = 0, n;
    RW_TRY(begin_chunks(b, 0));
    for (;;) {
        RW_TRY(rw_table_next(source->ctx, &b->reader, done, &n));
        if (n == 0)
            return RW_OK;
        const uint32_t batch = done;
        while (done < batch + n) {
            const uint32_t end = source->first_doc[b->chunk + b->n_slots];
            const uint32_t stop = batch + n < end ? batch + n : end;
            stage_batch(b, batch, done, stop);
            done = stop;
            if (done < end)
                break;
            RW_TRY(end_chunks(b));
            if (done < n_docs)
                RW_TRY(begin_chunks(b, b->chunk + b->n_slots));
        }
        /* only the last pass checks, batch by batch, so the first infinite value is reported */
        if (!source->sampled || !source->sample.in)
            RW_TRY(rw_table_check(source->ctx, &b->reader));
    }
}

/* ---- entry points ---- */

/* Chooses the number of slots, and allocates the arrays. */
static int make_room(struct streamed *b)
{
    struct rw_ctx *ctx = b->source.ctx;
    const size_t bytes = (size_t)b->chunk_docs * (b->n_columns + 1) * sizeof(float);
    const uint32_t most = bytes < MOST_STAGED ? (uint32_t)(MOST_STAGED / bytes) : 1;
    b->room = most < (uint32_t)ctx->n_threads ? most : (uint32_t)ctx->n_threads;
    RW_TRY(RW_ARENA_NEW(ctx, &b->arena, b->feature, b->n_columns));
    for (uint32_t i = 0; i < b->n_columns; i++)
        b->feature[i] = b->reader.column[i].feature;
    RW_TRY(RW_ARENA_NEW(ctx, &b->arena, b->staged, b->room));
    RW_TRY(RW_ARENA_NEW(ctx, &b->arena, b->segment, b->room));
    return RW_ARENA_NEW(ctx, &b->arena, b->row, (size_t)b->chunk_docs * b->room);
}

static int open_stream(struct rw_source *source)
{
    struct streamed *b = source->self;
    int status = open_table(source->ctx, &b->reader, b->table);
    status = status < 0 ? status : rw_table_documents(source->ctx, b->table, &b->out->documents);
    source->documents = b->out->documents;
    status = status < 0 ? status : rw_source_even_chunks(source, b->table->n_docs, b->chunk_docs);
    RW_TRY(rw_comm_agree(source->ctx, status < 0 ? status : make_room(b)));
    return 1;
}

int rw_stream_codes(struct rw_ctx *ctx, const struct rw_table *table,
                    const struct rw_cut_rule *rule, uint32_t chunk_docs, struct rw_binned *out)
{
    static const struct rw_source_kind kind = {.open = open_stream, .pass = read_stream};
    struct streamed b = {.source = {.kind = &kind, .self = &b, .ctx = ctx, .rule = rule},
                         .table = table,
                         .n_columns = table->n_columns,
                         .chunk_docs = chunk_docs,
                         .out = out};
    const int status = rw_source_codes(&b.source, out);
    if (status >= 0)
        rw_table_warn_inexact(ctx, &b.reader);
    rw_table_close(&b.reader);
    rw_arena_free(&b.arena);
    return status < 0 ? status : RW_OK;
}
