#include "io/arrow.h"

#include <errno.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "scratch_file.h"

TestSuite(arrow, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

/* ---- a producer that counts its objects ---- */

enum { MOST_COLUMNS = 4, MOST_BATCHES = 4 };

static int n_streams, n_schemas, n_batches; /* alive */

struct producer {
    struct ArrowSchema column[MOST_COLUMNS], dictionary;
    struct ArrowSchema *columns[MOST_COLUMNS];
    struct ArrowArray array[MOST_BATCHES][MOST_COLUMNS], listed;
    struct ArrowArray *arrays[MOST_BATCHES][MOST_COLUMNS];
    const void *buffer[MOST_BATCHES][MOST_COLUMNS][4], *listed_buffer[3];
    int64_t n_columns, n_rows[MOST_BATCHES], first_row;
    const char *format; /* of the table */
    int n, next;
    int schema_code, next_code; /* of errors; the latter after all batches */
    const char *error;
};

static void release_schema(struct ArrowSchema *schema)
{
    n_schemas--;
    schema->release = NULL;
}

static void release_batch(struct ArrowArray *array)
{
    n_batches--;
    array->release = NULL;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    n_streams--;
    stream->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    struct producer *p = stream->private_data;
    if (p->schema_code)
        return p->schema_code;
    n_schemas++;
    *out = (struct ArrowSchema){.format = p->format,
                                .n_children = p->n_columns,
                                .children = p->columns,
                                .release = release_schema};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    struct producer *p = stream->private_data;
    if (p->next == p->n) {
        out->release = NULL;
        return p->next_code;
    }
    n_batches++;
    *out = (struct ArrowArray){.length = p->n_rows[p->next],
                               .offset = p->first_row,
                               .n_children = p->n_columns,
                               .children = p->arrays[p->next],
                               .release = release_batch};
    p->next++;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    return ((struct producer *)stream->private_data)->error;
}

/* Two batches of 3 and 2 rows: floats, and a column whose buffers tests set. */
static const float x[] = {1, 2, 3}, y[] = {4, 5};

static void begin_producer(struct producer *p, const char *format)
{
    memset(p, 0, sizeof(*p));
    p->format = "+s";
    p->n_columns = 2;
    p->n = 2;
    p->n_rows[0] = 3;
    p->n_rows[1] = 2;
    p->column[0] = (struct ArrowSchema){.format = "f", .name = "x"};
    p->column[1] = (struct ArrowSchema){.format = format, .name = "q"};
    for (int c = 0; c < MOST_COLUMNS; c++)
        p->columns[c] = &p->column[c];
    for (int k = 0; k < MOST_BATCHES; k++) {
        for (int c = 0; c < MOST_COLUMNS; c++) {
            p->arrays[k][c] = &p->array[k][c];
            p->array[k][c] = (struct ArrowArray){
                .length = p->n_rows[k], .n_buffers = 2, .buffers = p->buffer[k][c]};
        }
        p->buffer[k][0][1] = k == 0 ? x : y;
    }
}

static int read_all(struct producer *p, struct rw_arrow **out)
{
    struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release_stream, p};
    n_streams++;
    p->next = 0;
    const int status = rw_arrow_read(scratch_ctx, &stream, NULL, NULL, out);
    cr_assert_null(stream.release, "moved");
    cr_assert_eq(n_streams, 0);
    return status;
}

static void assert_released(void)
{
    cr_assert_eq(n_schemas, 0);
    cr_assert_eq(n_batches, 0);
}

static void assert_refused(struct producer *p, const char *error)
{
    struct rw_arrow *arrow;
    const int status = read_all(p, &arrow);
    cr_assert_lt(status, 0, "%s", error);
    cr_assert_null(arrow);
    cr_assert_str_eq(rw_last_error(scratch_ctx), error);
    assert_released();
}

/* The stream is read; its column q is invalid. */
static void assert_column_refused(struct producer *p, int as_ids, const char *error)
{
    struct rw_arrow *arrow;
    struct rw_array array[MOST_BATCHES];
    struct rw_arrow_ids ids;
    cr_assert_eq(read_all(p, &arrow), RW_OK, "%s", rw_last_error(scratch_ctx));
    const int status = as_ids ? rw_arrow_ids_read(scratch_ctx, arrow, 1, &ids)
                              : rw_arrow_column(scratch_ctx, arrow, 1, array, 1);
    cr_assert_eq(status, RW_ERR_DATA, "%s", error);
    cr_assert_str_eq(rw_last_error(scratch_ctx), error);
    rw_arrow_free(arrow);
    assert_released();
}

/* ---- accepted tables ---- */

