#include "objective/yetirank.h"

#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dataset/dataset.h"
#include "metric/dcg.h"

enum { DRAWN = 4, FEW = 64, PARALLEL_DOCS = 2048 };

/* Of a random word: u = (word + 1/2) / 2^32, so that u and 1 - u are exact and not 0. */
static double odds_of(uint32_t word)
{
    const double u = ((double)word + 0.5) * 0x1p-32;
    return u / (1.0 - u);
}

/* Rankings 4 k to 4 k + 3 share a document's draw. */
static struct rw_philox draw(uint64_t seed, uint32_t tree, uint32_t document, uint32_t four)
{
    return rw_random4(seed, (uint64_t)four << 32 | document, tree, RW_STREAM_YETIRANK);
}

double rw_yetirank_odds(uint64_t seed, uint32_t tree, uint32_t document, uint32_t permutation)
{
    return odds_of(draw(seed, tree, document, permutation / DRAWN).word[permutation % DRAWN]);
}

void rw_yetirank_powers(const double *scores, uint32_t n, double *power)
{
    double most = scores[0];
    for (uint32_t i = 1; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < n; i++) {
        const double x = (scores[i] - most) * 1.4426950408889634;
        power[i] = rw_exp2(x > -900.0 ? x : -900.0);
    }
}

/* The first `top` places of rw_rank_query. */
static void rank_top(const double *keys, uint32_t n, uint32_t top, uint32_t *order)
{
    uint32_t have = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (have == top && !(keys[i] > keys[order[have - 1]]))
            continue;
        uint32_t r = have < top ? have++ : have - 1;
        for (; r > 0 && keys[i] > keys[order[r - 1]]; r--)
            order[r] = order[r - 1];
        order[r] = i;
    }
}

/* The pairs of one ranking, of which `top` + 1 places are known. */
static void add_neighbours(const struct rw_yetirank_rule *rule,
                           const struct rw_yetirank_query_of *query, uint32_t top)
{
    const uint32_t *order = query->order;
    const float scale = (float)(rw_pow2(RW_LAMBDA_EXPONENT) / (double)rule->permutations);
    for (uint32_t r = 0; r < top; r++) {
        const uint32_t a = order[r], b = order[r + 1];
        if (query->gains[a] == query->gains[b])
            continue;
        const int up = query->gains[a] > query->gains[b];
        const uint32_t hi = up ? a : b, lo = up ? b : a;
        const struct rw_lambda_pair pair = rw_lambda_of_pair(
            (float)(query->gains[hi] - query->gains[lo]), (float)query->position[r],
            (float)(query->scores[hi] - query->scores[lo]), (float)query->ideal, rule->sigma, 0,
            scale);
        query->lambda[hi] += pair.lambda;
        query->lambda[lo] -= pair.lambda;
        query->weight[hi] += pair.weight;
        query->weight[lo] += pair.weight;
    }
}

void rw_yetirank_query(enum rw_isa isa, const struct rw_yetirank_rule *rule,
                       const struct rw_yetirank_query_of *query)
{
    const uint32_t n = query->n, last = n - 1;
    const uint32_t top = rule->truncation && rule->truncation < last ? rule->truncation : last;
    double *power = query->scratch + (size_t)DRAWN * n;
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->weight, 0, n * sizeof(*query->weight));
    if (!((float)query->ideal > 0.0f)) /* pairs are computed in float */
        return;
    rw_yetirank_powers(query->scores, n, power);
    for (uint32_t p = 0; p < rule->permutations; p++) {
        for (uint32_t i = 0; p % DRAWN == 0 && i < n; i++) {
            const struct rw_philox four =
                draw(rule->seed, query->tree, query->first_document + i, p / DRAWN);
            for (uint32_t k = 0; k < DRAWN; k++)
                query->scratch[(size_t)k * n + i] = power[i] * odds_of(four.word[k]);
        }
        const double *keys = query->scratch + (size_t)(p % DRAWN) * n;
        if (top < FEW)
            rank_top(keys, n, top + 1, query->order);
        else
            rw_rank_query_fast(isa, keys, n, query->order);
        add_neighbours(rule, query, top);
    }
}

/* ---- a training set ---- */

struct rw_yetirank {
    struct rw_ctx *ctx; /* borrowed */
    struct rw_yetirank_rule rule;
    enum rw_isa isa;
    int n_threads;
    uint32_t n_queries, longest;
    const uint32_t *query_offset; /* borrowed */
    const double *gains;          /* borrowed */
    double *position, *ideal;     /* [longest], [n_queries] */
    double *scratch;              /* [n_threads][5 longest] */
    uint32_t *order;              /* [n_threads][longest] */
    int64_t *lambda, *weight;     /* [n_threads][longest] */
};

