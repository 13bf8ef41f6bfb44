#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/rng.h"
#include "params/params.h"
#include "each.h"
#include "io/cache/cache.h"
#include "io/text.h"
#include "io/data_format.h"
#include "io/source.h"
#include "same_codes.h"
#include "scratch_file.h"

TestSuite(letor_codes, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

enum { LIMIT = 300 };

/* Calls of the function that decides whether text is binned while it is read. */
static int n_asked;

static int bins_text(struct rw_ctx *ctx, struct rw_read_goal *goal)
{
    (void)ctx;
    (void)goal;
    n_asked++;
    return 1;
}

static int read_codes(const char *const *paths, int n_paths, const struct rw_cut_rule *rule,
                      size_t chunk_bytes, struct rw_cache_values *values, struct rw_binned *out)
{
    struct rw_read_goal goal = {.rule = rule, .bins_text = bins_text, .values = values};
    return rw_text_codes(scratch_ctx, paths, n_paths, &goal, NULL, chunk_bytes, out);
}

/* Do they look like text of more documents than are sampled? */
static int look_large(const char *const *paths, int n_paths)
{
    const struct rw_cut_rule rule = {.bins = 16, .min_docs = 1};
    struct rw_binned codes = {.documents = NULL};
    n_asked = 0;
    cr_assert_eq(read_codes(paths, n_paths, &rule, RW_TEXT_CHUNK_BYTES, NULL, &codes), RW_OK);
    rw_binned_release(&codes);
    return n_asked > 0;
}

static uint32_t random_of(uint32_t seed, uint32_t item, uint32_t stream)
{
    return rw_random(seed, item, stream, RW_STREAM_CUT_SAMPLE);
}

/* How a feature of a document is written; nothing: it is not. */
static void write_feature(FILE *file, uint32_t seed, uint32_t doc, uint32_t feature)
{
    const uint32_t random = random_of(seed, doc, feature), small = random >> 8 & 15;
    if (feature == 1 || feature == 2) /* many values */
        fprintf(file, " %u:%.9g", feature, ((double)random - 2e9) / 1e7);
    else if (feature == 3 && small > 4) /* few, often 0 */
        fprintf(file, " 3:%u", small > 10 ? small : 0);
    else if (feature == 4 && small < 2) /* seldom there */
        fprintf(file, " 4:%.5g", (double)random / 1e9);
    else if (feature == 5) /* missing now and then; neighbours with no float between them */
        fprintf(file, small == 0 ? " 5:nan" : small < 9 ? " 5:1" : " 5:1.00000012");
    else if (feature == 6) /* constant */
        fprintf(file, " 6:-0");
    else if (feature == 7 && doc % 97 == 5) /* in few documents, and -1 or 0 there */
        fprintf(file, " 7:%d", small < 8 ? 0 : -1);
    else if (feature == 8) /* whole numbers about those that one and two bytes hold, by turns */
        fprintf(file, " 8:%d",
                (int)(doc / 16 % 4 == 0   ? small * 17
                      : doc / 16 % 4 == 1 ? 248 + small
                      : doc / 16 % 4 == 2 ? 65520 + 2 * small
                                          : 0u - small));
    else if (feature == 9 && small == 3) /* both signs, mostly absent */
        fprintf(file, " 9:%.4f", (double)(int32_t)random / 1e9);
    else if (feature == 10 && small < 12)
        fprintf(file, " 10:%.3e", (double)random * 1e30);
    else if (feature == 11 && doc % 2)
        fprintf(file, " 11:%u", random % 3000);
    else if (feature == 65535 && doc % 251 == 17) /* mostly not in the sample */
        fprintf(file, " 65535:%u", small);
}

/* Documents of one file; returns how many there are up to its end. */
static uint32_t write_docs(const char *path, uint32_t seed, uint32_t doc, uint32_t n,
                           int first_query)
{
    static const char *const behind[] = {"", " # docid = 7", " #", "#x", "  "};
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    int query = first_query;
    for (uint32_t end = doc + n; doc < end; doc++) {
        const uint32_t random = random_of(seed, doc, 70000);
        query += random % 23 == 0;
        if (random % 41 == 0)
            fprintf(file, random % 2 ? "\n" : " # a comment\r\n");
        fprintf(file, "%u qid:q%d", random >> 8 & 3, query);
        for (uint32_t feature = 1; feature < 12; feature++)
            write_feature(file, seed, doc, feature);
        if (random % 31 == 0)
            fprintf(file, " %u:%u", 100 + (random >> 8) % 500, random >> 20);
        write_feature(file, seed, doc, 65535);
        fprintf(file, "%s%s", behind[(random >> 12) % 5], doc + 1 < end ? "\n" : "");
    }
    cr_assert_eq(fclose(file), 0);
    return doc;
}

/* All but the values. */
static void assert_same_lines(const struct rw_dataset *a, const struct rw_dataset *b)
{
    char where_a[64], where_b[64];
    cr_assert_eq(a->n_docs, b->n_docs);
    cr_assert_eq(a->n_queries, b->n_queries);
    cr_assert_eq(a->n_clamped, b->n_clamped);
    cr_assert_eq(memcmp(a->label, b->label, a->n_docs * sizeof(float)), 0);
    cr_assert_eq(memcmp(a->query_offset, b->query_offset, (a->n_queries + 1) * sizeof(uint32_t)),
                 0);
    for (uint32_t q = 0; q < a->n_queries; q++)
        cr_assert_str_eq(rw_dataset_query_id(a, q), rw_dataset_query_id(b, q));
    for (uint32_t i = 0; i < a->n_docs; i++) {
        cr_assert_str_eq(rw_dataset_comment(a, i), rw_dataset_comment(b, i));
        rw_dataset_where(NULL, a, i, where_a, sizeof(where_a));
        rw_dataset_where(NULL, b, i, where_b, sizeof(where_b));
        cr_assert_str_eq(where_a, where_b);
    }
}

static void compare(const char *const *paths, int n_paths, const struct rw_cut_rule *rule,
                    size_t chunk_bytes)
{
    struct rw_dataset *whole;
    struct rw_binned codes = {.documents = NULL};
    struct rw_bins *bins;
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, n_paths, &whole), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_gt(whole->n_docs, rw_cut_sample_docs);
    cr_assert_eq(rw_bins_make_training(scratch_ctx, whole, rule, &bins), RW_OK);
    cr_assert_eq(read_codes(paths, n_paths, rule, chunk_bytes, NULL, &codes), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_not_null(codes.bins, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(codes.documents->n_columns, 0);
    assert_same_lines(whole, codes.documents);
    assert_same_binned(whole, bins, &codes);
    rw_bins_free(bins);
    rw_dataset_free(whole);
    rw_binned_release(&codes);
}

/* Every way to read the same text gives the boundaries and codes of the whole data set. */
Test(letor_codes, same)
{
    static const size_t chunk_bytes[] = {40, 700, 5000, RW_TEXT_CHUNK_BYTES};
    static const int bins[] = {2, 16, 255, 1000};
    static const uint32_t n_docs[] = {LIMIT + 20, 500, 4000};
    const char *const paths[] = {"a.txt", "b.txt", "c.txt"};
    rw_cut_sample_docs = LIMIT;
    for (uint32_t i = 0; i < 96; i += EACH(7)) {
        const uint32_t n = n_docs[i % 3], third = n / 3;
        const int n_paths = i % 2 ? 3 : 1;
        uint32_t doc = write_docs(paths[0], i, 0, n_paths == 1 ? n : third, 0);
        if (n_paths == 3) {
            doc = write_docs(paths[1], i, doc, third, 100000);
            write_docs(paths[2], i, doc, n - 2 * third, 200000);
        }
        const struct rw_cut_rule rule = {
            .bins = bins[i / 3 % 4], .absent_missing = i / 2 % 2, .min_docs = i % 5 == 0 ? 30 : 1};
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1 + (int)(i % 3) * 2), RW_OK);
        compare(paths, n_paths, &rule, chunk_bytes[i / 12 % 4]);
    }
}

