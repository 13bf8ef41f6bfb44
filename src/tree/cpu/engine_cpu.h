/* State of the engine for processors. The file engine_cpu.c loads data, keeps scores and divides
 * the documents of nodes. The file engine_cpu_rows.c makes rows of codes: a row has the codes of
 * one document. The file engine_cpu_hist.c divides the work on histograms and splits among threads
 * and workers, and adds up the histograms of workers. Documents are added to histogram cells in
 * engine_cpu_build.c. The best split of a feature is found in engine_cpu_split.c, with the scores
 * of engine_cpu_cut_tmpl.c. The file engine_cpu_level.c finds the splits of symmetric trees, from
 * kept histograms.
 *
 * A bundle is a feature, or a few features with a common code. Its frequent code is the one that
 * most documents of a sample have. A pass adds documents to the cells of a few bundles, and a slice
 * is a range of passes whose cells fit a thread's memory. A sparse feature stores no entries for
 * its most frequent code (struct rw_codes). An idle document is one whose quantised lambda and
 * hessian are both 0. A kept histogram stays in memory, so that a child's can be subtracted from
 * it. */
#pragma once

#include "tree/engine_host.h"

/* Thresholds in units of work. A parallel region costs more than it gains below PARALLEL_UPDATES
 * histogram updates, below PARALLEL_DOCS documents, or, if each document walks down a tree, below
 * WALKED_DOCS documents. A thread saves time if it gets THREAD_DOCS documents or more. */
enum { PARALLEL_UPDATES = 65536, PARALLEL_DOCS = 16384, THREAD_DOCS = 4096, WALKED_DOCS = 4096 };

/* Sizes. RW_CPU_PASS_BUNDLES: largest number of bundles of a pass; their cells fit the first-level
 * cache. RW_CPU_DOCS, RW_CPU_PASSES: largest numbers of documents and passes whose codes are
 * gathered at once. RW_CPU_CELLS: a feature's cells are rounded up to a multiple of this, so that
 * vectors never reach the next feature. RW_CPU_BUNDLE_FEATURES: largest number of features of a
 * bundle. */
enum {
    RW_CPU_PASS_BUNDLES = 8,
    RW_CPU_DOCS = 1024,
    RW_CPU_PASSES = 32,
    RW_CPU_CELLS = 8,
    RW_CPU_BUNDLE_FEATURES = 8
};
/* 64-bit words of a pass in a thread's gathered codes. Each word has the 8 codes of one document,
 * and the documents of a pass follow one another. Eight more words keep passes from falling into
 * the same sets of the cache. */
enum { RW_CPU_GATHERED = RW_CPU_DOCS + 8 };
/* The largest number of codes of a feature that may share a bundle. */
enum { RW_CPU_SHARED = 64 };
/* Cells of a bundle in a thread's own histogram. RW_CPU_NARROW: the bundle's codes have one byte;
 * RW_CPU_WIDE: two. The distance between equal codes of neighbouring bundles must not be a multiple
 * of 4 KiB, or processors take them for the same address. RW_CPU_BUILT: cells of a slice, which has
 * RW_CPU_PASSES passes of one-byte codes, or fewer of two-byte codes. */
enum { RW_CPU_NARROW = 256 + RW_CPU_CELLS, RW_CPU_WIDE = RW_MAX_BINS + 2 * RW_CPU_CELLS };
enum { RW_CPU_BUILT = RW_CPU_PASSES * RW_CPU_PASS_BUNDLES * RW_CPU_NARROW };

/* The layout of words. A document's contribution is one 64-bit word. The parts of a sum of words
 * cannot overflow into each other for up to `most_docs` documents.
 *
 *   mart:    lambda * 2^32 + count.
 *   newton:  lambda * 2^39 + hessian * 2^16 + count (joint).
 *
 * Cells that are sent to other workers are joint if the node's cells can be (rw_cpu_is_joint). With
 * one worker and without sparse features, kept cells are joint under the same condition. A struct
 * for joint cells has newton = 1 and n_words = 1. Other cells have n_words words, as in
 * rw_cpu.words:
 *
 *   packed:  lambda * 2^32 + count [, hessian]   while sums of counts and |lambda| are under 2^31.
 *   wide:    lambda, count [, hessian]           for any node. */
struct rw_cpu_words {
    int n_words, packed, newton; /* packed: 1: packed or joint, 0: wide; newton: 1: with hessians */
    uint32_t most_docs;
};
enum {
    RW_JOINT_COUNT = 16,
    RW_JOINT_HESSIAN = 23
}; /* bits; the lambda has the other 24 and a sign */

