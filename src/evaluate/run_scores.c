/* Scores of a file: numbers, or a TREC run, whose lines are matched by query and document id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "io/input.h"
#include "io/side_files.h"
#include "metric/metric.h"

enum { ID_ROOM = 512 };
/* The score of documents that a run leaves out: they rank behind all others. */
static const double lowest = -1.7976931348623157e308;

struct known_doc {
    char *id; /* owned */
    uint32_t doc;
};

struct run {
    struct rw_ctx *ctx;
    const char *name; /* of the file */
    const struct rw_dataset *dataset;
    double *scores;
    struct rw_query_ids ids; /* owned */
    uint8_t *done;           /* [n_docs] 1: has its score; owned */
    uint8_t *seen;           /* [n_queries] owned */
    /* The documents of the query that is being read, by id; a run has its queries together. */
    uint32_t query;        /* UINT32_MAX: none */
    struct known_doc *doc; /* [n_here] owned */
    uint32_t n_here;
    size_t doc_room;
    uint64_t line; /* from 1 */
    struct rw_run_match match;
};

/* ------------------------------------------------------------------ what the data has */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct known_doc *)a)->id, ((const struct known_doc *)b)->id);
}

static void forget_docs(struct run *run)
{
    for (uint32_t i = 0; i < run->n_here; i++)
        rw_mem_free(run->doc[i].id);
    run->n_here = 0;
    run->query = UINT32_MAX;
}

static int list_docs(struct run *run, uint32_t query)
{
    const struct rw_dataset *dataset = run->dataset;
    const uint32_t begin = dataset->query_offset[query];
    const uint32_t n = dataset->query_offset[query + 1] - begin;
    forget_docs(run);
    RW_TRY(RW_GROW(run->ctx, run->doc, run->doc_room, (size_t)n + 1));
    for (uint32_t i = 0; i < n; i++) {
        char id[ID_ROOM];
        rw_dialect_doc_id(dataset, query, i, id, sizeof(id));
        RW_TRY(rw_mem_copy_text(run->ctx, &run->doc[i].id, id));
        run->doc[i].doc = begin + i;
        run->n_here = i + 1;
    }
    qsort(run->doc, n, sizeof(*run->doc), by_id);
    for (uint32_t i = 1; i < n; i++) {
        if (strcmp(run->doc[i].id, run->doc[i - 1].id) == 0)
            return rw_fail(run->ctx, RW_ERR_DATA,
                           "query '%s' of the data has two documents '%s': a run cannot tell them "
                           "apart",
                           rw_dataset_query_id(dataset, query), run->doc[i].id);
    }
    run->query = query;
    return RW_OK;
}

/* ------------------------------------------------------------------ lines */

/* Most lines are of the same query as the line before. */
static uint32_t query_of(const struct run *run, const struct rw_trec_word *id)
{
    const char *last =
        run->query == UINT32_MAX ? "" : rw_dataset_query_id(run->dataset, run->query);
    size_t query;
    if (strlen(last) == id->n && memcmp(last, id->text, id->n) == 0)
        return run->query;
    return rw_query_ids_find(&run->ids, id->text, id->n, &query) ? (uint32_t)query : UINT32_MAX;
}