/* Compresses a file into several members; a line may continue in the next one. */
static void pack(const char *from, const char *to, size_t n_members)
{
    size_t n;
    char *text = scratch_read(from, &n);
    unlink(to);
    for (size_t i = 0; i < n_members; i++) {
        const size_t begin = n * i / n_members, end = n * (i + 1) / n_members;
        char *part = strndup(text + begin, end - begin);
        scratch_gzip(to, "ab", part);
        free(part);
    }
    free(text);
}

/* gzip is decompressed in each pass; uncompressed files may be in between. */
Test(letor_codes, same_of_gzip)
{
    static const size_t chunk_bytes[] = {40, 700, RW_TEXT_CHUNK_BYTES};
    const char *const plain[] = {"a.txt", "b.txt", "c.txt"};
    const char *const packed[] = {"a.gz", "b.gz", "c.gz"}, *const mixed[] = {"a.gz", "b.txt",
                                                                             "c.gz"};
    rw_cut_sample_docs = LIMIT;
    for (uint32_t i = 0; i < 24; i += EACH(5)) {
        const struct rw_cut_rule rule = {
            .bins = i % 2 ? 255 : 16, .absent_missing = i / 2 % 2, .min_docs = 1};
        uint32_t doc = 0;
        for (int k = 0; k < 3; k++) {
            doc = write_docs(plain[k], i, doc, 700, 100000 * k);
            pack(plain[k], packed[k], 1 + (i + (uint32_t)k) % 4 * 3);
        }
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1 + (int)(i % 3) * 2), RW_OK);
        compare(packed, i % 4 ? 3 : 1, &rule, chunk_bytes[i / 3 % 3]);
        compare(mixed, 3, &rule, chunk_bytes[i / 3 % 3]);
    }
}

