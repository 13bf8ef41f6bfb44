/* A cache that is read for training: its codes, and no values. */
#include "binning/bins.h"
#include "io/cache/cache.h"
#include "io/data_format.h"
#include "same_codes.h"
#include "scratch_file.h"

TestSuite(cache_codes, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

static int read_by(const char *path, const struct rw_cut_rule *rule, struct rw_binned *out)
{
    *out = (struct rw_binned){.documents = NULL};
    struct rw_read_goal goal = {.rule = rule};
    return rw_files_read(scratch_ctx, &path, 1, &goal, out);
}

/* c.rwb and its bytes: feature 1 is of all documents and has codes of two bytes, feature 9 is of
 * every 20th. */
static char *make_cache(int n_docs, size_t *n)
{
    struct rw_params *params;
    struct rw_binned read;
    FILE *file = fopen("a", "w");
    for (int i = 0; i < n_docs; i++)
        fprintf(file, i % 20 ? "%d qid:%d 1:%d\n" : "%d qid:%d 1:%d 9:%d\n", i % 3, i / 10, i,
                i + 1);
    fclose(file);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "bins", "1000"), RW_OK);
    cr_assert_eq(read_by("a", NULL, &read), RW_OK);
    cr_assert_eq(rw_dataset_write_cache(scratch_ctx, read.documents, params, "c.rwb"), RW_OK);
    rw_params_free(params);
    rw_binned_release(&read);
    return scratch_read("c.rwb", n);
}

/* Values are left out where the codes are those of the training's rule, and nothing else is. */
Test(cache_codes, values_are_left_out)
{
    static const struct rw_cut_rule rule[] = {{.bins = 1000, .min_docs = 1},
                                              {.bins = 1000, .min_docs = 30},
                                              {.bins = 1000, .min_docs = 0},
                                              {.bins = 999, .min_docs = 1},
                                              {.bins = 1000, .absent_missing = 1, .min_docs = 1}};
    size_t n;
    char *data = make_cache(40000, &n); /* more than an input reads ahead */
    struct rw_binned whole, codes;
    struct rw_bins *bins;
    cr_assert_eq(read_by("c.rwb", NULL, &whole), RW_OK);
    cr_assert_null(whole.bins);
    cr_assert_eq(whole.documents->n_columns, 2);
    cr_assert_eq(rw_bins_make_training(scratch_ctx, whole.documents, &rule[0], &bins), RW_OK);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(read_by("c.rwb", &rule[i], &codes), RW_OK, "%s", rw_last_error(scratch_ctx));
        cr_assert_eq(codes.bins == NULL, i > 1);
        cr_assert_eq(rw_binned_n_features(&codes), 2);
        cr_assert(rw_dataset_same_judgments(whole.documents, codes.documents));
        if (codes.bins)
            assert_same_binned(whole.documents, bins, &codes);
        rw_binned_release(&codes);
    }
    rw_bins_free(bins);
    /* a cache without codes, and streams */
    cr_assert_eq(rw_cache_write(scratch_ctx, whole.documents, NULL, "bare.rwb"), RW_OK);
    cr_assert_eq(read_by("bare.rwb", &rule[0], &codes), RW_OK);
    cr_assert_null(codes.bins);
    rw_binned_release(&codes);
    struct rw_input *input;
    cr_assert_eq(rw_input_open_memory(scratch_ctx, "m", data, n, &input), RW_OK);
    cr_assert_eq(rw_cache_read(scratch_ctx, input, NULL, &rule[0], &codes), RW_OK);
    rw_input_close(input);
    cr_assert_not_null(codes.bins);
    cr_assert(rw_dataset_same_judgments(whole.documents, codes.documents));
    rw_binned_release(&codes);
    rw_binned_release(&whole);
    free(data);
}

/* Excluded features are damaged or missing. */
Test(cache_codes, damaged_file)
{
    static const struct rw_cut_rule rule = {.bins = 1000, .min_docs = 1};
    size_t n;
    char *data = make_cache(400, &n), error[200];
    struct rw_cache_header header;
    struct rw_cache_layout layout;
    struct rw_binned binned;
    memcpy(&header, data, sizeof(header));
    cr_assert_eq(rw_cache_layout(&header, n, &layout), RW_OK);
    for (uint64_t at = layout.offset[RW_CACHE_VALUE]; at < layout.offset[RW_CACHE_LABEL];
         at += 13) {
        data[at] ^= 8;
        scratch_write("bad.rwb", data, n);
        data[at] ^= 8;
        cr_assert_eq(read_by("bad.rwb", &rule, &binned), RW_ERR_FORMAT);
        cr_assert_str_eq(rw_last_error(scratch_ctx),
                         "'bad.rwb' is damaged: its checksum does not match");
    }
    for (uint64_t size = sizeof(struct rw_cache_header) + 4; size < n; size += 61) {
        snprintf(error, sizeof(error), "'bad.rwb' is truncated: expected %zu bytes, found %llu", n,
                 (unsigned long long)size);
        scratch_write("bad.rwb", data, size);
        cr_assert_eq(read_by("bad.rwb", &rule, &binned), RW_ERR_FORMAT);
        cr_assert_str_eq(rw_last_error(scratch_ctx), error);
    }
    free(data);
}
