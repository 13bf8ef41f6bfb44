/* Measures one ranking: by Rankwood's parameters, by the conventions of another program, or by
 * those of all programs in one table. It also reads scores from files, which are numbers or TREC
 * runs. */
#include "evaluate/evaluate.h"

#include <stdlib.h>

#include "io/data_format.h"

/* One request for a measurement: parameters, data and scores. All pointers are borrowed. */
struct request {
    struct rw_ctx *ctx;
    const struct rw_eval_params *how;
    const struct rw_dataset *dataset;
    const double *scores;
};

/* A struct rw_eval and its parts, which are freed together. */
struct evaluation {
    struct rw_eval eval;
    double *values; /* [n_metrics][n_queries] in the arena */
    struct rw_eval_metric metric[RW_MAX_METRICS];
    struct rw_metric parsed[RW_MAX_METRICS]; /* stores the names */
    char conventions[RW_MAX_METRICS * 256];
};

int rw_eval_metrics(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    struct rw_metric out[RW_MAX_METRICS], int *n)
{
    if (!how->metric || (unsigned)how->empty > RW_EMPTY_SKIP ||
        (unsigned)how->ties > RW_TIES_MEAN || !(how->relevant >= 0 && how->relevant <= 1e9))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "rw_eval_params: expected a metric, valid values of the enums empty and "
                       "ties, and relevant in [0, 1e9]");
    return rw_metrics_parse(ctx, how->metric, how->relevant, out, n);
}

int rw_eval_one_metric(struct rw_ctx *ctx, const struct rw_eval_params *how, const char *purpose,
                       struct rw_metric *out)
{
    struct rw_metric metrics[RW_MAX_METRICS];
    int n;
    RW_TRY(rw_eval_metrics(ctx, how, metrics, &n));
    if (purpose && n != 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'metric': expected one metric to %s, found %d",
                       purpose, n);
    *out = metrics[0];
    return RW_OK;
}

/* Resolves the gains of labels from `how` if a metric uses them. Returns 1 if one does. */
static int gains_of(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_metric *metrics, int n_metrics, struct rw_gain_rule *out)
{
    int uses_gain = 0;
    *out = (struct rw_gain_rule){0};
    for (int i = 0; i < n_metrics; i++)
        uses_gain |= metrics[i].kind->uses_gain;
    if (uses_gain)
        RW_TRY(rw_gain_rule_init(ctx, out, how->label_gain ? how->label_gain : "exp"));
    return uses_gain;
}

int rw_eval_conventions(struct rw_ctx *ctx, const struct rw_eval_params *how, char *buffer,
                        size_t size)
{
    RW_DEFAULT_FPENV;
    struct rw_metric metrics[RW_MAX_METRICS];
    const struct rw_dialect *dialect;
    RW_RELEASED(rw_gain_rule_release) struct rw_gain_rule gains = {0};
    int n;
    if (how->like)
        RW_TRY(rw_dialect_find(ctx, how->like, &dialect));
    RW_TRY(rw_eval_metrics(ctx, how, metrics, &n));
    RW_TRY(gains_of(ctx, how, metrics, n, &gains));
    rw_metrics_conventions(metrics, n, &gains, how->empty, how->ties, 0, buffer, size);
    return RW_OK;
}

int rw_measure_init(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const char *purpose, struct rw_measure *out)
{
    RW_RELEASED(rw_gain_rule_release) struct rw_gain_rule gains = {0};
    *out = (struct rw_measure){.ctx = ctx, .how = how};
    RW_TRY(rw_eval_one_metric(ctx, how, purpose, &out->metric));
    const int uses_gain = gains_of(ctx, how, &out->metric, 1, &gains);
    RW_TRY(uses_gain);
    return rw_judgments_init(ctx, &out->judgments, dataset, &gains, uses_gain);
}

int rw_measure_scores(const struct rw_measure *measure, const double *scores, double *value)
{
    const struct rw_eval_params *how = measure->how;
    struct rw_metric_result result;
    RW_TRY(rw_metric_eval(measure->ctx, &measure->metric, &measure->judgments, scores, how->empty,
                          how->ties, 0, NULL, &result));
    *value = result.mean;
    return RW_OK;
}

double rw_measure_loss(const struct rw_measure *measure, double from, double to)
{
    return measure->metric.kind->lower_is_better ? to - from : from - to;
}

static int check_scores(const struct request *request)
{
    const double *scores = request->scores;
    for (uint32_t i = 0; i < request->dataset->n_docs; i++)
        if (!isfinite(scores[i]) && !(request->dataset->is_qrels && scores[i] == RW_UNRANKED))
            return rw_fail(request->ctx, RW_ERR_DATA,
                           "score %g of document %u: expected a finite number", scores[i], i + 1);
    return RW_OK;
}

