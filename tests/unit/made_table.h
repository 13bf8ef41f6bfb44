/* Tables of every type, layout, validity, list of documents and order, whose values are known; and
 * what should become of them, by the plainest means. */
#pragma once

#include "base/rng.h"
#include "binning/bins.h"
#include "dataset/dataset.h"
#include "same_codes.h"
#include "same_dataset.h"
#include "scratch_file.h"

enum { MOST_COLUMNS = 40, N_TYPES = RW_VALUE_BITS + 1 };

static uint32_t random_of(uint32_t seed, uint32_t item, uint32_t stream)
{
    return rw_random(seed, item, stream, RW_STREAM_CUT_SAMPLE);
}

/* ---- tables whose values are known ---- */

struct made {
    struct rw_table table;
    struct rw_array column[MOST_COLUMNS];
    uint32_t feature[MOST_COLUMNS];
    double *number[MOST_COLUMNS]; /* [elements] stored values */
    uint8_t *known[MOST_COLUMNS]; /* [elements] 0: not valid */
    void *owned[8 * MOST_COLUMNS];
    int n_owned;
};

static void *own(struct made *m, size_t n_bytes)
{
    void *p = calloc(n_bytes ? n_bytes : 1, 1); /* of just this size: a sanitizer sees the rest */
    cr_assert_not_null(p);
    return m->owned[m->n_owned++] = p;
}

static void release(struct made *m)
{
    for (int i = 0; i < m->n_owned; i++)
        free(m->owned[i]);
}

static size_t size_of(enum rw_value_type type)
{
    static const size_t size[N_TYPES] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 0};
    return size[type];
}

/* By the definition of binary16: 5 bits of exponent, 10 of the number. */
static double of_half(uint32_t half)
{
    const int exponent = half >> 10 & 31;
    const double bits = half & 1023;
    const double number = exponent ? ldexp(1024 + bits, exponent - 25) : ldexp(bits, -24);
    return half >> 15 ? -number : number;
}

/* The next one towards 0. */
static uint16_t half_of(double number)
{
    uint32_t half = 0;
    if (isnan(number))
        return (uint16_t)(signbit(number) ? 0xfe01 : 0x7e00);
    for (uint32_t bit = 0x4000; bit; bit /= 2)
        half += half + bit < 0x7c00 && of_half(half + bit) <= fabs(number) ? bit : 0;
    return (uint16_t)(half | (signbit(number) ? 0x8000 : 0));
}

#define STORE(which, type)               \
    if (of == which) {                   \
        const type one = (type)(number); \
        memcpy(at, &one, sizeof(one));   \
    }

static void store(enum rw_value_type of, char *at, double number)
{
    STORE(RW_VALUE_F32, float)
    STORE(RW_VALUE_F64, double)
    STORE(RW_VALUE_I8, int8_t)
    STORE(RW_VALUE_I16, int16_t)
    STORE(RW_VALUE_I32, int32_t)
    STORE(RW_VALUE_I64, int64_t)
    STORE(RW_VALUE_U8, uint8_t)
    STORE(RW_VALUE_U16, uint16_t)
    STORE(RW_VALUE_U32, uint32_t)
    STORE(RW_VALUE_U64, uint64_t)
    if (of == RW_VALUE_F16) {
        const uint16_t half = half_of(number);
        memcpy(at, &half, sizeof(half));
    }
}

/* A number that the type holds; of whole numbers under 2^53, so that a double holds it, too. */
static double number_of(enum rw_value_type type, uint32_t kind, uint32_t random)
{
    static const double most[N_TYPES] = {
        0, 0, 127, 32767, 2147483647, 1e15, 255, 65535, 4294967295, 9007199254740000., 0, 1};
    const int is_half = type == RW_VALUE_F16;
    const int is_real = type == RW_VALUE_F32 || type == RW_VALUE_F64 || is_half;
    const int has_sign = type <= RW_VALUE_I64 || is_half;
    const uint32_t few = random >> 8 & 15;
    double number;
    if (type == RW_VALUE_BITS)
        return random >> 9 & 1;
    if (kind == 1) /* one value */
        number = 7;
    else if (kind == 2) /* few values, often 0; neighbours with no float between them */
        number = few < 8 ? 0 : is_real && few < 10 ? 10.00000095367431640625 : few;
    else if (!is_real)
        number = floor(random / 4294967296.0 * most[type]);
    else if (kind == 3 && few < 4) /* 0 of both signs, NaN */
        return few == 0 ? -0.0 : few == 1 ? 0 : few == 2 ? NAN : (double)-NAN;
    else
        number = (random - 2e9) / 1e7 * (random % 3 ? 1 : is_half ? 1e-7 : 1e-30);
    if (has_sign && random & 64)
        number = -number;
    if (is_half && !isnan(number))
        number = of_half(half_of(number));
    return type == RW_VALUE_F32 ? (double)(float)number : number;
}

