/* Implements cuda_replies.h. */
#include "gpu/engine/cuda_replies.h"

int rw_cuda_replies_allocate(struct rw_cuda_replies *replies, struct rw_cuda_memory *memory,
                             struct rw_arena *arena, size_t stage_bytes, size_t answer_bytes,
                             int has_sets)
{
    replies->device = memory->device;
    replies->stage_bytes = stage_bytes;
    replies->most_bytes = answer_bytes;
    memory->host->memory.part = "scratch";
    RW_TRY(RW_HOST_NEW_RAW(memory->host, replies->d_stage, stage_bytes));
    RW_TRY(rw_cuda_pinned(memory, &memory->arena, &replies->stage, stage_bytes));
    RW_TRY(rw_cuda_pinned(memory, &memory->arena, &replies->answer,
                          answer_bytes + sizeof(*replies->answer_word)));
    replies->answer_word = (uint32_t *)(void *)((char *)replies->answer + answer_bytes);
    RW_TRY(rw_cuda_pinned(memory, arena, &replies->reply, 2 * sizeof(*replies->reply)));
    return has_sets ? rw_cuda_pinned(memory, arena, &replies->set,
                                     2 * RW_CUDA_MOST_SEARCHED * sizeof(*replies->set))
                    : RW_OK;
}

/* ---- sending ---- */

int rw_cuda_room(struct rw_cuda_replies *replies, size_t n_bytes, struct rw_cuda_piece *out)
{
    const size_t bytes = (n_bytes + 255) / 256 * 256;
    if (bytes > replies->stage_bytes)
        return rw_fail(replies->device->ctx, RW_ERR_INTERNAL, "%zu bytes do not fit the stage",
                       bytes);
    if (bytes > replies->stage_bytes - replies->stage_used) {
        RW_TRY(rw_transfer_wait(replies->device));
        replies->stage_used = 0;
    }
    out->host = replies->stage + replies->stage_used;
    out->d = replies->d_stage + replies->stage_used;
    replies->stage_used += bytes;
    return RW_OK;
}

int rw_cuda_send(struct rw_cuda_replies *replies, const struct rw_cuda_piece *piece, size_t bytes)
{
    if (bytes > 2 * RW_CUDA_SMALL_BYTES)
        return rw_transfer_write_pinned(replies->device, piece->d, piece->host, bytes);
    RW_CUDA_LAUNCH(replies, rw_cuda_send_small, piece->d, piece->host, bytes);
    return RW_OK;
}

/* ---- answers and replies ---- */

int rw_cuda_ask(struct rw_cuda_replies *replies, void *d, size_t bytes, int clear)
{
    if (bytes > replies->most_bytes)
        return rw_fail(replies->device->ctx, RW_ERR_INTERNAL, "an answer of %zu bytes", bytes);
    RW_CUDA_LAUNCH(replies, rw_cuda_copy_answer, d, (uint32_t)(bytes / sizeof(uint32_t)), clear,
                   replies->answer, replies->answer_word, ++replies->n_answers);
    return RW_OK;
}

/* After an answer or a reply the stage is free, since no work enqueued later has sent anything. */
int rw_cuda_take(struct rw_cuda_replies *replies)
{
    replies->stage_used = 0;
    return rw_transfer_await(replies->device, replies->answer_word, 1, 1, replies->n_answers);
}

void rw_cuda_replies_number(struct rw_cuda_replies *replies, struct rw_cuda_search *search)
{
    const uint32_t number = ++replies->n_searches;
    search->launch = number;
    search->reply = &replies->reply[number % 2];
    if (replies->set)
        search->reply_set = replies->set + number % 2 * RW_CUDA_MOST_SEARCHED;
}

int rw_cuda_replies_await(struct rw_cuda_replies *replies, uint32_t i)
{
    const uint64_t *word = replies->reply[replies->n_searches % 2].word[i];
    replies->stage_used = 0;
    return rw_transfer_await(replies->device, (const uint32_t *)(const void *)word,
                             2, /* the low halves of the 64-bit words */
                             RW_CUDA_REPLY_WORDS, replies->n_searches);
}

void rw_cuda_read_reply(const struct rw_host *host, const struct rw_cuda_reply *reply,
                        const struct rw_code_set *set, uint32_t i, int32_t slot,
                        struct rw_split *split)
{
    uint32_t number[RW_CUDA_REPLY_WORDS];
    struct rw_cuda_found found;
    for (int k = 0; k < RW_CUDA_REPLY_WORDS; k++)
        number[k] = (uint32_t)(reply->word[i][k] >> 32);
    const uint64_t gain = (uint64_t)number[1] << 32 | number[0];
    memcpy(&found.gain, &gain, sizeof(found.gain));
    found.column = (int32_t)number[2];
    found.bin = number[3];
    found.missing_left = (int32_t)number[4];
    found.n_left = number[5];
    rw_cuda_split_of(host, slot, &found, set ? set + i : NULL, split);
}

void rw_cuda_split_of(const struct rw_host *host, int32_t slot, const struct rw_cuda_found *found,
                      const struct rw_code_set *set, struct rw_split *split)
{
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    split->slot = slot;
    split->column = found->column;
    split->is_set = 0;
    if (found->column < 0)
        return;
    if (rw_cuts_by_category(cuts, (uint32_t)found->column)) {
        const struct rw_category_split by_set = {.left = *set,
                                                 .missing_left = found->missing_left,
                                                 .gain = found->gain,
                                                 .n_left = found->n_left};
        *split = rw_host_set_split(host, slot, (uint32_t)found->column, &by_set);
        return;
    }
    split->feature = cuts->feature[found->column];
    split->bin = found->bin;
    split->cut = cuts->cut[cuts->offset[found->column] + found->bin];
    split->missing_left = found->missing_left;
    split->gain = found->gain;
    split->noise = rw_host_noise(host, slot, (uint32_t)found->column);
    split->n_left = found->n_left;
}
