/* A histogram method that only counts, and so trains nothing: for the table of contention. */
#ifndef RW_LAB_PACKED_PRIVATE_H
#define RW_LAB_PACKED_PRIVATE_H

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct rw_hist_method rw_hist_packed_private;

#ifdef __cplusplus
}
#endif
#endif
