/* Finds the boundaries of columns, and makes codes, from raw values, by the rules of
 * binning/bins.h. A rank is an index floor(k n / bins) in the sorted sample, for k = 1 to bins - 1.
 * Values are compared as integer keys (base/bits.h).
 *
 * Decomposition: a thread per value or document. CUB (a library of the CUDA toolkit) sorts and
 * selects. One block with a thread per rank finds the boundaries. Ranks form runs of equal values.
 * The first rank of a run gives a boundary at the run's value, each further rank one at the next
 * larger value, and duplicates are removed. */
#include <cub/block/block_scan.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>

#include "base/bits.h"
#include "gpu/binning/device_cuts.h"
#include "gpu/device/kernel.cuh"

enum { THREADS = 256, RANKS = RW_MAX_BOUNDS + 1, BLOCKS_MOST = 4096 };
/* Minimum documents of a block that counts codes, compared with which its cells cost little. */
enum { COUNTED_DOCS = 8192 };

static unsigned blocks_of(uint64_t n)
{
    return blocks_up_to(BLOCKS_MOST, n, THREADS);
}

template <typename T>
__global__ void __launch_bounds__(THREADS) fill_kernel(T rest, uint32_t n_docs, T *d_to)
{
    for (uint64_t i = grid_first<THREADS>(); i < n_docs; i += grid_step<THREADS>())
        d_to[i] = rest;
}

/* Writes `rest` for all documents if some of them may have no entry. */
template <typename T>
static void fill_rest(const struct rw_entries *entries, uint32_t rest, uint32_t n_docs, T *d_to,
                      cudaStream_t stream)
{
    if (entries->row || entries->n == 0)
        fill_kernel<T><<<blocks_of(n_docs), THREADS, 0, stream>>>((T)rest, n_docs, d_to);
}

/* The key of a missing value is above those of all floats. */
enum : uint32_t { NO_KEY = UINT32_MAX };

__global__ void __launch_bounds__(THREADS)
    cut_keys_kernel(const struct rw_entries values, int absent_missing, uint32_t *d_key)
{
    for (uint64_t i = grid_first<THREADS>(); i < values.n; i += grid_step<THREADS>()) {
        const float value = ((const float *)values.data)[i];
        uint32_t key = rw_key_of_float(value);
        if (value != value)
            key = absent_missing || __float_as_uint(value) != RW_ABSENT_BITS ? NO_KEY
                                                                             : RW_KEY_OF_ZERO;
        d_key[values.row ? values.row[i] : i] = key;
    }
}

/* ---- cuts ---- */

__global__ void __launch_bounds__(THREADS)
    cut_sample_kernel(const uint32_t *d_key, const uint32_t *d_row, uint32_t n, uint32_t *d_sample)
{
    for (uint64_t i = grid_first<THREADS>(); i < n; i += grid_step<THREADS>())
        d_sample[i] = d_key[d_row[i]];
}

/* Returns the key of the boundary of rank number k, 1 <= k < bins; 0: none. n: number of sampled
 * values that are not missing. */
RW_DEVICE uint32_t bound_of_rank(const struct rw_cuda_cut_job &s, uint32_t n, uint32_t k)
{
    const uint32_t here = s.d_sample[(uint64_t)k * n / s.bins];
    const bool first = k == 1 || s.d_sample[(uint64_t)(k - 1) * n / s.bins] != here;
    if (first)
        return here != s.d_sample[0] ? here : 0;
    const uint32_t after = rw_numbers_under(s.d_sample, n, here + 1ull);
    return after < n ? s.d_sample[after] : 0;
}

