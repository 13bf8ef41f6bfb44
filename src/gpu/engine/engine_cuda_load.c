/* Loads data for GPUs: sends codes and tables to the device, and allocates the memory of a
 * training, except that of metrics and of cached columns, which are made once histogram methods are
 * chosen. A dry run of loading computes the plan, so that plan and loading always agree. */
#include "gpu/engine/engine_cuda.h"

#include "gpu/binning/device_cuts.h"

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

/* Sends the categorical features of a group that this worker owns, by their index in its
 * histograms. */
static int send_categories(struct rw_cuda *cuda, int g)
{
    const struct rw_cuts *cuts = cuda->host.base.cuts;
    const uint32_t *own = cuda->codes.shared->group[g].column + cuda->first_own[g];
    struct rw_cuda_categories *out = &cuda->categories[g];
    RW_FREED struct rw_cuda_category *category = NULL;
    RW_TRY(RW_NEW(cuda->host.base.ctx, category, cuda->cells[g].n_features));
    out->first = cuda->search.n_sets;
    for (uint32_t f = 0; f < cuda->cells[g].n_features; f++) {
        const uint32_t n_codes = rw_cuts_n_bins(cuts, own[f]);
        if (!rw_cuts_by_category(cuts, own[f]))
            continue;
        out->most_codes = n_codes > out->most_codes ? n_codes : out->most_codes;
        category[out->n++] = (struct rw_cuda_category){.feature = f,
                                                       .column = own[f],
                                                       .n_codes = n_codes,
                                                       .has_missing = cuts->has_missing[own[f]]};
    }
    cuda->search.n_sets += out->n;
    return out->n ? RW_CUDA_TABLE(&cuda->memory, out->d_category, category, out->n) : RW_OK;
}

/* Makes the tables of features that searches read, and divides features among workers. */
static int make_tables(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_cuts *cuts = cuda->host.base.cuts;
    const int32_t most = rw_quantise_limit(cuda->host.base.rules.bits);
    RW_FREED struct rw_cuda_feature *feature = NULL;
    RW_FREED uint32_t *row = NULL;
    RW_TRY(RW_NEW(ctx, feature, cuts->n_features));
    RW_TRY(RW_NEW(ctx, row, (size_t)cuts->n_features + 1));
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_group *group = &cuda->codes.shared->group[g];
        struct rw_cuda_cells *built = &cuda->built[g];
        for (uint32_t f = 0; f < group->n_features; f++) {
            feature[f] = feature_of(cuts, group->column[f]);
            /* searches read four cells at a time */
            row[f + 1] = row[f] + (rw_cuts_n_codes(cuts, group->column[f]) + 3) / 4 * 4;
        }
        built->narrow = rw_hist_is_narrow(cuda->all_docs, most);
        built->n_features = group->n_features;
        built->n_bins = group->n_bins;
        built->n_cells = row[group->n_features];
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, built->d_feature, feature, group->n_features));
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, built->d_row, row, (size_t)group->n_features + 1));
        RW_TRY(rw_cuda_workers_divide(&cuda->workers, &cuda->memory, g, row, built, &cuda->cells[g],
                                      &cuda->first_own[g]));
        RW_TRY(send_categories(cuda, g));
    }
    return RW_OK;
}

/* Sends the features' monotone constraints and costs. */
static int send_rules(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    const size_t n = host->base.info.n_features;
    RW_FREED double *penalty = NULL;
    RW_FREED int8_t *direction = NULL;
    if (host->base.rules.monotone)
        RW_TRY(RW_NEW(host->base.ctx, direction, n));
    if (host->base.rules.penalty)
        RW_TRY(RW_NEW(host->base.ctx, penalty, n));
    rw_host_set_rules(host, direction, penalty);
    if (direction)
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, cuda->search.d_direction, direction, n));
    return penalty ? RW_CUDA_TABLE(&cuda->memory, cuda->search.d_penalty, penalty, n) : RW_OK;
}

/* ---- memory of training ---- */

/* Allocates histograms. A node that keeps one has at least min_docs documents. */
static int make_pools(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t n = rw_rules_kept(rules, cuda->all_docs, rules->min_docs);
    cuda->host.memory.part = "histograms";
    cuda->buffers.n = (int32_t)n;
    for (int g = 0; g < cuda->n_groups; g++) {
        RW_TRY(rw_cuda_new_cells(&cuda->memory, &cuda->cells[g], n));
        if (!rw_cuda_are_many(&cuda->workers))
            cuda->built[g] = cuda->cells[g];
    }
    return rw_cuda_workers_allocate(&cuda->workers, &cuda->memory, cuda->n_groups, cuda->built,
                                    cuda->cells);
}

/* Returns 1 if each group has a candidate method that reads lambdas by position, and all codes are
 * on the device. */
