/* Data of the engine for GPUs: codes and tables onto the device, and all memory of training. */
#include "gpu/engine/engine_cuda.h"

#include <string.h>

#include "base/mem.h"
#include "gpu/binning/device_cuts.h"
#include "gpu/device/tuning.h"

/* ---- groups ---- */

/* A feature goes to the group of its codes' width; narrow ones to those of 8 bits, if there are
 * any: one launch for both. */
static int make_groups(struct rw_cuda *cuda)
{
    static const int group_bits[RW_CUDA_GROUPS] = {4, 8, 16};
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    int narrow_with = 4;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        if (rw_code_bits(rw_cuts_n_codes(cuts, f)) == 8)
            narrow_with = 8;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        struct rw_cuda_group *group = &cuda->group[cuda->n_groups];
        group->bits = group_bits[g];
        if (!group->column)
            RW_TRY(RW_NEW(cuda->host.base.ctx, group->column, cuts->n_features));
        for (int narrow = 0; narrow < 2; narrow++) {
            for (uint32_t f = 0; f < cuts->n_features; f++) {
                const uint32_t n_codes = rw_cuts_n_codes(cuts, f);
                const int bits = rw_code_bits(n_codes);
                if ((bits == 4) != narrow || (narrow ? narrow_with : bits) != group->bits)
                    continue;
                group->column[group->n_features++] = f;
                group->n_narrow += (uint32_t)(bits < group->bits);
                group->n_bins = n_codes > group->n_bins ? n_codes : group->n_bins;
            }
        }
        const uint32_t fours = (group->n_bins + 3) / 4 * 4; /* searches read four at a time */
        if (fours <= RW_HIST_MOST_BINS)
            group->n_bins = fours;
        cuda->n_groups += group->n_features > 0;
    }
    return RW_OK;
}

/* ---- codes ---- */

/* Columns are for methods that read them: made if a quarter of what is free holds them, or if a
 * forced method needs them. */
static int layouts_of(const struct rw_cuda *cuda, int g, uint32_t n_docs)
{
    const struct rw_cuda_group *group = &cuda->group[g];
    const uint64_t bytes = (uint64_t)n_docs * group->n_features * (uint64_t)group->bits / 8;
    int wanted = 0;
    for (int i = 0; i < group->candidates.n; i++)
        wanted |= !group->candidates.method[i]->reads_tiles;
    if (!wanted)
        return RW_HIST_TILES;
    return cuda->host.base.rules.hist || bytes <= rw_cuda_left_bytes(cuda) / 4
               ? RW_HIST_TILES | RW_HIST_COLUMNS
               : RW_HIST_TILES;
}

struct rw_hist_matrix_spec rw_cuda_matrix_spec(const struct rw_cuda *cuda, int g, uint32_t n_docs,
                                               int layouts)
{
    const struct rw_cuda_group *group = &cuda->group[g];
    return (struct rw_hist_matrix_spec){.bits = group->bits,
                                        .n_features = group->n_features,
                                        .n_docs = n_docs,
                                        .n_bins = group->n_bins,
                                        .n_narrow = group->n_narrow,
                                        .layouts = layouts};
}

/* rw_cuda_bins_make without any memory. */
static int dry_matrix(struct rw_cuda *cuda, const struct rw_hist_matrix_spec *spec,
                      struct rw_hist_matrix **out)
{
    RW_TRY(rw_hist_matrix_plan(cuda->host.base.ctx, spec, out));
    struct rw_hist_matrix *matrix = *out;
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        matrix->tile[t].d_word = cuda;
    if (matrix->column_words)
        matrix->d_column = (const uint32_t *)(const void *)cuda;
    return RW_OK;
}

/* The matrix of codes that were there before; it is the engine's but for the codes. */
static int taken_matrix(struct rw_cuda *cuda, int g, struct rw_hist_matrix **out)
{
    RW_TRY(RW_NEW(cuda->host.base.ctx, *out, 1));
    **out = *cuda->taken->matrix[g];
    return RW_OK;
}

