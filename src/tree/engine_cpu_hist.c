/* Histograms and splits of the engine for processors. The work of a call is a list of tasks, one
 * for each (pair of siblings, range of passes): it builds the smaller sibling's cells in the
 * thread's own memory, puts them where they stay, takes them from the parent's, and searches both
 * while they are near. A pair with much of the work is done by all threads together: a part of its
 * documents each, then some of the passes each. No two tasks write the same cell. */
#include <omp.h>

#include "tree/engine_cpu.h"

/* ---- tasks ---- */

/* How a call's work is divided. */
enum { MOST_ORDERED = 64 };
struct division {
    const struct rw_sibling *siblings;
    int n_siblings;
    uint32_t n_ranges, n_sparse_ranges; /* of each pair of siblings */
    uint8_t order[MOST_ORDERED];        /* of few pairs: those with most documents first */
    int n_shared;                       /* of the first ones, done by all threads together */
};

static const struct rw_sibling *sibling_at(const struct division *division, uint32_t at)
{
    return &division->siblings[division->n_siblings <= MOST_ORDERED ? division->order[at] : at];
}

static struct rw_cell difference(const struct rw_cell *whole, const struct rw_cell *part)
{
    return (struct rw_cell){whole->n - part->n, whole->weight - part->weight,
                            whole->lambda - part->lambda};
}

/* Searches of both siblings. joint: the cells will be joint ones. */
static void start_searches(const struct rw_cpu *cpu, const struct rw_sibling *s,
                           const struct rw_cell *smaller, int joint, struct rw_cpu_search *search)
{
    rw_cpu_search_start(cpu, s->smaller, smaller, &search[0]);
    search[0].joint = joint;
    if (s->larger >= 0) {
        const struct rw_cell larger = difference(&cpu->total[s->parent], smaller);
        rw_cpu_search_start(cpu, s->larger, &larger, &search[1]);
        search[1].joint = joint;
    }
}

/* cells: the smaller one's; kept for its children, if that is worth it, as are those of the larger
 * one, which take the parent's place. */
static void search_both(const struct rw_cpu *cpu, const struct rw_sibling *s, uint32_t f,
                        const int64_t *cells, struct rw_cpu_search *search)
{
    int64_t *own = rw_cpu_cells(cpu, s->smaller, f);
    rw_cpu_search_column(cpu, &search[0], f, cells, NULL, own == cells ? NULL : own);
    if (s->larger >= 0)
        rw_cpu_search_column(cpu, &search[1], f, rw_cpu_cells(cpu, s->parent, f), cells,
                             rw_cpu_cells(cpu, s->larger, f));
}

/* Higher gain, then lower feature; within a feature there is one task. */
static void keep_better(struct rw_cpu *cpu, const struct rw_split *found)
{
    if (found->column < 0)
        return;
#pragma omp critical
    {
        struct rw_split *best = &cpu->best[found->slot];
        if (found->gain > best->gain || (found->gain == best->gain && found->column < best->column))
            *best = *found;
    }
}

static void keep_both(struct rw_cpu *cpu, const struct rw_sibling *s,
                      const struct rw_cpu_search *search)
{
    keep_better(cpu, &search[0].best);
    if (s->larger >= 0)
        keep_better(cpu, &search[1].best);
}

static void set_totals(struct rw_cpu *cpu, const struct rw_sibling *s,
                       const struct rw_cpu_search *search)
{
    cpu->total[s->smaller] = search[0].all;
    if (s->larger >= 0)
        cpu->total[s->larger] = search[1].all;
}

