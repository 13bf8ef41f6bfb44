/* Compares two rankings of the same data: the difference of a metric, whether chance explains it,
 * which queries cause it, and how many first results change (churn). Also corrects the p values of
 * several tests (rw_holm), and reads the groups into which a user divides the queries. */
#include <stdlib.h>

#include "base/rng.h"
#include "evaluate/evaluate.h"
#include "io/data_format.h"

/* ---- the difference ---- */

struct sums {
    double a, b, weight;
};

static void add(const struct rw_pairs *pairs, uint32_t i, struct sums *sums)
{
    const double weight = pairs->weight ? pairs->weight[i] : 1.0;
    sums->a += weight * pairs->a[i];
    sums->b += weight * pairs->b[i];
    sums->weight += weight;
}

static double mean_of(const struct rw_pairs *pairs, double sum, double weight)
{
    return pairs->root ? sqrt(sum / weight) : sum / weight;
}

/* ---- the interval ---- */

/* Returns the sums over one resample of the queries. A Philox block gives four draws. A draw is the
 * high word of random x n; its bias, n / 2^32, is far below the resolution of RW_BOOTSTRAP_SAMPLES
 * resamples. */
static struct sums resample(const struct rw_pairs *pairs, uint64_t seed, uint32_t sample)
{
    struct sums sums = {0};
    for (uint32_t i = 0; i < pairs->n; i += 4) {
        const struct rw_philox random = rw_random4(seed, i / 4, sample, RW_STREAM_BOOTSTRAP);
        for (uint32_t k = 0; k < 4 && i + k < pairs->n; k++)
            add(pairs, (uint32_t)((uint64_t)random.word[k] * pairs->n >> 32), &sums);
    }
    return sums;
}

struct resample_job {
    const struct rw_pairs *pairs;
    uint64_t seed;
    double *differences; /* [RW_BOOTSTRAP_SAMPLES] */
};

static int resample_some(void *user, struct rw_share *share)
{
    const struct resample_job *job = user;
    RW_SHARE_EACH(share, s) {
        const struct sums sums = resample(job->pairs, job->seed, (uint32_t)s);
        job->differences[s] = sums.weight > 0.0 ? mean_of(job->pairs, sums.b, sums.weight) -
                                                      mean_of(job->pairs, sums.a, sums.weight)
                                                : (double)NAN;
    }
    return RW_OK;
}

static int bootstrap(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                     struct rw_compared *out)
{
    RW_FREED double *differences = NULL;
    uint32_t n = 0;
    out->low = out->high = (double)NAN;
    if (pairs->n < 2)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, differences, RW_BOOTSTRAP_SAMPLES));
    struct resample_job job = {pairs, seed, differences};
    const int status =
        rw_parallel_long(ctx, ctx->n_threads, RW_BOOTSTRAP_SAMPLES, 64, resample_some, &job);
    for (uint32_t s = 0; status >= 0 && s < RW_BOOTSTRAP_SAMPLES; s++) {
        if (differences[s] == differences[s])
            differences[n++] = differences[s];
    }
    const uint32_t tail = n / 40; /* 2.5 % */
    if (tail > 0) {
        rw_sort_falling(differences, n);
        out->high = differences[tail - 1];
        out->low = differences[n - tail];
    }
    return status;
}

/* ---- the test ---- */

/* Scales the weighted differences to whole numbers of at most 2^60 in size and writes those that
 * are not 0. Returns their number. Sums of whole numbers are exact, so a sign pattern that gives
 * the observed difference again compares equal to it. whole: room for pairs->n + 1 */
static uint32_t whole_differences(const struct rw_pairs *pairs, int64_t *whole)
{
    double most = 0.0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < pairs->n; i++) {
        const double weight = pairs->weight ? pairs->weight[i] : 1.0;
        const double size = fabs(weight * (pairs->b[i] - pairs->a[i]));
        most = size > most ? size : most;
    }
    if (!(most > 0.0))
        return 0;
    int exponent;
    frexp(most, &exponent);
    for (uint32_t i = 0; i < pairs->n; i++) {
        const double weight = pairs->weight ? pairs->weight[i] : 1.0;
        const double scaled = ldexp(weight * (pairs->b[i] - pairs->a[i]), 60 - exponent);
        whole[n] = (int64_t)rint(scaled);
        n += whole[n] != 0;
    }
    return n;
}

