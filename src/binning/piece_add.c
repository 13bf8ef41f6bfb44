/* From values to intervals between boundaries: a piece at a time. */
#include "base/mem.h"
#include "binning/code_search.h"
#include "binning/pieces.h"

/* ---- one feature ---- */

/* A feature of the piece at work: the entries of its held documents, and those of the others. */
struct at_work {
    const struct rw_pieces *pieces;
    const struct rw_piece *piece;
    struct rw_piece_scratch *s;
    struct rw_piece_feature *feature;
    uint32_t id;        /* of the feature */
    const float *value; /* [n] of the documents row[n]; ascending */
    const uint32_t *row;
    uint32_t n;
    struct rw_column held; /* entries of the piece's sampled documents; none: no such column */
    size_t width;
    int32_t *most;
};

/* A held column with its values, in s->line unless they stand in the piece as they are. */
static struct rw_column unpacked(const struct at_work *w, const struct rw_held *held)
{
    struct rw_piece_scratch *s = w->s;
    uint32_t *whose = rw_held_rows(w->piece, held);
    if (held->has_rows) {
        float *value = (float *)rw_held_values(w->piece, held, s->line);
        return (struct rw_column){
            .feature = held->feature, .n = held->n, .row = whose, .value = value};
    }
    rw_piece_unpack(w->pieces->isa, rw_held_values(w->piece, held, s->packed),
                    (const uint8_t *)whose, w->piece->n_sampled,
                    held->rest_is_zero ? 0 : RW_ABSENT_BITS, s->line);
    return (struct rw_column){.feature = held->feature, .n = w->piece->n_sampled, .value = s->line};
}

/* Where the k-th held entry's document stands in the piece. */
static inline uint32_t held_row(const struct at_work *w, uint32_t k)
{
    return w->s->held_row[w->held.row ? w->held.row[k] : k];
}

static void search(const struct at_work *w, const float *value, uint32_t n, void *intervals)
{
    enum { FEW = 64 }; /* vectors have more to prepare than these take */
    rw_code_search_most(n < FEW ? RW_ISA_PLAIN : w->pieces->isa, w->s->search, value, n, w->width,
                        intervals, w->most);
}

/* The values of all documents of the piece, in s->all_values. */
static void gather(const struct at_work *w)
{
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    float *restrict all = w->s->all_values;
    const uint32_t n_docs = w->piece->n_docs;
    if (w->n + w->held.n < n_docs) {
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&all[i], &absent, sizeof(absent));
    }
    for (uint32_t i = 0; i < w->n; i++)
        memcpy(&all[w->row[i]], &w->value[i], sizeof(*all));
    for (uint32_t i = 0; i < w->held.n; i++)
        memcpy(&all[held_row(w, i)], &w->held.value[i], sizeof(*all));
}

/* The intervals of all documents of the piece. */
static int add_all(const struct at_work *w, void *intervals)
{
    const struct rw_pieces *pieces = w->pieces;
    const float *values = w->s->all_values;
    gather(w);
    search(w, values, w->piece->n_docs, intervals);
    return pieces->take ? pieces->take(pieces->take_user, w->id, w->piece->first_doc, values,
                                       w->piece->n_docs)
                        : RW_OK;
}

/* The same of few, but listed: documents whose interval is not the absent one, ascending, in `row`
 * and `intervals`, which have room for all. Returns their number. */
static uint32_t list_few(const struct at_work *w, uint32_t *row, void *intervals)
{
    const struct rw_piece_scratch *s = w->s;
    uint32_t n = 0, i = 0, k = 0;
    search(w, w->value, w->n, s->new_interval);
    search(w, w->held.value, w->held.n, s->held_interval);
    while (i < w->n || k < w->held.n) {
        const uint32_t held = k < w->held.n ? held_row(w, k) : UINT32_MAX;
        const int is_new = i < w->n && w->row[i] < held;
        const uint32_t one = is_new ? rw_codes_get(s->new_interval, w->width, i)
                                    : rw_codes_get(s->held_interval, w->width, k);
        row[n] = is_new ? w->row[i] : held;
        rw_codes_put(intervals, w->width, n, one);
        n += one != w->feature->absent;
        i += (uint32_t)is_new;
        k += (uint32_t)!is_new;
    }
    return n;
}

/* s->new_interval, of all documents, listed. */
static uint32_t list_others(const struct at_work *w, uint32_t *row, void *intervals)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->piece->n_docs; i++) {
        const uint32_t one = rw_codes_get(w->s->new_interval, w->width, i);
        row[n] = i;
        rw_codes_put(intervals, w->width, n, one);
        n += one != w->feature->absent;
    }
    return n;
}

/* The lists of the piece so far, in the thread's memory. */
struct made {
    uint32_t n_lists, n_rows, n_bytes;
};

