/* How histograms travel between workers, on one GPU: several workers' cells are packed, one worker
 * after another, added up by the host as workers' sums are, and unpacked. Then they are gathered
 * from where they were built, after the workers met. Nodes of all sizes, so that cells go in every
 * way; cells at their limits. Exit 77: there is no GPU. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"
#include "gpu/engine/cu_engine.h"
#include "gpu/hist/hist.h"

enum { WORKERS = 5, GROUPS = 2, NODES = 9, BUFFERS = NODES + 2 };
static const uint32_t group_cells[GROUPS] = {52, 1000};
/* the first cell of each worker's features; worker 1 has no feature of the first group */
static const uint32_t first_cell[GROUPS][WORKERS + 1] = {{0, 24, 24, 30, 41, 52},
                                                         {0, 300, 700, 800, 900, 1000}};
static const uint32_t most_own[GROUPS] = {24, 400};
static const uint32_t all_n[NODES] = {1,       100,      4095,      4096,      65535,
                                      3000000, 16900000, 200000000, 2147483647};

struct cell {
    uint64_t n;
    int64_t lambda, hess;
};

static struct rw_ctx *ctx;
static struct rw_device *device;
static uint64_t state = 1;

static uint64_t draw(uint64_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return most == UINT64_MAX ? state : (state >> 11) % (most + 1);
}

/* A node's cells of all workers; those of a worker have a part of the documents. */
static struct cell cell_of(uint32_t n, int64_t limit, int newton, uint32_t at)
{
    struct cell cell = {n, n * limit, newton ? n * limit : 0};
    if (at == 1)
        cell.lambda = -cell.lambda;
    if (at > 1 && at % 7 == 0)
        return (struct cell){0, 0, 0};
    if (at > 1) {
        cell.n = draw(n);
        cell.lambda = (int64_t)draw(2 * cell.n * (uint64_t)limit) - (int64_t)cell.n * limit;
        cell.hess = newton ? (int64_t)draw(cell.n * (uint64_t)limit) : 0;
    }
    return cell;
}

/* A worker's part; the last one has the rest. */
static struct cell share_of(struct cell *rest, int is_last)
{
    struct cell part = *rest;
    if (!is_last) {
        const uint64_t n = draw(rest->n);
        part.n = n;
        part.lambda = rest->n ? rest->lambda / (int64_t)rest->n * (int64_t)n : 0;
        part.hess = rest->n ? rest->hess / (int64_t)rest->n * (int64_t)n : 0;
    }
    rest->n -= part.n;
    rest->lambda -= part.lambda;
    rest->hess -= part.hess;
    return part;
}

/* Cells on the host, as the device has them. */
struct table {
    uint32_t *count;
    int64_t *lambda, *hess;
    size_t n;
};

static int table_new(struct table *table, size_t n)
{
    table->n = n;
    RW_TRY(RW_NEW(ctx, table->count, n));
    RW_TRY(RW_NEW(ctx, table->lambda, n));
    return RW_NEW(ctx, table->hess, n);
}

static void table_free(struct table *table)
{
    rw_mem_free(table->count);
    rw_mem_free(table->lambda);
    rw_mem_free(table->hess);
}

static void set(struct table *table, size_t at, const struct cell *cell)
{
    table->count[at] = (uint32_t)cell->n;
    table->lambda[at] = cell->lambda;
    table->hess[at] = cell->hess;
}

static int send_sums(const int64_t *sum, size_t n, int narrow, void *d_sum)
{
    int32_t *half = NULL;
    int status;
    if (!narrow)
        return rw_transfer_write(device, d_sum, sum, n * sizeof(*sum));
    RW_TRY(RW_NEW(ctx, half, n));
    for (size_t i = 0; i < n; i++)
        half[i] = (int32_t)sum[i];
    status = rw_transfer_write(device, d_sum, half, n * sizeof(*half));
    rw_mem_free(half);
    return status;
}

static int read_sums(int64_t *sum, size_t n, int narrow, const void *d_sum)
{
    int32_t *half = NULL;
    int status;
    if (!narrow)
        return rw_transfer_read(device, sum, d_sum, n * sizeof(*sum));
    RW_TRY(RW_NEW(ctx, half, n));
    status = rw_transfer_read(device, half, d_sum, n * sizeof(*half));
    for (size_t i = 0; i < n; i++)
        sum[i] = half[i];
    rw_mem_free(half);
    return status;
}

static int send(const struct table *table, struct rw_cuda_cells *cells)
{
    RW_TRY(rw_transfer_write(device, cells->d_count, table->count, table->n * 4));
    RW_TRY(send_sums(table->lambda, table->n, cells->narrow, cells->d_lambda));
    return send_sums(table->hess, table->n, cells->narrow, cells->d_hess);
}

