/* Adds documents to the cells of a block. This is the inner part of hist_lanes.cu, which explains
 * the division of work. A document or a cell has two words. `packed` has a count in the high bits,
 * and in the low bits lambda + largest, or the sum of that over the documents. `heavy` is the
 * hessian or its sum. In a launch of ONLY_HESSIANS, `packed` is that. */
#pragma once

#include <utility>

#include "gpu/device/kernel.cuh"
#include "gpu/hist/hist_lanes_plan.cuh"

extern __shared__ uint4 shared_cells[];

/* Newton in two launches, for layouts whose cells do not fit shared memory with both sums. The
 * values continue enum rw_hist_sums. */
enum { ONLY_LAMBDAS = RW_HIST_FLOAT + 1, ONLY_HESSIANS };
static __host__ __device__ constexpr bool has_hessians(int sums)
{
    return sums == RW_HIST_NEWTON || sums == ONLY_HESSIANS;
}
enum : uint32_t { NO_DOC = 0xffffffffu };

/* The parameters of a kernel. BITS: of a code. CODES: codes of a word that a row of the plan has.
 * BINS: bins for which each code has room, for 4 and 8 bits. IN_PART: codes of 16 bits are tested
 * against the row's bins. */
template <int BITS_, int CODES_, int BINS_, bool IN_PART_> struct shape {
    static constexpr int BITS = BITS_, CODES = CODES_, BINS = BINS_;
    static constexpr bool IN_PART = IN_PART_;
    /* a lane's word: one code of 16 bits, or 4 or 8 smaller codes */
    using word_type = typename std::conditional<BITS == 16, uint16_t, uint32_t>::type;
    /* bytes from a cell to that of the next bin, and to that of the next code */
    static constexpr int LINE = WARP * 4, PLANE = BINS * LINE;
    static constexpr int UNROLL = BITS == 16 ? RW_TUNE_LANES_UNROLL_16 : RW_TUNE_LANES_UNROLL;
};

enum { WARPS = THREADS / WARP };
static_assert(WARPS % 8 == 0, "a warp keeps to one code of a word");

/* The cells of a block in shared memory, whose packed words are [code][bin][32 lanes]. For newton
 * with codes of 4 or 8 bits the words are [code][packed, heavy][bin][32], with codes of 16 bits
 * [bin][packed, heavy][32]. With hessians in halves they are [code][bin][32] packed, then [pair of
 * codes][bin][32] heavy, with the even code in the low half. Code: its index among those of the
 * row. A line is the 32 cells of one code and bin. The warps take lines in turn. */
template <class S, int SUMS> struct cells {
    /* Hessians take half a word if else the cells of four codes of 256 bins would not fit. */
    static constexpr bool HALVES =
        SUMS == RW_HIST_NEWTON && S::BITS == 8 && S::CODES * S::BINS == HALVES_CELLS;
    static constexpr int WORDS = SUMS == RW_HIST_NEWTON && !HALVES ? 2 : 1;
    /* words from a thread's packed word to its next one */
    static constexpr uint32_t NEXT = WARPS / S::CODES * WARP * (S::BITS == 16 ? WORDS : 1);

    /* Returns the packed word of a thread's first cell. */
    static RW_DEVICE uint32_t *first()
    {
        const uint32_t warp = threadIdx.x / WARP, bin = warp / S::CODES;
        const int code = warp % S::CODES;
        return (uint32_t *)shared_cells +
               (S::BITS == 16 ? bin * (WORDS * WARP) : (WORDS * code * S::BINS + bin) * WARP) +
               threadIdx.x % WARP;
    }
    static RW_DEVICE uint32_t *word(uint32_t *cell)
    {
        return cell + (S::BITS == 16 ? WARP : S::BINS * WARP);
    }
    static RW_DEVICE uint16_t *half(uint32_t *cell, uint32_t code)
    {
        return (uint16_t *)(cell + (S::CODES + code / 2 - code) * (S::BINS * WARP)) + code % 2;
    }
    /* Read and clear the hessian of the cell with this packed word. */
    static RW_DEVICE uint32_t read(uint32_t *cell, uint32_t code)
    {
        if (SUMS != RW_HIST_NEWTON)
            return 0;
        return HALVES ? *half(cell, code) : *word(cell);
    }
    static RW_DEVICE void clear(uint32_t *cell, uint32_t code)
    {
        if (HALVES)
            *half(cell, code) = 0;
        else if (SUMS == RW_HIST_NEWTON)
            *word(cell) = 0;
    }
};

