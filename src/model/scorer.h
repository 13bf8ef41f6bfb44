/* A model made ready to score (rankwood_score.h, rankwood.h): its forms for blocks of documents,
 * for one document and for the plain walk, and the device that data sets go to. */
#ifndef RW_MODEL_SCORER_H
#define RW_MODEL_SCORER_H

#include "model/flat.h"
#include "model/model.h"

struct rw_device_scorer;
struct rw_packed;
struct rw_single;

struct rw_scorer {
    struct rw_flat flat;
    struct rw_single *single; /* owned; NULL: the model is not of the kind */
    struct rw_packed *packed; /* owned; NULL: not made, or it does not pay */
    struct rw_score_map map;  /* of all trees; NONE where the scorer has fewer */
    /* Of data sets (device_scorer.c). Documents are walked until so many have come that it would
     * have paid to pack the model, if it ever does: then the choice costs at most twice the better
     * one's time, whatever comes. */
    double walked_ns; /* by this time, as expected; of one thread */
    int settled;
    struct rw_device_scorer *device; /* owned; NULL: the CPU */
    int is_auto;                     /* nobody chose the device */
    int undecided;                   /* auto: whether a GPU pays is yet to be seen */
    double cpu_ms;                   /* auto: what all runs so far should have taken on the CPU */
};

/* All but `packed`. */
int rw_scorer_make(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                   struct rw_scorer **out);

/* What scores lines as they are read, when it is known that this is the quickest; else NULL: data
 * sets are scored. n_docs: documents that it has scored since the last call. Valid until the
 * scorer's next call. (device_scorer.c) */
const struct rw_packed *rw_scorer_packed(struct rw_ctx *ctx, struct rw_scorer *scorer,
                                         uint32_t n_docs);
/* The device that the last run was on, or the next one will begin on: "cpu" or "cuda". */
const char *rw_scorer_device(const struct rw_scorer *scorer);

#endif
