// Why: LambdaRank's gradients, the integers of rw_lambda_query to the bit. Pairs are computed by
// the same inline function and added as integers, so any order will do.
//
// Shapes: rw_lambda_args in cu_lambda.h. A query's documents are kept by falling gain ("slots"),
// an order that never changes: the documents whose gain differs from an upper one's are then two
// ranges, so that no thread meets a pair of equal gains, and which document of a pair has the
// larger gain is known without looking.
//
// Decomposition: one launch takes a block a query over 256 documents, then a warp a query. The
// upper documents (positions under the truncation) are taken gain by gain; a thread has SLOTS
// other documents, keeps their sums in registers, and meets all upper documents of that gain in
// turn; the upper document's sum is added over the warp. Shared memory a document: score and
// discount, lambda, weight, position, upper. Queries with very many pairs are spread: a block
// takes 512 documents, by position, and some of the upper ones, and adds to device memory; another
// kernel finishes.
#include "gpu/cu_lambda.h"
#include "gpu/lambda_block.cuh"
#include "gpu/tuning.h"
#include "rank/lambda.h"

enum {
    WARPS = RW_TUNE_LAMBDA_WARPS,
    THREADS = 32 * WARPS,
    SLOTS = RW_TUNE_LAMBDA_SLOTS,
    SPREAD_LOWS = THREADS * SLOTS,
    BEGIN_THREADS = 256
};

static_assert((int)RW_LAMBDA_TILE_DOCS == (int)BEGIN_THREADS, "a thread a document");

/* ---- A query in shared memory ---- */

struct alignas(16) lambda_place { /* one load */
    double score, discount;
};

struct lambda_query {
    uint32_t first, n, n_top;
    float ideal, scale;
    int shift, norm;
    struct lambda_place *place;          /* [n] by slot, as all of these */
    unsigned long long *lambda, *weight; /* [n] sums */
    uint16_t *position;                  /* [n] */
    uint16_t *top;                       /* [n_top] slots of upper documents, ascending */
};

enum { LAMBDA_DOC_BYTES = sizeof(struct lambda_place) + 16 + 4 };

/* Who works on a query: a warp, or the block. */
template <bool BLOCK> struct lambda_group {
    static constexpr uint32_t warps = BLOCK ? WARPS : 1;
    static constexpr uint32_t size = 32 * warps;
    __device__ static uint32_t thread()
    {
        return threadIdx.x % size;
    }
    __device__ static uint32_t warp()
    {
        return thread() / 32;
    }
    __device__ static void sync()
    {
        if (BLOCK)
            __syncthreads();
        else
            __syncwarp();
    }
    __device__ static void add(unsigned long long *sum, long long v)
    {
        if (BLOCK)
            lambda_shared_add(sum, v);
        else
            *sum += (unsigned long long)v;
    }
};

/* Scores and positions into their slots, sums cleared. */
template <bool BLOCK>
__device__ __forceinline__ void lambda_fill(const struct rw_lambda_args &a,
                                            const struct lambda_query &query)
{
    for (uint32_t r = lambda_group<BLOCK>::thread(); r < query.n; r += lambda_group<BLOCK>::size) {
        const uint32_t doc = a.d_order[query.first + r];
        const uint32_t slot = a.d_slot[doc];
        query.place[slot].score = a.d_scores[doc];
        query.place[slot].discount = __ldg(a.d_discount + r);
        query.position[slot] = (uint16_t)r;
        query.lambda[slot] = 0;
        query.weight[slot] = 0;
    }
}

/* The upper documents' slots, in order; by one warp. */
__device__ __forceinline__ void lambda_list_tops(const struct lambda_query &query)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t n = 0;
    for (uint32_t base = 0; base < query.n; base += 32) {
        const uint32_t slot = base + lane;
        const bool upper = slot < query.n && query.position[slot] < query.n_top;
        const uint32_t who = __ballot_sync(~0u, upper);
        if (upper)
            query.top[n + __popc(who & ((1u << lane) - 1))] = (uint16_t)slot;
        n += __popc(who);
    }
}