static void count_matrix(struct rw_cuda *cuda, const struct rw_hist_matrix *matrix)
{
    cuda->host.memory.part = "codes";
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        rw_host_count(&cuda->host, (rw_cuda_tile_bytes(matrix, t) + 127) / 128 * 128);
    cuda->host.memory.part = "column copies";
    rw_host_count(&cuda->host, rw_cuda_columns_bytes(matrix));
}

int rw_cuda_send_table(struct rw_cuda *cuda, void **d, const void *from, size_t n, size_t size)
{
    cuda->host.memory.part = "tables";
    RW_TRY(rw_host_new(&cuda->host, d, n, size, 1));
    return rw_cuda_is_dry(cuda)
               ? RW_OK
               : rw_transfer_write(cuda->host.base.ctx, cuda->device, *d, from, n * size);
}

static int clear(struct rw_cuda *cuda, void *d, size_t bytes)
{
    if (!rw_cuda_is_dry(cuda))
        RW_CU(cuda->host.base.ctx,
              cudaMemsetAsync(d, 0, bytes, (cudaStream_t)rw_cuda_stream(cuda)));
    return RW_OK;
}

/* The most frequent code of each feature. */
static int send_frequent(struct rw_cuda *cuda, int g)
{
    struct rw_cuda_group *group = &cuda->group[g];
    const uint64_t *counts = cuda->taken ? cuda->taken->counts[g] : cuda->counts[g];
    RW_FREED uint16_t *frequent = NULL;
    RW_TRY(RW_NEW(cuda->host.base.ctx, frequent, group->n_features));
    for (uint32_t f = 0; counts && f < group->n_features; f++) {
        const uint64_t *of = counts + (size_t)f * group->n_bins;
        for (uint32_t code = 1; code < group->n_bins; code++)
            frequent[f] = of[code] > of[frequent[f]] ? (uint16_t)code : frequent[f];
    }
    return rw_cuda_send_table(cuda, (void **)&group->d_frequent, frequent, group->n_features,
                              sizeof(*frequent));
}

static int make_matrix(struct rw_cuda *cuda, int set, int g, const struct rw_cuda_source *source)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_cuda_group *group = &cuda->group[g];
    const uint32_t n_docs = source->dataset->n_docs;
    struct rw_hist_matrix **matrix = &cuda->set[set].matrix[g];
    const struct rw_cuda_coding coding = {
        .dataset = source->dataset,
        .cuts = cuda->host.set[0].bins->cuts,
        .absent_missing = cuda->host.base.rules.cut.absent_missing,
        .matrix = rw_cuda_matrix_spec(cuda, g, n_docs,
                                      set == 0 ? layouts_of(cuda, g, n_docs) : RW_HIST_TILES),
        .feature = group->column,
        .codes = source->codes,
        .code_of = source->code_of};
    if (set == 0 && !rw_cuda_is_dry(cuda))
        RW_TRY(RW_NEW_RAW(ctx, cuda->counts[g], (size_t)group->n_features * group->n_bins));
    RW_TRY(rw_cuda_is_dry(cuda) ? dry_matrix(cuda, &coding.matrix, matrix)
                                : rw_cuda_bins_make(ctx, cuda->device, &coding,
                                                    set == 0 ? cuda->counts[g] : NULL, matrix));
    count_matrix(cuda, *matrix);
    const uint64_t most = cuda->host.base.info.bytes + rw_cuda_bins_bytes(&coding);
    cuda->most_bytes = most > cuda->most_bytes ? most : cuda->most_bytes;
    return RW_OK;
}

/* A group's codes of the training set, and what is known of them. */
static int make_training_matrix(struct rw_cuda *cuda, int g, const struct rw_cuda_source *source)
{
    struct rw_hist_matrix **matrix = &cuda->set[0].matrix[g];
    if (cuda->set[0].is_far)
        count_matrix(cuda, *matrix); /* rw_cuda_far_make has made it */
    else
        RW_TRY(cuda->taken ? taken_matrix(cuda, g, matrix) : make_matrix(cuda, 0, g, source));
    (*matrix)->d_row = cuda->group[g].built.d_row;
    (*matrix)->n_row_cells = cuda->group[g].built.n_cells;
    return send_frequent(cuda, g);
}

