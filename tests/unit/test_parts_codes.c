/* Training sets that workers read as codes are those of one worker with all files. */
#include "base/rng.h"
#include "binning/bins.h"
#include "io/cache/cache.h"
#include "io/data_format.h"
#include "each.h"
#include "parts_fixture.h"

TestSuite(parts_codes, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

enum { N_DOCS = 1200, MOST_RANKS = 8 };

static uint32_t random_of(uint32_t doc, uint32_t feature)
{
    return rw_random(3, doc, feature, RW_STREAM_CUT_SAMPLE);
}

/* Many values, few, seldom there, missing, constant; one that only the last documents have. */
static void write_doc(FILE *file, uint32_t doc, uint32_t n_docs, uint32_t query)
{
    const uint32_t random = random_of(doc, 1);
    fprintf(file, "%u qid:q%u 1:%.6g", random % 4, query, ((double)random - 2e9) / 1e7);
    if (random % 3)
        fprintf(file, " 2:%u", random_of(doc, 2) % 7);
    if (random % 50 == 7)
        fprintf(file, " 3:%u", random_of(doc, 3) % 100);
    fprintf(file, random % 5 ? " 4:%.3g" : " 4:nan", (double)random_of(doc, 4) / 1e9);
    fprintf(file, " 5:8");
    if (random % 9 == 1)
        fprintf(file, " 6:%d", -(int)(random_of(doc, 6) % 9));
    if (doc + 40 > n_docs)
        fprintf(file, " %d:%u", RW_MAX_FEATURE, random_of(doc, 7) % 5);
    fprintf(file, doc % 3 ? "\n" : " # doc %u\r\n", doc);
}

/* Files a.txt, b.txt, ...: the same documents in one file or several, ends between queries. */
static void write_files(const char *const *paths, int n_paths)
{
    uint32_t doc = 0, query = 0;
    for (int i = 0; i < n_paths; i++) {
        FILE *file = fopen(paths[i], "w");
        const uint32_t end = N_DOCS * (uint32_t)(i + 1) / (uint32_t)n_paths;
        while (doc < end) {
            const uint32_t n = query % 10 ? 1 + random_of(query, 99) % 19 : 1;
            for (uint32_t k = 0; k < n && doc < end; k++)
                write_doc(file, doc++, N_DOCS, query);
            query++;
        }
        fclose(file);
    }
}

static void pack(const char *from, const char *to)
{
    size_t n;
    char *text = scratch_read(from, &n);
    scratch_gzip(to, "wb", text);
    free(text);
}

struct job {
    const char *const *paths;
    int n_paths;
    struct rw_cut_rule rule;
    struct rw_binned part[MOST_RANKS]; /* owned */
};

static int read_one(void *user, struct rw_ctx *ctx, int rank)
{
    struct job *job = user;
    struct rw_read_goal goal = {.rule = &job->rule};
    job->part[rank] = (struct rw_binned){.documents = NULL};
    return rw_files_read(ctx, job->paths, job->n_paths, &goal, &job->part[rank]);
}

static void assert_same_part(const struct rw_dataset *values, const struct rw_bins *whole,
                             uint32_t first, const struct rw_binned *part)
{
    const struct rw_cuts *a = whole->cuts, *b = part->bins->cuts;
    cr_assert_eq(part->documents->n_columns, 0);
    cr_assert_eq(part->n_features, values->n_columns);
    for (uint32_t i = 0; i < part->n_features; i++)
        cr_assert_eq(part->feature[i], values->column[i].feature);
    cr_assert_eq(a->n_features, b->n_features);
    cr_assert_eq(a->n_constant, b->n_constant);
    cr_assert_eq(a->n_few, b->n_few);
    for (uint32_t f = 0; f < a->n_features; f++) {
        cr_assert_eq(a->feature[f], b->feature[f]);
        cr_assert_eq(a->has_missing[f], b->has_missing[f]);
        cr_assert_eq(a->offset[f + 1], b->offset[f + 1]);
        for (uint32_t doc = 0; doc < part->documents->n_docs; doc++)
            cr_assert_eq(rw_bins_code(whole, f, first + doc), rw_bins_code(part->bins, f, doc));
    }
    cr_assert_eq(memcmp(a->cut, b->cut, a->offset[a->n_features] * sizeof(float)), 0);
    cr_assert_eq(part->bins->n_docs, part->documents->n_docs);
    assert_same_lines(values, first, part->documents, "codes");
}

/* The files by 2 ranks, 2 + step, ... */
static void check_by(int step, const char *const *paths, int n_paths,
                     const struct rw_cut_rule *rule)
{
    struct job job = {.paths = paths, .n_paths = n_paths, .rule = *rule};
    struct rw_dataset *values;
    struct rw_bins *whole;
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, n_paths, &values), RW_OK);
    cr_assert_eq(rw_bins_make_training(scratch_ctx, values, rule, &whole), RW_OK);
    for (int n_workers = 2; n_workers <= MOST_RANKS; n_workers += step) {
        uint32_t doc = 0;
        cr_assert_eq(rw_workers_run(scratch_ctx, n_workers, read_one, &job), RW_OK, "%s: %s",
                     paths[0], rw_last_error(scratch_ctx));
        for (int r = 0; r < n_workers; r++) {
            cr_assert_not_null(job.part[r].bins);
            assert_same_part(values, whole, doc, &job.part[r]);
            doc += job.part[r].documents->n_docs;
            rw_binned_release(&job.part[r]);
        }
        cr_assert_eq(doc, values->n_docs);
    }
    rw_bins_free(whole);
    rw_dataset_free(values);
}

