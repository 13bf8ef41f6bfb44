/* Side columns from files: one number per line, several per line, or pairs; and scores. */
#include "io/side_files.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/system.h"
#include "comm/comm.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "io/input.h"
#include "io/data_format.h"

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
                       const char *p, const char *end, const struct rw_side_column *kind,
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
static int read_line(struct rw_ctx *ctx, const char *name, const struct rw_side_column *kind,
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
static int read_numbers(struct rw_ctx *ctx, struct rw_input *input,
                        const struct rw_side_column *kind, const struct lines_wanted *wanted,
                        struct numbers *numbers)
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
    static const struct rw_side_column kind = {
        .least = -DBL_MAX, .most = DBL_MAX, .expected = "a score (a finite number)"};
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

/* Of a file for all ranks' documents, or queries, the numbers of this rank's. docs, queries: before
 * each rank's, [n_ranks + 1]. */
static int take_numbers(struct rw_ctx *ctx, struct rw_dataset *dataset,
                        const struct rw_side_column *side, const char *path, const uint64_t *docs,
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
    struct numbers numbers = {.n_columns = !side->has_several};
    RW_TRY(rw_own_part_check_path(ctx, path));
    RW_TRY(rw_input_open(ctx, path, &input));
    int status = read_numbers(ctx, input, side, &wanted, &numbers);
    if (status == RW_OK)
        status = rw_side_column_check(ctx, side, &all, rw_input_name(input), numbers.n_seen);
    if (status == RW_OK && (numbers.n_lines > 0 || !side->has_several))
        status =
            rw_dataset_set_side_column(ctx, dataset, side->name, numbers.value, numbers.n_lines,
                                       side->has_several ? numbers.n_columns : 1);
    rw_mem_free(numbers.value);
    rw_input_close(input);
    return status;
}

/* ---- pairs: "query better worse [weight]" a line ---- */

enum { QUERY, BETTER, WORSE, WEIGHT, WORDS };

struct reading {
    struct rw_ctx *ctx;
    const struct rw_dataset *dataset;
    struct rw_query_ids ids; /* of this rank's queries */
    struct rw_input *input;  /* owned */
    char *text;              /* owned */
    size_t n_bytes;
    struct rw_given_pair *pair; /* [n_pairs] owned */
    size_t n_pairs, pair_room;
    uint32_t *is_known; /* [n_lines] 1: of a query that a rank has, or of none; owned */
    size_t n_lines, line_room;
};

/* A document's number among those of a query. */
static int take_document(const struct reading *reading, const struct rw_trec_line *line,
                         const struct rw_trec_word *word, size_t query, uint32_t *doc)
{
    const uint32_t *offset = reading->dataset->query_offset + query;
    char digits[16], expected[80];
    uint64_t number = 0;
    if (word->n < sizeof(digits)) {
        snprintf(digits, sizeof(digits), "%.*s", (int)word->n, word->text);
        if (rw_number_whole(digits, offset[1] - offset[0], &number) && number > 0) {
            *doc = offset[0] + (uint32_t)number - 1;
            return RW_OK;
        }
    }
    snprintf(expected, sizeof(expected), "a document of the query, 1 to %u", offset[1] - offset[0]);
    return rw_trec_wrong(reading->ctx, line, word, expected);
}

static int take_weight(const struct reading *reading, const struct rw_trec_line *line,
                       const struct rw_trec_word *word, double *weight)
{
    const char *end = word->text + word->n;
    int clamped;
    if (rw_number_parse_double(word->text, end, weight, &clamped) == end && !clamped &&
        *weight >= 0.0 && *weight <= RW_MAX_WEIGHT)
        return RW_OK;
    return rw_trec_wrong(reading->ctx, line, word, "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT));
}

/* A line with its words, of which there are n. */
static int take_pair(struct reading *reading, const struct rw_trec_line *line,
                     const struct rw_trec_word *word, int n)
{
    struct rw_given_pair pair = {.weight = 1.0};
    size_t query;
    if (n != WORDS && n != WEIGHT)
        return rw_fail(reading->ctx, RW_ERR_PARSE,
                       "%s:%llu:1: expected 'query better worse' or 'query better worse weight', "
                       "found %d word%s",
                       line->file, (unsigned long long)line->number, n, n == 1 ? "" : "s");
    if (!rw_query_ids_find(&reading->ids, word[QUERY].text, word[QUERY].n, &query))
        return RW_OK;
    reading->is_known[reading->n_lines - 1] = 1;
    RW_TRY(take_document(reading, line, &word[BETTER], query, &pair.better));
    RW_TRY(take_document(reading, line, &word[WORSE], query, &pair.worse));
    if (pair.better == pair.worse)
        return rw_trec_wrong(reading->ctx, line, &word[WORSE], "another document than the better");
    if (n == WORDS)
        RW_TRY(take_weight(reading, line, &word[WEIGHT], &pair.weight));
    RW_TRY(RW_GROW(reading->ctx, reading->pair, reading->pair_room, reading->n_pairs + 1));
    reading->pair[reading->n_pairs++] = pair;
    return RW_OK;
}

static int take_lines(struct reading *reading)
{
    struct rw_trec_line line = {.file = rw_input_name(reading->input)};
    for (char *at = reading->text, *end = at + reading->n_bytes; at < end;
         at = (char *)(uintptr_t)line.end + 1) {
        struct rw_trec_word word[WORDS];
        const char *next = memchr(at, '\n', (size_t)(end - at));
        line = (struct rw_trec_line){line.file, line.number + 1, at, next ? next : end};
        RW_TRY(RW_GROW(reading->ctx, reading->is_known, reading->line_room, line.number));
        reading->n_lines = line.number;
        const int n = rw_trec_words(line.begin, line.end, word, WORDS);
        const int is_empty = n == 0 || word[0].text[0] == '#';
        reading->is_known[line.number - 1] = (uint32_t)is_empty;
        if (!is_empty)
            RW_TRY(take_pair(reading, &line, word, n));
    }
    return RW_OK;
}

static int read_file(struct reading *reading, const char *path)
{
    RW_TRY(rw_dataset_query_ids(reading->ctx, reading->dataset, &reading->ids));
    RW_TRY(rw_own_part_check_path(reading->ctx, path));
    RW_TRY(rw_input_open(reading->ctx, path, &reading->input));
    RW_TRY(rw_input_read_all(reading->ctx, reading->input, &reading->text, &reading->n_bytes));
    return take_lines(reading);
}

/* Is each line's query one of some rank's, and is there a pair at all? The same on all ranks. */
static int check_known(struct reading *reading)
{
    uint64_t n_pairs = reading->n_pairs;
    RW_TRY(rw_comm_all_reduce(reading->ctx, reading->is_known, reading->n_lines, RW_COMM_U32,
                              RW_COMM_MAX));
    for (size_t i = 0; i < reading->n_lines; i++) {
        if (!reading->is_known[i])
            return rw_fail(reading->ctx, RW_ERR_DATA,
                           "%s:%zu:1: a pair of a query that the data does not have",
                           rw_input_name(reading->input), i + 1);
    }
    RW_TRY(rw_comm_sum(reading->ctx, &n_pairs, 1));
    return n_pairs ? RW_OK
                   : rw_fail(reading->ctx, RW_ERR_DATA,
                             "%s: no pairs: expected lines 'query better worse'",
                             rw_input_name(reading->input));
}

static int give_pairs(struct reading *reading, struct rw_dataset *dataset)
{
    RW_TRY(check_known(reading));
    return rw_dataset_set_pairs(reading->ctx, dataset, reading->pair, reading->n_pairs);
}

static int read_pairs(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    struct reading reading = {.ctx = ctx, .dataset = dataset};
    int status = rw_comm_agree(ctx, read_file(&reading, path));
    if (status >= 0)
        status = rw_comm_agree(ctx, give_pairs(&reading, dataset));
    rw_query_ids_release(&reading.ids);
    rw_input_close(reading.input);
    rw_mem_free(reading.text);
    rw_mem_free(reading.pair);
    rw_mem_free(reading.is_known);
    return status;
}

/* ---- side columns ---- */

int rw_dataset_read_side_column(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *name,
                                const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_side_column *side = rw_side_column_find(name);
    if (!side)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "no side column is called '%s'", name);
    if (side->is_pairs)
        return read_pairs(ctx, dataset, path);
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

static int by_id(const void *a, const void *b)
{
    const uint32_t x = ((const struct rw_feature_name *)a)->feature;
    const uint32_t y = ((const struct rw_feature_name *)b)->feature;
    return (x > y) - (x < y);
}

static int read_name(struct rw_ctx *ctx, const char *path, size_t number, char *line,
                     struct rw_feature_name *out)
{
    const char *rest;
    const long id = rw_parse_id(line, &rest);
    char *name = line + (rest - line);
    if (id < 0 || (*name != ' ' && *name != '\t'))
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%zu:1: expected 'ID NAME', an id from 0 to %d", path,
                       number, RW_MAX_FEATURE);
    while (*name == ' ' || *name == '\t')
        name++;
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == ',')
            return rw_fail(ctx, RW_ERR_PARSE,
                           "%s:%zu:%zu: expected a name without blanks or commas", path, number,
                           (size_t)(c - line) + 1);
    }
    if (*name && strspn(name, "0123456789-") == strlen(name))
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%zu: expected a name that is no id or range, found '%.64s'", path,
                       number, name);
    if (!*name)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%zu: expected a name after the id", path, number);
    out->feature = (uint32_t)id;
    return rw_mem_copy_text(ctx, &out->name, name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rw_feature_name *)a)->name,
                  ((const struct rw_feature_name *)b)->name);
}