/* Returns the joint word of a document. */
static inline int64_t rw_joint_of(int32_t lambda, int32_t hessian)
{
    return lambda * ((int64_t)1 << (RW_JOINT_COUNT + RW_JOINT_HESSIAN)) +
           hessian * ((int64_t)1 << RW_JOINT_COUNT) + 1;
}

/* Returns the packed word, lambda * 2^32 + count, of a joint word. */
static inline int64_t rw_joint_packed(int64_t joint)
{
    return (joint >> (RW_JOINT_COUNT + RW_JOINT_HESSIAN)) * 4294967296 +
           (joint & ((1 << RW_JOINT_COUNT) - 1));
}

/* Returns the hessian of a joint word. */
static inline int64_t rw_joint_hessian(int64_t joint)
{
    return joint >> RW_JOINT_COUNT & ((1 << RW_JOINT_HESSIAN) - 1);
}

/* Returns the joint word of a packed word and a hessian. The hessian must fit. */
static inline int64_t rw_joint_from(int64_t packed, int64_t hessian)
{
    return (packed >> 32) * ((int64_t)1 << (RW_JOINT_COUNT + RW_JOINT_HESSIAN)) +
           hessian * ((int64_t)1 << RW_JOINT_COUNT) + (uint32_t)packed;
}

/* The word of an idle document: one whose quantised lambda and hessian are 0. */
#define RW_CPU_IDLE ((int64_t)1)

/* Returns the number of documents whose joint words may be added up. largest: the largest magnitude
 * of a lambda or hessian. */
static inline uint32_t rw_joint_most(int32_t largest)
{
    const uint32_t most = (1u << RW_JOINT_COUNT) - 1;
    const uint32_t heavy = ((1u << RW_JOINT_HESSIAN) - 1) / (uint32_t)largest;
    return heavy < most ? heavy : most;
}

/* Returns 1 if cells of n_docs documents can be packed. */
static inline int rw_cpu_is_packed(const struct rw_engine_rules *rules, uint64_t n_docs)
{
    return n_docs * (uint64_t)rw_quantise_limit(rules->bits) < (uint64_t)1 << 31;
}

/* Returns 1 if the cells built for a node of n_docs documents stay joint, as documents' words are.
 * 0: they are converted to the layout `words`. */
static inline int rw_cpu_is_joint(const struct rw_cpu_words *words, uint32_t n_docs)
{
    return words->packed && words->newton && n_docs <= words->most_docs;
}

/* Converts the words of one cell, in any layout, to a struct rw_cell. */
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

/* Converts a struct rw_cell to the words of a cell. */
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

/* Adds sum: [n], sums of documents' words, to n cells in the layout `words`, which is not joint. */
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

/* A bundle has one code in each row. It holds one feature, or a few features that have few codes
 * together (a shared bundle). */
struct rw_cpu_bundle {
    uint32_t n;                               /* number of features */
    uint32_t feature[RW_CPU_BUNDLE_FEATURES]; /* [n] the engine's features */
    /* n_codes: number of codes of the bundle. frequent: the most frequent of them in a sample of
     * the documents; only for codes of one byte. */
    uint32_t n_codes, frequent;
    /* [n][n_codes] each feature's code for each code of the bundle; NULL: the two are equal.
     * Borrowed. */
    uint8_t *code_of;
    /* [n_docs] while data is loaded: the codes of a shared bundle; NULL: the bundle is not
     * shared. */
    uint8_t *made;
};

struct rw_cpu_group { /* bundles whose codes have the same width */
    uint32_t n;
    struct rw_cpu_bundle *bundle; /* [n] */
    uint8_t *row;                 /* [n_docs][stride] codes of `bytes` bytes */
    size_t stride;                /* bytes per row */
    int bytes;                    /* per code: 1 or 2 */
    uint32_t n_active;
    uint32_t *active; /* [n_active] bundles with a sampled feature */
    /* For codes of one byte: where the active bundles of documents are read: in the rows, or in
     * packed copies of them. */
    struct rw_cpu_view {
        const uint8_t *row;
        size_t stride;
        int in_order; /* 1: active bundle c is at index c; 0: at active[c] */
    } view;
    /* Rows with the codes of active bundles only. There is room for n_packed bundles per document;
     * rows are not packed if more are active. NULL: never packed. */
    uint8_t *packed;
    uint32_t n_packed;
    uint64_t *mask;       /* [stride / 8] the active codes of a row: scratch */
    uint8_t *shared_code; /* [features][256] memory of the bundles' `code_of` */
};

