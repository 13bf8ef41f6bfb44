/* From values to places between boundaries: a piece at a time. */
#include "base/mem.h"
#include "binning/code_search.h"
#include "binning/pieces.h"

/* One feature of the piece at work. */
struct at_work {
    const struct rw_pieces *pieces;
    const struct rw_piece *piece;
    struct rw_piece_scratch *s;
    struct rw_piece_feature *feature;
    uint32_t id;        /* of the feature */
    const float *value; /* [n_new] of the documents row[n_new]; ascending */
    const uint32_t *row;
    uint32_t n_new;
    const struct rw_piece_column *held; /* NULL: no held document has it */
    size_t room;
    uint32_t absent;
    int32_t *most;
};

/* ---- held values ---- */

/* All held documents' values of a column that is not listed, into s->line. */
static void unpack(const struct at_work *w)
{
    rw_piece_unpack(w->pieces->isa, w->piece->value + w->held->at, w->piece->bits + w->held->row_at,
                    w->piece->n_held, w->held->rest, w->s->line);
}

static void search(const struct at_work *w, const float *value, uint32_t n, void *places)
{
    enum { FEW = 64 }; /* vectors have more to prepare than these take */
    rw_code_search_most(n < FEW ? RW_ISA_PLAIN : w->pieces->isa, w->s->search, value, n, w->room,
                        places, w->most);
}

/* ---- one feature ---- */

/* The values of all documents of the piece, in s->all_values. */
static void gather(const struct at_work *w)
{
    const struct rw_piece_scratch *s = w->s;
    const struct rw_piece_column *held = w->held;
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    float *restrict all = s->all_values;
    const uint32_t n_docs = w->piece->n_docs, *restrict held_row = s->held_row;
    if (w->n_new + (held ? held->n_present : 0) < n_docs) {
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&all[i], &absent, sizeof(absent));
    }
    for (uint32_t i = 0; i < w->n_new; i++)
        memcpy(&all[w->row[i]], &w->value[i], sizeof(*all));
    if (held && held->is_listed) {
        const uint32_t *row = w->piece->row + held->row_at;
        for (uint32_t i = 0; i < held->n; i++)
            memcpy(&all[held_row[row[i]]], &w->piece->value[held->at + i], sizeof(*all));
    } else if (held) {
        unpack(w);
        for (uint32_t i = 0; i < w->piece->n_held; i++)
            memcpy(&all[held_row[i]], &s->line[i], sizeof(*all));
    }
}

/* The places of all documents of the piece. */
static int place_all(const struct at_work *w, void *places)
{
    const struct rw_pieces *pieces = w->pieces;
    const uint32_t n_docs = w->piece->n_docs;
    gather(w);
    search(w, w->s->all_values, n_docs, places);
    return pieces->take ? pieces->take(pieces->take_user, w->id, w->piece->first_doc,
                                       w->s->all_values, n_docs)
                        : RW_OK;
}

/* The same of few, but listed: documents whose place is not the absent one, ascending, in `row` and
 * `place`, which have room for all. Returns their number. Held values that are not listed are
 * unpacked: there are few held documents then. */
static uint32_t place_few(const struct at_work *w, uint32_t *row, void *place)
{
    struct rw_piece_scratch *s = w->s;
    const struct rw_piece_column *held = w->held;
    uint32_t n_held = 0, n = 0, i = 0, k = 0;
    const uint32_t *held_row = NULL;
    if (held) {
        n_held = held->is_listed ? held->n : w->piece->n_held;
        held_row = held->is_listed ? w->piece->row + held->row_at : NULL;
        if (!held->is_listed)
            unpack(w);
        search(w, held->is_listed ? w->piece->value + held->at : s->line, n_held, s->held_code);
    }
    search(w, w->value, w->n_new, s->code);
    while (i < w->n_new || k < n_held) {
        const uint32_t held_doc = k < n_held ? s->held_row[held_row ? held_row[k] : k] : UINT32_MAX;
        const int is_new = i < w->n_new && w->row[i] < held_doc;
        const uint32_t one =
            is_new ? rw_codes_get(s->code, w->room, i) : rw_codes_get(s->held_code, w->room, k);
        row[n] = is_new ? w->row[i] : held_doc;
        rw_codes_put(place, w->room, n, one);
        n += one != w->absent;
        i += (uint32_t)is_new;
        k += (uint32_t)!is_new;
    }
    return n;
}

/* s->code listed. */
static uint32_t list_others(const struct at_work *w, uint32_t *row, void *place)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->piece->n_docs; i++) {
        const uint32_t one = rw_codes_get(w->s->code, w->room, i);
        row[n] = i;
        rw_codes_put(place, w->room, n, one);
        n += one != w->absent;
    }
    return n;
}

/* The lists of the piece so far, in the thread's memory. */
struct made {
    uint32_t n_columns, n_rows, n_bytes;
};