static int at_least(rw_int128 sum, rw_int128 found)
{
    return (sum < 0 ? -sum : sum) >= (found < 0 ? -found : found);
}

static double exact_p(const int64_t *whole, uint32_t n, rw_int128 found)
{
    uint32_t hits = 0;
    for (uint32_t signs = 0; signs < 1u << n; signs++) {
        rw_int128 sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += signs >> i & 1 ? -(rw_int128)whole[i] : whole[i];
        hits += (uint32_t)at_least(sum, found);
    }
    return (double)hits / (double)(1u << n);
}

static rw_int128 random_sum(const int64_t *whole, uint32_t n, uint64_t seed, uint32_t pattern)
{
    rw_int128 sum = 0;
    for (uint32_t i = 0; i < n; i += 128) {
        const struct rw_philox random = rw_random4(seed, i / 128, pattern, RW_STREAM_SIGNS);
        for (uint32_t k = i; k < n && k < i + 128; k++)
            sum += random.word[(k - i) / 32] >> (k % 32) & 1 ? -(rw_int128)whole[k] : whole[k];
    }
    return sum;
}

struct signs_job {
    const int64_t *whole; /* [n] */
    uint32_t n;
    uint64_t seed;
    rw_int128 found; /* the sum of the observed differences */
    uint64_t hits;   /* number of patterns whose sum is at least as far from 0 as `found` */
};

static int count_hits(void *user, struct rw_share *share)
{
    struct signs_job *job = user;
    uint64_t hits = 0;
    RW_SHARE_EACH(share, r)
        hits +=
            (uint64_t)at_least(random_sum(job->whole, job->n, job->seed, (uint32_t)r), job->found);
    rw_share_add(share, &job->hits, hits);
    return RW_OK;
}

static int randomise(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed, double *p)
{
    RW_FREED int64_t *whole = NULL;
    rw_int128 found = 0;
    int status = RW_OK;
    *p = 1.0;
    RW_TRY(RW_NEW(ctx, whole, (size_t)pairs->n + 1));
    const uint32_t n = whole_differences(pairs, whole);
    for (uint32_t i = 0; i < n; i++)
        found += whole[i];
    if (n > RW_EXACT_SIGNS) {
        struct signs_job job = {whole, n, seed, found, 0};
        status = rw_parallel_long(ctx, ctx->n_threads, RW_RANDOM_SIGNS, 64, count_hits, &job);
        /* The observed signs count as one pattern (Davison and Hinkley 1997, section 4.2). */
        *p = (1.0 + (double)job.hits) / (1.0 + RW_RANDOM_SIGNS);
    } else if (n > 0) {
        *p = exact_p(whole, n, found);
    }
    return status;
}

int rw_significance(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                    struct rw_compared *out)
{
    struct sums sums = {0};
    *out = (struct rw_compared){.n_queries = pairs->n};
    for (uint32_t i = 0; i < pairs->n; i++) {
        add(pairs, i, &sums);
        const int better =
            pairs->lower_is_better ? pairs->b[i] < pairs->a[i] : pairs->b[i] > pairs->a[i];
        out->n_ties += pairs->a[i] == pairs->b[i];
        out->n_wins += (uint32_t)better;
    }
    out->n_losses = pairs->n - out->n_ties - out->n_wins;
    out->mean_a = out->mean_b = out->difference = (double)NAN;
    if (sums.weight > 0.0) {
        out->mean_a = mean_of(pairs, sums.a, sums.weight);
        out->mean_b = mean_of(pairs, sums.b, sums.weight);
        out->difference = out->mean_b - out->mean_a;
    }
    RW_TRY(bootstrap(ctx, pairs, seed, out));
    return randomise(ctx, pairs, seed, &out->p);
}

/* ---- several tests ---- */

