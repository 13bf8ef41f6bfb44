/* Two rankings of the same data: the difference of a metric, whether it may be chance, and
 * where it comes from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "base/rng.h"
#include "metric/dcg.h"
#include "dataset/names.h"
#include "io/input.h"

enum { MOST_MOVED = 1000 };

/* A struct rw_comparison and what it owns. */
struct comparing {
    struct rw_comparison comparison; /* first: rw_comparison_free gets its address */
    struct rw_query_groups groups;
    struct rw_compared *group;       /* [groups.n] owned */
    struct rw_moved_query *moved;    /* [n_moved] owned */
    struct rw_eval *eval_a, *eval_b; /* owned; names and conventions are borrowed of them */
};

/* The queries that count, side by side. */
struct columns {
    double *a, *b, *weight; /* [n] owned */
    uint32_t *query;        /* [n] owned */
    uint32_t n;
};

static void columns_release(struct columns *columns)
{
    rw_mem_free(columns->a);
    rw_mem_free(columns->b);
    rw_mem_free(columns->weight);
    rw_mem_free(columns->query);
}

/* Weights as the metric's mean has them. */
static int weigh(struct rw_ctx *ctx, const struct rw_metric *metric,
                 const struct rw_dataset *dataset, struct columns *columns)
{
    struct rw_judgments judgments = {0};
    int64_t *weights = NULL;
    int status = RW_OK;
    RW_TRY_OUT(rw_judgments_init(ctx, &judgments, dataset, NULL, 0));
    RW_TRY_OUT(RW_NEW(ctx, weights, dataset->n_queries));
    rw_metric_weights(metric->kind, &judgments, weights);
    for (uint32_t i = 0; i < columns->n; i++)
        columns->weight[i] = (double)weights[columns->query[i]];
out:
    rw_mem_free(weights);
    rw_judgments_release(&judgments);
    return status;
}

static int make_columns(struct rw_ctx *ctx, const struct rw_metric *metric,
                        const struct rw_dataset *dataset, const double *a, const double *b,
                        struct columns *columns)
{
    const uint32_t n = dataset->n_queries;
    RW_TRY(RW_NEW(ctx, columns->a, n));
    RW_TRY(RW_NEW(ctx, columns->b, n));
    RW_TRY(RW_NEW(ctx, columns->weight, n));
    RW_TRY(RW_NEW(ctx, columns->query, n));
    for (uint32_t q = 0; q < n; q++) {
        if (a[q] != a[q] || b[q] != b[q])
            continue; /* empty: in both, for the labels are the same */
        columns->a[columns->n] = a[q];
        columns->b[columns->n] = b[q];
        columns->query[columns->n++] = q;
    }
    return weigh(ctx, metric, dataset, columns);
}

static int compare_columns(struct rw_ctx *ctx, const struct rw_metric *metric,
                           const struct columns *columns, uint64_t seed, const char *name,
                           struct rw_compared *out)
{
    const struct rw_metric_kind *kind = metric->kind;
    double *squares = NULL;
    struct rw_pairs pairs = {.n = columns->n,
                             .a = columns->a,
                             .b = columns->b,
                             .weight = columns->weight,
                             .root = kind->root,
                             .lower_is_better = kind->lower_is_better};
    if (kind->root) { /* a query's value is a root; what is averaged is its square */
        RW_TRY(RW_NEW(ctx, squares, (size_t)columns->n * 2));
        for (uint32_t i = 0; i < columns->n; i++) {
            squares[i] = columns->a[i] * columns->a[i];
            squares[columns->n + i] = columns->b[i] * columns->b[i];
        }
        pairs.a = squares;
        pairs.b = squares + columns->n;
    }
    const int status = rw_significance(ctx, &pairs, seed, out);
    out->name = name;
    rw_mem_free(squares);
    return status;
}

static int compare_groups(struct rw_ctx *ctx, const struct rw_metric *metric,
                          const struct columns *columns, uint64_t seed, struct comparing *made)
{
    struct columns part = {0};
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, made->group, made->groups.n));
    RW_TRY_OUT(RW_NEW(ctx, part.a, columns->n));
    RW_TRY_OUT(RW_NEW(ctx, part.b, columns->n));
    RW_TRY_OUT(RW_NEW(ctx, part.weight, columns->n));
    for (uint32_t g = 0; g < made->groups.n; g++) {
        part.n = 0;
        for (uint32_t i = 0; i < columns->n; i++) {
            if (made->groups.of[columns->query[i]] != g)
                continue;
            part.a[part.n] = columns->a[i];
            part.b[part.n] = columns->b[i];
            part.weight[part.n++] = columns->weight[i];
        }
        RW_TRY_OUT(
            compare_columns(ctx, metric, &part, seed, made->groups.name[g], &made->group[g]));
    }
    made->comparison.n_groups = (int)made->groups.n;
    made->comparison.groups = made->group;
