/* Opens engines, checks external input before they get it (tree/engine.h), and combines the results
 * of workers. The last parts plan the memory and time of a training, choose the device, and divide
 * its memory among codes. */
#include "tree/engine.h"

static const struct {
    const char *name;
    int (*open)(struct rw_ctx *, int, struct rw_engine **);
} engines[] = {
#define RW_ENGINE(name) {#name, rw_engine_open_##name},
#include "tree/engines.def"
#undef RW_ENGINE
};

int rw_device_check(struct rw_ctx *ctx, const char *device)
{
    size_t length;
    const int number = rw_device_number(device, &length);
    if (length != 4 || strncmp(device, "cuda", 4) != 0)
        return RW_OK; /* Not a GPU, so always available. Unknown names are refused when set. */
    return rw_device_check_cuda(ctx, number < 0 ? 0 : number);
}

int rw_engine_open(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                   struct rw_engine **out)
{
    *out = NULL;
    const char *name = strcmp(device, "auto") == 0 ? "cpu" : device;
    size_t length;
    int number = rw_device_number(name, &length);
    if (number == 0 && !name[length] && rw_n_workers(ctx) > 1)
        number = RW_DEVICE_OF_WORKER;
    const int is_known = number >= 0 || number == RW_DEVICE_OF_WORKER;
    for (size_t i = 0; is_known && i < sizeof(engines) / sizeof(engines[0]); i++) {
        if (strlen(engines[i].name) != length || strncmp(engines[i].name, name, length) != 0)
            continue;
        struct rw_engine *engine;
        RW_TRY(engines[i].open(ctx, number, &engine));
        engine->n_threads = ctx->n_threads;
        const int batch = engine->ops->batch;
        if (engine->batch == 0)
            engine->batch = batch > 1 ? batch : 1;
        /* A tree uses few of the nodes that a larger batch would add. */
        const int most = rules->leaves > 32 ? (int)(rules->leaves / 4) : 8;
        if (engine->batch > most)
            engine->batch = most;
        engine->rules = *rules;
        if (rules->objective && rules->objective->device >= RW_OBJECTIVE_NEIGHBOURS &&
            !engine->ops->all_objectives)
            engine->rules.objective = NULL;
        if (rules->doc_threshold == 0)
            engine->rules.doc_threshold = (uint64_t)1 << 32;
        if (rules->bag_threshold == 0)
            engine->rules.bag_threshold = (uint64_t)1 << 32;
        if (rules->node_threshold == 0)
            engine->rules.node_threshold = (uint64_t)1 << 32;
        *out = engine;
        return RW_OK;
    }
    if (strcmp(name, "cuda:all") == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "device cuda:all is for 'train', which starts a worker for each GPU");
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown device '%s'; expected auto, cpu, cuda or cuda:N",
                   device);
}

void rw_engine_close(struct rw_engine *engine)
{
    if (engine)
        engine->ops->close(engine);
}

/* Sets the position of this worker's documents among those of all workers: engine->first_doc,
 * first_query and all_docs. */
static int place(struct rw_engine *engine, const struct rw_dataset *train)
{
    struct rw_ctx *ctx = engine->ctx;
    uint64_t first_doc, all_docs, first_query, all_queries;
    RW_TRY(rw_comm_before(ctx, train->n_docs, &first_doc, &all_docs));
    RW_TRY(rw_comm_before(ctx, train->n_queries, &first_query, &all_queries));
    engine->first_doc = (uint32_t)first_doc;
    engine->first_query = (uint32_t)first_query;
    engine->all_docs = (uint32_t)all_docs;
    return RW_OK;
}

int rw_engine_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                   const struct rw_bins *bins, const double *gains)
{
    if (set == 0)
        RW_TRY(place(engine, dataset));
    RW_TRY(rw_comm_agree(engine->ctx, engine->ops->load(engine, set, dataset, bins, gains)));
    engine->n_docs[set] = dataset->n_docs;
    engine->n_sets++;
    return RW_OK;
}

int rw_engine_set_gradients(struct rw_engine *engine, const double *gradients,
                            const double *hessians)
{
    RW_TRY(rw_gradients_check(engine->ctx, engine->rules.gradients_by, engine->first_doc,
                              engine->n_docs[0], gradients, hessians));
    return engine->ops->set_gradients(engine, gradients, hessians);
}

/* Returns 1 if a split received from another worker is valid for the slot. */
static int is_split_of(const struct rw_cuts *cuts, const struct rw_split *split, int32_t slot)
{
    if (split->column < 0)
        return 1;
    const uint32_t column = (uint32_t)split->column;
    return split->slot == slot && column < cuts->n_features &&
           split->feature == cuts->feature[column] &&
           !split->is_set == !rw_cuts_by_category(cuts, column) &&
           (split->is_set || split->bin < rw_cuts_n_codes(cuts, column)) && isfinite(split->gain) &&
           isfinite(split->cut);
}

