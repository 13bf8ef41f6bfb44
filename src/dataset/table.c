/* Reads arrays of the caller (struct rw_table in rankwood.h) and makes data sets from them. It
 * checks the arrays, converts the values to float32, and copies them: all at once if the table is
 * in memory, or batch by batch if it is streamed. */
#include "dataset/dataset.h"

#include "comm/comm.h"

enum {
    TILE = 64, /* number of rows that are read together: those of row-major arrays stay in the L1
                  cache while several columns are read; at most 64, the bits of a uint64_t */
    /* bits of rw_table_column.found: */
    FOUND_INFINITE = 1, /* an infinite value */
    FOUND_INEXACT = 2   /* an integer that float32 cannot represent */
};
#define MOST_EXACT (UINT64_C(1) << 24) /* integers up to this are exact in float32 */

/* ---- values of an array ---- */

/* Returns element[i], or first + i if `element` is NULL. */
static inline uint32_t element_of(const uint32_t *element, uint32_t first, uint32_t i)
{
    return element ? element[i] : first + i;
}

/* Returns the absolute value of an element of type I32, I64, U32 or U64. */
static uint64_t magnitude_of(const struct rw_array *a, uint32_t element)
{
    const char *at = (const char *)a->data + (ptrdiff_t)element * a->stride;
    int64_t wide = 0;
    int32_t narrow = 0;
    if (a->type == RW_VALUE_I64 || a->type == RW_VALUE_U64)
        memcpy(&wide, at, sizeof(wide));
    else
        memcpy(&narrow, at, sizeof(narrow));
    if (a->type == RW_VALUE_I32)
        wide = narrow;
    else if (a->type == RW_VALUE_U32)
        wide = (uint32_t)narrow;
    return a->type != RW_VALUE_U64 && wide < 0 ? 0 - (uint64_t)wide : (uint64_t)wide;
}

/* Returns FOUND_INEXACT if float32 cannot represent one of n integers that are not null; otherwise
 * 0. */
static unsigned any_inexact(const struct rw_array *a, const uint32_t *element, uint32_t first,
                            uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t e = element_of(element, first, i);
        const uint64_t magnitude = magnitude_of(a, e);
        if (magnitude > MOST_EXACT && magnitude >> __builtin_ctzll(magnitude) >= MOST_EXACT &&
            (!a->valid || rw_bit_of(a->valid, a->valid_bit + e)))
            return FOUND_INEXACT;
    }
    return 0;
}

/* Stores n elements, converted, in to[0] to to[n - 1]. The first loop is for adjacent elements, so
 * the compiler knows the stride. */
#define CONVERT(type, note, as)                                                      \
    do {                                                                             \
        type one;                                                                    \
        if (!element && a->stride == (ptrdiff_t)sizeof(one)) {                       \
            const char *from = (const char *)a->data + (ptrdiff_t)first * a->stride; \
            for (uint32_t i = 0; i < n; i++) {                                       \
                memcpy(&one, from + i * sizeof(one), sizeof(one));                   \
                note;                                                                \
                to[i] = as(one);                                                     \
            }                                                                        \
        } else {                                                                     \
            for (uint32_t i = 0; i < n; i++) {                                       \
                const ptrdiff_t at = (ptrdiff_t)element_of(element, first, i);       \
                memcpy(&one, (const char *)a->data + at * a->stride, sizeof(one));   \
                note;                                                                \
                to[i] = as(one);                                                     \
            }                                                                        \
        }                                                                            \
    } while (0)

/* Types of numbers: name, C type, statement that records the magnitude of each integer in `high` if
 * float32 may not represent it, conversion to float. */
#define VALUE_TYPES(ROW)                                              \
    ROW(F32, float, (void)0, (float))                                 \
    ROW(F64, double, (void)0, (float))                                \
    ROW(F16, uint16_t, (void)0, rw_float_of_half)                     \
    ROW(I8, int8_t, (void)0, (float))                                 \
    ROW(I16, int16_t, (void)0, (float))                               \
    ROW(I32, int32_t, high |= (uint32_t)(one ^ (one >> 31)), (float)) \
    ROW(I64, int64_t, high |= (uint64_t)(one ^ (one >> 63)), (float)) \
    ROW(U8, uint8_t, (void)0, (float))                                \
    ROW(U16, uint16_t, (void)0, (float))                              \
    ROW(U32, uint32_t, high |= one, (float))                          \
    ROW(U64, uint64_t, high |= one, (float))
