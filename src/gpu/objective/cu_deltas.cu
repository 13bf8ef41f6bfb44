/* Computes lambdarank's gradients by every delta except NDCG's, and those of drawn pairs. They
 * equal the doubles of objective/lambdarank.c: deltas and pairs come from the inline functions that
 * the host uses, and each sum is added in the host's order. cu_gradient.cu makes integers of them.
 *
 * Decomposition: a warp per query. It first writes two arrays by position: grades, and prefixes
 * over the documents above. Then each lane computes one pair of 32 at a time, and writes it to
 * shared memory if it has any. Lanes 0 to 2 add these in order: gradients, hessians, and the
 * query's lambdas. Pairs of the top documents are computed row by row. A row has one upper document
 * and all partners below it, or for relevance those of the other grade, through a list. Each
 * partner has one pair per row, which its own lane adds, so only the upper document's sums need an
 * order. Drawn pairs are in the order of the documents' grades. Lanes 0 and 1 add them to both
 * documents. */
#include "gpu/objective/lambda_block.cuh"
#include "objective/objective.h"

enum { THREADS = 128, WARPS = THREADS / 32 };

/* Kernels are compiled for each KIND, an enum rw_delta_kind, whose name is also a function's. */
__device__ static constexpr bool is_of_relevance(int kind)
{
    return kind == RW_DELTA_MAP || kind == RW_DELTA_MRR || kind == RW_DELTA_P;
}

/* Up to 32 pairs of a warp, in order. The extra element keeps lanes 0 to 2 on different banks. */
struct pairs {
    double value[3][33];            /* gradient, hessian, lambda */
    uint32_t better[32], worse[32]; /* drawn pairs: documents */
};

struct ranked {
    struct rw_delta_query delta;
    const uint32_t *order; /* documents by position */
    uint32_t *list;        /* the relevant positions, rising; from the end, the others, rising */
    uint32_t first, n_relevant;
    int norm;
    double sum; /* lane 2: of the pairs' lambdas; lanes 0 and 1: scratch */
};

/* Does the work of rw_delta_prepare, clears the query's sums, and makes its list and positions. */
template <int KIND, bool DRAWN>
RW_DEVICE void prepare(const struct rw_objective_args &a, struct ranked &query)
{
    const uint32_t lane = threadIdx.x % 32, first = query.first, n = query.delta.n;
    constexpr bool is_err = KIND == RW_DELTA_ERR;
    double next = is_err ? 1.0 : 0.0;
    uint32_t n_relevant = 0;
    query.delta.relevant[0] = query.delta.relevant[1] = n;
    for (uint32_t base = 0; base < n; base += 32) {
        const uint32_t r = base + lane, at = first + r;
        const bool any = r < n;
        const uint32_t doc = any ? query.order[r] : 0;
        const double grade = any ? a.d_grade[doc] : 0.0;
        const bool is_relevant = grade > 0.0;
        const uint32_t who = __ballot_sync(~0u, is_relevant);
        const uint32_t before = n_relevant + __popc(who & ((1u << lane) - 1));
        double scanned = 0.0;
        if (is_err)
            scanned = lambda_scan(true, 1.0 - rw_delta_stop(grade, a.max_gain), next);
        else if (KIND == RW_DELTA_MAP)
            scanned = lambda_scan(false, is_relevant ? 1.0 / (double)(r + 1) : 0.0, next);
        if (KIND == RW_DELTA_MRR) {
            if (n_relevant == 0 && who)
                query.delta.relevant[0] = base + __ffs((int)who) - 1;
            const uint32_t others = n_relevant == 0 ? who & (who - 1) : who;
            if (n_relevant < 2 && others && query.delta.relevant[1] == n)
                query.delta.relevant[1] = base + __ffs((int)others) - 1;
        }
        n_relevant += __popc(who);
        if (!any)
            continue;
        a.d_at[at] = grade;
        if (is_err || is_of_relevance(KIND))
            a.d_prefix[0][at] = is_err ? scanned : (double)before;
        if (KIND == RW_DELTA_MAP)
            a.d_prefix[1][at] = scanned;
        a.d_gradient[doc] = a.d_hessian[doc] = 0.0;
        if (DRAWN)
            a.d_index[doc] = r;
        else if (is_of_relevance(KIND))
            query.list[is_relevant ? before : n - 1 - (r - before)] = r;
    }
    __syncwarp();
    query.n_relevant = n_relevant;
    query.delta.n_relevant = (double)n_relevant;
}

/* Writes a pair of each lane that has one to `pairs`, in the order of lanes. gradient: of the
 * better or upper document. Returns the number of pairs. */
