/* Codes from values: coding a data set with given thresholds, turning intervals into codes, joining
 * the bins of several chunks, counting codes, and the functions of struct rw_binned
 * (binning/bins.h). */
#include "binning/bins.h"

/* The mapping of a feature's values to codes. */
struct coder {
    struct rw_code_search search;
    uint32_t n_codes, absent; /* absent: the code of a document without an entry */
    size_t bytes;
};

static void coder_of(const struct rw_cuts *cuts, uint32_t f, int absent_missing,
                     struct coder *coder)
{
    const struct rw_special_codes special = rw_cuts_special(cuts, f, absent_missing);
    const uint32_t n_bounds = rw_cuts_n_bins(cuts, f) - 1;
    uint32_t bound[RW_MAX_BOUNDS]; /* bin boundaries for rw_bin_of: the smallest value above each
                                      threshold except the last */
    for (uint32_t k = 0; k < n_bounds; k++)
        bound[k] = rw_key_of_float(cuts->cut[cuts->offset[f] + k]) + 1;
    coder->bytes = rw_cuts_code_bytes(cuts, f);
    coder->n_codes = rw_cuts_n_codes(cuts, f);
    coder->absent = special.absent;
    rw_code_search_init(&coder->search, bound, n_bounds, absent_missing, special.missing);
}

static int new_sparse(struct rw_codes *codes, uint32_t n, uint32_t rest, size_t bytes)
{
    codes->n = n;
    codes->rest = rest;
    RW_TRY(RW_NEW_RAW(NULL, codes->row, n));
    return rw_mem_new_raw(NULL, &codes->code, n, bytes);
}

static uint32_t most_frequent(const uint32_t *counts, uint32_t n_codes)
{
    uint32_t frequent = 0;
    for (uint32_t c = 1; c < n_codes; c++)
        frequent = counts[c] > counts[frequent] ? c : frequent;
    return frequent;
}

/* Lists the n entries of a dense or sparse (`row` set) column whose code is not `rest`. */
static int list_others(const uint32_t *row, const void *code, size_t bytes, uint32_t n,
                       uint32_t rest, struct rw_codes *out)
{
    RW_TRY(new_sparse(out, n, rest, bytes));
    for (uint32_t i = 0, at = 0; at < n; i++) {
        const uint32_t one = rw_codes_get(code, bytes, i);
        out->row[at] = row ? row[i] : i;
        rw_codes_put(out->code, bytes, at, one);
        at += one != rest;
    }
    return RW_OK;
}

/* Expands a list of entries to an array with the codes of all documents, and frees the list. */
static int fill_up(const struct rw_column *column, uint32_t n_docs, size_t bytes, uint32_t absent,
                   void **code)
{
    void *all;
    const int status = rw_mem_new_raw(NULL, &all, n_docs, bytes);
    for (uint32_t doc = 0; status >= 0 && doc < n_docs; doc++)
        rw_codes_put(all, bytes, doc, absent);
    for (uint32_t i = 0; status >= 0 && column && i < column->n; i++)
        rw_codes_put(all, bytes, column->row[i], rw_codes_get(*code, bytes, i));
    rw_mem_free(*code);
    *code = all;
    return status;
}

/* Makes *out from the codes of a column's entries. code: [column->n]; the function frees it or
 * moves it to *out, also on failure. counts: [n_codes], documents with each code. column may be
 * NULL, which means absent everywhere. */
static int keep_codes(const struct rw_column *column, uint32_t n_docs, void *code, size_t bytes,
                      const uint32_t *counts, uint32_t n_codes, uint32_t absent,
                      struct rw_codes *out)
{
    const uint32_t few = n_docs / RW_SPARSE_SHARE, *row = column ? column->row : NULL;
    uint32_t rest = absent;
    int status = RW_OK;
    if (column && !row) {
        rest = most_frequent(counts, n_codes);
    } else if (n_docs - counts[absent] > few) {
        status = fill_up(column, n_docs, bytes, absent, &code);
        rest = most_frequent(counts, n_codes);
        row = NULL;
    }
    if (status >= 0 && n_docs - counts[rest] <= few) {
        status = list_others(row, code, bytes, n_docs - counts[rest], rest, out);
    } else if (status >= 0) {
        *out = (struct rw_codes){.n = n_docs, .code = code};
        return RW_OK;
    }
    rw_mem_free(code);
    return status;
}

