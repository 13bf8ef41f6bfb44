/* The codes of the data sets on a GPU. Those of the training set, set 0, are an object of their
 * own, which engines share through the set's cache. Codes that do not fit the device are
 * host-resident (cuda_far.c). Partitions read columns of codes where there are any, and the columns
 * of the features that split most often are cached (cuda_columns.c). */
#pragma once

#include "gpu/engine/cuda_memory.h"

struct rw_cuda_nodes;

/* The features of one struct rw_hist_matrix. */
struct rw_cuda_group {
    struct rw_hist_matrix_spec spec; /* its documents and layouts depend on the set */
    uint32_t *column;                /* [n_features] the engine's features */
    uint64_t *counts; /* [n_features][n_bins] documents with each code; NULL: unknown */
};

/* The codes of a training set. Host-resident ones and those of a dry run are not shared. Others are
 * cached, and freed as soon as an allocation finds too little memory while nothing uses them. */
struct rw_cuda_shared {
    struct rw_cuda_shared *next;       /* of the cached ones */
    struct rw_engine_cache *owner;     /* has the only pointer to it; NULL: not cached */
    int device, n_users;               /* the device's number; trainings that use the codes now */
    int is_brief;                      /* 1: the last user frees them */
    struct rw_cut_rule rule;           /* `ignore` is a copy; `categories` is only compared */
    const struct rw_hist_method *hist; /* the forced method; NULL: none */
    struct rw_cuts *cuts;              /* owned; NULL in a dry run */
    struct rw_arena arena;             /* memory of `ignore` and of the groups */
    uint64_t bytes;                    /* device memory, without columns */
    int n_groups;
    struct rw_cuda_group group[RW_CUDA_GROUPS];
    struct rw_hist_matrix *matrix[RW_CUDA_GROUPS]; /* owned */
    uint32_t n_readers[RW_CUDA_GROUPS];            /* engines that may read the group's columns */
};

/* The location of the training set's codes, decided before they are loaded. */
struct rw_cuda_place {
    int is_far;             /* 1: some codes are in host memory */
    uint64_t row_bytes;     /* of tiles on the device */
    uint32_t n_columns;     /* number of columns for partitions that fit */
    int keeps_columns;      /* 1: there is ample memory for the columns of all features */
    double far_doc_bytes;   /* mean bytes per document in tiles of host memory */
    double link_rate;       /* bytes per second; 0: not measured */
    uint64_t least_bytes;   /* that training needs if not all codes fit */
    uint64_t settled_bytes; /* of the training set, once methods are chosen */
};

struct rw_cuda_set {
    int is_far;                                    /* 1: some of its codes are in host memory */
    char *far_column;                              /* page-locked columns; owned */
    struct rw_cuda_column *far_at;                 /* [n_features] these columns */
    struct rw_hist_matrix *matrix[RW_CUDA_GROUPS]; /* of set 0, copies of the shared records */
    struct rw_cuda_column *d_column;               /* [n_features] where its codes are */
};

/* Cached columns of the features that split large nodes most often. */
struct rw_cuda_kept {
    uint32_t n; /* number of columns that fit */
    uint64_t column_bytes;
    void *d;     /* [n] columns */
    int32_t *of; /* [n] the engine's feature in each; -1: free */
    /* [n_features] documents in large nodes (host-resident codes: all nodes) that the feature
     * split; older trees count less. NULL: no cached columns. */
    double *use;
};

struct rw_cuda_codes {
    struct rw_cuda_memory *memory;
    struct rw_host *host;
    struct rw_device *device;
    struct rw_cuda_place place;
    struct rw_cuda_shared *shared; /* NULL: not known yet */
    int has_made;                  /* 1: this engine has made `shared`, and counts its memory */
    const struct rw_hist_method *forced; /* the method that the user names; NULL: none */
    int is_settled;                      /* 1: columns that no chosen method reads are freed */
    uint32_t n_docs, n_features;         /* of the training set */
    struct rw_cuda_set set[RW_MAX_SETS];
    uint16_t *d_frequent[RW_CUDA_GROUPS]; /* [group's n_features] most frequent codes */
    /* [n_features] both: columns from which partitions read codes; set 0's d_column on the host */
    struct rw_cuda_column *split_column, *tile_column;
    struct rw_cuda_kept kept;
    struct rw_hist_far hist_far; /* the `far` of histogram calls, if place.is_far; owned */
    struct rw_far_reads reads;   /* of the tree so far; `bytes` excludes the histograms' */
    void *event[2];              /* cudaEvent_t: before and after histograms */
    int is_timed;                /* 1: events are recorded, and their time is not added yet */
    char *d_walk;                /* [walk_bytes] chunks of columns sent for a walk */
    uint64_t walk_bytes;         /* 0: no set needs d_walk */
    struct rw_cuda_column *walk_column; /* [n_features] scratch */
};

