/* What the kernels of engine `cuda` are given, and their launchers. A kernel family a file:
 * cu_quantise.cu (samples, quantised lambdas, root sums), cu_split.cu (best splits), cu_category.cu
 * (best splits by categories), cu_partition.cu (documents of nodes, sums of leaves), cu_engine.cu
 * (scores, columns from tiles, histograms that change their place, what the host waits for),
 * cu_workers.cu (what workers send).
 *
 * Launchers enqueue on a cudaStream_t and return a cudaError_t; they neither allocate nor wait.
 * Pointers d_x are on the device; a document's position is its index in the list of documents,
 * whose nodes are ranges of positions. */
#pragma once

#include <stddef.h>

#include "gpu/hist/hist.h"
#include "base/bits.h"
#include "gpu/device/tuning.h"
#include "gpu/objective/lambda_cuda.h"
#include "tree/engine_host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- codes of a set ---- */

/* Where one feature's codes stand: in a set's tiles, or in a column of its own (gpu/hist/hist.h).
 */
struct rw_cuda_column {
    const void *d_word;   /* elements of its tile, or its column */
    uint32_t bytes;       /* of an element: 1, 2 or 4 */
    uint32_t lanes, lane; /* elements of a document, and the feature's; a column: 1 and 0 */
    uint32_t bits, shift; /* of a code, and how far up its element it stands */
    uint32_t log_docs; /* 2^log_docs documents share an element: 1 for columns of 4 bits, else 0 */
};

RW_HD uint64_t rw_cuda_element_of(const struct rw_cuda_column *column, uint32_t doc)
{
    return (uint64_t)(doc >> column->log_docs) * column->lanes + column->lane;
}

RW_HD uint32_t rw_cuda_code_in(const struct rw_cuda_column *column, uint32_t element, uint32_t doc)
{
    const uint32_t among = doc & ((1u << column->log_docs) - 1);
    return element >> (column->shift + among * column->bits) & ((1u << column->bits) - 1);
}

RW_HD uint32_t rw_cuda_code_of(const struct rw_cuda_column *column, uint32_t doc)
{
    const uint64_t at = rw_cuda_element_of(column, doc);
    const uint32_t element = column->bytes == 1   ? ((const uint8_t *)column->d_word)[at]
                             : column->bytes == 2 ? ((const uint16_t *)column->d_word)[at]
                                                  : ((const uint32_t *)column->d_word)[at];
    return rw_cuda_code_in(column, element, doc);
}

/* Columns from tiles, d_to: [n_docs] codes, of 2 bytes if those of `from` have 16 bits, else of
 * one. Those that stand together in rows are read once. */
enum { RW_CUDA_MOST_COPIES = 8 };
struct rw_cuda_copies {
    uint32_t n, n_docs;
    struct rw_cuda_column from[RW_CUDA_MOST_COPIES];
    void *d_to[RW_CUDA_MOST_COPIES];
};
int rw_cuda_copy_columns(const struct rw_cuda_copies *copies, void *stream);

/* d_sum: [n_features] zeroed: for each column the sum over n_docs documents of
 * code x rw_code_weight(first_doc + document), modulo 2^64. d_column: [n_features] */
int rw_cuda_sum_columns(const struct rw_cuda_column *d_column, uint32_t n_features, uint32_t n_docs,
                        uint64_t first_doc, unsigned long long *d_sum, void *stream);

/* n words go to page-locked memory of the host, then `value` to `word` there; clear: and are 0 on
 * the device from then on. */
int rw_cuda_copy_answer(void *d_from, uint32_t n, int clear, uint32_t *to, uint32_t *word,
                        uint32_t value, void *stream);

/* ---- the start of a tree: cu_quantise.cu ---- */

/* What the host must know of a tree's start. */
struct rw_cuda_begin {
    struct rw_sum sum; /* of the sampled documents */
    struct rw_quantised_sums quantised;
    struct rw_cuda_lambda_info info;
};

