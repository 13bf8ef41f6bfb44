/* Stands in for the CUDA engine, so that nobody above needs an #if. */
#include "base/status.h"
#include "tree/engine.h"

int rw_engine_open_cuda(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    (void)device;
    *out = NULL;
    return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                   "device 'cuda' is not there: this program was built without CUDA\n"
                   "hint: device cpu gives the same model");
}