/* Bundles to which documents are added together. If enough documents have the frequent codes of all
 * these bundles (`worth` in engine_cpu_rows.c), those documents are left out. Their words are added
 * up, and the sum is added to the cells of the frequent codes (Xu et al., "Efficient weighted
 * histogramming on GPUs with CUDA", section 4.4.2, with eight features instead of one). */
struct rw_cpu_pass {
    const struct rw_cpu_group *group;
    uint32_t first, n; /* the bundles: range [first, first + n) of the group's `active` */
    uint64_t frequent; /* the frequent codes, in the layout of gathered codes */
    int skips;         /* 1: documents with the frequent codes are left out */
    uint32_t step;     /* cells per bundle */
};

/* Returns bundle c of a pass. */
static inline const struct rw_cpu_bundle *rw_cpu_bundle_of(const struct rw_cpu_pass *pass,
                                                           uint32_t c)
{
    return &pass->group->bundle[pass->group->active[pass->first + c]];
}

/* The list of sparse features, which are not in rows. For each document, `cell` has the cells to
 * which the document is added, without those of most frequent codes. The cell of a feature's most
 * frequent code is derived from the node's total (section 4.4.2 of the paper of Xu et al.). */
struct rw_cpu_sparse {
    uint32_t n;       /* number of features; 0: all features are in rows */
    uint32_t *column; /* [n] the engine's features */
    uint64_t *offset; /* [n_docs + 1] index in `cell` of each document's first one */
    uint32_t *cell;   /* [offset[n_docs]] indices of cells in a histogram */
};

/* Many workers. Each worker searches a contiguous range of the tree's sampled features and keeps
 * their cells. Each builds histograms of its own documents for at most RW_CPU_WORKER_JOBS nodes at
 * a time, in separate memory; they are then summed over all workers. A message has a part for each
 * worker: for each node, the node's total and the cells of the worker's features. */
enum { RW_CPU_WORKER_JOBS = 8 };
struct rw_cpu_workers {
    uint32_t *first;       /* [n_workers + 1] first feature of each worker */
    uint32_t *owner;       /* [n_features] the worker of each feature, in this tree */
    uint64_t *wire_at;     /* [n_features] first cell in a node's cells of its worker's part */
    uint64_t *kept_at;     /* [n_features] first cell in a kept histogram of its worker */
    uint64_t *n_cells;     /* [n_workers] cells of a node in each worker's part */
    uint64_t part_cells;   /* the largest of n_cells, which every part has room for */
    uint32_t *all_n;       /* [max_slots] documents of each node, over all workers */
    int64_t *sparse;       /* [RW_CPU_WORKER_JOBS][sparse_words] cells of sparse columns */
    uint64_t sparse_words; /* words of all cells of a node */
    /* send: [n_workers][words of a part] the message. recv: [words of a part] the sum of the parts
     * that all workers have for this one. */
    int64_t *send, *recv;
    /* The n_jobs nodes of a call, in the same order on all workers. n_parts: number of ranges of
     * features into which threads divide the search of a node. */
    int n_jobs, n_parts;
    const struct rw_sibling *job[RW_CPU_WORKER_JOBS]; /* pointers into rw_cpu.job */
    int index[RW_CPU_WORKER_JOBS]; /* by index in rw_cpu.job: index of the node in `job` */
    struct rw_cpu_words wire[RW_CPU_WORKER_JOBS]; /* layout of each node's cells in messages */
    size_t begin[RW_CPU_WORKER_JOBS + 1];         /* first word of each node in a part; the end */
};

/* The cells that one thread has built of a node that all threads build together. */
struct rw_cpu_own {
    const int64_t *cells; /* NULL: the thread took no documents */
    int narrow;           /* 1: the cells are narrow (struct rw_cpu_building) */
    int64_t sum[3];       /* sum of its documents, in the layout rw_cpu.words */
    /* Fills up a cache line, so that threads write to different lines. */
    int64_t unused[3];
};

/* A range of rw_cpu.doc that one split divides. It is cut into parts, and one thread takes each
 * part. */
