#include "io/text.h"
#include "same_dataset.h"
#include "scratch_file.h"

TestSuite(letor_fast, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

/* A chunk through one path: its data set or NULL, its error with its place. */
static struct rw_dataset *parse_by(rw_letor_fast_fn fast, const char *text, size_t n, char *error)
{
    char *padded = calloc(1, n + 2 * RW_TEXT_PAD);
    struct rw_text_worker worker = {.fast = fast};
    struct rw_text file = {.kind = &rw_letor_text, .want = RW_TEXT_ALL};
    struct rw_text_chunk chunk = {
        .text = &file, .begin = padded + RW_TEXT_PAD, .end = padded + RW_TEXT_PAD + n};
    struct rw_dataset *dataset = NULL;
    memcpy(padded + RW_TEXT_PAD, text, n);
    cr_assert_eq(rw_input_open_memory(scratch_ctx, "text", text, n, &file.input), RW_OK);
    rw_text_parse(&chunk, &worker);
    sprintf(error, "%d %llu:%zu %s, %u documents, %llu lines", chunk.status,
            (unsigned long long)chunk.error_location.line, chunk.error_location.column, chunk.error,
            chunk.builder.n_docs, (unsigned long long)chunk.n_lines);
    if (chunk.builder.n_docs)
        cr_assert_eq(rw_builder_finish(scratch_ctx, &chunk.builder, 1, &dataset), RW_OK);
    rw_text_chunk_release(&chunk);
    rw_text_worker_release(&worker);
    rw_input_close(file.input);
    free(padded);
    return dataset;
}

static void assert_paths_agree(const char *text, size_t n)
{
    char careful_error[700], error[700];
    struct rw_dataset *careful = parse_by(NULL, text, n, careful_error);
    for (int i = 0; rw_letor_fast(i); i++) {
        struct rw_dataset *dataset = parse_by(rw_letor_fast(i), text, n, error);
        cr_assert_str_eq(error, careful_error, "path %d: '%.200s'", i, text);
        cr_assert_eq(dataset == NULL, careful == NULL);
        if (careful)
            assert_same_dataset(careful, dataset);
        rw_dataset_free(dataset);
    }
    rw_dataset_free(careful);
}

/* Every value and feature close to the limits of the fast path: at each of four places, alone in
 * its line, and after a line with another feature. */
Test(letor_fast, agrees_with_the_careful_path)
{
    static const char *const values[] = {"0",
                                         "-0",
                                         "7",
                                         "-7",
                                         "+7",
                                         "12.5",
                                         "-12.5",
                                         ".5",
                                         "5.",
                                         "-.5",
                                         ".",
                                         "-",
                                         "-.",
                                         "",
                                         "--1",
                                         "1-",
                                         "1..2",
                                         "1.2.3",
                                         ".1.",
                                         "1e3",
                                         "9.7e-5",
                                         "1e",
                                         "nan",
                                         "-nan",
                                         "NaNx",
                                         "null",
                                         "inf",
                                         "0.1",
                                         "0.3",
                                         "123456789.12345",
                                         "1234567890123456",
                                         "-123456789012345",
                                         "12345678901234567",
                                         "0.12345678901234",
                                         "-0.1234567890123",
                                         "0.123456789012345",
                                         "00000000000000.1",
                                         "9999999999999999",
                                         "999999999999999.9",
                                         "16777217",
                                         "8388608.5",
                                         "16777217.0",
                                         "0.50000002980232",
                                         "1.00000005960464",
                                         "0.000000000000001",
                                         "1/2",
                                         "1:2",
                                         "1;",
                                         "1#2",
                                         "1#",
                                         "1\t",
                                         "1\r",
                                         "\t1",
                                         "1,5",
                                         "3.4e38",
                                         "1e39",
                                         "0x1",
                                         "1\x80",
                                         "\xff"};
    static const char *const features[] = {
        "5",     "05",    "0000005", "00000005",  "005", "4",  "3",  "65535",
        "65536", "99999", "9999999", "123456789", "",    "a",  "5a", "-5",
        "+5",    "5.",    "\x80",    "5 ",        " 5",  "\t5"};
    char text[4096];
    for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
        for (size_t f = 0; f < sizeof(features) / sizeof(*features); f++) {
            if (v && f && (v + f) % 7)
                continue;
            for (int place = 0; place < 6; place++) {
                char *p = text + sprintf(text, "1 qid:1");
                for (int i = 0; i < place; i++)
                    p += sprintf(p, " %d:%d.25", i - place + 5, i);
                p += sprintf(p, " %s:%s", features[f], values[v]);
                for (int i = place; i < 5; i++)
                    p += sprintf(p, " %d:-%d", 200 + i, i);
                p += sprintf(p, "%s\n0 qid:1", place & 1 ? "\r" : place & 2 ? " " : "");
                for (int i = -place; i < 2; i++)
                    p += sprintf(p, " %d:%d", i + 5, i);
                assert_paths_agree(text, (size_t)(p - text));
                if (f != 0 || v % 6 != 0 || place != 2)
                    continue;
                for (char *q = text; q < p; q++) { /* cut, or with a byte 0, anywhere */
                    const char kept = *q;
                    assert_paths_agree(text, (size_t)(q - text));
                    *q = 0;
                    assert_paths_agree(text, (size_t)(p - text));
                    *q = kept;
                }
            }
        }
    }
}

