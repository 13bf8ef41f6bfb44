/* Finds the best split of each node, or the split that all nodes of a level share (best_splits in
 * tree/engine.h). For nodes, kernels search all features and reply to the host (split/cu_split.cu).
 * For levels, kernels search all features except categorical ones (split/cu_level.cu). Of these
 * there are few, and their cells are few as well, so the host reads them and searches by
 * tree/category_split.h. Each worker searches the features that it owns. */
#include "gpu/engine/engine_cuda.h"

/* ---- memory ---- */

static int allocate_level(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    struct rw_cuda_level *level = &cuda->level.args;
    const struct rw_engine_rules *rules = &host->base.rules;
    struct rw_arena *arena = &cuda->memory.arena;
    uint32_t most_codes = 0;
    if (!rules->symmetric)
        return RW_OK;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_categories *categories = &cuda->categories[g];
        if (categories->n > 0 && categories->most_codes >= most_codes)
            most_codes = categories->most_codes + 1; /* and the cell of missing values */
    }
    const size_t n_cells = (size_t)rw_rules_histograms(rules) * most_codes;
    cuda->level.stride = most_codes;
    RW_TRY(RW_HOST_NEW_RAW(host, cuda->level.d_cell, n_cells));
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, cuda->level.cell, n_cells));
    RW_TRY(RW_HOST_NEW_RAW(host, level->d_found, (size_t)host->base.info.n_features + 1));
    RW_TRY(rw_host_new(host, (void **)&level->d_best,
                       sizeof(*level->d_best) + rules->max_slots * sizeof(*level->d_n_left), 1, 1));
    level->d_n_left = (uint32_t *)(void *)(level->d_best + 1);
    if (!most_codes || !rules->penalty)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, host->penalty, host->base.info.n_features));
    rw_host_set_rules(host, NULL, host->penalty);
    return RW_OK;
}

int rw_cuda_make_search(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    struct rw_cuda_search *search = &cuda->search;
    struct rw_arena *arena = &cuda->memory.arena, *peers = rw_cuda_peers_arena(&cuda->workers);
    const size_t n_slots = host->base.rules.max_slots, n_features = host->base.info.n_features;
    const size_t n_blocks = n_features + search->n_sets; /* per node */
    /* equal on all workers, whose n_sets differ */
    uint64_t searched =
        RW_TUNE_ENGINE_SEARCH_BYTES / sizeof(*search->d_best) / (2 * n_features + 1);
    searched = searched < 1 ? 1 : searched;
    searched = searched < RW_CUDA_MOST_SEARCHED ? searched : RW_CUDA_MOST_SEARCHED;
    cuda->most_searched = (uint32_t)searched;
    search->most_blocks =
        (uint32_t)(cuda->device->n_multiprocessors * cuda->device->tuning->split_blocks);
    host->memory.part = "scratch";
    RW_TRY(RW_HOST_NEW_RAW(host, search->d_best, searched * n_blocks));
    if (search->n_sets)
        RW_TRY(RW_HOST_NEW_RAW(host, search->d_set, searched * search->n_sets));
    RW_TRY(RW_CUDA_ZEROS(&cuda->memory, search->d_done, searched));
    RW_TRY(allocate_level(cuda));
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, cuda->buffers.of, n_slots));
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, cuda->buffers.slot_of, n_slots));
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, cuda->coded, n_slots));
    if (rw_rules_by_node(&host->base.rules)) {
        cuda->allowed_bytes = rw_node_words(&host->base) * sizeof(*host->allowed);
        RW_TRY(rw_arena_new(host->base.ctx, arena, (void **)&host->allowed, n_slots,
                            cuda->allowed_bytes));
    }
    /* The largest pieces are the leaves, a tree (per node a coded node, a set of at most 128 bytes
     * and a leaf value), and the columns of a walk; several are sent at a time. */
    const size_t stage_bytes = (n_slots + 1) * 192 +
                               n_features * (2 + sizeof(struct rw_cuda_column)) + 65536 +
                               (searched + 1) * cuda->allowed_bytes;
    return rw_cuda_replies_allocate(
        &cuda->replies, &cuda->memory, peers ? peers : arena, stage_bytes,
        sizeof(struct rw_cuda_begin) + n_slots * sizeof(struct rw_sum), search->n_sets > 0);
}