static void make_values(struct made *m, uint32_t c, uint32_t seed, uint32_t n)
{
    struct rw_array *a = &m->column[c];
    const uint32_t random = random_of(seed, c, 1), kind = random >> 8 & 3;
    const ptrdiff_t size = (ptrdiff_t)size_of(a->type);
    const ptrdiff_t strides[] = {size, size, size + 3, -size, 7 * size, 0};
    a->stride = strides[random % 6];
    const ptrdiff_t span = n ? a->stride * (ptrdiff_t)(n - 1) : 0;
    a->bit = random >> 16 & 31;
    char *data =
        own(m, a->type == RW_VALUE_BITS ? (n + a->bit + 7) / 8
                                        : (size_t)(span < 0 ? -span : span) + (size_t)size);
    a->data = span < 0 ? data - span : data;
    m->number[c] = own(m, n * sizeof(double));
    m->known[c] = own(m, n);
    for (uint32_t k = 0; k < n; k++) {
        const double number =
            number_of(a->type, kind, random_of(seed, a->stride == 0 ? 0 : k, 100 + c));
        m->number[c][k] = number;
        m->known[c][k] = 1;
        if (a->type == RW_VALUE_BITS)
            data[(a->bit + k) / 8] =
                (char)(data[(a->bit + k) / 8] | (int)number << ((a->bit + k) % 8));
        else
            store(a->type, (char *)(uintptr_t)a->data + (ptrdiff_t)k * a->stride, number);
    }
    const uint32_t null = random >> 21 & 3; /* 0: no value is null; 1: all are; 2, 3: some are */
    if (null == 0)
        return;
    a->valid_bit = random >> 24 & 31;
    uint8_t *valid = own(m, (n + a->valid_bit + 7) / 8);
    a->valid = valid;
    for (uint32_t k = 0; k < n; k++) {
        m->known[c][k] = null == 1 || random_of(seed, k / 70, 200 + c) % 3 || /* runs without any */
                         random_of(seed, k, 300 + c) % 5;
        if (m->known[c][k])
            valid[(a->valid_bit + k) / 8] |= (uint8_t)(1 << ((a->valid_bit + k) % 8));
    }
}

static void make_column(struct made *m, uint32_t c, uint32_t seed, uint32_t n_docs)
{
    static const uint32_t one_of[] = {2, 9, 40, 100000};
    const uint32_t random = random_of(seed, c, 2);
    struct rw_array *a = &m->column[c];
    uint32_t n = n_docs;
    a->type = (enum rw_value_type)(random % N_TYPES);
    if (random >> 8 & 1) {
        const uint32_t share = one_of[random >> 9 & 3];
        const int more = random >> 11 & 1; /* all but so many */
        int32_t *index = own(m, n_docs * sizeof(int32_t));
        n = 0;
        for (uint32_t i = 0; i < n_docs; i++) {
            if ((random_of(seed, i, 400 + c) % share == 0) != more)
                index[n++] = (int32_t)i;
        }
        a->index = index;
        a->n = n;
    }
    make_values(m, c, seed, n);
}

static void make_queries(struct made *m, uint32_t seed, uint32_t n_docs)
{
    uint32_t *offset = own(m, (n_docs + 1) * sizeof(uint32_t)), n = 0;
    float *label = own(m, n_docs * sizeof(float));
    for (uint32_t i = 0; i < n_docs; i++) {
        if (i == 0 || random_of(seed, i, 3) % 17 == 0)
            offset[n++] = i;
        label[i] = (float)(random_of(seed, i, 4) % 5);
    }
    offset[n] = n_docs;
    m->table.n_queries = n;
    m->table.query_offset = offset;
    m->table.label = seed % 5 == 4 ? NULL : label;
    if (seed % 3 == 0)
        return;
    enum { ID_BYTES = 16 };
    char *text = own(m, (size_t)n * ID_BYTES);
    uint64_t *id = own(m, n * sizeof(uint64_t));
    for (uint32_t q = 0; q < n; q++) { /* not in the order of the text */
        id[q] = (uint64_t)(n - 1 - q) * ID_BYTES;
        snprintf(text + id[q], ID_BYTES, "q%x", random_of(1, q, 5) % 4096 * 65536 + q);
    }
    m->table.query_id_text = text;
    m->table.query_id_offset = id;
}

