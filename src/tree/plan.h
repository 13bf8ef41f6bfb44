/* What a training will take, before any of it is allocated: bytes of each part, and the time of a
 * tree by a stated model. `train --plan` prints it; `--device auto` decides by the times. */
#ifndef RW_TREE_PLAN_H
#define RW_TREE_PLAN_H

#include <stdint.h>

#include "tree/engine.h"

/* The sets that would be loaded, the training set first. */
struct rw_plan_data {
    const struct rw_dataset *const *set;          /* [n_sets] */
    const struct rw_metric_plan *const *measured; /* [n_sets]; NULL: not measured */
    int n_sets;
    const struct rw_bins *bins; /* of the training set, or NULL */
    uint32_t n_features;        /* of the training set, without those that are ignored */
};

/* Adds a part; a part of that name grows. What is taken back is added as 2^64 less. */
void rw_plan_add(struct rw_plan *plan, const char *name, uint64_t bytes);

/* What the time of a tree depends on. */
struct rw_plan_work {
    double docs;       /* that a tree sees */
    double other_docs; /* that only get scores: validation sets, and what is not sampled */
    double features;   /* that a tree sees */
    double row_bytes;  /* of a document's codes */
    double leaves;     /* at most */
    double bins;       /* of all features together */
    double visits;     /* pairs of documents that lambdas look at; 0: there are none */
    int newton;        /* hessians in histograms */
};
void rw_plan_work_of(struct rw_plan_work *work, const struct rw_engine_rules *rules,
                     const struct rw_plan_data *data);

/* How often a tree reads a document's row of codes: once at the root, and at each level below it
 * for the smaller children, which hold at most half of the documents. */
double rw_plan_passes(const struct rw_plan_work *work);
/* Milliseconds of a tree on the host. */
double rw_plan_cpu_ms(const struct rw_plan_work *work, int n_threads);

/* The same of a tree on several GPUs of one host: `tree_ms` is of one GPU's part of the documents.
 * Writes what of it the exchange of histograms takes. */
double rw_plan_many_ms(const struct rw_plan_work *work, int n_gpus, double tree_ms,
                       double *exchange_ms);
/* A GPU's part of the work of n. */
struct rw_plan_work rw_plan_part_of(const struct rw_plan_work *work, int n);
/* The rule of `auto`: a GPU if all rounds together are expected to take less there, what it takes
 * to open it included. gpu_ms 0: could one be faster at all? */
int rw_plan_gpu_pays(double cpu_ms, double gpu_ms, int rounds);

/* The engine's plan. RW_ERR_UNSUPPORTED if it has none. */
int rw_engine_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);

/* A training that is about to begin. */
struct rw_choice_of_device {
    const struct rw_engine_rules *rules; /* borrowed */
    struct rw_plan_data data;
    int rounds;
    int is_auto; /* written: nobody chose the device */
};

/* Opens the engine of `device`. `auto`: a GPU if training is expected to take less there; else the
 * host's engine. */
int rw_choose_device(struct rw_ctx *ctx, const char *device, struct rw_choice_of_device *choice,
                     struct rw_engine **out);
/* Ranks have engines of one kind: where `auto` chose several, *engine becomes the host's. All ranks
 * call it. */
int rw_choose_agree(struct rw_ctx *ctx, struct rw_choice_of_device *choice,
                    struct rw_engine **engine);

/* Which codes a device holds that has no room for all of them. The rest stays in the host's memory.
 *
 * Codes come in blocks, tiles or columns, and of each the device holds those of the documents from
 * the first on. Blocks with few bytes a document come first: what crosses a link is at least a
 * sector of it, so they would cost more there than they weigh. */
struct rw_place {
    uint32_t doc_bytes; /* of a document's codes, at least 1 */
    uint32_t n_here;    /* written: of so many documents they are on the device */
};

/* n_docs: of each block. whole: a block is not divided. Blocks of one size are filled in their
 * order. Returns how many of `bytes` are used. */
uint64_t rw_place_codes(struct rw_place *place, int n, uint32_t n_docs, int whole, uint64_t bytes);

#endif
