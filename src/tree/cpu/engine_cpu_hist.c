/* Builds histograms and finds splits on processors. engine_cpu.h defines bundles, passes, slices
 * and words. A call's work is a list of jobs: pairs of siblings, or single nodes. A task is a job's
 * work on a range of passes, or on a range of sparse columns. A task on passes builds the smaller
 * sibling's cells in the thread's own memory, stores them if they are kept, and subtracts them from
 * the parent's. It searches both siblings while the cells are in the cache. If a job has much of
 * the work, all threads build it together: first each takes some of the documents, then some of the
 * bundles. Sparse columns and the exchange with other workers have sections of their own. No two
 * tasks write the same cell. */
#include "tree/cpu/engine_cpu.h"

/* ---- tasks ---- */

/* The division of a call's work. All threads together do the first n_shared jobs of cpu->job.
 * cpu->first_task divides the other jobs into ranges of passes. */
struct tasks {
    struct rw_cpu *cpu;
    int n_jobs, n_shared;
    uint32_t n_built;         /* jobs whose sparse columns must be built: all or 0 */
    uint32_t n_sparse_ranges; /* ranges of sparse columns per such job */
};

/* Starts the searches of both siblings. smaller: the smaller one's sums. joint: 1: its cells will
 * be joint. search: [2], the smaller one's first. */
static void start_searches(const struct rw_cpu *cpu, const struct rw_sibling *s,
                           const struct rw_cell *smaller, int joint, struct rw_cpu_search *search)
{
    rw_cpu_search_start(cpu, s->smaller, smaller, &search[0]);
    search[0].joint = joint;
    search[0].to_joint = rw_cpu_keeps_joint(cpu, s->smaller);
    if (s->larger >= 0) {
        const struct rw_cell larger = rw_cell_less(&cpu->total[s->parent], smaller);
        rw_cpu_search_start(cpu, s->larger, &larger, &search[1]);
        search[1].joint = rw_cpu_keeps_joint(cpu, s->parent);
        search[1].from_joint = joint;
        search[1].to_joint = rw_cpu_keeps_joint(cpu, s->larger);
    }
}

/* Searches feature f of both siblings. cells: of the smaller one. They are kept for its children if
 * the node is large enough. The larger one's are then kept in the parent's memory. */
static void search_both(const struct rw_cpu *cpu, const struct rw_sibling *s, uint32_t f,
                        const int64_t *cells, struct rw_cpu_search *search)
{
    int64_t *own = rw_cpu_cells(cpu, s->smaller, f);
    rw_cpu_search_column(cpu, &search[0], f, cells, NULL, own == cells ? NULL : own);
    if (s->larger >= 0)
        rw_cpu_search_column(cpu, &search[1], f, rw_cpu_cells(cpu, s->parent, f), cells,
                             rw_cpu_cells(cpu, s->larger, f));
}

/* Ends a task's searches. Keeps the best split of each sibling if it is better than those of
 * earlier tasks. The tasks of a job have different features. */
static void keep_best(struct rw_cpu *cpu, struct rw_share *share, const struct rw_sibling *s,
                      struct rw_cpu_search *search)
{
    const int n = s->larger >= 0 ? 2 : 1;
    for (int k = 0; k < n; k++)
        rw_cpu_search_end(cpu, &search[k]);
    rw_share_lock(share);
    for (int k = 0; k < n; k++) {
        struct rw_split *best = &cpu->best[search[k].best.slot];
        if (rw_split_is_better(&search[k].best, best))
            *best = search[k].best;
    }
    rw_share_unlock(share);
}

/* Stores the totals of both siblings. smaller: the total of the smaller node, which is known. */
static void keep_totals(struct rw_cpu *cpu, const struct rw_sibling *s,
                        const struct rw_cell *smaller)
{
    cpu->total[s->smaller] = *smaller;
    if (s->larger >= 0)
        cpu->total[s->larger] = rw_cell_less(&cpu->total[s->parent], smaller);
}

/* ---- histograms of many workers ----
 *
 * Each worker adds up the cells of its own documents, for a few nodes at a time. It sends to each
 * worker the cells of the features that this other worker searches. For each node, a message has
 * the smallest layout (struct rw_cpu_words) that can hold the sums over all workers. A worker keeps
 * the sums of its features, subtracts them from the parent's, and searches both. */

/* Returns 1 if cells in this layout are joint. */
static int is_joint(const struct rw_cpu_words *words)
{
    return words->newton && words->n_words == 1;
}

/* ---- memory, and the division of features ---- */

