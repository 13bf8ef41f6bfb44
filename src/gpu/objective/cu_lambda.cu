/* LambdaRank's gradients, identical to the integers of rw_lambda_query. Pairs are computed by the
 * same inline functions, or by those of lambda_bounded.h, and added as integers, so the order does
 * not matter.
 *
 * Shapes: struct rw_objective_args in lambda_cuda.h. A document's slot is its index by falling
 * gain, which never changes. For each tree the documents get places: first the upper documents
 * (positions under the truncation) by slot, then the others by slot. In this file, a run is the
 * upper documents of one gain. Their partners are at the places after the run, except a hole: the
 * other documents of that gain. So no thread sees a pair of equal gains or sees a pair twice, and
 * the places decide which document has the larger gain.
 *
 * Decomposition: a block per query of over RW_LAMBDA_WARP_DOCS documents, else a warp per query.
 * There are three launches, which differ in shared memory: blocks, warps, and warps with narrow
 * queries. Run by run, a thread has one partner, or SLOTS partners if the query is bounded
 * (lambda_bounded.h). It keeps the partners' sums in registers, and adds their pairs with each
 * upper document of the run in turn, whose sums are added over the warp. Spread queries have
 * kernels of their own, in the last part. */
#include "gpu/objective/lambda_block.cuh"
#include "gpu/objective/lambda_bounded.h"

enum {
    WARPS = RW_TUNE_LAMBDA_WARPS,
    THREADS = 32 * WARPS,
    /* for bounded queries; pairs of others need more registers, so they have 1 */
    SLOTS = RW_TUNE_LAMBDA_SLOTS,
};

struct alignas(16) lambda_item { /* loaded at once */
    double score, discount;
};

struct lambda_query {
    uint32_t first, n, n_top;  /* first document, documents, upper documents */
    float ideal, scale, sigma; /* ideal DCG; 2^(RW_LAMBDA_EXPONENT - shift) */
    int shift, norm;           /* rw_lambda_shift; 1: divide by score differences */
    const double *d_gain;      /* [n] by slot; of spread queries by document */
    /* The thread's sum of its pairs' lambdas, each of the larger gain, as in struct rw_sum. */
    long long hi, lo;
    struct lambda_item *item;             /* [n] by place, as are the sums and slots */
    unsigned long long *lambda, *hessian; /* [n] sums */
    uint16_t *slot;                       /* [n] */
    uint16_t *to_place; /* [n] places by document; before that, positions by slot */
    uint16_t *place_at; /* [n] by position */
    uint16_t *gain_end; /* [at most n] the end of each gain's slots */
};

RW_DEVICE struct lambda_query lambda_query_of(const struct rw_objective_args &a, uint32_t q)
{
    const struct rw_query_range range = rw_query_range(a.rank.d_offset, q);
    struct lambda_query query;
    query.first = range.first;
    query.n = range.n;
    query.n_top = a.rule.truncation && a.rule.truncation < query.n ? a.rule.truncation : query.n;
    query.ideal = (float)a.d_ideal[q];
    query.shift = rw_lambda_shift(query.n, &a.rule);
    query.scale = (float)rw_pow2(RW_LAMBDA_EXPONENT - query.shift);
    query.sigma = a.rule.sigma;
    query.d_gain = a.d_gain + query.first;
    query.hi = query.lo = 0;
    return query;
}

/* Computes one pair of an upper document and a document of the thread, at any positions. gain_diff:
 * own gain minus the upper document's. lambda: of the own document. Negating an operand of a
 * difference, a product or a rounding negates the result, so the result equals the host's. */
RW_DEVICE struct rw_lambda_pair lambda_pair(const struct lambda_query &query,
                                            const struct lambda_item &upper,
                                            const struct lambda_item &own, float gain_diff)
{
    const float sign = copysignf(1.0f, gain_diff);
    const struct rw_lambda_real real =
        rw_lambda_real_of_pair(fabsf(gain_diff), fabsf((float)(upper.discount - own.discount)),
                               sign * (float)(own.score - upper.score), query.sigma, query.sigma,
                               query.ideal, query.norm, 1);
    return {rw_round_float(real.lambda * (sign * query.scale)),
            rw_round_float(real.hessian * query.scale)};
}

