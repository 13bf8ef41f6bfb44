/* Loads data for GPUs: sends codes and tables to the device, and allocates the memory of a
 * training, except that of metrics and of cached columns, which are made once histogram methods are
 * chosen. A dry run of loading computes the plan, so that plan and loading always agree. Also
 * decides where the codes are stored, and estimates the time of a tree. */
#include "gpu/engine/engine_cuda.h"

#include "gpu/binning/device_cuts.h"

/* ---- groups ---- */

/* Puts each feature in the group of its codes' width. Narrow features, whose codes fit 4 bits, join
 * the group of 8 bits if there are features of 8 bits, so that one launch serves both. */
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
            RW_TRY(RW_ARENA_NEW(cuda->host.base.ctx, &cuda->codes_arena, group->column,
                                cuts->n_features));
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
        const uint32_t fours = (group->n_bins + 3) / 4 * 4; /* searches read four cells at a time */
        if (fours <= RW_HIST_MOST_BINS)
            group->n_bins = fours;
        cuda->n_groups += group->n_features > 0;
    }
    return RW_OK;
}

/* ---- codes ---- */

/* Returns the layouts of a group's matrix. Columns are for partitions, and for methods that read
 * them. They are made if they fit a quarter of the memory that is left, or if a forced method needs
 * them. */
static int layouts_of(const struct rw_cuda *cuda, int g, uint32_t n_docs)
{
    const struct rw_cuda_group *group = &cuda->group[g];
    const uint64_t bytes = (uint64_t)n_docs * group->n_features * (uint64_t)group->bits / 8;
    int wanted = !cuda->memory.is_limited && !cuda->host.base.rules.hist;
    for (int i = 0; i < group->candidates.n; i++)
        wanted |= !group->candidates.method[i]->reads_tiles;
    if (!wanted)
        return RW_HIST_TILES;
    return cuda->host.base.rules.hist || bytes <= rw_cuda_left_bytes(&cuda->memory) / 4
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

/* Counts the device memory of a matrix's codes. */
static void count_matrix(struct rw_cuda *cuda, const struct rw_hist_matrix *matrix)
{
    cuda->host.memory.part = "codes";
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        rw_host_count(&cuda->host, (rw_cuda_tile_bytes(matrix, t) + 127) / 128 * 128);
    cuda->host.memory.part = "column copies";
    rw_host_count(&cuda->host, rw_cuda_columns_bytes(matrix));
}

/* Sends the most frequent code of each feature; 0 in a dry run and for codes in host memory, whose
 * counts are unknown. */
static int send_frequent(struct rw_cuda *cuda, int g)
{
    struct rw_cuda_group *group = &cuda->group[g];
    const uint64_t *counts = cuda->codes ? cuda->codes->counts[g] : cuda->counts[g];
    RW_FREED uint16_t *frequent = NULL;
    RW_TRY(RW_NEW(cuda->host.base.ctx, frequent, group->n_features));
    for (uint32_t f = 0; counts && f < group->n_features; f++) {
        const uint64_t *of = counts + (size_t)f * group->n_bins;
        for (uint32_t code = 1; code < group->n_bins; code++)
            frequent[f] = of[code] > of[frequent[f]] ? (uint16_t)code : frequent[f];
    }
    return RW_CUDA_TABLE(&cuda->memory, group->d_frequent, frequent, group->n_features);
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
    if (set == 0 && !rw_cuda_is_dry(&cuda->memory))
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->codes_arena, cuda->counts[g],
                            (size_t)group->n_features * group->n_bins));
    if (!rw_cuda_is_dry(&cuda->memory)) {
        RW_TRY(rw_cuda_bins_make(cuda->device, &coding, set == 0 ? cuda->counts[g] : NULL, matrix));
    } else { /* the same without any memory */
        RW_TRY(rw_hist_matrix_plan(ctx, &coding.matrix, matrix));
        for (uint32_t t = 0; t < (*matrix)->n_tiles; t++)
            (*matrix)->tile[t].d_word = cuda;
        if ((*matrix)->column_words)
            (*matrix)->d_column = (const uint32_t *)(const void *)cuda;
    }
    count_matrix(cuda, *matrix);
    rw_cuda_count_most(&cuda->memory, rw_cuda_bins_bytes(&coding));
    return RW_OK;
}

/* Makes a group's codes of the training set and their counts, or takes those of the cache. Codes in
 * host memory exist already. */
static int make_training_matrix(struct rw_cuda *cuda, int g, const struct rw_cuda_source *source)
{
    struct rw_hist_matrix **matrix = &cuda->set[0].matrix[g];
    if (cuda->set[0].is_far) {
        count_matrix(cuda, *matrix); /* rw_cuda_far_make has made it */
    } else if (cuda->codes) {
        RW_TRY(RW_ARENA_NEW(cuda->host.base.ctx, &cuda->memory.arena, *matrix, 1));
        rw_cuda_codes_read(cuda->codes, g, rw_cuda_is_dry(&cuda->memory), *matrix);
    } else {
        RW_TRY(make_matrix(cuda, 0, g, source));
    }
    (*matrix)->d_row = cuda->group[g].built.d_row;
    (*matrix)->n_row_cells = cuda->group[g].built.n_cells;
    return send_frequent(cuda, g);
}

