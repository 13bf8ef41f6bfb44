/* State of the engine for GPUs. engine_cuda.c starts trees and keeps documents and scores,
 * engine_cuda_load.c puts data on the device, engine_cuda_hist.c builds histograms and finds
 * splits, also of many workers, engine_cuda_far.c keeps in the host's memory what does not fit the
 * device's, and columns of codes for partitions. Everything is allocated at load.
 *
 * The list of documents has two halves: the documents of a node's children go to the same positions
 * of the half that the node's own are not in. A histogram is a buffer in each group's pool; a split
 * takes one buffer more than there were, so a tree of n leaves fills n of them. */
#pragma once

#include "gpu/device/cu_check.h"
#include "comm/comm.h"
#include "gpu/engine/cu_engine.h"
#include "gpu/device/device.h"
#include "gpu/hist/hist.h"
#include "gpu/metric/metric_cuda.h"

/* Where the training set's codes are; found before they are loaded. */
struct rw_cuda_place {
    int is_far;             /* not all of them on the device */
    uint64_t row_bytes;     /* of those in tiles that are */
    uint32_t n_columns;     /* room for columns that partitions read */
    double far_doc_bytes;   /* of a document's in tiles of the host's memory, on average */
    double link_rate;       /* bytes a second; 0: not measured */
    uint64_t least_bytes;   /* of memory that training needs, with no codes beside one column */
    uint64_t settled_bytes; /* that the training set takes when methods are chosen */
};

/* A set's codes in the host's memory, by features. */
struct rw_cuda_far {
    char *column;              /* page-locked; owned; NULL: there are none */
    struct rw_cuda_column *at; /* [n_features] in it, for kernels and copies */
};

struct rw_cuda_set {
    int is_far;
    struct rw_cuda_far far;
    struct rw_hist_matrix *matrix[RW_CUDA_GROUPS]; /* [n_groups] owned */
    struct rw_cuda_column *d_column;               /* [n_features] */
    double *d_score;                               /* [n_docs] */
    struct rw_cuda_metrics *metrics;               /* NULL: not measured; owned */
};

/* The features of one width of codes. */
struct rw_cuda_group {
    int bits;
    uint32_t n_features, n_bins; /* n_bins: codes of a feature, at most */
    uint32_t n_narrow;           /* the last so many have at most 16 codes */
    uint32_t *column;            /* [n_features] the engine's feature */
    uint16_t *d_frequent;        /* [n_features] */
    /* Where histograms are made, and where they are kept and searched: the same; or, of many
     * workers, this worker's documents of all features, and all documents of this worker's, from
     * first_own on.
     */
    struct rw_cuda_cells built, cells;
    uint32_t first_own;
    struct rw_cuda_categories categories; /* of those that are searched */
    struct rw_hist_candidates candidates;
    struct rw_hist_choice choice;
    int chosen;
    int is_looked_at; /* the choice, in a later tree */
    int is_told;      /* the choice, to who asks what was chosen */
};

/* Columns of features that split large nodes most. */
struct rw_cuda_kept {
    uint32_t n;            /* there is room for */
    uint64_t column_bytes; /* of each */
    void *d;               /* [n] columns */
    int32_t *of;           /* [n] the engine's feature; -1: room */
    double *use;           /* [n_features] documents of large nodes; older trees' count less */
    uint8_t *drawn;        /* [n_features] is it one of the tree's */
};

/* A node of all documents, without a parent, as histograms find it on the device. */
struct rw_cuda_whole {
    struct rw_hist_node node;
    uint32_t parent;
};

/* Data on its way to the device: pinned memory and its mirror. A piece is left alone until the
 * engine has waited for the device. */
struct rw_cuda_stage {
    char *host, *d;
    size_t bytes, used;
};

/* The codes of a training set, left for the next training on it. Nothing of them changes. */
struct rw_cuda_codes {
    struct rw_device_cache spare;
    struct rw_cut_rule rule;
    struct rw_cuts *cuts;  /* owned */
    struct rw_arena arena; /* of what is below, but for matrices */
    uint8_t *ignore;       /* [RW_FEATURE_IDS] the rule's, NULL as there */
    int n_groups;
    struct rw_hist_matrix *matrix[RW_CUDA_GROUPS]; /* [n_groups] owned */
    uint64_t *counts[RW_CUDA_GROUPS];              /* as the engine's */
    uint32_t *column[RW_CUDA_GROUPS];              /* the same */
};

/* Of many workers. */
struct rw_cuda_workers {
    struct rw_cuda_exchange exchange; /* of the call at hand */
    uint32_t most_nodes;              /* of a call */
    uint32_t *all_n;                  /* [max_slots] documents of each node on all workers */
    void *staged;                     /* page-locked: what goes through the hosts; NULL: nothing */
};

