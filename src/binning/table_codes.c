/* Makes the codes of a table in memory from the caller's arrays, without a copy of the values
 * (binning/bins.h). */
#include "binning/bins.h"

enum {
    GROUP = RW_TABLE_COLUMNS, /* dense columns that are read together */
    AT_A_TIME = 256,          /* dense columns whose intervals are in memory, some kB each */
    BLOCK = 2048,             /* documents read together; their values in GROUP columns fit into the
                                 L2 cache */
    STRIDE = BLOCK + 16,      /* floats from one column's values to the next one's; 16 more than a
                                 block, so columns do not compete for the same sets of a cache */
    RANGE = 16 * BLOCK,       /* documents that a thread processes between two merges */
    SAMPLED_GROUP = 8         /* columns whose sampled values a thread reads at once */
};

struct coding {
    struct rw_cut_finder finder;
    struct rw_table_reader reader;
    enum rw_isa isa;
    struct rw_dataset seen;   /* documents, with columns that have `feature` and `n` only */
    struct rw_arena arena;    /* owns `column`, `interval` and `index` */
    struct rw_column *column; /* [n_columns] columns of `seen` */
    struct rw_codes *codes;   /* [n_columns] owned */
    uint32_t first, end; /* current columns: reader.dense[first .. end - 1], at most AT_A_TIME */
    struct rw_cut_intervals *interval; /* [end - first] the k-th: of reader.dense[first + k] */
    void **index; /* [AT_A_TIME] the k-th: interval indices of all documents in column
                     reader.dense[first + k], or NULL; each is owned */
};

static void coding_release(struct coding *job)
{
    for (uint32_t k = 0; job->index && k < AT_A_TIME; k++)
        rw_mem_free(job->index[k]);
    rw_codes_free(job->codes, job->seen.n_columns);
    rw_cut_finder_release(&job->finder);
    rw_arena_free(&job->arena);
    rw_table_close(&job->reader);
}

/* ---- boundaries of dense columns ---- */

static int bound_groups(struct coding *job, struct rw_share *share, struct rw_rank_scratch *scratch,
                        float *value, size_t stride)
{
    const struct rw_cut_sample all = {.n = job->finder.sample.n};
    for (uint64_t group, end; rw_share_next(share, &group, &end);) {
        const uint32_t k = job->first + (uint32_t)group * SAMPLED_GROUP;
        const uint32_t n = job->end - k < SAMPLED_GROUP ? job->end - k : SAMPLED_GROUP;
        rw_table_values(&job->reader, job->reader.dense + k, n, job->finder.sample.row, 0, all.n,
                        value, stride);
        for (uint32_t i = 0; i < n; i++) {
            const struct rw_cut_part part = {.column = {.n = all.n, .value = value + i * stride}};
            rw_cut_bounds(job->isa, &part, 1, &all, job->finder.rule, scratch,
                          &job->interval[k + i - job->first]);
        }
    }
    return RW_OK;
}

static int bound_some(void *user, struct rw_share *share)
{
    struct coding *job = user;
    const uint32_t n = job->finder.sample.n;
    const size_t stride = ((size_t)n + 15) / 16 * 16,
                 bytes = SAMPLED_GROUP * stride * sizeof(float);
    struct rw_rank_scratch scratch;
    float *value = NULL;
    int status;
    RW_TRY_OUT(rw_rank_scratch_init(NULL, &scratch, &job->finder.sample));
    RW_TRY_OUT(rw_mem_new_large(NULL, (void **)&value, bytes, 0));
    status = bound_groups(job, share, &scratch, value, stride);
out:
    rw_mem_free_large(value, bytes);
    rw_arena_free(&scratch.arena);
    return status;
}

/* ---- intervals of dense columns, for all documents ---- */

struct group_scratch {
    struct rw_code_search search[GROUP];
    int32_t most[GROUP][RW_SEARCH_ROOM];
    uint32_t count[GROUP][RW_MAX_BOUNDS + 3];
    float value[GROUP * STRIDE];
};

static void begin_group(const struct coding *job, uint32_t first, uint32_t n,
                        struct group_scratch *s)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct rw_cut_intervals *interval = &job->interval[first + i];
        const uint32_t n_bounds = interval->n_bounds;
        rw_code_search_init(&s->search[i], interval->bound, n_bounds,
                            job->finder.rule->absent_missing, n_bounds + 1);
        memset(s->count[i], 0, (n_bounds + 2) * sizeof(s->count[i][0]));
        for (uint32_t b = 0; b <= n_bounds; b++)
            s->most[i][b] = INT32_MIN;
    }
}