int rw_engine_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                          struct rw_split *out)
{
    RW_TRY(engine->ops->best_splits(engine, slots, n, out));
    if (engine->has_all_splits)
        return RW_OK;
    RW_TRY(rw_workers_best(engine->ctx, out, n));
    for (int i = 0; rw_n_workers(engine->ctx) > 1 && i < n; i++) {
        if (!is_split_of(engine->cuts, &out[i], slots[i]) ||
            (engine->rules.symmetric && out[i].column != out[0].column))
            return rw_comm_nonsense(engine->ctx, "splits");
    }
    return RW_OK;
}

int rw_engine_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                        struct rw_sum *sums)
{
    RW_TRY(engine->ops->leaf_sums(engine, leaf_slot, n, sums));
    return rw_workers_leaf_sums(engine->ctx, sums, n);
}

int rw_engine_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                       const int32_t *leaf_slot)
{
    if (tree->n_leaves < 1 || (uint32_t)tree->n_leaves > engine->rules.max_slots)
        return rw_fail(engine->ctx, RW_ERR_ARGUMENT, "a tree of %d leaves; expected 1 to %u",
                       tree->n_leaves, engine->rules.max_slots);
    return engine->ops->add_tree(engine, set, tree, leaf_slot);
}

int rw_engine_set_scores(struct rw_engine *engine, int set, const double *scores)
{
    for (uint32_t i = 0; i < engine->n_docs[set]; i++) {
        char shard[RW_SHARD_TEXT];
        if (!isfinite(scores[i]))
            return rw_fail(engine->ctx, RW_ERR_DATA,
                           "score of document %u%s is %g; expected a finite number", i,
                           rw_comm_shard(engine->ctx, shard), scores[i]);
    }
    return engine->ops->set_scores(engine, set, scores);
}

void rw_engine_set_split_rule(struct rw_engine *engine, const struct rw_root *root,
                              const struct rw_quantised_sums *sums)
{
    const struct rw_engine_rules *rules = &engine->rules;
    struct rw_split_rule *rule = &engine->split_rule;
    const int lambda_unit = root->lambda_shift - root->lambda_exponent;
    const int hess_unit = root->hess_shift - root->hess_exponent;
    rule->given = rules->split;
    rule->newton = rules->newton;
    rule->min_docs = rules->min_docs;
    rule->hess_unit = rw_pow2(hess_unit);
    rule->gain_scale = rw_pow2(2 * lambda_unit - (rules->newton ? hess_unit : 0));
    rule->l2 = rules->split.l2;
    rule->category_prior = rules->split.category_smoothing;
    /* The average gain of a random split: Q^2 / n of one document. */
    double chance = root->sum.n ? (double)sums->lambda_squares / (double)root->sum.n : 0.0;
    if (rules->newton && root->sum.n) {
        const double mean = (double)sums->hess / (double)root->sum.n;
        rule->l2 = rules->split.l2 * mean;
        rule->category_prior = rules->split.category_smoothing * mean;
        chance = mean > 0.0 ? chance / mean : 0.0;
    }
    rule->random_gain = chance * rule->gain_scale;
    rule->category_cost = rules->split.category_penalty * rule->random_gain;
}

int rw_workers_keep_one(struct rw_engine *engine, uint32_t n_kept, uint32_t lowest, uint32_t number,
                        int *keep)
{
    struct rw_ctx *ctx = engine->ctx;
    uint64_t all_kept = n_kept;
    /* A worker's key is the random number of its item, then the item's number among those of all
     * workers. A worker without items has the largest key. If that is also the lowest of all, no
     * worker has an item, and the caller has nothing to keep. */
    const uint64_t own = (uint64_t)lowest << 32 | number;
    uint64_t least = own;
    *keep = 0;
    RW_TRY(rw_comm_sum(ctx, &all_kept, 1));
    if (all_kept > 0)
        return RW_OK;
    RW_TRY(rw_comm_all_reduce(ctx, &least, 1, RW_COMM_U64, RW_COMM_MIN));
    *keep = least == own;
    return RW_OK;
}

int rw_workers_leaf_sums(struct rw_ctx *ctx, struct rw_sum *sums, int n)
{
    _Static_assert(sizeof(*sums) == 5 * sizeof(uint64_t), "sums are 64-bit words");
    return rw_comm_sum(ctx, (uint64_t *)(void *)sums, 5 * (size_t)n);
}

