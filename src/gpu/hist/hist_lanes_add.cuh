/* Adds documents to the cells of a block. This is the inner part of hist_lanes.cu, which explains
 * the division of work and the layout of cells. */
#pragma once

#include <cuda_runtime.h>

#include "gpu/device/kernel.cuh"
#include "gpu/hist/hist_lanes_plan.cuh"

extern __shared__ uint4 shared_cells[];

/* Sums beyond those of hist.h: newton's in two launches, where its cells do not fit one. */
enum { ONLY_LAMBDAS = RW_HIST_FLOAT + 1, ONLY_HESSIANS };
static __host__ __device__ constexpr bool has_hessians(int sums)
{
    return sums == RW_HIST_NEWTON || sums == ONLY_HESSIANS;
}
enum : uint32_t { NO_DOC = 0xffffffffu };

/* The parameters for which a kernel is compiled. BINS: bins per code that fit, for 4 and 8 bits.
 * IN_PART: codes of 16 bits are tested against the row's bins. */
template <int BITS_, int CODES_, int BINS_, bool IN_PART_> struct shape {
    static constexpr int BITS = BITS_, CODES = CODES_, BINS = BINS_;
    static constexpr bool IN_PART = IN_PART_;
    static constexpr int UNROLL = BITS == 16 ? RW_TUNE_LANES_UNROLL_16 : RW_TUNE_LANES_UNROLL;
};

/* Hessians are halves of words: the four codes of a word fit a block in no other way. */
template <class S, int SUMS> static __device__ constexpr bool in_halves()
{
    return SUMS == RW_HIST_NEWTON && S::BITS == 8 && S::CODES * S::BINS == HALVES_CELLS;
}

/* The layout of cells in shared memory: [code][bin][32] words, 4 and 8 bits of newton as
 * [code][cell, hess][bin][32], codes of 16 bits of newton as [bin][cell, hess][32]; in halves
 * [code][bin][32] followed by [pair of codes][bin][32], the even code's hess low. */
template <class S, int SUMS> static __device__ __forceinline__ uint32_t cell_at(uint32_t bin, int j)
{
    constexpr int WORDS = SUMS == RW_HIST_NEWTON && !in_halves<S, SUMS>() ? 2 : 1;
    if (S::BITS == 16)
        return bin * (WORDS * WARP);
    return (WORDS * j * S::BINS + bin) * WARP;
}

/* The hess of a code's cell. */
template <class S, int SUMS> struct heavy_cell {
    static __device__ __forceinline__ uint32_t *word(uint32_t *cell)
    {
        return cell + (S::BITS == 16 ? WARP : S::BINS * WARP);
    }
    static __device__ __forceinline__ uint16_t *half(uint32_t *cell, uint32_t code)
    {
        return (uint16_t *)(cell + (S::CODES + code / 2 - code) * (S::BINS * WARP)) + code % 2;
    }
    static __device__ __forceinline__ uint32_t read(uint32_t *cell, uint32_t code)
    {
        if (SUMS != RW_HIST_NEWTON)
            return 0;
        return in_halves<S, SUMS>() ? *half(cell, code) : *word(cell);
    }
    static __device__ __forceinline__ void clear(uint32_t *cell, uint32_t code)
    {
        if (in_halves<S, SUMS>())
            *half(cell, code) = 0;
        else if (SUMS == RW_HIST_NEWTON)
            *word(cell) = 0;
    }
};

/* ---- adding ---- */

/* Adds to a word of shared memory; `at` and OFFSET in bytes. The address is the hardware's own, for
 * the compiler would add the array's to each. */
template <int OFFSET> static __device__ __forceinline__ void add_cell(uint32_t at, uint32_t value)
{
    asm volatile("red.shared.add.u32 [%0+%2], %1;" ::"r"(at), "r"(value), "n"(OFFSET));
}

template <class S, int SUMS, int J>
static __device__ __forceinline__ void add_code(uint32_t lane_at, uint32_t codes, uint32_t byte,
                                                uint32_t packed, uint32_t heavy)
{
    constexpr int LINE = WARP * 4, PLANE = S::BINS * LINE;
    /* code * LINE + lane_at, in one instruction: the dot product with one byte of LINE */
    const uint32_t at = __dp4a(codes, (uint32_t)LINE << (8 * byte), lane_at);
    if (SUMS == RW_HIST_NEWTON) {
        add_cell<2 * J * PLANE>(at, packed);
        add_cell<(2 * J + 1) * PLANE>(at, heavy);
    } else {
        add_cell<J * PLANE>(at, packed);
    }
}

