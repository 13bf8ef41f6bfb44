/* Side columns from files: one number per line, several per line, or pairs; scores, names of
 * features, and the lines of TREC's files. */
#include "io/side_files.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "io/data_format.h"

/* ---- lines ---- */

int rw_line_reader_open(struct rw_ctx *ctx, const char *path, struct rw_line_reader *lines)
{
    size_t n;
    *lines = (struct rw_line_reader){.number = 0};
    RW_TRY(rw_input_open(ctx, path, &lines->input));
    RW_TRY(rw_input_read_all(ctx, lines->input, &lines->text, &n));
    while (n && lines->text[n - 1] && strchr(" \t\r\n", lines->text[n - 1]))
        n--;
    lines->name = rw_input_name(lines->input);
    lines->next = lines->text;
    lines->text_end = lines->text + n;
    return RW_OK;
}

int rw_line_reader_next(struct rw_line_reader *lines)
{
    if (lines->next >= lines->text_end)
        return 0;
    char *newline = memchr(lines->next, '\n', (size_t)(lines->text_end - lines->next));
    lines->begin = lines->next;
    lines->end = newline ? newline : lines->text_end;
    *lines->end = 0;
    lines->next = lines->end + 1;
    lines->number++;
    return 1;
}

void rw_line_reader_close(struct rw_line_reader *lines)
{
    rw_input_close(lines->input);
    rw_mem_free(lines->text);
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

int rw_line_words(char *at, const char *end, struct rw_word *words, int most)
{
    for (int n = 0;; n++) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end)
            return n;
        char *begin = at;
        while (at < end && !is_blank(*at))
            at++;
        if (n < most)
            words[n] = (struct rw_word){begin, (size_t)(at - begin)};
    }
}

int rw_line_wrong(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                  const struct rw_word *found, const char *expected)
{
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s, found '%.*s'", lines->name,
                   (unsigned long long)lines->number, (size_t)(found->text - lines->begin) + 1,
                   expected, (int)(found->n < 40 ? found->n : 40), found->text);
}

/* Is the word a number, all of it? */
static int number_of(const struct rw_word *word, double *number)
{
    const char *end = word->text + word->n;
    int clamped;
    return rw_number_parse_double(word->text, end, number, &clamped) == end && !clamped;
}

int rw_trec_line_of(struct rw_ctx *ctx, const struct rw_line_reader *lines, enum rw_trec_file file,
                    struct rw_trec_line *out)
{
    enum { WORDS = 6 };
    static const struct {
        const char *words, *value;
        int n_words, may_have_more, at; /* at: of the value */
        double most;
    } of[] = {{"query iteration document label", "a label (a number up to 2147483648)", 4, 0, 3,
               2147483648.0},
              {"query Q0 document rank score tag", "a score (a finite number)", 6, 1, 4, DBL_MAX}};
    struct rw_word word[WORDS];
    const int n = rw_line_words(lines->begin, lines->end, word, WORDS), wanted = of[file].n_words;
    if (n == 0)
        return 0;
    if (n < wanted || (n > wanted && !of[file].may_have_more))
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:1: expected '%s', found %d word%s", lines->name,
                       (unsigned long long)lines->number, of[file].words, n, n == 1 ? "" : "s");
    if (!number_of(&word[of[file].at], &out->value) || out->value > of[file].most)
        return rw_line_wrong(ctx, lines, &word[of[file].at], of[file].value);
    if (file == RW_TREC_QRELS)
        out->value = out->value > 0 ? (double)(float)out->value : 0.0;
    out->query = word[0];
    out->document = word[2];
    return 1;
}

/* ---- numbers ---- */

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

/* What is at p of the line at hand. */
static int bad_number(struct rw_ctx *ctx, const struct rw_line_reader *lines, const char *p,
                      const char *expected)
{
    enum { MOST = 40 };
    char found[MOST + 8];
    int n = 0;
    for (; n < MOST && p + n < lines->end && p[n] != '\r'; n++)
        found[n] = p[n] ? p[n] : '?';
    while (n && found[n - 1] == ' ')
        n--;
    found[n] = 0;
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s, found %s%s%s", lines->name,
                   (unsigned long long)lines->number, (size_t)(p - lines->begin) + 1, expected,
                   n ? "'" : "", n ? found : "an empty line", n ? "'" : "");
}

