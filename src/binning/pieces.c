/* The boundaries that the sampled documents decide. */
#include "binning/pieces.h"

#include "base/mem.h"
#include "base/search.h"
#include "base/sort.h"
#include "binning/code_search.h"
#include "comm/comm.h"

void rw_piece_release(struct rw_piece *piece)
{
    rw_mem_free_large(piece->block, piece->block_bytes);
    piece->block = NULL;
    piece->block_bytes = 0;
    piece->n_held = piece->n_lists = 0;
}

int rw_piece_make_room(struct rw_piece *piece, size_t n_bytes)
{
    piece->block_bytes = rw_mem_large_room(n_bytes);
    return rw_mem_new_large(NULL, &piece->block, piece->block_bytes, piece->block_bytes == n_bytes);
}

static void scratch_release(struct rw_piece_scratch *s)
{
    void *const owned[] = {s->next,         s->feature,       s->begin,    s->value,  s->row,
                           s->line,         s->all_values,    s->held,     s->list,   s->interval,
                           s->new_interval, s->held_interval, s->held_row, s->listed, s->search,
                           s->most,         s->packed,        s->part};
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

/* Sampled documents before `doc`. */
static uint32_t sampled_under(const struct rw_cut_sample *sample, uint32_t doc)
{
    return sample->row ? rw_numbers_under(sample->row, sample->n, doc) : doc;
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
        piece->first_sampled = sampled_under(sample, first_doc[p]);
        piece->n_sampled = sampled_under(sample, first_doc[p + 1]) - piece->first_sampled;
        pieces->most_docs = piece->n_docs > pieces->most_docs ? piece->n_docs : pieces->most_docs;
    }
    RW_TRY(RW_NEW(ctx, pieces->scratch, (size_t)pieces->n_threads));
    for (int i = 0; i < pieces->n_threads; i++) {
        RW_TRY(RW_NEW_RAW(ctx, pieces->scratch[i].next, RW_FEATURE_IDS));
        RW_TRY(RW_NEW_RAW(ctx, pieces->scratch[i].line, pieces->most_docs));
        RW_TRY(RW_NEW_RAW(ctx, pieces->scratch[i].packed, (size_t)pieces->most_docs + RW_PACK_PAD));
    }
    RW_TRY(RW_NEW(ctx, pieces->full, RW_FEATURE_IDS));
    return RW_NEW(ctx, pieces->feature, RW_FEATURE_IDS);
}

/* ---- boundaries ---- */

static int gather_held(struct rw_all_held *all)
{
    const struct rw_pieces *pieces = all->pieces;
    uint32_t n = 0;
    RW_TRY(RW_NEW(pieces->ctx, all->end, RW_FEATURE_IDS));
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_piece *piece = &pieces->piece[p];
        for (uint32_t c = 0; c < piece->n_held; c++) {
            const struct rw_held *held = &piece->held[c];
            struct rw_piece_feature *feature = &pieces->feature[held->feature];
            all->end[held->feature]++;
            feature->n_present += held->n_present;
            feature->n_other += pieces->rule.absent_missing ? held->n_present : held->n;
        }
    }
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t of_feature = all->end[f];
        all->end[f] = n;
        n += of_feature;
    }
    RW_TRY(RW_NEW_RAW(pieces->ctx, all->at, n));
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_piece *piece = &pieces->piece[p];
        for (uint32_t c = 0; c < piece->n_held; c++)
            all->at[all->end[piece->held[c].feature]++] = (struct rw_held_at){p, c};
    }
    return RW_OK;
}