#define CONVERT_CASE(name, type, note, as) \
    case RW_VALUE_##name:                  \
        CONVERT(type, note, as);           \
        break;

/* Converts the n elements element[i], or first + i if `element` is NULL, to float32. Infinity, NaN
 * and -0 remain. n: at most TILE. Returns FOUND_INEXACT or 0. */
static unsigned convert(const struct rw_array *a, const uint32_t *element, uint32_t first,
                        uint32_t n, float *to)
{
    uint64_t high = 0; /* bitwise or of all magnitudes; a negative number counts as -1 - it */
    switch (a->type) {
        VALUE_TYPES(CONVERT_CASE)
    case RW_VALUE_BITS:
        for (uint32_t i = 0; i < n; i++)
            to[i] = (float)rw_bit_of(a->data, a->bit + element_of(element, first, i));
        break;
    }
    return high >= MOST_EXACT ? any_inexact(a, element, first, n) : 0;
}

/* Returns bits [at, at + n), the first one lowest. Higher bits are undefined. n: at most 64. */
static uint64_t bits_of(const uint8_t *bits, size_t at, uint32_t n)
{
    const uint8_t *from = bits + at / 8;
    const uint32_t skip = at % 8, n_bytes = (skip + n + 7) / 8;
    uint64_t out = 0;
    for (uint32_t k = 0; k < n_bytes; k++)
        out |= k == 0 ? (uint64_t)(from[0] >> skip) : (uint64_t)from[k] << (8 * k - skip);
    return out;
}

/* Replaces null elements by missing values. n: at most TILE. */
static void clear_invalid(const struct rw_array *a, const uint32_t *element, uint32_t first,
                          uint32_t n, float *to)
{
    const uint32_t missing = RW_MISSING_BITS;
    if (!element) {
        uint64_t invalid = ~bits_of(a->valid, a->valid_bit + first, n);
        invalid &= n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX;
        for (; invalid; invalid &= invalid - 1)
            memcpy(&to[__builtin_ctzll(invalid)], &missing, sizeof(missing));
        return;
    }
    for (uint32_t i = 0; i < n; i++) { /* without a branch, since the positions of nulls are
                                          unpredictable */
        uint32_t bits = rw_bits_of_float(to[i]);
        bits = rw_bit_of(a->valid, a->valid_bit + element[i]) ? bits : missing;
        memcpy(&to[i], &bits, sizeof(bits));
    }
}

/* Reads n elements like `convert`, but writes the values as data sets store them. Infinite values
 * become missing. Returns FOUND_... */
static unsigned read_elements(const struct rw_table_reader *r, const struct rw_array *a,
                              const uint32_t *element, uint32_t first, uint32_t n, float *to)
{
    const uint32_t infinity = 0x7f800000, missing = r->missing;
    unsigned found = convert(a, element, first, n, to);
    uint32_t n_infinite = 0;
    if (a->valid)
        clear_invalid(a, element, first, n, to);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t bits = rw_bits_of_float(to[i]);
        const uint32_t magnitude = bits & 0x7fffffff;
        bits = magnitude == 0 ? 0 : bits;
        n_infinite += (magnitude == infinity) & (bits != missing);
        bits = (int32_t)magnitude >= (int32_t)infinity || bits == missing ? RW_MISSING_BITS : bits;
        memcpy(&to[i], &bits, sizeof(bits));
    }
    if (n_infinite)
        found |= FOUND_INFINITE;
    return found;
}

/* Does what read_elements does for an array that has values only for the rows in a->index. Reads
 * the rows row[i], or first + i if `row` is NULL; rows without a value get r->hole. */
static unsigned read_listed(const struct rw_table_reader *r, const struct rw_array *a,
                            const uint32_t *row, uint32_t first, uint32_t n, float *to)
{
    const uint32_t *index = (const uint32_t *)a->index;
    uint32_t element[TILE], at[TILE], n_there = 0;
    uint32_t k = row ? 0 : rw_numbers_under(index, a->n, first);
    float value[TILE];
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t wanted = element_of(row, first, i);
        if (row)
            k = rw_numbers_under(index, a->n, wanted);
        memcpy(&to[i], &r->hole, sizeof(r->hole));
        if (k < a->n && index[k] == wanted) {
            element[n_there] = k++;
            at[n_there++] = i;
        }
    }
    const unsigned found = read_elements(r, a, element, 0, n_there, value);
    for (uint32_t j = 0; j < n_there; j++)
        memcpy(&to[at[j]], &value[j], sizeof(value[j]));
    return found;
}