static int make_cells(struct rw_cuda_cells *cells, uint32_t n_cells, size_t n_buffers, int narrow)
{
    const size_t n = n_buffers * n_cells, size = rw_hist_sum_bytes(narrow);
    cells->n_cells = n_cells;
    cells->narrow = narrow;
    RW_TRY(rw_device_alloc(ctx, (void **)&cells->d_count, n * 4));
    RW_TRY(rw_device_alloc(ctx, &cells->d_lambda, n * size));
    return rw_device_alloc(ctx, &cells->d_hess, n * size);
}

static void free_cells(struct rw_cuda_cells *cells)
{
    rw_device_free(cells->d_count);
    rw_device_free(cells->d_lambda);
    rw_device_free(cells->d_hess);
}

/* Documents of a node or, after all nodes, of a parent: no more than narrow sums can represent. */
static uint32_t documents(size_t node, int bits, int narrow)
{
    const uint32_t n = node < NODES ? all_n[node] : 2147483647;
    const uint32_t most = INT32_MAX / (uint32_t)rw_quantise_limit(bits);
    return narrow && n > most ? most : n;
}

/* The wires of all nodes; node i + 1 of each pair takes its sums from a parent's. */
static void make_wires(struct rw_cuda_exchange *x, int newton, int bits, int narrow,
                       struct rw_cuda_wire *wire)
{
    x->n_each64 = x->n_each32 = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        wire[i] = rw_cuda_wire_of(newton, bits, documents(i, bits, narrow));
        wire[i].at64 = (uint32_t)x->n_each64;
        wire[i].at32 = (uint32_t)x->n_each32;
        x->n_each64 += (uint64_t)wire[i].words * x->n_cells;
        x->n_each32 += wire[i].words == 0 || wire[i].separate_hess ? x->n_cells : 0;
        x->parent[i] = i == 2 || i == 6 ? NODES + (i == 6) : RW_HIST_NO_PARENT;
    }
}

struct run {
    int newton, bits, narrow;
    struct rw_cuda_exchange x;
    struct table all[GROUPS], part[GROUPS][WORKERS]; /* [BUFFERS or NODES][group's cells] */
    uint64_t *sum64, *got64;
    uint32_t *sum32, *got32;
    struct rw_cuda_wire wire[NODES];
    struct rw_cuda_cells worker[WORKERS][GROUPS]; /* each worker's cells, on the device */
    struct rw_cuda_open open[WORKERS], *d_open;
    uint32_t n_met; /* meetings so far, modulo 2^32 */
};

/* Each worker's cells of each node, and those of all workers. */
static int fill(struct run *r)
{
    const int64_t limit = rw_quantise_limit(r->bits);
    for (int g = 0; g < GROUPS; g++) {
        RW_TRY(table_new(&r->all[g], (size_t)BUFFERS * group_cells[g]));
        for (int k = 0; k < WORKERS; k++)
            RW_TRY(table_new(&r->part[g][k], (size_t)NODES * group_cells[g]));
        for (size_t at = 0; at < r->all[g].n; at++) {
            const size_t node = at / group_cells[g];
            const uint32_t n = documents(node, r->bits, r->narrow);
            struct cell cell =
                cell_of(n, limit, r->newton, (uint32_t)(at % group_cells[g]) + 2 * (node >= NODES));
            set(&r->all[g], at, &cell);
            for (int k = 0; k < WORKERS && node < NODES; k++) {
                const struct cell own = share_of(&cell, k + 1 == WORKERS);
                set(&r->part[g][k], at, &own);
            }
        }
    }
    return RW_OK;
}

/* All workers pack in turn; checks the sums of their messages, part by part. */
static int pack_all(struct run *r)
{
    struct rw_cuda_exchange *x = &r->x;
    const size_t n64 = x->n_each64 * WORKERS, n32 = x->n_each32 * WORKERS;
    for (uint32_t k = 0; k < WORKERS; k++) {
        for (int g = 0; g < GROUPS; g++)
            RW_TRY(send(&r->part[g][k], &x->built[g]));
        RW_CU(ctx, (cudaError_t)rw_cuda_workers_pack(x, device->stream));
        RW_TRY(rw_transfer_read(device, r->got64, x->d_send64, n64 * 8));
        RW_TRY(rw_transfer_read(device, r->got32, x->d_send32, n32 * 4));
        for (size_t i = 0; i < n64; i++)
            r->sum64[i] = k == 0 ? r->got64[i] : r->sum64[i] + r->got64[i];
        for (size_t i = 0; i < n32; i++)
            r->sum32[i] = k == 0 ? r->got32[i] : r->sum32[i] + r->got32[i];
    }
    return RW_OK;
}