/* The four codes of a word with hessians in halves. A hessian of 0, as many documents have, is not
 * added: one branch, which all lanes of a wide tile take alike. */
template <class S>
static __device__ __forceinline__ void add_four(uint32_t lane_at, uint32_t codes, uint32_t packed,
                                                uint32_t heavy)
{
    constexpr int LINE = WARP * 4, PLANE = S::BINS * LINE;
    uint32_t at[4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        at[j] = __dp4a(codes, (uint32_t)LINE << (8 * j), lane_at);
    add_cell<0>(at[0], packed);
    add_cell<PLANE>(at[1], packed);
    add_cell<2 * PLANE>(at[2], packed);
    add_cell<3 * PLANE>(at[3], packed);
    if (heavy == 0)
        return;
    add_cell<4 * PLANE>(at[0], heavy);
    add_cell<4 * PLANE>(at[1], heavy << 16);
    add_cell<5 * PLANE>(at[2], heavy);
    add_cell<5 * PLANE>(at[3], heavy << 16);
}

/* Adds the codes of a lane's word. lane_at: of the lane's bank, in bytes. */
template <class S, int SUMS>
static __device__ __forceinline__ void add_word(uint32_t lane_at, uint32_t word, uint32_t packed,
                                                uint32_t heavy, const struct plan_row &row)
{
    if constexpr (S::BITS == 16) {
        constexpr int LINE = WARP * 4;
        const uint32_t code = S::IN_PART ? word - row.first_bin : word;
        if (S::IN_PART && code >= row.n_bins)
            return;
        const uint32_t at = code * (SUMS == RW_HIST_NEWTON ? 2 * LINE : LINE) + lane_at;
        add_cell<0>(at, packed);
        if (SUMS == RW_HIST_NEWTON)
            add_cell<LINE>(at, heavy);
    } else if constexpr (S::BITS == 4) {
        const uint32_t even = word & 0x0f0f0f0fu, odd = word >> 4 & 0x0f0f0f0fu;
        add_code<S, SUMS, 0>(lane_at, even, 0, packed, heavy);
        add_code<S, SUMS, 1>(lane_at, odd, 0, packed, heavy);
        add_code<S, SUMS, 2>(lane_at, even, 1, packed, heavy);
        add_code<S, SUMS, 3>(lane_at, odd, 1, packed, heavy);
        add_code<S, SUMS, 4>(lane_at, even, 2, packed, heavy);
        add_code<S, SUMS, 5>(lane_at, odd, 2, packed, heavy);
        add_code<S, SUMS, 6>(lane_at, even, 3, packed, heavy);
        add_code<S, SUMS, 7>(lane_at, odd, 3, packed, heavy);
    } else if constexpr (in_halves<S, SUMS>()) {
        add_four<S>(lane_at, word, packed, heavy);
    } else {
        const uint32_t first = S::CODES == WARP / 8 ? 0 : row.first_code;
        add_code<S, SUMS, 0>(lane_at, word, first, packed, heavy);
        if constexpr (S::CODES > 1)
            add_code<S, SUMS, 1>(lane_at, word, first + 1, packed, heavy);
        if constexpr (S::CODES > 2) {
            add_code<S, SUMS, 2>(lane_at, word, 2, packed, heavy);
            add_code<S, SUMS, 3>(lane_at, word, 3, packed, heavy);
        }
    }
}

/* What belongs to a document on its way to the cells. */
struct lane_doc {
    uint32_t doc; /* NO_DOC: none */
    uint32_t packed, heavy;
};

/* A chunk of documents: those at places [begin, begin + n). */
struct chunk {
    uint32_t node, n, begin;
};

/* Reads what belongs to a document, and nothing else: whoever waits for it is `settled`. */
template <int SUMS>
static __device__ __forceinline__ struct lane_doc fetched(const struct plan &plan, uint32_t place,
                                                          uint32_t doc)
{
    const char *d_first = SUMS == ONLY_HESSIANS && plan.d_hess ? plan.d_hess : plan.d_lambda;
    const uint64_t at = (uint64_t)(plan.by_position ? place : doc) * plan.number_bytes;
    struct lane_doc out = {doc, 0, 0};
    /* none of counts only; newton has them, and asks for no register to know it */
    if (doc != NO_DOC && (SUMS != RW_HIST_MART || d_first))
        out.packed = *(const uint16_t *)(d_first + at);
    if (SUMS == RW_HIST_NEWTON && doc != NO_DOC && plan.d_hess)
        out.heavy = *(const uint16_t *)(plan.d_hess + at);
    return out;
}

/* Returns the numbers to add for a document. Without a document it returns document 0 and adds
 * nothing. */
template <int SUMS>
static __device__ __forceinline__ struct lane_doc settled(const struct plan &plan,
                                                          struct lane_doc doc)
{
    const bool none = doc.doc == NO_DOC;
    const int up = SUMS == RW_HIST_MART ? 16 : plan.lambda_up;
    uint32_t word = doc.packed;
    asm volatile("" : "+r"(word)); /* not looked at, and so not waited for, where it is read */
    if (SUMS == RW_HIST_NEWTON)
        doc.heavy |= word >> plan.hess_down;
    if (SUMS == ONLY_HESSIANS)
        doc.packed = plan.d_hess ? word : word >> plan.hess_down;
    else
        doc.packed = none ? 0 : (uint32_t)((int32_t)(word << up) >> up) + plan.one;
    doc.doc = none ? 0 : doc.doc;
    return doc;
}

/* A lane's words: one code of 16 bits, or 32 bits of smaller ones. */
template <int BITS> struct lane_word {
    using type = uint32_t;
};
template <> struct lane_word<16> {
    using type = uint16_t;
};

/* Returns the start of a lane's words. Keeps the compiler from splitting the sum again. */
template <class S>
static __device__ __forceinline__ const char *lane_words(const struct plan_row &row, uint32_t slot)
{
    const char *at = (const char *)row.d_word + slot * sizeof(typename lane_word<S::BITS>::type);
    asm volatile("" : "+l"(at));
    return at;
}

/* A warp's documents in shared memory: [RING][document, packed, hess][N] words. */
template <class S, int SUMS> struct stage {
    static constexpr int N = S::UNROLL, FIELDS = SUMS == RW_HIST_NEWTON ? 3 : 2;
    uint32_t *word;
    uint32_t lane;

    __device__ __forceinline__ void put(uint32_t turn, const struct lane_doc &doc) const
    {
        uint32_t *at = word + turn % RW_TUNE_LANES_RING * (FIELDS * N) + lane;
        if (lane < N) {
            at[0] = doc.doc;
            at[N] = doc.packed;
            if (SUMS == RW_HIST_NEWTON)
                at[2 * N] = doc.heavy;
        }
        __syncwarp();
    }
    /* Four documents' field, u a multiple of 4. */
    __device__ __forceinline__ uint4 four(uint32_t turn, int field, int u) const
    {
        return *(const uint4 *)(word + turn % RW_TUNE_LANES_RING * (FIELDS * N) + field * N + u);
    }
    __device__ __forceinline__ void add(uint32_t turn, uint32_t lane_at, const uint32_t *codes,
                                        const struct plan_row &row) const
    {
#pragma unroll
        for (int u = 0; u < N; u += 4) {
            const uint4 packed = four(turn, 1, u);
            const uint4 heavy = SUMS == RW_HIST_NEWTON ? four(turn, 2, u) : packed;
            add_word<S, SUMS>(lane_at, codes[u], packed.x, heavy.x, row);
            add_word<S, SUMS>(lane_at, codes[u + 1], packed.y, heavy.y, row);
            add_word<S, SUMS>(lane_at, codes[u + 2], packed.z, heavy.z, row);
            add_word<S, SUMS>(lane_at, codes[u + 3], packed.w, heavy.w, row);
        }
    }
};

/* ---- the loops over a chunk ----
 *
 * pause: where to stop, after at most so many documents from `from`. add: adds the documents [from,
 * until) that pause returned, or fewer; returns whether it is done with all of them. */

/* All documents of a chunk that is a range, by whole warps: words at fixed offsets. */
template <class S, int SUMS> struct ranged {
    using word_type = typename lane_word<S::BITS>::type;
    static constexpr int N = S::UNROLL;
    const struct plan &plan;
    const struct plan_row &row;
    const struct stage<S, SUMS> stage;
    const char *first; /* the lane's words */
    uint32_t lane_at;
    uint32_t begin, n;

    __device__ __forceinline__ uint32_t pause(uint32_t from, uint64_t most) const
    {
        return n - from < most ? n : from + (uint32_t)most;
    }
    __device__ __forceinline__ bool add(uint32_t from, uint32_t until) const
    {
        const uint32_t warp = threadIdx.x / WARP;
        uint32_t turn = 0;
        for (uint32_t at = from + warp * N; at < until; at += THREADS / WARP * N, turn++) {
            uint32_t word[N];
            const bool mine = stage.lane < N && at + stage.lane < until;
            const uint32_t doc = mine ? begin + at + stage.lane : NO_DOC;
            const struct lane_doc next = fetched<SUMS>(plan, doc, doc);
            const word_type *d_word = (const word_type *)first + (uint64_t)(begin + at) * WARP;
            if (at + N <= until) {
#pragma unroll
                for (int u = 0; u < N; u++)
                    word[u] = __ldcs(d_word + u * WARP);
            } else {
#pragma unroll
                for (int u = 0; u < N; u++)
                    word[u] = at + u < until ? d_word[u * WARP] : 0;
            }
            stage.put(turn, settled<SUMS>(plan, next));
            stage.add(turn, lane_at, word, row);
        }
        if (until < n && threadIdx.x == 0)
            ask_for_rows(until);
        return until == n;
    }
    /* Memory is kept busy while the cells are looked at: the rows after go to the L2 cache. */
    __device__ __forceinline__ void ask_for_rows(uint32_t from) const
    {
#if __CUDA_ARCH__ >= 900
        const uint32_t docs = n - from < RW_TUNE_LANES_AHEAD ? n - from : RW_TUNE_LANES_AHEAD;
        const uint64_t row_bytes = WARP * sizeof(word_type);
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"((const char *)row.d_word +
                                                                        (begin + from) * row_bytes),
                     "r"((uint32_t)(docs * row_bytes)));
#else
        (void)from;
#endif
    }
};

