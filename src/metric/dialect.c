/* The table of dialects, and the evaluation by a row of the table. The conventions are from the
 * programs' sources or documentation. tests/peers/dialects.py compares the results with the
 * programs' output, except for RankLib and QuickRank. */
#include "metric/metric.h"

#include <float.h>
#include <stdlib.h>

#include "dataset/dataset.h"

/* ---- metrics of other programs only ---- */

/* Returns the average precision over all relevant documents, including those past the cutoff. */
static double map_over_relevant(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    const double value = rw_map_of(metric, query);
    const uint32_t n = rw_count_all_relevant(metric, query);
    const uint32_t over = rw_map_divisor(metric, query, n);
    return n > over ? value * (double)over / (double)n : value;
}

/* Returns the average precision over the relevant documents above the cutoff. */
static double map_over_found(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    const uint32_t n = rw_count_all_relevant(metric, query);
    const uint32_t found = rw_count_relevant(metric, query, 0, rw_metric_top(metric, query->n));
    if (n > 0 && found == 0)
        return 0.0;
    return rw_map_of(metric, query) * (double)rw_map_divisor(metric, query, n) / (double)found;
}

/* Returns the precision, over the length of the list if it is shorter than k. */
static double precision_of_list(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (query->n == 0) /* no document is ranked; NaN if no document is relevant */
        return rw_p_of(metric, query);
    return rw_p_of(metric, query) * (double)metric->at / (double)rw_metric_top(metric, query->n);
}

/* ---- the table ---- */

#define OVER_HALF 0.50000000000000011102  /* the least double above 1/2: "label > 0.5" */
#define OVER_NONE 4.9406564584124654e-324 /* the least double above 0: "label > 0" */

#define OVER_RELEVANT .query = map_over_relevant, .query_says = "over all relevant documents"
#define OVER_FOUND    .query = map_over_found, .query_says = "over the relevant documents found"
#define OVER_LIST     .query = precision_of_list, .query_says = "over the list where that is shorter"

