/* State of the engine for processors; engine_cpu.c loads, keeps scores and divides nodes'
 * documents, engine_cpu_rows.c makes rows of codes, engine_cpu_hist.c divides histograms and splits
 * among the threads and adds up those of many workers, engine_cpu_build.c adds documents to cells,
 * engine_cpu_split.c finds the best cut of a feature. */
#pragma once

#include "tree/engine_host.h"

/* Work (updates, documents) under which a parallel region costs more than it gains; documents for
 * which one more thread is woken up, and which it takes at a time. */
enum { PARALLEL_UPDATES = 65536, PARALLEL_DOCS = 16384, THREAD_DOCS = 4096, WALKED_DOCS = 4096 };

/* Bundles that one pass over documents adds to, their cells in the nearest cache; documents, and
 * passes, whose codes are gathered at once; cells to whose multiples a feature's are filled up, so
 * that vectors never reach another feature; features of a bundle, at most. */
enum {
    RW_CPU_PASS_BUNDLES = 8,
    RW_CPU_DOCS = 1024,
    RW_CPU_PASSES = 32,
    RW_CPU_CELLS = 8,
    RW_CPU_BUNDLE_FEATURES = 8
};
/* 64-bit words of a thread's gathered codes: 8 codes each, a pass's documents adjoined. Eight words
 * more a pass, so that not all of them fall into the same sets of the cache. */
enum { RW_CPU_GATHERED = RW_CPU_DOCS + 8 };
/* Codes of a feature that may share a bundle. */
enum { RW_CPU_SHARED = 64 };
/* Cells of a bundle in a thread's own histogram: equal codes of neighbours must not be a multiple
 * of 4 KiB apart, or processors take them for the same address. `built` holds RW_CPU_PASSES narrow
 * passes, or as many wide ones as have room. */
enum { RW_CPU_NARROW = 256 + RW_CPU_CELLS, RW_CPU_WIDE = RW_MAX_BINS + 2 * RW_CPU_CELLS };
enum { RW_CPU_BUILT = RW_CPU_PASSES * RW_CPU_PASS_BUNDLES * RW_CPU_NARROW };

/* A document's contribution is one 64-bit word, added up as it is while the parts of a sum cannot
 * reach each other, in at most `most_docs` documents:
 *   mart:   lambda * 2^32 + count
 *   newton: lambda * 2^39 + hessian * 2^16 + count (joint)
 * Cells that are kept, or sent to other workers, are joint where the node's can be (newton, of one
 * word), or hold any node, in n_words words:
 *   packed: lambda * 2^32 + count [, hessian]     while count and |lambda| sums stay under 2^31
 *   wide:   lambda, count [, hessian] */
struct rw_cpu_words {
    int n_words, packed, newton;
    uint32_t most_docs;
};
enum { RW_JOINT_COUNT = 16, RW_JOINT_HESSIAN = 23 }; /* bits; a sign and 24 are the lambda's */

static inline int64_t rw_joint_of(int32_t lambda, int32_t hessian)
{
    return lambda * ((int64_t)1 << (RW_JOINT_COUNT + RW_JOINT_HESSIAN)) +
           hessian * ((int64_t)1 << RW_JOINT_COUNT) + 1;
}

static inline int64_t rw_joint_packed(int64_t joint)
{
    return (joint >> (RW_JOINT_COUNT + RW_JOINT_HESSIAN)) * 4294967296 +
           (joint & ((1 << RW_JOINT_COUNT) - 1));
}

static inline int64_t rw_joint_hessian(int64_t joint)
{
    return joint >> RW_JOINT_COUNT & ((1 << RW_JOINT_HESSIAN) - 1);
}

/* The joint word of a packed one and a hessian that it has room for. */
static inline int64_t rw_joint_from(int64_t packed, int64_t hessian)
{
    return (packed >> 32) * ((int64_t)1 << (RW_JOINT_COUNT + RW_JOINT_HESSIAN)) +
           hessian * ((int64_t)1 << RW_JOINT_COUNT) + (uint32_t)packed;
}

/* The joint word of an idle document. */
#define RW_CPU_IDLE ((int64_t)1)

/* Documents whose joint words may be added up. largest: magnitude of a lambda, or hessian. */
static inline uint32_t rw_joint_most(int32_t largest)
{
    const uint32_t most = (1u << RW_JOINT_COUNT) - 1;
    const uint32_t heavy = ((1u << RW_JOINT_HESSIAN) - 1) / (uint32_t)largest;
    return heavy < most ? heavy : most;
}

