#include "io/source.h"

#include "base/mem.h"
#include "params/params.h"
#include "each.h"
#include "made_table.h"

TestSuite(batch_codes, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

/* A table's documents in batches of random sizes. */
struct source {
    const struct rw_table *table;
    uint32_t most, done, n_passes;
    uint32_t gives;        /* documents in the next pass */
    uint32_t more;         /* of them fewer or more in the pass after it */
    uint32_t fails_before; /* this document's batch, if not UINT32_MAX */
    int cannot_begin;
};

static int source_rewind(void *user)
{
    struct source *s = user;
    s->done = 0;
    if (s->n_passes++ == 1)
        s->gives += s->more;
    return s->cannot_begin;
}

static int source_next(void *user, struct rw_array *column, uint32_t *n_docs)
{
    struct source *s = user;
    const uint32_t left = s->gives - s->done;
    uint32_t n = s->most == 1 ? 1 : 1 + random_of(s->n_passes, s->done, 700) % s->most;
    n = n < left ? n : left;
    if (s->done <= s->fails_before && s->fails_before < s->done + n)
        return 5;
    for (uint32_t c = 0; n && c < s->table->n_columns; c++) {
        column[c] = s->table->column[c];
        const char *data = column[c].data;
        column[c].data = data + column[c].stride * (ptrdiff_t)s->done;
        if (column[c].type == RW_VALUE_BITS)
            column[c].data = data;
        column[c].bit += s->done;
        column[c].valid_bit += s->done;
    }
    s->done += n;
    *n_docs = n;
    return 0;
}

static struct source source_of(const struct rw_table *table, uint32_t most)
{
    return (struct source){
        .table = table, .most = most, .gives = table->n_docs, .fails_before = UINT32_MAX};
}

static struct rw_batches batches_of(struct source *s)
{
    return (struct rw_batches){.user = s, .rewind = source_rewind, .next = source_next};
}

/* Dense columns, in the order of the documents. */
static void leave_dense(struct made *m)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < m->table.n_columns; c++) {
        if (m->column[c].index)
            continue;
        m->column[n] = m->column[c];
        m->feature[n] = m->feature[c];
        m->number[n] = m->number[c];
        m->known[n++] = m->known[c];
    }
    m->table.n_columns = n;
    m->table.order = NULL;
}

/* Values and codes of the batches are those of the reference, which knows no tables. */
static void compare_batches(const struct made *m, const struct rw_cut_rule *rule, uint32_t most,
                            uint32_t chunk_docs)
{
    struct rw_dataset *expected = reference_of(m), *dataset;
    struct rw_bins *bins;
    struct rw_binned codes = {.documents = NULL};
    struct source source = source_of(&m->table, most);
    const struct rw_batches batches = batches_of(&source);
    struct rw_table table = m->table;
    table.column = NULL;
    table.batches = &batches;
    cr_assert_eq(rw_bins_make_training(scratch_ctx, expected, rule, &bins), RW_OK);
    memset(m->table.inexact, 9, table.n_columns);
    cr_assert_eq(rw_stream_codes(scratch_ctx, &table, rule, chunk_docs, &codes), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_eq(source.n_passes, table.n_docs > rw_cut_sample_docs ? 2 : 1);
    assert_same_binned(expected, bins, &codes);
    for (uint32_t c = 0; c < table.n_columns; c++)
        cr_assert_eq(m->table.inexact[c], is_inexact(m, c), "column %u", c);
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &table, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_dataset(expected, dataset);
    for (uint32_t c = 0; c < table.n_columns; c++)
        cr_assert_eq(m->table.inexact[c], is_inexact(m, c), "column %u", c);
    rw_dataset_free(dataset);
    rw_binned_release(&codes);
    rw_bins_free(bins);
    rw_dataset_free(expected);
}

/* Every type, layout, validity and missing value; batches of one document and of all; chunks
 * smaller and larger than batches; under and over the number of sampled documents. */
Test(batch_codes, same)
{
    static const int bins[] = {2, 16, 255, 1000};
    static const uint32_t n_docs[] = {1, 63, LIMIT, 500, 5000}, most[] = {1, 90, 3000, 100000},
                          chunk_docs[] = {7, 64, RW_STREAM_CHUNK_DOCS};
    rw_cut_sample_docs = LIMIT;
    for (uint32_t seed = 0; seed < 120; seed += EACH(11)) {
        struct made m;
        const struct rw_cut_rule rule = {.bins = bins[seed / 5 % 4],
                                         .absent_missing = seed / 2 % 2,
                                         .min_docs = seed % 6 == 0 ? 30 : 1};
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1 + (int)(seed % 3) * 2), RW_OK);
        make_table(&m, seed, n_docs[seed % 5], 1 + seed * 7 % MOST_COLUMNS);
        leave_dense(&m);
        compare(&m, &rule);
        compare_batches(&m, &rule, most[seed / 3 % 4], chunk_docs[seed / 4 % 3]);
        release(&m);
    }
    cr_assert_str_eq(scratch_log, ""); /* there are flags instead */
}

