#include "lab/suites/nodes_record.h"

#include <string.h>

#include "base/mem.h"
#include "tree/cpu/engine_cpu.h"
#include "tree/grower.h"

enum { MOST_LEAVES = 255, BINS = 255, BITS = 8, MIN_DOCS = 20 };

/* Engine `cpu` with one operation that writes down what it is asked before it does it. */
struct recorder {
    struct rw_engine_ops ops; /* the first field: it is found by the engine's table */
    const struct rw_engine_ops *inner;
    struct rw_asked *asked;
    uint32_t buffer_of[RW_MAX_SLOTS];
    uint32_t n_buffers;
};

/* ---- recording ---- */

/* A node's documents, in order, among them those that the engine sets apart. */
static void put_docs(const struct rw_cpu *cpu, int32_t slot, uint32_t *to)
{
    const uint32_t *doc = cpu->doc + cpu->begin[slot], *end = doc + cpu->n[slot];
    const uint32_t *idle = cpu->doc + cpu->idle_begin[slot], *idle_end = idle + cpu->n_idle[slot];
    while (doc < end || idle < idle_end)
        *to++ = idle == idle_end || (doc < end && *doc < *idle) ? *doc++ : *idle++;
}

static uint32_t docs_of(const struct rw_cpu *cpu, int32_t slot)
{
    return cpu->n[slot] + cpu->n_idle[slot];
}

static int record_node(struct recorder *r, const struct rw_cpu *cpu, const struct rw_sibling *s)
{
    struct rw_asked *asked = r->asked;
    struct rw_ctx *ctx = asked->engine->ctx;
    struct rw_asked_batch *batch = &asked->batch[asked->n_batches - 1];
    const uint32_t n = docs_of(cpu, s->smaller), parent = r->buffer_of[s->parent];
    RW_TRY(RW_GROW(ctx, asked->node, asked->node_room, asked->n_nodes + 1));
    RW_TRY(RW_GROW(ctx, asked->list, asked->place_room, asked->n_places + n));
    put_docs(cpu, s->smaller, asked->list + asked->n_places);
    asked->node[asked->n_nodes++] =
        (struct rw_asked_node){.first = asked->n_places - batch->first_place,
                               .n = n,
                               .buffer = r->n_buffers,
                               .parent = parent,
                               .has_sibling = s->larger >= 0,
                               .n_sibling = docs_of(cpu, s->parent) - n};
    r->buffer_of[s->smaller] = r->n_buffers++;
    if (s->larger >= 0)
        r->buffer_of[s->larger] = parent;
    asked->n_places += n;
    batch->n_nodes++;
    batch->n_places += n;
    return RW_OK;
}

static int recorded_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    struct recorder *r = (struct recorder *)engine->ops;
    struct rw_asked *asked = r->asked;
    if (siblings[0].parent < 0) { /* the root, by itself */
        r->buffer_of[0] = r->n_buffers++;
        return r->inner->histograms(engine, siblings, n);
    }
    RW_TRY(RW_GROW(engine->ctx, asked->batch, asked->batch_room, asked->n_batches + 1));
    asked->batch[asked->n_batches++] = (struct rw_asked_batch){
        .first_node = (uint32_t)asked->n_nodes, .first_place = asked->n_places};
    for (int i = 0; i < n; i++)
        RW_TRY(record_node(r, rw_cpu_of(engine), &siblings[i]));
    return r->inner->histograms(engine, siblings, n);
}

static int grow(struct rw_asked *asked, const struct rw_grow_rules *rules)
{
    struct rw_ctx *ctx = asked->engine->ctx;
    struct rw_grower *grower = NULL;
    struct rw_tree tree = {0};
    struct rw_grow_times times;
    int32_t *leaf_slot = NULL;
    int status;
    RW_TRY_OUT(rw_grower_new(ctx, rules, &grower));
    RW_TRY_OUT(RW_NEW(ctx, leaf_slot, rw_grow_max_slots(rules)));
    RW_TRY_OUT(rw_grower_grow(grower, asked->engine, 0, &tree, leaf_slot, &times));
    asked->n_leaves = tree.n_leaves;
    if (!asked->lambda) {
        const size_t n = asked->n_docs;
        int64_t *wide;
        uint8_t *sampled;
        RW_TRY_OUT(RW_NEW_RAW(ctx, asked->lambda, n));
        RW_TRY_OUT(RW_NEW_RAW(ctx, wide, 2 * n));
        status = RW_NEW_RAW(ctx, sampled, n);
        if (status >= 0)
            status = asked->engine->ops->read_integers(asked->engine, wide, wide + n, asked->lambda,
                                                       NULL, sampled);
        rw_mem_free(sampled);
        rw_mem_free(wide);
    }
out:
    rw_mem_free(leaf_slot);
    rw_tree_release(&tree);
    rw_free(grower);
    return status;
}