/* Computes the codes of a column's entries, and how often each occurs among all documents. codes:
 * [column->n]; NULL: count only. */
static void code_entries(enum rw_isa isa, const struct rw_column *column, uint32_t n_docs,
                         const struct coder *coder, void *codes, uint32_t *counts)
{
    enum { BLOCK = 4096 }; /* values whose codes are counted while in the L1 cache */
    uint16_t scratch[BLOCK];
    const uint32_t n = column ? column->n : 0;
    memset(counts, 0, coder->n_codes * sizeof(*counts));
    for (uint32_t first = 0; first < n; first += BLOCK) {
        const uint32_t now = n - first < BLOCK ? n - first : BLOCK;
        void *to = codes ? (uint8_t *)codes + first * coder->bytes : (void *)scratch;
        rw_code_search_run(isa, &coder->search, column->value + first, now, coder->bytes, to, NULL);
        rw_code_count(to, now, coder->bytes, coder->n_codes, counts);
    }
    counts[coder->absent] += n_docs - n;
}

static int code_column(enum rw_isa isa, const struct rw_column *column, uint32_t n_docs,
                       const struct coder *coder, struct rw_codes *out)
{
    uint32_t counts[RW_MAX_CODES];
    void *code;
    RW_TRY(rw_mem_new_raw(NULL, &code, column ? column->n : 0, coder->bytes));
    code_entries(isa, column, n_docs, coder, code, counts);
    return keep_codes(column, n_docs, code, coder->bytes, counts, coder->n_codes, coder->absent,
                      out);
}

static int new_bins(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_cuts *cuts,
                    const struct rw_cut_rule *rule, struct rw_bins **out)
{
    RW_TRY(RW_NEW(ctx, *out, 1));
    (*out)->rule = *rule;
    (*out)->rule.ignore = NULL;
    (*out)->rule.categories = NULL;
    (*out)->n_docs = dataset->n_docs;
    (*out)->cuts = cuts;
    return RW_NEW(ctx, (*out)->codes, cuts->n_features);
}

struct code_job {
    const struct rw_dataset *dataset;
    const struct rw_cuts *cuts;
    const struct rw_cut_rule *rule;
    enum rw_isa isa;
    struct rw_codes *codes; /* [n_features] written by code_some */
    uint32_t *n;            /* [n_features] rw_codes.n of each feature, written by count_some */
};

static int code_some(void *user, struct rw_share *share)
{
    const struct code_job *job = user;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        struct coder coder;
        coder_of(job->cuts, (uint32_t)f, job->rule->absent_missing, &coder);
        RW_TRY(code_column(job->isa, rw_dataset_column(job->dataset, job->cuts->feature[f]),
                           job->dataset->n_docs, &coder, &job->codes[f]));
    }
    return RW_OK;
}

int rw_bins_make(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_cuts *cuts,
                 const struct rw_cut_rule *rule, int owns_cuts, struct rw_bins **out)
{
    RW_SCOPED(rw_bins_free) struct rw_bins *bins = NULL;
    *out = NULL;
    RW_TRY(new_bins(ctx, dataset, cuts, rule, &bins));
    struct code_job job = {dataset, cuts, rule, rw_isa(), bins->codes, NULL};
    const int status = rw_parallel_long(ctx, ctx->n_threads, cuts->n_features, 1, code_some, &job);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while coding %u documents",
                              dataset->n_docs);
    bins->owns_cuts = owns_cuts; /* set last: on failure the caller owns them */
    *out = RW_TAKE(bins);
    return RW_OK;
}

/* ---- thresholds and codes in one pass ---- */

/* Turns the n interval indices in *code, with `width` bytes each, into codes with `bytes` bytes. If
 * the codes equal the indices, *code stays as it is. Otherwise two intervals could not be separated
 * by a float, or `width` differs from `bytes`. count: on entry the documents in each interval, then
 * those with a missing value; on return those with each code. */
