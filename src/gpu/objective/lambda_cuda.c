/* Makes the tables of an objective on the device, and starts its kernels. lambda_cuda.h defines
 * upper documents, spread queries and jobs. */
#include "gpu/objective/lambda_cuda.h"

#include "gpu/device/cu_check.h"
#include "gpu/objective/lambda_bounded.h"

struct rw_cuda_lambda {
    struct rw_device_tables tables; /* without a device, only counts their bytes */
    /* The arguments of all runs. Their pointers belong to `tables`, except those of `run`. */
    struct rw_objective_args args;
    const char *gradients_by; /* the objective's name, for messages */
};

struct loading {
    struct rw_device_tables *tables;
    struct rw_objective_args *args;
    const struct rw_engine_rules *rules;
    const struct rw_dataset *dataset;
    const double *gains; /* [n_docs]; NULL without a device */
    uint32_t n_docs, n_queries;
    /* Owns the arrays below, which are filled if there is a device. They become those of `args`. */
    struct rw_arena *arena;
    double *discount, *ideal, *grade, *gain;
    uint16_t *slot;
    uint32_t *by_grade, *begin, *same;
    uint64_t n_wild; /* LambdaRank: queries of blocks or warps whose gains are not bounded */
    /* LambdaRank's spread queries and their jobs. `args` has their numbers. */
    uint32_t *spread;
    struct rw_lambda_job *job;
    size_t spread_room, job_room;
};

static uint32_t docs_of(const struct loading *l, uint32_t q)
{
    return rw_query_range(l->dataset->query_offset, q).n;
}

static int load_grades(struct loading *l, enum rw_delta_kind delta)
{
    if (l->tables->device) {
        RW_TRY(RW_ARENA_NEW(l->tables->ctx, l->arena, l->grade, l->n_docs));
        rw_delta_grades(delta, l->args->relevant, l->gains, l->dataset->label, l->n_docs, l->grade);
    }
    return RW_DEVICE_TABLE(l->tables, l->args->d_grade, l->grade, l->n_docs);
}

/* Changes discounts and ideal DCGs to what YetiRank needs. */
static void weigh_neighbours(struct loading *l, uint32_t longest)
{
    const struct rw_neighbours_rule *rule = &l->args->neighbours;
    l->rules->objective->positions(l->rules->rule, l->discount, longest);
    for (uint32_t q = 0; q < l->n_queries; q++)
        l->ideal[q] = rw_neighbours_over(rule, l->grade + l->dataset->query_offset[q],
                                         docs_of(l, q), l->ideal[q]);
}

static int load_ideals(struct loading *l, uint32_t truncation)
{
    struct rw_ctx *ctx = l->tables->ctx;
    const uint32_t longest = rw_longest_query(l->dataset->query_offset, l->n_queries);
    if (l->tables->device) {
        RW_TRY(RW_ARENA_NEW(ctx, l->arena, l->discount, longest));
        RW_TRY(RW_ARENA_NEW(ctx, l->arena, l->ideal, l->n_queries));
        rw_discounts(l->discount, longest);
        RW_TRY(rw_ideal_dcgs(ctx, l->gains, l->dataset->query_offset, l->n_queries, truncation,
                             l->discount, l->ideal));
        if (l->args->kind == RW_OBJECTIVE_NEIGHBOURS)
            weigh_neighbours(l, longest);
    }
    RW_TRY(RW_DEVICE_TABLE(l->tables, l->args->d_discount, l->discount, longest));
    return RW_DEVICE_TABLE(l->tables, l->args->d_ideal, l->ideal, l->n_queries);
}

/* ---- LambdaRank's work ---- */

static uint32_t tops_of(const struct loading *l, uint32_t n)
{
    const uint32_t truncation = l->args->rule.truncation;
    return truncation && truncation < n ? truncation : n;
}

/* Returns 1 if queries of n documents, and so those of more, are spread over blocks. */
static int is_spread(const struct loading *l, uint32_t n)
{
    return n > RW_LAMBDA_BLOCK_DOCS ||
           (n > RW_LAMBDA_WARP_DOCS && (uint64_t)n * tops_of(l, n) > RW_TUNE_LAMBDA_MOST_VISITS);
}

