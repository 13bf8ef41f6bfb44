#include "base/ctx.h"
#include "rankwood.h"
#include "scratch_file.h"

TestSuite(lines, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

enum { LINE_BYTES = 1000 }; /* 65 lines of a part */

/* Line i is its number, and as many dots as say whether lines keep their places. */
static size_t numbered(const void *user, uint64_t i, char *to)
{
    const uint64_t *most = user;
    cr_assert_lt(i, *most);
    size_t n = (size_t)sprintf(to, "%llu", (unsigned long long)i);
    for (uint64_t k = 0; k < i * 7 % 900; k++)
        to[n++] = '.';
    to[n++] = '\n';
    return n;
}

static void assert_lines(uint64_t n, int threads)
{
    char line[LINE_BYTES], expected[LINE_BYTES];
    struct rw_out_file out = {0};
    rw_ctx_set_threads(scratch_ctx, threads);
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "lines"), RW_OK);
    cr_assert_eq(rw_lines_write(scratch_ctx, &out, n, LINE_BYTES, numbered, &n), RW_OK);
    cr_assert_eq(rw_out_file_commit(scratch_ctx, &out), RW_OK);
    FILE *file = fopen("lines", "r");
    for (uint64_t i = 0; i < n; i++) {
        expected[numbered(&n, i, expected)] = 0;
        cr_assert_not_null(fgets(line, sizeof(line), file), "line %d of %d", (int)i, (int)n);
        cr_assert_str_eq(line, expected);
    }
    cr_assert_eq(fgetc(file), EOF);
    fclose(file);
}

Test(lines, all_of_them_in_order)
{
    /* none, one, the edges of a part and of all parts that are made before any is written */
    static const uint64_t numbers[] = {0, 1, 2, 64, 65, 66, 130, 131, 519, 520, 521, 3000};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        assert_lines(numbers[i], 1);
        assert_lines(numbers[i], 2);
        assert_lines(numbers[i], 7);
    }
}

static size_t long_line(const void *user, uint64_t i, char *to)
{
    memset(to, 'a' + (int)i, *(const size_t *)user - 1);
    to[*(const size_t *)user - 1] = '\n';
    return *(const size_t *)user;
}

Test(lines, longer_than_a_part)
{
    const size_t bytes = 100000;
    struct rw_out_file out = {.file = tmpfile()};
    rw_ctx_set_threads(scratch_ctx, 2);
    cr_assert_eq(rw_lines_write(scratch_ctx, &out, 20, bytes, long_line, &bytes), RW_OK);
    rewind(out.file);
    for (size_t i = 0; i < 20 * bytes; i++) {
        const int expected = i % bytes == bytes - 1 ? '\n' : 'a' + (int)(i / bytes);
        if (fgetc(out.file) != expected)
            cr_assert(0, "byte %zu", i);
    }
    fclose(out.file);
}

Test(lines, lines_that_cannot_be_written)
{
    uint64_t n = 1000;
    struct rw_out_file out = {0};
    cr_assert_eq(rw_out_file_open(scratch_ctx, &out, "/dev/full"), RW_OK);
    cr_assert_eq(rw_lines_write(scratch_ctx, &out, n, LINE_BYTES, numbered, &n), RW_ERR_MACHINE);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "cannot write '/dev/full': No space left on device");
    rw_out_file_abandon(&out);
}