static void check(const char *const *paths, int n_paths, const struct rw_cut_rule *rule)
{
    check_by(3, paths, n_paths, rule);
}

static const char *const texts[] = {"a.txt", "b.txt", "c.txt"};
static const struct rw_cut_rule rules[] = {{.bins = 255, .min_docs = 1},
                                           {.bins = 16, .min_docs = 30},
                                           {.bins = 1000, .absent_missing = 1, .min_docs = 1},
                                           {.bins = 2, .absent_missing = 1, .min_docs = 5}};
enum { N_RULES = sizeof(rules) / sizeof(rules[0]) };

/* All documents decide boundaries, or, with every other rule, some of them. */
static void check_samples(const char *const *paths, int n_paths)
{
    for (int i = 0; i < N_RULES; i += EACH(3)) {
        rw_cut_sample_docs = i % 2 ? RW_CUT_SAMPLE_DOCS : 300;
        check(paths, n_paths, &rules[i]);
    }
    rw_cut_sample_docs = RW_CUT_SAMPLE_DOCS;
}

Test(parts_codes, text)
{
    const char *const one[] = {"all.txt"};
    write_files(texts, 3);
    check_samples(texts, 3);
    write_files(one, 1);
    check_samples(one, 1);
}

Test(parts_codes, gzip)
{
    const char *const packed[] = {"a.gz", "b.gz", "c.gz"};
    write_files(texts, 3);
    for (int i = 0; i < 3; i++)
        pack(texts[i], packed[i]);
    check_samples(packed, 3);
}

/* A cache of all, with codes by `rule`, or none. */
static void write_cache(const char *path, const struct rw_cut_rule *rule)
{
    struct rw_dataset *values;
    struct rw_bins *bins = NULL;
    cr_assert_eq(rw_dataset_read(scratch_ctx, texts, 3, &values), RW_OK);
    if (rule)
        cr_assert_eq(rw_bins_make_training(scratch_ctx, values, rule, &bins), RW_OK);
    cr_assert_eq(rw_cache_write(scratch_ctx, values, bins, path), RW_OK);
    rw_bins_free(bins);
    rw_dataset_free(values);
}

