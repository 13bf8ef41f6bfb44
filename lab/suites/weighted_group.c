#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lab/suites/weighted.h"

/* ---- groups ---- */

struct shift_job {
    const struct rw_made_columns *out, *from;
    const struct rw_weighted_cut *cut;
};

static int shift_some(void *user, struct rw_share *share)
{
    const struct shift_job *job = user;
    const uint32_t n_docs = job->from->n_docs;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        const uint16_t *codes = job->from->column[job->cut->index[k]];
        uint16_t *shifted = job->out->code + k * n_docs;
        for (uint32_t i = 0; i < n_docs; i++)
            shifted[i] = (uint16_t)(codes[i] >> job->cut->shift);
    }
    return RW_OK;
}

/* Columns of the set as they are, or copies with codes shifted. */
static int take_columns(struct rw_ctx *ctx, struct rw_made_columns *out,
                        const struct rw_made_columns *from, const struct rw_weighted_cut *cut)
{
    if (cut->shift == 0) {
        *out = (struct rw_made_columns){
            .n_features = cut->n, .n_docs = from->n_docs, .n_bins = cut->n_bins};
        RW_TRY(RW_NEW(ctx, out->column, cut->n));
        for (uint32_t k = 0; k < cut->n; k++)
            out->column[k] = from->column[cut->index[k]];
        return RW_OK;
    }
    RW_TRY(rw_made_columns_alloc(ctx, out, cut->n, from->n_docs, cut->n_bins));
    struct shift_job job = {out, from, cut};
    return rw_parallel(ctx, ctx->n_threads, cut->n, 1, shift_some, &job);
}

int rw_weighted_group_init(struct rw_lab *lab, struct rw_weighted_group *group,
                           const struct rw_made_columns *from, const struct rw_weighted_cut *cut)
{
    group->call.lab = lab;
    group->bits = cut->bits;
    RW_TRY(take_columns(lab->ctx, &group->columns, from, cut));
    return rw_lab_matrix_init(lab, &group->m, cut->bits, cut->layouts, &group->columns);
}

void rw_weighted_group_release(struct rw_weighted_group *group)
{
    rw_lab_call_release(&group->call);
    rw_lab_matrix_release(&group->m);
    rw_made_columns_release(&group->columns);
}

/* ---- plans ---- */

int rw_weighted_plan_add(struct rw_lab *lab, struct rw_weighted_plan *plan,
                         struct rw_weighted_group *group)
{
    if (plan->n == RW_WEIGHTED_MOST_GROUPS)
        return rw_fail(lab->ctx, RW_ERR_INTERNAL, "lab: more than %d groups of features",
                       RW_WEIGHTED_MOST_GROUPS);
    plan->group[plan->n++] = group;
    return RW_OK;
}

static int run_plan(void *user)
{
    struct rw_weighted_plan *plan = user;
    for (int i = 0; i < plan->n; i++)
        RW_TRY(rw_lab_call_run(&plan->group[i]->call));
    return RW_OK;
}

int rw_weighted_plan_time(struct rw_lab *lab, struct rw_weighted_plan *plan,
                          struct rw_bench_times *times)
{
    return rw_lab_time(lab, run_plan, plan, times);
}

static uint32_t features_of(const struct rw_weighted_plan *plan)
{
    uint32_t n = 0;
    for (int i = 0; i < plan->n; i++)
        n += plan->group[i]->columns.n_features;
    return n;
}

static int same_choice(const struct rw_weighted_group *a, const struct rw_weighted_group *b)
{
    return a->call.ask.method == b->call.ask.method &&
           a->call.ask.zero_skip == b->call.ask.zero_skip;
}

/* "collision 12, collision zero-skip 3": the calls that the groups have, and of how many features.
 */
static void choices_text(const struct rw_weighted_plan *plan, char *buffer, size_t size)
{
    buffer[0] = 0;
    for (int i = 0; i < plan->n; i++) {
        const struct rw_weighted_group *group = plan->group[i];
        uint32_t n = 0;
        int first = i;
        for (int k = plan->n - 1; k >= 0; k--) {
            if (same_choice(group, plan->group[k])) {
                n += plan->group[k]->columns.n_features;
                first = k;
            }
        }
        const size_t used = strlen(buffer);
        if (first == i)
            snprintf(buffer + used, size - used, "%s%s%s %u", used ? ", " : "",
                     group->call.ask.method->name, group->call.ask.zero_skip ? " zero-skip" : "",
                     n);
    }
}

