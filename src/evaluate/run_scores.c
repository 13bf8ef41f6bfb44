/* Scores of a file: numbers, or a TREC run, whose lines are matched by query and document id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "io/side_files.h"
#include "metric/metric.h"

enum { ID_ROOM = 512 };
/* The score of documents that a run leaves out: they rank behind all others. */
static const double lowest = -1.7976931348623157e308;

struct known_doc {
    char id[ID_ROOM];
    uint32_t doc;
};

struct run {
    struct rw_ctx *ctx;
    struct rw_line_reader lines;
    const struct rw_dataset *dataset;
    double *scores;
    struct rw_query_ids ids; /* owned */
    struct rw_arena arena;   /* of all arrays */
    uint8_t *done;           /* [n_docs] 1: has its score */
    uint8_t *seen;           /* [n_queries] */
    /* The documents of the query that is being read, by id; a run has its queries together. */
    uint32_t query;        /* UINT32_MAX: none */
    struct known_doc *doc; /* [n_here] */
    uint32_t n_here;
    struct rw_run_match match;
};

/* ------------------------------------------------------------------ what the data has */

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct known_doc *)a)->id, ((const struct known_doc *)b)->id);
}

static int list_docs(struct run *run, uint32_t query)
{
    const struct rw_dataset *dataset = run->dataset;
    const uint32_t begin = dataset->query_offset[query];
    const uint32_t n = dataset->query_offset[query + 1] - begin;
    run->query = UINT32_MAX;
    run->n_here = n;
    for (uint32_t i = 0; i < n; i++) {
        rw_dialect_doc_id(dataset, query, i, run->doc[i].id, ID_ROOM);
        run->doc[i].doc = begin + i;
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
static uint32_t query_of(const struct run *run, const struct rw_word *id)
{
    const char *last =
        run->query == UINT32_MAX ? "" : rw_dataset_query_id(run->dataset, run->query);
    size_t query;
    if (strlen(last) == id->n && memcmp(last, id->text, id->n) == 0)
        return run->query;
    return rw_query_ids_find(&run->ids, id->text, id->n, &query) ? (uint32_t)query : UINT32_MAX;
}

/* The line at hand. */
static int take_line(struct run *run)
{
    struct rw_trec_line has;
    const int found = rw_trec_line_of(run->ctx, &run->lines, RW_TREC_RUN, &has);
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
    struct known_doc key;
    const char *id = key.id;
    snprintf(key.id, ID_ROOM, "%.*s",
             (int)(has.document.n < ID_ROOM ? has.document.n : ID_ROOM - 1), has.document.text);
    const struct known_doc *known = bsearch(&key, run->doc, run->n_here, sizeof(*run->doc), by_id);
    if (!known)
        return rw_fail(run->ctx, RW_ERR_DATA,
                       "%s:%llu:%zu: query '%s' of the data has no document '%s'\n"
                       "hint: documents are matched by 'docid = ID' in the data's comments, else "
                       "by QUERY-POSITION",
                       run->lines.name, (unsigned long long)run->lines.number,
                       (size_t)(has.document.text - run->lines.begin) + 1,
                       rw_dataset_query_id(run->dataset, query), id);
    if (run->done[known->doc])
        return rw_fail(run->ctx, RW_ERR_DATA, "%s:%llu:%zu: document '%s' of query '%s' again",
                       run->lines.name, (unsigned long long)run->lines.number,
                       (size_t)(has.document.text - run->lines.begin) + 1, id,
                       rw_dataset_query_id(run->dataset, query));
    run->done[known->doc] = 1;
    run->scores[known->doc] = has.value;
    return RW_OK;
}

static int finish(struct run *run)
{
    const struct rw_dataset *dataset = run->dataset;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        if (!run->seen[q])
            return rw_fail(run->ctx, RW_ERR_DATA, "%s: query '%s' of the data is not in the run",
                           run->lines.name, rw_dataset_query_id(dataset, q));
    }
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        if (run->done[i])
            continue;
        run->scores[i] = lowest;
        run->match.n_unranked++;
    }
    return RW_OK;
}

static int read_run(struct run *run)
{
    RW_TRY(rw_dataset_query_ids(run->ctx, run->dataset, &run->ids));
    const struct rw_dataset *dataset = run->dataset;
    const uint32_t longest = rw_longest_query(dataset->query_offset, dataset->n_queries);
    RW_TRY(RW_ARENA_NEW(run->ctx, &run->arena, run->done, dataset->n_docs));
    RW_TRY(RW_ARENA_NEW(run->ctx, &run->arena, run->seen, dataset->n_queries));
    RW_TRY(RW_ARENA_NEW(run->ctx, &run->arena, run->doc, longest));
    while (rw_line_reader_next(&run->lines))
        RW_TRY(take_line(run));
    return finish(run);
}

/* A number stands alone on its line; a run's line has several words. */
static int is_run(const struct rw_line_reader *lines)
{
    char *text = lines->text;
    text += strspn(text, " \t\r\n");
    return rw_line_words(text, text + strcspn(text, "\n"), NULL, 0) > 1;
}

int rw_dataset_read_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                           double *scores, struct rw_run_match *match)
{
    RW_DEFAULT_FPENV;
    struct run run = {.ctx = ctx, .dataset = dataset, .scores = scores, .query = UINT32_MAX};
    int status = rw_line_reader_open(ctx, path, &run.lines);
    if (status >= 0) {
        run.match.is_run = is_run(&run.lines);
        status = run.match.is_run ? read_run(&run)
                                  : rw_scores_of_lines(ctx, &run.lines, dataset->n_docs, scores);
    }
    if (match)
        *match = status < 0 ? (struct rw_run_match){0} : run.match;
    rw_arena_free(&run.arena);
    rw_query_ids_release(&run.ids);
    rw_line_reader_close(&run.lines);
    return status;
}
