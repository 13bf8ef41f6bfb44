/* Reads files line by line: side columns (one number per line, several per line, or pairs), scores,
 * feature names, and TREC's judgments and runs. */
#include "io/data_format.h"

#include <ctype.h>
#include <float.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "io/text.h"

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

int rw_line_words(char *at, const char *end, struct rw_word *words, int most)
{
    for (int n = 0;; n++) {
        while (at < end && rw_is_blank(*at))
            at++;
        if (at == end)
            return n;
        char *begin = at;
        while (at < end && !rw_is_blank(*at))
            at++;
        if (n < most)
            words[n] = (struct rw_word){begin, (size_t)(at - begin)};
    }
}

/* Fails with an error at `at` of the current line. */
__attribute__((format(printf, 4, 5))) static int line_fail(struct rw_ctx *ctx,
                                                           const struct rw_line_reader *lines,
                                                           const char *at, const char *format, ...)
{
    char text[512];
    RW_FORMAT_ARGS(text, format);
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: %s", lines->name,
                   (unsigned long long)lines->number, (size_t)(at - lines->begin) + 1, text);
}

int rw_line_wrong(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                  const struct rw_word *found, const char *expected)
{
    return line_fail(ctx, lines, found->text, "expected %s, found %s", expected,
                     rw_text_found(found->text, found->n, "''").text);
}

/* Returns 1 if the whole word is a number in the range of double. */
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
        int n_words, may_have_more, at; /* at: index of the value */
        double most;
    } of[] = {{"query iteration document label", "a label (a number up to 2147483648)", 4, 0, 3,
               2147483648.0},
              {"query Q0 document rank score tag", "a score (a finite number)", 6, 1, 4, DBL_MAX}};
    struct rw_word word[WORDS];
    const int n = rw_line_words(lines->begin, lines->end, word, WORDS), wanted = of[file].n_words;
    if (n == 0)
        return 0;
    if (n < wanted || (n > wanted && !of[file].may_have_more))
        return line_fail(ctx, lines, lines->begin, "expected '%s', found %d word%s", of[file].words,
                         n, n == 1 ? "" : "s");
    if (!number_of(&word[of[file].at], &out->value) || out->value > of[file].most)
        return rw_line_wrong(ctx, lines, &word[of[file].at], of[file].value);
    if (file == RW_TREC_QRELS)
        out->value = out->value > 0 ? (double)(float)out->value : 0.0;
    out->query = word[0];
    out->document = word[2];
    return 1;
}

/* ---- numbers ---- */

/* Fails because of the text at p of the current line. */
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
    return line_fail(ctx, lines, p, "expected %s, found %s%s%s", expected, n ? "'" : "",
                     n ? found : "an empty line", n ? "'" : "");
}

/* The numbers of a file. */
struct numbers {
    double *value; /* [n_lines][n_columns]; owned */
    size_t room, n_lines;
    int n_columns; /* 0: as many as the first line has */
};

static void numbers_release(struct numbers *numbers)
{
    rw_mem_free(numbers->value);
}

/* Parses the numbers of the current line and appends them. */
static int read_line(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                     const struct rw_side_column *kind, struct numbers *numbers)
{
    enum { MOST = RW_MAX_LABELS };
    const int expected = numbers->n_columns;
    const char *end = lines->end, *first = rw_skip_blanks(lines->begin, end), *p = first;
    double row[MOST];
    int n = 0, clamped;
    do {
        const char *q = rw_number_parse_double(p, end, &row[n], &clamped);
        const char *next = q ? rw_skip_blanks(q, end) : NULL;
        if (!q || (next == q && q < end) || clamped || row[n] < kind->least ||
            row[n] > kind->most || (kind->is_whole && row[n] != floor(row[n])))
            return bad_number(ctx, lines, p, kind->expected);
        p = next;
        n++;
    } while (p < end && n < (expected ? expected : MOST));
    if (p < end && expected == 1) /* at the start of the line: the text is not a number at all */
        return bad_number(ctx, lines, first, kind->expected);
    if (p < end || (expected && n != expected))
        return line_fail(ctx, lines, p, "expected %s%d numbers, found %s",
                         expected ? "" : "at most ", expected ? expected : MOST,
                         p < end ? "more" : "fewer");
    numbers->n_columns = n;
    RW_TRY(RW_GROW(ctx, numbers->value, numbers->room, (numbers->n_lines + 1) * (size_t)n));
    memcpy(numbers->value + numbers->n_lines++ * (size_t)n, row, (size_t)n * sizeof(*row));
    return RW_OK;
}

