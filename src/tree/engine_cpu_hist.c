/* Histograms and splits of the engine for processors. The work of a call is a list of tasks, one
 * for each (pair of siblings, range of columns): it builds the smaller sibling's cells, takes them
 * from the parent's, and searches both while they are near. No two tasks write the same cell. */
#include <omp.h>

#include "tree/engine_cpu.h"

/* ---- adding ---- */

static struct rw_cpu_group *group_of(struct rw_cpu *cpu, uint32_t *pass)
{
    const uint32_t n = (cpu->group[0].n_active + RW_CPU_COLUMNS - 1) / RW_CPU_COLUMNS;
    if (*pass < n)
        return &cpu->group[0];
    *pass -= n;
    return &cpu->group[1];
}

static uint32_t n_passes(const struct rw_cpu *cpu)
{
    return (cpu->group[0].n_active + RW_CPU_COLUMNS - 1) / RW_CPU_COLUMNS +
           (cpu->group[1].n_active + RW_CPU_COLUMNS - 1) / RW_CPU_COLUMNS;
}

/* The columns of a pass, of the group that it belongs to. */
static void set_pass(struct rw_cpu *cpu, int32_t slot, uint32_t pass, struct rw_cpu_add *add)
{
    const struct rw_cpu_group *group = group_of(cpu, &pass);
    const uint32_t first = pass * RW_CPU_COLUMNS, left = group->n_active - first;
    add->row = group->row;
    add->bytes = group->bytes;
    add->stride = (size_t)group->n * (size_t)group->bytes;
    add->n_columns = left < RW_CPU_COLUMNS ? left : RW_CPU_COLUMNS;
    for (uint32_t c = 0; c < add->n_columns; c++) {
        add->place[c] = group->active[first + c];
        add->cell[c] = rw_cpu_cells(cpu, slot, group->column[add->place[c]]);
    }
}

/* The codes of byte-wide passes [from, end) of documents [n], 8 in a word, pass by pass: rows are
 * read once, and asked for in time; what the passes read then lies together. */
static void gather(const struct rw_cpu_group *group, const uint32_t *doc, uint32_t n, uint32_t from,
                   uint32_t end, uint64_t *gathered)
{
    enum { AHEAD = 12, LINE = 64 };
    const size_t stride = group->n;
    const int all = group->n_active == group->n;
    const uint32_t first = from * RW_CPU_COLUMNS;
    const uint32_t last =
        end * RW_CPU_COLUMNS < group->n_active ? end * RW_CPU_COLUMNS : group->n_active;
    const size_t line_from = group->active[first], line_to = group->active[last - 1];
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = group->row + doc[i] * stride;
        const uint8_t *next = group->row + doc[i + AHEAD < n ? i + AHEAD : i] * stride;
        for (size_t at = line_from; at <= line_to; at += LINE)
            __builtin_prefetch(next + at);
        __builtin_prefetch(next + line_to);
        uint64_t *to = gathered + i;
        uint32_t c = first;
        for (; all && c + RW_CPU_COLUMNS <= last; c += RW_CPU_COLUMNS, to += RW_CPU_GATHERED)
            memcpy(to, row + c, RW_CPU_COLUMNS);
        for (; c < last; c += RW_CPU_COLUMNS, to += RW_CPU_GATHERED) {
            uint64_t codes = 0;
            for (uint32_t k = 0; k < RW_CPU_COLUMNS && c + k < last; k++)
                codes |= (uint64_t)row[group->active[c + k]] << (8 * k);
            *to = codes;
        }
    }
}