out:
    columns_release(&part);
    return status;
}

/* By falling change, then in the order of the input. */
static int by_change(const void *a, const void *b)
{
    const struct rw_moved_query *x = a, *y = b;
    const double change_x = fabs(x->b - x->a), change_y = fabs(y->b - y->a);
    if (change_x != change_y)
        return change_x > change_y ? -1 : 1;
    return x->query < y->query ? -1 : x->query > y->query;
}

static int list_moved(struct rw_ctx *ctx, const struct columns *columns, struct comparing *made)
{
    uint32_t n = 0;
    RW_TRY(RW_NEW(ctx, made->moved, columns->n));
    for (uint32_t i = 0; i < columns->n; i++) {
        if (columns->a[i] != columns->b[i])
            made->moved[n++] =
                (struct rw_moved_query){columns->query[i], columns->a[i], columns->b[i]};
    }
    if (n > 1)
        qsort(made->moved, n, sizeof(*made->moved), by_change);
    made->comparison.n_moved = (int)(n < MOST_MOVED ? n : MOST_MOVED);
    made->comparison.moved = made->moved;
    return RW_OK;
}

/* program: NULL: by the parameters. */
static int evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const double *scores, const char *program,
                    struct rw_eval **out)
{
    return program ? rw_evaluate_like(ctx, how, dataset, scores, program, out)
                   : rw_evaluate(ctx, how, dataset, scores, out);
}

int rw_compare_like(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const double *scores_a,
                    const double *scores_b, const char *groups, const char *program,
                    struct rw_comparison **out)
{
    RW_DEFAULT_FPENV;
    struct rw_metric metric[RW_MAX_METRICS];
    struct comparing *made = NULL;
    struct columns columns = {0};
    int n_metrics, status = RW_OK;
    *out = NULL;
    RW_TRY(rw_eval_metrics(ctx, how, metric, &n_metrics));
    if (n_metrics != 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'metric': expected one metric to compare, found %d",
                       n_metrics);
    if (program && dataset->weight)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "weights: rankings are compared as '%s' measures them without weights only",
                       program);
    RW_TRY_OUT(RW_NEW(ctx, made, 1));
    RW_TRY_OUT(evaluate(ctx, how, dataset, scores_a, program, &made->eval_a));
    RW_TRY_OUT(evaluate(ctx, how, dataset, scores_b, program, &made->eval_b));
    const struct rw_eval_metric *a = made->eval_a->metrics, *b = made->eval_b->metrics;
    struct rw_comparison *comparison = &made->comparison;
    comparison->metric = a->name;
    comparison->conventions = made->eval_a->conventions;
    comparison->lower_is_better = metric->kind->lower_is_better;
    comparison->ties_moved_a = a->ties_moved;
    comparison->ties_moved_b = b->ties_moved;
    comparison->n_samples = RW_BOOTSTRAP_SAMPLES;
    RW_TRY_OUT(make_columns(ctx, metric, dataset, a->per_query, b->per_query, &columns));
    RW_TRY_OUT(compare_columns(ctx, metric, &columns, how->seed, "", &comparison->all));
    if (groups) {
        RW_TRY_OUT(rw_query_groups_read(ctx, dataset, groups, &made->groups));
        RW_TRY_OUT(compare_groups(ctx, metric, &columns, how->seed, made));
    }
    RW_TRY_OUT(list_moved(ctx, &columns, made));
    /* The means are those that eval prints, to the last digit. */
    comparison->all.mean_a = a->mean;
    comparison->all.mean_b = b->mean;
    comparison->all.difference = b->mean - a->mean;
    *out = comparison;
    made = NULL;
out:
    columns_release(&columns);
    if (made)
        rw_comparison_free(&made->comparison);
    return status;
}

int rw_compare(struct rw_ctx *ctx, const struct rw_eval_params *how,
               const struct rw_dataset *dataset, const double *scores_a, const double *scores_b,
               const char *groups, struct rw_comparison **out)
{
    return rw_compare_like(ctx, how, dataset, scores_a, scores_b, groups, NULL, out);
}

void rw_comparison_free(struct rw_comparison *comparison)
{
    struct comparing *made = (struct comparing *)comparison;
    if (!made)
        return;
    rw_eval_free(made->eval_a);
    rw_eval_free(made->eval_b);
    rw_query_groups_release(&made->groups);
    rw_mem_free(made->group);
    rw_mem_free(made->moved);
    rw_mem_free(made);
}