/* Input from a pipe, compressed or not, is stored and read like a file. */
Test(letor_codes, same_of_a_pipe)
{
    static const char *const sources[] = {"a.txt", "a.gz", "many.gz", "small.txt"};
    const char *const pipe = "pipe";
    struct rw_params *params;
    rw_cut_sample_docs = LIMIT;
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "device", "cpu"), RW_OK);
    write_docs("a.txt", 5, 0, 4000, 0);
    write_docs("small.txt", 5, 0, LIMIT, 0);
    pack("a.txt", "a.gz", 1);
    pack("a.txt", "many.gz", 7);
    cr_assert_eq(mkfifo(pipe, 0600), 0);
    for (int i = 0; i < 4; i++) {
        const char *const path = i == 3 ? "small.txt" : "a.txt";
        struct rw_binned *of_pipe, *of_file;
        char command[64];
        snprintf(command, sizeof(command), "cat %s > pipe &", sources[i]);
        cr_assert_eq(system(command), 0);
        cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &pipe, 1, &of_pipe), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &path, 1, &of_file), RW_OK);
        cr_assert_eq(of_pipe->documents->n_docs, of_file->documents->n_docs);
        cr_assert_eq(of_pipe->bins != NULL, i < 3, "%s", sources[i]);
        if (of_file->bins)
            assert_same_codes(of_file->bins, of_pipe->bins);
        rw_binned_free(of_pipe);
        rw_binned_free(of_file);
    }
    /* few documents of a pipe, then many of a file */
    const char *const both[] = {pipe, "a.txt"};
    struct rw_binned *binned;
    cr_assert_eq(system("echo 1 qid:before 1:2 > pipe &"), 0);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, both, 2, &binned), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_not_null(binned->bins);
    cr_assert_eq(binned->documents->n_docs, 4001);
    rw_binned_free(binned);
    /* invalid text far after the part kept in memory, and no space for the rest */
    cr_assert_eq(system("(cat a.txt; echo; echo 1 qid:z 1:x) > pipe &"), 0);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &pipe, 1, &binned), RW_ERR_PARSE);
    cr_assert_not_null(strstr(rw_last_error(scratch_ctx), "expected a number after '1:'"), "%s",
                       rw_last_error(scratch_ctx));
    cr_assert_eq(setenv("TMPDIR", "/nowhere", 1), 0);
    cr_assert_eq(system("cat a.gz > pipe &"), 0);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &pipe, 1, &binned), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_null(binned->bins); /* as values, from the one pass that there is */
    cr_assert_eq(binned->documents->n_docs, 4000);
    rw_binned_free(binned);
    cr_assert_eq(setenv("TMPDIR", "/tmp", 1), 0);
    rw_params_free(params);
}