struct rw_cpu_run {
    /* part: index of the range's first part among the parts of the call. parts: number of the
     * range's parts. The range of a part is found by searching `part` of all ranges. */
    uint32_t part, parts;
    uint32_t first, n; /* documents */
    int split;         /* index of the split in the call */
    uint32_t n_left;   /* documents that went left, once divided */
};
/* Parts per thread, over all ranges of a call. */
enum { RW_CPU_PARTS = 4 };

struct rw_cpu {
    struct rw_host host;
    struct rw_cpu_group group[2];
    uint32_t n_passes;
    struct rw_cpu_pass *pass; /* [n_passes] passes of this tree */
    struct rw_cpu_sparse sparse;
    uint32_t *doc, *doc_scratch; /* [n_docs] both. doc: documents, grouped by node */
    /* [max_slots] both. Each node's range of `doc`, without idle documents if these have separate
     * ranges. begin: its first index. n: number of documents. */
    uint32_t *begin, *n;
    /* [max_slots] both. Each node's range of idle documents, if many documents are idle; else
     * empty. idle_begin: first index in `doc`. n_idle: number of documents. Idle documents add to
     * counts only, so histograms leave them out. A search counts them if a split depends on their
     * number. */
    uint32_t *idle_begin, *n_idle;
    int64_t *word; /* [n_docs] contribution of each document */
    struct rw_cpu_words words;
    struct rw_cpu_workers *workers; /* &many; NULL: there is one worker */
    struct rw_cpu_workers many;
    uint64_t *cell_at; /* [n_features + 1] first cell of each feature in a histogram */
    struct {           /* kept histograms */
        const uint64_t
            *at; /* [n_features] first cell of each feature: cell_at or workers.kept_at; borrowed */
        int64_t *pool; /* [n_buffers][buffer_words] */
        uint64_t buffer_words;
        /* [n_buffers] words per cell for which columns have room; joint cells may use fewer. */
        uint8_t *cell_words;
        int joint;            /* 1: joint cells are kept as they are */
        int32_t *buffer_of;   /* [max_slots] buffer of each slot; -1: its histogram is not kept */
        int32_t *free_buffer; /* [n_buffers] stack of free buffers */
        int32_t n_free, n_buffers;
        uint32_t least; /* documents of the smallest node that is kept */
    } kept;
    /* [max_slots] jobs of a call of `histograms`: an item of the call, if its parent's histogram is
     * kept; else one node (parent = larger = -1) */
    struct rw_sibling *job;
    uint32_t *first_task;   /* [max_slots + 1] first task of each job; [0] is 0 */
    struct rw_cell *total;  /* [max_slots] total of each node */
    struct rw_split *best;  /* [max_slots] best splits, found while histograms are made */
    struct rw_cpu_run *run; /* [2 * max_slots] ranges that a call divides */
    uint32_t *part_left;    /* [2 * max_slots + RW_CPU_PARTS * n_threads] scratch: documents of each
                               part that go left */
    struct rw_coded_node *node; /* [max_slots] scratch */
    /* Scratch of each thread. */
    uint64_t *gathered;     /* [n_threads][RW_CPU_PASSES][RW_CPU_GATHERED] codes */
    struct rw_cpu_own *own; /* [n_threads] */
    /* [n_threads][RW_CPU_BUILT][built_words] of each thread: wide cells, followed by narrow ones
     * (struct rw_cpu_building). */
    int64_t *built;
    size_t built_words;
};

static inline struct rw_cpu *rw_cpu_of(struct rw_engine *engine)
{
    return (struct rw_cpu *)engine;
}

/* Rounds a number of cells up to whole vectors. */
static inline uint64_t rw_cpu_filled_up(uint32_t n_cells)
{
    return ((uint64_t)n_cells + RW_CPU_CELLS - 1) / RW_CPU_CELLS * RW_CPU_CELLS;
}

/* Returns the number of cells of a feature, rounded up to whole vectors. */
static inline uint64_t rw_cpu_n_cells(const struct rw_cuts *cuts, uint32_t f)
{
    return rw_cpu_filled_up(rw_cuts_n_codes(cuts, f));
}

/* Returns a feature's kept cells, or NULL if the slot keeps no histogram. */
static inline int64_t *rw_cpu_cells(const struct rw_cpu *cpu, int32_t slot, uint32_t f)
{
    if (cpu->kept.buffer_of[slot] < 0)
        return NULL;
    return cpu->kept.pool + (uint64_t)cpu->kept.buffer_of[slot] * cpu->kept.buffer_words +
           cpu->kept.at[f] * cpu->kept.cell_words[cpu->kept.buffer_of[slot]];
}

