/* Generalized histograms on the host, one element after another (Figure 1b of Henriksen et al.):
 * what the device must equal. */
#pragma once

#include "lab/kernels/generalized.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays are on the host, of the shapes of struct rw_gen_call; out is written whole. */
struct rw_gen_serial {
    enum rw_gen_op op;
    uint64_t n;
    uint32_t n_bins, n_out, width;
    const uint32_t *index;
    const void *value; /* NULL: ones */
    void *out;
};
void rw_gen_serial_run(const struct rw_gen_serial *job);

/* Bins that the groups of a sample touch, each group's counted by itself. mark: [n_bins] bytes of
 * room. */
uint64_t rw_gen_serial_touched(const uint32_t *index, uint32_t n_bins,
                               const struct rw_multi_sample *sample, unsigned char *mark);

#ifdef __cplusplus
}
#endif