/* First slot whose gain is under `gain` (strict), or not over it. */
__device__ __forceinline__ uint32_t lambda_bound(const double *d_gain, uint32_t n, double gain,
                                                 bool strict)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        const uint32_t middle = (lo + hi) / 2;
        const double other = __ldg(d_gain + middle);
        if (strict ? other < gain : other <= gain)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* The end of the run of upper documents from `begin` on with the same gain. Every lane calls. */
__device__ __forceinline__ uint32_t lambda_run_end(const struct lambda_query &query,
                                                   const double *d_gain, uint32_t begin,
                                                   double gain)
{
    for (uint32_t base = begin + 1; base < query.n_top; base += 32) {
        const uint32_t j = base + threadIdx.x % 32;
        const bool other = j < query.n_top && __ldg(d_gain + query.top[j]) != gain;
        const uint32_t who = __ballot_sync(~0u, other);
        if (who)
            return base + __ffs((int)who) - 1;
    }
    return query.n_top;
}

/* A run of upper documents of one gain, and the slots of other gains: [0, above) and [below, n). */
struct lambda_run {
    uint32_t begin, end;
    uint32_t above, below;
    double gain;
};

/* The SLOTS documents of a thread. */
struct lambda_own {
    struct lambda_place place[SLOTS];
    float gain_diff[SLOTS]; /* own less the upper one's */
    uint32_t position[SLOTS];
    long long lambda[SLOTS], weight[SLOTS];
};

/* Own document k of a lane is the (base + 32 warps k + lane)-th of those of other gains. Its slot,
 * or UINT32_MAX past the end. */
template <bool BLOCK>
__device__ __forceinline__ uint32_t lambda_own_slot(const struct lambda_query &query,
                                                    const struct lambda_run &run, uint32_t base,
                                                    int k)
{
    const uint32_t same = run.below - run.above;
    const uint32_t i = base + 32 * lambda_group<BLOCK>::warps * k + threadIdx.x % 32;
    if (i >= query.n - same)
        return UINT32_MAX;
    return i < run.above ? i : i + same;
}

/* Past the end a thread's document stands at position 0, above all others, and forms no pair. */
template <bool BLOCK>
__device__ __forceinline__ void lambda_take(const struct lambda_query &query, const double *d_gain,
                                            const struct lambda_run &run, uint32_t base,
                                            struct lambda_own &own)
{
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
        const uint32_t slot = lambda_own_slot<BLOCK>(query, run, base, k);
        own.lambda[k] = own.weight[k] = 0;
        own.position[k] = 0;
        own.gain_diff[k] = 0.0f;
        own.place[k].score = own.place[k].discount = 0.0;
        if (slot == UINT32_MAX)
            continue;
        own.place[k] = query.place[slot];
        own.position[k] = query.position[slot];
        own.gain_diff[k] = (float)(__ldg(d_gain + slot) - run.gain);
    }
}

/* One pair: an upper document and one of the thread's, whose gain is larger by gain_diff (or, if
 * that is negative, smaller). lambda: the own document's, with its sign. Negating an operand of a
 * difference, a product or a rounding negates the result: nothing else differs from the host's. */
__device__ __forceinline__ struct rw_lambda_pair
lambda_pair(const struct lambda_query &query, float sigma, const struct lambda_place &upper,
            const struct lambda_place &own, float gain_diff)
{
    const float sign = copysignf(1.0f, gain_diff);
    const struct rw_lambda_real real = rw_lambda_real_of_pair(
        fabsf(gain_diff), (float)(upper.discount - own.discount),
        sign * (float)(own.score - upper.score), query.ideal, sigma, query.norm);
    struct rw_lambda_pair pair;
    pair.lambda = rw_round_float(real.lambda * (sign * query.scale));
    pair.weight = rw_round_float(real.weight * query.scale);
    return pair;
}

