/* Features of a data set, one at a time, and against another set's. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "check/data_check.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "metric/metric.h"

struct job {
    const struct rw_dataset *dataset, *other;
    uint32_t longest;
    uint64_t *hash;                    /* [n_columns] of the values, to find duplicates */
    struct rw_feature_check *features; /* [n_columns] */
};

/* A thread's arrays; of n_docs: the larger set's. */
struct space {
    float *value;                        /* [n_docs] */
    uint32_t *key, *other_key, *scratch; /* [n_docs] */
    double *score;                       /* [longest] */
    uint32_t *order;                     /* [longest] */
};

static void space_release(struct space *space)
{
    rw_mem_free(space->value);
    rw_mem_free(space->key);
    rw_mem_free(space->other_key);
    rw_mem_free(space->scratch);
    rw_mem_free(space->score);
    rw_mem_free(space->order);
}

static int space_init(const struct job *job, struct space *space)
{
    const size_t m = job->other ? job->other->n_docs : 0;
    const size_t n = job->dataset->n_docs > m ? job->dataset->n_docs : m;
    RW_TRY(RW_NEW_RAW(NULL, space->value, n));
    RW_TRY(RW_NEW_RAW(NULL, space->key, n));
    RW_TRY(RW_NEW_RAW(NULL, space->other_key, m));
    RW_TRY(RW_NEW_RAW(NULL, space->scratch, n));
    RW_TRY(RW_NEW_RAW(NULL, space->score, job->longest));
    return RW_NEW_RAW(NULL, space->order, job->longest);
}

/* The values that are not missing, sorted. Returns how many. */
static size_t sort_values(const float *value, size_t n, uint32_t *key, uint32_t *scratch)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (value[i] == value[i])
            key[kept++] = rw_key_of_float(value[i]);
    }
    if (kept > 1)
        rw_sort_keys(key, scratch, kept);
    return kept;
}

double rw_check_distance(const uint32_t *a, size_t n, const uint32_t *b, size_t m)
{
    double most = 0.0;
    if (n == 0 || m == 0)
        return (double)NAN;
    for (size_t i = 0, j = 0; i < n && j < m;) {
        const uint32_t at = a[i] < b[j] ? a[i] : b[j];
        while (i < n && a[i] == at)
            i++;
        while (j < m && b[j] == at)
            j++;
        const double distance = fabs((double)i / (double)n - (double)j / (double)m);
        most = distance > most ? distance : most;
    }
    return most;
}

/* Does the feature put every query's documents in the order of their labels, or in the opposite
 * one, in queries that have two labels? A tie of documents of different labels is no order. */
static int orders_labels(const struct job *job, const float *value, const struct space *space)
{
    const struct rw_dataset *dataset = job->dataset;
    int falls = 1, rises = 1;
    uint32_t n_mixed = 0;
    for (uint32_t q = 0; q < dataset->n_queries && (falls || rises); q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        const float *label = dataset->label + begin;
        for (uint32_t i = 0; i < n; i++) {
            if (value[begin + i] != value[begin + i])
                return 0;
            space->score[i] = (double)value[begin + i];
        }
        rw_rank_query(space->score, n, 0, space->order);
        int mixed = 0;
        for (uint32_t r = 1; r < n; r++) {
            const uint32_t above = space->order[r - 1], below = space->order[r];
            const int equal = space->score[above] == space->score[below];
            falls &= !(label[above] < label[below]) && !(equal && label[above] != label[below]);
            rises &= !(label[above] > label[below]) && !(equal && label[above] != label[below]);
            mixed |= label[above] != label[below];
        }
        n_mixed += (uint32_t)mixed;
    }
    return n_mixed >= 10 && (falls || rises);
}

/* Whole numbers that nearly each document has for itself, or each query; or that count the lines.
 */
static int identifies(const struct job *job, const float *value, uint32_t n_distinct)
{
    const struct rw_dataset *dataset = job->dataset;
    uint32_t up = 0, changes = 0, within = 0;
    if (dataset->n_docs < RW_CHECK_LEAST_DOCS)
        return RW_IDENTIFIES_NOTHING;
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        if (value[i] != floorf(value[i])) /* NaN too */
            return RW_IDENTIFIES_NOTHING;
    }
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], end = dataset->query_offset[q + 1];
        for (uint32_t i = begin + (begin == 0); i < end; i++) {
            up += value[i] > value[i - 1];
            changes += value[i] != value[i - 1];
            within += i > begin && value[i] != value[i - 1];
        }
    }
    if ((double)n_distinct >= RW_CHECK_DISTINCT * dataset->n_docs)
        return up == changes || up == 0 ? RW_IDENTIFIES_LINE : RW_IDENTIFIES_DOCUMENT;
    const int by_query = within == 0 && dataset->n_queries >= RW_CHECK_LEAST_DOCS / 2 &&
                         (double)n_distinct >= RW_CHECK_DISTINCT * dataset->n_queries;
    return by_query ? RW_IDENTIFIES_QUERY : RW_IDENTIFIES_NOTHING;
}

static uint64_t hash_values(const float *value, uint32_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ rw_bits_of_float(value[i])) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
    return hash;
}

