#include "tree/host/engine_host.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "metric/metric.h"
#include "tree/quantise.h"

/* Documents under which a parallel region costs more than it gains. */
enum { PARALLEL_DOCS = 16384, PARALLEL_PAIR_DOCS = 2048, CHUNK = 4096 };

int rw_host_open(struct rw_ctx *ctx, const struct rw_engine_ops *ops, size_t bytes,
                 struct rw_engine **out)
{
    RW_TRY(rw_mem_new(ctx, (void **)out, 1, bytes));
    (*out)->ops = ops;
    (*out)->ctx = ctx;
    return RW_OK;
}

int rw_host_new(struct rw_host *host, void **out, size_t n, size_t size, int raw)
{
    host->base.info.bytes += n * size;
    if (!host->alloc)
        return (raw ? rw_mem_new_raw : rw_mem_new)(host->base.ctx, out, n, size);
    RW_TRY(host->alloc(&host->base, out, n * size));
    if (!raw)
        memset(*out, 0, n * size);
    return RW_OK;
}

void rw_host_drop(struct rw_host *host, void *p)
{
    if (!host->free)
        rw_mem_free(p);
    else if (p)
        host->free(&host->base, p);
}

void rw_host_release(struct rw_host *host)
{
    for (int i = RW_MAX_SETS - 1; i >= 0; i--) {
        struct rw_bins *bins = host->set[i].bins;
        if (bins && host->free) {
            for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
                rw_host_drop(host, bins->codes[f].row);
                rw_host_drop(host, bins->codes[f].code);
            }
            bins->codes_are_views = 1;
        }
        rw_bins_free(bins);
        rw_host_drop(host, host->set[i].score);
    }
    void *const owned[] = {host->query_offset, host->label,    host->gain,           host->ideal,
                           host->weight_doc,   host->discount, host->gradient,       host->hessian,
                           host->lambda,       host->weight,   host->lambda_q,       host->hess_q,
                           host->sampled,      host->order,    host->feature_sampled};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_host_drop(host, owned[i]);
}

/* ---- loading ---- */

static int copy(struct rw_host *host, void **out, const void *from, size_t n, size_t size)
{
    RW_TRY(rw_host_new(host, out, n, size, 1));
    memcpy(*out, from, n * size);
    return RW_OK;
}

/* What an objective that ranks looks at. */
static int load_rank_tables(struct rw_host *host, const struct rw_dataset *dataset,
                            const double *gains)
{
    RW_TRY(copy(host, (void **)&host->gain, gains, dataset->n_docs, sizeof(*gains)));
    RW_TRY(RW_HOST_NEW_RAW(host, host->ideal, host->n_queries));
    RW_TRY(RW_HOST_NEW_RAW(host, host->discount, host->longest));
    RW_TRY(RW_HOST_NEW_RAW(host, host->order, (size_t)host->base.n_threads * host->longest));
    rw_discounts(host->discount, host->longest);
    return rw_ideal_dcgs(host->base.ctx, gains, dataset->query_offset, host->n_queries,
                         host->base.rules.lambda.truncation, host->discount, host->ideal);
}

static int load_training(struct rw_host *host, const struct rw_dataset *dataset,
                         const double *gains)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_objective *objective = rules->objective;
    const struct rw_objective_rule rule = {.pair = rules->lambda};
    const size_t n = dataset->n_docs;
    host->n_queries = dataset->n_queries;
    RW_TRY(copy(host, (void **)&host->query_offset, dataset->query_offset,
                (size_t)dataset->n_queries + 1, sizeof(uint32_t)));
    host->longest = rw_longest_query(dataset->query_offset, dataset->n_queries);
    double most = 1.0;
    if (dataset->weight) {
        RW_TRY(copy(host, (void **)&host->weight_doc, dataset->weight, n, sizeof(double)));
        most = 0.0;
        for (size_t i = 0; i < n; i++)
            most = dataset->weight[i] > most ? dataset->weight[i] : most;
    }
    if (objective && objective->check)
        RW_TRY(objective->check(host->base.ctx, &rule, host->longest, most));
    if (!objective || !objective->is_fixed) {
        RW_TRY(RW_HOST_NEW_RAW(host, host->gradient, n));
        RW_TRY(RW_HOST_NEW_RAW(host, host->hessian, n));
    }
    if (rw_rules_rank(rules))
        RW_TRY(load_rank_tables(host, dataset, gains));
    else if (objective)
        RW_TRY(copy(host, (void **)&host->label, dataset->label, n, sizeof(float)));
    RW_TRY(RW_HOST_NEW_RAW(host, host->lambda, n));
    RW_TRY(RW_HOST_NEW_RAW(host, host->weight, n));
    RW_TRY(RW_HOST_NEW_RAW(host, host->lambda_q, n));
    if (rules->newton)
        RW_TRY(RW_HOST_NEW_RAW(host, host->hess_q, n));
    RW_TRY(RW_HOST_NEW_RAW(host, host->sampled, n));
    return RW_HOST_NEW_RAW(host, host->feature_sampled, host->base.info.n_features);
}

