#include "data/cuts.h"

#include <float.h>
#include <omp.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"

int rw_cut_sample_init(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset)
{
    memset(sample, 0, sizeof(*sample));
    sample->n = dataset->n_docs;
    if (dataset->n_docs <= RW_CUT_SAMPLE_DOCS)
        return RW_OK;
    const uint32_t threshold = (uint32_t)(((uint64_t)RW_CUT_SAMPLE_DOCS << 32) / dataset->n_docs);
    RW_TRY(RW_NEW(ctx, sample->in, dataset->n_docs));
#pragma omp parallel for num_threads(ctx->n_threads) schedule(dynamic, 64)
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const char *id = dataset->query_id_text + dataset->query_id_offset[q];
        const uint32_t key = (uint32_t)crc32(0, (const Bytef *)id, (uInt)strlen(id));
        const uint32_t first = dataset->query_offset[q];
        for (uint32_t doc = first; doc < dataset->query_offset[q + 1]; doc++)
            sample->in[doc] = rw_random(key, doc - first, 0, RW_STREAM_CUT_SAMPLE) < threshold;
    }
    sample->n = 0;
    for (uint32_t doc = 0; doc < dataset->n_docs; doc++)
        sample->n += sample->in[doc];
    RW_TRY(RW_NEW_RAW(ctx, sample->row, sample->n));
    for (uint32_t doc = 0, k = 0; doc < dataset->n_docs; doc++) {
        if (sample->in[doc])
            sample->row[k++] = doc;
    }
    return RW_OK;
}

void rw_cut_sample_release(struct rw_cut_sample *sample)
{
    rw_mem_free(sample->row);
    rw_mem_free(sample->in);
}

struct scratch {
    uint32_t *key, *end; /* [n_sample + 1] */
    struct rw_cut_intervals intervals;
};

static int resolve(float value, int absent_missing, float *out)
{
    if (value != value) {
        if (absent_missing || !rw_is_absent(value))
            return 0;
        value = 0.0f;
    }
    *out = value;
    return 1;
}

/* The sampled values as runs of equal ones, ascending: s->key their keys, s->end the number of
 * values up to each run's end. Returns the number of runs. */
static uint32_t sampled_runs(const struct rw_column *column, const struct rw_cut_sample *sample,
                             int absent_missing, struct scratch *s)
{
    uint32_t n = 0, seen = 0;
    const uint32_t entries = column->row ? column->n : sample->n;
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t at = i;
        if (column->row) {
            if (sample->in && !sample->in[column->row[i]])
                continue;
            seen++;
        } else if (sample->row) {
            at = sample->row[i];
        }
        float value;
        if (resolve(column->value[at], absent_missing, &value))
            s->key[n++] = rw_key_of_float(value);
    }
    const uint32_t zero = rw_key_of_float(0.0f);
    uint32_t n_zeros = column->row && !absent_missing ? sample->n - seen : 0;
    if (n_zeros > 0) { /* documents that do not mention the feature: one value stands for all */
        s->key[n++] = zero;
        n_zeros--;
    }
    rw_sort_keys(s->key, s->end, n);
    uint32_t n_runs = 0, count = 0;
    for (uint32_t i = 0; i < n; i++) {
        count += 1 + (s->key[i] == zero ? n_zeros : 0);
        n_zeros = s->key[i] == zero ? 0 : n_zeros;
        if (n_runs == 0 || s->key[n_runs - 1] != s->key[i])
            s->key[n_runs++] = s->key[i];
        s->end[n_runs - 1] = count;
    }
    return n_runs;
}

/* Boundaries from ranks; returns their number. A boundary is the smallest sampled value on its
 * right. */
static uint32_t find_bounds(struct scratch *s, uint32_t n_runs, uint32_t bins)
{
    uint32_t *const bound = s->intervals.bound;
    uint32_t n_bounds = 0;
    if (n_runs <= bins) {
        for (uint32_t run = 1; run < n_runs; run++)
            bound[n_bounds++] = s->key[run];
        return n_bounds;
    }
    const uint32_t n = s->end[n_runs - 1];
    uint32_t run = 0;
    int n_ranks = 0; /* that fell into this run */
    for (uint32_t k = 1; k < bins; k++) {
        const uint32_t rank = (uint32_t)((uint64_t)k * n / bins);
        const uint32_t before = run;
        while (s->end[run] <= rank)
            run++;
        n_ranks = run == before ? n_ranks + 1 : 1;
        if (n_ranks == 1 && run > 0 && (n_bounds == 0 || bound[n_bounds - 1] != s->key[run]))
            bound[n_bounds++] = s->key[run];
        else if (n_ranks == 2 && run + 1 < n_runs)
            bound[n_bounds++] = s->key[run + 1];
    }
    return n_bounds;
}

