/* The intervals of all pieces become the codes of one data set. */

#include "base/mem.h"
#include "base/sort.h"
#include "binning/code_search.h"
#include "comm/comm.h"
#include "binning/pieces.h"

struct join {
    struct rw_pieces *pieces; /* borrowed */
    struct rw_column *column; /* [n_columns] dense or sparse, as values would be; owned */
    uint32_t n_columns;
    struct rw_feature_cuts *found; /* [n_columns] owned, with its cuts */
    struct rw_codes *codes;        /* [n_columns] owned */
    /* documents of each interval of a column, from its count_at on; owned, [n_columns + 1], and
     * [all] */
    uint64_t *count_at;
    uint32_t *own, *count; /* on this rank, and on all */
};

static void join_release(struct join *join)
{
    for (uint32_t c = 0; join->found && c < join->n_columns; c++)
        rw_mem_free(join->found[c].cut);
    rw_mem_free(join->column);
    rw_mem_free(join->found);
    rw_mem_free(join->count_at);
    rw_mem_free(join->own);
    rw_mem_free(join->count);
    rw_codes_free(join->codes, join->n_columns);
}

/* What the threads found, in the first one's memory. */
static void add_threads(struct rw_pieces *pieces)
{
    struct rw_piece_scratch *sum = &pieces->scratch[0];
    for (int t = 1; t < pieces->n_threads; t++) {
        const struct rw_piece_scratch *s = &pieces->scratch[t];
        for (uint64_t k = 0; k < pieces->n_most; k++)
            sum->most[k] = s->most[k] > sum->most[k] ? s->most[k] : sum->most[k];
    }
}

static int make_columns(struct join *join)
{
    struct rw_pieces *pieces = join->pieces;
    struct rw_ctx *ctx = pieces->ctx;
    const uint32_t n_docs = pieces->sample->n_all_docs;
    uint32_t n_columns = 0;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        n_columns += pieces->feature[f].n_present > 0;
    RW_TRY(RW_NEW(ctx, join->found, n_columns));
    RW_TRY(RW_NEW(ctx, join->codes, n_columns));
    RW_TRY(RW_NEW(ctx, join->column, n_columns));
    RW_TRY(RW_NEW(ctx, join->count_at, (size_t)n_columns + 1));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        struct rw_piece_feature *feature = &pieces->feature[f];
        const uint32_t n = feature->n_present;
        feature->column = n ? join->n_columns++ : UINT32_MAX;
        if (n == 0)
            continue;
        join->column[feature->column] =
            (struct rw_column){.feature = f, .n = rw_column_is_dense(n, n_docs) ? n_docs : n};
        join->count_at[feature->column + 1] =
            join->count_at[feature->column] + feature->n_bounds + 2;
        if (feature->interval)
            continue;
        RW_TRY(RW_NEW_RAW(ctx, feature->row, feature->n_listed));
        RW_TRY(rw_mem_new_raw(ctx, &feature->interval, feature->n_listed, feature->width));
    }
    RW_TRY(RW_NEW(ctx, join->own, join->count_at[n_columns]));
    return RW_NEW_RAW(ctx, join->count, join->count_at[n_columns]);
}

/* ---- lists of pieces to lists of columns ---- */

/* The piece's part of data set columns [first, end). */
static void join_piece(const struct join *join, const struct rw_piece *piece, uint32_t first,
                       uint32_t end)
{
    for (uint32_t i = 0; i < piece->n_lists; i++) {
        const struct rw_piece_list *list = &piece->list[i];
        struct rw_piece_feature *feature = &join->pieces->feature[list->feature];
        const uint32_t to = feature->n_joined;
        if (feature->column < first || feature->column >= end || list->n == 0)
            continue;
        for (uint32_t k = 0; k < list->n; k++)
            feature->row[to + k] = piece->first_doc + piece->row[list->row_at + k];
        memcpy((uint8_t *)feature->interval + to * feature->width,
               piece->interval + list->interval_at, list->n * feature->width);
        feature->n_joined += list->n;
    }
}

struct some_pieces {
    const struct join *join;
    uint32_t first, end; /* pieces */
    uint64_t n_parts;    /* of the columns */
};

static int join_parts(void *job, struct rw_share *share)
{
    const struct some_pieces *some = job;
    const struct join *join = some->join;
    for (uint64_t part, part_end; rw_share_next(share, &part, &part_end);) {
        const uint32_t first = (uint32_t)(join->n_columns * part / some->n_parts);
        const uint32_t end = (uint32_t)(join->n_columns * (part + 1) / some->n_parts);
        for (uint32_t i = some->first; i < some->end && first < end; i++)
            join_piece(join, &join->pieces->piece[i], first, end);
    }
    return RW_OK;
}

/* Some pieces at a time, each thread some columns of them; then they are released, so that pieces
 * and columns never stand in memory whole. */
static void join_pieces(const struct join *join)
{
    enum { AT_A_TIME = 16, PARTS = 4 };
    const struct rw_pieces *pieces = join->pieces;
    struct some_pieces some = {.join = join, .n_parts = (uint64_t)pieces->n_threads * PARTS};
    for (; some.first < pieces->n_pieces; some.first = some.end) {
        const uint32_t left = pieces->n_pieces - some.first;
        some.end = some.first + (left < AT_A_TIME ? left : AT_A_TIME);
        rw_parallel(pieces->ctx, pieces->n_threads, some.n_parts, 1, join_parts, &some);
        for (uint32_t i = some.first; i < some.end; i++)
            rw_piece_release(&pieces->piece[i]);
    }
}

