/* What training sees of its data: documents, with cuts and codes in place of values. */
#ifndef RW_BINNING_BINNED_H
#define RW_BINNING_BINNED_H

#include "binning/bins.h"

/* What an engine made of a training set and left here for the next one that trains on it. */
struct rw_keep {
    void *made; /* owned, by way of `drop`; NULL: nothing */
    void (*drop)(void **made);
};

struct rw_model;
struct rw_binned {
    struct rw_dataset *documents; /* with values if bins is NULL, else without features; owned */
    struct rw_bins *bins;         /* NULL: the values were kept, and training bins them; owned */
    uint32_t *feature;            /* of bins: [n_features] ids in the data, ascending; owned */
    uint32_t n_features;
    struct rw_keep *keep; /* NULL: nobody will train on it twice; owned */
    /* Of documents without values, for training that goes on from a model: */
    const struct rw_model *scored; /* NULL, or the model; only compared */
    double *scores;                /* [n_docs] what it gives them; owned */
};
/* Frees what it holds, not the struct. */
void rw_binned_release(struct rw_binned *binned);

#endif
