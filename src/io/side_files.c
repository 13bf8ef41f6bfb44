/* Files with one number a line: weights, scores, start scores, positions; or several: labels. */
#include "io/side_files.h"

#include <float.h>
#include <math.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "comm/comm.h"
#include "dataset/dataset.h"
#include "io/own_part.h"

/* What numbers a file has. */
struct number_kind {
    double least, most;
    const char *expected; /* for messages */
    int is_whole;
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
        found[n] = p[n] ? p[n] : '?';
    while (n && found[n - 1] == ' ')
        n--;
    found[n] = 0;
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s, found %s%s%s", name,
                   (unsigned long long)line_number, (size_t)(p - line) + 1, expected, n ? "'" : "",
                   n ? found : "an empty line", n ? "'" : "");
}

/* Lines first .. first + most - 1 of a file, from 0. */
struct lines_wanted {
    uint64_t first, most;
    int counts_others; /* 1: up to the end of the file; 0: no line behind them is looked at */
};

/* What was read of a file. */
struct numbers {
    double *value; /* [n_lines][n_columns]; the caller's (rw_mem_free), also after a failure */
    size_t room, n_lines;
    int n_columns;   /* 0: as many as the first line has */
    uint64_t n_seen; /* lines looked at or counted */
};

/* The number at p, on a line that begins at `line`; *next: behind it. */
static int read_number(struct rw_ctx *ctx, const char *name, uint64_t line_number, const char *line,
                       const char *p, const char *end, const struct number_kind *kind,
                       double *number, const char **next)
{
    int clamped;
    const char *q = rw_number_parse_double(p, end, number, &clamped);
    *next = q ? skip_blanks(q, end) : NULL;
    if (!q || (*next == q && q < end) || clamped || *number < kind->least || *number > kind->most ||
        (kind->is_whole && *number != floor(*number)))
        return bad_number(ctx, name, line_number, line, p, end, kind->expected);
    return RW_OK;
}

/* The numbers of one line. */
static int read_line(struct rw_ctx *ctx, const char *name, const struct number_kind *kind,
                     const char *line, const char *end, struct numbers *numbers)
{
    enum { MOST = RW_MAX_LABELS };
    const int expected = numbers->n_columns;
    const char *p = skip_blanks(line, end);
    double row[MOST];
    int n = 0;
    do {
        RW_TRY(read_number(ctx, name, numbers->n_seen + 1, line, p, end, kind, &row[n], &p));
        n++;
    } while (p < end && n < (expected ? expected : MOST));
    if (p < end && expected == 1) /* where the line began: it is no number by itself */
        return bad_number(ctx, name, numbers->n_seen + 1, line, skip_blanks(line, end), end,
                          kind->expected);
    if (p < end || (expected && n != expected))
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s%d numbers, found %s", name,
                       (unsigned long long)numbers->n_seen + 1, (size_t)(p - line) + 1,
                       expected ? "" : "at most ", expected ? expected : MOST,
                       p < end ? "more" : "fewer");
    numbers->n_columns = n;
    RW_TRY(RW_GROW(ctx, numbers->value, numbers->room, (numbers->n_lines + 1) * (size_t)n));
    memcpy(numbers->value + numbers->n_lines++ * (size_t)n, row, (size_t)n * sizeof(*row));
    return RW_OK;
}

/* The numbers of the lines wanted; blank lines at the end of the file do not count. */
static int read_numbers(struct rw_ctx *ctx, struct rw_input *input, const struct number_kind *kind,
                        const struct lines_wanted *wanted, struct numbers *numbers)
{
    char *text;
    size_t n_bytes;
    int status = RW_OK;
    RW_TRY(rw_input_read_all(ctx, input, &text, &n_bytes));
    const char *line = text, *text_end = text + n_bytes;
    while (text_end > text && strchr(" \t\r\n", text_end[-1]) && text_end[-1])
        text_end--;
    for (; line < text_end && (wanted->counts_others || numbers->n_lines < wanted->most);
         numbers->n_seen++) {
        const char *newline = memchr(line, '\n', (size_t)(text_end - line));
        const char *end = newline ? newline : text_end;
        if (numbers->n_seen >= wanted->first && numbers->n_lines < wanted->most)
            RW_TRY_OUT(read_line(ctx, rw_input_name(input), kind, line, end, numbers));
        line = end + 1;
    }
out:
    rw_mem_free(text);
    return status;
}

int rw_scores_read_input(struct rw_ctx *ctx, struct rw_input *input, uint32_t n, double *scores)
{
    static const struct number_kind kind = {-DBL_MAX, DBL_MAX, "a score (a finite number)", 0};
    const struct lines_wanted wanted = {.most = (uint64_t)n + 1};
    struct numbers numbers = {.n_columns = 1};
    int status = read_numbers(ctx, input, &kind, &wanted, &numbers);
    const size_t n_read = numbers.n_lines;
    if (status == RW_OK && n_read != n)
        status = rw_fail(ctx, RW_ERR_DATA,
                         n_read > n ? "%s:%zu:1: more scores than the %u documents"
                                    : "%s:%zu:1: expected a score for each of the %u documents, "
                                      "found the end of the file",
                         rw_input_name(input), (n_read > n ? n : n_read) + 1, n);
    if (status == RW_OK && n > 0)
        memcpy(scores, numbers.value, n * sizeof(*scores));
    rw_mem_free(numbers.value);
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

/* What a file has of a set: its numbers, and what takes them. */
struct side_file {
    struct number_kind kind;
    int by_query; /* a number a query, else a document */
    int (*check)(struct rw_ctx *ctx, const struct rw_dataset *dataset, int by_query,
                 const char *file, size_t n);
    int (*set)(struct rw_ctx *ctx, struct rw_dataset *dataset, const double *values, size_t n);
    int has_columns; /* several numbers a line: `set` is NULL, and set_more_labels takes them */
};

static int check_start_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset, int by_query,
                              const char *file, size_t n)
{
    (void)by_query;
    return rw_dataset_check_start_scores(ctx, dataset, file, n);
}