static int map_intervals(const struct rw_cut_intervals *intervals,
                         const struct rw_feature_cuts *found, uint32_t n, size_t width,
                         size_t bytes, uint32_t *count, void **code)
{
    uint32_t map[RW_MAX_BOUNDS + 2];
    int is_same = width == bytes;
    for (uint32_t k = 0; k <= intervals->n_bounds; k++)
        map[k] = found->by_category
                     ? k
                     : rw_bin_of(found->cut, found->n_bins, rw_float_of_key(intervals->below[k]));
    map[intervals->n_bounds + 1] = found->n_bins;
    for (uint32_t k = 0; k <= intervals->n_bounds + 1; k++) {
        const uint32_t n_docs = count[k]; /* a code is never above its interval's index */
        count[k] = 0;
        count[map[k]] += n_docs;
    }
    for (uint32_t k = 0; k <= intervals->n_bounds + (intervals->n_missing > 0); k++)
        is_same &= map[k] == k;
    if (is_same)
        return RW_OK;
    void *mapped = *code;
    if (width != bytes)
        RW_TRY(rw_mem_new_raw(NULL, &mapped, n, bytes));
    for (uint32_t i = 0; i < n; i++)
        rw_codes_put(mapped, bytes, i, map[rw_codes_get(*code, width, i)]);
    if (mapped != *code)
        rw_mem_free(*code);
    *code = mapped;
    return RW_OK;
}

int rw_codes_of_intervals(struct rw_cut_intervals *intervals, const uint32_t *own,
                          const struct rw_cut_rule *rule, const struct rw_column *column,
                          uint32_t n_docs, size_t width, void *index, struct rw_feature_cuts *found,
                          struct rw_codes *out)
{
    int status;
    uint32_t count[RW_MAX_BOUNDS + 3];
    memcpy(count, own ? own : intervals->count, (intervals->n_bounds + 2) * sizeof(*count));
    if (!own)
        count[intervals->n_bounds + 1] = intervals->n_missing; /* includes absent values that
                                                                  count as missing */
    RW_TRY_OUT(rw_cuts_of_intervals(NULL, intervals, rule, found));
    if (found->reason != RW_CUT_IN_USE)
        goto out;
    const uint32_t n_codes = found->n_bins + found->has_missing;
    const size_t bytes = rw_bytes_of_codes(n_codes);
    RW_TRY_OUT(map_intervals(intervals, found, column->n, width, bytes, count, &index));
    const uint32_t zero = rw_bin_of(found->cut, found->n_bins, 0.0f);
    const uint32_t absent = rule->absent_missing && found->has_missing ? found->n_bins : zero;
    return keep_codes(column, n_docs, index, bytes, count, n_codes, absent, out);
out:
    rw_mem_free(index);
    return status;
}

int rw_bins_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_cut_rule *rule, const struct rw_feature_cuts *found,
                   struct rw_codes *codes, struct rw_bins **out)
{
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    RW_SCOPED(rw_bins_free) struct rw_bins *bins = NULL;
    *out = NULL;
    RW_TRY(rw_cuts_gather(ctx, dataset, found, &cuts));
    RW_TRY(new_bins(ctx, dataset, cuts, rule, &bins));
    bins->cuts = RW_TAKE(cuts);
    bins->owns_cuts = 1;
    for (uint32_t c = 0, f = 0; c < dataset->n_columns; c++) {
        if (found[c].reason != RW_CUT_IN_USE)
            continue;
        bins->codes[f++] = codes[c];
        codes[c] = (struct rw_codes){0};
    }
    *out = RW_TAKE(bins);
    return RW_OK;
}

void rw_codes_free(struct rw_codes *codes, uint32_t n)
{
    for (uint32_t c = 0; codes && c < n; c++) {
        rw_mem_free(codes[c].row);
        rw_mem_free(codes[c].code);
    }
    rw_mem_free(codes);
}

/* ---- codes from other bins: of a data set's chunks, or of selected queries ---- */

struct gather_job {
    /* Returns a feature's codes, `bytes` each, of all documents of `bins`. NULL: no memory. */
    void *(*gather)(const struct gather_job *job, uint32_t f, size_t bytes);
    struct rw_bins *bins;
    struct rw_bins **chunk; /* of join_feature: [n_chunks] */
    uint32_t n_chunks;
    const struct rw_bins *from; /* of select_feature, as are the next two */
    const struct rw_dataset *dataset;
    const uint8_t *keep;
};

