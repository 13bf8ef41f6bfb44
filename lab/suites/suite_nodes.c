/* The histograms of a real tree: what its grower asks for after the root, in its batches, each
 * batch with the siblings by subtraction. The data are made of the shape of MSLR-WEB30K; features
 * stand in groups by the width of their codes, as in training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lab/suites/lab_call.h"
#include "lab/suites/nodes_record.h"
#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"
#include "gpu/hist/hist.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { QUERIES = 31531, QUICK_QUERIES = 800, LEAVES = 255, N_GROUPS = 3, LARGEST = 126 };
static const int group_bits[N_GROUPS] = {4, 8, 16};

struct group {
    struct rw_hist_matrix *matrix; /* NULL: no feature; owned */
    uint32_t n_features, n_bins;
    struct rw_hist_pool cells; /* of all nodes; owned: counts and lambdas */
    const struct rw_hist_method *method;
};

struct nodes {
    struct rw_lab *lab;
    struct rw_asked asked;
    struct group group[N_GROUPS];
    uint32_t n_features;
    /* of the tree recorded last */
    struct rw_hist_node *node; /* [n_nodes] owned */
    uint32_t n_buffers;
    int narrow; /* sums, as struct rw_hist_call has it */
    void *d_node, *d_list, *d_lambda, *d_moved, *d_parent, *d_scratch; /* owned */
    size_t scratch_room;
    int scratch_used; /* by what does not leave it clean */
    int by_position;
    int subtracting;
    double updates; /* (document, feature) pairs that are added */
};

/* ---- what stays ---- */

static int init_group(struct nodes *s, int g, const struct rw_hist_method *method)
{
    struct rw_ctx *ctx = s->lab->ctx;
    struct group *group = &s->group[g];
    struct rw_made_columns columns;
    struct rw_hist_matrix_spec spec = {.bits = group_bits[g]};
    RW_TRY(rw_asked_columns(&s->asked, group_bits[g], &spec.n_narrow, &columns));
    group->method = method;
    int status = RW_OK;
    if (columns.n_features > 0) {
        spec.n_features = columns.n_features;
        spec.n_docs = columns.n_docs;
        spec.n_bins = columns.n_bins;
        spec.layouts = method->reads_tiles ? RW_HIST_TILES : RW_HIST_COLUMNS;
        status = rw_made_matrix(ctx, s->lab->device, &spec, &columns, &group->matrix);
        group->n_features = columns.n_features;
        group->n_bins = columns.n_bins;
        s->n_features += columns.n_features;
    }
    rw_made_columns_release(&columns);
    return status;
}

static int init(struct nodes *s)
{
    struct rw_ctx *ctx = s->lab->ctx;
    const struct rw_lab_options *o = s->lab->options;
    const struct rw_hist_method *method = rw_lab_method_asked(s->lab);
    RW_TRY(rw_asked_init(ctx, &s->asked, o->quick ? QUICK_QUERIES : QUERIES, o->seed));
    for (int g = 0; g < N_GROUPS; g++)
        RW_TRY(init_group(s, g, method));
    return RW_OK;
}

/* ---- a tree ---- */

static void drop(void **d)
{
    rw_device_free(*d);
    *d = NULL;
}

static void drop_tree(struct nodes *s)
{
    void **const d[] = {&s->d_node, &s->d_list, &s->d_lambda, &s->d_moved, &s->d_parent};
    for (int i = 0; i < LENGTH(d); i++)
        drop(d[i]);
    for (int g = 0; g < N_GROUPS; g++) {
        rw_device_free(s->group[g].cells.d_count);
        rw_device_free(s->group[g].cells.d_lambda_sum);
        s->group[g].cells.d_count = NULL;
        s->group[g].cells.d_lambda_sum = NULL;
    }
    rw_mem_free(s->node);
    s->node = NULL;
}

static int copy_to_device(struct nodes *s, void **d, const void *from, size_t bytes)
{
    RW_TRY(rw_device_alloc(s->lab->ctx, d, bytes));
    return rw_transfer_write(s->lab->device, *d, from, bytes);
}

