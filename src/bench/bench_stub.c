/* Stands in for the benches where CUDA is not built in, so that nobody above needs an #if. */
#include "base/status.h"

int rw_bench_suite_at(int i, const char **name, const char **about)
{
    (void)i;
    *name = *about = NULL;
    return 0;
}

int rw_bench_hist(struct rw_ctx *ctx, const struct rw_bench_options *options, rw_bench_row_fn row,
                  void *user)
{
    (void)options;
    (void)row;
    (void)user;
    return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                   "benches of histograms need a GPU, and this program is built without CUDA");
}
