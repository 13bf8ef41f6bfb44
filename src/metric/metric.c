/* Metrics (metric/metric.h): parsing their names, ranking the documents of a query, gains, ideal
 * values, averages over queries and workers, and conventions as text. */
#include "metric/metric.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/system.h"
#include "comm/comm.h"
#include "dataset/dataset.h"

/* The function of a row that the host and devices share. */
#define HOST(name)
#define DEVICE(name)                                                                            \
    double rw_query_##name(const struct rw_metric *metric, const struct rw_ranked_query *query) \
    {                                                                                           \
        return rw_##name##_of(metric, query);                                                   \
    }
#define RW_METRIC(name, device, ...) device(name)
#include "metric/metrics.def"
#undef RW_METRIC
#undef HOST
#undef DEVICE

#define HOST(name)   RW_METRIC_HOST
#define DEVICE(name) RW_METRIC_##name
static const struct rw_metric_kind kinds[] = {
#define RW_METRIC(metric, where, cutoff, spelling, text, ...) \
    {.name = #metric,                                         \
     .device = where(metric),                                 \
     .at = (cutoff),                                          \
     .query = rw_query_##metric,                              \
     .help = (text),                                          \
     __VA_ARGS__},
#include "metric/metrics.def"
#undef RW_METRIC
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- names ---- */

static const char all_metrics[] =
#define RW_METRIC(name, device, at, spelling, ...) " " spelling
#include "metric/metrics.def"
#undef RW_METRIC
    ;

enum { LONGEST_NAME = 31 };

/* The likely meaning of an unknown metric name. */
struct guess {
    char name[LONGEST_NAME + 32]; /* "ndcg@10"; "": no suggestion */
    const char *note;             /* NULL: no note */
};

static const struct rw_metric_kind *find_kind(const char *name)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i];
    return NULL;
}

/* Finds the digits of a cutoff after a name, in any program's style (":top=10", "_cut_10",
 * "@10-"). digits: written; "": there is no cutoff. */
static void find_cut(const char *after_name, char digits[10])
{
    const char *top = strstr(after_name, "top=");
    size_t n;
    after_name = top ? top : after_name;
    after_name += strcspn(after_name, "0123456789");
    n = strspn(after_name, "0123456789");
    snprintf(digits, 10, "%.*s", n <= 9 && *after_name != '0' ? (int)n : 0, after_name);
}

static struct guess guess_metric(const char *text)
{
    struct guess guess = {"", NULL};
    char word[LONGEST_NAME + 1], digits[10];
    if (text[0] >= '0' && text[0] <= '9') { /* the rest of LightGBM's "ndcg@5,10" */
        find_cut(text, digits);
        snprintf(guess.name, sizeof(guess.name), "ndcg@%s", *digits ? digits : "10");
        guess.note = "give each metric its cutoff: 'ndcg@5,ndcg@10'";
        return guess;
    }
    size_t n = strcspn(text, "@:");
    snprintf(word, sizeof(word), "%.*s", (int)(n < LONGEST_NAME ? n : LONGEST_NAME), text);
    const struct rw_alias *row = rw_alias_next(NULL, "metric", word);
    if (!row) { /* digits may be a cutoff, as in "ndcg_cut_10", and a trailing '-' is not part of
                   the name */
        for (n = 0; n < LONGEST_NAME && (isalpha((unsigned char)word[n]) || word[n] == '_' ||
                                         word[n] == '-' || word[n] == ' ');)
            n++;
        word[n] = 0;
        for (size_t end = n; end > 0 && strchr("_-", word[end - 1]);)
            word[--end] = 0;
        row = rw_alias_next(NULL, "metric", word);
    }
    if (row)
        guess.note = row->note;
    if (row && !row->ours)
        return guess;
    const char *names[N_KINDS]; /* the nearest is suggested, however different it is */
    for (int i = 0; i < N_KINDS; i++)
        names[i] = kinds[i].name;
    const struct rw_metric_kind *kind =
        find_kind(row ? row->ours : rw_word_nearest_always(word, names, N_KINDS));
    find_cut(text + n, digits);
    if (kind->at == RW_AT_PERSISTENCE)
        snprintf(guess.name, sizeof(guess.name), "%s:0.8", kind->name);
    else if (kind->at == RW_AT_REQUIRED || (kind->at == RW_AT_OPTIONAL && *digits))
        snprintf(guess.name, sizeof(guess.name), "%s@%s", kind->name, *digits ? digits : "10");
    else
        snprintf(guess.name, sizeof(guess.name), "%s", kind->name);
    return guess;
}

/* Returns a hint if the text ends in '-', else "". XGBoost's "ndcg@10-" counts a query without a
 * relevant document as 0. */
