#include "base/mem.h"
#include "dataset/dataset.h"
#include "made_table.h"

TestSuite(table_chunks, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

enum { MOST_CHUNKS = 40 };

struct chunks {
    struct rw_array array[MOST_CHUNKS * MOST_COLUMNS];
    uint32_t offset[MOST_CHUNKS + 1];
    void *owned[2 * MOST_CHUNKS * MOST_COLUMNS];
    int n_owned;
};

static void *own_chunk(struct chunks *s, size_t n_bytes)
{
    void *p = calloc(n_bytes ? n_bytes : 1, 1);
    cr_assert_not_null(p);
    return s->owned[s->n_owned++] = p;
}

/* n bits from one place to another of their own, after `at` others. */
static uint8_t *copy_bits(struct chunks *s, const uint8_t *from, size_t first, uint32_t n,
                          size_t at)
{
    uint8_t *to = own_chunk(s, (n + at + 7) / 8);
    for (size_t i = 0; i < n; i++)
        to[(at + i) / 8] |=
            (uint8_t)((from[(first + i) / 8] >> ((first + i) % 8) & 1) << ((at + i) % 8));
    return to;
}

/* Elements [first, first + n) in memory of their own. */
static struct rw_array copy_chunk(struct chunks *s, const struct rw_array *a, uint32_t first,
                                  uint32_t n, uint32_t random)
{
    const size_t size = size_of(a->type);
    struct rw_array out = {.type = a->type, .stride = (ptrdiff_t)size};
    if (a->type == RW_VALUE_BITS) {
        out.bit = random % 11;
        out.data = copy_bits(s, a->data, a->bit + first, n, out.bit);
    } else {
        char *to = own_chunk(s, n * size);
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + i * size, (const char *)a->data + (ptrdiff_t)(first + i) * a->stride, size);
        out.data = to;
    }
    if (a->valid) {
        out.valid_bit = random / 11 % 13;
        out.valid = copy_bits(s, a->valid, a->valid_bit + first, n, out.valid_bit);
    }
    return out;
}

/* Leaves the dense columns, of several chunks each; returns how many there are. */
static uint32_t split_in_chunks(struct made *m, uint32_t seed, struct chunks *s)
{
    struct rw_table *table = &m->table;
    uint32_t n = 0;
    for (uint32_t c = 0; c < table->n_columns; c++) {
        if (m->column[c].index)
            continue;
        m->column[n] = m->column[c];
        m->feature[n] = m->feature[c];
        m->number[n] = m->number[c];
        m->known[n++] = m->known[c];
    }
    memset(s, 0, sizeof(*s));
    table->n_columns = n;
    const uint32_t most = seed % 3 == 0 ? 3 : MOST_CHUNKS;
    while (s->offset[table->n_chunks] < table->n_docs) {
        const uint32_t first = s->offset[table->n_chunks], left = table->n_docs - first;
        const uint32_t room = most - table->n_chunks;
        const uint32_t wanted = 1 + random_of(seed, table->n_chunks, 500) % 200;
        const uint32_t now = room == 1 || wanted > left ? left : wanted;
        for (uint32_t c = 0; c < n; c++)
            s->array[table->n_chunks * n + c] =
                copy_chunk(s, &m->column[c], first, now, random_of(seed, table->n_chunks, 600 + c));
        s->offset[++table->n_chunks] = first + now;
    }
    table->column = s->array;
    table->chunk_offset = s->offset;
    return n;
}

static void release_chunks(struct chunks *s)
{
    for (int i = 0; i < s->n_owned; i++)
        free(s->owned[i]);
}

/* Columns in several chunks are read as those in one: every type, validity and order. */
Test(table_chunks, same)
{
    static const uint32_t n_docs[] = {1, 63, LIMIT, 500, 5000};
    static struct chunks s;
    uint32_t n_several = 0;
    rw_cut_sample_docs = LIMIT;
    for (uint32_t seed = 0; seed < 70; seed++) {
        struct made m;
        const struct rw_cut_rule rule = {
            .bins = 255, .absent_missing = seed / 2 % 2, .min_docs = 1};
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1 + (int)(seed % 3) * 2), RW_OK);
        make_table(&m, seed, n_docs[seed % 5], 1 + seed * 7 % MOST_COLUMNS);
        if (split_in_chunks(&m, seed, &s) > 0) {
            n_several += m.table.n_chunks > 1;
            compare(&m, &rule);
        }
        release_chunks(&s);
        release(&m);
    }
    cr_assert_gt(n_several, 30);
}

Test(table_chunks, refused)
{
    static const float x[] = {1, 2, 3}, y[] = {4, INFINITY};
    static const int32_t index[] = {0, 1};
    static const uint32_t offset[] = {0, 5}, chunk[] = {0, 3, 5}, late[] = {1, 3, 5},
                          early[] = {0, 3, 4}, empty[] = {0, 0, 5};
    struct rw_array a[] = {{.data = x, .type = RW_VALUE_F32, .stride = sizeof(float)},
                           {.data = y, .type = RW_VALUE_F32, .stride = sizeof(float)}};
    struct rw_table t = {.n_docs = 5,
                         .n_columns = 1,
                         .column = a,
                         .missing = NAN,
                         .n_queries = 1,
                         .query_offset = offset,
                         .n_chunks = 2,
                         .chunk_offset = chunk};
    assert_refused(&t, RW_ERR_DATA,
                   "value of document 4 (from 0), feature 0 is infinite; expected a number, or NaN "
                   "for missing");
    t.chunk_offset = late;
    assert_refused(&t, RW_ERR_DATA, "chunk offsets go from 1 to 5; expected 0 to 5");
    t.chunk_offset = early;
    assert_refused(&t, RW_ERR_DATA, "chunk offsets go from 0 to 4; expected 0 to 5");
    t.chunk_offset = empty;
    assert_refused(&t, RW_ERR_DATA, "chunk 0 (from 0) has no documents");
    t.chunk_offset = chunk;
    a[1].type = RW_VALUE_I32;
    assert_refused(&t, RW_ERR_ARGUMENT,
                   "column of feature 0 has values of type 0, in chunk 1 of type 4");
    a[1] = (struct rw_array){.type = RW_VALUE_F32, .stride = sizeof(float)};
    assert_refused(&t, RW_ERR_ARGUMENT, "column of feature 0 has no data");
    a[1].data = y;
    a[1].index = index;
    a[1].n = 2;
    assert_refused(&t, RW_ERR_ARGUMENT,
                   "column of feature 0 is sparse, in a table of 2 chunks; expected one chunk");
}

