/* What the engine for GPUs will hold: scratch of histogram methods, and the whole by a dry run of
 * loading, so that plan and load cannot disagree. */
#include "gpu/engine/engine_cuda.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "gpu/binning/device_cuts.h"
#include "gpu/device/tuning.h"

/* ---- histogram methods ---- */

size_t rw_cuda_scratch_bytes(const struct rw_cuda *cuda, int g, const struct rw_hist_method *method,
                             const struct rw_hist_call *call)
{
    struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
    struct rw_hist_call asked = *call;
    size_t most = 0;
    asked.node = asked.d_node = node;
    asked.d_list = cuda->d_list;
    asked.n_nodes = 1;
    for (int skip = 0; skip <= (method->zero_skip != 0); skip++) {
        asked.zero_skip = skip;
        for (uint64_t n = cuda->n_docs; n > 0; n /= 2) {
            node[0] = (struct rw_hist_node){cuda->half + cuda->n_docs - n, n};
            const size_t bytes = method->scratch_bytes(&asked);
            most = bytes > most ? bytes : most;
        }
    }
    /* a job more than the sizes above happen to have */
    return most + most / 16 + (size_t)cuda->group[g].n_features * cuda->group[g].n_bins * 24 + 4096;
}

/* Candidates that need more scratch than may be spent on a choice are left out; *small: the scratch
 * that the favourite needs, *large: that any of them may. */
static int plan_group(struct rw_cuda *cuda, int g, size_t most_bytes, size_t *small, size_t *large)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_group *group = &cuda->group[g];
    const struct rw_hist_node root = {0, cuda->n_docs};
    struct rw_hist_call call = rw_cuda_hist_call(cuda, g, &root, 1, NULL);
    struct rw_hist_candidates kept = {.n = 0, .favourite = group->candidates.favourite};
    call.d_node = &root;
    call.d_scratch = &call; /* only whether they are there is looked at */
    if (cuda->host.base.rules.hist || cuda->place.is_far) {
        RW_TRY(rw_hist_force(ctx, &call, group->candidates.method[0], &group->choice));
        group->chosen = 1;
    }
    if (!cuda->host.base.rules.hist && group->chosen) /* to time it would take many readings */
        group->choice.how = RW_HIST_BY_RULE;
    for (int i = 0; i < group->candidates.n; i++) {
        const struct rw_hist_method *method = group->candidates.method[i];
        if (rw_hist_check(ctx, method, &call) < 0)
            continue;
        const size_t bytes = rw_cuda_scratch_bytes(cuda, g, method, &call);
        if (bytes > most_bytes && !group->chosen && method != &rw_hist_lanes)
            continue;
        kept.method[kept.n++] = method;
        *large = bytes > *large ? bytes : *large;
        if (group->chosen || method == &rw_hist_lanes)
            *small = bytes > *small ? bytes : *small;
    }
    group->candidates = kept;
    return RW_OK;
}

/* Scratch of the favourite method for a call of n nodes, the first of `longest` documents. */
static void plan_nodes(struct rw_cuda *cuda, uint32_t n, uint64_t longest, size_t *small)
{
    struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
    for (uint32_t i = 0; i < n; i++)
        node[i] = (struct rw_hist_node){cuda->half, cuda->n_docs / 2 / RW_TUNE_ENGINE_NODES};
    node[0] = (struct rw_hist_node){cuda->half + cuda->n_docs - longest, longest};
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_group *group = &cuda->group[g];
        struct rw_hist_call call = rw_cuda_hist_call(cuda, g, node, n, cuda->d_list);
        call.d_node = node;
        const struct rw_hist_method *method = group->chosen ? group->choice.method : &rw_hist_lanes;
        const size_t bytes = method->scratch_bytes(&call);
        *small = bytes > *small ? bytes : *small;
    }
}

/* As many small nodes as a call takes, and a batch with a large one, whose cells may be wider: it
 * is worth more than its scratch not to build it in two calls. */
static void plan_calls(struct rw_cuda *cuda, size_t *small)
{
    enum { MOST = RW_TUNE_ENGINE_NODES, LARGE = 8 };
    const int batch = cuda->host.base.batch < (int)MOST ? cuda->host.base.batch : (int)MOST;
    plan_nodes(cuda, MOST, cuda->n_docs / 2 / MOST, small);
    if (batch > 0)
        plan_nodes(cuda, (uint32_t)batch, cuda->n_docs / LARGE, small);
}

