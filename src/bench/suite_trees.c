/* Suite "trees": what a tree takes, in milliseconds and in memory, on three shapes of data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "binning/cuts.h"

enum { MOST_ROWS = 7, N_SETTINGS = 4, QUICK_DOCS = 1500 };

/* A row as the suite has it; the options replace parts of it. */
static const struct made {
    const char *shape;
    uint32_t n_queries, n_docs; /* one of them */
    const char *leaves, *bins, *split;
    double must_ms, aim_ms; /* on one H200 */
} made_rows[MOST_ROWS] = {
    {"mslr30k", 31531, 0, "255", "255", "mart", 2.2, 1.5},
    {"mslr30k", 31531, 0, "31", "255", "mart", 1.2, 0.8},
    {"mslr30k", 31531, 0, "255", "255", "newton", 2.6, 1.7},
    {"mslr30k", 31531, 0, "31", "255", "newton", 1.5, 1.0},
    {"mslr30k", 31531, 0, "255", "1023", "mart", 4.0, 3.0},
    {"yahoo", 0, 473134, "255", "255", "mart", 1.8, 1.2},
    {"letor", 0, 10000, "31", "255", "mart", 0.3, 0.2},
};

struct row {
    const struct made *made;
    const char *shape;
    uint32_t n_queries, n_docs;
    struct rw_params *params; /* owned */
    int is_own;               /* nothing of it was replaced */
    char name[96];
    uint64_t n_bins;
    uint32_t n_used; /* features with a column of codes */
    struct rw_bench_training training;
};

struct trees {
    struct rw_bench *bench;
    struct row row[MOST_ROWS];
    int n_rows;
    struct rw_bench_data data;
};

/* ---- the rows ---- */

static int queries_of(struct trees *s, const struct made *made, const char *shape, uint32_t *n)
{
    const struct rw_bench_options *o = s->bench->options;
    if (o->n_queries || (made->n_queries && !o->quick)) {
        *n = o->n_queries ? o->n_queries : made->n_queries;
        return RW_OK;
    }
    const uint32_t n_docs = o->quick ? QUICK_DOCS : made->n_docs;
    return rw_bench_queries_of(s->bench, shape, n_docs, n);
}

static void name_row(struct row *row)
{
    char size[32];
    if (row->params->grow == RW_GROW_LEVELS)
        snprintf(size, sizeof(size), "%d levels", row->params->depth);
    else
        snprintf(size, sizeof(size), "%s leaves", rw_params_get(row->params, "leaves"));
    snprintf(row->name, sizeof(row->name), "%s, %s, %d bins%s", row->shape, size, row->params->bins,
             row->params->split == RW_SPLIT_NEWTON ? ", newton" : "");
}

static int make_row(struct trees *s, const struct made *made, struct row *row)
{
    const struct rw_bench_options *o = s->bench->options;
    const struct rw_bench_setting setting[N_SETTINGS] = {
        {"rounds", o->quick ? "4" : "100"},
        {"leaves", made->leaves},
        {"bins", made->bins},
        {"split", made->split},
    };
    *row = (struct row){.made = made, .shape = o->shape ? o->shape : made->shape};
    RW_TRY(queries_of(s, made, row->shape, &row->n_queries));
    RW_TRY(rw_bench_params_pair(s->bench, setting, N_SETTINGS, &row->params, &row->is_own));
    name_row(row);
    return RW_OK;
}

static int is_repeated(const struct trees *s, const struct row *row)
{
    for (int i = 0; i < s->n_rows; i++) {
        const struct row *other = &s->row[i];
        if (strcmp(other->shape, row->shape) == 0 && other->n_queries == row->n_queries &&
            rw_bench_params_same(other->params, row->params))
            return 1;
    }
    return 0;
}

/* Rows that the options have made the same are one. */
static int make_rows(struct trees *s)
{
    for (int i = 0; i < MOST_ROWS; i++) {
        struct row *row = &s->row[s->n_rows];
        const int status = make_row(s, &made_rows[i], row);
        if (status >= 0 && !is_repeated(s, row)) {
            s->n_rows++;
            continue;
        }
        rw_params_free(row->params);
        RW_TRY(status);
    }
    return RW_OK;
}

/* ---- measuring ---- */

static int count_bins(struct trees *s, struct row *row)
{
    const struct rw_cut_rule rule = rw_params_cut_rule(row->params);
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    RW_TRY(rw_cuts_make(s->bench->ctx, s->data.dataset, &rule, &cuts));
    row->n_used = cuts->n_features;
    row->n_bins = cuts->offset[cuts->n_features];
    return RW_OK;
}