int rw_host_load(struct rw_host *host, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains)
{
    RW_TRY(rw_host_make_bins(host, set, dataset, bins));
    RW_TRY(rw_host_move_codes(host, host->set[set].bins));
    RW_TRY(RW_HOST_NEW(host, host->set[set].score, dataset->n_docs));
    if (set > 0)
        return RW_OK;
    return load_training(host, dataset, gains);
}

/* Documents [first, end)'s weights multiply their real gradients. */
static void weigh_reals(struct rw_host *host, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; host->weight_doc && i < end; i++) {
        host->gradient[i] *= host->weight_doc[i];
        host->hessian[i] *= host->weight_doc[i];
    }
}

/* ---- operations ---- */

int rw_host_set_gradients(struct rw_engine *engine, const double *gradients, const double *hessians)
{
    struct rw_host *host = (struct rw_host *)engine;
    memcpy(host->gradient, gradients, engine->n_docs[0] * sizeof(*gradients));
    memcpy(host->hessian, hessians, engine->n_docs[0] * sizeof(*hessians));
    weigh_reals(host, 0, engine->n_docs[0]);
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

int rw_host_read_integers(struct rw_engine *engine, int64_t *lambda, int64_t *weight,
                          int32_t *lambda_q, int32_t *hess_q, uint8_t *sampled)
{
    const struct rw_host *host = (const struct rw_host *)engine;
    const size_t n = engine->n_docs[0];
    memcpy(lambda, host->lambda, n * sizeof(*lambda));
    memcpy(weight, host->weight, n * sizeof(*weight));
    memcpy(lambda_q, host->lambda_q, n * sizeof(*lambda_q));
    if (host->hess_q)
        memcpy(hess_q, host->hess_q, n * sizeof(*hess_q));
    memcpy(sampled, host->sampled, n);
    return RW_OK;
}

/* ---- the start of a tree ---- */

void rw_host_draw(uint8_t *kept, uint32_t n, const uint32_t *item, uint64_t threshold,
                  uint64_t seed, uint32_t tree, uint32_t stream)
{
    uint32_t n_kept = 0, lowest = 0, lowest_random = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t random = rw_random(seed, item ? item[i] : i, tree, stream);
        kept[i] = random < threshold;
        n_kept += kept[i];
        if (random < lowest_random) {
            lowest_random = random;
            lowest = i;
        }
    }
    if (n > 0 && n_kept == 0)
        kept[lowest] = 1;
}

static int draw_samples(struct rw_host *host)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    rw_host_draw(host->feature_sampled, cuts->n_features, cuts->feature, rules->feature_threshold,
                 rules->seed, host->tree, RW_STREAM_SAMPLE_FEATURE);
    if (rules->query_threshold > UINT32_MAX) {
        memset(host->sampled, 1, host->base.n_docs[0]);
        return RW_OK;
    }
    /* drawn into the first bytes, then spread from the last query to the first: query q's first
     * document is at q or after it, so nothing is overwritten before it is read */
    uint8_t *kept = host->sampled;
    rw_host_draw(kept, host->n_queries, NULL, rules->query_threshold, rules->seed, host->tree,
                 RW_STREAM_SAMPLE_QUERY);
    for (uint32_t q = host->n_queries; q-- > 0;) {
        const uint8_t keep = kept[q];
        const uint32_t first = host->query_offset[q];
        memset(host->sampled + first, keep, host->query_offset[q + 1] - first);
    }
    return RW_OK;
}

/* Chunks of documents, for loops that threads share. */
static uint32_t n_chunks(const struct rw_host *host)
{
    return host->base.n_docs[0] / CHUNK + (host->base.n_docs[0] % CHUNK > 0);
}

static uint32_t end_of(const struct rw_host *host, uint32_t chunk)
{
    const uint32_t n = host->base.n_docs[0];
    return n - chunk * CHUNK < CHUNK ? n : (chunk + 1) * CHUNK;
}

/* Adds what documents [first, end) are to the extent. */
static void add_extent(const struct rw_host *host, uint32_t first, uint32_t end,
                       struct rw_extent *extent)
{
    rw_extent_add(host->fast ? host->isa : RW_ISA_PLAIN, end - first, host->sampled + first,
                  host->lambda + first, host->weight + first, extent);
}

