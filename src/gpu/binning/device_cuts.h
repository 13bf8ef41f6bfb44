/* Makes cuts and codes on the device from raw values, identical to those of binning/bins.h, which
 * defines ranks, boundaries and true neighbours: positions in a sorted column. The host sends the
 * values, computes thresholds from the boundaries that the device finds, and counts the documents
 * of categories. */
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
    /* Existing codes by the boundaries of `cuts`, which have fewer bytes than values. Feature f of
     * `cuts` has the codes of feature code_of[f]. NULL: codes are made from values. */
    const struct rw_bins *codes;
    const uint32_t *code_of;
};
/* Makes the codes that rw_bins_make makes, on the device. Free *out with rw_hist_matrix_free.
 * counts: NULL, or [matrix.n_features][matrix.n_bins], written: documents of each code. */
int rw_cuda_bins_make(const struct rw_device *device, const struct rw_cuda_coding *coding,
                      uint64_t *counts, struct rw_hist_matrix **out);

/* Return the bytes of temporary device memory of rw_cuda_cuts_make and of rw_cuda_bins_make. */
uint64_t rw_cuda_cuts_bytes(const struct rw_dataset *dataset, int bins);
uint64_t rw_cuda_bins_bytes(const struct rw_cuda_coding *coding);

/* ---- Launchers; each returns a cudaError_t. `stream` is a cudaStream_t. ---- */

/* The values of a column, or the codes of a feature, on the host or on the device. */
struct rw_entries {
    const void *data;    /* [n] */
    const uint32_t *row; /* [n] their documents; NULL: all documents in order */
    uint32_t n, bytes;   /* bytes: size of one value (that of a float) or code (1 or 2) */
};

/* The search for one column's boundaries. */
struct rw_cuda_cut_job {
    uint32_t n_docs, n_sample; /* n_sample: documents whose values determine the ranks */
    uint32_t bins;             /* as in struct rw_cut_rule, like absent_missing */
    int absent_missing;
    const uint32_t *d_sample_row; /* [n_sample]; NULL: the sample is all documents */
    /* Scratch, [n_docs] or [n_sample]: keys of all documents and of the sample, the same in
     * ascending order (missing values last), the sample's distinct keys and their number. */
    uint32_t *d_key, *d_sample_key, *d_all, *d_sample, *d_unique, *d_n_unique;
    void *d_temp;                   /* [temp_bytes] */
    size_t temp_bytes;              /* at least rw_cuda_cut_temp_bytes */
    struct rw_cut_intervals *d_out; /* written: boundaries, and the counts between them */
};
size_t rw_cuda_cut_temp_bytes(const struct rw_cuda_cut_job *job);
int rw_cuda_cut_find(const struct rw_cuda_cut_job *job, const struct rw_entries *values,
                     void *stream);

struct rw_cuda_code_job {
    struct rw_entries from; /* values, or codes */
    uint32_t n_docs, n_cuts;
    const float *d_cut;              /* of values: [n_cuts] thresholds, at most RW_MAX_BINS */
    struct rw_special_codes special; /* documents that are not listed have the code `absent` */
    uint16_t *d_code;                /* [n_docs] scratch */
};
/* Makes the codes of feature f, and writes them to its tile and column, which must have code 0
 * there. Different features may be written at the same time. d_count: NULL, or [n_bins], to which
 * the documents of each code are added. */
int rw_cuda_code(const struct rw_cuda_code_job *job, const struct rw_hist_matrix *matrix,
                 uint32_t f, uint64_t *d_count, void *stream);

#ifdef __cplusplus
}
#endif
