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

/* Bytes of a value: 1 or 2 if all are whole numbers that these hold. */
static uint8_t width_of(const float *value, uint32_t n)
{
    enum { TOGETHER = 64 };
    uint32_t most = 0;
    for (uint32_t first = 0; first < n; first += TOGETHER) {
        const uint32_t end = n - first < TOGETHER ? n : first + TOGETHER;
        uint32_t differ = 0;
        for (uint32_t k = first; k < end; k++) {
            const float above = value[k] > 0 ? value[k] : 0; /* of what is no number, too */
            const uint32_t whole = (uint32_t)(int32_t)(above < 65535 ? above : 65535);
            differ |= rw_bits_of_float((float)whole) ^ rw_bits_of_float(value[k]);
            most = whole > most ? whole : most;
        }
        if (differ)
            return sizeof(float);
    }
    return most < 256 ? 1 : 2;
}

/* How the i-th feature of the sorted entries is held; its place is to come. */
static struct rw_held plan_held(const struct rw_piece_scratch *s, uint32_t i, uint32_t n_docs)
{
    enum { ROW_BITS = 32 };
    const float *value = s->value + s->begin[i];
    const uint32_t feature = s->feature[i], n = s->next[feature] - s->begin[i];
    uint32_t n_zeros = 0;
    for (uint32_t k = 0; k < n; k++)
        n_zeros += rw_bits_of_float(value[k]) == 0;
    struct rw_held held = {.feature = (uint16_t)feature, .n = n, .n_present = n};
    held.rest_is_zero = n_zeros >= n_docs - n;
    if (held.rest_is_zero)
        held.n = n_docs - n_zeros;
    else
        held.has_rows = (uint64_t)n * ROW_BITS < n_docs;
    /* absent values beside those that are 0 are written down, and are no numbers */
    held.width = held.rest_is_zero && n < n_docs ? sizeof(float) : width_of(value, n);
    return held;
}

/* Of a column in the block, in units of 4 bytes: what says whose values these are, and they. */
static size_t whose_units(const struct rw_held *held, uint32_t n_docs)
{
    return held->has_rows ? held->n : ((size_t)n_docs + 31) / 32;
}

static size_t value_units(const struct rw_held *held)
{
    return ((size_t)held->n * held->width + 3) / 4;
}

const float *rw_held_values(const struct rw_piece *piece, const struct rw_held *held, float *room)
{
    const void *at = rw_held_rows(piece, held) + whose_units(held, piece->n_sampled);
    const uint8_t *bytes = at;
    const uint16_t *words = at;
    if (held->width == sizeof(float))
        return at;
    for (uint32_t k = 0; held->width == 1 && k < held->n; k++)
        room[k] = (float)bytes[k];
    for (uint32_t k = 0; held->width == 2 && k < held->n; k++)
        room[k] = (float)words[k];
    return room;
}

/* n values to where they stay. */
static void write_values(const float *value, uint32_t n, uint32_t width, void *to)
{
    uint8_t *bytes = to;
    uint16_t *words = to;
    if (width == sizeof(float))
        memcpy(to, value, n * sizeof(*value));
    for (uint32_t k = 0; width == 1 && k < n; k++)
        bytes[k] = (uint8_t)value[k];
    for (uint32_t k = 0; width == 2 && k < n; k++)
        words[k] = (uint16_t)value[k];
}

/* The i-th feature, to its place in the block. */
static void hold_column(enum rw_isa isa, const struct rw_piece_scratch *s, uint32_t i,
                        const struct rw_piece *piece, const struct rw_held *held)
{
    const float absent = rw_float_of_bits(RW_ABSENT_BITS), *from = s->value + s->begin[i];
    const uint32_t *from_row = rw_piece_rows(s, i), n = held->n_present, n_docs = piece->n_sampled;
    uint32_t *whose = rw_held_rows(piece, held), *to = whose + whose_units(held, n_docs);
    if (held->has_rows) {
        memcpy(whose, from_row, n * sizeof(*from_row));
        write_values(from, n, held->width, to);
        return;
    }
    if (n < n_docs) {
        for (uint32_t k = 0; k < n_docs; k++)
            memcpy(&s->line[k], &absent, sizeof(absent));
        for (uint32_t k = 0; k < n; k++)
            memcpy(&s->line[from_row[k]], &from[k], sizeof(*from));
        from = s->line;
    }
    const uint32_t rest = held->rest_is_zero ? 0 : RW_ABSENT_BITS;
    rw_piece_pack(isa, from, n_docs, rest, (uint8_t *)whose, s->packed);
    write_values(s->packed, held->n, held->width, to);
}

int rw_pieces_hold(struct rw_pieces *pieces, uint32_t p, int thread,
                   const struct rw_builder *builder)
{
    struct rw_piece_scratch *s = &pieces->scratch[thread];
    struct rw_piece *piece = &pieces->piece[p];
    if (builder)
        RW_TRY(rw_piece_sort(s, builder, NULL));
    RW_TRY(RW_GROW(NULL, s->held, s->held_room, s->n_features));
    const size_t columns = s->n_features * sizeof(*piece->held);
    size_t units = columns / 4;
    for (uint32_t i = 0; i < s->n_features; i++) {
        struct rw_held *held = &s->held[i];
        *held = plan_held(s, i, piece->n_sampled);
        held->at = (uint32_t)units;
        units += whose_units(held, piece->n_sampled) + value_units(held);
    }
    RW_TRY(rw_piece_make_room(piece, (units + RW_PACK_PAD) * 4));
    piece->n_held = s->n_features;
    piece->held = piece->block;
    if (columns)
        memcpy(piece->held, s->held, columns);
    for (uint32_t i = 0; i < s->n_features; i++)
        hold_column(pieces->isa, s, i, piece, &piece->held[i]);
    return RW_OK;
}
