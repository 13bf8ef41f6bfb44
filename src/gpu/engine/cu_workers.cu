/* Adds up the cells of histograms over all workers. Where GPUs can read each other's memory, each
 * reads the cells that it needs (gather_kernel). Otherwise cells are packed into messages, with as
 * many bits as their sums over all workers can need, and these sums are unpacked.
 *
 * Shapes: struct rw_cuda_exchange. A message has a part for each worker that receives one. Parts
 * are padded, so that those of all workers have the same length.
 *
 * Decomposition: a thread per cell of a part; grid y is the node. In pack_kernel, z is the worker
 * that receives the part. */
#include <cuda_runtime.h>

#include "gpu/device/kernel.cuh"
#include "gpu/engine/cu_engine.h"
#include "gpu/hist/hist.h"
#include "gpu/hist/hist_block.cuh"

enum { THREADS = 256, WARP = 32 };

struct cell {
    uint32_t n;
    int64_t lambda, hess;
};

/* Returns the group of cell `c` of a part. */
static __device__ int group_of(const struct rw_cuda_exchange &a, uint32_t c)
{
    int g = 0;
    while (g + 1 < a.n_groups && c >= a.begin[g + 1])
        g++;
    return g;
}

/* Writes cell `c` of a node to a worker's part of the message. */
static __device__ void put(const struct rw_cuda_exchange &a, const struct rw_cuda_wire &wire,
                           uint32_t worker, uint32_t c, const struct cell &cell)
{
    uint64_t *const d64 = a.d_send64 + worker * a.n_each64 + wire.at64 + c;
    uint32_t *const d32 = a.d_send32 + worker * a.n_each32 + wire.at32 + c;
    uint64_t together = (uint64_t)cell.lambda << (wire.n_bits + wire.hess_bits);
    if (wire.hess_bits)
        together += (uint64_t)cell.hess << wire.n_bits;
    together += cell.n;
    if (wire.words == 0)
        d32[0] = (uint32_t)together;
    if (wire.words == 1)
        d64[0] = together;
    if (wire.separate_hess)
        d32[0] = (uint32_t)cell.hess;
    if (wire.words > 1) {
        d64[0] = (uint64_t)cell.lambda;
        d64[a.n_cells] = cell.n;
    }
    if (wire.words > 2)
        d64[2 * (uint64_t)a.n_cells] = (uint64_t)cell.hess;
}

/* Splits a word into the count, the hessian and, signed, the lambda, from the lowest bits up. */
static __device__ struct cell unpacked(int64_t word, const struct rw_cuda_wire &wire)
{
    struct cell cell;
    cell.n = (uint32_t)(word & (((int64_t)1 << wire.n_bits) - 1));
    cell.hess = word >> wire.n_bits & (((int64_t)1 << wire.hess_bits) - 1);
    cell.lambda = word >> (wire.n_bits + wire.hess_bits);
    return cell;
}

/* Reads cell `c` of a node from the sums that this worker received. */
static __device__ struct cell get(const struct rw_cuda_exchange &a, const struct rw_cuda_wire &wire,
                                  uint32_t c)
{
    const uint64_t *const d64 = a.d_recv64 + wire.at64 + c;
    const uint32_t *const d32 = a.d_recv32 + wire.at32 + c;
    struct cell cell;
    if (wire.words <= 1) {
        cell = unpacked(wire.words == 0 ? (int32_t)d32[0] : (int64_t)d64[0], wire);
        if (wire.separate_hess)
            cell.hess = d32[0];
        return cell;
    }
    cell.lambda = (int64_t)d64[0];
    cell.n = (uint32_t)d64[a.n_cells];
    cell.hess = wire.words > 2 ? (int64_t)d64[2 * (uint64_t)a.n_cells] : 0;
    return cell;
}

static __device__ struct cell read_cell(const struct rw_cuda_cells &cells, int newton, uint64_t at)
{
    struct cell cell = {cells.d_count[at], hist_sum_at(cells.d_lambda, at, cells.narrow), 0};
    if (newton)
        cell.hess = hist_sum_at(cells.d_hess, at, cells.narrow);
    return cell;
}

static __device__ void write_cell(const struct rw_cuda_cells &cells, int newton, uint64_t at,
                                  const struct cell &cell)
{
    cells.d_count[at] = cell.n;
    hist_set_sum(cells.d_lambda, at, cells.narrow, cell.lambda);
    if (newton)
        hist_set_sum(cells.d_hess, at, cells.narrow, cell.hess);
}

/* Returns own cell `c` of a node's parent, if it has one. */
static __device__ struct cell of_parent(const struct rw_cuda_exchange &a, int g, uint32_t c,
                                        uint32_t node)
{
    const uint64_t at = (uint64_t)a.parent[node] * a.own[g].n_cells + c;
    struct cell none = {0, 0, 0};
    return a.parent[node] == RW_HIST_NO_PARENT ? none : read_cell(a.own[g], a.newton, at);
}

/* Writes a node's own cell `c`, and subtracts it from its parent's. */
static __device__ void put_own(const struct rw_cuda_exchange &a, int g, uint32_t c, uint32_t node,
                               const struct cell &cell, struct cell parent)
{
    const struct rw_cuda_cells &own = a.own[g];
    write_cell(own, a.newton, (uint64_t)(a.to + node) * own.n_cells + c, cell);
    parent.n -= cell.n;
    parent.lambda -= cell.lambda;
    parent.hess -= cell.hess;
    if (a.parent[node] != RW_HIST_NO_PARENT)
        write_cell(own, a.newton, (uint64_t)a.parent[node] * own.n_cells + c, parent);
}