static int gather_some(void *user, struct rw_share *share)
{
    const struct gather_job *job = user;
    const struct rw_cuts *cuts = job->bins->cuts;
    const uint32_t n_docs = job->bins->n_docs;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        const size_t bytes = rw_cuts_code_bytes(cuts, (uint32_t)f);
        const struct rw_column dense = {.n = n_docs};
        const uint32_t n_codes = rw_cuts_n_codes(cuts, (uint32_t)f);
        uint32_t counts[RW_MAX_CODES] = {0};
        void *all = job->gather(job, (uint32_t)f, bytes);
        if (!all)
            return RW_ERR_MEMORY;
        rw_code_count(all, n_docs, bytes, n_codes, counts);
        RW_TRY(keep_codes(&dense, n_docs, all, bytes, counts, n_codes, 0, &job->bins->codes[f]));
    }
    return RW_OK;
}

/* Makes the bins of n_docs documents by job->gather. */
static int gather(struct rw_ctx *ctx, struct gather_job *job, uint32_t n_docs, struct rw_cuts *cuts,
                  const struct rw_cut_rule *rule, struct rw_bins **out)
{
    const struct rw_dataset all = {.n_docs = n_docs};
    RW_SCOPED(rw_bins_free) struct rw_bins *bins = NULL;
    *out = NULL;
    RW_TRY(new_bins(ctx, &all, cuts, rule, &bins));
    job->bins = bins;
    const int status = rw_parallel_long(ctx, ctx->n_threads, cuts->n_features, 1, gather_some, job);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while coding %u documents", n_docs);
    *out = RW_TAKE(bins);
    return RW_OK;
}

/* Writes n codes from document `begin` on. */
static void copy_codes(const struct rw_codes *codes, uint32_t begin, uint32_t n, size_t bytes,
                       uint8_t *to)
{
    for (uint32_t i = 0; codes->row && i < n; i++)
        rw_codes_put(to, bytes, i, codes->rest);
    uint32_t i = codes->row ? rw_numbers_under(codes->row, codes->n, begin) : codes->n;
    for (; i < codes->n && codes->row[i] < begin + n; i++)
        rw_codes_put(to, bytes, codes->row[i] - begin, rw_codes_get(codes->code, bytes, i));
    if (!codes->row && n)
        memcpy(to, (const uint8_t *)codes->code + begin * bytes, n * bytes);
}

/* Concatenates the codes of all chunks, and frees those of the chunks. */
static void *join_feature(const struct gather_job *job, uint32_t f, size_t bytes)
{
    void *all;
    if (rw_mem_new_raw(NULL, &all, job->bins->n_docs, bytes) < 0)
        return NULL;
    uint8_t *to = all;
    for (uint32_t p = 0; p < job->n_chunks; p++) {
        struct rw_codes *codes = &job->chunk[p]->codes[f];
        copy_codes(codes, 0, job->chunk[p]->n_docs, bytes, to);
        to += job->chunk[p]->n_docs * bytes;
        rw_mem_free(codes->row);
        rw_mem_free(codes->code);
        *codes = (struct rw_codes){0};
    }
    return all;
}

int rw_bins_join(struct rw_ctx *ctx, struct rw_bins **chunk, uint32_t n_chunks,
                 struct rw_cuts *cuts, const struct rw_cut_rule *rule, struct rw_bins **out)
{
    struct gather_job job = {.gather = join_feature, .chunk = chunk, .n_chunks = n_chunks};
    uint32_t n_docs = 0;
    for (uint32_t p = 0; p < n_chunks; p++)
        n_docs += chunk[p]->n_docs;
    return gather(ctx, &job, n_docs, cuts, rule, out);
}

