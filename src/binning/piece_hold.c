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
    }
    RW_TRY(RW_NEW(ctx, pieces->scratch, (size_t)pieces->n_threads));
    for (int t = 0; t < pieces->n_threads; t++)
        RW_TRY(RW_NEW_RAW(ctx, pieces->scratch[t].next, RW_FEATURE_IDS));
    RW_TRY(RW_NEW(ctx, pieces->bound_at, RW_FEATURE_IDS + 1));
    RW_TRY(RW_NEW(ctx, pieces->room, RW_FEATURE_IDS));
    return RW_NEW(ctx, pieces->absent, RW_FEATURE_IDS);
}

void rw_pieces_release(struct rw_pieces *pieces)
{
    for (uint32_t p = 0; pieces->piece && p < pieces->n_pieces; p++)
        rw_piece_release(&pieces->piece[p]);
    for (int t = 0; pieces->scratch && t < pieces->n_threads; t++)
        scratch_release(&pieces->scratch[t]);
    rw_mem_free(pieces->piece);
    rw_mem_free(pieces->scratch);
    rw_mem_free(pieces->bound);
    rw_mem_free(pieces->bound_at);
    rw_mem_free(pieces->room);
    rw_mem_free(pieces->absent);
    for (uint32_t f = 0; pieces->place && f < RW_FEATURE_IDS; f++)
        rw_mem_free(pieces->place[f]);
    rw_mem_free(pieces->place);
    rw_mem_free(pieces->full);
    rw_mem_free(pieces->n_present);
    rw_mem_free(pieces->n_listed);
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
    RW_TRY(RW_GROW(NULL, s->line, s->line_room, n_held));
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

/* Where each feature is held: columns of pieces, by feature. */
struct where {
    uint64_t *at; /* [RW_FEATURE_IDS + 1] */
    struct {
        uint32_t piece, column;
    } * held;
};

static int find_where(const struct rw_pieces *pieces, struct where *where)
{
    RW_TRY(RW_NEW(pieces->ctx, where->at, RW_FEATURE_IDS + 2));
    uint64_t *next = where->at + 1; /* where the next goes: the first, when all are in */
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_piece *piece = &pieces->piece[p];
        for (uint32_t c = 0; c < piece->n_columns; c++)
            next[piece->column[c].feature + 1]++;
    }
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        next[f + 1] += next[f];
    RW_TRY(rw_mem_new_raw(pieces->ctx, (void **)&where->held, next[RW_FEATURE_IDS],
                          sizeof(*where->held)));
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_piece *piece = &pieces->piece[p];
        for (uint32_t c = 0; c < piece->n_columns; c++) {
            const uint64_t to = next[piece->column[c].feature]++;
            where->held[to].piece = p;
            where->held[to].column = c;
        }
    }
    return RW_OK;
}

/* bound: [RW_MAX_BOUNDS]; returns the number of boundaries. */
static uint32_t find_bounds(const struct rw_pieces *pieces, const struct where *where, uint32_t f,
                            struct rw_rank_scratch *s, uint32_t *bound)
{
    struct rw_rank_values v = {.least = UINT32_MAX};
    const int absent_missing = pieces->rule.absent_missing;
    uint32_t n_seen = 0;
    for (uint64_t i = where->at[f]; i < where->at[f + 1]; i++) {
        const struct rw_piece *piece = &pieces->piece[where->held[i].piece];
        const struct rw_piece_column *column = &piece->column[where->held[i].column];
        rw_rank_add(pieces->isa, &v, piece->value + column->at, column->n, absent_missing, s);
        n_seen += column->n;
        if (absent_missing && column->rest == 0)
            v.n_zeros += piece->n_held - column->n;
    }
    if (!absent_missing)
        v.n_zeros += pieces->sample.n - n_seen;
    return rw_rank_bounds(pieces->isa, &v, &pieces->rule, s, bound);
}

/* What follows from a feature's boundaries. */
static void end_bounds(struct rw_pieces *pieces)
{
    const uint32_t zero = rw_key_of_float(0.0f);
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t *bound = pieces->bound + pieces->bound_at[f];
        const uint32_t n = rw_pieces_n_bounds(pieces, f);
        uint32_t place = 0;
        while (place < n && bound[place] <= zero)
            place++;
        pieces->room[f] = n + 2 > 256 ? 2 : 1;
        pieces->absent[f] = (uint16_t)(pieces->rule.absent_missing ? n + 1 : place);
    }
}

/* Columns for features of which more documents than a list pays for have another place than that
 * of an absent value, by the sample. */