enum { LAMBDA_DOC_BYTES = sizeof(struct lambda_item) + 16 + 8 };
static_assert(WARPS * RW_LAMBDA_WARP_DOCS <= RW_LAMBDA_BLOCK_DOCS &&
                  RW_LAMBDA_BLOCK_DOCS * LAMBDA_DOC_BYTES + 2048 <= 65536,
              "any GPU has room for them");

/* The threads that work on one query: a warp or the block. */
template <bool BLOCK> struct lambda_group {
    static constexpr uint32_t warps = BLOCK ? WARPS : 1;
    static constexpr uint32_t size = 32 * warps;
    __device__ static uint32_t thread()
    {
        return threadIdx.x % size;
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

/* Documents that a thread loads before it uses the first. */
enum { AT_ONCE = 4 };

/* Computes the place of each position, from the positions by slot in to_place, and the ends of
 * gains. One warp calls it. */
RW_DEVICE void lambda_find_places(const struct lambda_query &query)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t n_upper = 0, n_gains = 0;
    for (uint32_t begin = 0; begin < query.n; begin += 32 * AT_ONCE) {
        bool is_last[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const uint32_t slot = begin + 32 * k + lane;
            is_last[k] = slot + 1 == query.n ||
                         (slot + 1 < query.n &&
                          __ldg(query.d_gain + slot) != __ldg(query.d_gain + slot + 1));
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const uint32_t base = begin + 32 * k, slot = base + lane;
            if (base >= query.n)
                break;
            const uint32_t position = slot < query.n ? query.to_place[slot] : UINT32_MAX;
            const bool upper = position < query.n_top;
            const uint32_t who = __ballot_sync(~0u, upper);
            const uint32_t before = n_upper + __popc(who & ((1u << lane) - 1));
            const uint32_t place = upper ? before : query.n_top + slot - before;
            if (slot < query.n) {
                query.slot[place] = (uint16_t)slot;
                query.place_at[position] = (uint16_t)place;
            }
            const uint32_t lasts = __ballot_sync(~0u, is_last[k]);
            if (is_last[k])
                query.gain_end[n_gains + __popc(lasts & ((1u << lane) - 1))] = (uint16_t)(slot + 1);
            n_upper += __popc(who);
            n_gains += __popc(lasts);
        }
    }
}

/* Writes the documents to their places, and clears their sums. */
template <bool BLOCK>
RW_DEVICE void lambda_fill(const struct rw_objective_args &a, const struct lambda_query &query)
{
    using group = lambda_group<BLOCK>;
    const uint32_t *d_order = a.rank.d_order + query.first;
    for (uint32_t begin = group::thread(); begin < query.n; begin += group::size * AT_ONCE) {
        uint32_t slot[AT_ONCE]; /* slots of positions begin, begin + size, ... */
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const uint32_t r = begin + group::size * k;
            slot[k] = r < query.n ? d_order[r] : query.first;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            slot[k] = a.d_slot[slot[k]];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const uint32_t r = begin + group::size * k;
            if (r < query.n)
                query.to_place[slot[k]] = (uint16_t)r;
        }
    }
    group::sync();
    if (group::thread() / 32 == 0)
        lambda_find_places(query);
    group::sync();
    for (uint32_t begin = group::thread(); begin < query.n; begin += group::size * AT_ONCE) {
        uint32_t doc[AT_ONCE];
        struct lambda_item item[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const uint32_t r = begin + group::size * k;
            doc[k] = r < query.n ? d_order[r] : query.first;
            item[k].discount = r < query.n ? __ldg(a.d_discount + r) : 0.0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            item[k].score = a.run.d_scores[doc[k]];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const uint32_t r = begin + group::size * k;
            if (r >= query.n)
                break;
            const uint32_t place = query.place_at[r];
            query.item[place] = item[k];
            query.lambda[place] = 0;
            query.hessian[place] = 0;
            query.to_place[doc[k] - query.first] = (uint16_t)place;
        }
    }
    group::sync();
}

/* Returns the end of the run that starts at place `begin` and has slots below `below`. Every lane
 * calls it. */
