#include "train/choose_device.h"

#include <string.h>

#include "base/ctx.h"
#include "comm/comm.h"

static int open_auto(struct rw_ctx *ctx, const struct rw_choice_of_device *choice,
                     struct rw_engine **out)
{
    struct rw_plan_work work;
    rw_plan_work_of(&work, choice->rules, &choice->data);
    const double cpu_ms = rw_plan_cpu_ms(&work, ctx->n_threads);
    if (rw_plan_gpu_pays(cpu_ms, 0.0, choice->rounds) &&
        rw_engine_open(ctx, "cuda", choice->rules, out) >= 0) {
        const double gpu_ms = (*out)->ops->tree_ms(*out, &work);
        const int pays = rw_plan_gpu_pays(cpu_ms, gpu_ms, choice->rounds);
        rw_log(ctx, RW_LOG_NOTE,
               "device %s: a tree is expected to take %.3g ms on the GPU and %.3g ms on %d "
               "thread%s (--device changes it)",
               pays ? "cuda" : "cpu", gpu_ms, cpu_ms, ctx->n_threads,
               ctx->n_threads == 1 ? "" : "s");
        if (pays)
            return RW_OK;
        rw_engine_close(*out);
        *out = NULL;
    }
    return rw_engine_open(ctx, "cpu", choice->rules, out);
}

int rw_choose_device(struct rw_ctx *ctx, const char *device, struct rw_choice_of_device *choice,
                     struct rw_engine **out)
{
    choice->is_auto |= strcmp(device, "auto") == 0;
    return strcmp(device, "auto") == 0 ? open_auto(ctx, choice, out)
                                       : rw_engine_open(ctx, device, choice->rules, out);
}

int rw_choose_agree(struct rw_ctx *ctx, struct rw_choice_of_device *choice,
                    struct rw_engine **engine)
{
    const uint64_t is_gpu = strcmp((*engine)->ops->name, "cuda") == 0;
    uint64_t seen[2] = {is_gpu, !is_gpu};
    RW_TRY(rw_comm_max(ctx, seen, 2));
    if (!seen[0] || !seen[1])
        return RW_OK;
    if (!choice->is_auto)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "some ranks train on a GPU and others on processors; expected the same "
                       "device on all");
    if (!is_gpu)
        return rw_comm_agree(ctx, RW_OK);
    rw_engine_close(*engine);
    *engine = NULL;
    return rw_comm_agree(ctx, rw_engine_open(ctx, "cpu", choice->rules, engine));
}