int rw_holm(struct rw_ctx *ctx, double *p, int n)
{
    RW_FREED struct rw_keyed *sorted = NULL;
    double most = 0.0;
    RW_TRY(RW_NEW(ctx, sorted, (size_t)n + 1));
    for (int i = 0; i < n; i++)
        sorted[i] = (struct rw_keyed){p[i], (uint32_t)i};
    RW_SORT(sorted, (size_t)n, rw_by_key);
    for (int i = 0; i < n; i++) {
        const double times = sorted[i].key * (double)(n - i);
        const double corrected = times < 1.0 ? times : 1.0;
        most = corrected > most ? corrected : most;
        p[sorted[i].id] = most;
    }
    return RW_OK;
}

/* ---- groups of queries ---- */

/* Records the group of the query on the current line. The group's name ends with the line. */
static int take_line(struct rw_ctx *ctx, struct rw_line_reader *lines,
                     const struct rw_query_ids *ids, const char **group_of)
{
    struct rw_word word[2];
    size_t query;
    const int n = rw_line_words(lines->begin, lines->end, word, 2);
    if (n == 0 || *word[0].text == '#')
        return RW_OK;
    if (n == 1)
        return rw_line_wrong(ctx, lines, &word[0], "'QUERY GROUP'");
    if (!*word[1].text)
        return rw_line_wrong(ctx, lines, &word[1], "a group name");
    while (lines->end[-1] && strchr(" \t\r", lines->end[-1]))
        *--lines->end = 0;
    if (!rw_query_ids_find(ids, word[0].text, word[0].n, &query))
        return RW_OK;
    if (group_of[query])
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: query '%.*s' already has a group",
                       lines->name, (unsigned long long)lines->number,
                       (size_t)(word[0].text - lines->begin) + 1,
                       (int)(word[0].n < 60 ? word[0].n : 60), word[0].text);
    group_of[query] = word[1].text;
    return RW_OK;
}

int rw_query_groups_read(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                         struct rw_arena *arena, const char ***out)
{
    RW_RELEASED(rw_line_reader_close) struct rw_line_reader lines = {0};
    RW_RELEASED(rw_query_ids_release) struct rw_query_ids ids = {0};
    RW_TRY(RW_ARENA_NEW(ctx, arena, *out, dataset->n_queries));
    RW_TRY(rw_line_reader_open(ctx, path, &lines));
    char *text = lines.text;
    lines.text = NULL; /* the group names point into the text */
    RW_TRY(rw_arena_own(ctx, arena, text, rw_mem_free));
    RW_TRY(rw_dataset_query_ids(ctx, dataset, &ids));
    while (rw_line_reader_next(&lines))
        RW_TRY(take_line(ctx, &lines, &ids, *out));
    return RW_OK;
}

/* ---- the comparison ---- */

enum { MOST_MOVED = 1000 };

/* A query and its group, NULL if it belongs to no group. */
struct member {
    const char *group;
    uint32_t query;
};

/* The two sides of a comparison: a metric by query, and the weights of its mean. */
struct sides {
    const struct rw_metric_kind *kind;
    const double *a, *b;   /* [n_queries] NaN where a query does not count */
    const int64_t *weight; /* [n_queries] */
    double *value;         /* [3][n_queries] scratch for pairs */
    uint64_t seed;
};

/* Sorts by group name, queries without a group last, then by input order. */
static int by_group(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (!x->group != !y->group)
        return x->group ? -1 : 1;
    const int order = x->group ? strcmp(x->group, y->group) : 0;
    return order ? order : (x->query > y->query) - (x->query < y->query);
}

/* Compares the two sides over those queries of `member` that count for the metric. member: [n] */
static int compare_members(struct rw_ctx *ctx, const struct sides *sides,
                           const struct member *member, uint32_t n, const char *name,
                           struct rw_compared *out)
{
    double *a = sides->value, *b = a + n, *weight = b + n;
    struct rw_pairs pairs = {.a = a,
                             .b = b,
                             .weight = weight,
                             .root = sides->kind->root,
                             .lower_is_better = sides->kind->lower_is_better};
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t q = member[i].query;
        if (isnan(sides->a[q]) || isnan(sides->b[q]))
            continue; /* an empty query, which both sides skip, as they share labels */
        /* Where a query's value is a root, its square is averaged. */
        a[pairs.n] = pairs.root ? sides->a[q] * sides->a[q] : sides->a[q];
        b[pairs.n] = pairs.root ? sides->b[q] * sides->b[q] : sides->b[q];
        weight[pairs.n++] = (double)sides->weight[q];
    }
    RW_TRY(rw_significance(ctx, &pairs, sides->seed, out));
    out->name = name;
    return RW_OK;
}

