#include "hist_far.h"

#include <stdlib.h>
#include <string.h>

enum { POISON = 0xE7, FENCE_BYTES = 256, PIECE_BYTES = 8192, MOST_WINDOWS = 40 };

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
        status = rw_transfer_read(run->device, whole, d_from, here + far);
    if (status >= 0)
        status = rw_transfer_pinned_alloc(run->ctx, &pinned, far);
    tile->far_word = pinned;
    if (status >= 0)
        status = rw_device_alloc(run->ctx, &d_here, here + FENCE_BYTES);
    tile->d_word = d_here;
    if (status >= 0) {
        memcpy(pinned, whole + here, far);
        memset(whole + here, POISON, FENCE_BYTES);
        status = rw_transfer_write(run->device, d_here, whole, here + FENCE_BYTES);
    }
    free(whole);
    return status;
}

/* What methods read the host's memory with: pieces and windows so small that a call takes several.
 */
static int make_reader(struct hist_run *run, uint64_t *bytes_read, struct rw_hist_far *far)
{
    const uint64_t nodes = run->call.n_nodes * sizeof(struct rw_hist_node);
    const uint64_t bytes = (nodes + PIECE_BYTES + run->spec.n_docs * 16 + 255) / 256 * 256;
    const uint32_t n_docs = (uint32_t)run->spec.n_docs;
    int log_window = 0;
    while (n_docs >> log_window > MOST_WINDOWS)
        log_window++;
    if (hist_buffer_make(run, &run->d_pieces, rw_hist_far_bytes(bytes, n_docs, log_window)) < 0 ||
        rw_hist_far_open(run->ctx, hist_buffer_at(&run->d_pieces), bytes, n_docs, log_window,
                         bytes_read, far) < 0)
        return -1;
    return 0;
}

/* The run's matrix with the codes of documents [0, n_here) on the device, fenced by poison, and
 * those of the others in page-locked memory alone. 0 or -1; released in any case. */
static int make(struct hist_run *run, uint32_t n_here, struct rw_hist_matrix *out)
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

static void release(struct rw_hist_matrix *matrix)
{
    for (uint32_t t = 0; t < matrix->n_tiles; t++) {
        rw_device_free((void *)(uintptr_t)matrix->tile[t].d_word);
        rw_transfer_pinned_free((void *)(uintptr_t)matrix->tile[t].far_word);
    }
}

/* Of the call at hand: bytes of codes in the host's memory, once for each node. */
static uint64_t far_bytes(const struct hist_run *run, const struct rw_hist_matrix *matrix)
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

void hist_far_run(struct hist_run *run, struct hist_tally *tally, const struct hist_call_spec *spec)
{
    const struct rw_hist_matrix *here = run->call.matrix;
    struct rw_hist_matrix far;
    struct rw_hist_far reader = {.piece_bytes = 0};
    uint64_t bytes = 0;
    const uint32_t n_here = (uint32_t)((run->seed + run->n_calls) % (run->spec.n_docs + 1));
    if (n_here == run->spec.n_docs || here->n_tiles == 0 || run->capture)
        return;
    if (make(run, n_here, &far) < 0 || make_reader(run, &bytes, &reader) < 0) {
        hist_run_failed(run, tally, spec, "codes of the host: %s", rw_last_error(run->ctx));
    } else {
        run->call.matrix = &far;
        run->call.far = &reader;
        hist_run_one(run, tally, spec);
        const uint64_t once = far_bytes(run, &far);
        if (hist_run_may(run, tally->method) && !run->dead && bytes != once)
            hist_run_failed(run, tally, spec, "%llu bytes of the host's memory, not %llu",
                            (unsigned long long)bytes, (unsigned long long)once);
    }
    run->call.matrix = here;
    run->call.far = NULL;
    rw_hist_far_close(&reader);
    release(&far);
}
