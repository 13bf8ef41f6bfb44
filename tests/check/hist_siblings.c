/* Siblings by subtraction: parents of any numbers, from which the nodes' histograms are
 * subtracted. */
#include "hist_siblings.h"

#include <stdio.h>
#include <stdlib.h>

#include "hist_tools.h"

static const char *const name_of[HIST_POOLS] = {"count", "lambda", "weight"};

enum { MOST_CELLS = 400000 };

static size_t size_of(const struct hist_run *run, int r)
{
    return r == 0 ? sizeof(uint32_t) : rw_hist_sum_bytes(run->call.narrow);
}

/* A parent's cell before. */
static int64_t before(const struct hist_run *run, int r, uint64_t i)
{
    const uint64_t hash = (i + 1) * 0x9E3779B97F4A7C15u * (uint64_t)(r + 1);
    const int64_t wide = r == 0 ? (int64_t)(hash >> 33) : (int64_t)(hash >> 8) - ((int64_t)1 << 54);
    return r > 0 && run->call.narrow ? wide % (1 << 30) : wide;
}

/* What 32 bits make of a narrow sum. */
static int64_t held(const struct hist_run *run, int64_t sum)
{
    return run->call.narrow ? (int32_t)(uint32_t)(uint64_t)sum : sum;
}

/* There is one parent more than there are nodes; some stay as they are. */
static uint32_t parent_of(const struct hist_run *run, uint32_t node)
{
    return node % 5 == 4 ? RW_HIST_NO_PARENT : run->call.n_nodes - node;
}

static int has_sums(const struct hist_run *run, int r)
{
    return r == 0 || (r == 1 && run->call.d_lambda_sum) || (r == 2 && run->call.d_hess_sum);
}

static uint64_t node_cells(const struct hist_run *run)
{
    return run->row[run->spec.n_features];
}

int hist_siblings_make(struct hist_run *run)
{
    struct rw_hist_call *call = &run->call;
    const uint64_t n = node_cells(run) * (call->n_nodes + 1);
    uint32_t parent[RW_HIST_MAX_NODES];
    void *d[HIST_POOLS] = {NULL};
    call->d_parent = NULL;
    if (run->capture || call->sums == RW_HIST_FLOAT || n > MOST_CELLS || call->n_nodes == 0)
        return 0;
    void *cells = hist_need(n, sizeof(int64_t));
    for (uint32_t i = 0; i < call->n_nodes; i++)
        parent[i] = parent_of(run, i);
    int status = hist_buffer_fill(run, &run->d_parent, parent, call->n_nodes * sizeof(*parent));
    for (int r = 0; r < HIST_POOLS && status == 0; r++) {
        if (!has_sums(run, r))
            continue;
        for (uint64_t i = 0; i < n; i++) {
            if (size_of(run, r) == sizeof(uint32_t))
                ((uint32_t *)cells)[i] = (uint32_t)before(run, r, i);
            else
                ((int64_t *)cells)[i] = before(run, r, i);
        }
        status = hist_buffer_fill(run, &run->d_pool[r], cells, n * size_of(run, r));
        d[r] = hist_buffer_at(&run->d_pool[r]);
    }
    free(cells);
    call->d_parent = hist_buffer_at(&run->d_parent);
    call->parents = (struct rw_hist_pool){d[0], d[1], d[2]};
    return status;
}

/* The expected value of a parent's cell. taken: the node of each parent, or -1. */
static int64_t after(const struct hist_run *run, const int32_t *taken, int r, uint64_t i)
{
    const uint64_t n_cells = node_cells(run);
    const int32_t node = taken[i / n_cells];
    if (node < 0)
        return before(run, r, i);
    const uint64_t at = (uint64_t)node * n_cells + i % n_cells;
    if (r == 0)
        return (uint32_t)((uint32_t)before(run, r, i) - ((const uint32_t *)run->expected[r])[at]);
    return held(run, before(run, r, i) - ((const int64_t *)run->expected[r])[at]);
}

static int same_pool(struct hist_run *run, struct hist_tally *tally,
                     const struct hist_call_spec *spec, const int32_t *taken, int r)
{
    const uint64_t n_cells = node_cells(run), n = n_cells * (run->call.n_nodes + 1);
    void *cells = hist_need(n, sizeof(int64_t));
    int same = rw_transfer_read(run->device, cells, hist_buffer_at(&run->d_pool[r]),
                                n * size_of(run, r)) >= 0;
    if (!same)
        hist_run_failed(run, tally, spec, "reading parents: %s", rw_last_error(run->ctx));
    if (r > 0 && run->call.narrow)
        hist_widen(cells, n);
    for (uint64_t i = 0; i < n && same; i++) {
        const int64_t got = r == 0 ? (int64_t)((uint32_t *)cells)[i] : ((int64_t *)cells)[i];
        const int64_t want = after(run, taken, r, i);
        same = got == want;
        if (!same)
            hist_run_failed(run, tally, spec,
                            "sibling: %s of parent %llu, cell %llu: %lld, not %lld", name_of[r],
                            (unsigned long long)(i / n_cells), (unsigned long long)(i % n_cells),
                            (long long)got, (long long)want);
    }
    free(cells);
    return same;
}

int hist_siblings_same(struct hist_run *run, struct hist_tally *tally,
                       const struct hist_call_spec *spec)
{
    const struct rw_hist_call *call = &run->call;
    int32_t taken[RW_HIST_MAX_NODES + 1];
    int same = 1;
    if (!call->d_parent)
        return 1;
    for (uint32_t p = 0; p <= call->n_nodes; p++)
        taken[p] = -1;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        if (parent_of(run, i) != RW_HIST_NO_PARENT)
            taken[parent_of(run, i)] = (int32_t)i;
    for (int r = 0; r < HIST_POOLS && same; r++)
        same = !has_sums(run, r) || same_pool(run, tally, spec, taken, r);
    return same;
}