/* Can cells of so many documents be packed? */
static inline int rw_cpu_is_packed(const struct rw_engine_rules *rules, uint64_t n_docs)
{
    return n_docs * (uint64_t)rw_quantise_limit(rules->bits) < (uint64_t)1 << 31;
}

/* Are a node's cells searched as they were added up, and not as they are kept? */
static inline int rw_cpu_is_joint(const struct rw_cpu_words *words, uint32_t n_docs)
{
    return words->packed && words->newton && n_docs <= words->most_docs;
}

/* The cell that words are, and the words of a cell. */
static inline struct rw_cell rw_cpu_decode(const struct rw_cpu_words *words, const int64_t *w)
{
    const int joint = words->newton && words->n_words == 1;
    const int64_t packed = joint ? rw_joint_packed(*w) : *w;
    struct rw_cell cell = {words->packed ? (uint32_t)packed : (uint64_t)w[1], 0,
                           words->packed ? packed >> 32 : w[0]};
    if (words->newton)
        cell.hess = joint ? rw_joint_hessian(*w) : w[words->n_words - 1];
    return cell;
}

static inline void rw_cpu_encode(const struct rw_cpu_words *words, const struct rw_cell *cell,
                                 int64_t *w)
{
    w[0] = words->packed ? cell->lambda * 4294967296 + (int64_t)cell->n : cell->lambda;
    if (!words->packed)
        w[1] = (int64_t)cell->n;
    if (words->newton && words->n_words == 1)
        w[0] = rw_joint_from(w[0], cell->hess);
    else if (words->newton)
        w[words->n_words - 1] = cell->hess;
}

/* Adds sums of documents' words, [n], to cells as they are kept. */
static inline void rw_cpu_widen(const struct rw_cpu_words *words, const int64_t *sum, uint64_t n,
                                int64_t *cells)
{
    const struct rw_cpu_words w = *words;
    for (uint64_t i = 0; i < n; i++, cells += w.n_words) {
        const int64_t packed = w.newton ? rw_joint_packed(sum[i]) : sum[i];
        cells[0] += w.packed ? packed : packed >> 32;
        if (!w.packed)
            cells[1] += (uint32_t)packed;
        if (w.newton)
            cells[w.n_words - 1] += rw_joint_hessian(sum[i]);
    }
}

/* What has one code in a row: a feature, or a few narrow ones that have few codes together. */
struct rw_cpu_bundle {
    uint32_t n; /* features */
    uint32_t feature[RW_CPU_BUNDLE_FEATURES];
    uint32_t n_codes, frequent; /* codes of the bundle, and the most frequent one */
    uint8_t *code_of;           /* [n][n_codes] each feature's code; NULL: the bundle's. Borrowed */
    uint8_t *made; /* [n_docs] while data is loaded: a shared bundle's codes; NULL: it is none */
};

struct rw_cpu_group { /* bundles whose codes have one width */
    uint32_t n;
    struct rw_cpu_bundle *bundle; /* [n] */
    uint8_t *row;                 /* [n_docs][stride] codes of `bytes` bytes */
    size_t stride;                /* bytes */
    int bytes;                    /* 1 or 2 */
    uint32_t n_active;
    uint32_t *active; /* [n_active] bundles with a feature of this tree's sample */
    /* where documents' active bundles are read: in the rows, or packed */
    struct rw_cpu_view {
        const uint8_t *row;
        size_t stride;
        int in_order; /* active bundle c stands at c; else at active[c] */
    } view;
    uint8_t *packed; /* [n_docs][row of n_packed] active bundles' codes alone; NULL: never */
    uint32_t n_packed;
    uint64_t *mask;       /* [stride / 8] the active codes of a row: scratch */
    uint8_t *shared_code; /* [features][256] codes of features that share a bundle */
};

/* Bundles that documents are added to together. Where most documents have all bundles' frequent
 * codes, they are passed over, and what is left of all goes to these codes' cells (weighted
 * histogramming, section 4.4.2, with eight features instead of one). */
struct rw_cpu_pass {
    const struct rw_cpu_group *group;
    uint32_t first, n; /* of the group's `active` */
    uint64_t frequent; /* the codes as gathered */
    int skips;
    uint32_t step; /* cells of a bundle */
};

static inline const struct rw_cpu_bundle *rw_cpu_bundle_of(const struct rw_cpu_pass *pass,
                                                           uint32_t c)
{
    return &pass->group->bundle[pass->group->active[pass->first + c]];
}

