/* Makes the tables of an objective on the device, and starts the objective's kernels. The table
 * `objectives` has two functions for each kind of objective: `load` and `run`. lambda_cuda.h
 * defines upper documents, spread queries, jobs and tiles. */
#include "gpu/objective/lambda_cuda.h"

#include "gpu/device/cu_check.h"
#include "gpu/objective/lambda_bounded.h"

struct objective;
struct rw_cuda_lambda {
    struct rw_device_tables tables; /* without a device, only counts their bytes */
    const struct objective *objective;
    struct rw_cuda_rank rank; /* for LambdaRank and YetiRank only */
    /* Arguments; a run uses those of its objective. Their pointers belong to `tables`, except those
     * of `run`. */
    struct rw_lambda_args lambda;         /* LambdaRank */
    struct rw_gradient_args real;         /* integers of real gradients */
    struct rw_queries_args queries;       /* softmax, queryrmse and logistic */
    struct rw_deltas_args deltas;         /* LambdaRank with other deltas or drawn pairs */
    struct rw_neighbours_args neighbours; /* YetiRank */
    const char *gradients_by;             /* the objective's name, for messages */
    rw_cuda_largest_fn largest;           /* NULL: one worker */
    void *largest_user;
};

/* Inputs and outputs of list_work, which lists LambdaRank's work. */
struct work {
    struct rw_ctx *ctx;
    struct rw_arena *arena; /* owns the lists */
    const uint32_t *query_offset;
    uint32_t n_queries, truncation;
    const double *ideal;         /* [n_queries]; NULL: all queries count */
    struct rw_lambda_args *args; /* lengths of the lists, written */
    uint32_t *spread;            /* [n_spread] the spread queries */
    struct rw_lambda_job *job;
    struct rw_lambda_tile *tile;
    size_t spread_room, job_room, tile_room;
};

static uint32_t docs_of(const struct work *work, uint32_t q)
{
    return work->query_offset[q + 1] - work->query_offset[q];
}

/* Returns the number of upper documents of a query of n documents. */
static uint32_t tops_of(const struct work *work, uint32_t n)
{
    return work->truncation && work->truncation < n ? work->truncation : n;
}

/* Returns 1 if queries of n documents are spread over blocks. Queries of more documents are spread,
 * too. */
static int is_spread(const struct work *work, uint32_t n)
{
    return n > RW_LAMBDA_BLOCK_DOCS ||
           (n > RW_LAMBDA_WARP_DOCS && (uint64_t)n * tops_of(work, n) > RW_TUNE_LAMBDA_MOST_VISITS);
}

/* Adds a spread query's tiles and jobs. The documents of a job include one after the job's first
 * upper document, so that the job has at least one pair. A query with an ideal DCG of 0 has no
 * jobs. */
static int add_spread(struct work *work, uint32_t q, uint32_t n)
{
    struct rw_lambda_args *args = work->args;
    const uint32_t lows = RW_LAMBDA_SPREAD_LOWS, spread = args->n_spread++;
    const uint32_t tops = work->ideal && !((float)work->ideal[q] > 0.0f) ? 0 : tops_of(work, n);
    RW_TRY(RW_ARENA_GROW(work->ctx, work->arena, work->spread, work->spread_room, args->n_spread));
    work->spread[spread] = q;
    for (uint64_t top = 0; top < tops; top += args->spread_tops) {
        for (uint64_t low = (top + 1) / lows * lows; low < n; low += lows) {
            RW_TRY(RW_ARENA_GROW(work->ctx, work->arena, work->job, work->job_room,
                                 (size_t)args->n_jobs + 1));
            work->job[args->n_jobs++] =
                (struct rw_lambda_job){spread, (uint32_t)low, (uint32_t)top};
        }
    }
    for (uint64_t begin = 0; begin < n; begin += RW_LAMBDA_TILE_DOCS) {
        RW_TRY(RW_ARENA_GROW(work->ctx, work->arena, work->tile, work->tile_room,
                             (size_t)args->n_tiles + 1));
        work->tile[args->n_tiles++] = (struct rw_lambda_tile){spread, (uint32_t)begin};
    }
    return RW_OK;
}