/* A sample of queries, or of documents, the same for both but for what is of queries alone. */
struct rw_cuda_sample {
    uint64_t seed, threshold; /* one is kept iff its random number is under it */
    uint32_t tree, n_queries, n_docs;
    uint32_t first;                 /* the first one's number among all workers' */
    const uint32_t *d_query_offset; /* [n_queries + 1] */
    uint8_t *d_kept;                /* [n_queries] scratch */
    unsigned long long *d_lowest;   /* [2] scratch: lowest (random, item), and how many are kept */
    uint8_t *d_sampled;             /* [n_docs] 1 in the sample: of queries written; of documents, a
                                       sample of those that have it */
};
/* In two steps: d_lowest, and d_kept or, of documents, d_sampled; then d_sampled, where the query,
 * or document, with the lowest number stands in for a sample of none. */
int rw_cuda_draw(const struct rw_cuda_sample *sample, int of_docs, void *stream);
int rw_cuda_finish_sample(const struct rw_cuda_sample *sample, int of_docs, void *stream);

/* d_list: the documents with d_sampled not 0, ascending; all n_docs if d_sampled is NULL. */
size_t rw_cuda_list_bytes(uint32_t n_docs); /* of scratch */
int rw_cuda_list_sampled(const uint8_t *d_sampled, uint32_t n_docs, uint32_t *d_list,
                         uint32_t *d_n_selected, void *d_scratch, size_t scratch_bytes,
                         void *stream);

struct rw_cuda_quantise {
    uint64_t seed;
    uint32_t tree, n_docs;
    uint32_t first_doc; /* its number among all workers' */
    uint32_t most_blocks;
    int bits, nearest;
    int squares;                    /* of lambdas are summed, too */
    const uint8_t *d_sampled;       /* [n_docs] NULL: all */
    struct rw_lambda_pair *d_pair;  /* [n_docs] read */
    int32_t *d_lambda_q, *d_hess_q; /* [n_docs] of sampled documents; hessians: or NULL */
    struct rw_cuda_begin *d_begin;  /* its info is there; the rest is written */
};
int rw_cuda_quantise(const struct rw_cuda_quantise *quantise, void *stream);

/* ---- histograms and splits: cu_split.cu ---- */

/* Histograms of a group, a buffer a node; hessians: newton only, else NULL. */
struct rw_cuda_cells {
    uint32_t *d_count; /* [n_buffers][n_cells] and so on */
    void *d_lambda;    /* int64_t, or, narrow, int32_t */
    void *d_hess;
    int narrow; /* no node's sums can pass 32 bits */
    uint32_t n_features, n_bins, n_cells;
    const uint32_t *d_row; /* [n_features + 1] as gpu/hist/hist.h has it; NULL: rows of n_bins */
    const struct rw_cuda_feature *d_feature; /* [n_features] columns ascend */
    const uint8_t *d_sampled;                /* [n_features] 0: not of this tree */
};

struct rw_cuda_feature {
    uint32_t column;              /* the engine's feature */
    uint32_t n_bins, has_missing; /* the missing values' code is n_bins; by categories: both 0 */
    uint32_t zero_bin;            /* the first bin with a cut of at least 0 */
};

/* Histograms of a group that go from one buffer to another: none is both left and entered. */
enum { RW_CUDA_MOST_MOVES = 256 };
struct rw_cuda_moves {
    uint32_t n;
    uint32_t from[RW_CUDA_MOST_MOVES], to[RW_CUDA_MOST_MOVES];
};
int rw_cuda_move(const struct rw_cuda_cells *cells, const struct rw_cuda_moves *moves,
                 void *stream);

/* A feature whose values are categories, which cu_category.cu searches. */
struct rw_cuda_category {
    uint32_t feature, column; /* of the cells; the engine's */
    uint32_t n_codes, has_missing;
};

/* Those of a group. */
struct rw_cuda_categories {
    const struct rw_cuda_category *d_category; /* [n] */
    uint32_t n, first;                         /* there are `first` of other groups before them */
    uint32_t most_codes;                       /* of one of them */
};

