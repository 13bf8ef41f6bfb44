/* Judgments and runs of TREC's files, as one data set: the lines of all files become records, those
 * of a query are brought together and sorted by document, and equal documents become one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "io/side_files.h"

/* A document's id and its end fit where ids are printed and compared. */
enum { MOST_ID = 511, JUDGMENTS = 0 };
static const char expected_id[] = "a document's id of at most 511 bytes, none of them 0";

struct record {
    const char *document; /* in the file's text */
    uint64_t line;
    double value; /* label or score */
    uint32_t query;
    uint32_t file; /* JUDGMENTS, else 1 + the run */
};

/* A struct rw_qrels, which is freed with it, and what it shows; the arrays are in its arena. */
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
    struct rw_query_ids ids;
    const char **query; /* [ids.n] in a text; owned */
    size_t query_room;
    struct record *record; /* [n_records] owned */
    size_t n_records, record_room;
    size_t *query_begin; /* [ids.n + 1] of the sorted records; owned */
    struct rw_builder builder;
};

/* ------------------------------------------------------------------ lines to records */

/* A word as a text: a 0 ends it. */
static const char *end_word(const struct rw_word *word)
{
    word->text[word->n] = 0;
    return word->text;
}

/* The number of the query; a new one if these are judgments, else UINT32_MAX. */
static int number_query(struct reading *reading, const char *id, int is_new, uint32_t *query)
{
    struct rw_query_ids *ids = &reading->ids;
    size_t index;
    *query = UINT32_MAX;
    if (!is_new)
        return rw_query_ids_find(ids, id, strlen(id), &index) ? (*query = (uint32_t)index, RW_OK)
                                                              : RW_OK;
    const int is_known = rw_query_ids_add(reading->ctx, ids, id, &index);
    RW_TRY(is_known);
    if (!is_known) {
        RW_TRY(RW_GROW(reading->ctx, reading->query, reading->query_room, index + 1));
        reading->query[index] = id;
    }
    *query = (uint32_t)index;
    return RW_OK;
}

/* Makes a record of the line at hand, unless it is empty or of a query without judgments. */
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
        return rw_line_wrong(ctx, lines, &line.query, "a query's id without a byte 0");
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
    return rw_fail(ctx, RW_ERR_DATA, "%s: none of the queries that '%s' judges is in the run",
                   lines->name, reading->file[JUDGMENTS].name);
}

/* ------------------------------------------------------------------ records to documents */

/* By falling id, then in the order of the files and their lines. */
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
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++) {
            const size_t begin = reading->query_begin[q], n = reading->query_begin[q + 1] - begin;
            if (n > 1)
                qsort(reading->record + begin, n, sizeof(*reading->record), by_document);
        }
    }
    return RW_OK;
}

/* Brings together what is of one query, then sorts each. */
static int sort_records(struct reading *reading)
{
    struct rw_ctx *ctx = reading->ctx;
    const size_t n_queries = reading->ids.n;
    struct record *sorted = NULL;
    RW_TRY(RW_NEW(ctx, reading->query_begin, n_queries + 2));
    size_t *next = reading->query_begin + 1; /* moves on to the query's end, where it is to stay */
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

/* Records of the same document, [begin, end): no file may have it twice. */
static int check_once(const struct reading *reading, size_t begin, size_t end)
{
    for (size_t i = begin + 1; i < end; i++) {
        const struct record *record = &reading->record[i];
        if (record->file == record[-1].file)
            return rw_fail(reading->ctx, RW_ERR_DATA,
                           "%s:%llu:1: document '%s' of query '%s' again",
                           reading->file[record->file].name, (unsigned long long)record->line,
                           record->document, reading->query[record->query]);
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

/* The document of records [begin, end); its number is the builder's count. */
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
    for (size_t q = 0; q < reading->ids.n; q++) {
        const size_t query_end = reading->query_begin[q + 1];
        RW_TRY(rw_builder_query(ctx, builder, reading->query[q], strlen(reading->query[q])));
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

/* ------------------------------------------------------------------ the runs */

/* One query's records, [begin, end), whose documents are from `doc` on; returns the one after them.
 * answered: [n_runs], written. */
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
    unsigned char *answered = NULL;
    uint32_t doc = 0;
    RW_TRY(RW_ARENA_NEW(reading->ctx, rw_result_arena(made), made->scores, n));
    for (size_t i = 0; i < n; i++)
        made->scores[i] = RW_UNRANKED;
    RW_TRY(RW_NEW(reading->ctx, answered, (size_t)reading->n_runs + 1));
    for (size_t q = 0; q < reading->ids.n; q++)
        doc = score_query(reading, reading->query_begin[q], reading->query_begin[q + 1], doc,
                          answered);
    for (int r = 0; r < reading->n_runs; r++)
        made->run[r].scores = made->scores + (size_t)r * n_docs;
    rw_mem_free(answered);
    return RW_OK;
}

/* ------------------------------------------------------------------ all of it */

static void reading_release(struct reading *reading)
{
    for (int i = 0; reading->file && i <= reading->n_runs; i++)
        rw_line_reader_close(&reading->file[i]);
    rw_mem_free(reading->file);
    rw_query_ids_release(&reading->ids);
    rw_mem_free(reading->query);
    rw_mem_free(reading->record);
    rw_mem_free(reading->query_begin);
    rw_builder_release(&reading->builder);
}

/* Frees what the result's arena does not hold. */
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
