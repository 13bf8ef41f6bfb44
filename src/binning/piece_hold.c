/* The values of sampled documents, held until boundaries are found. */

#include "base/mem.h"
#include "base/sort.h"
#include "binning/code_search.h"
#include "binning/pieces.h"

enum {
    TILE = 64
}; /* documents of a run that are sorted together: their lines fit the first cache */

void rw_piece_release(struct rw_piece *piece)
{
    rw_mem_free_large(piece->block, piece->block_bytes);
    piece->block = NULL;
    piece->block_bytes = 0;
    piece->n_columns = piece->n_held = 0;
}

int rw_piece_make_room(struct rw_piece *piece, size_t n_bytes)
{
    piece->block_bytes = rw_mem_large_room(n_bytes);
    return rw_mem_new_large(NULL, &piece->block, piece->block_bytes, piece->block_bytes == n_bytes);
}

static void scratch_release(struct rw_piece_scratch *s)
{
    void *const owned[] = {s->next,     s->feature,    s->begin,  s->value,  s->row,
                           s->line,     s->held_code,  s->code,   s->column, s->place,
                           s->held_row, s->all_values, s->listed, s->search, s->most};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
    rw_rank_scratch_release(&s->rank);
}

int rw_pieces_init(struct rw_ctx *ctx, struct rw_pieces *pieces, const struct rw_dataset *dataset,
                   const struct rw_cut_rule *rule, const uint32_t *piece_docs, uint32_t n_pieces)
{
    *pieces = (struct rw_pieces){.ctx = ctx,
                                 .isa = rw_isa(),
                                 .n_threads = ctx->n_threads,
                                 .rule = *rule,
                                 .dataset = dataset,
                                 .n_pieces = n_pieces};
    pieces->rule.ignore = NULL;
    RW_TRY(rw_cut_sample_init(ctx, &pieces->sample, dataset));
    RW_TRY(RW_NEW(ctx, pieces->piece, n_pieces));
    for (uint32_t p = 0, doc = 0; p < n_pieces; p++) {
        pieces->piece[p].first_doc = doc;
        pieces->piece[p].n_docs = piece_docs[p];
        doc += piece_docs[p];
        pieces->most_docs = piece_docs[p] > pieces->most_docs ? piece_docs[p] : pieces->most_docs;
    }
    RW_TRY(RW_NEW(ctx, pieces->scratch, (size_t)pieces->n_threads));
    for (int t = 0; t < pieces->n_threads; t++) {
        RW_TRY(RW_NEW_RAW(ctx, pieces->scratch[t].next, RW_FEATURE_IDS));
        RW_TRY(RW_NEW_RAW(ctx, pieces->scratch[t].line, pieces->most_docs));
    }
    RW_TRY(RW_NEW(ctx, pieces->full, RW_FEATURE_IDS));
    return RW_NEW(ctx, pieces->feature, RW_FEATURE_IDS);
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
        rw_mem_free(pieces->feature[f].place);
        rw_mem_free(pieces->feature[f].row);
    }
    rw_mem_free(pieces->feature);
    rw_mem_free(pieces->full);
    rw_cut_sample_release(&pieces->sample);
}

int rw_pieces_are_even(const struct rw_pieces *pieces)
{
    const struct rw_piece *first = NULL;
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_piece *piece = &pieces->piece[p];
        if (piece->n_held == 0)
            continue;
        first = first ? first : piece;
        int is_same = piece->n_columns == first->n_columns;
        for (uint32_t c = 0; is_same && c < piece->n_columns; c++)
            is_same = piece->column[c].feature == first->column[c].feature;
        if (!is_same)
            return 0;
    }
    return 1;
}

/* ---- lines to features ---- */

static void sort_run(const struct rw_piece_scratch *s, const uint16_t *feature,
                     const float *restrict from, size_t n, uint32_t n_docs)
{
    for (size_t k = 0; k < n; k++) {
        float *restrict to = s->value + s->next[feature[k]];
        s->next[feature[k]] += n_docs;
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&to[i], &from[i * n + k], sizeof(float));
    }
}

/* Documents doc .. doc + n_docs - 1 have these features: their rows, behind those so far. */
static void sort_rows(const struct rw_piece_scratch *s, const uint16_t *feature, size_t n,
                      uint32_t doc, uint32_t n_docs, const uint32_t *row)
{
    for (size_t k = 0; k < n; k++) {
        uint32_t *to = s->row + s->next[feature[k]] - n_docs;
        for (uint32_t i = 0; i < n_docs; i++)
            to[i] = row ? row[doc + i] : doc + i;
    }
}

/* Where each feature's entries go; s->next: how many it has, then the first of them. */
static int make_places(struct rw_piece_scratch *s, uint32_t n_ids)
{
    uint32_t at = 0;
    s->n_features = 0;
    for (uint32_t f = 0; f < n_ids; f++)
        s->n_features += s->next[f] > 0;
    RW_TRY(RW_GROW(NULL, s->feature, s->feature_room, s->n_features));
    RW_TRY(RW_GROW(NULL, s->begin, s->begin_room, s->n_features));
    for (uint32_t f = 0, i = 0; f < n_ids; f++) {
        const uint32_t n = s->next[f];
        if (n == 0)
            continue;
        s->feature[i] = (uint16_t)f;
        s->begin[i++] = s->next[f] = at;
        at += n;
    }
    return RW_OK;
}