/* The same by other instructions. */
Test(letor_codes, instructions)
{
    static const char *const isa[] = {"plain", "avx2", "avx512"};
    const char *const paths[] = {"a.txt"};
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    rw_cut_sample_docs = LIMIT;
    write_docs("a.txt", 7, 0, 3000, 0);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(setenv("RANKWOOD_ISA", isa[i], 1), 0);
        compare(paths, 1, &rule, 20000);
    }
}

/* These functions do not handle few documents, nor input that cannot be read twice. */
Test(letor_codes, left_alone)
{
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    struct rw_binned binned = {.documents = NULL};
    const char *const small[] = {"a.txt"}, *const mixed[] = {"big.txt", "b.csv"};
    const char *const pipe[] = {"pipe"}, *const none[] = {"none"}, *const standard[] = {"-"};
    rw_cut_sample_docs = LIMIT;
    write_docs("a.txt", 1, 0, LIMIT, 0);
    write_docs("big.txt", 1, 0, 3 * LIMIT, 0);
    scratch_text("b.csv", "label,qid,x\n1,z,1\n");
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    cr_assert(look_large(mixed, 1));
    cr_assert(!look_large(mixed, 2));
    cr_assert(!look_large(small, 1));
    cr_assert(!look_large(pipe, 1));
    cr_assert(!look_large(none, 1));
    cr_assert(!look_large(standard, 1));
    const char *const *const all[] = {small, mixed, pipe, none, standard};
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(read_codes(all[i], i == 1 ? 2 : 1, &rule, RW_TEXT_CHUNK_BYTES, NULL, &binned),
                     RW_OK);
        cr_assert_null(binned.documents);
    }
}

/* ---- the same errors ---- */

static void same_error(const struct rw_params *params, const char *const *paths, int n_paths)
{
    struct rw_dataset *dataset;
    struct rw_binned *binned;
    char expected[4096];
    const int status = rw_dataset_read(scratch_ctx, paths, n_paths, &dataset);
    cr_assert_lt(status, 0);
    snprintf(expected, sizeof(expected), "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, paths, n_paths, &binned), status);
    cr_assert_str_eq(rw_last_error(scratch_ctx), expected);
    cr_assert_null(binned);
}

Test(letor_codes, errors)
{
    static const char *const bad[] = {"1 qid:q5000 1:1 x",
                                      "1 qid:q5000 3:2 3:1",
                                      "-1 qid:q5000",
                                      "1 qid:q5000 1:one",
                                      "1 q:1",
                                      "1 qid:q0 1:1",
                                      "1 qid:q5000 65536:12",
                                      "1 qid:q5000 1:1#\001"};
    struct rw_params *params;
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "device", "cpu"), RW_OK);
    rw_cut_sample_docs = LIMIT;
    for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t n_bytes;
        write_docs("a.txt", i, 0, 900, 0);
        char *text = scratch_read("a.txt", &n_bytes);
        /* two lines are wrong: the first one counts, be it sampled or not */
        for (int place = 0; place < 6; place++) {
            const char *const paths[] = {"bad.txt"};
            char *const at = strchr(text + n_bytes / 9 * (size_t)(place + 1), '\n') + 1;
            FILE *file = fopen("bad.txt", "w");
            fwrite(text, 1, (size_t)(at - text), file);
            for (const char *c = bad[i]; *c; c++)
                fputc(*c == '\001' ? 0 : *c, file);
            fprintf(file, "\n%s", at);
            fprintf(file, "\nnonsense\n");
            cr_assert_eq(fclose(file), 0);
            same_error(params, paths, 1);
        }
        free(text);
    }
    rw_params_free(params);
}