/* Returns the number of upper documents per job: about the smallest for which there are at most
 * RW_TUNE_LAMBDA_SPREAD_JOBS jobs. */
static uint32_t choose_spread_tops(const struct work *work)
{
    uint64_t jobs = 0;
    for (uint32_t q = 0; q < work->n_queries; q++) {
        const uint32_t n = docs_of(work, q);
        if (is_spread(work, n))
            jobs += ((uint64_t)n / RW_LAMBDA_SPREAD_LOWS + 1) *
                    (tops_of(work, n) / RW_LAMBDA_SPREAD_TOPS + 1);
    }
    const uint64_t times = jobs / RW_TUNE_LAMBDA_SPREAD_JOBS + 1;
    return (uint32_t)(times < (1u << 20) ? times : 1u << 20) * RW_LAMBDA_SPREAD_TOPS;
}

/* Fills the lists, and counts the queries for blocks and for warps. */
static int list_work(struct work *work)
{
    struct rw_lambda_args *args = work->args;
    args->spread_tops = choose_spread_tops(work);
    for (uint32_t q = 0; q < work->n_queries; q++) {
        const uint32_t n = docs_of(work, q);
        if (n == 0)
            continue;
        if (is_spread(work, n)) {
            RW_TRY(add_spread(work, q, n));
            continue;
        }
        const int warp = n <= RW_LAMBDA_WARP_DOCS;
        const uint32_t room = (n + 31) / 32 * 32;
        uint32_t *most = warp ? &args->warp_docs : &args->block_docs;
        *most = room > *most ? room : *most;
        args->n_warp += warp;
        args->n_narrow += n <= RW_LAMBDA_NARROW_DOCS;
        args->n_block += !warp;
    }
    return RW_OK;
}

/* ---- LambdaRank's tables ---- */

struct order_job {
    const struct work *work;
    const double *gains;
    double *gain;   /* [n_docs] written: d_gain of struct rw_lambda_args */
    uint16_t *slot; /* [n_docs] written: d_slot of that struct */
    int n_wild;     /* queries of blocks or warps whose gains are not bounded */
};

/* Sorts a query by gain, unless it is spread. Returns 1 if its gains are bounded, or if it is
 * spread. */
static int order_query(const struct order_job *job, uint32_t q)
{
    uint32_t order[RW_LAMBDA_BLOCK_DOCS];
    const uint32_t first = job->work->query_offset[q], n = docs_of(job->work, q);
    double *gain = job->gain + first;
    if (is_spread(job->work, n)) {
        memcpy(gain, job->gains + first, n * sizeof(*gain));
        memset(job->slot + first, 0, n * sizeof(*job->slot));
        return 1;
    }
    rw_rank_query(job->gains + first, n, 0, order);
    for (uint32_t r = 0; r < n; r++) {
        gain[r] = job->gains[first + order[r]];
        job->slot[first + order[r]] = (uint16_t)r;
    }
    /* the conditions of lambda_bounded.h */
    int bounded = n == 0 || (gain[0] <= 0x1p31 && gain[n - 1] >= 0.0);
    for (uint32_t r = 1; r < n; r++)
        bounded &= gain[r] == gain[r - 1] || gain[r - 1] - gain[r] >= 0x1p-40;
    return bounded;
}

static int order_queries(void *user, struct rw_share *share)
{
    struct order_job *job = user;
    int n_wild = 0;
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++)
            n_wild += !order_query(job, (uint32_t)q);
    }
    rw_share_lock(share);
    job->n_wild += n_wild;
    rw_share_unlock(share);
    return RW_OK;
}