/* For each node, a worker's part of a message begins with the node's total, in a whole vector of
 * cells. */
enum { TOTAL_CELLS = RW_CPU_CELLS };

int rw_cpu_allocate_workers(struct rw_cpu *cpu, size_t words)
{
    enum { WIRE_WORDS = 3 };
    struct rw_host *host = &cpu->host;
    struct rw_cpu_workers *workers = cpu->workers;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    const size_t n_workers = (size_t)rw_n_workers(host->base.ctx), n_features = cuts->n_features;
    uint64_t all = 0, most = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint64_t n = rw_cpu_n_cells(cuts, f);
        all += n;
        most = n > most ? n : most;
    }
    /* a worker has at most one feature more than its share */
    const uint64_t of_worker = all / n_workers + most + 1;
    const size_t room = (size_t)RW_CPU_WORKER_JOBS * (of_worker + TOTAL_CELLS);
    cpu->kept.buffer_words = of_worker * words;
    workers->sparse_words = cpu->sparse.n ? all * words : 0;
    RW_TRY(RW_HOST_NEW(host, workers->first, n_workers + 1));
    RW_TRY(RW_HOST_NEW(host, workers->n_cells, n_workers));
    RW_TRY(RW_HOST_NEW(host, workers->owner, n_features));
    RW_TRY(RW_HOST_NEW(host, workers->wire_at, n_features));
    RW_TRY(RW_HOST_NEW(host, workers->kept_at, n_features));
    RW_TRY(RW_HOST_NEW(host, workers->all_n, host->base.rules.max_slots));
    RW_TRY(RW_HOST_NEW_RAW(host, workers->sparse, RW_CPU_WORKER_JOBS * workers->sparse_words));
    RW_TRY(RW_HOST_NEW_RAW(host, workers->send, n_workers * room * WIRE_WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, workers->recv, room * WIRE_WORDS));
    cpu->kept.at = workers->kept_at;
    return RW_OK;
}

/* Workers get features in order, and about equal numbers of cells. */
void rw_cpu_divide_features(struct rw_cpu *cpu, const struct rw_root *root)
{
    struct rw_cpu_workers *workers = cpu->workers;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const uint32_t n_workers = (uint32_t)rw_n_workers(cpu->host.base.ctx);
    uint64_t all = 0, before = 0;
    uint32_t worker = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        all += cpu->host.feature_sampled[f] ? rw_cpu_n_cells(cuts, f) : 0;
    for (uint32_t r = 0; r < n_workers; r++)
        workers->n_cells[r] = TOTAL_CELLS;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (!cpu->host.feature_sampled[f])
            continue;
        const uint64_t n = rw_cpu_n_cells(cuts, f);
        for (const uint32_t owner = (uint32_t)(before * n_workers / all); worker < owner;)
            workers->first[++worker] = f;
        workers->owner[f] = worker;
        workers->wire_at[f] = workers->n_cells[worker];
        workers->kept_at[f] = workers->n_cells[worker] - TOTAL_CELLS;
        workers->n_cells[worker] += n;
        before += n;
    }
    while (worker < n_workers)
        workers->first[++worker] = cuts->n_features;
    workers->part_cells = 0;
    for (uint32_t r = 0; r < n_workers; r++) {
        if (workers->n_cells[r] > workers->part_cells)
            workers->part_cells = workers->n_cells[r];
    }
    workers->all_n[0] = (uint32_t)root->sum.n;
}

/* ---- sending ---- */

/* Returns the start of the i-th node of the call in a worker's part of the message. */
static int64_t *part_of(const struct rw_cpu_workers *workers, uint32_t worker, int i)
{
    return workers->send + worker * workers->begin[workers->n_jobs] + workers->begin[i];
}

/* Lists the nodes of a call in the order of `siblings`, which is the same on all workers, and their
 * layouts in messages. */
static void begin_workers(struct rw_cpu *cpu, const struct rw_sibling *siblings, int n)
{
    struct rw_cpu_workers *workers = cpu->workers;
    workers->n_jobs = n;
    workers->n_parts = cpu->host.base.n_threads;
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *job = cpu->job;
        while (job->smaller != siblings[i].smaller)
            job++;
        workers->job[i] = job;
        workers->index[job - cpu->job] = i;
        const uint32_t n_docs = workers->all_n[job->smaller];
        struct rw_cpu_words *wire = &workers->wire[i];
        *wire = cpu->words;
        wire->packed = rw_cpu_is_packed(&cpu->host.base.rules, n_docs);
        wire->n_words = rw_cpu_is_joint(wire, n_docs) ? 1 : 2 - wire->packed + wire->newton;
        workers->begin[i + 1] = workers->begin[i] + workers->part_cells * (size_t)wire->n_words;
    }
}