/* Adds FOUND_... to those of a column. */
static void note(struct rw_table_reader *r, uint32_t c, unsigned found)
{
    if (found)
        __atomic_fetch_or(&r->column[c].found, (uint8_t)found, __ATOMIC_RELAXED);
}

/* ---- chunks ---- */

static uint32_t n_chunks_of(const struct rw_table *table)
{
    return table->n_chunks > 1 ? table->n_chunks : 1;
}

static const struct rw_array *array_of(const struct rw_table *table, uint32_t chunk, uint32_t i)
{
    return &table->column[(size_t)chunk * table->n_columns + i];
}

/* Returns the row of document doc[i], or first + i if `doc` is NULL, counted over all chunks. */
static uint32_t row_of(const struct rw_table *table, const uint32_t *doc, uint32_t first,
                       uint32_t i)
{
    const uint32_t at = element_of(doc, first, i);
    return table->order ? table->order[at] : at;
}

void rw_table_values(struct rw_table_reader *r, const uint32_t *column, uint32_t n_columns,
                     const uint32_t *doc, uint32_t first, uint32_t n, float *values, size_t stride)
{
    const struct rw_table *table = r->table;
    const int is_listed = doc || table->order;
    uint32_t chunk = 0, begin = 0, end = n_chunks_of(table) > 1 ? 0 : table->n_docs;
    for (uint32_t at = 0, now; at < n; at += now) { /* `now` rows of a chunk, [begin, end) */
        const uint32_t row = row_of(table, doc, first, at), most = n - at < TILE ? n - at : TILE;
        uint32_t element[TILE];
        if (row < begin || row >= end) {
            chunk = rw_numbers_under(table->chunk_offset + 1, table->n_chunks, (uint64_t)row + 1);
            begin = table->chunk_offset[chunk];
            end = table->chunk_offset[chunk + 1];
        }
        now = is_listed ? 0 : most < end - row ? most : end - row;
        for (; is_listed && now < most; now++) {
            element[now] = row_of(table, doc, first, at + now) - begin;
            if (element[now] >= end - begin)
                break;
        }
        for (uint32_t k = 0; k < n_columns; k++) {
            const struct rw_array *a = array_of(table, chunk, r->column[column[k]].index);
            note(r, column[k],
                 (a->index ? read_listed : read_elements)(
                     r, a, is_listed ? element : NULL, row - begin, now, values + k * stride + at));
        }
    }
}

/* Writes the documents of a sparse column's entries to `row`, ascending. Each document occurs once,
 * so its entry can be found again. row: [a->n]. */
static int sort_rows(const struct rw_table_reader *r, const struct rw_array *a, uint32_t *row)
{
    RW_FREED uint32_t *scratch = NULL;
    RW_TRY(RW_NEW_RAW(NULL, scratch, a->n));
    for (uint32_t k = 0; k < a->n; k++)
        row[k] = r->document[a->index[k]];
    rw_sort_keys(row, scratch, a->n);
    return RW_OK;
}

int rw_table_entries(struct rw_table_reader *r, uint32_t c, uint32_t *row, float *value)
{
    const struct rw_array *a = &r->table->column[r->column[c].index];
    const uint32_t *index = (const uint32_t *)a->index;
    uint32_t element[TILE];
    unsigned found = 0;
    if (r->document)
        RW_TRY(sort_rows(r, a, row));
    else
        memcpy(row, index, a->n * sizeof(*row));
    for (uint32_t first = 0; first < a->n; first += TILE) {
        const uint32_t n = a->n - first < TILE ? a->n - first : TILE;
        for (uint32_t i = 0; r->document && i < n; i++)
            element[i] = rw_numbers_under(index, a->n, r->table->order[row[first + i]]);
        found |= read_elements(r, a, r->document ? element : NULL, first, n, value + first);
    }
    note(r, c, found);
    return RW_OK;
}

/* ---- checks of values ---- */

