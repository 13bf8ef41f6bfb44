/* Compares NCCL's calls on two GPUs or more, whose workers are threads of this process, with sums
 * computed by the host, and times them. No worker may wait for one that has failed. With fewer
 * GPUs, workers must get an error. Exit 77: no GPU.
 *
 *   check_nccl [WORKERS]
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"

static int n_devices;

static uint64_t element(int worker, uint64_t salt, size_t i)
{
    uint64_t x = salt * 0x9e3779b97f4a7c15u + (uint64_t)worker * 0xd1342543de82ef95u + i;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 31;
}

/* One worker's. */
struct worker {
    struct rw_ctx *ctx;
    struct rw_device *device;
    struct rw_comm *comm;
    char *host, *right, *d_send, *d_recv; /* [room] */
    size_t room;
    uint64_t salt;
};

static int open_worker(struct worker *r, struct rw_ctx *ctx, int worker, size_t room)
{
    r->ctx = ctx;
    r->room = room;
    RW_TRY(rw_device_open(ctx, worker % n_devices, &r->device));
    RW_TRY(rw_mem_new_raw(ctx, (void **)&r->host, room, 1));
    RW_TRY(rw_mem_new_raw(ctx, (void **)&r->right, room, 1));
    RW_TRY(rw_device_alloc(ctx, (void **)&r->d_send, room));
    RW_TRY(rw_device_alloc(ctx, (void **)&r->d_recv, room));
    RW_TRY(rw_nccl_open(ctx, r->device, &r->comm));
    return RW_OK;
}

static void close_worker(struct worker *r)
{
    rw_comm_free(r->comm);
    rw_device_free(r->d_send);
    rw_device_free(r->d_recv);
    rw_device_close(r->device);
    rw_mem_free(r->host);
    rw_mem_free(r->right);
}

/* Fills this worker's send buffers, on the host and on the device. */
static int fill(struct worker *r, size_t bytes)
{
    for (size_t i = 0; i < bytes / 4; i++) {
        const uint32_t word = (uint32_t)element(rw_worker(r->ctx), r->salt, i);
        memcpy(r->host + 4 * i, &word, 4);
    }
    r->salt++;
    return rw_transfer_write(r->device, r->d_send, r->host, bytes);
}

static int differs(struct worker *r, const void *d, size_t bytes, const char *what)
{
    RW_TRY(rw_transfer_read(r->device, r->host, d, bytes));
    if (memcmp(r->host, r->right, bytes) == 0)
        return RW_OK;
    return rw_fail(r->ctx, RW_ERR_INTERNAL, "%s of %zu bytes differs", what, bytes);
}

static int called(struct worker *r, int result, const char *what)
{
    return result == 0 ? RW_OK : rw_fail(r->ctx, RW_ERR_MACHINE, "%s fails", what);
}

static int check_all_reduce(struct worker *r, size_t n, enum rw_comm_type type, enum rw_comm_op op)
{
    const size_t bytes = n * (type == RW_COMM_U64 ? 8 : 4);
    const struct rw_comm_functions *f = &r->comm->functions;
    RW_TRY(fill(r, bytes));
    memcpy(r->right, r->host, bytes);
    RW_TRY(rw_comm_all_reduce(r->ctx, r->right, n, type, op));
    RW_TRY(called(r, f->all_reduce(r->comm->user, r->d_send, n, type, op, r->device->stream),
                  "all_reduce"));
    return differs(r, r->d_send, bytes, "all_reduce");
}

static int check_reduce_scatter(struct worker *r, size_t n_each, enum rw_comm_type type)
{
    const size_t bytes = n_each * (type == RW_COMM_U64 ? 8 : 4);
    const struct rw_comm_functions *f = &r->comm->functions;
    RW_TRY(fill(r, bytes * (size_t)rw_n_workers(r->ctx)));
    RW_TRY(rw_comm_reduce_scatter(r->ctx, r->host, r->right, n_each, type));
    RW_TRY(called(
        r, f->reduce_scatter(r->comm->user, r->d_send, r->d_recv, n_each, type, r->device->stream),
        "reduce_scatter"));
    return differs(r, r->d_recv, bytes, "reduce_scatter");
}