/* What the objective makes of a query. order: [longest] scratch. */
static void gradients_of_query(const struct rw_host *host, uint32_t q, uint32_t *order)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    const struct rw_objective_rule rule = {.pair = rules->lambda};
    const size_t first = host->query_offset[q];
    const struct rw_objective_query query = {
        .n = host->query_offset[q + 1] - host->query_offset[q],
        .isa = host->isa,
        .fast = host->fast,
        .scores = host->set[0].score + first,
        .labels = host->label ? host->label + first : NULL,
        .weights = host->weight_doc ? host->weight_doc + first : NULL,
        .gains = host->gain ? host->gain + first : NULL,
        .discounts = host->discount,
        .ideal = host->ideal ? host->ideal[q] : 0.0,
        .order = order,
        .lambda = host->lambda + first,
        .weight = host->weight + first,
        .gradient = host->gradient ? host->gradient + first : NULL,
        .hessian = host->hessian ? host->hessian + first : NULL};
    rules->objective->query(&rule, &query);
}

/* Threads that pay for the training set's documents. */
static int threads_of(const struct rw_host *host, uint32_t least_docs)
{
    return host->base.n_docs[0] >= least_docs ? host->base.n_threads : 1;
}

struct gradient_job {
    const struct rw_host *host;
    double lambda_scale, weight_scale; /* real gradients to fixed point */
    struct rw_extent *extent;
};

static int fixed_of_queries(void *user, struct rw_share *share)
{
    const struct gradient_job *job = user;
    const struct rw_host *host = job->host;
    uint32_t *order = host->order + (size_t)share->thread * host->longest;
    struct rw_extent own = {0};
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++) {
            if (!host->sampled[host->query_offset[q]])
                continue;
            gradients_of_query(host, (uint32_t)q, order);
            add_extent(host, host->query_offset[q], host->query_offset[q + 1], &own);
        }
    }
    rw_share_lock(share);
    rw_extent_merge(job->extent, &own);
    rw_share_unlock(share);
    return RW_OK;
}

/* An objective's own fixed point. */
static void fixed_gradients(struct rw_host *host, struct rw_extent *extent)
{
    struct gradient_job job = {.host = host, .extent = extent};
    rw_parallel(host->base.ctx, threads_of(host, PARALLEL_PAIR_DOCS), host->n_queries, 4,
                fixed_of_queries, &job);
}

struct magnitude_job {
    const struct rw_host *host;
    const double *values; /* [n_docs] */
    double largest;
};

static int largest_of(void *user, struct rw_share *share)
{
    struct magnitude_job *job = user;
    double own = 0.0;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        for (; i < end; i++) {
            if (job->host->sampled[i] && fabs(job->values[i]) > own)
                own = fabs(job->values[i]);
        }
    }
    rw_share_lock(share);
    job->largest = own > job->largest ? own : job->largest;
    rw_share_unlock(share);
    return RW_OK;
}

/* The exponent that brings the largest magnitude of the sampled documents into [2^60, 2^61). */
static int exponent_of(const struct rw_host *host, const double *values)
{
    struct magnitude_job job = {host, values, 0.0};
    rw_parallel(host->base.ctx, threads_of(host, PARALLEL_DOCS), host->base.n_docs[0], 0,
                largest_of, &job);
    return rw_fixed_exponent(job.largest, RW_LAMBDA_EXPONENT);
}

static int reals_of_queries(void *user, struct rw_share *share)
{
    struct rw_host *host = user;
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++) {
            gradients_of_query(host, (uint32_t)q, NULL);
            weigh_reals(host, host->query_offset[q], host->query_offset[q + 1]);
        }
    }
    return RW_OK;
}

static int fixed_point(void *user, struct rw_share *share)
{
    const struct gradient_job *job = user;
    const struct rw_host *host = job->host;
    struct rw_extent own = {0};
    for (uint64_t chunk, last; rw_share_next(share, &chunk, &last);) {
        for (; chunk < last; chunk++) {
            const uint32_t first = (uint32_t)chunk * CHUNK, end = end_of(host, (uint32_t)chunk);
            for (uint32_t i = first; i < end; i++) {
                if (host->sampled[i]) {
                    host->lambda[i] = rw_round_int64(host->gradient[i] * job->lambda_scale);
                    host->weight[i] = rw_round_int64(host->hessian[i] * job->weight_scale);
                }
            }
            add_extent(host, first, end, &own);
        }
    }
    rw_share_lock(share);
    rw_extent_merge(job->extent, &own);
    rw_share_unlock(share);
    return RW_OK;
}

/* Real gradients and weights to fixed point, at a scale of the tree's own. */
static void real_gradients(struct rw_host *host, struct rw_extent *extent)
{
    struct rw_ctx *ctx = host->base.ctx;
    const int n_threads = threads_of(host, PARALLEL_DOCS);
    if (host->base.rules.objective)
        rw_parallel(ctx, n_threads, host->n_queries, 0, reals_of_queries, host);
    host->root.lambda_exponent = exponent_of(host, host->gradient);
    host->root.weight_exponent = exponent_of(host, host->hessian);
    struct gradient_job job = {.host = host,
                               .lambda_scale = rw_pow2(host->root.lambda_exponent),
                               .weight_scale = rw_pow2(host->root.weight_exponent),
                               .extent = extent};
    rw_parallel(ctx, n_threads, n_chunks(host), 0, fixed_point, &job);
}

