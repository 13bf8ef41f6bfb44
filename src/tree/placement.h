/* Which codes a device holds that has no room for all of them. The rest stays in the host's memory.
 *
 * Codes come in blocks, tiles or columns, and of each the device holds those of the documents from
 * the first on. Blocks with few bytes a document come first: what crosses a link is at least a
 * sector of it, so they would cost more there than they weigh. */
#ifndef RW_TREE_PLACEMENT_H
#define RW_TREE_PLACEMENT_H

#include <stdint.h>

struct rw_place {
    uint32_t doc_bytes; /* of a document's codes, at least 1 */
    uint32_t n_here;    /* written: of so many documents they are on the device */
};

/* n_docs: of each block. whole: a block is not divided. Blocks of one size are filled in their
 * order. Returns how many of `bytes` are used. */
uint64_t rw_place_codes(struct rw_place *place, int n, uint32_t n_docs, int whole, uint64_t bytes);

#endif
