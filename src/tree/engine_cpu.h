/* State of the engine for processors; engine_cpu.c loads, partitions and keeps scores,
 * engine_cpu_hist.c divides histograms and splits among the threads, engine_cpu_add.c adds
 * documents to cells, engine_cpu_split.c finds the best cut of a feature. */
#ifndef RW_TREE_ENGINE_CPU_H
#define RW_TREE_ENGINE_CPU_H

#include "tree/engine_ref.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Work (updates, documents) under which a parallel region costs more than it gains. */
enum { PARALLEL_UPDATES = 65536, PARALLEL_DOCS = 16384 };

/* Columns that one pass over documents adds to, their cells in the nearest cache; documents, and
 * passes, whose codes are gathered at once; cells to whose multiples a column's are filled up, so
 * that vectors never reach another column. */
enum { RW_CPU_COLUMNS = 8, RW_CPU_DOCS = 1024, RW_CPU_PASSES = 32, RW_CPU_CELLS = 8 };
/* 64-bit words of a thread's gathered codes: 8 codes each, a pass's documents adjoined. Eight words
 * more a pass, so that not all of them fall into the same places of the cache. */
enum { RW_CPU_GATHERED = RW_CPU_DOCS + 8 };

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
    uint64_t *cell_at; /* [n_features + 1] first cell of each feature in a histogram */
    int64_t *pool;     /* [n_buffers][n_cells][3] histograms */
    uint64_t buffer_words;
    int32_t *buffer_of;   /* [max_slots] -1: none */
    int32_t *free_buffer; /* [n_buffers] stack */
    int32_t n_free, n_buffers;
    struct rw_cell *total;    /* [max_slots] */
    struct rw_split *best;    /* [max_slots] found while histograms are made */
    uint32_t *chunk_left;     /* [n_threads] scratch of a parallel partition */
    uint64_t *gathered;       /* [n_threads][RW_CPU_PASSES][RW_CPU_GATHERED] codes */
    struct rw_engine_ops ops; /* ref's, and what is overwritten */
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

/* Cells of a feature, filled up. */
static inline uint64_t rw_cpu_n_cells(const struct rw_cuts *cuts, uint32_t f)
{
    return (rw_cuts_n_codes(cuts, f) + RW_CPU_CELLS - 1) / RW_CPU_CELLS * RW_CPU_CELLS;
}

/* Cells from a feature's first to the next one's first: equal codes of neighbours must not be a
 * multiple of 4 KiB apart, or processors take them for the same place. */
static inline uint64_t rw_cpu_cell_step(const struct rw_cuts *cuts, uint32_t f)
{
    const uint64_t n = rw_cpu_n_cells(cuts, f);
    return n % 64 == 0 ? n + RW_CPU_CELLS : n;
}

static inline int64_t *rw_cpu_cells(const struct rw_cpu *cpu, int32_t slot, uint32_t f)
{
    return cpu->pool + (uint64_t)cpu->buffer_of[slot] * cpu->buffer_words +
           cpu->cell_at[f] * (uint64_t)cpu->words.n_words;
}

static inline struct rw_cell rw_cpu_decode(const struct rw_cpu_words *words, const int64_t *w)
{
    struct rw_cell cell;
    if (words->packed) {
        cell.lambda = w[0] >> 32;
        cell.n = (uint32_t)w[0];
    } else {
        cell.lambda = w[0];
        cell.n = (uint64_t)w[1];
    }
    cell.weight = words->newton ? w[words->n_words - 1] : 0;
    return cell;
}

/* Documents to be added to the cells of up to RW_CPU_COLUMNS columns of one group. */
struct rw_cpu_add {
    const uint64_t *codes; /* [n] 8 codes of a byte each, the first the lowest; else: */
    const uint8_t *row;    /* of document 0: codes of two bytes */
    size_t stride;         /* bytes */
    const uint32_t *doc;   /* [n] */
    uint32_t n;
    const int64_t *word; /* [n][n_words] */
    int n_words, bytes;
    uint32_t n_columns;
    uint32_t place[RW_CPU_COLUMNS]; /* in the row */
    int64_t *cell[RW_CPU_COLUMNS];
};
void rw_cpu_add_docs(const struct rw_cpu_add *add);

/* The search for a node's best split, column by column. */
struct rw_cpu_search {
    struct rw_cell all;
    double parent_gain;
    float rough; /* the largest rough score so far (engine_cpu_split.c) */
    struct rw_split best;
};
void rw_cpu_search_start(const struct rw_cpu *cpu, int32_t slot, const struct rw_cell *all,
                         struct rw_cpu_search *search);
/* from: NULL, or cells that are taken from the column's first. */
void rw_cpu_search_column(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          int64_t *cells, const int64_t *from);

int rw_cpu_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);
double rw_cpu_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work);
int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n);
int rw_cpu_best_splits(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out);

#ifdef __cplusplus
}
#endif
#endif