static int make_full(struct rw_pieces *pieces)
{
    uint32_t *others = pieces->n_listed; /* of the sample; it is for this first */
    for (uint32_t p = 0; p < pieces->n_pieces; p++) {
        const struct rw_piece *piece = &pieces->piece[p];
        for (uint32_t c = 0; c < piece->n_columns; c++)
            others[piece->column[c].feature] +=
                pieces->rule.absent_missing ? piece->column[c].n_present : piece->column[c].n;
    }
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (others[f] && others[f] >= pieces->sample.n / RW_SPARSE_SHARE) {
            pieces->full[pieces->n_full++] = f;
            RW_TRY(rw_mem_new_raw(pieces->ctx, &pieces->place[f], pieces->dataset->n_docs,
                                  pieces->room[f]));
        }
        others[f] = 0;
    }
    return RW_OK;
}

static int begin_places(struct rw_pieces *pieces)
{
    const uint64_t n_most = pieces->bound_at[RW_FEATURE_IDS] + RW_FEATURE_IDS;
    RW_TRY(RW_NEW(pieces->ctx, pieces->n_present, RW_FEATURE_IDS));
    RW_TRY(RW_NEW(pieces->ctx, pieces->n_listed, RW_FEATURE_IDS));
    RW_TRY(RW_NEW(pieces->ctx, pieces->place, RW_FEATURE_IDS));
    RW_TRY(RW_NEW(pieces->ctx, pieces->full, RW_FEATURE_IDS));
    RW_TRY(make_full(pieces));
    for (int t = 0; t < pieces->n_threads; t++) {
        struct rw_piece_scratch *s = &pieces->scratch[t];
        rw_rank_scratch_release(&s->rank);
        memset(&s->rank, 0, sizeof(s->rank));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->search, 1));
        RW_TRY(RW_NEW_RAW(pieces->ctx, s->most, n_most));
        for (uint64_t k = 0; k < n_most; k++)
            s->most[k] = INT32_MIN;
    }
    return RW_OK;
}

struct bounds_job {
    struct rw_pieces *pieces;
    const struct where *where;
    uint32_t **found; /* [RW_FEATURE_IDS] each with its number first */
};

static int find_some(void *user, struct rw_share *share)
{
    const struct bounds_job *job = user;
    struct rw_rank_scratch *s = &job->pieces->scratch[share->thread].rank;
    uint32_t bound[RW_MAX_BOUNDS + 1];
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        if (job->where->at[f] == job->where->at[f + 1])
            continue;
        const uint32_t n = find_bounds(job->pieces, job->where, (uint32_t)f, s, bound);
        RW_TRY(RW_NEW_RAW(NULL, job->found[f], (size_t)n + 1));
        job->found[f][0] = n;
        memcpy(job->found[f] + 1, bound, n * sizeof(*bound));
    }
    return RW_OK;
}

int rw_pieces_find_bounds(struct rw_pieces *pieces)
{
    struct rw_ctx *ctx = pieces->ctx;
    struct where where = {0};
    uint32_t **found = NULL; /* [RW_FEATURE_IDS] */
    int status;
    /* each needs room for the whole sample of a feature, while all held values are in memory */
    enum { MOST_THREADS = 4 };
    const int n_threads = pieces->n_threads < MOST_THREADS ? pieces->n_threads : MOST_THREADS;
    RW_TRY_OUT(find_where(pieces, &where));
    RW_TRY_OUT(RW_NEW(ctx, found, RW_FEATURE_IDS));
    for (int t = 0; t < n_threads; t++)
        RW_TRY_OUT(rw_rank_scratch_init(ctx, &pieces->scratch[t].rank, &pieces->sample));
    struct bounds_job job = {pieces, &where, found};
    status = rw_parallel(ctx, n_threads, RW_FEATURE_IDS, 1, find_some, &job);
    if (status < 0) {
        rw_fail(ctx, status, "out of memory while finding cuts");
        goto out;
    }
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        pieces->bound_at[f + 1] = pieces->bound_at[f] + (found[f] ? found[f][0] : 0);
    RW_TRY_OUT(RW_NEW_RAW(ctx, pieces->bound, pieces->bound_at[RW_FEATURE_IDS]));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (found[f] && found[f][0])
            memcpy(pieces->bound + pieces->bound_at[f], found[f] + 1,
                   found[f][0] * sizeof(**found));
    }
    end_bounds(pieces);
    RW_TRY_OUT(begin_places(pieces));
out:
    for (uint32_t f = 0; found && f < RW_FEATURE_IDS; f++)
        rw_mem_free(found[f]);
    rw_mem_free(found);
    rw_mem_free(where.at);
    rw_mem_free(where.held);
    return status;
}
