#include <float.h>
#include <math.h>

#include "base/mem.h"
#include "io/text.h"
#include "same_dataset.h"
#include "scratch_file.h"

TestSuite(letor, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

/* A text through the parser with chunks of `chunk_bytes`; the error's status, or *out. */
static int read_text(const char *text, size_t n_bytes, size_t chunk_bytes, struct rw_dataset **out)
{
    struct rw_builder_list list = {.is_whole = 1};
    struct rw_input *input = NULL;
    struct rw_text *letor = NULL;
    struct rw_seen *seen = NULL;
    int status, more = 1;
    *out = NULL;
    RW_TRY_OUT(rw_input_open_memory(scratch_ctx, "a.txt", text, n_bytes, &input));
    RW_TRY_OUT(rw_seen_new(scratch_ctx, &seen));
    RW_TRY_OUT(rw_text_open(scratch_ctx, &rw_letor_text, input, NULL, seen, chunk_bytes, &letor));
    while (more)
        RW_TRY_OUT(rw_text_next(scratch_ctx, letor, &list, &more));
    status = rw_early_finish(scratch_ctx, list.early, list.builder, (int)list.n, out);
out:
    rw_text_close(letor);
    rw_seen_free(seen);
    rw_input_close(input);
    rw_builder_list_release(&list);
    return status;
}

/* The same for a file. */
static int read_file(const char *path, size_t chunk_bytes, struct rw_dataset **out)
{
    struct rw_builder_list list = {0};
    struct rw_input *input = NULL;
    struct rw_text *letor = NULL;
    struct rw_seen *seen = NULL;
    int status, more = 1;
    *out = NULL;
    RW_TRY_OUT(rw_input_open(scratch_ctx, path, &input));
    RW_TRY_OUT(rw_seen_new(scratch_ctx, &seen));
    RW_TRY_OUT(rw_text_open(scratch_ctx, &rw_letor_text, input, NULL, seen, chunk_bytes, &letor));
    while (more)
        RW_TRY_OUT(rw_text_next(scratch_ctx, letor, &list, &more));
    status = rw_builder_finish(scratch_ctx, list.builder, (int)list.n, out);
out:
    rw_text_close(letor);
    rw_seen_free(seen);
    rw_input_close(input);
    rw_builder_list_release(&list);
    return status;
}

static struct rw_dataset *read_good(const char *text)
{
    struct rw_dataset *dataset;
    cr_assert_eq(read_text(text, strlen(text), RW_TEXT_CHUNK_BYTES, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return dataset;
}

/* Whatever the chunks, a document is found on its line. */
Test(letor, where)
{
    static const char text[] =
        "# a comment\n0 qid:1 1:1\n1 qid:1 1:2\n\n\n0 qid:2 1:3\n0 qid:2\n  # c\n1 qid:3";
    static const int line[] = {2, 3, 6, 7, 9};
    for (size_t chunk_bytes = 1; chunk_bytes < sizeof(text) + 8; chunk_bytes++) {
        struct rw_dataset *dataset;
        cr_assert_eq(read_text(text, strlen(text), chunk_bytes, &dataset), RW_OK);
        for (uint32_t doc = 0; doc < 5; doc++) {
            char where[64], expected[64];
            snprintf(expected, sizeof(expected), "a.txt:%d:1", line[doc]);
            rw_dataset_where(NULL, dataset, doc, where, sizeof(where));
            cr_assert_str_eq(where, expected, "chunks of %zu", chunk_bytes);
        }
        rw_dataset_free(dataset);
    }
}

Test(letor, lines)
{
    struct rw_dataset *dataset = read_good("# a comment line\n"
                                           "2 qid:a-1/x 0:1.5 3:NaN 65535:-2e1 #  docid = 7 \t\n"
                                           "\n"
                                           " \t \n"
                                           "0.5\tqid:a-1/x  3:-0 4:1e-60#tight\n"
                                           "-0 qid:7\n"
                                           "1 qid:#8 1:1 #\n"
                                           "  # the end");
    float values[4];
    cr_assert_eq(dataset->n_docs, 4);
    cr_assert_eq(dataset->n_queries, 3);
    cr_assert_eq(dataset->n_columns, 5);
    cr_assert_str_eq(rw_dataset_query_id(dataset, 0), "a-1/x");
    cr_assert_str_eq(rw_dataset_query_id(dataset, 2), "#8");
    cr_assert_str_eq(rw_dataset_comment(dataset, 0), "docid = 7");
    cr_assert_str_eq(rw_dataset_comment(dataset, 1), "tight");
    cr_assert_str_eq(rw_dataset_comment(dataset, 3), "");
    cr_assert_eq(dataset->label[1], 0.5f);
    cr_assert_eq(rw_bits_of_float(dataset->label[2]), 0);
    rw_dataset_feature(dataset, 3, 9, values);
    cr_assert_eq(rw_bits_of_float(values[0]), RW_MISSING_BITS);
    cr_assert_eq(rw_bits_of_float(values[1]), 0);
    cr_assert_eq(values[2], 9);
    rw_dataset_feature(dataset, 65535, 0, values);
    cr_assert_eq(values[0], -20);
    rw_dataset_free(dataset);
}

Test(letor, carriage_returns_and_a_missing_newline)
{
    struct rw_dataset *unix_lines = read_good("1 qid:1 1:2 # x\n0 qid:1 1:3\n\n0 qid:22\n");
    struct rw_dataset *dos_lines = read_good("1 qid:1 1:2 # x\r\n0 qid:1 1:3\r\n\r\n0 qid:22");
    assert_same_dataset(unix_lines, dos_lines);
    rw_dataset_free(unix_lines);
    rw_dataset_free(dos_lines);
}

Test(letor, beyond_float)
{
    struct rw_dataset *dataset = read_good("0 qid:1 1:1.79769313486e+308 2:-1e39 3:3.4e38\n");
    float value;
    cr_assert_eq(dataset->n_clamped, 2);
    rw_dataset_feature(dataset, 1, 0, &value);
    cr_assert_eq(value, FLT_MAX);
    rw_dataset_feature(dataset, 2, 0, &value);
    cr_assert_eq(value, -FLT_MAX);
    rw_dataset_free(dataset);
    scratch_text("one.txt", "0 qid:1 1:1e39\n");
    scratch_text("two.txt", "0 qid:1 1:1e39 2:1e40\n");
    const char *const paths[] = {"one.txt", "two.txt"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 2, &dataset), RW_OK);
    rw_dataset_free(dataset);
    cr_assert_str_eq(scratch_log,
                     "3 numbers beyond the range of float: read as the largest finite float\n");
}

/* A text of many queries, all kinds of lines, by a small generator. */
static char *make_text(uint32_t seed, uint32_t n_docs)
{
    char *text = malloc(n_docs * 200 + 1), *p = text;
    uint32_t query = 0;
    *p = 0;
    for (uint32_t i = 0; i < n_docs; i++) {
        seed = seed * 1664525u + 1013904223u;
        query += (seed >> 28) == 0;
        p += sprintf(p, "%u qid:q%u", seed >> 30, query);
        for (uint32_t f = (seed >> 8) % 7; f < 40; f += 1 + ((seed >> (f % 20)) & 15))
            p += sprintf(p, " %u:%g", f * f, (double)(int32_t)(seed * (f + 1)) / 1000);
        if (seed & 64)
            p += sprintf(p, " # docid = d%u", i);
        p += sprintf(p, seed & 128 ? "\r\n" : "\n");
        if ((seed & 0xf000) == 0)
            p += sprintf(p, "\n");
    }
    return text;
}

Test(letor, chunks_and_threads_do_not_show)
{
    char *text = make_text(5, 300);
    const size_t n = strlen(text);
    struct rw_dataset *expected = read_good(text);
    const size_t chunks[] = {1, 7, 64, 100, 1000, 5000, 1 << 20};
    for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
        for (int n_threads = 1; n_threads <= 7; n_threads += 3) {
            struct rw_dataset *dataset;
            rw_ctx_set_threads(scratch_ctx, n_threads);
            cr_assert_eq(read_text(text, n, chunks[i], &dataset), RW_OK, "%s",
                         rw_last_error(scratch_ctx));
            assert_same_dataset(expected, dataset);
            rw_dataset_free(dataset);
        }
    }
    rw_dataset_free(expected);
    free(text);
}

/* All lines have the same features until line `from`. From then on, every `step`-th line has
 * others, or lacks most of them: columns fill early, and later lines need different ones. */
Test(letor, columns_that_fill_early)
{
    enum { DOCS = 400, ENTRY = 24, FEATURES = 9 };
    char *text = malloc(DOCS * (ENTRY * FEATURES + 32));
    for (uint32_t from = 0; from <= DOCS; from += 40) {
        for (uint32_t step = 1; step <= 3; step++) {
            char *p = text;
            for (uint32_t i = 0; i < DOCS; i++) {
                const int differs = i >= from && i % step == 0;
                p += sprintf(p, "%u qid:%u", i % 3, i / 10);
                for (uint32_t f = differs ? step * 2 : 1; f < FEATURES; f++)
                    p += sprintf(p, " %u:%g", differs ? f * f : f, f == 4 ? NAN : i * 0.37 - f);
                p += sprintf(p, "\n");
            }
            struct rw_dataset *expected = read_good(text), *dataset;
            for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
                rw_ctx_set_threads(scratch_ctx, n_threads);
                for (size_t chunk_bytes = 300; chunk_bytes < 30000; chunk_bytes *= 5) {
                    cr_assert_eq(read_text(text, (size_t)(p - text), chunk_bytes, &dataset), RW_OK);
                    assert_same_dataset(expected, dataset);
                    cr_assert(dataset->early_block.p ||
                              (from < DOCS && (from == 0 || chunk_bytes > 300)));
                    rw_dataset_free(dataset);
                }
            }
            rw_dataset_free(expected);
        }
    }
    free(text);
}

