#include "tree/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "base/machine.h"
#include "comm/comm.h"

/* The host's figures, for one thread of a server of 2023, from a profile of `train`, 360 thousand
 * documents of 136 features, 255 leaves: updates of histograms a second, and nanoseconds for a cell
 * of a node, a pair, and a document at a level. Threads beyond the first count for less. */
#define CPU_UPDATES 1.7e9
#define CPU_CELL_NS 1.7
#define CPU_PAIR_NS 4.2
#define CPU_DOC_NS  3.5
#define CPU_THREAD  0.8
/* Milliseconds in which a GPU's driver is up and memory is there. */
#define GPU_OPEN_MS 500.0
/* Several GPUs, from 255- and 31-leaf trees on 3.8 and 30 million documents by one and two H200 of
 * one host: milliseconds a tree for waiting, and bytes sent in one. */
#define MANY_MS         0.4
#define MANY_BYTES_A_MS 9e7

void rw_plan_add(struct rw_plan *plan, const char *name, uint64_t bytes)
{
    const int most = (int)(sizeof(plan->part) / sizeof(plan->part[0]));
    int i = 0;
    while (i < plan->n_parts && strcmp(plan->part[i].name, name) != 0)
        i++;
    if (i == most)
        i--; /* the sum stays right */
    else if (i == plan->n_parts)
        plan->part[plan->n_parts++] = (struct rw_plan_part){name, 0};
    plan->part[i].bytes += bytes;
    plan->bytes += bytes;
    if (plan->part[i].bytes == 0) /* all of it was taken back */
        plan->part[i] = plan->part[--plan->n_parts];
}

/* Pairs that a query's documents take part in from above. */
static double visits_of(const struct rw_engine_rules *rules, const struct rw_dataset *dataset)
{
    double visits = 0.0;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const double n = dataset->query_offset[q + 1] - dataset->query_offset[q];
        const double tops = rules->lambda.truncation ? rules->lambda.truncation : n;
        visits += n * (tops < n ? tops : n);
    }
    return visits;
}

void rw_plan_work_of(struct rw_plan_work *work, const struct rw_engine_rules *rules,
                     const struct rw_plan_data *data)
{
    const struct rw_dataset *train = data->set[0];
    const double queries = (double)rules->query_threshold / 4294967296.0;
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
    if (rules->objective && rules->objective->device == RW_OBJECTIVE_PAIRS)
        work->visits = visits_of(rules, train) * queries;
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

struct rw_plan_work rw_plan_part_of(const struct rw_plan_work *work, int n)
{
    struct rw_plan_work part = *work;
    part.docs /= n;
    part.other_docs /= n;
    part.visits /= n;
    return part;
}

double rw_plan_many_ms(const struct rw_plan_work *work, int n_gpus, double tree_ms,
                       double *exchange_ms)
{
    /* of 8 bytes, or 12 with hessians; each GPU sends all but its own part of a node's cells */
    const double bytes = work->leaves * work->bins * (work->newton ? 12.0 : 8.0);
    const double sent = bytes * (n_gpus - 1) / n_gpus;
    *exchange_ms = MANY_MS + sent / MANY_BYTES_A_MS;
    return tree_ms + *exchange_ms;
}

int rw_plan_gpu_pays(double cpu_ms, double gpu_ms, int rounds)
{
    return (cpu_ms - gpu_ms) * rounds > GPU_OPEN_MS;
}

int rw_engine_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    memset(out, 0, sizeof(*out));
    if (!engine->ops->plan)
        return rw_fail(engine->ctx, RW_ERR_UNSUPPORTED,
                       "device '%s' has no plan; expected cpu, cuda or auto", engine->ops->name);
    snprintf(out->device, sizeof(out->device), "%s", engine->ops->name);
    struct rw_memory_limits memory;
    rw_memory_limits_find("", &memory);
    out->host_free_bytes = memory.free_bytes;
    out->n_threads = engine->n_threads;
    struct rw_plan_work work;
    rw_plan_work_of(&work, &engine->rules, data);
    for (int i = 0; i < 3 && strcmp(engine->ops->name, "cuda") == 0; i++) {
        struct rw_plan_many *many = &out->many[i];
        many->n_gpus = 2 << i;
        const struct rw_plan_work part = rw_plan_part_of(&work, many->n_gpus);
        many->tree_ms = rw_plan_many_ms(&work, many->n_gpus, engine->ops->tree_ms(engine, &part),
                                        &many->exchange_ms);
    }
    const int status = engine->ops->plan(engine, data, out);
    out->tree_ms = engine->ops->tree_ms(engine, &work); /* it knows now where codes will be */
    return status;
}

/* ------------------------------------------------------------------ where a training is done */

static int open_auto(struct rw_ctx *ctx, const struct rw_choice_of_device *choice,
                     struct rw_engine **out)
{
    struct rw_plan_work work;
    rw_plan_work_of(&work, choice->rules, &choice->data);
    const double cpu_ms = rw_plan_cpu_ms(&work, ctx->n_threads);
    if (rw_plan_gpu_pays(cpu_ms, 0.0, choice->rounds) &&
        rw_engine_open(ctx, "cuda", choice->rules, out) >= 0) {
        const double gpu_ms = (*out)->ops->tree_ms(*out, &work);
        const int pays = rw_plan_gpu_pays(cpu_ms, gpu_ms, choice->rounds);
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
    return rw_engine_open(ctx, "cpu", choice->rules, out);
}

int rw_choose_device(struct rw_ctx *ctx, const char *device, struct rw_choice_of_device *choice,
                     struct rw_engine **out)
{
    choice->is_auto |= strcmp(device, "auto") == 0;
    return strcmp(device, "auto") == 0 ? open_auto(ctx, choice, out)
                                       : rw_engine_open(ctx, device, choice->rules, out);
}

int rw_choose_agree(struct rw_ctx *ctx, struct rw_choice_of_device *choice,
                    struct rw_engine **engine)
{
    const uint64_t is_gpu = strcmp((*engine)->ops->name, "cuda") == 0;
    uint64_t seen[2] = {is_gpu, !is_gpu};
    RW_TRY(rw_comm_max(ctx, seen, 2));
    if (!seen[0] || !seen[1])
        return RW_OK;
    if (!choice->is_auto)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "some ranks train on a GPU and others on processors; expected the same "
                       "device on all");
    if (!is_gpu)
        return rw_comm_agree(ctx, RW_OK);
    rw_engine_close(*engine);
    *engine = NULL;
    return rw_comm_agree(ctx, rw_engine_open(ctx, "cpu", choice->rules, engine));
}

/* The next larger size of a block, and of its documents' codes; 0: none. */
static uint32_t next_size(const struct rw_place *place, int n, uint32_t size)
{
    uint32_t next = 0;
    for (int i = 0; i < n; i++) {
        if (place[i].doc_bytes > size && (next == 0 || place[i].doc_bytes < next))
            next = place[i].doc_bytes;
    }
    return next;
}

uint64_t rw_place_codes(struct rw_place *place, int n, uint32_t n_docs, int whole, uint64_t bytes)
{
    uint64_t left = bytes;
    for (uint32_t size = next_size(place, n, 0); size > 0; size = next_size(place, n, size)) {
        for (int i = 0; i < n; i++) {
            if (place[i].doc_bytes != size)
                continue;
            const uint64_t room = left / size;
            place[i].n_here = room >= n_docs ? n_docs : whole ? 0 : (uint32_t)room;
            left -= (uint64_t)place[i].n_here * size;
        }
    }
    return bytes - left;
}