static const struct rw_dialect_metric lightgbm[] = {
    {"ndcg", .cut = RW_CUT_MUST, .empty = RW_EMPTY_ONE, .weights = RW_WEIGHED_BUT_EMPTY,
     .gain = "exp", .most_label = 30},
    {"map", .cut = RW_CUT_MUST, .empty = RW_EMPTY_ONE, .weights = RW_WEIGHED, .most_label = 30},
};
static const struct rw_dialect_metric xgboost[] = {
    {"ndcg", .whole_at = 32, .empty = RW_EMPTY_ONE, .weights = RW_WEIGHED_BUT_EMPTY, .gain = "exp",
     .most_label = 31},
    {"map", .whole_at = 32, .empty = RW_EMPTY_ONE, .weights = RW_WEIGHED, .most_label = 1},
    {"p", "pre", .cut = RW_CUT_MUST, .weights = RW_WEIGHED, .most_label = 1, OVER_LIST},
};
static const struct rw_dialect_metric xgboost_minus[] = {
    {"ndcg", .whole_at = 32, .weights = RW_WEIGHED, .gain = "exp", .most_label = 31},
    {"map", .whole_at = 32, .weights = RW_WEIGHED, .most_label = 1},
    {"p", "pre", .cut = RW_CUT_MUST, .weights = RW_WEIGHED, .most_label = 1, OVER_LIST},
};
static const struct rw_dialect_metric catboost[] = {
    {"ndcg", "NDCG:top=", .empty = RW_EMPTY_ONE, .ties = RW_PUT_LOW_FIRST, .weights = RW_WEIGHED,
     .gain = "linear"},
    {"dcg", "DCG:top=", .ties = RW_PUT_LOW_FIRST, .weights = RW_WEIGHED, .gain = "linear"},
    {"map", "MAP:top=", .ties = RW_PUT_LOW_FIRST, .relevant = OVER_HALF},
    {"mrr", "MRR:top=", .ties = RW_PUT_LOW_FIRST, .weights = RW_WEIGHED, .relevant = OVER_HALF},
    /* the labels are the probabilities to stop: label / (0 + 1) */
    {"err", "ERR:top=", .ties = RW_PUT_LOW_FIRST, .weights = RW_WEIGHED, .gain = "linear",
     .err_ceiling = 1, .most_label = 1},
};
static const struct rw_dialect_metric ranklib[] = {
    {"ndcg", "NDCG@", .gain = "exp"},
    {"dcg", "DCG@", .gain = "exp"},
    {"map", "MAP", .cut = RW_CUT_NEVER},
    {"mrr", "RR@", .cut = RW_CUT_MUST},
    {"p", "P@", .cut = RW_CUT_MUST, OVER_LIST},
    {"err", "ERR@", .gain = "exp", .err_ceiling = 16, .most_label = 4},
};
static const struct rw_dialect_metric quickrank[] = {
    {"ndcg", "NDCG@", .gain = "exp"},
    {"dcg", "DCG@", .gain = "exp"},
    {"map", "MAP@", .relevant = OVER_NONE, OVER_FOUND},
};
static const struct rw_dialect_metric ydf[] = {
    {"ndcg", .cut = RW_CUT_MUST, .ties = RW_PUT_MEAN, .gain = "exp"},
    {"mrr", .cut = RW_CUT_MUST, .ties = RW_PUT_HIGH_FIRST, .relevant = OVER_HALF},
    {"map", .cut = RW_CUT_MUST, .ties = RW_PUT_HIGH_FIRST, .relevant = OVER_HALF, OVER_FOUND},
};
static const struct rw_dialect_metric trec[] = {
    {"ndcg", "ndcg_cut.", .ties = RW_PUT_BY_ID, .gain = "linear"},
    {"map", "map_cut.", .ties = RW_PUT_BY_ID, OVER_RELEVANT},
    {"mrr", "recip_rank", .cut = RW_CUT_NEVER, .ties = RW_PUT_BY_ID},
    {"p", "P.", .cut = RW_CUT_MUST, .ties = RW_PUT_BY_ID},
    {"recall", "recall.", .cut = RW_CUT_MUST, .ties = RW_PUT_BY_ID},
};
static const struct rw_dialect_metric gdeval[] = {
    {"ndcg", .cut = RW_CUT_MUST, .empty = RW_EMPTY_SKIP, .ties = RW_PUT_BY_ID, .gain = "exp",
     .most_label = 4},
    {"err", .cut = RW_CUT_MUST, .empty = RW_EMPTY_SKIP, .ties = RW_PUT_BY_ID, .gain = "exp",
     .err_ceiling = 16, .most_label = 4},
};
static const struct rw_dialect_metric ranx[] = {
    {"ndcg", .gain = "linear"},
    {"dcg", .gain = "linear"},
    {"map", OVER_RELEVANT},
    {.name = "mrr"},
    {"p", "precision@", .cut = RW_CUT_MUST},
    {"recall", .cut = RW_CUT_MUST},
};

#define METRICS(row) row, (int)(sizeof(row) / sizeof(row[0]))
static const struct rw_dialect dialects[] = {
    /* name, program, float_scores, whole_labels, gain_choice, metrics */
    {"lightgbm", "LightGBM", 0, 1, 2, METRICS(lightgbm)},
    {"xgboost", "XGBoost", 1, 1, 1, METRICS(xgboost)},
    {"xgboost-", "XGBoost, @k-", 1, 1, 1, METRICS(xgboost_minus)},
    {"catboost", "CatBoost", 0, 0, 1, METRICS(catboost)},
    {"ranklib", "RankLib", 0, 1, 0, METRICS(ranklib)},
    {"quickrank", "QuickRank", 0, 1, 0, METRICS(quickrank)},
    {"ydf", "YDF", 1, 0, 0, METRICS(ydf)},
    {"trec", "trec_eval", 1, 1, 0, METRICS(trec)},
    {"gdeval", "gdeval.pl", 0, 1, 0, METRICS(gdeval)},
    {"ranx", "ranx", 0, 1, 0, METRICS(ranx)},
};
enum { N_DIALECTS = sizeof(dialects) / sizeof(dialects[0]) };

const struct rw_dialect *rw_dialect_at(int i)
{
    return i >= 0 && i < N_DIALECTS ? &dialects[i] : NULL;
}

int rw_dialect_find(struct rw_ctx *ctx, const char *name, const struct rw_dialect **out)
{
    const char *names[N_DIALECTS];
    *out = NULL;
    for (int i = 0; i < N_DIALECTS; i++) {
        names[i] = dialects[i].name;
        if (strcmp(name, names[i]) == 0)
            *out = &dialects[i];
    }
    if (*out)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "unknown program '%.60s'; did you mean '%s'?\nhint: programs are lightgbm "
                   "xgboost xgboost- catboost ranklib quickrank ydf trec gdeval ranx",
                   name, rw_word_nearest_always(name, names, N_DIALECTS));
}