/* Sends where each feature's codes are: in a set's tiles or, if the set's codes are in host memory,
 * in the columns there. For the training set, also sets where partitions read them: in columns on
 * the device, if there are any. */
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
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->memory.arena, cuda->split_column, n_features));
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->memory.arena, cuda->tile_column, n_features));
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
    return RW_CUDA_TABLE(&cuda->memory, cuda->set[set].d_column, column, n_features);
}

/* Makes a set's codes, and its scores, which are 0. */
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
    RW_TRY(RW_CUDA_ZEROS(&cuda->memory, cuda->set[set].d_score, n_docs));
    return rw_cuda_is_dry(&cuda->memory) ? RW_OK : rw_transfer_wait(cuda->device);
}

/* ---- tables of the training set ---- */

/* Returns the record of a feature. That of a categorical feature has no bins, so the search for
 * thresholds skips it. */
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

/* Makes the tables of features that searches read, and divides features among workers. */
static int make_tables(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    RW_FREED struct rw_cuda_feature *feature = NULL;
    RW_FREED uint32_t *row = NULL;
    RW_TRY(RW_NEW(ctx, feature, cuts->n_features));
    RW_TRY(RW_NEW(ctx, row, (size_t)cuts->n_features + 1));
    for (int g = 0; g < cuda->n_groups; g++) {
        struct rw_cuda_group *group = &cuda->group[g];
        for (uint32_t f = 0; f < group->n_features && !rw_cuda_is_dry(&cuda->memory); f++)
            feature[f] = feature_of(cuts, group->column[f]);
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, group->built.d_feature, feature, group->n_features));
        for (uint32_t f = 0; f < group->n_features; f++) /* searches read four cells at a time */
            row[f + 1] = row[f] + (rw_cuts_n_codes(cuts, group->column[f]) + 3) / 4 * 4;
        group->built.n_features = group->n_features;
        group->built.n_bins = group->n_bins;
        group->built.n_cells = row[group->n_features];
        RW_TRY(
            RW_CUDA_TABLE(&cuda->memory, group->built.d_row, row, (size_t)group->n_features + 1));
        RW_TRY(rw_cuda_workers_divide(cuda, g, row));
    }
    return RW_OK;
}

/* ---- constraints and costs ---- */

/* Sends the features' monotone constraints and costs. */
static int send_rules(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    const size_t n_features = host->base.info.n_features;
    RW_FREED double *penalty = NULL;
    RW_FREED int8_t *direction = NULL;
    if (host->base.rules.monotone)
        RW_TRY(RW_NEW(host->base.ctx, direction, n_features));
    if (host->base.rules.penalty)
        RW_TRY(RW_NEW(host->base.ctx, penalty, n_features));
    if (!rw_cuda_is_dry(&cuda->memory))
        rw_host_set_rules(host, direction, penalty);
    if (direction)
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, cuda->search.d_direction, direction, n_features));
    return penalty ? RW_CUDA_TABLE(&cuda->memory, cuda->search.d_penalty, penalty, n_features)
                   : RW_OK;
}

/* Sends the categorical features of a group that this worker owns, by their index in its
 * histograms. */