RW_DEVICE uint32_t collect(struct pairs &pairs, bool any, double gradient, double hessian,
                           uint32_t better, uint32_t worse)
{
    const uint32_t who = __ballot_sync(~0u, any);
    if (any) {
        const uint32_t i = __popc(who & ((1u << threadIdx.x % 32) - 1));
        pairs.value[0][i] = gradient;
        pairs.value[1][i] = hessian;
        pairs.value[2][i] = fabs(gradient);
        pairs.better[i] = better;
        pairs.worse[i] = worse;
    }
    __syncwarp();
    return __popc(who);
}

/* Computes the pair of the row's document and the one at position `below`. Returns true if there is
 * one. is_above: the row's document is better. */
RW_DEVICE bool compute_pair(const struct rw_objective_args &a, const struct ranked &query,
                            struct rw_delta_row &row, uint32_t below, struct rw_lambda_real &real,
                            bool &is_above)
{
    const double above_grade = query.delta.grade[row.above], grade = query.delta.grade[below];
    if (above_grade == grade)
        return false;
    is_above = above_grade > grade;
    const float delta = (float)rw_delta_next(&query.delta, &row, below);
    if (!(delta > 0.0f))
        return false;
    const double above_score = a.run.d_scores[query.order[row.above]];
    const double score = a.run.d_scores[query.order[below]];
    real = rw_lambda_weighed(delta, (float)(is_above ? above_score - score : score - above_score),
                             a.rule.sigma, query.norm);
    return true;
}

/* ---- Pairs of the top documents ---- */

template <int KIND>
RW_DEVICE void add_row(const struct rw_objective_args &a, struct ranked &query, struct pairs &pairs,
                       uint32_t above)
{
    const uint32_t lane = threadIdx.x % 32, n = query.delta.n, upper = query.order[above];
    constexpr bool by_list = is_of_relevance(KIND);
    const bool is_relevant = query.delta.grade[above] > 0.0;
    struct rw_delta_row row = rw_delta_row(&query.delta, above);
    /* Indices of partners: in the list, or positions. */
    uint32_t begin = above + 1, end = n;
    if (by_list) {
        const uint32_t relevant = (uint32_t)query.delta.prefix[0][above];
        begin = is_relevant ? above - relevant : relevant;
        end = is_relevant ? n - query.n_relevant : query.n_relevant;
    }
    double *const sums = lane == 0 ? a.d_gradient : a.d_hessian;
    double sum = lane < 2 ? sums[upper] : query.sum;
    for (uint32_t base = begin; base < end; base += 32) {
        const uint32_t i = base + lane;
        struct rw_lambda_real real = {0.0f, 0.0f};
        bool is_above = false, any = i < end;
        if (any) {
            const uint32_t below = !by_list ? i : query.list[is_relevant ? n - 1 - i : i];
            any = compute_pair(a, query, row, below, real, is_above);
            if (any) {
                const uint32_t doc = query.order[below];
                a.d_gradient[doc] += is_above ? -(double)real.lambda : (double)real.lambda;
                a.d_hessian[doc] += (double)real.hessian;
            }
        }
        __syncwarp();
        const uint32_t some =
            collect(pairs, any, is_above ? (double)real.lambda : -(double)real.lambda,
                    (double)real.hessian, 0, 0);
        const uint32_t count = lane < 3 ? some : 0;
#pragma unroll 8
        for (uint32_t k = 0; k < count; k++)
            sum += pairs.value[lane][k];
        __syncwarp();
    }
    if (lane < 2)
        sums[upper] = sum;
    query.sum = sum;
    __syncwarp();
}

/* ---- Drawn pairs ---- */

/* Computes the query's drawn pair number p: add_drawn_pairs_of in lambdarank.c. */
RW_DEVICE bool compute_drawn(const struct rw_objective_args &a, const struct ranked &query,
                             uint64_t p, struct rw_lambda_real &real, uint32_t &better,
                             uint32_t &worse)
{
    const uint32_t at = query.first + (uint32_t)(p / a.draws), k = (uint32_t)(p % a.draws);
    const uint32_t doc = a.d_by_grade[at], begin = a.d_begin[at], n_same = a.d_same[at];
    const uint32_t n_others = query.delta.n - n_same;
    if (n_others == 0)
        return false;
    const uint32_t other =
        (uint32_t)((uint64_t)lambda_draw(a, doc, k, RW_STREAM_PAIRS) * n_others >> 32);
    const uint32_t partner = a.d_by_grade[query.first + (other < begin ? other : other + n_same)];
    const uint32_t own_at = a.d_index[doc], other_at = a.d_index[partner];
    struct rw_delta_row row = rw_delta_row(&query.delta, own_at < other_at ? own_at : other_at);
    bool is_above;
    if (!compute_pair(a, query, row, own_at < other_at ? other_at : own_at, real, is_above))
        return false;
    better = is_above == (own_at < other_at) ? doc : partner;
    worse = better == doc ? partner : doc;
    return true;
}