__extension__ typedef __int128 int128;

/* ------------------------------------------------------------------ the difference */

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

static double difference_of(const struct rw_pairs *pairs, const struct sums *sums)
{
    return mean_of(pairs, sums->b, sums->weight) - mean_of(pairs, sums->a, sums->weight);
}

/* ------------------------------------------------------------------ the interval */

/* The i-th draw of a resample: four to a Philox block. A draw is the high word of random x n, whose
 * bias, n / 2^32, is far below what the number of resamples can show. */
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
    for (uint64_t s, end; rw_share_next(share, &s, &end);) {
        for (; s < end; s++) {
            const struct sums sums = resample(job->pairs, job->seed, (uint32_t)s);
            job->differences[s] =
                sums.weight > 0.0 ? difference_of(job->pairs, &sums) : (double)NAN;
        }
    }
    return RW_OK;
}

static int bootstrap(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                     struct rw_compared *out)
{
    double *differences = NULL;
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
    rw_mem_free(differences);
    return status;
}

/* ------------------------------------------------------------------ the test */

/* Differences as whole numbers, the largest under 2^61: sums of signs are exact, so that a pattern
 * which gives the same difference again is seen to. Zeros are left out. Returns how many. */
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

static int at_least(int128 sum, int128 found)
{
    return (sum < 0 ? -sum : sum) >= (found < 0 ? -found : found);
}

static double exact_p(const int64_t *whole, uint32_t n, int128 found)
{
    uint32_t hits = 0;
    for (uint32_t signs = 0; signs < 1u << n; signs++) {
        int128 sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += signs >> i & 1 ? -(int128)whole[i] : whole[i];
        hits += (uint32_t)at_least(sum, found);
    }
    return (double)hits / (double)(1u << n);
}

static int128 random_sum(const int64_t *whole, uint32_t n, uint64_t seed, uint32_t pattern)
{
    int128 sum = 0;
    for (uint32_t i = 0; i < n; i += 128) {
        const struct rw_philox random = rw_random4(seed, i / 128, pattern, RW_STREAM_SIGNS);
        for (uint32_t k = i; k < n && k < i + 128; k++)
            sum += random.word[(k - i) / 32] >> (k % 32) & 1 ? -(int128)whole[k] : whole[k];
    }
    return sum;
}

struct signs_job {
    const int64_t *whole; /* [n] */
    uint32_t n;
    uint64_t seed;
    int128 found;
    uint32_t hits; /* patterns whose sum is as far from 0, or further */
};

static int count_hits(void *user, struct rw_share *share)
{
    struct signs_job *job = user;
    uint32_t hits = 0;
    for (uint64_t r, end; rw_share_next(share, &r, &end);) {
        for (; r < end; r++)
            hits += (uint32_t)at_least(random_sum(job->whole, job->n, job->seed, (uint32_t)r),
                                       job->found);
    }
    rw_share_lock(share);
    job->hits += hits;
    rw_share_unlock(share);
    return RW_OK;
}

static int randomise(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed, double *p)
{
    int64_t *whole = NULL;
    int128 found = 0;
    int status = RW_OK;
    *p = 1.0;
    RW_TRY(RW_NEW(ctx, whole, (size_t)pairs->n + 1));
    const uint32_t n = whole_differences(pairs, whole);
    for (uint32_t i = 0; i < n; i++)
        found += whole[i];
    if (n > RW_EXACT_SIGNS) {
        struct signs_job job = {whole, n, seed, found, 0};
        status = rw_parallel_long(ctx, ctx->n_threads, RW_RANDOM_SIGNS, 64, count_hits, &job);
        /* What was found is one of the patterns (Davison and Hinkley 1997, section 4.2). */
        *p = (1.0 + job.hits) / (1.0 + RW_RANDOM_SIGNS);
    } else if (n > 0) {
        *p = exact_p(whole, n, found);
    }
    rw_mem_free(whole);
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

/* ------------------------------------------------------------------ several tests */

static int by_p(const void *a, const void *b)
{
    const double x = **(double *const *)a, y = **(double *const *)b;
    return (x > y) - (x < y);
}

int rw_holm(struct rw_ctx *ctx, double *p, int n)
{
    double **sorted = NULL, most = 0.0;
    RW_TRY(RW_NEW(ctx, sorted, (size_t)n + 1));
    for (int i = 0; i < n; i++)
        sorted[i] = &p[i];
    if (n > 1)
        qsort(sorted, (size_t)n, sizeof(*sorted), by_p);
    for (int i = 0; i < n; i++) {
        const double times = *sorted[i] * (double)(n - i);
        const double corrected = times < 1.0 ? times : 1.0;
        most = corrected > most ? corrected : most;
        *sorted[i] = most;
    }
    rw_mem_free(sorted);
    return RW_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void rw_query_groups_release(struct rw_query_groups *groups)
{
    for (uint32_t g = 0; groups->name && g < groups->n; g++)
        rw_mem_free(groups->name[g]);
    rw_mem_free(groups->name);
    rw_mem_free(groups->of);
    memset(groups, 0, sizeof(*groups));
}

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t\r");
}

/* Cuts a line into the id and the group; 0: nothing on it. */
static int take_line(struct rw_ctx *ctx, const char *path, uint32_t number, char *line, char **id,
                     char **group)
{
    size_t n = strlen(line);
    while (n > 0 && strchr(" \t\r", line[n - 1]))
        line[--n] = 0;
    *id = skip_blanks(line);
    if (!**id || **id == '#')
        return 0;
    char *end = *id + strcspn(*id, " \t");
    *group = skip_blanks(end);
    if (!**group)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%u:%zu: expected 'QUERY GROUP', found '%.60s'", path,
                       number, (size_t)(*id - line) + 1, *id);
    *end = 0;
    return 1;
}

