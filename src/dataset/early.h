/* Columns that fill early, for the two files that fill them. */
#ifndef RW_DATASET_EARLY_H
#define RW_DATASET_EARLY_H

#include <pthread.h>

#include "dataset/dataset.h"

struct rw_early {
    uint64_t n_builders, n_known; /* first[n_known] is known, and all before it */
    uint64_t *first;              /* [n_builders + 1] documents before each; owned */
    uint32_t *n_docs;             /* [n_builders] and 1; 0: not made yet; owned */
    struct rw_builder **waits;    /* [n_builders] packed, till those before it are made; owned */
    uint64_t n_looked;            /* of builders before this one none waits */
    uint64_t room;
    uint32_t n_columns; /* 0: not known yet */
    uint16_t *feature;  /* [n_columns] ascending; owned */
    char *block;        /* [n_columns] columns, `stride` bytes apart; owned */
    size_t stride;
    pthread_mutex_t lock; /* of all above: builders are packed by several threads */
};

static inline size_t rw_early_bytes(const struct rw_early *early)
{
    return early->n_columns * early->stride;
}

static inline float *rw_early_column(const struct rw_early *early, uint32_t k)
{
    return (float *)(void *)(early->block + k * early->stride);
}

#endif
