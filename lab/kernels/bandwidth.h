/* How fast this device reads its memory: what rates of histograms are compared with. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Enqueues one reading of d_from, `bytes` bytes, 16-byte aligned, a multiple of 16, on the
 * cudaStream_t. d_sink: one word, changed hardly ever; it keeps the reads from being left out.
 * Returns a cudaError_t. */
int rw_cuda_read(const void *d_from, size_t bytes, uint32_t *d_sink, int n_multiprocessors,
                 void *stream);

#ifdef __cplusplus
}
#endif
