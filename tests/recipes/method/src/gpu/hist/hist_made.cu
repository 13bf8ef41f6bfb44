/* `made`: a warp a feature of a job, which adds its documents to the result. A made method, which
 * the recipe of gpu/hist/hist.h alone adds to a copy of the tree: see tests/recipes. */
#include "gpu/hist/hist_block.cuh"

template <int BITS, int SUMS>
__global__ void made_kernel(const __grid_constant__ struct rw_hist_args a)
{
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const size_t row = hist_row(a, work);
    hist_visit<BITS, SUMS, 1>(a, work, work.lo, work.hi,
                              [&](uint32_t code, const struct hist_item &item) {
                                  atomicAdd(a.d_count + row + code, 1u);
                                  for (int k = 0; k < hist_numbers(SUMS); k++)
                                      hist_add_result<SUMS>(a, k, row + code, item.number[k]);
                              });
}

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(made_kernel);
    (void)args;
    return {kernel[hist_width(call)][call->sums], 32, 0};
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_in_place(call, launch_of, 0, stream);
}

const struct rw_hist_method rw_hist_made = {
    .name = "made",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = RW_HIST_ANY_SUMS,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
};
