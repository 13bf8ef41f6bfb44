/* Packs the cells of histograms into messages between workers, and unpacks the sums of the cells
 * over all workers. Messages should be small, so a cell's numbers have only as many bits as their
 * sums over all workers can need.
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

/* Splits a word into the count, the hessian and the lambda, from the lowest bits up. The lambda is
 * signed. */
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
    if (wire.built != RW_CUDA_NOT_BUILT && c - a.begin[g] < n) {
        const struct rw_cuda_cells &from = a.built[g];
        const uint64_t at = (uint64_t)wire.built * from.n_cells + first + (c - a.begin[g]);
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
    const struct cell cell = get(a, wire, c);
    const uint64_t to = (uint64_t)wire.to * own.n_cells + (c - a.begin[g]);
    own.d_count[to] = cell.n;
    hist_set_sum(own.d_lambda, to, own.narrow, cell.lambda);
    if (a.newton)
        hist_set_sum(own.d_hess, to, own.narrow, cell.hess);
    if (wire.parent == RW_HIST_NO_PARENT)
        return;
    const uint64_t parent = (uint64_t)wire.parent * own.n_cells + (c - a.begin[g]);
    own.d_count[parent] -= cell.n;
    hist_take_sum(own.d_lambda, parent, own.narrow, cell.lambda);
    if (a.newton)
        hist_take_sum(own.d_hess, parent, own.narrow, cell.hess);
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