/* Adds a spread query's jobs, each with a document after its first upper one, and so with a pair. A
 * query with an ideal DCG of 0 has no pairs, only jobs with top 0. */
static int add_spread(struct loading *l, uint32_t q, uint32_t n)
{
    struct rw_ctx *ctx = l->tables->ctx;
    struct rw_objective_args *args = l->args;
    const uint32_t lows = RW_LAMBDA_SPREAD_LOWS, spread = args->n_spread++;
    const uint32_t tops = l->ideal && !((float)l->ideal[q] > 0.0f) ? 1 : tops_of(l, n);
    RW_TRY(RW_ARENA_GROW(ctx, l->arena, l->spread, l->spread_room, args->n_spread));
    l->spread[spread] = q;
    for (uint64_t top = 0; top < tops; top += args->spread_tops) {
        for (uint64_t low = (top + 1) / lows * lows; low < n; low += lows) {
            RW_TRY(RW_ARENA_GROW(ctx, l->arena, l->job, l->job_room, (size_t)args->n_jobs + 1));
            l->job[args->n_jobs++] = (struct rw_lambda_job){spread, (uint32_t)low, (uint32_t)top};
        }
    }
    return RW_OK;
}

/* Returns the upper documents per job: about the least with RW_TUNE_LAMBDA_SPREAD_JOBS jobs. */
static uint32_t choose_spread_tops(const struct loading *l)
{
    uint64_t jobs = 0;
    for (uint32_t q = 0; q < l->n_queries; q++) {
        const uint32_t n = docs_of(l, q);
        if (is_spread(l, n))
            jobs += ((uint64_t)n / RW_LAMBDA_SPREAD_LOWS + 1) *
                    (tops_of(l, n) / RW_LAMBDA_SPREAD_TOPS + 1);
    }
    const uint64_t times = jobs / RW_TUNE_LAMBDA_SPREAD_JOBS + 1;
    return (uint32_t)(times < (1u << 20) ? times : 1u << 20) * RW_LAMBDA_SPREAD_TOPS;
}

static int list_work(struct loading *l)
{
    struct rw_objective_args *args = l->args;
    args->spread_tops = choose_spread_tops(l);
    for (uint32_t q = 0; q < l->n_queries; q++) {
        const uint32_t n = docs_of(l, q), room = (n + 31) / 32 * 32;
        if (n > 0 && is_spread(l, n)) {
            RW_TRY(add_spread(l, q, n));
        } else if (n > RW_LAMBDA_WARP_DOCS) {
            args->block_docs = room > args->block_docs ? room : args->block_docs;
            args->n_block++;
        } else if (n > 0) {
            args->warp_docs = room > args->warp_docs ? room : args->warp_docs;
            args->n_warp++;
            args->n_narrow += n <= RW_LAMBDA_NARROW_DOCS;
        }
    }
    return RW_OK;
}

/* Sorts a query by gain, unless it is spread. Returns 1 if it is, or if its gains are bounded. */
static int order_query(const struct loading *l, uint32_t q)
{
    uint32_t order[RW_LAMBDA_BLOCK_DOCS];
    const uint32_t first = l->dataset->query_offset[q], n = docs_of(l, q);
    double *gain = l->gain + first;
    if (is_spread(l, n)) {
        memcpy(gain, l->gains + first, n * sizeof(*gain));
        return 1; /* its slots stay 0 */
    }
    rw_rank_query(l->gains + first, n, 0, order);
    for (uint32_t r = 0; r < n; r++) {
        gain[r] = l->gains[first + order[r]];
        l->slot[first + order[r]] = (uint16_t)r;
    }
    /* the conditions of lambda_bounded.h */
    int bounded = n == 0 || (gain[0] <= 0x1p31 && gain[n - 1] >= 0.0);
    for (uint32_t r = 1; r < n; r++)
        bounded &= gain[r] == gain[r - 1] || gain[r - 1] - gain[r] >= 0x1p-40;
    return bounded;
}

