/* The arguments of the kernels of engine `cuda`, and their launchers. The sections name the files
 * of the kernels; scores, columns, moves of histograms and answers are in cu_engine.cu.
 *
 * The engine's feature is the index of a feature among those that training uses (struct rw_cuts). A
 * group is the features of one struct rw_hist_matrix. A buffer is the room for one histogram of a
 * group, and a group's buffers are its pool. A set is the training set or a validation set. An
 * answer is a few words that a kernel copies to memory of the host. A document's position is its
 * index in the list of documents; each node is a range of positions.
 *
 * Launchers enqueue on a cudaStream_t and return a cudaError_t. They neither allocate nor wait.
 * Pointers d_x are on the device. */
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

/* Where a feature's codes are stored: in a set's tiles, or in a column (gpu/hist/hist.h). */
struct rw_cuda_column {
    const void *d_word;   /* elements of its tile, or its column */
    uint32_t bytes;       /* of an element: 1, 2 or 4 */
    uint32_t lanes, lane; /* elements per document, and the feature's element; a column: 1 and 0 */
    uint32_t bits, shift; /* of a code, and its lowest bit in its element */
    uint32_t log_docs; /* 2^log_docs documents share an element; 1 for columns of 4 bits, else 0 */
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

/* Copies a column from tiles. d_to: [n_docs] codes, of 2 bytes if those of `from` have 16 bits,
 * else of 1 byte. */
int rw_cuda_copy_column(const struct rw_cuda_column *from, uint32_t n_docs, void *d_to,
                        void *stream);

/* Adds checksums of columns (code_sums in tree/engine.h) to d_sum. d_column, d_sum: [n_features] */
int rw_cuda_sum_columns(const struct rw_cuda_column *d_column, uint32_t n_features, uint32_t n_docs,
                        uint64_t first_doc, unsigned long long *d_sum, void *stream);

/* Sends data to the device in the arguments of launches of up to RW_CUDA_SMALL_BYTES each. d_to
 * must be a multiple of 4. */
enum { RW_CUDA_SMALL_BYTES = 3840 };
int rw_cuda_send_small(void *d_to, const void *from, size_t n_bytes, void *stream);
/* Copies n words to page-locked memory, then writes `value` to `word` there. clear: zeroes the
 * words on the device afterwards. */
int rw_cuda_copy_answer(void *d_from, uint32_t n, int clear, uint32_t *to, uint32_t *word,
                        uint32_t value, void *stream);

/* ---- the start of a tree: cu_quantise.cu ---- */

struct rw_cuda_begin {
    struct rw_sum sum; /* of the sampled documents */
    struct rw_quantised_sums quantised;
    struct rw_cuda_lambda_info info;
};

/* A sample of items, which are queries or documents. */
struct rw_cuda_sample {
    uint64_t seed, threshold;         /* an item is kept iff its random number is under threshold */
    uint64_t bag_seed, bag_threshold; /* as in struct rw_engine_rules; not used for documents */
    uint32_t bag;
    uint32_t tree, n_queries, n_docs;
    uint32_t first;                 /* number of the first item among those of all workers */
    const uint32_t *d_query_offset; /* [n_queries + 1] */
    uint8_t *d_kept;                /* [n_queries] scratch */
    unsigned long long *d_lowest;   /* [2] scratch: the lowest (random << 32 | item); kept items */
    /* [n_docs] 1: in the sample. Samples of documents are drawn from those with 1. */
    uint8_t *d_sampled;
};
/* Draw a sample in two steps. The first writes d_lowest, and d_kept or d_sampled. The second writes
 * d_sampled; if no item was kept, it keeps the one with the lowest random number, the first of
 * equals. */
int rw_cuda_draw(const struct rw_cuda_sample *sample, int of_docs, void *stream);
int rw_cuda_finish_sample(const struct rw_cuda_sample *sample, int of_docs, void *stream);

/* Lists the documents with d_sampled not 0, ascending, and writes their number to d_n_selected. If
 * d_sampled is NULL, lists all. */
size_t rw_cuda_list_bytes(uint32_t n_docs); /* bytes of scratch */
int rw_cuda_list_sampled(const uint8_t *d_sampled, uint32_t n_docs, uint32_t *d_list,
                         uint32_t *d_n_selected, void *d_scratch, size_t scratch_bytes,
                         void *stream);

struct rw_cuda_quantise {
    uint64_t seed;
    uint32_t tree, n_docs;
    uint32_t first_doc;       /* number of the first document among all workers' */
    uint32_t most_blocks;     /* of the launch */
    int bits, nearest;        /* of quantised numbers. nearest: 1: to the nearest; 0: at random */
    int squares;              /* 1: also sums the squares of quantised lambdas */
    const uint8_t *d_sampled; /* [n_docs] 0: not in the sample; NULL: all are */
    struct rw_lambda_pair *d_pair;  /* [n_docs] read */
    int32_t *d_lambda_q, *d_hess_q; /* [n_docs] of sampled documents; d_hess_q may be NULL */
    struct rw_cuda_begin *d_begin;  /* its info is set; the launch writes the other fields */
};
int rw_cuda_quantise(const struct rw_cuda_quantise *quantise, void *stream);

/* ---- histograms and splits: cu_split.cu ---- */

/* The histograms of a group: a buffer for each node that has one. */
struct rw_cuda_cells {
    uint32_t *d_count; /* [n_buffers][n_cells] */
    void *d_lambda;    /* [n_buffers][n_cells] of int64_t, or int32_t if narrow */
    void *d_hess;      /* like d_lambda; NULL without newton */
    int narrow;        /* 1: the sums of any node fit 32 bits */
    uint32_t n_features, n_bins, n_cells;
    const uint32_t *d_row; /* [n_features + 1] as in gpu/hist/hist.h; NULL: rows of n_bins */
    const struct rw_cuda_feature *d_feature; /* [n_features] in the order of the cells */
    const uint8_t *d_sampled;                /* [n_features] 0: not sampled for this tree */
};

/* A feature, as the search for thresholds sees it. */
struct rw_cuda_feature {
    uint32_t column;              /* the engine's feature */
    uint32_t n_bins, has_missing; /* missing values have the code n_bins; categorical: both 0 */
    uint32_t zero_bin;            /* the first bin whose threshold is at least 0, or n_bins */
};

/* Moves of histograms to other buffers. No buffer is both a source and a target. */
enum { RW_CUDA_MOST_MOVES = 256 };
struct rw_cuda_moves {
    uint32_t n;
    uint32_t from[RW_CUDA_MOST_MOVES], to[RW_CUDA_MOST_MOVES];
};
int rw_cuda_move(const struct rw_cuda_cells *cells, const struct rw_cuda_moves *moves,
                 void *stream);

struct rw_cuda_category {
    uint32_t feature, column; /* its index in the cells, and the engine's feature */
    uint32_t n_codes, has_missing;
};

/* The categorical features of a group. */
struct rw_cuda_categories {
    const struct rw_cuda_category *d_category; /* [n] */
    uint32_t n, first;   /* first: number of categorical features in the groups before */
    uint32_t most_codes; /* largest number of codes of any of them */
};

struct rw_cuda_found {
    double gain;
    int32_t column; /* -1: no split */
    uint32_t bin; /* documents in bins up to it go left. For a categorical feature: RW_CUDA_BY_SET |
                     its index among the categorical features of all groups */
    int32_t missing_left;
    uint32_t n_left; /* documents that go left */
};
#define RW_CUDA_BY_SET 0x80000000u

/* The reply that the host polls, in host memory that the device writes. Each 64-bit word arrives at
 * once. Its low half is the number of the search and its high half a part of the result. So the
 * device need not wait for one word before it writes the next. MOST_SEARCHED: nodes of a search. */
enum { RW_CUDA_MOST_SEARCHED = 128, RW_CUDA_REPLY_WORDS = 6 };
struct rw_cuda_reply {
    uint64_t word[RW_CUDA_MOST_SEARCHED][RW_CUDA_REPLY_WORDS];
};

struct rw_cuda_search {
    struct rw_split_rule rule;
    uint32_t least_n; /* least_n and least_hess: minimum documents and quantised hessian of a side,
                         as in rw_side_allowed */
    int64_t least_hess;
    struct rw_cuda_found *d_best; /* [n][n_blocks] scratch */
    float *d_score;               /* [n][features of the group] scratch, of rough searches */
    uint32_t *d_done; /* [n] scratch: finished blocks of each node; 0 before and after a search */
    struct rw_cuda_reply *reply; /* page-locked; [n] written by the last block of each node */
    const int8_t *d_direction;   /* by the engine's feature; NULL: no monotone constraints */
    uint32_t launch;             /* number of this search; differs from that of the search before */
    uint32_t n;                  /* nodes searched */
    uint32_t n_blocks;           /* per node that write a result */
    uint32_t buffer[RW_CUDA_MOST_SEARCHED]; /* [n] buffer of each node searched */
    const double *d_penalty;                /* by the engine's feature; NULL: no feature costs */
    /* [n][n_allowed_words] bits by the engine's feature; NULL: all are allowed */
    const uint32_t *d_allowed;
    /* noise_word: where a node's words have the noise of features, as doubles; 0: no noise. */
    uint32_t n_allowed_words, noise_word;
    uint32_t most_blocks; /* that run at once; if more are needed, features share fewer warps */
    uint32_t n_sets;      /* categorical features of all groups */
    struct rw_code_set *d_set; /* [n][n_sets] scratch: the codes that go left */
    /* [n] page-locked: the codes that go left, written for splits with RW_CUDA_BY_SET. */
    struct rw_code_set *reply_set;
};
/* Searches all groups, categorical features last (cu_category.cu). Sets n_blocks and d_score. */
int rw_cuda_search_nodes(struct rw_cuda_search *search, const struct rw_cuda_cells *cells,
                         const struct rw_cuda_categories *categories, int n_groups, void *stream);
/* Its launch for a group's categorical features, with a block for each node and feature. */
int rw_cuda_search_categories(const struct rw_cuda_search *search,
                              const struct rw_cuda_cells *cells,
                              const struct rw_cuda_categories *categories, uint32_t first_block,
                              void *stream);

/* ---- splits of whole levels: cu_level.cu ---- */

struct rw_cuda_level {
    struct rw_split_rule rule;
    const int8_t *d_direction;     /* by the engine's feature; NULL: no monotone constraints */
    const double *d_penalty;       /* by the engine's feature; NULL: no feature costs */
    const uint32_t *d_allowed;     /* bits by the engine's feature; NULL: all are allowed */
    const double *d_noise;         /* by the engine's feature; NULL: none */
    uint32_t n;                    /* nodes */
    const uint32_t *d_buffer;      /* [n] buffer of each node, in the order of slots */
    struct rw_cuda_found *d_found; /* [features of all groups] scratch: the best split by each */
    /* The results. d_best: n_left is the index in d_found. d_n_left: [n], written unless d_best has
     * no split: documents of each node that go left. */
    struct rw_cuda_found *d_best;
    uint32_t *d_n_left;
};
/* Finds the best split by each feature of each group, the best of these, and its counts. */
int rw_cuda_level_split(const struct rw_cuda_level *level, const struct rw_cuda_cells *cells,
                        int n_groups, void *stream);

/* Copies n_cells cells of feature f in all nodes to d_cell: [level->n][stride]. They are 0 if the
 * feature is not sampled for the tree. */
int rw_cuda_level_cells(const struct rw_cuda_level *level, const struct rw_cuda_cells *cells,
                        uint32_t f, uint32_t n_cells, uint32_t stride, struct rw_cell *d_cell,
                        void *stream);

/* ---- histograms of many workers: cu_workers.cu ---- */

/* The layout and place of a node's cells in a message. The layout depends on the largest values of
 * their sums over all workers. A cell is one number of 64 or 32 bits, with count, hessian (newton)
 * and lambda from the lowest bits up; or some of its numbers are separate. */
struct rw_cuda_wire {
    uint32_t at64, at32; /* index of its first number of 64 and of 32 bits in a worker's part */
    uint8_t words; /* 64-bit numbers per cell: 1; 0: one of 32 bits; 2, or 3 with hessians: separate
                      numbers */
    uint8_t separate_hess;     /* 1: words is 1, and hessians are separate numbers of 32 bits */
    uint8_t n_bits, hess_bits; /* bits of the count and the hessian in one number */
};
/* Returns the layout for a node with all_n documents on all workers. bits: of quantised numbers. */
static inline struct rw_cuda_wire rw_cuda_wire_of(int newton, int bits, uint32_t all_n)
{
    const uint32_t n_bits = rw_hist_bits_of(all_n);
    const uint32_t sum_bits = rw_hist_bits_of((uint64_t)all_n * (uint64_t)rw_quantise_limit(bits));
    const uint32_t hess_bits = newton ? sum_bits : 0;
    const uint32_t lambda_bits = sum_bits + 1; /* one more for the sign */
    struct rw_cuda_wire wire = {0, 0, 0, 0, (uint8_t)n_bits, (uint8_t)hess_bits};
    if (n_bits + hess_bits + lambda_bits <= 32)
        return wire;
    wire.words = 1;
    if (n_bits + hess_bits + lambda_bits <= 64)
        return wire;
    wire.hess_bits = 0;
    wire.separate_hess = newton && n_bits + lambda_bits <= 64 && hess_bits <= 32;
    if (!wire.separate_hess)
        wire.words = newton ? 3 : 2;
    return wire;
}

/* The most groups: for codes of 4, 8 and 16 bits. */
enum { RW_CUDA_GROUPS = 3 };

/* Memory of a worker's GPU that its peers read, and d_met, which they write. */
struct rw_cuda_open {
    struct rw_cuda_cells built[RW_CUDA_GROUPS]; /* the sums that it has built */
    uint32_t *d_met; /* [n_workers] the last meeting at which each worker has arrived */
};

/* A call that adds up the histograms that all workers have built of their documents. The results
 * are in `own`, for the features that this worker owns.
 *
 * GPUs that can read each other's memory gather the cells of these features. Otherwise a message
 * has a part for each worker, with the cells of its features, node after node and group after
 * group. In every part a group has as many cells as the worker with the most cells of it has. */
struct rw_cuda_exchange {
    int n_groups, newton;
    uint32_t n_workers, n_nodes;
    uint32_t to;                             /* buffer of the first node in `own` */
    uint32_t parent[RW_TUNE_ENGINE_NODES];   /* [n_nodes] buffers, or RW_HIST_NO_PARENT */
    uint32_t n_cells, begin[RW_CUDA_GROUPS]; /* cells of a node; each group's first one */
    struct rw_cuda_cells built[RW_CUDA_GROUPS], own[RW_CUDA_GROUPS];
    /* To gather: the first own cell in `built`, and [n_workers]. */
    uint32_t first[RW_CUDA_GROUPS];
    const struct rw_cuda_open *d_open;
    /* For messages. d_first: [n_workers + 1] each, the first cell of each worker's features in the
     * group's histograms. */
    const uint32_t *d_first[RW_CUDA_GROUPS];
    const struct rw_cuda_wire *d_wire; /* [n_nodes] */
    uint64_t n_each64, n_each32;       /* numbers of 64 and of 32 bits per part */
    uint64_t *d_send64, *d_recv64;     /* d_send64: [n_workers][n_each64]; d_recv64: [n_each64] */
    uint32_t *d_send32, *d_recv32;     /* like those, with n_each32 */
};
/* Write this worker's sums to d_send64 and d_send32; write the sums over all workers from d_recv64
 * and d_recv32 to `own`, and subtract them from the parents; or do both without messages. */
int rw_cuda_workers_pack(const struct rw_cuda_exchange *exchange, void *stream);
int rw_cuda_workers_unpack(const struct rw_cuda_exchange *exchange, void *stream);
int rw_cuda_workers_gather(const struct rw_cuda_exchange *exchange, void *stream);
/* The steps of a meeting of peers: tells all workers that this worker's work so far is complete;
 * waits for the same of all workers. A wait takes a place on the GPU, so it must be enqueued after
 * the arrival of all workers. number: one more than in the meeting before. */
enum rw_cuda_meet { RW_CUDA_ARRIVE, RW_CUDA_AWAIT };
int rw_cuda_workers_meet(enum rw_cuda_meet step, const struct rw_cuda_open *d_open,
                         uint32_t n_workers, uint32_t worker, uint32_t number, void *stream);

/* ---- documents of nodes: cu_partition.cu ---- */

/* CHUNK: documents per block; the positions of each node are divided into such chunks. CARRIED:
 * words that a partition's launch carries, for 32 nodes of a histogram call and their parents. */
enum { RW_CUDA_CHUNK = RW_TUNE_PARTITION_CHUNK, RW_CUDA_CARRIED = 32 * 5 };

/* n_left is unknown: documents that go right are written from the node's end. */
#define RW_CUDA_UNCOUNTED UINT32_MAX

struct rw_cuda_part {  /* one node */
    uint64_t from, to; /* first position of the node, and of its children; the left child's first */
    uint32_t n, n_left;   /* documents, at most 2^31; those that go left, or RW_CUDA_UNCOUNTED */
    uint32_t first_chunk; /* chunks of all nodes before it */
    uint32_t bin, missing_code;
    int32_t missing_left;
    int32_t whole; /* 1: positions are document numbers; the list is not read */
    int32_t set; /* first word, in rw_cuda_part_sets, of the codes that go left; -1: up to `bin` */
    struct rw_cuda_column column;
};

enum { RW_CUDA_MOST_PARTS = 32, RW_CUDA_PART_SET_WORDS = 176 };

/* Where the last blocks of parts with RW_CUDA_UNCOUNTED write the sizes of the children. */
struct rw_cuda_counted {
    uint32_t *d_done; /* scratch: finished parts; 0 between launches; NULL: sizes are not written */
    uint64_t *placed; /* page-locked, [n_parts]: d_placed of the launch; not written for parts
                       * without documents */
    uint32_t *word;   /* page-locked; `value` is written here after `placed` */
    uint32_t value;
    uint32_t n_parts;            /* parts with documents */
    struct rw_hist_node *d_node; /* ranges of children */
    /* [RW_CUDA_MOST_PARTS] 2 * index in d_node + (1: of the right child; 0: of the left one); -1:
     * the range is not written. */
    int8_t child[RW_CUDA_MOST_PARTS];
};

/* Sets of the parts that are split by categories, each with the words that its codes need. */
struct rw_cuda_part_sets {
    uint32_t word[RW_CUDA_PART_SET_WORDS];
};

/* A launch also carries small data of the next kernels to the device. */
struct rw_cuda_partition {
    uint32_t n_parts, n_chunks;
    uint32_t *d_list; /* by position */
    void *d_moved;    /* by position: words of rw_moved_word that move with documents; NULL: none */
    enum rw_moved moved;
    const int32_t *d_lambda, *d_hess; /* [n_docs] each; d_hess: NULL without newton */
    /* [RW_CUDA_MOST_PARTS] each; the caller clears both once. A launch uses d_placed[launch % 2]
     * and clears the other. It counts the documents of each part that it has placed: those that go
     * left in the low half of a word, those that go right in the high half. */
    unsigned long long *d_placed[2];
    uint32_t launch;     /* one more than in the launch before */
    uint32_t n_carried;  /* words, 0 to RW_CUDA_CARRIED */
    uint32_t *d_carried; /* [n_carried] written */
    struct rw_cuda_counted counted;
    struct rw_cuda_part part[RW_CUDA_MOST_PARTS];
    uint32_t carried[RW_CUDA_CARRIED];
};
/* Partitions documents. Documents of a child keep their order within a chunk, but chunks come in
 * any order. Positions of nodes, and positions read and written, must not overlap. sets: NULL if no
 * part has one. */
int rw_cuda_partition(const struct rw_cuda_partition *partition,
                      const struct rw_cuda_part_sets *sets, void *stream);

/* Writes the words of rw_moved_word of n positions, from arrays by document. d_hess may be NULL. */
int rw_cuda_gather(const uint32_t *d_list, uint32_t n, const int32_t *d_lambda,
                   const int32_t *d_hess, enum rw_moved moved, void *d_moved, void *stream);

/* ---- leaves: sums in cu_partition.cu, scores in cu_engine.cu ---- */

/* A range of positions of a leaf, which may have several. */
struct rw_cuda_leaf {
    uint64_t from;
    uint32_t n, first_chunk; /* first_chunk: chunks of all ranges before it */
    uint32_t leaf;
};

struct rw_cuda_leaf_sums {
    const struct rw_cuda_leaf *d_leaf; /* [n_leaves] */
    uint32_t n_leaves, n_chunks;
    const uint32_t *d_list;
    const struct rw_lambda_pair *d_pair; /* [n_docs] */
    uint16_t *d_leaf_of;                 /* [n_docs] written: leaf of each document, mod 2^16 */
    struct rw_sum *d_sum;                /* by leaf; the launch adds to all fields except n */
};
int rw_cuda_leaf_sums(const struct rw_cuda_leaf_sums *sums, void *stream);

/* Adds d_value[d_leaf_of[document]] to each document's score. d_sampled: [n_docs] 0: the score is
 * unchanged; NULL: all change. */
int rw_cuda_add_values(const uint16_t *d_leaf_of, const float *d_value, const uint8_t *d_sampled,
                       uint32_t n_docs, double *d_score, void *stream);

struct rw_cuda_walk {
    const struct rw_coded_node *d_node; /* [n_leaves - 1] with their sets on the device */
    const float *d_leaf;                /* [n_leaves] */
    uint32_t n_leaves, n_docs;
    int32_t by_set;                        /* 1: some nodes have sets */
    const struct rw_cuda_column *d_column; /* [n_features] of the set */
    const uint8_t *d_skip; /* [n_docs] not 0: the score is unchanged; NULL: all change */
    double *d_score;       /* [n_docs] */
};
/* Adds the value of its leaf to each document's score. */
int rw_cuda_add_walk(const struct rw_cuda_walk *walk, void *stream);

static inline uint32_t rw_cuda_chunks(uint64_t n)
{
    return (uint32_t)((n + RW_CUDA_CHUNK - 1) / RW_CUDA_CHUNK);
}

#ifdef __cplusplus
}
#endif
#ifdef __CUDACC__
/* Reads a document's lambda and hessian in one load. */
static __device__ __forceinline__ struct rw_lambda_pair pair_at(const struct rw_lambda_pair *d_pair,
                                                                uint64_t doc)
{
    const longlong2 both = *(const longlong2 *)(const void *)&d_pair[doc];
    return {both.x, both.y};
}
#endif