static int send_categories(struct rw_cuda *cuda, struct rw_cuda_group *group)
{
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    RW_FREED struct rw_cuda_category *category = NULL;
    uint32_t n = 0, most_codes = 0;
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
    group->categories = (struct rw_cuda_categories){NULL, n, cuda->search.n_sets, most_codes};
    RW_TRY(RW_CUDA_TABLE(&cuda->memory, group->categories.d_category, category, n));
    cuda->search.n_sets += n;
    return RW_OK;
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

/* Allocates histograms. A node that keeps one has at least min_docs documents. */
static int make_pools(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint32_t all_docs = cuda->workers ? cuda->host.base.all_docs : cuda->n_docs;
    const uint64_t n_buffers = rw_rules_kept(rules, all_docs, rules->min_docs);
    cuda->host.memory.part = "histograms";
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

/* Returns 1 if each group has a candidate method that reads lambdas by position, and all codes are
 * on the device. */
static int can_move_codes(const struct rw_cuda *cuda)
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

/* Allocates quantised lambdas and hessians by document. */
static int make_integers(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    cuda->host.memory.part = "lambdas";
    RW_TRY(RW_CUDA_ZEROS(&cuda->memory, cuda->quantise.d_lambda_q, cuda->n_docs));
    return rules->newton ? RW_CUDA_ZEROS(&cuda->memory, cuda->quantise.d_hess_q, cuda->n_docs)
                         : RW_OK;
}

/* Allocates the results of a tree's start, the integers and the lists of documents, and the flags
 * of sampled features. */
static int make_lists(struct rw_cuda *cuda, const struct rw_dataset *dataset)
{
    const struct rw_cuda_whole whole = {.node = {.n = cuda->n_docs}, .parent = RW_HIST_NO_PARENT};
    cuda->host.memory.part = "lambdas";
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->quantise.d_begin, 1));
    RW_TRY(RW_CUDA_ZEROS(&cuda->memory, cuda->quantise.d_pair, cuda->n_docs));
    RW_TRY(make_integers(cuda));
    RW_TRY(rw_cuda_nodes_allocate(&cuda->nodes, &cuda->memory, &cuda->replies, dataset,
                                  &cuda->quantise, can_move_codes(cuda)));
    RW_TRY(RW_CUDA_TABLE(&cuda->memory, cuda->d_whole, &whole, 1));
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_feature_sampled, cuda->host.base.info.n_features));
    for (int g = 0, before = 0; g < cuda->n_groups; g++) {
        cuda->group[g].cells.d_sampled =
            cuda->d_feature_sampled + before + cuda->group[g].first_own;
        before += (int)cuda->group[g].n_features;
    }
    return RW_OK;
}

/* Allocates host memory, and the page-locked buffers for exchange with the device. */
static int make_host_side(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const size_t n_slots = cuda->host.base.rules.max_slots;
    struct rw_arena *arena = &cuda->memory.arena;
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->buffer_of, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->slot_of, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->coded, n_slots));
    if (rw_cuda_allowed_bytes(cuda))
        RW_TRY(rw_arena_new(ctx, arena, (void **)&cuda->host.allowed, n_slots,
                            rw_cuda_allowed_bytes(cuda)));
    cuda->most_nodes = RW_TUNE_ENGINE_NODES;
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->node, cuda->most_nodes));
    RW_TRY(RW_ARENA_NEW(ctx, arena, cuda->parent, cuda->most_nodes));
    RW_TRY(rw_cuda_level_allocate_host(cuda));
    return RW_OK;
}

/* Allocates the memory of searches on the device, sets the size of the stage, and allocates its
 * part on the device. */
static int make_search(struct rw_cuda *cuda)
{
    const size_t n_slots = cuda->host.base.rules.max_slots;
    const size_t n_features = cuda->host.base.info.n_features;
    const size_t n_blocks = n_features + cuda->search.n_sets; /* per node */
    uint64_t searched = RW_TUNE_ENGINE_SEARCH_BYTES / sizeof(*cuda->search.d_best) / (n_blocks + 1);
    searched = searched < 1 ? 1 : searched;
    searched = searched < RW_CUDA_MOST_SEARCHED ? searched : RW_CUDA_MOST_SEARCHED;
    cuda->most_searched = (uint32_t)searched;
    cuda->host.memory.part = "scratch";
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->search.d_best, searched * n_blocks));
    if (cuda->search.n_sets)
        RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->search.d_set, searched * cuda->search.n_sets));
    RW_TRY(RW_CUDA_ZEROS(&cuda->memory, cuda->search.d_done, searched));
    RW_TRY(rw_cuda_level_allocate(cuda));
    /* The largest pieces are the leaves, a tree (per node a coded node, a set of at most 128 bytes
     * and a leaf value), and the columns of a walk; several are sent at a time. */
    const size_t stage_bytes = (n_slots + 1) * 192 +
                               n_features * (2 + sizeof(struct rw_cuda_column)) + 65536 +
                               (searched + 1) * rw_cuda_allowed_bytes(cuda);
    const int is_shared = cuda->peers && !rw_cuda_is_dry(&cuda->memory);
    return rw_cuda_replies_allocate(
        &cuda->replies, &cuda->memory, is_shared ? rw_cuda_peers_arena(cuda) : &cuda->memory.arena,
        stage_bytes, sizeof(struct rw_cuda_begin) + n_slots * sizeof(struct rw_sum),
        cuda->search.n_sets > 0);
}

/* Sets the arguments that the launches of all trees share. */
static void set_arguments(struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    const struct rw_device *device = cuda->device;
    const struct rw_tuning_row *tuning = device->tuning;
    struct rw_cuda_quantise *quantise = &cuda->quantise;
    quantise->seed = engine->rules.seed;
    quantise->n_docs = cuda->n_docs;
    quantise->most_blocks = (uint32_t)(device->n_multiprocessors * tuning->quantise_blocks);
    quantise->bits = engine->rules.bits;
    quantise->nearest = engine->rules.nearest;
    quantise->squares = rw_engine_needs_squares(engine);
    quantise->d_sampled = cuda->nodes.sample.d_sampled;
    cuda->search.most_blocks = (uint32_t)(device->n_multiprocessors * tuning->split_blocks);
}