/* Returns 1 if a node's cells are kept in the joint layout. A larger sibling's may be joint while
 * its parent's are not; they then use a part of the parent's memory. */
static inline int rw_cpu_keeps_joint(const struct rw_cpu *cpu, int32_t slot)
{
    return cpu->kept.joint && rw_cpu_is_joint(&cpu->words, cpu->n[slot]);
}

/* Returns where the cells of sparse feature f of a job's smaller node are made. That is where they
 * are kept, or, with many workers, separate memory. */
static inline int64_t *rw_cpu_made_cells(const struct rw_cpu *cpu, const struct rw_sibling *job,
                                         uint32_t f)
{
    if (!cpu->workers)
        return rw_cpu_cells(cpu, job->smaller, f);
    return cpu->workers->sparse + (uint64_t)(job - cpu->job) * cpu->workers->sparse_words +
           cpu->cell_at[f] * (uint64_t)cpu->words.n_words;
}

/* Make the bundles of set 0's features and their rows (engine_cpu_rows.c). The first function
 * allocates the memory, and the second one fills it. */
int rw_cpu_allocate_rows(struct rw_cpu *cpu);
int rw_cpu_load_rows(struct rw_cpu *cpu);
/* Lists the passes of a tree, after its features were sampled. */
void rw_cpu_list_passes(struct rw_cpu *cpu);
/* Asks the system for large pages for an array. */
void rw_cpu_large_pages(void *p, size_t bytes);

/* Returns the number of threads that are worth starting for n_docs documents. */
static inline int rw_cpu_threads(const struct rw_cpu *cpu, uint64_t n_docs)
{
    const int n_threads = cpu->host.base.n_threads;
    const uint64_t worth = n_docs / THREAD_DOCS;
    if (n_docs < PARALLEL_DOCS)
        return 1;
    return worth < (uint64_t)n_threads ? (int)worth : n_threads;
}

/* Counts a node's idle documents by their code in column f. Adds to count: [RW_MAX_CODES]. */
void rw_cpu_count_idle(const struct rw_cpu *cpu, int32_t slot, uint32_t f, uint32_t *count);

/* Returns the end of the slice that begins at pass `from`: as many passes before `end` as fit a
 * thread's memory together. */
uint32_t rw_cpu_slice_end(const struct rw_cpu *cpu, uint32_t from, uint32_t end);
/* The cells of a slice that one thread builds for some documents, in its part of `built`. The
 * thread adds documents' words to narrow cells, of one word each. Before a sum could overflow, it
 * moves them to wide cells, which have the layout rw_cpu.words. For packed words of mart, narrow
 * and wide cells are the same. */
struct rw_cpu_building {
    int thread;         /* index of the thread whose scratch is used */
    uint32_t from, end; /* passes */
    int64_t *narrow, *wide;
    uint32_t n_narrow; /* documents in the narrow cells */
    int is_wide;       /* 1: wide cells hold the documents added before those */
    int64_t sum[3];    /* sum of all documents, in the layout rw_cpu.words */
};
/* Starts the cells of passes [from, end), without documents. */
void rw_cpu_build_start(const struct rw_cpu *cpu, int thread, uint32_t from, uint32_t end,
                        struct rw_cpu_building *b);
/* Adds documents doc: [n] to the cells. */
void rw_cpu_build_add(const struct rw_cpu *cpu, struct rw_cpu_building *b, const uint32_t *doc,
                      uint32_t n);
/* Returns the cells. narrow: 1: returns narrow cells unless b->is_wide. 0: returns wide cells. */
const int64_t *rw_cpu_build_end(const struct rw_cpu *cpu, struct rw_cpu_building *b, int narrow);
/* Returns 1 if the integers and floats of vectors can hold the values of this tree's cells. Only in
 * this case are splits scored roughly (engine_cpu_split.c). */
static inline int rw_cpu_searches_packed(const struct rw_cpu *cpu)
{
    return cpu->words.packed && cpu->host.base.split_rule.l2 < 0x1p60 &&
           cpu->host.base.rules.split.gain_noise == 0.0;
}

/* A postponed split: its rough score may be the best, but it depends on idle documents whether its
 * sides have enough documents, or where missing values go. The idle documents of its column are
 * counted only if no better split is found. */
struct rw_cpu_later {
    uint32_t column, bin;
    float score;
    struct rw_cell left, missing; /* sums without idle documents; left: without missing values */
};
/* The largest number of postponed splits of a search. */
enum { RW_CPU_LATER = 48 };

