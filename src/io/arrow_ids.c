/* Query ids of a column of integers or strings. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "io/arrow.h"

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