Test(table_chunks, no_offsets)
{
    static double x[4] = {1, 2, 3, 4};
    static float y[4];
    static const uint32_t query_offset[2] = {0, 4};
    struct rw_array column[2] = {{.data = x, .type = RW_VALUE_F64, .stride = 8},
                                 {.data = x, .type = RW_VALUE_F64, .stride = 8}};
    const struct rw_table table = {.n_docs = 4,
                                   .n_columns = 1,
                                   .column = column,
                                   .label = y,
                                   .n_queries = 1,
                                   .query_offset = query_offset,
                                   .n_chunks = 2};
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &table, &dataset), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "the table has 2 chunks, but no chunk offsets");
}

/* Sets each pointer of a table to NULL in turn: it is refused if required, and nothing crashes. */
Test(table_chunks, each_null_in_turn)
{
    static const double x[4] = {1, 2, 3, 4};
    static const int32_t row[2] = {1, 3};
    static const float y[4] = {0, 1, 2, 3};
    static const uint32_t query_offset[3] = {0, 2, 4}, order[4] = {0, 1, 2, 3}, feature[2] = {3, 5};
    static const uint32_t chunk_offset[3] = {0, 2, 4};
    static const uint64_t id_offset[2] = {0, 2};
    static uint8_t inexact[2];
    const struct rw_array dense = {.data = x, .type = RW_VALUE_F64, .stride = 8};
    const struct rw_array sparse = {
        .data = x, .type = RW_VALUE_F64, .stride = 8, .index = row, .n = 2};
    struct rw_array column[4];
    const struct rw_table whole = {.n_docs = 4,
                                   .n_columns = 2,
                                   .column = column,
                                   .feature = feature,
                                   .label = y,
                                   .n_queries = 2,
                                   .query_offset = query_offset,
                                   .query_id_text = "a\0b",
                                   .query_id_offset = id_offset,
                                   .order = order,
                                   .inexact = inexact,
                                   .n_chunks = 2,
                                   .chunk_offset = chunk_offset};
    static const struct {
        size_t at;
        const char *error; /* NULL: may be NULL */
    } members[] = {
        {offsetof(struct rw_table, column), "the table has no columns"},
        {offsetof(struct rw_table, feature), NULL},
        {offsetof(struct rw_table, label), NULL},
        {offsetof(struct rw_table, query_offset), "the table lacks query offsets"},
        {offsetof(struct rw_table, query_id_text), "the table lacks the text of query ids"},
        {offsetof(struct rw_table, query_id_offset), NULL},
        {offsetof(struct rw_table, order), NULL},
        {offsetof(struct rw_table, inexact), NULL},
        {offsetof(struct rw_table, chunk_offset), "the table has 2 chunks, but no chunk offsets"}};
    struct rw_params *params;
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "min-docs", "1"), RW_OK);
    for (size_t m = 0; m <= sizeof(members) / sizeof(members[0]); m++) {
        struct rw_table table = whole;
        struct rw_dataset *dataset;
        const int is_all = m == sizeof(members) / sizeof(members[0]);
        for (int i = 0; i < 4; i++)
            column[i] = dense;
        if (!is_all)
            *(const void **)((char *)&table + members[m].at) = NULL;
        const int status = rw_dataset_from_table(scratch_ctx, &table, &dataset);
        if (is_all || !members[m].error) {
            cr_assert_eq(status, RW_OK, "%zu: %s", m, rw_last_error(scratch_ctx));
        } else {
            cr_assert_eq(status, RW_ERR_ARGUMENT, "%zu", m);
            cr_assert_str_eq(rw_last_error(scratch_ctx), members[m].error);
            cr_assert_null(dataset);
        }
        rw_dataset_free(dataset);
        struct rw_binned *binned;
        const int binned_status = rw_binned_from_table(scratch_ctx, params, &table, &binned);
        cr_assert_eq(binned_status, status, "%zu: %s", m, rw_last_error(scratch_ctx));
        cr_assert(status == RW_OK ? binned != NULL : binned == NULL);
        rw_binned_free(binned);
    }
    rw_params_free(params);
    for (int k = 0; k < 3; k++) { /* data of a dense column, of another chunk's, of a sparse one */
        struct rw_table table = whole;
        struct rw_dataset *dataset;
        table.n_chunks = k == 1 ? 2 : 0;
        for (int i = 0; i < 4; i++)
            column[i] = k == 2 ? sparse : dense;
        column[k == 1 ? 3 : 1].data = NULL;
        cr_assert_eq(rw_dataset_from_table(scratch_ctx, &table, &dataset), RW_ERR_ARGUMENT);
        cr_assert_str_eq(rw_last_error(scratch_ctx), "column of feature 5 has no data");
    }
}