static int list_feature(const struct at_work *w, struct made *made)
{
    enum { FEW = 8 }; /* documents for each that has the feature */
    struct rw_piece_scratch *s = w->s;
    const uint32_t n_docs = w->piece->n_docs, n_held = w->held ? w->held->n_present : 0;
    const size_t most = made->n_bytes + w->room + (size_t)n_docs * w->room;
    RW_TRY(RW_GROW(NULL, s->column, s->column_room, (size_t)made->n_columns + 1));
    RW_TRY(RW_GROW(NULL, s->place, s->place_room, most));
    RW_TRY(RW_GROW(NULL, s->listed, s->listed_room, (size_t)made->n_rows + n_docs));
    made->n_bytes += made->n_bytes % (uint32_t)w->room; /* two bytes begin at an even one */
    struct rw_piece_column column = {
        .feature = (uint16_t)w->id, .at = made->n_bytes, .row_at = made->n_rows};
    uint32_t *row = s->listed + column.row_at;
    void *place = s->place + column.at;
    if ((uint64_t)(w->n_new + n_held) * FEW < n_docs &&
        (!w->held || w->held->is_listed || (uint64_t)w->piece->n_held * FEW < n_docs)) {
        column.n = place_few(w, row, place);
    } else {
        RW_TRY(place_all(w, s->code));
        column.n = list_others(w, row, place);
    }
    s->column[made->n_columns++] = column;
    made->n_rows += column.n;
    made->n_bytes += column.n * (uint32_t)w->room;
    __atomic_fetch_add(&w->feature->n_listed, column.n, __ATOMIC_RELAXED);
    return RW_OK;
}

static int place_feature(const struct at_work *w, struct made *made)
{
    const uint32_t n_present = w->n_new + (w->held ? w->held->n_present : 0);
    struct rw_piece_feature *feature = w->feature;
    char *full = feature->place;
    rw_code_search_init(w->s->search, feature->bound, feature->n_bounds,
                        w->pieces->rule.absent_missing, feature->n_bounds + 1);
    __atomic_fetch_add(&feature->n_present, n_present, __ATOMIC_RELAXED);
    return full ? place_all(w, full + w->piece->first_doc * w->room) : list_feature(w, made);
}

/* ---- a piece ---- */

/* Where held documents stand in the piece. */
static void find_held(const struct rw_pieces *pieces, const struct rw_piece *piece,
                      uint32_t *held_row)
{
    const uint8_t *in = pieces->sample.in + piece->first_doc;
    uint32_t n = 0;
    for (uint32_t i = 0; i < piece->n_docs && n < piece->n_held; i++) {
        held_row[n] = i;
        n += in[i];
    }
}

/* What was made takes the place of what was held. */
static int keep(struct rw_piece *piece, const struct rw_piece_scratch *s, const struct made *made)
{
    const size_t columns = made->n_columns * sizeof(*piece->column);
    const size_t rows = made->n_rows * sizeof(*piece->row);
    rw_piece_release(piece);
    RW_TRY(rw_piece_make_room(piece, columns + rows + made->n_bytes));
    piece->n_columns = made->n_columns;
    piece->column = piece->block;
    piece->row = (uint32_t *)((char *)piece->block + columns);
    piece->place = (uint8_t *)piece->row + rows;
    piece->value = NULL;
    piece->bits = NULL;
    if (columns)
        memcpy(piece->column, s->column, columns);
    if (rows)
        memcpy(piece->row, s->listed, rows);
    if (made->n_bytes)
        memcpy(piece->place, s->place, made->n_bytes);
    return RW_OK;
}

int rw_pieces_place(struct rw_pieces *pieces, uint32_t p, int thread,
                    const struct rw_builder *builder, const uint32_t *row)
{
    struct rw_piece_scratch *s = &pieces->scratch[thread];
    struct rw_piece *piece = &pieces->piece[p];
    struct made made = {0};
    RW_TRY(rw_piece_sort(s, builder, row));
    find_held(pieces, piece, s->held_row);
    for (uint32_t i = 0, c = 0, k = 0;
         i < s->n_features || c < piece->n_columns || k < pieces->n_full;) {
        const uint32_t new_id = i < s->n_features ? s->feature[i] : UINT32_MAX;
        const uint32_t held_id = c < piece->n_columns ? piece->column[c].feature : UINT32_MAX;
        const uint32_t full_id = k < pieces->n_full ? pieces->full[k] : UINT32_MAX;
        const uint32_t first = new_id < held_id ? new_id : held_id;
        const uint32_t f = first < full_id ? first : full_id;
        struct at_work w = {.pieces = pieces,
                            .piece = piece,
                            .s = s,
                            .feature = &pieces->feature[f],
                            .id = f,
                            .room = pieces->feature[f].room,
                            .absent = pieces->feature[f].absent,
                            .most = s->most + pieces->feature[f].most_at};
        if (new_id == f) {
            w.value = s->value + s->begin[i];
            w.row = rw_piece_rows(s, i);
            w.n_new = s->next[f] - s->begin[i];
            i++;
        }
        if (held_id == f)
            w.held = &piece->column[c++];
        k += full_id == f;
        RW_TRY(place_feature(&w, &made));
    }
    return keep(piece, s, &made);
}
