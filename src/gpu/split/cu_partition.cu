/* Divides the documents of many nodes between their children in one pass over memory, with the data
 * that histograms read of each document (the moved words). Also computes the exact sums of a
 * finished tree's leaves, and writes the leaf of each sampled document.
 *
 * Shapes: the list of documents by position. Nodes are ranges of positions, cut into chunks of
 * RW_CUDA_CHUNK. Children are written to separate positions that the host chooses, so nothing is
 * overwritten before it is read. The number of documents that go left is known from the histograms,
 * except with many workers: it then counts the documents of all workers.
 *
 * Decomposition: a block per chunk (of a leaf in sums_kernel). In partition_kernel, the left
 * documents of a chunk keep their order and follow those of the node's chunks that came earlier;
 * one atomic per block decides the position. The right documents follow the last left one in the
 * same way or, if the number of left documents is not known, are written from the end of the
 * children's range backwards. The order changes no result, since all sums are exact, and no block
 * waits. The items of a chunk are its documents. A thread takes every THREADS-th item. Bit i of
 * word w is the flag of item 32 w + i: 1 if the item goes left. */
#include "gpu/device/kernel.cuh"
#include "gpu/engine/cu_engine.h"

enum {
    WARP = 32,
    THREADS = RW_TUNE_PARTITION_THREADS,
    WARPS = THREADS / WARP,
    ITEMS = RW_CUDA_CHUNK / THREADS,
    WORDS = RW_CUDA_CHUNK / WARP
};
#define ALL_LANES 0xffffffffu
static_assert(RW_CUDA_CHUNK % THREADS == 0, "a chunk is whole rounds of its block");
static_assert(sizeof(struct rw_cuda_partition) + sizeof(struct rw_cuda_part_sets) <= 4096,
              "the arguments of a launch");
static_assert((int)THREADS >= (int)RW_CUDA_CARRIED, "a thread per carried word");
static_assert(WORDS % WARP == 0, "each lane of the warp that adds bits up has as many words");

/* Returns the index of the part (a node to divide, or a leaf) that has a chunk: the last part whose
 * first_chunk is at most the chunk. Whole warps call this function: their lanes read 32 parts at
 * once, since dependent loads take most of its time. */
template <class PART>
static __device__ uint32_t find_chunk(const PART *d_part, uint32_t n_parts, uint32_t chunk)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t low = 0, n = n_parts; /* the part is one of n from low on */
    while (n > 1) {
        const uint32_t step = (n + 31) / 32, at = lane * step;
        const int not_above = at < n && d_part[low + at].first_chunk <= chunk;
        const uint32_t last = (uint32_t)__popc(__ballot_sync(0xffffffffu, not_above)) - 1;
        low += last * step;
        n = n - last * step < step ? n - last * step : step;
    }
    return low;
}

/* ---- partition ---- */

/* The sets of codes of a launch; or no sets, so that its kernel has no code for them. */
struct with_sets : rw_cuda_part_sets {
    enum { BY_SET = 1 };
};
struct no_sets {
    enum { BY_SET = 0 };
};

/* Copies the part's set to shared memory. Returns NULL if the part has no set. The copy may include
 * words after the end of the set, but no document has codes that large. */
static __device__ const struct rw_code_set *
take_set(const struct with_sets &sets, const struct rw_cuda_part &part, struct rw_code_set *shared)
{
    if (part.set < 0)
        return NULL;
    const uint32_t word = (uint32_t)part.set + threadIdx.x;
    if (threadIdx.x < RW_SET_WORDS && word < RW_CUDA_PART_SET_WORDS)
        shared->word[threadIdx.x] = sets.word[word];
    __syncthreads();
    return shared;
}

static __device__ const struct rw_code_set *
take_set(const struct no_sets &, const struct rw_cuda_part &, struct rw_code_set *)
{
    return NULL;
}

/* Reads the elements with the codes of the thread's items. */
template <class ELEMENT>
static __device__ void load_elements(const struct rw_cuda_column &column,
                                     const uint32_t (&doc)[ITEMS], uint32_t (&element)[ITEMS])
{
    const ELEMENT *const d_element = (const ELEMENT *)column.d_word;
#pragma unroll
    for (int r = 0; r < ITEMS; r++)
        element[r] = d_element[rw_cuda_element_of(&column, doc[r])];
}

