#include "tree/placement.h"

/* The next larger size of a block, and of its documents' codes; 0: none. */
static uint32_t next_size(const struct rw_place *place, int n, uint32_t size)
{
    uint32_t next = 0;
    for (int i = 0; i < n; i++) {
        if (place[i].doc_bytes > size && (next == 0 || place[i].doc_bytes < next))
            next = place[i].doc_bytes;
    }
    return next;
}

uint64_t rw_place_codes(struct rw_place *place, int n, uint32_t n_docs, int whole, uint64_t bytes)
{
    uint64_t left = bytes;
    for (uint32_t size = next_size(place, n, 0); size > 0; size = next_size(place, n, size)) {
        for (int i = 0; i < n; i++) {
            if (place[i].doc_bytes != size)
                continue;
            const uint64_t room = left / size;
            place[i].n_here = room >= n_docs ? n_docs : whole ? 0 : (uint32_t)room;
            left -= (uint64_t)place[i].n_here * size;
        }
    }
    return bytes - left;
}