int rw_dialect_has_gain(const struct rw_dialect *dialect, const char *label_gain)
{
    if (!label_gain)
        return 0;
    const int is_table = strcmp(label_gain, "exp") != 0 && strcmp(label_gain, "linear") != 0;
    return dialect->gain_choice >= 1 + is_table;
}

int rw_dialect_metric_find(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                           const struct rw_metric *metric, const struct rw_dialect_metric **out)
{
    char all[160] = "";
    size_t at = 0;
    *out = NULL;
    for (int i = 0; i < dialect->n_metrics && at < sizeof(all); i++) {
        const struct rw_dialect_metric *row = &dialect->metric[i];
        static const char *const cuts[] = {"[@k]", "@k", ""};
        at += (size_t)snprintf(all + at, sizeof(all) - at, " %s%s", row->name, cuts[row->cut]);
        if (strcmp(row->name, metric->kind->name) == 0)
            *out = row;
    }
    const int fits =
        *out && ((*out)->cut == RW_CUT_MAY || (metric->at != 0) == ((*out)->cut == RW_CUT_MUST));
    if (fits)
        return RW_OK;
    *out = NULL;
    return rw_fail(ctx, RW_ERR_ARGUMENT, "%s has no metric '%s'\nhint: its metrics are%s",
                   dialect->program, metric->name, all);
}

/* ---- conventions as text ---- */

void rw_dialect_doc_id(const struct rw_dataset *dataset, uint32_t query, uint32_t index,
                       char *buffer, size_t size)
{
    rw_dataset_doc_id(dataset, dataset->query_offset[query] + index, buffer, size);
    if (!buffer[0])
        snprintf(buffer, size, "%s-%u", rw_dataset_query_id(dataset, query), index + 1);
}

static int has_doc_ids(const struct rw_dataset *dataset)
{
    char id[2] = "";
    for (uint32_t doc = 0; doc < dataset->n_docs && !id[0]; doc++)
        rw_dataset_doc_id(dataset, doc, id, sizeof(id));
    return id[0] != 0;
}

static const char *gain_text(const char *gain)
{
    return strcmp(gain, "exp") == 0 ? "2^l - 1" : strcmp(gain, "linear") == 0 ? "l" : gain;
}

void rw_dialect_conventions(const struct rw_dialect *dialect, const struct rw_dialect_metric *row,
                            const char *label_gain, uint32_t at, const struct rw_dataset *dataset,
                            char *buffer, size_t size)
{
    static const char *const empties[] = {"count 0", "count 1", "left out"};
    static const char *const ties[] = {"in input order", "averaged", "by falling document id",
                                       "less relevant first", "more relevant first"};
    static const char *const weighs[] = {", weights ignored", "", ", empty ones with weight 1"};
    char gain[96] = "", theirs[48] = "", says[64] = "", cut[16] = "", whole[32] = "";
    if (at && (!row->theirs || strpbrk(row->theirs, "@=.")))
        snprintf(cut, sizeof(cut), "%s%u", row->theirs ? "" : "@", at);
    else if (at)
        snprintf(cut, sizeof(cut), "@%u", at);
    size_t name = row->theirs && !at ? strcspn(row->theirs, "@:.") : 40;
    if (name < 40 && name > 4 && strncmp(row->theirs + name - 4, "_cut", 4) == 0)
        name -= 4;
    snprintf(theirs, sizeof(theirs), "%.*s%s%s", (int)name, row->theirs ? row->theirs : row->name,
             cut, strcmp(dialect->name, "xgboost-") == 0 ? "-" : "");
    if (row->gain)
        snprintf(gain, sizeof(gain), "gain %.64s, ",
                 gain_text(label_gain ? label_gain : row->gain));
    if (row->err_ceiling > 0)
        snprintf(says, sizeof(says), "over %g, ", row->err_ceiling);
    if (row->whole_at && !at)
        snprintf(whole, sizeof(whole), "cut at %u, ", row->whole_at);
    if (row->query_says)
        snprintf(says, sizeof(says), "%s, ", row->query_says);
    const char *order = row->ties == RW_PUT_BY_ID && !has_doc_ids(dataset)
                            ? "by falling id (QID-1, QID-2, ...)"
                            : ties[row->ties];
    snprintf(buffer, size, "%s: %s%s%squeries without a relevant document %s%s, ties %s%s", theirs,
             whole, gain, says, empties[row->empty], dataset->weight ? weighs[row->weights] : "",
             order, dialect->float_scores ? ", scores as float" : "");
}

