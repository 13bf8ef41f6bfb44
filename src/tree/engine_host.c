/* State and steps that the engines on the host share (tree/engine_host.h): loading data, drawing
 * samples, quantising gradients, coding trees, selecting the features of data that is already
 * binned, and checksums of codes. */
#include "tree/engine_host.h"

#include "base/rng.h"

/* Below PARALLEL_DOCS documents a parallel region costs more than it gains; for drawing documents
 * the limit is PARALLEL_DRAWN. CHUNK: documents that are converted to fixed point at a time. */
enum { PARALLEL_DOCS = 16384, PARALLEL_DRAWN = 2048, CHUNK = 4096 };

int rw_host_open(struct rw_ctx *ctx, const struct rw_engine_ops *ops,
                 int (*prepare)(struct rw_engine *), size_t bytes, struct rw_engine **out)
{
    RW_TRY(rw_mem_new(ctx, (void **)out, 1, bytes));
    (*out)->ops = ops;
    (*out)->ctx = ctx;
    ((struct rw_host *)*out)->prepare = prepare;
    return RW_OK;
}

void rw_host_count(struct rw_host *host, uint64_t bytes)
{
    host->base.info.bytes += bytes;
    if (host->memory.plan && bytes)
        rw_plan_add(host->memory.plan, host->memory.part, bytes);
}

int rw_host_new(struct rw_host *host, void **out, size_t n, size_t size, int raw)
{
    struct rw_ctx *ctx = host->base.ctx;
    rw_host_count(host, n * size);
    *out = host; /* pointers of a dry run are never followed */
    if (host->memory.plan)
        return RW_OK;
    *out = NULL;
    if (!host->memory.alloc) {
        RW_TRY((raw ? rw_mem_new_raw : rw_mem_new)(ctx, out, n, size));
        return rw_arena_own(ctx, &host->memory.arena, *out, rw_mem_free);
    }
    RW_TRY(host->memory.alloc(&host->base, out, n * size));
    if (!raw)
        memset(*out, 0, n * size);
    return RW_OK;
}

void rw_host_release(struct rw_host *host)
{
    for (int i = RW_MAX_SETS - 1; i >= 0; i--)
        rw_bins_free(host->set[i].bins);
    rw_gradients_free(host->gradients);
    rw_arena_free(&host->memory.arena);
}

/* ---- loading ---- */

int rw_host_allocate(struct rw_host *host, const struct rw_dataset *dataset)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_objective *objective = rules->objective;
    const size_t n = dataset->n_docs;
    host->memory.part = "lambdas";
    host->n_queries = dataset->n_queries;
    RW_TRY(RW_HOST_NEW_RAW(host, host->query_offset, (size_t)host->n_queries + 1));
    if (dataset->weight)
        RW_TRY(RW_HOST_NEW_RAW(host, host->weight_doc, n));
    if (!objective || !objective->is_fixed) {
        RW_TRY(RW_HOST_NEW_RAW(host, host->gradient, n));
        RW_TRY(RW_HOST_NEW_RAW(host, host->hessian, n));
    }
    if (rw_rules_rank(rules)) {
        RW_TRY(RW_HOST_NEW_RAW(host, host->gain, n));
        rw_host_count(host, rw_gradients_bytes(dataset, host->base.n_threads));
    } else if (objective)
        RW_TRY(RW_HOST_NEW_RAW(host, host->label, n));
    RW_TRY(RW_HOST_NEW_RAW(host, host->lambda, n));
    RW_TRY(RW_HOST_NEW_RAW(host, host->hess, n));
    RW_TRY(RW_HOST_NEW_RAW(host, host->lambda_q, n));
    if (rules->newton)
        RW_TRY(RW_HOST_NEW_RAW(host, host->hess_q, n));
    RW_TRY(RW_HOST_NEW_RAW(host, host->sampled, n));
    if (rules->monotone)
        RW_TRY(RW_HOST_NEW_RAW(host, host->direction, host->base.info.n_features));
    if (rules->penalty)
        RW_TRY(RW_HOST_NEW_RAW(host, host->penalty, host->base.info.n_features));
    RW_TRY(RW_HOST_NEW_RAW(host, host->query_sampled, host->n_queries));
    if (rw_rules_by_node(rules))
        RW_TRY(RW_HOST_NEW(host, host->allowed, rules->max_slots * rw_node_words(&host->base)));
    return RW_HOST_NEW_RAW(host, host->feature_sampled, host->base.info.n_features);
}

void rw_host_set_rules(const struct rw_host *host, int8_t *direction, double *penalty)
{
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    for (uint32_t f = 0; direction && f < cuts->n_features; f++)
        direction[f] = host->base.rules.monotone[cuts->feature[f]];
    for (uint32_t f = 0; penalty && f < cuts->n_features; f++)
        penalty[f] = host->base.rules.penalty[cuts->feature[f]];
}