Test(arrow, table)
{
    static const int32_t number[] = {9, 9, 7, 7, 7}, more[] = {7, 8};
    static const uint8_t valid = 0x0d; /* element 1 is null */
    struct producer p;
    struct rw_arrow *arrow;
    struct rw_arrow_ids ids;
    struct rw_array array[2][2];
    struct rw_dataset *dataset;
    begin_producer(&p, "i");
    p.n = 3; /* the last one is empty */
    p.buffer[0][1][1] = number;
    p.buffer[1][1][1] = more;
    p.array[0][1].offset = 2; /* 7, 7, 7 */
    p.buffer[1][0][0] = &valid;
    p.array[1][0].null_count = -1; /* not counted */
    cr_assert_eq(read_all(&p, &arrow), RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(n_batches, 2, "the empty one is released");
    cr_assert_eq(arrow->n_docs, 5);
    cr_assert_eq(arrow->n_columns, 2);
    cr_assert_eq(arrow->n_chunks, 2);
    cr_assert_str_eq(arrow->name[1], "q");
    cr_assert_eq(rw_arrow_ids_read(scratch_ctx, arrow, 1, &ids), RW_OK);
    cr_assert_eq(ids.n, 2);
    cr_assert(ids.offset[0] == 0 && ids.offset[1] == 4 && ids.offset[2] == 5);
    cr_assert_str_eq(ids.text + ids.text_offset[0], "7");
    cr_assert_str_eq(ids.text + ids.text_offset[1], "8");
    for (uint32_t c = 0; c < 2; c++)
        cr_assert_eq(rw_arrow_column(scratch_ctx, arrow, c, &array[0][c], 2), RW_OK);
    const struct rw_table table = {.n_docs = 5,
                                   .n_columns = 2,
                                   .column = &array[0][0],
                                   .missing = NAN,
                                   .n_queries = ids.n,
                                   .query_offset = ids.offset,
                                   .query_id_text = ids.text,
                                   .query_id_offset = ids.text_offset,
                                   .n_chunks = 2,
                                   .chunk_offset = arrow->chunk_offset};
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &table, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_arrow_free(arrow);
    assert_released();
    for (uint32_t i = 0; i < 5; i++) {
        const float value = dataset->column[0].value[i];
        cr_assert(i == 4 ? value != value : value == (float)(i + 1), "document %u", i);
        cr_assert_eq(dataset->column[1].value[i], i < 4 ? 7 : 8);
    }
    rw_dataset_free(dataset);
    rw_arrow_free(NULL);
}

/* ---- refused tables ---- */

Test(arrow, streams_refused)
{
    struct producer p;
    begin_producer(&p, "f");
    p.schema_code = EIO;
    assert_refused(&p, "the table's stream failed: Input/output error");
    p.schema_code = 0;
    p.next_code = EINVAL;
    p.error = "no more files";
    assert_refused(&p, "the table's stream failed: no more files");
    p.next_code = ENOMEM;
    struct rw_arrow *arrow;
    cr_assert_eq(read_all(&p, &arrow), RW_ERR_MEMORY);
    p.next_code = 0;
    p.format = "f";
    assert_refused(&p, "an Arrow stream of floats; expected a table's record batches");
    p.format = NULL;
    assert_refused(&p, "an Arrow stream without a schema");
    begin_producer(&p, "f");
    p.n_columns = -1;
    assert_refused(&p, "an Arrow schema of -1 columns");
    begin_producer(&p, NULL);
    assert_refused(&p, "column 1 (from 0) of an Arrow schema has no type");
    begin_producer(&p, "f");
    p.n_rows[1] = -2;
    assert_refused(&p, "an invalid Arrow batch: -2 documents from 0 on");
    p.n_rows[1] = 3;
    assert_refused(&p, "column 0 (from 0) of an Arrow batch is shorter than the batch");
    p.n_rows[1] = 2;
    p.first_row = INT64_MAX;
    assert_refused(&p, "an invalid Arrow batch: 3 documents from 9223372036854775807 on");
    p.first_row = 0;
    p.array[0][1].offset = -1;
    assert_refused(&p, "column 1 (from 0) of an Arrow batch is shorter than the batch");
    p.array[0][1].offset = INT64_MAX - 3;
    assert_refused(&p, "column 1 (from 0) of an Arrow batch is shorter than the batch");
    p.array[0][1].offset = 0;
    p.arrays[1][1] = NULL;
    assert_refused(&p, "column 1 (from 0) of an Arrow batch is shorter than the batch");
    begin_producer(&p, "f");
    p.n_rows[1] = 2147483645;
    p.array[1][0].length = p.array[1][1].length = INT64_MAX / 64;
    assert_refused(&p, "too many documents: 2147483648; expected at most 2147483647");
}

Test(arrow, columns_refused)
{
    static const char *const type[][2] = {{"tsn:UTC", "timestamps"},
                                          {"tdD", "dates"},
                                          {"d:9,2", "decimals"},
                                          {"+l", "lists"},
                                          {"+vL", "lists"},
                                          {"", "values of an unknown type"},
                                          {"ff", "values of an unknown type"}};
    struct producer p;
    char error[128];
    for (size_t i = 0; i < sizeof(type) / sizeof(type[0]); i++) {
        begin_producer(&p, type[i][0]);
        snprintf(error, sizeof(error), "column 'q' has %s; expected numbers%s", type[i][1],
                 type[i][0][0] == 'd' ? "\nhint: cast the column to integers or floats" : "");
        assert_column_refused(&p, 0, error);
        snprintf(error, sizeof(error), "column 'q' has %s; expected integers or strings",
                 type[i][1]);
        assert_column_refused(&p, 1, error);
    }
    begin_producer(&p, "i");
    assert_column_refused(&p, 0, "column 'q' is damaged: a buffer is missing");
    assert_column_refused(&p, 1, "column 'q' is damaged: a buffer is missing");
    p.array[0][1].n_buffers = 1;
    assert_column_refused(&p, 0, "column 'q' is damaged: a buffer is missing");
    assert_column_refused(&p, 1, "column 'q' is damaged: a buffer is missing");
    p.array[0][1].n_buffers = 2;
    p.array[0][1].null_count = 1;
    p.buffer[0][1][1] = x;
    assert_column_refused(&p, 0, "column 'q' is damaged: a buffer is missing");
    assert_column_refused(&p, 1, "column 'q' is damaged: a buffer is missing");
}

static const char damaged[] =
    "column 'q' is damaged: the id of document 1 (from 0) is outside its buffers";

Test(arrow, strings_refused)
{
    static const int32_t falling[] = {0, 2, 1, 3}, negative[] = {0, 0, -1, 3};
    static const int64_t wide[] = {0, 2, 1, 3};
    static const char text[] = "abcd";
    struct producer p;
    begin_producer(&p, "u");
    p.array[0][1].n_buffers = 3;
    p.buffer[0][1][2] = text;
    p.buffer[0][1][1] = falling;
    assert_column_refused(&p, 1, damaged);
    p.buffer[0][1][1] = negative;
    assert_column_refused(&p, 1, damaged);
    p.column[1].format = "U";
    p.buffer[0][1][1] = wide;
    assert_column_refused(&p, 1, damaged);
    p.buffer[0][1][2] = NULL;
    assert_column_refused(
        &p, 1, "column 'q' is damaged: the id of document 0 (from 0) is outside its buffers");
}

/* Strings without a byte may have no buffer of them. */
Test(arrow, empty_strings)
{
    static const int32_t offset[] = {0, 0, 0, 0};
    struct producer p;
    struct rw_arrow *arrow;
    struct rw_arrow_ids ids;
    begin_producer(&p, "u");
    p.n = 1;
    p.array[0][1].n_buffers = 3;
    p.buffer[0][1][1] = offset;
    cr_assert_eq(read_all(&p, &arrow), RW_OK);
    cr_assert_eq(rw_arrow_ids_read(scratch_ctx, arrow, 1, &ids), RW_OK);
    cr_assert_eq(ids.n, 1); /* neighbours that are the same are one */
    cr_assert_str_eq(ids.text + ids.text_offset[0], "");
    rw_arrow_free(arrow);
}

Test(arrow, views_refused)
{
    static const char text[20] = "a text of 20 letters";
    static const int64_t sizes[] = {20};
    static const int32_t wrong[][4] = {
        {-1, 0, 0, 0}, {13, 0, 1, 0}, {13, 0, -1, 0}, {13, 0, 0, -1}, {13, 0, 0, 8}};
    int32_t view[3][4] = {{20, 0, 0, 0}, {0}, {13, 0, 0, 7}};
    struct producer p;
    begin_producer(&p, "vu");
    p.n = 1;
    p.array[0][1].n_buffers = 4;
    p.buffer[0][1][1] = view;
    p.buffer[0][1][2] = text;
    p.buffer[0][1][3] = sizes;
    struct rw_arrow *arrow;
    struct rw_arrow_ids ids;
    cr_assert_eq(read_all(&p, &arrow), RW_OK);
    cr_assert_eq(rw_arrow_ids_read(scratch_ctx, arrow, 1, &ids), RW_OK);
    cr_assert_eq(ids.n, 3);
    cr_assert_eq(strcmp(ids.text + ids.text_offset[0], "a text of 20 letters"), 0);
    cr_assert_str_eq(ids.text + ids.text_offset[2], "of 20 letters");
    rw_arrow_free(arrow);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memcpy(view[1], wrong[i], sizeof(view[1]));
        assert_column_refused(&p, 1, damaged);
    }
}