/* ---- nodes ---- */

static int buffer_of(const struct rw_cuda *cuda, int32_t slot, uint32_t *buffer)
{
    *buffer = (uint32_t)cuda->buffers.of[slot];
    return cuda->buffers.of[slot] >= 0
               ? RW_OK
               : rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "a split without a histogram");
}

/* Returns the features that may split a slot, and their noise (`allow` in tree/engine.h). */
static const void *allowed_of(const struct rw_cuda *cuda, int32_t slot)
{
    return (const char *)cuda->host.allowed + (size_t)slot * cuda->allowed_bytes;
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

/* Sends the set of features that may split each of these slots, if such sets are needed. */
static int send_allowed(struct rw_cuda *cuda, const int32_t *slots, uint32_t n,
                        struct rw_cuda_search *search)
{
    const struct rw_engine *engine = &cuda->host.base;
    const size_t bytes = cuda->allowed_bytes;
    struct rw_cuda_piece piece;
    if (bytes == 0)
        return RW_OK;
    RW_TRY(rw_cuda_room(&cuda->replies, n * bytes, &piece));
    for (uint32_t i = 0; i < n; i++)
        memcpy((char *)piece.host + i * bytes, allowed_of(cuda, slots[i]), bytes);
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
        RW_TRY(buffer_of(cuda, slots[i], &search->buffer[i]));
    set_least(search, cuda->cells[0].narrow);
    RW_TRY(send_allowed(cuda, slots, n, search));
    RW_CUDA_LAUNCH(cuda, rw_cuda_search_nodes, search, cuda->cells, cuda->categories,
                   cuda->n_groups);
    return RW_OK;
}

int rw_cuda_ask_splits(struct rw_engine *engine, const int32_t *slots, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    cuda->n_searched = (uint32_t)n < cuda->most_searched ? (uint32_t)n : cuda->most_searched;
    return n > 0 ? begin_search(cuda, slots, cuda->n_searched) : RW_OK;
}

/* ---- levels ---- */

/* Reads the cells of feature f of a group, in all nodes of the level, to cuda->level.cell. */
static int read_cells(struct rw_cuda *cuda, int g, uint32_t f, uint32_t n_cells)
{
    const uint32_t stride = cuda->level.stride;
    RW_CUDA_LAUNCH(cuda, rw_cuda_level_cells, &cuda->level.args, &cuda->cells[g], f, n_cells,
                   stride, cuda->level.d_cell);
    return rw_transfer_read(cuda->device, cuda->level.cell, cuda->level.d_cell,
                            (size_t)cuda->level.args.n * stride * sizeof(*cuda->level.cell));
}

static void copy_cells(const struct rw_level *level, int i, uint32_t f, struct rw_cell *cell)
{
    const struct rw_cuda *cuda = (const struct rw_cuda *)level->host;
    memcpy(cell, cuda->level.cell + (size_t)i * cuda->level.stride,
           rw_cuts_n_codes(cuda->host.set[0].bins->cuts, f) * sizeof(*cell));
}

/* Replaces the level's split if one by a categorical feature is better. Writes the documents that
 * go left in each node. */
static int search_all_sets(struct rw_cuda *cuda, const int32_t *slots, struct rw_split *out)
{
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    const struct rw_level level = {&cuda->host, slots, (int)cuda->level.args.n, copy_cells};
    struct rw_split best = out[0];
    for (int g = 0; g < cuda->n_groups; g++) {
        const uint32_t *own = cuda->codes.shared->group[g].column + cuda->first_own[g];
        for (uint32_t f = 0; f < cuda->cells[g].n_features && cuda->categories[g].n > 0; f++) {
            const uint32_t column = own[f];
            if (!rw_cuts_by_category(cuts, column) ||
                !rw_host_allows(&cuda->host, slots[0], column))
                continue;
            RW_TRY(read_cells(cuda, g, f, rw_cuts_n_codes(cuts, column)));
            rw_host_level_sets(&level, column, &best);
            if (best.column == (int32_t)column)
                rw_host_level_splits(&level, &best, out);
        }
    }
    return RW_OK;
}

static int best_level(struct rw_cuda *cuda, const int32_t *slots, int n, struct rw_split *out)
{
    const struct rw_engine *engine = &cuda->host.base;
    struct rw_cuda_level *level = &cuda->level.args;
    const size_t buffers = (size_t)n * sizeof(*level->d_buffer);
    const size_t allowed = cuda->allowed_bytes;
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    RW_TRY(rw_cuda_room(&cuda->replies, allowed + buffers, &piece));
    uint32_t *buffer = (uint32_t *)piece.host + allowed / sizeof(uint32_t);
    if (allowed)
        memcpy(piece.host, allowed_of(cuda, slots[0]), allowed);
    for (int i = 0; i < n; i++)
        RW_TRY(buffer_of(cuda, slots[i], &buffer[i]));
    RW_TRY(rw_cuda_send(&cuda->replies, &piece, allowed + buffers));
    level->rule = engine->split_rule;
    level->d_direction = cuda->search.d_direction;
    level->d_penalty = cuda->search.d_penalty;
    level->n = (uint32_t)n;
    level->d_buffer = (const uint32_t *)piece.d + allowed / sizeof(uint32_t);
    level->d_allowed = allowed ? piece.d : NULL;
    level->d_noise = NULL;
    if (engine->rules.split.gain_noise > 0.0)
        level->d_noise = (const double *)piece.d + rw_noise_word(engine) / 2;
    RW_CUDA_LAUNCH(cuda, rw_cuda_level_split, level, cuda->cells, cuda->n_groups);
    struct rw_cuda_found best;
    RW_TRY(rw_cuda_ask(&cuda->replies, level->d_best, sizeof(best) + buffers, 0));
    RW_TRY(rw_cuda_take(&cuda->replies));
    memcpy(&best, cuda->replies.answer, sizeof(best));
    const char *n_left = (const char *)cuda->replies.answer + sizeof(best);
    for (int i = 0; i < n; i++) {
        memcpy(&best.n_left, n_left + (size_t)i * sizeof(best.n_left), sizeof(best.n_left));
        rw_cuda_split_of(&cuda->host, slots[0], &best, NULL, &out[i]);
        out[i].slot = slots[i];
    }
    return cuda->level.stride ? search_all_sets(cuda, slots, out) : RW_OK;
}

/* ---- the result ---- */

int rw_cuda_best_splits(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const struct rw_cuda_search *search = &cuda->search;
    uint32_t some;
    if (engine->rules.symmetric)
        return best_level(cuda, slots, n, out);
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    for (int first = 0; first < n; first += (int)some) {
        some = (uint32_t)(n - first);
        some = some < cuda->most_searched ? some : cuda->most_searched;
        if (cuda->n_searched == 0)
            RW_TRY(begin_search(cuda, slots + first, some));
        else if (cuda->n_searched != some)
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "splits of the wrong slots");
        cuda->n_searched = 0;
        for (uint32_t i = 0; i < some; i++) {
            struct rw_split *split = &out[first + (int)i];
            const int32_t slot = slots[first + (int)i];
            split->slot = slot;
            split->column = -1;
            split->is_set = 0;
            if (search->n_blocks == 0) /* there are no features, and no kernel replies */
                continue;
            RW_TRY(rw_cuda_replies_await(&cuda->replies, i));
            rw_cuda_read_reply(&cuda->host, search->reply, search->reply_set, i, slot, split);
        }
        if (cuda->workers.peers)
            RW_TRY(rw_cuda_peers_best(&cuda->workers, slots + first, some, out + first));
    }
    return RW_OK;
}