/* Copies the training set's side columns, and starts the objective, if any, on the copy. */
static int load_training(struct rw_host *host, const struct rw_dataset *dataset,
                         const double *gains)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_objective *objective = rules->objective;
    const size_t n = dataset->n_docs;
    RW_TRY(rw_host_allocate(host, dataset));
    memcpy(host->query_offset, dataset->query_offset,
           ((size_t)host->n_queries + 1) * sizeof(*host->query_offset));
    if (dataset->weight)
        memcpy(host->weight_doc, dataset->weight, n * sizeof(*host->weight_doc));
    rw_host_set_rules(host, host->direction, host->penalty);
    host->is_fixed = objective && objective->is_fixed;
    if (!objective)
        return RW_OK;
    if (host->label)
        memcpy(host->label, dataset->label, n * sizeof(*host->label));
    else
        memcpy(host->gain, gains, n * sizeof(*gains));
    host->documents = (struct rw_dataset){.n_docs = dataset->n_docs,
                                          .n_queries = host->n_queries,
                                          .query_offset = host->query_offset,
                                          .label = host->label,
                                          .weight = host->weight_doc};
    const struct rw_objective_rule rule = {.pair = rules->lambda};
    const struct rw_gradients_engine own = {.isa = host->isa,
                                            .is_plain = !host->fast,
                                            .keep = host->query_sampled,
                                            .into = {host->is_fixed ? host->lambda : NULL,
                                                     host->is_fixed ? host->hess : NULL,
                                                     host->gradient, host->hessian}};
    return rw_gradients_new(host->base.ctx, objective, &rule, &host->documents,
                            host->base.first_doc, host->gain, &own, &host->gradients);
}

/* Makes a set's codes in host->set[set].bins. For set 0, also makes its cuts, and sets the engine's
 * info. ready: `bins` of `load`. Its codes are shared rather than copied, to save memory. */
static int make_bins(struct rw_host *host, int set, const struct rw_dataset *dataset,
                     const struct rw_bins *ready)
{
    struct rw_ctx *ctx = host->base.ctx;
    const struct rw_cut_rule *rule = &host->base.rules.cut;
    struct rw_bins **bins = &host->set[set].bins;
    RW_SCOPED(rw_cuts_free) struct rw_cuts *made = NULL;
    RW_FREED uint32_t *column = NULL;
    if (!ready && set > 0)
        return rw_bins_make(ctx, dataset, host->set[0].bins->cuts, rule, 0, bins);
    if (!ready) {
        RW_TRY(rw_bins_make_training(ctx, dataset, rule, bins));
        rw_host_count_features(host, (*bins)->cuts);
        return RW_OK;
    }
    if (set == 0) {
        RW_TRY(rw_host_ready_cuts(host, ready, &made, &column));
    }
    struct rw_cuts *cuts = made ? made : host->set[0].bins->cuts;
    RW_TRY(rw_host_bins_of_cuts(host, cuts, made != NULL, ready->n_docs, bins));
    if (RW_TAKE(made)) /* the bins own it now */
        rw_host_count_features(host, cuts);
    (*bins)->codes_are_views = 1;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        (*bins)->codes[f] = ready->codes[rw_cuts_index(ready->cuts, cuts->feature[f])];
    return RW_OK;
}

/* Copies an array of codes to the engine's own memory. */
static int own_array(struct rw_host *host, const void *from, size_t n, size_t size, void **out)
{
    if (!from)
        return RW_OK;
    RW_TRY(rw_host_new(host, out, n, size, 1));
    memcpy(*out, from, n * size);
    return RW_OK;
}

/* If the engine has an allocator of its own (memory.alloc), moves the codes to memory from it; the
 * bins then only view them. Otherwise counts the bytes of the codes. */
static int move_codes(struct rw_host *host, struct rw_bins *bins)
{
    int status = RW_OK;
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        struct rw_codes *from = &bins->codes[f], moved = {.n = from->n, .rest = from->rest};
        if (!host->memory.alloc) {
            host->base.info.bytes += rw_codes_bytes(bins->cuts, f, from->n, bins->n_docs);
            continue;
        }
        if (status >= 0) /* after a failure the remaining codes are dropped, since the engine does
                            not own them */
            status = own_array(host, from->code, from->n, rw_cuts_code_bytes(bins->cuts, f),
                               &moved.code);
        if (status >= 0)
            status = own_array(host, from->row, from->n, sizeof(*from->row), (void **)&moved.row);
        if (!bins->codes_are_views) {
            rw_mem_free(from->row);
            rw_mem_free(from->code);
        }
        *from = moved;
    }
    bins->codes_are_views |= host->memory.alloc != NULL;
    return status;
}

int rw_host_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains)
{
    struct rw_host *host = (struct rw_host *)engine;
    RW_TRY(make_bins(host, set, dataset, bins));
    RW_TRY(move_codes(host, host->set[set].bins));
    RW_TRY(RW_HOST_NEW(host, host->set[set].score, dataset->n_docs));
    if (set > 0)
        return RW_OK;
    RW_TRY(load_training(host, dataset, gains));
    return host->prepare(engine);
}

/* ---- operations ---- */