/* Converts n cells from one layout to another. */
static void convert(const struct rw_cpu_words *from, const int64_t *cells, uint64_t n,
                    const struct rw_cpu_words *to, int64_t *out)
{
    const size_t n_words = (size_t)from->n_words;
    if (from->n_words == to->n_words) { /* the number of words identifies the layout */
        memcpy(out, cells, n * n_words * sizeof(*out));
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const struct rw_cell cell = rw_cpu_decode(from, cells + i * n_words);
        rw_cpu_encode(to, &cell, out + i * (size_t)to->n_words);
    }
}

/* Writes feature f's cells of a job's smaller node to the part of the worker that searches f.
 * joint: 1: the cells are joint. */
static void put_column(const struct rw_cpu *cpu, const struct rw_sibling *job, uint32_t f,
                       const int64_t *cells, int joint)
{
    const struct rw_cpu_workers *workers = cpu->workers;
    const int i = workers->index[job - cpu->job];
    const struct rw_cpu_words *wire = &workers->wire[i];
    struct rw_cpu_words own = cpu->words;
    own.n_words = joint ? 1 : own.n_words;
    convert(&own, cells, rw_cpu_n_cells(cpu->host.set[0].bins->cuts, f), wire,
            part_of(workers, workers->owner[f], i) + workers->wire_at[f] * (size_t)wire->n_words);
}

/* ---- receiving ---- */

/* Returns the total of node i over all workers. */
static struct rw_cell received(const struct rw_cpu_workers *workers, int i)
{
    return rw_cpu_decode(&workers->wire[i], workers->recv + workers->begin[i]);
}

/* Returns n received cells of node i, from cell `at` of its part on. The result is joint or in the
 * layout cpu->words. Cells in another layout are converted to cpu->words, in `room`. */
static const int64_t *take(const struct rw_cpu *cpu, int i, uint64_t at, uint64_t n, int64_t *room)
{
    const struct rw_cpu_words *wire = &cpu->workers->wire[i];
    const int64_t *cells =
        cpu->workers->recv + cpu->workers->begin[i] + at * (uint64_t)wire->n_words;
    if (is_joint(wire) || wire->n_words == cpu->words.n_words)
        return cells;
    convert(wire, cells, n, &cpu->words, room);
    return room;
}

/* Searches one of n_parts ranges of this worker's features, in node i and its sibling. */
static void search_part(struct rw_cpu *cpu, struct rw_share *share, int i, uint64_t part)
{
    const struct rw_cpu_workers *workers = cpu->workers;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const int worker = rw_worker(cpu->host.base.ctx);
    const uint64_t first = workers->first[worker], n_features = workers->first[worker + 1] - first;
    const uint64_t n_parts = (uint64_t)workers->n_parts;
    const struct rw_cell total = received(cpu->workers, i);
    int64_t room[RW_CPU_MOST_CELLS * 3];
    struct rw_cpu_search search[2];
    start_searches(cpu, workers->job[i], &total, is_joint(&workers->wire[i]), search);
    for (uint64_t k = n_features * part / n_parts; k < n_features * (part + 1) / n_parts; k++) {
        const uint32_t f = (uint32_t)(first + k);
        if (!cpu->host.feature_sampled[f])
            continue;
        const int64_t *cells = take(cpu, i, workers->wire_at[f], rw_cpu_n_cells(cuts, f), room);
        search_both(cpu, workers->job[i], f, cells, search);
    }
    keep_best(cpu, share, workers->job[i], search);
}

static int search_some(void *user, struct rw_share *share)
{
    struct rw_cpu *cpu = user;
    const uint64_t n_parts = (uint64_t)cpu->workers->n_parts;
    RW_SHARE_EACH(share, k)
        search_part(cpu, share, (int)(k / n_parts), k % n_parts);
    return RW_OK;
}