struct rw_cuda {
    struct rw_host host;   /* cuts, and device memory; codes are nowhere on the host */
    struct rw_arena arena; /* what is below of the host's, unless it says so */
    struct rw_device *device;
    struct rw_cuda_lambda *lambda;
    struct rw_cuda_set set[RW_MAX_SETS];
    struct rw_cuda_group group[RW_CUDA_GROUPS]; /* [n_groups] */
    int n_groups;
    struct rw_comm *comm;            /* of the workers' GPUs; NULL: there is none; owned */
    struct rw_cuda_workers *workers; /* NULL: one worker */
    uint64_t free_bytes; /* of the device before the training set was loaded, or allowed of them */
    int is_limited;      /* they are what the user allows */
    int64_t to_settle;   /* bytes that the choice of methods will add; dry runs have them */
    struct rw_cuda_place place;
    /* what is read of the host's memory */
    struct rw_hist_far hist_far;        /* with which histograms read it, if place is far; owned */
    struct rw_far_reads reads;          /* of the tree so far; bytes: but for histograms' */
    void *event[2];                     /* cudaEvent_t: around histograms */
    int is_timed;                       /* they are recorded, and their time is not added yet */
    char *d_walk;                       /* [walk_bytes] pieces of columns on their way to a walk */
    size_t walk_bytes;                  /* 0: no set needs them */
    struct rw_cuda_column *walk_column; /* [n_features] scratch */
    uint64_t most_bytes;                /* so far: at a time, with what is given back later */
    struct rw_cuda_stage stage;
    void *answer; /* page-locked: what is read back; [answer_bytes] */
    size_t answer_bytes;
    uint32_t *answer_word; /* behind it: the number of the last answer that is there */
    uint32_t n_answers;
    size_t asked_bytes; /* of the last answer */
    /* the training set */
    struct rw_cuda_codes *taken;      /* where its codes were found; NULL: they are the engine's */
    struct rw_arena codes_arena;      /* of counts, and of groups' columns */
    uint64_t *counts[RW_CUDA_GROUPS]; /* [group's n_features][n_bins] documents */
    uint32_t n_docs, n_queries;
    struct rw_cuda_sample sample; /* d_sampled NULL: all documents are */
    uint8_t *d_feature_sampled;   /* [n_features] group by group */
    int knows_features;           /* it holds what it will hold in all trees */
    /* the tree */
    struct rw_cuda_quantise quantise;
    /* The same by position, [2][half] words, where the histograms' methods may take them so; else
     * NULL. They move with the documents if all do: moves is 1, else 0; before a tree's first
     * partition -1. */
    void *d_moved;
    int moves;
    int is_listed;       /* 0: the root's positions are documents, and its list is not written */
    uint64_t half;       /* positions of a half */
    uint32_t *n;         /* [max_slots] documents of each node */
    uint64_t *first;     /* [max_slots] each node's first position */
    int32_t *buffer_of;  /* [max_slots] histogram; -1: none, or no use of it */
    int32_t (*child)[2]; /* [max_slots] slots; -1: not partitioned */
    int32_t *stack;      /* [max_slots] scratch */
    int32_t n_buffers, n_used;
    /* scratch */
    struct rw_hist_node *node; /* [most_nodes] of one histogram call */
    uint32_t *parent;          /* [most_nodes] their parents' buffers */
    uint32_t most_nodes;
    uint64_t most_chunks;               /* of a launch */
    struct rw_cuda_part_sets part_sets; /* of the partition that waits */
    uint32_t n_part_words;
    /* A partition that is not launched yet: the next histograms' nodes go with it. */
    struct rw_cuda_partition partition;
    const struct rw_split *waiting; /* of its first part, the others behind it; many workers only */
    struct rw_cuda_whole *d_whole;  /* [1] */
    int root_begun;                 /* its histogram, by rw_cuda_begin_root */
    struct rw_cuda_column *split_column; /* [n_features] where partitions read codes */
    struct rw_cuda_column *tile_column;  /* [n_features] the training set's d_column */
    struct rw_cuda_kept kept;
    int is_settled; /* methods are chosen, and what only the choice needed is given back */
    struct rw_cuda_search search; /* launch: the last one */
    uint32_t most_searched;       /* nodes of one search */
    uint32_t n_trees;             /* begun so far */
    uint32_t n_asked;     /* nodes of the one that nobody has waited for; 0: there is none */
    uint32_t *d_n_listed; /* documents of a sample */
    /* d_sum: [max_slots] zeroes but between a question and its answer */
    struct rw_cuda_leaf_sums leaf_sums;
    struct {
        const struct rw_cuda_leaf *leaf; /* [n] in the stage */
        uint32_t n;
        int n_leaves; /* 0: nobody asked, or all was answered */
    } asked_leaves;
    int32_t *summed;  /* [max_slots] the leaves that d_leaf_of knows */
    int32_t n_summed; /* 0: nothing */
    void *d_hist_scratch;
    size_t hist_scratch_bytes;  /* until methods are chosen, what any candidate needs */
    size_t least_scratch_bytes; /* what the favourite needs */
    int clean_scratch;          /* d_hist_scratch is all 0 between histograms */
    void *d_list_scratch;
    size_t list_scratch_bytes;
    struct rw_coded_node *coded; /* [max_slots] */
};