/* What was read of a file. */
struct numbers {
    double *value; /* [n_lines][n_columns]; the caller's (rw_mem_free), also after a failure */
    size_t room, n_lines;
    int n_columns; /* 0: as many as the first line has */
};

/* The numbers of the line at hand. */
static int read_line(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                     const struct rw_side_column *kind, struct numbers *numbers)
{
    enum { MOST = RW_MAX_LABELS };
    const int expected = numbers->n_columns;
    const char *end = lines->end, *first = skip_blanks(lines->begin, end), *p = first;
    double row[MOST];
    int n = 0, clamped;
    do {
        const char *q = rw_number_parse_double(p, end, &row[n], &clamped);
        const char *next = q ? skip_blanks(q, end) : NULL;
        if (!q || (next == q && q < end) || clamped || row[n] < kind->least ||
            row[n] > kind->most || (kind->is_whole && row[n] != floor(row[n])))
            return bad_number(ctx, lines, p, kind->expected);
        p = next;
        n++;
    } while (p < end && n < (expected ? expected : MOST));
    if (p < end && expected == 1) /* where the line began: it is no number by itself */
        return bad_number(ctx, lines, first, kind->expected);
    if (p < end || (expected && n != expected))
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s%d numbers, found %s",
                       lines->name, (unsigned long long)lines->number,
                       (size_t)(p - lines->begin) + 1, expected ? "" : "at most ",
                       expected ? expected : MOST, p < end ? "more" : "fewer");
    numbers->n_columns = n;
    RW_TRY(RW_GROW(ctx, numbers->value, numbers->room, (numbers->n_lines + 1) * (size_t)n));
    memcpy(numbers->value + numbers->n_lines++ * (size_t)n, row, (size_t)n * sizeof(*row));
    return RW_OK;
}

/* The numbers of lines first .. first + most - 1, from 0; blank lines at the end do not count.
 * all: the lines after them are counted, too. */
static int read_numbers(struct rw_ctx *ctx, struct rw_line_reader *lines,
                        const struct rw_side_column *kind, uint64_t first, uint64_t most, int all,
                        struct numbers *numbers)
{
    while ((all || numbers->n_lines < most) && rw_line_reader_next(lines)) {
        if (lines->number > first && numbers->n_lines < most)
            RW_TRY(read_line(ctx, lines, kind, numbers));
    }
    return RW_OK;
}

int rw_scores_of_lines(struct rw_ctx *ctx, struct rw_line_reader *lines, uint32_t n, double *scores)
{
    static const struct rw_side_column kind = {
        .least = -DBL_MAX, .most = DBL_MAX, .expected = "a score (a finite number)"};
    struct numbers numbers = {.n_columns = 1};
    int status = read_numbers(ctx, lines, &kind, 0, (uint64_t)n + 1, 0, &numbers);
    const size_t n_read = numbers.n_lines;
    if (status == RW_OK && n_read != n)
        status = rw_fail(ctx, RW_ERR_DATA,
                         n_read > n ? "%s:%zu:1: more scores than the %u documents"
                                    : "%s:%zu:1: expected a score for each of the %u documents, "
                                      "found the end of the file",
                         lines->name, (n_read > n ? n : n_read) + 1, n);
    if (status == RW_OK && n > 0)
        memcpy(scores, numbers.value, n * sizeof(*scores));
    rw_mem_free(numbers.value);
    return status;
}

/* Of a file for all workers' documents, or queries, the numbers of this worker's. docs, queries:
 * before each worker's, [n_workers + 1]. */