int rw_host_set_gradients(struct rw_engine *engine, const double *gradients, const double *hessians)
{
    struct rw_host *host = (struct rw_host *)engine;
    memcpy(host->gradient, gradients, engine->n_docs[0] * sizeof(*gradients));
    memcpy(host->hessian, hessians, engine->n_docs[0] * sizeof(*hessians));
    host->is_fixed = 0;
    return RW_OK;
}

int rw_host_set_lambdas(struct rw_engine *engine, const int64_t *lambda, const int64_t *hessian)
{
    struct rw_host *host = (struct rw_host *)engine;
    memcpy(host->lambda, lambda, engine->n_docs[0] * sizeof(*lambda));
    memcpy(host->hess, hessian, engine->n_docs[0] * sizeof(*hessian));
    host->is_fixed = 1;
    return RW_OK;
}

int rw_host_allow(struct rw_engine *engine, const int32_t *slots, int n, const uint32_t *features)
{
    struct rw_host *host = (struct rw_host *)engine;
    const size_t words = rw_node_words(engine);
    for (int i = 0; i < n; i++)
        memcpy(host->allowed + (size_t)slots[i] * words, features + (size_t)i * words,
               words * sizeof(*features));
    return RW_OK;
}

int rw_host_read_scores(struct rw_engine *engine, int set, double *scores)
{
    const struct rw_host *host = (const struct rw_host *)engine;
    memcpy(scores, host->set[set].score, engine->n_docs[set] * sizeof(*scores));
    return RW_OK;
}

int rw_host_set_scores(struct rw_engine *engine, int set, const double *scores)
{
    struct rw_host *host = (struct rw_host *)engine;
    memcpy(host->set[set].score, scores, engine->n_docs[set] * sizeof(*scores));
    return RW_OK;
}

int rw_host_read_integers(struct rw_engine *engine, int64_t *lambda, int64_t *hessian,
                          int32_t *lambda_q, int32_t *hess_q, uint8_t *sampled)
{
    const struct rw_host *host = (const struct rw_host *)engine;
    const size_t n = engine->n_docs[0];
    memcpy(lambda, host->lambda, n * sizeof(*lambda));
    memcpy(hessian, host->hess, n * sizeof(*hessian));
    memcpy(lambda_q, host->lambda_q, n * sizeof(*lambda_q));
    if (host->hess_q)
        memcpy(hess_q, host->hess_q, n * sizeof(*hess_q));
    memcpy(sampled, host->sampled, n);
    return RW_OK;
}

/* ---- the start of a tree ---- */

/* Returns the number of threads that are worth starting for the size of the training set. */
static int threads_of(const struct rw_host *host, uint32_t least_docs)
{
    return host->base.n_docs[0] >= least_docs ? host->base.n_threads : 1;
}

/* ---- the sample of a tree ----
 *
 * Queries, their documents, and features are drawn by their numbers, so the result does not depend
 * on which thread or worker draws them. */

/* Result of drawing items (queries, documents or features): the number of items that were kept, and
 * the item with the lowest random number, the first of equals. */
struct drawn {
    uint32_t n_kept, lowest, lowest_random;
};
static const struct drawn none_drawn = {0, UINT32_MAX, UINT32_MAX};

static void add_drawn(struct drawn *drawn, uint32_t n_kept, uint32_t item, uint32_t random)
{
    drawn->n_kept += n_kept;
    if (random < drawn->lowest_random || (random == drawn->lowest_random && item < drawn->lowest)) {
        drawn->lowest_random = random;
        drawn->lowest = item;
    }
}

void rw_host_draw_features(const struct rw_engine *engine, uint32_t tree, uint8_t *kept)
{
    const struct rw_engine_rules *rules = &engine->rules;
    const struct rw_cuts *cuts = engine->cuts;
    struct drawn drawn = none_drawn;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint32_t random =
            rw_random(rules->seed, cuts->feature[f], tree, RW_STREAM_SAMPLE_FEATURE);
        kept[f] = random < rules->feature_threshold;
        add_drawn(&drawn, kept[f], f, random);
    }
    if (cuts->n_features > 0 && drawn.n_kept == 0)
        kept[drawn.lowest] = 1;
}

/* If no worker has kept an item (a query or a document), keeps the one with the lowest random
 * number of all workers. first: the number of this worker's first item among those of all workers.
 * Sets *item to the index of the item if this worker has it. Sets *item to UINT32_MAX if another
 * worker has it, if some worker had kept an item, or if no worker has items. */
static int keep_lowest(struct rw_engine *engine, const struct drawn *drawn, uint32_t first,
                       uint32_t *item)
{
    const uint32_t lowest = drawn->lowest;
    int keep;
    RW_TRY(rw_workers_keep_one(engine, drawn->n_kept, drawn->lowest_random,
                               lowest == UINT32_MAX ? lowest : first + lowest, &keep));
    *item = keep ? lowest : UINT32_MAX;
    return RW_OK;
}

struct doc_job {
    struct rw_host *host;
    struct drawn drawn;
};