/* ---- a set ---- */

static int make_lambdas(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    struct rw_engine *engine = &cuda->host.base;
    cuda->host.memory.part = "lambdas";
    RW_TRY(rw_cuda_lambda_new(engine->ctx, rw_cuda_is_dry(&cuda->memory) ? NULL : cuda->device,
                              &engine->rules, source->dataset, source->gains, &cuda->lambda));
    if (cuda->workers)
        rw_cuda_lambda_share(cuda->lambda, rw_cuda_workers_max, cuda);
    rw_host_count(&cuda->host, rw_cuda_lambda_bytes(cuda->lambda));
    return RW_OK;
}

/* Loads a set, or counts its memory in a dry run. The cuts exist already. */
static int load_set(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source)
{
    const struct rw_dataset *dataset = source->dataset;
    if (set > 0)
        return make_set(cuda, set, source);
    cuda->n_docs = dataset->n_docs;
    cuda->n_queries = dataset->n_queries;
    RW_TRY(rw_cuda_list_candidates(cuda));
    RW_TRY(make_groups(cuda));
    RW_TRY(make_tables(cuda));
    for (int g = 0; g < cuda->n_groups; g++)
        RW_TRY(send_categories(cuda, &cuda->group[g]));
    RW_TRY(send_rules(cuda));
    RW_TRY(make_set(cuda, 0, source));
    RW_TRY(make_lambdas(cuda, source));
    RW_TRY(make_lists(cuda, dataset));
    RW_TRY(make_pools(cuda));
    RW_TRY(make_search(cuda));
    if (!rw_cuda_is_dry(&cuda->memory)) {
        RW_TRY(make_host_side(cuda));
        set_arguments(cuda);
        if (cuda->peers)
            rw_cuda_peers_publish(cuda);
    }
    RW_TRY(rw_cuda_plan_histograms(cuda));
    if (rw_cuda_is_dry(&cuda->memory))
        return rw_cuda_settle_columns(cuda);
    /* Methods are chosen in the first tree, after the other sets are loaded. A plan counts the
     * choice before the other sets, so rw_cuda_left_bytes adds its change of memory in advance. */
    cuda->memory.to_settle = (int64_t)(cuda->place.settled_bytes - cuda->host.base.info.bytes);
    return rw_cuda_codes_share(cuda);
}

/* ---- dry runs ---- */

/* Counts the memory that loading would take. The cuts and rules may differ from the engine's.
 * source: the training set. data: the other sets, and the metrics of all sets; NULL: counts
 * neither. Also sets settled_bytes and far_doc_bytes of cuda->place. */
static int dry_run(struct rw_cuda *cuda, const struct rw_engine_rules *rules, struct rw_cuts *cuts,
                   const struct rw_cuda_source *source, const struct rw_plan_data *data,
                   struct rw_plan *out)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    int status = RW_OK;
    struct rw_cuda *dry;
    RW_TRY(RW_NEW(ctx, dry, 1));
    dry->host.base = cuda->host.base;
    dry->host.base.rules = *rules;
    dry->host.memory.plan = out;
    dry->device = cuda->device;
    dry->memory = (struct rw_cuda_memory){.host = &dry->host,
                                          .device = cuda->device,
                                          .free_bytes = cuda->memory.free_bytes,
                                          .is_limited = cuda->memory.is_limited};
    if (cuda->codes && cuts == cuda->codes->cuts)
        dry->codes = cuda->codes;
    dry->place = cuda->place;
    dry->peers = cuda->peers;
    rw_host_count_features(&dry->host, cuts);
    RW_TRY_OUT(
        rw_host_bins_of_cuts(&dry->host, cuts, 0, source->dataset->n_docs, &dry->host.set[0].bins));
    RW_TRY_OUT(load_set(dry, 0, source));
    cuda->place.settled_bytes = dry->host.base.info.bytes;
    cuda->place.keeps_columns = dry->place.keeps_columns;
    /* Some memory of the training set is freed only in the first tree. The other sets are loaded
     * before that, while it is still in use. */
    const uint64_t returned_bytes =
        dry->memory.most_bytes > out->bytes ? dry->memory.most_bytes - out->bytes : 0;
    dry->memory.most_bytes = 0;
    for (int set = 1; data && set < data->n_sets; set++) {
        const struct rw_cuda_source other = {.dataset = data->set[set]};
        RW_TRY_OUT(load_set(dry, set, &other));
    }
    for (int set = 0; data && data->measured && set < data->n_sets; set++) {
        struct rw_cuda_metrics *metrics;
        if (!data->measured[set])
            continue;
        RW_TRY_OUT(rw_cuda_metrics_new(ctx, NULL, data->measured[set], &metrics));
        rw_plan_add(out, "metrics", rw_cuda_metrics_bytes(metrics));
        rw_cuda_metrics_free(metrics);
    }
    out->most_bytes = returned_bytes +
                      (dry->memory.most_bytes > out->bytes ? dry->memory.most_bytes : out->bytes);
    cuda->place.far_doc_bytes = dry->place.far_doc_bytes;