/* Puts a pass's cells where they stay, and searches them and the sibling's. */
static void finish_pass(const struct rw_cpu *cpu, const struct rw_sibling *s,
                        const struct rw_cpu_pass *pass, const int64_t *built,
                        struct rw_cpu_search *search)
{
    int64_t scratch[RW_CPU_SHARED * 3];
    const size_t n_words = search[0].joint ? 1 : (size_t)cpu->words.n_words;
    for (uint32_t c = 0; c < pass->n; c++) {
        const struct rw_cpu_lane *lane = &pass->group->lane[pass->group->active[pass->first + c]];
        for (uint32_t k = 0; k < lane->n; k++) {
            const uint32_t f = lane->feature[k];
            if (!cpu->ref.host.feature_sampled[f])
                continue;
            search_both(cpu, s, f, rw_cpu_cells_of(cpu, lane, k, built, n_words, scratch), search);
        }
        built += pass->step * n_words;
    }
}

/* One range of the passes; the first says what the nodes' totals are. */
static void dense_task(struct rw_cpu *cpu, const struct division *division, uint32_t task)
{
    const struct rw_sibling *s = sibling_at(division, task / division->n_ranges);
    const uint32_t range = task % division->n_ranges;
    const uint64_t passes = cpu->n_passes;
    const uint32_t from = (uint32_t)(passes * range / division->n_ranges);
    const uint32_t end = (uint32_t)(passes * (range + 1) / division->n_ranges);
    const uint32_t n = cpu->n[s->smaller], *doc = cpu->doc + cpu->begin[s->smaller];
    const int joint = rw_cpu_is_joint(&cpu->words, n);
    const size_t n_words = joint ? 1 : (size_t)cpu->words.n_words;
    struct rw_cpu_search search[2];
    uint32_t first = from;
    do { /* once, if there is no pass */
        const uint32_t last = rw_cpu_slice_end(cpu, first, end);
        int64_t *built = rw_cpu_built(cpu, omp_get_thread_num()), sum[3];
        rw_cpu_build(cpu, doc, n, first, last, built, sum);
        if (first == from) {
            const struct rw_cell smaller = rw_cpu_decode(&cpu->words, sum);
            start_searches(cpu, s, &smaller, joint, search);
        }
        for (uint32_t p = first; p < last; p++) {
            finish_pass(cpu, s, &cpu->pass[p], built, search);
            built += RW_CPU_LANES * cpu->pass[p].step * n_words;
        }
        first = last;
    } while (first < end);
    if (range == 0)
        set_totals(cpu, s, search);
    keep_both(cpu, s, search);
}

/* Adds all threads' cells of a lane to the first one's. */
static void merge_lane(const struct rw_cpu *cpu, size_t at, size_t n_words, int n_threads)
{
    int64_t *sum = rw_cpu_built(cpu, 0) + at;
    for (int t = 1; t < n_threads; t++) {
        const int64_t *more = rw_cpu_built(cpu, t) + at;
        for (size_t w = 0; w < n_words; w++)
            sum[w] += more[w];
    }
}

/* Called by all threads. */
static void shared_task(struct rw_cpu *cpu, const struct rw_sibling *s)
{
    const uint32_t t = (uint32_t)omp_get_thread_num(), all = (uint32_t)omp_get_num_threads();
    const uint64_t n = cpu->n[s->smaller];
    const uint32_t from = (uint32_t)(n * t / all), end = (uint32_t)(n * (t + 1) / all);
    const size_t n_words = (size_t)cpu->words.n_words;
    struct rw_cpu_search search[2];
    for (uint32_t first = 0, last; first < cpu->n_passes; first = last) {
        last = rw_cpu_slice_end(cpu, first, cpu->n_passes);
        rw_cpu_build_words(cpu, cpu->doc + cpu->begin[s->smaller] + from, end - from, first, last,
                           rw_cpu_built(cpu, (int)t), cpu->part_sum[t].word);
#pragma omp barrier
        if (first == 0) {
            int64_t sum[3] = {0, 0, 0};
            for (uint32_t part = 0; part < all; part++) {
                for (size_t k = 0; k < n_words; k++)
                    sum[k] += cpu->part_sum[part].word[k];
            }
            const struct rw_cell smaller = rw_cpu_decode(&cpu->words, sum);
            start_searches(cpu, s, &smaller, 0, search);
        }
#pragma omp for schedule(dynamic, 1)
        for (uint32_t p = first; p < last; p++) {
            const struct rw_cpu_pass *pass = &cpu->pass[p];
            size_t at = 0;
            for (uint32_t before = first; before < p; before++)
                at += RW_CPU_LANES * cpu->pass[before].step * n_words;
            for (uint32_t c = 0; c < pass->n; c++) {
                const uint32_t lane = pass->group->active[pass->first + c];
                merge_lane(cpu, at + c * pass->step * n_words,
                           rw_cpu_filled_up(pass->group->lane[lane].n_codes) * n_words, (int)all);
            }
            finish_pass(cpu, s, pass, rw_cpu_built(cpu, 0) + at, search);
        }
    }
#pragma omp single
    set_totals(cpu, s, search);
    keep_both(cpu, s, search);
}