/* Cell `at` of the right buffer: of a node, or of a parent after a node was taken from it. */
static struct cell right_cell(const struct run *r, int g, uint32_t buffer, uint32_t at)
{
    const struct table *all = &r->all[g];
    const size_t i = (size_t)buffer * group_cells[g] + at;
    struct cell cell = {all->count[i], all->lambda[i], all->hess[i]};
    if (buffer >= NODES) {
        const size_t child = (size_t)(buffer == NODES ? 2 : 6) * group_cells[g] + at;
        cell.n = (uint32_t)(cell.n - all->count[child]);
        cell.lambda -= all->lambda[child];
        cell.hess -= all->hess[child];
    }
    if (r->narrow) { /* a parent's are any numbers */
        cell.lambda = (int32_t)(uint32_t)(uint64_t)cell.lambda;
        cell.hess = (int32_t)(uint32_t)(uint64_t)cell.hess;
    }
    return cell;
}

/* Lets all workers arrive, and worker `k` wait for them. */
static int meet(struct run *r, uint32_t k)
{
    uint32_t met[WORKERS];
    r->n_met++;
    for (uint32_t w = 0; w < WORKERS; w++)
        RW_CU(ctx, (cudaError_t)rw_cuda_workers_meet(RW_CUDA_ARRIVE, r->d_open, WORKERS, w,
                                                     r->n_met, device->stream));
    RW_CU(ctx, (cudaError_t)rw_cuda_workers_meet(RW_CUDA_AWAIT, r->d_open, WORKERS, k, r->n_met,
                                                 device->stream));
    for (uint32_t w = 0; w < WORKERS; w++) {
        RW_TRY(rw_transfer_read(device, met, r->open[w].d_met, sizeof(met)));
        for (uint32_t of = 0; of < WORKERS; of++) {
            if (met[of] != r->n_met)
                return rw_fail(ctx, RW_ERR_INTERNAL, "worker %u sees worker %u at meeting %u of %u",
                               w, of, met[of], r->n_met);
        }
    }
    return RW_OK;
}

/* Runs the gather of worker `k`, from the cells of all workers. */
static int gather(struct run *r, uint32_t k)
{
    struct rw_cuda_exchange all = r->x;
    all.n_cells = 0;
    all.d_open = r->d_open;
    for (int g = 0; g < GROUPS; g++) {
        all.begin[g] = all.n_cells;
        all.first[g] = first_cell[g][k];
        all.n_cells += first_cell[g][k + 1] - first_cell[g][k];
    }
    RW_TRY(meet(r, k));
    RW_CU(ctx, (cudaError_t)rw_cuda_workers_gather(&all, device->stream));
    return RW_OK;
}

/* Worker `k` takes its part, by a message or by a gather, and every one of its cells is looked
 * at. */
static int take_one(struct run *r, uint32_t k, int by_gather)
{
    struct rw_cuda_exchange *x = &r->x;
    RW_TRY(rw_transfer_write(device, x->d_recv64, r->sum64 + k * x->n_each64, x->n_each64 * 8));
    RW_TRY(rw_transfer_write(device, x->d_recv32, r->sum32 + k * x->n_each32, x->n_each32 * 4));
    for (int g = 0; g < GROUPS; g++) {
        struct table own;
        const uint32_t first = first_cell[g][k], n = first_cell[g][k + 1] - first;
        RW_TRY(table_new(&own, (size_t)BUFFERS * n));
        for (uint32_t p = NODES; p < BUFFERS; p++) { /* parents are there before */
            for (uint32_t c = 0; c < n; c++) {
                const size_t i = (size_t)p * group_cells[g] + first + c;
                const struct cell cell = {r->all[g].count[i], r->all[g].lambda[i],
                                          r->all[g].hess[i]};
                set(&own, (size_t)p * n + c, &cell);
            }
        }
        x->own[g].n_cells = n;
        RW_TRY(send(&own, &x->own[g]));
        table_free(&own);
    }
    if (by_gather)
        RW_TRY(gather(r, k));
    else
        RW_CU(ctx, (cudaError_t)rw_cuda_workers_unpack(x, device->stream));
    for (int g = 0; g < GROUPS; g++) {
        struct table got;
        const uint32_t first = first_cell[g][k], n = first_cell[g][k + 1] - first;
        RW_TRY(table_new(&got, (size_t)BUFFERS * n));
        RW_TRY(rw_transfer_read(device, got.count, x->own[g].d_count, got.n * 4));
        RW_TRY(read_sums(got.lambda, got.n, r->narrow, x->own[g].d_lambda));
        RW_TRY(read_sums(got.hess, got.n, r->narrow, x->own[g].d_hess));
        for (size_t i = 0; i < got.n; i++) {
            const uint32_t buffer = (uint32_t)(i / n);
            const struct cell right = right_cell(r, g, buffer, first + (uint32_t)(i % n));
            if (got.count[i] != (uint32_t)right.n || got.lambda[i] != right.lambda ||
                (r->newton && got.hess[i] != right.hess))
                return rw_fail(
                    ctx, RW_ERR_INTERNAL,
                    "%s%s, %d bits, worker %u, group %d, buffer %u of %u documents, cell %zu: "
                    "%u %lld %lld, not %u %lld %lld",
                    r->newton ? "newton" : "mart", r->narrow ? ", narrow" : "", r->bits, k, g,
                    buffer, documents(buffer, r->bits, r->narrow), i % n, got.count[i],
                    (long long)got.lambda[i], (long long)got.hess[i], (uint32_t)right.n,
                    (long long)right.lambda, (long long)right.hess);
        }
        table_free(&got);
    }
    return RW_OK;
}