static int check_calls(struct worker *r)
{
    static const size_t sizes[] = {1, 2, 3, 7, 1000, 1023, 34816, 1000003};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (int type = RW_COMM_U32; type <= RW_COMM_U64; type++) {
            for (int op = RW_COMM_SUM; op <= RW_COMM_MAX; op++)
                RW_TRY(check_all_reduce(r, sizes[s], (enum rw_comm_type)type, (enum rw_comm_op)op));
            RW_TRY(check_reduce_scatter(r, sizes[s], (enum rw_comm_type)type));
        }
    }
    return RW_OK;
}

/* Microseconds of one call, of many in a row, and of one that is waited for. */
static int time_reduce_scatter(struct worker *r, size_t n_each)
{
    enum { RUNS = 200 };
    const struct rw_comm_functions *f = &r->comm->functions;
    double us[2];
    for (int waits = 0; waits < 2; waits++) {
        RW_TRY(rw_comm_agree(r->ctx, rw_transfer_wait(r->device)));
        const double begin = rw_clock_ms();
        for (int i = 0; i < RUNS; i++) {
            RW_TRY(called(r,
                          f->reduce_scatter(r->comm->user, r->d_send, r->d_recv, n_each,
                                            RW_COMM_U64, r->device->stream),
                          "reduce_scatter"));
            if (waits)
                RW_TRY(rw_transfer_wait(r->device));
        }
        RW_TRY(rw_transfer_wait(r->device));
        us[waits] = (rw_clock_ms() - begin) * 1e3 / RUNS;
    }
    if (rw_worker(r->ctx) == 0)
        printf("reduce_scatter of %8zu words a worker: %7.1f us in a row, %7.1f us waited for\n",
               n_each, us[0], us[1]);
    return RW_OK;
}

static int time_calls(struct worker *r)
{
    for (size_t n = 1024; n <= (size_t)1 << 21; n *= 4)
        RW_TRY(time_reduce_scatter(r, n));
    double begin = rw_clock_ms();
    uint64_t words[700] = {0}, all[700 * 8];
    for (int i = 0; i < 1000; i++)
        RW_TRY(rw_comm_all_gather(r->ctx, words, all, sizeof(words)));
    if (rw_worker(r->ctx) == 0)
        printf("the host's all_gather of %zu bytes: %.1f us\n", sizeof(words),
               rw_clock_ms() - begin);
    return RW_OK;
}

/* Worker 1 fails where the others wait for it on their devices. */
static int fail_waiting(struct worker *r)
{
    const struct rw_comm_functions *f = &r->comm->functions;
    RW_TRY(rw_comm_agree(r->ctx, RW_OK));
    if (rw_worker(r->ctx) == 1) {
        r->comm->has_failed = 1; /* closed by giving up */
        return rw_comm_give_up(r->ctx, rw_fail(r->ctx, RW_ERR_DATA, "bad data"));
    }
    r->device->comm = r->comm;
    RW_TRY(called(r,
                  f->reduce_scatter(r->comm->user, r->d_send, r->d_recv, 1000, RW_COMM_U64,
                                    r->device->stream),
                  "reduce_scatter"));
    return rw_transfer_wait(r->device);
}

static int run(void *user, struct rw_ctx *ctx, int worker)
{
    struct worker r = {.ctx = ctx};
    const size_t room = (size_t)(1 << 21) * 8 * (size_t)rw_n_workers(ctx);
    (void)user;
    int status = open_worker(&r, ctx, worker, room);
    status = status < 0 ? status : check_calls(&r);
    status = status < 0 ? status : time_calls(&r);
    status = status < 0 ? status : fail_waiting(&r);
    status = rw_comm_give_up(ctx, status);
    close_worker(&r);
    return status;
}

int main(int argc, char **argv)
{
    struct rw_ctx *ctx;
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices == 0) {
        printf("no GPU here\n");
        return 77;
    }
    const int n_workers = argc > 1 ? atoi(argv[1]) : n_devices > 1 ? n_devices : 2;
    if (n_workers < 2 || n_workers > 8 || rw_ctx_new(&ctx) < 0)
        return 1;
    const double begin = rw_clock_ms();
    const int status = rw_workers_run(ctx, n_workers, run, NULL);
    printf("%d workers, %d GPUs: %s, after %.1f s\n", n_workers, n_devices, rw_last_error(ctx),
           (rw_clock_ms() - begin) * 1e-3);
    const int is_right =
        n_workers > n_devices
            ? status == RW_ERR_UNSUPPORTED
            : status == RW_ERR_DATA && strcmp(rw_last_error(ctx), "worker 1: bad data") == 0;
    printf("%s\n", is_right ? "ok" : "not ok");
    rw_ctx_free(ctx);
    return !is_right;
}
