/* The codes of a data set whose values are never in memory as a whole.
 *
 * Its documents come in pieces, each piece twice: first the sampled documents, whose values are
 * held (packed: what most documents of a feature have is not written down) until they have decided
 * the boundaries; then the others. With those a piece's documents become places between boundaries,
 * one or two bytes each, in a column of all documents, or in the piece's list if the sample says
 * that most documents have the place of an absent value; and the largest value of every interval is
 * noted. When all pieces are placed, that says where the cuts are, and the places become codes:
 * rw_bins_make_training's, since moving a boundary within a gap between values changes no place. */
#ifndef RW_BINNING_PIECES_H
#define RW_BINNING_PIECES_H

#include "base/isa.h"
#include "binning/binned.h"
#include "binning/cut_find.h"

/* Where a feature is held: a column of a piece, which counts from 1; 0: nowhere. */
struct rw_held {
    uint32_t piece, column;
};

/* One feature of a piece. */
struct rw_piece_column {
    struct rw_held next; /* values: where the feature is held, too */
    uint16_t feature;
    uint8_t is_listed;  /* entries with their rows, as places are; else one bit a document */
    uint32_t n;         /* values, or places, that are written down */
    uint32_t rest;      /* values: bits of the others, 0 or RW_ABSENT_BITS */
    uint32_t n_present; /* values: documents that have the feature */
    uint32_t at;        /* of values: the first; of places: its byte */
    uint32_t row_at;    /* listed: the first in `row`; else the first byte in `bits` */
};

struct rw_piece {
    uint32_t first_doc, n_docs; /* of the data set */
    uint32_t n_held;            /* documents whose values are held */
    uint32_t n_columns;
    void *block; /* NULL: nothing; owned */
    size_t block_bytes;
    struct rw_piece_column *column; /* [n_columns] ascending; this and the rest are views of it */
    float *value;                   /* held */
    uint8_t *place;                 /* not held */
    uint32_t *row;                  /* documents of the piece (of its held ones while held) */
    uint8_t *bits;
};
void rw_piece_release(struct rw_piece *piece);
/* Room for n_bytes in the block of an empty piece. */
int rw_piece_make_room(struct rw_piece *piece, size_t n_bytes);

/* One thread's memory. */
struct rw_piece_scratch {
    uint32_t *next;    /* [RW_FEATURE_IDS] behind each feature's entries */
    uint16_t *feature; /* [n_features] ascending: those of the builder at hand */
    uint32_t *begin;   /* [n_features] their entries */
    size_t feature_room, begin_room;
    uint32_t n_features;
    float *value; /* [entries] by feature */
    uint32_t
        *row; /* [entries] ascending within a feature; [documents] for all, if they share them */
    int shares_rows; /* all documents have the same features */
    size_t value_room, row_room;
    /* of the documents of a piece: [most_docs] */
    float *line, *all_values;
    uint16_t *code, *held_code;
    uint32_t *held_row;
    struct rw_piece_column *column; /* of the piece being made */
    size_t column_room;
    uint8_t *place; /* the same */
    uint32_t *listed;
    size_t place_room, listed_room;
    struct rw_code_search *search;
    struct rw_rank_scratch rank; /* while boundaries are found */
    /* what is found of all pieces that the thread has placed */
    int32_t *most; /* [of all intervals] ordered */
};

/* A feature of all pieces. */
struct rw_piece_feature {
    struct rw_held held;
    uint32_t n_other; /* held documents that have another value than an absent one stands for */
    uint32_t n_bounds;
    uint32_t *bound;  /* [n_bounds] keys; owned */
    uint64_t most_at; /* its n_bounds + 1 intervals in rw_piece_scratch.most */
    uint16_t absent;  /* the place of an absent value */
    uint8_t room;     /* bytes of a place: 1 or 2 */
    /* of the documents placed; all threads add to the two numbers */
    uint32_t n_present; /* documents that have the feature */
    uint32_t n_listed;  /* documents in the lists of all pieces; of a full column none */
    void *place;        /* [n_docs] of all documents, or [n_listed], joined last; owned */
    uint32_t *row;      /* [n_listed] NULL: all documents; owned */
    uint32_t n_joined;  /* of n_listed */
    uint32_t column;    /* of the data set; UINT32_MAX: none has it */
};

