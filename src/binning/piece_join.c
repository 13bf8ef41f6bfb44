/* Places of all pieces become the codes of one data set. */

#include "base/mem.h"
#include "base/sort.h"
#include "binning/code_search.h"
#include "binning/pieces.h"

/* A feature of the data set while its pieces come together. */
struct joined {
    uint32_t feature, n_present;
    uint32_t n;    /* places: of all documents, or of those listed */
    uint32_t next; /* listed: where the next goes */
    uint32_t *row; /* [n] NULL: all documents; owned */
    void *place;   /* [n] owned */
};

struct join {
    struct rw_pieces *pieces; /* borrowed */
    struct joined *joined;    /* [n_columns] owned */
    struct rw_column *column; /* [n_columns] dense or sparse, as values would be; owned */
    uint32_t n_columns;
    uint32_t *column_of;           /* [RW_FEATURE_IDS] owned */
    struct rw_feature_cuts *found; /* [n_columns] owned, with its cuts */
    struct rw_codes *codes;        /* [n_columns] owned */
};

static void join_release(struct join *join)
{
    for (uint32_t c = 0; join->joined && c < join->n_columns; c++) {
        rw_mem_free(join->joined[c].row);
        rw_mem_free(join->joined[c].place);
    }
    for (uint32_t c = 0; join->found && c < join->n_columns; c++)
        rw_mem_free(join->found[c].cut);
    rw_mem_free(join->joined);
    rw_mem_free(join->column);
    rw_mem_free(join->column_of);
    rw_mem_free(join->found);
    rw_codes_free(join->codes, join->n_columns);
}

/* What the threads found, in the first one's memory. */
static void add_threads(struct rw_pieces *pieces)
{
    struct rw_piece_scratch *sum = &pieces->scratch[0];
    const uint64_t n_most = pieces->bound_at[RW_FEATURE_IDS] + RW_FEATURE_IDS;
    for (int t = 1; t < pieces->n_threads; t++) {
        const struct rw_piece_scratch *s = &pieces->scratch[t];
        for (uint64_t k = 0; k < n_most; k++)
            sum->most[k] = s->most[k] > sum->most[k] ? s->most[k] : sum->most[k];
    }
}

static int make_columns(struct join *join)
{
    struct rw_pieces *pieces = join->pieces;
    struct rw_ctx *ctx = pieces->ctx;
    const uint32_t n_docs = pieces->dataset->n_docs;
    uint32_t n_columns = 0;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        n_columns += pieces->n_present[f] > 0;
    RW_TRY(RW_NEW(ctx, join->column_of, RW_FEATURE_IDS));
    RW_TRY(RW_NEW(ctx, join->joined, n_columns));
    RW_TRY(RW_NEW(ctx, join->found, n_columns));
    RW_TRY(RW_NEW(ctx, join->codes, n_columns));
    RW_TRY(RW_NEW(ctx, join->column, n_columns));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (!pieces->n_present[f])
            continue;
        struct joined *one = &join->joined[join->n_columns];
        struct rw_column *column = &join->column[join->n_columns];
        join->column_of[f] = join->n_columns++;
        one->feature = f;
        one->n_present = pieces->n_present[f];
        one->place = pieces->place[f];
        one->n = one->place ? n_docs : pieces->n_listed[f];
        pieces->place[f] = NULL;
        column->feature = f;
        column->n = rw_column_is_dense(one->n_present, n_docs) ? n_docs : one->n_present;
        if (one->place)
            continue;
        RW_TRY(RW_NEW_RAW(ctx, one->row, one->n));
        RW_TRY(rw_mem_new_raw(ctx, &one->place, one->n, pieces->room[f]));
    }
    return RW_OK;
}

/* ---- lists of pieces to lists of columns ---- */

