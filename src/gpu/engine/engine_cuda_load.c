/* Loads data for GPUs: sends codes and tables to the device, and allocates the memory of a
 * training, except that of metrics and of cached columns, which are made once histogram methods are
 * chosen. A dry run of loading counts this memory, for the plan, and to decide where the codes of
 * the training set are stored. The plan also estimates the time of a tree. */
#include "gpu/engine/engine_cuda.h"

#include "gpu/binning/device_cuts.h"

/* ---- tables of the training set ---- */

/* Returns the record of a feature: without bins for a categorical one, which the search skips. */
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

/* Sends the categorical features of a group that this worker owns. */
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
        for (uint32_t f = 0; f < group->spec.n_features; f++) {
            feature[f] = feature_of(cuts, group->column[f]);
            /* searches read four cells at a time */
            row[f + 1] = row[f] + (rw_cuts_n_codes(cuts, group->column[f]) + 3) / 4 * 4;
        }
        built->narrow = rw_hist_is_narrow(cuda->all_docs, most);
        built->n_features = group->spec.n_features;
        built->n_bins = group->spec.n_bins;
        built->n_cells = row[group->spec.n_features];
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, built->d_feature, feature, group->spec.n_features));
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, built->d_row, row, (size_t)group->spec.n_features + 1));
        RW_TRY(rw_cuda_workers_divide(&cuda->workers, &cuda->memory, g, row, &cuda->first_own[g]));
        RW_TRY(send_categories(cuda, g));
    }
    return RW_OK;
}

static int send_rules(struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    const size_t n = engine->info.n_features;
    RW_FREED double *penalty = NULL;
    RW_FREED int8_t *direction = NULL;
    if (engine->rules.monotone)
        RW_TRY(RW_NEW(engine->ctx, direction, n));
    if (engine->rules.penalty)
        RW_TRY(RW_NEW(engine->ctx, penalty, n));
    rw_host_set_rules(&cuda->host, direction, penalty);
    if (direction)
        RW_TRY(RW_CUDA_TABLE(&cuda->memory, cuda->search.d_direction, direction, n));
    return penalty ? RW_CUDA_TABLE(&cuda->memory, cuda->search.d_penalty, penalty, n) : RW_OK;
}

/* ---- memory of training ---- */

/* Allocates histograms, of nodes of at least min_docs documents. */
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
    return rw_cuda_workers_allocate(&cuda->workers, &cuda->memory, cuda->n_groups);
}

/* Allocates the memory of a tree's start, the lists of documents, and flags of sampled features. */
static int make_lists(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    const struct rw_engine *engine = &cuda->host.base;
    struct rw_cuda_memory *memory = &cuda->memory;
    struct rw_cuda_quantise *quantise = &cuda->quantise;
    const struct rw_cuda_whole whole = {.node = {.n = cuda->n_docs}, .parent = RW_HIST_NO_PARENT};
    const struct rw_hist_method *forced = cuda->codes.forced;
    const int can_move = !cuda->codes.place.is_far && (!forced || forced->reads_tiles);
    memory->host->memory.part = "lambdas";
    RW_TRY(rw_cuda_lambda_new(engine->ctx, rw_cuda_is_dry(memory) ? NULL : cuda->device,
                              &engine->rules, source->dataset, source->gains, &cuda->lambda));
    rw_host_count(memory->host, rw_cuda_lambda_bytes(cuda->lambda));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, quantise->d_begin, 1));
    RW_TRY(RW_CUDA_ZEROS(memory, quantise->d_pair, cuda->n_docs));
    RW_TRY(RW_CUDA_ZEROS(memory, quantise->d_lambda_q, cuda->n_docs));
    if (engine->rules.newton)
        RW_TRY(RW_CUDA_ZEROS(memory, quantise->d_hess_q, cuda->n_docs));
    RW_TRY(rw_cuda_nodes_allocate(&cuda->nodes, memory, &cuda->replies, source->dataset, quantise,
                                  can_move));
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

/* ---- a set ---- */