/* Lists, nodes, pairs and room for all histograms. */
static int copy_tree(struct nodes *s)
{
    struct rw_ctx *ctx = s->lab->ctx;
    const struct rw_asked *a = &s->asked;
    uint32_t *parent = NULL;
    uint16_t *moved = NULL; /* lambdas in the order of the lists */
    int status;
    RW_TRY_OUT(RW_NEW(ctx, s->node, a->n_nodes + 1));
    RW_TRY_OUT(RW_NEW(ctx, parent, a->n_nodes + 1));
    RW_TRY_OUT(RW_NEW_RAW(ctx, moved, a->n_places));
    s->updates = 0;
    s->n_buffers = 1;
    s->narrow = rw_hist_is_narrow(a->n_docs, LARGEST);
    for (size_t i = 0; i < a->n_nodes; i++) {
        s->node[i] = (struct rw_hist_node){a->node[i].first, a->node[i].n};
        parent[i] = a->node[i].has_sibling ? a->node[i].parent : RW_HIST_NO_PARENT;
        s->updates += (double)a->node[i].n * s->n_features;
        s->n_buffers++;
    }
    for (size_t i = 0; i < a->n_places; i++)
        rw_moved_set(RW_MOVED_LAMBDA, moved, i,
                     rw_moved_word(RW_MOVED_LAMBDA, a->lambda[a->list[i]], 0));
    RW_TRY_OUT(copy_to_device(s, &s->d_node, s->node, a->n_nodes * sizeof(*s->node)));
    RW_TRY_OUT(copy_to_device(s, &s->d_parent, parent, a->n_nodes * sizeof(*parent)));
    RW_TRY_OUT(copy_to_device(s, &s->d_list, a->list, a->n_places * sizeof(*a->list)));
    RW_TRY_OUT(copy_to_device(s, &s->d_lambda, a->lambda, a->n_docs * sizeof(*a->lambda)));
    RW_TRY_OUT(copy_to_device(s, &s->d_moved, moved, a->n_places * sizeof(*moved)));
    for (int g = 0; g < N_GROUPS; g++) {
        struct rw_hist_pool *cells = &s->group[g].cells;
        const size_t n = (size_t)s->n_buffers * s->group[g].n_features * s->group[g].n_bins;
        RW_TRY_OUT(rw_device_alloc(ctx, (void **)&cells->d_count, n * sizeof(*cells->d_count)));
        RW_TRY_OUT(rw_device_alloc(ctx, &cells->d_lambda_sum, n * rw_hist_sum_bytes(s->narrow)));
    }
out:
    rw_mem_free(moved);
    rw_mem_free(parent);
    return status;
}

/* May scratch be cleared once and for all, as the trainer does? */
static int all_leave_clean(const struct nodes *s)
{
    int clean = 1;
    for (int g = 0; g < N_GROUPS; g++)
        clean &= !s->group[g].matrix || s->group[g].method->reads_tiles;
    return clean;
}