RW_DEVICE uint32_t lambda_run_end(const struct lambda_query &query, uint32_t begin, uint32_t below)
{
    for (uint32_t base = begin; base < query.n_top; base += 32) {
        const uint32_t j = base + threadIdx.x % 32;
        const uint32_t who = __ballot_sync(~0u, j < query.n_top && query.slot[j] >= below);
        if (who)
            return base + __ffs((int)who) - 1;
    }
    return query.n_top;
}

/* A run: the places of the upper documents of one gain, and those of the other documents with that
 * gain (the hole). */
struct lambda_run {
    uint32_t begin, end;
    uint32_t hole, hole_docs;
    double gain;
};

RW_DEVICE uint32_t lambda_others(const struct lambda_query &query, const struct lambda_run &run)
{
    return query.n - run.end - run.hole_docs;
}

/* Returns the place of a lane's k-th partner, which is number base + 32 * warps * k + lane of the
 * run. Without such a partner it is query.n or more. */
template <bool BLOCK>
RW_DEVICE uint32_t lambda_own_place(const struct lambda_run &run, uint32_t base, int k)
{
    const uint32_t place = run.end + base + 32 * lambda_group<BLOCK>::warps * k + threadIdx.x % 32;
    return place < run.hole ? place : place + run.hole_docs;
}

/* Returns true if a document's gain, which differs from that of the run, is larger. */
RW_DEVICE bool lambda_is_above(const struct lambda_query &query, const struct lambda_run &run,
                               uint32_t place)
{
    return place >= query.n_top && place < run.hole;
}

template <bool BLOCK>
RW_DEVICE void lambda_add_pairs(struct lambda_query &query, const struct lambda_run &run,
                                uint32_t base)
{
    const uint32_t place = lambda_own_place<BLOCK>(run, base, 0);
    const bool any = place < query.n;
    const struct lambda_item own = query.item[any ? place : 0];
    const float gain_diff =
        any ? (float)(__ldg(query.d_gain + query.slot[place]) - run.gain) : 0.0f;
    long long own_lambda = 0, own_hessian = 0;
    for (uint32_t j = run.begin; j < run.end; j++) {
        struct rw_lambda_pair pair = {0, 0};
        if (any)
            pair = lambda_pair(query, query.item[j], own, gain_diff);
        own_lambda += pair.lambda;
        own_hessian += pair.hessian;
        __syncwarp();
        const long long lambda = lambda_warp_sum(-pair.lambda);
        const long long hessian = lambda_warp_sum(pair.hessian);
        if (threadIdx.x % 32 == 0) {
            lambda_group<BLOCK>::add(&query.lambda[j], lambda);
            lambda_group<BLOCK>::add(&query.hessian[j], hessian);
        }
    }
    __syncwarp(); /* other lanes now add to the sums that lane 0 wrote */
    if (any) {
        lambda_group<BLOCK>::add(&query.lambda[place], own_lambda);
        lambda_group<BLOCK>::add(&query.hessian[place], own_hessian);
        const long long sum = lambda_is_above(query, run, place) ? own_lambda : -own_lambda;
        query.hi += sum >> 32;
        query.lo += sum & 0xffffffff;
    }
    __syncwarp();
}

/* ---- bounded queries ---- */

/* A partner of the thread, and its sums. */
struct bounded_own {
    struct lambda_item item;
    float gain_diff, toward;                 /* as in rw_bounded_pair_of */
    int side;                                /* 1: its gain is larger; -1: smaller */
    struct rw_bounded_parts lambda, hessian; /* sums, with biases */
};

/* Loads a document of the thread; past the end, any one with a gain difference of 0. */
RW_DEVICE void bounded_take(const struct lambda_query &query, float sigma,
                            const struct lambda_run &run, uint32_t place, struct bounded_own &own)
{
    const bool past = place >= query.n, above = lambda_is_above(query, run, place);
    place = past ? 0 : place;
    own.item = query.item[place];
    own.gain_diff =
        past ? 0.0f : fabsf((float)(__ldg(query.d_gain + query.slot[place]) - run.gain));
    own.side = above ? 1 : -1;
    own.toward = above ? sigma : -sigma;
#ifdef __CUDA_ARCH__ /* keeps the compiler from computing these again for each pair */
    asm volatile("" : "+r"(own.side), "+f"(own.toward));
#endif
}