/* Where each feature's codes are in a set's tiles; of the training set, where partitions read them:
 * in columns, if there are any. */
static int make_columns(struct rw_cuda *cuda, int set)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const uint32_t n_features = cuda->host.base.info.n_features;
    RW_FREED struct rw_cuda_column *column = NULL;
    RW_TRY(RW_NEW(ctx, column, n_features));
    if (cuda->set[set].far.at)
        memcpy(column, cuda->set[set].far.at, n_features * sizeof(*column));
    for (int g = 0; g < cuda->n_groups && !cuda->set[set].is_far; g++) {
        const struct rw_hist_matrix *matrix = cuda->set[set].matrix[g];
        for (uint32_t t = 0; t < matrix->n_tiles; t++) {
            const struct rw_hist_tile *tile = &matrix->tile[t];
            for (uint32_t f = 0; f < tile->n_features; f++)
                column[cuda->group[g].column[tile->first_feature + f]] =
                    (struct rw_cuda_column){.d_word = tile->d_word,
                                            .bytes = tile->bits == 16 ? 2 : 4,
                                            .lanes = tile->lanes,
                                            .lane = f % tile->lanes,
                                            .bits = (uint32_t)tile->bits,
                                            .shift = f / tile->lanes * (uint32_t)tile->bits};
        }
    }
    if (set == 0) {
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->arena, cuda->split_column, n_features));
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->arena, cuda->tile_column, n_features));
        memcpy(cuda->split_column, column, n_features * sizeof(*column));
        memcpy(cuda->tile_column, column, n_features * sizeof(*column));
    }
    for (int g = 0; set == 0 && g < cuda->n_groups && !cuda->set[0].is_far; g++) {
        const struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
        const uint32_t bits = (uint32_t)cuda->group[g].bits;
        for (uint32_t f = 0; matrix->d_column && f < matrix->n_features; f++)
            cuda->split_column[cuda->group[g].column[f]] =
                (struct rw_cuda_column){.d_word = matrix->d_column + f * matrix->column_words,
                                        .bytes = bits == 16 ? 2 : 1,
                                        .lanes = 1,
                                        .bits = bits,
                                        .log_docs = bits == 4};
    }
    return rw_cuda_send_table(cuda, (void **)&cuda->set[set].d_column, column, n_features,
                              sizeof(*column));
}

/* A set's codes, and its scores at 0. */
static int make_set(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source)
{
    const size_t n_docs = source->dataset->n_docs;
    const int is_far = set == 0 ? cuda->place.is_far : rw_cuda_is_set_far(cuda, (uint32_t)n_docs);
    cuda->set[set].is_far = is_far;
    if (is_far)
        RW_TRY(rw_cuda_far_make(cuda, set, source));
    for (int g = 0; g < cuda->n_groups && (set == 0 || !is_far); g++)
        RW_TRY(set == 0 ? make_training_matrix(cuda, g, source)
                        : make_matrix(cuda, set, g, source));
    RW_TRY(make_columns(cuda, set));
    cuda->host.memory.part = "scores";
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->set[set].d_score, n_docs));
    RW_TRY(clear(cuda, cuda->set[set].d_score, n_docs * sizeof(double)));
    return rw_cuda_is_dry(cuda) ? RW_OK : rw_transfer_wait(cuda->host.base.ctx, cuda->device);
}

/* ---- tables of the training set ---- */