/* Returns the row of the first infinite value of a column, or UINT32_MAX. */
static uint32_t first_infinite(const struct rw_table_reader *r, uint32_t c)
{
    const struct rw_table *table = r->table;
    const uint32_t n_chunks = n_chunks_of(table);
    for (uint32_t chunk = 0; chunk < n_chunks; chunk++) {
        const struct rw_array *a = array_of(table, chunk, r->column[c].index);
        const uint32_t first = n_chunks > 1 ? table->chunk_offset[chunk] : 0;
        const uint32_t end = n_chunks > 1 ? table->chunk_offset[chunk + 1] : table->n_docs;
        const uint32_t n_elements = a->index ? a->n : end - first;
        float value;
        for (uint32_t e = 0; e < n_elements; e++) {
            if (read_elements(r, a, NULL, e, 1, &value) & FOUND_INFINITE)
                return a->index ? (uint32_t)a->index[e] : first + e;
        }
    }
    return UINT32_MAX;
}

int rw_table_check(struct rw_ctx *ctx, const struct rw_table_reader *r)
{
    uint32_t row = UINT32_MAX, column = 0;
    char shard[RW_SHARD_TEXT];
    for (uint32_t c = 0; c < r->n_columns; c++) {
        const struct rw_table_column *one = &r->column[c];
        const uint32_t at = one->found & FOUND_INFINITE ? first_infinite(r, c) : UINT32_MAX;
        if (at < row) {
            row = at;
            column = c;
        }
    }
    if (row != UINT32_MAX)
        return rw_fail(
            ctx, RW_ERR_DATA,
            "value of document %u (from 0)%s, feature %u is infinite%s; expected a number, "
            "or NaN for missing",
            r->first_doc + row, rw_comm_shard(ctx, shard), r->column[column].feature,
            r->table->column[r->column[column].index].type == RW_VALUE_F64
                ? ", or too large for float32"
                : "");
    return RW_OK;
}

void rw_table_warn_inexact(struct rw_ctx *ctx, const struct rw_table_reader *r)
{
    uint32_t n_inexact = 0, inexact = 0;
    for (uint32_t c = 0; c < r->n_columns; c++) {
        if (r->column[c].found & FOUND_INEXACT && n_inexact++ == 0)
            inexact = c;
    }
    if (r->table->inexact) {
        memset(r->table->inexact, 0, r->table->n_columns);
        for (uint32_t c = 0; c < r->n_columns; c++)
            r->table->inexact[r->column[c].index] = (r->column[c].found & FOUND_INEXACT) != 0;
    } else if (n_inexact) {
        char others[40] = "";
        if (n_inexact > 1)
            snprintf(others, sizeof(others), " (and of %u more)", n_inexact - 1);
        rw_log(ctx, RW_LOG_WARNING,
               "whole numbers of feature %u%s exceed 2^24 and were rounded to float32; different "
               "numbers may have become equal",
               r->column[inexact].feature, others);
    }
}

/* ---- opening ---- */

void rw_table_close(struct rw_table_reader *r)
{
    rw_arena_free(&r->arena);
    rw_mem_free(r->array);
}

/* Checks the order of documents, and writes its inverse to r->document. */
static int take_order(struct rw_ctx *ctx, struct rw_table_reader *r)
{
    const uint32_t n_docs = r->table->n_docs, *order = r->table->order;
    RW_TRY(RW_ARENA_NEW(ctx, &r->arena, r->document, n_docs));
    memset(r->document, 0xff, n_docs * sizeof(*r->document));
    for (uint32_t i = 0; i < n_docs; i++) {
        if (order[i] >= n_docs || r->document[order[i]] != UINT32_MAX)
            return rw_fail(
                ctx, RW_ERR_DATA,
                "order has document %u at %u (from 0); expected each document from 0 to %u once",
                order[i], i, n_docs - 1);
        r->document[order[i]] = i;
    }
    return RW_OK;
}

struct index_job {
    const struct rw_table *table;
    uint32_t column; /* first column with a wrong index; UINT32_MAX: all are right */
};

/* Returns 1 if the indices ascend from 0 or more, and all are below n_docs. */
static int index_is_right(const struct rw_array *a, uint32_t n_docs)
{
    int64_t last = -1;
    for (uint32_t k = 0; k < a->n; k++) {
        if (a->index[k] <= last)
            return 0;
        last = a->index[k];
    }
    return last < (int64_t)n_docs;
}

static int check_indices(void *user, struct rw_share *share)
{
    struct index_job *job = user;
    for (uint64_t c, end; rw_share_next(share, &c, &end);) {
        const struct rw_array *a = &job->table->column[c];
        if (!a->index || index_is_right(a, job->table->n_docs))
            continue;
        rw_share_lock(share);
        job->column = c < job->column ? (uint32_t)c : job->column;
        rw_share_unlock(share);
    }
    return RW_OK;
}