struct rw_cuda_found {
    double gain;
    int32_t column; /* -1: no split */
    uint32_t bin;   /* of a feature by categories: RW_CUDA_BY_SET | its number among them */
    int32_t missing_left;
    uint32_t n_left; /* documents that go left */
};
#define RW_CUDA_BY_SET 0x80000000u

enum { RW_CUDA_MOST_SEARCHED = 128 };

/* What the host looks at while it waits: memory of the host that the device writes. Of each word of
 * 64 bits, which comes at once, the low half is the search's launch and the high half a number of
 * what was found, so that nobody waits for one word to be there before the next. */
enum { RW_CUDA_REPLY_WORDS = 6 };
struct rw_cuda_reply {
    uint64_t word[RW_CUDA_MOST_SEARCHED][RW_CUDA_REPLY_WORDS];
};

struct rw_cuda_search {
    struct rw_split_rule rule;
    uint32_t least_n; /* of a side, documents and quantised hessian, as rw_side_allowed has them */
    int64_t least_hess;
    struct rw_cuda_found *d_best; /* [n][n_blocks] scratch */
    float *d_score;               /* [n][features of the group] scratch, of rough searches */
    uint32_t *d_done;             /* [n] scratch: 0 before the first group, and again at the end */
    struct rw_cuda_reply *reply;  /* its first n: written with the last group; page-locked */
    const int8_t *d_direction;    /* by the engine's feature; NULL: no feature has one */
    uint32_t launch;              /* another than the one before */
    uint32_t n;
    uint32_t n_blocks; /* rw_cuda_search_blocks() of all groups together, for n nodes, and n_sets */
    uint32_t buffer[RW_CUDA_MOST_SEARCHED]; /* [n] of each node searched */
    const double *d_penalty;                /* by the engine's feature; NULL: no feature has one */
    const uint32_t
        *d_allowed; /* [n][n_allowed_words] bits by the engine's feature; NULL: all are */
    uint32_t n_allowed_words;
    uint32_t most_blocks;          /* that run at once: past so many, features share fewer warps */
    uint32_t n_sets;               /* features by categories, of all groups */
    struct rw_code_set *d_set;     /* [n][n_sets] scratch: what goes left */
    struct rw_code_set *reply_set; /* [n] page-locked, too: what goes left by the splits by sets */
};
/* Blocks of a node that note what they found: n_features at most. */
uint32_t rw_cuda_search_blocks(const struct rw_cuda_search *search,
                               const struct rw_cuda_cells *cells);
/* Searches the features of one group, whose blocks come after first_block others of a node. */
int rw_cuda_search_group(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells,
                         uint32_t first_block, void *stream);
/* Does it take two launches and one block a node, where that is the faster way: for many nodes
 * whose features have neither directions nor penalties and may all split them? */
int rw_cuda_is_rough(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells);
/* After all groups: the group's features by categories, a block each. */
int rw_cuda_search_categories(const struct rw_cuda_search *search,
                              const struct rw_cuda_cells *cells,
                              const struct rw_cuda_categories *categories, uint32_t first_block,
                              void *stream);

/* ---- histograms of many workers: cu_workers.cu ---- */

/* How a node's cells are sent, by what their sums over all workers can be, and where. A cell is one
 * number of 64 or of 32 bits: count, hessian and lambda, the lowest bits first; or numbers apart.
 */
struct rw_cuda_wire {
    uint32_t at64, at32; /* its first numbers in a worker's part */
    uint32_t built;      /* buffer of this worker's sums; RW_CUDA_NOT_BUILT: it has no documents */
    uint32_t to, parent; /* buffers of all workers' sums; parent: or RW_HIST_NO_PARENT */
    uint8_t words;       /* of 64 bits, a cell: 0 (one of 32 bits), 1, 2 or 3 */
    uint8_t hess_apart;  /* words is 1, and hessians are numbers of 32 bits */
    uint8_t n_bits, hess_bits;
};
#define RW_CUDA_NOT_BUILT UINT32_MAX