/* Mostly 0 at the beginning only, or at the end only: the sample wrongly suggests a sparse
 * column. */
Test(batch_codes, sparse)
{
    enum { N_DOCS = 6000, N_COLUMNS = 4 };
    static float values[N_COLUMNS][N_DOCS];
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    struct made m;
    rw_cut_sample_docs = LIMIT;
    make_table(&m, 3, N_DOCS, 0);
    for (uint32_t c = 0; c < N_COLUMNS; c++) {
        for (uint32_t i = 0; i < N_DOCS; i++)
            values[c][i] = c == 0   ? (float)(i % 40 == 0)
                           : c == 1 ? (float)(i % 300 == 7) * (float)i
                           : c == 2 ? (float)(i > 5000) * (float)(i % 700)
                                    : NAN;
        values[3][N_DOCS - 1] = 4;
        m.feature[c] = c * 5;
        m.column[c] = (struct rw_array){.data = values[c], .stride = sizeof(float)};
    }
    m.table.n_columns = N_COLUMNS;
    m.table.inexact = NULL;
    m.table.feature = m.feature;
    struct rw_dataset *dataset;
    struct rw_bins *bins;
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &m.table, &dataset), RW_OK);
    cr_assert_eq(rw_bins_make_training(scratch_ctx, dataset, &rule, &bins), RW_OK);
    for (uint32_t most = 1; most < 10000; most = most * 30 + 3) {
        struct rw_binned codes = {.documents = NULL};
        struct source source = source_of(&m.table, most);
        const struct rw_batches batches = batches_of(&source);
        m.table.batches = &batches;
        cr_assert_eq(rw_stream_codes(scratch_ctx, &m.table, &rule, 100, &codes), RW_OK);
        assert_same_binned(dataset, bins, &codes);
        rw_binned_release(&codes);
    }
    rw_bins_free(bins);
    rw_dataset_free(dataset);
    release(&m);
}

/* The model is that of the table. */
Test(batch_codes, model)
{
    struct made m;
    struct rw_params *params;
    char *bytes[2];
    size_t n_bytes[2];
    rw_cut_sample_docs = LIMIT;
    make_table(&m, 4, 5000, 30);
    leave_dense(&m);
    struct source source = source_of(&m.table, 400);
    const struct rw_batches batches = batches_of(&source);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "device", "cpu"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "5"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "label-gain", "linear"), RW_OK);
    float label[5000];
    for (uint32_t i = 0; i < 5000; i++)
        label[i] = (float)(i * 7 % 4);
    m.table.label = label;
    for (int k = 0; k < 2; k++) {
        struct rw_binned *binned;
        struct rw_model *model;
        m.table.batches = k ? &batches : NULL;
        cr_assert_eq(rw_binned_from_table(scratch_ctx, params, &m.table, &binned), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert_eq(
            rw_train_on(scratch_ctx, params, &(struct rw_training){.binned = binned}, &model),
            RW_OK, "%s", rw_last_error(scratch_ctx));
        cr_assert_eq(rw_model_n_trees(model), 5);
        cr_assert_eq(rw_model_write_memory(scratch_ctx, model, &bytes[k], &n_bytes[k]), RW_OK);
        rw_model_free(model);
        rw_binned_free(binned);
    }
    cr_assert_eq(n_bytes[0], n_bytes[1]);
    cr_assert_eq(memcmp(bytes[0], bytes[1], n_bytes[0]), 0);
    rw_free(bytes[0]);
    rw_free(bytes[1]);
    rw_params_free(params);
    release(&m);
}

/* ---- errors ---- */

static void assert_batches_refused(struct source source, const struct rw_table *table, int status,
                                   const char *error)
{
    const struct rw_cut_rule rule = {.bins = 16, .min_docs = 1};
    for (int n_threads = 1; n_threads < 4; n_threads++) {
        struct rw_binned codes = {.documents = NULL};
        struct source s = source;
        const struct rw_batches batches = batches_of(&s);
        struct rw_table streamed = *table;
        streamed.batches = &batches;
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, n_threads), RW_OK);
        cr_assert_eq(rw_stream_codes(scratch_ctx, &streamed, &rule, 20, &codes), status, "%s",
                     error);
        cr_assert_str_eq(rw_last_error(scratch_ctx), error);
        cr_assert_null(codes.bins);
        rw_binned_release(&codes);
    }
}

static void assert_values_refused(struct source source, const struct rw_table *table, int status,
                                  const char *error)
{
    struct rw_dataset *dataset;
    const struct rw_batches batches = batches_of(&source);
    struct rw_table streamed = *table;
    streamed.batches = &batches;
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &streamed, &dataset), status);
    cr_assert_str_eq(rw_last_error(scratch_ctx), error);
    cr_assert_null(dataset);
}

enum { WRONG_DOCS = 1000 };

static struct rw_table numbers(struct rw_array *a, float *x, const uint32_t *offset)
{
    for (uint32_t i = 0; i < WRONG_DOCS; i++)
        x[i] = (float)(i * 7 % 101);
    *a = (struct rw_array){.data = x, .type = RW_VALUE_F32, .stride = sizeof(float)};
    return (struct rw_table){.n_docs = WRONG_DOCS,
                             .n_columns = 1,
                             .column = a,
                             .missing = NAN,
                             .n_queries = 1,
                             .query_offset = offset};
}