static int make_exchange(struct run *r)
{
    struct rw_cuda_exchange *x = &r->x;
    *x = (struct rw_cuda_exchange){
        .n_groups = GROUPS, .newton = r->newton, .n_workers = WORKERS, .n_nodes = NODES};
    for (int g = 0; g < GROUPS; g++) {
        x->begin[g] = x->n_cells;
        x->n_cells += most_own[g];
        RW_TRY(make_cells(&x->built[g], group_cells[g], NODES, r->narrow));
        RW_TRY(make_cells(&x->own[g], most_own[g], BUFFERS, r->narrow));
        RW_TRY(rw_device_alloc(ctx, (void **)&x->d_first[g], sizeof(first_cell[g])));
        RW_TRY(
            rw_transfer_write(device, (void *)x->d_first[g], first_cell[g], sizeof(first_cell[g])));
    }
    make_wires(x, r->newton, r->bits, r->narrow, r->wire);
    RW_TRY(rw_device_alloc(ctx, (void **)&x->d_wire, sizeof(r->wire)));
    RW_TRY(rw_transfer_write(device, (void *)x->d_wire, r->wire, sizeof(r->wire)));
    const size_t n = (size_t)NODES * x->n_cells * 3;
    RW_TRY(rw_device_alloc(ctx, (void **)&x->d_send64, n * WORKERS * 8));
    RW_TRY(rw_device_alloc(ctx, (void **)&x->d_recv64, n * 8));
    RW_TRY(rw_device_alloc(ctx, (void **)&x->d_send32, n * WORKERS * 4));
    RW_TRY(rw_device_alloc(ctx, (void **)&x->d_recv32, n * 4));
    RW_TRY(RW_NEW(ctx, r->sum64, n * WORKERS));
    RW_TRY(RW_NEW(ctx, r->got64, n * WORKERS));
    RW_TRY(RW_NEW(ctx, r->sum32, n * WORKERS));
    return RW_NEW(ctx, r->got32, n * WORKERS);
}

/* Sends the cells of all workers, for gathers. */
static int send_all(struct run *r)
{
    for (int k = 0; k < WORKERS; k++) {
        struct rw_cuda_open *open = &r->open[k];
        for (int g = 0; g < GROUPS; g++) {
            struct rw_cuda_cells *cells = &r->worker[k][g];
            RW_TRY(make_cells(cells, group_cells[g], NODES, r->narrow));
            RW_TRY(send(&r->part[g][k], cells));
            open->built[g] = *cells;
        }
        RW_TRY(rw_device_alloc(ctx, (void **)&open->d_met, WORKERS * sizeof(*open->d_met)));
    }
    r->n_met = UINT32_MAX - 2; /* it passes 0 */
    RW_TRY(rw_device_alloc(ctx, (void **)&r->d_open, sizeof(r->open)));
    return rw_transfer_write(device, r->d_open, r->open, sizeof(r->open));
}

