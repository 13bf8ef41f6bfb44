/* A model's distinct thresholds by column: what turns a value into the number of thresholds below
 * it, by which packed.h and single_lanes.h score. */
#ifndef RW_MODEL_THRESHOLDS_H
#define RW_MODEL_THRESHOLDS_H

#include "base/search.h"
#include "base/sort.h"
#include "model/flat.h"

/* A node's column is its slot >> shift: with 0 a feature has a column for each treatment of missing
 * values, with 1 one for both. */
struct rw_thresholds {
    uint32_t n_columns; /* some of which no node may have */
    int shift;
    uint64_t *first; /* [n_columns + 1] of a column in key; owned, as are all arrays */
    uint32_t *n;     /* [n_columns] distinct ones */
    uint32_t *key;   /* of a column: numbers that order as the thresholds do; 0 and -0 are one */
};

int rw_thresholds_init(struct rw_ctx *ctx, struct rw_thresholds *thresholds,
                       const struct rw_flat *flat, int shift);
void rw_thresholds_release(struct rw_thresholds *thresholds);

static inline uint32_t rw_threshold_key(float threshold)
{
    return rw_key_of_float(threshold == 0.0f ? 0.0f : threshold);
}

/* The column's i-th. */
static inline float rw_threshold(const struct rw_thresholds *thresholds, uint32_t column,
                                 uint32_t i)
{
    return rw_float_of_key(thresholds->key[thresholds->first[column] + i]);
}

/* Which one of its column a node has. */
static inline uint32_t rw_threshold_of(const struct rw_thresholds *thresholds,
                                       const struct rw_walk_node *node)
{
    const uint32_t column = node->slot >> thresholds->shift;
    return rw_numbers_under(thresholds->key + thresholds->first[column], thresholds->n[column],
                            rw_threshold_key(node->cut));
}

#endif