static int order_queries(void *user, struct rw_share *share)
{
    struct loading *l = user;
    uint64_t n_wild = 0;
    RW_SHARE_EACH(share, q)
        n_wild += !order_query(l, (uint32_t)q);
    rw_share_add(share, &l->n_wild, n_wild);
    return RW_OK;
}

static int load_lambdas(struct loading *l)
{
    struct rw_device_tables *tables = l->tables;
    struct rw_ctx *ctx = tables->ctx;
    struct rw_objective_args *args = l->args;
    args->rule = l->rules->lambda;
    RW_TRY(load_ideals(l, args->rule.truncation));
    if (tables->device) {
        RW_TRY(RW_ARENA_NEW(ctx, l->arena, l->gain, l->n_docs));
        RW_TRY(RW_ARENA_NEW(ctx, l->arena, l->slot, l->n_docs));
        rw_parallel(ctx, ctx->n_threads, l->n_queries, 64, order_queries, l);
        args->bounded = l->n_wild == 0 && args->rule.sigma >= 0x1p-20f && args->rule.sigma <= 1.25f;
        RW_CU(ctx, rw_cuda_lambda_prepare());
    }
    RW_TRY(list_work(l));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_spread, l->spread, args->n_spread));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_job, l->job, args->n_jobs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_total, NULL, args->n_spread));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_gain, l->gain, l->n_docs));
    return RW_DEVICE_TABLE(tables, args->d_slot, l->slot, l->n_docs);
}

/* ---- The other objectives ---- */

static int order_grades(void *user, struct rw_share *share)
{
    const struct loading *l = user;
    RW_SHARE_EACH(share, q) {
        const uint32_t first = l->dataset->query_offset[q], n = docs_of(l, (uint32_t)q);
        const double *grade = l->grade + first;
        uint32_t *order = l->by_grade + first;
        rw_rank_query(grade, n, 0, order);
        for (uint32_t begin = 0, after; begin < n; begin = after) {
            for (after = begin; after < n && grade[order[after]] == grade[order[begin]];)
                after++;
            for (uint32_t r = begin; r < after; r++) {
                l->begin[first + r] = begin;
                l->same[first + r] = after - begin;
            }
        }
        for (uint32_t r = 0; r < n; r++)
            order[r] += first;
    }
    return RW_OK;
}

static int load_drawn(struct loading *l)
{
    struct rw_ctx *ctx = l->tables->ctx;
    if (l->tables->device) {
        RW_TRY(RW_ARENA_NEW(ctx, l->arena, l->by_grade, l->n_docs));
        RW_TRY(RW_ARENA_NEW(ctx, l->arena, l->begin, l->n_docs));
        RW_TRY(RW_ARENA_NEW(ctx, l->arena, l->same, l->n_docs));
        RW_TRY(rw_parallel(ctx, ctx->n_threads, l->n_queries, 64, order_grades, l));
    }
    RW_TRY(RW_DEVICE_TABLE(l->tables, l->args->d_by_grade, l->by_grade, l->n_docs));
    RW_TRY(RW_DEVICE_TABLE(l->tables, l->args->d_begin, l->begin, l->n_docs));
    return RW_DEVICE_TABLE(l->tables, l->args->d_same, l->same, l->n_docs);
}

static int load_deltas(struct loading *l)
{
    struct rw_device_tables *tables = l->tables;
    struct rw_objective_args *args = l->args;
    const struct rw_objective_rule *rule = l->rules->rule;
    const double delta = rule->value[rw_objective_param(l->rules->objective, "delta")];
    const double pairs = rule->value[rw_objective_param(l->rules->objective, "pairs")];
    args->rule = rule->pair;
    args->delta = rw_delta_kind(delta);
    args->cutoff = rw_delta_cutoff(delta);
    args->draws = pairs > 0.0 ? (uint32_t)pairs : 0;
    RW_TRY(load_grades(l, args->delta));
    RW_TRY(load_ideals(l, args->rule.truncation));
    if (args->draws)
        RW_TRY(load_drawn(l));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_at, NULL, l->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_prefix[0], NULL, l->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_prefix[1], NULL, l->n_docs));
    return RW_DEVICE_TABLE(tables, args->d_index, NULL, l->n_docs);
}

