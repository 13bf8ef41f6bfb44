/* What the files that read LETOR text share: letor.c (the file, and its pieces) and letor_blocks.c
 * (text that comes in one stream). */
#ifndef RW_IO_LETOR_INSIDE_H
#define RW_IO_LETOR_INSIDE_H

#include "io/letor.h"

struct rw_letor_block {
    char *text; /* RW_LETOR_PAD bytes, then the text; owned */
    size_t room;
    size_t n_ready; /* bytes of whole lines */
    size_t n_held;  /* the rest, up to here, is a line that continues */
    int status;     /* a failure behind the whole lines */
};

struct rw_letor {
    struct rw_input *input; /* borrowed */
    struct rw_seen *seen;   /* borrowed */
    size_t chunk_bytes;
    int n_threads;
    struct rw_letor_worker *worker; /* [n_threads]; owned */
    int n_chunks;                   /* most that are parsed at a time */
    int few_chunks;                 /* the same of pieces whose values are wanted soon */
    rw_take_lines_fn *take;         /* as of the list at hand */
    void *take_user;
    struct rw_letor_chunk *chunk; /* [n_chunks]; owned */
    int by_pieces;
    uint64_t n_pieces, next_piece;
    struct rw_range *range;     /* of a plain file's bytes, or NULL: all of them; borrowed */
    uint64_t begin, end;        /* of the bytes; `end` of all is UINT64_MAX, for a file may grow */
    struct rw_members *members; /* NULL: blocks are fetched in sequence; owned */
    struct rw_letor_block block[2]; /* the one parsed, the one fetched */
    int current;
    int begun;
    uint64_t n_lines; /* before the current chunks */
    uint64_t n_docs;
    enum rw_letor_want want;
    uint32_t *piece_docs; /* [n_known] of a text that is skimmed; owned */
    size_t piece_docs_room;
    uint64_t n_known;
    uint64_t n_cut;             /* chunks before the current ones, of a stream */
    struct rw_lexicon *lexicon; /* of values that are categories; NULL: there are none; borrowed */
    rw_letor_each_fn *each;     /* NULL, or what is done with each chunk in place of parsing it */
    void *each_user;            /* borrowed */
};

/* Bytes that are fetched at a time, and members of gzip so many that threads end at about the same
 * time. */
static inline size_t rw_letor_block_bytes(const struct rw_letor *letor)
{
    return letor->chunk_bytes * (size_t)letor->n_chunks;
}
static inline int rw_letor_wanted_members(const struct rw_letor *letor)
{
    return 2 * letor->n_threads;
}

/* The next block's chunks, as rw_letor_next. */
int rw_letor_next_block(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list,
                        int *more);
/* Checks the outcome of the first n chunks, and hands their builders over. */
int rw_letor_collect(struct rw_ctx *ctx, struct rw_letor *letor, int n,
                     struct rw_builder_list *list);

#endif
