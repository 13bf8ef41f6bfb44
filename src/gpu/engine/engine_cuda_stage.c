/* The stage of the engine for GPUs, by which small pieces go to the device, and its answers. */
#include <string.h>

#include "gpu/engine/engine_cuda.h"

static int wait_for_device(struct rw_cuda *cuda)
{
    RW_TRY(rw_transfer_wait(cuda->host.base.ctx, cuda->device));
    cuda->stage.used = 0;
    return RW_OK;
}

int rw_cuda_room(struct rw_cuda *cuda, size_t n_bytes, struct rw_cuda_piece *out)
{
    struct rw_cuda_stage *stage = &cuda->stage;
    const size_t bytes = (n_bytes + 255) / 256 * 256;
    *out = (struct rw_cuda_piece){NULL, NULL};
    if (bytes > stage->bytes)
        return rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "%zu bytes do not fit the stage",
                       bytes);
    if (bytes > stage->bytes - stage->used)
        RW_TRY(wait_for_device(cuda));
    out->host = stage->host + stage->used;
    out->d = stage->d + stage->used;
    stage->used += bytes;
    return RW_OK;
}

int rw_cuda_send(struct rw_cuda *cuda, const struct rw_cuda_piece *piece, size_t bytes)
{
    return rw_transfer_write_pinned(cuda->host.base.ctx, cuda->device, piece->d, piece->host,
                                    bytes);
}

int rw_cuda_send_two(struct rw_cuda *cuda, const void *first, size_t first_bytes,
                     const void *second, size_t second_bytes, void **d)
{
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(cuda, first_bytes + second_bytes, &piece));
    memcpy(piece.host, first, first_bytes);
    memcpy((char *)piece.host + first_bytes, second, second_bytes);
    *d = piece.d;
    return rw_cuda_send(cuda, &piece, first_bytes + second_bytes);
}

int rw_cuda_make_whole(struct rw_cuda *cuda)
{
    const struct rw_cuda_whole whole = {.node = {.n = cuda->n_docs}, .parent = RW_HIST_NO_PARENT};
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_whole, 1));
    return rw_cuda_is_dry(cuda) ? RW_OK
                                : rw_transfer_write(cuda->host.base.ctx, cuda->device,
                                                    cuda->d_whole, &whole, sizeof(whole));
}

int rw_cuda_ask_answer(struct rw_cuda *cuda, void *d, size_t bytes, int clear)
{
    if (bytes > cuda->answer_bytes)
        return rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "an answer of %zu bytes", bytes);
    cuda->asked_bytes = bytes;
    RW_CUDA_TRY(cuda, 1,
                rw_cuda_copy_answer(d, (uint32_t)(bytes / sizeof(uint32_t)), clear, cuda->answer,
                                    cuda->answer_word, ++cuda->n_answers, rw_cuda_stream(cuda)));
    return RW_OK;
}

int rw_cuda_take_answer(struct rw_cuda *cuda)
{
    const struct rw_transfer_reply reply = {.word = cuda->answer_word,
                                            .step = 1,
                                            .n = 1,
                                            .bytes = cuda->asked_bytes,
                                            .value = cuda->n_answers};
    RW_TRY(rw_transfer_await(cuda->host.base.ctx, cuda->device, &reply));
    cuda->stage.used = 0; /* what was enqueued behind the question sends nothing */
    return RW_OK;
}

int rw_cuda_answer(struct rw_cuda *cuda, void *d, size_t bytes)
{
    RW_TRY(rw_cuda_ask_answer(cuda, d, bytes, 0));
    return rw_cuda_take_answer(cuda);
}

int rw_cuda_await(struct rw_cuda *cuda, uint32_t n)
{
    const struct rw_transfer_reply reply = {.word = (const uint32_t *)(const void *)cuda->reply,
                                            .step = 2, /* low halves */
                                            .n = (size_t)n * RW_CUDA_REPLY_WORDS,
                                            .bytes = n * sizeof(cuda->reply->word[0]),
                                            .value = cuda->n_searches};
    RW_TRY(rw_transfer_await(cuda->host.base.ctx, cuda->device, &reply));
    cuda->stage.used = 0;
    return RW_OK;
}

/* Words of a node's set. */
static uint32_t set_words(const struct rw_coded_node *node)
{
    return node->set ? rw_set_words(node->missing_code) : 0;
}

/* Copies the sets to `to`, one behind another; nodes then know them by where that is on the device.
 */
static void place_sets(struct rw_coded_node *nodes, size_t n_nodes, uint32_t *to, const uint32_t *d)
{
    for (size_t k = 0; k < n_nodes; k++) {
        const uint32_t n = set_words(&nodes[k]);
        if (n == 0)
            continue;
        memcpy(to, nodes[k].set, n * sizeof(*to));
        nodes[k].set = d;
        to += n;
        d += n;
    }
}

/* Sets stand between nodes, which are of 8-byte words, and leaves. */
int rw_cuda_send_tree(struct rw_cuda *cuda, const struct rw_tree *tree, const void *first,
                      size_t first_bytes, struct rw_cuda_walk *walk, const void **d)
{
    const size_t n = (size_t)tree->n_leaves, leaf_bytes = n * sizeof(*tree->leaf);
    const size_t node_bytes = (n - 1) * sizeof(*cuda->coded);
    size_t set_bytes = 0;
    for (size_t k = 0; tree->set && k < n - 1; k++)
        set_bytes += set_words(&cuda->coded[k]) * sizeof(uint32_t);
    const size_t at_sets = first_bytes + node_bytes, at_leaves = at_sets + set_bytes;
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(cuda, at_leaves + leaf_bytes, &piece));
    char *to = piece.host;
    const char *from = piece.d;
    if (set_bytes)
        place_sets(cuda->coded, n - 1, (void *)(to + at_sets), (const void *)(from + at_sets));
    memcpy(to, first, first_bytes);
    memcpy(to + first_bytes, cuda->coded, node_bytes);
    memcpy(to + at_leaves, tree->leaf, leaf_bytes);
    walk->d_node = (const void *)(from + first_bytes);
    walk->d_leaf = (const void *)(from + at_leaves);
    walk->n_leaves = (uint32_t)n;
    walk->by_set = set_bytes > 0;
    *d = from;
    return rw_cuda_send(cuda, &piece, at_leaves + leaf_bytes);
}