static int list_feature(const struct at_work *w, struct made *made)
{
    enum { FEW = 8 }; /* documents for each entry */
    struct rw_piece_scratch *s = w->s;
    const uint32_t n_docs = w->piece->n_docs;
    const size_t most = made->n_bytes + w->width + (size_t)n_docs * w->width;
    RW_TRY(RW_GROW(NULL, s->list, s->list_room, (size_t)made->n_lists + 1));
    RW_TRY(RW_GROW(NULL, s->interval, s->interval_room, most));
    RW_TRY(RW_GROW(NULL, s->listed, s->listed_room, (size_t)made->n_rows + n_docs));
    made->n_bytes += made->n_bytes % (uint32_t)w->width; /* two bytes begin at an even one */
    struct rw_piece_list list = {
        .feature = (uint16_t)w->id, .interval_at = made->n_bytes, .row_at = made->n_rows};
    uint32_t *row = s->listed + list.row_at;
    void *intervals = s->interval + list.interval_at;
    if (!w->pieces->take && (uint64_t)(w->n + w->held.n) * FEW < n_docs) {
        list.n = list_few(w, row, intervals);
    } else {
        RW_TRY(add_all(w, s->new_interval));
        list.n = list_others(w, row, intervals);
    }
    s->list[made->n_lists++] = list;
    made->n_rows += list.n;
    made->n_bytes += list.n * (uint32_t)w->width;
    __atomic_fetch_add(&w->feature->n_listed, list.n, __ATOMIC_RELAXED);
    return RW_OK;
}

static int add_feature(const struct at_work *w, struct made *made)
{
    struct rw_piece_feature *feature = w->feature;
    char *full = feature->interval;
    rw_code_search_init(w->s->search, feature->bound, feature->n_bounds,
                        w->pieces->rule.absent_missing, feature->n_bounds + 1);
    __atomic_fetch_add(&feature->n_present, w->n, __ATOMIC_RELAXED);
    return full ? add_all(w, full + w->piece->first_doc * w->width) : list_feature(w, made);
}

/* ---- a piece ---- */

/* What was made takes the place of what was held. */
static int keep_lists(struct rw_piece *piece, const struct rw_piece_scratch *s,
                      const struct made *made)
{
    const size_t lists = made->n_lists * sizeof(*piece->list);
    const size_t rows = made->n_rows * sizeof(*piece->row);
    rw_piece_release(piece);
    RW_TRY(rw_piece_make_room(piece, lists + rows + made->n_bytes));
    piece->n_lists = made->n_lists;
    piece->list = piece->block;
    piece->row = (uint32_t *)((char *)piece->block + lists);
    piece->interval = (uint8_t *)piece->row + rows;
    if (lists)
        memcpy(piece->list, s->list, lists);
    if (rows)
        memcpy(piece->row, s->listed, rows);
    if (made->n_bytes)
        memcpy(piece->interval, s->interval, made->n_bytes);
    return RW_OK;
}

int rw_pieces_add(struct rw_pieces *pieces, uint32_t p, int thread,
                  const struct rw_builder *builder, const uint32_t *row)
{
    struct rw_piece_scratch *s = &pieces->scratch[thread];
    struct rw_piece *piece = &pieces->piece[p];
    const uint32_t *sampled = pieces->sample->row;
    struct made made = {0};
    if (builder)
        RW_TRY(rw_piece_sort(s, builder, row));
    for (uint32_t i = 0; i < piece->n_sampled; i++)
        s->held_row[i] =
            sampled ? sampled[piece->first_sampled + i] - piece->first_doc : i; /* NULL: all are */
    for (uint32_t i = 0, c = 0, k = 0;
         i < s->n_features || c < piece->n_held || k < pieces->n_full;) {
        const uint32_t new_id = i < s->n_features ? s->feature[i] : UINT32_MAX;
        const uint32_t held_id = c < piece->n_held ? piece->held[c].feature : UINT32_MAX;
        const uint32_t full_id = k < pieces->n_full ? pieces->full[k] : UINT32_MAX;
        const uint32_t first = new_id < held_id ? new_id : held_id;
        const uint32_t f = first < full_id ? first : full_id;
        struct at_work w = {.pieces = pieces,
                            .piece = piece,
                            .s = s,
                            .feature = &pieces->feature[f],
                            .id = f,
                            .width = pieces->feature[f].width,
                            .most = s->most + pieces->feature[f].most_at};
        if (new_id == f) {
            w.value = s->value + s->begin[i];
            w.row = rw_piece_rows(s, i);
            w.n = s->next[f] - s->begin[i];
            i++;
        }
        if (held_id == f)
            w.held = unpacked(&w, &piece->held[c++]);
        k += full_id == f;
        RW_TRY(add_feature(&w, &made));
    }
    return keep_lists(piece, s, &made);
}
