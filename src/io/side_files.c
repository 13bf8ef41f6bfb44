/* Files with one number a line: weights, scores. */
#include "io/side_files.h"

#include <float.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "dataset/dataset.h"

/* What numbers a file has. */
struct number_kind {
    double least, most;
    const char *expected; /* for messages */
};

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

/* What stands at p on a line that begins at `line`. */
static int bad_number(struct rw_ctx *ctx, const char *name, uint64_t line_number, const char *line,
                      const char *p, const char *end, const char *expected)
{
    enum { MOST = 40 };
    char found[MOST + 8];
    int n = 0;
    for (; n < MOST && p + n < end && p[n] != '\r'; n++)
        found[n] = (unsigned char)p[n] < 32 || p[n] == 127 ? '?' : p[n];
    while (n && found[n - 1] == ' ')
        n--;
    found[n] = 0;
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s, found %s%s%s", name,
                   (unsigned long long)line_number, (size_t)(p - line) + 1, expected, n ? "'" : "",
                   n ? found : "an empty line", n ? "'" : "");
}

/* The numbers of all lines, but at most `limit`; blank lines at the end do not count. *value: [*n],
 * the caller's (rw_mem_free), also after a failure. */
static int read_numbers(struct rw_ctx *ctx, struct rw_input *input, const struct number_kind *kind,
                        size_t limit, double **value, size_t *n)
{
    char *text;
    size_t n_bytes, room = 0;
    int status = RW_OK;
    *value = NULL;
    *n = 0;
    RW_TRY(rw_input_read_all(ctx, input, &text, &n_bytes));
    const char *line = text, *text_end = text + n_bytes;
    while (text_end > text && strchr(" \t\r\n", text_end[-1]) && text_end[-1])
        text_end--;
    while (line < text_end && *n < limit) {
        const char *newline = memchr(line, '\n', (size_t)(text_end - line));
        const char *end = newline ? newline : text_end, *p = skip_blanks(line, end);
        int clamped;
        RW_TRY_OUT(RW_GROW(ctx, *value, room, *n + 1));
        const double *number = &(*value)[*n];
        const char *q = rw_number_parse_double(p, end, &(*value)[*n], &clamped);
        if (!q || skip_blanks(q, end) != end || clamped || *number < kind->least ||
            *number > kind->most) {
            status = bad_number(ctx, rw_input_name(input), *n + 1, line, p, end, kind->expected);
            break;
        }
        ++*n;
        line = end + 1;
    }
out:
    rw_mem_free(text);
    return status;
}

int rw_scores_read_input(struct rw_ctx *ctx, struct rw_input *input, uint32_t n, double *scores)
{
    static const struct number_kind kind = {-DBL_MAX, DBL_MAX, "a score (a finite number)"};
    double *score;
    size_t n_read;
    int status = read_numbers(ctx, input, &kind, (size_t)n + 1, &score, &n_read);
    if (status == RW_OK && n_read != n)
        status = rw_fail(ctx, RW_ERR_DATA,
                         n_read > n ? "%s:%zu:1: more scores than the %u documents"
                                    : "%s:%zu:1: expected a score for each of the %u documents, "
                                      "found the end of the file",
                         rw_input_name(input), (n_read > n ? n : n_read) + 1, n);
    if (status == RW_OK && n > 0)
        memcpy(scores, score, n * sizeof(*scores));
    rw_mem_free(score);
    rw_input_close(input);
    return status;
}

int rw_scores_read(struct rw_ctx *ctx, const char *path, uint32_t n, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_input *input;
    RW_TRY(rw_input_open(ctx, path, &input));
    return rw_scores_read_input(ctx, input, n, scores);
}

static int read_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, int by_query,
                        const char *path)
{
    static const struct number_kind kind = {0, RW_MAX_WEIGHT,
                                            "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT)};
    RW_DEFAULT_FPENV;
    struct rw_input *input;
    double *weight;
    size_t n;
    RW_TRY(rw_input_open(ctx, path, &input));
    int status = read_numbers(ctx, input, &kind, SIZE_MAX, &weight, &n);
    if (status == RW_OK)
        status = rw_dataset_check_weights(ctx, dataset, by_query, rw_input_name(input), n);
    if (status == RW_OK)
        status = by_query ? rw_dataset_set_query_weights(ctx, dataset, weight, n)
                          : rw_dataset_set_weights(ctx, dataset, weight, n);
    rw_mem_free(weight);
    rw_input_close(input);
    return status;
}

int rw_dataset_read_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    return read_weights(ctx, dataset, 0, path);
}

int rw_dataset_read_query_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    return read_weights(ctx, dataset, 1, path);
}