/* The data from which a set is loaded. gains: of the labels, for the objective. codes: ready codes,
 * or NULL. code_of: [n_features] the index in `codes` of each of the engine's features; NULL: the
 * same index. */
struct rw_cuda_source {
    const struct rw_dataset *dataset;
    const double *gains;
    const struct rw_bins *codes;
    const uint32_t *code_of;
};

/* Takes the training set's codes from the cache, if it has those that this training would make. */
void rw_cuda_codes_take(struct rw_cuda_codes *codes);
/* Groups the features of the training set, whose cuts exist, unless its codes were cached. */
int rw_cuda_codes_begin(struct rw_cuda_codes *codes, uint32_t n_docs);
int rw_cuda_codes_load(struct rw_cuda_codes *codes, int set, const struct rw_cuda_source *source);
/* Frees everything but hist_far, also `shared` if nothing else needs it. */
void rw_cuda_codes_release(struct rw_cuda_codes *codes);
/* Frees unused codes on a device. Returns 1 if it freed any. */
int rw_cuda_codes_evict(int device);
/* Returns the bytes of the codes of a matrix's tiles on the device. */
uint64_t rw_cuda_tiles_bytes(const struct rw_hist_matrix *matrix);

/* Ends the use of a group's columns, which their last reader frees. */
void rw_cuda_codes_drop_columns(struct rw_cuda_shared *shared, int g);

/* ---- host-resident codes: cuda_far.c ---- */

/* Returns 1 if the codes of a validation set do not fit the device. */
int rw_cuda_is_set_far(const struct rw_cuda_codes *codes, uint32_t n_docs);
/* Makes a set's columns in host memory, and the memory for walks; for the training set, also the
 * tiles, and the memory with which histograms read those in host memory. */
int rw_cuda_far_load(struct rw_cuda_codes *codes, int set, const struct rw_cuda_source *source);
/* Returns the bytes reserved for the other sets. n_docs: of the training set. */
uint64_t rw_cuda_others_bytes(const struct rw_cuda_codes *codes, uint32_t n_docs,
                              uint32_t n_features);
/* Lays out the columns of the features that a tree splits in d_walk. Returns the number of
 * documents per chunk. rw_cuda_far_send sends a chunk. */
uint32_t rw_cuda_far_lay_out(struct rw_cuda_codes *codes, int set, const struct rw_coded_node *node,
                             int n_nodes);
int rw_cuda_far_send(struct rw_cuda_codes *codes, int set, uint32_t first, uint32_t n);
/* Records the time of histograms, which are enqueued between the calls with is_end 0 and 1, and
 * adds the time that was recorded last, if it is not added yet. */
int rw_cuda_far_clock(struct rw_cuda_codes *codes, int is_end);
int rw_cuda_far_add_time(struct rw_cuda_codes *codes);

/* ---- columns on the device: cuda_columns.c ---- */

/* Returns the bytes of a column of one feature for partitions, with the widest codes. */
uint64_t rw_cuda_column_bytes(const struct rw_cuts *cuts, uint32_t n_docs);
/* Frees columns that are not read, and allocates the cached ones, once methods are chosen. choice:
 * [n_groups]; a dry run has chosen no methods, except forced ones. */
int rw_cuda_columns_settle(struct rw_cuda_codes *codes, const struct rw_hist_choice *choice);
/* Before a feature splits a node of n documents: prepares the codes that the partition reads. */
int rw_cuda_columns_use(struct rw_cuda_codes *codes, struct rw_cuda_nodes *nodes, uint32_t feature,
                        uint32_t n);
/* Starts a tree: earlier uses of columns count less. */
void rw_cuda_columns_begin(struct rw_cuda_codes *codes);