static int measure(struct trees *s, struct row *row)
{
    const struct rw_bench_training *t = &row->training;
    RW_TRY(rw_bench_data_make(s->bench, &s->data, row->shape, row->n_queries));
    row->n_docs = rw_dataset_n_docs(s->data.dataset);
    RW_TRY(count_bins(s, row));
    RW_TRY(rw_bench_plan_training(s->bench, row->params, s->data.dataset, &row->training));
    rw_log(s->bench->ctx, RW_LOG_NOTE, "%s, %d trees on %s", row->name, row->params->rounds,
           t->device);
    RW_TRY(rw_bench_time_training(s->bench, row->params, s->data.dataset, &row->training, NULL));
    return rw_bench_send_row(
        s->bench, "trees",
        "row:s device:s queries:u documents:u features:u leaves:i training:t "
        "first_tree_ms:1 load_s:3",
        row->name, t->device, row->n_queries, row->n_docs, rw_dataset_n_features(s->data.dataset),
        rw_bench_leaves(row->params, row->n_docs), t, t->first_tree_ms, t->load_ms / 1e3);
}

/* The bound on memory: 1.3 x padded codes + 80 bytes a document + leaves x total bins x 12 bytes +
 * 64 MiB. NaN where the codes' padding is not known: on the host. */
static double allowed_bytes(const struct row *row)
{
    if (!row->training.on_gpu)
        return NAN;
    return 1.3 * (double)row->training.code_bytes + 80.0 * row->n_docs +
           12.0 * rw_bench_leaves(row->params, row->n_docs) * (double)row->n_bins + 67108864.0;
}

static int send_memory(struct trees *s)
{
    for (int i = 0; i < s->n_rows; i++) {
        const struct row *row = &s->row[i];
        const struct rw_bench_training *t = &row->training;
        RW_TRY(rw_bench_send_row(
            s->bench, "memory",
            "row:s columns:u total_bins:n padded_codes:0 planned_bytes:0 held_bytes:0 "
            "allowed_bytes:0",
            row->name, row->n_used, (double)row->n_bins, t->on_gpu ? (double)t->code_bytes : NAN,
            t->plan_bytes ? (double)t->plan_bytes : NAN,
            t->device_bytes ? (double)t->device_bytes : NAN, allowed_bytes(row)));
    }
    return RW_OK;
}

/* Of rows that are as the suite has them, on a GPU. */
static int send_bars(struct trees *s)
{
    for (int i = 0; i < s->n_rows; i++) {
        const struct row *row = &s->row[i];
        const struct rw_bench_training *t = &row->training;
        char what[3][128];
        if (!row->is_own || !t->on_gpu)
            continue;
        snprintf(what[0], sizeof(what[0]), "%s: ms a tree", row->name);
        snprintf(what[1], sizeof(what[1]), "%s: mean leaves", row->name);
        snprintf(what[2], sizeof(what[2]), "%s: MiB held", row->name);
        const double mib = 1048576.0, held = (double)t->device_bytes;
        const struct rw_bench_bar bar[3] = {
            {what[0], t->median_ms, row->made->must_ms, row->made->aim_ms, 1},
            {what[1], t->mean_leaves, rw_bench_leaves(row->params, row->n_docs), NAN, 0},
            {what[2], held > 0.0 ? held / mib : NAN, allowed_bytes(row) / mib, NAN, 1}};
        for (int k = 0; k < 3; k++)
            RW_TRY(rw_bench_bar(s->bench, &bar[k]));
    }
    return RW_OK;
}

static int run(struct rw_bench *bench)
{
    struct trees s = {.bench = bench};
    struct rw_params *params[MOST_ROWS];
    int status;
    RW_TRY_OUT(make_rows(&s));
    for (int i = 0; i < s.n_rows; i++)
        params[i] = s.row[i].params;
    RW_TRY_OUT(rw_bench_send_params(bench, params, s.n_rows));
    for (int i = 0; i < s.n_rows; i++)
        RW_TRY_OUT(measure(&s, &s.row[i]));
    RW_TRY_OUT(send_memory(&s));
    RW_TRY_OUT(send_bars(&s));
out:
    for (int i = 0; i < s.n_rows; i++)
        rw_params_free(s.row[i].params);
    rw_bench_data_release(&s.data);
    return status;
}

const struct rw_bench_suite rw_bench_trees = {
    .bench = "train",
    .name = "trees",
    .run = run,
};