/* Sparse features: the cells that a document adds to, their rest left out. The cell of a feature's
 * frequent code is derived from the node's total (weighted histogramming, section 4.4.2). */
struct rw_cpu_sparse {
    uint32_t n;       /* columns */
    uint32_t *column; /* [n] the engine's feature */
    uint64_t *offset; /* [n_docs + 1] into cell */
    uint32_t *cell;   /* [entries] a document's cells */
};

/* With many workers, each searches some of a tree's features, neighbours, and keeps their cells.
 * Histograms of this worker's documents are made apart, some nodes at a time, then summed over all
 * workers. */
enum { RW_CPU_WORKER_JOBS = 8 };
struct rw_cpu_workers {
    uint32_t *first;       /* [n_workers + 1] features of each worker */
    uint32_t *owner;       /* [n_features] the worker of each, in this tree */
    uint64_t *wire_at;     /* [n_features] first cell in its worker's part of a node */
    uint64_t *kept_at;     /* [n_features] this worker's cells in a histogram that is kept */
    uint64_t *n_cells;     /* [n_workers] with which each worker's part of a node ends */
    uint64_t part_cells;   /* of each worker's part: the longest's */
    uint32_t *all_n;       /* [max_slots] documents of all workers in each node */
    int64_t *sparse;       /* [RW_CPU_WORKER_JOBS][all cells][words] for sparse columns */
    uint64_t sparse_words; /* of one of them */
    int64_t *send, *recv;  /* [n_workers][a call's words], [its words] */
    /* the nodes of a call, in the order of all workers */
    int n_jobs, n_parts;                              /* n_parts: of a node's search */
    const struct rw_sibling *job[RW_CPU_WORKER_JOBS]; /* in rw_cpu.job */
    int index[RW_CPU_WORKER_JOBS];                    /* of each of rw_cpu.job */
    struct rw_cpu_words wire[RW_CPU_WORKER_JOBS];     /* how its cells go over the wire */
    size_t begin[RW_CPU_WORKER_JOBS + 1];             /* words in a part */
};

/* What a thread has built of a node that all threads build. */
struct rw_cpu_own {
    const int64_t *cells; /* NULL: it took no documents */
    int narrow;           /* are the cells? */
    int64_t sum[3];       /* of its documents, as cells are kept */
    int64_t unused[3];    /* fills up a line of the cache: threads write beside one another */
};

/* A range of rw_cpu.doc that one split divides, cut into parts, each of which one thread takes. */
struct rw_cpu_run {
    uint32_t part, parts; /* the first of the call's, by which runs are searched, and how many */
    uint32_t first, n;    /* documents */
    int split;            /* of the call */
    uint32_t n_left;      /* documents, when they were divided */
};
/* Parts of all runs of a call for each thread. */
enum { RW_CPU_PARTS = 4 };

struct rw_cpu {
    struct rw_host host;
    struct rw_cpu_group group[2];
    uint32_t n_passes;
    struct rw_cpu_pass *pass; /* [n_passes] of this tree */
    struct rw_cpu_sparse sparse;
    uint32_t *doc, *doc_scratch; /* [n_docs] documents by node */
    uint32_t *begin, *n;         /* [max_slots] each node's part of `doc`; idle ones aside */
    /* The same of idle documents, whose quantised lambda and hessian are 0: they add to counts
     * alone, and no histogram has them. They are counted where a cut depends on it. */
    uint32_t *idle_begin, *n_idle;
    int64_t *word; /* [n_docs] contributions */
    struct rw_cpu_words words;
    struct rw_cpu_workers *workers; /* NULL: one worker */
    struct rw_cpu_workers many;
    uint64_t *cell_at;      /* [n_features + 1] first cell of each feature in a histogram */
    struct {                /* histograms that are kept */
        const uint64_t *at; /* [n_features] as cell_at: cell_at, or many.kept_at; borrowed */
        int64_t *pool;      /* [n_buffers][n_cells][3] */
        uint64_t buffer_words;
        uint8_t
            *cell_words;    /* [n_buffers] from one kept cell's place to the next one's, at least */
        int joint;          /* are joint cells kept as they are? */
        int32_t *buffer_of; /* [max_slots] -1: none */
        int32_t *free_buffer; /* [n_buffers] stack */
        int32_t n_free, n_buffers;
        uint32_t least; /* documents */
    } kept;
    struct rw_sibling *job;     /* [max_slots] of a call */
    uint32_t *first_task;       /* [max_slots + 1] of each job; [0] is 0 */
    struct rw_cell *total;      /* [max_slots] */
    struct rw_split *best;      /* [max_slots] found while histograms are made */
    struct rw_cpu_run *run;     /* [2 * max_slots] that a call divides */
    uint32_t *part_left;        /* [2 * max_slots + RW_CPU_PARTS * n_threads] scratch of it */
    struct rw_coded_node *node; /* [max_slots] scratch */
    /* of each thread */
    uint64_t *gathered;     /* [n_threads][RW_CPU_PASSES][RW_CPU_GATHERED] codes */
    struct rw_cpu_own *own; /* [n_threads] */
    int64_t *built; /* [n_threads][RW_CPU_BUILT][built_words] cells being made; behind them, words
                       being added up */
    size_t built_words;
};