out:
    rw_cuda_unload(dry);
    rw_host_release(&dry->host);
    rw_mem_free(dry);
    return status;
}

/* Finds the largest of a few numbers of bins, or of leaves, under the current one that would fit.
 * 0: all are too large. */
static int search_fit(struct rw_cuda *cuda, const struct rw_cuts *cuts, int by_leaves,
                      const struct rw_cuda_source *source, uint32_t *found)
{
    static const uint32_t fewer[] = {255, 127, 63, 31, 15, 7};
    const struct rw_engine_rules *now = &cuda->host.base.rules;
    const uint32_t most = by_leaves ? now->leaves : (uint32_t)now->cut.bins;
    const struct rw_cuda_source values = {.dataset = source->dataset};
    struct rw_engine_rules rules = *now;
    RW_FREED uint64_t *offset = NULL;
    struct rw_cuts smaller = *cuts;
    *found = 0;
    RW_TRY(RW_NEW(cuda->host.base.ctx, offset, (size_t)cuts->n_features + 1));
    smaller.offset = offset;
    for (size_t i = 0; i < sizeof(fewer) / sizeof(fewer[0]) && !*found; i++) {
        const uint32_t bins = by_leaves ? RW_MAX_BINS : fewer[i];
        struct rw_plan plan = {.n_parts = 0};
        if (fewer[i] >= most)
            continue;
        for (uint32_t f = 0; f < cuts->n_features; f++) {
            const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
            smaller.offset[f + 1] = smaller.offset[f] + (n_bins < bins ? n_bins : bins);
        }
        if (by_leaves) {
            rules.max_slots = (uint32_t)((uint64_t)now->max_slots * fewer[i] / most + 1);
            rules.max_histograms =
                (uint32_t)((uint64_t)rw_rules_histograms(now) * fewer[i] / most + 1);
        }
        RW_TRY(dry_run(cuda, &rules, &smaller, &values, NULL, &plan));
        if (plan.most_bytes <= cuda->memory.free_bytes)
            *found = fewer[i];
    }
    return RW_OK;
}

/* Fails with RW_ERR_MEMORY and a message that states the needed memory, the free or allowed memory,
 * and settings that would fit. */
static int fail_room(struct rw_cuda *cuda, const struct rw_cuts *cuts,
                     const struct rw_cuda_source *source, uint64_t needed)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    uint32_t bins, leaves;
    char hint[256];
    const char *hist = cuda->host.base.rules.hist;
    const struct rw_hist_method *method = hist ? rw_hist_method_find(hist) : NULL;
    RW_TRY(search_fit(cuda, cuts, 0, source, &bins));
    RW_TRY(search_fit(cuda, cuts, 1, source, &leaves));
    if (method && !method->reads_far)
        snprintf(hint, sizeof(hint),
                 "--hist %s needs all codes in the GPU's memory; --hist auto does not", hist);
    else if (bins && leaves)
        snprintf(hint, sizeof(hint), "--bins %u or --leaves %u would fit", bins, leaves);
    else if (bins || leaves)
        snprintf(hint, sizeof(hint), "--%s %u would fit", bins ? "bins" : "leaves", bins + leaves);
    else
        snprintf(hint, sizeof(hint),
                 "no --bins and no --leaves would fit; --device cpu trains the same model");
    return rw_fail(ctx, RW_ERR_MEMORY,
                   "out of device memory: %s needs %.1f MB of cuda:%d%s, and %.1f MB are %s\n"
                   "hint: %s",
                   cuda->host.base.rules.n_bags > 1 ? "each bag" : "training", (double)needed / 1e6,
                   cuda->device->number, cuda->place.is_far ? " in addition to the codes" : "",
                   (double)cuda->memory.free_bytes / 1e6,
                   cuda->memory.is_limited ? "allowed by --gpu-memory" : "free", hint);
}

/* Determines the free or allowed memory. Later decisions use this number instead of querying the
 * device again, so that they agree. */
static int find_free_bytes(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t allowed = rules->device_bytes;
    size_t free_bytes = 0, all_bytes = 0;
    if (allowed) /* cached memory of other trainings would exceed it */
        rw_device_cache_drop_unused(cuda->device->number);
    RW_CU(cuda->host.base.ctx, cudaMemGetInfo(&free_bytes, &all_bytes));
    if (rules->n_bags > rules->bag) /* leaves room for the bags that are loaded later */
        free_bytes /= rules->n_bags - rules->bag;
    cuda->memory.is_limited = allowed && allowed < free_bytes;
    cuda->memory.free_bytes = cuda->memory.is_limited ? allowed : free_bytes;
    cuda->memory.shared_bytes = 0;
    return RW_OK;
}