/* For a node with so many documents on all workers; where it goes is not set. bits: of quantised
 * numbers. */
static inline struct rw_cuda_wire rw_cuda_wire_of(int newton, int bits, uint32_t all_n)
{
    const uint32_t n_bits = rw_hist_bits_of(all_n);
    const uint32_t sum_bits = rw_hist_bits_of((uint64_t)all_n * (uint64_t)rw_quantise_limit(bits));
    const uint32_t hess_bits = newton ? sum_bits : 0;
    const uint32_t lambda_bits = sum_bits + 1; /* and a sign */
    struct rw_cuda_wire wire = {0, 0, 0, 0, 0, 0, 0, (uint8_t)n_bits, (uint8_t)hess_bits};
    if (n_bits + hess_bits + lambda_bits <= 32)
        return wire;
    wire.words = 1;
    if (n_bits + hess_bits + lambda_bits <= 64)
        return wire;
    wire.hess_bits = 0;
    wire.hess_apart = newton && n_bits + lambda_bits <= 64 && hess_bits <= 32;
    if (!wire.hess_apart)
        wire.words = newton ? 3 : 2;
    return wire;
}

enum { RW_CUDA_GROUPS = 3 };

/* A worker's part has, node after node, the cells of the features that are its own: group after
 * group, as many as the worker with most of the group's has. */
struct rw_cuda_exchange {
    int n_groups, newton;
    uint32_t n_workers, n_nodes;
    uint32_t n_cells;               /* of a node in a part */
    uint32_t begin[RW_CUDA_GROUPS]; /* where each group's begin */
    uint64_t n_each64, n_each32;    /* numbers of a part */
    /* [n_workers + 1] each: the first cell of each worker's features in the group's histograms */
    const uint32_t *d_first[RW_CUDA_GROUPS];
    struct rw_cuda_cells built[RW_CUDA_GROUPS], own[RW_CUDA_GROUPS];
    const struct rw_cuda_wire *d_wire; /* [n_nodes] */
    uint64_t *d_send64, *d_recv64;     /* [n_workers][n_each64]; [n_each64] */
    uint32_t *d_send32, *d_recv32;
};
/* This worker's sums to what is sent; what all workers' sums are to histograms, their siblings',
 * too.
 */
int rw_cuda_workers_pack(const struct rw_cuda_exchange *exchange, void *stream);
int rw_cuda_workers_unpack(const struct rw_cuda_exchange *exchange, void *stream);

/* ---- documents of nodes: cu_partition.cu ---- */

/* Documents that a block takes: positions are cut into chunks of so many, node by node. */
enum { RW_CUDA_CHUNK = RW_TUNE_PARTITION_CHUNK };
/* Words that a partition's launch carries: 32 nodes of a histogram call and their parents. */
enum { RW_CUDA_CARRIED = 32 * 5 };

/* How many go left is not known: those that go right are filled in from the node's end. */
#define RW_CUDA_UNCOUNTED UINT32_MAX

struct rw_cuda_part {   /* one node's */
    uint64_t from, to;  /* its first position; that of its left child, whose documents come first */
    uint32_t n, n_left; /* at most 2^31; or RW_CUDA_UNCOUNTED */
    uint32_t first_chunk; /* chunks of the nodes before it */
    uint32_t bin, missing_code;
    int32_t missing_left;
    int32_t whole; /* 1: positions are documents; its list is not read */
    int32_t set;   /* its first word: which codes go left, in place of bin; -1: bin says it */
    struct rw_cuda_column column;
};

enum { RW_CUDA_MOST_PARTS = 32, RW_CUDA_PART_SET_WORDS = 192 };

/* Those of a partition's parts that are split by categories: of each as many words as its feature's
 * codes need. */
struct rw_cuda_part_sets {
    uint32_t word[RW_CUDA_PART_SET_WORDS];
};

/* All of it goes with the launch, so that no copy has to come first; neither need what is small and
 * asked for by the next kernels: it is carried to the device, too. */