/* All pairs of a run's upper documents with the thread's; the sum of lambdas goes to hi and lo. */
template <bool BLOCK>
__device__ __forceinline__ void lambda_meet(const struct lambda_query &query, float sigma,
                                            const double *d_gain, const struct lambda_run &run,
                                            uint32_t base, long long &hi, long long &lo)
{
    constexpr uint32_t stride = 32 * lambda_group<BLOCK>::warps;
    const uint32_t n = query.n - (run.below - run.above);
    struct lambda_own own;
    lambda_take<BLOCK>(query, d_gain, run, base, own);
    for (uint32_t j = run.begin; j < run.end; j++) {
        const uint32_t slot = query.top[j];
        const uint32_t r = query.position[slot];
        const struct lambda_place upper = query.place[slot];
        long long lambda = 0, weight = 0;
#pragma unroll
        for (int k = 0; k < SLOTS; k++) {
            if (base + stride * k >= n) /* none of the warp's: the same in all lanes */
                break;
            if (own.position[k] <= r)
                continue;
            const struct rw_lambda_pair pair =
                lambda_pair(query, sigma, upper, own.place[k], own.gain_diff[k]);
            own.lambda[k] += pair.lambda;
            own.weight[k] += pair.weight;
            lambda -= pair.lambda;
            weight += pair.weight;
        }
        __syncwarp();
        lambda = lambda_warp_sum(lambda);
        weight = lambda_warp_sum(weight);
        if (threadIdx.x % 32 == 0) {
            lambda_group<BLOCK>::add(&query.lambda[slot], lambda);
            lambda_group<BLOCK>::add(&query.weight[slot], weight);
        }
    }
    __syncwarp(); /* sums that lane 0 wrote are added to by others now */
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
        const uint32_t slot = lambda_own_slot<BLOCK>(query, run, base, k);
        if (slot == UINT32_MAX)
            continue;
        lambda_group<BLOCK>::add(&query.lambda[slot], own.lambda[k]);
        lambda_group<BLOCK>::add(&query.weight[slot], own.weight[k]);
        const long long sum = slot < run.above ? own.lambda[k] : -own.lambda[k];
        hi += sum >> 32;
        lo += sum & 0xffffffff;
    }
    __syncwarp();
}

/* The final integers of the query, and their largest magnitudes. */
template <bool BLOCK>
__device__ __forceinline__ void lambda_finish(const struct rw_lambda_args &a,
                                              const struct lambda_query &query, double factor)
{
    uint64_t largest_lambda = 0, largest_weight = 0;
    for (uint32_t i = lambda_group<BLOCK>::thread(); i < query.n; i += lambda_group<BLOCK>::size) {
        const uint32_t doc = query.first + i;
        const uint32_t slot = a.d_slot[doc];
        const double *by = a.d_doc_weight ? a.d_doc_weight + doc : NULL;
        const int64_t lambda = rw_lambda_final((int64_t)query.lambda[slot], factor, by);
        const int64_t weight = rw_lambda_final((int64_t)query.weight[slot], factor, by);
        a.d_lambda[doc] = lambda;
        a.d_weight[doc] = weight;
        const uint64_t lambda_size = lambda_magnitude(lambda);
        const uint64_t weight_size = lambda_magnitude(weight);
        largest_lambda = lambda_size > largest_lambda ? lambda_size : largest_lambda;
        largest_weight = weight_size > largest_weight ? weight_size : largest_weight;
    }
    __syncwarp();
    lambda_raise(&a.d_info->largest_lambda, largest_lambda);
    lambda_raise(&a.d_info->largest_weight, largest_weight);
}

/* A query of a warp or of the block. total: two words of shared memory of a block. */
template <bool BLOCK>
__device__ __forceinline__ void lambda_of_query(const struct rw_lambda_args &a,
                                                struct lambda_query &query,
                                                unsigned long long *total)
{
    using group = lambda_group<BLOCK>;
    const double *d_gain = a.d_gain + query.first;
    const float sigma = a.rule.sigma;
    query.shift = rw_lambda_shift(query.n, &a.rule);
    query.scale = (float)rw_pow2(RW_LAMBDA_EXPONENT - query.shift);
    query.norm = a.rule.norm && a.d_scores[a.d_order[query.first]] !=
                                    a.d_scores[a.d_order[query.first + query.n - 1]];
    lambda_fill<BLOCK>(a, query);
    if (BLOCK && threadIdx.x < 2)
        total[threadIdx.x] = 0;
    group::sync();
    if (group::warp() == 0)
        lambda_list_tops(query);
    group::sync();
    long long hi = 0, lo = 0;
    struct lambda_run run;
    for (run.begin = 0; run.begin < query.n_top; run.begin = run.end) {
        run.gain = __ldg(d_gain + query.top[run.begin]);
        run.end = lambda_run_end(query, d_gain, run.begin, run.gain);
        run.above = lambda_bound(d_gain, query.n, run.gain, false);
        run.below = lambda_bound(d_gain, query.n, run.gain, true);
        const uint32_t n = query.n - (run.below - run.above);
        for (uint32_t base = 32 * group::warp(); base < n; base += group::size * SLOTS)
            lambda_meet<BLOCK>(query, sigma, d_gain, run, base, hi, lo);
    }
    hi = lambda_warp_sum(hi);
    lo = lambda_warp_sum(lo);
    if (BLOCK) {
        if (threadIdx.x % 32 == 0) {
            lambda_shared_add(&total[0], hi);
            lambda_shared_add(&total[1], lo);
        }
        __syncthreads();
        hi = (long long)total[0];
        lo = (long long)total[1];
    }
    lambda_finish<BLOCK>(a, query, rw_lambda_factor(&a.rule, hi, lo, query.shift));
}