/* ---- cuts and codes ---- */

/* A feature's entries: of all documents, or listed ones. */
static uint32_t n_entries(const struct rw_pieces *pieces, const struct rw_piece_feature *feature)
{
    return feature->row ? feature->n_listed : pieces->n_docs;
}

static int count_columns(void *job, struct rw_share *share)
{
    const struct join *join = job;
    const struct rw_pieces *pieces = join->pieces;
    for (uint64_t c, end; rw_share_next(share, &c, &end);) {
        const struct rw_piece_feature *feature = &pieces->feature[join->column[c].feature];
        const uint32_t n = n_entries(pieces, feature);
        uint32_t *count = join->own + join->count_at[c];
        rw_code_count(feature->interval, n, feature->width, feature->n_bounds + 2, count);
        count[feature->absent] += pieces->n_docs - n;
    }
    return RW_OK;
}

/* Of all ranks' documents. count: of each interval. */
static void intervals_of(const struct rw_pieces *pieces, uint32_t id,
                         const struct rw_piece_feature *feature, const uint32_t *count,
                         struct rw_cut_intervals *intervals)
{
    const int32_t *most = pieces->scratch[0].most + feature->most_at;
    const uint32_t n = feature->n_bounds, absent = feature->absent;
    intervals->n_bounds = n;
    if (n)
        memcpy(intervals->bound, feature->bound, n * sizeof(*feature->bound));
    for (uint32_t k = 0; k <= n; k++)
        intervals->below[k] = rw_key_of_ordered(most[k]);
    if (!pieces->rule.absent_missing && feature->n_present < pieces->sample->n_all_docs &&
        RW_KEY_OF_ZERO > intervals->below[absent])
        intervals->below[absent] = RW_KEY_OF_ZERO;
    memcpy(intervals->count, count, (n + 2) * sizeof(intervals->count[0]));
    intervals->n_missing = intervals->count[n + 1];
    intervals->by_category = rw_cut_rule_categories(&pieces->rule, id) > 0;
}

static int end_column(const struct join *join, uint32_t c)
{
    const struct rw_pieces *pieces = join->pieces;
    struct rw_column column = join->column[c];
    struct rw_piece_feature *feature = &pieces->feature[column.feature];
    struct rw_cut_intervals intervals;
    uint32_t none;
    column.row = column.n < pieces->sample->n_all_docs
                     ? &none
                     : NULL; /* sparse or dense is all that is asked */
    if (rw_cuts_decided(&column, &pieces->rule, &join->found[c]))
        return RW_OK;
    column.n = n_entries(pieces, feature);
    column.row = feature->row;
    intervals_of(pieces, column.feature, feature, join->count + join->count_at[c], &intervals);
    void *index = feature->interval;
    feature->interval = NULL;
    const int status = rw_codes_of_intervals(&intervals, join->own + join->count_at[c],
                                             &pieces->rule, &column, pieces->n_docs, feature->width,
                                             index, &join->found[c], &join->codes[c]);
    rw_mem_free(feature->row);
    feature->row = NULL;
    return status;
}

static int end_columns(void *job, struct rw_share *share)
{
    for (uint64_t c, end; rw_share_next(share, &c, &end);)
        RW_TRY(end_column(job, (uint32_t)c));
    return RW_OK;
}

/* The features, and the bins of those in use. */
static int end_bins(struct join *join, struct rw_binned *out)
{
    const struct rw_pieces *pieces = join->pieces;
    const struct rw_dataset columns = {
        .n_docs = pieces->n_docs, .n_columns = join->n_columns, .column = join->column};
    RW_TRY(RW_NEW(pieces->ctx, out->feature, join->n_columns));
    for (; out->n_features < join->n_columns; out->n_features++)
        out->feature[out->n_features] = join->column[out->n_features].feature;
    return rw_bins_gather(pieces->ctx, &columns, &pieces->rule, join->found, join->codes,
                          &out->bins);
}

/* Columns of intervals, and how many documents each interval has. */
static int count_all(struct join *join)
{
    struct rw_pieces *pieces = join->pieces;
    struct rw_ctx *ctx = pieces->ctx;
    RW_TRY(rw_pieces_share_found(pieces));
    int status = make_columns(join);
    if (status >= 0) {
        join_pieces(join);
        status = rw_parallel_long(ctx, pieces->n_threads, join->n_columns, 1, count_columns, join);
    }
    RW_TRY(rw_comm_agree(ctx, status));
    const size_t n = join->count_at[join->n_columns];
    memcpy(join->count, join->own, n * sizeof(*join->count));
    return rw_comm_all_reduce(ctx, join->count, n, RW_COMM_U32, RW_COMM_SUM);
}

int rw_pieces_finish(struct rw_pieces *pieces, struct rw_binned *out)
{
    struct rw_ctx *ctx = pieces->ctx;
    struct join join = {.pieces = pieces};
    int status;
    add_threads(pieces);
    RW_TRY_OUT(count_all(&join));
    status = rw_parallel_long(ctx, pieces->n_threads, join.n_columns, 1, end_columns, &join);
    if (status < 0)
        rw_fail_memory(ctx, status, "out of memory while coding %u documents", pieces->n_docs);
    else
        status = end_bins(&join, out);
    status = rw_comm_agree(ctx, status);
out:
    join_release(&join);
    return status;
}
