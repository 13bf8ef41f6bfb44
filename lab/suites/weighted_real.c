/* Figures 10 and 11, Table 6: made MSLR data in many bins, as the document has its commercial data.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "lab/suites/weighted.h"

enum {
    MOST_BINS = 1024,
    LEAST_BINS = 128,
    N_CALLS = 4 /* collision, collision-reduced; zero-skip */
};

/* All features in n_bins bins. */
static int group_of_all(struct rw_lab *lab, struct rw_weighted_group *group,
                        const struct rw_made_set *set, uint32_t n_bins, int layouts)
{
    struct rw_weighted_cut cut = {.n = set->columns.n_features,
                                  .n_bins = n_bins,
                                  .bits = n_bins > 256 ? 16 : 8,
                                  .layouts = layouts};
    uint32_t *index;
    RW_TRY(RW_NEW(lab->ctx, index, cut.n));
    for (uint32_t f = 0; f < cut.n; f++)
        index[f] = f;
    while ((uint32_t)MOST_BINS >> cut.shift > n_bins)
        cut.shift++;
    cut.index = index;
    const int status = rw_weighted_group_init(lab, group, &set->columns, &cut);
    rw_mem_free(index);
    return status;
}

/* ---- each feature by itself ---- */

struct feature {
    uint32_t index;                      /* column of the set */
    double sigma, frequent;              /* of its codes; share of the most frequent one */
    struct rw_bench_times time[N_CALLS]; /* NaN: not measured */
};

static int by_time(const void *a, const void *b)
{
    const struct feature *x = a, *y = b;
    if (x->time[0].median_ms != y->time[0].median_ms)
        return x->time[0].median_ms < y->time[0].median_ms ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void describe(const struct rw_made_columns *columns, struct feature *feature)
{
    const uint16_t *codes = columns->column[feature->index];
    uint32_t count[MOST_BINS] = {0}, most = 0;
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < columns->n_docs; i++)
        count[codes[i]]++;
    for (uint32_t b = 0; b < MOST_BINS; b++) {
        sum += (double)b * count[b];
        squares += (double)b * b * count[b];
        most = count[b] > most ? count[b] : most;
    }
    const double mean = sum / columns->n_docs;
    feature->sigma = sqrt(squares / columns->n_docs - mean * mean);
    feature->frequent = (double)most / columns->n_docs;
}

static struct rw_lab_ask ask_of(const struct feature *feature, enum rw_hist_sums sums, int call)
{
    return (struct rw_lab_ask){.method = call / 2 ? &rw_hist_collision_reduced : &rw_hist_collision,
                               .sums = sums,
                               .zero_skip = call % 2,
                               .first_feature = feature->index,
                               .n_features = 1};
}

static int send_features(struct rw_lab *lab, struct rw_weighted_group *group,
                         const struct rw_made_set *set, const struct rw_lab_docs *docs,
                         const struct feature *features, enum rw_hist_sums sums)
{
    for (uint32_t k = 0; k < set->columns.n_features * N_CALLS; k++) {
        const struct feature *feature = &features[k / N_CALLS];
        const struct rw_lab_ask ask = ask_of(feature, sums, k % N_CALLS);
        struct rw_bench_line line = {.n = 0};
        if (isnan(feature->time[k % N_CALLS].median_ms))
            continue;
        RW_TRY(rw_lab_call_set(&group->call, docs, &group->m, &ask));
        rw_bench_add_integer(&line, "place", k / N_CALLS + 1); /* by the time of collision */
        rw_bench_add_integer(&line, "feature", set->feature[feature->index]);
        rw_bench_add_integer(&line, "codes", set->n_codes[feature->index]);
        rw_bench_add_real(&line, "sigma", feature->sigma, 1);
        rw_bench_add_real(&line, "frequent", feature->frequent, 3);
        rw_weighted_add_call(&line, &group->call);
        rw_weighted_add_rates(lab, &line, &group->call, &feature->time[k % N_CALLS]);
        RW_TRY(rw_bench_send(&lab->rows, "feature", &line));
    }
    return RW_OK;
}

struct describe_job {
    const struct rw_made_columns *columns;
    struct feature *features; /* [n_features] */
};

static int describe_some(void *user, struct rw_share *share)
{
    const struct describe_job *job = user;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        job->features[f].index = (uint32_t)f;
        describe(job->columns, &job->features[f]);
    }
    return RW_OK;
}