uint64_t rw_cuda_others_bytes(const struct rw_cuda *cuda, uint32_t n_docs, uint32_t n_features)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t columns = n_features * sizeof(struct rw_cuda_column);
    /* 1: this memory is counted with the training set */
    const int has_walk = cuda->place.is_far || cuda->walk_bytes;
    if (rules->n_other_sets == 0)
        return 0;
    return rules->other_docs * RW_TUNE_FAR_OTHER_BYTES +
           rules->n_other_sets * (RW_TUNE_FAR_SET_BYTES + columns) +
           (has_walk ? 0 : rw_cuda_far_walk_bytes(n_docs, n_features));
}

/* Each bag has an equal share of the device's memory. Bags after the first need no memory for
 * codes, so the first bag's share grows by their savings. If the memory is limited, this is
 * subtracted from the other shares. Otherwise they find less memory free anyway. plan: of this
 * engine. Returns 1 if its share changed. */
static int share_bytes(struct rw_cuda *cuda, const struct rw_plan *plan)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t n =
        rules->n_bags > 1 && rw_n_workers(cuda->host.base.ctx) == 1 ? rules->n_bags : 1;
    uint64_t shared = cuda->codes && cuda->memory.is_limited ? -(cuda->codes->bytes / n) : 0;
    for (int i = 0; i < plan->n_parts && !cuda->place.is_far; i++)
        shared += strcmp(plan->part[i].name, "codes") == 0 && rules->bag == 0
                      ? plan->part[i].bytes / n * (n - 1)
                      : 0;
    const int changes = shared != cuda->memory.shared_bytes;
    cuda->memory.free_bytes += shared - cuda->memory.shared_bytes;
    cuda->memory.shared_bytes = shared;
    return changes;
}

/* Computes the device memory that training with these cuts takes, including other sets. */
static int find_needed(struct rw_cuda *cuda, struct rw_cuts *cuts,
                       const struct rw_cuda_source *source, uint64_t *needed)
{
    struct rw_plan plan;
    do { /* again if the share changes, since layouts of codes depend on it */
        plan = (struct rw_plan){.n_parts = 0};
        RW_TRY(dry_run(cuda, &cuda->host.base.rules, cuts, source, NULL, &plan));
    } while (share_bytes(cuda, &plan));
    *needed =
        plan.most_bytes + rw_cuda_others_bytes(cuda, source->dataset->n_docs, cuts->n_features);
    return RW_OK;
}

/* Reduces place.row_bytes, the rows on the device, until training fits. Rows are padded, so they
 * may take slightly more memory than planned. */
static int fit_rows(struct rw_cuda *cuda, struct rw_cuts *cuts, const struct rw_cuda_source *source)
{
    enum { PADDING = 128 };
    for (;;) {
        uint64_t needed;
        RW_TRY(find_needed(cuda, cuts, source, &needed));
        if (needed <= cuda->memory.free_bytes || cuda->place.row_bytes == 0)
            return RW_OK;
        const uint64_t over = (needed - cuda->memory.free_bytes + PADDING - 1) / PADDING * PADDING;
        cuda->place.row_bytes -= over < cuda->place.row_bytes ? over : cuda->place.row_bytes;
    }
}

/* Places codes that do not all fit. The memory that is left after all other uses is divided between
 * columns for partitions, at least one, and tiles. needed: memory of training with all codes on the
 * device, including other sets. */
static int place_far(struct rw_cuda *cuda, struct rw_cuts *cuts,
                     const struct rw_cuda_source *source, uint64_t needed)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t bytes = rw_cuda_column_bytes(cuts, source->dataset->n_docs);
    uint64_t taken;
    const struct rw_hist_method *method = NULL;
    if (rules->hist)
        RW_TRY(rw_hist_method_named(cuda->host.base.ctx, rules->hist, &method));
    cuda->place.least_bytes = needed;
    if (cuda->codes || bytes == 0 || cuts->n_features == 0 || (method && !method->reads_far))
        return fail_room(cuda, cuts, source, needed);
    cuda->place = (struct rw_cuda_place){.is_far = 1, .n_columns = 1};
    RW_TRY(find_needed(cuda, cuts, source, &taken));
    cuda->place.least_bytes = taken;
    if (taken > cuda->memory.free_bytes)
        return fail_room(cuda, cuts, source, taken);
    /* The device allocates memory in large pages, so small allocations cannot use all of it. */
    const uint64_t pages =
        cuda->memory.is_limited ? 0 : cuda->memory.free_bytes / RW_TUNE_FAR_PAGES_SHARE;
    const uint64_t left =
        cuda->memory.free_bytes - taken > pages ? cuda->memory.free_bytes - taken - pages : 0;
    uint64_t more = (uint64_t)((double)left * RW_TUNE_FAR_COLUMNS_SHARE) / bytes;
    more = more < cuts->n_features - 1 ? more : cuts->n_features - 1;
    cuda->place.n_columns += (uint32_t)more;
    cuda->place.row_bytes = left - more * bytes;
    return fit_rows(cuda, cuts, source);
}