/* The search for a node's best split, column by column. */
struct rw_cpu_search {
    /* 1: the cells are joint. joint: `cells` of rw_cpu_search_column. from_joint: `from`. to_joint:
     * `to`. */
    int joint, from_joint, to_joint;
    struct rw_cell all; /* the node's sums */
    double parent_gain; /* rw_side_gain of `all` */
    /* The largest rough score so far of splits that are certainly candidates (engine_cpu_split.c),
     * less the feature's cost if features have costs. */
    float rough;
    int32_t min_hessian; /* smallest quantised hessian that a side may have (newton) */
    struct rw_split best;
    uint32_t n_later;
    /* [n_later] postponed splits. Those of one column follow each other, in the order of bins. */
    struct rw_cpu_later later[RW_CPU_LATER];
};
void rw_cpu_search_start(const struct rw_cpu *cpu, int32_t slot, const struct rw_cell *all,
                         struct rw_cpu_search *search);
/* Searches one column and updates search->best. from: cells to subtract from `cells` first, which
 * are then a parent's; NULL: nothing is subtracted. to: where the resulting cells are kept, which
 * may be `cells`; NULL: they are not kept. */
void rw_cpu_search_column(const struct rw_cpu *cpu, struct rw_cpu_search *search, uint32_t f,
                          const int64_t *cells, const int64_t *from, int64_t *to);
/* Ends a search, after all columns: tries the postponed splits that may be the best. */
void rw_cpu_search_end(const struct rw_cpu *cpu, struct rw_cpu_search *search);

/* The layout of a column's cells in a search. RW_CELL_COUNTS: packed words (mart). RW_CELL_PAIRS:
 * packed words, each with its hessian (newton). RW_CELL_JOINT: joint words, if the cells of the
 * input, those to subtract and those to keep are all joint. */
enum rw_cpu_cells { RW_CELL_COUNTS, RW_CELL_PAIRS, RW_CELL_JOINT };
enum { RW_CPU_MOST_CELLS = RW_MAX_CODES + RW_CPU_CELLS };

/* A column of a node, whose splits are scored. */
struct rw_cpu_column {
    const int64_t *cells; /* [n]; n a multiple of RW_CPU_CELLS */
    const int64_t *from;  /* subtracted from `cells` first; or NULL */
    int64_t *to;          /* where the result is written; or NULL */
    /* RW_CELL_PAIRS: 1: `cells`, `from` or `to` has joint words. */
    int joint, from_joint, to_joint;
    uint32_t n, n_cuts; /* n_cuts: number of thresholds */
    /* [0] is a word, and [1] its hessian for RW_CELL_PAIRS. missing: the cell of missing values
     * after subtraction. all: the node's sums. */
    int64_t missing[2], all[2];
    int32_t min_docs, min_hessian;
    int32_t n_idle; /* the node's idle documents, which are in no cell */
    float l2;
    float direction; /* monotone constraint: 1, -1, or 0 */
};

/* Sums of cells up to each bin, and rough scores of the thresholds above the bins. */
struct rw_cpu_scores {
    /* left: words. hessian: their hessians, for RW_CELL_PAIRS only. */
    int64_t left[RW_CPU_MOST_CELLS], hessian[RW_CPU_MOST_CELLS];
    float score[RW_CPU_MOST_CELLS]; /* the better score with missing values left or right */
    /* The largest score of the splits that are certainly candidates; -1: no such split. Used only
     * for columns with a monotone constraint and for nodes with idle documents. Elsewhere all
     * splits are certain. */
    float sure;
};

/* Scores the splits of a column. Returns the largest score, or -1 if no split is possible. */
typedef float rw_cpu_score_fn(const struct rw_cpu_column *column, struct rw_cpu_scores *out,
                              enum rw_cpu_cells kind);
rw_cpu_score_fn rw_cpu_score_plain, rw_cpu_score_avx2, rw_cpu_score_avx512;

/* best_splits for symmetric trees (engine_cpu_level.c). */
int rw_cpu_best_level(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out);
int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n);
int rw_cpu_release(struct rw_engine *engine, const int32_t *slots, int n);
/* Allocates the memory for exchange with other workers. words: the most words per kept cell. */
int rw_cpu_allocate_workers(struct rw_cpu *cpu, size_t words);
/* Divides a tree's sampled features among workers. */
void rw_cpu_divide_features(struct rw_cpu *cpu, const struct rw_root *root);