static int load_neighbours(struct loading *l)
{
    struct rw_objective_args *args = l->args;
    if (l->tables->device)
        rw_neighbours_rule_init(&args->neighbours, l->rules->rule);
    RW_TRY(load_grades(l, args->neighbours.kind));
    RW_TRY(load_ideals(l, args->neighbours.truncation));
    RW_TRY(RW_DEVICE_TABLE(l->tables, args->d_power, NULL, l->n_docs));
    return RW_DEVICE_TABLE(l->tables, args->d_key, NULL, l->n_docs);
}

/* Tables that several objectives need. GRADIENTS: real ones, of the user or a kernel. */
enum { RANK = 1, GAINS = 2, LABELS = 4, GRADIENTS = 8 };

struct objective {
    int needs;
    /* Enqueues the final integers, or real gradients. NULL: residuals and user gradients. */
    int (*launch)(const struct rw_objective_args *, void *stream);
    int (*load)(struct loading *); /* makes the objective's own tables; may be NULL */
};

static const struct objective objectives[] = {
    [RW_OBJECTIVE_HOST] = {GRADIENTS, NULL, NULL},
    [RW_OBJECTIVE_PAIRS] = {RANK, rw_cuda_lambda_pairs, load_lambdas},
    [RW_OBJECTIVE_RESIDUALS] = {LABELS, NULL, NULL},
    [RW_OBJECTIVE_NEIGHBOURS] = {RANK, rw_cuda_neighbours, load_neighbours},
    [RW_OBJECTIVE_LOGISTIC] = {LABELS | GRADIENTS, rw_cuda_queries, NULL},
    [RW_OBJECTIVE_QUERYRMSE] = {RANK | LABELS | GRADIENTS, rw_cuda_queries, NULL},
    [RW_OBJECTIVE_LISTNET] = {RANK | GAINS | GRADIENTS, rw_cuda_queries, NULL},
    [RW_OBJECTIVE_XENDCG] = {RANK | GAINS | GRADIENTS, rw_cuda_queries, NULL},
    [RW_OBJECTIVE_DELTAS] = {RANK | GRADIENTS, rw_cuda_deltas, load_deltas},
};

static int load(struct loading *l)
{
    struct rw_device_tables *tables = l->tables;
    struct rw_objective_args *args = l->args;
    const struct objective *objective = &objectives[args->kind];
    if (l->dataset->weight)
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_doc_weight, l->dataset->weight, l->n_docs));
    if (objective->needs & RANK)
        RW_TRY(rw_cuda_rank_init(tables, l->n_docs, l->n_queries, l->dataset->query_offset,
                                 &args->rank));
    if (objective->needs & GAINS)
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_gain, l->gains, l->n_docs));
    if (objective->needs & LABELS)
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_label, l->dataset->label, l->n_docs));
    if (objective->needs & GRADIENTS) {
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_gradient, NULL, l->n_docs));
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_hessian, NULL, l->n_docs));
    }
    return objective->load ? objective->load(l) : RW_OK;
}

/* ---- The object ---- */

int rw_cuda_lambda_new(struct rw_ctx *ctx, struct rw_device *device,
                       const struct rw_engine_rules *rules, const struct rw_dataset *dataset,
                       const double *gains, struct rw_cuda_lambda **out)
{
    const struct rw_objective *objective = rules->objective;
    const struct rw_objective_rule of_pair = {.pair = rules->lambda}, *rule = rules->rule;
    const int relevant = objective ? rw_objective_param(objective, "relevant") : -1;
    RW_SCOPED(rw_cuda_lambda_free) struct rw_cuda_lambda *lambda = NULL;
    *out = NULL;
    if (device)
        RW_TRY(rw_objective_check(ctx, objective, rule ? rule : &of_pair, dataset, 1.0));
    RW_TRY(RW_NEW(ctx, lambda, 1));
    struct rw_objective_args *args = &lambda->args;
    lambda->tables = (struct rw_device_tables){.ctx = ctx, .device = device};
    args->kind = objective ? objective->device : RW_OBJECTIVE_HOST;
    args->n_docs = dataset->n_docs;
    if (rule) {
        args->seed = rule->seed;
        args->max_gain = rule->max_gain;
        args->relevant = relevant >= 0 ? rule->value[relevant] : 0.0;
    }
    if (device)
        args->n_multiprocessors = device->n_multiprocessors;
    lambda->gradients_by = rules->gradients_by;
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {NULL};
    struct loading loading = {.arena = &arena,
                              .tables = &lambda->tables,
                              .args = args,
                              .rules = rules,
                              .dataset = dataset,
                              .gains = gains,
                              .n_docs = dataset->n_docs,
                              .n_queries = dataset->n_queries};
    RW_TRY(load(&loading));
    *out = RW_TAKE(lambda);
    return RW_OK;
}