/* ---- evaluation ---- */

/* A document of a query, for sorting ties: by falling id, or by rising key if `id` is NULL. */
struct tied_doc {
    uint32_t index; /* in the query */
    float key;      /* the label, or its negation to put higher labels first */
    const char *id; /* NULL: sort by `key` */
};

static int by_tie_order(const void *a, const void *b)
{
    const struct tied_doc *x = a, *y = b;
    const int order = x->id ? strcmp(y->id, x->id) : (x->key > y->key) - (x->key < y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

enum { ID_ROOM = 512 };

/* Writes the documents of each query in the order in which the program breaks ties. order:
 * [n_docs], indices of documents in the data set. */
static int order_ties(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                      enum rw_dialect_ties ties, uint32_t longest, uint32_t *order)
{
    RW_FREED struct tied_doc *doc = NULL;
    RW_FREED char *ids = NULL;
    RW_TRY(RW_NEW(ctx, doc, longest));
    if (ties == RW_PUT_BY_ID)
        RW_TRY(RW_NEW(ctx, ids, (size_t)longest * ID_ROOM));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        for (uint32_t i = 0; i < n; i++) {
            const float label = dataset->label[begin + i];
            doc[i] = (struct tied_doc){i, ties == RW_PUT_LOW_FIRST ? label : -label, NULL};
            if (ids) {
                rw_dialect_doc_id(dataset, q, i, ids + (size_t)i * ID_ROOM, ID_ROOM);
                doc[i].id = ids + (size_t)i * ID_ROOM;
            }
        }
        RW_SORT(doc, n, by_tie_order);
        for (uint32_t i = 0; i < n; i++)
            order[begin + i] = begin + doc[i].index;
    }
    return RW_OK;
}

static int check_labels(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                        const struct rw_dialect_metric *row, const char *label_gain,
                        const struct rw_dataset *dataset)
{
    /* A linear gain or a table removes the limit that exponential gains set on labels. */
    const int is_lifted =
        label_gain && row->gain && strcmp(label_gain, "exp") != 0 && row->most_label > 1;
    const double any = 2147483648.0;
    const double most = is_lifted || row->most_label == 0 ? any : row->most_label;
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        const double label = (double)dataset->label[i];
        char where[1024], range[64];
        if (label >= 0 && label <= most && (!dialect->whole_labels || label == floor(label)))
            continue;
        rw_dataset_where(ctx, dataset, i, where, sizeof(where));
        snprintf(range, sizeof(range), most < any ? "0 to %.0f" : "0 or more", most);
        return rw_fail(ctx, RW_ERR_DATA, "%s: label %g: for '%s' %s takes %slabels, %s only", where,
                       label, row->name, dialect->program, dialect->whole_labels ? "whole " : "",
                       range);
    }
    return RW_OK;
}

/* The state of an evaluation. */
struct job {
    struct rw_gain_rule gains;
    struct rw_judgments judgments;
    struct rw_arena arena; /* owns the arrays below */
    uint32_t *order;       /* [n_docs]; NULL: input order */
    double *scores;        /* [n_docs] in `order`, rounded to float if the program does so */
};

static void job_release(struct job *job)
{
    rw_gain_rule_release(&job->gains);
    rw_judgments_release(&job->judgments);
    rw_arena_free(&job->arena);
}

/* Rounds a score to float. Scores beyond the range of float are tied at either end. The lower
 * end is above -infinity, which marks unranked documents. */
static double as_float(double score)
{
    if (rw_fits_float(score))
        return (double)(float)score;
    if (score > 0.0)
        return (double)INFINITY;
    return score == RW_UNRANKED ? score : -DBL_MAX;
}