/* Exchanges the cells of a call with the other workers, and searches this worker's features. */
static int search_workers(struct rw_cpu *cpu)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    struct rw_cpu_workers *workers = cpu->workers;
    const int n = workers->n_jobs;
    for (uint32_t worker = 0; worker < (uint32_t)rw_n_workers(ctx); worker++) {
        for (int i = 0; i < n; i++) { /* the beginning and the end of the worker's part of node i */
            const size_t n_words = (size_t)workers->wire[i].n_words;
            const uint64_t at = workers->n_cells[worker], left = workers->part_cells - at;
            int64_t *to = part_of(workers, worker, i);
            memset(to, 0, TOTAL_CELLS * n_words * sizeof(*to));
            memset(to + at * n_words, 0, left * n_words * sizeof(*to));
            rw_cpu_encode(&workers->wire[i], &cpu->total[workers->job[i]->smaller], to);
        }
    }
    RW_TRY(
        rw_comm_reduce_scatter(ctx, workers->send, workers->recv, workers->begin[n], RW_COMM_U64));
    for (int i = 0; i < n; i++) { /* before a search reads the parent's cells */
        const struct rw_cell total = received(workers, i);
        keep_totals(cpu, workers->job[i], &total);
    }
    return rw_parallel(ctx, cpu->host.base.n_threads, (uint64_t)(n * workers->n_parts), 1,
                       search_some, cpu);
}

/* ---- sparse columns ---- */

/* Adds documents doc: [n] to the cells of sparse columns, of n_words words each. */
static inline __attribute__((always_inline)) void add_sparse_words(const struct rw_cpu *cpu,
                                                                   const uint32_t *doc, uint32_t n,
                                                                   int64_t *cells, int n_words)
{
    const struct rw_cpu_sparse *sparse = &cpu->sparse;
    for (uint32_t i = 0; i < n; i++) {
        int64_t own[3] = {0, 0, 0};
        rw_cpu_widen(&cpu->words, &cpu->word[doc[i]], 1, own);
        for (uint64_t e = sparse->offset[doc[i]]; e < sparse->offset[doc[i] + 1]; e++) {
            int64_t *cell = cells + sparse->cell[e] * (uint64_t)n_words;
            for (int k = 0; k < n_words; k++)
                cell[k] += own[k];
        }
    }
}

/* Builds the cells of all sparse columns of a job's smaller node, except the cells of frequent
 * codes. */
static void build_sparse(const struct rw_cpu *cpu, const struct rw_sibling *job)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const uint32_t n = cpu->n[job->smaller], *doc = cpu->doc + cpu->begin[job->smaller];
    int64_t *cells = rw_cpu_made_cells(cpu, job, 0);
    for (uint32_t c = 0; c < cpu->sparse.n; c++) {
        const uint32_t f = cpu->sparse.column[c];
        memset(rw_cpu_made_cells(cpu, job, f), 0,
               rw_cpu_n_cells(cuts, f) * (size_t)cpu->words.n_words * sizeof(int64_t));
    }
    if (cpu->words.n_words == 1)
        add_sparse_words(cpu, doc, n, cells, 1);
    else if (cpu->words.n_words == 2)
        add_sparse_words(cpu, doc, n, cells, 2);
    else
        add_sparse_words(cpu, doc, n, cells, 3);
}

/* Derives the cell of sparse column f's frequent code: the node's total `sum`, in words, less the
 * other cells. */
static void derive_rest(const struct rw_cpu *cpu, const struct rw_sibling *job, uint32_t f,
                        const int64_t *sum)
{
    const struct rw_bins *bins = cpu->host.set[0].bins;
    const size_t n_words = (size_t)cpu->words.n_words;
    const size_t n = rw_cuts_n_codes(bins->cuts, f) * n_words;
    int64_t *cell = rw_cpu_made_cells(cpu, job, f), *rest = cell + bins->codes[f].rest * n_words;
    int64_t others[3] = {0, 0, 0};
    for (size_t w = 0; w < n; w += n_words) {
        for (size_t k = 0; k < n_words; k++)
            others[k] += cell[w + k];
    }
    for (size_t k = 0; k < n_words; k++)
        rest[k] = sum[k] - others[k];
}

/* ---- tasks on passes ---- */

/* Handles a column's finished cells: searches them and keeps them, or, with many workers, puts them
 * into the message. */
static void finish_column(const struct rw_cpu *cpu, const struct rw_sibling *s, uint32_t f,
                          const int64_t *cells, struct rw_cpu_search *search)
{
    if (cpu->workers)
        put_column(cpu, s, f, cells, search[0].joint);
    else
        search_both(cpu, s, f, cells, search);
}

/* Returns the cells of a bundle's k-th feature: the bundle's own, or their sums by feature code, in
 * `scratch`. */