/* Into buffers from `buffer` on. list: the batch's part, NULL for the root. */
static int run_group(struct nodes *s, int g, const struct rw_asked_batch *batch, uint32_t buffer,
                     const struct rw_hist_node *whole)
{
    struct rw_ctx *ctx = s->lab->ctx;
    const struct rw_device *device = s->lab->device;
    const struct group *group = &s->group[g];
    const uint64_t at = (uint64_t)buffer * group->n_features * group->n_bins;
    const uint64_t first = batch ? batch->first_node : 0;
    const int by_position = batch && s->by_position && group->method->reads_tiles;
    struct rw_hist_call call = {
        .matrix = group->matrix,
        .sums = RW_HIST_MART,
        .d_list = batch ? (const uint32_t *)s->d_list + batch->first_place : NULL,
        .node = batch ? s->node + first : whole,
        .d_node = (const struct rw_hist_node *)s->d_node + first,
        .n_nodes = batch ? batch->n_nodes : 1,
        .d_lambda = s->d_lambda,
        .by_position = by_position,
        .d_moved = by_position ? (const uint16_t *)s->d_moved + batch->first_place : NULL,
        .largest = LARGEST,
        .d_count = group->cells.d_count + at,
        .d_lambda_sum = rw_hist_sums_from(group->cells.d_lambda_sum, at, s->narrow),
        .narrow = s->narrow,
        .d_parent = batch && s->subtracting ? (const uint32_t *)s->d_parent + first : NULL,
        .parents = group->cells,
        .n_multiprocessors = device->n_multiprocessors,
        .shared_bytes = device->shared_bytes};
    const size_t bytes = group->method->scratch_bytes(&call);
    if (bytes > s->scratch_room) { /* in the first run of all, which is not timed */
        RW_TRY(rw_transfer_wait(device));
        drop(&s->d_scratch);
        s->scratch_room = 0;
        RW_TRY(rw_device_alloc(ctx, &s->d_scratch, bytes));
        s->scratch_room = bytes;
        s->scratch_used = 1;
    }
    call.d_scratch = s->d_scratch;
    call.clean_scratch = all_leave_clean(s);
    if (call.clean_scratch && s->scratch_used) /* by another method before */
        RW_CU(ctx, cudaMemsetAsync(s->d_scratch, 0, s->scratch_room, device->stream));
    s->scratch_used = !call.clean_scratch;
    return rw_hist_run(ctx, group->method, &call, device->stream);
}

/* All batches after the root; `user` is a struct nodes. */
static int run_batches(void *user)
{
    struct nodes *s = user;
    for (size_t b = 0; b < s->asked.n_batches; b++) {
        const struct rw_asked_batch *batch = &s->asked.batch[b];
        for (int g = 0; g < N_GROUPS; g++)
            if (s->group[g].matrix)
                RW_TRY(run_group(s, g, batch, s->asked.node[batch->first_node].buffer, NULL));
    }
    return RW_OK;
}

static int run_root(void *user)
{
    struct nodes *s = user;
    const struct rw_hist_node root = {0, s->asked.n_docs};
    RW_TRY(rw_transfer_write(s->lab->device, s->d_node, &root, sizeof(root)));
    for (int g = 0; g < N_GROUPS; g++)
        if (s->group[g].matrix)
            RW_TRY(run_group(s, g, NULL, 0, &root));
    RW_TRY(rw_transfer_wait(s->lab->device));
    return rw_transfer_write(s->lab->device, s->d_node, s->node, sizeof(*s->node));
}

/* After one run from a true root: the documents of every buffer's node are as many as its first
 * feature's counts. */
static int check_counts(struct nodes *s, int g)
{
    struct rw_ctx *ctx = s->lab->ctx;
    const struct rw_hist_pool *cells = &s->group[g].cells;
    const size_t row = s->group[g].n_bins;
    uint64_t *expected = NULL;
    uint32_t *count = NULL;
    int status;
    RW_TRY_OUT(RW_NEW(ctx, expected, s->n_buffers));
    RW_TRY_OUT(RW_NEW(ctx, count, row));
    expected[0] = s->asked.n_docs;
    for (size_t i = 0; i < s->asked.n_nodes; i++) {
        expected[s->asked.node[i].buffer] = s->asked.node[i].n;
        if (s->asked.node[i].has_sibling)
            expected[s->asked.node[i].parent] = s->asked.node[i].n_sibling;
    }
    for (uint32_t b = 0; b < s->n_buffers; b++) {
        uint64_t n = 0;
        RW_TRY_OUT(rw_transfer_read(s->lab->device, count,
                                    cells->d_count + b * row * s->group[g].n_features,
                                    row * sizeof(*count)));
        for (size_t c = 0; c < row; c++)
            n += count[c];
        if (n != expected[b])
            RW_TRY_OUT(rw_fail(ctx, RW_ERR_INTERNAL,
                               "histogram %u of %d-bit features counts %llu documents, not %llu", b,
                               group_bits[g], (unsigned long long)n,
                               (unsigned long long)expected[b]));
    }
out:
    rw_mem_free(count);
    rw_mem_free(expected);
    return status;
}