/* Evaluates by Rankwood's parameters. */
static int evaluate_ours(const struct request *request, struct evaluation *made)
{
    const struct rw_eval_params *how = request->how;
    const int n_metrics = made->eval.n_metrics;
    int ranked = 0;
    RW_RELEASED(rw_judgments_release) struct rw_judgments judgments = {0};
    RW_RELEASED(rw_gain_rule_release) struct rw_gain_rule gains = {0};
    const int uses_gain = gains_of(request->ctx, how, made->parsed, n_metrics, &gains);
    RW_TRY(uses_gain);
    RW_TRY(rw_judgments_init(request->ctx, &judgments, request->dataset, &gains, uses_gain));
    for (int i = 0; i < n_metrics; i++) {
        struct rw_eval_metric *out = &made->metric[i];
        struct rw_metric_result result;
        RW_TRY(rw_metric_eval_ties(
            request->ctx, &made->parsed[i], &judgments, request->scores, how->empty, how->ties,
            made->values + (size_t)i * request->dataset->n_queries, &result, &out->ties_moved));
        out->mean = result.mean;
        out->n_counted = result.n_counted;
        /* Empty queries are counted by the first metric that ranks. */
        if (!ranked && !made->parsed[i].kind->by_document) {
            made->eval.n_empty = result.n_empty;
            ranked = 1;
        }
    }
    /* `rankwood train` prints such a line, too (rw_eval_conventions) */
    rw_metrics_conventions(made->parsed, n_metrics, &gains, how->empty, how->ties,
                           request->dataset->is_qrels, made->conventions,
                           sizeof(made->conventions));
    return RW_OK;
}

/* Evaluates as another program does, with a line of conventions per metric. */
static int evaluate_theirs(const struct request *request, const struct rw_dialect *dialect,
                           struct evaluation *made)
{
    const char *label_gain = request->how->label_gain;
    size_t at = 0;
    for (int i = 0; i < made->eval.n_metrics; i++) {
        const struct rw_metric *metric = &made->parsed[i];
        struct rw_eval_metric *out = &made->metric[i];
        struct rw_dialect_value value;
        char line[224];
        RW_TRY(rw_dialect_eval(request->ctx, dialect, metric, label_gain, request->dataset,
                               request->scores,
                               made->values + (size_t)i * request->dataset->n_queries, &value));
        out->mean = value.result.mean;
        out->n_counted = value.result.n_counted;
        out->ties_moved = value.ties_moved;
        if (i == 0)
            made->eval.n_empty = value.result.n_empty;
        rw_dialect_conventions(dialect, value.row, value.row->gain ? label_gain : NULL, metric->at,
                               request->dataset, line, sizeof(line));
        const size_t room = sizeof(made->conventions) - at;
        const int n = snprintf(made->conventions + at, room, "%s%s %s", i ? "\n" : "",
                               dialect->program, line);
        at += n > 0 && (size_t)n < room ? (size_t)n : 0;
    }
    return RW_OK;
}

/* Fails on metrics of the scores themselves, because a run only ranks documents. */
static int check_ranks(struct rw_ctx *ctx, const struct rw_metric *metric, int n_metrics)
{
    for (int i = 0; i < n_metrics; i++) {
        if (metric[i].kind->by_document)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "metric '%s' needs scores, but a run has only ranks", metric[i].name);
    }
    return RW_OK;
}

int rw_evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                const struct rw_dataset *dataset, const double *scores, struct rw_eval **out)
{
    RW_DEFAULT_FPENV;
    const struct request request = {ctx, how, dataset, scores};
    const struct rw_dialect *dialect = NULL;
    RW_SCOPED(rw_free) struct evaluation *made = NULL;
    int n_metrics;
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&made, sizeof(*made)));
    if (how->like)
        RW_TRY(rw_dialect_find(ctx, how->like, &dialect));
    RW_TRY(check_scores(&request));
    RW_TRY(rw_eval_metrics(ctx, how, made->parsed, &n_metrics));
    if (dataset->is_qrels)
        RW_TRY(check_ranks(ctx, made->parsed, n_metrics));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(made), made->values,
                        (size_t)n_metrics * dataset->n_queries));
    for (int i = 0; i < n_metrics; i++) {
        made->metric[i].name = made->parsed[i].name;
        made->metric[i].per_query = made->values + (size_t)i * dataset->n_queries;
    }
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        made->eval.n_single += dataset->query_offset[q + 1] - dataset->query_offset[q] == 1;
    made->eval.n_queries = dataset->n_queries;
    made->eval.n_docs = dataset->n_docs;
    made->eval.n_metrics = n_metrics;
    made->eval.metrics = made->metric;
    made->eval.conventions = made->conventions;
    RW_TRY(dialect ? evaluate_theirs(&request, dialect, made) : evaluate_ours(&request, made));
    *out = &RW_TAKE(made)->eval;
    return RW_OK;
}