/* Of a feature by categories searches of cuts know none. */
static struct rw_cuda_feature feature_of(const struct rw_cuts *cuts, uint32_t column)
{
    const uint32_t n_bins = rw_cuts_n_bins(cuts, column);
    const float *cut = cuts->cut + cuts->offset[column];
    uint32_t zero_bin = 0;
    if (rw_cuts_by_category(cuts, column))
        return (struct rw_cuda_feature){.column = column};
    while (zero_bin < n_bins && !(0.0f <= cut[zero_bin]))
        zero_bin++;
    return (struct rw_cuda_feature){.column = column,
                                    .n_bins = n_bins,
                                    .has_missing = cuts->has_missing[column],
                                    .zero_bin = zero_bin};
}

/* What searches know of each feature. */
static int make_tables(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    RW_FREED struct rw_cuda_feature *feature = NULL;
    RW_FREED uint32_t *row = NULL;
    void *d;
    RW_TRY(RW_NEW(ctx, feature, cuts->n_features));
    RW_TRY(RW_NEW(ctx, row, (size_t)cuts->n_features + 1));
    for (int g = 0; g < cuda->n_groups; g++) {
        struct rw_cuda_group *group = &cuda->group[g];
        for (uint32_t f = 0; f < group->n_features && !rw_cuda_is_dry(cuda); f++)
            feature[f] = feature_of(cuts, group->column[f]);
        RW_TRY(rw_cuda_send_table(cuda, &d, feature, group->n_features, sizeof(*feature)));
        group->built.d_feature = d;
        for (uint32_t f = 0; f < group->n_features; f++) /* searches read four cells at a time */
            row[f + 1] = row[f] + (rw_cuts_n_codes(cuts, group->column[f]) + 3) / 4 * 4;
        group->built.n_features = group->n_features;
        group->built.n_bins = group->n_bins;
        group->built.n_cells = row[group->n_features];
        RW_TRY(rw_cuda_send_table(cuda, &d, row, (size_t)group->n_features + 1, sizeof(*row)));
        group->built.d_row = d;
        RW_TRY(rw_cuda_workers_divide(cuda, g, row));
    }
    return RW_OK;
}

/* ---- what searches know of the rules ---- */

/* Features' directions and penalties. */
static int send_rules(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    const size_t n_features = host->base.info.n_features;
    RW_FREED double *penalty = NULL;
    RW_FREED int8_t *direction = NULL;
    if (host->base.rules.monotone) {
        RW_TRY(RW_NEW(host->base.ctx, direction, n_features));
        if (!rw_cuda_is_dry(cuda))
            rw_host_set_rules(host, direction, NULL);
        RW_TRY(rw_cuda_send_table(cuda, (void **)&cuda->d_direction, direction, n_features,
                                  sizeof(*direction)));
    }
    if (host->base.rules.penalty) {
        RW_TRY(RW_NEW(host->base.ctx, penalty, n_features));
        if (!rw_cuda_is_dry(cuda))
            rw_host_set_rules(host, NULL, penalty);
        RW_TRY(rw_cuda_send_table(cuda, (void **)&cuda->d_penalty, penalty, n_features,
                                  sizeof(*penalty)));
    }
    return RW_OK;
}

/* Those of a group that are this worker's, by their places in its histograms. */
static int send_categories(struct rw_cuda *cuda, struct rw_cuda_group *group)
{
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    RW_FREED struct rw_cuda_category *category = NULL;
    uint32_t n = 0, most_codes = 0;
    void *d;
    RW_TRY(RW_NEW(cuda->host.base.ctx, category, group->n_features));
    for (uint32_t f = 0; f < group->cells.n_features; f++) {
        const uint32_t column = group->column[group->first_own + f];
        if (!rw_cuts_by_category(cuts, column))
            continue;
        const uint32_t n_codes = rw_cuts_n_bins(cuts, column);
        most_codes = n_codes > most_codes ? n_codes : most_codes;
        category[n++] = (struct rw_cuda_category){.feature = f,
                                                  .column = column,
                                                  .n_codes = n_codes,
                                                  .has_missing = cuts->has_missing[column]};
    }
    if (n == 0)
        return RW_OK;
    RW_TRY(rw_cuda_send_table(cuda, &d, category, n, sizeof(*category)));
    group->categories = (struct rw_cuda_categories){d, n, cuda->n_sets, most_codes};
    cuda->n_sets += n;
    return RW_OK;
}