/* Computes discounts: [longest query], and ideal DCGs: [n_queries]. The arena owns both. */
static int make_ideals(struct rw_ctx *ctx, struct rw_arena *arena, const struct rw_dataset *dataset,
                       const double *gains, uint32_t truncation, double **discount, double **ideal)
{
    const uint32_t longest = rw_longest_query(dataset->query_offset, dataset->n_queries);
    RW_TRY(RW_ARENA_NEW(ctx, arena, *discount, longest));
    RW_TRY(RW_ARENA_NEW(ctx, arena, *ideal, dataset->n_queries));
    rw_discounts(*discount, longest);
    return rw_ideal_dcgs(ctx, gains, dataset->query_offset, dataset->n_queries, truncation,
                         *discount, *ideal);
}

static int init_rank(struct rw_cuda_lambda *lambda, const struct rw_dataset *dataset)
{
    return rw_cuda_rank_init(&lambda->tables, dataset->n_docs, dataset->n_queries,
                             dataset->query_offset, &lambda->rank);
}

static int load_lambdas(struct rw_cuda_lambda *lambda, const struct rw_engine_rules *rules,
                        const struct rw_dataset *dataset, const double *gains,
                        struct rw_arena *arena)
{
    struct rw_device_tables *tables = &lambda->tables;
    struct rw_ctx *ctx = tables->ctx;
    struct rw_lambda_args *args = &lambda->lambda;
    double *discount = NULL, *ideal = NULL;
    struct work work = {.ctx = ctx,
                        .arena = arena,
                        .query_offset = dataset->query_offset,
                        .n_queries = dataset->n_queries,
                        .truncation = rules->lambda.truncation,
                        .args = args};
    struct order_job job = {.work = &work, .gains = gains};
    args->rule = rules->lambda;
    if (tables->device) {
        RW_TRY(make_ideals(ctx, arena, dataset, gains, work.truncation, &discount, &ideal));
        RW_TRY(RW_ARENA_NEW(ctx, arena, job.gain, dataset->n_docs));
        RW_TRY(RW_ARENA_NEW(ctx, arena, job.slot, dataset->n_docs));
        rw_parallel(ctx, ctx->n_threads, work.n_queries, 64, order_queries, &job);
        args->bounded = job.n_wild == 0 && rw_bounded_rule(&args->rule);
        work.ideal = ideal;
        RW_CU(ctx, rw_cuda_lambda_prepare());
    }
    RW_TRY(list_work(&work));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_spread, work.spread, args->n_spread));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_job, work.job, args->n_jobs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_tile, work.tile, args->n_tiles));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_total, NULL, args->n_spread));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_discount, discount,
                           rw_longest_query(dataset->query_offset, dataset->n_queries)));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_ideal, ideal, dataset->n_queries));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_gain, job.gain, dataset->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_slot, job.slot, dataset->n_docs));
    RW_TRY(init_rank(lambda, dataset));
    args->d_offset = lambda->rank.d_offset;
    /* the spread queries are the largest */
    args->d_query = lambda->rank.d_by_size + args->n_spread;
    args->d_order = lambda->rank.d_order;
    return RW_OK;
}

/* Replaces each number by its largest value over all workers. */
static int share(const struct rw_cuda_lambda *lambda, uint64_t *d_numbers, uint32_t n)
{
    return lambda->largest ? lambda->largest(lambda->largest_user, d_numbers, n) : RW_OK;
}

static int run_lambdas(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                       void *stream)
{
    lambda->lambda.run = *run;
    RW_CU(lambda->tables.ctx, rw_cuda_lambda_pairs(&lambda->lambda, &lambda->rank, stream));
    return share(lambda, &run->d_info->largest_lambda, 2);
}

/* ---- Real gradients: residuals and user gradients ---- */

static int load_reals(struct rw_cuda_lambda *lambda, const struct rw_engine_rules *rules,
                      const struct rw_dataset *dataset, const double *gains, struct rw_arena *arena)
{
    (void)gains, (void)arena;
    if (rules->objective && rules->objective->device == RW_OBJECTIVE_RESIDUALS)
        return RW_DEVICE_TABLE(&lambda->tables, lambda->real.d_label, dataset->label,
                               dataset->n_docs);
    RW_TRY(RW_DEVICE_TABLE(&lambda->tables, lambda->real.d_gradient, NULL, dataset->n_docs));
    return RW_DEVICE_TABLE(&lambda->tables, lambda->real.d_hessian, NULL, dataset->n_docs);
}