#define RW_CUDA_TRY(cuda, call) RW_CU((cuda)->host.base.ctx, (cudaError_t)(call))

static inline struct rw_cuda *rw_cuda_of(struct rw_engine *engine)
{
    return (struct rw_cuda *)engine;
}

static inline void *rw_cuda_stream(const struct rw_cuda *cuda)
{
    return cuda->device->stream;
}

/* A dry run makes a plan: nothing is allocated, launched or sent, pointers to device memory mean
 * nothing, but everything is counted as it would be. */
static inline int rw_cuda_is_dry(const struct rw_cuda *cuda)
{
    return cuda->host.memory.plan != NULL;
}

/* What is left of the device's memory; in between loading and the first tree, as if methods had
 * been chosen. */
static inline uint64_t rw_cuda_left_bytes(const struct rw_cuda *cuda)
{
    const uint64_t bytes = cuda->host.base.info.bytes + (uint64_t)cuda->to_settle;
    return cuda->free_bytes > bytes ? cuda->free_bytes - bytes : 0;
}

/* Bytes that a node takes of what searches are told it may be split by; 0: all features may. */
static inline size_t rw_cuda_allowed_bytes(const struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    return rw_rules_by_node(&engine->rules) ? rw_feature_words(engine) * sizeof(uint32_t) : 0;
}

/* Of a tile's codes on the device. */
static inline uint64_t rw_cuda_tile_bytes(const struct rw_hist_matrix *matrix, uint32_t tile)
{
    const struct rw_hist_tile *of = &matrix->tile[tile];
    const uint64_t docs = of->far_word ? of->n_here : matrix->n_docs;
    return docs * rw_hist_tile_doc_bytes(matrix, tile);
}

/* Bytes of a column of one feature for partitions, of the widest codes. */
static inline uint64_t rw_cuda_column_bytes(const struct rw_cuts *cuts, uint32_t n_docs)
{
    uint64_t bytes = 1;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        bytes = rw_cuts_code_bytes(cuts, f) > bytes ? rw_cuts_code_bytes(cuts, f) : bytes;
    return rw_hist_round_up(n_docs * bytes);
}

static inline uint64_t rw_cuda_columns_bytes(const struct rw_hist_matrix *matrix)
{
    return matrix->column_words * matrix->n_features * sizeof(*matrix->d_column);
}

/* Room for so many bytes on their way to the device: piece.host is to be filled, piece.d is where
 * they are for what is enqueued after rw_cuda_send. Waits for the device if there is no room; a
 * piece asked for before is gone then. */
struct rw_cuda_piece {
    void *host, *d;
};
int rw_cuda_room(struct rw_cuda *cuda, size_t bytes, struct rw_cuda_piece *out);
int rw_cuda_send(struct rw_cuda *cuda, const struct rw_cuda_piece *piece, size_t bytes);
/* Both of them, adjoined; *d: where they are. */
int rw_cuda_send_two(struct rw_cuda *cuda, const void *first, size_t first_bytes,
                     const void *second, size_t second_bytes, void **d);
/* Waits for the first n replies of the search launched last, and so for all that came before it. */
int rw_cuda_await(struct rw_cuda *cuda, uint32_t n);
/* Launches the partition that waits, if there is one. */
int rw_cuda_flush(struct rw_cuda *cuda);
/* While splits are being added to it: where many workers are, its children are counted, too. */
int rw_cuda_flush_parts(struct rw_cuda *cuda);
/* Of the split's documents here, so many go left. */
void rw_cuda_take_children(struct rw_cuda *cuda, const struct rw_split *split, uint32_t n_left);
/* Reads whole words into cuda->answer, and waits for them. */
int rw_cuda_answer(struct rw_cuda *cuda, void *d, size_t bytes);

/* A table of the training set's on the device. d: the address of a pointer to it, written. */
int rw_cuda_send_table(struct rw_cuda *cuda, void *d, const void *from, size_t n, size_t size);
#define RW_CUDA_TABLE(cuda, d, from, n) \
    rw_cuda_send_table((cuda), &(d), (from), (n), sizeof(*(from)))

/* Can no node's sums pass 32 bits? Room for n cells, narrow ones then. */
static inline int rw_cuda_has_narrow_cells(const struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    return rw_hist_is_narrow(cuda->workers ? engine->all_docs : cuda->n_docs,
                             rw_quantise_limit(engine->rules.bits));
}
int rw_cuda_new_cells(struct rw_cuda *cuda, struct rw_cuda_cells *cells, uint64_t n);