/* Draws some of the documents whose queries were sampled. */
static int draw_some_docs(void *user, struct rw_share *share)
{
    struct doc_job *job = user;
    const struct rw_host *host = job->host;
    const struct rw_engine_rules *rules = &host->base.rules;
    struct drawn own = none_drawn;
    struct rw_philox four = {{0, 0, 0, 0}}; /* random numbers of documents 4 drawn to 4 drawn + 3 */
    uint64_t drawn = UINT64_MAX;
    RW_SHARE_EACH(share, doc) {
        const uint64_t number =
            host->base.first_doc + doc; /* number among all workers' documents */
        if (!host->sampled[doc])
            continue;
        if (number / 4 != drawn) {
            drawn = number / 4;
            four = rw_random4(rules->seed, drawn, host->tree, RW_STREAM_SAMPLE_DOC);
        }
        const uint32_t random = four.word[number % 4];
        host->sampled[doc] = random < rules->doc_threshold;
        add_drawn(&own, host->sampled[doc], (uint32_t)doc, random);
    }
    rw_share_lock(share);
    add_drawn(&job->drawn, own.n_kept, own.lowest, own.lowest_random);
    rw_share_unlock(share);
    return RW_OK;
}

/* Draws documents of the sampled queries, at least one over all workers. */
static int draw_docs(struct rw_host *host)
{
    struct doc_job job = {host, none_drawn};
    uint32_t lowest;
    rw_parallel(host->base.ctx, threads_of(host, PARALLEL_DRAWN), host->base.n_docs[0], 0,
                draw_some_docs, &job);
    RW_TRY(keep_lowest(&host->base, &job.drawn, host->base.first_doc, &lowest));
    if (lowest != UINT32_MAX)
        host->sampled[lowest] = 1;
    return RW_OK;
}

/* Draws queries, at least one over all workers. */
static int draw_queries(struct rw_host *host)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    struct drawn drawn = none_drawn;
    uint32_t lowest;
    for (uint32_t q = 0; q < host->n_queries; q++) {
        const uint64_t query = host->base.first_query + (uint64_t)q;
        const uint64_t number = rw_query_number(
            rw_random(rules->seed, query, host->tree, RW_STREAM_SAMPLE_QUERY),
            rw_random(rules->bag_seed, rw_bag_item(rules->bag, query), 0, RW_STREAM_BAG),
            rules->bag_threshold);
        host->query_sampled[q] = number < rules->query_threshold;
        add_drawn(&drawn, host->query_sampled[q], q,
                  number <= UINT32_MAX ? (uint32_t)number : UINT32_MAX);
    }
    RW_TRY(keep_lowest(&host->base, &drawn, host->base.first_query, &lowest));
    if (lowest != UINT32_MAX)
        host->query_sampled[lowest] = 1;
    return RW_OK;
}

/* Draws the sample of the tree: feature_sampled, query_sampled and sampled. Lambdas depend on whole
 * queries, so they are computed for all documents of sampled queries, also for those outside the
 * sample. */
static int draw_samples(struct rw_host *host)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const uint32_t *offset = host->query_offset;
    rw_host_draw_features(&host->base, host->tree, host->feature_sampled);
    memset(host->query_sampled, 1, host->n_queries);
    if (rw_rules_sample_queries(rules))
        RW_TRY(draw_queries(host));
    for (uint32_t q = 0; q < host->n_queries; q++)
        memset(host->sampled + offset[q], host->query_sampled[q], offset[q + 1] - offset[q]);
    return rules->doc_threshold <= UINT32_MAX ? draw_docs(host) : RW_OK;
}

struct magnitude_job {
    const struct rw_host *host;
    double largest[2]; /* largest magnitudes of sampled documents' gradients and hessians */
};

/* Returns a document's real gradient or hessian times the document's weight. */
static double weighed(const struct rw_host *host, const double *values, uint64_t doc)
{
    return host->weight_doc ? values[doc] * host->weight_doc[doc] : values[doc];
}

static int find_largest(void *user, struct rw_share *share)
{
    struct magnitude_job *job = user;
    const struct rw_host *host = job->host;
    double own[2] = {0.0, 0.0};
    RW_SHARE_EACH(share, i) {
        const double g = fabs(weighed(host, host->gradient, i));
        const double h = fabs(weighed(host, host->hessian, i));
        own[0] = host->sampled[i] && g > own[0] ? g : own[0];
        own[1] = host->sampled[i] && h > own[1] ? h : own[1];
    }
    rw_share_lock(share);
    for (int k = 0; k < 2; k++)
        job->largest[k] = own[k] > job->largest[k] ? own[k] : job->largest[k];
    rw_share_unlock(share);
    return RW_OK;
}

/* The conversion of a tree's gradients. */
struct gradient_job {
    const struct rw_host *host;
    double lambda_scale, hessian_scale; /* factors from real numbers to fixed point */
    struct rw_extent extent;
};

/* Converts gradients to fixed point unless they are, and adds the sampled documents to the
 * extent. */