/* Reads the numbers of lines first .. first + most - 1, counted from 0. Blank lines at the end of
 * the file do not count. all: 1: advances to the last line, so lines->number counts all lines. */
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
    RW_RELEASED(numbers_release) struct numbers numbers = {.n_columns = 1};
    RW_TRY(read_numbers(ctx, lines, &kind, 0, (uint64_t)n + 1, 0, &numbers));
    const size_t n_read = numbers.n_lines;
    if (n_read != n)
        return rw_fail(ctx, RW_ERR_DATA,
                       n_read > n ? "%s:%zu:1: more scores than documents (%u)"
                                  : "%s:%zu:1: expected a score for each of the %u documents, "
                                    "found the end of the file",
                       lines->name, (n_read > n ? n : n_read) + 1, n);
    if (n > 0)
        memcpy(scores, numbers.value, n * sizeof(*scores));
    return RW_OK;
}

/* Reads a file with numbers for the documents or queries of all workers. Stores those of this
 * worker. begin: number of documents or queries of the workers before it. all: only its n_docs and
 * n_queries are set, to the totals over all workers. */
static int take_numbers(struct rw_ctx *ctx, struct rw_dataset *dataset,
                        const struct rw_side_column *side, const char *path, uint64_t begin,
                        const struct rw_dataset *all)
{
    const uint32_t own = side->by_query ? dataset->n_queries : dataset->n_docs;
    /* the last worker also detects surplus lines */
    const uint64_t most = rw_worker(ctx) + 1 < rw_n_workers(ctx) ? own : UINT64_MAX;
    RW_RELEASED(rw_line_reader_close) struct rw_line_reader lines = {.input = NULL};
    RW_RELEASED(numbers_release) struct numbers numbers = {.n_columns = !side->has_several};
    RW_TRY(rw_shard_check_path(ctx, path));
    RW_TRY(rw_line_reader_open(ctx, path, &lines));
    RW_TRY(read_numbers(ctx, &lines, side, begin, most, 1, &numbers));
    RW_TRY(rw_side_column_check(ctx, side, all, lines.name, lines.number));
    if (side->has_several && numbers.n_lines == 0)
        return RW_OK;
    return rw_dataset_set_side_column(ctx, dataset, side->name, numbers.value, numbers.n_lines,
                                      side->has_several ? numbers.n_columns : 1);
}

/* ---- pairs: lines of "query better worse [weight]" ---- */

enum { QUERY, BETTER, WORSE, WEIGHT, WORDS };

struct pair_file {
    struct rw_ctx *ctx;
    const struct rw_dataset *dataset;
    struct rw_query_ids ids; /* ids of this worker's queries */
    struct rw_line_reader lines;
    struct rw_given_pair *pair; /* [n_pairs] owned */
    size_t n_pairs, pair_room;
    uint32_t *is_known; /* [lines.number] 1: the line is empty or a comment, or this worker (after
                           check_known: any worker) has its query; owned */
    size_t known_room;
};

/* Parses the number of a document within its query, from 1. `query` is the query's index. */
static int take_document(const struct pair_file *pairs, const struct rw_word *word, size_t query,
                         uint32_t *doc)
{
    const uint32_t *offset = pairs->dataset->query_offset + query;
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
    return rw_line_wrong(pairs->ctx, &pairs->lines, word, expected);
}