Test(arrow, dictionaries_refused)
{
    static const int32_t offset[] = {0, 1, 2};
    int8_t index[] = {0, 1, 0};
    struct producer p;
    begin_producer(&p, "c");
    p.n = 1;
    p.dictionary = (struct ArrowSchema){.format = "u"};
    p.column[1].dictionary = &p.dictionary;
    p.buffer[0][1][1] = index;
    assert_column_refused(&p, 1, "column 'q' is damaged: a buffer is missing");
    p.listed = (struct ArrowArray){.length = 2, .n_buffers = 3, .buffers = p.listed_buffer};
    p.listed_buffer[1] = offset;
    p.listed_buffer[2] = "ab";
    p.array[0][1].dictionary = &p.listed;
    struct rw_arrow *arrow;
    struct rw_arrow_ids ids;
    cr_assert_eq(read_all(&p, &arrow), RW_OK);
    cr_assert_eq(rw_arrow_ids_read(scratch_ctx, arrow, 1, &ids), RW_OK);
    cr_assert_eq(ids.n, 3);
    cr_assert_str_eq(ids.text + ids.text_offset[1], "b");
    rw_arrow_free(arrow);
    index[1] = 2;
    assert_column_refused(&p, 1, damaged);
    index[1] = -1;
    assert_column_refused(&p, 1, damaged);
    p.column[1].format = "f";
    assert_column_refused(&p, 1, "column 'q' is damaged: its indices are not integers");
    assert_column_refused(&p, 0, "column 'q' has categories; expected numbers");
}

