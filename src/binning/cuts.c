#include "binning/cut_find.h"

#include <float.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/sort.h"
#include "binning/code_search.h"
#include "comm/comm.h"

uint32_t rw_cut_sample_docs = RW_CUT_SAMPLE_DOCS;

struct sample_job {
    const struct rw_dataset *dataset;
    uint32_t threshold;
    uint8_t *in; /* [n_docs] */
};

static int sample_queries(void *user, struct rw_share *share)
{
    const struct sample_job *job = user;
    const struct rw_dataset *dataset = job->dataset;
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++) {
            const char *id = dataset->query_id_text + dataset->query_id_offset[q];
            const uint32_t key = (uint32_t)crc32(0, (const Bytef *)id, (uInt)strlen(id));
            const uint32_t first = dataset->query_offset[q];
            for (uint32_t doc = first; doc < dataset->query_offset[q + 1]; doc++)
                job->in[doc] =
                    rw_random(key, doc - first, 0, RW_STREAM_CUT_SAMPLE) < job->threshold;
        }
    }
    return RW_OK;
}

/* Some of the documents, by their hashes. */
static int draw_sample(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset)
{
    const uint32_t threshold =
        (uint32_t)(((uint64_t)rw_cut_sample_docs << 32) / sample->n_all_docs);
    RW_TRY(RW_NEW(ctx, sample->in, dataset->n_docs));
    struct sample_job job = {dataset, threshold, sample->in};
    RW_TRY(rw_parallel(ctx, ctx->n_threads, dataset->n_queries, 64, sample_queries, &job));
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

int rw_cut_sample_init(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset)
{
    memset(sample, 0, sizeof(*sample));
    uint64_t n_all = dataset->n_docs;
    RW_TRY(rw_comm_sum(ctx, &n_all, 1));
    if (n_all > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_DATA, "%llu documents on all ranks; expected at most %u",
                       (unsigned long long)n_all, RW_MAX_DOCS);
    sample->n = dataset->n_docs;
    sample->n_all_docs = (uint32_t)n_all;
    if (n_all > rw_cut_sample_docs)
        RW_TRY(rw_comm_agree(ctx, draw_sample(ctx, sample, dataset)));
    n_all = sample->n;
    RW_TRY(rw_comm_sum(ctx, &n_all, 1));
    if (n_all < sample->n || n_all > sample->n_all_docs)
        return rw_comm_nonsense(ctx, "numbers of documents");
    sample->n_all = (uint32_t)n_all;
    return RW_OK;
}

void rw_cut_sample_release(struct rw_cut_sample *sample)
{
    rw_mem_free(sample->row);
    rw_mem_free(sample->in);
}

float rw_cut_between(float a, float b)
{
    const float middle = (float)(((double)a + (double)b) * 0.5);
    /* whatever is between them is nearer to the middle than they are */
    if (middle > a && middle < b)
        return middle == 0.0f ? 0.0f : middle;
    return NAN;
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

int rw_categories_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                            uint32_t min_docs)
{
    uint64_t total = n_missing, most = n_missing;
    for (uint32_t b = 0; b < n_bins; b++) {
        total += counts[b];
        most = counts[b] > most ? counts[b] : most;
    }
    return most < total && total >= 2 * (uint64_t)min_docs;
}

/* Every category's own, whatever documents have. */
static int cuts_of_categories(struct rw_ctx *ctx, const struct rw_cut_intervals *s,
                              const struct rw_cut_rule *rule, struct rw_feature_cuts *out)
{
    const uint32_t n_bins = s->n_bounds + 1;
    out->has_missing = s->n_missing > 0;
    out->by_category = 1;
    if (!rw_categories_can_split(s->count, n_bins, s->n_missing, 1))
        out->reason = RW_CUT_CONSTANT;
    else if (!rw_categories_can_split(s->count, n_bins, s->n_missing, rule->min_docs))
        out->reason = RW_CUT_FEW;
    if (out->reason != RW_CUT_IN_USE)
        return RW_OK;
    out->n_bins = n_bins;
    RW_TRY(RW_NEW_RAW(ctx, out->cut, n_bins));
    for (uint32_t b = 0; b + 1 < n_bins; b++)
        out->cut[b] = (float)b + 0.5f;
    out->cut[n_bins - 1] = FLT_MAX;
    return RW_OK;
}

int rw_cuts_of_intervals(struct rw_ctx *ctx, struct rw_cut_intervals *s,
                         const struct rw_cut_rule *rule, struct rw_feature_cuts *out)
{
    float cuts[RW_MAX_BOUNDS + 1];
    uint32_t n_bins = 0;
    if (s->by_category)
        return cuts_of_categories(ctx, s, rule, out);
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
        out->reason = RW_CUT_FEW; /* one side would have fewer than min_docs */
    return out->reason != RW_CUT_IN_USE;
}

int rw_cuts_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_feature_cuts *found, struct rw_cuts **out)
{
    int status = RW_OK;
    struct rw_cuts *cuts;
    RW_TRY(RW_NEW(ctx, cuts, 1));
    uint64_t n_cuts = 0;
    int by_category = 0;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        cuts->n_features += found[c].reason == RW_CUT_IN_USE;
        cuts->n_constant += found[c].reason == RW_CUT_CONSTANT;
        cuts->n_few += found[c].reason == RW_CUT_FEW;
        cuts->n_ignored += found[c].reason == RW_CUT_IGNORED;
        n_cuts += found[c].n_bins;
        by_category |= found[c].reason == RW_CUT_IN_USE && found[c].by_category;
    }
    RW_TRY_OUT(RW_NEW(ctx, cuts->feature, cuts->n_features));
    RW_TRY_OUT(RW_NEW(ctx, cuts->offset, cuts->n_features + 1));
    RW_TRY_OUT(RW_NEW(ctx, cuts->has_missing, cuts->n_features));
    RW_TRY_OUT(RW_NEW(ctx, cuts->cut, n_cuts));
    if (by_category)
        RW_TRY_OUT(RW_NEW(ctx, cuts->by_category, cuts->n_features));
    for (uint32_t c = 0, f = 0; c < dataset->n_columns; c++) {
        if (found[c].reason != RW_CUT_IN_USE)
            continue;
        cuts->feature[f] = dataset->column[c].feature;
        cuts->has_missing[f] = found[c].has_missing;
        if (by_category)
            cuts->by_category[f] = found[c].by_category;
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

int rw_cut_finder_init(struct rw_ctx *ctx, struct rw_cut_finder *finder,
                       const struct rw_dataset *dataset, const struct rw_cut_rule *rule)
{
    *finder = (struct rw_cut_finder){.ctx = ctx, .dataset = dataset, .rule = rule};
    RW_TRY(RW_NEW(ctx, finder->found, dataset->n_columns));
    return rw_cut_sample_init(ctx, &finder->sample, dataset);
}

void rw_cut_finder_release(struct rw_cut_finder *finder)
{
    for (uint32_t c = 0; finder->found && c < finder->dataset->n_columns; c++)
        rw_mem_free(finder->found[c].cut);
    rw_mem_free(finder->found);
    rw_cut_sample_release(&finder->sample);
}

int rw_cuts_make_by(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                    const struct rw_cut_rule *rule, rw_cuts_find_fn *find, void *user,
                    struct rw_cuts **out)
{
    int status;
    struct rw_cut_finder finder;
    *out = NULL;
    RW_TRY_OUT(rw_cut_finder_init(ctx, &finder, dataset, rule));
    RW_TRY_OUT(find(user, &finder));
    RW_TRY_OUT(rw_cuts_gather(ctx, dataset, finder.found, out));
out:
    rw_cut_finder_release(&finder);
    return status;
}

int rw_cuts_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_cut_rule *rule, struct rw_cuts **out)
{
    return rw_cuts_make_by(ctx, dataset, rule, rw_cuts_find_on_host, NULL, out);
}