static uint32_t feature_of(const struct rw_table *table, uint32_t i)
{
    return table->feature ? table->feature[i] : i;
}

static int check_array(struct rw_ctx *ctx, const struct rw_table *table, uint32_t chunk, uint32_t i)
{
    const struct rw_array *a = array_of(table, chunk, i);
    const uint32_t feature = feature_of(table, i);
    if ((unsigned)a->type > RW_VALUE_BITS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "column of feature %u has values of type %d", feature,
                       (int)a->type);
    if (a->type != table->column[i].type)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "column of feature %u has values of type %d, in chunk %u of type %d",
                       feature, (int)table->column[i].type, chunk, (int)a->type);
    if (!a->data && (!a->index || a->n))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "column of feature %u has no data", feature);
    if (a->index && n_chunks_of(table) > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "column of feature %u is sparse, in a table of %u chunks; expected one "
                       "chunk",
                       feature, table->n_chunks);
    return RW_OK;
}

static int check_features(struct rw_ctx *ctx, const struct rw_table *table)
{
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const uint32_t feature = feature_of(table, i);
        if (feature > RW_MAX_FEATURE)
            return rw_fail(ctx, RW_ERR_DATA,
                           "column %u (from 0) is feature %u; expected ids 0 to %d", i, feature,
                           RW_MAX_FEATURE);
        if (i > 0 && feature <= feature_of(table, i - 1))
            return rw_fail(ctx, RW_ERR_DATA,
                           "column %u (from 0) is feature %u, after feature %u; expected ascending "
                           "ids",
                           i, feature, feature_of(table, i - 1));
    }
    return RW_OK;
}

static int check_columns(struct rw_ctx *ctx, const struct rw_table *table)
{
    struct index_job job = {table, UINT32_MAX};
    int any_index = 0;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        for (uint32_t chunk = 0; chunk < n_chunks_of(table); chunk++)
            RW_TRY(check_array(ctx, table, chunk, i));
        any_index |= table->column[i].index != NULL;
    }
    if (any_index)
        rw_parallel(ctx, ctx->n_threads, table->n_columns, 1, check_indices, &job);
    if (job.column != UINT32_MAX)
        return rw_fail(ctx, RW_ERR_DATA, "indices of feature %u must ascend, from 0 to at most %u",
                       feature_of(table, job.column), table->n_docs - 1);
    return RW_OK;
}

/* Checks that each of n queries or chunks has documents, and that they cover all documents. offset:
 * [n + 1]. */
static int check_offsets(struct rw_ctx *ctx, const char *what, const uint32_t *offset, uint32_t n,
                         uint32_t n_docs)
{
    if (offset[0] != 0 || offset[n] != n_docs)
        return rw_fail(ctx, RW_ERR_DATA, "%s offsets go from %u to %u; expected 0 to %u", what,
                       offset[0], offset[n], n_docs);
    for (uint32_t k = 0; k < n; k++) {
        if (offset[k] >= offset[k + 1])
            return rw_fail(ctx, RW_ERR_DATA, "%s %u (from 0) has no documents", what, k);
    }
    return RW_OK;
}

static int check_queries(struct rw_ctx *ctx, const struct rw_table *table)
{
    const uint32_t n_docs = table->n_docs, n_queries = table->n_queries;
    const uint32_t *offset = table->query_offset;
    const int may_be_empty = rw_n_workers(ctx) > 1; /* other workers have documents */
    if (!may_be_empty && (n_docs == 0 || n_queries == 0))
        return rw_fail(ctx, RW_ERR_DATA, "the data set has no documents");
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_DATA, "too many documents: %u; expected at most %u", n_docs,
                       RW_MAX_DOCS);
    if (!offset || (table->query_id_offset && !table->query_id_text))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "the table lacks %s",
                       !offset ? "query offsets" : "the text of query ids");
    return check_offsets(ctx, "query", offset, n_queries, n_docs);
}

static int check_chunks(struct rw_ctx *ctx, const struct rw_table *table)
{
    const uint32_t *offset = table->chunk_offset, n = table->n_chunks;
    if (n < 2)
        return RW_OK;
    if (!offset)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "the table has %u chunks, but no chunk offsets", n);
    return check_offsets(ctx, "chunk", offset, n, table->n_docs);
}