/* Decides where the training set's codes are stored, within the free memory. */
static int find_place(struct rw_cuda *cuda, struct rw_cuts *cuts,
                      const struct rw_cuda_source *source)
{
    cuda->place.is_far = 0;
    cuda->place.least_bytes = 0;
    for (;;) {
        uint64_t needed;
        RW_TRY(find_needed(cuda, cuts, source, &needed));
        if (needed <= cuda->memory.free_bytes)
            return RW_OK;
        if (!rw_device_cache_drop_unused(cuda->device->number))
            return place_far(cuda, cuts, source, needed);
        RW_TRY(find_free_bytes(cuda));
    }
}

/* ---- the plan ---- */

int rw_cuda_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_source source = {.dataset = data->set[0], .codes = data->bins};
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    RW_FREED uint32_t *code_of = NULL;
    out->on_gpu = 1;
    snprintf(out->device, sizeof(out->device), "cuda:%d, %s", cuda->device->number,
             cuda->device->name);
    if (!cuda->memory.free_bytes) {
        rw_device_cache_drop_unused(cuda->device->number);
        RW_TRY(find_free_bytes(cuda));
    }
    RW_TRY(rw_host_plan_cuts(&cuda->host, data->set[0], data->bins, &cuts, &code_of));
    source.code_of = code_of;
    const int place = find_place(cuda, cuts, &source);
    if (place < 0 && place != RW_ERR_MEMORY)
        RW_TRY(place);
    RW_TRY(dry_run(cuda, &engine->rules, cuts, &source, data, out));
    out->free_bytes = cuda->memory.free_bytes;
    if (place < 0 && cuda->place.least_bytes > out->most_bytes)
        out->most_bytes = cuda->place.least_bytes;
    if (!data->bins) { /* before anything is loaded; if they do not fit, the host makes the cuts */
        const uint64_t bytes = rw_cuda_cuts_bytes(data->set[0], engine->rules.cut.bins);
        if (bytes > out->most_bytes && bytes <= cuda->memory.free_bytes)
            out->most_bytes = bytes;
    }
    /* If there is no room for measuring the link, its usual rate is assumed. */
    if (cuda->place.is_far && rw_device_link_rate(cuda->device, &cuda->place.link_rate) < 0)
        cuda->place.link_rate = RW_TUNE_FAR_LINK_RATE;
    out->link_rate = cuda->place.link_rate;
    return place < 0 || out->most_bytes > out->free_bytes
               ? fail_room(cuda, cuts, &source, out->most_bytes)
               : RW_OK;
}

static double cell_bytes(const struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const int32_t most = rw_quantise_limit(cuda->host.base.rules.bits);
    return (double)rw_hist_cell_bytes(work->newton, rw_hist_is_narrow((uint64_t)work->docs, most));
}

/* Returns the bytes per document of host-resident codes. Before they are placed, estimates them
 * from the needed memory that exceeds the free memory. */
static double far_doc_bytes(struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const double docs = work->docs + work->other_docs;
    const double needed = work->docs * (work->row_bytes + RW_TUNE_PLAN_HELD_BYTES) +
                          work->leaves * work->bins * cell_bytes(cuda, work);
    if (cuda->place.is_far)
        return cuda->place.far_doc_bytes;
    if (cuda->memory.free_bytes || docs < 1.0 || find_free_bytes(cuda) < 0)
        return 0.0;
    const double far = (needed - (double)cuda->memory.free_bytes) / docs;
    cuda->memory.free_bytes = 0; /* determined again when data is loaded */
    return fmin(fmax(far, 0.0), work->row_bytes);
}

/* Estimates the milliseconds per tree to read host memory: rows for histograms, and columns for
 * splits. Columns are at most one per split and per feature, without those that fit the device. */
static double far_ms(struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const double doc_bytes = far_doc_bytes(cuda, work);
    const double rate = cuda->place.link_rate > 0.0 ? cuda->place.link_rate : RW_TUNE_FAR_LINK_RATE;
    const double columns = fmin(work->features, work->leaves - 1.0) - cuda->place.n_columns;
    const double a_level =
        work->newton ? RW_TUNE_FAR_LEVEL_PASSES_NEWTON : RW_TUNE_FAR_LEVEL_PASSES;
    const double share = work->newton ? RW_TUNE_FAR_COLUMNS_READ_NEWTON : RW_TUNE_FAR_COLUMNS_READ;
    const double passes = 1.0 + log2(work->leaves) * a_level;
    const double bytes = doc_bytes * passes / RW_TUNE_FAR_GATHER_RATE + fmax(columns, 0.0) * share;
    return doc_bytes > 0.0 ? work->docs * bytes / rate * 1e3 : 0.0;
}