static const int64_t *cells_of(const struct rw_cpu *cpu, const struct rw_cpu_bundle *bundle,
                               uint32_t k, const int64_t *built, size_t n_words, int64_t *scratch)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    if (!bundle->code_of)
        return built;
    const uint8_t *code_of = bundle->code_of + (size_t)k * bundle->n_codes;
    memset(scratch, 0, rw_cpu_n_cells(cuts, bundle->feature[k]) * n_words * sizeof(int64_t));
    for (uint32_t code = 0; code < bundle->n_codes; code++, built += n_words) {
        int64_t *cell = scratch + code_of[code] * n_words;
        for (size_t w = 0; w < n_words; w++)
            cell[w] += built[w];
    }
    return scratch;
}

/* Handles the finished cells of a bundle's sampled features (finish_column). */
static void finish_bundle(const struct rw_cpu *cpu, const struct rw_sibling *s,
                          const struct rw_cpu_bundle *bundle, const int64_t *built,
                          struct rw_cpu_search *search)
{
    int64_t scratch[RW_CPU_SHARED * 3];
    const size_t n_words = search[0].joint ? 1 : (size_t)cpu->words.n_words;
    for (uint32_t k = 0; k < bundle->n; k++) {
        const uint32_t f = bundle->feature[k];
        if (cpu->host.feature_sampled[f])
            finish_column(cpu, s, f, cells_of(cpu, bundle, k, built, n_words, scratch), search);
    }
}

/* Does a job's task for one of n_ranges ranges of the passes. The first range also stores the
 * siblings' totals. */
static void dense_task(struct rw_cpu *cpu, struct rw_share *share, const struct rw_sibling *s,
                       uint32_t range, uint32_t n_ranges)
{
    const uint64_t passes = cpu->n_passes;
    const uint32_t from = (uint32_t)(passes * range / n_ranges);
    const uint32_t end = (uint32_t)(passes * (range + 1) / n_ranges);
    const uint32_t n = cpu->n[s->smaller], *doc = cpu->doc + cpu->begin[s->smaller];
    const int joint = rw_cpu_is_joint(&cpu->words, n);
    const size_t n_words = joint ? 1 : (size_t)cpu->words.n_words;
    struct rw_cpu_search search[2];
    uint32_t first = from;
    do { /* once, even without a pass */
        const uint32_t last = rw_cpu_slice_end(cpu, first, end);
        struct rw_cpu_building building;
        rw_cpu_build_start(cpu, share->thread, first, last, &building);
        rw_cpu_build_add(cpu, &building, doc, n);
        const int64_t *built = rw_cpu_build_end(cpu, &building, joint);
        if (first == from) {
            const struct rw_cell smaller = rw_cpu_decode(&cpu->words, building.sum);
            start_searches(cpu, s, &smaller, joint, search);
        }
        for (uint32_t p = first; p < last; p++) {
            const struct rw_cpu_pass *pass = &cpu->pass[p];
            for (uint32_t c = 0; c < pass->n; c++)
                finish_bundle(cpu, s, rw_cpu_bundle_of(pass, c), built + c * pass->step * n_words,
                              search);
            built += RW_CPU_PASS_BUNDLES * pass->step * n_words;
        }
        first = last;
    } while (first < end);
    if (range == 0)
        keep_totals(cpu, s, &search[0].all);
    keep_best(cpu, share, s, search);
}

/* A pair that all threads do together. Each thread builds a slice of the passes for the documents
 * that it takes, in its own buffer. The buffers are then merged bundle by bundle. */
struct shared_pair {
    struct rw_cpu *cpu;
    const struct rw_sibling *sibling;
    int n_threads;
    uint32_t first, last;           /* passes of the slice */
    struct rw_cpu_search search[2]; /* initial state for each thread */
};

/* Builds the thread's own cells of the slice, for the documents that it takes. */
static int build_own(void *job, struct rw_share *share)
{
    _Static_assert(sizeof(struct rw_cpu_own) == 64, "a line of the cache");
    const struct shared_pair *pair = job;
    struct rw_cpu *cpu = pair->cpu;
    const uint32_t *doc = cpu->doc + cpu->begin[pair->sibling->smaller];
    struct rw_cpu_building building;
    uint64_t from, end;
    if (!rw_share_next(share, &from, &end))
        return RW_OK;
    rw_cpu_build_start(cpu, share->thread, pair->first, pair->last, &building);
    do
        rw_cpu_build_add(cpu, &building, doc + from, (uint32_t)(end - from));
    while (rw_share_next(share, &from, &end));
    struct rw_cpu_own *own = &cpu->own[share->thread];
    own->cells = rw_cpu_build_end(cpu, &building, 1);
    own->narrow = own->cells != building.wide;
    memcpy(own->sum, building.sum, sizeof(own->sum));
    return RW_OK;
}