int rw_weighted_plan_row(struct rw_lab *lab, const struct rw_weighted_plan *plan,
                         const struct rw_weighted_row *row, const struct rw_bench_times *times)
{
    const struct rw_lab_ask *ask = &plan->group[0]->call.ask;
    const uint32_t n_docs = plan->group[0]->columns.n_docs, n_features = features_of(plan);
    double bytes = 0, code_bytes = 0;
    char n_bins[16], chosen[256];
    struct rw_bench_line line = {.n = 0};
    for (int i = 0; i < plan->n; i++) {
        bytes += rw_lab_call_bytes(&plan->group[i]->call);
        code_bytes += rw_lab_call_code_bytes(&plan->group[i]->call);
    }
    snprintf(n_bins, sizeof(n_bins), "%u", row->n_bins);
    choices_text(plan, chosen, sizeof(chosen));
    rw_bench_add_text(&line, "bins", row->n_bins ? n_bins : "all");
    rw_bench_add_real(&line, "share", row->share, 3);
    rw_bench_add_text(&line, "sums", rw_lab_sums_name(ask->sums));
    rw_bench_add_integer(&line, "docs", n_docs);
    rw_bench_add_integer(&line, "features", n_features);
    rw_bench_add_text(&line, "method", row->hybrid ? row->hybrid : ask->method->name);
    if (row->hybrid)
        rw_bench_add_none(&line, "zero_skip");
    else
        rw_bench_add_integer(&line, "zero_skip", ask->zero_skip);
    rw_lab_add_times(lab, &line, times, bytes);
    rw_bench_add_real(&line, "code_gb_s", code_bytes / times->median_ms / 1e6, 2);
    rw_bench_add_real(&line, "gdoc_s", (double)n_docs * n_features / times->median_ms / 1e6, 2);
    rw_bench_add_real(&line, "relative", row->relative, 3);
    rw_bench_add_real(&line, "choosing_ms", plan->choosing_ms > 0 ? plan->choosing_ms : NAN, 2);
    rw_bench_add_text(&line, "chosen", row->hybrid ? chosen : "");
    return rw_bench_send(&lab->rows, row->table, &line);
}

/* ---- the document's hybrid ---- */

static int choose_one(struct rw_lab_call *c, const struct rw_weighted_group *from,
                      const struct rw_lab_docs *docs, const struct rw_weighted_choosing *how,
                      uint32_t feature, struct rw_hist_choice *choice)
{
    const struct rw_lab_ask ask = {.method = how->candidates->method[0],
                                   .sums = how->sums,
                                   .first_feature = feature,
                                   .n_features = 1};
    RW_TRY(rw_lab_call_set(c, docs, &from->m, &ask)); /* candidate 0 need not take it */
    if (!how->zero_skip)
        c->call.d_frequent = NULL;
    RW_TRY(rw_lab_call_choosing(c, how->candidates));
    return rw_weighted_choose(c, how->candidates, choice);
}

/* The features of one choice become a group. */
static int add_choice(struct rw_lab *lab, struct rw_weighted_plan *plan,
                      const struct rw_weighted_group *from, const struct rw_lab_docs *docs,
                      const struct rw_lab_ask *ask, const struct rw_weighted_cut *cut)
{
    struct rw_weighted_group *group;
    RW_TRY(RW_NEW(lab->ctx, group, 1));
    int status = rw_weighted_plan_add(lab, plan, group);
    if (status < 0) {
        rw_mem_free(group);
        return status;
    }
    RW_TRY(rw_weighted_group_init(lab, group, &from->columns, cut));
    status = rw_lab_call_set(&group->call, docs, &group->m, ask);
    return status > 0 ? rw_fail(lab->ctx, RW_ERR_INTERNAL, "lab: the choice '%s' is refused",
                                ask->method->name)
                      : status;
}

/* choice: [n] method and zero-skip of each feature; index: [n] room. */
static int group_choices(struct rw_lab *lab, struct rw_weighted_plan *plan,
                         const struct rw_weighted_group *from, const struct rw_lab_docs *docs,
                         const struct rw_lab_ask *choice, uint32_t *index)
{
    const uint32_t n = from->columns.n_features;
    for (uint32_t f = 0; f < n; f++) {
        struct rw_weighted_cut cut = {
            .index = index, .n_bins = from->columns.n_bins, .bits = from->bits};
        uint32_t first = n;
        for (uint32_t k = 0; k < n; k++) {
            if (choice[k].method != choice[f].method || choice[k].zero_skip != choice[f].zero_skip)
                continue;
            index[cut.n++] = k;
            first = k < first ? k : first;
        }
        cut.layouts = choice[f].method->reads_tiles ? RW_HIST_TILES : RW_HIST_COLUMNS;
        if (first == f)
            RW_TRY(add_choice(lab, plan, from, docs, &choice[f], &cut));
    }
    return RW_OK;
}

int rw_weighted_plan_by_feature(struct rw_lab *lab, struct rw_weighted_plan *plan,
                                const struct rw_weighted_group *from,
                                const struct rw_lab_docs *docs,
                                const struct rw_weighted_choosing *how)
{
    const uint32_t n = from->columns.n_features;
    struct rw_lab_call call = {.lab = lab};
    struct rw_lab_ask *choice = NULL;
    struct rw_hist_choice *one = NULL;
    uint32_t *index = NULL;
    int status;
    RW_TRY_OUT(RW_NEW(lab->ctx, choice, n));
    RW_TRY_OUT(RW_NEW(lab->ctx, index, n));
    RW_TRY_OUT(RW_NEW(lab->ctx, one, 1));
    for (uint32_t f = 0; f < n; f++) {
        RW_TRY_OUT(choose_one(&call, from, docs, how, f, one));
        plan->choosing_ms += one->choosing_ms;
        choice[f] = (struct rw_lab_ask){
            .method = one->method, .sums = how->sums, .zero_skip = one->zero_skip};
    }
    RW_TRY_OUT(rw_transfer_wait(lab->device));
    RW_TRY_OUT(group_choices(lab, plan, from, docs, choice, index));
out:
    rw_lab_call_release(&call);
    rw_mem_free(choice);
    rw_mem_free(index);
    rw_mem_free(one);
    return status;
}

void rw_weighted_plan_release(struct rw_weighted_plan *plan)
{
    for (int i = 0; i < plan->n; i++) {
        rw_weighted_group_release(plan->group[i]);
        rw_mem_free(plan->group[i]);
    }
    *plan = (struct rw_weighted_plan){.n = 0};
}