Test(letor, first_error_of_the_file_is_reported)
{
    char *text = make_text(9, 300);
    const size_t n = strlen(text);
    /* Two bad lines: the earlier one counts, whatever chunk is parsed first. */
    char *bad = malloc(n + 64);
    for (int place = 1; place < 4; place++) {
        const char *early = strchr(text + n * (size_t)place / 5, '\n') + 1;
        size_t line = 1;
        for (const char *p = text; p < early; p++)
            line += *p == '\n';
        const char *late = strchr(text + n * 4 / 5, '\n') + 1;
        sprintf(bad, "%.*s1 qid:zz 1:x\n%.*sbad\n%s", (int)(early - text), text,
                (int)(late - early), early, late);
        char expected[128];
        snprintf(expected, sizeof(expected),
                 "a.txt:%zu:12: expected a number after '1:', found 'x'", line);
        const size_t chunks[] = {1, 100, 3000, 1 << 20};
        for (size_t i = 0; i < 4; i++) {
            for (int n_threads = 1; n_threads <= 7; n_threads += 3) {
                struct rw_dataset *dataset;
                rw_ctx_set_threads(scratch_ctx, n_threads);
                cr_assert_eq(read_text(bad, strlen(bad), chunks[i], &dataset), RW_ERR_PARSE);
                cr_assert_null(dataset);
                cr_assert_str_eq(rw_last_error(scratch_ctx), expected);
            }
        }
    }
    free(bad);
    free(text);
}