Test(parts_codes, cache)
{
    const char *const path = "all.rwb";
    write_files(texts, 3);
    write_cache(path, NULL);
    check_samples(&path, 1);
    write_cache(path, &rules[1]); /* of other rules */
    check(&path, 1, &rules[0]);
    for (int i = 0; i < N_RULES; i++) { /* its codes are kept */
        write_cache(path, &rules[i]);
        check(&path, 1, &rules[i]);
    }
}

/* Caches and text, divided together. */
Test(parts_codes, mixed)
{
    const char *const paths[] = {"ab.rwb", "c.txt"}, *const caches[] = {"ab.rwb", "c.rwb"};
    struct rw_dataset *values;
    write_files(texts, 3);
    cr_assert_eq(rw_dataset_read(scratch_ctx, texts, 2, &values), RW_OK);
    cr_assert_eq(rw_cache_write(scratch_ctx, values, NULL, "ab.rwb"), RW_OK);
    rw_dataset_free(values);
    cr_assert_eq(rw_dataset_read(scratch_ctx, texts + 2, 1, &values), RW_OK);
    cr_assert_eq(rw_cache_write(scratch_ctx, values, NULL, "c.rwb"), RW_OK);
    rw_dataset_free(values);
    check(paths, 2, &rules[0]);
    check(caches, 2, &rules[2]);
}

/* More ranks than queries, or nothing but one query. */
Test(parts_codes, few_queries)
{
    const char *const path = "few.txt";
    FILE *file = fopen(path, "w");
    for (uint32_t doc = 0; doc < 40; doc++)
        write_doc(file, doc, 40, doc / 30);
    fclose(file);
    check_by(1, &path, 1, &rules[0]);
}

/* ---- caches ---- */

/* Any number of workers reads the whole cache; values are unchanged. */
Test(parts_codes, cache_values)
{
    const char *const path = "all.rwb";
    struct parts parts = {.paths = &path, .n_paths = 1};
    write_files(texts, 3);
    write_cache(path, &rules[0]);
    for (parts.n_workers = 1; parts.n_workers <= 9; parts.n_workers += SLOW_HERE ? 3 : 1)
        check_parts(&parts, "cache");
    parts.n_workers = SLOW_HERE ? 90 : 400;
    check_parts(&parts, "cache");
}

/* A cache also has weights and names. */
Test(parts_codes, cache_of_a_table)
{
    const char *const table = "t.csv", *const path = "t.rwb";
    const struct rw_columns columns = {.weight = "weight"};
    struct parts parts = {.paths = &path, .n_paths = 1};
    struct rw_dataset *values;
    FILE *file = fopen(table, "w");
    fprintf(file, "label,qid,weight,x,y\n");
    for (int i = 0; i < 50; i++)
        fprintf(file, "%d,%d,%d.5,%d,%d\n", i % 3, i / 4, i, i * i, -i);
    fclose(file);
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, &table, 1, &values), RW_OK);
    cr_assert_eq(rw_cache_write(scratch_ctx, values, NULL, path), RW_OK);
    rw_dataset_free(values);
    for (parts.n_workers = 1; parts.n_workers <= 16; parts.n_workers++)
        check_parts(&parts, "cache of a table");
}

/* A changed byte at any place, and a truncated file. */
Test(parts_codes, damaged_cache)
{
    size_t n;
    const char *const path = "all.rwb";
    struct job job = {.paths = &path, .n_paths = 1, .rule = rules[0]};
    write_files(texts, 3);
    write_cache(path, &rules[0]);
    char *data = scratch_read(path, &n);
    for (size_t at = sizeof(struct rw_cache_header); at < n; at += n / 60) {
        data[at] ^= 4;
        scratch_write(path, data, n);
        data[at] ^= 4;
        cr_assert_eq(rw_workers_run(scratch_ctx, 3, read_one, &job), RW_ERR_FORMAT);
        cr_assert_str_eq(rw_last_error(scratch_ctx),
                         "worker 0: 'all.rwb' is damaged: its checksum does not match");
    }
    scratch_write(path, data, n - 1);
    cr_assert_eq(rw_workers_run(scratch_ctx, 2, read_one, &job), RW_ERR_FORMAT);
    cr_assert_not_null(strstr(rw_last_error(scratch_ctx), "worker 0: 'all.rwb' is truncated"));
    free(data);
}