static int open_documents(struct rw_ctx *ctx, struct rw_table_reader *r,
                          const struct rw_table *table)
{
    const uint32_t missing = rw_bits_of_float(table->missing == 0 ? 0.0f : table->missing);
    *r = (struct rw_table_reader){.table = table,
                                  .missing =
                                      table->missing == table->missing ? missing : RW_MISSING_BITS,
                                  .hole = table->missing == 0 ? RW_MISSING_BITS : RW_ABSENT_BITS};
    RW_TRY(check_queries(ctx, table));
    RW_TRY(check_features(ctx, table));
    RW_TRY(RW_ARENA_NEW(ctx, &r->arena, r->column, table->n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, &r->arena, r->dense, table->n_columns));
    return RW_ARENA_NEW(ctx, &r->arena, r->sparse, table->n_columns);
}

/* Adds column i of the table as the reader's next column. */
static void take_column(struct rw_table_reader *r, uint32_t i, int is_sparse)
{
    const uint32_t c = r->n_columns++;
    r->column[c] =
        (struct rw_table_column){.feature = feature_of(r->table, i),
                                 .index = i,
                                 .n = is_sparse ? r->table->column[i].n : r->table->n_docs,
                                 .is_sparse = (uint8_t)is_sparse};
    if (is_sparse)
        r->sparse[r->n_sparse++] = c;
    else
        r->dense[r->n_dense++] = c;
}

int rw_table_open(struct rw_ctx *ctx, struct rw_table_reader *r, const struct rw_table *table,
                  rw_table_next_fn *next)
{
    RW_TRY(open_documents(ctx, r, table));
    if (next) {
        for (uint32_t i = 0; i < table->n_columns; i++)
            take_column(r, i, 0);
        r->whole = table;
        r->some = *table;
        r->some.n_chunks = 0;
        r->table = &r->some;
        r->next = next;
        return RW_NEW(ctx, r->array, table->n_columns);
    }
    if (table->n_columns && !table->column)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "the table has no columns");
    RW_TRY(check_chunks(ctx, table));
    RW_TRY(check_columns(ctx, table));
    if (table->order)
        RW_TRY(take_order(ctx, r));
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const struct rw_array *a = &table->column[i];
        if (!a->index || a->n)
            take_column(
                r, i, a->index && table->missing != 0 && !rw_column_is_dense(a->n, table->n_docs));
    }
    return RW_OK;
}

/* ---- streamed tables: values that arrive in batches, again in each pass ---- */

int rw_table_next(struct rw_ctx *ctx, struct rw_table_reader *r, uint32_t done, uint32_t *n)
{
    memset(r->array, 0, r->n_columns * sizeof(*r->array));
    RW_TRY(r->next(ctx, r->whole, done, r->array, n));
    r->first_doc = done;
    r->some.n_docs = *n;
    r->some.column = r->array;
    for (uint32_t i = 0; *n && i < r->n_columns; i++) {
        if (r->array[i].index)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "column of feature %u is sparse, in a batch; expected a value for each "
                           "document",
                           r->column[i].feature);
    }
    return *n ? check_columns(ctx, &r->some) : RW_OK;
}

/* ---- documents ---- */

static int take_labels(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset *dataset)
{
    RW_TRY(RW_NEW(ctx, dataset->label, table->n_docs));
    for (uint32_t i = 0; table->label && i < table->n_docs; i++) {
        const float label = table->label[i];
        char shard[RW_SHARD_TEXT];
        if (!(label >= 0) || isinf(label))
            return rw_fail(ctx, RW_ERR_DATA,
                           "label of document %u (from 0)%s is %g; expected 0 or more", i,
                           rw_comm_shard(ctx, shard), (double)label);
        dataset->label[i] = label == 0 ? 0.0f : label;
    }
    return RW_OK;
}

/* Makes the numbers from 0 on the query ids. */
static int number_queries(struct rw_ctx *ctx, uint32_t n_queries, char **text, uint64_t *offset)
{
    enum { ID_BYTES = 11 };
    RW_TRY(RW_NEW_RAW(ctx, *text, (size_t)n_queries * ID_BYTES));
    offset[0] = 0;
    for (uint32_t q = 0; q < n_queries; q++)
        offset[q + 1] = offset[q] + (uint64_t)snprintf(*text + offset[q], ID_BYTES, "%u", q) + 1;
    return RW_OK;
}

