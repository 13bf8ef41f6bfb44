/* Blocks of documents that a packed model scores: what is the same wherever their values are
 * (packed_run.c), for rows (there) and data sets (packed_data.c). */
#ifndef RW_MODEL_PACKED_RUN_H
#define RW_MODEL_PACKED_RUN_H

#include "model/packed.h"

struct rw_builder;
struct rw_column;
struct rw_packed_job;

/* A thread's room. */
struct rw_packed_room {
    char *codes; /* [n_blocks][codes] */
    char *buffers;
    double *score; /* [n_blocks][RW_PACKED_DOCS] */
    float *value;  /* [n_blocks * RW_PACKED_DOCS + more_values] */
};

/* The codes of documents [begin, end), at most n_blocks blocks of them. */
typedef void rw_packed_encode_fn(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                                 const struct rw_packed_room *room);

/* The values of documents [begin, end), at most one block: value [n_used][RW_PACKED_DOCS]. */
typedef void rw_packed_turn_fn(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                               float *value);

struct rw_packed_job {
    const struct rw_packed *packed;  /* borrowed, as all */
    rw_packed_encode_fn *encode;     /* and what it reads: */
    const struct rw_column **column; /* [n_used] of slots; NULL: the data does not have it */
    rw_packed_turn_fn *turn;         /* or, with rw_packed_encode_turned, this, which reads */
    const struct rw_rows *rows;      /* these */
    const struct rw_builder *lines;  /* or these */
    size_t more_values; /* that `encode` wants room for, beside one for each document */
    /* packed_run.c's own */
    uint32_t n_blocks; /* encoded together */
    size_t room_bytes; /* of a thread */
    char *room;        /* [n_threads][room_bytes] */
};

/* By way of columns of a block, n_used * RW_PACKED_DOCS more values. */
rw_packed_encode_fn rw_packed_encode_turned;
/* scores: [n_docs], written. ctx NULL: by the calling thread. */
int rw_packed_run(struct rw_ctx *ctx, struct rw_packed_job *job, uint32_t n_docs, double *scores);

#endif