static const char *minus_hint(const char *text)
{
    const size_t n = strlen(text);
    return n > 1 && text[n - 1] == '-' ? "\nhint: for XGBoost's '-', set the parameter 'empty' to 0"
                                       : "";
}

static int unknown_metric(struct rw_ctx *ctx, const char *text)
{
    const struct guess guess = guess_metric(text);
    char advice[128] = "";
    if (*guess.name)
        snprintf(advice, sizeof(advice), "; did you mean '%s'?", guess.name);
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown metric '%.60s'%s%s%s%s\nhint: metrics are%s",
                   text, advice, guess.note ? "\nhint: " : "", guess.note ? guess.note : "",
                   minus_hint(text), all_metrics);
}

static int parse_cut(struct rw_ctx *ctx, const char *text, const char *digits,
                     struct rw_metric *out)
{
    const char *name = out->kind->name;
    uint64_t at = 0;
    const char *c = digits;
    for (; *c >= '0' && *c <= '9' && at <= RW_MAX_DOCS; c++)
        at = at * 10 + (uint64_t)(*c - '0');
    if (c == digits || *c != 0 || at == 0 || at > RW_MAX_DOCS)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "metric '%.60s': expected a whole number of 1 to %u after '@', as in '%s@10'%s", text,
            RW_MAX_DOCS, name, minus_hint(text));
    out->at = (uint32_t)at;
    snprintf(out->name, sizeof(out->name), "%s@%u", name, out->at);
    return RW_OK;
}

/* Parses a decimal between 0 and 1 with at most 15 digits after the point. */
static int parse_persistence(struct rw_ctx *ctx, const char *text, const char *digits,
                             struct rw_metric *out)
{
    const char *point = digits + (*digits == '0'), *end = digits + strlen(digits);
    int clamped;
    if (*point != '.' || end - point > 16 || point + 1 + strspn(point + 1, "0123456789") != end ||
        rw_number_parse_double(point, end, &out->persistence, &clamped) != end ||
        !(out->persistence > 0.0))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "metric '%.60s': expected a persistence between 0 and 1 after ':', as in "
                       "'rbp:0.8'",
                       text);
    snprintf(out->name, sizeof(out->name), "rbp:0%s", point);
    return RW_OK;
}

int rw_metric_parse(struct rw_ctx *ctx, const char *text, double relevant, struct rw_metric *out)
{
    memset(out, 0, sizeof(*out));
    out->relevant = relevant;
    char word[64];
    const size_t bytes = strcspn(text, "@:");
    snprintf(word, sizeof(word), "%.*s", (int)(bytes < 60 ? bytes : 60), text);
    out->kind = find_kind(word);
    if (!out->kind)
        return unknown_metric(ctx, text);
    const char *name = out->kind->name;
    const char mark = text[bytes];
    switch (out->kind->at) {
    case RW_AT_PERSISTENCE:
        if (mark != ':')
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "metric '%.60s' needs a persistence, as in '%s:0.8'", text, name);
        return parse_persistence(ctx, text, text + bytes + 1, out);
    case RW_AT_NONE:
        if (mark)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "metric '%.60s': '%s' accepts no cutoff or persistence", text, name);
        break;
    case RW_AT_OPTIONAL:
    case RW_AT_REQUIRED:
        if (mark == '@')
            return parse_cut(ctx, text, text + bytes + 1, out);
        if (mark == ':')
            return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%.60s': write a cutoff as '%s@10'", text,
                           name);
        if (out->kind->at == RW_AT_REQUIRED)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%s' needs a cutoff, as in '%s@10'", name,
                           name);
        break;
    }
    snprintf(out->name, sizeof(out->name), "%s", name);
    return RW_OK;
}

int rw_metrics_parse(struct rw_ctx *ctx, const char *text, double relevant,
                     struct rw_metric out[RW_MAX_METRICS], int *n)
{
    *n = 0;
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        char name[64];
        if (*n == RW_MAX_METRICS)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "'metric': more than %d metrics", RW_MAX_METRICS);
        if (length >= sizeof(name))
            return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown metric '%.*s...'", 60, at);
        memcpy(name, at, length);
        name[length] = 0;
        RW_TRY(rw_metric_parse(ctx, name, relevant, &out[*n]));
        for (int i = 0; i < *n; i++) {
            if (strcmp(out[i].name, out[*n].name) == 0)
                return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%s' is given twice", name);
        }
        ++*n;
        if (!at[length])
            return RW_OK;
        at += length + 1;
    }
}

/* ---- ranking ---- */

struct ranking {
    const double *score;
    uint32_t flip; /* all ones: break ties by falling index */
};

static int comes_before(const struct ranking *ranking, uint32_t a, uint32_t b)
{
    const uint64_t key_a = rw_falling_key(ranking->score[a]);
    const uint64_t key_b = rw_falling_key(ranking->score[b]);
    return key_a != key_b ? key_a < key_b : (a ^ ranking->flip) < (b ^ ranking->flip);
}

