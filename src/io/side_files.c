/* Files with one number a line: weights, scores. */
#include "io/side_files.h"

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "dataset/dataset.h"

struct number_file {
    struct rw_input *input; /* owned */
    char *text;             /* owned */
    const char *end, *at;   /* in text */
    uint64_t line;          /* from 1: the one next_number reads next */
};

static void number_file_release(struct number_file *file)
{
    rw_input_close(file->input);
    rw_mem_free(file->text);
    memset(file, 0, sizeof(*file));
}

/* The input is taken, whatever comes of it. */
static int number_file_take(struct rw_ctx *ctx, struct number_file *file, struct rw_input *input)
{
    size_t n_bytes;
    file->input = input;
    RW_TRY(rw_input_read_all(ctx, file->input, &file->text, &n_bytes));
    file->at = file->text;
    file->end = file->text + n_bytes;
    while (file->end > file->at && strchr(" \t\r\n", file->end[-1]) && file->end[-1])
        file->end--; /* blank lines at the end do not count */
    file->line = 1;
    return RW_OK;
}

static int number_file_open(struct rw_ctx *ctx, struct number_file *file, const char *path)
{
    struct rw_input *input;
    RW_TRY(rw_input_open(ctx, path, &input));
    return number_file_take(ctx, file, input);
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

static int bad_number(struct rw_ctx *ctx, const struct number_file *file, const char *line,
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
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s, found %s%s%s",
                   rw_input_name(file->input), (unsigned long long)file->line,
                   (size_t)(p - line) + 1, expected, n ? "'" : "", n ? found : "an empty line",
                   n ? "'" : "");
}

/* The next line's number; *got is 0 at the end of the file. `expected` is for the message. */
static int next_number(struct rw_ctx *ctx, struct number_file *file, double least, double most,
                       const char *expected, double *value, int *got)
{
    *got = file->at < file->end;
    if (!*got)
        return RW_OK;
    const char *line = file->at;
    const char *end = memchr(line, '\n', (size_t)(file->end - line));
    file->at = end ? end + 1 : file->end;
    if (!end)
        end = file->end;
    const char *p = skip_blanks(line, end);
    int clamped;
    const char *q = rw_number_parse_double(p, end, value, &clamped);
    if (!q || skip_blanks(q, end) != end || clamped || *value < least || *value > most)
        return bad_number(ctx, file, line, p, end, expected);
    file->line++;
    return RW_OK;
}

int rw_scores_read_input(struct rw_ctx *ctx, struct rw_input *input, uint32_t n, double *scores)
{
    struct number_file file = {0};
    int status, got;
    double score;
    RW_TRY_OUT(number_file_take(ctx, &file, input));
    for (uint32_t i = 0;; i++) {
        RW_TRY_OUT(next_number(ctx, &file, -1.7976931348623157e308, 1.7976931348623157e308,
                               "a score (a finite number)", &score, &got));
        if (!got && i == n)
            break;
        if (!got || i == n) {
            status = rw_fail(ctx, RW_ERR_DATA,
                             got ? "%s:%u:1: more scores than the %u documents"
                                 : "%s:%u:1: expected a score for each of the %u documents, found "
                                   "the end of the file",
                             rw_input_name(file.input), i + 1, n);
            goto out;
        }
        scores[i] = score;
    }
out:
    number_file_release(&file);
    return status;
}

int rw_scores_read(struct rw_ctx *ctx, const char *path, uint32_t n, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_input *input;
    RW_TRY(rw_input_open(ctx, path, &input));
    return rw_scores_read_input(ctx, input, n, scores);
}

int rw_dataset_read_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    RW_DEFAULT_FPENV;
    struct number_file file = {0};
    double *weight = NULL;
    size_t room = 0, n = 0;
    int status, got;
    RW_TRY_OUT(number_file_open(ctx, &file, path));
    while (1) {
        RW_TRY_OUT(RW_GROW(ctx, weight, room, n + 1));
        RW_TRY_OUT(next_number(ctx, &file, 0, RW_MAX_WEIGHT,
                               "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT), &weight[n], &got));
        if (!got)
            break;
        n++;
    }
    if (n != dataset->n_queries && n != dataset->n_docs) {
        status = rw_fail(ctx, RW_ERR_DATA,
                         "'%s' holds %zu weights; expected one a query (%u) or one a document (%u)",
                         rw_input_name(file.input), n, dataset->n_queries, dataset->n_docs);
        goto out;
    }
    status = rw_dataset_set_weights(ctx, dataset, weight, n);
out:
    rw_mem_free(weight);
    number_file_release(&file);
    return status;
}
