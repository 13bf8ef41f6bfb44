#include <float.h>
#include <stddef.h>

#include "base/mem.h"
#include "each.h"
#include "io/cache/cache.h"
#include "io/data_format.h"
#include "same_codes.h"
#include "same_dataset.h"
#include "scratch_file.h"

TestSuite(cache, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

static const char text[] = "1 qid:a 1:0.5 7:nan # docid = 1\n"
                           "0 qid:a 1:2 3:1e39\n"
                           "2.5 qid:b/2 1:7 7:1\n"
                           "0 qid:c 1:0 7:0.1 # x # y\n"
                           "1 qid:c 1:0 7:0.5\n";

static struct rw_dataset *read_one(const char *path)
{
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return dataset;
}

static struct rw_bins *make_bins(const struct rw_dataset *dataset)
{
    const struct rw_cut_rule rule = {.bins = 255, .absent_missing = 0, .min_docs = 1};
    struct rw_cuts *cuts;
    struct rw_bins *bins;
    cr_assert_eq(rw_cuts_make(scratch_ctx, dataset, &rule, &cuts), RW_OK);
    cr_assert_eq(rw_bins_make(scratch_ctx, dataset, cuts, &rule, 1, &bins), RW_OK);
    return bins;
}

/* The small cache c.rwb, with or without bins, and its bytes. */
static char *make_cache(int with_bins, size_t *n)
{
    scratch_text("a", text);
    struct rw_dataset *dataset = read_one("a");
    struct rw_bins *bins = with_bins ? make_bins(dataset) : NULL;
    cr_assert_eq(rw_cache_write(scratch_ctx, dataset, bins, "c.rwb"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_bins_free(bins);
    rw_dataset_free(dataset);
    return scratch_read("c.rwb", n);
}

static void assert_refused(const char *data, size_t n, const char *error)
{
    const char *const path[] = {"bad.rwb"};
    struct rw_dataset *dataset;
    scratch_write("bad.rwb", data, n);
    cr_assert_lt(rw_dataset_read(scratch_ctx, path, 1, &dataset), 0);
    cr_assert_null(dataset);
    if (error)
        cr_assert_str_eq(rw_last_error(scratch_ctx), error);
}

/* The codes of c.rwb. */
static void read_codes(int n_bins, struct rw_binned *out)
{
    const struct rw_cut_rule rule = {.bins = n_bins, .min_docs = 1};
    struct rw_read_goal goal = {.rule = &rule};
    const char *const path = "c.rwb";
    *out = (struct rw_binned){.documents = NULL};
    cr_assert_eq(rw_files_read(scratch_ctx, &path, 1, &goal, out), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_not_null(out->bins);
}

/* Gives hostile bytes a checksum that is right. */
static void seal(char *data, size_t n)
{
    const uint32_t crc = rw_checksum(0, data, n - 4);
    memcpy(data + n - 4, &crc, 4);
}

static struct rw_cache_layout layout_of(const char *data, size_t n)
{
    struct rw_cache_header header;
    struct rw_cache_layout layout;
    memcpy(&header, data, sizeof(header));
    cr_assert_eq(rw_cache_layout(&header, n, &layout), RW_OK);
    return layout;
}

Test(cache, everything_is_read_back)
{
    struct rw_binned binned;
    scratch_text("a", text);
    struct rw_dataset *a = read_one("a");
    struct rw_bins *bins = make_bins(a);
    cr_assert_eq(rw_cache_write(scratch_ctx, a, bins, "c.rwb"), RW_OK);
    scratch_log[0] = 0;
    struct rw_dataset *c = read_one("c.rwb");
    assert_same_dataset(a, c);
    cr_assert_not_null(strstr(scratch_log, "1 number beyond the range of float"));
    read_codes(255, &binned);
    assert_same_binned(a, bins, &binned);
    cr_assert_eq(bins->rule.bins, 255);
    cr_assert_eq(bins->rule.min_docs, 1);
    cr_assert_gt(bins->cuts->n_features, 0);
    for (uint32_t f = 0; f < bins->cuts->n_features; f++)
        cr_assert_eq((uintptr_t)binned.bins->codes[f].code % RW_CACHE_ALIGN, 0);
    rw_binned_release(&binned);
    const double weights[] = {1, 2, 3};
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, c, "query-weights", weights, 3, 1), RW_OK);
    rw_bins_free(bins);
    rw_dataset_free(a);
    rw_dataset_free(c);
}

/* The file that the next tests damage. Documents 0, 20, 40 ... 380 have feature 9: its values
 * and its codes are listed with them. Feature 1 has a code of two bytes for each document. */
#define LISTED_DOCS 20

static char *make_listed_cache(size_t *n)
{
    const struct rw_cut_rule rule = {.bins = 1000, .min_docs = 1};
    struct rw_cuts *cuts;
    struct rw_bins *bins;
    FILE *file = fopen("a", "w");
    for (int i = 0; i < 400; i++)
        fprintf(file, i % 20 ? "%d qid:%d 1:%d\n" : "%d qid:%d 1:%d 9:%d\n", i % 3, i / 10, i,
                i + 1);
    fclose(file);
    struct rw_dataset *dataset = read_one("a");
    cr_assert_eq(rw_cuts_make(scratch_ctx, dataset, &rule, &cuts), RW_OK);
    cr_assert_eq(rw_bins_make(scratch_ctx, dataset, cuts, &rule, 1, &bins), RW_OK);
    cr_assert_eq(cuts->n_features, 2);
    cr_assert(!bins->codes[0].row && rw_cuts_n_codes(cuts, 0) == 400);
    cr_assert(bins->codes[1].row && bins->codes[1].n == LISTED_DOCS);
    cr_assert(dataset->column[1].row && dataset->column[1].n == LISTED_DOCS);
    cr_assert_eq(rw_cache_write(scratch_ctx, dataset, bins, "c.rwb"), RW_OK);
    rw_bins_free(bins);
    rw_dataset_free(dataset);
    return scratch_read("c.rwb", n);
}

/* Listed documents ascend: none is there twice or before another, none is beyond the last. */
Test(cache, listed_documents_ascend)
{
    size_t n;
    char *data = make_listed_cache(&n), *bad = malloc(n);
    const struct rw_cache_layout layout = layout_of(data, n);
    const struct {
        size_t at;
        const char *error;
    } list[] = {/* after the values of feature 1 and the head of feature 9 */
                {layout.offset[RW_CACHE_VALUE] + 64 + 1600 + 64,
                 "'bad.rwb' is damaged: a feature's values or rows are wrong"},
                /* after the codes of feature 1 and the head of feature 9 */
                {layout.offset[RW_CACHE_CODE] + 64 + 832 + 64,
                 "'bad.rwb' is damaged: a code or its document is out of range"}};
    for (int i = 0; i < 2; i++) {
        uint32_t row[LISTED_DOCS];
        memcpy(row, data + list[i].at, sizeof(row));
        for (uint32_t k = 0; k < LISTED_DOCS; k++)
            cr_assert_eq(row[k], 20 * k);
        for (uint32_t k = 1; k < LISTED_DOCS; k++) {
            const uint32_t wrong[] = {row[k - 1], row[k - 1] - 1,
                                      k + 1 < LISTED_DOCS ? row[k] : 400};
            for (int w = 0; w < 3; w++) {
                if (wrong[w] == row[k]) /* only the last document has a third wrong one */
                    continue;
                memcpy(bad, data, n);
                memcpy(bad + list[i].at + k * sizeof(*row), &wrong[w], sizeof(*row));
                seal(bad, n);
                assert_refused(bad, n, list[i].error);
            }
        }
    }
    /* nor is one listed that does not have the feature */
    const uint32_t absent = RW_ABSENT_BITS;
    memcpy(bad, data, n);
    memcpy(bad + list[0].at + 128 + 7 * 4, &absent, 4);
    seal(bad, n);
    assert_refused(bad, n, list[0].error);
    free(bad);
    free(data);
}

/* The first code without a meaning, of one byte and of two, at every place. */
Test(cache, codes_in_range)
{
    static const char error[] = "'bad.rwb' is damaged: a code or its document is out of range";
    size_t n;
    char *data = make_listed_cache(&n), *bad = malloc(n);
    const struct rw_cache_layout layout = layout_of(data, n);
    const size_t two_bytes = layout.offset[RW_CACHE_CODE] + 64, head = two_bytes + 832;
    const size_t one_byte = head + 64 + 128;
    struct rw_binned binned;
    read_codes(1000, &binned); /* undamaged, it is read */
    const uint16_t n_codes = (uint16_t)rw_cuts_n_codes(binned.bins->cuts, 1), all = 400;
    rw_binned_release(&binned);
    cr_assert_leq(n_codes, 256);
    for (uint32_t i = 0; i < 400; i++) {
        memcpy(bad, data, n);
        memcpy(bad + two_bytes + i * 2, &all, 2);
        seal(bad, n);
        assert_refused(bad, n, error);
    }
    for (uint32_t i = 0; i < LISTED_DOCS; i++) {
        memcpy(bad, data, n);
        bad[one_byte + i] = (char)n_codes;
        seal(bad, n);
        assert_refused(bad, n, error);
    }
    memcpy(bad, data, n);
    memcpy(bad + head + 4, &n_codes, 2); /* of the documents that are not listed */
    seal(bad, n);
    assert_refused(bad, n, error);
    free(bad);
    free(data);
}

/* A feature of few documents: its codes are listed, with their documents. */
Test(cache, sparse_codes)
{
    FILE *file = fopen("a", "w");
    for (int i = 0; i < 400; i++)
        fprintf(file, i % 20 ? "%d qid:%d 1:%d\n" : "%d qid:%d 1:%d 9:%d\n", i % 3, i / 10, i, i);
    fclose(file);
    struct rw_dataset *a = read_one("a");
    struct rw_bins *bins = make_bins(a);
    cr_assert_eq(bins->cuts->n_features, 2);
    cr_assert_not_null(bins->codes[1].row);
    cr_assert_eq(rw_cache_write(scratch_ctx, a, bins, "c.rwb"), RW_OK);
    struct rw_dataset *c = read_one("c.rwb");
    assert_same_dataset(a, c);
    struct rw_binned binned;
    read_codes(255, &binned);
    assert_same_binned(a, bins, &binned);
    rw_binned_release(&binned);
    rw_dataset_free(c);
    size_t n;
    char *data = scratch_read("c.rwb", &n), *bad = malloc(n);
    const struct rw_cache_layout layout = layout_of(data, n);
    const char *second = data + layout.offset[RW_CACHE_CODE] + 64 + 448;
    uint32_t head[2];
    memcpy(head, second, sizeof(head));
    cr_assert_eq(head[0], bins->codes[1].n);
    const struct {
        size_t at;
        uint32_t value;
    } cases[] = {{4, 300}, {64, 400}, {68, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        memcpy(bad, data, n);
        memcpy(bad + (second - data) + cases[i].at, &cases[i].value, 4);
        seal(bad, n);
        assert_refused(bad, n, "'bad.rwb' is damaged: a code or its document is out of range");
    }
    free(bad);
    free(data);
    rw_bins_free(bins);
    rw_dataset_free(a);
}

Test(cache, made_twice_is_the_same)
{
    size_t n, m;
    char *one = make_cache(1, &n), *two = make_cache(1, &m);
    cr_assert_eq(n, m);
    cr_assert_eq(memcmp(one, two, n), 0);
    free(one);
    free(two);
}

Test(cache, every_flipped_bit_is_noticed)
{
    size_t n;
    char *data = make_cache(1, &n);
    rw_ctx_set_threads(scratch_ctx, 1);
    for (size_t bit = 0; bit < n * 8; bit += EACH(17)) {
        data[bit / 8] ^= (char)(1 << bit % 8);
        assert_refused(data, n, NULL);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(data);
}

Test(cache, truncated_anywhere)
{
    size_t n;
    char *data = make_cache(1, &n), *longer = calloc(n + 1, 1);
    for (size_t i = 0; i < n; i += EACH(5))
        assert_refused(data, i, NULL);
    memcpy(longer, data, n);
    char expected[96];
    snprintf(expected, sizeof(expected), "'bad.rwb' is too long: expected %zu bytes, found %zu", n,
             n + 1);
    assert_refused(longer, n + 1, expected);
    snprintf(expected, sizeof(expected), "'bad.rwb' is truncated: expected %zu bytes, found %zu", n,
             n - 1);
    assert_refused(data, n - 1, expected);
    free(longer);
    free(data);
}

Test(cache, other_versions_are_named)
{
    size_t n;
    char *data = make_cache(0, &n);
    struct rw_cache_header *header = (void *)data;
    char expected[200];
    for (int version = 1; version < 20; version++) {
        if (version == RW_CACHE_VERSION)
            continue;
        snprintf(expected, sizeof(expected),
                 "'bad.rwb' is a cache of version %d, made by %s version of Rankwood; expected "
                 "version %d\nhint: make it again with 'rankwood bin'",
                 version, version < RW_CACHE_VERSION ? "an earlier" : "a later", RW_CACHE_VERSION);
        header->version = (uint32_t)version;
        seal(data, n);
        assert_refused(data, n, expected);
    }
    free(data);
}

Test(cache, hostile_headers)
{
    static const uint64_t values[] = {0,          1,          2,          6,          255,
                                      0x7fffffff, 0x80000000, 0xffffffff, 1ull << 40, UINT64_MAX};
    size_t n;
    char *data = make_cache(1, &n), *bad = malloc(n);
    for (size_t at = 16; at + 8 <= sizeof(struct rw_cache_header); at += 4) {
        for (size_t size = 4; size <= 8; size += 4) {
            for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
                const char *const path[] = {"bad.rwb"};
                struct rw_dataset *dataset;
                memcpy(bad, data, n);
                memcpy(bad + at, &values[i], size);
                seal(bad, n);
                scratch_write("bad.rwb", bad, n);
                if (rw_dataset_read(scratch_ctx, path, 1, &dataset) == RW_OK)
                    rw_dataset_free(dataset); /* some counts mean nothing; no crash is the point */
            }
        }
    }
    free(bad);
    free(data);
}

Test(cache, hostile_contents)
{
    /* In a section, at a byte, `size` bytes are replaced. */
    static const struct {
        enum rw_cache_section section;
        size_t at, size;
        uint64_t value;
        const char *error;
    } cases[] = {
        {RW_CACHE_COLUMN_FEATURE, 0, 4, 65536, "feature ids do not ascend"},
        {RW_CACHE_COLUMN_FEATURE, 4, 4, 1, "feature ids do not ascend"},
        {RW_CACHE_COLUMN_FEATURE, 8, 4, 65536, "feature ids do not ascend"},
        /* three blocks: 5 values, a row and its value, 5 values */
        {RW_CACHE_VALUE, 0, 4, 4, "a column's length is wrong"},
        {RW_CACHE_VALUE, 0, 4, 6, "a column's length is wrong"},
        {RW_CACHE_VALUE, 0, 4, 0xffffffff, "a column's length is wrong"},
        {RW_CACHE_VALUE, 128, 4, 0, "a column's length is wrong"},
        {RW_CACHE_VALUE, 128, 4, 5, "a column's length is wrong"},
        {RW_CACHE_VALUE, 320, 4, 4, "a column's length is wrong"},
        {RW_CACHE_VALUE, 192, 4, 5, "a feature's values or rows are wrong"},
        {RW_CACHE_VALUE, 64, 4, 0x7f800000, "a feature's values or rows are wrong"},
        {RW_CACHE_VALUE, 64, 4, 0x80000000, "a feature's values or rows are wrong"},
        {RW_CACHE_VALUE, 256, 4, 0x7fc00001, "a feature's values or rows are wrong"},
        {RW_CACHE_LABEL, 0, 4, 0xbf800000, "a label is out of range"},
        {RW_CACHE_LABEL, 0, 4, 0x7fc00000, "a label is out of range"},
        {RW_CACHE_QUERY_OFFSET, 0, 4, 1, "the queries do not hold all documents"},
        {RW_CACHE_QUERY_OFFSET, 4, 4, 0, "the queries do not hold all documents"},
        {RW_CACHE_QUERY_OFFSET, 4, 4, 0xffffffff, "the queries do not hold all documents"},
        {RW_CACHE_QUERY_OFFSET, 12, 4, 4, "the queries do not hold all documents"},
        {RW_CACHE_QUERY_ID_OFFSET, 8, 8, 1ull << 60, "a query's id is wrong"},
        {RW_CACHE_QUERY_ID_OFFSET, 8, 8, 0, "a query's id is wrong"},
        {RW_CACHE_QUERY_ID_TEXT, 0, 1, 0, "a query's id is wrong"},
        {RW_CACHE_QUERY_ID_TEXT, 0, 1, '\t', "a query's id is wrong"},
        {RW_CACHE_QUERY_ID_TEXT, 0, 1, '\r', "a query's id is wrong"},
        {RW_CACHE_QUERY_ID_TEXT, 0, 1, '\n', "a query's id is wrong"},
        {RW_CACHE_QUERY_ID_TEXT, 1, 1, 'x', "a query's id is wrong"},
        {RW_CACHE_COMMENT_OFFSET, 0, 8, 1, "a comment is wrong"},
        {RW_CACHE_COMMENT_OFFSET, 8, 8, UINT64_MAX, "a comment is wrong"},
        {RW_CACHE_COMMENT_TEXT, 0, 1, '\n', "a comment is wrong"},
        {RW_CACHE_COMMENT_TEXT, sizeof(" docid = 1") - 1, 1, '\n', "a comment is wrong"},
        {RW_CACHE_CUT_FEATURE, 0, 4, 2, "a feature with bin boundaries is unknown or out of order"},
        {RW_CACHE_CUT_FEATURE, 0, 4, 7, "a feature with bin boundaries is unknown or out of order"},
        {RW_CACHE_CUT_FEATURE, 4, 4, 1, "a feature with bin boundaries is unknown or out of order"},
        {RW_CACHE_CUT_OFFSET, 0, 8, 1, "a feature's number of bin boundaries is wrong"},
        {RW_CACHE_CUT_OFFSET, 8, 8, 0, "a feature's number of bin boundaries is wrong"},
        {RW_CACHE_CUT_OFFSET, 8, 8, 1ull << 50, "a feature's number of bin boundaries is wrong"},
        {RW_CACHE_CUT, 0, 4, 0x7fc00000, "bin boundaries do not ascend"},
        {RW_CACHE_CUT, 0, 4, 0x7f7fffff, "bin boundaries do not ascend"},
        {RW_CACHE_CUT, 0, 4, 0x80000000, "bin boundaries do not ascend"},
        {RW_CACHE_CUT, 0, 4, 0xff800000, "bin boundaries do not ascend"},
        {RW_CACHE_HAS_MISSING, 0, 1, 2, "a feature's mark for missing values is wrong"},
        {RW_CACHE_CODE, 0, 4, 1u << 20, "codes are missing"},
        {RW_CACHE_CODE, 0, 4, 4, "codes are missing"},
        {RW_CACHE_CODE, 64, 1, 200, "a code or its document is out of range"},
    };
    size_t n;
    char *data = make_cache(1, &n), *bad = malloc(n);
    const struct rw_cache_layout layout = layout_of(data, n);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char expected[128];
        snprintf(expected, sizeof(expected), "'bad.rwb' is damaged: %s", cases[i].error);
        memcpy(bad, data, n);
        memcpy(bad + layout.offset[cases[i].section] + cases[i].at, &cases[i].value, cases[i].size);
        seal(bad, n);
        assert_refused(bad, n, expected);
    }
    /* A query id that stands twice: "a" for "c". */
    memcpy(bad, data, n);
    char *ids = bad + layout.offset[RW_CACHE_QUERY_ID_TEXT];
    cr_assert_str_eq(ids + 6, "c");
    ids[6] = 'a';
    seal(bad, n);
    assert_refused(bad, n,
                   "bad.rwb: query 'a' appears again after another query\nhint: it began at "
                   "bad.rwb; a query's lines must be consecutive");
    free(bad);
    free(data);
}

struct change {
    size_t at, size; /* in the file; size 0: none */
    uint64_t value;
};

static void assert_changes_refused(const char *data, size_t n, const struct change *change,
                                   const char *error)
{
    char *bad = malloc(n), expected[128];
    memcpy(bad, data, n);
    for (int i = 0; i < 5 && change[i].size; i++)
        memcpy(bad + change[i].at, &change[i].value, change[i].size);
    seal(bad, n);
    snprintf(expected, sizeof(expected), "'bad.rwb' is damaged: %s", error);
    assert_refused(bad, n, expected);
    free(bad);
}

/* Damage of several changes, each of which passes for itself or hides another. */
Test(cache, hostile_contents_by_several_changes)
{
    size_t n;
    char *data = make_cache(1, &n);
    const struct rw_cache_layout layout = layout_of(data, n);
    struct rw_cache_header header;
    memcpy(&header, data, sizeof(header));
    const size_t ids = layout.offset[RW_CACHE_QUERY_ID_TEXT];
    const size_t id_offsets = layout.offset[RW_CACHE_QUERY_ID_OFFSET];
    const size_t values = layout.offset[RW_CACHE_VALUE] + RW_CACHE_ALIGN;
    const struct change empty_id[5] = {{ids, 2, 'x' << 8}, {id_offsets + 8, 8, 1}};
    assert_changes_refused(data, n, empty_id, "a query's id is wrong");
    struct change twice[5] = {{ids, 8, 0}, {id_offsets + 16, 8, 4}};
    memcpy(&twice[0].value, "a\0a\0xyz", 8); /* a, a, xyz */
    assert_changes_refused(data, n, twice, "a query is repeated");
    struct change none[5]; /* feature 1 is dense, and no document has it */
    for (size_t i = 0; i < 5; i++)
        none[i] = (struct change){values + i * 4, 4, RW_ABSENT_BITS};
    assert_changes_refused(data, n, none, "a feature's values or rows are wrong");
    /* text after the last one */
    const struct change ids_longer[5] = {
        {offsetof(struct rw_cache_header, query_id_bytes), 8, header.query_id_bytes + 1}};
    assert_changes_refused(data, n, ids_longer, "a query's id is wrong");
    const struct change comments_longer[5] = {
        {offsetof(struct rw_cache_header, comment_bytes), 8, header.comment_bytes + 1}};
    assert_changes_refused(data, n, comments_longer, "a comment is wrong");
    /* cuts of the first feature: the second one again, the last one not the largest float */
    uint64_t end;
    memcpy(&end, data + layout.offset[RW_CACHE_CUT_OFFSET] + 8, 8);
    cr_assert_gt(end, 2);
    struct change cuts[5] = {{layout.offset[RW_CACHE_CUT] + 4, 4, 0}};
    memcpy(&cuts[0].value, data + layout.offset[RW_CACHE_CUT], 4);
    assert_changes_refused(data, n, cuts, "bin boundaries do not ascend");
    cuts[0] = (struct change){layout.offset[RW_CACHE_CUT] + (end - 1) * 4, 4, 0x7f7ffffe};
    assert_changes_refused(data, n, cuts, "a feature's last bin boundary is missing");
    free(data);
}

/* Sections that a cache without comments or bins does not have. */
Test(cache, hostile_sections)
{
    static const struct {
        size_t count, size, sections; /* each begins at a multiple of 64 bytes */
        const char *error;
    } cases[] = {
        {offsetof(struct rw_cache_header, comment_bytes), 8, 1, "text without a comment"},
        {offsetof(struct rw_cache_header, n_cut_features), 4, 2,
         "bin boundaries without parameters"},
        {offsetof(struct rw_cache_header, n_cuts), 8, 1, "bin boundaries without parameters"},
        {offsetof(struct rw_cache_header, code_bytes), 8, 1, "bin boundaries without parameters"},
    };
    scratch_text("a", "1 qid:a 1:0.5\n0 qid:a 1:2\n");
    struct rw_dataset *dataset = read_one("a");
    cr_assert_eq(rw_cache_write(scratch_ctx, dataset, NULL, "c.rwb"), RW_OK);
    rw_dataset_free(dataset);
    size_t n;
    char *data = scratch_read("c.rwb", &n);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const uint64_t one = 1, longer = n + cases[i].sections * RW_CACHE_ALIGN;
        const struct change change[5] = {{cases[i].count, cases[i].size, one},
                                         {offsetof(struct rw_cache_header, file_bytes), 8, longer}};
        char *more = calloc(longer, 1);
        memcpy(more, data, n - 4);
        assert_changes_refused(more, longer, change, cases[i].error);
        free(more);
    }
    free(data);
}

Test(cache, random_damage_with_a_right_checksum)
{
    size_t n;
    char *data = make_cache(1, &n), *bad = malloc(n);
    uint32_t state = 99;
    rw_ctx_set_threads(scratch_ctx, 1);
    for (int round = 0; round < 1000 / EACH(3); round++) {
        memcpy(bad, data, n);
        for (int i = 0; i <= round % 3; i++) {
            state = state * 1664525u + 1013904223u;
            const size_t at = 24 + (state >> 8) % (n - 28);
            state = state * 1664525u + 1013904223u;
            bad[at] = (char)(state >> 24);
        }
        seal(bad, n);
        scratch_write("bad.rwb", bad, n);
        const char *const path[] = {"bad.rwb"};
        struct rw_dataset *dataset;
        if (rw_dataset_read(scratch_ctx, path, 1, &dataset) == RW_OK) {
            float values[5]; /* accepted data can be used */
            for (uint32_t c = 0; c < dataset->n_columns; c++)
                rw_column_values(&dataset->column[c], 0, dataset->n_docs, 0, values);
            rw_dataset_free(dataset);
        }
    }
    free(bad);
    free(data);
}

Test(cache, standard_input_and_pipes)
{
    size_t n;
    char *data = make_cache(0, &n);
    cr_assert_not_null(freopen("c.rwb", "rb", stdin));
    struct rw_dataset *a = read_one("a"), *c = read_one("-");
    assert_same_dataset(a, c);
    rw_dataset_free(a);
    rw_dataset_free(c);
    free(data);
}

Test(cache, failures_of_writing)
{
    scratch_text("a", text);
    struct rw_dataset *a = read_one("a");
    cr_assert_eq(rw_cache_write(scratch_ctx, a, NULL, "no/where"), RW_ERR_IO);
    if (access("/dev/full", W_OK) == 0)
        cr_assert_eq(rw_cache_write(scratch_ctx, a, NULL, "/dev/full"), RW_ERR_MACHINE);
    rw_dataset_free(a);
}

Test(cache, every_allocation_may_fail)
{
    size_t n_bytes;
    free(make_cache(1, &n_bytes));
    rw_ctx_set_threads(scratch_ctx, 1);
    for (long n = 1; n < 200; n++) {
        const char *const path[] = {"c.rwb"};
        struct rw_dataset *dataset;
        rw_mem_fail_from(n);
        const int status = rw_dataset_read(scratch_ctx, path, 1, &dataset);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            rw_dataset_free(dataset);
            cr_assert_gt(n, 8);
            return;
        }
        cr_assert_eq(status, RW_ERR_MEMORY);
    }
    cr_assert_fail("it never succeeded");
}

/* A file that is truncated and rewritten while the data set is in use: it was read, so nothing
 * changes.
 */
Test(cache, file_may_change_afterwards)
{
    char *paths[] = {"c.rwb"};
    struct rw_dataset *made, *read;
    const struct rw_synth_options options = {.shape = "letor", .n_queries = 400, .seed = 2};
    struct rw_params *params;
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_synth(scratch_ctx, &options, NULL, &made), RW_OK);
    cr_assert_eq(rw_dataset_write_cache(scratch_ctx, made, params, "c.rwb"), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, (const char *const *)paths, 1, &read), RW_OK);
    FILE *file = fopen("c.rwb", "r+b");
    cr_assert(file);
    for (int i = 0; i < 200000; i++)
        fputc(0xff, file);
    fclose(file);
    cr_assert_eq(truncate("c.rwb", 5000), 0);
    assert_same_dataset(made, read);
    rw_dataset_free(made);
    rw_dataset_free(read);
    rw_params_free(params);
}