__global__ void __launch_bounds__(THREADS, RW_TUNE_LAMBDA_BLOCKS)
    lambda_kernel(const __grid_constant__ struct rw_lambda_args a)
{
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ unsigned long long total[2];
    const bool by_block = blockIdx.x < a.n_block;
    const uint32_t warp = by_block ? 0 : threadIdx.x / 32;
    const uint32_t job =
        by_block ? blockIdx.x : a.n_block + (blockIdx.x - a.n_block) * WARPS + warp;
    if (job >= a.n_block + a.n_warp)
        return; /* a whole warp, in a block of warps that go their own ways */
    const uint32_t q = a.d_query[job];
    struct lambda_query query;
    query.first = a.d_offset[q];
    query.n = a.d_offset[q + 1] - query.first;
    if (a.d_sampled && !a.d_sampled[query.first])
        return;
    query.ideal = (float)a.d_ideal[q];
    if (!(query.ideal > 0.0f)) {
        const uint32_t size = by_block ? THREADS : 32;
        for (uint32_t i = threadIdx.x % size; i < query.n; i += size)
            a.d_lambda[query.first + i] = a.d_weight[query.first + i] = 0;
        return;
    }
    query.n_top = a.rule.truncation && a.rule.truncation < query.n ? a.rule.truncation : query.n;
    const uint32_t room = by_block ? a.block_docs : a.warp_docs;
    query.place =
        reinterpret_cast<struct lambda_place *>(memory + (size_t)warp * room * LAMBDA_DOC_BYTES);
    query.lambda = reinterpret_cast<unsigned long long *>(query.place + room);
    query.weight = query.lambda + room;
    query.position = reinterpret_cast<uint16_t *>(query.weight + room);
    query.top = query.position + room;
    if (by_block)
        lambda_of_query<true>(a, query, total);
    else
        lambda_of_query<false>(a, query, total);
}

/* ---- Spread queries ---- */

__global__ void lambda_begin_kernel(const __grid_constant__ struct rw_lambda_args a)
{
    if (blockIdx.x < a.n_tiles) {
        const struct rw_lambda_tile tile = a.d_tile[blockIdx.x];
        const uint32_t q = a.d_spread[tile.spread];
        const uint32_t doc = a.d_offset[q] + tile.begin + threadIdx.x;
        if (doc < a.d_offset[q + 1])
            a.d_lambda[doc] = a.d_weight[doc] = 0;
        return;
    }
    if (threadIdx.x == 0) {
        struct rw_cuda_lambda_info info = {};
        info.lambda_exponent = info.weight_exponent = RW_LAMBDA_EXPONENT;
        *a.d_info = info;
    }
    for (uint32_t i = threadIdx.x; i < a.n_spread; i += BEGIN_THREADS)
        a.d_total[i].hi = a.d_total[i].lo = 0;
}

struct spread_top {
    struct lambda_place place;
    double gain;
};

struct spread_shared {
    struct spread_top top[RW_LAMBDA_SPREAD_TOPS];
    unsigned long long lambda[RW_LAMBDA_SPREAD_TOPS], weight[RW_LAMBDA_SPREAD_TOPS];
    unsigned long long total[2];
};

/* Upper documents at positions [top, end) against the thread's: adds to their sums in shared memory
 * and to the thread's own. The pairs' lambdas come as hi and lo. */