static int send_all_categories(struct rw_cuda *cuda)
{
    for (int g = 0; g < cuda->n_groups; g++)
        RW_TRY(send_categories(cuda, &cuda->group[g]));
    return RW_OK;
}

size_t rw_cuda_allowed_bytes(const struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    return rw_rules_by_node(&engine->rules) ? rw_feature_words(engine) * sizeof(uint32_t) : 0;
}

int rw_cuda_allow(struct rw_engine *engine, const int32_t *slots, int n, const uint32_t *features)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const size_t words = rw_feature_words(engine);
    for (int i = 0; i < n; i++)
        memcpy(cuda->allowed + (size_t)slots[i] * words, features + (size_t)i * words,
               words * sizeof(*features));
    return RW_OK;
}

int rw_cuda_send_allowed(struct rw_cuda *cuda, const int32_t *slots, uint32_t n,
                         struct rw_cuda_search *search)
{
    const size_t bytes = rw_cuda_allowed_bytes(cuda), words = bytes / sizeof(uint32_t);
    struct rw_cuda_piece piece;
    if (bytes == 0)
        return RW_OK;
    RW_TRY(rw_cuda_room(cuda, n * bytes, &piece));
    uint32_t *to = piece.host;
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + i * words, cuda->allowed + (size_t)slots[i] * words, bytes);
    search->d_allowed = piece.d;
    search->n_allowed_words = (uint32_t)words;
    return rw_cuda_send(cuda, &piece, n * bytes);
}

/* ---- memory of training ---- */

int rw_cuda_new_cells(struct rw_cuda *cuda, struct rw_cuda_cells *cells, uint64_t n)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    cells->narrow = rw_cuda_has_narrow_cells(cuda);
    const size_t size = rw_hist_sum_bytes(cells->narrow);
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cells->d_count, n));
    RW_TRY(rw_host_new(&cuda->host, &cells->d_lambda, n, size, 1));
    return rules->newton ? rw_host_new(&cuda->host, &cells->d_hess, n, size, 1) : RW_OK;
}

/* Nodes that keep histograms share no documents, and one that may be searched has 2 x min_docs of
 * them. */
static int make_pools(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    uint64_t n_buffers = rw_rules_histograms(rules);
    const uint32_t all_docs = cuda->workers ? cuda->host.base.all_docs : cuda->n_docs;
    const uint64_t most = all_docs / rules->min_docs + 2;
    cuda->host.memory.part = "histograms";
    n_buffers = n_buffers < most ? n_buffers : most;
    cuda->n_buffers = (int32_t)n_buffers;
    for (int g = 0; g < cuda->n_groups; g++) {
        struct rw_cuda_group *group = &cuda->group[g];
        const uint64_t n = n_buffers * group->cells.n_cells;
        RW_TRY(rw_cuda_new_cells(cuda, &group->cells, n));
        if (!cuda->workers)
            group->built = group->cells;
    }
    return cuda->workers ? rw_cuda_workers_allocate(cuda) : RW_OK;
}

/* May each group's histograms take lambdas by position? */
static int moves_have_a_use(const struct rw_cuda *cuda)
{
    int use = !cuda->place.is_far;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_hist_candidates *candidates = &cuda->group[g].candidates;
        int any = 0;
        for (int i = 0; i < candidates->n; i++)
            any |= candidates->method[i]->by_position;
        use &= any;
    }
    return use;
}

/* Quantised lambdas and hessians by document, and by position. */
static int make_integers(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    cuda->host.memory.part = "lambdas";
    cuda->moved = rw_moved_of(rules->newton, rw_quantise_limit(rules->bits));
    if (moves_have_a_use(cuda))
        RW_TRY(rw_host_new(&cuda->host, &cuda->d_moved, 2 * cuda->half, rw_moved_bytes(cuda->moved),
                           1));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_lambda_q, cuda->n_docs));
    return rules->newton ? RW_HOST_NEW_RAW(&cuda->host, cuda->d_hess_q, cuda->n_docs) : RW_OK;
}