static int run_reals(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                     void *stream)
{
    struct rw_gradient_args *real = &lambda->real;
    const int n_multiprocessors = lambda->tables.device->n_multiprocessors;
    struct rw_ctx *ctx = lambda->tables.ctx;
    real->run = *run;
    RW_CU(ctx, rw_cuda_gradients_find(real, n_multiprocessors, stream));
    if (real->is_fixed)
        return share(lambda, &run->d_info->largest_lambda, 2);
    RW_TRY(share(lambda, &run->d_info->gradient_bits, 2));
    RW_CU(ctx, rw_cuda_gradients_round(real, n_multiprocessors, stream));
    return RW_OK;
}

/* Makes the arrays of gradients that a kernel writes and run_reals reads. */
static int make_reals(struct rw_cuda_lambda *lambda, double **d_gradient, double **d_hessian)
{
    RW_TRY(RW_DEVICE_TABLE(&lambda->tables, lambda->real.d_gradient, NULL, lambda->real.n_docs));
    RW_TRY(RW_DEVICE_TABLE(&lambda->tables, lambda->real.d_hessian, NULL, lambda->real.n_docs));
    *d_gradient = lambda->real.d_gradient;
    *d_hessian = lambda->real.d_hessian;
    return RW_OK;
}

/* ---- Softmax, queryrmse and logistic ---- */

static int load_queries(struct rw_cuda_lambda *lambda, const struct rw_engine_rules *rules,
                        const struct rw_dataset *dataset, const double *gains,
                        struct rw_arena *arena)
{
    struct rw_device_tables *tables = &lambda->tables;
    struct rw_queries_args *args = &lambda->queries;
    const uint32_t n_docs = dataset->n_docs;
    const int relevant = rw_objective_param(rules->objective, "relevant");
    (void)arena;
    args->loss = rules->objective->device;
    args->n_docs = n_docs;
    args->n_queries = dataset->n_queries;
    args->seed = rules->rule ? rules->rule->seed : 0;
    args->relevant = rules->rule && relevant >= 0 ? rules->rule->value[relevant] : 0.0;
    args->d_doc_weight = lambda->real.d_doc_weight;
    if (args->loss != RW_OBJECTIVE_LOGISTIC)
        RW_TRY(init_rank(lambda, dataset)); /* only for queries by size */
    args->n_large = lambda->rank.large.n;
    args->d_offset = lambda->rank.d_offset;
    args->d_query = lambda->rank.d_by_size;
    if (rules->objective->ranks)
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_gain, gains, n_docs));
    else
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_label, dataset->label, n_docs));
    return make_reals(lambda, &args->d_gradient, &args->d_hessian);
}

static int run_queries(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                       void *stream)
{
    lambda->queries.run = *run;
    RW_CU(lambda->tables.ctx, rw_cuda_queries(&lambda->queries, stream));
    return run_reals(lambda, run, stream);
}

/* ---- LambdaRank with other deltas or drawn pairs ---- */

struct grade_job {
    const struct rw_dataset *dataset;
    const double *grade;
    uint32_t *by_grade, *begin, *same; /* written; as in struct rw_deltas_args */
};

static int order_grades(void *user, struct rw_share *share)
{
    const struct grade_job *job = user;
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++) {
            const uint32_t first = job->dataset->query_offset[q];
            const uint32_t n = job->dataset->query_offset[q + 1] - first;
            const double *grade = job->grade + first;
            uint32_t *order = job->by_grade + first;
            rw_rank_query(grade, n, 0, order);
            for (uint32_t begin = 0, after; begin < n; begin = after) {
                for (after = begin; after < n && grade[order[after]] == grade[order[begin]];)
                    after++;
                for (uint32_t r = begin; r < after; r++) {
                    job->begin[first + r] = begin;
                    job->same[first + r] = after - begin;
                }
            }
            for (uint32_t r = 0; r < n; r++)
                order[r] += first;
        }
    }
    return RW_OK;
}