/* ---- rows ---- */

/* Codes, places and lambdas read, histograms written, and read and written again to subtract. */
static double bytes_of(const struct nodes *s)
{
    double a_doc = sizeof(uint32_t) + sizeof(int32_t), cells = 0;
    for (int g = 0; g < N_GROUPS; g++) {
        a_doc += (double)s->group[g].n_features * group_bits[g] / 8;
        cells += (double)s->group[g].n_features * s->group[g].n_bins;
    }
    const double builds = (double)s->asked.n_nodes * cells * rw_hist_cell_bytes(0, s->narrow);
    return (double)s->asked.n_places * a_doc + builds * (s->subtracting ? 4 : 1);
}

static int time_row(struct nodes *s, int32_t batch, double *ms)
{
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    RW_TRY(rw_lab_time(s->lab, run_batches, s, &times));
    *ms = times.median_ms;
    rw_bench_add_integer(&line, "batch", batch);
    rw_bench_add_integer(&line, "leaves", s->asked.n_leaves);
    rw_bench_add_integer(&line, "batches", (double)s->asked.n_batches);
    rw_bench_add_integer(&line, "builds", (double)s->asked.n_nodes);
    rw_bench_add_integer(&line, "docs", (double)s->asked.n_places);
    rw_bench_add_real(&line, "passes", (double)s->asked.n_places / s->asked.n_docs, 2);
    rw_bench_add_text(&line, "lambdas", s->by_position ? "by position" : "by document");
    rw_bench_add_text(&line, "siblings", s->subtracting ? "subtracted" : "left out");
    rw_lab_add_times(s->lab, &line, &times, bytes_of(s));
    rw_bench_add_real(&line, "g_updates_s", s->updates / times.median_ms / 1e6, 1);
    return rw_bench_send(&s->lab->rows, "nodes", &line);
}

static int time_tree(struct nodes *s, int32_t batch, double *ms)
{
    int status = RW_OK;
    RW_TRY(rw_asked_record(&s->asked, LEAVES, batch));
    RW_TRY_OUT(copy_tree(s));
    for (int i = 0; i < 3; i++) {
        double this_ms;
        s->by_position = i != 1;
        s->subtracting = i != 2;
        if (s->subtracting) {
            RW_TRY_OUT(run_root(s));
            RW_TRY_OUT(run_batches(s));
            for (int g = 0; g < N_GROUPS; g++)
                if (s->group[g].matrix)
                    RW_TRY_OUT(check_counts(s, g));
        }
        RW_TRY_OUT(time_row(s, batch, &this_ms));
        *ms = i == 0 ? this_ms : *ms;
    }
out:
    drop_tree(s);
    return status;
}

static int run(struct rw_lab *lab)
{
    struct nodes s = {.lab = lab};
    /* Nodes expanded together, at most; the first is what the bar is about. */
    const int32_t batches[] = {lab->device->tuning->growth_batch, 16, 32, 64};
    double ms[LENGTH(batches)];
    int status;
    RW_TRY_OUT(init(&s));
    for (int i = 0; i < LENGTH(batches); i++)
        RW_TRY_OUT(time_tree(&s, batches[i], &ms[i]));
    if (!lab->options->quick)
        RW_TRY_OUT(
            rw_bench_bar(&lab->rows, &(struct rw_bench_bar){.what = "all builds after the root, ms",
                                                            .figure = ms[0],
                                                            .must = 1.2,
                                                            .aim = 0.8,
                                                            .at_most = 1}));
out:
    for (int g = 0; g < N_GROUPS; g++)
        rw_hist_matrix_free(s.group[g].matrix);
    drop(&s.d_scratch);
    rw_asked_release(&s.asked);
    return status;
}

const struct rw_lab_suite rw_lab_nodes = {
    .name = "nodes",
    .about = "the histograms of a real tree of 255 leaves, in the batches of its growth",
    .run = run,
    .unused = RW_LAB_NO_DOCS | RW_LAB_NO_FEATURES | RW_LAB_NO_BINS,
};
