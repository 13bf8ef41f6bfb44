/* Scores while documents are read: those of the whole set, whatever the format, threads and files.
 */
#include "each.h"
#include "io/cache/cache.h"
#include "model_fixture.h"
#include "scratch_file.h"

TestSuite(reader_scores, .init = scratch_begin, .fini = scratch_end, .timeout = 120);

enum { N_DOCS = 80000, N_FEATURES = 12, N_TREES = 60 };

/* Documents with all features, in runs, and documents with a few, with values that are
 * thresholds of the model or missing, and features that it does not know. */
static void print_line(FILE *file, uint32_t doc, const char *separator, int is_letor)
{
    const int few = doc % 5000 > 3000 || doc % 777 == 0;
    if (is_letor && doc % 10007 == 0)
        fprintf(file, "# a line without a document\n");
    fprintf(file, is_letor ? "%u qid:q%u" : "%u,q%u", doc % 5, doc / 90);
    for (uint32_t f = 1; f <= 2 * N_FEATURES + 2; f++) {
        const double value = fixture_below(5, (uint64_t)doc * 64 + f, 17) / 4.0 - 2;
        const int has = !few || fixture_below(6, (uint64_t)doc * 64 + f, 4) == 0;
        if (is_letor && has && value == 2)
            fprintf(file, "%s%u:nan", separator, f);
        else if (is_letor && has)
            fprintf(file, "%s%u:%g", separator, f, value);
        else if (!is_letor)
            fprintf(file, has ? "%s%g" : "%s", separator, value);
    }
    if (is_letor && doc % 1000 == 999) /* last of all, and nowhere else */
        fprintf(file, " %u:1", 1000 + doc / 1000);
    fprintf(file, is_letor ? " # d%u\n" : "\n", doc);
}

static void make_file(const char *name, uint32_t begin, uint32_t end)
{
    FILE *file = fopen(name, "w");
    for (uint32_t doc = begin; doc < end; doc++)
        print_line(file, doc, " ", 1);
    fclose(file);
}

static void make_csv(const char *name)
{
    FILE *file = fopen(name, "w");
    fprintf(file, "label,qid");
    for (int f = 1; f <= 2 * N_FEATURES + 2; f++)
        fprintf(file, ",%d", f);
    fprintf(file, "\n");
    for (uint32_t doc = 0; doc < N_DOCS; doc++)
        print_line(file, doc, ",", 0);
    fclose(file);
}

struct expected {
    const struct rw_dataset *whole;
    const double *scores;
    uint32_t n;
    int n_without; /* chunks that came without features: their lines were scored while read */
};

static int take_chunk(void *user, const struct rw_dataset *chunk, const double *scores)
{
    struct expected *e = user;
    cr_assert_leq(e->n + chunk->n_docs, e->whole->n_docs);
    for (uint32_t d = 0; d < chunk->n_docs; d++) {
        cr_assert_eq(scores[d], e->scores[e->n + d], "document %u", e->n + d);
        cr_assert_eq(chunk->label[d], e->whole->label[e->n + d]);
        cr_assert_str_eq(rw_dataset_comment(chunk, d), rw_dataset_comment(e->whole, e->n + d));
    }
    e->n += chunk->n_docs;
    e->n_without += chunk->n_columns == 0;
    return RW_OK;
}

/* Returns how many chunks came without features. */
static int assert_scores(const struct rw_model *model, const char *const *paths, int n_paths,
                         int n_threads)
{
    static unsigned char seen[RW_FEATURE_IDS];
    static double scores[N_DOCS];
    struct expected expected = {.scores = scores};
    struct rw_dataset *whole;
    struct rw_scorer *scorer;
    memset(seen, 0, sizeof(seen));
    rw_ctx_set_threads(scratch_ctx, n_threads);
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, n_paths, &whole), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_leq(whole->n_docs, N_DOCS);
    expected.whole = whole;
    cr_assert_eq(rw_predict(scratch_ctx, model, whole, 0, scores), RW_OK);
    cr_assert_eq(rw_scorer_open(scratch_ctx, model, 0, "cpu", &scorer), RW_OK);
    cr_assert_eq(
        rw_dataset_read_each(scratch_ctx, paths, n_paths, scorer, seen, take_chunk, &expected),
        RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(expected.n, whole->n_docs);
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        cr_assert_eq(seen[f], rw_dataset_has_feature(whole, f), "feature %u", f);
    rw_scorer_free(scorer);
    rw_dataset_free(whole);
    return expected.n_without;
}

static struct rw_model *make_model(int absent_missing)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, N_TREES, 31, N_FEATURES, 3);
    model->absent_missing = absent_missing;
    return model;
}

Test(reader_scores, text)
{
    make_file("a", 0, N_DOCS);
    for (int absent_missing = 0; absent_missing < 2; absent_missing++) {
        struct rw_model *model = make_model(absent_missing);
        for (int n_threads = EACH(4); n_threads < 8; n_threads += SLOW_HERE ? 4 : 3)
            cr_assert_gt(assert_scores(model, (const char *const[]){"a"}, 1, n_threads), 0);
        rw_model_free(model);
    }
}

Test(reader_scores, other_formats_and_several_files)
{
    static const char *const files[] = {"a", "one", "c.rwb", "b.gz"};
    struct rw_model *model = make_model(1);
    struct rw_dataset *some;
    make_file("a", 0, N_DOCS / 2);
    make_file("one", N_DOCS / 2, N_DOCS / 2 + 1);
    make_file("c", N_DOCS / 2 + 1, N_DOCS / 2 + 2);
    make_file("b", N_DOCS / 2 + 2, N_DOCS);
    cr_assert_eq(system("gzip b"), 0);
    cr_assert_eq(rw_dataset_read(scratch_ctx, (const char *const[]){"c"}, 1, &some), RW_OK);
    cr_assert_eq(rw_cache_write(scratch_ctx, some, NULL, "c.rwb"), RW_OK);
    rw_dataset_free(some);
    make_csv("d.csv");
    for (int n_threads = EACH(3); n_threads < 4; n_threads += 2) {
        for (int i = 0; i < 4; i++) {
            const int n = assert_scores(model, files + i, 1, n_threads);
            cr_assert_eq(n > 0, i == 0 || i == 3, "file %s", files[i]);
        }
        cr_assert_gt(assert_scores(model, (const char *const[]){"d.csv"}, 1, n_threads), -1);
    }
    rw_model_free(model);
}

static int ignore_chunk(void *user, const struct rw_dataset *chunk, const double *scores)
{
    (void)user;
    (void)chunk;
    (void)scores;
    return RW_OK;
}

Test(reader_scores, the_first_error_is_reported)
{
    static unsigned char seen[RW_FEATURE_IDS];
    struct rw_model *model = make_model(0);
    struct rw_scorer *scorer;
    make_file("a", 0, N_DOCS);
    FILE *file = fopen("a", "a");
    fprintf(file, "1 qid:last 1:two\n");
    fclose(file);
    rw_ctx_set_threads(scratch_ctx, 2);
    cr_assert_eq(rw_scorer_open(scratch_ctx, model, 0, "cpu", &scorer), RW_OK);
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, (const char *const[]){"a"}, 1, scorer, seen,
                                      ignore_chunk, NULL),
                 RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "a:80009:14: expected a number after '1:', found 'two'");
    rw_scorer_free(scorer);
    rw_model_free(model);
}