static int compare_groups(struct rw_ctx *ctx, const struct sides *sides, struct member *member,
                          uint32_t n, struct rw_comparison *made)
{
    struct rw_compared *group;
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(made), group, n));
    made->groups = group;
    RW_SORT(member, n, by_group);
    for (uint32_t begin = 0, end; begin < n; begin = end) {
        const char *name = member[begin].group ? member[begin].group : "-";
        for (end = begin + 1; end < n && !member[end].group == !member[begin].group &&
                              (!member[end].group || strcmp(member[end].group, name) == 0);)
            end++;
        RW_TRY(compare_members(ctx, sides, member + begin, end - begin, name,
                               &group[made->n_groups++]));
    }
    return RW_OK;
}

/* Sorts by falling size of the change, then by input order. */
static int by_change(const void *a, const void *b)
{
    const struct rw_moved_query *x = a, *y = b;
    const double change_x = fabs(x->b - x->a), change_y = fabs(y->b - y->a);
    if (change_x != change_y)
        return change_x > change_y ? -1 : 1;
    return x->query < y->query ? -1 : x->query > y->query;
}

static int list_moved(struct rw_ctx *ctx, const struct sides *sides, uint32_t n_queries,
                      struct rw_comparison *made)
{
    struct rw_moved_query *moved;
    uint32_t n = 0;
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(made), moved, n_queries));
    for (uint32_t q = 0; q < n_queries; q++) {
        const double a = sides->a[q], b = sides->b[q];
        if (!isnan(a) && !isnan(b) && a != b)
            moved[n++] = (struct rw_moved_query){q, a, b};
    }
    RW_SORT(moved, n, by_change);
    made->n_moved = (int)(n < MOST_MOVED ? n : MOST_MOVED);
    made->moved = moved;
    return RW_OK;
}

/* ---- churn ---- */

enum { TEN = 10, WHOLE = 2520 /* a multiple of 1 to TEN, so that overlaps are whole numbers */ };

struct churn_job {
    const struct rw_dataset *dataset;
    const double *scores[2];          /* [n_docs] */
    uint32_t *room;                   /* [threads][longest] */
    uint32_t longest;                 /* documents of the longest query */
    uint64_t n_first, n_ten, overlap; /* sums over queries; overlap: in units of 1 / WHOLE */
};

/* Writes the first documents of a ranking to first: [TEN]. Returns their number. order: [n]
 * scratch. */
static uint32_t find_first(const double *scores, uint32_t n, uint32_t *order, uint32_t *first)
{
    uint32_t n_first = 0;
    rw_rank_query(scores, n, 0, order);
    for (; n_first < n && n_first < TEN && scores[order[n_first]] != RW_UNRANKED; n_first++)
        first[n_first] = order[n_first];
    return n_first;
}

static int count_changes(void *user, struct rw_share *share)
{
    struct churn_job *job = user;
    const uint32_t *offset = job->dataset->query_offset;
    uint32_t *order = job->room + (size_t)share->thread * job->longest;
    uint64_t n_first = 0, n_ten = 0, overlap = 0;
    RW_SHARE_EACH(share, q) {
        uint32_t a[TEN], b[TEN], n_both = 0;
        const uint32_t begin = offset[q], n = offset[q + 1] - begin;
        const uint32_t n_a = find_first(job->scores[0] + begin, n, order, a);
        const uint32_t n_b = find_first(job->scores[1] + begin, n, order, b);
        const uint32_t larger = n_a > n_b ? n_a : n_b;
        for (uint32_t i = 0; i < n_a; i++) {
            for (uint32_t k = 0; k < n_b; k++)
                n_both += a[i] == b[k];
        }
        n_first += larger > 0 && (n_a == 0 || n_b == 0 || a[0] != b[0]);
        n_ten += n_both < larger;
        overlap += larger ? n_both * (WHOLE / larger) : WHOLE;
    }
    rw_share_add(share, &job->n_first, n_first);
    rw_share_add(share, &job->n_ten, n_ten);
    rw_share_add(share, &job->overlap, overlap);
    return RW_OK;
}

