/* The memory of the engine for GPUs. In a dry run of loading, which makes a plan, these functions
 * count the bytes that they would allocate, and allocate and send nothing. Pointers from them must
 * then not be followed. */
#pragma once

#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"
#include "gpu/engine/cu_engine.h"

struct rw_cuda_memory {
    struct rw_host *host; /* counts bytes; its `plan` is set in a dry run */
    struct rw_device *device;
    struct rw_arena arena;  /* owns host memory, page-locked memory and events */
    struct rw_arena *peers; /* owns device memory allocated now; NULL: the host's arena does */
    /* Bytes of the device that were free before the training set was loaded, or fewer if the user
     * allows fewer. */
    uint64_t free_bytes;
    int is_limited;        /* 1: the user limits device memory */
    uint64_t shared_bytes; /* part of free_bytes, which bags share (share_bytes) */
    /* Bytes by which the choice of methods in the first tree will change the memory in use; 0 in
     * dry runs and afterwards. */
    int64_t to_settle;
    /* The largest number of bytes in use so far, including memory that is freed later. */
    uint64_t most_bytes;
};

static inline int rw_cuda_is_dry(const struct rw_cuda_memory *memory)
{
    return memory->host->memory.plan != NULL;
}

/* Returns the device memory that is left. Between loading and the first tree, it assumes that
 * methods have been chosen. */
static inline uint64_t rw_cuda_left_bytes(const struct rw_cuda_memory *memory)
{
    const uint64_t bytes = memory->host->base.info.bytes + (uint64_t)memory->to_settle;
    return memory->free_bytes > bytes ? memory->free_bytes - bytes : 0;
}

/* Counts temporary memory, in addition to the memory in use. */
static inline void rw_cuda_count_most(struct rw_cuda_memory *memory, uint64_t bytes)
{
    const uint64_t most = memory->host->base.info.bytes + bytes;
    memory->most_bytes = most > memory->most_bytes ? most : memory->most_bytes;
}

/* Calls a launcher in a function that returns a status. of: has a `device`. */
#define RW_CUDA_LAUNCH(of, launcher, ...) \
    RW_CU((of)->device->ctx, launcher(__VA_ARGS__, (of)->device->stream))

/* Allocates device memory, and fills it with `from`, which counts as part "tables" of the plan, or
 * if that is NULL with 0. out: the address of a pointer. RW_HOST_NEW_RAW does not fill it. */
int rw_cuda_table(struct rw_cuda_memory *memory, void *out, const void *from, size_t bytes);
#define RW_CUDA_ZEROS(memory, d, n) rw_cuda_table((memory), &(d), NULL, (n) * sizeof(*(d)))
#define RW_CUDA_TABLE(memory, d, from, n) \
    rw_cuda_table((memory), &(d), (from), (n) * sizeof(*(from)))

/* Allocates the counts and sums of n histograms, whose shape is set, as 0: histograms are moved
 * whole, also those of features that no tree has sampled. */
int rw_cuda_new_cells(struct rw_cuda_memory *memory, struct rw_cuda_cells *cells, uint64_t n);

/* Allocates zeroed page-locked memory, which the arena frees. A dry run does not count it. */
int rw_cuda_pinned(struct rw_cuda_memory *memory, struct rw_arena *arena, void *out, size_t bytes);
/* Allocates page-locked memory for codes, which the caller frees with rw_transfer_pinned_free. A
 * dry run counts it, and leaves *out unchanged. out: the address of a pointer. */
int rw_cuda_pinned_codes(struct rw_cuda_memory *memory, void *out, uint64_t bytes);