/* One document more or less, or a changed label, shows that the text differs from the first
 * pass. */
Test(letor_codes, changed)
{
    static const char text[] = "1 qid:1 1:1\n0 qid:1 1:2\n2 qid:1 1:3\n";
    static const float label[] = {1, 0, 2, 0}, other[] = {1, 1, 2, 0};
    static const uint8_t in[] = {0, 1, 1, 1};
    struct rw_input *input;
    struct rw_text *letor;
    struct rw_text_worker worker = {0};
    worker.fast = rw_letor_fast(0);
    cr_assert_eq(rw_input_open_memory(scratch_ctx, "a", text, strlen(text), &input), RW_OK);
    cr_assert_eq(rw_text_open(scratch_ctx, &rw_letor_text, input, NULL, NULL, 1000, &letor), RW_OK);
    cr_assert_eq(letor->n_chunks, 1);
    letor->want = RW_TEXT_PICK;
    for (uint32_t n = 2; n < 5; n++) {
        for (int is_other = 0; is_other < 2; is_other++) {
            worker.pick.n_docs = n;
            worker.pick.in = in;
            worker.pick.which = 1;
            worker.pick.label = is_other ? other : label;
            const int status = rw_text_pick(letor, 0, &worker);
            cr_assert_eq(status, n == 3 && !is_other ? RW_OK : RW_ERR_DATA);
            if (status == RW_OK) {
                cr_assert_eq(worker.builder.n_docs, 2);
                cr_assert_eq(worker.pick.row[0], 1);
                cr_assert_eq(worker.pick.row[1], 2);
                cr_assert_eq(worker.builder.entry_value[1], 3);
            }
            rw_builder_empty(&worker.builder);
        }
    }
    rw_text_worker_release(&worker);
    rw_text_close(letor);
    rw_input_close(input);
}

Test(letor_codes, memory)
{
    const char *const paths[] = {"a.txt"};
    const struct rw_cut_rule rule = {.bins = 255, .min_docs = 1};
    struct rw_binned binned = {.documents = NULL};
    rw_cut_sample_docs = LIMIT;
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 2), RW_OK);
    write_docs("a.txt", 7, 0, 700, 0);
    long n = 1;
    for (; !binned.bins && n < 100000; n += (1 + n / 16) * EACH(3)) {
        rw_mem_fail_from(n);
        const int status = read_codes(paths, 1, &rule, 9000, NULL, &binned);
        rw_mem_fail_from(0);
        cr_assert(status == RW_ERR_MEMORY || (status == RW_OK && (binned.bins || n < 100)),
                  "allocation %ld: %d", n, status);
    }
    cr_assert_not_null(binned.bins);
    cr_assert_gt(n, 100);
    rw_binned_release(&binned);
}

/* ---- caches ---- */

enum even { EVEN, A_HOLE, MOSTLY, ONE_MORE, UNEVEN };

static void write_even(const char *path, uint32_t seed, uint32_t n, enum even even)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (uint32_t doc = 0; doc < n; doc++) {
        fprintf(file, "%s qid:%u", doc % 97 == 3 ? "1e40" : doc % 3 ? "1" : "0", doc / 17);
        for (uint32_t feature = 1; feature < 7; feature += feature == 2 ? 3 : 1)
            write_feature(file, seed, doc, feature);
        if (!(even == A_HOLE && doc % 50 == 1) && !(even == MOSTLY && doc % 3 == 0) &&
            !(even == UNEVEN && doc % 3))
            fprintf(file, " 20:%u", doc % 11);
        fprintf(file, even == ONE_MORE && doc == n / 2 ? " 30:1e39#x\n"
                      : doc % 7                        ? "\n"
                                                       : " # c\n");
    }
    cr_assert_eq(fclose(file), 0);
}