/* Adds the pair of a line with n words, unless this worker lacks the query. */
static int take_pair(struct pair_file *pairs, const struct rw_word *word, int n)
{
    const struct rw_line_reader *lines = &pairs->lines;
    struct rw_given_pair pair = {.weight = 1.0};
    size_t query;
    if (n != WORDS && n != WEIGHT)
        return line_fail(
            pairs->ctx, lines, lines->begin,
            "expected 'QUERY BETTER WORSE' or 'QUERY BETTER WORSE WEIGHT', found %d word%s", n,
            n == 1 ? "" : "s");
    if (!rw_query_ids_find(&pairs->ids, word[QUERY].text, word[QUERY].n, &query))
        return RW_OK;
    pairs->is_known[lines->number - 1] = 1;
    RW_TRY(take_document(pairs, &word[BETTER], query, &pair.better));
    RW_TRY(take_document(pairs, &word[WORSE], query, &pair.worse));
    if (pair.better == pair.worse)
        return rw_line_wrong(pairs->ctx, lines, &word[WORSE],
                             "a document that differs from the better one");
    if (n == WORDS && (!number_of(&word[WEIGHT], &pair.weight) || pair.weight < 0.0 ||
                       pair.weight > RW_MAX_WEIGHT))
        return rw_line_wrong(pairs->ctx, lines, &word[WEIGHT],
                             "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT));
    RW_TRY(RW_GROW(pairs->ctx, pairs->pair, pairs->pair_room, pairs->n_pairs + 1));
    pairs->pair[pairs->n_pairs++] = pair;
    return RW_OK;
}

static int read_pair_lines(struct pair_file *pairs, const char *path)
{
    struct rw_line_reader *lines = &pairs->lines;
    struct rw_word word[WORDS];
    RW_TRY(rw_dataset_query_ids(pairs->ctx, pairs->dataset, &pairs->ids));
    RW_TRY(rw_shard_check_path(pairs->ctx, path));
    RW_TRY(rw_line_reader_open(pairs->ctx, path, lines));
    while (rw_line_reader_next(lines)) {
        const int n = rw_line_words(lines->begin, lines->end, word, WORDS);
        const int is_empty = n == 0 || word[0].text[0] == '#';
        RW_TRY(RW_GROW(pairs->ctx, pairs->is_known, pairs->known_room, lines->number));
        pairs->is_known[lines->number - 1] = (uint32_t)is_empty;
        if (!is_empty)
            RW_TRY(take_pair(pairs, word, n));
    }
    return RW_OK;
}

/* Fails with RW_ERR_DATA if no worker has the query of a line, or if there is no pair. The result
 * is the same on all workers. */
static int check_known(struct pair_file *pairs)
{
    const struct rw_line_reader *lines = &pairs->lines;
    uint64_t n_pairs = pairs->n_pairs;
    RW_TRY(
        rw_comm_all_reduce(pairs->ctx, pairs->is_known, lines->number, RW_COMM_U32, RW_COMM_MAX));
    for (size_t i = 0; i < lines->number; i++) {
        if (!pairs->is_known[i])
            return rw_fail(pairs->ctx, RW_ERR_DATA,
                           "%s:%zu:1: a pair for a query that the data lacks", lines->name, i + 1);
    }
    RW_TRY(rw_comm_sum(pairs->ctx, &n_pairs, 1));
    return n_pairs ? RW_OK
                   : rw_fail(pairs->ctx, RW_ERR_DATA,
                             "%s: no pairs: expected lines 'QUERY BETTER WORSE'", lines->name);
}

static void pair_file_release(struct pair_file *pairs)
{
    rw_query_ids_release(&pairs->ids);
    rw_line_reader_close(&pairs->lines);
    rw_mem_free(pairs->pair);
    rw_mem_free(pairs->is_known);
}

static int read_pairs(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    RW_RELEASED(pair_file_release) struct pair_file pairs = {.ctx = ctx, .dataset = dataset};
    RW_TRY(rw_comm_agree(ctx, read_pair_lines(&pairs, path)));
    const int status = check_known(&pairs);
    return rw_comm_agree(
        ctx, status < 0 ? status : rw_dataset_set_pairs(ctx, dataset, pairs.pair, pairs.n_pairs));
}

/* ---- side columns ---- */

int rw_dataset_read_side_column(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *name,
                                const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_side_column *side = rw_side_column_find(name);
    if (!side)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown side column '%s'", name);
    if (side->is_pairs)
        return read_pairs(ctx, dataset, path);
    uint64_t first_doc, first_query, n_docs, n_queries;
    RW_TRY(rw_comm_before(ctx, dataset->n_docs, &first_doc, &n_docs));
    RW_TRY(rw_comm_before(ctx, dataset->n_queries, &first_query, &n_queries));
    const struct rw_dataset all = {.n_docs = (uint32_t)n_docs, .n_queries = (uint32_t)n_queries};
    return rw_comm_agree(ctx, take_numbers(ctx, dataset, side, path,
                                           side->by_query ? first_query : first_doc, &all));
}

/* ---- names of features ---- */

/* Parses the current line, "ID NAME". */
static int read_name(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                     struct rw_feature_name *out)
{
    const unsigned long long number = lines->number;
    const char *name, *c;
    const long id = rw_parse_id(lines->begin, &name);
    if (id < 0 || (*name != ' ' && *name != '\t'))
        return line_fail(ctx, lines, lines->begin, "expected 'ID NAME', an id from 0 to %d",
                         RW_MAX_FEATURE);
    name += strspn(name, " \t");
    for (c = name; (unsigned char)*c > ' ' && *c != ','; c++)
        ;
    if (*c)
        return line_fail(ctx, lines, c, "expected a name without blanks or commas");
    if (!*name)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu: expected a name after the id", lines->name,
                       number);
    if (!name[strspn(name, "0123456789-")])
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%llu: expected a name that is not an id or a range, found '%.64s'",
                       lines->name, number, name);
    out->feature = (uint32_t)id;
    return rw_mem_copy_text(ctx, &out->name, name);
}

