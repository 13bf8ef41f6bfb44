/* The plan of the engine for GPUs: a dry run of loading counts its memory. It also decides where
 * the codes of the training set are stored, and the time of a tree is estimated. */
#include "gpu/engine/engine_cuda.h"

#include "gpu/binning/device_cuts.h"

/* ---- memory ---- */

/* Counts the memory that loading would take. The cuts may differ from the engine's. source: the
 * training set. data: the other sets, and the metrics of all sets; NULL: counts neither. Also sets
 * settled_bytes, keeps_columns and far_doc_bytes of the place. */
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
    if (cuda->codes.shared && cuda->codes.shared->cuts == cuts) /* taken from the cache */
        dry->codes.shared = cuda->codes.shared;
    dry->workers.peers = cuda->workers.peers;
    rw_host_count_features(&dry->host, cuts);
    RW_TRY_OUT(
        rw_host_bins_of_cuts(&dry->host, cuts, 0, source->dataset->n_docs, &dry->host.set[0].bins));
    RW_TRY_OUT(rw_cuda_load_set(dry, 0, source));
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
        RW_TRY_OUT(rw_cuda_load_set(dry, set, &other));
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
    rw_host_release(&dry->host);
    rw_cuda_codes_leave(&dry->codes);
    rw_mem_free(dry);
    return status;
}

/* Fails with RW_ERR_MEMORY and a message that states the needed memory, the free or allowed memory,
 * and settings that need less. */
static int fail_room(struct rw_cuda *cuda, uint64_t needed)
{
    const struct rw_cuda_memory *memory = &cuda->memory;
    const char *hist = cuda->host.base.rules.hist;
    const struct rw_hist_method *method = hist ? rw_hist_method_find(hist) : NULL;
    char hint[256] =
        "fewer --bins or --leaves need less memory; --device cpu trains the same model";
    if (method && !method->reads_tiles)
        snprintf(hint, sizeof(hint),
                 "--hist %s needs all codes in the GPU's memory; --hist auto does not", hist);
    return rw_fail(cuda->host.base.ctx, RW_ERR_MEMORY,
                   "out of device memory: %s needs %.1f MB of cuda:%d%s, and %.1f MB are %s\n"
                   "hint: %s",
                   cuda->host.base.rules.n_bags > 1 ? "each bag" : "training", (double)needed / 1e6,
                   cuda->device->number,
                   cuda->codes.place.is_far ? " in addition to the codes" : "",
                   (double)memory->free_bytes / 1e6,
                   memory->is_limited ? "allowed by --gpu-memory" : "free", hint);
}

int rw_cuda_find_free(struct rw_cuda *cuda)
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

/* ---- the place of the codes ---- */

/* Each bag has an equal share of the device's memory. Bags after the first need no memory for
 * codes, so the first bag's share grows by their savings. If the memory is limited, this is
 * subtracted from the other shares. Otherwise they find less memory free anyway. plan: of this
 * engine. Returns 1 if its share changed. */
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
    const char *hist = cuda->host.base.rules.hist;
    const uint64_t bytes = rw_cuda_column_bytes(cuts, source->dataset->n_docs);
    struct rw_cuda_place *place = &cuda->codes.place;
    uint64_t free_bytes = cuda->memory.free_bytes, taken;
    const struct rw_hist_method *method = NULL;
    if (hist)
        RW_TRY(rw_hist_method_named(cuda->host.base.ctx, hist, &method));
    place->least_bytes = needed;
    if (cuda->codes.shared || bytes == 0 || cuts->n_features == 0 ||
        (method && !method->reads_tiles))
        return fail_room(cuda, needed);
    *place = (struct rw_cuda_place){.is_far = 1, .n_columns = 1};
    RW_TRY(find_needed(cuda, cuts, source, &taken));
    free_bytes = cuda->memory.free_bytes;
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

int rw_cuda_find_place(struct rw_cuda *cuda, struct rw_cuts *cuts,
                       const struct rw_cuda_source *source)
{
    uint64_t needed;
    cuda->codes.place.is_far = 0;
    cuda->codes.place.least_bytes = 0;
    for (;;) {
        RW_TRY(find_needed(cuda, cuts, source, &needed));
        if (needed <= cuda->memory.free_bytes)
            return RW_OK;
        if (!rw_device_cache_drop_unused(cuda->device->number))
            return place_far(cuda, cuts, source, needed);
        RW_TRY(rw_cuda_find_free(cuda));
    }
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
    if (!cuda->memory.free_bytes) {
        rw_device_cache_drop_unused(cuda->device->number);
        RW_TRY(rw_cuda_find_free(cuda));
    }
    RW_TRY(rw_host_plan_cuts(&cuda->host, data->set[0], data->bins, &cuts, &code_of));
    source.code_of = code_of;
    const int placed = rw_cuda_find_place(cuda, cuts, &source);
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

/* Returns the bytes of a tree's histograms. */
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
    if (cuda->memory.free_bytes || docs < 1.0 || rw_cuda_find_free(cuda) < 0)
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