/* Adds the documents of a chunk of a list or (not LIST) a range, by whole warps. Words are read a
 * turn ahead, also across checks of the cells if these are far enough from each other. In halves, a
 * warp also stops when its documents' hessians might fill its share of a half; warps are then at
 * different positions. */
template <class S, int SUMS, bool LIST> struct listed {
    using word_type = typename lane_word<S::BITS>::type;
    static constexpr int N = S::UNROLL;
    static constexpr uint32_t STEP = THREADS / WARP * N;
    const struct plan &plan;
    const struct plan_row &row;
    const struct stage<S, SUMS> stage;
    const char *first; /* the lane's words */
    uint32_t lane_at;
    uint32_t begin, n;
    bool steady;                 /* each run but the last is of whole pairs of turns */
    uint32_t at, end, turn;      /* the warp's position; the end of the readable documents */
    struct lane_doc next;        /* of this lane's place, one turn ahead */
    uint32_t next_doc;           /* two turns ahead */
    uint32_t heavy, heavy_ahead; /* of turns since the last look; of the one that is staged */
    uint32_t even[N];            /* words of this turn */

    __device__ __forceinline__ uint32_t pause(uint32_t from, uint64_t most) const
    {
        if (n - from <= most && !in_halves<S, SUMS>())
            return n;
        return from + (uint32_t)(steady ? most / (2 * STEP) * (2 * STEP) : most);
    }
    __device__ __forceinline__ uint32_t doc_of(uint32_t from) const
    {
        const uint32_t mine = from + stage.lane;
        if (stage.lane >= N || mine >= end)
            return NO_DOC;
        return LIST ? plan.d_list[begin + mine] : begin + mine;
    }
    /* Puts the next turn's documents where all lanes read them, and starts on those after. */
    __device__ __forceinline__ void turn_over()
    {
        turn++;
        const struct lane_doc now = settled<SUMS>(plan, next);
        stage.put(turn, now);
        if (in_halves<S, SUMS>()) {
            heavy_ahead = rw_warp_add(now.heavy);
            heavy += heavy_ahead;
        }
        next = fetched<SUMS>(plan, begin + (at + 2 * STEP + stage.lane), next_doc);
        next_doc = doc_of(at + 3 * STEP);
    }
    __device__ __forceinline__ uint32_t word_of(uint32_t doc) const
    {
        const word_type *at =
            (const word_type *)(first + (uint64_t)doc * (WARP * sizeof(word_type)));
        return LIST ? *at : __ldcs(at);
    }
    __device__ __forceinline__ void load(uint32_t *word) const
    {
#pragma unroll
        for (int u = 0; u < N; u += 4) {
            const uint4 doc = stage.four(turn, 0, u);
            word[u] = word_of(doc.x);
            word[u + 1] = word_of(doc.y);
            word[u + 2] = word_of(doc.z);
            word[u + 3] = word_of(doc.w);
        }
    }
    /* One turn: words of the next one are read while these are added. */
    __device__ __forceinline__ void step(uint32_t *word_next, const uint32_t *word)
    {
        turn_over();
        if (at + STEP < end)
            load(word_next);
        stage.add(turn - 1, lane_at, word, row);
        at += STEP;
    }
    /* Reads the first turn's words, and what belongs to the two after. */
    __device__ __forceinline__ void start(uint32_t from, uint32_t upto)
    {
        at = from + threadIdx.x / WARP * N;
        end = upto;
        if (at >= end)
            return;
        next = fetched<SUMS>(plan, begin + (at + stage.lane), doc_of(at));
        next_doc = doc_of(at + STEP);
        at -= STEP; /* as if the turn before were being added */
        turn_over();
        at += STEP;
        load(even);
    }
    __device__ __forceinline__ bool add(uint32_t from, uint32_t until)
    {
        uint32_t odd[N];
        if (from == 0 || !steady)
            start(from, steady ? n : until);
        const uint32_t stop =
            in_halves<S, SUMS>() ? at + (until - from) : until + threadIdx.x / WARP * N;
        heavy = heavy_ahead;
        while (at < end) {
            step(odd, even);
            if (at >= end)
                break;
            step(even, odd);
            if (at >= stop || (in_halves<S, SUMS>() && heavy > HALVES_WARP - N * plan.largest))
                break;
        }
        return in_halves<S, SUMS>() ? at >= end : until == n;
    }
};