int rw_names_by_name(const void *a, const void *b)
{
    return strcmp(((const struct rw_feature_name *)a)->name,
                  ((const struct rw_feature_name *)b)->name);
}

/* Sorts the names by id. A feature with two names, or a name of two features, is an error. */
static int order_names(struct rw_ctx *ctx, const char *path, struct rw_feature_name *names,
                       int32_t n)
{
    for (int k = 0; n && k < 2; k++) {
        RW_SORT(names, (size_t)n, k == 0 ? rw_names_by_name : rw_by_u32);
        for (const struct rw_feature_name *one = names; one + 1 < names + n; one++) {
            if (k == 0 && strcmp(one->name, one[1].name) == 0)
                return rw_fail(ctx, RW_ERR_PARSE,
                               "%s: features %u and %u have the same name, '%.64s'", path,
                               one->feature, one[1].feature, one->name);
            if (k == 1 && one->feature == one[1].feature)
                return rw_fail(ctx, RW_ERR_PARSE, "%s: feature %u is named twice", path,
                               one->feature);
        }
    }
    return RW_OK;
}

int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n)
{
    RW_RELEASED(rw_line_reader_close) struct rw_line_reader lines = {.input = NULL};
    size_t room = 0;
    int status;
    *n = 0;
    *out = NULL;
    RW_TRY_OUT(rw_line_reader_open(ctx, path, &lines));
    while (rw_line_reader_next(&lines)) {
        const char *nul = memchr(lines.begin, 0, (size_t)(lines.end - lines.begin));
        if (nul)
            RW_TRY_OUT(line_fail(ctx, &lines, nul, "expected text, found a zero byte"));
        while (lines.end > lines.begin && isspace((unsigned char)lines.end[-1]))
            *--lines.end = 0;
        if (!lines.begin[0] || lines.begin[0] == '#')
            continue;
        RW_TRY_OUT(RW_GROW(ctx, *out, room, (size_t)*n + 1));
        RW_TRY_OUT(read_name(ctx, &lines, &(*out)[*n]));
        ++*n;
        RW_TRY_OUT(rw_name_to_utf8(ctx, &(*out)[*n - 1].name));
    }
    RW_TRY_OUT(order_names(ctx, path, *out, *n));
out:
    if (status < 0) {
        rw_names_free(*out, *n);
        *out = NULL;
        *n = 0;
    }
    return status;
}

/* ---- judgments and runs from TREC's files, as one data set ----
 *
 * The lines of all files become records, except lines of runs for queries without judgments.
 * Records are grouped by query and sorted by descending document id, and those of the same id
 * become one document. */