/* All is given back wherever memory ends. */
Test(arrow, memory)
{
    static const int64_t number[] = {1, 2, 3};
    int status = RW_ERR_MEMORY;
    long n = 1;
    for (; status != RW_OK && n < 100; n++) {
        struct producer p;
        struct rw_arrow *arrow;
        struct rw_arrow_ids ids = {.n = 0};
        begin_producer(&p, "l");
        p.buffer[0][1][1] = p.buffer[1][1][1] = number;
        rw_mem_fail_from(n);
        status = read_all(&p, &arrow);
        if (status == RW_OK)
            status = rw_arrow_ids_read(scratch_ctx, arrow, 1, &ids);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY);
        rw_arrow_free(arrow);
        assert_released();
    }
    cr_assert_eq(status, RW_OK);
    cr_assert_gt(n, 5);
}

/* A batch and its schema by themselves: the first of a stream's. */
static int read_one(struct producer *p, struct rw_arrow **out)
{
    struct ArrowArrayStream stream = {.private_data = p};
    struct ArrowSchema schema;
    struct ArrowArray batch;
    p->next = 0;
    cr_assert_eq(get_schema(&stream, &schema), 0);
    cr_assert_eq(get_next(&stream, &batch), 0);
    const int status = rw_arrow_read(scratch_ctx, NULL, &schema, &batch, out);
    cr_assert_null(schema.release, "moved");
    cr_assert_null(batch.release, "moved");
    return status;
}

Test(arrow, one_batch)
{
    struct producer p;
    struct rw_arrow *arrow;
    struct rw_array array;
    begin_producer(&p, "f");
    p.buffer[0][1][1] = x;
    cr_assert_eq(read_one(&p, &arrow), RW_OK);
    cr_assert_eq(arrow->n_docs, 3);
    cr_assert_eq(arrow->n_chunks, 1);
    cr_assert_str_eq(arrow->name[1], "q");
    cr_assert_eq(rw_arrow_column(scratch_ctx, arrow, 0, &array, 1), RW_OK);
    cr_assert_eq(((const float *)array.data)[2], 3);
    cr_assert_eq(n_schemas + n_batches, 2);
    rw_arrow_free(arrow);
    assert_released();
    p.n_rows[0] = 0;
    cr_assert_eq(read_one(&p, &arrow), RW_OK);
    cr_assert_eq(arrow->n_docs, 0);
    rw_arrow_free(arrow);
    assert_released();
    p.n_rows[0] = -1;
    cr_assert_eq(read_one(&p, &arrow), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "an invalid Arrow batch: -1 documents from 0 on");
    assert_released();
    p.format = "f";
    cr_assert_eq(read_one(&p, &arrow), RW_ERR_DATA);
    cr_assert_null(arrow);
    assert_released();
    struct ArrowSchema schema = {.release = NULL};
    struct ArrowArray batch = {.release = NULL};
    cr_assert_eq(rw_arrow_read(scratch_ctx, NULL, &schema, &batch, &arrow), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "the Arrow batch was already read and released");
    begin_producer(&p, "f");
    int status = RW_ERR_MEMORY;
    long n = 0;
    while (status != RW_OK) {
        rw_mem_fail_from(++n);
        status = read_one(&p, &arrow);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY);
        rw_arrow_free(arrow);
        assert_released();
    }
    cr_assert_gt(n, 3);
}