static __global__ void __launch_bounds__(THREADS)
    pack_kernel(const __grid_constant__ struct rw_cuda_exchange a)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x, worker = blockIdx.z;
    if (c >= a.n_cells)
        return;
    const struct rw_cuda_wire wire = a.d_wire[blockIdx.y];
    const int g = group_of(a, c);
    const uint32_t first = a.d_first[g][worker], n = a.d_first[g][worker + 1] - first;
    struct cell cell = {0, 0, 0};
    if (c - a.begin[g] < n) {
        const struct rw_cuda_cells &from = a.built[g];
        cell = read_cell(from, a.newton,
                         (uint64_t)blockIdx.y * from.n_cells + first + (c - a.begin[g]));
    }
    put(a, wire, worker, c, cell);
}

static __global__ void __launch_bounds__(THREADS)
    unpack_kernel(const __grid_constant__ struct rw_cuda_exchange a)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x;
    if (c >= a.n_cells)
        return;
    const struct rw_cuda_wire wire = a.d_wire[blockIdx.y];
    const int g = group_of(a, c);
    const struct rw_cuda_cells &own = a.own[g];
    if (c - a.begin[g] >= own.n_cells)
        return;
    const uint32_t at = c - a.begin[g], node = blockIdx.y;
    put_own(a, g, at, node, get(a, wire, c), of_parent(a, g, at, node));
}

extern "C" int rw_cuda_workers_pack(const struct rw_cuda_exchange *exchange, void *stream)
{
    const dim3 grid(blocks_for(exchange->n_cells, THREADS), exchange->n_nodes, exchange->n_workers);
    return launch_grid(pack_kernel, grid, THREADS, stream, *exchange);
}

extern "C" int rw_cuda_workers_unpack(const struct rw_cuda_exchange *exchange, void *stream)
{
    const dim3 grid(blocks_for(exchange->n_cells, THREADS), exchange->n_nodes);
    return launch_grid(unpack_kernel, grid, THREADS, stream, *exchange);
}

/* ---- meetings ---- */

static __global__ void arrive_kernel(const struct rw_cuda_open *d_open, uint32_t n_workers,
                                     uint32_t worker, uint32_t number)
{
    let_next_launch_begin();
    for (uint32_t r = threadIdx.x; r < n_workers; r += WARP) {
        volatile uint32_t *const met = d_open[r].d_met + worker;
        wait_for_launch_before();
        __threadfence_system();
        *met = number;
    }
}

/* Gives up after minutes, if another GPU was lost. */
static __global__ void await_kernel(const struct rw_cuda_open *d_open, uint32_t n_workers,
                                    uint32_t worker, uint32_t number)
{
    enum { MOST_LOOKS = 1 << 28 };
    const volatile uint32_t *const met = d_open[worker].d_met;
    for (uint32_t r = threadIdx.x; r < n_workers; r += WARP) {
        for (int looks = 0; (int32_t)(met[r] - number) < 0; looks++) {
            if (looks == MOST_LOOKS)
                __trap();
        }
    }
    __syncwarp(); /* all have arrived when one thread lets the next launch begin */
    __threadfence_system();
    let_next_launch_begin();
    wait_for_launch_before();
}

extern "C" int rw_cuda_workers_meet(enum rw_cuda_meet step, const struct rw_cuda_open *d_open,
                                    uint32_t n_workers, uint32_t worker, uint32_t number,
                                    void *stream)
{
    return launch_after(step == RW_CUDA_ARRIVE ? arrive_kernel : await_kernel, 1, WARP, 0,
                        (cudaStream_t)stream, d_open, n_workers, worker, number);
}

/* ---- sums on other GPUs, read in place ---- */

/* Loads of several workers are started before the first is used. */
enum { WORKERS_AT_ONCE = 4 };

static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ struct rw_cuda_exchange a)
{
    const uint32_t c = blockIdx.x * THREADS + threadIdx.x, node = blockIdx.y;
    let_next_launch_begin();
    if (c >= a.n_cells)
        return;
    const int g = group_of(a, c);
    /* The parent's cell has been complete since the worker's last meeting. */
    const struct cell parent = of_parent(a, g, c - a.begin[g], node);
    const uint64_t at = (uint64_t)node * a.built[g].n_cells + a.first[g] + (c - a.begin[g]);
    const int narrow = a.built[g].narrow;
    struct cell sum = {0, 0, 0};
    for (uint32_t first = 0; first < a.n_workers; first += WORKERS_AT_ONCE) {
        struct rw_cuda_cells built[WORKERS_AT_ONCE];
        struct cell cell[WORKERS_AT_ONCE];
        const int n = (int)(a.n_workers - first);
#pragma unroll
        for (int k = 0; k < WORKERS_AT_ONCE; k++) {
            built[k] = a.d_open[first + (k < n ? k : 0)].built[g];
            built[k].narrow = narrow;
        }
        wait_for_launch_before();
#pragma unroll
        for (int k = 0; k < WORKERS_AT_ONCE; k++) {
            cell[k] = {0, 0, 0};
            if (k < n)
                cell[k] = read_cell(built[k], a.newton, at);
        }
#pragma unroll
        for (int k = 0; k < WORKERS_AT_ONCE; k++) {
            sum.n += cell[k].n;
            sum.lambda += cell[k].lambda;
            sum.hess += cell[k].hess;
        }
    }
    put_own(a, g, c - a.begin[g], node, sum, parent);
}

extern "C" int rw_cuda_workers_gather(const struct rw_cuda_exchange *exchange, void *stream)
{
    const dim3 grid(blocks_for(exchange->n_cells, THREADS), exchange->n_nodes);
    return exchange->n_cells
               ? launch_after(gather_kernel, grid, THREADS, 0, (cudaStream_t)stream, *exchange)
               : cudaSuccess;
}