/* Reads the codes of the thread's items. */
static __device__ void load_codes(const struct rw_cuda_column &column, const uint32_t (&doc)[ITEMS],
                                  uint32_t (&code)[ITEMS])
{
    if (column.bytes == 1 && column.bits == 8 && column.lanes == 1) { /* a column of bytes */
        const uint8_t *const d_code = (const uint8_t *)column.d_word;
#pragma unroll
        for (int r = 0; r < ITEMS; r++)
            code[r] = d_code[doc[r]];
        return;
    }
    if (column.bytes == 1)
        load_elements<uint8_t>(column, doc, code);
    else if (column.bytes == 2)
        load_elements<uint16_t>(column, doc, code);
    else
        load_elements<uint32_t>(column, doc, code);
#pragma unroll
    for (int r = 0; r < ITEMS; r++)
        code[r] = rw_cuda_code_in(&column, code[r], doc[r]);
}

/* Returns a word whose bit r is 1 if an item with code[r] goes left. No bin is as high as
 * missing_code. */
template <int BY_SET>
static __device__ uint32_t goes_left(const struct rw_cuda_part &part, const struct rw_code_set *set,
                                     const uint32_t (&code)[ITEMS])
{
    const uint32_t missing = part.missing_left ? part.missing_code : ~0u;
    uint32_t left = 0;
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        const int goes = BY_SET && set ? code[r] != part.missing_code && rw_set_has(set, code[r])
                                       : code[r] <= part.bin;
        left |= (uint32_t)(goes || code[r] == missing) << r;
    }
    return left;
}

/* The flags of a word's items, and how many are set in the words before it. */
struct alignas(8) flag_word {
    uint32_t flags, before;
};

/* Writes `before` of all words. Returns the number of all flags. A whole warp calls it. */
static __device__ uint32_t add_up(struct flag_word *of_word)
{
    enum { EACH = WORDS / WARP };
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t own[EACH], all = 0;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        own[k] = all;
        all += (uint32_t)__popc(of_word[EACH * lane + k].flags);
    }
    uint32_t up_to = all;
    for (uint32_t step = 1; step < WARP; step *= 2) {
        const uint32_t lower = __shfl_up_sync(ALL_LANES, up_to, step);
        if (lane >= step)
            up_to += lower;
    }
#pragma unroll
    for (int k = 0; k < EACH; k++)
        of_word[EACH * lane + k].before = up_to - all + own[k];
    return __shfl_sync(ALL_LANES, up_to, WARP - 1);
}

/* The thread's items of a chunk of n: all ITEMS of a full chunk, else some. Instead of the rest,
 * the last item is loaded, since loads without conditions are started together. */
template <int FULL> struct own_items {
    uint32_t n;
    RW_DEVICE int has(int r) const
    {
        return FULL || r * THREADS + threadIdx.x < n;
    }
    RW_DEVICE uint32_t at(int r) const
    {
        return has(r) ? r * THREADS + threadIdx.x : n - 1;
    }
};

template <class WORD, int FULL>
static __device__ void load_words(const WORD *d_from, own_items<FULL> own, uint32_t (&word)[ITEMS])
{
#pragma unroll
    for (int r = 0; r < ITEMS; r++)
        word[r] = d_from[own.at(r)];
}

template <class WORD, int FULL>
static __device__ void store_words(WORD *d_to, const uint32_t (&to)[ITEMS], own_items<FULL> own,
                                   const uint32_t (&word)[ITEMS])
{
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        if (own.has(r))
            d_to[to[r]] = (WORD)word[r];
    }
}

/* Makes the moved words of documents from the arrays by document. */
static __device__ void make_moved(const struct rw_cuda_partition &a, const uint32_t (&doc)[ITEMS],
                                  uint32_t (&word)[ITEMS])
{
    int32_t hess[ITEMS] = {};
#pragma unroll
    for (int r = 0; r < ITEMS; r++)
        word[r] = (uint32_t)a.d_lambda[doc[r]];
    if (a.d_hess) {
#pragma unroll
        for (int r = 0; r < ITEMS; r++)
            hess[r] = a.d_hess[doc[r]];
    }
#pragma unroll
    for (int r = 0; r < ITEMS; r++)
        word[r] = rw_moved_word(a.moved, (int32_t)word[r], hess[r]);
}

/* Writes the range of a part's child, if the device needs it. */
static __device__ void write_child(const struct rw_cuda_partition &a, uint32_t number,
                                   uint32_t n_left)
{
    const struct rw_cuda_part &part = a.part[number];
    const int child = a.counted.child[number], is_right = child & 1;
    if (child < 0)
        return;
    struct rw_hist_node *const d_node = &a.counted.d_node[child / 2];
    d_node->first = part.to + (is_right ? n_left : 0);
    d_node->n = is_right ? part.n - n_left : n_left;
}

/* Writes the sizes of a part's children. Its last block calls this function, with the counts of the
 * part as in d_placed. */
