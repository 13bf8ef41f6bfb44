/* State of the engine for processors; engine_cpu.c loads, partitions and keeps scores,
 * engine_cpu_hist.c builds histograms and finds splits. */
#ifndef RW_TREE_ENGINE_CPU_H
#define RW_TREE_ENGINE_CPU_H

#include "tree/engine_ref.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Work (updates, cells, documents) under which a parallel region costs more than it gains. */
enum { PARALLEL_UPDATES = 65536, PARALLEL_CELLS = 8192, PARALLEL_DOCS = 16384 };

/* A histogram cell and a document's contribution are `n_words` 64-bit words, added word by word:
 *   packed: lambda * 2^32 + count [, weight]     while count and |lambda| sums stay under 2^31
 *   wide:   lambda, count [, weight]
 * weight for newton only. */
struct rw_cpu_words {
    int n_words, packed, newton;
};

struct rw_cpu_group { /* columns whose codes have one width */
    uint32_t n;       /* columns */
    uint32_t *column; /* [n] the engine's feature */
    uint8_t *row;     /* [n_docs][n] codes of `bytes` bytes */
    int bytes;        /* 1 or 2 */
    uint32_t n_active;
    uint32_t *active; /* [n_active] places in the row of this tree's sampled features */
    uint64_t *base;   /* [n_active] first cell of their histograms */
};

/* Sparse features: the cells that a document adds to, their rest left out. The cell of a feature's
 * frequent code is derived from the node's total (weighted histogramming, section 4.4.2). */
struct rw_cpu_sparse {
    uint32_t n;       /* columns */
    uint32_t *column; /* [n] the engine's feature */
    uint64_t *offset; /* [n_docs + 1] into cell */
    uint32_t *cell;   /* [entries] a document's cells */
};

struct rw_cpu {
    struct rw_ref ref;
    struct rw_cpu_group group[2];
    struct rw_cpu_sparse sparse;
    uint32_t *doc, *doc_scratch; /* [n_docs] documents by node */
    uint32_t *begin, *n;         /* [max_slots] each node's part of `doc` */
    int64_t *word;               /* [n_docs][n_words] contributions */
    struct rw_cpu_words words;
    int64_t *pool; /* [n_buffers][n_cells][3] histograms */
    uint64_t buffer_words;
    int32_t *buffer_of;   /* [max_slots] -1: none */
    int32_t *free_buffer; /* [n_buffers] stack */
    int32_t n_free, n_buffers;
    struct rw_cell *total;         /* [max_slots] */
    struct rw_split *feature_best; /* [n_features] */
    uint32_t *chunk_left;          /* [n_threads] scratch of a parallel partition */
    struct rw_engine_ops ops;      /* ref's, and what is overwritten */
};

static inline struct rw_cpu *rw_cpu_of(struct rw_engine *engine)
{
    return (struct rw_cpu *)engine;
}

/* Histograms live at no more nodes than there are leaves, and a node that may be searched has
 * 2 x min_docs documents. */
static inline uint64_t rw_cpu_n_buffers(const struct rw_engine_rules *rules, uint64_t n_docs)
{
    const uint64_t n = ((uint64_t)rules->max_slots + 1) / 2, most = n_docs / rules->min_docs + 2;
    return n < most ? n : most;
}

int rw_cpu_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);
double rw_cpu_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work);
int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n);
int rw_cpu_best_splits(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out);

#ifdef __cplusplus
}
#endif
#endif
