/* What the engine for GPUs will hold: scratch of histogram methods, and the whole by a dry run of
 * loading, so that plan and load cannot disagree. */
#include "gpu/engine/engine_cuda.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "gpu/binning/device_cuts.h"
#include "gpu/device/tuning.h"
#include "tree/plan.h"

void rw_cuda_count(struct rw_cuda *cuda, enum rw_cuda_use part, uint64_t bytes)
{
    cuda->part_bytes[part] += bytes;
    cuda->bytes += bytes;
}

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
    if (cuda->host.base.rules.hist) {
        RW_TRY(rw_hist_force(ctx, &call, group->candidates.method[0], &group->choice));
        group->chosen = 1;
    }
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

/* More nodes a call where the favourite's scratch stays small. */
static void plan_nodes(struct rw_cuda *cuda, size_t *small)
{
    struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
    for (uint32_t i = 0; i < RW_TUNE_ENGINE_NODES; i++)
        node[i] = (struct rw_hist_node){cuda->half, cuda->n_docs / 2 / RW_TUNE_ENGINE_NODES};
    node[0].first = cuda->half + cuda->n_docs - node[0].n;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        const struct rw_cuda_group *group = &cuda->group[g];
        if (!group->n_features)
            continue;
        struct rw_hist_call call =
            rw_cuda_hist_call(cuda, g, node, RW_TUNE_ENGINE_NODES, cuda->d_list);
        call.d_node = node;
        const struct rw_hist_method *method = group->chosen ? group->choice.method : &rw_hist_lanes;
        const size_t bytes = method->scratch_bytes(&call);
        *small = bytes > *small ? bytes : *small;
    }
}

int rw_cuda_plan_histograms(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    size_t small = 0, large = 0;
    const uint64_t left = cuda->free_bytes > cuda->bytes ? cuda->free_bytes - cuda->bytes : 0;
    const size_t most = left / 4 < RW_TUNE_HYBRID_SCRATCH ? left / 4 : RW_TUNE_HYBRID_SCRATCH;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        if (cuda->group[g].n_features)
            RW_TRY(plan_group(cuda, g, most, &small, &large));
    }
    plan_nodes(cuda, &small);
    cuda->hist_scratch_bytes = small;
    rw_cuda_count(cuda, RW_CUDA_SCRATCH, small);
    if (cuda->dry) {
        const uint64_t most_bytes = cuda->bytes + (large > small ? large : 0);
        cuda->most_bytes = most_bytes > cuda->most_bytes ? most_bytes : cuda->most_bytes;
        return RW_OK;
    }
    RW_TRY(rw_device_alloc(ctx, &cuda->d_hist_scratch, small));
    if (large <= small)
        return RW_OK;
    cuda->choice_scratch_bytes = large;
    return rw_device_alloc(ctx, &cuda->d_choice_scratch, large);
}

int rw_cuda_list_candidates(struct rw_cuda *cuda)
{
    struct rw_hist_candidates all = {.n = 1};
    if (cuda->host.base.rules.hist)
        RW_TRY(
            rw_hist_method_named(cuda->host.base.ctx, cuda->host.base.rules.hist, &all.method[0]));
    else
        rw_hist_candidates_of_training(&all);
    for (int g = 0; g < RW_CUDA_GROUPS; g++)
        cuda->group[g].candidates = all;
    return RW_OK;
}

/* ---- dry runs ---- */

static void dry_close(struct rw_cuda *dry)
{
    for (int set = 0; set < RW_MAX_SETS; set++)
        for (int g = 0; g < RW_CUDA_GROUPS; g++)
            rw_mem_free(dry->set[set].matrix[g]); /* its pointers are no memory */
    for (int g = 0; g < RW_CUDA_GROUPS; g++)
        rw_mem_free(dry->group[g].column);
    rw_mem_free(dry->split_column);
    rw_mem_free(dry->tile_column);
    rw_bins_free(dry->host.set[0].bins);
    rw_mem_free(dry);
}

/* What loading the training set would take, under other cuts or rules than the engine's own, too.
 * *out: to be ended with dry_close. */
static int dry_load(const struct rw_cuda *cuda, const struct rw_engine_rules *rules,
                    struct rw_cuts *cuts, const struct rw_cuda_source *source, struct rw_cuda **out)
{
    struct rw_cuda *dry;
    RW_TRY(RW_NEW(cuda->host.base.ctx, dry, 1));
    dry->host.base = cuda->host.base;
    dry->host.base.rules = *rules;
    dry->device = cuda->device;
    dry->free_bytes = cuda->free_bytes;
    dry->dry = 1;
    rw_host_count_features(&dry->host, cuts);
    int status =
        rw_host_bins_of_cuts(&dry->host, cuts, 0, source->dataset->n_docs, &dry->host.set[0].bins);
    if (status >= 0)
        status = rw_cuda_load_set(dry, 0, source);
    if (status < 0) {
        dry_close(dry);
        dry = NULL;
    }
    *out = dry;
    return status;
}