static void assert_same_file(const char *a, const char *b)
{
    size_t n, m;
    char *x = scratch_read(a, &n), *y = scratch_read(b, &m);
    cr_assert_eq(n, m);
    cr_assert_eq(memcmp(x, y, n), 0);
    free(x);
    free(y);
}

/* Values that went into the file chunk by chunk make the same cache, if they make one. */
Test(letor_codes, cache)
{
    const char *const paths[] = {"a.txt"};
    struct rw_params *params;
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    rw_cut_sample_docs = LIMIT;
    for (uint32_t i = 0; i < 25; i += EACH(4)) {
        const enum even even = (enum even)(i % 5);
        const struct rw_cut_rule rule = {.bins = params->bins, .min_docs = 1};
        struct rw_dataset *whole;
        struct rw_binned binned = {.documents = NULL};
        struct rw_cache_values *values;
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1 + (int)(i % 3)), RW_OK);
        write_even("a.txt", i, 350 + 200 * i, even);
        cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &whole), RW_OK);
        cr_assert_eq(rw_dataset_write_cache(scratch_ctx, whole, params, "whole.rwb"), RW_OK);
        rw_dataset_free(whole);
        cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, paths, 1, "files.rwb"), RW_OK);
        assert_same_file("whole.rwb", "files.rwb");
        cr_assert_eq(rw_cache_values_open(scratch_ctx, "chunks.rwb", &values), RW_OK);
        cr_assert_eq(read_codes(paths, 1, &rule, 3000, values, &binned), RW_OK);
        cr_assert_eq(binned.bins != NULL, even < ONE_MORE, "%u", i);
        if (binned.bins) {
            cr_assert_eq(rw_cache_values_finish(scratch_ctx, values, &binned), RW_OK);
            assert_same_file("whole.rwb", "chunks.rwb");
        }
        rw_binned_release(&binned);
        rw_cache_values_close(values);
    }
    rw_params_free(params);
}

/* Nothing is left of a cache that came to nothing, and the message is the one of ever. */
Test(letor_codes, no_cache)
{
    const char *const paths[] = {"a.txt"}, *const bad[] = {"bad.txt"};
    static const char *const to[] = {"no/where.rwb", "/dev/full", "."};
    struct rw_params *params;
    char expected[4096];
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    rw_cut_sample_docs = LIMIT;
    write_even("a.txt", 1, 900, EVEN);
    write_even("bad.txt", 1, 900, EVEN);
    FILE *file = fopen("bad.txt", "a");
    cr_assert_geq(fputs("1 qid:x 1:one\n", file), 0);
    cr_assert_eq(fclose(file), 0);
    for (int i = 0; i < 3; i++) {
        struct rw_dataset *whole;
        cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &whole), RW_OK);
        cr_assert_eq(rw_dataset_write_cache(scratch_ctx, whole, params, to[i]),
                     i == 1 ? RW_ERR_MACHINE : RW_ERR_IO);
        rw_dataset_free(whole);
        snprintf(expected, sizeof(expected), "%s", rw_last_error(scratch_ctx));
        cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, paths, 1, to[i]),
                     i == 1 ? RW_ERR_MACHINE : RW_ERR_IO);
        cr_assert_str_eq(rw_last_error(scratch_ctx), expected);
    }
    cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, bad, 1, "c.rwb"), RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "bad.txt:901:11: expected a number after '1:', found 'one'");
    cr_assert_eq(system("test -z \"$(ls | grep -e rwb -e tmp)\""), 0);
    rw_params_free(params);
}

/* ---- training ---- */