static int can_move_codes(const struct rw_cuda *cuda)
{
    int can = !cuda->codes.place.is_far;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_hist_candidates *candidates = &cuda->method[g].candidates;
        int any = 0;
        for (int i = 0; i < candidates->n; i++)
            any |= candidates->method[i]->reads_tiles;
        can &= any;
    }
    return can;
}

/* Allocates lambdas, the results of a tree's start, the integers and the lists of documents, and
 * the flags of sampled features. */
static int make_lists(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    const struct rw_engine *engine = &cuda->host.base;
    struct rw_cuda_memory *memory = &cuda->memory;
    struct rw_cuda_quantise *quantise = &cuda->quantise;
    const struct rw_cuda_whole whole = {.node = {.n = cuda->n_docs}, .parent = RW_HIST_NO_PARENT};
    memory->host->memory.part = "lambdas";
    RW_TRY(rw_cuda_lambda_new(engine->ctx, rw_cuda_is_dry(memory) ? NULL : cuda->device,
                              &engine->rules, source->dataset, source->gains, &cuda->lambda));
    rw_host_count(memory->host, rw_cuda_lambda_bytes(cuda->lambda));
    if (rw_cuda_are_many(&cuda->workers))
        rw_cuda_lambda_share(cuda->lambda, rw_cuda_workers_max, &cuda->workers);
    RW_TRY(RW_HOST_NEW_RAW(memory->host, quantise->d_begin, 1));
    RW_TRY(RW_CUDA_ZEROS(memory, quantise->d_pair, cuda->n_docs));
    RW_TRY(RW_CUDA_ZEROS(memory, quantise->d_lambda_q, cuda->n_docs));
    if (engine->rules.newton)
        RW_TRY(RW_CUDA_ZEROS(memory, quantise->d_hess_q, cuda->n_docs));
    RW_TRY(rw_cuda_nodes_allocate(&cuda->nodes, memory, &cuda->replies, source->dataset, quantise,
                                  can_move_codes(cuda)));
    quantise->seed = engine->rules.seed;
    quantise->n_docs = cuda->n_docs;
    quantise->most_blocks =
        (uint32_t)(cuda->device->n_multiprocessors * cuda->device->tuning->quantise_blocks);
    quantise->bits = engine->rules.bits;
    quantise->nearest = engine->rules.nearest;
    quantise->squares = rw_engine_needs_squares(engine);
    quantise->d_sampled = cuda->nodes.sample.d_sampled;
    RW_TRY(RW_CUDA_TABLE(memory, cuda->root.d, &whole, 1));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, cuda->features.d_sampled, engine->info.n_features));
    const uint8_t *d_sampled = cuda->features.d_sampled;
    for (int g = 0; g < cuda->n_groups; g++) {
        cuda->cells[g].d_sampled = d_sampled + cuda->first_own[g];
        d_sampled += cuda->built[g].n_features;
    }
    return RW_OK;
}

/* Allocates the memory of searches and of small data, and host memory for the nodes of trees. */
static int make_search(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    struct rw_cuda_search *search = &cuda->search;
    struct rw_arena *arena = &cuda->memory.arena, *peers = rw_cuda_peers_arena(&cuda->workers);
    const size_t n_slots = host->base.rules.max_slots, n_features = host->base.info.n_features;
    const size_t n_blocks = n_features + search->n_sets; /* per node */
    const size_t allowed_bytes = rw_cuda_allowed_bytes(cuda);
    uint64_t searched = RW_TUNE_ENGINE_SEARCH_BYTES / sizeof(*search->d_best) / (n_blocks + 1);
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
    RW_TRY(rw_cuda_level_allocate(cuda));
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, cuda->buffers.of, n_slots));
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, cuda->buffers.slot_of, n_slots));
    RW_TRY(RW_ARENA_NEW(host->base.ctx, arena, cuda->coded, n_slots));
    if (allowed_bytes)
        RW_TRY(
            rw_arena_new(host->base.ctx, arena, (void **)&host->allowed, n_slots, allowed_bytes));
    /* The largest pieces are the leaves, a tree (per node a coded node, a set of at most 128 bytes
     * and a leaf value), and the columns of a walk; several are sent at a time. */
    const size_t stage_bytes = (n_slots + 1) * 192 +
                               n_features * (2 + sizeof(struct rw_cuda_column)) + 65536 +
                               (searched + 1) * allowed_bytes;
    return rw_cuda_replies_allocate(
        &cuda->replies, &cuda->memory, peers ? peers : arena, stage_bytes,
        sizeof(struct rw_cuda_begin) + n_slots * sizeof(struct rw_sum), search->n_sets > 0);
}

/* ---- a set ---- */