double rw_cuda_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work)
{
    const struct rw_cuda *cuda = rw_cuda_of(engine);
    const struct rw_device *device = cuda->device;
    const double levels = log2(work->leaves);
    const double batches = fmin(work->leaves - 1.0, 2.0 * levels + 6.0);
    const double bytes =
        work->docs * rw_plan_passes(work) * (work->row_bytes + RW_TUNE_PLAN_ROW_BYTES) +
        work->docs * (levels * RW_TUNE_PLAN_LEVEL_BYTES + RW_TUNE_PLAN_DOC_BYTES) +
        work->other_docs * (levels + 1.0) * RW_TUNE_PLAN_WALK_BYTES +
        work->leaves * work->bins * cell_bytes(cuda, work) * RW_TUNE_PLAN_CELL_PASSES;
    const double pair_ms = work->visits * RW_TUNE_PLAN_PAIR_NS / 1e6 *
                           (RW_TUNE_PLAN_MULTIPROCESSORS / device->n_multiprocessors);
    return bytes / (rw_device_bandwidth(device) * RW_TUNE_PLAN_BANDWIDTH_SHARE) * 1e3 + pair_ms +
           batches * RW_TUNE_PLAN_BATCH_US / 1e3 + far_ms(rw_cuda_of(engine), work);
}

/* ---- loading ---- */

/* Makes the training set's cuts: those of cached codes, those of ready codes, or new ones. The
 * device makes new ones if its memory suffices, else the host. *column: the array source->code_of,
 * if ready codes need one; the caller frees it. */
static int make_cuts(struct rw_cuda *cuda, struct rw_cuda_source *source, uint32_t **column)
{
    struct rw_host *host = &cuda->host;
    const struct rw_dataset *dataset = source->dataset;
    struct rw_cuts *cuts;
    if (rw_n_workers(host->base.ctx) > 1) {
        host->base.cache = NULL; /* workers would have to agree on reusing codes */
        if (!source->codes)
            return rw_fail(host->base.ctx, RW_ERR_INTERNAL, "a worker without ready boundaries");
    }
    rw_cuda_codes_take(cuda);
    if (cuda->codes) {
        rw_host_count_features(host, cuda->codes->cuts);
        return rw_host_bins_of_cuts(host, cuda->codes->cuts, 0, dataset->n_docs,
                                    &host->set[0].bins);
    }
    if (source->codes) {
        RW_TRY(rw_host_ready_cuts(host, source->codes, &cuts, column));
        source->code_of = *column;
    } else if (rw_cuda_cuts_bytes(dataset, host->base.rules.cut.bins) > cuda->memory.free_bytes) {
        RW_TRY(rw_cuts_make(host->base.ctx, dataset, &host->base.rules.cut, &cuts));
    } else {
        RW_TRY(rw_cuda_cuts_make(cuda->device, dataset, &host->base.rules.cut, &cuts));
    }
    rw_host_count_features(host, cuts);
    const int status = rw_host_bins_of_cuts(host, cuts, 1, dataset->n_docs, &host->set[0].bins);
    if (status < 0)
        rw_cuts_free(cuts);
    return status;
}

/* Loads a set. Host memory then has the cuts of set 0, and the codes of each set that do not fit
 * the device. */
int rw_cuda_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_source source = {.dataset = dataset, .gains = gains, .codes = bins};
    RW_FREED uint32_t *column = NULL;
    if (set == 0) {
        RW_TRY(rw_cuda_workers_connect(cuda));
        engine->has_all_splits = cuda->peers && !engine->rules.symmetric;
        RW_TRY(find_free_bytes(cuda));
        RW_TRY(make_cuts(cuda, &source, &column));
        RW_TRY(find_place(cuda, cuda->host.set[0].bins->cuts, &source));
    }
    return load_set(cuda, set, &source);
}

void rw_cuda_unload(struct rw_cuda *cuda)
{
    rw_cuda_lambda_free(cuda->lambda);
    for (int set = 0; set < RW_MAX_SETS; set++) {
        rw_cuda_metrics_free(cuda->set[set].metrics);
        if (!rw_cuda_is_dry(&cuda->memory))
            rw_transfer_pinned_free(cuda->set[set].far.column);
        for (int g = 0; g < RW_CUDA_GROUPS && !(set == 0 && cuda->codes); g++) {
            if (!rw_cuda_is_dry(&cuda->memory))
                rw_hist_matrix_free(cuda->set[set].matrix[g]);
            else
                rw_mem_free(cuda->set[set].matrix[g]);
        }
    }
    rw_device_free(cuda->d_hist_scratch);
    rw_hist_far_close(&cuda->hist_far);
    rw_arena_free(&cuda->memory.arena);
    rw_arena_free(&cuda->codes_arena);
}
