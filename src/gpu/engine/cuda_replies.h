/* Small data to and from the device. The stage is page-locked memory, with device memory of the
 * same size, from which data is sent. No part of it is reused until the host has waited for the
 * device. An answer is data that the host asks for; replies are the results of searches. The device
 * writes both to page-locked memory of the host, which polls them. */
#pragma once

#include "gpu/engine/cu_engine.h"
#include "gpu/engine/cuda_memory.h"

struct rw_cuda_replies {
    struct rw_device *device;
    char *stage, *d_stage;
    size_t stage_bytes, stage_used;
    void *answer; /* page-locked, [most_bytes] */
    size_t most_bytes;
    uint32_t *answer_word; /* follows `answer`: the number of the last one that arrived */
    uint32_t n_answers;    /* answers requested so far */
    /* [2] page-locked; replies of search l are in [l % 2]. So a worker can read a peer's replies
     * while that peer's next search runs. */
    struct rw_cuda_reply *reply;
    struct rw_code_set *set; /* [2][RW_CUDA_MOST_SEARCHED]; NULL: no categorical features */
    uint32_t n_searches;     /* number of the last search */
};

/* Allocates the memory. arena: of `reply` and `set`, which peers read. */
int rw_cuda_replies_allocate(struct rw_cuda_replies *replies, struct rw_cuda_memory *memory,
                             struct rw_arena *arena, size_t stage_bytes, size_t answer_bytes,
                             int has_sets);

/* A part of the stage: its addresses in page-locked memory and on the device. */
struct rw_cuda_piece {
    void *host, *d;
};
/* Reserves a piece. The caller fills out->host and calls rw_cuda_send; work that is enqueued after
 * that reads the data at out->d. If there is no room, waits for the device, and earlier pieces
 * become invalid. */
int rw_cuda_room(struct rw_cuda_replies *replies, size_t bytes, struct rw_cuda_piece *out);
int rw_cuda_send(struct rw_cuda_replies *replies, const struct rw_cuda_piece *piece, size_t bytes);

/* rw_cuda_ask requests an answer of whole words from d on the device; clear: sets them to 0 there
 * afterwards. rw_cuda_take waits for it, and for all work before it. The answer is then in
 * replies->answer. */
int rw_cuda_ask(struct rw_cuda_replies *replies, void *d, size_t bytes, int clear);
int rw_cuda_take(struct rw_cuda_replies *replies);

/* Numbers the next search, and sets where its replies go. */
void rw_cuda_replies_number(struct rw_cuda_replies *replies, struct rw_cuda_search *search);
/* Waits for reply i of the last search, and so for all work before the search. */
int rw_cuda_replies_await(struct rw_cuda_replies *replies, uint32_t i);
/* Writes the split that a search found for node i. set: [n] the codes that go left, for splits by a
 * categorical feature. A split by bin leaves the split's own set unchanged. */
void rw_cuda_read_reply(const struct rw_host *host, const struct rw_cuda_reply *reply,
                        const struct rw_code_set *set, uint32_t i, int32_t slot,
                        struct rw_split *split);
/* Converts a result to a split, as rw_cuda_read_reply does. set: of the split. */
void rw_cuda_split_of(const struct rw_host *host, int32_t slot, const struct rw_cuda_found *found,
                      const struct rw_code_set *set, struct rw_split *split);