static struct rw_grow_rules grow_rules(int32_t leaves, int32_t batch)
{
    return (struct rw_grow_rules){
        .leaves = leaves, .min_docs = MIN_DOCS, .rate = 0.1, .batch = batch};
}

int rw_asked_record(struct rw_asked *asked, int32_t leaves, int32_t batch)
{
    struct rw_engine *engine = asked->engine;
    struct recorder *r;
    const struct rw_grow_rules rules = grow_rules(leaves, batch);
    if (leaves > MOST_LEAVES)
        return rw_fail(engine->ctx, RW_ERR_ARGUMENT, "%d leaves; expected at most %d", leaves,
                       MOST_LEAVES);
    RW_TRY(RW_NEW(engine->ctx, r, 1));
    r->inner = engine->ops;
    r->ops = *engine->ops;
    r->ops.histograms = recorded_histograms;
    r->asked = asked;
    asked->n_nodes = asked->n_batches = asked->n_places = 0;
    engine->ops = &r->ops;
    const int status = grow(asked, &rules);
    engine->ops = r->inner;
    rw_mem_free(r);
    return status;
}

/* ---- data ---- */

static int load(struct rw_ctx *ctx, struct rw_asked *asked, const struct rw_dataset *dataset)
{
    const struct rw_grow_rules most = grow_rules(MOST_LEAVES, 0);
    const struct rw_engine_rules rules = {.cut = {.bins = BINS, .min_docs = MIN_DOCS},
                                          .objective = &rw_objective_lambdarank,
                                          .lambda = {.sigma = 1.0f, .truncation = 30, .norm = 1},
                                          .min_docs = MIN_DOCS,
                                          .bits = BITS,
                                          .seed = 1,
                                          .query_threshold = (uint64_t)1 << 32,
                                          .feature_threshold = (uint64_t)1 << 32,
                                          .max_slots = rw_grow_max_slots(&most)};
    double *gain = NULL;
    int status;
    RW_TRY_OUT(RW_NEW_RAW(ctx, gain, dataset->n_docs));
    for (uint32_t i = 0; i < dataset->n_docs; i++) /* 2^label - 1 */
        gain[i] = (double)(((uint64_t)1 << (int)dataset->label[i]) - 1);
    RW_TRY_OUT(rw_engine_open(ctx, "cpu", &rules, &asked->engine));
    RW_TRY_OUT(rw_engine_load(asked->engine, 0, dataset, NULL, gain));
    asked->n_docs = dataset->n_docs;
out:
    rw_mem_free(gain);
    return status;
}

int rw_asked_init(struct rw_ctx *ctx, struct rw_asked *asked, uint32_t n_queries, uint64_t seed)
{
    const struct rw_synth_options options = {
        .shape = "mslr30k", .n_queries = n_queries, .seed = seed};
    struct rw_dataset *dataset = NULL;
    *asked = (struct rw_asked){0};
    int status = rw_synth(ctx, &options, NULL, &dataset);
    if (status >= 0)
        status = load(ctx, asked, dataset);
    rw_dataset_free(dataset);
    return status;
}

int rw_asked_columns(const struct rw_asked *asked, int bits, uint32_t *n_narrow,
                     struct rw_made_columns *out)
{
    const struct rw_bins *bins = rw_cpu_of(asked->engine)->host.set[0].bins;
    return rw_made_columns_of_bins(asked->engine->ctx, bins, bits, n_narrow, out);
}

void rw_asked_release(struct rw_asked *asked)
{
    rw_engine_close(asked->engine);
    rw_mem_free(asked->lambda);
    rw_mem_free(asked->node);
    rw_mem_free(asked->batch);
    rw_mem_free(asked->list);
    *asked = (struct rw_asked){0};
}
