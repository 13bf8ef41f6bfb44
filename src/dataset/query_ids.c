#include "dataset/query_ids.h"

#include <string.h>

#include "base/mem.h"

struct rw_query_id_slot {
    const char *id; /* NULL: free */
    uint64_t hash;
    size_t index;
};

void rw_query_ids_release(struct rw_query_ids *ids)
{
    rw_mem_free(ids->slot);
    *ids = (struct rw_query_ids){.slot = NULL};
}

/* FNV-1a, 64 bits, and a last mix, for some bits choose the slot. */
static uint64_t hash_of(const char *id, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)id[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

/* The slot of an id, or the free one where it belongs. */
static struct rw_query_id_slot *slot_of(const struct rw_query_ids *ids, uint64_t hash,
                                        const char *id, size_t n)
{
    size_t i = (size_t)(hash >> 20) & (ids->room - 1);
    while (ids->slot[i].id && (ids->slot[i].hash != hash || strlen(ids->slot[i].id) != n ||
                               memcmp(ids->slot[i].id, id, n) != 0))
        i = (i + 1) & (ids->room - 1);
    return &ids->slot[i];
}

static int make_room(struct rw_ctx *ctx, struct rw_query_ids *ids)
{
    if (ids->n * 2 < ids->room)
        return RW_OK;
    struct rw_query_ids bigger = *ids;
    bigger.room = ids->room ? ids->room * 2 : 1024;
    RW_TRY(RW_NEW(ctx, bigger.slot, bigger.room));
    for (size_t i = 0; i < ids->room; i++) {
        if (ids->slot[i].id)
            *slot_of(&bigger, ids->slot[i].hash, ids->slot[i].id, strlen(ids->slot[i].id)) =
                ids->slot[i];
    }
    rw_mem_free(ids->slot);
    *ids = bigger;
    return RW_OK;
}

int rw_query_ids_add(struct rw_ctx *ctx, struct rw_query_ids *ids, const char *id, size_t *index)
{
    RW_TRY(make_room(ctx, ids));
    const size_t n = strlen(id);
    const uint64_t hash = hash_of(id, n);
    struct rw_query_id_slot *slot = slot_of(ids, hash, id, n);
    const int is_known = slot->id != NULL;
    if (!is_known)
        *slot = (struct rw_query_id_slot){.id = id, .hash = hash, .index = ids->n++};
    *index = slot->index;
    return is_known;
}

int rw_query_ids_find(const struct rw_query_ids *ids, const char *id, size_t n, size_t *index)
{
    if (ids->n == 0)
        return 0;
    const struct rw_query_id_slot *slot = slot_of(ids, hash_of(id, n), id, n);
    *index = slot->index;
    return slot->id != NULL;
}