static int make_whole(struct rw_cuda *cuda)
{
    const struct rw_cuda_whole whole = {.node = {.n = cuda->n_docs}, .parent = RW_HIST_NO_PARENT};
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_whole, 1));
    return rw_cuda_is_dry(cuda) ? RW_OK
                                : rw_transfer_write(cuda->host.base.ctx, cuda->device,
                                                    cuda->d_whole, &whole, sizeof(whole));
}

static int make_lists(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t n = cuda->n_docs, n_slots = rules->max_slots;
    cuda->host.memory.part = "lambdas";
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_begin, 1));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_pair, n));
    cuda->host.memory.part = "lists";
    cuda->half = (n + 63) / 64 * 64;
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_list, 2 * cuda->half));
    cuda->most_chunks = n / RW_CUDA_CHUNK + n_slots + 1;
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_placed, 2 * RW_CUDA_MOST_PARTS));
    RW_TRY(clear(cuda, cuda->d_placed, 2 * RW_CUDA_MOST_PARTS * sizeof(*cuda->d_placed)));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_n_listed, 1));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_carried, RW_CUDA_CARRIED));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_leaf_of, n));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_sum, n_slots));
    RW_TRY(clear(cuda, cuda->d_sum, n_slots * sizeof(*cuda->d_sum)));
    RW_TRY(make_whole(cuda));
    RW_TRY(make_integers(cuda));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_feature_sampled, cuda->host.base.info.n_features));
    for (int g = 0, before = 0; g < cuda->n_groups; g++) {
        cuda->group[g].cells.d_sampled =
            cuda->d_feature_sampled + before + cuda->group[g].first_own;
        before += (int)cuda->group[g].n_features;
    }
    if (rw_rules_see_all(rules))
        return RW_OK;
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_kept, cuda->n_queries));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_low, 2));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_sampled, n));
    RW_TRY(clear(cuda, cuda->d_pair, n * sizeof(*cuda->d_pair))); /* for who reads them all */
    RW_TRY(clear(cuda, cuda->d_lambda_q, n * sizeof(*cuda->d_lambda_q)));
    if (cuda->d_hess_q)
        RW_TRY(clear(cuda, cuda->d_hess_q, n * sizeof(*cuda->d_hess_q)));
    cuda->list_scratch_bytes = rw_cuda_list_bytes(cuda->n_docs);
    return rw_host_new(&cuda->host, &cuda->d_list_scratch, cuda->list_scratch_bytes, 1, 1);
}

/* What the host keeps, and what goes back and forth. */
static int make_host_side(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const size_t n_slots = cuda->host.base.rules.max_slots;
    struct rw_arena *arena = &cuda->arena;
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->n, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->first, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->buffer_of, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->child, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->stack, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->summed, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->coded, n_slots));
    RW_TRY(rw_arena_new(ctx, arena, (void **)&cuda->allowed, n_slots, rw_cuda_allowed_bytes(cuda)));
    cuda->most_nodes = RW_TUNE_ENGINE_NODES;
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->node, cuda->most_nodes));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->parent, cuda->most_nodes));
    RW_TRY(rw_transfer_pinned_alloc(ctx, (void **)&cuda->stage.host, cuda->stage.bytes));
    RW_TRY(rw_transfer_pinned_alloc(ctx, (void **)&cuda->reply, sizeof(*cuda->reply)));
    memset(cuda->reply, 0, sizeof(*cuda->reply)); /* launches are counted from 1 */
    if (cuda->n_sets)
        RW_TRY(rw_transfer_pinned_alloc(ctx, (void **)&cuda->reply_set,
                                        RW_CUDA_MOST_SEARCHED * sizeof(*cuda->reply_set)));
    cuda->answer_bytes = sizeof(struct rw_cuda_begin) + n_slots * sizeof(struct rw_sum);
    RW_TRY(rw_transfer_pinned_alloc(ctx, &cuda->answer,
                                    cuda->answer_bytes + sizeof(*cuda->answer_word)));
    cuda->answer_word = (uint32_t *)(void *)((char *)cuda->answer + cuda->answer_bytes);
    *cuda->answer_word = 0; /* answers are counted from 1 */
    return RW_OK;
}