static int prepare(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                   const struct rw_dialect_metric *row, const char *label_gain,
                   const struct rw_dataset *dataset, const double *scores, struct job *job)
{
    struct rw_judgments *judgments = &job->judgments;
    const uint32_t n = dataset->n_docs;
    if (row->gain)
        RW_TRY(rw_gain_rule_init(ctx, &job->gains, label_gain ? label_gain : row->gain));
    RW_TRY(rw_judgments_init(ctx, judgments, dataset, &job->gains, row->gain != NULL));
    if (row->err_ceiling > 0)
        judgments->max_gain = row->err_ceiling - 1;
    if (row->weights == RW_WEIGHED_NOT)
        judgments->weight = NULL;
    RW_TRY(RW_ARENA_NEW(ctx, &job->arena, job->scores, n));
    if (row->ties != RW_PUT_FILE && row->ties != RW_PUT_MEAN) {
        float *label;
        RW_TRY(RW_ARENA_NEW(ctx, &job->arena, job->order, n));
        RW_TRY(RW_ARENA_NEW(ctx, &job->arena, label, n));
        RW_TRY(order_ties(ctx, dataset, row->ties, judgments->longest, job->order));
        for (uint32_t i = 0; i < n; i++)
            label[i] = dataset->label[job->order[i]];
        judgments->label = label;
        if (row->gain) { /* gains of the labels in their new order; an earlier check found all
                            labels valid */
            struct rw_dataset view = *dataset;
            view.label = label;
            RW_TRY(rw_gains(ctx, &job->gains, &view, judgments->gain));
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const double score = scores[job->order ? job->order[i] : i];
        job->scores[i] = dialect->float_scores ? as_float(score) : score;
    }
    return RW_OK;
}

/* Adds 1 for each empty query to the sum of a mean. In the given mean, empty queries count 0, and
 * their weights count. per_query: [n_queries] or NULL; gets `values`, and 1 for empty queries. */
static void add_empty(const struct rw_judgments *judgments, double *per_query,
                      struct rw_metric_result *result, const double *values)
{
    double weights = 0.0;
    uint32_t n_empty = 0;
    for (uint32_t q = 0; q < judgments->n_queries; q++) {
        const uint32_t begin = judgments->query_offset[q];
        const int empty =
            judgments->query_offset[q + 1] == begin || !(judgments->ideal[begin] > 0.0);
        weights += judgments->weight[q];
        n_empty += (uint32_t)empty;
        if (per_query)
            per_query[q] = empty ? 1.0 : values[q];
    }
    if (weights > 0.0)
        result->mean += (double)n_empty / weights;
}

int rw_dialect_eval(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                    const struct rw_metric *metric, const char *label_gain,
                    const struct rw_dataset *dataset, const double *scores, double *per_query,
                    struct rw_dialect_value *out)
{
    const struct rw_dialect_metric *row;
    RW_RELEASED(job_release) struct job job = {0};
    double *values = NULL;
    *out = (struct rw_dialect_value){.result = {.mean = (double)NAN}};
    RW_TRY(rw_dialect_metric_find(ctx, dialect, metric, &row));
    out->row = row;
    if (label_gain && row->gain && row->err_ceiling == 0) {
        if (!rw_dialect_has_gain(dialect, label_gain))
            return rw_fail(ctx, RW_ERR_ARGUMENT, "label-gain '%s': %s does not support this gain",
                           label_gain, dialect->program);
    } else {
        label_gain = NULL;
    }
    RW_TRY(check_labels(ctx, dialect, row, label_gain, dataset));
    struct rw_metric_kind kind = *metric->kind;
    struct rw_metric theirs = *metric;
    theirs.kind = &kind;
    theirs.relevant = row->relevant > 0 ? row->relevant : 1;
    if (!theirs.at)
        theirs.at = row->whole_at;
    if (row->query)
        kind.query = row->query;
    RW_TRY(prepare(ctx, dialect, row, label_gain, dataset, scores, &job));
    const int empty_weigh_one = row->weights == RW_WEIGHED_BUT_EMPTY && job.judgments.weight;
    const enum rw_empty empty = empty_weigh_one ? RW_EMPTY_ZERO : row->empty;
    const enum rw_ties ties = row->ties == RW_PUT_MEAN ? RW_TIES_MEAN : RW_TIES_FILE;
    double *moved = row->ties == RW_PUT_FILE ? &out->ties_moved : NULL;
    if (empty_weigh_one)
        RW_TRY(RW_ARENA_NEW(ctx, &job.arena, values, dataset->n_queries));
    RW_TRY(rw_metric_eval_ties(ctx, &theirs, &job.judgments, job.scores, empty, ties,
                               empty_weigh_one ? values : per_query, &out->result, moved));
    if (empty_weigh_one)
        add_empty(&job.judgments, per_query, &out->result, values);
    return RW_OK;
}