/* MOST_ID: bytes of the longest document id, which fits, with the terminating 0, where ids are
 * printed and compared. JUDGMENTS: index of the file with judgments; run r is file 1 + r. */
enum { MOST_ID = 511, JUDGMENTS = 0 };
static const char expected_id[] = "a document id of at most 511 bytes without zero bytes";

struct record {
    const char *document; /* part of the file's text */
    uint64_t line;
    double value;   /* a label or a score */
    uint32_t query; /* index in reading.query */
    uint32_t file;  /* JUDGMENTS, or 1 + the index of the run */
};

/* A struct rw_qrels with the data that it points to, which is freed with it. The arrays are in its
 * arena. */
struct made {
    struct rw_qrels qrels;
    struct rw_dataset *dataset; /* owned */
    struct rw_qrels_run *run;   /* [n_runs] */
    double *scores;             /* [n_runs][n_docs] */
};

struct reading {
    struct rw_ctx *ctx;
    struct made *made;
    int n_runs;
    struct rw_line_reader *file; /* [1 + n_runs] owned */
    struct rw_text_set queries;  /* ids; owned */
    struct record *record;       /* [n_records] owned */
    size_t n_records, record_room;
    size_t *query_begin; /* [queries.ids.n + 1] index of each query's first record, once sorted;
                            owned */
    struct rw_builder builder;
};

/* ---- from lines to records ---- */

/* Terminates a word by 0 and returns it. */
static const char *end_word(const struct rw_word *word)
{
    word->text[word->n] = 0;
    return word->text;
}

/* Finds the index of a query. is_new: 1 (judgments): an unknown query is added; 0 (runs): *query is
 * UINT32_MAX for an unknown query. */
static int number_query(struct reading *reading, const char *id, int is_new, uint32_t *query)
{
    const size_t n = strlen(id);
    size_t index = UINT32_MAX;
    if (is_new)
        RW_TRY(rw_text_set_add(reading->ctx, &reading->queries, id, n, &index));
    else if (!rw_query_ids_find(&reading->queries.ids, id, n, &index))
        index = UINT32_MAX;
    *query = (uint32_t)index;
    return RW_OK;
}

/* Makes a record of the current line, unless it is empty or its query has no judgments. */
static int take_line(struct reading *reading, uint32_t file)
{
    struct rw_ctx *ctx = reading->ctx;
    const struct rw_line_reader *lines = &reading->file[file];
    struct rw_trec_line line;
    struct record record = {.line = lines->number, .file = file};
    const int found =
        rw_trec_line_of(ctx, lines, file == JUDGMENTS ? RW_TREC_QRELS : RW_TREC_RUN, &line);
    if (found <= 0)
        return found;
    if (memchr(line.query.text, 0, line.query.n))
        return rw_line_wrong(ctx, lines, &line.query, "a query id without zero bytes");
    if (line.document.n > MOST_ID || memchr(line.document.text, 0, line.document.n))
        return rw_line_wrong(ctx, lines, &line.document, expected_id);
    record.value = line.value;
    RW_TRY(number_query(reading, end_word(&line.query), file == JUDGMENTS, &record.query));
    if (record.query == UINT32_MAX) {
        reading->made->run[file - 1].n_unknown++;
        return RW_OK;
    }
    record.document = end_word(&line.document);
    RW_TRY(RW_GROW(ctx, reading->record, reading->record_room, reading->n_records + 1));
    reading->record[reading->n_records++] = record;
    return RW_OK;
}

static int read_file(struct reading *reading, uint32_t file, const char *path)
{
    struct rw_ctx *ctx = reading->ctx;
    struct rw_line_reader *lines = &reading->file[file];
    const size_t n_before = reading->n_records;
    RW_TRY(rw_line_reader_open(ctx, path, lines));
    while (rw_line_reader_next(lines))
        RW_TRY(take_line(reading, file));
    if (reading->n_records > n_before)
        return RW_OK;
    if (file == JUDGMENTS)
        return rw_fail(ctx, RW_ERR_DATA,
                       "%s: no judgments: expected 'query iteration document label'", lines->name);
    return rw_fail(ctx, RW_ERR_DATA, "%s: the run has no query that '%s' judges", lines->name,
                   reading->file[JUDGMENTS].name);
}