/* Of searches, and of what goes back and forth. */
static int make_search(struct rw_cuda *cuda)
{
    const size_t n_slots = cuda->host.base.rules.max_slots;
    const size_t n_features = cuda->host.base.info.n_features;
    const size_t n_blocks = n_features + cuda->n_sets; /* of a node */
    uint64_t searched = RW_TUNE_ENGINE_SEARCH_BYTES / sizeof(*cuda->d_best) / (n_blocks + 1);
    searched = searched < 1 ? 1 : searched;
    searched = searched < RW_CUDA_MOST_SEARCHED ? searched : RW_CUDA_MOST_SEARCHED;
    cuda->most_searched = (uint32_t)searched;
    cuda->host.memory.part = "scratch";
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_best, searched * n_blocks));
    if (cuda->n_sets)
        RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_set, searched * cuda->n_sets));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_done, searched));
    RW_TRY(clear(cuda, cuda->d_done, searched * sizeof(*cuda->d_done)));
    /* the largest pieces: a leaf, a coded node and its set (172 bytes, most of them for a thousand
     * categories), the columns of a walk; several at a time */
    cuda->stage.bytes =
        (n_slots + 1) * 192 + n_features * (2 + sizeof(struct rw_cuda_column)) + 65536;
    cuda->stage.bytes += searched * rw_cuda_allowed_bytes(cuda);
    return rw_host_new(&cuda->host, (void **)&cuda->stage.d, cuda->stage.bytes, 1, 1);
}

/* ---- loading ---- */

static int make_lambdas(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    struct rw_engine *engine = &cuda->host.base;
    cuda->host.memory.part = "lambdas";
    if (rw_cuda_is_dry(cuda)) {
        rw_host_count(&cuda->host, rw_cuda_lambda_plan_bytes(&engine->rules, source->dataset));
        return RW_OK;
    }
    RW_TRY(rw_cuda_lambda_new(engine->ctx, cuda->device, &engine->rules, source->dataset,
                              source->gains, &cuda->lambda));
    if (cuda->workers)
        rw_cuda_lambda_share(cuda->lambda, rw_cuda_workers_max, cuda);
    rw_host_count(&cuda->host, rw_cuda_lambda_bytes(cuda->lambda));
    return RW_OK;
}

int rw_cuda_load_set(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source)
{
    const struct rw_dataset *dataset = source->dataset;
    if (set > 0)
        return make_set(cuda, set, source);
    cuda->n_docs = dataset->n_docs;
    cuda->n_queries = dataset->n_queries;
    RW_TRY(rw_cuda_list_candidates(cuda));
    RW_TRY(make_groups(cuda));
    RW_TRY(make_tables(cuda));
    RW_TRY(send_all_categories(cuda));
    RW_TRY(send_rules(cuda));
    RW_TRY(make_set(cuda, 0, source));
    RW_TRY(make_lambdas(cuda, source));
    RW_TRY(make_lists(cuda));
    if (cuda->d_sampled)
        RW_TRY(rw_cuda_send_table(cuda, (void **)&cuda->d_query_offset, dataset->query_offset,
                                  (size_t)dataset->n_queries + 1, sizeof(*dataset->query_offset)));
    RW_TRY(make_pools(cuda));
    RW_TRY(make_search(cuda));
    if (!rw_cuda_is_dry(cuda))
        RW_TRY(make_host_side(cuda));
    RW_TRY(rw_cuda_plan_histograms(cuda));
    if (rw_cuda_is_dry(cuda))
        return rw_cuda_settle_columns(cuda);
    /* in the first tree; other sets, which are placed before it, are planned after it */
    cuda->to_settle = (int64_t)(cuda->place.settled_bytes - cuda->host.base.info.bytes);
    return RW_OK;
}