/* Allocates the memory of the training, after its tables and codes. */
static int make_training(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    for (int g = 0; g < cuda->n_groups; g++) {
        cuda->codes.set[0].matrix[g]->d_row = cuda->built[g].d_row;
        cuda->codes.set[0].matrix[g]->n_row_cells = cuda->built[g].n_cells;
    }
    RW_TRY(make_lists(cuda, source));
    RW_TRY(make_pools(cuda));
    RW_TRY(rw_cuda_make_search(cuda));
    RW_TRY(rw_cuda_plan_histograms(cuda));
    if (rw_cuda_is_dry(&cuda->memory))
        return rw_cuda_columns_settle(&cuda->codes, cuda->choice);
    /* Methods are chosen in the first tree, after the other sets are loaded. A plan counts the
     * choice before the other sets, so rw_cuda_left_bytes adds its change of memory in advance. */
    cuda->memory.to_settle =
        (int64_t)(cuda->codes.place.settled_bytes - cuda->host.base.info.bytes);
    return cuda->workers.peers ? rw_cuda_peers_publish(&cuda->workers) : RW_OK;
}

/* Loads a set, or counts its memory in a dry run. The cuts exist already. */
static int load_set(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source)
{
    const uint32_t n_docs = source->dataset->n_docs;
    if (set == 0) {
        cuda->n_docs = n_docs;
        cuda->all_docs = rw_cuda_are_many(&cuda->workers) ? cuda->host.base.all_docs : n_docs;
        RW_TRY(rw_cuda_codes_begin(&cuda->codes, n_docs));
        cuda->n_groups = cuda->codes.shared->n_groups;
        RW_TRY(make_tables(cuda));
        RW_TRY(send_rules(cuda));
    }
    RW_TRY(rw_cuda_codes_load(&cuda->codes, set, source));
    cuda->host.memory.part = "scores";
    RW_TRY(RW_CUDA_ZEROS(&cuda->memory, cuda->set[set].d_score, n_docs));
    return set == 0 ? make_training(cuda, source) : RW_OK;
}

/* ---- the dry run ---- */

/* Counts the memory that loading would take, with cuts that may differ from the engine's. source:
 * the training set. data: the other sets, and the metrics of all sets; NULL: counts neither. Also
 * sets settled_bytes, keeps_columns and far_doc_bytes of the place. */
static int dry_run(struct rw_cuda *cuda, struct rw_cuts *cuts, const struct rw_cuda_source *source,
                   const struct rw_plan_data *data, struct rw_plan *out)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_place *place = &cuda->codes.place;
    int status = RW_OK;
    struct rw_cuda *dry;
    RW_TRY(RW_NEW(ctx, dry, 1));
    rw_cuda_init(dry, cuda->device);
    dry->host.base = cuda->host.base;
    dry->host.memory.plan = out;
    dry->memory.free_bytes = cuda->memory.free_bytes;
    dry->memory.is_limited = cuda->memory.is_limited;
    dry->codes.place = *place;
    dry->codes.forced = cuda->codes.forced;
    if (cuda->codes.shared && cuda->codes.shared->cuts == cuts) /* taken from the cache */
        dry->codes.shared = cuda->codes.shared;
    dry->workers.peers = cuda->workers.peers;
    rw_host_count_features(&dry->host, cuts);
    RW_TRY_OUT(
        rw_host_bins_of_cuts(&dry->host, cuts, 0, source->dataset->n_docs, &dry->host.set[0].bins));
    RW_TRY_OUT(load_set(dry, 0, source));
    place->settled_bytes = dry->host.base.info.bytes;
    place->keeps_columns = dry->codes.place.keeps_columns;
    place->far_doc_bytes = dry->codes.place.far_doc_bytes;
    /* Some memory of the training set is freed only in the first tree. The other sets are loaded
     * before that, while it is still in use. */
    const uint64_t most_bytes = dry->memory.most_bytes;
    const uint64_t returned_bytes = most_bytes > out->bytes ? most_bytes - out->bytes : 0;
    dry->memory.most_bytes = 0;
    for (int set = 1; data && set < data->n_sets; set++) {
        const struct rw_cuda_source other = {.dataset = data->set[set]};
        RW_TRY_OUT(load_set(dry, set, &other));
    }
    for (int set = 0; data && data->measured && set < data->n_sets; set++) {
        struct rw_cuda_metrics **metrics = &dry->set[set].metrics;
        if (!data->measured[set])
            continue;
        RW_TRY_OUT(rw_cuda_metrics_new(ctx, NULL, data->measured[set], metrics));
        rw_plan_add(out, "metrics", rw_cuda_metrics_bytes(*metrics));
    }
    out->most_bytes = returned_bytes +
                      (dry->memory.most_bytes > out->bytes ? dry->memory.most_bytes : out->bytes);
out:
    rw_cuda_unload(dry);
    rw_mem_free(dry);
    return status;
}