/* ---- from records to documents ---- */

/* Orders by descending id, then by file and line. */
static int by_document(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    const int order = strcmp(y->document, x->document);
    if (order)
        return order;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int sort_queries(void *user, struct rw_share *share)
{
    const struct reading *reading = user;
    RW_SHARE_EACH(share, q) {
        const size_t begin = reading->query_begin[q], n = reading->query_begin[q + 1] - begin;
        RW_SORT(reading->record + begin, n, by_document);
    }
    return RW_OK;
}

/* Groups the records by query, then sorts each group. */
static int sort_records(struct reading *reading)
{
    struct rw_ctx *ctx = reading->ctx;
    const size_t n_queries = reading->queries.ids.n;
    struct record *sorted = NULL;
    RW_TRY(RW_NEW(ctx, reading->query_begin, n_queries + 2));
    size_t *next = reading->query_begin + 1; /* advances to the query's end, its final value */
    RW_TRY(RW_NEW_RAW(ctx, sorted, reading->n_records));
    for (size_t i = 0; i < reading->n_records; i++)
        next[reading->record[i].query + 1]++;
    for (size_t q = 1; q < n_queries; q++)
        next[q] += next[q - 1];
    for (size_t i = 0; i < reading->n_records; i++)
        sorted[next[reading->record[i].query]++] = reading->record[i];
    rw_mem_free(reading->record);
    reading->record = sorted;
    rw_parallel(ctx, ctx->n_threads, n_queries, 8, sort_queries, reading);
    return RW_OK;
}

/* Checks that no file contains a document twice. Records [begin, end) are those of one document. */
static int check_once(const struct reading *reading, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i < end; i++) {
        const struct record *record = &reading->record[i];
        if (record->file == record[-1].file)
            return rw_fail(reading->ctx, RW_ERR_DATA,
                           "%s:%llu:1: document '%s' of query '%s' is repeated",
                           reading->file[record->file].name, (unsigned long long)record->line,
                           record->document, reading->queries.text[record->query]);
    }
    return RW_OK;
}

static size_t end_of_document(const struct reading *reading, size_t begin, size_t end)
{
    size_t i = begin + 1;
    while (i < end && strcmp(reading->record[i].document, reading->record[begin].document) == 0)
        i++;
    return i;
}

/* Adds the document of the records from `begin` on to the builder. */
static int add_document(struct reading *reading, size_t begin)
{
    static const char is_id[] = "docid = ";
    char comment[sizeof(is_id) + MOST_ID];
    struct rw_builder *builder = &reading->builder;
    const struct record *first = &reading->record[begin];
    const size_t n_id = strlen(first->document), n_is = sizeof(is_id) - 1;
    const int is_judged = first->file == JUDGMENTS;
    if (builder->n_docs == UINT32_MAX - 1)
        return rw_fail(reading->ctx, RW_ERR_DATA, "more than %u documents", UINT32_MAX - 1);
    memcpy(comment, is_id, n_is);
    memcpy(comment + n_is, first->document, n_id);
    if (is_judged)
        RW_TRY(rw_builder_line(reading->ctx, builder, first->line));
    reading->made->qrels.n_judged += (uint64_t)is_judged;
    return rw_builder_doc(reading->ctx, builder, is_judged ? (float)first->value : 0.0F, NULL, NULL,
                          0, comment, n_is + n_id);
}

static int make_dataset(struct reading *reading)
{
    struct rw_ctx *ctx = reading->ctx;
    struct rw_builder *builder = &reading->builder;
    RW_TRY(rw_mem_copy_text(ctx, &builder->file, reading->file[JUDGMENTS].name));
    for (size_t q = 0; q < reading->queries.ids.n; q++) {
        const size_t query_end = reading->query_begin[q + 1];
        RW_TRY(rw_builder_query(ctx, builder, reading->queries.text[q],
                                strlen(reading->queries.text[q])));
        for (size_t i = reading->query_begin[q], end; i < query_end; i = end) {
            end = end_of_document(reading, i, query_end);
            RW_TRY(check_once(reading, i, end));
            RW_TRY(add_document(reading, i));
        }
    }
    RW_TRY(rw_builder_finish(ctx, builder, 1, &reading->made->dataset));
    reading->made->dataset->is_qrels = 1;
    return RW_OK;
}