int rw_piece_sort(struct rw_piece_scratch *s, const struct rw_builder *builder, const uint32_t *row)
{
    s->shares_rows = builder->n_runs <= 1;
    const uint64_t n_rows = s->shares_rows ? builder->n_docs : builder->n_entries;
    const uint32_t n_ids = rw_builder_n_ids(builder);
    memset(s->next, 0, n_ids * sizeof(*s->next));
    rw_builder_count(builder, s->next);
    RW_TRY(make_places(s, n_ids));
    RW_TRY(RW_GROW(NULL, s->value, s->value_room, builder->n_entries));
    RW_TRY(RW_GROW(NULL, s->row, s->row_room, n_rows));
    for (uint32_t i = 0; s->shares_rows && i < builder->n_docs; i++)
        s->row[i] = row ? row[i] : i;
    for (uint32_t r = 0; r < builder->n_runs; r++) {
        const struct rw_run *run = &builder->run[r];
        const uint16_t *feature = builder->entry_feature + run->feature;
        const uint32_t n_docs = run->n ? rw_builder_run_docs(builder, r) : 0;
        for (uint32_t first = 0; first < n_docs; first += TILE) {
            const uint32_t now = n_docs - first < TILE ? n_docs - first : TILE;
            sort_run(s, feature, builder->entry_value + run->value + (size_t)first * run->n, run->n,
                     now);
            if (!s->shares_rows)
                sort_rows(s, feature, run->n, run->doc + first, now, row);
        }
    }
    return RW_OK;
}

/* ---- how features are held ---- */

/* How the i-th feature of the sorted entries is held. */
static struct rw_piece_column plan_column(const struct rw_piece_scratch *s, uint32_t i,
                                          uint32_t n_docs)
{
    enum { ROW_BITS = 32 };
    const uint32_t feature = s->feature[i], begin = s->begin[i];
    const uint32_t n = s->next[feature] - begin, n_absent = n_docs - n;
    uint32_t n_zeros = 0;
    for (uint32_t k = 0; k < n; k++)
        n_zeros += rw_bits_of_float(s->value[begin + k]) == 0;
    const int is_absent = n_absent > n_zeros;
    struct rw_piece_column column = {.feature = (uint16_t)feature,
                                     .rest = is_absent ? RW_ABSENT_BITS : 0,
                                     .n = is_absent ? n : n_docs - n_zeros,
                                     .n_present = n};
    column.is_listed = is_absent && (uint64_t)n * ROW_BITS < n_docs;
    return column;
}

static void hold_column(enum rw_isa isa, struct rw_piece *piece,
                        const struct rw_piece_column *column, const struct rw_piece_scratch *s,
                        uint32_t i)
{
    const uint32_t begin = s->begin[i], n = s->next[column->feature] - begin;
    const float absent = rw_float_of_bits(RW_ABSENT_BITS), *value = s->value + begin;
    const uint32_t *row = rw_piece_rows(s, i);
    if (column->is_listed) {
        memcpy(piece->value + column->at, value, n * sizeof(*value));
        memcpy(piece->row + column->row_at, row, n * sizeof(*row));
        return;
    }
    if (n < piece->n_held) {
        for (uint32_t k = 0; k < piece->n_held; k++)
            memcpy(&s->line[k], &absent, sizeof(absent));
        for (uint32_t k = 0; k < n; k++)
            memcpy(&s->line[row[k]], &value[k], sizeof(*value));
        value = s->line;
    }
    rw_piece_pack(isa, value, piece->n_held, column->rest, piece->bits + column->row_at,
                  piece->value + column->at);
}

int rw_pieces_hold(struct rw_pieces *pieces, uint32_t p, int thread,
                   const struct rw_builder *builder)
{
    struct rw_piece_scratch *s = &pieces->scratch[thread];
    struct rw_piece *piece = &pieces->piece[p];
    uint32_t n_values = 0, n_rows = 0, n_bits = 0;
    const uint32_t n_held = builder->n_docs;
    RW_TRY(rw_piece_sort(s, builder, NULL));
    RW_TRY(RW_GROW(NULL, s->column, s->column_room, s->n_features));
    for (uint32_t i = 0; i < s->n_features; i++) {
        struct rw_piece_column *column = &s->column[i];
        *column = plan_column(s, i, n_held);
        column->at = n_values;
        column->row_at = column->is_listed ? n_rows : n_bits;
        n_values += column->n;
        n_rows += column->is_listed ? column->n : 0;
        n_bits += column->is_listed ? 0 : (n_held + 7) / 8;
    }
    const size_t columns = s->n_features * sizeof(*piece->column);
    const size_t values = ((size_t)n_values + RW_PACK_PAD) * sizeof(float);
    RW_TRY(rw_piece_make_room(piece, columns + values + n_rows * sizeof(uint32_t) + n_bits));
    piece->n_held = n_held;
    piece->n_columns = s->n_features;
    piece->column = piece->block;
    piece->value = (float *)((char *)piece->block + columns);
    piece->row = (uint32_t *)((char *)piece->value + values);
    piece->bits = (uint8_t *)(piece->row + n_rows);
    if (columns)
        memcpy(piece->column, s->column, columns);
    for (uint32_t i = 0; i < s->n_features; i++)
        hold_column(pieces->isa, piece, &piece->column[i], s, i);
    return RW_OK;
}

