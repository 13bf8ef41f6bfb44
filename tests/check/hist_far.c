#include "hist_far.h"

#include <stdlib.h>
#include <string.h>

enum { POISON = 0xE7, FENCE_BYTES = 256 };

static int move_tile(struct hist_run *run, struct rw_hist_matrix *m, uint32_t t, uint32_t n_here)
{
    struct rw_hist_tile *tile = &m->tile[t];
    const char *d_from = tile->d_word;
    const uint64_t row = rw_hist_tile_doc_bytes(m, t), here = n_here * row;
    const uint64_t far = (m->n_docs - n_here) * row;
    char *whole = malloc(here + far + FENCE_BYTES);
    void *d_here = NULL, *pinned = NULL;
    int status = whole ? RW_OK : RW_ERR_MEMORY;
    tile->d_word = NULL;
    tile->n_here = n_here;
    if (status >= 0)
        status = rw_transfer_read(run->ctx, run->device, whole, d_from, here + far);
    if (status >= 0)
        status = rw_transfer_pinned_alloc(run->ctx, &pinned, far);
    tile->far_word = pinned;
    if (status >= 0)
        status = rw_device_alloc(run->ctx, &d_here, here + FENCE_BYTES);
    tile->d_word = d_here;
    if (status >= 0) {
        memcpy(pinned, whole + here, far);
        memset(whole + here, POISON, FENCE_BYTES);
        status = rw_transfer_write(run->ctx, run->device, d_here, whole, here + FENCE_BYTES);
    }
    free(whole);
    return status;
}

int hist_far_make(struct hist_run *run, uint32_t n_here, struct rw_hist_matrix *out)
{
    int status = RW_OK;
    *out = *run->matrix;
    out->d_column = NULL;
    for (uint32_t t = 0; t < out->n_tiles; t++) {
        if (status >= 0)
            status = move_tile(run, out, t, n_here);
        else
            out->tile[t].d_word = NULL; /* the run's own */
    }
    return status;
}

void hist_far_release(struct rw_hist_matrix *matrix)
{
    for (uint32_t t = 0; t < matrix->n_tiles; t++) {
        rw_device_free((void *)(uintptr_t)matrix->tile[t].d_word);
        rw_transfer_pinned_free((void *)(uintptr_t)matrix->tile[t].far_word);
    }
}

uint64_t hist_far_bytes(const struct hist_run *run, const struct rw_hist_matrix *matrix)
{
    uint64_t docs = 0, bytes = 0;
    for (uint32_t k = 0; k < run->call.n_nodes; k++) {
        const struct rw_hist_node *node = &run->node[k];
        for (uint64_t i = node->first; i < node->first + node->n; i++)
            docs += (run->list ? run->list[i] : i) >= matrix->tile[0].n_here;
    }
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        bytes += docs * rw_hist_tile_doc_bytes(matrix, t);
    return bytes;
}