/* Adds the pairs of an upper document with the lane's K partners to the partners' sums, and to
 * `lambda` and `hessian`. All of these include biases. */
template <int K>
RW_DEVICE void bounded_pairs(const struct rw_bounded_query &bounded,
                             const struct lambda_item &upper, struct bounded_own (&own)[K],
                             struct rw_bounded_parts &lambda, struct rw_bounded_parts &hessian)
{
#pragma unroll
    for (int k = 0; k < K; k++) {
        const struct rw_bounded_pair pair = rw_bounded_pair_of(
            &bounded, own[k].gain_diff, (float)(upper.discount - own[k].item.discount),
            (float)(own[k].item.score - upper.score), own[k].toward);
        own[k].lambda.high += pair.lambda.high;
        own[k].lambda.low += pair.lambda.low;
        own[k].hessian.high += pair.hessian.high;
        own[k].hessian.low += pair.hessian.low;
        lambda.high -= (uint32_t)own[k].side * pair.lambda.high;
        lambda.low -= (uint32_t)own[k].side * pair.lambda.low;
        hessian.high += pair.hessian.high;
        hessian.low += pair.hessian.low;
    }
}

/* Adds a document's sums of n pairs to shared memory, and to the query's sums. */
template <bool BLOCK>
RW_DEVICE void bounded_add(struct lambda_query &query, uint32_t place, uint32_t n,
                           const struct bounded_own &own)
{
    if (place >= query.n)
        return;
    const long long lambda = rw_bounded_join(own.lambda.high - n * RW_BOUNDED_HIGH_BIAS,
                                             own.lambda.low - n * RW_BOUNDED_LOW_BIAS);
    const long long hessian = rw_bounded_join(own.hessian.high - n * RW_BOUNDED_HIGH_BIAS,
                                              own.hessian.low - n * RW_BOUNDED_LOW_BIAS);
    lambda_group<BLOCK>::add(&query.lambda[place], own.side > 0 ? lambda : -lambda);
    lambda_group<BLOCK>::add(&query.hessian[place], hessian);
    query.hi += lambda >> 32;
    query.lo += lambda & 0xffffffff;
}

/* Adds all pairs of the run's upper documents with K documents of each lane. Upper documents are
 * taken 32 at a time, so that parts stay below 2^31, and lane j keeps the sums of the j-th. */
template <bool BLOCK, int K>
RW_DEVICE void bounded_add_pairs(struct lambda_query &query, const struct rw_bounded_query &bounded,
                                 const struct lambda_run &run, uint32_t base)
{
    static_assert(K <= 4, "sums of parts");
    const uint32_t lane = threadIdx.x % 32;
    struct bounded_own own[K];
    struct rw_bounded_parts start = {0, 0};
#pragma unroll
    for (int k = 0; k < K; k++) {
        bounded_take(query, bounded.sigma, run, lambda_own_place<BLOCK>(run, base, k), own[k]);
        start.high += (uint32_t)own[k].side * RW_BOUNDED_HIGH_BIAS;
        start.low += (uint32_t)own[k].side * RW_BOUNDED_LOW_BIAS;
    }
    for (uint32_t begin = run.begin; begin < run.end; begin += 32) {
        const uint32_t n = run.end - begin < 32 ? run.end - begin : 32;
#pragma unroll
        for (int k = 0; k < K; k++)
            own[k].lambda = own[k].hessian = {0, 0};
        struct rw_bounded_parts lambda_sum = {0, 0}, hessian_sum = {0, 0};
        for (uint32_t j = 0; j < n; j++) {
            struct rw_bounded_parts lambda = start;
            struct rw_bounded_parts hessian = {0u - K * RW_BOUNDED_HIGH_BIAS,
                                               0u - K * RW_BOUNDED_LOW_BIAS};
            bounded_pairs<K>(bounded, query.item[begin + j], own, lambda, hessian);
            lambda.high = rw_warp_add(lambda.high);
            lambda.low = rw_warp_add(lambda.low);
            hessian.high = rw_warp_add(hessian.high);
            hessian.low = rw_warp_add(hessian.low);
            if (lane == j) {
                lambda_sum = lambda;
                hessian_sum = hessian;
            }
        }
#pragma unroll
        for (int k = 0; k < K; k++)
            bounded_add<BLOCK>(query, lambda_own_place<BLOCK>(run, base, k), n, own[k]);
        if (lane < n) {
            lambda_group<BLOCK>::add(&query.lambda[begin + lane],
                                     rw_bounded_join(lambda_sum.high, lambda_sum.low));
            lambda_group<BLOCK>::add(&query.hessian[begin + lane],
                                     rw_bounded_join(hessian_sum.high, hessian_sum.low));
        }
        __syncwarp(); /* the next upper documents may be those of other lanes */
    }
}

