/* The boundaries that the sampled documents decide. */
#include "binning/pieces.h"

#include "base/mem.h"
#include "base/search.h"
#include "base/sort.h"
#include "binning/code_search.h"

void rw_piece_release(struct rw_piece *piece)
{
    rw_mem_free_large(piece->block, piece->block_bytes);
    piece->block = NULL;
    piece->block_bytes = 0;
    piece->n_lists = 0;
    rw_dataset_free(piece->sampled);
    piece->sampled = NULL;
}

static void scratch_release(struct rw_piece_scratch *s)
{
    void *const owned[] = {s->next,         s->feature,       s->begin,    s->value,
                           s->row,          s->all_values,    s->list,     s->interval,
                           s->new_interval, s->held_interval, s->held_row, s->listed,
                           s->search,       s->most};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
    rw_rank_scratch_release(&s->rank);
}

void rw_pieces_release(struct rw_pieces *pieces)
{
    for (uint32_t p = 0; pieces->piece && p < pieces->n_pieces; p++)
        rw_piece_release(&pieces->piece[p]);
    for (int t = 0; pieces->scratch && t < pieces->n_threads; t++)
        scratch_release(&pieces->scratch[t]);
    rw_mem_free(pieces->piece);
    rw_mem_free(pieces->scratch);
    for (uint32_t f = 0; pieces->feature && f < RW_FEATURE_IDS; f++) {
        rw_mem_free(pieces->feature[f].bound);
        rw_mem_free(pieces->feature[f].interval);
        rw_mem_free(pieces->feature[f].row);
    }
    rw_mem_free(pieces->feature);
    rw_mem_free(pieces->full);
}

int rw_pieces_init(struct rw_ctx *ctx, struct rw_pieces *pieces, const struct rw_cut_sample *sample,
                   const struct rw_cut_rule *rule, const uint32_t *first_doc, uint32_t n_pieces)
{
    *pieces = (struct rw_pieces){.ctx = ctx,
                                 .n_docs = first_doc[n_pieces],
                                 .rule = *rule,
                                 .sample = sample,
                                 .isa = rw_isa(),
                                 .n_threads = ctx->n_threads,
                                 .n_pieces = n_pieces};
    pieces->rule.ignore = NULL;
    RW_TRY(RW_NEW(ctx, pieces->piece, n_pieces));
    for (uint32_t p = 0; p < n_pieces; p++) {
        struct rw_piece *piece = &pieces->piece[p];
        piece->first_doc = first_doc[p];
        piece->n_docs = first_doc[p + 1] - first_doc[p];
        piece->first_sampled = rw_numbers_under(sample->row, sample->n, first_doc[p]);
        pieces->most_docs = piece->n_docs > pieces->most_docs ? piece->n_docs : pieces->most_docs;
    }
    RW_TRY(RW_NEW(ctx, pieces->scratch, (size_t)pieces->n_threads));
    RW_TRY(RW_NEW(ctx, pieces->full, RW_FEATURE_IDS));
    return RW_NEW(ctx, pieces->feature, RW_FEATURE_IDS);
}

int rw_pieces_hold(struct rw_pieces *pieces, uint32_t p, struct rw_builder *builder)
{
    return rw_builder_make(NULL, builder, &pieces->piece[p].sampled);
}

/* ---- boundaries ---- */

/* The columns of all pieces' sampled documents by feature. */
struct held {
    struct rw_pieces *pieces;
    const struct rw_column **column; /* owned */
    uint32_t *end;                   /* [RW_FEATURE_IDS] behind each feature's; owned */
};

static int make_held(struct held *held)
{
    const struct rw_pieces *pieces = held->pieces;
    uint32_t n = 0;
    RW_TRY(RW_NEW(pieces->ctx, held->end, RW_FEATURE_IDS));
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_dataset *sampled = pieces->piece[p].sampled;
        for (uint32_t c = 0; c < sampled->n_columns; c++)
            held->end[sampled->column[c].feature]++;
    }
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t of_feature = held->end[f];
        held->end[f] = n;
        n += of_feature;
    }
    RW_TRY(RW_NEW_RAW(pieces->ctx, held->column, n));
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_dataset *sampled = pieces->piece[p].sampled;
        for (uint32_t c = 0; c < sampled->n_columns; c++)
            held->column[held->end[sampled->column[c].feature]++] = &sampled->column[c];
    }
    return RW_OK;
}

/* Counts the held documents that have the feature, and those with another value than an absent one
 * stands for. */
