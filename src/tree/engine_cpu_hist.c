/* Histograms and splits of the engine for processors. The work of a call is a list of tasks, one
 * for each (pair of siblings, range of passes): it builds the smaller sibling's cells in the
 * thread's own memory, puts them where they stay, takes them from the parent's, and searches both
 * while they are near. A pair with much of the work is done by all threads together: a part of its
 * documents each, then some of the passes each. No two tasks write the same cell. */
#include <omp.h>

#include "tree/engine_cpu.h"

/* ---- adding ---- */

/* The codes of narrow passes [from, end) of documents [n], 8 in a word, pass by pass: rows are read
 * once, and asked for in time; what the passes read then lies together. */
static void gather(const struct rw_cpu *cpu, const uint32_t *doc, uint32_t n, uint32_t from,
                   uint32_t end, uint64_t *gathered)
{
    enum { AHEAD = 12, LINE = 64 };
    const struct rw_cpu_group *group = &cpu->group[0];
    const size_t stride = group->stride;
    const int all = group->n_active == group->n;
    const uint32_t first = cpu->pass[from].first;
    const uint32_t last = cpu->pass[end - 1].first + cpu->pass[end - 1].n;
    const size_t line_from = group->active[first], line_to = group->active[last - 1];
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = group->row + doc[i] * stride;
        const uint8_t *next = group->row + doc[i + AHEAD < n ? i + AHEAD : i] * stride;
        for (size_t at = line_from; at <= line_to; at += LINE)
            __builtin_prefetch(next + at);
        __builtin_prefetch(next + line_to);
        uint64_t *to = gathered + i;
        uint32_t c = first;
        for (; all && c + RW_CPU_LANES <= last; c += RW_CPU_LANES, to += RW_CPU_GATHERED)
            memcpy(to, row + c, RW_CPU_LANES);
        for (; c < last; c += RW_CPU_LANES, to += RW_CPU_GATHERED) {
            uint64_t codes = 0;
            for (uint32_t k = 0; k < RW_CPU_LANES && c + k < last; k++)
                codes |= (uint64_t)row[group->active[c + k]] << (8 * k);
            *to = codes;
        }
    }
}

/* Where the passes from `from` on end whose cells have room together. */
static uint32_t slice_end(const struct rw_cpu *cpu, uint32_t from, uint32_t end)
{
    uint32_t cells = 0, at = from;
    while (at < end && at - from < RW_CPU_PASSES &&
           cells + cpu->pass[at].step * RW_CPU_LANES <= RW_CPU_BUILT)
        cells += cpu->pass[at++].step * RW_CPU_LANES;
    return at;
}

/* The cells that a thread adds to. */
static int64_t *built_by(const struct rw_cpu *cpu, int thread)
{
    return cpu->built + (size_t)thread * RW_CPU_BUILT * (size_t)cpu->words.n_words;
}

/* Their words, and the sum of them. */
static inline __attribute__((always_inline)) void gather_words(const struct rw_cpu *cpu,
                                                               const struct rw_cpu_add *add,
                                                               size_t n_words, int64_t *word,
                                                               int64_t *sum)
{
    enum { AHEAD = 24 };
    const uint32_t n = add->n;
    int64_t all[3] = {0, 0, 0};
    for (uint32_t i = 0; i < n; i++) {
        __builtin_prefetch(cpu->word + add->doc[i + AHEAD < n ? i + AHEAD : i] * n_words);
        for (size_t k = 0; k < n_words; k++) {
            word[i * n_words + k] = cpu->word[add->doc[i] * n_words + k];
            all[k] += word[i * n_words + k];
        }
    }
    for (size_t k = 0; k < n_words; k++)
        sum[k] += all[k];
}

/* Cells of passes [from, end), a slice, of some documents: in `built`. sum: the documents' words
 * together, written. */