static int check(int newton, int bits, int narrow)
{
    struct run r = {.newton = newton, .bits = bits, .narrow = narrow};
    RW_TRY(make_exchange(&r));
    RW_TRY(fill(&r));
    RW_TRY(pack_all(&r));
    RW_TRY(send_all(&r));
    for (uint32_t k = 0; k < WORKERS; k++) {
        RW_TRY(take_one(&r, k, 0));
        RW_TRY(take_one(&r, k, 1));
    }
    double bytes = 0.0;
    for (int i = 0; i < NODES; i++)
        bytes +=
            8.0 * r.wire[i].words + (r.wire[i].words == 0 || r.wire[i].separate_hess ? 4.0 : 0.0);
    printf("%s, %2d bits%s: %.1f bytes a cell\n", newton ? "newton" : "mart  ", bits,
           narrow ? ", narrow" : "", bytes / NODES);
    for (int g = 0; g < GROUPS; g++) {
        free_cells(&r.x.built[g]);
        free_cells(&r.x.own[g]);
        rw_device_free((void *)r.x.d_first[g]);
        table_free(&r.all[g]);
        for (int k = 0; k < WORKERS; k++) {
            table_free(&r.part[g][k]);
            free_cells(&r.worker[k][g]);
        }
    }
    for (int k = 0; k < WORKERS; k++)
        rw_device_free(r.open[k].d_met);
    rw_device_free(r.d_open);
    rw_device_free((void *)r.x.d_wire);
    rw_device_free(r.x.d_send64);
    rw_device_free(r.x.d_recv64);
    rw_device_free(r.x.d_send32);
    rw_device_free(r.x.d_recv32);
    rw_mem_free(r.sum64);
    rw_mem_free(r.got64);
    rw_mem_free(r.sum32);
    rw_mem_free(r.got32);
    return RW_OK;
}

/* Lets n workers meet, each with its own stream. Before the last one arrives, its stream fills much
 * memory with a byte. Another worker that has waited for it must see the last byte. */
static int check_meeting(uint32_t n, uint32_t number)
{
    enum { MOST = 40, BYTES = 1 << 26, TIMES = 50 };
    struct rw_cuda_open open[MOST], *d_open;
    struct rw_arena arena = {0};
    void *stream[MOST], *d_slow, *d;
    unsigned char byte = 0;
    RW_TRY(rw_device_alloc_in(ctx, &arena, &d_slow, BYTES));
    for (uint32_t w = 0; w < n; w++) {
        RW_TRY(rw_device_stream(ctx, &arena, 0, &stream[w]));
        RW_TRY(rw_device_alloc_in(ctx, &arena, &d, n * sizeof(uint32_t)));
        RW_CU(ctx, cudaMemset(d, 0, n * sizeof(uint32_t)));
        open[w].d_met = d;
    }
    RW_CU(ctx, cudaDeviceSynchronize());
    RW_TRY(rw_device_alloc_in(ctx, &arena, &d, n * sizeof(*open)));
    d_open = d;
    RW_TRY(rw_transfer_write(device, d_open, open, n * sizeof(*open)));
    for (int i = 1; i <= TIMES; i++)
        RW_CU(ctx, cudaMemsetAsync(d_slow, i, BYTES, stream[n - 1]));
    for (uint32_t w = 0; w < n; w++)
        RW_CU(ctx,
              (cudaError_t)rw_cuda_workers_meet(RW_CUDA_ARRIVE, d_open, n, w, number, stream[w]));
    RW_CU(ctx, (cudaError_t)rw_cuda_workers_meet(RW_CUDA_AWAIT, d_open, n, 0, number, stream[0]));
    RW_CU(ctx,
          cudaMemcpyAsync(&byte, (char *)d_slow + BYTES - 1, 1, cudaMemcpyDeviceToHost, stream[0]));
    RW_CU(ctx, cudaStreamSynchronize(stream[0]));
    if (byte != TIMES)
        return rw_fail(ctx, RW_ERR_INTERNAL, "worker 0 of %u waited only for %d of %d fills", n,
                       byte, TIMES);
    RW_CU(ctx, cudaDeviceSynchronize());
    rw_arena_free(&arena);
    printf("%u workers met\n", n);
    return RW_OK;
}

int main(void)
{
    int n_devices = 0, status = RW_OK;
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || n_devices == 0) {
        printf("no GPU here\n");
        return 77;
    }
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    status = rw_device_open(ctx, 0, &device);
    for (uint32_t n = 2; n <= 40 && status >= 0; n += 38)
        status = check_meeting(n, n);
    for (int kind = 0; kind < 4; kind++) {
        for (int bits = 4; bits <= 16 && status >= 0; bits += 4)
            status = check(kind % 2, bits, kind / 2);
    }
    if (status < 0)
        printf("not ok: %s\n", rw_last_error(ctx));
    rw_device_close(device);
    rw_ctx_free(ctx);
    return status < 0;
}
