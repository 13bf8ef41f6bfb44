/* The plain engine's state and operations: sim runs them elsewhere, tests compare with them. */
#ifndef RW_TREE_ENGINE_REF_H
#define RW_TREE_ENGINE_REF_H

#include "tree/engine_host.h"

struct rw_ref {
    struct rw_host host;
    int32_t *parent, *leaf_of;  /* [max_slots] slot above; scratch */
    uint8_t *is_kept;           /* [max_slots] its histogram may be asked for */
    uint32_t n_kept;
    int32_t *slot_of_doc;       /* [n_docs] of the tree being grown; -1 outside the sample */
    uint64_t *cell_offset;      /* [n_features + 1] first cell of each feature in a histogram */
    struct rw_cell **cell;      /* [max_slots] histogram of each slot, made when first asked for */
    struct rw_coded_node *node; /* [max_slots] scratch */
};

extern const struct rw_engine_ops rw_ref_ops;

/* The best split of a node from its canonical histogram: cells [n_codes of each feature, adjoined];
 * the oracle of every split search. */
void rw_ref_best_split(const struct rw_ref *ref, const struct rw_cell *cells, int32_t slot,
                       struct rw_split *out);
#endif