static int take_line(struct run *run, const char *line, const char *end)
{
    struct rw_trec_run_line has;
    const int found =
        rw_trec_run_line(run->ctx, &(struct rw_trec_line){run->name, run->line, line, end}, &has);
    if (found <= 0)
        return found;
    const uint32_t query = query_of(run, &has.query);
    if (query == UINT32_MAX) {
        run->match.n_unknown++;
        return RW_OK;
    }
    if (query != run->query)
        RW_TRY(list_docs(run, query));
    run->seen[query] = 1;
    char id[ID_ROOM];
    snprintf(id, sizeof(id), "%.*s", (int)(has.document.n < ID_ROOM ? has.document.n : ID_ROOM - 1),
             has.document.text);
    const struct known_doc key = {.id = id};
    const struct known_doc *known = bsearch(&key, run->doc, run->n_here, sizeof(*run->doc), by_id);
    if (!known)
        return rw_fail(run->ctx, RW_ERR_DATA,
                       "%s:%llu:%zu: query '%s' of the data has no document '%s'\n"
                       "hint: documents are matched by 'docid = ID' in the data's comments, else "
                       "by QUERY-POSITION",
                       run->name, (unsigned long long)run->line,
                       (size_t)(has.document.text - line) + 1,
                       rw_dataset_query_id(run->dataset, query), id);
    if (run->done[known->doc])
        return rw_fail(run->ctx, RW_ERR_DATA, "%s:%llu:%zu: document '%s' of query '%s' again",
                       run->name, (unsigned long long)run->line,
                       (size_t)(has.document.text - line) + 1, id,
                       rw_dataset_query_id(run->dataset, query));
    run->done[known->doc] = 1;
    run->scores[known->doc] = has.score;
    return RW_OK;
}

static int finish(struct run *run)
{
    const struct rw_dataset *dataset = run->dataset;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        if (!run->seen[q])
            return rw_fail(run->ctx, RW_ERR_DATA, "%s: query '%s' of the data is not in the run",
                           run->name, rw_dataset_query_id(dataset, q));
    }
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        if (run->done[i])
            continue;
        run->scores[i] = lowest;
        run->match.n_unranked++;
    }
    return RW_OK;
}

static int read_run(struct run *run, const char *text, const char *end)
{
    int status = RW_OK;
    RW_TRY_OUT(rw_dataset_query_ids(run->ctx, run->dataset, &run->ids));
    RW_TRY_OUT(RW_NEW(run->ctx, run->done, run->dataset->n_docs));
    RW_TRY_OUT(RW_NEW(run->ctx, run->seen, run->dataset->n_queries));
    for (const char *line = text; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        run->line++;
        RW_TRY_OUT(take_line(run, line, next ? next : end));
        line = next ? next + 1 : end;
    }
    RW_TRY_OUT(finish(run));
out:
    forget_docs(run);
    rw_mem_free(run->doc);
    rw_query_ids_release(&run->ids);
    rw_mem_free(run->done);
    rw_mem_free(run->seen);
    return status;
}

/* A number stands alone on its line; a run's line has several words. */
static int is_run(const char *text, const char *end)
{
    while (text < end && (rw_trec_is_blank(*text) || *text == '\n'))
        text++;
    const char *stop = memchr(text, '\n', (size_t)(end - text));
    return rw_trec_words(text, stop ? stop : end, NULL, 0) > 1;
}

int rw_dataset_read_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                           double *scores, struct rw_run_match *match)
{
    RW_DEFAULT_FPENV;
    struct rw_input *input = NULL, *numbers;
    char *text = NULL;
    size_t n_bytes;
    int status = RW_OK;
    if (match)
        *match = (struct rw_run_match){0};
    RW_TRY_OUT(rw_input_open(ctx, path, &input));
    RW_TRY_OUT(rw_input_read_all(ctx, input, &text, &n_bytes));
    if (is_run(text, text + n_bytes)) {
        struct run run = {.ctx = ctx,
                          .name = rw_input_name(input),
                          .dataset = dataset,
                          .scores = scores,
                          .query = UINT32_MAX,
                          .match = {.is_run = 1}};
        RW_TRY_OUT(read_run(&run, text, text + n_bytes));
        if (match)
            *match = run.match;
    } else {
        RW_TRY_OUT(rw_input_open_memory(ctx, rw_input_name(input), text, n_bytes, &numbers));
        RW_TRY_OUT(rw_scores_read_input(ctx, numbers, dataset->n_docs, scores));
    }
out:
    rw_input_close(input);
    rw_mem_free(text);
    return status;
}