/* Fails with RW_ERR_MEMORY. The message states the needed and the free or allowed memory. */
static int fail_room(struct rw_cuda *cuda, uint64_t needed)
{
    const struct rw_cuda_memory *memory = &cuda->memory;
    const struct rw_hist_method *forced = cuda->codes.forced;
    char hint[256] =
        "fewer --bins or --leaves need less memory; --device cpu trains the same model";
    if (forced && !forced->reads_tiles)
        snprintf(hint, sizeof(hint),
                 "--hist %s needs all codes in the GPU's memory; --hist auto does not",
                 forced->name);
    return rw_fail(cuda->host.base.ctx, RW_ERR_MEMORY,
                   "out of device memory: %s needs %.1f MB of cuda:%d%s, and %.1f MB are %s\n"
                   "hint: %s",
                   cuda->host.base.rules.n_bags > 1 ? "each bag" : "training", (double)needed / 1e6,
                   cuda->device->number,
                   cuda->codes.place.is_far ? " in addition to the codes" : "",
                   (double)memory->free_bytes / 1e6,
                   memory->is_limited ? "allowed by --gpu-memory" : "free", hint);
}

/* Determines the free or allowed memory. Later decisions use this number instead of querying the
 * device again, so that they agree. */
static int find_free(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t allowed = rules->device_bytes;
    size_t free_bytes = 0, all_bytes = 0;
    if (allowed) /* cached memory of other trainings would exceed it */
        rw_cuda_codes_evict(cuda->device->number);
    RW_CU(cuda->host.base.ctx, cudaMemGetInfo(&free_bytes, &all_bytes));
    if (rules->n_bags > rules->bag) /* leaves room for the bags that are loaded later */
        free_bytes /= rules->n_bags - rules->bag;
    cuda->memory.is_limited = allowed && allowed < free_bytes;
    cuda->memory.free_bytes = cuda->memory.is_limited ? allowed : free_bytes;
    cuda->memory.shared_bytes = 0;
    return RW_OK;
}

/* ---- the place of the codes ---- */

/* Each bag has an equal share of the device's memory. Bags after the first need no memory for
 * codes, so the first bag's share grows by their savings, and if the memory is limited the other
 * shares shrink. Otherwise they find less memory free anyway. plan: of this engine. Returns 1 if
 * its share changed. */
static int share_bytes(struct rw_cuda *cuda, const struct rw_plan *plan)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const struct rw_cuda_shared *taken = cuda->codes.shared;
    struct rw_cuda_memory *memory = &cuda->memory;
    const uint64_t n = rules->n_bags > 1 && !rw_cuda_are_many(&cuda->workers) ? rules->n_bags : 1;
    uint64_t shared = taken && memory->is_limited ? -(taken->bytes / n) : 0;
    for (int i = 0; i < plan->n_parts && !cuda->codes.place.is_far && rules->bag == 0; i++)
        shared += strcmp(plan->part[i].name, "codes") == 0 ? plan->part[i].bytes / n * (n - 1) : 0;
    const int changes = shared != memory->shared_bytes;
    memory->free_bytes += shared - memory->shared_bytes;
    memory->shared_bytes = shared;
    return changes;
}

/* Computes the device memory that training with these cuts takes, including other sets. */
static int find_needed(struct rw_cuda *cuda, struct rw_cuts *cuts,
                       const struct rw_cuda_source *source, uint64_t *needed)
{
    struct rw_plan plan;
    do { /* again if the share changes, since layouts of codes depend on it */
        plan = (struct rw_plan){.n_parts = 0};
        RW_TRY(dry_run(cuda, cuts, source, NULL, &plan));
    } while (share_bytes(cuda, &plan));
    *needed = plan.most_bytes +
              rw_cuda_others_bytes(&cuda->codes, source->dataset->n_docs, cuts->n_features);
    return RW_OK;
}

/* Places codes that do not all fit. The memory that is left after all other uses is divided between
 * columns for partitions, at least one, and tiles. needed: memory of training with all codes on the
 * device, including other sets. */