static void *select_feature(const struct gather_job *job, uint32_t f, size_t bytes)
{
    const uint32_t *offset = job->dataset->query_offset;
    void *some;
    if (rw_mem_new_raw(NULL, &some, job->bins->n_docs, bytes) < 0)
        return NULL;
    uint8_t *to = some;
    for (uint32_t q = 0; q < job->dataset->n_queries; q++) {
        const uint32_t n = job->keep[q] ? offset[q + 1] - offset[q] : 0;
        copy_codes(&job->from->codes[f], offset[q], n, bytes, to);
        to += n * bytes;
    }
    return some;
}

int rw_bins_select(struct rw_ctx *ctx, const struct rw_bins *from, const struct rw_dataset *dataset,
                   const uint8_t *keep, struct rw_bins **out)
{
    struct gather_job job = {
        .gather = select_feature, .from = from, .dataset = dataset, .keep = keep};
    uint32_t n_docs = 0;
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        n_docs += keep[q] ? dataset->query_offset[q + 1] - dataset->query_offset[q] : 0;
    return gather(ctx, &job, n_docs, from->cuts, &from->rule, out);
}

/* ---- counting ---- */

static int count_some(void *user, struct rw_share *share)
{
    const struct code_job *job = user;
    const uint32_t n_docs = job->dataset->n_docs, few = n_docs / RW_SPARSE_SHARE;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        const struct rw_column *column = rw_dataset_column(job->dataset, job->cuts->feature[f]);
        struct coder coder;
        uint32_t counts[RW_MAX_CODES];
        coder_of(job->cuts, (uint32_t)f, job->rule->absent_missing, &coder);
        code_entries(job->isa, column, n_docs, &coder, NULL, counts);
        /* same decision as in keep_codes */
        const uint32_t others = n_docs - counts[coder.absent];
        const uint32_t fewest = n_docs - counts[most_frequent(counts, coder.n_codes)];
        const int is_sparse = !column || column->row;
        job->n[f] = is_sparse && others <= few ? others : fewest <= few ? fewest : n_docs;
    }
    return RW_OK;
}

void rw_bins_entries(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cuts *cuts, const struct rw_cut_rule *rule, uint32_t *n)
{
    struct code_job job = {dataset, cuts, rule, rw_isa(), NULL, n};
    rw_parallel(ctx, ctx->n_threads, cuts->n_features, 1, count_some, &job);
}

void rw_bins_count(const struct rw_bins *bins, uint32_t f, uint32_t *counts)
{
    const struct rw_codes *codes = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    memset(counts, 0, rw_cuts_n_codes(bins->cuts, f) * sizeof(*counts));
    rw_code_count(codes->code, codes->n, bytes, rw_cuts_n_codes(bins->cuts, f), counts);
    if (codes->row)
        counts[codes->rest] += bins->n_docs - codes->n;
}

void rw_bins_free(struct rw_bins *bins)
{
    if (!bins)
        return;
    rw_codes_free(bins->codes, bins->codes && !bins->codes_are_views ? bins->cuts->n_features : 0);
    if (bins->owns_cuts)
        rw_cuts_free(bins->cuts);
    rw_mem_free(bins);
}

/* ---- bins with their documents ---- */

int rw_binned_take_features(struct rw_ctx *ctx, const struct rw_column *column, uint32_t n,
                            struct rw_binned *binned)
{
    RW_TRY(RW_NEW_RAW(ctx, binned->feature, n));
    for (; binned->n_features < n; binned->n_features++)
        binned->feature[binned->n_features] = column[binned->n_features].feature;
    return RW_OK;
}

void rw_binned_release(struct rw_binned *binned)
{
    if (binned->cache && binned->cache->data)
        binned->cache->free(&binned->cache->data);
    rw_mem_free(binned->cache);
    rw_bins_free(binned->bins); /* the codes may be views of the documents' cache */
    rw_dataset_free(binned->documents);
    rw_mem_free(binned->feature);
    rw_mem_free(binned->scores);
    *binned = (struct rw_binned){.documents = NULL};
}

void rw_binned_free(struct rw_binned *binned)
{
    if (binned)
        rw_binned_release(binned);
    rw_mem_free(binned);
}

struct rw_dataset *rw_binned_documents(struct rw_binned *binned)
{
    return binned->documents;
}

uint32_t rw_binned_n_features(const struct rw_binned *binned)
{
    return binned->bins ? binned->n_features : rw_dataset_n_features(binned->documents);
}