static inline struct rw_cpu *rw_cpu_of(struct rw_engine *engine)
{
    return (struct rw_cpu *)engine;
}

static inline uint64_t rw_cpu_filled_up(uint32_t n_cells)
{
    return ((uint64_t)n_cells + RW_CPU_CELLS - 1) / RW_CPU_CELLS * RW_CPU_CELLS;
}

/* Cells of a feature, filled up. */
static inline uint64_t rw_cpu_n_cells(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_cpu_filled_up(rw_cuts_n_codes(cuts, f));
}

/* A feature's kept cells; NULL: none are. */
static inline int64_t *rw_cpu_cells(const struct rw_cpu *cpu, int32_t slot, uint32_t f)
{
    if (cpu->kept.buffer_of[slot] < 0)
        return NULL;
    return cpu->kept.pool + (uint64_t)cpu->kept.buffer_of[slot] * cpu->kept.buffer_words +
           cpu->kept.at[f] * cpu->kept.cell_words[cpu->kept.buffer_of[slot]];
}

/* Are a node's cells kept as joint ones? A larger sibling's may be while its parent's are not: they
 * then take up a part of the parent's places. */
static inline int rw_cpu_keeps_joint(const struct rw_cpu *cpu, int32_t slot)
{
    return cpu->kept.joint && rw_cpu_is_joint(&cpu->words, cpu->n[slot]);
}

/* Where sparse columns' cells of a job's smaller node are made: where they are kept, or, of many
 * workers, apart. */
static inline int64_t *rw_cpu_made_cells(const struct rw_cpu *cpu, const struct rw_sibling *job,
                                         uint32_t f)
{
    if (!cpu->workers)
        return rw_cpu_cells(cpu, job->smaller, f);
    return cpu->workers->sparse + (uint64_t)(job - cpu->job) * cpu->workers->sparse_words +
           cpu->cell_at[f] * (uint64_t)cpu->words.n_words;
}

/* The bundles of set 0's features, and their rows (engine_cpu_rows.c): memory, then contents. */
int rw_cpu_allocate_rows(struct rw_cpu *cpu);
int rw_cpu_load_rows(struct rw_cpu *cpu);
/* The passes of a tree, after its features were drawn. */
void rw_cpu_list_passes(struct rw_cpu *cpu);
void rw_cpu_large_pages(void *p, size_t bytes);

/* Threads that pay for so many documents. */
static inline int rw_cpu_threads(const struct rw_cpu *cpu, uint64_t n_docs)
{
    const int n_threads = cpu->host.base.n_threads;
    const uint64_t worth = n_docs / THREAD_DOCS;
    if (n_docs < PARALLEL_DOCS)
        return 1;
    return worth < (uint64_t)n_threads ? (int)worth : n_threads;
}

/* A node's idle documents: adds to count, [RW_MAX_CODES], how many have each code of column f. */
void rw_cpu_count_idle(const struct rw_cpu *cpu, int32_t slot, uint32_t f, uint32_t *count);

/* Where the passes from `from` on end whose cells have room together: a slice. */
uint32_t rw_cpu_slice_end(const struct rw_cpu *cpu, uint32_t from, uint32_t end);
/* A slice's cells of some documents, made by one thread in its part of `built`: added up in narrow
 * cells, a document's word as it is, which go to wide ones, as cells are kept, before a sum's parts
 * could reach each other. Packed words of mart are both. */