RW_DEVICE void add_drawn(const struct rw_objective_args &a, struct ranked &query,
                         struct pairs &pairs)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint64_t n_pairs = (uint64_t)query.delta.n * a.draws;
    double *const sums = lane == 0 ? a.d_gradient : a.d_hessian;
    for (uint64_t base = 0; base < n_pairs; base += 32) {
        struct rw_lambda_real real = {0.0f, 0.0f};
        uint32_t better = 0, worse = 0;
        const bool any =
            base + lane < n_pairs && compute_drawn(a, query, base + lane, real, better, worse);
        __syncwarp();
        const uint32_t some =
            collect(pairs, any, (double)real.lambda, (double)real.hessian, better, worse);
        for (uint32_t k = 0; lane < 2 && k < some; k++) {
            const double value = pairs.value[lane][k];
            sums[pairs.better[k]] += value;
            sums[pairs.worse[k]] += lane == 0 ? -value : value;
        }
        for (uint32_t k = 0; lane == 2 && k < some; k++)
            query.sum += pairs.value[2][k];
        __syncwarp();
    }
}

template <int KIND, bool DRAWN>
__global__ void __launch_bounds__(THREADS)
    deltas_kernel(const __grid_constant__ struct rw_objective_args a)
{
    __shared__ struct pairs of_warps[WARPS];
    const uint64_t job = grid_first<THREADS>() / 32;
    if (job >= a.rank.n_queries)
        return; /* the whole warp returns, here and below */
    const uint32_t q = a.rank.d_by_size[job];
    const struct rw_query_range range = rw_query_range(a.rank.d_offset, q);
    const uint32_t first = range.first, n = range.n;
    const uint32_t lane = threadIdx.x % 32;
    if (n == 0)
        return;
    if (a.run.d_sampled && !a.run.d_sampled[first]) {
        for (uint32_t i = lane; i < n; i += 32)
            a.d_gradient[first + i] = a.d_hessian[first + i] = 0.0;
        return;
    }
    struct pairs &pairs = of_warps[threadIdx.x / 32];
    struct ranked query = {};
    query.order = a.rank.d_order + first;
    query.list = a.d_index + first;
    query.first = first;
    query.delta.kind = (enum rw_delta_kind)KIND;
    query.delta.n = n;
    query.delta.cutoff = a.cutoff;
    query.delta.grade = a.d_at + first;
    query.delta.discounts = a.d_discount;
    query.delta.ideal = a.d_ideal[q];
    query.delta.max_gain = a.max_gain;
    query.delta.prefix[0] = a.d_prefix[0] + first;
    query.delta.prefix[1] = a.d_prefix[1] + first;
    query.norm =
        a.rule.norm && a.run.d_scores[query.order[0]] != a.run.d_scores[query.order[n - 1]];
    prepare<KIND, DRAWN>(a, query);
    uint32_t top = a.rule.truncation && a.rule.truncation < n ? a.rule.truncation : n;
    /* Upper documents at later positions have deltas of 0. */
    if (KIND == RW_DELTA_P)
        top = min(top, a.cutoff);
    if (KIND == RW_DELTA_MRR)
        top = min(top, query.delta.relevant[0] + 1);
    if (DRAWN)
        add_drawn(a, query, pairs);
    for (uint32_t above = 0; !DRAWN && above < top; above++)
        add_row<KIND>(a, query, pairs, above);
    const double sum = __shfl_sync(~0u, query.sum, 2);
    const double factor = a.rule.norm ? rw_norm_of_sum(2.0 * sum) : 1.0;
    for (uint32_t i = lane; i < n; i += 32) {
        a.d_gradient[first + i] *= factor;
        a.d_hessian[first + i] *= factor;
    }
}

extern "C" int rw_cuda_deltas(const struct rw_objective_args *args, void *stream)
{
#define KERNELS(kind)                                         \
    {                                                         \
        deltas_kernel<kind, false>, deltas_kernel<kind, true> \
    }
    static void (*const kernels[][2])(struct rw_objective_args) = {
        KERNELS(RW_DELTA_NDCG), KERNELS(RW_DELTA_DCG), KERNELS(RW_DELTA_MAP),
        KERNELS(RW_DELTA_MRR),  KERNELS(RW_DELTA_ERR), KERNELS(RW_DELTA_NONE),
        KERNELS(RW_DELTA_P)};
#undef KERNELS
    TRY_CUDA(rw_cuda_rank_run(&args->rank, args->run.d_scores, args->run.d_sampled, stream));
    return launch_grid(kernels[args->delta][args->draws != 0],
                       blocks_for((uint64_t)args->rank.n_queries * 32, THREADS), THREADS, stream,
                       *args);
}