/* Shell sort. It sorts elements at distance `gap`, for falling gaps down to 1, which is an
 * insertion sort. */
static void sort_by_gaps(const struct ranking *ranking, uint32_t *order, uint32_t n, uint32_t gap)
{
    for (; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (uint32_t i = gap; i < n; i++) {
            const uint32_t doc = order[i];
            uint32_t r = i;
            for (; r >= gap && comes_before(ranking, doc, order[r - gap]); r -= gap)
                order[r] = order[r - gap];
            order[r] = doc;
        }
    }
}

/* Quicksort in place. The order is total, so the sort need not be stable. `depth` limits the
 * recursion for bad inputs. */
static void sort_order(const struct ranking *ranking, uint32_t *order, uint32_t n, int depth)
{
    while (n > 24) {
        if (depth-- == 0) {
            sort_by_gaps(ranking, order, n, n / 2);
            return;
        }
        uint32_t a = order[0], middle = order[n / 2], c = order[n - 1];
        if (comes_before(ranking, c, a)) {
            const uint32_t swapped = a;
            a = c;
            c = swapped;
        }
        if (comes_before(ranking, middle, a))
            middle = a;
        else if (comes_before(ranking, c, middle))
            middle = c;
        /* Hoare's partition: the median is an element of the array, so both scans stop at it. */
        uint32_t i = 0, j = n - 1;
        for (;; i++, j--) {
            while (comes_before(ranking, order[i], middle))
                i++;
            while (comes_before(ranking, middle, order[j]))
                j--;
            if (i >= j)
                break;
            const uint32_t swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
        const uint32_t left = i;
        sort_order(ranking, order, left, depth);
        order += left;
        n -= left;
    }
    sort_by_gaps(ranking, order, n, 1);
}

void rw_rank_query(const double *scores, uint32_t n, int reversed, uint32_t *order)
{
    const struct ranking ranking = {scores, reversed ? UINT32_MAX : 0};
    int depth = 4;
    for (uint32_t left = n; left; left /= 2)
        depth += 2;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort_order(&ranking, order, n, depth);
}

/* ---- metrics over a whole set ---- */

/* ---- preparation ---- */

static int prepare_weights(struct rw_ctx *ctx, struct rw_judgments *judgments,
                           const struct rw_dataset *dataset)
{
    judgments->doc_weight = dataset->weight;
    if (!dataset->weight)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(ctx, &judgments->arena, judgments->weight, judgments->n_queries));
    for (uint32_t q = 0; q < judgments->n_queries; q++) {
        const uint32_t begin = judgments->query_offset[q], end = judgments->query_offset[q + 1];
        double sum = 0.0;
        for (uint32_t i = begin; i < end; i++)
            sum += dataset->weight[i];
        if (begin < end)
            judgments->weight[q] =
                dataset->weight_by_query ? dataset->weight[begin] : sum / (double)(end - begin);
        const double by[2] = {judgments->weight[q], judgments->weight[q] * (double)(end - begin)};
        for (int k = 0; k < 2; k++) {
            if (by[k] > judgments->most_weight[k])
                judgments->most_weight[k] = by[k];
        }
    }
    return RW_OK;
}

static int sort_ideals(void *user, struct rw_share *share)
{
    const struct rw_judgments *judgments = user;
    RW_SHARE_EACH(share, q) {
        const uint32_t begin = judgments->query_offset[q];
        const uint32_t n = judgments->query_offset[q + 1] - begin;
        memcpy(judgments->ideal + begin, judgments->gain + begin, n * sizeof(*judgments->gain));
        rw_sort_falling(judgments->ideal + begin, n);
    }
    return RW_OK;
}

static int prepare_gains(struct rw_ctx *ctx, struct rw_judgments *judgments,
                         const struct rw_dataset *dataset, const struct rw_gain_rule *gains)
{
    RW_TRY(RW_ARENA_NEW(ctx, &judgments->arena, judgments->gain, judgments->n_docs));
    RW_TRY(RW_ARENA_NEW(ctx, &judgments->arena, judgments->ideal, judgments->n_docs));
    if (dataset->is_qrels && gains->kind == RW_GAIN_TABLE && gains->table[0] > 0)
        return rw_fail(ctx, RW_ERR_DATA,
                       "label-gain: the gain of label 0 is %g; expected 0, because documents "
                       "without judgments have label 0",
                       gains->table[0]);
    RW_TRY(rw_gains(ctx, gains, dataset, judgments->gain));
    for (uint32_t i = 0; i < judgments->n_docs; i++)
        if (judgments->gain[i] > judgments->max_gain)
            judgments->max_gain = judgments->gain[i];
    return rw_parallel(ctx, ctx ? ctx->n_threads : 1, judgments->n_queries, 64, sort_ideals,
                       judgments);
}