static void end_group(const struct coding *job, uint32_t first, uint32_t n,
                      const struct group_scratch *s)
{
    for (uint32_t i = 0; i < n; i++) {
        struct rw_cut_intervals *interval = &job->interval[first + i];
        for (uint32_t b = 0; b < interval->n_bounds + 2; b++)
            interval->count[b] += s->count[i][b];
        for (uint32_t b = 0; b <= interval->n_bounds; b++) {
            const uint32_t key = rw_key_of_ordered(s->most[i][b]);
            interval->below[b] = key > interval->below[b] ? key : interval->below[b];
        }
    }
}

/* Finds the intervals of documents [doc, end) in n of the current columns, the first of which is
 * reader.dense[job->first + first]. */
static void find_intervals(struct coding *job, uint32_t first, uint32_t n, uint32_t doc,
                           uint32_t end, struct group_scratch *s)
{
    for (; doc < end; doc += BLOCK) {
        const uint32_t now = end - doc < BLOCK ? end - doc : BLOCK;
        rw_table_values(&job->reader, job->reader.dense + job->first + first, n, NULL, doc, now,
                        s->value, STRIDE);
        for (uint32_t i = 0; i < n; i++) {
            const struct rw_cut_intervals *interval = &job->interval[first + i];
            const size_t bytes = rw_bytes_of_codes(interval->n_bounds + 2);
            uint8_t *to = (uint8_t *)job->index[first + i] + doc * bytes;
            rw_code_search_run(job->isa, &s->search[i], s->value + i * STRIDE, now, bytes, to,
                               s->most[i]);
            rw_code_count(to, now, bytes, interval->n_bounds + 2, s->count[i]);
        }
    }
}

static int find_some(void *user, struct rw_share *share)
{
    struct coding *job = user;
    const uint32_t n_docs = job->seen.n_docs, n_columns = job->end - job->first;
    const uint32_t n_groups = (n_columns + GROUP - 1) / GROUP;
    RW_FREED struct group_scratch *s = NULL;
    RW_TRY(RW_NEW_RAW(NULL, s, 1));
    for (uint64_t item, item_end; rw_share_next(share, &item, &item_end);) {
        const uint32_t first = (uint32_t)(item % n_groups) * GROUP;
        const uint32_t doc = (uint32_t)(item / n_groups) * RANGE;
        const uint32_t n = n_columns - first < GROUP ? n_columns - first : GROUP;
        begin_group(job, first, n, s);
        find_intervals(job, first, n, doc, n_docs - doc < RANGE ? n_docs : doc + RANGE, s);
        rw_share_lock(share);
        end_group(job, first, n, s);
        rw_share_unlock(share);
    }
    return RW_OK;
}

/* ---- codes of dense columns ---- */

static int code_some(void *user, struct rw_share *share)
{
    struct coding *job = user;
    const struct rw_column column = {.n = job->seen.n_docs};
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        const uint32_t c = job->reader.dense[job->first + k];
        struct rw_cut_intervals *interval = &job->interval[k];
        void *index = job->index[k];
        job->index[k] = NULL; /* the codes own it now */
        interval->n_missing = interval->count[interval->n_bounds + 1];
        RW_TRY(rw_codes_of_intervals(interval, NULL, job->finder.rule, &column, column.n,
                                     rw_bytes_of_codes(interval->n_bounds + 2), index,
                                     &job->finder.found[c], &job->codes[c]));
    }
    return RW_OK;
}

/* Computes the codes of the current dense columns. */
static int code_dense(struct rw_ctx *ctx, struct coding *job)
{
    const uint32_t n = job->end - job->first, n_docs = job->seen.n_docs;
    const uint64_t n_ranges = ((uint64_t)n_docs + RANGE - 1) / RANGE;
    const uint32_t n_groups = (n + GROUP - 1) / GROUP;
    const uint32_t n_sampled = (n + SAMPLED_GROUP - 1) / SAMPLED_GROUP;
    RW_TRY(rw_parallel_long(ctx, ctx->n_threads, n_sampled, 1, bound_some, job));
    for (uint32_t k = 0; k < n; k++) {
        struct rw_cut_intervals *interval = &job->interval[k];
        memset(interval->below, 0, sizeof(interval->below));
        memset(interval->count, 0, sizeof(interval->count));
        RW_TRY(rw_mem_new_raw(NULL, &job->index[k], n_docs,
                              rw_bytes_of_codes(interval->n_bounds + 2)));
    }
    RW_TRY(rw_parallel_long(ctx, ctx->n_threads, n_ranges * n_groups, 1, find_some, job));
    return rw_parallel_long(ctx, ctx->n_threads, n, 1, code_some, job);
}