__global__ void __launch_bounds__(RANKS) cut_bounds_kernel(const struct rw_cuda_cut_job s)
{
    using scan = cub::BlockScan<uint32_t, RANKS>;
    __shared__ typename scan::TempStorage shared;
    __shared__ uint32_t n_runs, n_sampled, n_valid;
    __shared__ uint32_t n_under[RANKS]; /* values under each boundary */
    const uint32_t k = threadIdx.x;
    if (k == 0) {
        const uint32_t n = *s.d_n_unique;
        n_runs = n > 0 && s.d_unique[n - 1] == NO_KEY ? n - 1 : n;
    } else if (k == 32) {
        n_sampled = rw_numbers_under(s.d_sample, s.n_sample, NO_KEY);
    } else if (k == 64) {
        n_valid = rw_numbers_under(s.d_all, s.n_docs, NO_KEY);
    }
    __syncthreads();
    uint32_t bound = 0;
    if (n_runs <= s.bins) {
        if (k >= 1 && k < n_runs)
            bound = s.d_unique[k];
    } else if (k >= 1 && k < s.bins) {
        bound = bound_of_rank(s, n_sampled, k);
    }
    /* Boundaries ascend over the ranks, except that ranks without a boundary have 0. */
    uint32_t before, at, n_bounds;
    scan(shared).ExclusiveScan(bound, before, 0u,
                               [](uint32_t a, uint32_t b) { return a > b ? a : b; });
    __syncthreads();
    const uint32_t is_new = bound > before ? 1 : 0;
    scan(shared).ExclusiveSum(is_new, at, n_bounds);
    if (is_new) {
        const uint32_t under = rw_numbers_under(s.d_all, n_valid, bound);
        n_under[at] = under;
        s.d_out->bound[at] = bound;
        s.d_out->below[at] = under > 0 ? s.d_all[under - 1] : 0;
    }
    __syncthreads();
    if (k <= n_bounds) {
        const uint32_t end = k < n_bounds ? n_under[k] : n_valid;
        s.d_out->count[k] = end - (k > 0 ? n_under[k - 1] : 0);
    }
    if (k == 0) {
        s.d_out->n_bounds = n_bounds;
        s.d_out->n_missing = s.n_docs - n_valid;
    }
}

extern "C" size_t rw_cuda_cut_temp_bytes(const struct rw_cuda_cut_job *job)
{
    const uint32_t *const none = NULL;
    const uint64_t most = job->n_docs > job->n_sample ? job->n_docs : job->n_sample;
    size_t sort_bytes = 0, select_bytes = 0;
    (void)cub::DeviceRadixSort::SortKeys(NULL, sort_bytes, none, (uint32_t *)NULL, most);
    (void)cub::DeviceSelect::Unique(NULL, select_bytes, none, (uint32_t *)NULL, (uint32_t *)NULL,
                                    (int64_t)job->n_sample);
    return sort_bytes > select_bytes ? sort_bytes : select_bytes;
}

extern "C" int rw_cuda_cut_find(const struct rw_cuda_cut_job *job, const struct rw_entries *values,
                                void *stream)
{
    cudaStream_t const on = (cudaStream_t)stream;
    size_t bytes = job->temp_bytes;
    fill_rest(values, job->absent_missing ? NO_KEY : RW_KEY_OF_ZERO, job->n_docs, job->d_key, on);
    TRY_CUDA(cudaGetLastError());
    if (values->n > 0)
        TRY_CUDA(launch_grid(cut_keys_kernel, blocks_of(values->n), THREADS, stream, *values,
                             job->absent_missing, job->d_key));
    TRY_CUDA(cub::DeviceRadixSort::SortKeys(job->d_temp, bytes, (const uint32_t *)job->d_key,
                                            job->d_all, (uint64_t)job->n_docs, 0, 32, on));
    TRY_CUDA(cudaMemsetAsync(job->d_n_unique, 0, sizeof *job->d_n_unique, on));
    if (job->d_sample_row && job->n_sample > 0) {
        TRY_CUDA(launch_grid(cut_sample_kernel, blocks_of(job->n_sample), THREADS, stream,
                             job->d_key, job->d_sample_row, job->n_sample, job->d_sample_key));
        TRY_CUDA(cub::DeviceRadixSort::SortKeys(job->d_temp, bytes,
                                                (const uint32_t *)job->d_sample_key, job->d_sample,
                                                (uint64_t)job->n_sample, 0, 32, on));
    }
    if (job->n_sample > 0)
        TRY_CUDA(cub::DeviceSelect::Unique(job->d_temp, bytes, (const uint32_t *)job->d_sample,
                                           job->d_unique, job->d_n_unique, (int64_t)job->n_sample,
                                           on));
    /* The kernel writes as many boundaries as there are, but the host reads the whole record. */
    TRY_CUDA(cudaMemsetAsync(job->d_out, 0, sizeof *job->d_out, on));
    return launch_grid(cut_bounds_kernel, 1, RANKS, stream, *job);
}

/* ---- codes ---- */

__global__ void __launch_bounds__(THREADS) code_kernel(const struct rw_cuda_code_job job)
{
    __shared__ float cut[RW_MAX_BINS];
    for (uint32_t b = threadIdx.x; b < job.n_cuts; b += THREADS)
        cut[b] = job.d_cut[b];
    __syncthreads();
    for (uint64_t i = grid_first<THREADS>(); i < job.from.n; i += grid_step<THREADS>()) {
        uint32_t code;
        if (job.from.bytes == sizeof(uint8_t)) {
            code = ((const uint8_t *)job.from.data)[i];
        } else if (job.from.bytes == sizeof(uint16_t)) {
            code = ((const uint16_t *)job.from.data)[i];
        } else {
            const float value = ((const float *)job.from.data)[i];
            code = value == value                             ? rw_bin_of(cut, job.n_cuts, value)
                   : __float_as_uint(value) == RW_ABSENT_BITS ? job.special.absent
                                                              : job.special.missing;
        }
        job.d_code[job.from.row ? job.from.row[i] : i] = (uint16_t)code;
    }
}