int rw_cuda_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains);
/* What a set is loaded from. codes: NULL, or ready ones, at code_of. */
struct rw_cuda_source {
    const struct rw_dataset *dataset;
    const double *gains;
    const struct rw_bins *codes;
    const uint32_t *code_of;
};
/* The training set's codes, from an engine that had them before, if they are the same: cuda->taken.
 */
void rw_cuda_take_codes(struct rw_cuda *cuda);
/* Which methods may be asked, before the layouts that they read are made; and scratch for them. */
int rw_cuda_list_candidates(struct rw_cuda *cuda);
int rw_cuda_plan_histograms(struct rw_cuda *cuda);
/* The matrix of a group. */
struct rw_hist_matrix_spec rw_cuda_matrix_spec(const struct rw_cuda *cuda, int group,
                                               uint32_t n_docs, int layouts);
/* What is left free for the other sets, beside their codes: their scores, metrics and tables,
 * and what walks need if their codes do not fit. n_docs: of the training set. */
uint64_t rw_cuda_others_bytes(const struct rw_cuda *cuda, uint32_t n_docs, uint32_t n_features);
/* engine_cuda_far.c. Bytes of d_walk, of pieces of a multiple of so many documents. Is a set beside
 * the training set one whose codes do not fit? A set's codes in the host's memory. */
enum { RW_CUDA_WALK_ALIGNED = 256 };
uint64_t rw_cuda_far_walk_bytes(uint32_t n_docs, uint32_t n_features);
int rw_cuda_is_set_far(const struct rw_cuda *cuda, uint32_t n_docs);
int rw_cuda_far_make(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source);
/* Of reads: histograms are enqueued between 0 and 1. */
int rw_cuda_far_clock(struct rw_cuda *cuda, int is_end);
int rw_cuda_far_reads(struct rw_engine *engine, struct rw_far_reads *out);
/* Columns for partitions: when methods are chosen; before a feature splits a node of n documents;
 * when a tree begins, and when its features are drawn: one that could not use a feature says
 * nothing of it, and what will be of no use to it is not copied before it. */
int rw_cuda_settle_columns(struct rw_cuda *cuda);
int rw_cuda_use_column(struct rw_cuda *cuda, uint32_t feature, uint32_t n);
void rw_cuda_fade_columns(struct rw_cuda *cuda);
int rw_cuda_keep_columns(struct rw_cuda *cuda);
int rw_cuda_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums);
int rw_cuda_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);
double rw_cuda_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work);
void rw_cuda_unload(struct rw_cuda *cuda);
int rw_cuda_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n);
/* Begins the histogram of a root that sees all documents, before anybody asks for it, if the engine
 * knows enough by now. */
int rw_cuda_begin_root(struct rw_cuda *cuda, uint32_t n_features);
int rw_cuda_forget(struct rw_engine *engine, const int32_t *slots, int n);
int rw_cuda_ask_splits(struct rw_engine *engine, const int32_t *slots, int n);
int rw_cuda_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                        struct rw_split *out);
/* Whether the method of the tree's histograms may become another one than `choice` says. */
int rw_cuda_may_choose(const struct rw_cuda *cuda, const struct rw_cuda_group *group);
int rw_cuda_tell(struct rw_engine *engine, char *text, size_t size, double *ms);

/* With one worker, none of them does anything. */
int rw_cuda_workers_meet(struct rw_cuda *cuda); /* before anything is loaded */
void rw_cuda_workers_part(struct rw_cuda *cuda);
/* Which of a group's features are whose: group->cells, of group->built, and of workers->exchange.
 * row: [n_features + 1] */
int rw_cuda_workers_divide(struct rw_cuda *cuda, int group, const uint32_t *row);
int rw_cuda_workers_allocate(struct rw_cuda *cuda);
/* Before a tree's calls of NCCL, after what may allocate. */
int rw_cuda_workers_ready(struct rw_cuda *cuda);
/* Between drawing queries, or documents, and spreading them. first: the first one's number among
 * those of all workers. */
int rw_cuda_workers_keep_one(struct rw_cuda *cuda, uint32_t first);
/* A root's sums, and those of quantised numbers, of all workers. */
int rw_cuda_workers_begin(struct rw_cuda *cuda, struct rw_cuda_begin *begin);
/* The largest of all workers' numbers; user: the struct rw_cuda. n: at most 4. */
int rw_cuda_workers_max(void *user, uint64_t *d_numbers, uint32_t n);
/* Only with many workers: launches the partition that waits, of splits of all its parts. */
int rw_cuda_workers_flush(struct rw_cuda *cuda, const struct rw_split *splits);