int rw_cuda_plan_histograms(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    size_t small = 0, large = 0;
    const uint64_t left = rw_cuda_left_bytes(cuda);
    const size_t most = left / 4 < RW_TUNE_HYBRID_SCRATCH ? left / 4 : RW_TUNE_HYBRID_SCRATCH;
    for (int g = 0; g < cuda->n_groups; g++)
        RW_TRY(plan_group(cuda, g, most, &small, &large));
    plan_calls(cuda, &small);
    large = large > small ? large : small;
    cuda->host.memory.part = "scratch";
    rw_host_count(&cuda->host, small);
    const uint64_t most_bytes = cuda->host.base.info.bytes + large - small;
    cuda->most_bytes = most_bytes > cuda->most_bytes ? most_bytes : cuda->most_bytes;
    cuda->least_scratch_bytes = small;
    cuda->hist_scratch_bytes = large;
    return rw_cuda_is_dry(cuda) ? RW_OK : rw_device_alloc(ctx, &cuda->d_hist_scratch, large);
}

int rw_cuda_list_candidates(struct rw_cuda *cuda)
{
    const char *forced = cuda->host.base.rules.hist;
    struct rw_hist_candidates all = {.n = 1}, *kept = &cuda->group[0].candidates;
    if (forced)
        RW_TRY(rw_hist_method_named(cuda->host.base.ctx, forced, &all.method[0]));
    else
        rw_hist_candidates_of_training(&all);
    *kept = (struct rw_hist_candidates){.favourite = all.favourite};
    for (int i = 0; i < all.n; i++) { /* a forced one that takes no far codes was refused */
        if (all.method[i]->reads_far || !cuda->place.is_far)
            kept->method[kept->n++] = all.method[i];
    }
    for (int g = 1; g < RW_CUDA_GROUPS; g++)
        cuda->group[g].candidates = *kept;
    return RW_OK;
}

/* ---- dry runs ---- */

/* What loading would take, under other cuts or rules than the engine's own, too. data: the sets
 * beside the training set, which is the source; NULL: none. */
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
    if (cuda->taken && cuts == cuda->taken->cuts)
        dry->taken = cuda->taken;
    dry->free_bytes = cuda->free_bytes;
    dry->place = cuda->place;
    rw_host_count_features(&dry->host, cuts);
    RW_TRY_OUT(
        rw_host_bins_of_cuts(&dry->host, cuts, 0, source->dataset->n_docs, &dry->host.set[0].bins));
    RW_TRY_OUT(rw_cuda_load_set(dry, 0, source));
    cuda->place.settled_bytes = dry->host.base.info.bytes;
    /* what the training set's loading takes and gives back, it gives back in the first tree only:
     * the other sets come on top */
    const uint64_t given_back = dry->most_bytes > out->bytes ? dry->most_bytes - out->bytes : 0;
    dry->most_bytes = 0;
    for (int set = 1; data && set < data->n_sets; set++) {
        const struct rw_cuda_source other = {.dataset = data->set[set]};
        RW_TRY_OUT(rw_cuda_load_set(dry, set, &other));
    }
    for (int set = 0; data && data->measured && set < data->n_sets; set++) {
        uint64_t bytes = 0;
        if (!data->measured[set])
            continue;
        RW_TRY_OUT(rw_cuda_metrics_plan_bytes(ctx, data->measured[set], &bytes));
        rw_plan_add(out, "metrics", bytes);
    }
    out->most_bytes = given_back + (dry->most_bytes > out->bytes ? dry->most_bytes : out->bytes);
    cuda->place.far_doc_bytes = dry->place.far_doc_bytes;
out:
    rw_cuda_unload(dry);
    rw_host_release(&dry->host);
    rw_mem_free(dry);
    return status;
}

/* The largest number of bins, or of leaves, under today's that would fit; 0: none. */
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
        if (plan.most_bytes <= cuda->free_bytes)
            *found = fewer[i];
    }
    return RW_OK;
}

/* What is needed, what there is, and what would fit. */
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
                 "no --bins and no --leaves would fit; --device cpu gives the "
                 "same model");
    return rw_fail(ctx, RW_ERR_MEMORY,
                   "out of device memory: training needs %.1f MB of cuda:%d%s, and %.1f MB are %s\n"
                   "hint: %s",
                   (double)needed / 1e6, cuda->device->number,
                   cuda->place.is_far ? " beside the codes" : "", (double)cuda->free_bytes / 1e6,
                   cuda->is_limited ? "allowed by --gpu-memory" : "free", hint);
}

