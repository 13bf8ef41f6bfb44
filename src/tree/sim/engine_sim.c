/* A simulated device: the reference engine in memory that the host cannot touch. The engine's data
 * is in a separate address range. Allocations from it are poisoned, and it is readable and writable
 * only while an operation runs. Most inputs are copied to memory that is unmapped after the
 * operation, and most output arrays are poisoned before it. So if the grower reads the engine's
 * memory, or the engine keeps a pointer to a copied input, the program faults here, on a machine
 * without a GPU. */
#include <sys/mman.h>

#include "tree/engine_host.h"

#define RANGE_BYTES ((size_t)1 << 36) /* address space; only allocations get memory */
/* POISON: the value of poisoned bytes. FENCE_BYTES: bytes after each allocation (the fence), which
 * must keep this value. */
enum { POISON = 0xA5, FENCE_BYTES = 64, PAGE = 4096 };

struct sim {
    struct rw_ref ref; /* its arrays are in the device's memory */
    uint8_t *range;    /* [RANGE_BYTES] reserved; [0, used) is the device's memory */
    size_t used;
    uint64_t *fence; /* offsets of the fences, in ordinary memory */
    size_t n_fences, fence_room;
    /* Copies of the inputs of an operation, until it ends. */
    struct {
        void *p;
        size_t bytes;
    } lent[3];
    int n_lent;
};

static struct sim *sim_of(struct rw_engine *engine)
{
    return (struct sim *)engine;
}

static int protect(struct sim *sim, int mode)
{
    if (sim->used && mprotect(sim->range, sim->used, mode) != 0)
        return rw_fail(sim->ref.host.base.ctx, RW_ERR_INTERNAL, "sim: cannot change protection");
    return RW_OK;
}

static int sim_alloc(struct rw_engine *engine, void **out, size_t bytes)
{
    struct sim *sim = sim_of(engine);
    const size_t whole = (bytes + FENCE_BYTES + PAGE - 1) / PAGE * PAGE;
    *out = NULL;
    if (whole < bytes || whole > RANGE_BYTES - sim->used)
        return rw_fail(engine->ctx, RW_ERR_MEMORY, "sim: out of device memory");
    RW_TRY(RW_GROW(engine->ctx, sim->fence, sim->fence_room, sim->n_fences + 1));
    if (mprotect(sim->range + sim->used, whole, PROT_READ | PROT_WRITE) != 0)
        return rw_fail(engine->ctx, RW_ERR_MEMORY, "sim: out of memory");
    memset(sim->range + sim->used, POISON, whole);
    *out = sim->range + sim->used;
    sim->fence[sim->n_fences++] = sim->used + bytes;
    sim->used += whole;
    return RW_OK;
}

/* Checks that every byte of every fence still has the poison value. */
static int check_fences(const struct sim *sim)
{
    for (size_t i = 0; i < sim->n_fences; i++) {
        for (size_t b = 0; b < FENCE_BYTES; b++) {
            if (sim->range[sim->fence[i] + b] != POISON)
                return rw_fail(sim->ref.host.base.ctx, RW_ERR_INTERNAL,
                               "sim: allocation %zu was overrun", i);
        }
    }
    return RW_OK;
}

/* Copies n elements of `size` bytes to separate memory. The copy is unmapped after the operation,
 * so any later use of it faults. */
static int lend(struct rw_engine *engine, const void *from, size_t n, size_t size)
{
    struct sim *sim = sim_of(engine);
    const size_t bytes = n * size;
    void *copy = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return rw_fail(engine->ctx, RW_ERR_MEMORY, "sim: out of memory");
    if (bytes)
        memcpy(copy, from, bytes);
    sim->lent[sim->n_lent].p = copy;
    sim->lent[sim->n_lent++].bytes = bytes + 1;
    return RW_OK;
}

static void return_memory(struct sim *sim)
{
    for (; sim->n_lent > 0; sim->n_lent--)
        munmap(sim->lent[sim->n_lent - 1].p, sim->lent[sim->n_lent - 1].bytes);
}

/* Begins an operation: makes the device's memory readable and writable. */
static int enter(struct rw_engine *engine)
{
    return protect(sim_of(engine), PROT_READ | PROT_WRITE);
}

/* Ends an operation: checks the fences, and makes the device's memory and the copies of inputs
 * inaccessible. */
static int leave(struct rw_engine *engine, int status)
{
    struct sim *sim = sim_of(engine);
    if (status >= 0)
        status = check_fences(sim);
    const int closed = protect(sim, PROT_NONE);
    return_memory(sim);
    return status < 0 ? status : closed;
}

/* Begins an operation whose input, n elements of `size` bytes, becomes lent[0]. */
static int enter_with(struct rw_engine *engine, const void *from, size_t n, size_t size)
{
    RW_TRY(lend(engine, from, n, size));
    const int status = enter(engine);
    if (status < 0)
        return_memory(sim_of(engine));
    return status;
}

static int sim_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                    const struct rw_bins *bins, const double *gains)
{
    const struct sim *sim = sim_of(engine);
    RW_TRY(enter_with(engine, dataset, 1, sizeof(*dataset)));
    struct rw_dataset *copy = sim->lent[0].p;
    int status = lend(engine, dataset->column, dataset->n_columns, sizeof(*dataset->column));
    if (status >= 0 && gains)
        status = lend(engine, gains, dataset->n_docs, sizeof(*gains));
    if (status >= 0) {
        copy->column = sim->lent[1].p;
        status = rw_ref_ops.load(engine, set, copy, bins, gains ? sim->lent[2].p : NULL);
    }
    return leave(engine, status);
}