/* Calls bounded_add_pairs with as many documents per lane as the warp needs, at most K. */
template <bool BLOCK, int K>
RW_DEVICE void bounded_add_up_to(struct lambda_query &query, const struct rw_bounded_query &bounded,
                                 const struct lambda_run &run, uint32_t base)
{
    if constexpr (K > 1) {
        if (base + 32 * lambda_group<BLOCK>::warps * (K - 1) >= lambda_others(query, run)) {
            bounded_add_up_to<BLOCK, K - 1>(query, bounded, run, base);
            return;
        }
    }
    bounded_add_pairs<BLOCK, K>(query, bounded, run, base);
}

/* ---- A query ---- */

/* Adds the pairs of all runs, of the gains of slots [above, below). */
template <bool BLOCK, bool BOUNDED>
RW_DEVICE void lambda_runs(struct lambda_query &query, const struct rw_bounded_query &bounded)
{
    using group = lambda_group<BLOCK>;
    struct lambda_run run;
    run.begin = 0;
    for (uint32_t i = 0, above = 0, below; run.begin < query.n_top; i++, above = below) {
        below = query.gain_end[i];
        run.end = lambda_run_end(query, run.begin, below);
        run.hole = query.n_top + above - run.begin;
        run.hole_docs = below - above - (run.end - run.begin);
        if (run.begin == run.end)
            continue;
        run.gain = __ldg(query.d_gain + above);
        const uint32_t n = lambda_others(query, run);
        const uint32_t step = group::size * (BOUNDED ? SLOTS : 1);
        for (uint32_t base = 32 * (group::thread() / 32); base < n; base += step) {
            if (BOUNDED)
                bounded_add_up_to<BLOCK, SLOTS>(query, bounded, run, base);
            else
                lambda_add_pairs<BLOCK>(query, run, base);
        }
        run.begin = run.end;
    }
}

/* Queries d_by_size[begin, end), each for a block or a warp with room for `room` documents. */
struct lambda_jobs {
    uint32_t begin, end, room;
};

