/* What the suite `generalized` has on the device: inputs made there, and CUB's answers to the same
 * questions. All return a cudaError_t and enqueue on the cudaStream_t. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* element[i]: 32 random bits of (seed, i). */
int rw_cuda_lab_elements(uint64_t seed, uint32_t n, uint32_t *d_element, void *stream);
/* index[i] = (element[i] mod max(1, n_bins / race)) race: section V-A of Henriksen et al. */
int rw_cuda_lab_indexes(const uint32_t *d_element, uint32_t n, uint32_t n_bins, uint32_t race,
                        uint32_t *d_index, void *stream);
/* Small sums: 1 or 2 by the element's highest bit. */
int rw_cuda_lab_small(const uint32_t *d_element, uint32_t n, uint32_t *d_value, void *stream);
/* rw_gen_pair of each element as a signed number and its place. */
int rw_cuda_lab_pairs(const uint32_t *d_element, uint32_t n, uint64_t *d_pair, void *stream);

/* CUB's convention: with d_temp NULL only *temp_bytes is set. */
struct rw_lab_cub {
    void *d_temp;
    size_t temp_bytes;
    uint32_t n, n_bins;
    const uint32_t *d_index; /* [n] */
    const void *d_value;     /* [n] uint32_t (sat24) or uint64_t pairs (argmax) */
    uint32_t *d_sorted;      /* [n] */
    void *d_sorted_value;    /* [n] */
    uint32_t *d_key;         /* [n_bins] the bins that have elements */
    void *d_result;          /* [n_bins] counts of all bins; sums or pairs of those with elements */
    uint32_t *d_n_keys;
};
/* DeviceHistogram::HistogramEven over n_bins levels of width 1. */
int rw_cuda_cub_even(struct rw_lab_cub *cub, void *stream);
/* DeviceRadixSort::SortPairs over the bits that the bins have, then DeviceReduce::ReduceByKey. */
int rw_cuda_cub_sat24(struct rw_lab_cub *cub, void *stream);
int rw_cuda_cub_argmax(struct rw_lab_cub *cub, void *stream);

#ifdef __cplusplus
}
#endif
