/* Lines to features, and the values of sampled documents, held until boundaries are found. */
#include "base/mem.h"
#include "binning/pieces.h"

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
static int make_begins(struct rw_piece_scratch *s, uint32_t n_ids)
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
    enum { TILE = 64 }; /* documents that are sorted together: their lines fit the first cache */
    const uint32_t n_ids = rw_builder_n_ids(builder);
    s->shares_rows = builder->n_runs <= 1;
    memset(s->next, 0, n_ids * sizeof(*s->next));
    rw_builder_count(builder, s->next);
    RW_TRY(make_begins(s, n_ids));
    RW_TRY(RW_GROW(NULL, s->value, s->value_room, builder->n_entries));
    RW_TRY(
        RW_GROW(NULL, s->row, s->row_room, s->shares_rows ? builder->n_docs : builder->n_entries));
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

int rw_pieces_stage(struct rw_pieces *pieces, int thread, const uint32_t *feature,
                    uint32_t n_features, uint32_t n_docs)
{
    struct rw_piece_scratch *s = &pieces->scratch[thread];
    s->shares_rows = 1;
    s->n_features = n_docs ? n_features : 0;
    RW_TRY(RW_GROW(NULL, s->feature, s->feature_room, n_features));
    RW_TRY(RW_GROW(NULL, s->begin, s->begin_room, n_features));
    RW_TRY(RW_GROW(NULL, s->value, s->value_room, (size_t)n_features * n_docs));
    RW_TRY(RW_GROW(NULL, s->row, s->row_room, n_docs));
    for (uint32_t i = 0; i < s->n_features; i++) {
        s->feature[i] = (uint16_t)feature[i];
        s->begin[i] = i * n_docs;
        s->next[feature[i]] = s->begin[i] + n_docs;
    }
    return RW_OK;
}

/* ---- held values ---- */

/* How the i-th feature of the sorted entries is held; its arrays are to come. */
static struct rw_held plan_held(const struct rw_piece_scratch *s, uint32_t i, uint32_t n_docs)
{
    enum { ROW_BITS = 32 };
    const float *value = s->value + s->begin[i];
    const uint32_t feature = s->feature[i], n = s->next[feature] - s->begin[i];
    uint32_t n_zeros = 0;
    for (uint32_t k = 0; k < n; k++)
        n_zeros += rw_bits_of_float(value[k]) == 0;
    struct rw_held held = {
        .part.column = {.feature = feature, .n = n}, .rest = RW_ABSENT_BITS, .n_present = n};
    if (n_zeros >= n_docs - n) {
        held.rest = 0;
        held.part.column.n = n_docs - n_zeros;
        held.part.n_zeros = n_zeros;
    } else {
        held.has_rows = (uint64_t)n * ROW_BITS < n_docs;
    }
    return held;
}

/* The arrays of the i-th feature, from *value, *row and *bits on. */
static void hold_column(enum rw_isa isa, const struct rw_piece_scratch *s, uint32_t i,
                        uint32_t n_docs, struct rw_held *held, float **value, uint32_t **row,
                        uint8_t **bits)
{
    const float absent = rw_float_of_bits(RW_ABSENT_BITS), *from = s->value + s->begin[i];
    const uint32_t *from_row = rw_piece_rows(s, i), n = held->n_present;
    struct rw_column *column = &held->part.column;
    column->value = *value;
    *value += column->n;
    if (held->has_rows) {
        column->row = *row;
        *row += n;
        memcpy(column->value, from, n * sizeof(*from));
        memcpy(column->row, from_row, n * sizeof(*from_row));
        return;
    }
    held->bits = *bits;
    *bits += (n_docs + 7) / 8;
    if (n < n_docs) {
        for (uint32_t k = 0; k < n_docs; k++)
            memcpy(&s->line[k], &absent, sizeof(absent));
        for (uint32_t k = 0; k < n; k++)
            memcpy(&s->line[from_row[k]], &from[k], sizeof(*from));
        from = s->line;
    }
    rw_piece_pack(isa, from, n_docs, held->rest, held->bits, column->value);
}

int rw_pieces_hold(struct rw_pieces *pieces, uint32_t p, int thread,
                   const struct rw_builder *builder)
{
    struct rw_piece_scratch *s = &pieces->scratch[thread];
    struct rw_piece *piece = &pieces->piece[p];
    const uint32_t n_docs = builder ? builder->n_docs : piece->n_sampled;
    size_t n_values = RW_PACK_PAD, n_rows = 0, n_bits = 0;
    if (builder)
        RW_TRY(rw_piece_sort(s, builder, NULL));
    RW_TRY(RW_GROW(NULL, s->held, s->held_room, s->n_features));
    for (uint32_t i = 0; i < s->n_features; i++) {
        s->held[i] = plan_held(s, i, n_docs);
        n_values += s->held[i].part.column.n;
        n_rows += s->held[i].has_rows ? s->held[i].n_present : 0;
        n_bits += s->held[i].has_rows ? 0 : (n_docs + 7) / 8;
    }
    const size_t columns = s->n_features * sizeof(*piece->held);
    RW_TRY(rw_piece_make_room(piece, columns + n_values * sizeof(float) +
                                         n_rows * sizeof(uint32_t) + n_bits));
    piece->n_held = s->n_features;
    piece->held = piece->block;
    float *value = (float *)(void *)((char *)piece->block + columns);
    uint32_t *row = (uint32_t *)(value + n_values);
    uint8_t *bits = (uint8_t *)(row + n_rows);
    if (columns)
        memcpy(piece->held, s->held, columns);
    for (uint32_t i = 0; i < s->n_features; i++)
        hold_column(pieces->isa, s, i, n_docs, &piece->held[i], &value, &row, &bits);
    return RW_OK;
}
