/* Makes the matrix of codes for the histogram kernels (gpu/hist/hist.h): features are divided into
 * tiles. The last part prepares the reading of codes from host memory. */
#include <string.h>

#include "base/mem.h"
#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"
#include "gpu/hist/hist.h"

/* Codes of a tile's element. */
static uint32_t element_codes(int bits)
{
    return bits == 16 ? 1 : 32 / (uint32_t)bits;
}

/* Returns the lanes of the next tile, if `left` lanes are still needed. A tile with a quarter of
 * its lanes empty is better than two tiles, since each tile has a separate row to read for every
 * document. */
static uint32_t lanes_of_next(uint32_t left, uint32_t most)
{
    uint32_t lanes = most;
    while (lanes > left)
        lanes /= 2;
    return lanes < most && left >= lanes + (lanes + 1) / 2 && left > lanes ? 2 * lanes : lanes;
}

/* Adds tiles of `bits` for features up to n, and for further features that fit the last tile. */
static int add_tiles(struct rw_ctx *ctx, struct rw_hist_matrix *m, int bits, uint32_t *first,
                     uint32_t n)
{
    const uint32_t n_codes = element_codes(bits), most = bits == m->bits ? 32 : 16;
    while (*first < n) {
        const uint32_t left = (n - *first + n_codes - 1) / n_codes;
        const uint32_t lanes = lanes_of_next(left, most), room = lanes * n_codes;
        if (m->n_tiles == RW_HIST_MAX_TILES)
            return rw_fail(ctx, RW_ERR_UNSUPPORTED, "%u features of %d bits; expected at most %u",
                           m->n_features, m->bits, RW_HIST_MAX_TILES * 32 * element_codes(m->bits));
        const uint32_t rest = m->n_features - *first;
        m->tile[m->n_tiles++] = (struct rw_hist_tile){.bits = bits,
                                                      .first_feature = *first,
                                                      .n_features = rest < room ? rest : room,
                                                      .lanes = lanes};
        *first += rest < room ? rest : room;
    }
    return RW_OK;
}

int rw_hist_matrix_plan(struct rw_ctx *ctx, const struct rw_hist_matrix_spec *spec,
                        struct rw_hist_matrix **out)
{
    const uint64_t words = ((uint64_t)spec->n_docs * (uint32_t)spec->bits + 31) / 32;
    struct rw_hist_matrix *matrix;
    uint32_t first = 0;
    RW_TRY(RW_NEW(ctx, matrix, 1));
    *out = matrix;
    matrix->bits = spec->bits;
    matrix->n_features = spec->n_features;
    matrix->n_docs = spec->n_docs;
    matrix->n_bins = spec->n_bins;
    if (spec->layouts & RW_HIST_COLUMNS)
        matrix->column_words = (words + 31) / 32 * 32;
    if (!(spec->layouts & RW_HIST_TILES))
        return RW_OK;
    if (spec->bits == 8 && spec->n_narrow > 0) {
        RW_TRY(add_tiles(ctx, matrix, 8, &first, spec->n_features - spec->n_narrow));
        return add_tiles(ctx, matrix, 4, &first, spec->n_features);
    }
    return add_tiles(ctx, matrix, spec->bits, &first, spec->n_features);
}

void rw_hist_matrix_free(struct rw_hist_matrix *matrix)
{
    if (!matrix)
        return;
    for (uint32_t t = 0; t < matrix->n_tiles; t++) {
        rw_device_free((void *)(uintptr_t)matrix->tile[t].d_word);
        rw_transfer_pinned_free((void *)(uintptr_t)matrix->tile[t].far_word);
    }
    rw_device_free((void *)(uintptr_t)matrix->d_column);
    rw_mem_free(matrix);
}

/* ---- codes in host memory ---- */
static uint32_t windows_of(uint32_t n_docs, int log_window)
{
    const uint64_t docs = (uint64_t)1 << log_window;
    return (uint32_t)((n_docs + docs - 1) >> log_window);
}

/* Returns the words of far->table. It has three words for each node of each window, and for each
 * node of the documents on the device. It has five more for each node (hist_lanes_far.cu). */
static uint64_t table_words(uint32_t n_windows)
{
    return (3 * ((uint64_t)n_windows + 1) + 5) * RW_HIST_MAX_NODES + 1;
}

uint64_t rw_hist_far_bytes(uint64_t piece_bytes, uint32_t n_docs, int log_window)
{
    return 2 * rw_hist_round_up(piece_bytes) +
           rw_hist_round_up((uint64_t)n_docs * sizeof(uint32_t)) +
           rw_hist_round_up(table_words(windows_of(n_docs, log_window)) * sizeof(uint32_t));
}

/* The stream has priority, since other work waits for the data that it fills. */
int rw_hist_far_open(struct rw_ctx *ctx, void *d_memory, uint64_t piece_bytes, uint32_t n_docs,
                     int log_window, uint64_t *bytes, struct rw_hist_far *out)
{
    char *d = d_memory;
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 2; i++) {
        out->d_piece[i] = d;
        d += rw_hist_round_up(piece_bytes);
    }
    out->piece_bytes = piece_bytes;
    out->bytes = bytes;
    out->log_window = log_window;
    out->n_windows = windows_of(n_docs, log_window);
    out->d_order = (uint32_t *)(void *)d;
    out->d_table = (uint32_t *)(void *)(d + rw_hist_round_up((uint64_t)n_docs * sizeof(uint32_t)));
    out->table_words = table_words(out->n_windows);
    RW_TRY(
        rw_transfer_pinned_in(ctx, &out->arena, &out->table, out->table_words * sizeof(uint32_t)));
    RW_TRY(rw_device_stream(ctx, &out->arena, 1, &out->stream));
    for (size_t i = 0; i < sizeof(out->event) / sizeof(out->event[0]); i++)
        RW_TRY(rw_device_event(ctx, &out->arena, 0, &out->event[i]));
    return RW_OK;
}

void rw_hist_far_close(struct rw_hist_far *far)
{
    if (far->stream)
        RW_CU_MAY_FAIL(cudaStreamSynchronize(far->stream));
    rw_arena_free(&far->arena);
    memset(far, 0, sizeof(*far));
}
