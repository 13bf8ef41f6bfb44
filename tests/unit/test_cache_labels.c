/* Further labels in caches: they are read back, with codes, categories and weights, whole and in
 * parts; the reader checks them. */
#include <float.h>

#include "cache_fixture.h"
#include "io/data_format.h"

TestSuite(cache_labels, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

enum { N_DOCS = 7, N_MORE = 3 };
static const uint32_t offsets[] = {0, 3, 5, N_DOCS};

enum { WITH_WEIGHTS = 1, WITH_WORDS = 2, WITH_ALL };

static double more_of(size_t doc, size_t k)
{
    return doc == 4 && k == 1 ? (double)FLT_MAX : (double)((doc * 5 + k * 3) % 7) * 0.5;
}

static struct rw_dataset *made_data(int with, int n_more)
{
    static const float labels[N_DOCS] = {1, 0, 2, 0, 1, 1, 0};
    static const char *const words[] = {"b", "a"};
    float rows[N_DOCS][2];
    double more[N_DOCS * N_MORE], weights[N_DOCS];
    struct rw_dataset *dataset = NULL;
    for (size_t i = 0; i < N_DOCS; i++) {
        rows[i][0] = 0.5f * (float)i;
        rows[i][1] = (float)(i % 2);
        weights[i] = 1.0 + (double)i;
        for (size_t k = 0; k < (size_t)n_more; k++)
            more[i * (size_t)n_more + k] = more_of(i, k);
    }
    cr_assert_eq(
        rw_dataset_from_memory(scratch_ctx, rows[0], labels, offsets, N_DOCS, 2, 3, 1, &dataset),
        RW_OK);
    if (with & WITH_WEIGHTS)
        cr_assert_eq(
            rw_dataset_set_side_column(scratch_ctx, dataset, "weights", weights, N_DOCS, 1), RW_OK);
    if (with & WITH_WORDS)
        cr_assert_eq(rw_dataset_set_categories(scratch_ctx, dataset, 2, words, 2), RW_OK);
    if (n_more)
        cr_assert_eq(
            rw_dataset_set_side_column(scratch_ctx, dataset, "labels", more, N_DOCS, n_more), RW_OK,
            "%s", rw_last_error(scratch_ctx));
    return dataset;
}

static char *make_cache(int with, int n_more, size_t *n)
{
    struct rw_params *params;
    struct rw_dataset *dataset = made_data(with, n_more);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_write_cache(scratch_ctx, dataset, params, "c.rwb"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_params_free(params);
    rw_dataset_free(dataset);
    return scratch_read("c.rwb", n);
}

/* The documents from `first` on. */
static void expect_labels(const struct rw_dataset *read, uint32_t first)
{
    cr_assert_eq(read->n_more_labels, N_MORE);
    for (uint32_t i = 0; i < read->n_docs; i++) {
        for (int k = 0; k < N_MORE; k++)
            cr_assert_eq(rw_dataset_labels_of(read, k + 1)[i],
                         (float)more_of(first + i, (size_t)k));
        if (read->weight)
            cr_assert_eq(read->weight[i], 1.0 + first + i);
    }
}

Test(cache_labels, are_read_back_with_other_columns)
{
    const char *path = "c.rwb";
    for (int with = 0; with <= WITH_ALL; with++) {
        size_t n;
        struct rw_cache_header header;
        struct rw_params *params;
        struct rw_dataset *dataset;
        struct rw_binned *binned;
        char *bytes = make_cache(with, N_MORE, &n);
        memcpy(&header, bytes, sizeof(header));
        cr_assert_eq(header.n_more_labels, N_MORE);
        cr_assert_eq(header.has_bins, !(with & WITH_WORDS), "words are in place of codes");
        cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &dataset), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        expect_labels(dataset, 0);
        cr_assert_eq(dataset->vocabulary != NULL, (with & WITH_WORDS) != 0);
        cr_assert_eq(dataset->weight != NULL, (with & WITH_WEIGHTS) != 0);
        rw_dataset_free(dataset);
        cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "device", "cpu"), RW_OK);
        cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &path, 1, &binned), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        expect_labels(binned->documents, 0);
        cr_assert_eq(binned->bins != NULL, !(with & WITH_WORDS));
        rw_binned_free(binned);
        rw_params_free(params);
        free(bytes);
    }
}