int rw_judgments_init(struct rw_ctx *ctx, struct rw_judgments *judgments,
                      const struct rw_dataset *dataset, const struct rw_gain_rule *gains,
                      int any_uses_gain)
{
    memset(judgments, 0, sizeof(*judgments));
    judgments->n_docs = dataset->n_docs;
    judgments->n_queries = dataset->n_queries;
    judgments->query_offset = dataset->query_offset;
    judgments->label = dataset->label;
    judgments->leaves_out = dataset->is_qrels;
    judgments->longest = rw_longest_query(judgments->query_offset, judgments->n_queries);
    RW_TRY(RW_ARENA_NEW(ctx, &judgments->arena, judgments->discount, judgments->longest));
    rw_discounts(judgments->discount, judgments->longest);
    RW_TRY(prepare_weights(ctx, judgments, dataset));
    return any_uses_gain ? prepare_gains(ctx, judgments, dataset, gains) : RW_OK;
}

int rw_judgments_share(struct rw_ctx *ctx, struct rw_judgments *judgments)
{
    RW_TRY(rw_comm_max_doubles(ctx, &judgments->max_gain, 1));
    RW_TRY(rw_comm_max_doubles(ctx, judgments->most_weight, 2));
    judgments->is_shared = 1;
    return RW_OK;
}

void rw_judgments_release(struct rw_judgments *judgments)
{
    rw_arena_free(&judgments->arena);
    memset(judgments, 0, sizeof(*judgments));
}

/* ---- one query ---- */

struct measure_job {
    const struct rw_metric *metric;
    const struct rw_judgments *judgments;
    const double *scores;
    enum rw_ties ties;
    int reversed;
    double *room;   /* [threads][room_of(longest)] */
    double *values; /* [n_queries] */
};

/* Returns the doubles that a thread needs for queries of n documents. */
static size_t room_of(size_t n)
{
    return 6 * n + 1;
}

/* Returns the metric of query `q`; NaN if it is empty. */
static double measure_query(const struct measure_job *job, uint32_t q, double *room)
{
    const struct rw_judgments *judgments = job->judgments;
    const uint32_t begin = judgments->query_offset[q];
    const uint32_t n = judgments->query_offset[q + 1] - begin;
    const struct rw_metric_kind *kind = job->metric->kind;
    double *gain = room, *score = gain + n, *weight = score + n, *scratch = weight + n;
    uint32_t *order = (uint32_t *)(scratch + n + 1), *tie_end = order + n;
    float *label = (float *)(tie_end + n);
    const int has_weights = kind->by_document && judgments->doc_weight;
    rw_rank_query(job->scores + begin, n, job->reversed && !kind->by_document, order);
    for (uint32_t r = 0; r < n; r++) {
        const uint32_t doc = begin + order[r];
        score[r] = job->scores[doc];
        label[r] = judgments->label[doc];
        if (kind->uses_gain)
            gain[r] = judgments->gain[doc];
        if (has_weights)
            weight[r] = judgments->doc_weight[doc];
    }
    uint32_t n_ranked = n;
    while (judgments->leaves_out && n_ranked > 0 && score[n_ranked - 1] == RW_UNRANKED)
        n_ranked--;
    if (job->ties == RW_TIES_MEAN)
        rw_tie_ends(score, n_ranked, tie_end);
    const struct rw_ranked_query ranked = {
        .n = n_ranked,
        .n_unranked = n - n_ranked,
        .gain = kind->uses_gain ? gain : NULL,
        .label = label,
        .score = score,
        .discount = judgments->discount,
        .ideal = kind->uses_gain ? judgments->ideal + begin : NULL,
        .weight = has_weights ? weight : NULL,
        .tie_end = job->ties == RW_TIES_MEAN ? tie_end : NULL,
        .scratch = scratch,
        .max_gain = judgments->max_gain,
    };
    return kind->query(job->metric, &ranked);
}

/* ---- the mean ---- */

/* Returns the weight of a query's value, before weight_scale. For means over documents, it is the
 * query's weight multiplied by its number of documents. */
static double query_weight(const struct rw_metric_kind *kind, const struct rw_judgments *judgments,
                           uint32_t q)
{
    const double weight = judgments->weight ? judgments->weight[q] : 1.0;
    if (!kind->by_document)
        return weight;
    return weight * (double)(judgments->query_offset[q + 1] - judgments->query_offset[q]);
}

/* Returns the factor by which weights are multiplied before they are rounded to integers, so that
 * the order of queries does not matter. It is 1 without weights. Otherwise it is the power of two,
 * at most 2^1023, that brings the largest weight into [2^39, 2^40). */
