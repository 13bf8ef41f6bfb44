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

enum { THREADS = 256 };

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

/* Writes the sums of a cell to buffer `to`, and subtracts them from buffer `parent`. */
static __device__ void put_own(const struct rw_cuda_cells &own, int newton, uint32_t c, uint32_t to,
                               uint32_t parent, const struct cell &cell)
{
    const uint64_t at = (uint64_t)to * own.n_cells + c;
    own.d_count[at] = cell.n;
    hist_set_sum(own.d_lambda, at, own.narrow, cell.lambda);
    if (newton)
        hist_set_sum(own.d_hess, at, own.narrow, cell.hess);
    if (parent == RW_HIST_NO_PARENT)
        return;
    const uint64_t of_parent = (uint64_t)parent * own.n_cells + c;
    own.d_count[of_parent] -= cell.n;
    hist_take_sum(own.d_lambda, of_parent, own.narrow, cell.lambda);
    if (newton)
        hist_take_sum(own.d_hess, of_parent, own.narrow, cell.hess);
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
        const uint64_t at = (uint64_t)blockIdx.y * from.n_cells + first + (c - a.begin[g]);
        cell.n = from.d_count[at];
        cell.lambda = hist_sum_at(from.d_lambda, at, from.narrow);
        if (a.newton)
            cell.hess = hist_sum_at(from.d_hess, at, from.narrow);
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
    put_own(own, a.newton, c - a.begin[g], a.to + blockIdx.y, a.parent[blockIdx.y],
            get(a, wire, c));
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
    const struct rw_cuda_cells &shape = a.built[g];
    const uint64_t at = (uint64_t)node * shape.n_cells + a.first[g] + (c - a.begin[g]);
    struct cell sum = {0, 0, 0};
    for (uint32_t first = 0; first < a.n_workers; first += WORKERS_AT_ONCE) {
        struct cell cell[WORKERS_AT_ONCE];
#pragma unroll
        for (int k = 0; k < WORKERS_AT_ONCE; k++) {
            cell[k] = {0, 0, 0};
            if (first + k >= a.n_workers)
                continue;
            const struct rw_cuda_built &from = a.d_built[(first + k) * a.n_groups + g];
            cell[k].n = from.d_count[at];
            cell[k].lambda = hist_sum_at(from.d_lambda, at, shape.narrow);
            if (a.newton)
                cell[k].hess = hist_sum_at(from.d_hess, at, shape.narrow);
        }
#pragma unroll
        for (int k = 0; k < WORKERS_AT_ONCE; k++) {
            sum.n += cell[k].n;
            sum.lambda += cell[k].lambda;
            sum.hess += cell[k].hess;
        }
    }
    put_own(a.own[g], a.newton, c - a.begin[g], a.to + node, a.parent[node], sum);
}

extern "C" int rw_cuda_workers_gather(const struct rw_cuda_exchange *exchange, void *stream)
{
    const dim3 grid(blocks_for(exchange->n_cells, THREADS), exchange->n_nodes);
    return launch_grid(gather_kernel, grid, THREADS, stream, *exchange);
}