/* One range of the sparse columns, whose cells are all there but one of each. */
static void sparse_task(struct rw_cpu *cpu, const struct division *division, uint32_t task)
{
    const struct rw_sibling *s = &division->siblings[task / division->n_sparse_ranges];
    const uint32_t range = task % division->n_sparse_ranges;
    const uint64_t n = cpu->sparse.n;
    const uint32_t from = (uint32_t)(n * range / division->n_sparse_ranges);
    const uint32_t end = (uint32_t)(n * (range + 1) / division->n_sparse_ranges);
    const struct rw_cell *all = &cpu->total[s->smaller];
    struct rw_cpu_search search[2];
    int64_t sum[3] = {all->lambda, (int64_t)all->n, all->weight};
    if (cpu->words.packed) {
        sum[0] = all->lambda * 4294967296 + (int64_t)all->n;
        sum[1] = all->weight;
    }
    start_searches(cpu, s, all, 0, search);
    for (uint32_t c = from; c < end; c++) {
        const uint32_t f = cpu->sparse.column[c];
        if (!cpu->ref.host.feature_sampled[f])
            continue;
        rw_cpu_derive_rest(cpu, s->smaller, f, sum);
        search_both(cpu, s, f, rw_cpu_cells(cpu, s->smaller, f), search);
    }
    keep_both(cpu, s, search);
}

static void run_tasks(struct rw_cpu *cpu, const struct division *division, int n_threads)
{
    const uint32_t n_siblings = (uint32_t)division->n_siblings;
    const uint32_t n_shared = (uint32_t)division->n_shared * division->n_ranges;
    const uint32_t n_dense = n_siblings * division->n_ranges;
    const uint32_t n_built = cpu->sparse.n ? n_siblings : 0;
    const uint32_t n_sparse = n_built * division->n_sparse_ranges;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        for (int i = 0; i < division->n_shared; i++)
            shared_task(cpu, sibling_at(division, (uint32_t)i));
            /* what cannot be divided first */
#pragma omp for schedule(dynamic, 1)
        for (uint32_t task = 0; task < n_built + n_dense - n_shared; task++) {
            if (task < n_built)
                rw_cpu_build_sparse(cpu, division->siblings[task].smaller);
            else
                dense_task(cpu, division, n_shared + task - n_built);
        }
        if (n_sparse > 0) {
#pragma omp for schedule(dynamic, 1)
            for (uint32_t task = 0; task < n_sparse; task++)
                sparse_task(cpu, division, task);
        }
    }
}

/* Few pairs in order; how many of them all threads do together: each is a good part of the work,
 * and large enough that merging costs little beside building. */