static double weight_scale(const struct rw_metric_kind *kind, const struct rw_judgments *judgments)
{
    const double largest = judgments->most_weight[kind->by_document != 0];
    if (!judgments->weight || !(largest > 0.0))
        return 1.0;
    const int exponent = (int)(rw_bits_of_double(largest) >> 52) - 1023;
    return rw_pow2(exponent < 39 - 1023 ? 1023 : 39 - exponent);
}

void rw_metric_weights(const struct rw_metric_kind *kind, const struct rw_judgments *judgments,
                       int64_t *weights)
{
    const double scale = weight_scale(kind, judgments);
    for (uint32_t q = 0; q < judgments->n_queries; q++)
        weights[q] = (int64_t)rw_to_whole(query_weight(kind, judgments, q) * scale);
}

double rw_metric_mean(const struct rw_metric_kind *kind, const struct rw_metric_sums *sums)
{
    const double mean = sums->weight > 0
                            ? (double)sums->value / (double)sums->weight / RW_METRIC_UNIT
                            : (double)NAN;
    return kind->root ? sqrt(mean) : mean;
}

static int too_large(struct rw_ctx *ctx, const struct rw_metric *metric, uint32_t q, double value)
{
    return rw_fail(ctx, RW_ERR_DATA, "%s of query %u is too large to average: %g", metric->name,
                   q + 1, metric->kind->root ? sqrt(value) : value);
}

/* Adds up the values of queries (NaN: empty) and replaces them by the values that were averaged. */
static int add_up(struct rw_ctx *ctx, const struct rw_metric *metric,
                  const struct rw_judgments *judgments, enum rw_empty empty, double *values,
                  struct rw_metric_sums *out)
{
    const struct rw_metric_kind *kind = metric->kind;
    const double scale = weight_scale(kind, judgments);
    for (uint32_t q = 0; q < judgments->n_queries; q++) {
        double value = values[q];
        if (value != value) {
            out->n_empty += !kind->by_document;
            if (kind->by_document || empty == RW_EMPTY_SKIP)
                continue;
            value = empty == RW_EMPTY_ONE ? 1.0 : 0.0;
        }
        if (!(value < RW_METRIC_MOST))
            return too_large(ctx, metric, q, value);
        const double whole = rw_to_whole(value * RW_METRIC_UNIT);
        const rw_int128 weight = (rw_int128)rw_to_whole(query_weight(kind, judgments, q) * scale);
        rw_int128 product;
        if (__builtin_mul_overflow((rw_int128)whole, weight, &product) ||
            __builtin_add_overflow(out->value, product, &out->value))
            return too_large(ctx, metric, q, value);
        out->weight += weight;
        values[q] = kind->root ? sqrt(whole / RW_METRIC_UNIT) : whole / RW_METRIC_UNIT;
        out->n_counted++;
    }
    return RW_OK;
}

/* Replaces the sums by those over all workers. Splits each number into parts of 32 bits, so that
 * adding parts cannot overflow. All workers must call it. */
static int add_workers(struct rw_ctx *ctx, struct rw_metric_sums *sums)
{
    enum { PARTS = 4, BITS = 32 };
    rw_int128 *const word[2] = {&sums->value, &sums->weight};
    uint64_t part[2 * PARTS + 2] = {[2 * PARTS] = sums->n_counted, sums->n_empty};
    for (int i = 0; i < 2 * PARTS; i++)
        part[i] = (uint32_t)((rw_uint128)*word[i / PARTS] >> (i % PARTS * BITS));
    RW_TRY(rw_comm_sum(ctx, part, 2 * PARTS + 2));
    for (int i = 0; i < 2; i++) {
        rw_uint128 all = 0;
        for (int p = 0; p < PARTS; p++)
            all += (rw_uint128)part[i * PARTS + p] << (p * BITS);
        *word[i] = (rw_int128)all;
    }
    if (sums->weight < 0)
        return rw_comm_nonsense(ctx, "weights of queries");
    sums->n_counted = (uint32_t)part[2 * PARTS];
    sums->n_empty = (uint32_t)part[2 * PARTS + 1];
    return RW_OK;
}

static int average(struct rw_ctx *ctx, const struct rw_metric *metric,
                   const struct rw_judgments *judgments, enum rw_empty empty, double *values,
                   struct rw_metric_result *out)
{
    struct rw_metric_sums sums = {0};
    int status = add_up(ctx, metric, judgments, empty, values, &sums);
    if (judgments->is_shared) {
        RW_TRY(rw_comm_agree(ctx, status));
        status = add_workers(ctx, &sums);
    }
    RW_TRY(status);
    *out = (struct rw_metric_result){rw_metric_mean(metric->kind, &sums), sums.n_counted,
                                     sums.n_empty};
    return RW_OK;
}