int rw_workers_best(struct rw_ctx *ctx, struct rw_split *splits, int n)
{
    const int n_workers = rw_n_workers(ctx);
    RW_FREED struct rw_split *all = NULL;
    if (n_workers == 1)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, all, (size_t)n * (size_t)n_workers));
    RW_TRY(rw_comm_all_gather(ctx, splits, all, (size_t)n * sizeof(*splits)));
    memcpy(splits, all, (size_t)n * sizeof(*splits));
    for (int i = n; i < n_workers * n; i++) {
        if (rw_split_is_better(&all[i], &splits[i % n]))
            splits[i % n] = all[i];
    }
    return RW_OK;
}

/* Constants of the time model on the host, for one thread of a server of 2023. They come from a
 * profile of `train` with 360 thousand documents, 136 features and 255 leaves. CPU_UPDATES:
 * histogram updates per second. CPU_CELL_NS, CPU_PAIR_NS, CPU_DOC_NS: nanoseconds per cell of a
 * node, per pair, and per document and level. CPU_THREAD: each further thread counts as this part
 * of the first. */
#define CPU_UPDATES 1.7e9
#define CPU_CELL_NS 1.7
#define CPU_PAIR_NS 4.2
#define CPU_DOC_NS  3.5
#define CPU_THREAD  0.8
/* Milliseconds to start a GPU's driver and allocate its memory. */
#define GPU_OPEN_MS 500.0
/* Constants for several GPUs that read each other's memory. MANY_MS: milliseconds of waiting per
 * tree. MANY_BYTES_A_MS: bytes read per millisecond. Measured with 3.72 million documents on one
 * and two H200 of one host. Trees that grow in many small batches wait longer: with 30 million
 * documents of made data, 85 batches take 2 ms more than expected. */
#define MANY_MS         0.7
#define MANY_BYTES_A_MS 2e8

void rw_plan_add(struct rw_plan *plan, const char *name, uint64_t bytes)
{
    const int most = (int)(sizeof(plan->part) / sizeof(plan->part[0]));
    int i = 0;
    while (i < plan->n_parts && strcmp(plan->part[i].name, name) != 0)
        i++;
    if (i == most)
        i--; /* keeps the sum right */
    else if (i == plan->n_parts)
        plan->part[plan->n_parts++] = (struct rw_plan_part){name, 0};
    plan->part[i].bytes += bytes;
    plan->bytes += bytes;
    if (plan->part[i].bytes == 0) /* all of it was subtracted again */
        plan->part[i] = plan->part[--plan->n_parts];
}

void rw_plan_work_of(struct rw_plan_work *work, const struct rw_engine_rules *rules,
                     const struct rw_plan_data *data)
{
    const struct rw_dataset *train = data->set[0];
    const double of_bag = rules->bag_threshold ? (double)rules->bag_threshold / 4294967296.0 : 1.0;
    const double queries = of_bag * (double)rules->query_threshold / 4294967296.0;
    const double docs = rules->doc_threshold ? (double)rules->doc_threshold / 4294967296.0 : 1.0;
    const double features = (double)rules->feature_threshold / 4294967296.0;
    *work = (struct rw_plan_work){.docs = train->n_docs * queries * docs,
                                  .other_docs = train->n_docs * (1.0 - queries * docs),
                                  .features = data->n_features * features,
                                  .leaves = rules->leaves > 1 ? rules->leaves : 2,
                                  .newton = rules->newton};
    work->row_bytes = work->features * (rules->cut.bins < 16 ? 0.5 : rules->cut.bins < 256 ? 1 : 2);
    work->bins = work->features * rules->cut.bins;
    for (int set = 1; set < data->n_sets; set++)
        work->other_docs += data->set[set]->n_docs;
    if (!rules->objective || rules->objective->device != RW_OBJECTIVE_PAIRS)
        return;
    for (uint32_t q = 0; q < train->n_queries;
         q++) { /* pairs, counted from the higher document of each */
        const double n = train->query_offset[q + 1] - train->query_offset[q];
        const double tops = rules->lambda.truncation ? rules->lambda.truncation : n;
        work->visits += n * (tops < n ? tops : n);
    }
    work->visits *= queries;
}

double rw_plan_passes(const struct rw_plan_work *work)
{
    return 1.0 + log2(work->leaves) / 2.0;
}

double rw_plan_cpu_ms(const struct rw_plan_work *work, int n_threads)
{
    const double levels = log2(work->leaves) + 1.0;
    const double updates = work->docs * work->features * rw_plan_passes(work);
    const double ns = updates * (1e9 / CPU_UPDATES) + work->leaves * work->bins * CPU_CELL_NS +
                      work->visits * CPU_PAIR_NS +
                      (work->docs + work->other_docs) * levels * CPU_DOC_NS;
    return ns / 1e6 / (1.0 + CPU_THREAD * (n_threads - 1));
}

int rw_plan_gpu_pays(double cpu_ms, double gpu_ms, int rounds)
{
    return (cpu_ms - gpu_ms) * rounds > GPU_OPEN_MS;
}