/* Numbers of words count those that differ, and that is all. */
static void forget_numbers(struct rw_feature_check *row)
{
    row->least = row->most = NAN;
    row->orders_labels = 0;
    if (row->identifies == RW_IDENTIFIES_LINE)
        row->identifies = RW_IDENTIFIES_DOCUMENT;
}

/* keys: of the feature's values, [n_keys]. */
static int compare(const struct job *job, size_t n_keys, struct space *space,
                   struct rw_feature_check *out)
{
    const struct rw_dataset *other = job->other;
    const int of_other = rw_lexicon_has(other->lexicon, out->feature);
    if (of_other != out->by_words && rw_dataset_column(other, out->feature))
        return RW_OK; /* words against numbers */
    rw_dataset_feature(other, out->feature, 0, space->value);
    const size_t m = sort_values(space->value, other->n_docs, space->other_key, space->scratch);
    if (out->by_words)
        RW_TRY(rw_check_words(job->dataset, other, out));
    else
        out->drift = rw_check_distance(space->key, n_keys, space->other_key, m);
    /* A feature that one set misses more often has moved, too. */
    const double missing = fabs(out->missing - 1.0 + (double)m / other->n_docs);
    out->drift = out->drift >= missing ? out->drift : missing;
    return RW_OK;
}

static int check_feature(const struct job *job, uint32_t c, struct space *space,
                         struct rw_feature_check *out)
{
    const struct rw_dataset *dataset = job->dataset;
    const uint32_t n = dataset->n_docs, feature = dataset->column[c].feature;
    const int by_words = rw_lexicon_has(dataset->lexicon, feature);
    uint32_t n_absent = 0;
    rw_column_values(&dataset->column[c], 0, n, rw_float_of_bits(RW_ABSENT_BITS), space->value);
    for (uint32_t i = 0; i < n; i++) {
        if (rw_is_absent(space->value[i])) {
            space->value[i] = by_words ? -1.0f : 0.0f; /* no word */
            n_absent++;
        }
    }
    const size_t kept = sort_values(space->value, n, space->key, space->scratch);
    *out = (struct rw_feature_check){.feature = feature,
                                     .duplicate_of = -1,
                                     .absent = (double)n_absent / n,
                                     .missing = (double)(n - kept) / n,
                                     .by_words = by_words,
                                     .drift = (double)NAN};
    for (size_t i = 0; i < kept; i++)
        out->n_distinct += i == 0 || space->key[i] != space->key[i - 1];
    out->least = kept ? rw_float_of_key(space->key[0]) : NAN;
    out->most = kept ? rw_float_of_key(space->key[kept - 1]) : NAN;
    out->constant = kept == 0 || (kept == n && out->n_distinct == 1);
    job->hash[c] = hash_values(space->value, n);
    if (!out->constant) {
        out->identifies = identifies(job, space->value, out->n_distinct);
        out->orders_labels = orders_labels(job, space->value, space);
    }
    if (by_words)
        forget_numbers(out);
    return job->other ? compare(job, kept, space, out) : RW_OK;
}

/* Names the first feature with the same values, bit by bit. */
static int find_duplicates(struct rw_ctx *ctx, const struct job *job,
                           struct rw_feature_check *features)
{
    const struct rw_dataset *dataset = job->dataset;
    RW_FREED float *a = NULL, *b = NULL;
    RW_TRY(RW_NEW_RAW(ctx, a, dataset->n_docs));
    RW_TRY(RW_NEW_RAW(ctx, b, dataset->n_docs));
    for (uint32_t c = 1; c < dataset->n_columns; c++) {
        for (uint32_t d = 0; d < c && features[c].duplicate_of < 0; d++) {
            if (job->hash[c] != job->hash[d] || features[c].constant ||
                features[c].by_words != features[d].by_words)
                continue;
            rw_dataset_feature(dataset, features[c].feature, 0, a);
            rw_dataset_feature(dataset, features[d].feature, 0, b);
            if (memcmp(a, b, dataset->n_docs * sizeof(*a)) == 0)
                features[c].duplicate_of = (int32_t)features[d].feature;
        }
    }
    return RW_OK;
}

static int check_some(void *user, struct rw_share *share)
{
    const struct job *job = user;
    struct space space = {0};
    int status = space_init(job, &space);
    for (uint64_t c, end; status >= 0 && rw_share_next(share, &c, &end);)
        status = check_feature(job, (uint32_t)c, &space, &job->features[c]);
    space_release(&space);
    return status;
}

int rw_check_features(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                      const struct rw_dataset *other, struct rw_feature_check *features)
{
    struct job job = {.dataset = dataset, .other = other, .features = features};
    int status;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t n = dataset->query_offset[q + 1] - dataset->query_offset[q];
        job.longest = n > job.longest ? n : job.longest;
    }
    RW_TRY_OUT(RW_NEW(ctx, job.hash, dataset->n_columns));
    status = rw_parallel(ctx, ctx->n_threads, dataset->n_columns, 1, check_some, &job);
    if (status < 0)
        rw_fail_memory(ctx, status, "out of memory while checking %u documents", dataset->n_docs);
    else
        status = find_duplicates(ctx, &job, features);
out:
    rw_mem_free(job.hash);
    return status;
}