/* With fewer documents than this, starting a parallel loop costs more than it saves. */
enum { PARALLEL_DOCS = 2048 };

static int measure_queries(void *user, struct rw_share *share)
{
    const struct measure_job *job = user;
    double *room = job->room + (size_t)share->thread * room_of(job->judgments->longest);
    RW_SHARE_EACH(share, q)
        job->values[q] = measure_query(job, (uint32_t)q, room);
    return RW_OK;
}

int rw_metric_eval(struct rw_ctx *ctx, const struct rw_metric *metric,
                   const struct rw_judgments *judgments, const double *scores, enum rw_empty empty,
                   enum rw_ties ties, int reversed, double *per_query, struct rw_metric_result *out)
{
    *out = (struct rw_metric_result){.mean = (double)NAN};
    const uint32_t n_queries = judgments->n_queries;
    const int n_threads = judgments->n_docs >= PARALLEL_DOCS ? ctx->n_threads : 1;
    RW_FREED double *room = NULL, *values = NULL;
    RW_TRY(RW_NEW_RAW(ctx, room, (size_t)n_threads * room_of(judgments->longest)));
    if (!per_query)
        RW_TRY(RW_NEW_RAW(ctx, values, n_queries));
    struct measure_job job = {
        metric, judgments, scores, ties, reversed, room, per_query ? per_query : values};
    RW_TRY(rw_parallel(ctx, n_threads, n_queries, 16, measure_queries, &job));
    return average(ctx, metric, judgments, empty, job.values, out);
}

int rw_metric_eval_ties(struct rw_ctx *ctx, const struct rw_metric *metric,
                        const struct rw_judgments *judgments, const double *scores,
                        enum rw_empty empty, enum rw_ties ties, double *per_query,
                        struct rw_metric_result *out, double *moved)
{
    struct rw_metric_result other;
    RW_TRY(rw_metric_eval(ctx, metric, judgments, scores, empty, ties, 0, per_query, out));
    if (!moved || ties == RW_TIES_MEAN || metric->kind->by_document || isnan(out->mean))
        return RW_OK;
    RW_TRY(rw_metric_eval(ctx, metric, judgments, scores, empty, ties, 1, NULL, &other));
    *moved = other.mean - out->mean;
    return RW_OK;
}

/* ---- conventions ---- */

static const char *const empties[] = {"count 0", "count 1", "left out"};

void rw_metrics_conventions(const struct rw_metric *metrics, int n_metrics,
                            const struct rw_gain_rule *gains, enum rw_empty empty,
                            enum rw_ties ties, int is_qrels, char *buffer, size_t size)
{
    int has_gain = 0, discounted = 0, stops = 0, ranked = 0;
    const double *relevant = NULL;
    char gain[160] = "", label[48] = "";
    for (int i = 0; i < n_metrics; i++) {
        const struct rw_metric_kind *kind = metrics[i].kind;
        has_gain |= kind->uses_gain;
        discounted |= kind->uses_discount;
        stops |= kind->uses_max_gain;
        ranked |= !kind->by_document;
        if (kind->uses_relevance)
            relevant = &metrics[i].relevant;
    }
    if (has_gain)
        snprintf(gain, sizeof(gain), "gain %s, %s%s", gains->text,
                 discounted ? "discount 1/log2(1 + rank), " : "",
                 stops ? "err's greatest gain is the data's, " : "");
    if (relevant)
        snprintf(label, sizeof(label), "relevant from label %.9g, ", *relevant);
    if (ranked)
        snprintf(buffer, size, "%s%squeries without a relevant document %s, %s", gain, label,
                 empties[empty],
                 ties == RW_TIES_MEAN ? "mean over orders of ties"
                 : is_qrels           ? "ties by falling document id"
                                      : "ties in input order");
    else
        snprintf(buffer, size, "%smean over documents", label);
}

/* ---- gains ---- */

enum {
    MAX_TABLE = 65536, /* most gains of a file */
    MAX_LINE = 256,    /* bytes of the buffer for a line of a file of gains */
    GAINS_CHUNK = 4096 /* documents per chunk of a thread */
};

/* With gains up to 2^31, every sum of a metric fits into 128 bits. */
static const double max_gain = 2147483648.0;

/* Parses a line with a number from 0 to 2^31. Returns 1 if it is valid. `text` has no line end. */
static int parse_gain(const char *text, double *gain)
{
    const char *begin = text + strspn(text, " \t");
    int clamped;
    const char *end = rw_number_parse_double(begin, begin + strlen(begin), gain, &clamped);
    return end && !clamped && !end[strspn(end, " \t")] && *gain >= 0.0 && *gain <= max_gain;
}