static int place_far(struct rw_cuda *cuda, struct rw_cuts *cuts,
                     const struct rw_cuda_source *source, uint64_t needed)
{
    enum { PADDING = 128 };
    const struct rw_hist_method *forced = cuda->codes.forced;
    const uint64_t bytes = rw_cuda_column_bytes(cuts, source->dataset->n_docs);
    struct rw_cuda_place *place = &cuda->codes.place;
    uint64_t taken;
    place->least_bytes = needed;
    if (cuda->codes.shared || bytes == 0 || cuts->n_features == 0 ||
        (forced && !forced->reads_tiles))
        return fail_room(cuda, needed);
    *place = (struct rw_cuda_place){.is_far = 1, .n_columns = 1};
    RW_TRY(find_needed(cuda, cuts, source, &taken));
    const uint64_t free_bytes = cuda->memory.free_bytes;
    place->least_bytes = taken;
    if (taken > free_bytes)
        return fail_room(cuda, taken);
    /* The device allocates memory in large pages, so small allocations cannot use all of it. */
    const uint64_t pages = cuda->memory.is_limited ? 0 : free_bytes / RW_TUNE_FAR_PAGES_SHARE;
    const uint64_t left = free_bytes - taken > pages ? free_bytes - taken - pages : 0;
    uint64_t more = (uint64_t)((double)left * RW_TUNE_FAR_COLUMNS_SHARE) / bytes;
    more = more < cuts->n_features - 1 ? more : cuts->n_features - 1;
    place->n_columns += (uint32_t)more;
    place->row_bytes = left - more * bytes;
    for (;;) { /* rows are padded, so they may take slightly more memory than planned */
        RW_TRY(find_needed(cuda, cuts, source, &taken));
        if (taken <= cuda->memory.free_bytes || place->row_bytes == 0)
            return RW_OK;
        const uint64_t over = (taken - cuda->memory.free_bytes + PADDING - 1) / PADDING * PADDING;
        place->row_bytes -= over < place->row_bytes ? over : place->row_bytes;
    }
}

/* Decides where the training set's codes are stored, within the free memory. */
static int find_place(struct rw_cuda *cuda, struct rw_cuts *cuts,
                      const struct rw_cuda_source *source)
{
    uint64_t needed;
    cuda->codes.place.is_far = 0;
    cuda->codes.place.least_bytes = 0;
    for (;;) {
        RW_TRY(find_needed(cuda, cuts, source, &needed));
        if (needed <= cuda->memory.free_bytes)
            return RW_OK;
        if (!rw_cuda_codes_evict(cuda->device->number))
            return place_far(cuda, cuts, source, needed);
        RW_TRY(find_free(cuda));
    }
}

/* ---- loading ---- */

/* Makes the training set's cuts: those of cached or ready codes, or new ones, by the device if its
 * memory suffices, else by the host. *column: the array source->code_of, if ready codes need one;
 * the caller frees it. */
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
        RW_TRY(rw_hist_method_named(engine->ctx, engine->rules.hist, &cuda->codes.forced));
        RW_TRY(find_free(cuda));
        RW_TRY(make_cuts(cuda, &source, &column));
        RW_TRY(find_place(cuda, cuda->host.set[0].bins->cuts, &source));
    }
    return load_set(cuda, set, &source);
}

void rw_cuda_unload(struct rw_cuda *cuda)
{
    rw_cuda_lambda_free(cuda->lambda);
    for (int set = 0; set < RW_MAX_SETS; set++)
        rw_cuda_metrics_free(cuda->set[set].metrics);
    rw_hist_far_close(&cuda->codes.hist_far); /* waits, so that its memory is no longer in use */
    rw_host_release(&cuda->host);             /* its bins refer to cuts of the codes */
    rw_cuda_codes_release(&cuda->codes);
    rw_arena_free(&cuda->memory.arena);
}

/* ---- the plan ---- */