static void build(const struct rw_cpu *cpu, const uint32_t *doc, uint32_t n, uint32_t from,
                  uint32_t end, int64_t *built, int64_t *sum)
{
    const size_t n_words = (size_t)cpu->words.n_words;
    uint64_t *gathered =
        cpu->gathered + (size_t)omp_get_thread_num() * RW_CPU_PASSES * RW_CPU_GATHERED;
    int64_t word[RW_CPU_DOCS * 3], *cell = built;
    struct rw_cpu_add add = {.isa = cpu->ref.host.isa, .n_words = cpu->words.n_words, .word = word};
    uint32_t narrow = from;
    for (uint32_t p = from; p < end; p++) {
        const struct rw_cpu_pass *pass = &cpu->pass[p];
        narrow += pass->group->bytes == 1;
        for (uint32_t c = 0; c < pass->n; c++, cell += pass->step * n_words) {
            const uint32_t n_codes =
                pass->group->lane[pass->group->active[pass->first + c]].n_codes;
            memset(cell, 0, rw_cpu_filled_up(n_codes) * n_words * sizeof(int64_t));
        }
        cell += (RW_CPU_LANES - pass->n) * pass->step * n_words;
    }
    sum[0] = sum[1] = sum[2] = 0;
    for (uint32_t first = 0; first < n; first += RW_CPU_DOCS) {
        add.n = n - first < RW_CPU_DOCS ? n - first : RW_CPU_DOCS;
        add.doc = doc + first;
        if (n_words == 1)
            gather_words(cpu, &add, 1, word, sum);
        else
            gather_words(cpu, &add, n_words, word, sum);
        if (narrow > from)
            gather(cpu, add.doc, add.n, from, narrow, gathered);
        add.cell = built;
        for (uint32_t p = from; p < end; p++) {
            add.pass = &cpu->pass[p];
            add.codes = gathered + (size_t)(p - from) * RW_CPU_GATHERED;
            rw_cpu_add_docs(&add);
            add.cell += RW_CPU_LANES * add.pass->step * n_words;
        }
    }
}

/* A feature's cells from those of its lane: these, or taken together in `scratch`. */
static const int64_t *cells_of(const struct rw_cpu *cpu, const struct rw_cpu_lane *lane, uint32_t k,
                               const int64_t *built, int64_t *scratch)
{
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const size_t n_words = (size_t)cpu->words.n_words;
    if (!lane->code_of)
        return built;
    const uint8_t *code_of = lane->code_of + (size_t)k * lane->n_codes;
    memset(scratch, 0, rw_cpu_n_cells(cuts, lane->feature[k]) * n_words * sizeof(int64_t));
    for (uint32_t code = 0; code < lane->n_codes; code++, built += n_words) {
        int64_t *cell = scratch + code_of[code] * n_words;
        for (size_t w = 0; w < n_words; w++)
            cell[w] += built[w];
    }
    return scratch;
}

static inline __attribute__((always_inline)) void add_sparse_words(const struct rw_cpu *cpu,
                                                                   const uint32_t *doc, uint32_t n,
                                                                   int64_t *cells, int n_words)
{
    const struct rw_cpu_sparse *sparse = &cpu->sparse;
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *w = cpu->word + (size_t)doc[i] * (size_t)n_words;
        for (uint64_t e = sparse->offset[doc[i]]; e < sparse->offset[doc[i] + 1]; e++) {
            int64_t *cell = cells + sparse->cell[e] * (uint64_t)n_words;
            for (int k = 0; k < n_words; k++)
                cell[k] += w[k];
        }
    }
}

static void build_sparse(const struct rw_cpu *cpu, int32_t slot)
{
    const struct rw_cuts *cuts = cpu->ref.host.set[0].bins->cuts;
    const uint32_t n = cpu->n[slot], *doc = cpu->doc + cpu->begin[slot];
    int64_t *cells = rw_cpu_cells(cpu, slot, 0);
    for (uint32_t c = 0; c < cpu->sparse.n; c++) {
        const uint32_t f = cpu->sparse.column[c];
        memset(rw_cpu_cells(cpu, slot, f), 0,
               rw_cpu_n_cells(cuts, f) * (size_t)cpu->words.n_words * sizeof(int64_t));
    }
    if (cpu->words.n_words == 1)
        add_sparse_words(cpu, doc, n, cells, 1);
    else if (cpu->words.n_words == 2)
        add_sparse_words(cpu, doc, n, cells, 2);
    else
        add_sparse_words(cpu, doc, n, cells, 3);
}