__device__ __forceinline__ void spread_meet(const struct lambda_query &query, float sigma,
                                            struct spread_shared &shared, uint32_t top,
                                            uint32_t end, const double (&gain)[SLOTS],
                                            struct lambda_own &own, long long &hi, long long &lo)
{
    long long sum = 0; /* at most SLOTS x 128 of n pairs, all of which stay under 2^62 */
    for (uint32_t j = 0; j < end - top; j++) {
        const struct spread_top upper = shared.top[j];
        long long lambda = 0, weight = 0;
#pragma unroll
        for (int k = 0; k < SLOTS; k++) {
            if (own.position[k] <= top + j || gain[k] == upper.gain)
                continue;
            const struct rw_lambda_pair pair =
                lambda_pair(query, sigma, upper.place, own.place[k], (float)(gain[k] - upper.gain));
            own.lambda[k] += pair.lambda;
            own.weight[k] += pair.weight;
            lambda -= pair.lambda;
            weight += pair.weight;
            sum += gain[k] > upper.gain ? pair.lambda : -pair.lambda;
        }
        __syncwarp();
        lambda = lambda_warp_sum(lambda);
        weight = lambda_warp_sum(weight);
        if (threadIdx.x % 32 == 0) {
            lambda_shared_add(&shared.lambda[j], lambda);
            lambda_shared_add(&shared.weight[j], weight);
        }
    }
    hi += sum >> 32;
    lo += sum & 0xffffffff;
}

__device__ __forceinline__ void spread_add(int64_t *d_sum, uint32_t doc, unsigned long long v)
{
    if (v != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(d_sum) + doc, v);
}

/* The thread's documents of a job. */
__device__ __forceinline__ void spread_take(const struct rw_lambda_args &a,
                                            const struct lambda_query &query, uint32_t low,
                                            double (&gain)[SLOTS], struct lambda_own &own)
{
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
        const uint32_t t = low + THREADS * k + threadIdx.x;
        own.lambda[k] = own.weight[k] = 0;
        own.position[k] = 0;
        own.place[k].score = own.place[k].discount = 0.0;
        gain[k] = 0.0;
        if (t >= query.n)
            continue;
        const uint32_t doc = a.d_order[query.first + t];
        own.position[k] = t;
        own.place[k].score = a.d_scores[doc];
        own.place[k].discount = a.d_discount[t];
        gain[k] = a.d_gain[doc];
    }
}

__global__ void __launch_bounds__(THREADS)
    lambda_spread_kernel(const __grid_constant__ struct rw_lambda_args a)
{
    __shared__ struct spread_shared shared;
    const struct rw_lambda_job job = a.d_job[blockIdx.x];
    const uint32_t q = a.d_spread[job.spread];
    struct lambda_query query;
    query.first = a.d_offset[q];
    query.n = a.d_offset[q + 1] - query.first;
    if (a.d_sampled && !a.d_sampled[query.first])
        return;
    query.n_top = a.rule.truncation && a.rule.truncation < query.n ? a.rule.truncation : query.n;
    query.ideal = (float)a.d_ideal[q];
    query.scale = (float)rw_pow2(RW_LAMBDA_EXPONENT - rw_lambda_shift(query.n, &a.rule));
    query.norm = a.rule.norm && a.d_scores[a.d_order[query.first]] !=
                                    a.d_scores[a.d_order[query.first + query.n - 1]];
    double gain[SLOTS];
    struct lambda_own own;
    long long hi = 0, lo = 0;
    spread_take(a, query, job.low, gain, own);
    if (threadIdx.x < 2)
        shared.total[threadIdx.x] = 0;
    const uint32_t most = query.n_top - job.top;
    const uint32_t last = job.top + (most < a.spread_tops ? most : a.spread_tops);
    for (uint32_t top = job.top; top < last; top += RW_LAMBDA_SPREAD_TOPS) {
        const uint32_t end =
            last - top < RW_LAMBDA_SPREAD_TOPS ? last : top + RW_LAMBDA_SPREAD_TOPS;
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < end - top; j += THREADS) {
            const uint32_t doc = a.d_order[query.first + top + j];
            shared.top[j].place.score = a.d_scores[doc];
            shared.top[j].place.discount = a.d_discount[top + j];
            shared.top[j].gain = a.d_gain[doc];
            shared.lambda[j] = shared.weight[j] = 0;
        }
        __syncthreads();
        spread_meet(query, a.rule.sigma, shared, top, end, gain, own, hi, lo);
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < end - top; j += THREADS) {
            const uint32_t doc = a.d_order[query.first + top + j];
            spread_add(a.d_lambda, doc, shared.lambda[j]);
            spread_add(a.d_weight, doc, shared.weight[j]);
        }
    }
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
        const uint32_t t = job.low + THREADS * k + threadIdx.x;
        if (t >= query.n)
            continue;
        const uint32_t doc = a.d_order[query.first + t];
        spread_add(a.d_lambda, doc, (unsigned long long)own.lambda[k]);
        spread_add(a.d_weight, doc, (unsigned long long)own.weight[k]);
    }
    hi = lambda_warp_sum(hi);
    lo = lambda_warp_sum(lo);
    if (threadIdx.x % 32 == 0) {
        lambda_shared_add(&shared.total[0], hi);
        lambda_shared_add(&shared.total[1], lo);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&a.d_total[job.spread].hi, shared.total[0]);
        atomicAdd(&a.d_total[job.spread].lo, shared.total[1]);
    }
}

