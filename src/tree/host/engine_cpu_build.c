/* Histogram cells of the engine for processors: a thread gathers documents' codes and words, and
 * adds them to cells of its own. */

#include "tree/host/engine_cpu.h"

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
        for (; all && c + RW_CPU_PASS_BUNDLES <= last;
             c += RW_CPU_PASS_BUNDLES, to += RW_CPU_GATHERED)
            memcpy(to, row + c, RW_CPU_PASS_BUNDLES);
        for (; c < last; c += RW_CPU_PASS_BUNDLES, to += RW_CPU_GATHERED) {
            uint64_t codes = 0;
            for (uint32_t k = 0; k < RW_CPU_PASS_BUNDLES && c + k < last; k++)
                codes |= (uint64_t)row[group->active[c + k]] << (8 * k);
            *to = codes;
        }
    }
}

/* Where the passes from `from` on end whose cells have room together. */
uint32_t rw_cpu_slice_end(const struct rw_cpu *cpu, uint32_t from, uint32_t end)
{
    uint32_t cells = 0, at = from;
    while (at < end && at - from < RW_CPU_PASSES &&
           cells + cpu->pass[at].step * RW_CPU_PASS_BUNDLES <= RW_CPU_BUILT)
        cells += cpu->pass[at++].step * RW_CPU_PASS_BUNDLES;
    return at;
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

static void clear_cells(const struct rw_cpu *cpu, uint32_t from, uint32_t end, size_t n_words,
                        int64_t *cell)
{
    for (uint32_t p = from; p < end; p++) {
        const struct rw_cpu_pass *pass = &cpu->pass[p];
        for (uint32_t c = 0; c < pass->n; c++, cell += pass->step * n_words) {
            const uint32_t n_codes =
                pass->group->bundle[pass->group->active[pass->first + c]].n_codes;
            memset(cell, 0, rw_cpu_filled_up(n_codes) * n_words * sizeof(int64_t));
        }
        cell += (RW_CPU_PASS_BUNDLES - pass->n) * pass->step * n_words;
    }
}

/* Cells of passes [from, end), a slice, of some documents, as their words are: in `built`. sum: the
 * documents' words together, written. */
static void add_docs(const struct rw_cpu *cpu, int thread, const uint32_t *doc, uint32_t n,
                     uint32_t from, uint32_t end, int64_t *built, int64_t *sum)
{
    const size_t n_words = rw_cpu_doc_words(&cpu->words);
    uint64_t *gathered = cpu->gathered + (size_t)thread * RW_CPU_PASSES * RW_CPU_GATHERED;
    int64_t word[RW_CPU_DOCS * 3];
    struct rw_cpu_add add = {.isa = cpu->host.isa, .n_words = (int)n_words, .word = word};
    uint32_t narrow = from;
    for (uint32_t p = from; p < end; p++)
        narrow += cpu->pass[p].group->bytes == 1;
    clear_cells(cpu, from, end, n_words, built);
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
            add.cell += RW_CPU_PASS_BUNDLES * add.pass->step * n_words;
        }
    }
}

void rw_joint_add(const int64_t *joint, uint64_t n, int64_t *cells)
{
    for (uint64_t i = 0; i < n; i++) {
        cells[2 * i] += rw_joint_packed(joint[i]);
        cells[2 * i + 1] += rw_joint_weight(joint[i]);
    }
}

/* The same for the cells of passes. */
static void add_joint_passes(const struct rw_cpu *cpu, uint32_t from, uint32_t end,
                             const int64_t *joint, int64_t *cells)
{
    for (uint32_t p = from; p < end; p++) {
        const struct rw_cpu_pass *pass = &cpu->pass[p];
        for (uint32_t c = 0; c < pass->n; c++) {
            const uint32_t n_codes =
                pass->group->bundle[pass->group->active[pass->first + c]].n_codes;
            const uint64_t at = c * (uint64_t)pass->step;
            rw_joint_add(joint + at, rw_cpu_filled_up(n_codes), cells + 2 * at);
        }
        joint += RW_CPU_PASS_BUNDLES * (uint64_t)pass->step;
        cells += RW_CPU_PASS_BUNDLES * (uint64_t)pass->step * 2;
    }
}

void rw_cpu_build_words(const struct rw_cpu *cpu, int thread, const uint32_t *doc, uint32_t n,
                        uint32_t from, uint32_t end, int64_t *built, int64_t *sum)
{
    const uint32_t most = cpu->words.most_joint;
    if (!most) {
        add_docs(cpu, thread, doc, n, from, end, built, sum);
        return;
    }
    int64_t *const joint = built + (size_t)RW_CPU_BUILT * 2; /* behind them */
    clear_cells(cpu, from, end, 2, built);
    sum[0] = sum[1] = sum[2] = 0;
    for (uint32_t first = 0; first < n; first += most) {
        int64_t part[3];
        add_docs(cpu, thread, doc + first, n - first < most ? n - first : most, from, end, joint,
                 part);
        rw_joint_add(part, 1, sum);
        add_joint_passes(cpu, from, end, joint, built);
    }
}

void rw_cpu_build(const struct rw_cpu *cpu, int thread, const uint32_t *doc, uint32_t n,
                  uint32_t from, uint32_t end, int64_t *built, int64_t *sum)
{
    int64_t joint[3];
    if (!rw_cpu_is_joint(&cpu->words, n)) {
        rw_cpu_build_words(cpu, thread, doc, n, from, end, built, sum);
        return;
    }
    add_docs(cpu, thread, doc, n, from, end, built, joint);
    sum[0] = sum[1] = sum[2] = 0;
    rw_joint_add(joint, 1, sum);
}

const int64_t *rw_cpu_cells_of(const struct rw_cpu *cpu, const struct rw_cpu_bundle *bundle,
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

static inline __attribute__((always_inline)) void add_sparse_words(const struct rw_cpu *cpu,
                                                                   const uint32_t *doc, uint32_t n,
                                                                   int64_t *cells, int n_words)
{
    const struct rw_cpu_sparse *sparse = &cpu->sparse;
    const size_t doc_words = rw_cpu_doc_words(&cpu->words);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t *w = cpu->word + (size_t)doc[i] * doc_words;
        int64_t parts[2];
        if (n_words == 2 && doc_words == 1) { /* joint */
            parts[0] = rw_joint_packed(w[0]);
            parts[1] = rw_joint_weight(w[0]);
            w = parts;
        }
        for (uint64_t e = sparse->offset[doc[i]]; e < sparse->offset[doc[i] + 1]; e++) {
            int64_t *cell = cells + sparse->cell[e] * (uint64_t)n_words;
            for (int k = 0; k < n_words; k++)
                cell[k] += w[k];
        }
    }
}

void rw_cpu_build_sparse(const struct rw_cpu *cpu, int32_t slot)
{
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
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

void rw_cpu_derive_rest(const struct rw_cpu *cpu, int32_t slot, uint32_t f, const int64_t *sum)
{
    const struct rw_bins *bins = cpu->host.set[0].bins;
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
