/* A group's codes on the device, in the layouts that histogram methods read. */
#ifndef RW_GPU_HIST_MATRIX_H
#define RW_GPU_HIST_MATRIX_H

#include "gpu/device/device.h"
#include "gpu/hist/hist.h"

enum { RW_HIST_TILES = 1, RW_HIST_COLUMNS = 2 };

struct rw_hist_matrix_spec {
    int bits;
    uint32_t n_features, n_docs;
    uint32_t n_bins;   /* codes of a feature, at most; <= 2^bits */
    uint32_t n_narrow; /* the last so many features have at most 16 codes (8 bits only) */
    int layouts;       /* which to make */
};

/* codes: [n_features] of [n_docs], each under n_bins. Tiles are cut by powers of two: 136 features
 * of 8 bits are one tile of 32 lanes and one of 2. Narrow features fill up the last wide tile, the
 * others stand in tiles of 4 bits. */
int rw_hist_matrix_new(struct rw_ctx *ctx, const struct rw_device *device,
                       const struct rw_hist_matrix_spec *spec, const uint16_t *const *codes,
                       struct rw_hist_matrix **out);
void rw_hist_matrix_free(struct rw_hist_matrix *matrix);

/* Plans matrix->tile, all but the words; the first n_wide features may have n_bins codes, the
 * others at most 16. RW_ERR_UNSUPPORTED for too many features. */
int rw_hist_matrix_tiles(struct rw_ctx *ctx, struct rw_hist_matrix *matrix, uint32_t n_wide);
#endif