/* Lines over several spans, of short and of long entries, with something odd somewhere. */
Test(letor_fast, agrees_on_long_lines)
{
    static const char *const odd[] = {"1:1", "30000:1e-3", "x", "#", "\t", "  ", "4:", ":4", "\r"};
    char *text = malloc(1 << 18);
    uint32_t seed = 3;
    for (int round = 0; round < 200; round++) {
        char *p = text;
        for (int line = 0; line < 4; line++) {
            p += sprintf(p, "%d qid:%d", line, round);
            const int n = round % 3 == 0 ? 30 : 400 + round * 3;
            for (int f = 1, i = 0; i < n; i++) {
                seed = seed * 1664525u + 1013904223u;
                f += 1 + (line > 1 && (seed >> 20) % 50 == 0);
                const int digits = round % 4 == 0 ? 0 : (int)(seed >> 28);
                p +=
                    sprintf(p, " %d:%.*f", f, digits, (double)(int32_t)seed / (1u << (seed >> 27)));
                if (line == 2 && i == (int)(seed >> 8) % n)
                    p += sprintf(p, " %s", odd[round % 9]);
            }
            *p++ = '\n';
        }
        assert_paths_agree(text, (size_t)(p - text));
    }
    free(text);
}

/* The slow path gives the same results, so no other test notices its use: the fast path must
 * accept plain text up to the first exception. */
Test(letor_fast, accepts_plain_text)
{
    enum { N = 40, ROOM = RW_LETOR_SPAN_ENTRIES + N };
    static const struct {
        const char *behind;
        int is_taken;
    } lines[] = {{"", 0}, {" 901:2.5", 1}, {" 901:1e5", 1}, {" 7:1", 0}, {" 901:x", 0}};
    static uint16_t feature[ROOM];
    static float value[ROOM];
    for (int i = 0; rw_letor_fast(i); i++) {
        for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
            static uint64_t known[ROOM];
            char text[1024 + 2 * RW_TEXT_PAD] = "";
            char *const begin = text + RW_TEXT_PAD, *end = begin;
            for (int f = 1; f <= N; f++)
                end += sprintf(end, "%s%d:%d.%d", f > 1 ? " " : "", 20 * f, f * f, f % 10);
            end += sprintf(end, "%s", lines[k].behind);
            struct rw_letor_entries entries = {
                .feature = feature, .value = value, .text = known, .room = ROOM, .last = -1};
            const char *at = rw_letor_fast(i)(&entries, begin, end);
            const int is_taken = lines[k].is_taken;
            cr_assert_eq(entries.n, (size_t)N + is_taken, "path %d: '%s'", i, lines[k].behind);
            cr_assert_eq(entries.last, is_taken ? 901 : 20 * N);
            cr_assert_eq(at == end, is_taken || k == 0);
            cr_assert(feature[3] == 80 && value[3] == 16.4f);
        }
    }
}