static int read_table(struct rw_ctx *ctx, struct rw_gain_rule *rule, FILE *file, const char *path)
{
    char line[MAX_LINE];
    size_t room = 0;
    while (fgets(line, sizeof(line), file)) {
        const size_t bytes = strlen(line);
        const int whole = bytes > 0 && (line[bytes - 1] == '\n' || feof(file));
        line[strcspn(line, "\r\n")] = 0;
        double gain;
        if (!whole || !parse_gain(line, &gain))
            return rw_fail(ctx, RW_ERR_PARSE,
                           "%s:%u:%zu: expected a gain from 0 to 2147483648, found '%.40s'\nhint: "
                           "write one number per line: the gains of labels 0, 1, 2, ...",
                           path, rule->n_table + 1, strspn(line, " \t") + 1,
                           line + strspn(line, " \t"));
        if (rule->n_table == MAX_TABLE)
            return rw_fail(ctx, RW_ERR_PARSE, "%s: expected at most %d gains", path, MAX_TABLE);
        RW_TRY(RW_GROW(ctx, rule->table, room, (size_t)rule->n_table + 1));
        rule->table[rule->n_table++] = gain + 0.0; /* -0 becomes 0 */
    }
    if (ferror(file))
        return rw_fail_io(ctx, errno, "%s", path);
    if (rule->n_table == 0)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:1:1: expected the gain of label 0, found nothing",
                       path);
    return RW_OK;
}

int rw_gain_rule_init(struct rw_ctx *ctx, struct rw_gain_rule *rule, const char *spec)
{
    static const struct rw_gain_rule exponential = {.kind = RW_GAIN_EXP, .text = "2^l - 1"},
                                     linear = {.kind = RW_GAIN_LINEAR, .text = "l"};
    const int is_exponential = strcmp(spec, "exp") == 0;
    if (is_exponential || strcmp(spec, "linear") == 0) {
        *rule = is_exponential ? exponential : linear;
        return RW_OK;
    }
    *rule = (struct rw_gain_rule){.kind = RW_GAIN_TABLE};
    snprintf(rule->text, sizeof(rule->text), "from %.55s", spec);
    RW_FREED char *lines = NULL; /* the gains of "table 0 1 3", as the text of a file */
    if (strncmp(spec, "table ", 6) == 0 && spec[6])
        RW_TRY(rw_mem_copy_text(ctx, &lines, spec + 6));
    for (char *c = lines; c && *c; c++)
        *c = *c == ' ' ? '\n' : *c;
    FILE *file = lines ? fmemopen(lines, strlen(lines), "rb") : rw_system_fopen(spec, "rb");
    if (!file) {
        const int why = errno;
        return rw_fail(ctx, rw_fail_io(NULL, why, "%s", spec),
                       "label-gain '%s': %s\nhint: 'exp', 'linear', or a file with the gains of "
                       "labels 0, 1, 2, ..., one per line",
                       spec, strerror(why));
    }
    const int status = read_table(ctx, rule, file, spec);
    fclose(file);
    if (status < 0)
        rw_gain_rule_release(rule);
    return status;
}

int rw_gain_rule_spec(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const char *spec,
                      char **out)
{
    if (rule->kind != RW_GAIN_TABLE)
        return rw_mem_copy_text(ctx, out, spec);
    char *text;
    RW_TRY(RW_NEW(ctx, text, (size_t)rule->n_table * 32 + 8));
    size_t used = (size_t)snprintf(text, 8, "table");
    for (uint32_t l = 0; l < rule->n_table; l++)
        used += (size_t)snprintf(text + used, 32, " %.17g", rule->table[l]);
    *out = text;
    return RW_OK;
}

void rw_gain_rule_release(struct rw_gain_rule *rule)
{
    rw_mem_free(rule->table);
    rule->table = NULL;
    rule->n_table = 0;
}

/* Computes a label's gain and returns 1. For an invalid label, returns 0 and writes the reason to
 * `wrong`. */
static int gain_of(const struct rw_gain_rule *rule, double label, double *gain, char *wrong,
                   size_t size)
{
    if (!(label >= 0.0 && label <= 2147483648.0))
        return snprintf(wrong, size, "has no gain: expected 0 to 2147483648"), 0;
    switch (rule->kind) {
    case RW_GAIN_EXP:
        if (label > 31.0)
            return snprintf(wrong, size,
                            "is above 31, the maximum for the gain 2^l - 1\nhint: use label-gain "
                            "linear, or a file of gains"),
                   0;
        *gain = rw_exp2(label) - 1.0;
        break;
    case RW_GAIN_LINEAR:
        *gain = label;
        break;
    case RW_GAIN_TABLE:
        if (label >= (double)rule->n_table || label != (double)(uint32_t)label)
            return snprintf(wrong, size,
                            "has no gain: the gains %s are for whole labels from 0 to %u",
                            rule->text, rule->n_table - 1),
                   0;
        *gain = rule->table[(uint32_t)label];
        break;
    }
    return 1;
}

