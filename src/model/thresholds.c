#include "model/thresholds.h"

#include "base/mem.h"

/* Returns how many are distinct: the first of the array. */
static uint32_t sort_keys(uint32_t *key, uint32_t *scratch, size_t n)
{
    enum { FEW = 128 };
    uint32_t n_kept = 0;
    if (n > FEW)
        rw_sort_keys(key, scratch, n);
    for (size_t i = 1; n <= FEW && i < n; i++) {
        const uint32_t k = key[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--)
            key[j] = key[j - 1];
        key[j] = k;
    }
    for (size_t i = 0; i < n; i++) {
        if (n_kept == 0 || key[i] != key[n_kept - 1])
            key[n_kept++] = key[i];
    }
    return n_kept;
}

int rw_thresholds_init(struct rw_ctx *ctx, struct rw_thresholds *t, const struct rw_flat *flat,
                       int shift)
{
    const uint64_t n_nodes = flat->first_node[flat->n_trees];
    uint32_t *scratch = NULL;
    int status = RW_OK;
    *t = (struct rw_thresholds){.n_columns = 2 * flat->n_used >> shift, .shift = shift};
    RW_TRY_OUT(RW_NEW(ctx, t->first, (size_t)t->n_columns + 1));
    RW_TRY_OUT(RW_NEW(ctx, t->n, t->n_columns));
    RW_TRY_OUT(RW_NEW_RAW(ctx, t->key, n_nodes));
    RW_TRY_OUT(RW_NEW_RAW(ctx, scratch, n_nodes));
    for (uint64_t i = 0; i < n_nodes; i++)
        t->first[(flat->node[i].slot >> shift) + 1]++;
    for (uint32_t c = 0; c < t->n_columns; c++)
        t->first[c + 1] += t->first[c];
    for (uint64_t i = 0; i < n_nodes; i++) {
        const uint32_t c = flat->node[i].slot >> shift;
        t->key[t->first[c] + t->n[c]++] = rw_threshold_key(flat->node[i].cut);
    }
    for (uint32_t c = 0; c < t->n_columns; c++)
        t->n[c] = sort_keys(t->key + t->first[c], scratch, t->n[c]);
out:
    rw_mem_free(scratch);
    return status;
}

void rw_thresholds_release(struct rw_thresholds *t)
{
    rw_mem_free(t->first);
    rw_mem_free(t->n);
    rw_mem_free(t->key);
    *t = (struct rw_thresholds){0};
}
