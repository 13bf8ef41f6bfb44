/* A histogram method that only counts, and so trains nothing: for the table of contention. */
#pragma once

#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct rw_hist_method rw_hist_packed_private;

#ifdef __cplusplus
}
#endif