static int sim_set_gradients(struct rw_engine *engine, const double *gradients,
                             const double *hessians)
{
    RW_TRY(enter(engine));
    return leave(engine, rw_ref_ops.set_gradients(engine, gradients, hessians));
}

static int sim_set_lambdas(struct rw_engine *engine, const int64_t *lambda, const int64_t *hessian)
{
    RW_TRY(enter(engine));
    return leave(engine, rw_ref_ops.set_lambdas(engine, lambda, hessian));
}

static int sim_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    memset(out, POISON, sizeof(*out));
    RW_TRY(enter(engine));
    return leave(engine, rw_ref_ops.begin_tree(engine, tree, out));
}

static int sim_allow(struct rw_engine *engine, const int32_t *slots, int n,
                     const uint32_t *features)
{
    const struct sim *sim = sim_of(engine);
    RW_TRY(enter_with(engine, slots, (size_t)n, sizeof(*slots)));
    int status = lend(engine, features, (size_t)n * rw_node_words(engine), sizeof(*features));
    if (status >= 0)
        status = rw_ref_ops.allow(engine, sim->lent[0].p, n, sim->lent[1].p);
    return leave(engine, status);
}

static int sim_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    RW_TRY(enter_with(engine, siblings, (size_t)n, sizeof(*siblings)));
    return leave(engine, rw_ref_ops.histograms(engine, sim_of(engine)->lent[0].p, n));
}

static int sim_release(struct rw_engine *engine, const int32_t *slots, int n)
{
    RW_TRY(enter_with(engine, slots, (size_t)n, sizeof(*slots)));
    return leave(engine, rw_ref_ops.release(engine, sim_of(engine)->lent[0].p, n));
}

static int sim_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                           struct rw_split *out)
{
    memset(out, POISON, (size_t)n * sizeof(*out));
    RW_TRY(enter_with(engine, slots, (size_t)n, sizeof(*slots)));
    return leave(engine, rw_ref_ops.best_splits(engine, sim_of(engine)->lent[0].p, n, out));
}

static int sim_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    RW_TRY(enter_with(engine, splits, (size_t)n, sizeof(*splits)));
    return leave(engine, rw_ref_ops.partition(engine, sim_of(engine)->lent[0].p, n));
}

static int sim_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                         struct rw_sum *sums)
{
    memset(sums, POISON, (size_t)n * sizeof(*sums));
    RW_TRY(enter_with(engine, leaf_slot, (size_t)n, sizeof(*leaf_slot)));
    return leave(engine, rw_ref_ops.leaf_sums(engine, sim_of(engine)->lent[0].p, n, sums));
}

static int sim_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                        const int32_t *leaf_slot)
{
    RW_TRY(enter(engine));
    return leave(engine, rw_ref_ops.add_tree(engine, set, tree, leaf_slot));
}

static int sim_read_scores(struct rw_engine *engine, int set, double *scores)
{
    RW_TRY(enter(engine));
    return leave(engine, rw_ref_ops.read_scores(engine, set, scores));
}

static int sim_set_scores(struct rw_engine *engine, int set, const double *scores)
{
    RW_TRY(enter_with(engine, scores, engine->n_docs[set], sizeof(*scores)));
    return leave(engine, rw_ref_ops.set_scores(engine, set, sim_of(engine)->lent[0].p));
}

static int sim_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    memset(sums, POISON, engine->info.n_features * sizeof(*sums));
    RW_TRY(enter(engine));
    return leave(engine, rw_ref_ops.code_sums(engine, set, first_doc, sums));
}

static int sim_read_integers(struct rw_engine *engine, int64_t *lambda, int64_t *hessian,
                             int32_t *lambda_q, int32_t *hess_q, uint8_t *sampled)
{
    RW_TRY(enter(engine));
    return leave(engine,
                 rw_ref_ops.read_integers(engine, lambda, hessian, lambda_q, hess_q, sampled));
}

static void sim_close(struct rw_engine *engine)
{
    struct sim *sim = sim_of(engine);
    uint8_t *range = sim->range;
    protect(sim, PROT_READ | PROT_WRITE);
    rw_mem_free(sim->fence);
    rw_ref_ops.close(engine); /* frees the engine itself */
    munmap(range, RANGE_BYTES);
}

static const struct rw_engine_ops sim_ops = {
    .name = "sim",
    .close = sim_close,
    .load = sim_load,
    .set_gradients = sim_set_gradients,
    .set_lambdas = sim_set_lambdas,
    .begin_tree = sim_begin_tree,
    .allow = sim_allow,
    .histograms = sim_histograms,
    .release = sim_release,
    .best_splits = sim_best_splits,
    .partition = sim_partition,
    .leaf_sums = sim_leaf_sums,
    .add_tree = sim_add_tree,
    .read_scores = sim_read_scores,
    .set_scores = sim_set_scores,
    .code_sums = sim_code_sums,
    .read_integers = sim_read_integers,
};

int rw_engine_open_sim(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    (void)device;
    RW_TRY(rw_host_open(ctx, &sim_ops, rw_ref_prepare, sizeof(struct sim), out));
    struct sim *sim = sim_of(*out);
    sim->range =
        mmap(NULL, RANGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (sim->range == MAP_FAILED) {
        rw_mem_free(sim);
        *out = NULL;
        return rw_fail(ctx, RW_ERR_MEMORY, "sim: cannot reserve the device's range");
    }
    sim->ref.host.memory.alloc = sim_alloc;
    return RW_OK;
}