/* Makes the tables for drawn pairs. grade: [n_docs]; NULL: without a device */
static int load_drawn(struct rw_cuda_lambda *lambda, const struct rw_dataset *dataset,
                      const double *grade, struct rw_arena *arena)
{
    struct rw_device_tables *tables = &lambda->tables;
    struct rw_deltas_args *args = &lambda->deltas;
    struct rw_ctx *ctx = tables->ctx;
    struct grade_job job = {.dataset = dataset, .grade = grade};
    if (grade) {
        RW_TRY(RW_ARENA_NEW(ctx, arena, job.by_grade, dataset->n_docs));
        RW_TRY(RW_ARENA_NEW(ctx, arena, job.begin, dataset->n_docs));
        RW_TRY(RW_ARENA_NEW(ctx, arena, job.same, dataset->n_docs));
        RW_TRY(rw_parallel(ctx, ctx->n_threads, dataset->n_queries, 64, order_grades, &job));
    }
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_by_grade, job.by_grade, dataset->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_begin, job.begin, dataset->n_docs));
    return RW_DEVICE_TABLE(tables, args->d_same, job.same, dataset->n_docs);
}

static int load_deltas(struct rw_cuda_lambda *lambda, const struct rw_engine_rules *rules,
                       const struct rw_dataset *dataset, const double *gains,
                       struct rw_arena *arena)
{
    struct rw_device_tables *tables = &lambda->tables;
    struct rw_deltas_args *args = &lambda->deltas;
    const struct rw_objective *objective = rules->objective;
    const struct rw_objective_rule *rule = rules->rule;
    const int relevant = rw_objective_param(objective, "relevant");
    const double delta = rule->value[rw_objective_param(objective, "delta")];
    const double pairs = rule->value[rw_objective_param(objective, "pairs")];
    const uint32_t n_docs = dataset->n_docs, n_queries = dataset->n_queries;
    double *discount = NULL, *ideal = NULL, *grade = NULL;
    args->rule = rule->pair;
    args->kind = rw_delta_kind(delta);
    args->cutoff = rw_delta_cutoff(delta);
    args->draws = pairs > 0.0 ? (uint32_t)pairs : 0;
    args->seed = rule->seed;
    args->max_gain = rule->max_gain;
    args->n_docs = n_docs;
    args->n_queries = n_queries;
    if (tables->device) {
        RW_TRY(RW_ARENA_NEW(tables->ctx, arena, grade, n_docs));
        rw_delta_grades(args->kind, relevant >= 0 ? rule->value[relevant] : 0.0, gains,
                        dataset->label, n_docs, grade);
        RW_TRY(make_ideals(tables->ctx, arena, dataset, gains, args->rule.truncation, &discount,
                           &ideal));
    }
    if (args->draws)
        RW_TRY(load_drawn(lambda, dataset, grade, arena));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_grade, grade, n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_ideal, ideal, n_queries));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_discount, discount,
                           rw_longest_query(dataset->query_offset, n_queries)));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_at, NULL, n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_prefix[0], NULL, n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_prefix[1], NULL, n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_index, NULL, n_docs));
    RW_TRY(init_rank(lambda, dataset));
    args->d_offset = lambda->rank.d_offset;
    args->d_query = lambda->rank.d_by_size;
    args->d_order = lambda->rank.d_order;
    return make_reals(lambda, &args->d_gradient, &args->d_hessian);
}

static int run_deltas(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                      void *stream)
{
    lambda->deltas.run = *run;
    RW_CU(lambda->tables.ctx, rw_cuda_deltas(&lambda->deltas, &lambda->rank, stream));
    return run_reals(lambda, run, stream);
}