/* Estimates a tree on n GPUs of one host, each with its shard of the documents, and the time to
 * exchange histograms. Cells have 12 bytes, or 20 with hessians. Each GPU reads the cells of its
 * features, the nth part of all, from the others. */
static struct rw_plan_many plan_many(struct rw_engine *engine, const struct rw_plan_work *work,
                                     int n)
{
    struct rw_plan_work part = *work;
    part.docs /= n;
    part.other_docs /= n;
    part.visits /= n;
    const double bytes = work->leaves * work->bins * (work->newton ? 20.0 : 12.0) * (n - 1) / n;
    struct rw_plan_many many = {.n_gpus = n, .exchange_ms = MANY_MS + bytes / MANY_BYTES_A_MS};
    many.tree_ms = engine->ops->plan.tree_ms(engine, &part) + many.exchange_ms;
    return many;
}

int rw_engine_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    memset(out, 0, sizeof(*out));
    if (!engine->ops->plan.make)
        return rw_fail(engine->ctx, RW_ERR_UNSUPPORTED,
                       "device '%s' has no plan; expected cpu, cuda or auto", engine->ops->name);
    snprintf(out->device, sizeof(out->device), "%s", engine->ops->name);
    struct rw_memory_limits memory;
    rw_memory_limits_find("", &memory);
    out->host_free_bytes = memory.free_bytes;
    out->n_threads = engine->n_threads;
    struct rw_plan_work work;
    rw_plan_work_of(&work, &engine->rules, data);
    for (int i = 0; i < 3 && strcmp(engine->ops->name, "cuda") == 0; i++)
        out->many[i] = plan_many(engine, &work, 2 << i);
    const int status = engine->ops->plan.make(engine, data, out);
    out->tree_ms =
        engine->ops->plan.tree_ms(engine, &work); /* the plan has placed the codes by now */
    return status;
}

/* ---- the choice of a device ---- */

int rw_choose_device(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                     const struct rw_plan_data *data, int rounds, struct rw_engine **out)
{
    struct rw_plan_work work;
    if (strcmp(device, "auto") != 0)
        return rw_engine_open(ctx, device, rules, out);
    rw_plan_work_of(&work, rules, data);
    const double cpu_ms = rw_plan_cpu_ms(&work, ctx->n_threads);
    if (rw_plan_gpu_pays(cpu_ms, 0.0, rounds) && rw_engine_open(ctx, "cuda", rules, out) >= 0) {
        const double gpu_ms = (*out)->ops->plan.tree_ms(*out, &work);
        const int pays = rw_plan_gpu_pays(cpu_ms, gpu_ms, rounds);
        rw_log(ctx, RW_LOG_NOTE,
               "device %s: a tree is expected to take %.3g ms on the GPU and %.3g ms on %d "
               "thread%s (--device changes it)",
               pays ? "cuda" : "cpu", gpu_ms, cpu_ms, ctx->n_threads,
               ctx->n_threads == 1 ? "" : "s");
        if (pays)
            return RW_OK;
        rw_engine_close(*out);
        *out = NULL;
    }
    return rw_engine_open(ctx, "cpu", rules, out);
}

int rw_choose_agree(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                    struct rw_engine **engine)
{
    const uint64_t is_gpu = strcmp((*engine)->ops->name, "cuda") == 0;
    uint64_t seen[2] = {is_gpu, !is_gpu};
    RW_TRY(rw_comm_max(ctx, seen, 2));
    if (!seen[0] || !seen[1])
        return RW_OK;
    if (strcmp(device, "auto") != 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "some workers train on a GPU and others on processors; expected the same "
                       "device on all");
    if (!is_gpu)
        return rw_comm_agree(ctx, RW_OK);
    rw_engine_close(*engine);
    *engine = NULL;
    return rw_comm_agree(ctx, rw_engine_open(ctx, "cpu", rules, engine));
}

/* Returns the next larger size of a block's codes, or 0. */
static uint32_t next_size(const struct rw_code_place *place, int n, uint32_t size)
{
    uint32_t next = 0;
    for (int i = 0; i < n; i++) {
        if (place[i].doc_bytes > size && (next == 0 || place[i].doc_bytes < next))
            next = place[i].doc_bytes;
    }
    return next;
}

uint64_t rw_place_codes(struct rw_code_place *place, int n, uint32_t n_docs, uint64_t bytes)
{
    uint64_t left = bytes;
    for (uint32_t size = next_size(place, n, 0); size > 0; size = next_size(place, n, size)) {
        for (int i = 0; i < n; i++) {
            if (place[i].doc_bytes != size)
                continue;
            const uint64_t room = left / size;
            place[i].n_here = room >= n_docs ? n_docs : (uint32_t)room;
            left -= (uint64_t)place[i].n_here * size;
        }
    }
    return bytes - left;
}