static uint32_t interval_of(const uint32_t *bound, uint32_t n_bounds, uint32_t key)
{
    uint32_t low = 0, high = n_bounds; /* the number of bounds <= key */
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (bound[middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The exact pass: each interval's largest value and count; returns the number of missing values. */
static uint32_t exact_pass(const struct rw_column *column, uint32_t n_docs, int absent_missing,
                           struct rw_cut_intervals *s, uint32_t n_bounds)
{
    memset(s->below, 0, (n_bounds + 1) * sizeof(s->below[0]));
    memset(s->count, 0, (n_bounds + 1) * sizeof(s->count[0]));
    uint32_t n_missing = 0;
    for (uint32_t i = 0; i < column->n; i++) {
        float value;
        if (!resolve(column->value[i], absent_missing, &value)) {
            n_missing++;
            continue;
        }
        const uint32_t key = rw_key_of_float(value);
        const uint32_t at = interval_of(s->bound, n_bounds, key);
        s->count[at]++;
        if (key > s->below[at])
            s->below[at] = key;
    }
    if (column->row && column->n < n_docs) {
        const uint32_t n_absent = n_docs - column->n;
        if (absent_missing) {
            n_missing += n_absent;
        } else {
            const uint32_t key = rw_key_of_float(0.0f);
            const uint32_t at = interval_of(s->bound, n_bounds, key);
            s->count[at] += n_absent;
            if (key > s->below[at])
                s->below[at] = key;
        }
    }
    return n_missing;
}

float rw_cut_between(float a, float b)
{
    const float middle = (float)(((double)a + (double)b) * 0.5);
    if (middle > a && middle < b)
        return middle == 0.0f ? 0.0f : middle;
    /* the middle rounded to an end: the only candidate left is the neighbour of that end */
    const float other = middle <= a ? rw_float_of_key(rw_key_of_float(a) + 1)
                                    : rw_float_of_key(rw_key_of_float(b) - 1);
    return other > a && other < b ? other : NAN;
}

int rw_cuts_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                      uint32_t min_docs)
{
    uint64_t total = 0, left = 0;
    for (uint32_t b = 0; b < n_bins; b++)
        total += counts[b];
    if (n_missing >= min_docs && total >= min_docs)
        return 1;
    for (uint32_t b = 0; b + 1 < n_bins; b++) {
        left += counts[b];
        const uint64_t right = total - left;
        if (left > 0 && right > 0 &&
            ((left + n_missing >= min_docs && right >= min_docs) ||
             (left >= min_docs && right + n_missing >= min_docs)))
            return 1;
    }
    return 0;
}

int rw_cuts_of_intervals(struct rw_ctx *ctx, struct rw_cut_intervals *s,
                         const struct rw_cut_rule *rule, struct rw_feature_cuts *out)
{
    float cuts[RW_MOST_BOUNDS + 1];
    uint32_t n_bins = 0;
    for (uint32_t k = 0; k < s->n_bounds; k++) {
        /* an interval is never empty: its lower bound is a value of the data; the first one holds
         * the smallest sampled value */
        const float cut =
            rw_cut_between(rw_float_of_key(s->below[k]), rw_float_of_key(s->bound[k]));
        if (cut != cut) {
            s->count[k + 1] += s->count[k];
            continue;
        }
        s->count[n_bins] = s->count[k];
        cuts[n_bins++] = cut;
    }
    s->count[n_bins] = s->count[s->n_bounds];
    cuts[n_bins++] = FLT_MAX;
    out->has_missing = s->n_missing > 0;
    if (n_bins == 1 && (s->n_missing == 0 || s->count[0] == 0))
        out->reason = RW_CUT_CONSTANT;
    else if (!rw_cuts_can_split(s->count, n_bins, s->n_missing, rule->min_docs))
        out->reason = RW_CUT_FEW;
    if (out->reason != RW_CUT_IN_USE)
        return RW_OK;
    out->n_bins = n_bins;
    RW_TRY(RW_NEW_RAW(ctx, out->cut, n_bins));
    memcpy(out->cut, cuts, n_bins * sizeof(*out->cut));
    return RW_OK;
}

int rw_cuts_decided(const struct rw_column *column, const struct rw_cut_rule *rule,
                    struct rw_feature_cuts *out)
{
    if (rule->ignore && rule->ignore[column->feature])
        out->reason = RW_CUT_IGNORED;
    else if (column->row && column->n < rule->min_docs)
        out->reason = RW_CUT_FEW; /* a side is within the documents that have it */
    return out->reason != RW_CUT_IN_USE;
}

static int find_cuts(struct rw_ctx *ctx, const struct rw_column *column, uint32_t n_docs,
                     const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                     struct scratch *s, struct rw_feature_cuts *out)
{
    if (rw_cuts_decided(column, rule, out))
        return RW_OK;
    const uint32_t n_runs = sampled_runs(column, sample, rule->absent_missing, s);
    s->intervals.n_bounds = find_bounds(s, n_runs, (uint32_t)rule->bins);
    s->intervals.n_missing =
        exact_pass(column, n_docs, rule->absent_missing, &s->intervals, s->intervals.n_bounds);
    return rw_cuts_of_intervals(ctx, &s->intervals, rule, out);
}

int rw_cuts_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_feature_cuts *found, struct rw_cuts **out)
{
    int status = RW_OK;
    struct rw_cuts *cuts;
    RW_TRY(RW_NEW(ctx, cuts, 1));
    uint64_t n_cuts = 0;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        cuts->n_features += found[c].reason == RW_CUT_IN_USE;
        cuts->n_constant += found[c].reason == RW_CUT_CONSTANT;
        cuts->n_few += found[c].reason == RW_CUT_FEW;
        cuts->n_ignored += found[c].reason == RW_CUT_IGNORED;
        n_cuts += found[c].n_bins;
    }
    RW_TRY_OUT(RW_NEW(ctx, cuts->feature, cuts->n_features));
    RW_TRY_OUT(RW_NEW(ctx, cuts->offset, cuts->n_features + 1));
    RW_TRY_OUT(RW_NEW(ctx, cuts->has_missing, cuts->n_features));
    RW_TRY_OUT(RW_NEW(ctx, cuts->cut, n_cuts));
    for (uint32_t c = 0, f = 0; c < dataset->n_columns; c++) {
        if (found[c].reason != RW_CUT_IN_USE)
            continue;
        cuts->feature[f] = dataset->column[c].feature;
        cuts->has_missing[f] = found[c].has_missing;
        memcpy(cuts->cut + cuts->offset[f], found[c].cut, found[c].n_bins * sizeof(float));
        cuts->offset[f + 1] = cuts->offset[f] + found[c].n_bins;
        f++;
    }
out:
    if (status < 0) {
        rw_cuts_free(cuts);
        cuts = NULL;
    }
    *out = cuts;
    return status;
}