static int take_numbers(struct rw_ctx *ctx, struct rw_dataset *dataset,
                        const struct rw_side_column *side, const char *path, const uint64_t *docs,
                        const uint64_t *queries)
{
    const int worker = rw_worker(ctx), n_workers = rw_n_workers(ctx);
    const uint64_t *begin = side->by_query ? queries : docs;
    /* the last worker also looks at what is too much */
    const uint64_t most = worker + 1 < n_workers ? begin[worker + 1] - begin[worker] : UINT64_MAX;
    const struct rw_dataset all = {.n_docs = (uint32_t)docs[n_workers],
                                   .n_queries = (uint32_t)queries[n_workers]};
    struct rw_line_reader lines;
    struct numbers numbers = {.n_columns = !side->has_several};
    RW_TRY(rw_shard_check_path(ctx, path));
    int status = rw_line_reader_open(ctx, path, &lines);
    if (status == RW_OK)
        status = read_numbers(ctx, &lines, side, begin[worker], most, 1, &numbers);
    if (status == RW_OK)
        status = rw_side_column_check(ctx, side, &all, lines.name, lines.number);
    if (status == RW_OK && (numbers.n_lines > 0 || !side->has_several))
        status =
            rw_dataset_set_side_column(ctx, dataset, side->name, numbers.value, numbers.n_lines,
                                       side->has_several ? numbers.n_columns : 1);
    rw_mem_free(numbers.value);
    rw_line_reader_close(&lines);
    return status;
}

/* ---- pairs: "query better worse [weight]" a line ---- */

enum { QUERY, BETTER, WORSE, WEIGHT, WORDS };

struct reading {
    struct rw_ctx *ctx;
    const struct rw_dataset *dataset;
    struct rw_query_ids ids; /* of this worker's queries */
    struct rw_line_reader lines;
    struct rw_given_pair *pair; /* [n_pairs] owned */
    size_t n_pairs, pair_room;
    uint32_t *is_known; /* [lines.number] 1: of a query that a worker has, or of none; owned */
    size_t known_room;
};

/* A document's number among those of a query. */
static int take_document(const struct reading *reading, const struct rw_word *word, size_t query,
                         uint32_t *doc)
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
    return rw_line_wrong(reading->ctx, &reading->lines, word, expected);
}

/* A line with its words, of which there are n. */
static int take_pair(struct reading *reading, const struct rw_word *word, int n)
{
    const struct rw_line_reader *lines = &reading->lines;
    struct rw_given_pair pair = {.weight = 1.0};
    size_t query;
    if (n != WORDS && n != WEIGHT)
        return rw_fail(reading->ctx, RW_ERR_PARSE,
                       "%s:%llu:1: expected 'query better worse' or 'query better worse weight', "
                       "found %d word%s",
                       lines->name, (unsigned long long)lines->number, n, n == 1 ? "" : "s");
    if (!rw_query_ids_find(&reading->ids, word[QUERY].text, word[QUERY].n, &query))
        return RW_OK;
    reading->is_known[lines->number - 1] = 1;
    RW_TRY(take_document(reading, &word[BETTER], query, &pair.better));
    RW_TRY(take_document(reading, &word[WORSE], query, &pair.worse));
    if (pair.better == pair.worse)
        return rw_line_wrong(reading->ctx, lines, &word[WORSE], "another document than the better");
    if (n == WORDS && (!number_of(&word[WEIGHT], &pair.weight) || pair.weight < 0.0 ||
                       pair.weight > RW_MAX_WEIGHT))
        return rw_line_wrong(reading->ctx, lines, &word[WEIGHT],
                             "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT));
    RW_TRY(RW_GROW(reading->ctx, reading->pair, reading->pair_room, reading->n_pairs + 1));
    reading->pair[reading->n_pairs++] = pair;
    return RW_OK;
}

static int read_pair_lines(struct reading *reading, const char *path)
{
    struct rw_line_reader *lines = &reading->lines;
    struct rw_word word[WORDS];
    RW_TRY(rw_dataset_query_ids(reading->ctx, reading->dataset, &reading->ids));
    RW_TRY(rw_shard_check_path(reading->ctx, path));
    RW_TRY(rw_line_reader_open(reading->ctx, path, lines));
    while (rw_line_reader_next(lines)) {
        const int n = rw_line_words(lines->begin, lines->end, word, WORDS);
        const int is_empty = n == 0 || word[0].text[0] == '#';
        RW_TRY(RW_GROW(reading->ctx, reading->is_known, reading->known_room, lines->number));
        reading->is_known[lines->number - 1] = (uint32_t)is_empty;
        if (!is_empty)
            RW_TRY(take_pair(reading, word, n));
    }
    return RW_OK;
}

/* Is each line's query one of some worker's, and is there a pair at all? The same on all workers.
 */
static int check_known(struct reading *reading)
{
    const struct rw_line_reader *lines = &reading->lines;
    uint64_t n_pairs = reading->n_pairs;
    RW_TRY(rw_comm_all_reduce(reading->ctx, reading->is_known, lines->number, RW_COMM_U32,
                              RW_COMM_MAX));
    for (size_t i = 0; i < lines->number; i++) {
        if (!reading->is_known[i])
            return rw_fail(reading->ctx, RW_ERR_DATA,
                           "%s:%zu:1: a pair of a query that the data does not have", lines->name,
                           i + 1);
    }
    RW_TRY(rw_comm_sum(reading->ctx, &n_pairs, 1));
    return n_pairs ? RW_OK
                   : rw_fail(reading->ctx, RW_ERR_DATA,
                             "%s: no pairs: expected lines 'query better worse'", lines->name);
}

static int read_pairs(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    struct reading reading = {.ctx = ctx, .dataset = dataset};
    int status = rw_comm_agree(ctx, read_pair_lines(&reading, path));
    if (status >= 0) {
        status = check_known(&reading);
        if (status >= 0)
            status = rw_dataset_set_pairs(ctx, dataset, reading.pair, reading.n_pairs);
        status = rw_comm_agree(ctx, status);
    }
    rw_query_ids_release(&reading.ids);
    rw_line_reader_close(&reading.lines);
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
    const size_t n_offsets = (size_t)rw_n_workers(ctx) + 1;
    uint64_t *docs RW_FREED = NULL;
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, docs, 2 * n_offsets)));
    uint64_t *queries = docs + n_offsets;
    RW_TRY(rw_comm_offsets(ctx, dataset->n_docs, docs));
    RW_TRY(rw_comm_offsets(ctx, dataset->n_queries, queries));
    return rw_comm_agree(ctx, take_numbers(ctx, dataset, side, path, docs, queries));
}