/* The memory that is free from here on decides what is made; it is asked for once. */
int rw_cuda_ask_free(struct rw_cuda *cuda)
{
    const uint64_t allowed = cuda->host.base.rules.device_bytes;
    size_t free_bytes = 0, all_bytes = 0;
    if (allowed) /* what other trainings have left would be beyond it */
        rw_device_cache_drop_unused(cuda->device->number);
    RW_CU(cuda->host.base.ctx, cudaMemGetInfo(&free_bytes, &all_bytes));
    cuda->is_limited = allowed && allowed < free_bytes;
    cuda->free_bytes = cuda->is_limited ? allowed : free_bytes;
    return RW_OK;
}

uint64_t rw_cuda_others_bytes(const struct rw_cuda *cuda, uint32_t n_docs, uint32_t n_features)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t columns = n_features * sizeof(struct rw_cuda_column);
    const int has_walk = cuda->place.is_far || cuda->walk_bytes; /* the training set's part */
    if (rules->n_other_sets == 0)
        return 0;
    return rules->other_docs * RW_TUNE_FAR_OTHER_BYTES +
           rules->n_other_sets * (RW_TUNE_FAR_SET_BYTES + columns) +
           (has_walk ? 0 : rw_cuda_far_walk_bytes(n_docs, n_features));
}

/* Bytes of a column for partitions, as rw_cuda_settle_columns has it. */
static uint64_t column_bytes(const struct rw_cuts *cuts, uint32_t n_docs)
{
    uint64_t bytes = 1;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        bytes = rw_cuts_code_bytes(cuts, f) > bytes ? rw_cuts_code_bytes(cuts, f) : bytes;
    return (n_docs * bytes + 255) / 256 * 256;
}

/* Rows are padded, so that they may take a little more than they were given. */
static int fit_rows(struct rw_cuda *cuda, struct rw_cuts *cuts, const struct rw_cuda_source *source)
{
    enum { PADDING = 128 };
    for (;;) {
        struct rw_plan plan = {.n_parts = 0};
        RW_TRY(dry_run(cuda, &cuda->host.base.rules, cuts, source, NULL, &plan));
        const uint64_t needed =
            plan.most_bytes + rw_cuda_others_bytes(cuda, source->dataset->n_docs, cuts->n_features);
        if (needed <= cuda->free_bytes || cuda->place.row_bytes == 0)
            return RW_OK;
        const uint64_t over = (needed - cuda->free_bytes + PADDING - 1) / PADDING * PADDING;
        cuda->place.row_bytes -= over < cuda->place.row_bytes ? over : cuda->place.row_bytes;
    }
}

/* Not all codes fit: what is left beside everything else is given to columns for partitions, at
 * least one, and to tiles. needed: by training with all codes on the device, other sets' too. */
static int place_far(struct rw_cuda *cuda, struct rw_cuts *cuts,
                     const struct rw_cuda_source *source, uint64_t needed)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t bytes = column_bytes(cuts, source->dataset->n_docs);
    const struct rw_hist_method *method = NULL;
    struct rw_plan least = {.n_parts = 0};
    if (rules->hist)
        RW_TRY(rw_hist_method_named(cuda->host.base.ctx, rules->hist, &method));
    cuda->place.least_bytes = needed;
    if (cuda->taken || bytes == 0 || cuts->n_features == 0 || (method && !method->reads_far))
        return fail_room(cuda, cuts, source, needed);
    cuda->place = (struct rw_cuda_place){.is_far = 1, .n_columns = 1};
    RW_TRY(dry_run(cuda, rules, cuts, source, NULL, &least));
    const uint64_t taken =
        least.most_bytes + rw_cuda_others_bytes(cuda, source->dataset->n_docs, cuts->n_features);
    cuda->place.least_bytes = taken;
    if (taken > cuda->free_bytes)
        return fail_room(cuda, cuts, source, taken);
    /* what is free is given out in large pages: not all of it is to be had in pieces */
    const uint64_t pages = cuda->is_limited ? 0 : cuda->free_bytes / RW_TUNE_FAR_PAGES_SHARE;
    const uint64_t left = cuda->free_bytes - taken > pages ? cuda->free_bytes - taken - pages : 0;
    uint64_t more = (uint64_t)((double)left * RW_TUNE_FAR_COLUMNS_SHARE) / bytes;
    more = more < cuts->n_features - 1 ? more : cuts->n_features - 1;
    cuda->place.n_columns += (uint32_t)more;
    cuda->place.row_bytes = left - more * bytes;
    return fit_rows(cuda, cuts, source);
}

