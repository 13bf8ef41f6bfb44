/* Gzip files of several members: all threads together must give the same bytes and errors as a
 * pipe. */
#include "base/mem.h"
#include "base/rng.h"
#include "io/text.h"
#include "io/input.h"
#include "same_dataset.h"
#include "scratch_file.h"

TestSuite(members, .init = scratch_begin, .fini = scratch_end, .timeout = 100);

enum { TEXT = 40000 };

static char text[TEXT + 400];
static size_t text_bytes;

/* Comments hold what looks like the beginning of a member. */
static void make_text(void)
{
    text_bytes = 0;
    for (uint32_t i = 0; text_bytes < TEXT; i++) {
        const uint32_t r = rw_random(5, i, 0, 0x7E57u);
        text_bytes += (size_t)sprintf(text + text_bytes, "%u qid:%u 1:%u 2:0.%u 7:%u.5", r % 3,
                                      i / 7, r % 1000, r >> 12, r >> 20);
        if (i % 5 == 2)
            text_bytes +=
                (size_t)sprintf(text + text_bytes, " # \x1f\x8b\x08\x01 abc\x02\x03 docid = %u", i);
        text[text_bytes++] = '\n';
    }
    text_bytes--; /* the last line's newline is missing */
}

/* Packs the text in members of `chunk` bytes each, every third followed by an empty one. */
static size_t pack(size_t chunk, int level, unsigned char *packed, size_t room)
{
    size_t n = 0;
    for (size_t at = 0, i = 0; at < text_bytes; i++) {
        const size_t now = i % 3 == 2 ? 0 : text_bytes - at < chunk ? text_bytes - at : chunk;
        z_stream stream;
        memset(&stream, 0, sizeof(stream));
        cr_assert_eq(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
        stream.next_in = (Bytef *)text + at;
        stream.avail_in = (uInt)now;
        stream.next_out = packed + n;
        stream.avail_out = (uInt)(room - n);
        cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
        n = room - stream.avail_out;
        deflateEnd(&stream);
        at += now;
    }
    return n;
}

static int parse(struct rw_input *input, size_t chunk_bytes, struct rw_dataset **out)
{
    struct rw_builder_list list = {0};
    struct rw_text *letor = NULL;
    int status, more = 1;
    *out = NULL;
    RW_TRY_OUT(rw_text_open(scratch_ctx, &rw_letor_text, input, NULL, NULL, chunk_bytes, &letor));
    while (more)
        RW_TRY_OUT(rw_text_next(scratch_ctx, letor, &list, &more));
    status = rw_builder_finish(scratch_ctx, list.builder, (int)list.n, out);
out:
    rw_text_close(letor);
    rw_builder_list_release(&list);
    return status;
}

static int parse_memory(const void *data, size_t n, size_t chunk_bytes, struct rw_dataset **out)
{
    struct rw_input *input;
    cr_assert_eq(rw_input_open_memory(scratch_ctx, "packed", data, n, &input), RW_OK);
    const int status = parse(input, chunk_bytes, out);
    rw_input_close(input);
    return status;
}

static int parse_file(const char *path, size_t chunk_bytes, struct rw_dataset **out)
{
    struct rw_input *input;
    cr_assert_eq(rw_input_open(scratch_ctx, path, &input), RW_OK);
    const int status = parse(input, chunk_bytes, out);
    rw_input_close(input);
    return status;
}

/* Reads through a pipe, without lookahead; n: at most a pipe's capacity. */
static int parse_pipe(const void *data, size_t n, size_t chunk_bytes, struct rw_dataset **out)
{
    int ends[2];
    char path[32];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], data, n), (ssize_t)n);
    close(ends[1]);
    snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    const int status = parse_file(path, chunk_bytes, out);
    close(ends[0]);
    return status;
}