__global__ void lambda_end_kernel(const __grid_constant__ struct rw_lambda_args a)
{
    const struct rw_lambda_tile tile = a.d_tile[blockIdx.x];
    const uint32_t q = a.d_spread[tile.spread];
    const uint32_t first = a.d_offset[q], n = a.d_offset[q + 1] - first;
    if (a.d_sampled && !a.d_sampled[first])
        return;
    const struct rw_lambda_total total = a.d_total[tile.spread];
    const double factor = rw_lambda_factor(&a.rule, (int64_t)total.hi, (int64_t)total.lo,
                                           rw_lambda_shift(n, &a.rule));
    const uint32_t doc = first + tile.begin + threadIdx.x;
    uint64_t lambda_size = 0, weight_size = 0;
    if (tile.begin + threadIdx.x < n) {
        const double *by = a.d_doc_weight ? a.d_doc_weight + doc : NULL;
        const int64_t lambda = rw_lambda_final(a.d_lambda[doc], factor, by);
        const int64_t weight = rw_lambda_final(a.d_weight[doc], factor, by);
        a.d_lambda[doc] = lambda;
        a.d_weight[doc] = weight;
        lambda_size = lambda_magnitude(lambda);
        weight_size = lambda_magnitude(weight);
    }
    __syncwarp();
    lambda_raise(&a.d_info->largest_lambda, lambda_size);
    lambda_raise(&a.d_info->largest_weight, weight_size);
}

/* ---- Launchers ---- */

static size_t shared_bytes(uint32_t block_docs, uint32_t warp_docs)
{
    const size_t docs = block_docs > WARPS * warp_docs ? block_docs : WARPS * warp_docs;
    return docs * LAMBDA_DOC_BYTES;
}

extern "C" uint32_t rw_cuda_lambda_spread_lows(void)
{
    return SPREAD_LOWS;
}

extern "C" int rw_cuda_lambda_prepare(void)
{
    return (int)cudaFuncSetAttribute(lambda_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)shared_bytes(RW_LAMBDA_BLOCK_DOCS, RW_LAMBDA_WARP_DOCS));
}

extern "C" int rw_cuda_lambda_begin(const struct rw_lambda_args *args, void *stream)
{
    lambda_begin_kernel<<<args->n_tiles + 1, BEGIN_THREADS, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}

extern "C" int rw_cuda_lambda_queries(const struct rw_lambda_args *args, void *stream)
{
    const uint32_t grid = args->n_block + (args->n_warp + WARPS - 1) / WARPS;
    if (grid == 0)
        return (int)cudaSuccess;
    lambda_kernel<<<grid, THREADS, shared_bytes(args->block_docs, args->warp_docs),
                    (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}

extern "C" int rw_cuda_lambda_spread(const struct rw_lambda_args *args, void *stream)
{
    if (args->n_tiles == 0)
        return (int)cudaSuccess;
    if (args->n_jobs > 0)
        lambda_spread_kernel<<<args->n_jobs, THREADS, 0, (cudaStream_t)stream>>>(*args);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        return (int)error;
    lambda_end_kernel<<<args->n_tiles, BEGIN_THREADS, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}