/* The piece's part of data set columns [first, end). */
static void join_piece(const struct join *join, const struct rw_piece *piece, uint32_t first,
                       uint32_t end)
{
    for (uint32_t c = 0; c < piece->n_columns; c++) {
        const struct rw_piece_column *column = &piece->column[c];
        const uint32_t at = join->column_of[column->feature];
        if (at < first || at >= end || column->n == 0)
            continue;
        struct joined *one = &join->joined[at];
        const size_t room = join->pieces->room[one->feature];
        for (uint32_t i = 0; i < column->n; i++)
            one->row[one->next + i] = piece->first_doc + piece->row[column->row_at + i];
        memcpy((uint8_t *)one->place + one->next * room, piece->place + column->at,
               column->n * room);
        one->next += column->n;
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

static void intervals_of(const struct join *join, const struct joined *one,
                         struct rw_cut_intervals *intervals)
{
    const struct rw_pieces *pieces = join->pieces;
    const uint32_t f = one->feature, n_docs = pieces->dataset->n_docs;
    const int32_t *most = pieces->scratch[0].most + rw_pieces_most_at(pieces, f);
    const uint32_t n = rw_pieces_n_bounds(pieces, f), absent = pieces->absent[f];
    const uint32_t zero = rw_key_of_float(0.0f);
    intervals->n_bounds = n;
    memcpy(intervals->bound, pieces->bound + pieces->bound_at[f], n * sizeof(uint32_t));
    for (uint32_t k = 0; k <= n; k++)
        intervals->below[k] = rw_key_of_ordered(most[k]);
    if (!pieces->rule.absent_missing && one->n_present < n_docs && zero > intervals->below[absent])
        intervals->below[absent] = zero;
    memset(intervals->count, 0, (n + 2) * sizeof(intervals->count[0]));
    rw_code_count(one->place, one->n, pieces->room[f], n + 2, intervals->count);
    intervals->count[absent] += n_docs - one->n;
    intervals->n_missing = intervals->count[n + 1];
}

static int end_column(const struct join *join, uint32_t c)
{
    const struct rw_pieces *pieces = join->pieces;
    struct joined *one = &join->joined[c];
    struct rw_column column = join->column[c];
    const uint32_t n_docs = pieces->dataset->n_docs;
    struct rw_cut_intervals intervals;
    void *place = one->place;
    uint32_t none;
    column.row = column.n < n_docs ? &none : NULL; /* sparse or dense is all that is asked */
    if (rw_cuts_decided(&column, &pieces->rule, &join->found[c]))
        return RW_OK;
    intervals_of(join, one, &intervals);
    column = (struct rw_column){.feature = one->feature, .n = one->n, .row = one->row};
    one->place = NULL;
    const int status =
        rw_codes_of_places(&intervals, &pieces->rule, &column, n_docs, pieces->room[one->feature],
                           place, &join->found[c], &join->codes[c]);
    rw_mem_free(one->row);
    one->row = NULL;
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
        .n_docs = pieces->dataset->n_docs, .n_columns = join->n_columns, .column = join->column};
    RW_TRY(RW_NEW(pieces->ctx, out->feature, join->n_columns));
    for (; out->n_features < join->n_columns; out->n_features++)
        out->feature[out->n_features] = join->column[out->n_features].feature;
    return rw_bins_gather(pieces->ctx, &columns, &pieces->rule, join->found, join->codes,
                          &out->bins);
}

int rw_pieces_finish(struct rw_pieces *pieces, struct rw_binned *out)
{
    struct rw_ctx *ctx = pieces->ctx;
    struct join join = {.pieces = pieces};
    int status;
    add_threads(pieces);
    RW_TRY_OUT(make_columns(&join));
    join_pieces(&join);
    status = rw_parallel(ctx, pieces->n_threads, join.n_columns, 1, end_columns, &join);
    if (status < 0) {
        rw_fail(ctx, status, "out of memory while coding %u documents", pieces->dataset->n_docs);
        goto out;
    }
    RW_TRY_OUT(end_bins(&join, out));
out:
    join_release(&join);
    return status;
}