static int fixed_point(void *user, struct rw_share *share)
{
    struct gradient_job *job = user;
    const struct rw_host *host = job->host;
    struct rw_extent own = {0};
    for (uint64_t first, last, end; rw_share_next(share, &first, &last);) {
        for (; first < last; first = end) { /* CHUNK documents, which fit the cache */
            end = last - first < CHUNK ? last : first + CHUNK;
            for (uint64_t i = first; i < end && !host->is_fixed; i++) {
                if (host->sampled[i]) {
                    host->lambda[i] =
                        rw_round_int64(weighed(host, host->gradient, i) * job->lambda_scale);
                    host->hess[i] =
                        rw_round_int64(weighed(host, host->hessian, i) * job->hessian_scale);
                }
            }
            rw_extent_add(host->isa, (uint32_t)(end - first), host->sampled + first,
                          host->lambda + first, host->hess + first, &own);
        }
    }
    rw_share_lock(share);
    rw_extent_merge(&job->extent, &own);
    rw_share_unlock(share);
    return RW_OK;
}

/* Chooses the scale at which this tree's real gradients are converted to fixed point. */
static int choose_scale(struct rw_host *host)
{
    struct rw_ctx *ctx = host->base.ctx;
    struct magnitude_job of_all = {host, {0.0, 0.0}};
    rw_parallel(ctx, threads_of(host, PARALLEL_DOCS), host->base.n_docs[0], 0, find_largest,
                &of_all);
    const struct magnitude_job own = of_all;
    RW_TRY(rw_comm_max_doubles(ctx, of_all.largest, 2));
    for (int k = 0; k < 2; k++) {
        if (rw_n_workers(ctx) > 1 &&
            !(of_all.largest[k] >= own.largest[k] && of_all.largest[k] < INFINITY))
            return rw_comm_nonsense(ctx, "gradients");
    }
    host->root.lambda_exponent = rw_fixed_exponent(of_all.largest[0], RW_LAMBDA_EXPONENT);
    host->root.hess_exponent = rw_fixed_exponent(of_all.largest[1], RW_LAMBDA_EXPONENT);
    return RW_OK;
}

struct quantise_job {
    const struct rw_host *host;
    struct rw_rounding rounding;
    const int64_t *values; /* [n_docs] */
    int32_t *out;          /* [n_docs] */
    int wants_squares;
    uint64_t sum, squares; /* over the sampled documents of this worker; modulo 2^64 */
};

static int quantise_some(void *user, struct rw_share *share)
{
    struct quantise_job *job = user;
    const struct rw_host *host = job->host;
    uint64_t own = 0, squares = 0;
    for (uint64_t first, end; rw_share_next(share, &first, &end);) {
        own += (uint64_t)rw_quantise_docs(
            host->isa, &job->rounding, host->base.first_doc + (uint32_t)first,
            (uint32_t)(end - first), host->sampled + first, job->values + first, job->out + first);
        for (uint64_t doc = first; job->wants_squares && doc < end; doc++) {
            const int64_t q = host->sampled[doc] ? job->out[doc] : 0;
            squares += (uint64_t)(q * q);
        }
    }
    rw_share_add(share, &job->sum, own);
    rw_share_add(share, &job->squares, squares);
    return RW_OK;
}

static struct quantise_job quantise(const struct rw_host *host, const int64_t *values, int shift,
                                    uint32_t stream, int32_t *out, int wants_squares)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    struct quantise_job job = {.host = host,
                               .rounding = {.shift = shift,
                                            .nearest = rules->nearest,
                                            .seed = rules->seed,
                                            .tree = host->tree,
                                            .stream = stream},
                               .values = values,
                               .out = out,
                               .wants_squares = wants_squares};
    rw_parallel(host->base.ctx, threads_of(host, PARALLEL_DOCS), host->base.n_docs[0], 0,
                quantise_some, &job);
    return job;
}

/* Replaces the extent of this worker's documents by that of all workers' documents. */
static int all_extents(struct rw_engine *engine, struct rw_extent *extent)
{
    struct rw_ctx *ctx = engine->ctx;
    const struct rw_extent own = *extent;
    struct rw_sum *sum = &extent->sum;
    uint64_t largest[2] = {(uint64_t)extent->lambda, (uint64_t)extent->hess};
    if (rw_n_workers(ctx) == 1)
        return RW_OK;
    RW_TRY(rw_comm_max(ctx, largest, 2));
    extent->lambda = (int64_t)largest[0];
    extent->hess = (int64_t)largest[1];
    RW_TRY(rw_workers_leaf_sums(ctx, sum, 1));
    return extent->lambda >= own.lambda && extent->hess >= own.hess && sum->n >= own.sum.n &&
                   sum->n <= engine->all_docs
               ? RW_OK
               : rw_comm_nonsense(ctx, "sums of gradients");
}