int rw_cuts_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_cut_rule *rule, struct rw_cuts **out)
{
    int status = RW_OK;
    struct rw_cut_sample sample;
    struct rw_feature_cuts *found = NULL;
    struct scratch *scratch = NULL;
    uint32_t *keys = NULL;
    *out = NULL;
    RW_TRY_OUT(rw_cut_sample_init(ctx, &sample, dataset));
    RW_TRY_OUT(RW_NEW(ctx, found, dataset->n_columns));
    RW_TRY_OUT(RW_NEW_RAW(ctx, scratch, (size_t)ctx->n_threads));
    RW_TRY_OUT(RW_NEW_RAW(ctx, keys, 2 * ((size_t)sample.n + 1) * (size_t)ctx->n_threads));
    int worst = RW_OK;
#pragma omp parallel num_threads(ctx->n_threads)
    {
        const int t = omp_get_thread_num();
        struct scratch *s = &scratch[t];
        s->key = keys + 2 * ((size_t)sample.n + 1) * (size_t)t;
        s->end = s->key + sample.n + 1;
#pragma omp for schedule(dynamic, 1)
        for (uint32_t c = 0; c < dataset->n_columns; c++) {
            const struct rw_column *column = &dataset->column[c];
            const int result =
                find_cuts(NULL, column, dataset->n_docs, &sample, rule, s, &found[c]);
            if (result < 0) {
#pragma omp critical
                worst = result;
            }
        }
    }
    if (worst < 0) {
        status = rw_fail(ctx, worst, "out of memory while finding cuts");
        goto out;
    }
    RW_TRY_OUT(rw_cuts_gather(ctx, dataset, found, out));
out:
    for (uint32_t c = 0; found && c < dataset->n_columns; c++)
        rw_mem_free(found[c].cut);
    rw_mem_free(found);
    rw_mem_free(scratch);
    rw_mem_free(keys);
    rw_cut_sample_release(&sample);
    return status;
}

void rw_cuts_free(struct rw_cuts *cuts)
{
    if (!cuts)
        return;
    rw_mem_free(cuts->feature);
    rw_mem_free(cuts->offset);
    rw_mem_free(cuts->cut);
    rw_mem_free(cuts->has_missing);
    rw_mem_free(cuts);
}