/* The cell that no document was added to: what is left of the node's words. */
static void derive_rest(const struct rw_cpu *cpu, int32_t slot, uint32_t f, const int64_t *sum)
{
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    const size_t n_words = (size_t)cpu->words.n_words;
    const size_t n = rw_cuts_n_codes(bins->cuts, f) * n_words;
    int64_t *cell = rw_cpu_cells(cpu, slot, f), *rest = cell + bins->codes[f].rest * n_words;
    int64_t others[3] = {0, 0, 0};
    for (size_t w = 0; w < n; w += n_words) {
        for (size_t k = 0; k < n_words; k++)
            others[k] += cell[w + k];
    }
    for (size_t k = 0; k < n_words; k++)
        rest[k] = sum[k] - others[k];
}

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

/* Searches of both siblings. */
static void start_searches(const struct rw_cpu *cpu, const struct rw_sibling *s,
                           const struct rw_cell *smaller, struct rw_cpu_search *search)
{
    rw_cpu_search_start(cpu, s->smaller, smaller, &search[0]);
    if (s->larger >= 0) {
        const struct rw_cell larger = difference(&cpu->total[s->parent], smaller);
        rw_cpu_search_start(cpu, s->larger, &larger, &search[1]);
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
    for (uint32_t c = 0; c < pass->n; c++) {
        const struct rw_cpu_lane *lane = &pass->group->lane[pass->group->active[pass->first + c]];
        for (uint32_t k = 0; k < lane->n; k++) {
            const uint32_t f = lane->feature[k];
            if (!cpu->ref.host.feature_sampled[f])
                continue;
            search_both(cpu, s, f, cells_of(cpu, lane, k, built, scratch), search);
        }
        built += pass->step * (size_t)cpu->words.n_words;
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
    struct rw_cpu_search search[2];
    uint32_t first = from;
    do { /* once, if there is no pass */
        const uint32_t last = slice_end(cpu, first, end);
        int64_t *built = built_by(cpu, omp_get_thread_num()), sum[3];
        build(cpu, doc, n, first, last, built, sum);
        if (first == from) {
            const struct rw_cell smaller = rw_cpu_decode(&cpu->words, sum);
            start_searches(cpu, s, &smaller, search);
        }
        for (uint32_t p = first; p < last; p++) {
            finish_pass(cpu, s, &cpu->pass[p], built, search);
            built += RW_CPU_LANES * cpu->pass[p].step * (size_t)cpu->words.n_words;
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
    int64_t *sum = built_by(cpu, 0) + at;
    for (int t = 1; t < n_threads; t++) {
        const int64_t *more = built_by(cpu, t) + at;
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
        last = slice_end(cpu, first, cpu->n_passes);
        build(cpu, cpu->doc + cpu->begin[s->smaller] + from, end - from, first, last,
              built_by(cpu, (int)t), cpu->part_sum[t].word);
#pragma omp barrier
        if (first == 0) {
            int64_t sum[3] = {0, 0, 0};
            for (uint32_t part = 0; part < all; part++) {
                for (size_t k = 0; k < n_words; k++)
                    sum[k] += cpu->part_sum[part].word[k];
            }
            const struct rw_cell smaller = rw_cpu_decode(&cpu->words, sum);
            start_searches(cpu, s, &smaller, search);
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
            finish_pass(cpu, s, pass, built_by(cpu, 0) + at, search);
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
    start_searches(cpu, s, all, search);
    for (uint32_t c = from; c < end; c++) {
        const uint32_t f = cpu->sparse.column[c];
        if (!cpu->ref.host.feature_sampled[f])
            continue;
        derive_rest(cpu, s->smaller, f, sum);
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
                build_sparse(cpu, division->siblings[task].smaller);
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