int rw_evaluate_into(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_dataset *dataset, const double *scores, struct rw_arena *arena,
                     const struct rw_eval **out)
{
    struct rw_eval *eval;
    RW_TRY(rw_evaluate(ctx, how, dataset, scores, &eval));
    *out = eval;
    return rw_arena_own(ctx, arena, eval, rw_free);
}

/* ---- the conventions of all programs, in one table ---- */

/* Returns 1 if documents of different labels share a score that is not RW_UNRANKED. order: [n]
 * scratch. */
static int is_tied(const float *label, const double *score, uint32_t n, uint32_t *order)
{
    rw_rank_query(score, n, 0, order);
    for (uint32_t r = 1; r < n; r++) {
        if (score[order[r]] == score[order[r - 1]] && label[order[r]] != label[order[r - 1]])
            return score[order[r]] != RW_UNRANKED;
    }
    return 0;
}

static int count_queries(struct rw_ctx *ctx, const struct rw_dataset *dataset, const double *scores,
                         struct rw_audit *audit)
{
    RW_FREED uint32_t *order = NULL;
    RW_TRY(RW_NEW_RAW(ctx, order, rw_longest_query(dataset->query_offset, dataset->n_queries)));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        const float *label = dataset->label + begin;
        int positive = 0, falls = 0, rises = 0;
        for (uint32_t i = 0; i < n; i++) {
            positive |= label[i] > 0;
            falls |= i > 0 && label[i] < label[i - 1];
            rises |= i > 0 && label[i] > label[i - 1];
        }
        audit->n_empty += !positive;
        audit->n_single += n == 1;
        audit->n_falling += falls && !rises;
        audit->n_rising += rises && !falls;
        audit->n_tied += (uint32_t)is_tied(label, scores + begin, n, order);
    }
    audit->n_docs = dataset->n_docs;
    audit->n_queries = dataset->n_queries;
    return RW_OK;
}

/* Copies the first line of the last error, without its hints. */
static int copy_error(struct rw_ctx *ctx, struct rw_arena *arena, const char **out)
{
    char text[512];
    snprintf(text, sizeof(text), "%s", rw_last_error(ctx));
    text[strcspn(text, "\n")] = 0;
    return rw_arena_text(ctx, arena, out, text);
}

/* Adds one metric as one program computes it. dialect: NULL for Rankwood with the given
 * parameters. */
static int add_row(const struct request *request, const char *metric,
                   const struct rw_dialect *dialect, struct rw_arena *arena,
                   struct rw_audit_row *row)
{
    struct rw_ctx *ctx = request->ctx;
    struct rw_eval_params one = *request->how;
    const struct rw_eval *eval;
    one.metric = metric;
    one.like = dialect ? dialect->name : NULL;
    /* A requested gain applies only to programs whose gain can be chosen. */
    if (dialect && !rw_dialect_has_gain(dialect, one.label_gain))
        one.label_gain = NULL;
    *row = (struct rw_audit_row){.like = dialect ? dialect->name : "rankwood",
                                 .program = dialect ? dialect->program : "Rankwood",
                                 .metric = metric,
                                 .mean = (double)NAN,
                                 .conventions = ""};
    const int status = rw_evaluate_into(ctx, &one, request->dataset, request->scores, arena, &eval);
    if (dialect && (status == RW_ERR_ARGUMENT || status == RW_ERR_DATA))
        return copy_error(ctx, arena, &row->refused);
    RW_TRY(status);
    row->mean = eval->metrics->mean;
    row->n_counted = eval->metrics->n_counted;
    row->conventions = eval->conventions + (dialect ? strlen(dialect->program) + 1 : 0);
    return RW_OK;
}

int rw_audit_new(struct rw_ctx *ctx, const struct rw_eval_params *how,
                 const struct rw_dataset *dataset, const double *scores, struct rw_audit **out)
{
    RW_DEFAULT_FPENV;
    const struct request request = {ctx, how, dataset, scores};
    RW_SCOPED(rw_free) struct rw_audit *made = NULL;
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&made, sizeof(*made)));
    struct rw_arena *arena = rw_result_arena(made);
    struct rw_audit_row *row;
    const struct rw_eval *ours;
    int n_dialects = 0;
    /* this evaluation stores the names of the metrics */
    RW_TRY(rw_evaluate_into(ctx, how, dataset, scores, arena, &ours));
    while (rw_dialect_at(n_dialects))
        n_dialects++;
    RW_TRY(count_queries(ctx, dataset, scores, made));
    RW_TRY(RW_ARENA_NEW(ctx, arena, row, (size_t)ours->n_metrics * (size_t)(n_dialects + 1)));
    made->rows = row;
    for (int m = 0; m < ours->n_metrics; m++) {
        for (int d = -1; d < n_dialects; d++)
            RW_TRY(add_row(&request, ours->metrics[m].name, rw_dialect_at(d), arena,
                           &row[made->n_rows++]));
    }
    *out = RW_TAKE(made);
    return RW_OK;
}