/* A hostile cache has a checksum that is right: no rank is led astray. */
Test(parts_codes, hostile_cache)
{
    size_t n;
    const char *const path = "all.rwb";
    struct job job = {.paths = &path, .n_paths = 1, .rule = rules[0]};
    write_files(texts, 3);
    write_cache(path, &rules[0]);
    char *data = scratch_read(path, &n);
    for (size_t at = 24; at < n - 4; at += at < 1000 ? 23 : n / (SLOW_HERE ? 10 : 40)) {
        data[at] ^= (char)(1 << at % 8);
        const uint32_t crc = (uint32_t)crc32(0, (const Bytef *)data, (uInt)(n - 4));
        memcpy(data + n - 4, &crc, 4);
        scratch_write(path, data, n);
        data[at] ^= (char)(1 << at % 8);
        job.rule.bins = at % 2 ? 255 : 17;
        if (rw_workers_run(scratch_ctx, 3, read_one, &job) < 0)
            cr_assert_eq(strncmp(rw_last_error(scratch_ctx), "worker ", 7), 0, "%s",
                         rw_last_error(scratch_ctx));
        for (int r = 0; r < 3; r++)
            rw_binned_release(&job.part[r]);
    }
    free(data);
}

/* ---- errors, while codes are made ---- */

/* Is the line the first of its query? Others between would make the query come back. */
static int begins_query(const char *text, const char *line)
{
    const char *before = line - 1;
    while (before > text && before[-1] != '\n')
        before--;
    const char *id = strchr(line, ' ') + 1;
    return line == text || strncmp(strchr(before, ' ') + 1, id, strcspn(id, " ") + 1) != 0;
}

Test(parts_codes, bad_text)
{
    const char *const path = "all.txt";
    static const char *const wrong[] = {"1 qid:q 1:x\n", "x qid:q 1:1\n", "1 qid:q 2:1 1:1\n"};
    write_files(&path, 1);
    size_t n;
    int n_wrong = 0, n_queries = 0;
    char *text = scratch_read(path, &n);
    for (const char *line = text; line && *line; line = strchr(line, '\n') + 1) {
        if (!begins_query(text, line) || n_queries++ % (3 * EACH(2)))
            continue;
        const size_t at = (size_t)(line - text);
        struct job job = {.paths = &path, .n_paths = 1, .rule = rules[n_wrong % N_RULES]};
        struct rw_dataset *values = NULL;
        char expected[512];
        FILE *file = fopen(path, "w");
        fwrite(text, 1, at, file);
        fputs(wrong[n_wrong % 3], file);
        fwrite(text + at, 1, n - at, file);
        fclose(file);
        cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &values), RW_ERR_PARSE);
        snprintf(expected, sizeof(expected), "%s", rw_last_error(scratch_ctx));
        rw_cut_sample_docs = n_wrong % 2 ? 300 : RW_CUT_SAMPLE_DOCS;
        cr_assert_eq(rw_workers_run(scratch_ctx, 2 + n_wrong % 7, read_one, &job), RW_ERR_PARSE);
        const char *error = rw_last_error(scratch_ctx);
        cr_assert_eq(strncmp(error, "worker ", 7), 0, "%s", error);
        cr_assert_str_eq(strstr(error, ": ") + 2, expected);
        n_wrong++;
    }
    cr_assert_gt(n_wrong, 12); /* each with each */
    free(text);
}