/* A feature's values, part by part; `room` has those that are not written down as floats. */
static int gather_parts(const struct rw_all_held *all, uint32_t begin, uint32_t n, float *room,
                        struct rw_piece_scratch *s)
{
    RW_TRY(RW_GROW(NULL, s->part, s->part_room, n));
    for (uint32_t k = 0; k < n; k++) {
        if (all->other) {
            s->part[k] = all->other[begin + k];
            continue;
        }
        const struct rw_held_at *at = &all->at[begin + k];
        const struct rw_piece *piece = &all->pieces->piece[at->piece];
        const struct rw_held *held = &piece->held[at->held];
        float *value = (float *)rw_held_values(piece, held, room);
        s->part[k] =
            (struct rw_cut_part){.column = {.feature = held->feature, .n = held->n, .value = value},
                                 .n_zeros = rw_held_zeros(piece, held)};
        room += value == room ? held->n : 0;
    }
    return RW_OK;
}

static int find_some(void *user, struct rw_share *share)
{
    const struct rw_all_held *all = user;
    const struct rw_pieces *pieces = all->pieces;
    const struct rw_cut_sample sample = {.n = pieces->sample->n_all};
    struct rw_cut_intervals intervals;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        struct rw_piece_feature *feature = &pieces->feature[f];
        struct rw_piece_scratch *s = &pieces->scratch[share->thread];
        const uint32_t begin = rw_all_held_begin(all, (uint32_t)f), n = all->end[f] - begin;
        if (n == 0)
            continue;
        RW_TRY(gather_parts(all, begin, n, (float *)s->rank.picked, s));
        rw_cut_bounds(pieces->isa, s->part, n, &sample, &pieces->rule, &s->rank, &intervals);
        RW_TRY(RW_NEW_RAW(NULL, feature->bound, intervals.n_bounds));
        feature->n_bounds = intervals.n_bounds;
        memcpy(feature->bound, intervals.bound, feature->n_bounds * sizeof(*feature->bound));
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

/* Boundaries of the features of `all`, whose values are those of the whole sample. */
static int find_bounds(struct rw_all_held *all)
{
    struct rw_pieces *pieces = all->pieces;
    struct rw_ctx *ctx = pieces->ctx;
    /* each needs room for the whole sample of a feature, while all held values are in memory */
    enum { MOST_THREADS = 4 };
    const int n_threads = pieces->n_threads < MOST_THREADS ? pieces->n_threads : MOST_THREADS;
    for (int t = 0; t < n_threads; t++)
        RW_TRY(rw_rank_scratch_init(ctx, &pieces->scratch[t].rank, pieces->sample));
    const int status = rw_parallel_long(ctx, n_threads, RW_FEATURE_IDS, 1, find_some, all);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while finding cuts");
    for (int t = 0; t < n_threads; t++) {
        rw_rank_scratch_release(&pieces->scratch[t].rank);
        memset(&pieces->scratch[t].rank, 0, sizeof(pieces->scratch[t].rank));
    }
    return RW_OK;
}

/* One rank finds them all; of several each finds those of some features, from what all hold. */
static int find_all_bounds(struct rw_all_held *own)
{
    struct rw_ctx *ctx = own->pieces->ctx;
    if (rw_n_ranks(ctx) == 1)
        return find_bounds(own);
    for (uint32_t group = 0; group < RW_HELD_GROUPS; group++) {
        struct rw_all_held all = {.pieces = own->pieces};
        int status = rw_pieces_exchange_held(own, group, &all);
        if (status >= 0)
            status = rw_comm_agree(ctx, all.end ? find_bounds(&all) : RW_OK);
        rw_all_held_release(&all);
        RW_TRY(status);
    }
    return rw_pieces_share_bounds(own->pieces);
}

int rw_pieces_find_bounds(struct rw_pieces *pieces)
{
    struct rw_all_held own = {.pieces = pieces};
    int status = rw_comm_agree(pieces->ctx, gather_held(&own));
    if (status >= 0)
        status = find_all_bounds(&own);
    if (status >= 0)
        status = plan_features(pieces);
    if (status >= 0)
        status = make_scratch(pieces);
    rw_all_held_release(&own);
    return rw_comm_agree(pieces->ctx, status);
}