void rw_cuts_free(struct rw_cuts *cuts)
{
    if (!cuts)
        return;
    rw_mem_free(cuts->feature);
    rw_mem_free(cuts->offset);
    rw_mem_free(cuts->cut);
    rw_mem_free(cuts->has_missing);
    rw_mem_free(cuts->by_category);
    rw_mem_free(cuts);
}

/* ---- on the host ---- */

/* Documents that a list of rows leaves out. */
static void add_absent(const struct rw_column *column, uint32_t n_docs, int absent_missing,
                       uint32_t zero_at, struct rw_cut_intervals *s)
{
    const uint32_t n_absent = n_docs - column->n;
    if (absent_missing) {
        s->n_missing += n_absent;
        return;
    }
    s->count[zero_at] += n_absent;
    if (RW_KEY_OF_ZERO > s->below[zero_at])
        s->below[zero_at] = RW_KEY_OF_ZERO;
}

/* Goes through all values: fills the rest of *s. index: NULL, or [column->n] of `bytes` bytes, the
 * interval of each entry, and n_bounds + 1 for a missing one. */
static void exact_pass(const struct rw_cut_finder *finder, enum rw_isa isa,
                       const struct rw_column *column, struct rw_cut_intervals *s, size_t bytes,
                       void *index)
{
    enum { BLOCK = 4096 }; /* values: an index is counted while it is in the first cache */
    const uint32_t n_docs = finder->dataset->n_docs, missing = s->n_bounds + 1;
    const int absent_missing = finder->rule->absent_missing;
    /* all have been ranked */
    const int is_counted = !finder->sample.in && !column->row && !s->by_category;
    uint16_t scratch[BLOCK];
    int32_t most[RW_SEARCH_ROOM];
    struct rw_code_search search;
    rw_code_search_init(&search, s->bound, s->n_bounds, absent_missing, missing);
    for (uint32_t k = 0; k <= s->n_bounds; k++)
        most[k] = INT32_MIN;
    if (is_counted)
        s->count[missing] = n_docs - s->n_ranked;
    else
        memset(s->count, 0, (missing + 1) * sizeof(s->count[0]));
    for (uint32_t first = 0; first < column->n && (index || !is_counted); first += BLOCK) {
        const uint32_t n = column->n - first < BLOCK ? column->n - first : BLOCK;
        void *to = index ? (uint8_t *)index + first * bytes : (void *)scratch;
        if (is_counted) { /* only the index is not known */
            rw_code_search_run(isa, &search, column->value + first, n, bytes, to);
            continue;
        }
        rw_code_search_most(isa, &search, column->value + first, n, bytes, to, most);
        rw_code_count(to, n, bytes, missing + 1, s->count);
    }
    for (uint32_t k = 0; k <= s->n_bounds && !is_counted; k++)
        s->below[k] = rw_key_of_ordered(most[k]);
    s->n_missing = s->count[missing];
    if (column->n < n_docs)
        add_absent(column, n_docs, absent_missing, rw_code_search_one(&search, 0.0f), s);
}