/* ---- boundaries ---- */

/* Chains the columns of each feature, from the first piece on. */
static void chain_held(struct rw_pieces *pieces)
{
    for (uint32_t p = pieces->n_pieces; p-- > 0;) {
        struct rw_piece *piece = &pieces->piece[p];
        for (uint32_t c = 0; c < piece->n_columns; c++) {
            struct rw_piece_column *column = &piece->column[c];
            struct rw_piece_feature *feature = &pieces->feature[column->feature];
            column->next = feature->held;
            feature->held = (struct rw_held){p + 1, c};
            feature->n_other += pieces->rule.absent_missing ? column->n_present : column->n;
        }
    }
}

static void find_bounds(const struct rw_pieces *pieces, uint32_t f, struct rw_rank_scratch *s,
                        struct rw_cut_intervals *intervals)
{
    struct rw_rank_values v = {.least = UINT32_MAX};
    const int absent_missing = pieces->rule.absent_missing;
    uint32_t n_seen = 0;
    for (struct rw_held held = pieces->feature[f].held; held.piece;) {
        const struct rw_piece *piece = &pieces->piece[held.piece - 1];
        const struct rw_piece_column *column = &piece->column[held.column];
        const struct rw_column values = {.n = column->n, .value = piece->value + column->at};
        rw_rank_add(pieces->isa, &v, &values, NULL, absent_missing, s);
        n_seen += column->n;
        if (absent_missing && column->rest == 0)
            v.n_zeros += piece->n_held - column->n;
        held = column->next;
    }
    if (!absent_missing)
        v.n_zeros += pieces->sample.n - n_seen;
    rw_rank_bounds(pieces->isa, &v, &pieces->rule, s, intervals);
}

static int find_some(void *user, struct rw_share *share)
{
    struct rw_pieces *pieces = user;
    struct rw_cut_intervals intervals;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        struct rw_piece_feature *feature = &pieces->feature[f];
        if (!feature->held.piece)
            continue;
        find_bounds(pieces, (uint32_t)f, &pieces->scratch[share->thread].rank, &intervals);
        RW_TRY(RW_NEW_RAW(NULL, feature->bound, intervals.n_bounds));
        feature->n_bounds = intervals.n_bounds;
        memcpy(feature->bound, intervals.bound, feature->n_bounds * sizeof(*feature->bound));
    }
    return RW_OK;
}

/* What follows from boundaries. A feature gets a full column if, by the sample, a list of the
 * documents whose place is not that of an absent value would take more memory. */
static int end_bounds(struct rw_pieces *pieces)
{
    const uint32_t zero = rw_key_of_float(0.0f);
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        struct rw_piece_feature *feature = &pieces->feature[f];
        const uint32_t n = feature->n_bounds;
        while (feature->absent < n && feature->bound[feature->absent] <= zero)
            feature->absent++;
        if (pieces->rule.absent_missing)
            feature->absent = (uint16_t)(n + 1);
        feature->room = n + 2 > 256 ? 2 : 1;
        feature->most_at = pieces->n_most;
        pieces->n_most += n + 1;
        if (!feature->n_other || feature->n_other < pieces->sample.n / RW_SPARSE_SHARE)
            continue;
        pieces->full[pieces->n_full++] = f;
        RW_TRY(
            rw_mem_new_raw(pieces->ctx, &feature->place, pieces->dataset->n_docs, feature->room));
    }
    return RW_OK;
}

static int begin_places(struct rw_pieces *pieces)
{
    for (int t = 0; t < pieces->n_threads; t++) {
        struct rw_piece_scratch *s = &pieces->scratch[t];
        rw_rank_scratch_release(&s->rank);
        memset(&s->rank, 0, sizeof(s->rank));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->search, 1));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->all_values, pieces->most_docs));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->code, pieces->most_docs));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->held_code, pieces->most_docs));
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
    chain_held(pieces);
    for (int t = 0; t < n_threads; t++)
        RW_TRY(rw_rank_scratch_init(ctx, &pieces->scratch[t].rank, &pieces->sample));
    const int status = rw_parallel(ctx, n_threads, RW_FEATURE_IDS, 1, find_some, pieces);
    if (status < 0)
        return rw_fail(ctx, status, "out of memory while finding cuts");
    RW_TRY(end_bounds(pieces));
    return begin_places(pieces);
}