/* ---- names of features ---- */

static int by_id(const void *a, const void *b)
{
    const uint32_t x = ((const struct rw_feature_name *)a)->feature;
    const uint32_t y = ((const struct rw_feature_name *)b)->feature;
    return (x > y) - (x < y);
}

/* Of the line at hand. */
static int read_name(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                     struct rw_feature_name *out)
{
    const unsigned long long number = lines->number;
    const char *name;
    const long id = rw_parse_id(lines->begin, &name);
    if (id < 0 || (*name != ' ' && *name != '\t'))
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:1: expected 'ID NAME', an id from 0 to %d",
                       lines->name, number, RW_MAX_FEATURE);
    while (*name == ' ' || *name == '\t')
        name++;
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == ',')
            return rw_fail(ctx, RW_ERR_PARSE,
                           "%s:%llu:%zu: expected a name without blanks or commas", lines->name,
                           number, (size_t)(c - lines->begin) + 1);
    }
    if (*name && strspn(name, "0123456789-") == strlen(name))
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%llu: expected a name that is no id or range, found '%.64s'",
                       lines->name, number, name);
    if (!*name)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu: expected a name after the id", lines->name,
                       number);
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
    struct rw_line_reader lines;
    size_t room = 0;
    int status;
    *n = 0;
    *out = NULL;
    RW_TRY_OUT(rw_line_reader_open(ctx, path, &lines));
    while (rw_line_reader_next(&lines)) {
        const size_t length = strlen(lines.begin);
        if (length != (size_t)(lines.end - lines.begin)) {
            status = rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected text, found a zero byte",
                             lines.name, (unsigned long long)lines.number, length + 1);
            goto out;
        }
        while (lines.end > lines.begin && isspace((unsigned char)lines.end[-1]))
            *--lines.end = 0;
        if (!lines.begin[0] || lines.begin[0] == '#')
            continue;
        RW_TRY_OUT(RW_GROW(ctx, *out, room, (size_t)*n + 1));
        RW_TRY_OUT(read_name(ctx, &lines, &(*out)[*n]));
        ++*n;
    }
    RW_TRY_OUT(order_names(ctx, path, *out, *n));
out:
    rw_line_reader_close(&lines);
    if (status < 0) {
        rw_names_free(*out, *n);
        *out = NULL;
        *n = 0;
    }
    return status;
}
