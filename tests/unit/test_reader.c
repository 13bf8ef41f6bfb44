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

/* All pieces joined again are the whole set. */
static void assert_pieces(const char *const *paths, int n_paths, const struct rw_dataset *whole,
                          int least_pieces)
{
    struct rw_builder *builders = calloc(1000, sizeof(*builders));
    struct rw_reader *reader;
    struct rw_dataset *piece, *joined;
    int n = 0;
    uint64_t n_clamped = 0;
    scratch_log[0] = 0;
    cr_assert_eq(rw_reader_open(scratch_ctx, paths, n_paths, &reader), RW_OK);
    while (1) {
        cr_assert_eq(rw_reader_next(scratch_ctx, reader, &piece), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        if (!piece)
            break;
        cr_assert_gt(piece->n_docs, 0);
        cr_assert_lt(n, 1000);
        cr_assert_eq(rw_builder_copy(scratch_ctx, &builders[n++], piece, 0, piece->n_docs), RW_OK);
        n_clamped += piece->n_clamped;
        rw_dataset_free(piece);
    }
    rw_reader_close(reader);
    cr_assert_geq(n, least_pieces);
    builders[0].n_clamped = n_clamped;
    cr_assert_eq(rw_builder_finish(scratch_ctx, builders, n, &joined), RW_OK);
    assert_same_dataset(whole, joined);
    rw_dataset_free(joined);
    free(builders);
    cr_assert_str_eq(scratch_log,
                     "20000 numbers beyond float's range read as the largest finite float\n");
}

Test(reader, pieces_make_the_whole)
{
    struct rw_dataset *whole;
    make_file("a", 0, N_DOCS / 3);
    make_file("b", N_DOCS / 3, N_DOCS);
    rw_ctx_set_threads(scratch_ctx, 2);
    const char *const text[] = {"a", "b"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, text, 2, &whole), RW_OK);
    cr_assert_eq(whole->n_docs, N_DOCS);
    cr_assert_eq(whole->n_queries, 4);
    assert_pieces(text, 2, whole, 3);
    cr_assert_eq(rw_cache_write(scratch_ctx, whole, NULL, "c.rwb"), RW_OK);
    const char *const cache[] = {"c.rwb"};
    assert_pieces(cache, 1, whole, 1);
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
    assert_pieces(mixed, 2, whole, 2);
    rw_dataset_free(joined);
    const char *const twice[] = {"b.rwb", "a", "b.rwb"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, twice, 3, &joined), RW_ERR_PARSE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "a:50001:7: query '1' comes back after another query\n"
                     "hint: it began at b.rwb; a query's lines must stand together");
    rw_dataset_free(whole);
    rw_dataset_free(second);
}

Test(reader, errors)
{
    struct rw_reader *reader;
    struct rw_dataset *piece;
    const char *const none[] = {"nowhere"}, *const bad[] = {"bad"}, *const empty[] = {"empty"};
    const char *const stdin_twice[] = {"-", "a", "-"};
    scratch_text("bad", "1 qid:1 1:2\n1 qid:1 1:two\n");
    scratch_text("empty", "");
    cr_assert_eq(rw_reader_open(scratch_ctx, none, 1, &reader), RW_OK);
    cr_assert_eq(rw_reader_next(scratch_ctx, reader, &piece), RW_ERR_IO);
    rw_reader_close(reader);
    cr_assert_eq(rw_reader_open(scratch_ctx, bad, 1, &reader), RW_OK);
    cr_assert_eq(rw_reader_next(scratch_ctx, reader, &piece), RW_ERR_PARSE);
    cr_assert_null(piece);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "bad:2:11: expected a number after '1:', found 'two'");
    rw_reader_close(reader);
    cr_assert_eq(rw_reader_open(scratch_ctx, empty, 1, &reader), RW_OK);
    cr_assert_eq(rw_reader_next(scratch_ctx, reader, &piece), RW_ERR_PARSE);
    rw_reader_close(reader);
    cr_assert_eq(rw_reader_open(scratch_ctx, stdin_twice, 3, &reader), RW_ERR_ARGUMENT);
    cr_assert_null(reader);
    cr_assert_eq(rw_reader_open(scratch_ctx, stdin_twice, 0, &reader), RW_ERR_ARGUMENT);
    rw_reader_close(NULL);
}