/* ---- scores of runs ---- */

/* Sets the scores of one query's records, [begin, end), whose documents are numbered from `doc` on.
 * Returns the next document. answered: [n_runs], written: 1: the run has documents of the query. */
static uint32_t score_query(struct reading *reading, size_t begin, size_t query_end, uint32_t doc,
                            unsigned char *answered)
{
    struct made *made = reading->made;
    memset(answered, 0, (size_t)reading->n_runs);
    for (size_t i = begin, end; i < query_end; i = end, doc++) {
        const int is_judged = reading->record[i].file == JUDGMENTS;
        end = end_of_document(reading, i, query_end);
        for (size_t k = i + (size_t)is_judged; k < end; k++) {
            const uint32_t r = reading->record[k].file - 1;
            made->scores[(size_t)r * made->dataset->n_docs + doc] = reading->record[k].value;
            made->run[r].n_ranked++;
            made->run[r].n_unjudged += !is_judged;
            answered[r] = 1;
        }
    }
    for (int r = 0; r < reading->n_runs; r++)
        made->run[r].n_unanswered += !answered[r];
    return doc;
}

static int make_scores(struct reading *reading)
{
    struct made *made = reading->made;
    const size_t n_docs = made->dataset->n_docs, n = n_docs * (size_t)reading->n_runs;
    unsigned char *answered RW_FREED = NULL;
    uint32_t doc = 0;
    RW_TRY(RW_ARENA_NEW(reading->ctx, rw_result_arena(made), made->scores, n));
    for (size_t i = 0; i < n; i++)
        made->scores[i] = RW_UNRANKED;
    RW_TRY(RW_NEW(reading->ctx, answered, (size_t)reading->n_runs + 1));
    for (size_t q = 0; q < reading->queries.ids.n; q++)
        doc = score_query(reading, reading->query_begin[q], reading->query_begin[q + 1], doc,
                          answered);
    for (int r = 0; r < reading->n_runs; r++)
        made->run[r].scores = made->scores + (size_t)r * n_docs;
    return RW_OK;
}

/* ---- the whole data set ---- */

static void reading_release(struct reading *reading)
{
    for (int i = 0; reading->file && i <= reading->n_runs; i++)
        rw_line_reader_close(&reading->file[i]);
    rw_mem_free(reading->file);
    rw_text_set_release(&reading->queries);
    rw_mem_free(reading->record);
    rw_mem_free(reading->query_begin);
    rw_builder_release(&reading->builder);
}

/* Frees the data set, which the result's arena does not contain. */
static void free_dataset(void *made)
{
    rw_dataset_free(((struct made *)made)->dataset);
}

int rw_qrels_read(struct rw_ctx *ctx, const char *qrels, const char *const *runs, int n_runs,
                  struct rw_qrels **out)
{
    RW_DEFAULT_FPENV;
    struct reading reading = {.ctx = ctx, .n_runs = n_runs};
    struct made *made;
    int status = RW_OK;
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&made, sizeof(*made)));
    reading.made = made;
    RW_TRY_OUT(rw_arena_own(ctx, rw_result_arena(made), made, free_dataset));
    RW_TRY_OUT(RW_ARENA_NEW(ctx, rw_result_arena(made), made->run, (size_t)n_runs + 1));
    RW_TRY_OUT(RW_NEW(ctx, reading.file, (size_t)n_runs + 1));
    RW_TRY_OUT(read_file(&reading, JUDGMENTS, qrels));
    for (int r = 0; r < n_runs; r++)
        RW_TRY_OUT(read_file(&reading, (uint32_t)r + 1, runs[r]));
    RW_TRY_OUT(sort_records(&reading));
    RW_TRY_OUT(make_dataset(&reading));
    RW_TRY_OUT(make_scores(&reading));
    made->qrels.dataset = made->dataset;
    made->qrels.n_runs = n_runs;
    made->qrels.runs = made->run;
    *out = &made->qrels;
out:
    reading_release(&reading);
    if (status < 0)
        rw_free(made);
    return status;
}