/* Adds a block of documents to the cells of passes [from, end), RW_CPU_PASSES of them at most. */
static void add_block(struct rw_cpu *cpu, int32_t slot, uint32_t from, uint32_t end,
                      struct rw_cpu_add *add)
{
    const uint32_t narrow = (cpu->group[0].n_active + RW_CPU_COLUMNS - 1) / RW_CPU_COLUMNS;
    uint64_t *gathered =
        cpu->gathered + (size_t)omp_get_thread_num() * RW_CPU_PASSES * RW_CPU_GATHERED;
    if (from < narrow)
        gather(&cpu->group[0], add->doc, add->n, from, end < narrow ? end : narrow, gathered);
    for (uint32_t pass = from; pass < end; pass++) {
        set_pass(cpu, slot, pass, add);
        add->codes = gathered + (size_t)(pass - from) * RW_CPU_GATHERED;
        rw_cpu_add_docs(add);
    }
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

/* Clears and fills the cells of a slot's columns in passes [from, end). sum: the documents' words
 * together, written. */
static void build(struct rw_cpu *cpu, int32_t slot, uint32_t from, uint32_t end, int64_t *sum)
{
    const uint32_t n = cpu->n[slot], *doc = cpu->doc + cpu->begin[slot];
    const size_t n_words = (size_t)cpu->words.n_words;
    int64_t word[RW_CPU_DOCS * 3];
    struct rw_cpu_add add = {.n_words = cpu->words.n_words, .word = word};
    for (uint32_t pass = from; pass < end; pass++) {
        uint32_t in_group = pass;
        const struct rw_cpu_group *group = group_of(cpu, &in_group);
        set_pass(cpu, slot, pass, &add);
        for (uint32_t c = 0; c < add.n_columns; c++)
            memset(add.cell[c], 0,
                   rw_cpu_n_cells(cpu->ref.host.set[0].bins->cuts, group->column[add.place[c]]) *
                       n_words * sizeof(int64_t));
    }
    sum[0] = sum[1] = sum[2] = 0;
    for (uint32_t first = 0; first < n; first += RW_CPU_DOCS) {
        add.n = n - first < RW_CPU_DOCS ? n - first : RW_CPU_DOCS;
        add.doc = doc + first;
        if (n_words == 1)
            gather_words(cpu, &add, 1, word, sum);
        else
            gather_words(cpu, &add, n_words, word, sum);
        for (uint32_t pass = from; pass < end; pass += RW_CPU_PASSES)
            add_block(cpu, slot, pass, end - pass < RW_CPU_PASSES ? end : pass + RW_CPU_PASSES,
                      &add);
    }
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
struct division {
    const struct rw_sibling *siblings;
    int n_siblings;
    uint32_t n_ranges, n_sparse_ranges; /* of each pair of siblings */
};

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

static void search_both(const struct rw_cpu *cpu, const struct rw_sibling *s, uint32_t f,
                        struct rw_cpu_search *search)
{
    int64_t *smaller = rw_cpu_cells(cpu, s->smaller, f);
    rw_cpu_search_column(cpu, &search[0], f, smaller, NULL);
    if (s->larger >= 0)
        rw_cpu_search_column(cpu, &search[1], f, rw_cpu_cells(cpu, s->larger, f), smaller);
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

/* One range of the dense columns; the first says what the nodes' totals are. */
static void dense_task(struct rw_cpu *cpu, const struct division *division, uint32_t task)
{
    const struct rw_sibling *s = &division->siblings[task / division->n_ranges];
    const uint32_t range = task % division->n_ranges;
    const uint64_t passes = n_passes(cpu);
    const uint32_t from = (uint32_t)(passes * range / division->n_ranges);
    const uint32_t end = (uint32_t)(passes * (range + 1) / division->n_ranges);
    struct rw_cpu_search search[2];
    int64_t sum[3];
    build(cpu, s->smaller, from, end, sum);
    const struct rw_cell smaller = rw_cpu_decode(&cpu->words, sum);
    start_searches(cpu, s, &smaller, search);
    if (range == 0) {
        cpu->total[s->smaller] = smaller;
        if (s->larger >= 0)
            cpu->total[s->larger] = search[1].all;
    }
    for (uint32_t pass = from; pass < end; pass++) {
        struct rw_cpu_add add;
        uint32_t in_group = pass;
        const struct rw_cpu_group *group = group_of(cpu, &in_group);
        set_pass(cpu, s->smaller, pass, &add);
        for (uint32_t c = 0; c < add.n_columns; c++)
            search_both(cpu, s, group->column[add.place[c]], search);
    }
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
        search_both(cpu, s, f, search);
    }
    keep_both(cpu, s, search);
}

static void run_tasks(struct rw_cpu *cpu, const struct division *division, int n_threads)
{
    const uint32_t n_siblings = (uint32_t)division->n_siblings;
    const uint32_t n_dense = n_siblings * division->n_ranges;
    const uint32_t n_built = cpu->sparse.n ? n_siblings : 0;
    const uint32_t n_sparse = n_built * division->n_sparse_ranges;
#pragma omp parallel num_threads(n_threads) if (n_threads > 1)
    {
        /* what cannot be divided first */
#pragma omp for schedule(dynamic, 1)
        for (uint32_t task = 0; task < n_built + n_dense; task++) {
            if (task < n_built)
                build_sparse(cpu, division->siblings[task].smaller);
            else
                dense_task(cpu, division, task - n_built);
        }
        if (n_sparse > 0) {
#pragma omp for schedule(dynamic, 1)
            for (uint32_t task = 0; task < n_sparse; task++)
                sparse_task(cpu, division, task);
        }
    }
}

/* ---- the calls ---- */

static void take_buffer(struct rw_cpu *cpu, int32_t slot)
{
    cpu->buffer_of[slot] = cpu->free_buffer[--cpu->n_free];
}

static void drop_buffer(struct rw_cpu *cpu, int32_t slot)
{
    cpu->free_buffer[cpu->n_free++] = cpu->buffer_of[slot];
    cpu->buffer_of[slot] = -1;
}

int rw_cpu_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    uint64_t docs = 0;
    if (n == 0)
        return RW_OK;
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *s = &siblings[i];
        if (s->parent >= 0 && s->larger < 0)
            drop_buffer(cpu, s->parent);
        if (cpu->n_free == 0)
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "no histogram buffer is free");
        take_buffer(cpu, s->smaller);
        cpu->best[s->smaller] = (struct rw_split){.slot = s->smaller, .column = -1};
        docs += cpu->n[s->smaller];
        if (s->larger >= 0) {
            cpu->buffer_of[s->larger] = cpu->buffer_of[s->parent];
            cpu->buffer_of[s->parent] = -1;
            cpu->best[s->larger] = (struct rw_split){.slot = s->larger, .column = -1};
        }
    }
    const uint64_t updates = docs * (cpu->group[0].n_active + cpu->group[1].n_active);
    const uint64_t cells = (uint64_t)n * cpu->cell_at[engine->info.n_features];
    const int n_threads = updates + 2 * cells >= PARALLEL_UPDATES ? engine->n_threads : 1;
    /* enough tasks that no thread waits long for another */
    const uint32_t wanted = n_threads == 1 ? 1 : (uint32_t)((2 * n_threads + n - 1) / n);
    const uint32_t passes = n_passes(cpu), sparse = cpu->sparse.n / RW_CPU_COLUMNS;
    const struct division division = {.siblings = siblings,
                                      .n_siblings = n,
                                      .n_ranges = passes <= 1       ? 1
                                                  : wanted < passes ? wanted
                                                                    : passes,
                                      .n_sparse_ranges = sparse <= 1       ? 1
                                                         : wanted < sparse ? wanted
                                                                           : sparse};
    run_tasks(cpu, &division, n_threads);
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
