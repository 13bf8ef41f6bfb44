/* Bytes that the engine for processors will hold: what it counts in info.bytes. */
#include "base/mem.h"
#include "tree/host/engine_cpu.h"
#include "tree/plan.h"

/* A set's codes. ready: NULL, or where they are, each feature's at column[f]. n: [n_features],
 * written: entries. */
static void plan_codes(struct rw_engine *engine, const struct rw_dataset *dataset,
                       const struct rw_cuts *cuts, const struct rw_bins *ready,
                       const uint32_t *column, uint32_t *n, struct rw_plan *out)
{
    if (!ready)
        rw_bins_entries(engine->ctx, dataset, cuts, &engine->rules.cut, n);
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (ready)
            n[f] = ready->codes[column[f]].n;
        rw_plan_add(out, "codes", rw_codes_bytes(cuts, f, n[f], dataset->n_docs));
    }
    rw_plan_add(out, "scores", dataset->n_docs * sizeof(double));
}

/* Features whose entries are listed. */
static uint32_t count_sparse(const struct rw_cuts *cuts, uint32_t n_docs, const uint32_t *n)
{
    uint32_t n_sparse = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        n_sparse += n[f] < n_docs;
    return rw_cpu_has_sparse(n_sparse, cuts->n_features) ? n_sparse : 0;
}

/* The training set's rows of dense codes, and the cells of sparse ones. */
static void plan_rows(const struct rw_cuts *cuts, uint32_t n_docs, const uint32_t *n,
                      struct rw_plan *out)
{
    const struct rw_cpu_group *group = NULL;
    const struct rw_cpu_sparse *sparse = NULL;
    uint64_t rows = 0, cells = 0;
    uint32_t n_bundles[2] = {0, 0};
    const int has_sparse = count_sparse(cuts, n_docs, n) > 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (n[f] == n_docs || !has_sparse) {
            n_bundles[rw_cuts_code_bytes(cuts, f) - 1]++;
        } else
            cells += n[f];
    }
    for (int g = 0; g < 2; g++)
        rows += n_docs * rw_cpu_row_bytes(n_bundles[g], g + 1);
    rw_plan_add(out, "rows",
                rows + cells * sizeof(*sparse->cell) +
                    ((uint64_t)n_docs + 2) * sizeof(*sparse->offset));
    rw_plan_add(out, "tables",
                (n_bundles[0] + n_bundles[1]) * (sizeof(*group->active) + sizeof(*group->bundle)) +
                    n_bundles[0] * (uint64_t)256 + cuts->n_features * sizeof(*sparse->column) +
                    rw_cpu_most_passes(cuts) * sizeof(struct rw_cpu_pass));
}

static void plan_gradients(const struct rw_engine *engine, const struct rw_dataset *dataset,
                           struct rw_plan *out)
{
    const struct rw_engine_rules *rules = &engine->rules;
    const struct rw_host *host = NULL;
    const uint64_t n = dataset->n_docs;
    const uint64_t longest = rw_longest_query(dataset->query_offset, dataset->n_queries);
    uint64_t bytes = ((uint64_t)dataset->n_queries + 1) * sizeof(*host->query_offset);
    if (dataset->weight)
        bytes += n * sizeof(*host->weight_doc);
    if (rw_rules_rank(rules))
        bytes += n * sizeof(*host->gain) + dataset->n_queries * sizeof(*host->ideal) +
                 longest *
                     (sizeof(*host->discount) + (uint64_t)engine->n_threads * sizeof(*host->order));
    if (!rules->objective || !rules->objective->is_fixed)
        bytes += n * (sizeof(*host->gradient) + sizeof(*host->hessian));
    if (rules->objective && !rules->objective->ranks)
        bytes += n * sizeof(*host->label);
    bytes += n * (sizeof(*host->lambda) + sizeof(*host->weight) + sizeof(*host->lambda_q));
    if (rules->newton)
        bytes += n * sizeof(*host->hess_q);
    rw_plan_add(out, "lambdas", bytes + n * sizeof(*host->sampled));
}

static void plan_growth(const struct rw_engine *engine, const struct rw_cuts *cuts, uint64_t n,
                        uint32_t n_sparse, struct rw_plan *out)
{
    const struct rw_engine_rules *rules = &engine->rules;
    const struct rw_cpu *cpu = NULL;
    const uint64_t n_buffers = rw_cpu_n_buffers(rules, n, n_sparse), n_slots = rules->max_slots;
    const uint64_t words = rules->newton ? 3 : 2;
    uint64_t n_cells = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        n_cells += rw_cpu_n_cells(cuts, f);
    rw_plan_add(out, "lists",
                n * (sizeof(*cpu->doc) + sizeof(*cpu->doc_scratch) + words * sizeof(*cpu->word)));
    rw_plan_add(out, "histograms", n_buffers * n_cells * words * sizeof(*cpu->pool));
    rw_plan_add(out, "tables",
                n_slots * (sizeof(*cpu->begin) + sizeof(*cpu->n) + sizeof(*cpu->total) +
                           sizeof(*cpu->buffer_of) + sizeof(*cpu->node) + sizeof(*cpu->best) +
                           sizeof(*cpu->job)) +
                    n_buffers * sizeof(*cpu->free_buffer) +
                    cuts->n_features *
                        (sizeof(*cpu->host.feature_sampled) + sizeof(*cpu->cell_at)) +
                    sizeof(*cpu->cell_at) +
                    (uint64_t)engine->n_threads *
                        (sizeof(*cpu->chunk_left) + sizeof(*cpu->part_sum) +
                         RW_CPU_PASSES * RW_CPU_GATHERED * sizeof(*cpu->gathered) +
                         RW_CPU_BUILT * words * sizeof(*cpu->built)));
}

int rw_cpu_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out)
{
    struct rw_cpu *cpu = rw_cpu_of(engine);
    int status = RW_OK;
    struct rw_cuts *cuts = NULL;
    uint32_t *column = NULL, *n = NULL;
    RW_TRY_OUT(rw_host_plan_cuts(&cpu->host, data->set[0], data->bins, &cuts, &column));
    RW_TRY_OUT(RW_NEW(engine->ctx, n, cuts->n_features));
    for (int set = data->n_sets - 1; set >= 0; set--) /* ends with the training set's entries */
        plan_codes(engine, data->set[set], cuts, set == 0 ? data->bins : NULL, column, n, out);
    plan_rows(cuts, data->set[0]->n_docs, n, out);
    plan_gradients(engine, data->set[0], out);
    plan_growth(engine, cuts, data->set[0]->n_docs, count_sparse(cuts, data->set[0]->n_docs, n),
                out);
out:
    rw_cuts_free(cuts);
    rw_mem_free(column);
    rw_mem_free(n);
    return status;
}

double rw_cpu_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work)
{
    return rw_plan_cpu_ms(work, engine->n_threads);
}