static void count_held(const struct held *held, uint32_t f, uint32_t begin)
{
    const struct rw_pieces *pieces = held->pieces;
    struct rw_piece_feature *feature = &pieces->feature[f];
    for (uint32_t k = begin; k < held->end[f]; k++) {
        const struct rw_column *column = held->column[k];
        uint32_t n_absent = 0, n_zeros = 0;
        for (uint32_t i = 0; i < column->n; i++) {
            n_absent += rw_is_absent(column->value[i]);
            n_zeros += rw_bits_of_float(column->value[i]) == 0;
        }
        feature->n_present += column->n - n_absent;
        feature->n_other += column->n - n_absent - (pieces->rule.absent_missing ? 0 : n_zeros);
    }
}

static int find_some(void *user, struct rw_share *share)
{
    const struct held *held = user;
    const struct rw_pieces *pieces = held->pieces;
    const struct rw_cut_sample all = {.n = pieces->sample->n};
    struct rw_cut_intervals intervals;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        struct rw_piece_feature *feature = &pieces->feature[f];
        const uint32_t begin = f ? held->end[f - 1] : 0, n = held->end[f] - begin;
        if (n == 0)
            continue;
        rw_cut_bounds(pieces->isa, held->column + begin, n, &all, &pieces->rule,
                      &pieces->scratch[share->thread].rank, &intervals);
        RW_TRY(RW_NEW_RAW(NULL, feature->bound, intervals.n_bounds));
        feature->n_bounds = intervals.n_bounds;
        memcpy(feature->bound, intervals.bound, feature->n_bounds * sizeof(*feature->bound));
        count_held(held, (uint32_t)f, begin);
    }
    return RW_OK;
}

/* What follows from boundaries. A feature gets a full column if, by the sample, a list of the
 * documents whose interval is not that of an absent value would take more memory. */
static int plan_features(struct rw_pieces *pieces)
{
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        struct rw_piece_feature *feature = &pieces->feature[f];
        const uint32_t n = feature->n_bounds;
        while (feature->absent < n && feature->bound[feature->absent] <= RW_KEY_OF_ZERO)
            feature->absent++;
        if (pieces->rule.absent_missing)
            feature->absent = (uint16_t)(n + 1);
        feature->width = n + 2 > 256 ? 2 : 1;
        feature->most_at = pieces->n_most;
        pieces->n_most += n + 1;
        if (!feature->n_other || feature->n_other < pieces->sample->n / RW_SPARSE_SHARE)
            continue;
        pieces->full[pieces->n_full++] = f;
        RW_TRY(rw_mem_new_raw(pieces->ctx, &feature->interval, pieces->n_docs, feature->width));
    }
    return RW_OK;
}

static int make_scratch(struct rw_pieces *pieces)
{
    for (int t = 0; t < pieces->n_threads; t++) {
        struct rw_piece_scratch *s = &pieces->scratch[t];
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->next, RW_FEATURE_IDS));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->search, 1));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->all_values, pieces->most_docs));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->new_interval, pieces->most_docs));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->held_interval, pieces->most_docs));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->held_row, pieces->most_docs));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->most, pieces->n_most));
        for (uint64_t k = 0; k < pieces->n_most; k++)
            s->most[k] = INT32_MIN;
    }
    return RW_OK;
}

int rw_pieces_find_bounds(struct rw_pieces *pieces)
{
    struct rw_ctx *ctx = pieces->ctx;
    /* each needs room for the whole sample of a feature, while all held values are in memory */
    enum { MOST_THREADS = 4 };
    const int n_threads = pieces->n_threads < MOST_THREADS ? pieces->n_threads : MOST_THREADS;
    struct held held = {.pieces = pieces};
    int status;
    RW_TRY_OUT(make_held(&held));
    for (int t = 0; t < n_threads; t++)
        RW_TRY_OUT(rw_rank_scratch_init(ctx, &pieces->scratch[t].rank, pieces->sample));
    status = rw_parallel(ctx, n_threads, RW_FEATURE_IDS, 1, find_some, &held);
    if (status < 0) {
        rw_fail(ctx, status, "out of memory while finding cuts");
        goto out;
    }
    for (int t = 0; t < n_threads; t++) {
        rw_rank_scratch_release(&pieces->scratch[t].rank);
        memset(&pieces->scratch[t].rank, 0, sizeof(pieces->scratch[t].rank));
    }
    RW_TRY_OUT(plan_features(pieces));
    status = make_scratch(pieces);
out:
    rw_mem_free(held.column);
    rw_mem_free(held.end);
    return status;
}