static int each_feature(struct rw_lab *lab, struct rw_weighted_group *group,
                        const struct rw_made_set *set, const struct rw_lab_docs *docs,
                        enum rw_hist_sums sums)
{
    const uint32_t n = set->columns.n_features;
    struct feature *features;
    int status = RW_OK;
    RW_TRY(RW_NEW(lab->ctx, features, n));
    struct describe_job job = {&set->columns, features};
    rw_parallel(lab->ctx, lab->ctx->n_threads, n, 1, describe_some, &job);
    for (uint32_t k = 0; k < n * N_CALLS; k++) {
        struct feature *feature = &features[k / N_CALLS];
        struct rw_bench_times *times = &feature->time[k % N_CALLS];
        const struct rw_lab_ask ask = ask_of(feature, sums, k % N_CALLS);
        *times = (struct rw_bench_times){NAN, NAN, NAN};
        if (!rw_lab_wants(lab, ask.method->name))
            continue;
        RW_TRY_OUT(rw_lab_call_set(&group->call, docs, &group->m, &ask));
        if (status == 0)
            RW_TRY_OUT(rw_lab_call_time(&group->call, times));
    }
    if (rw_lab_wants(lab, rw_hist_collision.name))
        qsort(features, n, sizeof(*features), by_time);
    RW_TRY_OUT(send_features(lab, group, set, docs, features, sums));
out:
    rw_mem_free(features);
    return status;
}

/* ---- all of them ---- */

static int one_method(struct rw_lab *lab, struct rw_weighted_group *group,
                      const struct rw_lab_docs *docs, const struct rw_lab_ask *ask)
{
    struct rw_weighted_plan plan = {.n = 0};
    struct rw_bench_times times;
    const struct rw_weighted_row row = {"real", group->columns.n_bins, 1.0, NULL, NAN};
    const int status = rw_lab_call_set(&group->call, docs, &group->m, ask);
    RW_TRY(status);
    if (status > 0)
        return RW_OK;
    RW_TRY(rw_weighted_plan_add(lab, &plan, group));
    RW_TRY(rw_weighted_plan_time(lab, &plan, &times));
    return rw_weighted_plan_row(lab, &plan, &row, &times);
}

/* The document's two methods for many bins, feature by feature. */
static int hybrid(struct rw_lab *lab, struct rw_weighted_group *group,
                  const struct rw_lab_docs *docs, enum rw_hist_sums sums, int zero_skip)
{
    const struct rw_hist_candidates two = {
        .n = 2, .method = {&rw_hist_collision, &rw_hist_collision_reduced}};
    const struct rw_weighted_choosing how = {&two, sums, zero_skip};
    const struct rw_weighted_row row = {"real", group->columns.n_bins, 1.0,
                                        zero_skip ? "hybrid, zero-skip" : "hybrid", NAN};
    struct rw_weighted_plan plan = {.n = 0};
    struct rw_bench_times times;
    int status;
    RW_TRY_OUT(rw_weighted_plan_by_feature(lab, &plan, group, docs, &how));
    RW_TRY_OUT(rw_weighted_plan_time(lab, &plan, &times));
    RW_TRY_OUT(rw_weighted_plan_row(lab, &plan, &row, &times));
out:
    rw_weighted_plan_release(&plan);
    return status;
}

static int all_features(struct rw_lab *lab, struct rw_weighted_group *group,
                        const struct rw_lab_docs *docs, enum rw_hist_sums sums)
{
    struct rw_hist_candidates all;
    rw_weighted_all(&all);
    for (int i = 0; i < all.n; i++) {
        const struct rw_hist_method *method = all.method[i];
        for (int skip = 0; skip <= !method->reads_tiles; skip++) {
            const struct rw_lab_ask ask = {.method = method, .sums = sums, .zero_skip = skip};
            if (rw_lab_wants(lab, method->name))
                RW_TRY(one_method(lab, group, docs, &ask));
        }
    }
    if (lab->options->method)
        return RW_OK;
    RW_TRY(hybrid(lab, group, docs, sums, 0));
    return hybrid(lab, group, docs, sums, 1);
}

/* Table 6, which needs a call of either method to be set. */
static int configurations(struct rw_lab *lab, struct rw_weighted_group *group,
                          const struct rw_lab_docs *docs, enum rw_hist_sums sums)
{
    const struct rw_lab_ask ask = {.method = &rw_hist_collision_reduced, .sums = sums};
    RW_TRY(rw_lab_call_set(&group->call, docs, &group->m, &ask));
    return rw_weighted_configurations(lab, &group->call);
}

int rw_weighted_real(struct rw_weighted *w, const struct rw_made_set *set,
                     const struct rw_lab_docs *docs)
{
    for (uint32_t n_bins = MOST_BINS; n_bins >= LEAST_BINS; n_bins /= 2) {
        struct rw_weighted_group group = {.bits = 0};
        int status = group_of_all(w->lab, &group, set, n_bins, RW_HIST_TILES | RW_HIST_COLUMNS);
        for (int s = 0; s < RW_WEIGHTED_SUMS && status >= 0; s++) {
            if (n_bins == MOST_BINS)
                status = each_feature(w->lab, &group, set, docs, rw_weighted_sums[s]);
        }
        for (int s = 0; s < RW_WEIGHTED_SUMS && status >= 0; s++)
            status = all_features(w->lab, &group, docs, rw_weighted_sums[s]);
        for (int s = 0; s < RW_WEIGHTED_SUMS && status >= 0; s++)
            status = configurations(w->lab, &group, docs, rw_weighted_sums[s]);
        rw_weighted_group_release(&group);
        RW_TRY(status);
    }
    return RW_OK;
}
