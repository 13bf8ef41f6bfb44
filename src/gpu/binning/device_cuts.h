/* Cuts and codes made on the device from raw values that stream through it: the numbers of
 * binning/cuts.c and binning/bins.c, to the bit, without either's time on the host.
 *
 * Why: finding cuts is sorting and searching: a column's values are sorted; ranks, true neighbours
 * and counts are positions in the sorted column. Codes are found by binary search over the cuts,
 * and counted in a histogram a block. */
#ifndef RW_GPU_DEVICE_CUTS_H
#define RW_GPU_DEVICE_CUTS_H

#include "binning/bins.h"
#include "gpu/device/device.h"
#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rw_cuts_make: the same result in every byte. Takes about 20 bytes of device memory a document. */
int rw_cuda_cuts_make(struct rw_ctx *ctx, const struct rw_device *device,
                      const struct rw_dataset *dataset, const struct rw_cut_rule *rule,
                      struct rw_cuts **out);

struct rw_cuda_coding {
    const struct rw_dataset *dataset;
    const struct rw_cuts *cuts;
    int absent_missing;
    const uint32_t *feature;       /* [n_features] places in `cuts` of the matrix's features */
    uint32_t n_features, n_narrow; /* the last so many have at most 16 codes (8 bits only) */
    uint32_t n_bins;               /* at least as many as any of them has codes */
    int bits;                      /* 4, 8 or 16: what holds n_bins codes */
    int layouts;                   /* RW_HIST_TILES | RW_HIST_COLUMNS (hist_matrix.h) */
    /* NULL: from values. Else codes under the same cuts, which are fewer bytes to send: of feature
     * code_of[f] for the cuts' feature f. */
    const struct rw_bins *codes;
    const uint32_t *code_of;
};
/* The codes that rw_bins_make finds, in the layouts of rw_hist_matrix_new; freed with
 * rw_hist_matrix_free. counts: NULL, or [n_features][n_bins], written: documents of each code. */
int rw_cuda_bins_make(struct rw_ctx *ctx, const struct rw_device *device,
                      const struct rw_cuda_coding *coding, uint64_t *counts,
                      struct rw_hist_matrix **out);

/* Device memory that the two take and give back again, at most, beside the matrix. */
uint64_t rw_cuda_cuts_bytes(const struct rw_dataset *dataset, int bins);
uint64_t rw_cuda_bins_bytes(const struct rw_cuda_coding *coding);

/* ---- Launchers (device_cuts.cu); each returns a cudaError_t. `stream` is a cudaStream_t. ---- */

/* The values of a column as they came: [n], with the documents they belong to, or of all documents
 * if d_row is NULL. Both may be NULL if n is 0. */
struct rw_cuda_raw {
    const float *d_value;
    const uint32_t *d_row;
    uint32_t n, n_docs;
};

/* The key of a missing value: after those of all floats. */
#define RW_CUT_NO_KEY UINT32_MAX
/* d_key: [n_docs] */
int rw_cuda_cut_keys(const struct rw_cuda_raw *raw, int absent_missing, uint32_t *d_key,
                     void *stream);

struct rw_cuda_cut_job {
    uint32_t n_docs, n_sample;
    uint32_t bins;
    const uint32_t *d_sample_row; /* [n_sample]; NULL: the sample is all documents */
    const uint32_t *d_key;        /* [n_docs] */
    void *d_scratch;              /* rw_cuda_cut_bytes, 256-byte aligned */
    struct rw_cut_intervals *d_out;
};
size_t rw_cuda_cut_bytes(const struct rw_cuda_cut_job *job);
int rw_cuda_cut_find(const struct rw_cuda_cut_job *job, void *stream);

struct rw_cuda_code_job {
    struct rw_cuda_raw raw;
    const float *d_cut; /* [n_cuts] upper edges of the value bins, at most RW_MAX_BINS */
    uint32_t n_cuts;
    uint32_t missing, absent; /* codes */
    uint16_t *d_code;         /* [n_docs] written */
};
int rw_cuda_code(const struct rw_cuda_code_job *job, void *stream);

/* Listed codes of one or two bytes become one for each document. */
struct rw_cuda_widen_job {
    const uint32_t *d_row; /* [n] ascending documents; NULL: n is n_docs */
    const void *d_from;    /* [n] uint8_t or uint16_t */
    uint32_t n, n_docs;
    uint32_t code_bytes, rest; /* rest: the code of documents that are not listed */
    uint16_t *d_code;          /* [n_docs] written */
};
int rw_cuda_code_widen(const struct rw_cuda_widen_job *job, void *stream);
/* Codes into the bits [shift, shift + bits) of the elements of one lane of a tile (hist.h), where 0
 * stands; features of one tile may be written at the same time. */
int rw_cuda_code_tile(const uint16_t *d_code, uint32_t n_docs, int bits,
                      const struct rw_hist_tile *tile, uint32_t place, void *stream);
/* Codes into the words of a column. */
int rw_cuda_code_column(const uint16_t *d_code, uint32_t n_docs, int bits, uint32_t *d_column,
                        void *stream);
/* Documents of each code: d_count [n_bins], written; codes are under n_bins, at most
 * RW_HIST_MOST_BINS. */
int rw_cuda_code_count(const uint16_t *d_code, uint32_t n_docs, uint32_t n_bins, uint64_t *d_count,
                       void *stream);

#ifdef __cplusplus
}
#endif
#endif