Test(members, any_size_of_member)
{
    static unsigned char packed[1 << 22];
    static const size_t chunks[] = {13, 100, 777, 5000, 30000};
    struct rw_dataset *plain, *other;
    make_text();
    cr_assert_eq(parse_memory(text, text_bytes, RW_TEXT_CHUNK_BYTES, &plain), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    for (size_t p = 0; p < sizeof(chunks) / sizeof(chunks[0]); p++) {
        for (int level = 0; level < 7; level += 6) { /* stored: the comments' bytes show */
            const size_t n = pack(chunks[p], level, packed, sizeof(packed));
            scratch_write("packed.gz", packed, n);
            for (int threads = 1; threads < 6; threads += 2) {
                rw_ctx_set_threads(scratch_ctx, threads);
                const size_t chunk_bytes = threads == 3 ? RW_TEXT_CHUNK_BYTES : 300;
                cr_assert_eq(parse_memory(packed, n, chunk_bytes, &other), RW_OK, "%s",
                             rw_last_error(scratch_ctx));
                assert_same_dataset(plain, other);
                rw_dataset_free(other);
                cr_assert_eq(parse_file("packed.gz", chunk_bytes, &other), RW_OK, "%s",
                             rw_last_error(scratch_ctx));
                assert_same_dataset(plain, other);
                rw_dataset_free(other);
            }
        }
    }
    rw_dataset_free(plain);
}

/* The members themselves, while there are any: the comments' bytes must not end them. */
Test(members, are_found_and_proved)
{
    static unsigned char packed[1 << 20];
    static char content[TEXT + 400];
    struct rw_members *members;
    struct rw_input *input;
    uint64_t n_bytes;
    size_t n_out = 0;
    int n_members = 0, n;
    make_text();
    const size_t n_packed = pack(600, 6, packed, sizeof(packed));
    cr_assert_eq(rw_input_open_memory(scratch_ctx, "packed", packed, n_packed, &input), RW_OK);
    cr_assert(rw_input_is_packed(input, &n_bytes) && n_bytes == n_packed);
    cr_assert_eq(rw_members_open(scratch_ctx, input, 2000, 2, &members), RW_OK);
    cr_assert_not_null(members);
    while ((n = rw_members_next(members, 2000, 2)) > 0) {
        cr_assert_leq(n_out + members->n_out, text_bytes);
        for (int i = n - 1; i >= 0; i--)
            cr_assert_eq(rw_members_unpack(members, i, content + n_out), 0);
        n_out += members->n_out;
        n_members += n;
    }
    cr_assert_eq(n_out, text_bytes);
    cr_assert_eq(memcmp(content, text, n_out), 0);
    cr_assert_gt(n_members, 60);
    rw_members_close(members);
    rw_input_close(input);
    scratch_gzip("one.gz", "wb", "one member\n");
    cr_assert_eq(rw_input_open(scratch_ctx, "one.gz", &input), RW_OK);
    cr_assert_eq(rw_members_open(scratch_ctx, input, 2000, 2, &members), RW_OK);
    cr_assert_null(members);
    rw_input_close(input);
}

/* The same result as through a pipe, except the name. */
static void compare_damaged(const unsigned char *packed, size_t n, const char *what, size_t i)
{
    struct rw_dataset *one, *other;
    char message[512];
    const int expected = parse_pipe(packed, n, 500, &one);
    if (expected < 0)
        snprintf(message, sizeof(message), "%s", rw_last_error(scratch_ctx));
    const int status = parse_memory(packed, n, 500, &other);
    cr_assert_eq(status, expected, "%s %zu", what, i);
    if (expected < 0) { /* the name is '/dev/fd/N' there, 'packed' here */
        const char *a = strpbrk(strstr(message, "/dev/fd/") + 8, "':");
        const char *b = rw_last_error(scratch_ctx);
        cr_assert_not_null(strstr(b, "packed"), "%s", b);
        cr_assert_str_eq(strpbrk(strstr(b, "packed"), "':"), a, "%s %zu", what, i);
    } else {
        assert_same_dataset(one, other);
    }
    rw_dataset_free(one);
    rw_dataset_free(other);
}

Test(members, damage_is_reported_as_in_sequence)
{
    static unsigned char packed[1 << 16], bad[1 << 16];
    make_text();
    text_bytes = 3000;
    rw_ctx_set_threads(scratch_ctx, 2);
    const size_t n = pack(400, 6, packed, sizeof(packed) - 100);
    for (size_t i = 1; i < n; i += 7)
        compare_damaged(packed, n - i, "cut by", i);
    for (size_t i = 2; i < n; i += 3) {
        memcpy(bad, packed, n);
        bad[i] ^= (unsigned char)(1u << i % 8);
        compare_damaged(bad, n, "flipped", i);
    }
    for (size_t i = 1; i < 60; i++) {
        memcpy(bad, packed, n);
        memset(bad + n, i % 2 ? 0x1f : 'x', i);
        compare_damaged(bad, n + i, "followed by", i);
    }
}

/* More than is looked at in one go, members larger and smaller. */
Test(members, several_windows)
{
    enum { N = 9000000, ROOM = 12000000 };
    char *big = malloc(N + 100);
    unsigned char *packed = malloc(ROOM);
    struct rw_dataset *plain, *other;
    size_t n = 0, n_packed = 0;
    cr_assert(big && packed);
    for (uint32_t i = 0; n < N; i++)
        n += (size_t)sprintf(big + n, "1 qid:%u 1:%u 2:%u\n", i / 50, rw_random(6, i, 0, 1),
                             rw_random(6, i, 1, 1));
    for (size_t at = 0, i = 0; at < n; i++) {
        const size_t chunk = i % 4 == 1 ? 2900000 : 60000 + i;
        const size_t now = n - at < chunk ? n - at : chunk;
        z_stream stream;
        memset(&stream, 0, sizeof(stream));
        cr_assert_eq(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = (Bytef *)big + at;
        stream.avail_in = (uInt)now;
        stream.next_out = packed + n_packed;
        stream.avail_out = (uInt)(ROOM - n_packed);
        cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
        n_packed = ROOM - stream.avail_out;
        deflateEnd(&stream);
        at += now;
    }
    cr_assert_gt(n_packed, 2500000);
    rw_ctx_set_threads(scratch_ctx, 2);
    cr_assert_eq(parse_memory(big, n, RW_TEXT_CHUNK_BYTES, &plain), RW_OK);
    cr_assert_eq(parse_memory(packed, n_packed, 100000, &other), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    assert_same_dataset(plain, other);
    rw_dataset_free(plain);
    rw_dataset_free(other);
    free(big);
    free(packed);
}