template <bool BLOCK>
RW_DEVICE void lambda_job(const struct rw_objective_args &a, const struct lambda_jobs &jobs)
{
    using group = lambda_group<BLOCK>;
    extern __shared__ __align__(16) unsigned char memory[];
    __shared__ unsigned long long total[2];
    const uint32_t warp = threadIdx.x / 32, room = jobs.room;
    const uint32_t job = jobs.begin + (BLOCK ? blockIdx.x : blockIdx.x * WARPS + warp);
    if (job >= jobs.end)
        return; /* the whole warp returns; no barrier of the block follows */
    struct lambda_query query = lambda_query_of(a, a.rank.d_by_size[job]);
    if (a.run.d_sampled && !a.run.d_sampled[query.first])
        return;
    if (!(query.ideal > 0.0f)) {
        for (uint32_t i = group::thread(); i < query.n; i += group::size)
            a.run.d_pair[query.first + i] = {0, 0};
        return;
    }
    query.item = reinterpret_cast<struct lambda_item *>(
        memory + (BLOCK ? 0 : (size_t)warp * room * LAMBDA_DOC_BYTES));
    query.lambda = reinterpret_cast<unsigned long long *>(query.item + room);
    query.hessian = query.lambda + room;
    query.slot = reinterpret_cast<uint16_t *>(query.hessian + room);
    query.to_place = query.slot + room;
    query.place_at = query.to_place + room;
    query.gain_end = query.place_at + room;
    if (BLOCK && threadIdx.x < 2)
        total[threadIdx.x] = 0;
    lambda_fill<BLOCK>(a, query);
    const double highest = query.item[query.place_at[0]].score;
    const double lowest = query.item[query.place_at[query.n - 1]].score;
    query.norm = a.rule.norm && highest != lowest;
    struct rw_bounded_query bounded = rw_bounded_query_of(query.ideal, query.norm, query.sigma);
    if (!a.bounded || !rw_bounded_scores(highest - lowest, query.sigma)) {
        lambda_runs<BLOCK, false>(query, bounded);
    } else if (query.sigma == 1.0f) {
        bounded.sigma = 1.0f; /* the same, but compiled without products by 1 */
        lambda_runs<BLOCK, true>(query, bounded);
    } else {
        lambda_runs<BLOCK, true>(query, bounded);
    }
    long long hi = lambda_warp_sum(query.hi), lo = lambda_warp_sum(query.lo);
    if (BLOCK) {
        if (threadIdx.x % 32 == 0) {
            lambda_shared_add(&total[0], hi);
            lambda_shared_add(&total[1], lo);
        }
        __syncthreads();
        hi = (long long)total[0];
        lo = (long long)total[1];
    }
    __syncwarp();
    const double factor = rw_lambda_factor(&a.rule, hi, lo, query.shift);
    struct lambda_largest largest;
    for (uint32_t i = group::thread(); i < query.n; i += group::size) {
        const uint32_t place = query.to_place[i];
        lambda_write(a, query.first + i,
                     {(int64_t)query.lambda[place], (int64_t)query.hessian[place]}, factor,
                     largest);
    }
    largest.raise(a.run.d_info);
}

/* Launches may overlap, but each ends after the one before it. */
template <bool BLOCK>
__global__ void __launch_bounds__(THREADS, RW_TUNE_LAMBDA_BLOCKS)
    lambda_kernel(const __grid_constant__ struct rw_objective_args a, const struct lambda_jobs jobs)
{
    let_next_launch_begin();
    lambda_job<BLOCK>(a, jobs);
    wait_for_launch_before();
}

extern "C" int rw_cuda_lambda_prepare(void)
{
    for (auto *kernel : {lambda_kernel<true>, lambda_kernel<false>})
        TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      RW_LAMBDA_BLOCK_DOCS * LAMBDA_DOC_BYTES));
    return cudaSuccess;
}

static int launch_queries(const struct rw_objective_args *args, cudaStream_t stream)
{
    /* d_by_size has the spread queries first, because they are the largest */
    const uint32_t blocks = args->n_spread, warps = blocks + args->n_block;
    const uint32_t end = warps + args->n_warp, narrow = end - args->n_narrow;
    const uint32_t narrow_docs =
        args->warp_docs < RW_LAMBDA_NARROW_DOCS ? args->warp_docs : RW_LAMBDA_NARROW_DOCS;
    const struct lambda_jobs all[] = {{blocks, warps, args->block_docs},
                                      {warps, narrow, args->warp_docs},
                                      {narrow, end, narrow_docs}};
    bool is_first = true; /* the first launch waits for the ranks, and the others follow it */
    for (const struct lambda_jobs &jobs : all) {
        auto *const kernel = &jobs == all ? lambda_kernel<true> : lambda_kernel<false>;
        const unsigned each = &jobs == all ? 1 : WARPS; /* queries per block */
        const unsigned grid = blocks_for(jobs.end - jobs.begin, each);
        const size_t bytes = (size_t)each * jobs.room * LAMBDA_DOC_BYTES;
        if (grid == 0)
            continue;
        if (is_first)
            kernel<<<grid, THREADS, bytes, stream>>>(*args, jobs);
        else
            (void)launch_after(kernel, grid, THREADS, bytes, stream, *args, jobs);
        is_first = false;
    }
    return (int)cudaGetLastError();
}

