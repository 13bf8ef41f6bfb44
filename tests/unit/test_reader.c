#include "base/mem.h"
#include "io/cache/cache.h"
#include "same_dataset.h"
#include "scratch_file.h"

TestSuite(reader, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

enum { N_DOCS = 200000 };

static void make_file(const char *path, int first, int end)
{
    FILE *file = fopen(path, "w");
    for (int i = first; i < end; i++)
        fprintf(file, "%d qid:%d 1:%d 3:%g%s # d%d\n", i % 5, i / 50000, i % 97, i / 16.0,
                i % 10 ? "" : " 900:1e39", i);
    fclose(file);
}

struct chunks {
    struct rw_builder builder[1000];
    int n;
    uint64_t n_clamped;
};

static int take_chunk(void *user, const struct rw_dataset *chunk, const double *scores)
{
    struct chunks *chunks = user;
    cr_assert_null(scores);
    cr_assert_gt(chunk->n_docs, 0);
    cr_assert_lt(chunks->n, 1000);
    cr_assert_eq(
        rw_builder_copy(scratch_ctx, &chunks->builder[chunks->n++], chunk, 0, chunk->n_docs),
        RW_OK);
    chunks->n_clamped += chunk->n_clamped;
    return RW_OK;
}

/* All chunks joined again are the whole set. */
static void assert_chunks(const char *const *paths, int n_paths, const struct rw_dataset *whole,
                          int least_chunks)
{
    struct chunks *chunks = calloc(1, sizeof(*chunks));
    struct rw_dataset *joined;
    scratch_log[0] = 0;
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, paths, n_paths, NULL, NULL, take_chunk, chunks),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_geq(chunks->n, least_chunks);
    chunks->builder[0].n_clamped = chunks->n_clamped;
    cr_assert_eq(rw_builder_finish(scratch_ctx, chunks->builder, chunks->n, &joined), RW_OK);
    assert_same_dataset(whole, joined);
    rw_dataset_free(joined);
    free(chunks);
    cr_assert_str_eq(scratch_log,
                     "20000 numbers beyond the range of float: read as the largest finite float\n");
}

Test(reader, chunks_make_the_whole)
{
    struct rw_dataset *whole;
    make_file("a", 0, N_DOCS / 3);
    make_file("b", N_DOCS / 3, N_DOCS);
    rw_ctx_set_threads(scratch_ctx, 2);
    const char *const text[] = {"a", "b"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, text, 2, &whole), RW_OK);
    cr_assert_eq(whole->n_docs, N_DOCS);
    cr_assert_eq(whole->n_queries, 4);
    assert_chunks(text, 2, whole, 3);
    cr_assert_eq(rw_cache_write(scratch_ctx, whole, NULL, "c.rwb"), RW_OK);
    const char *const cache[] = {"c.rwb"};
    assert_chunks(cache, 1, whole, 1);
    rw_dataset_free(whole);
}

Test(reader, text_and_cache_together)
{
    struct rw_dataset *whole, *second, *joined;
    make_file("a", 0, 60000);
    make_file("b", 60000, N_DOCS);
    const char *const text[] = {"a", "b"}, *const only_b[] = {"b"}, *const mixed[] = {"a", "b.rwb"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, text, 2, &whole), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, only_b, 1, &second), RW_OK);
    cr_assert_eq(rw_cache_write(scratch_ctx, second, NULL, "b.rwb"), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, mixed, 2, &joined), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_dataset(whole, joined);
    assert_chunks(mixed, 2, whole, 2);
    rw_dataset_free(joined);
    const char *const twice[] = {"b.rwb", "a", "b.rwb"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, twice, 3, &joined), RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "a:50001:7: query '1' appears again after another query\nhint: it began at "
                     "b.rwb; a query's lines must be consecutive");
    rw_dataset_free(whole);
    rw_dataset_free(second);
}

static int stop(void *user, const struct rw_dataset *chunk, const double *scores)
{
    (void)chunk;
    (void)scores;
    ++*(int *)user;
    return 7;
}

Test(reader, a_callback_may_end_reading)
{
    int n_chunks = 0;
    const char *const two[] = {"a", "nowhere"};
    scratch_text("a", "1 qid:1 1:2\n");
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, two, 2, NULL, NULL, stop, &n_chunks), 7);
    cr_assert_eq(n_chunks, 1);
}

Test(reader, errors)
{
    int n_chunks = 0;
    const char *const none[] = {"nowhere"}, *const bad[] = {"bad"}, *const empty[] = {"empty"};
    const char *const stdin_twice[] = {"-", "a", "-"};
    scratch_text("bad", "1 qid:1 1:2\n1 qid:1 1:two\n");
    scratch_text("empty", "");
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, none, 1, NULL, NULL, stop, &n_chunks),
                 RW_ERR_IO);
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, bad, 1, NULL, NULL, stop, &n_chunks),
                 RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "bad:2:11: expected a number after '1:', found 'two'");
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, empty, 1, NULL, NULL, stop, &n_chunks),
                 RW_ERR_PARSE);
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, stdin_twice, 3, NULL, NULL, stop, &n_chunks),
                 RW_ERR_ARGUMENT);
    cr_assert_eq(rw_dataset_read_each(scratch_ctx, stdin_twice, 0, NULL, NULL, stop, &n_chunks),
                 RW_ERR_ARGUMENT);
    cr_assert_eq(n_chunks, 0);
}