int rw_host_begin_tree(struct rw_host *host, uint32_t tree, struct rw_root *out)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_user_gradients *made;
    struct rw_root *root = &host->root;
    memset(root, 0, sizeof(*root));
    host->tree = tree;
    RW_TRY(draw_samples(host));
    root->lambda_exponent = root->hess_exponent = RW_LAMBDA_EXPONENT;
    if (host->gradients)
        RW_TRY(rw_gradients_run(host->gradients, tree, 1.0, host->set[0].score, &made));
    if (!host->is_fixed)
        RW_TRY(choose_scale(host));
    struct gradient_job job = {.host = host,
                               .lambda_scale = rw_pow2(root->lambda_exponent),
                               .hessian_scale = rw_pow2(root->hess_exponent)};
    rw_parallel(host->base.ctx, threads_of(host, PARALLEL_DOCS), host->base.n_docs[0], 0,
                fixed_point, &job);
    RW_TRY(all_extents(&host->base, &job.extent));
    root->sum = job.extent.sum;
    root->lambda_shift = rw_quantise_shift(job.extent.lambda, rules->bits);
    struct rw_quantised_sums sums = {0};
    sums.lambda_squares = quantise(host, host->lambda, root->lambda_shift, RW_STREAM_ROUND_LAMBDA,
                                   host->lambda_q, rw_engine_needs_squares(&host->base))
                              .squares;
    if (rules->newton) {
        root->hess_shift = rw_quantise_shift(job.extent.hess, rules->bits);
        sums.hess = (int64_t)quantise(host, host->hess, root->hess_shift, RW_STREAM_ROUND_HESS,
                                      host->hess_q, 0)
                        .sum;
    }
    if (rules->newton || rw_engine_needs_squares(&host->base))
        RW_TRY(rw_comm_sum(host->base.ctx, (uint64_t *)(void *)&sums,
                           sizeof(sums) / sizeof(uint64_t)));
    for (uint32_t f = 0; f < host->base.info.n_features; f++)
        root->n_features += host->feature_sampled[f];
    rw_engine_set_split_rule(&host->base, root, &sums);
    *out = *root;
    return RW_OK;
}

int rw_host_check_left(const struct rw_host *host, const struct rw_split *split, uint64_t n_left)
{
    if (split->n_left == n_left || rw_n_workers(host->base.ctx) > 1)
        return RW_OK;
    return rw_fail(host->base.ctx, RW_ERR_INTERNAL,
                   "split of slot %d: %llu documents go left, not %u", split->slot,
                   (unsigned long long)n_left, split->n_left);
}

struct rw_split rw_host_set_split(const struct rw_host *host, int32_t slot, uint32_t f,
                                  const struct rw_category_split *found)
{
    return (struct rw_split){.slot = slot,
                             .column = (int32_t)f,
                             .feature = host->set[0].bins->cuts->feature[f],
                             .is_set = 1,
                             .set = found->left,
                             .missing_left = found->missing_left,
                             .gain = found->gain,
                             .noise = rw_host_noise(host, slot, f),
                             .n_left = (uint32_t)found->n_left};
}

void rw_host_level_sets(const struct rw_level *level, uint32_t f, struct rw_split *best)
{
    const struct rw_cuts *cuts = level->host->set[0].bins->cuts;
    const uint32_t n_codes = rw_cuts_n_bins(cuts, f); /* the next one is of missing values */
    struct rw_cell total[RW_MAX_CATEGORY_CODES + 1] = {{0, 0, 0}};
    struct rw_cell cell[RW_MAX_CATEGORY_CODES + 1];
    struct rw_category_level search;
    struct rw_category_split found;
    cell[n_codes] = (struct rw_cell){0, 0, 0};
    for (int i = 0; i < level->n; i++) {
        level->read(level, i, f, cell);
        for (uint32_t code = 0; code <= n_codes; code++)
            rw_cell_add(&total[code], &cell[code]);
    }
    rw_category_level_start(&search, &level->host->base.split_rule, total, n_codes,
                            &total[n_codes]);
    for (int i = 0; i < level->n; i++) {
        level->read(level, i, f, cell);
        rw_category_level_add(&search, cell, &cell[n_codes]);
    }
    rw_category_level_end(&search, rw_host_penalty(level->host, f), &found);
    const struct rw_split split = rw_host_set_split(level->host, level->slots[0], f, &found);
    if (found.gain > 0.0 && rw_split_is_better(&split, best))
        *best = split;
}

void rw_host_level_splits(const struct rw_level *level, const struct rw_split *best,
                          struct rw_split *out)
{
    const struct rw_cuts *cuts = level->host->set[0].bins->cuts;
    const uint32_t f = (uint32_t)best->column;
    struct rw_cell cell[RW_MAX_CODES];
    for (int i = 0; i < level->n; i++) {
        rw_split_copy(&out[i], best);
        out[i].slot = level->slots[i];
        out[i].n_left = 0;
        if (best->column < 0)
            continue;
        const struct rw_coded_node node = rw_coded_split(cuts, best);
        level->read(level, i, f, cell);
        for (uint32_t code = 0; code < rw_cuts_n_codes(cuts, f); code++)
            out[i].n_left += rw_coded_goes_left(&node, code) ? (uint32_t)cell[code].n : 0;
    }
}