/* ---- Spread queries ----
 *
 * Decomposition: lambda_begin_kernel clears the sums. In lambda_spread_kernel, a block has a job
 * (struct rw_lambda_job) and adds its pairs to the sums in device memory. lambda_end_kernel makes
 * the final integers from the sums, with a thread per document. Gains are in input order. */
enum { SPREAD_SLOTS = RW_TUNE_LAMBDA_SPREAD_SLOTS, DOC_THREADS = RW_LAMBDA_SPREAD_LOWS };

static_assert(RW_LAMBDA_SPREAD_LOWS == THREADS * SPREAD_SLOTS, "as jobs are listed");

/* Clears the sums of spread queries. The block after the last job, which all runs have, clears
 * d_total and initialises d_info. */
__global__ void lambda_begin_kernel(const __grid_constant__ struct rw_objective_args a)
{
    if (blockIdx.x < a.n_jobs) {
        const struct rw_lambda_job job = a.d_job[blockIdx.x];
        const struct rw_query_range query = rw_query_range(a.rank.d_offset, a.d_spread[job.spread]);
        if (job.top == 0 && job.low + threadIdx.x < query.n)
            a.run.d_pair[query.first + job.low + threadIdx.x] = {0, 0};
        return;
    }
    if (threadIdx.x == 0) {
        struct rw_cuda_lambda_info info = {};
        info.lambda_exponent = info.hessian_exponent = RW_LAMBDA_EXPONENT;
        *a.run.d_info = info;
    }
    for (uint32_t i = threadIdx.x; i < a.n_spread; i += DOC_THREADS)
        a.d_total[i].hi = a.d_total[i].lo = 0;
}

struct spread_own { /* a thread's documents */
    struct lambda_item item[SPREAD_SLOTS];
    double gain[SPREAD_SLOTS];
    uint32_t position[SPREAD_SLOTS];
    long long lambda[SPREAD_SLOTS], hessian[SPREAD_SLOTS];
};

struct spread_top {
    struct lambda_item item;
    double gain;
};

struct spread_shared {
    struct spread_top top[RW_LAMBDA_SPREAD_TOPS];
    unsigned long long lambda[RW_LAMBDA_SPREAD_TOPS], hessian[RW_LAMBDA_SPREAD_TOPS];
    unsigned long long total[2];
};

RW_DEVICE void spread_add_pairs(struct lambda_query &query, struct spread_shared &shared,
                                uint32_t top, uint32_t end, struct spread_own &own)
{
    long long sum = 0; /* at most SPREAD_SLOTS x 128 pairs; sums of n pairs stay below 2^62 */
    for (uint32_t j = 0; j < end - top; j++) {
        const struct spread_top upper = shared.top[j];
        long long lambda = 0, hessian = 0;
#pragma unroll
        for (int k = 0; k < SPREAD_SLOTS; k++) {
            if (own.position[k] <= top + j || own.gain[k] == upper.gain)
                continue;
            const struct rw_lambda_pair pair =
                lambda_pair(query, upper.item, own.item[k], (float)(own.gain[k] - upper.gain));
            own.lambda[k] += pair.lambda;
            own.hessian[k] += pair.hessian;
            lambda -= pair.lambda;
            hessian += pair.hessian;
            sum += own.gain[k] > upper.gain ? pair.lambda : -pair.lambda;
        }
        __syncwarp();
        lambda = lambda_warp_sum(lambda);
        hessian = lambda_warp_sum(hessian);
        if (threadIdx.x % 32 == 0) {
            lambda_shared_add(&shared.lambda[j], lambda);
            lambda_shared_add(&shared.hessian[j], hessian);
        }
    }
    query.hi += sum >> 32;
    query.lo += sum & 0xffffffff;
}

RW_DEVICE void spread_add(int64_t *d_sum, unsigned long long v)
{
    if (v != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(d_sum), v);
}