struct gains_job {
    const struct rw_gain_rule *rule;
    const float *label;
    double *gains;
    uint32_t wrong; /* the first document with an invalid label; n_docs: all are valid */
};

static int find_gains(void *user, struct rw_share *share)
{
    struct gains_job *job = user;
    char wrong[256];
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        while (i < end &&
               gain_of(job->rule, (double)job->label[i], &job->gains[i], wrong, sizeof(wrong)))
            i++;
        if (i == end)
            continue;
        rw_share_lock(share);
        if (i < job->wrong)
            job->wrong = (uint32_t)i;
        rw_share_unlock(share);
    }
    return RW_OK;
}

int rw_gains(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const struct rw_dataset *dataset,
             double *gains)
{
    struct gains_job job = {rule, dataset->label, gains, dataset->n_docs};
    RW_TRY(
        rw_parallel(ctx, ctx ? ctx->n_threads : 1, dataset->n_docs, GAINS_CHUNK, find_gains, &job));
    if (job.wrong == dataset->n_docs)
        return RW_OK;
    const double label = (double)dataset->label[job.wrong];
    char wrong[256], where[1024];
    gain_of(rule, label, &gains[job.wrong], wrong, sizeof(wrong));
    rw_dataset_where(ctx, dataset, job.wrong, where, sizeof(where));
    return rw_fail(ctx, RW_ERR_DATA, "%s: label %g %s", where, label, wrong);
}

static int by_falling_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Sorts values, such as gains, by counting if at most MOST of them are distinct, and returns 1.
 * Otherwise returns 0 and leaves the values as they are. */
static int sort_few(double *values, uint32_t n)
{
    enum { MOST = 16 };
    double distinct[MOST];
    uint32_t count[MOST], n_distinct = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = 0;
        while (d < n_distinct && memcmp(&distinct[d], &values[i], sizeof(*values)) != 0)
            d++;
        if (d == MOST)
            return 0;
        if (d == n_distinct) {
            distinct[n_distinct] = values[i];
            count[n_distinct++] = 0;
        }
        count[d]++;
    }
    while (at < n) {
        uint32_t largest = 0;
        while (count[largest] == 0)
            largest++;
        for (uint32_t d = largest + 1; d < n_distinct; d++)
            largest = count[d] > 0 && distinct[d] > distinct[largest] ? d : largest;
        for (; count[largest] > 0; count[largest]--)
            values[at++] = distinct[largest];
    }
    return 1;
}

void rw_sort_falling(double *values, uint32_t n)
{
    if (!sort_few(values, n))
        RW_SORT(values, n, by_falling_value);
}

double rw_ideal_dcg(const double *gains, uint32_t n, uint32_t truncation, const double *discounts,
                    double *scratch)
{
    memcpy(scratch, gains, n * sizeof(*scratch));
    rw_sort_falling(scratch, n);
    const uint32_t top = truncation && truncation < n ? truncation : n;
    double sum = 0.0;
    for (uint32_t r = 0; r < top; r++)
        sum += scratch[r] * discounts[r];
    return sum;
}

uint32_t rw_longest_query(const uint32_t *query_offset, uint32_t n_queries)
{
    uint32_t longest = 0;
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = query_offset[q + 1] - query_offset[q];
        longest = n > longest ? n : longest;
    }
    return longest;
}

void rw_discounts(double *discounts, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++)
        discounts[r] = rw_discount(r);
}

struct ideal_job {
    const double *gains, *discounts;
    const uint32_t *query_offset;
    uint32_t truncation;
    double *sorted; /* [n_docs] scratch */
    double *ideal;  /* [n_queries] */
};

static int ideals_of_queries(void *user, struct rw_share *share)
{
    const struct ideal_job *job = user;
    const uint32_t *offset = job->query_offset;
    RW_SHARE_EACH(share, q)
        job->ideal[q] = rw_ideal_dcg(job->gains + offset[q], offset[q + 1] - offset[q],
                                     job->truncation, job->discounts, job->sorted + offset[q]);
    return RW_OK;
}

int rw_ideal_dcgs(struct rw_ctx *ctx, const double *gains, const uint32_t *query_offset,
                  uint32_t n_queries, uint32_t truncation, const double *discounts, double *ideal)
{
    RW_FREED double *sorted = NULL;
    RW_TRY(RW_NEW_RAW(ctx, sorted, query_offset[n_queries]));
    struct ideal_job job = {gains, discounts, query_offset, truncation, sorted, ideal};
    return rw_parallel(ctx, ctx->n_threads, n_queries, 64, ideals_of_queries, &job);
}