Test(letor, a_query_that_comes_back_before_another_error)
{
    const char *text = "0 qid:1 1:1\n0 qid:2 1:1\n\n0 qid:1 1:1\n0 qid:3 1:bad\n";
    for (size_t chunk = 1; chunk < 64; chunk++) {
        struct rw_dataset *dataset;
        cr_assert_eq(read_text(text, strlen(text), chunk, &dataset), RW_ERR_PARSE);
        cr_assert_str_eq(rw_last_error(scratch_ctx),
                         "a.txt:4:7: query '1' appears again after another query\nhint: it began "
                         "at a.txt:1; a query's lines must be consecutive");
    }
}

Test(letor, files_end_to_end)
{
    char *text = make_text(77, 200);
    const size_t n = strlen(text);
    struct rw_dataset *expected = read_good(text), *dataset;
    char *second = strchr(text + n / 3, '\n') + 1, *third = strchr(text + n * 2 / 3, '\n') + 1;
    scratch_write("1.txt", text, (size_t)(second - text));
    scratch_write("2.txt", second, (size_t)(third - second));
    scratch_gzip("3.gz", "wb", third);
    const char *const paths[] = {"1.txt", "2.txt", "3.gz"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 3, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_dataset(expected, dataset);
    rw_dataset_free(dataset);
    const char *const again[] = {"1.txt", "2.txt", "1.txt"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, again, 3, &dataset), RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "1.txt:1:7: query 'q0' appears again after another query\nhint: it began at "
                     "1.txt:1; a query's lines must be consecutive");
    rw_dataset_free(expected);
    free(text);
}