static int measure_churn(struct rw_ctx *ctx, const struct rw_dataset *dataset, const double *a,
                         const double *b, struct rw_comparison *made)
{
    RW_FREED uint32_t *room = NULL;
    const double n = (double)dataset->n_queries;
    struct churn_job job = {.dataset = dataset, .scores = {a, b}};
    job.longest = rw_longest_query(dataset->query_offset, dataset->n_queries);
    RW_TRY(RW_NEW_RAW(ctx, room, (size_t)job.longest * (size_t)ctx->n_threads));
    job.room = room;
    RW_TRY(rw_parallel(ctx, ctx->n_threads, dataset->n_queries, 64, count_changes, &job));
    made->changed_first = (double)job.n_first / n;
    made->changed_ten = (double)job.n_ten / n;
    made->overlap_ten = (double)job.overlap / (n * WHOLE);
    return RW_OK;
}

/* ---- all of it ---- */

int rw_compare(struct rw_ctx *ctx, const struct rw_eval_params *how,
               const struct rw_dataset *dataset, const double *scores_a, const double *scores_b,
               const char *groups, struct rw_comparison **out)
{
    RW_DEFAULT_FPENV;
    RW_SCOPED(rw_free) struct rw_comparison *made = NULL;
    RW_RELEASED(rw_judgments_release) struct rw_judgments judgments = {0};
    const uint32_t n = dataset->n_queries;
    const struct rw_eval *eval_a, *eval_b;
    struct rw_metric metric;
    struct member *member;
    const char **group_of = NULL;
    int64_t *weights;
    double *value;
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&made, sizeof(*made)));
    struct rw_arena *arena = rw_result_arena(made);
    RW_TRY(rw_eval_one_metric(ctx, how, "compare", &metric));
    if (how->like && dataset->weight)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "weights: comparing as '%s' measures needs data without weights", how->like);
    RW_TRY(rw_evaluate_into(ctx, how, dataset, scores_a, arena, &eval_a));
    RW_TRY(rw_evaluate_into(ctx, how, dataset, scores_b, arena, &eval_b));
    if (groups)
        RW_TRY(rw_query_groups_read(ctx, dataset, groups, arena, &group_of));
    RW_TRY(RW_ARENA_NEW(ctx, arena, member, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, weights, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, value, (size_t)n * 3));
    RW_TRY(rw_judgments_init(ctx, &judgments, dataset, NULL, 0));
    rw_metric_weights(metric.kind, &judgments, weights); /* which the metric's mean uses */
    for (uint32_t q = 0; q < n; q++)
        member[q] = (struct member){group_of ? group_of[q] : NULL, q};
    const struct rw_eval_metric *a = eval_a->metrics, *b = eval_b->metrics;
    const struct sides sides = {metric.kind, a->per_query, b->per_query, weights, value, how->seed};
    made->metric = a->name;
    made->conventions = eval_a->conventions;
    made->lower_is_better = metric.kind->lower_is_better;
    made->ties_moved_a = a->ties_moved;
    made->ties_moved_b = b->ties_moved;
    made->n_samples = RW_BOOTSTRAP_SAMPLES;
    RW_TRY(compare_members(ctx, &sides, member, n, "", &made->all));
    if (groups)
        RW_TRY(compare_groups(ctx, &sides, member, n, made));
    RW_TRY(list_moved(ctx, &sides, n, made));
    RW_TRY(measure_churn(ctx, dataset, scores_a, scores_b, made));
    /* The means are those that eval prints, to the last digit. */
    made->all.mean_a = a->mean;
    made->all.mean_b = b->mean;
    made->all.difference = b->mean - a->mean;
    *out = RW_TAKE(made);
    return RW_OK;
}
