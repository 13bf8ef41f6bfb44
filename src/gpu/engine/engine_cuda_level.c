/* Finds the split that all nodes of a level share (best_splits in tree/engine.h). Kernels search
 * all features except categorical ones (split/cu_level.cu). Of these there are few, and their cells
 * are few as well, so the host reads them and searches by tree/category_split.h. Each worker
 * searches the features that it owns. */
#include "gpu/engine/engine_cuda.h"

int rw_cuda_level_allocate(struct rw_cuda *cuda)
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

/* Launches the search for the split of a level: by each feature, then the best of all. */
static int launch_level(struct rw_cuda *cuda, const struct rw_cuda_level *level)
{
    uint32_t n = 0, first = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_cells *cells = &cuda->cells[g];
        RW_CUDA_LAUNCH(cuda, rw_cuda_level_group, level, cells, n);
        n += cells->n_features;
    }
    RW_CUDA_LAUNCH(cuda, rw_cuda_level_pick, level, n);
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_cells *cells = &cuda->cells[g];
        RW_CUDA_LAUNCH(cuda, rw_cuda_level_left, level, cells, first);
        first += cells->n_features;
    }
    return RW_OK;
}

/* ---- categorical features ---- */

/* Reads the cells of feature f of a group, in all nodes of the level, to cuda->level.cell. */
static int read_cells(struct rw_cuda *cuda, int g, uint32_t f, uint32_t n_cells)
{
    const uint32_t stride = cuda->level.stride;
    RW_CUDA_LAUNCH(cuda, rw_cuda_level_cells, &cuda->level.args, &cuda->cells[g], f, n_cells,
                   stride, cuda->level.d_cell);
    return rw_transfer_read(cuda->device, cuda->level.cell, cuda->level.d_cell,
                            (size_t)cuda->level.args.n * stride * sizeof(*cuda->level.cell));
}

/* Copies the cells that were read last (struct rw_level). */
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

int rw_cuda_best_level(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_level *level = &cuda->level.args;
    const size_t buffers = (size_t)n * sizeof(*level->d_buffer);
    const size_t allowed = rw_cuda_allowed_bytes(cuda);
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    RW_TRY(rw_cuda_room(&cuda->replies, allowed + buffers, &piece));
    uint32_t *buffer = (uint32_t *)piece.host + allowed / sizeof(uint32_t);
    if (allowed)
        memcpy(piece.host, rw_cuda_allowed(cuda, slots[0]), allowed);
    for (int i = 0; i < n; i++)
        RW_TRY(rw_cuda_buffer_of(cuda, slots[i], &buffer[i]));
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
    RW_TRY(launch_level(cuda, level));
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