/* Makes groups and tables of the training set, before its codes. */
static int begin_training(struct rw_cuda *cuda, const struct rw_dataset *dataset)
{
    cuda->n_docs = dataset->n_docs;
    cuda->all_docs = rw_cuda_are_many(&cuda->workers) ? cuda->host.base.all_docs : dataset->n_docs;
    RW_TRY(rw_cuda_list_candidates(cuda));
    RW_TRY(rw_cuda_codes_begin(&cuda->codes, dataset->n_docs));
    cuda->n_groups = cuda->codes.shared->n_groups;
    RW_TRY(make_tables(cuda));
    return send_rules(cuda);
}

/* Allocates all other memory of the training. */
static int make_training(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    for (int g = 0; g < cuda->n_groups; g++) {
        cuda->codes.set[0].matrix[g]->d_row = cuda->built[g].d_row;
        cuda->codes.set[0].matrix[g]->n_row_cells = cuda->built[g].n_cells;
    }
    RW_TRY(make_lists(cuda, source));
    RW_TRY(make_pools(cuda));
    RW_TRY(make_search(cuda));
    RW_TRY(rw_cuda_plan_histograms(cuda));
    if (rw_cuda_is_dry(&cuda->memory))
        return rw_cuda_settle_columns(cuda);
    /* Methods are chosen in the first tree, after the other sets are loaded. A plan counts the
     * choice before the other sets, so rw_cuda_left_bytes adds its change of memory in advance. */
    cuda->memory.to_settle =
        (int64_t)(cuda->codes.place.settled_bytes - cuda->host.base.info.bytes);
    return cuda->workers.peers ? rw_cuda_peers_publish(&cuda->workers) : RW_OK;
}

int rw_cuda_load_set(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source)
{
    if (set == 0)
        RW_TRY(begin_training(cuda, source->dataset));
    RW_TRY(rw_cuda_codes_load(&cuda->codes, set, source));
    cuda->host.memory.part = "scores";
    RW_TRY(RW_CUDA_ZEROS(&cuda->memory, cuda->set[set].d_score, source->dataset->n_docs));
    return set == 0 ? make_training(cuda, source) : RW_OK;
}

/* Makes the training set's cuts: those of cached codes, those of ready codes, or new ones. The
 * device makes new ones if its memory suffices, else the host. *column: the array source->code_of,
 * if ready codes need one; the caller frees it. */
static int make_cuts(struct rw_cuda *cuda, struct rw_cuda_source *source, uint32_t **column)
{
    struct rw_host *host = &cuda->host;
    const struct rw_dataset *dataset = source->dataset;
    struct rw_cuts *cuts;
    if (rw_cuda_are_many(&cuda->workers)) {
        host->base.cache = NULL; /* workers would have to agree on reusing codes */
        if (!source->codes)
            return rw_fail(host->base.ctx, RW_ERR_INTERNAL, "a worker without ready boundaries");
    }
    rw_cuda_codes_take(&cuda->codes);
    const struct rw_cuda_shared *shared = cuda->codes.shared;
    if (shared) {
        cuts = shared->cuts;
    } else if (source->codes) {
        RW_TRY(rw_host_ready_cuts(host, source->codes, &cuts, column));
        source->code_of = *column;
    } else if (rw_cuda_cuts_bytes(dataset, host->base.rules.cut.bins) > cuda->memory.free_bytes) {
        RW_TRY(rw_cuts_make(host->base.ctx, dataset, &host->base.rules.cut, &cuts));
    } else {
        RW_TRY(rw_cuda_cuts_make(cuda->device, dataset, &host->base.rules.cut, &cuts));
    }
    rw_host_count_features(host, cuts);
    const int status =
        rw_host_bins_of_cuts(host, cuts, !shared, dataset->n_docs, &host->set[0].bins);
    if (status < 0 && !shared)
        rw_cuts_free(cuts);
    return status;
}

/* Host memory then has the cuts of set 0, and the codes of each set that do not fit the device. */
int rw_cuda_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_source source = {.dataset = dataset, .gains = gains, .codes = bins};
    RW_FREED uint32_t *column = NULL;
    if (set == 0) {
        RW_TRY(rw_cuda_workers_connect(&cuda->workers));
        engine->has_all_splits = cuda->workers.peers && !engine->rules.symmetric;
        RW_TRY(rw_cuda_find_free(cuda));
        RW_TRY(make_cuts(cuda, &source, &column));
        RW_TRY(rw_cuda_find_place(cuda, cuda->host.set[0].bins->cuts, &source));
    }
    return rw_cuda_load_set(cuda, set, &source);
}

void rw_cuda_unload(struct rw_cuda *cuda)
{
    rw_cuda_lambda_free(cuda->lambda);
    for (int set = 0; set < RW_MAX_SETS; set++)
        rw_cuda_metrics_free(cuda->set[set].metrics);
    rw_cuda_codes_release(&cuda->codes);
    rw_arena_free(&cuda->memory.arena);
}
