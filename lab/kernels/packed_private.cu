/* `packed-private`: a private histogram a thread, of 8-bit counters, four in a word.
 *
 * Why: privatized histograms (N. Wilt): 256 counters of 8 bits are 64 words a thread, so that 256
 * bins fit where 32-bit counters would not, and a thread's words lie in a bank of its own, so that
 * the rate is level whatever the data. Counts only.
 *
 * Shapes: columns [n_features][column_words]; shared [n_bins / 4][threads] words;
 * result [n_nodes][n_features][n_bins].
 *
 * Decomposition: a block a (job, feature); threads over words of codes, or over positions of the
 * list.
 * Before a counter can pass 255 the block gathers: thread r adds up row r, that is bins 4 r to 4 r
 * + 3, over the threads, two counters at a time in halves of a word, starting at its own number so
 * that a warp touches 32 banks; it keeps the four totals in registers and adds them to the result
 * at the end. */
#include "lab/kernels/lab_block.cuh"
#include "lab/kernels/lab_methods.h"

enum {
    HIST_PACKED_THREADS = 64, /* the slides' */
    HIST_PACKED_UNROLL = 8,   /* words in flight a thread */
    HIST_PACKED_MOST_BINS = 256,
    /* Documents of a thread between two gatherings: with the 2 at the ends of a range, under 255.
     */
    HIST_PACKED_ROUND = 248
};
static_assert((HIST_PACKED_THREADS & (HIST_PACKED_THREADS - 1)) == 0, "columns wrap by a mask");
static_assert(HIST_PACKED_THREADS * 4 >= HIST_PACKED_MOST_BINS, "a thread gathers one row");
static_assert(HIST_PACKED_THREADS * 255 < 65536, "half words hold a row's sum");
static_assert(HIST_PACKED_MOST_BINS * HIST_PACKED_THREADS <= 48 * 1024, "shared memory of a block");

__global__ void __launch_bounds__(HIST_PACKED_THREADS)
    hist_packed_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const uint32_t tid = threadIdx.x;
    const uint32_t n_rows = (a.n_bins + 3) / 4;
    uint32_t *const own = memory + tid;
    for (uint32_t r = 0; r < n_rows; r++)
        own[r * HIST_PACKED_THREADS] = 0;
    uint32_t total[4] = {0, 0, 0, 0};
    const uint64_t step = (uint64_t)HIST_PACKED_ROUND * HIST_PACKED_THREADS;
    for (uint64_t lo = work.lo; lo < work.hi; lo += step) { /* alike for the whole block */
        const uint64_t hi = work.hi - lo < step ? work.hi : lo + step;
        hist_visit_any<RW_HIST_COUNT, HIST_PACKED_UNROLL>(
            a, work, lo, hi, [&](uint32_t code, const struct hist_item &) {
                own[(code >> 2) * HIST_PACKED_THREADS] += 1u << ((code & 3) * 8);
            });
        __syncthreads();
        if (tid < n_rows) {
            uint32_t sum02 = 0, sum13 = 0;
            for (uint32_t i = 0; i < HIST_PACKED_THREADS; i++) {
                uint32_t *const cell =
                    memory + tid * HIST_PACKED_THREADS + ((i + tid) & (HIST_PACKED_THREADS - 1));
                const uint32_t four = *cell;
                *cell = 0;
                sum02 += four & 0x00ff00ffu;
                sum13 += (four >> 8) & 0x00ff00ffu;
            }
            total[0] += sum02 & 0xffffu;
            total[1] += sum13 & 0xffffu;
            total[2] += sum02 >> 16;
            total[3] += sum13 >> 16;
        }
        __syncthreads();
    }
    const size_t row = hist_row(a, work);
#pragma unroll
    for (uint32_t j = 0; j < 4; j++) {
        if (tid < n_rows && 4 * tid + j < a.n_bins && total[j] > 0)
            atomicAdd(a.d_count + row + 4 * tid + j, total[j]);
    }
}

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    (void)call; /* counts are all there is */
    return {hist_packed_kernel, HIST_PACKED_THREADS,
            (args->n_bins + 3) / 4 * HIST_PACKED_THREADS * sizeof(uint32_t)};
}

const struct rw_hist_method rw_hist_packed_private = {
    .name = "packed-private",
    .most_bins = HIST_PACKED_MOST_BINS,
    .sums = 1u << RW_HIST_COUNT,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = hist_in_place<launch_of>,
};