/* ---- adding ---- */

/* `at` is the hardware's address in shared memory; with an index, the compiler would add the
 * array's address each time. */
template <int OFFSET> RW_DEVICE void add_cell(uint32_t at, uint32_t value)
{
    asm volatile("red.shared.add.u32 [%0+%2], %1;" ::"r"(at), "r"(value), "n"(OFFSET));
}

/* Adds a document to the cell of one code: byte `byte` of `codes`. J: index of the code in the row.
 * lane_at: address of the lane's bank in shared memory. */
template <class S, int SUMS, int J>
RW_DEVICE void add_code(uint32_t lane_at, uint32_t codes, uint32_t byte, uint32_t packed,
                        uint32_t heavy)
{
    constexpr int LINE = S::LINE, PLANE = S::PLANE;
    /* code * LINE + lane_at in one instruction, as the dot product with one byte of LINE */
    const uint32_t at = __dp4a(codes, (uint32_t)LINE << (8 * byte), lane_at);
    if (SUMS == RW_HIST_NEWTON) {
        add_cell<2 * J * PLANE>(at, packed);
        add_cell<(2 * J + 1) * PLANE>(at, heavy);
    } else {
        add_cell<J * PLANE>(at, packed);
    }
}

/* Adds the four codes of a word, with hessians in halves. Many documents have a hessian of 0, which
 * is skipped by one branch. In a tile of 32 lanes, all lanes of a warp take the same branch. */