Test(batch_codes, other_passes)
{
    static const uint32_t offset[] = {0, WRONG_DOCS};
    float x[WRONG_DOCS + 1];
    struct rw_array a;
    const struct rw_table t = numbers(&a, x, offset);
    for (uint32_t limit = 100; limit < 2000; limit += 1500) {
        struct source s = source_of(&t, 64);
        rw_cut_sample_docs = limit;
        s.gives = WRONG_DOCS - 1;
        const char *fewer = "a pass over the batches has 999 documents of 1000; expected the same "
                            "documents in every pass",
                   *more = "a pass over the batches has more than 1000 documents; expected the "
                           "same documents in every pass";
        assert_batches_refused(s, &t, RW_ERR_DATA, fewer);
        assert_values_refused(s, &t, RW_ERR_DATA, fewer);
        s.gives = WRONG_DOCS + 1;
        assert_batches_refused(s, &t, RW_ERR_DATA, more);
        assert_values_refused(s, &t, RW_ERR_DATA, more);
        s.gives = WRONG_DOCS;
        s.more = 1;
        if (limit < WRONG_DOCS)
            assert_batches_refused(s, &t, RW_ERR_DATA, more);
        s.more = (uint32_t)-1;
        if (limit < WRONG_DOCS)
            assert_batches_refused(s, &t, RW_ERR_DATA, fewer);
        s = source_of(&t, 1);
        s.fails_before = 500;
        const char *stopped = "the batch that begins with document 500 is missing";
        assert_batches_refused(s, &t, RW_ERR_INTERRUPTED, stopped);
        assert_values_refused(s, &t, RW_ERR_INTERRUPTED, stopped);
        s.cannot_begin = 1;
        assert_batches_refused(s, &t, RW_ERR_INTERRUPTED, "cannot begin a pass over the batches");
    }
}

/* Of several infinite values the first document's, whichever of them are sampled. */
Test(batch_codes, infinite)
{
    static const uint32_t offset[] = {0, WRONG_DOCS};
    static const uint32_t at[][2] = {{0, 999},   {3, 4},   {998, 999},
                                     {500, 700}, {41, 42}, {999, 999}};
    float x[WRONG_DOCS];
    struct rw_array a;
    for (uint32_t k = 0; k < 12; k++) {
        const struct rw_table t = numbers(&a, x, offset);
        char error[200];
        x[at[k / 2][0]] = INFINITY;
        x[at[k / 2][1]] = -INFINITY;
        rw_cut_sample_docs = k % 2 ? 300 : 2000;
        snprintf(
            error, sizeof(error),
            "value of document %u (from 0), feature 0 is infinite; expected a number, or NaN for "
            "missing",
            at[k / 2][0]);
        assert_refused(&t, RW_ERR_DATA, error);
        for (uint32_t most = 1; most < 5000; most = most * 10 + 7) {
            assert_batches_refused(source_of(&t, most), &t, RW_ERR_DATA, error);
            assert_values_refused(source_of(&t, most), &t, RW_ERR_DATA, error);
        }
    }
}

Test(batch_codes, refused)
{
    static const uint32_t offset[] = {0, WRONG_DOCS}, order[WRONG_DOCS];
    static const int32_t index[] = {0, 1};
    float x[WRONG_DOCS];
    struct rw_array a;
    struct rw_table t = numbers(&a, x, offset);
    const struct source s = source_of(&t, 50);
    t.order = order;
    assert_batches_refused(s, &t, RW_ERR_ARGUMENT, "documents in batches cannot be reordered");
    t.order = NULL;
    a.index = index;
    a.n = 2;
    assert_batches_refused(
        s, &t, RW_ERR_ARGUMENT,
        "column of feature 0 is sparse, in a batch; expected a value for each document");
    a.index = NULL;
    a.type = (enum rw_value_type)12;
    assert_batches_refused(s, &t, RW_ERR_ARGUMENT, "column of feature 0 has values of type 12");
    t.n_docs = 0;
    assert_batches_refused(s, &t, RW_ERR_DATA, "the data set has no documents");
}

Test(batch_codes, memory)
{
    struct made m;
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    int status = RW_ERR_MEMORY;
    long n = 0;
    rw_cut_sample_docs = LIMIT;
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 2), RW_OK);
    make_table(&m, 8, 2000, 20);
    leave_dense(&m);
    while (status != RW_OK) {
        struct rw_binned codes = {.documents = NULL};
        struct source source = source_of(&m.table, 300);
        const struct rw_batches batches = batches_of(&source);
        m.table.batches = &batches;
        rw_mem_fail_from(++n);
        status = rw_stream_codes(scratch_ctx, &m.table, &rule, 64, &codes);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY, "allocation %ld", n);
        rw_binned_release(&codes);
    }
    cr_assert_gt(n, 50);
    release(&m);
}