__global__ void __launch_bounds__(THREADS)
    lambda_spread_kernel(const __grid_constant__ struct rw_objective_args a)
{
    __shared__ struct spread_shared shared;
    const struct rw_lambda_job job = a.d_job[blockIdx.x];
    struct lambda_query query = lambda_query_of(a, a.d_spread[job.spread]);
    if (!(query.ideal > 0.0f) || (a.run.d_sampled && !a.run.d_sampled[query.first]))
        return;
    query.norm = a.rule.norm && a.run.d_scores[a.rank.d_order[query.first]] !=
                                    a.run.d_scores[a.rank.d_order[query.first + query.n - 1]];
    struct spread_own own = {};
#pragma unroll
    for (int k = 0; k < SPREAD_SLOTS; k++) {
        const uint32_t t = job.low + THREADS * k + threadIdx.x;
        if (t >= query.n)
            continue;
        const uint32_t doc = a.rank.d_order[query.first + t];
        own.position[k] = t;
        own.item[k] = {a.run.d_scores[doc], a.d_discount[t]};
        own.gain[k] = a.d_gain[doc];
    }
    if (threadIdx.x < 2)
        shared.total[threadIdx.x] = 0;
    const uint32_t most = query.n_top - job.top;
    const uint32_t last = job.top + (most < a.spread_tops ? most : a.spread_tops);
    for (uint32_t top = job.top; top < last; top += RW_LAMBDA_SPREAD_TOPS) {
        const uint32_t end =
            last - top < RW_LAMBDA_SPREAD_TOPS ? last : top + RW_LAMBDA_SPREAD_TOPS;
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < end - top; j += THREADS) {
            const uint32_t doc = a.rank.d_order[query.first + top + j];
            shared.top[j].item.score = a.run.d_scores[doc];
            shared.top[j].item.discount = a.d_discount[top + j];
            shared.top[j].gain = a.d_gain[doc];
            shared.lambda[j] = shared.hessian[j] = 0;
        }
        __syncthreads();
        spread_add_pairs(query, shared, top, end, own);
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < end - top; j += THREADS) {
            const uint32_t doc = a.rank.d_order[query.first + top + j];
            spread_add(&a.run.d_pair[doc].lambda, shared.lambda[j]);
            spread_add(&a.run.d_pair[doc].hessian, shared.hessian[j]);
        }
    }
#pragma unroll
    for (int k = 0; k < SPREAD_SLOTS; k++) {
        const uint32_t t = job.low + THREADS * k + threadIdx.x;
        if (t >= query.n)
            continue;
        const uint32_t doc = a.rank.d_order[query.first + t];
        spread_add(&a.run.d_pair[doc].lambda, (unsigned long long)own.lambda[k]);
        spread_add(&a.run.d_pair[doc].hessian, (unsigned long long)own.hessian[k]);
    }
    const long long hi = lambda_warp_sum(query.hi), lo = lambda_warp_sum(query.lo);
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

__global__ void lambda_end_kernel(const __grid_constant__ struct rw_objective_args a)
{
    const struct rw_lambda_job job = a.d_job[blockIdx.x];
    const struct rw_query_range query = rw_query_range(a.rank.d_offset, a.d_spread[job.spread]);
    if (job.top > 0 || (a.run.d_sampled && !a.run.d_sampled[query.first]))
        return;
    const struct rw_lambda_total total = a.d_total[job.spread];
    const double factor = rw_lambda_factor(&a.rule, (int64_t)total.hi, (int64_t)total.lo,
                                           rw_lambda_shift(query.n, &a.rule));
    const uint32_t doc = query.first + job.low + threadIdx.x;
    struct lambda_largest largest;
    if (job.low + threadIdx.x < query.n)
        lambda_write(a, doc, a.run.d_pair[doc], factor, largest);
    largest.raise(a.run.d_info);
}

extern "C" int rw_cuda_lambda_pairs(const struct rw_objective_args *args, void *stream)
{
    TRY_CUDA(launch_grid(lambda_begin_kernel, args->n_jobs + 1, DOC_THREADS, stream, *args));
    TRY_CUDA(rw_cuda_rank_run(&args->rank, args->run.d_scores, args->run.d_sampled, stream));
    TRY_CUDA(launch_queries(args, (cudaStream_t)stream));
    TRY_CUDA(launch_grid(lambda_spread_kernel, args->n_jobs, THREADS, stream, *args));
    return launch_grid(lambda_end_kernel, args->n_jobs, DOC_THREADS, stream, *args);
}
