/* Fuzzes Arrow's C data interface. A producer built from the input passes a schema and batches
 * with any lengths, offsets, and numbers of buffers and children. The interface does not pass
 * the size of buffers, so they are as long as the declared rows need; their contents come from
 * the input. The result must be an error of one line, or columns, query ids and a data set.
 * Every object is released once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "fuzz_input.h"
#include "io/arrow.h"

enum { COLUMNS = 5, BATCHES = 3, ROWS = 12, BUFFERS = 5, LETTERS = 64 };

/* A column of a batch, or a dictionary. */
struct made_array {
    struct ArrowArray array;
    const void *buffer[BUFFERS]; /* each owned */
    struct made_array *listed;   /* owned */
};

struct producer {
    struct fuzz_bytes bytes;
    struct ArrowSchema column[COLUMNS], listed[COLUMNS];
    struct ArrowSchema *columns[COLUMNS];
    struct made_array made[BATCHES][COLUMNS];
    struct ArrowArray *arrays[BATCHES][COLUMNS];
    void *row_valid[BATCHES]; /* owned */
    int64_t n_columns;
    int n_batches, next;
    int n_alive; /* schemas, batches and streams that were not released */
};

/* One time in sixteen something is not as it should be. */
static int is_odd(struct producer *p)
{
    return fuzz_byte(&p->bytes) % 16 == 15;
}

static int64_t odd_number(struct producer *p)
{
    static const int64_t numbers[] = {-1,        INT64_MIN, INT64_MAX,          INT64_MAX / 64,
                                      INT32_MAX, 1ll << 32, INT64_MAX / 64 + 1, 0};
    return numbers[fuzz_below(&p->bytes, sizeof(numbers) / sizeof(numbers[0]))];
}

/* ---- types ---- */

static const struct {
    const char *format;
    int bits, n_buffers; /* of a value in buffer 1; buffers at least */
} types[] = {{"f", 32, 2},      {"g", 64, 2}, {"i", 32, 2},   {"l", 64, 2},  {"u", 32, 3},
             {"b", 1, 2},       {"c", 8, 2},  {"C", 8, 2},    {"s", 16, 2},  {"S", 16, 2},
             {"I", 32, 2},      {"L", 64, 2}, {"e", 16, 2},   {"U", 64, 3},  {"vu", 128, 4},
             {"n", 0, 0},       {"z", 32, 3}, {"tdD", 32, 2}, {"+s", 0, 1},  {"+l", 32, 2},
             {"d:5,2", 128, 2}, {"", 64, 2},  {"ff", 64, 2},  {"w:8", 64, 2}};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static int type_of(const char *format)
{
    int type = 0;
    while (strcmp(types[type].format, format) != 0)
        type++;
    return type;
}

static void make_schema(struct producer *p, int c)
{
    static const char *const names[] = {"x", "qid", "label", "", NULL, "a\nb"};
    struct ArrowSchema *column = &p->column[c];
    /* mostly numbers, and query ids in the last column */
    const uint32_t usual =
        c + 1 == p->n_columns ? 2 + fuzz_below(&p->bytes, 3) : fuzz_below(&p->bytes, 14);
    column->format = types[is_odd(p) ? fuzz_below(&p->bytes, TYPES) : usual].format;
    column->name = names[fuzz_below(&p->bytes, sizeof(names) / sizeof(names[0]))];
    column->flags = fuzz_byte(&p->bytes);
    p->columns[c] = is_odd(p) && is_odd(p) ? NULL : column;
    if (fuzz_byte(&p->bytes) % 8 == 7) {
        p->listed[c].format = types[fuzz_below(&p->bytes, TYPES)].format;
        column->dictionary = &p->listed[c];
        column->format =
            types[is_odd(p) ? fuzz_below(&p->bytes, TYPES) : 2 + 4 * fuzz_below(&p->bytes, 2)]
                .format;
    }
    if (is_odd(p) && is_odd(p))
        column->format = NULL;
}

/* ---- buffers ---- */

/* A buffer of exactly this many bits, so that a sanitizer detects reads past its end. */
static void *make_buffer(struct producer *p, size_t bits)
{
    const size_t n = (bits + 7) / 8;
    uint8_t *buffer = malloc(n ? n : 1);
    const uint8_t step = fuzz_byte(&p->bytes);
    fuzz_check(buffer != NULL);
    for (size_t i = 0; i < n; i++) /* the input's, then small numbers */
        buffer[i] = p->bytes.at < p->bytes.end && step % 4
                        ? fuzz_byte(&p->bytes)
                        : (uint8_t)(i % 4 ? 0 : i / 4 * (step & 1));
    return buffer;
}