int rw_host_code_tree(const struct rw_host *host, const struct rw_tree *tree,
                      struct rw_coded_node *nodes)
{
    struct rw_ctx *ctx = host->base.ctx;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    for (int32_t k = 0; k + 1 < tree->n_leaves; k++) {
        const uint32_t f = rw_cuts_index(cuts, tree->feature[k]);
        const uint32_t n_bins = f < cuts->n_features ? rw_cuts_n_bins(cuts, f) : 0;
        const int by_set = rw_tree_by_set(tree, k);
        if (n_bins && by_set != rw_cuts_by_category(cuts, f))
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "split of feature %u %s, where the training set %s", tree->feature[k],
                           by_set ? "by categories" : "by a threshold",
                           by_set ? "has numbers" : "has categories");
        const float *cut = cuts->cut + (n_bins ? cuts->offset[f] : 0);
        const uint32_t bin = n_bins ? rw_bin_of(cut, n_bins, tree->cut[k]) : 0;
        if (!n_bins || (!by_set && cut[bin] != tree->cut[k]))
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "split of feature %u at %.9g is not one of the engine's",
                           tree->feature[k], (double)tree->cut[k]);
        nodes[k] = (struct rw_coded_node){.column = f,
                                          .bin = bin,
                                          .missing_code = n_bins,
                                          .missing_left = tree->missing_left[k],
                                          .left = tree->left[k],
                                          .right = tree->right[k],
                                          .set = by_set ? tree->set[k].word : NULL};
    }
    return RW_OK;
}

void rw_extent_add(enum rw_isa isa, uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                   const int64_t *hessian, struct rw_extent *extent)
{
    static rw_extent_fn *const paths[] = RW_ISA_PATHS(rw_extent_add);
    paths[isa](n, sampled, lambda, hessian, extent);
}

void rw_extent_merge(struct rw_extent *extent, const struct rw_extent *other)
{
    extent->lambda = other->lambda > extent->lambda ? other->lambda : extent->lambda;
    extent->hess = other->hess > extent->hess ? other->hess : extent->hess;
    rw_sum_merge(&extent->sum, &other->sum);
}

int64_t rw_quantise_docs(enum rw_isa isa, const struct rw_rounding *rounding, uint32_t first,
                         uint32_t n, const uint8_t *sampled, const int64_t *value, int32_t *out)
{
    static rw_quantise_fn *const paths[] = RW_ISA_PATHS(rw_quantise_docs);
    return paths[isa](rounding, first, n, sampled, value, out);
}

/* ---- data that is already binned: the selection of its features ---- */

struct selection {
    const struct rw_bins *from;
    const struct rw_cut_rule *rule;
    struct rw_feature_cuts *found; /* [n_features] views of `from` */
    /* Number of documents with each code, over all workers. The counts of feature f begin at
     * cuts->offset[f] + f. */
    uint32_t *count;
};

static int is_ignored(const struct selection *job, uint32_t f)
{
    return job->rule->ignore && job->rule->ignore[job->from->cuts->feature[f]];
}

static int count_some(void *user, struct rw_share *share)
{
    const struct selection *job = user;
    const struct rw_cuts *cuts = job->from->cuts;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        if (!is_ignored(job, (uint32_t)f))
            rw_bins_count(job->from, (uint32_t)f, job->count + cuts->offset[f] + f);
    }
    return RW_OK;
}

static void select_features(const struct selection *job)
{
    const struct rw_cuts *cuts = job->from->cuts;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
        const uint32_t *count = job->count + cuts->offset[f] + f;
        struct rw_feature_cuts *found = &job->found[f];
        *found = (struct rw_feature_cuts){.cut = cuts->cut + cuts->offset[f],
                                          .n_bins = n_bins,
                                          .has_missing = cuts->has_missing[f],
                                          .by_category = (uint8_t)rw_cuts_by_category(cuts, f),
                                          .reason = RW_CUT_IGNORED};
        if (is_ignored(job, f))
            continue;
        const uint32_t n_missing = cuts->has_missing[f] ? count[n_bins] : 0;
        found->reason = (found->by_category ? rw_categories_can_split : rw_cuts_can_split)(
                            count, n_bins, n_missing, job->rule->min_docs)
                            ? RW_CUT_IN_USE
                            : RW_CUT_FEW;
    }
}