struct rw_cuda_partition {
    uint32_t n_parts, n_chunks;
    uint32_t *d_list; /* [.. positions] */
    /* [.. positions] what moves with the documents, words of rw_moved_word; NULL: nothing. A whole
     * part's comes from those by document. */
    void *d_moved;
    enum rw_moved moved;
    const int32_t *d_lambda, *d_hess; /* [n_docs]; hessians: or NULL */
    /* [RW_CUDA_MOST_PARTS] each, cleared once; a launch uses [launch % 2] and clears the other:
     * where documents went, and in the end how many of each part, left ones in the low half */
    unsigned long long *d_placed[2];
    uint32_t launch;     /* one more than the one before */
    uint32_t n_carried;  /* words, 0 to RW_CUDA_CARRIED */
    uint32_t *d_carried; /* [n_carried] written */
    struct rw_cuda_part part[RW_CUDA_MOST_PARTS];
    uint32_t carried[RW_CUDA_CARRIED];
};
/* Documents of a child keep their order within a chunk; chunks come in any. Nodes' positions do not
 * overlap, nor do those that are read and those that are written. sets: NULL, if no part has one.
 */
int rw_cuda_partition(const struct rw_cuda_partition *partition,
                      const struct rw_cuda_part_sets *sets, void *stream);

/* What moves, at n positions, from what is by document. d_hess: or NULL. */
int rw_cuda_gather(const uint32_t *d_list, uint32_t n, const int32_t *d_lambda,
                   const int32_t *d_hess, enum rw_moved moved, void *d_moved, void *stream);

/* ---- leaves: sums in cu_partition.cu, scores in cu_engine.cu ---- */

/* A leaf's positions, or some of them: a leaf may have several. */
struct rw_cuda_leaf {
    uint64_t from;
    uint32_t n, first_chunk;
    uint32_t leaf;
};

struct rw_cuda_leaf_sums {
    const struct rw_cuda_leaf *d_leaf; /* [n_leaves] */
    uint32_t n_leaves, n_chunks;
    const uint32_t *d_list;
    const struct rw_lambda_pair *d_pair; /* [n_docs] */
    uint16_t *d_leaf_of;                 /* [n_docs] written: the leaf of each document, mod 2^16 */
    struct rw_sum *d_sum;                /* by leaf; all but n are added to what is there */
};
int rw_cuda_leaf_sums(const struct rw_cuda_leaf_sums *sums, void *stream);

/* score += its leaf's value, for each document whose leaf is known; d_sampled: [n_docs] 0: left as
 * they are; NULL: none. d_value: [n_leaves]. */
int rw_cuda_add_values(const uint16_t *d_leaf_of, const float *d_value, const uint8_t *d_sampled,
                       uint32_t n_docs, double *d_score, void *stream);

struct rw_cuda_walk {
    const struct rw_coded_node *d_node; /* [n_leaves - 1] with sets on the device */
    const float *d_leaf;                /* [n_leaves] */
    uint32_t n_leaves, n_docs;
    int32_t by_set;                        /* 1: some nodes have sets */
    const struct rw_cuda_column *d_column; /* of the set */
    const uint8_t *d_skip;                 /* [n_docs] not 0: left as they are; NULL: none */
    double *d_score;                       /* [n_docs] */
};
/* The same by the documents' codes. */
int rw_cuda_add_walk(const struct rw_cuda_walk *walk, void *stream);

/* Chunks of so many documents. */
static inline uint32_t rw_cuda_chunks(uint64_t n)
{
    return (uint32_t)((n + RW_CUDA_CHUNK - 1) / RW_CUDA_CHUNK);
}

#ifdef __cplusplus
}
#endif
#ifdef __CUDACC__
/* A document's lambda and hessian, in one load. */
static __device__ __forceinline__ struct rw_lambda_pair pair_at(const struct rw_lambda_pair *d_pair,
                                                                uint64_t doc)
{
    const longlong2 both = *(const longlong2 *)(const void *)&d_pair[doc];
    return {both.x, both.y};
}
#endif