struct rw_cpu_building {
    int thread;         /* whose scratch is used */
    uint32_t from, end; /* passes */
    int64_t *narrow, *wide;
    uint32_t n_narrow; /* documents in narrow cells */
    int is_wide;       /* are there others, in wide cells? */
    int64_t sum[3];    /* of all documents, as cells are kept */
};
/* Without documents. [from, end): a slice. */
void rw_cpu_build_start(const struct rw_cpu *cpu, int thread, uint32_t from, uint32_t end,
                        struct rw_cpu_building *b);
void rw_cpu_build_add(const struct rw_cpu *cpu, struct rw_cpu_building *b, const uint32_t *doc,
                      uint32_t n);
/* The cells. narrow: may they be, unless b->is_wide? */
const int64_t *rw_cpu_build_end(const struct rw_cpu *cpu, struct rw_cpu_building *b, int narrow);
/* Do the vectors' integers and floats hold what this tree's cells reach? */
static inline int rw_cpu_searches_packed(const struct rw_cpu *cpu)
{
    return cpu->words.packed && cpu->host.base.split_rule.l2 < 0x1p60;
}

/* A cut whose rough score may be the best, but whose sides may have too few documents: its column's
 * idle documents are counted only if nothing better is found. */
struct rw_cpu_later {
    uint32_t column, bin;
    float score;
    struct rw_cell left, missing;
};
enum { RW_CPU_LATER = 48 };

/* The search for a node's best split, column by column. */
struct rw_cpu_search {
    int joint, from_joint, to_joint; /* are the cells that are given, taken from them, kept? */
    struct rw_cell all;
    double parent_gain;
    float rough;         /* the largest rough score so far (engine_cpu_split.c) */
    int32_t min_hessian; /* least quantised hessian of a side (newton) */
    struct rw_split best;
    uint32_t n_later;
    struct rw_cpu_later later[RW_CPU_LATER]; /* columns together, bins in order */
};
void rw_cpu_search_start(const struct rw_cpu *cpu, int32_t slot, const struct rw_cell *all,
                         struct rw_cpu_search *search);
/* from: NULL, or cells that are taken from the column's first, then a parent's. to: NULL, or where
 * the result is kept, which may be `cells`. */
void rw_cpu_search_column(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          const int64_t *cells, const int64_t *from, int64_t *to);
/* When all columns were searched. */
void rw_cpu_search_end(const struct rw_cpu *cpu, struct rw_cpu_search *search);

/* How a column's cells are searched: packed words; each with its hessian; or both in one, if all
 * are joint. */
enum rw_cpu_cells { RW_CELL_COUNTS, RW_CELL_PAIRS, RW_CELL_JOINT };
enum { RW_CPU_MOST_CELLS = RW_MAX_CODES + RW_CPU_CELLS };

/* A column of a node, packed. */
struct rw_cpu_column {
    const int64_t *cells;            /* [n]; n a multiple of RW_CPU_CELLS */
    const int64_t *from;             /* taken from them first; or NULL */
    int64_t *to;                     /* where the result goes; or NULL */
    int joint, from_joint, to_joint; /* of pairs: are these joint? */
    uint32_t n, n_cuts;
    int64_t missing[2], all[2]; /* the cell of missing values, as it will be; and the node */
    int32_t min_docs, min_hessian;
    int32_t n_idle; /* of the node: documents that are in no cell */
    float l2;
    float direction; /* 1, -1, or 0: the feature has none */
};

/* Sums of cells up to each bin, and rough scores of the cuts behind them. */
struct rw_cpu_scores {
    int64_t left[RW_CPU_MOST_CELLS], hessian[RW_CPU_MOST_CELLS]; /* hessian: of pairs */
    float score[RW_CPU_MOST_CELLS]; /* the better of both sides for missing values */
    /* The largest of those that are surely candidates; -1: there is none. Of columns with a
     * direction, and of nodes with idle documents, only: of others all are. */
    float sure;
};

/* Returns the largest score. */
typedef float rw_cpu_score_fn(const struct rw_cpu_column *column, struct rw_cpu_scores *out,
                              enum rw_cpu_cells kind);
rw_cpu_score_fn rw_cpu_score_plain, rw_cpu_score_avx2, rw_cpu_score_avx512;

int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n);
int rw_cpu_forget(struct rw_engine *engine, const int32_t *slots, int n);
/* Room for at most `max_slots` nodes; which features are whose, when those of a tree were
 * drawn. */
int rw_cpu_allocate_workers(struct rw_cpu *cpu, size_t words);
void rw_cpu_divide_features(struct rw_cpu *cpu, const struct rw_root *root);