int rw_host_ready_cuts(struct rw_host *host, const struct rw_bins *ready, struct rw_cuts **out,
                       uint32_t **column)
{
    struct rw_ctx *ctx = host->base.ctx;
    const struct rw_cuts *from = ready->cuts;
    RW_FREED struct rw_feature_cuts *found = NULL;
    RW_FREED uint32_t *count = NULL;
    RW_FREED struct rw_column *of = NULL;
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    const size_t n_counts = (size_t)from->offset[from->n_features] + from->n_features;
    *out = NULL;
    *column = NULL;
    if (!rw_cut_rule_serves(&ready->rule, &host->base.rules.cut))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the training set was binned for other values of bins, absent or min-docs\n"
                       "hint: rw_binned_read takes the parameters of the training");
    int status = RW_NEW(ctx, found, from->n_features);
    status = status < 0 ? status : RW_NEW(ctx, of, from->n_features);
    status = status < 0 ? status : RW_NEW(ctx, count, n_counts);
    RW_TRY(rw_comm_agree(ctx, status));
    for (uint32_t f = 0; f < from->n_features; f++)
        of[f].feature = from->feature[f];
    const struct rw_dataset ids = {.n_columns = from->n_features, .column = of};
    struct selection job = {
        .from = ready, .rule = &host->base.rules.cut, .found = found, .count = count};
    RW_TRY(rw_parallel(ctx, ctx->n_threads, from->n_features, 1, count_some, &job));
    RW_TRY(rw_comm_all_reduce(ctx, count, n_counts, RW_COMM_U32, RW_COMM_SUM));
    select_features(&job);
    RW_TRY(rw_cuts_gather(ctx, &ids, found, &cuts));
    cuts->n_constant += from->n_constant;
    cuts->n_few += from->n_few; /* 0 if `ready` came from a binned-data cache */
    RW_TRY(RW_NEW(ctx, *column, cuts->n_features));
    for (uint32_t f = 0, at = 0; f < from->n_features; f++) {
        if (found[f].reason == RW_CUT_IN_USE)
            (*column)[at++] = f;
    }
    *out = RW_TAKE(cuts);
    return RW_OK;
}

int rw_host_plan_cuts(struct rw_host *host, const struct rw_dataset *dataset,
                      const struct rw_bins *ready, struct rw_cuts **cuts, uint32_t **column)
{
    *column = NULL;
    return ready ? rw_host_ready_cuts(host, ready, cuts, column)
                 : rw_cuts_make(host->base.ctx, dataset, &host->base.rules.cut, cuts);
}

int rw_host_bins_of_cuts(struct rw_host *host, struct rw_cuts *cuts, int owns_cuts, uint32_t n_docs,
                         struct rw_bins **out)
{
    struct rw_ctx *ctx = host->base.ctx;
    RW_FREED struct rw_bins *bins = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, bins, 1));
    RW_TRY(RW_NEW(ctx, bins->codes, cuts->n_features));
    bins->cuts = cuts;
    bins->n_docs = n_docs;
    bins->rule = host->base.rules.cut;
    bins->rule.ignore = NULL;
    bins->rule.categories = NULL;
    bins->owns_cuts = owns_cuts;
    *out = RW_TAKE(bins);
    return RW_OK;
}

void rw_host_count_features(struct rw_host *host, const struct rw_cuts *cuts)
{
    host->base.info = (struct rw_engine_info){.n_features = cuts->n_features,
                                              .n_bins = cuts->offset[cuts->n_features],
                                              .n_constant = cuts->n_constant,
                                              .n_few = cuts->n_few,
                                              .n_ignored = cuts->n_ignored};
    host->base.cuts = cuts;
}

enum { SUMMED_DOCS = 1024 }; /* documents summed at a time; their weights fit the cache */

struct code_sum_job {
    const struct rw_bins *bins;
    uint64_t first_doc;
    uint64_t *sums; /* [n_features] */
};

/* Returns the weighted sum of a column's codes over documents [begin, end). weight: [end - begin]
 * rw_code_weight of each document. all: sum of these weights. */
static uint64_t sum_column(const struct rw_bins *bins, uint32_t f, uint32_t begin, uint32_t end,
                           const uint64_t *weight, uint64_t all)
{
    const struct rw_codes *codes = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    const uint32_t *row = codes->row, rest = row ? codes->rest : 0;
    const uint32_t from = row ? rw_numbers_under(row, codes->n, begin) : begin;
    const uint32_t to = row ? rw_numbers_under(row, codes->n, end) : end;
    uint64_t sum = all * rest;
    for (uint32_t i = from; i < to; i++)
        sum += weight[(row ? row[i] : i) - begin] *
               ((uint64_t)rw_codes_get(codes->code, bytes, i) - rest);
    return sum;
}

static int sum_some(void *user, struct rw_share *share)
{
    const struct code_sum_job *job = user;
    uint64_t weight[SUMMED_DOCS];
    for (uint64_t first, end; rw_share_next(share, &first, &end);) {
        uint64_t all = 0;
        for (uint64_t doc = first; doc < end; doc++)
            all += weight[doc - first] = rw_code_weight(job->first_doc + doc);
        for (uint32_t f = 0; f < job->bins->cuts->n_features; f++)
            rw_share_add(share, &job->sums[f],
                         sum_column(job->bins, f, (uint32_t)first, (uint32_t)end, weight, all));
    }
    return RW_OK;
}

int rw_host_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    struct rw_host *host = (struct rw_host *)engine;
    struct code_sum_job job = {host->set[set].bins, first_doc, sums};
    memset(sums, 0, engine->info.n_features * sizeof(*sums));
    return rw_parallel(engine->ctx, engine->n_threads, engine->n_docs[set], SUMMED_DOCS, sum_some,
                       &job);
}