/* Writes one feature's codes into a tile. Two features of 4 bits, which may be written at the same
 * time, share bytes, so this takes atomics. */
__global__ void __launch_bounds__(THREADS)
    code_tile_kernel(const uint16_t *d_code, uint32_t n_docs, int bits, uint32_t lanes,
                     uint32_t lane, uint32_t shift, void *d_word)
{
    for (uint64_t i = grid_first<THREADS>(); i < n_docs; i += grid_step<THREADS>()) {
        const uint64_t element = i * lanes + lane;
        const uint32_t code = d_code[i];
        if (bits == 16)
            ((uint16_t *)d_word)[element] = (uint16_t)code;
        else if (bits == 8)
            ((uint8_t *)d_word)[element * 4 + shift / 8] = (uint8_t)code;
        else
            atomicOr((uint32_t *)d_word + element, code << shift);
    }
}

__global__ void __launch_bounds__(THREADS)
    code_column_kernel(const uint16_t *d_code, uint32_t n_docs, uint32_t bits, uint32_t *d_column)
{
    const uint32_t n_codes = 32 / bits;
    const uint64_t n_words = ((uint64_t)n_docs + n_codes - 1) / n_codes;
    for (uint64_t w = grid_first<THREADS>(); w < n_words; w += grid_step<THREADS>()) {
        uint32_t word = 0;
        for (uint32_t j = 0; j < n_codes && w * n_codes + j < n_docs; j++)
            word |= (uint32_t)d_code[w * n_codes + j] << (j * bits);
        d_column[w] = word;
    }
}

/* Counts the documents of each code, fewer than 2^32 in a block. */
__global__ void __launch_bounds__(THREADS)
    code_count_kernel(const uint16_t *d_code, uint32_t n_docs, uint32_t n_bins,
                      unsigned long long *d_count)
{
    __shared__ uint32_t count[RW_HIST_MOST_BINS];
    for (uint32_t b = threadIdx.x; b < n_bins; b += THREADS)
        count[b] = 0;
    __syncthreads();
#pragma unroll 4
    for (uint64_t i = grid_first<THREADS>(); i < n_docs; i += grid_step<THREADS>())
        atomicAdd(count + d_code[i], 1u);
    __syncthreads();
    for (uint32_t b = threadIdx.x; b < n_bins; b += THREADS)
        if (count[b] > 0)
            atomicAdd(d_count + b, (unsigned long long)count[b]);
}

extern "C" int rw_cuda_code(const struct rw_cuda_code_job *job, const struct rw_hist_matrix *m,
                            uint32_t f, uint64_t *d_count, void *stream)
{
    cudaStream_t const on = (cudaStream_t)stream;
    const uint64_t n_words = ((uint64_t)m->n_docs * (unsigned)m->bits + 31) / 32;
    fill_rest(&job->from, job->special.absent, job->n_docs, job->d_code, on);
    if (job->from.n > 0)
        code_kernel<<<blocks_of(job->from.n), THREADS, 0, on>>>(*job);
    for (uint32_t t = 0; t < m->n_tiles; t++) {
        const struct rw_hist_tile *tile = &m->tile[t];
        const uint32_t k = f - tile->first_feature;
        if (f >= tile->first_feature && k < tile->n_features)
            code_tile_kernel<<<blocks_of(m->n_docs), THREADS, 0, on>>>(
                job->d_code, m->n_docs, tile->bits, tile->lanes, k % tile->lanes,
                k / tile->lanes * (uint32_t)tile->bits, (void *)tile->d_word);
    }
    if (m->d_column)
        code_column_kernel<<<blocks_of(n_words), THREADS, 0, on>>>(
            job->d_code, m->n_docs, (uint32_t)m->bits,
            (uint32_t *)m->d_column + f * m->column_words);
    if (d_count && m->n_docs > 0)
        code_count_kernel<<<blocks_up_to(BLOCKS_MOST, m->n_docs, COUNTED_DOCS), THREADS, 0, on>>>(
            job->d_code, m->n_docs, m->n_bins, (unsigned long long *)d_count);
    return cudaGetLastError();
}