/* Sorts the names by id; a feature named twice, or two with one name, is an error. */
static int order_names(struct rw_ctx *ctx, const char *path, struct rw_feature_name *names,
                       int32_t n)
{
    if (n)
        qsort(names, (size_t)n, sizeof(*names), by_name);
    for (int32_t i = 0; i + 1 < n; i++) {
        if (strcmp(names[i].name, names[i + 1].name) == 0)
            return rw_fail(ctx, RW_ERR_PARSE, "%s: features %u and %u have one name, '%.64s'", path,
                           names[i].feature, names[i + 1].feature, names[i].name);
    }
    if (n)
        qsort(names, (size_t)n, sizeof(*names), by_id);
    for (int32_t i = 0; i + 1 < n; i++) {
        if (names[i].feature == names[i + 1].feature)
            return rw_fail(ctx, RW_ERR_PARSE, "%s: feature %u is named twice", path,
                           names[i].feature);
    }
    return RW_OK;
}

int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n)
{
    int status = RW_OK;
    struct rw_feature_name *names = NULL;
    size_t room = 0, line_room = 0, number = 0;
    char *line = NULL;
    *n = 0;
    *out = NULL;
    FILE *file = rw_system_fopen(path, "r");
    if (!file)
        return rw_fail_io(ctx, errno, "cannot open '%s'", path);
    ssize_t length;
    while ((length = getline(&line, &line_room, file)) >= 0) {
        number++;
        if (strlen(line) != (size_t)length) {
            status = rw_fail(ctx, RW_ERR_PARSE, "%s:%zu:%zu: expected text, found a zero byte",
                             path, number, strlen(line) + 1);
            goto out;
        }
        while (length > 0 && isspace((unsigned char)line[length - 1]))
            line[--length] = 0;
        if (!line[0] || line[0] == '#')
            continue;
        RW_TRY_OUT(RW_GROW(ctx, names, room, (size_t)*n + 1));
        RW_TRY_OUT(read_name(ctx, path, number, line, &names[*n]));
        ++*n;
    }
    if (!feof(file)) { /* getline failed, for want of memory perhaps */
        status = rw_fail_io(ctx, errno, "cannot read '%s'", path);
        goto out;
    }
    RW_TRY_OUT(order_names(ctx, path, names, *n));
out:
    fclose(file);
    free(line);
    if (status < 0) {
        rw_names_free(names, *n);
        names = NULL;
        *n = 0;
    }
    *out = names;
    return status;
}