static __device__ void end_part(const struct rw_cuda_partition &a, uint32_t number,
                                unsigned long long counts)
{
    const struct rw_cuda_counted &to = a.counted;
    write_child(a, number, (uint32_t)counts);
    *(volatile uint64_t *)&to.placed[number] = counts;
    __threadfence_system(); /* a reader who sees the word sees the counts of all parts */
    if (atomicAdd(to.d_done, 1u) + 1 < to.n_parts)
        return;
    *to.d_done = 0;
    __threadfence_system();
    *(volatile uint32_t *)to.word = to.value;
}

/* The shared memory of a block. */
struct shared {
    struct flag_word of_word[WORDS];
    unsigned long long placed; /* as in d_placed, before this chunk */
    struct rw_code_set set;
};

/* Moves the n items of a part's chunk that begins at its position `begin`. */
template <class SETS, int FULL>
static __device__ void move_chunk(const struct rw_cuda_partition &a, const SETS &sets,
                                  uint32_t number, uint32_t begin, uint32_t n,
                                  struct shared &shared)
{
    const struct rw_cuda_part &part = a.part[number];
    const own_items<FULL> own = {n};
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint64_t from = part.from + begin;
    const int has_words = a.d_moved != NULL, wide = a.moved == RW_MOVED_HALVES;
    uint32_t doc[ITEMS], word[ITEMS], code[ITEMS], to[ITEMS], left = 0;
    if (part.whole) {
#pragma unroll
        for (int r = 0; r < ITEMS; r++)
            doc[r] = begin + own.at(r);
    } else {
        load_words(a.d_list + from, own, doc);
    }
    if (has_words && part.whole)
        make_moved(a, doc, word);
    else if (has_words && wide)
        load_words((const uint32_t *)a.d_moved + from, own, word);
    else if (has_words)
        load_words((const uint16_t *)a.d_moved + from, own, word);
    load_codes(part.column, doc, code);
    left = goes_left<SETS::BY_SET>(part, take_set(sets, part, &shared.set), code);
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        const uint32_t flags = __ballot_sync(ALL_LANES, (left >> r & 1) && own.has(r));
        if (lane == 0)
            shared.of_word[r * WARPS + warp].flags = flags;
    }
    __syncthreads();
    if (threadIdx.x < WARP) {
        const uint32_t n_left = add_up(shared.of_word);
        if (lane == 0) {
            const unsigned long long here = (unsigned long long)(n - n_left) << 32 | n_left;
            shared.placed = atomicAdd(&a.d_placed[a.launch % 2][number], here);
            const unsigned long long all = shared.placed + here;
            if (a.counted.d_done && (uint32_t)all + (uint32_t)(all >> 32) == part.n)
                end_part(a, number, all);
        }
    }
    __syncthreads();
    const int is_counted = part.n_left != RW_CUDA_UNCOUNTED;
    const uint32_t n_left = (uint32_t)shared.placed, n_right = (uint32_t)(shared.placed >> 32);
    const uint32_t first_right = is_counted ? part.n_left + n_right : part.n - 1 - n_right;
    const uint32_t step = is_counted ? 1 : ~0u;
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        const struct flag_word at = shared.of_word[r * WARPS + warp];
        const uint32_t lefts = at.before + (uint32_t)__popc(at.flags & ((1u << lane) - 1));
        const uint32_t rights = r * THREADS + threadIdx.x - lefts;
        to[r] = left >> r & 1 ? n_left + lefts : first_right + step * rights;
    }
    store_words(a.d_list + part.to, to, own, doc);
    if (has_words && wide)
        store_words((uint32_t *)a.d_moved + part.to, to, own, word);
    else if (has_words)
        store_words((uint16_t *)a.d_moved + part.to, to, own, word);
}

template <class SETS>
static __global__ void __launch_bounds__(THREADS, RW_BLOCKS_HELD(THREADS, RW_TUNE_PARTITION_HELD))
    partition_kernel(const __grid_constant__ struct rw_cuda_partition a,
                     const __grid_constant__ SETS sets)
{
    __shared__ struct shared shared;
    let_next_launch_begin();
    const uint32_t number = find_chunk(a.part, a.n_parts, blockIdx.x);
    const uint32_t begin = (blockIdx.x - a.part[number].first_chunk) * RW_CUDA_CHUNK;
    const uint32_t n = a.part[number].n - begin; /* a chunk, or the rest */
    if (blockIdx.x == 0 && threadIdx.x < a.n_carried)
        a.d_carried[threadIdx.x] = a.carried[threadIdx.x];
    if (blockIdx.x == 0 && threadIdx.x < RW_CUDA_MOST_PARTS)
        a.d_placed[(a.launch + 1) % 2][threadIdx.x] = 0; /* for the next launch */
    if (blockIdx.x == 0 && threadIdx.x < a.n_parts && a.counted.d_done &&
        a.part[threadIdx.x].n == 0)
        write_child(a, threadIdx.x, 0);
    if (n >= RW_CUDA_CHUNK)
        move_chunk<SETS, 1>(a, sets, number, begin, RW_CUDA_CHUNK, shared);
    else
        move_chunk<SETS, 0>(a, sets, number, begin, n, shared);
}

