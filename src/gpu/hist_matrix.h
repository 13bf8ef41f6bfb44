/* A group's codes on the device, in the layouts that histogram methods read. */
#ifndef RW_GPU_HIST_MATRIX_H
#define RW_GPU_HIST_MATRIX_H

#include "gpu/device.h"
#include "gpu/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_HIST_TILES = 1, RW_HIST_COLUMNS = 2 };

/* codes: [n_features] of [n_docs], each code < n_bins; n_bins <= 2^bits. layouts: which to make.
 * Tiles are cut by powers of two, so that few lanes are wasted: 136 features of 8 bits are one tile
 * of 32 lanes and one of 2. */
int rw_hist_matrix_new(struct rw_ctx *ctx, const struct rw_device *device, int bits,
                       uint32_t n_features, uint32_t n_docs, uint32_t n_bins,
                       const uint16_t *const *codes, int layouts, struct rw_hist_matrix **out);
void rw_hist_matrix_free(struct rw_hist_matrix *matrix);

/* The tiles' lanes for so many features at so many codes an element: most first. Returns their number;
 * lanes: [RW_HIST_MAX_TILES]. */
uint32_t rw_hist_tile_lanes(uint32_t n_features, int n_codes, uint32_t *lanes);

#ifdef __cplusplus
}
#endif
#endif