/* ---- scores of a file: numbers, or a TREC run matched by query and document id ---- */

enum { ID_ROOM = 512 };
/* The score of documents that a run leaves out: they rank after all others. */
static const double lowest = -1.7976931348623157e308;

struct run {
    struct rw_ctx *ctx;
    struct rw_line_reader lines;
    const struct rw_dataset *dataset;
    double *scores;
    struct rw_query_ids ids; /* owned */
    struct rw_arena arena;   /* owns all arrays */
    uint8_t *done;           /* [n_docs] 1: the score was read */
    uint8_t *seen;           /* [n_queries] 1: the run has lines of the query */
    /* The current query and its documents. Most runs keep the lines of a query together. */
    uint32_t query;           /* UINT32_MAX: no query yet */
    char (*doc_id)[ID_ROOM];  /* [longest] ids of its documents */
    struct rw_query_ids docs; /* an index of doc_id; owned */
    struct rw_run_match match;
};

/* ---- ids of the data ---- */

static int list_docs(struct run *run, uint32_t query)
{
    const struct rw_dataset *dataset = run->dataset;
    const uint32_t n = dataset->query_offset[query + 1] - dataset->query_offset[query];
    size_t first;
    run->query = UINT32_MAX;
    rw_query_ids_release(&run->docs);
    for (uint32_t i = 0; i < n; i++) {
        rw_dialect_doc_id(dataset, query, i, run->doc_id[i], ID_ROOM);
        const int is_known = rw_query_ids_add(run->ctx, &run->docs, run->doc_id[i], &first);
        RW_TRY(is_known);
        if (is_known)
            return rw_fail(
                run->ctx, RW_ERR_DATA,
                "query '%s' of the data has two documents '%s', which a run cannot distinguish",
                rw_dataset_query_id(dataset, query), run->doc_id[i]);
    }
    run->query = query;
    return RW_OK;
}

/* ---- lines ---- */

/* Returns the index of a query; UINT32_MAX: the data lacks it. Most lines belong to the query of
 * the line before. */
static uint32_t query_of(const struct run *run, const struct rw_word *id)
{
    const char *last =
        run->query == UINT32_MAX ? "" : rw_dataset_query_id(run->dataset, run->query);
    size_t query;
    if (strlen(last) == id->n && memcmp(last, id->text, id->n) == 0)
        return run->query;
    return rw_query_ids_find(&run->ids, id->text, id->n, &query) ? (uint32_t)query : UINT32_MAX;
}

/* Reads the current line into the scores. */
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
    const char *id = has.document.text;
    const size_t n = strnlen(id, has.document.n < ID_ROOM ? has.document.n : ID_ROOM - 1);
    size_t i;
    if (!rw_query_ids_find(&run->docs, id, n, &i))
        return rw_fail(run->ctx, RW_ERR_DATA,
                       "%s:%llu:%zu: query '%s' of the data has no document '%.*s'\nhint: document "
                       "ids come from 'docid = ID' in the data's comments, or are QUERY-POSITION",
                       run->lines.name, (unsigned long long)run->lines.number,
                       (size_t)(id - run->lines.begin) + 1,
                       rw_dataset_query_id(run->dataset, query), (int)n, id);
    const size_t doc = run->dataset->query_offset[query] + i;
    if (run->done[doc])
        return rw_fail(run->ctx, RW_ERR_DATA,
                       "%s:%llu:%zu: document '%.*s' of query '%s' is repeated", run->lines.name,
                       (unsigned long long)run->lines.number, (size_t)(id - run->lines.begin) + 1,
                       (int)n, id, rw_dataset_query_id(run->dataset, query));
    run->done[doc] = 1;
    run->scores[doc] = has.value;
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
    RW_TRY(RW_ARENA_NEW(run->ctx, &run->arena, run->doc_id, longest));
    while (rw_line_reader_next(&run->lines))
        RW_TRY(take_line(run));
    return finish(run);
}

/* Returns 1 if the file is a run, by its first line that is not blank: a line of a score file is a
 * single number, and a line of a run has several words. */
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
    rw_query_ids_release(&run.docs);
    rw_line_reader_close(&run.lines);
    return status;
}