/* Adds up n cells, from cell `at` of each thread's buffer on, over all threads. */
static void merge_cells(const struct shared_pair *pair, size_t at, size_t n, int64_t *sum)
{
    const struct rw_cpu *cpu = pair->cpu;
    const int narrow = pair->search[0].joint;
    const size_t n_words = narrow ? 1 : (size_t)cpu->words.n_words;
    memset(sum, 0, n * n_words * sizeof(*sum));
    for (int t = 0; t < pair->n_threads; t++) {
        const struct rw_cpu_own *own = &cpu->own[t];
        if (!own->cells)
            continue;
        if (own->narrow && !narrow) {
            rw_cpu_widen(&cpu->words, own->cells + at, n, sum);
            continue;
        }
        const int64_t *more = own->cells + at * n_words;
        for (size_t w = 0; w < n * n_words; w++)
            sum[w] += more[w];
    }
}

/* Merges the threads' cells of some bundles of the slice, and handles them (finish_bundle). */
static int merge_bundles(void *job, struct rw_share *share)
{
    const struct shared_pair *pair = job;
    struct rw_cpu *cpu = pair->cpu;
    struct rw_cpu_search search[2] = {pair->search[0], pair->search[1]};
    int64_t sum[RW_CPU_WIDE * 3];
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        const uint32_t c = (uint32_t)(i % RW_CPU_PASS_BUNDLES);
        const struct rw_cpu_pass *pass = &cpu->pass[pair->first];
        size_t at = 0;
        for (; pass < &cpu->pass[pair->first + i / RW_CPU_PASS_BUNDLES]; pass++)
            at += RW_CPU_PASS_BUNDLES * pass->step;
        if (c >= pass->n)
            continue;
        const struct rw_cpu_bundle *bundle = rw_cpu_bundle_of(pass, c);
        merge_cells(pair, at + c * pass->step, rw_cpu_filled_up(bundle->n_codes), sum);
        finish_bundle(cpu, pair->sibling, bundle, sum, search);
    }
    keep_best(cpu, share, pair->sibling, search);
    return RW_OK;
}

/* Does a job with all threads together. */
static void run_shared(struct rw_cpu *cpu, const struct rw_sibling *s, int n_threads)
{
    enum { TURNS = 8 };
    struct shared_pair pair = {.cpu = cpu, .sibling = s, .n_threads = n_threads};
    /* Threads take few documents at a time, so that they end together even if a processor does
     * other work. */
    const uint64_t n = cpu->n[s->smaller];
    const uint64_t chunk = n / ((uint64_t)n_threads * TURNS) / RW_CPU_DOCS * RW_CPU_DOCS;
    for (; pair.first < cpu->n_passes; pair.first = pair.last) {
        pair.last = rw_cpu_slice_end(cpu, pair.first, cpu->n_passes);
        for (int t = 0; t < n_threads; t++)
            cpu->own[t].cells = NULL;
        rw_parallel(cpu->host.base.ctx, n_threads, n, chunk ? chunk : RW_CPU_DOCS, build_own,
                    &pair);
        if (pair.first == 0) {
            int64_t sum[3] = {0, 0, 0};
            for (int t = 0; t < n_threads; t++) {
                for (int k = 0; k < cpu->words.n_words && cpu->own[t].cells; k++)
                    sum[k] += cpu->own[t].sum[k];
            }
            const struct rw_cell smaller = rw_cpu_decode(&cpu->words, sum);
            start_searches(cpu, s, &smaller, rw_cpu_is_joint(&cpu->words, cpu->n[s->smaller]),
                           pair.search);
        }
        rw_parallel(cpu->host.base.ctx, n_threads, (pair.last - pair.first) * RW_CPU_PASS_BUNDLES,
                    1, merge_bundles, &pair);
    }
    keep_totals(cpu, s, &pair.search[0].all);
}

/* Searches one range of a job's sparse columns. All their cells exist except the frequent code's,
 * one per column. */