struct quantise_job {
    const struct rw_host *host;
    struct rw_rounding rounding;
    const int64_t *values; /* [n_docs] */
    int32_t *out;          /* [n_docs] */
    int64_t sum;
};

static int quantise_chunks(void *user, struct rw_share *share)
{
    struct quantise_job *job = user;
    const struct rw_host *host = job->host;
    const enum rw_isa isa = host->fast ? host->isa : RW_ISA_PLAIN;
    int64_t own = 0;
    for (uint64_t chunk, last; rw_share_next(share, &chunk, &last);) {
        for (; chunk < last; chunk++) {
            const uint32_t first = (uint32_t)chunk * CHUNK, end = end_of(host, (uint32_t)chunk);
            own += rw_quantise_docs(isa, &job->rounding, first, end - first, host->sampled + first,
                                    job->values + first, job->out + first);
        }
    }
    rw_share_lock(share);
    job->sum += own;
    rw_share_unlock(share);
    return RW_OK;
}

/* Returns the sum over the sampled documents. */
static int64_t quantise(const struct rw_host *host, const int64_t *values, int shift,
                        uint32_t stream, int32_t *out)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    struct quantise_job job = {.host = host,
                               .rounding = {.shift = shift,
                                            .nearest = rules->nearest,
                                            .seed = rules->seed,
                                            .tree = host->tree,
                                            .stream = stream},
                               .values = values,
                               .out = out};
    rw_parallel(host->base.ctx, threads_of(host, PARALLEL_DOCS), n_chunks(host), 0, quantise_chunks,
                &job);
    return job.sum;
}

int rw_host_begin_tree(struct rw_host *host, uint32_t tree, struct rw_root *out)
{
    const struct rw_engine_rules *rules = &host->base.rules;
    struct rw_root *root = &host->root;
    memset(root, 0, sizeof(*root));
    host->tree = tree;
    RW_TRY(draw_samples(host));
    root->lambda_exponent = root->weight_exponent = RW_LAMBDA_EXPONENT;
    struct rw_extent extent = {0};
    if (rules->objective && rules->objective->is_fixed)
        fixed_gradients(host, &extent);
    else
        real_gradients(host, &extent);
    root->sum = extent.sum;
    root->lambda_shift = rw_quantise_shift(extent.lambda, rules->bits);
    quantise(host, host->lambda, root->lambda_shift, RW_STREAM_ROUND_LAMBDA, host->lambda_q);
    int64_t hess_q_sum = 0;
    if (rules->newton) {
        root->weight_shift = rw_quantise_shift(extent.weight, rules->bits);
        hess_q_sum =
            quantise(host, host->weight, root->weight_shift, RW_STREAM_ROUND_WEIGHT, host->hess_q);
    }
    for (uint32_t f = 0; f < host->base.info.n_features; f++)
        root->n_features += host->feature_sampled[f];
    rw_engine_set_split_rule(&host->base, root, hess_q_sum);
    *out = *root;
    return RW_OK;
}

int rw_host_check_left(const struct rw_host *host, const struct rw_split *split, uint64_t n_left)
{
    if (split->n_left == n_left)
        return RW_OK;
    return rw_fail(host->base.ctx, RW_ERR_INTERNAL,
                   "split of slot %d: %llu documents go left, not %u", split->slot,
                   (unsigned long long)n_left, split->n_left);
}

int rw_host_code_tree(const struct rw_host *host, const struct rw_tree *tree,
                      struct rw_coded_node *nodes)
{
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    for (int32_t k = 0; k + 1 < tree->n_leaves; k++) {
        const uint32_t f = rw_cuts_index(cuts, tree->feature[k]);
        const uint32_t n_bins = f < cuts->n_features ? rw_cuts_n_bins(cuts, f) : 0;
        const float *cut = cuts->cut + (n_bins ? cuts->offset[f] : 0);
        const uint32_t bin = n_bins ? rw_bin_of(cut, n_bins, tree->cut[k]) : 0;
        if (!n_bins || cut[bin] != tree->cut[k])
            return rw_fail(host->base.ctx, RW_ERR_UNSUPPORTED,
                           "split of feature %u at %.9g is none of the engine's", tree->feature[k],
                           (double)tree->cut[k]);
        nodes[k] = (struct rw_coded_node){.column = f,
                                          .bin = bin,
                                          .missing_code = n_bins,
                                          .missing_left = tree->missing_left[k],
                                          .left = tree->left[k],
                                          .right = tree->right[k]};
    }
    return RW_OK;
}