/* Offsets never lead past the letters, but may fall, or be negative. */
static void make_strings(struct producer *p, struct made_array *made, int64_t n, int is_large)
{
    const size_t size = is_large ? 8 : 4;
    char *offsets = malloc(((size_t)n + 1) * size);
    int64_t at = 0;
    fuzz_check(offsets != NULL);
    for (int64_t i = 0; i <= n; i++) {
        const int64_t odd = is_odd(p) ? (int8_t)fuzz_byte(&p->bytes) : at;
        const int64_t offset = odd > LETTERS ? LETTERS : odd;
        const int32_t narrow = (int32_t)offset;
        memcpy(offsets + (size_t)i * size, is_large ? (const void *)&offset : &narrow, size);
        at += at < LETTERS ? fuzz_byte(&p->bytes) & 1 : 0;
    }
    free((void *)(uintptr_t)made->buffer[1]);
    made->buffer[1] = offsets;
    made->buffer[2] = make_buffer(p, LETTERS * 8);
}

/* Short strings, and some in a chunk with its size. */
static void make_views(struct producer *p, struct made_array *made, int64_t n)
{
    char *views = (char *)(uintptr_t)made->buffer[1];
    int64_t *sizes = malloc(sizeof(*sizes));
    fuzz_check(sizes != NULL);
    *sizes = LETTERS;
    made->buffer[2] = make_buffer(p, LETTERS * 8);
    made->buffer[3] = sizes;
    for (int64_t i = 0; i < n; i++) {
        const int32_t length =
            is_odd(p) ? (int32_t)fuzz_u32(&p->bytes) : (int32_t)fuzz_below(&p->bytes, 16);
        memcpy(views + 16 * i, &length, sizeof(length));
        if (length > 12 && !is_odd(p))
            memset(views + 16 * i + 8, 0, 8);
    }
}

/* ---- arrays ---- */

static void make_array(struct producer *p, struct made_array *made,
                       const struct ArrowSchema *schema, int64_t length)
{
    struct ArrowArray *array = &made->array;
    const int type = type_of(schema->format ? schema->format : "");
    const int64_t offset = fuzz_byte(&p->bytes) % 8 == 7 ? fuzz_below(&p->bytes, 9) : 0;
    const int64_t n = offset + length;
    array->length = length;
    array->offset = offset;
    array->n_buffers = types[type].n_buffers;
    array->buffers = made->buffer;
    made->buffer[1] = make_buffer(p, (size_t)n * (size_t)types[type].bits);
    if (strcmp(types[type].format, "u") == 0 || strcmp(types[type].format, "U") == 0)
        make_strings(p, made, n, types[type].bits == 64);
    if (strcmp(types[type].format, "vu") == 0)
        make_views(p, made, n);
    if (fuzz_byte(&p->bytes) % 4 == 3) {
        made->buffer[0] = make_buffer(p, (size_t)n);
        array->null_count = fuzz_byte(&p->bytes) % 4 - 1;
    }
    if (schema->dictionary && !is_odd(p)) {
        made->listed = calloc(1, sizeof(*made->listed));
        fuzz_check(made->listed != NULL);
        make_array(p, made->listed, schema->dictionary, fuzz_below(&p->bytes, ROWS));
        array->dictionary = &made->listed->array;
    }
    /* Sizes too small for the buffers, and invalid ones. */
    if (is_odd(p) && is_odd(p)) {
        switch (fuzz_below(&p->bytes, 6)) {
        case 0:
            array->length = fuzz_byte(&p->bytes) & 1 ? -1 : length / 2;
            break;
        case 1:
            array->offset = fuzz_byte(&p->bytes) & 1 ? -1 : offset / 2;
            break;
        case 2:
            array->n_buffers = (int64_t)fuzz_below(&p->bytes, 3) - 1;
            break;
        case 3:
            array->buffers = NULL;
            break;
        case 4:
            free((void *)(uintptr_t)made->buffer[1]);
            made->buffer[1] = NULL;
            break;
        default:
            array->null_count = odd_number(p);
        }
    }
}

static void release_array(struct made_array *made)
{
    for (int b = 0; b < BUFFERS; b++)
        free((void *)(uintptr_t)made->buffer[b]);
    if (made->listed) {
        release_array(made->listed);
        free(made->listed);
    }
}

/* ---- the stream ---- */