/* A tile of fewer lanes: several documents a warp, each lane on its own. */
template <class S, int SUMS> struct narrow {
    using word_type = typename lane_word<S::BITS>::type;
    static constexpr int N = S::UNROLL / (SUMS == RW_HIST_NEWTON ? 2 : 1);
    const struct plan &plan;
    const struct plan_row &row;
    uint32_t lane_at;
    uint32_t begin, n;

    __device__ __forceinline__ uint32_t pause(uint32_t from, uint64_t most) const
    {
        return n - from < most ? n : from + (uint32_t)most;
    }
    __device__ __forceinline__ uint32_t doc_of(uint32_t at, uint32_t until) const
    {
        return at >= until ? NO_DOC : plan.d_list ? plan.d_list[begin + at] : begin + at;
    }
    __device__ __forceinline__ bool add(uint32_t from, uint32_t until) const
    {
        const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, lanes = row.lanes;
        const uint32_t docs_a_warp = WARP / lanes, step = docs_a_warp * N;
        const char *first = lane_words<S>(row, lane & (lanes - 1));
        const uint32_t doc_bytes = lanes * (uint32_t)sizeof(word_type);
        for (uint32_t at = from + warp * step + lane / lanes; at < until;
             at += THREADS / WARP * step) {
            uint32_t word[N], id[N];
            struct lane_doc doc[N];
#pragma unroll
            for (int u = 0; u < N; u++)
                id[u] = doc_of(at + u * docs_a_warp, until);
#pragma unroll
            for (int u = 0; u < N; u++) {
                doc[u] = fetched<SUMS>(plan, begin + (at + u * docs_a_warp), id[u]);
                word[u] = *(const word_type *)(first +
                                               (uint64_t)(id[u] == NO_DOC ? 0 : id[u]) * doc_bytes);
            }
#pragma unroll
            for (int u = 0; u < N; u++) {
                const struct lane_doc at_hand = settled<SUMS>(plan, doc[u]);
                add_word<S, SUMS>(lane_at, word[u], at_hand.packed, at_hand.heavy, row);
            }
        }
        return until == n;
    }
};

