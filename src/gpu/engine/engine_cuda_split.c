/* Finds the best split of each node on GPUs. Kernels search all features and reply to the host
 * (split/cu_split.cu). */
#include "gpu/engine/engine_cuda.h"

int rw_cuda_buffer_of(const struct rw_cuda *cuda, int32_t slot, uint32_t *buffer)
{
    *buffer = (uint32_t)cuda->buffers.of[slot];
    return cuda->buffers.of[slot] >= 0
               ? RW_OK
               : rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "a split without a histogram");
}

/* Sets the smallest sums that rw_side_allowed accepts. If no possible hessian of a node is enough,
 * or min_docs exceeds 32 bits, sets least_n too high for any side. */
static void set_least(struct rw_cuda_search *search, int narrow)
{
    const struct rw_split_rule *rule = &search->rule;
    struct rw_cell side = {.n = UINT64_MAX};
    int64_t low = 1, high = narrow ? INT32_MAX : INT64_MAX;
    while (rule->newton && low < high) {
        side.hess = low + (high - low) / 2;
        if (rw_side_allowed(rule, &side))
            high = side.hess;
        else
            low = side.hess + 1;
    }
    side.hess = search->least_hess = low;
    search->least_n = !rw_side_allowed(rule, &side) || rule->min_docs > UINT32_MAX ? UINT32_MAX
                      : rule->min_docs > 1 ? (uint32_t)rule->min_docs
                                           : 1;
}

/* Launches searches of all features, categorical ones last (cu_category.cu explains why). Rough
 * scores are stored after the blocks' results. There is room, since a rough search has one block
 * per node in place of two or more. */
static int launch_search(struct rw_cuda *cuda, struct rw_cuda_search *search)
{
    uint32_t first_block = 0;
    search->n_blocks = search->n_sets;
    for (int g = 0; g < cuda->n_groups; g++)
        search->n_blocks += rw_cuda_search_blocks(search, &cuda->cells[g]);
    search->d_score = (float *)(void *)(search->d_best + (size_t)search->n * search->n_blocks);
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_cells *cells = &cuda->cells[g];
        const int is_rough = rw_cuda_is_rough(search, cells);
        RW_CUDA_LAUNCH(cuda, rw_cuda_search_group, search, cells, first_block);
        first_block += rw_cuda_search_blocks(search, cells);
        search->d_score += is_rough ? (size_t)search->n * cells->n_features : 0;
    }
    for (int g = 0; g < cuda->n_groups; g++) {
        if (cuda->categories[g].n == 0)
            continue;
        RW_CUDA_LAUNCH(cuda, rw_cuda_search_categories, search, &cuda->cells[g],
                       &cuda->categories[g], first_block);
        first_block += cuda->categories[g].n;
    }
    return RW_OK;
}

/* Sends the set of features that may split each of these slots, if such sets are needed. */
static int send_allowed(struct rw_cuda *cuda, const int32_t *slots, uint32_t n,
                        struct rw_cuda_search *search)
{
    const struct rw_engine *engine = &cuda->host.base;
    const size_t bytes = rw_cuda_allowed_bytes(cuda);
    struct rw_cuda_piece piece;
    if (bytes == 0)
        return RW_OK;
    RW_TRY(rw_cuda_room(&cuda->replies, n * bytes, &piece));
    for (uint32_t i = 0; i < n; i++)
        memcpy((char *)piece.host + i * bytes, rw_cuda_allowed(cuda, slots[i]), bytes);
    search->d_allowed = piece.d;
    search->n_allowed_words = (uint32_t)(bytes / sizeof(uint32_t));
    search->noise_word = engine->rules.split.gain_noise > 0.0 ? (uint32_t)rw_noise_word(engine) : 0;
    return rw_cuda_send(&cuda->replies, &piece, n * bytes);
}

static int begin_search(struct rw_cuda *cuda, const int32_t *slots, uint32_t n)
{
    struct rw_cuda_search *search = &cuda->search;
    search->rule = cuda->host.base.split_rule;
    rw_cuda_replies_number(&cuda->replies, search);
    search->n = n;
    for (uint32_t i = 0; i < n; i++)
        RW_TRY(rw_cuda_buffer_of(cuda, slots[i], &search->buffer[i]));
    set_least(search, cuda->cells[0].narrow);
    RW_TRY(send_allowed(cuda, slots, n, search));
    return launch_search(cuda, search);
}

static int has_features(const struct rw_cuda *cuda)
{
    for (int g = 0; g < cuda->n_groups; g++) {
        if (cuda->cells[g].n_features > 0)
            return 1;
    }
    return 0; /* then no kernel would reply */
}

int rw_cuda_ask_splits(struct rw_engine *engine, const int32_t *slots, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    cuda->n_searched = 0;
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    if (n == 0 || !has_features(cuda))
        return RW_OK;
    cuda->n_searched = (uint32_t)n < cuda->most_searched ? (uint32_t)n : cuda->most_searched;
    return begin_search(cuda, slots, cuda->n_searched);
}

int rw_cuda_best_splits(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const struct rw_cuda_search *search = &cuda->search;
    uint32_t some;
    if (engine->rules.symmetric)
        return rw_cuda_best_level(engine, slots, n, out);
    const int searches = has_features(cuda);
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    for (int first = 0; first < n; first += (int)some) {
        some = (uint32_t)(n - first);
        some = some < cuda->most_searched ? some : cuda->most_searched;
        if (cuda->n_searched == 0 && searches)
            RW_TRY(begin_search(cuda, slots + first, some));
        else if (!searches)
            rw_cuda_replies_number(&cuda->replies, &cuda->search);
        else if (cuda->n_searched != some)
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "splits of the wrong slots");
        cuda->n_searched = 0;
        if (searches)
            RW_TRY(rw_cuda_replies_await(&cuda->replies, some));
        for (uint32_t i = 0; i < some; i++) {
            struct rw_cuda_found found = {.column = -1};
            if (searches)
                found = rw_cuda_found_of(search->reply, i);
            rw_cuda_split_of(&cuda->host, slots[first + (int)i], &found,
                             search->reply_set ? search->reply_set + i : NULL,
                             &out[first + (int)i]);
        }
        if (cuda->workers.peers)
            RW_TRY(rw_cuda_peers_best(&cuda->workers, slots + first, some, out + first));
    }
    return RW_OK;
}