static void sparse_task(const struct tasks *tasks, struct rw_share *share, uint32_t task)
{
    struct rw_cpu *cpu = tasks->cpu;
    const struct rw_sibling *s = &cpu->job[task / tasks->n_sparse_ranges];
    const uint32_t range = task % tasks->n_sparse_ranges;
    const uint64_t n = cpu->sparse.n;
    const uint32_t from = (uint32_t)(n * range / tasks->n_sparse_ranges);
    const uint32_t end = (uint32_t)(n * (range + 1) / tasks->n_sparse_ranges);
    const struct rw_cell *all = &cpu->total[s->smaller];
    struct rw_cpu_search search[2];
    int64_t sum[3];
    rw_cpu_encode(&cpu->words, all, sum);
    start_searches(cpu, s, all, 0, search);
    for (uint32_t c = from; c < end; c++) {
        const uint32_t f = cpu->sparse.column[c];
        if (!cpu->host.feature_sampled[f])
            continue;
        derive_rest(cpu, s, f, sum);
        finish_column(cpu, s, f, rw_cpu_made_cells(cpu, s, f), search);
    }
    keep_best(cpu, share, s, search);
}

/* Builds the sparse columns of jobs, then runs tasks on passes. Building a job's sparse columns
 * cannot be divided among threads, so it comes first. */
static int run_dense(void *job, struct rw_share *share)
{
    const struct tasks *tasks = job;
    struct rw_cpu *cpu = tasks->cpu;
    const uint32_t *first = cpu->first_task;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        if (i < tasks->n_built) {
            build_sparse(cpu, &cpu->job[i]);
            continue;
        }
        const uint32_t task = (uint32_t)i - tasks->n_built;
        const uint32_t at = rw_numbers_under(first, (uint32_t)tasks->n_jobs, task + 1) - 1;
        dense_task(cpu, share, &cpu->job[at], task - first[at], first[at + 1] - first[at]);
    }
    return RW_OK;
}

static int run_sparse(void *job, struct rw_share *share)
{
    for (uint64_t task, end; rw_share_next(share, &task, &end);)
        sparse_task(job, share, (uint32_t)task);
    return RW_OK;
}

/* Orders jobs by the documents of their smaller nodes, most first, and decides how many jobs all
 * threads do together. Each of these is a large part of the work, and large enough that merging
 * costs little compared with building. With more than MOST_ORDERED jobs, keeps the order, and
 * threads do no job together. */
static void order_jobs(struct tasks *tasks, uint64_t docs, int n_threads)
{
    enum { MOST_ORDERED = 64, DOCS_A_THREAD = 1024 };
    const struct rw_cpu *cpu = tasks->cpu;
    const uint64_t threads = (uint64_t)n_threads;
    for (int i = 0; i < tasks->n_jobs && tasks->n_jobs <= MOST_ORDERED; i++) {
        const struct rw_sibling job = cpu->job[i];
        const uint32_t n = cpu->n[job.smaller];
        int at = i;
        for (; at > 0 && cpu->n[cpu->job[at - 1].smaller] < n; at--)
            cpu->job[at] = cpu->job[at - 1];
        cpu->job[at] = job;
        tasks->n_shared += n_threads > 1 && cpu->n_passes > 0 && n >= DOCS_A_THREAD * threads &&
                           n * 2 * threads >= docs;
    }
}

/* Divides the jobs after the first n_shared into ranges of passes, small enough that no thread
 * waits long for a task. Searching a node costs about as much as adding SEARCH documents. */
static void divide_jobs(const struct tasks *tasks, int n_threads)
{
    enum { SEARCH = 1000, TASKS = 3 };
    const struct rw_cpu *cpu = tasks->cpu;
    const uint64_t most = n_threads == 1 || cpu->n_passes == 0 ? 1 : cpu->n_passes;
    uint64_t work = 0;
    for (int i = tasks->n_shared; i < tasks->n_jobs; i++)
        work += cpu->n[cpu->job[i].smaller] + SEARCH;
    for (int i = 0; i < tasks->n_jobs; i++) {
        const uint64_t own = cpu->n[cpu->job[i].smaller] + SEARCH;
        const uint64_t wanted =
            i < tasks->n_shared ? 0 : (own * TASKS * (uint64_t)n_threads + work - 1) / work;
        cpu->first_task[i + 1] = cpu->first_task[i] + (uint32_t)(wanted < most ? wanted : most);
    }
}

/* ---- the calls ---- */

/* Lists the jobs. If the parent's cells were kept, a pair is one job; otherwise each child is a
 * job. */
static int list_jobs(struct rw_cpu *cpu, const struct rw_sibling *siblings, int n)
{
    int n_jobs = 0;
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *s = &siblings[i];
        const int has_parent = s->parent >= 0 && cpu->kept.buffer_of[s->parent] >= 0;
        const int32_t slot[2] = {s->smaller, s->larger};
        for (int k = 0; k < 2; k++) {
            if (slot[k] < 0)
                continue;
            cpu->best[slot[k]] = (struct rw_split){.slot = slot[k], .column = -1};
            if (!has_parent)
                cpu->job[n_jobs++] = (struct rw_sibling){-1, slot[k], -1};
        }
        if (has_parent)
            cpu->job[n_jobs++] = *s;
    }
    return n_jobs;
}