/* Where the training set's codes go, in the memory that was asked for. */
static int find_place(struct rw_cuda *cuda, struct rw_cuts *cuts,
                      const struct rw_cuda_source *source)
{
    cuda->place.is_far = 0;
    cuda->place.least_bytes = 0;
    for (;;) {
        struct rw_plan plan = {.n_parts = 0};
        RW_TRY(dry_run(cuda, &cuda->host.base.rules, cuts, source, NULL, &plan));
        const uint64_t needed =
            plan.most_bytes + rw_cuda_others_bytes(cuda, source->dataset->n_docs, cuts->n_features);
        if (needed <= cuda->free_bytes)
            return RW_OK;
        if (!rw_device_cache_drop_unused(cuda->device->number))
            return place_far(cuda, cuts, source, needed);
        RW_TRY(rw_cuda_ask_free(cuda));
    }
}

int rw_cuda_check_room(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    return find_place(cuda, cuda->host.set[0].bins->cuts, source);
}

/* ---- the plan ---- */

int rw_cuda_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_source source = {.dataset = data->set[0], .codes = data->bins};
    int status = RW_OK;
    struct rw_cuts *cuts = NULL;
    uint32_t *code_of = NULL;
    out->on_gpu = 1;
    snprintf(out->device, sizeof(out->device), "cuda:%d, %s", cuda->device->number,
             cuda->device->name);
    if (!cuda->free_bytes) {
        rw_device_cache_drop_unused(cuda->device->number);
        RW_TRY_OUT(rw_cuda_ask_free(cuda));
    }
    RW_TRY_OUT(rw_host_plan_cuts(&cuda->host, data->set[0], data->bins, &cuts, &code_of));
    source.code_of = code_of;
    const int place = find_place(cuda, cuts, &source);
    if (place < 0 && place != RW_ERR_MEMORY)
        RW_TRY_OUT(place);
    RW_TRY_OUT(dry_run(cuda, &engine->rules, cuts, &source, data, out));
    out->free_bytes = cuda->free_bytes;
    if (place < 0 && cuda->place.least_bytes > out->most_bytes)
        out->most_bytes = cuda->place.least_bytes;
    if (!data->bins) { /* before anything is loaded; where they do not fit, the host finds cuts */
        const uint64_t bytes = rw_cuda_cuts_bytes(data->set[0], engine->rules.cut.bins);
        if (bytes > out->most_bytes && bytes <= cuda->free_bytes)
            out->most_bytes = bytes;
    }
    /* without room for that, it is as any link */
    if (cuda->place.is_far &&
        rw_device_link_rate(cuda->host.base.ctx, cuda->device, &cuda->place.link_rate) < 0)
        cuda->place.link_rate = RW_TUNE_FAR_LINK_RATE;
    out->link_rate = cuda->place.link_rate;
    if (place < 0 || out->most_bytes > out->free_bytes)
        status = fail_room(cuda, cuts, &source, out->most_bytes);
out:
    rw_cuts_free(cuts);
    rw_mem_free(code_of);
    return status;
}

static double cell_bytes(const struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const int32_t most = rw_quantise_limit(cuda->host.base.rules.bits);
    return (double)rw_hist_cell_bytes(work->newton, rw_hist_is_narrow((uint64_t)work->docs, most));
}

/* Bytes of a document's codes in the host's memory: as they were placed, or, before that is known,
 * what of them does not fit beside about as many bytes as the rest takes. */
static double far_doc_bytes(struct rw_cuda *cuda, const struct rw_plan_work *work)
{
    const double docs = work->docs + work->other_docs;
    const double needed = work->docs * (work->row_bytes + RW_TUNE_PLAN_HELD_BYTES) +
                          work->leaves * work->bins * cell_bytes(cuda, work);
    if (cuda->place.is_far)
        return cuda->place.far_doc_bytes;
    if (cuda->free_bytes || docs < 1.0 || rw_cuda_ask_free(cuda) < 0)
        return 0.0;
    const double far = (needed - (double)cuda->free_bytes) / docs;
    cuda->free_bytes = 0; /* it is asked for again when data is loaded */
    return fmin(fmax(far, 0.0), work->row_bytes);
}

/* What histograms read of the host's memory, and a column for each split, as far as features go. */
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
