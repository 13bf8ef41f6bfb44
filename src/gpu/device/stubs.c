/* Replaces the functions of the CUDA files that other files call, in builds without CUDA. So the
 * callers need no #if. */

#include "gpu/device/device.h"
#include "model/scorer.h"
#include "tree/engine.h"

int rw_device_check_cuda(struct rw_ctx *ctx, int number)
{
    (void)number;
    return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                   "device 'cuda' is not available: this program was built without CUDA\nhint: "
                   "device cpu trains the same model");
}

int rw_engine_open_cuda(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    *out = NULL;
    return rw_device_check_cuda(ctx, device);
}

uint64_t rw_device_free_bytes(int number)
{
    (void)number;
    return 0;
}

int rw_device_link(struct rw_ctx *ctx, int number, double *rate)
{
    *rate = 0.0;
    return rw_device_check_cuda(ctx, number);
}

int rw_device_scorer_open_cuda(struct rw_ctx *ctx, const struct rw_flat *flat, int device,
                               struct rw_device_scorer **out)
{
    (void)flat;
    *out = NULL;
    return rw_device_check_cuda(ctx, device);
}

int rw_nccl_find(char *text, size_t size)
{
    snprintf(text, size, "this program was built without CUDA");
    return 0;
}

void rw_cuda_find(struct rw_cuda_facts *out)
{
    *out = (struct rw_cuda_facts){.why_not = "this program was built without CUDA"};
}

int rw_cuda_runtime(void)
{
    return 0;
}

int rw_device_find(int number, struct rw_device_facts *out)
{
    (void)number;
    *out = (struct rw_device_facts){0};
    return 0;
}