/* dataset: or NULL, and `binned`. */
static char *train(struct rw_params *params, const struct rw_dataset *dataset,
                   const struct rw_binned *binned)
{
    struct rw_model *model;
    size_t n_bytes;
    cr_assert_eq(
        binned ? rw_train_on(scratch_ctx, params, &(struct rw_training){.binned = binned}, &model)
               : rw_train(scratch_ctx, params, dataset, NULL, 0, NULL, &model),
        RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(rw_model_write(scratch_ctx, model, "model"), RW_OK);
    rw_model_free(model);
    return scratch_read("model", &n_bytes);
}

Test(letor_codes, training)
{
    static const struct {
        const char *device, *ignore, *absent, *bins;
    } way[] = {{"cpu", "", "zero", "255"},
               {"cpu", "2-3,10", "missing", "64"},
               {"ref", "1", "zero", "1000"},
               {"sim", "", "missing", "255"}};
    const char *const paths[] = {"a.txt"};
    rw_cut_sample_docs = LIMIT;
    write_docs("a.txt", 3, 0, 2500, 0);
    for (int i = 0; i < 4; i++) {
        struct rw_params *params;
        struct rw_dataset *whole;
        struct rw_binned *codes, *cached, *small;
        struct rw_model *model;
        struct rw_plan plan, of_values;
        const char *const cache[] = {"a.rwb"};
        cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "device", way[i].device), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "ignore", way[i].ignore), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "absent", way[i].absent), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "bins", way[i].bins), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "5"), RW_OK);
        cr_assert_eq(rw_params_set(scratch_ctx, params, "train-metric", "on"), RW_OK);
        cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &whole), RW_OK);
        cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, paths, 1, &codes), RW_OK);
        cr_assert_not_null(codes->bins);
        cr_assert_eq(rw_dataset_write_cache(scratch_ctx, whole, params, "a.rwb"), RW_OK);
        cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, cache, 1, &cached), RW_OK);
        cr_assert_not_null(cached->bins);
        char *expected = train(params, whole, NULL);
        char *first = train(params, NULL, codes), *again = train(params, NULL, codes);
        cr_assert_str_eq(expected, first);
        cr_assert_str_eq(expected, again);
        free(again);
        again = train(params, NULL, cached);
        cr_assert_str_eq(expected, again);
        free(again);
        /* a set that is not large keeps its values, and is binned by training */
        rw_cut_sample_docs = 2500;
        cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, paths, 1, &small), RW_OK);
        rw_cut_sample_docs = LIMIT;
        cr_assert_null(small->bins);
        cr_assert_eq(rw_binned_n_features(small), rw_binned_n_features(codes));
        again = train(params, NULL, small);
        cr_assert_str_eq(expected, again);
        free(expected);
        free(first);
        free(again);
        if (i < 2) { /* engines with a plan */
            cr_assert_eq(rw_train_plan(scratch_ctx, params, &(struct rw_training){.train = whole},
                                       &of_values),
                         RW_OK);
            cr_assert_eq(
                rw_train_plan(scratch_ctx, params, &(struct rw_training){.binned = cached}, &plan),
                RW_OK);
            cr_assert_eq(plan.bytes, of_values.bytes);
        }
        /* other parameters are refused, but of a set that has its values */
        cr_assert_eq(rw_params_set(scratch_ctx, params, "bins", "17"), RW_OK);
        cr_assert_eq(
            rw_train_on(scratch_ctx, params, &(struct rw_training){.binned = codes}, &model),
            RW_ERR_ARGUMENT);
        cr_assert_str_eq(rw_last_error(scratch_ctx),
                         "the training set was binned for other values of bins, absent or "
                         "min-docs\n"
                         "hint: rw_binned_read takes the parameters of the training");
        cr_assert_eq(
            rw_train_on(scratch_ctx, params, &(struct rw_training){.binned = small}, &model),
            RW_OK);
        rw_model_free(model);
        rw_binned_free(small);
        rw_params_free(params);
        rw_dataset_free(whole);
        rw_binned_free(codes);
        rw_binned_free(cached);
    }
}