static int take_ids(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset *dataset)
{
    const uint32_t n_queries = table->n_queries;
    RW_RELEASED(rw_query_ids_release) struct rw_query_ids ids = {.slot = NULL};
    uint64_t *offset;
    RW_TRY(RW_NEW(ctx, dataset->query_id.offset, (size_t)n_queries + 1));
    offset = dataset->query_id.offset;
    if (!table->query_id_offset)
        return number_queries(ctx, n_queries, &dataset->query_id.text, offset);
    for (uint32_t q = 0; q < n_queries; q++) {
        const char *id = table->query_id_text + table->query_id_offset[q];
        size_t first;
        const int is_known = rw_query_ids_add(ctx, &ids, id, &first);
        RW_TRY(is_known);
        if (is_known)
            return rw_fail(
                ctx, RW_ERR_DATA,
                "query '%.200s' appears again after another query\nhint: its documents are %u to "
                "%u and from %u on (from 0); a query's documents must be consecutive",
                id, table->query_offset[first], table->query_offset[first + 1] - 1,
                table->query_offset[q]);
        offset[q + 1] = offset[q] + strlen(id) + 1;
    }
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_id.text, offset[n_queries]));
    for (uint32_t q = 0; q < n_queries; q++)
        memcpy(dataset->query_id.text + offset[q], table->query_id_text + table->query_id_offset[q],
               offset[q + 1] - offset[q]);
    return RW_OK;
}

int rw_table_documents(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out)
{
    const uint32_t n_queries = table->n_queries;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, dataset, 1));
    dataset->n_docs = table->n_docs;
    dataset->n_queries = n_queries;
    dataset->by_name = table->by_name;
    dataset->width = table->feature || table->by_name ? 0 : table->n_columns;
    RW_TRY(take_labels(ctx, table, dataset));
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_offset, (size_t)n_queries + 1));
    memcpy(dataset->query_offset, table->query_offset,
           ((size_t)n_queries + 1) * sizeof(*dataset->query_offset));
    RW_TRY(take_ids(ctx, table, dataset));
    *out = RW_TAKE(dataset);
    return RW_OK;
}

/* ---- values ---- */

struct copy_job {
    struct rw_table_reader *reader;
    struct rw_dataset *dataset;
    uint32_t n_groups;   /* groups of RW_TABLE_COLUMNS dense columns; the last one may be smaller */
    size_t stride;       /* number of floats between the starts of two dense columns */
    uint32_t first, end; /* the current documents, [first, end) */
};

enum { DOCS_AT_A_TIME = 1 << 14 };

/* Copies a group of dense columns for DOCS_AT_A_TIME documents at a time. */
static int copy_dense(void *user, struct rw_share *share)
{
    const struct copy_job *job = user;
    const uint32_t n_docs = job->end - job->first;
    for (uint64_t item, end; rw_share_next(share, &item, &end);) {
        const uint32_t group = (uint32_t)(item % job->n_groups) * RW_TABLE_COLUMNS;
        const uint32_t first = (uint32_t)(item / job->n_groups) * DOCS_AT_A_TIME;
        const uint32_t left = job->reader->n_dense - group;
        rw_table_values(job->reader, job->reader->dense + group,
                        left < RW_TABLE_COLUMNS ? left : RW_TABLE_COLUMNS, NULL, first,
                        n_docs - first < DOCS_AT_A_TIME ? n_docs - first : DOCS_AT_A_TIME,
                        job->dataset->column[job->reader->dense[group]].value + job->first + first,
                        job->stride);
    }
    return RW_OK;
}

static int copy_sparse(void *user, struct rw_share *share)
{
    const struct copy_job *job = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        const struct rw_column *column = &job->dataset->column[job->reader->sparse[i]];
        RW_TRY(rw_table_entries(job->reader, job->reader->sparse[i], column->row, column->value));
    }
    return RW_OK;
}

/* Allocates all columns in one block: first the values of the dense columns, then the values and
 * rows of each sparse column. */