static int check_positions(struct rw_ctx *ctx, const struct rw_dataset *dataset, int by_query,
                           const char *file, size_t n)
{
    (void)by_query;
    return rw_dataset_check_positions(ctx, dataset, file, n);
}

static int check_more_labels(struct rw_ctx *ctx, const struct rw_dataset *dataset, int by_query,
                             const char *file, size_t n)
{
    (void)by_query;
    return rw_dataset_check_more_labels(ctx, dataset, file, n);
}

#define WEIGHTS                                                           \
    {                                                                     \
        0, RW_MAX_WEIGHT, "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT), 0 \
    }
static const struct side_file weights = {WEIGHTS, 0, rw_dataset_check_weights,
                                         rw_dataset_set_weights, 0};
static const struct side_file query_weights = {WEIGHTS, 1, rw_dataset_check_weights,
                                               rw_dataset_set_query_weights, 0};
static const struct side_file start_scores = {
    {-RW_MAX_START_SCORE, RW_MAX_START_SCORE,
     "a score (a number from -" RW_TEXT(RW_MAX_START_SCORE) " to " RW_TEXT(RW_MAX_START_SCORE) ")",
     0},
    0,
    check_start_scores,
    rw_dataset_set_start_scores,
    0};
static const struct side_file positions = {
    {0, RW_MAX_POSITION, "a position (a whole number from 0 to " RW_TEXT(RW_MAX_POSITION) ")", 1},
    0,
    check_positions,
    rw_dataset_set_positions,
    0};
static const struct side_file more_labels = {
    {0, (double)FLT_MAX, "a label (a number, 0 or more)", 0}, 0, check_more_labels, NULL, 1};

/* Of a file for all ranks' documents, or queries, the numbers of this rank's. docs, queries: before
 * each rank's, [n_ranks + 1]. */
static int take_numbers(struct rw_ctx *ctx, struct rw_dataset *dataset,
                        const struct side_file *side, const char *path, const uint64_t *docs,
                        const uint64_t *queries)
{
    const int rank = rw_rank(ctx), n_ranks = rw_n_ranks(ctx);
    const uint64_t *begin = side->by_query ? queries : docs;
    /* the last rank also looks at what is too much */
    const struct lines_wanted wanted = {.first = begin[rank],
                                        .most = rank + 1 < n_ranks ? begin[rank + 1] - begin[rank]
                                                                   : UINT64_MAX,
                                        .counts_others = 1};
    const struct rw_dataset all = {.n_docs = (uint32_t)docs[n_ranks],
                                   .n_queries = (uint32_t)queries[n_ranks]};
    struct rw_input *input;
    struct numbers numbers = {.n_columns = !side->has_columns};
    RW_TRY(rw_own_part_check_path(ctx, path));
    RW_TRY(rw_input_open(ctx, path, &input));
    int status = read_numbers(ctx, input, &side->kind, &wanted, &numbers);
    if (status == RW_OK)
        status = side->check(ctx, &all, side->by_query, rw_input_name(input), numbers.n_seen);
    if (status == RW_OK && !side->has_columns)
        status = side->set(ctx, dataset, numbers.value, numbers.n_lines);
    else if (status == RW_OK && numbers.n_lines > 0)
        status = rw_dataset_set_more_labels(ctx, dataset, numbers.value, numbers.n_lines,
                                            numbers.n_columns);
    rw_mem_free(numbers.value);
    rw_input_close(input);
    return status;
}

static int read_side_file(struct rw_ctx *ctx, struct rw_dataset *dataset,
                          const struct side_file *side, const char *path)
{
    RW_DEFAULT_FPENV;
    const size_t n_offsets = (size_t)rw_n_ranks(ctx) + 1;
    uint64_t *docs = NULL;
    int status;
    RW_TRY_OUT(rw_comm_agree(ctx, RW_NEW(ctx, docs, 2 * n_offsets)));
    uint64_t *queries = docs + n_offsets;
    RW_TRY_OUT(rw_comm_offsets(ctx, dataset->n_docs, docs));
    RW_TRY_OUT(rw_comm_offsets(ctx, dataset->n_queries, queries));
    status = rw_comm_agree(ctx, take_numbers(ctx, dataset, side, path, docs, queries));
out:
    rw_mem_free(docs);
    return status;
}

int rw_dataset_read_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    return read_side_file(ctx, dataset, &weights, path);
}

int rw_dataset_read_query_weights(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    return read_side_file(ctx, dataset, &query_weights, path);
}

int rw_dataset_read_start_scores(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    return read_side_file(ctx, dataset, &start_scores, path);
}

int rw_dataset_read_positions(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    return read_side_file(ctx, dataset, &positions, path);
}

int rw_dataset_read_more_labels(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    return read_side_file(ctx, dataset, &more_labels, path);
}