struct rw_pieces {
    struct rw_ctx *ctx; /* borrowed */
    enum rw_isa isa;
    int n_threads;
    struct rw_cut_rule rule;          /* `ignore` is NULL */
    const struct rw_dataset *dataset; /* the documents, without features; borrowed */
    struct rw_cut_sample sample;
    struct rw_piece *piece;       /* [n_pieces] owned */
    uint32_t n_pieces, most_docs; /* of a piece */
    /* NULL, or what gets the values of many documents of a feature (RW_ABSENT_BITS for those
     * without it), doc .. doc + n - 1, when they are placed. Called by all threads. A status. */
    int (*take)(void *user, uint32_t feature, uint32_t doc, const float *value, uint32_t n);
    void *take_user;                  /* borrowed */
    struct rw_piece_scratch *scratch; /* [n_threads] owned */
    struct rw_piece_feature *feature; /* [RW_FEATURE_IDS] owned */
    uint32_t *full; /* [n_full] features with a place for every document, ascending; owned */
    uint32_t n_full;
    uint64_t n_most; /* intervals of all features */
};

/* 1 if every piece that holds something holds the same features. */
int rw_pieces_are_even(const struct rw_pieces *pieces);

/* piece_docs: [n_pieces] documents of each, in the data set's order. Released also after a failure.
 */
int rw_pieces_init(struct rw_ctx *ctx, struct rw_pieces *pieces, const struct rw_dataset *dataset,
                   const struct rw_cut_rule *rule, const uint32_t *piece_docs, uint32_t n_pieces);
void rw_pieces_release(struct rw_pieces *pieces);

/* Holds the values of the sampled documents of piece p: those of `builder`, in order. Threads (of
 * numbers 0 .. n_threads - 1) may do so side by side; never touches the context. */
int rw_pieces_hold(struct rw_pieces *pieces, uint32_t p, int thread,
                   const struct rw_builder *builder);
/* When all are held: boundaries from the sample. */
int rw_pieces_find_bounds(struct rw_pieces *pieces);
/* Then: places of the piece's documents, the held ones and those of `builder`, which are the
 * documents row: [builder->n_docs] of the piece. As rw_pieces_hold. */
int rw_pieces_place(struct rw_pieces *pieces, uint32_t p, int thread,
                    const struct rw_builder *builder, const uint32_t *row);
/* When all are placed: features and bins of the documents. The pieces are emptied, one after the
 * other, while the codes fill. */
int rw_pieces_finish(struct rw_pieces *pieces, struct rw_binned *out);

/* --- between the files that do this --- */

/* The builder's entries by feature, into s; row: where its documents stand, NULL: 0, 1, ... */
int rw_piece_sort(struct rw_piece_scratch *s, const struct rw_builder *builder,
                  const uint32_t *row);
/* The documents of the i-th feature's entries. */
static inline const uint32_t *rw_piece_rows(const struct rw_piece_scratch *s, uint32_t i)
{
    return s->shares_rows ? s->row : s->row + s->begin[i];
}
/* Values whose bits are not `rest`, one after the other, and a bit for each document: is it one of
 * them? out: room for RW_PACK_PAD more. Returns their number. */
enum { RW_PACK_PAD = 16 };
uint32_t rw_piece_pack(enum rw_isa isa, const float *value, uint32_t n, uint32_t rest,
                       uint8_t *bits, float *out);
/* The n values again. */
void rw_piece_unpack(enum rw_isa isa, const float *packed, const uint8_t *bits, uint32_t n,
                     uint32_t rest, float *out);

#endif