/* ---- YetiRank ---- */

static int load_neighbours(struct rw_cuda_lambda *lambda, const struct rw_engine_rules *rules,
                           const struct rw_dataset *dataset, const double *gains,
                           struct rw_arena *arena)
{
    struct rw_device_tables *tables = &lambda->tables;
    struct rw_neighbours_args *args = &lambda->neighbours;
    const struct rw_neighbours_rule *own = &args->rule;
    const uint32_t *offset = dataset->query_offset, n_queries = dataset->n_queries;
    const uint32_t longest = rw_longest_query(offset, n_queries);
    double *discount, *over = NULL, *grade = NULL, *weight = NULL;
    args->n_docs = dataset->n_docs;
    args->n_queries = n_queries;
    args->d_doc_weight = lambda->real.d_doc_weight;
    if (tables->device) {
        rw_neighbours_rule_init(&args->rule, rules->rule);
        args->seed = rules->rule->seed;
        RW_TRY(RW_ARENA_NEW(tables->ctx, arena, grade, dataset->n_docs));
        RW_TRY(RW_ARENA_NEW(tables->ctx, arena, weight, longest));
        rules->objective->positions(rules->rule, weight, longest);
        rw_delta_grades(own->kind, own->relevant, gains, dataset->label, dataset->n_docs, grade);
        RW_TRY(make_ideals(tables->ctx, arena, dataset, gains, own->truncation, &discount, &over));
        for (uint32_t q = 0; q < n_queries; q++)
            over[q] =
                rw_neighbours_over(own, grade + offset[q], offset[q + 1] - offset[q], over[q]);
    }
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_grade, grade, dataset->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_over, over, n_queries));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_weight, weight, longest));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_power, NULL, dataset->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_key, NULL, dataset->n_docs));
    RW_TRY(init_rank(lambda, dataset));
    args->n_large = lambda->rank.large.n;
    args->d_offset = lambda->rank.d_offset;
    args->d_query = lambda->rank.d_by_size;
    args->d_order = lambda->rank.d_order;
    return RW_OK;
}

static int run_neighbours(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                          void *stream)
{
    lambda->neighbours.run = *run;
    RW_CU(lambda->tables.ctx, rw_cuda_neighbours(&lambda->neighbours, &lambda->rank,
                                                 lambda->tables.device->n_multiprocessors, stream));
    return share(lambda, &run->d_info->largest_lambda, 2);
}

/* ---- The table ---- */

struct objective {
    /* Makes the tables. Without a device it only counts their bytes, and gains may be NULL. The
     * arena is freed after the call. */
    int (*load)(struct rw_cuda_lambda *, const struct rw_engine_rules *, const struct rw_dataset *,
                const double *gains, struct rw_arena *);
    int (*run)(struct rw_cuda_lambda *, const struct rw_cuda_lambda_run *, void *stream);
};

static const struct objective objectives[] = {
    [RW_OBJECTIVE_HOST] = {load_reals, run_reals},
    [RW_OBJECTIVE_PAIRS] = {load_lambdas, run_lambdas},
    [RW_OBJECTIVE_RESIDUALS] = {load_reals, run_reals},
    [RW_OBJECTIVE_NEIGHBOURS] = {load_neighbours, run_neighbours},
    [RW_OBJECTIVE_LOGISTIC] = {load_queries, run_queries},
    [RW_OBJECTIVE_QUERYRMSE] = {load_queries, run_queries},
    [RW_OBJECTIVE_LISTNET] = {load_queries, run_queries},
    [RW_OBJECTIVE_XENDCG] = {load_queries, run_queries},
    [RW_OBJECTIVE_DELTAS] = {load_deltas, run_deltas},
};

/* ---- The object ---- */

