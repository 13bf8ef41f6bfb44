/* Words and lists of words: the nearest known word for a misspelt one, sorting by bytes, and
 * writing many lines with several threads. */
#include <ctype.h>

#include "base/mem.h"

size_t rw_word_distance(const char *a, const char *b)
{
    enum { LONGEST = 48 };
    const size_t m = strlen(a), n = strlen(b);
    size_t d[LONGEST + 1][LONGEST + 1];
    if (m > LONGEST || n > LONGEST)
        return m > n ? m : n;
    for (size_t i = 0; i <= m; i++) {
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[m][n];
}

size_t rw_word_plain(const char *word, char *plain, size_t size)
{
    size_t n = 0;
    for (; word[n] && n < size - 1; n++)
        plain[n] = word[n] == '_' ? '-' : (char)tolower((unsigned char)word[n]);
    plain[n] = 0;
    return n;
}

/* Returns the nearest word. must: 1: at any distance; 0: or NULL, unless the distance is plausible
 * for a typo, or one word begins with the other. */
static const char *find_nearest(const char *mistaken, const char *const *words, int n_words,
                                int must)
{
    char plain[64];
    const char *nearest = NULL;
    const size_t n = rw_word_plain(mistaken, plain, sizeof(plain));
    /* at first, the most edits that are plausible for a typo */
    size_t best = must ? SIZE_MAX : n < 5 ? 1 : (n + 1) / 3;
    for (int i = 0; i < n_words; i++) {
        const size_t length = strlen(words[i]), shared = n < length ? n : length;
        const int begins = !must && shared >= 3 && strncmp(plain, words[i], shared) == 0;
        if (!begins && n + length - 2 * shared > best)
            continue; /* every surplus letter is an edit */
        size_t distance = rw_word_distance(plain, words[i]);
        if (begins && distance > 1)
            distance = 1; /* one word begins with the other, as "eval" in "evaluate" */
        if (distance < best || (distance == best && !nearest)) {
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}

const char *rw_word_nearest(const char *mistaken, const char *const *words, int n_words)
{
    return find_nearest(mistaken, words, n_words, 0);
}

const char *rw_word_nearest_always(const char *mistaken, const char *const *words, int n_words)
{
    return find_nearest(mistaken, words, n_words, 1);
}

int rw_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum {
    PART_BYTES = 1 << 16, /* bytes of a part, the lines that one thread formats at a time: fits its
                             cache */
    PARTS = 4 /* number of parts per thread that are formatted before they are written */
};

struct lines {
    rw_line_fn *line;
    const void *user;
    uint64_t begin, n;   /* lines [begin, n) remain */
    uint64_t part_lines; /* lines per part; the last one may have fewer */
    size_t part_bytes;
    char *text;    /* [parts][part_bytes] */
    size_t *bytes; /* [parts] bytes in each part */
};

static int make_parts(void *user, struct rw_share *share)
{
    const struct lines *lines = user;
    for (uint64_t part, last; rw_share_next(share, &part, &last);) {
        const uint64_t begin = lines->begin + part * lines->part_lines, left = lines->n - begin;
        const uint64_t end = left < lines->part_lines ? lines->n : begin + lines->part_lines;
        char *text = lines->text + part * lines->part_bytes, *to = text;
        for (uint64_t i = begin; i < end; i++)
            to += lines->line(lines->user, i, to);
        lines->bytes[part] = (size_t)(to - text);
    }
    return RW_OK;
}

int rw_lines_write(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n, size_t line_bytes,
                   rw_line_fn *line, const void *user)
{
    RW_FREED char *text = NULL;
    RW_FREED size_t *bytes = NULL;
    struct lines lines = {.line = line, .user = user, .n = n};
    lines.part_lines = line_bytes < PART_BYTES ? PART_BYTES / line_bytes : 1;
    lines.part_bytes = lines.part_lines * line_bytes;
    uint64_t n_parts = (n + lines.part_lines - 1) / lines.part_lines;
    const uint64_t most = (uint64_t)PARTS * (uint64_t)ctx->n_threads;
    const uint64_t room = n_parts < most ? n_parts : most;
    RW_TRY(RW_NEW_RAW(ctx, text, room * lines.part_bytes));
    RW_TRY(RW_NEW_RAW(ctx, bytes, room));
    lines.text = text;
    lines.bytes = bytes;
    while (n_parts > 0) {
        const uint64_t parts = n_parts < room ? n_parts : room;
        (void)rw_parallel(ctx, ctx->n_threads < (int)parts ? ctx->n_threads : (int)parts, parts, 1,
                          make_parts, &lines);
        for (uint64_t part = 0; part < parts; part++)
            RW_TRY(rw_out_file_write(ctx, out, lines.text + part * lines.part_bytes,
                                     lines.bytes[part]));
        lines.begin += parts * lines.part_lines;
        n_parts -= parts;
    }
    return RW_OK;
}
