/* Ids of queries, to notice one that comes back: a hash table with open addressing. */
#ifndef RW_DATASET_QUERY_IDS_H
#define RW_DATASET_QUERY_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zero-initialise. */
struct rw_query_ids {
    struct rw_query_id_slot *slot; /* [room], a power of two, at most half full; owned */
    size_t room, n;
};
void rw_query_ids_release(struct rw_query_ids *ids);
/* Adds an id, which is borrowed for the life of *ids: 0, and *index is its number, from 0. 1: it is
 * there already, and *index is the number of the first. */
int rw_query_ids_add(struct rw_ctx *ctx, struct rw_query_ids *ids, const char *id, size_t *index);
/* 1: the id of n bytes is there, and *index is its number. */
int rw_query_ids_find(const struct rw_query_ids *ids, const char *id, size_t n, size_t *index);

#endif
