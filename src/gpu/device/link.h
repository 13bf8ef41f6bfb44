/* Launchers of cu_link.cu, for link.c. */
#ifndef RW_GPU_LINK_H
#define RW_GPU_LINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_LINK_ROW_BYTES = 128, RW_LINK_STEP = 4 };

/* Of d_to. */
size_t rw_cuda_link_bytes(int n_multiprocessors);
/* Reads n_rows rows, one in RW_LINK_STEP. from: page-locked. A cudaError_t. */
int rw_cuda_link_gather(const void *from, uint64_t n_rows, int n_multiprocessors, void *d_to,
                        void *stream);

#ifdef __cplusplus
}
#endif
#endif