static int load(struct rw_cuda_lambda *lambda, const struct rw_engine_rules *rules,
                const struct rw_dataset *dataset, const double *gains)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {NULL};
    const double *d_doc_weight = NULL;
    if (dataset->weight)
        RW_TRY(RW_DEVICE_TABLE(&lambda->tables, d_doc_weight, dataset->weight, dataset->n_docs));
    lambda->lambda.d_doc_weight = lambda->real.d_doc_weight = d_doc_weight;
    lambda->real.n_docs = dataset->n_docs;
    lambda->gradients_by = rules->gradients_by;
    lambda->objective =
        &objectives[rules->objective ? rules->objective->device : RW_OBJECTIVE_HOST];
    return lambda->objective->load(lambda, rules, dataset, gains, &arena);
}

int rw_cuda_lambda_new(struct rw_ctx *ctx, struct rw_device *device,
                       const struct rw_engine_rules *rules, const struct rw_dataset *dataset,
                       const double *gains, struct rw_cuda_lambda **out)
{
    const struct rw_objective_rule of_pair = {.pair = rules->lambda};
    RW_SCOPED(rw_cuda_lambda_free) struct rw_cuda_lambda *lambda = NULL;
    *out = NULL;
    if (device)
        RW_TRY(rw_objective_check(ctx, rules->objective, rules->rule ? rules->rule : &of_pair,
                                  dataset, 1.0));
    RW_TRY(RW_NEW(ctx, lambda, 1));
    lambda->tables = (struct rw_device_tables){.ctx = ctx, .device = device};
    RW_TRY(load(lambda, rules, dataset, gains));
    *out = RW_TAKE(lambda);
    return RW_OK;
}

void rw_cuda_lambda_free(struct rw_cuda_lambda *lambda)
{
    if (!lambda)
        return;
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
    const size_t bytes = (size_t)lambda->real.n_docs * sizeof(double);
    const struct rw_device *device = lambda->tables.device;
    lambda->real.is_fixed = is_fixed;
    RW_TRY(rw_transfer_write(device, lambda->real.d_gradient, gradients, bytes));
    return rw_transfer_write(device, lambda->real.d_hessian, hessians, bytes);
}

void rw_cuda_lambda_set_tree(struct rw_cuda_lambda *lambda, uint32_t tree, uint32_t first_doc)
{
    lambda->neighbours.tree = lambda->queries.tree = lambda->deltas.tree = tree;
    lambda->neighbours.first_doc = lambda->queries.first_doc = first_doc;
    lambda->deltas.first_doc = first_doc;
}

void rw_cuda_lambda_share(struct rw_cuda_lambda *lambda, rw_cuda_largest_fn largest, void *user)
{
    lambda->largest = largest;
    lambda->largest_user = user;
}

int rw_cuda_lambdas_run(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                        void *stream)
{
    return lambda->objective->run(lambda, run, stream);
}

int rw_cuda_lambdas_largest(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                            void *stream)
{
    if (lambda->real.d_gradient)
        return run_reals(lambda, run, stream);
    lambda->real.run = *run;
    RW_CU(lambda->tables.ctx, rw_cuda_gradients_largest(
                                  &lambda->real, lambda->tables.device->n_multiprocessors, stream));
    return share(lambda, &run->d_info->largest_lambda, 2);
}

int rw_cuda_lambda_check(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_info *info)
{
    const struct rw_gradient_args *real = &lambda->real;
    struct rw_ctx *ctx = lambda->tables.ctx;
    const size_t bytes = (size_t)real->n_docs * sizeof(double);
    RW_FREED double *gradient = NULL, *hessian = NULL;
    if (info->gradient_bits != UINT64_MAX)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, gradient, real->n_docs));
    RW_TRY(RW_NEW(ctx, hessian, real->n_docs));
    RW_TRY(rw_transfer_read(lambda->tables.device, gradient, real->d_gradient, bytes));
    RW_TRY(rw_transfer_read(lambda->tables.device, hessian, real->d_hessian, bytes));
    return rw_comm_agree(ctx,
                         rw_gradients_check(ctx, lambda->gradients_by, lambda->queries.first_doc,
                                            real->n_docs, gradient, hessian));
}