static int make_tables(struct rw_ctx *ctx, struct rw_yetirank *y)
{
    int status = RW_OK;
    double *discount = NULL, *scratch = NULL;
    RW_TRY_OUT(RW_NEW(ctx, discount, y->longest));
    RW_TRY_OUT(RW_NEW(ctx, scratch, y->longest));
    for (uint32_t r = 0; r < y->longest; r++)
        discount[r] = rw_discount(r);
    double weight = 1.0;
    for (uint32_t r = 0; r < y->longest; r++) {
        y->position[r] = weight;
        weight = weight * y->rule.decay;
    }
    for (uint32_t q = 0; q < y->n_queries; q++) {
        const uint32_t first = y->query_offset[q];
        y->ideal[q] = rw_ideal_dcg(y->gains + first, y->query_offset[q + 1] - first,
                                   y->rule.truncation, discount, scratch);
    }
out:
    rw_mem_free(discount);
    rw_mem_free(scratch);
    return status;
}

static int make(struct rw_ctx *ctx, struct rw_yetirank *y, const struct rw_dataset *dataset)
{
    y->n_queries = dataset->n_queries;
    y->query_offset = dataset->query_offset;
    for (uint32_t q = 0; q < y->n_queries; q++) {
        const uint32_t n = y->query_offset[q + 1] - y->query_offset[q];
        y->longest = n > y->longest ? n : y->longest;
    }
    const size_t room = (size_t)y->n_threads * y->longest;
    RW_TRY(RW_NEW(ctx, y->position, y->longest));
    RW_TRY(RW_NEW(ctx, y->ideal, y->n_queries));
    RW_TRY(RW_NEW(ctx, y->scratch, room * (DRAWN + 1)));
    RW_TRY(RW_NEW(ctx, y->order, room));
    RW_TRY(RW_NEW(ctx, y->lambda, room));
    RW_TRY(RW_NEW(ctx, y->weight, room));
    return make_tables(ctx, y);
}

int rw_yetirank_new(struct rw_ctx *ctx, const struct rw_yetirank_rule *rule,
                    const struct rw_dataset *dataset, const double *gains, struct rw_yetirank **out)
{
    struct rw_yetirank *y;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, y, 1));
    *y = (struct rw_yetirank){.ctx = ctx,
                              .rule = *rule,
                              .isa = rw_isa(),
                              .n_threads = dataset->n_docs >= PARALLEL_DOCS ? ctx->n_threads : 1,
                              .gains = gains};
    const int status = make(ctx, y, dataset);
    if (status < 0) {
        rw_yetirank_free(y);
        return status;
    }
    *out = y;
    return RW_OK;
}

void rw_yetirank_free(struct rw_yetirank *y)
{
    if (!y)
        return;
    rw_mem_free(y->position);
    rw_mem_free(y->ideal);
    rw_mem_free(y->scratch);
    rw_mem_free(y->order);
    rw_mem_free(y->lambda);
    rw_mem_free(y->weight);
    rw_mem_free(y);
}

struct run_job {
    struct rw_yetirank *y;
    uint32_t tree;
    const double *scores;
    double *gradients, *hessians;
};

static void run_query(const struct run_job *job, uint32_t q, int thread)
{
    struct rw_yetirank *y = job->y;
    const size_t own = (size_t)thread * y->longest;
    const uint32_t first = y->query_offset[q], n = y->query_offset[q + 1] - first;
    const struct rw_yetirank_query_of query = {.n = n,
                                               .first_document = first,
                                               .tree = job->tree,
                                               .scores = job->scores + first,
                                               .gains = y->gains + first,
                                               .position = y->position,
                                               .ideal = y->ideal[q],
                                               .scratch = y->scratch + own * (DRAWN + 1),
                                               .order = y->order + own,
                                               .lambda = y->lambda + own,
                                               .weight = y->weight + own};
    rw_yetirank_query(y->isa, &y->rule, &query);
    for (uint32_t i = 0; i < n; i++) {
        job->gradients[first + i] = (double)query.lambda[i] * 0x1p-40;
        job->hessians[first + i] = (double)query.weight[i] * 0x1p-40;
    }
}

static int run_queries(void *user, struct rw_share *share)
{
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++)
            run_query(user, (uint32_t)q, share->thread);
    }
    return RW_OK;
}

void rw_yetirank_run(struct rw_yetirank *y, uint32_t tree, const double *scores, double *gradients,
                     double *hessians)
{
    struct run_job job = {y, tree, scores, gradients, hessians};
    rw_parallel(y->ctx, y->n_threads, y->n_queries, 4, run_queries, &job);
}