Test(cache_labels, a_part_has_its_documents_labels)
{
    for (int with = 0; with <= WITH_ALL; with++) {
        size_t n;
        free(make_cache(with, N_MORE, &n));
        for (size_t q = 0; q < 3; q++) {
            const struct rw_range range = {.begin = offsets[q], .end = offsets[q + 1]};
            struct rw_input *input;
            struct rw_binned part = {.documents = NULL};
            cr_assert_eq(rw_input_open(scratch_ctx, "c.rwb", &input), RW_OK);
            cr_assert_eq(rw_cache_read(scratch_ctx, input, &range, NULL, &part), RW_OK, "%s",
                         rw_last_error(scratch_ctx));
            rw_input_close(input);
            cr_assert_eq(part.documents->n_docs, offsets[q + 1] - offsets[q]);
            expect_labels(part.documents, offsets[q]);
            rw_binned_release(&part);
        }
    }
}

/* ---- hostile files ---- */

Test(cache_labels, any_changed_byte_is_read_or_refused)
{
    size_t n;
    char *bytes = make_cache(WITH_ALL, N_MORE, &n);
    cache_change_bytes(bytes, n);
    free(bytes);
}

Test(cache_labels, errors)
{
    static const char *const wrong_size = "its counts do not fit its size",
                             *const out_of_range = "a count is out of range",
                             *const wrong_label = "a further label is wrong";
    size_t n;
    struct rw_cache_layout layout;
    struct rw_cache_header header;
    char *good = make_cache(WITH_WEIGHTS, N_MORE, &n), *bytes = malloc(n);
    memcpy(&header, good, sizeof(header));
    cr_assert_eq(rw_cache_layout(&header, n, &layout), RW_OK);
    const size_t label = layout.offset[RW_CACHE_MORE_LABEL];
    const size_t n_labels = offsetof(struct rw_cache_header, n_more_labels);
    const struct {
        size_t at;
        const char *bytes, *error;
    } cases[] = {
        {n_labels, "\0\0\0\0", wrong_size},
        {n_labels, "\x06\0\0\0", wrong_size},
        {n_labels, "\x10\0\0\0", wrong_size},
        {n_labels, "\xff\xff\xff\xff", wrong_size},
        {offsetof(struct rw_cache_header, weights), "\x03\0\0\0", out_of_range},
        {offsetof(struct rw_cache_header, zero), "\x01\0\0\0", out_of_range},
        {offsetof(struct rw_cache_header, width), "\x01\0\0\0", "a feature is outside its columns"},
        {offsetof(struct rw_cache_header, width), "\0\0\x02\0", out_of_range},
        {layout.offset[RW_CACHE_WEIGHT] + 4, "\0\0\xf0\xbf", "a weight is wrong"}, /* -1 */
        {label, "\0\0\x80\xbf", wrong_label},                                      /* -1 */
        {label, "\0\0\0\x80", wrong_label},                                        /* -0 */
        {label + 80, "\0\0\x80\x7f", wrong_label}, /* infinity, the last of all */
        {label + 40, "\0\0\xc0\x7f", wrong_label}, /* NaN */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memcpy(bytes, good, n);
        memcpy(bytes + cases[i].at, cases[i].bytes, 4);
        cr_assert_eq(cache_read_sealed(bytes, n), RW_ERR_FORMAT, "case %zu", i);
        cr_assert(strstr(rw_last_error(scratch_ctx), cases[i].error), "case %zu: %s", i,
                  rw_last_error(scratch_ctx));
    }
    free(bytes);
    free(good);
}