/* given: [n_queries] each query's group, in `text`; NULL: none. */
static int read_lines(struct rw_ctx *ctx, const char *path, char *text,
                      const struct rw_query_ids *ids, const char **given)
{
    uint32_t number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        char *id, *group;
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        const int found = take_line(ctx, path, number, line, &id, &group);
        RW_TRY(found);
        if (!found)
            continue;
        size_t query;
        if (!rw_query_ids_find(ids, id, strlen(id), &query))
            continue;
        if (given[query])
            return rw_fail(ctx, RW_ERR_PARSE, "%s:%u:%zu: query '%.60s' has a group already", path,
                           number, (size_t)(id - line) + 1, id);
        given[query] = group;
    }
    return RW_OK;
}

/* The names once each, and the queries' numbers. */
static int number_groups(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char **given,
                         struct rw_query_groups *out)
{
    const uint32_t n_queries = dataset->n_queries;
    const char **names = NULL;
    uint32_t n = 0, n_given = 0;
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, names, (size_t)n_queries + 1));
    for (uint32_t q = 0; q < n_queries; q++) {
        if (given[q])
            names[n_given++] = given[q];
    }
    if (n_given > 1)
        qsort(names, n_given, sizeof(*names), compare_names);
    for (uint32_t i = 0; i < n_given; i++) {
        if (n == 0 || strcmp(names[n - 1], names[i]) != 0)
            names[n++] = names[i];
    }
    RW_TRY_OUT(RW_NEW(ctx, out->name, (size_t)n + 1));
    RW_TRY_OUT(RW_NEW(ctx, out->of, n_queries));
    for (; out->n < n; out->n++)
        RW_TRY_OUT(rw_mem_copy_text(ctx, &out->name[out->n], names[out->n]));
    if (n_given < n_queries) {
        RW_TRY_OUT(rw_mem_copy_text(ctx, &out->name[out->n], "-"));
        out->n++;
    }
    for (uint32_t q = 0; q < n_queries; q++) {
        const char **at =
            given[q] ? bsearch(&given[q], names, n, sizeof(*names), compare_names) : &names[n];
        out->of[q] = (uint32_t)(at - names);
    }
out:
    rw_mem_free(names);
    return status;
}

int rw_query_groups_read(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                         struct rw_query_groups *out)
{
    struct rw_input *input = NULL;
    struct rw_query_ids ids = {0};
    const char **given = NULL;
    char *text = NULL;
    size_t n_bytes;
    int status = RW_OK;
    memset(out, 0, sizeof(*out));
    RW_TRY_OUT(rw_input_open(ctx, path, &input));
    RW_TRY_OUT(rw_input_read_all(ctx, input, &text, &n_bytes));
    RW_TRY_OUT(rw_dataset_query_ids(ctx, dataset, &ids));
    RW_TRY_OUT(RW_NEW(ctx, given, dataset->n_queries));
    RW_TRY_OUT(read_lines(ctx, rw_input_name(input), text, &ids, given));
    RW_TRY_OUT(number_groups(ctx, dataset, given, out));
out:
    if (status < 0)
        rw_query_groups_release(out);
    rw_query_ids_release(&ids);
    rw_mem_free(given);
    rw_mem_free(text);
    rw_input_close(input);
    return status;
}
