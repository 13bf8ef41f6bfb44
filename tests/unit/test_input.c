#include "base/mem.h"
#include "io/input.h"
#include "scratch_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

TestSuite(input, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

static int read_file(const char *path, char **text, size_t *n)
{
    struct rw_input *input;
    *text = NULL;
    RW_TRY(rw_input_open(scratch_ctx, path, &input));
    const int status = rw_input_read_all(scratch_ctx, input, text, n);
    rw_input_close(input);
    return status;
}

static void assert_content(const char *path, const char *expected)
{
    char *text;
    size_t n;
    cr_assert_eq(read_file(path, &text, &n), RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(n, strlen(expected));
    cr_assert_str_eq(text, expected);
    rw_mem_free(text);
}

static void assert_refused(const char *path, int status, const char *error)
{
    char *text;
    size_t n;
    cr_assert_eq(read_file(path, &text, &n), status);
    cr_assert_null(text);
    cr_assert_str_eq(rw_last_error(scratch_ctx), error);
}

Test(input, plain_and_gzip_by_content)
{
    scratch_text("plain.gz", "hello\n"); /* the name does not matter */
    scratch_gzip("packed.txt", "wb", "hello\n");
    assert_content("plain.gz", "hello\n");
    assert_content("packed.txt", "hello\n");
    scratch_text("empty", "");
    assert_content("empty", "");
    scratch_text("one", "\x1f");
    assert_content("one", "\x1f");
}

Test(input, several_members)
{
    scratch_gzip("a", "wb", "one\n");
    scratch_gzip("a", "ab", "two\n");
    scratch_gzip("a", "ab", "");
    scratch_gzip("a", "ab", "three\n");
    assert_content("a", "one\ntwo\nthree\n");
}

Test(input, several_long_members)
{
    enum { N = 700000 };
    char *text = malloc(3 * N + 1);
    uint32_t state = 1;
    for (int i = 0; i < 3 * N; i++) {
        state = state * 1664525u + 1013904223u;
        text[i] = (char)('a' + (state >> 24) % 26);
    }
    text[3 * N] = 0;
    for (int i = 2; i >= 0; i--) {
        char *chunk = text + (size_t)i * N;
        char name[8];
        snprintf(name, sizeof(name), "%d", i);
        scratch_gzip(name, "wb", chunk);
        *chunk = 0;
    }
    for (int i = 0; i < 3; i++) {
        size_t n;
        char name[8];
        snprintf(name, sizeof(name), "%d", i);
        char *data = scratch_read(name, &n);
        FILE *file = fopen("all", "ab");
        cr_assert_eq(fwrite(data, 1, n, file), n);
        fclose(file);
        free(data);
    }
    char *back;
    size_t n;
    cr_assert_eq(read_file("all", &back, &n), RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(n, 3 * N);
    rw_mem_free(back);
    free(text);
}

Test(input, gzip_truncated_at_every_byte)
{
    scratch_gzip("whole", "wb", "some text that is packed\n");
    size_t n;
    char *data = scratch_read("whole", &n);
    for (size_t i = 2; i < n; i++) {
        scratch_write("cut", data, i);
        assert_refused("cut", RW_ERR_FORMAT, "cannot unpack 'cut': the gzip data is truncated");
    }
    free(data);
}

Test(input, gzip_with_garbage_behind)
{
    scratch_gzip("a", "wb", "text\n");
    size_t n;
    char *data = scratch_read("a", &n);
    char expected[128];
    snprintf(expected, sizeof(expected),
             "cannot unpack 'b': unexpected data after the gzip data, from byte %zu on", n);
    const char *const garbage[] = {"garbage", "g", "\x1f", "\x1fg"};
    for (int i = 0; i < 4; i++) {
        char *longer = calloc(n + 16, 1);
        memcpy(longer, data, n);
        strcpy(longer + n, garbage[i]);
        scratch_write("b", longer, n + strlen(garbage[i]));
        assert_refused("b", RW_ERR_FORMAT, expected);
        free(longer);
    }
    free(data);
}

Test(input, gzip_flipped)
{
    const char *content = "some text that is packed, and packed, and packed\n";
    scratch_gzip("a", "wb", content);
    size_t n;
    char *data = scratch_read("a", &n);
    for (size_t i = 10; i < n; i++) {
        char *text;
        size_t got;
        data[i] ^= 16;
        scratch_write("b", data, n);
        data[i] ^= 16;
        if (read_file("b", &text, &got) == RW_OK) /* bits that pad the last byte mean nothing */
            cr_assert_str_eq(text, content, "byte %zu", i);
        rw_mem_free(text);
    }
    free(data);
}

Test(input, content_before_a_failure_comes_first)
{
    scratch_gzip("a", "wb", "text\n");
    size_t n, got;
    char *data = scratch_read("a", &n), buffer[64];
    memcpy(buffer, data, n);
    memcpy(buffer + n, "junk", 4);
    scratch_write("b", buffer, n + 4);
    struct rw_input *input;
    cr_assert_eq(rw_input_open(scratch_ctx, "b", &input), RW_OK);
    cr_assert_eq(rw_input_read(scratch_ctx, input, buffer, sizeof(buffer), &got), RW_OK);
    cr_assert_eq(got, 5);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(rw_input_read(scratch_ctx, input, buffer, sizeof(buffer), &got),
                     RW_ERR_FORMAT);
    rw_input_close(input);
    free(data);
}

Test(input, files_that_cannot_be_opened)
{
    assert_refused("nowhere", RW_ERR_IO, "cannot open 'nowhere': No such file or directory");
    cr_assert_eq(mkdir("folder", 0700), 0);
    assert_refused("folder", RW_ERR_IO, "cannot read 'folder': Is a directory");
}

enum { SLICE_BYTES = 1 << 17 };

/* Loads it without bytes [left_out, left_out_end), from a file or from memory. */
static void assert_loaded(const char *bytes, size_t n, size_t left_out, size_t left_out_end,
                          int in_memory)
{
    struct rw_loaded loaded = {.left_out = left_out, .left_out_end = left_out_end};
    struct rw_input *input;
    if (in_memory)
        cr_assert_eq(rw_input_open_memory(scratch_ctx, "m", bytes, n, &input), RW_OK);
    else
        cr_assert_eq(rw_input_open(scratch_ctx, "big", &input), RW_OK);
    cr_assert_eq(rw_input_load(scratch_ctx, input, &loaded), RW_OK);
    rw_input_close(input);
    const size_t end = left_out_end < n ? left_out_end : n;
    const size_t begin = left_out < end ? left_out : end;
    const size_t first = (begin + SLICE_BYTES - 1) / SLICE_BYTES, last = end / SLICE_BYTES;
    cr_assert_eq(loaded.left_out_end - loaded.left_out,
                 last > first ? (last - first) * SLICE_BYTES : 0); /* whole slices */
    cr_assert_eq(loaded.n_bytes, n);
    cr_assert_eq(loaded.crc, crc32(0, (const unsigned char *)bytes, (uInt)n));
    cr_assert_eq(memcmp(loaded.data, bytes, begin), 0);
    cr_assert_eq(memcmp((char *)loaded.data + end, bytes + end, n - end), 0);
    munmap(loaded.data, loaded.n_bytes);
}

/* Bytes are left out within a slice, over slices of 2^17 bytes and over chunks of 2^22. */
Test(input, loaded)
{
    static const size_t left_out[][2] = {{0, 0},
                                         {128, 128},
                                         {128, 192},
                                         {1 << 17, 1 << 18},
                                         {1000, (1 << 22) + 64},
                                         {1 << 22, 1 << 23},
                                         {3000064, 9999936},
                                         {64, 9999999},
                                         {64, 20000000},
                                         {11000000, 12000000}};
    enum { N_BYTES = 10000000 };
    char *const big = malloc(N_BYTES);
    for (size_t i = 0; i < N_BYTES; i++)
        big[i] = (char)(i * 2654435761u >> 13);
    scratch_write("big", big, N_BYTES);
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        for (int in_memory = 0; in_memory < 2; in_memory++)
            assert_loaded(big, N_BYTES, left_out[i][0], left_out[i][1], in_memory);
    }
    scratch_write("big", big, 10);
    assert_loaded(big, 10, 0, 0, 0);
    free(big);
    struct rw_input *input;
    size_t n;
    cr_assert_eq(rw_input_open(scratch_ctx, "big", &input), RW_OK);
    rw_input_head(input, &n);
    cr_assert_eq(n, 10);
    rw_input_close(input);
}

/* An unreadable descriptor replaces the file's: reading fails in all threads, which continue. */
Test(input, threads_that_cannot_read)
{
    enum { N_BYTES = 3 << 22 };
    char *const big = calloc(1, N_BYTES);
    struct rw_input *input;
    struct rw_loaded loaded = {.data = NULL};
    uint32_t sum;
    scratch_write("big", big, N_BYTES);
    free(big);
    const int next = dup(STDIN_FILENO);
    close(next);
    cr_assert_eq(rw_input_open(scratch_ctx, "big", &input), RW_OK);
    const int unreadable = open("big", O_WRONLY);
    cr_assert_eq(dup2(unreadable, next), next);
    rw_ctx_set_threads(scratch_ctx, 3);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(i ? rw_input_load(scratch_ctx, input, &loaded)
                       : rw_input_sum(scratch_ctx, input, 0, N_BYTES, &sum),
                     RW_ERR_IO);
        cr_assert_str_eq(rw_last_error(scratch_ctx), "cannot read 'big': Bad file descriptor");
    }
    rw_input_close(input);
    close(unreadable);
}

Test(input, read_anywhere)
{
    char *const big = malloc(3000000);
    for (size_t i = 0; i < 3000000; i++)
        big[i] = (char)(i * 2654435761u >> 13);
    scratch_write("big", big, 3000000);
    scratch_gzip("packed", "wb", "text");
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        const uint64_t begin[] = {0, 1, 1 << 18, 2999999, 3000000, 4000000};
        struct rw_input *input;
        uint64_t n_bytes;
        size_t got;
        if (in_memory)
            cr_assert_eq(rw_input_open_memory(scratch_ctx, "m", big, 3000000, &input), RW_OK);
        else
            cr_assert_eq(rw_input_open(scratch_ctx, "big", &input), RW_OK);
        cr_assert(rw_input_is_seekable(input, &n_bytes));
        cr_assert_eq(n_bytes, 3000000);
        for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++) {
            char *const part = malloc(1000000);
            const size_t left = begin[i] < n_bytes ? (size_t)(n_bytes - begin[i]) : 0;
            cr_assert_eq(rw_input_read_at(input, begin[i], part, 1000000, &got), 0);
            cr_assert_eq(got, left < 1000000 ? left : 1000000);
            cr_assert(got == 0 || memcmp(part, big + begin[i], got) == 0);
            free(part);
        }
        rw_input_close(input);
    }
    struct rw_input *input;
    uint64_t n_bytes;
    cr_assert_eq(rw_input_open(scratch_ctx, "packed", &input), RW_OK);
    cr_assert_not(rw_input_is_seekable(input, &n_bytes), "its bytes are not its content");
    rw_input_close(input);
    free(big);
}
