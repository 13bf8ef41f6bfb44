/* Many workers (more than one): their connection, the division of features among them, and the
 * sums of their histograms.
 *
 * Each worker has the codes of its documents on its GPU. Of the histograms it keeps the cells of
 * the features that it owns, summed over the documents of all workers. For a call it builds sums of
 * its own documents, for all features, in buffers that serve one call (`built`). Each worker then
 * adds up the cells of its features, over all workers, and subtracts the result from its cells of
 * the parents. Workers that are threads of one process read each other's memory if their GPUs can:
 * they are peers. Otherwise NCCL carries messages between GPUs. If NCCL is missing or two processes
 * share a GPU, messages go through the hosts.
 *
 * With one worker, these functions do nothing and return RW_OK, unless stated otherwise. */
#pragma once

#include "comm/comm.h"
#include "gpu/engine/cuda_replies.h"

struct rw_cuda_workers {
    struct rw_host *host;
    struct rw_device *device;        /* its `comm` is set if NCCL connects the workers */
    struct rw_cuda_replies *replies; /* borrowed */
    struct rw_cuda_peers *peers;     /* NULL: the workers are no peers */
    struct rw_cuda_exchange exchange;
    int is_unread;       /* 1: a peer may still be reading the sums of the last call */
    uint32_t most_nodes; /* most nodes of a histogram call */
    void *staged;        /* page-locked, for messages through the hosts; NULL: not needed */
};

static inline int rw_cuda_are_many(const struct rw_cuda_workers *workers)
{
    return rw_n_workers(workers->device->ctx) > 1;
}

/* Connects the workers, before anything is loaded. */
int rw_cuda_workers_connect(struct rw_cuda_workers *workers);
/* Ends the connection by NCCL and, after a failure, this GPU's wait for its peers. */
void rw_cuda_workers_part(struct rw_cuda_workers *workers);
/* Divides the features of exchange.built[g] among workers: sets the shape of exchange.own[g], and
 * the first of this worker's features. row: [n_features + 1], as rw_hist_matrix.d_row. With one
 * worker, `own` is a copy of `built`. */
int rw_cuda_workers_divide(struct rw_cuda_workers *workers, struct rw_cuda_memory *memory, int g,
                           const uint32_t *row, uint32_t *first_own);
/* Allocates exchange.built of all groups, which are divided. */
int rw_cuda_workers_allocate(struct rw_cuda_workers *workers, struct rw_cuda_memory *memory,
                             int n_groups);
/* Synchronises workers before a tree's NCCL calls, after any allocation. */
int rw_cuda_workers_ready(struct rw_cuda_workers *workers);
/* Between rw_cuda_draw and rw_cuda_finish_sample: lets a replacement be kept only if no worker kept
 * an item, and only by the worker with the lowest random number. */
int rw_cuda_workers_keep_one(struct rw_cuda_workers *workers, const struct rw_cuda_sample *sample);
/* With many workers: prepares for a call of n nodes: waits until no peer reads `built`. Their sums
 * over all workers will be in buffers from `to` on, and are subtracted from those in parent. */
int rw_cuda_workers_begin_sums(struct rw_cuda_workers *workers, uint32_t n, uint32_t to,
                               const uint32_t *parent);
/* Adds up the sums that were built. all_n: documents of each slot, over all workers. */
int rw_cuda_workers_end_sums(struct rw_cuda_workers *workers, const struct rw_sibling *siblings,
                             const uint32_t *all_n);

/* ---- peers ---- */

/* Replaces n splits by those that other workers found, where these are better. */
int rw_cuda_peers_best(struct rw_cuda_workers *workers, const int32_t *slots, uint32_t n,
                       struct rw_split *out);
/* Lets peers read this worker's sums and replies, at the end of loading. */
int rw_cuda_peers_publish(struct rw_cuda_workers *workers);
/* Returns the arena of the memory that peers read, which the last of them that leaves frees. NULL:
 * there are no peers. */
struct rw_arena *rw_cuda_peers_arena(const struct rw_cuda_workers *workers);
/* Ends the use of workers->peers. The device's stream must be idle. */
void rw_cuda_peers_leave(struct rw_cuda_workers *workers);