extern "C" int rw_cuda_partition(const struct rw_cuda_partition *partition,
                                 const struct rw_cuda_part_sets *sets, void *stream)
{
    const uint32_t n = partition->n_chunks;
    return sets ? launch_grid(partition_kernel<with_sets>, n, THREADS, stream, *partition,
                              with_sets{*sets})
                : launch_grid(partition_kernel<no_sets>, n, THREADS, stream, *partition, no_sets{});
}

static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const uint32_t *d_list, uint32_t n, const int32_t *d_lambda,
                  const int32_t *d_hess, enum rw_moved moved, void *d_moved)
{
    for (uint64_t i = grid_first<THREADS>(); i < n; i += grid_step<THREADS>()) {
        const uint32_t doc = d_list[i];
        rw_moved_set(moved, d_moved, i,
                     rw_moved_word(moved, d_lambda[doc], d_hess ? d_hess[doc] : 0));
    }
}

extern "C" int rw_cuda_gather(const uint32_t *d_list, uint32_t n, const int32_t *d_lambda,
                              const int32_t *d_hess, enum rw_moved moved, void *d_moved,
                              void *stream)
{
    return launch_grid(gather_kernel, rw_cuda_chunks(n), THREADS, stream, d_list, n, d_lambda,
                       d_hess, moved, d_moved);
}

/* ---- leaves ---- */

enum { N_SUMS = 4 };

static __global__ void __launch_bounds__(THREADS)
    sums_kernel(const __grid_constant__ struct rw_cuda_leaf_sums a)
{
    __shared__ long long of_warp[WARPS][N_SUMS];
    const uint32_t lane = threadIdx.x % WARP;
    const struct rw_cuda_leaf leaf = a.d_leaf[find_chunk(a.d_leaf, a.n_leaves, blockIdx.x)];
    const uint32_t begin = (blockIdx.x - leaf.first_chunk) * RW_CUDA_CHUNK;
    const uint32_t n = leaf.n - begin; /* a chunk, or the rest */
    const uint64_t from = leaf.from + begin;
    const own_items<0> own = {n < RW_CUDA_CHUNK ? n : RW_CUDA_CHUNK};
    uint32_t doc[ITEMS];
    load_words(a.d_list + from, own, doc);
    struct rw_lambda_pair pair[ITEMS]; /* all loaded before the first is added */
#pragma unroll
    for (int r = 0; r < ITEMS; r++)
        pair[r] = pair_at(a.d_pair, doc[r]);
    struct rw_sum sum = {0, 0, 0, 0, 0};
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        if (own.has(r))
            rw_sum_add(&sum, pair[r].lambda, pair[r].hessian);
        a.d_leaf_of[doc[r]] = (uint16_t)leaf.leaf;
    }
    long long all[N_SUMS] = {sum.lambda_hi, sum.lambda_lo, sum.hess_hi, sum.hess_lo};
#pragma unroll
    for (int k = 0; k < N_SUMS; k++) {
        for (uint32_t step = WARP / 2; step > 0; step /= 2)
            all[k] += __shfl_xor_sync(ALL_LANES, all[k], step);
        if (lane == 0)
            of_warp[threadIdx.x / WARP][k] = all[k];
    }
    __syncthreads();
    if (threadIdx.x >= N_SUMS)
        return;
    long long of_block = 0;
    for (int w = 0; w < WARPS; w++)
        of_block += of_warp[w][threadIdx.x];
    unsigned long long *const to[N_SUMS] = {(unsigned long long *)&a.d_sum[leaf.leaf].lambda_hi,
                                            (unsigned long long *)&a.d_sum[leaf.leaf].lambda_lo,
                                            (unsigned long long *)&a.d_sum[leaf.leaf].hess_hi,
                                            (unsigned long long *)&a.d_sum[leaf.leaf].hess_lo};
    atomicAdd(to[threadIdx.x], (unsigned long long)of_block);
}

extern "C" int rw_cuda_leaf_sums(const struct rw_cuda_leaf_sums *sums, void *stream)
{
    return launch_grid(sums_kernel, sums->n_chunks, THREADS, stream, *sums);
}