void rw_cuda_lambda_free(struct rw_cuda_lambda *lambda)
{
    if (lambda)
        rw_arena_free(&lambda->tables.arena);
    rw_mem_free(lambda);
}

uint64_t rw_cuda_lambda_bytes(const struct rw_cuda_lambda *lambda)
{
    return lambda->tables.bytes;
}

int rw_cuda_lambda_set_gradients(struct rw_cuda_lambda *lambda, const void *gradients,
                                 const void *hessians, int is_fixed)
{
    const size_t bytes = (size_t)lambda->args.n_docs * sizeof(double);
    const struct rw_device *device = lambda->tables.device;
    lambda->args.is_fixed = is_fixed;
    RW_TRY(rw_transfer_write(device, lambda->args.d_gradient, gradients, bytes));
    return rw_transfer_write(device, lambda->args.d_hessian, hessians, bytes);
}

/* Finds the largest magnitudes of all workers, and rounds real gradients. */
static int finish(const struct rw_cuda_lambda *lambda, void *stream)
{
    const struct rw_objective_args *args = &lambda->args;
    const struct rw_device *device = lambda->tables.device;
    const int is_real = args->d_gradient || !objectives[args->kind].launch;
    if (is_real)
        RW_CU(device->ctx, rw_cuda_gradients_find(args, stream));
    if (!is_real || args->is_fixed)
        return rw_device_max(device, &args->run.d_info->largest_lambda, 2);
    RW_TRY(rw_device_max(device, &args->run.d_info->gradient_bits, 2));
    RW_CU(device->ctx, rw_cuda_gradients_round(args, stream));
    return RW_OK;
}

int rw_cuda_lambdas_run(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                        uint32_t tree, uint32_t first_doc, void *stream)
{
    lambda->args.run = *run;
    lambda->args.tree = tree;
    lambda->args.first_doc = first_doc;
    if (objectives[lambda->args.kind].launch)
        RW_CU(lambda->tables.ctx, objectives[lambda->args.kind].launch(&lambda->args, stream));
    return finish(lambda, stream);
}

int rw_cuda_lambdas_largest(const struct rw_cuda_lambda *lambda, void *stream)
{
    if (!lambda->args.d_gradient)
        RW_CU(lambda->tables.ctx, rw_cuda_gradients_largest(&lambda->args, stream));
    return finish(lambda, stream);
}

int rw_cuda_lambda_check(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_info *info)
{
    const struct rw_objective_args *args = &lambda->args;
    struct rw_ctx *ctx = lambda->tables.ctx;
    const size_t bytes = (size_t)args->n_docs * sizeof(double);
    RW_FREED double *gradient = NULL, *hessian = NULL;
    if (info->gradient_bits != UINT64_MAX)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, gradient, args->n_docs));
    RW_TRY(RW_NEW(ctx, hessian, args->n_docs));
    RW_TRY(rw_transfer_read(lambda->tables.device, gradient, args->d_gradient, bytes));
    RW_TRY(rw_transfer_read(lambda->tables.device, hessian, args->d_hessian, bytes));
    return rw_comm_agree(ctx, rw_gradients_check(ctx, lambda->gradients_by, args->first_doc,
                                                 args->n_docs, gradient, hessian));
}
