/* An engine that is added to a copy of the tree: ref's operations, four nodes at once. */
#include "tree/engine_host.h"

int rw_engine_open_made(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    static struct rw_engine_ops ops;
    (void)device;
    ops = rw_ref_ops;
    ops.name = "made";
    ops.batch = 4;
    return rw_host_open(ctx, &ops, rw_ref_prepare, sizeof(struct rw_ref), out);
}
