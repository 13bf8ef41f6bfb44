/* One timed histogram of raw values, for the suite `general`: on the host, or on the device with
 * the transfers there and back, as the fifth document takes its times. */
#pragma once

#include "lab/lab.h"
#include "gpu/device/device.h"
#include "lab/kernels/values.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figure 7 of the document. */
enum rw_general_distribution {
    RW_GENERAL_UNIFORM,
    RW_GENERAL_NORMAL, /* narrow: sigma is 1 / 80 of the range of the values */
    RW_GENERAL_SORTED, /* uniform, in sorted chunks */
    RW_GENERAL_DISTRIBUTIONS
};
const char *rw_general_distribution_name(enum rw_general_distribution distribution);

/* serial, cpu (all cores), privatized, sort-search. */
enum {
    RW_GENERAL_SERIAL,
    RW_GENERAL_CPU,
    RW_GENERAL_PRIVATIZED,
    RW_GENERAL_SORT,
    RW_GENERAL_METHODS
};
extern const char *const rw_general_methods[RW_GENERAL_METHODS + 1]; /* NULL at the end */

struct rw_general_point {
    enum rw_values_type type; /* u8, i32 or f64 */
    enum rw_general_distribution distribution;
    uint64_t n;
    uint32_t n_bins; /* even widths over the range of the values */
    int method;
    enum rw_values_partition partition;
    uint32_t n_streams; /* 0: all is sent, then counted; else in chunks, over so many streams */
};

/* NaN: does not apply. */
struct rw_general_times {
    struct rw_bench_times total; /* from values on the host to counts on the host, by its clock */
    double kernel_ms;            /* on the device, by its events */
    uint64_t n_timed;            /* values that the host was timed over; the time is scaled to n */
};

struct rw_general;
/* Room for most_bytes bytes of values and most_bins bins. */
int rw_general_new(struct rw_lab *lab, size_t most_bytes, uint32_t most_bins,
                   struct rw_general **out);
void rw_general_free(struct rw_general *general);
int rw_general_time(struct rw_general *general, const struct rw_general_point *point,
                    struct rw_general_times *out);
/* Whole times of the methods 1 << method of `methods`, to be set side by side: they take turns, so
 * that what changes with time (clocks, other work of the machine) meets them alike, and a median is
 * over all turns. A method that is hopeless in the first turn has no further one. The point's own
 * method and streams are not looked at. ms: written for these methods. */
int rw_general_compare(struct rw_general *general, const struct rw_general_point *point,
                       unsigned methods, double ms[RW_GENERAL_METHODS]);
/* Transfers alone. */
int rw_general_transfer(struct rw_general *general, const struct rw_general_point *point,
                        double *ms);

#ifdef __cplusplus
}
#endif