/* The training set's cuts: an earlier training's, ready ones, or made on the device. */
static int make_cuts(struct rw_cuda *cuda, struct rw_cuda_source *source, uint32_t **column)
{
    struct rw_host *host = &cuda->host;
    const struct rw_dataset *dataset = source->dataset;
    struct rw_cuts *cuts;
    if (rw_n_workers(host->base.ctx) > 1) {
        host->base.keep = NULL; /* whether codes are taken would have to be agreed on */
        if (!source->codes)
            return rw_fail(host->base.ctx, RW_ERR_INTERNAL, "a worker without ready boundaries");
    }
    rw_cuda_take_codes(cuda);
    if (cuda->taken) {
        rw_host_count_features(host, cuda->taken->cuts);
        return rw_host_bins_of_cuts(host, cuda->taken->cuts, 0, dataset->n_docs,
                                    &host->set[0].bins);
    }
    if (source->codes) {
        RW_TRY(rw_host_ready_cuts(host, source->codes, &cuts, column));
        source->code_of = *column;
    } else if (rw_cuda_cuts_bytes(dataset, host->base.rules.cut.bins) > cuda->free_bytes) {
        RW_TRY(rw_cuts_make(host->base.ctx, dataset, &host->base.rules.cut, &cuts));
    } else {
        RW_TRY(
            rw_cuda_cuts_make(host->base.ctx, cuda->device, dataset, &host->base.rules.cut, &cuts));
    }
    rw_host_count_features(host, cuts);
    const int status = rw_host_bins_of_cuts(host, cuts, 1, dataset->n_docs, &host->set[0].bins);
    if (status < 0)
        rw_cuts_free(cuts);
    return status;
}

/* Of set 0 the host keeps cuts, of the others nothing. */
int rw_cuda_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_source source = {.dataset = dataset, .gains = gains, .codes = bins};
    RW_FREED uint32_t *column = NULL;
    if (set == 0) {
        RW_TRY(rw_cuda_workers_meet(cuda));
        RW_TRY(rw_cuda_ask_free(cuda));
        RW_TRY(make_cuts(cuda, &source, &column));
        RW_TRY(rw_cuda_check_room(cuda, &source));
    }
    return rw_cuda_load_set(cuda, set, &source);
}

void rw_cuda_unload(struct rw_cuda *cuda)
{
    rw_cuda_lambda_free(cuda->lambda);
    for (int set = 0; set < RW_MAX_SETS; set++) {
        const int has_codes = !rw_cuda_is_dry(cuda) && !(set == 0 && cuda->taken);
        rw_cuda_metrics_free(cuda->set[set].metrics);
        rw_cuda_far_free(cuda, set);
        for (int g = 0; g < RW_CUDA_GROUPS; g++) {
            if (has_codes)
                rw_hist_matrix_free(cuda->set[set].matrix[g]);
            else
                rw_mem_free(cuda->set[set].matrix[g]);
        }
    }
    if (cuda->workers)
        rw_transfer_pinned_free(cuda->workers->staged);
    rw_device_free(cuda->d_hist_scratch);
    rw_transfer_pinned_free(cuda->stage.host);
    rw_transfer_pinned_free(cuda->answer);
    rw_transfer_pinned_free(cuda->reply);
    rw_transfer_pinned_free(cuda->reply_set);
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        rw_mem_free(cuda->counts[g]);
        rw_mem_free(cuda->group[g].column);
    }
    rw_hist_far_close(&cuda->hist_far);
    for (int i = 0; i < 2; i++) {
        if (cuda->event[i])
            RW_CU_MAY_FAIL(cudaEventDestroy((cudaEvent_t)cuda->event[i]));
    }
    rw_arena_free(&cuda->arena);
}