static void release_schema(struct ArrowSchema *schema)
{
    ((struct producer *)schema->private_data)->n_alive--;
    schema->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
    ((struct producer *)array->private_data)->n_alive--;
    array->release = NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    ((struct producer *)stream->private_data)->n_alive--;
    stream->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct producer *p = stream->private_data;
    if (is_odd(p) && is_odd(p))
        return EIO;
    p->n_alive++;
    *out = (struct ArrowSchema){.format = is_odd(p) && is_odd(p) ? "l" : "+s",
                                .n_children = is_odd(p) && is_odd(p) ? -1 : p->n_columns,
                                .children = is_odd(p) && is_odd(p) ? NULL : p->columns,
                                .release = release_schema,
                                .private_data = p};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct producer *p = stream->private_data;
    out->release = NULL;
    if (p->next == p->n_batches)
        return is_odd(p) && is_odd(p) ? ENOMEM : 0;
    const int k = p->next++;
    const int64_t n = fuzz_below(&p->bytes, ROWS),
                  offset = is_odd(p) ? fuzz_below(&p->bytes, 3) : 0;
    for (int c = 0; c < p->n_columns; c++) {
        make_array(p, &p->made[k][c], &p->column[c], n + offset);
        p->arrays[k][c] = is_odd(p) && is_odd(p) ? NULL : &p->made[k][c].array;
    }
    p->n_alive++;
    *out = (struct ArrowArray){.length = n,
                               .offset = offset,
                               .n_children = p->n_columns,
                               .children = p->arrays[k],
                               .release = release_batch,
                               .private_data = p};
    if (is_odd(p) && is_odd(p)) {
        switch (fuzz_below(&p->bytes, 4)) {
        case 0:
            out->length = odd_number(p);
            break;
        case 1:
            out->offset = odd_number(p);
            break;
        case 2:
            out->n_children = odd_number(p);
            break;
        default:
            out->children = NULL;
        }
    }
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct producer *p = stream->private_data;
    return is_odd(p) ? NULL : "the producer's error";
}

/* ---- data set ---- */

static void check_error(struct rw_ctx *ctx, int status)
{
    fuzz_check(status < 0 && status != RW_ERR_INTERNAL && rw_last_error(ctx)[0] != 0);
}

/* Columns of numbers, with the last column's query ids: a data set. */
static int make_dataset(struct rw_ctx *ctx, struct rw_arrow *arrow)
{
    const uint32_t n_docs = arrow->n_docs, n_columns = arrow->n_columns;
    const uint32_t n_chunks = arrow->n_chunks;
    struct rw_array *array =
        calloc((size_t)(n_chunks ? n_chunks : 1) * (n_columns ? n_columns : 1), sizeof(*array));
    struct rw_arrow_ids ids = {.n = 0};
    struct rw_dataset *dataset = NULL;
    uint32_t n = 0;
    int status;
    fuzz_check(array != NULL);
    for (uint32_t c = 0; c + 1 < n_columns; c++) {
        status = rw_arrow_column(ctx, arrow, c, array + n, n_columns - 1);
        if (status == RW_OK)
            n++;
        else
            check_error(ctx, status);
    }
    status = n_columns ? rw_arrow_ids_read(ctx, arrow, n_columns - 1, &ids) : RW_ERR_DATA;
    if (status < 0 || n + 1 != n_columns) {
        if (status < 0 && n_columns)
            check_error(ctx, status);
    } else {
        fuzz_check(ids.n > 0 && ids.offset[0] == 0 && ids.offset[ids.n] == n_docs);
        const struct rw_table table = {.n_docs = n_docs,
                                       .n_columns = n,
                                       .column = array,
                                       .missing = NAN,
                                       .n_queries = ids.n,
                                       .query_offset = ids.offset,
                                       .query_id_text = ids.text,
                                       .query_id_offset = ids.text_offset,
                                       .n_chunks = n_chunks,
                                       .chunk_offset = arrow->chunk_offset};
        status = rw_dataset_from_table(ctx, &table, &dataset);
        if (status < 0)
            check_error(ctx, status);
        else
            fuzz_check(dataset->n_docs == n_docs && dataset->n_queries == ids.n);
    }
    const int taken = dataset != NULL;
    rw_dataset_free(dataset);
    free(array);
    return taken;
}

const char *const fuzz_words[] = {NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    static struct producer p;
    struct rw_ctx *ctx;
    struct rw_arrow *arrow;
    memset(&p, 0, sizeof(p));
    p.bytes = (struct fuzz_bytes){data, data + size};
    p.n_columns = fuzz_below(&p.bytes, COLUMNS + 1);
    p.n_batches = (int)fuzz_below(&p.bytes, BATCHES + 1);
    for (int c = 0; c < p.n_columns; c++)
        make_schema(&p, c);
    struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release_stream, &p};
    p.n_alive = 1;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    const int status = rw_arrow_read(ctx, &stream, NULL, NULL, &arrow);
    int taken = 0;
    fuzz_check(!stream.release);
    if (status == RW_OK) {
        taken = make_dataset(ctx, arrow);
        rw_arrow_free(arrow);
    } else {
        check_error(ctx, status);
        fuzz_check(!arrow);
    }
    fuzz_check(p.n_alive == 0);
    for (int k = 0; k < BATCHES; k++)
        for (int c = 0; c < COLUMNS; c++)
            release_array(&p.made[k][c]);
    rw_ctx_free(ctx);
    return taken;
}