/* Would it fit with at most so many bins, and so many nodes? 1, 0, or a failure. */
static int would_fit(const struct rw_cuda *cuda, const struct rw_cuts *cuts, uint32_t bins,
                     uint32_t max_slots, const struct rw_cuda_source *source)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_engine_rules rules = cuda->host.base.rules;
    struct rw_cuts fewer = *cuts;
    struct rw_cuda_source values = {.dataset = source->dataset};
    struct rw_cuda *dry = NULL;
    int status = RW_OK;
    RW_TRY(RW_NEW(ctx, fewer.offset, (size_t)cuts->n_features + 1));
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
        fewer.offset[f + 1] = fewer.offset[f] + (n_bins < bins ? n_bins : bins);
    }
    rules.max_slots = max_slots;
    status = dry_load(cuda, &rules, &fewer, &values, &dry);
    if (status >= 0) {
        status = dry->most_bytes <= cuda->free_bytes;
        dry_close(dry);
    }
    rw_mem_free(fewer.offset);
    return status;
}

/* The largest of `fewer` under `now` that would fit; 0: none. */
static int search_fit(const struct rw_cuda *cuda, const struct rw_cuts *cuts, int by_leaves,
                      const struct rw_cuda_source *source, uint32_t *found)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    static const uint32_t fewer[] = {255, 127, 63, 31, 15, 7};
    const uint32_t now = by_leaves ? rules->leaves : (uint32_t)rules->cut.bins;
    *found = 0;
    for (size_t i = 0; i < sizeof(fewer) / sizeof(fewer[0]); i++) {
        if (fewer[i] >= now)
            continue;
        const uint64_t slots =
            by_leaves ? (uint64_t)rules->max_slots * fewer[i] / now + 1 : rules->max_slots;
        const int fits =
            would_fit(cuda, cuts, by_leaves ? RW_MAX_BINS : fewer[i], (uint32_t)slots, source);
        RW_TRY(fits);
        if (fits) {
            *found = fewer[i];
            return RW_OK;
        }
    }
    return RW_OK;
}

/* What is needed, what there is, and what would fit. */
static int fail_room(const struct rw_cuda *cuda, const struct rw_cuts *cuts,
                     const struct rw_cuda_source *source, uint64_t needed)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    uint32_t bins, leaves;
    char hint[128];
    RW_TRY(search_fit(cuda, cuts, 0, source, &bins));
    RW_TRY(search_fit(cuda, cuts, 1, source, &leaves));
    if (bins && leaves)
        snprintf(hint, sizeof(hint), "--bins %u or --leaves %u would fit", bins, leaves);
    else if (bins || leaves)
        snprintf(hint, sizeof(hint), "--%s %u would fit", bins ? "bins" : "leaves", bins + leaves);
    else
        snprintf(hint, sizeof(hint),
                 "no --bins and no --leaves would fit; --device cpu gives the "
                 "same model");
    return rw_fail(ctx, RW_ERR_MEMORY,
                   "out of device memory: training needs %.1f MB of cuda:%d, and %.1f MB are free\n"
                   "hint: %s",
                   (double)needed / 1e6, cuda->device->number, (double)cuda->free_bytes / 1e6,
                   hint);
}

/* The memory that is free from here on decides what is made; it is asked for once. */
static int ask_free(struct rw_cuda *cuda)
{
    size_t free_bytes = 0, all_bytes = 0;
    RW_CU(cuda->host.base.ctx, cudaMemGetInfo(&free_bytes, &all_bytes));
    cuda->free_bytes = free_bytes;
    return RW_OK;
}

int rw_cuda_check_room(struct rw_cuda *cuda, const struct rw_cuda_source *source)
{
    struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    struct rw_cuda *dry;
    RW_TRY(ask_free(cuda));
    RW_TRY(dry_load(cuda, &cuda->host.base.rules, cuts, source, &dry));
    const uint64_t needed = dry->most_bytes;
    dry_close(dry);
    return needed <= cuda->free_bytes ? RW_OK : fail_room(cuda, cuts, source, needed);
}

/* ---- the plan ---- */

