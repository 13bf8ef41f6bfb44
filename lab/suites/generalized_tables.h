/* What the third document prints: Table I (M and S of the model) and Table II (CUB's times and the
 * speed beside it), on its RTX 2080 Ti. Henriksen et al., section V. */
#pragma once

#include <stdint.h>

#include "lab/kernels/multi_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RW_GENERALIZED_SIZES = 12,
    RW_GENERALIZED_SHARED = 8, /* the first sizes of Table I are in shared memory, */
    RW_GENERALIZED_GLOBAL = 7, /* the last ones in global memory */
    RW_GENERALIZED_ENTRIES = 3 * RW_GENERALIZED_SHARED + 3 * 2 * RW_GENERALIZED_GLOBAL
};

extern const struct rw_multi_figures rw_generalized_device;
/* "2K" is 2047 here, the rest are multiples of 1024 as printed. */
extern const uint32_t rw_generalized_bins[RW_GENERALIZED_SIZES];

struct rw_generalized_entry {
    enum rw_multi_memory memory;
    enum rw_multi_strategy strategy;
    uint32_t race; /* 0: any (shared memory; one row of the table for hardware and CAS) */
    uint32_t n_bins;
    uint64_t m, s;
};
extern const struct rw_generalized_entry rw_generalized_table_1[RW_GENERALIZED_ENTRIES];

/* Table II: CUB, in ms, and how many times faster the document's own code is at RF 1 and 63. */
extern const double rw_generalized_cub_ms[RW_MULTI_STRATEGIES][RW_GENERALIZED_SIZES];
extern const double rw_generalized_speedup[RW_MULTI_STRATEGIES][2][RW_GENERALIZED_SIZES];

#ifdef __cplusplus
}
#endif