int rw_cuda_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_place *place = &cuda->codes.place;
    struct rw_cuda_source source = {.dataset = data->set[0], .codes = data->bins};
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    RW_FREED uint32_t *code_of = NULL;
    out->on_gpu = 1;
    snprintf(out->device, sizeof(out->device), "cuda:%d, %s", cuda->device->number,
             cuda->device->name);
    RW_TRY(rw_hist_method_named(engine->ctx, engine->rules.hist, &cuda->codes.forced));
    if (!cuda->memory.free_bytes) {
        rw_cuda_codes_evict(cuda->device->number);
        RW_TRY(find_free(cuda));
    }
    RW_TRY(rw_host_plan_cuts(&cuda->host, data->set[0], data->bins, &cuts, &code_of));
    source.code_of = code_of;
    const int placed = find_place(cuda, cuts, &source);
    if (placed < 0 && placed != RW_ERR_MEMORY)
        return placed;
    RW_TRY(dry_run(cuda, cuts, &source, data, out));
    out->free_bytes = cuda->memory.free_bytes;
    if (placed < 0 && place->least_bytes > out->most_bytes)
        out->most_bytes = place->least_bytes;
    if (!data->bins) { /* before anything is loaded; if they do not fit, the host makes the cuts */
        const uint64_t bytes = rw_cuda_cuts_bytes(data->set[0], engine->rules.cut.bins);
        if (bytes > out->most_bytes && bytes <= out->free_bytes)
            out->most_bytes = bytes;
    }
    /* If there is no room for measuring the link, its usual rate is assumed. */
    if (place->is_far && rw_device_link_rate(cuda->device, &place->link_rate) < 0)
        place->link_rate = RW_TUNE_FAR_LINK_RATE;
    out->link_rate = place->link_rate;
    return placed < 0 || out->most_bytes > out->free_bytes ? fail_room(cuda, out->most_bytes)
                                                           : RW_OK;
}

/* ---- time ---- */

static double histogram_bytes(const struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const int32_t most = rw_quantise_limit(cuda->host.base.rules.bits);
    const int narrow = rw_hist_is_narrow((uint64_t)work->docs, most);
    return work->leaves * work->bins * (double)rw_hist_cell_bytes(work->newton, narrow);
}

/* Returns the bytes per document of host-resident codes. Before they are placed, estimates them
 * from the needed memory that exceeds the free memory. */
static double far_doc_bytes(struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const double docs = work->docs + work->other_docs;
    const double needed =
        work->docs * (work->row_bytes + RW_TUNE_PLAN_HELD_BYTES) + histogram_bytes(cuda, work);
    if (cuda->codes.place.is_far)
        return cuda->codes.place.far_doc_bytes;
    if (cuda->memory.free_bytes || docs < 1.0 || find_free(cuda) < 0)
        return 0.0;
    const double far = (needed - (double)cuda->memory.free_bytes) / docs;
    cuda->memory.free_bytes = 0; /* determined again when data is loaded */
    return fmin(fmax(far, 0.0), work->row_bytes);
}

/* Estimates the milliseconds per tree to read host memory: rows for histograms, and columns for
 * splits. Columns are at most one per split and per feature, without those that fit the device. */
static double far_ms(struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const struct rw_cuda_place *place = &cuda->codes.place;
    const double doc_bytes = far_doc_bytes(cuda, work);
    const double rate = place->link_rate > 0.0 ? place->link_rate : RW_TUNE_FAR_LINK_RATE;
    const double columns = fmin(work->features, work->leaves - 1.0) - place->n_columns;
    const double a_level =
        work->newton ? RW_TUNE_FAR_LEVEL_PASSES_NEWTON : RW_TUNE_FAR_LEVEL_PASSES;
    const double share = work->newton ? RW_TUNE_FAR_COLUMNS_READ_NEWTON : RW_TUNE_FAR_COLUMNS_READ;
    const double passes = 1.0 + log2(work->leaves) * a_level;
    const double bytes = doc_bytes * passes / RW_TUNE_FAR_GATHER_RATE + fmax(columns, 0.0) * share;
    return doc_bytes > 0.0 ? work->docs * bytes / rate * 1e3 : 0.0;
}

double rw_cuda_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const double levels = log2(work->leaves);
    const double batches = fmin(work->leaves - 1.0, 2.0 * levels + 6.0);
    const double bytes =
        work->docs * rw_plan_passes(work) * (work->row_bytes + RW_TUNE_PLAN_ROW_BYTES) +
        work->docs * (levels * RW_TUNE_PLAN_LEVEL_BYTES + RW_TUNE_PLAN_DOC_BYTES) +
        work->other_docs * (levels + 1.0) * RW_TUNE_PLAN_WALK_BYTES +
        histogram_bytes(cuda, work) * RW_TUNE_PLAN_CELL_PASSES;
    const double pair_ms = work->visits * RW_TUNE_PLAN_PAIR_NS / 1e6 *
                           (RW_TUNE_PLAN_MULTIPROCESSORS / cuda->device->n_multiprocessors);
    const double rate = rw_device_bandwidth(cuda->device) * RW_TUNE_PLAN_BANDWIDTH_SHARE;
    return bytes / rate * 1e3 + pair_ms + batches * RW_TUNE_PLAN_BATCH_US / 1e3 +
           far_ms(cuda, work);
}
