/* Makes cuts and codes on the device from raw values. They are identical to those of
 * binning/bins.h, which defines ranks, boundaries and true neighbours. The host sends the values,
 * computes thresholds from the boundaries that the device finds, and counts the documents of
 * categories.
 *
 * Finding boundaries is sorting and searching. A column's values are sorted; ranks, true neighbours
 * and counts are positions in the sorted column. Codes are found by binary search over the
 * thresholds, and counted in a histogram per block. */
#pragma once

#include "binning/bins.h"
#include "gpu/device/device.h"
#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the cuts that rw_cuts_make makes, byte for byte. It needs rw_cuda_cuts_bytes of temporary
 * device memory. */
int rw_cuda_cuts_make(const struct rw_device *device, const struct rw_dataset *dataset,
                      const struct rw_cut_rule *rule, struct rw_cuts **out);

/* The input of rw_cuda_bins_make. */
struct rw_cuda_coding {
    const struct rw_dataset *dataset;
    const struct rw_cuts *cuts;
    int absent_missing; /* as in struct rw_cut_rule */
    struct rw_hist_matrix_spec matrix;
    const uint32_t *feature; /* [matrix.n_features] indices into `cuts` */
    /* Existing codes that were made with the boundaries of `cuts`; they have fewer bytes to send
     * than values. Feature f of `cuts` has the codes of feature code_of[f]. NULL: codes are made
     * from values. */
    const struct rw_bins *codes;
    const uint32_t *code_of;
};
/* Makes the codes that rw_bins_make makes, on the device. Free *out with rw_hist_matrix_free.
 * counts: NULL, or [matrix.n_features][matrix.n_bins], written: documents of each code. */
int rw_cuda_bins_make(const struct rw_device *device, const struct rw_cuda_coding *coding,
                      uint64_t *counts, struct rw_hist_matrix **out);

/* Return the largest temporary device memory, in bytes, of rw_cuda_cuts_make and of
 * rw_cuda_bins_make. The matrix that rw_cuda_bins_make returns is not included. */
uint64_t rw_cuda_cuts_bytes(const struct rw_dataset *dataset, int bins);
uint64_t rw_cuda_bins_bytes(const struct rw_cuda_coding *coding);

/* ---- Launchers (device_cuts.cu); each returns a cudaError_t. `stream` is a cudaStream_t. ---- */

/* A column's entries as they were sent: values or codes, of all documents or of listed ones.
 * d_data: [n] values or codes. d_row: [n] their documents; NULL: all n_docs documents in order.
 * Both may be NULL if n is 0. */
struct rw_cuda_entries {
    const void *d_data;
    const uint32_t *d_row;
    uint32_t n, n_docs;
};

/* The search for one column's boundaries. */
struct rw_cuda_cut_job {
    uint32_t n_docs, n_sample; /* n_sample: documents whose values determine the ranks */
    uint32_t bins;             /* as in struct rw_cut_rule, like absent_missing */
    int absent_missing;
    const uint32_t *d_sample_row;   /* [n_sample]; NULL: the sample is all documents */
    uint32_t *d_key;                /* [n_docs] scratch */
    void *d_scratch;                /* rw_cuda_cut_bytes, 256-byte aligned */
    struct rw_cut_intervals *d_out; /* written: boundaries, and the counts between them */
};
/* Returns the bytes of d_scratch. */
size_t rw_cuda_cut_bytes(const struct rw_cuda_cut_job *job);
int rw_cuda_cut_find(const struct rw_cuda_cut_job *job, const struct rw_cuda_entries *values,
                     void *stream);

struct rw_cuda_code_job {
    struct rw_cuda_entries from; /* values, or codes of code_bytes each */
    uint32_t code_bytes;         /* 0: values */
    uint32_t n_cuts;
    const float
        *d_cut; /* of values: [n_cuts] thresholds above the value bins, at most RW_MAX_BINS */
    struct rw_special_codes special; /* documents that are not listed have the code `absent` */
    uint16_t *d_code;                /* [n_docs] written */
};
/* Writes job->d_code. */
int rw_cuda_code(const struct rw_cuda_code_job *job, void *stream);
/* Writes the codes of feature f to the matrix's tile and column, which must have code 0 there.
 * Different features may be written at the same time. d_count: NULL, or [n_bins], to which the
 * documents of each code are added. */
int rw_cuda_code_put(const uint16_t *d_code, const struct rw_hist_matrix *matrix, uint32_t f,
                     uint64_t *d_count, void *stream);

#ifdef __cplusplus
}
#endif
