/* Categories in caches: the file depends on the categories and not on their codes; the reader
 * checks them. */
#include "dataset/names.h"
#include "cache_fixture.h"

TestSuite(cache_categories, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

enum { N_DOCS = 6, N_WORDS = 4 };
static const char *const words[2][N_WORDS] = {{"shoes", "b", "\xc3\xa9t\xc3\xa9", "of nobody"},
                                              {"2", "shoes", "", "10"}};

/* Features 1 and 3 by words, 2 by numbers. turn: word i has the number (i + turn) % N_WORDS. */
static struct rw_dataset *made_data(uint32_t turn)
{
    static const uint32_t code[2][N_DOCS] = {{0, 1, 2, 1, 0, 0}, {3, 2, 0, 1, 3, 3}};
    static const float labels[N_DOCS] = {1, 0, 2, 0, 1, 1};
    static const uint32_t offsets[] = {0, 3, N_DOCS};
    float rows[N_DOCS][3];
    struct rw_dataset *dataset = NULL;
    for (uint32_t i = 0; i < N_DOCS; i++) {
        rows[i][0] =
            i == 4 ? rw_float_of_bits(RW_MISSING_BITS) : (float)((code[0][i] + turn) % N_WORDS);
        rows[i][1] = 0.5f * (float)i;
        rows[i][2] = (float)((code[1][i] + turn) % N_WORDS);
    }
    cr_assert_eq(
        rw_dataset_from_memory(scratch_ctx, rows[0], labels, offsets, N_DOCS, 3, 2, 1, &dataset),
        RW_OK);
    for (uint32_t k = 0; k < 2; k++) {
        const char *turned[N_WORDS];
        for (uint32_t i = 0; i < N_WORDS; i++)
            turned[(i + turn) % N_WORDS] = words[k][i];
        cr_assert_eq(rw_dataset_set_categories(scratch_ctx, dataset, 1 + 2 * k, turned, N_WORDS),
                     RW_OK, "%s", rw_last_error(scratch_ctx));
    }
    return dataset;
}

static char *make_cache(uint32_t turn, size_t *n)
{
    struct rw_params *params;
    struct rw_dataset *dataset = made_data(turn);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_write_cache(scratch_ctx, dataset, params, "c.rwb"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_params_free(params);
    rw_dataset_free(dataset);
    return scratch_read("c.rwb", n);
}

static int read_one(const char *path, struct rw_dataset **out)
{
    return rw_dataset_read(scratch_ctx, &path, 1, out);
}

static void expect_same(const struct rw_dataset *a, const struct rw_dataset *b)
{
    cr_assert_eq(b->n_columns, a->n_columns);
    for (uint32_t c = 0; c < a->n_columns; c++) {
        const struct rw_column *x = &a->column[c], *y = &b->column[c];
        cr_assert_eq(x->feature, y->feature);
        cr_assert_eq(rw_vocabulary_has(a->vocabulary, x->feature),
                     rw_vocabulary_has(b->vocabulary, x->feature));
        float of_a[N_DOCS], of_b[N_DOCS];
        rw_column_values(x, 0, N_DOCS, 0.0f, of_a);
        rw_column_values(y, 0, N_DOCS, 0.0f, of_b);
        for (uint32_t i = 0; i < N_DOCS; i++) {
            cr_assert_eq(of_a[i] != of_a[i], of_b[i] != of_b[i]);
            if (of_a[i] != of_a[i])
                continue;
            if (rw_vocabulary_has(a->vocabulary, x->feature))
                cr_assert_str_eq(rw_vocabulary_word(a->vocabulary, (uint32_t)of_a[i]),
                                 rw_vocabulary_word(b->vocabulary, (uint32_t)of_b[i]));
            else
                cr_assert_eq(of_a[i], of_b[i]);
        }
    }
}

Test(cache_categories, files_do_not_depend_on_codes)
{
    size_t n, n_turned;
    for (uint32_t turn = 0; turn < N_WORDS; turn++) {
        struct rw_dataset *data = made_data(turn), *read;
        char *bytes = make_cache(0, &n), *turned = make_cache(turn, &n_turned);
        cr_assert(n == n_turned && memcmp(bytes, turned, n) == 0, "turned by %u", turn);
        cr_assert_eq(read_one("c.rwb", &read), RW_OK, "%s", rw_last_error(scratch_ctx));
        expect_same(data, read);
        rw_dataset_free(read);
        rw_dataset_free(data);
        free(bytes);
        free(turned);
    }
}

/* ---- hostile files ---- */

Test(cache_categories, any_changed_byte_is_read_or_refused)
{
    size_t n;
    char *bytes = make_cache(0, &n);
    struct rw_cache_header header;
    memcpy(&header, bytes, sizeof(header));
    cr_assert_eq(header.n_word_features, 2);
    cache_change_bytes(bytes, n);
    free(bytes);
}

Test(cache_categories, errors)
{
    size_t n;
    struct rw_cache_layout layout;
    struct rw_cache_header header;
    char *good = make_cache(0, &n), *bytes = malloc(n);
    memcpy(&header, good, sizeof(header));
    cr_assert_eq(rw_cache_layout(&header, n, &layout), RW_OK);
    const size_t ids = layout.offset[RW_CACHE_WORD_FEATURE],
                 numbers = layout.offset[RW_CACHE_WORD_N];
    const size_t text = layout.offset[RW_CACHE_WORD_TEXT],
                 value = layout.offset[RW_CACHE_VALUE] + RW_CACHE_ALIGN;
    cr_assert_str_eq(good + text, "b"); /* of feature 1, then shoes and the third */
    const struct {
        size_t at;
        const char *bytes;
        size_t n_bytes;
    } cases[] = {
        {ids, "\x03\0\0\0", 4},     /* feature 3 twice */
        {ids, "\x07\0\0\0", 4},     /* no such column, and ids that fall */
        {ids + 4, "\x09\0\0\0", 4}, /* the same */
        {numbers, "\x04\0\0\0", 4}, /* a word more */
        {numbers, "\x02\0\0\0", 4}, /* one less */
        {numbers, "\xff\xff\xff\xff", 4},
        {text, "z", 1},             /* out of order */
        {text, "\0", 1},            /* an empty word */
        {value, "\0\0\x40\x40", 4}, /* 3: one more than there are */
        {value, "\0\0\0\x3f", 4},   /* 0.5 */
        {value, "\0\0\x80\xbf", 4}, /* -1 */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memcpy(bytes, good, n);
        memcpy(bytes + cases[i].at, cases[i].bytes, cases[i].n_bytes);
        cr_assert_eq(cache_read_sealed(bytes, n), RW_ERR_FORMAT, "case %zu", i);
        cr_assert(strstr(rw_last_error(scratch_ctx), "'bad.rwb' is damaged: a category is wrong"),
                  "case %zu: %s", i, rw_last_error(scratch_ctx));
    }
    free(bytes);
    free(good);
}