static int add_sets(struct rw_cuda *dry, const struct rw_plan_data *data, struct rw_plan *out)
{
    static const char *const name[RW_CUDA_PARTS] = {
        [RW_CUDA_CODES] = "codes",     [RW_CUDA_COLUMN_COPIES] = "column copies",
        [RW_CUDA_LISTS] = "lists",     [RW_CUDA_LAMBDAS] = "lambdas",
        [RW_CUDA_SCORES] = "scores",   [RW_CUDA_POOL] = "histograms",
        [RW_CUDA_SCRATCH] = "scratch", [RW_CUDA_TABLES] = "tables"};
    /* what the training set's loading takes and gives back, it gives back in the first tree only:
     * the other sets come on top */
    const uint64_t given_back = dry->most_bytes > dry->bytes ? dry->most_bytes - dry->bytes : 0;
    dry->most_bytes = 0;
    for (int set = 1; set < data->n_sets; set++) {
        const struct rw_cuda_source source = {.dataset = data->set[set]};
        RW_TRY(rw_cuda_load_set(dry, set, &source));
    }
    for (int part = 0; part < RW_CUDA_PARTS; part++) {
        if (dry->part_bytes[part])
            rw_plan_add(out, name[part], dry->part_bytes[part]);
    }
    for (int set = 0; set < data->n_sets; set++) {
        uint64_t bytes = 0;
        if (!data->measured || !data->measured[set])
            continue;
        RW_TRY(rw_cuda_metrics_plan_bytes(dry->host.base.ctx, data->measured[set], &bytes));
        rw_plan_add(out, "metrics", bytes);
    }
    out->most_bytes = given_back + (dry->most_bytes > out->bytes ? dry->most_bytes : out->bytes);
    return RW_OK;
}

int rw_cuda_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_source source = {.dataset = data->set[0], .codes = data->bins};
    int status = RW_OK;
    struct rw_cuts *cuts = NULL;
    struct rw_cuda *dry = NULL;
    uint32_t *column = NULL;
    out->on_gpu = 1;
    snprintf(out->device, sizeof(out->device), "cuda:%d, %s", cuda->device->number,
             cuda->device->name);
    if (!cuda->free_bytes)
        RW_TRY_OUT(ask_free(cuda));
    out->free_bytes = cuda->free_bytes;
    RW_TRY_OUT(rw_host_plan_cuts(&cuda->host, data->set[0], data->bins, &cuts, &column));
    source.code_of = column;
    RW_TRY_OUT(dry_load(cuda, &engine->rules, cuts, &source, &dry));
    RW_TRY_OUT(add_sets(dry, data, out));
    if (!data->bins) { /* before anything is loaded */
        const uint64_t bytes = rw_cuda_cuts_bytes(data->set[0], engine->rules.cut.bins);
        out->most_bytes = bytes > out->most_bytes ? bytes : out->most_bytes;
    }
    if (out->most_bytes > out->free_bytes)
        status = fail_room(cuda, cuts, &source, out->most_bytes);
out:
    if (dry)
        dry_close(dry);
    rw_cuts_free(cuts);
    rw_mem_free(column);
    return status;
}

/* Bytes a second that the memory moves: two a clock and wire. */
static double bandwidth_of(const struct rw_device *device)
{
    int clock_khz = 0, bus_bits = 0;
    if (cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate, device->number) !=
            cudaSuccess ||
        cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device->number) !=
            cudaSuccess)
        (void)cudaGetLastError();
    const double bandwidth = 2e3 * clock_khz * bus_bits / 8;
    return bandwidth > 0.0 ? bandwidth : RW_TUNE_PLAN_BANDWIDTH;
}

double rw_cuda_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work)
{
    const struct rw_device *device = rw_cuda_of(engine)->device;
    const double levels = log2(work->leaves);
    const double batches = fmin(work->leaves - 1.0, 2.0 * levels + 6.0);
    const double cell_bytes = work->newton ? 20.0 : 12.0;
    const double bytes =
        work->docs * rw_plan_passes(work) * (work->row_bytes + RW_TUNE_PLAN_ROW_BYTES) +
        work->docs * (levels * RW_TUNE_PLAN_LEVEL_BYTES + RW_TUNE_PLAN_DOC_BYTES) +
        work->other_docs * (levels + 1.0) * RW_TUNE_PLAN_WALK_BYTES +
        work->leaves * work->bins * cell_bytes * RW_TUNE_PLAN_CELL_PASSES;
    const double pair_ms = work->visits * RW_TUNE_PLAN_PAIR_NS / 1e6 *
                           (RW_TUNE_PLAN_MULTIPROCESSORS / device->n_multiprocessors);
    return bytes / (bandwidth_of(device) * RW_TUNE_PLAN_BANDWIDTH_SHARE) * 1e3 + pair_ms +
           batches * RW_TUNE_PLAN_BATCH_US / 1e3;
}