/* ---- draining ----
 *
 * Checks for full cells while documents are being added, and drains all cells at the end.
 * hist_lanes.cu processes the drained cells. */
/* Rows of cells are dealt to the warps in turn, so a warp keeps to one code of a word. */
enum { WARPS = THREADS / WARP };
/* Rows that a warp reads at once when it looks for full cells. */
enum { LOOK_ROWS = 4 };

/* Sums over the lanes that own the same features. */
template <class T> static __device__ T sum_copies(T v, uint32_t lanes)
{
    for (uint32_t step = lanes; step < WARP; step *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

/* The content of a packed cell, or of all its 32 copies: lambda stays under 2^29. */
struct drained {
    uint32_t count;
    int32_t lambda;
    unsigned long long hess;
};
template <int SUMS>
static __device__ __forceinline__ struct drained drained_of(const struct plan &plan,
                                                            uint32_t packed, uint32_t heavy)
{
    struct drained d = {0, 0, SUMS == ONLY_HESSIANS ? packed : heavy};
    if (SUMS != ONLY_HESSIANS) {
        d.count = packed >> plan.shift;
        d.lambda = (int32_t)(packed & ((1u << plan.shift) - 1)) - plan.largest * (int32_t)d.count;
    }
    return d;
}

template <int SUMS> static __device__ __forceinline__ bool holds_any(const struct drained &d)
{
    return SUMS == ONLY_HESSIANS ? d.hess != 0 : d.count != 0;
}

/* Cells from plane to plane. */
static __device__ __forceinline__ uint64_t plane_cells(const struct plan &plan)
{
    return plan.node_cells * plan.n_nodes;
}

/* The plane of hessians in words of 32 bits. */
static __device__ __forceinline__ uint32_t *hess_plane(const struct plan &plan)
{
    return (uint32_t *)(plan.d_cell + plane_cells(plan));
}

/* Adds it to the drained cell `at`, as struct plan says. */
template <int SUMS>
static __device__ __forceinline__ void add_drained(const struct plan &plan, const struct drained &d,
                                                   uint64_t at)
{
    const unsigned long long lambda = (unsigned long long)(long long)d.lambda;
    unsigned long long *const d_out = plan.d_cell + at;
    if (plan.wide) {
        if (SUMS != ONLY_HESSIANS) {
            atomicAdd(d_out, (unsigned long long)d.count);
            atomicAdd(d_out + plane_cells(plan), lambda);
        }
        if (has_hessians(SUMS))
            atomicAdd(d_out + 2 * plane_cells(plan), d.hess);
    } else if (has_hessians(SUMS) && plan.hess_at) {
        atomicAdd(d_out, (lambda << plan.lambda_at) + (d.hess << plan.hess_at) + d.count);
    } else {
        if (SUMS != ONLY_HESSIANS)
            atomicAdd(d_out, (lambda << plan.lambda_at) + d.count);
        if (has_hessians(SUMS))
            atomicAdd(hess_plane(plan) + at, (uint32_t)d.hess);
    }
}

/* Where a node's drained cells of a row begin. */
static __device__ __forceinline__ uint64_t drained_to(const struct plan &plan,
                                                      const struct plan_row &row, uint32_t node)
{
    return node * plan.node_cells + row.cells;
}

/* The first cell of a thread; the next one is NEXT_CELL words on. */
template <class S, int SUMS> static __device__ __forceinline__ uint32_t *first_cell()
{
    const uint32_t warp = threadIdx.x / WARP;
    return (uint32_t *)shared_cells + cell_at<S, SUMS>(warp / S::CODES, warp % S::CODES) +
           threadIdx.x % WARP;
}
template <class S, int SUMS> static __device__ constexpr uint32_t next_cell()
{
    static_assert(WARPS % S::CODES == 0, "a warp keeps to one code of a word");
    constexpr uint32_t BINS = WARPS / S::CODES;
    return BINS * WARP * (S::BITS == 16 && SUMS == RW_HIST_NEWTON ? 2 : 1);
}

/* Drains the cells that are more than 1 / RW_TUNE_LANES_FULL full, or of a half that holds more
 * than HALVES_LEFT. Returns the largest count that is left, the same for all threads, by way of
 * *fullest, which is 0 before; *fullest_next is 0 after. All threads have added when this is
 * called, and may add again when it returns. */
template <class S, int SUMS>
static __device__ uint32_t drain_full(const struct plan &plan, const struct plan_row &row,
                                      uint32_t node, uint32_t *fullest, uint32_t *fullest_next)
{
    using heavy_cell = struct heavy_cell<S, SUMS>;
    const int shift = SUMS == ONLY_HESSIANS ? 0 : plan.shift;
    const uint32_t full = SUMS == ONLY_HESSIANS ? 0 : plan.room / RW_TUNE_LANES_FULL;
    const uint32_t lane = threadIdx.x % WARP, least = (full + 1) << shift;
    const uint32_t code = threadIdx.x / WARP % S::CODES;
    const uint32_t n = row.n_bins * S::CODES;
    uint32_t *cell = first_cell<S, SUMS>(), most = 0;
    const uint64_t first = drained_to(plan, row, node) + (lane & (row.lanes - 1));
    for (uint32_t i = threadIdx.x / WARP; i < n; i += LOOK_ROWS * WARPS) {
        uint32_t packed[LOOK_ROWS], top = 0, top_heavy = 0;
#pragma unroll
        for (int k = 0; k < LOOK_ROWS; k++) {
            const bool there = i + k * WARPS < n;
            packed[k] = there ? cell[k * next_cell<S, SUMS>()] : 0;
            top = max(top, packed[k]);
            if (in_halves<S, SUMS>() && there)
                top_heavy = max(top_heavy, heavy_cell::read(cell + k * next_cell<S, SUMS>(), code));
        }
        if (top < least && top_heavy <= HALVES_LEFT) {
            most = max(most, top);
        } else {
#pragma unroll
            for (int k = 0; k < LOOK_ROWS; k++) {
                uint32_t *at = cell + k * next_cell<S, SUMS>();
                const uint32_t heavy = packed[k] ? heavy_cell::read(at, code) : 0;
                if (packed[k] < least && (!in_halves<S, SUMS>() || heavy <= HALVES_LEFT)) {
                    most = max(most, packed[k]);
                    continue;
                }
                add_drained<SUMS>(plan, drained_of<SUMS>(plan, packed[k], heavy),
                                  first + (i + k * WARPS) * row.lanes);
                *at = 0;
                heavy_cell::clear(at, code);
            }
        }
        cell += LOOK_ROWS * next_cell<S, SUMS>();
    }
    most = rw_warp_max(most >> shift);
    if (lane == 0 && most)
        atomicMax(fullest, most);
    if (threadIdx.x == 0)
        *fullest_next = 0;
    __syncthreads();
    return *fullest;
}

/* Drains all cells, copies added up first. */
template <class S, int SUMS>
static __device__ void drain_all(const struct plan &plan, const struct plan_row &row, uint32_t node)
{
    using heavy_cell = struct heavy_cell<S, SUMS>;
    const uint32_t lane = threadIdx.x % WARP, n = row.n_bins * S::CODES, lanes = row.lanes;
    const uint32_t code = threadIdx.x / WARP % S::CODES;
    uint32_t *cell = first_cell<S, SUMS>();
    uint32_t i = threadIdx.x / WARP;
    uint64_t to = drained_to(plan, row, node) + (i * lanes + lane);
    if (lanes == WARP) {
#pragma unroll 4
        for (; i < n; i += WARPS) {
            const struct drained d = drained_of<SUMS>(plan, *cell, heavy_cell::read(cell, code));
            if (holds_any<SUMS>(d))
                add_drained<SUMS>(plan, d, to);
            cell += next_cell<S, SUMS>();
            to += WARPS * WARP;
        }
        return;
    }
    for (; i < n; i += WARPS) {
        struct drained d = drained_of<SUMS>(plan, *cell, heavy_cell::read(cell, code));
        d.count = sum_copies(d.count, lanes);
        d.lambda = sum_copies(d.lambda, lanes);
        if (has_hessians(SUMS))
            d.hess = sum_copies(d.hess, lanes);
        if (lane < lanes && holds_any<SUMS>(d))
            add_drained<SUMS>(plan, d, to);
        cell += next_cell<S, SUMS>();
        to += WARPS * lanes;
    }
}