/* Pieces of a plain file and blocks of a packed one: the same data, the same error. */
Test(letor, chunks_of_any_size_agree)
{
    char *text = make_text(21, 250);
    const size_t n = strlen(text);
    const size_t chunks[] = {1, 2, 63, 300, 4096, 20000};
    for (int bad = 0; bad < 3; bad++) {
        char *place = bad ? strchr(text + n * (size_t)bad / 3, '\n') + 1 : text;
        const char kept[2] = {place[0], place[1]};
        if (bad)
            memcpy(place, bad == 1 ? "x" : "0\n", (size_t)bad);
        scratch_write("plain", text, n);
        scratch_gzip("packed", "wb", text);
        for (size_t i = 0; i < sizeof(chunks) / sizeof(*chunks); i++) {
            struct rw_dataset *whole, *blocks;
            char error[512];
            rw_ctx_set_threads(scratch_ctx, 1 + (int)i % 3);
            const int status = read_file("plain", chunks[i], &whole);
            cr_assert_eq(status, bad ? RW_ERR_PARSE : RW_OK);
            snprintf(error, sizeof(error), "%s", rw_last_error(scratch_ctx));
            cr_assert_eq(read_file("packed", chunks[i], &blocks), status);
            if (bad) {
                cr_assert_str_eq(strchr(error, ':'), strchr(rw_last_error(scratch_ctx), ':'));
                continue;
            }
            assert_same_dataset(whole, blocks);
            rw_dataset_free(whole);
            rw_dataset_free(blocks);
        }
        memcpy(place, kept, 2);
    }
    free(text);
}

/* Legal, if absurd: every feature, with numbers of 1,500 digits. */
Test(letor, a_line_of_100_megabytes)
{
    enum { N_FEATURES = 65536, DIGITS = 1500 };
    char *text = malloc((size_t)N_FEATURES * (DIGITS + 16) + 64), *p = text;
    struct rw_dataset *dataset;
    p += sprintf(p, "0 qid:1 1:1\n1 qid:1");
    for (int f = 0; f < N_FEATURES; f++) {
        p += sprintf(p, " %d:1.", f);
        memset(p, '3', DIGITS);
        p += DIGITS;
    }
    cr_assert_gt(p - text, 98000000);
    cr_assert_eq(read_text(text, (size_t)(p - text), RW_TEXT_CHUNK_BYTES, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_eq(dataset->n_columns, N_FEATURES);
    float values[2];
    rw_dataset_feature(dataset, 65535, 0, values);
    cr_assert_eq(values[0], 0);
    cr_assert_eq(values[1], 1.3333334f);
    rw_dataset_free(dataset);
    memset(text, 'x', (size_t)(p - text));
    cr_assert_eq(read_text(text, (size_t)(p - text), RW_TEXT_CHUNK_BYTES, &dataset), RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "a.txt:1:1: expected a label (a number), found "
                                                 "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'");
    free(text);
}

Test(letor, every_allocation_may_fail)
{
    const char *text = "1 qid:1 1:1 2:3 # x\n0 qid:2 3:1\n";
    rw_ctx_set_threads(scratch_ctx, 1);
    for (long n = 1; n < 200; n++) {
        struct rw_dataset *dataset;
        rw_mem_fail_from(n);
        const int status = read_text(text, strlen(text), 8, &dataset);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            rw_dataset_free(dataset);
            cr_assert_gt(n, 20);
            return;
        }
        cr_assert_eq(status, RW_ERR_MEMORY, "%ld: %s", n, rw_last_error(scratch_ctx));
        cr_assert_null(strstr(rw_last_error(scratch_ctx), ":0: "), "columns count from 1");
        cr_assert_null(dataset);
    }
    cr_assert_fail("it never succeeded");
}

/* Memory that one chunk failed to get does not affect later ones. */
Test(letor, one_allocation_may_fail)
{
    const char *text = "1 qid:1 1:1 2:3 # x\n0 qid:2 3:1\n";
    rw_ctx_set_threads(scratch_ctx, 1);
    for (long n = 1; n < 100; n++) {
        struct rw_dataset *dataset;
        rw_mem_fail_once(n);
        const int status = read_text(text, strlen(text), 8, &dataset);
        rw_mem_fail_once(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY, "%ld: %s", n,
                  rw_last_error(scratch_ctx));
        cr_assert_eq(status == RW_OK, dataset != NULL);
        rw_dataset_free(dataset);
    }
}

Test(letor, real_data)
{
    const char *folder = getenv("RANKWOOD_DATA");
    char paths[5][512];
    const char *path[5];
    struct rw_dataset *dataset;
    for (int i = 0; i < 5; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/mq2008/S%d.txt.gz", folder ? folder : "", i + 1);
        path[i] = paths[i];
    }
    if (!folder || access(path[0], R_OK) != 0)
        cr_skip_test("RANKWOOD_DATA does not lead to mq2008");
    cr_assert_eq(rw_dataset_read(scratch_ctx, path, 5, &dataset), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_eq(dataset->n_docs, 15211);
    cr_assert_eq(dataset->n_queries, 784);
    cr_assert_eq(dataset->n_columns, 46);
    char id[64];
    rw_dataset_doc_id(dataset, 15210, id, sizeof(id));
    cr_assert_str_eq(id, "GX257-71-11550035");
    rw_dataset_free(dataset);
}