static void order_pairs(const struct rw_cpu *cpu, struct division *division, uint64_t docs,
                        int n_threads)
{
    enum { DOCS_A_THREAD = 2048 };
    const uint64_t threads = (uint64_t)n_threads;
    division->n_shared = 0;
    if (division->n_siblings > MOST_ORDERED)
        return;
    for (int i = 0; i < division->n_siblings; i++) {
        const uint32_t n = cpu->n[division->siblings[i].smaller];
        int at = i;
        for (; at > 0 && cpu->n[division->siblings[division->order[at - 1]].smaller] < n; at--)
            division->order[at] = division->order[at - 1];
        division->order[at] = (uint8_t)i;
        division->n_shared += n_threads > 1 && cpu->n_passes > 0 && n >= DOCS_A_THREAD * threads &&
                              n * 2 * threads >= docs;
    }
}

/* ---- the calls ---- */

/* What is to be built: pairs whose parent's cells were kept as they are, of others both alone. */
static int list_jobs(struct rw_cpu *cpu, const struct rw_sibling *siblings, int n)
{
    int n_jobs = 0;
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *s = &siblings[i];
        const int has_parent = s->parent >= 0 && cpu->buffer_of[s->parent] >= 0;
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

/* Room for the cells that are worth keeping; the larger one's are in the parent's. */
static int take_buffers(struct rw_cpu *cpu, int n_jobs)
{
    for (int i = 0; i < n_jobs; i++) {
        const struct rw_sibling *s = &cpu->job[i];
        if (cpu->n[s->smaller] >= cpu->least_kept) {
            if (cpu->n_free == 0)
                return rw_fail(cpu->ref.host.base.ctx, RW_ERR_INTERNAL,
                               "no histogram buffer is free");
            cpu->buffer_of[s->smaller] = cpu->free_buffer[--cpu->n_free];
        }
        if (s->larger >= 0 && cpu->n[s->larger] >= cpu->least_kept)
            cpu->buffer_of[s->larger] = cpu->buffer_of[s->parent];
    }
    return RW_OK;
}

static void drop_parents(struct rw_cpu *cpu, int n_jobs)
{
    for (int i = 0; i < n_jobs; i++) {
        const struct rw_sibling *s = &cpu->job[i];
        if (s->parent < 0)
            continue;
        if (s->larger < 0 || cpu->buffer_of[s->larger] < 0)
            cpu->free_buffer[cpu->n_free++] = cpu->buffer_of[s->parent];
        cpu->buffer_of[s->parent] = -1;
    }
}

int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n_siblings)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    uint64_t docs = 0;
    if (n_siblings == 0)
        return RW_OK;
    const int n = list_jobs(cpu, siblings, n_siblings);
    RW_TRY(take_buffers(cpu, n));
    for (int i = 0; i < n; i++)
        docs += cpu->n[cpu->job[i].smaller];
    const uint64_t updates = docs * (cpu->group[0].n_active + cpu->group[1].n_active);
    const uint64_t cells = (uint64_t)n * cpu->cell_at[engine->info.n_features];
    const int n_threads = updates + 2 * cells >= PARALLEL_UPDATES ? engine->n_threads : 1;
    /* enough tasks that no thread waits long for another */
    const uint32_t wanted = n_threads == 1 ? 1 : (uint32_t)((2 * n_threads + n - 1) / n);
    const uint32_t passes = cpu->n_passes, sparse = cpu->sparse.n / RW_CPU_LANES;
    struct division division = {.siblings = cpu->job,
                                .n_siblings = n,
                                .n_ranges = passes <= 1       ? 1
                                            : wanted < passes ? wanted
                                                              : passes,
                                .n_sparse_ranges = sparse <= 1       ? 1
                                                   : wanted < sparse ? wanted
                                                                     : sparse};
    order_pairs(cpu, &division, docs, n_threads);
    run_tasks(cpu, &division, n_threads);
    drop_parents(cpu, n);
    return RW_OK;
}

/* They were found when the histograms were made. */
int rw_cpu_best_splits(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out)
{
    const struct rw_cpu *cpu = rw_cpu_of(engine);
    for (int i = 0; i < n; i++)
        out[i] = cpu->best[slots[i]];
    return RW_OK;
}
