/* Stands in for what needs CUDA where it is not built in, so that nobody above needs an #if. */
#include "base/fpenv.h"
#include "bench/bench.h"

const struct rw_bench_suite *rw_bench_hist_suite(int i)
{
    (void)i;
    return NULL;
}

int rw_bench_hist(struct rw_ctx *ctx, const struct rw_bench_options *options, rw_bench_row_fn row,
                  void *user)
{
    RW_DEFAULT_FPENV;
    (void)options;
    (void)row;
    (void)user;
    return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                   "benches of histograms need a GPU, and this program is built without CUDA");
}

uint64_t rw_bench_free_bytes(int gpu)
{
    (void)gpu;
    return 0;
}