/* Takes free buffers for the cells that are kept. The larger sibling uses the parent's buffer. */
static int take_buffers(struct rw_cpu *cpu, int n_jobs)
{
    for (int i = 0; i < n_jobs; i++) {
        const struct rw_sibling *s = &cpu->job[i];
        if (cpu->n[s->smaller] >= cpu->kept.least) {
            if (cpu->kept.n_free == 0)
                return rw_fail(cpu->host.base.ctx, RW_ERR_INTERNAL, "no histogram buffer is free");
            const int32_t buffer = cpu->kept.free_buffer[--cpu->kept.n_free];
            cpu->kept.buffer_of[s->smaller] = buffer;
            cpu->kept.cell_words[buffer] =
                (uint8_t)(rw_cpu_keeps_joint(cpu, s->smaller) ? 1 : cpu->words.n_words);
        }
        if (s->larger >= 0 && cpu->n[s->larger] >= cpu->kept.least)
            cpu->kept.buffer_of[s->larger] = cpu->kept.buffer_of[s->parent];
    }
    return RW_OK;
}

/* Ends the parents' histograms, and frees their buffers unless the larger sibling uses them. */
static void drop_parents(struct rw_cpu *cpu, int n_jobs)
{
    for (int i = 0; i < n_jobs; i++) {
        const struct rw_sibling *s = &cpu->job[i];
        if (s->parent < 0)
            continue;
        if (s->larger < 0 || cpu->kept.buffer_of[s->larger] < 0)
            cpu->kept.free_buffer[cpu->kept.n_free++] = cpu->kept.buffer_of[s->parent];
        cpu->kept.buffer_of[s->parent] = -1;
    }
}

int rw_cpu_release(struct rw_engine *engine, const int32_t *slots, int n)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    for (int i = 0; i < n; i++) {
        int32_t *buffer = &cpu->kept.buffer_of[slots[i]];
        if (*buffer >= 0)
            cpu->kept.free_buffer[cpu->kept.n_free++] = *buffer;
        *buffer = -1;
    }
    return RW_OK;
}

static int make_histograms(struct rw_engine *engine, const struct rw_sibling *siblings,
                           int n_siblings)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    uint64_t docs = 0;
    const int n = list_jobs(cpu, siblings, n_siblings);
    RW_TRY(take_buffers(cpu, n));
    for (int i = 0; i < n; i++)
        docs += cpu->n[cpu->job[i].smaller];
    const uint64_t updates = docs * (cpu->group[0].n_active + cpu->group[1].n_active);
    const uint64_t cells = (uint64_t)n * cpu->cell_at[engine->info.n_features];
    const int n_threads = updates + 2 * cells >= PARALLEL_UPDATES ? engine->n_threads : 1;
    const uint32_t wanted = (uint32_t)((2 * n_threads + n - 1) / n);
    const uint32_t sparse = cpu->sparse.n / RW_CPU_PASS_BUNDLES;
    struct tasks tasks = {.cpu = cpu,
                          .n_jobs = n,
                          .n_built = cpu->sparse.n ? (uint32_t)n : 0,
                          .n_sparse_ranges = sparse <= 1 || n_threads == 1 ? 1
                                             : wanted < sparse             ? wanted
                                                                           : sparse};
    order_jobs(&tasks, docs, n_threads);
    divide_jobs(&tasks, n_threads);
    if (cpu->workers)
        begin_workers(cpu, siblings, n_siblings);
    for (int i = 0; i < tasks.n_shared; i++)
        run_shared(cpu, &cpu->job[i], n_threads);
    rw_parallel(engine->ctx, n_threads, tasks.n_built + cpu->first_task[n], 1, run_dense, &tasks);
    rw_parallel(engine->ctx, n_threads, tasks.n_built * tasks.n_sparse_ranges, 1, run_sparse,
                &tasks);
    if (cpu->workers)
        RW_TRY(search_workers(cpu));
    drop_parents(cpu, n);
    return RW_OK;
}

int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n_siblings)
{
    const int at_once = rw_cpu_of(engine)->workers ? RW_CPU_WORKER_JOBS : n_siblings;
    for (int at = 0; at < n_siblings; at += at_once) {
        const int left = n_siblings - at;
        RW_TRY(make_histograms(engine, siblings + at, left < at_once ? left : at_once));
    }
    return RW_OK;
}