/* ---- sparse columns, each read as a whole ---- */

static int code_column(struct coding *job, uint32_t c, struct rw_rank_scratch *scratch)
{
    struct rw_column column = {.feature = job->column[c].feature, .n = job->column[c].n};
    const size_t bytes = column.n * sizeof(float);
    int status;
    RW_TRY_OUT(rw_mem_new_large(NULL, (void **)&column.row, bytes, 0));
    RW_TRY_OUT(rw_mem_new_large(NULL, (void **)&column.value, bytes, 0));
    RW_TRY_OUT(rw_table_entries(&job->reader, c, column.row, column.value));
    status = rw_cuts_find_column(&job->finder, job->isa, &column, c, scratch, &job->codes[c]);
out:
    rw_mem_free_large(column.row, bytes);
    rw_mem_free_large(column.value, bytes);
    return status;
}

static int code_sparse(void *user, struct rw_share *share)
{
    struct coding *job = user;
    struct rw_rank_scratch scratch;
    int status = rw_rank_scratch_init(NULL, &scratch, &job->finder.sample);
    for (uint64_t k, end; status >= 0 && rw_share_next(share, &k, &end);)
        status = code_column(job, job->reader.sparse[k], &scratch);
    rw_arena_free(&scratch.arena);
    return status;
}

/* ---- the whole table ---- */

static int begin(struct rw_ctx *ctx, struct coding *job, const struct rw_dataset *documents,
                 const struct rw_cut_rule *rule)
{
    const uint32_t n_columns = job->reader.n_columns;
    RW_TRY(RW_ARENA_NEW(ctx, &job->arena, job->column, n_columns));
    RW_TRY(RW_NEW(ctx, job->codes, n_columns));
    job->seen = *documents;
    job->seen.column = job->column;
    job->seen.n_columns = n_columns;
    for (uint32_t c = 0; c < n_columns; c++)
        job->column[c] = (struct rw_column){.feature = job->reader.column[c].feature,
                                            .n = job->reader.column[c].n};
    const size_t at_a_time = job->reader.n_dense < AT_A_TIME ? job->reader.n_dense : AT_A_TIME;
    RW_TRY(RW_ARENA_NEW(ctx, &job->arena, job->interval, at_a_time));
    RW_TRY(RW_ARENA_NEW(ctx, &job->arena, job->index, AT_A_TIME));
    return rw_cut_finder_init(ctx, &job->finder, &job->seen, rule);
}

static int code_columns(struct rw_ctx *ctx, struct coding *job)
{
    int status = RW_OK;
    for (; status >= 0 && job->first < job->reader.n_dense; job->first = job->end) {
        const uint32_t left = job->reader.n_dense - job->first;
        job->end = job->first + (left < AT_A_TIME ? left : AT_A_TIME);
        status = code_dense(ctx, job);
    }
    if (status >= 0 && job->reader.n_sparse)
        status = rw_parallel_long(ctx, ctx->n_threads, job->reader.n_sparse, 1, code_sparse, job);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while coding %u documents",
                              job->seen.n_docs);
    return RW_OK;
}

int rw_table_codes(struct rw_ctx *ctx, const struct rw_table *table, const struct rw_cut_rule *rule,
                   struct rw_binned *out)
{
    RW_RELEASED(coding_release) struct coding job = {.isa = rw_isa()};
    RW_TRY(rw_table_open(ctx, &job.reader, table, NULL));
    RW_TRY(rw_table_documents(ctx, table, &out->documents));
    RW_TRY(begin(ctx, &job, out->documents, rule));
    RW_TRY(code_columns(ctx, &job));
    RW_TRY(rw_table_check(ctx, &job.reader));
    rw_table_warn_inexact(ctx, &job.reader);
    RW_TRY(rw_binned_take_features(ctx, job.column, job.seen.n_columns, out));
    return rw_bins_gather(ctx, &job.seen, rule, job.finder.found, job.codes, &out->bins);
}