int rw_cuts_find_column(struct rw_cut_finder *finder, enum rw_isa isa,
                        const struct rw_column *column, uint32_t c, struct rw_rank_scratch *scratch,
                        struct rw_codes *codes)
{
    struct rw_feature_cuts *found = &finder->found[c];
    struct rw_cut_intervals intervals;
    void *index = NULL;
    if (rw_cuts_decided(column, finder->rule, found))
        return RW_OK;
    const struct rw_cut_part part = {.column = *column};
    rw_cut_bounds(isa, &part, 1, &finder->sample, finder->rule, scratch, &intervals);
    const size_t bytes = intervals.n_bounds + 2 > 256 ? 2 : 1;
    if (codes)
        RW_TRY(rw_mem_new_raw(NULL, &index, column->n, bytes));
    exact_pass(finder, isa, column, &intervals, bytes, index);
    if (!codes)
        return rw_cuts_of_intervals(NULL, &intervals, finder->rule, found);
    return rw_codes_of_intervals(&intervals, NULL, finder->rule, column, finder->dataset->n_docs,
                                 bytes, index, found, codes);
}

struct host_search {
    struct rw_cut_finder *finder;
    enum rw_isa isa;
    struct rw_codes *codes;          /* [n_columns]; NULL: cuts only */
    struct rw_rank_scratch *scratch; /* [n_threads]; owned */
};

static int find_some(void *user, struct rw_share *share)
{
    const struct host_search *host = user;
    for (uint64_t c, end; rw_share_next(share, &c, &end);)
        RW_TRY(rw_cuts_find_column(host->finder, host->isa, &host->finder->dataset->column[c],
                                   (uint32_t)c, &host->scratch[share->thread],
                                   host->codes ? &host->codes[c] : NULL));
    return RW_OK;
}

int rw_cuts_find_on_host(void *codes, struct rw_cut_finder *finder)
{
    struct rw_ctx *ctx = finder->ctx;
    struct host_search host = {.finder = finder, .isa = rw_isa(), .codes = codes};
    int status;
    RW_TRY_OUT(RW_NEW(ctx, host.scratch, (size_t)ctx->n_threads));
    for (int t = 0; t < ctx->n_threads; t++)
        RW_TRY_OUT(rw_rank_scratch_init(ctx, &host.scratch[t], &finder->sample));
    status = rw_parallel_long(ctx, ctx->n_threads, finder->dataset->n_columns, 1, find_some, &host);
    if (status < 0)
        rw_fail_memory(ctx, status, "out of memory while finding cuts");
out:
    for (int t = 0; host.scratch && t < ctx->n_threads; t++)
        rw_rank_scratch_release(&host.scratch[t]);
    rw_mem_free(host.scratch);
    return status;
}