static void make_table(struct made *m, uint32_t seed, uint32_t n_docs, uint32_t n_columns)
{
    static const float missing[] = {NAN, NAN, 0, 7, -0.0f};
    memset(m, 0, sizeof(*m));
    m->table = (struct rw_table){.n_docs = n_docs,
                                 .n_columns = n_columns,
                                 .column = m->column,
                                 .feature = seed % 4 ? m->feature : NULL,
                                 .missing = missing[seed % 5],
                                 .inexact = own(m, n_columns)};
    for (uint32_t c = 0; c < n_columns; c++) {
        m->feature[c] = c == 0 ? seed % 3 : m->feature[c - 1] + 1 + random_of(seed, c, 6) % 9;
        make_column(m, c, seed, n_docs);
    }
    make_queries(m, seed, n_docs);
    if (seed % 7 > 4) {
        uint32_t *order = own(m, n_docs * sizeof(uint32_t));
        for (uint32_t i = 0; i < n_docs; i++) {
            const uint32_t j = random_of(seed, i, 7) % (i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        m->table.order = order;
    }
}

/* ---- the same by the plainest means ---- */

/* 1 if the document of a row has a value of the column, or is missing it. */
static int value_of(const struct made *m, uint32_t c, uint32_t row, float *value)
{
    const struct rw_array *a = &m->column[c];
    uint32_t k = a->index ? 0 : row;
    while (a->index && k < a->n && (uint32_t)a->index[k] != row)
        k++;
    *value = rw_float_of_bits(RW_MISSING_BITS);
    if (a->index && k == a->n)
        return a->n > 0 && m->table.missing == 0;
    const float number = (float)m->number[c][k];
    if (m->known[c][k] && number == number && number != m->table.missing)
        *value = number == 0 ? 0.0f : number;
    return 1;
}

static void id_of(const struct made *m, uint32_t q, char id[32])
{
    if (m->table.query_id_text)
        snprintf(id, 32, "%s", m->table.query_id_text + m->table.query_id_offset[q]);
    else
        snprintf(id, 32, "%u", q);
}

static struct rw_dataset *reference_of(const struct made *m)
{
    const struct rw_table *table = &m->table;
    struct rw_builder builder = {0};
    struct rw_dataset *dataset;
    for (uint32_t q = 0; q < table->n_queries; q++) {
        char id[32];
        id_of(m, q, id);
        cr_assert_eq(rw_builder_query(scratch_ctx, &builder, id, strlen(id)), RW_OK);
        for (uint32_t i = table->query_offset[q]; i < table->query_offset[q + 1]; i++) {
            uint16_t feature[MOST_COLUMNS];
            float value[MOST_COLUMNS];
            size_t n = 0;
            for (uint32_t c = 0; c < table->n_columns; c++) {
                feature[n] = (uint16_t)(table->feature ? table->feature[c] : c);
                n += (size_t)value_of(m, c, table->order ? table->order[i] : i, &value[n]);
            }
            cr_assert_eq(rw_builder_doc(scratch_ctx, &builder, table->label ? table->label[i] : 0,
                                        feature, value, n, NULL, 0),
                         RW_OK);
        }
    }
    cr_assert_eq(rw_builder_finish(scratch_ctx, &builder, 1, &dataset), RW_OK);
    return dataset;
}

/* Is a whole number no float32 number? The reference for rw_table.inexact. */
static int is_inexact(const struct made *m, uint32_t c)
{
    const struct rw_array *a = &m->column[c];
    const uint32_t n = a->index ? a->n : m->table.n_docs;
    int found = 0;
    const int is_whole = a->type >= RW_VALUE_I8 && a->type != RW_VALUE_F16;
    for (uint32_t k = 0; k < n && is_whole; k++)
        found |= m->known[c][k] && (double)(float)m->number[c][k] != m->number[c][k];
    return found;
}

/* ---- assertions ---- */

enum { LIMIT = 300 };

/* Values and codes of the table are those of the reference. */
static void compare(const struct made *m, const struct rw_cut_rule *rule)
{
    struct rw_dataset *expected = reference_of(m), *dataset;
    struct rw_bins *bins;
    struct rw_binned codes = {.documents = NULL};
    cr_assert_eq(rw_dataset_from_table(scratch_ctx, &m->table, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_dataset(expected, dataset);
    cr_assert_eq(rw_bins_make_training(scratch_ctx, expected, rule, &bins), RW_OK);
    memset(m->table.inexact, 9, m->table.n_columns);
    cr_assert_eq(rw_table_codes(scratch_ctx, &m->table, rule, &codes), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_binned(expected, bins, &codes);
    for (uint32_t c = 0; c < m->table.n_columns; c++)
        cr_assert_eq(m->table.inexact[c], is_inexact(m, c), "column %u", c);
    rw_bins_free(bins);
    rw_binned_release(&codes);
    rw_dataset_free(dataset);
    rw_dataset_free(expected);
}

static void assert_refused(const struct rw_table *table, int status, const char *error)
{
    const struct rw_cut_rule rule = {.bins = 16, .min_docs = 1};
    for (int n_threads = 1; n_threads < 4; n_threads++) {
        struct rw_dataset *dataset;
        struct rw_binned codes = {.documents = NULL};
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, n_threads), RW_OK);
        cr_assert_eq(rw_dataset_from_table(scratch_ctx, table, &dataset), status, "%s", error);
        cr_assert_null(dataset);
        cr_assert_str_eq(rw_last_error(scratch_ctx), error);
        cr_assert_eq(rw_table_codes(scratch_ctx, table, &rule, &codes), status);
        cr_assert_str_eq(rw_last_error(scratch_ctx), error);
        cr_assert_null(codes.bins);
        rw_binned_release(&codes);
    }
}