template <class S>
RW_DEVICE void add_four(uint32_t lane_at, uint32_t codes, uint32_t packed, uint32_t heavy)
{
    constexpr int LINE = S::LINE, PLANE = S::PLANE;
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

/* Adds the codes of a lane's word with 4 or 8 bits. J: 0, 1, ... S::CODES - 1. */
template <class S, int SUMS, int... J>
RW_DEVICE void add_codes(uint32_t lane_at, uint32_t word, uint32_t first, uint32_t packed,
                         uint32_t heavy, std::integer_sequence<int, J...>)
{
    if constexpr (S::BITS == 4) {
        const uint32_t even = word & 0x0f0f0f0fu, odd = word >> 4 & 0x0f0f0f0fu;
        (add_code<S, SUMS, J>(lane_at, J % 2 ? odd : even, J / 2, packed, heavy), ...);
    } else {
        (add_code<S, SUMS, J>(lane_at, word, first + J, packed, heavy), ...);
    }
}

/* Adds the codes of a lane's word. */
template <class S, int SUMS>
RW_DEVICE void add_word(uint32_t lane_at, uint32_t word, uint32_t packed, uint32_t heavy,
                        const struct plan_row &row)
{
    if constexpr (S::BITS == 16) {
        const uint32_t code = S::IN_PART ? word - row.first_bin : word;
        if (S::IN_PART && code >= row.n_bins)
            return;
        const uint32_t at = code * (SUMS == RW_HIST_NEWTON ? 2 * S::LINE : S::LINE) + lane_at;
        add_cell<0>(at, packed);
        if (SUMS == RW_HIST_NEWTON)
            add_cell<S::LINE>(at, heavy);
    } else if constexpr (cells<S, SUMS>::HALVES) {
        add_four<S>(lane_at, word, packed, heavy);
    } else {
        add_codes<S, SUMS>(lane_at, word, S::CODES == WARP / S::BITS ? 0 : row.first_code, packed,
                           heavy, std::make_integer_sequence<int, S::CODES>());
    }
}

/* A document. Its numbers can be added to a cell after `settled`. */
struct lane_doc {
    uint32_t doc; /* NO_DOC: no document */
    uint32_t packed, heavy;
};

/* A chunk of a node's documents: positions begin to begin + n - 1 of the list or, without a list,
 * these document numbers. */
struct chunk {
    uint32_t node, n, begin;
};

/* Starts to load a document's numbers, for which only `settled` waits. place: its position in the
 * list. */
template <int SUMS>
RW_DEVICE struct lane_doc fetched(const struct plan &plan, uint32_t place, uint32_t doc)
{
    const char *d_first = SUMS == ONLY_HESSIANS && plan.d_hess ? plan.d_hess : plan.d_lambda;
    const uint64_t at = (uint64_t)(plan.by_position ? place : doc) * plan.number_bytes;
    struct lane_doc out = {doc, 0, 0};
    /* With counts only there are no numbers. Newton always has them, so it needs no register for
     * this test. */
    if (doc != NO_DOC && (SUMS != RW_HIST_MART || d_first))
        out.packed = *(const uint16_t *)(d_first + at);
    if (SUMS == RW_HIST_NEWTON && doc != NO_DOC && plan.d_hess)
        out.heavy = *(const uint16_t *)(plan.d_hess + at);
    return out;
}

/* Returns the numbers to add for a document. For NO_DOC it returns document 0 and numbers of 0. */
template <int SUMS> RW_DEVICE struct lane_doc settled(const struct plan &plan, struct lane_doc doc)
{
    const bool none = doc.doc == NO_DOC;
    const int up = SUMS == RW_HIST_MART ? 16 : plan.lambda_up;
    uint32_t word = doc.packed;
    /* keeps the compiler from using the word where it is loaded, which would wait */
    asm volatile("" : "+r"(word));
    if (SUMS == RW_HIST_NEWTON)
        doc.heavy |= word >> plan.hess_down;
    if (SUMS == ONLY_HESSIANS)
        doc.packed = plan.d_hess ? word : word >> plan.hess_down;
    else
        doc.packed = none ? 0 : (uint32_t)((int32_t)(word << up) >> up) + plan.one;
    doc.doc = none ? 0 : doc.doc;
    return doc;
}

/* Returns the address of a lane's word of document 0. slot: the lane's index in the tile. Keeps the
 * compiler from splitting the sum again. */
template <class S> RW_DEVICE const char *lane_words(const struct plan_row &row, uint32_t slot)
{
    const char *at = (const char *)row.d_word + slot * sizeof(typename S::word_type);
    asm volatile("" : "+l"(at));
    return at;
}

/* A warp's documents in shared memory: [RW_TUNE_LANES_RING turns][document, packed, heavy][N]
 * words; `heavy` only for newton. */
template <class S, int SUMS> struct stage {
    static constexpr int N = S::UNROLL, FIELDS = SUMS == RW_HIST_NEWTON ? 3 : 2;
    uint32_t *word;
    uint32_t lane;

    /* Stores a turn's documents, one per lane. */
    RW_DEVICE void put(uint32_t turn, const struct lane_doc &doc) const
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
    /* Returns a field (0: document, 1: packed, 2: heavy) of documents u to u + 3 of a turn. */
    RW_DEVICE uint4 four(uint32_t turn, int field, int u) const
    {
        return *(const uint4 *)(word + turn % RW_TUNE_LANES_RING * (FIELDS * N) + field * N + u);
    }
    /* Adds a turn's documents. codes: [N] the lane's word of each document. */
    RW_DEVICE void add(uint32_t turn, uint32_t lane_at, const uint32_t *codes,
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
 * The structs ranged, listed and narrow have two functions each. `pause` returns the position at
 * which to check the cells, at most `most` documents after `from`. `add` adds documents [from,
 * until) and returns whether the chunk is done; in struct listed, a warp may stop earlier or later.
 * from, until: documents of the chunk, from 0. */

/* Adds a chunk that is a range of documents, in a tile of 32 lanes. Words are at fixed offsets. */
template <class S, int SUMS> struct ranged {
    using word_type = typename S::word_type;
    static constexpr int N = S::UNROLL;
    const struct plan &plan;
    const struct plan_row &row;
    const struct stage<S, SUMS> stage;
    const char *first; /* the lane's words */
    uint32_t lane_at, begin, n;

    RW_DEVICE uint32_t pause(uint32_t from, uint64_t most) const
    {
        return n - from < most ? n : from + (uint32_t)most;
    }
    RW_DEVICE bool add(uint32_t from, uint32_t until) const
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
            prefetch_rows(until);
        return until == n;
    }
    /* Prefetches the next rows into the L2 cache, so that memory stays busy during a check, on GPUs
     * of compute capability 9.0 or later. */
    RW_DEVICE void prefetch_rows(uint32_t from) const
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

/* Adds a chunk of a list or, if not LIST, of a range, in a tile of 32 lanes. Words are loaded one
 * turn ahead, also across checks if many documents separate these (`steady`). With hessians in
 * halves, a warp also stops when its documents' hessians might fill its share of a half. */
template <class S, int SUMS, bool LIST> struct listed {
    using word_type = typename S::word_type;
    static constexpr int N = S::UNROLL;
    static constexpr uint32_t STEP = THREADS / WARP * N;
    const struct plan &plan;
    const struct plan_row &row;
    const struct stage<S, SUMS> stage;
    const char *first; /* the lane's words */
    uint32_t lane_at, begin, n;
    bool steady; /* there are whole pairs of turns between checks */
    /* The warp's position in the chunk; the end of the documents that it may read before the next
     * start; and the number of turns that were staged. */
    uint32_t at, end, turn;
    struct lane_doc next;        /* the lane's document of the next turn */
    uint32_t next_doc;           /* the lane's document number two turns ahead */
    uint32_t heavy, heavy_ahead; /* sums of hessians: since the last check; of the staged turn */
    uint32_t even[N];            /* words of the current turn */

    RW_DEVICE uint32_t pause(uint32_t from, uint64_t most) const
    {
        if (n - from <= most && !cells<S, SUMS>::HALVES)
            return n;
        return from + (uint32_t)(steady ? most / (2 * STEP) * (2 * STEP) : most);
    }
    RW_DEVICE uint32_t doc_of(uint32_t from) const
    {
        const uint32_t mine = from + stage.lane;
        if (stage.lane >= N || mine >= end)
            return NO_DOC;
        return LIST ? plan.d_list[begin + mine] : begin + mine;
    }
    RW_DEVICE void begin_turn()
    {
        turn++;
        const struct lane_doc now = settled<SUMS>(plan, next);
        stage.put(turn, now);
        if (cells<S, SUMS>::HALVES) {
            heavy_ahead = rw_warp_add(now.heavy);
            heavy += heavy_ahead;
        }
        next = fetched<SUMS>(plan, begin + (at + 2 * STEP + stage.lane), next_doc);
        next_doc = doc_of(at + 3 * STEP);
    }
    RW_DEVICE uint32_t word_of(uint32_t doc) const
    {
        const word_type *at =
            (const word_type *)(first + (uint64_t)doc * (WARP * sizeof(word_type)));
        return LIST ? *at : __ldcs(at);
    }
    RW_DEVICE void load(uint32_t *word) const
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
    RW_DEVICE void step(uint32_t *word_next, const uint32_t *word)
    {
        begin_turn();
        if (at + STEP < end)
            load(word_next);
        stage.add(turn - 1, lane_at, word, row);
        at += STEP;
    }
    /* Loads the words of the first turn, and the documents of the two turns after it. */
    RW_DEVICE void start(uint32_t from, uint32_t upto)
    {
        at = from + threadIdx.x / WARP * N;
        end = upto;
        if (at >= end)
            return;
        next = fetched<SUMS>(plan, begin + (at + stage.lane), doc_of(at));
        next_doc = doc_of(at + STEP);
        at -= STEP; /* as if the turn before were the current one */
        begin_turn();
        at += STEP;
        load(even);
    }
    RW_DEVICE bool add(uint32_t from, uint32_t until)
    {
        uint32_t odd[N];
        if (from == 0 || !steady)
            start(from, steady ? n : until);
        const uint32_t stop =
            cells<S, SUMS>::HALVES ? at + (until - from) : until + threadIdx.x / WARP * N;
        heavy = heavy_ahead;
        while (at < end) {
            step(odd, even);
            if (at >= end)
                break;
            step(even, odd);
            if (at >= stop || (cells<S, SUMS>::HALVES && heavy > HALVES_WARP - N * plan.largest))
                break;
        }
        return cells<S, SUMS>::HALVES ? at >= end : until == n;
    }
};

/* Adds a chunk of a tile with fewer than 32 lanes. A warp takes 32 / lanes documents at once, and
 * each lane loads the numbers of its document. */
template <class S, int SUMS> struct narrow {
    using word_type = typename S::word_type;
    static constexpr int N = S::UNROLL / (SUMS == RW_HIST_NEWTON ? 2 : 1);
    const struct plan &plan;
    const struct plan_row &row;
    uint32_t lane_at;
    uint32_t begin, n;

    RW_DEVICE uint32_t pause(uint32_t from, uint64_t most) const
    {
        return n - from < most ? n : from + (uint32_t)most;
    }
    RW_DEVICE uint32_t doc_of(uint32_t at, uint32_t until) const
    {
        return at >= until ? NO_DOC : plan.d_list ? plan.d_list[begin + at] : begin + at;
    }
    RW_DEVICE bool add(uint32_t from, uint32_t until) const
    {
        const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, lanes = row.lanes;
        const uint32_t docs_per_warp = WARP / lanes, step = docs_per_warp * N;
        const char *first = lane_words<S>(row, lane & (lanes - 1));
        const uint32_t doc_bytes = lanes * (uint32_t)sizeof(word_type);
        for (uint32_t at = from + warp * step + lane / lanes; at < until;
             at += THREADS / WARP * step) {
            uint32_t word[N], id[N];
            struct lane_doc doc[N];
#pragma unroll
            for (int u = 0; u < N; u++)
                id[u] = doc_of(at + u * docs_per_warp, until);
#pragma unroll
            for (int u = 0; u < N; u++) {
                doc[u] = fetched<SUMS>(plan, begin + (at + u * docs_per_warp), id[u]);
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
 * Checks for full cells between two calls of `add`, and drains all cells at the end. LOOK_ROWS:
 * lines that a warp loads at once. */
enum { LOOK_ROWS = 4 };

/* Sums over the lanes that own the same features. */
template <class T> static __device__ T sum_copies(T v, uint32_t lanes)
{
    for (uint32_t step = lanes; step < WARP; step *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

/* The contents of a packed cell, or of its copies added up: the cells of lanes that own the same
 * features. low: the sum of lambda + largest, below 2^30. */
struct drained {
    uint32_t count, low;
    unsigned long long hess;
};
template <int SUMS>
RW_DEVICE struct drained drained_of(const struct plan &plan, uint32_t packed, uint32_t heavy)
{
    if (SUMS == ONLY_HESSIANS)
        return {0, 0, packed};
    return {packed >> plan.shift, packed & ((1u << plan.shift) - 1), heavy};
}

template <int SUMS> RW_DEVICE bool holds_any(const struct drained &d)
{
    return SUMS == ONLY_HESSIANS ? d.hess != 0 : d.count != 0;
}

RW_DEVICE uint64_t plane_cells(const struct plan &plan)
{
    return plan.node_cells * plan.n_nodes;
}
RW_DEVICE uint32_t *hess_plane(const struct plan &plan)
{
    return (uint32_t *)(plan.d_cell + plane_cells(plan));
}

/* Adds to the drained cell `at`, in the format that struct plan describes. WIDE: plan.wide. */
template <int SUMS, bool WIDE>
RW_DEVICE void add_drained(const struct plan &plan, const struct drained &d, uint64_t at)
{
    const int lambda_at = SUMS == RW_HIST_MART ? 32 : plan.lambda_at;
    const unsigned long long low = d.low;
    unsigned long long *const d_out = plan.d_cell + at;
    if (WIDE) {
        if (SUMS != ONLY_HESSIANS) {
            atomicAdd(d_out, (unsigned long long)d.count);
            atomicAdd(d_out + plane_cells(plan), low);
        }
        if (has_hessians(SUMS))
            atomicAdd(d_out + 2 * plane_cells(plan), d.hess);
    } else if (has_hessians(SUMS) && plan.hess_at) {
        atomicAdd(d_out, (low << lambda_at) + (d.hess << plan.hess_at) + d.count);
    } else {
        if (SUMS != ONLY_HESSIANS)
            atomicAdd(d_out, (low << lambda_at) + d.count);
        if (has_hessians(SUMS))
            atomicAdd(hess_plane(plan) + at, (uint32_t)d.hess);
    }
}

/* Returns the index in a plane of the first drained cell of a node and a row of the plan. */
RW_DEVICE uint64_t drained_to(const struct plan &plan, const struct plan_row &row, uint32_t node)
{
    return node * plan.node_cells + row.cells;
}

/* Drains and clears the cells that are more than 1 / RW_TUNE_LANES_FULL full, or whose hessian in a
 * half is more than HALVES_LEFT; with ONLY_HESSIANS, all cells. Returns the largest count that is
 * left in a cell, to all threads. *fullest must be 0; *fullest_next is set to 0. Call it when all
 * threads have added; after it they may add again. */
template <class S, int SUMS>
static __device__ uint32_t drain_full(const struct plan &plan, const struct plan_row &row,
                                      uint32_t node, uint32_t *fullest, uint32_t *fullest_next)
{
    using cells = struct cells<S, SUMS>;
    const int shift = SUMS == ONLY_HESSIANS ? 0 : plan.shift;
    const uint32_t full = SUMS == ONLY_HESSIANS ? 0 : plan.room / RW_TUNE_LANES_FULL;
    const uint32_t lane = threadIdx.x % WARP, least = (full + 1) << shift;
    const uint32_t code = threadIdx.x / WARP % S::CODES;
    const uint32_t n = row.n_bins * S::CODES;
    uint32_t *cell = cells::first(), most = 0;
    const uint64_t first = drained_to(plan, row, node) + (lane & (row.lanes - 1));
    for (uint32_t i = threadIdx.x / WARP; i < n; i += LOOK_ROWS * WARPS) {
        uint32_t packed[LOOK_ROWS], top = 0, top_heavy = 0;
#pragma unroll
        for (int k = 0; k < LOOK_ROWS; k++) {
            const bool there = i + k * WARPS < n;
            packed[k] = there ? cell[k * cells::NEXT] : 0;
            top = max(top, packed[k]);
            if (cells::HALVES && there)
                top_heavy = max(top_heavy, cells::read(cell + k * cells::NEXT, code));
        }
        if (top < least && top_heavy <= HALVES_LEFT) {
            most = max(most, top);
        } else {
#pragma unroll
            for (int k = 0; k < LOOK_ROWS; k++) {
                uint32_t *at = cell + k * cells::NEXT;
                const uint32_t heavy = packed[k] ? cells::read(at, code) : 0;
                if (packed[k] < least && (!cells::HALVES || heavy <= HALVES_LEFT)) {
                    most = max(most, packed[k]);
                    continue;
                }
                const struct drained d = drained_of<SUMS>(plan, packed[k], heavy);
                const uint64_t to = first + (i + k * WARPS) * row.lanes;
                if (plan.wide)
                    add_drained<SUMS, true>(plan, d, to);
                else
                    add_drained<SUMS, false>(plan, d, to);
                *at = 0;
                cells::clear(at, code);
            }
        }
        cell += LOOK_ROWS * cells::NEXT;
    }
    most = rw_warp_max(most >> shift);
    if (lane == 0 && most)
        atomicMax(fullest, most);
    if (threadIdx.x == 0)
        *fullest_next = 0;
    __syncthreads();
    return *fullest;
}

/* Drains all cells, and does not clear them. WIDE: plan.wide. */
template <class S, int SUMS, bool WIDE>
RW_DEVICE void drain_cells(const struct plan &plan, const struct plan_row &row, uint32_t node)
{
    using cells = struct cells<S, SUMS>;
    const uint32_t lane = threadIdx.x % WARP, n = row.n_bins * S::CODES, lanes = row.lanes;
    const uint32_t code = threadIdx.x / WARP % S::CODES;
    uint32_t *cell = cells::first();
    uint32_t i = threadIdx.x / WARP;
    uint64_t to = drained_to(plan, row, node) + (i * lanes + lane);
    if (lanes == WARP) {
        for (; i < n; i += LOOK_ROWS * WARPS) {
            struct drained d[LOOK_ROWS];
#pragma unroll
            for (int k = 0; k < LOOK_ROWS; k++) {
                uint32_t *at = cell + k * cells::NEXT;
                const bool there = i + k * WARPS < n;
                d[k] = drained_of<SUMS>(plan, there ? *at : 0, there ? cells::read(at, code) : 0);
            }
#pragma unroll
            for (int k = 0; k < LOOK_ROWS; k++) {
                if (holds_any<SUMS>(d[k]))
                    add_drained<SUMS, WIDE>(plan, d[k], to + k * WARPS * WARP);
            }
            cell += LOOK_ROWS * cells::NEXT;
            to += LOOK_ROWS * WARPS * WARP;
        }
        return;
    }
    for (; i < n; i += WARPS) {
        struct drained d = drained_of<SUMS>(plan, *cell, cells::read(cell, code));
        d.count = sum_copies(d.count, lanes);
        d.low = sum_copies(d.low, lanes);
        if (has_hessians(SUMS))
            d.hess = sum_copies(d.hess, lanes);
        if (lane < lanes && holds_any<SUMS>(d))
            add_drained<SUMS, WIDE>(plan, d, to);
        cell += cells::NEXT;
        to += WARPS * lanes;
    }
}