static int make_columns(struct rw_ctx *ctx, struct copy_job *job)
{
    const struct rw_table_reader *reader = job->reader;
    struct rw_dataset *dataset = job->dataset;
    const uint32_t n_columns = reader->n_columns;
    RW_TRY(RW_NEW(ctx, dataset->column, n_columns));
    size_t room = 0;
    for (uint32_t c = 0; c < n_columns; c++) {
        const struct rw_table_column *from = &reader->column[c];
        dataset->column[c] = (struct rw_column){.feature = from->feature, .n = from->n};
        room += from->is_sparse ? 2 * (size_t)from->n : 0;
    }
    job->stride = ((size_t)dataset->n_docs + 15) / 16 * 16; /* a multiple of a cache line */
    job->n_groups = (reader->n_dense + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    room += reader->n_dense * job->stride;
    dataset->column_block.n_bytes = room * sizeof(float);
    RW_TRY(rw_mem_new_large(ctx, &dataset->column_block.p, dataset->column_block.n_bytes, 0));
    float *at = dataset->column_block.p;
    for (uint32_t k = 0; k < reader->n_dense; k++, at += job->stride)
        dataset->column[reader->dense[k]].value = at;
    for (uint32_t k = 0; k < reader->n_sparse; k++) {
        struct rw_column *column = &dataset->column[reader->sparse[k]];
        column->value = at;
        column->row = (uint32_t *)(void *)(at + column->n);
        at += 2 * (size_t)column->n;
    }
    dataset->n_columns = n_columns;
    return RW_OK;
}

static int copy_values(struct rw_ctx *ctx, struct copy_job *job)
{
    enum { FEW = 1 << 15 }; /* fewer dense values are not worth waking threads */
    const uint32_t n_docs = job->end - job->first;
    const uint64_t n_ranges = ((uint64_t)n_docs + DOCS_AT_A_TIME - 1) / DOCS_AT_A_TIME;
    const int n_threads = (uint64_t)n_docs * job->reader->n_dense < FEW ? 1 : ctx->n_threads;
    RW_TRY(rw_parallel_long(ctx, n_threads, n_ranges * job->n_groups, 1, copy_dense, job));
    const int status =
        rw_parallel_long(ctx, ctx->n_threads, job->reader->n_sparse, 1, copy_sparse, job);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while reading a table");
    return rw_table_check(ctx, job->reader);
}

static int copy_stream(struct rw_ctx *ctx, struct copy_job *job)
{
    for (uint32_t n = 1; job->reader->n_dense; job->first += n) {
        RW_TRY(rw_table_next(ctx, job->reader, job->first, &n));
        if (n == 0)
            break;
        job->end = job->first + n;
        RW_TRY(copy_values(ctx, job));
    }
    return RW_OK;
}

int rw_table_read(struct rw_ctx *ctx, struct rw_table_reader *reader, struct rw_dataset **out)
{
    const struct rw_table *table = reader->whole ? reader->whole : reader->table;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    *out = NULL;
    RW_TRY(rw_table_documents(ctx, table, &dataset));
    struct copy_job job = {.reader = reader, .dataset = dataset, .end = table->n_docs};
    RW_TRY(make_columns(ctx, &job));
    RW_TRY(reader->whole ? copy_stream(ctx, &job) : copy_values(ctx, &job));
    rw_table_warn_inexact(ctx, reader);
    *out = RW_TAKE(dataset);
    return RW_OK;
}

int rw_dataset_from_memory(struct rw_ctx *ctx, const float *values, const float *labels,
                           const uint32_t *query_offsets, uint32_t n_docs, uint32_t n_features,
                           uint32_t n_queries, uint32_t first_feature, struct rw_dataset **out)
{
    RW_FREED struct rw_array *column = NULL;
    RW_FREED uint32_t *feature = NULL;
    RW_FREED char *text = NULL;
    RW_FREED uint64_t *offset = NULL;
    *out = NULL;
    if (first_feature > RW_MAX_FEATURE || n_features > RW_FEATURE_IDS - first_feature)
        return rw_fail(ctx, RW_ERR_DATA, "%u features from id %u on; expected ids 0 to %d",
                       n_features, first_feature, RW_MAX_FEATURE);
    RW_TRY(RW_NEW(ctx, column, n_features));
    RW_TRY(RW_NEW_RAW(ctx, feature, n_features));
    RW_TRY(RW_NEW_RAW(ctx, offset, (size_t)n_queries + 2));
    RW_TRY(number_queries(ctx, n_queries + 1, &text, offset));
    for (uint32_t f = 0; f < n_features; f++) {
        feature[f] = first_feature + f;
        column[f] = (struct rw_array){.data = values + f,
                                      .type = RW_VALUE_F32,
                                      .stride = (ptrdiff_t)(n_features * sizeof(float))};
    }
    const struct rw_table table = {.n_docs = n_docs,
                                   .n_columns = n_features,
                                   .column = column,
                                   .feature = first_feature ? feature : NULL,
                                   .missing = NAN,
                                   .label = labels,
                                   .n_queries = n_queries,
                                   .query_offset = query_offsets,
                                   .query_id_text = text,
                                   .query_id_offset = offset + 1}; /* ids start at "1" */
    return rw_dataset_from_table(ctx, &table, out);
}
